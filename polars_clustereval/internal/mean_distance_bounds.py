"""mean_distance_bounds: bounds on mean distances, and the clusters that they do not rule out.

The array x (m, d) holds the queries, which are the points whose mean distances to all k clusters
are bounded. The array y holds the points of a cluster. The mean distance from a query to its own
cluster is a, and its mean distance to the nearest other cluster is b. MomentBounds and
CityblockTables compute bounds on means over all points of a cluster. A query's own cluster includes
the query itself, so find_candidates corrects the bounds on a.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from .kernels.distance_blocks import (
    DISTANCES_PER_BLOCK,
    SINGLE_THREAD_MULTIPLICATIONS,
    TargetPoints,
)
from .kernels.threads import run_in_threads
from .mean_distances import (
    ClusterMoments,
    DistanceSums,
    MeanDistances,
    PartitionMoments,
    SecondMoments,
    SortedCoordinates,
    SortedDistanceSums,
    SquaredMeans,
    absolute_sums,
    call_by_cluster,
    cluster_moments,
    second_moments,
    simplified_means,
    take_own_means,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .distances import Distance
    from .kernels.arrays import Booleans, Floats, Integers
    from .kernels.other_clusters import Between
    from .kernels.partitions import Partition

    MeanDistanceFunction = Callable[[Floats, Integers], MeanDistances]

#: Assumed rounding error of a bound relative to its terms. It is thousands of times the observed
#: error, and negligible compared with the width of an interval.
SLACK = 1e-12


#: The number of pairs of a point and a cluster whose sums of distances are held at a time.
_PAIRS_PER_BLOCK = 2**20


#: If a number is smaller than this, its square has lost digits or is 0.
TINY = 1e-140


#: Relative rounding error of single precision.
SINGLE_PRECISION_ERROR = float(np.finfo(np.float32).eps)


# ----------------------------------------------------------------------------------------------
# Bounds of the mean distances of m points to all points of each of k clusters
# ----------------------------------------------------------------------------------------------


class MomentBounds:
    """Bounds on mean distances, computed from the moments of the clusters.

    One bound follows from Jensen's inequality, which states that the norm of a mean is at most the
    mean of the norms. The other bounds follow from the triangle inequality.
    """

    def __init__(
        self, clusters: ClusterMoments, second: SecondMoments | None, distance: Distance
    ) -> None:
        """Prepare bounds for the k clusters of one partition.

        Second moments tighten the lower bounds on Euclidean distances, and are None for others.
        """
        self._clusters = clusters
        #: Whether `refine_lower` can raise the lower bounds.
        self.is_refinable = second is not None
        #: Whether `near_bounds` has bounds.
        self.is_euclidean = distance.name == "euclidean"
        self._second = second
        self._largest_variances = None if second is None else second.largest_variances
        self._total_variances = clusters.variances.sum(axis=1)
        self._distance = distance
        self._targets = TargetPoints(clusters.means, distance)
        self.n_clusters = len(clusters.sizes)
        #: Points to bound at a time.
        self.rows_per_call = max(16, SINGLE_THREAD_MULTIPLICATIONS // clusters.means.size)

    def lower_and_upper(
        self,
        x: Floats,
        own_cluster: Integers,
        rows: slice,  # noqa: ARG002 -- CityblockTables use it
    ) -> tuple[Floats, Floats]:
        """Return bounds (m, k) on the mean distances from x (m, d) to all points of each cluster.

        The lower bounds are tightest for clusters that can be the nearest other cluster.
        """
        if self.is_euclidean:
            squares, every = self._targets.squares(x), np.arange(self.n_clusters)
            return self._bound_squares(x, squares, own_cluster, every, squares.max(axis=1))
        if self._distance.name == "cityblock":
            return _cityblock_bounds(x, self._clusters)
        mean_distances = self._clusters.mean_distances
        to_mean = self._targets.distances(x)
        lower = np.maximum(to_mean, mean_distances - to_mean)
        return lower * (1 - SLACK), (to_mean + mean_distances) * (1 + SLACK)

    def near_bounds(
        self, x: Floats, own_cluster: Integers
    ) -> tuple[Integers, Integers, Floats, Floats]:
        """Return the Euclidean bounds of lower_and_upper, but only for nearby clusters.

        Clusters are omitted that have none of the points x (m, d) and cannot be the nearest other
        cluster of any: with thousands of clusters, nearly all. The result has the numbers (c,) of
        the remaining clusters, the column (m,) of each point's own cluster, and the bounds (m, c).
        """
        squares = self._targets.squares(x)
        largest = squares.max(axis=1)
        upper = squares + self._total_variances
        take_own_means(upper, own_cluster)
        # This exceeds the slack of both bounds, and the rounding error of their roots.
        slack = 4 * SLACK * (largest + self._total_variances.max())
        limit = upper.min(axis=1) + slack
        is_near = (squares <= limit[:, None]).any(axis=0)
        is_near[own_cluster] = True
        numbers = np.flatnonzero(is_near)
        own = np.searchsorted(numbers, own_cluster)
        return numbers, own, *self._bound_squares(x, squares[:, numbers], own, numbers, largest)

    def _bound_squares(
        self,
        x: Floats,
        squares: Floats,
        own: Integers,
        numbers: Integers,
        largest: Floats,
    ) -> tuple[Floats, Floats]:
        """Return bounds (m, c) on mean Euclidean distances from x (m, d) to the clusters `numbers`.

        `squares` (m, c) are the squared distances to their means, `own` (m,) the column of each
        point's own cluster, and `largest` (m,) its largest squared distance to the mean of any
        cluster. The upper bound is the square root of the mean squared distance, and the lower
        bound is the distance to the cluster's mean. With second moments, the variance of the
        squared distances may tighten the lower bound. This is expensive, so it is computed only for
        the points' own clusters and for clusters that can be the nearest other cluster of a point.
        """
        total_variances = self._total_variances[numbers]
        slack = SLACK * (largest[:, None] + total_variances)
        lower = np.sqrt(np.maximum(squares - slack, 0.0))
        upper = np.sqrt(squares + total_variances + slack)
        if self._second is not None and self._largest_variances is not None:
            others = upper.copy()
            take_own_means(others, own)
            near = np.flatnonzero((lower <= others.min(axis=1, keepdims=True)).any(axis=0))
            squares = squares[:, near]
            chosen = numbers[near]
            variance = self._second.tails[chosen] + 4 * (
                self._largest_variances[chosen] * squares - self._skew_products(x, chosen)
            )
            closer = _root_mean_lower_bound(squares + total_variances[near], variance)
            lower[:, near] = np.maximum(lower[:, near], closer)
        return lower, upper

    def _skew_products(self, x: Floats, numbers: Integers) -> Floats:
        """Return lower bounds (m, c) on (x - mean) . skews, a term of the variance of |x - y|^2."""
        assert self._second is not None
        skews, means = self._second.skews[numbers], self._clusters.means[numbers]
        products = x @ skews.T - np.einsum("ij,ij->i", means, skews)
        norms = np.linalg.norm(x, axis=1)[:, None] + np.linalg.norm(means, axis=1)
        return np.asarray(products - 1e-14 * norms * np.linalg.norm(skews, axis=1))

    def refine_lower(self, x: Floats, number: int) -> Floats:
        """Return lower bounds (m,) on the mean distances from points x (m, d) to one cluster.

        They use all covariances of the cluster. They are usually tighter than those of
        lower_and_upper, which use only the largest variance, but take longer.
        """
        assert self._second is not None
        offsets = x - self._clusters.means[number]
        squares = np.einsum("ij,ij->i", offsets, offsets)
        spread = np.einsum("ij,ij->i", offsets @ self._second.covariances[number], offsets)
        variance = self._second.tails[number] + 4 * (spread - offsets @ self._second.skews[number])
        return _root_mean_lower_bound(squares + self._clusters.variances[number].sum(), variance)


def _root_mean_lower_bound(mean: Floats, variance: Floats) -> Floats:
    """Return a lower bound on the mean of sqrt(Z), given the mean and variance of Z >= 0.

    `variance` is an upper bound. Here, Z is the squared distance from a point to a random point of
    a cluster. The bound follows from sqrt(t) >= 1 + (t-1)/2 - (t-1)^2/2 with t = Z / mean. It is 0
    if the mean is too small or the variance too large for floating-point numbers.
    """
    usable = (mean > TINY) & np.isfinite(variance)
    divisor = np.where(usable, mean, 1.0)
    variance = variance + SLACK * divisor * divisor
    lower = np.sqrt(mean) * (1 - SLACK - variance / (2 * divisor * divisor))
    return np.asarray(np.where(usable, lower, 0.0))


def _cityblock_bounds(x: Floats, clusters: ClusterMoments) -> tuple[Floats, Floats]:
    """Return bounds (m, k) on the mean cityblock distances from points x (m, d) to clusters.

    They are sums over the coordinates, in each of which the mean of |x - y| over the cluster's
    points y is at least |u| and at most sqrt(u^2 + v), where u = x - mean and v is the cluster's
    variance. Another lower bound is the mean distance from the cluster's points to their mean,
    minus the distance from x to this mean.
    """
    lower = np.zeros((len(x), len(clusters.sizes)))
    upper = np.zeros_like(lower)
    for i in range(x.shape[1]):
        offsets = x[:, i, None] - clusters.means[:, i]
        lower += np.abs(offsets)
        offsets *= offsets
        offsets += clusters.variances[:, i]
        upper += np.sqrt(offsets, out=offsets)
    slack = SLACK * upper.max(axis=1, keepdims=True)
    lower = np.maximum(lower, clusters.mean_distances - lower)
    return np.maximum(lower - slack, 0.0), upper + slack


class CityblockTables:
    """Bounds on mean cityblock distances, which are looked up in tables for each coordinate.

    The mean of |x - y| over the points y of a cluster is convex in x. Between two nodes, it lies on
    or below the chord, and on or above the tangents at the nodes, which are at most `gap` below the
    chord. Chords are computed in single precision, which takes half the time, and their rounding
    error is added to the gap.
    """

    def __init__(self, coordinates: SortedCoordinates, is_query: Booleans) -> None:
        """Tabulate the mean of |x - y| over y for each cluster and coordinate of a partition.

        `is_query` (m,) marks the points that will be bounded; only their intervals are kept.
        """
        self._nodes = coordinates.nodes
        intervals = coordinates.intervals
        self._intervals = intervals if is_query.all() else intervals[:, is_query]
        members = list(zip(*coordinates.columns, strict=True))
        work = coordinates.nodes.size * len(coordinates.columns)
        tables = run_in_threads(lambda i: self._chords(i, members[i]), range(len(members)), work)
        starts, slopes, self._gaps = zip(*tables, strict=True)
        #: The divisor that brings values into the range of single precision.
        self._scale = max(float(values.max(initial=0.0)) for values in starts) or 1.0
        self._starts = [(values / self._scale).astype(np.float32) for values in starts]
        self._slopes = [slope.astype(np.float32) for slope in slopes]
        #: Points to bound at a time.
        self.rows_per_call = max(16, DISTANCES_PER_BLOCK // len(coordinates.columns))

    def _chords(self, i: int, members: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
        """Return the chords of coordinate i: their start values, slopes, gaps and rounding errors.

        Each cluster, whose values of the coordinate are sorted, has one chord per interval between
        two nodes: the start values and slopes have the shape (intervals, k). The third array
        (intervals, 2) has the gap, the largest amount by which a chord may exceed the mean, and the
        rounding error. Both are maxima over all clusters, which saves a third of the lookups and
        makes the bounds only slightly wider.
        """
        nodes = self._nodes[:, i]
        values, slopes = np.empty((2, len(nodes), len(members)))
        for number, y in enumerate(members):
            values[:, number] = absolute_sums(y, nodes) / len(y)
            # This is the slope on the right of a node. On the left, the slope is less by the share
            # of points on the node.
            slopes[:, number] = 2.0 * np.searchsorted(y, nodes, "right") / len(y) - 1
        width = np.diff(nodes)[:, None]
        rise = np.diff(values, axis=0)
        right, left = rise - slopes[:-1] * width, np.minimum(slopes[1:], 1.0) * width - rise
        gap = _ratio_or_zero(np.maximum(right, 0.0) * np.maximum(left, 0.0), right + left)
        # Slopes are between -1 and 1, except for rounding errors where nodes nearly coincide.
        slope = np.clip(_ratio_or_zero(rise, np.broadcast_to(width, rise.shape)), -1.0, 1.0)
        # A chord is rounded several times, and the sum over coordinates is rounded once for each
        # coordinate.
        roundings = 32 + 4 * self._nodes.shape[1]
        largest = np.maximum(values[:-1], values[1:]).max(axis=1)
        errors = roundings * SINGLE_PRECISION_ERROR * largest
        return values[:-1], slope, np.column_stack([gap.max(axis=1), errors])

    def lower_and_upper(
        self,
        x: Floats,
        own_cluster: Integers,  # noqa: ARG002 -- MomentBounds use it
        rows: slice,
    ) -> tuple[Floats, Floats]:
        """Return bounds (m, k) as MomentBounds does. `rows` is the place of x among all queries."""
        total = np.zeros((len(x), self._starts[0].shape[1]), np.float32)
        # These arrays are allocated only once, because allocation takes longer than everything
        # else.
        buffer = np.empty_like(total)
        gap, slack = gap_and_slack = np.zeros((2, len(x)))
        intervals = self._intervals[:, rows]
        for i, (nodes, interval) in enumerate(zip(self._nodes.T, intervals, strict=True)):
            total += np.take(self._starts[i], interval, axis=0, out=buffer, mode="clip")
            offsets = ((x[:, i] - nodes[interval]) / self._scale).astype(np.float32)
            np.take(self._slopes[i], interval, axis=0, out=buffer, mode="clip")
            buffer *= offsets[:, None]
            total += buffer
            gap_and_slack += self._gaps[i][interval].T
        upper = total.astype(np.float64)
        upper *= self._scale
        slack += SLACK * upper.max(axis=1)
        lower = np.maximum(upper - (gap + slack)[:, None], 0.0)
        upper += slack[:, None]
        overflow = ~np.isfinite(slack)
        lower[overflow], upper[overflow] = 0.0, np.inf
        return lower, upper


def _ratio_or_zero(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, element by element, or 0 where `whole` is not positive."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


# ----------------------------------------------------------------------------------------------
# Candidates
# ----------------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """The candidates: for each of m points, the other clusters that may be the nearest one.

    There are q pairs of a point and a candidate, sorted by point. For each pair, `point` and
    `cluster` are the indices of its members, and `lower` and `upper` bound their mean distance.
    """

    #: (m,)
    a_lower: Floats
    a_upper: Floats
    #: (m,): the smallest upper bound of the other clusters.
    b_upper: Floats
    #: (q,)
    point: Integers
    cluster: Integers
    lower: Floats
    upper: Floats

    def select(self, chosen: Booleans) -> Candidates:
        """Return the same m points, but only the chosen (q,) pairs."""
        return self._replace(
            point=self.point[chosen],
            cluster=self.cluster[chosen],
            lower=self.lower[chosen],
            upper=self.upper[chosen],
        )

    def mean_distances(self) -> MeanDistances:
        """Return bounds on a and b. The nearest cluster is unknown, so `neighbor` is -1.

        The lower bound on b is the smallest among the point's candidates. Without candidates, b is
        NaN.
        """
        b_lower = np.full(len(self.a_lower), np.nan)
        np.fmin.at(b_lower, self.point, self.lower)
        b_upper = np.where(np.isnan(b_lower), np.nan, self.b_upper)
        no_neighbor = np.full(len(b_lower), -1)
        return MeanDistances(self.a_lower, self.a_upper, b_lower, b_upper, no_neighbor)


def find_candidates(
    x: Floats,
    own_cluster: Integers,
    sizes: Floats,
    bounds: MomentBounds | CityblockTables,
    *,
    refine_all: bool,
) -> Candidates:
    """Return the other clusters that may be nearest to each point of x (m, d), with bounds.

    Lower bounds are refined for points with several candidates, because this may rule out some, and
    with refine_all for all points, because the caller needs the bounds themselves.
    """
    block = partial(_block_candidates, bounds=bounds)
    candidates = _bound_in_blocks(block, x, own_cluster, bounds.rows_per_call, len(sizes))
    if isinstance(bounds, MomentBounds) and bounds.is_refinable:
        candidates = _refine_candidates(candidates, x, own_cluster, bounds, refine_all=refine_all)
    sizes = sizes[own_cluster]
    others = sizes / np.maximum(sizes - 1, 1)
    a_lower = np.where(sizes == 1, 0.0, np.maximum(candidates.a_lower, 0.0) * others)
    a_upper = np.where(sizes == 1, 0.0, candidates.a_upper * others)
    return candidates._replace(a_lower=a_lower, a_upper=a_upper)


def _bound_in_blocks(
    block_candidates: Callable[[Floats, Integers, int], Candidates],
    x: Floats,
    own_cluster: Integers,
    rows_per_call: int,
    n_clusters: int,
) -> Candidates:
    """Return the candidates of points x (m, d), each block of which begins at a given row."""

    def call(start: int) -> Candidates:
        rows = slice(start, start + rows_per_call)
        return block_candidates(x[rows], own_cluster[rows], start)

    blocks = run_in_threads(call, range(0, max(1, len(x)), rows_per_call), x.size * n_clusters)
    return Candidates(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _block_candidates(
    x: Floats, own_cluster: Integers, start: int, bounds: MomentBounds | CityblockTables
) -> Candidates:
    """Return the other clusters that can be nearest to each point of a block x (m, d).

    A cluster can be the nearest if its lower bound is at most the smallest upper bound of the other
    clusters. Here, a_lower and a_upper bound the mean over all points of the own cluster, including
    the point itself.
    """
    if isinstance(bounds, MomentBounds) and bounds.is_euclidean:
        numbers, own, lower, upper = bounds.near_bounds(x, own_cluster)
    else:
        lower, upper = bounds.lower_and_upper(x, own_cluster, slice(start, start + len(x)))
        numbers, own = np.arange(lower.shape[1]), own_cluster
    a_lower, a_upper = take_own_means(lower, own), take_own_means(upper, own)
    b_upper = upper.min(axis=1)
    point, column = np.nonzero((lower <= b_upper[:, None]) & np.isfinite(lower))
    pairs = lower[point, column], upper[point, column]
    return Candidates(a_lower, a_upper, b_upper, point + start, numbers[column], *pairs)


def _refine_candidates(
    candidates: Candidates,
    x: Floats,
    own_cluster: Integers,
    bounds: MomentBounds,
    *,
    refine_all: bool,
) -> Candidates:
    """Return the candidates with raised lower bounds, minus the pairs that these rule out.

    With refine_all, the bounds of all points and on a are raised, and otherwise only those of
    points with more than one candidate.
    """
    points_per_call = max(16, SINGLE_THREAD_MULTIPLICATIONS // x.shape[1] ** 2)

    def raise_lower(lower: Floats, points: Integers, clusters: Integers, pairs: Integers) -> Floats:
        """Return the lower bounds of x[points[i]] and clusters[i], raised for the i in `pairs`."""
        raised = lower.copy()

        def raise_cluster(number: int, points: Integers, indices: Integers) -> None:
            """Raise the bounds for pairs[indices], the pairs of x[points] and cluster `number`."""
            indices = pairs[indices]
            raised[indices] = np.maximum(raised[indices], bounds.refine_lower(x[points], number))

        call_by_cluster(
            raise_cluster,
            points[pairs],
            clusters[pairs],
            bounds.n_clusters,
            points_per_call=points_per_call,
            work_per_pair=x.shape[1] ** 2,
        )
        return raised

    point = candidates.point
    has_rivals = np.bincount(point, minlength=len(x))[point] > 1
    pairs = np.flatnonzero(has_rivals | refine_all)
    lower = raise_lower(candidates.lower, point, candidates.cluster, pairs)
    candidates = candidates._replace(lower=lower)
    if refine_all:
        points = np.arange(len(x))
        a_lower = raise_lower(candidates.a_lower, points, own_cluster, points)
        candidates = candidates._replace(a_lower=a_lower)
    return candidates.select(candidates.lower <= candidates.b_upper[point])


# ----------------------------------------------------------------------------------------------
# Exact mean distances to the candidates
# ----------------------------------------------------------------------------------------------


def queries_to_evaluate(widths: Floats, id_ranks: Integers, tolerance: float) -> Booleans:
    """Return flags (m,) for the points whose silhouettes must be computed exactly.

    `widths` (m,) are upper minus lower bounds on the silhouettes, which become 0. The smallest
    number of points is selected that reduces the mean of all m widths to at most `tolerance`: the
    widest first, and of equal ones those with the smallest `id_ranks` (m,).
    """
    widths = np.nan_to_num(widths)
    order = np.lexsort((id_ranks, -widths))
    # The total width that remains if the first 0, 1, ... queries are evaluated, summed from the
    # narrowest.
    remaining = np.append(np.cumsum(widths[order][::-1])[::-1], 0.0)
    n_needed = int(np.argmax(remaining <= tolerance * len(widths)))
    needed = np.zeros(len(widths), dtype=bool)
    needed[order[:n_needed]] = True
    return needed


def exact_means(
    x: Floats, own_cluster: Integers, candidates: Candidates, needed: Booleans, sums: DistanceSums
) -> MeanDistances:
    """Return the mean distances from points x (m, d), exact where `needed` (m,) is true.

    For the other points, bounds are returned, and neighbor is -1.
    """
    points = np.flatnonzero(needed)
    clusters = own_cluster[points]
    a = sums.own_sums(x, points, clusters) / np.maximum(sums.sizes[clusters] - 1, 1)
    bounds = candidates.mean_distances()
    a_lower, a_upper = bounds.a_lower.copy(), bounds.a_upper.copy()
    a_lower[points] = a_upper[points] = a
    if not needed.all():
        candidates = candidates.select(needed[candidates.point])
    b, neighbor = nearest_candidate(x, candidates, sums)
    exact = np.isfinite(b)
    b_lower, b_upper = np.where(exact, b, bounds.b_lower), np.where(exact, b, bounds.b_upper)
    return MeanDistances(a_lower, a_upper, b_lower, b_upper, neighbor)


def nearest_candidate(
    x: Floats, candidates: Candidates, sums: DistanceSums, *, sign: float = 1.0
) -> tuple[Floats, Integers]:
    """Return exact mean distances to the nearest other clusters, and the indices of these clusters.

    Without candidates, the distance is infinite and the index is -1. The mean distance to the
    candidate with the smallest upper bound is computed first, because it rules out most of the
    others. Like the bounds, the means are multiplied by `sign`: with -1, the furthest cluster
    becomes the nearest.
    """
    point, cluster = candidates.point, candidates.cluster
    is_first = np.bincount(point, minlength=len(x))[point] == 1
    rivals = np.flatnonzero(~is_first)
    keys = (cluster[rivals], candidates.upper[rivals], point[rivals])
    order = rivals[np.lexsort(keys)]
    is_first[order[np.flatnonzero(np.diff(point[order], prepend=-1))]] = True
    least = np.full(len(x), np.inf)
    means = np.full(len(is_first), np.inf)
    for turn in (is_first, ~is_first):
        pairs = np.flatnonzero(turn & (candidates.lower <= least[point]))
        distances = sums.pair_sums(x, point[pairs], cluster[pairs])
        means[pairs] = sign * distances / sums.sizes[cluster[pairs]]
        np.minimum.at(least, point[pairs], means[pairs])
    neighbor = np.full(len(x), -1)
    # Of equally near clusters, the lowest is chosen: the pairs of a point are sorted by cluster,
    # and the last assignment counts.
    nearest = np.flatnonzero(means == least[point])[::-1]
    neighbor[point[nearest]] = cluster[nearest]
    return least, neighbor


# ----------------------------------------------------------------------------------------------
# Choices by distance and method
# ----------------------------------------------------------------------------------------------


def prepare_bounds_and_sums(
    part: Partition, is_query: Booleans, distance: Distance, *, with_second: bool = True
) -> tuple[MomentBounds | CityblockTables, DistanceSums]:
    """Return what bounds the mean distances of queries to clusters, and what sums them exactly.

    For cityblock, the two share the sorted coordinates. with_second computes second moments, which
    tighten the lower bounds on Euclidean distances.
    """
    if distance.name == "cityblock":
        coordinates = SortedCoordinates(part)
        own_sums = coordinates.own_sums[is_query]
        sums = SortedDistanceSums(part, distance, coordinates, own_sums)
        return CityblockTables(coordinates, is_query), sums
    clusters = cluster_moments(part, distance)
    with_second = with_second and distance.name == "euclidean"
    second = second_moments(part, clusters) if with_second else None
    return MomentBounds(clusters, second, distance), DistanceSums(part, distance)


def partition_means(
    part: Partition, is_query: Booleans, distance: Distance, tolerance: float | None
) -> tuple[MeanDistances, Booleans]:
    """Return the mean distances of a partition's m queries, and flags (m,) that mark exact results.

    With a tolerance, some mean Euclidean distances may be bounds, as long as the mean width (upper
    - lower) of all silhouettes does not exceed it. See queries_to_evaluate.
    """
    x, own_cluster = part.x, part.numbers
    if not is_query.all():
        x, own_cluster = x[is_query], own_cluster[is_query]
    bounds, sums = prepare_bounds_and_sums(part, is_query, distance)
    tolerates = tolerance is not None and distance.name == "euclidean"
    candidates = find_candidates(x, own_cluster, sums.sizes, bounds, refine_all=tolerates)
    needed = np.ones(len(x), dtype=bool)
    if tolerates:
        lower, upper = candidates.mean_distances().silhouettes(sums.sizes[own_cluster])
        ids = part.rows["id"].filter(pl.Series(is_query))
        id_ranks = ids.arg_sort(nulls_last=True).arg_sort().to_numpy()
        needed = queries_to_evaluate(upper - lower, id_ranks, float(tolerance or 0))
    return exact_means(x, own_cluster, candidates, needed, sums), needed


def make_mean_distance_function(
    moments: PartitionMoments,
    distance: Distance,
    method: str,
    between: Between,
    *,
    with_neighbor: bool,
) -> MeanDistanceFunction:
    """Return a function of points x (m, d) and their own clusters (m,) in a partition.

    It returns distances to centers for 'simplified', exact means for sqeuclidean and cosine (with
    neighbor only if with_neighbor is true), and bounds for other distances. It does not read the
    points of the clusters, so it can be called for streamed points, batch by batch.
    """
    clusters = moments.clusters
    if method == "simplified":
        sizes, centers = clusters.sizes, moments.centers
        return lambda x, own_cluster: simplified_means(
            x, own_cluster, sizes, centers, distance, between
        )
    if distance.is_squared:
        squared = SquaredMeans(clusters, distance, between)
        return partial(squared.means, with_neighbor=with_neighbor)
    bounds = MomentBounds(clusters, moments.second, distance)

    def bound_means(x: Floats, own_cluster: Integers) -> MeanDistances:
        """Return bounds on a and b for points x (m, d)."""
        sizes = clusters.sizes
        return find_candidates(x, own_cluster, sizes, bounds, refine_all=True).mean_distances()

    return bound_means


# ----------------------------------------------------------------------------------------------
# Other definitions of b
# ----------------------------------------------------------------------------------------------


def other_partition_means(
    part: Partition, is_query: Booleans, distance: Distance, between: Between
) -> MeanDistances:
    """Return the exact mean distances of a partition's queries for 'mean_other' or 'furthest'."""
    x, own_cluster = part.x[is_query], part.numbers[is_query]
    bounds, sums = prepare_bounds_and_sums(part, is_query, distance, with_second=False)
    a = sums.own_sums(x, np.arange(len(x)), own_cluster)
    a /= np.maximum(sums.sizes[own_cluster] - 1, 1)
    if between == "mean_other":
        b = _means_to_all_others(x, own_cluster, sums)
        return MeanDistances(a, a, b, b, np.full(len(x), -1))
    block = partial(_furthest_candidates, bounds=bounds)
    candidates = _bound_in_blocks(block, x, own_cluster, bounds.rows_per_call, len(sums.sizes))
    b, neighbor = nearest_candidate(x, candidates, sums, sign=-1.0)
    b = np.where(neighbor < 0, np.nan, -b)
    return MeanDistances(a, a, b, b, neighbor)


def _means_to_all_others(x: Floats, own_cluster: Integers, sums: DistanceSums) -> Floats:
    """Return the mean distances (m,) from x (m, d) to all points of other clusters, or NaN.

    The sums of distances to the other clusters are added up. Subtracting the sum over a point's own
    cluster from the sum over all points would lose precision.
    """
    totals = np.empty(len(x))
    step = max(1, _PAIRS_PER_BLOCK // len(sums.sizes))
    clusters = np.arange(len(sums.sizes))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        point, cluster = np.nonzero(clusters != own_cluster[rows, None])
        distances = sums.pair_sums(x[rows], point, cluster)
        totals[rows] = np.bincount(point, distances, minlength=len(totals[rows]))
    counts = sums.sizes.sum() - sums.sizes[own_cluster]
    return np.asarray(np.divide(totals, counts, out=np.full(len(x), np.nan), where=counts > 0))


def _furthest_candidates(
    x: Floats, own: Integers, start: int, bounds: MomentBounds | CityblockTables
) -> Candidates:
    """Return the other clusters that may be furthest from each point of a block x (m, d).

    A cluster may be the furthest if its upper bound is at least the largest lower bound of the
    other clusters. Their bounds are negated, so that the furthest cluster becomes the nearest.
    """
    points = np.arange(len(x))
    lower, upper = bounds.lower_and_upper(x, own, slice(start, start + len(x)))
    a_lower, a_upper = lower[points, own], upper[points, own]
    lower[points, own] = upper[points, own] = -np.inf
    b_lower = lower.max(axis=1)
    point, cluster = np.nonzero((upper >= b_lower[:, None]) & (upper > -np.inf))
    pairs = -upper[point, cluster], -lower[point, cluster]
    return Candidates(a_lower, a_upper, -b_lower, point + start, cluster, *pairs)
