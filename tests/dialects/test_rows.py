"""Joins that change no row of a SELECT are left out, and no others."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from sqlglot import exp

from polars_clustereval.dialects import columns
from tests.support.sql_answers import parse_query

SIZES = "sizes AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k)"
LARGE = "large AS (SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) > 1)"
FEW = "few AS (SELECT k, COUNT(*) AS n FROM t WHERE x > 2 GROUP BY k)"
TOTAL = "total AS (SELECT COUNT(*) AS n, MAX(x) AS x FROM t)"
TWICE = "twice AS (SELECT k, x FROM t UNION ALL SELECT k, x FROM t)"
LATEST = "latest AS (SELECT k, MAX(x) AS x FROM t GROUP BY k)"
RENAMED = "renamed AS (SELECT k AS k, n AS m FROM sizes)"
SAME = "IS NOT DISTINCT FROM"

DROPPED = [
    f"WITH {SIZES} SELECT t.x FROM t LEFT JOIN sizes ON sizes.k = t.k",
    f"WITH {SIZES} SELECT t.x FROM t LEFT JOIN sizes ON sizes.k = t.k AND sizes.n > 1",
    f"WITH {SIZES} SELECT t.x FROM t JOIN sizes ON sizes.k {SAME} t.k",
    f"WITH {LARGE} SELECT t.x FROM t LEFT JOIN large ON large.k = t.k",
    f"WITH {TOTAL} SELECT t.x FROM t LEFT JOIN total ON TRUE",
    f"WITH {SIZES}, {RENAMED} SELECT t.x FROM t JOIN renamed ON renamed.k {SAME} t.k",
    (
        f"WITH {SIZES}, {LARGE} SELECT t.x FROM t LEFT JOIN sizes ON sizes.k = t.k "
        "LEFT JOIN large ON large.k = sizes.k"
    ),
]
KEPT = [
    f"WITH {SIZES} SELECT t.x, sizes.n FROM t LEFT JOIN sizes ON sizes.k = t.k",
    f"WITH {SIZES} SELECT t.x FROM t LEFT JOIN sizes ON sizes.k = t.k WHERE sizes.n > 1",
    f"WITH {SIZES} SELECT t.x FROM t JOIN sizes ON sizes.k {SAME} t.k AND sizes.n > 1",
    f"WITH {SIZES} SELECT t.x FROM t JOIN sizes ON sizes.n = t.x",
    f"WITH {SIZES} SELECT t.x FROM t LEFT JOIN sizes ON sizes.n < t.x",
    f"WITH {LATEST} SELECT t.x FROM t JOIN latest ON latest.k {SAME} t.k AND latest.x = t.x",
    f"WITH {LARGE} SELECT t.x FROM t JOIN large ON large.k = t.k",
    f"WITH {FEW} SELECT t.x FROM t JOIN few ON few.k = t.k",
    f"WITH {TOTAL} SELECT t.x FROM t JOIN total ON total.x = t.x",
    f"WITH {TWICE} SELECT t.x FROM t LEFT JOIN twice ON twice.k = t.k",
    f"WITH {SIZES} SELECT t.x FROM t FULL JOIN sizes ON sizes.k = t.k + 1",
]


def joins_after(text: str) -> int:
    """The number of joins that are left, after the rows were compared with those of the text."""
    query = columns.prune(parse_query(text))
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS FROM (VALUES (1, 1), (1, 2), (2, 3), (NULL, 4)) AS t(k, x)")
        found, expected = (con.execute(x).fetchall() for x in (query.sql("duckdb"), text))
    assert Counter(found) == Counter(expected)
    return len(list(query.find_all(exp.Join)))


@pytest.mark.parametrize("text", DROPPED)
def test_joins_that_change_nothing_are_left_out(text: str) -> None:
    assert joins_after(text) == 0


@pytest.mark.parametrize("text", KEPT)
def test_other_joins_stay(text: str) -> None:
    assert joins_after(text) == 1
