"""What the bodies of the macros call, and with which of their parameters, by introspection.

It proves without a query that a table passes an argument on to the macro that checks it: a query
of a report takes a hundred times as long as one of the check.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from polars_clustereval.dialects.sql_names import PLAIN_FORMS
from tests.support import engines, registry

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = re.compile(r'clustereval\."?(\w+)"?\(')
CTE = re.compile(r'(\w+)"? AS (?:NOT )?(?:MATERIALIZED )?\(+\s*(?:SELECT|WITH)')
INNER_NAME = re.compile(r'\b(?:AS|lambda) "?(\w+)|"?(\w+)"? AS (?:NOT )?(?:MATERIALIZED )?\(')
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Macro(NamedTuple):
    parameters: tuple[str, ...]
    #: The body in DuckDB's words: reserved names are quoted, spaces and parentheses are its own.
    body: str
    is_table: bool


class Call(NamedTuple):
    macro: str
    arguments: tuple[str, ...]


class Place(NamedTuple):
    """A parameter of a macro."""

    macro: str
    parameter: str


@cache
def macros_by_name() -> dict[str, Macro]:
    query = (
        "SELECT function_name, parameters, macro_definition, function_type = 'table_macro' "
        "FROM duckdb_functions() WHERE schema_name = 'clustereval'"
    )
    with engines.make("duckdb").connection.cursor() as cursor:  # type: ignore[union-attr]
        rows = cursor.execute(query).fetchall()
    assert len({name for name, *_ in rows}) == len(rows), "a macro has one form"
    return {name: Macro(tuple(given), body, is_table) for name, given, body, is_table in rows}


def public_tables() -> dict[str, Macro]:
    """The table macros that users call, without those that only raise an error."""
    found = {
        name: macro
        for name, macro in macros_by_name().items()
        if macro.is_table and not name.startswith("_") and name not in registry.WITHOUT_MACRO
    }
    assert len(found) > 40
    return found


def calls_in(body: str) -> Iterator[Call]:
    """All calls of macros in a body, also those in arguments of others."""
    for start in CALL.finditer(body):
        yield Call(start[1], tuple(split_arguments(body, start.end())))


def split_arguments(body: str, start: int) -> list[str]:
    """The arguments from `start`, behind the parenthesis of a call, to the one that closes it."""
    parts, part, awaited = [], "", [")"]
    for token in re.findall(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", body[start:], re.DOTALL):
        if token == awaited[-1]:
            awaited.pop()
            if not awaited:
                return [*parts, part.strip()] if parts or part.strip() else []
        elif token in CLOSING:
            awaited.append(CLOSING[token])
        if token == "," and len(awaited) == 1:
            parts, part = [*parts, part.strip()], ""
        else:
            part += token
    raise AssertionError(f"no end: {body[start:]}")


@cache
def calls_of(macro: str) -> tuple[Call, ...]:
    return tuple(calls_in(macros_by_name()[macro].body))


@cache
def reached_from(macro: str) -> frozenset[str]:
    """The macro itself and all that it calls, directly or by way of others."""
    reached: set[str] = set()
    new = {macro}
    while new:
        reached |= new
        new = {call.macro for name in new for call in calls_of(name)} - reached
    return frozenset(reached)


def places_of(macro: str, parameter: str) -> set[Place]:
    """Where an argument arrives unchanged: parameters of macros that are called with it alone."""
    found: set[Place] = set()
    new = {Place(macro, parameter)}
    while new:
        found |= new
        new = {
            Place(call.macro, name)
            for place in new
            for call in calls_of(place.macro)
            for name, given in named_arguments(call)
            if given.strip('"') == place.parameter
        } - found
    return found


def named_arguments(call: Call) -> Iterator[tuple[str, str]]:
    """The parameters of a call with what they are given, by place or by name."""
    for name, given in zip(macros_by_name()[call.macro].parameters, call.arguments, strict=False):
        by_name = re.match(r'"?(\w+)"? := (.*)', given, re.DOTALL)
        yield (by_name[1], by_name[2]) if by_name else (name, given)


def ctes_of(macro: str) -> list[str]:
    """The names of the CTEs in a macro and in all that it calls: those that can hide a table."""
    bodies = (macros_by_name()[name].body for name in reached_from(macro))
    return sorted({name for body in bodies for name in CTE.findall(body)})


def inner_names_of(macro: str) -> set[str]:
    """The inner columns and CTEs of a macro and of all that it calls."""
    return {
        name for one in reached_from(macro) for name in named_inside(macros_by_name()[one].body)
    }


def named_inside(text: str) -> set[str]:
    """The columns, CTEs and parameters of lambdas that a query names, and some words of types."""
    return {name for names in INNER_NAME.findall(text) for name in names if name}


@cache
def user_tables(macro: str) -> list[str]:
    """The parameters of a macro that name tables of the user, and not CTEs of its callers."""
    calls = [(caller, call) for caller in macros_by_name() for call in calls_of(caller)]
    # The plain form of a macro is called in its place, in other engines only.
    called = {macro, *(name for name, plain in PLAIN_FORMS.items() if plain == macro)}
    given = [(caller, call) for caller, call in calls if call.macro in called]
    if not given or not macro.startswith("_"):
        return table_parameters(macro)
    named = {
        name
        for caller, call in given
        for name, argument in named_arguments(call)
        if argument.strip('"') in user_tables(caller)
    }
    return [name for name in table_parameters(macro) if name in named]


#: A read of a table, whose name a check may pass on.
TABLE_READ = re.compile(r'query_table\((?:clustereval\._check_\w+\()?"?(\w+)"?[,)]')


@cache
def table_parameters(macro: str) -> list[str]:
    """The parameters of a macro that name tables of the user or CTEs."""
    given, body = macros_by_name()[macro].parameters, macros_by_name()[macro].body
    read = TABLE_READ.findall(body)
    passed = [
        argument.strip('"')
        for call in calls_of(macro)
        for name, argument in named_arguments(call)
        if name in table_parameters(call.macro)
    ]
    return sorted({*read, *passed} & {*given})


def ctes_before(body: str, table: str) -> list[str]:
    """The CTEs that are complete where a parameter of the macro, the name of a table, is read."""
    last = [found.start() for found in re.finditer(rf"\b{table}\b(?!\.)", body)][-1]
    found = []
    for cte in CTE.finditer(body, 0, last):
        start = body.index("(", cte.start())
        if end_of(body, start + 1) < last:
            found.append(cte[1])
    return found


def end_of(body: str, start: int) -> int:
    """Where the parenthesis closes that was opened before `start`."""
    depth = 1
    for token in re.finditer(r"'(?:[^']|'')*'|[()]", body[start:]):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if not depth:
            return start + token.start()
    raise AssertionError(f"no end: {body[start:]}")
