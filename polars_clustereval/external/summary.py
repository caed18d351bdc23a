"""summary: the external metrics in long form, with one row per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_clustereval.base.checks import choose_terms
from polars_clustereval.base.frames import list_meanings
from polars_clustereval.base.metric_facts import metrics_of
from polars_clustereval.base.tables import table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .contingency import LabelOptions, read_contingency_table
from .report import external_scores, need_expectation, score_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

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
    """The metrics of external_report in long form, with the best value and the meaning of each.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report
    average_method, beta, adjusted : as in external_report
    metrics : sequence of str, optional
        Names of the metrics to return. By default, all metrics are returned.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition and metric, sorted by partition and then in the
        order of external_report. The columns are the partition columns, metric, value, best and
        meaning. metric is the name of the metric, and value is its value, which is NULL if the
        metric is undefined. best is the best value as text: a number, 'high' or 'low', or NULL if
        no value is best. meaning says in a few words what the metric measures.

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
    ('purity', 0.75, '1', "share of rows with their cluster's majority label")
    """
    scores = choose_terms(external_scores(average_method, beta, adjusted=adjusted), metrics)
    options = LabelOptions(weight=weight, partition_by=partition_by, noise=noise, noise_as=noise_as)
    table = read_contingency_table(frame, label, cluster, options, _SUMMARY_COLUMNS).cache_groups()
    report = score_partitions(table, scores, adjusted=need_expectation(scores)).select(
        *table.keys, *scores
    )
    long = report.unpivot(index=list(table.keys), variable_name="metric", value_name="value")
    facts = metrics_of("external_report")
    meanings = list_meanings(facts[name] for name in scores)
    summary = long.join(meanings, on="metric").sort(*table.keys, "place", nulls_last=True)
    return show_whole_texts(
        table.to_user_frame(frame, summary.select(*table.keys, *_SUMMARY_COLUMNS))
    )


_SUMMARY_COLUMNS = ("metric", "value", "best", "meaning")
