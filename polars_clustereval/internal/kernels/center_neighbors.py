"""center_neighbors: distances from points to all centers, computed as the points are streamed.

Only sums per cluster and counts per pair of clusters are stored, not the distances themselves.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .arrays import expand_range_blocks
from .distance_blocks import DISTANCES_PER_BLOCK, TargetPoints, direct_distance_matrix
from .small_partitions import pair_distances
from .streams import split_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_clustereval.internal.distances import Distance

    from .arrays import Floats, Integers

#: The number of pairs of a point and a center that are measured at a time. A few arrays of this
#: length fit into the cache.
PAIRS_PER_BLOCK = 2**16
#: If a partition has at least this many centers, a block of points is compared with all of them
#: together.
_MANY_CENTERS = 16
#: Two distances from a product of matrices may be equal if their relative difference is below this.
_TIE = 1e-9


def nearest_centers(x: Floats, centers: TargetPoints) -> tuple[Integers, Floats]:
    """Return the nearest center of each point, or the lowest in a tie, and the distance to it."""
    return _find_nearest(x, centers, _comparable_distances(x, centers))


def _comparable_distances(x: Floats, centers: TargetPoints) -> Floats:
    """Return the distances (m, k), squared if Euclidean, from points x (m, d) to the centers.

    They may come from a matrix product, so relative differences below _TIE are not significant.
    """
    if centers.distance.name in ("euclidean", "sqeuclidean"):
        return centers.squares(x)
    return centers.distances(x)


def _find_nearest(x: Floats, centers: TargetPoints, d: Floats) -> tuple[Integers, Floats]:
    """Return the nearest center of each point of x, or the lowest in a tie, and the distance to it.

    `d` (m, k) is a result of _comparable_distances in which the entries for excluded centers are
    infinite. If it does not determine which center is nearest, the distances are recomputed from
    coordinate differences, as in DuckDB.
    """
    rows = np.arange(len(x))
    nearest, least = _row_minima(d)
    limit = least * (1 + _TIE) + np.finfo(float).tiny
    d[rows, nearest] = np.inf
    tied = np.flatnonzero(_row_minima(d)[1] <= limit)
    if len(tied):
        d[tied, nearest[tied]] = least[tied]
        exact = direct_distance_matrix(x[tied], np.asfortranarray(centers.y), centers.distance)
        exact[d[tied] > limit[tied, None]] = np.inf
        nearest[tied] = exact.argmin(axis=1)
    return nearest, pair_distances(x, rows, centers.y, nearest, centers.distance)


def _row_minima(d: Floats) -> tuple[Integers, Floats]:
    """Return the position and value of each row's minimum; argmin is 3 times as fast as min."""
    places = d.argmin(axis=1)
    return places, d[np.arange(len(d)), places]


class CenterNeighbors:
    """Sums of distance-based terms over the points of each of k clusters.

    Clusters are numbered from 0 across all partitions, and the clusters of a partition have
    consecutive numbers. Batches of points may be added from any thread.
    """

    def __init__(
        self, centers: Floats, starts: Integers, distance: Distance, radii: Floats | None
    ) -> None:
        """Start with no points.

        `starts` (q + 1,) holds the index of the first cluster in each of the q partitions, followed
        by k. Points are counted that are within the partition's radius (q,) of a center, or of the
        midpoint of two centers. If `radii` is None, no points are counted.
        """
        self._centers, self._starts, self._distance = centers, starts, distance
        counts = np.diff(starts)
        self._first, self._stop = np.repeat(starts[:-1], counts), np.repeat(starts[1:], counts)
        #: Where the pairs (own, other) of each cluster with the clusters of its partition start.
        self._pair_starts = np.concatenate([[0], np.cumsum(np.repeat(counts, counts))])
        self._radii = None if radii is None else np.repeat(radii, counts)
        k, n_pairs = len(centers), 0 if radii is None else int(self._pair_starts[-1])
        self._near_center, self._near_midpoint = np.zeros((2, n_pairs), dtype=np.int32)
        self._sizes, self._terms = np.zeros((2, k))
        self._at_other, self._at_both = np.zeros((2, k), dtype=bool)
        #: The centers of each partition that has many, by the number of the partition.
        self._parts = {
            place: TargetPoints(centers[starts[place] : starts[place + 1]], distance)
            for place in np.flatnonzero(counts >= _MANY_CENTERS).tolist()
        }
        self._steps = np.maximum(1, DISTANCES_PER_BLOCK // np.maximum(1, counts)).tolist()
        self._lock = Lock()
        self._is_stopped = False

    def stop(self) -> None:
        """Interrupt all running calls to `add`, in any thread, by making them raise an error."""
        self._is_stopped = True

    def add(self, x: Floats, numbers: Integers) -> None:
        """Add the points x (m, d) of the clusters with the given numbers (m,)."""
        k, points = len(self._centers), np.arange(len(x))
        own = pair_distances(x, points, self._centers, numbers, self._distance)
        nearest = np.full(len(x), np.inf)
        has_many = self._stop[numbers] - self._first[numbers] >= _MANY_CENTERS
        for rows, part in self._blocks(numbers, np.flatnonzero(has_many)):
            nearest[rows] = self._add_block(x[rows], own[rows], numbers[rows], part)
        few = np.flatnonzero(~has_many)
        nearest[few] = self._add_pairs(x[few], numbers[few])
        is_at_other = (nearest == 0) & (own > 0)
        is_at_both = (nearest == 0) & (own == 0)
        terms = np.where(nearest > 0, 1 - own / np.where(nearest > 0, nearest, 1.0), 0.0)
        with self._lock:
            self._sizes += np.bincount(numbers, minlength=k)
            self._terms += np.bincount(numbers, weights=terms, minlength=k)
            self._at_other[numbers[is_at_other]] = True
            self._at_both[numbers[is_at_both]] = True

    def _blocks(self, numbers: Integers, rows: Integers) -> Iterator[tuple[Integers, TargetPoints]]:
        """Yield blocks of `rows` within one partition, along with that partition's centers."""
        starts = self._starts[:-1].tolist() if len(rows) else [0]
        for part, place in split_batch(numbers[rows], starts, self._steps):
            if self._is_stopped:
                raise InterruptedError
            yield rows[part], self._parts[place]

    def _add_block(
        self, x: Floats, own: Floats, numbers: Integers, centers: TargetPoints
    ) -> Floats:
        """Count nearby points, and return the distance from each to the nearest other center."""
        d = _comparable_distances(x, centers)
        d[np.arange(len(x)), numbers - self._first[numbers]] = np.inf
        if self._radii is not None:
            self._count_candidates(x, own, numbers, centers, d)
        return _find_nearest(x, centers, d)[1]

    def _count_candidates(
        self, x: Floats, own: Floats, numbers: Integers, centers: TargetPoints, d: Floats
    ) -> None:
        """Count the points x (m, d) that are near a center, or near the midpoint of two centers.

        The squared distances `d` (m, k) to the centers rule out distant pairs. If gap is the
        distance between a point's own center and another center, the squared distance from the
        point to the midpoint of the two centers is own^2 / 2 + d / 2 - gap^2 / 4.
        """
        assert self._radii is not None
        radius, first = self._radii[numbers], self._first[numbers]
        squares = own if self._distance.name == "sqeuclidean" else own * own
        slack = _TIE * (squares + radius * radius)
        at_home = np.flatnonzero(squares <= radius * radius + slack)
        self._count_nearby(x, at_home, numbers[at_home], numbers[at_home])
        # If a point is near a midpoint, its distances to the two centers differ by at most two
        # radii.
        reach = (np.sqrt(squares) + 2 * radius) ** 2 + slack
        rows = np.flatnonzero(_row_minima(d)[1] <= reach)
        clusters, places = np.unique(numbers[rows], return_inverse=True)
        half_gaps = centers.squares(self._centers[clusters]) / 2
        near = d[rows] - half_gaps[places] <= (2 * radius * radius - squares + slack)[rows, None]
        near |= d[rows] <= (radius * radius + slack)[rows, None]
        i, j = np.nonzero(near)
        i = rows[i]
        self._count_nearby(x, i, numbers[i], first[i] + j)

    def _add_pairs(self, x: Floats, numbers: Integers) -> Floats:
        """Do what _add_block does, for partitions with few clusters, or with only one (inf)."""
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
        """Count the points x[i] near a center or midpoint of the clusters own[i] and other[i]."""
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
        """Return the Wemmert-Gancarski index of each partition, or NaN if the index is undefined.

        A point contributes 1 - own / other, where own is its distance to the center of its cluster,
        and other is its distance to the nearest other center. A cluster contributes the sum over
        its points, or 0 if the sum is negative. The index is the sum over all clusters divided by
        the number of points. A point that coincides with another center contributes -inf. If the
        point also coincides with its own center, its contribution is undefined.
        """
        first = self._starts[:-1]
        terms = np.where(self._at_other, 0.0, np.maximum(self._terms, 0.0))
        index = np.add.reduceat(terms, first) / np.add.reduceat(self._sizes, first)
        is_undefined = np.logical_or.reduceat(self._at_both, first) | (np.diff(self._starts) < 2)
        return np.where(is_undefined, np.nan, index)

    def densities(self) -> Floats:
        """Return the S_Dbw inter-cluster density of each partition, or NaN if it is undefined.

        The density of a pair of clusters is the number of their points near the midpoint of the two
        centers, divided by the larger of two counts: the points near the first center and the
        points near the second. The result is the mean density over all pairs of clusters. The
        result is undefined if any pair of clusters has no points near either of its centers.
        """
        if self._radii is None:
            return np.full(len(self._starts) - 1, np.nan)
        bounds = zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True)
        return np.array([self._density(first, stop) for first, stop in bounds])

    def _density(self, first: int, stop: int) -> float:
        """Return the density of the partition with clusters `first` through `stop - 1`."""
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
    """Statistics of the distances from each of k centers to the other centers of its partition.

    The statistics are meaningless for a cluster that is the only one in its partition.
    """

    #: Index of the nearest other center; in a tie, the lowest index.
    nearest: Integers
    least: Floats
    most_gap: Floats
    gap_sum: Floats
    #: The maximum of (sum of both clusters' spreads) / distance; centers that coincide are ignored.
    overlap: Floats


def center_gaps(
    centers: Floats, spreads: Floats, starts: Integers, distance: Distance
) -> CenterGaps:
    """Return the CenterGaps of centers (k, d), with `starts` (q + 1,) as in CenterNeighbors."""
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
        # Of equally near centers, the lowest is chosen, because the last assignment counts.
        nearest = np.flatnonzero(d == gaps.least[i])[::-1]
        gaps.nearest[i[nearest]] = j[nearest]
    return gaps
