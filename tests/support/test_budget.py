"""CPU time: no clock fails `make test`; the gate's limit is a number of plans."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.gate
def test_only_a_limit_fails_a_run() -> None:
    """The controller sums up what a worker has spent, and divides it by plans of the worker."""
    test = "tests/external/test_statistics_names.py"
    command = [sys.executable, "-m", "pytest", "--numprocesses=1", "--tier=quick", test]
    for limit, status in ((), 0), (("--most-plans=100000",), 0), (("--most-plans=1",), 1):
        done = subprocess.run(
            [*command, *limit], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stdout
        assert ("The gate allows 1 plan" in done.stdout) is (status == 1)
        assert " s  " + test in done.stdout.partition("CPU time of the tests: ")[2]
