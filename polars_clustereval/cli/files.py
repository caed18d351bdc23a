"""Files: reads the rows of a source in either engine."""

from __future__ import annotations

import glob
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from polars_clustereval.base.checks import column_named
from polars_clustereval.base.quoting import quote_identifier, quote_literal
from polars_clustereval.errors import ClusterEvalError

from .interruption import interruptible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from .sources import Source

__all__ = [
    "format_rows",
    "format_source",
    "open_source",
    "scan_files",
]

# ----------------------------------------------------------------------------------------------
# Polars
# ----------------------------------------------------------------------------------------------


def scan_files(source: Source) -> pl.LazyFrame | None:
    """Return the rows of Parquet or Arrow files as a LazyFrame, or None for other kinds of sources.

    Raise an error if the files differ in their columns or types.
    """
    scan = {"parquet": _scan_parquet, "arrow": _scan_arrow}.get(source.kind)
    if scan is None:
        return None
    frames = [scan(path) for path in source.paths]
    schemas = [frame.collect_schema() for frame in frames]
    _check_same_columns(source.paths, schemas)
    if source.kind == "parquet":
        return _scan_parquet(list(source.paths))
    columns = [column_named(name) for name in schemas[0]]
    return pl.concat(frame.select(columns) for frame in frames)


def _scan_parquet(paths: str | list[str]) -> pl.LazyFrame:
    """Return the rows of Parquet files with the columns of the first file."""
    # The names of the folders of a file are not data.
    return pl.scan_parquet(paths, glob=False, hive_partitioning=False, extra_columns="ignore")


def _scan_arrow(path: str) -> pl.LazyFrame:
    """Return the rows of an Arrow IPC file, in the file format or in the stream format."""
    with Path(path).open("rb") as file:
        is_file_format = file.read(6) == b"ARROW1"
    if is_file_format:
        return pl.scan_ipc(path, glob=False, hive_partitioning=False)
    return pl.read_ipc_stream(path).lazy()


def _check_same_columns(paths: Sequence[str], schemas: Sequence[pl.Schema]) -> None:
    """Raise an error unless every file has the columns and types of the first, or more columns."""
    for path, schema in zip(paths, schemas, strict=True):
        for name, dtype in schemas[0].items():
            if schema.get(name) != dtype:
                found = f"{schema[name]}" if name in schema else "no such column"
                raise ClusterEvalError(
                    f"{path}: expected the same columns as {paths[0]}: column {name} ({dtype}), "
                    f"got {found}"
                )


# ----------------------------------------------------------------------------------------------
# DuckDB
# ----------------------------------------------------------------------------------------------


@contextmanager
def open_source(source: Source, scratch: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Yield a DuckDB connection and the SQL to place after FROM to read a source's rows.

    Ctrl-C interrupts the queries of the connection. A database is opened read-only, and its views
    cannot read other files. For the folder `scratch`, see `format_source`.
    """
    is_database = source.kind == "database"
    with (
        duckdb.connect(
            source.paths[0] if is_database else ":memory:",
            read_only=is_database,
            # Otherwise, a view could read any file and show its content in a report.
            config={"enable_external_access": not is_database},
        ) as connection,
        interruptible(connection),
    ):
        # After some seconds, DuckDB would draw its progress bar on standard output.
        connection.execute(f"SET enable_progress_bar = {sys.stdout.isatty()}")
        yield connection, format_source(connection, source, scratch)


def format_source(connection: duckdb.DuckDBPyConnection, source: Source, scratch: Path) -> str:
    """Return the SQL to place after FROM to read the rows of a source, as in `format_rows`.

    DuckDB does not read Arrow files, which are converted to a Parquet file in the folder `scratch`.
    Raise an error if several files differ in their columns or types, which DuckDB would convert.
    """
    if source.kind == "arrow" or len(source.paths) > 1:
        frame = scan_files(source)
        if source.kind == "arrow" and frame is not None:
            converted = scratch / "arrow.parquet"
            frame.sink_parquet(converted)
            source = source._replace(kind="parquet", paths=(str(converted),))
    return format_rows(connection, source)


def format_rows(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    number_columns: Iterable[str] = (),
    typed_columns: Sequence[str] = (),
) -> str:
    """Return the SQL to place after FROM to read the rows of a source in this connection.

    The columns of CSV files are read as text, because an inferred type would turn 01 and 1 into the
    same label. `number_columns` are read as DOUBLE, and `typed_columns` are given the type that
    DuckDB infers from all of their values. In JSON files, the numbers in both keep their type.
    """
    if source.kind == "database":
        return _find_table_name(connection, source)
    if source.kind == "json":
        return _format_json(connection, source.paths, [*number_columns, *typed_columns])
    if source.kind == "parquet":
        # The names of the folders of a file are not data.
        return f"read_parquet({_format_paths(source.paths)}, hive_partitioning = FALSE)"
    types = dict.fromkeys(number_columns, "DOUBLE")
    if typed_columns:
        types |= _infer_csv_types(connection, source, typed_columns)
    fields = ", ".join(f"{quote_literal(name)}: '{kind}'" for name, kind in types.items())
    types_option = f", types = {{{fields}}}" if types else ""
    return f"{_format_csv_reader(source)}, all_varchar = TRUE{types_option})"


def _format_csv_reader(source: Source) -> str:
    """Return the call to DuckDB's CSV reader as SQL to which options can be added."""
    return (
        f"read_csv({_format_paths(source.paths)}, delim = {quote_literal(source.separator)}, "
        "quote = '\"', escape = '\"', comment = '', skip = 0, header = TRUE, "
        "hive_partitioning = FALSE"
    )


def _infer_csv_types(
    connection: duckdb.DuckDBPyConnection, source: Source, names: Sequence[str]
) -> dict[str, str]:
    """Return the types of the CSV columns that are not text, inferred from all of their values."""
    columns = ", ".join(map(quote_identifier, names))
    query = f"DESCRIBE SELECT {columns} FROM {_format_csv_reader(source)}, sample_size = -1)"
    types = {name: kind for name, kind, *_ in connection.execute(query).fetchall()}
    known = {
        **dict.fromkeys(("BIGINT", "HUGEINT", "DOUBLE"), "DOUBLE"),
        **{name: name for name in ("BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")},
    }
    return {name: known[kind] for name, kind in types.items() if kind in known}


def _format_paths(paths: Sequence[str]) -> str:
    """Return file paths as an SQL list, escaped because DuckDB's readers expand patterns."""
    return f"[{', '.join(quote_literal(glob.escape(path)) for path in paths)}]"


def _format_json(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str], number_columns: Iterable[str]
) -> str:
    """Return the SQL to place after FROM to read JSON files, with types that fit all values.

    Strings are kept as text, because otherwise two spellings of a date would become the same label,
    and so are columns with values of several types. Outside `number_columns`, fractions and large
    whole numbers are read as text, because DOUBLE would turn two of them into the same label.
    """
    first_columns = _check_json_columns(connection, paths) if len(paths) > 1 else None
    types = _describe_json(connection, paths)
    columns = first_columns or list(types)
    numbers = set(number_columns)
    for name in columns:
        is_rounded = types[name] in _ROUNDED_IN_JSON and name not in numbers
        if is_rounded or types[name] in _TEXT_IN_JSON:
            types[name] = "VARCHAR"
    fields = ", ".join(f"{quote_literal(name)}: {quote_literal(types[name])}" for name in columns)
    return f"{_format_json_reader(paths)}, columns = {{{fields}}})"


_TEXT_IN_JSON = {"JSON", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "UUID"}
_ROUNDED_IN_JSON = {"DOUBLE", "HUGEINT"}


def _check_json_columns(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str]
) -> Sequence[str]:
    """Return the columns of the first JSON file, or raise an error if another file lacks one."""
    # JSON does not specify types, so they may differ.
    first, *others = ([*_describe_json(connection, [path])] for path in paths)
    for path, columns in zip(paths[1:], others, strict=True):
        missing = [name for name in first if name not in columns]
        if missing:
            raise ClusterEvalError(
                f"{path}: expected the columns of {paths[0]} ({', '.join(first)}), "
                f"but {missing[0]} is missing"
            )
    return first


def _describe_json(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> dict[str, str]:
    """Return the type of each column in JSON files, inferred from all values."""
    query = f"DESCRIBE FROM {_format_json_reader(paths)}, sample_size = -1, records = TRUE)"
    try:
        described = connection.execute(query).fetchall()
    except duckdb.BinderException as error:
        if "expected records" not in str(error):
            raise
        raise ClusterEvalError(
            f"expected JSON objects, one for each row, got no rows or columns in {paths[0]}"
        ) from error
    return {name: kind for name, kind, *_ in described}


def _format_json_reader(paths: Sequence[str]) -> str:
    """Return the call to DuckDB's JSON reader as SQL to which options can be added."""
    return f"read_json({_format_paths(paths)}, union_by_name = TRUE, hive_partitioning = FALSE"


_TABLES = """
FROM duckdb_tables() SELECT database_name, schema_name, table_name WHERE NOT internal
UNION ALL
FROM duckdb_views() SELECT database_name, schema_name, view_name WHERE NOT internal
ORDER BY ALL
"""


def _find_table_name(connection: duckdb.DuckDBPyConnection, source: Source) -> str:
    """Return the qualified and quoted name of the source's table or view, or raise an error.

    The user writes the schema and a dot before the name, unless the schema is main. The whole text
    is looked up among all names, because a name may itself contain dots.
    """
    qualified_names = {}
    for database, schema, name in connection.execute(_TABLES).fetchall():
        short_name = name if schema == "main" else f"{schema}.{name}"
        qualified_names[short_name] = ".".join(map(quote_identifier, (database, schema, name)))
    for candidate in (source.table, source.table.removeprefix("main.")):
        if candidate in qualified_names:
            return qualified_names[candidate]
    mistake = (
        f"table '{source.table}' not found"
        if source.table
        else f"expected a table, as {source.name}::TABLE"
    )
    raise ClusterEvalError(f"{mistake}; tables: {', '.join(qualified_names) or 'none'}")
