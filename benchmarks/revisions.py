"""The present code against another revision of it: the same cases, in alternating processes.

Each side runs its own `benchmarks.jobs`, since a job calls what its revision has; jobs that the
other revision does not have are left out. Both use the engines that are installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.runner import Measurement, check_answers, measure_job
from benchmarks.table import align_columns, format_number

if TYPE_CHECKING:
    from benchmarks.cases import Case, Job

ROOT = Path(__file__).parent.parent
#: What the jobs of a revision consist of.
FOLDERS = ("polars_clustereval", "sql", "benchmarks")
#: Engines of the jobs that call the package. Bare operations tell how much a ratio is worth.
ENGINES = ("DuckDB", "Polars")
HEADER = ("engine", "what", "seconds before", "seconds", "ratio", "from", "to")


@dataclass(frozen=True)
class Revision:
    """Another revision of the project: its name, and a folder with its files."""

    name: str
    folder: Path

    @classmethod
    def extract(cls, name: str, folder: Path) -> Revision:
        """Return the revision that git knows by this name, with its files below `folder`."""
        command = ["git", "archive", name, *FOLDERS]
        archive = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        return cls(name, folder)

    def list_jobs(self) -> frozenset[str]:
        """Return the names of the jobs that the revision has."""
        code = "import json; from benchmarks.jobs import JOBS; print(json.dumps(list(JOBS)))"
        command = [sys.executable, "-c", code]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=self.folder)
        return frozenset(json.loads(output.stdout))


@dataclass(frozen=True)
class Comparison:
    """The rounds of a case: of each job the measurements before, of the revision, and now."""

    case: Case
    rounds: list[dict[Job, tuple[Measurement, Measurement]]]

    def compute_ratios(self, job: Job) -> list[float]:
        """Return the seconds now divided by those before, of each round."""
        pairs = (each[job] for each in self.rounds)
        return [now.seconds / before.seconds for before, now in pairs]


def compare_case(case: Case, folder: Path, repeats: int, revision: Revision) -> Comparison:
    """Run the jobs of a case `repeats` times on both sides, which take turns in going first.

    `folder` keeps the generated input. Different answers, of two jobs or of the two sides, are an
    error.
    """
    path = case.data.prepare(folder)
    known_jobs = revision.list_jobs()
    jobs = [job for job in case.jobs if job.engine in ENGINES and job.name in known_jobs]
    known: dict[str, tuple[Job, list[Any]]] = {}
    rounds = []
    for number in range(repeats):
        measured = {}
        for job in jobs:
            print(f"round {number + 1}: {job.engine}, {job.what}", file=sys.stderr)
            sides = (revision.folder, ROOT)
            found: dict[Path, Measurement] = {}
            for side in sides[:: -1 if number % 2 else 1]:
                found[side], answers = measure_job(job, path, side)
                check_answers(known, job, answers, case.tolerance)
            measured[job] = (found[revision.folder], found[ROOT])
        rounds.append(measured)
    return Comparison(case, rounds)


def format_comparison(comparison: Comparison) -> str:
    """Return a case's comparison as Markdown: its title and a table with one line per job."""
    rows = [_format_row(comparison, job) for job in comparison.rounds[0]]
    columns = list(zip(HEADER, *rows, strict=True))
    return f"## {comparison.case.title}\n\n{align_columns(columns)}"


def _format_row(comparison: Comparison, job: Job) -> tuple[str, ...]:
    """Return the cells of a job's line, in the order of HEADER."""
    pairs = [each[job] for each in comparison.rounds]
    ratios = comparison.compute_ratios(job)
    numbers = (
        median(before.seconds for before, _ in pairs),
        median(now.seconds for _, now in pairs),
        *(median(ratios), min(ratios), max(ratios)),
    )
    return (job.engine, job.what, *map(format_number, numbers))
