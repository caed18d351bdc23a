"""The rows at which the default call of each table takes a minute, in both engines.

The rows are doubled until a call takes more than --budget seconds, or there are --most of them. The
rest is extrapolated with the growth of the last two calls.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import numpy as np
import polars as pl

import polars_clustereval as ce
from benchmarks import pages, table
from polars_clustereval.base.quoting import quote_identifier
from polars_clustereval.base.tables import declared_tables

if TYPE_CHECKING:
    from collections.abc import Callable

    from polars_clustereval.base.tables import Kind

TITLE = "Rows at which the default call takes a minute"
HEADER = ("table", "input", "DuckDB", "growth", "Polars", "growth")
MINUTE = 60.0
START = 1000

DIMS, CLUSTERS, RUNS = 8, 50, 10
VECTOR = [f"x{i}" for i in range(DIMS)]


class Size(NamedTuple):
    """What a call of a number of rows took."""

    rows: int
    seconds: float


class Measured(NamedTuple):
    """The calls of a table in an engine, and whether it refused more rows.

    The shortest call is what any takes, such as that of planning; the rest grows with the rows.
    """

    calls: list[Size]
    is_refused: bool = False

    def growing_seconds(self, place: int) -> float:
        """Return the seconds of a call that grow with the rows, at least a millisecond."""
        return max(self.calls[place].seconds - min(x.seconds for x in self.calls), 1e-3)

    @property
    def growth(self) -> float:
        """The power of the rows that the seconds grow with, from 1 to 3."""
        if len(self.calls) < 3:
            return 1.0
        rows = math.log(self.calls[-1].rows / self.calls[-2].rows)
        power = math.log(self.growing_seconds(-1) / self.growing_seconds(-2)) / rows
        return min(max(power, 1.0), 3.0)

    def show(self) -> tuple[str, str]:
        """Return the rows of a minute, with two digits, and the growth.

        ≈ is before rows that are extrapolated by more than ten times the seconds, and ¹ behind
        those that are refused by default.
        """
        if len(self.calls) < 2:
            return "", ""
        last = self.calls[-1]
        rows = last.rows * (MINUTE / self.growing_seconds(-1)) ** (1 / self.growth)
        sign = "≈ " if last.seconds < MINUTE / 10 else ""
        mark = " ¹" if self.is_refused else ""
        return f"{sign}{float(f'{rows:.2g}'):,.0f}{mark}", f"n^{self.growth:.1f}"


# Input ---------------------------------------------------------------------------------------


def make_points(n: int) -> pl.DataFrame:
    """Return n points in normal clusters that overlap a little."""
    random = np.random.default_rng(1)
    cluster = random.integers(0, CLUSTERS, n)
    x = random.normal(size=(n, DIMS)) + random.uniform(0, 4, (CLUSTERS, DIMS))[cluster]
    columns = {name: x[:, i] for i, name in enumerate(VECTOR)}
    return pl.DataFrame({**columns, "cluster": cluster, "fold": random.integers(0, 2, n)})


def make_labels(n: int) -> pl.DataFrame:
    """Return n rows of entities of three; nine in ten have the cluster of their entity."""
    random = np.random.default_rng(2)
    label = np.arange(n) // 3
    stranger = random.integers(0, n // 3 + 1, n)
    cluster = np.where(random.random(n) < 0.9, label, stranger)
    return pl.DataFrame({"id": np.arange(n), "label": label, "cluster": cluster})


def make_runs(n: int) -> pl.DataFrame:
    """Return RUNS clusterings of n / RUNS ids, and a second one of each."""
    random = np.random.default_rng(3)
    ids = np.arange(n) // RUNS
    label, cluster = (
        np.where(random.random(n) < 0.7, ids % CLUSTERS, random.integers(0, CLUSTERS, n))
        for _ in range(2)
    )
    run = np.arange(n) % RUNS
    return pl.DataFrame({"id": ids, "run": run, "label": label, "cluster": cluster})


def make_sweep(n: int) -> pl.DataFrame:
    """Return n / RUNS points in RUNS numbers of clusters each."""
    points = make_points(max(n // RUNS, 100)).drop("cluster").with_row_index("row")
    k = pl.DataFrame({"k": range(2, 2 + RUNS)})
    return points.join(k, how="cross").with_columns(cluster=pl.col("row") * 7919 % pl.col("k"))


def make_removals(n: int) -> pl.DataFrame:
    """Return n / DIMS points, each with its cluster without each of the coordinates."""
    points = make_points(n // DIMS)
    removed = pl.DataFrame({"removed": range(1, 1 + DIMS)})
    other = pl.when(pl.col("fold") == 0).then((pl.col("cluster") + pl.col("removed")) % CLUSTERS)
    return points.join(removed, how="cross").with_columns(
        reduced=other.otherwise(pl.col("cluster"))
    )


def make_graph(n: int) -> list[Any]:
    """Return the arguments of a graph of n nodes in clusters of ten and 2.1 n edges.

    Nine in ten of the edges are within a cluster.
    """
    random = np.random.default_rng(4)
    nodes = pl.DataFrame({"id": np.arange(n), "cluster": np.arange(n) // 10})
    left = random.integers(0, n, int(2.1 * n))
    near = left // 10 * 10 + random.integers(0, 10, len(left))
    right = np.where(random.random(len(left)) < 0.9, near, random.integers(0, n, len(left)))
    edges = pl.DataFrame({"left": left, "right": np.minimum(right, n - 1)})
    return [nodes, "id", "cluster", edges, "left", "right"]


def make_edges(n: int) -> list[Any]:
    """Return the arguments of the graph of make_graph without clusters, but with weights."""
    nodes, _, _, edges, *ends = make_graph(n)
    weights = np.random.default_rng(5).integers(0, 101, edges.height) / 100
    return [nodes, "id", edges.with_columns(weight=weights), *ends, "weight"]


def make_pairs(n: int) -> list[Any]:
    """Return the arguments of points whose pairs have n rows, in ten clusters."""
    count = round((2 * n) ** 0.5) + 1
    points = pl.DataFrame({"id": np.arange(count), "cluster": np.arange(count) % CLUSTERS})
    distances = np.random.default_rng(5).random(count * (count - 1) // 2)
    pairs = ce.distances_from_matrix(distances)
    return [points, "id", "cluster", pairs, "left", "right", "distance"]


def make_pair_labels(n: int) -> list[Any]:
    """Return the arguments of n ids in clusters of ten, and about 2 n labeled pairs of ids."""
    nodes, id_name, cluster, edges, *ends = make_graph(n)
    label = (pl.col("left") + pl.col("right")) % 3 > 0
    return [nodes, id_name, cluster, edges.with_columns(is_match=label), *ends, "is_match"]


def make_curves(n: int) -> list[pl.DataFrame]:
    """Return a table of elbow with n rows, RUNS of each partition, and one of references."""
    curve = ce.elbow(make_sweep(START), VECTOR, "cluster", "k")
    parts = pl.DataFrame({"part": range(n // RUNS)})
    whole = curve.join(parts, how="cross")
    return [whole, whole.join(pl.DataFrame({"reference_set": [0, 1]}), how="cross")]


def call_of(name: str, kind: Kind, n: int) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of the default call of a table, frames and columns, for n rows."""
    if kind == "centers":
        points = make_points(n)
        keys = ["fold"] if name == "cross_validation" else None
        centers = ce.centroids(points, VECTOR, "cluster", partition_by=keys)
        columns = [centers] if keys is None else ["cluster", "fold", centers]
        return [points, VECTOR, *columns], {}
    if kind == "curves":
        curve, references = make_curves(n)
        given = [curve, references, "reference_set"] if name == "gap_statistic" else [curve]
        return given, {"partition_by": "part"}
    if kind == "states":
        points = make_points(2 * n).with_columns(cluster=pl.int_range(2 * n) // 2)
        return [ce.cluster_states(points, VECTOR, "cluster")], {}
    return _CALLS[kind](n), {}


_LABELS: Callable[[int], list[Any]] = lambda n: [make_labels(n), "label", "cluster"]  # noqa: E731
_POINTS: Callable[[int], list[Any]] = lambda n: [make_points(n), VECTOR, "cluster"]  # noqa: E731
_CALLS: dict[Kind, Callable[[int], list[Any]]] = {
    "labels": _LABELS,
    "records": _LABELS,
    "replication": _LABELS,
    "one clustering": lambda n: [make_labels(n), "cluster"],
    "points": _POINTS,
    "points of states": _POINTS,
    "attributes": lambda n: [make_points(n), VECTOR, "cluster"],
    "nominal values": lambda n: [make_runs(n), ["label"], "cluster"],
    "sweep": lambda n: [make_sweep(n), VECTOR, "cluster", "k"],
    "points alone": lambda n: [make_points(n), VECTOR],
    "runs": lambda n: [make_runs(n), "id", "run", "cluster"],
    "runs and one of them": lambda n: [make_runs(n), "id", "run", "cluster", 0],
    "paired labels": lambda n: [make_runs(n), "label", "cluster", "run"],
    "several clusterings": lambda n: [make_runs(n), ["cluster", "run"], "label"],
    "resamples": lambda n: [make_runs(n), "label", "cluster", "run"],
    "removed columns": lambda n: [make_removals(n), VECTOR, "cluster", "removed", "reduced"],
    "two runs": lambda n: [
        make_labels(n),
        make_labels(n).with_columns(cluster="label"),
        "id",
        "cluster",
    ],
    "covers": lambda n: [make_labels(n), make_labels(n), "id", "label", "cluster"],
    "graph": make_graph,
    "distances": make_pairs,
    "neighbors": make_graph,
    "edges": make_edges,
    "pair labels": make_pair_labels,
}


# Calls ---------------------------------------------------------------------------------------


def time_polars(name: str, arguments: list[Any], options: dict[str, Any]) -> float:
    """Return the seconds of a call in Polars."""
    start = time.perf_counter()
    getattr(ce, name)(*arguments, **options)
    return time.perf_counter() - start


def time_duckdb(name: str, arguments: list[Any], options: dict[str, Any]) -> float:
    """Return the seconds of a call in DuckDB, whose tables are in memory."""
    query, frames = write_call(name, arguments, options)
    with duckdb.connect() as connection:
        ce.register(connection)
        for table_name, frame in frames.items():
            connection.register("given", frame)
            connection.execute(f"CREATE TABLE {table_name} AS FROM given")
            connection.unregister("given")
        start = time.perf_counter()
        connection.execute(f"CREATE TABLE result AS {query}")
        return time.perf_counter() - start


def write_call(
    name: str, arguments: list[Any], options: dict[str, Any]
) -> tuple[str, dict[str, pl.DataFrame]]:
    """Return a call as a query, and the frames by the names of the tables that it reads."""
    frames = {f"rows_{i}": x for i, x in enumerate(arguments) if isinstance(x, pl.DataFrame)}
    texts = [f"rows_{i}" if f"rows_{i}" in frames else _write(x) for i, x in enumerate(arguments)]
    texts += [f"{key} := {value}" for key, value in options.items()]
    return f"FROM clustereval.{name}({', '.join(texts)})", frames


def _write(argument: str | int | list[str]) -> str:
    """Return the name of a column, a list of them, or a number, as SQL."""
    if isinstance(argument, list):
        return f"[{', '.join(argument)}]"
    return quote_identifier(argument) if isinstance(argument, str) else str(argument)


ENGINES = {"DuckDB": time_duckdb, "Polars": time_polars}


def measure(name: str, engine: str, budget: float, most: int) -> Measured:
    """Return the calls of a table in an engine, of ever more rows."""
    kind = declared_tables()[name].kind
    calls: list[Size] = []
    rows = START
    while rows <= most:
        arguments, options = call_of(name, kind, rows)
        try:
            seconds = ENGINES[engine](name, arguments, options)
            # The first call loads what is kept, and others disturb short ones.
            for _ in range(2 if seconds < 1 else 0):
                seconds = min(seconds, ENGINES[engine](name, arguments, options))
        except (ce.ClusterEvalError, duckdb.InvalidInputException):
            # Half of them show the growth of a table that refuses more than a few rows.
            if not (calls and rows > 2 * calls[-1].rows):
                return Measured(calls, is_refused=True)
            rows = 2 * calls[-1].rows
            continue
        calls.append(Size(rows, seconds))
        if seconds > budget and len(calls) > 2:
            break
        rows *= 2 if seconds > budget / 16 else 4
    return Measured(calls)


# Table ---------------------------------------------------------------------------------------


def measure_tables(names: list[str], budget: float, most: int) -> str:
    """Return the section of the tables, as Markdown."""
    rows = []
    for name in names:
        declared = declared_tables()[name]
        cells: list[str] = []
        for engine in ENGINES:
            has_macro = declared.has_macro or engine == "Polars"
            found = measure(name, engine, budget, most) if has_macro else Measured([])
            print(name, engine, *found.calls[-2:], file=sys.stderr)
            cells += found.show()
        rows.append((name, declared.kind, *cells))
    return table.format_rows(TITLE, HEADER, rows)


def main() -> None:
    """Measure the tables that the command line names, print theirs, and write --output."""
    parser = argparse.ArgumentParser("python -m benchmarks.minutes", description=__doc__)
    parser.add_argument("--only", help="tables, separated by commas; by default all")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of the longest call")
    parser.add_argument("--most", type=int, default=4_096_000, help="rows of the longest call")
    parser.add_argument("--output", type=Path, help="Markdown file for the table")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(declared_tables())
    section = measure_tables(names, options.budget, options.most)
    rounds = f"Calls of up to {options.budget:g} seconds, one of each number of rows."
    text = f"{table.describe_machine(1).rpartition('. ')[0]}. {rounds}\n\n{section}"
    pages.write_results(options.output, text)


if __name__ == "__main__":
    main()
