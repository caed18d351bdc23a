"""linkages: measures of separation that require the distances between all points of two clusters.

The pairs of points are processed one block at a time, and only sums and extremes are stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .distance_blocks import TILE_POINTS, distance_blocks, distance_matrix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_clustereval.internal.distances import Distance

    from .arrays import Floats, Integers
    from .partitions import Partition


def least_linkages(part: Partition, centers: Floats, distance: Distance) -> dict[str, float]:
    """Return the minimum over pairs of clusters of each separation that requires all distances."""
    least = [np.inf, np.inf, np.inf]
    for i in range(len(part.sizes) - 1):
        for starts in _cluster_tiles(part.starts[i + 1 :]):
            others = part.x[starts[0] : starts[-1]]
            linkages = _linkages_to_others(
                part.points_of_cluster(i), others, starts - starts[0], distance
            )
            least = [min(x, float(y.min())) for x, y in zip(least, linkages, strict=True)]
    names = ("min_complete_linkage", "min_average_linkage", "min_hausdorff")
    return {
        **dict(zip(names, least, strict=True)),
        "min_mean_to_other_center": _least_mean_to_other_center(part, centers, distance),
    }


def _cluster_tiles(starts: Integers) -> Iterator[Integers]:
    """Yield runs of consecutive clusters that have at most TILE_POINTS points in total, or one.

    A run is a slice of `starts` (first rows of clusters and the end of the last) with one more
    element than there are clusters in the run.
    """
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + TILE_POINTS, side="right")) - 1
        last = max(last, first + 1)
        yield starts[first : last + 1]
        first = last


def _linkages_to_others(
    x: Floats, others: Floats, starts: Integers, distance: Distance
) -> tuple[Floats, Floats, Floats]:
    """Return the complete linkage, average linkage and Hausdorff distance to every other cluster.

    The rows of the points `others` (n, d) of k other clusters begin at `starts` (k + 1,), which
    ends with n. Each result has one number for each other cluster.
    """
    cuts, sizes = starts[:-1], np.diff(starts)
    farthest, total = np.zeros(len(others)), np.zeros(len(others))
    nearest = np.full(len(others), np.inf)
    hausdorff = np.zeros(len(cuts))
    for _, block in distance_blocks(x, others, distance, TILE_POINTS**2):
        np.maximum(farthest, block.max(axis=0), out=farthest)
        np.minimum(nearest, block.min(axis=0), out=nearest)
        total += block.sum(axis=0)
        nearest_to_x = np.minimum.reduceat(block, cuts, axis=1)
        np.maximum(hausdorff, nearest_to_x.max(axis=0), out=hausdorff)
    complete = np.maximum.reduceat(farthest, cuts)
    average = np.add.reduceat(total, cuts) / (len(x) * sizes)
    return complete, average, np.maximum(hausdorff, np.maximum.reduceat(nearest, cuts))


def _least_mean_to_other_center(part: Partition, centers: Floats, distance: Distance) -> float:
    """Return the smallest mean distance from the points of two clusters to the other center."""
    least, sizes, starts = np.inf, part.sizes, part.starts
    for i in range(len(sizes) - 1):
        x, others = part.points_of_cluster(i), slice(i + 1, None)
        total = np.add.reduceat(
            distance_matrix(part.x[starts[i + 1] :], centers[[i]], distance)[:, 0],
            starts[i + 1 : -1] - starts[i + 1],
        )
        for _, block in distance_blocks(x, centers[others], distance):
            total += block.sum(axis=0)
        least = min(least, float((total / (sizes[i] + sizes[others])).min()))
    return least


def largest_mean_pair_distance(part: Partition, distance: Distance) -> float:
    """Return the largest mean distance between the points of a cluster.

    The result is 0 if no cluster has more than one point.
    """
    largest = 0.0
    for i in np.flatnonzero(part.sizes > 1).tolist():
        x = part.points_of_cluster(i)
        total = sum(float(block.sum()) for _, block in distance_blocks(x, x, distance))
        if distance.name == "cosine":
            total -= float((~x.any(axis=1)).sum())  # zero vectors, each with itself
        largest = max(largest, total / (len(x) * (len(x) - 1)))
    return largest
