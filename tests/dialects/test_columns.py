"""Stars and columns that nothing reads, in the queries of to_sql: written out and left out."""

from __future__ import annotations

import pytest
from sqlglot import exp

from polars_clustereval.dialects import columns
from tests.support.sql_answers import parse_query, unordered_rows

# a has two rows, b one, and e none.
CTES = """WITH a AS (SELECT 1 AS x, 2 AS y UNION ALL SELECT 3, 4), b AS (SELECT 5 AS z, 1 AS x),
e AS (SELECT 1 AS x, 2 AS y WHERE FALSE)"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM a", ["x", "y"]),
        ("SELECT * EXCLUDE (x), x + 1 AS x FROM a", ["y", "x"]),
        ("SELECT b.*, a.y FROM a CROSS JOIN b", ["z", "x", "y"]),
        ("SELECT * FROM a CROSS JOIN (SELECT z FROM b) AS s", ["x", "y", "z"]),
        ("SELECT * FROM (SELECT * FROM a UNION ALL SELECT * FROM a) AS u", ["x", "y"]),
        ("SELECT s.* EXCLUDE (z), s.z FROM a JOIN b AS s ON s.x = a.x", ["x", "z"]),
    ],
)
def test_stars_are_written_out(text: str, names: list[str]) -> None:
    query = columns.name_outputs(parse_query(f"{CTES} {text}"))
    assert query.named_selects == names
    assert not [star for star in query.find_all(exp.Star) if not isinstance(star.parent, exp.Count)]
    assert unordered_rows(query.sql("duckdb")) == unordered_rows(f"{CTES} {text}")


# Query -> the output columns of each CTE that is left, and the words of the final SELECT.
PRUNED: dict[str, tuple[dict[str, list[str]], str]] = {
    "SELECT y FROM a": ({"a": ["y"]}, "SELECT y FROM a"),
    "SELECT COUNT(*) AS n FROM a": ({"a": ["x"]}, "SELECT COUNT(*) AS n FROM a"),
    "SELECT s.y FROM (SELECT x, y FROM a) AS s": (
        {"a": ["y"]},
        "SELECT s.y FROM (SELECT y FROM a) AS s",
    ),
    "SELECT z, (SELECT MAX(y) FROM a) AS m FROM b": (
        {"a": ["y"], "b": ["z"]},
        "SELECT z, (SELECT MAX(y) FROM a) AS m FROM b",
    ),
    "SELECT one.x, two.y FROM a AS one JOIN a AS two ON TRUE": (
        {"a": ["x", "y"]},
        "SELECT one.x, two.y FROM a AS one JOIN a AS two ON TRUE",
    ),
    # An empty table on the right of a LEFT JOIN is NULL, in conditions too.
    "SELECT a.x, COALESCE(e.y, 5) AS y FROM a LEFT JOIN e ON e.x = a.x WHERE e.x IS NULL": (
        {"a": ["x"]},
        "SELECT a.x, 5 AS y FROM a WHERE TRUE",
    ),
    "SELECT a.x FROM a LEFT JOIN (SELECT x FROM e) AS s ON s.x = a.x": (
        {"a": ["x"], "e": ["x"]},
        "SELECT a.x FROM a LEFT JOIN (SELECT x FROM e) AS s ON s.x = a.x",
    ),
    "SELECT a.x FROM a JOIN e ON e.x = a.x": (
        {"a": ["x"], "e": ["x"]},
        "SELECT a.x FROM a JOIN e ON e.x = a.x",
    ),
}
# Query that reads the CTEs -> whether it may have rows, so that a LEFT JOIN with it stays.
READERS: dict[str, bool] = {
    "SELECT x FROM e": False,
    "SELECT a.x FROM a JOIN e ON e.x = a.x": False,
    "SELECT a.x FROM a LEFT JOIN e ON e.x = a.x": True,
    "SELECT x FROM e GROUP BY x": False,
    "SELECT MAX(x) AS x FROM e GROUP BY y": False,
    "SELECT MAX(x) AS x FROM e": True,
    "SELECT MAX(x) AS x FROM a HAVING FALSE": False,
    "SELECT x FROM a WHERE FALSE": False,
    "SELECT x FROM e UNION ALL SELECT x FROM e": False,
    "SELECT x FROM e UNION ALL SELECT y FROM a": True,
    "SELECT x FROM a UNION ALL SELECT x FROM e": True,
    "SELECT x FROM (SELECT x FROM a) AS s": True,
}


def prune_named(text: str) -> exp.Select:
    return columns.prune(columns.name_outputs(parse_query(text)))


@pytest.mark.parametrize("text", PRUNED)
def test_what_nothing_reads_is_left_out(text: str) -> None:
    ctes, final = PRUNED[text]
    query = prune_named(f"{CTES} {text}")
    assert {cte.alias: cte.this.named_selects for cte in query.ctes} == ctes
    assert unordered_rows(query.sql("duckdb")) == unordered_rows(f"{CTES} {text}")
    query.set("with_", None)
    assert query.sql("duckdb") == final


@pytest.mark.parametrize("text", READERS)
def test_joins_with_what_has_no_rows_are_left_out(text: str) -> None:
    whole = f"{CTES}, c AS ({text}) SELECT b.z, c.x AS x FROM b LEFT JOIN c ON TRUE"
    query = prune_named(whole)
    assert bool(query.args.get("joins")) is READERS[text]
    assert unordered_rows(query.sql("duckdb")) == unordered_rows(whole)


def test_the_first_branch_alone() -> None:
    query = parse_query("WITH c_1 AS (SELECT 1 AS x UNION ALL SELECT 2) SELECT x FROM c_1")
    first = columns.keep_first_branch(query, "c_")
    assert unordered_rows(first.sql("duckdb")) == (["x"], [(1,)])
