"""Catalogue: what is known of every score, each fact in one place.

The facts of an external metric are read from the docstring of its expression and from
METRIC_MEANINGS, which a macro repeats; only names in other libraries and the like are written here.
Other reports have many columns and one docstring, so the facts of their scores are written
here, one entry below the other; tests compare docs/internal.md, dunn.md and pairwise.md with them.
Entries are plain tuples: no file to load, no schema, and type checkers know their fields. The
package imports this folder, and reads the docstrings, when a score is described.
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
from .external import RESOLUTION_MEANINGS
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
    "RESOLUTION_MEANINGS",
    "Entry",
    "describe",
    "entries",
    "reading",
    "show_cases",
    "show_elsewhere",
    "show_range",
    "show_scale",
]
