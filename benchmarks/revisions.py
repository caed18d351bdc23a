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
from benchmarks.table import format_number, format_rows

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


def compare_case(case: Case, folder: Path, repeats: int, revision: Revision) -> str:
    """Run the jobs of a case `repeats` times on both sides, and return the ratios as Markdown.

    The sides take turns in going first. `folder` keeps the generated input. Different answers, of
    two jobs or of the two sides, are an error.
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
    rows = [_format_row(job, [each[job] for each in rounds]) for job in jobs]
    return format_rows(case.title, HEADER, rows)


def _format_row(job: Job, pairs: list[tuple[Measurement, Measurement]]) -> tuple[str, ...]:
    """Return the cells of a job, in the order of HEADER; a pair is of the sides before and now."""
    ratios = [now.seconds / before.seconds for before, now in pairs]
    numbers = (
        median(before.seconds for before, _ in pairs),
        median(now.seconds for _, now in pairs),
        *(median(ratios), min(ratios), max(ratios)),
    )
    return (job.engine, job.what, *map(format_number, numbers))
