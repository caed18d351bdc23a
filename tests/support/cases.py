"""The cases of data/*.csv: labelings, what others published about them, degenerate values.

labelings.csv gives a case as two lists of values (NULL and NaN are themselves) or as a contingency
table, labels down and clusters across. An expected value is NULL, a whole number, a fraction,
sqrt() or ln() of one, or decimals: few of them are right to their last digit, 15 and more to the
tolerance of the project.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tests.support.compare import assert_same
from tests.support.oracle import COUNTS, UNBOUNDED

FOLDER = Path(__file__).parent / "data"
PAIR_COUNTS = ("tp", "fp", "fn", "tn")


class Expectation(NamedTuple):
    metric: str
    arguments: tuple[tuple[str, Any], ...]
    expected: str
    source: str

    def check(self, actual: object) -> None:
        what = f"{self.metric} ({self.source})"
        if self.metric in COUNTS + PAIR_COUNTS:
            assert actual == int(self.expected), f"{what}: {actual}, expected {self.expected}"
        elif is_rounded(self.expected):
            assert isinstance(actual, float), what
            unit = 10.0 ** -len(self.expected.partition(".")[2])
            assert abs(actual - float(self.expected)) <= unit, f"{what}: {actual}, {self.expected}"
        else:
            bounded = self.metric not in UNBOUNDED
            assert_same(actual, value_of(self.expected), bounded=bounded, what=what)


def is_rounded(text: str) -> bool:
    digits = text.lstrip("-0.").replace(".", "")
    return "." in text and "/" not in text and len(digits) < 15


def value_of(text: str) -> float | None:
    if text == "NULL":
        return None
    inner = text.removeprefix("-")
    for function in (math.sqrt, math.log):
        name = {"sqrt": "sqrt(", "log": "ln("}[function.__name__]
        if inner.startswith(name):
            value = function(Fraction(inner[len(name) : -1]))
            return -value if text.startswith("-") else value
    return float(Fraction(text))


def read_rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def published_labelings() -> dict[str, pl.DataFrame]:
    """The rows of every case."""
    frames = {}
    for row in read_rows("labelings.csv"):
        if row["table"]:
            cells = [line.split() for line in row["table"].split("/")]
            counted = [
                (u, v)
                for u, line in enumerate(cells)
                for v, n in enumerate(line)
                for _ in range(int(n))
            ]
            frames[row["case"]] = pl.DataFrame(counted, schema=["label", "cluster"], orient="row")
        else:
            frames[row["case"]] = pl.DataFrame(
                {name: series_of(row[name].split()) for name in ("label", "cluster")}
            )
    return frames


def series_of(tokens: list[str]) -> pl.Series:
    text = pl.Series([None if token == "NULL" else token for token in tokens], dtype=pl.String)
    for dtype in (pl.Int64, pl.Float64):
        values = text.cast(dtype, strict=False)
        if values.null_count() == text.null_count():
            return values
    return text


def expectations() -> dict[str, list[Expectation]]:
    """What is known of every case: degenerate ones first."""
    known: dict[str, list[Expectation]] = defaultdict(list)
    for row in read_rows("degenerate.csv"):
        metric, source = row.pop("metric"), row.pop("source")
        for case, expected in row.items():
            known[case].append(Expectation(metric, (), expected, source))
    for row in read_rows("published.csv"):
        known[row["case"]].append(
            Expectation(
                row["metric"], parse_arguments(row["arguments"]), row["expected"], row["source"]
            )
        )
    return dict(known)


def parse_arguments(text: str) -> tuple[tuple[str, Any], ...]:
    if not text:
        return ()
    name, _, value = text.partition("=")
    return ((name, float(value) if name == "beta" else value),)
