"""graph: facts about scores that rate the clusters of a graph."""

from __future__ import annotations

from functools import partial

from .entry import Entry

__all__ = ["GRAPH"]

_score_of_graph = partial(
    Entry,
    kind="graph",
    family="clusters of a graph",
    table="graph_report",
    range="[0, 1]",
    cost="Edges are joined to their nodes and then grouped, so the running time grows with the "
    "numbers of nodes and edges.",
)
_FORTUNATO = (
    "Fortunato (2010), Community detection in graphs, section III.C, "
    "doi:10.1016/j.physrep.2009.11.002."
)
_KANNAN = (
    "Kannan, Vempala and Vetta (2004), On clusterings: good, bad and spectral, "
    "doi:10.1145/990308.990313."
)
_NO_WEIGHT = "NULL if no edge has a weight above 0."
_NO_CONDUCTANCE = (
    "A cluster has no conductance if it has no edges with a weight above 0, or if none of the "
    "other clusters has such an edge (for example, if there is only one cluster). NULL if no "
    "cluster has a conductance."
)
_CONDUCTANCE_OF_CDLIB = (
    "In cdlib, the conductance counts edges instead of weights and is divided by V_c even if 2W − "
    "V_c is smaller."
)

GRAPH = (
    _score_of_graph(
        name="modularity",
        title="Modularity (Q)",
        definition="Share of the weight of all edges that lies within clusters, minus the share "
        "expected at random. The modularity is Σ_c (W_c / W − γ (V_c / 2W)²), where γ is the "
        "resolution parameter.",
        range="up to 1",
        best="high",
        meaning="share of weight within clusters, above chance",
        special_cases=f"{_NO_WEIGHT} The modularity is at least -0.5 if γ = 1.",
        source="Newman (2004), Analysis of weighted networks, doi:10.1103/PhysRevE.70.056131; γ: "
        "Reichardt and Bornholdt (2006), Statistical mechanics of community detection, "
        "doi:10.1103/PhysRevE.74.016110.",
        elsewhere={
            "networkx": "community.modularity",
            "igraph": "Graph.modularity",
            "cdlib": "newman_girvan_modularity",
        },
        differs="cdlib counts edges instead of weights.",
    ),
    _score_of_graph(
        name="coverage",
        title="Coverage",
        definition="Share of the weight of all edges that lies within clusters. The coverage is "
        "Σ_c W_c / W.",
        best="high",
        meaning="share of the edges' weight that is in clusters",
        special_cases=f"1 if there is only one cluster. {_NO_WEIGHT}",
        source=_FORTUNATO,
        elsewhere={"networkx": "community.partition_quality (first value)"},
        differs="networkx counts edges instead of weights.",
    ),
    _score_of_graph(
        name="performance",
        title="Performance",
        definition="Number of pairs of nodes that are either joined and in the same cluster, or "
        "not joined and in different clusters, divided by the number of all pairs.",
        range="[0, ∞)",
        best="high",
        meaning="share of node pairs that agree with the clusters",
        special_cases="NULL if there are fewer than two nodes. A self-loop counts as a pair that "
        "is joined within a cluster, as in networkx; without self-loops, the performance is at "
        "most 1.",
        source=_FORTUNATO,
        elsewhere={"networkx": "community.partition_quality (second value)"},
    ),
    _score_of_graph(
        name="mean_conductance",
        title="Mean conductance of the clusters",
        definition="Weight of the edges that leave a cluster, relative to the volume of the "
        "cluster or of the rest of the graph, whichever is smaller, averaged over the clusters. "
        "The score is the mean of C_c / min(V_c, 2W − V_c) over the clusters.",
        best="low",
        meaning="mean share of a cluster's weight that leaves it",
        special_cases=_NO_CONDUCTANCE,
        source=_KANNAN,
        elsewhere={"networkx": "conductance (of a single cluster)"},
        differs=_CONDUCTANCE_OF_CDLIB,
    ),
    _score_of_graph(
        name="worst_conductance",
        title="Worst conductance of a cluster",
        definition="Weight of the edges that leave a cluster, relative to the volume of the "
        "cluster or of the rest of the graph, whichever is smaller, for the worst cluster. The "
        "score is the maximum of C_c / min(V_c, 2W − V_c) over the clusters.",
        best="low",
        meaning="largest share of a cluster's weight that leaves it",
        special_cases=_NO_CONDUCTANCE,
        source=_KANNAN,
        elsewhere={"networkx": "conductance (of a single cluster)"},
        differs=_CONDUCTANCE_OF_CDLIB,
    ),
    _score_of_graph(
        name="inter_cluster_edge_share",
        title="Share of edges between clusters",
        definition="Share of edges that join different clusters. It is the number of edges "
        "between different clusters, divided by the number of all edges. Weights are ignored.",
        best="low",
        meaning="share of edges between clusters",
        special_cases="NULL if there are no edges.",
        source=_FORTUNATO,
        differs="The first value that partition_quality returns in networkx is 1 minus this share.",
    ),
)
