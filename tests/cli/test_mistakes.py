"""One line for every mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.support.command_line import (
    CALLS,
    EXAMPLES,
    FLOWERS,
    IRIS,
    KMEANS,
    SCORES,
    Fail,
)
from tests.support.engines import words_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
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
        (
            ["external", str(EXAMPLES.parent / "docs"), *KMEANS],
            "expected a folder with .parquet f",
        ),
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
        (
            ["--noise", "abc", "--noise-as", "drop"],
            "noise: expected a value of the type of cluster (BIGINT), got 'abc'",
        ),
        (
            ["--noise", "-1.5", "--noise-as", "drop"],
            "noise: expected a value of the type of cluster (BIGINT), got '-1.5'",
        ),
        (
            ["--noise", "9" * 30, "--noise-as", "drop"],
            "noise: expected a value of the type of cluster (BIGINT), got '99",
        ),
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
        (["--vector", "text"], "parse_vector: expected numbers such as '0.1 0.2', '[0.1, 0.2]' or"),
        (["--vector", "x,text"], "vector: expected numbers, column 'text' is "),
        (["--vector", "x,list"], "vector: expected "),
        (["--vector", "short"], "vectors of one length (2), got 1 coordinates (1 row is at fault)"),
        (["--vector", "hole,y"], "finite numbers, got NULL in column hole (1 row is at fault)"),
        (["--cluster", "clutser"], "cluster: column 'clutser' not found; did you mean 'cluster'?"),
        (["--partition-by", "run,ruin"], "partition_by: column 'ruin' not found; did you mean"),
        (["--distance", "manhattan"], "'minkowski', 'cosine', got 'manhattan'"),
        (["--distance", "minkowski", "--p", "0.5"], "p: expected a number >= 1, got 0.5"),
        (["--center", "mode"], "center: expected one of 'mean', 'median', got 'mode'"),
        (["--weights", "1"], "weights: expected one for each of 2 dimensions, got 1"),
        (["--weights", "1,-2"], "weights: expected a number > 0 for each dimension, got [1.0, -2"),
        (["--weights", "1,2", "--distance", "chebyshev"], "weights: chebyshev takes none"),
        (
            ["--noise", "abc", "--noise-as", "drop"],
            "noise: expected a value of the type of cluster (BIGINT), got 'abc'",
        ),
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


def test_weights_of_rows_are_not_an_abbreviation(fail: Fail, points: Path) -> None:
    error = fail("internal", points, "--vector", "x,y", "--cluster", "cluster", "--weight", "1,2")
    assert error.startswith("argument --weight: tables of points take no weights of rows: repeat")


@pytest.mark.parametrize("command", CALLS)
def test_a_key_that_clashes(fail: Fail, engine_name: str, tmp_path: Path, command: str) -> None:
    path = tmp_path / "clash.parquet"
    keys = {"samples": "neighbor", "elbow": "jump", "findings": "value", "profile": "v_test"}
    keys |= dict.fromkeys(SCORES, "n_noise")
    key = keys.get(command, "entropy")
    pl.read_parquet(CALLS[command][0]).with_columns(pl.lit(0).alias(key)).write_parquet(path)
    _, *columns = CALLS[command]
    error = fail(command, path, *columns, "--partition-by", key, "--engine", engine_name)
    assert f"partition_by: '{key}' is also a column of the result; rename it first" in error


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text.parquet", b"label,cluster\n"),
        ("empty.parquet", b""),
        ("empty.csv", b""),
        ("ragged.csv", b"label,cluster\na,1\nb,2,3\nc\n"),
        ("latin.csv", b"label,cluster\n\xff\xfe,1\nb,2\n"),
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


def test_a_database_without_a_table(fail: Fail, engine_name: str, database: str) -> None:
    for file in (database, f"{database}::"):
        error = fail("external", file, *KMEANS, "--engine", engine_name)
        words = f"{database}: expected a table, as {database}::TABLE; tables: "
        assert error.startswith(words)
        assert error.removeprefix(words).split(", ")[-3:] == ["rows", "seen", "other.rows"]


@pytest.mark.parametrize("method", ["sample", "Sample"])
def test_a_sample_without_a_size(fail: Fail, engine_name: str, method: str) -> None:
    call = ("silhouette", IRIS, *FLOWERS, "--method", method, "--engine", engine_name)
    assert fail(*call) == ("--method sample needs --sample-size, the number of points to evaluate")


def test_a_broken_database(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.duckdb"
    path.write_bytes(b"12345678DUCK" + b"x" * 5000)
    error = fail("external", f"{path}::rows", *KMEANS, "--engine", engine_name)
    assert error.startswith(f"{path}: ")
