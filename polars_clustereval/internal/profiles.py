"""profiles: what distinguishes each cluster, and which columns separate the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.exact import ratio, to_double, widen
from polars_clustereval.base.frames import join_partitions, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .profile_statistics import (
    ProfileCall,
    associate_categories,
    check_numbers,
    compare_numbers,
    count_categories,
    count_shares,
    read_columns,
    share_excess,
    sum_bases,
    sum_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseOfClusters


def _v_test(difference: pl.Expr, n: pl.Expr, all_n: pl.Expr, all_m2: pl.Expr) -> pl.Expr:
    """Return the v-test of `difference`, the mean of n rows minus the mean of all other rows.

    It is the mean of the n rows minus the mean of all rows, divided by the standard deviation of
    the mean of n rows drawn without replacement. `all_m2` is the sum of squared deviations of all
    rows from their mean. The v-test is NULL if there are no other rows, or if all values are equal.
    """
    rows = to_double(widen(n) * widen(all_n - n)) * to_double(all_n - 1)
    return difference * ratio(rows, to_double(all_n) * all_m2).sqrt()


def _numbers_and_categories(
    call: ProfileCall,
) -> tuple[pl.LazyFrame | None, pl.LazyFrame | None]:
    """Return the results of sum_numbers and count_categories, or None if not needed."""
    has_numbers = bool(call.places(of_categories=False))
    return sum_numbers(call).cache() if has_numbers else None, count_categories(call)


def _profiled_columns(call: ProfileCall) -> pl.LazyFrame:
    """Return one row per profiled column, with column_no, column_name and kind."""
    rows = [(i, name, kind) for i, (name, kind) in enumerate(call.kinds.items())]
    schema = {"column_no": pl.Int32, "column_name": pl.String, "kind": pl.String}
    return pl.LazyFrame(rows, schema, orient="row")


_CLUSTER_PROFILE = (
    *("cluster", "column_name", "kind", "category", "n", "mean", "std", "rest_mean"),
    *("difference", "v_test"),
)


@table_function("attributes", order=("cluster",), guide="profiles")
def cluster_profile(
    frame: Frame,
    columns: str | Sequence[str],
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseOfClusters | None = None,
) -> Frame:
    """What distinguishes each cluster from the others: means and shares of columns, with a v-test.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to describe. When you collect the result, a LazyFrame is streamed twice for numbers
        and once for each category column.
    columns : str or sequence of str
        Names of the columns to describe. A column may contain numbers, dates and times, or
        categories. Dates and times are converted to days since 1970-01-01. Categories are text,
        enumerations or Boolean values.
    cluster : str or Expr
        The assigned cluster, of any type that can be grouped. Rows with a NULL cluster are left
        out.
    noise_as : {'cluster', 'drop'}, needed with noise
        Whether noise counts as an ordinary cluster or is left out.
    weight, partition_by, noise : as in external_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, sorted by partition, cluster, and the absolute value of v_test, with
        the largest first. The columns are the partition columns, cluster, column_name, kind,
        category, n, mean, std, rest_mean, difference and v_test. kind is one of

        - 'number' and 'date': one row per cluster and column that has values in the cluster. n is
          the number of rows with a value. mean and std describe the cluster, and rest_mean is the
          mean of all other clusters.
        - 'category': one row per cluster and category, if the category occurs in the cluster, or if
          at least 5 of its rows would be expected there. n is the number of rows with the category.
          mean and rest_mean are the shares of the category, from 0 to 1, among the rows that have
          any category.
        - 'missing': one row per cluster for each column with NULLs. n is the number of rows without
          a value. mean and rest_mean are the shares of such rows among all rows.

        std is the square root of the sum of squared deviations divided by n, or NULL for shares.
        difference is mean - rest_mean, and v_test is the test value of the difference. If the
        clusters are unrelated to the column, v_test is approximately standard normal, so an
        absolute value above 2 is unlikely to be due to chance. If the column was used to form the
        clusters, use v_test only to rank columns. rest_mean, difference and v_test are NULL if
        there are no other rows. v_test is also NULL if all values are equal. If there are no rows,
        the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_report, and if a column does not exist, is listed twice,
        has an unsupported type, or contains numbers that are not finite or that overflow when
        squared.

    Notes
    -----
    Let m be the mean and s the standard deviation of all N rows that have a value, and let m_c be
    the mean of the n rows of a cluster. Then v_test is (m_c - m) / (s sqrt((N - n) / (N - 1) / n)).
    A share is the mean of zeros and ones.
    In SQL: ``FROM clustereval.cluster_profile(tbl, columns, cluster)``.

    References
    ----------
    Lebart, Morineau and Piron (1995), Statistique exploratoire multidimensionnelle, Dunod. The
    function catdes in FactoMineR returns the same numbers: Lê, Josse and Husson (2008), FactoMineR:
    an R package for multivariate analysis, doi:10.18637/jss.v025.i01.

    Examples
    --------
    Cluster b differs in weight, but hardly in color:

    >>> fruit = pl.DataFrame(
    ...     {
    ...         "grams": [5, 6, 7, 80, 90, 100],
    ...         "color": ["red", "red", "blue", "red", "blue", "blue"],
    ...         "cluster": ["a", "a", "a", "b", "b", "b"],
    ...     }
    ... )
    >>> profile = ce.cluster_profile(fruit, ["grams", "color"], "cluster").filter(cluster="b")
    >>> profile.select("column_name", "category", pl.col("mean", "v_test").round(2)).rows()
    [('grams', None, 90.0, 2.22), ('color', 'blue', 0.67, 0.75), ('color', 'red', 0.33, -0.75)]
    """
    call: ProfileCall = pass_arguments_to(read_columns, results=_CLUSTER_PROFILE)
    numbers, cells = _numbers_and_categories(call)
    bases = sum_bases(call, numbers, cells).cache()
    parts = [_profile_shares(call, count_shares(call, cells, bases))]
    if numbers is not None:
        parts.append(_profile_numbers(call, compare_numbers(call, numbers)))
    profile = pl.concat(parts, how="diagonal_relaxed").join(_profiled_columns(call), on="column_no")
    if numbers is not None:
        profile = check_numbers(call, numbers, profile)
    size = pl.col("v_test").abs().round(9)
    order = [*call.by, size, "column_no", "is_missing", "category"]
    descending = [term is size for term in order]
    kind = pl.when("is_missing").then(pl.lit("missing")).otherwise("kind").alias("kind")
    ordered = profile.with_columns(kind).sort(order, descending=descending, nulls_last=True)
    return to_user_frame(frame, ordered.select(*call.keys, *_CLUSTER_PROFILE), call.keys)


def _profile_numbers(call: ProfileCall, compared: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of cluster_profile for numeric columns."""
    difference = pl.col("deviation") - pl.col("rest_deviation")
    v_test = _v_test(difference, pl.col("n"), pl.col("all_n"), pl.col("all_m2"))
    return compared.select(
        *call.by,
        "column_no",
        pl.lit(False).alias("is_missing"),
        pl.lit(None, pl.String).alias("category"),
        "n",
        "mean",
        ratio(pl.col("m2"), pl.col("n")).sqrt().alias("std"),
        "rest_mean",
        difference.alias("difference"),
        v_test.alias("v_test"),
    )


def _profile_shares(call: ProfileCall, shares: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of cluster_profile for the shares of categories and missing values."""
    n, all_of = pl.col("n"), pl.col("all_of")
    cluster_n, all_n = pl.col("cluster_n"), pl.col("all_n")
    rest_n = all_n - cluster_n
    excess = share_excess(n, all_of, cluster_n, all_n)
    difference = ratio(excess, widen(cluster_n) * widen(rest_n))
    all_m2 = ratio(widen(all_of) * widen(all_n - all_of), all_n)
    return shares.filter(cluster_n > 0).select(
        *call.by,
        "column_no",
        "is_missing",
        "category",
        "n",
        ratio(n, cluster_n).alias("mean"),
        pl.lit(None, pl.Float64).alias("std"),
        ratio(all_of - n, rest_n).alias("rest_mean"),
        difference.alias("difference"),
        _v_test(difference, cluster_n, all_n, all_m2).alias("v_test"),
    )


_COLUMN_PROFILE = (
    *("column_name", "kind", "n", "n_missing", "n_categories"),
    *("eta_squared", "cramers_v", "association"),
)


@table_function("attributes", guide="profiles")
def column_profile(
    frame: Frame,
    columns: str | Sequence[str],
    cluster: Column,
    *,
    weight: Column | None = None,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseOfClusters | None = None,
) -> Frame:
    """How well each column separates the clusters, measured by the correlation ratio or Cramér's V.

    Parameters
    ----------
    frame, columns, cluster, weight, partition_by, noise, noise_as : as in cluster_profile

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per column, sorted by partition and association, with the
        strongest association first. The columns are the partition columns, column_name and the
        following:

        - kind: 'number', 'date' or 'category'.
        - n and n_missing: the numbers of rows with and without a value.
        - n_categories: the number of categories, or NULL for numbers and dates.
        - eta_squared (0 to 1): the correlation ratio of numbers or dates, which is the share of
          their sum of squares that lies between the clusters. eta_squared is NULL for categories,
          and if there are fewer than two different values or fewer than two clusters.
        - cramers_v (0 to 1): Cramér's V between category and cluster. cramers_v is NULL for numbers
          and dates, and if there are fewer than two categories or fewer than two clusters.
        - association: the square root of eta_squared for numbers and dates, or cramers_v for
          categories. The two measures are comparable.

        If there are no rows, n is 0 and every measure is NULL. With partition_by, the result is
        empty if there are no rows.

    Raises
    ------
    ClusterEvalError
        For the same reasons as cluster_profile.

    Notes
    -----
    Cramér's V is sqrt(chi² / (n (min(categories, clusters) - 1))), without a correction.
    In SQL: ``FROM clustereval.column_profile(tbl, columns, cluster)``.

    References
    ----------
    Cramér (1946), Mathematical methods of statistics, Princeton University Press. Pearson (1905),
    On the general theory of skew correlation and non-linear regression, Dulau.

    Examples
    --------
    The weight separates the clusters, but the color does not:

    >>> fruit = pl.DataFrame(
    ...     {
    ...         "color": ["red", "blue", "red", "blue"],
    ...         "grams": [5, 7, 80, 90],
    ...         "cluster": ["a", "a", "b", "b"],
    ...     }
    ... )
    >>> profile = ce.column_profile(fruit, ["color", "grams"], "cluster")
    >>> profile.select("column_name", pl.col("association").round(3)).rows()
    [('grams', 0.996), ('color', 0.0)]
    """
    call: ProfileCall = pass_arguments_to(read_columns, results=_COLUMN_PROFILE)
    numbers, cells = _numbers_and_categories(call)
    bases = sum_bases(call, numbers, cells).cache()
    counts = bases.group_by(call.of_column).agg(pl.col("n", "n_missing").sum())
    parts = _profiled_columns(call)
    if call.partitions is not None:
        parts = join_partitions(parts, [], call.partitions)
    profile = parts.join(counts, on=call.of_column, how="left", nulls_equal=True)
    unknown = {"n_categories": pl.Int64, "eta_squared": pl.Float64, "cramers_v": pl.Float64}
    for measures in _measures_of_columns(call, numbers, cells, bases):
        profile = profile.join(measures, on=call.of_column, how="left", nulls_equal=True)
    names = profile.collect_schema().names()
    profile = profile.with_columns(
        pl.col("n", "n_missing").fill_null(0),
        *(pl.lit(None, dtype).alias(name) for name, dtype in unknown.items() if name not in names),
    )
    if numbers is not None:
        profile = check_numbers(call, numbers, profile)
    n_categories = pl.when(kind="category").then(pl.col("n_categories").fill_null(0))
    association = pl.coalesce(pl.col("eta_squared").sqrt(), "cramers_v").alias("association")
    size = association.round(9)
    order = [*call.keys, size, "column_no"]
    ordered = profile.with_columns(n_categories.alias("n_categories"), association).sort(
        order, descending=[term is size for term in order], nulls_last=True
    )
    return to_user_frame(frame, ordered.select(*call.keys, *_COLUMN_PROFILE), call.keys)


def _measures_of_columns(
    call: ProfileCall,
    numbers: pl.LazyFrame | None,
    cells: pl.LazyFrame | None,
    bases: pl.LazyFrame,
) -> list[pl.LazyFrame]:
    """Return frames with eta_squared of numeric columns and Cramér's V of category columns."""
    measures = []
    if numbers is not None:
        share = ratio(pl.col("between_squares"), pl.col("all_m2")).clip(None, 1.0).first()
        eta_squared = pl.when(pl.len() > 1).then(share)
        compared = compare_numbers(call, numbers)
        measures.append(compared.group_by(call.of_column).agg(eta_squared=eta_squared))
    if cells is not None:
        measures.append(associate_categories(call, cells, bases))
    return measures
