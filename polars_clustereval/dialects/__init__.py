"""to_sql: writes a table macro as one standalone query for another SQL engine.

The module ``queries`` has the function to_sql, and ``arguments`` checks what the user passes to it.
``pipeline`` lists the steps that make a query, in order. ``expansion`` expands macro calls, for
which ``bodies`` parses the macros. ``plans`` writes forms that engines plan well. ``columns``
replaces stars and removes columns that are never read. ``coordinates`` and ``lists`` replace lists
of coordinates by columns. ``functions`` writes functions in the form of an engine, which
``engines`` describes. ``folding`` evaluates conditions on literals. ``portable`` writes forms that
mean the same in every engine. The steps share the code in ``trees``, and ``sql_names`` has the
names in ``sql/`` that they use. sqlglot belongs to an extra, so the package imports this folder
only when a call of `to_sql` needs it.
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
