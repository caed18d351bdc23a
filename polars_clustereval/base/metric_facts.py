"""metric_facts: facts about each external metric, taken from the docstring of its function.

``make facts`` copies these facts from the docstrings into the file metric_facts.json, because
Python removes docstrings when it runs with -OO, and because parsing docstrings would slow down the
import of the package.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

FACTS_FILE = Path(__file__).with_suffix(".json")


class MetricFacts(NamedTuple):
    """The facts about one metric.

    A field is an empty string if the metric has no such fact.
    """

    name: str
    title: str
    #: Such as 'pair counting'.
    family: str
    #: The first report that has it as a column: 'external_report' or 'entity_resolution_report'.
    table: str
    #: What it is in one sentence, and then its formula and other remarks.
    summary: str
    definition: str
    #: A few words for the terminal.
    meaning: str
    #: An interval such as [0, 1], 'up to 1' or 'unbounded'.
    range: str
    #: The best value: a number, 'high', 'low', or '' if none is best.
    best: str
    #: When it is NULL, or has a value by convention.
    special_cases: str
    #: Authors, year, title, and DOI or publisher.
    source: str
    #: How its value changes if you swap label and cluster: 'the same', 'the negative', 'another
    #: value', or the name of another metric.
    swapped: str
    #: What takes time apart from the counts of the contingency table.
    cost: str
    #: Names in other libraries, by library.
    elsewhere: Mapping[str, str]
    #: What other libraries compute under this name.
    differs: str

    @property
    def least(self) -> str:
        """The lower end of the range as text, or '' if there is none."""
        return self.range[1:].partition(", ")[0] if self.range[0] in "[(" else ""

    @property
    def greatest(self) -> str:
        """The upper end of the range as text, or '' if there is none."""
        if self.range[0] in "[(":
            return self.range[:-1].partition(", ")[2].removeprefix("∞")
        return self.range.removeprefix("up to ").removeprefix("unbounded")


@cache
def metric_facts() -> Mapping[str, MetricFacts]:
    """Return a mapping from external metrics to their facts, in the order of the reports."""
    records = json.loads(FACTS_FILE.read_text(encoding="utf-8"))
    return {record["name"]: MetricFacts(**record) for record in records}


@cache
def metrics_of(table: str) -> Mapping[str, MetricFacts]:
    """Return facts, by name, about the metrics whose first report is `table`, in its order."""
    return {name: facts for name, facts in metric_facts().items() if facts.table == table}
