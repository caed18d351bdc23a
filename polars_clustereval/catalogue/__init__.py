"""Catalogue: the facts about every score, collected from the places where they are recorded.

The facts of an external metric are in the docstring of its expression, and the facts of other
scores are in ``base.score_facts``. The package imports this folder only when a score is described.
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
