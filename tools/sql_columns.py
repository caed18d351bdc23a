"""The text of sql/columns.sql: a macro for each index that is a column only, to name its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.sql_facts import literals, sql_literal

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
    return (
        f"-- Raises an error: {entry.name} is a column of {entry.table}.\n"
        f"CREATE OR REPLACE MACRO clustereval.{entry.name}({first}, cluster) AS\n"
        f"  clustereval._raise_column(\n"
        f"    {sql_literal(entry.name)}, {sql_literal(entry.table)}, 'tbl, {first}, cluster'\n"
        f"  );\n"
        f"COMMENT ON MACRO clustereval.{entry.name} IS\n{literals(text)};\n"
    )


def sql_columns(entries: Iterable[Entry]) -> str:
    return "\n".join([HEAD, *(stub(entry) for entry in entries if is_only_a_column(entry))])
