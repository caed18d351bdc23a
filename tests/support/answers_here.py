"""The answers of the package in the environment that runs this file, as JSON.

    python answers_here.py QUESTIONS FOLDER

QUESTIONS is a JSON file that tests/test_versions.py writes, FOLDER has the tables as Parquet files.
Nothing is imported but the package and what it needs: the file runs on its own, in environments
without the tests and their packages.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl

import polars_clustereval as ce
from polars_clustereval.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

MACROS = (
    "SELECT function_name, parameters FROM duckdb_functions() "
    "WHERE schema_name = 'clustereval' ORDER BY function_name"
)


def connect_with_tables(folder: Path) -> duckdb.DuckDBPyConnection:
    """A connection with the macros, which are copied from the cache, and all tables."""
    writing, copying = duckdb.connect(), duckdb.connect()
    for con in (writing, copying):
        ce.register(con)
    assert writing.execute(MACROS).fetchall() == copying.execute(MACROS).fetchall()
    for path in (folder / "sql").glob("*.parquet"):
        copying.execute(f"CREATE TABLE {path.stem} AS FROM '{path}'")
    return copying


def ask_sql(con: duckdb.DuckDBPyConnection, query: str) -> object:
    result = con.execute(query)
    return [[column[0] for column in result.description], result.fetchall()]


def ask_polars(frames: dict[str, pl.DataFrame], call: dict[str, Any]) -> object:
    """Call a method of the accessor; a string that starts with @ names a frame."""
    given = [frames[x[1:]] if str(x).startswith("@") else x for x in call["given"]]
    frame = frames[call["frame"]]
    rows = [
        getattr(side.clustereval, call["method"])(*given, **call["options"])  # type: ignore[attr-defined]
        for side in (frame, frame.lazy())
    ][call["lazy"]]
    found = rows.lazy().collect()
    return [found.columns, found.rows()]


def ask_expressions(frames: dict[str, pl.DataFrame], metrics: list[str]) -> object:
    """Metrics as expressions, one row for each run."""
    expressions = [getattr(ce, name)("label", "cluster").alias(name) for name in metrics]
    found = frames["points"].group_by("run").agg(expressions).sort("run", nulls_last=True)
    return [found.columns, found.rows()]


def ask_command(arguments: list[str]) -> object:
    """The JSON that a command of the command line writes."""
    path = Path("answer.json")
    status = main([*arguments, "--format", "json", "--output", str(path)])
    return [status, json.loads(path.read_text(encoding="utf-8"))]


def ask_to_sql(given: dict[str, Any]) -> object:
    return ["query", ce.to_sql(**given)]


def try_to(ask: Callable[..., object], *given: Any) -> object:
    """The answer, or the words of an error."""
    try:
        return ask(*given)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def answer_all(questions: dict[str, list[Any]], folder: Path) -> dict[str, object]:
    con = connect_with_tables(folder)
    frames = {path.stem: pl.read_parquet(path) for path in (folder / "polars").glob("*.parquet")}
    return {
        "versions": {"duckdb": duckdb.__version__, "polars": pl.__version__},
        "sql": [try_to(ask_sql, con, query) for query in questions["sql"]],
        "polars": [try_to(ask_polars, frames, call) for call in questions["polars"]],
        "expressions": [try_to(ask_expressions, frames, x) for x in questions["expressions"]],
        "commands": [try_to(ask_command, given) for given in questions["commands"]],
        "to_sql": [try_to(ask_to_sql, given) for given in questions["to_sql"]],
    }


if __name__ == "__main__":
    warnings.simplefilter("error")
    asked = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    # Keys of structs and decimals are compared as texts.
    sys.stdout.write(json.dumps(answer_all(asked, Path(sys.argv[2])), default=str))
