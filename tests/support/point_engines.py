"""One way to call the point side on every engine, and the comparison of its rows.

A vector is the name of an Array or List column, or a list of the names of numeric columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl

from tests.support.compare import assert_same, is_same_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from tests.support.engines import Engine, Row

FUNCTIONS = ("centroids", "internal_report", "internal_cluster_report", "neighbor_report")
Vector = str | list[str]


def call(
    engine: Engine,
    function: str,
    frame: pl.DataFrame,
    vector: Vector = "vector",
    cluster: str = "cluster",
    **arguments: Any,
) -> list[Row]:
    """The rows of a table macro or frame function of the point side."""
    return engine.call(function, frame, vector, cluster, **arguments)


def one(engine: Engine, function: str, frame: pl.DataFrame, *given: Any, **arguments: Any) -> Row:
    [row] = call(engine, function, frame, *given, **arguments)
    return row


def call_by_case(
    engine: Engine, function: str, cases: Sequence[pl.DataFrame], *given: Any, **arguments: Any
) -> list[list[Row]]:
    """The rows of each frame, from one call with a partition for each.

    A frame without any row has no partition, hence no rows.
    """
    stacked = pl.concat([frame.with_columns(case=pl.lit(i)) for i, frame in enumerate(cases)])
    rows = call(engine, function, stacked, *given, partition_by="case", **arguments)
    numbers = [row.pop("case") for row in rows]
    assert numbers == sorted(numbers), "partitions are in order"
    return [
        [row for row, number in zip(rows, numbers, strict=True) if number == i]
        for i in range(len(cases))
    ]


def assert_points(
    actual: Sequence[Mapping[str, Any]],
    expected: Sequence[Mapping[str, Any]],
    *,
    tolerance: float = 1e-12,
    floor: float = 0.0,
    without: Collection[str] = (),
    what: object = "",
) -> None:
    """The same rows in the same order: numbers within `tolerance`, relative but for `floor`.

    `floor` is what counts as 0; the columns `without` are only there. None, NaN and the infinities
    are three different results.
    """
    assert len(actual) == len(expected), f"{what}: {len(actual)} rows, expected {len(expected)}"
    for i, (row, wanted) in enumerate(zip(actual, expected, strict=True)):
        assert list(row) == list(wanted), f"{what}: columns {list(row)}, expected {list(wanted)}"
        for name in [name for name in wanted if name not in without]:
            where = f"{name} in row {i} {what}"
            assert_value(row[name], wanted[name], tolerance, floor, where)


def assert_value(actual: Any, expected: Any, tolerance: float, floor: float, what: str) -> None:
    if isinstance(expected, list):
        assert isinstance(actual, list | tuple), f"{what}: {actual!r}, expected {expected}"
        assert len(actual) == len(expected), f"{what}: {actual!r}, expected {expected}"
        for x, y in zip(actual, expected, strict=True):
            assert_value(x, y, tolerance, floor, what)
    elif isinstance(expected, float) and not math.isnan(expected):
        both = isinstance(actual, float) and math.isfinite(actual) and math.isfinite(expected)
        if not (both and abs(actual - expected) <= floor):
            assert_same(actual, expected, bounded=False, what=what, tolerance=tolerance)
    else:
        assert is_same_key(actual, expected), f"{what}: {actual!r}, expected {expected!r}"
