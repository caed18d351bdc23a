"""Random tables on both engines: a few in the gate, with new seeds; thousands with -m slow."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests import fuzz, fuzz_pairs

pytestmark = pytest.mark.gate

TABLES = [*fuzz.POINT_TABLES, *fuzz.LABEL_TABLES]


@pytest.mark.gate
@pytest.mark.parametrize("table", TABLES)
def test_the_engines_agree(table: str) -> None:
    print(fuzz.fuzz_table(table, fuzz.FRAMES_PER_CALL, seed=random.SystemRandom().randrange(10**9)))


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_the_engines_agree_on_thousands(table: str) -> None:
    count = fuzz.fuzz_table(table, 2000, seed=2026)
    assert count.values > 5 * count.frames


@pytest.mark.gate
@pytest.mark.parametrize("table", fuzz_pairs.TABLES)
def test_the_engines_agree_on_two_tables(table: str) -> None:
    seed = random.SystemRandom().randrange(10**9)
    print(fuzz_pairs.fuzz_pair_table(table, fuzz.FRAMES_PER_CALL, seed))


@pytest.mark.slow
@pytest.mark.parametrize("table", fuzz_pairs.TABLES)
def test_the_engines_agree_on_thousands_of_two_tables(table: str) -> None:
    count = fuzz_pairs.fuzz_pair_table(table, 2000, seed=2026)
    assert count.values > 5 * count.frames
    assert not count.errors


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("graph_report", "modularity"),
        ("graph_cluster_report", "n_bridges"),
        ("run_transitions", "n_common"),
        ("overlapping_report", "omega_index"),
    ],
)
def test_a_difference_of_two_tables_is_found(
    monkeypatch: pytest.MonkeyPatch, table: str, column: str
) -> None:
    true_outcome = fuzz_pairs.outcome_of_pair

    def outcome(name: str, *given: Any) -> Any:
        rows = true_outcome(name, *given)
        assert isinstance(rows, list)
        if name == "duckdb":
            return rows
        return [row | {column: row[column] and row[column] * (1 + 1e-8)} for row in rows]

    monkeypatch.setattr(fuzz_pairs, "outcome_of_pair", outcome)
    with pytest.raises(AssertionError, match=f"{column}: "):
        fuzz_pairs.fuzz_pair_table(table, fuzz.FRAMES_PER_CALL, seed=3)


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
