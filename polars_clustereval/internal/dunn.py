"""dunn: diameters of clusters, Dunn's index and its generalizations.

The diameter of a cluster and the separation of two clusters each depend on a single pair of points.
The triangle inequality excludes most other pairs, whose distances are never computed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.checks import show_value
from polars_clustereval.base.data_arguments import table_function
from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions, join_small
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .distances import Center, Distance, DistanceName
from .kernels import measured_pairs
from .kernels.arrays import expand_range_blocks, measure_differences
from .kernels.distance_blocks import (
    DISTANCES_PER_BLOCK,
    TILE_POINTS,
    distance_blocks,
    distance_matrix,
)
from .kernels.linkages import largest_mean_pair_distance, least_linkages
from .kernels.partitions import Partition, Partitions, map_partitions
from .kernels.small_partitions import diameters_of_many, pair_statistics
from .scatter import centroid_gaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .kernels.arrays import Booleans, Floats, Integers
    from .vectors import Vector

#: Points of a cluster that give a first bound of its diameter, or of its separation from another.
_CANDIDATES = 64
#: Pairs of clusters that give the first bound of the separation.
_LIKELY_PAIRS = 32
#: Number of clusters up to which each point is compared with every ball.
_MAX_CLUSTERS_FOR_BORDER = 256
#: Coordinates that make the cells of the grid.
_GRID_AXES = 4
#: Number of points up to which all pairs are measured, since a grid would take longer.
_MAX_POINTS_WITHOUT_GRID = 512

# ----------------------------------------------------------------------------------------------
# Metrics
# ----------------------------------------------------------------------------------------------


class _Metric(NamedTuple):
    """A distance that obeys the triangle inequality, from which the user's distance follows.

    `distance` is the user's. The metric distance is the same, except that it is euclidean for
    sqeuclidean and cosine. For cosine, points are unit vectors, and their metric distance is the
    chord; from a zero vector it is sqrt(2), as between orthogonal vectors, even to itself.
    """

    distance: Distance

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """Return the metric distances (m, n) between points x (m, d) and points y (n, d)."""
        return self._from_distance(distance_matrix(x, y, self._block_distance))

    def blocks(self, x: Floats, y: Floats) -> Iterator[Floats]:
        """Yield the metric distances (m, n) of points x (m, d) to y (n, d), some rows at a time."""
        for _, block in distance_blocks(x, y, self._block_distance, TILE_POINTS**2):
            yield self._from_distance(block)

    def least_distance(self, x: Floats, y: Floats) -> float:
        """Return the least metric distance between a point of x (m, d) and a point of y (n, d).

        Blocks may come from a product of matrices, which is less accurate: the least distance of
        each is computed again from differences of coordinates.
        """
        least, start = np.inf, 0
        for block in self.blocks(x, y):
            i, j = np.unravel_index(np.argmin(block), block.shape)
            least = min(least, float(self.row_distances(x[[start + i]], y[j])[0]))
            start += len(block)
        return least

    def row_distances(self, x: Floats, y: Floats) -> Floats:
        """Return the metric distances (m,) of rows of x (m, d) to rows of y, or to one y (d,)."""
        measured_pairs.on_measured(len(x))
        d = measure_differences(x - y, *self._block_distance)
        if self.distance.name == "cosine":
            d[~(x.any(axis=1) & y.any(axis=-1))] = 1.0
        return self._from_distance(d)

    def to_distance(self, d: float) -> float:
        """Return the user's distance of two points from their metric distance d."""
        if self.distance.name == "cosine":
            return d * d / 2
        return d * d if self.distance.name == "sqeuclidean" else d

    @property
    def _block_distance(self) -> Distance:
        """The distance that blocks are computed with: the user's, but euclidean for sqeuclidean."""
        name = self.distance.name
        return Distance("euclidean", 2.0) if name == "sqeuclidean" else self.distance

    def _from_distance(self, d: Floats) -> Floats:
        """Return the metric distances for an array d of distances by _block_distance."""
        return np.asarray(np.sqrt(2.0 * d)) if self.distance.name == "cosine" else d


# ----------------------------------------------------------------------------------------------
# Diameters
# ----------------------------------------------------------------------------------------------


def _metric_diameters(part: Partition, metric: _Metric) -> Floats:
    """Return the diameter (k,) of each cluster, its points' largest metric distance."""
    diameters = np.zeros(len(part.sizes))
    for i in np.flatnonzero(part.sizes > 1).tolist():
        diameters[i] = _largest_distance(part.points_of_cluster(i), metric)
    return diameters


def _largest_distance(x: Floats, metric: _Metric) -> float:
    """Return the largest metric distance between two of the points x (m, d).

    Points at distances r and s from the mean of x are at most r + s apart: once a pair has been
    found, only pairs whose r + s exceeds its distance are measured.
    """
    if len(x) <= _CANDIDATES:
        return float(metric.matrix(x, x).max())
    radii = metric.row_distances(x, x.mean(axis=0))
    outward = np.argsort(-radii)
    x, radii = x[outward], radii[outward]
    candidates = x[:_CANDIDATES]
    largest = max(metric.matrix(candidates, candidates).max(), metric.row_distances(x, x[0]).max())
    start = 0
    while start < len(x):
        stop = int(np.searchsorted(-radii, radii[start] - largest))
        if stop <= start:
            break
        step = max(1, DISTANCES_PER_BLOCK // (stop - start))
        largest = max(largest, metric.matrix(x[start : start + step], x[start:stop]).max())
        start += step
    return float(largest)


# ----------------------------------------------------------------------------------------------
# Separation
# ----------------------------------------------------------------------------------------------


class _Balls(NamedTuple):
    """Balls around the means of the clusters that hold their points: centers (k, d), radii (k,)."""

    centers: Floats
    radii: Floats


def _bounding_balls(part: Partition, metric: _Metric) -> _Balls:
    """Return the balls of a partition's clusters; radii are metric distances."""
    starts = part.starts[:-1]
    centers = np.add.reduceat(part.x, starts, axis=0) / part.sizes[:, None]
    distances = metric.row_distances(part.x, centers[part.numbers])
    return _Balls(centers, np.maximum.reduceat(distances, starts))


def _metric_separation(part: Partition, metric: _Metric) -> float:
    """Return the least metric distance between two points of different clusters of a partition."""
    balls = _bounding_balls(part, metric)
    bound = _separation_bound(part, balls, metric)
    x, numbers = part.x, part.numbers
    if len(part.sizes) <= _MAX_CLUSTERS_FOR_BORDER:
        border = _flag_border_points(part, balls, metric, bound)
        x, numbers = x[border], numbers[border]
    return _separation_by_grid(x, numbers, metric, bound)


def _separation_bound(part: Partition, balls: _Balls, metric: _Metric) -> float:
    """Return an upper bound of the least metric distance between points of different clusters.

    It is the least distance found between points near the midpoint of two centers, for the pairs of
    _likely_cluster_pairs. `balls` are those of the clusters.
    """
    bound = np.inf
    for i, j in _likely_cluster_pairs(balls, metric):
        midpoint = (balls.centers[i] + balls.centers[j]) / 2
        x, y = (_nearest_candidates(part.points_of_cluster(c), midpoint) for c in (i, j))
        bound = min(bound, metric.least_distance(x, y))
    return float(bound)


def _nearest_candidates(x: Floats, target: Floats) -> Floats:
    """Return the (at most _CANDIDATES) points of x (m, d) that are nearest to target (d,)."""
    if len(x) <= _CANDIDATES:
        return x
    differences = x - target
    squares = np.einsum("ij,ij->i", differences, differences)
    return x[np.argpartition(squares, _CANDIDATES)[:_CANDIDATES]]


def _likely_cluster_pairs(balls: _Balls, metric: _Metric) -> Integers:
    """Return pairs (pairs, 2) of cluster numbers: those whose balls overlap most or are nearest.

    They are at most _LIKELY_PAIRS. `balls` are those of all clusters of a partition.
    """
    centers, radii = balls
    pairs, gaps = np.empty((0, 2), dtype=np.int64), np.empty(0)
    start = 0
    for block in metric.blocks(centers, centers):
        gap = block - radii[start : start + len(block), None] - radii
        rows = np.arange(start, start + len(block))
        gap[rows[:, None] >= np.arange(len(centers))] = np.inf
        i, j = np.unravel_index(_least_gap_indices(gap), gap.shape)
        pairs = np.concatenate([pairs, np.stack([i + start, j], axis=1)])
        gaps = np.concatenate([gaps, gap[i, j]])
        least = np.argsort(gaps)[:_LIKELY_PAIRS]
        pairs, gaps = pairs[least], gaps[least]
        start += len(block)
    return pairs[np.isfinite(gaps)]


def _least_gap_indices(gap: Floats) -> Integers:
    """Return the indices, in the flattened matrix, of the _LIKELY_PAIRS least entries of gap.

    gap[i, j] is the metric distance of two centers minus the radii of both balls.
    """
    if gap.size <= 1024:
        return np.argsort(gap, axis=None)[:_LIKELY_PAIRS]
    return np.argpartition(gap, _LIKELY_PAIRS, axis=None)[:_LIKELY_PAIRS]


def _flag_border_points(part: Partition, balls: _Balls, metric: _Metric, bound: float) -> Booleans:
    """Return for each point (m,) whether it may be nearer than `bound` to another cluster.

    That is, by the metric, to one of its points. Such a point is nearer than bound + radius to the
    center of the ball of that cluster; `balls` are those of all clusters.
    """
    is_border = np.zeros(len(part.x), dtype=bool)
    for j, (center, radius) in enumerate(zip(*balls, strict=True)):
        is_near = metric.row_distances(part.x, center) < bound + radius
        is_near[part.starts[j] : part.starts[j + 1]] = False
        is_border |= is_near
    return is_border


def _separation_by_grid(x: Floats, numbers: Integers, metric: _Metric, bound: float) -> float:
    """Return the least metric distance between points of different clusters, at most `bound`.

    x (m, d) are the points and `numbers` (m,) the numbers of their clusters, in ascending order. No
    coordinate of two points differs by more than their distance: only points in the same or
    adjacent cells of a grid of width `bound` are measured. A quarter of the points is searched
    first, since their least distance is a tighter bound: narrower cells hold fewer pairs.
    """
    if len(x) <= _MAX_POINTS_WITHOUT_GRID:
        return _separation_by_all_pairs(x, numbers, metric, bound)
    bound = _separation_by_grid(x[::4], numbers[::4], metric, bound)
    if bound == 0:
        return bound
    grid = _Grid(x, bound)
    if grid.approximate_pairs > len(x) ** 2 / 16:
        return _separation_by_all_pairs(x, numbers, metric, bound)
    for i, j in grid:
        different = numbers[i] != numbers[j]
        i, j = i[different], j[different]
        if len(i):
            bound = min(bound, float(metric.row_distances(x[i], x[j]).min()))
    return bound


def _separation_by_all_pairs(x: Floats, numbers: Integers, metric: _Metric, bound: float) -> float:
    """Return the same as _separation_by_grid, from all pairs of points in different clusters."""
    stops = np.flatnonzero(np.diff(numbers)) + 1
    for start, stop in zip(np.concatenate([[0], stops]), stops, strict=False):
        for tile in range(stop, len(x), TILE_POINTS):
            bound = min(bound, metric.least_distance(x[start:stop], x[tile : tile + TILE_POINTS]))
    return bound


class _Grid:
    """Pairs of points in the same or adjacent cells of a grid, each pair once.

    Iteration yields the pairs in blocks. Cells have whole numbers, and those that are adjacent
    along the last axis have consecutive ones. A line of cells is all cells that differ along the
    last axis only.
    """

    def __init__(self, x: Floats, width: float) -> None:
        """Assign points x (m, d) to cells along their (at most 4) axes of largest variance.

        Cells are at least `width` wide, so that points at most this far apart are in the same cell
        or in adjacent ones.
        """
        axes = np.argsort(-x.var(axis=0))[:_GRID_AXES]
        coordinates = x[:, axes] - x[:, axes].min(axis=0)
        # Wider cells if the number of a cell would exceed 64 bits.
        widths = np.maximum(width * (1 + 1e-9), coordinates.max(axis=0) / 2**14)
        cells = np.floor(coordinates / widths).astype(np.int64) + 1
        self.strides = np.cumprod([1, *(cells.max(axis=0)[:0:-1] + 2)])[::-1]
        numbers = cells @ self.strides
        self.order = np.argsort(numbers, kind="stable")
        self.numbers = numbers[self.order]

    @property
    def neighbor_line_offsets(self) -> list[int]:
        """What to add to a cell's number to reach each line of cells adjacent to its own, and 0.

        Only one of any two opposite offsets is listed, so that no pair of points is found twice.
        """
        steps = product((-1, 0, 1), repeat=len(self.strides) - 1)
        return sorted({abs(int(np.dot(step, self.strides[:-1]))) for step in steps})

    @property
    def approximate_pairs(self) -> int:
        """Estimated number of pairs: those in each point's own line of cells, times all lines."""
        start, stop = self._partner_ranges(0)
        return len(self.neighbor_line_offsets) * int((stop - start).sum())

    def _partner_ranges(self, offset: int) -> tuple[Integers, Integers]:
        """Return the start (m,) and stop (m,) of each point's partners in a line of cells.

        The points are sorted by cell; the partners of one are consecutive. `offset` is one of
        neighbor_line_offsets: the partners lie in the cell at that offset and the two beside it.
        For offset 0 they are the points after the point in its own cell and those in the next cell.
        """
        beside = self.numbers + offset
        stop = np.searchsorted(self.numbers, beside + 1, side="right")
        if not offset:
            return np.arange(1, len(self.numbers) + 1), stop
        return np.searchsorted(self.numbers, beside - 1), stop

    def __iter__(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield blocks of pairs: the rows of x of their first points, and of their second."""
        for offset in self.neighbor_line_offsets:
            start, stop = self._partner_ranges(offset)
            for i, j in expand_range_blocks(start, stop, DISTANCES_PER_BLOCK):
                yield self.order[i], self.order[j]


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------

#: Separations of two clusters and diameters of a cluster, in the order of gdi_11 ... gdi_63.
SEPARATIONS = (
    *("min_separation", "min_complete_linkage", "min_average_linkage"),
    *("min_centroid_distance", "min_mean_to_other_center", "min_hausdorff"),
)
DIAMETERS = ("max_diameter", "max_mean_pair", "max_double_mean")
_GDI_COLUMNS = tuple(f"gdi_{i}{j}" for i in range(1, 7) for j in range(1, 4))
_CENTER_STATISTICS = ("min_centroid_distance", "max_double_mean")
_PAIR_STATISTICS_SCHEMA = pl.Schema(
    {name: pl.Float64() for name in (*SEPARATIONS, *DIAMETERS) if name not in _CENTER_STATISTICS}
)


def _has_finite_squares(part: Partition) -> bool:
    """Return whether no squared coordinate overflows; if one does, to_result raises an error."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(part.x * part.x).all())


def _pair_statistics(points: Points, *, generalized: bool) -> pl.LazyFrame:
    """Return one row per partition: the statistics of dunn_index from distances between points.

    They are max_diameter, min_separation, and for the generalized indices max_mean_pair,
    min_complete_linkage, min_average_linkage, min_mean_to_other_center and min_hausdorff, which are
    NULL unless `generalized`: maxima over clusters, minima over pairs of clusters.
    """
    keys, cluster_keys = points.partition_keys, points.cluster_keys
    c = points.vector_columns("c") if generalized else []
    if generalized:
        centers = points.centers.select(*cluster_keys, *c)
        points = replace(points, rows=join_small(points.rows, cluster_keys, centers, "left"))

    def read_centers(part: Partition | Partitions) -> Floats | None:
        """Return the centers (k, d) of the clusters, which the generalized indices need."""
        return points.form.to_matrix(part.rows[part.starts[:-1]], "c") if generalized else None

    def make_row(part: Partition) -> pl.DataFrame:
        """Return the row of one partition."""
        return _pair_statistics_row(part, read_centers(part), points.distance)

    def make_rows(parts: Partitions) -> pl.DataFrame:
        """Return one row for each of many partitions of few points."""
        values = pair_statistics(parts, read_centers(parts), points.distance)
        columns = {name: values.get(name) for name in _PAIR_STATISTICS_SCHEMA}
        statistics = pl.DataFrame(columns, schema=_PAIR_STATISTICS_SCHEMA).fill_nan(None)
        return parts.rows[parts.partition_starts[:-1]].select(keys).hstack(statistics)

    rows = map_partitions(points, make_row, _PAIR_STATISTICS_SCHEMA, c, function_of_many=make_rows)
    # Each maximum is of a single value: without partitions this makes a row if there are no points.
    return aggregate_by(rows, keys, {name: pl.col(name).max() for name in _PAIR_STATISTICS_SCHEMA})


def _pair_statistics_row(
    part: Partition, centers: Floats | None, distance: Distance
) -> pl.DataFrame:
    """Return the row of _pair_statistics for one partition, without its partition columns.

    `centers` (k, d) are those of the clusters; None leaves what only the generalized indices need
    NULL. `distance` is the user's.
    """
    metric, values = _Metric(distance), dict[str, float | None]()
    if len(part.x) and _has_finite_squares(part):
        values["max_diameter"] = metric.to_distance(float(_metric_diameters(part, metric).max()))
        if centers is not None:
            values["max_mean_pair"] = largest_mean_pair_distance(part, distance)
        if len(part.sizes) > 1:
            values["min_separation"] = metric.to_distance(_metric_separation(part, metric))
            values |= {} if centers is None else least_linkages(part, centers, distance)
    columns = {name: [values.get(name)] for name in _PAIR_STATISTICS_SCHEMA}
    return pl.DataFrame(columns, schema=_PAIR_STATISTICS_SCHEMA)


def _diameter_rows(part: Partition | Partitions, distance: Distance) -> pl.DataFrame:
    """Return one row per cluster: its columns in part.rows, n points, and diameter.

    `part` is one partition, or many of few points.
    """
    metric, diameters = _Metric(distance), np.zeros(len(part.sizes))
    if isinstance(part, Partitions):
        diameters = diameters_of_many(part, distance)
    elif _has_finite_squares(part):
        diameters[:] = [metric.to_distance(d) for d in _metric_diameters(part, metric).tolist()]
    return part.rows[part.starts[:-1]].with_columns(
        n=pl.Series(part.sizes, dtype=pl.Int64), diameter=pl.Series(diameters)
    )


def _center_extremes(points: Points) -> pl.LazyFrame:
    """Return one row per partition: the statistics of dunn_index from the clusters' centers.

    max_double_mean is twice the largest mean distance of a cluster's points from its center;
    min_centroid_distance is the least distance between two centers.
    """
    keys = points.partition_keys
    means = {"max_double_mean": 2 * pl.col("mean_distance").max()}
    gaps = {"min_centroid_distance": pl.col("least").min()}
    largest = aggregate_by(points.clusters, keys, means)
    least = aggregate_by(centroid_gaps(points), keys, gaps)
    return join_partitions(largest, keys, least, how="left")


def _dunn_ratio(separation: str, diameter: str) -> pl.Expr:
    """Return separation / diameter, two columns, as an index; NULL where it is undefined.

    That is where diameter is 0, or n_clusters is 1 or equal to n, the number of points.
    """
    n, n_clusters = pl.col("n"), pl.col("n_clusters")
    quotient = ratio(pl.col(separation), pl.col(diameter))
    return pl.when((n_clusters >= 2) & (n_clusters < n)).then(quotient)


def _dunn_indices(*, generalized: bool) -> Terms:
    """Return the expressions of the columns of dunn_index after the counts, by name.

    They read the columns n, n_clusters, SEPARATIONS and DIAMETERS. Unless `generalized` the columns
    gdi_11 ... gdi_63 are NULL.
    """
    ratios = [_dunn_ratio(x, y) for x, y in product(SEPARATIONS, DIAMETERS)]
    if not generalized:
        ratios = [pl.lit(None, pl.Float64)] * len(ratios)
    return {
        "dunn_index": _dunn_ratio("min_separation", "max_diameter"),
        "centroid_dunn_index": _dunn_ratio("min_centroid_distance", "max_diameter"),
        "max_diameter": pl.col("max_diameter"),
        "min_separation": pl.col("min_separation"),
        **dict(zip(_GDI_COLUMNS, ratios, strict=True)),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function
def cluster_diameters(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
) -> Frame:
    """Size and diameter of each cluster: the largest distance between two of its points.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one per row. A LazyFrame is read when the result is collected; the
        greatest length of a List column is read at once. All points are then held in memory.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: where all are) are left out.
    cluster : str or Expr
        Assigned cluster of each point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        Distances of scipy, in any letter case. The cosine distance of a zero vector to others is 1.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        Has no effect on diameters.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is a group of its own.
    noise : object, optional
        Value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Noise is an ordinary cluster, is left out, or each of its points is a cluster of its own.
    weights : sequence of float, optional
        One number > 0 per dimension, as in scipy; not for chebyshev.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row per cluster, sorted by partition and cluster: the partition
        columns, cluster, n points and diameter, 0 for a single point. With noise_as 'singletons'
        each noise point has a row of its own, cluster NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector is not numeric, noise cannot be cast to the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    The diameter is exact. Points at distances r and s from the center are at most r + s apart, so
    that most pairs are never measured; in many dimensions this excludes few pairs.
    In SQL: ``FROM clustereval.cluster_diameters(tbl, [x, y], cluster)``.

    Examples
    --------
    The two points farthest from each other decide:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> five = pl.DataFrame({"x": [0, 1, 3, 9, 9], "y": [0, 7, 4, 0, 0], "cluster": [*"aaabb"]})
    >>> ce.cluster_diameters(five, ["x", "y"], "cluster", distance="cityblock").rows()
    [('a', 3, 8.0), ('b', 2, 0.0)]
    """
    options = check_point_options(
        distance=distance,
        p=p,
        center=center,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = read_points(frame, vector, cluster, options, results=("cluster", "n", "diameter"))
    types = points.kept_rows.select(points.own_keys).collect_schema()
    schema = pl.Schema(types | {"n": pl.Int64(), "diameter": pl.Float64()})
    function = partial(_diameter_rows, distance=points.distance)
    rows = map_partitions(points, function, schema, function_of_many=function)
    return points.to_result(frame, rows, points.own_keys)


@table_function
def dunn_index(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    generalized: bool = True,
) -> Frame:
    """Dunn's index and its generalizations: least separation / largest diameter of the clusters.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one per row. A LazyFrame is read when the result is collected; the
        greatest length of a List column is read at once. All points are then held in memory.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: where all are) are left out.
    cluster : str or Expr
        Assigned cluster of each point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        Distances of scipy, in any letter case. The cosine distance of a zero vector to others is 1.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        Centroid of a cluster, by coordinate; for cosine the direction of that of the unit vectors.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is a group of its own.
    noise : object, optional
        Value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Noise is an ordinary cluster, is left out, or each of its points is a cluster of its own.
    weights : sequence of float, optional
        One number > 0 per dimension, as in scipy; not for chebyshev.
    generalized : bool
        False leaves the columns gdi_11 … gdi_63 NULL, which need the distances of all pairs of
        points; dunn_index needs few of them.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row per partition, sorted by it: the partition columns, n
        points kept, n_dropped, n_noise, n_clusters, and

        * dunn_index = min_separation / max_diameter;
        * centroid_dunn_index = least distance between two centroids / max_diameter, also called
          Dunn's index by some authors; equal to gdi_41;
        * max_diameter, the largest distance between two points of one cluster;
        * min_separation, the least distance between points of different clusters;
        * gdi_ij = least δi of two clusters / largest Δj of a cluster. δ1 is the least distance
          between their points, δ2 the largest, δ3 the mean, δ4 the distance between their
          centroids, δ5 the mean distance of the points of both from the other's centroid, δ6 the
          Hausdorff distance. Δ1 is the diameter, Δ2 the mean distance between two points (0 for a
          single point), Δ3 twice the mean distance from the centroid.

        All indices: range [0, inf), best high. They are NULL for one cluster, for as many clusters
        as points, and if the diameter is 0; min_separation is NULL for one cluster.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector is not numeric, noise cannot be cast to the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    All values are exact. With generalized=False the triangle inequality excludes most pairs, which
    are never measured; in many dimensions it excludes few.
    In SQL: ``FROM clustereval.dunn_index(tbl, [x, y], cluster)``.

    References
    ----------
    Dunn (1973), doi:10.1080/01969727308546046. Bezdek and Pal (1998), Some new indexes of cluster
    validity, doi:10.1109/3477.678624.

    Examples
    --------
    Two clusters with a gap of 6, the larger diameter 4:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"x": [0, 2, 8, 12], "cluster": ["a", "a", "b", "b"]})
    >>> report = ce.dunn_index(four, ["x"], "cluster")
    >>> report.select("dunn_index", "centroid_dunn_index", "gdi_21", "gdi_43").rows()
    [(1.5, 2.25, 3.0, 2.25)]
    """
    if not isinstance(generalized, bool):
        raise ClusterEvalError(
            f"generalized: expected TRUE or FALSE, got {show_value(generalized)}"
        )
    options = check_point_options(
        distance=distance,
        p=p,
        center=center,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = read_points(frame, vector, cluster, options, results=_DUNN_COLUMNS)
    statistics = points.row_counts
    keys = points.partition_keys
    for other in (_pair_statistics(points, generalized=generalized), _center_extremes(points)):
        statistics = join_partitions(statistics, keys, other, how="left")
    indices = _dunn_indices(generalized=generalized)
    return points.to_result(frame, statistics.select(*keys, *_DUNN_COLUMNS[:4], **indices))


_DUNN_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_clusters"),
    *("dunn_index", "centroid_dunn_index", "max_diameter", "min_separation"),
    *_GDI_COLUMNS,
)
