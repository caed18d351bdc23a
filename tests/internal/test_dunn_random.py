"""Dunn's index of random points against all distances, by scipy, and how many pairs it takes.

The sets are what the search for the nearest points of two clusters has to stand: clusters that
overlap fully, equal points, one point far off, coordinates of unequal scale, and pairs on both
sides of a cell's border. All sets of a call are partitions of it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.spatial.distance import cdist

import polars_clustereval as ce
from polars_clustereval.internal.kernels import measured_pairs
from polars_clustereval.internal.kernels.cell_grids import CellGrid, flag_first_copies
from tests.support.point_engines import call_by_case
from tests.support.point_strategies import SEEDS
from tests.support.seeds import SEED, seeds

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    from numpy.typing import NDArray

    from tests.support.engines import Engine

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

pytestmark = pytest.mark.gate

#: More than are compared without a grid.
N = 700


def sets_by_difficulty(seed: int, dims: int) -> dict[str, tuple[Floats, Integers]]:
    """Points and the numbers of their clusters, by what is special about them."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    clusters = rng.integers(0, k, N)
    overlapping = rng.normal(size=(k, dims))[clusters] * 0.2 + rng.normal(size=(N, dims))
    far = overlapping.copy()
    far[rng.integers(0, N, 2)] += [[1e7], [-1e9]]
    digits = np.round(overlapping * 2)
    of_digits = np.unique(digits, axis=0, return_inverse=True)[1].reshape(-1) % k
    steps = rng.integers(0, 40, size=(N, dims)).astype(float)
    return {
        "overlapping": (overlapping, clusters),
        "apart": (overlapping + 9.0 * rng.normal(size=(k, dims))[clusters], clusters),
        "far points": (far, clusters),
        "equal points of different clusters": (digits, clusters),
        "equal points of one cluster": (digits, of_digits),
        "on the borders of cells": (steps, clusters),
        "unequal scales": (overlapping * 10.0 ** -np.arange(dims), clusters),
        "heavy tails": (rng.standard_t(1.5, size=(N, dims)), clusters),
    }


def dunn_by_all_pairs(x: Floats, clusters: Integers, distance: str) -> tuple[float, float]:
    """The largest diameter and the least separation."""
    d = cdist(x, x, distance, **({"p": 3} if distance == "minkowski" else {}))
    same = clusters[:, None] == clusters
    return float(d[same].max()), float(d[~same].min())


@pytest.mark.parametrize(
    ("distance", "dims"),
    [
        ("euclidean", 8),
        pytest.param("euclidean", 1, marks=pytest.mark.gate),
        pytest.param("sqeuclidean", 2, marks=pytest.mark.gate),
        pytest.param("chebyshev", 3, marks=pytest.mark.gate),
        pytest.param("cityblock", 6, marks=pytest.mark.gate),
        pytest.param("minkowski", 5, marks=pytest.mark.gate),
        pytest.param("cosine", 9, marks=pytest.mark.gate),
        pytest.param("euclidean", 20, marks=pytest.mark.gate),
    ],
)
@SEEDS
@SEED
def test_equals_all_pairs(engine: Engine, distance: str, dims: int, seed: int) -> None:
    sets = sets_by_difficulty(seed, dims)
    if distance == "cosine":
        del sets["far points"], sets["heavy tails"]
    frames = [pl.DataFrame({"vector": x.tolist(), "cluster": c}) for x, c in sets.values()]
    several = call_by_case(engine, "dunn_index", frames, distance=distance, p=3)
    for (name, (x, clusters)), [row] in zip(sets.items(), several, strict=True):
        diameter, separation = dunn_by_all_pairs(x, clusters, distance)
        assert row["max_diameter"] == pytest.approx(diameter, rel=1e-9), name
        # Far points cost digits of the others, which are minus a common origin.
        assert row["min_separation"] == pytest.approx(separation, rel=1e-6, abs=1e-13), name


@SEEDS
@given(seed=seeds())
def test_no_pair_within_reach_is_lost(seed: int) -> None:
    """The grid finds a pair however near to its bound the distance is."""
    for dims in (1, 2, 5, 8):
        for name, (x, _) in sets_by_difficulty(seed, dims).items():
            d = cdist(x, x, "chebyshev")
            bound = float(np.quantile(d, 0.002)) or 1.0
            wanted = {(i, j) for i, j in np.argwhere(d <= bound).tolist() if i < j}
            grid = CellGrid.within_reach(x, bound, x.std(axis=0))
            blocks = np.array_split(np.arange(len(x)), 3)
            pairs = [pair for block in blocks for pair in grid.pairs_within_reach(block)]
            found = {
                (min(i, j), max(i, j))
                for one, other in pairs
                for i, j in zip(one.tolist(), other.tolist(), strict=True)
            }
            assert wanted <= found, (name, dims)


@pytest.mark.parametrize("spread", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("dims", [1, 4, 5, 7])
def test_no_pair_within_reach_is_lost_in_sql(
    con: duckdb.DuckDBPyConnection, dims: int, spread: float
) -> None:
    """Each partition has two points, whose coordinates differ by nearly 1, in any direction.

    The macro is told that the bound is 1, and how wide the spread of the points is, from which it
    chooses the cells.
    """
    rng, n = np.random.default_rng(dims), 2000
    x = rng.uniform(-10.0, 10.0, size=(n, dims))
    y = x + rng.choice([-1, 1], size=(n, dims)) * rng.uniform(0.9, 1 - 1e-12, size=(n, dims))
    number, zero = np.arange(n), [0.0] * dims
    points = [pl.DataFrame({"partition_no": number, "point": z.tolist()}) for z in (x, y)]
    con.register("one_side", points[0].to_arrow())
    con.register("other_side", points[1].to_arrow())
    con.execute(
        """CREATE OR REPLACE TEMP TABLE pair_points AS
        SELECT *, 0 AS number, partition_no AS row_no FROM one_side
        UNION ALL SELECT *, 1, partition_no + 10000 FROM other_side"""
    )
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE pair_bounds AS
        SELECT partition_no, 1.0::DOUBLE AS separation FROM one_side;
        CREATE OR REPLACE TEMP TABLE pair_axes AS
        SELECT partition_no, 1000 AS n, {zero}::DOUBLE[] AS origin, range(1, {dims} + 1) AS axes,
            {[spread] * dims}::DOUBLE[] AS deviations, {spread}::DOUBLE AS deviation
        FROM one_side"""
    )
    found = con.execute(
        """FROM clustereval._separations_by_grid(
            pair_points, pair_bounds, pair_axes, 'chebyshev', 2
        ) ORDER BY partition_no"""
    ).fetchnumpy()
    np.testing.assert_array_equal(found["separation"], np.abs(x - y).max(axis=1))


def test_copies() -> None:
    x = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    numbers = np.array([0, 0, 0, 1, 1])
    assert flag_first_copies(x, numbers).tolist() == [True, True, False, True, False]
    assert flag_first_copies(np.array([[0.0], [0.0]]), np.array([0, 1])).all()


# How many pairs ------------------------------------------------------------------------------


def overlapping_points(n: int, dims: int = 8) -> pl.DataFrame:
    """Twenty clusters with the same center."""
    rng = np.random.default_rng(0)
    x = pl.DataFrame(rng.normal(size=(n, dims)), schema=[f"x{i}" for i in range(dims)])
    return x.with_columns(cluster=pl.Series(rng.integers(0, 20, n)))


def coordinates_of(frame: pl.DataFrame) -> list[str]:
    return frame.drop("cluster").columns


def test_few_pairs_of_overlapping_clusters_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are compared at all are counted, too."""
    measured: list[int] = []
    monkeypatch.setattr(measured_pairs, "on_measured", measured.append)
    frame = overlapping_points(5000)
    ce.dunn_index(frame, coordinates_of(frame), "cluster")
    assert 5000 < sum(measured) < 5000**2 / 2 / 25
    x = frame.select(coordinates_of(frame)).to_numpy()
    d = cdist(x[:500], x)
    grid = CellGrid.within_reach(x, float(d[d > 0].min()), x.std(axis=0))
    assert grid.approximate_steps < 5000**2 / 2 / 10


def rows_of_nodes(node: dict[str, Any]) -> list[int]:
    """The numbers of rows that the nodes of a profile put out."""
    children = [n for child in node.get("children", []) for n in rows_of_nodes(child)]
    return [int(node.get("intermediate_rows", node.get("operator_cardinality", 0))), *children]


def test_few_pairs_of_overlapping_clusters_are_joined(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    """In DuckDB, no join has more than a hundredth of the pairs there are, or 40 rows a point."""
    path, found = tmp_path / "profile.json", list[int]()
    for n in (5000, 20_000):
        frame = overlapping_points(n)
        con.register("points", frame.to_arrow())
        con.execute("CREATE OR REPLACE TEMP TABLE overlapping AS FROM points")
        con.execute("PRAGMA enable_profiling = 'json'")
        con.execute(f"PRAGMA profiling_output = '{path}'")
        columns = ", ".join(coordinates_of(frame))
        con.execute(f"FROM clustereval.dunn_index(overlapping, [{columns}], cluster)").fetchall()
        con.execute("PRAGMA disable_profiling")
        profile = json.loads(path.read_text(encoding="utf-8"))
        roots = profile.get("operator", profile.get("children"))
        rows = [
            n
            for root in (roots if isinstance(roots, list) else [roots])
            for n in rows_of_nodes(root)
        ]
        found.append(max(rows))
        assert n < max(rows) < n * 60
    assert found[1] < 8 * found[0]
