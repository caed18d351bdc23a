"""silhouette: how much nearer each point is to its own cluster than to the nearest other cluster.

A query is a point whose silhouette is computed (see point_silhouettes).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from polars_clustereval.base.checks import check_choice
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions, join_small
from polars_clustereval.base.growth import SILHOUETTES
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .centroids import Points, check_point_options
from .point_silhouettes import (
    MeansMethod,
    Method,
    SilhouetteOptions,
    check_silhouette_options,
    point_silhouettes,
    read_queried_points,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .distances import DistanceName
    from .kernels.other_clusters import Between
    from .vectors import Missing, Vector


# ----------------------------------------------------------------------------------------------
# Means of silhouettes
# ----------------------------------------------------------------------------------------------


def score_table(points: Points, options: SilhouetteOptions) -> pl.LazyFrame:
    """Return the rows of silhouette_score, one per partition."""
    clusters = _cluster_silhouettes(points, options, "partition")
    n, mean = pl.col("n_queries"), pl.col("silhouette")
    deviation = mean - (mean * n).sum() / n.sum()
    terms = {
        "n_queries": n.sum(),
        "n_query_clusters": pl.len(),
        "n_exact": pl.col("n_exact").sum(),
        "mean": (mean * n).sum() / n.sum(),
        "macro": mean.mean(),
        "largest": mean.max(),
        "lower": (pl.col("lower") * n).sum() / n.sum(),
        "upper": (pl.col("upper") * n).sum() / n.sum(),
        "squares": (pl.col("squares") + n * deviation * deviation).sum(),
        "reference_variance": pl.col("reference_variance").first(),
    }
    keys = points.partition_keys
    totals = aggregate_by(clusters, keys, terms)
    table = join_partitions(points.row_counts, keys, totals, how="left")
    is_clustering = (pl.col("n_clusters") >= 2) & (pl.col("n_clusters") < pl.col("n"))
    return table.select(
        *keys,
        *("n", "n_dropped", "n_noise", "n_clusters", "n_singletons"),
        pl.when(is_clustering).then("n_exact").otherwise(0).cast(pl.Int64).alias("n_evaluated"),
        **{name: pl.when(is_clustering).then(x) for name, x in _score_terms(options).items()},
    )


def _score_terms(options: SilhouetteOptions) -> Terms:
    """Return the columns from silhouette to std_error, from the terms of score_table."""
    mean = pl.col("mean")
    has_mean = options.method != "bounds"
    # A sample may miss clusters.
    has_all_clusters = pl.lit(has_mean) & (pl.col("n_query_clusters") == pl.col("n_clusters"))
    limits: dict[str, pl.Expr] = {"lower": pl.col("lower"), "upper": pl.col("upper")}
    if options.method == "simplified":
        limits = dict.fromkeys(limits, NO_ERROR)
    if options.method == "sample":
        error = -NormalDist().inv_cdf((1 - options.confidence) / 2) * _std_error(options)
        # A single silhouette does not tell how far other silhouettes are from it.
        is_known = mean.is_null() | error.is_not_null()
        limits = {
            "lower": pl.when(is_known).then((mean - error).clip(-1.0, 1.0)).otherwise(-1.0),
            "upper": pl.when(is_known).then((mean + error).clip(-1.0, 1.0)).otherwise(1.0),
        }
    return {
        "silhouette": pl.when(has_mean).then(mean),
        "silhouette_macro": pl.when(has_all_clusters).then("macro"),
        "silhouette_max": pl.when(has_all_clusters).then("largest"),
        "silhouette_lower": limits["lower"],
        "silhouette_upper": limits["upper"],
        "std_error": _std_error(options),
    }


def _std_error(options: SilhouetteOptions) -> pl.Expr:
    """Return the standard error of a mean of n_queries of n silhouettes, or NULL.

    It is NULL without a sample, and if only one of several points is sampled.
    """
    if options.method != "sample":
        return NO_ERROR
    n, m = (pl.col(name).cast(pl.Float64) for name in ("n", "n_queries"))
    sampled = pl.when(m > 1).then(pl.col("squares") / (m - 1) / m * (1 - m / n))
    variance = pl.when(m < n).then(sampled).otherwise(0.0)
    return (variance + pl.col("reference_variance")).sqrt()


def _cluster_silhouettes(
    points: Points, options: SilhouetteOptions, level: str = "cluster"
) -> pl.LazyFrame:
    """Return one row per cluster that contains queries, with the means of their silhouettes.

    The silhouette of a query is the midpoint of its bounds. reference_variance is that of the mean
    of the cluster or of the partition (`level`).
    """
    lower, upper = pl.col("lower"), pl.col("upper")
    rows = point_silhouettes(points, options, level, with_neighbor=False)
    rows = rows.with_columns(silhouette=(lower + upper) / 2)
    return rows.group_by(points.cluster_keys).agg(
        pl.col("a", "b", "silhouette", "lower", "upper").mean(),
        n_queries=pl.len().cast(pl.Int64),
        n_exact=pl.col("is_exact").cast(pl.Int64).sum(),
        squares=pl.col("silhouette").var(ddof=0) * pl.len(),
        reference_variance=pl.col("reference_variance").first(),
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def _read_call(results: Sequence[str]) -> tuple[Points, SilhouetteOptions]:
    """Return the points and the checked options of the present call."""
    options = check_silhouette_options(pass_arguments_to(SilhouetteOptions))
    point_options = pass_arguments_to(check_point_options)
    points = pass_arguments_to(
        read_queried_points, point_options=point_options, options=options, results=results
    )
    return points, options


@table_function("points", guide="silhouette", order=("id",), is_portable=True, growth=SILHOUETTES)
def silhouette_samples(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    method: MeansMethod = "exact",
    between: Between = "nearest",
    sample_size: int | None = None,
    reference_size: int | None = None,
    random_state: int = 0,
    missing: Missing = "error",
) -> Frame:
    """Silhouette of each point: how much nearer it is to its own cluster than to any other cluster.

    The silhouette is s = (b - a) / max(a, b), where a is the mean distance to the other points of
    the point's own cluster, and b is the smallest mean distance to the points of another cluster.
    You can choose a different b with `between`. Range [-1, 1], best 1.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        One point per row. For 'sqeuclidean' and 'cosine', the points are read as a stream. For
        other distances, all points are in memory when you collect the result. If you set
        reference_size, only the drawn points are in memory.
    id : str or Expr, optional
        Identifier of a point. By default, the id is the row number in the frame, counted from 0.
    method : {'exact', 'sample'}
        Whether to evaluate all points or only a sample of them (see silhouette_score).
    between, sample_size, reference_size, random_state : as in silhouette_score
    vector, cluster, distance, p, partition_by, noise, noise_as : as in internal_report
    weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per point or per sampled point, sorted by partition and id.
        The columns are the partition columns, id, cluster, neighbor, a, b, silhouette and
        std_error. neighbor is the nearest other cluster, or the furthest cluster if `between` is
        'furthest'. In a tie, neighbor is the lowest of these clusters. For 'mean_other', neighbor
        is NULL. std_error is the standard error of the silhouette due to the random choice of
        references. Unless method is 'sample', std_error is NULL.

        A point that is alone in its cluster has a = 0 and a silhouette of 0. The silhouette is also
        0 if a = b = 0. If there is only one cluster, neighbor, b and silhouette are NULL.
        silhouette is also NULL if every point is its own cluster. For noise points that count as
        singletons, cluster is NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_score, and if an id occurs twice in a partition.

    Notes
    -----
    Means of squared distances are computed from the moments of the clusters. For other distances,
    certified bounds rule out clusters that cannot be the nearest (or furthest) one. For the
    remaining clusters, the distances to all of their points are computed. For cityblock, only the
    sums of distances are computed, using running sums of the sorted coordinates.
    In SQL: ``FROM clustereval.silhouette_samples(tbl, [x, y], cluster)``.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, doi:10.1016/0377-0427(87)90125-7. Gaido (2023), Distributed Silhouette Algorithm,
    arXiv:2303.14102, for the squared distances. Rautenstrauch and Ohler (2025), Shortcomings of
    silhouette in single-cell integration benchmarking, doi:10.1038/s41587-025-02743-4, for
    'mean_other' and 'furthest'.

    Examples
    --------
    The third point is between the clusters:

    >>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
    >>> ce.silhouette_samples(points, ["x"], "cluster").select("id", "a", "b", "silhouette").rows()
    [(0, 3.0, 8.5, 0.6470588235294118), (1, 2.5, 7.5, 0.6666666666666666), (2, 4.5, 3.5, \
-0.2222222222222222), (3, 1.0, 7.0, 0.8571428571428571), (4, 1.0, 6.0, 0.8333333333333334)]
    """
    check_choice("method", method, get_args(MeansMethod))
    points, options = _read_call(SAMPLE_COLUMNS)
    rows = points.with_id_check(point_silhouettes(points, options, "point", with_neighbor=True))
    error = pl.col("reference_variance").sqrt() if method == "sample" else NO_ERROR
    rows = rows.select(
        *points.keys,
        *SAMPLE_COLUMNS[:-2],
        pl.col("lower").alias("silhouette"),
        pl.when(pl.col("lower").is_not_null()).then(error).alias("std_error"),
    )
    return points.to_result(frame, rows, ["id"])


@table_function(
    "points", guide="silhouette", order=("cluster",), is_portable=True, growth=SILHOUETTES
)
def silhouette_clusters(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    method: MeansMethod = "exact",
    between: Between = "nearest",
    sample_size: int | None = None,
    reference_size: int | None = None,
    random_state: int = 0,
    missing: Missing = "error",
) -> Frame:
    """Mean silhouette of each cluster.

    Range [-1, 1], best 1. If the mean is below 0, the points are on average nearer to another
    cluster than to their own.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        One point per row. For 'sqeuclidean' and 'cosine', the points are read as a stream. For
        other distances, all points are in memory when you collect the result. If you set
        reference_size, only the drawn points are in memory.
    id : str or Expr, optional
        Identifier of a point. A sample depends on the order of the ids rather than the order of the
        rows. By default, the id is the row number, counted from 0.
    method : {'exact', 'sample'}
        Whether to evaluate all points or only a sample of them (see silhouette_score).
    between, sample_size, reference_size, random_state : as in silhouette_score
    vector, cluster, distance, p, partition_by, noise, noise_as : as in internal_report
    weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The columns are
        the partition columns, cluster, n, a, b, silhouette and std_error. n is the number of points
        of the cluster. a, b and silhouette are the means of these values over the points (see
        silhouette_samples). With a sample, the means are taken over the sampled points of the
        cluster, and are NULL if the cluster has no sampled points. std_error is the standard error
        of silhouette. std_error is NULL unless method is 'sample', and also if only one of several
        points is sampled. With noise_as 'singletons', each noise point has a row of its own, in
        which cluster is NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_score.

    Notes
    -----
    In SQL: ``FROM clustereval.silhouette_clusters(tbl, [x, y], cluster)``.

    References
    ----------
    Rousseeuw (1987), doi:10.1016/0377-0427(87)90125-7. Gaido (2023), arXiv:2303.14102.

    Examples
    --------
    >>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
    >>> ce.silhouette_clusters(points, ["x"], "cluster").select("cluster", "n", "a", "b").rows()
    [('a', 3, 3.3333333333333335, 6.5), ('b', 2, 1.0, 6.5)]
    """
    check_choice("method", method, get_args(MeansMethod))
    points, options = _read_call(MEAN_COLUMNS)
    rows = _cluster_silhouettes(points, options)
    if method == "sample":
        sizes = points.spreads.filter(pl.col("n") > 0).select(*points.cluster_keys, "n")
        rows = points.with_id_check(join_small(sizes, points.cluster_keys, rows, "left"))
    else:
        rows = rows.with_columns(n=pl.col("n_queries"))
    error = pl.when(pl.col("silhouette").is_not_null()).then(_std_error(options))
    rows = rows.select(*points.cluster_keys, *MEAN_COLUMNS[1:-1], error.alias("std_error"))
    return points.to_result(frame, rows, points.own_keys)


@table_function("points", guide="silhouette", is_portable=True, growth=SILHOUETTES)
def silhouette_score(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    method: Method = "exact",
    between: Between = "nearest",
    tolerance: float | None = None,
    sample_size: int | None = None,
    reference_size: int | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Mean silhouette of a clustering: exact, simplified, bounded, or estimated from a sample.

    Range [-1, 1], best 1.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        One point per row. For 'sqeuclidean' and 'cosine', the points are read as a stream. For
        other distances, all points are in memory when you collect the result. If you set
        reference_size, only the drawn points are in memory.
    id : str or Expr, optional
        Identifier of a point. A sample depends on the order of the ids rather than the order of the
        rows. By default, the id is the row number, counted from 0.
    method : {'exact', 'simplified', 'bounds', 'sample'}
        'exact' uses mean distances to all points. 'simplified' uses distances to the centers
        instead. 'bounds' computes certified bounds on the exact score from the moments of the
        clusters. 'sample' computes the silhouettes of some of the points. With 'simplified' and
        'bounds', the points are read as a stream.
    between : {'nearest', 'mean_other', 'furthest'}
        How b is defined. With 'nearest', b is the smallest mean distance to the points of another
        cluster. With 'mean_other', b is the mean distance to all points of other clusters. With
        'furthest', b is the largest mean distance to the points of another cluster. Method
        'simplified' uses distances to centers instead, weighted by cluster size for 'mean_other'.
        You cannot combine 'mean_other' or 'furthest' with method 'bounds', tolerance or
        reference_size.
    tolerance : float, optional
        With method 'exact', the maximum width of the interval from silhouette_lower to
        silhouette_upper. For 'euclidean', only as many points are evaluated as are needed to reach
        this width, beginning with the points that have the widest bounds. For the remaining points,
        the midpoint of the bounds is used. For other distances, all silhouettes are exact.
    sample_size : int, optional
        With method 'sample', the number of points to evaluate. All points are evaluated if there
        are fewer, or if sample_size is None and reference_size is given.
    reference_size : int, optional
        With method 'sample', the number of points to draw at random from each cluster as
        references. Must be at least 2. The evaluated points are compared only with the references.
        If a cluster has fewer points, all of them are used as references. By default, the evaluated
        points are compared with all points. 'sqeuclidean' and 'cosine' always use all points,
        because their means can be computed without comparing pairs of points.
    confidence : float
        With method 'sample', the probability, between 0 and 1, that silhouette_lower and
        silhouette_upper enclose the exact score.
    random_state : int
        With method 'sample', the random seed. The sample is the same in every engine.
    vector, cluster, distance, p, partition_by, noise, noise_as : as in internal_report
    weights, missing : as in internal_report
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work needed only for columns that are not returned is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns
        and the following:

        - n: the number of points that are counted.
        - n_dropped: the number of rows that are left out.
        - n_noise: the number of noise rows.
        - n_clusters and n_singletons: the numbers of clusters and of clusters with a single point.
        - n_evaluated: the number of points whose silhouette is computed.
        - silhouette: the mean silhouette of the points.
        - silhouette_macro: the mean of the clusters' mean silhouettes.
        - silhouette_max: the largest of the clusters' mean silhouettes.
        - silhouette_lower and silhouette_upper: limits that enclose the exact mean.
        - std_error: the standard error of silhouette with method 'sample', otherwise NULL.

        With 'exact' and no tolerance, silhouette_lower and silhouette_upper equal silhouette. With
        'simplified', both limits are NULL. With 'bounds', silhouette, silhouette_macro and
        silhouette_max are NULL. With 'sample', silhouette_macro and silhouette_max are NULL if the
        sample misses a cluster. All scores are NULL if there are fewer than 2 clusters, or if every
        point is its own cluster.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report, if an option is out of range or belongs to another
        method, or if an id that the sample depends on occurs twice in a partition.

    Notes
    -----
    See silhouette_samples for how mean distances are computed. For a sample, the limits are
    silhouette -/+ z std_error, where z is a quantile of the normal distribution. If only one of
    several points is sampled, the limits are -1 and 1. If the sampled points are compared with all
    points, a and b are exact, so the mean is unbiased. The mean computed by scikit-learn is biased,
    because a and b are computed from the sample alone. The variance of the mean is (1 - m / n) s^2
    / m, where s^2 is the variance of m silhouettes out of n. References increase this variance. A
    cluster of N points with t references increases the variance by (1 - t / N) t / (t - 1) times
    the sum of the squared influences of its references. To compute the influence of a reference,
    take the excess of its distance over the mean distance, multiply it by ds/da or ds/db, average
    the result over the sampled points, and divide by t. The estimates of a and b are unbiased, but
    the silhouette is biased, because it is not linear in a and b, and because b is the smallest of
    several estimates. To correct for this bias, the average of 2 s - (s+ + s-) / 2 is used instead
    of the average of s. Here, s+ and s- are computed from mean distances that are shifted up and
    down in proportion to the difference between two halves of the references.
    In SQL: ``FROM clustereval.silhouette_score(tbl, [x, y], cluster)``. In DuckDB versions before
    2.0, put the option between in quotes: ``"between" := 'furthest'``.

    References
    ----------
    Rousseeuw (1987), Gaido (2023), and Rautenstrauch and Ohler (2025), as for silhouette_samples.
    Hruschka, de Castro and Campello (2004), Evolutionary algorithms for clustering gene-expression
    data, for method 'simplified'. Altieri, Pietracaprina, Pucci, Sarpe and Vandin (2026), Scalable
    and Distributed Silhouette Approximation, arXiv:2607.01993, for references drawn from each
    cluster. Cochran (1977), Sampling Techniques, for the variance.

    Examples
    --------
    >>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
    >>> score = ce.silhouette_score(points, ["x"], "cluster")
    >>> score.select("n_evaluated", pl.col("silhouette").round(4)).rows()
    [(5, 0.5564)]
    >>> bounds = ce.silhouette_score(points, ["x"], "cluster", method="bounds")
    >>> bounds.select(pl.col("silhouette_lower", "silhouette_upper").round(4)).rows()
    [(0.4396, 0.5881)]
    """
    points, options = _read_call(SCORE_COLUMNS)
    rows = score_table(points, options)
    if method == "sample":
        rows = points.with_id_check(rows)
    return points.to_result(frame, rows, metrics=metrics)


NO_ERROR = pl.lit(None, pl.Float64)
SAMPLE_COLUMNS = ("id", "cluster", "neighbor", "a", "b", "silhouette", "std_error")
MEAN_COLUMNS = ("cluster", "n", "a", "b", "silhouette", "std_error")
SCORE_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_clusters", "n_singletons", "n_evaluated"),
    *("silhouette", "silhouette_macro", "silhouette_max", "silhouette_lower", "silhouette_upper"),
    "std_error",
)
