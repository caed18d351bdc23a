"""Several files, patterns, folders, standard input, and files of every kind."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    FRAME,
    POINTS,
    QUICK,
    assert_scores_of_points,
    report_of,
    report_of_points,
    report_rows,
    start,
    values,
    write_input,
)
from tests.support.compare import assert_rows

if TYPE_CHECKING:
    from tests.support.command_line import Fail, Noted, Run

pytestmark = pytest.mark.gate

COLUMNS = ("--label", "species", "--cluster", "cluster")


# Kinds

KINDS = [
    *("f.parquet", "f.csv", "f.json", "f.jsonl", "f.ndjson", "f.json.gz", "f.ndjson.gz"),
    *("f.arrow", "f.feather", "f.ipc", "F.ARROW"),
]


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_every_kind(run: Run, engine_name: str, tmp_path: Path, name: str) -> None:
    path = Path(write_input(FRAME, tmp_path / name.lower())).rename(tmp_path / name)
    columns = (*COLUMNS, "--weight", "n", "--partition-by", "run", "--engine", engine_name)
    found = report_rows(run, path, *columns)
    assert_rows(found, report_of(FRAME, weight="n", partition_by="run"))


@pytest.mark.gate
@pytest.mark.parametrize("name", ["f.json", "f.ndjson", "f.arrow", "f.parquet"])
def test_vectors_in_a_file_of_every_kind(
    run: Run, engine_name: str, tmp_path: Path, name: str
) -> None:
    path = write_input(POINTS, tmp_path / name)
    for vector in ("list", "x,y"):
        call = ("--vector", vector, "--cluster", "cluster", "--engine", engine_name)
        assert_scores_of_points(
            report_rows(run, path, *call, of="internal"),
            report_of_points(POINTS, vector.split(",")),
        )


def test_the_stream_format_of_arrow(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "stream.arrow"
    FRAME.write_ipc_stream(path)
    assert_rows(report_rows(run, path, *COLUMNS, "--engine", engine_name), report_of(FRAME))


@DUCKDB_AT_THE_GATE
def test_strings_of_json_stay_text(run: Run, engine_name: str, tmp_path: Path) -> None:
    """Two spellings of a day, and a number and a string, are two labels and one."""
    path = tmp_path / "texts.json"
    rows = [{"species": x, "cluster": y} for x, y in (("2020-01-01", 1), ("2020-1-1", "1"))]
    path.write_text(json.dumps(rows), encoding="utf-8")
    [row] = report_rows(run, path, *COLUMNS, "--engine", engine_name)
    assert (row["n"], row["n_labels"], row["n_clusters"]) == (2, 2, 1)


@DUCKDB_AT_THE_GATE
def test_a_late_value_of_json_has_its_type(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "late.ndjson"
    first = json.dumps({"species": 1, "cluster": 1})
    path.write_text(f"{first}\n" * 30_000 + '{"species": 1.5, "cluster": "a"}\n', encoding="utf-8")
    [row] = report_rows(run, path, *COLUMNS, "--engine", engine_name)
    assert (row["n"], row["n_labels"], row["n_clusters"]) == (30_001, 2, 2)


@pytest.mark.parametrize("name", ["f.json", "f.arrow"])
def test_a_broken_file(fail: Fail, engine_name: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"ARROW1 but no more {")
    assert fail("external", path, *COLUMNS, "--engine", engine_name).startswith(f"{path}: ")


# Separators


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.csv.gz"])
@DUCKDB_AT_THE_GATE
def test_the_separator_is_that_of_the_header(
    run: Run, engine_name: str, tmp_path: Path, separator: str, name: str
) -> None:
    path = tmp_path / name
    frame = FRAME.rename({"half": "a;b,c\td|e"})
    text = frame.write_csv(separator=separator, quote_style="non_numeric").encode()
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert_rows(report_rows(run, path, *COLUMNS, "--engine", engine_name), report_of(FRAME))


@DUCKDB_AT_THE_GATE
def test_the_usual_separator_comes_first(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("a;b,c\n1,2\n", encoding="utf-8")
    [row] = report_rows(run, path, "--label", "a;b", "--cluster", "c", "--engine", engine_name)
    assert row["n"] == 1


def test_a_file_that_is_not_compressed(fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "f.csv.gz"
    path.write_text("species,cluster\na,1\n", encoding="utf-8")
    assert fail("external", path, *COLUMNS).startswith(f"{path}: Not a gzipped file")


@pytest.mark.parametrize("name", ["f.csv", "f.parquet", "f.json", "f.arrow"])
def test_an_empty_file(fail: Fail, engine_name: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.touch()
    error = fail("external", path, *COLUMNS, "--engine", engine_name)
    assert error == f"{path}: the file is empty"


# Several files


@pytest.mark.gate
@pytest.mark.parametrize("ending", ["parquet", "csv", "ndjson", "arrow"])
def test_several_files(run: Run, engine_name: str, tmp_path: Path, ending: str) -> None:
    """Given one by one, in another order of columns, and by a pattern."""
    first = write_input(FRAME.head(2), tmp_path / f"part 1.{ending}")
    other = write_input(FRAME[2:].select(reversed(FRAME.columns)), tmp_path / f"part 2.{ending}")
    engine = ("--engine", engine_name)
    expected = report_of(FRAME)
    assert_rows(report_rows(run, first, other, *COLUMNS, *engine), expected)
    assert_rows(report_rows(run, tmp_path / f"part *.{ending}", *COLUMNS, *engine), expected)
    assert_rows(report_rows(run, tmp_path / "**" / f"part*{ending}", *COLUMNS, *engine), expected)


@DUCKDB_AT_THE_GATE
def test_a_file_whose_name_is_a_pattern(run: Run, engine_name: str, tmp_path: Path) -> None:
    write_input(FRAME, tmp_path / "part 1.csv")
    path = write_input(FRAME.head(2), tmp_path / "part [1]*.csv")
    assert_rows(report_rows(run, path, *COLUMNS, "--engine", engine_name), report_of(FRAME.head(2)))


def test_a_folder_of_parquet_files(run: Run, engine_name: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    write_input(FRAME.head(2), folder / "a.parquet")
    write_input(FRAME[2:], folder / "key=1" / "b.PARQUET".lower())
    write_input(FRAME, folder / "_temporary" / "c.parquet")
    write_input(FRAME, folder / ".d.parquet")
    write_input(FRAME, folder / "e.csv")
    (folder / "_SUCCESS").touch()
    assert_rows(report_rows(run, folder, *COLUMNS, "--engine", engine_name), report_of(FRAME))


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_files_with_other_columns(
    fail: Fail, engine_name: str, tmp_path: Path, ending: str
) -> None:
    first = write_input(FRAME, tmp_path / f"1.{ending}")
    other = write_input(FRAME.drop("cluster"), tmp_path / f"2.{ending}")
    error = fail("external", first, other, *COLUMNS, "--engine", engine_name)
    assert error.startswith(f"{first} and 1 more file: ")
    assert str(other) in error
    assert "cluster" in error


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_files_with_other_types(fail: Fail, engine_name: str, tmp_path: Path, ending: str) -> None:
    first = write_input(FRAME, tmp_path / f"1.{ending}")
    other = write_input(FRAME.cast({"cluster": pl.String}), tmp_path / f"2.{ending}")
    error = fail("external", first, other, *COLUMNS, "--engine", engine_name)
    expected = f"{other}: expected the same columns as {first}: column cluster (Int64), got String"
    assert error == f"{first} and 1 more file: {expected}"


def test_mistakes_with_several_files(fail: Fail, tmp_path: Path, database: str) -> None:
    first, other = (write_input(FRAME, tmp_path / f"f.{ending}") for ending in ("csv", "parquet"))
    odd = tmp_path / "odd.csv"
    odd.write_text("species;cluster\na;1\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for files, words in (
        ((first, other), f"expected files of one kind, got {first} and {other}"),
        ((first, first), f"{first}: given twice"),
        ((first, odd), f"{odd}: expected the separator ',' of {first}, got ';'"),
        ((first, tmp_path / "none.csv"), f"{tmp_path / 'none.csv'}: no such file"),
        ((tmp_path / "no*.csv",), f"{tmp_path / 'no*.csv'}: no file matches"),
        (
            (tmp_path / "folder",),
            f"{tmp_path / 'folder'}: expected a folder with .parquet files, found none",
        ),
        ((first, f"{database}::rows"), "expected either one database table or several files, got "),
    ):
        assert fail("external", *files, *COLUMNS, *QUICK).startswith(words)


def test_the_output_is_none_of_the_files(fail: Fail, tmp_path: Path) -> None:
    first, other = (write_input(FRAME, tmp_path / f"{i}.csv") for i in range(2))
    error = fail("external", first, other, *COLUMNS, *QUICK, "--output", other)
    assert error == f"--output: expected a file other than the input, got {other}"


# Standard input


@DUCKDB_AT_THE_GATE
def test_standard_input(engine_name: str) -> None:
    process = start("external", "-", *COLUMNS, "--engine", engine_name)
    out, err = process.communicate(FRAME.write_csv(separator=";").encode())
    assert b"clustereval: standard input: cluster -1 is counted as a cluster" in err
    assert out.startswith(b"standard input: label species, cluster cluster\n")
    assert values(out.decode())["n"][0] == "4"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "standard input: the file is empty"),
        (b"a,b\n1,2\n", "standard input: label: column 'species' not found; columns: a, b"),
    ],
)
def test_mistakes_on_standard_input(
    fail: Fail, engine_name: str, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    give(monkeypatch, content)
    assert fail("external", "-", *COLUMNS, "--engine", engine_name) == words


def give(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Replace standard input by one with this content."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))


@DUCKDB_AT_THE_GATE
def test_standard_input_beside_a_file(
    fail: Fail, engine_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors name standard input, not the temporary file with its content."""
    path = write_input(FRAME, tmp_path / "f.csv")
    columns = (*COLUMNS, "--engine", engine_name)
    text = FRAME.write_csv().encode()
    odd = b"species;cluster\na;1\n"
    for content, files, words in (
        (text, ("-", path), "standard input and 1 more file: label: column 'specis' not found"),
        (text, (path, "-"), f"{path} and 1 more file: label: column 'specis' not found"),
        (b"species\na\n", (path, "-"), f"{path} and 1 more file: Schema mismatch between globbed "),
        (odd, (path, "-"), f"standard input: expected the separator ',' of {path}, got ';'"),
        (b"", (path, "-"), "standard input: the file is empty"),
        (text, ("-", "-"), "standard input: given twice"),
        (b"species,cluster\na,1,2\n", ("-",), "standard input: "),
    ):
        give(monkeypatch, content)
        label = ("--label", "specis") if content == text else ()
        error = fail("external", *files, *columns, *label)
        assert error.startswith(words)
        assert "clustereval-" not in error
    give(monkeypatch, text)
    error = fail("external", "-", write_input(FRAME, tmp_path / "f.parquet"), *columns)
    assert error.startswith("expected files of one kind, got standard input and ")


def test_a_file_named_like_the_copy_of_standard_input(fail: Fail, tmp_path: Path) -> None:
    path = tmp_path / "standard_input.csv"
    path.touch()
    assert fail("external", path, *COLUMNS, *QUICK) == f"{path}: the file is empty"


def test_a_file_under_two_names(
    fail: Fail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_input(FRAME, tmp_path / "f.csv")
    (tmp_path / "link.csv").symlink_to(path)
    for other in ("./f.csv", "../" + tmp_path.name + "/f.csv", "link.csv", str(path)):
        error = fail("external", "f.csv", other, *COLUMNS, *QUICK)
        assert error == f"{other}: given twice, also as f.csv"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes in the file system, as Unix has them")
def test_a_path_of_no_regular_file(fail: Fail, tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe.csv", tmp_path / "link.csv"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link, "/dev/null", "/dev/stdin"):
        error = fail("external", path, *COLUMNS, *QUICK)
        assert error == f"{path}: expected a regular file; for CSV on standard input, give -"
    assert fail("external", f"{pipe}::rows", *COLUMNS, *QUICK).startswith(f"{pipe}: expected a reg")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes in the file system, as Unix has them")
@pytest.mark.gate
def test_a_pipe_of_the_shell(tmp_path: Path) -> None:
    path = write_input(FRAME, tmp_path / "f.csv")
    command = f"{sys.executable} -m polars_clustereval external <(cat '{path}') {' '.join(COLUMNS)}"
    process = subprocess.run(["bash", "-c", command], capture_output=True, check=False, timeout=60)
    assert process.returncode == 2
    words = rb"clustereval: error: /dev/fd/\d+: expected a regular file; for CSV on .*, give -\n"
    assert re.fullmatch(words, process.stderr)


# Vectors as text


@pytest.mark.gate
@pytest.mark.parametrize(
    "texts",
    [
        ["[0.0, 0.0]", "[2.0, 0.0]", "[9.0, 0.0]", "[9.0, 4.0]"],
        ["0 0", "2 0", "9 0", "9 4"],
        ["$2$", "$2$0:2", "$2$0:9", "$2$0:9 1:4"],
    ],
)
@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "arrow", "duckdb"])
def test_vectors_as_text(
    run: Run, engine_name: str, tmp_path: Path, texts: list[str], kind: str
) -> None:
    points = POINTS.head(4)
    frame = points.select("cluster", "run", vec=pl.Series(texts))
    path = tmp_path / f"points.{kind}"
    if kind == "duckdb":
        with duckdb.connect(path) as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE rows AS FROM frame")
    else:
        write_input(frame, path)
    file = f"{path}::rows" if kind == "duckdb" else path
    call = ("--vector", "vec", "--cluster", "cluster", "--partition-by", "run")
    found = report_rows(run, file, *call, "--engine", engine_name, of="internal")
    assert_scores_of_points(found, report_of_points(points, "list", partition_by="run"))


def test_vectors_that_duckdb_wrote(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    points = POINTS.head(4)
    with duckdb.connect() as connection:
        connection.register("points", points)
        connection.execute(f"COPY (SELECT list, cluster FROM points) TO '{path}'")
    call = ("--vector", "list", "--cluster", "cluster", "--engine", engine_name)
    assert_scores_of_points(
        report_rows(run, path, *call, of="internal"), report_of_points(points, "list")
    )


def test_a_text_that_is_no_vector(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text('v,cluster\n"[1,2]",a\n"1,x",a\n', encoding="utf-8")
    error = fail("internal", path, "--vector=v", "--cluster=cluster", "--engine", engine_name)
    assert error.startswith(f"{path}: parse_vector: expected numbers such as '0.1 0.2'")
    assert error.endswith("got '1,x'")


@pytest.mark.parametrize(
    ("first", "second", "is_number"),
    [
        ("1,5", "2", True),
        ("1,234", "1,235", True),
        ("NA", "1 2", False),
        ("", "1,5", True),
        (" 1,5 ", "2", True),
    ],
)
def test_a_value_that_is_no_number_makes_no_vectors(
    fail: Fail, engine_name: str, tmp_path: Path, first: str, second: str, is_number: bool
) -> None:
    """A decimal comma or a thousands separator would otherwise be read as two dimensions."""
    path = tmp_path / "points.csv"
    path.write_text(f"label;cluster;x\na;1;{first}\nb;1;{second}\n", encoding="utf-8")
    error = fail("internal", path, "--vector=x", "--cluster=cluster", "--engine", engine_name)
    value = first or second
    assert f"Could not convert string \"{value}\" to 'DOUBLE'" in error
    advice = "; write a decimal point and no thousands separators, or vectors in brackets"
    assert error.endswith(advice) == is_number


def test_quoted_thousands_make_no_vectors(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text('x,cluster\n"1,234",1\n"1,235",1\n', encoding="utf-8")
    error = fail("internal", path, "--vector=x", "--cluster=cluster", "--engine", engine_name)
    assert "Could not convert string \"1,234\" to 'DOUBLE'" in error


# JSON


@DUCKDB_AT_THE_GATE
def test_noise_of_json_is_written_as_in_the_file(
    run: Run, noted: Noted, engine_name: str, tmp_path: Path
) -> None:
    path = write_input(FRAME.cast({"cluster": pl.Float64}), tmp_path / "f.json")
    options = (*COLUMNS, "--noise-as", "drop", "--engine", engine_name)
    [row] = report_rows(run, path, *options, "--noise", "-1.0")
    assert row["n_noise"] == 1
    out, note = noted("external", path, *options, "--noise", "-1", "--format", "json")
    assert json.loads(out)[0]["n_noise"] == 0
    assert "no row has cluster -1; the clusters are -1.0, 0.0, 1.0" in note


@pytest.mark.parametrize("missing", [0, 1])
def test_json_files_with_other_columns(
    fail: Fail, engine_name: str, tmp_path: Path, missing: int
) -> None:
    frames = [FRAME.drop("cluster") if i == missing else FRAME for i in range(2)]
    first, other = (write_input(frame, tmp_path / f"{i}.ndjson") for i, frame in enumerate(frames))
    error = fail("external", first, other, *COLUMNS, "--engine", engine_name)
    if missing:
        words = f"{other}: expected the columns of {first} (species, cluster, run, n, half), "
        assert error == f"{first} and 1 more file: {words}but cluster is missing"
    else:
        assert "cluster: column 'cluster' not found; columns: species, run, n, half" in error


def test_json_files_differ_in_types_and_order(run: Run, engine_name: str, tmp_path: Path) -> None:
    first = write_input(FRAME.head(2), tmp_path / "1.json")
    other = FRAME[2:].select(reversed(FRAME.columns)).cast({"cluster": pl.String})
    other_path = write_input(other.with_columns(more=1), tmp_path / "2.json")
    call = (first, other_path, *COLUMNS, "--engine", engine_name)
    assert_rows(report_rows(run, *call), report_of(FRAME))


LARGE = ("12345678901234567890123", "12345678901234567890124")
HUGE = ("18446744073709551616", "18446744073709551617")


@pytest.mark.parametrize("numbers", [LARGE, HUGE])
@DUCKDB_AT_THE_GATE
def test_large_numbers_of_json_identify(
    run: Run, engine_name: str, tmp_path: Path, numbers: tuple[str, str]
) -> None:
    path = tmp_path / "large.json"
    rows = ", ".join(f'{{"species": {x}, "cluster": {x}, "w": 2.0, "n": 1}}' for x in numbers)
    path.write_text(f"[{rows}]", encoding="utf-8")
    engine = ("--engine", engine_name)
    [row] = report_rows(run, path, *COLUMNS, "--weight", "w", *engine)
    assert (row["n"], row["n_labels"], row["n_clusters"]) == (4, 2, 2)
    rows = report_rows(run, path, "--label=n", "--cluster=n", "--partition-by=species", *engine)
    assert [row["species"] for row in rows] == list(numbers)
    call = ("--vector", "w", "--cluster=n", "--id", "species", *engine)
    ids = [row["id"] for row in report_rows(run, path, *call, of="samples")]
    assert ids == list(numbers)
