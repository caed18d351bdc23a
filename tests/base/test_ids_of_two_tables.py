"""Ids that are structs, such as of source and id, in tables that name the fields differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.support import graphs, registry, run_engines
from tests.support.engines import DuckDB, fails, make
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

ROWS = pl.DataFrame(
    {
        "source": [*"aabbc"],
        "key": [1, 2, 1, 2, 1],
        "cluster": [0, 0, 0, 1, 1],
        "label": [0, 0, 1, 1, 1],
    }
)
NODES = ROWS.with_columns(id=pl.struct("source", "key"))
RENAMED = ROWS.with_columns(id=pl.struct(source_2="source", key_2="key"))
LINKS = pl.DataFrame(
    [("a", 1, "b", 1), ("b", 2, "a", 2)], schema=["a", "b", "c", "d"], orient="row"
)
EDGES = LINKS.select(left=pl.struct("a", "b"), right=pl.struct("c", "d"))
SAME = LINKS.select(left=pl.struct(source="a", key="b"), right=pl.struct(source="c", key="d"))

OF_TWO_TABLES = registry.tables(
    "graph", "neighbors", "edges", "two runs", "covers", "distances", "pair labels"
)


def call_of(engine: Engine, table: str, other: pl.DataFrame, edges: pl.DataFrame) -> list[Row]:
    match registry.kind_of(table):
        case "graph" | "neighbors":
            return graphs.ask(engine, table, NODES, edges)
        case "edges":
            weighted = edges.with_columns(weight=1.0)
            return engine.call(table, NODES, "id", weighted, "left", "right", "weight")
        case "distances":
            columns = ("id", "cluster", "left", "right", "distance")
            pairs = edges.with_columns(distance=1.0)
            return engine.call(table, NODES, *columns[:2], pairs, *columns[2:], missing="drop")
        case "pair labels":
            columns = ("id", "cluster", "left", "right", "is_match")
            pairs = edges.with_columns(is_match=True)
            return engine.call(table, NODES, *columns[:2], pairs, *columns[2:])
        case "two runs":
            return run_engines.call_pair(engine, table, NODES, other)
        case _:
            return run_engines.call_covers(engine, NODES, other)


@pytest.mark.parametrize("table", OF_TWO_TABLES)
def test_fields_are_compared_by_position(engine: Engine, table: str) -> None:
    """In DuckDB by name, unless they have none: a tuple compares by position."""
    wanted = call_of(make("polars"), table, NODES, SAME)
    assert_points(call_of(engine, table, NODES, SAME), wanted, floor=1e-12)
    if isinstance(engine, DuckDB):
        words = "; give their fields the same names and types, or write both as (source, id)"
        with fails(engine, words):
            call_of(engine, table, RENAMED, EDGES)
        return
    assert_points(call_of(engine, table, RENAMED, EDGES), wanted, floor=1e-12)


def test_tuples_are_compared_by_position() -> None:
    """As the error of DuckDB advises."""
    engine = make("duckdb")
    assert isinstance(engine, DuckDB)
    query = (
        "SELECT n_edges, n_dropped_edges FROM clustereval.graph_report("
        "people, (source, key), cluster, matches, (a, b), (c, d))"
    )
    assert engine.ask(query, people=ROWS, matches=LINKS) == [{"n_edges": 2, "n_dropped_edges": 0}]


@pytest.mark.parametrize("table", OF_TWO_TABLES)
def test_fields_of_other_types_differ(engine: Engine, table: str) -> None:
    def cast(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
        other = [
            pl.struct(pl.col(name).struct.field("*").cast(pl.String)).alias(name) for name in names
        ]
        return frame.with_columns(other)

    with fails(engine, ", got "):
        call_of(engine, table, cast(NODES, "id"), cast(SAME, "left", "right"))
