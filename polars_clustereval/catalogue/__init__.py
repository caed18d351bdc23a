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
from .entry import Entry
from .external import RESOLUTION_MEANINGS
from .matching import MATCHING

__all__ = [
    "CENTERS",
    "DISTANCES",
    "MATCHING",
    "NOTATION",
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
