"""Evaluation of expressions that contain only literals, so that options select macro branches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Callable


def fold_query(query: exp.Select) -> exp.Select:
    """Evaluate all conditions on literals in the query."""
    fold_conditions(query)
    return query


def fold_conditions(node: exp.Expr) -> exp.Expr:
    """Return the tree with conditions on literals replaced by their values.

    The tree is processed from the bottom up. Functions are also evaluated if their arguments are
    string literals. A cast of NULL to a list, and a list function applied to NULL, become NULL.
    """
    for child in list(node.iter_expressions()):
        folded = fold_conditions(child)
        if folded is not child:
            child.replace(folded)
    fold = _FOLDS.get(type(node))
    return node if fold is None else fold(node)


def _fold_paren(node: exp.Paren) -> exp.Expr:
    """Remove the parentheses around a literal."""
    return node.this if isinstance(node.this, exp.Boolean | exp.Literal | exp.Null) else node


def _fold_not(node: exp.Not) -> exp.Expr:
    """Evaluate NOT TRUE and NOT FALSE."""
    return exp.convert(not node.this.this) if isinstance(node.this, exp.Boolean) else node


def _fold_comparison(node: exp.EQ | exp.NEQ) -> exp.Expr:
    """Evaluate = or <> between two strings or two numbers."""
    sides = (node.left, node.right)
    if all(isinstance(side, exp.Literal) and side.is_string for side in sides):
        same = node.left.name == node.right.name
    elif all(isinstance(side, exp.Literal) and side.is_number for side in sides):
        same = float(node.left.name) == float(node.right.name)
    else:
        return node
    return exp.convert(same is isinstance(node, exp.EQ))


def _fold_in(node: exp.In) -> exp.Expr:
    """Evaluate IN for a string and a list of strings."""
    values = [node.this, *node.expressions]
    if all(isinstance(value, exp.Literal) and value.is_string for value in values):
        return exp.convert(node.this.name in {value.name for value in node.expressions})
    return node


def _fold_is(node: exp.Is) -> exp.Expr:
    """Evaluate IS NULL if the operand is NULL, another literal, or a list of expressions."""
    if isinstance(node.expression, exp.Null):
        if isinstance(node.this, exp.Null):
            return exp.true()
        if isinstance(node.this, exp.Literal | exp.Boolean | exp.Array):
            return exp.false()
    return node


def _fold_lower(node: exp.Lower) -> exp.Expr:
    """Evaluate lower() for a string literal."""
    text = node.this
    return exp.Literal.string(text.name.lower()) if text.is_string else node


def _fold_concat(node: exp.Concat) -> exp.Expr:
    """Evaluate concat() of strings."""
    parts = [part.this if isinstance(part, exp.Coalesce) else part for part in node.expressions]
    if all(part.is_string for part in parts):
        return exp.Literal.string("".join(part.name for part in parts))
    return node


def _fold_null(node: exp.Expr) -> exp.Expr:
    """Return NULL for a function applied to NULL, and return any other call unchanged."""
    return exp.null() if isinstance(node.this, exp.Null) else node


def _fold_list_element(node: exp.Anonymous) -> exp.Expr:
    """Return NULL for an element of a NULL list, and return any other call unchanged."""
    of_null = node.name == "list_element" and isinstance(node.expressions[0], exp.Null)
    return exp.null() if of_null else node


def _fold_list_cast(node: exp.Cast) -> exp.Expr:
    """Return NULL for a cast of NULL to a list, because the final query has no lists."""
    return _fold_null(node) if node.to.is_type(exp.DType.ARRAY) else node


def _fold_coalesce(node: exp.Coalesce) -> exp.Expr:
    """Remove NULLs from COALESCE, or return its first argument if that is always the result."""
    values: list[exp.Expr] = [
        value for value in (node.this, *node.expressions) if not isinstance(value, exp.Null)
    ]
    if not values:
        return exp.null()
    if len(values) == 1 or isinstance(values[0], exp.Literal | exp.Boolean):
        return values[0]
    node.set("this", values[0])
    node.set("expressions", values[1:])
    return node


def _fold_connector(node: exp.And | exp.Or) -> exp.Expr:
    """Simplify AND or OR if one of its operands is TRUE or FALSE."""
    for part, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(part, exp.Boolean):
            return part if part.this is isinstance(node, exp.Or) else other
    return node


def _fold_case(node: exp.Case) -> exp.Expr:
    """Remove the branches of CASE that have a FALSE condition or follow a TRUE condition."""
    if node.this:
        return node
    kept, default = [], node.args.get("default")
    for branch in node.args["ifs"]:
        if isinstance(branch.this, exp.Boolean):
            if branch.this.this:
                default = branch.args["true"]
                break
        else:
            kept.append(branch)
    if not kept:
        return default or exp.null()
    node.set("ifs", kept)
    node.set("default", default)
    return node


# Type of node -> the function that returns its value if the value is known without any row.
_FOLDS: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.Paren: _fold_paren,
    exp.Not: _fold_not,
    exp.And: _fold_connector,
    exp.Or: _fold_connector,
    exp.EQ: _fold_comparison,
    exp.NEQ: _fold_comparison,
    exp.In: _fold_in,
    exp.Is: _fold_is,
    exp.Lower: _fold_lower,
    exp.Concat: _fold_concat,
    exp.Cast: _fold_list_cast,
    **dict.fromkeys((exp.Transform, exp.Max, exp.Min, exp.Sum), _fold_null),
    exp.Anonymous: _fold_list_element,
    exp.Coalesce: _fold_coalesce,
    exp.Case: _fold_case,
}
