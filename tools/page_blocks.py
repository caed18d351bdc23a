"""The generated blocks of pages in docs/: tables of scores, and their sources.

A block stands between a mark, `<!-- metrics: pair counting -->`, and its end,
`<!-- end of metrics -->`. A mark says what the block lists: metrics, the rows of all metrics of
these families; notation, the letters of a family; scores, those of these tables; sources, the
sources of the scores of these tables; tables, all of them, in the order of the pages in the
navigation; growth, the tables whose time grows faster than their rows.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import polars_clustereval as ce
from polars_clustereval.base.growth import describe_product
from polars_clustereval.base.score_facts import NO_TOTAL, entries_of
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue import NOTATION
from polars_clustereval.catalogue.docstrings import join_lines, read_sections
from polars_clustereval.errors import Setting
from tools.metrics_page import page_titles, row
from tools.table_columns import columns_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_clustereval.base.growth import Growth
    from polars_clustereval.base.metric_facts import MetricFacts
    from polars_clustereval.base.score_facts import Entry

    #: Returns the lines of a block, from the names in its mark.
    Block = Callable[[Sequence[str]], list[str]]

START, END = "<!-- {}: ", "<!-- end of {} -->"
#: What is said once below a table, for special cases of many rows.
FOOTNOTES = {"¹": NO_TOTAL}


def table_lines(heads: Sequence[str], rows: Sequence[str]) -> list[str]:
    return ["", row(*heads), "|---" * len(heads) + "|", *rows, ""]


# Metrics -------------------------------------------------------------------------------------


def call_with_parameters(name: str) -> str:
    """The name of a metric with its own parameters: pair_f_score(beta)."""
    own = list(inspect.signature(getattr(ce, name)).parameters)[2:]
    return f"{name}({', '.join(own)})" if own else name


def metric_row(facts: MetricFacts) -> str:
    call = f"`{call_with_parameters(facts.name)}`"
    return row(call, facts.range, facts.best, facts.summary)


def list_metrics(families: Sequence[str], metrics: Sequence[MetricFacts]) -> list[str]:
    rows = [metric_row(x) for x in metrics if x.family in families]
    return table_lines(("name", "range", "best", "what"), rows)


# Scores that are columns only ----------------------------------------------------------------


def entries_of_tables(tables: Sequence[str]) -> list[Entry]:
    return [entry for table in tables for entry in entries_of(table).values()]


def with_footnotes(cases: str) -> str:
    """Special cases with the mark of a footnote for each text that has one."""
    for mark, text in FOOTNOTES.items():
        cases = cases.replace(text, mark)
    return cases


def list_scores(tables: Sequence[str]) -> list[str]:
    """A table of the scores, with a column of special cases unless all have the same ones."""
    found = entries_of_tables(tables)
    cases = [with_footnotes(x.special_cases) for x in found]
    heads = ["name", "definition", "range", "best"]
    rows = [[f"`{x.name}`", x.definition, x.range, x.best] for x in found]
    below = [f"{mark} {text}." for mark, text in FOOTNOTES.items() if any(mark in x for x in cases)]
    if len(set(cases)) == 1:
        below.append(f"Special cases of all: {cases[0]}")
    else:
        heads.append("NULL" if found[0].kind == "internal" else "special cases")
        rows = [[*cells, case] for cells, case in zip(rows, cases, strict=True)]
    lines = table_lines(heads, [row(*cells) for cells in rows])
    return lines + [part for line in below for part in (line, "")]


def list_notation(families: Sequence[str]) -> list[str]:
    return ["", *(NOTATION[family] for family in families), ""]


def list_sources(tables: Sequence[str]) -> list[str]:
    return ["", *dict.fromkeys(f"- {entry.source}" for entry in entries_of_tables(tables)), ""]


# Tables --------------------------------------------------------------------------------------


def table_row(name: str) -> str:
    table = declared_tables()[name]
    summary = join_lines(read_sections(table.function)[""].partition("\n\n")[0]).rstrip(".")
    shown = f"`{name}`" if table.has_macro else f"`{name}` (Python)"
    what = f"{summary} ([{page_titles()[table.guide]}]({table.guide}.md))"
    return row(shown, what, columns_in_words(name))


def list_tables(_: Sequence[str]) -> list[str]:
    places = list(page_titles())
    tables = sorted(declared_tables().items(), key=lambda item: places.index(item[1].guide))
    return table_lines(("name", "what", "columns"), [table_row(name) for name, _ in tables])


def growth_row(name: str, growth: Growth) -> str:
    """A table with the options that its growth is of, seconds for 10^9 and faster options."""
    options = [
        str(Setting(x, values[0]))
        for x, values in growth.when.items()
        if values[0] is not None and inspect.signature(getattr(ce, name)).parameters.get(x)
    ]
    known = inspect.signature(getattr(ce, name)).parameters
    faster = ", ".join(f"`{x}`" for x in growth.faster if x.parameter in known)
    product = describe_product(growth.factors).replace(" x ", " × ").replace("^2", "²")
    seconds = (growth.seconds.get(engine) for engine in ("duckdb", "polars"))
    times = ["" if x is None else f"{x:g}" for x in seconds]
    return row(f"`{name}`", ", ".join(f"`{x}`" for x in options), product, *times, faster)


def list_growth(_: Sequence[str]) -> list[str]:
    heads = ("table", "with", "the time grows with", "DuckDB", "Polars", "faster")
    rows = [
        growth_row(name, growth) for name, x in declared_tables().items() for growth in x.growth
    ]
    return table_lines(heads, rows)


# Pages ---------------------------------------------------------------------------------------


def fill_blocks(page: str, metrics: Sequence[MetricFacts]) -> str:
    """The page with its blocks as they should be."""
    blocks: dict[str, Block] = {
        "metrics": lambda families: list_metrics(families, metrics),
        "notation": list_notation,
        "scores": list_scores,
        "sources": list_sources,
        "tables": list_tables,
        "growth": list_growth,
    }
    lines: list[str] = []
    end = ""
    for line in page.splitlines():
        if line == end:
            end = ""
        if not end:
            lines.append(line)
        for kind, block in blocks.items():
            if line.startswith(START.format(kind)):
                names = line.removeprefix(START.format(kind)).removesuffix(" -->").split(", ")
                lines += block(names)
                end = END.format(kind)
    if end:
        raise ValueError(f"expected {end!r} in the page")
    return "\n".join(lines) + "\n"
