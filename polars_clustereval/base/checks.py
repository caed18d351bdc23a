"""Checks of arguments: what the functions accept, and the error otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from numbers import Real
from typing import Any, Literal, TypeVar

import polars as pl
import polars.selectors as cs

from polars_clustereval.errors import ClusterEvalError

Column = str | pl.Expr
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Keys = str | Sequence[str] | None
NoiseAs = Literal["cluster", "drop", "singletons"]


# ----------------------------------------------------------------------------------------------
# Values
# ----------------------------------------------------------------------------------------------


# Messages name types as DuckDB does, so that both sides have the same texts.
_SQL_TYPES: dict[type[pl.DataType], str] = {
    pl.Boolean: "BOOLEAN",
    pl.Int8: "TINYINT",
    pl.Int16: "SMALLINT",
    pl.Int32: "INTEGER",
    pl.Int64: "BIGINT",
    pl.Int128: "HUGEINT",
    pl.UInt8: "UTINYINT",
    pl.UInt16: "USMALLINT",
    pl.UInt32: "UINTEGER",
    pl.UInt64: "UBIGINT",
    pl.Float32: "FLOAT",
    pl.Float64: "DOUBLE",
    pl.String: "VARCHAR",
    pl.Date: "DATE",
    pl.Time: "TIME",
    pl.Datetime: "TIMESTAMP",
    pl.Duration: "INTERVAL",
    pl.Binary: "BLOB",
    pl.Null: '"NULL"',
}


def sql_type_name(dtype: pl.DataType) -> str:
    """Return DuckDB's name of a Polars type for error texts, such as BIGINT or DOUBLE[3].

    A type that DuckDB does not have keeps its Polars name.
    """
    if isinstance(dtype, pl.Array | pl.List) and isinstance(dtype.inner, pl.DataType):
        size = dtype.shape[0] if isinstance(dtype, pl.Array) else ""
        return f"{sql_type_name(dtype.inner)}[{size}]"
    return _SQL_TYPES.get(dtype.base_type(), str(dtype))


def _quote_value(value: object) -> str:
    """Return an option's value as error texts show it: NULL for None, otherwise in quotes."""
    return "NULL" if value is None else f"'{value}'"


def show_value(value: object) -> str:
    """Return a value as error texts show it: NULL for None, true for True, [1, NULL] for a list."""
    if isinstance(value, list | tuple | pl.Series):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "NULL" if value is None else str(value)


def check_choice(parameter: str, value: object, choices: Sequence[str]) -> None:
    """Raise an error unless `value`, the user's argument of `parameter`, is one of `choices`."""
    if value not in choices:
        expected = ", ".join(_quote_value(choice) for choice in choices)
        raise ClusterEvalError(
            f"{parameter}: expected one of {expected}, got {_quote_value(value)}"
        )


def is_number(x: object) -> bool:
    """Return whether x is a real number of Python or numpy; False for a bool."""
    return isinstance(x, Real) and not isinstance(x, bool)


def check_beta(beta: float) -> float:
    """Return beta, the weight of recall in an F score, as a Python float.

    Raise an error unless it is a finite number >= 0. A numpy number is converted because its
    operators would treat a Polars expression as an array.
    """
    if not (is_number(beta) and beta >= 0 and isfinite(beta)):
        raise ClusterEvalError(f"beta: expected a number >= 0, got {beta}")
    return float(beta)


# ----------------------------------------------------------------------------------------------
# Columns
# ----------------------------------------------------------------------------------------------


def check_frame(frame: object) -> pl.LazyFrame:
    """Return the user's frame as a LazyFrame; raise an error if it is no Polars frame."""
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy()
    raise ClusterEvalError(
        f"frame: expected a Polars DataFrame or LazyFrame, got {type(frame).__name__}"
    )


def check_column_names(names: Sequence[str], parameter: str, columns: Sequence[str]) -> None:
    """Raise an error for the first of `names` that is not among `columns`, the columns of a frame.

    `parameter` is the argument that the names came from. The error text names it, and suggests the
    most similar column.
    """
    for name in names:
        if name not in columns:
            twins = get_close_matches(name, columns, n=1)
            hint = f"; did you mean '{twins[0]}'?" if twins else ";"
            raise ClusterEvalError(
                f"{parameter}: column '{name}' not found{hint} columns: {', '.join(columns)}"
            )


def column_named(name: str) -> pl.Expr:
    """Return the column of this very name as an expression.

    ``pl.col`` takes the names * and ^...$ for patterns of several names.
    """
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return cs.by_name(name).as_expr() if is_pattern else pl.col(name)


def as_expression(column: Column, parameter: str) -> pl.Expr:
    """Return a user's argument, a column name or an expression, as an expression.

    `parameter` is the name of that argument, such as 'label'. Anything else is an error.
    """
    if isinstance(column, str):
        return column_named(column)
    if isinstance(column, pl.Expr):
        return column
    raise ClusterEvalError(
        f"{parameter}: expected a column name or an expression, got {type(column).__name__}"
    )


def as_single_column(column: Column, parameter: str) -> pl.Expr:
    """Return a user's argument as as_expression does; raise an error for a selection of columns.

    It is for functions that return expressions: how many columns ``pl.all()`` or a selector stands
    for is known only with the frame.
    """
    expr = as_expression(column, parameter)
    is_selection = expr.meta.is_column_selection() and expr.meta.has_multiple_outputs()
    if is_selection and not isinstance(column, str):
        raise _several_columns_error(parameter, f"the selection {expr}")
    return expr


def check_column(lazy: pl.LazyFrame, column: Column, parameter: str) -> pl.Expr:
    """Return the user's argument `column` as an expression with the alias `parameter`.

    `parameter` is the name of that argument, such as 'label'. Raise an error unless `column` is a
    name or an expression, the frame `lazy` has all columns that it reads, and it is one column.
    """
    expr = as_expression(column, parameter)
    names = [column] if isinstance(column, str) else expr.meta.root_names()
    check_column_names(names, parameter, lazy.collect_schema().names())
    try:
        outputs = lazy.select(expr).collect_schema().names()
    except pl.exceptions.DuplicateError:
        raise _several_columns_error(parameter, f"several from {expr}") from None
    if len(outputs) != 1:
        shown = f"{len(outputs)}: {', '.join(outputs)}" if outputs else f"none from {expr}"
        raise _several_columns_error(parameter, shown)
    return expr.alias(parameter)


def _several_columns_error(parameter: str, got: str) -> ClusterEvalError:
    """Return the error of an argument that stands for several columns or none, as `got` says."""
    return ClusterEvalError(f"{parameter}: expected one column, got {got}")


def check_groupable(lazy: pl.LazyFrame, column: Column, parameter: str) -> pl.Expr:
    """Return the user's argument `column` as an expression with the alias `parameter`.

    Raise an error as check_column does, and for the type Object, by which Polars cannot group.
    `parameter` is the name of the argument, such as 'label'.
    """
    expr = check_column(lazy, column, parameter)
    dtype = lazy.select(expr).collect_schema()[parameter]
    if dtype == pl.Object:
        raise ClusterEvalError(f"{parameter}: a column of type {dtype} cannot be grouped")
    return expr


# Up to here products of three counts of a partition, and sums in fixed point, fit into Int128.
_MAX_TOTAL_WEIGHT = 10**12


def check_weight(lazy: pl.LazyFrame, weight: Column | None, keys: Mapping[str, str]) -> pl.Expr:
    """Return the multiplicity of each row: the column `weight` as Int64, or 1 if there is none.

    `keys` are the partition columns, as check_partition_keys returns them. Raise an error if a
    weight is not a whole number >= 0, or the sum of a partition is too large. For this the column
    is read at once, of a LazyFrame too.
    """
    if weight is None:
        # Int8 takes the least memory, and is summed as Int64.
        return pl.lit(1, pl.Int8)
    expr = check_column(lazy, weight, "weight")
    dtype = lazy.select(expr).collect_schema()["weight"]
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise _weight_error(f"a column of type {dtype}")
    number = expr.cast(pl.Float64)
    # The upper limit rejects infinity, and NaN, which is above every number in Polars.
    whole = (number >= 0) & (number < 9e18) & (number == number.floor())
    bad = ~whole.fill_null(False)
    total = expr.cast(pl.Int128, strict=False).sum().alias("total")
    facts = lazy.select(expr.filter(bad).first(), bad.any().alias("any_bad"), total)
    value, any_bad, total_weight = facts.collect(engine="streaming").row(0)
    if any_bad:
        raise _weight_error("NULL" if value is None else str(value))
    if total_weight > _MAX_TOTAL_WEIGHT:
        _check_partition_totals(lazy, total, keys)
    return expr.cast(pl.Int64)


def _check_partition_totals(lazy: pl.LazyFrame, total: pl.Expr, keys: Mapping[str, str]) -> None:
    """Raise an error if `total`, the sum of the weights, is too large in any partition.

    `keys` are the partition columns, as check_partition_keys returns them.
    """
    by = key_columns(keys)
    totals = lazy.group_by(by).agg(total) if by else lazy.select(total)
    largest = totals.select(pl.col("total").max()).collect(engine="streaming").item()
    if largest > _MAX_TOTAL_WEIGHT:
        raise ClusterEvalError(
            f"weight: expected a sum of at most {_MAX_TOTAL_WEIGHT}, got {largest}; "
            "divide the weights by a common factor"
        )


def _weight_error(got: str) -> ClusterEvalError:
    """Return the error for an invalid weight column; `got` is the bad value or type, as text."""
    return ClusterEvalError(
        f"weight: expected whole numbers >= 0, got {got}; a weight is how many times its row counts"
    )


def _list_names(partition_by: Keys) -> list[str]:
    """Return the user's partition columns, None, a name or several, as a list of names.

    Anything else is an error.
    """
    keys = [partition_by] if isinstance(partition_by, str) else partition_by
    if keys is None:
        return []
    if isinstance(keys, Sequence) and all(isinstance(key, str) for key in keys):
        return list(keys)
    raise ClusterEvalError(
        f"partition_by: expected column names, got {type(partition_by).__name__}"
    )


def check_partition_keys(
    lazy: pl.LazyFrame, partition_by: Keys, results: Sequence[str]
) -> dict[str, str]:
    """Return the user's partition columns as {inner name: column}, with the names key_0, key_1, ...

    Raise an error if a column does not exist in the frame `lazy`, is given twice, or has the name
    of another column of the result. `results` are the names of those columns.
    """
    keys = _list_names(partition_by)
    check_column_names(keys, "partition_by", lazy.collect_schema().names())
    for i, key in enumerate(keys):
        if key in results:
            raise ClusterEvalError(
                f"partition_by: '{key}' is also a column of the result; rename it first"
            )
        if key in keys[:i]:
            raise ClusterEvalError(f"partition_by: '{key}' is given twice")
    return {f"key_{i}": key for i, key in enumerate(keys)}


def key_columns(keys: Mapping[str, str]) -> list[pl.Expr]:
    """Return the partition columns of the user's frame under their inner names.

    `keys` maps the inner names to the user's, as check_partition_keys returns them.
    """
    return [column_named(key).alias(name) for name, key in keys.items()]


# ----------------------------------------------------------------------------------------------
# Noise
# ----------------------------------------------------------------------------------------------


def check_noise_as(noise: object, noise_as: object) -> None:
    """Raise an error if `noise_as` is no known option, or needs a noise value and `noise` is None.

    `noise` is the value of cluster that marks noise. 'drop' and 'singletons' need it, 'cluster'
    does not.
    """
    check_choice("noise_as", noise_as, ("cluster", "drop", "singletons"))
    if noise_as != "cluster" and noise is None:
        raise ClusterEvalError(
            f"noise_as '{noise_as}' needs noise: give the value of cluster that marks noise"
        )


def check_noise_value(noise: object, dtype: pl.DataType) -> pl.Expr:
    """Return the noise value as a literal of type `dtype`, the type of the cluster column.

    Raise an error unless the value can be converted to that type without a change.
    """
    got = type(noise).__name__
    try:
        given = pl.Series([noise])
        got = sql_type_name(given.dtype)
        cast = given.cast(dtype)
        if _is_alike(given.dtype, dtype) and _is_unchanged(given, cast):
            # Polars would unpack a list into a column; the first value of a column stays one list.
            return pl.lit(cast).first() if dtype.is_nested() else pl.lit(cast.item(), dtype)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        pass
    raise ClusterEvalError(
        f"noise: expected a value of the type of cluster ({sql_type_name(dtype)}), "
        f"got '{show_value(noise)}' ({got})"
    )


def _is_alike(given: Any, dtype: Any) -> bool:
    """Return whether values of the Polars type `given` can have an equal of the type `dtype`.

    Polars casts truth values to numbers, and lists and structs to other types, without an error.
    """
    lists = pl.List, pl.Array
    if isinstance(given, lists) and isinstance(dtype, lists):
        return given.inner == pl.Null or _is_alike(given.inner, dtype.inner)
    if isinstance(given, lists) or isinstance(dtype, lists):
        return False
    return all((given == kind) == (dtype == kind) for kind in (pl.Struct, pl.Boolean))


def _is_unchanged(given: pl.Series, cast: pl.Series) -> bool:
    """Return whether the one value of `cast` is that of `given`, in another type.

    0.1 becomes another number in Float32, but has the same text, which is what a user means.
    """
    if cast.cast(given.dtype).eq_missing(given).all():
        return True
    is_float = given.dtype.is_float() and cast.dtype.is_float()
    return is_float and cast.cast(pl.String).equals(given.cast(pl.String))


# ----------------------------------------------------------------------------------------------
# Checks at collection
# ----------------------------------------------------------------------------------------------


def raise_on_collect(
    frame: pl.LazyFrame, facts: pl.LazyFrame, check: Callable[[pl.DataFrame], None]
) -> pl.LazyFrame:
    """Return `frame` with the same rows, and a validation that runs when it is collected.

    `facts` is a frame of a few rows that describe the input. On collection, `check` gets them as a
    DataFrame and raises an error if the input is invalid.
    """

    def run_check(collected: pl.DataFrame) -> pl.DataFrame:
        """Call `check` on `collected`, the rows of `facts`; return one row with passed = True."""
        check(collected)
        return pl.DataFrame({"passed": [True]})

    passed = facts.map_batches(
        run_check,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=pl.Schema({"passed": pl.Boolean()}),
    )
    return frame.join(passed, how="cross").filter("passed").drop("passed")
