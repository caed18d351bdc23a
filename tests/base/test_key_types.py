"""Every table with keys of every type: both engines return the same rows, or the same error."""

from __future__ import annotations

import pytest

from tests.support import registry
from tests.support.engines import make, words_of
from tests.support.key_types import KEY_TYPES
from tests.support.point_engines import assert_points
from tests.support.table_calls import calls_of_tables

TABLES = registry.tables()
#: Of these the order of rows is that of the user's table.
UNORDERED = registry.tables("nominal values")
#: Which of several equally near clusters is named depends on the last digit.
NAMES_OF_TIES = ("neighbor", "nearest_cluster")
#: DuckDB takes a column of untyped NULLs for one that is missing.
WITH_A_CLUSTER = registry.tables("states")


def pairs() -> list[object]:
    """Each table with each type; one type for each table is tried in every run."""
    types = list(KEY_TYPES)
    return [
        pytest.param(table, name, marks=() if (i - j) % len(types) == 0 else (pytest.mark.wide,))
        for i, table in enumerate(TABLES)
        for j, name in enumerate(types)
    ]


@pytest.mark.parametrize(("table", "name"), pairs())
def test_keys_of_a_type(table: str, name: str) -> None:
    key_type = KEY_TYPES[name]
    call = calls_of_tables(max(len(key_type.values), 1))[table]
    sides = ("polars", "polars-streaming")
    side = sides[(TABLES.index(table) + list(KEY_TYPES).index(name)) % 2]
    theirs, ours = (call.outcome(make(engine), key_type) for engine in ("duckdb", side))
    if isinstance(theirs, str) or isinstance(ours, str):
        assert isinstance(theirs, str), ours
        assert isinstance(ours, str), theirs
        if not (table in WITH_A_CLUSTER and name == "NULL"):
            assert ours == words_of(side, theirs)
        return
    if table in UNORDERED:
        theirs, ours = sorted(theirs, key=repr), sorted(ours, key=repr)
    assert_points(ours, theirs, tolerance=1e-9, floor=1e-11, without=NAMES_OF_TIES)
