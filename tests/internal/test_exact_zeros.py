"""Zeros that rounding may not hide, and distances that no power may overflow or underflow."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from mpmath import mp, mpf

from tests.support import registry
from tests.support.engines import fails
from tests.support.point_engines import call, call_by_case, one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.support.engines import Engine, Row

pytestmark = pytest.mark.gate

DUPLICATES = [*[([0.1, 0.7], 0)] * 6, *[([5.3, 0.4], 1)] * 7, *[([1.1, 9.9], 2)] * 3]


def clustered_vectors(rows: Sequence[tuple[Sequence[float], Any]]) -> pl.DataFrame:
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64}
    return pl.DataFrame([(list(v), c) for v, c in rows], schema=schema, orient="row")


def check_scatter(row: Row, distance: str) -> None:
    assert row["ssw"] == 0.0
    assert row["calinski_harabasz_score"] == 1.0
    assert row["davies_bouldin_score"] == 0.0
    assert row["compactness"] == 0.0
    for name in ("log_ss_ratio", "banfield_raftery_index", "pbm_index"):
        assert row[name] is None, name
    if distance in ("euclidean", "sqeuclidean"):
        assert row["explained_variance"] == 1.0


def check_dunn(row: Row, _: str) -> None:
    assert row["max_diameter"] == 0.0
    assert {row[name] for name in row if name.startswith(("dunn", "gdi"))} == {None}


def check_neighbors(row: Row, _: str) -> None:
    assert row["wemmert_gancarski_index"] == 1


def check_silhouette(row: Row, _: str) -> None:
    assert row["silhouette"] == 1.0


#: By name: the table, its options and the check of its row.
WITHOUT_SPREAD: dict[str, tuple[str, dict[str, Any], Callable[[Row, str], None]]] = {
    "report": ("internal_report", {}, check_scatter),
    "dunn": ("dunn_index", {"generalized": True}, check_dunn),
    "neighbors": ("neighbor_report", {}, check_neighbors),
    "exact": ("silhouette_score", {"method": "exact"}, check_silhouette),
    "simplified": ("silhouette_score", {"method": "simplified"}, check_silhouette),
}
DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "cosine")


def check_clusters_of_equal_points(engine: Engine, case: str, distance: str, copies: int) -> None:
    table, options, check = WITHOUT_SPREAD[case]
    frame = clustered_vectors([(v * copies, c) for v, c in DUPLICATES])
    check(one(engine, table, frame, distance=distance, **options), distance)


@pytest.mark.parametrize("case", WITHOUT_SPREAD)
def test_clusters_of_equal_points_have_no_spread(engine: Engine, case: str) -> None:
    """Their mean is that point, though sums of copies of it are rounded; also of long vectors.

    Every table with short and long vectors and with two of the distances, internal_report with
    all, since the centers of all tables are made as its are.
    """
    i = list(WITHOUT_SPREAD).index(case)
    pairs = [(DISTANCES[i % 4], 1), (DISTANCES[(i + 2) % 4], 16)]
    if case == "report":
        pairs += [("sqeuclidean", 16), ("cosine", 16)]
    for distance, copies in pairs:
        check_clusters_of_equal_points(engine, case, distance, copies)


@pytest.mark.wide
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("copies", [1, 16])
@pytest.mark.parametrize("case", WITHOUT_SPREAD)
def test_clusters_of_equal_points_by_every_distance(
    engine: Engine, case: str, copies: int, distance: str
) -> None:
    check_clusters_of_equal_points(engine, case, distance, copies)


@pytest.mark.parametrize("dims", [1, 12])
def test_points_all_equal(engine: Engine, dims: int) -> None:
    frame = clustered_vectors([([0.1, 0.2, 0.7] * dims, i % 2) for i in range(11)])
    row = one(engine, "internal_report", frame)
    assert (row["sst"], row["explained_variance"], row["sd_scattering"]) == (0.0, None, None)
    assert row["calinski_harabasz_score"] == 1.0
    assert row["ratkowsky_lance_index"] is None


def test_centroids_that_coincide_under_weights(engine: Engine) -> None:
    """The means 1 and 1 stay equal when multiplied by 3.62; scikit-learn's score of the plain x."""
    vectors = [[2.0], [-1.0], [-2.0], [1.0], [1.0], [0.0]]
    frame = clustered_vectors(list(zip(vectors, [0, 1, 1, 2, 0, 0], strict=True)))
    options: dict[str, Any] = {"distance": "cityblock", "weights": [3.62]}
    row = one(engine, "internal_report", frame, **options)
    # Mean distances 2/3, 1/2 and 0; gaps 2.5, 2.5 and 0: (7/6 + 7/6 + 1/2) / 2.5 / 3.
    assert row["davies_bouldin_score"] == pytest.approx((7 / 6 + 7 / 6 + 1 / 2) / 7.5, rel=1e-12)
    assert row["ray_turi_index"] is None
    assert row["xie_beni_index"] is None
    assert row["sd_separation"] is None


def test_a_constant_coordinate_has_no_variance(engine: Engine) -> None:
    sizes = (3, 7, 10, 23)
    frames = [clustered_vectors([([i / 7, 0.1 * n], i % 3) for i in range(3 * n)]) for n in sizes]
    several = call_by_case(engine, "internal_report", frames)
    for n, [row] in zip(sizes, several, strict=True):
        assert row["ratkowsky_lance_index"] is None, n


@pytest.mark.parametrize("dims", [2, 20])
def test_the_center_of_a_constant_coordinate_is_its_value(engine: Engine, dims: int) -> None:
    """Also where others vary, beyond the first block of coordinates, and where sums are rounded."""
    frames = [
        clustered_vectors([([i / 7, *[0.1] * (dims - 1)], i % 2) for i in range(2 * n)])
        for n in (3, 49, 1001)
    ]
    for rows in call_by_case(engine, "centroids", frames):
        for row in rows:
            assert list(row["centroid"][1:]) == [0.1] * (dims - 1), row["n"]


def test_singletons_under_cosine_have_no_spread(engine: Engine) -> None:
    frame = clustered_vectors([([0.3 * i + 0.1, 1.7 - 0.2 * i, 0.9], i) for i in range(6)])
    row = one(engine, "internal_report", frame, distance="cosine")
    assert row["ssw"] == 0.0
    assert (row["log_ss_ratio"], row["pbm_index"]) == (None, None)


def test_parallel_vectors_are_at_distance_0(engine: Engine) -> None:
    """(1, 2), (3, 6) ... as unit vectors differ in their last digit."""
    frame = clustered_vectors([([k * 0.1, k * 0.2, k * 0.7], k % 2) for k in range(1, 30)])
    for method in ("exact", "simplified"):
        row = one(engine, "silhouette_score", frame, distance="cosine", method=method)
        assert row["silhouette"] == 0.0, method
    assert one(engine, "pairwise_report", frame, distance="cosine")["c_index"] is None
    assert one(engine, "dunn_index", frame, distance="cosine")["max_diameter"] == 0.0
    assert one(engine, "internal_report", frame, distance="cosine")["ssw"] == 0.0


def grid_at_scale(scale: float) -> list[tuple[list[float], int]]:
    return [
        ([scale * (0.1 * (i % 4) + i % 3 / 2), scale * (0.07 * (i % 5) + i % 3)], i % 3)
        for i in range(18)
    ]


@cache
def exact_silhouette(scale: float, p: float) -> float:
    """The mean silhouette under minkowski in 60 digits, from the definition."""
    mp.dps = 60
    rows = grid_at_scale(scale)

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


#: Orders of Minkowski, and scales at which a power of a difference overflows or is 0.
SCALES: dict[float, tuple[float, ...]] = {
    1000: (1.0, 2500.0),
    100: (2500.0,),
    3: (2.0**400, 1e-130),
}
some_orders = pytest.mark.parametrize("p", [1000, 3, pytest.param(100, marks=pytest.mark.wide)])


def by_scale(engine: Engine, table: str, p: float, **options: Any) -> dict[float, list[Row]]:
    """The rows of each scale of an order, a partition each."""
    frames = [clustered_vectors(grid_at_scale(scale)) for scale in SCALES[p]]
    how = options | {"distance": "minkowski", "p": p}
    return dict(zip(SCALES[p], call_by_case(engine, table, frames, **how), strict=True))


@pytest.mark.gate
@some_orders
def test_powers_neither_overflow_nor_underflow(engine: Engine, p: float) -> None:
    for scale, [row] in by_scale(engine, "silhouette_score", p).items():
        wanted = exact_silhouette(scale, p)
        assert 0.2 < wanted < 0.95
        assert row["silhouette"] == pytest.approx(wanted, rel=1e-12), scale
    for scale, [bounds] in by_scale(engine, "silhouette_score", p, method="bounds").items():
        wanted = exact_silhouette(scale, p)
        assert bounds["silhouette_lower"] <= wanted <= bounds["silhouette_upper"], scale
        assert bounds["silhouette_upper"] - bounds["silhouette_lower"] < 2.0, scale
    for scale, [dunn] in by_scale(engine, "dunn_index", p).items():
        rows = grid_at_scale(scale)
        largest = max(
            max(abs(a - b) for a, b in zip(x, y, strict=True))
            for x, c in rows
            for y, other in rows
            if c == other
        )
        assert largest <= dunn["max_diameter"] <= largest * 2 ** (1 / p) * (1 + 1e-12), scale


@some_orders
def test_powers_of_distances_to_centers_are_finite(engine: Engine, p: float) -> None:
    for table in ("internal_report", "neighbor_report", "internal_cluster_report"):
        for scale, rows in by_scale(engine, table, p).items():
            assert rows
            for found in rows:
                values = [value for value in found.values() if isinstance(value, float)]
                assert all(map(math.isfinite, values)), (table, scale, found)


TABLES = registry.tables("points", takes="distance")


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
    frame = clustered_vectors([([s * largest] * dims, s) for s in (-1, 1) for _ in range(3)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with fails(engine, "vector: distances overflow; scale the coordinates down"):
            call(engine, table, frame, distance=distance)


UNDERFLOWS = [
    ("euclidean", 1e-162, 2),
    ("euclidean", 3e-163, 40),
    ("sqeuclidean", 1e-155, 2),
    ("cityblock", 3e-169, 1),
    ("chebyshev", 1e-200, 3),
    ("minkowski", 1e-300, 2),
]


@pytest.mark.parametrize(
    ("distance", "largest", "dims"),
    [
        UNDERFLOWS[0],
        *(pytest.param(*underflow, marks=pytest.mark.wide) for underflow in UNDERFLOWS[1:]),
    ],
)
@pytest.mark.parametrize("table", TABLES)
def test_underflow_is_an_error(
    engine: Engine, table: str, distance: str, largest: float, dims: int
) -> None:
    frame = clustered_vectors([([s * largest] * dims, s) for s in (-1, 1) for _ in range(3)])
    with fails(engine, "vector: distances underflow; scale the coordinates up"):
        call(engine, table, frame, distance=distance)


def test_distances_that_underflow_in_one_way_or_in_one_partition(engine: Engine) -> None:
    """Beside a coordinate without spread, by weights, and of singletons among equal points."""
    beside = [([1.0, i * 1e-170], 0) for i in range(4)]
    singletons = [([0.0], 0), ([0.0], 0), ([1e-170], 1), ([3e-170], 2)]
    frames = [clustered_vectors(rows) for rows in (beside, singletons, grid_at_scale(1.0))]
    ways: list[dict[str, Any]] = [{}, {}, {"weights": [1e-300, 1e-300]}]
    for table in ("internal_report", "silhouette_score"):
        for frame, way in zip(frames, ways, strict=True):
            with fails(engine, "vector: distances underflow; scale the coordinates up"):
                call(engine, table, frame, **way)


def test_equal_points_and_small_clusters_do_not_underflow(engine: Engine) -> None:
    """Clusters of tiny points have no spread beside clusters at a distance of 1."""
    equal = clustered_vectors([([1e-300, 0.0], i % 2) for i in range(6)])
    small = clustered_vectors([([k + i * 1e-170], k) for k in (0, 1) for i in range(3)])
    for frame, silhouette in ((equal, 0.0), (small, 1.0)):
        assert one(engine, "internal_report", frame)["ssw"] == 0.0
        assert one(engine, "silhouette_score", frame)["silhouette"] == silhouette


@pytest.mark.parametrize(
    ("scale", "distance"), [(2.0**480, "sqeuclidean"), (2.0**-500, "euclidean")]
)
def test_an_index_that_overflows_is_null(engine: Engine, scale: float, distance: str) -> None:
    """The square of a squared distance, and quotients of what is nearly 0."""
    near = [([x * scale, 0.0], 0) for x in (0.0, 1.0, 3.0)]
    far = [([x * scale, 9.0 * scale], 1) for x in (0.0, 1.0)] + [([1.0, 1.0], 2), ([1.0, 3.0], 2)]
    row = one(engine, "internal_report", clustered_vectors(near + far), distance=distance)
    values = [value for value in row.values() if isinstance(value, float)]
    assert all(map(math.isfinite, values)), row
    assert row["ssw"] is not None
    if distance == "sqeuclidean":
        assert row["pbm_index"] is None


@pytest.mark.parametrize("table", registry.tables("points"))
@pytest.mark.parametrize(
    "noise",
    [
        {},
        pytest.param({"noise": 1, "noise_as": "singletons"}, marks=pytest.mark.wide, id="noise"),
    ],
)
def test_each_cluster_with_a_length_of_its_own(
    engine: Engine, table: str, noise: dict[str, Any]
) -> None:
    frame = clustered_vectors(
        [
            *[([float(i), 1.0, 2.0], 0) for i in range(4)],
            *[([float(i), 5.0, 6.0, 7.0], 1) for i in range(4)],
        ]
    )
    if noise and table == "internal_findings":  # it compares no cluster with noise
        assert "noise_rows" in [row["code"] for row in call(engine, table, frame, **noise)]
        return
    with fails(engine, "vector: expected vectors of one length (4), got 3 coordinates (4 rows are"):
        call(engine, table, frame, **noise)
