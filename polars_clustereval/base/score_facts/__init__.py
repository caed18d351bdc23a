"""score_facts: what is known about each score that is only a column of a table, one record each.

The facts of an external metric are in the docstring of its expression. The scores in this folder
have no docstring of their own, so their facts are written here, one entry below the other. The
summaries, ``describe``, the pages and the comments of macros read these entries or are generated
from them. Entries are plain tuples, so they need no schema, and type checkers know their fields.
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

#: All entries in the order of the catalogue; within a table, in the order of its columns.
COLUMN_SCORES: tuple[Entry, ...] = (
    *(*MATCHING, *OVERLAPPING, *GRAPH, *DRIFT),
    *(*CENTERS, *DISTANCES),
)


def entries_of(table: str) -> Mapping[str, Entry]:
    """Return the entries of the scores of `table` by name, in the order of its columns."""
    return {entry.name: entry for entry in COLUMN_SCORES if entry.table == table}
