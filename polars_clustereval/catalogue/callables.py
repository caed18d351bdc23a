"""callables: facts about tables, functions, criteria and parameters, read from docstrings."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval.relative.choosing_k import CRITERIA, REFUSALS

from .docstrings import join_lines, read_parameters, read_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Description", "describe_callable", "list_callables", "parameters_of"]


class Description(NamedTuple):
    """The description of a name: a title, a definition, facts with headings, and example calls."""

    title: str
    definition: str
    facts: Mapping[str, str]
    calls: Mapping[str, str]


def describe_callable(name: str) -> Description | None:
    """Return the description of a table, function, criterion or parameter, None if unknown."""
    if name in _functions():
        return _describe_function(name)
    if name in CRITERIA:
        return _describe_criterion(name)
    return _describe_parameter(name) if name in _parameters() else None


def list_callables() -> dict[str, dict[str, str]]:
    """Return tables, functions, criteria and parameters by kind, with one-line descriptions."""
    lines = {
        name: join_lines(read_sections(function)[""].partition("\n\n")[0])
        for name, function in _functions().items()
    }
    tables = {name: line for name, line in lines.items() if is_table(_functions()[name])}
    return {
        "tables": tables,
        "other functions": {name: line for name, line in lines.items() if name not in tables},
        "criteria of choose_k": dict(CRITERIA),
        "parameters of tables": {name: texts[0].text for name, texts in _parameters().items()},
    }


# ----------------------------------------------------------------------------------------------
# Functions
# ----------------------------------------------------------------------------------------------


@cache
def _functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions by name, including to_sql if sqlglot is installed."""
    import polars_clustereval as package

    found = {name: getattr(package, name) for name in dir(package)}
    return {name: value for name, value in found.items() if inspect.isfunction(value)}


def is_table(function: Callable[..., Any]) -> bool:
    """Return whether a function is a table function, whose first parameter is a frame."""
    return next(iter(inspect.signature(function).parameters), "").startswith("frame")


#: The pattern of the SQL call in the notes of a docstring.
_SQL = re.compile(r"In SQL:\s``(.*?)``", re.DOTALL)


def _describe_function(name: str) -> Description:
    """Return the docstring of a public function, without errors and examples, as a Description."""
    function = _functions()[name]
    sections = read_sections(function)
    notes = sections.get("Notes", "")
    sql = _SQL.search(notes)
    parameters = "\n".join(
        f"{parameter}: {text}" for parameter, text in parameters_of(name).items()
    )
    kind = "a table" if is_table(function) else "a function"
    facts = {
        "Parameters": parameters,
        "Returns": join_lines(sections.get("Returns", "").partition("\n")[2]),
        # The call gets a line of its own; a sentence that continues after the call is left
        # unchanged.
        "Notes": join_lines(re.sub(rf"{_SQL.pattern}\.(\n|$)", "", notes, flags=re.DOTALL)),
        "Source": join_lines(sections.get("References", "")),
    }
    calls = {"SQL": join_lines(sql[1])} if sql else {}
    required = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
    ]
    call = f"ce.{name}({', '.join(required)})"
    return Description(
        f"{name}, {kind}", join_lines(sections[""]), facts, {**calls, "Polars": call}
    )


# ----------------------------------------------------------------------------------------------
# Criteria
# ----------------------------------------------------------------------------------------------


def _describe_criterion(name: str) -> Description:
    """Return the description of a criterion of choose_k, including the choice that it makes."""
    table = "gap_statistic" if name == "gap" else "elbow"
    sections = read_sections(_functions()[table])
    items = {item: text for text, item in _ITEM.findall(sections.get("Returns", ""))}
    definition = items.get(name, sections[""].partition("\n\n")[2])
    refusal = REFUSALS.get(name, "no value")
    facts = {
        "Column of": table,
        "Chosen": CRITERIA[name],
        "No choice": " or ".join(dict.fromkeys(["no value", refusal])),
    }
    calls = {
        "SQL": "FROM clustereval.choose_k(tbl)",
        "Polars": 'ce.choose_k(ce.elbow(frame, ["x", "y"], "cluster", "k"))',
    }
    return Description(
        f"{name}, a criterion of choose_k", join_lines(definition).rstrip(";. ") + ".", facts, calls
    )


#: The pattern of a list item in a docstring, and of its first word.
_ITEM = re.compile(r"^ *\* ((\w+).*?)(?=^ *\* |\n\n|\Z)", re.MULTILINE | re.DOTALL)


# ----------------------------------------------------------------------------------------------
# Parameters
# ----------------------------------------------------------------------------------------------


#: The pattern of parameters that are documented elsewhere: 'distance, p : as in internal_report'.
_AS_IN = re.compile(r"as in (\w+)\. ")


@cache
def parameters_of(name: str) -> Mapping[str, str]:
    """Return the description of each parameter of a public function, in signature order."""
    function = _functions()[name]
    found = read_parameters(function)
    for parameter, text in found.items():
        other = _AS_IN.fullmatch(text)
        found[parameter] = parameters_of(other[1])[parameter] if other else text
    in_order = list(inspect.signature(function).parameters)
    return {parameter: found[parameter] for parameter in in_order if parameter in found} | found


class _Usage(NamedTuple):
    """The description of a parameter, and the tables whose docstrings contain this description."""

    text: str
    tables: tuple[str, ...]


def _merge_choices(usages: Sequence[_Usage]) -> list[_Usage]:
    """Return one usage for all texts that begin with the same choices, with the first of them."""
    merged: dict[str, _Usage] = {}
    for usage in usages:
        key = usage.text.partition(". ")[0] if usage.text.startswith("{") else usage.text
        first = merged.get(key, _Usage(usage.text, ()))
        merged[key] = _Usage(first.text, tuple(sorted((*first.tables, *usage.tables))))
    return list(merged.values())


@cache
def _parameters() -> dict[str, list[_Usage]]:
    """Return the descriptions of each parameter of the tables, with the most common one first."""
    tables: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, function in _functions().items():
        if is_table(function):
            for parameter, text in parameters_of(name).items():
                tables[parameter][text].append(name)
    return {
        parameter: _merge_choices(
            sorted(
                (_Usage(text, tuple(names)) for text, names in texts.items()),
                key=lambda usage: -len(usage.tables),
            )
        )
        for parameter, texts in sorted(tables.items())
    }


def _describe_parameter(name: str) -> Description:
    """Return the description of a parameter, which includes the tables that have the parameter."""
    first, *others = _parameters()[name]
    also = "\n".join(f"{usage.text} In {', '.join(usage.tables)}." for usage in others)
    facts = {"Tables": ", ".join(first.tables), "Otherwise": also}
    return Description(f"{name}, a parameter", first.text, facts, {})
