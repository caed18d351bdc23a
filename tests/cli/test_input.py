"""Files and tables that the command line reads."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    FLOWERS,
    FRAME,
    IRIS,
    KMEANS,
    ODD,
    POINTS,
    WIDE,
    Fail,
    Noted,
    Run,
    assert_scores_of_points,
    report_of,
    report_of_points,
    report_rows,
    start,
)
from tests.support.compare import assert_rows

pytestmark = pytest.mark.gate

TEXT_FILES = ["f.csv", "f.tsv", "f.csv.gz", "f.tsv.gz", "f.CSV", "f.TSV.GZ", "odd [1]*'s.csv"]


@pytest.mark.parametrize("name", TEXT_FILES)
@DUCKDB_AT_THE_GATE
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
    assert_rows(report_rows(run, path, *columns), report_of(FRAME, weight="n"))


@DUCKDB_AT_THE_GATE
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
        "--noise-as",
        "cluster",
        "--engine",
        engine_name,
    )
    [row] = report_rows(run, path, *columns)
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
@DUCKDB_AT_THE_GATE
def test_texts_identify(
    noted: Noted, engine_name: str, tmp_path: Path, texts: list[str], expected: list[str | None]
) -> None:
    """Labels, clusters and partitions of a CSV file are text; an empty field is a missing one."""
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["told,same", *(f"{x},x" for x in [*texts, *texts]), ""]), "utf-8")
    engine = ("--engine", engine_name)
    known = set(expected) - {None}

    def run(*arguments: str | Path) -> str:
        """The output, whatever is noted of labels such as 'nan'."""
        return noted(*arguments)[0]

    [row] = report_rows(run, path, "--label=told", "--cluster=told", *engine)
    assert (row["n_labels"], row["n_clusters"]) == (len(known), len(known))
    assert row["n_dropped"] == 2 * expected.count(None)
    rows = report_rows(run, path, "--label=same", "--cluster=same", "--partition-by=told", *engine)
    assert {row["told"]: row["n"] for row in rows} == {x: 2 * expected.count(x) for x in expected}


@DUCKDB_AT_THE_GATE
def test_partitions_of_a_text_file_are_sorted_as_text(
    run: Run, engine_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,cluster,run\n1,a,5\n2,b,10\n4,a,10\n,,5\n", encoding="utf-8")
    call = ("--vector", "x", "--cluster", "cluster", "--partition-by", "run")
    rows = report_rows(run, path, *call, "--engine", engine_name, of="internal")
    counts = [(row["run"], row["n"], row["n_dropped"]) for row in rows]
    assert counts == [("10", 2, 0), ("5", 1, 1)]


@DUCKDB_AT_THE_GATE
def test_noise_of_a_text_file(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "noise.csv"
    path.write_text("species,kmeans\na,-1\na,-1.0\nb,-01\nb,1\n", encoding="utf-8")
    for noise in ("-1", "-1.0", "-01"):
        call = (path, *KMEANS, "--noise", noise, "--noise-as", "drop", "--engine", engine_name)
        [row] = report_rows(run, *call)
        assert (row["n"], row["n_noise"], row["n_clusters"]) == (3, 1, 3)


@DUCKDB_AT_THE_GATE
def test_a_column_of_a_text_file_that_is_number_and_key(
    run: Run, engine_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,cluster\n1,a\n1,b\n01,b\n2,a\n", encoding="utf-8")
    call = ("--vector", "x", "--cluster", "cluster", "--partition-by", "x")
    rows = report_rows(run, path, *call, "--engine", engine_name, of="internal")
    assert [(row["x"], row["n"]) for row in rows] == [(1, 3), (2, 1)]
    path.write_text("x\n1\n1\n2\n", encoding="utf-8")
    call = ("--vector", "x", "--cluster", "x", "--engine", engine_name)
    [row] = report_rows(run, path, *call, of="internal")
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
    assert_scores_of_points(report_rows(run, path, *FLOWERS, *flags, of="silhouette"), [by_text])


NUMBERS = {"1": 1.0, "02": 2.0, "+3.50": 3.5, " -4e1 ": -40.0, '"5"': 5.0, ".5": 0.5, "1E3": 1e3}


@DUCKDB_AT_THE_GATE
def test_numbers_of_a_text_file(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    lines = [f"{text},{i // 4},{i}" for i, text in enumerate(NUMBERS)]
    path.write_text("\n".join(["x,cluster,n", *lines, ""]), encoding="utf-8")
    found = report_rows(
        run, path, "--vector=x,n", "--cluster=cluster", "--engine", engine_name, of="internal"
    )
    frame = pl.DataFrame({"x": NUMBERS.values()}).with_row_index("n")
    frame = frame.with_columns(pl.col("n").cast(pl.Float64), cluster=pl.col("n") // 4)
    assert_scores_of_points(found, report_of_points(frame, ["x", "n"]))
    columns = ("--label=cluster", "--cluster=cluster", "--weight=n", "--engine", engine_name)
    assert report_rows(run, path, *columns)[0]["n"] == 21


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nan", "vector: expected finite numbers, got nan in column x (1 row is at fault)"),
        ("-inf", "vector: expected finite numbers, got -inf in column x (1 row is at fault)"),
        ("", "vector: expected finite numbers, got NULL in column x (1 row is at fault)"),
        *(
            (text, f"CSV Error on Line: 25003 Original Line: {text},1,1 Error when converting ")
            for text in ("yes", "true", "0x10", '"1,5"', "2020-01-01", "NULL", "1d")
        ),
    ],
)
@DUCKDB_AT_THE_GATE
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
@DUCKDB_AT_THE_GATE
def test_lines_of_a_text_file(run: Run, engine_name: str, tmp_path: Path, content: str) -> None:
    path = tmp_path / "lines.csv"
    path.write_bytes(content.encode())
    call = ("--label", "label", "--cluster", "cluster", "--engine", engine_name)
    [row] = report_rows(run, path, *call)
    counts = [row[name] for name in ("n", "n_dropped", "n_labels", "n_clusters")]
    assert counts == [2, 0, 2, 2]


@pytest.mark.parametrize("name", ["f.csv", "f.parquet"])
def test_folders_are_no_columns(run: Run, engine_name: str, tmp_path: Path, name: str) -> None:
    path = tmp_path / "species=9" / "cluster=7" / "z=1" / name
    path.parent.mkdir(parents=True)
    (FRAME.write_csv if name == "f.csv" else FRAME.write_parquet)(path)
    columns = ("--label", "species", "--cluster", "cluster", "--engine", engine_name)
    assert_rows(report_rows(run, path, *columns), report_of(FRAME))


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
@DUCKDB_AT_THE_GATE
def test_tables_of_a_database(run: Run, engine_name: str, database: str, table: str) -> None:
    columns = ("--label", "species", "--cluster", "cluster", "--weight", "n")
    columns += ("--partition-by", "run", "--engine", engine_name)
    found = report_rows(run, f"{database}::{table}", *columns)
    assert_rows(found, report_of(FRAME, weight="n", partition_by="run"))
    assert [row["run"] for row in found] == ["x", "y"]


def test_a_database_is_only_read(run: Run, engine_name: str, database: str) -> None:
    path = Path(database)
    before = path.read_bytes()
    path.chmod(0o444)
    report_rows(
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


@pytest.mark.gate
@DUCKDB_AT_THE_GATE
def test_a_database_that_another_process_reads(engine_name: str, database: str) -> None:
    """Opening it for writing would fail, whatever the mode of the file and the user."""
    call = ("external", f"{database}::rows", "--label=species", "--cluster=cluster")
    with duckdb.connect(database, read_only=True):
        process = start(*call, "--engine", engine_name, "--format", "json")
        out, err = process.communicate()
    assert b"cluster -1 is counted as a cluster" in err
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


@DUCKDB_AT_THE_GATE
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
    [row] = report_rows(run, f"{path}::rows", *KMEANS, "--engine", engine_name)
    assert row["n"] == 1


def test_columns_of_any_name(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    names = {"species": ODD, "cluster": "select", "run": "partition_key", "n": "a,b"}
    FRAME.rename(names).write_parquet(path)
    columns = ("--label", ODD, "--cluster", "select", "--weight", "a,b", "--engine", engine_name)
    for old, new in (("run", "partition_key"), ("species", ODD)):
        rows = report_rows(run, path, *columns, "--partition-by", new)
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
    assert_scores_of_points(
        report_rows(run, points, "--vector", "x,y", *columns, of="internal"),
        [expected := report_of_points(POINTS, ["x", "y"], noise=-1, noise_as="drop")[0]],
    )
    assert (expected["n"], expected["n_dropped"], expected["n_noise"]) == (4, 1, 1)
    assert (expected["ssw"], expected["ssb"]) == (pytest.approx(10.0), pytest.approx(68.0))
    for vector in ("list", "array", "x,y"):
        assert_scores_of_points(
            report_rows(run, path, "--vector", vector, *columns, of="internal"), [expected]
        )
    [line] = report_rows(run, points, "--vector", "x", *columns, of="internal")
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
    found = report_rows(run, path, "--vector", "x,y", *columns, of="internal")
    assert_scores_of_points(found, report_of_points(POINTS, ["x", "y"], partition_by="run"))
    if name.endswith("rows"):
        assert_scores_of_points(
            found, report_rows(run, path, "--vector", "list", *columns, of="internal")
        )
