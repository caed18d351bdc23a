"""mean_distances: how far a point is from the points of each cluster, on the average, in numpy.

Squared distances have exact means from the moments of a cluster alone. Those of other distances
lie between bounds that follow from the moments, and are worked out from the points only for the
clusters that the bounds leave: the own one, and those that can be the nearest other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .kernels.distance_blocks import CANCELLED, TargetPoints, distance_matrix, matrix_product
from .kernels.threads import run_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from .distances import Distance
    from .kernels.arrays import Cells, Floats, Integers
    from .kernels.partitions import Partition


class SecondMoments(NamedTuple):
    """Second moments of squared distances from a cluster's points; see `_Bounds.refined`."""

    covariances: Floats  # (k, d, d)
    skews: Floats  # (k, d): of |y - c|^2 with y
    tails: Floats  # (k,): variance of |y - c|^2

    @property
    def reaches(self) -> Floats:
        """The largest variance of a cluster in any direction."""
        known = np.isfinite(self.covariances).all(axis=(1, 2))
        reaches = np.full(len(self.covariances), np.inf)
        reaches[known] = np.linalg.eigvalsh(self.covariances[known])[:, -1]
        return reaches


class ClusterMoments(NamedTuple):
    """Moments of the k clusters of one partition, in the order of their keys."""

    sizes: Floats
    #: Means of the coordinates, of unit vectors for cosine.
    centers: Floats
    variances: Floats
    #: Mean distance to the center.
    widths: Floats
    #: Points that are zero vectors.
    zeros: Floats


class MeanDistances(NamedTuple):
    """For each point, bounds of the mean distances to its own cluster and to the nearest other.

    The number of that other is -1 where there is none; then it is NaN away.
    """

    a_lower: Floats
    a_upper: Floats
    b_lower: Floats
    b_upper: Floats
    neighbor: Integers

    @property
    def exact(self) -> bool:
        """Whether the bounds are one."""
        return self.a_lower is self.a_upper and self.b_lower is self.b_upper

    def silhouettes(self, sizes: Floats) -> tuple[Floats, Floats]:
        """Give bounds of the silhouettes of points in clusters of these sizes."""
        alone = sizes == 1
        lower = np.where(alone, 0.0, _silhouette_values(self.a_upper, self.b_lower))
        if self.exact:
            return lower, lower
        return lower, np.where(alone, 0.0, _silhouette_values(self.a_lower, self.b_upper))


def _silhouette_values(a: Floats, b: Floats) -> Floats:
    most = np.maximum(a, b)
    return np.divide(b - a, most, out=np.zeros_like(most), where=most != 0)


def cluster_moments(part: Partition, distance: Distance) -> ClusterMoments:
    """Give the moments of the clusters of a partition."""

    def moments(y: Floats) -> tuple[Any, ...]:
        # Less the first point, so that equal points have no variance.
        off = y - y[0]
        mean = off.mean(axis=0)
        off -= mean
        center = y[0] + mean
        of_norms = distance.name in ("chebyshev", "minkowski")
        width = distance_matrix(y, center[None], distance).mean() if of_norms else 0.0
        variance = np.einsum("ij,ij->j", off, off) / len(y)
        return len(y), center, variance, width, np.count_nonzero(~y.any(axis=1))

    of_clusters = run_in_threads(moments, part.members)
    return ClusterMoments(
        *(np.array(values, dtype=float) for values in zip(*of_clusters, strict=True))
    )


def second_moments(part: Partition, clusters: ClusterMoments) -> SecondMoments:
    """Give the second moments, cluster by cluster."""
    k, dims = clusters.centers.shape
    spread = SecondMoments(np.empty((k, dims, dims)), np.empty((k, dims)), np.empty(k))
    for i, points in enumerate(part.members):
        y = points - clusters.centers[i]
        squares = np.einsum("ij,ij->i", y, y)
        off = squares - squares.mean()
        spread.covariances[i] = y.T @ y / len(y)
        spread.skews[i] = off @ y / len(y)
        spread.tails[i] = off @ off / len(y)
    return spread


# ----------------------------------------------------------------------------------------------
# From the moments of the clusters
# ----------------------------------------------------------------------------------------------


class SquaredMeans:
    """Exact mean squared distances: to the center, and of the cluster from it.

    One column a point, one row a cluster: what is done for all points runs along the rows.
    """

    def __init__(self, clusters: ClusterMoments, distance: Distance) -> None:
        self._clusters = clusters
        self._of_units = distance.name == "cosine"
        square = np.einsum("ij,ij->i", clusters.centers, clusters.centers)
        # Nothing but rounding parts a point from the center of its equals.
        self._nothing = 1e-30 * square
        variances = clusters.variances.sum(axis=1)
        self._variances = np.where(variances < self._nothing, 0.0, variances)
        if self._of_units:
            # A zero vector has the distance 1 to all, where half its squared distance is 1/2.
            self._variances += clusters.zeros / clusters.sizes
        self._middle = clusters.centers.mean(axis=0)
        off = clusters.centers - self._middle
        self._factors = -2.0 * off
        self._constants = np.einsum("ij,ij->i", off, off) + self._variances

    def means(self, x: Floats, own: Integers, *, named: bool) -> MeanDistances:
        """Give what these points are to their own clusters and to the nearest others.

        The others are told only where they are to be `named`.
        """
        y = x.T - self._middle[:, None]
        square = np.einsum("ij,ij->j", y, y)
        # Less |x|^2, which all clusters have.
        means = matrix_product(self._factors, y)
        means += self._constants[:, None]
        zero = self._zeros_among(x)
        means[:, zero] = 2.0
        points = np.arange(len(x))
        a = means[own, points] + square
        means[own, points] = np.inf
        b = means.min(axis=0) + square
        neighbor = means.argmin(axis=0) if named else np.zeros(len(x), dtype=np.int64)
        # What loses its digits is worked out again, from the differences of the coordinates.
        limit = CANCELLED * (square + self._constants.max())
        near = np.flatnonzero(a < limit)
        a[near] = self._to_own(x[near], own[near])
        near = np.flatnonzero(b < limit)
        b[near], neighbor[near] = self._to_nearest(x[near], own[near])
        sizes = self._clusters.sizes[own]
        if self._of_units:
            a *= 0.5
            b *= 0.5
            # A zero vector has the distance 1 to all but itself.
            a[zero], b[zero] = 1.0 - 1.0 / sizes[zero], 1.0
        a = np.where(sizes == 1, 0.0, np.maximum(a, 0.0) * sizes / np.maximum(sizes - 1, 1))
        if len(self._constants) == 1:
            b, neighbor = np.full(len(x), np.nan), np.full(len(x), -1)
        return MeanDistances(a, a, b, b, neighbor)

    def _zeros_among(self, x: Floats) -> Integers:
        some = self._of_units and self._clusters.zeros.any()
        return np.flatnonzero(~x.any(axis=1)) if some else np.arange(0)

    def _to_own(self, x: Floats, own: Integers) -> Floats:
        off = x - self._clusters.centers[own]
        squares = np.einsum("ij,ij->i", off, off)
        return np.where(squares < self._nothing[own], 0.0, squares) + self._variances[own]

    def _to_nearest(self, x: Floats, own: Integers) -> tuple[Floats, Integers]:
        squares = np.zeros((len(x), len(self._constants)))
        for i in range(x.shape[1]):
            squares += (x[:, i, None] - self._clusters.centers[:, i]) ** 2
        means = np.where(squares < self._nothing, 0.0, squares) + self._variances
        points = np.arange(len(x))
        means[points, own] = np.inf
        neighbor = means.argmin(axis=1)
        return means[points, neighbor], neighbor


def simplified_means(
    x: Floats, own: Integers, sizes: Floats, centers: Floats, distance: Distance
) -> MeanDistances:
    """Give the distances to the centers in place of the mean distances."""
    means = distance_matrix(x, centers, distance)
    a = np.where(sizes[own] == 1, 0.0, take_own(means, own))
    return _nearest_means(a, means)


def take_own(means: Floats, own: Integers) -> Floats:
    """Take the own clusters' means out, so that the others are left."""
    rows = np.arange(len(means))
    a = means[rows, own]
    means[rows, own] = np.inf
    return a


def _nearest_means(a: Floats, means: Floats) -> MeanDistances:
    neighbor = means.argmin(axis=1)
    b = means[np.arange(len(means)), neighbor]
    none = np.isinf(b)
    b[none] = np.nan
    return MeanDistances(a, a, b, b, np.where(none, -1, neighbor))


# ----------------------------------------------------------------------------------------------
# From the points
# ----------------------------------------------------------------------------------------------


#: Points whose distances one call works out.
_POINTS_AT_A_TIME = 1024


#: Cells of the tables of cityblock, for each coordinate.
CELLS_OF_TABLE = 64


class DistanceSums:
    """Sums of the distances of points to all points of a cluster."""

    def __init__(self, part: Partition, distance: Distance) -> None:
        self.sizes = part.sizes.astype(float)
        self._distance = distance
        self._others = [TargetPoints(y, distance) for y in part.members]

    def of(self, x: Floats, points: Integers, clusters: Integers) -> Floats:
        """Give the sum for each pair of a point, by its number in x, and a cluster."""
        sums = np.empty(len(points))

        def add(number: int, points: Integers, pairs: Integers) -> None:
            sums[pairs] = self._summed(x[points], number)

        call_by_cluster(add, points, clusters, len(self.sizes), self._at_most)
        return sums

    def own(self, x: Floats, points: Integers, clusters: Integers) -> Floats:
        """Give the same where the clusters are the points' own."""
        return self.of(x, points, clusters)

    #: Points whose distances are summed at a time.
    _at_most: int | None = _POINTS_AT_A_TIME

    def _summed(self, x: Floats, number: int) -> Floats:
        """Add up the distances of all pairs."""
        return self._others[number].sums(x)


class SortedCoordinates:
    """The points of each cluster, coordinate by coordinate, from the least to the greatest."""

    def __init__(self, part: Partition) -> None:
        some = part.x[:: 1 + len(part.x) // 10_000]
        #: Of each coordinate one column, between which its cells lie.
        self.nodes = np.quantile(some, np.linspace(0, 1, CELLS_OF_TABLE + 1), axis=0)
        self.nodes[0], self.nodes[-1] = part.x.min(axis=0), part.x.max(axis=0)
        found = run_in_threads(self._sorted, part.members)
        #: For each cluster one row a coordinate.
        self.columns = [columns for columns, _, _ in found]
        #: For each point the sum of its cityblock distances to its own cluster.
        self.own = np.concatenate([np.zeros(0), *(own for _, own, _ in found)])
        none = np.zeros((part.x.shape[1], 0), np.uint8)
        #: For each point the cells that its coordinates are in, one row a coordinate.
        self.cells = np.hstack([none, *(cells for _, _, cells in found)])

    def _sorted(self, points: Floats) -> tuple[Floats, Floats, Cells]:
        columns, own = np.array(points.T, order="C"), np.zeros(len(points))
        cells = np.empty(columns.shape, np.uint8)
        for column, nodes, cell in zip(columns, self.nodes.T, cells, strict=True):
            order = sort_order(column)
            column[:] = column[order]
            own[order] += absolute_sums(column, column, np.arange(len(column)))
            ends = np.searchsorted(column, nodes[1:-1])
            counts = np.diff(ends, prepend=0, append=len(column))
            cell[order] = np.repeat(np.arange(CELLS_OF_TABLE, dtype=np.uint8), counts)
        return columns, own, cells


def sort_order(x: Floats) -> Integers:
    """Give the places of x from the least to the greatest.

    Numbers of 16 bits are sorted digit by digit, and what is nearly in order by a merge of runs:
    together they take a third of the time of a sort.
    """
    if not len(x):
        return np.arange(0)
    least = x.min()
    scale = 65535 / max(x.max() - least, np.finfo(float).tiny)
    if not np.isfinite(scale):
        return np.argsort(x, kind="stable")
    nearly = np.argsort(((x - least) * scale).astype(np.uint16), kind="stable")
    return np.asarray(nearly[np.argsort(x[nearly], kind="stable")])


def absolute_sums(y: Floats, x: Floats, below: Integers | None = None) -> Floats:
    """Give the sums of |x - y| over y, from its running sums; both are sorted.

    `below` is how many of y are, given equal ones may be counted or not.
    """
    # Less the middle one, so that equal numbers sum to 0, and one far away takes no digits.
    middle = y[len(y) // 2]
    running = np.concatenate([[0.0], np.cumsum(y - middle)])
    below = np.searchsorted(y, x) if below is None else below
    sums = (x - middle) * (2.0 * below - len(y)) + (running[-1] - 2.0 * running[below])
    return np.asarray(np.maximum(sums, 0.0))


class SortedDistanceSums(DistanceSums):
    """The same for cityblock: the sorted members' running sums tell the sum of any point."""

    def __init__(
        self, part: Partition, distance: Distance, points: SortedCoordinates, own: Floats
    ) -> None:
        super().__init__(part, distance)
        self._sorted = points
        self._own = own

    _at_most = None

    def own(self, x: Floats, points: Integers, clusters: Integers) -> Floats:  # noqa: ARG002
        return np.asarray(self._own[points])

    def _summed(self, x: Floats, number: int) -> Floats:
        sums = np.zeros(len(x))
        columns = np.ascontiguousarray(x.T)
        for column, members in zip(columns, self._sorted.columns[number], strict=True):
            # What is sorted is looked up four times as fast.
            order = sort_order(column)
            sums[order] += absolute_sums(members, column[order])
        return sums


def call_by_cluster(
    function: Callable[[int, Integers, Integers], None],
    points: Integers,
    clusters: Integers,
    count: int,
    at_most: int | None = None,
) -> None:
    """Call the function with each cluster, its points, and the places of these pairs.

    It is called for some points of a cluster at a time where `at_most` says so.
    """
    # Numbers of 16 bits are sorted digit by digit.
    order = np.argsort(clusters.astype(np.uint16) if count < 2**16 else clusters, kind="stable")
    ends = np.searchsorted(clusters[order], np.arange(count + 1))
    calls = [
        (number, order[start : min(start + (at_most or len(order)), ends[number + 1])])
        for number in range(count)
        for start in range(ends[number], ends[number + 1], at_most or max(1, len(order)))
    ]
    run_in_threads(lambda call: function(call[0], points[call[1]], call[1]), calls)
