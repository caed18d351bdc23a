"""Forms that engines plan well: their conditions compare as those of the macros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from polars_clustereval.dialects import plans, portable
from tests.support.sql_answers import parse_query

if TYPE_CHECKING:
    from polars_clustereval.dialects.trees import Step

SAME = "IS NOT DISTINCT FROM"


@pytest.mark.parametrize(
    ("function", "text", "expected"),
    [
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


ONE_PARTITION = [
    (
        f"SELECT a.x FROM a JOIN b ON a.partition_key {SAME} b.partition_key AND a.x = b.x",
        "SELECT a.x FROM a JOIN b ON TRUE AND a.x = b.x",
    ),
    (
        "SELECT partition_key, max(x) AS x FROM a GROUP BY a.partition_key, y",
        "SELECT NULL AS partition_key, MAX(x) AS x FROM a GROUP BY NULL, y",
    ),
    ("SELECT x FROM a ORDER BY a.x DESC, a.partition_key", "SELECT x FROM a ORDER BY a.x DESC"),
    ("SELECT x FROM a ORDER BY a.partition_key", "SELECT x FROM a"),
    (
        "SELECT row_number() OVER (PARTITION BY partition_key, y ORDER BY partition_key) FROM a",
        "SELECT ROW_NUMBER() OVER (PARTITION BY y) FROM a",
    ),
]


@pytest.mark.parametrize(("text", "expected"), ONE_PARTITION)
def test_one_partition(text: str, expected: str) -> None:
    assert plans.drop_partitions(parse_query(text)).sql("duckdb") == expected


def test_one_partition_has_one_number() -> None:
    query = parse_query("SELECT 1 FROM a JOIN b ON a.partition_no = b.partition_no AND a.x = b.x")
    expected = "SELECT 1 FROM a JOIN b ON TRUE AND a.x = b.x"
    assert plans.drop_partition_numbers(query).sql("duckdb") == expected


CHAIN = (
    "WITH a AS (SELECT x FROM t), b AS (SELECT x FROM a), c AS (SELECT x FROM b), "
    "d AS (SELECT x FROM c) SELECT 1 FROM c JOIN d ON c.x = d.x"
)


@pytest.mark.parametrize(
    ("function", "kept", "streamed"),
    [
        (plans.materialize_or_stream, {"c", "d"}, {"a", "b"}),
        (plans.materialize_shared_or_stream, {"c"}, {"a", "b", "d"}),
    ],
)
def test_ctes_that_stream_are_read_once(function: Step, kept: set[str], streamed: set[str]) -> None:
    """In a query, those that a join reads are kept, too."""
    ctes = function(parse_query(CHAIN)).ctes
    assert {cte.alias for cte in ctes if cte.args.get("materialized")} == kept
    assert {cte.alias for cte in ctes if cte.this.args.get("offset")} == streamed


@pytest.mark.parametrize("having", ["", " HAVING MAX(range) < 9 OR COUNT(*) = 0"])
@pytest.mark.parametrize("rows", [0, 3])
def test_a_group_of_all_rows_is_there_if_there_are_any(rows: int, having: str) -> None:
    text = f"SELECT COUNT(*) AS n FROM range({rows}) GROUP BY NULL{having}"
    query = portable.drop_constant_keys(parse_query(text)).sql("duckdb")
    assert "GROUP BY" not in query
    assert duckdb.sql(query).fetchall() == duckdb.sql(text).fetchall() == [(3,)][: rows // 3]


def test_hashed_comparisons() -> None:
    """The arrays are there to be hashed; what they cannot tell apart, the comparison does."""
    values = "(VALUES (1, NULL), (NULL, 1), (NULL, NULL), (2, 2), (1, 2)) AS t(x, y)"
    query = parse_query(f"SELECT x, y, x {SAME} y AS same FROM {values}")
    expected = duckdb.execute(query.sql("duckdb")).fetchall()
    query = plans.hash_comparisons(query)
    assert "ARRAY[x] = ARRAY[y]" in query.sql("postgres")
    assert f"x {SAME} y" in query.sql("postgres")
    assert duckdb.execute(query.sql("duckdb")).fetchall() == expected
