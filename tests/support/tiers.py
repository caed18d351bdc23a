"""The tiers of the tests: which tests a run takes, by what seed, and the numbers that decide it.

| tier    | run by                   | takes                                                    |
|---------|--------------------------|----------------------------------------------------------|
| `quick` | `make test`              | the fast tests, and of a function with many parameter    |
|         |                          | sets the first, the last and a part of those between,    |
|         |                          | each of them on one engine                               |
| `rest`  | `.ci/run`, after `quick` | every other fast test, the tests marked gate, those of   |
|         |                          | Hypothesis again with more examples, a part of the wide  |
| `all`   | pytest without an option | whatever the markers let through                         |

The seed, `--hypothesis-seed`, selects one of several equal parts, and the next seed the next part:
PARTS_OF_WIDE runs with consecutive seeds take every wide test. The numbers below are stated nowhere
else.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

TIERS = ("quick", "rest", "all")
#: A function with more tests than these, of all engines, is drawn from in the tier quick.
MOST_TESTS = 6
#: Number of parts of the sets between the first and the last, of which one is drawn.
PARTS_OF_SETS = 3
#: Number of parts of the wide tests, of which one is drawn in the tier rest.
PARTS_OF_WIDE = 4
#: Number of calls on DataFrames of which one, on average, is repeated on LazyFrames.
PARTS_OF_CALLS = 10
#: Marks of tests that the tier quick does not take, whatever is drawn.
NEVER_QUICK = frozenset({"gate", "wide"})
#: Examples of a test of Hypothesis that does not say otherwise.
EXAMPLES = {"quick": 5, "rest": 20, "all": 10}


class Case(NamedTuple):
    """What the tiers know of a test."""

    function: str
    #: The parameter set, without the engine.
    parameters: Hashable
    engine: Hashable
    marks: frozenset[str]
    #: Whether it draws several examples of its own, in the tier rest more than in the others.
    draws: bool


def is_part(number: int, seed: int, parts: int) -> bool:
    """Whether the test of this number is in the part of this seed."""
    return number % parts == seed % parts


def draw_tests(tests: Sequence[Case], seed: int) -> set[Case]:
    """Those of the tests of one function that the tier quick takes."""
    sets = list(dict.fromkeys(test.parameters for test in tests))
    if len(tests) <= MOST_TESTS:
        return set(tests)
    engines = list(dict.fromkeys(test.engine for test in tests))
    ends = (sets[0], sets[-1])
    between = [one for i, one in enumerate(sets[1:-1]) if is_part(i, seed, PARTS_OF_SETS)]
    chosen = {one: engines[(i + seed) % len(engines)] for i, one in enumerate(between)}
    return {
        test
        for test in tests
        if test.parameters in ends
        or (test.parameters in chosen and chosen[test.parameters] == test.engine)
    }


def take(tests: Iterable[Case], tier: str, seed: int) -> list[bool]:
    """Whether this tier takes each of the tests, which are in the order of their collection."""
    tests = list(tests)
    by_function: dict[str, list[Case]] = defaultdict(list)
    for test in tests:
        if not test.marks & NEVER_QUICK:
            by_function[test.function].append(test)
    quick = {test for given in by_function.values() for test in draw_tests(given, seed)}
    wide = dict.fromkeys((test.function, test.parameters) for test in tests if "wide" in test.marks)
    numbers = {one: number for number, one in enumerate(wide)}

    def is_taken(test: Case) -> bool:
        if tier == "all":
            return True
        if "wide" in test.marks:
            number = numbers[test.function, test.parameters]
            return tier == "rest" and is_part(number, seed, PARTS_OF_WIDE)
        return test in quick if tier == "quick" else test.draws or test not in quick

    return [is_taken(test) for test in tests]
