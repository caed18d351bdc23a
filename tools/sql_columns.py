"""The text of sql/columns.sql: a macro for each index that is a column only, to name its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_clustereval.base.quoting import quote_literal
from polars_clustereval.base.unknown_names import OTHER_NAMES
from tools.sql_facts import literals

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polars_clustereval.base.score_facts import Entry

HEAD = """\
-- columns: indices that are not aggregates, but columns of a table. Called as a macro, each names
-- its table, and its comment is found in duckdb_functions(). `make facts` writes this file from the
-- catalogue of the package.
"""
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


def sql_columns(entries: Iterable[Entry]) -> str:
    by_name = {entry.name: entry for entry in entries}
    stubs = [stub(entry) for entry in by_name.values() if is_only_a_column(entry)]
    short = {x: by_name[name] for x, name in OTHER_NAMES.items() if name in by_name and len(x) < 4}
    return "\n".join(
        [HEAD, *stubs, *(short_stub(x, y) for x, y in short.items() if y.name != y.table)]
    )
