"""Tables of many clusterings, of many rows for each, and of none."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

from polars_clustereval.cli import main
from tests.support.command_line import (
    CALLS,
    CLUSTER,
    DIGITS,
    DUCKDB_AT_THE_GATE,
    FLOWERS,
    IRIS,
    KMEANS,
    QUICK,
    RUNS,
    SCORES,
    Noted,
    Run,
    report_rows,
    values,
)

if TYPE_CHECKING:
    from pathlib import Path


@DUCKDB_AT_THE_GATE
def test_many_partitions_of_points_are_sorted(
    run: Run, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    arguments = ("--vector", "pixels", "--cluster", "kmeans", "--partition-by", "digit")
    table = run("internal", DIGITS, *arguments, "--engine", engine_name)
    lines = re.findall(r"^(\d) +(\d+) +(\d+) +(\d\.\d+)", table, re.MULTILINE)
    rows = report_rows(run, DIGITS, *arguments, "--engine", engine_name, of="internal")
    rows.sort(key=lambda row: -row["explained_variance"])  # type: ignore[operator]
    assert lines == [
        (
            str(row["digit"]),
            str(row["n"]),
            str(row["n_clusters"]),
            f"{row['explained_variance']:.6f}",
        )
        for row in rows
    ]
    assert len(lines) == 10
    assert "* best of its column; all 23 columns: --format csv" in table
    name = "davies_bouldin_score"
    table = run("internal", DIGITS, *arguments, "--engine", engine_name, "--metrics", name)
    lowest = min(rows, key=lambda row: row[name])  # type: ignore[type-var]
    [marked] = re.findall(r"^(\d) .* (\S+)\*", table, re.MULTILINE)
    assert marked == (str(lowest["digit"]), f"{lowest[name]:.6f}")


@DUCKDB_AT_THE_GATE
def test_many_partitions_are_sorted_and_the_best_is_marked(run: Run, engine_name: str) -> None:
    arguments = (RUNS, *CLUSTER, "--partition-by", "k,seed", "--engine", engine_name)
    table = run("external", *arguments)
    lines = re.findall(r"^(\d+) +(\d) +1797 +(\d+) +(\S+)", table, re.MULTILINE)
    rows = report_rows(run, *arguments)
    rows.sort(key=lambda row: -row["adjusted_rand_score"])  # type: ignore[operator]
    texts = [f"{row['adjusted_rand_score']:.6f}" for row in rows]
    assert lines == [
        (str(row["k"]), str(row["seed"]), str(row["n_clusters"]), text + "*" * (i == 0))
        for i, (row, text) in enumerate(zip(rows, texts, strict=True))
    ]
    assert len(lines) == 20
    assert lines[0][:2] == ("12", "3")
    # One value in each column of scores.
    assert table.split("best  meaning")[0].count("*") == 10
    meaning = "Rand index corrected for chance: 0 if random"
    assert re.search(rf"^adjusted_rand_score +↑ +1  {meaning}$", table, re.MULTILINE)
    assert f"all {len(rows[0].keys() - {'k', 'seed'})} columns: --format csv" in table


def test_a_low_score_that_is_best_comes_first(run: Run) -> None:
    call = (IRIS, *FLOWERS, "--partition-by", "petal_width", *QUICK)
    table = run("pairwise", *call)
    scores = [row["c_index"] for row in report_rows(run, *call, of="pairwise")]
    known = sorted(x for x in scores if isinstance(x, float))
    found = re.findall(r"^\d\.\d+ +\d+ +\d+ +([\d.]+|NULL)", table, re.MULTILINE)
    assert len(known) > 1
    assert found == [f"{x:.6f}" for x in known] + ["NULL"] * scores.count(None)


def test_bounds_of_many_partitions_are_sorted_by_a_bound(run: Run) -> None:
    call = (IRIS, *FLOWERS, "--partition-by", "petal_width", "--method", "bounds", *QUICK)
    table = run("silhouette", *call)
    found = re.findall(r"^\d\.\d+ +\d+ +\d+ +0 +NULL +NULL +NULL +(-?\d\S+)", table, re.M)
    numbers = [float(x.rstrip("*")) for x in found]
    assert len(numbers) > 1
    assert numbers == sorted(numbers, reverse=True)


# Rows of clusters, labels and points


@DUCKDB_AT_THE_GATE
def test_most_joined_and_most_split_pairs_come_first(run: Run, engine_name: str) -> None:
    engine = ("--engine", engine_name)
    clusters = report_rows(run, *CALLS["clusters"], *engine, of="clusters")
    found = [(row["cluster"], int(str(row["joined_pairs"]))) for row in clusters]
    assert found == [(0, 672), (2, 72), (1, 0)]
    labels = report_rows(run, *CALLS["labels"], *engine, of="labels")
    found = [(row["label"], int(str(row["split_pairs"]))) for row in labels]
    assert found == [("virginica", 504), ("versicolor", 96), ("setosa", 0)]
    table = run("clusters", *CALLS["clusters"], *engine)
    assert re.search(r"^0 +62 +2 +versicolor +48 +0\.774194 +0\.534159 +672$", table, re.M)
    assert re.search(r"^joined_pairs +↓ +0  pairs of its rows with different labels$", table, re.M)
    assert re.search(r"^cluster +the cluster, most joined pairs first$", table, re.M)
    table = run("labels", *CALLS["labels"], *engine)
    assert re.search(r"^label +the label, most split pairs first$", table, re.M)


def test_the_help_tells_the_order(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "the labels in each cluster, most joined pairs first" in out
    assert "the clusters of each label, most split pairs first" in out


@DUCKDB_AT_THE_GATE
def test_low_silhouettes_come_first(run: Run, engine_name: str) -> None:
    """Expected: scikit-learn's silhouette_samples; the point between two clusters is the lowest."""
    call = (*CALLS["samples"], "--id", "id", "--engine", engine_name)
    rows = report_rows(run, *call, of="samples")
    silhouettes = [row["silhouette"] for row in rows]
    assert len(rows) == 150
    assert silhouettes == sorted(silhouettes)  # type: ignore[type-var]
    assert (rows[0]["id"], rows[0]["cluster"], rows[0]["neighbor"]) == (114, 0, 2)
    assert rows[0]["silhouette"] == pytest.approx(0.026359, abs=1e-6)
    table = run("samples", *call)
    assert len(re.findall(r"^\d+ +\d +\d +\d\.\d+ +\d\.\d+ +0\.\d+$", table, re.M)) == 20
    assert "130 more rows: --format csv" in table


@DUCKDB_AT_THE_GATE
def test_rows_of_many_partitions_are_sorted_together(run: Run, engine_name: str) -> None:
    call = (RUNS, *CLUSTER, "--partition-by", "run", "--engine", engine_name)
    rows = report_rows(run, *call, of="clusters")
    pairs = [int(str(row["joined_pairs"])) for row in rows]
    assert pairs == sorted(pairs, reverse=True)
    assert len({row["run"] for row in rows}) == 20
    assert list(rows[0])[:3] == ["run", "cluster", "n"]


# Nothing


@pytest.mark.gate
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("command", [x for x in CALLS if x != "findings"])
@DUCKDB_AT_THE_GATE
def test_no_rows(noted: Noted, engine_name: str, tmp_path: Path, command: str, kind: str) -> None:
    path = tmp_path / f"empty.{kind}"
    frame = pl.read_parquet(CALLS[command][0]).clear()
    (frame.write_parquet if kind == "parquet" else frame.write_csv)(path)
    call = (command, path, *CALLS[command][1:], "--engine", engine_name)
    missing = {
        "clusters": "no rows with a label and a cluster",
        "labels": "no rows with a label and a cluster",
        "samples": "no rows with a vector and a cluster",
        "elbow": "no rows with a vector and a cluster",
        "profile": "no rows with a cluster",
    }.get(command, "no rows below the header" if kind == "csv" else "no rows")
    note = f"clustereval: {path}: {missing}\n"
    out, err = noted(*call)
    assert err == note
    if command in SCORES:
        assert values(out)["n"][0] == "0"
        rows = json.loads(noted(*call, "--format", "json")[0])
        assert [row["n"] for row in rows] == [0]
    out, err = noted(*call, "--partition-by", "agglomerative")
    assert err == note
    assert re.search(r"^ *agglomerative\b", out, re.MULTILINE)


def test_rows_that_are_all_left_out_are_rows(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "nulls.csv"
    path.write_text("species,kmeans\na,\n,1\n", encoding="utf-8")
    shown = values(run("external", path, *KMEANS, *QUICK))
    assert (shown["n"][0], shown["n_dropped"][0], shown["purity"][0]) == ("0", "2", "NULL")


@pytest.mark.parametrize("content", ["species,kmeans\na,\nb,\n", "species,kmeans\n,1\n,2\n"])
@pytest.mark.parametrize("command", ["clusters", "labels"])
@DUCKDB_AT_THE_GATE
def test_rows_without_a_label_or_a_cluster(
    noted: Noted, engine_name: str, tmp_path: Path, command: str, content: str
) -> None:
    path = tmp_path / "nulls.csv"
    path.write_text(content, encoding="utf-8")
    _, err = noted(command, path, *KMEANS, "--engine", engine_name)
    assert err == f"clustereval: {path}: no rows with a label and a cluster\n"


@DUCKDB_AT_THE_GATE
def test_points_without_a_cluster(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "nulls.csv"
    path.write_text("x,c\n1,\n2,\n", encoding="utf-8")
    _, err = noted("samples", path, "--vector=x", "--cluster=c", "--engine", engine_name)
    assert err == f"clustereval: {path}: no rows with a vector and a cluster\n"
