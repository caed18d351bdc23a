"""A ``to_sql`` step that removes joins that do not affect the result of a SELECT.

A join to a CTE or a subquery with grouped rows is removed if the join does not change the rows of
the SELECT and its columns are never read. Anything that is needed only for these columns is removed
as well.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from .trees import selects_of, sources_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Groups(NamedTuple):
    """What is known about how the rows of a CTE are grouped.

    No two rows have the same values in the `keys` columns. If there are no keys, the CTE has one
    row. If the CTE has exactly one row for each group of a table, and the table is grouped by
    columns with the same names as the keys, `table` is the name of that table.
    """

    keys: frozenset[str]
    table: str | None = None


def find_groups(query: exp.Select) -> dict[str, Groups]:
    """Return a mapping from CTE names to Groups, for the CTEs whose groups are known."""
    found: dict[str, Groups] = {}
    for cte in query.ctes:
        groups = _groups_of(cte.this, found)
        if groups is not None:
            found[cte.alias] = groups
    return found


def _groups_of(query: exp.Expr, known: Mapping[str, Groups]) -> Groups | None:
    """Return the Groups of a query's rows, or None if the grouping is unknown."""
    select, *others = selects_of(query)
    if others or select.find(exp.Explode):
        return None
    sources = sources_of(select)
    if select.args.get("group"):
        given = [key for key in select.args["group"].expressions if key.find(exp.Column)]
        keys = _outputs_of(select, given)
        return None if keys is None else Groups(keys, _grouped_table(select, sources))
    if any(column.find(exp.AggFunc) and not column.find(exp.Window) for column in select.selects):
        return Groups(frozenset())
    if len(sources) != 1:
        return None
    (source,) = sources
    is_query = isinstance(source, exp.Subquery)
    inner = _groups_of(source.this, known) if is_query else known.get(source.name)
    keys = inner and _outputs_of(select, [exp.column(name) for name in inner.keys])
    if inner is None or keys is None:
        return None
    is_whole = keys == inner.keys and select.args.get("where") is None
    return Groups(keys, inner.table if is_whole else None)


def _outputs_of(select: exp.Select, keys: Sequence[exp.Expr]) -> frozenset[str] | None:
    """Return the names of the output columns for `keys`, or None if a key is not in the output."""
    names = {_write_key(column.unalias()): column.alias_or_name for column in select.expressions}
    texts = [_write_key(key) for key in keys]
    return frozenset(names[text] for text in texts) if names.keys() >= {*texts} else None


def _write_key(value: exp.Expr) -> str:
    """Return the SQL text of an expression, or just the name if the expression is a column."""
    return value.name if isinstance(value, exp.Column) else value.sql()


def _grouped_table(select: exp.Select, sources: Sequence[exp.Expr]) -> str | None:
    """Return the one table all rows of which a SELECT groups by columns of its output, or None."""
    is_partial = select.args.get("where") or select.args.get("having")
    if is_partial or len(sources) != 1 or not isinstance(sources[0], exp.Table):
        return None
    outputs = {column.alias_or_name: column.unalias() for column in select.expressions}
    keys = [key for key in select.args["group"].expressions if key.find(exp.Column)]
    keep = all(isinstance(key, exp.Column) and outputs.get(key.name) == key for key in keys)
    return sources[0].name if keep else None


def drop_unread_joins(select: exp.Select, known: Mapping[str, Groups]) -> None:
    """Remove joins that change no rows and whose columns are not read, in place."""
    # The last join comes first, because its condition may be the only place where another join is
    # read.
    for join in reversed(select.args.get("joins") or []):
        if _changes_nothing(join, select, known):
            select.set("joins", [other for other in select.args["joins"] if other is not join])


def _changes_nothing(join: exp.Join, select: exp.Select, known: Mapping[str, Groups]) -> bool:
    """Return whether a join can be removed because it changes no rows and is not read elsewhere."""
    source, condition = join.this, join.args.get("on")
    is_query = isinstance(source, exp.Subquery)
    groups = _groups_of(source.this, known) if is_query else known.get(source.name)
    if groups is None or condition is None:
        return False
    name = source.alias_or_name
    inside = {id(node) for node in condition.walk()}
    # A query that is joined cannot read the columns of another.
    own_nodes = select.walk(prune=lambda node: isinstance(node, exp.With) or _is_source(node))
    read = (x for x in own_nodes if isinstance(x, exp.Column) and id(x) not in inside)
    if any(column.table in ("", name) for column in read):
        return False
    pairs = list(_equated_columns(condition, name))
    if not groups.keys <= {own.name for own, _ in pairs}:
        return False
    if join.side == "LEFT":
        return True
    # Each row of a table is in one of the groups of the table. If a key may be NULL, the macros
    # compare by IS NOT DISTINCT FROM.
    tables = {x.alias_or_name: x.name for x in sources_of(select) if isinstance(x, exp.Table)}
    return (
        not (join.side or join.kind)
        and groups.table is not None
        and groups.keys == {own.name for own, _ in pairs}
        and len(pairs) == len(list(_parts_of(condition)))
        and all(
            own.name == other.name and tables.get(other.table) == groups.table
            for own, other in pairs
        )
    )


def _is_source(node: exp.Expr) -> bool:
    """Return whether a node is a query whose rows a SELECT reads."""
    return isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join)


def _equated_columns(condition: exp.Expr, table: str) -> Iterator[tuple[exp.Column, exp.Column]]:
    """Yield the pairs of columns that a condition equates, with the column of `table` first."""
    for part in _parts_of(condition):
        sides = (part.left, part.right) if isinstance(part, exp.EQ | exp.NullSafeEQ) else ()
        columns = [side for side in sides if isinstance(side, exp.Column)]
        for own, other in itertools.permutations(columns, 2):
            if own.table == table != other.table:
                yield own, other


def _parts_of(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a condition that are combined by AND."""
    whole = condition.unnest()
    if isinstance(whole, exp.And):
        for side in (whole.left, whole.right):
            yield from _parts_of(side)
    else:
        yield whole
