"""mean_distance_bounds: bounds of mean distances, and the clusters that they leave to measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .kernels.distance_blocks import CELLS, SINGLE_THREADED, TargetPoints
from .kernels.threads import run_in_threads
from .mean_distances import (
    ClusterMoments,
    DistanceSums,
    MeanDistances,
    SecondMoments,
    SortedCoordinates,
    absolute_sums,
    call_by_cluster,
    take_own,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .distances import Distance
    from .kernels.arrays import Booleans, Floats, Integers

#: What rounding can do to a bound, of the size of what it is made from: thousands of times what was
#: seen, and nothing to the width of an interval.
SLACK = 1e-12


#: The square of a smaller number lacks digits, or is 0.
TINY = 1e-140


#: A rounding of single precision.
ROUNDING = float(np.finfo(np.float32).eps)


# ----------------------------------------------------------------------------------------------
# All clusters at once: (m, k) mean distances from m points, the own cluster's own point included
# ----------------------------------------------------------------------------------------------


class MomentBounds:
    """Bounds of the mean distances to all clusters.

    A norm of means is no more than the mean of norms (Jensen), and no distance is more than the
    detour over the center.
    """

    def __init__(
        self, clusters: ClusterMoments, spread: SecondMoments | None, distance: Distance
    ) -> None:
        self._clusters = clusters
        #: Whether the lower bounds of single pairs can be raised.
        self.refinable = spread is not None
        self._spread = spread
        self._reaches = None if spread is None else spread.reaches
        self._distance = distance
        self._centers = TargetPoints(clusters.centers, distance)
        self.count = len(clusters.sizes)
        #: Points to bound at a time.
        self.rows = max(16, SINGLE_THREADED // clusters.centers.size)

    def of(self, x: Floats, rows: slice) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Give the bounds for these points, which are those rows of all."""
        if self._distance.name == "euclidean":
            return self._euclidean(x)
        if self._distance.name == "cityblock":
            return _cityblock_bounds(x, self._clusters)
        widths = self._clusters.widths
        to_center = self._centers.distances(x)
        lower = np.maximum(to_center, widths - to_center)
        return lower * (1 - SLACK), (to_center + widths) * (1 + SLACK)

    def _euclidean(self, x: Floats) -> tuple[Floats, Floats]:
        squares = self._centers.squares(x)
        variances = self._clusters.variances.sum(axis=1)
        slack = SLACK * (squares.max(axis=1, keepdims=True) + variances)
        mean = squares + variances
        lower = np.sqrt(np.maximum(squares - slack, 0.0))
        if self._spread is not None and self._reaches is not None:
            variance = self._spread.tails + 4 * (self._reaches * squares - self._cross(x))
            lower = np.maximum(lower, _root_mean_lower_bound(mean, variance))
        mean += slack
        return lower, np.sqrt(mean, out=mean)

    def _cross(self, x: Floats) -> Floats:
        """Give (x - c) times the skew of a cluster, less what rounding may have added."""
        assert self._spread is not None
        skews, centers = self._spread.skews, self._clusters.centers
        cross = x @ skews.T - np.einsum("ij,ij->i", centers, skews)
        sizes = np.linalg.norm(x, axis=1)[:, None] + np.linalg.norm(centers, axis=1)
        return np.asarray(cross - 1e-14 * sizes * np.linalg.norm(skews, axis=1))

    def refined(self, x: Floats, number: int) -> Floats:
        """Give a better lower bound of the mean distances to one cluster."""
        assert self._spread is not None
        off = x - self._clusters.centers[number]
        squares = np.einsum("ij,ij->i", off, off)
        across = np.einsum("ij,ij->i", off @ self._spread.covariances[number], off)
        variance = self._spread.tails[number] + 4 * (across - off @ self._spread.skews[number])
        return _root_mean_lower_bound(squares + self._clusters.variances[number].sum(), variance)


def _root_mean_lower_bound(mean: Floats, variance: Floats) -> Floats:
    """Give a lower bound of the mean of sqrt(Z), from the mean and the variance of Z.

    sqrt(t) >= 1 + (t-1)/2 - (t-1)^2/2 at t = Z / mean; a variance that is too large does no harm.
    One that is too large or too small for a float tells nothing.
    """
    known = (mean > TINY) & np.isfinite(variance)
    safe = np.where(known, mean, 1.0)
    variance = variance + SLACK * safe * safe
    lower = np.sqrt(mean) * (1 - SLACK - variance / (2 * safe * safe))
    return np.asarray(np.where(known, lower, 0.0))


def _cityblock_bounds(x: Floats, clusters: ClusterMoments) -> tuple[Floats, Floats]:
    """Bound each coordinate by itself: |u| <= mean |x - y| <= sqrt(u^2 + v)."""
    lower = np.zeros((len(x), len(clusters.sizes)))
    upper = np.zeros_like(lower)
    for i in range(x.shape[1]):
        off = x[:, i, None] - clusters.centers[:, i]
        lower += np.abs(off)
        off *= off
        off += clusters.variances[:, i]
        upper += np.sqrt(off, out=off)
    slack = SLACK * upper.max(axis=1, keepdims=True)
    lower = np.maximum(lower, clusters.widths - lower)
    return np.maximum(lower - slack, 0.0), upper + slack


class CityblockTables:
    """Bounds of the cityblock distances from tables of a function of each coordinate.

    The mean of |x - y| over a cluster is convex in x. Between two nodes it is no more than the
    chord, and no less than the tangents there, which are `gap` below it where they meet. Chords in
    single precision take half the time, and what they lack is added to the gap.
    """

    def __init__(self, points: SortedCoordinates, chosen: Booleans) -> None:
        self._nodes = points.nodes
        self._cells = points.cells if chosen.all() else points.cells[:, chosen]
        members = list(zip(*points.columns, strict=True))
        tables = run_in_threads(lambda i: self._table(i, members[i]), range(len(members)))
        starts, slopes, self._gaps = zip(*tables, strict=True)
        #: What single precision has the range for.
        self._scale = max(float(at.max(initial=0.0)) for at in starts) or 1.0
        self._starts = [(at / self._scale).astype(np.float32) for at in starts]
        self._slopes = [slope.astype(np.float32) for slope in slopes]
        #: Points to look up at a time.
        self.rows = max(16, CELLS // len(points.columns))

    def _table(self, i: int, members: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
        """Give for each cell the chords of all clusters, where and how they rise, and the gap."""
        nodes = self._nodes[:, i]
        at, slopes = np.empty((2, len(nodes), len(members)))
        for number, y in enumerate(members):
            at[:, number] = absolute_sums(y, nodes) / len(y)
            # To the right of a node; to the left it is steeper down by the points on it.
            slopes[:, number] = 2.0 * np.searchsorted(y, nodes, "right") / len(y) - 1
        width = np.diff(nodes)[:, None]
        rise = np.diff(at, axis=0)
        right, left = rise - slopes[:-1] * width, np.minimum(slopes[1:], 1.0) * width - rise
        gap = _ratio_or_zero(np.maximum(right, 0.0) * np.maximum(left, 0.0), right + left)
        # No more than 1, but for what rounding makes of nodes that nearly coincide.
        slope = np.clip(_ratio_or_zero(rise, np.broadcast_to(width, rise.shape)), -1.0, 1.0)
        # One gap for all clusters: a third less to look up, and little wider.
        # A chord is rounded some times, and the sum of all coordinates once with each of them.
        roundings = 32 + 4 * self._nodes.shape[1]
        ends = np.maximum(at[:-1], at[1:]).max(axis=1)
        return at[:-1], slope, np.column_stack([gap.max(axis=1), roundings * ROUNDING * ends])

    def of(self, x: Floats, rows: slice) -> tuple[Floats, Floats]:
        """Give the bounds for these points, which are those rows of all."""
        total = np.zeros((len(x), self._starts[0].shape[1]), np.float32)
        # Room that is used again: to ask the system for it takes longer than all else.
        room = np.empty_like(total)
        gap, slack = slacks = np.zeros((2, len(x)))
        for i, (nodes, cell) in enumerate(zip(self._nodes.T, self._cells[:, rows], strict=True)):
            total += np.take(self._starts[i], cell, axis=0, out=room, mode="clip")
            along = ((x[:, i] - nodes[cell]) / self._scale).astype(np.float32)
            np.take(self._slopes[i], cell, axis=0, out=room, mode="clip")
            room *= along[:, None]
            total += room
            slacks += self._gaps[i][cell].T
        upper = total.astype(np.float64)
        upper *= self._scale
        slack += SLACK * upper.max(axis=1)
        lower = np.maximum(upper - (gap + slack)[:, None], 0.0)
        upper += slack[:, None]
        unknown = ~np.isfinite(slack)
        lower[unknown], upper[unknown] = 0.0, np.inf
        return lower, upper


def _ratio_or_zero(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


# ----------------------------------------------------------------------------------------------
# Candidates
# ----------------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """What the bounds leave: for each point those clusters that can be the nearest other."""

    a_lower: Floats
    a_upper: Floats
    #: The least upper bound of the other clusters.
    b_upper: Floats
    #: One a pair of a point and such a cluster, point after point.
    point: Integers
    cluster: Integers
    lower: Floats
    upper: Floats

    def kept(self, kept: Booleans) -> Candidates:
        """Leave out the other pairs."""
        return self._replace(
            point=self.point[kept],
            cluster=self.cluster[kept],
            lower=self.lower[kept],
            upper=self.upper[kept],
        )

    def bounds(self) -> MeanDistances:
        """Give what the bounds tell, and no neighbor."""
        b_lower = np.full(len(self.a_lower), np.nan)
        np.fmin.at(b_lower, self.point, self.lower)
        b_upper = np.where(np.isnan(b_lower), np.nan, self.b_upper)
        nobody = np.full(len(b_lower), -1)
        return MeanDistances(self.a_lower, self.a_upper, b_lower, b_upper, nobody)


def find_candidates(
    x: Floats, own: Integers, sizes: Floats, bounds: MomentBounds | CityblockTables, *, narrow: bool
) -> Candidates:
    """Give the clusters that can be the nearest other, and bounds of all mean distances.

    The bounds are as narrow as can be, or only where that can leave out a cluster.
    """

    def bounded(start: int) -> Candidates:
        rows = slice(start, start + bounds.rows)
        return _block_candidates(x[rows], own[rows], start, bounds)

    blocks = run_in_threads(bounded, range(0, max(1, len(x)), bounds.rows))
    found = Candidates(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    if isinstance(bounds, MomentBounds) and bounds.refinable:
        found = _refine_candidates(found, x, own, bounds, narrow=narrow)
    sizes = sizes[own]
    others = sizes / np.maximum(sizes - 1, 1)
    a_lower = np.where(sizes == 1, 0.0, np.maximum(found.a_lower, 0.0) * others)
    a_upper = np.where(sizes == 1, 0.0, found.a_upper * others)
    return found._replace(a_lower=a_lower, a_upper=a_upper)


def _block_candidates(
    x: Floats, own: Integers, start: int, bounds: MomentBounds | CityblockTables
) -> Candidates:
    lower, upper = bounds.of(x, slice(start, start + len(x)))
    a_lower, a_upper = take_own(lower, own), take_own(upper, own)
    least = upper.min(axis=1)
    point, cluster = np.nonzero((lower <= least[:, None]) & np.isfinite(lower))
    pairs = lower[point, cluster], upper[point, cluster]
    return Candidates(a_lower, a_upper, least, point + start, cluster, *pairs)


def _refine_candidates(
    found: Candidates, x: Floats, own: Integers, bounds: MomentBounds, *, narrow: bool
) -> Candidates:
    """Raise the lower bounds, and leave out the clusters that are then too far."""

    def refined(lower: Floats, points: Integers, numbers: Integers, chosen: Integers) -> Floats:
        lower = lower.copy()

        def refine(number: int, some: Integers, places: Integers) -> None:
            places = chosen[places]
            lower[places] = np.maximum(lower[places], bounds.refined(x[some], number))

        at_most = max(16, SINGLE_THREADED // x.shape[1] ** 2)
        call_by_cluster(refine, points[chosen], numbers[chosen], bounds.count, at_most)
        return lower

    several = np.bincount(found.point, minlength=len(x))[found.point] > 1
    pairs = np.flatnonzero(several | narrow)
    found = found._replace(lower=refined(found.lower, found.point, found.cluster, pairs))
    if narrow:
        everyone = np.arange(len(x))
        found = found._replace(a_lower=refined(found.a_lower, everyone, own, everyone))
    return found.kept(found.lower <= found.b_upper[found.point])


# ----------------------------------------------------------------------------------------------
# Exact mean distances to the candidates
# ----------------------------------------------------------------------------------------------


def exact_means(
    x: Floats, own: Integers, found: Candidates, chosen: Booleans, sums: DistanceSums
) -> MeanDistances:
    """Give the exact means of the chosen ones of these points, and the bounds of the others."""
    points = np.flatnonzero(chosen)
    a = sums.own(x, points, own[points]) / np.maximum(sums.sizes[own[points]] - 1, 1)
    bounds = found.bounds()
    a_lower, a_upper = bounds.a_lower.copy(), bounds.a_upper.copy()
    a_lower[points] = a_upper[points] = a
    asked = found if chosen.all() else found.kept(chosen[found.point])
    b, neighbor = _nearest_candidate(x, asked, sums)
    some = np.isfinite(b)
    b_lower, b_upper = (np.where(some, b, of) for of in (bounds.b_lower, bounds.b_upper))
    return MeanDistances(a_lower, a_upper, b_lower, b_upper, neighbor)


def _nearest_candidate(x: Floats, found: Candidates, sums: DistanceSums) -> tuple[Floats, Integers]:
    """Give the least mean distance to a candidate, and which it is: -1 where there is none.

    The nearest by the upper bounds comes first: what it gives leaves fewer of the others.
    """
    first = np.bincount(found.point, minlength=len(x))[found.point] == 1
    several = np.flatnonzero(~first)
    keys = (found.cluster[several], found.upper[several], found.point[several])
    order = several[np.lexsort(keys)]
    first[order[np.flatnonzero(np.diff(found.point[order], prepend=-1))]] = True
    best = np.full(len(x), np.inf)
    means = np.full(len(first), np.inf)
    for some in (first, ~first):
        pairs = np.flatnonzero(some & (found.lower <= best[found.point]))
        point, cluster = found.point[pairs], found.cluster[pairs]
        means[pairs] = sums.of(x, point, cluster) / sums.sizes[cluster]
        np.minimum.at(best, point, means[pairs])
    neighbor = np.full(len(x), -1)
    nearest = np.flatnonzero(means == best[found.point])[::-1]
    # Of equals the lowest: the pairs of a point are in the order of the clusters.
    neighbor[found.point[nearest]] = found.cluster[nearest]
    return best, neighbor
