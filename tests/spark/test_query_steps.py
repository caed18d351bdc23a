"""The steps of a query: which CTEs are kept, and that they give the rows of the whole query."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import polars_clustereval as ce
from polars_clustereval import spark
from polars_clustereval.spark import tables
from polars_clustereval.spark.query_steps import QuerySteps

# `sums` is read twice, by way of a cheap CTE; `doubles` is cheap, `digits` reads no table, and
# `counts` is read once.
QUERY = """
WITH digits AS (SELECT 1 AS d UNION ALL SELECT 2),
numbers AS (SELECT x.d + y.d AS d FROM digits AS x CROSS JOIN digits AS y),
sums AS (SELECT k, SUM(v) AS s FROM t GROUP BY k),
doubles AS (SELECT k, 2 * s AS s FROM sums AS sums),
counts AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k)
SELECT a.k, a.s + b.s AS s, counts.n, '{d}' AS braces, (SELECT SUM(x.d * y.d) FROM numbers AS x
CROSS JOIN numbers AS y) AS d
FROM doubles AS a JOIN doubles AS b ON a.k = b.k JOIN counts ON counts.k = a.k
"""
ROWS = [(1, 12, 2, "{d}", 144), (2, 20, 1, "{d}", 144)]


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 1), (1, 2), (2, 5)) AS t(k, v)")
    return con


def steps_of(text: str) -> QuerySteps:
    query = sqlglot.parse_one(text, dialect="duckdb")
    assert isinstance(query, exp.Select)
    return QuerySteps(query, ["t"])


def test_only_what_moves_rows_and_is_read_twice_is_kept() -> None:
    steps = steps_of(QUERY)
    assert [(step.name, step.reads) for step in steps.kept_steps()] == [("sums", ["t"])]
    assert steps.final_step().reads == ["sums", "t"]
    assert steps.whole_query().reads == ["t"]
    assert steps.final_step().reads == ["sums", "t"], "whole_query changes nothing"


def test_steps_have_the_rows_of_the_query(con: duckdb.DuckDBPyConnection) -> None:
    steps = steps_of(QUERY)
    for step in steps.kept_steps():
        con.execute(f"CREATE TABLE kept_{step.name} AS {step.text.format(t='t')}")
    final = steps.final_step().text.format(sums="kept_sums", t="t")
    assert sorted(con.execute(final).fetchall()) == ROWS
    assert sorted(con.execute(steps.whole_query().text.format(t="t")).fetchall()) == ROWS


def test_what_is_read_once_is_a_subquery() -> None:
    """Through a CTE, Spark does not see which tables are to be broadcast."""
    final = sqlglot.parse_one(steps_of(QUERY).final_step().text.format(sums="s", t="t"))
    assert [cte.alias for cte in final.find_all(exp.CTE)] == ["digits", "numbers", "doubles"]


def test_a_step_that_is_a_union(con: duckdb.DuckDBPyConnection) -> None:
    query = """
    WITH both AS (SELECT k FROM t GROUP BY k UNION ALL SELECT v FROM t)
    SELECT COUNT(*) FROM both AS a CROSS JOIN both AS b
    """
    (step,) = steps_of(query).kept_steps()
    assert len(con.execute(step.text.format(t="t")).fetchall()) == 5


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("(SELECT k FROM t GROUP BY k)", ["c"]),
        ("(SELECT DISTINCT k FROM t)", ["c"]),
        ("(SELECT t.k FROM t JOIN t AS u ON u.k = t.k)", ["c"]),
        ("(SELECT ROW_NUMBER() OVER (ORDER BY v) AS k FROM t)", ["c"]),
        ("(SELECT k FROM t WHERE v > 1)", []),
        ("NOT MATERIALIZED (SELECT k FROM t GROUP BY k)", []),
    ],
)
def test_what_moves_rows(body: str, kept: list[str]) -> None:
    steps = steps_of(f"WITH c AS {body} SELECT a.k FROM c AS a JOIN c AS b ON a.k = b.k")
    assert [step.name for step in steps.kept_steps()] == kept


def test_steps_that_read_steps(con: duckdb.DuckDBPyConnection) -> None:
    """`larger` reads no table itself, and `doubles` is written into `odd`; both are read once."""
    query = """
    WITH sums AS (SELECT k, SUM(v) AS s FROM t GROUP BY k),
    larger AS (SELECT sums.k, MAX(u.s) AS s FROM sums JOIN sums AS u ON u.s >= sums.s
    GROUP BY sums.k),
    doubles AS (SELECT k, 2 * s AS s FROM larger),
    odd AS (SELECT k, s + 1 AS s FROM doubles)
    SELECT larger.k, larger.s, odd.s FROM larger JOIN odd ON odd.k = larger.k
    """
    steps = steps_of(query)
    kept = steps.kept_steps()
    assert [(step.name, step.reads) for step in kept] == [("sums", ["t"]), ("larger", ["sums"])]
    assert steps.final_step().reads == ["larger"]
    for step in kept:
        text = step.text.format(t="t", sums="kept_sums")
        con.execute(f"CREATE TABLE kept_{step.name} AS {text}")
    final = con.execute(steps.final_step().text.format(larger="kept_larger"))
    assert sorted(final.fetchall()) == [(1, 5, 11), (2, 5, 11)]


@pytest.mark.parametrize(("prefix", "name"), [("cou", "counts"), ("s", "sums")])
def test_a_cte_by_the_begin_of_its_name(prefix: str, name: str) -> None:
    step = steps_of(QUERY).cte_step(prefix)
    assert (step.name, step.reads) == (name, ["t"])


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'polars_clustereval\[spark\]'"):
        spark.external_report("t", "label", "cluster")


@pytest.mark.gate
def test_functions_have_the_parameters_of_the_macros() -> None:
    """And their parameters, in the same order, and `metrics`."""
    import inspect

    con = duckdb.connect()
    ce.register(con)
    query = (
        "SELECT parameters FROM duckdb_functions() WHERE schema_name = 'clustereval' "
        "AND function_name = ? AND function_type = 'table_macro'"
    )
    # For silhouettes by bounds, to a tolerance or of a sample, which need pairs of points.
    left_out = {
        *("id", "method", "tolerance"),
        *("sample_size", "reference_size", "confidence", "random_state"),
    }
    for name in spark.__all__:
        [parameters] = con.execute(query, [name]).fetchone() or ()
        given = list(inspect.signature(getattr(spark, name)).parameters)
        if name.startswith("silhouette"):
            parameters = [x for x in parameters if x in given or x not in left_out]
        # A macro's query computes what is selected; a function of Spark is told what to compute.
        assert given == [*parameters, "metrics"]
