"""Bodies of the macros of ``sql/`` as syntax trees, as DuckDB returns their text."""

from __future__ import annotations

import functools

import sqlglot
from sqlglot import exp

from polars_clustereval.macros import macro_definitions

from .pair_bodies import PAIR_MACROS
from .sql_names import PLAIN_BODIES
from .trees import rewrite_tree


def parse_macro(name: str) -> exp.Expr:
    """Return the syntax tree of the body of the macro `name`; see parse_body."""
    return parse_body(PLAIN_BODIES.get(name) or _find_macro(name)[1])


def macro_parameters(name: str) -> list[str]:
    """Return the names of the parameters of the macro `name`, in their order."""
    return _find_macro(name)[0]


def _find_macro(name: str) -> tuple[list[str], str]:
    """Return the parameters and the body of a macro, which may exist only for other engines."""
    return PAIR_MACROS.get(name) or macro_definitions()[name]


def parse_body(text: str) -> exp.Expr:
    """Return the syntax tree of the body of a macro, prepared for other engines.

    Qualified output columns get aliases (_name_columns). CASE x WHEN y becomes CASE WHEN x = y,
    because x = y can be decided if x is an option.
    """
    return _parse(text).copy()


@functools.cache
def _parse(text: str) -> exp.Expr:
    """Return the tree of parse_body, which is the same object for all calls."""
    body = sqlglot.parse_one(text, dialect="duckdb").unnest()
    for node in body.find_all(exp.Case):
        _write_conditions(node)
    for function in body.find_all(exp.Lambda):
        _name_parameters(function)
    for select in list(body.find_all(exp.Select)):
        _name_columns(select)
    return rewrite_tree(body, _name_element)


def _write_conditions(node: exp.Case) -> None:
    """Write CASE x WHEN y as CASE WHEN x = y, in place."""
    if node.this:
        for branch in node.args["ifs"]:
            branch.set("this", exp.EQ(this=node.this.copy(), expression=branch.this))
        node.set("this", None)


def _name_parameters(function: exp.Lambda) -> None:
    """Write the parameters of a lambda as columns in its body, in place, like other names."""
    names = {parameter.name for parameter in function.expressions}
    for node in list(function.this.find_all(exp.Identifier)):
        if node.name in names and not isinstance(node.parent, exp.Column):
            node.replace(exp.column(node.name))


def _name_element(node: exp.Expr) -> exp.Expr | None:
    """Return list_element(x, i) for x[i], i from 1; None for other nodes.

    sqlglot counts from 0 if i is a literal, and from 1 otherwise.
    """
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
    """Add an alias to each output column of a SELECT that is written with its table, as t.x AS x.

    Without an alias, engines differ in the name of such a column.
    """
    for column in select.expressions:
        if isinstance(column, exp.Column) and column.table and column.name != "*":
            column.replace(exp.alias_(column.copy(), column.name))
