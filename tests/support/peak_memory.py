"""Run one table on a Parquet file and print by how many MiB the memory of this process rose.

python -m tests.support.peak_memory polars internal_report points.parquet '{"center": "mean"}'
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import polars_clustereval as ce
from tests.support.engines import Expression, call_sql

STATUS = Path("/proc/self/status")
ROOT = Path(__file__).parents[2]


def measure(engine: str, table: str, path: Path, columns: list[str], **options: Any) -> float:
    """The rise in MiB, measured in a process of its own: a peak never falls again."""
    given = [engine, table, str(path), json.dumps(columns), json.dumps(options)]
    command = [sys.executable, "-m", "tests.support.peak_memory", *given]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def read_status(name: str) -> float:
    """A value of the process's status in MiB: VmRSS is its memory, VmHWM the most it ever was."""
    found = re.search(rf"{name}:\s+(\d+) kB", STATUS.read_text(encoding="ascii"))
    assert found
    return int(found[1]) / 1024


def run_polars(table: str, path: str, first: Any, options: dict[str, Any]) -> None:
    getattr(ce, table)(pl.scan_parquet(path), first, "cluster", **options).collect(
        engine="streaming"
    )


def run_duckdb(table: str, path: str, first: Any, options: dict[str, Any]) -> None:
    con = duckdb.connect()
    ce.register(con)
    con.execute(f"CREATE VIEW rows AS FROM '{path}'")
    call = call_sql(table, (Expression("rows"), first, "cluster"), options, {})
    con.execute(f"FROM {call}").fetchall()


def main(engine: str, table: str, path: str, columns: str, options: str) -> None:
    names = json.loads(columns)
    run = {"polars": run_polars, "duckdb": run_duckdb}[engine]
    before = read_status("VmRSS")
    run(table, path, names[0] if len(names) == 1 else names, json.loads(options))
    print(read_status("VmHWM") - before)


if __name__ == "__main__":
    main(*sys.argv[1:])
