"""The command line as a process of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.support.command_line import (
    DIGITS,
    IRIS,
    KMEANS,
    Run,
    start,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_a_process(run: Run, engine_name: str, tmp_path: Path) -> None:
    """Nothing on standard error, from the libraries neither; UTF-8 whatever the terminal says."""
    path = tmp_path / "größe.csv"
    path.write_text("species,kmeans\nä,1\nb,2\n", encoding="utf-8")
    arguments = ("external", str(path), *KMEANS, "--engine", engine_name)
    out, err = start(*arguments).communicate()
    assert err == b""
    assert out.decode() == run(*arguments)


def test_a_process_on_points(engine_name: str) -> None:
    out, err = start(
        "internal", DIGITS, "--vector", "pixels", "--cluster", "kmeans", "--engine", engine_name
    ).communicate()
    assert err == b""
    assert b"davies_bouldin_score" in out


def test_a_failing_process(engine_name: str) -> None:
    process = start("external", IRIS, *KMEANS, "--weight", "petal_width", "--engine", engine_name)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert re.fullmatch(rb"clustereval: error: .*weight: expected whole numbers.*\n", err)


def test_a_reader_that_goes_away() -> None:
    process = start("sql")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()
