"""Fixtures for the command line: calls of it in this process, and files to read."""

from __future__ import annotations

import re
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING

import duckdb
import pytest

from polars_clustereval.cli import engines, files, main, progress
from tests.support.command_line import (
    ENGINE_NAMES,
    FRAME,
    ODD,
    POINTS,
    TOLD_BY_COUNTS,
    UNNAMED_NOISE,
)
from tests.support.engines import quoted
from tests.support.macro_store import MacroStore

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Noted, Run


@pytest.fixture(params=ENGINE_NAMES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make lines wide enough for the path of any clone."""
    monkeypatch.setenv("COLUMNS", "500")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lines about progress, however slow the machine is."""
    monkeypatch.setattr(progress, "LINE_INTERVAL", inf)


@pytest.fixture(scope="session")
def macro_store() -> MacroStore:
    return MacroStore()


@pytest.fixture
def own_database() -> None:
    """For tests of the whole way: each call opens a database and creates its macros there."""


@pytest.fixture(autouse=True)
def _shared_macros(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create the macros of a report once for all calls in this process; see MacroStore.

    Not for tests with the fixture `own_database`, nor for inputs that are databases.
    """
    if "own_database" in request.fixturenames:
        return
    store: MacroStore = request.getfixturevalue("macro_store")
    names = vars(duckdb) | {"connect": store.connect}
    monkeypatch.setattr(files, "duckdb", SimpleNamespace(**names))
    monkeypatch.setattr(engines, "register_macro", store.register_macro)


@pytest.fixture
def noted(capfd: pytest.CaptureFixture[str]) -> Noted:
    """Call for an output and for the notes on standard error."""

    def call(*arguments: str | Path) -> tuple[str, str]:
        assert main([str(argument) for argument in arguments]) == 0
        return tuple(capfd.readouterr())

    return call


@pytest.fixture
def run(noted: Noted) -> Run:
    """Call for an output without a note, but for those on a cluster -1 and on rows left out."""

    def call(*arguments: str | Path) -> str:
        out, err = noted(*arguments)
        assert TOLD_BY_COUNTS.sub("", UNNAMED_NOISE.sub("", err)) == ""
        return out

    return call


@pytest.fixture
def fail(capfd: pytest.CaptureFixture[str]) -> Fail:
    """Call for an error, which is given without the program's name."""

    def call(*arguments: str | Path) -> str:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        out, err = capfd.readouterr()
        assert (status, out) == (2, "")
        assert re.fullmatch(r"clustereval: error: .+\n", err)
        return err.removeprefix("clustereval: error: ").removesuffix("\n")

    return call


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "frame.parquet"
    FRAME.write_parquet(path)
    return path


@pytest.fixture
def points(tmp_path: Path) -> Path:
    path = tmp_path / "points.parquet"
    POINTS.write_parquet(path)
    return path


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = str(tmp_path / "store.duckdb")
    with duckdb.connect(path) as connection:
        connection.register("frame", FRAME)
        connection.execute(f"CREATE SCHEMA other; CREATE TABLE {quoted(ODD)} AS FROM frame")
        connection.execute("CREATE TABLE rows AS FROM frame; CREATE TABLE other.rows AS FROM rows")
        connection.execute("CREATE VIEW seen AS FROM rows")
        connection.execute('CREATE TABLE "main.dots" AS FROM rows')
    return path
