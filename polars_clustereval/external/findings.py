"""findings: what a reader should know of a clustering with labels, in words with their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.exact import count_as_text, percent_as_text, ratio
from polars_clustereval.base.frames import join_partitions, join_small
from polars_clustereval.base.tables import table_function

from .contingency import LabelOptions, read_contingency_table
from .report import describe_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .contingency import ContingencyTable

__all__ = ["external_findings", "findings_on_sizes", "make_finding", "sort_findings"]

#: The severities of findings, the worst first.
_SEVERITIES = ("problem", "warning", "note")


def make_finding(
    rows: pl.LazyFrame, keys: Sequence[str], place: int, code: str, **columns: pl.Expr | str
) -> pl.LazyFrame:
    """Return a finding for each of `rows`: the partition columns `keys`, and the columns of it.

    `place` is that of the code among findings of one severity. `columns` are severity, finding and
    others; a text is the same in all rows. n and value are NULL if they are not among them.
    """
    given: dict[str, pl.Expr] = {
        name: pl.lit(x) if isinstance(x, str) else x for name, x in columns.items()
    }
    unknown = {"n": pl.lit(None, pl.Int64), "value": pl.lit(None, pl.Float64)}
    terms = {"place": pl.lit(place, pl.Int32), "code": pl.lit(code), **unknown, **given}
    return rows.select(*keys, **terms).with_columns(pl.col("n").cast(pl.Int64))


def findings_on_sizes(
    row_counts: pl.LazyFrame,
    cluster_sizes: pl.LazyFrame,
    keys: Sequence[str],
    *,
    unit: str,
    complement: str,
) -> list[pl.LazyFrame]:
    """Return findings on the rows of each partition, and on the sizes of its clusters.

    `row_counts` has one row per partition with the partition columns `keys`, total, n_dropped,
    n_noise, n_clusters and total_noise, the rows that are counted or are noise; `cluster_sizes` has
    rows with `keys`, cluster and cluster_size. `unit` and `complement` are the words for a row and
    for what a dropped one lacks.
    """
    total, n_dropped, n_noise = pl.col("total"), pl.col("n_dropped"), pl.col("n_noise")
    n_clusters, size = pl.col("n_clusters"), pl.col("cluster_size")
    is_one = n_dropped == 1
    has, is_left = (
        pl.when(is_one).then(pl.lit(one)).otherwise(pl.lit(several))
        for one, several in (("has", "have"), ("is", "are"))
    )
    are_noise = pl.when(n_noise == 1).then(pl.lit("is")).otherwise(pl.lit("are"))
    share = ratio(size, total)
    sizes = join_partitions(
        cluster_sizes.filter(pl.col("cluster").is_not_null()), list(keys), row_counts
    )
    return [
        make_finding(
            row_counts.filter(n_dropped > 0),
            keys,
            1,
            "dropped_rows",
            severity=pl.when(n_dropped >= total).then(pl.lit("problem")).otherwise(pl.lit("note")),
            n=n_dropped,
            value=ratio(n_dropped, total + n_dropped),
            finding=pl.format(
                f"{{}} of {{}} {{}} no {complement} or no cluster, and {{}} left out",
                n_dropped,
                count_as_text(total + n_dropped, "row"),
                has,
                is_left,
            ),
        ),
        make_finding(
            row_counts.filter(n_noise > 0),
            keys,
            2,
            "noise_rows",
            severity="note",
            n=n_noise,
            value=ratio(n_noise, pl.col("total_noise")),
            finding=pl.format(
                "{} of {} {} noise",
                n_noise,
                count_as_text(pl.col("total_noise"), unit),
                are_noise,
            ),
        ),
        make_finding(
            row_counts.filter((n_clusters == 1) & (total > 1)),
            keys,
            3,
            "one_cluster",
            severity="problem",
            n=total,
            finding="there is one cluster: scores that compare clusters are not defined",
        ),
        make_finding(
            sizes.filter((n_clusters > 1) & (5 * size > 4 * total)),
            keys,
            4,
            "giant_cluster",
            severity="warning",
            cluster=pl.col("cluster"),
            n=size,
            value=share,
            finding=pl.format(
                f"it holds {{}} of the {unit}s: scores by {unit} or by pair say little of the "
                "other clusters",
                percent_as_text(share),
            ),
        ),
    ]


def sort_findings(
    findings: Sequence[pl.LazyFrame], keys: Sequence[str], subjects: Sequence[str]
) -> pl.LazyFrame:
    """Return the findings of all frames, sorted by partition, the worst first.

    `subjects` are the columns that say what a finding is about.
    """
    rows = pl.concat(findings, how="diagonal_relaxed")
    rank = pl.col("severity").replace_strict(_SEVERITIES, range(len(_SEVERITIES)))
    order = [*keys, "rank", "place", "n", *subjects]
    descending = [name == "n" for name in order]
    return rows.with_columns(rank=rank).sort(order, descending=descending, nulls_last=True)


@table_function("labels", guide="findings", order=("severity",))
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
    """What a reader should know of a clustering with labels, in words with their numbers.

    Parameters
    ----------
    frame, label, cluster, weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per finding, sorted by partition, the worst first, and the
        largest first: the partition columns, severity ('problem', 'warning' or 'note'), code,
        cluster and label (what it is about; NULL if it is about none), n rows, value (the number
        that it is from) and finding, the words. The codes are

        - dropped_rows: rows without a label or a cluster; value is their share. A problem from one
          half of all rows on.
        - noise_rows: rows of noise; value is their share.
        - one_cluster: all rows are in one cluster.
        - giant_cluster: a cluster of more than 80 % of the rows; value is its share.
        - mixed_cluster: a cluster whose most frequent label, label, has less than 80 % of its
          rows; value is the purity. A problem below one half.
        - split_label: a label of which less than 80 % of the rows are in one cluster, cluster;
          value is the recall. A problem below one half.

        Without a finding there is no row.

    Raises
    ------
    ClusterEvalError
        As for external_report.

    Notes
    -----
    The limits are conventions, not tests: value has the number to judge by another one.
    In SQL: ``FROM clustereval.external_findings(tbl, label, cluster)``.

    Examples
    --------
    Half of the rows of cluster 1 have another label:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> findings = ce.external_findings(six, "label", "cluster")
    >>> findings.select("code", "cluster", "label", "finding").row(0)
    ('mixed_cluster', 1, 'a', '50 % of its 2 rows have its most frequent label')
    """
    results = ("severity", "code", "cluster", "label", "n", "value", "finding")
    options = LabelOptions(weight=weight, partition_by=partition_by, noise=noise, noise_as=noise_as)
    table = read_contingency_table(frame, label, cluster, options, results).cache_groups()
    keys = list(table.keys)
    findings = findings_on_sizes(
        _count_rows(table, noise_as), table.cluster_sizes, keys, unit="row", complement="label"
    )
    findings += [
        _find_divided(
            table, "cluster", "label", 5, "mixed_cluster", "have its most frequent label"
        ),
        _find_divided(
            table, "label", "cluster", 6, "split_label", "are in the cluster that has the most"
        ),
    ]
    ordered = sort_findings(findings, keys, ("cluster", "label"))
    return table.to_user_frame(frame, ordered.select(*keys, *results))


def _count_rows(table: ContingencyTable, noise_as: str | None) -> pl.LazyFrame:
    """Return the row counts of partitions, with n_clusters and total_noise."""
    keys = list(table.keys)
    copies = {"n_clusters": pl.col("copies")}
    counts = table.sum_by_partition(table.cluster_sizes, copies)
    dropped = pl.col("n_noise") if noise_as == "drop" else pl.lit(0)
    counted = join_partitions(table.row_counts, keys, counts, how="left")
    return counted.with_columns(
        pl.col("n_clusters").fill_null(0), total_noise=pl.col("total") + dropped
    )


def _find_divided(
    table: ContingencyTable, side: str, other: str, place: int, code: str, words: str
) -> pl.LazyFrame:
    """Return a finding for each value of `side`, a cluster or label, with several of the other.

    `words` say of what its largest part is the share.
    """
    by = [*table.keys, side]
    sizes = getattr(table, f"{side}_sizes")
    size, majority_n = pl.col(f"{side}_size"), pl.col(f"{side}_majority_n")
    is_divided = (5 * majority_n < 4 * size) & pl.col(side).is_not_null()
    described = describe_side(table, sizes, side, other)
    divided = join_small(described, by, sizes.filter(is_divided).select(by))
    share, n = pl.col("share"), pl.col("size")
    severity = pl.when(share < 0.5).then(pl.lit("problem")).otherwise(pl.lit("warning"))
    text = pl.format(f"{{}} of its {{}} {words}", percent_as_text(share), count_as_text(n, "row"))
    columns = {side: pl.col(side), other: pl.col("majority")}
    return make_finding(
        divided,
        list(table.keys),
        place,
        code,
        severity=severity,
        n=n,
        value=share,
        finding=text,
        **columns,
    )
