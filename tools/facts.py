"""`make facts`: all that repeats the facts of the metrics and tables, written from the one record.

The record of an external metric is the docstring of its expression, that of a table the docstring
of its function and the decorator above it. Those of other scores are in
polars_clustereval/base/score_facts.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from tools import exports

if TYPE_CHECKING:
    from collections.abc import Callable

    #: A function that returns the text of some files.
    Step = Callable[[], dict[Path, str]]

ROOT = Path(__file__).parent.parent


def record_files() -> dict[Path, str]:
    """The text of the file with the facts of the metrics, which the package reads."""
    from polars_clustereval.base.metric_facts import FACTS_FILE
    from tools.metric_docstrings import read_metrics

    records = [x._asdict() for x in read_metrics()]
    return {FACTS_FILE: f"{json.dumps(records, indent=1, ensure_ascii=False)}\n"}


def metric_files() -> dict[Path, str]:
    """The texts of sql/facts.sql and sql/aggregates.sql, and of pages with blocks of facts."""
    from polars_clustereval.base.score_facts import entries_of
    from tools.metric_docstrings import read_metrics
    from tools.page_blocks import fill_blocks
    from tools.sql_aggregates import sql_aggregates
    from tools.sql_facts import sql_facts

    metrics, indices = read_metrics(), list(entries_of("internal_report").values())
    pages = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
    filled = {path: fill_blocks(text, metrics) for path, text in pages.items()}
    return {
        ROOT / "sql" / "facts.sql": sql_facts(metrics, indices),
        ROOT / "sql" / "aggregates.sql": sql_aggregates(metrics),
        **{path: text for path, text in filled.items() if "<!-- end of " in text},
    }


def catalogue_files() -> dict[Path, str]:
    """The texts made from the catalogue: its pages and those of functions, and columns.sql."""
    from polars_clustereval.catalogue import entries
    from tools import metrics_page
    from tools.api_pages import api_pages
    from tools.sql_columns import sql_columns

    pages = {metrics_page.DOCS / name: text for name, text in metrics_page.pages().items()}
    stubs = {ROOT / "sql" / "columns.sql": sql_columns(entries().values())}
    return pages | api_pages() | stubs


def table_files() -> dict[Path, str]:
    """The text of the file that says what the tables are."""
    from tools.table_comments import table_comments

    return {ROOT / "sql" / "tables.sql": table_comments()}


def stub_files() -> dict[Path, str]:
    """The stubs of functions whose signatures come from the declarations of the tables."""
    from tools.stubs import stubs

    return stubs()


#: In this order: the names can be imported once they are there, and the others read the records.
STEPS: tuple[Step, ...] = (
    exports.all_files,
    record_files,
    metric_files,
    table_files,
    catalogue_files,
    stub_files,
)


def stale_files(step: Step) -> dict[Path, str]:
    """The files of a step whose text is another one, and the text that they should have."""
    return {
        path: text
        for path, text in step().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def write_stale_files(number: int) -> list[Path]:
    """Write the stale files of the step of this number, and return their paths."""
    stale = stale_files(STEPS[number])
    for path, text in stale.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(stale)


def main() -> None:
    # In a new process each: a step imports what those before it have written.
    spawn = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        try:
            for paths in pool.map(write_stale_files, range(len(STEPS))):
                for path in paths:
                    sys.stdout.write(f"{path.relative_to(ROOT)}\n")
        except ValueError as error:
            raise SystemExit(f"make facts: {error}") from error


if __name__ == "__main__":
    main()
