"""Input files: which there are, and the rows of one for either engine."""

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

__all__ = ["Source", "found", "identifier", "literal", "opened", "scanned"]

# Both readers are told the same, so that a file means the same to both.
_SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}


class Source(NamedTuple):
    """A file that there is."""

    path: str
    table: str | None  # of a DuckDB database
    separator: str | None  # of a CSV file


def found(file: str) -> Source:
    """Look at the file and at its ending."""
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
    # DuckDB itself would take a CSV file for a database, and fetch an extension for some others.
    with Path(path).open("rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise ClusterEvalError(f"{path}: expected a DuckDB database before '::'")


# ----------------------------------------------------------------------------------------------
# Polars
# ----------------------------------------------------------------------------------------------


def scanned(source: Source) -> pl.LazyFrame:
    """Give the rows of a file that is no database."""
    if source.separator is None:
        return pl.scan_parquet(source.path, glob=False)
    return pl.scan_csv(
        source.path, separator=source.separator, infer_schema_length=None, glob=False
    )


# ----------------------------------------------------------------------------------------------
# DuckDB
# ----------------------------------------------------------------------------------------------


@contextmanager
def opened(source: Source) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Give a connection, and SQL that reads the rows in it."""
    database = ":memory:" if source.table is None else source.path
    with duckdb.connect(database, read_only=source.table is not None) as connection:
        yield connection, _from(connection, source)


def _from(connection: duckdb.DuckDBPyConnection, source: Source) -> str:
    if source.table is not None:
        return _table_name(connection, source)
    file = literal(glob.escape(source.path))
    if source.separator is None:
        return f"read_parquet({file})"
    return (
        f"read_csv({file}, delim = {literal(source.separator)}, quote = '\"', escape = '\"', "
        "comment = '', skip = 0, header = TRUE, sample_size = -1)"
    )


_TABLES = """
FROM duckdb_tables() SELECT database_name, schema_name, table_name WHERE NOT internal
UNION ALL
FROM duckdb_views() SELECT database_name, schema_name, view_name WHERE NOT internal
ORDER BY ALL
"""


def _table_name(connection: duckdb.DuckDBPyConnection, source: Source) -> str:
    """Look the table up instead of parsing its name, which may hold dots and quotes."""
    tables = {}
    for database, schema, table in connection.execute(_TABLES).fetchall():
        name = table if schema == "main" else f"{schema}.{table}"
        tables[name] = ".".join(map(identifier, (database, schema, table)))
    table_name = tables.get(str(source.table)) or tables.get(
        str(source.table).removeprefix("main.")
    )
    if table_name is None:
        raise ClusterEvalError(
            f"table '{source.table}' not found; tables: {', '.join(tables) or 'none'}"
        )
    return table_name


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a text for SQL."""
    return "'" + text.replace("'", "''") + "'"
