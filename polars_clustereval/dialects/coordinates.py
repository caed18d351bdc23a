"""A step of ``to_sql`` that replaces lists of coordinates with one column per coordinate.

In the macros for points, a vector is a list. Engines differ in which list operations they support,
but not in how they handle numbers. The number of coordinates is known, so a list column x is
replaced with the columns x_1, x_2, …, and a list function is replaced with one expression per
coordinate.
"""

from __future__ import annotations

from sqlglot import exp

from .lists import Lengths, Lists, coordinate_name
from .sql_names import HOLDS
from .trees import nested_queries, selects_of, sources_of

# The number of decimal digits that count the coordinates of a vector, in rows of a single column.
_DIGITS = "__ce_digits"


def check_lengths(query: exp.Select) -> exp.Select:
    """Make the query raise an error in Spark if a coordinate is not finite."""
    for call in query.find_all(exp.Anonymous):
        if call.name == "checked_length":
            call.set("this", "length_or_error")
    return query


def split_lists(query: exp.Select) -> exp.Select:
    """Replace each list in the query with one column per coordinate.

    The query must not contain ``*`` (see columns.name_outputs). A list in the result of the query,
    such as a centroid, becomes an array of its coordinates.
    """
    known: dict[str, Lengths] = {}
    for cte in query.ctes:
        known[cte.alias] = _split(cte.this, known)
    _split(query, known, is_result=True)
    if any(table.name == _DIGITS for table in query.find_all(exp.Table)):
        digits = " UNION ALL ".join(f"SELECT {i} AS __ce_digit" for i in range(10))
        counting = exp.select("1").with_(_DIGITS, as_=digits)
        counting.ctes[0].meta[HOLDS] = "The digits from 0 to 9."
        query.set("with_", exp.With(expressions=[*counting.ctes, *query.ctes]))
    return query


def _split(query: exp.Expr, known: dict[str, Lengths], *, is_result: bool = False) -> Lengths:
    """Replace the lists of a query, in place, and return their lengths, as `known` has by CTE."""
    returned: list[Lengths] = []
    for select in selects_of(query):
        lists = _open_sources(select, known)
        first = returned[0] if returned else {}
        returned.append(_split_columns(select, lists, first, is_result=is_result))
        _split_clauses(select, lists)
    return returned[0]


def _open_sources(select: exp.Select, known: dict[str, Lengths]) -> Lists:
    """Replace the lists in the subqueries of a SELECT, and return the lists that it reads."""
    sources = {
        source.alias_or_name: _split(source, known)
        if isinstance(source, exp.Subquery)
        else known.get(source.name, {})
        for source in sources_of(select)
    }
    for nested in nested_queries(select):
        _split(nested, known)
    lists = Lists(known, sources)
    _unnest(select, lists)
    return lists


def _split_columns(select: exp.Select, lists: Lists, first: Lengths, *, is_result: bool) -> Lengths:
    """Replace the output lists of a SELECT, in place, and return their lengths.

    `first` has the lengths in the first branch of a UNION ALL; `is_result` marks the final query.
    """
    returned: Lengths = {}
    columns: list[exp.Expr] = []
    for column in select.expressions:
        value, name = column.unalias(), column.alias_or_name
        length = lists.length(value) or first.get(name) or None
        if length is None:
            columns.append(_alias(lists.scalar(value), name))
            if isinstance(value, exp.Null) or (
                isinstance(value, exp.Column) and lists.is_null(value)
            ):
                returned[name] = 0
            continue
        elements = [lists.element(value, i) for i in range(1, length + 1)]
        if is_result:
            columns.append(_alias(exp.Array(expressions=elements), name))
        else:
            returned[name] = length
            columns.extend(
                exp.alias_(element, coordinate_name(name, i))
                for i, element in enumerate(elements, 1)
            )
    select.set("expressions", columns)
    return returned


def _alias(value: exp.Expr, name: str) -> exp.Expr:
    """Return `value` as an output column, with the alias `name` unless `name` is empty."""
    return exp.alias_(value, name) if name else value


def _split_clauses(select: exp.Select, lists: Lists) -> None:
    """Replace the list functions in WHERE, ON and the other clauses of a SELECT, in place."""
    for clause in ("where", "having", "group", "order"):
        if select.args.get(clause):
            select.set(clause, lists.scalar(select.args[clause]))
    for join in select.args.get("joins") or ():
        if join.args.get("on"):
            join.set("on", lists.scalar(join.args["on"]))


# One row per coordinate


def _unnest(select: exp.Select, lists: Lists) -> None:
    """Replace unnest, in place, with the element or the place of a joined table of positions."""
    unnested = list(select.find_all(exp.Explode))
    if not unnested:
        return
    place = exp.column("__ce_place", table="__ce_places")
    for node in unnested:
        is_place = isinstance(node.this, exp.GenerateSeries)
        element = exp.Anonymous(this="list_element", expressions=[node.this, place.copy()])
        node.replace(place.copy() if is_place else element)
    places = _count_to(lists.vector_length(unnested[0]))
    select.join(places, join_type="cross", copy=False)


def _count_to(n: int) -> exp.Subquery:
    """Return a subquery with the numbers from 1 to n, one per row."""
    tables = {10**i: f"__ce_digits_{10**i}" for i in range(len(str(n)))}
    place = " + ".join(f"{power} * {table}.__ce_digit" for power, table in tables.items())
    source = " CROSS JOIN ".join(f"{_DIGITS} AS {table}" for table in tables.values())
    counted = f"SELECT ({place}) AS __ce_place FROM {source} WHERE {place} BETWEEN 1 AND {n}"
    return exp.maybe_parse(counted, into=exp.Select).subquery("__ce_places")
