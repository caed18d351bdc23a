"""Time and memory of connected_components and threshold_report, beside a loop over thresholds.

``python -m benchmarks.from_edges --ids 3_000_000 --edges 10_000_000 --output FILE.md`` writes
records and predicted pairs, and calls each job in a process of its own. The loop is what users of
scipy write: its connected_components at each of seven thresholds, with the pair counts of the
labels. No time is printed before the answers are those of the loop.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import polars_clustereval as ce

from .from_neighbors import run_alone

THRESHOLDS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
COLUMNS = ("left", "right", "probability")


def write_input(folder: Path, n: int, m: int) -> None:
    """Write n records of n / 3 entities, and m pairs, most of them of one entity."""
    random = np.random.default_rng(0)
    entity = random.integers(0, n // 3, n)
    order = np.argsort(entity, kind="stable")
    place = np.argsort(order)
    left = random.integers(0, n, m)
    right = order[np.clip(place[left] + random.integers(-3, 4, m), 0, n - 1)]
    is_same = entity[left] == entity[right]
    probability = np.where(is_same, random.beta(5, 1, m), random.beta(1, 5, m))
    pl.DataFrame({"id": np.arange(n), "entity": entity}).write_parquet(folder / "records.parquet")
    pairs = pl.DataFrame(dict(zip(COLUMNS, (left, right, probability), strict=True)))
    pairs.write_parquet(folder / "pairs.parquet")


def run_scipy(folder: Path) -> list[tuple[int, int]]:
    """Return the clusters and the right pairs at each threshold, by a loop."""
    records, pairs = (pl.read_parquet(folder / f"{x}.parquet") for x in ("records", "pairs"))
    n, found = records.height, []
    for threshold in THRESHOLDS:
        kept = pairs.filter(pl.col("probability") >= threshold)
        ends = (kept["left"].to_numpy(), kept["right"].to_numpy())
        graph = coo_array((np.ones(kept.height, np.int8), ends), (n, n))
        n_clusters, cluster = connected_components(graph, directed=False)
        cells = records.with_columns(cluster=pl.Series(cluster)).group_by("entity", "cluster").len()
        size = pl.col("len").cast(pl.Int64)
        found.append((n_clusters, cells.select((size * (size - 1) // 2).sum()).item()))
    return found


def run_polars(folder: Path, thresholds: list[float] | None) -> list[tuple[int, int]]:
    """Return the same from threshold_report, at all thresholds or at these."""
    records, pairs = (pl.scan_parquet(folder / f"{x}.parquet") for x in ("records", "pairs"))
    report = ce.threshold_report(records, "id", pairs, *COLUMNS, "entity", thresholds=thresholds)
    found = report.select("threshold", "n_clusters", "n_pairs", "pair_precision")
    asked = pl.DataFrame({"asked": THRESHOLDS})
    # The lowest threshold at or above each of the seven has the same edges.
    return read_counts(
        asked.join_asof(
            found.collect(engine="streaming"),
            left_on="asked",
            right_on="threshold",
            strategy="forward",
        )
    )


def run_duckdb(folder: Path, table: str) -> list[tuple[int, int]]:
    """Return the same from the macro, or only the clusters at one threshold."""
    connection = duckdb.connect()
    ce.register(connection)
    connection.execute(f"SET temp_directory = '{folder}'")
    for name in ("records", "pairs"):
        connection.execute(f"CREATE VIEW {name} AS FROM '{folder}/{name}.parquet'")
    if table == "connected_components":
        query = (
            "SELECT count(DISTINCT cluster) FROM clustereval.connected_components("
            'records, id, pairs, "left", "right", probability, threshold := 0.5)'
        )
        return [(connection.sql(query).fetchall()[0][0], 0)]
    return read_counts(
        connection.sql(
            'FROM clustereval.threshold_report(records, id, pairs, "left", "right", probability, '
            f"entity, thresholds := {THRESHOLDS})"
        ).pl()
    )


def run_polars_components(folder: Path) -> list[tuple[int, int]]:
    """Return the number of clusters at one threshold."""
    records, pairs = (pl.scan_parquet(folder / f"{x}.parquet") for x in ("records", "pairs"))
    found = ce.connected_components(records, "id", pairs, *COLUMNS, threshold=0.5)
    return [(found.select(pl.col("cluster").n_unique()).collect(engine="streaming").item(), 0)]


def read_counts(report: pl.DataFrame) -> list[tuple[int, int]]:
    """Return the clusters and the right pairs of rows of threshold_report."""
    pairs = (pl.col("n_pairs") * pl.col("pair_precision")).round().cast(pl.Int64)
    return report.select("n_clusters", pairs).rows()


JOBS: dict[str, tuple[Any, ...]] = {
    "scipy, seven thresholds in a loop": (run_scipy,),
    "Polars, threshold_report at all thresholds": (run_polars, None),
    "Polars, threshold_report at seven thresholds": (run_polars, THRESHOLDS),
    "DuckDB, threshold_report at seven thresholds": (run_duckdb, "threshold_report"),
    "Polars, connected_components at 0.5": (run_polars_components,),
    "DuckDB, connected_components at 0.5": (run_duckdb, "connected_components"),
}


def run_job(name: str, folder: Path) -> tuple[float, float, float, list[tuple[int, int]]]:
    """Return the seconds, the CPU seconds, the largest memory in MB, and the counts."""
    function, *arguments = JOBS[name]
    start = time.perf_counter()
    found = function(folder, *arguments)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return seconds, time.process_time(), memory, found


def main() -> None:
    """Print the table, and write it to a file if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ids", type=int, default=300_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--jobs", nargs="+", default=[*JOBS])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        f"{options.edges:,} edges between {options.ids:,} ids, in Parquet files.",
        "",
        "| job | seconds | CPU seconds | largest MB |",
        "|---|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_alone(write_input, folder, options.ids, options.edges)
        wanted = run_alone(run_scipy, folder)
        for job in options.jobs:
            seconds, cpu, memory, found = run_alone(run_job, job, folder)
            if found != (wanted if len(found) > 1 else [(wanted[2][0], 0)]):
                raise AssertionError(f"{job}: {found}, but scipy has {wanted}")
            lines.append(f"| {job} | {seconds:.0f} | {cpu:.0f} | {memory:.0f} |")
            print(lines[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
