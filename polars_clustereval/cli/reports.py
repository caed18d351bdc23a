"""Reports: the tables that the command line can compute, one command each."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval import (
    choose_k,
    cluster_stability,
    dunn_index,
    elbow,
    external_cluster_report,
    external_intervals,
    external_label_report,
    external_report,
    internal_report,
    moved_ids,
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

__all__ = ["REPORTS", "STABILITY", "TRANSITIONS", "Report", "list_variants"]


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
    #: The report that --confidence asks for in place of this one.
    intervals: Report | None = None
    #: How many frames the function takes, and the macro tables.
    n_frames: int = 1

    @property
    def defaults(self) -> dict[str, Any]:
        """Default of each parameter but the frames; ``Parameter.empty`` for a required one."""
        parameters = [*signature(self.function).parameters.values()][self.n_frames :]
        return {parameter.name: parameter.default for parameter in parameters}

    @property
    def required(self) -> list[str]:
        """Names of the parameters without a default, the frames left out."""
        return [name for name, default in self.defaults.items() if default is Parameter.empty]

    @property
    def views(self) -> tuple[str, ...]:
        """Names of the views of the input, which the macro is called on."""
        one, two = ("clustereval_input",), ("clustereval_before", "clustereval_after")
        return one if self.n_frames == 1 else two

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
        n_frames=2,
    ),
    "overlaps": Report(
        transition_overlaps,
        "the pairs of clusters that have common ids",
        layouts.OVERLAPS,
        "duckdb",
        n_frames=2,
    ),
    "ids": Report(
        moved_ids, "the ids that have moved, left or joined", layouts.MOVES, "duckdb", n_frames=2
    ),
    "drift": Report(
        run_drift, "how much has changed, in one row", layouts.DRIFT, "duckdb", n_frames=2
    ),
}


def list_variants() -> dict[str, Report]:
    """Return every table that a command can write, by the command and the option that changes it.

    The option is the part after a hyphen, as in ``external-confidence``.
    """
    variants: dict[str, Report] = {}
    for name, report in REPORTS.items():
        variants[name] = report
        if report.intervals is not None:
            variants[f"{name}-confidence"] = report.intervals
    variants |= {"stability": STABILITY[False], "stability-reference": STABILITY[True]}
    first = next(iter(TRANSITIONS))
    shown = {f"transitions-{name}": report for name, report in TRANSITIONS.items()}
    return variants | {"transitions": shown.pop(f"transitions-{first}")} | shown
