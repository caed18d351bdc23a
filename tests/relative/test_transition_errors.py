"""Errors of the tables of two runs, and what is read of the runs before they are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.engines import fails
from tests.support.run_engines import PAIR_TABLES, call_pair
from tests.test_laziness import Source

if TYPE_CHECKING:
    from tests.support.engines import Engine

ONE = pl.DataFrame({"id": [1, 2, 3], "cluster": [0, 0, 1]})


@pytest.mark.parametrize("table", [table for table in PAIR_TABLES if table != "affected_ids"])
@pytest.mark.parametrize("threshold", [0, -0.1, 1.5, None, "half"])
def test_a_threshold_that_is_no_share(side: Engine, table: str, threshold: Any) -> None:
    shown = "NULL" if threshold is None else str(threshold)
    for frame in (ONE, ONE.clear()):
        with fails(side, f"threshold: expected a number above 0 and at most 1, got {shown}"):
            call_pair(side, table, frame, frame, threshold=threshold)


@pytest.mark.parametrize("table", ["run_transitions", "run_drift"])
@pytest.mark.parametrize("min_share", [-0.1, 0.6, None, "some"])
def test_a_min_share_beyond_the_threshold(side: Engine, table: str, min_share: Any) -> None:
    shown = "NULL" if min_share is None else str(min_share)
    with fails(side, f"min_share: expected a number from 0 to the threshold, got {shown}"):
        call_pair(side, table, ONE, ONE, min_share=min_share)


@pytest.mark.parametrize("table", PAIR_TABLES)
def test_an_id_twice_in_a_run(side: Engine, table: str) -> None:
    twice = pl.DataFrame({"id": [3, 1, 2, 2, 3], "cluster": [0, 0, 0, 1, 0]})
    words = "id: expected one row per id in a run, got several rows of id 2 in the run"
    with fails(side, f"{words} before"):
        call_pair(side, table, twice, ONE)
    with fails(side, f"{words} after"):
        call_pair(side, table, ONE, twice)


def test_an_id_in_two_partitions_or_without_a_cluster_is_not_twice(side: Engine) -> None:
    frame = pl.DataFrame(
        {"id": [1, 1, 1], "cluster": [0, 0, None], "part": [1, 2, 2]},
    )
    rows = call_pair(side, "run_transitions", frame, frame, partition_by="part")
    assert [row["transition"] for row in rows] == ["kept", "kept"]


@pytest.mark.parametrize("table", PAIR_TABLES)
def test_a_missing_id(side: Engine, table: str) -> None:
    missing = pl.DataFrame({"id": [1, None, None], "cluster": [0, 0, 1]})
    words = "id: expected a value in every row, got NULL in 2 rows of the run"
    with fails(side, f"{words} before"):
        call_pair(side, table, missing, ONE)
    with fails(side, f"{words} after"):
        call_pair(side, table, ONE, missing)


@pytest.mark.parametrize("table", PAIR_TABLES)
@pytest.mark.parametrize("column", ["id", "cluster", "part"])
@pytest.mark.parametrize("kind", ["String", "Date"])
def test_columns_of_two_types(side: Engine, table: str, column: str, kind: str) -> None:
    """DuckDB would unite text with numbers, and not find a type for numbers and dates."""
    frame = ONE.with_columns(part=1)
    other = frame.with_columns(pl.col(column).cast(getattr(pl, kind)))
    parameter = "partition_by" if column == "part" else column
    words = f"{parameter}: expected the same type in both runs, got "
    for frames in ((frame, other), (frame.clear(), other.clear())):
        with fails(side, words) as raised:
            call_pair(side, table, *frames, partition_by="part")
        text = str(raised.value)
        in_duckdb = {"String": "VARCHAR", "Date": "DATE"}[kind]
        shown = in_duckdb if side.name == "duckdb" else kind
        assert f" before and {shown} after" in text
        assert "; cast one of them" in text


@pytest.mark.parametrize("table", PAIR_TABLES)
def test_a_column_that_one_run_lacks(side: Engine, table: str) -> None:
    other = ONE.rename({"cluster": "group"})
    for frames, name in (((other, ONE), "frame_before"), ((ONE, other), "frame_after")):
        words = "cluster" if side.name == "duckdb" else f"{name}: cluster: column 'cluster' not fo"
        with fails(side, words):
            call_pair(side, table, *frames)
    part = ONE.with_columns(part=1)
    words = "part" if side.name == "duckdb" else "frame_after: partition_by: column 'part' not fo"
    with fails(side, words):
        call_pair(side, table, part, ONE, partition_by="part")


@pytest.mark.parametrize("table", PAIR_TABLES)
def test_bad_noise(side: Engine, table: str) -> None:
    with fails(side, "noise: expected a value of the type of cluster") as raised:
        call_pair(side, table, ONE, ONE, noise="x", noise_as="cluster")
    assert "'x'" in str(raised.value)
    with fails(side, "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'skip'"):
        call_pair(side, table, ONE, ONE, noise=0, noise_as="skip")
    with fails(side, "noise_as 'drop' needs noise: give the value of cluster that marks noise"):
        call_pair(side, table, ONE, ONE, noise_as="drop")


@pytest.mark.parametrize("table", PAIR_TABLES)
@pytest.mark.parametrize("parameter", ["id", "cluster", "partition_by"])
def test_a_quoted_column(con: duckdb.DuckDBPyConnection, table: str, parameter: str) -> None:
    con.register("one", ONE)
    columns = {"id": "id", "cluster": "cluster"} | {parameter: f"'{parameter}'"}
    arguments = ", ".join(f"{name} := {column}" for name, column in columns.items())
    words = f"{parameter}: expected a column, got the quoted string '{parameter}'"
    with pytest.raises(duckdb.Error, match=words):
        con.execute(
            f"FROM clustereval.{table}(tbl_before := one, tbl_after := one, {arguments})"
        ).fetchall()


@pytest.mark.parametrize("table", PAIR_TABLES)
def test_a_partition_column_named_like_a_result(table: str) -> None:
    name = getattr(ce, table)(ONE, ONE, "id", "cluster").columns[-1]
    frame = ONE.with_columns(pl.lit(1).alias(name))
    words = f"partition_by: '{name}' is also a column of the result; rename it first"
    with pytest.raises(ce.ClusterEvalError, match=words):
        getattr(ce, table)(frame, frame, "id", "cluster", partition_by=name)


@pytest.mark.parametrize("table", PAIR_TABLES)
def test_nothing_is_read_at_the_call(table: str) -> None:
    before, after = Source(ONE), Source(ONE)
    result = getattr(ce, table)(
        before.lazy, after.lazy, "id", "cluster", noise=1, noise_as="cluster"
    )
    assert (before.readings, after.readings) == (0, 0)
    result.collect(engine="streaming")
    assert before.readings == after.readings == 1
