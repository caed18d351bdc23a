"""The functions of ``polars_clustereval.spark``: parameters, columns and errors of each table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .points import compute_points
from .tables import compute_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame

    from polars_clustereval.base.checks import NoiseAs
    from polars_clustereval.external.entity_matching import EditCost
    from polars_clustereval.external.information import NormalizedMethod
    from polars_clustereval.internal.distances import Center, DistanceName

    Keys: TypeAlias = str | Column | Sequence[str | Column]
    Noise: TypeAlias = str | float | bool
    Vector: TypeAlias = str | Column | Sequence[str | Column]


def contingency_matrix(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
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
        For a table or column that does not exist, an invalid option, a noise value of another type
        than `cluster`, weights that are negative, fractional or NULL, and a table that holds no
        kept cells where these are expected.
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
    columns = {"label": label, "cluster": cluster, "weight": weight, "partition_by": partition_by}
    options = {"noise": noise, "noise_as": noise_as}
    return compute_table("contingency_matrix", tbl, columns, options)


def pair_counts(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
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
    columns = {"label": label, "cluster": cluster, "weight": weight, "partition_by": partition_by}
    options = {"noise": noise, "noise_as": noise_as}
    return compute_table("pair_counts", tbl, columns, options)


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
) -> DataFrame:
    """Every external metric: one row per partition, one column per metric.

    The rows are read once. What is shuffled grows with the number of cells, not of rows.

    Parameters
    ----------
    tbl, label, cluster, weight, partition_by, noise, noise_as
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
        As `contingency_matrix`.

    See Also
    --------
    polars_clustereval.external_report : the same of a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> report = spark.external_report(df, "species", "cluster")  # doctest: +SKIP
    >>> report.select("adjusted_rand_score", "v_measure_score").show()  # doctest: +SKIP
    """
    columns = {"label": label, "cluster": cluster, "weight": weight, "partition_by": partition_by}
    options = {
        "noise": noise,
        "noise_as": noise_as,
        "average_method": average_method,
        "beta": beta,
        "adjusted": adjusted,
    }
    return compute_table("external_report", tbl, columns, options)


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
) -> DataFrame:
    """All measures of entity resolution: one row per partition, one column per measure.

    The parameters are those of `polars_clustereval.entity_resolution_report`. Rows, kept cells,
    cost and errors are as in `external_report`.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.entity_resolution_report(df, "person", "cluster").show()  # doctest: +SKIP
    """
    columns = {"label": label, "cluster": cluster, "weight": weight, "partition_by": partition_by}
    costs = {"split_cost": split_cost, "merge_cost": merge_cost, "beta": beta}
    options = {"noise": noise, "noise_as": noise_as, **costs}
    return compute_table("entity_resolution_report", tbl, columns, options)


def external_cluster_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
) -> DataFrame:
    """Size, purity and majority label of each cluster: one row per partition and cluster.

    The parameters and errors are those of `contingency_matrix`; without `label` and `cluster`,
    `tbl` holds kept cells.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n``, ``n_labels``, ``majority_label`` (the lowest of
        equals), ``majority_n``, ``purity``, ``entropy`` (nats) and ``joined_pairs``, its pairs of
        rows with different labels. Singletons are one row with cluster NULL and n 1. No rows: none.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_cluster_report(df, "species", "cluster").show()  # doctest: +SKIP
    """
    columns = {"label": label, "cluster": cluster, "weight": weight, "partition_by": partition_by}
    options = {"noise": noise, "noise_as": noise_as}
    return compute_table("external_cluster_report", tbl, columns, options)


def external_label_report(
    tbl: DataFrame | str,
    label: str | Column | None = None,
    cluster: str | Column | None = None,
    *,
    weight: str | Column | None = None,
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
) -> DataFrame:
    """Size, recall and majority cluster of each label: one row per partition and label.

    The parameters and errors are those of `contingency_matrix`; without `label` and `cluster`,
    `tbl` holds kept cells.

    Returns
    -------
    DataFrame
        ``partition_key``, ``label``, ``n``, ``n_clusters``, ``majority_cluster`` (the lowest of
        equals), ``majority_n``, ``recall``, ``entropy`` (nats) and ``split_pairs``, its pairs of
        rows in different clusters. No rows: none.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.external_label_report(df, "species", "cluster").show()  # doctest: +SKIP
    """
    columns = {"label": label, "cluster": cluster, "weight": weight, "partition_by": partition_by}
    options = {"noise": noise, "noise_as": noise_as}
    return compute_table("external_label_report", tbl, columns, options)


def bcubed_samples(
    tbl: DataFrame | str,
    label: str | Column,
    cluster: str | Column,
    *,
    id: str | Column | None = None,  # noqa: A002 - the parameter's name everywhere
    partition_by: Keys | None = None,
    noise: Noise | None = None,
    noise_as: NoiseAs | None = None,
) -> DataFrame:
    """B-cubed precision and recall of each row.

    The result is not computed before it is read, since it is as long as `tbl`.

    Parameters
    ----------
    tbl, label, cluster, partition_by, noise, noise_as
        As in `contingency_matrix`, but `tbl` cannot hold kept cells, which do not tell rows apart.
    id : str or Column, optional
        Identifier of a row. By default Spark numbers the rows (``monotonically_increasing_id``):
        the numbers differ from one another, but have gaps.

    Returns
    -------
    DataFrame
        ``partition_key``, ``id``, ``label``, ``cluster`` (NULL for a singleton),
        ``bcubed_precision``, the share of its cluster that has its label, and ``bcubed_recall``,
        the share of its label that is in its cluster. No rows: none.

    Raises
    ------
    ClusterEvalError
        As `contingency_matrix`.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> spark.bcubed_samples(df, "species", "cluster", id="flower").show()  # doctest: +SKIP
    """
    columns = {"label": label, "cluster": cluster, "id": id, "partition_by": partition_by}
    options = {"noise": noise, "noise_as": noise_as}
    return compute_table("bcubed_samples", tbl, columns, options, lazy=True)


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

    Returns
    -------
    DataFrame
        ``partition_key`` (a NULL string without `partition_by`), ``n``, ``n_dropped``, ``n_noise``,
        ``n_dims``, ``n_clusters``, ``n_singletons``, and the indices, NULL where one is undefined.
        No rows: one row with n = 0; with `partition_by` none.

    Raises
    ------
    ClusterEvalError
        For a table or column that does not exist, an invalid option, a noise value of another type
        than `cluster`, and coordinates that are NULL, NaN or infinite in a row that counts.

    See Also
    --------
    polars_clustereval.internal_report : the same of a Polars frame.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> report = spark.internal_report(df, ["x", "y"], "cluster")  # doctest: +SKIP
    >>> report.select("calinski_harabasz_score").show()  # doctest: +SKIP
    """
    columns = {"cluster": cluster, "partition_by": partition_by}
    options = {
        "distance": distance,
        "p": p,
        "center": center,
        "weights": weights,
        "noise": noise,
        "noise_as": noise_as,
    }
    return compute_points("internal_report", tbl, vector, columns, options)


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
    columns = {"cluster": cluster, "partition_by": partition_by}
    options = {
        "distance": distance,
        "p": p,
        "center": center,
        "weights": weights,
        "noise": noise,
        "noise_as": noise_as,
    }
    return compute_points("internal_cluster_report", tbl, vector, columns, options)


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
    columns = {"cluster": cluster, "partition_by": partition_by}
    options = {
        "distance": distance,
        "p": p,
        "center": center,
        "weights": weights,
        "noise": noise,
        "noise_as": noise_as,
    }
    return compute_points("centroids", tbl, vector, columns, options)


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
    columns = {"cluster": cluster, "partition_by": partition_by}
    options = {
        "distance": distance,
        "p": p,
        "center": center,
        "weights": weights,
        "noise": noise,
        "noise_as": noise_as,
    }
    return compute_points("neighbor_report", tbl, vector, columns, options)


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
) -> DataFrame:
    """Mean silhouette of all points: one row per partition.

    Parameters
    ----------
    tbl, vector, cluster, p, partition_by, noise, noise_as, weights
        As in `internal_report`.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        With method 'exact' ``sqeuclidean`` or ``cosine``, whose silhouettes follow from sums over
        clusters; those of the other distances need pairs of points, and are an error.
    method : {'exact', 'simplified'}
        'simplified' takes distances to centroids in place of mean distances to points.

    Returns
    -------
    DataFrame
        ``partition_key``, ``n``, ``n_dropped``, ``n_noise``, ``n_clusters``, ``n_singletons``,
        ``n_evaluated``, ``silhouette``, ``silhouette_macro``, ``silhouette_max``,
        ``silhouette_lower`` and ``silhouette_upper``, in [-1, 1], best 1; NULL with fewer than two
        clusters or if every point is a cluster.

    Raises
    ------
    ClusterEvalError
        As `internal_report`, and for a distance that needs pairs of points.

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
    columns = {"cluster": cluster, "partition_by": partition_by}
    options = {
        "distance": distance,
        "p": p,
        "weights": weights,
        "noise": noise,
        "noise_as": noise_as,
        "method": method,
    }
    return compute_points("silhouette_score", tbl, vector, columns, options)


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
) -> DataFrame:
    """Mean silhouette of each cluster: one row per partition and cluster.

    The parameters and errors are those of `silhouette_score`, whose distances ``sqeuclidean`` and
    ``cosine`` are known here.

    Returns
    -------
    DataFrame
        ``partition_key``, ``cluster``, ``n``, and the means ``a``, ``b`` and ``silhouette``.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> means = spark.silhouette_clusters(
    ...     df, "features", "cluster", distance="cosine"
    ... )  # doctest: +SKIP
    """
    columns = {"cluster": cluster, "partition_by": partition_by}
    options = {
        "distance": distance,
        "p": p,
        "weights": weights,
        "noise": noise,
        "noise_as": noise_as,
    }
    return compute_points("silhouette_clusters", tbl, vector, columns, options)


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
) -> DataFrame:
    """Silhouette of each point.

    The rows are not computed before they are read, since there are as many as in `tbl`; what they
    need of the clusters is computed here.

    Parameters
    ----------
    tbl, vector, cluster, distance, p, partition_by, noise, noise_as, weights
        As in `silhouette_clusters`.
    id : str or Column, optional
        Identifier of a point, one row for each id of a partition. By default Spark numbers the
        points (``monotonically_increasing_id``): the numbers differ from one another, but have
        gaps.

    Returns
    -------
    DataFrame
        ``partition_key``, ``id``, ``cluster``, ``neighbor``, ``a``, ``b`` and ``silhouette``.

    Examples
    --------
    >>> from polars_clustereval import spark
    >>> points = spark.silhouette_samples(
    ...     df, "features", "cluster", id="customer", distance="cosine"
    ... )  # doctest: +SKIP
    """
    columns = {"cluster": cluster, "partition_by": partition_by, "id": id}
    options = {
        "distance": distance,
        "p": p,
        "weights": weights,
        "noise": noise,
        "noise_as": noise_as,
    }
    return compute_points("silhouette_samples", tbl, vector, columns, options, keep=False)
