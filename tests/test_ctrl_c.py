"""Ctrl-C in Python while DuckDB works: the handler of docs/duckdb.md, and pages that name it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from tests.test_snippets import ROOT, blocks

pytestmark = pytest.mark.gate

#: Pages that teach tables whose queries take long: those of pairs of points and of many runs.
PAGES = ("dunn", "internal", "pairwise", "scale", "silhouette", "stability")

# After the handler: a query of a minute or more, in more than one thread.
QUERY = """
con.execute("SET threads = 2")
con.execute(
    "CREATE TABLE points AS SELECT [random(), random(), random(), random()] AS v, i % 4 AS c "
    "FROM range(200_000) AS numbers (i)"
)
print("started", flush=True)
con.execute("FROM clustereval.silhouette_score(points, v, c, distance := 'chebyshev')")
"""


def recipe() -> str:
    (block,) = (block for block in blocks("python", "docs/duckdb.md") if "signal.signal" in block)
    return block


# A kernel in two threads, each of which works for a minute or more on a cluster of its own.
KERNEL = """
import numpy as np
import polars as pl
import polars_clustereval as ce
x = np.random.default_rng(0).normal(size=(120_000, 4))
points = pl.DataFrame({"v": x, "c": np.arange(120_000) % 2})
print("started", flush=True)
ce.density_based_validity(points, "v", "c")
"""


@pytest.mark.gate  # it waits for seconds
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
@pytest.mark.parametrize(
    ("of_kernel", "error"),
    [(False, b"RuntimeError: Query interrupted"), (True, b"KeyboardInterrupt")],
    ids=["query", "kernel"],
)
def test_ctrl_c_ends_work(of_kernel: bool, error: bytes) -> None:
    command = [sys.executable, "-c", KERNEL if of_kernel else recipe() + QUERY]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(3)
            assert process.poll() is None
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            # One second on a machine that does nothing else.
            _, words = process.communicate(timeout=20)
        finally:
            process.kill()
    assert error in words
    assert time.monotonic() - started < 20


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of POSIX")
def test_ctrl_c_between_queries() -> None:
    """A query after one that was stopped runs, and other code gets the KeyboardInterrupt."""
    code = """
import os
try:
    os.kill(os.getpid(), signal.SIGINT)
    signal.sigtimedwait([signal.SIGUSR1], 10)
except KeyboardInterrupt:
    print(con.execute("SELECT 42").fetchone())
"""
    command = [sys.executable, "-c", recipe() + code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "(42,)\n"


@pytest.mark.parametrize("page", PAGES)
def test_pages_of_long_queries_name_the_handler(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert "](duckdb.md#ctrl-c-in-python)" in text
