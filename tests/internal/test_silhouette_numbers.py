"""Silhouettes of numbers of any size, of many coordinates and of many clusters."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_samples as sklearn_samples

import polars_clustereval as ce
from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.point_strategies import (
    SEEDS,
    Rows,
    frame_of_sets,
    quarter,
    random_sets,
)
from tests.support.seeds import SEED
from tests.support.silhouette_cases import (
    SAMPLES,
    SCORE,
    is_delicate_row,
    spread_points,
    vector_frame,
)
from tests.support.silhouette_oracle import Silhouettes

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

pytestmark = pytest.mark.gate


@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "cosine"])
@SEEDS
@SEED
def test_a_shift_changes_nothing(engine: Engine, distance: str, seed: int) -> None:
    sets = random_sets((seed, distance), 8, 2, quarter)
    moved = [
        frame_of_sets([[(None if v is None else [x + 1e8 for x in v], c) for v, c in rows]])
        for rows in sets
    ]
    several = call_by_case(engine, SAMPLES, moved, distance=distance, p=3)
    for rows, found in zip(sets, several, strict=True):
        part = Silhouettes(*zip(*rows, strict=True), Measure(distance, 3))
        wanted = part.samples()
        for mine, theirs, i in zip(found, wanted, part.in_order(), strict=True):
            without = {"id", "neighbor"} if part.is_tied(i) else {"id"}
            if is_delicate_row(theirs):
                without.add("silhouette")
            assert_points([mine], [theirs], tolerance=1e-6, floor=1e-6, without=without)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("p", "more"),
    [
        *((1, {}), (1, {"method": "bounds"})),
        *((2, {"method": "simplified"}), (2, {"tolerance": 0.2})),
        *(
            pytest.param(p, more, marks=pytest.mark.wide)
            for p, more in (
                *((2, {}), (2, {"method": "bounds"})),
                *((1, {"method": "simplified"}), (1, {"tolerance": 0.2})),
            )
        ),
    ],
)
def test_minkowski_of_orders_1_and_2(engine: Engine, p: int, more: dict[str, Any]) -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]
    distance = {1: "cityblock", 2: "Euclidean"}[p]
    how: dict[str, Any] = more | {"weights": [1, 3]}
    wanted = one(engine, SCORE, frame_of_sets([rows]), distance=distance, **how)
    got = one(engine, SCORE, frame_of_sets([rows]), distance="minkowski", p=p, **how)
    assert_points([got], [wanted])


EXPONENTS = [-480, -260, -170, 170, 260, 480]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "minkowski"])
@pytest.mark.parametrize(
    "exponents",
    [EXPONENTS, *(pytest.param([e], marks=pytest.mark.wide) for e in EXPONENTS)],
    ids=lambda exponents: f"{len(exponents)} from {exponents[0]}",
)
def test_a_scale_changes_nothing(engine: Engine, distance: str, exponents: list[int]) -> None:
    """Not even where the squares of squared distances overflow, or are 0."""
    pairs = [(exponent, kind) for exponent in exponents for kind in ("normal", "correlated")]
    points = {kind: spread_points(kind, 60, 3, 4, 3) for kind in ("normal", "correlated")}
    plain = [vector_frame(x.tolist(), clusters.tolist()) for x, clusters in points.values()]
    scaled = [
        vector_frame((points[kind][0] * 2.0**exponent).tolist(), points[kind][1].tolist())
        for exponent, kind in pairs
    ]
    wanted = dict(zip(points, call_by_case(engine, SAMPLES, plain, distance=distance), strict=True))
    samples = call_by_case(engine, SAMPLES, scaled, distance=distance)
    bounds = call_by_case(engine, SCORE, scaled, distance=distance, method="bounds")
    for (exponent, kind), got, [row] in zip(pairs, samples, bounds, strict=True):
        theirs, what = wanted[kind], (exponent, kind)
        assert [row["neighbor"] for row in got] == [row["neighbor"] for row in theirs], what
        silhouettes = [[row["silhouette"] for row in of] for of in (got, theirs)]
        assert silhouettes[0] == pytest.approx(silhouettes[1], rel=0, abs=1e-9), what
        mean = sum(silhouettes[1]) / len(theirs)
        assert row["silhouette_lower"] - 1e-9 <= mean <= row["silhouette_upper"] + 1e-9, what


@pytest.mark.parametrize("method", ["exact", "bounds"])
def test_squares_that_overflow(side: Engine, method: str) -> None:
    x, clusters = spread_points("normal", 60, 3, 4, 3)
    rows = vector_frame((x * 2.0**520).tolist(), clusters.tolist())
    # DuckDB 1 has words of its own, from its variance.
    words = "(distances overflow; scale the coordinates down|VARPOP is out of range)"
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        one(side, SCORE, rows, method=method)


@cache
def many_partitions(distance: str) -> tuple[pl.DataFrame, list[Row]]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1200, 3)).round(3)
    runs, clusters = rng.integers(0, 60, 1200), rng.integers(0, 5, 1200)
    wanted = []
    for run in range(60):
        mine = runs == run
        part = Silhouettes(x[mine].tolist(), clusters[mine].tolist(), Measure(distance))
        wanted.append({"run": run} | part.score())
    return vector_frame(x.tolist(), clusters.tolist(), run=runs), wanted


@pytest.mark.gate
@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev"])
def test_many_clusters_and_many_partitions(engine: Engine, distance: str) -> None:
    """Many small clusters are computed in another way than few large ones."""
    rows, wanted = many_partitions(distance)
    got = call(engine, SCORE, rows, partition_by="run", distance=distance)
    assert_points(got, wanted, tolerance=1e-9, floor=1e-9)


# The 50,000 points of the benchmarks ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["euclidean", "cityblock"])
def test_many_points_as_scikit_learn(engine: Engine, distance: str) -> None:
    x, clusters = spread_points("normal", 10000, 16, 20, 1)
    wanted = sklearn_samples(x, clusters, metric=distance)
    rows = call(engine, SAMPLES, vector_frame(x.tolist(), clusters.tolist()), distance=distance)
    got = np.array([row["silhouette"] for row in rows])
    assert np.abs(got - wanted).max() < 1e-9


def silhouettes_by_definition(x: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Cityblock silhouettes from all pairs."""
    d = np.abs(x[:, None] - x).sum(axis=2)
    sizes = np.bincount(cluster)
    means = np.column_stack([d[:, cluster == c].sum(axis=1) for c in range(len(sizes))])
    rows = np.arange(len(x))
    a = means[rows, cluster] / (sizes[cluster] - 1)
    means = means / sizes
    means[rows, cluster] = np.inf
    b = means.min(axis=1)
    return np.asarray((b - a) / np.maximum(a, b))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("tail", ["powers", "one far away", "many far away"])
def test_cityblock_with_heavy_tails(tail: str, sign: float) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(300, 3))
    if tail == "powers":
        x = 10.0 ** random.uniform(-60, 0, size=x.shape)
    elif tail == "one far away":
        x[7] = 1e55
    else:
        x = np.exp(20 * x)
    cluster = np.arange(300) % 3
    frame = pl.DataFrame(sign * x, schema=["u", "v", "w"]).with_columns(cluster=pl.Series(cluster))
    found = ce.silhouette_samples(frame, ["u", "v", "w"], "cluster", distance="cityblock")
    expected = silhouettes_by_definition(sign * x, cluster)
    np.testing.assert_allclose(found["silhouette"].to_numpy(), expected, atol=1e-9)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("dims", "k", "distance"),
    [
        pytest.param(*sizes, distance, marks=[] if (i + j) % 2 == 0 else pytest.mark.gate)
        for i, sizes in enumerate([(3, 1100), (40, 500), (500, 20), (2000, 150)])
        for j, distance in enumerate(["sqeuclidean", "cosine"])
    ],
)
def test_squares_with_many_clusters_or_coordinates(
    engine: Engine, distance: str, dims: int, k: int
) -> None:
    """Products of matrices are taken in pieces, and SQL's lists of distances have an end."""
    random = np.random.default_rng(dims)
    n = 2 * k + 300
    cluster = np.arange(n) % k
    x = random.normal(size=(k, dims))[cluster] + random.normal(size=(n, dims))
    vector = pl.Series(x, dtype=pl.Array(pl.Float64, dims))
    rows = pl.DataFrame({"vector": vector, "cluster": cluster})
    found = call(engine, SAMPLES, rows, distance=distance)
    expected = sklearn_samples(x, cluster, metric=distance)
    np.testing.assert_allclose([row["silhouette"] for row in found], expected, atol=1e-9)
    means = np.stack([cdist(x[:20], x[cluster == y], distance).mean(axis=1) for y in range(k)])
    means[cluster[:20], np.arange(20)] = np.inf
    assert [row["neighbor"] for row in found[:20]] == means.argmin(axis=0).tolist()


@pytest.mark.gate
def test_cityblock_of_many_coordinates_that_nearly_tie() -> None:
    # Means of 1638.40 and 1638.44: single precision alone would not tell them apart.
    dims = 4096
    near, far = np.zeros((5, dims)), np.zeros((100, dims))
    near[:2] = 1
    far[:, :1638] = 1
    far[:44, 1638] = 1
    first = np.zeros((2, dims))
    first[1, dims - 1638 :] = 1
    x = np.vstack([first, near, far])
    cluster = np.repeat([0, 1, 2], [2, 5, 100])
    frame = pl.DataFrame(
        {"vector": pl.Series(x, dtype=pl.Array(pl.Float64, dims)), "cluster": cluster}
    )
    found = ce.silhouette_samples(frame, "vector", "cluster", distance="cityblock")
    assert found["neighbor"][0] == 1
    assert found["b"][0] == pytest.approx(1638.40, abs=1e-9)


COSINE_TABLES = ("silhouette_score", "internal_report", "dunn_index")


@pytest.mark.parametrize(
    ("dims", "function"),
    [
        *((3, function) for function in COSINE_TABLES),
        (40, COSINE_TABLES[0]),
        *(pytest.param(40, function, marks=pytest.mark.gate) for function in COSINE_TABLES[1:]),
    ],
)
def test_vectors_too_short_for_a_direction(engine: Engine, dims: int, function: str) -> None:
    """Their squares underflow: they are zero vectors, in every step and on every engine."""
    random = np.random.default_rng(5)
    x = random.normal(size=(60, dims))
    zeros = x.copy()
    x[::2] *= 1e-200
    zeros[::2] = 0.0
    cases = [vector_frame(rows.tolist(), np.arange(60) % 3) for rows in (x, zeros)]
    found, expected = call_by_case(engine, function, cases, distance="cosine")
    assert_points(found, expected, tolerance=1e-9, what=function)
