"""vectors: reads vectors from columns and from text, and encodes nominal values as vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import polars as pl
import polars.selectors as cs

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    as_expression,
    as_single_column,
    check_choice,
    check_column_names,
    check_columns_by_name,
    check_frame,
    check_groupable,
    check_partition_keys,
    column_named,
)
from polars_clustereval.base.data_arguments import column_advice, type_name
from polars_clustereval.base.deferral import collect_now
from polars_clustereval.base.exact import to_double
from polars_clustereval.base.tables import table_function
from polars_clustereval.errors import ClusterEvalError

from .kernels import long_vectors

Vector = str | pl.Expr | Sequence[str | pl.Expr]
#: What happens to a vector with a NULL coordinate.
Missing = Literal["error", "drop"]


# ----------------------------------------------------------------------------------------------
# Coordinates
# ----------------------------------------------------------------------------------------------


class Coordinates(NamedTuple):
    """The coordinates of the vectors in a frame, as expressions over the rows of the frame."""

    exprs: list[pl.Expr]
    #: Number of coordinates of a row.
    length: pl.Expr
    #: Whether a row has a vector: it is not NULL, and not all of its coordinates are NULL. With
    #: missing='drop', none of its coordinates may be NULL.
    has_vector: pl.Expr
    #: Whether numbers of the type have at most 24 significant bits; see _has_few_digits.
    few_digits: bool = False
    #: Whether no row has any coordinate; if so, `exprs` is a single NULL.
    is_empty: bool = False
    #: Vectors of many coordinates as one column of arrays.
    array: pl.Expr | None = None
    #: Names of the columns of the coordinates; empty unless each coordinate is a column.
    names: tuple[str, ...] = ()


def check_missing(missing: Missing) -> Missing:
    """Return the option `missing` unchanged, or raise an error if it is unknown."""
    check_choice("missing", missing, get_args(Missing))
    return missing


def check_vector(
    lazy: pl.LazyFrame, vector: Vector, counts: pl.Expr, missing: Missing = "error"
) -> Coordinates:
    """Return the coordinates specified by the user's argument `vector`, as expressions.

    It must specify one list or array column or several numeric columns. `counts` is true for each
    row that is evaluated if it has a vector: the longest list among these rows determines the
    number of coordinates.
    """
    named = _vector_columns(lazy, vector)
    columns = [expr for _, expr in named]
    types = lazy.select(columns).collect_schema().dtypes()
    if len(types) == 1 and isinstance(types[0], pl.Array | pl.List):
        return _nested_coordinates(lazy, columns[0], types[0], counts, missing)
    is_wide = not isinstance(vector, str | pl.Expr) or cs.is_selector(vector)
    if len(types) == 1 and not (is_wide and types[0].is_numeric()):
        raise _vector_type_error(types[0], is_vector_text=not is_wide and types[0] == pl.String)
    for (name, _), dtype in zip(named, types, strict=True):
        if not dtype.is_numeric():
            raise ClusterEvalError(
                f"vector: expected numbers, column '{name}' is {dtype}; give several columns of "
                "numbers, or one of lists"
            )
    if not types:
        raise ClusterEvalError("vector: expected at least one column, got none")
    return Coordinates(
        exprs=[to_double(x) for x in columns],
        length=pl.lit(len(columns)),
        has_vector=(pl.all_horizontal if missing == "drop" else pl.any_horizontal)(
            [x.is_not_null() for x in columns]
        ),
        few_digits=all(map(_has_few_digits, types)),
        names=tuple(name for name, expr in named) if _are_columns(vector) else (),
    )


def _are_columns(vector: Vector) -> bool:
    """Return whether all parts of the argument `vector` are plain columns, not computations."""
    parts = [vector] if isinstance(vector, str | pl.Expr) else vector
    return all(isinstance(x, str) or x.meta.is_column_selection() for x in parts)


def _has_few_digits(dtype: pl.DataType) -> bool:
    """Return whether numbers of this type have at most 24 significant bits.

    Sums of such numbers in Float64 are accurate enough. For others, an origin must be subtracted
    first.
    """
    return dtype in (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)


def _vector_columns(lazy: pl.LazyFrame, vector: Vector) -> list[tuple[str, pl.Expr]]:
    """Return the name and the expression, named x_0, x_1, ..., of each column of `vector`."""
    parts = (
        list(vector) if isinstance(vector, Iterable) and not isinstance(vector, str) else [vector]
    )
    for part in parts:
        if not isinstance(part, str | pl.Expr):
            raise ClusterEvalError(
                "vector: expected column names or expressions, got "
                f"{type_name(part)}{column_advice('vector', vector)}"
            )
    names = [name for part in parts for name in _root_names(part)]
    check_column_names(names, "vector", lazy.collect_schema().names())
    named: list[tuple[str, pl.Expr]] = []
    for part in parts:
        expr = as_expression(part, "vector")
        outputs = lazy.select(expr).collect_schema().names()
        exprs = [expr] if len(outputs) == 1 else map(column_named, outputs)
        named += zip(outputs, exprs, strict=True)
    return [(name, expr.alias(f"x_{i}")) for i, (name, expr) in enumerate(named)]


def _root_names(part: str | pl.Expr) -> list[str]:
    """Return the names of the columns that `part` reads, or an empty list if it is a selector."""
    if isinstance(part, str):
        return [part]
    return [] if cs.is_selector(part) else part.meta.root_names()


def _nested_coordinates(
    lazy: pl.LazyFrame,
    expr: pl.Expr,
    dtype: pl.Array | pl.List,
    counts: pl.Expr,
    missing: Missing,
) -> Coordinates:
    """Return the coordinates of a list or array column, or raise an error if it has no numbers."""
    inner = dtype.inner
    if not (isinstance(inner, pl.DataType) and inner.is_numeric()):
        raise _vector_type_error(dtype)
    if isinstance(dtype, pl.Array):
        return _array_coordinates(expr, inner, dtype.shape[0], missing)
    return _list_coordinates(lazy, expr, inner, counts, missing)


def _array_coordinates(
    expr: pl.Expr, inner: pl.DataType, dims: int, missing: Missing
) -> Coordinates:
    """Return the coordinates of a column of arrays with `dims` elements."""
    if not dims:
        null = pl.lit(None, pl.Float64)
        return Coordinates([null], pl.lit(0), has_vector=expr.is_not_null(), is_empty=True)
    if inner.is_decimal():
        # Polars has no maximum for arrays of decimals.
        expr = expr.cast(pl.Array(pl.Float64, dims))
    return Coordinates(
        exprs=[to_double(expr.arr.get(i)) for i in range(dims)],
        length=pl.lit(dims),
        has_vector=_has_vector(expr, expr.arr, pl.lit(dims), missing),
        few_digits=_has_few_digits(inner),
        array=_array_if_long(expr, inner, dims),
    )


def _list_coordinates(
    lazy: pl.LazyFrame, expr: pl.Expr, inner: pl.DataType, counts: pl.Expr, missing: Missing
) -> Coordinates:
    """Return the coordinates of a list column.

    Their number is the length of the longest list among the counted rows, which are read while the
    query plan is being built. If a list is shorter, its missing coordinates are NULL.
    """
    length = expr.list.len()
    has_vector = _has_vector(expr, expr.list, length, missing)
    longest = lazy.select(length.filter(counts & has_vector).max().alias("length"))
    dims = collect_now(longest).item() or 0
    return Coordinates(
        exprs=[to_double(expr.list.get(i, null_on_oob=True)) for i in range(max(dims, 1))],
        length=length,
        has_vector=has_vector,
        few_digits=_has_few_digits(inner),
        is_empty=not dims,
        array=_array_if_long(long_vectors.as_arrays(expr, inner, dims), inner, dims),
    )


def _array_if_long(array: pl.Expr, inner: pl.DataType, dims: int) -> pl.Expr | None:
    """Return `array` with floating-point elements, or None if it is not processed by numpy."""
    if dims < long_vectors.MIN_LONG_DIMS:
        return None
    return array if inner.is_float() else array.cast(pl.Array(pl.Float64, dims))


def _has_vector(expr: pl.Expr, elements: Any, length: pl.Expr, missing: Missing) -> pl.Expr:
    """Return whether a list or array is neither NULL nor all NULLs; an empty one fails later.

    `elements` is expr.list or expr.arr. With missing='drop', no element may be NULL.
    """
    is_given: pl.Expr = elements.max().is_not_null() | (length == 0)
    if missing == "drop":
        is_given = ~elements.contains(None)
    return expr.is_not_null() & is_given


def _vector_type_error(dtype: pl.DataType, is_vector_text: bool = False) -> ClusterEvalError:
    """Return the error for a vector of the wrong type, such as a single text column."""
    advice = "; parse_vector makes one from text" if is_vector_text else ""
    return ClusterEvalError(
        f"vector: expected a list or array of numbers, such as [x, y, z], got {dtype}{advice}"
    )


# ----------------------------------------------------------------------------------------------
# Vectors as text
# ----------------------------------------------------------------------------------------------


_GAP_PATTERN = r"[ ,\t\r\n]"
_NUMBER_PATTERN = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)"
_ENTRY_PATTERN = f"-?[0-9]{{1,9}}:{_NUMBER_PATTERN}"
_DENSE_PATTERN = (
    f"{_GAP_PATTERN}*({_NUMBER_PATTERN}({_GAP_PATTERN}+{_NUMBER_PATTERN})*{_GAP_PATTERN}*)?"
)
_BRACKETED_PATTERN = rf"{_GAP_PATTERN}*\[{_DENSE_PATTERN}\]{_GAP_PATTERN}*"
_SPARSE_PATTERN = (
    rf"{_GAP_PATTERN}*(\$[0-9]{{1,9}}\${_GAP_PATTERN}*)?"
    rf"({_ENTRY_PATTERN}({_GAP_PATTERN}+{_ENTRY_PATTERN})*{_GAP_PATTERN}*)?"
)
_STATED_LENGTH_PATTERN = r"\$([0-9]+)\$"

# A text of ten characters could state a length that fills the memory, so longer vectors need
# `size`.
_MAX_STATED_LENGTH = 2**20

# Faults are numbers, because a text is needed only for the fault that is reported.
_NO_VECTOR, _TOO_LONG, _OTHER_LENGTH, _NO_LENGTH, _INDEX_OUT_OF_RANGE, _REPEATED_INDEX = range(6)


def _read_texts(texts: pl.Series, size: pl.Expr) -> pl.DataFrame:
    """Split the vector in each text into its parts, and return one row per text.

    Besides text and is_sparse, the result contains these columns:

    - vector: the text if it has the form of a dense or sparse vector, otherwise NULL.
    - stated_length: the optional length at the start of a sparse text, such as 4 in '$4$0:1 2:3'.
    - numbers: the coordinates of a dense vector, or the alternating indices and coordinates of a
      sparse vector.
    - length: the stated length if there is one, otherwise `size`, or NULL if neither is given.
    - indices: the indices of a sparse vector, or NULL for a dense vector.
    """
    text, vector, numbers = pl.col("text"), pl.col("vector"), pl.col("numbers")
    tokens = vector.str.replace(_STATED_LENGTH_PATTERN, "").str.extract_all(r"[^\[\] ,:\t\r\n]+")
    patterns = "|".join([_DENSE_PATTERN, _BRACKETED_PATTERN, _SPARSE_PATTERN])
    is_vector = text.str.contains(f"(?i)^(?:{patterns})$")
    parts = texts.alias("text").to_frame().with_columns(vector=pl.when(is_vector).then(text))
    parts = parts.with_columns(
        stated_length=vector.str.extract(_STATED_LENGTH_PATTERN).cast(pl.Int64),
        is_sparse=vector.str.contains("[:$]"),
        numbers=tokens.cast(pl.List(pl.Float64)),
    )
    return parts.with_columns(
        length=pl.coalesce("stated_length", size),
        indices=pl.when("is_sparse").then(numbers.list.gather_every(2)),
    )


def _text_fault(size: pl.Expr) -> pl.Expr:
    """Return the code of the first fault in a row of _read_texts, such as _NO_LENGTH, or NULL."""
    indices, length = pl.col("indices"), pl.col("length")
    dims = pl.col("numbers").list.len().cast(pl.Int64)
    faults = {
        _NO_VECTOR: pl.col("text").is_not_null() & pl.col("vector").is_null(),
        _TOO_LONG: size.is_null() & (pl.col("stated_length") > _MAX_STATED_LENGTH),
        _OTHER_LENGTH: pl.when("is_sparse").then("stated_length").otherwise(dims) != size,
        _NO_LENGTH: pl.col("is_sparse") & length.is_null(),
        _INDEX_OUT_OF_RANGE: (indices.list.min() < 0) | (indices.list.max() >= length),
        _REPEATED_INDEX: indices.list.n_unique() < indices.list.len(),
    }
    return pl.coalesce(
        pl.when(has_fault).then(pl.lit(fault, pl.Int8)) for fault, has_fault in faults.items()
    )


def _text_error(facts: dict[str, Any], size: int | None) -> ClusterEvalError:
    """Return the error for a row of _read_texts with the code of its `fault`."""
    text = facts["text"]
    # Long texts are cut off, because their start is enough to identify the row.
    shown = text if len(text) <= 100 else f"{text[:100]}..."
    expected, advice = {
        _NO_VECTOR: ("numbers such as '0.1 0.2', '[0.1, 0.2]' or '0:1 2:3'", ""),
        _TOO_LONG: (f"a length <= {_MAX_STATED_LENGTH}", "; give size for longer vectors"),
        _OTHER_LENGTH: (
            f"a vector of length {size}",
            "; leave out size where every vector has its own",
        ),
        _NO_LENGTH: ("a sparse vector with its length, such as '$4$0:1 2:3'", "; or give size"),
        _INDEX_OUT_OF_RANGE: (f"indices >= 0 and < {facts['length']}", "; the first index is 0"),
        _REPEATED_INDEX: ("each index once", "; leave out all but one"),
    }[facts["fault"]]
    return ClusterEvalError(f"parse_vector: expected {expected}, got '{shown}'{advice}")


def _repeat_zero(n: pl.Expr) -> pl.Expr:
    """Return a list of n zeros for each row."""
    return pl.lit(0.0).repeat_by(n)


def _fill_entries() -> pl.Expr:
    """Return the coordinates of a sparse vector, including zeros, up to its largest index.

    The expression is for list.eval of a list of alternating indices and coordinates. The indices
    are counted from 0, each occurs only once, and they may have any order.
    _pad_vector appends the zeros after the last entry.
    """
    index = pl.element().gather_every(2).cast(pl.Int64)
    coordinate = pl.element().gather_every(2, 1).sort_by(index)
    index = index.sort()
    gap = index - index.shift(1, fill_value=-1) - 1
    return pl.concat_list(_repeat_zero(gap), coordinate).explode(empty_as_null=False)


def _pad_vector(values: pl.Expr, length: pl.Expr) -> pl.Expr:
    """Return the lists in `values`, padded with zeros to `length` elements."""
    return pl.concat_list(values, _repeat_zero(length - values.list.len().cast(pl.Int64)))


def _parse_texts(texts: pl.Series, size: int | None) -> pl.Series:
    """Return the vector in each text as a list, or raise an error for the first invalid text."""
    given_size = pl.lit(size, pl.Int64)
    parts = _read_texts(texts, given_size).with_columns(fault=_text_fault(given_size))
    faulty = parts.filter(pl.col("fault").is_not_null()).head(1)
    if len(faulty):
        raise _text_error(faulty.row(0, named=True), size)
    sparse = pl.when("is_sparse").then("numbers").list.eval(_fill_entries())
    padded = _pad_vector(pl.col("sparse"), pl.col("length"))
    return parts.with_columns(sparse=sparse).select(pl.coalesce(padded, "numbers")).to_series()


def parse_vector(vec: Column, size: int | None = None) -> pl.Expr:
    """Parse a dense or sparse vector from text in the format of Alink or libsvm.

    Parameters
    ----------
    vec : str or Expr
        The text. A dense vector is a list of numbers separated by spaces or commas, such as ``0.1
        0.2`` or ``0.1,0.2``. A dense vector may be enclosed in brackets, as in ``[0.1, 0.2]``, like
        a list in DuckDB or Python. A sparse vector is a list of index:number entries in any order,
        such as ``0:1 2:3``. Indices are counted from 0. The length of a sparse vector may come
        first, as in ``$4$0:1 2:3``. An empty string is an empty vector. The values nan and inf are
        accepted here, but not by the functions that evaluate points.
    size : int, optional
        The length of the vectors. A size is required for sparse vectors that do not state their
        length or that state a length above 2^20. Without this rule, even a short text could use up
        all memory.

    Returns
    -------
    Expr
        An expression of type List(Float64) with the name of the column. NULL stays NULL.

    Raises
    ------
    ClusterEvalError
        If size is not a whole number >= 1. When you collect the frame, an error is also raised if a
        text is not a vector, if a sparse vector requires a size and none is given, if an index is
        negative, repeated or not below the length, or if the length of a vector differs from size.

    Notes
    -----
    In SQL: ``clustereval.parse_vector(vec, size)``.

    References
    ----------
    Alink, VectorUtil, https://github.com/alibaba/Alink.

    Examples
    --------
    A sparse vector that states its length is parsed like the dense vector:

    >>> texts = pl.DataFrame({"vec": ["1 0 3 0", "$4$0:1 2:3", None]})
    >>> texts.select(ce.parse_vector("vec"))["vec"].to_list()
    [[1.0, 0.0, 3.0, 0.0], [1.0, 0.0, 3.0, 0.0], None]
    """
    expr = as_single_column(vec, "vec")
    if size is not None and not (isinstance(size, int) and 1 <= size < 10**9):
        raise ClusterEvalError(f"size: expected a whole number >= 1, got {size}")
    # This is a function of whole columns, because an expression has no variables, and would compute
    # twice what it uses twice.
    parsed = expr.cast(pl.String).map_batches(
        partial(_parse_texts, size=size), return_dtype=pl.List(pl.Float64), is_elementwise=True
    )
    name = expr.meta.output_name(raise_if_undetermined=False) or "parse_vector"
    return parsed.alias(name)


# ----------------------------------------------------------------------------------------------
# Nominal attributes
# ----------------------------------------------------------------------------------------------


def _check_nominal_columns(lazy: pl.LazyFrame, columns: str | Sequence[str]) -> list[str]:
    """Return the argument `columns` of vdm_encode as a list of names, or raise an error."""
    names = check_columns_by_name(lazy, columns)
    table_columns = lazy.collect_schema().names()
    for name in names:
        if f"{name}_vdm" in table_columns:
            raise ClusterEvalError(
                f"columns: '{name}_vdm' is also a column of the table; rename it first"
            )
    return names


def _value_profiles(
    lazy: pl.LazyFrame, column: str, label: pl.Expr, keys: dict[str, str]
) -> pl.LazyFrame:
    """Return the profile of each value of a nominal column in each partition.

    A profile is the list of class shares among the rows with this value, in the sorted order of the
    partition's classes.
    """
    value_keys, rank, n = [*keys, "value"], pl.col("rank"), pl.col("n")
    columns = {name: column_named(key) for name, key in keys.items()}
    columns |= {"value": column_named(column)}
    rows = lazy.select(label, pl.lit(1, pl.Int8).alias("n"), **columns)
    cells = rows.filter(pl.col("label").is_not_null()).group_by(*value_keys, "label").agg(n.sum())
    partition = [pl.col(key) for key in keys] or [pl.lit(0)]
    ranked = cells.with_columns(rank=pl.col("label").rank("dense").cast(pl.Int64).over(partition))
    shares = ranked.select(
        *value_keys,
        "rank",
        n_classes=rank.max().over(partition),
        n_zeros=rank - rank.shift(1, fill_value=0).over(value_keys, order_by="rank") - 1,
        share=to_double(n) / n.sum().over(value_keys),
    )
    parts = pl.concat_list(_repeat_zero(pl.col("n_zeros")), "share")
    profiles = shares.group_by(value_keys).agg(
        parts.sort_by("rank").explode(empty_as_null=False).alias("profile"),
        pl.col("n_classes").first(),
    )
    return profiles.select(*value_keys, profile=_pad_vector(pl.col("profile"), pl.col("n_classes")))


def _add_profiles(
    lazy: pl.LazyFrame, profiles: pl.LazyFrame, column: str, keys: dict[str, str]
) -> pl.LazyFrame:
    """Return the rows of `lazy` with COLUMN_vdm, the profile of the row's value in `column`."""
    # The columns are copied under plain names, because a join would read a name such as ^a$ as a
    # pattern.
    by = {f"__ce_{name}": user_name for name, user_name in (keys | {"value": column}).items()}
    profiles = profiles.rename({name: f"__ce_{name}" for name in (*keys, "value")})
    rows = lazy.with_columns(column_named(user_name).alias(name) for name, user_name in by.items())
    encoded = rows.join(
        profiles.rename({"profile": f"{column}_vdm"}),
        how="left",
        on=list(by),
        nulls_equal=True,
        maintain_order="left",
    )
    return encoded.drop(*by)


@table_function("nominal values", guide="nominal")
def vdm_encode(
    frame: Frame,
    columns: str | Sequence[str],
    label: Column,
    *,
    partition_by: Keys = None,
) -> Frame:
    """Encode each nominal value as a vector with the share of each class among the value's rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to encode. A LazyFrame is streamed when you collect the result, and is read once
        for each nominal column and once more for the rows themselves.
    columns : str or sequence of str
        Names of the nominal columns, which may have any type that can be grouped. NULL is also a
        value.
    label : str or Expr
        The class or cluster of each row. Rows with a NULL label are not counted.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are encoded separately, each with its own set of classes. NULL is also
        a group.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with the columns and rows of `frame` in the same order. (The SQL macro
        returns the rows in any order.) For each nominal column u, the result has an additional
        column u_vdm, which contains the profile of each row's value. A profile lists P(c | u) for
        all classes c, in sorted order. Rows with a NULL label also get the profile of their value.
        If a value occurs only in rows with a NULL label, its profile is NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, if columns is empty or lists a column
        twice, or if the frame already has a column with the name of a new column, such as
        color_vdm.

    Notes
    -----
    VDM_p(a, b) = Σ_c |P(c|a) − P(c|b)|^p is the p-th power of a Minkowski distance between
    profiles. Therefore, the mixed distance (Σ_x |x − x'|^p + Σ_u VDM_p)^(1/p) is a Minkowski
    distance between vectors that combine the numbers with the profiles. To give a column the weight
    w, multiply its profile by w^(1/p).
    In SQL: ``FROM clustereval.vdm_encode(tbl, columns, label)``.

    References
    ----------
    Stanfill and Waltz (1986), Toward memory-based reasoning, doi:10.1145/7902.7906. Wilson and
    Martinez (1997), Improved heterogeneous distance functions, doi:10.1613/jair.346.

    Examples
    --------
    Values with the same shares of classes have the same profile:

    >>> fruit = pl.DataFrame({"color": ["red", "red", "pink", "pink", "blue"], "kind": [*"abbac"]})
    >>> ce.vdm_encode(fruit, "color", "kind").unique("color", maintain_order=True).rows()
    [('red', 'a', [0.5, 0.5, 0.0]), ('pink', 'b', [0.5, 0.5, 0.0]), ('blue', 'c', [0.0, 0.0, 1.0])]
    """
    lazy = check_frame(frame)
    names = _check_nominal_columns(lazy, columns)
    keys = check_partition_keys(lazy, partition_by, ())
    classes = check_groupable(lazy, label, "label")
    encoded = lazy
    for name in names:
        encoded = _add_profiles(encoded, _value_profiles(lazy, name, classes, keys), name, keys)
    return encoded if isinstance(frame, pl.LazyFrame) else encoded.collect(engine="streaming")
