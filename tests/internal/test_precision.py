"""Digits that are kept: narrow and whole number types, cancelled squares, sums of many numbers."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist, pdist

from tests.support import engines
from tests.support.point_engines import assert_points, call, one

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.support.engines import Engine, Row

    Floats = NDArray[np.float64]

pytestmark = pytest.mark.gate

TABLES: list[tuple[str, dict[str, Any]]] = [
    ("internal_report", {}),
    ("dunn_index", {"generalized": False}),
    ("silhouette_score", {"distance": "sqeuclidean"}),
    ("silhouette_score", {"distance": "cityblock"}),
]


def vectors_of_type(dims: int, dtype: Any, values: Floats) -> pl.DataFrame:
    vector = pl.Series("vector", values.tolist()).cast(pl.Array(dtype, dims))
    return pl.DataFrame([vector, pl.Series("cluster", np.arange(len(values)) % 3)])


def as_double(frame: pl.DataFrame, dims: int) -> pl.DataFrame:
    return frame.with_columns(pl.col("vector").cast(pl.Array(pl.Float64, dims)))


@pytest.mark.parametrize("dims", [40, pytest.param(3, marks=pytest.mark.wide)])
@pytest.mark.parametrize(("table", "options"), TABLES)
def test_single_precision_is_that_of_the_coordinates_only(
    engine: Engine, table: str, options: dict[str, Any], dims: int
) -> None:
    """The same numbers as from their doubles: nothing is summed in single precision."""
    x = np.random.default_rng(dims).normal(size=(90, dims)) + (np.arange(90) % 3)[:, None] / 7
    frame = vectors_of_type(dims, pl.Float32, x)
    wanted = call(engine, table, as_double(frame, dims), **options)
    assert_points(call(engine, table, frame, **options), wanted, tolerance=1e-12)


SHIFTS = [(pl.Int64, 2**50), (pl.Int64, -(2**50)), (pl.UInt64, 2**50), (pl.UInt8, 200)]


@cache
def rows_near_0(engine_name: str, table: int, dims: int) -> list[Row]:
    name, options = TABLES[table]
    return call(engines.make(engine_name), name, as_double(small_numbers(dims), dims), **options)


def small_numbers(dims: int) -> pl.DataFrame:
    near = np.random.default_rng(dims).integers(0, 50, size=(60, dims))
    return vectors_of_type(dims, pl.Int64, near)


def check_whole_numbers(engine: Engine, table: int, dtype: Any, far: int, dims: int) -> None:
    """Their differences and squares neither wrap nor lose digits."""
    vector = pl.col("vector").cast(pl.List(pl.Int64)).list.eval(pl.element() + far)
    frame = small_numbers(dims).with_columns(vector.cast(pl.Array(dtype, dims)))
    name, options = TABLES[table]
    got = call(engine, name, frame, **options)
    wanted = rows_near_0(engine.name, table, dims)
    assert_points(got, wanted, tolerance=1e-11, floor=1e-12, what=(name, dtype, far))


@pytest.mark.parametrize("table", range(len(TABLES)))
def test_whole_numbers_far_from_0(engine: Engine, table: int) -> None:
    """Every table and every shift; the vectors of 33 coordinates are several blocks in DuckDB."""
    dtype, far = SHIFTS[table]
    check_whole_numbers(engine, table, dtype, far, 33 if table % 2 == 0 else 3)


@pytest.mark.wide
@pytest.mark.parametrize("dims", [33, 3])
@pytest.mark.parametrize(("dtype", "far"), SHIFTS)
def test_whole_numbers_of_every_type(engine: Engine, dtype: Any, far: int, dims: int) -> None:
    for table in range(len(TABLES)):
        check_whole_numbers(engine, table, dtype, far, dims)


@pytest.mark.parametrize("dims", [3, 40])
def test_a_centroid_without_direction(engine: Engine, dims: int) -> None:
    """Opposite vectors have the centroid 0, whose cosine distance from all vectors is 1."""
    axes = 4.0 * np.eye(dims)[:3]
    vectors = np.concatenate([axes[:2], -axes[:2], axes[2:], -axes[2:], axes[:1] + axes[1:2]])
    frame = pl.DataFrame({"vector": vectors.tolist(), "cluster": [0, 0, 0, 0, 1, 1, 2]})
    rows = call(engine, "internal_cluster_report", frame, distance="cosine")
    for row in rows[:2]:
        assert list(row["centroid"]) == [0.0] * dims
        assert (row["ssw"], row["mean_distance"], row["max_distance"]) == (row["n"], 1.0, 1.0)
        assert row["nearest_distance"] == 1.0
    # a is 1, and b the distance to the third cluster where that is less.
    near = 1 - math.sqrt(0.5)
    row = one(engine, "silhouette_score", frame, distance="cosine", method="simplified")
    assert row["silhouette"] == pytest.approx(2 * (near - 1) / 7, abs=1e-12)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("distance", "dims"),
    [
        *(("euclidean", 3), ("sqeuclidean", 40)),
        pytest.param("euclidean", 40, marks=pytest.mark.wide),
        pytest.param("sqeuclidean", 3, marks=pytest.mark.wide),
    ],
)
def test_tight_clusters_far_apart(engine: Engine, dims: int, distance: str) -> None:
    """Squares are not differences of large products: |x|² + |y|² − 2 x·y would keep no digit."""
    random = np.random.default_rng(dims)
    n = 150
    cluster = np.arange(n) % 3
    x = 1000.0 * random.normal(size=(3, dims))[cluster] + 1e-6 * random.normal(size=(n, dims))
    frame = pl.DataFrame({"vector": x.tolist(), "cluster": cluster})
    members = [x[cluster == i] for i in range(3)]
    rows = call(engine, "cluster_diameters", frame, distance=distance)
    wanted = [pdist(y, distance).max() for y in members]
    assert [row["diameter"] for row in rows] == pytest.approx(wanted, rel=1e-8, abs=0)
    index = one(engine, "dunn_index", frame, distance=distance, generalized=True)
    mean_pair = max(pdist(y, distance).mean() for y in members)
    assert index["gdi_12"] == pytest.approx(index["min_separation"] / mean_pair, rel=1e-8, abs=0)
    samples = call(engine, "silhouette_samples", frame, distance=distance)
    own = np.array([cdist(x[[i]], members[cluster[i]], distance).sum() for i in range(n)]) / (
        n // 3 - 1
    )
    np.testing.assert_allclose([row["a"] for row in samples], own, rtol=1e-6)


def test_sums_of_many_numbers() -> None:
    """Added one by one, a million equal numbers are off by 1e-11."""
    con = engines.make("duckdb").connection
    numbers = "(SELECT 0.1::DOUBLE AS x FROM range(1000000))"
    for total in ("_compensated_sum(x)", "_compensated_list_sum(list(x))"):
        row = con.execute(f"SELECT clustereval.{total} FROM {numbers}").fetchone()
        assert row == (pytest.approx(1e5, rel=1e-15),), total


@pytest.mark.parametrize("dims", [2, 17])
def test_means_of_many_numbers(dims: int) -> None:
    """DuckDB adds up with Kahan's correction, in each block of coordinates."""
    con = engines.make("duckdb").connection
    query = f"""
        WITH points AS (
            SELECT list_transform(range({dims}), lambda i: 0.1::DOUBLE + 0.2 * (n % 2)) AS v, 0 AS c
            FROM range(200000) AS numbers(n)
        )
        SELECT centroid FROM clustereval.centroids(points, v, c)
    """
    [(centroid,)] = con.execute(query).fetchall()
    assert list(centroid) == pytest.approx([0.2] * dims, rel=4e-16, abs=0)
