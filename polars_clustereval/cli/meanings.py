"""Meanings: what the columns of the reports say, and which of their values is best.

A column maps to two texts: its best value (a number, high or low, or nothing) and one line.
"""

from __future__ import annotations

from typing import NamedTuple

from polars_clustereval import catalogue

__all__ = [
    "AFFECTED",
    "CLUSTERS",
    "CONSENSUS",
    "DRIFT",
    "DUNN",
    "ELBOW",
    "EXTERNAL",
    "EXTERNAL_INTERVALS",
    "GRAPH",
    "GRAPH_CLUSTERS",
    "GRAPH_EDGES",
    "GRAPH_NODES",
    "INTERNAL",
    "LABELS",
    "MATCHING",
    "MOVES",
    "OVERLAPPING",
    "OVERLAPS",
    "PAIRWISE",
    "RESOLUTION",
    "RESOLUTION_ESTIMATES",
    "SAMPLES",
    "SILHOUETTE",
    "STABILITY",
    "TRANSITIONS",
    "Meaning",
]


class Meaning(NamedTuple):
    """What a column says: its best value (a number, high, low, or '' for none) and one line."""

    best: str
    text: str

    @property
    def is_high_best(self) -> bool:
        """Whether a higher value is better than a lower one."""
        return self.best in ("high", "1")


def _explain(meanings: dict[str, tuple[str, str]]) -> dict[str, Meaning]:
    """Return the meanings by column, given pairs of the best value and the text."""
    return {name: Meaning(*pair) for name, pair in meanings.items()}


def _look_up(table: str) -> dict[str, Meaning]:
    """Return the meanings of the scores of a report, as the catalogue has them."""
    entries = catalogue.entries().values()
    return {x.name: Meaning(x.best, x.meaning) for x in entries if x.table == table}


_POINT_COUNTS = _explain(
    {
        "n": ("", "points that are scored"),
        "n_dropped": ("", "rows left out: no vector or no cluster"),
        "n_noise": ("", "points whose cluster is noise"),
        "n_dims": ("", "coordinates of a point"),
        "n_clusters": ("", "clusters, those of one point too"),
        "n_singletons": ("", "clusters of one point"),
    }
)

_ROW_COUNTS = _explain(
    {
        "n": ("", "rows that are scored"),
        "n_dropped": ("", "rows left out: no label or no cluster"),
        "n_noise": ("", "rows whose cluster is noise"),
        "n_labels": ("", "different labels"),
        "n_clusters": ("", "different clusters"),
    }
)

EXTERNAL = _ROW_COUNTS | _look_up("external_report")

#: The columns of a report with a row for each metric.
_LIMITS = _explain(
    {
        "metric": ("", "name of the metric"),
        "value": ("", "value of the metric"),
        "std_error": ("", "standard error of the value"),
        "lower": ("", "lower limit of the interval"),
        "upper": ("", "upper limit of the interval"),
    }
)

EXTERNAL_INTERVALS = EXTERNAL | _LIMITS

RESOLUTION = EXTERNAL | _look_up("entity_resolution_report")

RESOLUTION_ESTIMATES = (
    RESOLUTION
    | _LIMITS
    | _explain(
        {
            "matching_rate": ("", "share of rows whose entity has several"),
            "average_label_size": ("", "mean number of rows of an entity"),
            "reason": ("", "why there is no value"),
        }
    )
)

MATCHING = _ROW_COUNTS | _look_up("matching_report")

OVERLAPPING = _explain(
    {
        "n": ("", "ids with a label and a cluster: only these count"),
        "n_only_labels": ("", "ids with labels only"),
        "n_only_clusters": ("", "ids with clusters only"),
        "n_dropped": ("", "rows left out: no id, label or cluster"),
        "n_labels": ("", "different labels"),
        "n_clusters": ("", "different clusters"),
    }
) | _look_up("overlapping_report")

GRAPH = _explain(
    {
        "n_nodes": ("", "ids with a cluster"),
        "n_dropped": ("", "rows of nodes left out: no cluster"),
        "n_noise": ("", "nodes whose cluster is noise"),
        "n_clusters": ("", "different clusters"),
        "n_edges": ("", "different edges between these nodes"),
        "n_self_loops": ("", "edges from a node to itself"),
        "n_dropped_edges": ("", "rows of edges left out: an end in no cluster"),
        "n_duplicate_edges": ("", "rows of edges that are there already"),
    }
) | _look_up("graph_report")

GRAPH_CLUSTERS = _explain(
    {
        "cluster": ("", "the cluster"),
        "n_nodes": ("", "ids in it"),
        "n_edges": ("", "edges within it"),
        "weight": ("", "weight of these edges"),
        "n_cut_edges": ("", "edges to other clusters"),
        "cut_weight": ("", "weight of these edges"),
        "density": ("1", "edges within, of the pairs of its nodes"),
        "centralization": ("", "0 for a complete graph, 1 for a star"),
        "conductance": ("0", "cut weight, of the weight at its nodes"),
        "n_components": ("low", "parts that its own edges connect"),
        "n_bridges": ("", "edges that would divide it"),
        "diameter": ("", "edges between its nodes furthest apart"),
    }
)

GRAPH_NODES = _explain(
    {
        "id": ("", "the node"),
        "cluster": ("", "its cluster; NULL for a node of noise alone"),
        "degree": ("", "edges at the node"),
        "weighted_degree": ("", "weight of these edges"),
        "node_degree": ("", "edges at the node within its cluster"),
        "node_centrality": ("", "these, of the other nodes of its cluster"),
        "n_bridges": ("", "edges at it that would divide its cluster"),
    }
)

GRAPH_EDGES = _explain(
    {
        "left": ("", "one end"),
        "right": ("", "the other end"),
        "weight": ("", "sum of the weights of its rows"),
        "n_rows": ("", "rows of this edge"),
        "cluster": ("", "cluster of both ends; NULL between clusters"),
        "is_bridge": ("", "whether the cluster would be divided without it"),
    }
)

INTERNAL = _POINT_COUNTS | _look_up("internal_report")

SILHOUETTE = (
    _POINT_COUNTS
    | _explain({"n_evaluated": ("", "points whose own silhouette is computed")})
    | _look_up("silhouette_score")
)

DUNN = _POINT_COUNTS | _look_up("dunn_index")

PAIRWISE = (
    _POINT_COUNTS
    | _explain(
        {
            "n_within_pairs": ("", "pairs of points in one cluster"),
            "n_between_pairs": ("", "pairs of points in two clusters"),
        }
    )
    | _look_up("pairwise_report")
)

ELBOW = _explain(
    {
        "k": ("", "number of clusters asked for"),
        "n": ("", "points that are scored"),
        "n_clusters": ("", "clusters there are"),
        "ssw": ("low", "sum of squared distances to the centers"),
        "explained_variance": ("1", "share of the total sum of squares between clusters"),
        "calinski_harabasz_score": ("high", "variance between clusters / within"),
        "davies_bouldin_score": ("low", "mean overlap of a cluster with its nearest"),
        "silhouette": ("1", "mean over the points; see --silhouette"),
        "krzanowski_lai_index": ("high", "fall of ssw to k / fall to k + 1"),
        "hartigan_index": ("", "another cluster is worth it above 10"),
        "jump": ("high", "rise of the transformed distortion from k - 1"),
        "second_difference": ("high", "how much less ssw falls after k than before"),
        "chord_distance": ("high", "how far the curve is below its chord"),
        "kneedle": ("high", "the difference curve of Kneedle"),
        "is_knee": ("", "first knee by Kneedle; NULL if there is none"),
    }
)

CLUSTERS = _explain(
    {
        "cluster": ("", "the cluster, most joined pairs first"),
        "n": ("", "rows in the cluster"),
        "n_labels": ("", "different labels in it"),
        "majority_label": ("", "its most frequent label"),
        "majority_n": ("", "rows with that label"),
        "purity": ("1", "share of rows with that label"),
        "entropy": ("0", "information of the labels in it, in nats"),
        "joined_pairs": ("0", "pairs of different labels in it"),
    }
)

LABELS = _explain(
    {
        "label": ("", "the label, most split pairs first"),
        "n": ("", "rows with the label"),
        "n_clusters": ("", "different clusters of it"),
        "majority_cluster": ("", "its most frequent cluster"),
        "majority_n": ("", "rows in that cluster"),
        "recall": ("1", "share of rows in that cluster"),
        "entropy": ("0", "information of the clusters of it, in nats"),
        "split_pairs": ("0", "pairs of the label in two clusters"),
    }
)

CONSENSUS = _explain(
    {
        "run": ("", "the clustering, the most central one first"),
        "n_runs": ("", "others that it is compared with"),
        "mean_score": ("", "mean agreement with the others"),
        "min_score": ("", "least agreement with one of them"),
        "max_score": ("", "greatest agreement with one of them"),
        "rank": ("", "1 for the most central run"),
    }
)

STABILITY = _explain(
    {
        "cluster": ("", "of the reference run, the least stable first"),
        "n": ("", "rows in the cluster"),
        "n_runs": ("", "other runs that have some of them"),
        "mean_jaccard": ("1", "mean over the runs of the best Jaccard index there"),
        "min_jaccard": ("1", "the least of these"),
        "recovered": ("1", "share of the runs with more than 0.75"),
        "dissolved": ("0", "share of the runs with less than 0.5"),
    }
)

_PAIR_OF_CLUSTERS = {
    "cluster_before": ("", "cluster of the run before"),
    "cluster_after": ("", "cluster of the run after"),
    "n_before": ("", "ids before"),
    "n_after": ("", "ids after"),
    "n_common": ("", "ids in both clusters"),
    "share_before": ("", "n_common, of the ids before that are in both runs"),
    "share_after": ("", "n_common, of the ids after that are in both runs"),
}

TRANSITIONS = _explain(
    _PAIR_OF_CLUSTERS
    | {
        "cluster_before": ("", "cluster of the run before; NULL for none, and for several"),
        "cluster_after": ("", "cluster of the run after; NULL for none, and for several"),
        "transition": ("", "kept, grown, shrunk, split, merged, gone or new"),
        "ambiguity": ("", "why that is doubtful; NULL if it is not"),
        "n_clusters_before": ("", "clusters before in this row: the sources of a merged one"),
        "n_clusters_after": ("", "clusters after in this row: the parts of a split one"),
        "n_common": ("", "ids in linked clusters of the row"),
        "n_left": ("", "ids before that are not in the run after"),
        "n_joined": ("", "ids after that are not in the run before"),
    }
)

OVERLAPS = _explain(
    _PAIR_OF_CLUSTERS
    | {
        "jaccard": ("1", "ids in both clusters / in either, of those in both runs"),
        "is_link": ("", "whether a share reaches the threshold"),
    }
)

MOVES = _explain(
    {
        "id": ("", "an id that has moved, left or joined"),
        "cluster_before": ("", "its cluster before; NULL if it has joined"),
        "cluster_after": ("", "its cluster after; NULL if it has left"),
    }
)

AFFECTED = _explain(
    {
        "id": ("", "an id whose companions, the other ids of its cluster, have changed"),
        "cluster_before": ("", "its cluster before; NULL if it has joined"),
        "cluster_after": ("", "its cluster after; NULL if it has left"),
        "n_kept": ("", "companions in both runs"),
        "n_lost": ("", "companions in the run before only"),
        "n_gained": ("", "companions in the run after only"),
    }
)

DRIFT = (
    _explain(
        {
            "n_before": ("", "ids of the run before"),
            "n_after": ("", "ids of the run after"),
            "n_common": ("", "ids in both runs"),
            "n_moved": ("0", "ids whose clusters are not linked"),
            "n_left": ("", "ids of the run before only"),
            "n_joined": ("", "ids of the run after only"),
            "n_clusters_before": ("", "clusters of the run before"),
            "n_clusters_after": ("", "clusters of the run after"),
            "n_kept": ("", "clusters that live on with as many ids"),
            "n_grown": ("", "clusters that live on with more ids"),
            "n_shrunk": ("", "clusters that live on with fewer ids"),
            "n_split": ("", "clusters before that are several after"),
            "n_merged": ("", "clusters after that were several before"),
            "n_gone": ("", "clusters before without a link"),
            "n_new": ("", "clusters after without a link"),
            "n_ambiguous": ("", "doubtful rows: without --show drift"),
        }
    )
    | _look_up("run_drift")
    | {
        name: EXTERNAL[name]
        for name in (
            *("adjusted_rand_score", "adjusted_mutual_info_score"),
            "variation_of_information",
        )
    }
)

SAMPLES = _explain(
    {
        "id": ("", "the point; its row, from 0, without --id"),
        "cluster": ("", "its cluster"),
        "neighbor": ("", "the nearest other cluster"),
        "a": ("low", "mean distance to its own cluster"),
        "b": ("high", "mean distance to the neighbor"),
        "silhouette": ("1", "(b - a) / max(a, b), from -1; low ones first"),
    }
)
