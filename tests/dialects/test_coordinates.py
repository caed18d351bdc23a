"""Lists of coordinates as one column per coordinate: the rows are those of the query with lists."""

from __future__ import annotations

import math

import duckdb
import polars as pl
import pytest
from sqlglot import exp

import polars_clustereval as ce
from polars_clustereval.dialects import columns, coordinates
from tests.support.sql_answers import parse_query, unordered_rows

# Points of three coordinates, u the other way round, and a column that is NULL in place of a list.
CTES = """WITH t AS (
  SELECT 1 AS k, 5.0 AS x, 2.0 AS y, -1.0 AS z
  UNION ALL SELECT 2, 0.5, NULL, 4.0
  UNION ALL SELECT 2, 3.0, 7.0, -6.0
),
p AS (SELECT k, [x, y, z] AS v, [z, y, x] AS u, NULL AS w FROM t),
q AS (SELECT v FROM p WHERE k = 1), r AS (SELECT unnest(v) AS x, unnest(range(1, 4)) AS i FROM q)"""


def split_query(text: str) -> exp.Select:
    query = parse_query(f"{CTES} {text}")
    for function in query.find_all(exp.Lambda):  # sqlglot has parameters that are no columns
        parameters = {parameter.name for parameter in function.expressions}
        for name in list(function.this.find_all(exp.Identifier)):
            if name.name in parameters and not isinstance(name.parent, exp.Column):
                name.replace(exp.column(name.name))
    return coordinates.split_lists(columns.name_outputs(query))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, v FROM p",
        "SELECT k, 10 / list_sum(v) AS s FROM p WHERE k = 1",
        "SELECT k, list_max(v) AS m, list_min(v) AS l FROM p WHERE k = 1",
        "SELECT k, 2 * list_count(v) AS n FROM p",
        "SELECT k, 2 * list_inner_product(v, u) AS s FROM p WHERE k = 1",
        "SELECT k, list_inner_product([x - y, y, z], [z, y - x, x + z]) AS s FROM t WHERE k = 1",
        "SELECT k, list_distance(v, u) AS d FROM p WHERE k = 1",
        "SELECT k, round(list_distance(v, u) * list_distance(v, u), 9) AS d FROM p WHERE k = 1",
        "SELECT k, list_distance(v, u) * k AS d FROM p WHERE k = 1",
        "SELECT k, list_distance([x + y, z], [z, y + x]) AS d FROM t WHERE k = 1",
        "SELECT k, len(v) AS n FROM p",
        "SELECT list_element(v, 2) AS y, list_element(u, k) AS e FROM p",
        "SELECT list_element(v, 4) AS e, list_element(w, 1) AS n FROM p",
        "SELECT list_element([x, y], k + 1) AS e FROM t",
        "SELECT k, CASE WHEN list_sum(v) > 5 THEN v ELSE u END AS c FROM p",
        "SELECT k, list_element(CASE WHEN k = 1 THEN w ELSE u END, 1) AS e FROM p",
        "SELECT k, list_element(CASE WHEN k = 1 THEN v END, 3) AS e FROM p",
        "SELECT k, COALESCE(w, v) AS c FROM p",
        "SELECT k, COALESCE(v, u) AS c FROM p",
        "SELECT k, CAST(v AS DOUBLE[]) AS c FROM p",
        "SELECT typeof(list_element(CAST(v AS DOUBLE[]), 1)) AS t FROM p",
        "SELECT k, v IS NULL AS is_missing, w IS NULL AS is_null FROM p",
        "SELECT s.k, list_sum(s.c) AS s FROM (SELECT k, u AS c FROM p WHERE k = 1) AS s",
        "SELECT a.k, b.k AS l FROM p AS a JOIN p AS b ON list_count(a.v) < list_element(b.v, 1)",
        "SELECT k, COUNT(*) AS n FROM p GROUP BY k HAVING MIN(list_min(v)) < -5",
        "SELECT list_count(v) AS n, COUNT(*) AS m FROM p GROUP BY list_count(v)",
        "SELECT k FROM p WHERE list_element(u, 1) > 2",
        "SELECT k FROM p ORDER BY list_element(v, 3) LIMIT 1",
        "SELECT k, (SELECT MAX(list_max(u)) FROM p) AS m FROM p",
        ", c AS (SELECT v FROM p UNION ALL SELECT NULL FROM t) SELECT v IS NULL AS e FROM c",
        "SELECT k, list_transform([x - y, y, z], lambda q, i: 2 * q + i) AS c FROM t",
        "SELECT k, list_element(list_transform([x - y], lambda q: 2 * q), 1) AS e FROM t",
        "SELECT k, list_element(list_transform([v], lambda q: list_count(q)), 1) AS n FROM p",
        "SELECT k, unnest(v) AS x, unnest(u) AS z, unnest(range(1, len(v) + 1)) AS i FROM p",
        "SELECT k, unnest(range(1, k + 3)) AS i FROM p WHERE k = 1",
        "SELECT list(x ORDER BY i) AS c FROM r",
    ],
)
def test_same_rows(text: str) -> None:
    query = split_query(text)
    assert not [call for call in query.find_all(exp.Anonymous) if call.name.startswith("list_")]
    assert unordered_rows(query.sql("duckdb")) == unordered_rows(f"{CTES} {text}")


def test_no_list_but_in_the_result() -> None:
    query = split_query(", c AS (SELECT k, v, w FROM p) SELECT k, v, COALESCE(w, v) AS w FROM c")
    *_, own = query.ctes
    assert own.this.named_selects == ["k", "v_1", "v_2", "v_3", "w"]
    assert [len(array.expressions) for array in query.find_all(exp.Array)] == [3, 3]


def test_a_length_or_an_error() -> None:
    """not_finite_error gets the vector and the place of the first coordinate that is not finite."""
    points = pl.DataFrame(
        [(5.0, 2.0, 1.0), (1.0, None, math.nan), (math.inf, 1.0, 1.0), (1.0, 2.0, math.nan)],
        schema=["x", "y", "z"],
        orient="row",
    )
    lengths = parse_query("SELECT checked_length([x, y, z]) AS n FROM points")
    query = coordinates.split_lists(coordinates.check_lengths(lengths))
    with duckdb.connect() as con:
        con.register("points", points)
        con.execute("CREATE MACRO not_finite_error(vector, place) AS -100 * len(vector) - place")
        rows = con.execute(query.sql("duckdb")).fetchall()
    assert rows == [(3,), (-302,), (-301,), (-303,)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT list_sum(w) AS s FROM p", "w: not recognized as a list of coordinates"),
        (", c AS (SELECT [1, 2] AS d) SELECT list(k ORDER BY k) AS l FROM c, p", r"got \[2, 3\]"),
    ],
)
def test_what_is_no_list_of_coordinates(text: str, words: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=words):
        split_query(text)
