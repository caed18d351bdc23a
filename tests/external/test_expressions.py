"""Every metric as an aggregate of two columns, in one query for all cases.

A query with all of these macros takes DuckDB seconds to plan, however few rows it has: the cases
are groups of one frame. Labels are text there, so that those of all cases fit into it.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest
from hypothesis import given

import polars_clustereval as ce
from tests.support.cases import expectations, published_labelings
from tests.support.compare import assert_metrics, is_near
from tests.support.engines import Column, DuckDB, Engine, Expression, Row, frame_of, make
from tests.support.oracle import METRICS, exact
from tests.support.partition_pairs import (
    exact_values,
    frame_of_pairs,
    pairs_of_partitions,
    renamed_cells,
)
from tests.support.random_labelings import labeling
from tests.support.strategies import Rows, batched, batches, labelings

if TYPE_CHECKING:
    from collections.abc import Iterable

UNDEFINED: Row = dict.fromkeys(METRICS)
NULL_GROUPS: list[Rows] = [[(2, None)], [(None, 1)], [(None, None), (0, None)]]


class Group(NamedTuple):
    name: str
    rows: Rows
    #: The value of each metric; of a published case there is less.
    values: Row | None


def group_of(name: str, rows: Rows) -> Group:
    known = [(u, v, 1) for u, v in rows if u is not None and v is not None]
    return Group(name, rows, exact_values(tuple(known)))


def some_pairs() -> list[Group]:
    """Every pair of up to three rows; `test_options_of_whole_numbers` has those of four."""
    return [
        Group(f"{pair}", list(zip(*pair, strict=True)), exact_values(renamed_cells(pair)))
        for pair in pairs_of_partitions(3)
    ]


def random_groups(first: int, last: int) -> list[Group]:
    groups = []
    for seed in range(first, last):
        cells = labeling(seed, 3000)
        rows = [(u, v) for u, v, n in cells for _ in range(n)]
        groups.append(Group(f"labeling {seed}", rows, exact_values(tuple(cells))))
    return groups


def equal_groups() -> list[Group]:
    """Two evaluations of an unordered aggregate, combined row by row, differ now and then."""
    rows = [(i % 7, i % 11) for i in range(500)]
    return [group_of(f"copy {i} of one group", rows) for i in range(50)]


@cache
def known_groups() -> list[Group]:
    """Published cases, which have expectations, come first."""
    published = [Group(case, frame.rows(), None) for case, frame in published_labelings().items()]
    nulls = [group_of(f"{rows}", rows) for rows in NULL_GROUPS]
    return [*published, *nulls, *some_pairs(), *random_groups(0, 7), *equal_groups()]


def text_frame(groups: Iterable[Group]) -> pl.DataFrame:
    """The rows of all groups; label and cluster are text as Polars casts them."""
    frames = []
    for i, group in enumerate(groups):
        labels, clusters = zip(*group.rows, strict=True) if group.rows else ((), ())
        sides = {"label": pl.Series(labels), "cluster": pl.Series(clusters)}
        frame = pl.DataFrame(sides).cast(pl.String)
        frames.append(frame.with_columns(group=pl.lit(i)))
    return pl.concat(frames)


# The first calls in a process are repeated on LazyFrames: small frames come first.


def test_a_group_of_nulls_beside_other_groups() -> None:
    """Polars 1.36 to 1.38 mixed the groups up: NULL for the purity 1 of group 2."""
    rows = [(2, None, 0), (2, 1, 1), (2, 0, 1), (1, 1, 2)]
    frame = pl.DataFrame(rows, schema=["label", "cluster", "run"], orient="row")
    polars = make("polars")
    found = polars.scalars(frame, by="run")
    values = [UNDEFINED, exact([(2, 1, 1), (2, 0, 1)]), exact([(1, 1, 1)])]
    assert [row["run"] for row in found] == [0, 1, 2]
    for row, wanted in zip(found, values, strict=True):
        assert_metrics(row, wanted, what=row["run"])
    assert [row["purity"] for row in found] == [None, 1.0, 1.0]
    over = frame.select(ce.purity("label", "cluster").over("run"))
    assert over["purity"].to_list() == [None, 1.0, 1.0, 1.0]


@batched
@given(several=batches(labelings(nulls=True)))
def test_every_metric_of_every_group(engine: Engine, several: list[Rows]) -> None:
    groups = [*known_groups(), *(group_of(f"{rows}", rows) for rows in several)]
    answers = engine.scalars(text_frame(groups), by="group")
    published = expectations()
    assert [row["group"] for row in answers] == [i for i, group in enumerate(groups) if group.rows]
    for row in answers:
        group = groups[row["group"]]
        if group.values is not None:
            assert_metrics(row, group.values, what=group.name)
            continue
        for expectation in published[group.name]:
            if expectation.metric in METRICS and not expectation.arguments:
                expectation.check(row[expectation.metric])


@pytest.mark.gate
@pytest.mark.parametrize(
    "options", [{"beta": 0.0, "average_method": "min"}, pytest.param({}, marks=pytest.mark.gate)]
)
def test_options_of_whole_numbers(engine: Engine, options: dict[str, Any]) -> None:
    """Labels are whole numbers here, which Polars may group in another way than text."""
    answers = engine.scalars(frame_of_pairs(4), by="pair", **options)
    for row, pair in zip(answers, pairs_of_partitions(4), strict=True):
        assert_metrics(row, exact_values(renamed_cells(pair), **options), what=pair)


@pytest.mark.gate
def test_more_random_labelings_as_groups(engine: Engine) -> None:
    """Dear for the exact values: one of each shape is among the groups above."""
    groups = random_groups(7, 14)
    answers = engine.scalars(text_frame(groups), by="group")
    for row, group in zip(answers, groups, strict=True):
        assert group.values is not None
        assert_metrics(row, group.values, what=group.name)


EMPTY = pl.DataFrame(schema={"label": pl.String, "cluster": pl.Int64})
NULLS = pl.DataFrame({"label": ["a", None], "cluster": [None, 1]})


@pytest.mark.gate
def test_polars_without_groups() -> None:
    polars = make("polars")
    assert polars.scalars(EMPTY) == [UNDEFINED]
    assert polars.scalars(NULLS) == [UNDEFINED]
    [row] = polars.scalars(frame_of([(0, 0), (0, 1), (1, 1)]))
    assert_metrics(row, exact([(0, 0, 1), (0, 1, 1), (1, 1, 1)]))


@pytest.mark.gate
def test_macros_without_groups() -> None:
    """Dear; `test_no_rows_are_rows_of_nulls_in_sql` and groups of NULLs are the fast ones."""
    duckdb = make("duckdb")
    assert duckdb.scalars(EMPTY) == [UNDEFINED]
    assert duckdb.scalars(NULLS) == [UNDEFINED]
    [row] = duckdb.scalars(frame_of([(0, 0), (0, 1), (1, 1)]))
    assert_metrics(row, exact([(0, 0, 1), (0, 1, 1), (1, 1, 1)]))


def test_no_rows_are_rows_of_nulls_in_sql() -> None:
    """The one aggregate of rows in these macros is that of the histograms."""
    con: Any = make("duckdb").connection
    read = "SELECT clustereval._histograms(label, cluster) FROM "
    with con.cursor() as cursor:
        found = []
        for frame in (EMPTY, NULLS):
            cursor.register("assignments", frame)
            found += cursor.execute(f"{read} assignments").fetchall()
    assert found[0] == found[1]


# Noise

AGGREGATES = [
    name
    for name in ce.__all__
    if inspect.isfunction(function := getattr(ce, name))
    and [*inspect.signature(function).parameters][:2] == ["label", "cluster"]
]
WITHOUT_NOISE = 'pl.when(pl.col("cluster") != -1).then("cluster")'


def test_noise_is_no_option_of_an_expression() -> None:
    """The error shows what to write in its place, as does the documentation."""
    assert len(AGGREGATES) > 50
    for name in AGGREGATES:
        function = getattr(ce, name)
        call = f'ce.{name}("label", {WITHOUT_NOISE})'
        words = (
            f"{name}() has no parameter 'noise'; only tables have it. "
            f"To leave noise out, write {call}"
        )
        for options in ({"noise": -1}, {"noise": -1, "noise_as": "drop"}):
            with pytest.raises(TypeError, match=re.escape(words)):
                function("label", "cluster", **options)
        with pytest.raises(TypeError, match=re.escape(f"{name}() has no parameter 'noise_as'")):
            function("label", "cluster", noise_as="drop")
        assert WITHOUT_NOISE in function.__doc__, name


def test_noise_of_another_value_is_shown() -> None:
    with pytest.raises(TypeError, match=re.escape('pl.when(pl.col("cluster") != "none")')):
        ce.purity("label", "cluster", noise="none")  # type: ignore[call-arg]


def test_another_unknown_parameter_is_pythons_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'nose'"):
        ce.purity("label", "cluster", nose=-1)  # type: ignore[call-arg]


@pytest.mark.gate
def test_an_aggregate_without_noise(side: Engine) -> None:
    """What the error and the comments of the macros advise."""
    frame = frame_of([(0, 0), (0, 0), (1, 1), (1, -1), (0, -1)])
    if isinstance(side, DuckDB):
        cluster: Column = Expression("CASE WHEN cluster <> -1 THEN cluster END")
    else:
        cluster = pl.when(pl.col("cluster") != -1).then("cluster")
    [row] = side.scalars(frame, "label", cluster)
    [wanted] = side.scalars(frame.filter(pl.col("cluster") != -1))
    assert is_near(row, wanted)
