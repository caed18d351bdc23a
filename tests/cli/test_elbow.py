"""clustereval elbow: the table of a sweep, and below it what the criteria recommend."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.command_line import (
    CALLS,
    DUCKDB_AT_THE_GATE,
    QUICK,
    SWEEP,
    WIDE,
    Run,
    report_rows,
)
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from pathlib import Path

CALL = ("elbow", *CALLS["elbow"])


@pytest.mark.parametrize(
    ("engine_name", "silhouette"),
    [
        *(("polars", "none"), ("polars", "simplified"), ("polars", "exact")),
        ("duckdb", "simplified"),
        *(pytest.param("duckdb", way, marks=pytest.mark.gate) for way in ("none", "exact")),
    ],
    indirect=["engine_name"],
)
def test_the_table_is_elbow(run: Run, engine_name: str, silhouette: str) -> None:
    rows = report_rows(
        run, *CALLS["elbow"], "--silhouette", silhouette, "--engine", engine_name, of="elbow"
    )
    frame = pl.read_parquet(SWEEP)
    expected = ce.elbow(frame, WIDE.split(","), "kmeans", "k", silhouette=silhouette)  # type: ignore[arg-type]
    assert len(rows) == 10
    assert_points(rows, expected.rows(named=True), tolerance=1e-9)


@DUCKDB_AT_THE_GATE
def test_recommendations_are_below_the_table(run: Run, engine_name: str) -> None:
    table = run(*CALL, "--engine", engine_name)
    assert re.search(r"^ *3 +150 +3 .* true$", table, re.MULTILINE)
    found = dict(re.findall(r"^(\w+) +(\d+|NULL) +(?:\d+|NULL)\b", table, re.MULTILINE))
    choices = ce.choose_k(ce.elbow(pl.read_parquet(SWEEP), WIDE.split(","), "kmeans", "k"))
    wanted = {
        name: "NULL" if k is None else str(k)
        for name, k in choices.rows_by_key("criterion", named=False, unique=True).items()
        for k in [k[0]]
    }
    assert found.items() >= wanted.items()


def test_a_criterion_without_a_recommendation_says_why(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    pl.read_parquet(SWEEP).filter(pl.col("k") < 3).write_parquet(path)
    table = run("elbow", path, *CALLS["elbow"][1:], *QUICK)
    assert re.search(r"^kneedle +NULL +NULL +NULL +first knee: no value$", table, re.MULTILINE)
    assert re.search(r"^hartigan_index .* <= 10: no value <= 10$", table, re.MULTILINE)


@DUCKDB_AT_THE_GATE
def test_partitions_and_text(run: Run, engine_name: str, tmp_path: Path) -> None:
    """In a CSV file k is a number, and a partition is text."""
    path = tmp_path / "sweep.csv"
    frame = pl.read_parquet(SWEEP)
    both = pl.concat([frame.with_columns(run=pl.lit(run)) for run in ("a", "b")])
    both.write_csv(path)
    call = (path, *CALLS["elbow"][1:], "--partition-by", "run", "--engine", engine_name)
    rows = report_rows(run, *call, of="elbow")
    assert [(row["run"], row["k"]) for row in rows] == [(r, k) for r in "ab" for k in range(1, 11)]
    table = run("elbow", *call)
    assert re.search(r"^b +kneedle +3 ", table, re.MULTILINE) or "more rows" in table


def test_a_bad_k(fail: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "sweep.parquet"
    pl.read_parquet(SWEEP).with_columns(k=pl.col("k") - 1).write_parquet(path)
    error = fail("elbow", path, *CALLS["elbow"][1:], "--engine", engine_name)
    assert "k: expected whole numbers >= 1, got 0; k is the number of clusters" in error
    error = fail(*CALL, "--silhouette", "bounds", *QUICK)
    assert "silhouette: expected one of 'none', 'simplified', 'exact', got 'bounds'" in error
