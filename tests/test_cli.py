"""The command line: what it prints, what it writes, and one line for every mistake."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest
from compare import assert_rows
from engines import quoted

from polars_clustereval import cli
from polars_clustereval.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., str]
    Fail = Callable[..., str]

EXAMPLES = Path(__file__).parent.parent / "examples"
IRIS = str(EXAMPLES / "iris.parquet")
RUNS = str(EXAMPLES / "digits_runs.parquet")
KMEANS = ("--label", "species", "--cluster", "kmeans")
CLUSTER = ("--label", "digit", "--cluster", "cluster")
WINGS = ("duckdb", "polars")

FRAME = pl.DataFrame(
    {
        "species": ["a", "a", "b", "b", None],
        "cluster": [0, 0, 1, -1, 1],
        "run": ["x", "x", "y", "y", "y"],
        "n": [1, 2, 1, 1, 1],
        "half": [0.5, 1.0, 1.0, 1.0, 1.0],
    }
)
ODD = 'a "quoted", it\'s größe'


@pytest.fixture(params=WINGS)
def wing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str | Path) -> str:
        assert main([str(argument) for argument in arguments]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        return out

    return call


@pytest.fixture
def fail(capfd: pytest.CaptureFixture[str]) -> Fail:
    """Call for an error, which is given without the program's name."""

    def call(*arguments: str | Path) -> str:
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        out, err = capfd.readouterr()
        assert (status, out) == (2, "")
        assert re.fullmatch(r"clustereval: error: .+\n", err)
        return err.removeprefix("clustereval: error: ").removesuffix("\n")

    return call


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "frame.parquet"
    FRAME.write_parquet(path)
    return path


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = str(tmp_path / "store.duckdb")
    with duckdb.connect(path) as connection:
        connection.register("frame", FRAME)
        connection.execute(f"CREATE SCHEMA other; CREATE TABLE {quoted(ODD)} AS FROM frame")
        connection.execute("CREATE TABLE rows AS FROM frame; CREATE TABLE other.rows AS FROM rows")
        connection.execute("CREATE VIEW seen AS FROM rows")
        connection.execute('CREATE TABLE "main.dots" AS FROM rows')
    return path


def values(table: str) -> dict[str, list[str]]:
    """The metrics of a terminal table, with the words after each."""
    return {
        words[0]: words[1:]
        for line in table.splitlines()
        if line.startswith("  ") and (words := line.split())
    }


def report(run: Run, file: str | Path, *arguments: str | Path) -> list[dict[str, object]]:
    rows = json.loads(run("external", file, *arguments, "--format", "json"))
    assert isinstance(rows, list)
    return rows


# Tables


def test_iris(run: Run, wing: str) -> None:
    shown = values(run("external", IRIS, *KMEANS, "--engine", wing))
    expected = {
        "n": "150",
        "rand_score": "0.879732",
        "adjusted_rand_score": "0.730238",
        "adjusted_mutual_info_score": "0.755119",
        "fowlkes_mallows_score": "0.820808",
        "mirkin_metric": "2688",
    }
    assert {metric: shown[metric][0] for metric in expected} == expected


def test_every_metric_stands_in_its_group(run: Run) -> None:
    table = run("external", IRIS, *KMEANS)
    [row] = report(run, IRIS, *KMEANS)
    assert list(values(table)) == list(row)
    groups = [line for line in table.splitlines()[3:] if line and not line.startswith(" ")]
    assert groups == ["counts", "pair counting", "information", "set matching"]


def test_the_tables_of_the_command_line_name_metrics() -> None:
    names = {*cli._TITLES, *cli._MEANINGS, *cli._COMPARED}
    columns = {*cli.ROW_COUNTS, *cli._scores("arithmetic", 1.0, adjusted=True)}
    assert names <= columns


def test_every_headline_has_a_meaning(run: Run) -> None:
    table = run("external", IRIS, *KMEANS)
    for metric, meaning in cli._MEANINGS.items():
        assert re.search(rf"^  {metric} +[\d.]+  {re.escape(meaning)}$", table, re.MULTILINE)


@pytest.mark.parametrize("columns", ["72", "80", "200"])
def test_a_table_fits_the_screen(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table = run("external", IRIS, *KMEANS)
    assert max(map(len, table.splitlines())) <= int(columns)
    assert values(table)["normalized_variation_of_information"] == ["0.389466"]


def test_few_partitions_stand_side_by_side(run: Run, wing: str) -> None:
    arguments = (RUNS, *CLUSTER, "--partition-by", "k", "--engine", wing)
    table = run("external", *arguments)
    assert "\nk " in table
    assert re.search(r"^k +5 +8 +10 +12 +20$", table, re.MULTILINE)
    rows = report(run, *arguments)
    shown = values(table)
    assert shown["purity"] == [f"{row['purity']:.6f}" for row in rows]
    assert list(shown) == list(rows[0])[1:]


def test_many_partitions_stand_below_each_other(run: Run, wing: str) -> None:
    arguments = (RUNS, *CLUSTER, "--partition-by", "k,seed", "--engine", wing)
    table = run("external", *arguments)
    lines = re.findall(r"^(\d+) +(\d) +1797 +(\d+) +(\S+)", table, re.MULTILINE)
    assert lines == [
        (
            str(row["k"]),
            str(row["seed"]),
            str(row["n_clusters"]),
            f"{row['adjusted_rand_score']:.6f}",
        )
        for row in report(run, *arguments)
    ]
    assert len(lines) == 20
    assert "agreement on pairs: 0 is chance, 1 is best" in table
    assert "all 48 columns: --format csv" in table


def test_null_and_nothing(run: Run, wing: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    FRAME.clear().write_parquet(path)
    arguments = ("external", path, "--label", "species", "--cluster", "cluster", "--engine", wing)
    shown = values(run(*arguments))
    assert (shown["n"][0], shown["purity"][0]) == ("0", "NULL")
    assert "run" in run(*arguments, "--partition-by", "run")
    [row] = json.loads(run(*arguments, "--format", "json"))
    assert (row["n"], row["purity"]) == (0, None)


def test_a_null_partition(run: Run, wing: str, tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    FRAME.with_columns(run=pl.lit(None, pl.String)).write_parquet(path)
    columns = ("--label", "species", "--cluster", "cluster", "--partition-by", "run")
    table = run("external", path, *columns, "--engine", wing)
    assert re.search(r"^run +NULL$", table, re.MULTILINE)


# Formats


def test_formats_agree(run: Run, wing: str, tmp_path: Path) -> None:
    arguments = ("external", RUNS, *CLUSTER, "--partition-by", "run", "--engine", wing)
    rows = json.loads(run(*arguments, "--format", "json"))
    from_csv = pl.read_csv(io.StringIO(run(*arguments, "--format", "csv")))
    assert_rows(from_csv.rows(named=True), rows)
    path = tmp_path / "report.parquet"
    assert run(*arguments, "--output", path) == ""
    assert_rows(pl.read_parquet(path).rows(named=True), rows)
    assert list(rows[0])[:3] == ["run", "n", "n_dropped"]


def test_both_engines_agree(run: Run) -> None:
    options = ("--weight", "seed", "--partition-by", "k", "--noise", "0", "--noise-as")
    for way in ("cluster", "drop", "singletons"):
        one, other = (report(run, RUNS, *CLUSTER, *options, way, "--engine", w) for w in WINGS)
        assert [row["k"] for row in one] == [5, 8, 10, 12, 20]
        assert_rows(one, other)


def test_the_ending_of_the_output_is_its_format(run: Run, tmp_path: Path) -> None:
    for name, start in (("r.json", "[{"), ("r.csv", "n,n_dropped"), ("r.txt", IRIS)):
        run("external", IRIS, *KMEANS, "--output", tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    run("external", IRIS, *KMEANS, "--output", tmp_path / "r.txt", "--format", "csv")
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
    assert fail("external", IRIS, *KMEANS, "--output", output) == "report: No space left on device"
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]
    assert output.read_text(encoding="utf-8") == "before"


def test_an_output_that_is_no_file(run: Run) -> None:
    assert run("external", IRIS, *KMEANS, "--output", "/dev/null") == ""
    assert Path("/dev/null").is_char_device()


# Input


@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.csv.gz", "f.CSV", "odd [1]*'s.csv"])
def test_text_files(run: Run, wing: str, parquet: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = FRAME.write_csv(separator="\t" if "tsv" in name else ",").encode()
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    columns = ("--label", "species", "--cluster", "cluster", "--weight", "n", "--engine", wing)
    assert_rows(report(run, path, *columns), report(run, parquet, *columns))


def test_a_text_file_of_texts(run: Run, wing: str, tmp_path: Path) -> None:
    """A header of texts above texts, a hash sign, and a text after many numbers."""
    path = tmp_path / "texts.csv"
    path.write_text("label,cluster\n#a,007\n#a,007\n" + "b,8\n" * 30_000 + "b,none\n", "utf-8")
    columns = ("--label", "label", "--cluster", "cluster", "--noise", "007", "--engine", wing)
    [row] = report(run, path, *columns)
    assert (row["n"], row["n_labels"], row["n_clusters"], row["n_noise"]) == (30_003, 2, 3, 2)


@pytest.mark.parametrize("table", ["rows", "main.rows", "other.rows", "seen", "main.dots", ODD])
def test_tables_of_a_database(
    run: Run, wing: str, parquet: Path, database: str, table: str
) -> None:
    columns = ("--label", "species", "--cluster", "cluster", "--weight", "n")
    columns += ("--partition-by", "run", "--engine", wing)
    found = report(run, f"{database}::{table}", *columns)
    assert_rows(found, report(run, parquet, *columns))
    assert [row["run"] for row in found] == ["x", "y"]


def test_a_database_is_only_read(run: Run, wing: str, database: str) -> None:
    path = Path(database)
    before = path.read_bytes()
    path.chmod(0o444)
    report(run, f"{database}::rows", "--label", "species", "--cluster", "cluster", "--engine", wing)
    assert path.read_bytes() == before


def test_columns_of_any_name(run: Run, wing: str, parquet: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    names = {"species": ODD, "cluster": "select", "run": "partition_key", "n": "a,b"}
    FRAME.rename(names).write_parquet(path)
    for old, new in (("run", "partition_key"), ("species", ODD)):
        rows = report(
            run, path, "--label", ODD, "--cluster", "select", "--weight", "a,b",
            "--partition-by", new, "--engine", wing,
        )  # fmt: skip
        plain = report(
            run, parquet, "--label", "species", "--cluster", "cluster", "--weight", "n",
            "--partition-by", old, "--engine", wing,
        )  # fmt: skip
        assert [row.pop(new) for row in rows] == [row.pop(old) for row in plain]
        assert_rows(rows, plain)


# Options


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
    run: Run, wing: str, tmp_path: Path, dtype: type[pl.DataType], noise: str
) -> None:
    path = tmp_path / "noisy.parquet"
    FRAME.with_columns(pl.col("cluster").cast(dtype)).write_parquet(path)
    columns = ("--label", "species", "--cluster", "cluster", "--noise", noise)
    [row] = report(run, path, *columns, "--noise-as", "drop", "--engine", wing)
    assert (row["n"], row["n_noise"], row["n_dropped"]) == (3, 1, 1)


def test_options_reach_the_engine(run: Run, wing: str) -> None:
    plain, tuned = (
        report(run, IRIS, *KMEANS, "--engine", wing, *options)[0]
        for options in ((), ("--beta", "2.5", "--average-method", "joint", "--no-adjusted"))
    )
    assert plain.keys() - tuned.keys() == {"adjusted_mutual_info_score", "expected_mutual_info"}
    changed = {name for name in tuned if plain[name] != pytest.approx(tuned[name], rel=1e-9)}
    assert changed == {
        "pair_f_score", "v_measure_score", "bcubed_f_score", "normalized_mutual_info_score",
    }  # fmt: skip
    assert "adjusted_mutual_info" not in run("external", IRIS, *KMEANS, "--no-adjusted")


def test_sql_is_the_bundle(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "clustereval.sql"
    assert run("sql", "--output", path) == ""
    assert path.read_text(encoding="utf-8") == run("sql")
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
        (["sql", "--help"], "--output"),
    ],
)
def test_help(capfd: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    assert words in capfd.readouterr().out


# Mistakes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: COMMAND"),
        (["internal"], "invalid choice: 'internal'"),
        (["external"], "required: FILE, --label, --cluster"),
        (["external", IRIS, "--label", "species"], "required: --cluster"),
        (["external", IRIS, *KMEANS, "--engine", "spark"], "--engine: invalid choice: 'spark'"),
        (["external", IRIS, *KMEANS, "--format", "xml"], "--format: invalid choice: 'xml'"),
        (["external", IRIS, *KMEANS, "--beta", "two"], "--beta: invalid number value: 'two'"),
        (["external", IRIS, *KMEANS, "--format", "parquet"], "--format parquet needs --output"),
        (["external", IRIS, *KMEANS, "--colour", "red"], "unrecognized arguments: --colour red"),
        (["external", "none.parquet", *KMEANS], "none.parquet: no such file"),
        (["external", str(EXAMPLES), *KMEANS], "expected a file, got a directory"),
        (["external", __file__, *KMEANS], "expected a file that ends in .parquet, .csv,"),
        (["external", f"{IRIS}::rows", *KMEANS], "expected a DuckDB database before '::'"),
        (["sql", "--output", "no/such/file"], "no/such: no such directory"),
        (["external", IRIS, *KMEANS, "--output", "no/such/file"], "no/such: no such directory"),
        (["external", IRIS, *KMEANS, "--output", str(EXAMPLES)], "Is a directory"),
    ],
)
def test_mistakes_of_the_call(fail: Fail, arguments: list[str], words: str) -> None:
    assert words in fail(*arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--label", "specie"], "label: column 'specie' not found; did you mean 'species'?"),
        (["--cluster", "zzz"], "cluster: column 'zzz' not found; columns: species, cluster, run"),
        (["--weight", "m"], "weight: column 'm' not found"),
        (
            ["--partition-by", "run,ruin"],
            "partition_by: column 'ruin' not found; did you mean 'run'",
        ),
        (["--partition-by", "run,run"], "partition_by: 'run' is given twice"),
        (["--partition-by", "n"], "partition_by: 'n' is also a column of the result; rename it"),
        (["--weight", "half"], "weight: expected whole numbers >= 0, got 0.5; a weight is how"),
        (["--weight", "species"], "weight: expected whole numbers >= 0, got "),
        (["--weight", "cluster"], "weight: expected whole numbers >= 0, got -1"),
        (["--noise", "abc"], "noise: expected a value of the type of cluster (BIGINT), got 'abc'"),
        (
            ["--noise", "-1.5"],
            "noise: expected a value of the type of cluster (BIGINT), got '-1.5'",
        ),
        (["--noise", "9" * 30], "noise: expected a value of the type of cluster (BIGINT), got '99"),
        (["--noise-as", "drop"], "noise_as 'drop' needs noise: give the value of cluster"),
        (["--noise-as", "x"], "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'x'"),
        (["--average-method", "mean"], "'max', 'joint', got 'mean'"),
        (["--average-method", "joint"], "has no adjusted form: use --no-adjusted, or another"),
        (["--beta", "-1"], "beta: expected a number >= 0, got -1"),
        (["--beta", "nan"], "beta: expected a number >= 0, got nan"),
    ],
)
def test_mistakes_about_the_data(
    fail: Fail, wing: str, parquet: Path, options: list[str], words: str
) -> None:
    columns = ["--label", "species", "--cluster", "cluster"]
    error = fail("external", parquet, *columns, *options, "--engine", wing)
    assert error.startswith(f"{parquet}: ")
    assert words in error


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text.parquet", b"label,cluster\n"),
        ("empty.parquet", b""),
        ("empty.csv", b""),
        ("ragged.csv", b"label,cluster\na,1\nb,2,3\nc\n"),
        ("latin.csv", b"label,cluster\n\xff\xfe,1\nb,2\n"),
        ("semicolons.csv", b"label;cluster\na;1\n"),
    ],
)
def test_unreadable_files(fail: Fail, wing: str, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    error = fail("external", path, "--label", "label", "--cluster", "cluster", "--engine", wing)
    assert error.startswith(f"{path}: ")


def test_a_missing_table(fail: Fail, wing: str, database: str) -> None:
    columns = ("--label", "species", "--cluster", "cluster", "--engine", wing)
    error = fail("external", f"{database}::row", *columns)
    assert error.startswith(f"{database}: table 'row' not found; tables: ")
    assert all(table in error for table in ("rows", "seen", "other.rows"))
    assert "as store.duckdb::table" in fail("external", database, *columns).replace(
        database, "store.duckdb"
    )


def test_a_broken_database(fail: Fail, wing: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.duckdb"
    path.write_bytes(b"12345678DUCK" + b"x" * 5000)
    error = fail("external", f"{path}::rows", *KMEANS, "--engine", wing)
    assert error.startswith(f"{path}: ")


# Processes


def start(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "polars_clustereval.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=EXAMPLES.parent,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )


def test_a_process(run: Run, wing: str, tmp_path: Path) -> None:
    """Nothing on standard error, from the libraries neither; UTF-8 whatever the terminal says."""
    path = tmp_path / "größe.csv"
    path.write_text("species,kmeans\nä,1\nb,2\n", encoding="utf-8")
    arguments = ("external", str(path), *KMEANS, "--engine", wing)
    out, err = start(*arguments).communicate()
    assert err == b""
    assert out.decode() == run(*arguments)


def test_a_failing_process(wing: str) -> None:
    process = start("external", IRIS, *KMEANS, "--weight", "petal_width", "--engine", wing)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert re.fullmatch(rb"clustereval: error: .*weight: expected whole numbers.*\n", err)


def test_a_reader_that_goes_away() -> None:
    process = start("sql")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 0
    process.stderr.close()
