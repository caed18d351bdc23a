"""cross_validation: measures whether a clustering of some points also fits other points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    check_column_names,
    check_frame,
    check_groupable,
    check_is_frame,
)
from polars_clustereval.base.frames import join_partitions, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.external.contingency import LabelOptions, read_contingency_table
from polars_clustereval.external.report import need_expectation, score_partitions
from polars_clustereval.internal.centroids import check_point_options, read_points

from .assignment import assigned_points
from .replication import weakest_labels
from .stability import score_of_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.external.information import NormalizedMethod
    from polars_clustereval.internal.distances import DistanceName
    from polars_clustereval.internal.vectors import Missing, Vector

_RESULTS = (
    *("fold", "n", "n_labels", "n_clusters"),
    *("score", "prediction_strength", "mean_score", "std_score"),
)


@table_function("centers", guide="held_out", order=("fold",))
def cross_validation(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    fold: Column,
    centroids: pl.DataFrame | pl.LazyFrame,
    *,
    metric: str = "adjusted_rand_score",
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    weights: Sequence[float] | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    missing: Missing = "error",
) -> Frame:
    """Cross-validation of a clustering: agreement on points that were not used to fit the model.

    For each fold, first fit a model to the other folds. This function assigns each point in a fold
    to the nearest center of the model that was fitted without that fold. The function then compares
    the resulting clusters with clusters that you found without the model, for instance by
    clustering the fold alone.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The held-out points, one per row. A LazyFrame is streamed when you collect the result. A
        List column is read a second time to find the length of its longest list.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. A row
        is left out if its vector is NULL or if all of its coordinate columns are NULL.
    cluster : str or Expr
        The cluster of each point, found without using the model for the fold, or the point's true
        class. Rows with a NULL cluster are left out.
    fold : str or Expr
        The fold in which the point is held out.
    centroids : DataFrame or LazyFrame
        A frame of the models' centers, with the columns fold, cluster and centroid (lists of
        numbers), plus the columns specified in partition_by. A LazyFrame is collected together with
        the result.
    metric : str
        The metric of external_report that is used to compare the two clusterings. The points' own
        clusters serve as the labels.
    partition_by : str, Expr or sequence of these, optional
        Columns in both frames that define groups to be evaluated separately, such as a column with
        the number of clusters. NULL is also a group.
    average_method : {'arithmetic', 'geometric', 'min', 'max', 'joint'}
        How the two entropies are averaged in the normalized and adjusted mutual information.
    beta : float
        The weight of recall in F measures and of completeness in the V measure.
    distance, p, weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and fold, sorted by partition and fold. The
        columns are the partition columns, fold and the following:

        * n is the number of points that are evaluated.
        * n_labels is the number of clusters in the points' own clustering.
        * n_clusters is the number of clusters to which the points are assigned.
        * score is the value of the metric. Its range and best value are those of the metric.
        * prediction_strength (range [0, 1], best 1) is the result of the function
          prediction_strength.
        * mean_score and std_score are the mean and the sample standard deviation of the scores of
          all folds in the partition. The standard deviation is NULL if there is only one fold.

        If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if vector or centroid does not contain numbers, or if an option
        is unknown. When you collect the result, an error is raised if a fold has no center, if
        centers and points have different numbers of coordinates, or if a coordinate is NULL, NaN or
        infinite.

    Notes
    -----
    In SQL: ``FROM clustereval.cross_validation(tbl, [x, y], cluster, fold, centroids)``.

    References
    ----------
    Tibshirani and Walther (2005), Cluster validation by prediction strength,
    doi:10.1198/106186005X59243.

    Examples
    --------
    In the second fold, the fold's own clustering and the model put one point into different
    clusters:

    >>> models = pl.DataFrame(
    ...     {
    ...         "fold": [0, 0, 1, 1],
    ...         "cluster": [7, 8, 7, 8],
    ...         "centroid": [[0.0], [9.0], [1.0], [8.0]],
    ...     }
    ... )
    >>> points = pl.DataFrame(
    ...     {"x": [1, 8, 9, 0, 2, 9], "fold": [0, 0, 0, 1, 1, 1], "cluster": [1, 2, 2, 1, 2, 2]}
    ... )
    >>> folds = ce.cross_validation(points, ["x"], "cluster", "fold", models, metric="rand_score")
    >>> folds.select(pl.col("fold", "score", "prediction_strength", "mean_score").round(3)).rows()
    [(0, 1.0, 1.0, 0.667), (1, 0.333, 0.0, 0.667)]
    """
    options = pass_arguments_to(check_point_options)
    score = score_of_metric(metric, average_method, beta)
    # Each fold in a partition is a partition of its own, and the last partition column.
    points = read_points(
        frame,
        vector,
        cluster,
        options,
        results=_RESULTS,
        inner_key=check_groupable(check_frame(frame), fold, "fold"),
        needs_origins=False,
    )
    given = check_is_frame(centroids, "centroids")
    check_column_names(["fold"], "centroids", given.collect_schema().names())
    assigned = assigned_points(points, given, ["cluster"])
    keys, outer = points.partition_keys, points.partition_keys[:-1]
    by_fold = LabelOptions(partition_by=keys)
    table = read_contingency_table(assigned, "cluster", "nearest", by_fold, ()).cache_groups()
    scored = score_partitions(table, score, adjusted=need_expectation(score))
    rows = join_partitions(scored, keys, weakest_labels(table), how="left")
    mean, std = pl.col("score").mean(), pl.col("score").std()
    rows = rows.select(
        *keys,
        pl.col("total").alias("n"),
        *("n_labels", "n_clusters", "score", "prediction_strength"),
        mean_score=mean.over(outer) if outer else mean,
        std_score=std.over(outer) if outer else std,
    )
    return to_user_frame(frame, rows.sort(keys, nulls_last=True), points.keys)
