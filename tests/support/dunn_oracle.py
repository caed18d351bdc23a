"""Diameters and Dunn's index from all pairs: scipy's cdist and loops over clusters.

Nothing is shared with what it checks. Where a fraction has a 0 below, the value is None.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tests.support.point_oracle import quotient

if TYPE_CHECKING:
    from tests.support.point_oracle import Cluster, Measure, Partition, Row

COUNTS = ("n", "n_dropped", "n_noise", "n_clusters")
GDI = tuple(f"gdi_{i}{j}" for i in range(1, 7) for j in range(1, 4))


def pairs_within(c: Cluster, measure: Measure) -> list[float]:
    d = measure.between(c.points, c.points)
    return [float(d[i, j]) for i, j in combinations(range(len(c.points)), 2)]


def cluster_diameters(part: Partition) -> list[Row]:
    return [
        {
            "cluster": c.key,
            "n": len(c.points),
            "diameter": max(pairs_within(c, part.measure), default=0.0),
        }
        for c in part.clusters
    ]


def diameters(c: Cluster, measure: Measure) -> list[float]:
    """The three of Bezdek and Pal."""
    pairs = pairs_within(c, measure)
    mean = float(np.mean(pairs)) if pairs else 0.0
    return [max(pairs, default=0.0), mean, 2 * float(c.own.mean())]


def separations(one: Cluster, other: Cluster, measure: Measure) -> list[float]:
    """The six of Bezdek and Pal."""
    d = measure.between(one.points, other.points)
    centroids = measure.between(one.centroid[None], other.centroid[None])
    to_other = [
        measure.between(a.points, b.centroid[None]) for a, b in ((one, other), (other, one))
    ]
    cross = np.concatenate(to_other)
    hausdorff = max(d.min(axis=1).max(), d.min(axis=0).max())
    values = (d.min(), d.max(), d.mean(), centroids[0, 0], cross.mean(), hausdorff)
    return [float(value) for value in values]


def dunn_index(part: Partition, *, generalized: bool = True) -> Row:
    counts = dict(zip(COUNTS, (part.n, part.n_dropped, part.n_noise, part.k), strict=True))
    names = ("dunn_index", "centroid_dunn_index", "max_diameter", "min_separation", *GDI)
    row = counts | dict.fromkeys(names)
    if not part.n:
        return row
    wide = [max(d) for d in zip(*(diameters(c, part.measure) for c in part.clusters), strict=True)]
    row["max_diameter"] = wide[0]
    if part.k < 2:
        return row
    apart = [separations(c, d, part.measure) for c, d in combinations(part.clusters, 2)]
    least = [min(values) for values in zip(*apart, strict=True)]
    row["min_separation"] = least[0]
    if part.k < part.n:
        row["dunn_index"], row["centroid_dunn_index"] = (
            quotient(least[i], wide[0]) for i in (0, 3)
        )
        if generalized:
            ratios = (quotient(x, y) for x in least for y in wide)
            row |= dict(zip(GDI, ratios, strict=True))
    return row
