"""Options of `clustereval report` and `findings`: columns, ids, partitions, types and noise."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.command_line import IRIS, KMEANS, QUICK, WIDE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Run

pytestmark = pytest.mark.gate

CARS = IRIS.replace("iris", "cars")
PARTITIONS = ("--partition-by", "region")


# ----------------------------------------------------------------------------------------------
# Columns that describe clusters, and points to look at
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", [(), ("--vector", "horsepower,weight")])
def test_columns_of_any_type_describe_clusters(run: Run, points: tuple[str, ...]) -> None:
    call = ("report", CARS, "--label", "origin", "--cluster", "cluster", *points, *QUICK)
    assert points or "What distinguishes each cluster" not in run(*call)
    page = run(*call, "--columns", "cylinders,origin")
    words = page.split("## What distinguishes each cluster")[1].split("## ")[0]
    assert "origin USA in 70 % (elsewhere 58 %; v 2.5)" in words
    assert ("weight high" in words) == bool(points)


def test_a_cluster_that_nothing_distinguishes(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame({"x": [1.0, 2, 1, 2], "y": [0.0, 9, 0, 9], "cluster": [0, 0, 1, 1]})
    frame.write_parquet(path)
    page = run("report", path, "--vector", "x,y", "--cluster", "cluster", *QUICK)
    assert "- **Cluster 0**: nothing: no column differs by a v-test of 2 or more" in page


@pytest.mark.parametrize("kind", ["md", "html"])
@pytest.mark.parametrize("method", [(), ("--method", "sample", "--sample-size", "150")])
def test_points_of_the_lowest_silhouettes(
    run: Run, tmp_path: Path, kind: str, method: tuple[str, ...]
) -> None:
    path = tmp_path / f"page.{kind}"
    output = ("--html" if kind == "html" else "--output", path)
    call = ("--vector", WIDE, "--cluster", "kmeans", "--id", "id", *method, *QUICK)
    run("report", IRIS, *call, *output)
    page = path.read_text(encoding="utf-8")
    text = page.split("Points of the lowest silhouettes")[1]
    cell = r"^\| (\d+) \| (\d) \| (\d) \| (-?[\d.]+) \|$"
    if kind == "html":
        cell = r"<td>(\d+)</td><td>(\d)</td><td>(\d)</td><td class=\"number\"[^>]*>(-?[\d.]+)</td>"
    found = re.findall(cell, text.split("SQL")[0], re.MULTILINE)
    samples = ce.silhouette_samples(pl.read_parquet(IRIS), WIDE.split(","), "kmeans", id="id").sort(
        "silhouette"
    )
    wanted = samples.head(20).select("id", "cluster", "neighbor", "silhouette")
    assert [int(row[0]) for row in found] == wanted["id"].to_list()
    assert [int(row[2]) for row in found] == wanted["neighbor"].to_list()
    assert [float(row[3]) for row in found] == pytest.approx(
        wanted["silhouette"].to_list(), rel=5e-3
    )
    assert "clustereval.silhouette_samples(" in page


def test_an_id_without_points(fail: Fail) -> None:
    words = "report: --id names points with low silhouettes, so it needs --vector, the points"
    assert words in fail("report", IRIS, *KMEANS, "--id", "id")


def test_partitions_without_labels_or_without_rows(run: Run, tmp_path: Path) -> None:
    """Region r0 has no label, r1 no cluster, r2 and r3 have both."""
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame(
        {
            "region": [f"r{i // 6}" for i in range(24)],
            "x": [0.0, 1, 2, 7, 8, 9] * 4,
            "label": [None] * 6 + ["a", "a", "a", "b", "b", "b"] * 3,
            "cluster": [0, 0, 0, 1, 1, 1] + [None] * 6 + [0, 0, 0, 1, 1, 1] + [0, 1] * 3,
        }
    )
    frame.write_parquet(path)
    columns = ("--vector", "x", "--label", "label", "--cluster", "cluster")
    page = run("report", path, *columns, *PARTITIONS, *QUICK)
    words = "1 partition has no row that can be scored: look for lost labels, clusters or vectors."
    assert f"- ⚠ {words}" in page
    words = "1 partition has no row with a label or none with a vector, and no section below."
    assert f"- ⚠ {words}" in page
    rows = re.findall(r"^\| region (\w+) \| (\d+) \| (\d) \|", page, re.MULTILINE)
    assert rows == [("r3", "6", "2"), ("r2", "6", "2"), ("r0", "6", "2"), ("r1", "0", "0")]
    assert re.findall(r"^## region (\w+)$", page, re.MULTILINE) == ["r3", "r2"]
    points = run("report", path, *columns[:2], *columns[4:], *PARTITIONS, *QUICK)
    assert "## Partitions, the worst first by silhouette" in points
    assert re.findall(r"^## region (\w+)$", points, re.MULTILINE)[0] == "r3"


@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["0", "1", "2"]), pl.Duration("us")])
def test_findings_of_clusters_that_the_engines_read_as_different_types(
    run: Run, tmp_path: Path, dtype: pl.DataType
) -> None:
    path = tmp_path / "points.parquet"
    x = [0.0, 1.0, 2.0, 7.0, 8.0, 9.0]
    frame = pl.DataFrame({"x": x, "y": x[::-1], "cluster": [0, 0, 0, 1, 1, 1]})
    text = isinstance(dtype, pl.Enum) or dtype == pl.Categorical
    cluster = pl.col("cluster").cast(pl.String) if text else pl.col("cluster")
    frame.with_columns(cluster.cast(dtype)).write_parquet(path)
    page = run("report", path, "--vector", "x,y", "--cluster", "cluster")
    assert "## Findings" in page


@pytest.mark.parametrize("option", [("--distance", "cosine"), ("--p", "3"), ("--id", "id")])
def test_options_of_the_other_findings(fail: Fail, option: tuple[str, str]) -> None:
    words = f"{option[0]} cannot be combined with --label species: drop one"
    assert words in fail("findings", IRIS, *KMEANS, *option)


def test_noise_has_no_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame(
        {
            "x": [0.0, 9, 0, 9, 1, 8, 4, 5],
            "y": [0.0, 9, 1, 8, 0, 9, 4, 5],
            "label": list("aabbabzz"),
            "cluster": [0, 0, 1, 1, 0, 1, -1, -1],
        }
    )
    frame.write_parquet(path)
    noise = ("--noise", "-1", "--noise-as", "singletons")
    page = run(
        "report", path, "--vector", "x,y", "--label", "label", "--cluster", "cluster", *noise
    )
    assert "None" not in page.split("## Scores")[0]
    assert "are in the cluster that has the most: noise" in page
    assert "not in cluster" not in page


@pytest.mark.parametrize("options", [(), ("--method", "simplified")])
def test_silhouettes_of_the_overview(run: Run, tmp_path: Path, options: tuple[str, str]) -> None:
    """Clusters of different sizes: the mean is over points."""
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame(
        {
            "region": ["a"] * 9 + ["b"] * 9,
            "x": [0.0, 1, 2, 2.5, 3, 3.5, 5, 8, 9, 0, 1, 4, 5, 5.5, 6, 6.5, 7, 30],
            "cluster": [0] * 7 + [1, 1] + [0, 0] + [1] * 6 + [2],
        }
    )
    frame.write_parquet(path)
    call = ("--vector", "x", "--cluster", "cluster", *PARTITIONS, *options, *QUICK)
    page = run("report", path, *call)
    found = dict(re.findall(r"^\| region (\w) \| 9 \| \d \| (-?[\d.]+) \|", page, re.MULTILINE))
    scores = ce.silhouette_score(
        frame, ["x"], "cluster", partition_by="region", method=options[1] if options else "exact"
    )
    bounds = run("report", path, *call, "--method", "bounds")
    assert "## Partitions, the worst first by explained variance" in bounds
    for region, silhouette in scores.select("region", "silhouette").iter_rows():
        assert float(found[region]) == pytest.approx(silhouette, abs=5e-4)


def test_columns_of_a_csv_file_with_large_numbers_and_time_zones(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = ["id,seen,cluster"]
    lines += [f"{10**20 + i * 10**18},2024-01-{1 + i:02} 10:00:00+02,{i // 3}" for i in range(6)]
    path.write_text("\n".join(lines), encoding="utf-8")
    call = ("--columns", "id,seen", "--cluster", "cluster", "--format", "json", *QUICK)
    rows = json.loads(run("profile", path, *call))
    assert {(row["column_name"], row["kind"]) for row in rows} == {
        ("id", "number"),
        ("seen", "date"),
    }
