"""Reports on graphs and the clusters of their nodes."""

from __future__ import annotations

from dataclasses import replace

from polars_clustereval import (
    graph_cluster_report,
    graph_edge_report,
    graph_node_report,
    graph_report,
)

from .record import Input, Report, explain, look_up

__all__ = ["GRAPHS"]

_GRAPH = Report(
    command="graph",
    show="scores",
    function=graph_report,
    description="the scores of the clusters of a graph",
    engine="polars",
    inputs=(
        Input("frame", "clustereval_nodes", ("id", "cluster", "partition_by")),
        Input("edges", "clustereval_edges", ("left", "right", "weight", "partition_by")),
    ),
    row_counts=("n_nodes", "n_dropped_edges"),
    no_rows="no rows with an id and a cluster",
    heading=(("id", "cluster"), ("left", "right", "weight", "resolution")),
    meanings=explain(
        {
            "n_nodes": "ids with a cluster",
            "n_dropped": "rows of nodes left out: no cluster",
            "n_noise": "nodes whose cluster is noise",
            "n_clusters": "different clusters",
            "n_edges": "different edges between these nodes",
            "n_self_loops": "edges from a node to itself",
            "n_dropped_edges": "rows of edges left out: an end has no cluster",
            "n_duplicate_edges": "rows that repeat an edge",
        }
    )
    | look_up("graph_report"),
    titles={"n_nodes": "nodes", "n_edges": "edges", "modularity": "scores"},
    comparison=(
        *("n_nodes", "n_clusters", "n_edges", "modularity"),
        *("coverage", "mean_conductance", "inter_cluster_edge_share"),
    ),
)

_GRAPH_CLUSTERS = Report(
    command="graph",
    variant="clusters",
    function=graph_cluster_report,
    description="the edges and the shape of each cluster of a graph",
    engine="polars",
    inputs=_GRAPH.inputs,
    no_rows="no rows with an id and a cluster",
    heading=(("id", "cluster"), ("left", "right", "weight")),
    meanings=explain(
        {
            "cluster": "the cluster",
            "n_nodes": "ids in it",
            "n_edges": "edges within it",
            "weight": "weight of these edges",
            "n_cut_edges": "edges to other clusters",
            "cut_weight": "weight of these edges",
            "density": ("1", "edges within / pairs of its nodes"),
            "centralization": "0 for a complete graph, 1 for a star",
            "conductance": ("0", "cut weight / weight at its nodes"),
            "n_components": ("low", "parts that are connected by its own edges"),
            "n_bridges": "edges without which it would fall apart",
            "diameter": "edges between its two nodes furthest apart",
        }
    ),
)

_GRAPH_NODES = replace(
    _GRAPH_CLUSTERS,
    variant="nodes",
    function=graph_node_report,
    description="the degrees of each node of a graph",
    meanings=explain(
        {
            "id": "the node",
            "cluster": "its cluster; NULL for noise that counts as singletons",
            "degree": "edges at the node",
            "weighted_degree": "weight of these edges",
            "node_degree": "edges at the node within its cluster",
            "node_centrality": "node_degree / other nodes of its cluster",
            "n_bridges": "edges at it without which its cluster would fall apart",
        }
    ),
)

_GRAPH_EDGES = replace(
    _GRAPH_CLUSTERS,
    variant="edges",
    function=graph_edge_report,
    description="the edges of a graph, and which of them are bridges",
    no_rows="",
    meanings=explain(
        {
            "left": "one end",
            "right": "the other end",
            "weight": "sum of the weights of its rows",
            "n_rows": "rows of this edge",
            "cluster": "cluster of both ends; NULL between clusters",
            "is_bridge": "whether the cluster would fall apart without it",
        }
    ),
)

GRAPHS = (_GRAPH, _GRAPH_CLUSTERS, _GRAPH_NODES, _GRAPH_EDGES)
