"""The tables of labels of ``polars_clustereval.spark``: parameters, columns and errors of each.

Where a function begins, its ``locals()`` are its arguments by parameter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .tables import compute_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame

    from polars_clustereval.base.checks import NoiseAs
    from polars_clustereval.external.entity_matching import EditCost
    from polars_clustereval.external.information import NormalizedMethod

    Keys: TypeAlias = str | Column | Sequence[str | Column]
    Noise: TypeAlias = str | float | bool


def contingency_matrix(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Contingency table, sparse: one row per label and cluster that have rows in common.

    Parameters
    ----------
    tbl : DataFrame or str
        DataFrame of Spark, or the name of a table or view of the active session, as
        ``session.table`` takes it.
    label, cluster : str or Column, optional
        True class and assigned cluster. If both are left out, `tbl` holds kept cells, and equal
        cells, of several days or shards, become one.
    weight : str or Column, optional
        How many times a row counts: whole numbers >= 0, at most 1e12 in a partition.
    partition_by : str, Column or a sequence of them, optional
        Key of the partitions, of which each has its cells; several columns become a struct.
    noise : str, int, float or bool, optional
        Value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        What noise counts as.
    metrics : sequence of str, optional
        The columns of the result, in this order, after those that tell its rows apart
        (``partition_key`` with `partition_by`, here ``label`` and ``cluster``). What they do not
        need is not computed. By default all columns.

    Returns
    -------
    DataFrame
        ``partition_key`` (a NULL string without `partition_by`), ``label``, ``cluster``, ``n`` and
        ``copies``: 1, but with `noise_as` 'singletons' the noise rows of a label are one row with
        cluster NULL, n 1 and copies = their number. Rows with a NULL label or cluster are left
        out. No rows: no cells.

    Raises
    ------
    ClusterEvalError
        For a table or column that does not exist, an invalid option, a name in `metrics` that the
        result does not have, a noise value of another type than `cluster`, weights that are
        negative, fractional or NULL, and a table without kept cells where these are expected.
    ImportError
        Without pyspark: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.contingency_matrix : the same of a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> cells = spark.contingency_matrix(df, "species", "cluster")  # doctest: +SKIP
    >>> cells.write.saveAsTable("cells")  # doctest: +SKIP
    >>> spark.external_report("cells").show()  # doctest: +SKIP
    """
    return compute_table("contingency_matrix", locals())


def pair_counts(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Counts of the unordered pairs of rows by whether they share the label and the cluster.

    The parameters and errors are those of `contingency_matrix`; without `label` and `cluster`,
    `tbl` holds kept cells.

    Returns
    -------
    DataFrame
        One row per partition: ``partition_key``, and as DECIMAL(38, 0) ``tp`` (same label and
        cluster), ``fp`` (same cluster only), ``fn`` (same label only) and ``tn`` (neither). No
        rows: one row of zeros; with `partition_by` none.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.pair_counts(df, "species", "cluster").show()  # doctest: +SKIP
    """
    return compute_table("pair_counts", locals())


def external_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Every external metric: one row per partition, one column per metric.

    The rows are read once. What is shuffled grows with the number of cells, not of rows.

    Parameters
    ----------
    tbl, label, cluster, weight, partition_by, noise, noise_as, metrics
        As in `contingency_matrix`. Without `label` and `cluster`, `tbl` holds kept cells.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        Mean of the entropies in the normalized and the adjusted mutual information; 'joint' needs
        `adjusted` False.
    beta : float
        Weight of recall in F measures and of completeness in the V measure.
    adjusted : bool
        False leaves out the expected and the adjusted mutual information.

    Returns
    -------
    DataFrame
        ``partition_key``, ``n``, ``n_dropped``, ``n_noise``, ``n_labels``, ``n_clusters``, and the
        metrics. Of kept cells ``n_dropped`` and ``n_noise`` are NULL, since these do not tell how
        many rows were left out. No rows: one row with n = 0 and NULL metrics; with `partition_by`
        none. Kept cells of partitions that are all empty have that one row too.

    Raises
    ------
    ClusterEvalError
        For the same reasons as `contingency_matrix`.

    See Also
    --------
    polars_clustereval.external_report : the same of a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_report(df, "species", "cluster").show(vertical=True)  # doctest: +SKIP
    >>> scores = ["adjusted_rand_score", "v_measure_score"]
    >>> spark.external_report(df, "species", "cluster", metrics=scores).show()  # doctest: +SKIP
    """
    return compute_table("external_report", locals())


def entity_resolution_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    split_cost: EditCost = "unit",
    merge_cost: EditCost = "unit",
    beta: float = 1.0,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """All measures of entity resolution: one row per partition, one column per measure.

    The parameters are those of `polars_clustereval.entity_resolution_report`. Rows, kept cells,
    cost and errors are as in `external_report`.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.entity_resolution_report(df, "person", "cluster").show()  # doctest: +SKIP
    """
    return compute_table("entity_resolution_report", locals())


def external_cluster_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Size, purity and majority label of each cluster: one row per partition and cluster.

    The parameters and errors are those of `contingency_matrix`; without `label` and `cluster`,
    `tbl` holds kept cells.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n``, ``n_labels``, ``majority_label`` (the lowest of
        equals), ``majority_n``, ``purity``, ``entropy`` (nats) and ``joined_pairs``, its pairs of
        rows with different labels. Singletons are one row with cluster NULL and n 1. If there are
        no rows, the result is empty.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_cluster_report(df, "species", "cluster").show()  # doctest: +SKIP
    """
    return compute_table("external_cluster_report", locals())


def external_label_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Size, recall and majority cluster of each label: one row per partition and label.

    The parameters and errors are those of `contingency_matrix`; without `label` and `cluster`,
    `tbl` holds kept cells.

    Returns
    -------
    DataFrame
        ``partition_key``, ``label``, ``n``, ``n_clusters``, ``majority_cluster`` (the lowest of
        equals), ``majority_n``, ``recall``, ``entropy`` (nats) and ``split_pairs``, its pairs of
        rows in different clusters. If there are no rows, the result is empty.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_label_report(df, "species", "cluster").show()  # doctest: +SKIP
    """
    return compute_table("external_label_report", locals())


def bcubed_samples(
    tbl: DataFrame | str,
    label: str | Column,
    cluster: str | Column,
    *,
    id: str | Column | None = None,  # noqa: A002 - the parameter's name everywhere
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """B-cubed precision and recall of each row.

    The result is not computed before it is read, since it is as long as `tbl`.

    Parameters
    ----------
    tbl, label, cluster, partition_by, noise, noise_as, metrics
        As in `contingency_matrix`, but `tbl` cannot hold kept cells, which do not tell rows apart.
    id : str or Column, optional
        Identifier of a row. By default Spark numbers the rows (``monotonically_increasing_id``):
        the numbers differ from one another, but have gaps.

    Returns
    -------
    DataFrame
        ``partition_key``, ``id``, ``label``, ``cluster`` (NULL for a singleton),
        ``bcubed_precision``, the share of its cluster that has its label, and ``bcubed_recall``,
        the share of its label that is in its cluster. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as `contingency_matrix`.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.bcubed_samples(df, "species", "cluster", id="flower").show()  # doctest: +SKIP
    """
    return compute_table("bcubed_samples", locals(), lazy=True)
