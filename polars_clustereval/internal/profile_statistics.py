"""profile_statistics: counts, means and spreads of columns of any type, by cluster.

A value is a number (dates count as days since 1970-01-01), a category (text or a Boolean), or
missing. A share of rows is the mean of a column of zeros and ones. Numeric columns are read twice:
once to compute the cluster means, and once to compute the deviations from these means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

from polars_clustereval.base.checks import (
    check_columns_by_name,
    check_frame,
    check_groupable,
    check_noise_of_clusters,
    check_partition_keys,
    check_weight,
    column_named,
    equals_noise,
    key_columns,
    raise_on_collect,
)
from polars_clustereval.base.exact import ratio, to_double, widen
from polars_clustereval.base.frames import Terms, join_small
from polars_clustereval.errors import ClusterEvalError

from .point_faults import non_finite_as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Keys, NoiseOfClusters

_Kind = Literal["number", "date", "category"]
_MICROSECONDS_OF_DAY = 86_400e6
#: The statistics that are stored about the numbers of a column in a cluster, see sum_numbers.
_NUMBER_TERMS = ("n", "n_missing", "total", "low", "high", "n_invalid", "invalid", "center")
_DEVIATION_TERMS = ("shift", "m2")
#: A category that does not occur in a cluster is listed if at least this many of its rows are
#: expected there.
_LEAST_EXPECTED = 5

# ----------------------------------------------------------------------------------------------
# Reading
# ----------------------------------------------------------------------------------------------


class ProfileCall(NamedTuple):
    """The arguments of a profile function, after they have been checked."""

    #: The inner names of the partition columns, with the user's names.
    keys: dict[str, str]
    #: The user's names of the columns, with the kinds of their values.
    kinds: dict[str, _Kind]
    #: The counted rows: the partition columns, cluster, the weight n, and the values x_0, x_1, ...
    #: of the columns, which are Float64, or text for categories.
    rows: pl.LazyFrame
    #: One row per partition, including partitions of dropped rows only; None without partition_by.
    partitions: pl.LazyFrame | None

    @property
    def by(self) -> list[str]:
        """The internal names of the columns that identify a cluster."""
        return [*self.keys, "cluster"]

    @property
    def of_column(self) -> list[str]:
        """The internal names of the columns that identify a profiled column in a partition."""
        return [*self.keys, "column_no"]

    def places(self, *, of_categories: bool) -> list[int]:
        """Return the positions, counted from 0, of the category columns or of all other columns."""
        kinds = self.kinds.values()
        return [i for i, kind in enumerate(kinds) if (kind == "category") == of_categories]


def read_columns(
    frame: pl.DataFrame | pl.LazyFrame,
    columns: str | Sequence[str],
    cluster: Column,
    weight: Column | None,
    partition_by: Keys,
    noise: object,
    noise_as: NoiseOfClusters | None,
    *,
    results: Sequence[str],
) -> ProfileCall:
    """Check the arguments of a profile function, and return them as a ProfileCall.

    `results` lists the columns of the caller's result, which partition columns must not have.
    """
    lazy = check_frame(frame)
    check_noise_of_clusters(noise, noise_as)
    names = check_columns_by_name(lazy, columns)
    schema = lazy.collect_schema()
    kinds = {name: _kind_of_values(name, schema[name]) for name in names}
    keys = check_partition_keys(lazy, partition_by, results)
    clusters = check_groupable(lazy, cluster, "cluster")
    dtype = lazy.select(clusters).collect_schema()["cluster"]
    is_noise = equals_noise(pl.col("cluster"), noise, dtype)
    is_kept = pl.col("cluster").is_not_null() & (pl.col("n") > 0)
    if noise_as == "drop":
        is_kept &= ~is_noise
    values = {f"x_{i}": _read_value(name, schema[name]) for i, name in enumerate(names)}
    weights = check_weight(lazy, weight, keys).alias("n")
    rows = lazy.select(*key_columns(keys), clusters, weights, **values)
    partitions = lazy.select(key_columns(keys)).unique() if keys else None
    return ProfileCall(keys, kinds, rows.filter(is_kept), partitions)


def _kind_of_values(name: str, dtype: pl.DataType) -> _Kind:
    """Return the kind of values in a column, or raise an error if its type is not supported."""
    if dtype.is_numeric():
        return "number"
    if isinstance(dtype, pl.Date | pl.Datetime):
        return "date"
    if isinstance(dtype, pl.String | pl.Boolean | pl.Categorical | pl.Enum | pl.Null):
        return "category"
    raise ClusterEvalError(
        f"columns: expected numbers, text, truth values or dates in the column '{name}', got a "
        f"column of type {dtype}"
    )


def _read_value(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return the values of a column as text or Float64, with dates as days since 1970-01-01."""
    x = column_named(name)
    if dtype.is_numeric():
        return to_double(x)
    if isinstance(dtype, pl.Date | pl.Datetime):
        return to_double(x.cast(pl.Datetime("us")).dt.epoch("us")) / _MICROSECONDS_OF_DAY
    return x.cast(pl.String)


# ----------------------------------------------------------------------------------------------
# Numbers
# ----------------------------------------------------------------------------------------------


def sum_numbers(call: ProfileCall) -> pl.LazyFrame:
    """Return one row for each combination of cluster and numeric column, with sums of the values.

    - n and n_missing: the numbers of rows with and without a value.
    - total, low and high: the sum, the minimum and the maximum of the numbers.
    - n_invalid and invalid: how many numbers are not finite, and one of them as text.
    - center and shift: the mean, which may have a rounding error, and a correction to center.
    - m2: the sum of squared deviations from the mean.
    """
    places = call.places(of_categories=False)
    sums: Terms = {}
    for i in places:
        sums |= _named(_sums_of_values(pl.col(f"x_{i}"), pl.col("n")), i)
    firsts = call.rows.group_by(call.by).agg(**sums)
    # These are means, up to rounding errors.
    centers: Terms = {
        f"center_{i}": ratio(pl.col(f"total_{i}"), pl.col(f"n_{i}")).clip(
            pl.col(f"low_{i}"), pl.col(f"high_{i}")
        )
        for i in places
    }
    firsts = firsts.with_columns(**centers).cache()
    deviations: Terms = {}
    for i in places:
        deviations |= _named(_sums_of_deviations(pl.col(f"x_{i}") - pl.col(f"center_{i}")), i)
    by_center = firsts.select(*call.by, *centers)
    seconds = join_small(call.rows, call.by, by_center).group_by(call.by).agg(**deviations)
    # These are NULL if a cluster has no numbers.
    wide = firsts.join(seconds, on=call.by, nulls_equal=True)
    terms = (*_NUMBER_TERMS, "moved", "moved_n", "squares")
    lists = {name: pl.concat_list([f"{name}_{i}" for i in places]) for name in terms}
    numbers = pl.lit(places, pl.List(pl.Int32))
    long = wide.select(*call.by, column_no=numbers, **lists).explode("column_no", *terms)
    shift = ratio(pl.col("moved"), pl.col("moved_n"))
    m2 = (pl.col("squares") - pl.col("moved") * shift).clip(0.0)
    return long.with_columns(shift=shift, m2=m2).select(
        *call.by, "column_no", *_NUMBER_TERMS, *_DEVIATION_TERMS
    )


def _named(terms: Terms, i: int) -> Terms:
    """Return the expressions `terms`, with the column position i appended to their names."""
    return {f"{name}_{i}": term for name, term in terms.items()}


def _sums_of_values(x: pl.Expr, n: pl.Expr) -> Terms:
    """Return the aggregates of the first pass for numbers x with weights n."""
    is_invalid = ~x.is_finite()
    return {
        "n": n.filter(x.is_not_null()).sum().cast(pl.Int64),
        "n_missing": n.filter(x.is_null()).sum().cast(pl.Int64),
        "total": (to_double(n) * x).sum(),
        "low": x.min(),
        "high": x.max(),
        "n_invalid": n.filter(is_invalid).sum().cast(pl.Int64),
        "invalid": non_finite_as_text(x.filter(is_invalid)).min(),
    }


def _sums_of_deviations(deviation: pl.Expr) -> Terms:
    """Return the aggregates of the second pass for the deviations from a center."""
    n = to_double(pl.col("n"))
    return {
        "moved": (n * deviation).sum(),
        "moved_n": n.filter(deviation.is_not_null()).sum(),
        "squares": (n * (deviation * deviation)).sum(),
    }


def check_numbers(call: ProfileCall, sums: pl.LazyFrame, result: pl.LazyFrame) -> pl.LazyFrame:
    """Return `result` with a check that all numbers are finite and that no sum overflows."""
    overflows = ~(pl.col("total").is_finite() & pl.col("m2").is_finite()).fill_null(True)
    faults = sums.group_by("column_no").agg(
        pl.col("n_invalid").sum(), pl.col("invalid").min(), overflows=overflows.any()
    )
    names = list(call.kinds)

    def check(facts: pl.DataFrame) -> None:
        """Raise an error for the first column with invalid numbers or an overflow."""
        for column_no, n_invalid, invalid, does_overflow in facts.sort("column_no").iter_rows():
            if n_invalid:
                rows = "row" if n_invalid == 1 else "rows"
                raise ClusterEvalError(
                    f"columns: expected finite numbers in the column '{names[column_no]}', got "
                    f"{invalid} ({n_invalid} such {rows}); set them to NULL, which is a missing "
                    "value"
                )
            if does_overflow:
                raise ClusterEvalError(
                    f"columns: the squares of the column '{names[column_no]}' overflow; scale it "
                    "down"
                )

    return raise_on_collect(result, faults, check)


def compare_numbers(call: ProfileCall, sums: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row for each combination of cluster and numeric column, from sum_numbers.

    - n, mean and m2: the number of values, their mean, and the sum of squared deviations from it.
    - deviation: the mean minus the origin of the column in the partition. This difference preserves
      precision if values are far from 0.
    - all_n and all_m2: the number of values in all clusters together, and the sum of their squared
      deviations from the overall mean.
    - between_squares: the sum of squared deviations of the clusters' means from the overall mean.
    - rest_mean and rest_deviation: the mean of the other clusters together, and this mean minus the
      origin. They are NULL if the other clusters have no rows.
    """
    n, low, high = pl.col("n"), pl.col("low"), pl.col("high")
    center, deviation = pl.col("center"), pl.col("deviation")
    present = sums.filter(n > 0).with_columns(size=to_double(n))
    size = pl.col("size")
    origins = present.group_by(call.of_column).agg(
        origin=((size * center).sum() / size.sum()).clip(low.min(), high.max()),
        all_n=n.sum(),
        is_constant=low.min() == high.max(),
    )
    # All uses need exactly the same origins, and a second evaluation might add numbers in another
    # order.
    centered = (
        present.join(origins, on=call.of_column, nulls_equal=True)
        .with_columns(
            mean=(center + pl.col("shift")).clip(low, high),
            deviation=(center - pl.col("origin")) + pl.col("shift"),
        )
        .cache()
    )
    means = centered.group_by(call.of_column).agg(
        all_deviation=(size * deviation).sum() / size.sum()
    )
    offset = deviation - pl.col("all_deviation")
    between = pl.when(pl.col("is_constant").any()).then(0.0).otherwise((size * offset**2).sum())
    squares = (
        centered.join(means, on=call.of_column, nulls_equal=True)
        .group_by(call.of_column)
        .agg(between_squares=between, within_squares=pl.col("m2").sum())
    )
    joined = centered.join(squares, on=call.of_column, nulls_equal=True)
    return _add_rests(call, joined).select(
        *call.by,
        "column_no",
        "n",
        "m2",
        "deviation",
        "all_n",
        "between_squares",
        "rest_deviation",
        "mean",
        "rest_mean",
        all_m2=pl.col("within_squares") + pl.col("between_squares"),
    )


def _add_rests(call: ProfileCall, centered: pl.LazyFrame) -> pl.LazyFrame:
    """Add rest_mean, the mean of the other clusters, and rest_deviation, it minus the origin.

    The sums over the preceding and over the following clusters are added. Subtracting the cluster
    from the sum over all clusters would lose precision if the other clusters were small.
    """
    size = pl.col("size")
    terms: Terms = {}
    for name, step, reverse in (("before", 1, False), ("behind", -1, True)):
        for column in ("mean", "deviation"):
            total = (size * pl.col(column)).cum_sum(reverse=reverse)
            terms[f"{column}_{name}"] = total.shift(step, fill_value=0.0)
        terms[f"low_{name}"] = pl.col("low").cum_min(reverse=reverse).shift(step)
        terms[f"high_{name}"] = pl.col("high").cum_max(reverse=reverse).shift(step)
    sides = centered.with_columns(
        term.over(call.of_column, order_by="cluster").alias(name) for name, term in terms.items()
    )
    rest_n = pl.col("all_n") - pl.col("n")
    return sides.with_columns(
        rest_deviation=ratio(pl.col("deviation_before") + pl.col("deviation_behind"), rest_n),
        rest_mean=ratio(pl.col("mean_before") + pl.col("mean_behind"), rest_n).clip(
            pl.min_horizontal("low_before", "low_behind"),
            pl.max_horizontal("high_before", "high_behind"),
        ),
    )


# ----------------------------------------------------------------------------------------------
# Categories
# ----------------------------------------------------------------------------------------------


def share_excess(n: pl.Expr, all_of: pl.Expr, cluster_n: pl.Expr, all_n: pl.Expr) -> pl.Expr:
    """Return the exact difference n * all_n - all_of * cluster_n.

    n of the cluster_n rows of a cluster, and all_of of all_n rows, have the category. It is 0 if
    the category has the same share in both.
    """
    return widen(n) * widen(all_n) - widen(all_of) * widen(cluster_n)


def count_categories(call: ProfileCall) -> pl.LazyFrame | None:
    """Return the number of rows n of each cluster, column and category, NULL if missing."""
    counts = [
        call.rows.group_by(*call.by, pl.col(f"x_{i}").alias("category"))
        .agg(pl.col("n").sum().cast(pl.Int64))
        .select(*call.by, pl.lit(i, pl.Int32).alias("column_no"), "category", "n")
        for i in call.places(of_categories=True)
    ]
    return pl.concat(counts).cache() if counts else None


def sum_bases(
    call: ProfileCall, numbers: pl.LazyFrame | None, cells: pl.LazyFrame | None
) -> pl.LazyFrame:
    """Return n and n_missing, the rows with and without a value in each cluster and column."""
    parts = []
    if numbers is not None:
        parts.append(numbers.select(*call.by, "column_no", "n", "n_missing"))
    if cells is not None:
        n, is_missing = pl.col("n"), pl.col("category").is_null()
        counts = {"n": n.filter(~is_missing).sum(), "n_missing": n.filter(is_missing).sum()}
        parts.append(cells.group_by(*call.by, "column_no").agg(**counts))
    return pl.concat(parts)


def count_shares(
    call: ProfileCall, cells: pl.LazyFrame | None, bases: pl.LazyFrame
) -> pl.LazyFrame:
    """Return one row for each cluster and each category that occurs or is expected in the cluster.

    A category is expected in a cluster if equal shares in all clusters would give it at least
    _LEAST_EXPECTED rows there.

    - is_missing: whether the row counts the missing values of a column.
    - n and all_of: the numbers of rows with the category in the cluster and in all clusters.
    - cluster_n and all_n: the numbers of rows that could have the category in the cluster and in
      all clusters.
    """
    of_column = call.of_column
    n, n_missing = pl.col("n"), pl.col("n_missing")
    bases = bases.with_columns(
        all_n=n.sum().over(of_column), all_missing=n_missing.sum().over(of_column)
    )
    missing = bases.filter(pl.col("all_missing") > 0).select(
        *call.by,
        "column_no",
        pl.lit(None, pl.String).alias("category"),
        pl.lit(True).alias("is_missing"),
        n_missing.alias("n"),
        pl.col("all_missing").alias("all_of"),
        (n + n_missing).alias("cluster_n"),
        (pl.col("all_n") + pl.col("all_missing")).alias("all_n"),
    )
    if cells is None:
        return missing
    columns = [*call.by, "column_no", "category"]
    present = cells.filter(pl.col("category").is_not_null())
    totals = present.group_by(*of_column, "category").agg(all_of=n.sum())
    bases = bases.select(*call.by, "column_no", "all_n", cluster_n=n)
    is_expected = widen(pl.col("all_of")) * widen(pl.col("cluster_n")) >= (
        _LEAST_EXPECTED * widen(pl.col("all_n"))
    )
    expected = bases.join(totals, on=of_column, nulls_equal=True).filter(is_expected)
    pairs = [present.select(*columns, "n"), expected.select(*columns, n=pl.lit(0, pl.Int64))]
    counted = pl.concat(pairs).group_by(columns).agg(n.sum())
    shares = counted.join(totals, on=[*of_column, "category"], nulls_equal=True).join(
        bases, on=[*call.by, "column_no"], nulls_equal=True
    )
    listed = shares.select(
        *columns, pl.lit(False).alias("is_missing"), "n", "all_of", "cluster_n", "all_n"
    )
    return pl.concat([listed, missing])


def associate_categories(
    call: ProfileCall, cells: pl.LazyFrame, bases: pl.LazyFrame
) -> pl.LazyFrame:
    """Return n_categories and Cramér's V between category and cluster for each category column.

    cramers_v is NULL unless there are at least two categories and two clusters. The number of rows
    expected in empty cells is the total number of rows minus the number expected in the other
    cells. To keep the result exact, this difference is computed with integers, and the division
    comes last.
    """
    n, all_of, cluster_n = pl.col("n"), pl.col("all_of"), pl.col("cluster_n")
    all_n = pl.col("all_n")
    totals = bases.group_by(call.of_column).agg(all_n=n.sum(), n_clusters=(n > 0).sum())
    present = cells.filter(pl.col("category").is_not_null())
    of_cluster = bases.select(*call.by, "column_no", cluster_n=n)
    joined = (
        present.with_columns(all_of=n.sum().over(*call.of_column, "category"))
        .join(of_cluster, on=[*call.by, "column_no"], nulls_equal=True)
        .join(totals, on=call.of_column, nulls_equal=True)
    )
    excess = to_double(share_excess(n, all_of, cluster_n, all_n)) / to_double(all_n)
    sums = joined.group_by(call.of_column).agg(
        all_n.first(),
        pl.col("n_clusters").first().cast(pl.Int64),
        n_categories=pl.col("category").n_unique().cast(pl.Int64),
        of_cells=(excess * excess / (to_double(all_of) * to_double(cluster_n))).sum(),
        expected=(widen(all_of) * widen(cluster_n)).sum(),
    )
    rows = widen(all_n) * widen(all_n)
    phi_squared = pl.col("of_cells") + ratio(rows - pl.col("expected"), rows)
    smaller = pl.min_horizontal("n_clusters", "n_categories") - 1
    return sums.select(
        *call.of_column,
        "n_categories",
        cramers_v=ratio(phi_squared, smaller).sqrt().clip(None, 1.0),
    )
