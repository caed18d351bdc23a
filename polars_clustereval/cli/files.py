"""Input files: their kinds, and the rows of one in either engine."""

from __future__ import annotations

import glob
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import polars as pl

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "Source",
    "find_source",
    "format_rows",
    "open_source",
    "quote_identifier",
    "quote_literal",
    "scan_parquet",
]

_SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}


class Source(NamedTuple):
    """An existing input file: a DuckDB database, a CSV file, or else a Parquet file."""

    path: str
    table: str | None  # of a DuckDB database
    separator: str | None  # of a CSV file

    @property
    def is_parquet(self) -> bool:
        """Whether the input is a Parquet file, the only kind that Polars reads itself."""
        return self.table is None and self.separator is None


def find_source(file: str) -> Source:
    """Return the source that the argument FILE names: a path, or DATABASE::TABLE.

    Raise an error if the file does not exist or is of an unknown kind.
    """
    path, database, table = file.partition("::")
    if not Path(path).exists():
        raise ClusterEvalError(f"{path}: no such file")
    if Path(path).is_dir():
        raise ClusterEvalError(f"{path}: expected a file, got a directory")
    if path != path.encode(errors="replace").decode():
        raise ClusterEvalError(f"{path}: expected a path in UTF-8")
    if database:
        _check_database(path)
        return Source(path, table, None)
    name = path.lower()
    separator = next((s for ending, s in _SEPARATORS.items() if name.endswith(ending)), None)
    if separator is None and not name.endswith(".parquet"):
        endings = ", ".join([".parquet", *_SEPARATORS])
        raise ClusterEvalError(
            f"{path}: expected a file that ends in {endings}, or a table of a DuckDB database "
            f"as {path}::table"
        )
    return Source(path, None, separator)


def _check_database(path: str) -> None:
    """Raise an error unless the file at `path` is a DuckDB database, by its first bytes."""
    # DuckDB would open a CSV file as a database, and download an extension for some other files.
    with Path(path).open("rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise ClusterEvalError(f"{path}: expected a DuckDB database before '::'")


# ----------------------------------------------------------------------------------------------
# Polars
# ----------------------------------------------------------------------------------------------


def scan_parquet(source: Source) -> pl.LazyFrame:
    """Return the rows of a Parquet file as a LazyFrame."""
    return pl.scan_parquet(source.path, glob=False, hive_partitioning=False)


# ----------------------------------------------------------------------------------------------
# DuckDB
# ----------------------------------------------------------------------------------------------


@contextmanager
def open_source(source: Source) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a DuckDB connection that can read the rows of a source.

    The connection is closed at the end of the ``with`` block. A database is opened read-only, and
    its views cannot read other files.
    """
    is_database = source.table is not None
    with duckdb.connect(
        source.path if is_database else ":memory:",
        read_only=is_database,
        # A view could otherwise read any file and show its content in a report.
        config={"enable_external_access": not is_database},
    ) as connection:
        # DuckDB draws its bar on standard output, after some seconds.
        connection.execute(f"SET enable_progress_bar = {sys.stdout.isatty()}")
        yield connection


def format_rows(
    connection: duckdb.DuckDBPyConnection, source: Source, number_columns: Iterable[str] = ()
) -> str:
    """Return the SQL that stands after FROM to read the rows of a source in this connection.

    The columns of a CSV file are text, as an inferred type would make one label of 01 and 1;
    `number_columns` are DOUBLE.
    """
    if source.table is not None:
        return _find_table(connection, source.table)
    file = quote_literal(glob.escape(source.path))
    # The names of the folders of a file are not data.
    if source.separator is None:
        return f"read_parquet({file}, hive_partitioning = FALSE)"
    types = ", ".join(f"{quote_literal(name)}: 'DOUBLE'" for name in number_columns)
    types_option = f", types = {{{types}}}" if types else ""
    return (
        f"read_csv({file}, delim = {quote_literal(source.separator)}, quote = '\"', escape = '\"', "
        "comment = '', skip = 0, header = TRUE, hive_partitioning = FALSE, all_varchar = TRUE"
        f"{types_option})"
    )


_TABLES = """
FROM duckdb_tables() SELECT database_name, schema_name, table_name WHERE NOT internal
UNION ALL
FROM duckdb_views() SELECT database_name, schema_name, view_name WHERE NOT internal
ORDER BY ALL
"""


def _find_table(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return the qualified name of a table or view of the database, in quotes, as SQL.

    `table` is the user's name: the name, after its schema and a dot if that is not main. It is
    looked up among all names because a name may contain dots itself. Raise an error, with the
    tables that exist, if it is not found.
    """
    qualified_names = {}
    for database, schema, name in connection.execute(_TABLES).fetchall():
        short_name = name if schema == "main" else f"{schema}.{name}"
        qualified_names[short_name] = ".".join(map(quote_identifier, (database, schema, name)))
    for candidate in (table, table.removeprefix("main.")):
        if candidate in qualified_names:
            return qualified_names[candidate]
    raise ClusterEvalError(
        f"table '{table}' not found; tables: {', '.join(qualified_names) or 'none'}"
    )


def quote_identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier, with quotes inside it doubled."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return a text as an SQL string literal, with quotes inside it doubled."""
    return "'" + text.replace("'", "''") + "'"
