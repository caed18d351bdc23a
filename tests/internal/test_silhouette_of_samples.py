"""The silhouette of a sample of the points: the draw, its ids, its partitions."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.silhouette_cases import (
    SCORE,
    spread_points,
    vector_frame,
)
from tests.support.silhouette_draw import Draw
from tests.support.silhouette_oracle import Silhouettes

if TYPE_CHECKING:
    from tests.support.engines import Engine


SIZES, STATES = (1, 7, 30, 69, 70, 500), (0, 1, 42, 2147483647)


def drawn_samples() -> list[Any]:
    """(distance, size, seed, id): each size, seed and distance in some case, the others wide."""
    fast = {
        *(("euclidean", size, 42, "name") for size in SIZES),
        *(("euclidean", 30, state, "name") for state in STATES),
        *(("euclidean", size, state, None) for size, state in ((7, 0), (69, 2147483647))),
        *((distance, 30, 1, "name") for distance in DISTANCES),
    }
    every = [
        (distance, size, state, column)
        for distance in DISTANCES
        for size in SIZES
        for state in STATES
        for column in ("name", None)
    ]
    return [case if case in fast else pytest.param(*case, marks=pytest.mark.wide) for case in every]


@cache
def sampled(distance: str, column: str | None) -> tuple[pl.DataFrame, list[Silhouettes]]:
    """70, 31 and 8 points with their ids in another order than their rows."""
    frames, parts = [], []
    for n in (70, 31, 8):
        x, clusters = spread_points("normal", n, 2, 3, 4)
        ids = list(range(1000, 1000 + n))
        random.Random(1).shuffle(ids)
        names = [f"point {i}" for i in ids]
        frames.append(vector_frame(x.tolist(), clusters.tolist(), name=names))
        ordered = names if column else None
        parts.append(Silhouettes(x.tolist(), clusters.tolist(), Measure(distance), ids=ordered))
    runs = [i for i, rows in enumerate(frames) for _ in range(len(rows))]
    return pl.concat(frames).with_columns(run=pl.Series(runs)), parts


@pytest.mark.parametrize(("distance", "size", "seed", "column"), drawn_samples())
def test_the_sample_is_that_of_the_oracle(
    engine: Engine, distance: str, size: int, seed: int, column: str | None
) -> None:
    rows, parts = sampled(distance, column)
    how = {"method": "sample", "sample_size": size, "random_state": seed, "confidence": 0.9}
    named = {} if column is None else {"id": column}
    got = call(engine, SCORE, rows, partition_by="run", distance=distance, **named, **how)
    wanted = [{"run": run} | Draw(part, size, seed).score(0.9) for run, part in enumerate(parts)]
    assert_points(got, wanted, tolerance=1e-9, floor=1e-9)


@pytest.mark.gate
def test_a_point_without_an_id_is_the_last_of_a_sample(engine: Engine) -> None:
    """Any of nine points, as partitions: the same as with the largest id of all."""
    x, clusters = spread_points("normal", 9, 2, 3, 5)
    ids = random.Random(2).sample(range(100), 9)
    rows = vector_frame(x.tolist(), clusters.tolist())
    how: dict[str, Any] = {"method": "sample", "sample_size": 4, "id": "name"}
    keys = [[*ids[:i], last, *ids[i + 1 :]] for last in (None, 100) for i in range(9)]
    cases = [rows.with_columns(name=pl.Series(key, dtype=pl.Int64)) for key in keys]
    found = call_by_case(engine, SCORE, cases, **how)
    for missing in range(9):
        assert_points(found[missing], found[missing + 9], what=missing)
    assert_points(call(engine, SCORE, cases[4], **how), found[4])


@pytest.mark.gate
def test_a_sample_of_each_partition(engine: Engine) -> None:
    """The same points as of one partition alone; the oracle of each has its own draw."""
    x, clusters = spread_points("normal", 90, 2, 3, 6)
    runs = np.array([i % 3 for i in range(90)])
    rows = vector_frame(x.tolist(), clusters.tolist(), run=runs)
    how: dict[str, Any] = {"method": "sample", "sample_size": 12}
    got = call(engine, SCORE, rows, partition_by="run", **how)
    for run in range(3):
        part = Silhouettes(x[runs == run].tolist(), clusters[runs == run].tolist(), Measure())
        wanted = {"run": run} | Draw(part, 12, 0).score(0.95)
        assert_points([got[run]], [wanted], tolerance=1e-9, what=run)
    alone = {"run": 1} | one(engine, SCORE, rows.filter(pl.col("run") == 1), **how)
    assert_points([got[1]], [alone])
