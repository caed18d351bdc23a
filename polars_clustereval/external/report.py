"""A report with all external metrics, and reports with one row per cluster, label or record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import (
    REPEATED_ID_ADVICE,
    Column,
    Frame,
    Keys,
    NoiseAs,
    check_beta,
    check_choice,
    check_metrics,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.exact import count_pairs, log_ratio, ratio
from polars_clustereval.base.frames import Terms, add_stages, join_small, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError, Setting

from .association import association_scores
from .contingency import (
    ROW_COUNTS,
    ContingencyTable,
    LabelOptions,
    cell_pair_terms,
    check_columns,
    cluster_pair_terms,
    is_noise,
    label_pair_terms,
    pair_count_terms,
    read_contingency_table,
)
from .entropies import (
    cell_difference_terms,
    cell_information_terms,
    entropy_scores,
    information_terms,
)
from .expected_information import expected_totals
from .information import NORMALIZED_AVERAGES, NormalizedMethod, information_scores
from .pair_counting import adjusted_pair_scores, cell_link_terms, pair_scores, pair_share_terms
from .set_matching import (
    MATCHING_COUNTS,
    cell_matching_terms,
    cluster_matching_terms,
    label_match_rows,
    label_matching_terms,
    matching_scores,
    matching_terms,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


_EXPECTED_STATISTICS = ("emi", "ehl", "ehc")


def external_statistics(
    table: ContingencyTable, *, adjusted: bool, labels: pl.LazyFrame | None = None
) -> pl.LazyFrame:
    """Return one row per partition of `table` with all statistics that external_report needs.

    `labels` is the result of _labels_with_best_match, if the caller has already computed it.
    """
    cells = add_stages(table.sized_cells, cell_difference_terms)
    labels = _labels_with_best_match(table) if labels is None else labels
    cell_terms = cell_pair_terms(pl.col) | cell_link_terms(pl.col)
    cell_terms |= cell_information_terms(pl.col) | cell_matching_terms(pl.col)
    label_terms = label_pair_terms(pl.col) | label_matching_terms(pl.col)
    cluster_terms = cluster_pair_terms(pl.col) | cluster_matching_terms(pl.col)
    totals = table.add_totals(
        table.row_counts,
        table.sum_by_partition(cells, cell_terms),
        table.sum_by_partition(labels, label_terms),
        table.sum_by_partition(table.cluster_sizes, cluster_terms),
        *([expected_totals(table)] if adjusted else []),
    )
    stages = (pair_count_terms, pair_share_terms, information_terms, matching_terms)
    return add_stages(totals, *stages).select(
        *table.keys,
        *("total", "n_dropped", "n_noise"),
        *MATCHING_COUNTS,
        *matching_terms(pl.col),
        *("tp", "fp", "fn", "tn", "links"),
        *("tp_share", "fp_share", "fn_share", "tn_share", "links_share"),
        *("mi", "hl", "hc"),
        *(_EXPECTED_STATISTICS if adjusted else ()),
    )


def _labels_with_best_match(table: ContingencyTable) -> pl.LazyFrame:
    """Return one row per label, with best_match_rows, its largest label_match_rows."""
    by = [*table.keys, "label"]
    matches = table.sized_cells.select(*by, "n", "label_size", match_rows=label_match_rows(pl.col))
    best = matches.group_by(by).agg(
        pl.col("label_size").first(),
        label_majority_n=pl.col("n").max(),
        best_match_rows=pl.col("match_rows").max(),
    )
    return best.with_columns(copies=pl.lit(1, pl.Int64))


def external_scores(average_method: str, beta: float, *, adjusted: bool) -> Terms:
    """Return the scores of external_report, from the columns of external_statistics."""
    check_report_options(average_method, beta, adjusted=adjusted)
    return {
        **pair_scores(pl.col, float(beta)),
        **association_scores(pl.col),
        **adjusted_pair_scores(pl.col),
        **entropy_scores(pl.col),
        **information_scores(pl.col, average_method, float(beta), adjusted=adjusted),
        **matching_scores(pl.col, float(beta)),
    }


def need_expectation(scores: Terms) -> bool:
    """Return whether any of `scores` needs the expected mutual information."""
    return any({*_EXPECTED_STATISTICS} & {*term.meta.root_names()} for term in scores.values())


def score_partitions(
    table: ContingencyTable, scores: Terms, *, adjusted: bool, labels: pl.LazyFrame | None = None
) -> pl.LazyFrame:
    """Return the rows of external_statistics for `table`, with a column for each of `scores`.

    `adjusted` must be True if any score needs the expected mutual information. The scores of a
    partition without rows are NULL.
    """
    has_rows = pl.col("total") > 0
    terms = {name: pl.when(has_rows).then(score) for name, score in scores.items()}
    return external_statistics(table, adjusted=adjusted, labels=labels).with_columns(**terms)


def check_report_options(average_method: str, beta: float, *, adjusted: bool) -> None:
    """Raise an error if one of these options of external_report is invalid."""
    check_choice("average_method", average_method, NORMALIZED_AVERAGES)
    if average_method == "joint" and adjusted:
        raise ClusterEvalError(
            "average_method 'joint' has no adjusted form: use ",
            Setting("adjusted", False),
            ", or another average",
        )
    check_beta(beta)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("labels", guide="external", is_portable=True)
def external_report(
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
    """All external metrics for one or many clusterings, computed in one pass over the rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to evaluate. A LazyFrame is streamed when you collect the result.
    label, cluster : str or Expr
        True class and assigned cluster. Any type that can be grouped is allowed. Rows with a NULL
        label or cluster are left out.
    weight : str or Expr, optional
        How many times each row counts, as an integer >= 0. The weights are checked before anything
        else is computed.
    partition_by : str, Expr or sequence of these, optional
        Columns that define the groups to evaluate separately. NULL is also a group.
    noise : object, optional
        The value that marks noise in the cluster column.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        How the entropies are averaged in the normalized and adjusted mutual information. 'joint'
        applies only to the normalized mutual information, and requires adjusted=False.
    beta : float
        Weight of recall in pair_f_score and bcubed_f_score, and of completeness in v_measure_score.
        The weight must be at least 0.
    adjusted : bool
        Pass False to leave out adjusted_mutual_info_score and expected_mutual_info, the two slowest
        metrics.
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted by partition. The columns are the
        partition columns, n, n_dropped, n_noise, n_labels, n_clusters and one column per metric. n
        is the number of rows that are counted, n_dropped is the number of rows with a NULL label or
        cluster, and n_noise is the number of noise rows. Each metric's column has the same name as
        its expression. The value is NULL if the metric is undefined. If there are no rows, n is 0
        and every metric is NULL. With partition_by, the result is empty if there are no rows.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, if a weight is not a whole number >= 0, if
        noise does not have the type of cluster, or if an option is invalid.

    Notes
    -----
    In SQL: ``FROM clustereval.external_report(tbl, label, cluster)``.

    Examples
    --------
    You can evaluate two clusterings in one call:

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
    scores: Terms = external_scores(average_method, beta, adjusted=adjusted)
    results = (*ROW_COUNTS, *scores)
    if metrics is not None:
        asked = check_metrics(metrics, ("n", *ROW_COUNTS[1:], *scores))
        scores = {name: score for name, score in scores.items() if name in asked}
    options = pass_arguments_to(LabelOptions)
    table = read_contingency_table(frame, label, cluster, options, results).cache_groups()
    report = score_partitions(table, scores, adjusted=need_expectation(scores)).select(
        *table.keys, pl.col("total").alias("n"), *ROW_COUNTS[1:], *scores
    )
    return table.to_user_frame(frame, table.sort_by_partition(report), metrics)


@table_function("labels", guide="external", order=("cluster",), is_portable=True)
def external_cluster_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Size, majority label, purity and entropy of each cluster.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The columns are
        the partition columns, cluster, n, n_labels, majority_label, majority_n, purity, entropy and
        joined_pairs. n is the number of rows in the cluster. majority_label is the most frequent
        label in the cluster (the lowest label in a tie), and majority_n is the number of rows in
        the cluster with that label. purity is majority_n / n. entropy is the entropy of the labels
        in the cluster, in nats. joined_pairs is the number of pairs of rows in the cluster that
        have different labels. With noise_as 'singletons', a single row represents all singletons.
        In that row, cluster is NULL and n is 1.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report.

    Notes
    -----
    In SQL: ``FROM clustereval.external_cluster_report(tbl, label, cluster)``.

    Examples
    --------
    One cluster has rows with two labels:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> clusters = ce.external_cluster_report(six, "label", "cluster")
    >>> clusters.filter(pl.col("purity") < 1).select("cluster", "n", "n_labels", "purity").rows()
    [(1, 2, 2, 0.5)]
    """
    results = (
        "cluster",
        "n",
        "n_labels",
        "majority_label",
        "majority_n",
        "purity",
        "entropy",
        "joined_pairs",
    )
    table = read_contingency_table(frame, label, cluster, pass_arguments_to(LabelOptions), results)
    clusters = describe_side(table, table.cluster_sizes, "cluster", "label")
    names = dict(zip(SIDE_COLUMNS, results[1:], strict=True))
    return table.to_user_frame(frame, clusters.rename(names))


@table_function("labels", guide="external", order=("label",), is_portable=True)
def external_label_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Size, majority cluster, recall and entropy of each label.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per label, sorted by partition and label. The columns are the
        partition columns, label, n, n_clusters, majority_cluster, majority_n, recall, entropy and
        split_pairs. n is the number of rows with the label. majority_cluster is the most frequent
        cluster of these rows (the lowest cluster in a tie), and majority_n is the number of rows
        with the label in that cluster. recall is majority_n / n. entropy is the entropy of the
        clusters of these rows, in nats. split_pairs is the number of pairs of rows with the label
        that are in different clusters.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report.

    Notes
    -----
    In SQL: ``FROM clustereval.external_label_report(tbl, label, cluster)``.

    Examples
    --------
    Each label is split into two clusters, which separates two of its three pairs:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> labels = ce.external_label_report(six, "label", "cluster")
    >>> labels.select("label", "n_clusters", "majority_cluster", "split_pairs").rows()
    [('a', 2, 0, Decimal('2')), ('b', 2, 2, Decimal('2'))]
    """
    results = (
        "label",
        "n",
        "n_clusters",
        "majority_cluster",
        "majority_n",
        "recall",
        "entropy",
        "split_pairs",
    )
    table = read_contingency_table(frame, label, cluster, pass_arguments_to(LabelOptions), results)
    labels = describe_side(table, table.label_sizes, "label", "cluster")
    names = dict(zip(SIDE_COLUMNS, results[1:], strict=True))
    return table.to_user_frame(frame, labels.rename(names))


SIDE_COLUMNS = ("size", "n_cells", "majority", "majority_n", "share", "entropy", "divided_pairs")


def describe_side(
    table: ContingencyTable, sizes: pl.LazyFrame, side: str, other: str
) -> pl.LazyFrame:
    """Return one row per label or cluster, with the partition columns, `side` and SIDE_COLUMNS.

    `side` is the column that the rows describe ('label' or 'cluster'), `other` is the remaining
    column, and `sizes` is table.label_sizes or table.cluster_sizes. n_cells is the number of
    different values of `other`, majority is the most frequent of them, and majority_n is its number
    of rows. share is majority_n / size. entropy is the entropy of the values of `other`, in nats.
    divided_pairs is the number of pairs of rows with different values of `other`.
    """
    by, n, size = [*table.keys, side], pl.col("n"), pl.col("size")
    sizes = sizes.select(*by, "n_cells", size=f"{side}_size", majority_n=f"{side}_majority_n")
    cells = join_small(table.cells, by, sizes)
    # The largest cell comes first; among equal cells, the cell with the lowest value.
    descending = [name == "n" for name in (*by, "n", other)]
    cells = cells.sort(*by, "n", other, descending=descending, nulls_last=True)
    entropy = pl.col("copies") * ratio(n, size) * log_ratio(size, n)
    rows = cells.group_by(by, maintain_order=True).agg(
        pl.col("size", "n_cells", "majority_n").first(),
        pl.col(other).first().alias("majority"),
        entropy.sum().alias("entropy"),
        count_pairs(n).sum().alias("undivided_pairs"),
    )
    divided_pairs = count_pairs(size) - pl.col("undivided_pairs")
    return rows.select(
        *by,
        "size",
        "n_cells",
        # All singletons share one row, which has no majority label.
        pl.when(pl.col(side).is_not_null()).then("majority").alias("majority"),
        "majority_n",
        ratio(pl.col("majority_n"), size).alias("share"),
        "entropy",
        divided_pairs.cast(pl.Decimal(38, 0)).alias("divided_pairs"),
    )


@table_function("records", guide="external", order=("id",), is_portable=True)
def bcubed_samples(
    frame: Frame,
    label: Column,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """B-cubed precision and recall of each row.

    Parameters
    ----------
    id : str or Expr, optional
        Identifier of each row. By default, the identifier is the row number in the frame, starting
        at 0. If several sources use the same ids, pass a struct of source and id.
    frame, label, cluster, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per scored row, sorted by partition and id. The columns are
        the partition columns, id, label, cluster, bcubed_precision and bcubed_recall.
        bcubed_precision is the share of the rows in the same cluster that have the same label.
        bcubed_recall is the share of the rows with the same label that are in the same cluster. The
        means of these two columns are the scores bcubed_precision and bcubed_recall of
        external_report. For a noise row that counts as a singleton, cluster is NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report. This error is also raised when the result is
        collected if an id has several rows.

    Notes
    -----
    In SQL: ``FROM clustereval.bcubed_samples(tbl, label, cluster, id)``.

    References
    ----------
    Bagga and Baldwin (1998), Algorithms for scoring coreference chains.

    Examples
    --------
    Two rows share their cluster with a row that has another label:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> samples = ce.bcubed_samples(six, "label", "cluster")
    >>> samples.filter(pl.col("bcubed_precision") < 1).select("id", "label", "cluster").rows()
    [(2, 'a', 1), (3, 'b', 1)]
    """
    options = pass_arguments_to(LabelOptions)
    results = ("id", "label", "cluster", "bcubed_precision", "bcubed_recall")
    rows, keys = size_records(frame, label, cluster, id, options, results)
    n = pl.col("n")
    samples = rows.select(
        *keys,
        *results[:3],
        ratio(n, pl.col("cluster_size")).alias("bcubed_precision"),
        ratio(n, pl.col("label_size")).alias("bcubed_recall"),
    )
    return to_user_frame(frame, samples.sort(*keys, "id", nulls_last=True), keys)


def size_records(
    frame: pl.DataFrame | pl.LazyFrame,
    label: Column,
    cluster: Column,
    record: Column | None,
    options: LabelOptions,
    results: Sequence[str],
    *,
    count_unlabeled: bool = False,
) -> tuple[pl.LazyFrame, dict[str, str]]:
    """Return the counted rows of `frame` with the sizes of their groups, and the partition keys.

    The columns of the rows are the partition columns, id, label, cluster, label_size, cluster_size
    and n, the size of the cell. For a noise row that counts as a singleton, cluster is NULL. If
    `record` is None, id is the row number. If `count_unlabeled` is True, rows without a label are
    included in cluster_size.
    """
    names = {"label": label, "cluster": cluster} | ({} if record is None else {"id": record})
    lazy, keys, columns = check_columns(frame, names, options, results)
    rows = lazy.select(columns)
    rows = rows.with_row_index("id").cast({"id": pl.Int64}) if record is None else rows
    noisy = is_noise(rows, options.noise)
    rows = rows.drop_nulls(["cluster"] if count_unlabeled else ["label", "cluster"])
    if record is not None:
        repeated = (
            rows.drop_nulls("id").group_by(*keys, "id").agg(n=pl.len()).filter(pl.col("n") > 1)
        )
        rows = raise_on_collect(rows, repeated.select("id").sort("id").head(1), _check_record_ids)
    if options.noise_as == "drop":
        rows = rows.filter(~noisy)
    singleton = noisy if options.noise_as == "singletons" else pl.lit(False)
    n, label_size, cluster_size = (
        pl.col("one").sum().over(*keys, *names)
        for names in (("label", "cluster"), ("label",), ("cluster",))
    )
    one_if_singleton = pl.when(singleton).then(1)
    sized = rows.with_columns(one=pl.lit(1, pl.Int64)).select(
        *keys,
        "id",
        "label",
        pl.when(~singleton).then("cluster").alias("cluster"),
        label_size.alias("label_size"),
        one_if_singleton.otherwise(cluster_size).alias("cluster_size"),
        one_if_singleton.otherwise(n).alias("n"),
    )
    return sized.drop_nulls("label") if count_unlabeled else sized, keys


def _check_record_ids(repeated: pl.DataFrame) -> None:
    """Raise an error if `repeated` has a row, with an id that has several rows in a partition."""
    if repeated.height:
        raise ClusterEvalError(
            "id: expected one row per id, got several rows of id "
            f"{show_value(repeated.item())}{REPEATED_ID_ADVICE}"
        )
