"""extreme_pairs: the largest distance within a cluster, and the smallest distance between clusters.

The triangle inequality rules out most pairs of points, so their distances are never computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from . import measured_pairs
from .arrays import measure_differences
from .cell_grids import CellGrid, flag_first_copies
from .distance_blocks import DISTANCES_PER_BLOCK, TILE_POINTS, distance_blocks, distance_matrix
from .threads import run_in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_clustereval.internal.distances import Distance

    from .arrays import Booleans, Floats, Integers
    from .partitions import Partition

#: A distance, or an array of distances.
Distances = TypeVar("Distances", float, "Floats")

#: The number of points of a cluster that give a first bound of its diameter or separation.
_CANDIDATES = 64
#: The number of pairs of clusters that give the first bound of the separation.
_LIKELY_PAIRS = 32
#: Number of clusters up to which each point is compared with every ball.
_MAX_CLUSTERS_FOR_BORDER = 256
#: The number of points whose neighbors are searched together.
_POINTS_PER_BLOCK = 2**13
#: Up to this number of points, all pairs are measured, because a grid would take longer.
_MAX_POINTS_WITHOUT_GRID = 512

# ----------------------------------------------------------------------------------------------
# Metrics
# ----------------------------------------------------------------------------------------------


class Metric(NamedTuple):
    """A distance that obeys the triangle inequality and can be converted to the user's distance.

    It equals the user's `distance`, except for sqeuclidean and cosine, for which it is Euclidean.
    For cosine, it is the length of the chord between two unit vectors, and sqrt(2) from a zero
    vector to any vector, including itself, as if the vectors were orthogonal.
    """

    distance: Distance

    def matrix(self, x: Floats, y: Floats) -> Floats:
        """Return the metric distances (m, n) between points x (m, d) and points y (n, d)."""
        return self._convert(distance_matrix(x, y, self._block_distance))

    def blocks(self, x: Floats, y: Floats) -> Iterator[Floats]:
        """Yield the metric distances (m, n) from x (m, d) to y (n, d), a few rows at a time."""
        for _, block in distance_blocks(x, y, self._block_distance, TILE_POINTS**2):
            yield self._convert(block)

    def least_distance(self, x: Floats, y: Floats) -> float:
        """Return the smallest metric distance between a point of x (m, d) and a point of y (n, d).

        The smallest distance in each block is recomputed from coordinate differences, because those
        of a matrix product are less accurate.
        """
        least, start = np.inf, 0
        for block in self.blocks(x, y):
            i, j = np.unravel_index(np.argmin(block), block.shape)
            least = min(least, float(self.row_distances(x[[start + i]], y[j])[0]))
            start += len(block)
        return least

    def row_distances(self, x: Floats, y: Floats) -> Floats:
        """Return the metric distance from each row of x (m, d) to its row of y, or to y itself."""
        measured_pairs.on_measured(len(x))
        d = measure_differences(x - y, *self._block_distance)
        if self.distance.name == "cosine":
            d[~(x.any(axis=1) & y.any(axis=-1))] = 1.0
        return self._convert(d)

    def to_distance(self, d: Distances) -> Distances:
        """Return the distance that the user selected, converted from the metric distance d."""
        if self.distance.name == "cosine":
            return d * d / 2
        return d * d if self.distance.name == "sqeuclidean" else d

    def from_distances(self, d: Floats) -> Floats:
        """Return metric distances, converted from distances d that the user selected."""
        return np.asarray(np.sqrt(d)) if self.distance.name == "sqeuclidean" else self._convert(d)

    @property
    def _block_distance(self) -> Distance:
        """The selected distance, with sqeuclidean replaced by Euclidean. It is used for blocks."""
        name = self.distance.name
        return self.distance._replace(name="euclidean") if name == "sqeuclidean" else self.distance

    def _convert(self, d: Floats) -> Floats:
        """Convert distances d computed with _block_distance to metric distances."""
        return np.asarray(np.sqrt(2.0 * d)) if self.distance.name == "cosine" else d


# ----------------------------------------------------------------------------------------------
# Diameters
# ----------------------------------------------------------------------------------------------


def metric_diameters(part: Partition, metric: Metric) -> Floats:
    """Return the diameter of each cluster: the largest metric distance between its points."""
    diameters = np.zeros(len(part.sizes))
    for i in np.flatnonzero(part.sizes > 1).tolist():
        diameters[i] = _largest_distance(part.points_of_cluster(i), metric)
    return diameters


def _largest_distance(x: Floats, metric: Metric) -> float:
    """Return the largest metric distance between two of the points x (m, d).

    Two points at distances r and s from the mean of x are at most r + s apart. Once the distance
    between two points is known, only pairs for which r + s exceeds it need to be checked.
    """
    if len(x) <= _CANDIDATES:
        return float(metric.matrix(x, x).max())
    radii = metric.row_distances(x, x.mean(axis=0))
    outward = np.argsort(-radii)
    x, radii = x[outward], radii[outward]
    candidates = x[:_CANDIDATES]
    largest = max(metric.matrix(candidates, candidates).max(), metric.row_distances(x, x[0]).max())
    is_outer = radii > largest - radii[0]
    is_outer[is_outer] = flag_first_copies(x[is_outer], np.zeros(is_outer.sum(), np.int64))
    x, radii = x[is_outer], radii[is_outer]
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


class Balls(NamedTuple):
    """Balls around the means (k, d) of clusters that contain all of their points."""

    centers: Floats
    radii: Floats


def bounding_balls(part: Partition, metric: Metric) -> Balls:
    """Return the bounding balls of a partition's clusters, with metric distances as radii."""
    starts = part.starts[:-1]
    centers = np.add.reduceat(part.x, starts, axis=0) / part.sizes[:, None]
    distances = metric.row_distances(part.x, centers[part.numbers])
    return Balls(centers, np.maximum.reduceat(distances, starts))


def metric_separation(part: Partition, metric: Metric) -> float:
    """Return the smallest metric distance between points in different clusters of a partition."""
    balls = bounding_balls(part, metric)
    bound = _separation_bound(part, balls, metric)
    x, numbers = part.x, part.numbers
    if len(part.sizes) <= _MAX_CLUSTERS_FOR_BORDER:
        border = _flag_border_points(part, balls, metric, bound)
        x, numbers = x[border], numbers[border]
    return _separation_by_grid(x, numbers, metric, bound)


def _separation_bound(part: Partition, balls: Balls, metric: Metric) -> float:
    """Return an upper bound on the smallest metric distance between points in different clusters.

    For each pair of clusters from _likely_cluster_pairs, the points nearest to the midpoint between
    the two centers are compared.
    """
    bound = np.inf
    for i, j in _likely_cluster_pairs(balls, metric):
        midpoint = (balls.centers[i] + balls.centers[j]) / 2
        x, y = (part.x[nearest_candidates(part, c, midpoint)] for c in (i, j))
        bound = min(bound, metric.least_distance(x, y))
    return float(bound)


def nearest_candidates(part: Partition, number: int, target: Floats) -> Integers:
    """Return the rows of up to _CANDIDATES points of a cluster, those nearest to `target` (d,)."""
    x, start = part.points_of_cluster(number), part.starts[number]
    if len(x) <= _CANDIDATES:
        return np.arange(start, start + len(x))
    differences = x - target
    squares = np.einsum("ij,ij->i", differences, differences)
    return np.asarray(start + np.argpartition(squares, _CANDIDATES)[:_CANDIDATES])


def _likely_cluster_pairs(balls: Balls, metric: Metric) -> Integers:
    """Return at most _LIKELY_PAIRS pairs (pairs, 2) of clusters whose balls are nearest."""
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
    """Return the flat indices of the _LIKELY_PAIRS smallest entries of the matrix `gap`."""
    if gap.size <= 1024:
        return np.argsort(gap, axis=None)[:_LIKELY_PAIRS]
    return np.argpartition(gap, _LIKELY_PAIRS, axis=None)[:_LIKELY_PAIRS]


def _flag_border_points(part: Partition, balls: Balls, metric: Metric, bound: float) -> Booleans:
    """Return a mask of the points that may be closer than `bound` to a point of another cluster.

    A point that is closer than `bound` to a cluster is closer than bound + radius to the center of
    the cluster's ball.
    """
    is_border = np.zeros(len(part.x), dtype=bool)
    for j, (center, radius) in enumerate(zip(*balls, strict=True)):
        is_near = metric.row_distances(part.x, center) < bound + radius
        is_near[part.starts[j] : part.starts[j + 1]] = False
        is_border |= is_near
    return is_border


def _separation_by_grid(x: Floats, numbers: Integers, metric: Metric, bound: float) -> float:
    """Return the smallest metric distance between points in different clusters, or `bound`.

    The cluster numbers (m,) are in ascending order. In each coordinate, two points differ by at
    most the distance between them. Therefore, distances are needed only for pairs of points in the
    same grid cell or near a cell border. Pairs within cells are compared first to obtain a tighter
    bound, and one sixteenth of the points before all, because a tighter bound allows smaller cells,
    which contain fewer pairs.
    """
    if len(x) <= _MAX_POINTS_WITHOUT_GRID:
        return _separation_by_all_pairs(x, numbers, metric, bound)
    is_first = flag_first_copies(x, numbers)
    x, numbers = x[is_first], numbers[is_first]

    def least_distance(pairs: Iterator[tuple[Integers, Integers]]) -> float:
        """Return the smallest distance between points in different clusters, capped at `bound`."""
        least = bound
        for i, j in pairs:
            different = numbers[i] != numbers[j]
            i, j = i[different], j[different]
            if len(i):
                least = min(least, float(metric.row_distances(x[i], x[j]).min()))
        return least

    deviations = x.std(axis=0)
    for step in (16, 1):
        pairs = CellGrid.for_bounds(x[::step], bound, deviations).pairs_in_cells()
        bound = least_distance((i * step, j * step) for i, j in pairs)
        if bound == 0:
            return bound
    grid = CellGrid.within_reach(x, bound, deviations)
    if grid.approximate_steps > len(x) ** 2 / 16:
        return _separation_by_all_pairs(x, numbers, metric, bound)
    blocks = np.array_split(np.arange(len(x)), -(-len(x) // _POINTS_PER_BLOCK))
    return min(run_in_threads(least_distance, list(map(grid.pairs_within_reach, blocks)), x.size))


def _separation_by_all_pairs(x: Floats, numbers: Integers, metric: Metric, bound: float) -> float:
    """Return the result of _separation_by_grid, computed from all point pairs across clusters."""
    stops = np.flatnonzero(np.diff(numbers)) + 1
    for start, stop in zip(np.concatenate([[0], stops]), stops, strict=False):
        for tile in range(stop, len(x), TILE_POINTS):
            bound = min(bound, metric.least_distance(x[start:stop], x[tile : tile + TILE_POINTS]))
    return bound
