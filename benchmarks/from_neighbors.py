"""Time and memory of neighborhood_report from a Parquet file of the nearest neighbors of each id.

``python -m benchmarks.from_neighbors --ids 10_000_000 --output FILE.md`` writes a file of neighbors
block by block, and then the seconds, the CPU seconds and the largest memory of each call, in a
process of its own. In Polars, the columns without the graph are a call with `metrics`; in DuckDB,
they are means over neighborhood_samples. ``--memory-limit`` is that of DuckDB, which spills to a
temporary folder. No time is printed before the counts are compared with those of the file, and the
scores with those of the other engine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl

import polars_clustereval as ce

if TYPE_CHECKING:
    from collections.abc import Callable

NEIGHBORS, CLUSTERS, IDS_PER_BLOCK = 15, 100, 500_000
#: The share of neighbors in the cluster of the id; the others are ids at random.
OWN = 0.95
COLUMNS = ("id", "cluster", "left", "right")
WITHOUT_GRAPH = ("neighbor_purity", "lisi", "kbet_acceptance_rate", "connectivity")
SAMPLE_MEANS = (
    "avg(neighbor_purity) AS neighbor_purity, avg(lisi) AS lisi, "
    "avg((kbet_p_value >= 0.05)::INT) AS kbet_acceptance_rate, sum(connectivity) AS connectivity"
)


def write_input(folder: Path, n: int) -> int:
    """Write points.parquet and neighbors-*.parquet, sorted as by an index; count own neighbors."""
    random, n_own = np.random.default_rng(0), 0
    ids = pl.DataFrame({"id": np.arange(n), "cluster": np.arange(n) % CLUSTERS})
    ids.write_parquet(folder / "points.parquet")
    offsets = np.arange(1, NEIGHBORS + 1)
    offsets = CLUSTERS * np.where(offsets <= NEIGHBORS // 2, offsets, NEIGHBORS // 2 - offsets)
    for start in range(0, n, IDS_PER_BLOCK):
        left = np.repeat(np.arange(start, min(n, start + IDS_PER_BLOCK)), NEIGHBORS)
        right = (left + np.tile(offsets, left.size // NEIGHBORS)) % n
        is_other = random.random(left.size) >= OWN
        right[is_other] = random.integers(0, n, int(is_other.sum()))
        d = random.exponential(size=left.size)
        block = pl.DataFrame({"left": left, "right": right, "distance": d})
        block = block.filter(pl.col("left") != pl.col("right"))
        block = block.unique(["left", "right"]).sort("left", "distance")
        n_own += block.filter((pl.col("left") - pl.col("right")) % CLUSTERS == 0).height
        block.write_parquet(folder / f"neighbors-{start:012}.parquet", row_group_size=500_000)
    return n_own


def call_polars(folder: Path, *, with_graph: bool) -> pl.DataFrame:
    """Return the report, or only the columns that need no graph."""
    points, rows = (pl.scan_parquet(folder / x) for x in ("points.parquet", "neighbors-*.parquet"))
    metrics = None if with_graph else WITHOUT_GRAPH
    report = ce.neighborhood_report(
        *(points, *COLUMNS[:2], rows, *COLUMNS[2:]), distance="distance", metrics=metrics
    )
    return report.collect(engine="streaming")


def call_duckdb(folder: Path, limit: str, *, with_graph: bool) -> pl.DataFrame:
    """Return the report, or the means of the samples, which need no graph."""
    connection = duckdb.connect()
    ce.register(connection)
    connection.execute(f"SET memory_limit = '{limit}'")
    connection.execute(f"SET temp_directory = '{folder}'")
    connection.execute("SET preserve_insertion_order = false")
    for name, files in (("points", "points"), ("nearest", "neighbors-*")):
        connection.execute(f"CREATE VIEW {name} AS FROM '{folder}/{files}.parquet'")
    table = "neighborhood_report" if with_graph else "neighborhood_samples"
    return connection.sql(
        f"SELECT {'*' if with_graph else SAMPLE_MEANS} FROM clustereval.{table}("
        'points, id, cluster, nearest, "left", "right", distance := distance)'
    ).pl()


def run_job(engine: str, folder: Path, limit: str, with_graph: bool) -> tuple[Any, ...]:
    """Return the seconds, the CPU seconds, the largest memory in MB, and the result."""
    start = time.perf_counter()
    if engine == "Polars":
        found = call_polars(folder, with_graph=with_graph)
    else:
        found = call_duckdb(folder, limit, with_graph=with_graph)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return seconds, time.process_time(), memory, found.to_dicts()[0]


def run_alone(function: Callable[..., Any], *arguments: object) -> Any:
    """Return the result of a function in a new process."""
    # Its process may start others, which that of a multiprocessing.Pool must not.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main() -> None:
    """Print the table, and write it to a file if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ids", type=int, default=1_000_000)
    parser.add_argument("--memory-limit", default="4GB")
    parser.add_argument("--engines", nargs="+", default=["Polars", "DuckDB"])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    title = f"{options.ids:,} ids with {NEIGHBORS} neighbors each, in Parquet files."
    if "DuckDB" in options.engines:
        title += f" memory_limit of DuckDB: {options.memory_limit}."
    lines = [
        title,
        "",
        "| engine | columns | seconds | CPU seconds | largest MB |",
        "|---|---|---:|---:|---:|",
    ]
    known: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        # Else the largest memory of a call would be that of its parent at least.
        n_own = run_alone(write_input, Path(name), options.ids)
        for engine in options.engines:
            for with_graph in (True, False):
                job = (engine, Path(name), options.memory_limit, with_graph)
                seconds, cpu, memory, found = run_alone(run_job, *job)
                if with_graph and round(found["wcnn"] * found["n_neighbors"]) != n_own:
                    raise AssertionError(f"{engine}: another number of neighbors than in the file")
                for column in WITHOUT_GRAPH:
                    value = known.setdefault(column, found[column])
                    if not np.isclose(value, found[column], rtol=1e-9):
                        raise AssertionError(f"{engine}: {column} is {found[column]}, not {value}")
                what = "all" if with_graph else "without the graph"
                lines.append(f"| {engine} | {what} | {seconds:.0f} | {cpu:.0f} | {memory:.0f} |")
                print(lines[-1], flush=True)
    print("\n".join(lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
