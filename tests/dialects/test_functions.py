"""Functions that each engine has in a form of its own: to_sql writes what DuckDB computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import numpy as np
import polars as pl
import pytest
from sqlglot import exp

from polars_clustereval.dialects import ENGINES, functions
from polars_clustereval.dialects.engines import Engine
from tests.support import sql_engines
from tests.support.sql_answers import parse_query

if TYPE_CHECKING:
    from pathlib import Path

WIDE = pytest.mark.wide
DIALECTS = ["duckdb", "datafusion", "clickhouse", pytest.param("postgres", marks=WIDE)]
# The value at the least key: of group 1 not at the key that is left out, of 2 the lower one of two
# at one key, of 3 none, of 4 NULL.
ROWS = pl.DataFrame(
    [
        (1, 9.0, 0.5, 0),
        (1, 8.0, 1.0, 1),
        (1, 2.0, 3.0, 1),
        (2, 7.0, 1.0, 1),
        (2, 6.0, 1.0, 1),
        (2, 1.0, 4.0, 1),
        (3, 5.0, 2.0, 0),
        (4, None, 1.0, 1),
        (4, 3.0, 2.0, 1),
    ],
    schema=["k", "v", "s", "kept"],
    orient="row",
)
QUERY = """
SELECT
  k,
  value_at_least_key(v, s - 1, kept = 1) AS nearest,
  median(v + 1) AS middle,
  var_pop(v) AS spread,
  atanh((MAX(s) - 1) / 10) AS angle
FROM t GROUP BY k ORDER BY k
"""
# k, median, population variance of 9, 8, 2 and of 7, 6, 1, and ln((1 + x) / (1 - x)) / 2 of 0.2,
# 0.3 and 0.1.
EXPECTED = [
    (1, 9.0, 86 / 9, 0.2027325540540822),
    (2, 7.0, 62 / 9, 0.3095196042031117),
    (3, 6.0, 0.0, 0.10033534773107562),
    (4, 4.0, 0.0, 0.10033534773107562),
]


@pytest.mark.each
@pytest.mark.parametrize("dialect", DIALECTS)
def test_same_values(dialect: str, tmp_path: Path) -> None:
    reason = sql_engines.reason_to_skip(dialect)
    if reason:
        pytest.skip(reason)
    engine = ENGINES[dialect]
    query = functions.write_functions(parse_query(QUERY), engine)
    with sql_engines.ENGINES[dialect]({"t": ROWS}, tmp_path) as run:
        rows = run(query.sql(engine.parser, normalize_functions=False))
    assert [row.pop("nearest") for row in rows] == [8.0, 6.0, None, None]
    for row, expected in zip(rows, EXPECTED, strict=True):
        assert list(row.values()) == pytest.approx(expected, rel=1e-12)


def test_the_value_at_the_least_key_in_forms_of_all_engines() -> None:
    """In a dialect without a form of its own; ties have the least value, of the rows that count."""
    # A row that does not count, and a group whose least key is not that of the others.
    more = [(1, 0.0, 1.0, 0), (5, 1.0, 4.0, 1), (5, 3.0, 2.0, 1)]
    more_rows = pl.DataFrame(more, schema=ROWS.schema, orient="row")
    query = parse_query(
        "SELECT k, value_at_least_key(v, s - 1, kept = 1) AS nearest FROM t AS r GROUP BY k, NULL"
    )
    plain = functions.write_functions(query, Engine("snowflake", parser="snowflake"))
    with duckdb.connect() as con:
        con.register("t", pl.concat([ROWS, more_rows]))
        rows = con.execute(f"{plain.sql('duckdb')} ORDER BY k").fetchall()
    assert rows == [(1, 8.0), (2, 6.0), (3, None), (4, None), (5, 3.0)]


@pytest.mark.parametrize("number", ["1.7976931348623157e308", "-1.7976931348623157e308", "0.0"])
def test_finite_numbers_are_finite(number: str) -> None:
    assert is_finite(f"CAST({number} AS DOUBLE)")


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_other_numbers_are_not_finite(number: str) -> None:
    assert not is_finite(f"CAST('{number}' AS DOUBLE)")


def is_finite(number: str) -> bool:
    """Whether the form of isfinite, which all engines share, is TRUE in DuckDB."""
    query = parse_query(f"SELECT isfinite({number}) AS is_finite")
    query = functions.write_functions(query, ENGINES["spark"])
    assert not query.find(exp.Anonymous)
    (answer,) = duckdb.execute(query.sql("duckdb")).fetchall()
    return bool(answer[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("value_at_least_key(v, s, kept)", "MIN_BY(v, STRUCT(s AS __ce_argument_1, v "),
        ("median(v)", "MEDIAN(v)"),
        ("not_finite_error(v, s)", "ELEMENT_AT(v, s)"),
        ("not_finite_error(v, s)", "' in coordinate ', CAST(s AS STRING)"),
    ],
)
def test_forms_of_spark(call: str, words: str) -> None:
    query = functions.write_functions(parse_query(f"SELECT {call} AS answer"), ENGINES["spark"])
    assert words in query.sql("spark")


def test_the_number_at_the_least_key_is_the_value_at_it(tmp_path: Path) -> None:
    """ClickHouse packs key and number into one: keys below 0 and of both zeros, and ties."""
    random = np.random.default_rng(0)
    n = 20_000
    keys = [-1e300, -2.5, -2.0, -0.0, 0.0, 5e-324, 0.5, 1e300]
    rows = pl.DataFrame(
        {
            "k": random.integers(0, 4_000, n),
            "v": random.integers(0, 2**40, n),
            "s": random.choice(keys, n),
            "kept": random.integers(0, 2, n),
        }
    )
    kept = rows.with_columns(s=pl.col("s") + 0.0).filter(kept=1)  # -0.0 is 0.0
    wanted = kept.sort("k", "s", "v").group_by("k", maintain_order=True).first()
    groups = rows.select("k").unique().join(wanted, on="k", how="left").sort("k")
    assert 50 < groups["v"].null_count() < 500, "groups without a row that is kept"
    # Of columns that cannot be NULL, an aggregate without rows would be 0.
    columns = ("assumeNotNull(v)", "assumeNotNull(s)", "kept = 1")
    form = ENGINES["clickhouse"].functions["number_at_least_key"].format(*columns)
    with sql_engines.ENGINES["clickhouse"]({"t": rows}, tmp_path) as run:
        found = run(f"SELECT k, {form} AS v FROM t GROUP BY k ORDER BY k")
    assert [(row["k"], row["v"]) for row in found] == groups.select("k", "v").rows()
