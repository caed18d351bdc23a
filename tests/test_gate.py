"""The gate, `.ci/run`, with a stand-in for make: what it runs, what it shows and how it ends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support import seeds

ROOT = Path(__file__).parent.parent
STEPS = ("lint", "test", "test-wide", "test-install")
MAKE = """#!/bin/sh
echo "make $1"
echo "SKIPPED [1] tests/test_spark.py:1: $1 found no Java"
echo "=========== 12 passed, 1 skipped in 3.45s ($1) ==========="
[ "$1" != "$FAILING" ]
"""


def run_gate(folder: Path, failing: str) -> subprocess.CompletedProcess[str]:
    make = folder / "make"
    make.write_text(MAKE, encoding="utf-8")
    make.chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    return subprocess.run(
        [str(ROOT / ".ci" / "run")],
        env=os.environ | {"PATH": path, "FAILING": failing},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_gate_runs_everything_and_reports_skipped_tests(tmp_path: Path) -> None:
    process = run_gate(tmp_path, "")
    assert process.returncode == 0
    lines = process.stdout.splitlines()
    called = [f"make {x}" for x in ("browser", *STEPS)]
    assert [line for line in lines if line.startswith("make ")] == called
    skipped = [f"SKIPPED [1] tests/test_spark.py:1: {x} found no Java" for x in STEPS[1:]]
    closing = [f"=========== 12 passed, 1 skipped in 3.45s ({x}) ===========" for x in STEPS[1:]]
    assert lines[-6:] == sorted(skipped) + closing


def test_a_machine_without_the_browser_is_told(tmp_path: Path) -> None:
    process = run_gate(tmp_path, "browser")
    assert process.returncode == 0
    assert "chromium: not installed" in process.stdout


@pytest.mark.parametrize("step", STEPS)
def test_a_failing_step_fails_the_gate(tmp_path: Path, step: str) -> None:
    assert run_gate(tmp_path, step).returncode != 0


def test_the_steps_are_targets_of_make() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{step}: " in text for step in STEPS)
    assert "pytest -m slow tests/test_install.py" in text
    options = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"-ra"' in options  # the summaries name the skipped tests


def test_the_gate_draws_a_share_of_the_wide_tests_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--hypothesis-seed=$seed --share-of-wide=0.05" in (ROOT / ".ci" / "run").read_text(
        "utf-8"
    )
    names = [f"tests/test_a.py::test_b[{i}]" for i in range(2000)]
    drawn = []
    for seed in range(12):
        monkeypatch.setattr(seeds, "first", seed)
        assert all(seeds.is_drawn(name, 1.0) for name in names)
        assert not any(seeds.is_drawn(name, 0.0) for name in names)
        drawn.append({name for name in names if seeds.is_drawn(name, 0.5)})
        assert drawn[-1] == {name for name in names if seeds.is_drawn(name, 0.5)}
    assert all(900 < len(some) < 1100 for some in drawn)
    assert len(set.union(*drawn)) > 1990
