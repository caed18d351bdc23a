"""The indices of determinants: fractions, by hand, numpy, degenerate rows, partitions, a report."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.determinant_cases import (
    FUNCTION,
    assert_indices,
    column_frame,
    coordinate_names,
    indices_by_case,
    indices_of,
    mixed_blobs,
)
from tests.support.determinant_oracle import (
    INDICES,
    NOTHING,
    Indices,
    indices_by_fractions,
    indices_by_numpy,
)
from tests.support.engines import fails, make
from tests.support.point_engines import call

if TYPE_CHECKING:
    from tests.support.determinant_cases import Case
    from tests.support.engines import Engine

# The definitions, in fractions ----------------------------------------------------------------


def whole_points(seed: int, p: int) -> Case:
    """Few whole numbers; of every four seeds, the last coordinate of one depends on the others."""
    r = np.random.default_rng(seed)
    k, n = int(r.integers(1, 5)), int(r.integers(1, 40))
    points = r.integers(-5, 6, (n, p))
    if seed % 4 == 0 and p > 1:
        points[:, -1] = points[:, :-1] @ r.integers(-3, 4, p - 1)
    return points.tolist(), r.integers(0, k, n).tolist()


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_fractions(engine: Engine, p: int) -> None:
    cases = {f"seed {seed}": whole_points(seed, p) for seed in range(10 * p, 10 * p + 10)}
    for name, found in indices_by_case(engine, cases).items():
        assert_indices(found, indices_by_fractions(*cases[name]), rel=1e-11, what=name)


# By hand: W = diag(2, 2), B = 4 * diag(25, 0), T = diag(102, 2); each WG / 2 is of rank 1.
HAND = [(0, 0), (0, 1), (1, 0), (1, 1), (10, 0), (10, 1), (11, 0), (11, 1)]


def test_by_hand(engine: Engine) -> None:
    # W = diag(2, 2), B = diag(200, 0), T = diag(202, 2), WG_k / 4 = diag(1/4, 1/4).
    expected = (101.0, 8 * math.log(101), 16.0, 8 * math.log(1 / 16), 100.0)
    assert_indices(indices_of(engine, HAND, [0] * 4 + [1] * 4), expected)


# Degenerate -----------------------------------------------------------------------------------

LINE = [(float(i), 2.0 * i) for i in range(6)]
DEGENERATE: dict[str, tuple[list[tuple[float, ...]], list[int], Indices]] = {
    "one point": ([(1.0, 2.0)], [0], NOTHING),
    "one point, one dimension": ([(3.0,)], [0], NOTHING),
    "all points equal": ([(0.1, 0.3)] * 9, [0, 1, 2] * 3, NOTHING),
    "all points equal in one cluster": ([(0.1,)] * 7, [0] * 7, NOTHING),
    "a constant coordinate": ([(i * 0.7, 0.1) for i in range(9)], [0, 1, 2] * 3, NOTHING),
    "collinear": (LINE, [0, 0, 0, 1, 1, 1], NOTHING),
    "collinear, one cluster": (LINE, [0] * 6, NOTHING),
    "singletons": (HAND, list(range(8)), NOTHING),
    "within on one line, between not": (
        [(0, 0), (1, 0), (2, 0), (0, 9), (1, 9), (2, 9)],
        [0, 0, 0, 1, 1, 1],
        NOTHING,
    ),
    # One dimension, one cluster: T = W = 2.
    "one cluster": ([(0.0,), (1.0,), (2.0,)], [0] * 3, (1.0, 0.0, 2.0, 3 * math.log(2 / 3), 0.0)),
    "n - k < p": ([(0, 0), (1, 1), (5, 5), (9, 0)], [0, 0, 1, 2], NOTHING),
}


@pytest.mark.parametrize("p", [1, 2])
def test_degenerate(engine: Engine, p: int) -> None:
    cases = {name: case for name, case in DEGENERATE.items() if len(case[0][0]) == p}
    given = {name: (points, cluster) for name, (points, cluster, _) in cases.items()}
    for name, found in indices_by_case(engine, given).items():
        assert_indices(found, cases[name][2], what=name)


SMALL_POINTS = [(0.1, 0.2), (0.3, 0.7), (0.2, 0.5), (0.4, 0.1)] * 2


def test_equal_centroids_and_small_clusters(engine: Engine) -> None:
    """Equal centroids give exactly one; a small cluster takes away Scott-Symons only."""
    small = ([*HAND, (5, 5), (6, 7)], [0] * 4 + [1] * 4 + [2] * 2)
    cases: dict[str, Case] = {"equal centroids": (SMALL_POINTS, [0] * 4 + [1] * 4), "small": small}
    found = indices_by_case(engine, cases)
    det_ratio, log_det_ratio, _, scott, trace = found["equal centroids"]
    assert (det_ratio, log_det_ratio, trace) == (1.0, 0.0, 0.0)
    assert scott is not None
    assert_indices(found["small"], indices_by_fractions(*small))
    assert [x is None for x in found["small"]] == [False, False, False, True, False]


def test_singles_are_clusters(engine: Engine) -> None:
    points = [*HAND, (5, 5), (6, 7)]
    found = indices_of(
        engine, points, [0] * 4 + [1] * 4 + [-1] * 2, noise=-1, noise_as="singletons"
    )
    assert_indices(found, indices_by_fractions(points, [0] * 4 + [1] * 4 + [2, 3]))


def test_no_points(side: Engine) -> None:
    empty = column_frame(np.empty((0, 2)), pl.Series([], dtype=pl.Int64))
    empty = empty.with_columns(key=pl.lit("x"))
    assert call(side, FUNCTION, empty, ["d0", "d1"], partition_by="key") == []


# Random data ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p", "k"), [(300, 1, 2), (500, 3, 4), (2000, 8, 5), (3000, 32, 6)])
def test_numpy(engine: Engine, n: int, p: int, k: int) -> None:
    points, cluster = mixed_blobs(n, n, p, k)
    found = indices_of(engine, points, cluster.tolist())
    assert_indices(found, indices_by_numpy(points, cluster), rel=1e-9)


def test_faint_clusters(engine: Engine) -> None:
    """The logarithm keeps its digits where |T| is all but |W|."""
    x = [-3, -1, 1, 3]
    points = [(a, b) for a in x for b in x]
    cluster = [0] * 16 + [1] * 16
    far = [*points, *((a + Fraction(1, 2**20), b) for a, b in points)]
    found = indices_of(engine, [(float(a), float(b)) for a, b in far], cluster)
    assert_indices(found, indices_by_fractions(far, cluster), rel=1e-11)
    assert found[1] is not None
    assert 0 < found[1] < 1e-11


def test_tiny_cluster_beside_wide_one(engine: Engine) -> None:
    r = np.random.default_rng(4)
    points, cluster = r.integers(-99, 100, (80, 2)).astype(float), [0] * 40 + [1] * 40
    points[40:] *= 2.0**-40
    points[40:, 0] += 2.0
    expected = indices_by_fractions(points.tolist(), cluster)
    assert_indices(indices_of(engine, points, cluster), expected, rel=1e-10)


# Partitions -----------------------------------------------------------------------------------


def test_partitions(engine: Engine) -> None:
    """Of a shuffled frame: the fractions of each partition, and the same as of one alone."""
    keys = ["a", "b", None, "small", "line"]
    frames, expected = [], {}
    for i, key in enumerate(keys):
        points, cluster = mixed_blobs(i, 120, 3, 4)
        if key == "small":
            points, cluster = points[:5], cluster[:5]
        if key == "line":
            points[:, 1] = points[:, 0]
        named = [f"c{c}" for c in cluster]
        frames.append(column_frame(points, named).with_columns(key=pl.lit(key, pl.String)))
        expected[key] = indices_by_fractions(points.tolist(), named)
        if key == "b":
            alone = indices_of(engine, points, cluster.tolist())
    shuffled = pl.concat(frames).sample(fraction=1, shuffle=True, seed=1)
    rows = call(engine, FUNCTION, shuffled, ["d0", "d1", "d2"], partition_by="key")
    found = {row["key"]: [row[name] for name in INDICES] for row in rows}
    assert found.keys() == expected.keys()
    for key in keys:
        assert_indices(found[key], expected[key], rel=1e-11, what=key)
    assert_indices(found["b"], alone, rel=1e-11)
    assert tuple(found["line"]) == NOTHING


def test_two_keys_and_none() -> None:
    points, cluster = mixed_blobs(3, 400, 3, 4)
    data = column_frame(points, cluster.tolist()).with_columns(
        a=pl.int_range(400) % 2, b=pl.when(pl.int_range(400) < 200).then(pl.lit("x"))
    )
    dims = ["d0", "d1", "d2"]
    rows = ce.determinant_report(data, dims, "cluster", partition_by=["a", "b"])
    indices = rows.select("a", "b", *INDICES).rows()
    assert {row[:2] for row in indices} == {(0, "x"), (1, "x"), (0, None), (1, None)}
    for a, b, *values in indices:
        part = data.filter((pl.col("a") == a) & pl.col("b").eq_missing(pl.lit(b, pl.String)))
        alone = ce.determinant_report(part, dims, "cluster").select(INDICES).row(0)
        assert_indices(values, alone, rel=1e-11, what=(a, b))


def lazy_report(data: pl.DataFrame) -> pl.LazyFrame:
    keyed = data.lazy().with_columns(key=pl.lit(None, pl.String))
    return ce.determinant_report(keyed, coordinate_names(data), "cluster", partition_by="key")


def test_results_can_be_filtered_and_selected() -> None:
    points, cluster = mixed_blobs(3, 100, 3, 2)
    result = lazy_report(column_frame(points, cluster.tolist()))
    (expected,) = result.collect().get_column("trace_wib")
    found = result.filter(pl.col("trace_wib") > 0).select("trace_wib").head(1).collect()
    assert math.isclose(found.item(), expected, rel_tol=1e-12)


def test_schema() -> None:
    lazy = lazy_report(column_frame(HAND, [0] * 8))
    assert lazy.collect_schema() == lazy.collect().schema


# Both sides -----------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(10))
def test_sides_agree(seed: int) -> None:
    r = np.random.default_rng(seed)
    p, k = int(r.integers(1, 12)), int(r.integers(1, 8))
    n = int(r.integers(k, 400))
    points, cluster = mixed_blobs(seed, n, p, k, spread=10.0 ** r.integers(-3, 4))
    sql, lazy = (
        indices_of(make(name), points, cluster.tolist()) for name in ("duckdb", "polars-streaming")
    )
    assert_indices(sql, lazy, rel=1e-10)


# The report -----------------------------------------------------------------------------------

IRIS = Path(__file__).parents[2] / "examples" / "iris.parquet"
FLOWER = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def test_report_on_iris(engine: Engine) -> None:
    iris = pl.read_parquet(IRIS)
    [row] = call(engine, FUNCTION, iris, FLOWER, "kmeans")
    counts = ("n", "n_dropped", "n_noise", "n_dims", "n_clusters")
    assert [row[name] for name in counts] == [150, 0, 0, 4, 3]
    expected = indices_by_numpy(iris.select(FLOWER).to_numpy(), iris["kmeans"].to_numpy())
    assert_indices([row[name] for name in INDICES], expected, rel=1e-10)


def test_report_by_partition_without_noise(engine: Engine) -> None:
    """A NULL cluster is dropped, noise is not, and a partition of noise has no index."""
    data = column_frame(np.arange(12.0).reshape(6, 2) ** 2, [0, 0, 0, 1, 1, None])
    data = pl.concat(
        [data.with_columns(run=pl.lit(1)), column_frame([[0.0, 1.0]], [1]).with_columns(run=2)]
    )
    how = {"partition_by": "run", "noise": 1, "noise_as": "drop"}
    rows = call(engine, FUNCTION, data, ["d0", "d1"], **how)
    assert [(row["run"], row["n"], row["n_dropped"], row["n_noise"]) for row in rows] == [
        (1, 3, 1, 2),
        (2, 0, 0, 1),
    ]


def test_report_without_rows(engine: Engine) -> None:
    empty = column_frame([[0.0, 1.0]], [0]).head(0)
    [row] = call(engine, FUNCTION, empty, ["d0", "d1"])
    assert (row["n"], row["n_dims"], row["n_clusters"]) == (0, 0, 0)
    assert [row[name] for name in INDICES] == [None] * 5


def test_report_of_a_point_at_fault(side: Engine) -> None:
    data = column_frame([[0.0, 1.0], [2.0, math.nan], [1.0, 1.0]], [0, 0, 1])
    with fails(side, "got nan in column d1 (1 row is at fault)"):
        call(side, FUNCTION, data, ["d0", "d1"])
