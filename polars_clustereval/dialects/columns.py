"""The columns of the queries inside a query: rewriting of syntax trees for ``to_sql``.

Stars are written out, and columns and tables that nothing depends on are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from .portable import fold_conditions

if TYPE_CHECKING:
    from collections.abc import Iterable


def sources_of(select: exp.Select) -> list[exp.Expr]:
    """Return the tables and subqueries that a SELECT reads, in their order."""
    source = select.args.get("from_")
    joins = select.args.get("joins") or ()
    return [part.this for part in (source, *joins) if part is not None]


def source_name(source: exp.Expr) -> str:
    """Return the name by which the columns of a table or subquery are qualified."""
    name: str = source.alias_or_name
    return name


def name_outputs(query: exp.Select) -> None:
    """Write the columns of each star in a query out, in place: SELECT *, t.*, * EXCLUDE (…)."""
    known: dict[str, list[str]] = {}
    for cte in query.ctes:
        known[cte.alias] = _name_outputs(cte.this, known)
    _name_outputs(query, known)


def _name_outputs(query: exp.Expr, known: dict[str, list[str]]) -> list[str]:
    """Write stars out, and return the names of the output columns.

    `known` has those of the CTEs before.
    """
    if isinstance(query, exp.Subquery):
        return _name_outputs(query.this, known)
    if isinstance(query, exp.Union):
        names = _name_outputs(query.left, known)
        _name_outputs(query.right, known)
        return names
    if not isinstance(query, exp.Select):
        return []
    sources = {}
    for source in sources_of(query):
        if isinstance(source, exp.Subquery):
            sources[source_name(source)] = _name_outputs(source.this, known)
        else:
            sources[source_name(source)] = known.get(source.name, [])
    columns: list[exp.Expr] = []
    for column in query.expressions:
        columns.extend(_star_columns(column, sources) if column.is_star else [column])
    query.set("expressions", columns)
    return [column.alias_or_name for column in columns]


def _star_columns(star: exp.Expr, sources: dict[str, list[str]]) -> list[exp.Expr]:
    """Return the columns that a star stands for, of all sources or of the one it names."""
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


def keep_first_branch(query: exp.Select, prefix: str) -> None:
    """Leave out all but the first branch of the UNION ALL in the CTE whose name begins so."""
    for cte in query.ctes:
        if cte.alias.startswith(prefix) and isinstance(cte.this, exp.Union):
            cte.set("this", cte.this.left.unnest())


def prune(query: exp.Select) -> None:
    """Leave out what a query computes and does not read, in place.

    That is: columns and CTEs that nothing reads, and joins and branches of UNION ALL with CTEs that
    are known to have no rows.
    """
    _drop_empty_sources(query)
    needed: dict[str, set[str]] = {}
    _note_needs(query, needed)
    kept = []
    for cte in reversed(query.ctes):
        if cte.alias in needed:
            _keep_columns(cte.this, needed[cte.alias])
            _note_needs(cte.this, needed)
            kept.append(cte)
    if kept:
        query.set("with_", exp.With(expressions=kept[::-1]))


def _note_needs(query: exp.Expr, needed: dict[str, set[str]]) -> None:
    """Add to `needed`, by CTE, the names of its columns that a query may read."""
    for select in _selects_of(query):
        for source in sources_of(select):
            names = _names_read(select, source_name(source))
            if isinstance(source, exp.Subquery):
                _keep_columns(source.this, names)
                _note_needs(source.this, needed)
            else:
                needed.setdefault(source.name, set()).update(names)


def nested_queries(select: exp.Select) -> Iterable[exp.Query]:
    """Return the queries inside the expressions of a SELECT: scalar subqueries."""
    sources = {id(source) for source in sources_of(select)}
    with_ = select.args.get("with_")
    for nested in select.find_all(exp.Subquery):
        is_own = id(nested) not in sources and nested.find_ancestor(exp.Select) is select
        if is_own and (with_ is None or not _is_inside(nested, with_)):
            yield nested.this


def _selects_of(query: exp.Expr) -> Iterable[exp.Select]:
    """Return the SELECTs of a query: branches of UNION ALL, and subqueries in expressions."""
    if isinstance(query, exp.Subquery):
        yield from _selects_of(query.this)
    elif isinstance(query, exp.Union):
        yield from _selects_of(query.left)
        yield from _selects_of(query.right)
    elif isinstance(query, exp.Select):
        yield query
        for nested in nested_queries(query):
            yield from _selects_of(nested)


def _names_read(select: exp.Select, source: str) -> set[str]:
    """Return the names of the columns that a SELECT itself may read from one of its sources.

    What the queries in FROM and WITH read is not its own.
    """
    inner = [part for part in sources_of(select) if isinstance(part, exp.Subquery)]
    others = [part for part in (select.args.get("with_"), *inner) if part is not None]
    return {
        column.name
        for column in select.find_all(exp.Column)
        if column.table in ("", source) and not any(_is_inside(column, part) for part in others)
    }


def _is_inside(node: exp.Expr, tree: exp.Expr) -> bool:
    """Return whether a node is part of a tree."""
    parent = node.parent
    while parent is not None:
        if parent is tree:
            return True
        parent = parent.parent
    return False


def _keep_columns(query: exp.Query, names: set[str]) -> None:
    """Leave out the output columns of a query that are not among `names`; keep one at least."""
    places = [i for i, name in enumerate(query.named_selects) if name in names] or [0]
    _keep_places(query, places)


def _keep_places(query: exp.Expr, places: list[int]) -> None:
    """Leave out the output columns of a query that are not at these places."""
    if isinstance(query, exp.Subquery):
        _keep_places(query.this, places)
    elif isinstance(query, exp.Union):
        _keep_places(query.left, places)
        _keep_places(query.right, places)
    else:
        query.set("expressions", [query.expressions[i] for i in places])


def _drop_empty_sources(query: exp.Select) -> None:
    """Leave out the joins with CTEs that have no rows, and branches of UNION ALL that read them."""
    empty: set[str] = set()
    for cte in query.ctes:
        cte.set("this", _without_empty(cte.this, empty))
        if _has_no_rows(cte.this, empty):
            empty.add(cte.alias)
    for select in _selects_of(query):
        _drop_empty_joins(select, empty)


def _without_empty(query: exp.Expr, empty: set[str]) -> exp.Expr:
    """Return a query without joins and branches that the CTEs named in `empty` make empty."""
    if isinstance(query, exp.Union):
        branches = [_without_empty(branch, empty) for branch in (query.left, query.right)]
        filled = [branch for branch in branches if not _has_no_rows(branch, empty)]
        if len(filled) == 1:
            names = query.named_selects
            branch = filled[0].unnest()
            for column, name in zip(list(branch.expressions), names, strict=True):
                column.replace(exp.alias_(column.unalias().copy(), name))
            return branch
        query.set("this", branches[0])
        query.set("expression", branches[1])
        return query
    for select in _selects_of(query):
        _drop_empty_joins(select, empty)
    return query


def _drop_empty_joins(select: exp.Select, empty: set[str]) -> None:
    """Leave out LEFT JOINs with CTEs that have no rows: their columns are NULL."""
    joins = select.args.get("joins") or []
    dropped = {
        source_name(join.this)
        for join in joins
        if join.side == "LEFT" and isinstance(join.this, exp.Table) and join.this.name in empty
    }
    if not dropped:
        return
    select.set("joins", [join for join in joins if source_name(join.this) not in dropped])
    for column in list(select.find_all(exp.Column)):
        if column.table in dropped:
            column.replace(exp.null())
    select.set("expressions", [fold_conditions(column) for column in select.expressions])
    for clause in ("where", "having"):
        if select.args.get(clause):
            select.set(clause, fold_conditions(select.args[clause]))


def _has_no_rows(query: exp.Expr, empty: set[str]) -> bool:
    """Return whether a query is known to have no rows."""
    query = query.unnest()
    if isinstance(query, exp.Union):
        return _has_no_rows(query.left, empty) and _has_no_rows(query.right, empty)
    if not isinstance(query, exp.Select):
        return False
    where, having = query.args.get("where"), query.args.get("having")
    if having is not None and having.this == exp.false():
        return True
    if query.find(exp.AggFunc) is not None and not query.args.get("group"):
        return False
    reads_none = any(
        isinstance(source, exp.Table) and source.name in empty and _must_match(select_part)
        for select_part in (query.args.get("from_"), *(query.args.get("joins") or ()))
        if select_part is not None
        for source in (select_part.this,)
    )
    return reads_none or (where is not None and where.this == exp.false())


def _must_match(part: exp.Expr) -> bool:
    """Return whether FROM or a JOIN has no rows where its table has none."""
    return isinstance(part, exp.From) or not part.args.get("side")
