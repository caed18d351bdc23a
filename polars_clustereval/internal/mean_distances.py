"""mean_distances: mean distances of points to their own cluster (a) and to the nearest other (b).

Squared distances have exact means from the moments of the clusters alone. Those of other distances
lie between bounds that follow from the moments (mean_distance_bounds), and are computed from the
points only for the clusters that the bounds leave: the own one, and those that can be the nearest
other.

x (m, d) are the points whose means are computed, own_cluster (m,) the numbers of their clusters
among the k clusters of the partition, y (n, d) the points of one cluster, and sizes (k,) the
numbers of points of the clusters.
"""

from __future__ import annotations

from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.frames import join_small

from .kernels.distance_blocks import (
    CANCELLATION_LIMIT,
    TargetPoints,
    distance_matrix,
    matrix_product,
)
from .kernels.streams import map_stream
from .kernels.threads import run_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from .centroids import Points
    from .distances import Distance
    from .kernels.arrays import Floats, Integers, SmallIntegers
    from .kernels.partitions import Partition


SILHOUETTE_COLUMNS = ("a", "b", "lower", "upper")


class MeanDistances(NamedTuple):
    """Bounds of a and b (see the module) for each of m points, all (m,).

    neighbor, the number of the nearest other cluster, is -1 and b is NaN if there is no other.
    """

    a_lower: Floats
    a_upper: Floats
    b_lower: Floats
    b_upper: Floats
    neighbor: Integers

    @property
    def is_exact(self) -> bool:
        """Whether lower and upper bound coincide."""
        return self.a_lower is self.a_upper and self.b_lower is self.b_upper

    def silhouettes(self, sizes: Floats) -> tuple[Floats, Floats]:
        """Return bounds (m,) of the silhouettes, given the sizes (m,) of the own clusters."""
        alone = sizes == 1
        lower = np.where(alone, 0.0, _silhouette_values(self.a_upper, self.b_lower))
        if self.is_exact:
            return lower, lower
        return lower, np.where(alone, 0.0, _silhouette_values(self.a_lower, self.b_upper))

    def silhouette_columns(self, sizes: Floats, own_cluster: Integers) -> Floats:
        """Return the values (4, m) of SILHOUETTE_COLUMNS, NaN where there is no value.

        `sizes` (k,) are those of the clusters; own_cluster (m,) holds numbers of clusters.
        """
        lower, upper = self.silhouettes(sizes[own_cluster])
        if not 2 <= len(sizes) < sizes.sum():
            lower = upper = np.full(len(own_cluster), np.nan)
        a, b = self.a_lower, self.b_lower
        if not self.is_exact:
            exact = (a == self.a_upper) & ~(b < self.b_upper)
            a, b = np.where(exact, a, np.nan), np.where(exact, b, np.nan)
        return np.stack([a, b, lower, upper])


def _silhouette_values(a: Floats, b: Floats) -> Floats:
    """Return (b - a) / max(a, b), 0 if both are 0."""
    largest = np.maximum(a, b)
    return np.divide(b - a, largest, out=np.zeros_like(largest), where=largest != 0)


# ----------------------------------------------------------------------------------------------
# Moments of clusters
# ----------------------------------------------------------------------------------------------


class ClusterMoments(NamedTuple):
    """Moments of the k clusters of one partition, in the order of their keys."""

    #: (k,)
    sizes: Floats
    #: (k, d): means of the coordinates, of unit vectors for cosine.
    means: Floats
    #: (k, d): variances of the coordinates.
    variances: Floats
    #: (k,): mean distance of the points to the mean.
    mean_distances: Floats
    #: (k,): number of points that are zero vectors.
    n_zero_vectors: Floats


class SecondMoments(NamedTuple):
    """Moments of the squared distances of a cluster's points y from the cluster's mean c."""

    #: (k, d, d): covariances of y.
    covariances: Floats
    #: (k, d): covariances of |y - c|^2 with y.
    skews: Floats
    #: (k,): variance of |y - c|^2.
    tails: Floats

    @property
    def largest_variances(self) -> Floats:
        """(k,): largest variance of each cluster in any direction."""
        finite = np.isfinite(self.covariances).all(axis=(1, 2))
        largest = np.full(len(self.covariances), np.inf)
        largest[finite] = np.linalg.eigvalsh(self.covariances[finite])[:, -1]
        return largest


def cluster_moments(part: Partition, distance: Distance) -> ClusterMoments:
    """Return the moments of the clusters of a partition, from its points."""
    needs_distances = distance.name in ("chebyshev", "minkowski")

    def moments(y: Floats) -> tuple[Any, ...]:
        """Return the fields of ClusterMoments for the points y of one cluster."""
        # Relative to the first point, equal points have variance 0 exactly.
        deviations = y - y[0]
        mean = deviations.mean(axis=0)
        deviations -= mean
        center = y[0] + mean
        mean_distance = (
            distance_matrix(y, center[None], distance).mean() if needs_distances else 0.0
        )
        variances = np.einsum("ij,ij->j", deviations, deviations) / len(y)
        return len(y), center, variances, mean_distance, np.count_nonzero(~y.any(axis=1))

    by_cluster = run_in_threads(moments, part.members)
    return ClusterMoments(
        *(np.array(values, dtype=float) for values in zip(*by_cluster, strict=True))
    )


def second_moments(part: Partition, clusters: ClusterMoments) -> SecondMoments:
    """Return the second moments of the clusters of a partition, from its points."""
    k, dims = clusters.means.shape
    moments = SecondMoments(np.empty((k, dims, dims)), np.empty((k, dims)), np.empty(k))
    for i, points in enumerate(part.members):
        y = points - clusters.means[i]
        squares = np.einsum("ij,ij->i", y, y)
        deviations = squares - squares.mean()
        moments.covariances[i] = y.T @ y / len(y)
        moments.skews[i] = deviations @ y / len(y)
        moments.tails[i] = deviations @ deviations / len(y)
    return moments


class PartitionMoments(NamedTuple):
    """Moments of the k clusters of one partition, numbered from `start` among all clusters."""

    start: int
    clusters: ClusterMoments
    #: (k, d): as the distance takes them, directions for cosine.
    centers: Floats
    second: SecondMoments | None


def stream_moments(
    points: Points, *, with_second: bool
) -> tuple[pl.DataFrame, list[PartitionMoments]]:
    """Return the clusters of all partitions, one row each with its number, and their moments.

    The moments come from the centers of the points; second moments take one more streaming pass.
    """
    clusters = points.clusters.drop("number")
    if points.distance.name != "cosine":
        clusters = clusters.with_columns(zeros=pl.lit(0))
    numbered = clusters.sort(points.cluster_keys, nulls_last=True).with_row_index("number")
    table = numbered.with_columns(pl.col("number").cast(pl.Int64)).collect(engine="streaming")
    keys = points.partition_keys
    parts = table.partition_by(keys, maintain_order=True) if keys else [table]
    moments = [_collected_moments(points, part) for part in parts if part.height]
    if with_second:
        moments = _add_second_moments(points, table, moments)
    return table, moments


def _collected_moments(points: Points, part: pl.DataFrame) -> PartitionMoments:
    """Return the moments of a partition from the rows of its clusters."""

    def vectors(prefix: str) -> Floats:
        """Return the vectors (k, d) of this prefix, such as the centers, one per cluster."""
        return points.form.to_matrix(part, prefix)

    def column(name: str) -> Floats:
        return part[name].cast(pl.Float64).to_numpy()

    clusters = ClusterMoments(
        sizes=column("size"),
        means=vectors("m"),
        variances=vectors("v"),
        mean_distances=column("mean_distance"),
        n_zero_vectors=column("zeros"),
    )
    return PartitionMoments(part["number"][0], clusters, vectors("c"), None)


def join_cluster_numbers(rows: pl.LazyFrame, by: list[str], table: pl.DataFrame) -> pl.LazyFrame:
    """Return the rows with the number of their cluster, found in the table by the columns `by`."""
    return join_small(rows, by, table.lazy().select(*by, "number"))


def _add_second_moments(
    points: Points, table: pl.DataFrame, moments: list[PartitionMoments]
) -> list[PartitionMoments]:
    """Return the moments with second moments, from another pass over the points."""
    sums = _SecondMomentSums(moments, points.form.dims)

    def add(batch: pl.DataFrame) -> pl.DataFrame:
        with np.errstate(all="ignore"):
            sums.add(points.form.to_matrix(batch, "x"), batch["number"].to_numpy())
        return batch.select("number").clear()

    rows = points.kept_rows.select(*points.cluster_keys, *points.vector_columns("x"))
    numbered = join_cluster_numbers(rows, points.cluster_keys, table)
    nothing = map_stream(numbered, add, pl.Schema({"number": pl.Int64()}))
    nothing.collect(engine="streaming")
    return sums.add_to_moments()


class _SecondMomentSums:
    """Sums of products over the points of each cluster, added batch by batch from any thread."""

    def __init__(self, moments: list[PartitionMoments], dims: int) -> None:
        self._moments = moments
        self._sizes = np.concatenate([np.zeros(0), *(m.clusters.sizes for m in moments)])
        self._means = np.concatenate([np.zeros((0, dims)), *(m.clusters.means for m in moments)])
        total_variances = [m.clusters.variances.sum(axis=1) for m in moments]
        self._total_variances = np.concatenate([np.zeros(0), *total_variances])
        k = len(self._means)
        self._sums = SecondMoments(np.zeros((k, dims, dims)), np.zeros((k, dims)), np.zeros(k))
        self._lock = Lock()

    def add(self, x: Floats, numbers: Integers) -> None:
        """Add points x (m, d), given the numbers (m,) of their clusters."""
        order = np.argsort(numbers, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(numbers[order], prepend=-1)), len(order))
        for start, end in pairwise(ends):
            number = numbers[order[start]]
            y = x[order[start:end]] - self._means[number]
            deviations = np.einsum("ij,ij->i", y, y) - self._total_variances[number]
            products = y.T @ y, deviations @ y, deviations @ deviations
            with self._lock:
                for total, part in zip(self._sums, products, strict=True):
                    total[number] += part

    def add_to_moments(self) -> list[PartitionMoments]:
        """Return the moments of all partitions, with second moments from the sums."""
        with_second = []
        for moments in self._moments:
            rows = slice(moments.start, moments.start + len(moments.centers))
            covariances, skews, tails = (total[rows] for total in self._sums)
            n = self._sizes[rows]
            second = SecondMoments(covariances / n[:, None, None], skews / n[:, None], tails / n)
            with_second.append(moments._replace(second=second))
        return with_second


# ----------------------------------------------------------------------------------------------
# Exact means from the moments
# ----------------------------------------------------------------------------------------------


class SquaredMeans:
    """Exact mean squared distances: to the cluster's mean, plus the cluster's total variance.

    Matrices are (k, m), one row per cluster and one column per point: operations on all points run
    along the rows.
    """

    def __init__(self, clusters: ClusterMoments, distance: Distance) -> None:
        self._clusters = clusters
        self._is_cosine = distance.name == "cosine"
        # Squared distances below this are rounding error.
        self._square_errors = 1e-30 * np.einsum("ij,ij->i", clusters.means, clusters.means)
        variances = clusters.variances.sum(axis=1)
        self._total_variances = np.where(variances < self._square_errors, 0.0, variances)
        if self._is_cosine:
            # A zero vector has the distance 1 to all, where half its squared distance is 1/2.
            self._total_variances += clusters.n_zero_vectors / clusters.sizes
        self._origin = clusters.means.mean(axis=0)
        offsets = clusters.means - self._origin
        self._factors = -2.0 * offsets
        self._constants = np.einsum("ij,ij->i", offsets, offsets) + self._total_variances

    def means(self, x: Floats, own_cluster: Integers, *, with_neighbor: bool) -> MeanDistances:
        """Return the mean distances of points x (m, d) with clusters own_cluster (m,).

        The neighbor is meaningless unless asked for, which takes longer.
        """
        y = x.T - self._origin[:, None]
        squares = np.einsum("ij,ij->j", y, y)
        # Without |x|^2, which is the same for all clusters.
        means = matrix_product(self._factors, y)
        means += self._constants[:, None]
        zero = self._zero_vectors(x)
        means[:, zero] = 2.0
        points = np.arange(len(x))
        a = means[own_cluster, points] + squares
        means[own_cluster, points] = np.inf
        b = means.min(axis=0) + squares
        neighbor = means.argmin(axis=0) if with_neighbor else np.zeros(len(x), dtype=np.int64)
        # What lost its digits to cancellation is recomputed from differences of coordinates.
        limit = CANCELLATION_LIMIT * (squares + self._constants.max())
        cancelled = np.flatnonzero(a < limit)
        a[cancelled] = self._recompute_own(x[cancelled], own_cluster[cancelled])
        cancelled = np.flatnonzero(b < limit)
        b[cancelled], neighbor[cancelled] = self._recompute_nearest(
            x[cancelled], own_cluster[cancelled]
        )
        sizes = self._clusters.sizes[own_cluster]
        if self._is_cosine:
            a *= 0.5
            b *= 0.5
            # A zero vector has the distance 1 to all but itself.
            a[zero], b[zero] = 1.0 - 1.0 / sizes[zero], 1.0
        a = exclude_self(np.maximum(a, 0.0), sizes)
        if len(self._constants) == 1:
            b, neighbor = np.full(len(x), np.nan), np.full(len(x), -1)
        return MeanDistances(a, a, b, b, neighbor)

    def _zero_vectors(self, x: Floats) -> Integers:
        """Return the numbers of the points that are zero vectors, for cosine."""
        possible = self._is_cosine and self._clusters.n_zero_vectors.any()
        return np.flatnonzero(~x.any(axis=1)) if possible else np.arange(0)

    def _recompute_own(self, x: Floats, own_cluster: Integers) -> Floats:
        """Return the mean squared distances (m,) to the own clusters, from differences."""
        offsets = x - self._clusters.means[own_cluster]
        squares = np.einsum("ij,ij->i", offsets, offsets)
        squares = np.where(squares < self._square_errors[own_cluster], 0.0, squares)
        return squares + self._total_variances[own_cluster]

    def _recompute_nearest(self, x: Floats, own_cluster: Integers) -> tuple[Floats, Integers]:
        """Return the least means (m,) to other clusters, from differences, and these clusters."""
        squares = np.zeros((len(x), len(self._constants)))
        for i in range(x.shape[1]):
            squares += (x[:, i, None] - self._clusters.means[:, i]) ** 2
        means = np.where(squares < self._square_errors, 0.0, squares) + self._total_variances
        points = np.arange(len(x))
        means[points, own_cluster] = np.inf
        neighbor = means.argmin(axis=1)
        return means[points, neighbor], neighbor


def exclude_self(means: Floats, sizes: Floats) -> Floats:
    """Return mean distances to the other points of the own cluster, 0 if there are none.

    `means` (m,) are those to all its points, the point itself included; `sizes` (m,) its size.
    """
    return np.where(sizes == 1, 0.0, means * sizes / np.maximum(sizes - 1, 1))


def simplified_means(
    x: Floats, own_cluster: Integers, sizes: Floats, centers: Floats, distance: Distance
) -> MeanDistances:
    """Return distances of points x (m, d) to the centers (k, d) in place of mean distances."""
    means = distance_matrix(x, centers, distance)
    a = np.where(sizes[own_cluster] == 1, 0.0, take_own_means(means, own_cluster))
    neighbor = means.argmin(axis=1)
    b = means[np.arange(len(means)), neighbor]
    alone = np.isinf(b)
    b[alone] = np.nan
    return MeanDistances(a, a, b, b, np.where(alone, -1, neighbor))


def take_own_means(means: Floats, own_cluster: Integers) -> Floats:
    """Return the own clusters' entries (m,) of means (m, k), and set them to infinity there."""
    points = np.arange(len(means))
    a = means[points, own_cluster]
    means[points, own_cluster] = np.inf
    return a


# ----------------------------------------------------------------------------------------------
# Sums of distances to the points of a cluster
# ----------------------------------------------------------------------------------------------


_POINTS_PER_CALL = 1024


#: Intervals of the tables of cityblock, for each coordinate.
N_INTERVALS = 64


class DistanceSums:
    """Sums of the distances of points to all points of a cluster of one partition."""

    def __init__(self, part: Partition, distance: Distance) -> None:
        self.sizes = part.sizes.astype(float)
        self._targets = [TargetPoints(y, distance) for y in part.members]

    def pair_sums(self, x: Floats, points: Integers, clusters: Integers) -> Floats:
        """Return the sum of distances for each pair of a point and a cluster, (pairs,).

        A pair is a row number of x in `points` and a cluster number in `clusters`.
        """
        sums = np.empty(len(points))

        def add(number: int, points: Integers, pairs: Integers) -> None:
            sums[pairs] = self._cluster_sums(x[points], number)

        call_by_cluster(
            add, points, clusters, len(self.sizes), points_per_call=self._points_per_call
        )
        return sums

    def own_sums(self, x: Floats, points: Integers, clusters: Integers) -> Floats:
        """Return pair_sums for `clusters` that are the points' own."""
        return self.pair_sums(x, points, clusters)

    _points_per_call: int | None = _POINTS_PER_CALL

    def _cluster_sums(self, x: Floats, number: int) -> Floats:
        """Return the sums (m,) of the distances of x to all points of a cluster."""
        return self._targets[number].sums(x)


class SortedCoordinates:
    """Coordinates of the points of each cluster, each coordinate sorted by itself."""

    def __init__(self, part: Partition) -> None:
        sample = part.x[:: 1 + len(part.x) // 10_000]
        #: (N_INTERVALS + 1, d): the ends of the intervals of each coordinate.
        self.nodes = np.quantile(sample, np.linspace(0, 1, N_INTERVALS + 1), axis=0)
        self.nodes[0], self.nodes[-1] = part.x.min(axis=0), part.x.max(axis=0)
        by_cluster = run_in_threads(self._sort, part.members)
        #: For each cluster (d, n).
        self.columns = [columns for columns, _, _ in by_cluster]
        #: (m,): sum of the cityblock distances of each point to its own cluster.
        self.own_sums = np.concatenate([np.zeros(0), *(sums for _, sums, _ in by_cluster)])
        none = np.zeros((part.x.shape[1], 0), np.uint8)
        #: (d, m): the interval of each coordinate of each point.
        self.intervals = np.hstack([none, *(intervals for _, _, intervals in by_cluster)])

    def _sort(self, points: Floats) -> tuple[Floats, Floats, SmallIntegers]:
        """Return the sorted columns of a cluster's points, their own sums and their intervals."""
        columns, sums = np.array(points.T, order="C"), np.zeros(len(points))
        intervals = np.empty(columns.shape, np.uint8)
        for column, nodes, interval in zip(columns, self.nodes.T, intervals, strict=True):
            order = sort_order(column)
            column[:] = column[order]
            sums[order] += absolute_sums(column, column, np.arange(len(column)))
            ends = np.searchsorted(column, nodes[1:-1])
            counts = np.diff(ends, prepend=0, append=len(column))
            interval[order] = np.repeat(np.arange(N_INTERVALS, dtype=np.uint8), counts)
        return columns, sums, intervals


def sort_order(x: Floats) -> Integers:
    """Return the order that sorts x, as argsort does.

    Integers of 16 bits are sorted by radix, and what is nearly sorted by a merge of runs: together
    they take a third of the time of a sort.
    """
    if not len(x):
        return np.arange(0)
    least = x.min()
    scale = 65535 / max(x.max() - least, np.finfo(float).tiny)
    if not np.isfinite(scale):
        return np.argsort(x, kind="stable")
    rough_order = np.argsort(((x - least) * scale).astype(np.uint16), kind="stable")
    return np.asarray(rough_order[np.argsort(x[rough_order], kind="stable")])


def absolute_sums(y: Floats, x: Floats, below: Integers | None = None) -> Floats:
    """Return for each number x the sum of |x - y| over the numbers y, from running sums of y.

    Both x and y are sorted. `below` holds, for each x, how many y are less than x, where y equal to
    x may count or not; it is searched for if it is None.
    """
    # Relative to the median, equal numbers sum to 0 exactly, and an outlier costs no digits.
    middle = y[len(y) // 2]
    running = np.concatenate([[0.0], np.cumsum(y - middle)])
    below = np.searchsorted(y, x) if below is None else below
    sums = (x - middle) * (2.0 * below - len(y)) + (running[-1] - 2.0 * running[below])
    return np.asarray(np.maximum(sums, 0.0))


class SortedDistanceSums(DistanceSums):
    """DistanceSums for cityblock, from running sums of the sorted coordinates."""

    def __init__(
        self, part: Partition, distance: Distance, coordinates: SortedCoordinates, own_sums: Floats
    ) -> None:
        super().__init__(part, distance)
        self._coordinates = coordinates
        self._own_sums = own_sums

    _points_per_call = None

    def own_sums(self, x: Floats, points: Integers, clusters: Integers) -> Floats:  # noqa: ARG002
        """Return the sums to the own clusters, which sorting the clusters has computed."""
        return np.asarray(self._own_sums[points])

    def _cluster_sums(self, x: Floats, number: int) -> Floats:
        """Return the sums (m,) of the cityblock distances of x to all points of a cluster."""
        sums = np.zeros(len(x))
        columns = np.ascontiguousarray(x.T)
        for column, members in zip(columns, self._coordinates.columns[number], strict=True):
            # Sorted numbers are looked up four times as fast.
            order = sort_order(column)
            sums[order] += absolute_sums(members, column[order])
        return sums


def call_by_cluster(
    function: Callable[[int, Integers, Integers], None],
    points: Integers,
    clusters: Integers,
    n_clusters: int,
    *,
    points_per_call: int | None = None,
) -> None:
    """Call the function once for each cluster, with the pairs of a point and that cluster.

    `points` and `clusters` hold the numbers of each pair. The function gets the cluster's number,
    the points of its pairs, and the places of the pairs in the arrays; at most `points_per_call` at
    a time.
    """
    # Integers of 16 bits are sorted by radix.
    keys = clusters.astype(np.uint16) if n_clusters < 2**16 else clusters
    order = np.argsort(keys, kind="stable")
    ends = np.searchsorted(clusters[order], np.arange(n_clusters + 1))
    calls = [
        (number, order[start : min(start + (points_per_call or len(order)), ends[number + 1])])
        for number in range(n_clusters)
        for start in range(ends[number], ends[number + 1], points_per_call or max(1, len(order)))
    ]
    run_in_threads(lambda call: function(call[0], points[call[1]], call[1]), calls)
