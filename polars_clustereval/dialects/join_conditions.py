"""Conditions of the queries of ``to_sql`` in forms that engines evaluate fast.

An engine that cannot hash a join condition compares all pairs of rows.
"""

from __future__ import annotations

from sqlglot import exp


def drop_partition_conditions(query: exp.Expr) -> None:
    """Replace each comparison of two partition keys by TRUE, in place.

    It is for queries without partition_by, where all keys are NULL.
    """
    for node in _find_comparisons(query, "partition_key"):
        node.replace(exp.true())


def drop_partition_order(query: exp.Expr) -> None:
    """Leave partition keys out of each ORDER BY with other keys, in place.

    It is for queries without partition_by, where all keys are NULL. DataFusion 55 refuses some
    plans that sort by a constant.
    """
    for order in query.find_all(exp.Order):
        others = [key for key in order.expressions if key.this.name != "partition_key"]
        order.set("expressions", others or order.expressions)


def equate_clusters(query: exp.Expr) -> None:
    """Compare clusters by = in place of IS NOT DISTINCT FROM, in place.

    It is for queries in which no cell has the cluster NULL, that of noise rows as singletons.
    """
    for node in _find_comparisons(query, "cluster"):
        node.replace(exp.EQ(this=node.left, expression=node.right))


def hash_comparisons(query: exp.Expr) -> None:
    """Add an equality of arrays to each IS NOT DISTINCT FROM, in place, for Postgres.

    Postgres can hash or sort only for =, and {NULL} = {NULL} is TRUE of arrays. The original
    condition stays: an array of arrays does not tell NULL from an empty one.
    """
    for node in list(query.find_all(exp.NullSafeEQ)):
        sides = (exp.Array(expressions=[side.copy()]) for side in (node.left, node.right))
        equal = exp.EQ(this=next(sides), expression=next(sides))
        node.replace(exp.paren(exp.and_(equal, node.copy())))


def _find_comparisons(query: exp.Expr, column: str) -> list[exp.NullSafeEQ]:
    """Return the comparisons of two columns of the name `column` by IS NOT DISTINCT FROM."""
    return [
        node
        for node in query.find_all(exp.NullSafeEQ)
        if all(isinstance(x, exp.Column) and x.name == column for x in (node.left, node.right))
    ]


def drop_row_count_checks(query: exp.Expr) -> None:
    """Replace (SELECT COUNT(*) ...) >= 0 by TRUE, in place.

    In the macros it keeps the checks of the data in the plan, which other engines do not have.
    """
    for node in list(query.find_all(exp.GTE)):
        counted = node.left.unnest()
        if (
            isinstance(counted, exp.Select)
            and isinstance(counted.expressions[0], exp.Count)
            and node.right == exp.Literal.number(0)
        ):
            node.replace(exp.true())
