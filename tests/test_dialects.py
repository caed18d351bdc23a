"""to_sql: the queries run on other engines and give DuckDB's numbers."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import chdb.session
import datafusion
import duckdb
import polars as pl
import pytest
import sqlglot

import polars_clustereval as ce
from polars_clustereval import dialects

IRIS = pl.read_parquet(Path(__file__).parent.parent / "examples" / "iris.parquet")
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
    "samples by number": ("bcubed_samples", {}),
}
# Each option alone: a report takes ClickHouse 2 seconds.
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "report": ("external_report", {}),
    "report of weights": ("external_report", {"weight": "times"}),
    "report less noise": ("external_report", {"noise": 1, "noise_as": "drop"}),
    "report of singletons": ("external_report", {"noise": 1, "noise_as": "singletons"}),
    "report by maximum": ("external_report", {"average_method": "max", "beta": 0.5}),
    "report unadjusted": ("external_report", {"adjusted": False, "average_method": "joint"}),
}
Rows = list[dict[str, Any]]
Run = Callable[[str], Rows]


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    ROWS.write_parquet(path)
    return path


def rows_of(con: duckdb.DuckDBPyConnection) -> Rows:
    names = [column[0] for column in con.description or ()]
    return [dict(zip(names, row, strict=True)) for row in con.fetchall()]


@contextmanager
def on_duckdb(_: Path) -> Iterator[Run]:
    """A connection without the macros: a query of to_sql needs none."""
    with duckdb.connect() as connection:
        connection.register("the rows", ROWS)
        yield lambda query: rows_of(connection.execute(query))


@contextmanager
def on_datafusion(path: Path) -> Iterator[Run]:
    context = datafusion.SessionContext()
    context.register_parquet("the rows", str(path))
    yield lambda query: pl.DataFrame(context.sql(query).to_arrow_table()).to_dicts()


@contextmanager
def on_clickhouse(path: Path) -> Iterator[Run]:
    session = chdb.session.Session()
    try:
        session.query("CREATE DATABASE IF NOT EXISTS local ENGINE = Atomic")
        session.query(f"CREATE VIEW local.`the rows` AS SELECT * FROM file('{path}', 'Parquet')")
        session.query("USE local")
        yield lambda query: pl.DataFrame(session.query(query, "ArrowTable")).to_dicts()
    finally:
        session.close()


ENGINES = {"duckdb": on_duckdb, "datafusion": on_datafusion, "clickhouse": on_clickhouse}


@pytest.fixture(scope="module", params=ENGINES)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def run(dialect: str, parquet: Path) -> Iterator[Run]:
    with ENGINES[dialect](parquet) as run:
        yield run


@cache
def macros() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    ce.register(connection)
    connection.register("the rows", ROWS)
    return connection


@cache
def from_macro(name: str, **options: Any) -> Rows:
    named = {"partition_by", "weight", "id"}
    given = "".join(
        f", {key} := {value}" if key in named else f", {key} := ${key}"
        for key, value in options.items()
    )
    values = {key: value for key, value in options.items() if key not in named}
    query = f'FROM clustereval.{name}("the rows", species, kmeans{given})'
    return rows_of(macros().execute(query, values))


def assert_near(actual: Rows, expected: Rows) -> None:
    assert len(actual) == len(expected)
    for row, wanted in zip(actual, expected, strict=True):
        assert list(row) == list(wanted)
        for name, value in wanted.items():
            got = row[name].decode() if isinstance(row[name], bytes) else row[name]
            if value is None or isinstance(value, str):
                assert got == value, name
            else:
                assert math.isclose(got, value, rel_tol=1e-9, abs_tol=1e-9), name


def same_numbers(dialect: str, run: Run, name: str, **options: Any) -> None:
    query = ce.to_sql(
        name, dialect=dialect, tbl='"the rows"', label="species", cluster="kmeans", **options
    )
    assert_near(run(query), from_macro(name, **options))


@pytest.mark.parametrize("call", CALLS)
def test_same_numbers(dialect: str, run: Run, call: str) -> None:
    name, options = CALLS[call]
    same_numbers(dialect, run, name, **options)


@pytest.mark.wide
@pytest.mark.parametrize("call", OPTIONS)
def test_same_numbers_with_each_option(dialect: str, run: Run, call: str) -> None:
    name, options = OPTIONS[call]
    same_numbers(dialect, run, name, **options)


def test_the_comparison_can_fail() -> None:
    expected = from_macro("pair_counts")
    wrong = [{**expected[0], "tp": expected[0]["tp"] + 1}]
    for rows in (wrong, [], [{**expected[0], "tp": None}]):
        with pytest.raises((AssertionError, TypeError)):
            assert_near(rows, expected)


@pytest.mark.parametrize("dialect", ["spark", "snowflake", "bigquery", "postgres"])
def test_other_dialects_are_read_by_their_own_parser(dialect: str) -> None:
    query = ce.to_sql(
        "external_report", dialect=dialect, tbl="a.b", label="order", cluster='we"ird'
    )
    sqlglot.parse_one(query, dialect=dialect)
    assert "clustereval" not in query


def test_names_are_quoted() -> None:
    query = ce.to_sql(
        "pair_counts", dialect="postgres", tbl="Mixed.Case", label="order", cluster='a"; DROP'
    )
    for name in ('"Mixed"."Case"', '"order"', '"a""; DROP"'):
        assert name in query


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "external_reports"}, r"name: expected one of .*did you mean 'external_report'"),
        ({"dialect": "sparc"}, r"dialect: expected one of .*did you mean 'spark'"),
        ({"noise_as": "keep"}, "noise_as: expected one of .*got 'keep'"),
        ({"noise_as": "drop"}, "noise_as 'drop' needs noise"),
        ({"average_method": "mean"}, "average_method: expected one of .*got 'mean'"),
        ({"beta": -1.0}, "beta: expected a number >= 0, got -1"),
        ({"id": "i"}, "id: external_report does not take it"),
        ({"name": "bcubed_samples", "weight": "w"}, "weight: bcubed_samples does not take it"),
        ({"name": "pair_counts", "adjusted": False}, "adjusted: pair_counts does not take it"),
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
    query = sqlglot.parse_one(f"SELECT {call}", dialect="duckdb")
    with pytest.raises(ce.ClusterEvalError, match=r"not known to mean the same in spark"):
        dialects.refuse_unportable(query, "spark")
