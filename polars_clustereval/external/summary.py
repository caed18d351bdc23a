"""summary: the external metrics one below the other, for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_clustereval.base.frames import list_meanings
from polars_clustereval.base.metric_facts import metrics_of
from polars_clustereval.base.tables import table_function

from .contingency import LabelOptions, read_contingency_table
from .report import external_scores, score_partitions

if TYPE_CHECKING:
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
) -> Frame:
    """The metrics of external_report in long form, with the best value and the meaning of each.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is read when the result is collected, and streams.
    label, cluster : str or Expr
        True class and assigned cluster, of any groupable type. Rows with a NULL are left out.
    weight : str or Expr, optional
        Multiplicity of each row, a whole number >= 0. The check reads this column at once, of a
        LazyFrame too.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Count noise as an ordinary cluster, leave it out, or count each row as a cluster.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        Mean of the entropies in the normalized and adjusted mutual information; 'joint' is for the
        normalized one only, and needs adjusted=False.
    beta : float
        Weight in pair_f_score, v_measure_score and bcubed_f_score, at least 0.
    adjusted : bool
        False leaves out adjusted_mutual_info_score and expected_mutual_info, the slowest ones.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition and metric, sorted by partition and in the order
        of external_report: the partition columns, metric (its name), value (NULL if undefined),
        best (its best value as text: a number, 'high' or 'low'; NULL if none is best) and meaning
        (what it measures, in a few words).

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is not a whole number >= 0, noise
        has no equal in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.external_summary(tbl, label, cluster)``.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 0, 0, 1]})
    >>> summary = ce.external_summary(four, "label", "cluster")
    >>> summary.filter(pl.col("metric") == "purity").row(0)
    ('purity', 0.75, '1', 'rows with the majority label of their cluster')
    """
    scores = external_scores(average_method, beta, adjusted=adjusted)
    options = LabelOptions(weight=weight, partition_by=partition_by, noise=noise, noise_as=noise_as)
    table = read_contingency_table(frame, label, cluster, options, _SUMMARY_COLUMNS).cache_groups()
    report = score_partitions(table, scores, adjusted=adjusted).select(*table.keys, *scores)
    long = report.unpivot(index=list(table.keys), variable_name="metric", value_name="value")
    meanings = list_meanings(metrics_of("external_report").values())
    summary = long.join(meanings, on="metric").sort(*table.keys, "place", nulls_last=True)
    return table.to_user_frame(frame, summary.select(*table.keys, *_SUMMARY_COLUMNS))


_SUMMARY_COLUMNS = ("metric", "value", "best", "meaning")
