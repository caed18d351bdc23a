"""states: cluster statistics that you can store so that later reports do not need the points.

A state describes some points of a cluster by their number, mean and sums of squared deviations.
States of different points in the same cluster can be merged into a single state of all these
points. A mean is stored as the sum of two numbers, mean and mean_correction. If a mean far from 0
were stored as a single number, the digits in which the means of two parts differ would be lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import polars as pl

from polars_clustereval.base.checks import (
    check_choice,
    check_column_names,
    check_frame,
    check_groupable,
    check_noise_of_clusters,
    check_partition_keys,
    key_columns,
    raise_on_collect,
)
from polars_clustereval.base.deferral import collect_now
from polars_clustereval.base.exact import clamped_mean, to_double
from polars_clustereval.base.frames import Terms, join_partitions, join_small, to_user_frame
from polars_clustereval.base.growth import PAIRS_OF_CENTERS
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .distances import Distance, LongVectors, WideVectors, check_weights, weight_factors
from .kernels import long_vectors
from .point_faults import non_finite_as_text
from .report import internal_report_columns, report_of_clusters
from .scatter import internal_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseOfClusters

    from .vectors import Missing, Vector

StateDistance = Literal["euclidean", "sqeuclidean"]
_DISTANCES = get_args(StateDistance)

_COUNTS = ("n", "n_dropped", "n_noise")
_LISTS = ("mean", "mean_correction", "m2", "minimum", "maximum")
_OPTIONAL = ("n_dropped", "n_noise", "mean_correction")
_STATE_COLUMNS = ("cluster", *_COUNTS, *_LISTS)
#: Scores of internal_report that need the mean distances of points to centers.
_NEED_MEAN_DISTANCES = ("compactness", "davies_bouldin_score", "pbm_index")

# ----------------------------------------------------------------------------------------------
# Means stored as two numbers
# ----------------------------------------------------------------------------------------------


def _sum_error(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Return the exact sum x + y minus the Float64 sum, computed by Knuth's TwoSum algorithm."""
    total = x + y
    part = total - x
    return (x - (total - part)) + (y - part)


def _mean_terms(reference: str, shift: str, low: str, high: str) -> tuple[pl.Expr, pl.Expr]:
    """Return the sum of two columns as mean and mean_correction, clamped from `low` to `high`."""
    a, b = pl.col(reference), pl.col(shift)
    is_inside = (a + b).is_between(pl.col(low), pl.col(high))
    correction = pl.when(is_inside).then(_sum_error(a, b)).otherwise(0.0)
    return (a + b).clip(pl.col(low), pl.col(high)), correction


# ----------------------------------------------------------------------------------------------
# Reading
# ----------------------------------------------------------------------------------------------


class _States(NamedTuple):
    """The validated rows of a user's table of states."""

    #: The partition columns (inner names), cluster, and the columns of _COUNTS and _LISTS.
    rows: pl.LazyFrame
    #: The inner names of the partition columns, with the user's names.
    keys: dict[str, str]
    #: Number of coordinates; 0 if there are no points.
    dims: int


def _read_states(
    frame: pl.DataFrame | pl.LazyFrame, partition_by: Keys, results: Sequence[str]
) -> _States:
    """Read and check the rows of a table of states. `results` are no names of partition columns."""
    lazy = check_frame(frame)
    keys = check_partition_keys(lazy, partition_by, results)
    schema = lazy.collect_schema()
    required = [name for name in _STATE_COLUMNS if name not in _OPTIONAL]
    check_column_names(required, "states", schema.names())
    given = [name for name in _STATE_COLUMNS if name in schema]
    for name in given[1:]:
        _check_type(name, schema[name])
    rows = lazy.select(
        *key_columns(keys),
        check_groupable(lazy, "cluster", "cluster"),
        *(pl.col(name) if name in given else pl.lit(0).alias(name) for name in _COUNTS),
        *(pl.col(name).cast(pl.List(pl.Float64)) for name in _LISTS if name in given),
    )
    zeros = pl.col("mean").list.eval(0.0 * pl.element().fill_nan(0.0).fill_null(0.0))
    correction = pl.col("mean_correction") if "mean_correction" in given else pl.lit(None)
    rows = rows.with_columns(
        pl.col("n_dropped", "n_noise").fill_null(0), mean_correction=pl.coalesce(correction, zeros)
    )
    dims = _check_lengths(rows)
    _check_values(rows)
    return _States(rows.with_columns(pl.col(_COUNTS).cast(pl.Int64)), keys, dims)


def _check_type(name: str, dtype: pl.DataType) -> None:
    """Raise an error unless the column `name` in a table of states has the required type."""
    expected, fits = "whole numbers >= 0", dtype.is_numeric()
    if name in _LISTS:
        inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else None
        expected = "lists of numbers"
        fits = isinstance(inner, pl.DataType) and (inner.is_numeric() or inner == pl.Null)
    if not (fits or (name in _OPTIONAL and dtype == pl.Null)):
        raise ClusterEvalError(
            f"states: expected {expected} in the column {name}, got a column of type {dtype}"
        )


def _raise_fault(fault: str | None) -> None:
    """Raise an error if `fault` says what was expected and what was found."""
    if fault is not None:
        raise ClusterEvalError(f"states: expected {fault}")


def _check_lengths(rows: pl.LazyFrame) -> int:
    """Return the number of coordinates in valid states, or 0 if there are no points."""
    has_points = pl.col("n") > 0
    dims = pl.col("mean").list.len().filter(has_points).max()
    expected = pl.max_horizontal(dims, 1)
    of_points = [
        pl.when(pl.col("cluster").is_null()).then(
            pl.lit("a cluster for each state of points, got NULL")
        ),
        *(_length_fault(name, expected) for name in _LISTS),
    ]
    faults = [
        *(_count_fault(name) for name in _COUNTS),
        *(pl.when(has_points).then(fault) for fault in of_points),
    ]
    facts = rows.select(dims=dims, fault=pl.coalesce(faults).min())
    known, fault = collect_now(facts).row(0)
    _raise_fault(fault)
    return known or 0


def _count_fault(name: str) -> pl.Expr:
    """Return what is wrong with the count in a column, or NULL."""
    x = to_double(pl.col(name))
    is_count = (x >= 0) & (x < 1e15) & (x == x.floor())
    given = pl.col(name).cast(pl.String).str.to_lowercase().fill_null("NULL")
    fault = pl.format(f"whole numbers >= 0 in the column {name}, got {{}}", given)
    return pl.when(~is_count.fill_null(False)).then(fault)


def _length_fault(name: str, dims: pl.Expr) -> pl.Expr:
    """Return what is wrong with the length of a list, which must be `dims`, or NULL."""
    length = pl.col(name).list.len()
    missing = pl.lit(f"a list for each state of points in the column {name}, got NULL")
    other = pl.format(f"lists of length {{}} in the column {name}, got length {{}}", dims, length)
    return pl.when(length.is_null()).then(missing).when(length != dims).then(other)


def _check_values(rows: pl.LazyFrame) -> None:
    """Raise an error if a list in a state with points contains an invalid number."""
    low, mean, high = pl.col("minimum"), pl.col("mean"), pl.col("maximum")
    order = pl.format("minimum <= mean <= maximum, got {} <= {} <= {}", low, mean, high)
    negative = pl.format("numbers >= 0 in the column m2, got {}", "m2")
    faults = [
        *map(_finite_fault, _LISTS),
        pl.when(pl.col("m2") < 0).then(negative),
        pl.when(~((low <= mean) & (mean <= high))).then(order),
    ]
    values = _explode_states(rows).select(fault=pl.coalesce(faults).min())
    _raise_fault(collect_now(values).item())


def _finite_fault(name: str) -> pl.Expr:
    """Return what is wrong with the number in a column, or NULL if it is finite."""
    x = pl.col(name)
    fault = pl.format(f"finite numbers in the column {name}, got {{}}", non_finite_as_text(x))
    return pl.when(~x.is_finite().fill_null(False)).then(fault)


def _explode_states(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row for each coordinate i (from 0) of each state that has points."""
    places = pl.int_ranges(0, pl.col("mean").list.len()).alias("i")
    return rows.filter(pl.col("n") > 0).with_columns(places).explode("i", *_LISTS)


# ----------------------------------------------------------------------------------------------
# States of points
# ----------------------------------------------------------------------------------------------


def _point_moments(points: Points) -> pl.LazyFrame:
    """Return the _LISTS of each cluster, from a pass for the means and one for the deviations."""
    keys = points.cluster_keys
    is_long = isinstance(points.form, LongVectors)
    lists = _long_deviations(points) if is_long else _wide_deviations(points)
    names = ["reference", "shift", "m2", "minimum", "maximum"]
    if points.origins is not None:
        origins = points.origins.select(*points.partition_keys, origin=_origin_list(points))
        lists = join_partitions(lists, points.partition_keys, origins)
        names.append("origin")
    places = pl.int_ranges(0, pl.col("reference").list.len()).alias("i")
    values = lists.with_columns(places).explode("i", *names)
    if points.origins is not None:
        # The mean is origin + reference + shift, where the first sum is represented by two numbers.
        origin, reference = pl.col("origin"), pl.col("reference")
        values = values.with_columns(
            reference=origin + reference, shift=pl.col("shift") + _sum_error(origin, reference)
        )
    mean, correction = _mean_terms("reference", "shift", "minimum", "maximum")
    values = values.with_columns(mean=mean, mean_correction=correction)
    return values.group_by(keys).agg(pl.col(_LISTS).sort_by("i"))


def _origin_list(points: Points) -> pl.Expr:
    """Return the origin of a partition as a list, which is all zeros if no points are shifted."""
    form = points.form
    if isinstance(form, LongVectors):
        return pl.col("origin").fill_null(pl.lit([0.0] * form.dims))
    return pl.concat_list(form.columns("origin"))


def _wide_deviations(points: Points) -> pl.LazyFrame:
    """Return the lists reference (means), shift (mean deviations from them), m2 and extremes."""
    form, keys = points.form, points.cluster_keys
    means = points.centers.select(*keys, *form.columns("m"))
    rows = points.kept_rows.select(*keys, *form.columns("x"), *form.columns("raw_x"))
    terms: Terms = {}
    for i in range(form.dims):
        x, raw = pl.col(f"x_{i}") - pl.col(f"m_{i}"), pl.col(f"raw_x_{i}")
        m2 = pl.when(x.min() < x.max()).then(x.var(ddof=0) * pl.len()).otherwise(0.0)
        terms |= {f"shift_{i}": clamped_mean(x), f"m2_{i}": m2}
        terms |= {f"low_{i}": raw.min(), f"high_{i}": raw.max()}
    sums = join_small(rows, keys, means).group_by(keys).agg(**terms)
    names = {"reference": "m", "shift": "shift", "m2": "m2", "minimum": "low", "maximum": "high"}
    return means.join(sums, on=keys, nulls_equal=True).select(
        *keys, **{name: pl.concat_list(form.columns(short)) for name, short in names.items()}
    )


def _long_deviations(points: Points) -> pl.LazyFrame:
    """Return the result of _wide_deviations for LongVectors, computed by numpy."""
    form, keys = points.form, points.cluster_keys
    means = points.centers.select(*keys, reference=pl.col("m").arr.to_list())
    rows = join_small(points.kept_rows.select(*keys, "x"), keys, means)
    deviation = long_vectors.subtract_origin(pl.col("x"), pl.col("reference"), form.dims)
    moments = long_vectors.compute_centers(
        rows.select(*keys, x=deviation), keys, points.partition_keys, form.dims, unit=False
    )
    extremes = long_vectors.find_extremes(points.kept_rows, keys, form.dims)
    # v has variances; the product is exactly 0 where they are 0.
    sums = moments.select(
        *keys, shift=pl.col("m").arr.to_list(), m2=(pl.col("v") * pl.col("size")).arr.to_list()
    )
    limits = extremes.select(
        *keys, minimum=pl.col("low").arr.to_list(), maximum=pl.col("high").arr.to_list()
    )
    joined = means.join(sums, on=keys, nulls_equal=True)
    return joined.join(limits, on=keys, nulls_equal=True)


# ----------------------------------------------------------------------------------------------
# Merging
# ----------------------------------------------------------------------------------------------


def _merge_states(states: _States) -> pl.LazyFrame:
    """Merge all states of each cluster into a single row."""
    by = [*states.keys, "cluster"]
    counts = states.rows.group_by(by).agg(pl.col(_COUNTS).sum())
    coordinates = _merge_coordinates(_explode_states(states.rows), [*by, "i"])
    lists = coordinates.group_by(by).agg(pl.col(_LISTS).sort_by("i"))
    return counts.join(lists, on=by, how="left", nulls_equal=True).select(*by, *_COUNTS, *_LISTS)


def _merge_coordinates(values: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the _LISTS merged by the columns `by`, from one row for each state and coordinate.

    The formula by Chan, Golub and LeVeque is applied to any number of states: m2 = sum of m2_i +
    sum of n_i (mean_i - mean)^2. Before the means are squared, `reference` is subtracted from them,
    which is the overall mean, up to rounding errors.
    """
    n, mean, deviation = to_double(pl.col("n")), pl.col("mean"), pl.col("deviation")
    # Both uses need exactly the same references, and a second evaluation might add numbers in
    # another order.
    references = values.group_by(by).agg(reference=_weighted_mean(n, mean)).cache()
    centered = join_small(values, by, references).with_columns(
        deviation=(mean - pl.col("reference")) + pl.col("mean_correction")
    )
    shifts = centered.group_by(by).agg(shift=_weighted_mean(n, deviation))
    sums = join_small(centered, by, shifts).group_by(by)
    merged = sums.agg(
        pl.col("reference", "shift").first(),
        m2=pl.col("m2").sum() + (n * (deviation - pl.col("shift")).pow(2)).sum(),
        minimum=pl.col("minimum").min(),
        maximum=pl.col("maximum").max(),
    )
    mean, correction = _mean_terms("reference", "shift", "minimum", "maximum")
    varies = pl.col("minimum") < pl.col("maximum")
    return merged.with_columns(
        mean=mean, mean_correction=correction, m2=pl.when(varies).then("m2").otherwise(0.0)
    )


def _weighted_mean(n: pl.Expr, x: pl.Expr) -> pl.Expr:
    """Return the mean of x weighted by n, which is exact if all numbers are equal."""
    return ((n * x).sum() / n.sum()).clip(x.min(), x.max())


# ----------------------------------------------------------------------------------------------
# States as points
# ----------------------------------------------------------------------------------------------


def _points_of_states(states: _States, distance: Distance, factors: list[float]) -> Points:
    """Return the clusters of `states` as Points with centers and spreads but without rows.

    Sums of distances are always those of sqeuclidean, because states do not contain enough
    information about others. The sum of squared distances to any center is the sum of squared
    distances to the mean, plus n times the squared distance between the center and the mean.
    """
    form = WideVectors(len(factors), distance, factors, is_moved=True)
    merged = _merge_states(states).cache()
    by, keys = [*states.keys, "cluster"], list(states.keys)
    centers = _state_centers(merged.filter(pl.col("n") > 0), form, by, keys)
    centers = form.add_partition_centers(centers, centers, keys, "mean").cache()
    size = to_double(pl.col("size"))
    ssw = size * pl.sum_horizontal(form.coordinates("v"))
    gap = distance.squared(form.distance_between("c", "g"))
    sums = centers.select(*by, distances=ssw, ssw=ssw, overall_distances=ssw + size * gap)
    spreads = merged.select(
        *by, *_COUNTS, n_invalid=pl.lit(0, pl.Int64), radius=pl.lit(None, pl.Float64)
    )
    spreads = spreads.join(sums, on=by, how="left", nulls_equal=True).cache()
    points = Points(merged, states.keys, form, "mean", has_singletons=False)
    return points.with_frames(all_centers=centers, spreads=spreads)


def _state_centers(
    merged: pl.LazyFrame, form: WideVectors, by: list[str], keys: list[str]
) -> pl.LazyFrame:
    """Return the size, m, v and c of each cluster, shifted and scaled like points."""
    names = {"mean": "mean", "mean_correction": "rest", "m2": "m2", "minimum": "low"}
    columns: Terms = {"size": pl.col("n")}
    for name, short in (names | {"maximum": "high"}).items():
        numbers = pl.col(name).list
        columns |= {column: numbers.get(i) for i, column in enumerate(form.columns(short))}
    wide = merged.select(*by, **columns)
    rows = join_partitions(wide, keys, form.origins_of_clusters(wide, keys))
    terms: Terms = {}
    for i, factor in enumerate(form.factors):
        mean, rest, m2, low, high, origin = (
            pl.col(f"{name}_{i}") for name in ("mean", "rest", "m2", "low", "high", "origin")
        )
        moved = ((mean - origin) + rest).clip(low - origin, high - origin)
        terms |= {f"m_{i}": moved * factor, f"v_{i}": m2 / pl.col("size") * factor**2}
    return form.add_directions(rows.select(*by, "size", **terms), "m", "c")


def _raise_out_of_range(found: pl.DataFrame) -> None:
    """Raise an error if either value in the row `found` is true."""
    overflows, underflows = found.row(0)
    if underflows:
        raise ClusterEvalError("states: distances underflow; scale the coordinates up")
    if overflows:
        raise ClusterEvalError("states: distances overflow; scale the coordinates down")


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points of states", guide="states", order=("cluster",))
def cluster_states(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseOfClusters | None = None,
    missing: Missing = "error",
) -> Frame:
    """Cluster statistics of a run, which you can save for later reports.

    Later reports need only these states, not the points. States of the same cluster can be merged.
    If the data is split into parts, call internal_report_from_states with the states of all parts
    to get the internal_report of all points.

    Parameters
    ----------
    noise_as : {'cluster', 'drop'}, needed with noise
        Whether noise is treated as an ordinary cluster or left out.
    frame, vector, cluster, partition_by, noise, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per cluster, sorted by partition and cluster. The first
        columns are the partition columns, the cluster, and the counts n, n_dropped and n_noise. The
        count n is the number of points in the cluster, and n_dropped is the number of rows that
        lack a vector or a cluster. The other columns are the lists mean, mean_correction, m2,
        minimum and maximum, which have one number per coordinate. The list m2 contains the sums of
        squared deviations from the mean. The sum mean + mean_correction represents the mean more
        precisely than a single number could. If all rows of a cluster are left out, the cluster has
        n = 0 and no lists. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report.

    Notes
    -----
    docs/states.md explains what can be merged and what cannot.
    In SQL: ``FROM clustereval.cluster_states(tbl, [x, y], cluster)``.

    References
    ----------
    Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance,
    doi:10.1080/00031305.1983.10483115.

    Examples
    --------
    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> ce.cluster_states(four, ["x", "y"], "cluster").select("cluster", "n", "mean", "m2").rows()
    [('a', 2, [1.0, 0.0], [2.0, 0.0]), ('b', 2, [9.0, 2.0], [0.0, 8.0])]
    """
    check_noise_of_clusters(noise, noise_as)
    options = pass_arguments_to(check_point_options)
    points = read_points(frame, vector, cluster, options, results=_STATE_COLUMNS)
    keys = points.cluster_keys
    counts = points.spreads.select(*keys, *_COUNTS)
    states = counts.join(_point_moments(points), on=keys, how="left", nulls_equal=True)
    states = states.filter(pl.sum_horizontal(_COUNTS) > 0)
    return points.to_result(frame, states.select(*keys, *_COUNTS, *_LISTS), ["cluster"])


@table_function("states", guide="states", order=("cluster",))
def merge_cluster_states(frame: Frame, *, partition_by: Keys = None) -> Frame:
    """One state per cluster, merged from several states, for example from different days.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        A result of cluster_states, or several such results concatenated. The columns n_dropped,
        n_noise and mean_correction may be missing or NULL, and are then treated as 0. A LazyFrame
        is checked and merged when you collect the result.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are merged separately. NULL is also a group.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per cluster and the columns of cluster_states, sorted by
        partition and cluster. If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or does not contain numbers, if a count is not a whole number >=
        0, if lists differ in length or contain NULL, NaN or infinite numbers, if an m2 value is
        negative, or if a mean is not between minimum and maximum.

    Notes
    -----
    In SQL: ``FROM clustereval.merge_cluster_states(tbl)``.

    References
    ----------
    Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance,
    doi:10.1080/00031305.1983.10483115.

    Examples
    --------
    >>> points = pl.DataFrame({"day": [1, 1, 2], "x": [0.0, 2.0, 7.0], "cluster": ["a", "a", "a"]})
    >>> states = ce.cluster_states(points, ["x"], "cluster", partition_by="day")
    >>> ce.merge_cluster_states(states).select("cluster", "n", "mean", "m2").rows()
    [('a', 3, [3.0], [26.0])]
    """
    states: _States = _read_states(frame, partition_by, _STATE_COLUMNS)
    by = [*states.keys, "cluster"]
    merged = _merge_states(states).filter(pl.sum_horizontal(_COUNTS) > 0)
    return to_user_frame(frame, merged.sort(by, nulls_last=True), states.keys)


@table_function("states", guide="states", growth=PAIRS_OF_CENTERS)
def internal_report_from_states(
    frame: Frame,
    *,
    distance: StateDistance = "euclidean",
    partition_by: Keys = None,
    weights: Sequence[float] | None = None,
    metrics: Sequence[str] | None = None,
) -> Frame:
    """The internal_report of points, computed from the saved states of their clusters.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        A result of cluster_states, or several such results concatenated. States of the same cluster
        are merged. The columns n_dropped, n_noise and mean_correction may be missing or NULL, and
        are then treated as 0. A LazyFrame is checked when you collect the result.
    distance : {'euclidean', 'sqeuclidean'}
        The name of the distance between points, which is not case-sensitive. Only 'euclidean' and
        'sqeuclidean' are available, because sums of other distances cannot be merged.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is also a group.
    weights : sequence of float, optional
        One positive weight for each dimension, as in scipy.
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Computations needed only for the other columns are skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with the rows and the columns of internal_report for all points in the
        states. The indices compactness, davies_bouldin_score and pbm_index depend on
        mean distances. Because mean distances can be merged for sqeuclidean but not for euclidean,
        these three indices are NULL for euclidean.

    Raises
    ------
    ClusterEvalError
        If an option is unknown, if a column does not exist or does not contain numbers, if a count
        is not a whole number >= 0, if lists differ in length or contain NULL, NaN or infinite
        numbers, if an m2 value is negative, or if a mean is not between minimum and maximum. When
        you collect the result, an error is also raised if distances overflow.

    Notes
    -----
    In SQL: ``FROM clustereval.internal_report_from_states(tbl)``.

    References
    ----------
    Chan, Golub and LeVeque (1983), Algorithms for computing the sample variance,
    doi:10.1080/00031305.1983.10483115.

    Examples
    --------
    Each of two nights has some points of both clusters:

    >>> first = pl.DataFrame({"x": [0, 9], "y": [0, 0], "cluster": ["a", "b"]})
    >>> second = pl.DataFrame({"x": [2, 9], "y": [0, 4], "cluster": ["a", "b"]})
    >>> kept = [ce.cluster_states(night, ["x", "y"], "cluster") for night in (first, second)]
    >>> report = ce.internal_report_from_states(pl.concat(kept))
    >>> report.select("n_clusters", "ssw", "ssb", "calinski_harabasz_score").rows()
    [(2, 10.0, 68.0, 13.6)]
    """
    name = distance.lower() if isinstance(distance, str) else distance
    if name not in _DISTANCES:
        hint = "; sums of other distances cannot be merged"
        check_choice("distance", distance, _DISTANCES, hint)
    measure = Distance(name, 2.0)
    numbers = check_weights(weights, measure)
    states = _read_states(frame, partition_by, internal_report_columns())
    # Without points, there is one coordinate of NULLs, to which no weight belongs.
    factors = weight_factors(numbers if states.dims else None, measure, max(states.dims, 1))
    points = _points_of_states(states, measure, factors)
    scores = internal_scores(pl.col, squares_add_up=True)
    if name == "euclidean":
        scores |= dict.fromkeys(_NEED_MEAN_DISTANCES, pl.lit(None, pl.Float64))
    report = report_of_clusters(points, scores)
    mean = pl.col("m_0")
    found = points.all_centers.select(
        overflows=mean.is_null().any(), underflows=mean.is_nan().any()
    )
    return points.to_result(
        frame, raise_on_collect(report, found, _raise_out_of_range), metrics=metrics
    )
