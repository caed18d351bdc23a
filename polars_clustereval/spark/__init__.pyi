# Written by `make facts`: do not edit.
from collections.abc import Sequence
from typing import Literal, TypeAlias

from pyspark.sql import Column, DataFrame

from polars_clustereval.base.checks import NoiseAs
from polars_clustereval.external.entity_matching import EditCost
from polars_clustereval.external.information import NormalizedMethod
from polars_clustereval.internal.distances import Center, DistanceName
from polars_clustereval.internal.kernels.other_clusters import Between
from polars_clustereval.internal.vectors import Missing

Keys: TypeAlias = str | Column | Sequence[str | Column]
Vector: TypeAlias = str | Column | Sequence[str | Column]

__all__ = [
    "bcubed_samples",
    "centroids",
    "contingency_matrix",
    "entity_resolution_report",
    "external_cluster_report",
    "external_label_report",
    "external_report",
    "internal_cluster_report",
    "internal_report",
    "neighbor_report",
    "pair_counts",
    "silhouette_clusters",
    "silhouette_samples",
    "silhouette_score",
]

def bcubed_samples(
    tbl: DataFrame | str,
    label: str | Column,
    cluster: str | Column,
    *,
    id: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """B-cubed precision and recall of each row.

    Because the result is as long as `tbl`, it is computed only when you read it.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    label, cluster : str or Column
        The true class and the assigned cluster.
    id : str or Column, optional
        The identifier of each row, which must be unique within its partition. By default, Spark
        numbers the rows with ``monotonically_increasing_id``, so the numbers are unique but not
        consecutive.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per scored row. The columns are partition_key, id, label, cluster, bcubed_precision
        and bcubed_recall. bcubed_precision is the share of the rows in the same cluster that have
        the same label. bcubed_recall is the share of the rows with the same label that are in the
        same cluster. The means of these two columns are the scores bcubed_precision and
        bcubed_recall of external_report. For a noise row that counts as a singleton, cluster is
        NULL.

        Without `partition_by`, ``partition_key`` is a NULL string.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.bcubed_samples : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.bcubed_samples(df, "species", "cluster", id="id").show()  # doctest: +SKIP
    """

def centroids(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Size and centroid of each cluster.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    vector : str or Column, or a sequence of them
        The columns with the coordinates, or one column of arrays or ``pyspark.ml`` vectors. For a
        column of arrays or vectors, the function reads one row to find their length.
    cluster : str or Column
        The assigned cluster.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        The name of a scipy distance, in any letter case. A zero vector has a cosine distance of 1
        to every vector.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    center : {'mean', 'median'}
        How each coordinate of a centroid is computed. For the cosine distance, the centroid is the
        direction of the mean or median of the unit vectors.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per cluster. The columns are partition_key, cluster, n and centroid. n is the number
        of points in the cluster, and centroid is an array with one number per coordinate. With
        noise_as 'singletons', each noise point has a row of its own, in which cluster is NULL.

        Without `partition_by`, ``partition_key`` is a NULL string.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.centroids : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.centroids(df, ["x", "y"], "cluster").show()  # doctest: +SKIP
    """

def contingency_matrix(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Sparse contingency table of labels and clusters, with one row per nonempty cell.

    You can save the result, for example with ``cells.write.saveAsTable('cells')``. The other
    functions for labels except `bcubed_samples` then read it, as in
    ``spark.external_report('cells')``.

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
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        The result has partition_key, label, cluster, n and copies. n is the number of rows with the
        label and the cluster, and copies is 1. With noise_as 'singletons', all noise rows with the
        same label are represented by one row of the result, in which cluster is NULL, n is 1, and
        copies is the number of these noise rows.

        Without `partition_by`, ``partition_key`` is a NULL string.

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
    >>> spark.contingency_matrix(df, "species", "cluster").show()  # doctest: +SKIP
    """

def entity_resolution_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    split_cost: EditCost = "unit",
    merge_cost: EditCost = "unit",
    beta: float = 1.0,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """All measures of entity resolution for one or more clusterings, in one pass over the rows.

    The amount of shuffled data grows with the number of cells in the contingency table, not with
    the number of rows.

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
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    split_cost, merge_cost : {'unit', 'product', 'entropy'}
        The cost of splitting a cluster, and the cost of merging two clusters, in
        generalized_merge_distance.
    beta : float
        Nonnegative weight of recall in all F scores except exact_match_f_score.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per partition. The result has partition_key and the following columns:

        - n: the number of rows that are counted.
        - n_dropped: the number of rows with a NULL label or cluster.
        - n_noise: the number of noise rows.
        - n_labels, n_clusters: the numbers of labels and of clusters.
        - one column per measure, which has the same name as the measure's expression and is NULL if
          the measure is undefined.

        If there are no rows, n is 0 and every measure is NULL, unless you pass partition_by, in
        which case the result is empty.

        Without `partition_by`, ``partition_key`` is a NULL string. For a saved contingency table,
        ``n_dropped`` and ``n_noise`` are NULL, because the table does not contain the rows that
        were left out.

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
    polars_clustereval.entity_resolution_report : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.entity_resolution_report(df, "species", "cluster").show()  # doctest: +SKIP
    """

def external_cluster_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Size, majority label, purity and entropy of each cluster.

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
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per cluster. The columns are partition_key, cluster, n, n_labels, majority_label,
        majority_n, purity, entropy and joined_pairs. n is the number of rows in the cluster.
        majority_label is the most frequent label in the cluster (the lowest label in a tie), and
        majority_n is the number of rows in the cluster with that label. purity is majority_n / n.
        entropy is the entropy of the labels in the cluster, in nats. joined_pairs is the number of
        pairs of rows in the cluster that have different labels. With noise_as 'singletons', a
        single row represents all singletons. In that row, cluster is NULL and n is 1.

        Without `partition_by`, ``partition_key`` is a NULL string.

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
    polars_clustereval.external_cluster_report : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_cluster_report(df, "species", "cluster").show()  # doctest: +SKIP
    """

def external_label_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Size, majority cluster, recall and entropy of each label.

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
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per label. The columns are partition_key, label, n, n_clusters, majority_cluster,
        majority_n, recall, entropy and split_pairs. n is the number of rows with the label.
        majority_cluster is the most frequent cluster of these rows (the lowest cluster in a tie),
        and majority_n is the number of rows with the label in that cluster. recall is majority_n /
        n. entropy is the entropy of the clusters of these rows, in nats. split_pairs is the number
        of pairs of rows with the label that are in different clusters.

        Without `partition_by`, ``partition_key`` is a NULL string.

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
    polars_clustereval.external_label_report : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_label_report(df, "species", "cluster").show()  # doctest: +SKIP
    """

def external_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """All external metrics for one or many clusterings, computed in one pass over the rows.

    The amount of shuffled data grows with the number of cells in the contingency table, not with
    the number of rows.

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
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
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
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per partition. The columns are partition_key, n, n_dropped, n_noise, n_labels,
        n_clusters and one column per metric. n is the number of rows that are counted, n_dropped is
        the number of rows with a NULL label or cluster, and n_noise is the number of noise rows.
        Each metric's column has the same name as its expression. The value is NULL if the metric is
        undefined. If there are no rows, n is 0 and every metric is NULL. With partition_by, the
        result is empty if there are no rows.

        Without `partition_by`, ``partition_key`` is a NULL string. For a saved contingency table,
        ``n_dropped`` and ``n_noise`` are NULL, because the table does not contain the rows that
        were left out.

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
    polars_clustereval.external_report : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_report(df, "species", "cluster").show()  # doctest: +SKIP
    """

def internal_cluster_report(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Size, centroid and spread of each cluster, and its nearest cluster.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    vector : str or Column, or a sequence of them
        The columns with the coordinates, or one column of arrays or ``pyspark.ml`` vectors. For a
        column of arrays or vectors, the function reads one row to find their length.
    cluster : str or Column
        The assigned cluster.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        The name of a scipy distance, in any letter case. A zero vector has a cosine distance of 1
        to every vector.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    center : {'mean', 'median'}
        How each coordinate of a centroid is computed. For the cosine distance, the centroid is the
        direction of the mean or median of the unit vectors.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per cluster. The columns are partition_key, cluster and the following:

        - n: the number of points of the cluster.
        - centroid: an array with one number per coordinate.
        - ssw: the sum of the squared distances from the points to the centroid.
        - mean_distance and max_distance: the mean and the largest distance from the points to the
          centroid.
        - nearest_cluster: the cluster with the nearest centroid, or the lowest such cluster in a
          tie.
        - nearest_distance: the distance between the centroids of the two clusters.

        nearest_cluster and nearest_distance are NULL if there is only one cluster. With noise_as
        'singletons', each noise point has a row of its own, in which cluster is NULL.

        Without `partition_by`, ``partition_key`` is a NULL string.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.internal_cluster_report : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.internal_cluster_report(df, ["x", "y"], "cluster").show()  # doctest: +SKIP
    """

def internal_report(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """All internal indices that need only the centers of the clusters.

    The points are read twice. The amount of shuffled data grows with the numbers of clusters and
    coordinates, not with the number of points.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    vector : str or Column, or a sequence of them
        The columns with the coordinates, or one column of arrays or ``pyspark.ml`` vectors. For a
        column of arrays or vectors, the function reads one row to find their length.
    cluster : str or Column
        The assigned cluster.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        The name of a scipy distance, in any letter case. A zero vector has a cosine distance of 1
        to every vector.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    center : {'mean', 'median'}
        How each coordinate of a centroid is computed. For the cosine distance, the centroid is the
        direction of the mean or median of the unit vectors.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per partition. The columns are partition_key, n, n_dropped, n_noise, n_dims,
        n_clusters, n_singletons, and one column per index. n is the number of points that are
        counted, and n_dropped is the number of rows without a vector or cluster. An index is NULL
        if it is undefined. For example, calinski_harabasz_score and davies_bouldin_score are
        undefined if there are fewer than 2 clusters, or if every point is its own cluster. Sums of
        squares are computed from the chosen distance. The sums within and between clusters add up
        to the total only for euclidean and sqeuclidean with center='mean'. For other distances and
        centers, sst, explained_variance, ratkowsky_lance_index and sd_scattering are NULL. If there
        are no rows, n is 0 and every index is NULL. With partition_by, the result is empty if there
        are no rows.

        Without `partition_by`, ``partition_key`` is a NULL string.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.internal_report : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.internal_report(df, ["x", "y"], "cluster").show()  # doctest: +SKIP
    """

def neighbor_report(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Internal indices that need the distance from every point to every center.

    Each point is joined with all clusters of its partition, so the running time is proportional to
    the number of points times the number of clusters.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    vector : str or Column, or a sequence of them
        The columns with the coordinates, or one column of arrays or ``pyspark.ml`` vectors. For a
        column of arrays or vectors, the function reads one row to find their length.
    cluster : str or Column
        The assigned cluster.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        The name of a scipy distance, in any letter case. A zero vector has a cosine distance of 1
        to every vector.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    center : {'mean', 'median'}
        How each coordinate of a centroid is computed. For the cosine distance, the centroid is the
        direction of the mean or median of the unit vectors.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per partition. The columns are partition_key, n (the number of points that are
        counted), n_dropped, n_noise, n_dims, n_clusters, wemmert_gancarski_index (range [0, 1],
        best 1), and s_dbw_index (range [0, inf), best 0). s_dbw_index is NULL if the sums of
        squares within and between clusters do not add up to the total, which is the case for most
        distances and centers. s_dbw_index is also NULL if a pair of clusters has no points near
        either of its centers. Both indices are NULL if there is only one cluster.

        Without `partition_by`, ``partition_key`` is a NULL string.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.neighbor_report : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.neighbor_report(df, ["x", "y"], "cluster").show()  # doctest: +SKIP
    """

def pair_counts(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Counts of unordered pairs of rows with the same label, the same cluster, both or neither.

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
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per partition. The result has partition_key and the counts tp (pairs with the same
        label and the same cluster), fp (only the same cluster), fn (only the same label) and tn
        (neither). The counts have the type Decimal(38, 0) and are exact even for 1e10 rows. If
        there are no rows, all counts are 0, unless you pass partition_by, in which case the result
        is empty.

        Without `partition_by`, ``partition_key`` is a NULL string.

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
    polars_clustereval.pair_counts : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.pair_counts(df, "species", "cluster").show()  # doctest: +SKIP
    """

def silhouette_clusters(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    between: Between = "nearest",
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Mean silhouette of each cluster.

    Range [-1, 1], best 1. If the mean is below 0, the points are on average nearer to another
    cluster than to their own.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    vector : str or Column, or a sequence of them
        The columns with the coordinates, or one column of arrays or ``pyspark.ml`` vectors. For a
        column of arrays or vectors, the function reads one row to find their length.
    cluster : str or Column
        The assigned cluster.
    distance : {'sqeuclidean', 'cosine', ...}
        The distance between two points, which must be ``sqeuclidean`` or ``cosine``, because only
        for these distances can silhouettes be computed from sums over clusters. Any other distance,
        including the default, raises an error, because it would need all pairs of points. Only
        `silhouette_score` with method 'simplified' accepts every distance of `internal_report`.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    between : {'nearest', 'mean_other', 'furthest'}
        Which mean distance is compared with the mean distance to a point's own cluster: the mean
        distance to the nearest other cluster, to all points of other clusters, or to the furthest
        cluster.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per cluster. The columns are partition_key, cluster, n, a, b, silhouette and
        std_error. n is the number of points of the cluster. a, b and silhouette are the means of
        these values over the points (see silhouette_samples). With noise_as 'singletons', each
        noise point has a row of its own, in which cluster is NULL.

        Without `partition_by`, ``partition_key`` is a NULL string. ``std_error`` is NULL, because
        no points are sampled.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.silhouette_clusters : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.silhouette_clusters(
    ...     df, ["x", "y"], "cluster", distance="cosine"
    ... ).show()  # doctest: +SKIP
    """

def silhouette_samples(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    id: str | Column | None = None,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    between: Between = "nearest",
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Silhouette of each point: how much nearer it is to its own cluster than to any other cluster.

    The silhouette is s = (b - a) / max(a, b), where a is the mean distance to the other points of
    the point's own cluster, and b is the smallest mean distance to the points of another cluster.
    You can choose a different b with between. Range [-1, 1], best 1.

    Because the result is as long as `tbl`, its rows are computed only when you read them. The
    statistics of the clusters are computed when you call the function.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    vector : str or Column, or a sequence of them
        The columns with the coordinates, or one column of arrays or ``pyspark.ml`` vectors. For a
        column of arrays or vectors, the function reads one row to find their length.
    cluster : str or Column
        The assigned cluster.
    id : str or Column, optional
        The identifier of each row, which must be unique within its partition. By default, Spark
        numbers the rows with ``monotonically_increasing_id``, so the numbers are unique but not
        consecutive.
    distance : {'sqeuclidean', 'cosine', ...}
        The distance between two points, which must be ``sqeuclidean`` or ``cosine``, because only
        for these distances can silhouettes be computed from sums over clusters. Any other distance,
        including the default, raises an error, because it would need all pairs of points. Only
        `silhouette_score` with method 'simplified' accepts every distance of `internal_report`.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    between : {'nearest', 'mean_other', 'furthest'}
        Which mean distance is compared with the mean distance to a point's own cluster: the mean
        distance to the nearest other cluster, to all points of other clusters, or to the furthest
        cluster.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per point. The columns are partition_key, id, cluster, neighbor, a, b, silhouette
        and std_error. neighbor is the nearest other cluster, or the furthest cluster if between is
        'furthest'. In a tie, neighbor is the lowest of these clusters. For 'mean_other', neighbor
        is NULL.

        A point that is alone in its cluster has a = 0 and a silhouette of 0. The silhouette is also
        0 if a = b = 0. If there is only one cluster, neighbor, b and silhouette are NULL.
        silhouette is also NULL if every point is its own cluster. For noise points that count as
        singletons, cluster is NULL.

        Without `partition_by`, ``partition_key`` is a NULL string. ``std_error`` is NULL, because
        no points are sampled.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.silhouette_samples : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.silhouette_samples(
    ...     df, ["x", "y"], "cluster", id="id", distance="cosine"
    ... ).show()  # doctest: +SKIP
    """

def silhouette_score(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys | None = None,
    noise: str | float | bool | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    method: Literal["exact", "simplified"] = "exact",
    between: Between = "nearest",
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Mean silhouette of all points.

    Range [-1, 1], best 1.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view in the active session, as you would pass
        it to ``session.table``.
    vector : str or Column, or a sequence of them
        The columns with the coordinates, or one column of arrays or ``pyspark.ml`` vectors. For a
        column of arrays or vectors, the function reads one row to find their length.
    cluster : str or Column
        The assigned cluster.
    distance : {'sqeuclidean', 'cosine', ...}
        The distance between two points, which must be ``sqeuclidean`` or ``cosine``, because only
        for these distances can silhouettes be computed from sums over clusters. Any other distance,
        including the default, raises an error, because it would need all pairs of points. Only
        `silhouette_score` with method 'simplified' accepts every distance of `internal_report`.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    partition_by : str, Column or a sequence of them, optional
        The partition of each row. Each partition is evaluated separately. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    method : {'exact', 'simplified'}
        'simplified' uses distances to centroids instead of mean distances to points.
    between : {'nearest', 'mean_other', 'furthest'}
        Which mean distance is compared with the mean distance to a point's own cluster: the mean
        distance to the nearest other cluster, to all points of other clusters, or to the furthest
        cluster.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first, and the first of them is ``partition_key`` if
        `partition_by` is used. Only the values needed for the requested columns are computed.

    Returns
    -------
    DataFrame
        One row per partition. The columns are partition_key and the following:

        - n: the number of points that are counted.
        - n_dropped: the number of rows that are left out.
        - n_noise: the number of noise rows.
        - n_clusters and n_singletons: the numbers of clusters and of clusters with a single point.
        - n_evaluated: the number of points whose silhouette is computed.
        - silhouette: the mean silhouette of the points.
        - silhouette_macro: the mean of the clusters' mean silhouettes.
        - silhouette_max: the largest of the clusters' mean silhouettes.
        - silhouette_lower and silhouette_upper: limits that enclose the exact mean.

        With 'exact', silhouette_lower and silhouette_upper equal silhouette. With 'simplified',
        both limits are NULL. All scores are NULL if there are fewer than 2 clusters, or if every
        point is its own cluster.

        Without `partition_by`, ``partition_key`` is a NULL string. ``std_error`` is NULL, because
        no points are sampled.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.
    ImportError
        If pyspark is missing: ``pip install 'polars_clustereval[spark]'``.

    See Also
    --------
    polars_clustereval.silhouette_score : The same table for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.silhouette_score(
    ...     df, ["x", "y"], "cluster", distance="cosine"
    ... ).show()  # doctest: +SKIP
    """
