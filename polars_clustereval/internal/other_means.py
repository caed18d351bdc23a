"""other_means: exact mean distances when b is not the distance to the nearest other cluster.

Here, b is the mean distance to all points of other clusters combined, or to the points of the
furthest cluster. The array x (m, d) holds the queries, that is, the points for which mean distances
are computed. The array own_cluster (m,) holds the index of each query's cluster among the k
clusters of the partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .kernels.threads import run_in_threads
from .mean_distance_bounds import (
    Candidates,
    CityblockTables,
    MomentBounds,
    nearest_candidate,
    prepare_bounds_and_sums,
)
from .mean_distances import DistanceSums, MeanDistances

if TYPE_CHECKING:
    from .distances import Distance
    from .kernels.arrays import Booleans, Floats, Integers
    from .kernels.other_clusters import Between
    from .kernels.partitions import Partition

#: The number of pairs of a point and a cluster whose sums of distances are held at a time.
_PAIRS_PER_BLOCK = 2**20


def other_partition_means(
    part: Partition, is_query: Booleans, distance: Distance, between: Between
) -> MeanDistances:
    """Return the exact mean distances of a partition's queries for `between` other than 'nearest'.

    `between` is 'mean_other' or 'furthest'. The m queries are the points for which `is_query` is
    true. `is_query` contains one flag per point of the partition.
    """
    x, own_cluster = part.x[is_query], part.numbers[is_query]
    bounds, sums = prepare_bounds_and_sums(part, is_query, distance, with_second=False)
    a = sums.own_sums(x, np.arange(len(x)), own_cluster)
    a /= np.maximum(sums.sizes[own_cluster] - 1, 1)
    if between == "mean_other":
        b = _means_to_all_others(x, own_cluster, sums)
        return MeanDistances(a, a, b, b, np.full(len(x), -1))
    candidates = _find_furthest(x, own_cluster, len(sums.sizes), bounds)
    b, neighbor = nearest_candidate(x, candidates, sums, sign=-1.0)
    b = np.where(neighbor < 0, np.nan, -b)
    return MeanDistances(a, a, b, b, neighbor)


def _means_to_all_others(x: Floats, own_cluster: Integers, sums: DistanceSums) -> Floats:
    """Return the mean distances (m,) from x (m, d) to all points of other clusters.

    If there are no other clusters, the result is NaN. The sums of distances to the other clusters
    are added up. Subtracting the sum over a point's own cluster from the sum over all points would
    lose precision.
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


def _find_furthest(
    x: Floats, own_cluster: Integers, n_clusters: int, bounds: MomentBounds | CityblockTables
) -> Candidates:
    """Return the other clusters that may be furthest from each point of x (m, d).

    A cluster may be the furthest if its upper bound is at least the largest lower bound of the
    other clusters. `n_clusters` is the number of clusters in the partition. The bounds in the
    result are bounds on the negative mean distances, so that the furthest cluster becomes the
    nearest.
    """

    def bound_block(start: int) -> Candidates:
        """Return the candidates for the block of points that starts at row `start` of x."""
        rows = slice(start, start + bounds.rows_per_call)
        own, points = own_cluster[rows], np.arange(len(own_cluster[rows]))
        lower, upper = bounds.lower_and_upper(x[rows], own, rows)
        a_lower, a_upper = lower[points, own], upper[points, own]
        lower[points, own] = upper[points, own] = -np.inf
        b_lower = lower.max(axis=1)
        is_possible = (upper >= b_lower[:, None]) & (upper > -np.inf)
        point, cluster = np.nonzero(is_possible)
        pairs = -upper[point, cluster], -lower[point, cluster]
        return Candidates(a_lower, a_upper, -b_lower, point + start, cluster, *pairs)

    calls = range(0, max(1, len(x)), bounds.rows_per_call)
    blocks = run_in_threads(bound_block, calls, x.size * n_clusters)
    return Candidates(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
