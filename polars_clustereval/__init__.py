"""Clustering evaluation where your data already lives.

The package provides its metrics both as SQL macros for DuckDB and as Polars functions, with
identical results:

* Expressions such as ``adjusted_rand_score(label, cluster)`` work in select, group_by().agg and
  over. They return a Float64 for each group of rows, or NULL where the score is undefined.
* Frame functions such as ``external_report(frame, label, cluster)`` are also methods in the
  ``clustereval`` namespace of every DataFrame and LazyFrame.
* ``register(connection)`` creates the macros, ``bundle()`` returns their text,
  ``write_database(path)`` writes a database that contains them, and ``to_sql()`` writes queries for
  other engines.
* ``plots`` contains functions that draw charts. These functions are also available as methods in
  the ``clustereval`` namespace. Charts require the ``plot`` extra.
* ``describe(name)`` returns the definition of a score.

Examples in docstrings assume ``import polars as pl`` and ``import polars_clustereval as ce``. A
LazyFrame is read only when you collect the result, unless a function's docstring says otherwise.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from . import namespaces as namespaces
from .base.public_names import METRICS, PLOTS, TABLES, import_function
from .errors import ClusterEvalError

# At run time, __getattr__ imports each name when it is first used.
if TYPE_CHECKING:
    from collections.abc import Callable

    from . import plots as plots
    from .catalogue.describe import describe
    from .dialects import to_sql
    from .external.association import (
        correlation_distance,
        hubert_index,
        kulczynski_index,
        mcnemar_index,
        phi_index,
        rogers_tanimoto_index,
        russell_rao_index,
        sokal_sneath_1_index,
        sokal_sneath_2_index,
        southwood_index,
    )
    from .external.cluster_errors import cluster_error_table, record_error_table
    from .external.clustering_summary import clustering_summary
    from .external.components import connected_components
    from .external.contingency import contingency_matrix, pair_counts
    from .external.coreference import (
        blanc_f_score,
        blanc_precision,
        blanc_recall,
        lea_f_score,
        lea_precision,
        lea_recall,
        muc_f_score,
        muc_precision,
        muc_recall,
    )
    from .external.cuts import suspicious_links
    from .external.entity_matching import (
        basic_merge_distance,
        closest_cluster_f_score,
        closest_cluster_precision,
        closest_cluster_recall,
        generalized_merge_distance,
        k_measure,
        talburt_wang_index,
    )
    from .external.entity_resolution import entity_resolution_report
    from .external.entropies import (
        cluster_entropy,
        cluster_entropy_given_label,
        joint_entropy,
        label_entropy,
        label_entropy_given_cluster,
        mutual_info_score,
    )
    from .external.expected_information import expected_mutual_info
    from .external.findings import external_findings
    from .external.graph import (
        graph_cluster_report,
        graph_edge_report,
        graph_node_report,
        graph_report,
    )
    from .external.information import (
        adjusted_mutual_info_score,
        completeness_score,
        homogeneity_score,
        normalized_information_distance,
        normalized_mutual_info_score,
        normalized_variation_of_information,
        v_measure_score,
        variation_of_information,
    )
    from .external.matching import matching_report, matching_table
    from .external.neighborhoods import (
        neighborhood_clusters,
        neighborhood_report,
        neighborhood_samples,
    )
    from .external.overlapping import overlapping_report
    from .external.pair_counting import (
        adjusted_fowlkes_mallows_score,
        adjusted_rand_score,
        fowlkes_mallows_score,
        jaccard_index,
        mirkin_metric,
        multinomial_adjusted_rand_score,
        pair_f_score,
        pair_precision,
        pair_recall,
        rand_score,
    )
    from .external.pair_labels import pair_label_report
    from .external.reduced_information import (
        normalized_reduced_mutual_info_score,
        reduced_mutual_info_score,
    )
    from .external.report import (
        bcubed_samples,
        external_cluster_report,
        external_label_report,
        external_report,
    )
    from .external.set_matching import (
        bcubed_f_score,
        bcubed_precision,
        bcubed_recall,
        class_f_measure,
        element_centric_similarity,
        exact_match_f_score,
        exact_match_precision,
        exact_match_recall,
        inverse_purity,
        purity,
        split_join_distance,
    )
    from .external.size_findings import cluster_size_findings
    from .external.summary import external_summary
    from .internal.centroids import centroids
    from .internal.density import density_based_validity, density_based_validity_clusters
    from .internal.determinants import determinant_report
    from .internal.distance_pairs import (
        distances_from_matrix,
        dunn_index_from_distances,
        pairwise_report_from_distances,
        silhouette_clusters_from_distances,
        silhouette_samples_from_distances,
        silhouette_score_from_distances,
    )
    from .internal.dunn import cluster_diameters, dunn_index
    from .internal.findings import internal_findings
    from .internal.nearest_neighbors import nearest_neighbors
    from .internal.pairwise import pairwise_report
    from .internal.profiles import cluster_profile, column_profile
    from .internal.report import internal_cluster_report, internal_report
    from .internal.scatter import neighbor_report
    from .internal.silhouette import silhouette_clusters, silhouette_samples, silhouette_score
    from .internal.states import cluster_states, internal_report_from_states, merge_cluster_states
    from .internal.summary import internal_summary
    from .internal.vectors import parse_vector, vdm_encode
    from .macros import bundle, register, write_database
    from .relative.assignment import assign_nearest
    from .relative.choosing_k import choose_k, elbow
    from .relative.column_removal import column_stability
    from .relative.comparison import compare_clusterings
    from .relative.cross_validation import cross_validation
    from .relative.differences import external_differences
    from .relative.drift import run_drift
    from .relative.gap import gap_statistic, uniform_reference
    from .relative.intervals import external_intervals
    from .relative.label_sample import entity_resolution_estimates
    from .relative.replication import bootstrap_instability, prediction_strength
    from .relative.resampling import bootstrap_intervals, permutation_test
    from .relative.stability import cluster_stability, run_agreement, run_consensus
    from .relative.thresholds import threshold_report
    from .relative.transitions import affected_ids, moved_ids, run_transitions, transition_overlaps

__all__ = [
    "ClusterEvalError",
    "__version__",
    "adjusted_fowlkes_mallows_score",
    "adjusted_mutual_info_score",
    "adjusted_rand_score",
    "affected_ids",
    "assign_nearest",
    "basic_merge_distance",
    "bcubed_f_score",
    "bcubed_precision",
    "bcubed_recall",
    "bcubed_samples",
    "blanc_f_score",
    "blanc_precision",
    "blanc_recall",
    "bootstrap_instability",
    "bootstrap_intervals",
    "bundle",
    "centroids",
    "choose_k",
    "class_f_measure",
    "closest_cluster_f_score",
    "closest_cluster_precision",
    "closest_cluster_recall",
    "cluster_diameters",
    "cluster_entropy",
    "cluster_entropy_given_label",
    "cluster_error_table",
    "cluster_profile",
    "cluster_size_findings",
    "cluster_stability",
    "cluster_states",
    "clustering_summary",
    "column_profile",
    "column_stability",
    "compare_clusterings",
    "completeness_score",
    "connected_components",
    "contingency_matrix",
    "correlation_distance",
    "cross_validation",
    "density_based_validity",
    "density_based_validity_clusters",
    "describe",
    "determinant_report",
    "distances_from_matrix",
    "dunn_index",
    "dunn_index_from_distances",
    "elbow",
    "element_centric_similarity",
    "entity_resolution_estimates",
    "entity_resolution_report",
    "exact_match_f_score",
    "exact_match_precision",
    "exact_match_recall",
    "expected_mutual_info",
    "external_cluster_report",
    "external_differences",
    "external_findings",
    "external_intervals",
    "external_label_report",
    "external_report",
    "external_summary",
    "fowlkes_mallows_score",
    "gap_statistic",
    "generalized_merge_distance",
    "graph_cluster_report",
    "graph_edge_report",
    "graph_node_report",
    "graph_report",
    "homogeneity_score",
    "hubert_index",
    "internal_cluster_report",
    "internal_findings",
    "internal_report",
    "internal_report_from_states",
    "internal_summary",
    "inverse_purity",
    "jaccard_index",
    "joint_entropy",
    "k_measure",
    "kulczynski_index",
    "label_entropy",
    "label_entropy_given_cluster",
    "lea_f_score",
    "lea_precision",
    "lea_recall",
    "matching_report",
    "matching_table",
    "mcnemar_index",
    "merge_cluster_states",
    "mirkin_metric",
    "moved_ids",
    "muc_f_score",
    "muc_precision",
    "muc_recall",
    "multinomial_adjusted_rand_score",
    "mutual_info_score",
    "nearest_neighbors",
    "neighbor_report",
    "neighborhood_clusters",
    "neighborhood_report",
    "neighborhood_samples",
    "normalized_information_distance",
    "normalized_mutual_info_score",
    "normalized_reduced_mutual_info_score",
    "normalized_variation_of_information",
    "overlapping_report",
    "pair_counts",
    "pair_f_score",
    "pair_label_report",
    "pair_precision",
    "pair_recall",
    "pairwise_report",
    "pairwise_report_from_distances",
    "parse_vector",
    "permutation_test",
    "phi_index",
    "prediction_strength",
    "purity",
    "rand_score",
    "record_error_table",
    "reduced_mutual_info_score",
    "register",
    "rogers_tanimoto_index",
    "run_agreement",
    "run_consensus",
    "run_drift",
    "run_transitions",
    "russell_rao_index",
    "silhouette_clusters",
    "silhouette_clusters_from_distances",
    "silhouette_samples",
    "silhouette_samples_from_distances",
    "silhouette_score",
    "silhouette_score_from_distances",
    "sokal_sneath_1_index",
    "sokal_sneath_2_index",
    "southwood_index",
    "split_join_distance",
    "suspicious_links",
    "talburt_wang_index",
    "threshold_report",
    "to_sql",
    "transition_overlaps",
    "uniform_reference",
    "v_measure_score",
    "variation_of_information",
    "vdm_encode",
    "write_database",
]

__version__ = "0.1.0"

#: The module of each public function.
_MODULES = {
    **METRICS,
    **TABLES,
    "bundle": "macros",
    "describe": "catalogue",
    "distances_from_matrix": "internal.distance_pairs",
    "parse_vector": "internal.vectors",
    "register": "macros",
    "to_sql": "dialects",
    "write_database": "macros",
}


# If type checkers saw this function, they would accept any name as a name of the package.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import and return a public function or the module ``plots`` on first access.

        The function to_sql requires the ``dialects`` extra.

        For any other name, raise an error that suggests what to use instead, if possible.
        """
        if name == "plots":
            return import_module(f"{__name__}.plots")
        if name in _MODULES:
            # Two threads get the same function.
            return globals().setdefault(name, _import_public_function(name))
        raise AttributeError(
            f"module '{__name__}' has no attribute '{name}'{_suggest_instead_of(name)}"
        )


def _import_public_function(name: str) -> Callable[..., Any]:
    """Import a function. The errors and the docstring of a metric explain how to exclude noise."""
    function = import_function(name, _MODULES[name])
    if name not in METRICS:
        return function
    from .base.unknown_names import explain_noise

    return explain_noise(function)


def _suggest_instead_of(name: str) -> str:
    """Return the end of an error message, which says what to use instead of a missing name."""
    if name in PLOTS:
        return f"; it is plots.{name}: from {__name__} import plots"
    # Python also asks for modules that are not yet imported.
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is not None:
        return ""
    from .base.unknown_names import describe_unknown_name

    return describe_unknown_name(name, __all__)


def __dir__() -> list[str]:
    """Return the names of the public API, excluding to_sql if its extra is not installed."""
    return [name for name in __all__ if name != "to_sql" or find_spec("sqlglot")]
