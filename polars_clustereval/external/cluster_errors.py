"""Clustering errors of individual records, and mean errors per true cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import show_value
from polars_clustereval.base.exact import (
    PLACES_OF_SHARES,
    from_fixed_point,
    log_ratio,
    ratio,
    to_double,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import join_small, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .contingency import ContingencyTable, LabelOptions, read_contingency_table
from .report import size_records

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Terms


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("records", guide="cluster_errors", order=("id",))
def record_error_table(
    frame: Frame,
    label: Column,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    count_unlabeled: bool = False,
) -> Frame:
    """The numbers of extra and missing rows in the cluster of each record.

    The true cluster of a record is the set of rows with the same label. The extra rows of a record
    are in its cluster but not in its true cluster. The missing rows of a record are in its true
    cluster but not in its cluster. If a cluster is also a true cluster, none of its records has
    extra or missing rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The records. A LazyFrame is read as a stream when you collect the result.
    label, cluster : str or Expr
        The true entity and the assigned cluster of each record. Any type that can be grouped is
        allowed. Rows with a NULL label or cluster are left out.
    id : str or Expr, optional
        Identifier of each row. By default, this is the row number, starting at 0. If several
        sources use the same ids, pass a struct of source and id.
    count_unlabeled : bool
        Whether rows that have a cluster but no label count as extra rows of their cluster. Use this
        option if you labeled only a sample of the true clusters, but labeled all rows of each
        cluster in the sample.
    partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per record, sorted by partition and id. The result has the
        partition columns, id, label, cluster, and the following columns:

        - label_size, cluster_size: the number of rows with the record's label, and the number of
          rows in its cluster.
        - extra, missing: the numbers of extra and missing rows.
        - relative_extra: extra / cluster_size, at least 0 (best) and below 1.
        - relative_missing: missing / label_size, at least 0 (best) and below 1.

        For a noise row that counts as a singleton, cluster is NULL. If there are no rows, the
        result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report, or if count_unlabeled is not True or False. If
        an id has several rows, the error is raised when you collect the result.

    Notes
    -----
    relative_extra equals 1 - bcubed_precision and relative_missing equals 1 - bcubed_recall, where
    bcubed_precision and bcubed_recall are columns of bcubed_samples. In SQL: ``FROM
    clustereval.record_error_table(tbl, label, cluster, id)``.

    References
    ----------
    Binette, Baek, Engineer, Jones, Dasylva and Reiter (2024), How to evaluate entity resolution
    systems: an entity-centric framework, doi:10.48550/arXiv.2404.05622.

    Examples
    --------
    The third record of entity a is in a cluster with the first record of b:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> errors = ce.record_error_table(six, "label", "cluster")
    >>> errors.select("id", "label", "cluster", "extra", "missing").rows()[1:4]
    [(1, 'a', 0, 0, 1), (2, 'a', 1, 1, 2), (3, 'b', 1, 1, 2)]
    """
    _check_count_unlabeled(count_unlabeled)
    label_size, cluster_size = pl.col("label_size"), pl.col("cluster_size")
    extra, missing = cluster_size - pl.col("n"), label_size - pl.col("n")
    errors: Terms = {
        "extra": extra,
        "missing": missing,
        "relative_extra": ratio(extra, cluster_size),
        "relative_missing": ratio(missing, label_size),
    }
    results = ("id", "label", "cluster", "label_size", "cluster_size", *errors)
    options = pass_arguments_to(LabelOptions)
    rows, keys = size_records(
        frame, label, cluster, id, options, results, count_unlabeled=count_unlabeled
    )
    records = rows.select(*keys, *results[:5], **errors).sort(*keys, "id", nulls_last=True)
    return to_user_frame(frame, records, keys)


@table_function("labels", guide="cluster_errors", order=("label",))
def cluster_error_table(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    count_unlabeled: bool = False,
) -> Frame:
    """The mean errors of the records in each true cluster.

    A true cluster is the set of all rows with the same label. Each expected value is the mean of a
    column of record_error_table over the rows of a true cluster.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The records. A LazyFrame is read as a stream when you collect the result.
    label, cluster : str or Expr
        The true entity and the assigned cluster of each record. Any type that can be grouped is
        allowed. Rows with a NULL label or cluster are left out.
    count_unlabeled : bool
        Whether rows that have a cluster but no label count as extra rows of their cluster. Use this
        option if you labeled only a sample of the true clusters, but labeled all rows of each
        cluster in the sample.
    weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per label, sorted by partition and label. The result has the
        partition columns, label, and the following columns:

        - n: the number of rows with the label.
        - n_clusters: the number of clusters that contain rows with the label.
        - expected_extra, expected_missing: the mean numbers of extra and missing rows, at least 0.
          The best value is 0.
        - expected_relative_extra, expected_relative_missing: the means of relative_extra and
          relative_missing, at least 0 (best) and below 1.
        - error_indicator: 0 if some cluster consists of exactly the label's rows, and 1 otherwise.
        - splitting_entropy: the exponential of the entropy of the label's clusters, from 1 (best)
          to n_clusters.

        If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report, or if count_unlabeled is not True or False.

    Notes
    -----
    The result has one row per label, that is, per true cluster. By contrast,
    external_cluster_report returns one row per assigned cluster. In SQL: ``FROM
    clustereval.cluster_error_table(tbl, label, cluster)``.

    References
    ----------
    Binette, Baek, Engineer, Jones, Dasylva and Reiter (2024), How to evaluate entity resolution
    systems: an entity-centric framework, doi:10.48550/arXiv.2404.05622.

    Examples
    --------
    The rows of b are in one cluster, which also has a row of a; the rows of a are in two clusters:

    >>> four = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 1, 1]})
    >>> errors = ce.cluster_error_table(four, "label", "cluster")
    >>> errors.select("label", "expected_extra", "expected_missing", "splitting_entropy").rows()
    [('a', 1.0, 1.0, 2.0), ('b', 1.0, 0.0, 1.0)]
    """
    _check_count_unlabeled(count_unlabeled)
    errors: Terms = _label_terms()
    results = ("label", "n", *errors)
    options = pass_arguments_to(LabelOptions)
    table: ContingencyTable = read_contingency_table(
        frame, label, cluster, options, results, keep_nulls=count_unlabeled
    ).cache_groups()
    cells = _count_unlabeled(table) if count_unlabeled else table.sized_cells
    by = [*table.keys, "label"]
    sums = cells.group_by(*by, "label_size").agg(**_cell_sums())
    labels = sums.select(*by, n="label_size", **errors)
    return table.to_user_frame(frame, labels.sort(by, nulls_last=True))


def _check_count_unlabeled(count_unlabeled: object) -> None:
    """Raise an error unless the option `count_unlabeled` is True or False."""
    if not isinstance(count_unlabeled, bool):
        raise ClusterEvalError(
            f"count_unlabeled: expected TRUE or FALSE, got {show_value(count_unlabeled)}"
        )


def _count_unlabeled(table: ContingencyTable) -> pl.LazyFrame:
    """Return table.sized_cells, with unlabeled rows included in cluster_size."""
    unlabeled = table.groups.filter(pl.col("label").is_null() & pl.col("cluster").is_not_null())
    sizes = unlabeled.select(*table.keys, "cluster", n_unlabeled="n_dropped")
    cells = join_small(table.sized_cells, [*table.keys, "cluster"], sizes, how="left")
    cluster_size = pl.col("cluster_size") + pl.col("n_unlabeled").fill_null(0)
    return cells.with_columns(cluster_size=cluster_size)


def _cell_sums() -> Terms:
    """Return the sums over a label's cells from which _label_terms computes its errors."""
    n, copies = pl.col("n"), pl.col("copies")
    label_size, cluster_size = pl.col("label_size"), pl.col("cluster_size")
    extra, missing = cluster_size - n, label_size - n
    entropy = to_double(copies) * ratio(n, label_size) * log_ratio(label_size, n)
    return {
        "n_clusters": copies.sum(),
        "extra": (widen(n) * widen(extra)).sum(),
        "missing": (widen(n * copies) * widen(missing)).sum(),
        "fixed_relative_extra": to_fixed_point(to_double(n) * ratio(extra, cluster_size)).sum(),
        "fixed_entropy": to_fixed_point(entropy, PLACES_OF_SHARES).sum(),
    }


def _label_terms() -> Terms:
    """Return the errors of a label, from _cell_sums and label_size."""
    extra, missing, label_size = pl.col("extra"), pl.col("missing"), pl.col("label_size")
    expected_missing = ratio(missing, label_size)
    relative_extra = from_fixed_point(pl.col("fixed_relative_extra"))
    entropy = from_fixed_point(pl.col("fixed_entropy"), PLACES_OF_SHARES)
    return {
        "n_clusters": pl.col("n_clusters"),
        "expected_extra": ratio(extra, label_size),
        "expected_relative_extra": ratio(relative_extra, label_size),
        "expected_missing": expected_missing,
        "expected_relative_missing": ratio(expected_missing, label_size),
        "error_indicator": ((extra != 0) | (missing != 0)).cast(pl.Int64),
        "splitting_entropy": entropy.exp(),
    }
