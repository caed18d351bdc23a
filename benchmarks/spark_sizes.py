"""Tables on Spark at several sizes: seconds, bytes shuffled, and reads of the rows.

A cluster of executor processes on this machine, each with one core; the rows are in Parquet. The
jobs run in turn, after a first round that is not counted, in which Java compiles itself. The
answers are compared in each round: silhouettes with those of Spark's own ClusteringEvaluator, and
scores alone with those of the whole reports. Bytes and reads are those of Spark's event log.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks import pages, table
from benchmarks.event_log import Stage, read_stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, Row, SparkSession

CLUSTERS, DIMS, TASKS = 100, 8, 8
COLUMNS = [f"x{i}" for i in range(DIMS)]
INDICES = ["calinski_harabasz_score", "davies_bouldin_score"]
HEADER = ("table", "by", "seconds", "bytes shuffled", "reads of the rows")


class Job(NamedTuple):
    """What is timed: a table, who computes it, and the call, which returns the only row."""

    table: str
    by: str
    run: Callable[[DataFrame], Row]


def list_jobs() -> list[Job]:
    """Return the jobs, each a function of the rows."""
    from pyspark.sql import functions

    from polars_clustereval import spark

    labels = ("label", "cluster")

    def count_cells(rows: DataFrame) -> Row:
        # Spark would rewrite a sum of counts alone into one count, without groups.
        cells = rows.groupBy(*labels).count()
        return _only_row(cells.agg(functions.sum("count").alias("n"), functions.max("count")))

    def report_labels(rows: DataFrame, **options: Any) -> Row:
        return _only_row(spark.external_report(rows, *labels, **options))

    def report_points(rows: DataFrame, **options: Any) -> Row:
        return _only_row(spark.internal_report(rows, COLUMNS, "cluster", **options))

    def score_points(rows: DataFrame) -> Row:
        return _only_row(spark.silhouette_score(rows, COLUMNS, "cluster", distance="sqeuclidean"))

    own = "polars_clustereval"
    return [
        Job("GROUP BY label, cluster", "Spark", count_cells),
        Job("external_report", own, report_labels),
        Job(
            "external_report, adjusted_rand_score alone",
            own,
            lambda rows: report_labels(rows, metrics=["adjusted_rand_score"]),
        ),
        Job("internal_report", own, report_points),
        Job(
            "internal_report, CH and DB alone",
            own,
            lambda rows: report_points(rows, metrics=INDICES),
        ),
        Job("silhouette_score, sqeuclidean", own, score_points),
        Job("silhouette, sqeuclidean", "ClusteringEvaluator", _evaluate_points),
    ]


def _only_row(frame: DataFrame) -> Row:
    """Return the row of a table that has one."""
    (row,) = frame.collect()
    return row


def _evaluate_points(rows: DataFrame) -> Row:
    """Return the silhouette by Spark's own evaluator."""
    from pyspark.ml.evaluation import ClusteringEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import Row

    vectors = VectorAssembler(inputCols=COLUMNS, outputCol="features").transform(rows)
    evaluator = ClusteringEvaluator(predictionCol="cluster", distanceMeasure="squaredEuclidean")
    return Row(silhouette=evaluator.evaluate(vectors))


def compare_answers(answers: list[Row], n: int) -> None:
    """Raise an error if two jobs have different answers, or one has not read all n rows."""
    cells, labels, rand, points, indices, own, spark = answers
    assert cells.n == labels.n == points.n == own.n == n, answers
    pairs = [(labels.adjusted_rand_score, rand.adjusted_rand_score)]
    pairs += [(points[name], indices[name]) for name in INDICES]
    pairs += [(own.silhouette, spark.silhouette)]
    for left, right in pairs:
        assert math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9), (left, right)


def start_session(executors: int, folder: Path) -> SparkSession:
    """Return a session on a cluster of this many executor processes, which logs into a folder."""
    from pyspark.sql import SparkSession

    (folder / "log").mkdir()
    session = (
        SparkSession.builder.master(f"local-cluster[{executors},1,2048]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(TASKS))
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", (folder / "log").as_uri())
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    return session


def write_rows(session: SparkSession, n: int, folder: Path) -> DataFrame:
    """Return n points in clusters that overlap, with labels of which 7 in 10 agree, in Parquet."""
    from pyspark.sql import functions as f

    def hashed(modulus: int, *keys: Any) -> Any:
        """Return whole numbers below the modulus that look random, the same for the same keys."""
        return f.pmod(f.xxhash64(*keys), f.lit(modulus))

    rows = session.range(0, n, 1, TASKS).withColumn("cluster", hashed(CLUSTERS, "id"))
    kept = hashed(10, "id", f.lit("kept")) < 7
    coordinates = [
        (hashed(10_000, "id", f.lit(i)) / 3000 + hashed(5, "cluster", f.lit(i))).alias(column)
        for i, column in enumerate(COLUMNS)
    ]
    label = f.when(kept, f.col("cluster")).otherwise(hashed(CLUSTERS, "id", f.lit("label")))
    path = str(folder / f"rows_{n}")
    rows.select("cluster", label.alias("label"), *coordinates).write.parquet(path)
    return session.read.parquet(path)


def time_jobs(session: SparkSession, rows: DataFrame, n: int, rounds: int) -> list[float]:
    """Return the median seconds of each job; its stages are logged as the job group 'n place'."""
    jobs = list_jobs()
    seconds: list[list[float]] = [[] for _ in jobs]
    for number in range(rounds + 1):
        answers = []
        for place, job in enumerate(jobs):
            # Only the last round is looked up in the log.
            group = f"{n} {place}" if number == rounds else "other"
            session.sparkContext.setJobGroup(group, job.table)
            begin = time.perf_counter()
            answers.append(job.run(rows))
            if number:
                seconds[place].append(time.perf_counter() - begin)
        compare_answers(answers, n)
    return [statistics.median(each) for each in seconds]


def format_size(n: int, seconds: list[float], stages: list[Stage]) -> str:
    """Return the section of a number of rows, as Markdown."""
    lines = []
    for place, job in enumerate(list_jobs()):
        own = [stage for stage in stages if stage.job_group == f"{n} {place}"]
        shuffled = sum(stage.shuffled_bytes for stage in own)
        reads = sum(stage.input_records for stage in own) / n
        number = table.format_number(seconds[place])
        lines.append((job.table, job.by, number, f"{shuffled:,}", f"{reads:.1f}"))
    title = f"{pages.SPARK_TITLE}{n:,} rows × {DIMS}, {CLUSTERS} labels and clusters"
    return table.format_rows(title, HEADER, lines)


def main() -> None:
    """Measure all sizes, print the sections, and write --output."""
    parser = argparse.ArgumentParser("python -m benchmarks.spark_sizes", description=__doc__)
    parser.add_argument("--executors", type=int, default=2)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="Markdown file for the tables")
    options = parser.parse_args()
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        session = start_session(options.executors, folder)
        seconds = {}
        for n in options.rows:
            rows = write_rows(session, n, folder)
            seconds[n] = time_jobs(session, rows, n, options.rounds)
            print(n, *seconds[n], file=sys.stderr)
        stages = read_stages(folder / "log")
        sections = [format_size(n, seconds[n], stages) for n in options.rows]
        session.stop()
    text = (
        f"{table.describe_machine(options.rounds)} pyspark {version('pyspark')}, "
        f"{options.executors} executors of one core."
    )
    text = "\n\n".join([text, *sections])
    pages.write_results(options.output, text)


if __name__ == "__main__":
    main()
