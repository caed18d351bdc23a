"""Steps of ``to_sql`` that write queries in forms that engines plan and evaluate well.

For example, an engine that cannot hash a join condition compares all pairs of rows.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sqlglot import exp

from .sql_names import CLUSTER, PARTITION, PARTITION_NO

if TYPE_CHECKING:
    from collections.abc import Iterable


def drop_row_count_checks(query: exp.Select) -> exp.Select:
    """Return a query with TRUE for each (SELECT COUNT(*) ...) >= 0.

    In the macros, this condition keeps the checks of the data in the plan. The queries for other
    engines do not have these checks.
    """
    for node in list(query.find_all(exp.GTE)):
        counted = node.left.unnest()
        if (
            isinstance(counted, exp.Select)
            and isinstance(counted.expressions[0], exp.Count)
            and node.right == exp.Literal.number(0)
        ):
            node.replace(exp.true())
    return query


def drop_partitions(query: exp.Select) -> exp.Select:
    """Return a query with NULL instead of partition keys, and TRUE instead of their comparisons.

    Use this step for queries without partition_by, in which all keys are NULL. Without the keys,
    engines neither join nor group by a constant, and know that a table with one row per partition
    has a single row.
    """
    for node in _find_comparisons(query, PARTITION):
        node.replace(exp.true())
    for order in list(query.find_all(exp.Order)):
        others = [key for key in order.expressions if key.this.name != PARTITION]
        order.set("expressions", others)
        if not others:
            order.pop()
    for window in query.find_all(exp.Window):
        keys = window.args.get("partition_by") or ()
        window.set("partition_by", [key for key in keys if key.name != PARTITION])
    for column in list(query.find_all(exp.Column)):
        if column.name == PARTITION:
            is_output = isinstance(column.parent, exp.Select)
            column.replace(exp.alias_(exp.null(), PARTITION) if is_output else exp.null())
    return query


def drop_partition_numbers(query: exp.Select) -> exp.Select:
    """Return a query with TRUE instead of each comparison of two partition numbers.

    Use this step if all partition numbers are equal. Postgres and ClickHouse would hash the
    numbers, and find all rows under the same hash. A nested loop is faster.
    """
    for node in list(query.find_all(exp.EQ)):
        sides = (node.left, node.right)
        if all(isinstance(x, exp.Column) and x.name == PARTITION_NO for x in sides):
            node.replace(exp.true())
    return query


def equate_clusters(query: exp.Select) -> exp.Select:
    """Return a query that compares clusters by = instead of IS NOT DISTINCT FROM.

    Use this step for queries in which no cell has the cluster NULL, which marks noise rows that
    count as singletons.
    """
    for node in _find_comparisons(query, CLUSTER):
        node.replace(exp.EQ(this=node.left, expression=node.right))
    return query


def _find_comparisons(query: exp.Select, column: str) -> list[exp.NullSafeEQ]:
    """Return the comparisons by IS NOT DISTINCT FROM of two columns that are named `column`."""
    return [
        node
        for node in query.find_all(exp.NullSafeEQ)
        if all(isinstance(x, exp.Column) and x.name == column for x in (node.left, node.right))
    ]


def hash_comparisons(query: exp.Select) -> exp.Select:
    """Return a query with an equality of arrays next to each IS NOT DISTINCT FROM.

    Postgres can use hashing or sorting only for comparisons by =. For arrays, {NULL} = {NULL} is
    TRUE, so the comparison of arrays finds the same rows. The original condition is kept, because
    an array of arrays does not distinguish NULL from an empty array.
    """
    for node in list(query.find_all(exp.NullSafeEQ)):
        sides = (exp.Array(expressions=[side.copy()]) for side in (node.left, node.right))
        equal = exp.EQ(this=next(sides), expression=next(sides))
        node.replace(exp.paren(exp.and_(equal, node.copy())))
    return query


def materialize_shared(query: exp.Select) -> exp.Select:
    """Return a query in which a CTE that is read more than once is MATERIALIZED.

    A CTE that also streams in DuckDB is not marked.
    """
    names = [table.name for table in query.find_all(exp.Table)]
    for cte in query.ctes:
        streams = cte.args.get("materialized") is False
        cte.set("materialized", (names.count(cte.alias) > 1 and not streams) or None)
    return query


def materialize_all(query: exp.Select) -> exp.Select:
    """Return a query in which every CTE is MATERIALIZED.

    If a CTE is read only once and not marked, Postgres replaces each use of a column of the CTE by
    the expression of the column. In a chain of CTEs, the expressions would grow exponentially.
    """
    for cte in query.ctes:
        cte.set("materialized", True)
    return query


def materialize_or_stream(query: exp.Select) -> exp.Select:
    """Return a query in which a CTE streams if it is read once, by a SELECT without joins.

    All other CTEs are MATERIALIZED, because in a join, Postgres might compute a CTE again for every
    row of the other side. A CTE with one row for each pair of clusters should stream, because
    Postgres would write it to a file if it were materialized.
    """
    alone = _tables_read_alone(query)
    materialize_all(query)
    _stream_ctes([cte for cte in _ctes_read_once(query) if cte.alias in alone])
    return query


def materialize_shared_or_stream(query: exp.Select) -> exp.Select:
    """Return a query whose CTEs stream, except that shared CTEs and joined groups are MATERIALIZED.

    Postgres expects a tenth as many groups as rows, and might therefore join groups by nested
    loops. For a temporary table, Postgres knows the number of rows.
    """
    materialize_shared(query)
    alone = _tables_read_alone(query)
    once = _ctes_read_once(query)
    groups = [cte for cte in once if cte.this.args.get("group") and cte.alias not in alone]
    for cte in groups:
        cte.set("materialized", True)
    _stream_ctes([cte for cte in once if cte not in groups])
    return query


def _tables_read_alone(query: exp.Select) -> set[str]:
    """Return the names of the tables that a SELECT without joins reads."""
    return {
        select.args["from_"].this.name
        for select in query.find_all(exp.Select)
        if select.args.get("from_") and not select.args.get("joins")
    }


def _ctes_read_once(query: exp.Select) -> list[exp.CTE]:
    """Return the CTEs of a query that are read in one place."""
    counts = Counter(table.name for table in query.find_all(exp.Table))
    return [cte for cte in query.ctes if counts[cte.alias] == 1]


def _stream_ctes(ctes: Iterable[exp.CTE]) -> None:
    """Mark CTEs, in place, so that Postgres neither stores their rows nor inlines them.

    OFFSET 0 ensures that an expression is computed only once even if the query that reads the CTE
    uses it twice.
    """
    for cte in ctes:
        cte.set("materialized", None)
        cte.this.set("offset", exp.Offset(expression=exp.Literal.number(0)))


def unmark_ctes(query: exp.Select) -> exp.Select:
    """Return a query whose CTEs are not marked as MATERIALIZED or NOT MATERIALIZED."""
    for cte in query.ctes:
        cte.set("materialized", None)
    return query
