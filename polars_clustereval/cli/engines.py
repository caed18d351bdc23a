"""Engines: the same report from the SQL macro in DuckDB and from the function in Polars."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.macros import register

from .files import identifier, literal, opened, scanned
from .progress import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    import duckdb

    from .commands import Report
    from .files import Source

__all__ = ["ENGINES"]

# ----------------------------------------------------------------------------------------------
# Columns
# ----------------------------------------------------------------------------------------------

# The parameters that take a column and those that take several; all others take a value.
_ONE = ("label", "cluster", "weight", "id")
_MANY = ("vector", "partition_by")

# The values that are checked against the rows: the type of a cluster, the length of a vector.
_OF_ROWS = ("noise", "noise_as", "weights")


def _arguments(options: argparse.Namespace, columns: Sequence[str]) -> dict[str, Any]:
    """Give the arguments of the Polars function; commas separate columns but may be in a name."""
    arguments = {name: getattr(options, name) for name in options.report.defaults}
    for parameter in arguments.keys() & set(_MANY):
        text = arguments[parameter]
        if text is not None:
            arguments[parameter] = [text] if text in columns else text.split(",")
    return arguments


def _named(arguments: dict[str, Any]) -> list[str]:
    """Give the columns that are needed, each once."""
    one = [arguments[name] for name in _ONE if arguments.get(name) is not None]
    many = [column for name in _MANY for column in arguments.get(name) or ()]
    return list(dict.fromkeys([*one, *many]))


def _checked_arguments(
    options: argparse.Namespace, relation: duckdb.DuckDBPyRelation
) -> dict[str, Any]:
    """Have the Polars function look at the columns: the errors are the same with either engine."""
    columns = relation.columns
    arguments = _arguments(options, columns)
    schema = dict.fromkeys(columns, pl.Int64())
    known = {name: value for name, value in arguments.items() if name not in _OF_ROWS}
    options.report.function(pl.LazyFrame(schema=schema), **known)
    return arguments


# ----------------------------------------------------------------------------------------------
# DuckDB
# ----------------------------------------------------------------------------------------------


def _duckdb_report(source: Source, options: argparse.Namespace) -> pl.DataFrame:
    with opened(source) as (connection, rows):
        relation = connection.sql(f"FROM {rows}")
        arguments = _checked_arguments(options, relation)
        register(connection, temporary=True)
        # It draws its bar where the report is printed later, and only for what takes seconds.
        connection.execute(f"SET enable_progress_bar = {sys.stdout.isatty()}")
        connection.execute(f"CREATE TEMPORARY VIEW clustereval_input AS FROM {rows}")
        values = {name: arguments[name] for name in arguments if name not in (*_ONE, *_MANY)}
        query = _query(options.report, arguments, relation)
        # Run here and not while Polars reads, so that an error is DuckDB's own.
        connection.execute(f"CREATE TEMPORARY TABLE clustereval_report AS {query}", values)
        return _frame(connection.sql("FROM clustereval_report"))


def _query(report: Report, arguments: dict[str, Any], relation: duckdb.DuckDBPyRelation) -> str:
    texts = {name: _text(name, value, relation) for name, value in arguments.items()}
    required = [texts.pop(name) for name in report.required]
    optional = [f"{name} := {text}" for name, text in texts.items()]
    call = ", ".join(["clustereval_input", *required, *optional])
    columns = [
        f"partition_key[{literal(key)}] AS {identifier(key)}"
        for key in arguments["partition_by"] or ()
    ]
    columns.append("* EXCLUDE (partition_key)")
    return f"SELECT {', '.join(columns)} FROM clustereval_{report.function.__name__}({call})"


def _text(parameter: str, value: Any, relation: duckdb.DuckDBPyRelation) -> str:
    """Give an argument as SQL; what is no column is a parameter of the query."""
    if parameter not in (*_ONE, *_MANY):
        return f"${parameter}"
    if value is None:
        return "NULL"
    if parameter in _ONE:
        return identifier(value)
    if parameter == "partition_by":
        return f"{{{', '.join(f'{literal(key)}: {identifier(key)}' for key in value)}}}"
    return _vector(value, relation)


def _vector(names: list[str], relation: duckdb.DuckDBPyRelation) -> str:
    types = dict(zip(relation.columns, relation.types, strict=True))
    others = [name for name in names if types[name].id not in _NUMBERS]
    if names == others[:1]:
        return identifier(names[0])
    # DuckDB makes no list of unlike columns; the macro can refuse a list of one in its own words.
    return f"[{', '.join(map(identifier, others[:1] or names))}]"


_NUMBERS = {
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
    *("float", "double", "decimal"),
}


# ----------------------------------------------------------------------------------------------
# Polars
# ----------------------------------------------------------------------------------------------


def _polars_report(source: Source, options: argparse.Namespace) -> pl.DataFrame:
    rows = scanned(source) if source.table is None else _rows_of_table(source, options)
    arguments = _arguments(options, rows.collect_schema().names())
    with shown():
        report: pl.LazyFrame = options.report.function(rows, **arguments)
        return report.collect(engine="streaming")


def _rows_of_table(source: Source, options: argparse.Namespace) -> pl.LazyFrame:
    with opened(source) as (connection, rows):
        relation = connection.sql(f"FROM {rows}")
        arguments = _checked_arguments(options, relation)
        return _frame(relation.select(*map(identifier, _named(arguments)))).lazy()


class _Stream:
    """A relation that Polars takes for any stream of Arrow.

    Polars keeps the types it was handed until the process ends, and DuckDB reports its own among
    them as leaks on standard error.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self.relation = relation

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.relation.__arrow_c_stream__(requested_schema)


def _frame(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    return pl.DataFrame(_Stream(relation))


ENGINES = {"duckdb": _duckdb_report, "polars": _polars_report}
