"""pair_ranks: rank-based comparisons of the distances between all pairs of points.

The distance between two points is called a distance within clusters if the points are in the same
cluster, and a distance between clusters otherwise. Distances that are equal by definition may
differ in their last digits, and each engine may round them differently. Therefore, distances are
ranked by the keys from rank_keys, which are the same for distances that are equal by definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import expand_ranges, sum_by_group
from .small_partitions import pair_distances, run_cuts

if TYPE_CHECKING:
    from polars_clustereval.internal.distances import Distance

    from .arrays import Booleans, Floats, Integers
    from .partitions import Partitions


def rank_keys(d: Floats, distance: Distance) -> Floats:
    """Return the keys by which the distances d are ranked.

    A key is d, or a power of d, rounded to 12 digits. Distances are raised to the power of 2 for
    euclidean, p (but at most 4) for minkowski, and 1 otherwise. If the coordinates have few decimal
    places, this power of the distance also has few digits. For cosine, at most 15 decimal places
    are kept, because any further digits of unit vectors and their distances are inexact.
    """
    powers = {"euclidean": 2.0, "minkowski": min(distance.p, 4.0)}
    x = np.minimum(d ** powers.get(distance.name, 1.0), 1.7e308)
    digits = np.floor(np.log10(x, out=np.zeros_like(x), where=x > 0))
    scale = 10.0 ** np.minimum(11 - digits, 15 if distance.name == "cosine" else 300)
    return np.where(x < 1.7e308, np.rint(x * scale) / scale, x)


# ----------------------------------------------------------------------------------------------
# Neighbors
# ----------------------------------------------------------------------------------------------


def _sum_reciprocal_ranks(most: int) -> Floats:
    """Return the sum of 1 / rank over the ranks 1 to r, for each r from 0 to `most`."""
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, most + 1))])


def neighbors_in_other_clusters(
    i: Integers, keys: Floats, in_other_cluster: Booleans, n_neighbors: int, count: int
) -> Floats:
    """Return, for each of `count` points, the sum of 1 / rank over its neighbors in other clusters.

    For q pairs of a point i (q,) and a neighbor, `keys` (q,) are the rank keys of their distances.
    Each tied neighbor counts as the mean of 1 / rank over the shared ranks, so that the order of
    the points has no effect.
    """
    order = np.lexsort((keys, i))
    i, keys = i[order], keys[order]
    cuts = run_cuts(i, keys)
    point, n_tied = i[cuts], np.diff(cuts, append=len(i))
    n_before = cuts - np.searchsorted(i, point)
    sums = _sum_reciprocal_ranks(min(n_neighbors, len(i)))
    last = len(sums) - 1
    shared = sums[np.minimum(n_before + n_tied, last)] - sums[np.minimum(n_before, last)]
    n_other = np.add.reduceat(in_other_cluster[order].astype(np.int64), cuts)
    return sum_by_group(point, n_other * shared / n_tied, count)


# ----------------------------------------------------------------------------------------------
# Many partitions of few points
# ----------------------------------------------------------------------------------------------


def rank_statistics_of_many(
    parts: Partitions, n_neighbors: int, distance: Distance
) -> dict[str, Floats]:
    """Return the statistics of pairwise_report, with one value per partition, NaN if undefined."""
    count, starts, numbers = len(parts.counts), parts.partition_starts, parts.numbers
    partition = np.repeat(np.arange(count), parts.counts)
    i, j = expand_ranges(starts[partition], starts[partition + 1])
    d = pair_distances(parts.x, i, parts.x, j, distance)
    is_between, keys = numbers[i] != numbers[j], rank_keys(d, distance)
    others = i != j
    of_points = neighbors_in_other_clusters(
        i[others], keys[others], is_between[others], n_neighbors, len(parts.x)
    )
    connectivity = sum_by_group(partition, of_points, count)
    pairs = np.flatnonzero(i < j)
    by_distance = pairs[np.lexsort((d[pairs], partition[i[pairs]]))]
    by_key = pairs[np.lexsort((keys[pairs], partition[i[pairs]]))]
    groups = partition[i[by_distance]]
    statistics = {
        **_distance_sums(groups, d[by_distance], is_between[by_distance], count),
        **_comparisons(groups, keys[by_key], is_between[by_key], count),
    }
    n_clusters = np.diff(parts.cluster_cuts)
    is_defined = (n_clusters > 1) & (n_clusters < parts.counts)
    statistics = {name: np.where(is_defined, x, np.nan) for name, x in statistics.items()}
    return statistics | {"connectivity": np.where(parts.counts > 1, connectivity, np.nan)}


def _distance_sums(
    groups: Integers, d: Floats, is_between: Booleans, count: int
) -> dict[str, Floats]:
    """Return the means and sums for the C index, of distances (q,) that ascend by partition."""
    is_within = ~is_between
    n_pairs = np.bincount(groups, minlength=count)
    n_within = sum_by_group(groups, is_within, count)
    place = np.arange(len(groups)) - (np.cumsum(n_pairs) - n_pairs)[groups]
    is_least = place < n_within[groups]
    is_greatest = place >= (n_pairs - n_within)[groups]

    # Distances that are in both sets cancel, so they are removed before the sums.
    return {
        "mean_within": sum_by_group(groups, d * is_within, count) / n_within,
        "mean_between": sum_by_group(groups, d * is_between, count) / (n_pairs - n_within),
        "within_minus_least": sum_by_group(groups, d * is_within - d * is_least, count),
        "greatest_minus_least": sum_by_group(groups, d * is_greatest - d * is_least, count),
    }


def _comparisons(
    groups: Integers, keys: Floats, is_between: Booleans, count: int
) -> dict[str, Floats]:
    """Return the concordant and discordant comparisons of keys (q,) that ascend by partition."""
    cuts = run_cuts(groups, keys)
    tied = groups[cuts]
    n_between = np.add.reduceat(is_between.astype(np.int64), cuts)
    n_within = np.diff(cuts, append=len(groups)) - n_between
    totals = sum_by_group(tied, n_between, count)
    lesser = np.cumsum(n_between) - n_between - (np.cumsum(totals) - totals)[tied]
    greater = totals[tied] - lesser - n_between
    return {
        "concordant": sum_by_group(tied, n_within * greater, count),
        "discordant": sum_by_group(tied, n_within * lesser, count),
    }
