"""A separate DuckDB database with the macros, which any DuckDB client can attach.

The macros are in the schema ``main``, and call each other by the name under which the database is
attached. If this database is attached, ``clustereval.rand_score`` is a macro in the database
``clustereval``. After a call to `register`, the same name refers to a macro in the schema
``clustereval``. Attaching this database writes nothing to the user's own database.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from polars_clustereval.base.quoting import quote_identifier, quote_literal
from polars_clustereval.errors import ClusterEvalError

from .cache import attach_cached, cached_database, write_macros
from .registration import plain_division
from .text import bundle, check_name, macros_version

if TYPE_CHECKING:
    from os import PathLike

_NAME = "clustereval"

# The oldest DuckDB that can read the files.
_OLDEST_READER = "v1.5.0"

# Names that a DuckDB connection uses for its own databases and schemas.
_RESERVED_NAMES = ("information_schema", "main", "memory", "pg_catalog", "system", "temp")


def write_database(path: str | PathLike[str], name: str = _NAME) -> None:
    """Write a DuckDB database that contains only the macros, for ``ATTACH`` in any DuckDB client.

    After ``ATTACH 'clustereval.duckdb' AS clustereval (READ_ONLY)``, every macro is available in
    the connection under its usual name, such as ``clustereval.rand_score``. Attaching takes about
    10 ms and writes nothing to the connection's own database, which may be read-only.

    Parameters
    ----------
    path : str or path-like
        The file to write, in an existing folder. An existing file is not overwritten.
    name : str
        The name under which you will attach the database. The macros call each other by this name.
        If you attach the database under another name, macro calls fail, because DuckDB cannot find
        the catalog `name`.

    Raises
    ------
    ClusterEvalError
        If the file already exists, or if its folder does not exist. The error is also raised if
        `name` is empty or contains control characters, or if it is the name of a database or schema
        that every connection has, such as ``main``.

    Notes
    -----
    DuckDB 1.5.5 and newer can use the file, regardless of which version of DuckDB wrote it. If the
    current database has a schema ``clustereval`` and you attach this database as ``clustereval``,
    the names of the macros are ambiguous. In that case, write ``clustereval.main.rand_score``, or
    give the database another `name`.

    Examples
    --------
    >>> import tempfile
    >>> import duckdb
    >>> con = duckdb.connect()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ce.write_database(f"{folder}/clustereval.duckdb")
    ...     _ = con.execute(f"ATTACH '{folder}/clustereval.duckdb' AS clustereval (READ_ONLY)")
    ...     con.execute(
    ...         "SELECT clustereval.rand_score(x, x // 2) FROM range(4) AS t (x)"
    ...     ).fetchone()
    ...     _ = con.execute("DETACH clustereval")
    (0.6666666666666666,)
    """
    path = Path(path)
    check_new_file(path)
    check_name("name", name)
    if name.lower() in _RESERVED_NAMES:
        msg = f"name: DuckDB itself has a database or schema named {name!r}; give another name"
        raise ClusterEvalError(msg)
    write_macros(bundle("main", name), path, name, _OLDEST_READER)


def check_new_file(path: Path) -> None:
    """Raise an error if there is already a file at `path`, or if its folder does not exist."""
    if not path.parent.is_dir():
        raise ClusterEvalError(f"{path.parent}: no such directory")
    if path.exists():
        msg = f"{path}: the file exists and is not overwritten: delete it, or give another name"
        raise ClusterEvalError(msg)


def attach_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Attach the macros to a connection and all its cursors as a database named ``clustereval``.

    The database is a file in the user's cache folder. If this file cannot be written or read, the
    macros are created in an in-memory database, which takes 0.4 s. A connection that already has
    the macros is left unchanged. Raise an error if the connection uses the name ``clustereval`` for
    something other than the macros.
    """
    if _has_macros(con):
        return
    _refuse_taken_name(con)
    text = bundle("main", _NAME)
    try:
        attach_cached(con, cached_database(text, _NAME), _NAME)
    except (OSError, RuntimeError, duckdb.Error):
        # If the main database is read-only, READ_WRITE is not the default.
        con.execute(f"ATTACH ':memory:' AS {_NAME} (READ_WRITE)")
        with plain_division(con):
            con.execute(text)


def _has_macros(con: duckdb.DuckDBPyConnection) -> bool:
    """Return whether this version's macros are attached, maybe by another connection."""
    query = (
        "SELECT count(*) FROM duckdb_functions() WHERE lower(database_name) = $name "
        "AND schema_name = 'main' AND function_name = 'version' AND macro_definition = $version"
    )
    version = quote_literal(macros_version())
    return con.execute(query, {"name": _NAME, "version": version}).fetchone() == (1,)


def _refuse_taken_name(con: duckdb.DuckDBPyConnection) -> None:
    """Raise an error if the name ``clustereval`` would be ambiguous in a connection."""
    query = (
        "SELECT DISTINCT CASE WHEN lower(database_name) = $name THEN 'database' ELSE 'schema' END "
        "FROM duckdb_schemas() WHERE lower(database_name) = $name "
        "OR (lower(schema_name) = $name AND database_name = current_database()) ORDER BY ALL"
    )
    for (kind,) in con.execute(query, {"name": _NAME}).fetchall():
        msg = (
            f"the connection has a {kind} {quote_identifier(_NAME)}, "
            "which makes the names of the macros ambiguous; drop it, or give it another name"
        )
        raise ClusterEvalError(msg)
