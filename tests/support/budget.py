"""CPU time of the tests: what the suite and a single test may cost, and a failure beyond that.

The time of a test is that of its process and of the processes that it has waited for, fixtures
included. The limits are for the machine that CALIBRATION was measured on; on a slower one, they
rise with the time of a fixed loop, up to twice. The processes that run the tests time that loop now
and then, since a core is slower while the others work.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

#: CPU seconds of all tests of `make test`, a third more than they take on two idle cores.
OF_SUITE = 750.0
#: CPU seconds of a test that is not marked slow, wide or gate: 5, and half as much again for the
#: first calls in a process and for what else runs on the machine.
OF_TEST = 7.5
#: CPU seconds of `fixed_loop` where the limits were measured.
CALIBRATION = 0.03
MOST_SLOWDOWN = 2.0
#: CPU seconds of tests after which a process times `fixed_loop` again.
BETWEEN_MEASUREMENTS = 20.0
N_SHOWN = 10
UNLIMITED = ("slow", "wide", "gate")
SPENT = "cpu_seconds"
SLOWDOWN = "slowdown"


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def fixed_loop() -> int:
    """Work of the kind that plans are made of: small objects in dictionaries and lists."""
    names = [f"column_{i}" for i in range(2000)]
    total = 0
    for n in range(30):
        places = {name: (i, n) for i, name in enumerate(names)}
        total += sum(places[name][0] for name in sorted(names, key=lambda name: name[::-1]))
    return total


def measure_slowdown() -> float:
    """How much slower this machine is than the one of the limits, from 1 to MOST_SLOWDOWN."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        fixed_loop()
        taken.append(time.process_time() - start)
    return min(max(min(taken) / CALIBRATION, 1.0), MOST_SLOWDOWN)


class Budget:
    """The plugin: a time for each test, the limits, and the dearest files beyond them."""

    def __init__(self, *, of_suite: float | None, of_test: float = OF_TEST) -> None:
        self._of_suite = of_suite
        self._of_test = of_test
        #: As last measured in this process, and all measurements of the processes with tests.
        self.slowdown = measure_slowdown()
        self.slowdowns: list[float] = []
        self.since_measured = 0.0
        self.start = 0.0
        self.by_file: dict[str, float] = defaultdict(float)

    @property
    def of_test(self) -> float:
        return self._of_test * self.slowdown

    @property
    def of_suite(self) -> float | None:
        if self._of_suite is None:
            return None
        return self._of_suite * fmean(self.slowdowns or [self.slowdown])

    @property
    def spent(self) -> float:
        return sum(self.by_file.values())

    @property
    def is_exceeded(self) -> bool:
        return self.of_suite is not None and self.spent > self.of_suite

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self.start = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.when != "teardown":
            return (yield)
        spent = cpu_seconds() - self.start
        item.user_properties.append((SPENT, spent))
        self.since_measured += spent
        if self.since_measured > BETWEEN_MEASUREMENTS:
            self.slowdown = measure_slowdown()
            self.since_measured = 0.0
            item.user_properties.append((SLOWDOWN, self.slowdown))
        report = yield
        is_limited = not any(map(item.get_closest_marker, UNLIMITED))
        if is_limited and spent > self.of_test and report.passed:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} took {spent:.1f} CPU seconds, more than {self.of_test:.1f}: "
                f"make it cheaper, or mark it {', '.join(UNLIMITED[:-1])} or {UNLIMITED[-1]}"
            )
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == SPENT:
                self.by_file[report.nodeid.partition("::")[0]] += float(str(value))
            elif name == SLOWDOWN:
                self.slowdowns.append(float(str(value)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_exceeded and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.of_suite is None:
            return
        terminalreporter.write_line(
            f"CPU time of the tests: {self.spent:.0f} s of {self.of_suite:.0f} s"
        )
        if self.is_exceeded:
            terminalreporter.write_line("The CPU budget is exceeded. The dearest files:", red=True)
            dearest = sorted(self.by_file.items(), key=lambda pair: -pair[1])[:N_SHOWN]
            for path, spent in dearest:
                terminalreporter.write_line(f"{spent:8.1f} s  {path}", red=True)
