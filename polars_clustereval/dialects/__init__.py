"""to_sql: a table macro as one standalone query for another SQL engine.

``queries`` makes a query by these steps: ``expansion`` (macros in macros), ``columns`` (stars, and
columns that nothing reads), ``coordinates`` (lists as columns), ``functions`` (of each engine),
``portable`` (forms that mean the same everywhere) and ``join_conditions`` (forms that engines
evaluate fast). sqlglot is in an extra, so the package imports this folder when `to_sql` is used.
"""

from __future__ import annotations

from .queries import (
    EXECUTED_DIALECTS,
    OPTIONS,
    build_query,
    check_kept_cells,
    check_macro_options,
    check_silhouette,
    check_weights,
    to_sql,
)

__all__ = [
    "EXECUTED_DIALECTS",
    "OPTIONS",
    "build_query",
    "check_kept_cells",
    "check_macro_options",
    "check_silhouette",
    "check_weights",
    "to_sql",
]
