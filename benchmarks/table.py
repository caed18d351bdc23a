"""Results as Markdown that reads well as plain text too."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.cases import Job
    from benchmarks.runner import Measured, Result

PACKAGES = ("duckdb", "polars", "scikit-learn", "numpy")

_seconds = attrgetter("seconds")
_peak = attrgetter("peak_mb")
_work = attrgetter("work_mb")

HEADER = (
    "engine",
    "what",
    "seconds",
    "× bare",
    "scikit-learn ÷ it",
    "million pairs",
    "peak MB",
    "× bare",
    "work MB",
    "× bare",
)


def circumstances(repeats: int) -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, {versions}. Medians of {repeats} paired rounds."
    )


def section(result: Result) -> str:
    rows = [_row(result, job) for job in result.case.jobs]
    # A case without a bare GROUP BY, or without scikit-learn, has nothing to say in those columns.
    columns = [(title, *cells) for title, *cells in zip(HEADER, *rows, strict=True) if any(cells)]
    return f"## {result.case.title}\n\n{_aligned(columns)}"


def _row(result: Result, job: Job) -> tuple[str, ...]:
    bare = result.bare(job)
    return (
        job.engine,
        job.what,
        _number(result.middle(_seconds, job)),
        _ratio(result, _seconds, job, bare),
        _ratio(result, _seconds, result.sklearn(job), job),
        _millions(result.rounds[0][job].pairs),
        f"{result.middle(_peak, job):.0f}",
        _ratio(result, _peak, job, bare),
        f"{result.middle(_work, job):.0f}",
        _ratio(result, _work, job, bare),
    )


def _ratio(
    result: Result, value: Callable[[Measured], float], job: Job | None, to: Job | None
) -> str:
    if job is None or to is None or any(value(each[to]) == 0 for each in result.rounds):
        return ""
    return _number(result.ratio(value, job, to))


def _millions(pairs: int | None) -> str:
    return "" if pairs is None else _number(pairs / 1e6)


def _number(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _aligned(columns: Sequence[Sequence[str]]) -> str:
    lines = zip(*map(_padded, columns, [True, True, *[False] * len(columns)]), strict=True)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _padded(column: Sequence[str], words: bool) -> list[str]:
    title, *cells = column
    width = max(map(len, column))
    pad = str.ljust if words else str.rjust
    rule = "-" * width if words else "-" * (width - 1) + ":"
    return [pad(title, width), rule, *(pad(cell, width) for cell in cells)]
