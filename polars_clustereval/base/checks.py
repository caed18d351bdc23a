"""Checks of arguments: what the functions accept, and the error otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from math import isfinite
from numbers import Real
from typing import Literal, TypeVar

import polars as pl

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
}


def sql_type_name(dtype: pl.DataType) -> str:
    """Return DuckDB's name of a Polars type for error texts, such as BIGINT for Int64.

    A type that is not a simple one, such as a list, keeps its Polars name.
    """
    return _SQL_TYPES.get(dtype.base_type(), str(dtype))


def _quote_value(value: object) -> str:
    """Return an option's value as error texts show it: NULL for None, otherwise in quotes."""
    return "NULL" if value is None else f"'{value}'"


def show_value(value: object) -> str:
    """Return a value as error texts show it: NULL for None, [1, NULL] for a list or a tuple."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(show_value, value))}]"
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


def check_column(lazy: pl.LazyFrame, column: Column, parameter: str) -> pl.Expr:
    """Return the user's argument `column` as an expression with the alias `parameter`.

    `parameter` is the name of that argument, such as 'label'. Raise an error unless `column` is a
    name or an expression, and the frame `lazy` has all columns that it reads.
    """
    if not isinstance(column, str | pl.Expr):
        raise ClusterEvalError(
            f"{parameter}: expected a column name or an expression, got {type(column).__name__}"
        )
    expr = pl.col(column) if isinstance(column, str) else column
    names = [column] if isinstance(column, str) else column.meta.root_names()
    check_column_names(names, parameter, lazy.collect_schema().names())
    return expr.alias(parameter)


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


def check_weight(lazy: pl.LazyFrame, weight: Column | None) -> pl.Expr:
    """Return the multiplicity of each row: the column `weight` as Int64, or 1 if there is none.

    Raise an error if a weight is not a whole number >= 0. For this the column is read at once, of a
    LazyFrame too.
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
    first_bad = lazy.select(expr.filter(bad).first(), bad.any().alias("any_bad"))
    value, any_bad = first_bad.collect(engine="streaming").row(0)
    if any_bad:
        raise _weight_error("NULL" if value is None else str(value))
    return expr.cast(pl.Int64)


def _weight_error(got: str) -> ClusterEvalError:
    """Return the error for an invalid weight column; `got` is the bad value or type, as text."""
    return ClusterEvalError(
        f"weight: expected whole numbers >= 0, got {got}; a weight is how many times its row counts"
    )


def check_partition_keys(
    lazy: pl.LazyFrame, partition_by: Keys, results: Sequence[str]
) -> dict[str, str]:
    """Return the user's partition columns as {inner name: column}, with the names key_0, key_1, ...

    Raise an error if a column does not exist in the frame `lazy`, is given twice, or has the name
    of another column of the result. `results` are the names of those columns.
    """
    keys = [partition_by] if isinstance(partition_by, str) else list(partition_by or ())
    check_column_names(keys, "partition_by", lazy.collect_schema().names())
    for i, key in enumerate(keys):
        if key in results:
            raise ClusterEvalError(
                f"partition_by: '{key}' is also a column of the result; rename it first"
            )
        if key in keys[:i]:
            raise ClusterEvalError(f"partition_by: '{key}' is given twice")
    return {f"key_{i}": key for i, key in enumerate(keys)}


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

    Raise an error unless the value can be converted to that type and back without a change.
    """
    try:
        given = pl.Series([noise])
        cast = given.cast(dtype)
        if cast.cast(given.dtype).eq_missing(given).all():
            return pl.lit(cast.item(), cast.dtype)
    except pl.exceptions.PolarsError:
        pass
    raise ClusterEvalError(
        f"noise: expected a value of the type of cluster ({sql_type_name(dtype)}), "
        f"got '{noise}' ({sql_type_name(given.dtype)})"
    )


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
