"""The command transitions: two runs, in files of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.cli.reports import COMMANDS
from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    NIGHTS,
    QUICK,
    Fail,
    Noted,
    Run,
    json_rows,
    write_input,
)

if TYPE_CHECKING:
    from pathlib import Path

FRAMES = [pl.read_parquet(night) for night in NIGHTS]
COLUMNS = ("--id", "id", "--cluster", "cluster")
CALL = ("transitions", *NIGHTS, *COLUMNS)
REPORTS = {report.variant or report.show: report for report in COMMANDS["transitions"]}
FUNCTIONS = {show: report.function for show, report in REPORTS.items()}
BEFORE = pl.DataFrame({"id": [1, 2, 3, 4], "cluster": ["a", "a", "b", "b"], "run": [1, 1, 2, 2]})
AFTER = pl.DataFrame({"id": [1, 2, 3, 4, 5], "cluster": list("xxyzx"), "run": [1, 1, 2, 2, 1]})
WANTED = [("a", "x", "grown"), ("b", None, "split"), ("b", "y", "split"), ("b", "z", "split")]


def words(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["cluster_before"], row["cluster_after"], row["transition"]) for row in rows]


@pytest.mark.parametrize("show", REPORTS)
def test_the_rows_are_those_of_the_function(run: Run, engine_name: str, show: str) -> None:
    options = {} if show == "affected" else {"threshold": 0.4}
    given = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    rows = json_rows(run, *CALL, "--show", show, *given, "--engine", engine_name)
    wanted = FUNCTIONS[show](*FRAMES, "id", "cluster", **options).rows(named=True)
    assert [list(row) for row in rows] == [list(row) for row in wanted]
    for row, other in zip(rows, wanted, strict=True):
        for name, value in other.items():
            near = pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            assert row[name] == near, name


def test_the_terminal_shows_changes_first(run: Run, tmp_path: Path) -> None:
    after = BEFORE.with_columns(cluster=pl.Series(["x", "x", "y", "z"]))
    paths = [write_input(frame, tmp_path / f"{i}.csv") for i, frame in enumerate((BEFORE, after))]
    table = run("transitions", *paths, *COLUMNS, *QUICK).splitlines()
    words = [word for line in table for word in line.split() if word in ("split", "kept")]
    assert words[:4] == ["split", "split", "split", "kept"]
    rows = json_rows(run, "transitions", *paths, *COLUMNS)
    assert [row["transition"] for row in rows] == ["kept", "split", "split", "split"]


def test_options_reach_the_function(run: Run, engine_name: str) -> None:
    options = ("--min-share", "0.35", "--noise", "5", "--noise-as", "drop")
    rows = json_rows(run, *CALL, *options, "--engine", engine_name)
    wanted = ce.run_transitions(*FRAMES, "id", "cluster", min_share=0.35, noise=5, noise_as="drop")
    assert words(rows) == wanted.select("cluster_before", "cluster_after", "transition").rows()


@pytest.mark.parametrize(
    "kinds",
    [
        *(("csv", "csv"), ("arrow", "arrow"), ("duckdb", "duckdb"), ("csv", "json")),
        *(("duckdb", "parquet"), ("parquet", "duckdb"), ("arrow", "parquet")),
    ],
    ids="-".join,
)
@DUCKDB_AT_THE_GATE
def test_two_kinds_of_files(
    run: Run, engine_name: str, tmp_path: Path, kinds: tuple[str, str]
) -> None:
    texts = [frame.cast({"id": pl.String, "run": pl.String}) for frame in (BEFORE, AFTER)]
    paths = [
        write_input(text if kind == "json" else frame, tmp_path / f"{i}.{kind}")
        for i, (frame, text, kind) in enumerate(zip((BEFORE, AFTER), texts, kinds, strict=True))
    ]
    rows = json_rows(run, "transitions", *paths, *COLUMNS, "--engine", engine_name)
    assert words(rows) == WANTED
    rows = json_rows(
        run, "transitions", *paths, *COLUMNS, "--partition-by", "run", "--engine", engine_name
    )
    assert words(rows) == WANTED
    assert [str(row["run"]) for row in rows] == ["1", "2", "2", "2"]


def test_the_formats(run: Run, tmp_path: Path) -> None:
    paths = [write_input(frame, tmp_path / f"{frame.height}.parquet") for frame in (BEFORE, AFTER)]
    lines = run("transitions", *paths, *COLUMNS, "--format", "csv").splitlines()
    assert lines[0].startswith("cluster_before,cluster_after,transition,ambiguity,")
    assert lines[2] == "b,,split,,2,2,2,0,0,1,2,1.0,1.0"
    output = tmp_path / "out.parquet"
    assert run("transitions", *paths, *COLUMNS, "--output", output) == ""
    wanted = ce.run_transitions(BEFORE, AFTER, "id", "cluster")
    assert pl.read_parquet(output).equals(wanted)


def test_the_tables(run: Run) -> None:
    for show, report in REPORTS.items():
        table = run(*CALL, "--show", show, *QUICK)
        words = ", threshold 0.5" if "threshold" in report.defaults else "\n"
        assert table.startswith(f"{NIGHTS[0]}, {NIGHTS[1]}: id id, cluster cluster{words}")
        for name, (_, text) in report.meanings.items():
            assert name in table
            assert text in table
    assert "235" in run(*CALL, "--show", "drift", *QUICK)
    assert "5        NULL     split" in run(*CALL, *QUICK)


def test_several_partitions_of_drift(run: Run, tmp_path: Path) -> None:
    paths = [write_input(frame, tmp_path / f"{frame.height}.parquet") for frame in (BEFORE, AFTER)]
    call = ("transitions", *paths, *COLUMNS, "--show", "drift", "--partition-by", "run")
    table = run(*call, *QUICK)
    assert "population_stability_index" in table


def test_standard_input(
    run: Run, fail: Fail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_input(BEFORE, tmp_path / "one.csv")
    given = tmp_path / "given.csv"
    AFTER.write_csv(given)
    with given.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert words(json_rows(run, "transitions", path, "-", *COLUMNS)) == WANTED
    assert fail("transitions", "-", "-", *COLUMNS) == "standard input: given twice"


@DUCKDB_AT_THE_GATE
def test_no_rows(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = write_input(BEFORE.clear(), tmp_path / "none.parquet")
    for show in ("clusters", "drift"):
        call = ("transitions", path, path, *COLUMNS, "--show", show, "--engine", engine_name)
        assert noted(*call)[1] == f"clustereval: {path}: no rows with an id and a cluster\n"


def test_nothing_has_moved(run: Run) -> None:
    assert (
        json_rows(run, "transitions", NIGHTS[0], NIGHTS[0], *COLUMNS, "--show", "ids", *QUICK) == []
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--threshold", "0"), "threshold: expected a number above 0 and at most 1, got 0"),
        (("--min-share", "0.7"), "min_share: expected a number from 0 to the threshold, got 0.7"),
        (("--id", "digit"), "id: expected one row per id in a run, got several rows of id 0 in"),
        (("--noise", "x", "--noise-as", "drop"), "noise: expected a value of the type of cluster"),
    ],
)
def test_mistakes(fail: Fail, engine_name: str, options: tuple[str, ...], text: str) -> None:
    error = fail(*CALL, *options, "--engine", engine_name)
    assert error.startswith(f"{NIGHTS[0]}, {NIGHTS[1]}: ")
    assert text in error


def test_a_column_that_one_file_lacks(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    paths = [
        write_input(frame, tmp_path / f"{frame.height}.parquet")
        for frame in (BEFORE, AFTER.rename({"cluster": "groups"}))
    ]
    call = (*COLUMNS, "--engine", engine_name)
    for order in (paths, paths[::-1]):
        error = fail("transitions", *order, *call)
        assert error.startswith(f"{paths[1]}: cluster: column 'cluster' not found")


def test_ids_of_two_types(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    paths = [
        write_input(BEFORE, tmp_path / "one.parquet"),
        write_input(AFTER, tmp_path / "two.csv"),
    ]
    error = fail("transitions", *paths, *COLUMNS, "--engine", engine_name)
    assert error.startswith(f"{paths[0]}, {paths[1]}: id: expected the same type in both runs")


def test_options_that_a_table_does_not_have(fail: Fail) -> None:
    error = fail(*CALL, "--show", "ids", "--min-share", "0.2")
    assert error == "--min-share cannot be combined with --show ids: drop one"


def test_outputs_that_cannot_be(fail: Fail, tmp_path: Path) -> None:
    path = write_input(BEFORE, tmp_path / "one.parquet")
    other = write_input(AFTER, tmp_path / "two.parquet")
    error = fail("transitions", other, path, *COLUMNS, "--output", path)
    assert error.startswith("--output: expected a file other than the input")
    error = fail("transitions", other, path, *COLUMNS, "--format", "parquet")
    assert error.startswith("--format parquet needs --output")
