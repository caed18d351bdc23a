"""other_clusters: combines the mean distances from a point to other clusters into one distance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from .arrays import Floats, Integers

#: The distance to other clusters: the distance to the nearest cluster, to all points of other
#: clusters together, or to the furthest cluster.
Between = Literal["nearest", "mean_other", "furthest"]


def reduce_others(
    means: Floats, own_cluster: Integers, sizes: Floats | Integers, between: Between
) -> tuple[Floats, Integers]:
    """Return one distance from each point to the other clusters, and the index of a cluster or -1.

    The entries of the points' own clusters in `means` (m, k) are overwritten. The distance is NaN
    if there is no other cluster. In a tie, the lowest index is returned.
    """
    points = np.arange(len(means))
    if len(sizes) == 1:
        return np.full(len(means), np.nan), np.full(len(means), -1)
    if between == "mean_other":
        means[points, own_cluster] = 0.0
        # This runs in the calling thread, unlike a product of matrices.
        totals = np.einsum("ij,j->i", means, sizes)
        return totals / (sizes.sum() - sizes[own_cluster]), np.full(len(means), -1)
    is_furthest = between == "furthest"
    means[points, own_cluster] = -np.inf if is_furthest else np.inf
    chosen = means.argmax(axis=1) if is_furthest else means.argmin(axis=1)
    return means[points, chosen], chosen
