"""The text of sql/tables.sql: comments of the table macros, from the docstrings of the functions.

Both sides have the same tables, so that the words for one are right for the other, but for a few:
what is a frame in Polars is a table in SQL, and nothing there is lazy.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue.callables import describe_callable, parameters_of
from polars_clustereval.catalogue.docstrings import (
    RETURNS,
    join_lines,
    read_sections,
    words_of_engines,
)
from tools.sql_facts import literals

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

HEAD = """\
-- tables: what each table macro returns, takes and is. `make facts` writes this file from the
-- docstrings of polars_clustereval: change these.
"""


def in_sql(text: str) -> str:
    """A text of a docstring for the macro, in one line."""
    found = re.sub(r"\bnamed as its expression\b", "named as its macro", words_of_engines(text))
    return re.sub(r"(\w)=([\w'])", r"\1 := \2", found)


def parameters_in_sql(table: str) -> str:
    """What the parameters are: 'p: Order of the distance.' with choices in parentheses."""
    names_of: dict[str, list[str]] = {}
    for name, text in parameters_of(table).items():
        if name == "metrics":  # a SELECT list, or a condition on the column metric
            continue
        type_name, _, meaning = text.partition(". ")
        choices = re.sub("[{}]", "", type_name) if type_name.startswith("{") else ""
        in_words = f"{f' ({choices})' if choices else ''}: {in_sql(meaning)}"
        names_of.setdefault(in_words, []).append(in_sql(name) if name != "frame" else "tbl")
    return " ".join(f"{', '.join(names)}{in_words}" for in_words, names in names_of.items())


def table_comment(name: str, function: Callable[..., Any]) -> str:
    sections = read_sections(function)
    returns, is_known = RETURNS.subn("", sections["Returns"], count=1)
    known = describe_callable(name)
    if not is_known or known is None:
        raise ValueError(f"{name}: expected Returns to begin with 'Same kind as `frame`, '")
    source = join_lines(sections.get("References", ""))
    texts = (
        in_sql(sections[""]),
        in_sql(returns[0].upper() + returns[1:]),
        in_sql(known.facts["Notes"]),
        parameters_in_sql(name),
        source and f"Source: {source}",
    )
    text = " ".join(filter(None, texts))
    return f"COMMENT ON MACRO TABLE clustereval.{name} IS\n{literals(text)};\n"


def table_comments() -> str:
    """The text of sql/tables.sql."""
    tables = ((name, x) for name, x in sorted(declared_tables().items()) if x.has_macro)
    return "\n".join([HEAD, *(table_comment(name, x.function) for name, x in tables)])
