"""Errors of the tables of runs."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.compare import assert_rows
from tests.support.engines import Engine, fails
from tests.support.run_engines import RUN_TABLES, call_runs, some_of
from tests.support.stability_oracle import ORACLES, SCHEMA, THREE, frame_of_runs


def fault(*rows: tuple[int | None, int | None, int]) -> pl.DataFrame:
    return pl.concat([frame_of_runs(THREE), pl.DataFrame(rows, schema=SCHEMA, orient="row")])


@pytest.mark.parametrize("table", RUN_TABLES)
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            [(3, 2, 7), (3, 2, 8), (2, 4, 5), (2, 3, 5)],
            "id: expected one row per id in a run, got 2 rows of id 3 in run 2",
        ),
        ([(3, 2, 7), (3, 2, 8)], "got 3 rows of id 2 in run 3"),
        ([(3, None, 7), (3, None, 8)], "id: expected a value in every row, got NULL in 2 rows"),
        ([(None, 1, 7)], "run: expected a value in every row, got NULL in 1 rows"),
    ],
)
def test_rows_that_are_no_runs(
    side: Engine, table: str, rows: list[tuple[int | None, int | None, int]], words: str
) -> None:
    with fails(side, words):
        call_runs(side, table, fault(*rows))


def test_an_id_twice_in_the_only_run(side: Engine) -> None:
    frame = pl.DataFrame([(1, 5, 0), (1, 5, 0)], schema=SCHEMA, orient="row")
    for table in RUN_TABLES:
        with fails(side, "got 2 rows of id 5 in run 1"):
            call_runs(side, table, frame)


def test_an_id_of_two_partitions_is_no_fault(engine: Engine) -> None:
    frame = pl.DataFrame([(1, 5, 0), (1, 5, 0)], schema=SCHEMA, orient="row")
    frame = frame.with_columns(part=pl.Series([1, 2]))
    assert len(call_runs(engine, "run_consensus", frame, partition_by="part")) == 2


def test_dropped_noise_is_no_fault(engine: Engine) -> None:
    frame = pl.DataFrame([(1, 5, 0), (1, 5, -1), (1, 5, -1)], schema=SCHEMA, orient="row")
    assert call_runs(engine, "run_consensus", frame, noise=-1, noise_as="drop")[0]["n_runs"] == 0
    with fails(engine, "got 3 rows of id 5 in run 1"):
        call_runs(engine, "run_consensus", frame, noise=-1, noise_as="singletons")


@pytest.mark.parametrize("table", ["run_agreement", "run_consensus"])
def test_different_ids_where_they_must_be_the_same(side: Engine, table: str) -> None:
    words = (
        "require_same_ids: expected the same ids in every run, got 1 only in run 1 and 0 only in "
        "run 3, of 3 in both"
    )
    with fails(side, words):
        call_runs(side, table, frame_of_runs(THREE), require_same_ids=True)
    same = {
        run: {i: cluster for i, cluster in members.items() if i < 4}
        for run, members in THREE.items()
    }
    rows = call_runs(side, table, frame_of_runs(same), require_same_ids=True)
    assert_rows(rows, ORACLES[table](same))


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (7, "reference: run 7 not found; the nearest run is 3"),
        (0, "reference: run 0 not found; the nearest run is 1"),
        ("x", "reference: expected a value of the type of run (BIGINT), got 'x' (VARCHAR)"),
        (None, "reference: expected a value of the type of run (BIGINT), got NULL"),
    ],
)
def test_a_reference_that_is_no_run(side: Engine, reference: Any, words: str) -> None:
    with fails(side, words):
        call_runs(side, "cluster_stability", frame_of_runs(THREE), reference=reference)


def test_a_reference_between_two_runs(side: Engine) -> None:
    names = {1: "kmeans 10", 2: "kmeans 8", 3: "ward"}
    frame = frame_of_runs(THREE).with_columns(pl.col("run").replace_strict(names))
    words = "reference: run kmeans_8 not found; the nearest runs are kmeans 8 and ward"
    with fails(side, words):
        call_runs(side, "cluster_stability", frame, reference="kmeans_8")
    assert len(call_runs(side, "cluster_stability", frame, reference="kmeans 8")) == 2


@pytest.mark.parametrize("table", ["run_agreement", "run_consensus"])
@pytest.mark.parametrize("empty", [pytest.param(False, marks=pytest.mark.wide), True])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metric": "ari"}, "metric: expected one of 'rand_score', 'adjusted_rand_score', "),
        ({"metric": "ari"}, "exact_match_f_score', got 'ari'; did you mean 'adjusted_rand_score'?"),
        ({"metric": "NMI_score"}, "'NMI_score'; did you mean 'normalized_mutual_info_score'?"),
        ({"metric": "n"}, "'exact_match_f_score', got 'n'"),
        ({"metric": None}, "'exact_match_f_score', got NULL"),
        ({"beta": -1.0}, "beta: expected a number >= 0, got -1.0"),
        ({"average_method": "mean"}, "average_method: expected one of 'arithmetic', "),
        (
            {"average_method": "joint", "metric": "adjusted_mutual_info_score"},
            "average_method 'joint' has no adjusted form: use adjusted := false, or another",
        ),
        ({"noise_as": "drop"}, "noise_as 'drop' needs noise: give the value of cluster that"),
    ],
)
def test_options(
    side: Engine, table: str, arguments: dict[str, Any], words: str, *, empty: bool
) -> None:
    with fails(side, words):
        call_runs(side, table, frame_of_runs({} if empty else THREE), **arguments)


def test_the_joint_entropy_is_an_average_of_the_normalized_score(side: Engine) -> None:
    arguments = {"metric": "normalized_mutual_info_score", "average_method": "joint"}
    assert call_runs(side, "run_agreement", frame_of_runs(THREE), **arguments)[0]["score"] == 1.0


def test_a_metric_without_a_best_value(side: Engine) -> None:
    words = "metric 'joint_entropy' has no best value, so no run is the most central; use"
    with fails(side, words):
        call_runs(side, "run_consensus", frame_of_runs(THREE), metric="joint_entropy")
    assert len(call_runs(side, "run_agreement", frame_of_runs(THREE), metric="joint_entropy")) == 3


def test_noise_of_another_type(side: Engine) -> None:
    words = "noise: expected a value of the type of cluster (BIGINT), got 'x' (VARCHAR)"
    for table in RUN_TABLES:
        with fails(side, words):
            call_runs(side, table, frame_of_runs(THREE), noise="x", noise_as="cluster")


@pytest.mark.parametrize("table", some_of(RUN_TABLES, ("cluster_stability",)))
@pytest.mark.parametrize("parameter", ["id", "run", "cluster"])
def test_columns(side: Engine, table: str, parameter: str) -> None:
    words = "clster" if side.name == "duckdb" else f"{parameter}: column 'clster' not found"
    with fails(side, words):
        call_runs(side, table, frame_of_runs(THREE), **{parameter: "clster"})


@pytest.mark.parametrize("table", some_of(RUN_TABLES, ("cluster_stability",)))
@pytest.mark.parametrize("parameter", ["id", "run", "cluster", "partition_by"])
def test_a_quoted_column(con: duckdb.DuckDBPyConnection, table: str, parameter: str) -> None:
    con.register("rows", frame_of_runs(THREE).with_columns(part=1))
    columns = {"id": "id", "run": "run", "cluster": "cluster", "partition_by": "part"}
    given = ", ".join(f"{k} := {v}" for k, v in (columns | {parameter: "'part'"}).items())
    more = ", reference := 1" if table == "cluster_stability" else ""
    words = f"{parameter}: expected a column, got the quoted string 'part'; write it without quotes"
    with pytest.raises(duckdb.Error, match=words):
        con.execute(f"FROM clustereval.{table}(tbl := rows, {given}{more})").fetchall()


def test_a_partition_column_named_as_a_result() -> None:
    frame = frame_of_runs(THREE)
    for name, table in (("score", "run_agreement"), ("rank", "run_consensus")):
        clash = frame.with_columns(pl.lit(1).alias(name))
        with pytest.raises(ce.ClusterEvalError, match=f"'{name}' is also a column of the result"):
            getattr(ce, table)(clash, "id", "run", "cluster", partition_by=name)


@pytest.mark.parametrize("table", RUN_TABLES)
@pytest.mark.parametrize("n_rows", [9, 10])
def test_ids_in_place_of_runs(engine: Engine, table: str, n_rows: int) -> None:
    """Of the pairs of 8,480 ids, which were given as runs, the answer took three minutes.

    1,001 runs of 10 rows each may be clusterings, and so may 1,000 smaller ones.
    """
    runs = pl.DataFrame({"run": range(1, 1002)}).join(
        pl.DataFrame({"id": range(n_rows)}).with_columns(cluster=pl.col("id") % 2), how="cross"
    )
    if n_rows == 9:
        words = (
            "run: expected a column with one value per clustering, got 1001 values in 9009 rows; "
            "the order of the columns is id, run, cluster"
        )
        with fails(engine, words):
            call_runs(engine, table, runs)
        with fails(engine, words):
            call_runs(engine, table, runs.with_columns(day=1), partition_by="day")
        halves = runs.with_columns(day=pl.col("run") % 2)
        some = halves if table == "cluster_stability" else halves.filter(pl.col("run") < 9)
        assert call_runs(engine, table, some.filter(day=1), partition_by="day")
    elif table == "cluster_stability":
        assert call_runs(engine, table, runs)
