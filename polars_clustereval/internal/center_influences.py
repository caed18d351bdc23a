"""center_influences: how much each point counts for the scores by centers of its partition.

To first order, the difference between the score of a sample and that of its population is the mean
of the influences of its points. A point has its own silhouette, and moves the center of its
cluster, which changes the silhouettes of all points near that center. Distances are euclidean or
sqeuclidean.

The array x (m, d) holds points as the user gave them, and numbers (m,) holds the numbers of their
clusters among the clusters of all partitions, or -1 for points that are left out.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from .kernels.distance_blocks import DISTANCES_PER_BLOCK
from .kernels.long_vectors import sum_by_number
from .kernels.streams import split_batch
from .mean_distances import simplified_means, stream_moments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .centroids import Points
    from .kernels.arrays import Floats, Integers

#: The scores that have influences, in the order of CenterInfluences.of_points.
INFLUENCED = ("simplified_silhouette", "calinski_harabasz_score")
_TOTALS = ("n", "n_clusters", "silhouette", "ssw", "ssb")


class _PlacedPoints(NamedTuple):
    """Points of one partition, relative to its origin, with their distances to centers."""

    #: The indices of the points, and the index of the partition.
    rows: Integers
    place: int
    y: Floats
    own: Integers
    a: Floats
    b: Floats
    neighbor: Integers
    silhouette: Floats


class CenterInfluences:
    """Influences of points on the mean simplified silhouette and the Calinski-Harabasz score."""

    def __init__(self, points: Points, totals: pl.DataFrame) -> None:
        """Prepare the clusters of precomputed points.

        `totals` has one row per partition that has influences, with the keys of points and the
        columns n, n_clusters, silhouette, ssw and ssb.
        """
        table, self._partitions = stream_moments(points, with_second=False)
        keys, self._distance = points.partition_keys, points.distance
        self.starts = [moments.start for moments in self._partitions]
        firsts = table[self.starts]
        join = {"on": keys, "how": "left", "nulls_equal": True, "maintain_order": "left"}
        #: One row per partition: its keys.
        self.partitions = firsts.select(keys)
        found = self.partitions.join(totals, **join)  # type: ignore[arg-type]
        self._totals = found.select(_TOTALS).cast(pl.Float64).to_numpy()
        #: One row per cluster of these partitions: its keys and its number.
        self.clusters = table.join(totals, on=keys, how="semi", nulls_equal=True).select(
            *points.cluster_keys, "number"
        )
        self._means = points.form.to_matrix(firsts, "g")
        self._origins = np.zeros_like(self._means)
        if points.origins is not None:
            origins = self.partitions.join(points.origins.collect(), **join)  # type: ignore[arg-type]
            self._origins = points.form.read_origins(origins)
        self._slopes = np.zeros((table.height, points.form.dims))
        self._lock = Lock()

    def _split(self, x: Floats, numbers: Integers) -> Iterator[_PlacedPoints]:
        """Yield the points that are not left out, by partition."""
        kept = np.flatnonzero(numbers >= 0)
        steps = [max(1, DISTANCES_PER_BLOCK // len(part.centers)) for part in self._partitions]
        for chosen, place in split_batch(numbers[kept], self.starts, steps):
            rows, part = kept[chosen], self._partitions[place]
            y, own = x[rows] - self._origins[place], numbers[rows] - part.start
            sizes = part.clusters.sizes
            means = simplified_means(y, own, sizes, part.centers, self._distance, "nearest")
            a, b = means.a_lower, means.b_lower
            silhouette, _ = means.silhouettes(sizes[own])
            yield _PlacedPoints(rows, place, y, own, a, b, means.neighbor, silhouette)

    def add(self, x: Floats, numbers: Integers) -> None:
        """Add points to the derivatives of the silhouettes with respect to the centers."""
        for part in self._split(x, numbers):
            moments = self._partitions[part.place]
            sums = np.zeros_like(moments.centers)
            for target, pull in zip((part.own, part.neighbor), self._pulls(part), strict=True):
                products = pull[:, None] * (moments.centers[target] - part.y)
                sums[np.unique(target)] += sum_by_number(products, target)
            # The share of a cluster divides the derivatives, because a point moves its center.
            rows = slice(moments.start, moments.start + len(sums))
            with self._lock:
                self._slopes[rows] += sums / moments.clusters.sizes[:, None]

    def _pulls(self, part: _PlacedPoints) -> tuple[Floats, Floats]:
        """Return the derivatives with respect to a center, divided by its difference to the point.

        A distance has no direction if it is 0 up to a rounding error.
        """
        a, b = part.a, part.b
        slopes = np.where(a < b, [-1 / b, a / b / b], [-b / a / a, 1 / a])
        pulls = 2 * slopes if self._distance.name == "sqeuclidean" else slopes / [a, b]
        pulls = np.where([a, b] > 1e-9 * np.maximum(a, b), pulls, 0.0)
        return pulls[0], pulls[1]

    def of_points(self, x: Floats, numbers: Integers) -> Floats:
        """Return the influences (2, m) of points on both scores, NaN for those left out.

        All points have been added.
        """
        influences = np.full((len(INFLUENCED), len(x)), np.nan)
        for part in self._split(x, numbers):
            n, k, silhouette, ssw, ssb = self._totals[part.place]
            moments = self._partitions[part.place]
            offsets = part.y - moments.centers[part.own]
            moved = np.einsum("ij,ij->i", self._slopes[moments.start + part.own], offsets)
            influences[0, part.rows] = part.silhouette - silhouette + moved
            to_mean = part.y - self._means[part.place]
            within = part.a if self._distance.name == "sqeuclidean" else part.a**2
            squares = np.einsum("ij,ij->i", to_mean, to_mean) - (1 + ssb / ssw) * within
            influences[1, part.rows] = (n - k) / (k - 1) * n / ssw * squares
        return influences
