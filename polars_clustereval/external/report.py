"""report: every external metric at once, and the reports by cluster and by label."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs, check_beta, check_choice
from polars_clustereval.base.exact import count_pairs, log_ratio, ratio
from polars_clustereval.base.frames import Terms, add_stages, join_small
from polars_clustereval.errors import ClusterEvalError

from .association import association_scores
from .contingency import (
    ROW_COUNTS,
    ContingencyTable,
    cell_pair_terms,
    cluster_pair_terms,
    label_pair_terms,
    pair_count_terms,
    read_contingency_table,
)
from .expected_information import expected_entropy_terms, expected_totals
from .information import (
    NORMALIZED_AVERAGES,
    NormalizedMethod,
    cell_information_terms,
    cell_moments,
    information_scores,
    information_terms,
)
from .pair_counting import adjusted_pair_scores, cell_links, pair_scores, pair_share_terms
from .set_matching import (
    cell_matching_terms,
    cluster_matching_terms,
    label_matching_terms,
    match_score,
    matching_scores,
)

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _check_report_options(average_method: str, beta: float, *, adjusted: bool) -> None:
    check_choice("average_method", average_method, NORMALIZED_AVERAGES)
    if average_method == "joint" and adjusted:
        raise ClusterEvalError(
            "average_method 'joint' has no adjusted form: use adjusted := false, or another average"
        )
    check_beta(beta)


def _external_scores(average_method: str, beta: float, *, adjusted: bool) -> Terms:
    return {
        **pair_scores(pl.col, beta),
        **association_scores(pl.col),
        **adjusted_pair_scores(pl.col),
        **information_scores(pl.col, average_method, beta, adjusted=adjusted),
        **matching_scores(pl.col, beta),
    }


def _external_statistics(table: ContingencyTable, *, adjusted: bool) -> pl.LazyFrame:
    """One row a partition: all that the scores are made from."""
    totals = table.joined(
        table.row_counts,
        table.summed(add_stages(table.sized, cell_moments), _all_cell_terms()),
        table.summed(_labels_with_best_match(table), _all_label_terms()),
        table.summed(table.clusters, _all_cluster_terms()),
        *([expected_totals(table)] if adjusted else []),
    )
    stages = [
        pair_count_terms,
        pair_share_terms,
        information_terms,
        *([expected_entropy_terms] if adjusted else []),
    ]
    return add_stages(totals, *stages)


def _labels_with_best_match(table: ContingencyTable) -> pl.LazyFrame:
    matches = table.sized.select(*table.keys, "label", match=match_score(pl.col))
    best = matches.group_by(*table.keys, "label").agg(best_match=pl.col("match").max())
    return table.labels.join(best, on=[*table.keys, "label"], nulls_equal=True)


def _all_cell_terms() -> Terms:
    return {
        **cell_pair_terms(pl.col),
        "linked": cell_links(pl.col),
        **cell_information_terms(pl.col),
        **cell_matching_terms(pl.col),
    }


def _all_label_terms() -> Terms:
    return {**label_pair_terms(pl.col), **label_matching_terms(pl.col)}


def _all_cluster_terms() -> Terms:
    return {**cluster_pair_terms(pl.col), **cluster_matching_terms(pl.col)}


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


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
    _check_report_options(average_method, beta, adjusted=adjusted)
    scores: Terms = _external_scores(average_method, float(beta), adjusted=adjusted)
    results = (*ROW_COUNTS, *scores)
    table = read_contingency_table(
        frame, label, cluster, weight, partition_by, noise, noise_as, results
    ).shared()
    some = pl.col("total") > 0
    report = _external_statistics(table, adjusted=adjusted).select(
        *table.keys,
        pl.col("total").alias("n"),
        *ROW_COUNTS[1:],
        *(pl.when(some).then(score).alias(name) for name, score in scores.items()),
    )
    return table.result(frame, table.sorted(report))


def external_cluster_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
) -> Frame:
    """Describe each cluster by the labels it holds.

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

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition and cluster: the partition columns,
        cluster, n rows, n_labels, majority_label (of equals the lowest), majority_n rows with
        it, purity = majority_n / n, entropy of its labels in nats, and joined_pairs, its pairs
        of rows of different labels. With noise_as 'singletons' one row with cluster NULL and n
        1 stands for all of them.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is no whole number >= 0, noise has
        no value in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.external_cluster_report(tbl, label, cluster)``.

    Examples
    --------
    The cluster that joins what does not belong together:

    >>> import polars as pl
    >>> import polars_clustereval as ce
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
    table = read_contingency_table(
        frame, label, cluster, weight, partition_by, noise, noise_as, results
    )
    rows = _describe_side(table, table.clusters.rename({"b": "size"}), "cluster", "label")
    return table.result(frame, rows.rename(dict(zip(_SIDE_COLUMNS, results[1:], strict=True))))


def external_label_report(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
) -> Frame:
    """Describe each label by the clusters it lies in.

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

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition and label: the partition columns, label, n
        rows, n_clusters, majority_cluster (of equals the lowest), majority_n rows in it, recall
        = majority_n / n, entropy of its clusters in nats, and split_pairs, its pairs of rows in
        different clusters.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, a weight is no whole number >= 0, noise has
        no value in the type of cluster, or an option is unknown.

    Notes
    -----
    In SQL: ``FROM clustereval.external_label_report(tbl, label, cluster)``.

    Examples
    --------
    Each label lies in two clusters, which split two of its three pairs:

    >>> import polars as pl
    >>> import polars_clustereval as ce
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
    table = read_contingency_table(
        frame, label, cluster, weight, partition_by, noise, noise_as, results
    )
    rows = _describe_side(table, table.labels.rename({"a": "size"}), "label", "cluster")
    return table.result(frame, rows.rename(dict(zip(_SIDE_COLUMNS, results[1:], strict=True))))


_SIDE_COLUMNS = ("size", "parts", "majority", "majority_n", "share", "entropy", "divided_pairs")


def _describe_side(
    table: ContingencyTable, sizes: pl.LazyFrame, side: str, other: str
) -> pl.LazyFrame:
    """One row for each value of one side: how the other side divides its rows."""
    by, n, size = [*table.keys, side], pl.col("n"), pl.col("size")
    sizes = sizes.select(*by, "size", "parts", majority_n=f"{side}_majority")
    cells = join_small(table.cells, by, sizes)
    # Its largest cell comes first, of equal ones that of the lowest value.
    descending = [name == "n" for name in (*by, "n", other)]
    cells = cells.sort(*by, "n", other, descending=descending, nulls_last=True)
    entropy = pl.col("copies") * ratio(n, size) * log_ratio(size, n)
    rows = cells.group_by(by, maintain_order=True).agg(
        pl.col("size", "parts", "majority_n").first(),
        pl.col(other).first().alias("majority"),
        entropy.sum().alias("entropy"),
        count_pairs(n).sum().alias("pairs"),
    )
    # All singletons share one row, so no label has the majority of it.
    return rows.select(
        *by,
        "size",
        "parts",
        pl.when(pl.col(side).is_not_null()).then("majority").alias("majority"),
        "majority_n",
        ratio(pl.col("majority_n"), size).alias("share"),
        "entropy",
        (count_pairs(size) - pl.col("pairs")).cast(pl.Decimal(38, 0)).alias("divided_pairs"),
    )
