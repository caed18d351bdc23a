"""Queries of to_sql for the tests, what the macros answer, and the comparison of the two."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

import polars_clustereval as ce
from tests.support import engines, sql_engines
from tests.support.sql_engines import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from tests.support.sql_engines import Rows, Run, Tables

#: A name for the table of a query, which every dialect quotes.
_PLACEHOLDER = "the table"
_queries: dict[str, str] = {}


def write_query(name: str, dialect: str, tbl: str, **options: Any) -> str:
    """The query of to_sql on a table of this name.

    A report takes more than a second to translate: the text is kept for every table.
    """
    key = repr((name, dialect, sorted(options.items())))
    if key not in _queries:
        _queries[key] = ce.to_sql(name, dialect=dialect, tbl=f'"{_PLACEHOLDER}"', **options)
        assert _PLACEHOLDER in _queries[key]
    return _queries[key].replace(_PLACEHOLDER, tbl)


@contextmanager
def started_engine(
    dialect: str, tables: Tables, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Run]:
    """The engine of a dialect with these tables; the test is skipped where it cannot run."""
    reason = sql_engines.reason_to_skip(dialect)
    if reason:
        pytest.skip(reason)
    with sql_engines.ENGINES[dialect](tables, tmp_path_factory.mktemp(dialect)) as run:
        yield run


def connect_macros(tables: dict[str, pl.DataFrame]) -> duckdb.DuckDBPyConnection:
    """A cursor of the registered connection with these tables."""
    cursor = engines.make("duckdb").connection.cursor()
    for name, table in tables.items():
        cursor.register(name, table)
    return cursor


def ask_macro(connection: duckdb.DuckDBPyConnection, query: str, **values: Any) -> Rows:
    return rows_of(connection.execute(query, values))


def is_answer(found: Any, expected: Any) -> bool:
    """Whether values are the same: engines differ in the types of numbers and texts."""
    found = found.decode() if isinstance(found, bytes) else found
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(is_answer, found, expected))
    if found is None or expected is None or isinstance(expected, str):
        return bool(found == expected)
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)


def assert_answers(actual: Rows, expected: Rows, what: object = None) -> None:
    """The same rows in the same order, within 1e-9."""
    assert len(actual) == len(expected), what
    for row, wanted in zip(actual, expected, strict=True):
        assert list(row) == list(wanted), what
        wrong = {k: (row[k], wanted[k]) for k in wanted if not is_answer(row[k], wanted[k])}
        assert not wrong, what


def parse_query(text: str) -> exp.Select:
    query = sqlglot.parse_one(text, dialect="duckdb")
    assert isinstance(query, exp.Select)
    return query


def unordered_rows(query: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """The names and the rows, which have no order."""
    with duckdb.connect() as con:
        answer = con.execute(query)
        names = [column[0] for column in answer.description or ()]
        return names, sorted(answer.fetchall(), key=str)
