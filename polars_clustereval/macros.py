"""The SQL wing: the macros of ``sql/`` as text, and their registration in a DuckDB connection."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from .errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["bundle", "register"]

_PACKAGE = Path(__file__).resolve().parent
# A wheel carries the SQL inside the package; a checkout has it beside the package.
_FOLDERS = (_PACKAGE / "sql", _PACKAGE.parent / "sql")

#: Lists the files in their load order.
_LOAD_ORDER = "clustereval.sql"
_READ = re.compile(r"^\.read (.+)\.sql$", re.MULTILINE)

_MACRO = re.compile(r"\bclustereval\.(\w+)")
_CREATE_SCHEMA = "CREATE SCHEMA IF NOT EXISTS clustereval;"


def bundle() -> str:
    """Text of all macros as one SQL file, for ``.read`` in the DuckDB shell or ``con.execute``.

    Returns
    -------
    str
        The files of ``sql/`` in their load order. It creates the schema
        ``clustereval`` in the current database.

    Examples
    --------
    >>> import duckdb
    >>> import polars_clustereval as ce
    >>> con = duckdb.connect()
    >>> _ = con.execute(ce.bundle())
    >>> con.execute("SELECT clustereval.version()").fetchone() == (ce.__version__,)
    True
    """
    folder = sql_folder()
    texts = ((folder / f"{name}.sql").read_text(encoding="utf-8") for name in sql_files())
    return "\n".join(texts)


def sql_folder() -> Path:
    """Return the folder that holds the SQL files."""
    return next(folder for folder in _FOLDERS if (folder / _LOAD_ORDER).is_file())


def sql_files() -> list[str]:
    """Return the SQL files in their load order, such as ``base/checks``."""
    return _READ.findall((sql_folder() / _LOAD_ORDER).read_text(encoding="utf-8"))


def register(
    con: duckdb.DuckDBPyConnection,
    schema: str = "clustereval",
    database: str | None = None,
    temporary: bool = False,
) -> None:
    """Create or replace the macros in a DuckDB database, all of them or, on an error, none.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        Open connection. In an open transaction the macros become part of it.
    schema : str
        Schema to hold the macros; created where it is missing.
    database : str, optional
        Attached database to hold the schema. Calls between macros then name it, so that they work
        whatever database is the current one, under this name.
    temporary : bool
        Make temporary macros, which live as long as the connection and need no right to write.
        DuckDB has no schema for those: the macros are ``clustereval_rand_score`` and so on, with
        the name of ``schema`` in front.

    Raises
    ------
    ClusterEvalError
        On a read-only database without ``temporary``, or for ``temporary`` with ``database``.

    Examples
    --------
    >>> import duckdb
    >>> import polars_clustereval as ce
    >>> con = duckdb.connect()
    >>> ce.register(con)
    >>> query = "SELECT clustereval.rand_score(l, c) FROM (VALUES (0, 7), (0, 7), (1, 8)) t(l, c)"
    >>> con.execute(query).fetchone()
    (1.0,)
    >>> ce.register(con, temporary=True)
    >>> con.execute(query.replace("clustereval.", "clustereval_")).fetchone()
    (1.0,)
    """
    if temporary and database is not None:
        msg = "temporary macros belong to no database: leave out database, or temporary"
        raise ClusterEvalError(msg)
    text = _temporary(schema) if temporary else _permanent(schema, database)
    try:
        _in_transaction(con, text)
    except duckdb.Error as error:
        if "read-only" in str(error):
            msg = "the database is read-only: use register(con, temporary=True)"
            raise ClusterEvalError(msg) from error
        raise


def _permanent(schema: str, database: str | None) -> str:
    names = [schema] if database is None else [database, schema]
    home = ".".join(map(_quoted, names))
    return _renamed(lambda name: f"{home}.{name}").replace(
        _CREATE_SCHEMA, f"CREATE SCHEMA IF NOT EXISTS {home};"
    )


def _temporary(prefix: str) -> str:
    text = _renamed(lambda name: _quoted(f"{prefix}_{name}")).replace(_CREATE_SCHEMA, "")
    return text.replace("CREATE OR REPLACE MACRO", "CREATE OR REPLACE TEMPORARY MACRO")


def _renamed(name: Callable[[str], str]) -> str:
    return _MACRO.sub(lambda match: name(match[1]), bundle())


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _in_transaction(con: duckdb.DuckDBPyConnection, text: str) -> None:
    if _has_transaction(con):  # the caller's: theirs to commit
        con.execute(text)
        return
    con.begin()
    try:
        con.execute(text)
    except BaseException:
        con.rollback()
        raise
    con.commit()


def _has_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    # BEGIN inside a transaction would abort it. Outside of one every statement has a new number.
    first, second = (con.execute("SELECT txid_current()").fetchone() for _ in range(2))
    return first == second
