"""center_neighbors: statistics of the distances of points to all centers, as the points stream by.

Only sums by cluster, and counts by pair of clusters, are kept; not the distances.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .arrays import expand_range_blocks
from .small_partitions import pair_distances

if TYPE_CHECKING:
    from polars_clustereval.internal.distances import Distance

    from .arrays import Floats, Integers

#: Pairs of a point and a center measured at a time: few arrays of this length fit into the cache.
PAIRS_PER_BLOCK = 2**16


class CenterNeighbors:
    """Sums over the points of k clusters, in several partitions, of terms of their distances.

    Clusters are numbered from 0 through all partitions, those of a partition one after the other.
    Batches of points may be added from any thread.
    """

    def __init__(
        self, centers: Floats, starts: Integers, distance: Distance, radii: Floats | None
    ) -> None:
        """Start without points: `centers` (k, d) are those of the clusters.

        `starts` (q + 1,) are the numbers of the first cluster of each partition, and k. radii (q,)
        are the distances up to which a point counts as near, None to count none: the points are
        then counted that are near a center of their partition, or the midpoint of two.
        """
        self._centers, self._starts, self._distance = centers, starts, distance
        counts = np.diff(starts)
        self._first, self._stop = np.repeat(starts[:-1], counts), np.repeat(starts[1:], counts)
        #: Where the pairs of each cluster with those of its partition start, as own, other.
        self._pair_starts = np.concatenate([[0], np.cumsum(np.repeat(counts, counts))])
        self._radii = None if radii is None else np.repeat(radii, counts)
        k, n_pairs = len(centers), 0 if radii is None else int(self._pair_starts[-1])
        self._near_center, self._near_midpoint = np.zeros((2, n_pairs), dtype=np.int32)
        self._sizes, self._terms = np.zeros((2, k))
        self._at_other, self._at_both = np.zeros((2, k), dtype=bool)
        self._lock = Lock()
        self._is_stopped = False

    def stop(self) -> None:
        """Make `add` raise an error soon, in whatever thread it runs."""
        self._is_stopped = True

    def add(self, x: Floats, numbers: Integers) -> None:
        """Add the points x (m, d) of the clusters of these numbers (m,)."""
        k, points = len(self._centers), np.arange(len(x))
        own = pair_distances(x, points, self._centers, numbers, self._distance)
        nearest = self._add_pairs(x, numbers)
        is_at_other = (nearest == 0) & (own > 0)
        is_at_both = (nearest == 0) & (own == 0)
        terms = np.where(nearest > 0, 1 - own / np.where(nearest > 0, nearest, 1.0), 0.0)
        with self._lock:
            self._sizes += np.bincount(numbers, minlength=k)
            self._terms += np.bincount(numbers, weights=terms, minlength=k)
            self._at_other[numbers[is_at_other]] = True
            self._at_both[numbers[is_at_both]] = True

    def _add_pairs(self, x: Floats, numbers: Integers) -> Floats:
        """Count the nearby points, and return the distance (m,) to the nearest other center.

        It is infinite without another cluster.
        """
        nearest = np.full(len(x), np.inf)
        first, stop = self._first[numbers], self._stop[numbers]
        for i, j in expand_range_blocks(first, stop, PAIRS_PER_BLOCK):
            if self._is_stopped:
                raise InterruptedError
            own = numbers[i]
            d = pair_distances(x, i, self._centers, j, self._distance)
            if self._radii is not None:
                self._count_nearby(x, i, own, j)
            d[j == own] = np.inf
            cuts = np.flatnonzero(np.diff(i, prepend=-1))
            nearest[i[cuts]] = np.minimum.reduceat(d, cuts)
        return nearest

    def _count_nearby(self, x: Floats, i: Integers, own: Integers, other: Integers) -> None:
        """Count the points x[i], of clusters `own` (q,), near the centers `other` and midpoints."""
        assert self._radii is not None
        euclidean = self._distance._replace(name="euclidean")
        pairs = self._pair_starts[own] + other - self._first[own]
        midpoints = (self._centers[own] + self._centers[other]) / 2
        to_midpoint = pair_distances(x, i, midpoints, np.arange(len(i)), euclidean)
        to_center = pair_distances(x, i, self._centers, other, euclidean)
        radius = self._radii[own]
        with self._lock:
            np.add.at(self._near_center, pairs[to_center <= radius], 1)
            np.add.at(self._near_midpoint, pairs[to_midpoint <= radius], 1)

    def wemmert_gancarski(self) -> Floats:
        """Return the index of Wemmert and Gancarski (q,) of each partition, NaN if undefined.

        A point contributes 1 - own / other, where own and other are its distances to the center of
        its cluster and to the nearest other center; a cluster contributes the sum over its points,
        or 0 if that is negative. The index is the sum over clusters divided by the number of
        points. A point's term is -inf if it lies at another center, and undefined if it lies at
        both.
        """
        first = self._starts[:-1]
        terms = np.where(self._at_other, 0.0, np.maximum(self._terms, 0.0))
        index = np.add.reduceat(terms, first) / np.add.reduceat(self._sizes, first)
        is_undefined = np.logical_or.reduceat(self._at_both, first) | (np.diff(self._starts) < 2)
        return np.where(is_undefined, np.nan, index)

    def densities(self) -> Floats:
        """Return the inter-cluster density of S_Dbw (q,) of each partition, NaN if undefined.

        For a pair of clusters that is the number of their points near the midpoint of the two
        centers, divided by the number near the center that has more of them. The result is the mean
        over pairs, undefined if a pair has no point near either center.
        """
        if self._radii is None:
            return np.full(len(self._starts) - 1, np.nan)
        bounds = zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True)
        return np.array([self._density(first, stop) for first, stop in bounds])

    def _density(self, first: int, stop: int) -> float:
        """Return the density of the partition of the clusters from `first` to stop - 1."""
        k, total = stop - first, 0.0
        cut = slice(self._pair_starts[first], self._pair_starts[stop])
        near_center = self._near_center[cut].reshape(k, k)
        near_midpoint = self._near_midpoint[cut].reshape(k, k)
        at_home = np.diagonal(near_center)
        for i in range(k - 1):
            others = slice(i + 1, None)
            one = at_home[i] + near_center[others, i]
            most = np.maximum(one, at_home[others] + near_center[i, others])
            if not most.all():
                return np.nan
            both = near_midpoint[i, others] + near_midpoint[others, i]
            total += float((both / most).sum())
        return total / (k * (k - 1) / 2) if k > 1 else np.nan


class CenterGaps(NamedTuple):
    """Distances of the center of each of k clusters to the others of its partition, all (k,).

    They are meaningless for the only cluster of a partition.
    """

    #: Index of the nearest other center, the lowest of equally near ones.
    nearest: Integers
    least: Floats
    most_gap: Floats
    gap_sum: Floats
    #: Largest (sum of both clusters' spreads) / distance; centers that coincide do not count.
    overlap: Floats


def center_gaps(
    centers: Floats, spreads: Floats, starts: Integers, distance: Distance
) -> CenterGaps:
    """Return the gaps of `centers` (k, d), some rows at a time; spreads (k,) are for the overlap.

    `starts` (q + 1,) are the numbers of the first cluster of each partition, and k.
    """
    k, counts = len(centers), np.diff(starts)
    gaps = CenterGaps(np.zeros(k, dtype=np.int64), *np.zeros((4, k)))
    first, stop = np.repeat(starts[:-1], counts), np.repeat(starts[1:], counts)
    for i, j in expand_range_blocks(first, stop, PAIRS_PER_BLOCK):
        d = pair_distances(centers, i, centers, j, distance)
        d[i == j] = 0.0
        cuts = np.flatnonzero(np.diff(i, prepend=-1))
        rows = i[cuts]
        gaps.most_gap[rows] = np.maximum.reduceat(d, cuts)
        gaps.gap_sum[rows] = np.add.reduceat(d, cuts)
        overlap = np.divide(spreads[i] + spreads[j], d, out=np.zeros(len(d)), where=d > 0)
        gaps.overlap[rows] = np.maximum.reduceat(overlap, cuts)
        d[i == j] = np.inf
        gaps.least[rows] = np.minimum.reduceat(d, cuts)
        # Of equally near centers the lowest: the last assignment counts.
        nearest = np.flatnonzero(d == gaps.least[i])[::-1]
        gaps.nearest[i[nearest]] = j[nearest]
    return gaps
