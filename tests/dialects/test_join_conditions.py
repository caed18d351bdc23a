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
            f"a.__ce_partition {SAME} b.__ce_partition AND a.x {SAME} b.__ce_partition",
            f"TRUE AND a.x {SAME} b.__ce_partition",
        ),
        (
            join_conditions.equate_clusters,
            f"a.__ce_cluster {SAME} b.__ce_cluster AND a.__ce_partition {SAME} b.__ce_partition",
            f"a.__ce_cluster = b.__ce_cluster AND a.__ce_partition {SAME} b.__ce_partition",
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
        ("a.__ce_partition, a.x", "a.x"),
        ("a.x DESC, a.__ce_partition", "a.x DESC"),
        ("a.__ce_partition", "a.__ce_partition"),
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
