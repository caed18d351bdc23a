"""Tables of distances and of nearest neighbors: --pairs of four commands, and neighborhood."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import silhouette_samples, silhouette_score

import polars_clustereval as ce
from polars_clustereval.cli.reports import COMMANDS, REPORTS
from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    ENGINE_NOTE,
    IRIS,
    NEIGHBORS,
    OF_NEIGHBORS,
    OF_PAIRS,
    QUICK,
    WIDE,
    WORD_PAIRS,
    WORDS,
    Fail,
    Noted,
    Run,
    json_rows,
    near_rows,
    values,
    write_input,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gate

FRAME, PAIRS = pl.read_csv(WORDS), pl.read_csv(WORD_PAIRS)
COMMANDS_OF_PAIRS = ("silhouette", "samples", "dunn", "pairwise")
COLUMNS = ("--id", "word", "--cluster", "cluster")
ENDS = ("--left", "left", "--right", "right", "--distance", "distance")
SHOWN = {report.variant or report.show: report for report in COMMANDS["neighborhood"]}


def call_of_pairs(frame: str | Path, pairs: str | Path) -> tuple[str | Path, ...]:
    return (frame, *COLUMNS, "--pairs", pairs, *ENDS)


# The tables --------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS_OF_PAIRS)
def test_the_rows_are_those_of_the_function(run: Run, engine_name: str, command: str) -> None:
    rows = json_rows(run, command, *OF_PAIRS, "--engine", engine_name)
    columns = ("word", "cluster", PAIRS, "left", "right", "distance")
    frame = FRAME.sort("word").cast({"cluster": pl.String})  # as in the CSV file
    wanted = REPORTS[f"{command}-pairs"].function(frame, *columns)
    if command == "samples":
        wanted = wanted.sort("silhouette", maintain_order=True)
    assert rows == near_rows(wanted.rows(named=True))
    assert list(rows[0]) == wanted.columns


def test_scikit_learn(run: Run, engine_name: str) -> None:
    words = FRAME["word"].to_list()
    d = np.zeros((6, 6))
    for left, right, distance in PAIRS.iter_rows():
        i, j = words.index(left), words.index(right)
        d[i, j] = d[j, i] = distance
    wanted = silhouette_score(d, FRAME["cluster"], metric="precomputed")
    [row] = json_rows(run, "silhouette", *OF_PAIRS, "--engine", engine_name)
    assert row["silhouette"] == pytest.approx(wanted, rel=1e-12)
    rows = json_rows(run, "samples", *OF_PAIRS, "--engine", engine_name)
    scores = silhouette_samples(d, FRAME["cluster"], metric="precomputed")
    each = dict(zip(words, scores, strict=True))
    assert {row["id"]: row["silhouette"] for row in rows} == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize("show", SHOWN)
def test_neighborhoods_are_those_of_the_function(run: Run, engine_name: str, show: str) -> None:
    rows = json_rows(run, "neighborhood", *OF_NEIGHBORS, "--show", show, "--engine", engine_name)
    frame, neighbors = pl.read_parquet(IRIS), pl.read_parquet(NEIGHBORS)
    columns = ("id", "kmeans", neighbors, "id", "neighbor")
    wanted = SHOWN[show].function(frame, *columns, distance="distance")
    assert rows == near_rows(wanted.rows(named=True))
    assert list(rows[0]) == wanted.columns


def test_neighborhoods_without_distances(run: Run, engine_name: str) -> None:
    call = ("neighborhood", *OF_NEIGHBORS[:-2], "--engine", engine_name)
    [row] = json_rows(run, *call)
    assert row["lisi"] is row["connectivity"] is row["dunn_owa"] is None
    assert row["neighbor_purity"] == pytest.approx(0.974, rel=1e-12)
    assert "distance" not in run(*call).partition("\n\n")[0]


def test_options_reach_the_functions(run: Run, engine_name: str) -> None:
    call = ("--engine", engine_name, "--format", "json")
    columns = (FRAME, "word", "cluster", PAIRS, "left", "right", "distance")
    for between in ("furthest", "mean_other"):
        [row] = json.loads(run("silhouette", *OF_PAIRS, "--between", between, *call))
        wanted = ce.silhouette_score_from_distances(*columns, between=between)
        assert row["silhouette"] == pytest.approx(wanted["silhouette"].item(), rel=1e-12)
    [row] = json.loads(run("pairwise", *OF_PAIRS, "--n-neighbors", "1", *call))
    wanted = ce.pairwise_report_from_distances(*columns, n_neighbors=1)
    assert row["connectivity"] == wanted["connectivity"].item()
    rows = [
        json.loads(run("neighborhood", *OF_NEIGHBORS, "--perplexity", str(p), *call))[0]["lisi"]
        for p in (2, 8)
    ]
    assert rows[0] < rows[1]
    noise = ("--noise", "1", "--noise-as", "drop")
    [row] = json.loads(run("neighborhood", *OF_NEIGHBORS, *noise, *call))
    assert (row["n"], row["n_clusters"]) == (150 - row["n_noise"], 2)
    [row] = json.loads(run("dunn", *OF_PAIRS, *noise, *call))
    assert (row["n"], row["n_noise"], row["dunn_index"]) == (3, 3, None)


# The terminal ------------------------------------------------------------------------------------


def test_the_tables(run: Run) -> None:
    heading = f"{WORDS}, {WORD_PAIRS}: id word, cluster cluster"
    for command in COMMANDS_OF_PAIRS:
        report = REPORTS[f"{command}-pairs"]
        table = run(command, *OF_PAIRS, *QUICK)
        assert table.startswith(heading)
        assert table.splitlines()[1] == "left left, right right, distance distance"
        shown = {*json_rows(run, command, *OF_PAIRS, *QUICK)[0]} - {"std_error", *report.left_out}
        arrows = str.maketrans("", "", "\u2191\u2193")
        assert {name for name in shown if name not in table.translate(arrows)} == set()
    assert "  rows left out: no cluster\n" in run("silhouette", *OF_PAIRS, *QUICK)
    assert "weak structure (Kaufman" in run("silhouette", *OF_PAIRS, *QUICK)
    table = run("silhouette", *OF_PAIRS, *QUICK, "--between", "furthest")
    assert "Kaufman" not in table
    assert ", between furthest\n" in table
    table = run("dunn", *OF_PAIRS, *QUICK)
    assert "centroid_dunn_index" not in table
    assert not {"gdi_41", "gdi_52", "gdi_13"} & values(table).keys()
    assert {"gdi_11", "gdi_62", "dunn_index"} <= values(table).keys()
    for show, report in SHOWN.items():
        table = run("neighborhood", *OF_NEIGHBORS, "--show", show, *QUICK)
        assert table.startswith(f"{IRIS}, {NEIGHBORS}: id id, cluster kmeans\n")
        assert table.splitlines()[1] == "left id, right neighbor, distance distance"
        assert report.meanings["neighbor_purity"].text in table


def test_metrics(run: Run, engine_name: str) -> None:
    call = ("--engine", engine_name, "--format", "json")
    names = "dunn_index,gdi_11"
    [row] = json.loads(run("dunn", *OF_PAIRS, "--metrics", names, *call))
    assert row == {"dunn_index": pytest.approx(2 / 3), "gdi_11": pytest.approx(2 / 3)}
    [row] = json.loads(run("neighborhood", *OF_NEIGHBORS, "--metrics", "wcnn", *call))
    assert row == {"wcnn": pytest.approx(0.974)}


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds",
    [("parquet", "csv"), ("csv", "parquet"), ("duckdb", "duckdb"), ("json", "arrow")],
    ids="-".join,
)
@DUCKDB_AT_THE_GATE
def test_kinds_of_files(run: Run, engine_name: str, tmp_path: Path, kinds: tuple[str, str]) -> None:
    """Distances of a CSV file are numbers, though all of its columns are read as text."""
    paths = [
        write_input(frame, tmp_path / f"{name}.{kind}")
        for frame, name, kind in zip((FRAME, PAIRS), ("words", "pairs"), kinds, strict=True)
    ]
    [row] = json_rows(run, "silhouette", *call_of_pairs(*paths), "--engine", engine_name)
    assert row["silhouette"] == pytest.approx(0.4664141414141414, rel=1e-12)


def test_partitions(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    """The pairs of a partition are its own; missing ones are an error, or dropped."""
    days = [pl.concat([x.with_columns(day=i) for i in (1, 2)]) for x in (FRAME, PAIRS)]
    days[1] = days[1].with_columns(distance=pl.col("distance") * pl.col("day") ** 2)
    paths = [write_input(x, tmp_path / f"{x.width}.parquet") for x in days]
    call = (*call_of_pairs(*paths), "--partition-by", "day", "--engine", engine_name)
    rows = json.loads(noted("dunn", *call, "--format", "json")[0])
    assert [(row["day"], row["max_diameter"]) for row in rows] == [(1, 3.0), (2, 12.0)]
    table = noted("silhouette", *call)[0]
    assert "0.466414  0.466414" in table


def test_no_rows_and_rows_left_out(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    frame = FRAME.with_columns(cluster=pl.when(pl.col("word") != "duck").then("cluster"))
    path = write_input(frame, tmp_path / "words.parquet")
    out, err = noted("silhouette", *call_of_pairs(path, WORD_PAIRS), "--engine", engine_name)
    assert values(out)["n_dropped"][0] == "1"
    assert f"clustereval: {path}: 1 of 6 rows has no id or no cluster, and is left out" in err
    empty = write_input(frame.clear(), tmp_path / "empty.parquet")
    out, err = noted("silhouette", *call_of_pairs(empty, WORD_PAIRS), "--engine", engine_name)
    assert values(out)["silhouette"][0] == "NULL"
    assert f"clustereval: {empty}: no rows\n" in err
    call = ("neighborhood", empty, *COLUMNS, "--neighbors", WORD_PAIRS, *ENDS)
    assert f"{empty}: no rows\n" in noted(*call, *QUICK)[1]
    words = "no rows with an id and a cluster"
    assert f"{empty}: {words}\n" in noted(*call, "--show", "samples", *QUICK)[1]


def test_notes(noted: Noted, tmp_path: Path) -> None:
    noisy = FRAME.with_columns(cluster=pl.col("cluster") * 2 - 3)
    path = write_input(noisy, tmp_path / "words.parquet")
    for command in COMMANDS_OF_PAIRS:
        err = noted(command, *call_of_pairs(path, WORD_PAIRS), *QUICK)[1]
        assert err.count("if it is noise, give --noise -1 and --noise-as") == 1
        assert ENGINE_NOTE not in err
    strange = pl.read_parquet(NEIGHBORS).with_columns(
        neighbor=pl.when(pl.int_range(pl.len()) % 5 > 0).then(1000).otherwise("neighbor")
    )
    path = write_input(strange, tmp_path / "neighbors.parquet")
    call = (*OF_NEIGHBORS[:5], "--neighbors", path, *OF_NEIGHBORS[7:])
    words = "1,200 of 1,500 neighbors are left out because one of their ends is in no cluster; "
    assert words in noted("neighborhood", *call, *QUICK)[1]


def test_rows_of_distances_as_vectors(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    """All commands that take vectors lead to --pairs."""
    x = np.random.default_rng(0).normal(size=20)
    matrix = abs(x[:, None] - x)
    frame = pl.DataFrame({"vector": matrix.tolist(), "cluster": [0, 1] * 10})
    path = write_input(frame, tmp_path / "rows.parquet")
    words = "the vectors of 20 points have 20 coordinates and look like the rows of a matrix of"
    for command in ("silhouette", "dunn", "internal", "pairwise", "samples"):
        call = (command, path, "--vector", "vector", "--cluster", "cluster")
        assert noted(*call, "--engine", engine_name)[1].count(words) == 1
    call = ("findings", path, "--vector", "vector", "--cluster", "cluster")
    out, err = noted(*call, "--engine", engine_name)
    assert " ".join(out.split()).count(words[4:]) == 1
    assert words not in err


# Mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--left", "lefts"), f"{WORD_PAIRS}: left: column 'lefts' not found; did you mean 'left'"),
        (("--distance", "cosine"), f"{WORD_PAIRS}: distance: column 'cosine' not found; columns: "),
        (("--id", "words"), f"{WORDS}: id: column 'words' not found; did you mean 'word'?"),
        (("--id", "cluster"), f"{WORDS}: id: expected one row with a cluster per id, got several"),
        (("--between", "far"), f"{WORDS}, {WORD_PAIRS}: between: expected one of 'nearest', "),
        (
            ("--partition-by", "cluster"),
            f"{WORD_PAIRS}: partition_by: column 'cluster' not found; columns: left, right, dista",
        ),
        (("--vector", "x,y"), f"--vector cannot be combined with --pairs {WORD_PAIRS}: drop one"),
        (("--method", "bounds"), f"--method cannot be combined with --pairs {WORD_PAIRS}: drop o"),
        (("--p", "3"), f"--p cannot be combined with --pairs {WORD_PAIRS}: drop one"),
    ],
)
def test_mistakes(fail: Fail, engine_name: str, options: tuple[str, ...], text: str) -> None:
    assert fail("silhouette", *OF_PAIRS, *options, "--engine", engine_name).startswith(text)


def test_faults_of_distances(fail: Fail, run: Run, engine_name: str, tmp_path: Path) -> None:
    """The messages name the file, and the option that leaves points without a pair out."""
    is_bad = pl.col("right") == "duck"
    wrong = PAIRS.with_columns(distance=pl.when(~is_bad).then("distance"))
    path = write_input(wrong, tmp_path / "pairs.parquet")
    for command in COMMANDS_OF_PAIRS:
        error = fail(command, *call_of_pairs(WORDS, path), "--engine", engine_name)
        assert error.startswith(f"{path}: distance: expected finite numbers >= 0, got NULL for ")
        assert error.endswith("; correct it, or leave out the row and give --missing drop")
    path = write_input(PAIRS.slice(1), tmp_path / "fewer.parquet")
    call = ("silhouette", *call_of_pairs(WORDS, path), "--engine", engine_name)
    assert fail(*call) == (
        f"{path}: expected a row for each two ids of a partition, got none for 1 of 15 pairs, such "
        "as cat and cot; add them, or give --missing drop"
    )
    [row] = json_rows(run, *call, "--missing", "drop")
    assert (row["n"], row["n_evaluated"]) == (6, 4)


@pytest.mark.parametrize("command", COMMANDS_OF_PAIRS)
def test_options_that_are_needed(fail: Fail, command: str) -> None:
    words = "the following arguments are required: --vector, or --pairs in place of it"
    assert fail(command, WORDS, "--cluster", "cluster") == words
    assert fail(command, WORDS, "--cluster", "cluster", "--left", "left") == words
    error = fail(command, WORDS, "--cluster", "cluster", "--pairs", WORD_PAIRS, "--left", "left")
    given = "the following arguments are required with --pairs"
    assert error == f"{given}: --id, --right, --distance"
    error = fail(command, IRIS, "--cluster", "kmeans", "--vector", WIDE, "--left", "left")
    assert error == f"--left cannot be combined with --vector {WIDE}: drop one"


def test_neighbors_are_needed(fail: Fail) -> None:
    error = fail("neighborhood", WORDS, *COLUMNS, "--left", "left", "--right", "right")
    assert error == "the following arguments are required: --neighbors"
    error = fail("neighborhood", *OF_NEIGHBORS, "--show", "clusters", "--metrics", "lisi")
    assert error.endswith("--metrics cannot be combined with --show clusters: drop one")
    error = fail("neighborhood", *OF_NEIGHBORS, "--perplexity", "0.5")
    assert error.startswith(f"{IRIS}, {NEIGHBORS}: perplexity: expected a number >= 1, got 0.5")
