"""internal_summary: internal_report in long form, and what it says of each index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base.score_facts import entries_of
from tests.support.point_engines import call

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
COUNTS = ("n", "n_dropped", "n_noise", "n_dims", "n_clusters", "n_singletons")
INDICES = entries_of("internal_report")
OPTIONS: list[dict[str, Any]] = [
    {},
    {"distance": "cityblock", "center": "median"},
    {"distance": "minkowski", "p": 3, "weights": [1.0, 2.0]},
    {"noise": -1, "noise_as": "drop"},
]


def row_of_index(engine: Engine, frame: pl.DataFrame, **options: Any) -> list[dict[str, Any]]:
    return call(engine, "internal_summary", frame, "vector", "cluster", **options)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("by", [None, "run"])
def test_values_are_those_of_internal_report(
    engine: Engine, options: dict[str, Any], by: str | None
) -> None:
    options = {**options, "partition_by": by}
    reports = call(engine, "internal_report", POINTS, "vector", "cluster", **options)
    rows = row_of_index(engine, POINTS, **options)
    names = [*COUNTS, *INDICES]
    keys = [report.get("run") for report in reports]
    assert [(row.get("run"), row["metric"]) for row in rows] == [
        (key, name) for key in keys for name in names
    ]
    expected = [report[name] for report in reports for name in names]
    for row, value in zip(rows, expected, strict=True):
        assert row["value"] == (None if value is None else pytest.approx(value, rel=1e-12))
        if row["metric"] in INDICES:
            index = INDICES[row["metric"]]
            assert (row["best"], row["meaning"]) == (index.best or None, index.meaning)
            assert row["family"] == index.family
        else:
            assert row["family"] == "counts"
    assert any(value is not None for value in expected)


def test_no_points(engine: Engine) -> None:
    rows = row_of_index(engine, POINTS.head(0))
    assert [row["metric"] for row in rows] == [*COUNTS, *INDICES]
    assert [row["value"] for row in rows] == [0.0] * len(COUNTS) + [None] * len(INDICES)
    assert row_of_index(engine, POINTS.head(0), partition_by="run") == []


def test_every_index_of_the_report_is_in_the_summary() -> None:
    report = ce.internal_report(POINTS, "vector", "cluster")
    assert report.columns == [*COUNTS, *INDICES]


MEANINGS = [
    "points that are scored",
    "rows left out: no vector or no cluster",
    "points whose cluster is noise",
    "coordinates of a point",
    "clusters, including those of one point",
    "clusters of one point",
]


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({}, "no noise given; if cluster -1 (1 point) is noise, give noise and noise_as"),
        ({"noise": -1, "noise_as": "singletons"}, None),
        ({"noise": 7, "noise_as": "drop"}, "no row has cluster 7, the value of noise"),
    ],
)
def test_remarks_on_noise(engine: Engine, options: dict[str, Any], remark: str | None) -> None:
    """A cluster without a vector is no noise of the scores."""
    frame = POINTS.with_columns(pl.col("cluster").replace(0, 5))
    # One coordinate has most of the variance, which is another remark.
    frame = frame.with_columns(vector=pl.concat_list(pl.col("vector").list.get(1)))
    rows = row_of_index(engine, frame, **options)
    found = [row["meaning"] for row in rows if row["metric"] in COUNTS]
    assert found == [*MEANINGS[:2], remark or MEANINGS[2], *MEANINGS[3:]]
    if not options:
        without = frame.with_columns(
            pl.when(pl.col("cluster") != -1).then("vector").alias("vector")
        )
        rows = row_of_index(engine, without)
        assert [row["meaning"] for row in rows][: len(COUNTS)] == MEANINGS


UNSCALED = pl.DataFrame(
    {
        "x": [0.0, 1.0, 2.0, 9.0, 10.0, 11.0] * 2,
        "y": [100.0 * (i % 5) for i in range(6)] + [1.0, 0.0, 2.0, 2.0, 0.0, 1.0],
        "cluster": [0, 0, 0, 1, 1, 1] * 2,
        "run": ["unscaled"] * 6 + ["scaled"] * 6,
    }
)
REMARK = (
    "coordinate 2 of 2 (y) holds over 99 % of the variance within clusters, so distances say "
    "little of the other coordinates: pass the columns that were clustered on, such as scaled ones"
)


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({}, REMARK),
        ({"distance": "sqeuclidean"}, REMARK),
        ({"distance": "cityblock", "center": "median"}, REMARK),
        ({"distance": "cosine"}, MEANINGS[3]),
        ({"weights": [1.0, 2.0]}, MEANINGS[3]),
    ],
)
def test_remarks_on_unscaled_columns(engine: Engine, options: dict[str, Any], remark: str) -> None:
    given: dict[str, Any] = {"partition_by": "run", **options}
    rows = call(engine, "internal_summary", UNSCALED, ["x", "y"], "cluster", **given)
    found = {row["run"]: row["meaning"] for row in rows if row["metric"] == "n_dims"}
    assert found == {"scaled": MEANINGS[3], "unscaled": remark}


@pytest.mark.parametrize("n_rows", [200, 20_000])
def test_the_remark_is_the_finding(engine: Engine, n_rows: int) -> None:
    """A far point is no unscaled column, and long vectors have no names."""
    i, sample = pl.int_range(n_rows), {"method": "sample", "sample_size": 50}
    frame = pl.select(cluster=i % 3, v=pl.concat_list(*((i * (k + 1)).cos() for k in range(40))))
    for last, n_found in ((50 * i.sin(), 1), (pl.when(i == 0).then(1e4).otherwise(i.sin()), 0)):
        table = frame.with_columns(v=pl.concat_list("v", last))
        findings = call(engine, "internal_findings", table, "v", "cluster", **sample)
        texts = [row["finding"] for row in findings if row["code"] == "dominant_coordinate"]
        rows = call(engine, "internal_summary", table, "v", "cluster")
        remarks = [row["meaning"] for row in rows if row["metric"] == "n_dims"]
        assert len(texts) == n_found
        assert remarks == (texts or [MEANINGS[3]])


def test_a_partition_named_as_a_column_of_the_summary_is_refused() -> None:
    frame = POINTS.rename({"run": "metric"})
    with pytest.raises(ce.ClusterEvalError, match="'metric' is also a column of the result"):
        ce.internal_summary(frame, "vector", "cluster", partition_by="metric")
    rows = ce.internal_summary(POINTS.rename({"run": "n"}), "vector", "cluster", partition_by="n")
    assert rows["n"].unique().sort(nulls_last=True).to_list() == [1, 2, None]
