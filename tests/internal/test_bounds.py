"""Bounds of mean distances hold, on points placed so that each bound is nearly reached.

A bound sharper than it may be rules out the nearest cluster, or leaves the score outside of its
interval. Random points leave room for that, these do not.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import silhouette_score

from polars_clustereval.internal.distances import Distance
from polars_clustereval.internal.kernels.partitions import Partition
from polars_clustereval.internal.mean_distance_bounds import CityblockTables, MomentBounds
from polars_clustereval.internal.mean_distances import (
    SortedCoordinates,
    cluster_moments,
    second_moments,
)
from tests.support import engines
from tests.support.point_engines import call_by_case

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tests.support.engines import Engine

    Floats = NDArray[np.float64]
    Bounds = dict[str, tuple[Floats, Floats]]

pytestmark = pytest.mark.gate

CORNERS = [list(x) for x in product((-1.0, 1.0), repeat=3)]
HALF = [x for x in CORNERS if x[0] > 0]
TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
# All but one at -1: the mean is 0, and the mean distance to it 1.99.
LOPSIDED = [[-1.0]] * 399 + [[399.0]]
# The mean is 0 and the standard deviation 8: half of the points are in the middle of an interval
# of DuckDB's tables, which is a standard deviation / 4 wide.
FAR = np.sqrt(126.0) - 1
KINK = [[1.0]] * 4 + [[FAR]] * 2 + [[-FAR - 2.0]] * 2
# Between any two nodes of the tables of Polars, which are quantiles, lie some of these.
EVEN = [[x] for x in np.linspace(-20, 20, 401)]

# Clusters of each shape; the first holds the queries whose bounds to the second are nearly reached.
SHAPES: dict[str, list[Any]] = {
    "equally far": [[[0.0, 0.0, 0.0]] * 2, CORNERS * 2],
    "few at the query": [[[0.0, 0.0, 0.0]] * 2, [*CORNERS * 6, [0.0, 0.0, 0.0]]],
    "on one side": [[[0.0, 0.0, 0.0]] * 2, [*HALF * 12, [0.0, 0.0, 0.0]]],
    "turned": [[[0.0, 0.0, 0.0]] * 2, [*(np.array(HALF * 12) @ TURN).tolist(), [0.0, 0.0, 0.0]]],
    "on a line": [[[0.0]] * 2, [[1.0]] * 30 + [[-1.0]] * 18 + [[0.0]]],
    "on a diagonal": [[[0.0, 0.0]] * 2, [[1.0, 1.0]] * 30 + [[-1.0, -1.0]] * 18 + [[0.0, 0.0]]],
    "opposite the rest": [[[-200.0]] * 2, LOPSIDED],
    "lopsided": [[[-0.5], [0.5]], LOPSIDED],
    "far in line": [[[5000.0]] * 2, LOPSIDED],
    "kink": [[[1.0], *([x] for x in np.linspace(30, 40, 19))], KINK, EVEN],
}
# What is nearly reached in each shape: distance, kind of bound, its side.
REACHED = {
    ("equally far", "euclidean", "moments", "upper"),
    ("equally far", "cityblock", "moments", "upper"),
    ("few at the query", "euclidean", "refined", "lower"),
    ("on one side", "euclidean", "refined", "lower"),
    ("turned", "euclidean", "refined", "lower"),
    ("on a line", "euclidean", "refined", "lower"),
    ("lopsided", "chebyshev", "moments", "lower"),
    ("lopsided", "chebyshev", "moments", "upper"),
    ("lopsided", "minkowski", "moments", "lower"),
    ("lopsided", "minkowski", "moments", "upper"),
    ("lopsided", "cityblock", "moments", "lower"),
    ("on a diagonal", "euclidean", "refined", "lower"),
    ("far in line", "euclidean", "moments", "lower"),
    ("far in line", "cityblock", "moments", "lower"),
    ("far in line", "chebyshev", "moments", "lower"),
    ("kink", "cityblock", "tables", "lower"),
    ("kink", "cityblock", "tables", "upper"),
}
# With the largest of the second moments; DuckDB has only the refined bound and a screening.
REACHED_IN_POLARS = {
    ("few at the query", "euclidean", "moments", "lower"),
    ("on a line", "euclidean", "moments", "lower"),
}
DISTANCES = ("euclidean", "cityblock", "chebyshev", "minkowski")


def partition(shape: str) -> Partition:
    sizes = [len(points) for points in SHAPES[shape]]
    x = np.array([[*point, 0.0, 0.0][:3] for points in SHAPES[shape] for point in points])
    rows = pl.DataFrame({"cluster": np.repeat(np.arange(len(sizes)), sizes)})
    return Partition(rows, x, np.cumsum([0, *sizes]))


def polars_bounds(shape: str, name: str) -> Bounds:
    """Lower and upper bounds (m, k) by kind."""
    part = partition(shape)
    distance, every = Distance(name, 3.0), slice(0, len(part.x))
    clusters = cluster_moments(part, distance)
    if name == "cityblock":
        # Streamed moments have these; bounds of points in memory use tables instead.
        to_mean = np.abs(part.x - clusters.means[part.numbers]).sum(axis=1)
        clusters = clusters._replace(
            mean_distances=np.bincount(part.numbers, to_mean) / clusters.sizes
        )
    second = second_moments(part, clusters) if name == "euclidean" else None
    moments = MomentBounds(clusters, second, distance)
    found = {"moments": moments.lower_and_upper(part.x, part.numbers, every)}
    if second is not None:
        refined = [moments.refine_lower(part.x, i) for i in range(len(part.sizes))]
        found["refined"] = np.column_stack(refined), found["moments"][1]
    if name == "cityblock":
        tables = CityblockTables(SortedCoordinates(part), np.ones(len(part.x), dtype=bool))
        found["tables"] = tables.lower_and_upper(part.x, part.numbers, every)
    return found


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("origin", [0.0, 1e6])
def test_bounds_are_computed_to_clusters_that_can_be_the_nearest(
    spread: float, origin: float
) -> None:
    """To no others, which are nearly all of many clusters, or their number decides on the time."""
    k, size = 500, 4
    rng = np.random.default_rng(5)
    centers = np.stack(np.unravel_index(np.arange(k), (5, 10, 10)), axis=1) * 3.0
    x = origin + np.repeat(centers, size, axis=0) + spread * rng.normal(size=(k * size, 3))
    rows = pl.DataFrame({"cluster": np.repeat(np.arange(k), size)})
    part = Partition(rows, x, np.arange(0, k * size + 1, size))
    clusters = cluster_moments(part, Distance("euclidean", 2.0))
    second = second_moments(part, clusters)
    bounds = MomentBounds(clusters, second, Distance("euclidean", 2.0))
    block = slice(100, 116)
    queries, own_cluster = x[block], part.numbers[block]
    lower, upper = bounds.lower_and_upper(queries, own_cluster, block)
    numbers, own, near_lower, near_upper = bounds.near_bounds(queries, own_cluster)
    assert (numbers[own] == own_cluster).all()
    assert (near_lower == lower[:, numbers]).all()
    assert (near_upper == upper[:, numbers]).all()
    others = upper.copy()
    others[np.arange(len(queries)), own_cluster] = np.inf
    can_be_nearest = (lower <= others.min(axis=1, keepdims=True)).any(axis=0)
    assert set(np.flatnonzero(can_be_nearest)) <= set(numbers)
    if spread < 1:
        assert len(numbers) < 50


# Every point with every cluster of its shape; nearest rules none of them out.
CHAIN = """
    WITH arguments AS (FROM clustereval._point_arguments(t, vector, cluster, shape, NULL)),
    rows AS (
        FROM clustereval._points(
            t, vector, cluster, '{d}', 3, NULL, shape, NULL, 'cluster', 'error'
        )
    ),
    groups AS MATERIALIZED (
        FROM clustereval._point_clusters(rows, arguments, '{d}', 3, 'mean', NULL)
    ),
    clusters AS MATERIALIZED (FROM clustereval._cluster_moments(groups)),
    members AS MATERIALIZED (FROM clustereval._clustered_points(rows, groups, NULL)),
    nearest AS (SELECT row_no, 'inf'::DOUBLE AS b_upper FROM members),
    second AS MATERIALIZED (FROM clustereval._second_moments(members, clusters)),
    tables AS MATERIALIZED (FROM clustereval._cityblock_tables(members, clusters)),
    pairs AS (
        SELECT
            member.row_no, member.number, member.point, own.number AS target,
            'inf'::DOUBLE AS b_upper
        FROM members AS member
        JOIN clusters AS own ON own.partition_no = member.partition_no
    )
"""
OF_KIND = {
    "moments": """
        SELECT row_no, target, lower, upper
        FROM clustereval._bounded_targets(members, clusters, nearest, '{d}', 3)
    """,
    "refined": """
        SELECT row_no, target, lower, upper
        FROM clustereval._refined_targets(pairs, clusters, second)
    """,
    "tables": """
        SELECT
            row_no, entry.number AS target,
            clustereval._table_lower_bound(point, mean, scales, value_list, gaps),
            clustereval._table_upper_bound(point, mean, variances, scales, value_list)
        FROM members AS member
        JOIN tables AS entry ON entry.partition_no = member.partition_no
    """,
}
KINDS = {"euclidean": ("moments", "refined"), "cityblock": ("moments", "tables")}


def frame_of_shape(shape: str) -> pl.DataFrame:
    part = partition(shape)
    return part.rows.with_columns(vector=pl.Series(part.x.tolist()))


def frame_of_all(shapes: Iterable[str]) -> pl.DataFrame:
    frames = [frame_of_shape(shape).with_columns(shape=pl.lit(i)) for i, shape in enumerate(shapes)]
    return pl.concat(frames)


@cache
def duckdb_tables(distance: str) -> dict[str, Bounds]:
    """Bounds by shape and kind, from one query for each kind."""
    found: dict[str, Bounds] = {shape: {} for shape in SHAPES}
    with engines.make("duckdb").connection.cursor() as con:
        con.register("t", frame_of_all(SHAPES))
        for kind in KINDS.get(distance, ("moments",)):
            query = (CHAIN + OF_KIND[kind]).format(d=distance) + " ORDER BY 1, 2"
            bounds = np.array(con.execute(query).fetchall())[:, 2:]
            for shape in SHAPES:
                part = partition(shape)
                n, k = len(part.x), len(part.sizes)
                lower, upper = bounds[: n * k].T.reshape(2, n, k)
                found[shape][kind], bounds = (lower, upper), bounds[n * k :]
    return found


def duckdb_bounds(shape: str, distance: str) -> Bounds:
    return duckdb_tables(distance)[shape]


def exact_means(part: Partition, name: str) -> Floats:
    """The mean distance (m, k) of each point to all points of each cluster."""
    more = {"p": 3} if name == "minkowski" else {}
    return np.column_stack([cdist(part.x, y, name, **more).mean(axis=1) for y in part.members])


@pytest.mark.parametrize("bounds_of", [polars_bounds, duckdb_bounds], ids=["polars", "duckdb"])
@pytest.mark.parametrize("distance", DISTANCES)
def test_bounds_hold_where_they_are_reached(bounds_of: Any, distance: str) -> None:
    reached = REACHED | (REACHED_IN_POLARS if bounds_of is polars_bounds else set())
    for shape in SHAPES:
        part = partition(shape)
        means = exact_means(part, distance)
        for kind, (lower, upper) in bounds_of(shape, distance).items():
            what = (shape, distance, kind)
            slack = 1e-12 * (1 + means)
            assert (lower <= means + slack).all(), what
            assert (means - slack <= upper).all(), what
            queries = slice(0, part.starts[1])
            gaps = {"lower": (means - lower)[queries, 1], "upper": (upper - means)[queries, 1]}
            for side, gap in gaps.items():
                if (*what, side) in reached:
                    assert gap.min() <= 2e-3 * means[queries, 1].min(), (what, side)


@pytest.mark.parametrize("sign", [1, -1], ids=["query first", "query last"])
def test_a_screening_keeps_the_nearest_cluster(sign: int) -> None:
    """DuckDB's bound of euclidean distances that uses variances by coordinate.

    It is computed relative to the mean of the first cluster.
    """
    shapes = [shape for shape, clusters in SHAPES.items() if len(clusters) == 2]
    shapes.remove("lopsided")  # its queries are two points
    limits = []
    for part in map(partition, shapes):
        of_other = exact_means(part, "euclidean")[:, ::-1]
        limits.append(of_other[np.arange(len(part.x)), part.numbers] * (1 + 1e-9))
    frame = frame_of_all(shapes).with_columns(sign * pl.col("cluster"))
    query = (
        CHAIN.format(d="euclidean")
        + """,
        limits AS (SELECT row AS row_no, b_upper FROM given),
        variance AS MATERIALIZED (FROM clustereval._variance_bounds(second, clusters))
        SELECT shape, COUNT(*)
        FROM clustereval._screened_targets(members, clusters, limits, variance)
        JOIN given ON given.row = row_no
        GROUP BY shape ORDER BY shape
    """
    )
    limit = pl.Series("b_upper", np.concatenate(limits))
    with engines.make("duckdb").connection.cursor() as con:
        con.register("t", frame)
        con.register("given", frame.select("shape", limit).with_row_index("row", offset=1))
        kept = con.execute(query).fetchall()
    assert kept == frame.group_by("shape").agg(2 * pl.len()).sort("shape").rows()


@pytest.mark.parametrize("seed", range(3))
def test_variances_are_below_their_bounds(seed: int) -> None:
    """Those of squared distances to the points of a cluster, skewed ones, by the definition."""
    rng = np.random.default_rng(seed)
    x = rng.gamma(0.4, size=(60, 3)) * rng.choice([-1.0, 1.0], 3) + rng.normal(size=3)
    part = Partition(pl.DataFrame({"cluster": np.arange(60) // 20}), x, np.arange(0, 61, 20))
    # From the offset u of a point from the mean of the first cluster.
    query = (
        CHAIN.format(d="euclidean")
        + """,
        variance AS MATERIALIZED (FROM clustereval._variance_bounds(second, clusters))
        SELECT
            list_inner_product(list_concat(list_transform(u, lambda z: z * z), u), bound.slopes)
            + bound.intercept + bound.residual * list_distance(point, center) ** 2
        FROM (
            SELECT
                *, cluster.mean AS center, cluster.number AS target,
                clustereval._subtract_vectors(point, cluster.origin) AS u
            FROM members AS member, clusters AS cluster
        )
        JOIN variance AS bound ON bound.number = target
        ORDER BY row_no, target
    """
    )
    with engines.make("duckdb").connection.cursor() as con:
        con.register("t", part.rows.with_columns(vector=pl.Series(x.tolist()), shape=0))
        bounds = np.array(con.execute(query).fetchall()).reshape(60, 3)
    exact = np.column_stack([(cdist(x, y) ** 2).var(axis=1) for y in part.members])
    assert (bounds >= exact).all()
    # With coordinates that are nearly independent they are close.
    assert (bounds <= 3 * exact).mean() > 0.5


@cache
def score_of(shape: str, distance: str) -> float:
    part = partition(shape)
    more = {"p": 3} if distance == "minkowski" else {}
    return float(silhouette_score(part.x, part.numbers, metric=distance, **more))


@pytest.mark.parametrize(
    "distance",
    [pytest.param(d, marks=[] if d == "cityblock" else pytest.mark.wide) for d in DISTANCES],
)
def test_scores_lie_within_their_bounds(engine: Engine, distance: str) -> None:
    cases = [frame_of_shape(shape) for shape in SHAPES]
    for options in ({"method": "bounds"}, {"tolerance": 0.1}):
        several = call_by_case(engine, "silhouette_score", cases, distance=distance, p=3, **options)
        for shape, [row] in zip(SHAPES, several, strict=True):
            assert row["silhouette_lower"] <= score_of(shape, distance) + 1e-12, (shape, options)
            assert row["silhouette_upper"] >= score_of(shape, distance) - 1e-12, (shape, options)


def test_the_nearest_cluster_is_kept(engine: Engine) -> None:
    """The cluster of the kink is 0.09 nearer to the query than points whose bounds are exact."""
    others = [[[1 + (FAR + 1) / 2 + 0.09]] * 3]
    points = [*SHAPES["kink"][:2], *others]
    rows = [(x, number) for number, cluster in enumerate(points) for x in cluster]
    frame = pl.DataFrame(rows, schema=["vector", "cluster"], orient="row")
    [found] = call_by_case(engine, "silhouette_samples", [frame], distance="cityblock")
    assert found[0]["neighbor"] == 1
    assert found[0]["b"] == pytest.approx((FAR + 1) / 2, rel=1e-12)
