"""What may not make a difference to points: row order, dropped rows, other partitions, a shift.

Nor may other clusters, except as an index is defined.
"""

from __future__ import annotations

import math
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.support import engines, registry
from tests.support.point_engines import assert_points, call

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row


def with_wide(*cases: Any) -> list[Any]:
    """These cases as parameters, of which only the wide tier tries all but the first."""
    return [cases[0], *(pytest.param(*case, marks=pytest.mark.wide) for case in cases[1:])]


#: internal_summary has the values of internal_report.
ALL = [table for table in registry.tables("points") if table != "internal_summary"]
WITH_DISTANCE = [table for table in ALL if "distance" in registry.parameters(table)]


def grid_points(dims: int = 2, n: int = 36) -> pl.DataFrame:
    """Three clusters of points whose coordinates are multiples of 1/1024: sums of few are exact.

    They overlap, so that there are findings.
    """
    rng = random.Random(dims)
    apart = 0.5 if dims < 9 else 0.125
    rows = []
    for i in range(n):
        spread = [rng.randint(-1024, 1024) / 1024 for _ in range(dims)]
        vector = [x + apart * (i % 3) * (3 if j % 2 else 1) for j, x in enumerate(spread)]
        rows.append((i, vector, i % 3, 1))
    schema = {"id": pl.Int64, "vector": pl.List(pl.Float64), "cluster": pl.Int64, "run": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def call_with_ids(engine: Engine, table: str, frame: pl.DataFrame, **options: Any) -> list[Row]:
    if table == "silhouette_samples":
        options |= {"id": "id"}
    rows = call(engine, table, frame, **options)
    # Findings on rows that do not count are there to say so.
    return [row for row in rows if row.get("code") not in ("dropped_rows", "noise_rows")]


def rows_by_run(
    engine: Engine, table: str, frame: pl.DataFrame, **options: Any
) -> dict[int, list[Row]]:
    """The rows of each partition of a call."""
    found: dict[int, list[Row]] = {}
    for row in call_with_ids(engine, table, frame, partition_by="run", **options):
        found.setdefault(row.pop("run"), []).append(row)
    return found


@cache
def unchanged_rows(engine_name: str, table: str, dims: int, distance: str = "") -> list[Row]:
    """The rows of the points as they are, with which those of changed points are compared."""
    how = {"distance": distance} if distance else {}
    return call_with_ids(engines.make(engine_name), table, grid_points(dims), **how)


def extra(frame: pl.DataFrame, cluster: int | None, *vectors: list[float], run: int = 1) -> Any:
    """More rows for a frame of points."""
    rows = [(1000 + i, vector, cluster, run) for i, vector in enumerate(vectors)]
    return pl.DataFrame(rows, schema=frame.schema, orient="row")


def assert_same_table(got: list[Row], wanted: list[Row], **options: Any) -> None:
    counts = {"n_dropped", "n_noise"}
    assert_points(got, wanted, **({"tolerance": 1e-9, "floor": 1e-12, "without": counts} | options))


def assert_moved_table(got: list[Row], wanted: list[Row], by: float) -> None:
    """The same rows except for centroids, which are moved and rounded once."""
    assert got
    if "centroid" not in got[0]:
        assert_same_table(got, wanted)
        return
    back = [row | {"centroid": [x - by for x in row["centroid"]]} for row in got]
    assert_same_table(back, wanted, floor=max(1e-12, math.ulp(by)))


def moved(frame: pl.DataFrame, by: float) -> pl.DataFrame:
    return frame.with_columns(pl.col("vector").list.eval(pl.element() + by))


# Vectors of 33 coordinates are arrays in Polars and several blocks in DuckDB.
@pytest.mark.parametrize("dims", [2, pytest.param(33, marks=pytest.mark.wide)])
@pytest.mark.parametrize("table", ALL)
def test_the_order_of_rows_far_from_0_does_not_matter(
    engine: Engine, table: str, dims: int
) -> None:
    by = 2.0**33
    shuffled = moved(grid_points(dims), by).sample(fraction=1, shuffle=True, seed=5)
    got = call_with_ids(engine, table, shuffled)
    assert_moved_table(got, unchanged_rows(engine.name, table, dims), by)


@pytest.mark.parametrize("dims", [2, 33])
@pytest.mark.parametrize("table", ["internal_report", "internal_cluster_report"])
def test_clusters_without_a_spread_far_from_0(engine: Engine, table: str, dims: int) -> None:
    """Their common center has digits that a number of its size does not hold."""
    rows = [([0.25 * cluster] * dims, cluster) for cluster in (0, 0, 1)]
    frame = pl.DataFrame(rows, schema=["vector", "cluster"], orient="row")
    wanted = engine.table(table, frame, "vector", "cluster", distance="cityblock")
    got = engine.table(table, moved(frame, 2.0**40), "vector", "cluster", distance="cityblock")
    assert_moved_table(got, wanted, 2.0**40)


@pytest.mark.parametrize(("far", "dims"), with_wide((1e20, 2), (1e20, 33), (-1e20, 2), (1e300, 2)))
@pytest.mark.parametrize("table", ALL)
def test_dropped_rows_do_not_matter(engine: Engine, table: str, far: float, dims: int) -> None:
    """Whether they have no cluster or are noise, and stand first or last: in a partition each."""
    frame = grid_points(dims)
    dropped = extra(frame, None, [far] * dims), extra(frame, 9, [far] * dims)
    orders = [dropped[0], frame, dropped[1]], [dropped[1], frame, dropped[0]]
    both = pl.concat(pl.concat(of).with_columns(run=run) for run, of in enumerate(orders))
    by_run = rows_by_run(engine, table, both, noise=9, noise_as="drop")
    assert list(by_run) == [0, 1]
    for got in by_run.values():
        assert_same_table(got, unchanged_rows(engine.name, table, dims))


@pytest.mark.parametrize(("by", "dims"), with_wide((2.0**40, 2), (2.0**40, 33), (-(2.0**40), 33)))
@pytest.mark.parametrize("table", ["internal_report", "silhouette_score", "dunn_index"])
def test_dropped_rows_near_0_do_not_matter(
    engine: Engine, table: str, by: float, dims: int
) -> None:
    """Where all rows that count are far from 0, they are moved, wherever the dropped ones are."""
    frame = moved(grid_points(dims), by)
    dropped = extra(frame, None, [0.0] * dims), extra(frame, 9, [-by] * dims)
    got = call_with_ids(engine, table, pl.concat([*dropped, frame]), noise=9, noise_as="drop")
    assert_same_table(got, unchanged_rows(engine.name, table, dims))


@pytest.mark.parametrize(("far", "dims"), with_wide((-1.7e18, 2), (1e20, 33)))
@pytest.mark.parametrize("table", ALL)
def test_other_partitions_do_not_matter(engine: Engine, table: str, far: float, dims: int) -> None:
    """Whether their rows stand before or after."""
    frame = grid_points(dims)
    others = [extra(frame, 0, [far] * dims, [2 * far] * dims, run=run) for run in (0, 3)]
    again = frame.with_columns(run=pl.lit(2, pl.Int64))
    by_run = rows_by_run(engine, table, pl.concat([others[0], frame, again, others[1]]))
    assert list(by_run) == [0, 1, 2, 3]
    for run in (1, 2):
        assert_same_table(by_run[run], unchanged_rows(engine.name, table, dims))


@pytest.mark.parametrize(
    ("by", "distance", "dims"),
    with_wide(
        (2.0**40, "euclidean", 2),
        (2.0**40, "euclidean", 33),
        (2.0**27, "sqeuclidean", 2),
        (-(2.0**33), "cityblock", 2),
        (2.0**40, "chebyshev", 33),
        (-(2.0**40), "sqeuclidean", 33),
    ),
)
@pytest.mark.parametrize("table", WITH_DISTANCE)
def test_a_shift_does_not_matter(
    engine: Engine, table: str, by: float, distance: str, dims: int
) -> None:
    """By 1e8 to 1e12: coordinates keep all their digits, and so do sums of them."""
    got = call_with_ids(engine, table, moved(grid_points(dims), by), distance=distance)
    assert_moved_table(got, unchanged_rows(engine.name, table, dims, distance), by)


@pytest.mark.parametrize("by", [2.0**27, 2.0**40])
def test_a_shift_does_not_matter_to_determinants(engine: Engine, by: float) -> None:
    table = "determinant_report"
    got = call_with_ids(engine, table, moved(grid_points(), by))
    assert_same_table(got, unchanged_rows(engine.name, table, 2))


@pytest.mark.gate
@pytest.mark.parametrize(
    ("far", "by", "dims"),
    with_wide(
        (1e20, 2.0**27, 2),
        (1e20, 2.0**27, 33),
        (-1e20, 0.0, 2),
        (-1e20, 0.0, 33),
        (-1e20, -(2.0**27), 2),
        (-1e20, -(2.0**27), 33),
    ),
)
def test_a_far_cluster_does_not_matter_to_the_others(
    engine: Engine, far: float, by: float, dims: int
) -> None:
    """What is measured within the other clusters, or to the nearest one, stays as it is."""
    frame = moved(grid_points(dims), by)
    other = extra(frame, 7, *([far * (1 + i / 8)] * dims for i in range(3)))
    with_far = pl.concat([other.head(1), frame, other.tail(2)])
    for table in ("internal_cluster_report", "cluster_diameters", "silhouette_samples"):
        got = [row for row in call_with_ids(engine, table, with_far) if row["cluster"] != 7]
        assert_moved_table(got, unchanged_rows(engine.name, table, dims), by)


def test_a_difference_is_seen(engine: Engine) -> None:
    """The comparison of this module fails for a table that differs in one digit of 1e-8."""
    wanted = unchanged_rows(engine.name, "internal_report", 2)
    got = [row | {"ssw": row["ssw"] * (1 + 1e-8)} for row in wanted]
    with pytest.raises(AssertionError, match="ssw in row 0"):
        assert_same_table(got, wanted)
