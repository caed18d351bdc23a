"""Catalogue: what is known of every score, each fact in one place.

The facts of an external metric stand in the docstring of its expression. Other reports have many
columns and one docstring, so the facts of their scores are written here, one entry below the other;
tests compare docs/internal.md, dunn.md and pairwise.md with them. Entries are plain tuples: no
schema, and type checkers know their fields. The package imports this folder when a score is
described.
"""

from __future__ import annotations

from .centers import CENTERS
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
from .distances import DISTANCES
from .drift import DRIFT
from .entry import Entry
from .graph import GRAPH
from .matching import MATCHING
from .overlapping import OVERLAPPING

__all__ = [
    "CENTERS",
    "DISTANCES",
    "DRIFT",
    "GRAPH",
    "MATCHING",
    "NOTATION",
    "OVERLAPPING",
    "Entry",
    "describe",
    "entries",
    "reading",
    "show_cases",
    "show_elsewhere",
    "show_range",
    "show_scale",
]
