"""The doors: where a fault of the input is refused, for all tables that rows pass through.

On the Polars side a table refuses within a millisecond, so every one is asked with every fault. In
SQL a table is planned before it can refuse, so the faults are shown to the private macros that
check: tests/base/test_checks_are_called.py proves that the tables call them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb

import polars_clustereval as ce
from tests.support.engines import (
    TABLES,
    Column,
    DuckDB,
    Engine,
    column_sql,
    literal,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

#: The parameters of _row_groups that have a default in the tables.
OPTIONAL = {"weight": None, "partition_by": None, "noise": None, "noise_as": None}


def refused(side: Engine, words: str, what: str, call: Callable[[], object]) -> str:
    """The whole message of the error of this side that the call raises, which has these words."""
    error = duckdb.Error if isinstance(side, DuckDB) else ce.ClusterEvalError
    message = ""
    try:
        call()
    except error as raised:
        message = str(raised) or "an error without words"
    assert message, f"{what}: no error, expected {words!r}"
    assert words_of(side.name, words) in message, f"{what}: {message!r}, expected {words!r}"
    return message


def refused_labels(
    side: Engine,
    words: str,
    frame: pl.DataFrame,
    label: Column = "label",
    cluster: Column = "cluster",
    **arguments: Any,
) -> list[str]:
    """The messages of all tables of labels; in SQL of the macro by which they read the rows."""
    if isinstance(side, DuckDB):
        query = f"FROM {row_groups_sql(label, cluster, **arguments)}"
        return [refused(side, words, query, partial(side.rows, query, frame))]
    asked = {name: partial(side.table, name, frame, label, cluster, **arguments) for name in TABLES}
    return [refused(side, words, name, ask) for name, ask in asked.items()]


def row_groups_sql(label: Column, cluster: Column, **arguments: Any) -> str:
    """A call of the macro by which the tables of labels and clusters read the rows."""
    given = {"label": column_sql(label), "cluster": column_sql(cluster)}
    for name, value in (OPTIONAL | arguments).items():
        is_column = name in ("weight", "partition_by") and value is not None
        given[name] = column_sql(value) if is_column else literal(value)
    shown = ", ".join(f"{name} := {value}" for name, value in given.items())
    return f"clustereval._row_groups(tbl := assignments, {shown})"


def check_sql(check: str, *values: object) -> str:
    """A query of a private macro that checks values: without a table it takes a millisecond."""
    return f"SELECT clustereval.{check}({', '.join(map(literal, values))})"


def refused_values(side: DuckDB, words: str, check: str, *values: object) -> str:
    """The message of a private macro that checks these values."""
    query = check_sql(check, *values)
    return refused(side, words, query, lambda: side.connection.execute(query).fetchall())
