"""Indices based on the best one-to-one matching of labels and clusters.

A matching pairs each label with at most one cluster and each cluster with at most one label. The
best matching is the one whose cells have the largest total weight. There are several kinds of
weights, and each kind has its own best matching. Polars computes the contingency table, and numpy
finds the matchings.

If each noise row counts as a cluster of its own, each of these singleton clusters has only one
label, and each label is matched with at most one of them. All singletons with the same label are
therefore treated as a single column of the table. No other label has a cell in this column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs, check_beta
from polars_clustereval.base.exact import ratio, to_double
from polars_clustereval.base.frames import join_partitions, map_whole
from polars_clustereval.base.growth import ASSIGNMENT
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .contingency import ROW_COUNTS, ContingencyTable, LabelOptions, read_contingency_table
from .kernels.linear_assignment import Cells, matched_cells, matched_weights
from .set_matching import f_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.frames import Row, Terms

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _weight_terms(row: Row) -> Terms:
    """Return each kind of weight of a cell, named after its sum over the matched cells."""
    n, label_size, cluster_size = row("n"), row("label_size"), row("cluster_size")
    return {
        "matched_rows": to_double(n),
        "matched_label_shares": ratio(n, label_size),
        "matched_set_shares": ratio(n, pl.max_horizontal(label_size, cluster_size)),
        "matched_f_scores": ratio(2 * n, label_size + cluster_size),
    }


_WEIGHTS = tuple(_weight_terms(pl.col))


def _number_cells(
    table: ContingencyTable, labels: pl.LazyFrame, clusters: pl.LazyFrame, partitions: pl.LazyFrame
) -> pl.LazyFrame:
    """Return the sized cells with the numbers row, column and partition_no.

    The singletons of a label have a column of their own, after those of all clusters.
    """
    keys = list(table.keys)
    rows = labels.select(*keys, "label").with_row_index("row")
    columns = clusters.select(*keys, "cluster").with_row_index("column")
    cells = (
        table.sized_cells.join(rows, on=[*keys, "label"], nulls_equal=True)
        .join(columns, on=[*keys, "cluster"], nulls_equal=True)
        .pipe(join_partitions, keys, partitions)
        .with_columns(pl.col("row", "column", "partition_no").cast(pl.Int64))
    )
    after_clusters = pl.col("column").max() + 1 + pl.col("row")
    is_singleton = pl.col("cluster").is_null()
    return cells.with_columns(column=pl.when(is_singleton).then(after_clusters).otherwise("column"))


def _number_partitions(table: ContingencyTable) -> pl.LazyFrame:
    """Return the partitions with their numbers, partition_no."""
    return table.row_counts.with_row_index("partition_no").select(*table.keys, "partition_no")


def _matched_totals(table: ContingencyTable) -> pl.LazyFrame:
    """Return the weights of the best matchings, without the partitions that have no cells."""
    partitions = _number_partitions(table)
    cells = _number_cells(table, table.label_sizes, table.cluster_sizes, partitions)
    numbered = cells.select("partition_no", "row", "column", **_weight_terms(pl.col))
    schema = pl.Schema({"partition_no": pl.Int64(), **dict.fromkeys(_WEIGHTS, pl.Float64())})
    totals = map_whole(numbered, _sum_matched_weights, schema)
    numbered_partitions = partitions.with_columns(pl.col("partition_no").cast(pl.Int64))
    return numbered_partitions.join(totals, on="partition_no", how="left").drop("partition_no")


def _sum_matched_weights(cells: pl.DataFrame) -> pl.DataFrame:
    """Return, for each partition_no and each kind of weight, the weight of the best matching.

    In `cells`, the columns partition_no, row and column contain numbers that start at 0.
    """
    problems, rows, columns = (cells[name].to_numpy() for name in ("partition_no", "row", "column"))
    n_problems = int(problems.max()) + 1 if problems.size else 0
    sums = {
        name: matched_weights(Cells(problems, rows, columns, cells[name].to_numpy()), n_problems)
        for name in _WEIGHTS
    }
    return pl.DataFrame({"partition_no": np.arange(n_problems), **sums})


def _matched_cells(table: ContingencyTable) -> pl.LazyFrame:
    """Return the sized cells of the best matching by rows (see linear_assignment.matched_cells)."""
    labels, clusters = (
        sizes.sort(*table.keys, name, nulls_last=True)
        for sizes, name in ((table.label_sizes, "label"), (table.cluster_sizes, "cluster"))
    )
    cells = _number_cells(table, labels, clusters, _number_partitions(table))
    return map_whole(cells, _choose_matched_cells, cells.collect_schema()).cache()


def _choose_matched_cells(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `cells` (see _number_cells) that are in the best matching by rows."""
    problems, rows, columns = (cells[name].to_numpy() for name in ("partition_no", "row", "column"))
    weights = cells["n"].cast(pl.Float64).to_numpy()
    return cells[matched_cells(Cells(problems, rows, columns, weights))]


def _ranked_rows(table: ContingencyTable) -> pl.LazyFrame:
    """Return one row per partition with expected_rows, a column that the pair sets index needs.

    Labels and clusters are each ranked by size, and noise rows that count as singletons come last.
    expected_rows is the sum, over all ranks, of the smaller size of the label and the cluster at
    that rank.
    """
    keys = list(table.keys)
    labels = _rank_by_size(table.label_sizes, keys, "label_size")
    named = table.cluster_sizes.filter(pl.col("cluster").is_not_null())
    clusters = _rank_by_size(named, keys, "cluster_size")
    singletons = table.cluster_sizes.filter(pl.col("cluster").is_null())
    lesser = pl.min_horizontal("label_size", "cluster_size")
    both = labels.join(clusters, on=[*keys, "rank"], how="left", nulls_equal=True)
    sums = table.sum_by_partition(
        both,
        {
            "rows": pl.when(pl.col("cluster_size").is_not_null()).then(lesser),
            "n_labels_left": pl.col("cluster_size").is_null().cast(pl.Int64),
        },
    )
    counts = table.sum_by_partition(singletons, {"n_singletons": pl.col("copies")})
    last_ranks = pl.min_horizontal("n_labels_left", pl.col("n_singletons").fill_null(0))
    joined = join_partitions(sums, keys, counts, how="left")
    return joined.select(*keys, expected_rows=pl.col("rows").fill_null(0) + last_ranks)


def _rank_by_size(sizes: pl.LazyFrame, keys: list[str], size: str) -> pl.LazyFrame:
    """Return the rank of each size within its partition; equal sizes get different ranks."""
    rank = pl.col(size).rank("ordinal", descending=True)
    ranks = rank.over(keys) if keys else rank
    return sizes.select(*keys, size, rank=ranks)


def _matching_scores(row: Row, beta: float) -> Terms:
    """Return the scores of matching_report."""
    size = pl.max_horizontal(row("n_labels"), row("n_clusters"))
    shares, sets = row("matched_label_shares"), row("matched_set_shares")
    expected = ratio(row("expected_rows"), row("total"))
    pair_sets = pl.max_horizontal(0.0, ratio(sets - expected, size - expected))
    precision = ratio(row("matched_f_scores"), row("n_clusters"))
    recall = ratio(row("matched_f_scores"), row("n_labels"))
    return {
        "clustering_accuracy": ratio(row("matched_rows"), row("total")),
        "normalized_clustering_accuracy": pl.when(size == 1)
        .then(1.0)
        .otherwise(ratio(shares - 1, size - 1)),
        "pair_sets_index": pl.when(size == 1).then(1.0).otherwise(pair_sets),
        "ceaf_precision": precision,
        "ceaf_recall": recall,
        "ceaf_f_score": f_score(precision, recall, beta),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("labels", guide="matching", growth=ASSIGNMENT)
def matching_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    beta: float = 1.0,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Indices of the best one-to-one matching of labels and clusters.

    A matching pairs each label with at most one cluster and each cluster with at most one label.
    For each index, the best matching is found exactly.

    Parameters
    ----------
    beta : float
        The nonnegative weight of recall in ceaf_f_score.
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted by partition. The first columns are the
        partition columns, n, n_dropped, n_noise, n_labels and n_clusters. n is the number of rows
        that are counted, n_dropped is the number of rows with a NULL label or cluster, and n_noise
        is the number of noise rows. The other columns are:

        - clustering_accuracy (range [0, 1], best 1), the share of rows in matched cells. This index
          is also known as mention-based CEAF.
        - normalized_clustering_accuracy (range [-0.5, 1], best 1), which is (s - 1) / (k - 1).
          Here, s is the sum, over all labels, of the share of the label's rows that are in matched
          cells, and k is the number of labels or the number of clusters, whichever is larger.
        - pair_sets_index (range [0, 1], best 1), which is (s - E) / (k - E), or 0 if that is
          negative. Here, s is a sum over the matched pairs of a label and a cluster. Each pair
          contributes the number of rows that its label and its cluster have in common, divided by
          the larger of their sizes. E is the expectation of s for random sets of these sizes, and k
          is the number of labels or the number of clusters, whichever is larger.
        - ceaf_precision (range [0, 1], best 1), the sum of the F1 scores of the matched pairs,
          divided by n_clusters.
        - ceaf_recall (range [0, 1], best 1), the sum of the F1 scores of the matched pairs, divided
          by n_labels.
        - ceaf_f_score (range [0, 1], best 1), the weighted harmonic mean of ceaf_precision and
          ceaf_recall.

        If there is only one label and one cluster, all indices are 1. If there are no rows, n is 0
        and every index is NULL. With partition_by, the result is empty if there are no rows.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report. This error is also raised when the result is
        collected if, in a part that is left to the Hungarian method (see the notes), the number of
        labels times the number of clusters exceeds 4,000,000.

    Notes
    -----
    Most labels and clusters are matched immediately, because the weight of their common cell is at
    least the sum of two other weights: the largest weight among the label's other cells, and the
    largest weight among the cluster's other cells. The remaining cells are divided into parts that
    share no labels or clusters, and each part is solved with the Hungarian method. In the worst
    case, the running time of the Hungarian method is cubic in the number of labels in a part.

    In SQL: ``FROM clustereval.matching_report(tbl, label, cluster)``.

    References
    ----------
    Kuhn (1955), The Hungarian method for the assignment problem, doi:10.1002/nav.3800020109.
    Luo (2005), On coreference resolution performance metrics, H05-1004. Rezaei and Franti (2016),
    Set matching measures for external cluster validity, doi:10.1109/TKDE.2016.2551240. Gagolewski
    (2025), Normalised clustering accuracy: an asymmetric external cluster validity measure,
    doi:10.1007/s00357-024-09482-2.

    Examples
    --------
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> report = ce.matching_report(six, "label", "cluster")
    >>> report.select(pl.col("clustering_accuracy", "pair_sets_index").round(4)).row(0)
    (0.6667, 0.2857)
    """
    scores: Terms = _matching_scores(pl.col, check_beta(beta))
    options = pass_arguments_to(LabelOptions)
    results = (*ROW_COUNTS, *scores)
    table = read_contingency_table(frame, label, cluster, options, results).cache_groups()
    totals = table.add_totals(
        table.row_counts,
        table.sum_by_partition(table.label_sizes, {"n_labels": pl.col("copies")}),
        table.sum_by_partition(table.cluster_sizes, {"n_clusters": pl.col("copies")}),
        _ranked_rows(table),
        _matched_totals(table),
    )
    has_rows = pl.col("total") > 0
    report = totals.select(
        *table.keys,
        pl.col("total").alias("n"),
        *ROW_COUNTS[1:],
        **{name: pl.when(has_rows).then(score) for name, score in scores.items()},
    )
    return table.to_user_frame(frame, table.sort_by_partition(report), metrics)


_MATCHES = ("label", "cluster", "n", "recall", "precision")


@table_function("labels", guide="matching", order=("label", "cluster"), growth=ASSIGNMENT)
def matching_table(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """The one-to-one matching of labels and clusters that matches the most rows.

    Use this table to give each cluster the name of its label, or to see which labels and clusters
    have no counterpart. The matching is the one from which matching_report computes
    clustering_accuracy. The other indices have their own best matchings, which can differ.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in matching_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per matched pair, per label without a match and per cluster
        without a match, sorted by partition, label and cluster. The columns are the partition
        columns, label, cluster, n, recall and precision. The column n contains the number of rows
        that the label and the cluster have in common, recall is n divided by the number of rows
        with the label, and precision is n divided by the number of rows in the cluster. For a label
        without a match, cluster and precision are NULL, and n and recall are 0. For a cluster
        without a match, label and recall are NULL, and n and precision are 0. If noise counts as
        singletons, a label can be matched with one of its noise rows. In this row, cluster is NULL,
        and n and precision are 1. Singletons without a match have no rows. If there are no rows,
        the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as matching_report.

    Notes
    -----
    If several matchings have the largest number of rows, the first label gets the lowest cluster
    that it has in any of them. Then the second label gets the lowest cluster that it has in any of
    the remaining ones, and so on. Having no match comes after all clusters. A label and a cluster
    that have no rows in common are not matched.

    In SQL: ``FROM clustereval.matching_table(tbl, label, cluster)``.

    References
    ----------
    Kuhn (1955), The Hungarian method for the assignment problem, doi:10.1002/nav.3800020109.

    Examples
    --------
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> ce.matching_table(six, "label", "cluster").select("label", "cluster", "n").rows()
    [('a', 0, 2), ('b', 2, 2), (None, 1, 0)]
    """
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, _MATCHES).cache_groups()
    keys: list[str] = list(table.keys)
    pairs = _matched_cells(table).select(*keys, "label", "cluster", "n", "cluster_size")
    labels = table.label_sizes.select(*keys, "label", "label_size")
    labels = labels.join(pairs, on=[*keys, "label"], how="left", nulls_equal=True)
    clusters = table.cluster_sizes.filter(pl.col("cluster").is_not_null())
    clusters = clusters.select(*keys, "cluster", "cluster_size")
    clusters = clusters.join(pairs, on=[*keys, "cluster"], how="anti", nulls_equal=True)
    n = pl.col("n").fill_null(0)
    rows = pl.concat([labels, clusters], how="diagonal").select(
        *keys,
        *("label", "cluster"),
        n=n,
        recall=ratio(n, pl.col("label_size")),
        precision=ratio(n, pl.col("cluster_size")),
    )
    return table.to_user_frame(frame, rows.sort(*keys, "label", "cluster", nulls_last=True))
