"""score_facts: what is known about each score that is only a column of a table, one record each.

The facts of an external metric are in the docstring of its expression. These scores have no
docstring of their own, so their facts are written here, one entry below the other. The summaries,
``describe``, the pages and the comments of macros read them or are generated from them. Entries are
plain tuples: no schema, and type checkers know their fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .centers import CENTERS, NO_TOTAL
from .distances import DISTANCES
from .drift import DRIFT
from .entry import Entry, Scale
from .graph import GRAPH
from .matching import MATCHING
from .overlapping import OVERLAPPING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COLUMN_SCORES", "NO_TOTAL", "Entry", "Scale", "entries_of"]

#: In the order of the catalogue, those of a table in its order.
COLUMN_SCORES: tuple[Entry, ...] = (
    *(*MATCHING, *OVERLAPPING, *GRAPH, *DRIFT),
    *(*CENTERS, *DISTANCES),
)


def entries_of(table: str) -> Mapping[str, Entry]:
    """Return the entries of the scores of a table by name, in its order."""
    return {entry.name: entry for entry in COLUMN_SCORES if entry.table == table}
