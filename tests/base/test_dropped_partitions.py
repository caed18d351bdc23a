"""A partition whose rows are all left out has the row that it would have on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import registry
from tests.support.point_engines import call

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

#: Run 1 has points and labels, run 2 has lost them, and run 3 consists of noise.
ROWS = pl.DataFrame(
    {
        "run": [1, 1, 1, 1, 2, 2, 3],
        "label": ["a", "b", "b", None, None, None, "a"],
        "cluster": [1, 2, 2, 1, 1, 2, -1],
        "vector": [[1.0], [2.0], [3.0], None, None, None, [4.0]],
    },
    schema_overrides={"vector": pl.Array(pl.Float64, 1)},
)
OF_LABELS, OF_POINTS = registry.tables("labels"), registry.tables("points")


def is_report(table: str) -> bool:
    """Whether a table has rows for a frame without any row."""
    given = [list(x) if isinstance(x, tuple) else x for x in registry.given(table)]
    return bool(getattr(ce, table)(ROWS.clear(), *given).height)


REPORTS = [table for table in (*OF_LABELS, *OF_POINTS) if is_report(table)]
BY_CLUSTER = [table for table in (*OF_LABELS, *OF_POINTS) if table not in REPORTS]


def rows_of(engine: Engine, table: str, frame: pl.DataFrame, **arguments: Any) -> list[Row]:
    ask = engine.table if table in OF_LABELS else lambda *given, **how: call(engine, *given, **how)
    return ask(table, frame, noise=-1, noise_as="drop", **arguments)


def test_the_reports_and_the_tables_by_cluster() -> None:
    assert {"external_report", "external_summary", "pair_counts", "matching_report"} <= {*REPORTS}
    assert {"internal_report", "silhouette_score", "dunn_index"} <= {*REPORTS}
    assert {"contingency_matrix", "centroids", "external_cluster_report"} <= {*BY_CLUSTER}


@pytest.mark.parametrize("table", [*REPORTS, *BY_CLUSTER])
def test_a_partition_whose_rows_are_all_left_out(engine: Engine, table: str) -> None:
    rows = rows_of(engine, table, ROWS, partition_by="run")
    for run in (2, 3):
        of_run = [{x: row[x] for x in row if x != "run"} for row in rows if row["run"] == run]
        assert of_run == rows_of(engine, table, ROWS.filter(run=run))
        assert table in BY_CLUSTER or of_run


@pytest.mark.parametrize("table", ["external_report", "internal_report"])
def test_the_counts_of_such_partitions(engine: Engine, table: str) -> None:
    counts = ("run", "n", "n_dropped", "n_noise", "n_clusters")
    found = [
        tuple(row[x] for x in counts) for row in rows_of(engine, table, ROWS, partition_by="run")
    ]
    assert found == [(1, 3, 1, 0, 2), (2, 0, 2, 0, 0), (3, 0, 0, 1, 0)]
