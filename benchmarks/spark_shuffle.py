"""Bytes that external_report shuffles on Spark: ``python -m benchmarks.spark_shuffle``.

A cluster of two executor processes on this machine; the bytes are those of its event log. The same
cells of ten and a hundred times as many rows, and a hundredth of the cells.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.event_log import read_stages

CASES = ((1_000_000, 300), (10_000_000, 300), (100_000_000, 300), (100_000_000, 30))


def main() -> None:
    """Print a row of a table for each number of rows and of labels and clusters."""
    from pyspark.sql import SparkSession

    executors = sys.argv[1] if len(sys.argv) > 1 else "2"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as folder:
        session = (
            SparkSession.builder.master(f"local-cluster[{executors},1,1024]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.compress", "false")
            .config("spark.eventLog.dir", Path(folder).as_uri())
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        seconds = [_measure(session, n, k) for n, k in CASES]
        stages = read_stages(Path(folder))
        session.stop()
    print("| rows | cells | bytes shuffled | stages | seconds |")
    print("|---:|---:|---:|---:|---:|")
    for (n, k), time_taken in zip(CASES, seconds, strict=True):
        own = [stage for stage in stages if stage.job_group == f"{n} {k}"]
        shuffled = sum(stage.shuffled_bytes for stage in own)
        print(f"| {n:,} | {k * k:,} | {shuffled:,} | {len(own)} | {time_taken:.1f} |")


def _measure(session: object, n: int, k: int) -> float:
    """Return the seconds of external_report of n rows, k labels and k clusters; all cells occur."""
    from pyspark.sql import SparkSession, functions

    from polars_clustereval import spark

    assert isinstance(session, SparkSession)
    rows = session.range(0, n, 1, 8).select(
        (functions.col("id") % k).alias("label"),
        (functions.floor(functions.col("id") / k) % k).alias("cluster"),
    )
    session.sparkContext.setJobGroup(f"{n} {k}", "external_report")
    begin = time.perf_counter()
    (report,) = spark.external_report(rows, "label", "cluster").collect()
    seconds = time.perf_counter() - begin
    assert (report.n, report.n_labels, report.n_clusters) == (n, k, k)
    return seconds


if __name__ == "__main__":
    main()
