"""The frame functions as methods of frames, as in ``frame.clustereval.external_report(...)``.

Each method calls the function of the same name and passes the frame as the first argument. Type
checkers do not recognize registered namespaces. If you use a type checker, call the functions
instead. They are typed, and they work with ``frame.pipe``.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

import polars as pl

from .base.public_names import PLOTS, TABLES, import_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from .external.cluster_errors import cluster_error_table, record_error_table
    from .external.clustering_summary import clustering_summary
    from .external.components import connected_components
    from .external.contingency import contingency_matrix, pair_counts
    from .external.cuts import suspicious_links
    from .external.entity_resolution import entity_resolution_report
    from .external.findings import external_findings
    from .external.graph import (
        graph_cluster_report,
        graph_edge_report,
        graph_node_report,
        graph_report,
    )
    from .external.matching import matching_report, matching_table
    from .external.neighborhoods import (
        neighborhood_clusters,
        neighborhood_report,
        neighborhood_samples,
    )
    from .external.overlapping import overlapping_report
    from .external.pair_labels import pair_label_report
    from .external.report import (
        bcubed_samples,
        external_cluster_report,
        external_label_report,
        external_report,
    )
    from .external.size_findings import cluster_size_findings
    from .external.summary import external_summary
    from .internal.centroids import centroids
    from .internal.density import density_based_validity, density_based_validity_clusters
    from .internal.determinants import determinant_report
    from .internal.distance_pairs import (
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
    from .internal.vectors import vdm_encode
    from .plots import (
        agreement_plot,
        centroid_plot,
        contingency_plot,
        elbow_plot,
        interval_plot,
        projection_plot,
        silhouette_plot,
        threshold_plot,
        transition_plot,
    )
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

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _method(
    function: Callable[Concatenate[pl.LazyFrame, Parameters], Result],
) -> Callable[Concatenate[ClusterEval, Parameters], Result]:
    """Return a method of ClusterEval that calls a frame function on the wrapped frame."""

    @wraps(function)
    def method(self: ClusterEval, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the frame function on the wrapped frame."""
        return function(self._frame, *args, **kwargs)

    return method


class ClusterEval:
    """The frame functions as methods of a DataFrame or a LazyFrame.

    Each method returns a frame of the same kind as the one on which it is called. The functions in
    polars_clustereval.plots are also available as methods, and require the extra ``plot``. Plotting
    methods return an Altair chart, as in ``frame.clustereval.silhouette_plot(["x", "y"],
    "cluster")``.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate.
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        """Store the frame that Polars passes when you use ``frame.clustereval``."""
        self._frame = frame

    # At run time, each method imports its function on first use.
    if TYPE_CHECKING:
        record_error_table = _method(record_error_table)
        cluster_error_table = _method(cluster_error_table)
        clustering_summary = _method(clustering_summary)
        connected_components = _method(connected_components)
        contingency_matrix = _method(contingency_matrix)
        pair_counts = _method(pair_counts)
        suspicious_links = _method(suspicious_links)
        entity_resolution_report = _method(entity_resolution_report)
        external_findings = _method(external_findings)
        graph_report = _method(graph_report)
        graph_cluster_report = _method(graph_cluster_report)
        graph_node_report = _method(graph_node_report)
        graph_edge_report = _method(graph_edge_report)
        matching_report = _method(matching_report)
        matching_table = _method(matching_table)
        neighborhood_samples = _method(neighborhood_samples)
        neighborhood_clusters = _method(neighborhood_clusters)
        neighborhood_report = _method(neighborhood_report)
        overlapping_report = _method(overlapping_report)
        pair_label_report = _method(pair_label_report)
        external_report = _method(external_report)
        external_cluster_report = _method(external_cluster_report)
        external_label_report = _method(external_label_report)
        bcubed_samples = _method(bcubed_samples)
        cluster_size_findings = _method(cluster_size_findings)
        external_summary = _method(external_summary)
        centroids = _method(centroids)
        density_based_validity_clusters = _method(density_based_validity_clusters)
        density_based_validity = _method(density_based_validity)
        determinant_report = _method(determinant_report)
        silhouette_samples_from_distances = _method(silhouette_samples_from_distances)
        silhouette_clusters_from_distances = _method(silhouette_clusters_from_distances)
        silhouette_score_from_distances = _method(silhouette_score_from_distances)
        dunn_index_from_distances = _method(dunn_index_from_distances)
        pairwise_report_from_distances = _method(pairwise_report_from_distances)
        cluster_diameters = _method(cluster_diameters)
        dunn_index = _method(dunn_index)
        internal_findings = _method(internal_findings)
        nearest_neighbors = _method(nearest_neighbors)
        pairwise_report = _method(pairwise_report)
        cluster_profile = _method(cluster_profile)
        column_profile = _method(column_profile)
        internal_report = _method(internal_report)
        internal_cluster_report = _method(internal_cluster_report)
        neighbor_report = _method(neighbor_report)
        silhouette_samples = _method(silhouette_samples)
        silhouette_clusters = _method(silhouette_clusters)
        silhouette_score = _method(silhouette_score)
        cluster_states = _method(cluster_states)
        merge_cluster_states = _method(merge_cluster_states)
        internal_report_from_states = _method(internal_report_from_states)
        internal_summary = _method(internal_summary)
        vdm_encode = _method(vdm_encode)
        assign_nearest = _method(assign_nearest)
        elbow = _method(elbow)
        choose_k = _method(choose_k)
        column_stability = _method(column_stability)
        compare_clusterings = _method(compare_clusterings)
        cross_validation = _method(cross_validation)
        external_differences = _method(external_differences)
        run_drift = _method(run_drift)
        uniform_reference = _method(uniform_reference)
        gap_statistic = _method(gap_statistic)
        external_intervals = _method(external_intervals)
        entity_resolution_estimates = _method(entity_resolution_estimates)
        prediction_strength = _method(prediction_strength)
        bootstrap_instability = _method(bootstrap_instability)
        bootstrap_intervals = _method(bootstrap_intervals)
        permutation_test = _method(permutation_test)
        run_agreement = _method(run_agreement)
        run_consensus = _method(run_consensus)
        cluster_stability = _method(cluster_stability)
        threshold_report = _method(threshold_report)
        run_transitions = _method(run_transitions)
        transition_overlaps = _method(transition_overlaps)
        moved_ids = _method(moved_ids)
        affected_ids = _method(affected_ids)
        silhouette_plot = _method(silhouette_plot)
        elbow_plot = _method(elbow_plot)
        contingency_plot = _method(contingency_plot)
        centroid_plot = _method(centroid_plot)
        projection_plot = _method(projection_plot)
        agreement_plot = _method(agreement_plot)
        interval_plot = _method(interval_plot)
        threshold_plot = _method(threshold_plot)
        transition_plot = _method(transition_plot)

    # If type checkers saw this method, they would accept any name as a method.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an error for a name that is not a method, and suggest what to use instead."""
            hint = "" if name.startswith("_") else _describe_no_method(name)
            raise AttributeError(f"'frame.clustereval' has no attribute '{name}'{hint}")


class _Method:
    """A method of ClusterEval whose function is imported when the method is first looked up."""

    def __init__(self, name: str, module: str) -> None:
        """Store the name of the function and the module that defines it."""
        self._name, self._module = name, module

    def __get__(self, frame: ClusterEval | None, owner: type[ClusterEval]) -> Any:
        """Put the method in the place of this object, and return it."""
        method: Any = _method(import_function(self._name, self._module))
        setattr(ClusterEval, self._name, method)
        return method.__get__(frame, owner)


for _name, _module in (TABLES | PLOTS).items():
    setattr(ClusterEval, _name, _Method(_name, _module))


def _describe_no_method(name: str) -> str:
    """Return the end of an error message, which says what to use instead of a missing method."""
    from difflib import get_close_matches
    from inspect import isfunction

    import polars_clustereval as package

    from .base.data_arguments import required_parameters
    from .base.unknown_names import describe_unknown_name

    if name not in package.__all__:
        methods = [method for method in vars(ClusterEval) if not method.startswith("_")]
        near = get_close_matches(name, methods, n=1, cutoff=0.9)
        if near:
            return f"; did you mean '{near[0]}'?"
        return describe_unknown_name(name, package.__all__)
    value = getattr(package, name)
    if not isfunction(value):
        return f"; it is ce.{name}"
    required = required_parameters(value)
    if required == ["label", "cluster"]:
        return f'; it is an expression: frame.select(ce.{name}("label", "cluster"))'
    return f"; it is a function: ce.{name}({', '.join(required)})"


pl.api.register_dataframe_namespace("clustereval")(ClusterEval)
pl.api.register_lazyframe_namespace("clustereval")(ClusterEval)
