"""clustereval --missing: points with a NULL coordinate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.support.command_line import assert_scores_of_points, report_of_points, report_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Run

pytestmark = pytest.mark.gate

POINTS = pl.DataFrame(
    {
        "x": [0.0, 1.0, None, 8.0, 9.0, 9.0],
        "y": [0.0, 1.0, 2.0, None, 9.0, 7.0],
        "cluster": [0, 0, 0, 1, 1, 1],
        "label": [*"aaabbb"],
    }
)
CALL = ("--vector", "x,y", "--cluster", "cluster")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    POINTS.write_csv(tmp_path / "points.csv")
    return tmp_path / "points.csv"


def test_rows_with_gaps_are_left_out(run: Run, engine_name: str, path: Path) -> None:
    flags = (*CALL, "--missing", "drop", "--engine", engine_name)
    expected = report_of_points(POINTS, ["x", "y"], missing="drop")
    assert (expected[0]["n"], expected[0]["n_dropped"]) == (4, 2)
    assert_scores_of_points(report_rows(run, path, *flags, of="internal"), expected)


def test_the_error_names_the_option(fail: Fail, engine_name: str, path: Path) -> None:
    counts = "2 rows are at fault: 1 in column x, 1 in column y"
    assert fail("internal", path, *CALL, "--engine", engine_name) == (
        f"{path}: vector: expected finite numbers, got NULL in column x ({counts}); fix these "
        "rows or leave them out: --missing drop"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_code_where_no_option_helps(
    fail: Fail, engine_name: str, tmp_path: Path, value: float
) -> None:
    """The functions show code that leaves out such rows, of SQL or of Python."""
    path = tmp_path / "points.parquet"
    POINTS.drop_nulls().with_columns(y=value).write_parquet(path)
    assert fail("internal", path, *CALL, "--engine", engine_name) == (
        f"{path}: vector: expected finite numbers, got {value} in column y (4 rows are at fault); "
        "fix these rows or leave them out"
    )


def test_another_word(fail: Fail, engine_name: str, path: Path) -> None:
    error = fail("internal", path, *CALL, "--missing", "skip", "--engine", engine_name)
    assert error.endswith("missing: expected one of 'error', 'drop', got 'skip'")


def test_the_page(run: Run, path: Path) -> None:
    page = run("report", path, *CALL, "--label", "label", "--missing", "drop")
    assert "2 rows (33 %) have no vector or no cluster, and are left out" in page
    assert '["x", "y"], "cluster", missing := \'drop\')' in page


def test_a_query(run: Run) -> None:
    call = ("sql", "centroids", "--dialect", "duckdb", "--tbl", "t", *CALL)
    assert "WHEN y IS NULL" not in run(*call)
    assert "WHEN y IS NULL" in run(*call, "--missing", "drop")
