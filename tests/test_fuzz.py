"""Random tables on both engines: a few in every run, with new seeds; thousands with -m slow."""

from __future__ import annotations

import random

import pytest

from tests import fuzz

TABLES = [*fuzz.POINT_TABLES, *fuzz.LABEL_TABLES]


@pytest.mark.parametrize("table", TABLES)
def test_the_engines_agree(table: str) -> None:
    print(fuzz.fuzz_table(table, fuzz.FRAMES_PER_CALL, seed=random.SystemRandom().randrange(10**9)))


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_the_engines_agree_on_thousands(table: str) -> None:
    count = fuzz.fuzz_table(table, 2000, seed=2026)
    assert count.values > 5 * count.frames


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is off by 1e-8 in one column, or gives NaN, does not agree."""
    true_outcome = fuzz.outcome
    for wrong in (lambda x: x * (1 + 1e-8), lambda _: float("nan")):

        def outcome(engine: str, *given: object, **options: object) -> object:
            rows = true_outcome(engine, *given, **options)
            if engine == "duckdb":
                return rows
            return [row | {"ssw": wrong(row["ssw"])} for row in rows]  # noqa: B023

        monkeypatch.setattr(fuzz, "outcome", outcome)
        monkeypatch.setattr(fuzz, "is_excused", lambda *_: False)
        with pytest.raises(AssertionError, match="ssw: "):
            fuzz.fuzz_table("internal_report", fuzz.FRAMES_PER_CALL, seed=3)
