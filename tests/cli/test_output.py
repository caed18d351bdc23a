"""Formats and files that the command line writes."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.support.command_line import (
    CLUSTER,
    DUCKDB_AT_THE_GATE,
    ENGINE_NAMES,
    FLOWERS,
    IRIS,
    KMEANS,
    QUICK,
    RUNS,
    Fail,
    Run,
    assert_scores_of_points,
    json_rows,
    report_rows,
)
from tests.support.compare import assert_rows


@DUCKDB_AT_THE_GATE
@pytest.mark.parametrize(
    ("call", "key"),
    [(("external", RUNS, *CLUSTER), "run"), (("internal", IRIS, *FLOWERS), "species")],
    ids=["labels", "points"],
)
def test_formats_agree(
    run: Run, engine_name: str, tmp_path: Path, call: tuple[str, ...], key: str
) -> None:
    call = (*call, "--partition-by", key, "--engine", engine_name)
    rows = json_rows(run, *call)
    from_csv = pl.read_csv(io.StringIO(run(*call, "--format", "csv")))
    assert_rows(from_csv.rows(named=True), rows)
    path = tmp_path / "report.parquet"
    assert run(*call, "--output", path) == ""
    assert_rows(pl.read_parquet(path).rows(named=True), rows)
    assert list(rows[0])[:3] == [key, "n", "n_dropped"]


@pytest.mark.gate
@pytest.mark.parametrize(
    "options",
    [
        ("--distance", "Cosine"),
        ("--distance", "minkowski", "--p", "1.5", "--weights", "1,2,0.5,3"),
        ("--distance", "cityblock", "--center", "median", "--partition-by", "species"),
        ("--noise", "0", "--noise-as", "drop"),
        ("--noise", "0", "--noise-as", "singletons", "--partition-by", "species,agglomerative"),
    ],
)
def test_both_engines_agree_on_points(run: Run, options: tuple[str, ...]) -> None:
    one, other = (
        report_rows(run, IRIS, *FLOWERS, *options, "--engine", name, of="internal")
        for name in ENGINE_NAMES
    )
    assert_scores_of_points(one, other)
    assert one != report_rows(run, IRIS, *FLOWERS, *QUICK, of="internal")


@pytest.mark.gate
def test_both_engines_agree(run: Run) -> None:
    options = ("--weight", "seed", "--partition-by", "k", "--noise", "0", "--noise-as")
    for way in ("cluster", "drop", "singletons"):
        one, other = (
            report_rows(run, RUNS, *CLUSTER, *options, way, "--engine", name)
            for name in ENGINE_NAMES
        )
        assert [row["k"] for row in one] == [5, 8, 10, 12, 20]
        assert_rows(one, other)


def test_the_ending_of_the_output_is_its_format(run: Run, tmp_path: Path) -> None:
    for name, start in (("r.json", "[{"), ("r.csv", "n,n_dropped"), ("r.txt", IRIS)):
        run("external", IRIS, *KMEANS, *QUICK, "--output", tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    run("external", IRIS, *KMEANS, *QUICK, "--output", tmp_path / "r.txt", "--format", "csv")
    assert (tmp_path / "r.txt").read_text(encoding="utf-8").startswith("n,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.csv", "r.json", "r.txt"]


def test_nothing_is_left_of_a_failed_output(
    fail: Fail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "report")

    output = tmp_path / "report.csv"
    output.write_text("before", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", full)
    said = fail("external", IRIS, *KMEANS, *QUICK, "--output", output)
    assert said == "report: No space left on device"
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]
    assert output.read_text(encoding="utf-8") == "before"


def test_an_output_that_is_no_file(run: Run) -> None:
    assert run("external", IRIS, *KMEANS, *QUICK, "--output", os.devnull) == ""
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("link", ["", "symlink", "hard link"])
@pytest.mark.parametrize("name", ["f.csv", "f.parquet", "f.duckdb"])
def test_the_output_is_not_the_input(fail: Fail, tmp_path: Path, name: str, link: str) -> None:
    path = output = tmp_path / name
    if name == "f.duckdb":
        with duckdb.connect(path) as connection:
            connection.execute("CREATE TABLE rows AS SELECT 'a' AS species, 1 AS kmeans")
    elif name == "f.csv":
        path.write_text("species,kmeans\na,1\n", "utf-8")
    else:
        shutil.copy(IRIS, path)
    if link:
        output = tmp_path / "link"
        (output.symlink_to if link == "symlink" else output.hardlink_to)(path)
    before = path.read_bytes()
    file = f"{path}::rows" if name == "f.duckdb" else path
    said = fail("external", file, *KMEANS, "--output", output)
    assert said == f"--output: expected a file other than the input, got {output}"
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o444])
def test_a_replaced_output_keeps_its_mode(run: Run, tmp_path: Path, mode: int) -> None:
    output, link, new = (tmp_path / name for name in ("r.csv", "link.csv", "new.csv"))
    output.write_text("before", encoding="utf-8")
    output.chmod(mode)
    link.symlink_to(output)
    for path in (output, link, new):
        run("external", IRIS, *KMEANS, *QUICK, "--output", path)
    assert output.stat().st_mode & 0o777 == mode
    assert link.is_symlink()
    (plain := tmp_path / "plain").touch()
    assert new.stat().st_mode == plain.stat().st_mode
    assert output.read_text(encoding="utf-8").startswith("n,n_dropped")


def test_a_draft_that_exists_is_left_alone(fail: Fail, tmp_path: Path) -> None:
    """A link with the draft's name, planted in a folder that others can write to."""
    victim, planted = tmp_path / "victim", tmp_path / f".r.csv.{os.getpid()}"
    victim.write_text("before", encoding="utf-8")
    planted.symlink_to(victim)
    said = fail("external", IRIS, *KMEANS, *QUICK, "--output", tmp_path / "r.csv")
    assert said == f"{planted}: File exists"
    assert planted.is_symlink()
    assert victim.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize("name", ["r.xlsx", "r", "r.csv.gz"])
def test_an_unknown_ending_of_the_output(fail: Fail, run: Run, tmp_path: Path, name: str) -> None:
    output = tmp_path / name
    call = ("external", IRIS, *KMEANS, *QUICK, "--output", output)
    assert fail(*call) == (
        f"--output: expected a file that ends in .txt, .json, .csv, .parquet, got {output}; "
        "or give --format"
    )
    assert not output.exists()
    run(*call, "--format", "csv")
    assert output.read_text(encoding="utf-8").startswith("n,")


def test_standard_output_by_name(
    run: Run, fail: Fail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ("external", IRIS, *KMEANS, *QUICK)
    assert run(*call, "--output", "-") == run(*call)
    assert run(*call, "--output", "-", "--format", "csv").startswith("n,n_dropped")
    assert run("sql", "--output", "-") == run("sql")
    assert list(tmp_path.iterdir()) == []
    assert "--format parquet needs --output" in fail(*call, "--format=parquet", "--output=-")


@pytest.mark.parametrize(("command", "column"), [("clusters", "joined"), ("labels", "split")])
def test_counts_are_numbers_in_json(run: Run, engine_name: str, command: str, column: str) -> None:
    rows = report_rows(run, IRIS, *KMEANS, "--engine", engine_name, of=command)
    assert {type(row[f"{column}_pairs"]) for row in rows} == {int}


def test_pairs_of_points_are_numbers_in_json(run: Run, engine_name: str) -> None:
    [row] = report_rows(run, IRIS, *FLOWERS, "--engine", engine_name, of="pairwise")
    assert (row["n_within_pairs"], row["n_between_pairs"]) == (3819, 7356)


FORMULAS = ["=1+1", "+1", "-2", "@SUM(A1)", "\tx", "\ry", "a=1", "1-2", "'x", "b", ""]


@DUCKDB_AT_THE_GATE
def test_formulas_are_quoted_in_csv(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rows = {"label": FORMULAS, "cluster": FORMULAS, "=x": FORMULAS, "day": [-1] * len(FORMULAS)}
    pl.DataFrame(rows).write_parquet(path)
    columns = ("--label", "label", "--cluster", "cluster", "--partition-by", "=x,day")
    arguments = ("clusters", path, *columns, "--engine", engine_name, "--format", "csv")
    plain = pl.read_csv(io.StringIO(run(*arguments)), infer_schema=False)
    quoted = pl.read_csv(io.StringIO(run(*arguments, "--quote-formulas")), infer_schema=False)
    assert plain.columns[:3] == ["=x", "day", "cluster"]
    assert quoted.columns[:3] == ["'=x", "day", "cluster"]
    begins_formula = pl.col("cluster").str.contains(r"^[=+@\t\r-]")
    expected = plain.select(
        pl.when(begins_formula).then("'" + pl.col("cluster")).otherwise("cluster")
    )
    assert quoted["cluster"].to_list() == expected.to_series().to_list()
    assert quoted["'=x"].to_list() == quoted["cluster"].to_list()
    assert set(quoted["day"]) == {"-1"}
    changed = (quoted["cluster"] != plain["cluster"]).sum()
    assert changed == 6


def test_formulas_of_other_formats_are_not_quoted(fail: Fail, tmp_path: Path) -> None:
    words = "--quote-formulas works only with --format csv, not with {}: drop one"
    arguments = ("external", IRIS, *KMEANS, "--quote-formulas")
    assert fail(*arguments) == words.format("table")
    assert fail(*arguments, "--format", "json") == words.format("json")
    assert fail(*arguments, "--output", tmp_path / "a.parquet") == words.format("parquet")
    transitions = ("transitions", IRIS, IRIS, "--id", "id", "--cluster", "kmeans")
    assert fail(*transitions, "--quote-formulas") == words.format("table")
