"""The gate, `.ci/run`, with a stand-in for make: what it runs, what it shows and how it ends."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STEPS = ("lint", "test", "test-rest", "test-install")
MAKE = """#!/bin/sh
echo "make $*"
echo "SKIPPED [1] tests/spark/test_labels.py:1: $1 found no Java"
echo "=========== 12 passed, 1 skipped in 3.45s ($1) ==========="
[ "$1" != "$FAILING" ]
"""


#: The gate itself, and make, hand their seed on.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name not in ("SEED", "MAKEFLAGS", "MFLAGS")
}


def run_gate(folder: Path, failing: str) -> subprocess.CompletedProcess[str]:
    make = folder / "make"
    make.write_text(MAKE, encoding="utf-8")
    make.chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    return subprocess.run(
        [str(ROOT / ".ci" / "run")],
        env=ENVIRONMENT | {"PATH": path, "FAILING": failing},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_gate_runs_everything_and_reports_skipped_tests(tmp_path: Path) -> None:
    process = run_gate(tmp_path, "")
    assert process.returncode == 0
    lines = process.stdout.splitlines()
    called = [line.split()[1] for line in lines if line.startswith("make ")]
    assert called == ["browser", *STEPS]
    skipped = [f"SKIPPED [1] tests/spark/test_labels.py:1: {x} found no Java" for x in STEPS[1:]]
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
    modules = (
        *("tests/test_versions.py", "tests/test_install.py", "tests/test_install_lines.py"),
        "tests/macros/test_database.py",
    )
    [target] = re.findall(r"^test-install: (?:.+\n)+", text, re.MULTILINE)
    assert all(module in target for module in ("-m slow ", *modules))
    options = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"-ra"' in options  # the summaries name the skipped tests


def test_the_gate_draws_other_tests_each_time(tmp_path: Path) -> None:
    seeds = set()
    for _ in range(2):
        lines = run_gate(tmp_path, "").stdout.splitlines()
        [first, again] = [line for line in lines if line.startswith("tests and examples drawn by")]
        assert first == again
        seed = first.partition("SEED=")[2]
        assert f"make test SEED={seed}" in lines
        assert f"make test-rest SEED={seed}" in lines
        seeds.add(seed)
    assert len(seeds) == 2


def test_the_targets_take_their_tiers() -> None:
    """With the seed that is given, and without one the default."""
    for target, tier in (("test", "quick"), ("test-rest", "rest")):
        for given in ("", "7"):
            command = ["make", "--dry-run", "--always-make", target, f"SEED={given}"]
            done = subprocess.run(
                command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True
            )
            [line] = [line for line in done.stdout.splitlines() if "-m pytest" in line]
            assert f"--tier={tier}" in line
            assert ("--hypothesis-seed=7" in line) is (given == "7")
