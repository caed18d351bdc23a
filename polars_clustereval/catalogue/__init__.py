"""Catalogue: facts about every score, collected from docstrings and from ``base.score_facts``.

The facts about an external metric are in the docstring of the function that returns its expression,
and the facts about all other scores are in ``base.score_facts``. The package imports the catalogue
only when it has to describe a score.
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
