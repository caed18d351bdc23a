"""The tiers of the tests: which tests a run takes, and by what seed.

| tier    | run by                   | takes                                                    |
|---------|--------------------------|----------------------------------------------------------|
| `quick` | `make test`              | of each fast test the first parameter set, on every      |
|         |                          | engine; all sets of a test that is marked each           |
| `rest`  | `.ci/run`, after `quick` | every other fast test, the tests marked gate, those of   |
|         |                          | Hypothesis again with more examples, a part of the wide  |
| `all`   | pytest without an option | whatever the markers let through                         |

The seed, `--hypothesis-seed`, selects one of several equal parts of the wide tests, and the next
seed the next part: PARTS_OF_WIDE runs with consecutive seeds take every wide test. The numbers
below are stated nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

TIERS = ("quick", "rest", "all")
#: Number of parts of the wide tests, of which one is drawn in the tier rest.
PARTS_OF_WIDE = 8
#: Number of calls on DataFrames of which one, on average, is repeated on LazyFrames.
PARTS_OF_CALLS = 10
#: Examples of a test of Hypothesis that does not say otherwise.
EXAMPLES = {"quick": 5, "rest": 15, "all": 10}


class Case(NamedTuple):
    """What the tiers know of a test."""

    function: str
    #: The parameter set, without the engine.
    parameters: Hashable
    marks: frozenset[str]
    #: Whether it draws several examples of its own, in the tier rest more than in the others.
    draws: bool


def take(tests: Iterable[Case], tier: str, seed: int) -> list[bool]:
    """Whether this tier takes each of the tests, which are in the order of their collection."""
    first: dict[str, Hashable] = {}
    wide: dict[tuple[str, Hashable], int] = {}

    def is_taken(test: Case) -> bool:
        if tier == "all":
            return True
        if "wide" in test.marks:
            number = wide.setdefault((test.function, test.parameters), len(wide))
            return tier == "rest" and (number - seed) % PARTS_OF_WIDE == 0
        if "gate" in test.marks:
            return tier == "rest"
        is_first = first.setdefault(test.function, test.parameters) == test.parameters
        is_quick = is_first or "each" in test.marks
        return is_quick if tier == "quick" else test.draws or not is_quick

    return [is_taken(test) for test in tests]
