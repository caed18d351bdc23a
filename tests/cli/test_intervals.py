"""Intervals of the metrics: ``clustereval external --confidence``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_clustereval as ce
from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    IRIS,
    KMEANS,
    QUICK,
    RUNS,
    Fail,
    Noted,
    Run,
    values,
)
from tests.support.oracle import METRICS

if TYPE_CHECKING:
    from pathlib import Path

INTERVALS = (IRIS, *KMEANS, "--confidence", "0.9")


def expected_intervals(**options: float | str | bool) -> pl.DataFrame:
    frame = pl.read_parquet(IRIS)
    return ce.external_intervals(frame, "species", "kmeans", **options)  # type: ignore[arg-type]


def test_limits_stand_beside_the_values(run: Run, engine_name: str) -> None:
    table = run("external", *INTERVALS, "--metrics", "all", "--engine", engine_name)
    assert table.splitlines()[0].endswith("confidence 0.9")
    shown = values(table.split("\n\n       ")[0])
    for row in expected_intervals(confidence=0.9).iter_rows(named=True):
        limits = [row[name] for name in ("value", "lower", "upper")]
        texts = shown[row["metric"]]
        assert len(texts) == 3, row["metric"]
        for text, number in zip(texts, limits, strict=True):
            assert text == "NULL" if number is None else float(text) == pytest.approx(number, 1e-4)
    assert "Rand index corrected for chance" in table


@pytest.mark.parametrize("format_name", ["json", "csv", "parquet"])
@DUCKDB_AT_THE_GATE
def test_files_have_a_row_per_metric(
    run: Run, engine_name: str, format_name: str, tmp_path: Path
) -> None:
    path = tmp_path / f"intervals.{format_name}"
    given = ("--no-adjusted", "--beta", "2", "--engine", engine_name, "--output", path)
    run("external", *INTERVALS, *given)
    if format_name == "json":
        found = pl.DataFrame(json.loads(path.read_text()), infer_schema_length=None)
    else:
        found = pl.read_csv(path) if format_name == "csv" else pl.read_parquet(path)
    wanted = expected_intervals(confidence=0.9, adjusted=False, beta=2.0)
    assert_frame_equal(found, wanted, rel_tol=1e-9, abs_tol=1e-12)


def test_several_clusterings(run: Run) -> None:
    call = ("external", RUNS, "--label", "digit", "--cluster", "cluster", "--confidence", "0.95")
    runs = pl.read_parquet(RUNS)
    key = next(name for name in runs.columns if name not in ("digit", "cluster", "id"))
    keys = runs[key].unique().sort().to_list()
    table = run(*call, "--partition-by", key, *QUICK)
    assert table.count("\nmetric ") == min(5, len(keys))
    if len(keys) > 5:
        assert table.endswith(f"{len(keys) - 5} more clusterings: --format csv\n")
    rows = run(*call, "--partition-by", key, *QUICK, "--format", "csv").splitlines()
    assert len(rows) == 1 + len(METRICS) * len(keys)


def test_without_confidence_there_are_no_intervals(run: Run) -> None:
    assert "lower" not in run("external", IRIS, *KMEANS, *QUICK)


def test_no_rows(noted: Noted, tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pl.DataFrame(schema={"a": pl.Int64, "b": pl.Int64}).write_parquet(path)
    call = (path, "--label", "a", "--cluster", "b", "--confidence", "0.95")
    table, note = noted("external", *call, *QUICK)
    assert set(values(table.split("\n\n       ")[0])["purity"]) == {"NULL"}
    assert "no rows with a label and a cluster" in note


@pytest.mark.parametrize("confidence", ["0", "1", "2"])
def test_confidence_out_of_range(fail: Fail, engine_name: str, confidence: str) -> None:
    call = ("external", IRIS, *KMEANS, "--engine", engine_name, "--confidence", confidence)
    assert fail(*call).endswith(f"expected a number between 0 and 1, got {confidence}")


def test_confidence_is_a_number(fail: Fail) -> None:
    call = ("external", IRIS, *KMEANS, "--confidence", "high")
    assert "argument --confidence: invalid number value: 'high'" in fail(*call)
