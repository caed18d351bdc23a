"""mean_distances: how far a point is from the points of each cluster, on the average, in numpy.

Squared distances have exact means from the moments of a cluster alone. Those of other distances
lie between bounds that follow from the moments, and are worked out from the points only for the
clusters that the bounds leave: the own one, and those that can be the nearest other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .pairs import CANCELLED, CELLS, SINGLE_THREADED, _distances, _in_threads, _Others, _product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from .pairs import Floats, Integers, _Partition
    from .points import _Distance

    Booleans = NDArray[np.bool_]
    Cells = NDArray[np.uint8]

__all__: list[str] = []

#: What rounding can do to a bound, of the size of what it is made from: thousands of times what was
#: seen, and nothing to the width of an interval.
SLACK = 1e-12
#: The square of a smaller number lacks digits, or is 0.
TINY = 1e-140
#: A rounding of single precision.
ROUNDING = float(np.finfo(np.float32).eps)
#: Cells of the tables of cityblock, for each coordinate.
CELLS_OF_TABLE = 64
#: Points whose distances one call works out.
POINTS = 1024


class _Spread(NamedTuple):
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


class _Clusters(NamedTuple):
    """Moments of the k clusters of one partition, in the order of their keys."""

    sizes: Floats
    #: Means of the coordinates, of unit vectors for cosine.
    centres: Floats
    variances: Floats
    #: Mean distance to the centre.
    widths: Floats
    #: Points that are zero vectors.
    zeros: Floats


class _Means(NamedTuple):
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
        lower = np.where(alone, 0.0, _silhouette(self.a_upper, self.b_lower))
        if self.exact:
            return lower, lower
        return lower, np.where(alone, 0.0, _silhouette(self.a_lower, self.b_upper))


def _silhouette(a: Floats, b: Floats) -> Floats:
    most = np.maximum(a, b)
    return np.divide(b - a, most, out=np.zeros_like(most), where=most != 0)


def _moments(part: _Partition, distance: _Distance) -> _Clusters:
    """Give the moments of the clusters of a partition."""

    def moments(y: Floats) -> tuple[Any, ...]:
        # Less the first point, so that equal points have no variance.
        off = y - y[0]
        mean = off.mean(axis=0)
        off -= mean
        centre = y[0] + mean
        of_norms = distance.name in ("chebyshev", "minkowski")
        width = _distances(y, centre[None], distance).mean() if of_norms else 0.0
        variance = np.einsum("ij,ij->j", off, off) / len(y)
        return len(y), centre, variance, width, np.count_nonzero(~y.any(axis=1))

    of_clusters = _in_threads(moments, part.members)
    return _Clusters(*(np.array(values, dtype=float) for values in zip(*of_clusters, strict=True)))


def _spread(part: _Partition, clusters: _Clusters) -> _Spread:
    """Give the second moments, cluster by cluster."""
    k, dims = clusters.centres.shape
    spread = _Spread(np.empty((k, dims, dims)), np.empty((k, dims)), np.empty(k))
    for i, points in enumerate(part.members):
        y = points - clusters.centres[i]
        squares = np.einsum("ij,ij->i", y, y)
        off = squares - squares.mean()
        spread.covariances[i] = y.T @ y / len(y)
        spread.skews[i] = off @ y / len(y)
        spread.tails[i] = off @ off / len(y)
    return spread


# ----------------------------------------------------------------------------------------------
# All clusters at once: (m, k) mean distances from m points, the own cluster's own point included
# ----------------------------------------------------------------------------------------------


class _Squares:
    """Exact mean squared distances: to the centre, and of the cluster from it.

    One column a point, one row a cluster: what is done for all points runs along the rows.
    """

    def __init__(self, clusters: _Clusters, distance: _Distance) -> None:
        self._clusters = clusters
        self._of_units = distance.name == "cosine"
        square = np.einsum("ij,ij->i", clusters.centres, clusters.centres)
        # Nothing but rounding parts a point from the centre of its equals.
        self._nothing = 1e-30 * square
        variances = clusters.variances.sum(axis=1)
        self._variances = np.where(variances < self._nothing, 0.0, variances)
        if self._of_units:
            # A zero vector has the distance 1 to all, where half its squared distance is 1/2.
            self._variances += clusters.zeros / clusters.sizes
        self._middle = clusters.centres.mean(axis=0)
        off = clusters.centres - self._middle
        self._factors = -2.0 * off
        self._constants = np.einsum("ij,ij->i", off, off) + self._variances

    def means(self, x: Floats, own: Integers, *, named: bool) -> _Means:
        """Give what these points are to their own clusters and to the nearest others.

        The others are told only where they are to be `named`.
        """
        y = x.T - self._middle[:, None]
        square = np.einsum("ij,ij->j", y, y)
        # Less |x|^2, which all clusters have.
        means = _product(self._factors, y)
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
        return _Means(a, a, b, b, neighbor)

    def _zeros_among(self, x: Floats) -> Integers:
        some = self._of_units and self._clusters.zeros.any()
        return np.flatnonzero(~x.any(axis=1)) if some else np.arange(0)

    def _to_own(self, x: Floats, own: Integers) -> Floats:
        off = x - self._clusters.centres[own]
        squares = np.einsum("ij,ij->i", off, off)
        return np.where(squares < self._nothing[own], 0.0, squares) + self._variances[own]

    def _to_nearest(self, x: Floats, own: Integers) -> tuple[Floats, Integers]:
        squares = np.zeros((len(x), len(self._constants)))
        for i in range(x.shape[1]):
            squares += (x[:, i, None] - self._clusters.centres[:, i]) ** 2
        means = np.where(squares < self._nothing, 0.0, squares) + self._variances
        points = np.arange(len(x))
        means[points, own] = np.inf
        neighbor = means.argmin(axis=1)
        return means[points, neighbor], neighbor


class _Bounds:
    """Bounds of the mean distances to all clusters.

    A norm of means is no more than the mean of norms (Jensen), and no distance is more than the
    detour over the centre.
    """

    def __init__(self, clusters: _Clusters, spread: _Spread | None, distance: _Distance) -> None:
        self._clusters = clusters
        #: Whether the lower bounds of single pairs can be raised.
        self.refinable = spread is not None
        self._spread = spread
        self._reaches = None if spread is None else spread.reaches
        self._distance = distance
        self._centres = _Others(clusters.centres, distance)
        self.count = len(clusters.sizes)
        #: Points to bound at a time.
        self.rows = max(16, SINGLE_THREADED // clusters.centres.size)

    def of(self, x: Floats, rows: slice) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Give the bounds for these points, which are those rows of all."""
        if self._distance.name == "euclidean":
            return self._euclidean(x)
        if self._distance.name == "cityblock":
            return _cityblock_bounds(x, self._clusters)
        widths = self._clusters.widths
        to_centre = self._centres.distances(x)
        lower = np.maximum(to_centre, widths - to_centre)
        return lower * (1 - SLACK), (to_centre + widths) * (1 + SLACK)

    def _euclidean(self, x: Floats) -> tuple[Floats, Floats]:
        squares = self._centres.squares(x)
        variances = self._clusters.variances.sum(axis=1)
        slack = SLACK * (squares.max(axis=1, keepdims=True) + variances)
        mean = squares + variances
        lower = np.sqrt(np.maximum(squares - slack, 0.0))
        if self._spread is not None and self._reaches is not None:
            variance = self._spread.tails + 4 * (self._reaches * squares - self._cross(x))
            lower = np.maximum(lower, _lower(mean, variance))
        mean += slack
        return lower, np.sqrt(mean, out=mean)

    def _cross(self, x: Floats) -> Floats:
        """Give (x - c) times the skew of a cluster, less what rounding may have added."""
        assert self._spread is not None
        skews, centres = self._spread.skews, self._clusters.centres
        cross = x @ skews.T - np.einsum("ij,ij->i", centres, skews)
        sizes = np.linalg.norm(x, axis=1)[:, None] + np.linalg.norm(centres, axis=1)
        return np.asarray(cross - 1e-14 * sizes * np.linalg.norm(skews, axis=1))

    def refined(self, x: Floats, number: int) -> Floats:
        """Give a better lower bound of the mean distances to one cluster."""
        assert self._spread is not None
        off = x - self._clusters.centres[number]
        squares = np.einsum("ij,ij->i", off, off)
        across = np.einsum("ij,ij->i", off @ self._spread.covariances[number], off)
        variance = self._spread.tails[number] + 4 * (across - off @ self._spread.skews[number])
        return _lower(squares + self._clusters.variances[number].sum(), variance)


def _lower(mean: Floats, variance: Floats) -> Floats:
    """Give a lower bound of the mean of sqrt(Z), from the mean and the variance of Z.

    sqrt(t) >= 1 + (t-1)/2 - (t-1)^2/2 at t = Z / mean; a variance that is too large does no harm.
    One that is too large or too small for a float tells nothing.
    """
    known = (mean > TINY) & np.isfinite(variance)
    safe = np.where(known, mean, 1.0)
    variance = variance + SLACK * safe * safe
    lower = np.sqrt(mean) * (1 - SLACK - variance / (2 * safe * safe))
    return np.asarray(np.where(known, lower, 0.0))


def _cityblock_bounds(x: Floats, clusters: _Clusters) -> tuple[Floats, Floats]:
    """Bound each coordinate by itself: |u| <= mean |x - y| <= sqrt(u^2 + v)."""
    lower = np.zeros((len(x), len(clusters.sizes)))
    upper = np.zeros_like(lower)
    for i in range(x.shape[1]):
        off = x[:, i, None] - clusters.centres[:, i]
        lower += np.abs(off)
        off *= off
        off += clusters.variances[:, i]
        upper += np.sqrt(off, out=off)
    slack = SLACK * upper.max(axis=1, keepdims=True)
    lower = np.maximum(lower, clusters.widths - lower)
    return np.maximum(lower - slack, 0.0), upper + slack


class _Sorted:
    """The points of each cluster, coordinate by coordinate, from the least to the greatest."""

    def __init__(self, part: _Partition) -> None:
        some = part.x[:: 1 + len(part.x) // 10_000]
        #: Of each coordinate one column, between which its cells lie.
        self.nodes = np.quantile(some, np.linspace(0, 1, CELLS_OF_TABLE + 1), axis=0)
        self.nodes[0], self.nodes[-1] = part.x.min(axis=0), part.x.max(axis=0)
        found = _in_threads(self._sorted, part.members)
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
            order = _order(column)
            column[:] = column[order]
            own[order] += _absolute_sums(column, column, np.arange(len(column)))
            ends = np.searchsorted(column, nodes[1:-1])
            counts = np.diff(ends, prepend=0, append=len(column))
            cell[order] = np.repeat(np.arange(CELLS_OF_TABLE, dtype=np.uint8), counts)
        return columns, own, cells


def _order(x: Floats) -> Integers:
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


class _Tables:
    """Bounds of the cityblock distances from tables of a function of each coordinate.

    The mean of |x - y| over a cluster is convex in x. Between two nodes it is no more than the
    chord, and no less than the tangents there, which are `gap` below it where they meet. Chords in
    single precision take half the time, and what they lack is added to the gap.
    """

    def __init__(self, points: _Sorted, chosen: Booleans) -> None:
        self._nodes = points.nodes
        self._cells = points.cells if chosen.all() else points.cells[:, chosen]
        members = list(zip(*points.columns, strict=True))
        tables = _in_threads(lambda i: self._table(i, members[i]), range(len(members)))
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
            at[:, number] = _absolute_sums(y, nodes) / len(y)
            # To the right of a node; to the left it is steeper down by the points on it.
            slopes[:, number] = 2.0 * np.searchsorted(y, nodes, "right") / len(y) - 1
        width = np.diff(nodes)[:, None]
        rise = np.diff(at, axis=0)
        right, left = rise - slopes[:-1] * width, np.minimum(slopes[1:], 1.0) * width - rise
        gap = _ratio(np.maximum(right, 0.0) * np.maximum(left, 0.0), right + left)
        # No more than 1, but for what rounding makes of nodes that nearly coincide.
        slope = np.clip(_ratio(rise, np.broadcast_to(width, rise.shape)), -1.0, 1.0)
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


def _absolute_sums(y: Floats, x: Floats, below: Integers | None = None) -> Floats:
    """Give the sums of |x - y| over y, from its running sums; both are sorted.

    `below` is how many of y are, given equal ones may be counted or not.
    """
    # Less the middle one, so that equal numbers sum to 0, and one far away takes no digits.
    middle = y[len(y) // 2]
    running = np.concatenate([[0.0], np.cumsum(y - middle)])
    below = np.searchsorted(y, x) if below is None else below
    sums = (x - middle) * (2.0 * below - len(y)) + (running[-1] - 2.0 * running[below])
    return np.asarray(np.maximum(sums, 0.0))


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


# ----------------------------------------------------------------------------------------------
# From the moments alone, for any points
# ----------------------------------------------------------------------------------------------


def _simplified(
    x: Floats, own: Integers, sizes: Floats, centres: Floats, distance: _Distance
) -> _Means:
    """Give the distances to the centres in place of the mean distances."""
    means = _distances(x, centres, distance)
    a = np.where(sizes[own] == 1, 0.0, _taken(means, own))
    return _nearest(a, means)


def _taken(means: Floats, own: Integers) -> Floats:
    """Take the own clusters' means out, so that the others are left."""
    rows = np.arange(len(means))
    a = means[rows, own]
    means[rows, own] = np.inf
    return a


def _nearest(a: Floats, means: Floats) -> _Means:
    neighbor = means.argmin(axis=1)
    b = means[np.arange(len(means)), neighbor]
    none = np.isinf(b)
    b[none] = np.nan
    return _Means(a, a, b, b, np.where(none, -1, neighbor))


class _Candidates(NamedTuple):
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

    def kept(self, kept: Booleans) -> _Candidates:
        """Leave out the other pairs."""
        return self._replace(
            point=self.point[kept],
            cluster=self.cluster[kept],
            lower=self.lower[kept],
            upper=self.upper[kept],
        )

    def bounds(self) -> _Means:
        """Give what the bounds tell, and no neighbour."""
        b_lower = np.full(len(self.a_lower), np.nan)
        np.fmin.at(b_lower, self.point, self.lower)
        b_upper = np.where(np.isnan(b_lower), np.nan, self.b_upper)
        nobody = np.full(len(b_lower), -1)
        return _Means(self.a_lower, self.a_upper, b_lower, b_upper, nobody)


def _candidates(
    x: Floats, own: Integers, sizes: Floats, bounds: _Bounds | _Tables, *, narrow: bool
) -> _Candidates:
    """Give the clusters that can be the nearest other, and bounds of all mean distances.

    The bounds are as narrow as can be, or only where that can leave out a cluster.
    """

    def bounded(start: int) -> _Candidates:
        rows = slice(start, start + bounds.rows)
        return _block_candidates(x[rows], own[rows], start, bounds)

    blocks = _in_threads(bounded, range(0, max(1, len(x)), bounds.rows))
    found = _Candidates(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    if isinstance(bounds, _Bounds) and bounds.refinable:
        found = _refined_candidates(found, x, own, bounds, narrow=narrow)
    sizes = sizes[own]
    others = sizes / np.maximum(sizes - 1, 1)
    a_lower = np.where(sizes == 1, 0.0, np.maximum(found.a_lower, 0.0) * others)
    a_upper = np.where(sizes == 1, 0.0, found.a_upper * others)
    return found._replace(a_lower=a_lower, a_upper=a_upper)


def _block_candidates(
    x: Floats, own: Integers, start: int, bounds: _Bounds | _Tables
) -> _Candidates:
    lower, upper = bounds.of(x, slice(start, start + len(x)))
    a_lower, a_upper = _taken(lower, own), _taken(upper, own)
    least = upper.min(axis=1)
    point, cluster = np.nonzero((lower <= least[:, None]) & np.isfinite(lower))
    pairs = lower[point, cluster], upper[point, cluster]
    return _Candidates(a_lower, a_upper, least, point + start, cluster, *pairs)


def _refined_candidates(
    found: _Candidates, x: Floats, own: Integers, bounds: _Bounds, *, narrow: bool
) -> _Candidates:
    """Raise the lower bounds, and leave out the clusters that are then too far."""

    def refined(lower: Floats, points: Integers, numbers: Integers, chosen: Integers) -> Floats:
        lower = lower.copy()

        def refine(number: int, some: Integers, places: Integers) -> None:
            places = chosen[places]
            lower[places] = np.maximum(lower[places], bounds.refined(x[some], number))

        at_most = max(16, SINGLE_THREADED // x.shape[1] ** 2)
        _by_cluster(refine, points[chosen], numbers[chosen], bounds.count, at_most)
        return lower

    several = np.bincount(found.point, minlength=len(x))[found.point] > 1
    pairs = np.flatnonzero(several | narrow)
    found = found._replace(lower=refined(found.lower, found.point, found.cluster, pairs))
    if narrow:
        everyone = np.arange(len(x))
        found = found._replace(a_lower=refined(found.a_lower, everyone, own, everyone))
    return found.kept(found.lower <= found.b_upper[found.point])


# ----------------------------------------------------------------------------------------------
# From the points
# ----------------------------------------------------------------------------------------------


def _exact(x: Floats, own: Integers, found: _Candidates, chosen: Booleans, sums: _Sums) -> _Means:
    """Give the exact means of the chosen ones of these points, and the bounds of the others."""
    points = np.flatnonzero(chosen)
    a = sums.own(x, points, own[points]) / np.maximum(sums.sizes[own[points]] - 1, 1)
    bounds = found.bounds()
    a_lower, a_upper = bounds.a_lower.copy(), bounds.a_upper.copy()
    a_lower[points] = a_upper[points] = a
    asked = found if chosen.all() else found.kept(chosen[found.point])
    b, neighbor = _nearest_of(x, asked, sums)
    some = np.isfinite(b)
    b_lower, b_upper = (np.where(some, b, of) for of in (bounds.b_lower, bounds.b_upper))
    return _Means(a_lower, a_upper, b_lower, b_upper, neighbor)


def _nearest_of(x: Floats, found: _Candidates, sums: _Sums) -> tuple[Floats, Integers]:
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


class _Sums:
    """Sums of the distances of points to all points of a cluster."""

    def __init__(self, part: _Partition, distance: _Distance) -> None:
        self.sizes = part.sizes.astype(float)
        self._distance = distance
        self._others = [_Others(y, distance) for y in part.members]

    def of(self, x: Floats, points: Integers, clusters: Integers) -> Floats:
        """Give the sum for each pair of a point, by its number in x, and a cluster."""
        sums = np.empty(len(points))

        def add(number: int, points: Integers, pairs: Integers) -> None:
            sums[pairs] = self._summed(x[points], number)

        _by_cluster(add, points, clusters, len(self.sizes), self._at_most)
        return sums

    def own(self, x: Floats, points: Integers, clusters: Integers) -> Floats:
        """Give the same where the clusters are the points' own."""
        return self.of(x, points, clusters)

    #: Points whose distances are summed at a time.
    _at_most: int | None = POINTS

    def _summed(self, x: Floats, number: int) -> Floats:
        """Add up the distances of all pairs."""
        return self._others[number].sums(x)


class _SortedSums(_Sums):
    """The same for cityblock: the sorted members' running sums tell the sum of any point."""

    def __init__(self, part: _Partition, distance: _Distance, points: _Sorted, own: Floats) -> None:
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
            order = _order(column)
            sums[order] += _absolute_sums(members, column[order])
        return sums


def _by_cluster(
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
    _in_threads(lambda call: function(call[0], points[call[1]], call[1]), calls)
