"""Reports on graphs and on nearest neighbors, and on the clusters of their nodes."""

from __future__ import annotations

from dataclasses import replace

from polars_clustereval import (
    connected_components,
    graph_cluster_report,
    graph_edge_report,
    graph_node_report,
    graph_report,
    neighborhood_clusters,
    neighborhood_report,
    neighborhood_samples,
    suspicious_links,
    threshold_report,
)
from polars_clustereval.relative.thresholds import THRESHOLD_SCORES

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
    heading=(("id", "cluster"), ("left", "right", "weight", "threshold", "resolution")),
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
            "clusters_are_components": "whether each cluster is a connected component",
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
    heading=(("id", "cluster"), ("left", "right", "weight", "threshold")),
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

_GRAPH_LINKS = replace(
    _GRAPH_CLUSTERS,
    variant="links",
    function=suspicious_links,
    description="the places where the clusters of a graph could be cut",
    no_rows="",
    meanings=explain(
        {
            "cluster": "the cluster",
            "kind": "bridge, articulation point or minimum cut",
            "left": "one end, or the articulation point",
            "right": "the other end; the lightest edge of a minimum cut",
            "weight": "weight of the edges that are removed",
            "n_edges": "edges that are removed",
            "n_parts": "parts that remain",
            "n_separated": "ids outside the largest part",
            "largest_part": "ids in the largest part",
        }
    ),
)

_NEIGHBORHOOD = Report(
    command="neighborhood",
    show="scores",
    function=neighborhood_report,
    description="scores of clusters, or of batches, by the nearest neighbors of each id",
    engine="polars",
    inputs=(
        Input("frame", "clustereval_points", ("id", "cluster", "partition_by")),
        Input("neighbors", "clustereval_neighbors", ("left", "right", "distance", "partition_by")),
    ),
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    heading=(("id", "cluster"), ("left", "right", "distance", "perplexity")),
    meanings=explain(
        {
            "n": "ids with a cluster",
            "n_dropped": "rows of ids left out: no cluster",
            "n_noise": "ids whose cluster is noise",
            "n_clusters": "different clusters",
            "n_neighbors": "neighbors of all ids",
            "n_self_neighbors": "rows in which an id is its own neighbor",
            "n_dropped_neighbors": "rows of neighbors left out: an id has no cluster",
            "n_duplicate_neighbors": "rows that repeat a neighbor",
            "n_without_neighbors": "ids without neighbors",
        }
    )
    | look_up("neighborhood_report")
    | explain(
        {
            "connectivity": "sum of 1 / rank of neighbors in other clusters",
            "modularity": "of the graph of neighbors: share above chance",
        }
    ),
    titles={"n": "ids", "n_neighbors": "neighbors", "neighbor_purity": "scores"},
    comparison=(
        *("n", "n_clusters", "n_neighbors", "neighbor_purity", "balanced_purity"),
        *("inverse_simpson", "kbet_acceptance_rate", "mean_component_share"),
    ),
    any_magnitude=True,
)

_OF_ONE_ID: dict[str, str | tuple[str, str]] = {
    "n_neighbors": "its neighbors",
    "neighbor_purity": ("high", "share of its neighbors in its cluster"),
    "balanced_purity": ("high", "neighbor_purity as if clusters had the same size"),
    "inverse_simpson": "effective number of clusters among its neighbors",
    "lisi": "inverse_simpson if near neighbors count more",
    "connectivity": ("0", "sum of 1 / rank of its neighbors in other clusters"),
    "normalized_connectivity": ("0", "connectivity / its largest value"),
}
_NEIGHBORHOOD_CLUSTERS = replace(
    _NEIGHBORHOOD,
    show="",
    variant="clusters",
    function=neighborhood_clusters,
    description="the scores of the nearest neighbors of each cluster",
    row_counts=(),
    no_rows="no rows with an id and a cluster",
    meanings=explain(
        {
            **_OF_ONE_ID,
            "cluster": "the cluster",
            "n": "ids in it",
            "n_neighbors": "neighbors of its ids",
            "n_without_neighbors": "ids without neighbors",
            "kbet_acceptance_rate": "share of ids with neighbors as in all of the data",
            "n_components": ("low", "parts that are connected by neighbors"),
            "largest_component_share": ("high", "share of its ids in the largest part"),
        }
    ),
    titles={},
    comparison=(),
)

_NEIGHBORHOOD_SAMPLES = replace(
    _NEIGHBORHOOD_CLUSTERS,
    variant="samples",
    function=neighborhood_samples,
    description="the scores of the nearest neighbors of each id",
    meanings=explain(
        {
            **_OF_ONE_ID,
            "id": "the id",
            "cluster": "its cluster; NULL for noise that counts as singletons",
            "n_dropped_neighbors": "rows left out: the neighbor has no cluster",
            "kbet_statistic": "chi-square statistic of its neighbors",
            "kbet_p_value": "low if its neighbors differ from all of the data",
        }
    ),
)

_COMPONENTS = replace(
    _GRAPH_CLUSTERS,
    command="components",
    variant="",
    function=connected_components,
    description="the clusters that edges make: ids that they connect",
    inputs=(Input("frame", "clustereval_nodes", ("id", "partition_by")), _GRAPH.inputs[1]),
    no_rows="no rows",
    heading=(("id",), ("left", "right", "weight", "threshold")),
    meanings=explain({"id": "the node", "cluster": "the least id of its cluster"}),
)

_THRESHOLDS = replace(
    _COMPONENTS,
    command="thresholds",
    function=threshold_report,
    description="the clusters that edges make at each threshold, and their scores",
    inputs=(Input("frame", "clustereval_nodes", ("id", "label", "partition_by")), _GRAPH.inputs[1]),
    plot="threshold_plot",
    no_rows="no edges",
    heading=(("id", "label", "labels_are_sample"), ("left", "right", "weight")),
    meanings=explain(
        {
            "threshold": "lowest weight of an edge that counts",
            "n": "ids",
            "n_labeled": "ids with a label",
            "n_edges": "pairs of ids with an edge that counts",
            "n_clusters": "clusters",
            "n_singletons": "clusters of a single id",
            "largest_cluster_size": "ids in the largest cluster",
            "n_pairs": "pairs of ids in the same cluster",
            "expected_precision": ("1", "mean weight of the edges that count"),
        }
    )
    | look_up("external_report", *THRESHOLD_SCORES),
    left_out=("n", "n_labeled", "n_singletons", "n_edges", *THRESHOLD_SCORES[6:]),
)

_THRESHOLDS_OF_PAIRS = replace(
    _THRESHOLDS,
    variant="pairs",
    description="the same, with the scores of labeled pairs in place of labeled ids",
    inputs=(
        *_THRESHOLDS.inputs,
        Input(
            "pairs",
            "clustereval_pairs",
            ("pair_left", "pair_right", "is_match", "pair_weight"),
            optional=("partition_by",),
        ),
    ),
    heading=(
        ("id",),
        ("left", "right", "weight"),
        ("pair_left", "pair_right", "is_match", "pair_weight"),
    ),
    left_out=(*_THRESHOLDS.left_out, *THRESHOLD_SCORES[3:6]),
)

GRAPHS = (
    *(_GRAPH, _GRAPH_CLUSTERS, _GRAPH_NODES, _GRAPH_EDGES, _GRAPH_LINKS),
    *(_NEIGHBORHOOD, _NEIGHBORHOOD_CLUSTERS, _NEIGHBORHOOD_SAMPLES),
    *(_COMPONENTS, _THRESHOLDS, _THRESHOLDS_OF_PAIRS),
)
