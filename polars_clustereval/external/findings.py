"""Findings about a clustering with labels, in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.exact import count_as_text, count_pairs, widen
from polars_clustereval.base.findings import (
    PROBLEM_SHARE,
    UNDIVIDED_SHARE,
    are_many,
    findings_on_sizes,
    make_finding,
    percent_below,
    problem_if,
    sort_findings,
)
from polars_clustereval.base.frames import join_partitions, join_small
from polars_clustereval.base.tables import table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .contingency import LabelOptions, read_contingency_table
from .report import describe_side

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .contingency import ContingencyTable


@table_function("labels", guide="findings")
def external_findings(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Findings about how well a clustering agrees with the labels, in words and numbers.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per finding. The rows are sorted by partition, severity (worst
        first) and size (largest first). The result has the partition columns and the following
        columns:

        - severity: 'problem', 'warning' or 'note'.
        - code: one of the codes below.
        - cluster, label: the cluster and the label that the finding is about, or NULL if there is
          none.
        - n: the number of rows that the finding is about.
        - value: the number on which the finding is based.
        - finding: the text of the finding.

        The codes are

        - dropped_rows: some rows have no label or no cluster. value is the share of these rows. A
          share of one half or more is a problem.
        - noise_rows: some rows are noise. value is the share of noise rows.
        - one_cluster: all rows are in one cluster.
        - giant_cluster: a cluster has more than 80 % of the rows. value is the share of rows in
          this cluster.
        - mixed_cluster: fewer than 80 % of the rows in a cluster have its most frequent label,
          which is in the column label. value is the purity of the cluster. It is a problem if its
          purity is below one half and all such clusters have at least 5 % of the rows outside their
          majorities, or if its pairs of different labels are more than a quarter of the pairs in
          all clusters.
        - split_label: fewer than 80 % of the rows with a label are in its most frequent cluster,
          which is in the column cluster. value is the recall of the label. It is a problem under
          the same conditions, unless there are more clusters than labels.

        If there are no findings, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report.

    Notes
    -----
    The limits are conventions, not statistical tests. If you prefer other limits, apply them to the
    column value. In SQL: ``FROM clustereval.external_findings(tbl, label, cluster)``.

    Examples
    --------
    Half of the rows of cluster 1 have another label:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> findings = ce.external_findings(six, "label", "cluster")
    >>> findings.select("code", "cluster", "label", "finding").row(0)
    ('mixed_cluster', 1, 'a', "50 % of the cluster's 2 rows have its most frequent label")
    """
    results = ("severity", "code", "cluster", "label", "n", "value", "finding")
    options = LabelOptions(weight=weight, partition_by=partition_by, noise=noise, noise_as=noise_as)
    table = read_contingency_table(frame, label, cluster, options, results).cache_groups()
    keys = list(table.keys)
    row_counts = _rows_of_partitions(table, noise_as)
    findings = findings_on_sizes(
        row_counts,
        table.cluster_sizes,
        keys,
        unit="row",
        complement="label",
    )
    findings += [
        _find_divided(
            table,
            row_counts,
            "cluster",
            "label",
            5,
            "mixed_cluster",
            "have its most frequent label",
        ),
        _find_divided(
            table,
            row_counts,
            "label",
            "cluster",
            6,
            "split_label",
            "are in the cluster that has the most",
        ),
    ]
    ordered = sort_findings(findings, keys, ("cluster", "label"))
    return show_whole_texts(table.to_user_frame(frame, ordered.select(*keys, *results)))


def _rows_of_partitions(table: ContingencyTable, noise_as: str | None) -> pl.LazyFrame:
    """Return one row per partition: its row counts, n_clusters, n_labels, pairs and total_noise.

    cluster_pairs and label_pairs are the numbers of pairs with the same cluster or label.
    """
    keys = list(table.keys)
    terms = {
        "n_clusters": pl.col("copies"),
        "cluster_pairs": count_pairs(pl.col("cluster_size")) * pl.col("copies"),
    }
    counts = table.sum_by_partition(table.cluster_sizes, terms)
    terms = {"n_labels": pl.col("copies"), "label_pairs": count_pairs(pl.col("label_size"))}
    labels = table.sum_by_partition(table.label_sizes, terms)
    dropped = pl.col("n_noise") if noise_as == "drop" else pl.lit(0)
    counted = join_partitions(table.row_counts, keys, counts, labels, how="left")
    return counted.with_columns(
        pl.col("n_clusters").fill_null(0), total_noise=pl.col("total") + dropped
    )


def _find_divided(
    table: ContingencyTable,
    row_counts: pl.LazyFrame,
    side: str,
    other: str,
    place: int,
    code: str,
    words: str,
) -> pl.LazyFrame:
    """Return one finding for each cluster with mixed labels, or for each label that is split.

    `side` is the column to report on, 'cluster' or 'label', and `other` is the other column.
    `place` and `code` are passed to make_finding. `words` is the end of the finding's text, which
    begins with the share of the largest part.
    """
    keys, by = list(table.keys), [*table.keys, side]
    sizes = getattr(table, f"{side}_sizes")
    is_divided = pl.col(f"{side}_majority_n") / pl.col(f"{side}_size") < UNDIVIDED_SHARE
    chosen = sizes.filter(is_divided & pl.col(side).is_not_null()).select(by)
    divided = join_small(describe_side(table, sizes, side, other), by, chosen)
    share, n = pl.col("share"), pl.col("size")
    # The rows outside the majorities of all whose share is a problem.
    n_outside = pl.when(share < PROBLEM_SHARE).then(n - pl.col("majority_n")).otherwise(0).sum()
    partition = [pl.col(name) for name in keys] or [pl.lit(0)]
    divided = divided.with_columns(n_outside=n_outside.over(partition))
    divided = join_partitions(divided, keys, row_counts)
    is_problem = (share < PROBLEM_SHARE) & are_many(pl.col("n_outside"), pl.col("total"))
    is_problem |= 4 * widen(pl.col("divided_pairs")) > pl.col(f"{side}_pairs")
    if side == "label":
        # With more clusters than labels, some labels have to be split.
        is_problem &= pl.col("n_clusters") <= pl.col("n_labels")
    problem, usual = (percent_below(share, most) for most in (PROBLEM_SHARE, UNDIVIDED_SHARE))
    percent = pl.when(share < PROBLEM_SHARE).then(problem).otherwise(usual)
    text = pl.format(f"{{}} of the {side}'s {{}} {words}", percent, count_as_text(n, "row"))
    columns = {side: pl.col(side), other: pl.col("majority")}
    return make_finding(
        divided,
        keys,
        place,
        code,
        severity=problem_if(is_problem),
        n=n,
        value=share,
        finding=text,
        **columns,
    )
