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
from benchmarks.cases import LOOPED, RUN_ROWS, SWEEP_ROWS, SWEPT
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


def _columns(path: str) -> list[str]:
    """The columns that hold the coordinates."""
    names = pl.scan_parquet(path).collect_schema().names()
    return [name for name in names if name not in ("run", "cluster")]


def _duckdb_internal(what: str, source: str, path: str) -> Run:
    con = duckdb.connect()
    register(con)
    kind = "TABLE" if source == "memory" else "VIEW"
    con.execute(f"CREATE {kind} points AS FROM '{path}'")
    columns = _columns(path)
    vector = columns[0] if columns == ["vector"] else f"[{', '.join(columns)}]"
    by = ", partition_by := run" if source == "runs" else ""

    def run() -> Answers:
        query = f"SELECT {what} FROM clustereval.internal_report(points, {vector}, cluster{by})"
        return con.sql(query).pl().to_dict(as_series=False)

    return run


def _polars_internal(what: str, source: str, path: str) -> Run:
    rows = pl.read_parquet(path).lazy() if source == "memory" else pl.scan_parquet(path)
    columns = _columns(path)
    vector = columns[0] if columns == ["vector"] else columns
    by = "run" if source == "runs" else None
    chosen = pl.all() if what == "*" else pl.col(what.split(", "))

    def run() -> Answers:
        report = ce.internal_report(rows, vector, "cluster", partition_by=by).select(chosen)
        return report.collect(engine="streaming").to_dict(as_series=False)

    return run


def _duckdb_sums(path: str) -> Run:
    sums = ", ".join(f"sum({name})" for name in _columns(path))
    once = _duckdb(f"SELECT cluster, {sums}, count(*) AS rows FROM assignments GROUP BY ALL", path)
    return lambda: [{"n": [sum(once()["rows"])]} for _ in range(2)][1]


def _polars_sums(path: str) -> Run:
    rows = pl.scan_parquet(path).group_by("cluster")
    sums = rows.agg(pl.col(_columns(path)).sum(), rows=pl.len())

    def once() -> Answers:
        return {"n": [sums.collect(engine="streaming")["rows"].sum()]}

    return lambda: [once() for _ in range(2)][1]


def _sklearn_internal(path: str) -> Run:
    from sklearn import metrics

    rows = pl.read_parquet(path)
    points, cluster = _matrix(rows), rows["cluster"].to_numpy()
    return lambda: {name: [getattr(metrics, name)(points, cluster)] for name in CENTROID_BASED}


def _sklearn_sweep(path: str) -> Run:
    from sklearn import metrics

    rows = pl.read_parquet(path, n_rows=SWEPT * SWEEP_ROWS)
    points = _matrix(rows).reshape(SWEPT, SWEEP_ROWS, -1)
    clusters = rows["cluster"].to_numpy().reshape(SWEPT, SWEEP_ROWS)

    def run() -> Answers:
        pairs = list(zip(points, clusters, strict=True))
        return {name: [getattr(metrics, name)(*pair) for pair in pairs] for name in CENTROID_BASED}

    return run


def _matrix(rows: pl.DataFrame) -> Any:
    if "vector" in rows.columns:
        width = rows["vector"].list.len()[0]
        return rows["vector"].list.to_array(width).to_numpy()
    return rows.drop("run", "cluster").to_numpy(order="c")


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

CENTROID_BASED = ["calinski_harabasz_score", "davies_bouldin_score"]
FOUR = "n, compactness, davies_bouldin_score, calinski_harabasz_score, ssw"
WHAT = {"four": FOUR, "internal": "*"}
SOURCES = ("memory", "file", "runs")

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
    "duckdb sums": _duckdb_sums,
    "polars sums": _polars_sums,
    "sklearn internal": _sklearn_internal,
    "sklearn sweep": _sklearn_sweep,
    **{
        f"{stem} {name} {source}": partial(run, what, source)
        for stem, run in (("duckdb", _duckdb_internal), ("polars", _polars_internal))
        for name, what in WHAT.items()
        for source in SOURCES
    },
}


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def _comparable(answers: Answers) -> Answers:
    """Answers of the first runs, with the totals over all runs that a bare GROUP BY gives too."""
    some = SWEPT if "compactness" in answers else LOOPED
    kept = {name: values[:some] for name, values in answers.items() if name not in KEYS}
    if "russell_rao_index" not in answers:
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
