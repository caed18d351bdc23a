"""A partition whose rows are all dropped has no row; the table of all rows counts them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import registry
from tests.support.point_engines import call

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

ROWS = pl.DataFrame(
    {
        "run": [1, 1, 1, 1, 2, 2],
        "label": ["a", "b", "b", None, None, None],
        "cluster": [1, 2, 2, 1, 1, 2],
        "vector": [[1.0], [2.0], [3.0], None, None, None],
    },
    schema_overrides={"vector": pl.Array(pl.Float64, 1)},
)


def has_count(table: str) -> bool:
    given = [list(x) if isinstance(x, tuple) else x for x in registry.given(table)]
    return "n_dropped" in getattr(ce, table)(ROWS.lazy(), *given).collect_schema()


OF_LABELS, OF_POINTS = (
    [table for table in registry.tables(kind) if has_count(table)] for kind in ("labels", "points")
)


def counted_rows(engine: Engine, table: str, frame: pl.DataFrame, **arguments: str) -> list[Row]:
    ask = engine.table if table in OF_LABELS else lambda *given, **how: call(engine, *given, **how)
    return ask(table, frame, **arguments)


def test_the_tables_that_count_dropped_rows() -> None:
    assert {"external_report", "matching_report"} <= set(OF_LABELS)
    assert {"internal_report", "silhouette_score", "dunn_index"} <= set(OF_POINTS)


@pytest.mark.parametrize("table", [*OF_LABELS, *OF_POINTS])
def test_a_partition_without_rows_that_count(engine: Engine, table: str) -> None:
    found = counted_rows(engine, table, ROWS, partition_by="run")
    assert [(row["run"], row["n_dropped"]) for row in found] == [(1, 1)]
    [row] = counted_rows(engine, table, ROWS.filter(run=2))
    assert (row["n"], row["n_dropped"]) == (0, 2)
