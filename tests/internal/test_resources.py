"""Memory and threads that a call takes; benchmarks measure its time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.internal.kernels import threads
from tests.support.engines import fails
from tests.support.point_engines import call

if TYPE_CHECKING:
    from tests.support.engines import Engine

pytestmark = pytest.mark.gate

#: Prints by how many MB the peak memory rises in a call of a table, for n points in k clusters.
PROGRAM = """
import resource, sys
import numpy as np, polars as pl
import polars_clustereval as ce
table, n, k = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random = np.random.default_rng(0)
x = random.normal(size=(n, 4)) + random.permutation(np.arange(n) % k)[:, None]
frame = pl.DataFrame(x, schema=["x0", "x1", "x2", "x3"])
frame = frame.with_columns(cluster=pl.int_range(n) % k)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
getattr(ce, table)(frame, ["x0", "x1", "x2", "x3"], "cluster")
rise = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(rise / (2**20 if sys.platform == "darwin" else 2**10))
"""


@pytest.mark.gate
@pytest.mark.skipif(sys.platform == "win32", reason="no module resource")
@pytest.mark.parametrize(
    ("table", "n", "k", "limit"),
    [("neighbor_report", 100_000, 50, 200), ("internal_report", 12_000, 6_000, 120)],
)
def test_memory_grows_with_the_points_and_not_with_their_pairs(
    table: str, n: int, k: int, limit: float
) -> None:
    """All pairs of a point and a center, or of two centers, would take more than twice as much."""
    command = [sys.executable, "-c", PROGRAM, table, str(n), str(k)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < limit


#: Compares 160,000 points with 8,000 centers, after it has printed a line.
LONG_PROGRAM = """
import polars as pl
import polars_clustereval as ce
frame = pl.DataFrame({"x": pl.int_range(160_000, eager=True)})
frame = frame.with_columns(y=pl.col("x") * 7 % 1009, cluster=pl.col("x") % 8000)
print("started", flush=True)
ce.neighbor_report(frame, ["x", "y"], "cluster")
"""


@pytest.mark.gate  # it waits for seconds
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
def test_ctrl_c_ends_a_stream_inside_of_a_collection() -> None:
    command = [sys.executable, "-c", LONG_PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(3)
            process.send_signal(signal.SIGINT)
            _, words = process.communicate(timeout=10)
        finally:
            process.kill()
    assert b"KeyboardInterrupt" in words


def test_too_many_pairs_of_clusters(side: Engine) -> None:
    """The error comes before any distance to a center; partitions are counted together."""
    frame = pl.DataFrame({"x": pl.int_range(6000, eager=True)})
    frame = frame.with_columns(cluster=pl.col("x"), part=pl.col("x") % 2)
    words = (
        "cluster: expected at most 64000000 pairs of clusters (8000 clusters), got 72000000 (about "
        "4501 MB in DuckDB); evaluate fewer clusters, or take internal_report, which has no limit"
    )
    frame = pl.concat([frame, frame.with_columns(part=pl.col("part") + 2)])
    frame = frame.with_columns(part=pl.col("part") // 2)
    with fails(side, words):
        call(side, "neighbor_report", frame, ["x"], partition_by="part")


@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev"])
def test_little_work_starts_no_threads(
    distance: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []

    def refuse(*given: object) -> None:
        started.append(given)
        raise AssertionError("threads take longer to start than these points do")

    monkeypatch.setattr(threads, "ThreadPoolExecutor", refuse)
    runs = pl.DataFrame({"run": range(5)})
    points = pl.DataFrame({"x": range(n), "cluster": [i % 2 for i in range(n)]})
    frame = runs.join(points, how="cross")
    score = ce.silhouette_score(frame, ["x"], "cluster", distance=distance, partition_by="run")
    assert score["silhouette"].round(9).n_unique() == 1
    assert not started
