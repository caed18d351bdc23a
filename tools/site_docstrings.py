"""An extension of Griffe for the site: docstrings as a page shows them.

Docstrings say ``noise, weights : as in internal_report``; `ce.describe` and the site show what that
is. The facts of a metric are lines, ``Best value : 1``, which Markdown would run together in one
paragraph; the site shows a list.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Function

from polars_clustereval.catalogue.callables import parameters_of


def section(title: str) -> re.Pattern[str]:
    """The pattern of the text of a section, whose title is underlined."""
    start = f"{title}\n{'-' * len(title)}\n"
    return re.compile(rf"(?<=^{start}).*?(?=^\w+\n---|\Z)", re.DOTALL | re.MULTILINE)


PARAMETERS = section("Parameters")
FACTS = section("Facts")
#: A fact begins at the margin; what goes on in the next lines is indented.
FACT = re.compile(r"^(\w[\w ]*?) : ((?:.|\n(?= ))*)", re.MULTILINE)


class Docstrings(Extension):
    """Writes out the parameters and the facts of the functions that the package declares."""

    def on_function(self, *, func: Function, **_: Any) -> None:
        if func.docstring is None:
            return
        text = func.docstring.value
        if " : as in " in text:
            text = write_out_parameters(func.name, text)
        func.docstring.value = FACTS.sub(list_facts, text, count=1)


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
    """The section Facts as a list in Markdown."""
    return FACT.sub(lambda fact: f"- **{fact[1]}:** {show_fact(fact[1], fact[2])}", facts[0])


def show_fact(name: str, text: str) -> str:
    """The text of a fact in Markdown: a call in SQL is code."""
    return f"`{text}`" if name == "SQL" else text
