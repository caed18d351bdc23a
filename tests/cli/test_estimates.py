"""The warning before a report that will take more than a minute, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from polars_clustereval.base.growth import ASSIGNMENT, estimate_seconds
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.cli import commands, estimates, main
from polars_clustereval.errors import ClusterEvalError
from tests.support.command_line import CALLS, FLOWERS, IRIS, KMEANS, VARIANT_CALLS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Noted, Run


@pytest.fixture
def estimated(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each estimate, of which all are worth a warning."""
    found: list[float] = []

    def keep(seconds: float) -> str:
        found.append(seconds)
        return "long"

    monkeypatch.setattr(estimates, "LONG", 0.0)
    monkeypatch.setattr(estimates, "describe_seconds", keep)
    return found


def seconds_of(table: str, place: int = 0, engine: str = "polars", **sizes: float) -> float:
    return estimate_seconds(declared_tables()[table].growth[place], engine, sizes)


def test_a_report_of_few_rows_has_no_warning(run: Run) -> None:
    run("silhouette", *CALLS["silhouette"])
    run("matching", *CALLS["matching"])


def test_the_warning_says_the_time_and_what_is_faster(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """150 rows of 4 coordinates are 9e-5 × 10^9: with that limit there is none, below there is."""
    seconds = seconds_of("silhouette_score", engine="duckdb", n=150, d=4)
    call = ("silhouette", *CALLS["silhouette"], "--engine", "duckdb")
    monkeypatch.setattr(estimates, "LONG", seconds * 1.01)
    assert noted(*call)[1] == ""
    monkeypatch.setattr(estimates, "LONG", seconds * 0.99)
    assert noted(*call)[1] == (
        "clustereval: 150 rows: this will take about 1 seconds; the time grows with rows^2 x "
        "coordinates; faster: --method sample --sample-size 2000, or --engine polars\n"
    )


def test_what_is_cheap_has_no_warning(run: Run, estimated: list[float]) -> None:
    call = ("silhouette", *CALLS["silhouette"], "--engine", "polars")
    run(*call, "--method", "simplified")
    run(*call, "--distance", "cosine")
    run("external", *CALLS["external"])
    assert not estimated


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_partitions_are_estimated_one_by_one(
    noted: Noted, estimated: list[float], tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"rows.{ending}"
    frame = pl.read_parquet(IRIS)
    write = {"parquet": frame.write_parquet, "csv": frame.write_csv, "arrow": frame.write_ipc}
    write[ending](path)
    call = ("silhouette", path, *FLOWERS, "--engine", "polars")
    noted(*call)
    noted(*call, "--partition-by", "species")
    assert estimated == [
        pytest.approx(seconds_of("silhouette_score", n=150, d=4)),
        pytest.approx(3 * seconds_of("silhouette_score", n=50, d=4)),
    ]


def test_lists_and_text_have_their_coordinates_counted(
    noted: Noted, estimated: list[float], tmp_path: Path
) -> None:
    frame = pl.DataFrame({"v": [None, *[[0.0, 1.0, float(i)] for i in range(5)]]})
    frame = frame.with_columns(c=pl.Series([0, 0, 0, 1, 1, 1]))
    frame.write_parquet(tmp_path / "rows.parquet")
    as_text = pl.format("[{}]", pl.col("v").cast(pl.List(pl.String)).list.join(","))
    frame.with_columns(v=as_text).write_csv(tmp_path / "rows.csv")
    for name in ("rows.parquet", "rows.csv"):
        noted(
            "silhouette", tmp_path / name, "--vector", "v", "--cluster", "c", "--engine", "polars"
        )
    assert estimated == [pytest.approx(seconds_of("silhouette_score", n=6, d=3))] * 2


def test_labels_clusters_and_runs_are_counted(noted: Noted, estimated: list[float]) -> None:
    noted("matching", IRIS, *KMEANS, "--engine", "polars")
    noted("stability", *VARIANT_CALLS["stability"], "--engine", "polars")
    runs = pl.read_parquet(VARIANT_CALLS["stability"][0])
    sizes = {"n": runs.height, "r": runs["run"].n_unique()}
    assert estimated == [
        pytest.approx(seconds_of("matching_report", l=3, k=3)),
        pytest.approx(seconds_of("run_consensus", **sizes)),
    ]


def test_each_number_of_clusters_of_a_sweep_is_estimated(
    noted: Noted, estimated: list[float]
) -> None:
    noted("elbow", *CALLS["elbow"], "--silhouette", "exact", "--engine", "polars")
    sizes = pl.read_parquet(CALLS["elbow"][0]).group_by("k").len()["len"]
    assert estimated == [pytest.approx(sum(seconds_of("elbow", n=n, d=4) for n in sizes))]


def test_what_is_refused_or_falls_into_parts_has_no_estimate(
    run: Run, estimated: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = ASSIGNMENT[0]._replace(most=26.0)
    monkeypatch.setattr(estimates, "growth_of", lambda *_: limited)
    run("matching", IRIS, *KMEANS, "--engine", "polars")
    assert not estimated


@pytest.mark.usefixtures("estimated")
def test_the_warning_comes_first(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise ClusterEvalError("the report begins")

    monkeypatch.setitem(commands.ENGINES, "polars", stop)
    assert main(["silhouette", *CALLS["silhouette"], "--engine", "polars"]) == 2
    warning, end = capfd.readouterr().err.splitlines()
    assert "this will take about long" in warning
    assert end.endswith("the report begins")


def test_an_error_of_the_input_comes_from_the_report(fail: Fail, estimated: list[float]) -> None:
    error = fail("silhouette", IRIS, "--vector", "nope", "--cluster", "kmeans")
    assert "nope" in error
    assert len(error.splitlines()) == 1
    assert not estimated


def test_a_page_that_insists_on_exact_silhouettes_has_a_warning(
    noted: Noted, estimated: list[float]
) -> None:
    _, notes = noted("report", IRIS, *FLOWERS, "--method", "exact", "--engine", "polars")
    assert "this will take about long" in notes
    assert estimated == [pytest.approx(seconds_of("silhouette_samples", n=150, d=4))]
