"""Silhouettes of degenerate rows: none, one cluster, singletons, equal points, zero vectors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from tests.support.point_engines import assert_points, call, call_by_case
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


@pytest.mark.gate
def test_a_line(engine: Engine) -> None:
    """With a cluster of one; `lines` below has the other distances and methods."""
    lines = vector_frame(LINE, LINE_CLUSTERS)
    assert_points(call(engine, SAMPLES, lines), OF_LINE)
    assert_points(call(engine, CLUSTERS, lines), CLUSTERS_OF_LINE)
    assert_points(call(engine, SCORE, lines), [SCORE_OF_LINE])


EMPTY_SCORE: Row = dict.fromkeys(SCORE_OF_LINE, 0) | dict.fromkeys(SCORES)


NOTHING, DROPPED = vector_frame([], []), vector_frame([None, [1.0]], [1, None])
METHODS: list[dict[str, Any]] = [{}, {"method": "simplified"}, {"method": "bounds"}]


def gated(sets: Any, *fast: Any) -> list[Any]:
    """Parameter sets: those that are not fast are left to the gate, the wide ones as they are."""
    return [
        one if one in fast or hasattr(one, "marks") else pytest.param(*one, marks=pytest.mark.gate)
        for one in sets
    ]


@pytest.mark.parametrize(
    ("distance", "more"),
    gated(
        crossed(DISTANCES, METHODS, always=["euclidean", "cosine"]),
        ("euclidean", METHODS[0]),
        ("euclidean", METHODS[2]),
        ("cosine", METHODS[1]),
    ),
)
def test_no_rows(engine: Engine, distance: str, more: Any) -> None:
    assert_points(call(engine, SCORE, NOTHING, distance=distance, **more), [EMPTY_SCORE])
    got = call(engine, SCORE, DROPPED, distance=distance, **more)
    assert_points(got, [EMPTY_SCORE | {"n_dropped": 2}])


@pytest.mark.parametrize(
    "more", [METHODS[0], *(pytest.param(more, marks=pytest.mark.gate) for more in METHODS[1:])]
)
def test_no_rows_no_partition(side: Engine, more: Any) -> None:
    assert call(side, SCORE, NOTHING, partition_by="cluster", **more) == []


@pytest.mark.parametrize(
    ("distance", "function"),
    gated(
        [*crossed(DISTANCES, [SAMPLES, CLUSTERS])],
        ("euclidean", SAMPLES),
        ("euclidean", CLUSTERS),
    ),
)
def test_no_rows_no_points_or_clusters(side: Engine, distance: str, function: str) -> None:
    assert call(side, function, NOTHING, distance=distance) == []
    assert call(side, function, DROPPED, distance=distance) == []


# One cluster, three singletons, a cluster of duplicates, and the line along the first axis.
ALONE = vector_frame([[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]], [1, 1, 1])
APART = vector_frame([[1.0, 2.0], [3.0, 4.0], [3.0, 9.0]], [1, 2, 3])
TWICE = vector_frame([[0.3, 0.1]] * 3 + [[5.0, 5.0], [5.0, 7.0]], [0, 0, 0, 1, 1])
LINES = vector_frame([[x, 0.0] for [x] in LINE], LINE_CLUSTERS)
DEGENERATE = {"alone": ALONE, "apart": APART, "twice": TWICE, "lines": LINES}
VALUES = [0.1, 3.0, 1e8 + 0.1, 0.0]
EQUAL = {
    f"equal to {value}": vector_frame([[value, value]] * 7, [0, 0, 0, 1, 1, 1, 1])
    for value in VALUES
}
SAMPLE_OF_2 = {"method": "sample", "sample_size": 2}
SOME_DISTANCES = ["euclidean", "cosine", "sqeuclidean", "cityblock", "chebyshev", "minkowski"]
#: Distances along an axis are differences.
OF_LINES = ("euclidean", "cityblock", "chebyshev", "minkowski")


@cache
def degenerate_rows(engine: Engine, function: str, **how: Any) -> dict[str, list[Row]]:
    """The rows of each case, from one call.

    Where all points are equal, one call for each on the Polars side, which shifts the points of all
    partitions by one vector.
    """
    together = DEGENERATE | EQUAL if engine.name == "duckdb" else DEGENERATE
    several = call_by_case(engine, function, list(together.values()), **how)
    apart = {
        name: call(engine, function, case, **how)
        for name, case in EQUAL.items()
        if name not in together
    }
    return dict(zip(together, several, strict=True)) | apart


def without_id(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]


@pytest.mark.parametrize("distance", DISTANCES)
def test_degenerate_samples(engine: Engine, distance: str) -> None:
    found = degenerate_rows(engine, SAMPLES, distance=distance)
    numbers = [row["id"] for name in DEGENERATE for row in found[name]]
    assert numbers == list(range(len(numbers))), "rows are numbered over all partitions"
    rows = {name: without_id(of) for name, of in found.items()}
    for name in ("alone", "apart"):
        wanted = without_id(oracle_of(DEGENERATE[name], Measure(distance)).samples())
        assert_points(rows[name], wanted, tolerance=1e-9, what=name)
    assert values_of(rows["alone"][0], "neighbor", "b", "silhouette") == [None, None, None]
    assert [values_of(row, "a", "silhouette") for row in rows["apart"]] == [[0.0, None]] * 3
    # a = 0 < b is 1
    assert [row["silhouette"] for row in rows["twice"][:3]] == [1.0, 1.0, 1.0]
    if distance in OF_LINES:
        assert_points(rows["lines"], without_id(OF_LINE), what="lines")


@pytest.mark.parametrize("distance", DISTANCES)
def test_samples_of_equal_points(side: Engine, distance: str) -> None:
    """a = b = 0, for means too: the mean of equal numbers is that number."""
    found = degenerate_rows(side, SAMPLES, distance=distance)
    for value, name in zip(VALUES, EQUAL, strict=True):
        # zero vectors have a cosine distance of 1
        d = 1.0 if distance == "cosine" and value == 0 else 0.0
        rows = [values_of(row, "a", "b", "silhouette") for row in found[name]]
        assert rows == [[d, d, 0.0]] * 7, name


@pytest.mark.parametrize(
    ("distance", "more"),
    crossed(
        SOME_DISTANCES,
        [*METHODS, {"tolerance": 0.1}, SAMPLE_OF_2],
        always=["euclidean", "cosine"],
    ),
)
def test_degenerate_scores(engine: Engine, distance: str, more: Any) -> None:
    found = degenerate_rows(engine, SCORE, distance=distance, **more)
    assert_points(found["alone"], [EMPTY_SCORE | {"n": 3, "n_clusters": 1}])
    assert_points(found["apart"], [EMPTY_SCORE | {"n": 3, "n_clusters": 3, "n_singletons": 3}])
    if distance == "euclidean" and more.get("method") == "simplified":
        assert_points(found["lines"], [oracle_of(LINES).simplified()], what="lines")
    if distance in OF_LINES and not more:
        assert_points(found["lines"], [SCORE_OF_LINE], what="lines")


@pytest.mark.parametrize(
    ("distance", "method"),
    [
        ("euclidean", "exact"),
        ("cityblock", "bounds"),
        ("cosine", "exact"),
        ("euclidean", "bounds"),
        *(
            pytest.param(distance, method, marks=pytest.mark.gate)
            for distance in DISTANCES
            for method in ("exact", "bounds")
            if (distance, method) not in (("cityblock", "bounds"), ("cosine", "exact"))
            and distance != "euclidean"
        ),
    ],
)
def test_scores_of_equal_points(side: Engine, distance: str, method: str) -> None:
    how = {} if method == "exact" else {"method": method}
    found = degenerate_rows(side, SCORE, distance=distance, **how)
    for name in EQUAL:
        [row] = found[name]
        assert values_of(row, "silhouette_lower", "silhouette_upper") == [0.0, 0.0], name


@pytest.mark.parametrize(
    "distance",
    [
        *("euclidean", "cosine"),
        *(pytest.param(name, marks=pytest.mark.gate) for name in SOME_DISTANCES[2:]),
    ],
)
def test_degenerate_clusters(engine: Engine, distance: str) -> None:
    found = degenerate_rows(engine, CLUSTERS, distance=distance)
    for name in ("alone", "apart"):
        wanted = oracle_of(DEGENERATE[name], Measure(distance)).clusters()
        assert_points(found[name], wanted, tolerance=1e-9, what=name)
    if distance in OF_LINES:
        assert_points(found["lines"], CLUSTERS_OF_LINE, what="lines")


@pytest.mark.gate
@pytest.mark.parametrize(
    "distance",
    [
        *("cityblock", "cosine"),
        *(pytest.param(name, marks=pytest.mark.gate) for name in ("chebyshev", "sqeuclidean")),
    ],
)
def test_tolerance_of_other_distances(engine: Engine, distance: str) -> None:
    wanted = degenerate_rows(engine, SCORE, distance=distance)
    got = degenerate_rows(engine, SCORE, distance=distance, tolerance=1.5)
    assert got["lines"] == wanted["lines"]


def test_zero_vectors(engine: Engine) -> None:
    """At a cosine distance of 1 from everything, other zero vectors included."""
    few = [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0]]
    rows = vector_frame(few, [0, 0, 0, 1, 1, 1])
    x = np.random.default_rng(0).normal(size=(60, 4))
    x[::6] = 0
    many = vector_frame(x.tolist(), [i % 7 for i in range(60)])
    got, others = call_by_case(engine, SAMPLES, [rows, many], distance="cosine")
    assert_points(got, oracle_of(rows, Measure("cosine")).samples(), tolerance=1e-12)
    assert values_of(got[0], "a", "b", "silhouette") == [1.0, 1.0, 0.0]
    # Rounding must not tell which of the others is the neighbor: it is the lowest.
    lowest = [int(row["cluster"] == 0) for row in others[::6]]
    assert [row["neighbor"] for row in others[::6]] == lowest


def test_the_neighbor_is_the_lowest_of_equals(engine: Engine) -> None:
    rows = vector_frame([[0.0], [0.5], [4.0], [-4.0], [5.0], [-5.0]], [5, 5, 9, 2, 9, 2])
    row = call(engine, SAMPLES, rows)[0]
    assert values_of(row, "neighbor", "b") == [2, 4.5]
    rows = vector_frame([[0.0], [0.0], [4.0], [-4.0]], [5, 5, 9, -1])
    cases = [rows, rows.filter(pl.col("cluster") < 9)]
    named, single = call_by_case(engine, SAMPLES, cases, noise=-1, noise_as="singletons")
    assert values_of(named[0], "neighbor", "b") == [9, 4.0]
    assert values_of(single[0], "neighbor", "b") == [None, 4.0]
