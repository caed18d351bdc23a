"""reports: everything at once, from one pass over the rows; the twin of ``sql/reports.sql``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from . import information, pair_counting, scatter, set_matching
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
from .points import _points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .information import NormalizedMethod
    from .labels import Column, Frame, Keys, NoiseAs, Terms, _Table
    from .points import Center, Vector

__all__ = ["external_report", "internal_report"]


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
    scores: Terms = _scores(average_method, float(beta), adjusted=adjusted)
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


def internal_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: str = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
) -> Frame:
    """Give every internal index that follows from the clusters' centres, in two passes.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. A LazyFrame is read when the result is collected, and
        streams; its first row, and of a List column the greatest length, are looked up at once.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: all are) are left out.
    cluster : str or Expr
        The cluster assigned to a point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        scipy's distances, in any letter case. A zero vector has the cosine distance 1 to all.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        What a centroid is, by coordinate; for cosine the direction of that of the unit vectors. The
        median needs all points of a cluster in memory.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.
    weights : sequence of float, optional
        A number > 0 for each dimension, as in scipy; not for chebyshev.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row a partition, sorted by it: the partition columns, n points
        that count, n_dropped rows without a vector or cluster, n_noise, n_dims, n_clusters,
        n_singletons, and one column an index, NULL where it is undefined (calinski_harabasz_score
        and davies_bouldin_score for fewer than 2 or as many clusters as points). Sums of squares
        are of distances; sst, explained_variance, ratkowsky_lance_index and sd_scattering are NULL
        unless they add up: total = within + between, that is for all but euclidean and sqeuclidean
        with the mean. Without rows n is 0 and every index NULL; with partition_by there is no row
        then.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    For the indices themselves, their ranges and sources, see docs/internal.md.
    In SQL: ``FROM clustereval.internal_report(tbl, [x, y], cluster)``.

    Examples
    --------
    Two clusters well apart:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> report = ce.internal_report(four, ["x", "y"], "cluster")
    >>> report.select("n_clusters", "ssw", "ssb", "calinski_harabasz_score").rows()
    [(2, 10.0, 68.0, 13.6)]
    """
    points = _points(
        frame,
        vector,
        cluster,
        distance,
        p,
        center,
        partition_by,
        noise,
        noise_as,
        weights,
        (*POINT_COUNTS, *_internal_names()),
    )
    scores = scatter._internal_scores(pl.col, adds_up=points.adds_up)
    report = scatter._statistics(points).select(
        *points.keys,
        *POINT_COUNTS,
        *(pl.when(pl.col("n") > 0).then(score).alias(name) for name, score in scores.items()),
    )
    return points.result(frame, report)


POINT_COUNTS = ("n", "n_dropped", "n_noise", "n_dims", "n_clusters", "n_singletons")


def _internal_names() -> list[str]:
    return list(scatter._internal_scores(pl.col, adds_up=True))
