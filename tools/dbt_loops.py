"""Queries for vectors of any length: what is written once a coordinate becomes a loop of Jinja.

A query of `to_sql` for points of SIZE coordinates repeats a part for each of them: a column, a term
of a sum, a branch of CASE, all alike but for the number of the coordinate. Such a run of parts is
one part in a loop over `coordinates`, the numbers 1, 2, …, in the query for any length.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Coordinates of the points of the query that is read. A query has this number for no other reason:
#: it is compared with = as that of a coordinate, and is else their count.
SIZE = 7

# The number of a coordinate in a loop, and the number of coordinates.
_NUMBER = "{{ i }}"
_COUNT = "{{ coordinates | length }}"

_NUMBERED = re.compile(r"(.*_|p__x)(\d+)")
# Chains of expressions, with the operator between their parts.
_CHAINS: dict[type[exp.Expr], str] = {exp.Add: " + ", exp.And: " AND ", exp.Or: " OR "}


def write_loops(query: exp.Select, dialect: str) -> exp.Select:
    """Return a query for points of SIZE coordinates as one for any number of them."""
    for source in list(query.find_all(exp.Subquery)):
        if source.alias == "__ce_places":
            source.replace(_places())
    query.set("with_", exp.With(expressions=[x for x in query.ctes if x.alias != "__ce_digits"]))
    for number in list(query.find_all(exp.Literal)):
        is_size = number.is_number and number.name == str(SIZE)
        if is_size and not isinstance(number.parent, exp.EQ):
            number.replace(exp.Var(this=_COUNT))
    _roll(query, dialect)
    return query


def _places() -> exp.Expr:
    """The numbers of the coordinates as a table."""
    rows = _loop(f"SELECT {_NUMBER} AS __ce_place", " UNION ALL ")
    return exp.Var(this=f"({rows}) AS __ce_places")


def _loop(part: str, separator: str) -> str:
    """A loop over the coordinates, with the separator between its parts."""
    between = f"{{% if not loop.last %}}{separator}{{% endif %}}" if separator else ""
    return f"{{% for i in coordinates %}}{part}{between}{{% endfor %}}"


def _roll(node: exp.Expr, dialect: str) -> None:
    """Write the runs of parts of a tree as loops, in place, the innermost first."""
    for child in list(node.iter_expressions()):
        _roll(child, dialect)
    if isinstance(node, exp.Case):
        _roll_branches(node, dialect)
    elif type(node) in _CHAINS and not _is_term(node):
        _roll_chain(node, dialect)
    elif isinstance(node, exp.Greatest | exp.Least):
        # The first argument stays: some engines want two, and there may be one coordinate.
        rolled = _rolled([node.this, *node.expressions], ", ", dialect)
        if len(rolled) == 1:
            node.set("expressions", rolled)
    elif isinstance(node.args.get("expressions"), list):
        node.set("expressions", _rolled(node.expressions, ", ", dialect))


def _rolled(parts: list[exp.Expr], separator: str, dialect: str) -> list[exp.Expr]:
    """The parts, with one loop in place of each run of SIZE of them."""
    rolled: list[exp.Expr] = []
    while parts:
        pattern = _pattern(parts[:SIZE])
        if pattern is None:
            rolled.append(parts[0])
            parts = parts[1:]
        else:
            rolled.append(exp.Var(this=_loop(_text(pattern, dialect), separator)))
            parts = parts[SIZE:]
    return rolled


def _roll_chain(node: exp.Expr, dialect: str) -> None:
    """Write a sum or a condition of SIZE parts alike as a loop, in place."""
    parts = list(_terms_of(node, type(node)))
    separator = _CHAINS[type(node)]
    rolled = _rolled(parts, separator, dialect)
    if len(rolled) < len(parts):
        node.replace(exp.Var(this=separator.join(_text(part, dialect) for part in rolled)))


def _terms_of(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The parts of a chain, also of chains in parentheses: to_sql adds many terms in a tree."""
    inner = node.unnest()
    if type(inner) is kind:
        yield from _terms_of(inner.args["this"], kind)
        yield from _terms_of(inner.args["expression"], kind)
    else:
        yield node


def _is_term(node: exp.Expr) -> bool:
    """Whether a chain is a part of another one."""
    outer = node.parent
    while isinstance(outer, exp.Paren):
        outer = outer.parent
    return type(outer) is type(node)


def _roll_branches(node: exp.Case, dialect: str) -> None:
    """Write the branches of CASE, one for each coordinate, as a loop, in place."""
    pattern = _pattern(node.args["ifs"])
    if pattern is None:
        return
    condition, value = (_text(pattern.args[key], dialect) for key in ("this", "true"))
    default = node.args.get("default")
    end = f" ELSE {_text(default, dialect)}" if default else ""
    loop = _loop(f" WHEN {condition} THEN {value}", "")
    node.replace(exp.Var(this=f"CASE{loop}{end} END"))


def _text(node: exp.Expr, dialect: str) -> str:
    """A part of a query as text."""
    return node.sql(dialect=dialect, normalize_functions=False, comments=False)


def _pattern(parts: list[exp.Expr]) -> exp.Expr | None:
    """One of SIZE parts with _NUMBER in place of its number, if all are alike; else None.

    The numbers 1 and 2 may stand in a part for another reason, so the others show the pattern.
    """
    if len(parts) != SIZE or parts[0] == parts[1]:
        return None
    first, second, *others = parts
    patterns = [_generalize(part.copy(), i) for i, part in enumerate(others, 3)]
    pattern = patterns[0]
    if any(other != pattern for other in patterns):
        return None
    is_covered = (
        _fill_number(pattern.copy(), 1) == first and _fill_number(pattern.copy(), 2) == second
    )
    return pattern if is_covered else None


def _generalize(part: exp.Expr, number: int) -> exp.Expr:
    """The part, changed in place, with _NUMBER for the number of its coordinate."""
    for node in list(part.walk()):
        if isinstance(node, exp.Identifier):
            found = _NUMBERED.fullmatch(node.name)
            if found and int(found[2]) == number:
                node.set("this", found[1] + _NUMBER)
        elif isinstance(node, exp.Literal) and node.is_number and node.name == str(number):
            node.replace(exp.Var(this=_NUMBER))
    return part


def _fill_number(pattern: exp.Expr, number: int) -> exp.Expr:
    """The pattern, changed in place, with a number for _NUMBER outside of inner loops."""
    for node in list(pattern.walk()):
        if isinstance(node, exp.Identifier) and _NUMBER in node.name:
            node.set("this", node.name.replace(_NUMBER, str(number)))
        elif isinstance(node, exp.Var) and node.name == _NUMBER:
            node.replace(exp.Literal.number(number))
    return pattern
