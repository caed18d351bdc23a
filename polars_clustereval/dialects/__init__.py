"""to_sql: a table macro as one standalone query for another SQL engine.

``queries`` has to_sql and ``arguments`` its checks. ``pipeline`` lists the steps of a query from
top to bottom: ``expansion`` (macros in macros, whose ``bodies`` are trees), ``plans`` (forms that
engines plan well), ``columns`` (stars, and what nothing reads), ``coordinates`` (``lists`` as
columns), ``functions`` (of each of the ``engines``), ``folding`` (conditions on literals) and
``portable`` (forms that mean the same everywhere). ``trees`` has what they share, and ``sql_names``
what they know of ``sql/``. sqlglot is in an extra, so the package imports this folder when `to_sql`
is used.
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
