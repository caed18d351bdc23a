"""choosing_k: indices for each number of clusters k, also available in the SQL file of this name.

A sweep is a set of clusterings with different values of k. The curve of a sweep shows ssw as a
function of k, where ssw is the sum of squared distances from the points to the centers. Internally,
a row of a sweep has the partition columns key_0, key_1, ..., the columns k, n, n_dims and
n_clusters, and the columns that elbow returns. The columns `before` and `after` contain the values
of ssw in the previous row and the next row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from polars_clustereval.base.checks import (
    check_choice,
    check_frame,
    check_partition_keys,
)
from polars_clustereval.base.exact import finite_or_null, ratio, to_double
from polars_clustereval.base.frames import to_user_frame
from polars_clustereval.base.growth import SWEPT_SILHOUETTES
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.internal.centroids import check_point_options
from polars_clustereval.internal.point_silhouettes import SilhouetteOptions, read_queried_points
from polars_clustereval.internal.scatter import internal_scores, internal_statistics
from polars_clustereval.internal.silhouette import score_table
from polars_clustereval.internal.two_passes import read_points_in_two_passes

from .gap import check_sweep_k, raise_bad_k, read_sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.frames import Row
    from polars_clustereval.internal.centroids import PointOptions
    from polars_clustereval.internal.distances import Center, DistanceName
    from polars_clustereval.internal.vectors import Missing, Vector

Silhouette = Literal["none", "simplified", "exact"]

#: The columns that elbow shares with internal_report.
_REPORT_COLUMNS = (
    *("n", "n_clusters", "ssw", "explained_variance"),
    *("calinski_harabasz_score", "davies_bouldin_score"),
)
_ELBOW_COLUMNS = (
    *("k", *_REPORT_COLUMNS, "silhouette"),
    *("krzanowski_lai_index", "hartigan_index", "jump", "bic"),
    *("second_difference", "chord_distance", "kneedle", "is_knee"),
)
# A difference below this, in units of the whole curve or of ssw, is rounding error.
_ROUNDING_ERROR = 1e-12


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _mean_silhouettes(k: pl.Expr, options: PointOptions, method: str) -> pl.LazyFrame:
    """Return the mean silhouette of each partition and k (the expression `k`), by `method`."""
    scored = SilhouetteOptions(method)
    points = pass_arguments_to(
        read_queried_points,
        point_options=options,
        options=scored,
        results=_ELBOW_COLUMNS,
        inner_key=k,
    )
    *names, k_name = points.keys
    as_number = pl.col(k_name).cast(pl.Int64, strict=False).alias("k")
    rows = score_table(points, scored).select(*names, as_number, "silhouette")
    return points.with_fault_check(rows)


def _with_k_check(rows: pl.LazyFrame, values: pl.LazyFrame) -> pl.LazyFrame:
    """Return `rows` with a check for invalid values of k in `values`, that runs on collection.

    The function raise_on_collect joins the check to the rows, and the engine skips the check if
    there are no rows to join. This function checks k even in rows that are left out.
    """
    schema = rows.collect_schema()

    def raise_at_bad_k(values: pl.DataFrame) -> pl.DataFrame:
        """Raise an error if any k is invalid, and otherwise return no rows."""
        raise_bad_k(values)
        return pl.DataFrame(schema=schema)

    nothing = values.map_batches(
        raise_at_bad_k,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=schema,
    )
    return pl.concat([rows, nothing])


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def _krzanowski_lai_difference(row: Row) -> pl.Expr:
    """Return Krzanowski and Lai's DIFF(k) = (k - 1)^(2/d) before - k^(2/d) ssw, for d dimensions.

    The result is NULL unless the previous row belongs to k - 1.
    """
    k, power = to_double(row("k")), 2.0 / to_double(row("n_dims"))
    difference = (k - 1).pow(power) * row("before") - k.pow(power) * row("ssw")
    return pl.when(row("left_step") == 1).then(difference)


def _hartigan_index(row: Row) -> pl.Expr:
    """Return Hartigan's (ssw / after - 1) (n - k - 1), or NULL unless the next row is k + 1."""
    freedom = to_double(row("n") - row("k") - 1)
    index = (ratio(row("ssw"), row("after")) - 1) * freedom
    return pl.when(row("right_step") == 1).then(finite_or_null(index))


def _transformed_distortion(row: Row) -> pl.Expr:
    """Return Sugar and James's transformed distortion (ssw / (n d))^(-d / 2) for d dimensions.

    The result is NULL if ssw is 0, or if it would be outside the range of Float64.
    """
    dims, ssw = to_double(row("n_dims")), row("ssw")
    exponent = -0.5 * dims * (ssw / to_double(row("n")) / dims).log()
    return pl.when((ssw > 0) & exponent.is_between(-708, 709)).then(exponent.exp())


def _bic(row: Row) -> pl.Expr:
    """Return Pelleg and Moore's BIC, or NULL if ssw is 0, as if n is n_clusters (see elbow)."""
    n, dims, n_clusters = (to_double(row(name)) for name in ("n", "n_dims", "n_clusters"))
    variance = row("ssw") / dims / (n - n_clusters)
    fit = n * (2 * math.pi * variance).log() + (n - n_clusters)
    likelihood = row("log_size_sum") - n * n.log() - 0.5 * dims * fit
    bic = likelihood - 0.5 * n_clusters * (dims + 1) * n.log()
    return pl.when(row("ssw") > 0).then(finite_or_null(bic))


def _second_difference(row: Row) -> pl.Expr:
    """Return the second difference of ssw with respect to k, for any spacing of the values of k.

    If the neighboring values of k are k - 1 and k + 1, it is before - 2 ssw + after. If it could be
    a mere rounding error in ssw, the result is 0.
    """
    before, ssw, after, left = row("before"), row("ssw"), row("after"), row("left_step")
    bend = (before - ssw) - (ssw - after) * (left / row("right_step"))
    limit = _ROUNDING_ERROR * pl.max_horizontal(before, ssw, after)
    bend = pl.when(bend.abs() <= limit).then(0.0).otherwise(bend)
    return finite_or_null(bend * (2 / (left * (left + row("right_step")))))


def _zero_if_straight(x: pl.Expr) -> pl.Expr:
    """Return x, a length relative to the whole curve, or 0 if it may be a mere rounding error."""
    return pl.when(x.abs() <= _ROUNDING_ERROR).then(0.0).otherwise(x)


def _chord_distance(row: Row) -> pl.Expr:
    """Return how far each point of the scaled curve is below the chord between its ends."""
    rise = row("end_height") - row("start_height")
    below = row("start_height") + rise * row("across") - row("height")
    length = (1 + rise.pow(2)).sqrt()
    return pl.when(row("height").is_not_null()).then(_zero_if_straight(below) / length)


# ----------------------------------------------------------------------------------------------
# The curve of a sweep
# ----------------------------------------------------------------------------------------------


def _add_curve(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return the rows of a sweep, with columns for neighboring rows and for the scaled curve.

    The columns left_step and right_step contain the differences from the neighboring values of k,
    and place contains the position of the row, counted from 1. The columns across and height
    contain k and ssw, scaled to the range [0, 1], and are NULL if the curve is flat or has fewer
    than 3 rows. The columns start_height and end_height contain the heights of the two ends of the
    curve.
    """
    k, ssw, height = to_double(pl.col("k")), pl.col("ssw"), pl.col("height")
    low, high, k_low, k_high = map(pl.col, ("low", "high", "k_low", "k_high"))
    span = {"k_low": k.min(), "k_high": k.max(), "low": ssw.min(), "high": ssw.max()}
    rows = rows.with_columns(
        before=_over(ssw.shift(1), keys),
        after=_over(ssw.shift(-1), keys),
        left_step=k - _over(k.shift(1), keys),
        right_step=_over(k.shift(-1), keys) - k,
        place=_over(pl.int_range(1, pl.len() + 1, dtype=pl.Int64), keys),
        places=_over(pl.len().cast(pl.Int64), keys),
        **{name: _over(extreme, keys) for name, extreme in span.items()},
    )
    has_shape = (pl.col("places") >= 3) & (high > low)
    rows = rows.with_columns(
        across=pl.when(has_shape).then((k - k_low) / (k_high - k_low)),
        height=pl.when(has_shape).then((ssw - low) / (high - low)),
    )
    return rows.with_columns(
        start_height=_over(height.first(), keys), end_height=_over(height.last(), keys)
    )


def _over(expr: pl.Expr, keys: list[str]) -> pl.Expr:
    """Return the expression evaluated within each partition, with rows in the order of k."""
    return expr.over(keys, order_by="k")


def _add_knees(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return the rows of _add_curve with kneedle, the difference curve, and is_knee.

    The column is_knee is true at the first knee, or NULL in all rows if there is none. A knee is a
    local maximum of the difference curve. After a knee, the curve must fall by more than the mean
    step of k (S = 1) before the next local maximum. The original Kneedle also stops at local
    minima. This makes no difference, because the curve rises from a local minimum to the next
    maximum. Unlike in the package kneed, the ends of the curve do not count as maxima, because the
    paper compares each value with both of its neighbors. As in kneed, if several consecutive values
    are equal, the last of them counts as the maximum.
    """
    difference, place, maximum = pl.col("kneedle"), pl.col("place"), pl.col("maximum")
    left, right = pl.col("difference_before"), pl.col("difference_after")
    rows = rows.with_columns(
        kneedle=_zero_if_straight(1.0 - pl.col("height") - pl.col("across"))
    ).with_columns(
        difference_before=_over(difference.shift(1), keys),
        difference_after=_over(difference.shift(-1), keys),
    )
    # The position and value of the most recent maximum.
    is_maximum = (difference >= left) & (difference >= right)
    rows = rows.with_columns(
        last_maximum=_over(pl.when(is_maximum).then(place).forward_fill(), keys),
        maximum=_over(pl.when(is_maximum).then(difference).forward_fill(), keys),
    )
    is_found = right < maximum - 1.0 / to_double(pl.col("places") - 1)
    knee = _over(pl.when(is_found).then("last_maximum").min(), keys)
    return rows.with_columns(knee=knee).with_columns(is_knee=place == pl.col("knee"))


def _add_indices(rows: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return the rows of _add_curve, with added indices that compare neighboring values of k."""
    difference, distortion = pl.col("difference"), pl.col("distortion")
    next_difference = _over(difference.shift(-1), keys)
    jump = distortion - _over(distortion.shift(1), keys)
    return rows.with_columns(
        difference=_krzanowski_lai_difference(pl.col), distortion=_transformed_distortion(pl.col)
    ).with_columns(
        krzanowski_lai_index=finite_or_null(ratio(difference, next_difference).abs()),
        hartigan_index=_hartigan_index(pl.col),
        jump=pl.when(pl.col("k") == 1)
        .then(distortion)
        .otherwise(pl.when(pl.col("left_step") == 1).then(jump)),
        bic=_bic(pl.col),
        second_difference=_second_difference(pl.col),
        chord_distance=_chord_distance(pl.col),
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("sweep", guide="choosing_k", order=("k",), growth=SWEPT_SILHOUETTES)
def elbow(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    k: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    silhouette: Silhouette = "none",
    missing: Missing = "error",
) -> Frame:
    """Indices for choosing the number of clusters k, and the knee in the curve of ssw over k.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        One row for each combination of point and k. A LazyFrame is streamed when you collect the
        result. A List column is read a second time to find the length of its longest list.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that contain the coordinates.
        Rows in which the vector or all of its columns are NULL are left out.
    cluster : str or Expr
        The point's cluster in the clustering with this k. Rows with a NULL cluster are left out.
    k : str or Expr
        The number of clusters that you requested from the algorithm, a whole number >= 1. The
        column n_clusters may be smaller if some clusters are empty.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        The name of a scipy distance, which is not case-sensitive. The criteria were designed for
        'euclidean'.
    center : {'mean', 'median'}
        How each coordinate of a centroid is computed. Silhouettes always use means.
    silhouette : {'none', 'simplified', 'exact'}
        The method of silhouette_score that computes the column silhouette. With 'none', the column
        is NULL. 'exact' needs all points in memory.
    p, partition_by, noise, noise_as, weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and k, sorted by partition and k. The first
        columns are the partition columns and k. The column n contains the number of points that are
        evaluated, and silhouette contains the mean silhouette. The columns n_clusters, ssw,
        explained_variance, calinski_harabasz_score and davies_bouldin_score are the same as in
        internal_report. The other columns compare clusterings with different values of k:

        * krzanowski_lai_index |DIFF(k) / DIFF(k + 1)| >= 0, best high, where DIFF(k) = (k -
          1)^(2/d) ssw(k - 1) - k^(2/d) ssw(k), for d dimensions;
        * hartigan_index (ssw(k) / ssw(k + 1) - 1) (n - k - 1): above 10, one more cluster is worth
          it;
        * jump of (ssw / (n d))^(-d/2) from k - 1 to k (at k = 1: from 0), best high;
        * bic, the Bayesian information criterion, best high, which is L - (k (d + 1) / 2) ln n. L
          is the log-likelihood of spherical Gaussians with the same variance s^2 = ssw / (d (n -
          k)), each of which generates the points of its cluster. It is the sum of n_j ln(n_j / n)
          over the clusters of n_j points, minus (d / 2) (n ln(2 pi s^2) + n - k). Here, k is
          n_clusters;
        * second_difference of ssw, best high: ssw(k - 1) - 2 ssw(k) + ssw(k + 1), or twice the
          divided difference if the values of k are not consecutive;
        * chord_distance, best high: how far the curve of ssw, with both axes scaled to [0, 1], is
          below the chord between its ends;
        * kneedle, best high: Kneedle's difference curve, (1 - scaled ssw) - scaled k;
        * is_knee: true at Kneedle's first knee (S = 1).

        The indices krzanowski_lai_index, hartigan_index and jump require a clustering with exactly
        k - 1 or k + 1 clusters. These three indices are NULL if that clustering is missing or if
        they would require a division by 0. The index jump is also NULL if the power is outside the
        range of doubles, as can happen with very many dimensions. The index bic is NULL if ssw is 0
        or n is n_clusters, and unless the distance is 'euclidean' or 'sqeuclidean' and center is
        'mean'. The index second_difference is
        NULL at both ends of the curve. If the curve is flat or has fewer than 3 values of k,
        chord_distance and kneedle are NULL. The column is_knee is NULL in all rows if there is no
        knee. A flat or straight curve has no knee. A falling curve with only 3 values has no knee
        either, because the difference curve must fall after a knee. Kneedle was designed for convex
        falling curves. If the curve rises between two values of k, the first knee may be just a dip
        in the curve. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report, and if k is NULL or not a whole number >= 1.

    Notes
    -----
    docs/choosing_k.md explains the objections to the elbow method and the extent to which the
    criteria agree. It also explains how bic differs from the formula in Pelleg and Moore's paper
    and from that of other packages. In SQL: ``FROM clustereval.elbow(tbl, [x, y], cluster, k)``.

    References
    ----------
    Krzanowski and Lai (1988), doi:10.2307/2531893. Hartigan (1975), Clustering Algorithms. Sugar
    and James (2003), doi:10.1198/016214503000000666. Pelleg and Moore (2000), X-means: extending
    k-means with efficient estimation of the number of clusters, ICML. Satopaa, Albrecht, Irwin and
    Raghavan (2011), Finding a "Kneedle" in a haystack, doi:10.1109/ICDCSW.2011.20.

    Examples
    --------
    Two pairs of points are divided into one, two and three clusters:

    >>> sweep = pl.DataFrame(
    ...     {
    ...         "x": [0, 2, 9, 11] * 3,
    ...         "k": [1] * 4 + [2] * 4 + [3] * 4,
    ...         "cluster": [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 2],
    ...     }
    ... )
    >>> curve = ce.elbow(sweep, ["x"], "cluster", "k")
    >>> curve.select("k", "ssw", "hartigan_index", "second_difference").rows()
    [(1, 85.0, 40.5, None), (2, 4.0, 1.0, 79.0), (3, 2.0, None, None)]
    """
    check_choice("silhouette", silhouette, get_args(Silhouette))
    options = pass_arguments_to(check_point_options)
    number = check_sweep_k(check_frame(frame), k)
    points = read_points_in_two_passes(
        frame, vector, cluster, options, results=_ELBOW_COLUMNS, inner_key=number
    )
    *names, k_name = points.keys
    # A k without points is no place on the curve. A filter on n would also be applied by Polars 2.0
    # to the clusters, which have a column of this name.
    statistics = internal_statistics(points).filter(pl.col("n_clusters") > 0)
    scores = internal_scores(pl.col, squares_add_up=points.squares_add_up)
    rows = statistics.select(
        *names,
        pl.lit(0).alias("whole"),
        pl.col(k_name).cast(pl.Int64, strict=False).alias("k"),
        *("n", "n_dims", "n_clusters"),
        log_size_sum="log_size_sum" if points.squares_add_up else pl.lit(None, pl.Float64),
        **{name: finite_or_null(scores[name]) for name in _REPORT_COLUMNS if name in scores},
    )
    if silhouette == "none":
        rows = rows.with_columns(silhouette=pl.lit(None, pl.Float64))
    else:
        means = _mean_silhouettes(number, options, silhouette)
        rows = rows.join(means, on=[*names, "k"], how="left", nulls_equal=True)
    by = names or ["whole"]
    rows = _add_indices(_add_knees(_add_curve(rows, by), by), by)
    rows = points.with_fault_check(rows.select(*names, *_ELBOW_COLUMNS))
    rows = _with_k_check(rows, points.spreads.select(k_name).unique())
    user_keys = {name: points.keys[name] for name in names}
    return to_user_frame(frame, rows.sort(*names, "k", nulls_last=True), user_keys)


#: For each criterion of choose_k, in order: which k it recommends, in words.
CRITERIA = {
    "calinski_harabasz_score": "largest value",
    "davies_bouldin_score": "smallest value",
    "silhouette": "largest value",
    "krzanowski_lai_index": "largest value",
    "hartigan_index": "smallest k with a value <= 10",
    "jump": "largest value",
    "bic": "largest value",
    "second_difference": "largest value",
    "chord_distance": "largest value",
    "kneedle": "first knee",
    "gap": "choice of gap_statistic",
}
# The criteria that recommend a k only if its value is above 0: a straight curve, or one with
# vanishing distortion, has no best k.
_ABOVE_0 = ("jump", "second_difference", "chord_distance")
#: The reasons why a criterion recommends no k although it has values.
REFUSALS = {
    "hartigan_index": "no value <= 10",
    **dict.fromkeys(_ABOVE_0, "no value > 0"),
    "kneedle": "no knee",
    "gap": "no choice",
}
# The columns that mark the recommended k directly, independent of the values.
_CHOICES = {"kneedle": "is_knee", "gap": "is_choice"}


def _cost(criterion: str, value: pl.Expr) -> pl.Expr:
    """Return a cost that is smallest at the recommended k, and NULL at a k that cannot be it."""
    if criterion == "davies_bouldin_score":
        return value
    if criterion == "hartigan_index":
        return pl.when(value <= 10).then(to_double(pl.col("k")))
    if criterion in _ABOVE_0:
        return pl.when(value > 0).then(-value)
    if criterion in _CHOICES:
        return pl.when(pl.col(_CHOICES[criterion]).is_not_null()).then(-value)
    return -value


def _rate_criterion(rows: pl.LazyFrame, criterion: str, keys: Mapping[str, str]) -> pl.LazyFrame:
    """Rate the rows of a table from elbow or gap_statistic by a single criterion.

    The sort keys no_cost, is_other and cost put the recommended k first. In all rows, the column
    refusal contains the reason that applies if the criterion has values but recommends no k.
    """
    choice = _CHOICES.get(criterion)
    is_choice = pl.col(choice).cast(pl.Boolean).fill_null(False) if choice else pl.lit(False)
    # NaN becomes NULL, so that it is never chosen as the best value.
    value = to_double(pl.col(criterion)).fill_nan(None)
    cost = _cost(criterion, value)
    return rows.select(
        *keys,
        pl.lit(list(CRITERIA).index(criterion)).alias("place"),
        pl.lit(criterion).alias("criterion"),
        pl.lit(CRITERIA[criterion]).alias("rule"),
        pl.col("k"),
        value.alias("value"),
        pl.lit(REFUSALS.get(criterion), pl.String).alias("refusal"),
        cost.is_null().alias("no_cost"),
        (~is_choice).alias("is_other"),
        cost.alias("cost"),
    )


@table_function("curves", guide="choosing_k", order=("criterion",))
def choose_k(
    frame: Frame, gap: pl.DataFrame | pl.LazyFrame | None = None, *, partition_by: Keys = None
) -> Frame:
    """The number of clusters that each criterion recommends, given the table that elbow returns.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        A table returned by elbow, with all of its columns.
    gap : DataFrame or LazyFrame, optional
        A table returned by gap_statistic. The choice in this table is added as another criterion.
    partition_by : str, Expr or sequence of these, optional
        The partition columns of `frame` and `gap`. Each partition contains one sweep of k.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row for each combination of partition and criterion. The
        columns are the partition columns, criterion, k, value, rule, runner_up, runner_up_value and
        reason. The column criterion contains the name of the criterion's column, and the column
        rule contains the criterion's rule in words. The column k contains the number of clusters
        that the criterion recommends, and value contains the value of the criterion at this k. The
        column runner_up contains the k that the same rule would recommend next, and runner_up_value
        contains the value at that k. If several values are equal, the one with the smallest k comes
        first. If a criterion recommends no k, the column k is NULL, and the column reason contains
        a short explanation. This explanation is 'no value' if all values are NULL or NaN.
        Otherwise, it is 'no value > 0' for jump, second_difference and chord_distance, 'no value <=
        10' for hartigan_index, 'no knee' for kneedle, and 'no choice' for gap. For kneedle and gap,
        runner_up is the k with the largest value, not counting the recommended k.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or if k does not contain numbers. When you collect the result, an
        error is raised if k is NULL or not a whole number >= 1, or if a partition has two rows with
        the same k.

    Notes
    -----
    No criterion is always right. The criteria often disagree, and each of them makes its own
    assumptions, most of them that clusters are round. For other shapes, compare the
    density_based_validity of each k. Criteria that start at k = 2 cannot show that there are no
    clusters; see docs/choosing_k.md. In SQL: ``FROM clustereval.choose_k(tbl)``.

    References
    ----------
    The references of elbow, and Schubert (2023), Stop using the elbow criterion for k-means and how
    to choose the number of clusters instead, doi:10.1145/3606274.3606278.

    Examples
    --------
    >>> sweep = pl.DataFrame(
    ...     {
    ...         "x": [0, 2, 9, 11] * 3,
    ...         "k": [1] * 4 + [2] * 4 + [3] * 4,
    ...         "cluster": [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 2],
    ...     }
    ... )
    >>> choices = ce.choose_k(ce.elbow(sweep, ["x"], "cluster", "k"))
    >>> choices.filter(pl.col("criterion").is_in(["hartigan_index", "second_difference"])).rows()
    [('hartigan_index', 2, 1.0, 'smallest k with a value <= 10', None, None, None), \
('second_difference', 2, 79.0, 'largest value', None, None, None)]
    """
    lazy = check_frame(frame)
    keys: dict[str, str] = check_partition_keys(lazy, partition_by, _CHOICE_COLUMNS)
    own: list[str] = [name for name in CRITERIA if name != "gap"]
    swept = read_sweep(lazy, "frame", keys, [*own, "is_knee"]).cache()
    rated = [_rate_criterion(swept, name, keys) for name in own]
    if gap is not None:
        chosen = read_sweep(check_frame(gap), "gap", keys, ["gap", "is_choice"]).cache()
        rated.append(_rate_criterion(chosen, "gap", keys))
    rows = pl.concat(rated)
    by = [*keys, "place"]
    order = ["no_cost", "is_other", "cost", "k"]
    rank = pl.int_range(1, pl.len() + 1).over(by, order_by=order)
    rows = rows.with_columns(rank=pl.when(~pl.col("no_cost")).then(rank))

    def ranked(column: str, rank: int) -> pl.Expr:
        """Return the value of a column in the row with the given rank within its group."""
        return pl.col(column).filter(pl.col("rank") == rank).max()

    choices = rows.group_by(by).agg(
        pl.col("criterion").first(),
        k=ranked("k", 1),
        value=ranked("value", 1),
        rule=pl.col("rule").first(),
        runner_up=ranked("k", 2),
        runner_up_value=ranked("value", 2),
        reason=pl.when(pl.col("value").count() == 0)
        .then(pl.lit("no value"))
        .when(pl.col("no_cost").all())
        .then(pl.col("refusal").first()),
    )
    choices = choices.sort(by, nulls_last=True).select(*keys, *_CHOICE_COLUMNS)
    return to_user_frame(frame, choices, keys)


_CHOICE_COLUMNS = ("criterion", "k", "value", "rule", "runner_up", "runner_up_value", "reason")
