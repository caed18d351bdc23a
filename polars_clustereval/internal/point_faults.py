"""point_faults: determines what is wrong with the vectors of points, and writes error messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import show_value
from polars_clustereval.errors import ClusterEvalError, PythonCode, Setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def point_fault_error(
    rows: pl.LazyFrame,
    raw: list[pl.Expr],
    names: Sequence[str] = (),
    keys: Mapping[str, str] | None = None,
    *,
    has_id: bool = False,
    underflow: bool = False,
) -> ClusterEvalError:
    """Return the error for vectors without finite distances, including the number of faulty rows.

    `raw` holds one expression per coordinate, as passed by the user, and `names` their names if
    they are columns. The message identifies the first faulty row by its partition (`keys`) and, if
    the user passed ids (`has_id`), by its id. If no row is faulty, the distances `underflow` or
    overflow.
    """
    dims = len(raw)
    is_bad = [~x.is_finite().fill_null(False) for x in raw]
    faulty = rows.filter(pl.any_horizontal(*is_bad, pl.col("length") != dims))
    first = [non_finite_as_text(x).filter(bad).min() for x, bad in zip(raw, is_bad, strict=True)]
    facts = faulty.select(
        pl.len().alias("rows"),
        pl.col("length").min(),
        *(bad.sum().alias(f"bad_{i}") for i, bad in enumerate(is_bad)),
        *(text.alias(f"first_{i}") for i, text in enumerate(first)),
    ).collect(engine="streaming")
    row = facts.row(0, named=True)
    if underflow and not row["rows"]:
        return ClusterEvalError("vector: distances underflow; scale the coordinates up")
    place = ""
    if row["rows"] and (keys or has_id):
        if row["length"] < dims:
            first_rows = faulty.filter(pl.col("length") == row["length"])
        else:
            i = next(i for i in range(dims) if row[f"bad_{i}"])
            first_rows = faulty.filter(
                is_bad[i] & (non_finite_as_text(raw[i]) == row[f"first_{i}"])
            )
        place = _row_place(first_rows, keys or {}, has_id=has_id)
    return ClusterEvalError(*_point_fault_parts(row, dims, names, place))


def _row_place(rows: pl.LazyFrame, keys: Mapping[str, str], *, has_id: bool) -> str:
    """Return text that identifies the first of `rows` by its partition and its id."""
    columns = [*keys, *(["id"] if has_id else [])]
    row = rows.select(columns).sort(columns, nulls_last=True).head(1).collect().row(0, named=True)
    found = [show_value(row[name]) for name in keys]
    if len(keys) > 1:
        named = [f"'{name}': {text}" for name, text in zip(keys.values(), found, strict=True)]
        found = [f"{{{', '.join(named)}}}"]
    an_id = f" with id {show_value(row['id'])}" if has_id else ""
    partition = f" in partition {found[0]}" if keys else ""
    return f", the first one{an_id}{partition}"


def _point_fault_parts(
    facts: dict[str, Any], dims: int, names: Sequence[str], place: str
) -> tuple[str | Setting, ...]:
    """Return the parts of the error message for vectors that have no finite distances.

    `facts` contains the number of faulty rows (rows), their smallest number of coordinates (length)
    and, for each coordinate i, in how many rows it is NULL or not finite (bad_i), and one such
    value as text (first_i). If there are no faulty rows, the distances overflow.
    """
    rows = facts["rows"]
    if not rows:
        return ("vector: distances overflow; scale the coordinates down",)
    expected = f"vectors of one length ({dims})"
    advice: tuple[str | Setting, ...] = ()
    if not facts["length"]:
        expected, got = "at least one coordinate", "an empty vector"
    elif facts["length"] < dims:
        got = f"{facts['length']} coordinates"
    else:
        i = next(i for i in range(dims) if facts[f"bad_{i}"])
        value = facts[f"first_{i}"]
        where = f"column {names[i]}" if names else f"coordinate {i + 1}"
        expected, got = "finite numbers", f"{value} in {where}"
        advice = _finite_rows_advice(names, value)
        place = _faulty_columns([facts[f"bad_{i}"] for i in range(dims)], names) + place
    at_fault = "row is" if rows == 1 else "rows are"
    fault = f"vector: expected {expected}, got {got} ({rows} {at_fault} at fault{place})"
    return f"{fault}; fix these rows or leave them out", *advice


def _faulty_columns(counts: Sequence[int], names: Sequence[str]) -> str:
    """Return how many faulty rows each named column has, if more than one is faulty."""
    shown = [f"{n} in column {name}" for n, name in zip(counts, names, strict=False) if n]
    more = ", ..." if len(shown) > _MAX_NAMED else ""
    return f": {', '.join(shown[:_MAX_NAMED])}{more}" if len(shown) > 1 else ""


# The maximum number of columns that an error text lists.
_MAX_NAMED = 8


def _finite_rows_advice(names: Sequence[str], value: str) -> tuple[str | Setting, ...]:
    """Return how to exclude the rows with non-finite coordinates.

    For NULL, this is an option, and for other values a call to filter, unless there are no names,
    or more names than a user would want to copy.
    """
    if value == "NULL":
        return ": ", Setting("missing", "drop")
    if not 0 < len(names) <= _MAX_NAMED:
        return ()
    code = f"frame.filter(pl.all_horizontal(pl.col({list(names)}).is_finite()))"
    return (PythonCode(f": {code}"),)


def non_finite_as_text(x: pl.Expr) -> pl.Expr:
    """Return a non-finite x as text in DuckDB's notation (NULL, nan, inf or -inf)."""
    text = pl.when(x.is_null()).then(pl.lit("NULL")).when(x.is_nan()).then(pl.lit("nan"))
    return text.when(x > 0).then(pl.lit("inf")).otherwise(pl.lit("-inf"))
