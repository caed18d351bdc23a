"""Searches in the graphs of clusters: spanning forests, bridges and diameters.

Nodes are whole numbers from 0. A link is an edge between two different nodes of a cluster; a frame
of links has the columns cluster_no, low and high, the lower node first, and no link twice. A part
is a set of nodes that links connect, and a spanning forest has a tree for each part. A bridge is a
link whose removal divides its part in two.

Docstrings name the axes of arrays by their lengths: n nodes, m links, c clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from .kernels.parts import Booleans, Integers, label_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

# The columns of the links of clusters.
LINK_COLUMNS = ("cluster_no", "low", "high")
# Filters and selections of the result must not be applied to the input.
_WHOLE_INPUT = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}
# Neighbors that are looked at together, and pairs of nodes whose distances are held together.
_BLOCK = 4_000_000


class _Adjacency(NamedTuple):
    """The neighbors of all nodes: those of node i are neighbors[starts[i] : starts[i + 1]]."""

    starts: Integers
    neighbors: Integers

    def expand(self, nodes: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield in blocks the place of a node in `nodes` and a neighbor of it, for each neighbor.

        A block has about _BLOCK neighbors, or all of a single node.
        """
        counts = self.starts[nodes + 1] - self.starts[nodes]
        ends = np.cumsum(counts)
        first = 0
        while first < nodes.size:
            done = ends[first - 1] if first else 0
            after = max(first + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
            places = np.repeat(np.arange(first, after), counts[first:after])
            shift = self.starts[nodes[first:after]] - (ends[first:after] - counts[first:after])
            index = np.arange(done, ends[after - 1]) + np.repeat(shift, counts[first:after])
            yield places, self.neighbors[index]
            first = after


def _make_adjacency(low: Integers, high: Integers, n: int) -> _Adjacency:
    """Return the neighbors of n nodes, given the ends (m,) of the links."""
    ends, others = np.concatenate([low, high]), np.concatenate([high, low])
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=starts[1:])
    # Polars sorts on all threads.
    return _Adjacency(starts, others[pl.Series(ends).arg_sort().to_numpy()])


def _take_firsts(values: Integers, marks: Integers) -> Booleans:
    """Return whether each of the values (m,) is the first one of its kind.

    `marks` is an array with a place for each value, which is overwritten.
    """
    places = np.arange(values.size)
    marks[values[::-1]] = places[::-1]
    return np.asarray(marks[values] == places)


# ----------------------------------------------------------------------------------------------
# Spanning forests
# ----------------------------------------------------------------------------------------------


class _Forest(NamedTuple):
    """A spanning forest: the nodes of each level, and the parent (n,) of each node, -1 for roots.

    Level 0 has the roots. The children of a node are neighbors in their level.
    """

    levels: list[Integers]
    parents: Integers


def _grow_forest(adjacency: _Adjacency, roots: Integers) -> _Forest:
    """Return the forest of the breadth-first search from the roots, one for each part."""
    n = adjacency.starts.size - 1
    parents, marks = np.full(n, -1), np.empty(n, np.int64)
    is_known = np.zeros(n, np.bool_)
    is_known[roots] = True
    levels = []
    while roots.size:
        levels.append(roots)
        found = [np.empty(0, np.int64)]
        for places, neighbors in adjacency.expand(roots):
            is_new = ~is_known[neighbors]
            nodes, origins = neighbors[is_new], roots[places[is_new]]
            is_first = _take_firsts(nodes, marks)
            nodes = nodes[is_first]
            parents[nodes] = origins[is_first]
            is_known[nodes] = True
            found.append(nodes)
        roots = np.concatenate(found)
    return _Forest(levels, parents)


# ----------------------------------------------------------------------------------------------
# Bridges
# ----------------------------------------------------------------------------------------------


def _number_nodes(forest: _Forest) -> tuple[Integers, Integers]:
    """Return the preorder number (n,) of each node, and the number (n,) of nodes in its subtree.

    The numbers of a subtree follow each other, and its root has the lowest.
    """
    levels, parents = forest
    sizes = np.ones(parents.size, np.int64)
    for nodes in reversed(levels[1:]):
        np.add.at(sizes, parents[nodes], sizes[nodes])
    numbers = np.zeros(parents.size, np.int64)
    numbers[levels[0]] = np.cumsum(sizes[levels[0]]) - sizes[levels[0]]
    for nodes in levels[1:]:
        origins, before = parents[nodes], np.cumsum(sizes[nodes]) - sizes[nodes]
        is_first = np.concatenate([[True], origins[1:] != origins[:-1]])
        of_siblings = before[np.flatnonzero(is_first)[np.cumsum(is_first) - 1]]
        numbers[nodes] = numbers[origins] + 1 + before - of_siblings
    return numbers, sizes


def _find_bridges(low: Integers, high: Integers, forest: _Forest) -> Booleans:
    """Return for each node (n,) whether the edge to its parent is a bridge.

    It is, unless a link that is not in the forest leads from the node's subtree to another node:
    to a preorder number outside of those of the subtree. `low` and `high` (m,) are the ends of the
    links.
    """
    levels, parents = forest
    numbers, sizes = _number_nodes(forest)
    is_other = (parents[low] != high) & (parents[high] != low)
    least, most = numbers.copy(), numbers.copy()
    for one, two in ((low[is_other], high[is_other]), (high[is_other], low[is_other])):
        np.minimum.at(least, one, numbers[two])
        np.maximum.at(most, one, numbers[two])
    for nodes in reversed(levels[1:]):
        np.minimum.at(least, parents[nodes], least[nodes])
        np.maximum.at(most, parents[nodes], most[nodes])
    return np.asarray((parents >= 0) & (least >= numbers) & (most < numbers + sizes))


def _tree_edges_of(links: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of find_tree_edges for a frame of links."""
    cluster_no, low, high = (links[name].to_numpy() for name in LINK_COLUMNS)
    if not low.size:
        return links.with_columns(is_bridge=pl.lit(False))
    n = int(high.max()) + 1
    parts = label_parts(low, high, n)
    # A root is the lowest node of its part, so it is the lower end of each of its links.
    is_root = np.zeros(n, np.bool_)
    is_root[low] = True
    roots = np.flatnonzero(is_root & (parts == np.arange(n)))
    forest = _grow_forest(_make_adjacency(low, high, n), roots)
    is_bridge = _find_bridges(low, high, forest)
    clusters = np.zeros(n, np.int64)
    clusters[low] = clusters[high] = cluster_no
    nodes = np.concatenate(forest.levels[1:])
    parents = forest.parents[nodes]
    return pl.DataFrame(
        {
            "cluster_no": clusters[nodes],
            "low": np.minimum(nodes, parents),
            "high": np.maximum(nodes, parents),
            "is_bridge": is_bridge[nodes],
        }
    )


def find_tree_edges(links: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per edge of a spanning forest of the links, with is_bridge.

    Every bridge is in it. The other columns are those of links.
    """
    schema = pl.Schema({**dict.fromkeys(LINK_COLUMNS, pl.Int64()), "is_bridge": pl.Boolean()})
    return links.select(LINK_COLUMNS).map_batches(_tree_edges_of, schema=schema, **_WHOLE_INPUT)


# ----------------------------------------------------------------------------------------------
# Diameters
# ----------------------------------------------------------------------------------------------


def _longest_paths(adjacency: _Adjacency, clusters: Integers, firsts: Integers) -> Integers:
    """Return the diameter (c,) of each cluster, a search from each of its nodes.

    `clusters` (n,) is the cluster of each node, from 0 on and in order, `firsts` (c + 1,) the first
    node of each. The searches of about _BLOCK pairs of nodes are made together.
    """
    sizes = np.diff(firsts)
    diameters = np.zeros(sizes.size, np.int64)
    ends = np.cumsum(sizes**2)
    start = 0
    while start < sizes.size:
        done = ends[start - 1] if start else 0
        after = max(start + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
        nodes = np.arange(firsts[start], firsts[after])
        own = clusters[nodes]
        # The place of the pair of a source and a node is the row of the source + the node.
        before = ends[own] - sizes[own] ** 2 - done
        rows = before + (nodes - firsts[own]) * sizes[own] - firsts[own]
        _search_pairs(adjacency, (rows, nodes), int(ends[after - 1] - done), clusters, diameters)
        start = after
    return diameters


def _search_pairs(
    adjacency: _Adjacency,
    sources: tuple[Integers, Integers],
    n_pairs: int,
    clusters: Integers,
    diameters: Integers,
) -> None:
    """Set the diameters of the clusters that the searches from the sources are in.

    `sources` are the row of each source, and the source itself; a pair of a source and a node has
    the place row + node, less than n_pairs. `clusters` (n,) is the cluster of each node.
    """
    rows, nodes = sources
    is_known, marks = np.zeros(n_pairs, np.bool_), np.empty(n_pairs, np.int64)
    is_known[rows + nodes] = True
    level = 0
    while nodes.size:
        diameters[clusters[nodes]] = level
        level += 1
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for places, neighbors in adjacency.expand(nodes):
            origins = rows[places]
            is_new = ~is_known[origins + neighbors]
            origins, neighbors = origins[is_new], neighbors[is_new]
            is_first = _take_firsts(origins + neighbors, marks)
            origins, neighbors = origins[is_first], neighbors[is_first]
            is_known[origins + neighbors] = True
            found.append((origins, neighbors))
        rows, nodes = (np.concatenate(parts) for parts in zip(*found, strict=True))


def _diameters_of(links: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of measure_diameters for a frame of links."""
    cluster_no, low, high = (links[name].to_numpy() for name in LINK_COLUMNS)
    ends = np.concatenate([low, high])
    if not ends.size:
        return pl.DataFrame(schema={"cluster_no": pl.Int64, "diameter": pl.Int64})
    nodes, places = np.unique(ends, return_index=True)
    numbers, own = np.unique(np.concatenate([cluster_no] * 2)[places], return_inverse=True)
    order = np.argsort(own, kind="stable")
    renumbered = np.empty(int(nodes[-1]) + 1, np.int64)
    renumbered[nodes[order]] = np.arange(nodes.size)
    clusters = own[order]
    firsts = np.searchsorted(clusters, np.arange(numbers.size + 1))
    adjacency = _make_adjacency(renumbered[low], renumbered[high], nodes.size)
    return pl.DataFrame(
        {"cluster_no": numbers, "diameter": _longest_paths(adjacency, clusters, firsts)}
    )


def measure_diameters(links: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row per cluster: cluster_no and diameter, given the links of connected clusters.

    The diameter is the number of links between the two nodes that are furthest apart.
    """
    schema = pl.Schema({"cluster_no": pl.Int64(), "diameter": pl.Int64()})
    return links.select(LINK_COLUMNS).map_batches(_diameters_of, schema=schema, **_WHOLE_INPUT)
