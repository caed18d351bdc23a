"""density_trees: spanning trees of the density within clusters, for density_based_validity.

The distances in this module are those of a Metric, which obeys the triangle inequality. The trees,
and the extremes of their edges, are the same for the user's distance, because one grows with the
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .distance_blocks import DISTANCES_PER_BLOCK, distance_blocks
from .threads import run_in_threads, stop_if_interrupted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .arrays import Booleans, Floats, Integers
    from .extreme_pairs import Metric
    from .partitions import Partition

#: The bits of a weight that decide which edge is lighter. The other bits of the 52 are lost to
#: rounding errors, and edges of equal weight are the rule in these trees.
_COMPARED_BITS = 32
_IGNORED = 52 - _COMPARED_BITS


class Densities(NamedTuple):
    """The spanning trees of the k clusters of a partition, in the form that scores need."""

    #: (k,): the largest weight of an edge between inner points, or NaN for a single point.
    sparseness: Floats
    #: (m,): whether a point is compared with other clusters: it is inner, or its tree has none.
    is_inner: Booleans
    #: (m,): the core distances.
    core: Floats


class _Batch(NamedTuple):
    """The points of b clusters of up to s points each, whose trees grow at the same time."""

    #: (b,): the numbers of the clusters.
    numbers: Integers
    #: (b, s): the rows of the points in the partition, those of copies for smaller clusters.
    rows: Integers
    #: (b, s): whether a point is a copy, which fills the row.
    is_copy: Booleans


# ----------------------------------------------------------------------------------------------
# Core distances
# ----------------------------------------------------------------------------------------------


def core_distances(x: Floats, metric: Metric) -> Floats:
    """Return the core distance of each of the points x (m, d) of a cluster, for m > 1.

    It is ((sum of (1 / distance)^d over the other points) / (m - 1))^(-1 / d). The least distance
    is the unit, so that no power overflows.
    """
    core = np.empty(len(x))
    for rows, distances in distance_blocks(x, x, metric.distance):
        stop_if_interrupted()
        own = np.arange(len(distances))
        distances[own, rows.start + own] = np.inf
        least = distances.min(axis=1)
        np.divide(least[:, None], distances, out=distances)
        mean = raise_to_power(distances, x.shape[1]).sum(axis=1) / (len(x) - 1)
        core[rows] = np.where(least > 0, least * mean ** (-1 / x.shape[1]), 0.0)
    return metric.from_distances(core)


def raise_to_power(base: Floats, exponent: int) -> Floats:
    """Return base ** exponent for a positive whole number, by squaring. `base` is overwritten."""
    power: Floats | None = None
    while True:
        if exponent % 2:
            power = base.copy() if power is None else np.multiply(power, base, out=power)
        exponent //= 2
        if not exponent:
            return base if power is None else power
        np.multiply(base, base, out=base)


# ----------------------------------------------------------------------------------------------
# Spanning trees
# ----------------------------------------------------------------------------------------------


def grow_densities(part: Partition, metric: Metric) -> Densities:
    """Return the densities of the clusters of a partition, whose points have the order of ties."""
    core, is_inner = np.zeros(len(part.x)), np.zeros(len(part.x), dtype=bool)
    sparseness = np.full(len(part.sizes), np.nan)
    clusters = np.flatnonzero(part.sizes > 1)
    work = int((part.sizes[clusters] ** 2).sum())

    def measure(number: int) -> None:
        """Store the core distances of a cluster."""
        start, stop = part.starts[number : number + 2]
        core[start:stop] = core_distances(part.x[start:stop], metric)

    def grow(batch: _Batch) -> None:
        """Store the sparseness and the inner points of a batch of clusters."""
        x, core_of_batch = part.x[batch.rows], core[batch.rows]
        parents = grow_trees(x, core_of_batch, batch.is_copy, metric)
        weights = _edge_weights(x, core_of_batch, parents, metric)
        sparseness[batch.numbers], inner = _inner_edges(parents, weights, batch.is_copy)
        is_inner[batch.rows[inner]] = True

    run_in_threads(measure, clusters.tolist(), work)
    run_in_threads(grow, list(_batches(part, clusters)), work)
    return Densities(sparseness, is_inner, core)


def _batches(part: Partition, clusters: Integers) -> Iterator[_Batch]:
    """Yield groups of clusters of similar sizes, the largest clusters first."""
    clusters = clusters[np.argsort(-part.sizes[clusters], kind="stable")]
    values_per_batch, d = DISTANCES_PER_BLOCK, part.x.shape[1]
    start = 0
    while start < len(clusters):
        most = part.sizes[clusters[start]]
        # Copies fill at most a third of a group.
        stop = int(np.searchsorted(-part.sizes[clusters], -most / 1.5, side="right"))
        stop = min(stop, start + max(1, values_per_batch // int(most * d)))
        numbers, places = clusters[start:stop], np.arange(most)
        sizes = part.sizes[numbers][:, None]
        rows = part.starts[numbers][:, None] + np.minimum(places, sizes - 1)
        yield _Batch(numbers, rows, places >= sizes)
        start = stop


def grow_trees(x: Floats, core: Floats, is_copy: Booleans, metric: Metric) -> Integers:
    """Return the parent (b, s) of each point x (b, s, d) in the minimum spanning tree of its row.

    The first point of a row is its root. Edges are ordered by weight, and then by the places of
    their points, the lower one first. As no two edges are equal, there is one minimum spanning
    tree, whatever the order in which it grows (Prim).
    """
    b, s = core.shape
    flat, row, place = x.reshape(b * s, -1), np.arange(b), np.arange(s)
    parents, is_open = np.zeros((b, s), dtype=np.int64), ~is_copy
    least = np.full((b, s), np.inf)
    added = np.zeros(b, dtype=np.int64)
    for _ in range(s - 1):
        stop_if_interrupted()
        is_open[row, added] = False
        point = x[row, added]
        lengths = metric.row_distances(flat, point[0] if b == 1 else np.repeat(point, s, axis=0))
        weights = np.maximum(lengths.reshape(b, s), core)
        weights = _compared(np.maximum(weights, core[row, added][:, None], out=weights))
        is_lighter = (weights < least) | ((weights == least) & (added[:, None] < parents))
        is_lighter &= is_open
        np.copyto(least, weights, where=is_lighter)
        np.copyto(parents, added[:, None], where=is_lighter)
        added = _first_edges(np.where(is_open, least, np.inf), parents, place)
    return parents


def _edge_weights(x: Floats, core: Floats, parents: Integers, metric: Metric) -> Floats:
    """Return the weight (b, s) of the edge from each point x (b, s, d) to its parent."""
    row = np.arange(len(x))[:, None]
    flat, ends = (points.reshape(parents.size, -1) for points in (x, x[row, parents]))
    lengths = metric.row_distances(flat, ends).reshape(parents.shape)
    return np.maximum(lengths, np.maximum(core, core[row, parents]))


def _compared(weights: Floats) -> Floats:
    """Return positive weights rounded to the bits that are compared."""
    bits = weights.view(np.int64)
    bits += 1 << (_IGNORED - 1)
    bits &= -1 << _IGNORED
    return weights


def _first_edges(weights: Floats, parents: Integers, place: Integers) -> Integers:
    """Return the point (b,) at the end of the first of the edges (b, s) of each row."""
    is_least = weights == weights.min(axis=1, keepdims=True)
    order = np.minimum(parents, place) * len(place) + np.maximum(parents, place)
    return np.asarray(np.where(is_least, order, len(place) ** 2).argmin(axis=1))


def _inner_edges(parents: Integers, weights: Floats, is_copy: Booleans) -> tuple[Floats, Booleans]:
    """Return the sparseness (b,) of each cluster, and whether each point (b, s) is inner.

    Points with several edges are inner. Without an edge between two of them, all edges count, and
    without an inner point, all points.
    """
    b, s = parents.shape
    is_edge = ~is_copy
    is_edge[:, 0] = False
    tree = np.arange(b)[:, None]
    ends = (tree * s + parents)[is_edge]
    degrees = np.bincount(ends, minlength=b * s).reshape(b, s) + is_edge
    is_inner = degrees > 1
    is_inner_edge = is_edge & is_inner & is_inner[tree, parents]
    is_inner_edge |= is_edge & ~is_inner_edge.any(axis=1, keepdims=True)
    sparseness = np.where(is_inner_edge, weights, 0.0).max(axis=1)
    is_inner |= ~is_copy & ~is_inner.any(axis=1, keepdims=True)
    return sparseness, is_inner
