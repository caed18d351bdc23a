"""What each tier takes: all of them take every test in the end."""

from __future__ import annotations

import pytest

from tests.support import tiers
from tests.support.tiers import Case

N_SETS = 120


def cases_of(function: str, n_sets: int, *marks: str, draws: bool = False) -> list[Case]:
    """Each set on two engines, which the tiers do not tell apart."""
    cases = [Case(function, i, frozenset(marks), draws) for i in range(n_sets)]
    return [case for case in cases for _ in "ab"]


SUITE = [
    *cases_of("some of them dear", 1, "gate"),
    *cases_of("some of them dear", N_SETS),
    *cases_of("each", N_SETS, "each"),
    *cases_of("gate", 3, "gate"),
    *cases_of("drawing", 2, draws=True),
    *cases_of("wide", N_SETS, "wide"),
]


def taken(tier: str, seed: int) -> list[Case]:
    return [test for test, stays in zip(SUITE, tiers.take(SUITE, tier, seed), strict=True) if stays]


def test_quick_takes_the_first_set_on_all_engines_and_each_set_of_marked_tests() -> None:
    assert taken("quick", 3) == [
        *cases_of("some of them dear", 1),
        *cases_of("each", N_SETS, "each"),
        *cases_of("drawing", 1, draws=True),
    ]


@pytest.mark.parametrize("seed", range(7))
def test_quick_and_rest_are_all_but_wide_tests(seed: int) -> None:
    quick, rest = taken("quick", seed), taken("rest", seed)
    once = [test for test in rest if "wide" not in test.marks and not test.draws]
    assert sorted([*quick, *once], key=repr) == sorted(
        [test for test in SUITE if "wide" not in test.marks and (not test.draws or test in quick)],
        key=repr,
    )
    assert [test for test in rest if test.draws] == cases_of("drawing", 2, draws=True)


def test_consecutive_seeds_take_every_wide_test_once() -> None:
    parts = [taken("rest", seed) for seed in range(5, 5 + tiers.PARTS_OF_WIDE)]
    wide = [[test for test in part if "wide" in test.marks] for part in parts]
    assert all(len(part) == 2 * N_SETS / tiers.PARTS_OF_WIDE for part in wide)
    assert sorted(test.parameters for part in wide for test in part) == [
        i for i in range(N_SETS) for _ in "ab"
    ]


def test_all_takes_all() -> None:
    assert taken("all", 3) == SUITE
