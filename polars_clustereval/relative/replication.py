"""Measures of whether clustering another sample of the data yields the same clusters."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    check_column,
    check_frame,
    check_groupable,
    check_partition_keys,
    key_columns,
)
from polars_clustereval.base.exact import count_ordered_pairs, ratio, widen
from polars_clustereval.base.frames import (
    aggregate_by,
    join_partitions,
    join_small,
    sum_by,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.external.contingency import (
    ROW_COUNTS,
    ContingencyTable,
    LabelOptions,
    cell_pair_terms,
    cluster_pair_terms,
    label_pair_terms,
    read_contingency_table,
)

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def weakest_labels(table: ContingencyTable) -> pl.LazyFrame:
    """Return prediction_strength and weakest_label for each partition, or NULL if it has no pairs.

    The strength is the smallest share of a label's pairs of rows that are in the same cluster,
    among labels with at least two rows. The weakest label is the lowest one with this share.
    """
    keys, by = list(table.keys), [*table.keys, "label"]
    labels = table.label_sizes.filter(pl.col("label_size") > 1).select(*by, "label_size")
    shares = join_small(labels, by, sum_by(table.cells, by, cell_pair_terms(pl.col)))
    share = ratio(pl.col("cell_pairs"), count_ordered_pairs(pl.col("label_size")))
    shares = shares.select(*by, share=share).cache()
    least = aggregate_by(shares, keys, {"prediction_strength": pl.col("share").min()})
    weakest = join_partitions(shares, keys, least).filter(
        pl.col("share") == pl.col("prediction_strength")
    )
    first = pl.col("label").sort(nulls_last=True).first()
    named = aggregate_by(weakest, keys, {"weakest_label": first})
    return join_partitions(least, keys, named, how="left")


def _clustering_distances(table: ContingencyTable) -> pl.LazyFrame:
    """Return the distance and the number of rows (total) of each resample, a partition of `table`.

    The distance is the share of pairs that are together in one clustering and apart in the other.
    The pairs are all ordered pairs of the resample's rows, including the pairs of a row with
    itself.
    """
    totals = table.add_totals(
        table.row_counts,
        table.sum_by_partition(table.cells, cell_pair_terms(pl.col)),
        table.sum_by_partition(table.label_sizes, label_pair_terms(pl.col)),
        table.sum_by_partition(table.cluster_sizes, cluster_pair_terms(pl.col)),
    )
    total = widen(pl.col("total"))
    apart = pl.col("label_pairs") + pl.col("cluster_pairs") - 2 * pl.col("cell_pairs")
    return totals.select(*table.keys, "total", distance=ratio(apart, total * total))


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("replication", guide="held_out")
def prediction_strength(
    frame: Frame,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
) -> Frame:
    """Prediction strength: the smallest share of a test cluster's pairs confirmed by training data.

    For each cluster of the test data (label), compute the share of its pairs of rows that the
    clustering learned from the training data (cluster) also puts together. The prediction strength
    is the smallest of these shares. Prediction strengths range from 0 to 1, and 1 is best. The
    recommended number of clusters is the largest number with a prediction strength of at least 0.8.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows of the test data. A LazyFrame is streamed when you collect the result.
    label, cluster : str or Expr
        The row's cluster in the clustering of the test data, and the cluster of the nearest
        centroid learned from the training data. Label and cluster can have any groupable type. Rows
        with a NULL label or cluster are left out.
    weight, partition_by, noise, noise_as : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition, sorted by partition. The columns are the
        partition columns, n, n_dropped, n_noise, n_labels, n_clusters, prediction_strength and
        weakest_label. The column weakest_label contains the label with the smallest share, or the
        lowest such label if several tie. Labels with one row form no pairs and are skipped. If no
        label has two rows, prediction_strength and weakest_label are NULL. If there are no rows, n
        is 0; with partition_by, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report.

    Notes
    -----
    The R function fpc::prediction.strength assigns a share of 1 to a label with one row. The result
    is the same unless every label has only one row. In SQL: ``FROM
    clustereval.prediction_strength(tbl, label, cluster)``.

    References
    ----------
    Tibshirani and Walther (2005), Cluster validation by prediction strength,
    doi:10.1198/106186005X59243.

    Examples
    --------
    Training confirms one of the three pairs of label b:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 0]})
    >>> strength = ce.prediction_strength(five, "label", "cluster")
    >>> strength.select("n", "prediction_strength", "weakest_label").row(0)
    (5, 0.3333333333333333, 'b')
    """
    options = pass_arguments_to(LabelOptions)
    results = (*ROW_COUNTS, "prediction_strength", "weakest_label")
    table = read_contingency_table(frame, label, cluster, options, results).cache_groups()
    copies = pl.col("copies")
    totals = table.add_totals(
        table.row_counts,
        table.sum_by_partition(table.label_sizes, {"n_labels": copies}),
        table.sum_by_partition(table.cluster_sizes, {"n_clusters": copies}),
    )
    strength = join_partitions(totals, list(table.keys), weakest_labels(table), how="left")
    rows = strength.select(*table.keys, pl.col("total").alias("n"), *results[1:])
    return table.to_user_frame(frame, table.sort_by_partition(rows))


@table_function("resamples", guide="stability")
def bootstrap_instability(
    frame: Frame,
    cluster_1: Column,
    cluster_2: Column,
    resample: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
) -> Frame:
    """Bootstrap instability: the mean distance between pairs of clusterings of bootstrap samples.

    The distance is the share of the n^2 ordered pairs of rows that are together in one clustering
    and apart in the other. The instability ranges from 0 to 1, and 0 is best. Choose the number of
    clusters for which the instability is smallest.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        One row for each combination of a resample and a row of the data. A LazyFrame is streamed
        when you collect the result.
    cluster_1, cluster_2 : str or Expr
        The row's clusters in the two clusterings, of any groupable type. Each clustering is learned
        from its own bootstrap sample and applied to all rows. Rows with a NULL cluster are left
        out.
    resample : str or Expr
        The identifier of the resample, that is, of the pair of bootstrap samples.
    weight : str or Expr, optional
        How many times each row counts, as a whole number >= 0. The weights are checked before
        anything else is computed.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately, such as a column with the number of clusters.
        NULL is also a group.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition, sorted by partition. The columns are the
        partition columns, n, n_dropped, n_resamples, instability and std_error. The column n
        contains the number of rows counted, summed over all resamples, and n_dropped contains the
        number of rows with a NULL cluster. The column std_error contains the standard error of the
        instability, or NULL if there is only one resample. If there are no rows, n is 0 and
        instability is NULL; with partition_by, the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, or if a weight is not a whole number >= 0.

    Notes
    -----
    The R function fpc::nselectboot counts only the pairs that are together in the first clustering
    and apart in the second. On average, the result of the R function is half of the distance that
    is used here. In SQL: ``FROM clustereval.bootstrap_instability(tbl, cluster_1, cluster_2,
    resample)``.

    References
    ----------
    Fang and Wang (2012), Selection of the number of clusters via the bootstrap method,
    doi:10.1016/j.csda.2011.09.003.

    Examples
    --------
    The two clusterings in resample 2 differ in the second row. In each direction, 2 of the 9
    ordered pairs are together in one clustering and apart in the other:

    >>> resamples = pl.DataFrame(
    ...     {
    ...         "resample": [1, 1, 1, 2, 2, 2],
    ...         "cluster_1": ["a", "a", "b", "a", "a", "b"],
    ...         "cluster_2": [0, 0, 1, 0, 1, 1],
    ...     }
    ... )
    >>> found = ce.bootstrap_instability(resamples, "cluster_1", "cluster_2", "resample")
    >>> found.select("n_resamples", "instability").row(0)
    (2, 0.2222222222222222)
    """
    columns = {"resample": resample, "cluster_1": cluster_1, "cluster_2": cluster_2}
    results = ("n", "n_dropped", "n_resamples", "instability", "std_error")
    lazy = check_frame(frame)
    keys: dict[str, str] = check_partition_keys(lazy, partition_by, results)
    values = [check_groupable(lazy, column, name) for name, column in columns.items()]
    weights = [] if weight is None else [check_column(lazy, weight, "weight")]
    rows = lazy.select(*key_columns(keys), *values, *weights)
    # Each resample of a partition is a partition of its own.
    options = LabelOptions(weight="weight" if weights else None, partition_by=[*keys, "resample"])
    table = read_contingency_table(rows, "cluster_1", "cluster_2", options, ()).cache_groups()
    by = [f"key_{i}" for i in range(len(keys))]
    distance, n = pl.col("distance"), pl.col("distance").count()
    spread = pl.when(distance.min() < distance.max()).then(distance.std()).otherwise(0.0)
    means = aggregate_by(
        _clustering_distances(table),
        by,
        {
            "n": pl.col("total").sum(),
            "n_resamples": n.cast(pl.Int64),
            "instability": distance.mean(),
            "std_error": pl.when(n > 1).then(spread / n.sqrt()),
        },
    )
    dropped = sum_by(table.groups, by, {"n_dropped": pl.col("n_dropped")})
    found = join_partitions(means, by, dropped).select(*by, *results)
    return to_user_frame(frame, found.sort(by, nulls_last=True) if by else found, keys)
