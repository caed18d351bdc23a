"""Functions that each engine has in a form of its own: rewriting of syntax trees for ``to_sql``."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

from .portable import rewrite_tree

# The greatest DOUBLE. NaN is above it wherever it can be compared, as infinity is.
_GREATEST_DOUBLE = "1.7976931348623157e308"

# Name of a function -> dialect -> how it is written there, {0}, {1}, … for its arguments.
# value_at_least_key is the aggregate _value_at_least_key(value, key, condition) of
# sql/base/exact.sql. ClickHouse tells the case of most names apart.
_FORMS = {
    "value_at_least_key": {
        "duckdb": "(min({{'key': {1}, 'value': {0}}}) FILTER (WHERE {2}))['value']",
        "spark": "min_by({0}, struct({1}, {0})) FILTER (WHERE {2})",
        "postgres": "(array_agg({0} ORDER BY {1}, {0}) FILTER (WHERE {2}))[1]",
        "datafusion": "first_value({0} ORDER BY {1}, {0}) FILTER (WHERE {2})",
        # In a tuple, a NULL is not passed over.
        "clickhouse": "tupleElement(argMinIf(tuple(toNullable({0})), ({1}, {0}), {2}), 1)",
    },
    "median": {
        "duckdb": "median({0})",
        "spark": "median({0})",
        "postgres": "percentile_cont(0.5) WITHIN GROUP (ORDER BY {0})",
        "datafusion": "percentile_cont(0.5) WITHIN GROUP (ORDER BY {0})",
        "clickhouse": "quantileExactInclusive(0.5)({0})",
    },
    # An error for the vector {0}, whose coordinate at the place {1} is the first wrong one.
    "not_finite_error": {
        "spark": "CAST(raise_error(concat('vector: expected finite numbers, got ', "
        "coalesce(CAST(element_at({0}, {1}) AS STRING), 'NULL'), ' in coordinate ', "
        "CAST({1} AS STRING), '; mend such rows or leave them out')) AS INT)",
    },
    "var_pop": {"clickhouse": "varPopStable({0})"},
    "atanh": {"clickhouse": "atanh({0})"},
}

# Functions that have one name in all dialects but those with a form.
_SHARED = ("var_pop", "atanh")


def write_functions(query: exp.Expr, dialect: str, parser: str) -> None:
    """Write the functions of `query` that differ between engines as `dialect` has them, in place.

    `parser` is sqlglot's name of the dialect. Raises an error for a dialect whose form of a
    function is not known.
    """

    def write(node: exp.Expr) -> exp.Expr | None:
        """Return the form of a function in the dialect, None for other nodes."""
        name, arguments = _name_and_arguments(node)
        if name == "isfinite":
            size = exp.Abs(this=rewrite_tree(arguments[0], write))
            return exp.paren(exp.LTE(this=size, expression=exp.Literal.number(_GREATEST_DOUBLE)))
        if name not in _FORMS or (name in _SHARED and dialect not in _FORMS[name]):
            return None
        return _form(name, [rewrite_tree(value, write) for value in arguments], dialect, parser)

    rewrite_tree(query, write)


def _name_and_arguments(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    """Return the name in _FORMS of a function, and its arguments; an empty name for other nodes."""
    if isinstance(node, exp.Anonymous):
        return node.name, node.expressions
    names: dict[type[exp.Expr], str] = {
        exp.Median: "median",
        exp.VariancePop: "var_pop",
        exp.Atanh: "atanh",
    }
    return names.get(type(node), ""), [node.this]


def _form(function: str, arguments: list[exp.Expr], dialect: str, parser: str) -> exp.Expr:
    """Return a call of a function, written as `dialect` has it."""
    forms = _FORMS[function]
    if dialect not in forms:
        raise ClusterEvalError(
            f"{function}: not known how to write it in {dialect}, so the query is refused; "
            f"known in {', '.join(sorted(forms))}"
        )
    names = [f"__ce_argument_{i}" for i in range(len(arguments))]
    form = sqlglot.parse_one(forms[dialect].format(*names), dialect=parser)
    if isinstance(form, exp.Atanh):  # ClickHouse knows the name in lower case alone
        form = exp.Anonymous(this=function, expressions=[form.this])
    for node in form.walk():
        node.meta["native"] = True  # see portable.refuse_unportable
    values = dict(zip(names, arguments, strict=True))
    return rewrite_tree(form, lambda node: _argument(node, values))


def _argument(node: exp.Expr, values: dict[str, exp.Expr]) -> exp.Expr | None:
    """Return the argument that a column of a form stands for, None for other nodes."""
    if isinstance(node, exp.Column) and node.name in values:
        value = values[node.name].copy()
        return value if isinstance(value, exp.Column) else exp.paren(value)
    return None
