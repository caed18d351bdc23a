"""Registration of all macros, or of one macro and its dependencies, in a DuckDB connection."""

from __future__ import annotations

import os
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import duckdb

from polars_clustereval.errors import ClusterEvalError

from .cache import copy_macros
from .text import VERSION_COMMENT, bundle, create_statements, macros_called_by, to_temporary

if TYPE_CHECKING:
    from collections.abc import Iterator

# A part of an error text of DuckDB -> the error that register raises instead.
_ADVICE = {
    "read-only": "the database is read-only: use register(con, temporary=True)",
    "write-write conflict": (
        "another transaction is changing the macros: commit it or roll it back, then register again"
    ),
    "Ambiguous reference to catalog": (
        "schema: the connection has a database with this name, which would make the names of the "
        "macros ambiguous; give another schema"
    ),
    "in system catalog": "schema: DuckDB itself has a schema with this name; give another schema",
}


class _Registration:
    """The lock of a thread that registers macros, since concurrent transactions would conflict.

    A forked process gets a lock of its own: the thread that would release the old one is not there.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = Lock()


_REGISTRATION = _Registration()


def register(
    con: duckdb.DuckDBPyConnection,
    schema: str = "clustereval",
    database: str | None = None,
    temporary: bool = False,
) -> None:
    """Create or replace all macros in a DuckDB database, or change nothing if an error occurs.

    The first call writes the macros to a file in your cache folder. If a database has no schema
    ``clustereval`` yet, later calls copy the macros from that file, which takes a tenth of the
    time.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        Open connection. If a transaction is open, the macros become part of it. A result that you
        have not fetched yet is lost, as with ``con.execute``. To keep such a result, pass
        ``con.cursor()`` instead of `con`. Several threads may register macros at the same time,
        each with its own cursor.
    schema : str
        The schema for the macros, which is created if it does not exist.
    database : str, optional
        The attached database that contains the schema. If you pass a name here, macros call each
        other by names that include the database, so they also work while another database is the
        current one. The database must stay attached under the same name.
    temporary : bool
        Whether to create temporary macros, which disappear with the connection and need no write
        access. DuckDB has no schemas for temporary macros, so the macro names start with the value
        of ``schema``, as in ``clustereval_rand_score``.

    Raises
    ------
    ClusterEvalError
        If the database is read-only and you do not pass ``temporary``, or if you pass both
        ``temporary`` and ``database``. The error is also raised if a name is empty or contains
        control characters, such as line breaks. The schema must not contain macros with the same
        names from another source, must not be one of DuckDB's own schemas, and must not have the
        same name as a database of the connection. Finally, the error is raised if another
        transaction is changing the macros.

    Examples
    --------
    >>> import duckdb
    >>> con = duckdb.connect()
    >>> ce.register(con)
    >>> query = "SELECT clustereval.rand_score(l, c) FROM (VALUES (0, 7), (0, 7), (1, 8)) t(l, c)"
    >>> con.execute(query).fetchone()
    (1.0,)
    >>> ce.register(con, temporary=True)
    >>> con.execute(query.replace("clustereval.", "clustereval_")).fetchone()
    (1.0,)
    """
    text = bundle(schema, database, temporary)
    try:
        with _REGISTRATION.lock:
            is_plain = schema == "clustereval" and database is None and not temporary
            if is_plain and _has_room(con) and copy_macros(con, text):
                return
            with plain_division(con), _transaction(con):
                _refuse_other_macros(con, schema, database, temporary)
                con.execute(text)
    except duckdb.Error as error:
        advice = next((words for part, words in _ADVICE.items() if part in str(error)), None)
        if advice is None:
            raise
        raise ClusterEvalError(advice) from error


@contextmanager
def plain_division(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Switch off integer_division, for a while: with it, the parser reads / as integer division."""
    if con.execute("SELECT current_setting('integer_division')").fetchone() != (True,):
        yield
        return
    con.execute("SET integer_division = false")
    try:
        yield
    finally:
        con.execute("SET integer_division = true")


def _has_room(con: duckdb.DuckDBPyConnection) -> bool:
    """Return whether macros can be copied: no transaction, and no schema ``clustereval`` yet."""
    query = (
        "SELECT count(*) FROM duckdb_schemas() "
        "WHERE lower(schema_name) = 'clustereval' AND database_name = current_database()"
    )
    return con.execute(query).fetchone() == (0,) and not _is_in_transaction(con)


def _refuse_other_macros(
    con: duckdb.DuckDBPyConnection, schema: str, database: str | None, temporary: bool
) -> None:
    """Raise an error if `register` would replace macros from another source.

    If version() in a schema is from this package, so are the other macros there.
    """
    prefix = f"{schema}_" if temporary else ""
    found = con.execute(
        "SELECT lower(function_name), comment FROM duckdb_functions() "
        "WHERE NOT internal AND function_type IN ('macro', 'table_macro') "
        "AND lower(schema_name) = lower($schema) "
        "AND database_name = coalesce($database, current_database())",
        {
            "schema": "main" if temporary else schema,
            "database": "temp" if temporary else database,
        },
    )
    comments = dict(found.fetchall())
    ours = {f"{prefix}{name}".lower(): name for name in create_statements()}
    if comments.get(f"{prefix}version".lower()) == VERSION_COMMENT:
        return
    if taken := sorted(comments.keys() & ours):
        msg = (
            f"schema: {schema!r} has macros that are not from clustereval: {', '.join(taken[:5])}; "
            "register would replace them. Give another schema, or drop them first"
        )
        raise ClusterEvalError(msg)


def register_macro(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create one macro, and those that it calls, as temporary ``clustereval_NAME``: much faster."""
    statements = create_statements()
    text = "\n".join(statements[macro] for macro in macros_called_by(name))
    with _transaction(con):
        con.execute(to_temporary(text, "clustereval"))


@contextmanager
def _transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Run statements in the open transaction, which the caller ends, or in a new one."""
    if _is_in_transaction(con):  # begun by the caller, who commits it
        yield
        return
    con.begin()
    try:
        yield
    except BaseException:
        con.rollback()
        raise
    con.commit()


def _is_in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the caller has already begun a transaction on the connection."""
    # BEGIN inside a transaction would abort it. Outside of a transaction, every statement has a new
    # number.
    first, second = (con.execute("SELECT txid_current()").fetchone() for _ in range(2))
    return first == second
