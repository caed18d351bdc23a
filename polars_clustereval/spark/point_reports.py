"""The functions of ``polars_clustereval.spark`` that evaluate the clusters of points.

Each function passes on its arguments as ``locals()``, a dict with the names of the parameters as
keys. No function has other local variables.
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
    """Internal indices from the centers of clusters: one row per partition.

    The points are read twice. The amount of data that is shuffled grows with the numbers of
    clusters and coordinates, not with the number of points.

    Parameters
    ----------
    tbl : DataFrame or str
        A Spark DataFrame, or the name of a table or view of the active session, in the form that
        ``session.table`` takes.
    vector : str or Column, or a sequence of them
        Columns with the coordinates, or one column of arrays or of ``pyspark.ml`` vectors. To find
        the length of the vectors, one row of such a column is read.
    cluster : str or Column
        Assigned cluster.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        Distance between two points, by its name in scipy.
    p : float
        Order of the distance ``minkowski``, at least 1.
    center : {'mean', 'median'}
        How each coordinate of the center of a cluster is computed.
    partition_by : str, Column or a sequence of them, optional
        Key of the partitions, each of which has its own row. Several columns become a struct.
    noise : str, int, float or bool, optional
        Value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per
        point.
    weights : sequence of float, optional
        A weight > 0 for each coordinate, as in scipy.
    missing : {'error', 'drop'}
        Whether a vector with a NULL coordinate is an error, or its row is left out and counted in
        n_dropped.
    metrics : sequence of str, optional
        The columns of the result, in this order, after those that identify its rows
        (``partition_key`` with `partition_by`, and ``cluster`` in a table by cluster); by default
        all columns. Anything that these columns do not need is not computed.

    Returns
    -------
    DataFrame
        ``partition_key`` (a NULL string without `partition_by`), ``n``, ``n_dropped``, ``n_noise``,
        ``n_dims``, ``n_clusters``, ``n_singletons``, and the indices, each of which is NULL where
        it is undefined. If there are no rows, the result is one row with n = 0; with
        `partition_by`, it is empty.

    Raises
    ------
    ClusterEvalError
        If a table or column does not exist, if an option is invalid, if `metrics` has a name that
        the result does not have, if the noise value has another type than `cluster`, or if a
        coordinate of a row that counts is NULL, NaN or infinite.

    See Also
    --------
    polars_clustereval.internal_report : the same for a Polars frame.

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
    """Size, centroid, spread and nearest cluster of each cluster: one row per cluster.

    The parameters and errors are those of `internal_report`.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n``, ``centroid``, ``ssw``, ``mean_distance``,
        ``max_distance``, ``nearest_cluster`` and ``nearest_distance`` (NULL if there is one
        cluster). With `noise_as` 'singletons', each noise point has its own row, where cluster is
        NULL.

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
    """Centroid of each cluster: one row per partition and cluster.

    The parameters and errors are those of `internal_report`.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n`` and ``centroid``, an array of DOUBLE.

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
    """Indices that need the distance from every point to every center: one row per partition.

    The parameters and errors are those of `internal_report`. Each point is joined to all clusters
    of its partition, so the time grows with the number of points times the number of clusters.

    Returns
    -------
    DataFrame
        ``partition_key``, ``n``, ``n_dropped``, ``n_noise``, ``n_dims``, ``n_clusters``,
        ``wemmert_gancarski_index`` and ``s_dbw_index``.

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
    """Mean silhouette of all points: one row per partition.

    Parameters
    ----------
    tbl, vector, cluster, p, partition_by, noise, noise_as, weights, missing, metrics
        As in `internal_report`.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        With method 'exact', the distance must be ``sqeuclidean`` or ``cosine``, whose silhouettes
        follow from sums over clusters. Any other distance would need all pairs of points, so the
        function raises an error.
    method : {'exact', 'simplified'}
        'simplified' uses distances to centroids instead of mean distances to points.
    between : {'nearest', 'mean_other', 'furthest'}
        Which mean distance is compared with the mean distance to a point's own cluster: the mean
        distance to the nearest other cluster, to all points of other clusters, or to the furthest
        cluster.

    Returns
    -------
    DataFrame
        ``partition_key``, ``n``, ``n_dropped``, ``n_noise``, ``n_clusters``, ``n_singletons``,
        ``n_evaluated``, ``silhouette``, ``silhouette_macro``, ``silhouette_max``,
        ``silhouette_lower`` and ``silhouette_upper``, in [-1, 1], best 1. The scores are NULL if
        there are fewer than two clusters, or if every point is a cluster. ``std_error`` is NULL,
        because no points are sampled.

    Raises
    ------
    ClusterEvalError
        For the same reasons as `internal_report`, and if the distance needs pairs of points.

    See Also
    --------
    polars_clustereval.silhouette_score : the same for a Polars frame, with every distance.

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
    """Mean silhouette of each cluster: one row per partition and cluster.

    The parameters and errors are those of `silhouette_score`, except that the distance must be
    ``sqeuclidean`` or ``cosine``. The function raises an error for any other distance, including
    the default.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n``, the means ``a``, ``b`` and ``silhouette``, and
        ``std_error``, which is NULL, because no points are sampled.

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
    required statistics of the clusters are computed when you call the function.

    Parameters
    ----------
    tbl, vector, cluster, distance, p, partition_by, noise, noise_as, weights, between, missing
        As in `silhouette_clusters`.
    metrics : sequence of str, optional
        As in `silhouette_clusters`.
    id : str or Column, optional
        Identifier of a point, unique in its partition. By default, Spark numbers the points
        (``monotonically_increasing_id``): the numbers are unique, but not consecutive.

    Returns
    -------
    DataFrame
        ``partition_key``, ``id``, ``cluster``, ``neighbor``, ``a``, ``b``, ``silhouette`` and
        ``std_error``, which is NULL, because no points are sampled.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> points = spark.silhouette_samples(
    ...     df, "features", "cluster", id="customer", distance="cosine"
    ... )  # doctest: +SKIP
    """
    return compute_points("silhouette_samples", locals(), lazy=True)
