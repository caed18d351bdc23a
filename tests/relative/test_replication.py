"""Prediction strength and bootstrap instability, from their definitions over pairs of rows."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compare import assert_rows
from tests.support.engines import Engine, Row, fails
from tests.support.run_engines import call_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

Pairs = list[tuple[Any, Any]]
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


# Prediction strength ------------------------------------------------------------------------------


def frame_of_label_pairs(rows: Pairs) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"label": pl.Int64, "cluster": pl.Int64}, orient="row")


def strength_of(rows: Pairs) -> Row:
    """Over pairs of rows of each label, as Tibshirani and Walther define it."""
    shares = {}
    for label in sorted({label for label, _ in rows}):
        pairs = list(combinations([cluster for other, cluster in rows if other == label], 2))
        if pairs:
            shares[label] = Fraction(sum(a == b for a, b in pairs), len(pairs))
    weakest = min(shares, key=lambda label: (shares[label], label), default=None)
    return {
        "n": len(rows),
        "n_dropped": 0,
        "n_noise": 0,
        "n_labels": len({label for label, _ in rows}),
        "n_clusters": len({cluster for _, cluster in rows}),
        "prediction_strength": None if weakest is None else float(shares[weakest]),
        "weakest_label": weakest,
    }


def by_case(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frame.with_columns(case=pl.lit(i)) for i, frame in enumerate(frames))


@given(st.lists(ROWS, min_size=5, max_size=8))
@settings(max_examples=3)
def test_strength_from_pairs(every_engine: list[Engine], cases: list[Pairs]) -> None:
    frame = by_case(map(frame_of_label_pairs, cases))
    wanted = [{"case": i} | strength_of(rows) for i, rows in enumerate(cases) if rows]
    for engine in every_engine:
        found = call_runs(engine, "prediction_strength", frame, partition_by="case")
        assert_rows(found, wanted, what=engine.name)
        alone = call_runs(engine, "prediction_strength", frame_of_label_pairs(cases[-1]))
        assert_rows(alone, [strength_of(cases[-1])], what=engine.name)


@pytest.mark.parametrize(
    ("rows", "strength", "weakest"),
    [
        ([], None, None),
        ([(1, 1)], None, None),
        ([(1, 5), (2, 5), (3, 5)], None, None),  # no label has a pair; fpc says 1
        ([(1, 5), (2, 6), (2, 6)], 1.0, 2),  # a label of one row is passed over
        ([(1, 5), (1, 6), (2, 7), (2, 8)], 0.0, 1),  # the lowest of equals
        ([(1, 5), (1, 5), (1, 6), (2, 5), (2, 5)], 1 / 3, 1),
    ],
)
def test_strength_of_few_rows(
    engine: Engine, rows: Pairs, strength: float | None, weakest: int | None
) -> None:
    [row] = call_runs(engine, "prediction_strength", frame_of_label_pairs(rows))
    assert (row["prediction_strength"], row["weakest_label"]) == (strength, weakest)


def test_strength_by_weight_and_partition(engine: Engine) -> None:
    parts = {
        None: [(1, 5), (1, 5), (1, 6), (2, 5), (2, 6)],
        3: [(1, 5), (1, 5)],
        4: [(1, 1)],
    }
    rows = [(part, *row) for part, pairs in parts.items() for row in pairs]
    frame = pl.DataFrame(rows, schema=["part", "label", "cluster"], orient="row")
    wanted = [{"part": part} | strength_of(parts[part]) for part in (3, 4, None)]
    assert_rows(call_runs(engine, "prediction_strength", frame, partition_by="part"), wanted)
    counted = frame.group_by(pl.all()).len("times").sample(fraction=1.0, shuffle=True, seed=1)
    more = {"partition_by": "part", "weight": "times"}
    assert_rows(call_runs(engine, "prediction_strength", counted, **more), wanted)


def test_strength_of_noise_and_missing_values(engine: Engine) -> None:
    rows = [(1, 5), (1, 5), (1, -1), (1, -1), (1, None), (None, 5)]
    expected = {"cluster": (4, 2, 1 / 3), "drop": (2, 1, 1.0), "singletons": (4, 3, 1 / 6)}
    for noise_as, (n, n_clusters, strength) in expected.items():
        options = {"noise": -1, "noise_as": noise_as}
        [row] = call_runs(engine, "prediction_strength", frame_of_label_pairs(rows), **options)
        assert (row["n"], row["n_dropped"], row["n_noise"]) == (n, 2, 2)
        assert (row["n_clusters"], row["prediction_strength"]) == (n_clusters, strength)


# Bootstrap instability ----------------------------------------------------------------------------


def distance_of(rows: Pairs) -> Fraction:
    """Over ordered pairs of rows, as Fang and Wang define it."""
    apart = sum((a == c) != (b == d) for (a, b), (c, d) in product(rows, rows))
    return Fraction(apart, len(rows) ** 2)


def instability_of(resamples: dict[int, Pairs]) -> Row:
    distances = [distance_of(rows) for rows in resamples.values() if rows]
    several = len(distances) > 1
    deviation = statistics.stdev(map(float, distances)) if several else None
    return {
        "n": sum(map(len, resamples.values())),
        "n_dropped": 0,
        "n_resamples": len(distances),
        "instability": float(sum(distances) / len(distances)) if distances else None,
        "std_error": deviation / math.sqrt(len(distances)) if deviation is not None else None,
    }


SCHEMA = dict.fromkeys(("resample", "cluster_1", "cluster_2"), pl.Int64)


def resamples_of(resamples: dict[int, Pairs]) -> pl.DataFrame:
    rows = [(number, *row) for number, pairs in resamples.items() for row in pairs]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@given(st.lists(st.lists(ROWS, max_size=4), min_size=5, max_size=8))
@settings(max_examples=3)
def test_instability_from_pairs(every_engine: list[Engine], found: list[list[Pairs]]) -> None:
    cases = [{number: rows for number, rows in enumerate(resamples) if rows} for resamples in found]
    frame = by_case(map(resamples_of, cases))
    for engine in every_engine:
        rows = call_runs(engine, "bootstrap_instability", frame, partition_by="case")
        filled = [case for case in cases if case]
        assert [row.pop("case") for row in rows] == [i for i, case in enumerate(cases) if case]
        for row, case in zip(rows, filled, strict=True):
            assert_instability(row, case, engine.name)
        [row] = call_runs(engine, "bootstrap_instability", resamples_of(cases[-1]))
        assert_instability(row, cases[-1], engine.name)


def assert_instability(row: Row, resamples: dict[int, Pairs], what: str) -> None:
    wanted = instability_of(resamples)
    error, expected = row.pop("std_error"), wanted.pop("std_error")
    assert_rows([row], [wanted], what=(what, resamples))
    near = None if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert error == near, (what, resamples)


SAME = [(1, 5), (1, 5), (2, 6)]
OTHER = [
    (1, 5),
    (1, 6),
    (2, 6),
]  # of 9 ordered pairs, 2 together in the first only, 2 in the second


@pytest.mark.parametrize(
    ("resamples", "expected"),
    [
        ({}, (0, 0, None, None)),
        ({1: SAME}, (3, 1, 0.0, None)),
        ({1: OTHER}, (3, 1, 4 / 9, None)),
        ({1: OTHER, 2: OTHER, 3: OTHER}, (9, 3, 4 / 9, 0.0)),
        ({1: OTHER, 2: SAME}, (6, 2, 2 / 9, 2 / 9)),
        ({1: [(0, i) for i in range(4)]}, (4, 1, 12 / 16, None)),
    ],
)
def test_instability_of_few_rows(
    engine: Engine, resamples: dict[int, Pairs], expected: tuple[int, int, float, float]
) -> None:
    [row] = call_runs(engine, "bootstrap_instability", resamples_of(resamples))
    n, n_resamples, instability, error = expected
    assert (row["n"], row["n_dropped"], row["n_resamples"]) == (n, 0, n_resamples)
    assert row["instability"] == (instability and pytest.approx(instability, rel=1e-14))
    assert row["std_error"] == (error and pytest.approx(error, rel=1e-14))


def test_instability_of_each_number_of_clusters(engine: Engine) -> None:
    """The partition column k, weights, and rows in any order."""
    frame = pl.concat(
        resamples_of({1: rows, 2: OTHER}).with_columns(k=pl.lit(k, pl.Int64))
        for k, rows in ((2, SAME), (3, OTHER), (None, SAME))
    )
    rows = call_runs(engine, "bootstrap_instability", frame, partition_by="k")
    found = [(row["k"], row["n"], row["instability"]) for row in rows]
    assert found == [
        (2, 6, pytest.approx(2 / 9)),
        (3, 6, pytest.approx(4 / 9)),
        (None, *found[0][1:]),
    ]
    counted = frame.group_by(pl.all()).len("times").sample(fraction=1.0, shuffle=True, seed=3)
    more = {"partition_by": "k", "weight": "times"}
    assert_rows(call_runs(engine, "bootstrap_instability", counted, **more), rows)


def test_instability_of_rows_without_a_cluster(engine: Engine) -> None:
    """They are left out and counted; a resample of them alone is none."""
    rows = [*((1, *row) for row in OTHER), (1, None, 5), (1, 5, None), (2, None, None)]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    [row] = call_runs(engine, "bootstrap_instability", frame)
    assert (row["n"], row["n_dropped"], row["n_resamples"]) == (3, 3, 1)
    assert row["instability"] == pytest.approx(4 / 9)
    nothing = frame.filter(pl.col("resample") == 2)
    [row] = call_runs(engine, "bootstrap_instability", nothing)
    assert (row["n"], row["n_dropped"], row["n_resamples"], row["instability"]) == (0, 1, 0, None)
    [alone] = call_runs(engine, "bootstrap_instability", nothing, partition_by="resample")
    assert alone == {"resample": 2} | row


# Bad input ----------------------------------------------------------------------------------------

TABLES = {
    "prediction_strength": frame_of_label_pairs([(1, 5), (1, 6)]),
    "bootstrap_instability": resamples_of({1: SAME}),
}


@pytest.mark.parametrize("table", TABLES)
def test_weights(side: Engine, table: str) -> None:
    frame = TABLES[table].with_columns(times=pl.lit(-1))
    with fails(side, "weight: expected whole numbers >= 0, got -1; a weight is how many times"):
        call_runs(side, table, frame, weight="times")


def test_noise(side: Engine) -> None:
    frame = TABLES["prediction_strength"]
    words = "noise: expected a value of the type of cluster (BIGINT), got 'x' (VARCHAR)"
    with fails(side, words):
        call_runs(side, "prediction_strength", frame, noise="x", noise_as="cluster")
    with fails(side, "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'off'"):
        call_runs(side, "prediction_strength", frame.clear(), noise=1, noise_as="off")


PARAMETERS = [
    (table, name) for table, frame in TABLES.items() for name in (*frame.columns, "weight")
]


@pytest.mark.parametrize(("table", "parameter"), PARAMETERS)
def test_columns(side: Engine, table: str, parameter: str) -> None:
    words = "clster" if side.name == "duckdb" else f"{parameter}: column 'clster' not found"
    with fails(side, words):
        call_runs(side, table, TABLES[table], **{parameter: "clster"})


@pytest.mark.parametrize(
    ("table", "parameter"), [*PARAMETERS, *((table, "partition_by") for table in TABLES)]
)
def test_a_quoted_column(con: duckdb.DuckDBPyConnection, table: str, parameter: str) -> None:
    frame = TABLES[table].with_columns(part=1)
    con.register("rows", frame)
    columns = {name: name for name in frame.columns if name != "part"} | {parameter: "'part'"}
    given = ", ".join(f"{k} := {v}" for k, v in columns.items())
    words = f"{parameter}: expected a column, got the quoted string 'part'; write it without quotes"
    with pytest.raises(duckdb.Error, match=words):
        con.execute(f"FROM clustereval.{table}(tbl := rows, {given})").fetchall()
