"""The command compare: several clusterings in the columns of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.command_line import IRIS, Fail, Noted, Run, report_rows

if TYPE_CHECKING:
    from pathlib import Path

RUNS = ["kmeans", "agglomerative", "kmeans2", "single_linkage"]
VECTOR = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
FRAME = pl.read_parquet(IRIS)
CALL = (IRIS, "--clusters", ",".join(RUNS))


def test_the_rows_are_those_of_the_function(run: Run, engine_name: str) -> None:
    options = ("--label", "species", "--vector", ",".join(VECTOR), "--engine", engine_name)
    rows = report_rows(run, *CALL, *options, of="compare")
    wanted = ce.compare_clusterings(FRAME, RUNS, "species", VECTOR).rows(named=True)
    assert [row["clustering"] for row in rows] == [row["clustering"] for row in wanted]
    for row, other in zip(rows, wanted, strict=True):
        for name in ("adjusted_rand_score", "adjusted_rand_score_lower", "davies_bouldin_score"):
            assert row[name] == (other[name] and pytest.approx(other[name], rel=1e-9))
        assert row["remark"] == other["remark"]


@pytest.mark.gate
def test_runs_in_the_long_form(run: Run, engine_name: str) -> None:
    path = "examples/digits_runs.parquet"
    given = ("--label", "digit", "--clusters", "cluster", "--id", "id", "--run", "run")
    text = run("compare", path, *given, "--engine", engine_name)
    assert "label digit, clusters cluster, confidence 0.95\nid id, run run\n" in text
    shown = [line.split()[0] for line in text.splitlines() if line.startswith("k")]
    frame = pl.read_parquet(path)
    wanted = ce.compare_clusterings(frame, "cluster", "digit", id="id", run="run")
    assert shown[:20] == wanted["clustering"].to_list()


@pytest.mark.gate
def test_the_table_has_only_columns_with_values_and_remarks_below(
    noted: Noted, tmp_path: Path
) -> None:
    """Scores of points are missing without vectors, and remarks are sentences."""
    rows = FRAME.with_columns(kmeans=pl.when(pl.col("kmeans") != 1).then("kmeans").otherwise(-1))
    path = tmp_path / "iris.parquet"
    rows.write_parquet(path)
    given = ("--label", "species", "--noise=-1", "--noise-as", "drop")
    text, notes = noted("compare", path, *CALL[1:], *given)
    heading, table = text.split("\n\n")[:2]
    assert heading.endswith(
        "label species, clusters kmeans,agglomerative,kmeans2,single_linkage, confidence 0.95"
    )
    wanted = ce.compare_clusterings(rows, RUNS, "species", noise=-1, noise_as="drop")
    shown = [line.split()[0] for line in table.splitlines()[-4:]]
    assert shown == wanted["clustering"].to_list()
    assert "silhouette" not in text
    assert "remark" not in table
    remarks = wanted.drop_nulls("remark").select("clustering", "remark").rows()
    assert remarks
    assert all(f"\n{name}: {remark}\n" in text for name, remark in remarks)
    assert notes == ""


@pytest.mark.gate
def test_noise_that_is_not_named(noted: Noted, tmp_path: Path) -> None:
    path = tmp_path / "iris.parquet"
    FRAME.with_columns(kmeans2=pl.col("kmeans2") - 1).write_parquet(path)
    _, notes = noted("compare", path, *CALL[1:], "--label", "species")
    assert "cluster -1 is counted as a cluster; if it is noise, give --noise -1" in notes
    options = ("--label", "species", "--noise", "77", "--noise-as", "drop")
    _, notes = noted("compare", *CALL, *options)
    assert "no row has cluster 77; the clusters are 0, 1, 2" in notes


def test_errors(fail: Fail) -> None:
    assert "got neither" in fail("compare", *CALL)
    words = fail("compare", IRIS, "--clusters", "kmeans,kmenas2", "--label", "species")
    assert "clusters: column 'kmenas2' not found; did you mean 'kmeans2'" in words
    words = fail("external", IRIS, "--label", "species", "--cluster", "kmeans,kmeans2")
    assert "compare --clusters kmeans,kmeans2 compares several clusterings" in words
