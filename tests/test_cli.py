"""The command line: what it prints, what it writes, and one line for every mistake."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.cli import main, progress
from polars_clustereval.cli.arguments import OPTIONS
from polars_clustereval.cli.reports import REPORTS
from polars_clustereval.cli.terminal import render_table
from polars_clustereval.internal.kernels import threads
from tests.support import point_engines
from tests.support.compare import assert_rows
from tests.support.engines import quoted, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., str]
    Fail = Callable[..., str]

EXAMPLES = Path(__file__).parent.parent / "examples"
IRIS = str(EXAMPLES / "iris.parquet")
DIGITS = str(EXAMPLES / "digits.parquet")
RUNS = str(EXAMPLES / "digits_runs.parquet")
KMEANS = ("--label", "species", "--cluster", "kmeans")
CLUSTER = ("--label", "digit", "--cluster", "cluster")
WIDE = "sepal_length,sepal_width,petal_length,petal_width"
FLOWERS = ("--vector", WIDE, "--cluster", "kmeans")
CALLS = {
    "external": (IRIS, *KMEANS),
    "internal": (IRIS, *FLOWERS),
    "silhouette": (IRIS, *FLOWERS),
}
ENGINE_NAMES = ("duckdb", "polars")
# For what does not depend on the engine: Polars registers no macros, which takes most of a call.
QUICK = ("--engine", "polars")

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
POINTS = pl.DataFrame(
    {
        "x": [0.0, 2.0, 9.0, 9.0, 50.0, 7.0],
        "y": [0, 0, 0, 4, 50, 7],
        "list": [[0.0, 0.0], [2.0, 0.0], [9.0, 0.0], [9.0, 4.0], [50.0, 50.0], [7.0, 7.0]],
        "text": ["a"] * 6,
        "short": [[0.0, 0.0], [2.0, 0.0], [9.0], [9.0, 4.0], [50.0, 50.0], None],
        "hole": [0.0, 2.0, None, 9.0, 50.0, None],
        "cluster": [0, 0, 1, 1, -1, None],
        "run": ["u", "u", "v", "v", "v", "v"],
    }
)


@pytest.fixture(params=ENGINE_NAMES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def wide_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make lines wide enough for the path of any clone."""
    monkeypatch.setenv("COLUMNS", "500")


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
def points(tmp_path: Path) -> Path:
    path = tmp_path / "points.parquet"
    POINTS.write_parquet(path)
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


def report(
    run: Run, file: str | Path, *arguments: str | Path, of: str = "external"
) -> list[dict[str, object]]:
    rows = json.loads(run(of, file, *arguments, "--format", "json"))
    assert isinstance(rows, list)
    return rows


def report_of(frame: pl.DataFrame, **arguments: Any) -> list[dict[str, Any]]:
    """The external report of the columns of FRAME, not through the command line."""
    return ce.external_report(frame, "species", "cluster", **arguments).rows(named=True)


def report_of_points(frame: pl.DataFrame, vector: Any, **arguments: Any) -> list[dict[str, Any]]:
    return ce.internal_report(frame, vector, "cluster", **arguments).rows(named=True)


def assert_points(actual: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare indices of float coordinates, which agree to 1e-9."""
    assert actual
    point_engines.assert_points(actual, expected, tolerance=1e-9)


# Tables


def test_iris(run: Run, engine_name: str) -> None:
    shown = values(run("external", IRIS, *KMEANS, "--engine", engine_name))
    expected = {
        "n": "150",
        "rand_score": "0.879732",
        "adjusted_rand_score": "0.730238",
        "adjusted_mutual_info_score": "0.755119",
        "fowlkes_mallows_score": "0.820808",
        "mirkin_metric": "2688",
    }
    assert {metric: shown[metric][0] for metric in expected} == expected


def test_iris_alone(run: Run, engine_name: str) -> None:
    """Expected: the two scores are scikit-learn's, and ssw is KMeans' inertia_."""
    table = run("internal", IRIS, *FLOWERS, "--engine", engine_name)
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


@pytest.mark.parametrize(
    "options",
    [
        ("--method", "bounds"),
        ("--method", "simplified", "--distance", "cosine"),
        ("--tolerance", "0.05"),
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
        report(run, *call, *cluster, *options, "--engine", name, of="silhouette")
        for name in ENGINE_NAMES
    )
    assert_points(one, other)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    call = ["silhouette", *CALLS["silhouette"], "--engine", "polars", "--output", os.devnull]
    assert main(call) == 0
    assert "distances" in screen.getvalue()
    assert threads.watch is threads.show_no_progress


def test_no_bar_without_a_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    run("silhouette", *CALLS["silhouette"], "--engine", "polars")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "fast"), "method: expected one of 'exact', 'simplified', 'bounds', 'sample'"),
        (("--method", "sample"), "sample_size: expected a whole number >= 1, got NULL"),
        (("--tolerance", "0"), "tolerance: expected a number > 0, got 0"),
        (("--id", "nobody"), "id: column 'nobody' not found"),
    ],
)
def test_mistakes_with_silhouettes(
    fail: Fail, engine_name: str, options: tuple[str, ...], words: str
) -> None:
    said = fail("silhouette", *CALLS["silhouette"], *options, "--engine", engine_name)
    assert said.startswith(f"{IRIS}: {words}")


@pytest.mark.parametrize(
    ("command", "titles"),
    [
        ("external", ["counts", "pair counting", "information", "set matching"]),
        ("internal", ["counts", "sums of squares", "distances", "centroid-based indices"]),
        ("silhouette", ["counts", "silhouette: from -1 to 1, 1 is best"]),
    ],
)
def test_every_metric_stands_in_its_group(run: Run, command: str, titles: list[str]) -> None:
    table = run(command, *CALLS[command], *QUICK)
    [row] = report(run, *CALLS[command], *QUICK, of=command)
    assert list(values(table)) == list(row)
    _, body = table.split("meaning\n")
    groups = [line for line in body.splitlines() if line and not line.startswith(" ")]
    assert groups == titles
    layout = REPORTS[command].layout
    assert {*layout.titles, *layout.meanings, *layout.comparison} <= row.keys()
    assert {name for names in layout.heading for name in names} <= OPTIONS.keys()
    for metric, meaning in layout.meanings.items():
        assert re.search(rf"^  {metric} +[-\d.]+  {re.escape(meaning)}$", table, re.MULTILINE)


@pytest.mark.parametrize("command", REPORTS)
def test_every_parameter_is_an_option(command: str) -> None:
    assert REPORTS[command].defaults.keys() <= OPTIONS.keys()


def test_every_report_has_titles_and_meanings() -> None:
    assert set(REPORTS) == set(CALLS)


def test_every_index_has_a_direction() -> None:
    meanings = REPORTS["internal"].layout.meanings
    indices = list(meanings)[list(meanings).index("compactness") :]
    assert len(indices) == 13
    assert all(meanings[index].endswith(("; best low", "; best high")) for index in indices)


@pytest.mark.parametrize("columns", ["72", "80", "200"])
@pytest.mark.parametrize(
    ("command", "metric", "value"),
    [
        ("external", "normalized_variation_of_information", "0.389466"),
        ("internal", "sst", "681.370600"),
        ("silhouette", "n_clusters", "3"),
    ],
)
def test_a_table_fits_the_screen(
    run: Run, monkeypatch: pytest.MonkeyPatch, columns: str, command: str, metric: str, value: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    table = run(command, *CALLS[command], *QUICK)
    assert max(map(len, table.splitlines())) <= int(columns)
    assert values(table)[metric] == [value]


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


def test_few_partitions_stand_side_by_side(run: Run, engine_name: str) -> None:
    arguments = (RUNS, *CLUSTER, "--partition-by", "k", "--engine", engine_name)
    table = run("external", *arguments)
    assert "\nk " in table
    assert re.search(r"^k +5 +8 +10 +12 +20$", table, re.MULTILINE)
    rows = report(run, *arguments)
    shown = values(table)
    assert shown["purity"] == [f"{row['purity']:.6f}" for row in rows]
    assert list(shown) == list(rows[0])[1:]


def test_few_partitions_of_points_stand_side_by_side(
    run: Run, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    arguments = (IRIS, *FLOWERS, "--partition-by", "species", "--engine", engine_name)
    table = run("internal", *arguments)
    assert re.search(r"^species +setosa +versicolor +virginica$", table, re.MULTILINE)
    rows = report(run, *arguments, of="internal")
    shown = values(table)
    assert shown["sst"] == [f"{row['sst']:.6f}" for row in rows]
    assert shown["davies_bouldin_score"][0] == "NULL"
    assert list(shown) == list(rows[0])[1:]
    assert max(map(len, table.splitlines())) <= 100


def test_many_partitions_of_points_stand_below_each_other(
    run: Run, engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    arguments = ("--vector", "pixels", "--cluster", "kmeans", "--partition-by", "digit")
    table = run("internal", DIGITS, *arguments, "--engine", engine_name)
    lines = re.findall(r"^(\d) +(\d+) +(\d+) +\S+ +(\S+)", table, re.MULTILINE)
    assert lines == [
        (
            str(row["digit"]),
            str(row["n"]),
            str(row["n_clusters"]),
            f"{row['explained_variance']:.6f}",
        )
        for row in report(run, DIGITS, *arguments, "--engine", engine_name, of="internal")
    ]
    assert len(lines) == 10
    assert max(map(len, table.splitlines())) <= 100
    assert "all 23 columns: --format csv" in table


def test_quantities_of_any_size(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sizes.csv"
    for size, ssw in ((1e-6, "1e-11"), (1.0, "10.000000"), (1e3, "1e+07"), (333.3, "1110889")):
        POINTS.head(4).select(pl.col("x", "y") * size, "cluster").write_csv(path)
        table = run("internal", path, "--vector", "x,y", "--cluster", "cluster", *QUICK)
        assert values(table)["ssw"][0] == ssw


def test_many_partitions_stand_below_each_other(run: Run, engine_name: str) -> None:
    arguments = (RUNS, *CLUSTER, "--partition-by", "k,seed", "--engine", engine_name)
    table = run("external", *arguments)
    lines = re.findall(r"^(\d+) +(\d) +1797 +(\d+) +(\S+)", table, re.MULTILINE)
    rows = report(run, *arguments)
    assert lines == [
        (
            str(row["k"]),
            str(row["seed"]),
            str(row["n_clusters"]),
            f"{row['adjusted_rand_score']:.6f}",
        )
        for row in rows
    ]
    assert len(lines) == 20
    assert "agreement on pairs: 0 is chance, 1 is best" in table
    assert f"all {len(rows[0].keys() - {'k', 'seed'})} columns: --format csv" in table


def test_null_and_nothing(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    FRAME.clear().write_parquet(path)
    arguments = (
        "external",
        path,
        "--label",
        "species",
        "--cluster",
        "cluster",
        "--engine",
        engine_name,
    )
    shown = values(run(*arguments))
    assert (shown["n"][0], shown["purity"][0]) == ("0", "NULL")
    assert "run" in run(*arguments, "--partition-by", "run")
    [row] = json.loads(run(*arguments, "--format", "json"))
    assert (row["n"], row["purity"]) == (0, None)


def test_no_points(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    POINTS.clear().write_parquet(path)
    arguments = (
        "internal",
        path,
        "--vector",
        "x,y",
        "--cluster",
        "cluster",
        "--engine",
        engine_name,
    )
    shown = values(run(*arguments))
    assert (shown["n"][0], shown["ssw"][0]) == ("0", "NULL")
    assert "run" in run(*arguments, "--partition-by", "run")


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
    [row] = report(run, *call)
    assert row["adjusted_rand_score"] == pytest.approx(-2.5e-9, rel=1e-6)
    table = run("external", *call)
    assert values(table)["adjusted_rand_score"][0] == "0.000000"
    assert "-0.000000" not in table


def test_a_zero_of_any_magnitude_has_no_sign() -> None:
    result = pl.DataFrame({"n": [1], "ssw": [-0.0], "ssb": [-0.5]})
    options = Namespace(report=REPORTS["internal"], file="f", cluster="c", distance="d", vector="v")
    shown = values(render_table(result, options).decode())
    assert [shown[name][0] for name in ("ssw", "ssb")] == ["0.000000", "-0.500000"]


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
    [row] = report(run, DIGITS, "--vector", "pixels", "--cluster", "kmeans", of="silhouette")
    assert row["n"] == 1797


# Formats


def test_formats_agree(run: Run, engine_name: str, tmp_path: Path) -> None:
    arguments = ("external", RUNS, *CLUSTER, "--partition-by", "run", "--engine", engine_name)
    rows = json.loads(run(*arguments, "--format", "json"))
    from_csv = pl.read_csv(io.StringIO(run(*arguments, "--format", "csv")))
    assert_rows(from_csv.rows(named=True), rows)
    path = tmp_path / "report.parquet"
    assert run(*arguments, "--output", path) == ""
    assert_rows(pl.read_parquet(path).rows(named=True), rows)
    assert list(rows[0])[:3] == ["run", "n", "n_dropped"]


def test_formats_of_points_agree(run: Run, engine_name: str, tmp_path: Path) -> None:
    arguments = ("internal", IRIS, *FLOWERS, "--partition-by", "species", "--engine", engine_name)
    rows = json.loads(run(*arguments, "--format", "json"))
    from_csv = pl.read_csv(io.StringIO(run(*arguments, "--format", "csv")))
    assert_rows(from_csv.rows(named=True), rows)
    path = tmp_path / "report.parquet"
    assert run(*arguments, "--output", path) == ""
    assert_rows(pl.read_parquet(path).rows(named=True), rows)
    assert list(rows[0])[:3] == ["species", "n", "n_dropped"]


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
        report(run, IRIS, *FLOWERS, *options, "--engine", name, of="internal")
        for name in ENGINE_NAMES
    )
    assert_points(one, other)
    assert one != report(run, IRIS, *FLOWERS, *QUICK, of="internal")


def test_both_engines_agree(run: Run) -> None:
    options = ("--weight", "seed", "--partition-by", "k", "--noise", "0", "--noise-as")
    for way in ("cluster", "drop", "singletons"):
        one, other = (
            report(run, RUNS, *CLUSTER, *options, way, "--engine", name) for name in ENGINE_NAMES
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
    assert run("external", IRIS, *KMEANS, *QUICK, "--output", "/dev/null") == ""
    assert Path("/dev/null").is_char_device()


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


# Input


TEXT_FILES = ["f.csv", "f.tsv", "f.csv.gz", "f.tsv.gz", "f.CSV", "f.TSV.GZ", "odd [1]*'s.csv"]


@pytest.mark.parametrize("name", TEXT_FILES)
def test_text_files(run: Run, engine_name: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = FRAME.write_csv(separator="\t" if "tsv" in name.lower() else ",").encode()
    path.write_bytes(gzip.compress(text) if name.lower().endswith("gz") else text)
    columns = (
        "--label",
        "species",
        "--cluster",
        "cluster",
        "--weight",
        "n",
        "--engine",
        engine_name,
    )
    assert_rows(report(run, path, *columns), report_of(FRAME, weight="n"))


def test_a_text_file_of_texts(run: Run, engine_name: str, tmp_path: Path) -> None:
    """A header of texts above texts, a hash sign, and a text after many numbers."""
    path = tmp_path / "texts.csv"
    path.write_text("label,cluster\n#a,007\n#a,007\n" + "b,8\n" * 30_000 + "b,none\n", "utf-8")
    columns = (
        "--label",
        "label",
        "--cluster",
        "cluster",
        "--noise",
        "007",
        "--engine",
        engine_name,
    )
    [row] = report(run, path, *columns)
    assert (row["n"], row["n_labels"], row["n_clusters"], row["n_noise"]) == (30_003, 2, 3, 2)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        *(
            (texts, texts)
            for texts in (
                *(
                    ["1", "01"],
                    ["1", "1.0"],
                    ["1", "+1", " 1", "1e0"],
                    ["16", "0x10"],
                    ["10", "1_0"],
                ),
                *(["true", "True"], ["yes", "no", "true", "1"], ["2020-01-01", "2020-1-1"]),
                *(["nan", "NaN", "1"], ["nan", "NA", "NULL", "null", "inf"]),
                ["12345678901234567890", "12345678901234567891"],
            )
        ),
        (["a", "", '""'], ["a", None, None]),
        (['"a"', "a", '"a ""b"""', "\u00a0"], ["a", "a", 'a "b"', "\u00a0"]),
    ],
)
def test_texts_identify(
    run: Run, engine_name: str, tmp_path: Path, texts: list[str], expected: list[str | None]
) -> None:
    """Labels, clusters and partitions of a CSV file are text; an empty field is a missing one."""
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["told,same", *(f"{x},x" for x in [*texts, *texts]), ""]), "utf-8")
    engine = ("--engine", engine_name)
    known = set(expected) - {None}
    [row] = report(run, path, "--label=told", "--cluster=told", *engine)
    assert (row["n_labels"], row["n_clusters"]) == (len(known), len(known))
    assert row["n_dropped"] == 2 * expected.count(None)
    rows = report(run, path, "--label=same", "--cluster=same", "--partition-by=told", *engine)
    assert {row["told"]: row["n"] for row in rows} == {x: 2 * expected.count(x) for x in expected}


def test_partitions_of_a_text_file_are_sorted_as_text(
    run: Run, engine_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,cluster,run\n1,a,5\n2,b,10\n4,a,10\n,,5\n", encoding="utf-8")
    call = ("--vector", "x", "--cluster", "cluster", "--partition-by", "run")
    rows = report(run, path, *call, "--engine", engine_name, of="internal")
    counts = [(row["run"], row["n"], row["n_dropped"]) for row in rows]
    assert counts == [("10", 2, 0), ("5", 1, 1)]


def test_noise_of_a_text_file(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.csv"
    path.write_text("species,kmeans\na,-1\na,-1.0\nb,-01\nb,1\n", encoding="utf-8")
    for noise in ("-1", "-1.0", "-01"):
        call = (path, *KMEANS, "--noise", noise, "--noise-as", "drop", "--engine", engine_name)
        [row] = report(run, *call)
        assert (row["n"], row["n_noise"], row["n_clusters"]) == (3, 1, 3)


def test_a_column_of_a_text_file_that_is_number_and_key(
    run: Run, engine_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,cluster\n1,a\n1,b\n01,b\n2,a\n", encoding="utf-8")
    call = ("--vector", "x", "--cluster", "cluster", "--partition-by", "x")
    rows = report(run, path, *call, "--engine", engine_name, of="internal")
    assert [(row["x"], row["n"]) for row in rows] == [(1, 3), (2, 1)]
    path.write_text("x\n1\n1\n2\n", encoding="utf-8")
    call = ("--vector", "x", "--cluster", "x", "--engine", engine_name)
    [row] = report(run, path, *call, of="internal")
    assert (row["n"], row["n_clusters"], row["ssw"]) == (3, 2, 0.0)


def test_a_sample_by_the_ids_of_a_text_file(run: Run, engine_name: str, tmp_path: Path) -> None:
    """Ids are in the order of text, 10 before 9, so that the sample is that of text ids."""
    path = tmp_path / "iris.csv"
    iris = pl.read_parquet(IRIS).drop("id", strict=False).with_row_index("id")
    iris.write_csv(path)
    options = {"method": "sample", "sample_size": 40, "id": "id"}
    by_text, by_number = (
        ce.silhouette_score(frame, WIDE.split(","), "kmeans", **options).rows(named=True)[0]
        for frame in (iris.with_columns(pl.col("id").cast(pl.String)), iris)
    )
    assert by_text["silhouette"] != pytest.approx(by_number["silhouette"], rel=1e-6)
    flags = ("--method", "sample", "--sample-size", "40", "--id", "id", "--engine", engine_name)
    assert_points(report(run, path, *FLOWERS, *flags, of="silhouette"), [by_text])


NUMBERS = {"1": 1.0, "02": 2.0, "+3.50": 3.5, " -4e1 ": -40.0, '"5"': 5.0, ".5": 0.5, "1E3": 1e3}


def test_numbers_of_a_text_file(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    lines = [f"{text},{i // 4},{i}" for i, text in enumerate(NUMBERS)]
    path.write_text("\n".join(["x,cluster,n", *lines, ""]), encoding="utf-8")
    found = report(
        run, path, "--vector=x,n", "--cluster=cluster", "--engine", engine_name, of="internal"
    )
    frame = pl.DataFrame({"x": NUMBERS.values()}).with_row_index("n")
    frame = frame.with_columns(pl.col("n").cast(pl.Float64), cluster=pl.col("n") // 4)
    assert_points(found, report_of_points(frame, ["x", "n"]))
    columns = ("--label=cluster", "--cluster=cluster", "--weight=n", "--engine", engine_name)
    assert report(run, path, *columns)[0]["n"] == 21


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nan", "vector: expected finite numbers, got nan in coordinate 1 (1 row is at fault)"),
        ("-inf", "vector: expected finite numbers, got -inf in coordinate 1 (1 row is at fault)"),
        ("", "vector: expected finite numbers, got NULL in coordinate 1 (1 row is at fault)"),
        *(
            (text, f"CSV Error on Line: 25003 Original Line: {text},1,1 Error when converting ")
            for text in ("yes", "true", "0x10", '"1,5"', "2020-01-01", "NULL", "1d")
        ),
    ],
)
def test_no_numbers_in_a_text_file(
    fail: Fail, engine_name: str, tmp_path: Path, text: str, words: str
) -> None:
    """The same error with both engines, although all lines before are numbers."""
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["x,y,cluster", *["1,1,1"] * 25_001, f"{text},1,1", ""]), "utf-8")
    call = (path, "--vector=x,y", "--cluster=cluster", "--engine", engine_name)
    assert fail("internal", *call).startswith(f"{path}: {words}")


@pytest.mark.parametrize(
    "content",
    [
        "label,cluster\r\na,1\r\nb,2\r\n",
        "label,cluster\ra,1\rb,2\r",
        "\ufefflabel,cluster\na,1\nb,2",
        "label,cluster\n\na,1\n\nb,2\n\n",
        'label,cluster\n"a\nc",1\nb"x,2\n',
        " label ,cluster,label,LABEL,\na,1,b,c,d\nb,2,e,f,g\n",
    ],
)
def test_lines_of_a_text_file(run: Run, engine_name: str, tmp_path: Path, content: str) -> None:
    path = tmp_path / "lines.csv"
    path.write_bytes(content.encode())
    call = ("--label", "label", "--cluster", "cluster", "--engine", engine_name)
    [row] = report(run, path, *call)
    counts = [row[name] for name in ("n", "n_dropped", "n_labels", "n_clusters")]
    assert counts == [2, 0, 2, 2]


@pytest.mark.parametrize("name", ["f.csv", "f.parquet"])
def test_folders_are_no_columns(run: Run, engine_name: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / "species=9" / "cluster=7" / "z=1" / name
    path.parent.mkdir(parents=True)
    (FRAME.write_csv if name == "f.csv" else FRAME.write_parquet)(path)
    columns = ("--label", "species", "--cluster", "cluster", "--engine", engine_name)
    assert_rows(report(run, path, *columns), report_of(FRAME))


def test_a_folder_is_no_column_that_can_be_named(
    fail: Fail, engine_name: str, tmp_path: Path
) -> None:
    for name in ("f.csv", "f.parquet"):
        path = tmp_path / "z=1" / name
        path.parent.mkdir(exist_ok=True)
        (FRAME.write_csv if name == "f.csv" else FRAME.write_parquet)(path)
        error = fail("external", path, "--label=z", "--cluster=cluster", "--engine", engine_name)
        assert "label: column 'z' not found; columns: species, cluster, run" in error


@pytest.mark.parametrize("table", ["rows", "main.rows", "other.rows", "seen", "main.dots", ODD])
def test_tables_of_a_database(run: Run, engine_name: str, database: str, table: str) -> None:
    columns = ("--label", "species", "--cluster", "cluster", "--weight", "n")
    columns += ("--partition-by", "run", "--engine", engine_name)
    found = report(run, f"{database}::{table}", *columns)
    assert_rows(found, report_of(FRAME, weight="n", partition_by="run"))
    assert [row["run"] for row in found] == ["x", "y"]


def test_a_database_is_only_read(run: Run, engine_name: str, database: str) -> None:
    path = Path(database)
    before = path.read_bytes()
    path.chmod(0o444)
    report(
        run,
        f"{database}::rows",
        "--label",
        "species",
        "--cluster",
        "cluster",
        "--engine",
        engine_name,
    )
    assert path.read_bytes() == before


def test_a_database_that_another_process_reads(engine_name: str, database: str) -> None:
    """Opening it for writing would fail, whatever the mode of the file and the user."""
    call = ("external", f"{database}::rows", "--label=species", "--cluster=cluster")
    with duckdb.connect(database, read_only=True):
        process = start(*call, "--engine", engine_name, "--format", "json")
        out, err = process.communicate()
    assert err == b""
    assert_rows(json.loads(out), report_of(FRAME))


@pytest.mark.parametrize(
    "rows",
    [
        "SELECT content AS species, 1 AS cluster FROM read_text('{secret}')",
        "FROM read_csv('{secret}')",
        "FROM '{secret}'",
        "SELECT file AS species, 1 AS cluster FROM glob('{secret}')",
    ],
)
def test_a_view_reads_no_other_file(
    fail: Fail, engine_name: str, tmp_path: Path, rows: str
) -> None:
    secret, path = tmp_path / "secret.csv", tmp_path / "hostile.duckdb"
    secret.write_text("species,cluster\nsecret,1\n", encoding="utf-8")
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE VIEW rows AS {rows.format(secret=secret)}")
    columns = ("--label", "species", "--cluster", "cluster", "--engine", engine_name)
    assert fail("external", f"{path}::rows", *columns) == (
        f'{path}: Cannot access file "{secret}" - file system operations are disabled by '
        "configuration"
    )


def test_a_database_with_a_log_that_is_not_merged(
    run: Run, engine_name: str, tmp_path: Path
) -> None:
    """The log beside the file is a part of the database, which can be read."""
    path = tmp_path / "store.duckdb"
    write = (
        "import duckdb, os; connection = duckdb.connect({!r}); "
        "connection.execute('CREATE TABLE rows AS SELECT 1 AS species, 1 AS kmeans'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", write.format(str(path))], check=True)
    assert path.with_name("store.duckdb.wal").exists()
    [row] = report(run, f"{path}::rows", *KMEANS, "--engine", engine_name)
    assert row["n"] == 1


def test_columns_of_any_name(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    names = {"species": ODD, "cluster": "select", "run": "partition_key", "n": "a,b"}
    FRAME.rename(names).write_parquet(path)
    columns = ("--label", ODD, "--cluster", "select", "--weight", "a,b", "--engine", engine_name)
    for old, new in (("run", "partition_key"), ("species", ODD)):
        rows = report(run, path, *columns, "--partition-by", new)
        plain = report_of(FRAME, weight="n", partition_by=old)
        assert [row.pop(new) for row in rows] == [row.pop(old) for row in plain]
        assert_rows(rows, plain)


def test_vectors_of_every_form(run: Run, engine_name: str, points: Path, tmp_path: Path) -> None:
    """One list or array column, columns, or one whose name holds a comma."""
    path = tmp_path / "forms.parquet"
    POINTS.with_columns(
        pl.col("list").cast(pl.Array(pl.Float64, 2)).alias("array"), pl.col("list").alias("x,y")
    ).write_parquet(path)
    columns = (
        "--cluster",
        "cluster",
        "--noise",
        "-1",
        "--noise-as",
        "drop",
        "--engine",
        engine_name,
    )
    assert_points(
        report(run, points, "--vector", "x,y", *columns, of="internal"),
        [expected := report_of_points(POINTS, ["x", "y"], noise=-1, noise_as="drop")[0]],
    )
    assert (expected["n"], expected["n_dropped"], expected["n_noise"]) == (4, 1, 1)
    assert (expected["ssw"], expected["ssb"]) == (pytest.approx(10.0), pytest.approx(68.0))
    for vector in ("list", "array", "x,y"):
        assert_points(report(run, path, "--vector", vector, *columns, of="internal"), [expected])
    [line] = report(run, points, "--vector", "x", *columns, of="internal")
    assert (line["n_dims"], line["ssw"]) == (1, pytest.approx(2.0))


@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "store.duckdb::rows"])
def test_points_of_every_file(
    run: Run, engine_name: str, points: Path, tmp_path: Path, name: str
) -> None:
    path = str(tmp_path / name)
    flat = POINTS.drop("list", "short")
    if name.endswith("rows"):
        with duckdb.connect(path.removesuffix("::rows")) as connection:
            connection.execute(f"CREATE TABLE rows AS FROM '{points}'")
    else:
        flat.write_csv(path, separator="\t" if name == "f.tsv" else ",")
    columns = ("--cluster", "cluster", "--partition-by", "run", "--engine", engine_name)
    found = report(run, path, "--vector", "x,y", *columns, of="internal")
    assert_points(found, report_of_points(POINTS, ["x", "y"], partition_by="run"))
    if name.endswith("rows"):
        assert_points(found, report(run, path, "--vector", "list", *columns, of="internal"))


# Control characters

ESCAPE, CLEAR, RIGHT_TO_LEFT = "\x1b[31m", "\x9b2J", "\u202e"
HOSTILE = f"{ESCAPE}a\tb\nc\r{CLEAR}{RIGHT_TO_LEFT}\u2028\x7fd"
HARMLESS = r"\x1b[31ma\tb\nc\r\x9b2J\u202e\u2028\x7fd"


def assert_printable(text: str) -> None:
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


@pytest.mark.parametrize("n_partitions", [2, 9])
@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb"])
def test_control_characters_in_a_table(
    run: Run, engine_name: str, tmp_path: Path, n_partitions: int, kind: str
) -> None:
    """In the names of the file and of columns, and in the values of a partition column."""
    path = tmp_path / f"{HOSTILE}.{kind}"
    keys = [f"{HOSTILE}{i}" for i in range(n_partitions)]
    frame = pl.DataFrame({f"label{HOSTILE}": "a", "cluster": 1, f"key{HOSTILE}": keys})
    if kind == "duckdb":
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TABLE {quoted(HOSTILE)} AS FROM frame")
    else:
        (frame.write_csv if kind == "csv" else frame.write_parquet)(path)
    file = f"{path}::{HOSTILE}" if kind == "duckdb" else path
    columns = ("--label", f"label{HOSTILE}", "--partition-by", f"key{HOSTILE}")
    table = run("external", file, *columns, "--cluster", "cluster", "--engine", engine_name)
    assert_printable(table)
    for i in range(n_partitions):
        assert f"{HARMLESS}{i}" in table
    assert f"key{HARMLESS}" in table
    assert f"{HARMLESS}.{kind}" in table
    assert f"label label{HARMLESS}, cluster cluster" in table


def test_control_characters_in_an_error(
    capfd: pytest.CaptureFixture[str], fail: Fail, engine_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "columns.parquet"
    pl.DataFrame({"a": [1], HOSTILE: [f"{HOSTILE}"]}).write_parquet(path)
    mistakes = [
        ("external", path, "--label=b", "--cluster=a"),
        ("external", path, "--label=a", "--cluster=a", f"--weight={HOSTILE}{ESCAPE}"),
        ("external", tmp_path / HOSTILE, "--label=a", "--cluster=a"),
        ("sql", f"--{ESCAPE}"),
    ]
    for command, *arguments in mistakes:
        engine = ("--engine", engine_name) if command == "external" else ()
        error = fail(command, *arguments, *engine)
        assert_printable(error)
        assert r"\x1b" in error
    assert capfd.readouterr() == ("", "")


def test_letters_of_any_script_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    keys = ["größe", "日本　語", "e\u0301", "a b", "😀", r"back\slash"]
    path = tmp_path / "größe.parquet"
    pl.DataFrame({"a": 1, "key": keys}).write_parquet(path)
    table = run("external", path, "--label=a", "--cluster=a", "--partition-by=key", *QUICK)
    assert all(f"\n{key} " in table for key in keys)


def test_a_path_that_is_not_utf_8(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        path = tmp_path / os.fsdecode(b"\xff." + kind.encode())
        path.touch()
        error = fail("external", path, *KMEANS, "--engine", engine_name)
        assert error == rf"{tmp_path}/\udcff.{kind}: expected a path in UTF-8"


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
    run: Run, engine_name: str, tmp_path: Path, dtype: type[pl.DataType], noise: str
) -> None:
    path = tmp_path / "noisy.parquet"
    FRAME.with_columns(pl.col("cluster").cast(dtype)).write_parquet(path)
    columns = ("--label", "species", "--cluster", "cluster", "--noise", noise)
    [row] = report(run, path, *columns, "--noise-as", "drop", "--engine", engine_name)
    assert (row["n"], row["n_noise"], row["n_dropped"]) == (3, 1, 1)


def test_options_reach_the_engine(run: Run, engine_name: str) -> None:
    plain, tuned = (
        report(run, IRIS, *KMEANS, "--engine", engine_name, *options)[0]
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
        (["internal", "--help"], "--vector COLUMNS"),
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
        (["infernal"], "invalid choice: 'infernal'"),
        (["internal"], "required: FILE, --vector, --cluster"),
        (["internal", IRIS, *FLOWERS, "--p", "two"], "--p: invalid number value: 'two'"),
        (["internal", IRIS, *FLOWERS, "--weights", "1,a"], "invalid list of numbers value: '1,a'"),
        (["internal", IRIS, *FLOWERS, "--label", "species"], "arguments: --label species"),
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
    fail: Fail, engine_name: str, parquet: Path, options: list[str], words: str
) -> None:
    columns = ["--label", "species", "--cluster", "cluster"]
    error = fail("external", parquet, *columns, *options, "--engine", engine_name)
    assert error.startswith(f"{parquet}: ")
    assert words_of(engine_name, words) in error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--vector", "x,z"], "vector: column 'z' not found; columns: x, y, list"),
        (["--vector", "lisp"], "vector: column 'lisp' not found; did you mean 'list'?"),
        (["--vector", "text"], "vector: expected a list or array of numbers, such as [x, y, z], g"),
        (["--vector", "x,text"], "vector: expected "),
        (["--vector", "x,list"], "vector: expected "),
        (["--vector", "short"], "vectors of one length (2), got 1 coordinates (1 row is at fault)"),
        (["--vector", "hole,y"], "finite numbers, got NULL in coordinate 1 (1 row is at fault)"),
        (["--cluster", "clutser"], "cluster: column 'clutser' not found; did you mean 'cluster'?"),
        (["--partition-by", "run,ruin"], "partition_by: column 'ruin' not found; did you mean"),
        (["--distance", "manhattan"], "'minkowski', 'cosine', got 'manhattan'"),
        (["--distance", "minkowski", "--p", "0.5"], "p: expected a number >= 1, got 0.5"),
        (["--center", "mode"], "center: expected one of 'mean', 'median', got 'mode'"),
        (["--weights", "1"], "weights: expected one for each of 2 dimensions, got 1"),
        (["--weights", "1,-2"], "weights: expected a number > 0 for each dimension, got [1.0, -2"),
        (["--weights", "1,2", "--distance", "chebyshev"], "weights: chebyshev takes none"),
        (["--noise", "abc"], "noise: expected a value of the type of cluster (BIGINT), got 'abc'"),
        (["--noise-as", "drop"], "noise_as 'drop' needs noise: give the value of cluster"),
    ],
)
def test_mistakes_about_points(
    fail: Fail, engine_name: str, points: Path, options: list[str], words: str
) -> None:
    columns = ["--vector", "x,y", "--cluster", "cluster"]
    error = fail("internal", points, *columns, *options, "--engine", engine_name)
    assert error.startswith(f"{points}: ")
    assert words_of(engine_name, words) in error


@pytest.mark.parametrize("command", REPORTS)
def test_a_key_that_clashes(fail: Fail, engine_name: str, tmp_path: Path, command: str) -> None:
    path = tmp_path / "clash.parquet"
    pl.read_parquet(IRIS).with_columns(n_noise=0).write_parquet(path)
    _, *columns = CALLS[command]
    error = fail(command, path, *columns, "--partition-by", "n_noise", "--engine", engine_name)
    assert "partition_by: 'n_noise' is also a column of the result; rename it first" in error


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
def test_unreadable_files(
    fail: Fail, engine_name: str, tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    error = fail(
        "external", path, "--label", "label", "--cluster", "cluster", "--engine", engine_name
    )
    assert error.startswith(f"{path}: ")


def test_a_missing_table(fail: Fail, engine_name: str, database: str) -> None:
    columns = ("--label", "species", "--cluster", "cluster", "--engine", engine_name)
    error = fail("external", f"{database}::row", *columns)
    assert error.startswith(f"{database}: table 'row' not found; tables: ")
    assert all(table in error for table in ("rows", "seen", "other.rows"))
    assert "as store.duckdb::table" in fail("external", database, *columns).replace(
        database, "store.duckdb"
    )


def test_a_broken_database(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.duckdb"
    path.write_bytes(b"12345678DUCK" + b"x" * 5000)
    error = fail("external", f"{path}::rows", *KMEANS, "--engine", engine_name)
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


def test_a_process(run: Run, engine_name: str, tmp_path: Path) -> None:
    """Nothing on standard error, from the libraries neither; UTF-8 whatever the terminal says."""
    path = tmp_path / "größe.csv"
    path.write_text("species,kmeans\nä,1\nb,2\n", encoding="utf-8")
    arguments = ("external", str(path), *KMEANS, "--engine", engine_name)
    out, err = start(*arguments).communicate()
    assert err == b""
    assert out.decode() == run(*arguments)


def test_a_process_on_points(engine_name: str) -> None:
    out, err = start(
        "internal", DIGITS, "--vector", "pixels", "--cluster", "kmeans", "--engine", engine_name
    ).communicate()
    assert err == b""
    assert b"davies_bouldin_score" in out


def test_a_failing_process(engine_name: str) -> None:
    process = start("external", IRIS, *KMEANS, "--weight", "petal_width", "--engine", engine_name)
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
