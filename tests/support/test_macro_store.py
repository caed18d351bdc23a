"""The store of macros: what a cursor finds, and what it must not find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from polars_clustereval.macros import macros_called_by, register_macro
from tests.support.macro_store import MacroStore

if TYPE_CHECKING:
    from pathlib import Path

IN_MEMORY: dict[str, Any] = {"read_only": False, "config": {"enable_external_access": True}}
NAMES = (
    "SELECT function_name, parameters, macro_definition FROM duckdb_functions() "
    "WHERE NOT internal AND function_type IN ('macro', 'table_macro') ORDER BY ALL"
)


def test_the_macros_are_those_of_a_database_of_its_own() -> None:
    store, name = MacroStore(), "silhouette_samples"
    with store.connect(":memory:", **IN_MEMORY) as cursor, duckdb.connect() as own:
        store.register_macro(cursor, name)
        register_macro(own, name)
        found = cursor.execute(NAMES).fetchall()
        assert found == own.execute(NAMES).fetchall()
        assert len(found) == len(macros_called_by(name))


def test_a_macro_that_is_not_registered_is_not_found() -> None:
    store = MacroStore()
    query = "SELECT clustereval_parse_vector('1 2')"
    with store.connect(":memory:", **IN_MEMORY) as first:
        store.register_macro(first, "parse_vector")
        store.register_macro(first, "external_report")
        assert first.execute(query).fetchall() == [([1.0, 2.0],)]
    with store.connect(":memory:", **IN_MEMORY) as second:
        store.register_macro(second, "external_report")
        with pytest.raises(duckdb.CatalogException, match="clustereval_parse_vector"):
            second.execute(query)
        store.register_macro(second, "parse_vector")
        assert second.execute(query).fetchall() == [([1.0, 2.0],)]


def test_cursors_share_no_views() -> None:
    store = MacroStore()
    with store.connect(":memory:", **IN_MEMORY) as first:
        first.execute("CREATE TEMPORARY VIEW clustereval_input AS SELECT 1")
        second = store.connect(":memory:", **IN_MEMORY)
        with second, pytest.raises(duckdb.CatalogException, match="clustereval_input"):
            second.execute("FROM clustereval_input")


def test_other_databases_are_opened_as_they_are(tmp_path: Path) -> None:
    store, path = MacroStore(), f"{tmp_path}/rows.duckdb"
    duckdb.connect(path).close()
    config = {"enable_external_access": False}
    with store.connect(path, read_only=True, config=config) as connection:
        store.register_macro(connection, "parse_vector")
        query = "SELECT current_setting('enable_external_access'), clustereval_parse_vector('1')"
        assert connection.execute(query).fetchall() == [(False, [1.0])]
        with pytest.raises(duckdb.InvalidInputException, match="read-only"):
            connection.execute("CREATE TABLE t AS SELECT 1")
    with store.connect(":memory:", read_only=False, config=config) as connection:
        query = "SELECT current_setting('enable_external_access')"
        assert connection.execute(query).fetchall() == [(False,)]
