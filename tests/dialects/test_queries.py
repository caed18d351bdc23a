"""to_sql: the queries run on other engines and give DuckDB's numbers."""

import random
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlglot
from polars.testing import assert_frame_equal
from sqlglot import exp

import polars_clustereval as ce
from polars_clustereval import dialects
from polars_clustereval.dialects import portable
from tests.support import sql_engines
from tests.support.sql_answers import (
    ask_macro,
    assert_answers,
    connect_macros,
    parse_query,
    write_query,
)
from tests.support.sql_engines import Rows, Run

IRIS = pl.read_parquet(Path(__file__).parent.parent.parent / "examples" / "iris.parquet")
ROWS = IRIS.select(
    "species",
    pl.when(pl.int_range(pl.len()) % 29 == 0).then(None).otherwise("kmeans").alias("kmeans"),
    (pl.int_range(pl.len()) % 4).alias("run"),
    (pl.int_range(pl.len()) % 3).alias("times"),
    (pl.int_range(pl.len()) * 7 % 150).alias("flower"),
)
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "report by run": ("external_report", {"partition_by": "run"}),
    "report of weights, less noise, by maximum": (
        "external_report",
        {"weight": "times", "noise": 1, "noise_as": "drop", "average_method": "max", "beta": 0.5},
    ),
    "report of singletons, unadjusted": (
        "external_report",
        {"noise": 1, "noise_as": "singletons", "adjusted": False, "average_method": "joint"},
    ),
    "contingency": ("contingency_matrix", {"noise": 1, "noise_as": "singletons"}),
    "pairs": ("pair_counts", {"partition_by": "run"}),
    "clusters": ("external_cluster_report", {}),
    "labels": ("external_label_report", {"partition_by": "run"}),
    "samples": ("bcubed_samples", {"id": "flower"}),
    "resolution by run": ("entity_resolution_report", {"partition_by": "run"}),
    "resolution of weights and singletons, by costs": (
        "entity_resolution_report",
        {
            "weight": "times",
            "noise": 1,
            "noise_as": "singletons",
            "split_cost": "product",
            "merge_cost": "entropy",
            "beta": 0.5,
        },
    ),
}
# Each option alone: a report takes ClickHouse 2 seconds.
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "report": ("external_report", {}),
    "report of weights": ("external_report", {"weight": "times"}),
    "report less noise": ("external_report", {"noise": 1, "noise_as": "drop"}),
    "report of singletons": ("external_report", {"noise": 1, "noise_as": "singletons"}),
    "report by maximum": ("external_report", {"average_method": "max", "beta": 0.5}),
    "resolution": ("entity_resolution_report", {}),
    "resolution of weights": ("entity_resolution_report", {"weight": "times"}),
    "resolution less noise": (
        "entity_resolution_report",
        {"noise": 1, "noise_as": "drop", "beta": 2, "split_cost": "entropy"},
    ),
    "report unadjusted": ("external_report", {"adjusted": False, "average_method": "joint"}),
}
REPORTS = ("external_report", "entity_resolution_report")
TABLE_NAMES = sorted({name for name, _ in CALLS.values()}.difference(REPORTS))
WAYS: dict[str, dict[str, Any]] = {
    "weights": {"weight": "times"},
    "less noise": {"weight": "times", "noise": 1, "noise_as": "drop"},
    "singletons": {"weight": "times", "noise": 1, "noise_as": "singletons"},
}
WIDE, GATE = pytest.mark.wide, pytest.mark.gate
# Spark takes ten seconds to start and for a report, ClickHouse seconds for any query with many
# CTEs: make test runs it on the counts of pairs and on saved contingency tables.
FEW_CTES = ["duckdb", "datafusion", "clickhouse", pytest.param("postgres", marks=WIDE)]
HERE = [pytest.param(name, marks=GATE) if name == "clickhouse" else name for name in FEW_CTES]
DUCKDB_FIRST = [pytest.param(x, marks=GATE) if x == "datafusion" else x for x in HERE]
EVERYWHERE = [*HERE, pytest.param("spark", marks=WIDE)]
AVERAGES = ("geometric", "min", "max")
IDS = {"id": "flower"}
ROW = {"species": "a", "kmeans": 1, "run": None, "times": 1, "flower": 0}
FEW = {  # rows of species and kmeans
    "no row": [],
    "one row": [("a", 1)],
    "only NULL": [(None, None), ("a", None), (None, 1)],
    "one label": [("a", 1), ("a", 1), ("a", 2), ("a", 3)],
    "one label and cluster": [("a", 1)] * 3,
    "one cluster": [("a", 1), ("b", 1), ("b", 1)],
    "singletons": [("a", 1), ("b", 2), ("c", 3), ("d", 4)],
    "independent": [("a", 1), ("a", 2), ("b", 1), ("b", 2)],
}


def without(options: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key != name}


def few_rows(name: str, run: int | None = None) -> pl.DataFrame:
    rows = [
        ROW | {"species": label, "kmeans": cluster, "run": run, "flower": i}
        for i, (label, cluster) in enumerate(FEW[name])
    ]
    return pl.DataFrame(rows, schema=TABLES["the rows"].schema)


TABLES = {"the rows": ROWS}
TABLES |= {name: few_rows(name) for name in FEW}
# Without partition_by; the others only as partitions, since Spark takes seconds for each query.
ALONE = ("the rows", "no row", "one row", "only NULL", "one label")
TABLES["14 rows"] = ROWS.drop_nulls().tail(14)
# All of them by run, and the one row by the run NULL.
TABLES["degenerate runs"] = pl.concat(
    [few_rows("one row"), *(few_rows(name, run) for run, name in enumerate(FEW)), ROWS]
).with_columns(flower=pl.int_range(pl.len()))
# Kept cells: of the rows, of the runs, and none.
SINGLETONS: dict[str, Any] = {"noise": 1, "noise_as": "singletons"}
KEPT: dict[str, tuple[str, dict[str, Any]]] = {
    "cells": ("the rows", {}),
    "cells and singletons": ("the rows", {"weight": "times", **SINGLETONS}),
    "cells by run": ("degenerate runs", {"partition_by": "run", **SINGLETONS}),
    "no cells": ("no row", {}),
}
# More pairs than 2^53, and than a BIGINT holds.
TABLES["many rows"] = few_rows("independent").with_columns(times=pl.lit(3_000_000_001))


@pytest.fixture(scope="module")
def dialect(request: pytest.FixtureRequest) -> str:
    reason = sql_engines.reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture(scope="module")
def run(dialect: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with sql_engines.ENGINES[dialect](tables_and_cells(), tmp_path_factory.mktemp(dialect)) as run:
        yield run


def keep_cells(tbl: str, **options: Any) -> pl.DataFrame:
    """The cells as from two days: each cell in two rows, but for those of one row."""
    cells = pl.DataFrame(
        from_macro("contingency_matrix", tbl, **options),
        schema={
            "partition_key": pl.Int64 if "partition_by" in options else pl.String,
            "label": pl.String,
            "cluster": pl.Int64,
            "n": pl.Int64,
            "copies": pl.Int64,
        },
    )
    column = pl.when(pl.col("cluster").is_null()).then(pl.lit("copies")).otherwise(pl.lit("n"))
    days = [
        cells.with_columns(
            n=pl.when(column == "n").then(share("n")).otherwise("n"),
            copies=pl.when(column == "copies").then(share("copies")).otherwise("copies"),
        )
        for share in (lambda name: pl.col(name) // 2, lambda name: (pl.col(name) + 1) // 2)
    ]
    return pl.concat(days).filter((pl.col("n") > 0) & (pl.col("copies") > 0))


@cache
def tables_and_cells() -> dict[str, pl.DataFrame]:
    return TABLES | {name: keep_cells(tbl, **options) for name, (tbl, options) in KEPT.items()}


@cache
def label_tables() -> duckdb.DuckDBPyConnection:
    return connect_macros(TABLES)


@cache
def from_macro(name: str, tbl: str = "the rows", **options: Any) -> Rows:
    named = {"partition_by", "weight", "id"}
    given = "".join(
        f", {key} := {value}" if key in named else f", {key} := ${key}"
        for key, value in options.items()
    )
    values = {key: value for key, value in options.items() if key not in named}
    query = f'FROM clustereval.{name}("{tbl}", species, kmeans{given})'
    return ask_macro(label_tables(), query, **values)


def translate(name: str, dialect: str, tbl: str = "the rows", **options: Any) -> str:
    return write_query(name, dialect, tbl, label="species", cluster="kmeans", **options)


def same_numbers(dialect: str, run: Run, name: str, tbl: str = "the rows", **options: Any) -> None:
    query = translate(name, dialect, tbl, **options)
    assert_answers(run(query), from_macro(name, tbl, **options), (name, tbl))


#: Of the long reports, the first is enough in make test.
SHORT = ("report by run", "contingency", "pairs", "clusters", "labels", "samples")


@pytest.mark.parametrize("call", [x if x in SHORT else pytest.param(x, marks=GATE) for x in CALLS])
@pytest.mark.parametrize("dialect", HERE, indirect=True, scope="module")
def test_same_numbers(dialect: str, run: Run, call: str) -> None:
    name, options = CALLS[call]
    same_numbers(dialect, run, name, **options)


@WIDE
@pytest.mark.parametrize("call", OPTIONS)
@pytest.mark.parametrize("dialect", HERE, indirect=True, scope="module")
def test_same_numbers_with_each_option(dialect: str, run: Run, call: str) -> None:
    name, options = OPTIONS[call]
    same_numbers(dialect, run, name, **options)


@pytest.mark.gate
@pytest.mark.parametrize("dialect", EVERYWHERE, indirect=True, scope="module")
def test_every_table_but_the_report(dialect: str, run: Run) -> None:
    for name in TABLE_NAMES:
        ids = IDS if name == "bcubed_samples" else {}
        for tbl in ALONE:
            same_numbers(dialect, run, name, tbl, **ids)
        same_numbers(dialect, run, name, "degenerate runs", partition_by="run", **ids)
    same_numbers(
        dialect, run, "bcubed_samples", "degenerate runs", id="flower", noise=1, noise_as="cluster"
    )
    options = {"weight": "times", "noise": 1, "noise_as": "singletons"}
    same_numbers(dialect, run, "external_label_report", **options)


@GATE
@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("dialect", DUCKDB_FIRST, indirect=True, scope="module")
def test_every_table_but_the_report_in_each_way(dialect: str, run: Run, options: str) -> None:
    for name in TABLE_NAMES:
        ways = WAYS[options]
        given = ways if name != "bcubed_samples" else without(ways, "weight") | IDS
        same_numbers(dialect, run, name, "the rows", **given)
        same_numbers(dialect, run, name, "degenerate runs", partition_by="run", **given)


@WIDE
@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize("dialect", HERE, indirect=True, scope="module")
def test_the_report_by_run_in_each_way(dialect: str, run: Run, options: str, name: str) -> None:
    given = WAYS[options] | {"partition_by": "run"}
    same_numbers(dialect, run, name, "degenerate runs", **given)


def drawn_rows(n: int, seed: int) -> pl.DataFrame:
    """Rows with labels and clusters at random, and the two scores of each."""
    draw = random.Random(seed)
    frame = pl.DataFrame(
        {
            "species": [draw.choice("abcdefg") for _ in range(n)],
            "kmeans": [draw.randrange(6) for _ in range(n)],
            "flower": draw.sample(range(n), n),
        }
    )
    both = pl.len().over("species", "kmeans")
    return frame.with_columns(
        bcubed_precision=both / pl.len().over("kmeans"),
        bcubed_recall=both / pl.len().over("species"),
    )


@pytest.mark.parametrize("n", [50, pytest.param(20_000, marks=GATE)])
@pytest.mark.parametrize("dialect", EVERYWHERE, indirect=True)
def test_each_row_keeps_its_label_and_scores(dialect: str, n: int, tmp_path: Path) -> None:
    """By its number in DuckDB, which keeps the order of rows, and by its id elsewhere."""
    frames = {f"seed {seed}": drawn_rows(n, seed) for seed in range(3)}
    ids = {} if dialect == "duckdb" else IDS
    with sql_engines.ENGINES[dialect](frames, tmp_path) as run:
        for tbl, frame in frames.items():
            expected = frame.sort("flower") if ids else frame.with_columns(flower=pl.int_range(n))
            rows = run(translate("bcubed_samples", dialect, tbl, **ids))
            wanted = expected.rename({"flower": "id", "species": "label", "kmeans": "cluster"})
            found = pl.DataFrame(rows).select(wanted.columns)
            assert_frame_equal(found, wanted, check_dtypes=False, rel_tol=1e-12)


def same_from_cells(dialect: str, run: Run, name: str, kept: str) -> None:
    tbl, options = KEPT[kept]
    query = write_query(name, dialect, kept)
    unknown = {"n_dropped": None, "n_noise": None} if name in REPORTS else {}
    # Saved cells do not tell which partitions had no row that counts.
    keys = {row["partition_key"] for row in from_macro("contingency_matrix", tbl, **options)}
    expected = [
        row | unknown
        for row in from_macro(name, tbl, **options)
        if "partition_by" not in options or row["partition_key"] in keys
    ]
    assert_answers(run(query), expected, (name, kept))


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("dialect", FEW_CTES, indirect=True, scope="module")
def test_tables_of_kept_cells(dialect: str, run: Run, kept: str) -> None:
    for name in (name for name in TABLE_NAMES if name != "bcubed_samples"):
        same_from_cells(dialect, run, name, kept)


@WIDE
@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("dialect", HERE, indirect=True, scope="module")
def test_the_report_of_kept_cells(dialect: str, run: Run, kept: str, name: str) -> None:
    same_from_cells(dialect, run, name, kept)


@WIDE
@pytest.mark.parametrize("dialect", [pytest.param("postgres")], indirect=True, scope="module")
def test_a_report_of_14_rows_takes_less_than_2_seconds(dialect: str, run: Run) -> None:
    """With the settings of a new server. A plan without hash joins took a minute."""
    query = translate("external_report", dialect, "14 rows")
    seconds = []
    for _ in range(3):  # other processes may be at work
        begin = time.perf_counter()
        run(query)
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 2


@WIDE
@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("dialect", EVERYWHERE, indirect=True, scope="module")
def test_the_report(dialect: str, run: Run, name: str) -> None:
    for tbl in ALONE:
        same_numbers(dialect, run, name, tbl)
    same_numbers(dialect, run, name, "degenerate runs", partition_by="run")


@pytest.mark.parametrize(
    "dialect", [*FEW_CTES, pytest.param("spark", marks=WIDE)], indirect=True, scope="module"
)
def test_pair_counts_are_exact(dialect: str, run: Run) -> None:
    (counts,) = run(translate("pair_counts", dialect, "many rows", weight="times"))
    n = 3_000_000_001  # rows of each of the four cells
    pairs = {"tp": 2 * n * (n - 1), "fp": 2 * n * n, "fn": 2 * n * n, "tn": 2 * n * n}
    assert {name: int(counts[name]) for name in pairs} == pairs


RUNS: list[dict[str, Any]] = [
    {},
    {"partition_by": "day", "threshold": 0.6},
    {"noise": 9, "noise_as": "drop", "threshold": 0.4},
    {"noise": 9, "noise_as": "singletons"},
]
RUN_TABLES = ("run_transitions", "transition_overlaps", "moved_ids", "affected_ids")
NIGHT = pl.DataFrame(
    {
        "id": range(40),
        "cluster": [*[0] * 8, *[1] * 8, *[2] * 6, *[3] * 6, *[9] * 5, *[4] * 3, None, *[5] * 3],
        "day": [i % 2 if i % 7 else None for i in range(40)],
    }
)
NEXT_NIGHT = NIGHT.filter(pl.col("id") != 3).with_columns(
    cluster=pl.when(pl.col("cluster") == 3)
    .then(2)  # merged
    .when((pl.col("cluster") == 1) & (pl.col("id") % 2 == 0))
    .then(11)  # split
    .when(pl.col("id") > 38)
    .then(9)
    .when(pl.col("id") == 36)
    .then(12)  # new
    .otherwise("cluster")
)
NIGHTS = {
    "before": NIGHT,
    "after": NEXT_NIGHT,
    "no one before": NIGHT.clear(),
    "no one after": NIGHT.clear(),
}


def test_transitions(tmp_path: Path) -> None:
    with sql_engines.ENGINES["duckdb"](NIGHTS, tmp_path) as run:
        found = run(translate_runs("run_transitions", "duckdb"))
    assert_answers(found, rows_of_runs("run_transitions"))


@GATE
@pytest.mark.parametrize(
    "dialect", [*DUCKDB_FIRST, pytest.param("spark", marks=WIDE)], indirect=True, scope="module"
)
def test_tables_of_two_runs(dialect: str, tmp_path: Path) -> None:
    """Also of runs without a row, which have none."""
    with sql_engines.ENGINES[dialect](NIGHTS, tmp_path) as run:
        for name in RUN_TABLES:
            for options in RUNS:
                if name == "affected_ids":
                    # An id loses and gains companions, whatever becomes of its cluster.
                    options = {key: x for key, x in options.items() if key != "threshold"}
                assert_answers(
                    run(translate_runs(name, dialect, **options)), rows_of_runs(name, **options)
                )
            empty = {"before": "no one before", "after": "no one after"}
            assert run(translate_runs(name, dialect, **empty)) == []


def translate_runs(
    name: str, dialect: str, before: str = "before", after: str = "after", **options: Any
) -> str:
    return ce.to_sql(
        name,
        dialect=dialect,
        tbl_before=f'"{before}"',
        tbl_after=f'"{after}"',
        id="id",
        cluster="cluster",
        **options,
    )


@cache
def night_tables() -> duckdb.DuckDBPyConnection:
    return connect_macros({"before": NIGHT, "after": NEXT_NIGHT})


def rows_of_runs(name: str, **options: Any) -> Rows:
    """The rows of the macro, none of which is left without a transition that is tested."""
    given = "".join(f", {key} := {show(key, value)}" for key, value in options.items())
    query = f"FROM clustereval.{name}(before, after, id, cluster{given})"
    rows = ask_macro(night_tables(), query)
    assert rows
    if name == "run_transitions" and not options:
        kinds = {row["transition"] for row in rows}
        assert kinds >= {"kept", "shrunk", "split", "merged", "new"}
    return rows


def show(key: str, value: object) -> str:
    return f"'{value}'" if isinstance(value, str) and key != "partition_by" else str(value)


def test_the_comparison_can_fail() -> None:
    expected = from_macro("pair_counts")
    wrong = [{**expected[0], "tp": expected[0]["tp"] + 1}]
    for rows in (wrong, [], [{**expected[0], "tp": None}]):
        with pytest.raises((AssertionError, TypeError)):
            assert_answers(rows, expected)


PARSED = ["snowflake", "bigquery"]


@GATE
@pytest.mark.filterwarnings("ignore:dialect .*never been executed:UserWarning")
@pytest.mark.parametrize(
    "dialect",
    ["snowflake", *(pytest.param(name, marks=GATE) for name in ("spark", "postgres", "bigquery"))],
)
def test_other_dialects_are_read_by_their_own_parser(dialect: str) -> None:
    query = ce.to_sql(
        "external_report", dialect=dialect, tbl="a.b", label="order", cluster='we"ird'
    )
    assert "clustereval" not in sqlglot.parse_one(query, dialect=dialect).sql(comments=False)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (
            "execute every external table",
            list(sql_engines.ENGINES),
        ),
        ("parse the query", PARSED),
    ],
)
def test_the_page_names_the_tested_dialects(words: str, names: list[str]) -> None:
    lines = (
        (Path(__file__).parent.parent.parent / "docs" / "dialects.md")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    (row,) = (line for line in lines if line.startswith("|") and words in line)
    assert sorted(re.findall(r"`(\w+)`", row)) == sorted(names)


@pytest.mark.parametrize("dialect", ["bigquery", "Databricks"])
def test_a_dialect_without_a_test_warns(dialect: str) -> None:
    with pytest.warns(UserWarning, match=f"dialect '{dialect}': .*never been executed.*postgres"):
        ce.to_sql("pair_counts", dialect=dialect, tbl="t", label="l", cluster="c")


def test_the_dialects_without_a_warning_are_executed() -> None:
    assert sorted(sql_engines.ENGINES) == list(dialects.EXECUTED_DIALECTS)


def test_parentheses_that_change_nothing_are_dropped() -> None:
    """Deep ones are too many for the parser of DataFusion."""
    kept = "SELECT (a + b) * c, a - (b + c), a / (b / c), a - (b - c), -(a + b), (a = b) = c"
    text = f"{kept}, ((a * b) * c) + d, ((a - b) + c), (((a + b)) * c), CASE WHEN ((a)) THEN 1 END"
    query = portable.drop_parentheses(parse_query(text))
    assert query.sql("duckdb") == (
        f"{kept}, a * b * c + d, a - b + c, (a + b) * c, CASE WHEN a THEN 1 END"
    )


CELLS = {"label": None, "cluster": None}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "external_reports"}, r"name: expected one of .*did you mean 'external_report'"),
        ({"dialect": "sparc"}, r"dialect: expected one of .*did you mean 'spark'"),
        ({"noise_as": "keep"}, "noise_as: expected one of .*got 'keep'"),
        ({"noise_as": "drop"}, "noise_as 'drop' needs noise"),
        ({"average_method": "mean"}, "average_method: expected one of .*got 'mean'"),
        ({"beta": -1.0}, "beta: expected a number >= 0, got -1"),
        ({"average_method": "joint"}, "has no adjusted form: use adjusted=False, or another"),
        ({"id": "i"}, "id: not a parameter of external_report"),
        ({"split_cost": "product"}, "split_cost: not a parameter of external_report"),
        (
            {"name": "entity_resolution_report", "merge_cost": "square"},
            "merge_cost: expected one of 'unit', 'product', 'entropy', got 'square'",
        ),
        ({"name": "matching_report"}, "name: expected one of .*entity_resolution_report"),
        ({"name": "moved_ids"}, "tbl_before: moved_ids needs tbl_before, tbl_after, id, cluster"),
        (
            {"name": "moved_ids", "tbl_before": "a", "tbl_after": "b", "id": "i"},
            "label: not a parameter of moved_ids, which takes tbl_before",
        ),
        (
            {
                "name": "run_transitions",
                "tbl_before": "a",
                "tbl_after": "b",
                "id": "i",
                "threshold": 2,
            },
            "threshold: expected a number above 0 and at most 1, got 2",
        ),
        ({"tbl_after": "b"}, "tbl_after: not a parameter of external_report"),
        (
            {"name": "bcubed_samples", "weight": "w", "id": "i"},
            "weight: not a parameter of bcubed_samples",
        ),
        (
            {"name": "bcubed_samples"},
            "id: bcubed_samples needs the column that identifies .* rows have no order in spark",
        ),
        ({"name": "pair_counts", "adjusted": False}, "adjusted: not a parameter of pair_counts"),
        ({"cluster": None}, "cluster: expected a column as well as label; leave out both"),
        ({"label": None}, "label: expected a column as well as cluster; leave out both"),
        (CELLS | {"weight": "w"}, "weight: a saved contingency table already contains it"),
        (CELLS | {"partition_by": "p"}, "partition_by: a saved contingency table already"),
        (CELLS | {"noise": 1, "noise_as": "drop"}, "noise: a saved contingency table already"),
        (CELLS | {"name": "bcubed_samples"}, "label: bcubed_samples needs the label and"),
        ({"tbl": "t'; x"}, r"tbl: expected table, schema.table .*got \"t'; x\""),
        ({"tbl": ""}, r"tbl: expected table, schema.table .*got ''"),
    ],
)
def test_bad_options(arguments: dict[str, Any], words: str) -> None:
    call = {"name": "external_report", "dialect": "spark", "tbl": "t", "label": "l", "cluster": "c"}
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.to_sql(**(call | arguments))


@pytest.mark.parametrize("call", ["log(2.0)", "list_sum([1])", "histogram(1)"])
def test_what_engines_do_not_share_is_refused(call: str) -> None:
    query = parse_query(f"SELECT {call}")
    with pytest.raises(ce.ClusterEvalError, match=r"may have a different meaning in spark"):
        portable.refuse_unportable(query, "spark")


#: A report takes more than a second to translate: one of them is enough in make test.
READ = [
    pytest.param(call, dialect, marks=GATE)
    if (CALLS | OPTIONS)[call][0] in REPORTS and (call, dialect) != ("report by run", "spark")
    else (call, dialect)
    for call in (*CALLS, "report")
    for dialect in ("spark", "postgres")
]


@pytest.mark.gate
@pytest.mark.parametrize(("call", "dialect"), READ)
def test_what_engines_read_differently_is_not_written(call: str, dialect: str) -> None:
    name, options = (CALLS | OPTIONS)[call]
    query = sqlglot.parse_one(translate(name, dialect, **options), dialect=dialect)
    for number in query.find_all(exp.Literal):
        fraction = number.is_number and not number.is_int
        assert not fraction or isinstance(number.parent, exp.Cast), "1.0 is DECIMAL or DOUBLE"
    for select in query.find_all(exp.Select):
        untyped = [e for e in select.expressions if isinstance(e.unalias(), exp.Null)]
        assert not untyped or select.find_ancestor(exp.Union), "NULL without a type"
    for union in query.find_all(exp.Union):
        first = union.left.unnest()
        if isinstance(first, exp.Select):
            assert not any(isinstance(e.unalias(), exp.Null) for e in first.expressions)
    for group in query.find_all(exp.Group):
        assert all(key.find(exp.Column) for key in group.expressions), "GROUP BY a constant"
    for source in query.find_all(exp.Subquery):
        assert source.alias or not isinstance(source.parent, exp.From | exp.Join), "no alias"
    for window in query.find_all(exp.Window):
        assert not isinstance(window.this, exp.RowNumber) or window.args.get("order")


def evaluate_every_branch(query: str) -> str:
    """The query with all branches of CASE evaluated, as some engines do, and x / 0 an error."""
    tree = sqlglot.parse_one(query, dialect="duckdb")
    for case in reversed(list(tree.find_all(exp.Case))):
        branches = case.args["ifs"]
        values = [*(branch.args["true"] for branch in branches), case.args.get("default")]
        chosen = exp.Case()
        for number, branch in enumerate(branches, 1):
            chosen = chosen.when(branch.this, str(number))
        chosen = chosen.else_(str(len(values)))
        listed = exp.func("list_value", *(value or exp.null() for value in values))
        case.replace(exp.func("list_extract", listed, chosen))
    for division in reversed(list(tree.find_all(exp.Div))):
        divisor = exp.paren(division.expression)
        fault = exp.func("error", exp.Literal.string(f"divided by 0: {divisor.sql()[:100]}"))
        is_zero = exp.EQ(this=divisor, expression=exp.Literal.number(0))
        guarded = exp.Case().when(is_zero, fault).else_(divisor.copy())
        division.set("expression", exp.paren(guarded))
    return tree.sql(dialect="duckdb")


EVERY_BRANCH: list[Any] = [
    ("no row", {"adjusted": False}),
    pytest.param("no row", {}, marks=GATE),
    pytest.param("degenerate runs", {"partition_by": "run"}, marks=GATE),
    *(
        pytest.param(tbl, {"average_method": average} | more, marks=WIDE)
        for average in AVERAGES
        for tbl, more in (("no row", {}), ("degenerate runs", {"partition_by": "run"}))
    ),
]


@pytest.mark.gate
@pytest.mark.parametrize(("tbl", "options"), EVERY_BRANCH)
def test_no_division_relies_on_case(tbl: str, options: dict[str, Any]) -> None:
    query = evaluate_every_branch(translate("external_report", "duckdb", tbl, **options))
    with sql_engines.on_duckdb(TABLES, Path()) as run:
        assert_answers(run(query), from_macro("external_report", tbl, **options), tbl)


def test_an_untaken_division_by_zero_is_seen() -> None:
    query = evaluate_every_branch("SELECT CASE WHEN x = 0 THEN 1 ELSE 1 / x END FROM (SELECT 0 x)")
    with pytest.raises(duckdb.InvalidInputException, match="divided by 0"):
        duckdb.sql(query).fetchall()


@GATE
def test_threads_do_not_share_a_connection() -> None:
    arguments = {"dialect": "spark", "tbl": "t", "label": "species", "cluster": "kmeans"}
    with ThreadPoolExecutor(8) as pool:
        queries = pool.map(lambda _: ce.to_sql("pair_counts", **arguments), range(24))
        assert len(set(queries)) == 1
