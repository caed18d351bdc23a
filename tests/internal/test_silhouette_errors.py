"""Errors of silhouettes: options, points at fault, ids that are there twice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.support.engines import fails
from tests.support.point_engines import call, one
from tests.support.point_faults import FAULTS, crossed, vectors
from tests.support.point_oracle import DISTANCES
from tests.support.silhouette_cases import (
    CLUSTERS,
    LINE,
    LINE_CLUSTERS,
    SAMPLES,
    SCORE,
    vector_frame,
)

if TYPE_CHECKING:
    from tests.support.engines import Engine


FOUR = "'exact', 'simplified', 'bounds', 'sample'"
RANDOM_STATE = "random_state: expected a whole number >= 0 and < 2147483648, got"
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown method": ({"method": "x"}, f"method: expected one of {FOUR}, got 'x'"),
    "no method": ({"method": None}, f"method: expected one of {FOUR}, got NULL"),
    "tolerance 0": ({"tolerance": 0}, "tolerance: expected a number > 0, got 0"),
    "tolerance below 0": ({"tolerance": -1}, "tolerance: expected a number > 0, got -1"),
    "tolerance of bounds": (
        {"tolerance": 0.1, "method": "bounds"},
        "tolerance: needs method 'exact', got method 'bounds'",
    ),
    "sample_size 0": (
        {"sample_size": 0, "method": "sample"},
        "sample_size: expected a whole number >= 1, got 0",
    ),
    "sample_size 1.5": (
        {"sample_size": 1.5, "method": "sample"},
        "sample_size: expected a whole number >= 1, got 1.5",
    ),
    "no sample_size": (
        {"method": "sample"},
        "sample_size: expected a whole number >= 1, got NULL",
    ),
    "sample_size of exact": (
        {"sample_size": 3},
        "sample_size: needs method 'sample', got method 'exact'",
    ),
    "reference_size of exact": (
        {"reference_size": 3},
        "reference_size: needs method 'sample', got method 'exact'",
    ),
    "reference_size 1": (
        {"reference_size": 1, "method": "sample"},
        "reference_size: expected a whole number >= 2, got 1",
    ),
    "reference_size 2.5": (
        {"reference_size": 2.5, "method": "sample", "sample_size": 4},
        "reference_size: expected a whole number >= 2, got 2.5",
    ),
    "confidence 1": (
        {"confidence": 1},
        "confidence: expected a number between 0 and 1, got 1",
    ),
    "confidence 0": ({"confidence": 0}, "confidence: expected a number between 0 and 1, got 0"),
    "random_state -1": ({"random_state": -1}, f"{RANDOM_STATE} -1"),
    "random_state 1.5": ({"random_state": 1.5}, f"{RANDOM_STATE} 1.5"),
    "random_state too large": ({"random_state": 2147483648}, f"{RANDOM_STATE} 2147483648"),
}


@pytest.mark.parametrize(
    ("option", "empty"),
    crossed(OPTIONS, [False, True], always=["unknown method", "tolerance 0", "sample_size 0"]),
)
def test_a_bad_option(side: Engine, option: str, empty: bool) -> None:
    arguments, words = OPTIONS[option]
    lines = vector_frame(LINE, LINE_CLUSTERS)
    with fails(side, words):
        call(side, SCORE, lines.clear() if empty else lines, **arguments)


COMMON: dict[str, tuple[dict[str, Any], str]] = {
    "distance": ({"distance": "x"}, "distance: expected one of"),
    "p": ({"distance": "minkowski", "p": 0.5}, "p: expected a number >= 1, got 0.5"),
    "weights": ({"weights": [-1]}, "weights: expected a number > 0 for each dimension, got [-1]"),
    "weights of chebyshev": ({"distance": "chebyshev", "weights": [1]}, "weights: chebyshev takes"),
    "too many weights": ({"weights": [1, 1]}, "weights: expected one for each of 1 dimensions"),
    "noise": (
        {"noise": 1.5, "noise_as": "drop"},
        "noise: expected a value of the type of cluster (BIGINT), got",
    ),
    "noise_as": ({"noise": 1, "noise_as": "x"}, "noise_as: expected one of"),
    "noise_as drop": ({"noise_as": "drop"}, "noise_as 'drop' needs noise"),
}


@pytest.mark.parametrize(
    ("option", "function"),
    crossed(
        COMMON,
        [SCORE, SAMPLES, CLUSTERS],
        always=["distance", "p", "weights", "noise", "noise_as", "noise_as drop"],
    ),
)
def test_a_bad_option_of_all_distances(side: Engine, option: str, function: str) -> None:
    arguments, words = COMMON[option]
    with fails(side, words):
        call(side, function, vector_frame(LINE, LINE_CLUSTERS), **arguments)


WAYS = [
    ("euclidean", SCORE),
    *((distance, SCORE) for distance in DISTANCES if distance != "euclidean"),
    *(("euclidean", function) for function in (SAMPLES, CLUSTERS)),
]
OTHER_WAYS = [
    (distance, function)
    for distance in DISTANCES
    for function in (SAMPLES, CLUSTERS)
    if distance != "euclidean"
]


def check_bad_points(side: Engine, fault: str, distance: str, function: str) -> None:
    rows, words = FAULTS[fault]
    with fails(side, words):
        call(side, function, vectors(*rows), distance=distance)


# The faults take turns at the pairs of distance and function.
FAST_FAULTS = [(fault, WAYS[i % len(WAYS)]) for i, fault in enumerate(FAULTS)]


@pytest.mark.parametrize(
    ("fault", "way"),
    [
        *FAST_FAULTS,
        *(
            case if hasattr(case, "marks") else pytest.param(*case, marks=pytest.mark.gate)
            for case in crossed(FAULTS, WAYS, always=["NaN", "shorter"])
            if tuple(getattr(case, "values", case)) not in FAST_FAULTS
        ),
    ],
)
def test_bad_points(side: Engine, fault: str, way: tuple[str, str]) -> None:
    check_bad_points(side, fault, *way)


@pytest.mark.wide
@pytest.mark.parametrize("way", OTHER_WAYS)
@pytest.mark.parametrize("fault", FAULTS)
def test_bad_points_of_every_function(side: Engine, fault: str, way: tuple[str, str]) -> None:
    check_bad_points(side, fault, *way)


SAMPLED = {"method": "sample", "sample_size": 3}


IDS_TWICE: list[tuple[list[Any], str]] = [
    ([7, 8, 7, 1, 8], "got 2 rows with 7"),
    ([None, 2, None, 3, 4], "got 2 rows with NULL"),
    (["b", "b", "c", "d", "b"], "got 3 rows with b"),
]
OF_IDS: list[tuple[str, dict[str, Any]]] = [(SAMPLES, {}), (SCORE, SAMPLED)]


@pytest.mark.parametrize(
    ("ids", "words", "function", "more"),
    [
        pytest.param(*ids, *of, marks=[] if (i + j) % 2 == 0 else pytest.mark.gate)
        for i, ids in enumerate(IDS_TWICE)
        for j, of in enumerate(OF_IDS)
    ],
)
def test_an_id_that_is_there_twice(
    side: Engine, ids: list[Any], words: str, function: str, more: dict[str, Any]
) -> None:
    rows = vector_frame(LINE, LINE_CLUSTERS, name=ids)
    with fails(side, f"id: expected one row for each id of a partition, {words}"):
        call(side, function, rows, id="name", **more)


@pytest.mark.parametrize(
    "ids",
    [
        IDS_TWICE[0][0],
        *(pytest.param(ids, marks=pytest.mark.gate) for ids, _ in IDS_TWICE[1:]),
    ],
)
def test_an_id_that_is_not_used_may_be_there_twice(side: Engine, ids: list[Any]) -> None:
    rows = vector_frame(LINE, LINE_CLUSTERS, name=ids)
    assert one(side, SCORE, rows, id="name")["n"] == 5


def test_an_id_may_be_in_several_partitions_and_dropped_rows(side: Engine) -> None:
    rows = vector_frame([*LINE, *LINE, None], [*LINE_CLUSTERS, *LINE_CLUSTERS, 1])
    rows = rows.with_columns(
        run=pl.Series([0] * 5 + [1] * 6), name=pl.Series([*range(5)] * 2 + [0])
    )
    got = call(side, SAMPLES, rows, id="name", partition_by="run")
    assert [row["id"] for row in got] == [*range(5), *range(5)]
    assert len({math.fsum([row["a"], row["b"]]) for row in got}) == 5


@pytest.mark.parametrize("function", [SAMPLES, CLUSTERS])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "bounds"}, "method: expected one of 'exact', 'sample', got 'bounds'"),
        ({"method": "sample"}, "sample_size: expected a whole number >= 1, got NULL"),
        ({"random_state": -1}, f"{RANDOM_STATE} -1"),
    ],
)
def test_a_bad_option_of_a_draw(
    side: Engine, function: str, arguments: dict[str, Any], words: str
) -> None:
    with fails(side, words):
        call(side, function, vector_frame(LINE, LINE_CLUSTERS), **arguments)
