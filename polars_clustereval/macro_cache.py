"""macro_cache: the macros in a DuckDB database, from which copying them takes a tenth of the time.

DuckDB parses the SQL of the macros in 0.3 s, and copies them from another database in 0.03 s. The
first `register` writes that database to the user's cache folder, and later ones copy from it. Where
it cannot be written or read, the macros are parsed.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import duckdb

from .quoting import quote_identifier, quote_literal


def copy_macros(con: duckdb.DuckDBPyConnection, text: str) -> bool:
    """Copy the macros to the current database, and return whether that was possible.

    `text` is the SQL that creates the macros and their schema, which the database must not have
    yet.
    """
    try:
        path = _cached_database(text)
        try:
            _copy_schemas(con, path)
        except duckdb.IOException:
            # No database any more: the next call writes it again.
            path.unlink()
            return False
    except (OSError, RuntimeError, duckdb.Error):
        # No home or no space, a connection without access to files, a read-only database, ...
        return False
    return True


def _copy_schemas(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Copy the schema and the macros of the database file at `path` to the current database."""
    # Cursors of one connection may copy at the same time.
    name = f"__ce_macros_{uuid4().hex}"
    con.execute(f"ATTACH {quote_literal(str(path))} AS {name} (READ_ONLY)")
    try:
        (target,) = con.execute("SELECT current_database()").fetchall()[0]
        con.execute(f"COPY FROM DATABASE {name} TO {quote_identifier(target)} (SCHEMA)")
    finally:
        con.execute(f"DETACH {name}")


def _cached_database(text: str) -> Path:
    """Return the path of a database with the macros of `text`, made now if there is none.

    A file is of one text and one version of DuckDB: there is nothing to keep up to date.
    """
    digest = sha256(text.encode()).hexdigest()[:16]
    path = _cache_folder() / f"{digest}-{duckdb.__version__}.duckdb"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # In place only when it is complete: another process may look for it.
        with TemporaryDirectory(dir=path.parent) as folder:
            unfinished = Path(folder) / path.name
            _write_database(text, unfinished)
            unfinished.replace(path)
    return path


def _write_database(text: str, path: Path) -> None:
    """Write a database with the macros of `text`; raise an error if the file is not complete."""
    with duckdb.connect(path) as con:
        con.execute(text)
        # Closing writes the file too, but hides the error of a full disk.
        con.execute("CHECKPOINT")
    if Path(f"{path}.wal").exists():
        raise OSError(f"{path}: a part of the macros is in another file")


def _cache_folder() -> Path:
    """Return the folder for this package's files in the user's cache, as the system has it."""
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        parent = Path.home() / "Library" / "Caches"
    else:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return parent / "polars_clustereval"
