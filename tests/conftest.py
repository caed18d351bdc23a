"""The engine is a fixture: `engine` for each one, `side` for DuckDB and Polars in memory.

A test of numbers takes `engine`. Errors, arguments and names take `side`, as streaming only changes
how Polars executes a query.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support import engines, seeds

if TYPE_CHECKING:
    from pathlib import Path

# A first call on a cold engine takes long, hence no deadline. --hypothesis-profile=fresh draws new
# examples each time, those of --hypothesis-seed if it is given; `thorough` looks further than there
# is time for on every run.
settings.register_profile("quick", deadline=None, max_examples=10, derandomize=True)
settings.register_profile("fresh", deadline=None, max_examples=10, database=None)
settings.register_profile("thorough", deadline=None, max_examples=300)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        action="append",
        choices=engines.ENGINES,
        help="run on this engine only; may be given again",
    )
    parser.addoption(
        "--share-of-wide",
        type=float,
        default=1.0,
        help="share of the wide tests to run, drawn by --hypothesis-seed",
    )


def pytest_configure(config: pytest.Config) -> None:
    seeds.set_first(config.getoption("--hypothesis-seed"))


def pytest_unconfigure() -> None:
    """Keep the closing line last: DuckDB's binding lists at exit what Python has not freed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the wide tests that are not drawn."""
    share = config.getoption("--share-of-wide")
    left_out = [
        item
        for item in items
        if item.get_closest_marker("wide") and not seeds.is_drawn(item.nodeid, share)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        dropped = {id(item) for item in left_out}
        items[:] = [item for item in items if id(item) not in dropped]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--engine") or engines.ENGINES
    for fixture, names in (("engine", engines.ENGINES), ("side", engines.SIDES)):
        if fixture in metafunc.fixturenames:
            wanted = [name for name in names if name in chosen]
            metafunc.parametrize(fixture, wanted, indirect=True, scope="session")


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of the tests' own, in which `register` keeps the macros."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def engine(request: pytest.FixtureRequest) -> engines.Engine:
    return engines.make(request.param)


@pytest.fixture(scope="session")
def side(request: pytest.FixtureRequest) -> engines.Engine:
    return engines.make(request.param)


@pytest.fixture(scope="session")
def every_engine(pytestconfig: pytest.Config) -> list[engines.Engine]:
    """All engines in one test, where the expected values take longer than the engines."""
    return [engines.make(name) for name in pytestconfig.getoption("--engine") or engines.ENGINES]
