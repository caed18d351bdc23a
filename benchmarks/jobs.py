"""What is timed. A job opens its input, then gives the function to be timed and its answers.

`python -m benchmarks.jobs NAME FILE` runs one of them and prints what was measured as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

import duckdb
import polars as pl

import polars_clustereval as ce
from benchmarks.cases import LOOPED, RUN_ROWS
from polars_clustereval.macros import register

#: Values by the name of the metric, one a run.
Answers = Mapping[str, Sequence[Any]]
Run = Callable[[], Answers]

#: Seconds to spend on a job: a call of milliseconds is repeated, so that what an engine does once a
#: process (starting its threads, first pages of memory) is not taken for the call's own time.
ENOUGH = 1.0


def _duckdb(query: str, path: str) -> Run:
    con = duckdb.connect()
    register(con)
    con.read_parquet(path).create_view("assignments")

    def run() -> Answers:
        result = con.execute(query)
        names = [column[0] for column in result.description or ()]
        return dict(zip(names, zip(*result.fetchall(), strict=True), strict=True))

    return run


def _duckdb_bare(keys: str, path: str) -> Run:
    # The groups are summed up, not kept: the cheapest use of a GROUP BY, the hardest to match.
    return _duckdb(
        f"""
        SELECT CAST(sum(n) AS BIGINT) AS rows, CAST(sum(n * (n - 1)) AS BIGINT) AS joined_pairs
        FROM (SELECT count(*) AS n FROM assignments GROUP BY {keys})
        """,
        path,
    )


def _polars(frame: Callable[[pl.LazyFrame], pl.LazyFrame], path: str) -> Run:
    def run() -> Answers:
        return frame(pl.scan_parquet(path)).collect(engine="streaming").to_dict(as_series=False)

    return run


def _polars_bare(keys: list[str], rows: pl.LazyFrame) -> pl.LazyFrame:
    n = pl.col("n")
    groups = rows.group_by(keys).agg(pl.len().cast(pl.Int64).alias("n"))
    return groups.select(n.sum().alias("rows"), (n * (n - 1)).sum().alias("joined_pairs"))


def _polars_report(rows: pl.LazyFrame, **options: Any) -> pl.LazyFrame:
    return ce.external_report(rows, "label", "cluster", **options)


def _polars_ami(rows: pl.LazyFrame) -> pl.LazyFrame:
    score = ce.adjusted_mutual_info_score("label", "cluster")
    return rows.select(score.alias("adjusted_mutual_info_score"))


def _sklearn(names: Sequence[str], path: str) -> Run:
    from sklearn import metrics  # here, so that it is no part of the engines' memory

    label, cluster = _arrays(path)
    return lambda: {name: [getattr(metrics, name)(label, cluster)] for name in names}


def _sklearn_loop(names: Sequence[str], path: str) -> Run:
    from sklearn import metrics

    labels, clusters = (
        column[: LOOPED * RUN_ROWS].reshape(LOOPED, RUN_ROWS) for column in _arrays(path)
    )

    def run() -> Answers:
        pairs = list(zip(labels, clusters, strict=True))
        return {name: [getattr(metrics, name)(*pair) for pair in pairs] for name in names}

    return run


def _arrays(path: str) -> list[Any]:
    rows = pl.read_parquet(path, columns=["label", "cluster"])
    return [column.to_numpy() for column in rows]


REPORT = "FROM clustereval.external_report(assignments, label, cluster{options})"
AMI = "SELECT clustereval.adjusted_mutual_info_score(label, cluster) AS adjusted_mutual_info_score"
# The runs' own names differ between the engines; their order is the same.
KEYS = ("partition_key", "run")
LOOP = ["adjusted_rand_score", "normalized_mutual_info_score", "v_measure_score"]

JOBS: dict[str, Callable[[str], Run]] = {
    "duckdb bare": partial(_duckdb_bare, "label, cluster"),
    "duckdb plain": partial(_duckdb, REPORT.format(options=", adjusted := false")),
    "duckdb full": partial(_duckdb, REPORT.format(options="")),
    "duckdb ami": partial(_duckdb, f"{AMI} FROM assignments"),
    "duckdb bare runs": partial(_duckdb_bare, "run, label, cluster"),
    "duckdb plain runs": partial(
        _duckdb, REPORT.format(options=", partition_by := run, adjusted := false")
    ),
    "duckdb full runs": partial(_duckdb, REPORT.format(options=", partition_by := run")),
    "polars bare": partial(_polars, partial(_polars_bare, ["label", "cluster"])),
    "polars plain": partial(_polars, partial(_polars_report, adjusted=False)),
    "polars full": partial(_polars, _polars_report),
    "polars ami": partial(_polars, _polars_ami),
    "polars bare runs": partial(_polars, partial(_polars_bare, ["run", "label", "cluster"])),
    "polars plain runs": partial(
        _polars, partial(_polars_report, partition_by="run", adjusted=False)
    ),
    "polars full runs": partial(_polars, partial(_polars_report, partition_by="run")),
    "sklearn ari": partial(_sklearn, ["adjusted_rand_score"]),
    "sklearn ami": partial(_sklearn, ["adjusted_mutual_info_score"]),
    "sklearn loop": partial(_sklearn_loop, LOOP),
}


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _comparable(answers: Answers) -> Answers:
    """Answers of the first runs, with the totals over all runs that a bare GROUP BY gives too."""
    kept = {name: values[:LOOPED] for name, values in answers.items() if name not in KEYS}
    if "n" not in answers:
        return kept
    joined = zip(answers["n"], answers["russell_rao_index"], strict=True)
    pairs = sum(n * (n - 1) * share for n, share in joined)
    return kept | {"rows": [sum(answers["n"])], "joined_pairs": [pairs]}


def _main(name: str, path: str) -> None:
    run = JOBS[name](path)
    before = _peak_mb()
    answers, seconds = _timed(run)
    times = [seconds]
    while sum(times) < ENOUGH:
        times.append(_timed(run)[1])
    measured = {"seconds": median(times), "before_mb": before, "peak_mb": _peak_mb()}
    print(json.dumps(measured | {"answers": _comparable(answers)}))


def _timed(run: Run) -> tuple[Answers, float]:
    start = time.perf_counter()
    return run(), time.perf_counter() - start


if __name__ == "__main__":
    _main(*sys.argv[1:])
