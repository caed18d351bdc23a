"""dunn: diameters, Dunn's index and its generalizations; the twin of ``sql/dunn.sql``.

They hang on few pairs of points: the widest of a cluster, the nearest of two clusters. All others
are told apart by the triangle inequality, and are never measured. Every distance here is, or is a
power of, one that obeys it.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_clustereval.base.checks import show_value
from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .distances import Center, Distance
from .kernels.distance_blocks import CELLS, distance_blocks, distance_matrix
from .kernels.partitions import Partition, map_partitions
from .scatter import centroid_gaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .kernels.arrays import Floats, Integers
    from .vectors import Vector

Flags = NDArray[np.bool_]


#: Points of a cluster that are measured with each other for a first bound.
SCOUTS = 64
#: Pairs of clusters, those most likely the nearest, that give the first bound of the separation.
LIKELY = 32
#: Clusters up to which every point is held against every center.
REFERENCES = 256
#: Coordinates that make the cells of the grid.
GRID = 4
#: Points up to which all pairs are measured without ado.
FEW = 512
#: Points that are measured with some others at a time, where all pairs are.
TILE = 1024

# ----------------------------------------------------------------------------------------------
# Metrics
# ----------------------------------------------------------------------------------------------


class _Metric(NamedTuple):
    """A distance that obeys the triangle inequality, of which the one asked for is a power.

    For sqeuclidean it is euclidean. For cosine it is the chord of unit vectors, and a zero vector
    is as far from all others as vectors at right angles.
    """

    distance: Distance

    def between(self, x: Floats, y: Floats) -> Floats:
        """Give the matrix of distances; a zero vector is not 0 from itself."""
        return self._root(distance_matrix(x, y, self._given))

    def blocks(self, x: Floats, y: Floats) -> Iterator[Floats]:
        for _, block in distance_blocks(x, y, self._given, TILE**2):
            yield self._root(block)

    def least(self, x: Floats, y: Floats) -> float:
        """Give the least distance; it is measured again, since blocks are not right to the end."""
        found, start = np.inf, 0
        for block in self.blocks(x, y):
            i, j = np.unravel_index(np.argmin(block), block.shape)
            found = min(found, float(self.apart(x[[start + i]], y[j])[0]))
            start += len(block)
        return found

    def apart(self, x: Floats, y: Floats) -> Floats:
        """Give the distance of each row of x to that row of y, or to the one vector y."""
        apart = x - y
        if self.distance.name == "cityblock":
            return np.asarray(np.abs(apart).sum(axis=1))
        if self.distance.name == "chebyshev":
            return np.asarray(np.abs(apart).max(axis=1))
        if self.distance.name == "minkowski":
            p = self.distance.p
            return np.asarray((np.abs(apart) ** p).sum(axis=1) ** (1 / p))
        squares = np.einsum("ij,ij->i", apart, apart)
        if self.distance.name == "cosine":
            squares[~(x.any(axis=1) & y.any(axis=-1))] = 2.0
        return np.asarray(np.sqrt(squares))

    def given(self, d: float) -> float:
        """Give the distance that was asked for."""
        if self.distance.name == "cosine":
            return d * d / 2
        return d * d if self.distance.name == "sqeuclidean" else d

    @property
    def _given(self) -> Distance:
        """What the blocks are made of."""
        name = self.distance.name
        return Distance("euclidean", 2.0) if name == "sqeuclidean" else self.distance

    def _root(self, d: Floats) -> Floats:
        return np.asarray(np.sqrt(2.0 * d)) if self.distance.name == "cosine" else d


# ----------------------------------------------------------------------------------------------
# Diameters
# ----------------------------------------------------------------------------------------------


def _diameters(part: Partition, metric: _Metric) -> Floats:
    """Give the diameter of each cluster, as the metric has it."""
    found = np.zeros(len(part.sizes))
    for i in np.flatnonzero(part.sizes > 1):
        found[i] = _diameter(part.x[part.starts[i] : part.starts[i + 1]], metric)
    return found


def _diameter(x: Floats, metric: _Metric) -> float:
    """Give the largest distance of two of these points.

    Points r and s from any one place are at most r + s apart, so that only the outer ones can be
    the widest pair.
    """
    if len(x) <= SCOUTS:
        return float(metric.between(x, x).max())
    radii = metric.apart(x, x.mean(axis=0))
    outward = np.argsort(-radii)
    x, radii = x[outward], radii[outward]
    found = max(metric.between(x[:SCOUTS], x[:SCOUTS]).max(), metric.apart(x, x[0]).max())
    start = 0
    while start < len(x):
        stop = int(np.searchsorted(-radii, radii[start] - found))
        if stop <= start:
            break
        step = max(1, CELLS // (stop - start))
        found = max(found, metric.between(x[start : start + step], x[start:stop]).max())
        start += step
    return float(found)


# ----------------------------------------------------------------------------------------------
# Separation
# ----------------------------------------------------------------------------------------------


def _separation(part: Partition, metric: _Metric) -> float:
    """Give the least distance of points of different clusters, as the metric has it."""
    x, numbers = part.x, part.numbers
    centers = np.add.reduceat(x, part.starts[:-1], axis=0) / part.sizes[:, None]
    radii = np.maximum.reduceat(metric.apart(x, centers[numbers]), part.starts[:-1])
    found = _first_separation_bound(part, centers, radii, metric)
    if len(centers) <= REFERENCES:
        near = _near_other_clusters(part, centers, radii, metric, found)
        x, numbers = x[near], numbers[near]
    return _least_separation(x, numbers, metric, found)


def _first_separation_bound(
    part: Partition, centers: Floats, radii: Floats, metric: _Metric
) -> float:
    """Give a first bound, from points near the middle of two centers."""
    found = np.inf
    for i, j in _likely_cluster_pairs(centers, radii, metric):
        middle = (centers[i] + centers[j]) / 2
        x, y = (
            _points_nearest_to(part.x[part.starts[c] : part.starts[c + 1]], middle) for c in (i, j)
        )
        found = min(found, metric.least(x, y))
    return float(found)


def _points_nearest_to(x: Floats, place: Floats) -> Floats:
    if len(x) <= SCOUTS:
        return x
    apart = x - place
    return x[np.argpartition(np.einsum("ij,ij->i", apart, apart), SCOUTS)[:SCOUTS]]


def _likely_cluster_pairs(centers: Floats, radii: Floats, metric: _Metric) -> Integers:
    """Give the pairs of clusters whose balls overlap most, or are nearest."""
    pairs, gaps = np.empty((0, 2), dtype=np.int64), np.empty(0)
    start = 0
    for block in metric.blocks(centers, centers):
        gap = block - radii[start : start + len(block), None] - radii
        rows = np.arange(start, start + len(block))
        gap[rows[:, None] >= np.arange(len(centers))] = np.inf
        best = np.argsort(gap, axis=None)[:LIKELY] if gap.size <= 1024 else _smallest_gaps(gap)
        i, j = np.unravel_index(best, gap.shape)
        pairs = np.concatenate([pairs, np.stack([i + start, j], axis=1)])
        gaps = np.concatenate([gaps, gap[i, j]])
        kept = np.argsort(gaps)[:LIKELY]
        pairs, gaps = pairs[kept], gaps[kept]
        start += len(block)
    return pairs[np.isfinite(gaps)]


def _smallest_gaps(gap: Floats) -> Integers:
    return np.argpartition(gap, LIKELY, axis=None)[:LIKELY]


def _near_other_clusters(
    part: Partition, centers: Floats, radii: Floats, metric: _Metric, found: float
) -> Flags:
    """Tell which points can be nearer than that to another cluster's ball."""
    near = np.zeros(len(part.x), dtype=bool)
    for j, (center, radius) in enumerate(zip(centers, radii, strict=True)):
        close = metric.apart(part.x, center) < found + radius
        close[part.starts[j] : part.starts[j + 1]] = False
        near |= close
    return near


def _least_separation(x: Floats, numbers: Integers, metric: _Metric, found: float) -> float:
    """Give the least distance of points of different numbers if it is below what was found.

    No coordinate of two points differs by more than their distance. A part of the points gives a
    bound that is nearly right, and the cells of a grid of that width hold few pairs.
    """
    if len(x) <= FEW:
        return _least_of_all_pairs(x, numbers, metric, found)
    found = _least_separation(x[::4], numbers[::4], metric, found)
    if found == 0:
        return found
    grid = _Grid(x, found)
    if grid.pairs > len(x) ** 2 / 16:
        return _least_of_all_pairs(x, numbers, metric, found)
    for i, j in grid:
        different = numbers[i] != numbers[j]
        i, j = i[different], j[different]
        if len(i):
            found = min(found, float(metric.apart(x[i], x[j]).min()))
    return found


def _least_of_all_pairs(x: Floats, numbers: Integers, metric: _Metric, found: float) -> float:
    """The same from all pairs. The numbers are in order."""
    stops = np.flatnonzero(np.diff(numbers)) + 1
    for start, stop in zip(np.concatenate([[0], stops]), stops, strict=False):
        for other in range(stop, len(x), TILE):
            found = min(found, metric.least(x[start:stop], x[other : other + TILE]))
    return found


class _Grid:
    """Pairs of points in the same or adjacent cells, each pair once.

    Cells are numbered so that adjacent ones along the last coordinate have adjacent numbers.
    """

    def __init__(self, x: Floats, width: float) -> None:
        widest = np.argsort(-x.var(axis=0))[:GRID]
        keys = x[:, widest] - x[:, widest].min(axis=0)
        # wider cells where there would be too many for a number of 64 bits
        widths = np.maximum(width * (1 + 1e-9), keys.max(axis=0) / 2**14)
        cells = np.floor(keys / widths).astype(np.int64) + 1
        self.strides = np.cumprod([1, *(cells.max(axis=0)[:0:-1] + 2)])[::-1]
        numbers = cells @ self.strides
        self.order = np.argsort(numbers, kind="stable")
        self.numbers = numbers[self.order]

    @property
    def offsets(self) -> list[int]:
        """Give the ways to adjacent rows of cells, of each two that are opposite only one."""
        steps = product((-1, 0, 1), repeat=len(self.strides) - 1)
        return sorted({abs(int(np.dot(step, self.strides[:-1]))) for step in steps})

    @property
    def pairs(self) -> int:
        """Give about how many pairs there are: every row of cells like the point's own."""
        start, stop = self._partners(0)
        return len(self.offsets) * int((stop - start).sum())

    def _partners(self, offset: int) -> tuple[Integers, Integers]:
        """Give where, in the order of the cells, the partners of each point are."""
        beside = self.numbers + offset
        stop = np.searchsorted(self.numbers, beside + 1, side="right")
        if not offset:
            return np.arange(1, len(self.numbers) + 1), stop
        return np.searchsorted(self.numbers, beside - 1), stop

    def __iter__(self) -> Iterator[tuple[Integers, Integers]]:
        for offset in self.offsets:
            start, stop = self._partners(offset)
            for i, j in _expand_ranges(start, stop):
                yield self.order[i], self.order[j]


def _expand_ranges(start: Integers, stop: Integers) -> Iterator[tuple[Integers, Integers]]:
    """Give each row with each number of its range, some rows at a time."""
    counts = stop - start
    ends = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = ends[first] - counts[first]
        after = max(first + 1, int(np.searchsorted(ends, done + CELLS, side="right")))
        some = slice(first, after)
        i = np.repeat(np.arange(first, after), counts[some])
        before = ends[some] - counts[some] - done
        yield i, np.arange(len(i)) + np.repeat(start[some] - before, counts[some])
        first = after


# ----------------------------------------------------------------------------------------------
# All pairs
# ----------------------------------------------------------------------------------------------


def _linkages(part: Partition, distance: Distance) -> dict[str, float]:
    """Give the least over pairs of clusters of the distances that take all pairs of points.

    `complete` is the largest, `average` the mean, `hausdorff` the largest distance of a point to
    the other cluster's nearest.
    """
    found = dict.fromkeys(("complete", "average", "hausdorff"), np.inf)
    for i in range(len(part.sizes) - 1):
        x = part.x[part.starts[i] : part.starts[i + 1]]
        for starts in _cluster_tiles(part.starts[i + 1 :]):
            others = part.x[starts[0] : starts[-1]]
            for name, values in _linkages_to_others(
                x, others, starts - starts[0], distance
            ).items():
                found[name] = min(found[name], float(values.min()))
    return found


def _cluster_tiles(starts: Integers) -> Iterator[Integers]:
    """Give the bounds of whole clusters, few enough to make a tile or one that is more."""
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + TILE, side="right")) - 1
        last = max(last, first + 1)
        yield starts[first : last + 1]
        first = last


def _linkages_to_others(
    x: Floats, others: Floats, starts: Integers, distance: Distance
) -> dict[str, Floats]:
    """Give the linkages of a cluster with each of the others."""
    cuts, sizes = starts[:-1], np.diff(starts)
    most, total, far = np.zeros(len(others)), np.zeros(len(others)), np.zeros(len(cuts))
    nearest = np.full(len(others), np.inf)
    for _, block in distance_blocks(x, others, distance, TILE**2):
        np.maximum(most, block.max(axis=0), out=most)
        np.minimum(nearest, block.min(axis=0), out=nearest)
        total += block.sum(axis=0)
        np.maximum(far, np.minimum.reduceat(block, cuts, axis=1).max(axis=0), out=far)
    return {
        "complete": np.maximum.reduceat(most, cuts),
        "average": np.add.reduceat(total, cuts) / (len(x) * sizes),
        "hausdorff": np.maximum(far, np.maximum.reduceat(nearest, cuts)),
    }


def _largest_mean_pair_distance(part: Partition, distance: Distance) -> float:
    """Give the largest mean distance of the pairs of a cluster."""
    found = 0.0
    for i in np.flatnonzero(part.sizes > 1):
        x = part.x[part.starts[i] : part.starts[i + 1]]
        total = sum(float(block.sum()) for _, block in distance_blocks(x, x, distance))
        if distance.name == "cosine":
            total -= float((~x.any(axis=1)).sum())  # zero vectors, each with itself
        found = max(found, total / (len(x) * (len(x) - 1)))
    return found


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------

_EXTREMES_SCHEMA = pl.Schema(
    dict.fromkeys(
        ("max_diameter", "min_separation", "complete", "average", "hausdorff", "mean_pair"),
        pl.Float64(),
    )
)


def _is_measurable(part: Partition) -> bool:
    """Tell whether all is finite; else `checked` raises the error."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(part.x * part.x).all())


def _extremes(part: Partition, distance: Distance, *, generalized: bool) -> pl.DataFrame:
    """Give the row of a partition: the extremes of the distances of its points."""
    metric, found = _Metric(distance), dict[str, float | None]()
    if len(part.x) and _is_measurable(part):
        found["max_diameter"] = metric.given(float(_diameters(part, metric).max()))
        if generalized:
            found["mean_pair"] = _largest_mean_pair_distance(part, distance)
        if len(part.sizes) > 1:
            found["min_separation"] = metric.given(_separation(part, metric))
            found |= _linkages(part, distance) if generalized else {}
    return pl.DataFrame(
        {name: [found.get(name)] for name in _EXTREMES_SCHEMA}, schema=_EXTREMES_SCHEMA
    )


def _diameter_rows(part: Partition, distance: Distance) -> pl.DataFrame:
    """Give a row for each cluster of a partition."""
    metric, found = _Metric(distance), [0.0] * len(part.sizes)
    if _is_measurable(part):
        found = [metric.given(d) for d in _diameters(part, metric).tolist()]
    return part.rows[part.starts[:-1]].with_columns(
        n=pl.Series(part.sizes, dtype=pl.Int64), diameter=pl.Series(found, dtype=pl.Float64)
    )


def _center_totals(points: Points) -> pl.LazyFrame:
    """One row a partition: what follows from centers, and the distances of points to their own.

    The least mean of two clusters together has the cluster of the least mean in it: with that one
    in place of the other, no mean of two rises.
    """
    mean = pl.col("mean_distance")
    least, n = (pl.col(name).sort_by(mean) for name in ("distances", "n"))
    terms = {
        "mean_to_center": ((least.first() + least.slice(1)) / (n.first() + n.slice(1))).min(),
        "double_mean": 2 * mean.max(),
    }
    gaps = aggregate_by(
        centroid_gaps(points), points.partition_keys, {"least_gap": pl.col("least").min()}
    )
    return join_partitions(
        aggregate_by(points.clusters, points.partition_keys, terms),
        points.partition_keys,
        gaps,
        how="left",
    )


#: What stands above and below in gdi_11, gdi_12, ...
_SEPARATION_COLUMNS = (
    *("min_separation", "complete", "average"),
    *("least_gap", "mean_to_center", "hausdorff"),
)
_DIAMETER_COLUMNS = ("max_diameter", "mean_pair", "double_mean")
_GDI_COLUMNS = tuple(f"gdi_{i}{j}" for i in range(1, 7) for j in range(1, 4))


def _dunn_indices(*, generalized: bool) -> Terms:
    """Give the indices as scikit-learn would: of 2 clusters or more, and fewer than points."""
    n, k = pl.col("n"), pl.col("n_clusters")

    def index(separation: str, diameter: str) -> pl.Expr:
        quotient = ratio(pl.col(separation), pl.col(diameter))
        return pl.when((k >= 2) & (k < n)).then(quotient)

    pairs = [index(x, y) for x, y in product(_SEPARATION_COLUMNS, _DIAMETER_COLUMNS)]
    return {
        "dunn_index": index("min_separation", "max_diameter"),
        "centroid_dunn_index": index("least_gap", "max_diameter"),
        "max_diameter": pl.col("max_diameter"),
        "min_separation": pl.col("min_separation"),
        **dict(
            zip(
                _GDI_COLUMNS, pairs if generalized else [pl.lit(None, pl.Float64)] * 18, strict=True
            )
        ),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def cluster_diameters(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: str = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
) -> Frame:
    """Give the size and the diameter of each cluster: the largest distance of two of its points.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. A LazyFrame is read when the result is collected; its
        first row, and of a List column the greatest length, are looked up at once. All points are
        then in memory.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: all are) are left out.
    cluster : str or Expr
        The cluster assigned to a point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        scipy's distances, in any letter case. A zero vector has the cosine distance 1 to all.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        Makes no difference to diameters.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.
    weights : sequence of float, optional
        A number > 0 for each dimension, as in scipy; not for chebyshev.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition and cluster: the partition columns, cluster, n
        points and diameter, 0 for a single point. With noise_as 'singletons' each noise point has a
        row of its own, cluster NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    The diameter is exact, and most pairs are never measured: points r and s from the center are at
    most r + s apart. In high dimensions that tells little, and all pairs of a cluster are.
    In SQL: ``FROM clustereval.cluster_diameters(tbl, [x, y], cluster)``.

    Examples
    --------
    The two points furthest from each other decide:

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
    own = points.own_keys
    types = points.kept_rows.select(own).collect_schema()
    schema = pl.Schema(types | {"n": pl.Int64(), "diameter": pl.Float64()})
    rows = map_partitions(points, lambda part: _diameter_rows(part, points.distance), schema)
    return points.to_result(frame, rows, own)


def dunn_index(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: str = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
    generalized: bool = True,
) -> Frame:
    """Give Dunn's index, how far clusters are apart by how wide they are, in all its variants.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. A LazyFrame is read when the result is collected; its
        first row, and of a List column the greatest length, are looked up at once. All points are
        then in memory.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: all are) are left out.
    cluster : str or Expr
        The cluster assigned to a point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        scipy's distances, in any letter case. A zero vector has the cosine distance 1 to all.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        What a centroid is, by coordinate; for cosine the direction of that of the unit vectors. The
        median needs all points of a cluster in memory.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.
    weights : sequence of float, optional
        A number > 0 for each dimension, as in scipy; not for chebyshev.
    generalized : bool
        False leaves the columns gdi_11 … gdi_63 NULL, which take the distances of all pairs of
        points; dunn_index takes few of them.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row a partition, sorted by it: the partition columns, n points
        that count, n_dropped, n_noise, n_clusters, and

        * dunn_index = min_separation / max_diameter, Dunn's own;
        * centroid_dunn_index = least distance of two centroids / max_diameter, which others call
          Dunn's index too, and which is gdi_41;
        * max_diameter, the largest distance of two points of one cluster;
        * min_separation, the least distance of two points of different clusters;
        * gdi_ij = least δi of two clusters / largest Δj of a cluster. δ1 is the least distance of
          their points, δ2 the largest, δ3 the mean, δ4 that of the centroids, δ5 the mean distance
          of the points of both to their own centroid, δ6 the largest of a point to the other
          cluster's nearest (Hausdorff's). Δ1 is the diameter, Δ2 the mean distance of two points
          (0 for a single one), Δ3 twice the mean distance to the centroid.

        All indices are in [0, ∞), best high. They are NULL for one cluster, for as many as points,
        and where the diameter is 0; min_separation is NULL for one cluster.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    All is exact. With generalized=False most pairs are told apart by the triangle inequality, and
    never measured; in high dimensions that tells little.
    In SQL: ``FROM clustereval.dunn_index(tbl, [x, y], cluster)``.

    References
    ----------
    Dunn (1973), doi:10.1080/01969727308546046. Bezdek and Pal (1998), Some new indexes of cluster
    validity, doi:10.1109/3477.678624.

    Examples
    --------
    Two clusters whose gap is 6, the wider one 4 wide:

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
    extremes = map_partitions(
        points,
        lambda part: _extremes(part, points.distance, generalized=generalized),
        _EXTREMES_SCHEMA,
    )
    # one row without partitions, even if there are no points
    extremes = aggregate_by(
        extremes, points.partition_keys, {name: pl.col(name).max() for name in _EXTREMES_SCHEMA}
    )
    report = points.row_counts
    for other in (extremes, _center_totals(points)):
        report = join_partitions(report, points.partition_keys, other, how="left")
    rows = report.select(*points.keys, *_DUNN_COLUMNS[:4], **_dunn_indices(generalized=generalized))
    return points.to_result(frame, rows)


_DUNN_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_clusters"),
    *("dunn_index", "centroid_dunn_index", "max_diameter", "min_separation"),
    *_GDI_COLUMNS,
)
