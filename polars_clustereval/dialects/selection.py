"""The table or score that the user requests from ``to_sql``, with its columns and description."""

from __future__ import annotations

import textwrap
from inspect import getdoc
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval.base.tables import declared_tables
from polars_clustereval.base.unknown_names import suggest_name
from polars_clustereval.catalogue import entries
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.macros.text import macros_version

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

# Columns of a comment.
_COMMENT_WIDTH = 100


class Selection(NamedTuple):
    """A table macro and the columns that the user requests, where None stands for all columns."""

    table: str
    metrics: Sequence[str] | None


def select_columns(name: str, metrics: Sequence[str] | None, tables: Collection[str]) -> Selection:
    """Return the Selection for `name`, which is one of the `tables` or a column of one of them."""
    if name in tables:
        return Selection(name, metrics)
    declared = declared_tables().get(name)
    if declared is not None and declared.no_sql_because:
        raise ClusterEvalError(
            f"name: expected a table that SQL can compute, got {name}, which it cannot because "
            f"{declared.no_sql_because}; call ce.{name} in Python"
        )
    score = entries().get(name)
    if score is None:
        hint = suggest_name(name, [*tables, *entries()])
        known = ", ".join(sorted(tables))
        raise ClusterEvalError(
            f"name: expected one of {known}, or a score in one of these tables, got {name!r}{hint}"
        )
    if score.table not in tables:
        raise ClusterEvalError(
            f"name: {name} is a column of {score.table}, a table that other dialects do not have"
        )
    if metrics is not None:
        raise ClusterEvalError(
            f"metrics: {name} is already a single column; for several columns, pass "
            f"name={score.table!r}"
        )
    return Selection(score.table, (name,))


def describe_call(name: str, arguments: Mapping[str, Any], notice: str | None) -> str:
    """Return the comment above a query: the title of `name`, the to_sql call, and the `notice`."""
    call = ", ".join([repr(name), *(f"{key}={value!r}" for key, value in arguments.items())])
    version = f"polars_clustereval {macros_version()}: to_sql({call})"
    lines = [line for text in (_title(name), version, notice) if text for line in _wrap(text)]
    return "".join(f"-- {line}\n" for line in lines)


def _title(name: str) -> str:
    """Return the first line of a table's docstring, or the title and definition of a score."""
    if (table := declared_tables().get(name)) is not None:
        return (getdoc(table.function) or "").split("\n")[0]
    score = entries()[name]
    return f"{score.title}: {score.definition}"


def _wrap(text: str) -> list[str]:
    """Wrap text into lines, and indent all lines but the first."""
    return textwrap.wrap(text, _COMMENT_WIDTH - 3, subsequent_indent="  ", break_long_words=False)
