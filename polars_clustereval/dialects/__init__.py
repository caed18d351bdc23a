"""The function to_sql, which writes a table macro as a query for another SQL engine.

The module ``queries`` defines to_sql, and ``arguments`` checks the arguments that the user passes.
``pipeline`` lists the steps that build a query, in order. ``bodies`` parses the macros, and
``expansion`` expands macro calls. ``plans`` rewrites queries so that engines can plan them
efficiently. ``columns`` expands ``*`` into columns and removes columns that are never read.
``coordinates`` and ``lists`` replace lists of coordinates with columns. ``engines`` describes the
engines, and ``functions`` writes each function in the engine's own form. ``folding`` evaluates
conditions on literals. ``portable`` rewrites queries so that they mean the same in every engine.
The steps share the functions in ``trees`` and the names in ``sql_names``, which come from ``sql/``.
Because sqlglot is an optional dependency, the package imports this folder only when a query has to
be translated.
"""

from __future__ import annotations

try:
    import sqlglot  # noqa: F401
except ImportError as error:
    raise ImportError("to_sql needs sqlglot: pip install 'polars_clustereval[dialects]'") from error

from .arguments import check_kept_cells, check_silhouette, check_weights
from .engines import ENGINES, EXECUTED_DIALECTS
from .parameters import OPTIONS, options_of_table
from .pipeline import Request, build_query
from .queries import check_macro_options, keep_metrics, to_sql

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
    "options_of_table",
    "to_sql",
]
