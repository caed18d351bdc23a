"""Queries of to_sql on other engines: seconds of every table at several sizes.

Each call has a process of its own, with its own engine, which is stopped after --limit seconds. Its
rows are compared with those of DuckDB first. The time is that of all statements; the table has been
read before, except that DataFusion and ClickHouse read it from a Parquet file. Engines that compute
a CTE again wherever it is read get scripts (steps=True), and so does Postgres for tables of points.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

import polars_clustereval as ce
from benchmarks import pages, table
from tests.support import sql_engines
from tests.support.sql_answers import assert_answers

if TYPE_CHECKING:
    from tests.support.sql_engines import Rows, Tables

DIMS = 8
COLUMNS = [f"x{i}" for i in range(DIMS)]
LABELS: dict[str, Any] = {"tbl": "t", "label": "label", "cluster": "cluster"}
POINTS: dict[str, Any] = {"tbl": "t", "vector": COLUMNS, "cluster": "cluster"}
SQUARED = POINTS | {"distance": "sqeuclidean"}
RUNS: dict[str, Any] = {"tbl_before": "t", "tbl_after": "u", "id": "id", "cluster": "cluster"}
#: Tables of to_sql -> the arguments of its call.
CALLS: dict[str, dict[str, Any]] = {
    "external_report": LABELS,
    "entity_resolution_report": LABELS,
    "contingency_matrix": LABELS,
    "pair_counts": LABELS,
    "external_cluster_report": LABELS,
    "external_label_report": LABELS,
    "bcubed_samples": LABELS | {"id": "id"},
    "internal_report": POINTS,
    "internal_cluster_report": POINTS,
    "neighbor_report": POINTS,
    "centroids": POINTS,
    "silhouette_score": SQUARED,
    "silhouette_clusters": SQUARED,
    "silhouette_samples": SQUARED | {"id": "id"},
    "run_transitions": RUNS,
    "transition_overlaps": RUNS,
    "moved_ids": RUNS,
    "affected_ids": RUNS,
}
#: Engines -> the parameters of tables whose queries are scripts.
ENGINES: dict[str, tuple[str, ...]] = {
    "duckdb": (),
    "datafusion": ("tbl", "tbl_before"),
    "clickhouse": ("tbl", "tbl_before"),
    "postgres": ("vector",),
}


class Size(NamedTuple):
    """Rows, and as many labels as clusters."""

    rows: int
    clusters: int


SIZES = (Size(40, 4), Size(20_000, 50), Size(20_000, 5_000), Size(1_000_000, 100))


def make_tables(size: Size) -> Tables:
    """Return points around centers, with labels of which 7 in 10 agree, and a second run."""
    random = np.random.default_rng(0)
    n, k = size
    cluster = random.integers(0, k, n)
    x = random.normal(size=(n, DIMS)) + 3 * random.normal(size=(k, DIMS))[cluster]

    def mix(share: float) -> pl.Series:
        """Return the clusters, of which about a share is kept."""
        return pl.Series(np.where(random.random(n) < share, cluster, random.integers(0, k, n)))

    rows = pl.DataFrame(x, schema=COLUMNS)
    rows = rows.with_columns(label=mix(0.7), cluster=cluster, id=pl.int_range(n))
    return {"t": rows, "u": rows.select("id", cluster=mix(0.9))}


def write_call(name: str, engine: str) -> str:
    """Return the query of a table, or the script, for an engine."""
    steps = any(parameter in CALLS[name] for parameter in ENGINES[engine])
    return ce.to_sql(name, dialect=engine, steps=steps, **CALLS[name])


def run_call(name: str, engine: str, tables: Tables) -> tuple[Rows, float]:
    """Return the rows of a table in an engine, and the seconds that they took."""
    with TemporaryDirectory() as folder, sql_engines.ENGINES[engine](tables, Path(folder)) as run:
        text = write_call(name, engine)
        start = time.perf_counter()
        rows = run(text)
        return rows, time.perf_counter() - start


def compare_call(name: str, engine: str, size: Size) -> float:
    """Return the seconds of a table in an engine, whose rows are those of DuckDB."""
    tables = make_tables(size)
    rows, seconds = run_call(name, engine, tables)
    if engine != "duckdb":
        assert_answers(rows, run_call(name, "duckdb", tables)[0], name)
    return seconds


def find_version(engine: str) -> str:
    """Return the name of an engine and what it says of its version."""
    with (
        TemporaryDirectory() as folder,
        sql_engines.ENGINES[engine](make_tables(Size(10, 2)), Path(folder)) as run,
    ):
        (row,) = run("SELECT version() AS version")
    (version,) = row.values()
    text = version.decode() if isinstance(version, bytes) else version
    return f"{engine} {next(x for x in text.split() if x.strip('v')[0].isdigit()).strip('v,')}"


def time_call(name: str, engine: str, size: Size, limit: float) -> str:
    """Return the seconds of a call in a process of its own, as a cell of the table.

    `limit` is that of the query; to start the engine and to compare take some seconds more.
    """
    command = [sys.executable, "-m", "benchmarks.dialects", "--call", name, engine]
    command += map(str, size)
    try:
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, timeout=limit + 30, cwd=pages.ROOT
        )
    except subprocess.TimeoutExpired:
        return f"> {limit:g}"
    seconds: float = json.loads(done.stdout)
    return table.format_number(seconds) if seconds <= limit else f"> {limit:g}"


def measure_size(size: Size, names: list[str], engines: list[str], limit: float) -> str:
    """Return the section of a size, as Markdown."""
    rows = []
    for name in names:
        cells = [time_call(name, engine, size, limit) for engine in engines]
        print(name, *size, *cells, file=sys.stderr)
        rows.append((name, "to_sql", *cells))
    title = f"{pages.DIALECTS_TITLE}{size.rows:,} rows, {size.clusters:,} labels and clusters"
    return table.format_rows(title, ("table", "by", *engines), rows)


def parse_sizes(text: str) -> list[Size]:
    """Return the sizes of a text such as 20000x50,1000000x100."""
    return [Size(*map(int, size.split("x"))) for size in text.split(",")]


def main() -> None:
    """Measure all tables and sizes, print the sections, and write --output."""
    parser = argparse.ArgumentParser("python -m benchmarks.dialects", description=__doc__)
    parser.add_argument("--only", help="tables, separated by commas; by default all")
    parser.add_argument(
        "--sizes",
        type=parse_sizes,
        default=SIZES,
        help="rows x clusters, such as 20000x50,1000000x100; by default four sizes",
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a query at most")
    parser.add_argument("--output", type=Path, help="Markdown file for the tables")
    parser.add_argument("--call", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.call is not None:
        name, engine, rows, clusters = options.call
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(compare_call(name, engine, Size(int(rows), int(clusters))))
        return
    names = options.only.split(",") if options.only else list(CALLS)
    engines = [name for name in ENGINES if sql_engines.reason_to_skip(name) is None]
    sections = [measure_size(size, names, engines, options.limit) for size in options.sizes]
    versions = ", ".join(map(find_version, engines))
    machine = table.describe_machine(1).rpartition(". ")[0]
    text = "\n\n".join([f"{machine}. {versions}. Seconds of one query each.", *sections])
    pages.write_results(options.output, text)


if __name__ == "__main__":
    main()
