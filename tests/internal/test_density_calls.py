"""Tables of density: what may not make a difference to them, and input that is an error.

They have no SQL, so that the tests of the tables of both sides do not call them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.catalogue import entries, show_range
from tests.support import registry
from tests.support.engines import fails, make
from tests.support.point_engines import assert_points, call
from tests.support.point_faults import FAULTS, vectors

if TYPE_CHECKING:
    from tests.support.engines import Row

TABLES = registry.POINTS_WITHOUT_MACRO
POLARS = make("polars")
WIDE = ["x", "y"]
# Multiples of 1/4, which Float32 and a shift by a power of two keep.
POINTS = pl.DataFrame(
    {
        "id": range(60),
        "x": [(i * 7 % 13) / 4 for i in range(60)],
        "y": [i % 3 * 2 + (i * 5 % 11) / 4 for i in range(60)],
        "cluster": [i % 3 for i in range(60)],
        "run": [i // 30 for i in range(60)],
    }
)


def rows_of(table: str, frame: pl.DataFrame, **options: Any) -> list[Row]:
    return call(POLARS, table, frame, WIDE, id="id", **options)


def test_the_tables_are_known() -> None:
    assert {*TABLES} == {"density_based_validity", "density_based_validity_clusters"}


def test_the_docstring_has_the_range_of_the_catalogue() -> None:
    name = "density_based_validity"
    text = " ".join((getattr(ce, name).__doc__ or "").split())
    assert f"Range {show_range(entries()[name])}." in text


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("distance", "by"),
    [("euclidean", 2.0**40), ("sqeuclidean", 2.0**27), ("cityblock", -(2.0**33))],
)
def test_the_order_of_rows_and_a_shift_do_not_matter(table: str, distance: str, by: float) -> None:
    wanted = rows_of(table, POINTS, distance=distance)
    moved = POINTS.with_columns(pl.col(WIDE) + by)
    for seed in range(3):
        frame = moved.sample(fraction=1, shuffle=True, seed=seed)
        assert_points(rows_of(table, frame, distance=distance), wanted)


@pytest.mark.parametrize("table", TABLES)
def test_a_scale_matters_only_to_distances(table: str) -> None:
    scaled = rows_of(table, POINTS.with_columns(pl.col(WIDE) * 1024))
    distances = {"sparseness", "separation"}
    back = [{k: v / 1024 if k in distances else v for k, v in row.items()} for row in scaled]
    assert_points(back, rows_of(table, POINTS))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "dtype", [pl.List(pl.Float64), pl.Array(pl.Float64, 2), pl.List(pl.Float32)]
)
def test_the_form_of_vectors_does_not_matter(table: str, dtype: pl.DataType) -> None:
    frame = POINTS.with_columns(vector=pl.concat_list(WIDE).cast(dtype))
    assert_points(call(POLARS, table, frame, "vector", id="id"), rows_of(table, POINTS))


@pytest.mark.parametrize("table", TABLES)
def test_each_partition_is_scored_alone(table: str) -> None:
    found = rows_of(table, POINTS, partition_by="run")
    alone = [
        {"run": run, **row}
        for run in (0, 1)
        for row in rows_of(table, POINTS.filter(pl.col("run") == run))
    ]
    assert_points(found, alone)


@pytest.mark.parametrize("table", TABLES)
def test_rows_without_a_cluster_or_a_coordinate_do_not_matter(table: str) -> None:
    far = POINTS.head(4).with_columns(id=pl.col("id") + 100, x=pl.lit(1e20))
    gaps = far.with_columns(x=pl.lit(None, pl.Float64), id=pl.col("id") + 100)
    frame = pl.concat([far.with_columns(cluster=pl.lit(None, pl.Int64)), POINTS, gaps])
    found = rows_of(table, frame, missing="drop")
    assert_points(found, rows_of(table, POINTS), without={"n_dropped"})
    assert [row.get("n_dropped", 8) for row in found] == [8] * len(found)


def test_dropped_noise_lowers_the_score_by_its_share() -> None:
    """20 of 60 points are noise. Clusters have the same scores as without it."""
    options = {"noise": 2, "noise_as": "drop"}
    rest = POINTS.filter(pl.col("cluster") != 2)
    [row], [alone] = (
        rows_of("density_based_validity", frame, **given)
        for frame, given in ((POINTS, options), (rest, {}))
    )
    assert (row["n"], row["n_noise"], row["n_clusters"]) == (40, 20, 2)
    lowered = alone["density_based_validity"] * 40 / 60
    assert row["density_based_validity"] == pytest.approx(lowered, rel=1e-14)
    table = "density_based_validity_clusters"
    assert_points(rows_of(table, POINTS, **options), rows_of(table, rest))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("fault", FAULTS)
def test_points_that_are_errors(table: str, fault: str) -> None:
    values, words = FAULTS[fault]
    for frame in (vectors(*values), vectors(*values).lazy()):
        with fails(POLARS, words):
            getattr(ce, table)(frame, "vector", "cluster").lazy().collect()


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    ("scale", "words"),
    [(0.8e154, "distances overflow; scale the coordinates down"), (1e-170, "distances underflow")],
)
def test_points_too_far_apart_or_too_near(table: str, scale: float, words: str) -> None:
    with fails(POLARS, f"vector: {words}"):
        rows_of(table, POINTS.with_columns(pl.col(WIDE) * scale))


@pytest.mark.parametrize("table", TABLES)
def test_an_id_that_occurs_twice(table: str) -> None:
    frame = POINTS.with_columns(id=pl.col("id") % 30)
    assert rows_of(table, frame, partition_by="run")
    with fails(POLARS, "id: expected one row for each id of a partition, got 2 rows with 0"):
        rows_of(table, frame)
