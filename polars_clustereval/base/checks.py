"""Functions that check the user's arguments, and the errors that they raise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from numbers import Real
from typing import Any, Literal, TypeVar, cast, get_args

import polars as pl
import polars.selectors as cs

from polars_clustereval.errors import ClusterEvalError

from .data_arguments import (
    column_advice,
    each_column_advice,
    frame_error,
    has_values,
    select_advice,
    type_name,
)
from .deferral import collect_now
from .unknown_names import other_name, suggest_name

Column = str | pl.Expr
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Keys = str | pl.Expr | Sequence[str | pl.Expr] | None
NoiseAs = Literal["cluster", "drop", "singletons"]
NoiseOfClusters = Literal["cluster", "drop"]


# ----------------------------------------------------------------------------------------------
# Values
# ----------------------------------------------------------------------------------------------


def _quote_value(value: object) -> str:
    """Return the value of an option as it appears in error messages."""
    return "NULL" if value is None else f"'{value}'"


def show_value(value: object) -> str:
    """Return a value as DuckDB shows it, such as NULL, true, [1, NULL] or {'id': 1}."""
    if isinstance(value, list | tuple | pl.Series):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, Mapping):
        fields = (f"'{name}': {show_value(part)}" for name, part in value.items())
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, bool):
        return str(value).lower()
    return "NULL" if value is None else str(value)


def check_choice(parameter: str, value: object, choices: Sequence[str], hint: str = "") -> None:
    """Raise an error, with `hint` at the end, unless `value` is one of `choices`."""
    if value not in choices:
        expected = ", ".join(_quote_value(choice) for choice in choices)
        raise ClusterEvalError(
            f"{parameter}: expected one of {expected}, got {_quote_value(value)}{hint}"
        )


def check_metric(metric: object, known: Sequence[str]) -> None:
    """Raise an error, which says what an abbreviation is called here, for an unknown metric."""
    other = other_name(str(metric))
    check_choice("metric", metric, known, f"; did you mean '{other}'?" if other in known else "")


def check_metrics(metrics: Sequence[str], known: Collection[str] | None = None) -> list[str]:
    """Return the names `metrics` without duplicates, each of which must be in `known` if given."""
    names = [] if isinstance(metrics, str) else list(dict.fromkeys(metrics))
    if not names or not all(isinstance(name, str) for name in names):
        raise ClusterEvalError(
            f"metrics: expected a list of columns, such as ['adjusted_rand_score'], got {metrics!r}"
        )
    if known is not None:
        for name in names:
            if name not in known and (hint := suggest_name(name, known)):
                raise ClusterEvalError(f"metrics: expected names of columns, got '{name}'{hint}")
            check_choice("metrics", name, list(known))
    return names


def choose_terms(terms: dict[str, pl.Expr], metrics: Sequence[str] | None) -> dict[str, pl.Expr]:
    """Return the `terms` named in `metrics`, in that order, or all of them if `metrics` is None."""
    return terms if metrics is None else {x: terms[x] for x in check_metrics(metrics, terms)}


#: The advice that ends the error text if an id has several rows.
REPEATED_ID_ADVICE = "; if ids repeat across sources, give a struct of source and id"


def is_number(x: object) -> bool:
    """Return whether x is a real number from Python or numpy, but not a bool."""
    return isinstance(x, Real) and not isinstance(x, bool)


def is_whole_number(x: Any, least: int) -> bool:
    """Return whether x is a whole number (such as 3 or 3.0) that is at least `least`."""
    return is_number(x) and float(x) >= least and float(x).is_integer()


def check_beta(beta: float) -> float:
    """Return beta, the weight of recall in an F score, as a Python float.

    A numpy number is converted, because numpy's operators would treat a Polars expression as an
    array.
    """
    if not (is_number(beta) and beta >= 0 and isfinite(beta)):
        raise ClusterEvalError(f"beta: expected a number >= 0, got {beta}")
    return float(beta)


def check_confidence(confidence: Any) -> float:
    """Return `confidence` as a float, which must be strictly between 0 and 1."""
    if not (is_number(confidence) and 0 < float(confidence) < 1):
        raise ClusterEvalError(
            f"confidence: expected a number between 0 and 1, got {show_value(confidence)}"
        )
    return float(confidence)


def check_sampling_fraction(fraction: float | None, design: str) -> float | None:
    """Return the share of rows that were drawn, if any; only 'by_record' may have one."""
    if fraction is None:
        return None
    if not (is_number(fraction) and 0 <= fraction < 1):
        shown = show_value(fraction)
        raise ClusterEvalError(f"sampling_fraction: expected a number >= 0 and < 1, got {shown}")
    if design != "by_record":
        raise ClusterEvalError("sampling_fraction needs labels_are_sample 'by_record'")
    return float(fraction)


def check_random_state(state: Any) -> int:
    """Return the seed `state` as a Python int, which must be from 0 to 2^31 - 1."""
    if not (is_whole_number(state, 0) and int(state) < 2**31):
        raise ClusterEvalError(
            f"random_state: expected a whole number >= 0 and < 2147483648, got {show_value(state)}"
        )
    return int(state)


# ----------------------------------------------------------------------------------------------
# Columns
# ----------------------------------------------------------------------------------------------


def check_frame(frame: object) -> pl.LazyFrame:
    """Return the user's frame as a LazyFrame, or raise an error if it is not a Polars frame."""
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy()
    raise frame_error(type_name(frame))


def check_is_frame(frame: object, parameter: str) -> pl.LazyFrame:
    """Return a second frame, which the user passed for `parameter`, as a LazyFrame."""
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        raise ClusterEvalError(
            f"{parameter}: expected a Polars DataFrame or LazyFrame, got {type_name(frame)}"
        )
    return frame.lazy()


def check_column_names(names: Sequence[str], parameter: str, columns: Sequence[str]) -> None:
    """Raise an error for the first of `names`, passed for `parameter`, that is not in `columns`."""
    for name in names:
        if name not in columns:
            twins = get_close_matches(name, columns, n=1)
            hint = f"; did you mean '{twins[0]}'?" if twins else ";"
            raise ClusterEvalError(
                f"{parameter}: column '{name}' not found{hint} columns: {', '.join(columns)}"
            )


def check_columns_by_name(lazy: pl.LazyFrame, columns: str | Sequence[str]) -> list[str]:
    """Return the argument `columns`, one name or several names, as a list of different names."""
    names = [columns] if isinstance(columns, str) else columns
    if not (isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names)):
        # A Series may be long; its start identifies it.
        raise ClusterEvalError(
            f"columns: expected names of columns, such as ['color'], got {show_value(columns):.100}"
        )
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ClusterEvalError(f"columns: '{name}' is given twice")
        check_groupable(lazy, name, "columns")
    return list(names)


def column_named(name: str) -> pl.Expr:
    """Return an expression for the column with exactly this name.

    ``pl.col`` would interpret names such as * and ^...$ as patterns that match several columns.
    """
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return cs.by_name(name).as_expr() if is_pattern else pl.col(name)


def as_expression(column: Column, parameter: str) -> pl.Expr:
    """Return the user's argument for `parameter`, a column name or expression, as an expression."""
    if isinstance(column, str):
        return column_named(column)
    if isinstance(column, pl.Expr):
        return column
    raise _column_error(parameter, column, column_advice(parameter, column))


def as_single_column(column: Column, parameter: str) -> pl.Expr:
    """Return as_expression, or raise an error if it selects several columns.

    Public functions that return expressions use this check. Such functions have no frame, so they
    cannot know how many columns ``pl.all()`` or a selector represents. If the argument is a Series
    or an array, the error message shows how to call the public function on a frame.
    """
    if has_values(column):
        raise _column_error(parameter, column, select_advice())
    expr = as_expression(column, parameter)
    is_selection = expr.meta.is_column_selection() and expr.meta.has_multiple_outputs()
    if is_selection and not isinstance(column, str):
        advice = each_column_advice(parameter)
        raise _several_columns_error(parameter, f"the selection {expr}", advice)
    return expr


def check_column(lazy: pl.LazyFrame, column: Column, parameter: str) -> pl.Expr:
    """Return the user's argument `column` as an expression with the alias `parameter`.

    It must read only columns of the frame `lazy` and return a single column.
    """
    expr = as_expression(column, parameter)
    names = [column] if isinstance(column, str) else expr.meta.root_names()
    check_column_names(names, parameter, lazy.collect_schema().names())
    try:
        outputs = lazy.select(expr).collect_schema().names()
    except pl.exceptions.DuplicateError:
        raise _several_columns_error(parameter, f"several from {expr}", "") from None
    if len(outputs) != 1:
        shown = f"{len(outputs)}: {', '.join(outputs)}" if outputs else f"none from {expr}"
        raise _several_columns_error(parameter, shown, "; name one" if outputs else "")
    return expr.alias(parameter)


def _several_columns_error(parameter: str, got: str, advice: str) -> ClusterEvalError:
    """Return the error for an argument that selects no columns or more than one."""
    return ClusterEvalError(f"{parameter}: expected one column, got {got}{advice}")


def _column_error(parameter: str, got: object, advice: str) -> ClusterEvalError:
    """Return the error for an argument `got` that is neither a column name nor an expression."""
    return ClusterEvalError(
        f"{parameter}: expected a column name or an expression, got {type_name(got)}{advice}"
    )


#: Parameters of labels and clusters.
LABELS = ("label", "cluster", "cluster_1", "cluster_2", "reduced_cluster")


def _vector_error(parameter: str) -> str:
    """Return the error message for a call that passes vectors instead of labels or clusters."""
    return (
        f"{parameter}: expected labels, got lists of floating-point numbers; vectors of points are "
        "for the internal metrics"
    )


def are_labels(column: pl.Expr, parameter: str) -> pl.Expr:
    """Return an expression that is True if `column` contains labels, and fails otherwise.

    Functions that return expressions use this check because the type of the column is not yet known
    when they are called. If the column contains vectors, a cast in the expression fails, and its
    error message tells the user what is wrong.
    """
    are_vectors = pl.dtype_of(column).matches(cs.list(cs.float()) | cs.array(cs.float()))
    text = pl.when(are_vectors).then(pl.lit(_vector_error(parameter)))
    return text.cast(pl.Int8).is_null()


def check_groupable(lazy: pl.LazyFrame, column: Column, parameter: str) -> pl.Expr:
    """Return check_column; columns of Objects, and vectors for LABELS, raise an error."""
    expr = check_column(lazy, column, parameter)
    dtype = lazy.select(expr).collect_schema()[parameter]
    is_list = isinstance(dtype, pl.List | pl.Array)
    if parameter in LABELS and is_list and cast("pl.List", dtype).inner.is_float():
        raise ClusterEvalError(_vector_error(parameter))
    if dtype == pl.Object:
        raise ClusterEvalError(f"{parameter}: a column of type {dtype} cannot be grouped")
    return expr


# Up to this limit, products of three counts of a partition and sums in fixed point fit into Int128.
MAX_TOTAL_WEIGHT = 10**12


def check_weight(lazy: pl.LazyFrame, weight: Column | None, keys: Mapping[str, str]) -> pl.Expr:
    """Return the multiplicity of each row: the column `weight` as Int64, or 1 if `weight` is None.

    Raise an error if a weight is not a whole number >= 0, or if the total weight of a partition is
    too large. The check reads the weight column before any other column is read. If the user passed
    a LazyFrame, the check runs when the result is collected (see collect_now).
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
    value, any_bad, total_weight = collect_now(facts).row(0)
    if any_bad:
        raise _weight_error("NULL" if value is None else str(value))
    if total_weight > MAX_TOTAL_WEIGHT:
        _check_partition_totals(lazy, total, keys)
    return expr.cast(pl.Int64)


def _check_partition_totals(lazy: pl.LazyFrame, total: pl.Expr, keys: Mapping[str, str]) -> None:
    """Raise an error if `total`, the sum of the weights, is too large in any partition."""
    by = key_columns(keys)
    totals = lazy.group_by(by).agg(total) if by else lazy.select(total)
    largest = collect_now(totals.select(pl.col("total").max())).item()
    if largest > MAX_TOTAL_WEIGHT:
        raise ClusterEvalError(
            f"weight: expected a sum of at most {MAX_TOTAL_WEIGHT}, got {largest}; "
            "divide the weights by a common factor"
        )


def _weight_error(got: str) -> ClusterEvalError:
    """Return the error for an invalid weight, where `got` is its value or type as text."""
    return ClusterEvalError(
        f"weight: expected whole numbers >= 0, got {got}; a weight is how many times its row counts"
    )


def _key_names(lazy: pl.LazyFrame, key: str | pl.Expr) -> list[str]:
    """Return the columns in `lazy` that `key`, one element of partition_by, selects."""
    names = [key] if isinstance(key, str) else key.meta.root_names()
    check_column_names(names, "partition_by", lazy.collect_schema().names())
    if isinstance(key, str):
        return names
    if not key.meta.is_column_selection():
        raise ClusterEvalError(
            f"partition_by: expected column names, got the expression {key}; add it to the frame "
            'first: frame.with_columns(key=...), and write partition_by="key"'
        )
    names = lazy.select(key).collect_schema().names()
    if not names:
        raise ClusterEvalError(f"partition_by: expected column names, got none from {key}")
    return names


def check_partition_keys(
    lazy: pl.LazyFrame, partition_by: Keys, results: Sequence[str]
) -> dict[str, str]:
    """Return a mapping from internal names (key_0, key_1, ...) to the user's partition columns.

    Raise an error if a column does not exist in the frame `lazy`, is listed twice, or has the name
    of another column of the result, as listed in `results`.
    """
    asked = [partition_by] if isinstance(partition_by, str | pl.Expr) else partition_by
    asked = () if asked is None else asked
    if not (isinstance(asked, Sequence) and all(isinstance(key, str | pl.Expr) for key in asked)):
        raise ClusterEvalError(
            "partition_by: expected column names, got "
            f"{type_name(partition_by)}{column_advice('partition_by', partition_by)}"
        )
    keys = [name for key in asked for name in _key_names(lazy, key)]
    for i, key in enumerate(keys):
        if key in results:
            raise ClusterEvalError(
                f"partition_by: '{key}' is also a column of the result; rename it first"
            )
        if key in keys[:i]:
            raise ClusterEvalError(f"partition_by: '{key}' is given twice")
    return {f"key_{i}": key for i, key in enumerate(keys)}


def key_columns(keys: Mapping[str, str]) -> list[pl.Expr]:
    """Return the partition columns of the user's frame under their internal names."""
    return [column_named(key).alias(name) for name, key in keys.items()]


# ----------------------------------------------------------------------------------------------
# Noise
# ----------------------------------------------------------------------------------------------


def check_noise_as(noise: object, noise_as: object) -> None:
    """Raise an error if `noise_as` is unknown, missing with `noise`, or in need of `noise`."""
    if noise is None and noise_as is None:
        return
    hint = ""
    if noise_as is None:
        hint = (
            "; choose how the rows of noise count in the scores: 'cluster' as one ordinary "
            "cluster, 'drop' not at all, 'singletons' each as a cluster of its own"
        )
    check_choice("noise_as", noise_as, get_args(NoiseAs), hint)
    if noise_as != "cluster" and noise is None:
        raise ClusterEvalError(
            f"noise_as '{noise_as}' needs noise: give the value of cluster that marks noise"
        )


def check_noise_of_clusters(noise: object, noise_as: object) -> None:
    """Raise an error as check_noise_as, or for singletons in a table with one row per cluster."""
    if noise_as == "singletons":
        raise ClusterEvalError(
            "noise_as: expected one of 'cluster', 'drop', got 'singletons'; each row of the result "
            "describes a cluster"
        )
    if noise_as is None and noise is not None:
        raise ClusterEvalError(
            "noise_as: expected one of 'cluster', 'drop', got NULL; choose how the rows of noise "
            "count: 'cluster' as one ordinary cluster, 'drop' not at all"
        )
    check_noise_as(noise, noise_as)


def equals_noise(cluster: pl.Expr, noise: object, dtype: pl.DataType) -> pl.Expr:
    """Return whether `cluster`, of type `dtype`, equals the noise value; False if it is NULL.

    If `noise` is None, no value marks noise. Raise an error unless the noise value can be converted
    to `dtype` without changing.
    """
    if noise is None:
        return pl.lit(False)
    return (cluster == check_noise_value(noise, dtype)).fill_null(False)


def check_noise_value(noise: object, dtype: pl.DataType) -> pl.Expr:
    """Return the noise value as a literal of type `dtype`, the type of the cluster column.

    If the type is an enumeration that lacks the category `noise`, the literal is NULL, because no
    row can have this category.
    """
    text = str(noise) if is_number(noise) else noise
    if isinstance(dtype, pl.Enum) and isinstance(text, str) and text not in dtype.categories:
        return pl.lit(None, dtype)
    return check_value_of("noise", noise, "cluster", dtype)


def check_value_of(parameter: str, value: object, column: str, dtype: pl.DataType) -> pl.Expr:
    """Return the user's `value` for `parameter` as a literal of type `dtype`, that of `column`.

    Raise an error unless the value can be converted to `dtype` without changing.
    """
    got = type(value).__name__
    try:
        given = pl.Series([value])
        got = str(given.dtype)
        if isinstance(dtype, pl.Enum | pl.Categorical) and given.dtype.is_numeric():
            given = given.cast(pl.String)
        cast = given.cast(dtype)
        if _is_alike(given.dtype, dtype) and _is_unchanged(given, cast):
            # Polars would turn a list into a column of its items, but the first value of a column
            # stays a list.
            return pl.lit(cast).first() if dtype.is_nested() else pl.lit(cast.item(), dtype)
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        pass
    raise ClusterEvalError(
        f"{parameter}: expected a value of the type of {column} ({dtype}), "
        f"got '{show_value(value)}' ({got})"
    )


def _is_alike(given: Any, dtype: Any) -> bool:
    """Return False if only one of two Polars types is a Boolean, a list or a struct.

    Polars casts these to other types without raising an error. Other types count as alike, because
    the caller casts the value.
    """
    lists = pl.List, pl.Array
    if isinstance(given, lists) and isinstance(dtype, lists):
        return given.inner == pl.Null or _is_alike(given.inner, dtype.inner)
    if isinstance(given, lists) or isinstance(dtype, lists):
        return False
    return all((given == kind) == (dtype == kind) for kind in (pl.Struct, pl.Boolean))


def _is_unchanged(given: pl.Series, cast: pl.Series) -> bool:
    """Return whether the cast left the single value in `given` unchanged, apart from its type.

    A cast to Float32 changes the number 0.1 but not its text representation, which is what the user
    means.
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
    """Return `frame` with a validation check that runs when the frame is collected.

    `check` is called with the few rows of `facts`, and raises an error if the input is invalid.
    """

    def run_check(collected: pl.DataFrame) -> pl.DataFrame:
        """Call `check` on the collected rows of `facts`, and return a row with passed = True."""
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
