"""Queries that mean the same in every SQL dialect: rewriting of syntax trees for ``to_sql``.

Engines differ in the type of an untyped NULL and of the number 1.0, in whether CASE evaluates the
branches that it does not take, and in what they accept in GROUP BY and FROM. The functions here
write a query so that none of this matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Callable

# sqlglot's names of the functions that all engines share. LOG is not among them: its base differs.
_PORTABLE_FUNCTIONS = frozenset(
    (
        *("And", "Case", "Cast", "Coalesce", "Greatest", "If", "Least", "Nullif", "Or"),
        *("Abs", "Array", "Atan2", "Atanh", "Exp", "Floor", "Ln", "Pow", "Sqrt"),
        *("Count", "Max", "Min", "RowNumber", "Sum", "VariancePop"),
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
    fold_conditions(query)
    _drop_empty_branches(query)
    _type_nulls(query)
    _guard_divisions(query)
    _number_conditions(query)
    _type_fractions(query)
    _order_row_numbers(query)
    _separate_distinctions(query)
    for group in query.find_all(exp.Group):
        group.set("expressions", [key for key in group.expressions if key.find(exp.Column)])
    sources = [node for node in query.find_all(exp.Subquery) if _is_source(node)]
    for number, source in enumerate(node for node in sources if not node.alias):
        source.set("alias", exp.TableAlias(this=exp.to_identifier(f"__ce_source_{number}")))
    _quote_aliases(query)


def _separate_distinctions(query: exp.Expr) -> None:
    """Put parentheses around IS [NOT] DISTINCT FROM: in DataFusion, AND and OR bind tighter."""
    for node in list(query.find_all(exp.NullSafeEQ, exp.NullSafeNEQ)):
        if isinstance(node.parent, exp.Connector | exp.Not):
            node.replace(exp.paren(node.copy()))


def _quote_aliases(query: exp.Expr) -> None:
    """Quote the aliases of tables: some, such as cluster, are words of an engine's grammar."""
    for alias in query.find_all(exp.TableAlias):
        if not isinstance(alias.parent, exp.CTE):
            alias.this.set("quoted", True)
    for column in query.find_all(exp.Column):
        if column.table:
            column.args["table"].set("quoted", True)


def quote_clusters(query: exp.Expr) -> None:
    """Quote the columns named cluster, in place: after a comma, DataFusion reads CLUSTER BY."""
    for column in query.find_all(exp.Column):
        if column.name == "cluster":
            column.this.set("quoted", True)


def drop_parentheses(query: exp.Expr) -> None:
    """Drop redundant parentheses of a query, in place: parsers limit the depth of nesting."""
    for paren in list(query.find_all(exp.Paren)):
        inner, outer = paren.this, paren.parent
        operator = isinstance(inner, exp.Binary | exp.Unary | exp.Predicate)
        operator = operator and not isinstance(inner, exp.Paren)  # which is unary in sqlglot
        if isinstance(outer, exp.Bracket):
            continue
        is_operand = operator and isinstance(outer, exp.Binary | exp.Unary | exp.Predicate)
        if not is_operand or _needs_none(paren):
            paren.replace(inner)


def _needs_none(paren: exp.Paren) -> bool:
    """Return whether an operator in parentheses needs none before another one: (a * b) + c."""
    inner, outer = paren.this, paren.parent
    if outer is None or paren is not outer.this:
        return False
    ranks = [_RANKS.get(type(node), 0) for node in (inner, outer)]
    return min(ranks) > 0 and ranks[0] >= ranks[1]


# Operators that are evaluated from left to right -> how tightly they bind.
_RANKS: dict[type[exp.Expr], int] = {exp.Add: 1, exp.Sub: 1, exp.Mul: 2, exp.Div: 2}


def refuse_unportable(query: exp.Expr, dialect: str) -> None:
    """Raise an error if a query has a function that may differ in meaning between dialects.

    Only the functions in _PORTABLE_FUNCTIONS are accepted, and those that functions.write_functions
    has written for the dialect. `dialect` is the user's name of the target, for the error.
    """
    for node in query.walk():
        known = type(node).__name__ in _PORTABLE_FUNCTIONS or node.meta.get("native")
        if isinstance(node, exp.Func) and not known:
            what = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            raise ClusterEvalError(
                f"{what}: not known to mean the same in {dialect}, so the query is refused"
            )


def _is_source(node: exp.Expr) -> bool:
    """Return whether a subquery stands in FROM or JOIN, where Postgres 15 wants an alias."""
    return isinstance(node.parent, exp.From | exp.Join)


def fold_conditions(node: exp.Expr) -> exp.Expr:
    """Return the tree with conditions on literals replaced by their values, from the bottom up.

    So are functions of text literals, and NULL in a cast or a list function is NULL.
    """
    for child in list(node.iter_expressions()):
        folded = fold_conditions(child)
        if folded is not child:
            child.replace(folded)
    fold = _FOLDS.get(type(node))
    return node if fold is None else fold(node)


def _fold_paren(node: exp.Paren) -> exp.Expr:
    """Return a literal without its parentheses."""
    return node.this if isinstance(node.this, exp.Boolean | exp.Literal | exp.Null) else node


def _fold_not(node: exp.Not) -> exp.Expr:
    """Return the value of NOT TRUE and NOT FALSE."""
    return exp.convert(not node.this.this) if isinstance(node.this, exp.Boolean) else node


def _fold_comparison(node: exp.EQ | exp.NEQ) -> exp.Expr:
    """Return the value of = or <> between two texts or two numbers."""
    sides = (node.left, node.right)
    if all(isinstance(side, exp.Literal) and side.is_string for side in sides):
        same = node.left.name == node.right.name
    elif all(isinstance(side, exp.Literal) and side.is_number for side in sides):
        same = float(node.left.name) == float(node.right.name)
    else:
        return node
    return exp.convert(same is isinstance(node, exp.EQ))


def _fold_in(node: exp.In) -> exp.Expr:
    """Return the value of IN for a text among texts."""
    values = [node.this, *node.expressions]
    if all(isinstance(value, exp.Literal) and value.is_string for value in values):
        return exp.convert(node.this.name in {value.name for value in node.expressions})
    return node


def _fold_is(node: exp.Is) -> exp.Expr:
    """Return the value of IS NULL for a literal, a list of expressions or NULL."""
    if isinstance(node.expression, exp.Null):
        if isinstance(node.this, exp.Null):
            return exp.true()
        if isinstance(node.this, exp.Literal | exp.Boolean | exp.Array):
            return exp.false()
    return node


def _fold_lower(node: exp.Lower) -> exp.Expr:
    """Return the value of lower() for a text."""
    text = node.this
    return exp.Literal.string(text.name.lower()) if text.is_string else node


def _fold_concat(node: exp.Concat) -> exp.Expr:
    """Return the value of concat() for texts."""
    parts = [part.this if isinstance(part, exp.Coalesce) else part for part in node.expressions]
    if all(part.is_string for part in parts):
        return exp.Literal.string("".join(part.name for part in parts))
    return node


def _fold_null(node: exp.Expr) -> exp.Expr:
    """Return NULL for a function of NULL alone, and other calls as they are."""
    return exp.null() if isinstance(node.this, exp.Null) else node


def _fold_list_element(node: exp.Anonymous) -> exp.Expr:
    """Return NULL for the element of NULL, and other calls as they are."""
    of_null = node.name == "list_element" and isinstance(node.expressions[0], exp.Null)
    return exp.null() if of_null else node


def _fold_list_cast(node: exp.Cast) -> exp.Expr:
    """Return NULL for NULL that is cast to a list: no list is left in the end."""
    return _fold_null(node) if node.to.is_type(exp.DType.ARRAY) else node


def _fold_coalesce(node: exp.Coalesce) -> exp.Expr:
    """Return COALESCE without NULLs; its first argument, if that is a literal or the only one."""
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
    """Return AND or OR without an operand that is TRUE or FALSE."""
    for part, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(part, exp.Boolean):
            return part if part.this is isinstance(node, exp.Or) else other
    return node


def _fold_case(node: exp.Case) -> exp.Expr:
    """Return CASE without branches whose condition is FALSE, or after one that is TRUE."""
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


# Type of node -> the function that returns its value, where that is known without any row.
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


def _drop_empty_branches(query: exp.Expr) -> None:
    """Drop the branches of UNION ALL without rows, and WHERE, HAVING and FILTER that are TRUE."""
    for first, *others in _find_unions(query):
        for branch in others:  # whichever is left names the columns
            for column, name in zip(list(branch.expressions), first.named_selects, strict=True):
                column.replace(exp.alias_(column.unalias().copy(), name))
    for union in reversed(list(query.find_all(exp.Union))):
        for branch, other in ((union.this, union.expression), (union.expression, union.this)):
            if _is_empty(branch):
                union.replace(other.unnest())
                break
    for select in query.find_all(exp.Select):
        _write_constant_row(select)
    for clause in list(query.find_all(exp.Where, exp.Having)):
        if clause.this == exp.true():
            _drop_clause(clause)


def _drop_clause(clause: exp.Expr) -> None:
    """Drop WHERE or HAVING, or the FILTER that a WHERE is in, in place."""
    outer = clause.parent
    if isinstance(outer, exp.Filter):
        outer.replace(outer.this)
    else:
        clause.pop()


def _write_constant_row(select: exp.Select) -> None:
    """Write a SELECT of aggregates over no rows, in place, without the table: it has one row.

    Aggregates of no rows are NULL, and counts 0.
    """
    where, having = select.args.get("where"), select.args.get("having")
    if where is None or where.this != exp.false() or select.args.get("group"):
        return
    if having is None and select.find(exp.AggFunc) is None:
        return
    for aggregate in list(select.find_all(exp.AggFunc)):
        is_count = isinstance(aggregate, exp.Count)
        aggregate.replace(exp.Literal.number(0) if is_count else exp.null())
    for clause in ("from_", "joins", "where"):
        select.set(clause, None)


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


def _number_conditions(query: exp.Expr) -> None:
    """Write the cast of a condition to DOUBLE as CASE: Postgres knows no such cast."""
    for cast in list(query.find_all(exp.Cast)):
        if isinstance(cast.this.unnest(), exp.Predicate) and cast.to.is_type(exp.DType.DOUBLE):
            cast.replace(exp.Case().when(cast.this, "1.0").else_("0.0"))


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
