"""The examples run as they are, and what they print fits a reader's patience."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Lines of two screens, which `make demo` should not exceed by much.
TWO_SCREENS = 110


@pytest.mark.gate
@pytest.mark.skipif(sys.platform == "win32", reason="sh: not on Windows")
def test_the_demo_fits_on_two_screens() -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "examples/demo.sh"],
        cwd=ROOT,
        env={**os.environ, "PATH": programs, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "adjusted_rand_score         0.730238" in done.stdout
    assert "problem  Cluster 1: 45 % of the cluster's 223 rows" in done.stdout
    assert len(done.stdout.splitlines()) <= TWO_SCREENS
    assert done.stderr == ""
