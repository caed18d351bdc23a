"""How much has changed from one run to the next: against sets of ids, scikit-learn and by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.support.engines import by_value
from tests.support.run_engines import call_pair
from tests.support.transition_oracle import (
    AFTER,
    BEFORE,
    PAIRS,
    assert_drift,
    drift_of_pair,
    stability_index_of,
)

if TYPE_CHECKING:
    from tests.support.engines import Engine


def test_drift_by_sets_and_scikit_learn(engine: Engine) -> None:
    rows = call_pair(engine, "run_drift", BEFORE, AFTER, partition_by="part")
    found = by_value(rows, "part")
    for number, pair in enumerate(PAIRS):
        if pair[0] or pair[1]:
            assert_drift(found[number][0], drift_of_pair(number), number)


@pytest.mark.parametrize("noise_as", ["cluster", "drop", "singletons"])
def test_affected_ids_are_those_listed(engine: Engine, noise_as: str) -> None:
    """The cluster 0 is noise, and some ids are in one run only."""
    options: dict[str, Any] = {"partition_by": "part", "noise": 0, "noise_as": noise_as}
    listed = by_value(call_pair(engine, "affected_ids", BEFORE, AFTER, **options), "part")
    counts = {part: len(rows) for part, rows in listed.items()}
    drift = call_pair(engine, "run_drift", BEFORE, AFTER, **options)
    found = {row["part"]: row["n_affected"] for row in drift if row["n_affected"]}
    assert found == counts
    assert len(counts) > 10


def test_a_split_affects_ids_that_have_not_moved(side: Engine) -> None:
    (row,) = call_pair(side, "run_drift", *runs_of("aaaabbbccd", "uuvwbbbxxy"))
    assert (row["n_moved"], row["churn"], row["n_affected"]) == (0, 0.0, 4)


def runs_of(*letters: str) -> list[pl.DataFrame]:
    return [pl.DataFrame({"id": range(len(x)), "cluster": list(x)}) for x in letters]


def index_of(side: Engine, before: str, after: str, **options: Any) -> Any:
    (row,) = call_pair(side, "run_drift", *runs_of(before, after), **options)
    return row["population_stability_index"]


def test_the_stability_index_of_three_names(side: Engine) -> None:
    """By hand: a and b have two rows of four, then one; c has none, counted as a half, then two."""
    found = index_of(side, "aabb", "abcc", match_sizes_by="names")
    # 2 (0.5 - 0.25) ln 2 + (0.5 - 0.125) ln 4
    assert found == pytest.approx(0.8664339756999316, rel=1e-14)


def test_the_stability_index_ignores_names(side: Engine) -> None:
    before, after = "aaabbc", "yyyzzx"
    assert index_of(side, before, after) == 0.0
    assert index_of(side, before, after, match_sizes_by="names") > 1


def test_the_stability_index_of_a_split_and_a_merger(side: Engine) -> None:
    """By hand: the larger part continues a; the other one counts as half a row before, and b does
    after, because more of y comes from c."""
    # Of 10 rows: a 4 and y's match c 4, b 2; then w 3, x 1 and y 6.
    terms = [(4, 3), (0.5, 1), (2, 0.5), (4, 6)]
    wanted = sum((p - q) / 10 * math.log(p / q) for p, q in terms)
    assert index_of(side, "aaaabbcccc", "wwwxyyyyyy") == pytest.approx(wanted, rel=1e-14)


def test_equal_parts_in_the_stability_index(side: Engine) -> None:
    """By hand: of two parts with two ids each, the one that more ids have joined continues a."""
    before = pl.DataFrame({"id": range(4), "cluster": list("aaaa")})
    after = pl.DataFrame({"id": range(5), "cluster": list("xxyyy")})
    (row,) = call_pair(side, "run_drift", before, after)
    wanted = (1 - 0.6) * math.log(1 / 0.6) + (0.4 - 0.125) * math.log(0.4 / 0.125)
    assert row["population_stability_index"] == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_noise_in_the_stability_index(side: Engine, noise_as: str) -> None:
    """By hand: two of six rows are noise, then three, unless they are dropped."""
    found = index_of(side, "aabb--", "xxy---", noise="-", noise_as=noise_as)
    terms = [(2, 2), (2, 1), (2, 3)]
    n = (6, 6) if noise_as == "singletons" else (4, 3)
    shares = [(p / n[0], q / n[1]) for p, q in terms[: 3 if n[0] == 6 else 2]]
    wanted = sum((p - q) * math.log(p / q) for p, q in shares)
    assert found == pytest.approx(wanted, rel=1e-14)


def test_the_stability_index_by_name_of_many_runs(side: Engine) -> None:
    rows = call_pair(side, "run_drift", BEFORE, AFTER, partition_by="part", match_sizes_by="names")
    for row in rows:
        wanted = stability_index_of(*PAIRS[row["part"]], match_sizes_by="names")
        assert row["population_stability_index"] == (wanted and pytest.approx(wanted, rel=1e-9))


def test_an_unknown_way_to_match_sizes(side: Engine) -> None:
    with pytest.raises(
        Exception, match="match_sizes_by: expected one of 'ids', 'names', got 'size'"
    ):
        index_of(side, "a", "a", match_sizes_by="size")
