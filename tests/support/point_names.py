"""Columns and tables of any name, many in one call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.support.engines import (
    DuckDB,
    Engine,
    Row,
    column_sql,
    fetched,
    literal,
    quoted,
    with_keys,
)
from tests.support.macro_calls import named_inside
from tests.support.point_engines import assert_points, call

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

SQL_FOLDER = Path(__file__).parents[2] / "sql"


def sql_names(*files: str) -> tuple[list[str], list[str]]:
    """The inner names of these SQL files, and of them those of common table expressions.

    Without those that begin with __ce_, which the table of a user may not.
    """
    text = "".join(
        path.read_text(encoding="utf-8") for path in SQL_FOLDER.rglob("*.sql") if path.stem in files
    )
    names = named_inside(text)
    tables = set(re.findall(r"(\w+) AS (?:NOT )?(?:MATERIALIZED )?\(\s*SELECT", text))
    return sorted(names), sorted(name for name in tables if not name.startswith("__ce_"))


def assert_columns(
    engine: Engine,
    function: str,
    frame: pl.DataFrame,
    names: Sequence[str],
    wanted: Sequence[Row],
    n_calls: int = 4,
    **options: Any,
) -> None:
    """The same rows with columns of these names for coordinates, cluster and keys.

    `frame` has columns x, y and cluster. SQL takes many names in one call: as further coordinates
    that are 0, as columns of which the cluster is the largest, and as keys. The first two of each
    of `n_calls` calls are x and y. Polars takes them one by one, with the three that follow.
    """
    if isinstance(engine, DuckDB):
        # A key may not be named like a result.
        names = [name for name in dict.fromkeys(names) if name not in wanted[0]]
        # More calls where a name would have two roles in one.
        size = min(-(-len(names) // n_calls), len(names) // 3)
        for start in range(0, len(names), size):
            assert_columns_of_sql(engine, function, frame, names, start, size, wanted, options)
        return
    for i in range(len(names)):
        a, b, cluster, key = (names[(i + j) % len(names)] for j in range(4))
        named = frame.select(pl.col("x").alias(a), pl.col("y").alias(b), cluster="cluster")
        named = named.rename({"cluster": cluster}).with_columns(pl.lit("run").alias(key))
        got = call(engine, function, named, [a, b], cluster, partition_by=key, **options)
        assert_points(got, [{key: "run"} | row for row in wanted], what=(a, b, cluster, key))


def assert_columns_of_sql(
    engine: DuckDB,
    function: str,
    frame: pl.DataFrame,
    names: Sequence[str],
    start: int,
    size: int,
    wanted: Sequence[Row],
    options: dict[str, Any],
) -> None:
    points, clusters, keys = (
        [names[(start + role * size + i) % len(names)] for i in range(size)] for role in range(3)
    )
    zeros = [pl.lit(0.0).alias(name) for name in points[2:]]
    named = frame.select(
        pl.col("x").alias(points[0]),
        pl.col("y").alias(points[1]),
        *zeros,
        *(pl.col("cluster").alias(name) for name in clusters),
        *(pl.lit("run").alias(name) for name in keys),
    )
    greatest = f"greatest({', '.join(map(quoted, clusters))})"
    fields = ", ".join(f"{quoted(key)}: {quoted(key)}" for key in keys)
    more = "".join(f", {name} := {literal(value)}" for name, value in options.items())
    query = (
        f"FROM clustereval.{function}(assignments, {column_sql(points)}, {greatest}, "
        f"partition_by := {{{fields}}}{more})"
    )
    got = [with_keys(row, keys) for row in engine.rows(query, named)]
    for row in got:
        assert [row.pop(key) for key in keys] == ["run"] * size
        if "centroid" in row:
            assert row["centroid"][2:] == [0.0] * (size - 2)
            row["centroid"] = row["centroid"][:2]
        if "n_dims" in row:
            row["n_dims"] -= size - 2
    without = {"ratkowsky_lance_index"}  # NULL, as some coordinates are constant
    assert_points(got, wanted, without=without, what=(points, clusters, keys))


def assert_tables(
    con: duckdb.DuckDBPyConnection,
    function: str,
    frame: pl.DataFrame,
    names: Sequence[str],
    columns: str,
    *,
    one_by_one: bool = False,
) -> None:
    """The same rows from tables of these names: all in one call, a partition each, or one by one.

    `columns` is the text of the arguments for vector and cluster.
    """
    con.register("plain", frame)
    wanted = fetched(con, f"FROM clustereval.{function}(plain, {columns})")
    assert wanted
    texts = [literal(quoted(name)) if set(name) & set('".') else quoted(name) for name in names]
    for i, name in enumerate(names):
        con.register(name, frame.with_columns(pl.lit(i).alias("nr")))
    if one_by_one:
        got = [
            fetched(con, f"FROM clustereval.{function}({text}, {columns}, partition_by := nr)")
            for text in texts
        ]
    else:
        query = f"FROM clustereval.{function}([{', '.join(texts)}], {columns}, partition_by := nr)"
        rows = fetched(con, query)
        got = [[row for row in rows if row["partition_key"] == i] for i in range(len(names))]
    for i, (name, rows) in enumerate(zip(names, got, strict=True)):
        assert_points(rows, [row | {"partition_key": i} for row in wanted], what=name)


each_table = pytest.mark.parametrize(
    "one_by_one", [False, pytest.param(True, marks=pytest.mark.wide)], ids=["at once", "each"]
)
