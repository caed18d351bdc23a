"""Tables of the command line on the terminal."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from polars_clustereval.cli import interruption, progress
from polars_clustereval.cli.options import Call
from polars_clustereval.cli.reports import REPORTS
from polars_clustereval.cli.terminal import render_table
from polars_clustereval.internal.kernels import threads
from tests.support.command_line import (
    CALLS,
    CLUSTER,
    DIGITS,
    DUCKDB_AT_THE_GATE,
    ENGINE_NAMES,
    FLOWERS,
    FRAME,
    IRIS,
    KMEANS,
    POINTS,
    QUICK,
    RUNS,
    SCORES,
    WIDE,
    Fail,
    Noted,
    Run,
    assert_scores_of_points,
    report_rows,
    values,
)

#: Of many metrics, the terminal shows the first ones otherwise.
ALL = ("--metrics", "all")


@pytest.mark.usefixtures("own_database")
def test_iris(run: Run, engine_name: str) -> None:
    shown = values(run("external", IRIS, *KMEANS, *ALL, "--engine", engine_name))
    expected = {
        "n": "150",
        "rand_score": "0.879732",
        "adjusted_rand_score": "0.730238",
        "adjusted_mutual_info_score": "0.755119",
        "fowlkes_mallows_score": "0.820808",
        "mirkin_metric": "2688",
    }
    assert {metric: shown[metric][0] for metric in expected} == expected


@pytest.mark.usefixtures("own_database")
def test_iris_alone(run: Run, engine_name: str) -> None:
    """Expected: the two scores are scikit-learn's, and ssw is KMeans' inertia_."""
    table = run("internal", IRIS, *FLOWERS, *ALL, "--engine", engine_name)
    assert table.startswith(f"{IRIS}: cluster kmeans, distance euclidean\nvector {WIDE}\n\n")
    shown = values(table)
    expected = {
        "ssw": "78.851441",
        "calinski_harabasz_score": "561.627757",
        "davies_bouldin_score": "0.661972",
        "n": "150",
        "n_dims": "4",
        "n_clusters": "3",
        "sst": "681.370600",
        "banfield_raftery_index": "-104.801295",
    }
    assert {metric: shown[metric][0] for metric in expected} == expected


def test_silhouettes_of_iris(run: Run, engine_name: str) -> None:
    """Expected: scikit-learn's silhouette_score, and the mean over clusters of its samples."""
    table = run("silhouette", IRIS, *FLOWERS, "--engine", engine_name)
    assert table.startswith(f"{IRIS}: cluster kmeans, distance euclidean, method exact\n")
    shown = values(table)
    expected = {
        "n_evaluated": "150",
        "silhouette": "0.552819",
        "silhouette_macro": "0.555522",
        "silhouette_lower": "0.552819",
        "silhouette_upper": "0.552819",
    }
    assert {metric: shown[metric][0] for metric in expected} == expected


@pytest.mark.gate
@pytest.mark.parametrize(
    "options",
    [
        ("--method", "bounds"),
        ("--method", "simplified", "--distance", "cosine"),
        ("--tolerance", "0.05"),
        ("--between", "mean_other"),
        ("--between", "furthest", "--method", "simplified"),
        ("--method", "sample", "--sample-size", "40", "--random-state", "7", "--id", "id"),
        (
            "--method",
            "sample",
            "--sample-size",
            "40",
            "--confidence",
            "0.5",
            "--partition-by",
            "run",
        ),
    ],
)
def test_both_engines_have_the_same_silhouettes(run: Run, options: tuple[str, ...]) -> None:
    call = (RUNS, "--vector", "seed,k") if "--partition-by" in options else (IRIS, "--vector", WIDE)
    cluster = ("--cluster", "cluster" if "--partition-by" in options else "kmeans")
    one, other = (
        report_rows(run, *call, *cluster, *options, "--engine", name, of="silhouette")
        for name in ENGINE_NAMES
    )
    assert_scores_of_points(one, other)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def show_parts(monkeypatch: pytest.MonkeyPatch, err: io.StringIO, *, has_bar: bool = False) -> str:
    """What is written in 25 seconds, of which 20 pass with 4 parts, and then at the end."""
    now = 100.0
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(progress, "LINE_INTERVAL", 10.0)
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    with progress.show_progress() as show:
        show()
        progress.begin_step("silhouette_score")
        for _ in threads.watch(range(4), 4):
            now += 5
            show()
        progress.begin_step("internal_report", has_bar=has_bar)
        now += 5
        show()
        now += 5
        show()
    assert threads.watch is threads.show_no_progress
    return err.getvalue()


def test_a_terminal_shows_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = show_parts(monkeypatch, Screen()).split("\r")[1:-1]
    steps = [line.rstrip() for line in shown]
    bars = [("#" * n).ljust(30) for n in (7, 15, 22, 30)]
    assert steps == [
        *(
            f"silhouette_score, step 1: [{bar}] {25 * i:3d}%, {5 * i} seconds so far"
            for i, bar in enumerate(bars, start=1)
        ),
        "internal_report, 25 seconds so far",
        "internal_report, 30 seconds so far",
        "",
    ]


def test_a_terminal_has_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "internal_report" not in show_parts(monkeypatch, Screen(), has_bar=True)


def test_a_log_has_a_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert show_parts(monkeypatch, io.StringIO(), has_bar=True).splitlines() == [
        f"clustereval: silhouette_score, step 1: [{'#' * 15:<30}]  50%, 10 seconds so far",
        f"clustereval: silhouette_score, step 1: [{'#' * 30}] 100%, 20 seconds so far",
        "clustereval: internal_report, 30 seconds so far",
    ]


def test_a_command_shows_its_progress(
    noted: Noted, monkeypatch: pytest.MonkeyPatch, engine_name: str
) -> None:
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.0)
    monkeypatch.setattr(interruption, "_POLL_INTERVAL", 1e-3)
    _, notes = noted("silhouette", *CALLS["silhouette"], "--engine", engine_name)
    assert re.search(r"^clustereval: silhouette_score, .* seconds so far$", notes, re.MULTILINE)


def test_a_quick_command_shows_no_progress(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    run("silhouette", *CALLS["silhouette"], "--engine", "polars")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "fast"), "method: expected one of 'exact', 'simplified', 'bounds', 'sample'"),
        (("--tolerance", "0"), "tolerance: expected a number > 0, got 0"),
        (("--between", "all"), "between: expected one of 'nearest', 'mean_other', 'furthest'"),
        (("--id", "nobody"), "id: column 'nobody' not found"),
    ],
)
def test_mistakes_with_silhouettes(
    fail: Fail, engine_name: str, options: tuple[str, ...], words: str
) -> None:
    said = fail("silhouette", *CALLS["silhouette"], *options, "--engine", engine_name)
    assert said.startswith(f"{IRIS}: {words}")


def test_a_long_path_has_a_line_of_its_own(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    file = tmp_path / ("folder" * 9) / "iris.parquet"
    file.parent.mkdir()
    shutil.copy(IRIS, file)
    heading = run("internal", str(file), *CALLS["internal"][1:], *QUICK).splitlines()[:2]
    assert heading == ["…" + f"{file}:"[-71:], "cluster kmeans, distance euclidean"]


def test_many_columns_are_cut_in_the_heading(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    names = ",".join([WIDE, WIDE])
    table = run("internal", IRIS, "--vector", names, "--cluster", "kmeans", *QUICK).splitlines()
    assert f"vector {names}"[:59] + "…" in table


@DUCKDB_AT_THE_GATE
def test_few_partitions_stand_side_by_side(run: Run, engine_name: str) -> None:
    arguments = (RUNS, *CLUSTER, "--partition-by", "k", "--engine", engine_name)
    table = run("external", *arguments, *ALL)
    assert "\nk " in table
    assert re.search(r"^k +5 +8 +10 +12 +20$", table, re.MULTILINE)
    rows = report_rows(run, *arguments)
    shown = values(table)
    assert shown["purity"] == [f"{row['purity']:.6f}" for row in rows]
    assert list(shown) == list(rows[0])[1:]


@DUCKDB_AT_THE_GATE
def test_few_partitions_of_points_stand_side_by_side(
    run: Run, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    arguments = (IRIS, *FLOWERS, "--partition-by", "species", "--engine", engine_name)
    table = run("internal", *arguments, *ALL)
    assert re.search(r"^species +setosa +versicolor +virginica$", table, re.MULTILINE)
    rows = report_rows(run, *arguments, of="internal")
    shown = values(table)
    assert shown["sst"] == [f"{row['sst']:.6f}" for row in rows]
    assert shown["davies_bouldin_score"][0] == "NULL"
    assert list(shown) == list(rows[0])[1:]
    assert max(map(len, table.splitlines())) <= 100


def test_quantities_of_any_size(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sizes.csv"
    for size, ssw in ((1e-6, "1e-11"), (1.0, "10.000000"), (1e3, "1e+07"), (333.3, "1110889")):
        POINTS.head(4).select(pl.col("x", "y") * size, "cluster").write_csv(path)
        table = run("internal", path, "--vector", "x,y", "--cluster", "cluster", *QUICK)
        assert values(table)["ssw"][0] == ssw


@DUCKDB_AT_THE_GATE
def test_a_null_partition(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    FRAME.with_columns(run=pl.lit(None, pl.String)).write_parquet(path)
    columns = ("--label", "species", "--cluster", "cluster", "--partition-by", "run")
    table = run("external", path, *columns, "--engine", engine_name)
    assert re.search(r"^run +NULL$", table, re.MULTILINE)


def test_a_zero_has_no_sign(run: Run, engine_name: str, tmp_path: Path) -> None:
    """Four equal cells of 10^8 rows: the adjusted Rand index is -2.5e-9."""
    path = tmp_path / "independent.csv"
    path.write_text("species,kmeans,n\na,0,1e8\na,1,1e8\nb,0,1e8\nb,1,1e8\n", "utf-8")
    call = (path, *KMEANS, "--weight", "n", "--engine", engine_name)
    [row] = report_rows(run, *call)
    assert row["adjusted_rand_score"] == pytest.approx(-2.5e-9, rel=1e-6)
    table = run("external", *call)
    assert values(table)["adjusted_rand_score"][0] == "0.000000"
    assert "-0.000000" not in table


@pytest.mark.gate
@pytest.mark.usefixtures("own_database")
def test_duckdb_draws_no_bar_into_a_file(
    run: Run, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = duckdb.connect

    def connect_impatiently(*arguments: Any, **options: Any) -> duckdb.DuckDBPyConnection:
        """A connection whose bar, if it is turned on, appears at once."""
        connection = connect(*arguments, **options)
        # The first statement turns the bar on, and the second one draws it.
        connection.execute("SET progress_bar_time = 0; SET enable_progress_bar = FALSE")
        capfd.readouterr()
        return connection

    monkeypatch.setattr(duckdb, "connect", connect_impatiently)
    call = (DIGITS, "--vector", "pixels", "--cluster", "kmeans", "--engine", "duckdb")
    [row] = report_rows(run, *call, of="silhouette")
    assert row["n"] == 1797


def test_a_zero_of_any_magnitude_has_no_sign() -> None:
    result = pl.DataFrame({"n": [1], "ssw": [-0.0], "ssb": [-0.5]})
    arguments = {"cluster": "c", "distance": "d", "vector": "v"}
    call = Call(REPORTS["internal"], arguments, "duckdb", Path())
    shown = values(render_table(result, call, [["f"]]).decode())
    assert [shown[name][0] for name in ("ssw", "ssb")] == ["0.000000", "-0.500000"]


def cover_tables() -> list[Any]:
    """Widths, reports and numbers of partitions: every two of them, all three at the gate."""
    widths, partitions = (60, 72, 80, 100, 120, 200), (0, 3, 5, 7)
    return [
        pytest.param(
            *(columns, command, n),
            marks=[] if (i + j + k) % len(partitions) == 0 else pytest.mark.wide,
        )
        for i, columns in enumerate(widths)
        for j, command in enumerate(CALLS)
        for k, n in enumerate(partitions)
    ]


@pytest.mark.parametrize(("columns", "command", "n_partitions"), cover_tables())
def test_a_table_fits_the_screen(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    columns: int,
    command: str,
    n_partitions: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    path = tmp_path / "iris.parquet"
    key = pl.format("partition number {}", pl.int_range(pl.len()) % max(1, n_partitions))
    pl.read_parquet(CALLS[command][0]).with_columns(key=key, other=1).write_parquet(path)
    keys = ("--partition-by", "key,other") if n_partitions else ()
    table = run(command, path, *CALLS[command][1:], *keys, *QUICK)
    assert max(map(len, table.splitlines())) <= columns
    if command in SCORES:
        table = run(command, path, *CALLS[command][1:], *keys, *QUICK, *ALL)
        assert max(map(len, table.splitlines())) <= columns
    if not n_partitions and command in SCORES:
        [row] = report_rows(run, path, *CALLS[command][1:], *QUICK, of=command)
        assert list(values(table)) == list(row)


@pytest.mark.parametrize("columns", [60, 72, 80, 100, 120, 200])
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("external", "adjusted_rand_score 0.730238: moderate (Steinley 2004)"),
        (
            "silhouette",
            "silhouette 0.552819: reasonable structure (Kaufman and Rousseeuw 1990)",
        ),
    ],
)
def test_the_headline_is_put_into_words(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: int, command: str, words: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    table = run(command, *CALLS[command], *QUICK)
    last = table.removesuffix("\n").split("\n\n")[-1]
    assert " ".join(last.split()) == words
    assert last.count("\n") == (len(words) > columns)


@pytest.mark.parametrize(
    "options",
    [
        ("--distance", "sqeuclidean"),
        ("--distance", "SqEuclidean"),
        ("--method", "simplified"),
        ("--method", "bounds"),
        ("--between", "mean_other"),
        ("--partition-by", "species"),
    ],
)
def test_no_words_for_other_silhouettes(run: Run, options: tuple[str, ...]) -> None:
    """Those that are larger by definition, not computed, or of several clusterings."""
    table = run("silhouette", *CALLS["silhouette"], *options, *QUICK)
    assert "structure" not in table


@pytest.mark.parametrize(
    ("between", "words"),
    [
        ("nearest", "mean distance to the neighbor"),
        ("mean_other", "mean distance to the points of all other clusters"),
        ("furthest", "mean distance to the furthest other cluster"),
    ],
)
def test_the_words_say_what_points_are_compared_with(run: Run, between: str, words: str) -> None:
    table = " ".join(run("samples", *CALLS["samples"], "--between", between, *QUICK).split())
    assert words in table
    assert (f", between {between}" in table) == (between != "nearest")


def test_no_words_for_no_value(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    POINTS.head(4).select("x", "y", cluster=1).write_csv(path)
    table = run("silhouette", path, "--vector", "x,y", "--cluster", "cluster", *QUICK)
    assert values(table)["silhouette"][0] == "NULL"
    assert "structure" not in table


def test_words_for_silhouettes_of_other_distances(run: Run) -> None:
    for options in (("--distance", "cityblock"), ("--tolerance", "0.05")):
        table = run("silhouette", *CALLS["silhouette"], *options, *QUICK)
        assert table.endswith("(Kaufman and Rousseeuw 1990)\n")


def test_values_of_any_length_are_cut(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = tmp_path / "long.parquet"
    frame = pl.DataFrame({"l": ["x" * 99, "y" * 99], "c": ["z" * 99] * 2, "p": ["p" * 99] * 2})
    frame.write_parquet(path)
    for command in ("clusters", "labels"):
        call = (command, path, "--label", "l", "--cluster", "c", "--partition-by", "p", *QUICK)
        lines = run(*call).splitlines()
        assert max(map(len, lines)) <= 60
        assert any("pppp…" in line for line in lines)


def test_means_of_dates_are_dates(run: Run, tmp_path: Path, engine_name: str) -> None:
    path = tmp_path / "rows.parquet"
    days = pl.Series([0, 2, 20000, 20002]).cast(pl.Date)
    pl.DataFrame({"c": [0, 0, 1, 1], "day": days, "x": [1, 2, 3, 4]}).write_parquet(path)
    call = ("profile", path, "--columns", "day,x", "--cluster", "c", "--engine", engine_name)
    [row] = [
        line.split()
        for line in run(*call).splitlines()
        if line.startswith("0  ") and "date" in line
    ]
    assert row[5:7] == ["1970-01-02", "2024-10-05"]
    assert "20001.0" in run(*call, "--format", "csv"), "days, in files"
