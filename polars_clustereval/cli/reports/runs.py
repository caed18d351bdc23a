"""Reports on many clusterings of the same ids and on the changes from one run to the next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polars_clustereval import (
    affected_ids,
    cluster_stability,
    compare_clusterings,
    moved_ids,
    run_consensus,
    run_drift,
    run_transitions,
    transition_overlaps,
)

from .record import Input, Report, explain, look_up

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RUNS"]


def _name_given(report: Report, arguments: Mapping[str, Any]) -> Report:
    """Return the report with a heading that names only columns that are given."""
    heading = {
        "label": ("label", "clusters", "confidence"),
        "vector": ("vector", "distance"),
        "run": ("id", "run"),
    }
    given = tuple(names for name, names in heading.items() if arguments[name] is not None)
    return replace(report, heading=given if "label" in given[0] else (("clusters",), *given))


_COMPARISON_REPORT = Report(
    command="compare",
    function=compare_clusterings,
    description="several clusterings of the same rows, the best one first",
    row_counts=("n",),
    no_rows="no rows with a label and a cluster",
    heading=(("label", "clusters", "confidence"), ("vector", "distance")),
    meanings=explain(
        {
            "clustering": "the column of the clusters, the best one first",
            "rank": "1 for the best one",
            "n": "rows that it scores",
            "coverage": ("1", "share of the rows that it scores"),
            "n_clusters": "clusters of these rows",
            "n_noise": "rows of noise",
            "n_common": "rows that every clustering scores",
            "adjusted_rand_score": "adjusted Rand index of its own rows",
            "adjusted_rand_score_common": ("1", "of the rows that all score; decides the order"),
            "adjusted_rand_score_difference": "to the best one, on the rows that all score",
            "adjusted_rand_score_lower": "of the difference",
            "adjusted_rand_score_upper": "of the difference; below 0 if the best one is better",
            "adjusted_mutual_info_score": "adjusted mutual information of its own rows",
            "adjusted_mutual_info_score_common": ("1", "of the rows that all score"),
            "adjusted_mutual_info_score_difference": "to the best one",
            "adjusted_mutual_info_score_lower": "of this difference",
            "adjusted_mutual_info_score_upper": "of this difference",
            "simplified_silhouette": ("1", "mean silhouette by the centers, of its own rows"),
            "simplified_silhouette_common": ("1", "of the rows that all score"),
            "simplified_silhouette_difference": "to the best one, on the rows that all score",
            "simplified_silhouette_lower": "of this difference",
            "simplified_silhouette_upper": "of this difference; below 0 if the best one is better",
            "davies_bouldin_score": "overlap of clusters, of its own rows",
            "davies_bouldin_score_common": ("0", "of the rows that all score"),
            "davies_bouldin_score_difference": "to the best one, on the rows that all score",
            "calinski_harabasz_score": "variance between / within clusters, of its own rows",
            "calinski_harabasz_score_common": ("high", "of the rows that all score"),
            "calinski_harabasz_score_difference": "to the best one, on the rows that all score",
            "calinski_harabasz_score_lower": "of this difference",
            "calinski_harabasz_score_upper": "of this difference",
            "remark": "what to know before you prefer the best one",
        }
    ),
    left_out=(
        *(
            f"adjusted_mutual_info_score{x}"
            for x in ("", "_common", "_difference", "_lower", "_upper")
        ),
        *(f"calinski_harabasz_score{x}" for x in ("", "_difference", "_lower", "_upper")),
        *("rank", "davies_bouldin_score", "davies_bouldin_score_difference", "n_common"),
    ),
    remarks=("clustering", "remark"),
    adapt=_name_given,
)

_CONSENSUS_REPORT = Report(
    command="stability",
    function=run_consensus,
    description="the most central of many clusterings, or how stable the clusters of one run are",
    no_rows="no rows with a run and a cluster",
    heading=(("id", "run", "cluster", "metric"),),
    meanings=explain(
        {
            "run": "the clustering, the most central one first",
            "n_runs": "other runs that it is compared with",
            "mean_score": "mean agreement with the others",
            "min_score": "smallest agreement with one of them",
            "max_score": "largest agreement with one of them",
            "rank": "1 for the most central run",
        }
    ),
)

_STABILITY_REPORT = Report(
    command="stability",
    variant="reference",
    function=cluster_stability,
    description="the stability of the clusters of one run",
    no_rows="no rows with a run and a cluster",
    options={"reference": ""},
    heading=(("id", "run", "cluster", "reference"),),
    meanings=explain(
        {
            "cluster": "cluster of the reference run, the least stable first",
            "n": "rows in the cluster",
            "n_runs": "other runs that have some of them",
            "mean_jaccard": ("1", "mean over these runs of the best Jaccard index there"),
            "min_jaccard": ("1", "the smallest of these"),
            "recovered": ("1", "share of the runs with more than 0.75"),
            "dissolved": ("0", "share of the runs with less than 0.5"),
        }
    ),
    worst_first="mean_jaccard",
)

# ----------------------------------------------------------------------------------------------
# Two runs
# ----------------------------------------------------------------------------------------------

_RUN_COLUMNS = ("id", "cluster", "partition_by")
_BEFORE_AND_AFTER = (
    Input("frame_before", "clustereval_before", _RUN_COLUMNS),
    Input("frame_after", "clustereval_after", _RUN_COLUMNS),
)

_PAIR_OF_CLUSTERS = explain(
    {
        "cluster_before": "cluster of the run before",
        "cluster_after": "cluster of the run after",
        "n_before": "ids before",
        "n_after": "ids after",
        "n_common": "ids in both clusters",
        "share_before": "n_common / ids before that are in both runs",
        "share_after": "n_common / ids after that are in both runs",
    }
)
_CLUSTERS_OF_AN_ID = explain(
    {
        "cluster_before": "its cluster before; NULL if it has joined",
        "cluster_after": "its cluster after; NULL if it has left",
    }
)

_TRANSITION_REPORT = Report(
    command="transitions",
    show="clusters",
    function=run_transitions,
    description="what became of the clusters from one run to the next",
    inputs=_BEFORE_AND_AFTER,
    no_rows="no rows with an id and a cluster",
    heading=(("id", "cluster", "threshold", "min_share"),),
    meanings=_PAIR_OF_CLUSTERS
    | explain(
        {
            "cluster_before": "cluster of the run before; NULL for none, and for several",
            "cluster_after": "cluster of the run after; NULL for none, and for several",
            "transition": "kept, grown, shrunk, split, merged, gone or new",
            "ambiguity": "why the transition is doubtful; NULL if it is not",
            "n_clusters_before": "clusters before in this row: the sources of a merged one",
            "n_clusters_after": "clusters after in this row: the parts of a split one",
            "n_common": "ids in linked clusters of the row",
            "n_left": "ids before that are not in the run after",
            "n_joined": "ids after that are not in the run before",
        }
    ),
    shown_last=("transition", "kept"),
)

_OVERLAP_REPORT = Report(
    command="transitions",
    variant="overlaps",
    function=transition_overlaps,
    description="the pairs of clusters that have common ids",
    inputs=_BEFORE_AND_AFTER,
    heading=(("id", "cluster", "threshold"),),
    meanings=_PAIR_OF_CLUSTERS
    | explain(
        {
            "jaccard": ("1", "ids in both clusters / in either, of those in both runs"),
            "is_link": "whether a share reaches the threshold",
        }
    ),
)

_MOVED_IDS = Report(
    command="transitions",
    variant="ids",
    function=moved_ids,
    description="the ids that have moved, left or joined",
    inputs=_BEFORE_AND_AFTER,
    heading=(("id", "cluster", "threshold"),),
    meanings=explain({"id": "an id that has moved, left or joined"}) | _CLUSTERS_OF_AN_ID,
)

_AFFECTED_IDS = replace(
    _MOVED_IDS,
    variant="affected",
    function=affected_ids,
    description="the ids whose companions in their cluster have changed",
    heading=(("id", "cluster"),),
    meanings=_CLUSTERS_OF_AN_ID
    | explain(
        {
            "id": "an id whose companions, the other ids of its cluster, have changed",
            "n_kept": "companions in both runs",
            "n_lost": "companions in the run before only",
            "n_gained": "companions in the run after only",
        }
    ),
)

_AGREEMENT_SCORES = (
    "adjusted_rand_score",
    "adjusted_mutual_info_score",
    "variation_of_information",
)

_DRIFT_REPORT = Report(
    command="transitions",
    variant="drift",
    function=run_drift,
    description="how much has changed, in one row",
    inputs=_BEFORE_AND_AFTER,
    row_counts=("n_before", "n_after", "n_moved"),
    no_rows="no rows with an id and a cluster",
    heading=(("id", "cluster", "threshold", "min_share"),),
    meanings=explain(
        {
            "n_before": "ids of the run before",
            "n_after": "ids of the run after",
            "n_common": "ids in both runs",
            "n_moved": ("0", "ids whose clusters are not linked"),
            "n_left": "ids of the run before only",
            "n_joined": "ids of the run after only",
            "n_affected": ("0", "ids whose companions in their cluster have changed"),
            "n_clusters_before": "clusters of the run before",
            "n_clusters_after": "clusters of the run after",
            "n_kept": "clusters that live on with as many ids",
            "n_grown": "clusters that live on with more ids",
            "n_shrunk": "clusters that live on with fewer ids",
            "n_split": "clusters before that are split after",
            "n_merged": "clusters after that are merged from several before",
            "n_gone": "clusters before without a link",
            "n_new": "clusters after without a link",
            "n_ambiguous": "doubtful rows of --show clusters",
        }
    )
    | look_up("run_drift")
    | look_up("external_report", *_AGREEMENT_SCORES),
    titles={
        "n_before": "ids",
        "n_clusters_before": "clusters",
        "adjusted_rand_score": "agreement",
        "population_stability_index": "sizes",
    },
    comparison=(
        *("churn", "n_before", "n_after", "n_common", "n_moved"),
        *("adjusted_rand_score", "population_stability_index"),
    ),
    readings=("adjusted_rand_score",),
    is_whole=True,
)

RUNS = (
    _COMPARISON_REPORT,
    _CONSENSUS_REPORT,
    _STABILITY_REPORT,
    _TRANSITION_REPORT,
    _OVERLAP_REPORT,
    _MOVED_IDS,
    _AFFECTED_IDS,
    _DRIFT_REPORT,
)
