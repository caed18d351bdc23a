"""vectors: vectors in every form, as text, and as profiles of nominal values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl
import polars.selectors as cs

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    check_column_names,
    check_frame,
    check_groupable,
    check_partition_keys,
    show_value,
    sql_type_name,
)
from polars_clustereval.base.exact import to_double
from polars_clustereval.errors import ClusterEvalError

from .kernels import long_vectors

Vector = str | pl.Expr | Sequence[str | pl.Expr]


# ----------------------------------------------------------------------------------------------
# Coordinates
# ----------------------------------------------------------------------------------------------


class Coordinates(NamedTuple):
    """A vector as one expression per coordinate, its length in a row, and whether there is one."""

    exprs: list[pl.Expr]
    length: pl.Expr
    known: pl.Expr
    #: Whether the numbers have so few digits that sums of them in Float64 lose none.
    few_digits: bool = False
    #: Whether no row has any coordinate; one that is NULL then stands for them.
    empty: bool = False
    #: A long vector as one column of arrays.
    array: pl.Expr | None = None


def check_vector(lazy: pl.LazyFrame, vector: Vector, counts: pl.Expr) -> Coordinates:
    """Return the coordinates; the rows that count decide how many a List has."""
    columns = _vector_columns(lazy, vector)
    schema = lazy.select(columns).collect_schema()
    types = schema.dtypes()
    if len(types) == 1 and isinstance(types[0], pl.Array | pl.List):
        return _nested_coordinates(lazy, columns[0], types[0], counts)
    wide = not isinstance(vector, str | pl.Expr) or cs.is_selector(vector) or len(types) > 1
    for dtype in types:
        if not (wide and dtype.is_numeric()):
            raise _vector_type_error(dtype)
    if not types:
        raise ClusterEvalError("vector: expected at least one column, got none")
    known = pl.any_horizontal([x.is_not_null() for x in columns])
    few_digits = all(map(_has_few_digits, types))
    return Coordinates([to_double(x) for x in columns], pl.lit(len(columns)), known, few_digits)


def _has_few_digits(dtype: pl.DataType) -> bool:
    return dtype in (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)


def _vector_columns(lazy: pl.LazyFrame, vector: Vector) -> list[pl.Expr]:
    """Give one expression a column, under names that nothing else has."""
    given = [vector] if isinstance(vector, str | pl.Expr) else list(vector)
    for part in given:
        if not isinstance(part, str | pl.Expr):
            raise ClusterEvalError(
                f"vector: expected column names or expressions, got {type(part).__name__}"
            )
    names = [name for part in given for name in _root_names(part)]
    check_column_names(names, "vector", lazy.collect_schema().names())
    exprs = []
    for part in given:
        expr = pl.col(part) if isinstance(part, str) else part
        found = lazy.select(expr).collect_schema().names()
        exprs += [expr] if len(found) == 1 else [pl.col(name) for name in found]
    return [expr.alias(f"x_{i}") for i, expr in enumerate(exprs)]


def _root_names(part: str | pl.Expr) -> list[str]:
    if isinstance(part, str):
        return [part]
    return [] if cs.is_selector(part) else part.meta.root_names()


def _nested_coordinates(
    lazy: pl.LazyFrame, expr: pl.Expr, dtype: pl.Array | pl.List, counts: pl.Expr
) -> Coordinates:
    inner = dtype.inner
    if not (isinstance(inner, pl.DataType) and inner.is_numeric()):
        raise _vector_type_error(dtype)
    few_digits = _has_few_digits(inner)
    if isinstance(dtype, pl.Array):
        dims = dtype.shape[0]
        if inner.is_decimal():
            expr = expr.cast(pl.Array(pl.Float64, dims))  # arrays of decimals have no maximum
        if not dims:
            return Coordinates(
                [pl.lit(None, pl.Float64)], pl.lit(0), expr.is_not_null(), empty=True
            )
        parts = [to_double(expr.arr.get(i)) for i in range(dims)]
        known = _has_vector(expr, expr.arr.max(), pl.lit(dims))
        array = _long_array(expr, inner, dims)
        return Coordinates(parts, pl.lit(dims), known, few_digits, array=array)
    length = expr.list.len()
    longest = lazy.select(length.filter(counts).max().alias("length"))
    dims = longest.collect(engine="streaming").item() or 0
    parts = [to_double(expr.list.get(i, null_on_oob=True)) for i in range(max(dims, 1))]
    known = _has_vector(expr, expr.list.max(), length)
    array = _long_array(long_vectors.as_arrays(expr, inner, dims), inner, dims)
    return Coordinates(parts, length, known, few_digits, empty=not dims, array=array)


def _long_array(array: pl.Expr, inner: pl.DataType, dims: int) -> pl.Expr | None:
    if dims < long_vectors.LONG:
        return None
    return array if inner.is_float() else array.cast(pl.Array(pl.Float64, dims))


def _has_vector(expr: pl.Expr, most: pl.Expr, length: pl.Expr) -> pl.Expr:
    """Tell whether there is a vector; one of NULLs alone is none, one without numbers an error."""
    return expr.is_not_null() & (most.is_not_null() | (length == 0))


def _vector_type_error(dtype: pl.DataType) -> ClusterEvalError:
    return ClusterEvalError(
        "vector: expected a list or array of numbers, such as [x, y, z], got "
        f"{_vector_type_name(dtype)}; parse_vector makes one from text"
    )


def _vector_type_name(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Array | pl.List) and isinstance(dtype.inner, pl.DataType):
        size = dtype.shape[0] if isinstance(dtype, pl.Array) else ""
        return f"{_vector_type_name(dtype.inner)}[{size}]"
    return sql_type_name(dtype)


# ----------------------------------------------------------------------------------------------
# Vectors as text
# ----------------------------------------------------------------------------------------------


_GAP = r"[ ,\t\r\n]"


_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)"


_ENTRY = f"-?[0-9]{{1,9}}:{_NUMBER}"


_DENSE = f"{_GAP}*({_NUMBER}({_GAP}+{_NUMBER})*{_GAP}*)?"


_SPARSE = rf"{_GAP}*(\$[0-9]{{1,9}}\${_GAP}*)?({_ENTRY}({_GAP}+{_ENTRY})*{_GAP}*)?"


_LENGTH = r"\$([0-9]+)\$"


# The faults by number: words are made only for the one that is reported.
_NO_VECTOR, _OTHER_LENGTH, _NO_LENGTH, _OUTSIDE, _REPEATED = range(5)


def _check_size(size: int | None) -> None:
    if size is not None and not (isinstance(size, int) and 1 <= size < 10**9):
        raise ClusterEvalError(f"size: expected a whole number >= 1, got {size}")


def _read_texts(texts: pl.Series, size: pl.Expr) -> pl.DataFrame:
    """Give all that the texts tell; `vector` is the text itself if it is one."""
    text, vector, numbers = pl.col("text"), pl.col("vector"), pl.col("numbers")
    tokens = vector.str.replace(_LENGTH, "").str.extract_all(r"[^ ,:\t\r\n]+")
    is_vector = text.str.contains(f"(?i)^(?:{_DENSE}|{_SPARSE})$")
    read = texts.alias("text").to_frame().with_columns(vector=pl.when(is_vector).then(text))
    read = read.with_columns(
        carried=vector.str.extract(_LENGTH).cast(pl.Int64),
        is_sparse=vector.str.contains("[:$]"),
        # Of a sparse vector indices and coordinates by turns.
        numbers=tokens.cast(pl.List(pl.Float64)),
    )
    return read.with_columns(
        length=pl.coalesce("carried", size),
        indices=pl.when("is_sparse").then(numbers.list.gather_every(2)),
    )


def _text_fault(size: pl.Expr) -> pl.Expr:
    """Give the number of the first fault, NULL where there is none."""
    indices, length = pl.col("indices"), pl.col("length")
    dims = pl.col("numbers").list.len().cast(pl.Int64)
    faults = {
        _NO_VECTOR: pl.col("text").is_not_null() & pl.col("vector").is_null(),
        _OTHER_LENGTH: pl.when("is_sparse").then("carried").otherwise(dims) != size,
        _NO_LENGTH: pl.col("is_sparse") & length.is_null(),
        _OUTSIDE: (indices.list.min() < 0) | (indices.list.max() >= length),
        _REPEATED: indices.list.n_unique() < indices.list.len(),
    }
    return pl.coalesce(pl.when(bad).then(pl.lit(fault, pl.Int8)) for fault, bad in faults.items())


def _text_error(found: dict[str, Any], size: int | None) -> ClusterEvalError:
    text = found["text"]
    # Long texts are cut: they start with what the reader needs to find the row.
    shown = text if len(text) <= 100 else f"{text[:100]}..."
    expected, advice = {
        _NO_VECTOR: ("numbers such as '0.1 0.2' or '0:1 2:3'", ""),
        _OTHER_LENGTH: (
            f"a vector of length {size}",
            "; leave out size where every vector has its own",
        ),
        _NO_LENGTH: ("a sparse vector with its length, such as '$4$0:1 2:3'", "; or give size"),
        _OUTSIDE: (f"indices >= 0 and < {found['length']}", "; the first index is 0"),
        _REPEATED: ("each index once", "; leave out all but one"),
    }[found["fault"]]
    return ClusterEvalError(f"parse_vector: expected {expected}, got '{shown}'{advice}")


def _zeros(n: pl.Expr) -> pl.Expr:
    return pl.lit(0.0).repeat_by(n)


def _fill_sparse() -> pl.Expr:
    """Give the list of a sparse vector: each coordinate after the zeros that part it from the last.

    For use in list.eval on its numbers; the zeros at the end are missing.
    """
    index = pl.element().gather_every(2).cast(pl.Int64)
    coordinate = pl.element().gather_every(2, 1).sort_by(index)
    index = index.sort()
    gap = index - index.shift(1, fill_value=-1) - 1
    return pl.concat_list(_zeros(gap), coordinate).explode(empty_as_null=False)


def _pad_vector(values: pl.Expr, length: pl.Expr) -> pl.Expr:
    return pl.concat_list(values, _zeros(length - values.list.len().cast(pl.Int64)))


def _parse_texts(texts: pl.Series, size: int | None) -> pl.Series:
    """Give the vectors of texts, or the error of the first one at fault."""
    wanted = pl.lit(size, pl.Int64)
    read = _read_texts(texts, wanted).with_columns(fault=_text_fault(wanted))
    faulty = read.filter(pl.col("fault").is_not_null()).head(1)
    if len(faulty):
        raise _text_error(faulty.row(0, named=True), size)
    sparse = pl.when("is_sparse").then("numbers").list.eval(_fill_sparse())
    filled = read.with_columns(sparse=sparse)
    padded = _pad_vector(pl.col("sparse"), pl.col("length"))
    return filled.select(pl.coalesce(padded, "numbers")).to_series()


def parse_vector(vec: Column, size: int | None = None) -> pl.Expr:
    """Vector from text, as Alink and libsvm write it, dense or sparse.

    Parameters
    ----------
    vec : str or Expr
        The text. A dense vector is numbers between spaces or commas, ``0.1 0.2`` or ``0.1,0.2``. A
        sparse one is entries of index:number, the first index 0, in any order, ``0:1 2:3``; its
        length may stand in front, ``$4$0:1 2:3``. An empty text is an empty vector. Nan and inf are
        numbers here, which the functions of points refuse.
    size : int, optional
        The length of the vectors. Sparse ones need it where they do not carry their length.

    Returns
    -------
    Expr
        List(Float64) under the name of the column, NULL for NULL.

    Raises
    ------
    ClusterEvalError
        At once if size is no whole number >= 1. When the frame is collected, if a text is no
        vector, a sparse vector has no length, an index is negative, repeated or not below the
        length, or a vector has another length than size.

    Notes
    -----
    In SQL: ``clustereval.parse_vector(vec, size)``.

    References
    ----------
    Alink, VectorUtil, https://github.com/alibaba/Alink.

    Examples
    --------
    A sparse vector that carries its length is as good as the dense one:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> texts = pl.DataFrame({"vec": ["1 0 3 0", "$4$0:1 2:3", None]})
    >>> texts.select(ce.parse_vector("vec"))["vec"].to_list()
    [[1.0, 0.0, 3.0, 0.0], [1.0, 0.0, 3.0, 0.0], None]
    """
    expr = pl.col(vec) if isinstance(vec, str) else vec
    _check_size(size)
    # One function of whole columns, since an expression has no variables: what it used twice would
    # be worked out twice.
    parsed = expr.cast(pl.String).map_batches(
        partial(_parse_texts, size=size), return_dtype=pl.List(pl.Float64), is_elementwise=True
    )
    name = expr.meta.output_name(raise_if_undetermined=False) or "parse_vector"
    return parsed.alias(name)


# ----------------------------------------------------------------------------------------------
# Nominal attributes
# ----------------------------------------------------------------------------------------------


def _check_nominal_columns(lazy: pl.LazyFrame, columns: str | Sequence[str]) -> list[str]:
    names = [columns] if isinstance(columns, str) else columns
    if not (names and isinstance(names, Sequence) and all(isinstance(u, str) for u in names)):
        raise ClusterEvalError(
            f"columns: expected names of columns, such as ['color'], got {show_value(columns)}"
        )
    known = lazy.collect_schema().names()
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ClusterEvalError(f"columns: '{name}' is given twice")
        check_groupable(lazy, name, "columns")
        if f"{name}_vdm" in known:
            raise ClusterEvalError(
                f"columns: '{name}_vdm' is also a column of the table; rename it first"
            )
    return list(names)


def _value_profiles(
    lazy: pl.LazyFrame, column: str, label: pl.Expr, keys: dict[str, str]
) -> pl.LazyFrame:
    """One row for each value of a partition: the list of P(label | value) over the labels there.

    The list is made from the labels a value has, each after the zeros of those it has not.
    """
    by, rank, n = [*keys, "value"], pl.col("rank"), pl.col("n")
    columns = {name: pl.col(key) for name, key in keys.items()} | {"value": pl.col(column)}
    rows = lazy.select(label, pl.lit(1, pl.Int8).alias("n"), **columns)
    cells = rows.filter(pl.col("label").is_not_null()).group_by(*by, "label").agg(n.sum())
    partition = [pl.col(key) for key in keys] or [pl.lit(0)]
    ranked = cells.with_columns(rank=pl.col("label").rank("dense").cast(pl.Int64).over(partition))
    shares = ranked.select(
        *by,
        "rank",
        n_labels=rank.max().over(partition),
        zeros=rank - rank.shift(1, fill_value=0).over(by, order_by="rank") - 1,
        share=to_double(n) / n.sum().over(by),
    )
    parts = pl.concat_list(_zeros(pl.col("zeros")), "share")
    profiles = shares.group_by(by).agg(
        parts.sort_by("rank").explode(empty_as_null=False).alias("profile"),
        pl.col("n_labels").first(),
    )
    return profiles.select(*by, profile=_pad_vector(pl.col("profile"), pl.col("n_labels")))


def _add_profiles(
    lazy: pl.LazyFrame, profiles: pl.LazyFrame, column: str, keys: dict[str, str]
) -> pl.LazyFrame:
    """Add the profiles of a column to its rows."""
    return lazy.join(
        profiles.rename({"profile": f"{column}_vdm"}),
        how="left",
        left_on=[*keys.values(), column],
        right_on=[*keys, "value"],
        nulls_equal=True,
        maintain_order="left",
    )


def vdm_encode(
    frame: Frame,
    columns: str | Sequence[str],
    label: Column,
    *,
    partition_by: Keys = None,
) -> Frame:
    """Add the profile of each nominal value as a vector: the shares of the classes among its rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to encode. A LazyFrame is read when the result is collected, once for each of
        columns and once for the rows themselves, and streams.
    columns : str or sequence of str
        Names of the nominal columns, of any type that can be grouped. NULL is a value of its own.
    label : str or Expr
        The class that the shares are of, or a cluster in its place. Rows where it is NULL are not
        counted.
    partition_by : str or sequence of str, optional
        Columns whose groups are encoded each on its own, over the classes they have themselves. A
        NULL makes a group too.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given: its rows in their order, its columns, and for each nominal column u
        a column u_vdm, the list of P(c | u) over the classes c in sorted order. A row whose label
        is NULL has the profile of its value too; a value that has no other rows has a NULL profile.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, columns are none or one is given twice, or
        the frame has a column of that name with _vdm already.

    Notes
    -----
    VDM_p(a, b) = Σ_c |P(c|a) − P(c|b)|^p is the p-th power of a Minkowski distance of profiles. The
    mixed distance (Σ_x |x − x'|^p + Σ_u VDM_p)^(1/p) is so minkowski on one vector, of the numbers
    and the profiles one after the other, each profile times w^(1/p) if its column weighs w.
    In SQL: ``FROM clustereval.vdm_encode(tbl, columns, label)``; rows come in any order there.

    References
    ----------
    Stanfill and Waltz (1986), Toward memory-based reasoning, doi:10.1145/7902.7906. Wilson and
    Martinez (1997), Improved heterogeneous distance functions, doi:10.1613/jair.346.

    Examples
    --------
    Values that tell the same about the class are the same point:

    >>> import polars as pl
    >>> import polars_clustereval as ce
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
