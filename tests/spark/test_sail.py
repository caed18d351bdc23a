"""polars_clustereval.spark on Sail, in an environment of its own: DuckDB's numbers.

Sail 0.7 needs the client of Spark Connect 4.1, which is the same Python module as pyspark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.dialects.test_queries import TABLES, from_macro, without
from tests.spark.test_labels import NAMES, ORDER, SINGLETONS
from tests.support import sql_engines
from tests.support.sql_answers import assert_answers

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
CALLS: list[tuple[str, str, dict[str, Any]]] = [
    *((name, "degenerate runs", {"partition_by": "run", **SINGLETONS}) for name in NAMES),
    ("external_report", "the rows", {"average_method": "max", "beta": 0.5}),
    ("external_report", "no row", {}),
    ("entity_resolution_report", "no row", {}),
]
RUN = """
import json, sys
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
from polars_clustereval import spark

server = SparkConnectServer(port=0)
server.start()
_, port = server.listening_address
session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
try:
    spark.external_report(session.range(1), "id", "id")
except ValueError as error:
    print(json.dumps(str(error)))
session.conf.set("spark.sql.ansi.enabled", "false")
for name, path, options in json.loads(sys.argv[1]):
    frame = session.read.parquet(path)
    rows = getattr(spark, name)(frame, "species", "kmeans", **options).collect()
    print(json.dumps([row.asDict() for row in rows], default=int))
"""


def run_process(*command: str | Path, **environment: str) -> str:
    process = subprocess.run(
        [str(word) for word in command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sail")
    run_process(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run_process(*pip, "pysail>=0.7.2,<0.8", "pyspark-client==4.1.3", f"{ROOT}[dialects]")
    return python


@pytest.mark.parametrize("mode", ["local", "local-cluster"])
def test_same_numbers(mode: str, python: Path, tmp_path: Path) -> None:
    paths = sql_engines.write_parquet(TABLES, tmp_path)
    calls = []
    for name, tbl, options in CALLS:
        given = options
        if name == "bcubed_samples":
            given = without(options, "weight") | {"id": "flower"}
        calls.append((name, tbl, given))
    texts = [(name, str(paths[tbl]), options) for name, tbl, options in calls]
    environment = {"SAIL_MODE": mode, "SAIL_CLUSTER__WORKER_TASK_SLOTS": "64"}
    refusal, *answers = run_process(
        python, "-c", RUN, json.dumps(texts), **environment
    ).splitlines()
    assert "expected spark.sql.ansi.enabled = false" in refusal
    for (name, tbl, options), answer in zip(calls, answers, strict=True):
        keys = ORDER.get(name, ("partition_key",))
        rows = sorted(
            json.loads(answer), key=lambda row: [(row[key] is None, row[key] or 0) for key in keys]
        )
        assert_answers(rows, from_macro(name, tbl, **options), (name, tbl))
