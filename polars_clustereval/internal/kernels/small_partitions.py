"""small_partitions: statistics of many small partitions, computed from all pairwise distances.

For a small partition, a numpy call costs more than the computation itself, so each call here
processes all points of many partitions. A pair consists of two points i and j of the same
partition, and their order matters. A pair may also consist of a point and a cluster, or of two
clusters. Pairs are sorted so that those with the same first member are consecutive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import measured_pairs
from .arrays import expand_ranges, minkowski_lengths, zero_if_parallel

if TYPE_CHECKING:
    from polars_clustereval.internal.distances import Distance

    from .arrays import Booleans, Floats, Integers
    from .other_clusters import Between
    from .partitions import Partitions


# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


def pair_distances(x: Floats, i: Integers, y: Floats, j: Integers, distance: Distance) -> Floats:
    """Return the distances from x[i] to y[j] for q pairs of points in x (m, d) and y (n, d).

    For cosine distances, the points must be unit vectors. A zero vector has a cosine distance of 1
    from every point, including itself.
    """
    measured_pairs.on_measured(len(i))
    if distance.name in ("cityblock", "chebyshev"):
        combine = np.add if distance.name == "cityblock" else np.maximum
        total = np.zeros(len(i))
        for a, b in zip(x.T, y.T, strict=True):
            combine(total, np.abs(a[i] - b[j]), out=total)
        return total
    if distance.name == "minkowski":
        return minkowski_lengths(np.abs(x[i] - y[j]), distance.p)
    total = np.zeros(len(i))
    for a, b in zip(x.T, y.T, strict=True):
        total += (a[i] - b[j]) ** 2
    if distance.name == "euclidean":
        return np.sqrt(total, out=total)
    if distance.name == "cosine":
        total /= 2
        zero_if_parallel(total)
        is_zero = np.logical_not(np.any(x, axis=1)), np.logical_not(np.any(y, axis=1))
        total[is_zero[0][i] | is_zero[1][j]] = 1.0
    return total


# ----------------------------------------------------------------------------------------------
# Points and clusters
# ----------------------------------------------------------------------------------------------


class PointClusterPairs(NamedTuple):
    """The distances for q pairs of a point and a cluster of its partition, also its own."""

    #: (q,): the indices of the points and of the clusters, which are numbered across all
    #: partitions.
    point: Integers
    cluster: Integers
    #: (q,): the extremes and the sum of the distances from the point of a pair to the points of its
    #: cluster. The distance of a point to itself is 0.
    least: Floats
    most: Floats
    total: Floats


def measure_points(parts: Partitions, queries: Integers, distance: Distance) -> PointClusterPairs:
    """Return the distances from the queries to all clusters of their partitions."""
    partition = np.repeat(np.arange(len(parts.counts)), parts.counts)[queries]
    starts = parts.partition_starts
    query, j = expand_ranges(starts[partition], starts[partition + 1])
    i = queries[query]
    d = pair_distances(parts.x, i, parts.x, j, distance)
    d[i == j] = 0.0
    cluster = parts.numbers[j]
    cuts = run_cuts(i, cluster)
    extremes = (reduce.reduceat(d, cuts) for reduce in (np.minimum, np.maximum, np.add))
    return PointClusterPairs(i[cuts], cluster[cuts], *extremes)


def run_cuts(*columns: Integers | Floats) -> Integers:
    """Return 0 and every index at which a row of the columns differs from the previous row."""
    differs = np.zeros(len(columns[0]), dtype=bool)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)


class OwnAndOtherMeans(NamedTuple):
    """Mean distances (m,) from m points to their own clusters and to other clusters."""

    own: Floats
    #: NaN if there is no other cluster.
    other: Floats
    #: Index of the cluster to which `other` is the distance (the lowest in a tie); -1 if there is
    #: no other cluster, or if `other` is a mean over several clusters.
    neighbor: Integers


def own_and_other_means(
    parts: Partitions, queries: Integers, distance: Distance, between: Between
) -> OwnAndOtherMeans:
    """Return the mean distances from the queries, with indices in ascending order, to clusters.

    The mean distance to the own cluster is that to its other points, or 0 if there are none.
    """
    pairs = measure_points(parts, queries, distance)
    sizes, numbers = parts.sizes, parts.numbers
    is_own = pairs.cluster == numbers[pairs.point]
    own = pairs.total[is_own] / np.maximum(sizes[numbers[queries]] - 1, 1)
    cuts = run_cuts(pairs.point)
    if between == "mean_other":
        totals, counts = (
            np.add.reduceat(np.where(is_own, 0, values), cuts)
            for values in (pairs.total, sizes[pairs.cluster])
        )
        other = np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0)
        return OwnAndOtherMeans(own, other, np.full(len(queries), -1))
    # The furthest cluster is the nearest if the sign of the distances is changed.
    totals = -pairs.total if between == "furthest" else pairs.total
    means = np.where(is_own, np.inf, totals / sizes[pairs.cluster])
    other = np.minimum.reduceat(means, cuts)
    place = np.repeat(np.arange(len(cuts)), np.diff(cuts, append=len(means)))
    neighbor = np.full(len(queries), -1)
    # Of equally near clusters, the lowest is chosen, because the last assignment counts.
    nearest = np.flatnonzero((means == other[place]) & ~is_own)[::-1]
    neighbor[place[nearest]] = pairs.cluster[nearest]
    return OwnAndOtherMeans(own, np.where(neighbor < 0, np.nan, np.abs(other)), neighbor)


# ----------------------------------------------------------------------------------------------
# Pairs of clusters
# ----------------------------------------------------------------------------------------------


class _ClusterPairs(NamedTuple):
    """All ordered pairs of clusters in the same partition, including each cluster with itself."""

    #: (q,): the indices of the two clusters, which are numbered across all partitions.
    one: Integers
    other: Integers
    #: (q,): the position of the same pair in the other order.
    reverse: Integers
    #: (partitions,): where the pairs of each partition start.
    starts: Integers

    @property
    def is_own(self) -> Booleans:
        """Whether each pair (q,) consists of a cluster and itself."""
        return np.asarray(self.one == self.other)

    def most_of_own(self, values: Floats) -> Floats:
        """Return each partition's largest of the values (q,) of pairs of a cluster and itself."""
        return np.maximum.reduceat(np.where(self.is_own, values, -np.inf), self.starts)

    def least_of_others(self, values: Floats) -> Floats:
        """Return each partition's smallest of the values (q,) of different clusters, or NaN."""
        least = np.minimum.reduceat(np.where(self.is_own, np.inf, values), self.starts)
        has_others = np.diff(self.starts, append=len(values)) > 1
        return np.where(has_others, least, np.nan)


def _pair_clusters(parts: Partitions) -> _ClusterPairs:
    """Return the pairs of clusters of each partition, which must contain at least one point."""
    counts = np.diff(parts.cluster_cuts)
    first = np.repeat(parts.cluster_cuts[:-1], counts)
    size = np.repeat(counts, counts)
    one, other = expand_ranges(first, first + size)
    squares = counts * counts
    starts = np.cumsum(squares) - squares
    origin = np.repeat(starts, counts)[one]
    reverse = origin + (other - first[one]) * size[one] + one - first[one]
    return _ClusterPairs(one, other, reverse, starts)


def diameters_of_many(parts: Partitions, distance: Distance) -> Floats:
    """Return the largest distance between two points of each cluster."""
    numbers = parts.numbers
    i, j = expand_ranges(parts.starts[numbers], parts.starts[numbers + 1])
    d = pair_distances(parts.x, i, parts.x, j, distance)
    d[i == j] = 0.0
    return np.maximum.reduceat(d, run_cuts(numbers[i]))


def pair_statistics(
    parts: Partitions, centers: Floats | None, distance: Distance
) -> dict[str, Floats]:
    """Return the diameters and separations that dunn_index needs, with one value per partition.

    Only max_diameter and min_separation are returned without the centers (k, d). The separations of
    a partition with a single cluster are NaN.
    """
    points = measure_points(parts, np.arange(len(parts.x)), distance)
    clusters, one = _pair_clusters(parts), parts.numbers[points.point]
    order = np.lexsort((points.cluster, one))
    cuts = run_cuts(one[order], points.cluster[order])
    least, most, total = points.least[order], points.most[order], points.total[order]
    diameters = np.maximum.reduceat(most, cuts)
    statistics = {
        "max_diameter": clusters.most_of_own(diameters),
        "min_separation": clusters.least_of_others(np.minimum.reduceat(least, cuts)),
    }
    if centers is None:
        return statistics
    n, other_n = parts.sizes[clusters.one], parts.sizes[clusters.other]
    totals, farthest = np.add.reduceat(total, cuts), np.maximum.reduceat(least, cuts)
    to_center = pair_distances(parts.x, points.point, centers, points.cluster, distance)
    to_centers = np.add.reduceat(to_center[order], cuts)
    both = to_centers + to_centers[clusters.reverse]
    hausdorff = np.maximum(farthest, farthest[clusters.reverse])
    return statistics | {
        "max_mean_pair": clusters.most_of_own(totals / np.maximum(n * (n - 1), 1)),
        "min_complete_linkage": clusters.least_of_others(diameters),
        "min_average_linkage": clusters.least_of_others(totals / (n * other_n)),
        "min_mean_to_other_center": clusters.least_of_others(both / (n + other_n)),
        "min_hausdorff": clusters.least_of_others(hausdorff),
    }
