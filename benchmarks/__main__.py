"""Command line of the benchmarks."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import contextmanager
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING

from benchmarks import cases, pages, planning, revisions, table
from benchmarks.runner import AnswersDifferError, measure_case

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A group without cases, which only --only names: what each call costs on few rows.
PLANNING = "planning"


def main() -> None:
    """Run the cases that the command line asks for, print their tables, and write --output."""
    options = _parse_options()
    try:
        with _open_folder(options.data) as folder:
            sections = list(_measure_sections(options, folder))
    except AnswersDifferError as error:
        raise SystemExit(f"answers differ, so no times: {error}") from error
    text = "\n\n".join([table.describe_machine(options.repeats), *sections])
    pages.write_results(options.output, text)


def _measure_sections(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Yield the section of each case; `folder` keeps the generated Parquet files."""
    arguments = {"report": (options.rows,)}
    chosen = [
        case
        for name, list_cases in cases.GROUPS.items()
        if name in options.only
        for case in list_cases(*arguments.get(name, ()))
    ]
    if options.against is None:
        if PLANNING in options.only:
            yield planning.measure(options.repeats, None)
        for case in chosen:
            yield table.format_section(measure_case(case, folder, options.repeats))
        return
    with tempfile.TemporaryDirectory() as other:
        try:
            revision = revisions.Revision.extract(options.against, Path(other))
        except CalledProcessError as error:
            raise SystemExit(f"--against: git has no revision {options.against!r}") from error
        yield f"Before: {revision.name}. The ratio of a round is the seconds now ÷ before."
        if PLANNING in options.only:
            yield planning.measure(options.repeats, revision)
        for case in chosen:
            yield revisions.compare_case(case, folder, options.repeats, revision)


def _parse_options() -> argparse.Namespace:
    """Return the options of the command line: only, rows, repeats, against, data and output."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=cases.__doc__)
    parser.add_argument(
        "--only",
        type=_parse_groups,
        default=tuple(cases.GROUPS),
        help=f"groups of cases: {','.join(cases.GROUPS)}",
    )
    parser.add_argument(
        "--rows", type=_parse_whole_number, default=20_000_000, help="rows of the report"
    )
    parser.add_argument(
        "--repeats", type=_parse_whole_number, default=3, help="paired rounds of each case"
    )
    parser.add_argument(
        "--against", metavar="REVISION", help="compare with this revision, not with other libraries"
    )
    parser.add_argument("--data", type=Path, help="folder that keeps the Parquet files")
    parser.add_argument("--output", type=Path, help="Markdown file for the tables")
    return parser.parse_args()


def _parse_groups(text: str) -> tuple[str, ...]:
    """Return the groups of cases named in `text`, the value of --only, separated by commas."""
    names = tuple(text.split(","))
    if not set(names) <= {*cases.GROUPS, PLANNING}:
        known = ",".join([*cases.GROUPS, PLANNING])
        raise argparse.ArgumentTypeError(f"expected some of {known}, got {text!r}")
    return names


def _parse_whole_number(text: str) -> int:
    """Return the whole number >= 1 in `text`, the value of an option."""
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number >= 1, got {text}")
    return int(text)


# argparse shows this name in its errors.
_parse_whole_number.__name__ = "whole number"


@contextmanager
def _open_folder(path: Path | None) -> Iterator[Path]:
    """Yield the folder for generated Parquet files: `path`, made if missing, or a temporary one."""
    if path is not None:
        path.mkdir(parents=True, exist_ok=True)
        yield path.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


if __name__ == "__main__":
    main()
