"""CPU time of the tests: `make test` prints it, the gate limits it.

The time of a test is that of its process and of the processes that it has waited for, fixtures
included. It is told in plans: the CPU time of planning a fixed query, which is work of the kind
that most tests do, since what a call on few rows costs is its plan. The processes that run the
tests plan that query now and then, so a slower machine, a busy one, or one whose caches another
program fills, raises both. Only --most-plans, which .ci/run gives, fails a run.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING

import duckdb
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

#: CPU seconds of tests after which a process plans the fixed query again.
BETWEEN_MEASUREMENTS = 10.0
N_SHOWN = 10
SPENT, PLAN = "cpu_seconds", "plan_seconds"
# The size of a report: steps that join and aggregate what earlier ones return, and scalar macros.
_STEPS, _COLUMNS = 12, 8


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def fixed_query() -> str:
    columns = ", ".join(f"f(sum(a.c{i}), max(b.c{i})) AS c{i}" for i in range(_COLUMNS))
    numbers = ", ".join(f"CAST(i * {i} AS DOUBLE) AS c{i}" for i in range(_COLUMNS))
    steps = [f"step0 AS (SELECT i % 7 AS k, {numbers} FROM range(100) AS r (i))"]
    steps += [
        f"step{n} AS (SELECT a.k, {columns} FROM step{n - 1} AS a "
        f"JOIN step{n // 2} AS b USING (k) GROUP BY a.k)"
        for n in range(1, _STEPS)
    ]
    return f"EXPLAIN WITH {', '.join(steps)} SELECT * FROM step{_STEPS - 1}"


def measure_plan(times: int = 3) -> float:
    """CPU seconds of planning the fixed query."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("CREATE MACRO g(x, y) AS CASE WHEN y > 0 THEN x / y END")
        connection.execute("CREATE MACRO f(x, y) AS coalesce(g(x, y) + g(y, x), least(x, y))")
        query = fixed_query()
        start = time.process_time()
        for _ in range(times):
            connection.execute(query).fetchall()
        return (time.process_time() - start) / times


class Budget:
    """The plugin: a time for each test, the sum of all, and the dearest files."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        #: Of the processes that run tests.
        self._plans: list[float] = []
        self._since_plan = BETWEEN_MEASUREMENTS
        self._start = 0.0
        self._by_file: dict[str, float] = defaultdict(float)

    @property
    def spent(self) -> float:
        return sum(self._by_file.values())

    @property
    def plans(self) -> float:
        """The time of all tests in plans of the fixed query, 0 if no test has run."""
        return self.spent / fmean(self._plans) if self._plans else 0.0

    @property
    def is_exceeded(self) -> bool:
        return self._limit is not None and self.plans > self._limit

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._start = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.when == "teardown":
            spent = cpu_seconds() - self._start
            item.user_properties.append((SPENT, spent))
            self._since_plan += spent
            if self._since_plan > BETWEEN_MEASUREMENTS:
                item.user_properties.append((PLAN, measure_plan()))
                self._since_plan = 0.0
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "teardown":
            return
        for name, value in report.user_properties:
            if name == SPENT:
                self._by_file[report.nodeid.partition("::")[0]] += float(str(value))
            elif name == PLAN:
                self._plans.append(float(str(value)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.is_exceeded and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        write(f"CPU time of the tests: {self.spent:.0f} s, {self.plans:.0f} plans of a fixed query")
        if self.is_exceeded:
            advice = "make tests cheaper, or mark them gate"
            write(f"The gate allows {self._limit} plans: {advice}", red=True)
        dearest = sorted(self._by_file.items(), key=lambda pair: -pair[1])[:N_SHOWN]
        for path, spent in dearest:
            write(f"{spent:8.1f} s  {path}")
