"""Calls that are repeated on LazyFrames: the first of a table, and a part of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import engines, replay, seeds, tiers

if TYPE_CHECKING:
    from tests.support.engines import Row

FRAME = pl.DataFrame({"label": [0, 0, 1], "cluster": [0, 1, 1]})
ROWS = [{"n": 3, "score": 0.5}]


@pytest.fixture(autouse=True)
def nothing_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_repeated", set())


def test_the_first_call_of_a_table_is_due() -> None:
    for function in ("external_report", "internal_report"):
        assert replay.is_due(function)


def test_a_part_of_the_other_calls_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    for seed in range(4):
        monkeypatch.setattr(seeds, "first", seed)
        monkeypatch.setattr(replay, "_test", "another")
        replay.is_due("external_report")
        drawn.append([replay.is_due("external_report") for _ in range(2000)])
        assert 0.7 < sum(drawn[-1]) * tiers.PARTS_OF_CALLS / 2000 < 1.3
    assert len(set(map(tuple, drawn))) == 4


def test_what_is_due_is_decided_by_the_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def due(name: str) -> list[bool]:
        monkeypatch.setenv("PYTEST_CURRENT_TEST", f"{name} (call)")
        return [replay.is_due("external_report") for _ in range(50)]

    due("warm-up")
    first, other = due("test_a"), due("test_b")
    assert due("test_a") == first != other


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


def test_expressions_are_repeated_on_both_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    collected = []
    collect = pl.LazyFrame.collect

    def watched(lazy: pl.LazyFrame, **options: object) -> object:
        collected.append(options.get("engine"))
        return collect(lazy, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(pl.LazyFrame, "collect", watched)
    engine = engines.make("polars")
    rows = engine.scalars(FRAME, metrics=["purity"])
    assert collected == ["in-memory", "in-memory", "streaming"]
    assert rows == engines.make("polars-streaming").scalars(FRAME, metrics=["purity"])


@pytest.mark.parametrize("function", ["external_report", "contingency_matrix"])
def test_a_table_is_repeated_from_lazy_frames(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    ask = getattr(ce, function)

    def watched(frame: Any, *columns: str) -> Any:
        given.append(type(frame))
        return ask(frame, *columns)

    monkeypatch.setattr(ce, function, watched)
    engines.make("polars").table(function, FRAME)
    assert given == [pl.DataFrame, pl.LazyFrame, pl.LazyFrame]
