"""cuts: the places where the clusters of a graph fall apart most easily.

There is no file in sql/ for this module, because a query cannot hold a minimum cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from polars_clustereval.base.frames import join_small, map_whole, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .contingency import LabelOptions
from .graph_counts import Graph, GraphColumns, read_graph
from .graph_paths import find_blocks
from .kernels.min_cuts import find_minimum_cuts

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

#: The most nodes of a component whose minimum cut is computed.
MAX_CUT_NODES = 500

#: What rows are sorted by, so that rounding errors of a sum do not decide.
_RANK_OF_WEIGHT = pl.col("weight").round_sig_figs(12)
_CUT_COLUMNS = ("cluster", "kind", "left", "right", "weight", "n_edges")
_PART_COLUMNS = ("n_parts", "n_separated", "largest_part")
# The columns of links between places in graphs.
_OF_GRAPHS = ("graph", "low_place", "high_place", "weight")
#: The cuts of a graph, whose nodes are low and high. high is NULL for an articulation point.
_CUTS = pl.Schema(
    {"kind": pl.String(), "low": pl.Int64(), "high": pl.Int64(), "weight": pl.Float64()}
    | dict.fromkeys(("n_edges", *_PART_COLUMNS), pl.Int64())
)


class _SortedGraph(Graph):
    """A graph whose nodes are numbered in the order of their ids, so that ties have one order."""

    sorts_ids: ClassVar[bool] = True


# ----------------------------------------------------------------------------------------------
# Kinds of cuts
# ----------------------------------------------------------------------------------------------


def _count_two_parts(size: pl.Expr, n_nodes: pl.Expr) -> dict[str, pl.Expr]:
    """Return the columns _PART_COLUMNS of a cut into two parts, one of which has `size` nodes."""
    others = n_nodes - size
    return {
        "n_parts": pl.lit(2, pl.Int64),
        "n_separated": pl.min_horizontal(size, others),
        "largest_part": pl.max_horizontal(size, others),
    }


def _list_bridges(blocks: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return the bridges among the links of a forest."""
    bridges = blocks.filter("is_bridge").select(
        low=pl.min_horizontal("node", "parent"),
        high=pl.max_horizontal("node", "parent"),
        n_edges=pl.lit(1, pl.Int64),
        kind=pl.lit("bridge"),
        **_count_two_parts(pl.col("size"), pl.col("n_nodes")),
    )
    return links.join(bridges, on=["low", "high"])


def _list_articulation_points(blocks: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return the nodes that are in several blocks.

    Without a node, the nodes that it joins by links of the same block stay connected.
    """
    others = pl.col("n_nodes") - pl.col("size")
    sides = pl.concat(
        [
            blocks.select("block", "size", low="parent"),
            blocks.select("block", size=others, low="node"),
        ]
    )
    parts = sides.group_by("low", "block").agg(pl.col("size").sum())
    points = parts.group_by("low").agg(
        n_parts=pl.len().cast(pl.Int64),
        largest_part=pl.col("size").max(),
        n_separated=pl.col("size").sum() - pl.col("size").max(),
    )
    points = points.filter(pl.col("n_parts") > 1)
    ends = pl.concat([links.select("weight", low=end) for end in ("low", "high")])
    sums = ends.group_by("low").agg(pl.col("weight").sum(), n_edges=pl.len().cast(pl.Int64))
    return sums.join(points, on="low").with_columns(
        kind=pl.lit("articulation point"), high=pl.lit(None, pl.Int64)
    )


def _list_minimum_cuts(blocks: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Return a minimum cut of each part without a bridge, up to MAX_CUT_NODES nodes.

    low and high are the link of the lowest weight in the cut.
    """
    parts = blocks.group_by("part").agg(pl.col("n_nodes").first(), pl.col("is_bridge").any())
    parts = parts.filter(~pl.col("is_bridge"), pl.col("n_nodes") <= MAX_CUT_NODES)
    parts = parts.sort("n_nodes", "part").with_row_index("graph")
    nodes = pl.concat([blocks.select("part", "node"), parts.select("part", node="part")])
    nodes = nodes.join(parts, on="part").sort("graph", "node")
    nodes = nodes.with_columns(place=pl.int_range(pl.len()).over("graph"))
    of_low = nodes.select("part", "n_nodes", "graph", low="node", low_place="place")
    of_high = nodes.select(high="node", high_place="place")
    rows = links.join(of_low, on="low").join(of_high, on="high").sort("graph")
    graphs, low, high, weights = (rows[name].to_numpy() for name in _OF_GRAPHS)
    # Without a bridge, every cut has at least two links.
    lightest = rows.group_by("graph").agg(pl.col("weight").bottom_k(2).sum()).sort("graph")
    sizes, bounds = parts["n_nodes"].to_numpy(), lightest["weight"].to_numpy()
    side = find_minimum_cuts(graphs, low, high, weights, sizes, bounds)
    side_nodes = nodes.filter(pl.Series(side, dtype=pl.Boolean))
    is_in_side = (pl.col(end).is_in(side_nodes["node"].implode()) for end in ("low", "high"))
    crossing = rows.filter(pl.Expr.xor(*is_in_side)).sort(_RANK_OF_WEIGHT, "low", "high")
    cuts = crossing.group_by("part").agg(
        pl.col("low", "high", "n_nodes").first(),
        pl.col("weight").sum(),
        n_edges=pl.len().cast(pl.Int64),
    )
    size = side_nodes.group_by("part").agg(size=pl.len().cast(pl.Int64))
    return cuts.join(size, on="part").with_columns(
        kind=pl.lit("minimum cut"), **_count_two_parts(pl.col("size"), pl.col("n_nodes"))
    )


def _cuts_of(links: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of _CUTS for links, which have the columns low, high and weight."""
    if links.is_empty():
        return _CUTS.to_frame()
    blocks = find_blocks(links["low"].to_numpy(), links["high"].to_numpy())
    lists = (_list_bridges, _list_articulation_points, _list_minimum_cuts)
    return pl.concat([listed(blocks, links).select(*_CUTS) for listed in lists])


# ----------------------------------------------------------------------------------------------
# Table
# ----------------------------------------------------------------------------------------------


@table_function("graph", guide="graph", no_sql_because="a query cannot hold the search")
def suspicious_links(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name of the other tables
    cluster: Column,
    edges: pl.DataFrame | pl.LazyFrame,
    left: Column,
    right: Column,
    *,
    weight: Column | None = None,
    threshold: float | None = None,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Places where the clusters of a graph could be cut, the one that separates most ids first.

    A wrong link between two groups of records joins all of their records. Such a link is often a
    bridge, that is, the only link between the two groups. A record that joins groups which have
    nothing else in common is an articulation point.

    Parameters
    ----------
    frame, id, cluster, edges, left, right, weight, threshold : as in graph_report
    partition_by, noise, noise_as : as in graph_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cut, sorted by partition, and then by n_separated in
        descending order, weight, left and right. Only edges within a cluster count, and each
        connected component of a cluster is cut separately. If no cluster has such an edge, there
        are no rows. The result has the partition columns and the following columns:

        - cluster: the cluster that is cut.
        - kind: 'bridge' for an edge whose removal divides a component in two; 'articulation point'
          for an id whose removal divides the rest of its component; or 'minimum cut' for the edges
          with the lowest total weight that divide a component without bridges. Components with more
          than 500 ids have no minimum cut.
        - left, right: the two ids of a bridge. For an articulation point, left is the id, and right
          is NULL. For a minimum cut, they are the edge of the cut with the lowest weight.
        - weight, n_edges: the total weight and the number of edges that are removed. For an
          articulation point, these are all edges of the id in its cluster.
        - n_parts: the number of parts that remain of the component.
        - n_separated: the number of ids outside the largest of these parts. For a bridge or a
          minimum cut, this is the size of the smaller side.
        - largest_part: the number of ids in the largest part.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in graph_report.

    Notes
    -----
    A component of two ids has one bridge, which separates a single id, so you can leave out pairs
    with ``n_separated > 1``. Self-loops are ignored. If a component has several minimum cuts, the
    row describes one of them. To find bridges and articulation points takes time proportional to
    the number of edges, which are held in memory.

    There is no SQL for this table, because a query cannot hold the search. For DuckDB relations,
    pass the rows::

        people, matches = con.sql("FROM people").pl(), con.sql("FROM matches").pl()
        ce.suspicious_links(people, "id", "cluster", matches, "left", "right")

    In SQL, ``FROM clustereval.graph_edge_report(tbl, id, cluster, edges, "left", "right")`` lists
    the bridges without sizes. The command line computes the table for files:
    ``clustereval graph FILE --edges EDGES --show links``.

    References
    ----------
    Tarjan (1974), A note on finding the bridges of a graph, doi:10.1016/0020-0190(74)90003-9.
    Hopcroft and Tarjan (1973), Algorithm 447: efficient algorithms for graph manipulation,
    doi:10.1145/362248.362272. Tarjan and Vishkin (1985), An efficient parallel biconnectivity
    algorithm, doi:10.1137/0214061. Stoer and Wagner (1997), A simple min-cut algorithm,
    doi:10.1145/263867.263872.

    Examples
    --------
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d", "e", "f"], "cluster": 1})
    >>> pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "d")]
    >>> matches = pl.DataFrame(pairs, schema=["left", "right"], orient="row")
    >>> links = ce.suspicious_links(people, "id", "cluster", matches, "left", "right")
    >>> for row in links.select("kind", "left", "right", "n_separated", "largest_part").rows():
    ...     print(row)
    ('bridge', 'c', 'd', 3, 3)
    ('articulation point', 'c', None, 2, 3)
    ('articulation point', 'd', None, 2, 3)
    """
    columns, options = pass_arguments_to(GraphColumns), pass_arguments_to(LabelOptions, weight=None)
    results = (*_CUT_COLUMNS, *_PART_COLUMNS)
    graph: Graph = read_graph(frame, edges, columns, options, results, _SortedGraph)
    links = graph.edges.filter(pl.col("is_inner") & ~pl.col("is_loop"))
    rows = map_whole(links.select("low", "high", "weight"), _cuts_of, _CUTS)
    of_node = pl.col("id").cast(graph.id_type)
    of_low = graph.nodes.select(*graph.keys, "cluster", low="node", left=of_node)
    of_high = graph.nodes.select(high="node", right=of_node)
    rows = join_small(join_small(rows, ["low"], of_low), ["high"], of_high, how="left")
    rows = rows.select(*graph.keys, *results)
    order = [*graph.keys, -pl.col("n_separated"), _RANK_OF_WEIGHT, "left", "right"]
    rows = rows.sort(order, nulls_last=True)
    return to_user_frame(frame, rows, graph.keys)
