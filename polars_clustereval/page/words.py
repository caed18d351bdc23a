"""Words: the sentences and limits that a page uses, as data."""

from __future__ import annotations

from polars_clustereval.base.findings import (
    FAR_RATIO,
    GIANT_SHARE,
    LOW_SILHOUETTE,
    NOISE_NAMES,
    UNDIVIDED_SHARE,
)

__all__ = [
    "ALONE",
    "CLUSTERS",
    "CLUSTERS_OF_LABELS",
    "CLUSTERS_OF_POINTS",
    "FEW_ROWS",
    "GIANT_SHARE",
    "HEADLINES",
    "HEADLINES_OF_ENTITIES",
    "JUDGED",
    "LEAST_V_TEST",
    "MAX_CLUSTERS",
    "MOSTLY_IN_ONE",
    "MOST_ALIKE",
    "MOST_COLUMNS",
    "MOST_DESCRIBED",
    "MOST_LOW_POINTS",
    "MOST_NAMED",
    "NEXT_STEPS",
    "NOISE_NAMES",
    "NOT_DISTINGUISHED",
    "NOT_SCORES",
    "QUALITIES",
    "SUMMED_UP",
    "UNDIVIDED_SHARE",
]

# ----------------------------------------------------------------------------------------------
# Scores
# ----------------------------------------------------------------------------------------------

#: The scores at the top of the page; all others are in tables below.
HEADLINES = (
    *("adjusted_rand_score", "adjusted_mutual_info_score", "v_measure_score", "bcubed_f_score"),
    *("silhouette", "explained_variance", "davies_bouldin_score", "calinski_harabasz_score"),
)

#: The same for labels with few rows each, as in entity resolution, where pairs and whole entities
#: matter.
HEADLINES_OF_ENTITIES = (
    *("pair_precision", "pair_recall", "bcubed_f_score", "exact_match_f_score"),
    *HEADLINES[4:],
)
#: Labels have few rows if they have fewer than this on average.
FEW_ROWS = 5

#: Columns of reports that count rows and clusters; they are facts, not scores.
NOT_SCORES = (
    *("n", "n_dropped", "n_noise", "n_dims", "n_labels", "n_clusters", "n_singletons"),
    "n_evaluated",
)

#: The beginning of a sentence about a score.
JUDGED = {
    "adjusted_rand_score": "Agreement of the clusters with the labels",
    "silhouette": "Structure of the clusters",
}

#: A remark on the agreement with the labels where one cluster holds most rows.
MOSTLY_IN_ONE = "; most pairs are in cluster {cluster}, which has {share} of the rows"

# ----------------------------------------------------------------------------------------------
# Findings
# ----------------------------------------------------------------------------------------------

#: The codes of findings that are listed, besides those of SUMMED_UP. The warnings of a page state
#: the others.
ALONE = (
    *("unnamed_noise_label", "all_singletons", "unique_labels", "fractional_labels"),
    *("same_partition", "dominant_coordinate"),
)
#: Up to this number of findings of the same kind, each gets a sentence; more are combined into one
#: sentence.
MOST_ALIKE = 3
#: The number of findings that such a combined sentence names.
MOST_NAMED = 5

_UNDIVIDED = f"{100 * UNDIVIDED_SHARE:g} %"

#: By code of findings: the sentence for several findings, and the name of each of them. {percent},
#: {silhouette} and {times} are texts for the value of a finding.
SUMMED_UP = {
    "mixed_cluster": (
        f"{{n}} clusters are mixed, where less than {_UNDIVIDED} of the rows have one label",
        "{cluster} ({percent} {label})",
    ),
    "split_label": (
        f"{{n}} labels are split, with less than {_UNDIVIDED} of their rows in one cluster",
        "{label} ({percent} in {cluster})",
    ),
    "similar_labels": (
        "{n} sets of labels differ only by case or blanks",
        "{label} ({n} rows)",
    ),
    "noise_label": (
        "{n} labels have at least half of their rows in noise, which is left out",
        "{label} ({percent} of {n} rows)",
    ),
    "cluster_coordinate": (
        "{n} coordinates have one value in each cluster, which no other cluster has",
        "{coordinate}",
    ),
    "low_silhouette": (
        f"{{n}} clusters are hardly set apart, with mean silhouettes below {LOW_SILHOUETTE}",
        "{cluster} ({silhouette}, next to {other_cluster})",
    ),
    "close_clusters": (
        "{n} pairs of clusters are hardly set apart, and each is the nearest to the other",
        "{cluster} and {other_cluster}",
    ),
    "far_point": (
        f"{{n}} clusters have a point over {FAR_RATIO} times as far from the center as the average",
        "{cluster} ({times} times)",
    ),
    "tiny_cluster": (
        "{n} clusters have less than a tenth of the average size",
        "{cluster} ({n})",
    ),
}

#: What to try next, by code of findings.
NEXT_STEPS = {
    "dominant_coordinate": (
        "Pass the columns that were clustered on. If they were not scaled, scale them to the same "
        "spread, and cluster again."
    ),
    "close_clusters": (
        "Try fewer clusters: {cluster} and {other_cluster} have mostly rows of the same label. "
        "clustereval elbow compares numbers of clusters."
    ),
    "far_point": (
        "Look at the points far from the center of cluster {cluster}: they may be errors or noise."
    ),
    "mixed_cluster": "In cluster {cluster}, look at the rows whose label is not {label}.",
    "split_label": "Look at the rows of label {label} that are not in cluster {cluster}.",
    "giant_cluster": "Try more clusters: {cluster} has rows of several labels.",
    "tiny_cluster": "Cluster {cluster} has few rows: it may be noise.",
}

# ----------------------------------------------------------------------------------------------
# Clusters
# ----------------------------------------------------------------------------------------------

#: The title of the table by cluster, and those of two if labels and points are of other rows.
CLUSTERS = "Clusters"
CLUSTERS_OF_LABELS, CLUSTERS_OF_POINTS = "Clusters: rows with a label", "Clusters: points"
#: The number of columns that are named for a cluster, and the smallest v-test of such a column.
MOST_COLUMNS = 3
LEAST_V_TEST = 2.0
#: The number of clusters that are described; these are the largest.
MOST_DESCRIBED = 30
NOT_DISTINGUISHED = "nothing: no column differs by a v-test of 2 or more"

#: The number of rows of the table by cluster.
MAX_CLUSTERS = 500
#: The measures that distinguish good clusters from bad ones; the first that is available is used.
QUALITIES = ("silhouette", "purity", "mean_distance")
#: The number of points with low silhouettes that are listed.
MOST_LOW_POINTS = 20
