"""Time and memory of the tables from a table of pairs, next to scikit-learn on a square matrix.

``python -m benchmarks.from_distances --points 2000 --output benchmarks/results/from_distances.md``
writes the seconds of each call, their ratio to those of scikit-learn's silhouette_samples with
metric='precomputed' on a matrix that is filled from the same table, and how much memory the call
added to that of its input. The first line is scikit-learn on a matrix that is there already. Each
call has a process of its own. No time is printed before its silhouettes, or its Dunn index, are
compared.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_samples

import polars_clustereval as ce

CLUSTERS = 8
TABLES = ("silhouette_samples", "dunn_index", "pairwise_report")
COLUMNS = ("id", "cluster", "left", "right", "distance")
REPEATS = 3


def make_input(n: int) -> tuple[pl.DataFrame, Any, Any]:
    """Return n points with text as ids, their labels, and the condensed distances."""
    random = np.random.default_rng(0)
    labels = random.integers(0, CLUSTERS, n)
    x = random.normal(size=(n, 4)) + labels[:, None] % 3
    ids = [f"p{i:06d}" for i in range(n)]
    return pl.DataFrame({"id": ids, "cluster": labels}), labels, pdist(x, "cityblock")


def memory() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_job(engine: str, table: str, n: int) -> tuple[float, float]:
    """Check the answer of a call, and return its fastest seconds and the MB that it added."""
    points, labels, d = make_input(n)
    square = squareform(d)
    if engine == "scikit-learn":
        return measure(lambda: silhouette_samples(square, labels, metric="precomputed"))[:2]
    pairs = ce.distances_from_matrix(d, points["id"])
    if engine == "scikit-learn, from the table":
        return measure(lambda: fill_and_score(points, labels, pairs))[:2]
    is_own = labels[:, None] == labels
    expected = square[~is_own].min() / square[is_own].max()
    if table == "silhouette_samples":
        expected = silhouette_samples(square, labels, metric="precomputed")
    call = make_call(engine, f"{table}_from_distances", points, pairs)
    seconds, added, rows = measure(call)
    column = {"silhouette_samples": "silhouette", "dunn_index": "dunn_index"}.get(table)
    if column and not np.allclose(rows[column].to_numpy(), expected, rtol=1e-10, atol=1e-12):
        raise AssertionError(f"{engine}: another {column} than scikit-learn or numpy")
    return seconds, added


def fill_and_score(points: pl.DataFrame, labels: Any, pairs: pl.DataFrame) -> Any:
    """Return silhouettes by scikit-learn, from a square matrix filled from a table of pairs."""
    places = points.select("id").with_row_index("place")
    ends = [
        pairs.join(places, left_on=end, right_on="id", maintain_order="left")["place"]
        for end in ("left", "right")
    ]
    square = np.zeros((points.height, points.height))
    square[ends[0], ends[1]] = square[ends[1], ends[0]] = pairs["distance"]
    return silhouette_samples(square, labels, metric="precomputed")


def make_call(engine: str, table: str, points: pl.DataFrame, pairs: pl.DataFrame) -> Any:
    """Return a function that calls a table in one of the engines, on tables in memory."""
    if engine == "Polars":
        return lambda: getattr(ce, table)(points, *COLUMNS[:2], pairs, *COLUMNS[2:])
    connection = duckdb.connect()
    ce.register(connection)
    connection.execute("CREATE TABLE points AS FROM points")
    connection.execute("CREATE TABLE pairs AS FROM pairs")
    query = f'FROM clustereval.{table}(points, id, cluster, pairs, "left", "right", distance)'
    return lambda: connection.sql(query).pl()


def measure(call: Any) -> tuple[float, float, Any]:
    """Return the fewest seconds of some calls, the MB that they added, and their result."""
    before, seconds, result = memory(), [], None
    for _ in range(REPEATS):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return min(seconds), memory() - before, result


def main() -> None:
    """Print the table, and write it to a file if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    n = options.points
    jobs = [
        ("scikit-learn", "silhouette_samples"),
        ("scikit-learn, from the table", "silhouette_samples"),
    ]
    jobs += [(engine, table) for table in TABLES for engine in ("DuckDB", "Polars")]
    lines = [
        f"{n:,} points, {n * (n - 1) // 2:,} pairs.",
        "",
        "| engine | table | seconds | ratio | added MB |",
        "|---|---|---:|---:|---:|",
    ]
    found = {}
    for engine, table in jobs:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[engine, table] = pool.apply(run_job, (engine, table, n))
    base = found[jobs[1]][0]
    for (engine, table), (seconds, added) in found.items():
        name = table if engine.startswith("scikit") else f"{table}_from_distances"
        lines.append(f"| {engine} | {name} | {seconds:.2f} | {seconds / base:.1f} | {added:.0f} |")
    print("\n".join(lines))
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
