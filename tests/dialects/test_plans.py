"""Forms that engines plan well: their conditions compare as those of the macros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from polars_clustereval.dialects import plans
from tests.support.sql_answers import parse_query

if TYPE_CHECKING:
    from polars_clustereval.dialects.trees import Step

SAME = "IS NOT DISTINCT FROM"


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
        (
            plans.drop_partition_conditions,
            f"a.partition_key {SAME} b.partition_key AND a.x {SAME} b.partition_key",
            f"TRUE AND a.x {SAME} b.partition_key",
        ),
        (
            plans.equate_clusters,
            f"a.cluster {SAME} b.cluster AND a.partition_key {SAME} b.partition_key",
            f"a.cluster = b.cluster AND a.partition_key {SAME} b.partition_key",
        ),
        (
            plans.drop_row_count_checks,
            "(SELECT COUNT(*) FROM b) >= 0 AND (SELECT COUNT(*) FROM b) >= 1 AND a.n >= 0",
            "TRUE AND (SELECT COUNT(*) FROM b) >= 1 AND a.n >= 0",
        ),
    ],
)
def test_conditions(function: Step, text: str, expected: str) -> None:
    query = function(parse_query(f"SELECT 1 FROM a JOIN b ON {text}"))
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
    query = plans.drop_partition_order(parse_query(f"SELECT x FROM a ORDER BY {keys}"))
    assert query.sql("duckdb") == f"SELECT x FROM a ORDER BY {expected}"


def test_hashed_comparisons() -> None:
    """The arrays are there to be hashed; what they cannot tell apart, the comparison does."""
    values = "(VALUES (1, NULL), (NULL, 1), (NULL, NULL), (2, 2), (1, 2)) AS t(x, y)"
    query = parse_query(f"SELECT x, y, x {SAME} y AS same FROM {values}")
    expected = duckdb.execute(query.sql("duckdb")).fetchall()
    query = plans.hash_comparisons(query)
    assert "ARRAY[x] = ARRAY[y]" in query.sql("postgres")
    assert f"x {SAME} y" in query.sql("postgres")
    assert duckdb.execute(query.sql("duckdb")).fetchall() == expected
