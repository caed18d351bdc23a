"""extreme_pairs: the most distant points of a cluster, and the nearest points of two clusters.

The triangle inequality excludes most pairs, whose distances are never computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import measured_pairs
from .arrays import expand_range_blocks, expand_ranges, measure_differences
from .distance_blocks import DISTANCES_PER_BLOCK, TILE_POINTS, distance_blocks, distance_matrix
from .threads import run_in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_clustereval.internal.distances import Distance

    from .arrays import Booleans, Floats, Integers
    from .partitions import Partition

#: Points of a cluster that give a first bound of its diameter, or of its separation from another.
_CANDIDATES = 64
#: Pairs of clusters that give the first bound of the separation.
_LIKELY_PAIRS = 32
#: Number of clusters up to which each point is compared with every ball.
_MAX_CLUSTERS_FOR_BORDER = 256
#: Coordinates that divide the cells of a grid, at most.
_GRID_AXES = 5
#: Odd numbers that make one key of the numbers of a cell (modulo 2^64). Cells of equal keys only add
#: pairs to be compared.
_CELL_FACTORS = np.array(
    [
        0x1F83D9ABFB41BD6B,
        0x5BE0CD19137E2179,
        0x3C6EF372FE94F82B,
        0x6A09E667F3BCC909,
        0x510E527FADE682D1,
    ],
    dtype=np.int64,
)
#: Points whose near points are searched together.
_POINTS_PER_BLOCK = 2**13
#: Number of points up to which all pairs are measured, since a grid would take longer.
_MAX_POINTS_WITHOUT_GRID = 512

# ----------------------------------------------------------------------------------------------
# Metrics
# ----------------------------------------------------------------------------------------------


class Metric(NamedTuple):
    """A distance that obeys the triangle inequality, from which the user's distance follows.

    `distance` is the user's. The metric distance is the same, except that it is euclidean for
    sqeuclidean and cosine. For cosine, points are unit vectors, and their metric distance is the
    chord; from a zero vector it is sqrt(2), as between orthogonal vectors, even to itself.
    """

    distance: Distance

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """Return the metric distances (m, n) between points x (m, d) and points y (n, d)."""
        return self._from_distance(distance_matrix(x, y, self._block_distance))

    def blocks(self, x: Floats, y: Floats) -> Iterator[Floats]:
        """Yield the metric distances (m, n) of points x (m, d) to y (n, d), some rows at a time."""
        for _, block in distance_blocks(x, y, self._block_distance, TILE_POINTS**2):
            yield self._from_distance(block)

    def least_distance(self, x: Floats, y: Floats) -> float:
        """Return the least metric distance between a point of x (m, d) and a point of y (n, d).

        Blocks may come from a product of matrices, which is less accurate: the least distance of
        each is computed again from differences of coordinates.
        """
        least, start = np.inf, 0
        for block in self.blocks(x, y):
            i, j = np.unravel_index(np.argmin(block), block.shape)
            least = min(least, float(self.row_distances(x[[start + i]], y[j])[0]))
            start += len(block)
        return least

    def row_distances(self, x: Floats, y: Floats) -> Floats:
        """Return the metric distances (m,) of rows of x (m, d) to rows of y, or to one y (d,)."""
        measured_pairs.on_measured(len(x))
        d = measure_differences(x - y, *self._block_distance)
        if self.distance.name == "cosine":
            d[~(x.any(axis=1) & y.any(axis=-1))] = 1.0
        return self._from_distance(d)

    def to_distance(self, d: float) -> float:
        """Return the user's distance of two points from their metric distance d."""
        if self.distance.name == "cosine":
            return d * d / 2
        return d * d if self.distance.name == "sqeuclidean" else d

    @property
    def _block_distance(self) -> Distance:
        """The distance that blocks are computed with: the user's, but euclidean for sqeuclidean."""
        name = self.distance.name
        return self.distance._replace(name="euclidean") if name == "sqeuclidean" else self.distance

    def _from_distance(self, d: Floats) -> Floats:
        """Return the metric distances for an array d of distances by _block_distance."""
        return np.asarray(np.sqrt(2.0 * d)) if self.distance.name == "cosine" else d


# ----------------------------------------------------------------------------------------------
# Diameters
# ----------------------------------------------------------------------------------------------


def metric_diameters(part: Partition, metric: Metric) -> Floats:
    """Return the diameter (k,) of each cluster, its points' largest metric distance."""
    diameters = np.zeros(len(part.sizes))
    for i in np.flatnonzero(part.sizes > 1).tolist():
        diameters[i] = _largest_distance(part.points_of_cluster(i), metric)
    return diameters


def _largest_distance(x: Floats, metric: Metric) -> float:
    """Return the largest metric distance between two of the points x (m, d).

    Points at distances r and s from the mean of x are at most r + s apart: once a pair has been
    found, only pairs whose r + s exceeds its distance are measured.
    """
    if len(x) <= _CANDIDATES:
        return float(metric.matrix(x, x).max())
    radii = metric.row_distances(x, x.mean(axis=0))
    outward = np.argsort(-radii)
    x, radii = x[outward], radii[outward]
    candidates = x[:_CANDIDATES]
    largest = max(metric.matrix(candidates, candidates).max(), metric.row_distances(x, x[0]).max())
    start = 0
    while start < len(x):
        stop = int(np.searchsorted(-radii, radii[start] - largest))
        if stop <= start:
            break
        step = max(1, DISTANCES_PER_BLOCK // (stop - start))
        largest = max(largest, metric.matrix(x[start : start + step], x[start:stop]).max())
        start += step
    return float(largest)


# ----------------------------------------------------------------------------------------------
# Separation
# ----------------------------------------------------------------------------------------------


class _Balls(NamedTuple):
    """Balls around the means of the clusters that hold their points: centers (k, d), radii (k,)."""

    centers: Floats
    radii: Floats


def _bounding_balls(part: Partition, metric: Metric) -> _Balls:
    """Return the balls of a partition's clusters; radii are metric distances."""
    starts = part.starts[:-1]
    centers = np.add.reduceat(part.x, starts, axis=0) / part.sizes[:, None]
    distances = metric.row_distances(part.x, centers[part.numbers])
    return _Balls(centers, np.maximum.reduceat(distances, starts))


def metric_separation(part: Partition, metric: Metric) -> float:
    """Return the least metric distance between two points of different clusters of a partition."""
    balls = _bounding_balls(part, metric)
    bound = _separation_bound(part, balls, metric)
    x, numbers = part.x, part.numbers
    if len(part.sizes) <= _MAX_CLUSTERS_FOR_BORDER:
        border = _flag_border_points(part, balls, metric, bound)
        x, numbers = x[border], numbers[border]
    return _separation_by_grid(x, numbers, metric, bound)


def _separation_bound(part: Partition, balls: _Balls, metric: Metric) -> float:
    """Return an upper bound of the least metric distance between points of different clusters.

    It is the least distance found between points near the midpoint of two centers, for the pairs of
    _likely_cluster_pairs. `balls` are those of the clusters.
    """
    bound = np.inf
    for i, j in _likely_cluster_pairs(balls, metric):
        midpoint = (balls.centers[i] + balls.centers[j]) / 2
        x, y = (_nearest_candidates(part.points_of_cluster(c), midpoint) for c in (i, j))
        bound = min(bound, metric.least_distance(x, y))
    return float(bound)


def _nearest_candidates(x: Floats, target: Floats) -> Floats:
    """Return the (at most _CANDIDATES) points of x (m, d) that are nearest to target (d,)."""
    if len(x) <= _CANDIDATES:
        return x
    differences = x - target
    squares = np.einsum("ij,ij->i", differences, differences)
    return x[np.argpartition(squares, _CANDIDATES)[:_CANDIDATES]]


def _likely_cluster_pairs(balls: _Balls, metric: Metric) -> Integers:
    """Return pairs (pairs, 2) of cluster numbers: those whose balls overlap most or are nearest.

    They are at most _LIKELY_PAIRS. `balls` are those of all clusters of a partition.
    """
    centers, radii = balls
    pairs, gaps = np.empty((0, 2), dtype=np.int64), np.empty(0)
    start = 0
    for block in metric.blocks(centers, centers):
        gap = block - radii[start : start + len(block), None] - radii
        rows = np.arange(start, start + len(block))
        gap[rows[:, None] >= np.arange(len(centers))] = np.inf
        i, j = np.unravel_index(_least_gap_indices(gap), gap.shape)
        pairs = np.concatenate([pairs, np.stack([i + start, j], axis=1)])
        gaps = np.concatenate([gaps, gap[i, j]])
        least = np.argsort(gaps)[:_LIKELY_PAIRS]
        pairs, gaps = pairs[least], gaps[least]
        start += len(block)
    return pairs[np.isfinite(gaps)]


def _least_gap_indices(gap: Floats) -> Integers:
    """Return the indices, in the flattened matrix, of the _LIKELY_PAIRS least entries of gap.

    gap[i, j] is the metric distance of two centers minus the radii of both balls.
    """
    if gap.size <= 1024:
        return np.argsort(gap, axis=None)[:_LIKELY_PAIRS]
    return np.argpartition(gap, _LIKELY_PAIRS, axis=None)[:_LIKELY_PAIRS]


def _flag_border_points(part: Partition, balls: _Balls, metric: Metric, bound: float) -> Booleans:
    """Return for each point (m,) whether it may be nearer than `bound` to another cluster.

    That is, by the metric, to one of its points. Such a point is nearer than bound + radius to the
    center of the ball of that cluster; `balls` are those of all clusters.
    """
    is_border = np.zeros(len(part.x), dtype=bool)
    for j, (center, radius) in enumerate(zip(*balls, strict=True)):
        is_near = metric.row_distances(part.x, center) < bound + radius
        is_near[part.starts[j] : part.starts[j + 1]] = False
        is_border |= is_near
    return is_border


def _separation_by_grid(x: Floats, numbers: Integers, metric: Metric, bound: float) -> float:
    """Return the least metric distance between points of different clusters, at most `bound`.

    x (m, d) are the points and `numbers` (m,) the numbers of their clusters, in ascending order. No
    coordinate of two points differs by more than their distance: in a grid, only points in the same
    cell or near its border are measured. Pairs within cells, first of a sixteenth of the points,
    then of all, give a tighter bound: narrower cells hold fewer pairs.
    """
    if len(x) <= _MAX_POINTS_WITHOUT_GRID:
        return _separation_by_all_pairs(x, numbers, metric, bound)
    deviations = x.std(axis=0)
    for step in (16, 1):
        grid = _Grid.of_cells(x[::step], bound, deviations)
        bound = _least_within_cells(grid, numbers[::step], metric, bound)
        if bound == 0:
            return bound
    grid = _Grid.within_reach(x, bound, deviations)
    if grid.approximate_steps > len(x) ** 2 / 16:
        return _separation_by_all_pairs(x, numbers, metric, bound)

    def least_distance(points: Integers) -> float:
        """Return the least distance of these points from others, at most `bound`."""
        least = bound
        for i, j in grid.pairs_within_reach(points):
            different = numbers[i] != numbers[j]
            i, j = i[different], j[different]
            if len(i):
                least = min(least, float(metric.row_distances(x[i], x[j]).min()))
        return least

    blocks = np.array_split(np.arange(len(x)), -(-len(x) // _POINTS_PER_BLOCK))
    return min(run_in_threads(least_distance, blocks, x.size))


def _least_within_cells(grid: _Grid, numbers: Integers, metric: Metric, bound: float) -> float:
    """Return the least metric distance of points of different clusters in a cell, at most `bound`.

    `numbers` (m,) are the numbers of the clusters of the grid's points. It is `bound` if the cells
    hold so many pairs that it would take longer than it can save.
    """
    starts, stops = grid.followers_in_cells()
    if int((stops - starts).sum()) > len(numbers) ** 2 / 256:
        return bound
    for i, j in expand_range_blocks(starts, stops, DISTANCES_PER_BLOCK):
        i, j = grid.order[i], grid.order[j]
        different = numbers[i] != numbers[j]
        i, j = i[different], j[different]
        if len(i):
            bound = min(bound, float(metric.row_distances(grid.x[i], grid.x[j]).min()))
    return bound


def _separation_by_all_pairs(x: Floats, numbers: Integers, metric: Metric, bound: float) -> float:
    """Return the same as _separation_by_grid, from all pairs of points in different clusters."""
    stops = np.flatnonzero(np.diff(numbers)) + 1
    for start, stop in zip(np.concatenate([[0], stops]), stops, strict=False):
        for tile in range(stop, len(x), TILE_POINTS):
            bound = min(bound, metric.least_distance(x[start:stop], x[tile : tile + TILE_POINTS]))
    return bound


class _Grid:
    """Cells of equal width along some axes, by which points that are near each other are found."""

    def __init__(self, x: Floats, axes: Integers, width: float, reach: float) -> None:
        """Assign points x (m, d) to cells of this width along the axes, coordinates in order.

        At most _GRID_AXES of the axes divide the cells. `reach` is how far from each other the
        coordinates of two points may be: at most the width.
        """
        self.x, self.axes, self.width, self.reach = x, axes, width, reach
        self.origin = x[:, axes].min(axis=0)
        cells = self._number_cells(x[:, axes])
        keys = cells @ _CELL_FACTORS[: len(axes)]
        self.order = np.argsort(keys, kind="stable")
        self.keys, starts = np.unique(keys[self.order], return_index=True)
        self.starts = np.append(starts, len(x))
        self.other_axes = np.empty(0, dtype=np.int64)

    @classmethod
    def of_cells(cls, x: Floats, bound: float, deviations: Floats) -> _Grid:
        """Return a grid in whose cells most of the points x (m, d) that are nearer than `bound` are.

        `deviations` (d,) are the standard deviations of the coordinates.
        """
        axes = np.argsort(-deviations)[:_GRID_AXES]
        return cls(x, axes, max(1.5 * bound, float(deviations.max()) * 1e-7), 0.0)

    @classmethod
    def within_reach(cls, x: Floats, bound: float, deviations: Floats) -> _Grid:
        """Return a grid that finds all pairs of points x (m, d) that are nearer than `bound`.

        Cells three times as wide as the reach have few points near a border. Where that is wide
        against the spread of the points, most points would be in few cells: then the cells are as
        wide as the reach. `deviations` (d,) are the standard deviations of the coordinates.
        """
        largest = float(deviations.max())
        is_wide = 3 * bound > largest
        # The second terms are rounding errors of coordinates and of the numbers of cells.
        reach = bound * (1 + 1e-9) + largest * 1e-11
        width = max((1.001 if is_wide else 3.0) * reach, largest * 1e-7)
        spread = int(np.count_nonzero(1.5 * deviations > bound))
        count = max(1, min(_GRID_AXES - is_wide, spread))
        axes = np.argsort(-deviations)
        grid = cls(x, axes[:count], width, reach)
        grid.other_axes = axes[count : count + 2]
        return grid

    def _number_cells(self, coordinates: Floats) -> Integers:
        """Return the numbers of the cells (m, axes) of `coordinates` (m, axes) along each axis."""
        return np.floor((coordinates - self.origin) / self.width).astype(np.int64)

    def followers_in_cells(self) -> tuple[Integers, Integers]:
        """Return for each point in `order` where those after it in its cell start and stop."""
        stops = np.repeat(self.starts[1:], np.diff(self.starts))
        return np.arange(1, len(stops) + 1), stops

    def _cells_within_reach(self, points: Integers) -> tuple[Integers, Integers]:
        """Return the cells that hold points within reach of given points, rows of x.

        They are pairs of a given point, as an index of `points`, and of the place of a cell in
        `keys`. Along the first axis only points from the given one on are searched.
        """
        coordinates = self.x[np.ix_(points, self.axes)]
        backward = np.full(len(self.axes), self.reach)
        backward[0] = 0.0
        first = self._number_cells(coordinates - backward)
        spans = self._number_cells(coordinates + self.reach) - first
        owners, keys = np.arange(len(points)), first @ _CELL_FACTORS[: len(self.axes)]
        for span, factor in zip(spans.T, _CELL_FACTORS, strict=False):
            i, step = expand_ranges(np.zeros(len(owners), dtype=np.int64), span[owners] + 1)
            owners, keys = owners[i], keys[i] + step * factor
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found = self.keys[places] == keys
        return owners[found], places[found]

    @property
    def approximate_steps(self) -> int:
        """Estimated number of pairs that are compared, and of cells that are looked up."""
        points = np.arange(0, len(self.x), -(-len(self.x) // 1024))
        _, places = self._cells_within_reach(points)
        pairs = (self.starts[places + 1] - self.starts[places]).sum()
        return int(pairs + len(places)) * len(self.x) // len(points)

    def pairs_within_reach(self, points: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield pairs of points, as rows of x, whose coordinates are within reach of each other.

        The first is one of the given points; coordinates are compared on a few axes. All pairs of
        points that are within reach are among those of all points.
        """
        owners, places = self._cells_within_reach(points)
        starts, stops = self.starts[places], self.starts[places + 1]
        for a, b in expand_range_blocks(starts, stops, DISTANCES_PER_BLOCK):
            i, j = points[owners[a]], self.order[b]
            for axis in (self.axes[0], *self.other_axes):
                column = self.x[:, axis]
                difference = column[j] - column[i]
                is_near = difference <= self.reach
                is_near &= difference >= (0.0 if axis == self.axes[0] else -self.reach)
                i, j = i[is_near], j[is_near]
            yield i, j
