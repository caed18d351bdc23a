"""A summary of a clustering without labels, based on cluster sizes and the names in clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import check_weight
from polars_clustereval.base.exact import (
    PLACES_OF_SHARES,
    from_fixed_point,
    log_ratio,
    ratio,
    to_double,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions, join_small
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .contingency import ContingencyTable, LabelOptions, check_columns, flag_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs


@table_function("one clustering", guide="cluster_errors")
def clustering_summary(
    frame: Frame,
    cluster: Column,
    name: Column | None = None,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Statistics of cluster sizes and names, for comparing clusterings without known labels.

    If the statistics differ greatly from those of the previous clustering, or from what you know
    about the entities, something is probably wrong with the clustering. None of the statistics has
    a best value.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The records. A LazyFrame is read as a stream when you collect the result.
    cluster : str or Expr
        The assigned cluster. Any type that can be grouped is allowed. Rows with a NULL cluster
        are left out.
    name : str or Expr, optional
        The name of each record. Any type that can be grouped is allowed. Rows with a NULL name
        are still counted as rows.
    weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted by partition. The result has the
        partition columns and the following columns:

        - n: the number of rows that are counted.
        - n_dropped: the number of rows with a NULL cluster.
        - n_noise: the number of noise rows.
        - n_clusters: the number of clusters.
        - matching_rate: the share of rows in clusters with more than one row, from 0 to 1.
        - average_cluster_size: n / n_clusters, at least 1.
        - largest_cluster_size: the number of rows in the largest cluster.
        - largest_cluster_share: largest_cluster_size / n, from 1 / n_clusters to 1.
        - hill_number_0, hill_number_1, hill_number_2, hill_number_inf: the Hill numbers of the
          distribution of cluster sizes. If p_i is the share of clusters that have i rows, the four
          Hill numbers are the number of different sizes, exp(-sum of p_i ln p_i), 1 / (sum of
          p_i^2) and 1 / (max of p_i). Each Hill number ranges from 1, if all clusters have the same
          size, to the number of different sizes.
        - homonymy_rate: the share of named clusters that have a name in common with another
          cluster, from 0 to 1.
        - name_variation_rate: the share of clusters with more than one name, from 0 to 1.

        homonymy_rate and name_variation_rate are NULL if you do not pass `name`, and in partitions
        without any names. If there are no rows, n is 0 and every measure is NULL, unless you pass
        partition_by, in which case the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as in external_report.

    Notes
    -----
    In SQL: ``FROM clustereval.clustering_summary(tbl, cluster, name := name)``.

    References
    ----------
    Hill (1973), Diversity and evenness: a unifying notation and its consequences,
    doi:10.2307/1934352. Binette, Baek, Engineer, Jones, Dasylva and Reiter (2024), How to evaluate
    entity resolution systems: an entity-centric framework, doi:10.48550/arXiv.2404.05622.

    Examples
    --------
    Two of the three clusters share the name Ann, and one of them has two names:

    >>> people = pl.DataFrame(
    ...     {"name": ["Ann", "Anne", "Ann", "Bob", "Bob"], "cluster": [0, 0, 1, 2, 2]}
    ... )
    >>> summary = ce.clustering_summary(people, "cluster", "name")
    >>> summary.select("matching_rate", "homonymy_rate", "name_variation_rate").row(0)
    (0.8, 0.6666666666666666, 0.3333333333333333)
    """
    measures: Terms = _measures()
    results = ("n", "n_dropped", "n_noise", "n_clusters", *measures)
    options = pass_arguments_to(LabelOptions)
    table = read_names(frame, cluster, name, options, results).cache_groups()
    statistics = [_size_statistics(table)]
    if name is not None:
        statistics += [_name_statistics(table)]
    # A partition without any cluster, or without any name, has no row of statistics.
    summary = join_partitions(table.row_counts, list(table.keys), *statistics, how="left")
    if name is None:
        unknown = pl.lit(None, pl.Int64)
        summary = summary.with_columns(named=unknown, homonyms=unknown, varied=unknown)
    report = summary.select(
        *table.keys,
        pl.col("total").alias("n"),
        "n_dropped",
        "n_noise",
        pl.col("n_clusters").fill_null(0),
        **measures,
    )
    return table.to_user_frame(frame, table.sort_by_partition(report))


def read_names(
    frame: pl.DataFrame | pl.LazyFrame,
    cluster: Column,
    name: Column | None,
    options: LabelOptions,
    results: Sequence[str],
) -> ContingencyTable:
    """Check the user's arguments, and count the rows of `frame` by partition, name and cluster.

    In the result, each label is a struct that contains a name. The struct is not NULL even if the
    name is NULL, so that rows without a name are counted. Without `name`, all labels are the same.
    """
    given = {"cluster": cluster} | ({} if name is None else {"name": name})
    lazy, keys, columns = check_columns(frame, given, options, results)
    rows = lazy.select(*columns, check_weight(lazy, options.weight, keys).alias("n"))
    counts = rows.group_by(*keys, *given).agg(pl.col("n").sum())
    names = pl.struct(pl.lit(None).alias("name")) if name is None else pl.struct("name")
    groups = counts.with_columns(label=names)
    return ContingencyTable(flag_groups(groups, options), keys)


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _size_statistics(table: ContingencyTable) -> pl.LazyFrame:
    """Return one row per partition of `table`, with n_clusters and sums over the cluster sizes.

    matched is the number of rows in clusters with more than one row, and largest is that of the
    largest cluster. same_size_pairs is the number of ordered pairs of clusters with the same size,
    including pairs of a cluster with itself. most_of_size is the number of clusters with the most
    frequent size. fixed_entropy is the entropy of the cluster sizes in fixed point.
    """
    keys, size, copies = list(table.keys), pl.col("cluster_size"), pl.col("copies")
    counts = table.cluster_sizes.group_by(*keys, "cluster_size").agg(copies.sum()).cache()
    totals = aggregate_by(counts, keys, {"n_clusters": copies.sum()})
    n_clusters = pl.col("n_clusters")
    entropy = ratio(copies, n_clusters) * log_ratio(n_clusters, copies)
    terms = {
        "matched": (size * copies).filter(size > 1).sum(),
        "largest": size.max(),
        "n_sizes": pl.col("cluster_size").count().cast(pl.Int64),
        "same_size_pairs": (widen(copies) * widen(copies)).sum(),
        "most_of_size": copies.max(),
        "fixed_entropy": to_fixed_point(entropy, PLACES_OF_SHARES).sum(),
    }
    by = [*keys, "n_clusters"]
    sized = table.join_partitions(counts, totals)
    return sized.group_by(by).agg(**terms) if keys else sized.select(n_clusters.max(), **terms)


def _name_statistics(table: ContingencyTable) -> pl.LazyFrame:
    """Return one row per partition of `table` with cluster counts: named, homonyms and varied.

    homonyms is the number of clusters that share a name with another cluster, and varied is the
    number of clusters that have more than one name.
    """
    keys, copies = list(table.keys), pl.col("copies")
    name = pl.col("label").struct.field("name")
    cells = table.cells.select(*keys, "cluster", "copies", name=name).drop_nulls("name").cache()
    names = cells.group_by(*keys, "name").agg(n_of_name=copies.sum())
    shared = (pl.col("n_of_name") > 1).cast(pl.Int64)
    cells = join_small(cells, [*keys, "name"], names).with_columns(shared=shared)
    # All singletons of a partition are in one group, whose cluster is NULL.
    clusters = cells.group_by(*keys, "cluster").agg(
        n_named=copies.sum(),
        n_shared=(pl.col("shared") * copies).sum(),
        is_shared=pl.col("shared").max(),
    )
    singletons, one = pl.col("cluster").is_null(), pl.lit(1, pl.Int64)
    terms = {
        "named": pl.when(singletons).then("n_named").otherwise(one).sum(),
        "homonyms": pl.when(singletons).then("n_shared").otherwise("is_shared").sum(),
        "varied": (~singletons & (pl.col("n_named") > 1)).cast(pl.Int64).sum(),
    }
    return aggregate_by(clusters, keys, terms)


def _measures() -> Terms:
    """Return the measures of cluster sizes and of names, from a partition's statistics."""
    total, n_clusters = pl.col("total"), pl.col("n_clusters")
    has_rows, entropy = total > 0, from_fixed_point(pl.col("fixed_entropy"), PLACES_OF_SHARES)
    squared = widen(n_clusters) * widen(n_clusters)
    return {
        "matching_rate": ratio(pl.col("matched"), total),
        "average_cluster_size": ratio(total, n_clusters),
        "largest_cluster_size": pl.col("largest"),
        "largest_cluster_share": ratio(pl.col("largest"), total),
        "hill_number_0": pl.when(has_rows).then(to_double(pl.col("n_sizes"))),
        "hill_number_1": pl.when(has_rows).then(entropy.exp()),
        "hill_number_2": ratio(squared, pl.col("same_size_pairs")),
        "hill_number_inf": ratio(n_clusters, pl.col("most_of_size")),
        "homonymy_rate": ratio(pl.col("homonyms"), pl.col("named")),
        "name_variation_rate": pl.when(pl.col("named") > 0).then(
            ratio(pl.col("varied"), n_clusters)
        ),
    }
