"""Time and memory of density_based_validity, beside hdbscan and the package DBCV.

``python -m benchmarks.density --rows 2_000 5_000 100_000 --output FILE.md`` clusters points of a
normal distribution around 20 centers, and scores them in a process for each call. hdbscan and DBCV
are called if they are installed, DBCV up to the number of rows of --most, because it holds the
distances of all pairs. No time is printed before the scores are equal.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import polars_clustereval as ce

from .from_neighbors import run_alone

N_CLUSTERS, N_DIMS = 20, 8


def make_points(n: int) -> tuple[Any, Any]:
    """Return n points (n, d), and their clusters."""
    random = np.random.default_rng(0)
    clusters = random.integers(0, N_CLUSTERS, n)
    centers = random.normal(0, 5, (N_CLUSTERS, N_DIMS))
    return centers[clusters] + random.normal(size=(n, N_DIMS)), clusters


def score_here(x: Any, clusters: Any) -> float:
    """Return the score of this package."""
    frame = pl.DataFrame({"vector": x, "cluster": clusters})
    return float(ce.density_based_validity(frame, "vector", "cluster")[0, -1])


def score_by_hdbscan(x: Any, clusters: Any) -> float:
    """Return the score of hdbscan."""
    from hdbscan.validity import validity_index

    return float(validity_index(x, clusters))


def score_by_dbcv(x: Any, clusters: Any) -> float:
    """Return the score of DBCV by FelSiq, with the distance of the others."""
    from dbcv import dbcv

    return float(dbcv(x, clusters, metric="euclidean", check_duplicates=False))


PROGRAMS = {
    "density_based_validity": (score_here, "polars_clustereval"),
    "hdbscan, validity_index": (score_by_hdbscan, "hdbscan"),
    "DBCV, dbcv": (score_by_dbcv, "dbcv"),
}


def run_program(name: str, n: int) -> tuple[float, float, float, float]:
    """Return the score, the seconds, the CPU seconds and the largest memory in MB of one call."""
    warnings.simplefilter("ignore")
    x, clusters = make_points(n)
    score = PROGRAMS[name][0]
    score(x[:200], clusters[:200])
    start, cpu = time.perf_counter(), time.process_time()
    value = score(x, clusters)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    usages = (resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return value, seconds, cpu, sum(x.ru_maxrss for x in usages) / 1024


def main() -> None:
    """Print the table, and write it to a file if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 5_000])
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        f"Points with {N_DIMS} coordinates in {N_CLUSTERS} clusters.",
        "",
        "| rows | program | seconds | CPU seconds | largest MB | seconds / ours |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    for n in options.rows:
        wanted, own_seconds = None, 0.0
        for name, (_, module) in PROGRAMS.items():
            is_too_large = module == "dbcv" and n > options.most
            if importlib.util.find_spec(module) is None or is_too_large:
                continue
            value, seconds, cpu, memory = run_alone(run_program, name, n)
            if wanted is None:
                wanted, own_seconds = value, seconds
            if not abs(value - wanted) < 1e-9:
                raise AssertionError(f"{name}, {n} rows: {value}, expected {wanted}")
            ratio = seconds / own_seconds
            lines.append(
                f"| {n:,} | {name} | {seconds:.2f} | {cpu:.2f} | {memory:.0f} | {ratio:.1f} |"
            )
            print(lines[-1], flush=True)
    if options.output:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
