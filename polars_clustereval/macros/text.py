"""The macros in ``sql/`` as text: the files in load order, the bundle, and individual macros."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from polars_clustereval.base.quoting import quote_identifier, quote_literal
from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGE = Path(__file__).resolve().parent.parent

# The file that lists the others in their load order.
_LOAD_ORDER = "clustereval.sql"
_READ_COMMAND = re.compile(r"^\.read (.+)\.sql$", re.MULTILINE)

_MACRO_NAME = re.compile(r"\bclustereval\.(\w+)")
_CREATE_MACRO = re.compile(
    r"^CREATE OR REPLACE MACRO clustereval\.(?P<name>\w+)\((?P<parameters>.*?)\)"
    r"\s+AS(?:\s+TABLE)?\s+(?P<body>.*?);$",
    re.MULTILINE | re.DOTALL,
)
_COMMENT_ABOVE_MACRO = re.compile(
    r"(?P<lines>(?:^--.*\n)+)CREATE OR REPLACE MACRO clustereval\.(?P<name>\w+)\(", re.MULTILINE
)
# A parameter of a macro, with or without a default.
_PARAMETER = re.compile(r'"?(\w+)"?(?:\s*:=[^,]*)?(?:,|$)')
_CREATE_SCHEMA = "CREATE SCHEMA IF NOT EXISTS clustereval;"
_VERSION = re.compile(r"^CREATE .*clustereval\.version\(\) AS '(.+)';$", re.MULTILINE)
# The comment of the macro version() in the bundle. A schema whose version() has this comment holds
# macros of this package.
VERSION_COMMENT = "Version of the clustereval macros in this database."

# Comments, texts and quoted identifiers are also matched, so that names in them are left unchanged.
_NOT_CODE = r"""--.*|'(?:[^']|'')*'|"(?:[^"]|"")*\""""
_MACRO_NAME_IN_CODE = re.compile(f"{_NOT_CODE}|{_MACRO_NAME.pattern}")

# A call of a DuckDB function, and parts of DuckDB's grammar that look like a call.
_FUNCTION_IN_CODE = re.compile(rf"{_NOT_CODE}|(?<![\w.])([A-Za-z_]\w*)(?=\()")
_GRAMMAR = {"cast", "coalesce", "columns", "decimal", "try", "try_cast", "unnest"}


def bundle(
    schema: str = "clustereval", database: str | None = None, temporary: bool = False
) -> str:
    """Return the text of an SQL file with all macros, for use with ``.read`` or ``con.execute``.

    Parameters
    ----------
    schema : str
        The schema for the macros, which is created if it does not exist.
    database : str, optional
        The attached database that contains the schema. The default is the current database. If you
        pass a name here, macros call each other by names that include the database.
    temporary : bool
        Whether to create temporary macros, which disappear with the connection and need no write
        access. The names of these macros start with the value of ``schema``, as in
        ``clustereval_rand_score``.

    Returns
    -------
    str
        A comment on how to use the file, followed by the files in ``sql/`` in load order. DuckDB
        functions are qualified with their schema, ``system.main``, so that your own macros cannot
        replace them.

    Raises
    ------
    ClusterEvalError
        If you pass both ``temporary`` and ``database``, or if a name is empty or contains control
        characters.

    Examples
    --------
    >>> import duckdb
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
        text = to_temporary(text, schema)
    elif (schema, database) != ("clustereval", None):
        text = _to_permanent(text, schema, database)
    return _format_head(schema, database, temporary) + text


def _format_head(schema: str, database: str | None, temporary: bool) -> str:
    """Return the comment at the start of the bundle, which explains how to use the macros."""
    homes = [_quote_if_needed(name) for name in (database, schema) if name is not None]

    def call(macro: str) -> str:
        """Return the name of a macro as a user would type it."""
        return _quote_if_needed(f"{schema}_{macro}") if temporary else ".".join([*homes, macro])

    if temporary:
        place = f"starts_with(function_name, {quote_literal(f'{schema}_')})"
    else:
        place = f"schema_name = {quote_literal(schema)}"
    lifetime = "which end with the connection" if temporary else "once for a database"
    attach = "" if database is None else f"--   ATTACH 'FILE' AS {homes[0]};\n"
    return f"""\
-- clustereval {macros_version()}: SQL macros for DuckDB that evaluate clusterings.
-- In the DuckDB shell, create them, {lifetime}:
{attach}--   .read clustereval.sql
-- Then, for a table t with a label, a cluster and the coordinates x and y:
--   SELECT {call("adjusted_rand_score")}(label, cluster) FROM t;
--   FROM {call("external_report")}(t, label, cluster);
--   FROM {call("internal_report")}(t, [x, y], cluster);
-- All macros, with their parameters and what they return:
--   SELECT function_name, parameters, comment FROM duckdb_functions()
--   WHERE {place} AND comment IS NOT NULL;

"""


@cache
def macros_version() -> str:
    """Return the text that the macro version() returns."""
    [version] = _VERSION.findall(_read_macros())
    return str(version)


def _quote_if_needed(name: str) -> str:
    """Return a name as an SQL identifier, quoted if necessary."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else quote_identifier(name)


@cache
def _read_macros() -> str:
    """Return the files in ``sql/`` in load order as one text, with DuckDB functions qualified."""
    return _FUNCTION_IN_CODE.sub(_qualify_function, _read_files())


def _read_files() -> str:
    """Return the files in ``sql/`` in load order as one text."""
    folder = sql_folder()
    return "\n".join((folder / f"{name}.sql").read_text(encoding="utf-8") for name in sql_files())


@cache
def macro_definitions() -> dict[str, tuple[list[str], str]]:
    """Return the parameters and the body of each macro, from ``sql/``: DuckDB's text varies."""
    return {
        match["name"]: (_PARAMETER.findall(match["parameters"]), match["body"])
        for match in _CREATE_MACRO.finditer(_read_files())
    }


@cache
def macro_comments() -> dict[str, str]:
    """Return a mapping from the name of each macro to the comment above it in ``sql/``."""
    matches = _COMMENT_ABOVE_MACRO.finditer(_read_files())
    return {
        match["name"]: match["lines"].replace("\n--", "").removeprefix("--") for match in matches
    }


def _qualify_function(match: re.Match[str]) -> str:
    """Return a match of `_FUNCTION_IN_CODE`, with the schema added before the function name."""
    name = match[1]
    return match[0] if name is None or name.lower() in _GRAMMAR else f"system.main.{name}"


def sql_folder() -> Path:
    """Return the folder with the SQL files."""
    return find_folder("sql", _LOAD_ORDER)


def find_folder(name: str, file: str) -> Path:
    """Return this project's folder `name`, which contains `file`: in a wheel, in the package."""
    folders = (_PACKAGE / name, _PACKAGE.parent / name)
    return next(folder for folder in folders if (folder / file).is_file())


def sql_files() -> list[str]:
    """Return the paths of the SQL files in load order, without extension, as in ``base/checks``."""
    return _READ_COMMAND.findall((sql_folder() / _LOAD_ORDER).read_text(encoding="utf-8"))


@cache
def macros_called_by(name: str) -> tuple[str, ...]:
    """Return `name` and all macros that it calls, directly or indirectly, in load order."""
    statements = create_statements()
    called: set[str] = set()
    new = {name}
    while new:
        called |= new
        new = {macro for caller in new for macro in _MACRO_NAME.findall(statements[caller])}
        new -= called
    return tuple(macro for macro in statements if macro in called)


@cache
def create_statements() -> dict[str, str]:
    """Return a mapping from the name of each macro to its CREATE statement, in load order."""
    return {match[1]: match[0] for match in _CREATE_MACRO.finditer(_read_macros())}


def check_name(parameter: str, name: object) -> None:
    """Raise an error unless `name`, passed for `parameter`, can name a schema or a database."""
    if isinstance(name, str) and name and not any(category(c) in ("Cc", "Cs") for c in name):
        return
    msg = f"{parameter}: expected a name without line breaks or control characters, got {name!r}"
    raise ClusterEvalError(msg)


def _to_permanent(text: str, schema: str, database: str | None) -> str:
    """Return the SQL of `bundle`, changed so that the macros are in a schema and a database."""
    names = [schema] if database is None else [database, schema]
    home = ".".join(map(quote_identifier, names))
    text = text.replace(_CREATE_SCHEMA, f"CREATE SCHEMA IF NOT EXISTS {home};")
    return _rename_macros(text, lambda name: f"{home}.{name}")


def to_temporary(text: str, prefix: str) -> str:
    """Return the SQL in `text`, changed so that all macros are temporary and named PREFIX_NAME."""
    text = text.replace(_CREATE_SCHEMA, "")
    text = text.replace("CREATE OR REPLACE MACRO", "CREATE OR REPLACE TEMPORARY MACRO")
    return _rename_macros(text, lambda name: quote_identifier(f"{prefix}_{name}"))


def _rename_macros(text: str, new_name: Callable[[str], str]) -> str:
    """Return the SQL with new_name(NAME) for ``clustereval.NAME``, except in comments and texts."""
    return _MACRO_NAME_IN_CODE.sub(lambda match: new_name(match[1]) if match[1] else match[0], text)
