"""The tables of points of ``polars_clustereval.spark``: parameters, columns and errors of each.

Where a function begins, its ``locals()`` are its arguments by parameter.
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

    The points are read twice. What is shuffled grows with the numbers of clusters and coordinates,
    not of points.

    Parameters
    ----------
    tbl : DataFrame or str
        DataFrame of Spark, or the name of a table or view of the active session, as
        ``session.table`` takes it.
    vector : str or Column, or a sequence of them
        Columns of the coordinates, or one column of arrays or of vectors of ``pyspark.ml``, of
        which one row is read for their length.
    cluster : str or Column
        Assigned cluster.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        Distance between two points, by scipy's name.
    p : float
        Order of the distance ``minkowski``, >= 1.
    center : {'mean', 'median'}
        Center of a cluster, coordinate by coordinate.
    partition_by : str, Column or a sequence of them, optional
        Key of the partitions, of which each has its row; several columns become a struct.
    noise : str, int, float or bool, optional
        Value of `cluster` that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        What noise counts as.
    weights : sequence of float, optional
        Weight > 0 of each coordinate, as in scipy.
    missing : {'error', 'drop'}
        Whether a vector with a NULL coordinate is an error, or its row is left out and counted in
        n_dropped.
    metrics : sequence of str, optional
        The columns of the result, in this order, after those that tell its rows apart
        (``partition_key`` with `partition_by`, and ``cluster`` in a table by cluster). What they do
        not need is not computed. By default all columns.

    Returns
    -------
    DataFrame
        ``partition_key`` (a NULL string without `partition_by`), ``n``, ``n_dropped``, ``n_noise``,
        ``n_dims``, ``n_clusters``, ``n_singletons``, and the indices, NULL where one is undefined.
        No rows: one row with n = 0; with `partition_by` none.

    Raises
    ------
    ClusterEvalError
        For a table or column that does not exist, an invalid option, a name in `metrics` that the
        result does not have, a noise value of another type than `cluster`, and coordinates that
        are NULL, NaN or infinite in a row that counts.

    See Also
    --------
    polars_clustereval.internal_report : the same of a Polars frame.

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
        cluster). Noise as singletons has a row for each point, with cluster NULL.

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
    """Indices that need the distance of every point to every center: one row per partition.

    The parameters and errors are those of `internal_report`. Each point is joined to all clusters
    of its partition: the time grows with points times clusters.

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
        With method 'exact' ``sqeuclidean`` or ``cosine``, whose silhouettes follow from sums over
        clusters; those of the other distances need pairs of points, and are an error.
    method : {'exact', 'simplified'}
        'simplified' takes distances to centroids in place of mean distances to points.
    between : {'nearest', 'mean_other', 'furthest'}
        The mean distance that a point's own cluster is compared with: to the nearest other cluster,
        to all points of other clusters, or to the furthest cluster.

    Returns
    -------
    DataFrame
        ``partition_key``, ``n``, ``n_dropped``, ``n_noise``, ``n_clusters``, ``n_singletons``,
        ``n_evaluated``, ``silhouette``, ``silhouette_macro``, ``silhouette_max``,
        ``silhouette_lower`` and ``silhouette_upper``, in [-1, 1], best 1; NULL with fewer than two
        clusters or if every point is a cluster. ``std_error`` is NULL: no points are sampled.

    Raises
    ------
    ClusterEvalError
        For the same reasons as `internal_report`, and for a distance that needs pairs of points.

    See Also
    --------
    polars_clustereval.silhouette_score : the same of a Polars frame, for every distance.

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
    ``sqeuclidean`` or ``cosine``: any other, the default too, is an error.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n``, the means ``a``, ``b`` and ``silhouette``, and
        ``std_error``, NULL as no points are sampled.

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

    The rows are computed when they are read, since there are as many as in `tbl`; the statistics of
    the clusters that they need are computed at the call.

    Parameters
    ----------
    tbl, vector, cluster, distance, p, partition_by, noise, noise_as, weights, between, missing
        As in `silhouette_clusters`.
    metrics : sequence of str, optional
        As in `silhouette_clusters`.
    id : str or Column, optional
        Identifier of a point, unique in its partition. By default Spark numbers the points
        (``monotonically_increasing_id``): the numbers are unique, but not consecutive.

    Returns
    -------
    DataFrame
        ``partition_key``, ``id``, ``cluster``, ``neighbor``, ``a``, ``b``, ``silhouette`` and
        ``std_error``, NULL as no points are sampled.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> points = spark.silhouette_samples(
    ...     df, "features", "cluster", id="customer", distance="cosine"
    ... )  # doctest: +SKIP
    """
    return compute_points("silhouette_samples", locals(), lazy=True)
