"""The functions of ``polars_clustereval.spark`` that evaluate clusters of points.

Each function passes its arguments on as ``locals()``, a dict that maps parameter names to values.
Therefore, no function may define any other local variables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .points import compute_points

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame

    from polars_clustereval.base.checks import NoiseAs
    from polars_clustereval.internal.distances import Center, DistanceName
    from polars_clustereval.internal.kernels.other_clusters import Between
    from polars_clustereval.internal.vectors import Missing

    Keys: TypeAlias = str | Column | Sequence[str | Column]
    Noise: TypeAlias = str | float | bool
    Vector: TypeAlias = str | Column | Sequence[str | Column]


def internal_report(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Internal indices that are computed from cluster centers, with one row per partition.

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
        The distance between two points. The names of the distances are the same as in scipy.
    p : float
        The order of the ``minkowski`` distance, which must be at least 1.
    center : {'mean', 'median'}
        Whether each coordinate of a cluster's center is the mean or the median.
    partition_by : str, Column or a sequence of them, optional
        The partition of each point. The result has one row per partition. Several columns are
        combined into a struct.
    noise : str, int, float or bool, optional
        The value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per
        point.
    weights : sequence of float, optional
        A positive weight for each coordinate, as in scipy.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or causes the row to be left out and counted in
        ``n_dropped``.
    metrics : sequence of str, optional
        The columns to return, in this order. By default, all columns are returned. The columns that
        identify a row always come first: ``partition_key`` if `partition_by` is used, and
        ``cluster`` in a table with one row per cluster. Only the values needed for the requested
        columns are computed.

    Returns
    -------
    DataFrame
        One row per partition, with ``partition_key`` (a NULL string without `partition_by`), ``n``,
        ``n_dropped``, ``n_noise``, ``n_dims``, ``n_clusters``, ``n_singletons`` and the indices. An
        undefined index is NULL. If there are no rows, the result is one row with n = 0, or is empty
        if `partition_by` is used.

    Raises
    ------
    ClusterEvalError
        If a table, a column or a name in `metrics` does not exist, if an option is invalid, or if
        the noise value and `cluster` have different types. The function also raises this error if
        any row that is used has a NULL, NaN or infinite coordinate.

    See Also
    --------
    polars_clustereval.internal_report : The same report for a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.internal_report(df, ["x", "y"], "cluster").show(vertical=True)  # doctest: +SKIP
    >>> spark.internal_report(
    ...     df, ["x", "y"], "cluster", metrics=["calinski_harabasz_score"]
    ... ).show()  # doctest: +SKIP
    """
    return compute_points("internal_report", locals())


def internal_cluster_report(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Size, centroid, spread and nearest cluster of each cluster, with one row per cluster.

    The parameters and errors are the same as in `internal_report`.

    Returns
    -------
    DataFrame
        One row per cluster, with ``partition_key``, ``cluster``, ``n``, ``centroid``, ``ssw``,
        ``mean_distance``, ``max_distance``, ``nearest_cluster`` and ``nearest_distance`` (NULL if
        there is only one cluster). With `noise_as` 'singletons', each noise point has its own row,
        in which cluster is NULL.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.internal_cluster_report(df, ["x", "y"], "cluster").show()  # doctest: +SKIP
    """
    return compute_points("internal_cluster_report", locals())


def centroids(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Centroid of each cluster, with one row per partition and cluster.

    The parameters and errors are the same as in `internal_report`.

    Returns
    -------
    DataFrame
        One row per cluster, with ``partition_key``, ``cluster``, ``n`` and ``centroid``, which is
        an array of DOUBLE.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.centroids(df, ["x", "y"], "cluster").show()  # doctest: +SKIP
    """
    return compute_points("centroids", locals())


def neighbor_report(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Indices that need all distances from points to centers, with one row per partition.

    The parameters and errors are the same as in `internal_report`. Each point is joined with all
    clusters of its partition, so the running time is proportional to the number of points times the
    number of clusters.

    Returns
    -------
    DataFrame
        One row per partition, with ``partition_key``, ``n``, ``n_dropped``, ``n_noise``,
        ``n_dims``, ``n_clusters``, ``wemmert_gancarski_index`` and ``s_dbw_index``.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.neighbor_report(df, ["x", "y"], "cluster").show()  # doctest: +SKIP
    """
    return compute_points("neighbor_report", locals())


def silhouette_score(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    method: Literal["exact", "simplified"] = "exact",
    between: Between = "nearest",
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Mean silhouette of all points, with one row per partition.

    Parameters
    ----------
    tbl, vector, cluster, p, partition_by, noise, noise_as, weights, missing, metrics
        As in `internal_report`.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        With method 'exact', the distance must be ``sqeuclidean`` or ``cosine``, because only for
        these distances can silhouettes be computed from sums over clusters. Any other distance
        would need all pairs of points, so the function raises an error.
    method : {'exact', 'simplified'}
        'simplified' uses distances to centroids instead of mean distances to points.
    between : {'nearest', 'mean_other', 'furthest'}
        Which mean distance is compared with the mean distance to a point's own cluster: the mean
        distance to the nearest other cluster, to all points of other clusters, or to the furthest
        cluster.

    Returns
    -------
    DataFrame
        One row per partition, with ``partition_key``, ``n``, ``n_dropped``, ``n_noise``,
        ``n_clusters``, ``n_singletons``, ``n_evaluated``, and the scores ``silhouette``,
        ``silhouette_macro``, ``silhouette_max``, ``silhouette_lower`` and ``silhouette_upper``. The
        scores are in [-1, 1], and the best value is 1. They are NULL if there are fewer than two
        clusters, or if every point is a cluster of its own. ``std_error`` is NULL, because no
        points are sampled.

    Raises
    ------
    ClusterEvalError
        Under the same conditions as in `internal_report`, and if method 'exact' is used with a
        distance other than ``sqeuclidean`` or ``cosine``.

    See Also
    --------
    polars_clustereval.silhouette_score : The same table for a Polars frame and any distance.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> score = spark.silhouette_score(
    ...     df, "features", "cluster", distance="cosine"
    ... )  # doctest: +SKIP
    """
    return compute_points("silhouette_score", locals())


def silhouette_clusters(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    between: Between = "nearest",
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Mean silhouette of each cluster, with one row per partition and cluster.

    The parameters and errors are the same as in `silhouette_score`, except that the distance must
    be ``sqeuclidean`` or ``cosine``. The function raises an error for any other distance, including
    the default.

    Returns
    -------
    DataFrame
        One row per cluster, with ``partition_key``, ``cluster``, ``n``, the means ``a``, ``b`` and
        ``silhouette``, and ``std_error``, which is NULL, because no points are sampled.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> means = spark.silhouette_clusters(
    ...     df, "features", "cluster", distance="cosine"
    ... )  # doctest: +SKIP
    """
    return compute_points("silhouette_clusters", locals())


def silhouette_samples(
    tbl: DataFrame | str,
    vector: Vector,
    cluster: str | Column,
    *,
    id: str | Column | None = None,  # noqa: A002 - the parameter's name everywhere
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    between: Between = "nearest",
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> DataFrame:
    """Silhouette of each point.

    Because the result is as long as `tbl`, its rows are computed only when you read them. The
    statistics of the clusters are computed when you call the function.

    Parameters
    ----------
    tbl, vector, cluster, distance, p, partition_by, noise, noise_as, weights, between, missing
        As in `silhouette_clusters`.
    metrics : sequence of str, optional
        As in `silhouette_clusters`.
    id : str or Column, optional
        The identifier of each point, which must be unique within its partition. By default, Spark
        numbers the points with ``monotonically_increasing_id``, so the numbers are unique but not
        consecutive.

    Returns
    -------
    DataFrame
        One row per point, with ``partition_key``, ``id``, ``cluster``, ``neighbor``, ``a``, ``b``,
        ``silhouette`` and ``std_error``, which is NULL, because no points are sampled.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> points = spark.silhouette_samples(
    ...     df, "features", "cluster", id="customer", distance="cosine"
    ... )  # doctest: +SKIP
    """
    return compute_points("silhouette_samples", locals(), lazy=True)
