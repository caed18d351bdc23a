"""Every case of cases/*.csv on every engine: as a report and one metric at a time."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import polars as pl
import pytest

from tests.support.cases import PAIR_COUNTS, Expectation, expectations, labelings
from tests.support.engines import Engine, report
from tests.support.oracle import COUNTS, METRICS

LABELINGS = labelings()
EXPECTATIONS = expectations()


def by_arguments(case: str) -> dict[tuple[tuple[str, Any], ...], list[Expectation]]:
    found = defaultdict(list)
    for expectation in EXPECTATIONS[case]:
        found[expectation.arguments].append(expectation)
    return found


def test_every_labeling_is_expected_something() -> None:
    assert LABELINGS.keys() == EXPECTATIONS.keys()


def test_every_metric_has_a_case() -> None:
    degenerate = {expected.metric for expected in EXPECTATIONS["singletons"]}
    assert degenerate == {*COUNTS, *METRICS}


@pytest.mark.parametrize("case", EXPECTATIONS)
def test_report(engine: Engine, case: str) -> None:
    for arguments, known in by_arguments(case).items():
        [row] = report(engine, LABELINGS[case], **dict(arguments))
        row |= engine.table("pair_counts", LABELINGS[case])[0]
        for expectation in known:
            expectation.check(row[expectation.metric])


@pytest.mark.parametrize("case", EXPECTATIONS)
def test_report_of_a_contingency_table(engine: Engine, case: str) -> None:
    """Weights are repetitions, NULLs included."""
    cells = LABELINGS[case].group_by("label", "cluster").agg(n=pl.len().cast(pl.Int64))
    [row] = report(engine, cells, weight="n")
    for expectation in by_arguments(case)[()]:
        if expectation.metric not in PAIR_COUNTS:
            expectation.check(row[expectation.metric])


def test_scalars(engine: Engine) -> None:
    """All cases in one query for each set of arguments, their labels as text."""
    rows = pl.concat(
        frame.select(pl.lit(case).alias("case"), pl.col("label", "cluster").cast(pl.String))
        for case, frame in LABELINGS.items()
    )
    asked: dict[tuple[tuple[str, Any], ...], list[tuple[str, Expectation]]] = defaultdict(list)
    for case in set(rows["case"]):
        for expectation in EXPECTATIONS[case]:
            if expectation.metric in METRICS:
                asked[expectation.arguments].append((case, expectation))
    for arguments, known in asked.items():
        metrics = [name for name in METRICS if name in {wanted.metric for _, wanted in known}]
        answers = engine.scalars(rows, by="case", metrics=metrics, **dict(arguments))
        by_case = {row["case"]: row for row in answers}
        for case, expectation in known:
            expectation.check(by_case[case][expectation.metric])
