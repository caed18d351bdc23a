"""Time and memory of the tables from a table of pairs, next to scikit-learn on a square matrix.

``python -m benchmarks.from_distances --output benchmarks/results/from_distances.md`` writes, for
each number of points, the seconds of each call, their ratio to those of scikit-learn's
silhouette_score with metric='precomputed' on a matrix that is filled from the same table, and how
much memory the call added. The pairs are a Parquet file, from which every call reads them, except
for the first line, which is scikit-learn on a matrix that is there already. Each call has a process
of its own. No time is printed before the answers are compared.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from sklearn.metrics import silhouette_score

import polars_clustereval as ce

CLUSTERS = 8
#: The tables, and the score by which their answers are compared.
TABLES = {"silhouette_score": "silhouette", "dunn_index": "dunn_index", "pairwise_report": "gamma"}
#: The largest number of points for a table that sorts all distances.
MOST_SORTED = 5000
#: Up to this number of points, a call is repeated.
MOST_REPEATED = 5000
REPEATS = 3
IN_MEMORY, FROM_TABLE = "scikit-learn, matrix in memory", "scikit-learn, matrix from the table"
COLUMNS = ("id", "cluster", "left", "right", "distance")


def write_input(n: int, folder: Path) -> None:
    """Write n points with text as ids, and the distances of their pairs, as Parquet files."""
    random = np.random.default_rng(0)
    labels = random.integers(0, CLUSTERS, n)
    x = random.normal(size=(n, 4)) + labels[:, None] % 3
    points = pl.DataFrame(x, schema=["a", "b", "c", "d"], orient="row")
    ids = pl.Series("id", [f"p{i:06d}" for i in range(n)])
    points = points.select(ids, pl.Series("cluster", labels), pl.all())
    points.select("id", "cluster").write_parquet(folder / "points.parquet")
    with duckdb.connect() as connection:
        connection.register("points", points)
        difference = " + ".join(f"abs(one.{name} - other.{name})" for name in "abcd")
        connection.execute(
            f'COPY (SELECT one.id AS "left", other.id AS "right", {difference} AS distance '
            "FROM points AS one JOIN points AS other ON one.id < other.id) "
            f"TO '{folder / 'pairs.parquet'}'"
        )


def memory() -> float:
    """Return the largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_job(engine: str, table: str, n: int, folder: Path) -> tuple[float, float, float]:
    """Return the fewest seconds of a call, the MB that it added, and its score."""
    repeats = REPEATS if n <= MOST_REPEATED else 1
    labels = pl.read_parquet(folder / "points.parquet")["cluster"].to_numpy()
    if engine == FROM_TABLE:
        return measure(lambda: score(fill_matrix(n, folder), labels), repeats)
    if engine == IN_MEMORY:
        square = fill_matrix(n, folder)
        return measure(lambda: score(square, labels), repeats)
    column = TABLES[table]
    call = make_call(engine, f"{table}_from_distances", folder)
    return measure(lambda: call()[column].item(), repeats)


def score(square: Any, labels: Any) -> float:
    """Return the mean silhouette by scikit-learn."""
    return float(silhouette_score(square, labels, metric="precomputed"))


def fill_matrix(n: int, folder: Path) -> Any:
    """Return the square matrix of the distances in a file, which is read in parts."""
    square = np.zeros((n, n))
    with duckdb.connect() as connection:
        place = 'CAST(substr("{}", 2) AS INTEGER) AS {}'
        ends = ", ".join(place.format(end, name) for end, name in (("left", "i"), ("right", "j")))
        query = f"SELECT {ends}, distance FROM '{folder / 'pairs.parquet'}'"
        for part in connection.sql(query).to_arrow_reader(1_000_000):
            i, j, d = (column.to_numpy() for column in part.columns)
            square[i, j] = square[j, i] = d
    return square


def find_dunn_index(folder: Path) -> float:
    """Return the Dunn index, by DuckDB without the macros."""
    clusters = f"'{folder / 'points.parquet'}'"
    [(value,)] = duckdb.execute(
        "SELECT MIN(distance) FILTER (one.cluster <> other.cluster) / "
        "MAX(distance) FILTER (one.cluster = other.cluster) "
        f"FROM '{folder / 'pairs.parquet'}' AS pairs JOIN {clusters} AS one ON one.id = \"left\" "
        f'JOIN {clusters} AS other ON other.id = "right"'
    ).fetchall()
    return float(value)


def make_call(engine: str, table: str, folder: Path) -> Any:
    """Return a function that calls a table in one of the engines, on the files."""
    points, pairs = (folder / f"{name}.parquet" for name in ("points", "pairs"))
    if engine == "Polars":
        lazy = [pl.scan_parquet(points), pl.scan_parquet(pairs)]
        call = getattr(ce, table)
        return lambda: call(lazy[0], *COLUMNS[:2], lazy[1], *COLUMNS[2:]).collect()
    connection = duckdb.connect()
    ce.register(connection)
    columns = '"left", "right", distance'
    query = f"FROM clustereval.{table}('{points}', id, cluster, '{pairs}', {columns})"
    return lambda: connection.sql(query).pl()


def measure(call: Any, repeats: int) -> tuple[float, float, float]:
    """Return the fewest seconds of some calls, the MB that they added, and their result."""
    before, seconds, result = memory(), [], 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return min(seconds), memory() - before, result


def run_apart(function: Any, *arguments: Any) -> Any:
    """Return the result of a function in a process of its own, so that memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def compare_sizes(n: int, folder: Path) -> list[str]:
    """Return the lines of a table for n points, whose answers have been compared."""
    run_apart(write_input, n, folder)
    tables = [x for x in TABLES if x != "pairwise_report" or n <= MOST_SORTED]
    jobs = [(IN_MEMORY, "silhouette_score"), (FROM_TABLE, "silhouette_score")]
    jobs += [(engine, table) for table in tables for engine in ("DuckDB", "Polars")]
    found = {job: run_apart(run_job, *job, n, folder) for job in jobs}
    dunn_index = run_apart(find_dunn_index, folder)
    expected = {"silhouette_score": found[jobs[0]][2], "dunn_index": dunn_index}
    for (engine, table), (_, _, value) in found.items():
        # The gamma of both engines is the same.
        if not np.isclose(value, expected.setdefault(table, value), rtol=1e-10):
            raise AssertionError(f"{engine}: another {TABLES[table]} for {n} points")
    base = found[jobs[1]][0]
    lines = [
        f"{n:,} points, {n * (n - 1) // 2:,} pairs.",
        "",
        "| engine | table | seconds | ratio | added MB |",
        "|---|---|---:|---:|---:|",
    ]
    for (engine, table), (seconds, added, _) in found.items():
        name = table if engine.startswith("scikit") else f"{table}_from_distances"
        lines.append(f"| {engine} | {name} | {seconds:.2f} | {seconds / base:.1f} | {added:.0f} |")
    return lines


def main() -> None:
    """Print the tables, and write them to a file if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[2000, 5000, 20_000])
    parser.add_argument(
        "--data", type=Path, help="folder for the Parquet files; default: temporary"
    )
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    blocks = []
    for n in options.points:
        with tempfile.TemporaryDirectory(dir=options.data) as folder:
            blocks.append("\n".join(compare_sizes(n, Path(folder))))
        print(blocks[-1], flush=True)
    if options.output:
        options.output.write_text("\n\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
