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
        if metric != "run"
    ]
    rows = engine.table("external_summary", RUNS, **options)
    assert [(row.get(str(by)), row["metric"]) for row in rows] == [row[:2] for row in expected]
    for row, (*_, value) in zip(rows, expected, strict=True):
        # Two evaluations may add in another order.
        assert row["value"] == (None if value is None else pytest.approx(value, rel=1e-12))
    for row in rows:
        if row["metric"] in METRICS:
            facts = METRICS[row["metric"]]
            assert (row["best"], row["meaning"]) == (facts.best or None, facts.meaning)
            assert row["family"] == facts.family
        else:
            assert row["family"] == "counts"


def test_no_rows(engine: Engine) -> None:
    rows = engine.table("external_summary", RUNS.head(0))
    assert [row["metric"] for row in rows] == [*COUNTS, *METRICS]
    assert [row["value"] for row in rows] == [0.0] * len(COUNTS) + [None] * len(METRICS)
    assert engine.table("external_summary", RUNS.head(0), partition_by="run") == []


def meanings_of(
    engine: Engine, frame: pl.DataFrame, by: str | None = None, **options: Any
) -> list[str]:
    """The meanings of the counts, by partition."""
    rows = engine.table("external_summary", frame, partition_by=by, **options)
    assert all(row["best"] is None for row in rows if row["metric"] in COUNTS)
    return [row["meaning"] for row in rows if row["metric"] in COUNTS]


MEANINGS = [
    "rows that are scored",
    "rows left out: no label or no cluster",
    "rows whose cluster is noise",
    "different labels",
    "different clusters",
]


def test_counts_without_noise(engine: Engine) -> None:
    assert meanings_of(engine, RUNS.filter(run=1)) == MEANINGS
    named = {"noise": -1, "noise_as": "drop"}
    assert meanings_of(engine, RUNS.filter(run=2), **named) == MEANINGS
    assert meanings_of(engine, RUNS.head(0), **named) == MEANINGS


def test_noise_that_is_not_named(engine: Engine) -> None:
    """The larger one first; each partition for itself."""
    frame = pl.DataFrame(
        {
            "run": [1, 1, 1, 1, 1, 2, 2],
            "label": ["a", "b", "NOISE", "a", "b", "a", "b"],
            "cluster": ["0", "0", "-1", " Outlier ", " Outlier ", "0", "1"],
        }
    )
    found = meanings_of(engine, frame, "run")
    named = " Outlier  (2 rows) or -1 (1 row)"
    assert found[2] == f"no noise given; if cluster {named} is noise, give noise and noise_as"
    assert found[5:] == MEANINGS
    assert meanings_of(engine, frame, noise="-1", noise_as="cluster") == MEANINGS


def test_noise_that_no_row_has(engine: Engine) -> None:
    found = meanings_of(engine, RUNS.drop_nulls(), "run", noise=-9, noise_as="drop")
    assert found[2] == found[7] == "no row has cluster -9, the value of noise"
    # A run without noise is nothing unusual if another has it.
    found = meanings_of(engine, RUNS.drop_nulls(), "run", noise=-1, noise_as="drop")
    assert found == 2 * MEANINGS


def test_counts_can_be_chosen() -> None:
    names = ["purity", "n_noise", "n"]
    rows = ce.external_summary(RUNS, "label", "cluster", metrics=names)
    assert rows["metric"].to_list() == names
    assert rows["value"].to_list()[1:] == [0, 8]


def test_every_metric_has_a_meaning_that_fits_a_terminal() -> None:
    report = ce.external_report(RUNS, "label", "cluster")
    assert [*COUNTS, *METRICS] == report.columns
    meanings = [facts.meaning for facts in METRICS.values()]
    assert len(set(meanings)) == len(meanings)
    assert all(10 < len(meaning) <= 50 for meaning in meanings)


def test_a_partition_named_as_a_column_is_refused() -> None:
    """In Polars, where partition columns keep their names; counts are rows of the result."""
    frame = RUNS.rename({"run": "metric"})
    with pytest.raises(ce.ClusterEvalError, match="'metric' is also a column of the result"):
        ce.external_summary(frame, "label", "cluster", partition_by="metric")
    rows = ce.external_summary(RUNS.rename({"run": "n"}), "label", "cluster", partition_by="n")
    assert rows["n"].unique().sort(nulls_last=True).to_list() == [1, 2, None]
