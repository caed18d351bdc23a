"""Steps of ``to_sql`` that expand ``*`` into columns and remove columns that are never read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

from .arguments import unknown_choice_text
from .folding import fold_conditions
from .rows import drop_unread_joins, find_groups
from .trees import nested_queries, selects_of, sources_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from .rows import Groups


def drop_outputs(query: exp.Select, names: Collection[str]) -> exp.Select:
    """Remove the output columns listed in `names` from the query."""
    query.set("expressions", [e for e in query.expressions if e.alias_or_name not in names])
    return query


def keep_outputs(query: exp.Select, names: Sequence[str]) -> exp.Select:
    """Keep only the output columns in `names`, in this order. The query must not contain ``*``."""
    columns = {column.alias_or_name: column for column in query.expressions}
    for name in names:
        if name not in columns:
            raise ClusterEvalError(unknown_choice_text("metrics", name, columns))
    query.set("expressions", [columns[name] for name in names])
    return query


def keep_first_branch(query: exp.Select, prefix: str) -> exp.Select:
    """Keep only the first branch of the UNION ALL in each CTE whose name starts with `prefix`."""
    for cte in query.ctes:
        if cte.alias.startswith(prefix) and isinstance(cte.this, exp.Union):
            cte.set("this", cte.this.left.unnest())
    return query


# Stars


def name_outputs(query: exp.Select) -> exp.Select:
    """Replace SELECT *, t.* and * EXCLUDE with the columns that they represent.

    All branches of a UNION ALL get the column names of the first branch, so that a later step can
    remove any branch.
    """
    known: dict[str, list[str]] = {}
    for cte in query.ctes:
        known[cte.alias] = _name_outputs(cte.this, known)
    _name_outputs(query, known)
    return query


def _name_outputs(query: exp.Expr, known: dict[str, list[str]]) -> list[str]:
    """Replace each ``*``, in place, and return the output names, as `known` has by CTE."""
    first: list[str] = []
    for select in selects_of(query):
        names = _name_columns_of(select, known)
        first = first or names
        if first is not names:
            columns = zip(select.expressions, first, strict=True)
            select.set("expressions", [exp.alias_(x.unalias().copy(), name) for x, name in columns])
    return first


def _name_columns_of(select: exp.Select, known: dict[str, list[str]]) -> list[str]:
    """Replace each ``*`` of one SELECT, in place, and return the names of its columns."""
    sources = {
        source.alias_or_name: _name_outputs(source, known)
        if isinstance(source, exp.Subquery)
        else known.get(source.name, [])
        for source in sources_of(select)
    }
    columns: list[exp.Expr] = []
    for column in select.expressions:
        columns.extend(_star_columns(column, sources) if column.is_star else [column])
    select.set("expressions", columns)
    return [column.alias_or_name for column in columns]


def _star_columns(star: exp.Expr, sources: dict[str, list[str]]) -> list[exp.Expr]:
    """Return the columns of t.*, or for a plain ``*``, those of all sources."""
    inner = star.this if isinstance(star, exp.Column) else star
    left_out = {column.name for column in inner.args.get("except_") or ()}
    table = star.table if isinstance(star, exp.Column) else ""
    qualify = len(sources) > 1
    return [
        exp.alias_(exp.column(name, table=source if qualify else None), name)
        for source, names in sources.items()
        if not table or source == table
        for name in names
        if name not in left_out
    ]


# Columns and CTEs that are never read


def prune(query: exp.Select) -> exp.Select:
    """Remove the columns and CTEs that are never read.

    This step also removes joins that are known to change nothing, and branches of UNION ALL and
    joined CTEs that are known to have no rows. The query must not contain ``*`` (see name_outputs).
    """
    _drop_empty_sources(query)
    groups = find_groups(query)
    needed: dict[str, set[str]] = {}
    _note_needs(query, needed, groups)
    kept = []
    for cte in reversed(query.ctes):
        if cte.alias in needed:
            _keep_columns(cte.this, needed[cte.alias])
            _note_needs(cte.this, needed, groups)
            kept.append(cte)
    query.set("with_", exp.With(expressions=kept[::-1]) if kept else None)
    return query


def _note_needs(query: exp.Expr, needed: dict[str, set[str]], groups: Mapping[str, Groups]) -> None:
    """Add what a query may read to `needed`, by CTE; joins that change nothing go first."""
    for select in _all_selects_of(query):
        drop_unread_joins(select, groups)
        for source in sources_of(select):
            names = _names_read(select, source.alias_or_name)
            if isinstance(source, exp.Subquery):
                _keep_columns(source.this, names)
                _note_needs(source.this, needed, groups)
            else:
                needed.setdefault(source.name, set()).update(names)


def _all_selects_of(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs of a query, including subqueries in expressions but not in FROM."""
    for select in selects_of(query):
        yield select
        for nested in nested_queries(select):
            yield from _all_selects_of(nested)


def _names_read(select: exp.Select, source: str) -> set[str]:
    """Return the columns that a SELECT itself, without FROM and WITH, may read from one source."""
    others = {id(part) for part in sources_of(select) if isinstance(part, exp.Subquery)}
    own = select.walk(prune=lambda node: isinstance(node, exp.With) or id(node) in others)
    columns = (node for node in own if isinstance(node, exp.Column))
    return {column.name for column in columns if column.table in ("", source)}


def _keep_columns(query: exp.Query, names: set[str]) -> None:
    """Remove the output columns of a query that are not in `names`, but keep at least one."""
    places = [i for i, name in enumerate(query.named_selects) if name in names] or [0]
    for select in selects_of(query):
        select.set("expressions", [select.expressions[i] for i in places])


# Sources without rows


def _drop_empty_sources(query: exp.Select) -> None:
    """Remove UNION ALL branches that have no rows, and LEFT JOINs with CTEs that have no rows."""
    empty: set[str] = set()
    for part in (*query.ctes, query):
        for union in reversed(list(part.find_all(exp.Union))):
            _drop_empty_branch(union, empty)
        for select in part.find_all(exp.Select):
            _drop_empty_joins(select, empty)
        if isinstance(part, exp.CTE) and _has_no_rows(part.this, empty):
            empty.add(part.alias)


def _drop_empty_branch(union: exp.Union, empty: set[str]) -> None:
    """Remove one side of a UNION ALL if it has no rows, in place."""
    for branch, other in ((union.left, union.right), (union.right, union.left)):
        if _has_no_rows(branch, empty):
            union.replace(other.unnest())
            return


def _drop_empty_joins(select: exp.Select, empty: set[str]) -> None:
    """Remove LEFT JOINs with CTEs that have no rows, and replace the CTEs' columns with NULL."""
    joins = select.args.get("joins") or []
    dropped = {
        join.this.alias_or_name
        for join in joins
        if join.side == "LEFT" and isinstance(join.this, exp.Table) and join.this.name in empty
    }
    if not dropped:
        return
    select.set("joins", [join for join in joins if join.this.alias_or_name not in dropped])
    for column in list(select.find_all(exp.Column)):
        if column.table in dropped:
            column.replace(exp.null())
    fold_conditions(select)


def _has_no_rows(query: exp.Expr, empty: set[str]) -> bool:
    """Return whether a query is known to have no rows, given the names of the empty CTEs."""
    return all(_selects_nothing(select, empty) for select in selects_of(query))


def _selects_nothing(select: exp.Select, empty: set[str]) -> bool:
    """Return whether a SELECT has no rows; an aggregate without GROUP BY always has one."""
    where, having = select.args.get("where"), select.args.get("having")
    if having is not None and having.this == exp.false():
        return True
    if select.find(exp.AggFunc) is not None and not select.args.get("group"):
        return False
    parts = [select.args.get("from_"), *(select.args.get("joins") or ())]
    return (where is not None and where.this == exp.false()) or any(
        isinstance(part.this, exp.Table) and part.this.name in empty
        for part in parts
        if part is not None and not part.args.get("side")  # FROM, and a JOIN that must match
    )
