"""A step of ``to_sql`` that writes each function in the form that the engine requires."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

from .engines import ENGINES
from .trees import fill_columns, rewrite_tree

if TYPE_CHECKING:
    from .engines import Engine

# The largest DOUBLE. Infinity is above it, and so is NaN in engines that can compare NaN.
_GREATEST_DOUBLE = "1.7976931348623157e308"

# Functions that sqlglot has a class for.
_CLASSES: dict[type[exp.Expr], str] = {
    exp.Median: "median",
    exp.VariancePop: "var_pop",
    exp.Atanh: "atanh",
}

# Functions that have the same name in all engines, except in engines with a form.
_SHARED = ("var_pop", "atanh")

# Functions that an engine without a form does not have.
_SPECIAL = {name for engine in ENGINES.values() for name in engine.functions}.difference(_SHARED)

# Column with the least key of a group.
_LEAST_KEY = "__ce_least_key"


def write_functions(query: exp.Select, engine: Engine) -> exp.Select:
    """Write each function that differs between engines in the form that `engine` requires.

    Raise an error for a function whose form in the engine is not known.
    """

    def write(node: exp.Expr) -> exp.Expr | None:
        """Return a function call in the form that the engine requires, or None for other nodes."""
        is_named = isinstance(node, exp.Anonymous)
        name = node.name if is_named else _CLASSES.get(type(node), "")
        arguments = node.expressions if is_named else [node.this]
        if name == "isfinite":
            size = exp.Abs(this=rewrite_tree(arguments[0], write))
            return exp.paren(exp.LTE(this=size, expression=exp.Literal.number(_GREATEST_DOUBLE)))
        if name not in engine.functions and name not in _SPECIAL:
            return None
        return _form(name, [rewrite_tree(value, write) for value in arguments], engine)

    if "value_at_least_key" not in engine.functions:
        _write_least_keys(query)
    rewrite_tree(query, write)
    return query


def _write_least_keys(query: exp.Select) -> None:
    """Rewrite value_at_least_key(value, key, condition), in place, for all engines.

    A window finds the smallest key of each group. Its SELECT has one source and a GROUP BY.
    """
    for call in list(query.find_all(exp.Anonymous)):
        select = call.find_ancestor(exp.Select)
        if call.name != "value_at_least_key" or select is None:
            continue
        value, key, condition = call.expressions
        source, groups = select.args["from_"].this, select.args["group"].expressions
        read = {column.name: None for column in select.find_all(exp.Column)}
        least = exp.Window(
            this=exp.Min(this=exp.Case().when(condition, key.copy())),
            partition_by=[x.copy() for x in groups if not isinstance(x, exp.Null)],
        )
        keyed = exp.select(*map(exp.column, read), exp.alias_(least, _LEAST_KEY)).from_(source)
        select.set("from_", exp.From(this=keyed.subquery(source.alias_or_name)))
        at_least = exp.and_(condition.copy(), exp.EQ(this=key, expression=exp.column(_LEAST_KEY)))
        call.replace(exp.Min(this=exp.Case().when(at_least, value)))


def _form(function: str, arguments: list[exp.Expr], engine: Engine) -> exp.Expr:
    """Return a function call in the form for `engine`, or raise an error if there is none."""
    if function not in engine.functions:
        known = sorted(other.name for other in ENGINES.values() if function in other.functions)
        raise ClusterEvalError(
            f"{function}: cannot be written in {engine.name}; "
            f"it can be written in {', '.join(known)}"
        )
    names = [f"__ce_argument_{i}" for i in range(len(arguments))]
    form = sqlglot.parse_one(engine.functions[function].format(*names), dialect=engine.parser)
    if isinstance(form, exp.Atanh):  # ClickHouse knows the name in lower case alone
        form = exp.Anonymous(this=function, expressions=[form.this])
    for node in form.walk():
        node.meta["native"] = True  # see portable.refuse_unportable
    return fill_columns(form, dict(zip(names, arguments, strict=True)))
