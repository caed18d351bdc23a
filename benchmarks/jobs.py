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
from benchmarks.cases import LOOPED, RUN_ROWS, SCALED_ROWS, SWEEP_ROWS, SWEPT
from polars_clustereval.internal import mean_distances
from polars_clustereval.internal.kernels.distance_blocks import TargetPoints
from polars_clustereval.macros import register

#: Values by the name of the metric, one a run.
Answers = Mapping[str, Sequence[Any]]
Run = Callable[[], Answers]

#: Seconds to spend on a job: a call of milliseconds is repeated, so that what an engine does once a
#: process (starting its threads, first pages of memory) is not taken for the call's own time.
ENOUGH = 1.0
#: Calls that a job is worth, and seconds after which fewer are enough.
CALLS, LONG = 3, 10.0


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


def _polars_report_ami(rows: pl.LazyFrame) -> pl.LazyFrame:
    return _polars_report(rows).select("adjusted_mutual_info_score")


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


def _duckdb_silhouette(options: str, path: str) -> Run:
    con = duckdb.connect()
    register(con)
    columns = ", ".join(_columns(path))
    limit = {"method := 'bounds'": "1500MB", "distance := 'cityblock'": "3GB"}.get(options)
    if limit is not None:
        # What is beyond goes to the disk.
        con.execute(f"SET memory_limit = '{limit}'; SET temp_directory = '{path}.spilled'")
    con.execute(f"CREATE {'VIEW' if 'bounds' in options else 'TABLE'} points AS FROM '{path}'")
    query = f"FROM clustereval.silhouette_score(points, [{columns}], cluster, {options})"
    return lambda: con.sql(query).pl().drop("partition_key").to_dict(as_series=False)


def _polars_silhouette(options: dict[str, str], path: str) -> Run:
    bounds = "method" in options
    rows = pl.scan_parquet(path) if bounds else pl.read_parquet(path).lazy()
    columns = _columns(path)

    def run() -> Answers:
        score = ce.silhouette_score(rows, columns, "cluster", **options)
        return score.collect(engine="streaming").to_dict(as_series=False)

    return run


DUNNS = ["dunn_index", "max_diameter", "min_separation"]


def _duckdb_dunn(path: str) -> Run:
    con = duckdb.connect()
    register(con)
    con.execute(f"CREATE TABLE points AS FROM '{path}'")
    call = f"dunn_index(points, [{', '.join(_columns(path))}], cluster, generalized := FALSE)"
    query = f"SELECT {', '.join(DUNNS)} FROM clustereval.{call}"
    return lambda: con.sql(query).pl().to_dict(as_series=False)


def _polars_dunn(path: str) -> Run:
    rows, columns = pl.read_parquet(path).lazy(), _columns(path)

    def run() -> Answers:
        index = ce.dunn_index(rows, columns, "cluster", generalized=False).select(DUNNS)
        return index.collect(engine="streaming").to_dict(as_series=False)

    return run


def _scipy_dunn(path: str) -> Run:
    import numpy as np
    from scipy.spatial.distance import cdist

    rows = pl.read_parquet(path).sort("cluster")
    clusters = [_matrix(part) for part in rows.partition_by("cluster")]
    step = 1000

    def run() -> Answers:
        most, least = 0.0, np.inf
        for i, one in enumerate(clusters):
            for start in range(0, len(one), step):
                some = one[start : start + step]
                most = max(most, cdist(some, one[start:]).max())
                for other in clusters[i + 1 :]:
                    least = min(least, cdist(some, other).min())
        return dict(zip(DUNNS, ([least / most], [most], [least]), strict=True))

    return run


class _Counted(TargetPoints):
    """Counts the pairs whose distances are summed."""

    pairs = 0

    def sums(self, x: Any) -> Any:
        _Counted.pairs += len(x) * len(self.y)
        return super().sums(x)


def _sklearn_silhouette(distance: str, path: str) -> Run:
    from sklearn.metrics import silhouette_score

    rows = pl.read_parquet(path)
    points, cluster = _matrix(rows), rows["cluster"].to_numpy()
    return lambda: {"silhouette": [silhouette_score(points, cluster, metric=distance)]}


def _sklearn_some(path: str) -> Run:
    from sklearn.metrics import silhouette_samples

    rows = pl.read_parquet(path)
    some = rows.head(SCALED_ROWS)
    points, cluster = _matrix(some), some["cluster"].to_numpy()

    def run() -> Answers:
        silhouette_samples(points, cluster, metric="cityblock")
        return {"n": [rows.height]}

    return run


def _genieclust_silhouette(path: str) -> Run:
    from genieclust.cluster_validity import silhouette_index

    rows = pl.read_parquet(path)
    points, cluster = _matrix(rows), rows["cluster"].to_numpy()
    return lambda: {"silhouette": [silhouette_index(points, cluster)]}


def _spark_silhouette(distance: str, path: str) -> Run:
    from pyspark.ml.evaluation import ClusteringEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[*]").config("spark.driver.memory", "8g")
    session = session.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    rows = session.read.parquet(path)
    vectors = VectorAssembler(inputCols=_columns(path), outputCol="features").transform(rows)
    vectors = vectors.select("features", "cluster").cache()
    vectors.count()
    measure = {"sqeuclidean": "squaredEuclidean"}.get(distance, distance)
    evaluator = ClusteringEvaluator(predictionCol="cluster", distanceMeasure=measure)
    return lambda: {"silhouette": [evaluator.evaluate(vectors)]}


def _polars_sorts(beside: Sequence[str], path: str) -> Run:
    rows = pl.read_parquet(path)
    columns = [rows.select(column, *beside) for column in _columns(path)]

    def run() -> Answers:
        for column in columns:
            column.sort(column.columns[0])
        return {"n": [rows.height]}

    return run


def _numpy_centres(path: str) -> Run:
    import numpy as np

    rows = pl.read_parquet(path)
    points = _matrix(rows)
    means = rows.group_by("cluster").agg(pl.col(_columns(path)).mean()).sort("cluster")
    centres = means.drop("cluster").to_numpy()

    def run() -> Answers:
        squares = points @ (-2 * centres.T)
        squares += (points * points).sum(axis=1)[:, None]
        squares += (centres * centres).sum(axis=1)
        np.sqrt(np.maximum(squares, 0, out=squares), out=squares)
        return {"n": [len(squares)]}

    return run


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
SILHOUETTES = ("euclidean", "cityblock", "sqeuclidean", "cosine")

JOBS: dict[str, Callable[[str], Run]] = {
    "duckdb bare": partial(_duckdb_bare, "label, cluster"),
    "duckdb plain": partial(_duckdb, REPORT.format(options=", adjusted := false")),
    "duckdb full": partial(_duckdb, REPORT.format(options="")),
    "duckdb report ami": partial(
        _duckdb, f"SELECT adjusted_mutual_info_score {REPORT.format(options='')}"
    ),
    "duckdb ami": partial(_duckdb, f"{AMI} FROM assignments"),
    "duckdb bare runs": partial(_duckdb_bare, "run, label, cluster"),
    "duckdb plain runs": partial(
        _duckdb, REPORT.format(options=", partition_by := run, adjusted := false")
    ),
    "duckdb full runs": partial(_duckdb, REPORT.format(options=", partition_by := run")),
    "polars bare": partial(_polars, partial(_polars_bare, ["label", "cluster"])),
    "polars plain": partial(_polars, partial(_polars_report, adjusted=False)),
    "polars full": partial(_polars, _polars_report),
    "polars report ami": partial(_polars, _polars_report_ami),
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
    **{
        f"duckdb silhouette {distance}": partial(_duckdb_silhouette, f"distance := '{distance}'")
        for distance in SILHOUETTES
    },
    **{
        f"polars silhouette {distance}": partial(_polars_silhouette, {"distance": distance})
        for distance in SILHOUETTES
    },
    **{
        f"sklearn silhouette {distance}": partial(_sklearn_silhouette, distance)
        for distance in SILHOUETTES
    },
    **{
        f"spark silhouette {distance}": partial(_spark_silhouette, distance)
        for distance in ("sqeuclidean", "cosine")
    },
    "duckdb silhouette bounds": partial(_duckdb_silhouette, "method := 'bounds'"),
    "polars silhouette bounds": partial(_polars_silhouette, {"method": "bounds"}),
    "sklearn silhouette of some": _sklearn_some,
    "genieclust silhouette": _genieclust_silhouette,
    "polars sorts": partial(_polars_sorts, []),
    "polars sorts with clusters": partial(_polars_sorts, ["cluster"]),
    "duckdb dunn": _duckdb_dunn,
    "polars dunn": _polars_dunn,
    "scipy dunn": _scipy_dunn,
    "numpy centres": _numpy_centres,
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
    mean_distances.TargetPoints = _Counted
    answers, seconds = _timed(run)
    counted = {"pairs": _Counted.pairs} if _Counted.pairs else {}
    times = [seconds]
    while sum(times) < ENOUGH or (len(times) < CALLS and sum(times) < LONG):
        times.append(_timed(run)[1])
    measured = {"seconds": median(times), "before_mb": before, "peak_mb": _peak_mb()}
    print(json.dumps(measured | counted | {"answers": _comparable(answers)}))


def _timed(run: Run) -> tuple[Answers, float]:
    start = time.perf_counter()
    return run(), time.perf_counter() - start


if __name__ == "__main__":
    _main(*sys.argv[1:])
