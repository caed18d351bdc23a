"""Zeros that rounding may not hide, and distances that no power may overflow or underflow."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from mpmath import mp, mpf

from tests.support.engines import fails
from tests.support.point_engines import call, one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.engines import Engine

DUPLICATES = [*[([0.1, 0.7], 0)] * 6, *[([5.3, 0.4], 1)] * 7, *[([1.1, 9.9], 2)] * 3]


def frame_of(rows: Sequence[tuple[Sequence[float], Any]]) -> pl.DataFrame:
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64}
    return pl.DataFrame([(list(v), c) for v, c in rows], schema=schema, orient="row")


@pytest.mark.parametrize("distance", ["euclidean", "sqeuclidean", "cityblock", "cosine"])
@pytest.mark.parametrize("copies", [1, 16])
def test_clusters_of_equal_points_have_no_spread(
    engine: Engine, distance: str, copies: int
) -> None:
    """Their mean is that point, though sums of copies of it are rounded; also of long vectors."""
    frame = frame_of([(v * copies, c) for v, c in DUPLICATES])
    row = one(engine, "internal_report", frame, distance=distance)
    assert row["ssw"] == 0.0
    assert row["calinski_harabasz_score"] == 1.0
    assert row["davies_bouldin_score"] == 0.0
    assert row["compactness"] == 0.0
    for name in ("log_ss_ratio", "banfield_raftery_index", "pbm_index"):
        assert row[name] is None, name
    if distance in ("euclidean", "sqeuclidean"):
        assert row["explained_variance"] == 1.0
    dunn = one(engine, "dunn_index", frame, distance=distance)
    assert dunn["max_diameter"] == 0.0
    assert {dunn[name] for name in dunn if name.startswith(("dunn", "gdi"))} == {None}
    assert one(engine, "neighbor_report", frame, distance=distance)["wemmert_gancarski_index"] == 1
    for method in ("exact", "simplified"):
        scores = one(engine, "silhouette_score", frame, distance=distance, method=method)
        assert scores["silhouette"] == 1.0, method


@pytest.mark.parametrize("dims", [1, 12])
def test_points_all_equal(engine: Engine, dims: int) -> None:
    frame = frame_of([([0.1, 0.2, 0.7] * dims, i % 2) for i in range(11)])
    row = one(engine, "internal_report", frame)
    assert (row["sst"], row["explained_variance"], row["sd_scattering"]) == (0.0, None, None)
    assert row["calinski_harabasz_score"] == 1.0
    assert row["ratkowsky_lance_index"] is None


def test_centroids_that_coincide_under_weights(engine: Engine) -> None:
    """The means 1 and 1 stay equal when multiplied by 3.62; scikit-learn's score of the plain x."""
    vectors = [[2.0], [-1.0], [-2.0], [1.0], [1.0], [0.0]]
    frame = frame_of(list(zip(vectors, [0, 1, 1, 2, 0, 0], strict=True)))
    options: dict[str, Any] = {"distance": "cityblock", "weights": [3.62]}
    row = one(engine, "internal_report", frame, **options)
    # Mean distances 2/3, 1/2 and 0; gaps 2.5, 2.5 and 0: (7/6 + 7/6 + 1/2) / 2.5 / 3.
    assert row["davies_bouldin_score"] == pytest.approx((7 / 6 + 7 / 6 + 1 / 2) / 7.5, rel=1e-12)
    assert row["ray_turi_index"] is None
    assert row["xie_beni_index"] is None
    assert row["sd_separation"] is None


@pytest.mark.parametrize("n", [3, 7, 10, 23])
def test_a_constant_coordinate_has_no_variance(engine: Engine, n: int) -> None:
    frame = frame_of([([i / 7, 0.1 * n], i % 3) for i in range(3 * n)])
    assert one(engine, "internal_report", frame)["ratkowsky_lance_index"] is None


def test_singletons_under_cosine_have_no_spread(engine: Engine) -> None:
    frame = frame_of([([0.3 * i + 0.1, 1.7 - 0.2 * i, 0.9], i) for i in range(6)])
    row = one(engine, "internal_report", frame, distance="cosine")
    assert row["ssw"] == 0.0
    assert (row["log_ss_ratio"], row["pbm_index"]) == (None, None)


def test_parallel_vectors_are_at_distance_0(engine: Engine) -> None:
    """(1, 2), (3, 6) ... as unit vectors differ in their last digit."""
    frame = frame_of([([k * 0.1, k * 0.2, k * 0.7], k % 2) for k in range(1, 30)])
    for method in ("exact", "simplified"):
        row = one(engine, "silhouette_score", frame, distance="cosine", method=method)
        assert row["silhouette"] == 0.0, method
    assert one(engine, "pairwise_report", frame, distance="cosine")["c_index"] is None
    assert one(engine, "dunn_index", frame, distance="cosine")["max_diameter"] == 0.0
    assert one(engine, "internal_report", frame, distance="cosine")["ssw"] == 0.0


def exact_silhouette(rows: list[tuple[list[float], int]], p: float) -> float:
    """The mean silhouette under minkowski in 60 digits, from the definition."""
    mp.dps = 60

    def between(x: list[float], y: list[float]) -> Any:
        powers = (abs(mpf(a) - mpf(b)) ** mpf(p) for a, b in zip(x, y, strict=True))
        return sum(powers, mpf(0)) ** (1 / mpf(p))

    total = mpf(0)
    for i, (x, c) in enumerate(rows):
        means = {}
        for k in {k for _, k in rows}:
            others = [y for j, (y, other) in enumerate(rows) if other == k and j != i]
            means[k] = sum((between(x, y) for y in others), mpf(0)) / len(others)
        a, b = means[c], min(mean for k, mean in means.items() if k != c)
        total += (b - a) / max(a, b)
    return float(total / len(rows))


@pytest.mark.parametrize(("scale", "p"), [(2500.0, 100), (1.0, 1000), (2.0**400, 3), (1e-130, 3)])
def test_powers_neither_overflow_nor_underflow(engine: Engine, scale: float, p: float) -> None:
    rows = [
        ([scale * (0.1 * (i % 4) + i % 3 / 2), scale * (0.07 * (i % 5) + i % 3)], i % 3)
        for i in range(18)
    ]
    wanted = exact_silhouette(rows, p)
    assert 0.2 < wanted < 0.95
    frame, how = frame_of(rows), {"distance": "minkowski", "p": p}
    row = one(engine, "silhouette_score", frame, **how)
    assert row["silhouette"] == pytest.approx(wanted, rel=1e-12)
    bounds = one(engine, "silhouette_score", frame, method="bounds", **how)
    assert bounds["silhouette_lower"] <= wanted <= bounds["silhouette_upper"]
    assert bounds["silhouette_upper"] - bounds["silhouette_lower"] < 2.0
    largest = max(
        max(abs(a - b) for a, b in zip(x, y, strict=True))
        for x, c in rows
        for y, other in rows
        if c == other
    )
    diameter = one(engine, "dunn_index", frame, **how)["max_diameter"]
    assert largest <= diameter <= largest * 2 ** (1 / p) * (1 + 1e-12)
    for table in ("internal_report", "neighbor_report", "internal_cluster_report"):
        for found in call(engine, table, frame, **how):
            values = [value for value in found.values() if isinstance(value, float)]
            assert all(map(math.isfinite, values)), (table, found)


TABLES = [
    "internal_report",
    "internal_cluster_report",
    "centroids",
    "neighbor_report",
    "silhouette_score",
    "silhouette_samples",
    "silhouette_clusters",
    "dunn_index",
    "cluster_diameters",
    "pairwise_report",
]


OVERFLOWS = [
    ("euclidean", 0.45e154, 1),
    ("euclidean", 0.8e154, 2),
    ("euclidean", 0.8e154, 40),
    ("sqeuclidean", 1e155, 2),
    ("cityblock", 1.6e308, 1),
    ("chebyshev", 1e308, 3),
    ("minkowski", 1e300, 2),
]


@pytest.mark.parametrize(
    ("distance", "largest", "dims"),
    [
        OVERFLOWS[0],
        *(pytest.param(*overflow, marks=pytest.mark.wide) for overflow in OVERFLOWS[1:]),
    ],
)
@pytest.mark.parametrize("table", TABLES)
def test_overflow_is_an_error(
    engine: Engine, table: str, distance: str, largest: float, dims: int
) -> None:
    """Also where only distances between clusters overflow, or sums of them."""
    frame = frame_of([([s * largest] * dims, s) for s in (-1, 1) for _ in range(3)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fails(engine, "vector: distances overflow; scale the coordinates down"):
            call(engine, table, frame, distance=distance)


@pytest.mark.parametrize(
    ("scale", "distance"), [(2.0**480, "sqeuclidean"), (2.0**-500, "euclidean")]
)
def test_an_index_that_overflows_is_null(engine: Engine, scale: float, distance: str) -> None:
    """The square of a squared distance, and quotients of what is nearly 0."""
    near = [([x * scale, 0.0], 0) for x in (0.0, 1.0, 3.0)]
    far = [([x * scale, 9.0 * scale], 1) for x in (0.0, 1.0)] + [([1.0, 1.0], 2), ([1.0, 3.0], 2)]
    row = one(engine, "internal_report", frame_of(near + far), distance=distance)
    values = [value for value in row.values() if isinstance(value, float)]
    assert all(map(math.isfinite, values)), row
    assert row["ssw"] is not None
    if distance == "sqeuclidean":
        assert row["pbm_index"] is None


@pytest.mark.parametrize("table", [*TABLES, "determinant_report"])
def test_each_cluster_with_a_length_of_its_own(engine: Engine, table: str) -> None:
    frame = frame_of(
        [
            *[([float(i), 1.0, 2.0], 0) for i in range(4)],
            *[([float(i), 5.0, 6.0, 7.0], 1) for i in range(4)],
        ]
    )
    with fails(engine, "vector: expected vectors of one length (4), got 3 coordinates (4 rows are"):
        call(engine, table, frame)
    with fails(engine, "vector: expected vectors of one length (4), got 3 coordinates (4 rows are"):
        call(engine, table, frame, noise=1, noise_as="singletons")
