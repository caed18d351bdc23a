"""Queries of to_sql on 20,000 rows: plans that are fast on a few rows may not end on many."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

from benchmarks.dialects import CALLS, Size, make_tables, write_call
from tests.support.sql_answers import (
    ask_macro,
    assert_answers,
    connect_macros,
    started_engine,
    write_query,
)
from tests.support.sql_engines import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.sql_engines import Rows, Run, Tables

pytestmark = pytest.mark.wide

SIZE = Size(20_000, 50)


@cache
def large_tables() -> Tables:
    return make_tables(SIZE)


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with started_engine(request.param, large_tables(), tmp_path_factory) as run:
        yield run


@cache
def rows_in_duckdb(name: str) -> Rows:
    with duckdb.connect() as con:
        for table, frame in large_tables().items():
            con.register(table, frame)
        return rows_of(con.execute(write_call(name, "duckdb")))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("run", "dialect"),
    [(name, name) for name in ("datafusion", "clickhouse", "postgres")],
    indirect=["run"],
    scope="module",
)
def test_many_rows(run: Run, dialect: str, name: str) -> None:
    """The limit of CPU time of a test is that of the query."""
    assert_answers(run(write_call(name, dialect)), rows_in_duckdb(name), name)


@pytest.mark.parametrize(
    ("dialect", "steps"),
    [("duckdb", True), ("datafusion", True), ("datafusion", False), ("clickhouse", True)],
)
def test_singletons_keep_their_numbers(
    dialect: str, steps: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Several threads read many rows in another order each time: 30 of them are noise."""
    i = pl.int_range(300_000)
    kind = pl.when(i % 9_999 == 5).then(-1).otherwise(i % 6)
    points = pl.select(kind=kind, x=kind * 3 + (i * 7919 % 1009) / 1009, y=(i * 104_729 % 997) / 99)
    call = "internal_report(points, [x, y], kind, noise := -1, noise_as := 'singletons')"
    expected = ask_macro(connect_macros({"points": points}), f"FROM clustereval.{call}")
    given = {"vector": ["x", "y"], "cluster": "kind", "noise": -1, "noise_as": "singletons"}
    query = write_query("internal_report", dialect, "points", steps=steps, **given)
    with started_engine(dialect, {"points": points}, tmp_path_factory) as run:
        assert_answers(run(query), expected)
