"""What each tier takes: all of them take every test in the end."""

from __future__ import annotations

import pytest

from tests.support import tiers
from tests.support.tiers import Case

FEW, MANY = tiers.MOST_TESTS // 2, 100


def cases_of(function: str, n_sets: int, *marks: str, draws: bool = False) -> list[Case]:
    """Each set on two engines."""
    marked = frozenset(marks)
    return [Case(function, i, engine, marked, draws) for i in range(n_sets) for engine in "ab"]


SUITE = [
    *cases_of("few", FEW),
    *cases_of("many", MANY),
    *cases_of("many, some of them dear", 1, "gate"),
    *cases_of("gate", 3, "gate"),
    *cases_of("drawing", 2, draws=True),
    *cases_of("wide", MANY, "wide"),
]


def taken(tier: str, seed: int) -> list[Case]:
    return [test for test, stays in zip(SUITE, tiers.take(SUITE, tier, seed), strict=True) if stays]


def sets_of(function: str, tests: list[Case]) -> list[object]:
    return [test.parameters for test in tests if test.function == function]


@pytest.mark.parametrize("seed", range(7))
def test_quick_takes_few_sets_whole_and_of_many_the_ends_and_a_part(seed: int) -> None:
    quick = taken("quick", seed)
    assert {test.function for test in quick} == {"few", "many", "drawing"}
    assert len(sets_of("few", quick)) == 2 * FEW
    many = sets_of("many", quick)
    assert {0, MANY - 1} <= set(many)
    assert abs(len(set(many)) - MANY / tiers.PARTS_OF_SETS) <= 2
    assert {one for one in many if many.count(one) == 2} == {0, MANY - 1}, "on both engines"
    engines = [test.engine for test in quick if test.parameters in range(1, MANY - 1)]
    assert abs(engines.count("a") - engines.count("b")) <= 2


@pytest.mark.parametrize("seed", range(7))
def test_quick_and_rest_are_all_but_wide_tests(seed: int) -> None:
    quick, rest = taken("quick", seed), taken("rest", seed)
    others = [test for test in SUITE if "wide" not in test.marks]
    both = [*quick, *(test for test in rest if "wide" not in test.marks and not test.draws)]
    assert sorted(both) == sorted(others)
    assert sets_of("drawing", rest) == sets_of("drawing", SUITE), "with more examples"


def test_consecutive_seeds_take_every_test() -> None:
    wide = [sets_of("wide", taken("rest", seed)) for seed in range(tiers.PARTS_OF_WIDE)]
    assert sorted(one for part in wide for one in part) == sets_of("wide", SUITE)
    assert all(len(part) == 2 * MANY / tiers.PARTS_OF_WIDE for part in wide)
    seen = {
        one for seed in range(tiers.PARTS_OF_SETS) for one in sets_of("many", taken("quick", seed))
    }
    assert seen == set(range(MANY))


def test_the_same_seed_takes_the_same_tests() -> None:
    for tier in tiers.TIERS:
        assert taken(tier, 5) == taken(tier, 5)
        assert (taken(tier, 5) == taken(tier, 6)) is (tier == "all")


def test_all_takes_all() -> None:
    assert taken("all", 3) == SUITE
