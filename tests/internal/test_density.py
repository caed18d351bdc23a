"""DBCV: degenerate rows, published numbers, all spanning trees, and what must not matter."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons

import polars_clustereval as ce
from polars_clustereval.internal.distances import Distance
from polars_clustereval.internal.kernels import (
    density_separations,
    density_trees,
    extreme_pairs,
    measured_pairs,
)
from polars_clustereval.internal.kernels.extreme_pairs import Metric
from polars_clustereval.internal.kernels.partitions import Partition
from tests.support import density_oracle as oracle
from tests.support.point_oracle import DISTANCES, Measure

SCORE = "density_based_validity"
CLUSTER_COLUMNS = ["cluster", "n", "sparseness", "separation", "validity"]


def frame_of(x: Any, clusters: Any, **columns: Any) -> pl.DataFrame:
    """Points with the coordinates x0, x1, ..."""
    points = np.asarray(x, dtype=np.float64).reshape(len(x), -1 if len(x) else 2)
    coordinates = {f"x{i}": points[:, i] for i in range(points.shape[1])}
    return pl.DataFrame(coordinates | {"cluster": clusters} | columns)


def vector_of(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name.startswith("x")]


def score(frame: pl.DataFrame, *given: Any, **options: Any) -> float | None:
    table = ce.density_based_validity(frame, vector_of(frame), "cluster", *given, **options)
    value: float | None = table[SCORE].item()
    return value


def clusters(frame: pl.DataFrame, *given: Any, **options: Any) -> list[tuple[Any, ...]]:
    table = ce.density_based_validity_clusters(
        frame, vector_of(frame), "cluster", *given, **options
    )
    return table.rows()


def is_near(found: Any, expected: Any, rel: float = 1e-9, within: float = 1e-12) -> bool:
    """Whether rows of numbers are equal up to rounding errors, and NULL where the others are."""
    pairs = list(zip(found, expected, strict=True))
    return all(
        a is b if a is None or b is None else a == pytest.approx(b, rel=rel, abs=within)
        for a, b in pairs
    )


def test_another_number_is_not_near() -> None:
    assert is_near([1.0, None], [1.0 + 1e-13, None])
    assert not any(is_near([1.0, None], x) for x in ([1.0 + 1e-8, None], [1.0, 0.0], [None, None]))


def moons(n: int, noise: float = 0.05, seed: int = 1782) -> tuple[Any, Any]:
    x, y = make_moons(n_samples=n, noise=noise, random_state=seed)
    return x, y


# ----------------------------------------------------------------------------------------------
# Degenerate rows
# ----------------------------------------------------------------------------------------------

#: Points on a line, their clusters, the rows of the clusters, and the score.
DEGENERATE: dict[str, tuple[list[float], list[Any], list[tuple[Any, ...]], float | None]] = {
    "one cluster": ([0, 1, 3], [1, 1, 1], [(1, 3, None, None, None)], None),
    "only single points": (
        [0, 1],
        [1, 2],
        [(1, 1, None, None, None), (2, 1, None, None, None)],
        None,
    ),
    "a tree and a single point": (
        [0, 1, 5],
        [1, 1, 2],
        [(1, 2, None, None, None), (2, 1, None, None, None)],
        None,
    ),
    # Without an inner point, all points are compared: 1 from 3, which is 2.
    "two pairs": ([0, 1, 3, 4], [1, 1, 2, 2], [(1, 2, 1, 2, 0.5), (2, 2, 1, 2, 0.5)], 0.5),
    "pairs that touch": ([0, 1, 1, 2], [1, 1, 2, 2], [(1, 2, 1, 1, 0), (2, 2, 1, 1, 0)], 0),
    "two pairs and a single point": (
        [0, 1, 3, 4, 9],
        [1, 1, 2, 2, 3],
        [(1, 2, 1, 2, 0.5), (2, 2, 1, 2, 0.5), (3, 1, None, None, 0)],
        0.4,
    ),
    # A point with a copy is in a place of infinite density, so its core distance is 0.
    "copies": ([0, 0, 2, 2], [1, 1, 2, 2], [(1, 2, 0, 2, 1), (2, 2, 0, 2, 1)], 1),
    "copies in the same place": ([3] * 4, [1, 1, 2, 2], [(1, 2, 0, 0, 0), (2, 2, 0, 0, 0)], 0),
    # The tree of the first cluster is a star without inner edges: all its edges count. Only its
    # middle is compared, at a distance of 4.
    "a star": (
        [0, 1, 2, 5, 6],
        [1, 1, 1, 2, 2],
        [(1, 3, 4 / 3, 4, 2 / 3), (2, 2, 1, 4, 3 / 4)],
        0.7,
    ),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_rows(case: str) -> None:
    x, names, expected, mean = DEGENERATE[case]
    frame = frame_of(x, names)
    found = clusters(frame)
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        assert row[:2] == wanted[:2]
        assert is_near(row[2:], wanted[2:], 1e-15, 1e-15)
    assert is_near([score(frame)], [mean], 1e-15, 1e-15)


def test_no_rows() -> None:
    frame = frame_of(np.empty((0, 2)), pl.Series([], dtype=pl.Int64))
    table = ce.density_based_validity(frame, ["x0", "x1"], "cluster")
    assert table.rows(named=True) == [
        {"n": 0, "n_dropped": 0, "n_noise": 0, "n_clusters": 0, "n_singletons": 0, SCORE: None}
    ]
    assert clusters(frame) == []


def test_rows_without_a_cluster_or_vector_are_dropped() -> None:
    whole = frame_of(*moons(60))
    dropped = frame_of([[0.0, 0.0], [1.0, 1.0]], [None, 1])
    dropped = dropped.with_columns(x0=pl.when(pl.col("cluster").is_null()).then("x0"))
    dropped = dropped.with_columns(x1=pl.when(pl.col("cluster").is_null()).then("x1"))
    both = pl.concat([whole, dropped.cast(whole.schema)])
    table = ce.density_based_validity(both, ["x0", "x1"], "cluster")
    assert table.select("n", "n_dropped").row(0) == (60, 2)
    assert table[SCORE].item() == score(whole)


# ----------------------------------------------------------------------------------------------
# Noise
# ----------------------------------------------------------------------------------------------


def test_noise_counts_in_the_total() -> None:
    x, y = moons(60)
    clean, noisy = frame_of(x, y), frame_of([*x, [9, 9], [-9, 4], [-8, 5]], [*y, -1, -1, -1])
    expected = score(clean) * 60 / 63  # type: ignore[operator]
    for noise_as in ("drop", "singletons"):
        assert score(noisy, noise=-1, noise_as=noise_as) == pytest.approx(expected, abs=1e-15)
    found = clusters(noisy, noise=-1, noise_as="singletons")
    assert found == [*clusters(clean), *[(None, 1, None, None, 0.0)] * 3]
    assert clusters(noisy, noise=-1, noise_as="drop") == clusters(clean)
    assert score(noisy, noise=-1, noise_as="cluster") == score(noisy) != pytest.approx(expected)


def test_only_noise_is_left_out() -> None:
    x, y = moons(20)
    assert score(frame_of(x, [-1] * 20), noise=-1, noise_as="drop") is None
    assert score(frame_of(x, np.where(y == 1, -1, 0)), noise=-1, noise_as="drop") is None


# ----------------------------------------------------------------------------------------------
# Other authors
# ----------------------------------------------------------------------------------------------


def test_published_values() -> None:
    # The README of the package DBCV (FelSiq), version 13c3896e. The data are those of scikit-learn.
    x, y = moons(300)
    found = score(frame_of(x, y), distance="sqeuclidean")
    assert found == pytest.approx(0.8545358723390613, abs=1e-10)
    x, y = moons(500)
    rng = np.random.RandomState(1082)
    noise = rng.uniform(*np.quantile(x, (0, 1), axis=0), size=(100, 2))
    noisy = frame_of(np.vstack([x, noise]), [*y, *[-1] * 100])
    found = score(noisy, distance="sqeuclidean", noise=-1, noise_as="drop")
    assert found == pytest.approx(0.7545431212217051, abs=1e-10)


@pytest.mark.parametrize(
    ("points", "names", "value"),
    [
        ([[1, 1], [2, 2], [4, 4], [5, 5]], [1, 1, 2, 2], 0.75),
        ([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], [1, 1, 2, 2, 2], 0.694201697828989),
    ],
)
def test_values_of_the_authors(points: list[list[int]], names: list[int], value: float) -> None:
    # From the MATLAB code of the index, by the tests of DBCV: dataset_100.txt and dataset_101.txt.
    assert score(frame_of(points, names), distance="sqeuclidean") == pytest.approx(value, abs=1e-14)


#: The validities of the clusters by validity_index of hdbscan 0.8.44.
HDBSCAN: dict[str, tuple[list[float], list[float]]] = {
    "euclidean": (
        [0.6198799035806559, 0.3566626946353797, 0.760358351349247, 0.3820458327961898],
        [0.19649109014736296, 0.41505495072623355],
    ),
    "sqeuclidean": (
        [0.9135146105850112, 0.5301916269326673, 0.9635048818669251, 0.6350428021714102],
        [0.5891146464599774, 0.20299433762693292],
    ),
    "cityblock": (
        [0.6698394339219143, 0.3019499695863955, 0.765665325444037, 0.3563258804187633],
        [-0.03912637917392689, 0.20395864754054854],
    ),
    "chebyshev": (
        [0.6167860600245474, 0.2701078323531039, 0.7437978340475091, 0.2640508075477636],
        [0.0407114081095537, 0.31631025033225685],
    ),
    "minkowski": (
        [0.6214187011559443, 0.3428440195722911, 0.7505050842075317, 0.3576219153066758],
        [0.004380936716181978, 0.28590952936220276],
    ),
    "cosine": (
        [0.9540896019430434, 0.5532204805706757, 0.9911661732165015, 0.15797575653913568],
        [-0.9990121487982573, -0.9998891185839346],
    ),
}


@pytest.mark.parametrize("distance", HDBSCAN)
def test_hdbscan(distance: str) -> None:
    blobs = make_blobs(400, n_features=3, centers=4, cluster_std=1.5, random_state=7)
    for (x, y), expected in zip((blobs, moons(1000, 0.08, 3)), HDBSCAN[distance], strict=True):
        frame = frame_of(x, y)
        found = [row[-1] for row in clusters(frame, distance=distance, p=3)]
        assert found == pytest.approx(expected, abs=1e-11)
        mean = np.average(found, weights=np.bincount(y))
        assert score(frame, distance=distance, p=3) == pytest.approx(mean, abs=1e-14)


def test_many_coordinates() -> None:
    # 0.3088385846014774 is also that of hdbscan 0.8.44, which has NaN or a wrong score at 400.
    x, y = make_blobs(200, n_features=40, centers=3, cluster_std=4, random_state=7)
    assert score(frame_of(x, y)) == pytest.approx(0.3088385846014774, abs=1e-12)
    # The distances of copies of the coordinates are the same but for a factor, the exponent is not.
    x, y = make_blobs(40, n_features=20, centers=2, cluster_std=4, random_state=7)
    wide = np.tile(x * 1e-3, 20)
    core = density_trees.core_distances(wide[y == 0], metric_of("euclidean"))
    expected = oracle.core_distances(Measure().between(wide[y == 0], wide[y == 0]), 400)
    assert core == pytest.approx(expected, rel=1e-11)


# ----------------------------------------------------------------------------------------------
# All spanning trees
# ----------------------------------------------------------------------------------------------


def metric_of(distance: str, p: float = 2) -> Metric:
    return Metric(Distance(distance, p))


@st.composite
def small_sets(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Up to three clusters of one to five points, with many ties and copies."""
    dims = draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 5), min_size=2, max_size=3))
    point = st.lists(st.integers(-3, 3), min_size=dims, max_size=dims)
    x = [draw(point) for _ in range(sum(sizes))]
    names = [i for i, size in enumerate(sizes) for _ in range(size)]
    order = draw(st.permutations(range(len(x))))
    return [x[i] for i in order], [names[i] for i in order]


@pytest.mark.parametrize("distance", DISTANCES)
def test_all_spanning_trees(distance: str) -> None:
    n_tied = 0

    @settings(max_examples=60, deadline=None)
    @given(drawn=small_sets())
    def check(drawn: tuple[list[list[int]], list[int]]) -> None:
        nonlocal n_tied
        x, names = drawn
        measure = Measure(distance, 3)
        expected = oracle.score(np.array(x, dtype=float), names, measure)
        frame = frame_of(x, names)
        found = clusters(frame, distance=distance, p=3)
        for row, wanted in zip(found, expected.clusters, strict=True):
            assert is_near(row[2:], wanted)
        value = score(frame, distance=distance, p=3)
        assert is_near([value], [expected.score])
        if value is not None and expected.least is not None and expected.most is not None:
            assert expected.least - 1e-9 <= value <= expected.most + 1e-9
            n_tied += expected.most - expected.least > 1e-6

    check()
    # The order of edges decides in a good part of the examples.
    assert n_tied >= 2


def test_the_order_of_ids_decides() -> None:
    """The same points with other ids: each value is that of the definition, and they differ."""
    x, names = moons(300)
    values = set()
    for seed in range(5):
        ids = random.Random(seed).sample(range(300), 300)
        values.add(round(score(frame_of(x, names, id=ids), "id") or 0, 9))
    assert len(values) > 1
    small = [[0, 0], [1, 0], [2, 0], [1, 1], [5, 5], [6, 5], [7, 5], [6, 6]]
    for seed in range(10):
        order = random.Random(seed).sample(range(8), 8)
        names = [i // 4 for i in order]
        shuffled = np.array([small[i] for i in order], dtype=float)
        expected = oracle.score(shuffled, names, Measure())
        ids = [10 * i for i in range(8)]
        assert score(frame_of(shuffled, names, id=ids), "id") == pytest.approx(expected.score)


# ----------------------------------------------------------------------------------------------
# What must not matter
# ----------------------------------------------------------------------------------------------


def test_the_order_of_rows_does_not_matter_with_ids() -> None:
    x, y = moons(300)
    frame = frame_of(x, y, id=[f"p{i:03}" for i in range(300)])
    expected = clusters(frame, "id")
    # Ids in the order of the rows are row numbers.
    assert clusters(frame) == expected
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        assert clusters(shuffled, "id") == expected
        assert clusters(shuffled) != expected


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x + 2.0**20,
        lambda x: x * 1024,
        lambda x: x * 2.0**-300,
        lambda x: -x[:, ::-1],
    ],
    ids=["shift", "scale", "tiny", "reflection"],
)
@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev"])
def test_changes_of_all_coordinates(change: Any, distance: str) -> None:
    x, y = moons(200)
    x = np.round(x * 16) / 16  # a grid, where many distances are equal
    expected = [row[-1] for row in clusters(frame_of(x, y), distance=distance)]
    found = [row[-1] for row in clusters(frame_of(change(x), y), distance=distance)]
    assert found == pytest.approx(expected, abs=1e-9)


def test_types_and_kinds_of_frames() -> None:
    x, y = moons(80)
    x = np.round(x * 64) / 64
    frame = frame_of(x, y)
    expected = clusters(frame)
    vector = pl.concat_list("x0", "x1")
    for other in (
        frame.with_columns(pl.col("x0", "x1").cast(pl.Float32)),
        frame.with_columns((pl.col("x0", "x1") * 64).cast(pl.Int32)),
        frame.with_columns(pl.col("cluster").cast(pl.String)),
        pl.concat([frame[:30], frame[30:]], rechunk=False),
    ):
        found = [row[-1] for row in clusters(other)]
        assert found == pytest.approx([row[-1] for row in expected], abs=1e-12)
    lists = frame.with_columns(v=vector)
    lazy = ce.density_based_validity_clusters(lists.lazy(), "v", "cluster")
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect(engine="streaming").rows() == expected
    arrays = lists.with_columns(pl.col("v").list.to_array(2))
    assert arrays.clustereval.density_based_validity_clusters("v", "cluster").rows() == expected


def test_partitions_are_independent() -> None:
    parts = [frame_of(*moons(n, seed=n)).with_columns(run=pl.lit(n)) for n in (40, 90, 60)]
    single = frame_of([0, 1], [0, 0]).with_columns(x1=pl.lit(0.0), run=pl.lit(7))
    whole = pl.concat([*parts, single.select(parts[0].columns).cast(parts[0].schema)])
    whole = whole.with_columns(id=pl.int_range(pl.len())).sample(fraction=1, shuffle=True, seed=1)
    vector = ["x0", "x1"]
    found = ce.density_based_validity(whole, vector, "cluster", "id", partition_by="run")
    expected = [(part["run"][0], score(part)) for part in parts]
    assert found.select("run", SCORE).rows() == [(7, None), *sorted(expected)]


# ----------------------------------------------------------------------------------------------
# The kernel
# ----------------------------------------------------------------------------------------------


def test_batches_of_small_clusters() -> None:
    """Clusters that grow together, of all sizes, are as those that grow alone."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(2, 40, 60)
    names = np.repeat(np.arange(60), sizes)
    x = rng.integers(-4, 5, (len(names), 2)) + 12 * np.column_stack([names // 8, names % 8])
    whole = clusters(frame_of(x, names))
    for first in range(0, 60, 6):
        pair = np.isin(names, (first, 59))
        alone = clusters(frame_of(x[pair], names[pair]))
        assert alone[0][1:3] == whole[first][1:3]


@pytest.mark.parametrize("distance", DISTANCES)
def test_bounds_lose_no_pair(distance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Separations with pruned pairs are those of all pairs of inner points."""
    monkeypatch.setattr(extreme_pairs, "TILE_POINTS", 16)  # several blocks for each cluster
    rng = np.random.default_rng(8)
    names = np.sort(rng.integers(0, 30, 1500))
    x = rng.normal(size=(1500, 3)) + rng.normal(0, 4, (30, 3))[names]
    x[::50] = 0.0
    metric = metric_of(distance, 3)
    if distance == "cosine":
        x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    core = rng.uniform(0, 0.3, 1500)
    starts = np.searchsorted(names, np.arange(31))
    part = Partition(pl.DataFrame(), x, starts)
    with measured_pairs.count_pairs() as counts:
        found = density_separations.density_separations(part, core, metric)
    reach = np.maximum(metric.matrix(x, x), np.maximum(core, core[:, None]))
    reach[names == names[:, None]] = np.inf
    expected = np.minimum.reduceat(reach.min(axis=0), starts[:-1])
    assert found == pytest.approx(expected, rel=1e-9)
    if distance != "cosine":
        assert sum(counts) < 1500**2 / 2


def edges_of(x: Any, core: Any) -> set[tuple[int, int]]:
    """The edges of the tree of one cluster."""
    is_copy = np.zeros((1, len(x)), dtype=bool)
    parents = density_trees.grow_trees(x[None], core[None], is_copy, metric_of("euclidean"))[0]
    return {(min(i, j), max(i, j)) for i, j in enumerate(parents.tolist()) if i}


def test_the_tree_is_the_first_of_all() -> None:
    """Of the trees of least weight, that whose edges come first by the ids of their points."""
    rng, n_tied = np.random.default_rng(4), 0
    for _ in range(80):
        x = rng.integers(0, 4, (6, 2)).astype(float)
        core = rng.integers(0, 3, 6).astype(float)
        weights = oracle.reachability(Measure().between(x, x), core.tolist(), core.tolist())
        trees = oracle.minimum_trees(weights)
        n_tied += len(trees) > 1
        assert edges_of(x, core) == set(trees[0])
    assert n_tied > 40


def test_a_large_tree_is_that_of_kruskal() -> None:
    rng = np.random.default_rng(9)
    x = rng.integers(0, 12, (300, 2)).astype(float)
    core = rng.integers(0, 3, 300).astype(float)
    weights = oracle.reachability(Measure().between(x, x), core.tolist(), core.tolist())
    rounded = oracle.round_to_ties(weights)
    pairs = sorted((rounded[i, j], i, j) for i in range(300) for j in range(i + 1, 300))
    part = list(range(300))
    edges = set()
    for _, i, j in pairs:
        one, other = part[i], part[j]
        if one != other:
            part = [one if x == other else x for x in part]
            edges.add((i, j))
    assert edges_of(x, core) == edges


def test_powers() -> None:
    base = np.array([0.3, 0.9, 1.0, 0.0])
    for exponent in (1, 2, 3, 7, 8, 30, 384):
        found = density_trees.raise_to_power(base.copy(), exponent)
        assert found == pytest.approx(base**exponent, rel=1e-13)


# ----------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["density_based_validity", "density_based_validity_clusters"])
def test_errors(table: str) -> None:
    function, vector = getattr(ce, table), ["x0", "x1"]
    x, y = moons(20)
    frame = frame_of(x, y, id=[0, 0, *range(18)])
    with pytest.raises(ce.ClusterEvalError, match="got 3 rows with 0"):
        function(frame, vector, "cluster", "id")
    with pytest.raises(ce.ClusterEvalError, match="'idd'"):
        function(frame, vector, "cluster", "idd")
    broken = frame.with_columns(x1=pl.when(pl.col("id") == 4).then(float("inf")).otherwise("x1"))
    with pytest.raises(ce.ClusterEvalError, match="expected finite numbers, got inf in column x1"):
        function(broken, vector, "cluster")
    huge = frame.with_columns(pl.col("x0") * 1e200)
    with pytest.raises(ce.ClusterEvalError, match="distances overflow; scale"):
        function(huge, vector, "cluster")
    with pytest.raises(ce.ClusterEvalError, match="noise_as"):
        function(frame, vector, "cluster", noise=-1)
    with pytest.raises(ce.ClusterEvalError, match="distance: expected one of"):
        function(frame, vector, "cluster", distance="euclid")
