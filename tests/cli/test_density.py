"""The command density, whose tables have no SQL."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.cli import estimates
from polars_clustereval.cli.reports import COMMANDS
from tests.support.command_line import FLOWERS, IRIS, WIDE, Fail, Noted, Run, json_rows, near_rows

if TYPE_CHECKING:
    from pathlib import Path

CALL = ("density", IRIS, *FLOWERS)
FRAME = pl.read_parquet(IRIS)
VECTOR = WIDE.split(",")


@pytest.mark.gate
@pytest.mark.parametrize(
    ("given", "options"),
    [
        ((), {}),
        (("--id", "id", "--distance", "sqeuclidean"), {"id": "id", "distance": "sqeuclidean"}),
        (("--noise", "1", "--noise-as", "drop"), {"noise": 1, "noise_as": "drop"}),
        (("--noise", "1", "--noise-as", "singletons"), {"noise": 1, "noise_as": "singletons"}),
        (("--weights", "1,2,3,4"), {"weights": [1, 2, 3, 4]}),
        (("--partition-by", "species"), {"partition_by": "species"}),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, tuple) else "",
)
def test_the_rows_are_those_of_the_functions(
    run: Run, given: tuple[str, ...], options: dict[str, object]
) -> None:
    [row, *_] = rows = json_rows(run, *CALL, *given)
    wanted = ce.density_based_validity(FRAME, VECTOR, "kmeans", **options)
    assert rows == near_rows(wanted.rows(named=True))
    assert list(row) == wanted.columns
    clusters = json_rows(run, *CALL, "--show", "clusters", *given)
    wanted = ce.density_based_validity_clusters(FRAME, VECTOR, "kmeans", **options)
    wanted = wanted.sort("validity", nulls_last=True, maintain_order=True)
    assert clusters == near_rows(wanted.rows(named=True))


def test_the_tables(run: Run) -> None:
    for report in COMMANDS["density"]:
        table = run(*CALL, "--show", report.variant or report.show)
        assert table.startswith(f"{IRIS}: cluster kmeans, distance euclidean\nvector {WIDE}\n")
        for name in report.function(FRAME, VECTOR, "kmeans").columns:
            assert name in table
            assert report.meanings[name].text in table


def test_one_score_is_computed(run: Run) -> None:
    [row] = json_rows(run, *CALL, "--metrics", "density_based_validity")
    assert list(row) == ["density_based_validity"]


def test_duckdb_cannot_compute_it(fail: Fail) -> None:
    for show in ("scores", "clusters"):
        error = fail(*CALL, "--show", show, "--engine", "duckdb")
        words = (
            "--engine duckdb cannot be combined with the command density, which has no SQL macro"
        )
        assert error == f"{words}: drop --engine"


def test_no_engine_is_to_be_chosen(noted: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "engine" not in noted(*CALL)[1]


@pytest.mark.parametrize(
    ("clusters", "note"),
    [
        ([0, 0, 0, 0, -1], "cluster -1 is counted as a cluster; if it is noise, give --noise -1"),
        ([0, 0, 0, 0, 0], "there is one cluster"),
        ([0, 1, 2, 3, 4], "each of the 5 points is a cluster of its own"),
        ([None] * 5, "5 of 5 rows have no vector or no cluster, and are left out\n"),
        ([0, 0, None, None, 1], "2 of 5 rows have no vector or no cluster, and are left out"),
    ],
)
def test_doubts(noted: Noted, tmp_path: Path, clusters: list[int | None], note: str) -> None:
    """A score is NULL, and its counts tell why."""
    path = tmp_path / "points.parquet"
    frame = pl.DataFrame({"x": [0.0, 1, 2, 5, 9], "y": [0.0, 3, 1, 4, 2], "c": clusters})
    frame.with_columns(pl.col("c").cast(pl.Int64)).write_parquet(path)
    out, err = noted("density", path, "--vector", "x,y", "--cluster", "c", "--format", "csv")
    assert out.splitlines()[1].endswith(",")
    assert note in err


@pytest.mark.gate
def test_the_time_is_estimated(
    noted: Noted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two partitions of 20 points in two clusters: 2 x 20 x 10 x 4 coordinates."""
    path = tmp_path / "points.parquet"
    rows = FRAME.head(40).with_columns(c=pl.int_range(40) % 2, part=pl.int_range(40) // 20)
    rows.write_parquet(path)
    monkeypatch.setattr(estimates, "LONG", 0.0)
    monkeypatch.setattr(estimates, "estimate_seconds", lambda _growth, _engine, work, **_: work)
    call = ("density", path, "--vector", WIDE, "--cluster", "c", "--partition-by", "part")
    grows = "the time grows with rows x rows per cluster x coordinates"
    for show in ("scores", "clusters"):
        assert (
            f"40 rows: this will take about 30 minutes; {grows}\n"
            in noted(*call, "--show", show)[1]
        )
