"""Queries of to_sql on 20,000 rows: plans that are fast on a few rows may not end on many."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import sql_engines
from tests.support.sql_answers import assert_answers
from tests.support.sql_engines import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.sql_engines import Rows, Run

pytestmark = pytest.mark.wide

N, K, DIMS = 20_000, 50, 8
LABELS: dict[str, Any] = {"tbl": "t", "label": "label", "cluster": "cluster"}
COLUMNS = [f"x{i}" for i in range(DIMS)]
POINTS: dict[str, Any] = {"tbl": "t", "vector": COLUMNS, "cluster": "cluster"}
SQUARED = POINTS | {"distance": "sqeuclidean"}
RUNS: dict[str, Any] = {"tbl_before": "t", "tbl_after": "u", "id": "id", "cluster": "cluster"}
CALLS: dict[str, dict[str, Any]] = {
    "external_report": LABELS,
    "entity_resolution_report": LABELS,
    "contingency_matrix": LABELS,
    "pair_counts": LABELS,
    "external_cluster_report": LABELS,
    "external_label_report": LABELS,
    "bcubed_samples": LABELS | {"id": "id"},
    "internal_report": POINTS,
    "internal_cluster_report": POINTS,
    "neighbor_report": POINTS,
    "centroids": POINTS,
    "silhouette_score": SQUARED,
    "silhouette_clusters": SQUARED,
    "silhouette_samples": SQUARED | {"id": "id"},
    "run_transitions": RUNS,
    "transition_overlaps": RUNS,
    "moved_ids": RUNS,
    "affected_ids": RUNS,
}


@cache
def large_tables() -> dict[str, pl.DataFrame]:
    """Points around centers, with labels of which 7 in 10 agree, and a second run."""
    random = np.random.default_rng(0)
    cluster = random.integers(0, K, N)
    x = random.normal(size=(N, DIMS)) + 3 * random.normal(size=(K, DIMS))[cluster]

    def mix(share: float) -> pl.Series:
        """The clusters, of which a share is kept."""
        return pl.Series(np.where(random.random(N) < share, cluster, random.integers(0, K, N)))

    rows = pl.DataFrame(x, schema=COLUMNS)
    rows = rows.with_columns(label=mix(0.7), cluster=cluster, id=pl.int_range(N))
    return {"t": rows, "u": rows.select("id", cluster=mix(0.9))}


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    reason = sql_engines.reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp(request.param)
    with sql_engines.ENGINES[request.param](large_tables(), folder) as run:
        yield run


@cache
def rows_in_duckdb(name: str) -> Rows:
    with duckdb.connect() as con:
        for table, frame in large_tables().items():
            con.register(table, frame)
        return rows_of(con.execute(ce.to_sql(name, dialect="duckdb", **CALLS[name])))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("run", "dialect"),
    [(name, name) for name in ("datafusion", "clickhouse", "postgres")],
    indirect=["run"],
    scope="module",
)
def test_many_rows(run: Run, dialect: str, name: str) -> None:
    """The limit of CPU time of a test is that of the query."""
    script = ce.to_sql(name, dialect=dialect, steps=dialect != "postgres", **CALLS[name])
    assert_answers(run(script), rows_in_duckdb(name), name)
