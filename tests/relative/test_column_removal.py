"""column_stability: against the definitions, point by point, and what must not matter."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist

import polars_clustereval as ce
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

INDICES = (
    "average_proportion_non_overlap",
    "average_distance",
    "average_distance_between_means",
    "figure_of_merit",
)


def stability(
    engine: Engine, frame: pl.DataFrame, vector: Any = "vector", **arguments: Any
) -> list[Row]:
    columns = ("cluster", "removed", "reduced")
    return engine.call("column_stability", frame, vector, *columns, **arguments)


def random_reductions(seed: int, n: int, dims: int, k: int = 4) -> pl.DataFrame:
    """Points with a random whole clustering and a random reduced one for each coordinate."""
    r = np.random.default_rng(seed)
    x, whole = r.normal(size=(n, dims)), r.integers(0, k, n)
    return pl.concat(
        pl.DataFrame(
            {
                "vector": x.tolist(),
                "cluster": whole,
                "removed": [place] * n,
                "reduced": r.integers(0, k - 1, n),
            }
        )
        for place in range(1, dims + 1)
    )


def indices_by_points(frame: pl.DataFrame, distance: str = "euclidean") -> list[Row]:
    """Sums over points, as Datta and Datta and Yeung and others write them."""
    rows = []
    for (place,), part in frame.group_by("removed", maintain_order=True):
        assert isinstance(place, int)
        x = np.array(part["vector"].to_list(), dtype=float)
        whole, reduced = part["cluster"].to_numpy(), part["reduced"].to_numpy()
        d = cdist(x, x, distance)
        sums = dict.fromkeys(INDICES, 0.0)
        for i in range(len(x)):
            own, other = whole == whole[i], reduced == reduced[i]
            sums["average_proportion_non_overlap"] += 1 - (own & other).sum() / own.sum()
            sums["average_distance"] += d[np.ix_(own, other)].mean()
            means = x[own].mean(axis=0)[None], x[other].mean(axis=0)[None]
            sums["average_distance_between_means"] += cdist(*means, distance).item()
        n, k = len(x), len(set(reduced))
        left_out = x[:, place - 1]
        squares = sum(
            ((left_out[reduced == j] - left_out[reduced == j].mean()) ** 2).sum()
            for j in set(reduced)
        )
        values = {name: value / n for name, value in sums.items()}
        values["figure_of_merit"] = float(np.sqrt(squares / n) * np.sqrt(n / (n - k)))
        rows.append({"removed": place, "n": n, "n_clusters": k} | values)
    return rows


#: Points and coordinates.
SIZES = [(30, 3), (25, 2), (12, 40)]


@cache
def random_case(size: tuple[int, int], distance: str) -> tuple[pl.DataFrame, list[Row]]:
    frame = random_reductions(SIZES.index(size), *size)
    return frame, indices_by_points(frame, distance)


@pytest.mark.parametrize(
    ("distance", "size"),
    [
        *(("euclidean", size) for size in SIZES),
        *((distance, SIZES[0]) for distance in ("sqeuclidean", "cityblock", "chebyshev")),
        *(
            pytest.param(distance, size, marks=pytest.mark.wide)
            for distance in ("sqeuclidean", "cityblock", "chebyshev")
            for size in SIZES[1:]
        ),
    ],
)
def test_equals_the_definitions(engine: Engine, distance: str, size: tuple[int, int]) -> None:
    frame, wanted = random_case(size, distance)
    got = stability(engine, frame, distance=distance)
    assert_points(got, wanted, tolerance=1e-12, floor=1e-13)


def test_cosine_is_of_directions(engine: Engine) -> None:
    """Its means are of unit vectors: those of points of length 1 whatever their length was."""
    frame = random_reductions(9, 20, 3)
    x = np.array(frame["vector"].to_list())
    unit = frame.with_columns(
        pl.Series("vector", (x / np.linalg.norm(x, axis=1, keepdims=True)).tolist())
    )
    without = ("figure_of_merit",)
    got = stability(engine, frame, distance="cosine")
    assert_points(
        got, indices_by_points(unit, "cosine"), tolerance=1e-11, floor=1e-13, without=without
    )


def test_a_zero_vector_is_at_0_from_itself(engine: Engine) -> None:
    frame = pl.DataFrame(
        {
            "vector": [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]],
            "cluster": [0, 1, 1],
            "removed": [1, 1, 1],
            "reduced": [0, 0, 1],
        }
    )
    [row] = stability(engine, frame, distance="cosine")
    # Point 0: from {0} to {0, 1} the distances 0 and 1. Point 1: from {1, 2} to {0, 1} the
    # distances 1, 0, 1 and 1. Point 2: from {1, 2} to {2} the distances 1 and 0.
    assert row["average_distance"] == pytest.approx((1 / 2 + 3 / 4 + 1 / 2) / 3, rel=1e-15)


def test_the_same_clusterings(engine: Engine) -> None:
    frame = random_reductions(1, 20, 2).with_columns(reduced=pl.col("cluster") + 10)
    for row in stability(engine, frame):
        assert row["average_proportion_non_overlap"] == 0.0
        assert row["average_distance_between_means"] == 0.0


def test_every_point_a_cluster(engine: Engine) -> None:
    frame = random_reductions(2, 6, 2)
    ids = pl.int_range(pl.len()).over("removed")
    for row in stability(engine, frame.with_columns(cluster=ids, reduced=ids)):
        assert (row["n_clusters"], row["average_distance"], row["figure_of_merit"]) == (6, 0, None)


def test_one_point(engine: Engine) -> None:
    frame = pl.DataFrame({"vector": [[3.0]], "cluster": ["a"], "removed": [1], "reduced": ["b"]})
    [row] = stability(engine, frame)
    assert list(row.values()) == [1, 1, 1, 0.0, 0.0, 0.0, None]


def test_no_rows(engine: Engine) -> None:
    frame = random_reductions(3, 5, 2)
    assert stability(engine, frame.clear()) == []
    assert stability(engine, frame.with_columns(cluster=pl.lit(None, pl.Int64))) == []


@pytest.mark.gate
def test_what_must_not_matter(engine: Engine) -> None:
    """Order of rows, dropped rows, other partitions, names of clusters, and a shift."""
    frame = random_reductions(4, 20, 3)
    wanted = stability(engine, frame)
    more = frame.head(3).with_columns(
        vector=pl.Series([[1e200, 0.0, 1.0]] * 3),
        cluster=pl.Series([1, None, 1]),
        reduced=pl.Series([None, 1, 1]),
    )
    dropped = more.with_columns(
        vector=pl.when(pl.int_range(3) < 2).then("vector"), cluster=pl.col("cluster")
    )
    changed = pl.concat([frame, dropped]).sample(fraction=1, shuffle=True, seed=1)
    assert_points(stability(engine, changed), wanted, tolerance=1e-13)
    named = frame.with_columns(reduced=pl.format("cluster {}", 7 - pl.col("reduced")))
    assert_points(stability(engine, named), wanted, tolerance=1e-13)
    shifted = frame.with_columns(pl.col("vector").list.eval(pl.element() + 2.0**27))
    assert_points(stability(engine, shifted), wanted, tolerance=1e-6)
    parts = pl.concat(
        [
            frame.with_columns(run=pl.lit(1)),
            frame.with_columns(run=pl.lit(None, pl.Int32), reduced=pl.lit(0, pl.Int64)),
        ]
    )
    got = stability(engine, parts, partition_by="run")
    assert_points(got[:3], [{"run": 1} | row for row in wanted], tolerance=1e-13)
    assert [row["run"] for row in got[3:]] == [None] * 3


def test_several_columns_as_a_vector(side: Engine) -> None:
    frame = random_reductions(5, 12, 2)
    wide = frame.with_columns(x=pl.col("vector").list.get(0), y=pl.col("vector").list.get(1))
    assert_points(stability(side, wide, ["x", "y"]), stability(side, frame), tolerance=1e-14)


@pytest.mark.parametrize(
    ("removed", "shown"), [(3, "3"), (0, "0"), (-1, "-1|NULL"), (1.5, "NULL"), (None, "NULL")]
)
def test_places_that_are_none(side: Engine, removed: float | None, shown: str) -> None:
    frame = random_reductions(6, 5, 2).with_columns(removed=pl.lit(removed, pl.Float64))
    words = rf"removed: expected the number of a coordinate, from 1 to 2, got ({shown})$"
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        stability(side, frame)


def test_points_at_fault(side: Engine) -> None:
    frame = random_reductions(7, 5, 2)
    frame = frame.with_columns(vector=pl.Series([[1.0, None], *frame["vector"][1:].to_list()]))
    with pytest.raises(
        (ce.ClusterEvalError, duckdb.Error), match="vector: expected finite numbers, got NULL in"
    ):
        stability(side, frame)


def test_a_bad_option(side: Engine) -> None:
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match="distance: expected one of"):
        stability(side, random_reductions(8, 5, 2), distance="l3")


def test_the_definitions_can_fail() -> None:
    """A negative control: other reduced clusters give other values of all four indices."""
    frame = random_reductions(0, 30, 3)
    one, other = (
        indices_by_points(frame),
        indices_by_points(frame.with_columns(pl.col("reduced").reverse())),
    )
    for name in INDICES:
        assert all(a[name] != b[name] for a, b in zip(one, other, strict=True))
