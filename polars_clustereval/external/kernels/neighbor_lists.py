"""neighbor_lists: scores of the neighbors of many nodes, and the chi-square distribution.

The m neighbors of n nodes are in arrays (m,), node by node. `starts` (n,) holds the first neighbor
of each node, and `counts` (n,) holds the number of its neighbors, which is at least 1.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from math import lgamma
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polars_clustereval.base.parts import find_roots, join_parts

if TYPE_CHECKING:
    from polars_clustereval.base.parts import Integers

Floats = NDArray[np.float64]
Nodes = NDArray[np.uint32]

_NEWTON_STEPS, _BISECTION_STEPS = 7, 80
#: The largest difference of an entropy from its target.
_ENTROPY_TOLERANCE = 1e-14
# The number of neighbors that a thread processes together.
_NEIGHBORS_PER_THREAD = 500_000
# A pair of nodes is packed into one number, low * 2^32 + high, which is fast to sort.
_NODE_BITS, _NODE_MASK = np.uint64(32), np.uint64(2**32 - 1)


# ----------------------------------------------------------------------------------------------
# Edges
# ----------------------------------------------------------------------------------------------


class NodeClusters(NamedTuple):
    """Clusters of n nodes: numbers (n,) from 0 to c - 1, and sizes and n_points (c,).

    n_points is the number of nodes in the partition of the cluster.
    """

    numbers: Nodes
    sizes: Integers
    n_points: Integers


def pack(one: Nodes, two: Nodes) -> NDArray[np.uint64]:
    """Return the pairs of nodes as numbers one * 2^32 + two."""
    return np.asarray((one.astype(np.uint64) << _NODE_BITS) | two)


def first_of(pairs: NDArray[np.uint64]) -> Nodes:
    """Return the first nodes of packed pairs."""
    return (pairs >> _NODE_BITS).astype(np.uint32)


class EdgeCounts:
    """Counts of the edges between different nodes, and the components within the clusters.

    The pairs of a node and a neighbor are added in blocks, in the order of the nodes. An edge is
    counted once, also if each of its nodes is a neighbor of the other: it is not counted before the
    block of its higher node.
    """

    def __init__(self, clusters: NodeClusters) -> None:
        n_clusters = clusters.sizes.size
        self.clusters = clusters
        self.n_inner = np.zeros(n_clusters, np.int64)
        self.n_cut = np.zeros(n_clusters, np.int64)
        self._parts = np.arange(clusters.numbers.size)
        self._waiting = np.empty(0, np.uint64)

    def add(self, nodes: Nodes, neighbors: Nodes, stop: int) -> None:
        """Count the pairs of a block, whose nodes are below `stop`."""
        pairs = pack(np.minimum(nodes, neighbors), np.maximum(nodes, neighbors))
        pairs = np.concatenate([self._waiting, pairs])
        is_ready = (pairs & _NODE_MASK) < stop
        self._waiting, pairs = pairs[~is_ready], np.sort(pairs[is_ready])
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])[: pairs.size]]
        low, high = (pairs >> _NODE_BITS).astype(np.int64), (pairs & _NODE_MASK).astype(np.int64)
        one, two = self.clusters.numbers[low], self.clusters.numbers[high]
        is_inner = one == two
        size = self.n_inner.size
        self.n_inner += np.bincount(one[is_inner], minlength=size)
        for side in (one, two):
            self.n_cut += np.bincount(side[~is_inner], minlength=size)
        join_parts(self._parts, low[is_inner], high[is_inner])

    def components(self) -> tuple[Integers, Integers]:
        """Return the number of components of each cluster (c,), and the size of the largest."""
        parts = find_roots(self._parts, self._parts)
        sizes = np.bincount(parts, minlength=parts.size)
        roots = np.flatnonzero(sizes)
        numbers, largest = self.clusters.numbers[roots], np.zeros_like(self.n_inner)
        np.maximum.at(largest, numbers, sizes[roots])
        return np.bincount(numbers, minlength=largest.size), largest


# ----------------------------------------------------------------------------------------------
# Kernel of the local inverse Simpson index
# ----------------------------------------------------------------------------------------------


def _entropy_and_variance(x: Floats, beta: Floats, starts: Integers) -> tuple[Floats, Floats]:
    """Return the entropies (n,) of the weights exp(-beta x), and the weighted variances of x."""
    counts = np.diff(starts, append=x.size)
    weights = np.exp(-np.repeat(beta, counts) * x)
    total = np.add.reduceat(weights, starts)
    weights *= x
    mean = np.add.reduceat(weights, starts) / total
    weights *= x
    return np.log(total) + beta * mean, np.add.reduceat(weights, starts) / total - mean * mean


def _solve_beta(x: Floats, counts: Integers, perplexity: Floats) -> Floats:
    """Return beta (n,) at which the entropy of the weights exp(-beta x) is ln(perplexity).

    x is from 0 to 1 for each node. Newton's method finds ln beta in few steps for nearly all nodes.
    The others are found by bisection.
    """
    starts, target = np.cumsum(counts) - counts, np.log(perplexity)
    mean = np.add.reduceat(x, starts) / counts
    variance = np.add.reduceat((x - np.repeat(mean, counts)) ** 2, starts) / counts
    # The entropy is about ln k - beta^2 variance / 2.
    with np.errstate(all="ignore"):
        beta = np.sqrt(2 * np.log(counts / perplexity) / variance)
        for _ in range(_NEWTON_STEPS):
            entropy, variance = _entropy_and_variance(x, beta, starts)
            step = (entropy - target) / (beta * beta * variance)
            beta = beta * np.exp(np.clip(step, -2.0, 2.0))
        entropy, _ = _entropy_and_variance(x, beta, starts)
    is_open = ~(np.abs(entropy - target) <= _ENTROPY_TOLERANCE)
    if is_open.any():
        of_open = x[np.repeat(is_open, counts)]
        beta[is_open] = _bisect_beta(of_open, counts[is_open], target[is_open])
    return beta


def _bisect_beta(x: Floats, counts: Integers, target: Floats) -> Floats:
    """Return beta (n,) as _solve_beta, by bisection of ln beta, for target entropies (n,)."""
    starts = np.cumsum(counts) - counts
    low, high = np.full(target.shape, -21.0), np.full(target.shape, 708.0)
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        is_above = _entropy_and_variance(x, np.exp(middle), starts)[0] > target
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.asarray(np.exp(low))


def neighbor_weights(d: Floats, counts: Integers, perplexity: Floats) -> Floats:
    """Return weights exp(-beta d) (m,), up to a factor, of entropy ln(perplexity) for each node.

    If at least as many neighbors as the perplexity are nearest, only these have a weight. If there
    are no more neighbors than the perplexity, all have the same weight.
    """
    starts = np.cumsum(counts) - counts
    least = np.minimum.reduceat(d, starts)
    width = np.maximum.reduceat(d, starts) - least
    x = (d - np.repeat(least, counts)) / np.repeat(np.where(width > 0, width, 1.0), counts)
    beta = np.where(perplexity >= counts, 0.0, 1e308)
    n_nearest = np.add.reduceat((x == 0).astype(np.float64), starts)
    is_inner = (perplexity < counts) & (n_nearest < perplexity)
    if is_inner.any():
        of_inner = x[np.repeat(is_inner, counts)]
        beta[is_inner] = _solve_beta(of_inner, counts[is_inner], perplexity[is_inner])
    return np.asarray(np.exp(-np.repeat(beta, counts) * x))


# ----------------------------------------------------------------------------------------------
# Scores of nodes
# ----------------------------------------------------------------------------------------------


class ListSums(NamedTuple):
    """Sums (n,) over the neighbors of n nodes."""

    connectivity: Floats
    squares: Floats
    lisi: Floats
    balanced: Floats
    kbet_statistic: Floats


def list_sums(
    nodes: Nodes, neighbors: Nodes, d: Floats, clusters: NodeClusters, perplexity: float | None
) -> ListSums:
    """Return the sums for the neighbors (m,) of nodes (m,), sorted by node and distance d (m,)."""
    starts = np.flatnonzero(np.append(True, nodes[1:] != nodes[:-1])[: nodes.size])
    ends = np.append(starts[1:], nodes.size)
    blocks, first = [], 0
    while first < starts.size:
        stop = int(np.searchsorted(ends, starts[first] + _NEIGHBORS_PER_THREAD, side="right"))
        stop = max(stop, first + 1)
        blocks.append((slice(starts[first], ends[stop - 1]), ends[first:stop] - starts[first:stop]))
        first = stop

    def sums_of(block: tuple[slice, Integers]) -> ListSums:
        """Return the sums for the neighbors in a slice."""
        rows, counts = block
        own, other = clusters.numbers[nodes[rows]], clusters.numbers[neighbors[rows]]
        return _list_sums_of(own, other, d[rows], counts, clusters, perplexity)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [ListSums(*[np.empty(0)] * 5), *pool.map(sums_of, blocks)]
    return ListSums(*map(np.concatenate, zip(*found, strict=True)))


def _list_sums_of(
    own: Nodes,
    other: Nodes,
    d: Floats,
    counts: Integers,
    clusters: NodeClusters,
    perplexity: float | None,
) -> ListSums:
    """Return the sums for nodes with `counts` (n,) neighbors, and their clusters (m,)."""
    starts = np.cumsum(counts) - counts
    rank = np.arange(own.size) - np.repeat(starts, counts) + 1
    given = np.maximum(counts // 3, 1) if perplexity is None else np.full(counts.size, perplexity)
    weights = neighbor_weights(d, counts, given.astype(np.float64))
    # The neighbors of a node by cluster are cells.
    owner = np.repeat(np.arange(counts.size, dtype=np.uint32), counts)
    cell = pack(owner, other)
    order = np.argsort(cell)
    cell = cell[order]
    cells = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    n = np.diff(cells, append=cell.size).astype(np.float64)
    weight = np.add.reduceat(weights[order], cells)
    of_cell, cluster = owner[order[cells]], other[order[cells]]
    size = clusters.sizes[cluster].astype(np.float64)
    n_points = clusters.n_points[cluster].astype(np.float64)
    first_cells = np.flatnonzero(np.append(True, of_cell[1:] != of_cell[:-1]))
    mean = counts[of_cell] * size / n_points
    # A cluster without a neighbor adds its mean.
    points = n_points[first_cells]
    absent = counts * (points - np.add.reduceat(size, first_cells)) / points
    total = np.add.reduceat(weight, first_cells)
    return ListSums(
        connectivity=np.add.reduceat((own != other) / rank, starts),
        squares=np.add.reduceat(n * n, first_cells),
        lisi=total * total / np.add.reduceat(weight * weight, first_cells),
        balanced=np.add.reduceat(n / size, first_cells),
        kbet_statistic=np.add.reduceat((n - mean) ** 2 / mean, first_cells) + absent,
    )


# ----------------------------------------------------------------------------------------------
# Chi-square distribution
# ----------------------------------------------------------------------------------------------


def _erfc(z: Floats) -> Floats:
    """Return the complementary error function of z >= 0.

    The midpoint rule with step 1/2 is exact up to the residue of the poles of the integrand, which
    is below the rounding error of the sum for z > 6.
    """
    total = np.zeros(z.shape)
    for i in range(13):
        total += np.exp(-((i + 0.5) ** 2) / 4) / (z * z + (i + 0.5) ** 2 / 4)
    residue = 2 / (1 + np.exp(4 * np.pi * np.minimum(z, 6.0)))
    return np.asarray(z * np.exp(-z * z) / np.pi * total + np.where(z < 6, residue, 0.0))


def chi_square_tail(x: Floats, freedom: Integers) -> Floats:
    """Return the probabilities that chi-square statistics are above x >= 0.

    The numbers of degrees of freedom, `freedom`, are whole numbers >= 1. The sum has one term for
    every two of them.
    """
    half, odd = np.maximum(x, 1e-300) / 2, freedom % 2
    tail = np.where(odd == 1, _erfc(np.sqrt(half)), 0.0)
    for i in range(int(freedom.max(initial=0)) // 2):
        place = i + odd / 2
        of_place = np.where(odd == 1, lgamma(i + 1.5), lgamma(i + 1.0))
        term = np.exp(place * np.log(half) - half - of_place)
        tail += np.where(i < freedom // 2, term, 0.0)
    return np.asarray(np.where(x > 0, np.minimum(tail, 1.0), 1.0))
