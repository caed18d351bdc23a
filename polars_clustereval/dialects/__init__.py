"""to_sql: a table macro as one standalone query for another SQL engine.

``queries`` has to_sql, and ``arguments`` has its checks. ``pipeline`` lists the steps that make a
query, in order: ``expansion`` (of macros in macros, whose ``bodies`` are trees), ``plans`` (forms
that engines plan well), ``columns`` (stars, and columns that are never read), ``coordinates``
(``lists`` as columns), ``functions`` (of each of the ``engines``), ``folding`` (conditions on
literals) and ``portable`` (forms that mean the same everywhere). ``trees`` has the code that the
steps share, and ``sql_names`` has the names in ``sql/`` that they use. sqlglot is in an extra, so
the package imports this folder only when `to_sql` is used.
"""

from __future__ import annotations

try:
    import sqlglot  # noqa: F401
except ImportError as error:
    raise ImportError("to_sql needs sqlglot: pip install polars_clustereval[dialects]") from error

from .arguments import check_kept_cells, check_silhouette, check_weights
from .engines import ENGINES, EXECUTED_DIALECTS
from .pipeline import Request, build_query
from .queries import OPTIONS, check_macro_options, keep_metrics, to_sql

__all__ = [
    "ENGINES",
    "EXECUTED_DIALECTS",
    "OPTIONS",
    "Request",
    "build_query",
    "check_kept_cells",
    "check_macro_options",
    "check_silhouette",
    "check_weights",
    "keep_metrics",
    "to_sql",
]
