"""``to_sql`` steps that give a query the same meaning in every SQL dialect.

Engines differ in the types that they assign to a bare NULL and to the number 1.0, in whether they
evaluate CASE branches that are not taken, and in what they accept in GROUP BY and FROM. The steps
in this module rewrite a query so that these differences do not matter.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

from .trees import selects_of, sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# sqlglot's names of the functions that all engines share. LOG is not among them: its base differs.
_PORTABLE_FUNCTIONS = frozenset(
    (
        *("And", "Case", "Cast", "Coalesce", "Greatest", "If", "Least", "Nullif", "Or"),
        *("Abs", "Array", "Atan2", "Atanh", "Exp", "Floor", "Ln", "Pow", "Sqrt"),
        *("Count", "Max", "Min", "RowNumber", "Sum", "VariancePop"),
    )
)


def write_constant_rows(query: exp.Select) -> exp.Select:
    """Replace aggregates over zero rows with constants, and drop the tables that they read.

    A SELECT that aggregates zero rows returns a single row, in which counts are 0 and other
    aggregates are NULL.
    """
    for select in query.find_all(exp.Select):
        where, having = select.args.get("where"), select.args.get("having")
        if where is None or where.this != exp.false() or select.args.get("group"):
            continue
        if having is None and select.find(exp.AggFunc) is None:
            continue
        for aggregate in list(select.find_all(exp.AggFunc)):
            is_count = isinstance(aggregate, exp.Count)
            aggregate.replace(exp.Literal.number(0) if is_count else exp.null())
        for clause in ("from_", "joins", "where"):
            select.set(clause, None)
    return query


def drop_true_clauses(query: exp.Select) -> exp.Select:
    """Remove WHERE, HAVING, FILTER and inner-join ON clauses whose condition is TRUE."""
    for select in query.find_all(exp.Select):
        for clause in ("where", "having"):
            if select.args.get(clause) and select.args[clause].this == exp.true():
                select.set(clause, None)
    for node in list(query.find_all(exp.Filter)):
        if node.expression.this == exp.true():
            node.replace(node.this)
    for join in query.find_all(exp.Join):
        if join.args.get("on") == exp.true() and not (join.side or join.kind):
            join.set("on", None)
            join.set("kind", "CROSS")
    return query


def type_nulls(query: exp.Select) -> exp.Select:
    """Assign a type to columns that are NULL in every branch of a UNION ALL.

    Any other NULL gets its type from another branch of UNION ALL or CASE.
    """
    for selects in _find_unions(query):
        for column in zip(*(select.expressions for select in selects), strict=True):
            values = [value.unalias() for value in column]
            if all(isinstance(value, exp.Null) for value in values):
                for value in values:
                    value.replace(exp.cast(exp.null(), "VARCHAR"))
    return query


def _find_unions(query: exp.Expr) -> Iterator[list[exp.Select]]:
    """Yield the branches of each UNION ALL as a list, and other SELECTs as one-element lists."""
    found: set[int] = set()
    for node in list(query.find_all(exp.Union, exp.Select, bfs=False)):
        branches = [select for select in selects_of(node) if id(select) not in found]
        found.update(map(id, branches))
        if branches:
            yield branches


def guard_divisions(query: exp.Select) -> exp.Select:
    """Make each division inside CASE divide by NULL instead of by 0.

    This guard is necessary because some engines also evaluate the branches of CASE that are not
    taken. The macros omit the guard, because DuckDB does not need it and would produce reports a
    tenth more slowly. A divisor that contains a division is left unchanged, because the divisor is
    NULL if the inner division is NULL.
    """
    for case in query.find_all(exp.Case):
        for node in case.walk(prune=lambda node: isinstance(node, exp.Query)):
            divisor = node.expression if isinstance(node, exp.Div) else None
            if divisor is None or isinstance(divisor.unnest(), exp.Literal | exp.Nullif):
                continue
            if not divisor.find(exp.Div):
                zero = exp.Literal.number(0)
                node.set("expression", exp.Nullif(this=divisor, expression=zero))
    return query


def number_conditions(query: exp.Select) -> exp.Select:
    """Replace each cast of a condition to DOUBLE with a CASE expression.

    Postgres cannot cast a condition to DOUBLE.
    """
    for cast in list(query.find_all(exp.Cast)):
        if isinstance(cast.this.unnest(), exp.Predicate) and cast.to.is_type(exp.DType.DOUBLE):
            cast.replace(exp.Case().when(cast.this, "1.0").else_("0.0"))
    return query


def type_fractions(query: exp.Select) -> exp.Select:
    """Cast literals with a decimal point or an exponent to DOUBLE.

    Some engines read such literals as DECIMAL.
    """
    for number in list(query.find_all(exp.Literal)):
        if number.is_number and not number.is_int and not isinstance(number.parent, exp.Cast):
            number.replace(exp.cast(number.copy(), "DOUBLE"))
    return query


def order_row_numbers(query: exp.Select) -> exp.Select:
    """Give every row_number() an ORDER BY clause, which Spark requires.

    If the macro specifies no order, the rows are ordered by a constant. The numbers then only
    distinguish rows, because they need not follow the order of the table.
    """
    for window in query.find_all(exp.Window):
        if isinstance(window.this, exp.RowNumber) and not window.args.get("order"):
            constant = exp.cast(exp.null(), "INT")
            window.set("order", exp.Order(expressions=[exp.Ordered(this=constant)]))
    return query


def separate_distinctions(query: exp.Select) -> exp.Select:
    """Put parentheses around IS [NOT] DISTINCT FROM.

    In DataFusion, AND and OR bind more tightly than IS [NOT] DISTINCT FROM.
    """
    for node in list(query.find_all(exp.NullSafeEQ, exp.NullSafeNEQ)):
        if isinstance(node.parent, exp.Connector | exp.Not):
            node.replace(exp.paren(node.copy()))
    return query


def drop_constant_keys(query: exp.Select) -> exp.Select:
    """Remove constants from GROUP BY.

    If no keys are left, GROUP BY becomes HAVING COUNT(*) > 0, so that an empty input still yields
    no groups.
    """
    for select in query.find_all(exp.Select):
        group = select.args.get("group")
        if group is None:
            continue
        keys = [key for key in group.expressions if key.find(exp.Column)]
        group.set("expressions", keys)
        if not keys:
            select.set("group", None)
            select.having(
                exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0)),
                copy=False,
            )
    return query


def alias_sources(query: exp.Select) -> exp.Select:
    """Give an alias to each subquery in FROM and JOIN, as Postgres 15 requires."""
    numbers = count()
    for select in query.find_all(exp.Select):
        for source in sources_of(select):
            if isinstance(source, exp.Subquery) and not source.alias:
                name = exp.to_identifier(f"__ce_source_{next(numbers)}")
                source.set("alias", exp.TableAlias(this=name))
    return query


def drop_parentheses(query: exp.Select) -> exp.Select:
    """Remove redundant parentheses from the query.

    This step is necessary because parsers limit the depth of nesting.
    """
    for paren in list(query.find_all(exp.Paren)):
        inner, outer = paren.this, paren.parent
        operator = isinstance(inner, exp.Binary | exp.Unary | exp.Predicate)
        operator = operator and not isinstance(inner, exp.Paren)  # which is unary in sqlglot
        if isinstance(outer, exp.Bracket):
            continue
        is_operand = operator and isinstance(outer, exp.Binary | exp.Unary | exp.Predicate)
        if not is_operand or _needs_none(paren):
            paren.replace(inner)
    return query


def _needs_none(paren: exp.Paren) -> bool:
    """Return whether the parentheses around an operation are redundant, as in (a * b) + c."""
    inner, outer = paren.this, paren.parent
    if outer is None or paren is not outer.this:
        return False
    ranks = [_RANKS.get(type(node), 0) for node in (inner, outer)]
    return min(ranks) > 0 and ranks[0] >= ranks[1]


# Operators that are evaluated from left to right -> how tightly they bind.
_RANKS: dict[type[exp.Expr], int] = {exp.Add: 1, exp.Sub: 1, exp.Mul: 2, exp.Div: 2}


def drop_order(query: exp.Select) -> exp.Select:
    """Remove the ORDER BY clause from the final SELECT of the query."""
    query.set("order", None)
    return query


def order_rows(query: exp.Select, names: Sequence[str]) -> exp.Select:
    """Sort the rows of the query by the columns in `names` unless the macro already sorts them."""
    if query.args.get("order") or not names:
        return query
    return query.order_by(
        *(exp.Ordered(this=exp.column(name), nulls_first=False) for name in names)
    )


def refuse_unportable(query: exp.Select, dialect: str) -> exp.Select:
    """Raise an error for a function whose meaning may differ between dialects.

    A function is allowed if it is in _PORTABLE_FUNCTIONS, or if functions.write_functions has
    translated it into the dialect. If all functions are allowed, the query is returned unchanged.
    """
    for node in query.walk():
        known = type(node).__name__ in _PORTABLE_FUNCTIONS or node.meta.get("native")
        if isinstance(node, exp.Func) and not known:
            what = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            raise ClusterEvalError(
                f"{what}: may have a different meaning in {dialect}, so no query is written"
            )
    return query
