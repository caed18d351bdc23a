"""``to_sql`` scripts, which use temporary tables to store CTEs that are read more than once.

Use a script for engines that recompute a CTE each time it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .engines import Engine


def write_statements(
    query: exp.Select, engine: Engine, write: Callable[[exp.Query], str], gap: str
) -> str:
    """Return a script: a temporary table for each MATERIALIZED CTE, and the query that reads them.

    `write` returns the text of a query, and `gap` stands between CREATE TABLE … AS and the query.
    """
    if engine.create_table is None:
        raise ClusterEvalError(
            f"steps: {engine.name} has no temporary tables; leave out steps to get one query"
        )
    tables = [cte for cte in query.ctes if cte.args.get("materialized")]
    others = [cte for cte in query.ctes if not cte.args.get("materialized")]
    names = [cte.args["alias"].this.sql(engine.parser) for cte in tables]
    statements = [f"DROP TABLE IF EXISTS {name}" for name in names]
    for cte, name in zip(tables, names, strict=True):
        step = _keep_ctes(cte.this, others)
        statements.append(f"{engine.create_table.format(name)}{gap}{write(step)}")
        if engine.count_rows is not None:
            statements.append(engine.count_rows.format(name))
    statements.append(write(_keep_ctes(query, others)))
    return ";\n".join(statements)


def _keep_ctes(query: exp.Query, ctes: Sequence[exp.CTE]) -> exp.Query:
    """Return a copy of a query with those of the `ctes`, in dependency order, that it needs."""
    query = query.copy()
    query.set("with_", None)
    needed = {table.name for table in query.find_all(exp.Table)}
    kept = []
    for cte in reversed(ctes):
        if cte.alias in needed:
            needed |= {table.name for table in cte.this.find_all(exp.Table)}
            kept.append(cte.copy())
    if kept:
        query.set("with_", exp.With(expressions=kept[::-1]))
    return query
