"""Reports that compare clusters with labels."""

from __future__ import annotations

from dataclasses import replace

from polars_clustereval import (
    entity_resolution_estimates,
    entity_resolution_report,
    external_cluster_report,
    external_intervals,
    external_label_report,
    external_report,
    matching_report,
    matching_table,
    overlapping_report,
    pair_label_report,
)
from polars_clustereval.base.counts import LABEL_COUNTS

from .record import Input, Report, explain, look_up

__all__ = ["LABELS", "OVERLAPPING", "PAIR_LABELS"]

_LABELS_AND_CLUSTERS = (
    Input("frame_labels", "clustereval_labels", ("id", "label", "partition_by")),
    Input("frame_clusters", "clustereval_clusters", ("id", "cluster", "partition_by")),
)

_ROW_COUNTS = explain({name: count.meaning for name, count in LABEL_COUNTS.items()})

#: The columns of a report with a row for each metric.
_LIMITS = explain(
    {
        "metric": "name of the metric",
        "value": "value of the metric",
        "std_error": "standard error of the value",
        "lower": "lower limit of the interval",
        "upper": "upper limit of the interval",
        "reason": "why there is no value or no interval",
    }
)

_EXTERNAL = Report(
    command="external",
    function=external_report,
    description="every external metric of one or many clusterings",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    heading=(("label", "cluster"),),
    meanings=_ROW_COUNTS | look_up("external_report"),
    titles={
        "n": "counts",
        "rand_score": "pair counting",
        "label_entropy": "information",
        "purity": "set matching",
    },
    comparison=(
        *("n", "n_clusters", "adjusted_rand_score", "fowlkes_mallows_score"),
        *("adjusted_mutual_info_score", "homogeneity_score", "completeness_score"),
        *("v_measure_score", "purity", "pair_precision", "pair_recall", "bcubed_f_score"),
        "n_labels",
    ),
    readings=("adjusted_rand_score",),
)

_INTERVAL_REPORT = replace(
    _EXTERNAL,
    variant="confidence",
    function=external_intervals,
    description="every external metric with its confidence interval",
    row_counts=(),
    no_rows="no rows with a label and a cluster",
    options={"confidence": "show the interval of each metric with this confidence, such as 0.95"},
    heading=(("label", "cluster", "confidence"),),
    meanings=_EXTERNAL.meanings | _LIMITS,
)

_RESOLUTION = Report(
    command="entity-resolution",
    function=entity_resolution_report,
    description="every measure of entity resolution of one or many clusterings",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    heading=(("label", "cluster"), ("split_cost", "merge_cost")),
    meanings=_EXTERNAL.meanings | look_up("entity_resolution_report"),
    titles={
        "n": "counts",
        "pair_precision": "pairs of records",
        "bcubed_precision": "records",
        "exact_match_precision": "entities",
        "talburt_wang_index": "overlaps, splits and merges",
        "muc_precision": "coreference",
        "element_centric_similarity": "similarity and information",
    },
    comparison=(
        *("n", "n_clusters", "pair_f_score", "bcubed_f_score"),
        *("exact_match_f_score", "closest_cluster_f_score", "basic_merge_distance"),
        *("pair_precision", "pair_recall", "bcubed_precision", "bcubed_recall"),
        *("talburt_wang_index", "generalized_merge_distance", "n_labels"),
    ),
)

_ESTIMATES = replace(
    _RESOLUTION,
    variant="labels-are-sample",
    function=entity_resolution_estimates,
    description="estimates for all entities from labels of a sample of them",
    options={
        "confidence": "confidence of the intervals of the estimates; default 0.95",
        "labels_are_sample": "",
        "sampling_fraction": "",
    },
    heading=(("label", "cluster", "labels_are_sample", "confidence"),),
    meanings=_RESOLUTION.meanings
    | _LIMITS
    | explain(
        {
            "matching_rate": "share of rows whose entity has several rows",
            "average_label_size": "mean number of rows of an entity",
            "n_labeled_rows": "rows with a label and a cluster",
            "n_labeled_pairs": "pairs of these rows with the same label or cluster",
        }
    ),
    titles={
        name: _RESOLUTION.titles[name]
        for name in ("pair_precision", "bcubed_precision", "exact_match_precision")
    }
    | {"matching_rate": "sizes of entities"},
)

_MATCHING = Report(
    command="matching",
    show="indices",
    function=matching_report,
    description="the indices of the best one-to-one matching of labels and clusters",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    engine="polars",
    heading=(("label", "cluster"),),
    meanings=_ROW_COUNTS | look_up("matching_report"),
    titles={"n": "counts", "clustering_accuracy": "best one-to-one matching"},
    comparison=(
        *("n", "n_clusters", "clustering_accuracy", "normalized_clustering_accuracy"),
        *("pair_sets_index", "ceaf_f_score"),
    ),
)

_MATCHED_PAIRS = Report(
    command="matching",
    variant="pairs",
    function=matching_table,
    description="the matched pairs of a label and a cluster, and those without a match",
    no_rows="no rows",
    engine="polars",
    heading=(("label", "cluster"),),
    meanings=explain(
        {
            "label": "the label, NULL for a cluster without a match",
            "cluster": "the cluster, NULL for a label without a match",
            "n": "rows that both have in common",
            "recall": ("1", "share of the rows with the label"),
            "precision": ("1", "share of the rows in the cluster"),
        }
    ),
)

_CLUSTER_REPORT = Report(
    command="clusters",
    function=external_cluster_report,
    description="the labels in each cluster, most joined pairs first",
    no_rows="no rows with a label and a cluster",
    heading=(("label", "cluster"),),
    meanings=explain(
        {
            "cluster": "the cluster, most joined pairs first",
            "n": "rows in the cluster",
            "n_labels": "different labels in it",
            "majority_label": "its most frequent label",
            "majority_n": "rows with that label",
            "purity": "share of rows with that label",
            "entropy": ("0", "entropy of its labels, in nats"),
            "joined_pairs": ("0", "pairs of its rows with different labels"),
        }
    ),
    worst_first="joined_pairs",
)

_LABEL_REPORT = Report(
    command="labels",
    function=external_label_report,
    description="the clusters of each label, most split pairs first",
    no_rows="no rows with a label and a cluster",
    heading=(("label", "cluster"),),
    meanings=explain(
        {
            "label": "the label, most split pairs first",
            "n": "rows with the label",
            "n_clusters": "different clusters of it",
            "majority_cluster": "its most frequent cluster",
            "majority_n": "rows in that cluster",
            "recall": ("1", "share of rows in that cluster"),
            "entropy": ("0", "entropy of its clusters, in nats"),
            "split_pairs": ("0", "pairs of its rows in different clusters"),
        }
    ),
    worst_first="split_pairs",
)

LABELS = (
    _EXTERNAL,
    _INTERVAL_REPORT,
    _RESOLUTION,
    _ESTIMATES,
    _MATCHING,
    _MATCHED_PAIRS,
    _CLUSTER_REPORT,
    _LABEL_REPORT,
)

OVERLAPPING = Report(
    command="overlapping",
    function=overlapping_report,
    description="the scores of clusters against labels where an id may have several",
    inputs=_LABELS_AND_CLUSTERS,
    row_counts=("n", "n_only_labels", "n_only_clusters"),
    no_rows="no rows with an id and a label or a cluster",
    heading=(("id", "label", "cluster"),),
    meanings=explain(
        {
            "n": "ids with a label and a cluster: only these count",
            "n_only_labels": "ids with labels only",
            "n_only_clusters": "ids with clusters only",
            "n_dropped": "rows left out: no id, label or cluster",
            "n_labels": "different labels",
            "n_clusters": "different clusters",
        }
    )
    | look_up("overlapping_report"),
    titles={
        "n": "counts",
        "omega_index": "pairs of ids",
        "overlapping_nmi_lfk": "information",
        "extended_bcubed_precision": "ids",
        "best_match_f1": "best matches",
    },
    comparison=(
        *("n", "n_clusters", "omega_index", "overlapping_nmi_lfk"),
        *("overlapping_nmi_mgh", "extended_bcubed_f_score", "nf1"),
    ),
)

PAIR_LABELS = Report(
    command="pair-labels",
    function=pair_label_report,
    description="the pair scores of clusters against labels of pairs, with intervals",
    inputs=(
        Input("frame", "clustereval_rows", ("id", "cluster", "partition_by")),
        Input(
            "pairs",
            "clustereval_pairs",
            ("left", "right", "is_match", "weight"),
            optional=("partition_by",),
        ),
    ),
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    heading=(("id", "cluster"), ("left", "right", "is_match", "weight", "confidence")),
    meanings=explain(
        {
            "n": "ids with a cluster",
            "n_dropped": "rows left out: no cluster",
            "n_noise": "ids whose cluster is noise",
            "n_pairs": "different labeled pairs of these ids",
            "n_dropped_pairs": "rows of pairs left out: no label or no cluster",
            "n_self_pairs": "rows of pairs left out: an id and itself",
            "n_duplicate_pairs": "rows that repeat a pair",
            "tp": "weight of matches in the same cluster",
            "fp": "weight of other pairs in the same cluster",
            "fn": "weight of matches in different clusters",
            "tn": "weight of other pairs in different clusters",
        }
        | {
            f"{name}_{side}": f"{side} limit of the interval of {name}"
            for name in ("pair_precision", "pair_recall", "pair_f_score")
            for side in ("lower", "upper")
        }
    )
    | look_up("external_report", "pair_precision", "pair_recall", "pair_f_score"),
    titles={"n": "counts", "tp": "weights of pairs", "pair_precision": "scores of pairs"},
    comparison=(
        *("n", "n_pairs", "pair_f_score", "pair_precision", "pair_recall"),
        *("pair_precision_lower", "pair_precision_upper"),
        *("pair_recall_lower", "pair_recall_upper"),
    ),
)
