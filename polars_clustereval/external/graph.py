"""Tables that describe the clusters of a graph, such as a graph of linked records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import check_metrics
from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import join_partitions, join_small, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .contingency import LabelOptions
from .graph_counts import (
    GraphColumns,
    centralization,
    check_max_diameter_nodes,
    check_resolution,
    density,
    read_graph,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

_GRAPH_COUNTS = (
    "n_nodes",
    "n_dropped",
    "n_noise",
    "n_clusters",
    "n_edges",
    "n_self_loops",
    "n_dropped_edges",
    "n_duplicate_edges",
)
_ARE_COMPONENTS = "clusters_are_components"
_GRAPH_SCORES = (
    "modularity",
    "coverage",
    "performance",
    "mean_conductance",
    "worst_conductance",
    "inter_cluster_edge_share",
)
_GRAPH_CLUSTER_COLUMNS = (
    "cluster",
    "n_nodes",
    "n_edges",
    "weight",
    "n_cut_edges",
    "cut_weight",
    "density",
    "centralization",
    "conductance",
    "n_components",
    "n_bridges",
    "diameter",
)
_GRAPH_NODE_COLUMNS = (
    "id",
    "cluster",
    "degree",
    "weighted_degree",
    "node_degree",
    "node_centrality",
    "n_bridges",
)
_GRAPH_EDGE_COLUMNS = ("left", "right", "weight", "n_rows", "cluster", "is_bridge")


@table_function("graph", guide="graph")
def graph_report(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
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
    resolution: float = 1.0,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Scores that rate the clusters of a graph by its edges.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The nodes, one row per id. Rows without a cluster are left out, along with all of their
        edges. A LazyFrame is read when you collect the result.
    id, cluster : str or Expr
        The columns of `frame` with the id and the cluster of each node. An id must not have more
        than one row with a cluster.
    edges : DataFrame or LazyFrame
        The undirected edges. Rows with the same two ids, in either order, count as one edge, and
        their weights are added.
    left, right : str or Expr
        The columns of `edges` with the ids of the two ends, which must have the same type as id. An
        edge is left out if one of its ends is NULL or has no cluster.
    weight : str or Expr, optional
        A column of `edges` that contains finite numbers >= 0. By default, each row has weight 1.
    threshold : float, optional
        Only rows of `edges` whose weight is at least this number count. By default, all rows count.
        If you pass all predictions of a linkage model, pass the threshold that made the clusters,
        too.
    partition_by : str, Expr or sequence of these, optional
        Columns in both frames that define the groups to evaluate separately. Each partition is a
        separate graph, in which an edge joins two nodes of the same partition. NULL is also a
        partition.
    noise : object, optional
        The cluster value that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise is treated as an ordinary cluster, left out, or treated as one cluster per
        node.
    resolution : float
        The nonnegative parameter gamma of the modularity. A larger value favors more clusters.
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition. The result has the partition columns and the
        following columns:

        - n_nodes: the number of nodes.
        - n_dropped: the number of rows without a cluster.
        - n_noise: the number of noise nodes.
        - n_clusters: the number of clusters.
        - n_edges: the number of edges.
        - n_self_loops: the number of self-loops.
        - n_dropped_edges: the number of rows of `edges` that are left out.
        - n_duplicate_edges: the number of rows of `edges` that repeat an edge.
        - clusters_are_components: whether each cluster is a connected component of the graph, or
          NULL if there are no clusters. Then no edge joins two clusters, so that coverage,
          conductances and inter_cluster_edge_share are the same for right and wrong clusters, and
          modularity tells little. See graph_cluster_report and suspicious_links instead.
        - modularity (range up to 1, best high): the modularity of the clusters.
        - coverage (range [0, 1], best high): the share of the edge weight that is within clusters.
        - performance (range [0, inf), best high): the share of pairs of nodes that are joined
          within a cluster, or not joined and in different clusters.
        - mean_conductance (range [0, 1], best low): the mean conductance of the clusters.
        - worst_conductance (range [0, 1], best low): the largest conductance of a cluster.
        - inter_cluster_edge_share (range [0, 1], best low): the share of edges between clusters.

        If no weight is above 0, all scores except performance and inter_cluster_edge_share are
        NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if the ids and the ends of edges have different types, if an
        option is unknown, or if threshold is given without weight. When you collect the result, the
        error is also raised if an id is NULL or has several rows with a cluster, if a weight is
        negative, NULL or not finite, if the sum of the weights overflows, or if there are nodes and
        edges, but no edge joins two nodes.

    Notes
    -----
    As in networkx, a self-loop adds two to the degree of its node, and one to the number of edges
    within its cluster. Therefore, performance can exceed 1 in a graph with many self-loops. In SQL:
    ``FROM clustereval.graph_report(tbl, id, cluster, edges, "left", "right")``.

    References
    ----------
    Newman (2004), Analysis of weighted networks, doi:10.1103/PhysRevE.70.056131. Reichardt and
    Bornholdt (2006), Statistical mechanics of community detection, doi:10.1103/PhysRevE.74.016110.
    Fortunato (2010), Community detection in graphs, doi:10.1016/j.physrep.2009.11.002.

    Examples
    --------
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d", "e"], "cluster": [1, 1, 1, 1, 2]})
    >>> pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]
    >>> matches = pl.DataFrame(pairs, schema=["left", "right"], orient="row")
    >>> report = ce.graph_report(people, "id", "cluster", matches, "left", "right")
    >>> report.select("n_nodes", "n_edges", "modularity", "coverage", "performance").rows()
    [(5, 5, 0.0, 0.8, 0.7)]
    """
    check_resolution(resolution)
    columns, options = pass_arguments_to(GraphColumns), pass_arguments_to(LabelOptions, weight=None)
    results = (*_GRAPH_COUNTS, _ARE_COMPONENTS, *_GRAPH_SCORES)
    graph = read_graph(frame, edges, columns, options, results)
    keys = list(graph.keys)
    is_asked = metrics is None or _ARE_COMPONENTS in check_metrics(metrics, results)
    searches = [graph.components_of_closed_partitions()] if is_asked else []
    rows = join_partitions(graph.row_counts(), keys, graph.sums(resolution), *searches, how="left")
    n_components = pl.col("n_components") if is_asked else pl.lit(None, pl.Int64)
    are_components = (pl.col("n_cut") == 0) & (n_components == pl.col("n_clusters"))
    rows = rows.select(
        *keys,
        pl.col(*_GRAPH_COUNTS).fill_null(0),
        pl.when(pl.col("n_clusters") > 0).then(are_components).alias(_ARE_COMPONENTS),
        *_GRAPH_SCORES,
    )
    return to_user_frame(
        frame, rows.sort(keys, nulls_last=True) if keys else rows, graph.keys, metrics
    )


@table_function("graph", guide="graph", order=("cluster",))
def graph_cluster_report(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
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
    max_diameter_nodes: int = 1000,
) -> Frame:
    """Edges, shape and weak points of each cluster of a graph.

    Parameters
    ----------
    max_diameter_nodes : int
        The diameter is NULL for clusters with more nodes than this limit, because computing a
        diameter requires a search from every node. If the limit is 0, no diameters are computed.
    frame, id, cluster, edges, left, right, weight, threshold : as in graph_report
    partition_by, noise, noise_as : as in graph_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The result has
        the partition columns, cluster, and the following columns:

        - n_nodes: the number of nodes.
        - n_edges, weight: the number of edges within the cluster, and their total weight.
        - n_cut_edges, cut_weight: the number of edges to other clusters, and their total weight.
        - density: the number of edges within the cluster divided by the number of pairs of nodes.
        - centralization: Freeman's degree centralization, which is 1 for a star.
        - conductance: the conductance of the cluster.
        - n_components: the number of connected components, which is 1 if the cluster is connected.
        - n_bridges: the number of edges whose removal would split a component.
        - diameter: the number of edges between the two nodes that are farthest apart, or NULL if
          the cluster has several components.

        A value that would be 0/0 is NULL. Noise nodes that count as singletons are not listed.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in graph_report.

    Notes
    -----
    For clusters without self-loops, density and centralization are the same as in splink. In SQL:
    ``FROM clustereval.graph_cluster_report(tbl, id, cluster, edges, "left", "right")``.

    References
    ----------
    Freeman (1978), Centrality in social networks, doi:10.1016/0378-8733(78)90021-7. Chartrand
    (1966), A graph-theoretic approach to a communications problem, doi:10.1137/0114065.

    Examples
    --------
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d", "e"], "cluster": [1, 1, 1, 1, 2]})
    >>> pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]
    >>> matches = pl.DataFrame(pairs, schema=["left", "right"], orient="row")
    >>> report = ce.graph_cluster_report(people, "id", "cluster", matches, "left", "right")
    >>> report.select("cluster", "n_nodes", "n_edges", "n_bridges", "diameter").rows()
    [(1, 4, 4, 1, 2), (2, 1, 0, 0, 0)]
    """
    check_max_diameter_nodes(max_diameter_nodes)
    columns, options = pass_arguments_to(GraphColumns), pass_arguments_to(LabelOptions, weight=None)
    graph = read_graph(frame, edges, columns, options, _GRAPH_CLUSTER_COLUMNS)
    rows = graph.components.filter(pl.col("cluster").is_not_null())
    diameters = graph.diameters(int(max_diameter_nodes))
    rows = join_small(rows, ["cluster_no"], diameters, how="left").with_columns(
        density=density(pl.col("n_nodes"), pl.col("n_edges")),
        centralization=centralization(pl.col("n_nodes"), pl.col("max_degree"), pl.col("n_edges")),
    )
    rows = rows.select(*graph.keys, *_GRAPH_CLUSTER_COLUMNS)
    return to_user_frame(frame, rows.sort(*graph.keys, "cluster", nulls_last=True), graph.keys)


@table_function("graph", guide="graph", order=("id",))
def graph_node_report(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
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
    """Degree of each node of a graph, in total and within its cluster.

    Parameters
    ----------
    frame, id, cluster, edges, left, right, weight, threshold : as in graph_report
    partition_by, noise, noise_as : as in graph_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per node, sorted by partition and id. The result has the
        partition columns, id, and the following columns:

        - cluster: the cluster of the node, or NULL for noise that counts as singletons.
        - degree: the number of edges of the node.
        - weighted_degree: the sum of the weights of the node's edges.
        - node_degree: the number of edges to nodes in the same cluster.
        - node_centrality: node_degree divided by the number of other nodes in the cluster, or NULL
          for a cluster of one node.
        - n_bridges: the number of edges of the node that are bridges.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in graph_report.

    Notes
    -----
    node_degree and node_centrality are the same as in splink. A self-loop adds two to the degree of
    its node. In SQL: ``FROM clustereval.graph_node_report(tbl, id, cluster, edges, "left",
    "right")``.

    References
    ----------
    Freeman (1978), Centrality in social networks, doi:10.1016/0378-8733(78)90021-7.

    Examples
    --------
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d", "e"], "cluster": [1, 1, 1, 1, 2]})
    >>> pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]
    >>> matches = pl.DataFrame(pairs, schema=["left", "right"], orient="row")
    >>> report = ce.graph_node_report(people, "id", "cluster", matches, "left", "right")
    >>> report.filter(id="d").select("degree", "node_degree", "n_bridges").rows()
    [(2, 1, 1)]
    """
    columns, options = pass_arguments_to(GraphColumns), pass_arguments_to(LabelOptions, weight=None)
    graph = read_graph(frame, edges, columns, options, _GRAPH_NODE_COLUMNS)
    bridges = graph.tree_edges.filter("is_bridge")
    ends = pl.concat([bridges.select(node="low"), bridges.select(node="high")])
    counts = ends.group_by("node").agg(n_bridges=pl.len().cast(pl.Int64))
    rows = join_small(
        graph.nodes, ["cluster_no"], graph.clusters.select("cluster_no", "n_nodes"), how="left"
    )
    rows = join_small(rows, ["node"], graph.degrees.drop("cluster_no"), how="left")
    rows = join_small(rows, ["node"], counts, how="left")
    rows = rows.with_columns(
        pl.col("inner_degree", "cut_degree", "n_bridges").fill_null(0),
        pl.col("inner_weight", "cut_weight").fill_null(0.0),
    ).with_columns(
        pl.col("id").cast(graph.id_type),
        degree=pl.col("inner_degree") + pl.col("cut_degree"),
        weighted_degree=pl.col("inner_weight") + pl.col("cut_weight"),
        node_degree="inner_degree",
        node_centrality=ratio(pl.col("inner_degree"), pl.col("n_nodes") - 1),
    )
    rows = rows.select(*graph.keys, *_GRAPH_NODE_COLUMNS)
    return to_user_frame(frame, rows.sort(*graph.keys, "id", nulls_last=True), graph.keys)


@table_function("graph", guide="graph", order=("left", "right"))
def graph_edge_report(
    frame: Frame,
    id: Column,  # noqa: A002 -- the name in SQL
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
    """Edges of a graph, and whether removing an edge would split its cluster.

    Parameters
    ----------
    frame, id, cluster, edges, left, right, weight, threshold : as in graph_report
    partition_by, noise, noise_as : as in graph_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per edge between two ids that have a cluster. The rows are
        sorted by partition, left and right. The result has the partition columns and the following
        columns:

        - left, right: the two ids, with the lower id first.
        - weight: the total weight of the edge, summed over its rows in `edges`.
        - n_rows: the number of rows of the edge in `edges`.
        - cluster: the cluster of both ids, or NULL for an edge between clusters.
        - is_bridge: whether removing the edge would split a component of the cluster, or NULL for
          an edge between clusters.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in graph_report.

    Notes
    -----
    Bridges are found by a breadth-first search, which takes one step per level. Therefore, the
    search is slow in DuckDB if a cluster is a chain of many thousands of nodes. In Python and on
    the command line, suspicious_links lists the bridges with the sizes of their sides. In SQL:
    ``FROM clustereval.graph_edge_report(tbl, id, cluster, edges, "left", "right")``.

    References
    ----------
    Tarjan (1974), A note on finding the bridges of a graph, doi:10.1016/0020-0190(74)90003-9.

    Examples
    --------
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d", "e"], "cluster": [1, 1, 1, 1, 2]})
    >>> pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")]
    >>> matches = pl.DataFrame(pairs, schema=["left", "right"], orient="row")
    >>> report = ce.graph_edge_report(people, "id", "cluster", matches, "left", "right")
    >>> report.filter("is_bridge").select("left", "right", "cluster").rows()
    [('c', 'd', 1)]
    """
    columns, options = pass_arguments_to(GraphColumns), pass_arguments_to(LabelOptions, weight=None)
    graph = read_graph(frame, edges, columns, options, _GRAPH_EDGE_COLUMNS)
    rows = graph.edges
    # Lists and structs can be ranked, but not compared by <=.
    place = pl.col("id").rank("dense") if graph.id_type.is_nested() else pl.col("id")
    places = graph.nodes.with_columns(place=place)
    for end in ("low", "high"):
        nodes = places.select(
            pl.col("node").alias(end),
            pl.col("id").alias(f"{end}_id").cast(graph.id_type),
            pl.col("place").alias(f"{end}_place"),
            pl.col("cluster").alias(f"cluster_of_{end}"),
        )
        rows = join_small(rows, [end], nodes)
    rows = join_small(rows, ["low", "high"], graph.tree_edges.drop("cluster_no"), how="left")
    is_inner, is_ordered = pl.col("is_inner"), pl.col("low_place") <= pl.col("high_place")
    rows = rows.select(
        *graph.keys,
        pl.when(is_ordered).then("low_id").otherwise("high_id").alias("left"),
        pl.when(is_ordered).then("high_id").otherwise("low_id").alias("right"),
        "weight",
        "n_rows",
        cluster=pl.when(is_inner).then("cluster_of_low"),
        is_bridge=pl.when(is_inner).then(pl.col("is_bridge").fill_null(False)),
    )
    return to_user_frame(
        frame, rows.sort(*graph.keys, "left", "right", nulls_last=True), graph.keys
    )
