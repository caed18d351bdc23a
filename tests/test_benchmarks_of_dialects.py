"""benchmarks.dialects: every table of to_sql, answers compared first, and the table of the page."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from benchmarks import dialects, pages
from benchmarks.dialects import Size
from polars_clustereval.base.tables import declared_tables

SMALL = Size(200, 5)


def test_every_table_is_measured() -> None:
    portable = {name for name, x in declared_tables().items() if x.is_portable}
    assert dialects.CALLS.keys() == portable


@pytest.mark.gate
@pytest.mark.parametrize("name", ["external_report", "centroids"])
def test_a_call_is_timed_and_compared(name: str) -> None:
    assert 0 < dialects.compare_call(name, "datafusion", SMALL) < 60


def test_other_answers_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"duckdb": [{"n": 1}], "datafusion": [{"n": 2}]}
    monkeypatch.setattr(dialects, "run_call", lambda _, engine, __: (answers[engine], 1.0))
    with pytest.raises(AssertionError):
        dialects.compare_call("pair_counts", "datafusion", SMALL)


def test_a_limit_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(command: list[str], **options: Any) -> None:
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(subprocess, "run", stop)
    assert dialects.time_call("pair_counts", "postgres", SMALL, 20) == "> 20"


def test_the_table_of_the_page() -> None:
    results = {
        "Queries of to_sql, 10 rows": {("pair_counts", "to_sql"): ["0.1234", "> 60"]},
        "Queries of to_sql, 20 rows": {("pair_counts", "to_sql"): ["12.34", "0.5"]},
    }
    assert pages.BLOCKS["dialects"](results)[2:] == ["| `pair_counts` | 0.12 / > 60 | 12 / 0.5 |"]
