"""Fixtures of the tests of internal indices: one engine of each side, a registered connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import engines

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

# Streaming differs from Polars in memory only where numbers are computed.
SIDES = ("duckdb", "polars")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "side" in metafunc.fixturenames:
        names = metafunc.config.getoption("--engine") or SIDES
        metafunc.parametrize("side", [name for name in SIDES if name in names], indirect=True)


@pytest.fixture
def side(request: pytest.FixtureRequest) -> engines.Engine:
    """One engine of each side, for errors, arguments and names."""
    return engines.make(request.param)


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of the registered connection: its temporary tables and views go with it."""
    with engines.make("duckdb").connection.cursor() as cursor:
        yield cursor
