"""score_facts: one record of facts for each score that exists only as a column of a table.

The facts about an external metric are in the docstring of the function that returns its expression.
Other scores have no such function, so the modules in this folder list the facts about these scores
as entries. The summaries, ``describe``, the documentation pages and the comments of the macros read
these entries or are generated from them. An entry is a named tuple, so no schema is needed, and
type checkers know the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .centers import CENTERS, NO_TOTAL
from .distances import DISTANCES
from .drift import DRIFT
from .entry import PASS_AND_COUNTS, Entry, Scale
from .graph import GRAPH
from .matching import MATCHING
from .neighbors import NEIGHBORS
from .overlapping import OVERLAPPING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["COLUMN_SCORES", "NO_TOTAL", "PASS_AND_COUNTS", "Entry", "Scale", "entries_of"]

#: All entries in the order of the catalogue; within a table, in the order of its columns.
COLUMN_SCORES: tuple[Entry, ...] = (
    *(*MATCHING, *OVERLAPPING, *GRAPH, *NEIGHBORS, *DRIFT),
    *(*CENTERS, *DISTANCES),
)


def entries_of(table: str) -> Mapping[str, Entry]:
    """Return a mapping from the names of scores in `table` to their entries, in column order."""
    return {entry.name: entry for entry in COLUMN_SCORES if entry.table == table}
