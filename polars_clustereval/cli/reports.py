"""Reports: the tables that the command line can compute, one command each."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval import (
    affected_ids,
    choose_k,
    cluster_stability,
    dunn_index,
    elbow,
    entity_resolution_estimates,
    entity_resolution_report,
    external_cluster_report,
    external_intervals,
    external_label_report,
    external_report,
    graph_cluster_report,
    graph_edge_report,
    graph_node_report,
    graph_report,
    internal_report,
    matching_report,
    moved_ids,
    overlapping_report,
    pairwise_report,
    run_consensus,
    run_drift,
    run_transitions,
    silhouette_samples,
    silhouette_score,
    transition_overlaps,
)

from . import layouts

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    import polars as pl

    from .layouts import Layout

__all__ = [
    "GRAPH",
    "OVERLAPPING",
    "REPORTS",
    "STABILITY",
    "TRANSITIONS",
    "Input",
    "Report",
    "list_variants",
    "split_variant",
]


class Input(NamedTuple):
    """A table that a report is computed from: a frame in Polars, a view in DuckDB."""

    #: The parameter of the Polars function.
    parameter: str
    #: Name of the view, which the macro is called on.
    view: str
    #: The parameters that name columns of it.
    columns: tuple[str, ...]


_LABELED_ROWS = ("label", "cluster", "weight", "id", "run", "k", "vector", "partition_by")
_ROWS = (Input("frame", "clustereval_input", _LABELED_ROWS),)
_RUNS = (
    Input("frame_before", "clustereval_before", ("id", "cluster", "partition_by")),
    Input("frame_after", "clustereval_after", ("id", "cluster", "partition_by")),
)
_NODES_AND_EDGES = (
    Input("frame", "clustereval_nodes", ("id", "cluster", "partition_by")),
    Input("edges", "clustereval_edges", ("left", "right", "weight", "partition_by")),
)
_LABELS_AND_CLUSTERS = (
    Input("frame_labels", "clustereval_labels", ("id", "label", "partition_by")),
    Input("frame_clusters", "clustereval_clusters", ("id", "cluster", "partition_by")),
)


class Report(NamedTuple):
    """A report by its Polars function; the SQL macro has the same name and parameters."""

    function: Callable[..., pl.LazyFrame]
    description: str
    layout: Layout
    #: The engine that is faster for it: Polars has numpy for distances between points.
    engine: str
    #: Returns the layout for the parsed arguments, if they change its words.
    adapt: Callable[[Layout, Namespace], Layout] | None = None
    #: Returns what the report recommends, given the report and its partition columns.
    recommend: Callable[[pl.DataFrame, list[str]], pl.DataFrame] | None = None
    #: The report that `interval_option` asks for in place of this one.
    intervals: Report | None = None
    #: The option that asks for intervals, by its parameter.
    interval_option: str = "confidence"
    #: The tables that the function takes, in its order.
    inputs: tuple[Input, ...] = _ROWS

    @property
    def defaults(self) -> dict[str, Any]:
        """Default of each parameter but the frames; ``Parameter.empty`` for a required one."""
        frames = {table.parameter for table in self.inputs}
        parameters = signature(self.function).parameters.values()
        return {x.name: x.default for x in parameters if x.name not in frames}

    @property
    def required(self) -> list[str]:
        """Names of the parameters without a default, the frames left out."""
        return [name for name, default in self.defaults.items() if default is Parameter.empty]

    @property
    def positional(self) -> list[str]:
        """Names of the parameters without a default in their order, the frames too."""
        parameters = signature(self.function).parameters.values()
        return [x.name for x in parameters if x.default is Parameter.empty]

    def choose_layout(self, options: Namespace) -> Layout:
        """Return the layout of the table that the parsed arguments ask for."""
        return self.layout if self.adapt is None else self.adapt(self.layout, options)


REPORTS = {
    "external": Report(
        external_report,
        "every external metric of one or many clusterings",
        layouts.EXTERNAL,
        "duckdb",
        intervals=Report(
            external_intervals,
            "every external metric with its confidence interval",
            layouts.EXTERNAL_INTERVALS,
            "duckdb",
        ),
    ),
    "entity-resolution": Report(
        entity_resolution_report,
        "every measure of entity resolution of one or many clusterings",
        layouts.RESOLUTION,
        "duckdb",
        intervals=Report(
            entity_resolution_estimates,
            "estimates for all entities from labels of a sample of them",
            layouts.RESOLUTION_ESTIMATES,
            "duckdb",
        ),
        interval_option="labels_are_sample",
    ),
    "matching": Report(
        matching_report,
        "the indices of the best one-to-one matching of labels and clusters",
        layouts.MATCHING,
        "polars",
    ),
    "clusters": Report(
        external_cluster_report,
        "the labels in each cluster, most joined pairs first",
        layouts.CLUSTERS,
        "duckdb",
    ),
    "labels": Report(
        external_label_report,
        "the clusters of each label, most split pairs first",
        layouts.LABELS,
        "duckdb",
    ),
    "internal": Report(
        internal_report,
        "the internal indices of one or many clusterings",
        layouts.INTERNAL,
        "duckdb",
    ),
    "silhouette": Report(
        silhouette_score,
        "the mean silhouette of one or many clusterings",
        layouts.SILHOUETTE,
        "polars",
        adapt=layouts.adapt_to_method,
    ),
    "samples": Report(
        silhouette_samples,
        "the silhouette of each point, low ones first",
        layouts.SAMPLES,
        "polars",
    ),
    "dunn": Report(dunn_index, "Dunn's index and its generalized forms", layouts.DUNN, "polars"),
    "elbow": Report(
        elbow,
        "indices for choosing the number of clusters, and what they recommend",
        layouts.ELBOW,
        "duckdb",
        recommend=lambda result, keys: choose_k(result, partition_by=keys or None),
    ),
    "pairwise": Report(
        pairwise_report,
        "the C-index, gamma and others, from all pairs of points",
        layouts.PAIRWISE,
        "polars",
    ),
}

#: The reports of the command stability, without and with the option --reference.
STABILITY = {
    False: Report(
        run_consensus,
        "the most central of many clusterings, or how stable the clusters of one are",
        layouts.CONSENSUS,
        "duckdb",
    ),
    True: Report(
        cluster_stability,
        "the stability of the clusters of one run",
        layouts.STABILITY,
        "duckdb",
    ),
}

#: The reports of the command transitions, by the option --show. The first one has all options.
TRANSITIONS = {
    "clusters": Report(
        run_transitions,
        "what became of the clusters from one run to the next",
        layouts.TRANSITIONS,
        "duckdb",
        inputs=_RUNS,
    ),
    "overlaps": Report(
        transition_overlaps,
        "the pairs of clusters that have common ids",
        layouts.OVERLAPS,
        "duckdb",
        inputs=_RUNS,
    ),
    "ids": Report(
        moved_ids, "the ids that have moved, left or joined", layouts.MOVES, "duckdb", inputs=_RUNS
    ),
    "affected": Report(
        affected_ids,
        "the ids whose companions in their cluster have changed",
        layouts.AFFECTED,
        "duckdb",
        inputs=_RUNS,
    ),
    "drift": Report(
        run_drift, "how much has changed, in one row", layouts.DRIFT, "duckdb", inputs=_RUNS
    ),
}

#: The reports of the command graph, by the option --show.
GRAPH = {
    "scores": Report(
        graph_report,
        "the scores of the clusters of a graph",
        layouts.GRAPH,
        "polars",
        inputs=_NODES_AND_EDGES,
    ),
    "clusters": Report(
        graph_cluster_report,
        "the edges and the shape of each cluster of a graph",
        layouts.GRAPH_CLUSTERS,
        "polars",
        inputs=_NODES_AND_EDGES,
    ),
    "nodes": Report(
        graph_node_report,
        "the degrees of each node of a graph",
        layouts.GRAPH_NODES,
        "polars",
        inputs=_NODES_AND_EDGES,
    ),
    "edges": Report(
        graph_edge_report,
        "the edges of a graph, and which of them are bridges",
        layouts.GRAPH_EDGES,
        "polars",
        inputs=_NODES_AND_EDGES,
    ),
}

#: The report of the command overlapping.
OVERLAPPING = Report(
    overlapping_report,
    "the scores of clusters against labels where an id may have several",
    layouts.OVERLAPPING,
    "duckdb",
    inputs=_LABELS_AND_CLUSTERS,
)


def list_variants() -> dict[str, Report]:
    """Return every table that a command can write, by the command and the option that changes it.

    The option is the part after a hyphen, as in ``external-confidence``.
    """
    variants: dict[str, Report] = {}
    for name, report in REPORTS.items():
        variants[name] = report
        if report.intervals is not None:
            option = report.interval_option.replace("_", "-")
            variants[f"{name}-{option}"] = report.intervals
    variants |= {"stability": STABILITY[False], "stability-reference": STABILITY[True]}
    for name, reports in (("transitions", TRANSITIONS), ("graph", GRAPH)):
        first, *others = reports
        variants[name] = reports[first]
        variants |= {f"{name}-{show}": reports[show] for show in others}
    return variants | {"overlapping": OVERLAPPING}


def split_variant(variant: str) -> tuple[str, str]:
    """Return the command of a table that `list_variants` has, and the option, '' without one."""
    commands = (*REPORTS, "stability", "transitions", "graph", "overlapping")
    command = next(x for x in commands if x == variant or variant.startswith(f"{x}-"))
    return command, variant.removeprefix(command).removeprefix("-")
