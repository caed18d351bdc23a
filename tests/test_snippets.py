"""Every snippet of the README and every example in a header of sql/ runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import polars_clustereval as ce
from polars_clustereval.macros import ROOMS

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^-- Examples?:[ \n](.*?)(?=^CREATE)", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [body for name, body in BLOCK.findall(text) if name == language]


def examples(room: str) -> list[str]:
    text = (ROOT / "sql" / f"{room}.sql").read_text(encoding="utf-8")
    bodies = [re.sub(r"^--", "", body, flags=re.MULTILINE) for body in EXAMPLE.findall(text)]
    return [query.strip() for body in bodies for query in body.split(";") if query.strip()]


@pytest.fixture
def con(monkeypatch: pytest.MonkeyPatch) -> duckdb.DuckDBPyConnection:
    monkeypatch.chdir(ROOT)
    con = duckdb.connect()
    ce.register(con)
    con.execute(
        "CREATE TABLE assignments AS SELECT species, kmeans AS cluster, id AS flower, 1 AS n "
        "FROM 'examples/iris.parquet'"
    )
    con.execute(
        "CREATE TABLE points AS SELECT sepal_length AS x, sepal_width AS y, petal_length AS z, "
        "[x, y, z] AS embedding, kmeans AS cluster FROM 'examples/iris.parquet'"
    )
    return con


def test_readme_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    assert blocks("python")
    for block in blocks("python"):
        exec(block, names)


def test_readme_sql(con: duckdb.DuckDBPyConnection) -> None:
    assert blocks("sql")
    for block in blocks("sql"):
        con.execute(block).fetchall()


def test_readme_console() -> None:
    lines = [line for block in blocks("console") for line in block.splitlines()]
    calls = [line.removeprefix("$ clustereval ") for line in lines if line.startswith("$ ")]
    assert calls
    for call in calls:
        result = subprocess.run(
            [sys.executable, "-m", "polars_clustereval.cli", *call.split()],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, ""), call
        assert result.stdout, call


@pytest.mark.parametrize("room", ROOMS)
def test_examples_of_macros(con: duckdb.DuckDBPyConnection, room: str) -> None:
    assert examples(room)
    for query in examples(room):
        assert con.execute(query).fetchall(), query
