"""Every table and metric that the tests know of, and questions to the list.

A table that the package exports and this module does not name fails a test of test_registry.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import polars_clustereval as ce
from tests.support import oracle, resolution

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Metrics, each an expression and an aggregate macro: those of external_report, and others.
METRICS = (*oracle.METRICS, *resolution.OWN)
#: Frame functions without a macro, because numpy draws what they score.
DRAWN_BY_NUMPY = ("bootstrap_intervals", "permutation_test")

#: The tables by their kind, which decides what they are called with.
KINDS: dict[str, tuple[str, ...]] = {
    "labels": (
        "external_report",
        "external_summary",
        "external_intervals",
        "contingency_matrix",
        "pair_counts",
        "external_cluster_report",
        "external_label_report",
        "cluster_error_table",
        "matching_report",
        "entity_resolution_estimates",
        "entity_resolution_report",
    ),
    "records": ("bcubed_samples", "record_error_table"),
    "one clustering": ("clustering_summary",),
    "points": (
        "centroids",
        "internal_report",
        "internal_summary",
        "internal_cluster_report",
        "neighbor_report",
        "determinant_report",
        "silhouette_samples",
        "silhouette_clusters",
        "silhouette_score",
        "cluster_diameters",
        "dunn_index",
        "pairwise_report",
    ),
    "points of states": ("cluster_states",),
    "nominal values": ("vdm_encode",),
    "sweep": ("elbow",),
    "points alone": ("uniform_reference",),
    "replication": ("prediction_strength",),
    "runs": ("run_agreement", "run_consensus"),
    "runs and one of them": ("cluster_stability",),
    "resamples": ("bootstrap_instability",),
    "removed columns": ("column_stability",),
    "two runs": (
        *("run_transitions", "transition_overlaps", "moved_ids", "affected_ids"),
        "run_drift",
    ),
    "covers": ("overlapping_report",),
    "graph": ("graph_report", "graph_cluster_report", "graph_node_report", "graph_edge_report"),
    "states": ("merge_cluster_states", "internal_report_from_states"),
    "centers": ("assign_nearest", "cross_validation"),
    "curves": ("choose_k", "gap_statistic"),
}

#: What follows the frame in a call: a column, a tuple of columns, or a value. The kinds that are
#: not here take further frames, or tables of other functions.
GIVEN: dict[str, tuple[object, ...]] = {
    "labels": ("label", "cluster"),
    "records": ("label", "cluster"),
    "one clustering": ("cluster",),
    "points": ("vector", "cluster"),
    "points of states": ("vector", "cluster"),
    "nominal values": (("label",), "cluster"),
    "sweep": ("vector", "cluster", "k"),
    "points alone": ("vector",),
    "replication": ("label", "cluster"),
    "runs": ("id", "run", "cluster"),
    "runs and one of them": ("id", "run", "cluster", 0),
    "resamples": ("label", "cluster", "run"),
    "removed columns": ("vector", "cluster", "place", "label"),
}

#: The tables whose columns are scores in the catalogue, in its order.
WITH_SCORES: dict[str, tuple[str, ...]] = {
    "labels": ("external_report", "entity_resolution_report", "matching_report"),
    "points": (
        "internal_report",
        "neighbor_report",
        "determinant_report",
        "silhouette_score",
        "dunn_index",
        "pairwise_report",
    ),
}


def tables(*kinds: str, takes: str | None = None) -> tuple[str, ...]:
    """The tables of these kinds, or of all, that have a parameter of this name."""
    return tuple(
        name
        for kind in kinds or KINDS
        for name in KINDS[kind]
        if takes is None or takes in parameters(name)
    )


def kind_of(table: str) -> str:
    return next(kind for kind, names in KINDS.items() if table in names)


def given(table: str) -> Sequence[object]:
    """What follows the frame in a call of this table."""
    return GIVEN[kind_of(table)]


def parameters(name: str) -> list[str]:
    return list(inspect.signature(getattr(ce, name)).parameters)
