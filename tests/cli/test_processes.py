"""The command line as a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
import vl_convert

import polars_clustereval as ce
from polars_clustereval.cli.interruption import is_work_left, run_in_worker
from tests.support.command_line import (
    DIGITS,
    DUCKDB_AT_THE_GATE,
    EXAMPLES,
    IRIS,
    KMEANS,
    Run,
    start,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gate


@DUCKDB_AT_THE_GATE
def test_a_process(run: Run, engine_name: str, tmp_path: Path) -> None:
    """Nothing on standard error, from the libraries neither; UTF-8 whatever the terminal says.

    But for arrows, which are for terminals that have them.
    """
    path = tmp_path / "größe.csv"
    path.write_text("species,kmeans\nä,1\nb,2\nb,2\n", encoding="utf-8")
    arguments = ("external", str(path), *KMEANS, "--engine", engine_name)
    shown = run(*arguments)
    out, err = start(*arguments, PYTHONIOENCODING="utf-8").communicate()
    assert (out.decode(), err) == (shown, b"")
    out, err = start(*arguments).communicate()
    assert err == b""
    assert out.decode().split() == shown.replace("↑", "").replace("↓", "").split()


@pytest.mark.gate
def test_a_process_on_points(engine_name: str) -> None:
    out, err = start(
        "internal", DIGITS, "--vector", "pixels", "--cluster", "kmeans", "--engine", engine_name
    ).communicate()
    assert err == b""
    assert b"davies_bouldin_score" in out


@pytest.mark.gate
def test_a_failing_process(engine_name: str) -> None:
    process = start("external", IRIS, *KMEANS, "--weight", "petal_width", "--engine", engine_name)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert re.fullmatch(rb"clustereval: error: .*weight: expected whole numbers.*\n", err)


@pytest.mark.gate
def test_a_reader_that_goes_away() -> None:
    process = start("sql")
    assert process.stdin is not None
    process.stdin.close()
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()


# Limits of memory


@pytest.mark.gate
def test_pictures_are_left_out_where_the_address_space_is_limited(tmp_path: Path) -> None:
    """The renderer reserves more than 12 GB, and ends its process where it does not get them."""
    page = tmp_path / "page.html"
    arguments = ("report", IRIS, *KMEANS, "--engine", "polars", "--html", str(page))
    pytest.importorskip("resource", reason="limits as Unix has them")
    command = ["sh", "-c", 'ulimit -v 12000000; exec "$@"', "sh"]
    command += [sys.executable, "-m", "polars_clustereval", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES.parent)
    words = "The pictures are left out: the program that renders them failed, as it does if the "
    assert done.returncode == 0
    assert re.fullmatch(rf"clustereval: {words}address space is limited.*\n", done.stderr)
    html = page.read_text(encoding="utf-8")
    assert words in html
    assert "<img" not in html
    assert "adjusted_rand_score" in html


@pytest.mark.gate
def test_pictures_are_drawn_by_another_process(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A limit that leaves enough room."""
    resource = pytest.importorskip("resource", reason="limits as Unix has them")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 50, 1 << 50))
    monkeypatch.setattr(vl_convert, "vegalite_to_svg", None)
    page = tmp_path / "page.html"
    run("report", IRIS, *KMEANS, "--engine", "polars", "--html", page)
    html = page.read_text(encoding="utf-8")
    assert html.count("<img") == 2
    assert "left out" not in html


# Ctrl-C

MANY = 60_000


@pytest.fixture(scope="module")
def sixty_thousand_points(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Points whose silhouettes take half a minute."""
    path = str(tmp_path_factory.mktemp("points") / "many.parquet")
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"v": rng.normal(size=(MANY, 8)), "c": rng.integers(0, 4, MANY)})
    frame.write_parquet(path)
    return path


def interrupt(
    process: subprocess.Popen[bytes], scratch: Path, seconds: float
) -> tuple[float, bytes, bytes]:
    """Send Ctrl-C to a process that is some seconds at work, which begins in a folder in `scratch`.

    Return how long it lives on, and what it prints.
    """
    deadline = time.monotonic() + 60
    while not any(scratch.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(seconds)
    assert process.poll() is None
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(60)
    took = time.monotonic() - started
    return took, *process.communicate()


@pytest.mark.gate
@pytest.mark.parametrize("seconds", [1.0, pytest.param(3.0, marks=pytest.mark.gate)])
@pytest.mark.parametrize(
    "call", ["silhouette", pytest.param("samples --distance chebyshev", marks=pytest.mark.gate)]
)
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
def test_ctrl_c_ends_a_report(
    engine_name: str, sixty_thousand_points: str, tmp_path: Path, call: str, seconds: float
) -> None:
    output = tmp_path / "report.csv"
    output.write_text("before", encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command, *options = call.split()
    process = start(
        *(command, sixty_thousand_points, "--vector", "v", "--cluster", "c", *options),
        *("--engine", engine_name, "--output", str(output)),
        TMPDIR=str(scratch),
    )
    took, out, err = interrupt(process, scratch, seconds)
    assert (process.returncode, out) == (130, b"")
    # Before it there may be the estimate of a report that takes minutes.
    estimate, _, _ = err.partition(b"clustereval: interrupted\n")
    assert err.endswith(b"clustereval: interrupted\n")
    assert not estimate or b"this will take about" in estimate
    assert took < 2
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["report.csv"]
    assert output.read_text(encoding="utf-8") == "before"
    assert list(scratch.iterdir()) == []


@pytest.mark.gate
@DUCKDB_AT_THE_GATE
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
def test_ctrl_c_ends_the_wait_for_standard_input(engine_name: str, tmp_path: Path) -> None:
    process = start("external", "-", *KMEANS, "--engine", engine_name, TMPDIR=str(tmp_path))
    took, out, err = interrupt(process, tmp_path, 0.5)
    assert (process.returncode, out, err) == (130, b"", b"clustereval: interrupted\n")
    assert took < 2
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_worker_keeps_its_traceback() -> None:
    def divide() -> float:
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as raised:
        run_in_worker(divide)
    assert raised.traceback[-1].name == "divide"


def test_a_result_of_the_worker() -> None:
    assert run_in_worker(lambda: threading.current_thread().name) == "clustereval worker"
    assert not is_work_left()


@pytest.mark.gate
@pytest.mark.parametrize(
    # The first is that of the other processes here.
    "module",
    [pytest.param("polars_clustereval", marks=pytest.mark.gate), "polars_clustereval.cli"],
)
def test_both_modules_are_the_program(module: str) -> None:
    call = [sys.executable, "-m", module, "--version"]
    found = subprocess.run(call, capture_output=True, check=True, text=True)
    assert found.stdout == f"clustereval {ce.__version__}\n"
