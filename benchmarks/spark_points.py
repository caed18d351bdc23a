"""Tables of points on Spark: ``python -m benchmarks.spark_points [--executors 2] [--rows N ...]``.

A cluster of executor processes on this machine. For each number of points: the silhouette of
squared distances beside Spark's own ClusteringEvaluator, of the same cached points, alternating and
compared first; and the bytes that internal_report shuffles, from the event log.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.event_log import read_stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

DIMENSIONS, CLUSTERS, ROUNDS = 16, 20, 3


def main() -> None:
    """Print a row for each number of points."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--report-only", action="store_true", help="no silhouettes")
    options = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as folder:
        session = _start(options.executors, Path(folder))
        rows = []
        for n in options.rows:
            points = _make_points(session, n)
            seconds = _time_report(session, points, n)
            pair = (0.0, 0.0) if options.report_only else _time_silhouettes(points)
            rows.append((n, seconds, pair))
        stages = read_stages(Path(folder) / "log")
        session.stop()
    print("| points | report s | bytes shuffled | points read | silhouette s | Spark's s | ratio |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for n, seconds, (ours, theirs) in rows:
        own = [stage for stage in stages if stage.job_group == f"report {n}"]
        shuffled = sum(stage.shuffled_bytes for stage in own)
        read = sum(stage.input_records for stage in own) / n
        ratio = f"{theirs / ours:.2f}" if ours else ""
        print(
            f"| {n:,} | {seconds:.1f} | {shuffled:,} | {read:.1f} times | {ours:.1f} | "
            f"{theirs:.1f} | {ratio} |"
        )


def _start(executors: int, folder: Path) -> SparkSession:
    """Return a session on a cluster of this many executor processes, which logs into the folder."""
    from pyspark.sql import SparkSession

    (folder / "log").mkdir()
    session = (
        SparkSession.builder.master(f"local-cluster[{executors},1,2048]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", (folder / "log").as_uri())
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def _make_points(session: SparkSession, n: int) -> DataFrame:
    """Return n points in clusters that overlap, the same at each call."""
    from pyspark.sql import functions

    rows = session.range(0, n, 1, 8).withColumn("cluster", functions.col("id") % CLUSTERS)
    coordinates = [
        (
            functions.pmod(functions.xxhash64("id", functions.lit(i)), functions.lit(10_000)) / 3000
            + functions.pmod(functions.xxhash64("cluster", functions.lit(i)), functions.lit(5))
        ).alias(f"x{i}")
        for i in range(DIMENSIONS)
    ]
    return rows.select("cluster", *coordinates)


def _columns() -> list[str]:
    """Return the names of the coordinates."""
    return [f"x{i}" for i in range(DIMENSIONS)]


def _time_report(session: SparkSession, points: DataFrame, n: int) -> float:
    """Return the seconds of internal_report, whose stages are logged as a job group."""
    from polars_clustereval import spark

    session.sparkContext.setJobGroup(f"report {n}", "internal_report")
    begin = time.perf_counter()
    (report,) = spark.internal_report(points, _columns(), "cluster").collect()
    seconds = time.perf_counter() - begin
    session.sparkContext.setJobGroup("", "")
    assert (report.n, report.n_clusters) == (n, CLUSTERS), report
    return seconds


def _time_silhouettes(points: DataFrame) -> tuple[float, float]:
    """Return the median seconds of silhouette_score and of ClusteringEvaluator, in turn."""
    from pyspark.ml.evaluation import ClusteringEvaluator
    from pyspark.ml.feature import VectorAssembler

    from polars_clustereval import spark

    points = points.cache()
    vectors = VectorAssembler(inputCols=_columns(), outputCol="features").transform(points)
    vectors = vectors.select("features", "cluster").cache()
    assert points.count() == vectors.count()
    evaluator = ClusteringEvaluator(predictionCol="cluster", distanceMeasure="squaredEuclidean")
    jobs: dict[str, Callable[[], Any]] = {
        "ours": lambda: (
            spark.silhouette_score(points, _columns(), "cluster", distance="sqeuclidean")
            .first()
            .silhouette
        ),
        "theirs": lambda: evaluator.evaluate(vectors),
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(ROUNDS + 1):
        answers = {}
        for name, job in jobs.items():
            begin = time.perf_counter()
            answers[name] = job()
            if number:  # the first round warms Java up
                seconds[name].append(time.perf_counter() - begin)
        assert math.isclose(answers["ours"], answers["theirs"], abs_tol=1e-9), answers
    points.unpersist()
    vectors.unpersist()
    return statistics.median(seconds["ours"]), statistics.median(seconds["theirs"])


if __name__ == "__main__":
    main()
