"""How large the plans of all macros are: the time of a call on few rows, without a clock.

A call on few rows costs its plan: the operators, and the expressions that they compute. Both have a
limit for two calls of each table and for the aggregates, in plan_sizes.txt. A change that raises
one says so there, and one that needs less lowers it: ``python -m tests.test_plan_sizes`` writes the
sizes of the present macros.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pytest

from tests import test_session_settings as session

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMITS = Path(__file__).with_name("plan_sizes.txt")
#: The share by which a plan may differ from the one that was written, before a test fails.
SLACK = 0.05


class Size(NamedTuple):
    operators: int
    expressions: int


@cache
def read_limits() -> tuple[str, dict[str, Size]]:
    """The version of DuckDB whose plans were measured, and the size of the plan of each call."""
    version, *lines = LIMITS.read_text("utf-8").splitlines()
    fields = [line.split(" ", 2) for line in lines]
    return version, {call: Size(int(n), int(m)) for n, m, call in fields}


def size_of_plan(con: duckdb.DuckDBPyConnection, query: str) -> Size:
    [(_, text)] = con.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
    nodes = [node for root in json.loads(text) for node in operators(root)]
    details = [value for node in nodes for value in node["extra_info"].values()]
    return Size(len(nodes), sum(len(value) for value in details if isinstance(value, list)))


def operators(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from operators(child)


@pytest.fixture(scope="module")
def planning() -> duckdb.DuckDBPyConnection:
    return connect()


def connect() -> duckdb.DuckDBPyConnection:
    return session.connect(after="SET threads = 1")


@pytest.mark.each
@pytest.mark.parametrize("call", session.CALLS)
def test_a_plan_is_no_larger_than_stated(planning: duckdb.DuckDBPyConnection, call: str) -> None:
    """Another version of DuckDB plans in another way: what holds there is that it plans at all."""
    version, limits = read_limits()
    found, limit = size_of_plan(planning, call), limits[call]
    assert found.operators > 1
    if duckdb.__version__ == version:
        for size, most in zip(found, limit, strict=True):
            assert size <= most * (1 + SLACK), f"{found}: more than {limit}"
            assert size >= most * (1 - SLACK), f"{found}: write the lower limit, see above"


def test_the_limits_are_those_of_all_calls() -> None:
    assert list(read_limits()[1]) == session.CALLS


def test_a_larger_plan_has_a_larger_size(planning: duckdb.DuckDBPyConnection) -> None:
    small = size_of_plan(planning, "SELECT x FROM points")
    large = size_of_plan(planning, "SELECT x + 1, y * 2, sum(z) FROM points GROUP BY ALL")
    assert small.operators < large.operators
    assert small.expressions < large.expressions


if __name__ == "__main__":
    sizes = [(size_of_plan(con, call), call) for con in [connect()] for call in session.CALLS]
    lines = [f"{size.operators} {size.expressions} {call}" for size, call in sizes]
    LIMITS.write_text("\n".join([duckdb.__version__, *lines, ""]), "utf-8")
