"""summary: the external metrics in long form, with one row per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import choose_terms
from polars_clustereval.base.counts import LABEL_COUNTS
from polars_clustereval.base.findings import remark_on_noise
from polars_clustereval.base.frames import list_meanings
from polars_clustereval.base.metric_facts import metrics_of
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .contingency import ROW_COUNTS, LabelOptions, read_contingency_table
from .report import external_scores, need_expectation, score_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.counts import Count
    from polars_clustereval.base.metric_facts import MetricFacts

    from .information import NormalizedMethod


@table_function("labels", guide="external", order=("metric",))
def external_summary(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """The columns of external_report in long form, with the best value and the meaning of each.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report
    average_method, beta, adjusted : as in external_report
    metrics : sequence of str, optional
        Names of the counts and metrics to return. By default, all are returned.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition and metric, sorted by partition and then in the
        order of external_report. The rows of n, n_dropped, n_noise, n_labels and n_clusters come
        first. The columns are the partition columns, metric, value, best, meaning and family.
        metric is the name of the count or metric, and value is its value, which is NULL if the
        metric is undefined. best is the best value as text: a number, 'high' or 'low', or NULL if
        no value is best. meaning says in a few words what the metric measures. In the row of
        n_noise, it is a remark if a cluster looks like noise, as in external_findings, or if no row
        has the cluster `noise`. family is the kind of metric, such as 'pair counting', or 'counts'.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report.

    Notes
    -----
    In SQL: ``FROM clustereval.external_summary(tbl, label, cluster)``.

    Examples
    --------
    >>> four = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 0, 0, 1]})
    >>> summary = ce.external_summary(four, "label", "cluster")
    >>> summary.filter(pl.col("metric") == "purity").row(0)
    ('purity', 0.75, '1', "share of rows with their cluster's majority label", 'set matching')
    """
    known = external_scores(average_method, beta, adjusted=adjusted)
    chosen = choose_terms({name: pl.col(name) for name in ROW_COUNTS} | known, metrics)
    scores = {name: score for name, score in chosen.items() if name in known}
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, _SUMMARY_COLUMNS).cache_groups()
    keys = list(table.keys)
    report = score_partitions(table, scores, adjusted=need_expectation(scores))
    values = report.with_columns(n="total").select(*keys, pl.col(*chosen).cast(pl.Float64))
    long = values.unpivot(index=keys, variable_name="metric", value_name="value")
    facts: dict[str, Count | MetricFacts] = {**LABEL_COUNTS, **metrics_of("external_report")}
    meanings = list_meanings(facts[name] for name in chosen)
    rows, counts = long.join(meanings, on="metric"), (table.row_counts, table.cluster_sizes)
    remarked = remark_on_noise(rows, keys, *counts, noise=noise, unit="row")
    summary = remarked.sort(*keys, "place", nulls_last=True)
    return show_whole_texts(table.to_user_frame(frame, summary.select(*keys, *_SUMMARY_COLUMNS)))


_SUMMARY_COLUMNS = ("metric", "value", "best", "meaning", "family")
