"""Silhouettes of degenerate rows: none, one cluster, singletons, equal points, zero vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_faults import crossed
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.silhouette_cases import (
    CLUSTERS,
    CLUSTERS_OF_LINE,
    LINE,
    LINE_CLUSTERS,
    OF_LINE,
    SAMPLES,
    SCORE,
    SCORE_OF_LINE,
    oracle_of,
    values_of,
    vector_frame,
)
from tests.support.silhouette_oracle import SCORES

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row


def test_a_line(engine: Engine) -> None:
    """With a cluster of one."""
    lines = vector_frame(LINE, LINE_CLUSTERS)
    for distance in ("euclidean", "cityblock", "chebyshev", "minkowski"):
        assert_points(call(engine, SAMPLES, lines, distance=distance), OF_LINE)
    assert_points(call(engine, CLUSTERS, lines), CLUSTERS_OF_LINE)
    assert_points(call(engine, SCORE, lines), [SCORE_OF_LINE])
    got = one(engine, SCORE, lines, method="simplified")
    assert_points([got], [oracle_of(lines).simplified()])


EMPTY_SCORE: Row = dict.fromkeys(SCORE_OF_LINE, 0) | dict.fromkeys(SCORES)


NOTHING, DROPPED = vector_frame([], []), vector_frame([None, [1.0]], [1, None])
METHODS: list[dict[str, Any]] = [{}, {"method": "simplified"}, {"method": "bounds"}]


@pytest.mark.parametrize(
    ("distance", "more"), crossed(DISTANCES, METHODS, always=["euclidean", "cosine"])
)
def test_no_rows(engine: Engine, distance: str, more: Any) -> None:
    assert_points(call(engine, SCORE, NOTHING, distance=distance, **more), [EMPTY_SCORE])
    got = call(engine, SCORE, DROPPED, distance=distance, **more)
    assert_points(got, [EMPTY_SCORE | {"n_dropped": 2}])


@pytest.mark.parametrize("more", METHODS)
def test_no_rows_no_partition(side: Engine, more: Any) -> None:
    assert call(side, SCORE, NOTHING, partition_by="cluster", **more) == []


@pytest.mark.parametrize(("distance", "function"), crossed(DISTANCES, [SAMPLES, CLUSTERS]))
def test_no_rows_no_points_or_clusters(side: Engine, distance: str, function: str) -> None:
    assert call(side, function, NOTHING, distance=distance) == []
    assert call(side, function, DROPPED, distance=distance) == []


# One cluster, three singletons, and a cluster of duplicates.
ALONE = vector_frame([[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]], [1, 1, 1])
APART = vector_frame([[1.0, 2.0], [3.0, 4.0], [3.0, 9.0]], [1, 2, 3])
TWICE = vector_frame([[0.3, 0.1]] * 3 + [[5.0, 5.0], [5.0, 7.0]], [0, 0, 0, 1, 1])
DEGENERATE = [ALONE, APART, TWICE]
SAMPLE_OF_2 = {"method": "sample", "sample_size": 2}
SOME_DISTANCES = ["euclidean", "cosine", "sqeuclidean", "cityblock", "chebyshev", "minkowski"]


@pytest.mark.parametrize("distance", DISTANCES)
def test_degenerate_samples(engine: Engine, distance: str) -> None:
    alone, apart, twice = call_by_case(engine, SAMPLES, DEGENERATE, distance=distance)
    ids = iter(range(99))  # rows are numbered over all partitions
    for rows in (alone, apart, twice):
        assert [row.pop("id") for row in rows] == [next(ids) for _ in rows]
    for got, points in ((alone, ALONE), (apart, APART)):
        wanted = oracle_of(points, Measure(distance)).samples()
        for row in wanted:
            del row["id"]
        assert_points(got, wanted, tolerance=1e-9)
    assert values_of(alone[0], "neighbor", "b", "silhouette") == [None, None, None]
    assert [values_of(row, "a", "silhouette") for row in apart] == [[0.0, None]] * 3
    # a = 0 < b is 1
    assert [row["silhouette"] for row in twice[:3]] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("distance", "more"),
    crossed(
        SOME_DISTANCES,
        [*METHODS, {"tolerance": 0.1}, SAMPLE_OF_2],
        always=["euclidean", "cosine"],
    ),
)
def test_degenerate_scores(engine: Engine, distance: str, more: Any) -> None:
    alone, apart, _ = call_by_case(engine, SCORE, DEGENERATE, distance=distance, **more)
    assert_points(alone, [EMPTY_SCORE | {"n": 3, "n_clusters": 1}])
    assert_points(apart, [EMPTY_SCORE | {"n": 3, "n_clusters": 3, "n_singletons": 3}])


@pytest.mark.parametrize(("distance", "single"), crossed(SOME_DISTANCES, [True, False]))
def test_degenerate_clusters(engine: Engine, distance: str, single: bool) -> None:
    points = ALONE if single else APART
    got = call(engine, CLUSTERS, points, distance=distance)
    assert_points(got, oracle_of(points, Measure(distance)).clusters(), tolerance=1e-9)


VALUES = [0.1, 3.0, 1e8 + 0.1, 0.0]


@pytest.mark.parametrize("distance", DISTANCES)
def test_all_points_equal(side: Engine, distance: str) -> None:
    """a = b = 0, for means too: the mean of equal numbers is that number.

    One call for each on the Polars side, which shifts the points of all partitions by one vector.
    """
    cases = [vector_frame([[value, value]] * 7, [0, 0, 0, 1, 1, 1, 1]) for value in VALUES]

    def scored(function: str, **how: Any) -> list[list[Row]]:
        if side.name == "duckdb":
            return call_by_case(side, function, cases, distance=distance, **how)
        return [call(side, function, case, distance=distance, **how) for case in cases]

    for value, rows in zip(VALUES, scored(SAMPLES), strict=True):
        # zero vectors have a cosine distance of 1
        d = 1.0 if distance == "cosine" and value == 0 else 0.0
        assert [values_of(row, "a", "b", "silhouette") for row in rows] == [[d, d, 0.0]] * 7, value
    for method in ("exact", "bounds"):
        for [row] in scored(SCORE, method=method):
            assert values_of(row, "silhouette_lower", "silhouette_upper") == [0.0, 0.0]


def test_zero_vectors(engine: Engine) -> None:
    """At a cosine distance of 1 from everything, other zero vectors included."""
    rows = vector_frame([[0, 0], [0, 0], [1, 0], [1, 1], [0, 0], [0, 2]], [0, 0, 0, 1, 1, 1])
    wanted = oracle_of(rows, Measure("cosine"))
    got = call(engine, SAMPLES, rows, distance="cosine")
    assert_points(got, wanted.samples(), tolerance=1e-12)
    assert values_of(got[0], "a", "b", "silhouette") == [1.0, 1.0, 0.0]
    # Rounding must not tell which of the others is the neighbor: it is the lowest.
    x = np.random.default_rng(0).normal(size=(60, 4))
    x[::6] = 0
    got = call(
        engine, SAMPLES, vector_frame(x.tolist(), [i % 7 for i in range(60)]), distance="cosine"
    )
    assert [row["neighbor"] for row in got[::6]] == [int(row["cluster"] == 0) for row in got[::6]]


def test_the_neighbor_is_the_lowest_of_equals(engine: Engine) -> None:
    rows = vector_frame([[0.0], [0.5], [4.0], [-4.0], [5.0], [-5.0]], [5, 5, 9, 2, 9, 2])
    row = call(engine, SAMPLES, rows)[0]
    assert values_of(row, "neighbor", "b") == [2, 4.5]
    rows = vector_frame([[0.0], [0.0], [4.0], [-4.0]], [5, 5, 9, -1])
    row = call(engine, SAMPLES, rows, noise=-1, noise_as="singletons")[0]
    assert values_of(row, "neighbor", "b") == [9, 4.0]
    row = call(engine, SAMPLES, rows.filter(pl.col("cluster") < 9), noise=-1, noise_as="singletons")
    assert values_of(row[0], "neighbor", "b") == [None, 4.0]
