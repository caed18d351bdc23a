"""density_separations: the separations of clusters in density_based_validity.

The separation of two clusters is the smallest reachability of an inner point of one from an inner
point of the other: the largest of their distance and their core distances. Bounds rule out most
pairs of points, as for the smallest distance between clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .extreme_pairs import Balls, bounding_balls, nearest_candidates

if TYPE_CHECKING:
    from .arrays import Floats, Integers
    from .extreme_pairs import Metric
    from .partitions import Partition


#: Radii are increased by this share, which exceeds their rounding errors.
_SLACK = 1e-11


class _Search(NamedTuple):
    """The inner points of k clusters of a partition, and what is known of their separations."""

    inner: Partition
    #: (m,): the cluster of each point.
    numbers: Integers
    #: (m,): the core distance of each point.
    core: Floats
    metric: Metric
    balls: Balls
    #: (k,): the least reachability that was found from each cluster to any other.
    least: Floats

    def compare(self, rows: Integers, others: Integers) -> None:
        """Lower `least` to the reachabilities of points from points of other clusters.

        The points `rows` (m,) are all in one cluster, and the `others` (n,) are sorted by cluster.
        """
        if not len(rows) or not len(others):
            return
        x, nearest, start = self.inner.x, np.full(len(others), np.inf), 0
        for block in self.metric.blocks(x[rows], x[others]):
            np.maximum(block, self.core[rows[start : start + len(block)], None], out=block)
            np.minimum(nearest, block.min(axis=0), out=nearest)
            start += len(block)
        numbers = self.numbers[others]
        cuts = np.flatnonzero(np.diff(numbers, prepend=-1))
        found = np.minimum.reduceat(np.maximum(nearest, self.core[others]), cuts)
        for number, least in ((numbers[cuts], found), (self.numbers[rows[0]], found.min())):
            self.least[number] = np.minimum(self.least[number], least)


def density_separations(inner: Partition, core: Floats, metric: Metric) -> Floats:
    """Return the separation (k,) of each of at least two clusters from the others.

    `inner` has the inner points of a partition, with the core distances `core` (m,).
    """
    centers, radii = bounding_balls(inner, metric)
    balls = Balls(centers, radii * (1 + _SLACK))
    least = np.full(len(radii), np.inf)
    search = _Search(inner, inner.numbers, core, metric, balls, least)
    for number, nearest in enumerate(_nearest_centers(balls, metric)):
        midpoint = (centers[number] + centers[nearest]) / 2
        search.compare(*(nearest_candidates(inner, i, midpoint) for i in (number, nearest)))
    for number in range(len(radii) - 1):
        _compare_with_later(search, number)
    return least


def _nearest_centers(balls: Balls, metric: Metric) -> list[int]:
    """Return for each cluster the one with the nearest center."""
    nearest: list[int] = []
    for block in metric.blocks(balls.centers, balls.centers):
        own = np.arange(len(block))
        block[own, len(nearest) + own] = np.inf
        nearest += block.argmin(axis=1).tolist()
    return nearest


def _compare_with_later(search: _Search, number: int) -> None:
    """Compare the points of a cluster with those of the clusters after it.

    Points are left out if their core distance, or their distance to the ball around the other
    cluster, is no smaller than what was found for both clusters.
    """
    (centers, radii), metric, x = search.balls, search.metric, search.inner.x
    limits = np.maximum(search.least, search.least[number])
    gaps = metric.row_distances(centers, centers[number]) - radii - radii[number]
    is_near = gaps < limits
    is_near[: number + 1] = False
    if not is_near.any():
        return
    near = np.flatnonzero(is_near)
    later = np.flatnonzero(is_near[search.numbers])
    limits_later = limits[search.numbers[later]]
    bound = metric.row_distances(x[later], centers[number]) - radii[number]
    later = later[np.maximum(bound, search.core[later]) < limits_later]
    own = np.arange(search.inner.starts[number], search.inner.starts[number + 1])
    bounds = metric.matrix(x[own], centers[near]) - radii[near]
    np.maximum(bounds, search.core[own, None], out=bounds)
    search.compare(own[(bounds < limits[near]).any(axis=1)], later)
