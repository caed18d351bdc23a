"""``to_sql`` steps that make queries easier to read by merging SELECTs and shortening names."""

from __future__ import annotations

import re
from collections import Counter

from sqlglot import exp

from .sql_names import HOLDS, PREFIX
from .trees import selects_of

# The number that a CTE has from the call of its macro.
_CALL_NUMBER = re.compile(r"_\d+$")


def merge_selects(query: exp.Select) -> exp.Select:
    """Remove SELECTs that merely pass through the columns of a subquery."""
    for cte in query.ctes:
        cte.set("this", _merge(cte.this))
    for source in list(query.find_all(exp.Subquery)):
        source.set("this", _merge(source.this))
    return query


def _merge(query: exp.Expr) -> exp.Expr:
    """Return the inner query, with the outer columns, of a SELECT that only passes columns on."""
    if isinstance(query, exp.Union):
        for side in ("this", "expression"):
            query.set(side, _merge(query.args[side]))
        return query
    inner = _passed_on(query)
    if inner is None:
        return query
    names = [column.unalias().name for column in query.expressions]
    outputs = [column.alias_or_name for column in query.expressions]
    first, *others = selects_of(inner)
    known = first.named_selects
    if (others and outputs != known) or not set(names) <= set(known):
        return query
    if not others:
        places = [known.index(name) for name in names]
        values = [first.expressions[place].unalias() for place in places]
        columns = [exp.alias_(x, name) for x, name in zip(values, outputs, strict=True)]
        first.set("expressions", columns)
    return _merge(inner)


def _passed_on(query: exp.Expr) -> exp.Query | None:
    """Return the subquery whose columns a SELECT only passes on, each at most once, or None."""
    if not isinstance(query, exp.Select):
        return None
    source = query.args["from_"].this if query.args.get("from_") else None
    if _clauses_of(query) != {"expressions", "from_"}:
        return None
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Query):
        return None
    values = [column.unalias() for column in query.expressions]
    names = [value.name for value in values]
    inner = source.this
    has_more = any(inner.args.get(clause) for clause in ("order", "limit", "distinct", "with_"))
    is_plain = all(isinstance(value, exp.Column) for value in values)
    return None if has_more or not is_plain or len({*names}) < len(names) else inner


def merge_ctes(query: exp.Select) -> exp.Select:
    """Remove CTEs that merely repeat columns of another CTE."""
    for cte in list(query.ctes):
        source = _copied_cte(cte.this)
        if source is None:
            continue
        for table in query.find_all(exp.Table):
            if table.name == cte.alias and not table.db:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.alias_or_name)))
                table.set("this", exp.to_identifier(source.name))
        query.set("with_", exp.With(expressions=[x for x in query.ctes if x is not cte]))
    return query


def _copied_cte(query: exp.Expr) -> exp.Table | None:
    """Return the CTE of which a query only selects columns, by their own names, or None."""
    if not isinstance(query, exp.Select) or _clauses_of(query) != {"expressions", "from_"}:
        return None
    source = query.args["from_"].this
    is_cte = isinstance(source, exp.Table) and source.name.startswith(PREFIX) and not source.db
    columns = [column.unalias() for column in query.expressions]
    keep = all(isinstance(column, exp.Column) for column in columns)
    same = [column.name for column in columns] == [x.alias_or_name for x in query.expressions]
    return source if is_cte and keep and same else None


def _clauses_of(query: exp.Select) -> set[str]:
    """Return the names of the clauses in a SELECT."""
    return {key for key, value in query.args.items() if value}


def name_ctes(query: exp.Select) -> exp.Select:
    """Remove the number from each CTE name that is unique without it."""
    stems = {cte.alias: _CALL_NUMBER.sub("", cte.alias) for cte in query.ctes}
    counts = Counter(stems.values())
    names = {name: stem for name, stem in stems.items() if counts[stem] == 1}
    for cte in query.ctes:
        if cte.alias in names:
            cte.args["alias"].set("this", exp.to_identifier(names[cte.alias]))
    for table in query.find_all(exp.Table):
        if table.name in names and not table.db:
            table.set("this", exp.to_identifier(names[table.name]))
    return query


def drop_repeated_names(query: exp.Select) -> exp.Select:
    """Remove aliases that merely repeat the name of the column or table."""
    for node in list(query.find_all(exp.Alias)):
        inner = node.this
        # Engines differ in how they name an output column t.x.
        if isinstance(inner, exp.Column) and inner.name == node.alias and not inner.table:
            node.replace(inner)
    for table in query.find_all(exp.Table):
        if table.alias and table.alias == table.name and not table.db:
            table.set("alias", None)
    return query


def comment_ctes(query: exp.Select) -> exp.Select:
    """Write what each CTE holds as a comment above its first SELECT."""
    for cte in query.ctes:
        next(selects_of(cte.this)).add_comments([cte.meta[HOLDS]])
    return query
