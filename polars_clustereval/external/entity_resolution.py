"""Measures of entity resolution for data in which the labels of all records are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import check_beta
from polars_clustereval.base.exact import to_double
from polars_clustereval.base.frames import Row, Terms, add_stages
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .association import association_scores
from .contingency import (
    ROW_COUNTS,
    ContingencyTable,
    LabelOptions,
    cell_pair_terms,
    cluster_pair_terms,
    label_pair_terms,
    pair_count_terms,
    read_contingency_table,
)
from .coreference import blanc_scores, cell_lea_terms, coreference_scores, lea_terms
from .entity_matching import (
    EditCost,
    cell_jaccard,
    closest_cluster_terms,
    closest_label_terms,
    closest_scores,
    closest_terms,
    k_measure_terms,
    merge_distance,
    overlap_scores,
)
from .entropies import cell_difference_terms, cell_information_terms, information_terms
from .pair_counting import pair_scores, pair_share_terms
from .reduced_information import (
    cell_table_terms,
    cluster_table_terms,
    label_table_terms,
    reduced_scores,
    table_options,
    table_terms,
)
from .set_matching import cell_matching_terms, matching_scores, matching_terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

#: The scores of pairs, matching and association that are also measures of entity resolution.
_PAIR_SCORES = ("pair_precision", "pair_recall", "pair_f_score")
_BCUBED_SCORES = ("bcubed_precision", "bcubed_recall", "bcubed_f_score")
_EXACT_SCORES = ("exact_match_precision", "exact_match_recall", "exact_match_f_score")

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def resolution_totals(table: ContingencyTable) -> pl.LazyFrame:
    """Return one row per partition of `table`, with all statistics that the report needs."""
    copies = pl.col("copies")
    label_terms = {"n_labels": copies} | label_pair_terms(pl.col) | closest_label_terms(pl.col)
    cluster_terms = {"n_clusters": copies} | cluster_pair_terms(pl.col)
    cluster_terms |= closest_cluster_terms(pl.col)
    counts = table.add_totals(
        table.row_counts,
        table.sum_by_partition(_labels_with_jaccard(table), label_terms),
        table.sum_by_partition(_clusters_with_jaccard(table), cluster_terms),
    )
    counts = add_stages(counts, table_options).cache()
    label_sizes = _count_sizes(table, table.label_sizes, "label_size", counts)
    cluster_sizes = _count_sizes(table, table.cluster_sizes, "cluster_size", counts)
    cells = add_stages(table.sized_cells, cell_difference_terms)
    cell_terms = cell_pair_terms(pl.col) | cell_information_terms(pl.col)
    cell_terms |= cell_matching_terms(pl.col) | cell_lea_terms(pl.col)
    cell_sizes = table.cells.group_by(*table.keys, "n").agg(copies.sum())
    totals = table.add_totals(
        counts,
        table.sum_by_partition(cells, cell_terms),
        table.sum_by_partition(cell_sizes, cell_table_terms(pl.col)),
        table.sum_by_partition(label_sizes, label_table_terms(pl.col)),
        table.sum_by_partition(cluster_sizes, cluster_table_terms(pl.col)),
    )
    return add_stages(totals, pair_count_terms, _partition_terms)


def _labels_with_jaccard(table: ContingencyTable) -> pl.LazyFrame:
    """Return table.label_sizes with label_jaccard, each label's best Jaccard index."""
    by = [*table.keys, "label"]
    jaccards = table.sized_cells.select(*by, jaccard=cell_jaccard(pl.col))
    best = jaccards.group_by(by).agg(label_jaccard=pl.col("jaccard").max())
    return table.label_sizes.join(best, on=by, nulls_equal=True)


def _clusters_with_jaccard(table: ContingencyTable) -> pl.LazyFrame:
    """Return table.cluster_sizes with cluster_jaccard, each cluster's best Jaccard index.

    For the row of all noise singletons, cluster_jaccard is the sum of their Jaccard indices.
    """
    by = [*table.keys, "cluster"]
    jaccards = table.sized_cells.select(*by, "copies", jaccard=cell_jaccard(pl.col))
    best = jaccards.group_by(by).agg(
        best=pl.col("jaccard").max(),
        singletons=(pl.col("jaccard") * to_double(pl.col("copies"))).sum(),
    )
    cluster_jaccard = pl.when(pl.col("cluster").is_null()).then("singletons").otherwise("best")
    best = best.select(*by, cluster_jaccard=cluster_jaccard)
    return table.cluster_sizes.join(best, on=by, nulls_equal=True)


def _count_sizes(
    table: ContingencyTable, sizes: pl.LazyFrame, size: str, counts: pl.LazyFrame
) -> pl.LazyFrame:
    """Return one row per partition and size, with its copies and the columns of `counts`."""
    histogram = sizes.group_by(*table.keys, size).agg(pl.col("copies").sum())
    return table.join_partitions(histogram, counts)


def _partition_terms(row: Row) -> Terms:
    """Return the statistics that are computed from a partition's sums and pair counts.

    The report counts no links and needs no matched_rows, so their terms are left out.
    """
    shares, rows = pair_share_terms(row), matching_terms(row)
    return {
        **{name: shares[name] for name in ("tp_share", "fp_share", "fn_share", "tn_share")},
        **{name: rows[name] for name in ("precision_rows", "recall_rows", "similar_rows")},
        **information_terms(row),
        **lea_terms(row),
        **closest_terms(row),
        **table_terms(row),
    }


def resolution_scores(split_cost: str, merge_cost: str, beta: float) -> Terms:
    """Return the measures of the report, from the columns of resolution_totals."""
    distance, weight = merge_distance(pl.col, split_cost, merge_cost), check_beta(beta)
    pairs, matches = pair_scores(pl.col, weight), matching_scores(pl.col, weight)
    return {
        **{name: pairs[name] for name in _PAIR_SCORES},
        **{name: matches[name] for name in _BCUBED_SCORES},
        **k_measure_terms(pl.col),
        **{name: matches[name] for name in _EXACT_SCORES},
        **closest_scores(pl.col, weight),
        **overlap_scores(pl.col),
        **distance,
        **coreference_scores(pl.col, weight),
        **blanc_scores(pl.col, weight),
        "element_centric_similarity": matches["element_centric_similarity"],
        "correlation_distance": association_scores(pl.col)["correlation_distance"],
        **reduced_scores(pl.col),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("labels", guide="entity_resolution", is_portable=True)
def entity_resolution_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    split_cost: EditCost = "unit",
    merge_cost: EditCost = "unit",
    beta: float = 1.0,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """All measures of entity resolution for one or more clusterings, in one pass over the rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The records. A LazyFrame is read as a stream when you collect the result.
    label, cluster : str or Expr
        The true entity and the assigned entity of each record. Any type that can be grouped is
        allowed. Rows with a NULL label or cluster are left out. So if only a sample has a label,
        the measures are too optimistic. Most of them cannot be estimated from a sample, and
        entity_resolution_estimates estimates the others, with intervals.
    split_cost, merge_cost : {'unit', 'product', 'entropy'}
        The cost of splitting a cluster, and the cost of merging two clusters, in
        generalized_merge_distance.
    beta : float
        Nonnegative weight of recall in all F scores except exact_match_f_score.
    weight, partition_by, noise, noise_as : as in external_report
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted by partition. The result has the
        partition columns and the following columns:

        - n: the number of rows that are counted.
        - n_dropped: the number of rows with a NULL label or cluster.
        - n_noise: the number of noise rows.
        - n_labels, n_clusters: the numbers of labels and of clusters.
        - one column per measure, which has the same name as the measure's expression and is NULL if
          the measure is undefined.

        If there are no rows, n is 0 and every measure is NULL, unless you pass partition_by, in
        which case the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report.

    Notes
    -----
    In SQL: ``FROM clustereval.entity_resolution_report(tbl, label, cluster)``.

    Examples
    --------
    In run 1, one person is split into two clusters; in run 2, two persons are joined:

    >>> runs = pl.DataFrame(
    ...     {
    ...         "run": [1, 1, 1, 1, 2, 2, 2, 2],
    ...         "person": ["a", "a", "a", "b", "a", "a", "a", "b"],
    ...         "cluster": [0, 0, 1, 2, 0, 0, 0, 0],
    ...     }
    ... )
    >>> report = ce.entity_resolution_report(runs, "person", "cluster", partition_by="run")
    >>> report.select("run", "pair_precision", "pair_recall", "basic_merge_distance").rows()
    [(1, 1.0, 0.3333333333333333, 1.0), (2, 0.5, 1.0, 1.0)]
    """
    scores: Terms = resolution_scores(split_cost, merge_cost, beta)
    results = (*ROW_COUNTS, *scores)
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, results).cache_groups()
    has_rows = pl.col("total") > 0
    measures = {name: pl.when(has_rows).then(score) for name, score in scores.items()}
    report = resolution_totals(table).select(
        *table.keys, pl.col("total").alias("n"), *ROW_COUNTS[1:], **measures
    )
    return table.to_user_frame(frame, table.sort_by_partition(report), metrics)
