"""merging: joins the components of a graph edge by edge, the edge of the highest weight first.

A merge is an edge that joins two components. It depends on the merges before it, so there is a loop
over merges, of which n nodes have at most n - 1. All other work is done for blocks of edges. The
labels of the component with fewer labels are added to those of the other one, so that no label is
moved more than log2(n) times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from polars_clustereval.base.parts import Integers

_EDGES_PER_BLOCK = 1 << 18
# What takes the place of the label of a component with several labels.
_SEVERAL = -2

#: One row per merge: the number of its edge; and of both components the number of nodes, the number
#: of labeled nodes, and the sum of their squared numbers by label. gained is the change of the
#: number of components that have all nodes of a label, and no others that are labeled.
MERGES = pl.Schema(
    dict.fromkeys(
        ("edge", "size_1", "size_2", "n_1", "n_2", "squares_1", "squares_2", "gained"), pl.Int64()
    )
)
#: One row per merge and label of both components: the number of the edge, the nodes of the label in
#: the two components, and all nodes of the label.
MERGED_CELLS = pl.Schema(dict.fromkeys(("edge", "x", "y", "label_size"), pl.Int64()))


class _Components:
    """The components of n nodes, each of which is known by one of its nodes, the root."""

    def __init__(self, labels: Integers) -> None:
        """Make a component of each of n nodes. `labels` (n,) are from 0, or -1 without a label."""
        n_labeled = (labels >= 0).astype(np.int64)
        self._parents, self._sizes = np.arange(labels.size), np.ones(labels.size, np.int64)
        self._n, self._squares, self._labels = n_labeled, n_labeled.copy(), labels.copy()
        self._label_sizes = np.bincount(labels + 1)[1:].tolist()
        # By root, the number of nodes of each label in a component with several labels.
        self._counts: dict[int, dict[int, int]] = {}

    def _find_roots(self, nodes: Integers) -> Integers:
        """Return the roots of `nodes`, which become their parents."""
        roots = self._parents[nodes]
        while True:
            higher = self._parents[roots]
            if np.array_equal(higher, roots):
                self._parents[nodes] = roots
                return roots
            roots = higher

    def join(self, low: Integers, high: Integers, first: int) -> tuple[list[int], list[int]]:
        """Join the ends of edges in their order, and return the rows of MERGES and MERGED_CELLS.

        The number of the first edge is `first`, and all values are in one list each.
        """
        ends = self._find_roots(np.concatenate([low, high]))
        edges = np.flatnonzero(ends[: low.size] != ends[low.size :])
        ends = ends[np.concatenate([edges, low.size + edges])]
        # In the loop, roots are numbers from 0, and lists are faster than arrays.
        roots, numbers = np.unique(ends, return_inverse=True)
        names, parents = roots.tolist(), list(range(roots.size))
        states = (self._sizes, self._n, self._squares, self._labels)
        sizes, n, squares, labels = lists = [state[roots].tolist() for state in states]
        label_sizes = self._label_sizes
        merges: list[int] = []
        cells: list[int] = []
        pairs = zip(numbers[: edges.size].tolist(), numbers[edges.size :].tolist(), strict=True)
        for edge, (a, b) in zip((edges + first).tolist(), pairs, strict=True):
            while parents[a] != a:
                parents[a] = a = parents[parents[a]]
            while parents[b] != b:
                parents[b] = b = parents[parents[b]]
            if a == b:
                continue
            # The component without labels, if there is one, joins the other one.
            if (n[a], sizes[a]) < (n[b], sizes[b]):
                a, b = b, a
            x, y, label = n[a], n[b], labels[a]
            joined = gained = 0
            if y and label == labels[b] >= 0:
                cells += (edge, x, y, label_sizes[label])
                joined, gained = x * y, int(x + y == label_sizes[label])
            elif y:
                of_both = ((names[a], label, x), (names[b], labels[b], y))
                joined, gained = self._join_counts(*of_both, edge, cells)
                labels[a] = _SEVERAL
            merges += (edge, sizes[a], sizes[b], x, y, squares[a], squares[b], gained)
            parents[b] = a
            sizes[a] += sizes[b]
            n[a] = x + y
            squares[a] += squares[b] + 2 * joined
        self._parents[roots] = roots[parents]
        for state, values in zip(states, lists, strict=True):
            state[roots] = values
        return merges, cells

    def _join_counts(
        self, one: tuple[int, int, int], two: tuple[int, int, int], edge: int, cells: list[int]
    ) -> tuple[int, int]:
        """Add the labels of component two to those of one, and the shared ones to `cells`.

        Each component is its root, its label or _SEVERAL, and its number of labeled nodes. Returns
        the pairs of nodes with the same label, and gained.
        """
        sides, gained, label_sizes = [], 0, self._label_sizes
        for root, label, n in (one, two):
            sides.append(self._counts.pop(root) if label == _SEVERAL else {label: n})
            gained -= label != _SEVERAL and n == label_sizes[label]
        small, large = sorted(sides, key=len)
        joined = 0
        for label, x in small.items():
            y = large.get(label, 0)
            large[label] = x + y
            if y:
                joined += x * y
                cells += (edge, x, y, label_sizes[label])
        self._counts[one[0]] = large
        return joined, gained


def merge_components(
    low: Integers, high: Integers, labels: Integers
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the MERGES and the MERGED_CELLS of a graph, whose heaviest edge is the first one.

    `low` (m,) and `high` (m,) hold the ends of the edges, and `labels` (n,) the labels of the
    nodes, which are numbers from 0, or -1 for a node without a label.
    """
    components = _Components(labels)
    merges, cells = [MERGES.to_frame()], [MERGED_CELLS.to_frame()]
    for first in range(0, low.size, _EDGES_PER_BLOCK):
        block = slice(first, first + _EDGES_PER_BLOCK)
        of_block = components.join(low[block], high[block], first)
        for frames, values in zip((merges, cells), of_block, strict=True):
            schema = frames[0].schema
            frames.append(pl.DataFrame(np.array(values, np.int64).reshape(-1, len(schema)), schema))
    return pl.concat(merges), pl.concat(cells)
