"""The functions of ``polars_clustereval.spark`` that compare clusters with true labels.

Each function passes its arguments on as ``locals()``, a dict that maps parameter names to values.
Therefore, no function may define any other local variables.
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
    """Sparse contingency table, with one row for each label and cluster that share rows.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    label, cluster : str or Column, optional
        The true class and the assigned cluster. If you leave out both, `tbl` must be a saved
        contingency table. Rows of a saved table that have the same label and cluster, for example
        because they come from several days or shards, are merged.
    weight : str or Column, optional
        How many times each row counts. The weights must be whole numbers >= 0, and must add up to
        at most 1e12 in each partition.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition gets its own contingency table. Several columns
        are combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first: ``partition_key`` if `partition_by` is used, then
        ``label`` and ``cluster``. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per label and cluster, with ``partition_key`` (a NULL string without
        `partition_by`), ``label``, ``cluster``, ``n`` and ``copies`` (always 1). With `noise_as`
        'singletons', all noise rows with the same label form one row, in which cluster is NULL, n
        is 1, and copies is the number of these noise rows. Rows with a NULL label or cluster are
        left out. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if a
        weight is negative, fractional or NULL, or if `label` and `cluster` are left out and `tbl`
        is not a saved contingency table.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.contingency_matrix : The same table for a Polars frame.

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
    """Counts of unordered pairs of rows that share a label, a cluster, both, or neither.

    The parameters and errors are the same as in `contingency_matrix`. If you leave out `label` and
    `cluster`, `tbl` must be a saved contingency table.

    Returns
    -------
    DataFrame
        One row per partition, with ``partition_key`` and four counts of type DECIMAL(38, 0): ``tp``
        (same label and cluster), ``fp`` (only the same cluster), ``fn`` (only the same label) and
        ``tn`` (neither). If there are no rows, the result is one row of zeros, or is empty if
        `partition_by` is used.

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
    """All external metrics, with one row per partition and one column per metric.

    The rows are read once. The amount of shuffled data grows with the number of cells in the
    contingency table, not with the number of rows.

    Parameters
    ----------
    tbl, label, cluster, weight, partition_by, noise, noise_as, metrics
        As in `contingency_matrix`. If you leave out `label` and `cluster`, `tbl` must be a saved
        contingency table.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        How the normalized and the adjusted mutual information average the two entropies. 'joint'
        requires `adjusted` to be False.
    beta : float
        The weight of recall in F measures, and of completeness in the V measure.
    adjusted : bool
        If False, the expected and the adjusted mutual information are left out.

    Returns
    -------
    DataFrame
        One row per partition, with ``partition_key``, ``n``, ``n_dropped``, ``n_noise``,
        ``n_labels``, ``n_clusters`` and the metrics. For a saved contingency table, ``n_dropped``
        and ``n_noise`` are NULL, because the table does not contain the rows that were left out. If
        there are no rows, the result is one row with n = 0 and NULL metrics, or is empty if
        `partition_by` is used. For a saved contingency table in which all partitions are empty, the
        result is also one row with n = 0.

    Raises
    ------
    ClusterEvalError
        Under the same conditions as in `contingency_matrix`.

    See Also
    --------
    polars_clustereval.external_report : The same report for a Polars frame.

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
    """All measures of entity resolution, with one row per partition and one column per measure.

    The parameters are the same as in `polars_clustereval.entity_resolution_report`. The input, the
    errors, and the amount of data that is read and shuffled are the same as in `external_report`.

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
    """Size, purity and majority label of each cluster, with one row per partition and cluster.

    The parameters and errors are the same as in `contingency_matrix`. If you leave out `label` and
    `cluster`, `tbl` must be a saved contingency table.

    Returns
    -------
    DataFrame
        One row per cluster, with ``partition_key``, ``cluster``, ``n``, ``n_labels``,
        ``majority_label`` (the lowest label in a tie), ``majority_n``, ``purity``, ``entropy`` (in
        nats) and ``joined_pairs``, which is the number of pairs of rows in the cluster that have
        different labels. All singletons together form one row, in which cluster is NULL and n is 1.
        If there are no rows, the result is empty.

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
    """Size, recall and majority cluster of each label, with one row per partition and label.

    The parameters and errors are the same as in `contingency_matrix`. If you leave out `label` and
    `cluster`, `tbl` must be a saved contingency table.

    Returns
    -------
    DataFrame
        One row per label, with ``partition_key``, ``label``, ``n``, ``n_clusters``,
        ``majority_cluster`` (the lowest cluster in a tie), ``majority_n``, ``recall``, ``entropy``
        (in nats) and ``split_pairs``, which is the number of pairs of rows with the label that are
        in different clusters. If there are no rows, the result is empty.

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
        The identifier of each row. By default, Spark numbers the rows with
        ``monotonically_increasing_id``, so the numbers are unique but not consecutive.

    Returns
    -------
    DataFrame
        The columns are ``partition_key``, ``id``, ``label``, ``cluster`` (NULL for a singleton),
        ``bcubed_precision`` and ``bcubed_recall``. The precision of a row is the share of the rows
        in its cluster that have its label. The recall is the share of the rows with its label that
        are in its cluster. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        Under the same conditions as in `contingency_matrix`.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.bcubed_samples(df, "species", "cluster", id="flower").show()  # doctest: +SKIP
    """
    return compute_table("bcubed_samples", locals(), lazy=True)
