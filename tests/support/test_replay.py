"""Calls that are repeated on LazyFrames: other rows than those of the DataFrame are an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import replay

if TYPE_CHECKING:
    from tests.support.engines import Row

ROWS = [{"n": 3, "score": 0.5}]


@pytest.fixture(autouse=True)
def nothing_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_repeated", set())


@pytest.mark.parametrize("streamed", [[], [{"n": 3, "score": 0.6}], [{"score": 0.5, "n": 3}], None])
def test_other_rows_fail(streamed: list[Row]) -> None:
    with pytest.raises(AssertionError, match="pair_counts of LazyFrames, in-memory"):
        replay.repeat("pair_counts", ROWS, lambda _: streamed)
    replay.repeat("pair_counts", ROWS, lambda _: ROWS)


@pytest.mark.parametrize(("correction", "fails"), [(2e-11, False), (1.0, True), (None, True)])
def test_a_mean_is_compared_whole(correction: float | None, fails: bool) -> None:
    """The last digits of a mean, in a column of their own, differ from plan to plan."""
    rows = [{"mean": [7e5], "mean_correction": [-4e-11]}]
    found = [{"mean": [7e5], "mean_correction": correction and [correction]}]
    if fails:
        with pytest.raises(AssertionError, match="cluster_states of LazyFrames, in-memory"):
            replay.repeat("cluster_states", rows, lambda _: found)
    else:
        replay.repeat("cluster_states", rows, lambda _: found)
