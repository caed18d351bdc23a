"""How much has changed from one run to the next: against sets of ids, scikit-learn and by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
)

if TYPE_CHECKING:
    from tests.support.engines import Engine


def test_drift_by_sets_and_scikit_learn(engine: Engine) -> None:
    rows = call_pair(engine, "run_drift", BEFORE, AFTER, partition_by="part")
    found = by_value(rows, "part")
    for number, pair in enumerate(PAIRS):
        if pair[0] or pair[1]:
            assert_drift(found[number][0], drift_of_pair(number), number)


def test_the_stability_index_of_three_names(side: Engine) -> None:
    """By hand: a and b have two rows of four, then one; c has none, counted as a half, then two."""
    before, after = (
        pl.DataFrame({"id": range(4), "cluster": list(letters)}) for letters in ("aabb", "abcc")
    )
    (row,) = call_pair(side, "run_drift", before, after)
    # 2 (0.5 - 0.25) ln 2 + (0.5 - 0.125) ln 4
    assert row["population_stability_index"] == pytest.approx(0.8664339756999316, rel=1e-14)
