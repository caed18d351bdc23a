"""The text of sql/columns.sql: macros that raise an error, which tells what to call instead."""

from __future__ import annotations

import inspect
from textwrap import fill, indent
from typing import TYPE_CHECKING

from polars_clustereval.base.data_arguments import required_parameters
from polars_clustereval.base.quoting import quote_literal
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.base.unknown_names import OTHER_NAMES
from polars_clustereval.cli.reports import REPORTS
from tools.sql_facts import WIDTH, literals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_clustereval.base.score_facts import Entry
    from polars_clustereval.base.tables import Table

HEAD = """\
-- columns: macros that only raise an error. Those of indices that are columns of a table name the
-- table, and those of tables that SQL cannot compute name the call in Python. Their comments are
-- found in duckdb_functions(). `make facts` writes this file from the catalogue of the package and
-- the declarations of its tables.
"""
#: A space at which fill does not break lines.
NBSP = "\N{NO-BREAK SPACE}"
#: The arguments of a call in Python that are not columns of the same name.
IN_PYTHON = {
    "frame": "con.sql('FROM tbl').pl()",
    "edges": "con.sql('FROM edges').pl()",
    "vector": '["x", "y"]',
}
#: The parameter before `cluster`, by the kind of an index.
FIRST = {"external": "label", "internal": "vector"}


def is_only_a_column(entry: Entry) -> bool:
    """Whether a score is a column of a table of points, or of labels, that no macro computes.

    A table of the same name is found by that name.
    """
    is_named_as_its_table = entry.name == entry.table
    return entry.has_one_table and not entry.is_expression and not is_named_as_its_table


def stub(entry: Entry) -> str:
    """A macro that raises an error, and its comment."""
    first = FIRST[entry.kind]
    call = f"{entry.table}(tbl, {first}, cluster)"
    best = f", best {entry.best}" if entry.best else ""
    definition = entry.definition.rstrip(".")
    text = f"Not an aggregate: a column of {call}. {definition}. Range {entry.range}{best}."
    reason = f"{entry.name} is a column of {entry.table}"
    return f"{raising_macro(entry.name, entry, reason)}\n{literals(text)};\n"


def raising_macro(name: str, entry: Entry, reason: str) -> str:
    """A macro that raises an error about the column of a score, up to the text of its comment."""
    first = FIRST[entry.kind]
    body = (
        f"  clustereval._raise_column(\n"
        f"    {quote_literal(entry.name)}, {quote_literal(entry.table)}, 'tbl, {first}, cluster'\n"
        f"  );\n"
    )
    if entry.is_expression:
        call = quote_literal(f"{entry.name}({first}, cluster)")
        body = f"  clustereval._raise_short({quote_literal(name)}, {call});\n"
    return (
        f"-- Raises an error: {reason}.\n"
        f"CREATE OR REPLACE MACRO clustereval.{name}({first}, cluster) AS\n{body}"
        f"COMMENT ON MACRO clustereval.{name} IS"
    )


def short_stub(short: str, entry: Entry) -> str:
    """A macro that raises an error about an abbreviation, since DuckDB would suggest _variance."""
    macro = raising_macro(short, entry, f"{short} is short for {entry.name}")
    return f"{macro} 'Not a metric: short for {entry.name}.';\n"


def parameter_in_sql(parameter: inspect.Parameter) -> str:
    """A parameter of a function with its default, as a parameter of a macro."""
    name = "tbl" if parameter.name == "frame" else parameter.name
    name = f'"{name}"' if name in ("left", "right") else name
    if parameter.default is parameter.empty:
        return name
    default = repr(parameter.default)
    literal = {"None": "NULL", "True": "true", "False": "false"}.get(default, default)
    return f"{name}{NBSP}:={NBSP}{literal}"


def calls_outside_sql(name: str, table: Table) -> str:
    """What a user calls in place of a macro: a function, and the command if there is one."""
    required = required_parameters(table.function)
    given = ", ".join(IN_PYTHON.get(x, f'"{x}"') for x in required)
    calls = [f"ce.{name}({given})"]
    for report in REPORTS.values():
        if report.function is table.function:
            inputs = "".join(f" --{x.parameter} {x.parameter.upper()}" for x in report.inputs[1:])
            show = f" --show {report.variant}" if report.variant else ""
            calls.append(f"clustereval {report.command} FILE{inputs}{show}")
    return ", or ".join(calls)


def stub_without_sql(name: str, table: Table) -> str:
    """A table macro that raises an error, and its comment."""
    parameters = inspect.signature(table.function).parameters.values()
    listed = fill(", ".join(map(parameter_in_sql, parameters)), WIDTH - 4).replace(NBSP, " ")
    calls = calls_outside_sql(name, table)
    text = (
        f"{name}: expected a call in Python, got one in SQL, which cannot compute this table "
        f"because {table.no_sql_because}; use {calls}"
    )
    return (
        f"-- Raises an error: {table.no_sql_because}.\n"
        f"CREATE OR REPLACE MACRO clustereval.{name}(\n{indent(listed, '  ')}\n) AS TABLE\n"
        # In the condition, so that there is an error whatever the query reads.
        "  SELECT CAST(NULL AS VARCHAR) AS error\n  WHERE CAST(error(\n"
        f"{indent(literals(text, WIDTH - 4), '    ')}\n  ) AS BOOLEAN);\n"
        f"COMMENT ON MACRO TABLE clustereval.{name} IS\n"
        f"{literals(f'Not in SQL, because {table.no_sql_because}. Use {calls}.')};\n"
    )


def sql_columns(entries: Iterable[Entry]) -> str:
    by_name = {entry.name: entry for entry in entries}
    stubs = [stub(entry) for entry in by_name.values() if is_only_a_column(entry)]
    short = {x: by_name[name] for x, name in OTHER_NAMES.items() if name in by_name and len(x) < 4}
    tables = {name: x for name, x in sorted(declared_tables().items()) if not x.has_macro}
    return "\n".join(
        [
            HEAD,
            *stubs,
            *(short_stub(x, y) for x, y in short.items() if y.name != y.table),
            *(stub_without_sql(name, table) for name, table in tables.items()),
        ]
    )
