"""Every case of support/data on every engine: as a report and one metric at a time."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.support.cases import PAIR_COUNTS, Expectation, expectations, published_labelings
from tests.support.engines import Engine, Row, report
from tests.support.oracle import COUNTS, METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

pytestmark = pytest.mark.each

LABELINGS = published_labelings()
EXPECTATIONS = expectations()


Arguments = tuple[tuple[str, Any], ...]
Known = dict[str, list[Expectation]]


def by_arguments(cases: Iterable[str]) -> dict[Arguments, Known]:
    """What is expected of each case, for each set of arguments that a source gives."""
    found: dict[Arguments, Known] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        for expectation in EXPECTATIONS[case]:
            found[expectation.arguments][case].append(expectation)
    return found


def by_types() -> dict[str, list[str]]:
    """The cases whose columns have the same types, so that one call can take them all."""
    found = defaultdict(list)
    for case, frame in LABELINGS.items():
        found[" and ".join(map(str, frame.dtypes))].append(case)
    return dict(found)


GROUPS = by_types()
NOTHING_KEPT = [case for case, frame in LABELINGS.items() if frame.drop_nulls().is_empty()]


def stack_labelings(cases: Iterable[str]) -> pl.DataFrame:
    return pl.concat(LABELINGS[case].select(pl.lit(case).alias("case"), pl.all()) for case in cases)


def check_cases(rows: list[Row], known: Known, *, without: Sequence[str] = ()) -> None:
    """A row for each case, except where no row of the case counts."""
    by_case = {row["case"]: row for row in rows}
    assert set(by_case) >= known.keys() - set(NOTHING_KEPT)
    for case in known.keys() & by_case.keys():
        for expectation in known[case]:
            if expectation.metric not in without:
                expectation.check(by_case[case][expectation.metric])


def test_every_labeling_is_expected_something() -> None:
    assert LABELINGS.keys() == EXPECTATIONS.keys()


def test_every_metric_has_a_case() -> None:
    degenerate = {expected.metric for expected in EXPECTATIONS["singletons"]}
    assert degenerate == {*COUNTS, *METRICS}


def reports_with_pair_counts(engine: Engine, frame: pl.DataFrame, **arguments: Any) -> list[Row]:
    """Reports with the pair counts."""
    rows = report(engine, frame, partition_by="case", **arguments)
    counts = engine.table("pair_counts", frame, partition_by="case")
    assert [row["case"] for row in rows] == [row["case"] for row in counts]
    return [row | more for row, more in zip(rows, counts, strict=True)]


@pytest.mark.parametrize("types", GROUPS)
def test_report(engine: Engine, types: str) -> None:
    for arguments, known in by_arguments(GROUPS[types]).items():
        check_cases(
            reports_with_pair_counts(engine, stack_labelings(known), **dict(arguments)), known
        )


@pytest.mark.parametrize("types", GROUPS)
def test_report_of_a_contingency_table(engine: Engine, types: str) -> None:
    """Weights are repetitions, NULLs included."""
    known = by_arguments(GROUPS[types])[()]
    cells = (
        stack_labelings(known).group_by("case", "label", "cluster").agg(n=pl.len().cast(pl.Int64))
    )
    rows = report(engine, cells, weight="n", partition_by="case")
    check_cases(rows, known, without=PAIR_COUNTS)


# Those without a row that counts, which have no partition, and one of each kind of labels.
ALONE = [*NOTHING_KEPT, *(cases[-1] for cases in GROUPS.values())]


@pytest.mark.parametrize("case", ALONE)
def test_report_of_a_case_alone(engine: Engine, case: str) -> None:
    """The same without partition_by."""
    known = by_arguments([case])[()][case]
    [row] = report(engine, LABELINGS[case])
    [counts] = engine.table("pair_counts", LABELINGS[case])
    cells = LABELINGS[case].group_by("label", "cluster").agg(n=pl.len().cast(pl.Int64))
    [weighted] = report(engine, cells, weight="n")
    for expectation in known:
        expectation.check((row | counts)[expectation.metric])
        expectation.check((weighted | counts)[expectation.metric])


def test_scalars_with_arguments(engine: Engine) -> None:
    """All cases in one query for each set of arguments, their labels as text.

    Those without arguments are among the groups of test_expressions.py.
    """
    rows = pl.concat(
        frame.select(pl.lit(case).alias("case"), pl.col("label", "cluster").cast(pl.String))
        for case, frame in LABELINGS.items()
    )
    asked: dict[tuple[tuple[str, Any], ...], list[tuple[str, Expectation]]] = defaultdict(list)
    for case in set(rows["case"]):
        for expectation in EXPECTATIONS[case]:
            if expectation.metric in METRICS and expectation.arguments:
                asked[expectation.arguments].append((case, expectation))
    for arguments, known in asked.items():
        metrics = [name for name in METRICS if name in {wanted.metric for _, wanted in known}]
        answers = engine.scalars(rows, by="case", metrics=metrics, **dict(arguments))
        by_case = {row["case"]: row for row in answers}
        for case, expectation in known:
            expectation.check(by_case[case][expectation.metric])
