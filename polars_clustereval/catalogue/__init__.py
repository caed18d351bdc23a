"""Catalogue: what is known about every score, read from where each fact is written.

The facts of an external metric are in the docstring of its expression, those of other scores in
``base.score_facts``. The package imports this folder when a score is described.
"""

from __future__ import annotations

from polars_clustereval.base.score_facts import Entry

from .describe import (
    NOTATION,
    describe,
    entries,
    reading,
    show_cases,
    show_elsewhere,
    show_range,
    show_scale,
)

__all__ = [
    "NOTATION",
    "Entry",
    "describe",
    "entries",
    "reading",
    "show_cases",
    "show_elsewhere",
    "show_range",
    "show_scale",
]
