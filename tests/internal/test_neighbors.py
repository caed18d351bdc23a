"""neighbor_report of partitions with many clusters: points compared with all centers together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from tests.support import point_oracle as oracle
from tests.support.point_engines import assert_points, call
from tests.support.point_oracle import Measure, Partition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.support.engines import Engine, Row

    Points = NDArray[np.float64]

pytestmark = pytest.mark.gate

DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")
#: Of overlapping clusters, of neighbors, and of clusters far apart.
SPREADS = (0.3, 2.0, 9.0)


def draw_points(
    seed: int, *, spread: float, k: int = 16, size: int = 70, dims: int = 2
) -> tuple[Points, list[int]]:
    """Normal clusters of k centers, which lie `spread` apart."""
    r = np.random.default_rng(seed)
    centers = r.normal(size=(k, dims)) * spread
    clusters = np.arange(k * size) % k
    return r.normal(size=(k * size, dims)) + centers[clusters], clusters.tolist()


def frame_of_neighbors(x: Points, clusters: list[int]) -> pl.DataFrame:
    vectors = pl.Series("vector", x.tolist(), dtype=pl.List(pl.Float64))
    return pl.DataFrame([vectors, pl.Series("cluster", clusters)])


def wanted_row(x: Points, clusters: list[int], measure: Measure | None = None) -> Row:
    part = Partition(x.tolist(), clusters, measure or Measure())
    if part.measure.adds_up:
        assert not oracle.is_on_the_edge(part)
    return oracle.neighbor_report(part)


@pytest.mark.parametrize("distance", DISTANCES)
def test_many_clusters(engine: Engine, distance: str) -> None:
    measure = Measure(distance, 3)
    for seed, spread in enumerate(SPREADS):
        x, clusters = draw_points(seed, spread=spread)
        wanted = wanted_row(x, clusters, measure)
        got = call(
            engine, "neighbor_report", frame_of_neighbors(x, clusters), distance=distance, p=3
        )
        assert_points(got, [wanted], floor=1e-14, what=(distance, spread))


def test_the_clusters_have_points_near_centers_and_midpoints() -> None:
    """Otherwise the density of S_Dbw would be 0 or NULL above."""
    densities = []
    for seed, spread in enumerate(SPREADS):
        x, clusters = draw_points(seed, spread=spread)
        part = Partition(x.tolist(), clusters, Measure())
        index, scattering = oracle.s_dbw(part), oracle.scattering(part)
        assert index is not None
        assert scattering is not None
        densities.append(index - scattering)
    assert densities[0] > densities[1] > 0


def test_partitions_of_few_and_of_many_clusters(engine: Engine) -> None:
    sizes: dict[str | None, int] = {"few": 3, "many": 40, "one": 1, None: 16}
    frames, wanted = [], []
    for seed, (key, k) in enumerate(sizes.items()):
        x, clusters = draw_points(seed, spread=1.0, k=k, size=12)
        frames.append(frame_of_neighbors(x, clusters).with_columns(run=pl.lit(key, pl.String)))
        wanted.append({"run": key} | wanted_row(x, clusters))
    frame = pl.concat(frames).sample(fraction=1.0, shuffle=True, seed=3)
    assert_points(call(engine, "neighbor_report", frame, partition_by="run"), wanted, floor=1e-14)


def test_more_clusters_than_a_block_of_distances_has(side: Engine) -> None:
    """Of 700 clusters most are noise that is counted as singletons."""
    r = np.random.default_rng(5)
    x, clusters = r.normal(size=(750, 2)), [*range(50), *range(50), *([-1] * 650)]
    part = Partition(x.tolist(), clusters, Measure(), -1, "singletons")
    got = call(
        side, "neighbor_report", frame_of_neighbors(x, clusters), noise=-1, noise_as="singletons"
    )
    assert_points(got, [oracle.neighbor_report(part)], floor=1e-14)


@pytest.mark.parametrize(
    "change", ["a shift", "a scale", "a far cluster", "equal centers", "points at other centers"]
)
def test_where_products_of_matrices_lose_digits(engine: Engine, change: str) -> None:
    """The squares of such coordinates have no digits left for the distances between points."""
    x, clusters = draw_points(7, spread=2.0)
    # Of eighths and powers of two the sums are exact, whatever the order.
    x = np.round(x * 8) / 8
    if change == "a shift":
        x += 2.0**40
    elif change == "a scale":
        x *= 2.0**100
    elif change == "a far cluster":
        x, clusters = np.concatenate([x, [[2.0**30, 2.0**30], [2.0**30, 0]]]), [*clusters, 99, 99]
    elif change == "equal centers":
        x, clusters = np.tile(x, (2, 1)), [*clusters, *(c + 100 for c in clusters)]
    else:
        x, clusters = np.concatenate([x, x[:7], x[:7]]), [*clusters, *range(200, 214)]
    origin = x.min(axis=0) if change == "a shift" else 0.0
    wanted = wanted_row(x - origin, clusters)
    assert_points(call(engine, "neighbor_report", frame_of_neighbors(x, clusters)), [wanted])
