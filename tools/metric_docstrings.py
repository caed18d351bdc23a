"""The facts of the external metrics, from the docstrings of their expressions.

A docstring has sections, whose titles are underlined, as numpydoc has them. The section Facts has
one fact a line, `Title : Rand index`, with the names of FACTS in this order; longer ones go on in
indented lines. Anything else is an error, which names the metric. No sentence is taken apart.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import polars as pl

import polars_clustereval as ce
from polars_clustereval.base.metric_facts import MetricFacts
from polars_clustereval.catalogue.docstrings import join_lines, read_sections
from polars_clustereval.errors import ClusterEvalError
from tools.exports import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: The facts in a docstring, in their order, and the field of MetricFacts of each.
FACTS = {
    "Title": "title",
    "Meaning": "meaning",
    "Range": "range",
    "Best value": "best",
    "Special cases": "special_cases",
    "Source": "source",
    "Sides swapped": "swapped",
    "Cost": "cost",
    "Names elsewhere": "elsewhere",
    "Differs": "differs",
    "SQL": "sql",
}
OPTIONAL = {"Sides swapped": "the same", "Cost": "", "Names elsewhere": "", "Differs": ""}
REPORTS = ("external_report", "entity_resolution_report")
COUNTS = ("n", "n_dropped", "n_noise", "n_labels", "n_clusters")
#: What fits beside a value in the terminal.
MEANING_WIDTH = 50
#: The ends of a range that are no numbers, besides the names of metrics.
ENDS = ("∞", "ln n", "n (n - 1)", "2 n", "the smaller entropy")
BEST = ("none", "0", "1", "high", "low")
SWAPPED = ("the same", "the negative", "another value")


def read_items(section: str) -> dict[str, str]:
    """The facts of the section Facts, by name."""
    items: dict[str, str] = {}
    for line in section.splitlines():
        if line.startswith(" "):
            last = next(reversed(items))
            items[last] += f" {line.strip()}"
            continue
        name, is_item, text = line.partition(" : ")
        if not is_item or name not in FACTS or name in items:
            raise ValueError(f"expected one of {', '.join(FACTS)}, once, got the line {line!r}")
        items[name] = text
    missing = [name for name in FACTS if name not in items and name not in OPTIONAL]
    if missing:
        raise ValueError(f"expected {missing[0]} among the facts")
    if list(items) != [name for name in FACTS if name in items]:
        raise ValueError(f"expected the order {', '.join(FACTS)}, got {', '.join(items)}")
    return {name: items.get(name, OPTIONAL.get(name, "")) for name in FACTS}


def check_range(text: str, names: Sequence[str]) -> None:
    """Raise an error unless the text is an interval, 'up to' a number, or 'unbounded'."""
    if text == "unbounded":
        return
    if text.startswith("up to "):
        ends = ["-inf", text.removeprefix("up to ")]
    else:
        ends = text[1:-1].split(", ")
    is_interval = text[0] in "[(u" and (text[-1] in "])" or text[0] == "u")
    if not is_interval or len(ends) != 2 or not all(is_end(end, names) for end in ends):
        raise ValueError(f"expected a range such as [0, 1], 'up to 1' or unbounded, got {text!r}")


def is_end(text: str, names: Sequence[str]) -> bool:
    try:
        float(text)
    except ValueError:
        return text in ENDS or text in names
    return True


def read_elsewhere(text: str) -> dict[str, str]:
    """The names in other libraries, from 'library: name; library: name'."""
    names = {}
    for part in filter(None, text.split("; ")):
        library, is_pair, name = part.partition(": ")
        if not is_pair or library in names:
            raise ValueError(f"expected 'library: name; library: name', got {text!r}")
        names[library] = name
    return names


def read_metric(
    name: str, function: Callable[..., pl.Expr], table: str, names: Sequence[str]
) -> MetricFacts:
    """The facts of a metric, from the docstring of its expression."""
    sections = read_sections(function)
    items = {title: join_lines(text) for title, text in read_items(sections["Facts"]).items()}
    facts = {FACTS[title]: text for title, text in items.items()}
    check_range(facts["range"], names)
    for field, words in (("best", BEST), ("swapped", (*SWAPPED, *names))):
        if facts[field] not in words:
            raise ValueError(f"expected one of {', '.join(words)}, got {facts[field]!r}")
    if not 10 < len(facts["meaning"]) <= MEANING_WIDTH:
        raise ValueError(f"expected a meaning of 11 to {MEANING_WIDTH} characters")
    if not facts.pop("sql").startswith(f"clustereval.{name}(label, cluster"):
        raise ValueError(f"expected the call of clustereval.{name} as SQL")
    texts = {
        **facts,
        "family": FAMILIES[function.__module__.rpartition(".")[2]],
        "table": table,
        "summary": (inspect.getdoc(function) or "").partition("\n")[0],
        "definition": join_lines(sections[""]),
        "best": facts["best"].removeprefix("none"),
    }
    missing = [field for field in ("source", "special_cases", "title") if not texts[field]]
    if missing:
        raise ValueError(f"expected {missing[0]}")
    return MetricFacts(name=name, elsewhere=read_elsewhere(texts.pop("elsewhere")), **texts)


def metrics_in_report(table: str) -> list[str]:
    """The columns of a report that are metrics, in its order."""
    frame = pl.DataFrame({"label": [0], "cluster": [0]})
    columns = getattr(ce, table)(frame, "label", "cluster").columns
    return [name for name in columns if name not in COUNTS]


def read_metrics() -> list[MetricFacts]:
    """The facts of all metrics, in the order of the reports; one of both is in the first."""
    tables: dict[str, str] = {}
    for table in REPORTS:
        for name in metrics_in_report(table):
            tables.setdefault(name, table)
    names = list(tables)
    records = []
    for name in names:
        try:
            records.append(read_metric(name, getattr(ce, name), tables[name], names))
        except ValueError as error:
            raise ClusterEvalError(f"docstring of {name}: {error}") from error
    return records
