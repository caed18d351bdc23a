"""Command line of the benchmarks."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import cases, table
from benchmarks.runner import AnswersDifferError, measure

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS = ("report", "many", "ami", "internal", "scan", "silhouette", "bounds", "dunn")


def main() -> None:
    options = _options()
    try:
        with _folder(options.data) as folder:
            results = [measure(case, folder, options.repeats) for case in _cases(options)]
    except AnswersDifferError as error:
        raise SystemExit(f"answers differ, so no times: {error}") from error
    text = "\n\n".join([table.circumstances(options.repeats), *map(table.section, results)])
    print(text)
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(f"# Benchmark\n\n{text}\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=cases.__doc__)
    parser.add_argument(
        "--only", type=_groups, default=GROUPS, help=f"groups of cases: {','.join(GROUPS)}"
    )
    parser.add_argument("--rows", type=whole_number, default=20_000_000, help="rows of the report")
    parser.add_argument(
        "--repeats", type=whole_number, default=3, help="paired rounds of each case"
    )
    parser.add_argument("--data", type=Path, help="folder that keeps the Parquet files")
    parser.add_argument("--output", type=Path, help="Markdown file for the tables")
    return parser.parse_args()


def _groups(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if not set(names) <= set(GROUPS):
        raise argparse.ArgumentTypeError(f"expected some of {','.join(GROUPS)}, got {text!r}")
    return names


def whole_number(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number >= 1, got {text}")
    return int(text)


def _cases(options: argparse.Namespace) -> list[cases.Case]:
    groups = {
        "report": lambda: cases.report(options.rows),
        "many": cases.many,
        "ami": cases.ami,
        "internal": cases.internal,
        "scan": cases.scan,
        "silhouette": cases.silhouette,
        "bounds": cases.bounds,
        "dunn": cases.dunn,
    }
    return [case for name in GROUPS if name in options.only for case in groups[name]()]


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


main()
