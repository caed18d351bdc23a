"""mean_distance_bounds: bounds of mean distances, and the clusters that they leave to measure.

x (m, d) are the queries, the points whose mean distances to all k clusters are bounded; y are the
points of a cluster. The mean distance of a query to its own cluster is a, to the nearest other b.
MomentBounds and CityblockTables bound means over all points of a cluster, for the own cluster with
the query itself; find_candidates corrects the bounds of a for that.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
    from .kernels.partitions import Partition

    MeasureFunction = Callable[[Floats, Integers], MeanDistances]

#: Rounding error of a bound relative to its terms: thousands of times what was observed, and
#: negligible beside the width of an interval.
SLACK = 1e-12


#: The square of a smaller number has lost digits, or is 0.
TINY = 1e-140


#: Relative rounding error of single precision.
SINGLE_PRECISION_ERROR = float(np.finfo(np.float32).eps)


# ----------------------------------------------------------------------------------------------
# Bounds of the mean distances of m points to all k clusters, all points of the own one included
# ----------------------------------------------------------------------------------------------


class MomentBounds:
    """Bounds of mean distances from the moments of the clusters.

    The norm of a mean is at most the mean of the norms (Jensen); the other bounds are the triangle
    inequality.
    """

    def __init__(
        self, clusters: ClusterMoments, second: SecondMoments | None, distance: Distance
    ) -> None:
        self._clusters = clusters
        #: Whether `refine_lower` can raise the lower bounds.
        self.is_refinable = second is not None
        self._second = second
        self._largest_variances = None if second is None else second.largest_variances
        self._distance = distance
        self._targets = TargetPoints(clusters.means, distance)
        self.n_clusters = len(clusters.sizes)
        #: Points to bound at a time.
        self.rows_per_call = max(16, SINGLE_THREAD_MULTIPLICATIONS // clusters.means.size)

    def lower_and_upper(self, x: Floats, rows: slice) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return bounds (m, k) for points x (m, d), which are these rows of all queries."""
        if self._distance.name == "euclidean":
            return self._euclidean_bounds(x)
        if self._distance.name == "cityblock":
            return _cityblock_bounds(x, self._clusters)
        mean_distances = self._clusters.mean_distances
        to_mean = self._targets.distances(x)
        lower = np.maximum(to_mean, mean_distances - to_mean)
        return lower * (1 - SLACK), (to_mean + mean_distances) * (1 + SLACK)

    def _euclidean_bounds(self, x: Floats) -> tuple[Floats, Floats]:
        """Return bounds (m, k): the root of the mean square bounds a mean distance from above.

        The lower bound is the distance to the mean, or better with second moments.
        """
        squares = self._targets.squares(x)
        total_variances = self._clusters.variances.sum(axis=1)
        slack = SLACK * (squares.max(axis=1, keepdims=True) + total_variances)
        mean_squares = squares + total_variances
        lower = np.sqrt(np.maximum(squares - slack, 0.0))
        if self._second is not None and self._largest_variances is not None:
            variance = self._second.tails + 4 * (
                self._largest_variances * squares - self._skew_products(x)
            )
            lower = np.maximum(lower, _root_mean_lower_bound(mean_squares, variance))
        mean_squares += slack
        return lower, np.sqrt(mean_squares, out=mean_squares)

    def _skew_products(self, x: Floats) -> Floats:
        """Return lower bounds (m, k) of the product of x - mean with a cluster's skews."""
        assert self._second is not None
        skews, means = self._second.skews, self._clusters.means
        products = x @ skews.T - np.einsum("ij,ij->i", means, skews)
        norms = np.linalg.norm(x, axis=1)[:, None] + np.linalg.norm(means, axis=1)
        return np.asarray(products - 1e-14 * norms * np.linalg.norm(skews, axis=1))

    def refine_lower(self, x: Floats, number: int) -> Floats:
        """Return better lower bounds (m,) for the cluster of this number, from its covariances."""
        assert self._second is not None
        offsets = x - self._clusters.means[number]
        squares = np.einsum("ij,ij->i", offsets, offsets)
        spread = np.einsum("ij,ij->i", offsets @ self._second.covariances[number], offsets)
        variance = self._second.tails[number] + 4 * (spread - offsets @ self._second.skews[number])
        return _root_mean_lower_bound(squares + self._clusters.variances[number].sum(), variance)


def _root_mean_lower_bound(mean: Floats, variance: Floats) -> Floats:
    """Return a lower bound of the mean of sqrt(Z), where Z >= 0 is a random variable.

    `mean` is the mean of Z, `variance` an upper bound of its variance. The bound follows from
    sqrt(t) >= 1 + (t-1)/2 - (t-1)^2/2 at t = Z / mean. It is 0 if mean is too small or variance too
    large for a float.
    """
    usable = (mean > TINY) & np.isfinite(variance)
    divisor = np.where(usable, mean, 1.0)
    variance = variance + SLACK * divisor * divisor
    lower = np.sqrt(mean) * (1 - SLACK - variance / (2 * divisor * divisor))
    return np.asarray(np.where(usable, lower, 0.0))


def _cityblock_bounds(x: Floats, clusters: ClusterMoments) -> tuple[Floats, Floats]:
    """Return bounds (m, k) of mean cityblock distances, as sums over the coordinates.

    In each coordinate, |u| <= mean of |x - y| over the cluster's points y <= sqrt(u^2 + v), where u
    = x - mean and v is the cluster's variance.
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
    """Bounds of mean cityblock distances from tables of a function of each coordinate.

    The mean of |x - y| over the points y of a cluster is convex in x. Between two nodes it is at
    most the chord, and at least the tangents at the nodes, which lie at most `gap` below the chord.
    Chords in single precision take half the time; their rounding error is added to the gap.
    """

    def __init__(self, coordinates: SortedCoordinates, is_query: Booleans) -> None:
        self._nodes = coordinates.nodes
        intervals = coordinates.intervals
        self._intervals = intervals if is_query.all() else intervals[:, is_query]
        members = list(zip(*coordinates.columns, strict=True))
        tables = run_in_threads(lambda i: self._chords(i, members[i]), range(len(members)))
        starts, slopes, self._gaps = zip(*tables, strict=True)
        #: Divides values so that they are in the range of single precision.
        self._scale = max(float(values.max(initial=0.0)) for values in starts) or 1.0
        self._starts = [(values / self._scale).astype(np.float32) for values in starts]
        self._slopes = [slope.astype(np.float32) for slope in slopes]
        #: Points to bound at a time.
        self.rows_per_call = max(16, DISTANCES_PER_BLOCK // len(coordinates.columns))

    def _chords(self, i: int, members: Sequence[Floats]) -> tuple[Floats, Floats, Floats]:
        """Return start and slope (intervals, k) of the chords of coordinate i, and gap and error.

        `members` are the sorted coordinates of each cluster. Gap and error (intervals, 2) are
        common to all clusters: that leaves a third less to look up, and the bounds are little
        wider.
        """
        nodes = self._nodes[:, i]
        values, slopes = np.empty((2, len(nodes), len(members)))
        for number, y in enumerate(members):
            values[:, number] = absolute_sums(y, nodes) / len(y)
            # On the right of a node; on the left it is less by the share of points on the node.
            slopes[:, number] = 2.0 * np.searchsorted(y, nodes, "right") / len(y) - 1
        width = np.diff(nodes)[:, None]
        rise = np.diff(values, axis=0)
        right, left = rise - slopes[:-1] * width, np.minimum(slopes[1:], 1.0) * width - rise
        gap = _ratio_or_zero(np.maximum(right, 0.0) * np.maximum(left, 0.0), right + left)
        # Between -1 and 1, except for rounding where nodes nearly coincide.
        slope = np.clip(_ratio_or_zero(rise, np.broadcast_to(width, rise.shape)), -1.0, 1.0)
        # A chord is rounded several times, and the sum over coordinates once with each of them.
        roundings = 32 + 4 * self._nodes.shape[1]
        largest = np.maximum(values[:-1], values[1:]).max(axis=1)
        errors = roundings * SINGLE_PRECISION_ERROR * largest
        return values[:-1], slope, np.column_stack([gap.max(axis=1), errors])

    def lower_and_upper(self, x: Floats, rows: slice) -> tuple[Floats, Floats]:
        """Return bounds (m, k) for points x (m, d), which are these rows of all queries."""
        total = np.zeros((len(x), self._starts[0].shape[1]), np.float32)
        # Allocated once: allocation takes longer than all else.
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
    """Return part / whole, 0 where whole is not positive."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


# ----------------------------------------------------------------------------------------------
# Candidates
# ----------------------------------------------------------------------------------------------


class Candidates(NamedTuple):
    """The clusters that the bounds leave as nearest other ones of m points, the candidates.

    a_lower, a_upper and b_upper bound a and b. `point` and `cluster` are the numbers of q pairs of
    a point and a candidate, sorted by point; `lower` and `upper` bound the mean distance of a pair.
    """

    #: (m,)
    a_lower: Floats
    a_upper: Floats
    #: (m,): least upper bound of the other clusters.
    b_upper: Floats
    #: (q,)
    point: Integers
    cluster: Integers
    lower: Floats
    upper: Floats

    def select(self, chosen: Booleans) -> Candidates:
        """Return the pairs where `chosen` (q,) holds; all points remain."""
        return self._replace(
            point=self.point[chosen],
            cluster=self.cluster[chosen],
            lower=self.lower[chosen],
            upper=self.upper[chosen],
        )

    def mean_distances(self) -> MeanDistances:
        """Return the bounds of a and b, without a neighbor."""
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
    """Return the candidates of points x (m, d), given the numbers of their own clusters (m,).

    `sizes` (k,) are those of the clusters. Lower bounds are refined where that can leave out a
    cluster, or everywhere with refine_all.
    """

    def bound_block(start: int) -> Candidates:
        rows = slice(start, start + bounds.rows_per_call)
        return _block_candidates(x[rows], own_cluster[rows], start, bounds)

    blocks = run_in_threads(bound_block, range(0, max(1, len(x)), bounds.rows_per_call))
    candidates = Candidates(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    if isinstance(bounds, MomentBounds) and bounds.is_refinable:
        candidates = _refine_candidates(candidates, x, own_cluster, bounds, refine_all=refine_all)
    sizes = sizes[own_cluster]
    others = sizes / np.maximum(sizes - 1, 1)
    a_lower = np.where(sizes == 1, 0.0, np.maximum(candidates.a_lower, 0.0) * others)
    a_upper = np.where(sizes == 1, 0.0, candidates.a_upper * others)
    return candidates._replace(a_lower=a_lower, a_upper=a_upper)


def _block_candidates(
    x: Floats, own_cluster: Integers, start: int, bounds: MomentBounds | CityblockTables
) -> Candidates:
    """Return the candidates of a block of the queries, which starts at row `start` of them."""
    lower, upper = bounds.lower_and_upper(x, slice(start, start + len(x)))
    a_lower, a_upper = take_own_means(lower, own_cluster), take_own_means(upper, own_cluster)
    b_upper = upper.min(axis=1)
    point, cluster = np.nonzero((lower <= b_upper[:, None]) & np.isfinite(lower))
    pairs = lower[point, cluster], upper[point, cluster]
    return Candidates(a_lower, a_upper, b_upper, point + start, cluster, *pairs)


def _refine_candidates(
    candidates: Candidates,
    x: Floats,
    own_cluster: Integers,
    bounds: MomentBounds,
    *,
    refine_all: bool,
) -> Candidates:
    """Return the candidates with raised lower bounds, without those that are then too far.

    Points with one candidate are left as they are, unless refine_all.
    """
    points_per_call = max(16, SINGLE_THREAD_MULTIPLICATIONS // x.shape[1] ** 2)

    def raise_lower(lower: Floats, points: Integers, clusters: Integers, pairs: Integers) -> Floats:
        """Return the bounds `lower` of points and clusters, raised for these `pairs` of them."""
        raised = lower.copy()

        def raise_cluster(number: int, points: Integers, places: Integers) -> None:
            places = pairs[places]
            raised[places] = np.maximum(raised[places], bounds.refine_lower(x[points], number))

        call_by_cluster(
            raise_cluster,
            points[pairs],
            clusters[pairs],
            bounds.n_clusters,
            points_per_call=points_per_call,
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


def queries_to_evaluate(widths: Floats, places: Integers, tolerance: float) -> Booleans:
    """Return the fewest queries (m,), widest first, that leave the mean no wider than tolerance.

    `widths` (m,) are those of the silhouettes' intervals; among equal ones the queries with the
    least `places` (m,) come first.
    """
    widths = np.nan_to_num(widths)
    order = np.lexsort((places, -widths))
    # The total width if the first 0, 1, ... queries are evaluated, summed from the narrowest.
    remaining = np.append(np.cumsum(widths[order][::-1])[::-1], 0.0)
    n_needed = int(np.argmax(remaining <= tolerance * len(widths)))
    needed = np.zeros(len(widths), dtype=bool)
    needed[order[:n_needed]] = True
    return needed


def exact_means(
    x: Floats, own_cluster: Integers, candidates: Candidates, needed: Booleans, sums: DistanceSums
) -> MeanDistances:
    """Return exact means of the points of x (m, d) where `needed` (m,) holds, bounds of the others.

    `sums` computes the sums of distances to the clusters.
    """
    points = np.flatnonzero(needed)
    clusters = own_cluster[points]
    a = sums.own_sums(x, points, clusters) / np.maximum(sums.sizes[clusters] - 1, 1)
    bounds = candidates.mean_distances()
    a_lower, a_upper = bounds.a_lower.copy(), bounds.a_upper.copy()
    a_lower[points] = a_upper[points] = a
    if not needed.all():
        candidates = candidates.select(needed[candidates.point])
    b, neighbor = _nearest_candidate(x, candidates, sums)
    exact = np.isfinite(b)
    b_lower, b_upper = np.where(exact, b, bounds.b_lower), np.where(exact, b, bounds.b_upper)
    return MeanDistances(a_lower, a_upper, b_lower, b_upper, neighbor)


def _nearest_candidate(
    x: Floats, candidates: Candidates, sums: DistanceSums
) -> tuple[Floats, Integers]:
    """Return the least mean distance to a candidate (m,), and its cluster (m,).

    They are infinite and -1 if there is none. The candidate with the least upper bound is measured
    first: its mean rules out more of the others.
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
        means[pairs] = distances / sums.sizes[cluster[pairs]]
        np.minimum.at(least, point[pairs], means[pairs])
    neighbor = np.full(len(x), -1)
    # Of equally near clusters the lowest: pairs of a point are sorted by cluster, and the last
    # assignment counts.
    nearest = np.flatnonzero(means == least[point])[::-1]
    neighbor[point[nearest]] = cluster[nearest]
    return least, neighbor


# ----------------------------------------------------------------------------------------------
# Choices by distance and method
# ----------------------------------------------------------------------------------------------


def prepare_bounds_and_sums(
    part: Partition, is_query: Booleans, distance: Distance
) -> tuple[MomentBounds | CityblockTables, DistanceSums]:
    """Return the bounds of the mean distances in a partition, and what sums distances exactly.

    is_query (m,) tells which points of the partition are queries.
    """
    if distance.name == "cityblock":
        coordinates = SortedCoordinates(part)
        own_sums = coordinates.own_sums[is_query]
        sums = SortedDistanceSums(part, distance, coordinates, own_sums)
        return CityblockTables(coordinates, is_query), sums
    clusters = cluster_moments(part, distance)
    second = second_moments(part, clusters) if distance.name == "euclidean" else None
    return MomentBounds(clusters, second, distance), DistanceSums(part, distance)


def choose_measure(
    moments: PartitionMoments, distance: Distance, method: str, *, with_neighbor: bool
) -> MeasureFunction:
    """Return the function that gives the mean distances of points to the clusters they need.

    It uses only the moments of the clusters: the means are exact for the simplified method and for
    squared distances, and bounded otherwise. It takes points (m, d) and the numbers (m,) of their
    clusters in the partition, and finds the nearest other cluster too if `with_neighbor`.
    """
    clusters = moments.clusters
    if method == "simplified":
        sizes, centers = clusters.sizes, moments.centers
        return lambda x, own_cluster: simplified_means(x, own_cluster, sizes, centers, distance)
    if distance.name in ("sqeuclidean", "cosine"):
        return partial(SquaredMeans(clusters, distance).means, with_neighbor=with_neighbor)
    bounds = MomentBounds(clusters, moments.second, distance)

    def bound(x: Floats, own_cluster: Integers) -> MeanDistances:
        sizes = clusters.sizes
        return find_candidates(x, own_cluster, sizes, bounds, refine_all=True).mean_distances()

    return bound
