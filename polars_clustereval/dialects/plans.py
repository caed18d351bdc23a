"""``to_sql`` steps that rewrite queries so that engines can plan and run them efficiently.

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
    """Replace each condition (SELECT COUNT(*) ...) >= 0 with TRUE.

    In the macros, this condition ensures that the data checks stay in the query plan. Queries for
    other engines omit these checks.
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
    """Replace partition keys with NULL, and comparisons of partition keys with TRUE.

    Use this step for queries without partition_by, in which all partition keys are NULL. Without
    the keys, engines do not join on or group by a constant, and they can tell that a table with one
    row per partition has only one row.
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
    """Replace each comparison of two partition numbers with TRUE.

    Use this step if all partition numbers are equal. Without this step, Postgres and ClickHouse
    would hash the numbers, and all rows would have the same hash. A nested loop is faster.
    """
    for node in list(query.find_all(exp.EQ)):
        sides = (node.left, node.right)
        if all(isinstance(x, exp.Column) and x.name == PARTITION_NO for x in sides):
            node.replace(exp.true())
    return query


def equate_clusters(query: exp.Select) -> exp.Select:
    """Compare clusters with = instead of IS NOT DISTINCT FROM.

    Use this step only if no cell has a NULL cluster. A NULL cluster marks noise rows that count as
    singletons.
    """
    for node in _find_comparisons(query, CLUSTER):
        node.replace(exp.EQ(this=node.left, expression=node.right))
    return query


def _find_comparisons(query: exp.Select, column: str) -> list[exp.NullSafeEQ]:
    """Return the IS NOT DISTINCT FROM comparisons between two columns named `column`."""
    return [
        node
        for node in query.find_all(exp.NullSafeEQ)
        if all(isinstance(x, exp.Column) and x.name == column for x in (node.left, node.right))
    ]


def hash_comparisons(query: exp.Select) -> exp.Select:
    """Add an array comparison with = to each IS NOT DISTINCT FROM comparison.

    Postgres can use hashing or sorting only for comparisons with =. For arrays, {NULL} = {NULL} is
    TRUE, so comparing arrays matches the same rows. The original condition is kept, because an
    array of arrays does not distinguish NULL from an empty array.
    """
    for node in list(query.find_all(exp.NullSafeEQ)):
        sides = (exp.Array(expressions=[side.copy()]) for side in (node.left, node.right))
        equal = exp.EQ(this=next(sides), expression=next(sides))
        node.replace(exp.paren(exp.and_(equal, node.copy())))
    return query


def materialize_shared(query: exp.Select) -> exp.Select:
    """Mark each CTE that is read more than once as MATERIALIZED.

    A CTE that is marked as NOT MATERIALIZED for DuckDB is left unmarked.
    """
    names = [table.name for table in query.find_all(exp.Table)]
    for cte in query.ctes:
        streams = cte.args.get("materialized") is False
        cte.set("materialized", (names.count(cte.alias) > 1 and not streams) or None)
    return query


def materialize_all(query: exp.Select) -> exp.Select:
    """Mark every CTE as MATERIALIZED.

    If a CTE is read only once and is not marked, Postgres replaces each of its columns with the
    expression that computes the column. In a chain of CTEs, these expressions would grow
    exponentially.
    """
    for cte in query.ctes:
        cte.set("materialized", True)
    return query


def materialize_or_stream(query: exp.Select) -> exp.Select:
    """Let a CTE stream if it is read only once and by a SELECT without joins.

    All other CTEs are marked as MATERIALIZED, because Postgres might otherwise recompute a joined
    CTE for every row of the other table. A CTE with one row for each pair of clusters should
    stream, because Postgres would write it to a file if it were materialized.
    """
    alone = _tables_read_alone(query)
    materialize_all(query)
    _stream_ctes([cte for cte in _ctes_read_once(query) if cte.alias in alone])
    return query


def materialize_shared_or_stream(query: exp.Select) -> exp.Select:
    """Mark shared CTEs and joined groups as MATERIALIZED, and let all other CTEs stream.

    Postgres assumes that the number of groups is one tenth of the number of rows, so it might join
    the groups with a nested loop. If the groups are in a temporary table, Postgres knows how many
    there are.
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
    """Return the names of the tables that are read by a SELECT without joins."""
    return {
        select.args["from_"].this.name
        for select in query.find_all(exp.Select)
        if select.args.get("from_") and not select.args.get("joins")
    }


def _ctes_read_once(query: exp.Select) -> list[exp.CTE]:
    """Return the CTEs of a query that are read exactly once."""
    counts = Counter(table.name for table in query.find_all(exp.Table))
    return [cte for cte in query.ctes if counts[cte.alias] == 1]


def _stream_ctes(ctes: Iterable[exp.CTE]) -> None:
    """Mark CTEs with OFFSET 0, in place, so that Postgres neither stores nor inlines them.

    Each expression of a CTE is then computed once, even if the reading query uses it twice.
    """
    for cte in ctes:
        cte.set("materialized", None)
        cte.this.set("offset", exp.Offset(expression=exp.Literal.number(0)))


def unmark_ctes(query: exp.Select) -> exp.Select:
    """Remove the keywords MATERIALIZED and NOT MATERIALIZED from all CTEs."""
    for cte in query.ctes:
        cte.set("materialized", None)
    return query
