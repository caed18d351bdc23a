"""`clustereval sql TABLE --dialect ...`: the query of one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from polars_clustereval import dialects

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.command_line import Fail, Noted, Run

CALL = ("sql", "external_report", "--tbl", "t", "--label", "a", "--cluster", "b")


@pytest.fixture(params=["arguments", pytest.param("query", marks=pytest.mark.gate)])
def to_sql(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The function `to_sql`, or one whose texts are the same if and only if the arguments are."""
    calls: list[tuple[str, dict[str, object]]] = []

    def number_arguments(name: str, **arguments: object) -> str:
        if (name, arguments) not in calls:
            calls.append((name, arguments))
        return f"arguments {calls.index((name, arguments))}"

    if request.param == "arguments":
        monkeypatch.setattr(dialects, "to_sql", number_arguments)
    return dialects.to_sql


def test_the_query_is_that_of_to_sql(run: Run, to_sql: Callable[..., str]) -> None:
    query = to_sql("external_report", dialect="spark", tbl="t", label="a", cluster="b")
    assert run(*CALL, "--dialect", "spark") == f"{query};\n"


def test_options(run: Run, to_sql: Callable[..., str]) -> None:
    options = ("--noise", "-1", "--noise-as", "drop", "--beta", "0.5", "--average-method", "max")
    text = run(*CALL, "--dialect", "duckdb", "--weight", "w", "--partition-by", "p", *options)
    columns = {"label": "a", "cluster": "b", "weight": "w", "partition_by": "p"}
    query = to_sql(
        "external_report",
        dialect="duckdb",
        tbl="t",
        noise=-1,
        noise_as="drop",
        beta=0.5,
        average_method="max",
        **columns,
    )
    assert text == f"{query};\n"


def test_two_runs(run: Run, to_sql: Callable[..., str]) -> None:
    names = ("--tbl-before", "a", "--tbl-after", "b", "--id", "i", "--cluster", "c")
    text = run("sql", "run_transitions", "--dialect", "spark", *names, "--threshold", "0.6")
    tables = {"tbl_before": "a", "tbl_after": "b"}
    query = to_sql("run_transitions", dialect="spark", **tables, id="i", cluster="c", threshold=0.6)
    assert text == query + ";\n"


def test_columns_and_form(run: Run, to_sql: Callable[..., str]) -> None:
    given = ("--dialect", "duckdb", "--metrics", "n, rand_score", "--steps", "--compact")
    query = to_sql(
        "external_report",
        dialect="duckdb",
        tbl="t",
        label="a",
        cluster="b",
        metrics=["n", "rand_score"],
        steps=True,
        compact=True,
    )
    assert run(*CALL, *given) == f"{query};\n"


def test_a_score(run: Run, to_sql: Callable[..., str]) -> None:
    text = run("sql", "rand_score", *CALL[2:], "--dialect", "duckdb")
    query = to_sql("rand_score", dialect="duckdb", tbl="t", label="a", cluster="b")
    assert text == f"{query};\n"


def test_costs_of_merges(run: Run, to_sql: Callable[..., str]) -> None:
    names = ("--tbl", "t", "--label", "a", "--cluster", "b")
    name = "entity_resolution_report"
    text = run("sql", name, "--dialect", "duckdb", *names, "--merge-cost", "product")
    query = to_sql(name, dialect="duckdb", tbl="t", label="a", cluster="b", merge_cost="product")
    assert text == query + ";\n"


@pytest.mark.gate
def test_the_query_runs(run: Run) -> None:
    text = run(*CALL, "--dialect", "duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT * FROM (VALUES ('x', 1), ('y', 2)) AS t(a, b)")
        report = connection.sql(text).pl()
    assert report.select("n", "rand_score").rows() == [(2, 1.0)]


def test_kept_cells(run: Run, to_sql: Callable[..., str]) -> None:
    text = run("sql", "pair_counts", "--dialect", "postgres", "--tbl", "cells")
    assert text == to_sql("pair_counts", dialect="postgres", tbl="cells") + ";\n"


POINTS = ("sql", "centroids", "--dialect", "duckdb", "--tbl", "t", "--cluster", "c")


def test_columns_of_points(run: Run, to_sql: Callable[..., str]) -> None:
    options = ("--distance", "minkowski", "--p", "3", "--weights", "1,0.5", "--center", "median")
    text = run(*POINTS, "--vector", "x, y", *options)
    query = to_sql(
        "centroids",
        dialect="duckdb",
        tbl="t",
        vector=["x", "y"],
        cluster="c",
        distance="minkowski",
        p=3,
        weights=[1, 0.5],
        center="median",
    )
    assert text == f"{query};\n"


@pytest.mark.gate
def test_a_column_of_arrays(run: Run) -> None:
    text = run(*POINTS, "--vector", "v", "--size", "2")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT [1.0, 3.0] AS v, 'a' AS c")
        assert connection.sql(text).fetchall() == [(None, "a", 1, [1.0, 3.0])]


@pytest.mark.gate
def test_a_silhouette(run: Run) -> None:
    columns = ("--vector", "x", "--cluster", "c", "--method", "simplified")
    text = run("sql", "silhouette_score", "--dialect", "duckdb", "--tbl", "t", *columns)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT * FROM (VALUES (0, 1), (2, 1), (6, 2)) t(x, c)"
        )
        (row,) = connection.sql(text).pl().to_dicts()
    # Centers 1 and 6; a, b: 1, 6 and 1, 4 of cluster 1; a single point scores 0.
    assert row["silhouette"] == pytest.approx((5 / 6 + 3 / 4 + 0) / 3)


def test_a_report_without_adjusted_scores(run: Run, to_sql: Callable[..., str]) -> None:
    columns = {"tbl": "t", "label": "a", "cluster": "b"}
    short = to_sql("external_report", dialect="duckdb", adjusted=False, **columns)
    assert run(*CALL, "--dialect", "duckdb", "--no-adjusted") == f"{short};\n"
    assert "adjusted_mutual_info_score" not in short


@pytest.mark.gate
def test_a_dialect_without_a_test_is_noted(noted: Noted) -> None:
    out, err = noted(*CALL, "--dialect", "snowflake")
    assert out.startswith("-- All external metrics")
    assert "dialect 'snowflake': its queries have never been executed" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("sql", "external_report"), "sql: a query needs a table macro, --dialect and --tbl"),
        (("sql", "--dialect", "spark"), "sql: a query needs a table macro, --dialect and --tbl"),
        ((*CALL, "--dialect", "sparc"), "did you mean 'spark'?"),
        (
            ("sql", "matching_report", *CALL[2:], "--dialect", "spark"),
            "name: expected one of affected",
        ),
        (
            ("sql", "suspicious_links", *CALL[2:], "--dialect", "spark"),
            "got suspicious_links, which it cannot because a query cannot hold the search; call",
        ),
        (
            ("sql", "density_based_validity", *CALL[2:], "--dialect", "spark"),
            "because a query cannot hold the trees; call ce.density_based_validity in Python",
        ),
        ((*CALL, "--dialect", "spark", "--id", "i"), "id: not a parameter of external_report"),
    ],
)
def test_mistakes(fail: Fail, arguments: tuple[str, ...], words: str) -> None:
    assert words in fail(*arguments)


def test_an_error_of_options_names_those_of_the_shell(fail: Fail) -> None:
    assert fail(*CALL, "--dialect", "duckdb", "--average-method", "joint") == (
        "average_method 'joint' has no adjusted form: use --no-adjusted, or another average"
    )
