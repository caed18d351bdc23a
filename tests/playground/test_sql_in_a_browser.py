"""The SQL of the pages in DuckDB-Wasm: every block runs, with the results of DuckDB elsewhere."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from tools.page_session import open_session
from tools.playground import Block, list_blocks

if TYPE_CHECKING:
    import duckdb

    from tests.playground.site import Site

TOLERANCE = 1e-12
Result = tuple[list[str], list[list[Any]]]

SCRIPT = """
  const { Session, times } = await import("/playground/engine.js");
  const results = [];
  for (const blocks of %s) {
    const session = await Session.open(() => {});
    for (const sql of blocks) {
      try {
        const last = (await session.run(sql)).at(-1);
        results.push(last && [last.columns.map(({ name }) => name), last.rows]);
      } catch (error) {
        results.push(String(error));
      }
    }
    await session.close();
  }
  return { results, times };
"""


def run_elsewhere(pages: Sequence[Sequence[Block]]) -> list[Result | None]:
    """The last result of each block; each page has a session of its own, as in the browser."""
    results = []
    for blocks in pages:
        with open_session() as con:
            results += [run_block(con, block.sql) for block in blocks]
    return results


def run_block(con: duckdb.DuckDBPyConnection, sql: str) -> Result | None:
    """The result of the last statement, None if that has no rows to show."""
    con.execute(sql)
    names = [column[0] for column in con.description or []]
    rows = [list(map(to_plain, row)) for row in con.fetchall()]
    return None if names in (["Count"], ["Success"], []) else (names, rows)


def to_plain(value: Any) -> Any:
    """A value as the browser has it."""
    if isinstance(value, Mapping):
        return {name: to_plain(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(x) for x in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return str(value) if isinstance(value, date | datetime) else value


def difference(one: Any, other: Any) -> float:
    """The largest relative difference of numbers; infinite if anything else differs."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        same = list(one) == list(other)
        return difference(list(one.values()), list(other.values())) if same else math.inf
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return math.inf
        return max(map(difference, one, other), default=0.0)
    if is_number(one) and is_number(other):
        largest = max(abs(one), abs(other))
        return abs(one - other) / largest if largest else 0.0
    if isinstance(one, int) and isinstance(other, str):  # of more digits than a double has
        return 0.0 if str(one) == other else math.inf
    return 0.0 if one == other and type(one) is type(other) else math.inf


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def sort_rows(rows: list[list[Any]]) -> list[list[Any]]:
    """Rows in an order that does not depend on the last digits of numbers."""
    return sorted(rows, key=lambda row: json.dumps(round_numbers(row), default=str))


def round_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [round_numbers(x) for x in value]
    return f"{value:.9e}" if isinstance(value, float) else value


def difference_of_results(one: Result, other: Result) -> float:
    """The difference in order, or of the sorted rows: not every query orders its rows."""
    if one[0] != other[0]:
        return math.inf
    in_order = difference(one[1], other[1])
    sorted_rows = difference(sort_rows(one[1]), sort_rows(other[1]))
    return min(in_order, sorted_rows)


@pytest.mark.wide
def test_every_block_has_the_same_result(site: Site) -> None:
    by_page = [list(group) for _, group in groupby(list_blocks(), key=lambda block: block.page)]
    found = site.browse("index.html", SCRIPT % json.dumps([[x.sql for x in y] for y in by_page]))
    assert not found.strangers
    differences = {}
    both = zip(list_blocks(), run_elsewhere(by_page), found.result["results"], strict=True)
    for place, (block, native, browser) in enumerate(both):
        name = f"{place}, {block.page}: {block.heading}"
        assert not isinstance(browser, str), f"{name}: {browser}"
        assert (native is None) == (browser is None), name
        if native is not None:
            differences[name] = difference_of_results(native, tuple(browser))
    assert len(differences) > 130
    assert not {name: x for name, x in differences.items() if x > TOLERANCE}


@pytest.mark.parametrize(
    "other",
    [
        (["x", "name"], [[1.0, "a"], [2.0 + 1e-11, "b"]]),
        (["x", "name"], [[1.0, "a"], [None, "b"]]),
        (["x", "name"], [[1.0, "a"], ["NaN", "b"]]),
        (["x", "name"], [[1.0, "a"]]),
        (["x", "name"], [[1.0, "b"], [2.0, "a"]]),
        (["x", "label"], [[1.0, "a"], [2.0, "b"]]),
        (["x", "name"], [[True, "a"], [2.0, "b"]]),
    ],
)
def test_another_result_is_found(other: Result) -> None:
    result: Result = (["x", "name"], [[1.0, "a"], [2.0, "b"]])
    assert difference_of_results(result, (["x", "name"], [[2.0, "b"], [1.0, "a"]])) == 0
    assert difference_of_results(result, other) > TOLERANCE
