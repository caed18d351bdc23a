"""min_cuts: minimum cuts of many small graphs at the same time.

The algorithm is that of Stoer and Wagner (1997). In each phase, the nodes of a graph are put in an
order in which each node has the largest total weight of edges to the nodes before it, its gain. The
last node on one side and all other nodes on the other side are a cut, whose value is the gain of
the last node. A cut between a node and the one before it has at least the value of its gain, so if
that is above the value of the best cut, the two nodes are merged. The last two nodes are always
merged, after the cut that they make. The first phases look for several cuts of the lowest value,
because a cut in the middle of a graph tells more than one next to a single node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polars_clustereval.base.parts import Booleans, Integers

Floats = NDArray[np.float64]

# The number of cells of the matrices that are processed together, and the largest ratio of sizes.
_MATRIX_CELLS, _RATIO = 1 << 21, 1.25
# Values of cuts that differ by less are rounding errors.
_TOLERANCE = 1e-12
# The number of phases after which one cut of the lowest value is enough.
_PHASES = 16


def find_minimum_cuts(
    graphs: Integers,
    low: Integers,
    high: Integers,
    weights: Floats,
    sizes: Integers,
    bounds: Floats,
) -> Booleans:
    """Return a mask of the nodes on one side of a minimum cut of each graph, graph by graph.

    `sizes` (g,) holds the numbers of nodes, at least two, from the smallest to the largest. The
    edges, (m,), are sorted by their graph, a number from 0 to g - 1. Their ends are the numbers of
    the nodes in the graph, from 0. No cut has a lower value than `bounds` (g,).
    """
    sides, first = [np.empty(0, np.bool_)], 0
    while first < sizes.size:
        after = int(np.searchsorted(sizes, _RATIO * sizes[first], side="right"))
        k = int(sizes[after - 1])
        after = min(after, first + max(1, _MATRIX_CELLS // k**2))
        k = int(sizes[after - 1])
        own = slice(*np.searchsorted(graphs, [first, after]))
        matrices = np.zeros((after - first, k, k))
        matrices[graphs[own] - first, low[own], high[own]] = weights[own]
        matrices += matrices.transpose(0, 2, 1)
        block = slice(first, after)
        is_node = np.arange(k) < sizes[block, None]
        sides.append(_cut_matrices(matrices, sizes[block], bounds[block])[is_node])
        first = after
    return np.concatenate(sides)


def _order_nodes(matrices: Floats, n_live: Integers) -> tuple[Integers, Floats]:
    """Return the order of the nodes (c, k) and their gains (c, k).

    Both are arbitrary after the first n_live (c,) nodes, which are the nodes of a graph.
    """
    c, k = matrices.shape[:2]
    own, order, gains = np.arange(c), np.empty((c, k), np.int64), np.empty((c, k))
    gain = np.where(np.arange(k) < n_live[:, None], 0.0, -np.inf)
    for i in range(k):
        node = gain.argmax(axis=1)
        order[:, i], gains[:, i] = node, gain[own, node]
        gain += matrices[own, node]
        gain[own, node] = -np.inf
    return order, gains


def _cut_matrices(matrices: Floats, sizes: Integers, bounds: Floats) -> Booleans:
    """Return one side (c, k) of a minimum cut of c graphs, given their matrices (c, k, k).

    Of the cuts of the lowest value that the phases find, the one with the most nodes on its smaller
    side is returned. `sizes` (c,) and `bounds` (c,) are as in find_minimum_cuts.
    """
    c, k = matrices.shape[:2]
    own, n_live = np.arange(c), sizes
    values, n_smaller = np.full(c, np.inf), np.zeros(c, np.int64)
    sides = np.zeros((c, k), np.bool_)
    # The present node of each original one, -1 for a place without a node.
    merged = np.where(np.arange(k) < sizes[:, None], np.arange(k), -1)
    phase = 0
    while own.size:
        phase += 1
        # How a value compares with the best one if it is equal up to rounding errors.
        margin = 1 + _TOLERANCE if phase < _PHASES else 1 - _TOLERANCE
        order, gains = _order_nodes(matrices, n_live)
        rows, last = np.arange(own.size), n_live - 1
        side, value = merged == order[rows, last, None], gains[rows, last]
        n_side = side.sum(axis=1)
        n_side = np.minimum(n_side, sizes[own] - n_side)
        best = values[own]
        is_better = value < best * (1 - _TOLERANCE)
        is_better |= (value <= best * (1 + _TOLERANCE)) & (n_side > n_smaller[own])
        better = own[is_better]
        sides[better], n_smaller[better] = side[is_better], n_side[is_better]
        values[own] = best = np.minimum(best, value)

        places = np.arange(order.shape[1])
        is_joined = (gains > best[:, None] * margin) | (places >= last[:, None])
        is_joined[:, 0] = False
        numbers = np.cumsum(~is_joined, axis=1) - 1
        row, place = np.nonzero(places < n_live[:, None])
        renumbered = np.zeros_like(order)
        renumbered[row, order[row, place]] = numbers[row, place]
        merged = np.where(merged >= 0, np.take_along_axis(renumbered, merged, axis=1), -1)
        n_live = numbers[rows, last] + 1

        is_open = (n_live > 1) & ((phase < _PHASES) | (best > bounds[own] * (1 + _TOLERANCE)))
        own, n_live, merged = own[is_open], n_live[is_open], merged[is_open]
        if own.size:
            matrices = _merge_nodes(matrices[is_open], renumbered[is_open], int(n_live.max()))
    return sides


def _merge_nodes(matrices: Floats, numbers: Integers, k: int) -> Floats:
    """Return the matrices (c, k, k) after a merge, given the new `numbers` of the nodes."""
    c = matrices.shape[0]
    rows = np.arange(c)[:, None] * k + numbers
    cells = rows[:, :, None] * k + numbers[:, None, :]
    sums = np.bincount(cells.ravel(), matrices.ravel(), c * k * k).reshape(c, k, k)
    return np.asarray(sums, np.float64)
