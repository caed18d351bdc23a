"""Run pairs: a report of two runs, which are two inputs of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros import register_macro

from .engines import (
    convert_to_polars,
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

    from .sources import Source

__all__ = ["find_run_pair", "report_run_pair"]

#: The parameters of the functions that the two inputs are for.
_PARAMETERS = ("frame_before", "frame_after")

Pair = tuple["Source", "Source"]


def find_run_pair(options: argparse.Namespace) -> Pair:
    """Return the sources of the run before and the run after, which the two arguments name."""
    before, after = options.files
    if before == after == "-":
        raise ClusterEvalError("standard input: given twice")
    return find_source([before], options.scratch), find_source([after], options.scratch)


def report_run_pair(pair: Pair, options: argparse.Namespace) -> pl.DataFrame:
    """Return a report of two runs, computed by the engine that the parsed arguments name.

    An error starts with the name of the input that it is about, or with both.
    """
    try:
        return _ENGINES[options.engine or options.report.engine](pair, options)
    except USER_ERRORS as error:
        text = summarize_error(error)
        for source in pair:
            text = source.rename_paths(text)
        raise ClusterEvalError(_name_input(text, pair)) from error


def _name_input(text: str, pair: Pair) -> str:
    """Return the text of an error with the name of an input in place of the parameter's."""
    for parameter, source in zip(_PARAMETERS, pair, strict=True):
        if text.startswith(f"{parameter}: "):
            return f"{source.name}{text.removeprefix(parameter)}"
    return f"{pair[0].name}, {pair[1].name}: {text}"


def _make_folders(options: argparse.Namespace) -> tuple[Path, Path]:
    """Return a folder for each input in the scratch folder, for files of the same names."""
    folders = (options.scratch / "before", options.scratch / "after")
    for folder in folders:
        folder.mkdir()
    return folders


def _copy_database(source: Source, folder: Path, options: argparse.Namespace) -> Source:
    """Return a source that can be read beside another one: a database as a Parquet file.

    Only the columns are copied that the report uses.
    """
    if source.kind != "database":
        return source
    rows, _ = read_rows(source, options)
    path = folder / "table.parquet"
    rows.sink_parquet(path)
    return source._replace(kind="parquet", paths=(str(path),), path_names=(source.name,))


def _read_pair_arguments(
    connection: duckdb.DuckDBPyConnection, views: tuple[str, ...], options: argparse.Namespace
) -> dict[str, Any]:
    """Return the arguments of the report, checked against the columns of both views."""
    arguments: dict[str, Any] = {}
    for view, parameter in zip(views, _PARAMETERS, strict=True):
        columns = connection.sql(f"FROM {view}").columns
        try:
            arguments = read_checked_arguments(options, columns)
        except ClusterEvalError as error:
            text = str(error)
            is_of_run = text.startswith(_PARAMETERS)
            raise ClusterEvalError(
                f"{parameter}{text.removeprefix(_PARAMETERS[0])}" if is_of_run else text
            ) from error
    return arguments


def _report_in_duckdb(pair: Pair, options: argparse.Namespace) -> pl.DataFrame:
    """Return a report as a DataFrame, computed in DuckDB by the SQL macro."""
    report, folders = options.report, _make_folders(options)
    before, after = (
        _copy_database(source, folder, options)
        for source, folder in zip(pair, folders, strict=True)
    )
    with open_source(before, folders[0]) as (connection, rows):
        inputs = (rows, format_source(connection, after, folders[1]))
        for view, text in zip(report.views, inputs, strict=True):
            connection.execute(f"CREATE TEMPORARY VIEW {view} AS FROM {text}")
        arguments = _read_pair_arguments(connection, report.views, options)
        register_macro(connection, report.function.__name__)
        values = {name: value for name, value in arguments.items() if is_value(name)}
        query = format_query(report, arguments, connection.sql(f"FROM {report.views[0]}"))
        # Run before Polars reads the result, so that an error is DuckDB's own.
        connection.execute(f"CREATE TEMPORARY TABLE clustereval_report AS {query}", values)
        return convert_to_polars(connection.sql("FROM clustereval_report"))


def _report_in_polars(pair: Pair, options: argparse.Namespace) -> pl.DataFrame:
    """Return a report as a DataFrame, computed by the Polars function."""
    (before, arguments), (after, _) = (read_rows(source, options) for source in pair)
    with show_progress():
        result: pl.LazyFrame = options.report.function(before, after, **arguments)
        return result.collect(engine="streaming")


_ENGINES: dict[str, Callable[[Pair, argparse.Namespace], pl.DataFrame]] = {
    "duckdb": _report_in_duckdb,
    "polars": _report_in_polars,
}
