"""Findings about a clustering without labels or points, based on the sizes of its clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.exact import (
    count_as_text,
    count_ordered_pairs,
    percent_as_text,
    ratio,
    to_double,
)
from polars_clustereval.base.findings import (
    GIANT_SHARE,
    findings_on_sizes,
    make_finding,
    mute_noise,
    name_subjects,
    sort_findings,
)
from polars_clustereval.base.frames import join_partitions
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .clustering_summary import read_names
from .contingency import LabelOptions

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .contingency import ContingencyTable


@table_function("one clustering", guide="findings")
def cluster_size_findings(
    frame: Frame,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Findings about the sizes of clusters, in words and numbers, without labels or vectors.

    Parameters
    ----------
    frame, cluster, weight, partition_by, noise, noise_as : as in clustering_summary

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per finding. The rows are sorted by partition, severity (worst
        first) and size (largest first). The result has the partition columns and the columns
        severity, code, cluster, n, value and finding, which are those of external_findings.

        The codes are

        - no_rows, unnamed_noise, unknown_noise, all_singletons, dropped_rows, noise_rows,
          one_cluster and giant_cluster, which have the same meaning as in external_findings.
        - outlying_cluster: a cluster is far larger than the sizes of the others let you expect, as
          if different entities were joined in it. value is its size divided by that of the largest
          cluster that is not outlying.

        A cluster is outlying if it is above a gap in the sorted sizes, with the following
        properties. The largest size below the gap is less than a tenth of the smallest one above
        it. At most a twentieth of the clusters are above the gap, and each of them has at least a
        tenth of all pairs of rows in the same cluster. And either the gap is wider than that of
        about one in 1,000 samples of heavy-tailed sizes (five with 20 clusters, because sizes are
        whole numbers), or the cluster has at least 30 % of the rows, although there are 10,000
        clusters or more. A cluster with more than 80 % of the rows is reported as giant_cluster.

        If there are no findings, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in clustering_summary.

    Notes
    -----
    The width of a gap is tested on the largest sizes x_1 >= x_2 >= ..., t of them, where t is the
    square root of the number of clusters, at least 11. If sizes have a Pareto tail, the spacings
    i ln(x_i / x_(i + 1)) are independent with the same exponential distribution, whose mean is the
    tail index (Hill's estimator). So the spacing at the gap divided by the mean of those below it
    has an F distribution, and sizes with light tails make the test conservative.
    In SQL: ``FROM clustereval.cluster_size_findings(tbl, cluster)``.

    References
    ----------
    Hill (1975), A simple general approach to inference about the tail of a distribution,
    doi:10.1214/aos/1176343247. Pisarenko and Sornette (2012), Robust statistical tests of
    Dragon-Kings beyond power law distributions, doi:10.1140/epjst/e2012-01574-8.

    Examples
    --------
    One of 41 clusters has a third of the rows:

    >>> sizes = [40, *[1, 2, 3, 2] * 10]
    >>> records = pl.DataFrame({"cluster": range(41), "n": sizes})
    >>> findings = ce.cluster_size_findings(records, "cluster", weight="n")
    >>> findings.select("code", "cluster", "n", "value").row(0)
    ('outlying_cluster', 0, 40, 13.333...)
    """
    results = ("severity", "code", "cluster", "n", "value", "finding")
    options = pass_arguments_to(LabelOptions)
    table = read_names(frame, cluster, None, options, results).cache_groups()
    keys, subjects = list(table.keys), ("cluster",)
    counts = _counts_with_pairs(table, noise_as)
    findings = findings_on_sizes(counts, table.cluster_sizes, keys, noise=noise, unit="row")
    findings.append(_find_outlying(table, counts))
    ordered = sort_findings(findings, keys, subjects)
    if noise is None:
        ordered = mute_noise(ordered, subjects)
    named = name_subjects(ordered, subjects)
    return show_whole_texts(table.to_user_frame(frame, named.select(*keys, *results)))


def _counts_with_pairs(table: ContingencyTable, noise_as: str | None) -> pl.LazyFrame:
    """Return one row per partition: its row counts, clusters and ordered pairs in clusters."""
    copies = pl.col("copies")
    terms = {
        "n_clusters": copies,
        "cluster_pairs": count_ordered_pairs(pl.col("cluster_size")) * copies,
    }
    sums = table.sum_by_partition(table.cluster_sizes, terms)
    dropped = pl.col("n_noise") if noise_as == "drop" else pl.lit(0)
    counts = table.add_totals(table.row_counts, sums)
    return counts.with_columns(total_noise=pl.col("total") + dropped).cache()


def _find_outlying(table: ContingencyTable, counts: pl.LazyFrame) -> pl.LazyFrame:
    """Return the findings about clusters above a gap in the sizes, see cluster_size_findings."""
    keys, size, next_size = list(table.keys), pl.col("cluster_size"), pl.col("next_size")
    share = ratio(size, pl.col("total"))
    named = table.cluster_sizes.filter(pl.col("cluster").is_not_null())
    found = join_partitions(named, keys, _outlying_gaps(table, counts))
    return make_finding(
        found.filter(size >= pl.col("least"), share <= GIANT_SHARE),
        keys,
        5,
        "outlying_cluster",
        severity="warning",
        cluster=pl.col("cluster"),
        n=size,
        value=ratio(size, next_size),
        finding=pl.format(
            "it has {} ({}), where {} clusters have at most {}: "
            "check that its rows belong together",
            count_as_text(size, "row"),
            percent_as_text(share),
            pl.col("n_clusters") - pl.col("n_above"),
            next_size,
        ),
    )


def _outlying_gaps(table: ContingencyTable, counts: pl.LazyFrame) -> pl.LazyFrame:
    """Return the gap in the sizes of each partition with outlying clusters, as a row.

    It is between the sizes least and next_size, with n_above clusters above it. There is only one,
    because a size that is a tenth of another has a hundredth of its pairs. The columns total and
    n_clusters are those of the partition.
    """
    keys, size, copies = list(table.keys), pl.col("cluster_size"), pl.col("copies")
    n_clusters, n_above, spacing = pl.col("n_clusters"), pl.col("n_above"), pl.col("spacing")
    partition = [pl.col(name) for name in keys] or [pl.lit(0)]

    def from_largest(term: pl.Expr) -> pl.Expr:
        return term.over(partition, order_by="cluster_size", descending=True)

    by_size = table.cluster_sizes.group_by(*keys, "cluster_size").agg(copies.sum())
    gaps = by_size.with_columns(
        next_size=from_largest(size.shift(-1)), n_above=from_largest(copies.cum_sum())
    )
    n_tail = pl.max_horizontal(n_clusters.cast(pl.Float64).sqrt().floor().cast(pl.Int64), 11)
    gaps = join_partitions(gaps, keys, counts.select(*keys, "total", "n_clusters", "cluster_pairs"))
    gaps = gaps.filter(pl.col("next_size").is_not_null(), n_above < n_tail).with_columns(
        spacing=to_double(n_above) * ratio(size, pl.col("next_size")).log()
    )
    rest = from_largest(spacing.cum_sum(reverse=True).shift(-1, fill_value=0.0))
    gaps = gaps.with_columns(rest=rest, n_after=n_tail - 1 - n_above)
    # P(F > x) = (1 + x / n)^-n for an F distribution with 2 and 2 n degrees of freedom.
    excess = pl.lit(1000.0).pow(1 / pl.col("n_after").cast(pl.Float64)) - 1
    is_wide = spacing >= pl.col("rest") * excess
    is_large = (10 * size >= 3 * pl.col("total")) & (n_clusters >= 10_000)
    found = gaps.filter(
        size > 10 * pl.col("next_size"),
        20 * n_above <= n_clusters,
        10 * count_ordered_pairs(size) >= pl.col("cluster_pairs"),
        is_wide | is_large,
    )
    return found.select(*keys, "total", "n_clusters", "n_above", "next_size", least=size)
