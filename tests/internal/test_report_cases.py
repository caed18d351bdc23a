"""The point side: literals, the oracle itself, degenerate rows, published numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score

from tests.support import point_oracle as oracle
from tests.support.engines import fails
from tests.support.point_engines import FUNCTIONS, assert_points, call, call_by_case, one
from tests.support.point_faults import crossed
from tests.support.point_oracle import (
    COUNTS,
    INDICES,
    NEIGHBOR_INDICES,
    OF_TOTAL,
    Measure,
    Partition,
)

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

ROOT2, ROOT5, ROOT13 = math.sqrt(2), math.sqrt(5), math.sqrt(13)
Points = list[list[float]]


def labeled_points(points: Any, clusters: Any) -> pl.DataFrame:
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64}
    return pl.DataFrame({"vector": points, "cluster": clusters}, schema=schema)


def assert_named_columns(
    row: Row, expected: Row, *, tolerance: float = 1e-12, floor: float = 0.0
) -> None:
    """The named columns."""
    some = {name: row[name] for name in expected}
    assert_points([some], [expected], tolerance=tolerance, floor=floor)


# Long vectors ----------------------------------------------------------------------------------


@pytest.mark.each
@pytest.mark.parametrize("n_dims", [16, 17, 20, 33])
def test_coordinates_in_every_block_of_16(engine: Engine, n_dims: int) -> None:
    """DuckDB computes the moments of 16 coordinates at a time. The last one is constant here.

    The sum of three numbers 0.0071 divided by 3 is not 0.0071, so the mean has to be set to it.
    """
    points = [[(7 * i + 3 * j * j) % 11 for j in range(n_dims - 1)] for i in range(6)]
    frame = labeled_points([[*point, 0.0071] for point in points], [0, 0, 0, 1, 1, 1])
    means = [[sum(x) / 3 for x in zip(*part, strict=True)] for part in (points[:3], points[3:])]
    squares = [
        sum((x - mean) ** 2 for x, mean in zip(point, means[i // 3], strict=True))
        for i, point in enumerate(points)
    ]
    row = one(engine, "internal_report", frame)
    assert row["n_dims"] == n_dims
    assert row["ssw"] == pytest.approx(math.fsum(squares), rel=1e-12)
    centers = call(engine, "centroids", frame)
    assert [center["centroid"][-1] for center in centers] == [0.0071, 0.0071]
    for center, mean in zip(centers, means, strict=True):
        assert center["centroid"][:-1] == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("lengths", [(16, 20), (20, 16), (3, 20), (17, 33)])
@pytest.mark.parametrize("function", ["centroids", "internal_report", "silhouette_score"])
def test_vectors_that_end_in_other_blocks(
    engine: Engine, lengths: tuple[int, int], function: str
) -> None:
    """Whichever vector is read first, the error names the longer length and the shorter ones."""
    vectors = [[float(i + j) for j in range(lengths[i > 0])] for i in range(6)]
    n_short = sum(len(vector) == min(lengths) for vector in vectors)
    words = f"vectors of one length ({max(lengths)}), got {min(lengths)} coordinates ({n_short} row"
    with fails(engine, words):
        call(engine, function, labeled_points(vectors, [0, 0, 0, 1, 1, 1]))


# Worked by hand ------------------------------------------------------------------------------

# Clustering.jl's twelve points, in pairs about (0, 4) and (0, -4) and in diamonds about (2, 0) and
# (-2, 0). Own distances are 2 in the pairs and 1 in the diamonds; the centroids are 4, 8 and four
# times root 20 apart; the middle is the origin. DB, SSW, SSB, CH and Ray-Turi are its test's.
TWELVE: Points = [
    *([-2, 4], [2, 4]),
    *([2, 1], [3, 0], [2, -1], [1, 0]),
    *([2, -4], [-2, -4]),
    *([-2, 1], [-1, 0], [-2, -1], [-3, 0]),
]
TWELVE_CLUSTERS = [1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4]
OF_TWELVE: Row = {
    "n": 12,
    "n_dims": 2,
    "n_clusters": 4,
    "n_singletons": 0,
    "ssw": 24.0,  # 8 + 4 + 8 + 4
    "ssb": 96.0,  # 2*16 + 4*4 + 2*16 + 4*4
    "sst": 120.0,
    "explained_variance": 0.8,
    "compactness": 1.5,  # (2 + 1 + 2 + 1) / 4
    "separation": 2 + 4 * ROOT5 / 3,  # (8 + 4 + 4 * 2 root 5) / 6
    "calinski_harabasz_score": 32 / 3,
    "davies_bouldin_score": 3 / math.sqrt(20),
    "ball_hall_index": 2.5,  # (4 + 1 + 4 + 1) / 4
    "banfield_raftery_index": 4 * math.log(4),  # 2 ln 4 + 4 ln 1, twice
    "log_ss_ratio": math.log(4),
    # to the middle: four root 20, four root 5, 3, 3, 1, 1; to the own centroid 16; then
    # (1/4 * that * 8)^2
    "pbm_index": (49 + 12 * ROOT5) / 4,
    # x: B 32 of T 52, y: B 64 of T 68; their mean is 172/221, by 4 clusters 43/221
    "ratkowsky_lance_index": math.sqrt(43 / 221),
    "ray_turi_index": 0.125,
    "xie_beni_index": 0.125,
    # variances (4, 0) and (1/2, 1/2), of all (52, 68)/12
    "sd_scattering": (8 + ROOT2) / 4 * 3 / math.sqrt(458),
    # 8/4 * 2 * (1/(8 + 4 root 5) + 1/(4 + 4 root 5))
    "sd_separation": (5 * ROOT5 - 9) / 4,
}
# A pair's points are 2 from their own and 4 from the next centroid: 1 in all. In a diamond they are
# 1 from their own and root 13, root 13, 5 and 3 from the next. No point is within the radius
# sqrt(8 + root 2)/4 of a centroid, so S_Dbw is 0/0.
NEAR_TWELVE: Row = {
    "wemmert_gancarski_index": (134 / 15 - 4 / ROOT13) / 12,
    "s_dbw_index": None,
}

# S_Dbw: clusters about 0 and 10, both of variance 10 in a whole of 35: Scat is 10/35 and the radius
# sqrt(10 + 10)/2 = 2.24. Three points lie within it round each centroid, two (both 5s) round 5.
LINE: Points = [[x] for x in (-5, 0, 0, 0, 5, 5, 10, 10, 10, 15)]
LINE_CLUSTERS = [0] * 5 + [1] * 5
# From the nearest of the other centroid: 15, 10, 10, 10, 5 against own 5, 0, 0, 0, 5.
NEAR_LINE: Row = {
    "s_dbw_index": 2 / 7 + 2 / 3,
    "wemmert_gancarski_index": (5 - 1 / 3 - 1) / 5,
}

# Two points about (1, 0), two about (9, 2); the middle is (5, 1).
FOUR: Points = [[0, 0], [2, 0], [9, 0], [9, 4]]
FOUR_CLUSTERS = [0, 0, 1, 1]
OF_FOUR: dict[str, Row] = {
    "cityblock": {
        "ssw": 10.0,
        "ssb": 100.0,  # 4 * 5^2
        "compactness": 1.5,
        "separation": 10.0,
        "calinski_harabasz_score": 20.0,
        "davies_bouldin_score": 0.3,
        "pbm_index": (55 / 3) ** 2,  # (1/2 * (6 + 4 + 5 + 7)/6 * 10)^2
        "ray_turi_index": 0.025,
        "sd_separation": 0.2,
    },
    "chebyshev": {
        "ssw": 10.0,
        "ssb": 64.0,  # 4 * 4^2
        "compactness": 1.5,
        "separation": 8.0,
        "calinski_harabasz_score": 12.8,
        "davies_bouldin_score": 0.375,
        "pbm_index": (32 / 3) ** 2,  # (1/2 * (5 + 3 + 4 + 4)/6 * 8)^2
    },
    "minkowski": {  # p = 3
        "ssw": 10.0,
        "ssb": 4 * 65 ** (2 / 3),
        "separation": 520 ** (1 / 3),
        "davies_bouldin_score": 3 / 520 ** (1 / 3),
    },
    "sqeuclidean": {  # sums of squares as for euclidean, the rest with squared distances
        "ssw": 10.0,
        "ssb": 68.0,
        "sst": 78.0,
        "compactness": 2.5,  # (1 + 4) / 2
        "separation": 68.0,
        "calinski_harabasz_score": 13.6,
        "davies_bouldin_score": 5 / 68,
        "pbm_index": 265.2**2,  # (1/2 * 78/10 * 68)^2
        "ray_turi_index": 2.5 / 68,
    },
}
# Directions at right angles about the diagonal and against it: the mean of all is no direction.
CROSS: Points = [[1, 0], [0, 1], [-2, 0], [0, -3]]
OF_CROSS: Row = {
    "ssw": 4 * (1 - 1 / ROOT2) ** 2,
    "ssb": 4.0,
    "sst": None,
    "compactness": 1 - 1 / ROOT2,
    "separation": 2.0,
    "davies_bouldin_score": 1 - 1 / ROOT2,
    "calinski_harabasz_score": 2 / (1 - 1 / ROOT2) ** 2,
    "pbm_index": (1 / (1 - 1 / ROOT2)) ** 2,
}

# scikit-learn's tests: 40 points on a grid, and four in three clusters.
GRID: Points = [
    *([0, 0], [1, 1]) * 5,
    *([3, 3], [4, 4]) * 5,
    *([0, 4], [1, 3]) * 5,
    *([3, 1], [4, 0]) * 5,
]
GRID_CLUSTERS = [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10
THREE: Points = [[0, 0], [2, 2], [3, 3], [5, 5]]

# Alink's documentation of EvalClusterBatchOp.
ALINK: Points = [[x] * 3 for x in (0.0, 0.1, 0.2, 9.0, 9.1, 9.2)]
ALINK_CLUSTERS = [0, 0, 0, 1, 1, 1]
OF_ALINK: Row = {
    "n": 6,
    "n_clusters": 2,
    "compactness": 0.11547005383792497,
    "davies_bouldin_score": 0.014814814814814791,
    "separation": 15.588457268119896,
    "ssb": 364.5,
    "ssw": 0.12,  # its 0.1199999999999996 is 3e-15 off
    "calinski_harabasz_score": 12150.0,  # its 12150.000000000042 likewise
}

CASES: dict[str, tuple[Points, list[int], dict[str, Any], Row]] = {
    "twelve": (TWELVE, TWELVE_CLUSTERS, {}, OF_TWELVE),
    **{
        name: (FOUR, FOUR_CLUSTERS, {"distance": name} | ({"p": 3} if "mink" in name else {}), row)
        for name, row in OF_FOUR.items()
    },
    "cosine": (CROSS, FOUR_CLUSTERS, {"distance": "cosine"}, OF_CROSS),
    "scikit-learn's grid": (
        GRID,
        GRID_CLUSTERS,
        {},
        {"calinski_harabasz_score": 108.0, "davies_bouldin_score": ROOT2 / 3},
    ),
    "scikit-learn's three": (THREE, [0, 0, 1, 2], {}, {"davies_bouldin_score": 5 / 12}),
    "Alink": (ALINK, ALINK_CLUSTERS, {}, OF_ALINK),
}


@pytest.mark.parametrize("case", CASES)
def test_case(engine: Engine, case: str) -> None:
    points, clusters, arguments, expected = CASES[case]
    assert_named_columns(
        one(engine, "internal_report", labeled_points(points, clusters), **arguments), expected
    )


@pytest.mark.parametrize("case", CASES)
def test_case_of_the_oracle(case: str) -> None:
    points, clusters, arguments, expected = CASES[case]
    row = oracle.internal_report(Partition(points, clusters, Measure(**arguments)))
    # 1 - cos cancels in scipy: 1e-16 off where the distance is 0.3.
    assert_named_columns(row, expected, tolerance=1e-12 if "cosine" not in case else 1e-11)


NEIGHBOR_CASES = {
    "twelve": (TWELVE, TWELVE_CLUSTERS, NEAR_TWELVE),
    "line": (LINE, LINE_CLUSTERS, NEAR_LINE),
}


@pytest.mark.parametrize("case", NEIGHBOR_CASES)
def test_neighbors(engine: Engine, case: str) -> None:
    points, clusters, expected = NEIGHBOR_CASES[case]
    assert_named_columns(one(engine, "neighbor_report", labeled_points(points, clusters)), expected)
    assert_named_columns(oracle.neighbor_report(Partition(points, clusters, Measure())), expected)


def test_clusters_of_the_twelve(engine: Engine) -> None:
    """Of equally near clusters the lowest is the nearest."""
    rows = call(engine, "internal_cluster_report", labeled_points(TWELVE, TWELVE_CLUSTERS))
    expected = [
        (1, 2, [0.0, 4.0], 8.0, 2.0, 2.0, 2, math.sqrt(20)),
        (2, 4, [2.0, 0.0], 4.0, 1.0, 1.0, 4, 4.0),
        (3, 2, [0.0, -4.0], 8.0, 2.0, 2.0, 2, math.sqrt(20)),
        (4, 4, [-2.0, 0.0], 4.0, 1.0, 1.0, 2, 4.0),
    ]
    assert_points(rows, [dict(zip(rows[0], values, strict=True)) for values in expected])
    assert list(rows[0]) == [
        *("cluster", "n", "centroid", "ssw"),
        *("mean_distance", "max_distance", "nearest_cluster", "nearest_distance"),
    ]


def test_centroids(engine: Engine) -> None:
    frame = labeled_points([[0, 0], [1, 0], [5, 6], [3, 4], [6, 8]], [0, 0, 0, 1, 1])
    for arguments, centroids in (
        ({}, [[2.0, 2.0], [4.5, 6.0]]),
        ({"center": "median"}, [[1.0, 0.0], [4.5, 6.0]]),
        ({"weights": [4, 9]}, [[2.0, 2.0], [4.5, 6.0]]),
        # half-way between the directions of (1, 0) and (5, 6); (3, 4) and (6, 8) have one
        (
            {"distance": "cosine"},
            [
                [math.cos(math.atan2(6, 5) / 2), math.sin(math.atan2(6, 5) / 2)],
                [0.6, 0.8],
            ],
        ),
    ):
        rows = call(engine, "centroids", frame, **arguments)
        expected = [
            {"cluster": i, "n": 3 - i, "centroid": centroid} for i, centroid in enumerate(centroids)
        ]
        assert_points(rows, expected, what=arguments)


# Degenerate ----------------------------------------------------------------------------------

NO_INDEX = dict.fromkeys(COUNTS, 0) | dict.fromkeys(INDICES)
NO_NEIGHBOR = dict.fromkeys(name for name in COUNTS if name != "n_singletons")
NO_NEIGHBOR = dict.fromkeys(NO_NEIGHBOR, 0) | dict.fromkeys(NEIGHBOR_INDICES)
EMPTY = labeled_points([], []).with_columns(run=pl.lit(1))
DROPPED = labeled_points([None, [1.0], None], [1, None, None]).with_columns(run=pl.lit(1))


def ways_without_rows() -> list[Any]:
    """(rows are dropped, distance, center): each pair of two in some case, the others wide."""
    return [
        (dropped, distance, center)
        if (dropped + (distance == "cosine") + (center == "median")) % 2 == 0
        else pytest.param(dropped, distance, center, marks=pytest.mark.wide)
        for dropped in (False, True)
        for distance in ("euclidean", "cosine")
        for center in ("mean", "median")
    ]


@pytest.mark.parametrize(("dropped", "distance", "center"), ways_without_rows())
def test_no_rows(engine: Engine, dropped: bool, distance: str, center: str) -> None:
    frame, some = (DROPPED, {"n_dropped": 3}) if dropped else (EMPTY, {})
    how = {"distance": distance, "center": center}
    assert call(engine, "internal_report", frame, **how) == [NO_INDEX | some]
    assert call(engine, "neighbor_report", frame, **how) == [NO_NEIGHBOR | some]
    assert call(engine, "centroids", frame, **how) == []
    assert call(engine, "internal_cluster_report", frame, **how) == []


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_rows_no_partition(side: Engine, function: str) -> None:
    assert call(side, function, EMPTY, partition_by="run") == []


@pytest.mark.parametrize(
    "frame", [EMPTY, labeled_points([None, None], [1, 2])], ids=["none", "NULL"]
)
def test_no_rows_with_weights(side: Engine, frame: pl.DataFrame) -> None:
    """The number of dimensions is unknown, so any number of weights is right."""
    wanted = NO_INDEX | {"n_dropped": frame.height}
    assert call(side, "internal_report", frame, weights=[1, 2]) == [wanted]


@pytest.mark.parametrize("dtype", [pl.Array(pl.Float32, 2), pl.List(pl.Int8)])
def test_no_rows_of_another_type(side: Engine, dtype: Any) -> None:
    frame = pl.DataFrame(schema={"vector": dtype, "cluster": pl.String})
    assert call(side, "internal_report", frame) == [NO_INDEX]


def test_no_rows_of_wide_columns(side: Engine) -> None:
    frame = pl.DataFrame(schema={"x": pl.Float64, "y": pl.Int64, "cluster": pl.String})
    assert call(side, "internal_report", frame, ["x", "y"]) == [NO_INDEX]
    nulls = pl.DataFrame({"x": [None], "y": [None], "cluster": ["a"]}, schema=frame.schema)
    assert call(side, "internal_report", nulls, ["x", "y"]) == [NO_INDEX | {"n_dropped": 1}]


def test_all_noise_dropped(engine: Engine) -> None:
    frame = labeled_points([[1.0], [2.0]], [-1, -1])
    noise = {"noise": -1, "noise_as": "drop"}
    assert call(engine, "internal_report", frame, **noise) == [NO_INDEX | {"n_noise": 2}]
    assert call(engine, "centroids", frame, **noise) == []


# name: points, clusters, what is known; every other index is NULL.
DEGENERATE: dict[str, tuple[Points, list[int], Row]] = {
    "one point": (
        [[3, 4]],
        [7],
        {"n": 1, "n_dims": 2, "n_clusters": 1, "n_singletons": 1}
        | {"ssw": 0.0, "ssb": 0.0, "sst": 0.0, "compactness": 0.0, "ball_hall_index": 0.0},
    ),
    "one cluster": (
        [[0, 1], [4, 3]],
        [7, 7],
        {"n": 2, "n_dims": 2, "n_clusters": 1, "n_singletons": 0}
        | {"ssw": 10.0, "ssb": 0.0, "sst": 10.0, "explained_variance": 0.0}
        | {"compactness": ROOT5, "ball_hall_index": 5.0}
        | {"banfield_raftery_index": 2 * math.log(5)}
        | {"ratkowsky_lance_index": 0.0, "sd_scattering": 1.0},
    ),
    "k = n": (
        [[0, 0], [3, 4], [6, 0]],
        [1, 2, 3],
        {"n": 3, "n_dims": 2, "n_clusters": 3, "n_singletons": 3}
        | {"ssw": 0.0, "ssb": 86 / 3 + 0.0, "sst": 86 / 3, "explained_variance": 1.0}
        | {"compactness": 0.0, "separation": 16 / 3, "ball_hall_index": 0.0}
        | {"ratkowsky_lance_index": math.sqrt(1 / 3), "ray_turi_index": 0.0, "xie_beni_index": 0.0}
        # 6/5 * (1/11 + 1/10 + 1/11)
        | {"sd_scattering": 0.0, "sd_separation": 6 / 5 * (2 / 11 + 1 / 10)},
    ),
    "all points equal": (
        [[2, 5]] * 4,
        [1, 1, 2, 2],
        {"n": 4, "n_dims": 2, "n_clusters": 2, "n_singletons": 0}
        | {"ssw": 0.0, "ssb": 0.0, "sst": 0.0, "compactness": 0.0, "separation": 0.0}
        | {"calinski_harabasz_score": 1.0, "davies_bouldin_score": 0.0, "ball_hall_index": 0.0},
    ),
    "SSW = 0": (
        [[0], [0], [2], [2]],
        [1, 1, 2, 2],
        {"n": 4, "n_dims": 1, "n_clusters": 2, "n_singletons": 0}
        | {"ssw": 0.0, "ssb": 4.0, "sst": 4.0, "explained_variance": 1.0, "compactness": 0.0}
        | {"separation": 2.0, "calinski_harabasz_score": 1.0, "davies_bouldin_score": 0.0}
        | {"ball_hall_index": 0.0, "ratkowsky_lance_index": math.sqrt(1 / 2)}
        | {"ray_turi_index": 0.0, "xie_beni_index": 0.0, "sd_scattering": 0.0}
        | {"sd_separation": 1.0},
    ),
    "all centroids coincide": (
        [[-1], [1], [-3], [3]],
        [1, 1, 2, 2],
        {"n": 4, "n_dims": 1, "n_clusters": 2, "n_singletons": 0}
        | {"ssw": 20.0, "ssb": 0.0, "sst": 20.0, "explained_variance": 0.0, "compactness": 2.0}
        | {"separation": 0.0, "calinski_harabasz_score": 0.0, "davies_bouldin_score": 0.0}
        | {"ball_hall_index": 5.0, "banfield_raftery_index": 2 * math.log(9)}
        | {"pbm_index": 0.0, "ratkowsky_lance_index": 0.0, "sd_scattering": 1.0},
    ),
    "two centroids of three coincide": (
        [[-1], [1], [-3], [3], [9], [11]],
        [1, 1, 2, 2, 3, 3],
        # The centroids are 0, 0 and 10. DB is (2/10 + 4/10 + 4/10) / 3: the pair at 0 is skipped.
        # All are about 10/3, in absolute value 13/3 + 7/3 + 19/3 + 1/3 + 17/3 + 23/3 = 80/3.
        {"n": 6, "n_dims": 1, "n_clusters": 3, "n_singletons": 0}
        | {"ssw": 22.0, "ssb": 400 / 3, "sst": 466 / 3, "explained_variance": 400 / 466}
        | {"compactness": 5 / 3, "separation": 20 / 3, "calinski_harabasz_score": 100 / 11}
        | {"davies_bouldin_score": 1 / 3, "ball_hall_index": 11 / 3}
        | {"banfield_raftery_index": 2 * math.log(9), "log_ss_ratio": math.log(400 / 66)}
        | {"pbm_index": (80 / 3 / 10 * 10 / 3) ** 2}
        | {"ratkowsky_lance_index": math.sqrt(400 / 466 / 3)}
        | {"sd_scattering": 11 / 3 / (466 / 18)},
    ),
    "one singleton": (
        [[0], [2], [7]],
        [1, 1, 2],
        {"n": 3, "n_dims": 1, "n_clusters": 2, "n_singletons": 1}
        | {"ssw": 2.0, "ssb": 24.0, "sst": 26.0, "explained_variance": 12 / 13}
        | {"compactness": 0.5, "separation": 6.0, "calinski_harabasz_score": 12.0}
        | {"davies_bouldin_score": 1 / 6, "ball_hall_index": 0.5, "log_ss_ratio": math.log(12)}
        # about 3: 3 + 1 + 4 = 8, within 2: (1/2 * 4 * 6)^2
        | {"pbm_index": 144.0, "ratkowsky_lance_index": math.sqrt(6 / 13)}
        | {"ray_turi_index": 1 / 54, "xie_beni_index": 1 / 54}
        | {"sd_scattering": 0.5 / (26 / 3), "sd_separation": 1 / 3},
    ),
    "a constant dimension": (
        [[0, 5], [2, 5], [7, 5]],
        [1, 1, 2],
        {"n": 3, "n_dims": 2, "n_clusters": 2, "n_singletons": 1}
        | {"ssw": 2.0, "ssb": 24.0, "sst": 26.0, "explained_variance": 12 / 13}
        | {"compactness": 0.5, "separation": 6.0, "calinski_harabasz_score": 12.0}
        | {"davies_bouldin_score": 1 / 6, "ball_hall_index": 0.5, "log_ss_ratio": math.log(12)}
        | {"pbm_index": 144.0, "ray_turi_index": 1 / 54, "xie_beni_index": 1 / 54}
        | {"sd_scattering": 0.5 / (26 / 3), "sd_separation": 1 / 3},
    ),
}


def degenerate_by_length() -> list[list[str]]:
    """The names of the cases, of which one call scores those of one length of vectors."""
    lengths = {case: len(points[0]) for case, (points, _, _) in DEGENERATE.items()}
    return [[case for case in lengths if lengths[case] == n] for n in sorted({*lengths.values()})]


def of_degenerate(engine: Engine, function: str) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for cases in degenerate_by_length():
        frames = [labeled_points(*DEGENERATE[case][:2]) for case in cases]
        rows |= dict(zip(cases, call_by_case(engine, function, frames), strict=True))
    return rows


def test_degenerate(engine: Engine) -> None:
    for case, [row] in of_degenerate(engine, "internal_report").items():
        points, clusters, known = DEGENERATE[case]
        expected = {"n_dropped": 0, "n_noise": 0} | dict.fromkeys(INDICES) | known
        # The mean of 0, 0, 10 is no binary number.
        assert_named_columns(
            row, {name: expected[name] for name in (*COUNTS, *INDICES)}, floor=1e-30
        )
        check_scikit_learn(row, points, clusters)


@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_of_the_oracle(case: str) -> None:
    points, clusters, known = DEGENERATE[case]
    expected = {"n_dropped": 0, "n_noise": 0} | dict.fromkeys(INDICES) | known
    assert_named_columns(
        oracle.internal_report(Partition(points, clusters, Measure())), expected, floor=1e-30
    )


@pytest.mark.parametrize("function", ["neighbor_report", "internal_cluster_report", "centroids"])
def test_degenerate_as_the_oracle(engine: Engine, function: str) -> None:
    for case, rows in of_degenerate(engine, function).items():
        points, clusters, _ = DEGENERATE[case]
        expected = getattr(oracle, function)(Partition(points, clusters, Measure()))
        assert_points(rows, expected if isinstance(expected, list) else [expected], what=case)


@pytest.mark.wide
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_alone(engine: Engine, case: str, function: str) -> None:
    """Without a partition as with one."""
    rows = call(engine, function, labeled_points(*DEGENERATE[case][:2]))
    assert_points(rows, of_degenerate(engine, function)[case], what=case)


def check_scikit_learn(row: Row, points: Any, clusters: Any) -> None:
    """Its numbers, and NULL where it raises."""
    for name, theirs in (
        ("calinski_harabasz_score", calinski_harabasz_score),
        ("davies_bouldin_score", davies_bouldin_score),
    ):
        if 2 <= len(set(clusters)) < len(points):
            expected = float(theirs(points, clusters))
            assert_named_columns(row, {name: expected}, tolerance=1e-9, floor=1e-12)
        else:
            with pytest.raises(ValueError, match="Number of labels is"):
                theirs(points, clusters)
            assert row[name] is None


ZEROS: Points = [[0, 0], [0, 0], [0, 2], [3, 0], [5, 0]]


def test_zero_vectors_under_cosine(engine: Engine) -> None:
    """A zero vector is at 1 from everything, and the centroid of a cluster of such."""
    frame = labeled_points(ZEROS, [1, 1, 2, 3, 3])
    rows = call(engine, "internal_cluster_report", frame, distance="cosine")
    expected = [
        (1, 2, [0.0, 0.0], 2.0, 1.0, 1.0, 2, 1.0),
        (2, 1, [0.0, 1.0], 0.0, 0.0, 0.0, 1, 1.0),
        (3, 2, [1.0, 0.0], 0.0, 0.0, 0.0, 1, 1.0),
    ]
    assert_points(rows, [dict(zip(rows[0], values, strict=True)) for values in expected])
    part = Partition(ZEROS, [1, 1, 2, 3, 3], Measure("cosine"))
    assert_points(rows, oracle.internal_cluster_report(part))
    for function in ("internal_report", "neighbor_report"):
        row = one(engine, function, frame, distance="cosine")
        assert_named_columns(row, getattr(oracle, function)(part), tolerance=1e-9)


def test_a_zero_vector_among_others_under_cosine(engine: Engine) -> None:
    points: Points = [[0, 0], [3, 4], [0, 2]]
    frame = labeled_points(points, [1, 1, 2])
    [first, _] = call(engine, "internal_cluster_report", frame, distance="cosine")
    assert_named_columns(
        first, {"centroid": [0.6, 0.8], "mean_distance": 0.5, "nearest_distance": 0.2}
    )


def test_only_opposed_vectors_under_cosine(engine: Engine) -> None:
    """There is no mean direction: the centroid is the zero vector, at 1 from everything."""
    frame = labeled_points([[1, 1], [-2, -2], [3, 0]], [1, 1, 2])
    [first, second] = call(engine, "internal_cluster_report", frame, distance="cosine")
    assert_named_columns(
        first, {"centroid": [0.0, 0.0], "mean_distance": 1.0, "nearest_distance": 1.0}
    )
    assert_named_columns(
        second, {"centroid": [1.0, 0.0], "mean_distance": 0.0, "nearest_distance": 1.0}
    )


def test_a_point_on_another_centroid(engine: Engine) -> None:
    """The centroids are 5 and 10. The share of cluster 1 is 0, because of the point at 10."""
    points: Points = [[0], [10], [8], [12]]
    frame = labeled_points(points, [1, 1, 2, 2])
    # cluster 2 has 1 - 2/3 and 1 - 2/7
    wanted = (1 / 3 + 5 / 7) / 4
    assert_named_columns(one(engine, "neighbor_report", frame), {"wemmert_gancarski_index": wanted})
    both = labeled_points([[0], [0], [-1], [1]], [1, 1, 2, 2])
    assert_named_columns(one(engine, "neighbor_report", both), {"wemmert_gancarski_index": None})


def test_a_cluster_of_equal_points_has_no_spread_but_rounding(engine: Engine) -> None:
    """The mean of equal numbers is n times one by n, and so rounded."""
    cases = [(value, n) for value in (0.1, 0.7, 1e-3, 1 / 3, 123.456) for n in (3, 6, 7, 49)]
    frames = [
        labeled_points([[0.0], [5.0], *[[value]] * n], [1, 1, *[2] * n]) for value, n in cases
    ]
    several = call_by_case(engine, "internal_cluster_report", frames)
    for (value, n), [_, row] in zip(cases, several, strict=True):
        assert 0 <= row["max_distance"] <= 1e-14 * value, (value, n)
        assert 0 <= row["ssw"] <= n * (1e-14 * value) ** 2, (value, n)


def test_one_cluster_has_nothing_between(engine: Engine) -> None:
    """Its centroid is the middle, though n times a mean by n need not be that mean."""
    sizes = (3, 5, 6, 7, 49, 98, 103)
    frames = [labeled_points([[i / 10] for i in range(n)], [1] * n) for n in sizes]
    several = call_by_case(engine, "internal_report", frames)
    for n, [row] in zip(sizes, several, strict=True):
        some = {name: row[name] for name in ("ssb", "explained_variance", "log_ss_ratio")}
        wanted = {"ssb": 0.0, "explained_variance": 0.0, "log_ss_ratio": None}
        assert_points([some], [wanted], what=n)


# Real data -----------------------------------------------------------------------------------

IRIS = pl.read_parquet("examples/iris.parquet")
MEASURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
LABELINGS = ["species", "kmeans", "agglomerative", "kmeans2", "single_linkage"]
# Reyes-Figueroa, Métricas para evaluar algoritmos de agrupamiento (2024).
OF_IRIS = {
    "kmeans": {
        "calinski_harabasz_score": 561.627757,
        "davies_bouldin_score": 0.661972,
        "ssw": 78.851441,
        "ssb": 602.519159,
        "sst": 681.370600,
        "compactness": 0.646565,
        "separation": 3.390562,
    },
    "agglomerative": {
        "calinski_harabasz_score": 558.058041,
        "davies_bouldin_score": 0.656256,
        "ssw": 79.297128,
        "ssb": 602.073472,
        "compactness": 0.645171,
        "separation": 3.418891,
    },
    "kmeans2": {"calinski_harabasz_score": 513.924546, "davies_bouldin_score": 0.404293},
}


@pytest.mark.parametrize("labeling", OF_IRIS)
def test_iris_of_the_oracle(labeling: str) -> None:
    part = Partition(IRIS.select(MEASURES).rows(), IRIS[labeling].to_list(), Measure())
    row, known = oracle.internal_report(part), OF_IRIS[labeling]
    assert {name: round(row[name], 6) for name in known} == known


def test_iris(engine: Engine) -> None:
    """Published numbers and those of scikit-learn, all labelings in one call."""
    frames = [
        IRIS.select(*MEASURES, cluster=pl.col(labeling).rank("dense").cast(pl.Int64))
        for labeling in LABELINGS
    ]
    several = call_by_case(engine, "internal_report", frames, MEASURES)
    rows = {labeling: row for labeling, [row] in zip(LABELINGS, several, strict=True)}
    for labeling, known in OF_IRIS.items():
        assert {name: round(rows[labeling][name], 6) for name in known} == known, labeling
    for frame, row in zip(frames, rows.values(), strict=True):
        check_scikit_learn(row, frame.select(MEASURES).rows(), frame["cluster"].to_list())


@pytest.mark.parametrize("center", ["mean", "median"])
@pytest.mark.parametrize(
    ("distance", "function"),
    crossed(
        oracle.DISTANCES,
        ["internal_report", *(name for name in FUNCTIONS if name != "internal_report")],
    ),
)
def test_iris_as_the_oracle(engine: Engine, distance: str, function: str, center: str) -> None:
    points, clusters = IRIS.select(MEASURES).rows(), IRIS["kmeans"].to_list()
    part = Partition(points, clusters, Measure(distance, 3, center))
    how = {"distance": distance, "p": 3, "center": center}
    expected = getattr(oracle, function)(part)
    rows = expected if isinstance(expected, list) else [expected]
    got = call(engine, function, IRIS, MEASURES, "kmeans", **how)
    assert_points(got, rows, tolerance=1e-9)


def test_digits(engine: Engine) -> None:
    """64 dimensions, an Array of whole numbers, some of them constant."""
    digits = pl.read_parquet("examples/digits.parquet")
    pixels, clusters = digits["pixels"].to_numpy().astype(float), digits["kmeans"].to_list()
    part = Partition(pixels.tolist(), clusters, Measure())
    row = one(engine, "internal_report", digits, "pixels", "kmeans")
    assert_points([row], [oracle.internal_report(part)], tolerance=1e-9)
    assert row["ratkowsky_lance_index"] is None
    expected = {
        "calinski_harabasz_score": float(calinski_harabasz_score(pixels, clusters)),
        "davies_bouldin_score": float(davies_bouldin_score(pixels, clusters)),
    }
    assert_named_columns(row, expected, tolerance=1e-9)
    rows = call(engine, "internal_cluster_report", digits, "pixels", "kmeans")
    assert_points(rows, oracle.internal_cluster_report(part), tolerance=1e-9)
    row = one(engine, "neighbor_report", digits, "pixels", "kmeans")
    assert_points([row], [oracle.neighbor_report(part)], tolerance=1e-9)


# The oracle ----------------------------------------------------------------------------------


def test_every_index_has_a_case() -> None:
    assert {*COUNTS, *INDICES} == {*OF_TWELVE, "n_dropped", "n_noise"}
    assert set(OF_TOTAL) < set(INDICES)


def test_the_oracle_gives_scikit_learns_numbers() -> None:
    points, clusters = IRIS.select(MEASURES).rows(), IRIS["species"].rank("dense").to_list()
    row = oracle.internal_report(Partition(points, clusters, Measure()))
    expected = {
        "calinski_harabasz_score": float(calinski_harabasz_score(points, clusters)),
        "davies_bouldin_score": float(davies_bouldin_score(points, clusters)),
    }
    assert_named_columns(row, expected, tolerance=1e-11)
