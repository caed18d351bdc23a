"""The lists of tables and of metrics in docs/reference.md, a row for each, between their marks."""

from __future__ import annotations

import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars_clustereval as ce
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue.docstrings import join_lines, read_sections
from tools.table_columns import columns_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.metric_facts import MetricFacts

NAVIGATION = Path(__file__).parent.parent / "mkdocs.yml"
START_TABLES, END_TABLES = "<!-- tables -->\n", "<!-- end of tables -->"
HEAD_TABLES = ["| name | what | columns |", "|---|---|---|"]
#: A mark names the families of its table.
START, END = "<!-- metrics: ", "<!-- end of metrics -->"
HEAD = ["", "| name | range | best | what |", "|---|---|---|---|"]


def call_with_parameters(name: str) -> str:
    """The name of a metric with its own parameters: pair_f_score(beta)."""
    own = list(inspect.signature(getattr(ce, name)).parameters)[2:]
    return f"{name}({', '.join(own)})" if own else name


def reference_row(facts: MetricFacts) -> str:
    cells = (f"`{call_with_parameters(facts.name)}`", facts.range, facts.best or "–", facts.summary)
    return f"| {' | '.join(cells)} |"


def fill_metrics(page: str, metrics: Sequence[MetricFacts]) -> str:
    """The page with the rows of all metrics: below each mark those of its families."""
    lines: list[str] = []
    is_table = False
    for line in page.splitlines():
        if line == END:
            is_table = False
        if not is_table:
            lines.append(line)
        if line.startswith(START):
            families = line.removeprefix(START).removesuffix(" -->").split(", ")
            lines += [*HEAD, *(reference_row(x) for x in metrics if x.family in families), ""]
            is_table = True
    return "\n".join(lines) + "\n"


@cache
def page_titles() -> dict[str, str]:
    """The titles of the pages of docs/ by their stems, in the order of the navigation."""
    text = NAVIGATION.read_text(encoding="utf-8")
    return {page: title for title, page in re.findall(r"^ +- (.*): (\w+)\.md$", text, re.MULTILINE)}


def table_row(name: str) -> str:
    table = declared_tables()[name]
    summary = join_lines(read_sections(table.function)[""].partition("\n\n")[0]).rstrip(".")
    shown = f"`{name}`" if table.has_macro else f"`{name}` (Python)"
    what = f"{summary} ([{page_titles()[table.guide]}]({table.guide}.md))"
    return f"| {shown} | {what} | {columns_in_words(name)} |"


def fill_tables(page: str) -> str:
    """The page with a row for each table between the marks, in the order of their pages."""
    before, _, rest = page.partition(START_TABLES)
    _, end, after = rest.partition(END_TABLES)
    places = list(page_titles())
    tables = sorted(declared_tables().items(), key=lambda item: places.index(item[1].guide))
    rows = "\n".join([*HEAD_TABLES, *(table_row(name) for name, _ in tables)])
    return f"{before}{START_TABLES}\n{rows}\n\n{end}{after}"
