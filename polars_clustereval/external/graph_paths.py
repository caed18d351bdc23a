"""Graph searches within clusters: spanning forests, bridges, blocks and diameters.

Nodes are numbered from 0. A link is an edge between two different nodes in the same cluster. A
frame of links has the columns cluster_no, low (the lower node) and high (the higher node), and
contains each link only once. A part is a set of nodes that are connected by links, and a spanning
forest has one tree for each part. A bridge is a link whose removal would divide a part in two. Two
links are in the same block if they are on a common cycle, so a bridge is a block of its own.

Docstrings give the shapes of arrays in terms of n nodes, m links and c clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.frames import map_whole
from polars_clustereval.base.parts import Booleans, Integers, label_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

# The columns of a frame of links.
LINK_COLUMNS = ("cluster_no", "low", "high")
# The number of neighbors that are processed together.
_BLOCK = 4_000_000


def _join_ranges(starts: Integers, counts: Integers) -> Integers:
    """Return an array that joins k ranges of integers, given `starts` (k,) and `counts` (k,)."""
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(starts - before, counts) + np.arange(counts.sum()))


class _Adjacency(NamedTuple):
    """The neighbors of all nodes: those of node i are neighbors[starts[i] : starts[i + 1]]."""

    starts: Integers
    neighbors: Integers

    def expand(self, nodes: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield, in blocks, positions in `nodes` and the neighbors of the nodes at these positions.

        Each pair of a node and one of its neighbors is in exactly one block. A block contains at
        most _BLOCK neighbors, unless a single node has more.
        """
        counts = self.starts[nodes + 1] - self.starts[nodes]
        ends = np.cumsum(counts)
        first = 0
        while first < nodes.size:
            done = ends[first - 1] if first else 0
            after = max(first + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
            block = nodes[first:after]
            index = _join_ranges(self.starts[block], counts[first:after])
            yield np.repeat(np.arange(first, after), counts[first:after]), self.neighbors[index]
            first = after


def _make_adjacency(low: Integers, high: Integers, n: int) -> _Adjacency:
    """Return the neighbors of n nodes, given the arrays of link ends, low (m,) and high (m,)."""
    ends, others = np.concatenate([low, high]), np.concatenate([high, low])
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=starts[1:])
    # Polars sorts on all threads.
    return _Adjacency(starts, others[pl.Series(ends).arg_sort().to_numpy()])


def _take_firsts(values: Integers, marks: Integers) -> Booleans:
    """Return a mask (m,) of the first occurrence of each value in `values` (m,).

    `marks` is a work array with one element for each possible value. It is overwritten.
    """
    places = np.arange(values.size)
    marks[values[::-1]] = places[::-1]
    return np.asarray(marks[values] == places)


# ----------------------------------------------------------------------------------------------
# Spanning forests
# ----------------------------------------------------------------------------------------------

#: The columns of find_parts.
PARTS = pl.Schema(dict.fromkeys(("node", "part"), pl.Int64()))


def label_links(links: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of find_parts for a frame of links."""
    low, high = links["low"].to_numpy(), links["high"].to_numpy()
    if not low.size:
        return PARTS.to_frame()
    part = pl.Series(label_parts(low, high, int(high.max()) + 1))
    parts = part.to_frame("part").with_row_index("node").select(pl.col(*PARTS).cast(pl.Int64))
    return parts.filter(pl.col("node") != pl.col("part"))


def find_parts(links: pl.LazyFrame) -> pl.LazyFrame:
    """Return node and part, the lowest node of its part, of each node except the lowest ones."""
    return map_whole(links.select("low", "high"), label_links, PARTS)


class _Forest(NamedTuple):
    """A spanning forest, represented by the nodes in each level and the parent of each node.

    Level 0 contains the roots, which have parent -1. The children of a node are next to each other
    in the next level.
    """

    levels: list[Integers]
    parents: Integers


def _grow_forest(adjacency: _Adjacency, roots: Integers) -> _Forest:
    """Return the forest of a breadth-first search from `roots`, one node per part."""
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
    """Return two arrays (n,): the preorder number of each node, and the size of its subtree.

    The numbers of the nodes in a subtree are consecutive, and its root has the lowest number.
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


class _Reach(NamedTuple):
    """For each node, the preorder numbers (n,) of its subtree and of the ends of its other links.

    The subtree has `sizes` numbers from `numbers` on. `least` and `most` are the lowest and the
    highest number in the subtree, and of nodes that links outside the forest join to it.
    """

    numbers: Integers
    sizes: Integers
    least: Integers
    most: Integers


def _reach(low: Integers, high: Integers, forest: _Forest) -> tuple[_Reach, Booleans]:
    """Return the reach of each node, and a mask (m,) of the links outside the forest."""
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
    return _Reach(numbers, sizes, least, most), is_other


def _is_within(reach: _Reach, nodes: Integers, roots: Integers) -> Booleans:
    """Return whether links outside the forest keep `nodes` within the subtrees of `roots`."""
    first = reach.numbers[roots]
    after = first + reach.sizes[roots]
    return np.asarray((reach.least[nodes] >= first) & (reach.most[nodes] < after))


def _find_forest(low: Integers, high: Integers) -> tuple[_Forest, Integers]:
    """Return a spanning forest, and the part of each node, which is its lowest node and its root.

    The ends of the links are low (m,) and high (m,).
    """
    n = int(high.max()) + 1
    parts = label_parts(low, high, n)
    # A root is the lowest node of its part, so it is the lower end of each of its links.
    is_root = np.zeros(n, np.bool_)
    is_root[low] = True
    roots = np.flatnonzero(is_root & (parts == np.arange(n)))
    return _grow_forest(_make_adjacency(low, high, n), roots), parts


def _tree_edges_of(links: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of find_tree_edges for a frame of links."""
    cluster_no, low, high = (links[name].to_numpy() for name in LINK_COLUMNS)
    if not low.size:
        return links.with_columns(is_bridge=pl.lit(False))
    forest, parts = _find_forest(low, high)
    reach, _ = _reach(low, high, forest)
    clusters = np.zeros(parts.size, np.int64)
    clusters[low] = clusters[high] = cluster_no
    nodes = np.concatenate(forest.levels[1:])
    parents = forest.parents[nodes]
    return pl.DataFrame(
        {
            "cluster_no": clusters[nodes],
            "low": np.minimum(nodes, parents),
            "high": np.maximum(nodes, parents),
            "is_bridge": _is_within(reach, nodes, nodes),
        }
    )


def find_tree_edges(links: pl.LazyFrame) -> pl.LazyFrame:
    """Return the edges of a spanning forest for the links, with the column is_bridge."""
    schema = pl.Schema({**dict.fromkeys(LINK_COLUMNS, pl.Int64()), "is_bridge": pl.Boolean()})
    return map_whole(links.select(LINK_COLUMNS), _tree_edges_of, schema)


# ----------------------------------------------------------------------------------------------
# Blocks
# ----------------------------------------------------------------------------------------------


def find_blocks(low: Integers, high: Integers) -> pl.DataFrame:
    """Return one row per link of a spanning forest, with its nodes, node and parent.

    The other columns are part (the lowest node of the part), n_nodes (the size of the part), size
    (the nodes that are connected with `parent` through `node` in the forest), block (a number) and
    is_bridge. As in the algorithm of Tarjan and Vishkin (1985), the links of the forest are the
    nodes of a graph, whose parts are the blocks. In a breadth-first search, each link outside the
    forest joins two nodes neither of which is in the subtree of the other.
    """
    forest, parts = _find_forest(low, high)
    reach, is_other = _reach(low, high, forest)
    nodes = np.concatenate(forest.levels[1:])
    parents = forest.parents[nodes]
    # A link is known by the node that is farther from the root.
    is_joined = (forest.parents[parents] >= 0) & ~_is_within(reach, nodes, parents)
    one = np.concatenate([low[is_other], nodes[is_joined]])
    two = np.concatenate([high[is_other], parents[is_joined]])
    blocks = label_parts(np.minimum(one, two), np.maximum(one, two), parts.size)
    return pl.DataFrame(
        {
            "node": nodes,
            "parent": parents,
            "part": parts[nodes],
            "n_nodes": reach.sizes[parts[nodes]],
            "size": reach.sizes[nodes],
            "block": blocks[nodes],
            "is_bridge": _is_within(reach, nodes, nodes),
        }
    )


# ----------------------------------------------------------------------------------------------
# Diameters
# ----------------------------------------------------------------------------------------------


class _Searches(NamedTuple):
    """Breadth-first searches, each of which starts from 64 nodes in its own copy of a cluster.

    For each of s searches, numbers (s,) contains its number, and firsts (s,) contains the first
    node of its copy. For each of n nodes, owners (n,) contains its search, and degrees (n,)
    contains the number of its neighbors. neighbors (2m,) lists the neighbors of all nodes, node by
    node.
    """

    numbers: Integers
    firsts: Integers
    owners: Integers
    degrees: Integers
    neighbors: Integers

    def keep(self, is_kept: Booleans) -> tuple[_Searches, Booleans]:
        """Return the searches selected by the mask is_kept (s,), and a mask of their nodes (n,)."""
        of_nodes = is_kept[self.owners]
        renumbered = np.cumsum(of_nodes) - 1
        owners = (np.cumsum(is_kept) - 1)[self.owners[of_nodes]]
        sizes = np.bincount(owners)
        rest = _Searches(
            self.numbers[is_kept],
            np.cumsum(sizes) - sizes,
            owners,
            self.degrees[of_nodes],
            renumbered[self.neighbors[np.repeat(of_nodes, self.degrees)]],
        )
        return rest, of_nodes


def _longest_paths(adjacency: _Adjacency, firsts: Integers) -> Integers:
    """Return the diameters (c,) of the clusters, given `firsts` (c + 1,).

    `firsts` contains the first node of each cluster, followed by the number of nodes. For k = 1, 2,
    ..., a search finds the nodes that are at most k links away from each of 64 start nodes. Each
    node stores one bit for each start node of a search. Searches are run in groups, each with a
    total of about _BLOCK neighbors.
    """
    sizes, n_neighbors = np.diff(firsts), np.diff(adjacency.starts[firsts])
    n_searches = -(-sizes // 64)
    clusters = np.repeat(np.arange(sizes.size), n_searches)
    blocks = _join_ranges(np.zeros_like(n_searches), n_searches)
    ends = np.cumsum(n_neighbors[clusters])
    diameters = np.zeros(sizes.size, np.int64)
    start = 0
    while start < clusters.size:
        done = ends[start - 1] if start else 0
        after = max(start + 1, int(np.searchsorted(ends, done + _BLOCK, side="right")))
        own = clusters[start:after]
        n_steps = _search_blocks(adjacency, firsts[own], sizes[own], blocks[start:after])
        np.maximum.at(diameters, own, n_steps)
        start = after
    return diameters


def _search_blocks(
    adjacency: _Adjacency, firsts: Integers, sizes: Integers, blocks: Integers
) -> Integers:
    """Return, for each search, the largest distance (s,) from its 64 start nodes, in links.

    `firsts` (s,) and `sizes` (s,) are those of the clusters that are searched. `blocks` (s,)
    contains the numbers of the blocks of start nodes, where block b begins at node 64 b of the
    cluster.
    """
    nodes = _join_ranges(firsts, sizes)
    owners = np.repeat(np.arange(sizes.size), sizes)
    copies = np.cumsum(sizes) - sizes
    degrees = adjacency.starts[nodes + 1] - adjacency.starts[nodes]
    neighbors = adjacency.neighbors[_join_ranges(adjacency.starts[nodes], degrees)]
    neighbors += np.repeat((copies - firsts)[owners], degrees)
    searches = _Searches(np.arange(sizes.size), copies, owners, degrees, neighbors)

    places = nodes - (firsts + 64 * blocks)[owners]
    is_start = (places >= 0) & (places < 64)
    bits = np.where(is_start, np.uint64(1) << (places % 64).astype(np.uint64), np.uint64(0))
    all_bits = np.bitwise_or.reduceat(bits, copies)
    n_steps, step = np.zeros(sizes.size, np.int64), 0
    while True:
        is_open = np.logical_or.reduceat(bits != all_bits[searches.owners], searches.firsts)
        if not is_open.any():
            return n_steps
        step += 1
        n_steps[searches.numbers[is_open]] = step
        if 2 * np.count_nonzero(is_open) < is_open.size:
            searches, of_nodes = searches.keep(is_open)
            bits, all_bits = bits[of_nodes], all_bits[is_open]
        # Every node has a neighbor, so no range is empty.
        starts = np.cumsum(searches.degrees) - searches.degrees
        bits |= np.bitwise_or.reduceat(bits[searches.neighbors], starts)


def _diameters_of(links: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of measure_diameters for a frame of links."""
    cluster_no, low, high = (links[name].to_numpy() for name in LINK_COLUMNS)
    if not low.size:
        return pl.DataFrame(schema={"cluster_no": pl.Int64, "diameter": pl.Int64})
    # The nodes are renumbered, so that the numbers of a cluster are consecutive.
    own = np.full(int(high.max()) + 1, -1)
    own[low] = own[high] = cluster_no
    nodes = np.flatnonzero(own >= 0)
    nodes = nodes[pl.Series(own[nodes]).arg_sort().to_numpy()]
    renumbered = np.empty(own.size, np.int64)
    renumbered[nodes] = np.arange(nodes.size)
    numbers, firsts = np.unique(own[nodes], return_index=True)
    adjacency = _make_adjacency(renumbered[low], renumbered[high], nodes.size)
    diameters = _longest_paths(adjacency, np.append(firsts, nodes.size))
    return pl.DataFrame({"cluster_no": numbers, "diameter": diameters})


def measure_diameters(links: pl.LazyFrame) -> pl.LazyFrame:
    """Return cluster_no and diameter, in links, for the links of connected clusters."""
    schema = pl.Schema({"cluster_no": pl.Int64(), "diameter": pl.Int64()})
    return map_whole(links.select(LINK_COLUMNS), _diameters_of, schema)
