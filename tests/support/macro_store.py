"""The macros of the command line's reports, created once in a process for all calls in it."""

from __future__ import annotations

from typing import Any

import duckdb

from polars_clustereval.base.quoting import quote_identifier
from polars_clustereval.macros import register_macro


class MacroStore:
    """A database in memory, whose cursors stand for the databases of single calls.

    What `register_macro` creates for a name is in a schema of that name, and no other macro. To
    register the name is to put the schema on the search path of the cursor: a macro that the
    command line does not register is not found, as in a database of its own.
    """

    def __init__(self) -> None:
        # A test may write other rows to a file that it has read.
        self._database = duckdb.connect(config={"enable_external_file_cache": False})
        self._names: set[str] = set()

    def connect(
        self, path: str, *, read_only: bool, config: dict[str, Any]
    ) -> duckdb.DuckDBPyConnection:
        """Stand for `duckdb.connect`: a cursor for a database in memory with access to files."""
        if (path, read_only, config) == (":memory:", False, {"enable_external_access": True}):
            return self._database.cursor()
        return duckdb.connect(path, read_only=read_only, config=config)

    def register_macro(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Stand for `register_macro`, which a connection to a file gets itself."""
        found = connection.execute("SELECT current_database(), current_setting('search_path')")
        [(database, search_path)] = found.fetchall()
        if database != "memory":
            register_macro(connection, name)
            return
        if name not in self._names:
            self._create(name)
        connection.execute(f"SET search_path = '{search_path or 'main'},{name}'")

    def _create(self, name: str) -> None:
        with self._database.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA {quote_identifier(name)}")
            cursor.execute(f"SET search_path = '{name}'")
            register_macro(_PermanentMacros(cursor), name)  # type: ignore[arg-type]
        self._names.add(name)


class _PermanentMacros:
    """A connection whose temporary macros are permanent, so that cursors share them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.begin, self.commit = connection.begin, connection.commit
        self.rollback = connection.rollback

    def execute(self, query: str) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(query.replace("TEMPORARY MACRO", "MACRO"))
