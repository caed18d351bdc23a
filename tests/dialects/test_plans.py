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
            f"a.__ce_partition {SAME} b.__ce_partition AND a.x {SAME} b.__ce_partition",
            f"TRUE AND a.x {SAME} b.__ce_partition",
        ),
        (
            plans.equate_clusters,
            f"a.__ce_cluster {SAME} b.__ce_cluster AND a.__ce_partition {SAME} b.__ce_partition",
            f"a.__ce_cluster = b.__ce_cluster AND a.__ce_partition {SAME} b.__ce_partition",
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
        ("a.__ce_partition, a.x", "a.x"),
        ("a.x DESC, a.__ce_partition", "a.x DESC"),
        ("a.__ce_partition", "a.__ce_partition"),
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
