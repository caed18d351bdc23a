"""CPU time: a run beyond its budget fails and names the dearest files; a dear test fails too."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.support import budget

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
CONFTEST = """
from tests.support.budget import Budget

def pytest_configure(config):
    for mark in ("slow", "wide", "gate"):
        config.addinivalue_line("markers", f"{mark}: dear")
    config.pluginmanager.register(Budget(of_suite=OF_SUITE, of_test=OF_TEST))
"""
#: A machine that becomes twice as slow after its first measurement.
SLOWER = f"""
from tests.support import budget

budget.BETWEEN_MEASUREMENTS = 0.1
measured = iter([1.0])
budget.measure_slowdown = lambda: next(measured, 2.0)
{CONFTEST}"""
SPENDING = """
import os, pytest, subprocess, sys, time

LOOP = "import time; end = time.process_time() + 0.25\\nwhile time.process_time() < end: pass"

def test_own_process(): exec(LOOP)
def test_of_another_process(): subprocess.run([sys.executable, "-c", LOOP], check=True)
@pytest.mark.MARK
def test_marked(): exec(LOOP)
def test_asleep(): time.sleep(0.3)
"""
Run = "Callable[..., tuple[int, str]]"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Run a suite with a dear and a cheap file within the given limits."""

    def call(
        of_suite: float | None,
        of_test: float,
        *options: str,
        mark: str = "slow",
        conftest: str = CONFTEST,
    ) -> tuple[int, str]:
        text = conftest.replace("OF_SUITE", str(of_suite)).replace("OF_TEST", str(of_test))
        (tmp_path / "conftest.py").write_text(text, encoding="utf-8")
        (tmp_path / "test_dear.py").write_text(SPENDING.replace("MARK", mark), encoding="utf-8")
        (tmp_path / "test_cheap.py").write_text("def test_nothing(): pass", encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            *options,
            str(tmp_path),
        ]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("PYTEST_ADDOPTS", None)
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    return call


@pytest.mark.gate
@pytest.mark.parametrize(
    "workers",
    [(), pytest.param(("--numprocesses=1",), marks=pytest.mark.gate)],
    ids=["alone", "workers"],
)
def test_a_suite_beyond_its_budget_fails(
    run: Callable[..., tuple[int, str]], workers: tuple[str, ...]
) -> None:
    status, output = run(0.3, 100.0, *workers)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "5 passed" in output
    _, _, dearest = output.partition("The CPU budget is exceeded. The dearest files:")
    lines = [line.split() for line in dearest.splitlines() if line.endswith(".py")]
    assert [name for *_, name in lines] == ["test_dear.py", "test_cheap.py"]
    assert float(lines[0][0]) >= 0.7


@pytest.mark.gate
def test_a_suite_within_its_budget_passes(run: Callable[..., tuple[int, str]]) -> None:
    status, output = run(1000.0, 100.0)
    assert (status, "exceeded" in output) == (0, False)
    assert "CPU time of the tests:" in output


@pytest.mark.gate
@pytest.mark.parametrize(
    "mark",
    [x if x == "slow" else pytest.param(x, marks=pytest.mark.gate) for x in budget.UNLIMITED],
)
def test_a_dear_test_fails_unless_it_is_marked(
    run: Callable[..., tuple[int, str]], mark: str
) -> None:
    status, output = run(None, 0.12, mark=mark)
    assert status == pytest.ExitCode.TESTS_FAILED
    assert "5 passed, 2 errors" in output
    for name in ("test_own_process", "test_of_another_process"):
        assert f"test_dear.py::{name} took 0." in output
    assert "test_marked took" not in output
    assert "CPU time of the tests" not in output


def test_limits_rise_with_a_slower_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for calibration, slowdown in ((1e9, 1.0), (1e-9, budget.MOST_SLOWDOWN)):
        monkeypatch.setattr(budget, "CALIBRATION", calibration)
        limited = budget.Budget(of_suite=100.0, of_test=3.0)
        assert (limited.of_suite, limited.of_test) == (100.0 * slowdown, 3.0 * slowdown)


def test_the_limit_of_a_suite_follows_what_the_processes_measure() -> None:
    limited = budget.Budget(of_suite=100.0)
    limited.slowdown = 1.0
    assert limited.of_suite == 100.0
    for slowdown in (1.25, 1.75):
        properties = [(budget.SPENT, 30.0), (budget.SLOWDOWN, slowdown)]
        limited.pytest_runtest_logreport(report_with("teardown", properties))
        limited.pytest_runtest_logreport(report_with("call", properties))
    assert (limited.of_suite, limited.spent) == (150.0, 60.0)


def report_with(
    when: Literal["call", "teardown"], properties: list[tuple[str, float]]
) -> pytest.TestReport:
    return pytest.TestReport(
        "test_dear.py::test_one", ("test_dear.py", 1, "test_one"), {}, "passed", None, when,
        user_properties=list(properties),
    )  # fmt: skip


def test_a_slowdown_is_measured_again_while_tests_run(
    run: Callable[..., tuple[int, str]],
) -> None:
    """The loop takes no time at first, and then as long as on a machine twice as slow."""
    status, output = run(1.0, 100.0, "--numprocesses=1", conftest=SLOWER)
    assert (status, "s of 2 s" in output) == (0, True)
