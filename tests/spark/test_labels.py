"""polars_clustereval.spark on a cluster of two executor processes: DuckDB's numbers, the errors."""

from __future__ import annotations

import os
import random
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from benchmarks.event_log import read_stages
from polars_clustereval.spark import tables as spark_tables
from tests.dialects.test_queries import REPORTS, TABLES, from_macro, without
from tests.support import seeds, sql_engines
from tests.support.sql_answers import assert_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.wide

ROOT = Path(__file__).parent.parent.parent
ORDER = {
    "contingency_matrix": ("partition_key", "label", "cluster"),
    "external_cluster_report": ("partition_key", "cluster"),
    "external_label_report": ("partition_key", "label"),
    "bcubed_samples": ("partition_key", "id"),
}
SINGLETONS: dict[str, Any] = {"weight": "times", "noise": 1, "noise_as": "singletons"}
NAMES = (*ORDER, "pair_counts", *REPORTS)


@pytest.fixture(scope="module")
def log_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("event_log")


@pytest.fixture(scope="module")
def session(log_folder: Path) -> Iterator[SparkSession]:
    reason = sql_engines.reason_to_skip("spark")
    if reason:
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.eventLog.enabled", "true")
            .config("spark.eventLog.compress", "false")
            .config("spark.eventLog.dir", log_folder.as_uri())
            .config("spark.sql.warehouse.dir", str(log_folder / "warehouse"))
            # Few rows need little time; most of it goes into tasks and generated code.
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def frames(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, DataFrame]:
    folder = tmp_path_factory.mktemp("tables")
    paths = sql_engines.write_parquet(TABLES, folder)
    return {name: session.read.parquet(str(path)) for name, path in paths.items()}


def rows_in_order(name: str, answer: DataFrame) -> sql_engines.Rows:
    keys = ORDER.get(name, ("partition_key",))
    rows = [row.asDict() for row in answer.collect()]
    return sorted(rows, key=lambda row: [(row[key] is None, row[key] or 0) for key in keys])


def compute(name: str, *arguments: Any, **options: Any) -> sql_engines.Rows:
    from polars_clustereval import spark

    return rows_in_order(name, getattr(spark, name)(*arguments, **options))


@pytest.mark.parametrize("name", NAMES)
def test_degenerate_partitions(name: str, frames: dict[str, DataFrame]) -> None:
    options = {"partition_by": "run"} | SINGLETONS
    if name == "bcubed_samples":
        options = without(options, "weight") | {"id": "flower"}
    actual = compute(name, frames["degenerate runs"], "species", "kmeans", **options)
    assert_answers(actual, from_macro(name, "degenerate runs", **options))


@pytest.mark.usefixtures("session")  # which skips the test without Java
def test_the_query_of_the_command_line_in_spark_sql(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the command prints is pasted into Spark's own program, which has not our package."""
    import pyspark

    from polars_clustereval.cli import main

    names = ("--tbl", "t", "--label", "a", "--cluster", "b")
    main(["sql", "external_report", "--dialect", "spark", *names])
    query = capsys.readouterr().out
    rows = "SELECT 1 AS a, 1 AS b UNION ALL SELECT 1, 2 UNION ALL SELECT 2, 2 UNION ALL SELECT 2, 2"
    script = tmp_path / "pasted.sql"
    script.write_text(f"CREATE TEMPORARY VIEW t AS {rows};\n{query}", encoding="utf-8")
    home = Path(pyspark.__file__).parent
    settings = ("spark.sql.catalogImplementation=in-memory", "spark.ui.enabled=false")
    program = [home / "bin" / "spark-sql", "--master", "local[1]"]
    options = [part for setting in settings for part in ("--conf", setting)]
    done = subprocess.run(
        [*program, *options, "--conf", "spark.sql.cli.print.header=true", "-f", script],
        capture_output=True, text=True, timeout=300, cwd=tmp_path, check=False,
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
    )  # fmt: skip
    header, values = done.stdout.splitlines()[-2:]
    report = dict(zip(header.split("\t"), values.split("\t"), strict=True))
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 2, 2]})
    (expected,) = frame.clustereval.external_report("a", "b").to_dicts()
    assert int(report["n"]) == 4
    for name in ("rand_score", "adjusted_rand_score", "normalized_mutual_info_score"):
        assert float(report[name]) == pytest.approx(expected[name], abs=1e-12)


@pytest.mark.parametrize("tbl", ["the rows", "no row"])
def test_a_single_partition(tbl: str, frames: dict[str, DataFrame]) -> None:
    options = {"weight": "times", "noise": 1, "noise_as": "drop", "average_method": "max"}
    options |= {"beta": 0.5}
    actual = compute("external_report", frames[tbl], "species", "kmeans", **options)
    assert_answers(actual, from_macro("external_report", tbl, **options))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "contingency_matrix"])
def test_columns_that_are_asked_for(name: str, frames: dict[str, DataFrame]) -> None:
    """Two by the seed, in another order than that of the table, after those that tell rows apart.

    Their values are those of the whole table, and invalid weights are an error all the same.
    """
    options = {"partition_by": "run"} | SINGLETONS
    if name == "bcubed_samples":
        options = without(options, "weight") | {"id": "flower"}
    expected = from_macro(name, "degenerate runs", **options)
    keys = ORDER.get(name, ("partition_key",))
    chosen = random.Random(seeds.first).sample([key for key in expected[0] if key not in keys], 2)
    rows = compute(name, frames["degenerate runs"], "species", "kmeans", metrics=chosen, **options)
    assert list(rows[0]) == [*keys, *chosen]
    assert_answers(rows, [{key: row[key] for key in (*keys, *chosen)} for row in expected])
    if "weight" in options:
        negative = frames["degenerate runs"].selectExpr("species", "kmeans", "-1 AS times")
        with pytest.raises(
            ce.ClusterEvalError, match="weight: expected whole numbers >= 0, got -1"
        ):
            compute(name, negative, "species", "kmeans", weight="times", metrics=chosen)


def test_costs_of_a_single_partition(frames: dict[str, DataFrame]) -> None:
    options = {"split_cost": "product", "merge_cost": "entropy", "beta": 0.5}
    for tbl in ("the rows", "no row"):
        actual = compute("entity_resolution_report", frames[tbl], "species", "kmeans", **options)
        assert_answers(actual, from_macro("entity_resolution_report", tbl, **options))


def test_rows_without_an_id_are_numbered(frames: dict[str, DataFrame]) -> None:
    """The numbers of Spark tell all rows apart, and change nothing else."""
    rows = compute("bcubed_samples", frames["the rows"], "species", "kmeans")
    assert len({row["id"] for row in rows}) == len(rows) > 1
    expected = from_macro("bcubed_samples", "the rows", id="flower")
    names = ("label", "cluster", "bcubed_precision", "bcubed_recall")
    first, second = (
        [{name: row[name] for name in names} for row in sorted(found, key=repr_without_id)]
        for found in (rows, expected)
    )
    assert_answers(first, second)


def repr_without_id(row: dict[str, Any]) -> str:
    """By what rows are sorted that may have any id: engines differ in last digits."""
    return str([round(x, 9) if isinstance(x, float) else x for k, x in row.items() if k != "id"])


def test_counts_beyond_bigint_are_exact(frames: dict[str, DataFrame]) -> None:
    (counts,) = compute("pair_counts", frames["many rows"], "species", "kmeans", weight="times")
    assert counts["tn"] == counts["fp"] == 2 * 3_000_000_001**2


def test_reports_of_kept_cells_read_no_rows(session: SparkSession, tmp_path: Path) -> None:
    """The rows are deleted once the cells are kept."""
    from polars_clustereval import spark

    path = tmp_path / "rows.parquet"
    TABLES["degenerate runs"].write_parquet(path)
    rows = session.read.parquet(str(path))
    cells = spark.contingency_matrix(rows, "species", "kmeans", partition_by="run", **SINGLETONS)
    path.unlink()
    cells.createOrReplaceTempView("kept cells".replace(" ", "_"))
    for name in without(dict.fromkeys(NAMES), "bcubed_samples"):
        unknown = {"n_dropped": None, "n_noise": None} if name in REPORTS else {}
        expected = from_macro(name, "degenerate runs", partition_by="run", **SINGLETONS)
        assert_answers(compute(name, "kept_cells"), [row | unknown for row in expected], name)


def test_days_of_kept_cells_are_united(frames: dict[str, DataFrame]) -> None:
    from polars_clustereval import spark

    rows = frames["the rows"]
    days = [
        spark.contingency_matrix(rows.filter(f"run = {day}"), "species", "kmeans", **SINGLETONS)
        for day in range(2)
    ]
    both = rows.filter("run < 2")
    expected = compute("contingency_matrix", both, "species", "kmeans", **SINGLETONS)
    assert compute("contingency_matrix", days[0].union(days[1])) == expected


@pytest.mark.parametrize("name", ["external_report", "bcubed_samples"])
def test_a_session_that_cannot_keep_results(
    name: str, frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is kept on the way, and the numbers are the same."""
    frame = frames["degenerate runs"]
    monkeypatch.setattr(spark_tables, "can_checkpoint", lambda _: False)
    monkeypatch.setattr(spark_tables, "_check_division", lambda *_: None)
    monkeypatch.setattr(type(frame), "localCheckpoint", None)
    options = {"partition_by": "run"} | SINGLETONS
    if name == "bcubed_samples":
        options = without(options, "weight") | {"id": "flower"}
    actual = compute(name, frame, "species", "kmeans", **options)
    assert_answers(actual, from_macro(name, "degenerate runs", **options))


def test_a_weight_in_a_session_that_cannot_keep_results(
    session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from polars_clustereval import spark

    monkeypatch.setattr(spark_tables, "can_checkpoint", lambda _: False)
    frame = session.sql("SELECT 1 AS label, 1 AS cluster, 2000000000000 AS huge")
    with pytest.raises(ce.ClusterEvalError, match="weight: expected a sum of at most"):
        spark.pair_counts(frame, "label", "cluster", weight="huge")


def test_no_cells(session: SparkSession) -> None:
    cells = session.createDataFrame(
        [], "partition_key string, label string, cluster int, n bigint, copies bigint"
    )
    (counts,) = compute("pair_counts", cells)
    assert counts == {"partition_key": None, "tp": 0, "fp": 0, "fn": 0, "tn": 0}


def test_two_executors_shuffle_cells_not_rows(session: SparkSession, log_folder: Path) -> None:
    """Ten times as many rows of the same 400 cells: the same shuffle, within a tenth."""
    from pyspark.sql import functions

    from polars_clustereval import spark

    for n in (100_000, 1_000_000):
        rows = session.range(0, n, 1, 4).select(
            (functions.col("id") % 20).alias("label"),
            (functions.floor(functions.col("id") / 20) % 20).alias("cluster"),
        )
        session.sparkContext.setJobGroup(str(n), "external_report")
        (report,) = spark.external_report(rows, "label", "cluster").collect()
        assert (report.n, report.n_labels, report.n_clusters) == (n, 20, 20)
    stages = read_stages(log_folder)
    few, many = (
        sum(stage.shuffled_bytes for stage in stages if stage.job_group == str(n))
        for n in (100_000, 1_000_000)
    )
    assert 0 < many < 1.1 * few
    tasks = Counter(executor for stage in stages for executor in stage.executors)
    assert set(tasks) == {"0", "1"}


def test_column_names_and_keys(session: SparkSession) -> None:
    rows = [("a", 1, 1, "x"), ("a", 1, 2, "x"), ("b", 2, 1, "x")]
    frame = session.createDataFrame(
        rows, "`my.label` string, `clus``ter{x}` int, k int, run string"
    )
    cells = compute(
        "contingency_matrix", frame, "MY.label", "clus`ter{x}", partition_by=["k", "run"]
    )
    found = [(tuple(cell["partition_key"]), cell["label"], cell["n"]) for cell in cells]
    assert found == [((1, "x"), "a", 1), ((1, "x"), "b", 1), ((2, "x"), "a", 1)]


@pytest.mark.parametrize("noise", ["{", "it's", "\\"])
def test_noise_is_a_literal(noise: str, session: SparkSession) -> None:
    frame = session.createDataFrame([("a", noise), ("b", "x")], "label string, cluster string")
    cells = compute("contingency_matrix", frame, "label", "cluster", noise=noise, noise_as="drop")
    assert [cell["label"] for cell in cells] == ["b"]


def test_numbers_and_text_of_noise(session: SparkSession) -> None:
    from pyspark.sql import functions

    rows = session.createDataFrame([("a", -1), ("b", 2)], "label string, cluster int")
    for dtype in ("int", "string", "double", "decimal(5,0)"):
        frame = rows.withColumn("cluster", functions.col("cluster").cast(dtype))
        noise = "-1" if dtype != "double" else "-1.0"
        for value in (-1, noise) if dtype != "string" else (noise,):
            (cell,) = compute(
                "contingency_matrix", frame, "label", "cluster", noise=value, noise_as="drop"
            )
            assert cell["label"] == "b", (dtype, value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"weight": "negative"}, "weight: expected whole numbers >= 0, got -1; a weight is how"),
        ({"weight": "fractional"}, "weight: expected whole numbers >= 0, got 0.5; a weight is"),
        ({"weight": "missing"}, "weight: expected whole numbers >= 0, got NULL; a weight is"),
        ({"weight": "huge"}, "weight: expected a sum of at most 1000000000000, got 2000000000000"),
        (
            {"noise": "x", "noise_as": "drop"},
            r"noise: expected a value of the type of cluster \(int\), got 'x' \(str",
        ),
        (
            {"noise": 1.5, "noise_as": "drop"},
            r"noise: expected a value of the type of cluster \(int\), got '1.5' \(fl",
        ),
        ({"noise_as": "drop"}, "noise_as 'drop' needs noise"),
        ({"label": "lable"}, "label: column 'lable' not found; did you mean 'label'.*columns: "),
        ({"partition_by": ["label", "r"]}, "partition_by: column 'r' not found"),
        ({"cluster": 3}, "cluster: expected a column name or a Spark Column, got int"),
        ({"label": "pairs"}, "label: a column of type map<string,int> cannot be grouped"),
        ({"cluster": None}, "cluster: expected a column as well as label"),
        ({"tbl": "rows_of_tset"}, "tbl: no table or view 'rows_of_tset' .*mean 'rows_of_test'"),
        ({"tbl": 3}, "tbl: expected a Spark DataFrame or the name of a table, got int"),
    ],
)
def test_bad_input(arguments: dict[str, Any], words: str, session: SparkSession) -> None:
    from polars_clustereval import spark

    frame = session.sql(
        "SELECT 'a' AS label, 1 AS cluster, -1 AS negative, 0.5 AS fractional, "
        "CAST(NULL AS INT) AS missing, 2000000000000 AS huge, map('a', 1) AS pairs"
    )
    frame.createOrReplaceTempView("rows_of_test")
    with pytest.raises(ce.ClusterEvalError, match=words):
        spark.pair_counts(**({"tbl": frame, "label": "label", "cluster": "cluster"} | arguments))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("label, cluster, n", "contingency table.*partition_key, .* cluster, n; if .* give label"),
        (
            "partition_key, label, cluster, n * 1.0 AS n, copies",
            r"bigint in n, got decimal.*another version",
        ),
        ("partition_key, label, cluster, n, copies - 1 AS copies", "got a row with n, .* 1, 0"),
        ("partition_key, label, cluster, 2 AS n, 2 AS copies", "got a row with n, .* 2, 2"),
        ("partition_key, '' || NULL AS label, cluster, n, copies", "rows with a label.* 1, 1"),
    ],
)
def test_no_kept_cells(columns: str, words: str, session: SparkSession) -> None:
    from polars_clustereval import spark

    cell = "SELECT '' AS partition_key, 'a' AS label, 1 AS cluster, 1 AS n, 1 AS copies"
    with pytest.raises(ce.ClusterEvalError, match=words):
        spark.external_label_report(session.sql(f"SELECT {columns} FROM ({cell})"))


def test_the_frame_of_another_library(session: SparkSession) -> None:
    from polars_clustereval import spark

    assert session.version
    with pytest.raises(ce.ClusterEvalError, match=r"tbl: expected a .* got DataFrame"):
        spark.pair_counts(pl.DataFrame({"label": ["a"], "cluster": [1]}), "label", "cluster")


def test_without_a_session(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from polars_clustereval import spark

    monkeypatch.setattr(type(session), "getActiveSession", lambda: None)
    with pytest.raises(ce.ClusterEvalError, match=r"no session.*apt-get install openjdk-17"):
        spark.pair_counts("t", "label", "cluster")


def test_settings_of_the_session_stay(session: SparkSession, frames: dict[str, DataFrame]) -> None:
    tables = session.sql("SHOW TABLES").collect()
    settings = dict(session.conf.getAll)
    compute("pair_counts", frames["one row"], "species", "kmeans")
    assert dict(session.conf.getAll) == settings
    assert session.sql("SHOW TABLES").collect() == tables


def test_python_of_the_page(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    printed: list[str] = []
    names = {"session": session, "print": lambda value: printed.append(str(value))}
    page = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    python = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    for block in python:
        exec(block, names)
    assert printed == re.findall(r"^print\(.*\)  # (.*)$", "".join(python), re.MULTILINE)
    assert len(printed) == 2
