"""report: indices that require only cluster centers, for a clustering and for each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.counts import POINT_COUNTS
from polars_clustereval.base.exact import finite_or_null
from polars_clustereval.base.growth import PAIRS_OF_CENTERS
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .centroids import check_point_options, read_points
from .scatter import centroid_gaps, internal_scores, internal_statistics
from .two_passes import read_points_in_two_passes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Terms

    from .centroids import Points
    from .distances import Center, DistanceName
    from .vectors import Missing, Vector

_COUNT_COLUMNS = tuple(POINT_COUNTS)

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def report_of_clusters(points: Points, scores: Terms) -> pl.LazyFrame:
    """Return one row per partition, with its partition columns, counts and `scores`.

    The expressions read internal_statistics. A score is NULL if it is not finite, or if there are
    no points.
    """
    return internal_statistics(points).select(
        *points.keys,
        *_COUNT_COLUMNS,
        *(
            pl.when(pl.col("n") > 0).then(finite_or_null(score)).alias(name)
            for name, score in scores.items()
        ),
    )


def internal_report_columns() -> tuple[str, ...]:
    """Return the names of the columns that follow the partition columns in internal_report."""
    return (*_COUNT_COLUMNS, *internal_scores(pl.col, squares_add_up=True))


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points", guide="internal", is_portable=True, growth=PAIRS_OF_CENTERS)
def internal_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """All internal indices that need only the centers of the clusters.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points, one per row. A LazyFrame streams. A column of lists is read once more to
        determine the length of the lists.
    vector : str, Expr, selector or sequence of str and Expr
        A numeric Array or List column, or the numeric columns that contain the coordinates.
    cluster : str or Expr
        The assigned cluster. Rows with a NULL cluster are left out, as are rows in which vector, or
        every column of vector, is NULL.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        The name of a scipy distance, in any letter case. A zero vector has a cosine distance of 1
        to every vector.
    p : float
        Order of the Minkowski distance. Must be at least 1.
    center : {'mean', 'median'}
        How each coordinate of a centroid is computed. For the cosine distance, the centroid is the
        direction of the mean or median of the unit vectors. The median requires all points of a
        cluster in memory.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is also a group.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Whether noise counts as an ordinary cluster, is left out, or counts as one cluster per row.
    weights : sequence of float, optional
        A positive number for each dimension, as in scipy. Weights are not allowed with chebyshev.
    missing : {'error', 'drop'}
        Whether a NULL coordinate raises an error or its row is left out.
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work needed only for columns that are not returned is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns,
        n, n_dropped, n_noise, n_dims, n_clusters, n_singletons, and one column per index. n is the
        number of points that are counted, and n_dropped is the number of rows without a vector or
        cluster. An index is NULL if it is undefined. For example, calinski_harabasz_score and
        davies_bouldin_score are undefined if there are fewer than 2 clusters, or if every point is
        its own cluster. Sums of squares are computed from the chosen distance. The sums within and
        between clusters add up to the total only for euclidean and sqeuclidean with center='mean'.
        For other distances and centers, sst, explained_variance, ratkowsky_lance_index and
        sd_scattering are NULL. If there are no rows, n is 0 and every index is NULL. With
        partition_by, the result is empty if there are no rows.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if vector does not contain numbers, if noise is not a value of
        the type of cluster, or if an option is unknown. When you collect the result, an error is
        also raised if a coordinate is NULL, NaN or infinite, or if vectors differ in length.

    Notes
    -----
    To see the definition, the range and the source of an index, call ``describe`` with its name, as
    in ``describe("ssw")``.
    In SQL: ``FROM clustereval.internal_report(tbl, [x, y], cluster)``.

    Examples
    --------
    The two clusters are far from each other:

    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> report = ce.internal_report(four, ["x", "y"], "cluster")
    >>> report.select("n_clusters", "ssw", "ssb", "calinski_harabasz_score").rows()
    [(2, 10.0, 68.0, 13.6)]
    """
    options = pass_arguments_to(check_point_options)
    points = read_points_in_two_passes(
        frame, vector, cluster, options, results=internal_report_columns()
    )
    scores = internal_scores(pl.col, squares_add_up=points.squares_add_up)
    return points.to_result(frame, report_of_clusters(points, scores), metrics=metrics)


@table_function(
    "points", guide="internal", order=("cluster",), is_portable=True, growth=PAIRS_OF_CENTERS
)
def internal_cluster_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
) -> Frame:
    """Size, centroid and spread of each cluster, and its nearest cluster.

    Parameters
    ----------
    frame, vector, cluster, distance, p, center, partition_by, noise : as in internal_report
    noise_as, weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The columns are
        the partition columns, cluster and the following:

        - n: the number of points of the cluster.
        - centroid: a list with one number per coordinate.
        - ssw: the sum of the squared distances from the points to the centroid.
        - mean_distance and max_distance: the mean and the largest distance from the points to the
          centroid.
        - nearest_cluster: the cluster with the nearest centroid, or the lowest such cluster in a
          tie.
        - nearest_distance: the distance between the centroids of the two clusters.

        nearest_cluster and nearest_distance are NULL if there is only one cluster. With noise_as
        'singletons', each noise point has a row of its own, in which cluster is NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report.

    Notes
    -----
    In SQL: ``FROM clustereval.internal_cluster_report(tbl, [x, y], cluster)``.

    Examples
    --------
    The distance between the two clusters is 10:

    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> report = ce.internal_cluster_report(four, ["x", "y"], "cluster", distance="cityblock")
    >>> report.select("cluster", "ssw", "nearest_cluster", "nearest_distance").rows()
    [('a', 2.0, 'b', 10.0), ('b', 8.0, 'a', 10.0)]
    """
    options = pass_arguments_to(check_point_options)
    points = read_points(frame, vector, cluster, options, results=_CLUSTER_COLUMNS)
    gaps = centroid_gaps(points).select("number", "nearest_cluster", nearest_distance="least")
    clusters = points.clusters.rename({"radius": "max_distance"})
    rows = points.with_user_centers(clusters.join(gaps, on="number", how="left"))
    rows = rows.select(*points.cluster_keys, *_CLUSTER_COLUMNS[1:])
    return points.to_result(frame, rows, points.own_keys)


_CLUSTER_COLUMNS = (
    *("cluster", "n", "centroid", "ssw", "mean_distance", "max_distance"),
    *("nearest_cluster", "nearest_distance"),
)
