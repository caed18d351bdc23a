"""The tables of the metrics in docs/reference.md, a row for each, between their marks."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import polars_clustereval as ce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.metric_facts import MetricFacts

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


def fill_tables(page: str, metrics: Sequence[MetricFacts]) -> str:
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
