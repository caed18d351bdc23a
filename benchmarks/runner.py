"""Paired rounds of a case: each job in a process of its own, and the answers compared."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.cases import SKLEARN, Case, Job

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class AnswersDifferError(Exception):
    """Two jobs of a case returned different answers, so their times cannot be compared."""


@dataclass(frozen=True)
class Measurement:
    """What one round of a job took: seconds, scaled to the whole input, and memory in MiB."""

    seconds: float
    peak_mb: float
    #: The peak less that before the timed call, with the libraries and any input already read.
    work_mb: float
    #: Computed distances of two points, where they are counted.
    pairs: int | None = None


@dataclass(frozen=True)
class Result:
    """The measurements of a case; in each round every job was run once, one after the other."""

    case: Case
    rounds: list[dict[Job, Measurement]]

    def compute_median(self, value: Callable[[Measurement], float], job: Job) -> float:
        """Return the median over the rounds of one value, such as the seconds, of a job."""
        return median(value(each[job]) for each in self.rounds)

    def compute_ratio(self, value: Callable[[Measurement], float], job: Job, to: Job) -> float:
        """Return the median of the ratios of one value, such as the seconds, of a job to job `to`.

        A ratio is taken within each round: a slow round does not change it.
        """
        return median(value(each[job]) / value(each[to]) for each in self.rounds)

    def find_bare(self, job: Job) -> Job | None:
        """Return the job that a job is compared with: the bare operation of the same engine.

        If that engine has none, it is another's; None if the case has none or the job is it.
        """
        bare = [other for other in self.case.jobs if other.what.startswith("bare ")]
        own = [other for other in bare if other.engine == job.engine]
        return next((other for other in own or bare if other != job), None)

    def find_sklearn(self, job: Job) -> Job | None:
        """Return scikit-learn's job of the case; None if there is none, or the job is it."""
        others = (other for other in self.case.jobs if other.engine == SKLEARN)
        return next((other for other in others if other != job), None)


def measure_case(case: Case, folder: Path, repeats: int) -> Result:
    """Run each job of a case `repeats` times in turn, and return the measurements.

    `folder` keeps the generated input. Different answers of two jobs are an error.
    """
    path = case.data.prepare(folder)
    known: dict[str, tuple[Job, list[Any]]] = {}
    rounds = []
    for number in range(1, repeats + 1):
        measured = {}
        for job in case.jobs:
            print(f"round {number}: {job.engine}, {job.what}", file=sys.stderr)
            measured[job], answers = measure_job(job, path)
            check_answers(known, job, answers, case.tolerance)
        rounds.append(measured)
    return Result(case, rounds)


def measure_job(
    job: Job, path: Path, root: Path | None = None
) -> tuple[Measurement, dict[str, list[Any]]]:
    """Run a job once in a process of its own; return the measurement and the answers by name.

    The package and the benchmarks are those in the folder `root`, by default the current one.
    """
    # The reported peak of a process includes the memory of its parent at the start, so this process
    # imports no engine.
    command = [sys.executable, "-m", "benchmarks.jobs", job.name, str(path)]
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=root)
    output = json.loads(process.stdout)
    peak = output["peak_mb"]
    measured = Measurement(
        output["seconds"] * job.scale, peak, peak - output["before_mb"], output.get("pairs")
    )
    return measured, output["answers"]


def check_answers(
    known: dict[str, tuple[Job, list[Any]]], job: Job, answers: dict[str, Any], tolerance: float
) -> None:
    """Raise an error if answers of a job differ from those of earlier jobs by the same names.

    `known` has these by name, with the job that gave them; new names are added to it.
    """
    if known and not known.keys() & answers.keys():
        raise AnswersDifferError(f"{job.name}: nothing to compare {sorted(answers)} with")
    for name, values in answers.items():
        other, expected = known.setdefault(name, (job, values))
        pairs = zip(values, expected, strict=False)
        if len(values) != len(expected) or not all(_agree(*pair, tolerance) for pair in pairs):
            raise AnswersDifferError(
                f"{name}: {job.name} gave {values[:3]}, {other.name} gave {expected[:3]}"
            )


def _agree(one: float | None, other: float | None, tolerance: float) -> bool:
    """Return whether two numbers are equal within the tolerance. None agrees with None only."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
