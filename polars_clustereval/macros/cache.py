"""A cached DuckDB database with the macros, because copying them is faster than parsing them.

DuckDB takes 0.3 s to parse the SQL of the macros, but only 0.03 s to copy the macros from another
database. The first call of `register` writes a database with the macros to the user's cache folder,
and later calls copy the macros from this database. If the cached database cannot be written or
read, or is not trusted, the macros are parsed.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import duckdb

from polars_clustereval.base.quoting import quote_identifier, quote_literal

from .cache_folder import find_trusted, open_folder, write_trusted

# Only in this version does a macro keep its text: files that older versions can read have numbers
# such as 1e0 as casts and, before v1.5.0, no MATERIALIZED. DuckDB 1.5 writes such files by default.
_STORAGE_VERSION = "latest"

# The name of a cached database while it is written. It must differ from the name of the schema
# inside.
_NAME_IN_CACHE = "macros"


def copy_macros(con: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Create the macros of `text` in the current database, and return whether this succeeded.

    The database must not contain their schema yet.
    """
    try:
        _copy_schemas(con, cached_database(text, _NAME_IN_CACHE))
    except (OSError, RuntimeError, duckdb.Error):
        # Possible reasons: no home folder, no space, no access to files, a read-only database, ...
        return False
    return True


def _copy_schemas(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Copy the schema and the macros of the database file at `path` to the current database."""
    # Cursors of one connection may copy at the same time.
    name = f"__ce_macros_{uuid4().hex}"
    attach_cached(con, path, name)
    try:
        (target,) = con.execute("SELECT current_database()").fetchall()[0]
        con.execute(f"COPY FROM DATABASE {name} TO {quote_identifier(target)} (SCHEMA)")
    finally:
        con.execute(f"DETACH {name}")


def attach_cached(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    """Attach the cached database file at `path` to a connection as `name`."""
    try:
        con.execute(f"ATTACH {quote_literal(str(path))} AS {name} (READ_ONLY)")
    except duckdb.IOException:
        # The file is no longer a database, so it is deleted, and the next call writes it again.
        path.unlink(missing_ok=True)
        raise


def cached_database(text: str, name: str) -> Path:
    """Return the path of a database with the macros in `text`, written on first use.

    `name` is the database name in `text`, if there is one. Each file is for one text and one
    version of DuckDB, so it never has to be updated.
    """
    key = f"{sha256(text.encode()).hexdigest()[:32]}-{duckdb.__version__}"
    folder = open_folder()
    return find_trusted(folder, key) or write_trusted(
        folder, key, lambda path: _write_whole(text, path, name, _STORAGE_VERSION)
    )


def write_macros(text: str, path: Path, name: str, storage_version: str) -> None:
    """Write a database with the macros in `text`, leaving no partial file (see cached_database).

    `storage_version` is the oldest DuckDB that can read the file, such as v1.5.0, or ``latest``.
    """
    # The file is moved to its place only when it is complete, because another process may look for
    # it.
    with TemporaryDirectory(dir=path.parent) as folder:
        draft = Path(folder) / "macros.duckdb"
        _write_whole(text, draft, name, storage_version)
        draft.replace(path)


def _write_whole(text: str, path: Path, name: str, storage_version: str) -> None:
    """Write a database with the macros in `text`, or raise an error if the file is incomplete."""
    file, database = quote_literal(str(path)), quote_identifier(name)
    with duckdb.connect() as con:
        con.execute(f"ATTACH {file} AS {database} (STORAGE_VERSION '{storage_version}')")
        con.execute(f"USE {database}")
        con.execute(text)
        # Closing the connection also writes the file, but hides the error of a full disk.
        con.execute("CHECKPOINT")
    if Path(f"{path}.wal").exists():
        raise OSError(f"{path}: some of the macros are in another file")
