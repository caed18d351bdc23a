"""What the error of a bad point says: its column, its partition, its id and a line to type."""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import registry
from tests.support.engines import DuckDB, Engine, fails
from tests.support.point_engines import call

N = 12
FRAME = pl.DataFrame(
    {
        "id": list(range(N)),
        "cluster": [i % 2 for i in range(N)],
        "run": [i % 3 for i in range(N)],
        "orders": [float(i) for i in range(N)],
        "the sum": [None if i in (5, 8) else i * i for i in range(N)],
        "vector": [[float(i), math.nan if i == 4 else 2.0] for i in range(N)],
    },
    schema_overrides={"the sum": pl.Int32},
)
WIDE = ["orders", "the sum"]
TABLES = registry.tables("points")


def advice(side: Engine, in_sql: str, in_polars: str) -> str:
    return (
        f"; fix these rows or leave them out: {in_sql if isinstance(side, DuckDB) else in_polars}"
    )


@pytest.mark.parametrize("function", TABLES)
def test_the_column_of_a_missing_coordinate(side: Engine, function: str) -> None:
    """Also of whole numbers, which SQL casts to the type of the other coordinates."""
    words = "vector: expected finite numbers, got NULL in column the sum (2 rows are at fault)"
    line = advice(side, "missing := 'drop'", "missing='drop'")
    with fails(side, words + line):
        call(side, function, FRAME, WIDE)


@pytest.mark.parametrize(("value", "shown"), [(math.nan, "nan"), (-math.inf, "-inf")])
def test_the_column_of_a_coordinate_that_is_not_finite(
    side: Engine, value: float, shown: str
) -> None:
    frame = FRAME.with_columns(pl.lit(value).alias("orders"))
    words = f"got {shown} in column orders (12 rows are at fault: 12 in column orders, 2 in "
    words += "column the sum)"
    line = advice(
        side,
        'WHERE isfinite("orders") AND isfinite("the sum")',
        "frame.filter(pl.all_horizontal(pl.col(['orders', 'the sum']).is_finite()))",
    )
    with fails(side, words + line):
        call(side, "internal_report", frame, WIDE)


def test_how_many_rows_are_at_fault_in_each_column(side: Engine) -> None:
    """A row may be at fault in several; of a list, coordinates have no names."""
    gaps = FRAME.with_columns(pl.when(pl.col("id") != 8).then("orders").alias("orders"))
    gaps = gaps.with_columns(
        pl.when(pl.col("id") == 8).then(1).otherwise("the sum").alias("the sum")
    )
    words = "(2 rows are at fault: 1 in column orders, 1 in column the sum, the first one in "
    with fails(side, f"got NULL in column orders {words}partition 2); fix these rows"):
        call(side, "internal_report", gaps, WIDE, partition_by="run")
    lists = gaps.with_columns(pl.concat_list(WIDE).alias("vector"))
    with fails(side, "got NULL in coordinate 1 (2 rows are at fault); fix these rows"):
        call(side, "internal_report", lists)


def test_many_columns_at_fault(side: Engine) -> None:
    names = [f"x{i}" for i in range(10)]
    rows = FRAME.with_columns(pl.lit(math.nan).alias(name) for name in names)
    words = f"(12 rows are at fault: {', '.join(f'12 in column {x}' for x in names[:8])}, ...)"
    with fails(side, f"got nan in column x0 {words}; fix these rows or leave them out"):
        call(side, "internal_report", rows, names)


def test_the_line_to_type_keeps_the_other_rows(side: Engine) -> None:
    bad = FRAME.with_columns(pl.when(pl.col("id") != 3).then("orders"))
    for frame in (bad.drop_nulls(WIDE), bad.filter(pl.all_horizontal(pl.col(WIDE).is_finite()))):
        assert call(side, "internal_report", frame, WIDE)[0]["n"] == N - 3
    if isinstance(side, DuckDB):
        condition = 'isfinite("orders") AND "the sum" IS NOT NULL'
        [row] = side.rows(f"SELECT count(*) AS n FROM assignments WHERE {condition}", bad)
        assert row["n"] == N - 3


def test_an_expression_is_named_by_its_place(side: Engine) -> None:
    words = "got NULL in coordinate 2 (2 rows are at fault); fix these rows or leave them out"
    if isinstance(side, DuckDB):
        query = 'FROM clustereval.centroids(assignments, [orders, "the sum" + 1], cluster)'
        with fails(side, words):
            side.rows(query, FRAME)
    else:
        with fails(side, words):
            ce.centroids(FRAME, ["orders", pl.col("the sum") + 1], "cluster")


PLACES: dict[str, tuple[dict[str, Any], str]] = {
    "one key": ({"partition_by": "run"}, ", the first one in partition 1"),
    "two keys": (
        {"partition_by": ["run", "cluster"]},
        ", the first one in partition {'run': 1, 'cluster': 0}",
    ),
    "no key": ({}, ""),
}


@pytest.mark.parametrize("case", PLACES)
def test_the_partition_of_the_first_row(side: Engine, case: str) -> None:
    given, place = PLACES[case]
    words = f"got nan in coordinate 2 (1 row is at fault{place}); fix these rows"
    with fails(side, words):
        call(side, "internal_report", FRAME, **given)


def test_the_id_of_the_first_row(side: Engine) -> None:
    """Of equal faults the lowest partition, and in it the lowest id."""
    words = "column the sum (2 rows are at fault, the first one with id 5 in partition 2)"
    with fails(side, words):
        call(side, "silhouette_samples", FRAME, WIDE, id="id", partition_by="run")
    with fails(side, "(2 rows are at fault, the first one with id 5)"):
        call(side, "silhouette_samples", FRAME.reverse(), WIDE, id="id")
    with fails(side, "(2 rows are at fault, the first one with id 9)"):  # not 12
        call(side, "silhouette_samples", FRAME.with_columns(pl.col("id") + 4), WIDE, id="id")
    with fails(side, "(2 rows are at fault); fix"):
        call(side, "silhouette_samples", FRAME, WIDE)


def test_a_vector_of_another_length(side: Engine) -> None:
    frame = FRAME.with_columns(pl.when(pl.col("id") != 7).then("vector").otherwise([1.0]))
    words = "vectors of one length (2), got 1 coordinates (2 rows are at fault, the first one in "
    with fails(side, f"{words}partition 1); fix these rows or leave them out"):
        call(side, "internal_report", frame, partition_by="run")
