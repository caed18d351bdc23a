"""external_summary: external_report in long form, and what it says of each metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base.metric_facts import metrics_of

if TYPE_CHECKING:
    from tests.support.engines import Engine

METRICS = metrics_of("external_report")
RUNS = pl.DataFrame(
    {
        "run": [1, 1, 1, 1, 2, 2, 2, None, None],
        "label": ["a", "a", "b", None, "a", "b", "b", "a", "a"],
        "cluster": [0, 0, 1, 1, 0, -1, -1, 3, 4],
        "times": [1, 2, 1, 1, 3, 1, 1, 0, 2],
    }
)
COUNTS = ("n", "n_dropped", "n_noise", "n_labels", "n_clusters")
OPTIONS: list[dict[str, Any]] = [
    {},
    {"adjusted": False, "average_method": "joint", "beta": 2.0},
    {"weight": "times"},
    {"noise": -1, "noise_as": "singletons"},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("by", [None, "run"])
def test_values_are_those_of_the_report(
    engine: Engine, options: dict[str, Any], by: str | None
) -> None:
    options = {**options, "partition_by": by}
    reports = engine.table("external_report", RUNS, **options)
    expected = [
        (report.get(str(by)), metric, value)
        for report in reports
        for metric, value in report.items()
        if metric not in ("run", *COUNTS)
    ]
    rows = engine.table("external_summary", RUNS, **options)
    assert [(row.get(str(by)), row["metric"]) for row in rows] == [row[:2] for row in expected]
    for row, (*_, value) in zip(rows, expected, strict=True):
        # Two evaluations may add in another order.
        assert row["value"] == (None if value is None else pytest.approx(value, rel=1e-12))
    for row in rows:
        facts = METRICS[row["metric"]]
        assert (row["best"], row["meaning"]) == (facts.best or None, facts.meaning)


def test_no_rows(engine: Engine) -> None:
    rows = engine.table("external_summary", RUNS.head(0))
    assert len(rows) == len(METRICS)
    assert {row["value"] for row in rows} == {None}
    assert engine.table("external_summary", RUNS.head(0), partition_by="run") == []


def test_every_metric_has_a_meaning_that_fits_a_terminal() -> None:
    report = ce.external_report(RUNS, "label", "cluster")
    assert [*COUNTS, *METRICS] == report.columns
    meanings = [facts.meaning for facts in METRICS.values()]
    assert len(set(meanings)) == len(meanings)
    assert all(10 < len(meaning) <= 50 for meaning in meanings)


def test_a_partition_named_as_a_column_is_refused() -> None:
    """In Polars, where partition columns keep their names; counts are no columns of the result."""
    frame = RUNS.rename({"run": "metric"})
    with pytest.raises(ce.ClusterEvalError, match="'metric' is also a column of the result"):
        ce.external_summary(frame, "label", "cluster", partition_by="metric")
    rows = ce.external_summary(RUNS.rename({"run": "n"}), "label", "cluster", partition_by="n")
    assert rows["n"].unique().sort(nulls_last=True).to_list() == [1, 2, None]
