"""Options of the command line, and the commands without a report."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.cli import main
from polars_clustereval.cli.arguments import make_parser
from polars_clustereval.cli.engines import ENGINES
from polars_clustereval.cli.options import Options
from tests.support.command_line import (
    CALLS,
    ENGINE_NAMES,
    ENGINE_NOTE,
    EXAMPLES,
    FLOWERS,
    FRAME,
    IRIS,
    KMEANS,
    Fail,
    Noted,
    Run,
    json_rows,
    report_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polars_clustereval.cli.options import Call
    from polars_clustereval.cli.sources import Source


@pytest.mark.parametrize(
    ("dtype", "noise"),
    [
        (pl.Int64, "-1"),
        (pl.Int64, "-1.0"),
        (pl.Float64, "-1"),
        (pl.Float64, "-1.0"),
        (pl.String, "-1"),
    ],
)
def test_noise_has_the_type_of_its_column(
    run: Run, engine_name: str, tmp_path: Path, dtype: type[pl.DataType], noise: str
) -> None:
    path = tmp_path / "noisy.parquet"
    FRAME.with_columns(pl.col("cluster").cast(dtype)).write_parquet(path)
    columns = ("--label", "species", "--cluster", "cluster", "--noise", noise)
    [row] = report_rows(run, path, *columns, "--noise-as", "drop", "--engine", engine_name)
    assert (row["n"], row["n_noise"], row["n_dropped"]) == (3, 1, 1)


def test_options_reach_the_engine(run: Run, engine_name: str) -> None:
    plain, tuned = (
        report_rows(run, IRIS, *KMEANS, "--engine", engine_name, *options)[0]
        for options in ((), ("--beta", "2.5", "--average-method", "joint", "--no-adjusted"))
    )
    assert plain.keys() - tuned.keys() == {"adjusted_mutual_info_score", "expected_mutual_info"}
    changed = {name for name in tuned if plain[name] != pytest.approx(tuned[name], rel=1e-9)}
    assert changed == {
        "pair_f_score", "v_measure_score", "bcubed_f_score", "normalized_mutual_info_score",
    }  # fmt: skip
    assert "adjusted_mutual_info" not in run("external", IRIS, *KMEANS, "--no-adjusted")


@pytest.mark.gate
def test_generalized_indices_of_dunn(run: Run, engine_name: str) -> None:
    """Without the option they are NULL, and the terminal leaves them out."""
    call = ("dunn", IRIS, *FLOWERS, "--engine", engine_name)
    [row] = json_rows(run, *call)
    [full] = json_rows(run, *call, "--generalized")
    generalized = {name for name in row if name.startswith("gdi_")}
    assert len(generalized) == 18
    assert {row[name] for name in generalized} == {None}
    assert None not in full.values()
    others = row.keys() - generalized
    assert {x: row[x] for x in others} == pytest.approx({x: full[x] for x in others}, rel=1e-12)
    assert ("gdi_11" in run(*call), "gdi_11" in run(*call, "--generalized")) == (False, True)
    assert "gdi_11" not in run(*call, "--partition-by", "species")


def test_sql_is_the_bundle(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "clustereval.sql"
    assert run("sql", "--output", path) == ""
    assert path.read_text(encoding="utf-8") == run("sql") == ce.bundle()


@pytest.mark.gate
def test_the_sql_runs(run: Run) -> None:
    with duckdb.connect() as connection:
        connection.execute(run("sql"))
        query = f"SELECT clustereval.rand_score(species, kmeans) FROM '{IRIS}'"
        assert connection.execute(query).fetchone() == pytest.approx((0.879732,), abs=5e-7)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--version"], "clustereval 0.1.0"),
        (["--help"], "external"),
        (["external", "--help"], "--noise-as"),
        (["internal", "--help"], "--vector COLUMNS"),
        (["sql", "--help"], "--output"),
    ],
)
def test_help(capfd: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert words in capfd.readouterr().out


def test_the_version_beside_another_project_of_the_name(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "clustereval-0.2.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: clustereval\nVersion: 0.2\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    printed = " ".join(capfd.readouterr().out.split())
    assert printed.startswith("clustereval 0.1.0, the command of polars_clustereval. The distr")
    assert "clustereval 0.2 is installed, too, and is another project" in printed
    assert printed.endswith("run python -m polars_clustereval")


def test_no_command_prints_the_usage(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("usage: clustereval")
    for command in (*CALLS, "sql"):
        assert re.search(rf"^    {command}\s", err, re.MULTILINE)


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (("run", "half"), ["run", "half"]),
        (("run , half ",), ["run", "half"]),
        (("run, half", "a,b"), ["run", "half", "a,b"]),
        ((" r,run",), [" r", "run"]),
    ],
)
def test_columns_of_a_list_add_up_and_are_trimmed(
    run: Run, engine_name: str, tmp_path: Path, keys: tuple[str, ...], names: list[str]
) -> None:
    """A name with blanks, or with a comma, is taken as it is."""
    path = tmp_path / "odd.parquet"
    FRAME.with_columns(pl.col("run").alias(" r"), pl.col("n").alias("a,b")).write_parquet(path)
    options = [option for key in keys for option in ("--partition-by", key)]
    call = (path, "--label", "species", "--cluster", "cluster", "--engine", engine_name)
    rows = report_rows(run, *call, *options)
    assert list(rows[0])[: len(names) + 1] == [*names, "n"]


def call_on_terminal(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[int, str]:
    """Call with a terminal as standard error: the exit status and what is written to it."""
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    return main(arguments), screen.getvalue()


@pytest.fixture
def engines_used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the engines that are used, in their order; the rows are those of Polars."""
    used: list[str] = []
    run_in_polars = ENGINES["polars"]

    def make_engine(name: str) -> Callable[..., pl.DataFrame]:
        def run_engine(
            sources: list[Source], call: Call, columns: list[str] | None = None
        ) -> pl.DataFrame:
            used.append(name)
            return run_in_polars(sources, call, columns)

        return run_engine

    for name in ENGINE_NAMES:
        monkeypatch.setitem(ENGINES, name, make_engine(name))
    return used


@pytest.mark.parametrize("command", CALLS)
def test_the_engine_is_chosen_by_the_job(
    noted: Noted, monkeypatch: pytest.MonkeyPatch, engines_used: list[str], command: str
) -> None:
    """A note says it, but only on a terminal."""
    call = CALLS[command]
    is_of_pairs = command in ("silhouette", "samples", "dunn", "pairwise")
    note = ENGINE_NOTE if is_of_pairs else ""
    if command == "matching":
        note = ENGINE_NOTE.replace("distances between points", "this report")
    assert noted(command, *call)[1] == ""
    assert call_on_terminal(monkeypatch, command, *call) == (0, note)
    assert call_on_terminal(monkeypatch, command, *call, "--engine", "duckdb") == (0, "")
    assert engines_used == [*["polars" if note else "duckdb"] * 2, "duckdb"]


@pytest.mark.gate
@pytest.mark.parametrize("command", CALLS)
def test_engines_write_no_notes(
    noted: Noted, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    call = (command, *CALLS[command])
    assert noted(*call)[1] == ""
    assert call_on_terminal(monkeypatch, *call, "--engine", "duckdb") == (0, "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--partition-by", "ruin"), f"{IRIS}: partition_by: column 'ruin' not found; columns: "),
        (("--output", str(EXAMPLES), "--format", "csv"), f"{EXAMPLES}: Is a directory\n"),
    ],
)
def test_an_error_on_a_terminal_is_one_line(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    status, err = call_on_terminal(monkeypatch, "dunn", *CALLS["dunn"], *options)
    assert status == 2
    assert err.startswith(f"clustereval: error: {words}")
    assert err.count("\n") == 1


PLACES = pytest.mark.parametrize(
    ("options", "setup", "call", "word"),
    [
        ((), "", "clustereval.version()", "clustereval.adjusted_rand_score("),
        (("--schema", "My s"), "", '"My s".version()', '"My s".external_report('),
        (("--temporary",), "", "clustereval_version()", "clustereval_external_report("),
        (("--temporary", "--schema", "My s"), "", '"My s_version"()', '"My s_external_report"('),
        (
            ("--database", "db", "--schema", "s"),
            "ATTACH ':memory:' AS db",
            "db.s.version()",
            "ATTACH 'FILE' AS db;",
        ),
    ],
)


def count_macros(text: str, setup: str, call: str) -> int:
    """Create macros, of which `call` returns the version, and count those that the head finds."""
    condition = text.split("\n\n")[0].split("WHERE ")[1].removesuffix(";")
    with duckdb.connect() as connection:
        connection.execute(setup)
        connection.execute(text)
        assert connection.execute(f"SELECT {call}").fetchone() == (ce.__version__,)
        query = f"SELECT count(*) FROM duckdb_functions() WHERE {condition}"
        [n] = connection.execute(query).fetchall()[0]
    return int(n)


@PLACES
def test_sql_of_another_place(
    run: Run, options: tuple[str, ...], setup: str, call: str, word: str
) -> None:
    text = run("sql", *options)
    head, _, body = text.partition("\n\n")
    assert all(line.startswith("--") for line in head.splitlines())
    assert head.startswith(f"-- clustereval {ce.__version__}: ")
    assert word in head
    # Of the macros only the version, whose call in SQL is the same except for the signature.
    schema = re.findall(r"^CREATE SCHEMA .*;$", body, re.MULTILINE)
    version = re.findall(r"^C.* MACRO .*version.*;$", body, re.MULTILINE)
    assert len(version) == 2
    assert count_macros("\n".join([f"{head}\n", *schema, *version]), setup, call) == 1


@pytest.mark.gate
@PLACES
def test_sql_of_another_place_runs(
    run: Run, options: tuple[str, ...], setup: str, call: str, word: str
) -> None:
    assert count_macros(run("sql", *options), setup, call) > 60, word


@pytest.mark.gate
@pytest.mark.parametrize(
    ("file", "options", "name"),
    [
        pytest.param("macros.duckdb", (), "clustereval", marks=pytest.mark.gate),
        ("macros.DB", ("--schema", "My s"), '"My s"'),
    ],
)
def test_sql_as_a_database(
    run: Run, tmp_path: Path, file: str, options: tuple[str, ...], name: str
) -> None:
    path = tmp_path / file
    assert run("sql", "--database", path, *options) == ""
    assert [found.name for found in tmp_path.iterdir()] == [file]
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS {name} (READ_ONLY)")
        query = f"SELECT {name}.version(), {name}.rand_score(species, kmeans) FROM '{IRIS}'"
        version, score = connection.execute(query).fetchall()[0]
        assert (version, round(score, 6)) == (ce.__version__, 0.879732)


def test_sql_overwrites_no_database(fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "mine.duckdb"
    path.write_text("mine")
    words = "the file exists and is not overwritten: delete it, or give another name"
    assert fail("sql", "--database", path) == f"{path}: {words}"
    assert path.read_text() == "mine"
    away = tmp_path / "missing" / "a.duckdb"
    assert fail("sql", "--database", away) == f"{away.parent}: no such directory"
    new = tmp_path / "new.duckdb"
    for option, given in (("--temporary", ()), ("--output", ("a.sql",))):
        words = f"{option} cannot be combined with --database {new}, which is a file to write"
        assert fail("sql", "--database", new, option, *given) == f"{words}: drop one"
    assert fail("sql", "--database", new, "--schema", "main") == (
        "name: DuckDB itself has a database or schema named 'main'; give another name"
    )
    assert not new.exists()


def test_mistakes_with_sql(fail: Fail) -> None:
    expected = "temporary macros belong to no database: leave out database, or temporary"
    assert fail("sql", "--temporary", "--database", "db") == expected
    assert fail("sql", "--schema", "") == (
        "schema: expected a name without line breaks or control characters, got ''"
    )


def test_options_are_made_once(tmp_path: Path) -> None:
    parsed = make_parser().parse_args(["external", IRIS, *KMEANS, "--beta", "2"])
    options = Options.read(parsed, tmp_path)
    call = options.call(options.report)
    assert (options.values["beta"], call.arguments["beta"]) == (2, 2)
    for record in (options, call, call.report):
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'engine'"):
            record.engine = "polars"  # type: ignore[misc]
    with pytest.raises(TypeError, match="does not support item assignment"):
        options.values["beta"] = 1  # type: ignore[index]
