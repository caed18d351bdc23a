"""internal_summary: internal_report in long form, and what it says of each index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base.score_facts import entries_of

if TYPE_CHECKING:
    from tests.support.engines import Engine

POINTS = pl.DataFrame(
    {
        "run": [1, 1, 1, 1, 1, 2, 2, 2, None, None],
        "vector": [
            *([0.0, 0.0], [2.0, 0.0], [9.0, 0.0], [9.0, 4.0], None),
            *([1.0, 5.0], [2.0, 3.0], [7.0, 1.0], [3.0, 3.0], [3.0, 3.0]),
        ],
        "cluster": [0, 0, 1, 1, 1, 0, 0, -1, 3, 4],
    },
    schema_overrides={"vector": pl.List(pl.Float64)},
)
N_COUNTS = 6
INDICES = entries_of("internal_report")
OPTIONS: list[dict[str, Any]] = [
    {},
    {"distance": "cityblock", "center": "median"},
    {"distance": "minkowski", "p": 3, "weights": [1.0, 2.0]},
    {"noise": -1, "noise_as": "drop"},
]


def row_of_index(engine: Engine, frame: pl.DataFrame, **options: Any) -> list[dict[str, Any]]:
    return engine.table("internal_summary", frame, "vector", "cluster", **options)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("by", [None, "run"])
def test_values_are_those_of_internal_report(
    engine: Engine, options: dict[str, Any], by: str | None
) -> None:
    options = {**options, "partition_by": by}
    reports = engine.table("internal_report", POINTS, "vector", "cluster", **options)
    rows = row_of_index(engine, POINTS, **options)
    names = list(INDICES)
    keys = [report.get("run") for report in reports]
    assert [(row.get("run"), row["metric"]) for row in rows] == [
        (key, name) for key in keys for name in names
    ]
    expected = [report[name] for report in reports for name in names]
    for row, value in zip(rows, expected, strict=True):
        assert row["value"] == (None if value is None else pytest.approx(value, rel=1e-12))
        index = INDICES[row["metric"]]
        assert (row["best"], row["meaning"]) == (index.best or None, index.meaning)
    assert any(value is not None for value in expected)


def test_no_points(engine: Engine) -> None:
    rows = row_of_index(engine, POINTS.head(0))
    assert [row["metric"] for row in rows] == list(INDICES)
    assert {row["value"] for row in rows} == {None}
    assert row_of_index(engine, POINTS.head(0), partition_by="run") == []


def test_every_index_of_the_report_is_in_the_summary() -> None:
    report = ce.internal_report(POINTS, "vector", "cluster")
    assert report.columns[N_COUNTS:] == list(INDICES)


def test_a_partition_named_as_a_column_of_the_summary_is_refused() -> None:
    frame = POINTS.rename({"run": "metric"})
    with pytest.raises(ce.ClusterEvalError, match="'metric' is also a column of the result"):
        ce.internal_summary(frame, "vector", "cluster", partition_by="metric")
    rows = ce.internal_summary(POINTS.rename({"run": "n"}), "vector", "cluster", partition_by="n")
    assert rows["n"].unique().sort(nulls_last=True).to_list() == [1, 2, None]
