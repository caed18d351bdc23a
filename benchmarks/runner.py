"""Paired rounds of a case, each job in a process of its own; the answers compared."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from itertools import zip_longest
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.cases import SKLEARN, Case, Job

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class AnswersDifferError(Exception):
    """Two jobs gave different values: their times mean nothing."""


@dataclass(frozen=True)
class Measured:
    seconds: float
    peak_mb: float
    #: Of the peak, what the job itself added to its libraries and to an input already read.
    work_mb: float
    #: Distances of two points that were worked out, where that was counted.
    pairs: int | None = None


@dataclass(frozen=True)
class Result:
    """The rounds of a case: in each, every job once, one after the other."""

    case: Case
    rounds: list[dict[Job, Measured]]

    def middle(self, value: Callable[[Measured], float], job: Job) -> float:
        return median(value(each[job]) for each in self.rounds)

    def ratio(self, value: Callable[[Measured], float], job: Job, to: Job) -> float:
        """Median of the ratios within a round: what slows a whole round leaves them alone."""
        return median(value(each[job]) / value(each[to]) for each in self.rounds)

    def bare(self, job: Job) -> Job | None:
        bare = [other for other in self.case.jobs if other.what.startswith("bare ")]
        own = [other for other in bare if other.engine == job.engine]
        # What no engine has is measured once for all.
        return next((other for other in own or bare if other != job), None)

    def sklearn(self, job: Job) -> Job | None:
        others = (other for other in self.case.jobs if other.engine == SKLEARN)
        return next((other for other in others if other != job), None)


def measure(case: Case, folder: Path, repeats: int) -> Result:
    path = case.data.file(folder)
    known: dict[str, tuple[Job, list[Any]]] = {}
    rounds = []
    for number in range(1, repeats + 1):
        measured = {}
        for job in case.jobs:
            print(f"round {number}: {job.engine}, {job.what}", file=sys.stderr)
            measured[job], answers = _measured(job, path)
            _compare(known, job, answers, case.tolerance)
        rounds.append(measured)
    return Result(case, rounds)


def _measured(job: Job, path: Path) -> tuple[Measured, dict[str, list[Any]]]:
    # The peak a system reports for a process starts from the memory of the one that started it:
    # this one imports no engine.
    command = [sys.executable, "-m", "benchmarks.jobs", job.name, str(path)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    peak = found["peak_mb"]
    measured = Measured(
        found["seconds"] * job.scale, peak, peak - found["before_mb"], found.get("pairs")
    )
    return measured, found["answers"]


def _compare(
    known: dict[str, tuple[Job, list[Any]]], job: Job, answers: dict[str, Any], tolerance: float
) -> None:
    """Hold a job's answers against those of the jobs before it, name by name."""
    if known and not known.keys() & answers.keys():
        raise AnswersDifferError(f"{job.name}: nothing to compare {sorted(answers)} with")
    for name, values in answers.items():
        other, expected = known.setdefault(name, (job, values))
        if not all(_same(*pair, tolerance) for pair in zip_longest(values, expected)):
            raise AnswersDifferError(
                f"{name}: {job.name} gave {values[:3]}, {other.name} gave {expected[:3]}"
            )


def _same(one: float | None, other: float | None, tolerance: float) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
