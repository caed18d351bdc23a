"""The oldest declared versions of the engines, and a middle pair, answer as the newest do.

A selection of each area is asked in an environment of each pair: every table macro and aggregate,
every frame function and expression, to_sql, the command line, and macros copied from the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from itertools import cycle, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.dialects import EXECUTED_DIALECTS, queries
from tests import test_session_settings
from tests.support import command_line, registry
from tests.support.compare import is_near

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Older versions of sqlglot write the same queries with a NULLIF more here and there.
SQLGLOT = f"sqlglot=={version('sqlglot')}"
#: The packages of each environment; the newest is that of the tests.
VERSIONS = {
    "oldest": [*(x.replace(">=", "==") for x in PROJECT["dependencies"]), SQLGLOT],
    "middle": ["duckdb==1.5.6", "polars==2.0.0", "numpy", SQLGLOT],
}
AREAS = ("sql", "polars", "expressions", "to_sql", "commands")

#: The frames of the calls in Polars, by name: queries of the tables of test_session_settings.
FRAMES = {
    "points": "SELECT *, [x, y, z] AS vector, 1 + weight % 3 AS place FROM points",
    "sweep": "SELECT *, [x, y, z] AS vector FROM sweep",
    "centers": "SELECT partition_key AS run, cluster, centroid FROM centers",
    "models": "FROM models",
    "runs": "SELECT * REPLACE (id // 3 AS id) FROM points WHERE id < 80 AND run IS NOT NULL",
    "one": "FROM points WHERE id % 4 > 0",
    "two": "FROM moved WHERE id % 5 > 0",
    "members": "FROM members",
    "links": "FROM links",
    "pairs": "FROM pairs",
    "labels": "SELECT one, two, one + two < 30 AS is_match FROM links",
}
#: The tables that are called with more than columns of one frame: the frame, and what follows.
WITH_OTHER_FRAMES: dict[str, tuple[Any, ...]] = {
    "sweep": ("sweep", *registry.GIVEN["sweep"]),
    "runs": ("runs", *registry.GIVEN["runs"]),
    "runs and one of them": ("runs", "id", "run", "cluster", "r"),
    "two runs": ("one", "@two", "id", "cluster"),
    "covers": ("one", "@two", "id", "label", "cluster"),
    "graph": ("members", "id", "cluster", "@links", "one", "two"),
    "distances": ("members", "id", "cluster", "@pairs", "one", "two", "d"),
    "neighbors": ("members", "id", "cluster", "@links", "one", "two"),
    "edges": ("members", "id", "@links", "one", "two", "w"),
    "pair labels": ("members", "id", "cluster", "@labels", "one", "two", "is_match"),
    "states": ("states",),
    "choose_k": ("observed",),
    "gap_statistic": ("observed", "@reference", "weight"),
    "assign_nearest": ("points", "vector", "@centers"),
    "cross_validation": ("points", "vector", "cluster", "run", "@models"),
}


def sql_calls() -> list[str]:
    """A call of every macro: the first one of each table, and all of the aggregates."""
    calls = test_session_settings.CALLS
    names = [*registry.tables(), *registry.METRICS, "parse_vector", "version"]
    return list(
        dict.fromkeys(
            next(call for call in calls if f"clustereval.{name}(" in call) for name in names
        )
    )


def polars_calls() -> Iterator[dict[str, Any]]:
    """A call of every frame function, of DataFrames and of LazyFrames in turn."""
    lazy = cycle((False, True))
    for kind, tables in registry.KINDS.items():
        for name in tables:
            places = WITH_OTHER_FRAMES.get(kind) or WITH_OTHER_FRAMES.get(name)
            frame, *given = places or ("points", *registry.given(name))
            has_partitions = kind in ("labels", "points") or name == "assign_nearest"
            yield {
                "frame": frame,
                "method": name,
                "given": given,
                "options": {"partition_by": "run"} if has_partitions else {},
                "lazy": next(lazy),
            }
    for name in registry.DRAWN_BY_NUMPY:
        given = ["label", "cluster"]
        yield {"frame": "points", "method": name, "given": given, "options": {}, "lazy": False}


def to_sql_calls() -> Iterator[dict[str, Any]]:
    """A query of every table: of those that take seconds in one dialect, or else in all."""
    in_turn = cycle(EXECUTED_DIALECTS)
    for name in queries._ROW_ORDER:
        is_long = registry.kind_of(name) == "points" or name.endswith("_report")
        for dialect in [next(in_turn)] if is_long else EXECUTED_DIALECTS:
            yield to_sql_call(name, dialect)


def to_sql_call(name: str, dialect: str) -> dict[str, Any]:
    given: dict[str, Any] = {"name": name, "dialect": dialect, "cluster": "c"}
    kind = registry.kind_of(name)
    if kind == "two runs":
        return given | {"tbl_before": "one", "tbl_after": "two", "id": "i"}
    given["tbl"] = "t"
    if kind == "points":
        given["vector"] = ["x", "y"]
    else:
        given["label"] = "l"
    if name in ("bcubed_samples", "silhouette_samples"):
        given["id"] = "i"
    if name.startswith("silhouette"):
        given["distance"] = "sqeuclidean"
    return given


def command_calls() -> Iterator[list[str]]:
    """Every report of the command line, by the engine that needs no plan of distances."""
    for command, given in command_line.CALLS.items():
        by_duckdb = command in ("external", "clusters", "internal")
        yield [command, *given, "--engine", "duckdb" if by_duckdb else "polars"]


def write_tables(folder: Path) -> None:
    """The tables of the calls as Parquet files."""
    con = test_session_settings.connect()
    names = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    (folder / "sql").mkdir()
    (folder / "polars").mkdir()
    for name in names:
        con.execute(f"COPY {name} TO '{folder / 'sql' / name}.parquet'")
    for name, query in FRAMES.items():
        con.execute(f"COPY ({query}) TO '{folder / 'polars' / name}.parquet'")
    points = pl.read_parquet(folder / "polars" / "points.parquet")
    sweep = pl.read_parquet(folder / "polars" / "sweep.parquet")
    made = {
        "states": ce.cluster_states(points, "vector", "cluster"),
        "observed": ce.elbow(sweep, "vector", "cluster", "k"),
        "reference": ce.elbow(sweep, "vector", "cluster", "k", partition_by="weight"),
    }
    for name, frame in made.items():
        frame.write_parquet(folder / "polars" / f"{name}.parquet")


def questions() -> dict[str, list[Any]]:
    """The calls of each area."""
    return {
        "sql": sql_calls(),
        "polars": list(polars_calls()),
        "expressions": [list(registry.METRICS)],
        "to_sql": list(to_sql_calls()),
        "commands": list(command_calls()),
    }


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder)
    return folder


def make_environment(name: str, folder: Path) -> Path:
    """The interpreter of a new environment with the packages of VERSIONS."""
    python = folder / "fresh" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "fresh"], check=True)
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    subprocess.run([*pip, "install", "--quiet", *VERSIONS[name]], check=True)
    return python


def ask_environment(name: str, folder: Path, tables: Path) -> dict[str, dict[str, object]]:
    """By area, the answers of the environment of this name to its calls."""
    python = make_environment(name, folder) if name in VERSIONS else Path(sys.executable)
    asked, file = questions(), folder / "questions.json"
    file.write_text(json.dumps(asked), encoding="utf-8")
    process = subprocess.run(
        [python, "-P", ROOT / "tests" / "support" / "answers_here.py", file, tables],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    answers: dict[str, Any] = json.loads(process.stdout)
    for wanted in VERSIONS.get(name, ()):
        engine, _, number = wanted.partition("==")
        assert answers["versions"].get(engine, number) == number
    return {
        area: {json.dumps(call): found for call, found in zip(calls, answers[area], strict=True)}
        for area, calls in asked.items()
    }


@pytest.fixture(scope="module")
def answers(
    tables: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, dict[str, object]]]:
    """The answers of all environments, which work side by side."""
    names = ("newest", *VERSIONS)
    folders = [tmp_path_factory.mktemp(name) for name in names]
    with ThreadPoolExecutor() as pool:
        found = pool.map(ask_environment, names, folders, repeat(tables))
        return dict(zip(names, found, strict=True))


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("name", VERSIONS)
def test_the_same_answers(
    answers: dict[str, dict[str, dict[str, object]]], name: str, area: str
) -> None:
    newest = answers["newest"][area]
    assert [answer for answer in newest.values() if isinstance(answer, str)] == []
    wrong = [
        (call, found)
        for call, found in answers[name][area].items()
        if not is_near(found, newest[call], relative=1e-9, floor=1e-9)
    ]
    assert wrong == []


def test_every_table_and_metric_is_asked() -> None:
    asked = {name: json.dumps(calls) for name, calls in questions().items()}
    for name in [*registry.tables(), *registry.METRICS]:
        assert f"clustereval.{name}(" in asked["sql"], name
        area = "expressions" if name in registry.METRICS else "polars"
        assert f'"{name}"' in asked[area], name
