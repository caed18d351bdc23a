"""Conditions in forms that engines evaluate fast: they compare as the conditions of the macros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from polars_clustereval.dialects import join_conditions

if TYPE_CHECKING:
    from collections.abc import Callable

SAME = "IS NOT DISTINCT FROM"


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
        (
            join_conditions.drop_partition_conditions,
            f"a.partition_key {SAME} b.partition_key AND a.x {SAME} b.partition_key",
            f"TRUE AND a.x {SAME} b.partition_key",
        ),
        (
            join_conditions.equate_clusters,
            f"a.cluster {SAME} b.cluster AND a.partition_key {SAME} b.partition_key",
            f"a.cluster = b.cluster AND a.partition_key {SAME} b.partition_key",
        ),
        (
            join_conditions.drop_row_count_checks,
            "(SELECT COUNT(*) FROM b) >= 0 AND (SELECT COUNT(*) FROM b) >= 1 AND a.n >= 0",
            "TRUE AND (SELECT COUNT(*) FROM b) >= 1 AND a.n >= 0",
        ),
    ],
)
def test_conditions(function: Callable[[exp.Expr], None], text: str, expected: str) -> None:
    query = sqlglot.parse_one(f"SELECT 1 FROM a JOIN b ON {text}", dialect="duckdb")
    function(query)
    assert query.sql("duckdb") == f"SELECT 1 FROM a JOIN b ON {expected}"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("a.partition_key, a.x", "a.x"),
        ("a.x DESC, a.partition_key", "a.x DESC"),
        ("a.partition_key", "a.partition_key"),
    ],
)
def test_orders(keys: str, expected: str) -> None:
    query = sqlglot.parse_one(f"SELECT x FROM a ORDER BY {keys}", dialect="duckdb")
    join_conditions.drop_partition_order(query)
    assert query.sql("duckdb") == f"SELECT x FROM a ORDER BY {expected}"


def test_hashed_comparisons() -> None:
    """The arrays are there to be hashed; what they cannot tell apart, the comparison does."""
    values = "(VALUES (1, NULL), (NULL, 1), (NULL, NULL), (2, 2), (1, 2)) AS t(x, y)"
    query = sqlglot.parse_one(f"SELECT x, y, x {SAME} y AS same FROM {values}", dialect="duckdb")
    expected = duckdb.execute(query.sql("duckdb")).fetchall()
    join_conditions.hash_comparisons(query)
    assert "ARRAY[x] = ARRAY[y]" in query.sql("postgres")
    assert f"x {SAME} y" in query.sql("postgres")
    assert duckdb.execute(query.sql("duckdb")).fetchall() == expected
