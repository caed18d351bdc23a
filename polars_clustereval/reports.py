"""reports: everything at once, from one pass over the rows; the twin of ``sql/reports.sql``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from . import information, pair_counting, set_matching
from .errors import ClusterEvalError
from .labels import (
    ROW_COUNTS,
    _cell_terms,
    _checked_beta,
    _checked_choice,
    _cluster_terms,
    _label_terms,
    _pair_counts,
    _staged,
    _table,
)

if TYPE_CHECKING:
    from .information import NormalizedMethod
    from .labels import Column, Frame, Keys, NoiseAs, Terms, _Table

__all__ = ["external_report"]


def external_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
) -> Frame:
    """Every external metric of one or many clusterings, from one pass over the rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is read when the result is collected, and streams.
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.
    weight : str or Expr, optional
        How many times a row counts, a whole number >= 0. It is checked at once, which reads this
        one column of a LazyFrame.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        Mean of the entropies in the normalized and adjusted mutual information; 'joint' for the
        normalized one only, so with adjusted=False.
    beta : float
        Weight in pair_f_score, v_measure_score and bcubed_f_score, at least 0.
    adjusted : bool
        False leaves out adjusted_mutual_info_score and expected_mutual_info, which cost most.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row a partition, sorted by it: the partition columns, n
        rows that count, n_dropped rows with a NULL label or cluster, n_noise, n_labels,
        n_clusters, and one column a metric, named as its expression, NULL where it is
        undefined. Without rows n is 0 and every metric NULL; with partition_by there is no row
        then.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is no whole number >= 0, noise has
        no value in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.external_report(tbl, label, cluster)``.

    Examples
    --------
    Many clusterings are scored at once:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> runs = pl.DataFrame(
    ...     {
    ...         "run": [1, 1, 1, 1, 2, 2, 2, 2],
    ...         "label": ["a", "a", "b", "b", "a", "a", "b", "b"],
    ...         "cluster": [0, 0, 1, 1, 0, 1, 1, 1],
    ...     }
    ... )
    >>> report = ce.external_report(runs, "label", "cluster", partition_by="run")
    >>> report.select("run", "n", "adjusted_rand_score", "purity").rows()
    [(1, 4, 1.0, 1.0), (2, 4, 0.0, 0.75)]
    """
    _checked_options(average_method, beta, adjusted=adjusted)
    scores: Terms = _scores(average_method, beta, adjusted=adjusted)
    results = (*ROW_COUNTS, *scores)
    table = _table(frame, label, cluster, weight, partition_by, noise, noise_as, results).shared()
    some = pl.col("total") > 0
    report = _statistics(table, adjusted=adjusted).select(
        *table.keys,
        pl.col("total").alias("n"),
        *ROW_COUNTS[1:],
        *(pl.when(some).then(score).alias(name) for name, score in scores.items()),
    )
    return table.result(frame, table.sorted(report))


def _checked_options(average_method: str, beta: float, *, adjusted: bool) -> None:
    _checked_choice("average_method", average_method, information._NORMALIZED_AVERAGES)
    if average_method == "joint" and adjusted:
        raise ClusterEvalError(
            "average_method 'joint' has no adjusted form: use adjusted := false, or another average"
        )
    _checked_beta(beta)


def _scores(average_method: str, beta: float, *, adjusted: bool) -> Terms:
    return {
        **pair_counting._pair_scores(pl.col, beta),
        **information._information_scores(pl.col, average_method, beta, adjusted=adjusted),
        **set_matching._matching_scores(pl.col, beta),
    }


def _statistics(table: _Table, *, adjusted: bool) -> pl.LazyFrame:
    """One row a partition: all that the scores are made from."""
    totals = table.joined(
        table.row_counts,
        table.summed(_staged(table.sized, information._cell_moments), _all_cell_terms()),
        table.summed(_matched_labels(table), _all_label_terms()),
        table.summed(table.clusters, _all_cluster_terms()),
        *([information._expected_totals(table)] if adjusted else []),
    )
    stages = [
        _pair_counts,
        pair_counting._pair_shares,
        information._information,
        information._explained,
        *([information._expected] if adjusted else []),
    ]
    return _staged(totals, *stages)


def _matched_labels(table: _Table) -> pl.LazyFrame:
    matches = table.sized.select(*table.keys, "label", match=set_matching._match(pl.col))
    best = matches.group_by(*table.keys, "label").agg(best_match=pl.col("match").max())
    return table.labels.join(best, on=[*table.keys, "label"], nulls_equal=True)


def _all_cell_terms() -> Terms:
    return {
        **_cell_terms(pl.col),
        "linked": pair_counting._linked(pl.col),
        **information._cell_terms(pl.col),
        **set_matching._cell_terms(pl.col),
    }


def _all_label_terms() -> Terms:
    return {**_label_terms(pl.col), **set_matching._label_terms(pl.col)}


def _all_cluster_terms() -> Terms:
    return {**_cluster_terms(pl.col), **set_matching._cluster_terms(pl.col)}
