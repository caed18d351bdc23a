"""The pages docs/api_*.md: every public function, whose docstrings the site shows.

The pages name the functions, and mkdocstrings reads their docstrings when the site is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars_clustereval as ce
from polars_clustereval import plots
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue import entries
from tools.metrics_page import file_of, row
from tools.sql_columns import is_only_a_column

if TYPE_CHECKING:
    from collections.abc import Iterable

DOCS = Path(__file__).parent.parent / "docs"

#: A note at the top, since the files alone show names.
NOTE = (
    "On the site that `make docs` builds, each name has its docstring and its SQL macro below it. "
    "In Python, `help(ce.external_report)` shows the docstring, and so does `ce.describe` for "
    "scores and tables."
)
#: By page: its title, and what a reader finds there.
PAGES = {
    "api_scores": (
        "Functions: scores",
        "Expressions of a label and a cluster, and the aggregate macros of the same names.",
    ),
    "api_labels": (
        "Functions: tables of labels",
        "Tables that compare clusters with labels, and the table macros of the same names.",
    ),
    "api_points": (
        "Functions: tables of points",
        "Tables of points and their clusters, and the table macros of the same names.",
    ),
    "api_runs": (
        "Functions: comparing clusterings",
        "Tables that compare clusterings: numbers of clusters, runs, samples, new points.",
    ),
    "api_plots": (
        "Functions: pictures",
        "Charts of Altair, which need the extra `plot`. Each is a method of the namespace as well.",
    ),
    "api_other": (
        "Functions: macros, queries and descriptions",
        "Macros for a connection of DuckDB, queries for other engines, and what a score is.",
    ),
}
#: The section on scores without a function of their own.
COLUMNS = """## Scores that are columns of a table

No aggregate and no expression computes these scores alone. Select them from their table instead,
as in `SELECT davies_bouldin_score FROM clustereval.internal_report(tbl, [x, y], cluster)`. In SQL,
each name is also a macro, whose error message names the table.
"""
#: Tables by the folder of the package that they are in.
FOLDERS = {"external": "api_labels", "internal": "api_points", "relative": "api_runs"}


def page_of(name: str) -> str:
    """The page of a public name of the package."""
    module = getattr(ce, name).__module__.split(".")
    if module[1] not in FOLDERS:
        return "api_other"
    is_score = module[1] == "external" and name not in declared_tables()
    return "api_scores" if is_score else FOLDERS[module[1]]


def write_page(page: str, names: Iterable[str]) -> str:
    title, text = PAGES[page]
    functions = "\n\n".join(f"::: {name}" for name in names)
    columns = f"\n{list_columns()}" if page == "api_scores" else ""
    return f"# {title}\n\n{text}\n\n{NOTE}\n\n{functions}\n{columns}"


def list_columns() -> str:
    """The section of the scores that no expression and no aggregate computes."""
    rows = [
        row(f"[`{entry.name}`]({file_of(entry.family)}#{entry.name})", f"`{entry.table}`")
        for entry in entries().values()
        if is_only_a_column(entry)
    ]
    return "\n".join([COLUMNS, row("score", "table"), "|---|---|", *rows, ""])


def api_pages() -> dict[Path, str]:
    """The texts of the pages by their paths."""
    names = [name for name in ce.__all__ if callable(getattr(ce, name))]
    found: dict[str, list[str]] = {page: [] for page in PAGES}
    for name in names:
        found[page_of(name)].append(f"polars_clustereval.{name}")
    found["api_plots"] = [f"polars_clustereval.plots.{name}" for name in plots.__all__]
    return {DOCS / f"{page}.md": write_page(page, found[page]) for page in PAGES}
