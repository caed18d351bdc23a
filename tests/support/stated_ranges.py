"""The ranges and best values that records, docstrings and comments of macros state, as numbers.

A bound is kept as its text, in one spelling, so that two statements can be compared; `bound_of`
computes it for a row of a report.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from polars_clustereval.base.metric_facts import metric_facts
from tests.support import engines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polars_clustereval.base.metric_facts import MetricFacts
    from polars_clustereval.base.score_facts import Entry

#: Other spellings of a bound.
SPELLINGS = {
    "∞": "inf",
    "the smaller entropy": "smaller entropy",
}
#: What descriptions say of a best value that is not a number.
BEST_IN_WORDS = {
    "high": "higher is better",
    "low": "lower is better",
    "": "neither high nor low is better",
}
#: Bounds that are no constants, from a row.
BOUNDS: dict[str, Callable[[Mapping[str, Any]], float]] = {
    "ln n": lambda row: math.log(row["n"]),
    "n (n - 1)": lambda row: row["n"] * (row["n"] - 1),
    "2 n": lambda row: 2 * row["n"],
    "label_entropy": lambda row: row["label_entropy"],
    "cluster_entropy": lambda row: row["cluster_entropy"],
    "smaller entropy": lambda row: min(row["label_entropy"], row["cluster_entropy"]),
    "1/√k": lambda row: 1 / math.sqrt(row["n_clusters"]),
    "m": lambda row: greatest_tau(row),
    "-m": lambda row: -greatest_tau(row),
}
IN_COMMENT = re.compile(
    r"range (?:(?P<unbounded>unbounded)|up to (?P<top>\d+)"
    r"|(?P<opening>[\[(])(?P<low>[^,\]]+), (?P<high>.+?)(?P<closing>[\])])(?=[,.;)]|$))"
    r"(?:, best (?P<best>-?\w+))?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Stated:
    """A range from `low` to `high`, and the best value: a number, 'high', 'low' or None."""

    low: str
    high: str
    best: str | None
    #: Whether `low` is left out; False where the statement does not tell.
    is_open: bool = False


def from_comment(text: str) -> Stated | None:
    """From a statement such as 'Range [0, ln n], best 0.' in the comment of a macro."""
    return stated(IN_COMMENT.search(in_one_line(text)))


def after_name(text: str, name: str) -> Stated | None:
    """From the parentheses after a column's name and formula: 'gamma (range [-1, 1], best 1)'."""
    found = re.search(rf"\b{name}\b(?: = (?:[^(]|\((?!range ))*?)? \((?=range )", in_one_line(text))
    return from_comment(in_one_line(text)[found.end() :]) if found else None


def in_one_line(text: str) -> str:
    return " ".join(text.split()).replace("−", "-").replace("`", "")


def stated(found: re.Match[str] | None) -> Stated | None:
    if found is None:
        return None
    part = found.groupdict()
    low = part["low"] or "-inf"
    high = part["high"] or part["top"] or "inf"
    is_open = part["opening"] == "("
    return Stated(SPELLINGS.get(low, low), SPELLINGS.get(high, high), part["best"], is_open)


def bound_of(text: str, row: Mapping[str, Any]) -> float:
    """The number that a bound is for this row of a report."""
    if text in BOUNDS:
        return BOUNDS[text](row)
    over, _, under = text.partition("/")
    return float(over) / float(under or 1)


def is_constant(text: str) -> bool:
    return text not in BOUNDS and math.isfinite(bound_of(text, {}))


def greatest_tau(row: Mapping[str, Any]) -> float:
    within, between = int(row["n_within_pairs"]), int(row["n_between_pairs"])
    pairs = within + between
    return math.sqrt(2 * within * between / (pairs * (pairs - 1)))


@cache
def comments() -> dict[str, str]:
    """The comments of all macros by name."""
    query = (
        "SELECT function_name, comment FROM duckdb_functions() WHERE schema_name = 'clustereval'"
    )
    with engines.make("duckdb").connection.cursor() as con:
        return dict(con.execute(query).fetchall())


def stated_by(facts: MetricFacts | Entry) -> Stated:
    """The range and the best value that the record of a score states."""
    found = from_comment(f"range {facts.range}{f', best {facts.best}' if facts.best else ''}")
    assert found, f"the range of {facts.name}: {facts.range}"
    return found


def range_of_metric(name: str) -> Stated:
    """The range and the best value that the docstring of an external metric states."""
    return stated_by(metric_facts()[name])


def assert_kept(stated: Stated, name: str, row: Mapping[str, Any]) -> None:
    """The value of this name is NULL or in the range."""
    if row[name] is None:
        return
    for text, sign in ((stated.low, 1), (stated.high, -1)):
        bound = bound_of(text, row)
        # None for a constant: 1 + 1e-15 would fail a user's own check of the range.
        slack = 0.0 if is_constant(text) or math.isinf(bound) else 1e-12 * max(1.0, abs(bound))
        assert sign * (row[name] - bound) >= -slack, (name, text, row)
