"""The rows at which a call takes a minute: what is measured, and what follows from it."""

from __future__ import annotations

import polars as pl
import pytest

import polars_clustereval as ce
from benchmarks import minutes, pages
from benchmarks.minutes import Measured, Size
from polars_clustereval.base.tables import declared_tables


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        # 0.1 s for any call; then rows²: 1 + 3 = 4 times as long, and 60 s are √15 as many rows
        ([(1000, 0.1), (2000, 1.1), (4000, 4.1)], ("≈ 15,000", "n^2.0")),
        # as many seconds as rows: 30 times as many for a minute
        ([(1000, 0.1), (10_000, 1.1), (20_000, 2.1)], ("≈ 600,000", "n^1.0")),
        # more than six seconds: not ten times as many
        ([(1000, 0.0), (10_000, 5.0), (20_000, 10.0)], ("120,000", "n^1.0")),
        ([(1000, 0.3), (2000, 0.3), (4000, 0.1)], ("≈ 240,000,000", "n^1.0")),
        ([(1000, 1.0)], ("", "")),
        ([], ("", "")),
    ],
)
def test_the_rows_of_a_minute_follow_from_the_growth(
    calls: list[tuple[int, float]], shown: tuple[str, str]
) -> None:
    assert Measured([Size(*x) for x in calls]).show() == shown


def test_refused_rows_are_marked() -> None:
    calls = [Size(1000, 0.0), Size(2000, 7.5), Size(4000, 30.0)]
    assert Measured(calls, is_refused=True).show() == ("5,700 ¹", "n^2.0")


@pytest.mark.parametrize("table", declared_tables())
def test_every_table_can_be_called_with_the_rows(table: str) -> None:
    arguments, options = minutes.call_of(table, declared_tables()[table].kind, 200)
    frames = [x for x in arguments if isinstance(x, pl.DataFrame)]
    assert 100 <= frames[0].height <= 2000
    result = getattr(ce, table)(*arguments, **options)
    assert result.height


def test_the_rows_grow_until_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def take(_: str, arguments: list[pl.DataFrame], __: object) -> float:
        asked.append(arguments[0].height)
        return (arguments[0].height / 1000) ** 2 / 10

    monkeypatch.setitem(minutes.ENGINES, "Polars", take)
    found = minutes.measure("external_report", "Polars", budget=16.0, most=10**6)
    assert [x.rows for x in found.calls] == [1000, 4000, 8000, 16000]
    assert len(asked) == 3 + 1 + 1 + 1
    assert found.growth == pytest.approx(2.0, abs=0.02)
    found = minutes.measure("external_report", "Polars", budget=1e9, most=5000)
    assert [x.rows for x in found.calls] == [1000, 4000]


def test_a_table_that_refuses_rows_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str, arguments: list[pl.DataFrame], __: object) -> float:
        if arguments[0].height > 4000:
            raise ce.ClusterEvalError("max_points")
        return 0.5

    monkeypatch.setitem(minutes.ENGINES, "Polars", refuse)
    found = minutes.measure("pairwise_report", "Polars", budget=4.0, most=10**6)
    assert found.is_refused
    assert [x.rows for x in found.calls] == [1000, 2000, 4000]


def test_the_page_lists_every_table_with_both_engines() -> None:
    of_case = pages.find_case(pages.read_results(), minutes.TITLE)
    assert {name for name, _ in of_case} == declared_tables().keys()
    for (name, kind), cells in of_case.items():
        assert declared_tables()[name].kind == kind
        assert len(cells) == 4
        has_rows = [bool(cells[0]), bool(cells[2])]
        assert has_rows == [declared_tables()[name].has_macro, True]
