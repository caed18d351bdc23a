"""The engine is a fixture: `engine` and `side`, DuckDB and Polars.

Both of Polars' engines are behind its side: a part of its calls is repeated on LazyFrames, see
tests/support/replay.py. A test of numbers takes `engine`, which --engine can make the streaming
engine; errors, arguments and names, which do not depend on it, take `side`.
"""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support import budget, engines, seeds, tiers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engine",
        action="append",
        choices=engines.ENGINES,
        help="run on this engine only; may be given again",
    )
    parser.addoption(
        "--tier",
        choices=tiers.TIERS,
        default="all",
        help="which tests to take: see tests/support/tiers.py",
    )
    parser.addoption(
        "--most-plans",
        type=int,
        help="fail if the tests take more CPU time: see tests/support/budget.py",
    )


def pytest_configure(config: pytest.Config) -> None:
    # For the workers, which share the cores: threads of numpy that wait for each other take CPU
    # time, on a busy machine ten times that of the work itself.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    tier, seed = config.getoption("--tier"), config.getoption("--hypothesis-seed")
    seeds.set_first(seed)
    # No deadline: a first call on a cold engine takes long.
    settings.register_profile(
        "tier",
        deadline=None,
        max_examples=tiers.EXAMPLES[tier],
        derandomize=seed is None,
        database=None,
    )
    # Looks further than there is time for on every run.
    settings.register_profile("thorough", deadline=None, max_examples=300)
    settings.load_profile(config.getoption("--hypothesis-profile") or "tier")
    config.pluginmanager.register(budget.Budget(config.getoption("--most-plans")))


def pytest_collection_finish() -> None:
    """Leave the thousands of tests out of every later garbage collection."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Keep the closing line last: DuckDB's binding lists at exit what Python has not freed."""
    gc.unfreeze()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@pytest.hookimpl(trylast=True)  # after -k and -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that the tier does not take."""
    taken = tiers.take(map(describe_case, items), config.getoption("--tier"), seeds.first)
    left_out = [item for item, stays in zip(items, taken, strict=True) if not stays]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item, stays in zip(items, taken, strict=True) if stays]


#: The parameters that say where a test runs, and not what it runs.
ENGINES = ("engine", "side", "engine_name")


def describe_case(item: pytest.Item) -> tiers.Case:
    call = getattr(item, "callspec", None)
    given = {} if call is None else call.params
    return tiers.Case(
        item.nodeid.partition("[")[0],
        # Values need not be hashable, and those of one list are the same objects for every engine.
        tuple((name, id(value)) for name, value in given.items() if name not in ENGINES),
        frozenset(mark.name for mark in item.iter_markers()),
        number_of_examples(item) > 1,
    )


def number_of_examples(item: pytest.Item) -> int:
    """How many examples Hypothesis draws for a test in this run, 0 for a test without it."""
    function = getattr(item, "obj", None)
    if not getattr(function, "is_hypothesis_test", False):
        return 0
    given: settings = getattr(function, "_hypothesis_internal_use_settings", settings.default)
    return given.max_examples


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = metafunc.config.getoption("--engine") or engines.SIDES
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


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor of the registered connection: its temporary tables and views go with it."""
    with engines.make("duckdb").connection.cursor() as cursor:
        yield cursor


@pytest.fixture(scope="session")
def every_engine(pytestconfig: pytest.Config) -> list[engines.Engine]:
    """All engines in one test, where the expected values take longer than the engines."""
    return [engines.make(name) for name in pytestconfig.getoption("--engine") or engines.SIDES]
