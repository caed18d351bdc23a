"""The frame functions as methods: ``frame.clustereval.external_report("species", "cluster")``.

Every method is the function of the same name with the frame as its first argument. Type checkers
do not see a registered namespace; for them the functions are typed, and work with ``frame.pipe``.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, TypeVar

import polars as pl

from .base.data_arguments import required_parameters
from .base.unknown_names import describe_unknown_name
from .external import (
    cluster_errors,
    clustering_summary,
    contingency,
    entity_resolution,
    graph,
    matching,
    overlapping,
    summary,
)
from .external import report as external
from .internal import centroids, determinants, dunn, pairwise, scatter, silhouette, states, vectors
from .internal import report as internal
from .internal import summary as internal_summaries
from .plots import (
    agreement_plot,
    centroid_plot,
    contingency_plot,
    elbow_plot,
    interval_plot,
    silhouette_plot,
)
from .relative import (
    assignment,
    choosing_k,
    column_removal,
    cross_validation,
    drift,
    gap,
    intervals,
    label_sample,
    replication,
    resampling,
    stability,
    transitions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _method(
    function: Callable[Concatenate[pl.LazyFrame, Parameters], Result],
) -> Callable[Concatenate[ClusterEval, Parameters], Result]:
    """Return a method of ClusterEval that calls a frame function on the wrapped frame."""

    @wraps(function)
    def method(self: ClusterEval, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the frame function on the wrapped frame; it has the function's own docstring."""
        return function(self._frame, *args, **kwargs)

    return method


class ClusterEval:
    """The frame functions as methods of a DataFrame or LazyFrame, which return the same kind.

    The functions of polars_clustereval.plots are methods too, which return a chart of Altair, such
    as ``frame.clustereval.silhouette_plot(["x", "y"], "cluster")``; they need the extra ``plot``.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate.
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        """Keep the frame that Polars passes when ``frame.clustereval`` is used."""
        self._frame = frame

    contingency_matrix = _method(contingency.contingency_matrix)
    pair_counts = _method(contingency.pair_counts)
    external_cluster_report = _method(external.external_cluster_report)
    external_label_report = _method(external.external_label_report)
    bcubed_samples = _method(external.bcubed_samples)
    external_report = _method(external.external_report)
    external_summary = _method(summary.external_summary)
    matching_report = _method(matching.matching_report)
    entity_resolution_report = _method(entity_resolution.entity_resolution_report)
    record_error_table = _method(cluster_errors.record_error_table)
    cluster_error_table = _method(cluster_errors.cluster_error_table)
    clustering_summary = _method(clustering_summary.clustering_summary)
    graph_report = _method(graph.graph_report)
    graph_cluster_report = _method(graph.graph_cluster_report)
    graph_node_report = _method(graph.graph_node_report)
    graph_edge_report = _method(graph.graph_edge_report)
    overlapping_report = _method(overlapping.overlapping_report)
    vdm_encode = _method(vectors.vdm_encode)
    centroids = _method(centroids.centroids)
    internal_report = _method(internal.internal_report)
    internal_cluster_report = _method(internal.internal_cluster_report)
    internal_summary = _method(internal_summaries.internal_summary)
    cluster_states = _method(states.cluster_states)
    merge_cluster_states = _method(states.merge_cluster_states)
    internal_report_from_states = _method(states.internal_report_from_states)
    neighbor_report = _method(scatter.neighbor_report)
    determinant_report = _method(determinants.determinant_report)
    silhouette_samples = _method(silhouette.silhouette_samples)
    silhouette_clusters = _method(silhouette.silhouette_clusters)
    silhouette_score = _method(silhouette.silhouette_score)
    cluster_diameters = _method(dunn.cluster_diameters)
    dunn_index = _method(dunn.dunn_index)
    pairwise_report = _method(pairwise.pairwise_report)
    assign_nearest = _method(assignment.assign_nearest)
    column_stability = _method(column_removal.column_stability)
    uniform_reference = _method(gap.uniform_reference)
    gap_statistic = _method(gap.gap_statistic)
    elbow = _method(choosing_k.elbow)
    choose_k = _method(choosing_k.choose_k)
    external_intervals = _method(intervals.external_intervals)
    entity_resolution_estimates = _method(label_sample.entity_resolution_estimates)
    bootstrap_intervals = _method(resampling.bootstrap_intervals)
    permutation_test = _method(resampling.permutation_test)
    run_agreement = _method(stability.run_agreement)
    run_consensus = _method(stability.run_consensus)
    cluster_stability = _method(stability.cluster_stability)
    prediction_strength = _method(replication.prediction_strength)
    bootstrap_instability = _method(replication.bootstrap_instability)
    cross_validation = _method(cross_validation.cross_validation)
    run_transitions = _method(transitions.run_transitions)
    transition_overlaps = _method(transitions.transition_overlaps)
    moved_ids = _method(transitions.moved_ids)
    affected_ids = _method(transitions.affected_ids)
    run_drift = _method(drift.run_drift)
    silhouette_plot = _method(silhouette_plot)
    elbow_plot = _method(elbow_plot)
    contingency_plot = _method(contingency_plot)
    centroid_plot = _method(centroid_plot)
    agreement_plot = _method(agreement_plot)
    interval_plot = _method(interval_plot)

    # Type checkers would take any name for a method if they saw this one.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an error that says what a name that is not a method is, or may have meant."""
            hint = "" if name.startswith("_") else _describe_no_method(name)
            raise AttributeError(f"'frame.clustereval' has no attribute '{name}'{hint}")


def _describe_no_method(name: str) -> str:
    """Return what to use in place of a method that does not exist, as the end of an error text."""
    import polars_clustereval as package

    functions = [value for value in map(vars(package).get, package.__all__) if isfunction(value)]
    if name not in package.__all__:
        methods = [method for method in vars(ClusterEval) if not method.startswith("_")]
        near = get_close_matches(name, methods, n=1, cutoff=0.9)
        if near:
            return f"; did you mean '{near[0]}'?"
        return describe_unknown_name(name, package.__all__, functions)
    value = getattr(package, name)
    if not isfunction(value):
        return f"; it is ce.{name}"
    required = required_parameters(value)
    if required == ["label", "cluster"]:
        return f'; it is an expression: frame.select(ce.{name}("label", "cluster"))'
    return f"; it is a function: ce.{name}({', '.join(required)})"


pl.api.register_dataframe_namespace("clustereval")(ClusterEval)
pl.api.register_lazyframe_namespace("clustereval")(ClusterEval)
