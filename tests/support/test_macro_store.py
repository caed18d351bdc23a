"""The store of macros: a cursor does not find what was not registered for it."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from tests.support.macro_store import MacroStore

IN_MEMORY: dict[str, Any] = {"read_only": False, "config": {"enable_external_access": True}}


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
