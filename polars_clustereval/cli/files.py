"""Input files: their kinds, and the rows of one in either engine."""

from __future__ import annotations

import glob
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import polars as pl

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Source",
    "find_source",
    "open_source",
    "quote_identifier",
    "quote_literal",
    "scan_source",
]

# Both CSV readers get the separator and the same rules, so that they read the same rows.
_SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}


class Source(NamedTuple):
    """An existing input file: a DuckDB database, a CSV file, or else a Parquet file."""

    path: str
    table: str | None  # of a DuckDB database
    separator: str | None  # of a CSV file


def find_source(file: str) -> Source:
    """Return the source that the argument FILE names: a path, or DATABASE::TABLE.

    Raise an error if the file does not exist or is of an unknown kind.
    """
    path, database, table = file.partition("::")
    if not Path(path).exists():
        raise ClusterEvalError(f"{path}: no such file")
    if Path(path).is_dir():
        raise ClusterEvalError(f"{path}: expected a file, got a directory")
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


def scan_source(source: Source) -> pl.LazyFrame:
    """Return the rows of a Parquet or CSV file as a LazyFrame; a DuckDB table is not read here."""
    if source.separator is None:
        return pl.scan_parquet(source.path, glob=False)
    return pl.scan_csv(
        source.path, separator=source.separator, infer_schema_length=None, glob=False
    )


# ----------------------------------------------------------------------------------------------
# DuckDB
# ----------------------------------------------------------------------------------------------


@contextmanager
def open_source(source: Source) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Yield a DuckDB connection and the SQL that stands after FROM to read the source's rows.

    The connection is closed at the end of the ``with`` block. A database is opened read-only.
    """
    database = ":memory:" if source.table is None else source.path
    with duckdb.connect(database, read_only=source.table is not None) as connection:
        yield connection, _format_from(connection, source)


def _format_from(connection: duckdb.DuckDBPyConnection, source: Source) -> str:
    """Return the SQL that stands after FROM to read the rows of a source in this connection."""
    if source.table is not None:
        return _find_table(connection, source.table)
    file = quote_literal(glob.escape(source.path))
    if source.separator is None:
        return f"read_parquet({file})"
    return (
        f"read_csv({file}, delim = {quote_literal(source.separator)}, quote = '\"', escape = '\"', "
        "comment = '', skip = 0, header = TRUE, sample_size = -1)"
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
