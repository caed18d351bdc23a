"""nearest_neighbors in every engine: by brute force, with ties, and as scikit-learn has them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

import polars_clustereval as ce
from tests.support.engines import DuckDB, Engine, Expression, Row, fails
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from collections.abc import Sequence

VECTOR = ["x", "y"]


def ask(
    engine: Engine, frame: pl.DataFrame, vector: Sequence[str] = VECTOR, **options: Any
) -> list[Row]:
    given = list(vector)
    return engine.call("nearest_neighbors", frame, given, "id", **options)


def brute(frame: pl.DataFrame, k: int, metric: str = "euclidean", **options: Any) -> list[Row]:
    """The neighbors by distances rounded to 11 digits, and then by ids."""
    x, ids = frame.select(VECTOR).to_numpy(), frame["id"].to_list()
    d = cdist(x, x, metric, **options)
    rows = []
    for i in sorted(range(len(ids)), key=lambda i: ids[i]):
        others = sorted((float(f"{d[i, j]:.11g}"), ids[j], j) for j in range(len(ids)) if j != i)
        rows += [
            {"id": ids[i], "neighbor": other, "rank": rank, "distance": float(d[i, j])}
            for rank, (_, other, j) in enumerate(others[:k], 1)
        ]
    return rows


def grid(n: int, seed: int = 0, places: int = 6) -> pl.DataFrame:
    """Points on a grid of tenths, with many ties, in an order that is not that of the ids."""
    random = np.random.default_rng(seed)
    x, y = random.integers(0, places, (2, n)) / 10 + 0.1
    return pl.DataFrame({"id": random.permutation(n), "x": x, "y": y})


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev", "sqeuclidean"])
def test_ties_are_in_the_order_of_ids(engine: Engine, distance: str) -> None:
    """0.3 - 0.2 and 0.2 - 0.1 are equal by definition, not as floats."""
    frame = grid(60)
    found = ask(engine, frame, distance=distance, n_neighbors=7)
    assert_points(found, brute(frame, 7, distance), floor=1e-15)


@pytest.mark.gate
@pytest.mark.parametrize(("distance", "options"), [("cosine", {}), ("minkowski", {"p": 3})])
def test_other_distances(engine: Engine, distance: str, options: dict[str, Any]) -> None:
    random = np.random.default_rng(3)
    x, y = random.normal(size=(2, 70))
    frame = pl.DataFrame({"id": random.permutation(70), "x": x, "y": y})
    found = ask(engine, frame, distance=distance, n_neighbors=15, **options)
    assert_points(found, brute(frame, 15, distance, **options), tolerance=1e-9, floor=1e-15)


@pytest.mark.gate
def test_partitions_and_few_points(engine: Engine) -> None:
    """A point has all other points of its partition if there are not more."""
    frame = pl.DataFrame(
        {"id": [3, 1, 2, 7], "x": [0.0, 1.0, 5.0, 0.0], "y": 0.0, "run": ["a", "a", "a", "b"]}
    )
    found = ask(engine, frame, partition_by="run")
    wanted = [(1, 3, 1, 1.0), (1, 2, 2, 4.0), (2, 1, 1, 4.0), (2, 3, 2, 5.0)]
    wanted += [(3, 1, 1, 1.0), (3, 2, 2, 5.0)]
    assert [tuple(row.values()) for row in found] == [("a", *row) for row in wanted]
    assert ask(engine, frame.head(0)) == []
    assert ask(engine, frame.head(1)) == []


@pytest.mark.gate
def test_default_ids_and_texts(engine: Engine) -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0, 3.0], "y": 0.0, "id": ["b", "a", "c"]})
    rows = engine.call("nearest_neighbors", frame, VECTOR, n_neighbors=1)
    assert [(row["id"], row["neighbor"]) for row in rows] == [(0, 1), (1, 0), (2, 1)]
    rows = ask(engine, frame, n_neighbors=1)
    assert [(row["id"], row["neighbor"]) for row in rows] == [("a", "b"), ("b", "a"), ("c", "a")]


@pytest.mark.gate
def test_scikit_learn(engine: Engine) -> None:
    random = np.random.default_rng(8)
    x = random.normal(size=(400, 5)) + 1e4
    names = [f"x{i}" for i in range(5)]
    frame = pl.DataFrame(x, schema=names).with_row_index("id")
    # Distances from products would lose digits this far from 0.
    d, j = NearestNeighbors(n_neighbors=11, algorithm="brute").fit(x - 1e4).kneighbors(x - 1e4)
    found = ask(engine, frame, names, n_neighbors=10)
    assert [row["neighbor"] for row in found] == j[:, 1:].ravel().tolist()
    assert [row["distance"] for row in found] == pytest.approx(d[:, 1:].ravel(), rel=1e-9)


@pytest.mark.gate
def test_neighbors_for_the_tables_of_neighborhoods(engine: Engine) -> None:
    x, y = np.random.default_rng(4).normal(size=(2, 80))
    frame = pl.DataFrame({"id": range(80), "x": x, "y": y, "cluster": (x > 0.2).astype(int)})
    rows = pl.DataFrame(ask(engine, frame, n_neighbors=6))
    d: Any = Expression('"distance"') if isinstance(engine, DuckDB) else "distance"
    columns = ("id", "cluster", rows, "id", "neighbor")
    [row] = engine.call("neighborhood_report", frame, *columns, distance=d)
    [pairs] = engine.call("pairwise_report", frame, VECTOR, "cluster", n_neighbors=6)
    assert (row["n_neighbors"], row["n_without_neighbors"]) == (480, 0)
    assert row["connectivity"] == pytest.approx(pairs["connectivity"], rel=1e-12)


@pytest.mark.gate
def test_max_points(engine: Engine) -> None:
    words = (
        "max_points: expected at most 19 points in a partition, got 20 (190 pairs); raise "
        "max_points, or take the neighbors from an index such as that of vss or faiss"
    )
    with fails(engine, words):
        ask(engine, grid(20), max_points=19)
    assert len(ask(engine, grid(20), max_points=20, n_neighbors=1)) == 20


@pytest.mark.gate
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_neighbors": 0}, "n_neighbors: expected a whole number >= 1, got 0"),
        ({"max_points": 1}, "max_points: expected a whole number >= 2, got 1"),
        ({"distance": "euclid"}, "distance: expected one of"),
    ],
)
def test_bad_options(engine: Engine, options: dict[str, Any], words: str) -> None:
    with fails(engine, words):
        ask(engine, grid(5), **options)


@pytest.mark.gate
def test_bad_points(engine: Engine) -> None:
    frame = grid(5).with_columns(x=pl.when(pl.col("id") == 2).then(float("nan")).otherwise("x"))
    with fails(engine, "expected finite numbers"):
        ask(engine, frame)


@pytest.mark.gate
def test_many_blocks() -> None:
    """Points of several blocks of distances."""
    frame = grid(1500, places=40)
    found = ce.nearest_neighbors(frame, VECTOR, "id", n_neighbors=3)
    assert_points(list(found.iter_rows(named=True)), brute(frame, 3), floor=1e-15)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1, None, 3, None], "id: expected a value in every row, got NULL in 2 rows; leave out"),
        ([1, 7, 3, 7], "id: expected one row for each id of a partition, got 2 rows with 7"),
        (["b", "b", "b", "a"], "expected one row for each id of a partition, got 3 rows with b"),
    ],
)
def test_bad_ids(engine: Engine, ids: list[Any], words: str) -> None:
    frame = pl.DataFrame({"id": ids, "x": [0.0, 1.0, 2.0, 4.0], "y": 0.0, "run": [1, 1, 1, 2]})
    with fails(engine, words):
        ask(engine, frame)
    kept = frame.filter(pl.int_range(pl.len()) >= 2)
    with fails(engine, "NULL in 1 rows") if None in ids else nullcontext():
        assert len(ask(engine, kept)) == 2


@pytest.mark.gate
def test_ids_of_several_partitions_and_of_dropped_rows(engine: Engine) -> None:
    """An id may be in two partitions, and NULL in a row without a vector."""
    frame = pl.DataFrame(
        {
            "id": [1, 2, 1, 2, None],
            "x": [0.0, 1.0, 2.0, 4.0, None],
            "y": 0.0,
            "run": [1, 1, 2, 2, 2],
        }
    )
    rows = ask(engine, frame, partition_by="run", missing="drop")
    assert [row["distance"] for row in rows] == [1.0, 1.0, 2.0, 2.0]
