"""An extension of Griffe for the site: docstrings as a page shows them.

Docstrings say ``noise, weights : as in internal_report``; `ce.describe` and the site show what that
is. The facts of a metric are lines, ``Best value : 1``, which Markdown would run together in one
paragraph; the site shows a list. Next to the function is the macro of the same name, as DuckDB
describes it.
"""

from __future__ import annotations

import re
from functools import cache
from textwrap import wrap
from typing import Any, NamedTuple

import duckdb
from griffe import Extension, Function

import polars_clustereval as ce
from polars_clustereval.catalogue.callables import parameters_of


def section_pattern(title: str) -> re.Pattern[str]:
    """The pattern of the text of a section, whose title is underlined."""
    start = f"{title}\n{'-' * len(title)}\n"
    return re.compile(rf"(?<=^{start}).*?(?=^\w+\n---|\Z)", re.DOTALL | re.MULTILINE)


PARAMETERS = section_pattern("Parameters")
FACTS = section_pattern("Facts")
#: A fact begins at the margin; what goes on in the next lines is indented.
FACT = re.compile(r"^(\w[\w ]*?) : ((?:.|\n(?= ))*)", re.MULTILINE)
#: What is before the sections.
DEFINITION = re.compile(r"\A.*?(?=^\w+\n---|\Z)", re.DOTALL | re.MULTILINE)
#: The names and the defaults of the parameters of a macro.
SIGNATURE = re.compile(
    r"^CREATE OR REPLACE MACRO clustereval\.(\w+)\((.*?)\)\s+AS\b", re.DOTALL | re.MULTILINE
)


class Docstrings(Extension):
    """Writes out parameters, facts and macros of the functions that the package declares."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        if func.docstring is None:
            return
        text = func.docstring.value
        if " : as in " in text:
            text = write_out_parameters(func.name, text)
        text = FACTS.sub(list_facts, text, count=1)
        if func.name in macros() and func.name in ce.__all__:
            box = macros()[func.name].box()
            text = DEFINITION.sub(lambda found: f"{found[0].rstrip()}\n\n{box}\n", text, count=1)
        func.docstring.value = text


def write_out_parameters(name: str, docstring: str) -> str:
    """The docstring in which each parameter of the function has a text of its own."""
    texts = []
    for parameter, text in parameters_of(name).items():
        type_name, _separator, meaning = text.partition(". ")
        texts.append(f"{parameter} : {type_name}\n    {meaning}\n")
    if not texts:
        return docstring
    return PARAMETERS.sub(lambda _: "".join(texts) + "\n", docstring, count=1)


def list_facts(facts: re.Match[str]) -> str:
    """The section Facts as a list in Markdown, in which the call in SQL is code."""
    items = FACT.sub(r"- **\1:** \2", facts[0])
    return re.sub(r"(?<=^- \*\*SQL:\*\* )(.*)$", r"`\1`", items, flags=re.MULTILINE)


class SqlMacro(NamedTuple):
    """A macro of the package."""

    name: str
    #: The parameters, with the defaults, in one line.
    signature: str
    #: The names of the parameters.
    parameters: list[str]
    #: The text of COMMENT ON MACRO: sentences, of which those on parameters begin with names.
    comment: str

    def box(self) -> str:
        """A box in Markdown, closed until the reader opens it.

        The signature is in a block of text: the playground would run a block of SQL.
        """
        call = f"clustereval.{self.name}({self.signature})"
        lines = ["```text", *lines_of_call(call), "```", "", *self.paragraphs()]
        return "\n".join(['??? info "The macro in SQL"', "", *(f"    {x}".rstrip() for x in lines)])

    def paragraphs(self) -> list[str]:
        """The comment, with the parameters as a list."""
        one = rf"(?:{'|'.join(self.parameters)})"
        start = rf"(?<=[.?] )({one}(?:, {one})*)(?: \(([^()]*)\))?: "
        parts = re.split(start, self.comment)
        lines = [parts[0].rstrip(), ""]
        for names, choices, meaning in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            head = f"`{names}`" + (f" ({choices})" if choices else "")
            text, is_last, source = meaning.partition("Source: ")
            lines.append(f"- {head}: {text.rstrip()}")
            lines += ["", f"Source: {source}"] if is_last else []
        return lines


def lines_of_call(call: str) -> list[str]:
    """A call, in lines of at most 80 characters that are broken at commas."""
    # Lines are not broken at a no-break space.
    whole_parameters = re.sub(r"(?<!,) ", "\xa0", call)
    lines = wrap(whole_parameters, 80, subsequent_indent="  ", break_on_hyphens=False)
    return [line.replace("\xa0", " ") for line in lines]


@cache
def macros() -> dict[str, SqlMacro]:
    """The macros by name, as DuckDB lists them."""
    con = duckdb.connect()
    ce.register(con)
    query = (
        "SELECT function_name, parameters, comment FROM duckdb_functions() "
        "WHERE schema_name = 'clustereval' AND NOT starts_with(function_name, '_')"
    )
    signatures = {name: " ".join(text.split()) for name, text in SIGNATURE.findall(ce.bundle())}
    return {
        name: SqlMacro(name, signatures[name], parameters, comment)
        for name, parameters, comment in con.execute(query).fetchall()
    }
