"""Results as Markdown tables with aligned columns."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.cases import Job
    from benchmarks.runner import Measurement, Result

PACKAGES = ("duckdb", "polars", "scikit-learn", "numpy")

_get_seconds = attrgetter("seconds")
_get_peak = attrgetter("peak_mb")
_get_work = attrgetter("work_mb")

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


def describe_machine(repeats: int) -> str:
    """Return a sentence about the machine and versions; `repeats` is the number of rounds."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GB, {platform.system()} {platform.machine()}, "
        f"Python {platform.python_version()}, {versions}. Medians of {repeats} paired rounds."
    )


def format_section(result: Result) -> str:
    """Return a case's results as Markdown: its title and a table with one line per job."""
    rows = [_format_row(result, job) for job in result.case.jobs]
    # Columns without cells are left out: not every case has a bare operation or scikit-learn.
    columns = [(title, *cells) for title, *cells in zip(HEADER, *rows, strict=True) if any(cells)]
    return f"## {result.case.title}\n\n{align_columns(columns)}"


def _format_row(result: Result, job: Job) -> tuple[str, ...]:
    """Return the cells of a job's line, in the order of HEADER; empty where there is no value."""
    bare = result.find_bare(job)
    return (
        job.engine,
        job.what,
        format_number(result.compute_median(_get_seconds, job)),
        _format_ratio(result, _get_seconds, job, bare),
        _format_ratio(result, _get_seconds, result.find_sklearn(job), job),
        _format_millions(result.rounds[0][job].pairs),
        f"{result.compute_median(_get_peak, job):.0f}",
        _format_ratio(result, _get_peak, job, bare),
        f"{result.compute_median(_get_work, job):.0f}",
        _format_ratio(result, _get_work, job, bare),
    )


def _format_ratio(
    result: Result, value: Callable[[Measurement], float], job: Job | None, to: Job | None
) -> str:
    """Return the ratio of a value of a job to that of job `to`; "" without a job, or if it is 0."""
    if job is None or to is None or any(value(each[to]) == 0 for each in result.rounds):
        return ""
    return format_number(result.compute_ratio(value, job, to))


def _format_millions(pairs: int | None) -> str:
    """Return a number of pairs in millions, as text; empty if they were not counted."""
    return "" if pairs is None else format_number(pairs / 1e6)


def format_number(value: float) -> str:
    """Return a number >= 0 as text: three significant digits, or a whole number from 100 on."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def align_columns(columns: Sequence[Sequence[str]]) -> str:
    """Return the columns, each a title and cells, as a Markdown table.

    The first two are texts and aligned to the left, the others are numbers and aligned to the
    right.
    """
    lines = zip(*map(_pad_column, columns, [True, True, *[False] * len(columns)]), strict=True)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def format_rows(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a section of Markdown: its title, and the rows as a table."""
    return f"## {title}\n\n{align_columns(list(zip(header, *rows, strict=True)))}"


def _pad_column(column: Sequence[str], is_text: bool) -> list[str]:
    """Return the title, rule and cells of a column, padded to one width."""
    title, *cells = column
    width = max(map(len, column))
    pad = str.ljust if is_text else str.rjust
    rule = "-" * width if is_text else "-" * (width - 1) + ":"
    return [pad(title, width), rule, *(pad(cell, width) for cell in cells)]
