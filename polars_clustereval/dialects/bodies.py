"""Functions that parse the bodies of the macros in ``sql/`` into syntax trees."""

from __future__ import annotations

import functools
import re

import sqlglot
from sqlglot import exp

from polars_clustereval.macros import macro_comments, macro_definitions

from .pair_bodies import PAIR_MACROS
from .sql_names import HOLDS, PLAIN_BODIES
from .trees import rewrite_tree


def parse_macro(name: str) -> exp.Expr:
    """Return the body of the macro `name` as a syntax tree, prepared by parse_body."""
    return parse_body(PLAIN_BODIES.get(name) or _find_macro(name)[1])


def macro_parameters(name: str) -> list[str]:
    """Return the names of the parameters of the macro `name`, in order."""
    return _find_macro(name)[0]


def _find_macro(name: str) -> tuple[list[str], str]:
    """Return the parameters and the body of a macro from ``sql/`` or from PAIR_MACROS."""
    return PAIR_MACROS.get(name) or macro_definitions()[name]


def parse_body(text: str) -> exp.Expr:
    """Return the body of a macro as a syntax tree, prepared for other engines.

    Output columns that are qualified with the name of their table get aliases (see _name_columns).
    CASE x WHEN y becomes CASE WHEN x = y, because a later step can evaluate x = y if x is an
    option.
    """
    return _parse(text).copy()


@functools.cache
def _parse(text: str) -> exp.Expr:
    """Return the cached syntax tree, which parse_body copies for each call."""
    body = sqlglot.parse_one(text, dialect="duckdb").unnest()
    _describe_ctes(body)
    for node in body.find_all(exp.Case):
        _write_conditions(node)
    for function in body.find_all(exp.Lambda):
        _name_parameters(function)
    for select in list(body.find_all(exp.Select)):
        _name_columns(select)
    return rewrite_tree(body, _name_element)


def _describe_ctes(body: exp.Expr) -> None:
    """Store in the meta of each CTE what it holds, in place: its comment, or that of its macro."""
    if isinstance(body, exp.Query) and body.ctes:
        body.ctes[0].args["alias"].add_comments(body.args["with_"].pop_comments())
        for cte in body.ctes:
            calls = (table.this for table in cte.this.find_all(exp.Table))
            called = [macro_comments().get(call.name, "") for call in calls]
            text = " ".join(cte.args["alias"].comments or called)
            cte.meta[HOLDS] = _FIRST_CLAUSE.sub(r"\1.", text.strip())
    for node in body.walk():
        node.pop_comments()


# The first clause of a comment, and everything after it.
_FIRST_CLAUSE = re.compile(r"^(.*?)[.:;](?:\s.*)?$", re.DOTALL)


def _write_conditions(node: exp.Case) -> None:
    """Rewrite CASE x WHEN y as CASE WHEN x = y, in place."""
    if node.this:
        for branch in node.args["ifs"]:
            branch.set("this", exp.EQ(this=node.this.copy(), expression=branch.this))
        node.set("this", None)


def _name_parameters(function: exp.Lambda) -> None:
    """Replace the parameters of a lambda with columns in its body, in place."""
    names = {parameter.name for parameter in function.expressions}
    for node in list(function.this.find_all(exp.Identifier)):
        if node.name in names and not isinstance(node.parent, exp.Column):
            node.replace(exp.column(node.name))


def _name_element(node: exp.Expr) -> exp.Expr | None:
    """Return list_element(x, i) for x[i]; in sqlglot's tree, a literal i is counted from 0."""
    if not isinstance(node, exp.Bracket) or node.expressions[0].is_string:
        return None
    (place,) = node.expressions
    if isinstance(place, exp.Slice):
        return None
    if isinstance(place, exp.Literal):
        place = exp.Literal.number(int(place.name) + 1)
    values = [rewrite_tree(value, _name_element) for value in (node.this, place)]
    return exp.Anonymous(this="list_element", expressions=values)


def _name_columns(select: exp.Select) -> None:
    """Rewrite output columns t.x as t.x AS x, in place: engines name t.x differently."""
    for column in select.expressions:
        if isinstance(column, exp.Column) and column.table and column.name != "*":
            column.replace(exp.alias_(column.copy(), column.name))
