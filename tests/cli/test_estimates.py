"""The warning before a report that will take more than ten seconds, and what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.base.growth import ASSIGNMENT, PAIRS_OF_RUNS, estimate_seconds
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.cli import commands, estimates, main
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.kernels.measured_pairs import count_pairs
from tests.support.command_line import CALLS, FLOWERS, IRIS, KMEANS, VARIANT_CALLS, WIDE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Noted, Run


COLUMNS = "revenue,orders,age"


@pytest.fixture(scope="module")
def customers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8,000 points with heavy tails, in clusters of equal sizes, by values and at random."""
    rng = np.random.default_rng(6)
    revenue = 20 + 100 * rng.pareto(1.2, 8000)
    frame = pl.DataFrame(
        {
            "revenue": revenue,
            "orders": np.ceil(rng.lognormal(1, 1.1, 8000)),
            "age": rng.integers(18, 90, 8000),
            "quantile": np.argsort(np.argsort(revenue)) // 2000,
            "value": np.digitize(revenue, [300.0, 5000.0]),
            "many": rng.integers(0, 50, 8000),
        }
    )
    path = tmp_path_factory.mktemp("customers") / "customers.parquet"
    frame.write_parquet(path)
    return path


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


def seconds_of(table: str, n_pairs: int, d: int, engine: str = "polars") -> float:
    """The seconds of a number of pairs of d coordinates, by the rates of the first distance."""
    each, per_coordinate = declared_tables()[table].growth[0].pair_seconds[engine]
    return n_pairs * (each + per_coordinate * d) / 1e9


def count_exactly(frame: pl.DataFrame, vector: Any, cluster: str = "kmeans", **options: Any) -> int:
    """The pairs whose distances an exact silhouette computes."""
    with count_pairs() as counts:
        ce.silhouette_score(frame, vector, cluster, **options)
    return sum(counts)


def test_a_report_of_few_rows_has_no_warning(run: Run) -> None:
    run("silhouette", *CALLS["silhouette"])
    run("matching", *CALLS["matching"])


def test_the_warning_says_the_time_and_what_is_faster(
    noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the time of the pairs as limit there is none, below there is."""
    n_pairs = count_exactly(pl.read_parquet(IRIS), WIDE.split(","))
    seconds = seconds_of("silhouette_score", n_pairs, 4, "duckdb")
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
    points = frame, WIDE.split(",")
    pairs = [count_exactly(*points), count_exactly(*points, partition_by="species")]
    assert pairs[1] < pairs[0] / 2
    assert estimated == [pytest.approx(seconds_of("silhouette_score", x, 4)) for x in pairs]


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
    n_pairs = count_exactly(frame.drop_nulls(), "v", "c")
    assert estimated == [pytest.approx(seconds_of("silhouette_score", n_pairs, 3))] * 2


def test_labels_clusters_and_runs_are_counted(noted: Noted, estimated: list[float]) -> None:
    noted("matching", IRIS, *KMEANS, "--engine", "polars")
    noted("stability", *VARIANT_CALLS["stability"], "--engine", "polars")
    runs = pl.read_parquet(VARIANT_CALLS["stability"][0])
    sizes = {"n": runs.height, "r": runs["run"].n_unique()}
    assert estimated == [
        pytest.approx(estimate_seconds(ASSIGNMENT[0], "polars", 3**3)),
        pytest.approx(estimate_seconds(PAIRS_OF_RUNS[0], "polars", sizes["n"] * sizes["r"])),
    ]


def test_each_number_of_clusters_of_a_sweep_is_estimated(
    noted: Noted, estimated: list[float]
) -> None:
    noted("elbow", *CALLS["elbow"], "--silhouette", "exact", "--engine", "polars")
    frame = pl.read_parquet(CALLS["elbow"][0])
    n_pairs = count_exactly(frame, WIDE.split(","), partition_by="k")
    assert estimated == [pytest.approx(seconds_of("elbow", n_pairs, 4), rel=0.1)]


def test_what_is_refused_or_falls_into_parts_has_no_estimate(
    run: Run, estimated: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = ASSIGNMENT[0]._replace(most=26.0)
    monkeypatch.setattr(estimates, "growth_of", lambda *_: limited)
    run("matching", IRIS, *KMEANS, "--engine", "polars")
    assert not estimated


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop each report before it is computed."""

    def stop(*_: Any) -> None:
        raise ClusterEvalError("the report begins")

    for name in commands.ENGINES:
        monkeypatch.setitem(commands.ENGINES, name, stop)


@pytest.mark.usefixtures("estimated", "stopped")
@pytest.mark.parametrize("command", ["silhouette", "samples", "findings"])
def test_the_warning_comes_first(capfd: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, IRIS, *FLOWERS]) == 2
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
    n_pairs = count_exactly(pl.read_parquet(IRIS), WIDE.split(","))
    assert estimated == [pytest.approx(seconds_of("silhouette_samples", n_pairs, 4))]


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("by", ["quantile", "value"])
def test_pairs_of_heavy_tails_are_counted(customers: Path, estimated: list[float], by: str) -> None:
    """No bounds exclude what is needed: the rate for each row² would be a tenth of this."""
    main(["silhouette", str(customers), "--vector", COLUMNS, "--cluster", by])
    n_pairs = count_exactly(pl.read_parquet(customers), COLUMNS.split(","), by)
    assert n_pairs > 0.35 * 8000**2
    assert estimated == [pytest.approx(seconds_of("silhouette_score", n_pairs, 3), rel=0.2)]


@pytest.mark.usefixtures("stopped")
def test_bounds_that_exclude_clusters_are_counted(tmp_path: Path, estimated: list[float]) -> None:
    """Of 40 clusters far from each other, each point needs its own and one more."""
    rng = np.random.default_rng(7)
    cluster = np.arange(8000) % 40
    x = 10.0 * cluster + rng.normal(size=8000)
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"x": x, "cluster": cluster}).write_parquet(path)
    main(["silhouette", str(path), "--vector", "x", "--cluster", "cluster"])
    share = seconds_of("silhouette_score", 8000**2, 1)
    assert 1 / 40 <= estimated[0] / share <= 2.5 / 40


@pytest.mark.parametrize(
    ("cluster", "is_faster"), [("value", True), ("many", False)], ids=["few", "many"]
)
def test_a_sample_is_told_of_references_if_they_are_faster(
    customers: Path,
    noted: Noted,
    monkeypatch: pytest.MonkeyPatch,
    cluster: str,
    is_faster: bool,
) -> None:
    """Of 3 clusters, 1,000 references each are fewer than 8,000 points; of 50, they are all."""
    monkeypatch.setattr(estimates, "LONG_WITHOUT_REFERENCES", 0.0)
    monkeypatch.setattr(estimates, "REFERENCE_SIZE", 300)
    call = ("silhouette", customers, "--vector", COLUMNS, "--cluster", cluster)
    sample = ("--method", "sample", "--sample-size", "20")
    _, notes = noted(*call, *sample)
    words = "the time grows with sampled rows x rows x coordinates; faster: --reference-size 1000\n"
    assert (words in notes) == is_faster
    assert noted(*call, *sample, "--reference-size", "300")[1].count("\n") == 1
