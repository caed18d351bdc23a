"""Functions that read, traverse and rewrite syntax trees, shared by all steps of ``to_sql``."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

#: A step of to_sql, which returns the query in another form, as the same tree or as a new tree.
Step: TypeAlias = "Callable[[exp.Select], exp.Select]"


def rewrite_tree(node: exp.Expr, replacement: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """Replace nodes from the top down; if `replacement` returns None, go on with the children."""
    new = replacement(node)
    if new is not None:
        return new
    for child in list(node.iter_expressions()):
        changed = rewrite_tree(child, replacement)
        if changed is not child:
            child.replace(changed)
    return node


def fill_columns(node: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """Replace unqualified columns by name with trees, compound ones in parentheses."""

    def fill(node: exp.Expr) -> exp.Expr | None:
        """Return the value of a column whose name is in `values`, or None for any other node."""
        if not isinstance(node, exp.Column) or node.table or node.name not in values:
            return None
        value = values[node.name].copy()
        plain = isinstance(value, exp.Column | exp.Literal | exp.Table | exp.Boolean | exp.Null)
        return value if plain else exp.paren(value)

    return rewrite_tree(node, fill)


def sources_of(select: exp.Select) -> list[exp.Expr]:
    """Return the tables and subqueries that a SELECT reads, in order."""
    source = select.args.get("from_")
    joins = select.args.get("joins") or ()
    return [part.this for part in (source, *joins) if part is not None]


def selects_of(query: exp.Expr) -> Iterator[exp.Select]:
    """Yield the branches of a UNION ALL, or a single SELECT; raise an error for any other query."""
    if isinstance(query, exp.Subquery):
        yield from selects_of(query.this)
    elif isinstance(query, exp.Union):
        yield from selects_of(query.left)
        yield from selects_of(query.right)
    elif isinstance(query, exp.Select):
        yield query
    else:
        raise ClusterEvalError(f"expected SELECT, got {query.sql('duckdb')}")


def nested_queries(select: exp.Select) -> Iterator[exp.Query]:
    """Yield the scalar subqueries in the expressions of a SELECT."""
    sources = {id(source) for source in sources_of(select)}
    for node in select.walk(
        prune=lambda x: x is not select and isinstance(x, exp.With | exp.Query)
    ):
        if isinstance(node, exp.Subquery) and id(node) not in sources:
            yield node.this
