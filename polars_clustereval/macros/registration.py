"""The SQL side: the macros of ``sql/`` as text, and their registration in a DuckDB connection."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from unicodedata import category

import duckdb

from .base.quoting import quote_identifier, quote_literal
from .errors import ClusterEvalError
from .macro_cache import copy_macros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PACKAGE = Path(__file__).resolve().parent

# The file that lists the others in their load order.
_LOAD_ORDER = "clustereval.sql"
_READ_COMMAND = re.compile(r"^\.read (.+)\.sql$", re.MULTILINE)

_MACRO_NAME = re.compile(r"\bclustereval\.(\w+)")
_CREATE_MACRO = re.compile(
    r"^CREATE OR REPLACE MACRO clustereval\.(?P<name>\w+)\((?P<parameters>.*?)\)"
    r"\s+AS(?:\s+TABLE)?\s+(?P<body>.*?);$",
    re.MULTILINE | re.DOTALL,
)
# A parameter of a macro, with or without a default.
_PARAMETER = re.compile(r'"?(\w+)"?(?:\s*:=[^,]*)?(?:,|$)')
_CREATE_SCHEMA = "CREATE SCHEMA IF NOT EXISTS clustereval;"
_VERSION = re.compile(r"^CREATE .*clustereval\.version\(\) AS '(.+)';$", re.MULTILINE)
# The comment of the macro version() in the bundle: a schema with it holds macros of this package.
_VERSION_COMMENT = "Version of the clustereval macros in this database."

# A part of an error of DuckDB -> the error of register in its place.
_ADVICE = {
    "read-only": "the database is read-only: use register(con, temporary=True)",
    "write-write conflict": (
        "another transaction is changing the macros: commit it or roll it back, then register again"
    ),
    "Ambiguous reference to catalog": (
        "schema: the connection has a database of this name, so that the names of the macros would "
        "be ambiguous: give another schema"
    ),
    "in system catalog": "schema: DuckDB has a schema of this name of its own: give another schema",
}


class _Registration:
    """The lock that threads hold while they register.

    Transactions that create the same macros at once are in conflict. A process that is forked while
    another thread registers gets a lock of its own: that thread, which would release it, is not
    in it.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = Lock()


_REGISTRATION = _Registration()

# Comments, texts and quoted identifiers are matched too, so that names in them stay as they are.
_NOT_CODE = r"""--.*|'(?:[^']|'')*'|"(?:[^"]|"")*\""""
_MACRO_NAME_IN_CODE = re.compile(f"{_NOT_CODE}|{_MACRO_NAME.pattern}")

# A call of a function of DuckDB, and what looks like one but is part of its grammar.
_FUNCTION_IN_CODE = re.compile(rf"{_NOT_CODE}|(?<![\w.])([A-Za-z_]\w*)(?=\()")
_GRAMMAR = {"cast", "coalesce", "columns", "decimal", "try", "try_cast", "unnest"}


def bundle(
    schema: str = "clustereval", database: str | None = None, temporary: bool = False
) -> str:
    """Text of all macros as one SQL file, for ``.read`` in the DuckDB shell or ``con.execute``.

    Parameters
    ----------
    schema : str
        Schema of the macros, created if it does not exist.
    database : str, optional
        Attached database of the schema, by default the current one. Calls between macros then name
        this database.
    temporary : bool
        Temporary macros, which end with the connection and need no write access. Their names start
        with ``schema``, as in ``clustereval_rand_score``.

    Returns
    -------
    str
        A comment that says how to use it, then the files of ``sql/`` in their load order. Functions
        of DuckDB are written with their schema, ``system.main``, so that no macro of a user takes
        their place.

    Raises
    ------
    ClusterEvalError
        For ``temporary`` with ``database``, and if a name is empty or has control characters.

    Examples
    --------
    >>> import duckdb
    >>> import polars_clustereval as ce
    >>> con = duckdb.connect()
    >>> _ = con.execute(ce.bundle())
    >>> con.execute("SELECT clustereval.version()").fetchone() == (ce.__version__,)
    True
    """
    if temporary and database is not None:
        msg = "temporary macros belong to no database: leave out database, or temporary"
        raise ClusterEvalError(msg)
    check_name("schema", schema)
    if database is not None:
        check_name("database", database)
    text = _read_macros()
    if temporary:
        text = _to_temporary(text, schema)
    elif (schema, database) != ("clustereval", None):
        text = _to_permanent(text, schema, database)
    return _format_head(schema, database, temporary) + text


def _format_head(schema: str, database: str | None, temporary: bool) -> str:
    """Return the comment at the start of `bundle`, which says how to use the macros."""
    homes = [_quote_if_needed(name) for name in (database, schema) if name is not None]

    def call(macro: str) -> str:
        """Return the name of a macro as a user types it."""
        return _quote_if_needed(f"{schema}_{macro}") if temporary else ".".join([*homes, macro])

    version = macros_version()
    lifetime = "which end with the connection" if temporary else "once for a database"
    attach = "" if database is None else f"--   ATTACH 'FILE' AS {homes[0]};\n"
    return f"""\
-- clustereval {version}: SQL macros for DuckDB that evaluate clusterings.
-- In the DuckDB shell, create them, {lifetime}:
{attach}--   .read clustereval.sql
-- Then, for a table t with a label, a cluster and the coordinates x and y:
--   SELECT {call("adjusted_rand_score")}(label, cluster) FROM t;
--   FROM {call("external_report")}(t, label, cluster);
--   FROM {call("internal_report")}(t, [x, y], cluster);
-- All macros, with their parameters and what they return:
--   SELECT function_name, parameters, comment FROM duckdb_functions()
--   WHERE {_format_listing_condition(schema, temporary)};

"""


@cache
def macros_version() -> str:
    """Return what the macro version() returns."""
    [version] = _VERSION.findall(_read_macros())
    return str(version)


def _format_listing_condition(schema: str, temporary: bool) -> str:
    """Return the SQL condition on duckdb_functions() that selects the macros with a comment."""
    if temporary:
        place = f"starts_with(function_name, {quote_literal(f'{schema}_')})"
    else:
        place = f"schema_name = {quote_literal(schema)}"
    return f"{place} AND comment IS NOT NULL"


def _quote_if_needed(name: str) -> str:
    """Return a name as an SQL identifier, in quotes unless it is plain."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else quote_identifier(name)


@cache
def _read_macros() -> str:
    """Return the files of ``sql/`` in their load order as one text, in schema clustereval.

    Functions of DuckDB are written with their schema.
    """
    return _FUNCTION_IN_CODE.sub(_qualify_function, _read_files())


def _read_files() -> str:
    """Return the files of ``sql/`` in their load order as one text."""
    folder = sql_folder()
    return "\n".join((folder / f"{name}.sql").read_text(encoding="utf-8") for name in sql_files())


@cache
def macro_definitions() -> dict[str, tuple[list[str], str]]:
    """Return the names of the parameters and the text of the body of each macro, by its name.

    They are as written in ``sql/``: what DuckDB returns of a macro differs between its versions.
    """
    return {
        match["name"]: (_PARAMETER.findall(match["parameters"]), match["body"])
        for match in _CREATE_MACRO.finditer(_read_files())
    }


def _qualify_function(match: re.Match[str]) -> str:
    """Return the match of `_FUNCTION_IN_CODE` with the schema of a function before its name."""
    name = match[1]
    return match[0] if name is None or name.lower() in _GRAMMAR else f"system.main.{name}"


def sql_folder() -> Path:
    """Return the folder with the SQL files: in an installed package, or beside it in a checkout."""
    return find_folder("sql", _LOAD_ORDER)


def find_folder(name: str, file: str) -> Path:
    """Return the folder `name` of this project that has the file `file`.

    A wheel has it inside the Python package, a checkout beside the package.
    """
    folders = (_PACKAGE / name, _PACKAGE.parent / name)
    return next(folder for folder in folders if (folder / file).is_file())


def sql_files() -> list[str]:
    """Return the SQL files in their load order, by path without extension: ``base/checks``, ..."""
    return _READ_COMMAND.findall((sql_folder() / _LOAD_ORDER).read_text(encoding="utf-8"))


def register(
    con: duckdb.DuckDBPyConnection,
    schema: str = "clustereval",
    database: str | None = None,
    temporary: bool = False,
) -> None:
    """Create or replace the macros in a DuckDB database, all of them or, on an error, none.

    The first call writes them to a file in the user's cache folder, from which later calls copy
    them to databases without the schema ``clustereval``: that takes a tenth of the time.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        Open connection. In an open transaction the macros become part of it. A result that is
        not fetched yet is lost, as with ``con.execute``; ``con.cursor()`` in place of `con` keeps
        it. Threads may register at the same time, each with a cursor of its own.
    schema : str
        Schema of the macros, created if it does not exist.
    database : str, optional
        Attached database of the schema. Calls between macros then name this database, so that they
        work while another one is current, as long as it is attached under this name.
    temporary : bool
        Create temporary macros, which end with the connection and need no write access. DuckDB
        has no schemas for these: their names start with ``schema``, as in
        ``clustereval_rand_score``.

    Raises
    ------
    ClusterEvalError
        On a read-only database without ``temporary``, for ``temporary`` with ``database``, if a
        name is empty or has control characters, such as line breaks, if the schema has macros of
        the same names that are not of this package, if the schema is one of DuckDB's own or is
        named like a database of the connection, or while another transaction changes the macros.

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
    """Switch the setting integer_division off while macros are created.

    With it, DuckDB's parser reads / as //.
    """
    if con.execute("SELECT current_setting('integer_division')").fetchone() != (True,):
        yield
        return
    con.execute("SET integer_division = false")
    try:
        yield
    finally:
        con.execute("SET integer_division = true")


def _has_room(con: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the current database has no schema ``clustereval``, outside a transaction.

    Then macros can be copied to it from another database.
    """
    query = (
        "SELECT count(*) FROM duckdb_schemas() "
        "WHERE lower(schema_name) = 'clustereval' AND database_name = current_database()"
    )
    return con.execute(query).fetchone() == (0,) and not _is_in_transaction(con)


def _refuse_other_macros(
    con: duckdb.DuckDBPyConnection, schema: str, database: str | None, temporary: bool
) -> None:
    """Raise an error if `register` with these arguments would replace macros of someone else.

    Macros are of this package where its macro version() is.
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
    ours = {f"{prefix}{name}".lower(): name for name in _create_statements()}
    if comments.get(f"{prefix}version".lower()) == _VERSION_COMMENT:
        return
    if taken := sorted(comments.keys() & ours):
        msg = (
            f"schema: {schema!r} has macros that are not of clustereval: {', '.join(taken[:5])}; "
            "register would replace them: give another schema, or drop them first"
        )
        raise ClusterEvalError(msg)


def register_macro(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Create one macro and all macros that it calls, as temporary macros ``clustereval_NAME``.

    This takes a fraction of the time of `register`, for a connection that needs only the macro
    `name`.
    """
    statements = _create_statements()
    text = "\n".join(statements[macro] for macro in macros_called_by(name))
    with _transaction(con):
        con.execute(_to_temporary(text, "clustereval"))


@cache
def macros_called_by(name: str) -> tuple[str, ...]:
    """Return `name` and the names of all macros that it calls, even indirectly, in load order."""
    statements = _create_statements()
    called: set[str] = set()
    new = {name}
    while new:
        called |= new
        new = {macro for caller in new for macro in _MACRO_NAME.findall(statements[caller])}
        new -= called
    return tuple(macro for macro in statements if macro in called)


@cache
def _create_statements() -> dict[str, str]:
    """Return the text of the CREATE statement of each macro by the macro's name, in load order."""
    return {match[1]: match[0] for match in _CREATE_MACRO.finditer(_read_macros())}


def check_name(parameter: str, name: object) -> None:
    """Raise an error unless `name` is a text that can name a schema or a database.

    `parameter` is the parameter of `register` that has this value, for the error text.
    """
    if isinstance(name, str) and name and not any(category(c) in ("Cc", "Cs") for c in name):
        return
    msg = f"{parameter}: expected a name without line breaks or control characters, got {name!r}"
    raise ClusterEvalError(msg)


def _to_permanent(text: str, schema: str, database: str | None) -> str:
    """Return the SQL of `bundle` with all macros in `schema`, of `database` if one is given.

    `text` is that SQL, which has the schema ``clustereval`` in the current database.
    """
    names = [schema] if database is None else [database, schema]
    home = ".".join(map(quote_identifier, names))
    text = text.replace(_CREATE_SCHEMA, f"CREATE SCHEMA IF NOT EXISTS {home};")
    return _rename_macros(text, lambda name: f"{home}.{name}")


def _to_temporary(text: str, prefix: str) -> str:
    """Return the SQL `text` with temporary macros, named PREFIX_NAME in place of a schema."""
    text = text.replace(_CREATE_SCHEMA, "")
    text = text.replace("CREATE OR REPLACE MACRO", "CREATE OR REPLACE TEMPORARY MACRO")
    return _rename_macros(text, lambda name: quote_identifier(f"{prefix}_{name}"))


def _rename_macros(text: str, new_name: Callable[[str], str]) -> str:
    """Return the SQL `text` with other names for the macros, where they are created and called.

    `new_name` returns what replaces ``clustereval.NAME``, given NAME. Comments and strings stay as
    they are.
    """
    return _MACRO_NAME_IN_CODE.sub(lambda match: new_name(match[1]) if match[1] else match[0], text)


@contextmanager
def _transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Execute statements in the connection's open transaction, or else in one of its own.

    In its own, an error leaves the database as it was; in an open one, the caller commits or rolls
    back.
    """
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
    """Return whether the connection has an open transaction, begun by the caller."""
    # BEGIN inside a transaction would abort it. Outside of one every statement has a new number.
    first, second = (con.execute("SELECT txid_current()").fetchone() for _ in range(2))
    return first == second
