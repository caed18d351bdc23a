"""deferral: postpones a call on a LazyFrame if its query plan depends on the data in the rows.

For example, the columns of a plan may depend on the number of coordinates in a list. Such a call
stops at the point where it would read rows, and runs again when the user collects the result. The
schema of the result is computed by calling the function on frames without rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import polars as pl
from polars.io.plugins import register_io_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

__all__ = ["collect_all_now", "collect_now", "defer_reading", "reading_memory"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Whether a call on a LazyFrame is making its plan; if so, the call must not read rows.
_is_planning: ContextVar[bool] = ContextVar("_is_planning", default=False)

# Before Polars 2 an error of an IO source comes as a ComputeError.
_HAS_ERRORS_OF_SOURCES = int(pl.__version__.partition(".")[0]) >= 2


class _RowsNeededError(Exception):
    """Signals that a call on a LazyFrame has reached the point where it would read rows."""


def collect_now(lazy: pl.LazyFrame) -> pl.DataFrame:
    """Return the rows of a frame, which a call needs to build its query plan.

    If the user passed a LazyFrame, the call stops here, and runs again when the result is
    collected.
    """
    return collect_all_now([lazy])[0]


def collect_all_now(frames: Sequence[pl.LazyFrame]) -> list[pl.DataFrame]:
    """Return the rows of several frames, following the same rules as collect_now."""
    if _is_planning.get():
        raise _RowsNeededError
    return pl.collect_all(frames, engine="streaming")


def reading_memory() -> AbstractContextManager[None]:
    """Return a context manager that lets collect_now read rows.

    Use it for frames that are already in memory.
    """
    return _planning(is_planning=False)


def defer_reading(function: Function) -> Function:
    """Return a table function that reads a LazyFrame only when its result is collected.

    The function's first parameter is a frame, and it returns a frame of the same kind.
    """
    parameter = next(iter(inspect.signature(function).parameters))

    @wraps(function)
    def planned(*args: Any, **kwargs: Any) -> Any:
        """Call the function, or postpone the call until collection if it would read rows."""
        first = args[0] if args else kwargs.get(parameter)
        if not isinstance(first, pl.LazyFrame):
            with _planning(is_planning=False):
                return function(*args, **kwargs)
        try:
            with _planning(is_planning=True):
                return function(*args, **kwargs)
        except _RowsNeededError:
            return _defer(function, args, kwargs)

    return cast("Function", planned)


@contextmanager
def _planning(*, is_planning: bool) -> Iterator[None]:
    """Set whether calls in the ``with`` block must stop at the point where they would read rows."""
    token = _is_planning.set(is_planning)
    try:
        yield
    finally:
        _is_planning.reset(token)


def _defer(
    function: Callable[..., pl.LazyFrame], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> pl.LazyFrame:
    """Return a LazyFrame that calls the function when it is collected."""
    with _planning(is_planning=False):
        named = {name: _without_rows(x) for name, x in kwargs.items()}
        schema = function(*map(_without_rows, args), **named).collect_schema()

    def read(
        with_columns: list[str] | None = None,
        predicate: pl.Expr | None = None,
        n_rows: int | None = None,
        batch_size: int | None = None,  # noqa: ARG001 - Polars gives it
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows that the query plan requests, as a single frame."""
        with _planning(is_planning=False):
            rows = function(*args, **kwargs)
            rows = rows if n_rows is None else rows.head(n_rows)
            rows = rows if predicate is None else rows.filter(predicate)
            rows = rows if with_columns is None else rows.select(with_columns)
            collected = rows.collect(engine="streaming")
        yield collected

    if _HAS_ERRORS_OF_SOURCES:
        return register_io_source(read, schema=schema, is_pure=True)
    return pl.LazyFrame({"call": [0]}).map_batches(
        lambda _: next(read()),
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=schema,
    )


def _without_rows(argument: object) -> object:
    """Return the argument unchanged, or without its rows if it is a LazyFrame."""
    if not isinstance(argument, pl.LazyFrame):
        return argument
    return pl.LazyFrame(schema=argument.collect_schema())
