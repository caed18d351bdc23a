"""Fixtures of the tests of relative indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import engines

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of the registered connection: its temporary tables and views go with it."""
    with engines.make("duckdb").connection.cursor() as cursor:
        yield cursor
