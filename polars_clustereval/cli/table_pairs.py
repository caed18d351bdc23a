"""Table pairs: a report of two tables, which are two inputs of the command line.

They are the two runs of transitions, the nodes and the edges of a graph, or the labels and the
clusters of ids that may have several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import register_macro

from .engines import (
    convert_to_polars,
    format_input,
    format_query,
    is_value,
    read_checked_arguments,
    read_rows,
)
from .files import format_source, open_source
from .messages import USER_ERRORS, summarize_error
from .progress import show_progress
from .sources import find_source

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

    import duckdb
    import polars as pl

    from .reports import Input
    from .sources import Source

__all__ = ["find_table_pair", "report_table_pair"]

Pair = tuple["Source", "Source"]


def find_table_pair(options: argparse.Namespace) -> Pair:
    """Return the sources of both inputs of a report, of which each has a list of files.

    `options` are the parsed arguments, with these lists as `file_lists`.
    """
    if options.files.count("-") > 1:
        raise ClusterEvalError("standard input: given twice")
    first, second = options.file_lists
    return find_source(first, options.scratch), find_source(second, options.scratch)


def report_table_pair(pair: Pair, options: argparse.Namespace) -> pl.DataFrame:
    """Return a report of two tables, computed by the engine that the parsed arguments name.

    An error starts with the name of the input that it is about, or with both.
    """
    try:
        return _ENGINES[options.engine or options.report.engine](pair, options)
    except USER_ERRORS as error:
        text = summarize_error(error)
        for source in pair:
            text = source.rename_paths(text)
        raise ClusterEvalError(_name_input(text, pair, options.report.inputs)) from error


def _name_input(text: str, pair: Pair, tables: tuple[Input, ...]) -> str:
    """Return the text of an error, which starts with a parameter, with an input's name before it.

    A parameter that stands for an input is replaced by the name. Both inputs are named if the error
    may be about either.
    """
    parameter = text.partition(":")[0]
    for source, table in zip(pair, tables, strict=True):
        if parameter == table.parameter:
            return f"{source.name}{text.removeprefix(parameter)}"
    owners = [x.name for x, table in zip(pair, tables, strict=True) if parameter in table.columns]
    names = owners if len(owners) == 1 else [source.name for source in pair]
    return f"{', '.join(names)}: {text}"


def _make_folders(options: argparse.Namespace) -> tuple[Path, Path]:
    """Return a folder for each input in the scratch folder, for files of the same names."""
    folders = (options.scratch / "first", options.scratch / "second")
    for folder in folders:
        folder.mkdir()
    return folders


def _copy_database(
    source: Source, folder: Path, options: argparse.Namespace, table: Input
) -> Source:
    """Return a source that can be read beside another one: a database as a Parquet file.

    Only the columns are copied that the report uses.
    """
    if source.kind != "database":
        return source
    rows, _ = read_rows(source, options, table)
    path = folder / "table.parquet"
    rows.sink_parquet(path)
    return source._replace(kind="parquet", paths=(str(path),), path_names=(source.name,))


def _create_view(
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    source: Source,
    options: argparse.Namespace,
    table: Input,
) -> dict[str, Any]:
    """Create the view of an input, and return the report's arguments, checked against its columns.

    `rows` is the SQL that stands after FROM to read the rows of `source` for any report.
    """
    arguments = read_checked_arguments(options, connection.sql(f"FROM {rows}").columns, table)
    own = {name: value for name, value in arguments.items() if name in table.columns}
    rows = format_input(connection, rows, source, own)
    connection.execute(f"CREATE TEMPORARY VIEW {table.view} AS FROM {rows}")
    return arguments


def _report_in_duckdb(pair: Pair, options: argparse.Namespace) -> pl.DataFrame:
    """Return a report as a DataFrame, computed in DuckDB by the SQL macro."""
    report, folders = options.report, _make_folders(options)
    first, second = (
        _copy_database(source, folder, options, table)
        for source, folder, table in zip(pair, folders, report.inputs, strict=True)
    )
    with open_source(first, folders[0]) as (connection, rows):
        _create_view(connection, rows, first, options, report.inputs[0])
        rows = format_source(connection, second, folders[1])
        arguments = _create_view(connection, rows, second, options, report.inputs[1])
        register_macro(connection, report.function.__name__)
        values = {name: value for name, value in arguments.items() if is_value(name)}
        query = format_query(report, arguments, connection.sql(f"FROM {report.inputs[0].view}"))
        # Run before Polars reads the result, so that an error is DuckDB's own.
        connection.execute(f"CREATE TEMPORARY TABLE clustereval_report AS {query}", values)
        return convert_to_polars(connection.sql("FROM clustereval_report"))


def _report_in_polars(pair: Pair, options: argparse.Namespace) -> pl.DataFrame:
    """Return a report as a DataFrame, computed by the Polars function."""
    frames: dict[str, pl.LazyFrame] = {}
    arguments: dict[str, Any] = {}
    for source, table in zip(pair, options.report.inputs, strict=True):
        frames[table.parameter], arguments = read_rows(source, options, table)
    with show_progress():
        result: pl.LazyFrame = options.report.function(**frames, **arguments)
        return result.collect(engine="streaming")


_ENGINES: dict[str, Callable[[Pair, argparse.Namespace], pl.DataFrame]] = {
    "duckdb": _report_in_duckdb,
    "polars": _report_in_polars,
}
