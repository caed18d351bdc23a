"""Names in queries of to_sql: as the engine folds them, exact in quotes, and the comment."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import polars as pl
import pytest
import sqlglot

import polars_clustereval as ce
from polars_clustereval.dialects.engines import ENGINES, find_engine
from polars_clustereval.dialects.identifiers import fold_name, parse_column, reserved_words
from tests.support.sql_answers import started_engine
from tests.support.sql_engines import rows_of

pytestmark = pytest.mark.each

NEVER_EXECUTED = "ignore:dialect .*never been executed:UserWarning"


def pairs_query(dialect: str, label: str, cluster: str = "c", **options: Any) -> str:
    given: dict[str, Any] = {"tbl": "t", "compact": True} | options
    return ce.to_sql("pair_counts", dialect=dialect, label=label, cluster=cluster, **given)


@pytest.mark.filterwarnings(NEVER_EXECUTED)
@pytest.mark.parametrize(
    ("dialect", "name", "expected"),
    [
        # Plain names are the engine's to fold; those in quotes are as they stand.
        ("snowflake", "Region", "SELECT Region AS "),
        ("snowflake", '"Region"', 'SELECT "Region" AS '),
        ("postgres", "Region", "SELECT Region AS "),
        ("postgres", '"Region"', 'SELECT "Region" AS '),
        ("bigquery", '"Region"', "SELECT `Region` AS "),
        ("bigquery", "`Region`", "SELECT `Region` AS "),
        ("duckdb", '"a ""b"""', 'SELECT "a ""b""" AS '),
        # A name with other characters than those of a word can only be exact.
        ("postgres", 'a"; DROP', 'SELECT "a""; DROP" AS '),
        ("spark", "my region", "SELECT `my region` AS "),
        # Reserved words are quoted as the engine folds them.
        ("snowflake", "order", 'SELECT "ORDER" AS '),
        ("postgres", "Order", 'SELECT "order" AS '),
        ("postgres", '"Order"', 'SELECT "Order" AS '),
        ("duckdb", "order", 'SELECT "order" AS '),
    ],
)
def test_columns(dialect: str, name: str, expected: str) -> None:
    assert expected in pairs_query(dialect, name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.b", "FROM a.b "),
        ("Sales.Night", "FROM Sales.Night "),
        ("a b", 'FROM "a b" '),
        ('"Mixed"."my.table"', 'FROM "Mixed"."my.table" '),
        ("db.order.t", 'FROM db."order".t '),
    ],
)
def test_tables(name: str, expected: str) -> None:
    assert expected in pairs_query("postgres", "l", tbl=name)


@pytest.mark.parametrize("name", ["REGION", "region", '"Other Region"', "Other Region", "order"])
def test_names_on_duckdb(name: str) -> None:
    table = pl.DataFrame({"region": [1, 1], "Other Region": [1, 1], "order": [1, 1], "c": [1, 2]})
    with duckdb.connect() as con:
        con.register("t", table)
        (counts,) = rows_of(con.execute(pairs_query("duckdb", name)))
    assert (counts["fn"], counts["fp"]) == (1, 0)


@pytest.mark.wide
def test_names_on_postgres(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Postgres folds names to lower case, so that only the one in quotes is the mixed one."""
    table = pl.DataFrame({"region": [1, 1], "Region": [1, 2], "order": [1, 1], "c": [1, 1]})
    with started_engine("postgres", {"t": table}, tmp_path_factory) as run:
        found = {
            name: run(pairs_query("postgres", name))
            for name in ("REGION", "Region", '"region"', '"Region"', "ORDER")
        }
    assert found["REGION"] == found["Region"] == found['"region"'] == found["ORDER"]
    assert found["REGION"] != found['"Region"']


@pytest.mark.parametrize("dialect", [*ENGINES, "snowflake", "bigquery", "mysql"])
def test_words_of_sql_are_reserved(dialect: str) -> None:
    assert {"select", "order", "group", "from"} <= reserved_words(find_engine(dialect).parser)


def test_folding() -> None:
    names = [fold_name("Name", x) for x in ("snowflake", "postgres", "bigquery")]
    assert names == ["NAME", "name", "Name"]
    assert parse_column('"Name"').this.quoted
    assert not parse_column("Name").this.quoted


def test_the_comment_says_what_and_how() -> None:
    query = ce.to_sql(
        "rand_score", dialect="duckdb", tbl="t", label="l", cluster="c", noise=-1, noise_as="drop"
    )
    comment = [line for line in query.splitlines() if line.startswith("-- ")]
    text = " ".join(line.removeprefix("-- ").strip() for line in comment)
    assert text.startswith("Rand index")
    call = "to_sql('rand_score', dialect='duckdb', tbl='t', label='l', cluster='c', noise=-1, "
    assert f"polars_clustereval {ce.__version__}: {call}noise_as='drop')" in text
    assert max(map(len, comment)) <= 100
    assert query.splitlines()[len(comment)].startswith("WITH ")


def test_a_comment_of_a_cte_is_that_above_its_macro() -> None:
    """_label_sizes of sql/external/contingency.sql, and the CTE cells, which is no macro's."""
    text = pairs_query("duckdb", "l", compact=False)
    sizes = "One row per (partition_key, label) with its size."
    assert f"__ce_label_sizes AS (\n  /* {sizes} */\n  SELECT" in text
    assert "/* The groups that are scored, which are the cells of the contingency table. */" in text


def test_columns_have_names_that_a_reviewer_understands() -> None:
    given = {"tbl": "t", "label": "l", "cluster": "c", "metrics": ["v_measure_score"]}
    text = ce.to_sql("external_report", dialect="duckdb", **given)
    assert "WHEN label_entropy_given_cluster + cluster_entropy_given_label = 0" in text
    assert not re.search(r"\b[he][hl]?[lc]\b", text)


def test_several_columns_of_partitions_are_an_error() -> None:
    words = r"partition_by: expected the name of one column, got \['a', 'b'\]; combine .*concat"
    with pytest.raises(ce.ClusterEvalError, match=words):
        pairs_query("postgres", "l", partition_by=["a", "b"])


@pytest.mark.parametrize(("compact", "start"), [(False, "-- dialect"), (True, "/* dialect")])
@pytest.mark.filterwarnings(NEVER_EXECUTED)
def test_the_text_says_that_it_was_never_executed(compact: bool, start: str) -> None:
    text = pairs_query("snowflake", "l", compact=compact)
    assert f"{start} 'snowflake': its queries have never been executed, only translated" in text
    assert len(sqlglot.parse(text, dialect="snowflake")) == 1
    assert "never been executed" not in pairs_query("spark", "l", compact=compact)


@pytest.mark.parametrize(
    "end", ["\n", "\r", "\r\n", "\u2028", "\x85", "\x0b", "*/", "-- "], ids=ascii
)
def test_nothing_ends_the_comment(end: str) -> None:
    """What the user gives, such as the value of noise, is never outside of the comment's lines."""
    query = pairs_query(
        "duckdb", "l", noise=f"x{end} DROP TABLE t;", noise_as="drop", compact=False
    )
    assert len(sqlglot.parse(query.split("\nWITH ")[0], dialect="duckdb")) <= 1
    comment = query.split("\nWITH ")[0]
    assert all(line.startswith("-- ") for line in comment.splitlines())
