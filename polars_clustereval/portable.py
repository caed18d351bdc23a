"""Queries that mean the same in every SQL dialect: rewriting of syntax trees for ``to_sql``.

Engines differ in the type of an untyped NULL and of the number 1.0, in whether CASE evaluates the
branches that it does not take, and in what they accept in GROUP BY and FROM. The functions here
write a query so that none of this matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from .errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Callable

# sqlglot's names of the functions that all engines share. LOG is not among them: its base differs.
_PORTABLE_FUNCTIONS = frozenset(
    (
        *("And", "Case", "Cast", "Coalesce", "Greatest", "If", "Least", "Nullif", "Or"),
        *("Abs", "Atanh", "Exp", "Floor", "Ln", "Sqrt"),
        *("Count", "Max", "Min", "RowNumber", "Sum"),
    )
)


def rewrite_tree(root: exp.Expr, replacement: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """Return the tree with nodes replaced from the top down.

    `replacement` returns what replaces a node, or None to keep the node and go on with its
    children. A replacement is not searched again.
    """
    new = replacement(root)
    if new is not None:
        return new
    for child in list(root.iter_expressions()):
        changed = rewrite_tree(child, replacement)
        if changed is not child:
            child.replace(changed)
    return root


def make_portable(query: exp.Select) -> None:
    """Rewrite a query in place so that all engines read it alike."""
    _fold_conditions(query)
    _drop_empty_branches(query)
    _type_nulls(query)
    _guard_divisions(query)
    _type_fractions(query)
    _order_row_numbers(query)
    for group in query.find_all(exp.Group):
        group.set("expressions", [key for key in group.expressions if key.find(exp.Column)])
    sources = [node for node in query.find_all(exp.Subquery) if _is_source(node)]
    for number, source in enumerate(node for node in sources if not node.alias):
        source.set("alias", exp.TableAlias(this=exp.to_identifier(f"__ce_source_{number}")))


def drop_parentheses(query: exp.Expr) -> None:
    """Drop redundant parentheses of a query, in place: parsers limit the depth of nesting."""
    for paren in list(query.find_all(exp.Paren)):
        inner, outer = paren.this, paren.parent
        operator = isinstance(inner, exp.Binary | exp.Unary | exp.Predicate)
        if not operator or not isinstance(outer, exp.Binary | exp.Unary | exp.Predicate):
            paren.replace(inner)


def refuse_unportable(query: exp.Expr, dialect: str) -> None:
    """Raise an error if a query has a function that may differ in meaning between dialects.

    Only the functions in _PORTABLE_FUNCTIONS are accepted. `dialect` is the user's name of the
    target, for the error.
    """
    for node in query.walk():
        if isinstance(node, exp.Func) and type(node).__name__ not in _PORTABLE_FUNCTIONS:
            what = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            raise ClusterEvalError(
                f"{what}: not known to mean the same in {dialect}, so the query is refused"
            )


def _is_source(node: exp.Expr) -> bool:
    """Return whether a subquery stands in FROM or JOIN, where Postgres 15 wants an alias."""
    return isinstance(node.parent, exp.From | exp.Join)


def _fold_conditions(node: exp.Expr) -> exp.Expr:
    """Return the tree with conditions on literals replaced by their values, from the bottom up."""
    for child in list(node.iter_expressions()):
        folded = _fold_conditions(child)
        if folded is not child:
            child.replace(folded)
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.Boolean):
        return node.this
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Boolean):
        return exp.convert(not node.this.this)
    if isinstance(node, exp.And | exp.Or):
        return _fold_connector(node)
    if isinstance(node, exp.EQ) and node.left.is_string and node.right.is_string:
        return exp.convert(node.left.name == node.right.name)
    if isinstance(node, exp.Case) and not node.this:
        return _fold_case(node)
    return node


def _fold_connector(node: exp.And | exp.Or) -> exp.Expr:
    """Return AND or OR without an operand that is TRUE or FALSE."""
    for part, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(part, exp.Boolean):
            return part if part.this is isinstance(node, exp.Or) else other
    return node


def _fold_case(node: exp.Case) -> exp.Expr:
    """Return CASE without branches whose condition is FALSE, or after one that is TRUE."""
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


def _drop_empty_branches(query: exp.Expr) -> None:
    """Drop the branches of UNION ALL without rows, and WHERE and HAVING that are TRUE."""
    for first, *others in _find_unions(query):
        for branch in others:  # whichever is left names the columns
            for column, name in zip(list(branch.expressions), first.named_selects, strict=True):
                column.replace(exp.alias_(column.unalias().copy(), name))
    for union in reversed(list(query.find_all(exp.Union))):
        for branch, other in ((union.this, union.expression), (union.expression, union.this)):
            if _is_empty(branch):
                union.replace(other.unnest())
                break
    for clause in list(query.find_all(exp.Where, exp.Having)):
        if clause.this == exp.true():
            clause.pop()


def _is_empty(branch: exp.Expr) -> bool:
    """Return whether a SELECT has no rows by a condition that is FALSE.

    Without GROUP BY an aggregate has a row even of no rows.
    """
    select = branch.unnest()
    if not isinstance(select, exp.Select):
        return False
    where, having = select.args.get("where"), select.args.get("having")
    aggregates = select.find(exp.AggFunc) is not None and not select.args.get("group")
    return (having is not None and having.this == exp.false()) or (
        where is not None and where.this == exp.false() and not aggregates
    )


def _type_nulls(query: exp.Expr) -> None:
    """Cast the output columns that are NULL in every branch of UNION ALL, which have no type.

    Elsewhere a NULL takes its type from another branch of UNION ALL or CASE.
    """
    for selects in _find_unions(query):
        for column in zip(*(select.expressions for select in selects), strict=True):
            values = [value.unalias() for value in column]
            if all(isinstance(value, exp.Null) for value in values):
                for value in values:
                    value.replace(exp.cast(exp.null(), "VARCHAR"))


def _find_unions(query: exp.Expr) -> list[list[exp.Select]]:
    """Return the branches of each UNION ALL in their order, and each SELECT outside of one."""
    branches: dict[int, list[exp.Select]] = {}
    for select in query.find_all(exp.Select, bfs=False):
        branches.setdefault(id(_union_of(select)), []).append(select)
    return list(branches.values())


def _union_of(select: exp.Select) -> exp.Expr:
    """Return the outermost UNION ALL that a SELECT is a branch of, or the SELECT itself."""
    union: exp.Expr = select
    while isinstance(union.parent, exp.Union) or (
        isinstance(union.parent, exp.Subquery) and not _is_source(union.parent)
    ):
        union = union.parent
    return union


def _guard_divisions(query: exp.Expr) -> None:
    """Divide by NULL in place of 0 inside CASE: some engines evaluate the branches not taken too.

    Not so in DuckDB, where the guard would make the report a tenth slower, so it is no part of
    the macros. A divisor that contains a division is left as it is: it is NULL with the inner one.
    """
    for division in query.find_all(exp.Div):
        divisor = division.expression
        guarded = isinstance(divisor.unnest(), exp.Literal | exp.Nullif) or divisor.find(exp.Div)
        if not guarded and isinstance(division.find_ancestor(exp.Case, exp.Select), exp.Case):
            division.set("expression", exp.Nullif(this=divisor, expression=exp.Literal.number(0)))


def _type_fractions(query: exp.Expr) -> None:
    """Cast numbers with a point or an exponent to DOUBLE: in some engines they are DECIMAL."""
    for number in list(query.find_all(exp.Literal)):
        if number.is_number and not number.is_int and not isinstance(number.parent, exp.Cast):
            number.replace(exp.cast(number.copy(), "DOUBLE"))


def _order_row_numbers(query: exp.Expr) -> None:
    """Order the numbers of rows by a constant where they have no order, which Spark refuses."""
    for window in query.find_all(exp.Window):
        if isinstance(window.this, exp.RowNumber) and not window.args.get("order"):
            constant = exp.cast(exp.null(), "INT")
            window.set("order", exp.Order(expressions=[exp.Ordered(this=constant)]))
