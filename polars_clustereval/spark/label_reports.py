"""The functions of ``polars_clustereval.spark`` that evaluate clusters by true labels.

Each function passes on its arguments as ``locals()``, a dict with the names of the parameters as
keys. No function has other local variables.
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
    """Sparse contingency table: one row for each label and cluster that have rows in common.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view of the active session, in the form that
        ``session.table`` takes.
    label, cluster : str or Column, optional
        True class and assigned cluster. If you leave out both, `tbl` must be a saved contingency
        table. Its rows with the same label and cluster, such as those of several days or shards,
        are merged.
    weight : str or Column, optional
        How many times a row counts. The weights are whole numbers >= 0, with a sum of at most 1e12
        in each partition.
    partition_by : str, Column or a sequence of them, optional
        Key of the partitions, each of which has a contingency table of its own. Several columns
        become a struct.
    noise : str, int, float or bool, optional
        Value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    metrics : sequence of str, optional
        The columns of the result, in this order, after the columns that identify its rows
        (``partition_key`` with `partition_by`, and here ``label`` and ``cluster``); by default all
        columns. Anything that these columns do not need is not computed.

    Returns
    -------
    DataFrame
        ``partition_key`` (a NULL string without `partition_by`), ``label``, ``cluster``, ``n`` and
        ``copies``, which is 1. With `noise_as` 'singletons', all noise rows with the same label are
        one row, where cluster is NULL, n is 1, and copies is the number of these noise rows. Rows
        with a NULL label or cluster are left out. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        If a table or column does not exist, if an option is invalid, if `metrics` has a name that
        the result does not have, if the noise value has another type than `cluster`, if weights are
        negative, fractional or NULL, or if `tbl` should be a saved contingency table and is not.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.contingency_matrix : the same for a Polars frame.

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
    """Counts of unordered pairs of rows, by whether both rows have the same label and cluster.

    The parameters and errors are those of `contingency_matrix`. If you leave out `label` and
    `cluster`, `tbl` must be a saved contingency table.

    Returns
    -------
    DataFrame
        One row per partition: ``partition_key``; and, as DECIMAL(38, 0), ``tp`` (same label and
        cluster), ``fp`` (only same cluster), ``fn`` (only same label) and ``tn`` (neither). If
        there are no rows, the result is one row of zeros; with `partition_by`, it is empty.

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

    The rows are read once. The amount of data that is shuffled grows with the number of cells, not
    with the number of rows.

    Parameters
    ----------
    tbl, label, cluster, weight, partition_by, noise, noise_as, metrics
        As in `contingency_matrix`. If you leave out `label` and `cluster`, `tbl` must be a saved
        contingency table.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        Mean of the entropies in the normalized and the adjusted mutual information. 'joint' needs
        `adjusted` to be False.
    beta : float
        Weight of recall in F measures, and of completeness in the V measure.
    adjusted : bool
        False leaves out the expected and the adjusted mutual information.

    Returns
    -------
    DataFrame
        ``partition_key``, ``n``, ``n_dropped``, ``n_noise``, ``n_labels``, ``n_clusters``, and the
        metrics. For a saved contingency table, ``n_dropped`` and ``n_noise`` are NULL, because the
        table does not contain the rows that were left out. If there are no rows, the result is one
        row with n = 0 and NULL metrics; with `partition_by`, the result is empty. The result is
        also this single row for a saved contingency table in which all partitions are empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as `contingency_matrix`.

    See Also
    --------
    polars_clustereval.external_report : the same for a Polars frame.

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

    The parameters are those of `polars_clustereval.entity_resolution_report`. The input, the cost
    and the errors are the same as in `external_report`.

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

    The parameters and errors are those of `contingency_matrix`. If you leave out `label` and
    `cluster`, `tbl` must be a saved contingency table.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n``, ``n_labels``, ``majority_label`` (the lowest label in
        a tie), ``majority_n``, ``purity``, ``entropy`` (in nats) and ``joined_pairs``, the number
        of pairs of rows in the cluster that have different labels. All singletons together are one
        row with cluster NULL and n = 1. If there are no rows, the result is empty.

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

    The parameters and errors are those of `contingency_matrix`. If you leave out `label` and
    `cluster`, `tbl` must be a saved contingency table.

    Returns
    -------
    DataFrame
        ``partition_key``, ``label``, ``n``, ``n_clusters``, ``majority_cluster`` (the lowest
        cluster in a tie), ``majority_n``, ``recall``, ``entropy`` (in nats) and ``split_pairs``,
        the number of pairs of rows with the label that are in different clusters. If there are no
        rows, the result is empty.

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

    Because the result is as long as `tbl`, it is computed only when you read it.

    Parameters
    ----------
    tbl, label, cluster, partition_by, noise, noise_as, metrics
        As in `contingency_matrix`, except that `tbl` cannot be a saved contingency table, because
        such a table does not contain the individual rows.
    id : str or Column, optional
        Identifier of a row. By default, Spark numbers the rows (``monotonically_increasing_id``);
        the numbers are unique, but not consecutive.

    Returns
    -------
    DataFrame
        ``partition_key``, ``id``, ``label``, ``cluster`` (NULL for a singleton),
        ``bcubed_precision``, the share of the rows of its cluster that have its label, and
        ``bcubed_recall``, the share of the rows with its label that are in its cluster. If there
        are no rows, the result is empty.

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
