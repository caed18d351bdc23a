"""The argument metrics: the scores that a report or a summary returns."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_clustereval as ce
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.catalogue import entries
from tests.support.table_calls import calls_of_tables

TABLES = [
    name
    for name in declared_tables()
    if "metrics" in inspect.signature(getattr(ce, name)).parameters
]
LONG = [name for name in TABLES if declared_tables()[name].order == ("metric",)]
CALLS = calls_of_tables(3)


def test_every_table_of_scores_has_the_argument() -> None:
    """Those whose columns are in the catalogue, a report from states, and those of long form."""
    of_scores = {entry.table for entry in entries().values()} & declared_tables().keys()
    long = {name for name, table in declared_tables().items() if table.order == ("metric",)}
    twins = {f"{table}_from_distances" for table in of_scores} & declared_tables().keys()
    others = {"internal_report_from_states", "neighborhood_report", "pair_label_report"}
    single = {"density_based_validity"}  # has one score
    assert {*TABLES} == (of_scores - single) | twins | others | long
    assert {*LONG} == long


def rows_of_call(table: str, *, is_lazy: bool = False, **options: Any) -> pl.DataFrame:
    """The rows of a call of a table with partitions, whose columns are codes."""
    arguments = [
        x.lazy() if is_lazy and isinstance(x, pl.DataFrame) else x for x in CALLS[table].arguments
    ]
    result = getattr(ce, table)(*arguments, partition_by=CALLS[table].partition_by, **options)
    return result.collect() if is_lazy else result  # type: ignore[no-any-return]


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize("table", [x for x in TABLES if x in CALLS])
def test_the_metrics_are_those_of_the_whole_table(table: str, is_lazy: bool) -> None:
    whole = rows_of_call(table)
    key = CALLS[table].partition_by
    if table in LONG:
        names = whole["metric"].unique(maintain_order=True).to_list()[2:0:-1]
        parts = whole.partition_by(key, maintain_order=True)
        wanted = pl.concat(
            part.filter(pl.col("metric") == name) for part in parts for name in names
        )
    else:
        names = [whole.columns[-1], whole.columns[2]]
        wanted = whole.select(key, *names)
    found = rows_of_call(table, is_lazy=is_lazy, metrics=names)
    assert_frame_equal(found, wanted)
    assert found.height
    once = rows_of_call(table, metrics=(*names[:1], *names[:1]))
    assert once.height == wanted.height if table not in LONG else once.height < wanted.height


def test_tables_that_have_no_call_here() -> None:
    """numpy draws the samples, and states are those of another table."""
    assert {x for x in TABLES if x not in CALLS} == {"bootstrap_intervals"}
    frame = pl.DataFrame({"label": [0, 0, 1, 1], "cluster": [0, 1, 1, 1], "p": [0, 0, 0, 1]})
    whole = ce.bootstrap_intervals(frame, "label", "cluster", n_resamples=9, partition_by="p")
    names = ["purity", "adjusted_mutual_info_score"]
    found = ce.bootstrap_intervals(
        frame, "label", "cluster", n_resamples=9, partition_by="p", metrics=names
    )
    parts = [
        whole.filter(pl.col("p") == p, pl.col("metric") == name) for p in (0, 1) for name in names
    ]
    assert_frame_equal(found, pl.concat(parts))


@pytest.mark.parametrize("table", ["external_report", "external_summary", "external_intervals"])
@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ("purity", r"expected a list of columns, such as \['adjusted_rand_score'\], got 'purity'"),
        ([], r"expected a list of columns, .*, got \[\]"),
        ([1], r"expected a list of columns, .*, got \[1\]"),
        (["ari"], ".*got 'ari'; did you mean 'adjusted_rand_score'"),
        (["purty"], "expected names of columns, got 'purty'; did you mean 'purity'"),
        (["zzz"], "expected one of .*'purity'.*, got 'zzz'"),
        (["adjusted_mutual_info_score"], ".*got 'adjusted_mutual_info_score'"),
    ],
)
def test_unknown_names(table: str, metrics: Any, words: str) -> None:
    frame = pl.DataFrame({"label": [0, 0, 1], "cluster": [0, 1, 1]})
    for given in (frame, frame.lazy()):
        with pytest.raises(ce.ClusterEvalError, match=f"^metrics: {words}"):
            getattr(ce, table)(given, "label", "cluster", adjusted=False, metrics=metrics)


def test_points_are_checked_whatever_is_asked_for() -> None:
    frame = pl.DataFrame({"x": [0.0, np.nan, 3], "cluster": [0, 0, 1]})
    for metrics in (["n"], ["ssw"]):
        with pytest.raises(ce.ClusterEvalError, match=re.escape("got nan in column x")):
            ce.internal_report(frame, ["x"], "cluster", metrics=metrics)


def test_what_is_not_asked_for_is_not_computed() -> None:
    """The plan of purity has no pairs of points, nor the expected information."""
    frame = pl.LazyFrame({"label": [0, 0, 1], "cluster": [0, 1, 1]})
    whole, purity = (
        ce.external_report(frame, "label", "cluster", metrics=metrics).explain()
        for metrics in (None, ["purity"])
    )
    for name in ("adjusted_rand_score", "emi", "mutual_info"):
        assert name in whole
        assert name not in purity
