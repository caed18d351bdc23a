"""pairwise_report in every engine: the definitions by brute force, other libraries, and errors."""

from __future__ import annotations

import itertools
import math
import random
import re
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.stats import pointbiserialr, somersd

import polars_clustereval as ce
from tests.support import engines
from tests.support import pairwise_oracle as oracle
from tests.support.engines import ENGINES, SIDES, DuckDB, Engine, Expression, fails
from tests.support.pairwise_oracle import INDICES
from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_faults import OVERFLOW, crossed
from tests.support.point_names import assert_columns, assert_tables, each_table, sql_names
from tests.support.point_oracle import DISTANCES, Measure, Partition
from tests.support.point_strategies import (
    NOISE,
    SEEDS,
    Rows,
    arguments_of,
    decimal,
    digit,
    frame_of_sets,
    measure_of,
    random_sets,
    tenth,
)
from tests.support.seeds import SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

EUCLIDEAN = Measure()


def oracle_report(
    rows: Rows, measure: Measure = EUCLIDEAN, n_neighbors: int = 10, **noise: Any
) -> dict[str, Any]:
    vectors, clusters = [v for v, _ in rows], [c for _, c in rows]
    return oracle.pairwise_report(Partition(vectors, clusters, measure, **noise), n_neighbors)


def pairwise_row(engine: Engine, rows: Rows, **arguments: Any) -> dict[str, Any]:
    return one(engine, "pairwise_report", frame_of_sets([rows]), **arguments)


def assert_as_the_oracle(
    engine: Engine, rows: Rows, tolerance: float = 1e-12, **arguments: Any
) -> None:
    got = pairwise_row(engine, rows, **arguments)
    assert_points([got], [oracle_report(rows, **arguments)], tolerance=tolerance, floor=1e-13)


# The oracle ------------------------------------------------------------------------------------

LINE: Rows = [([0.0], 0), ([1.0], 0), ([3.0], 1), ([4.5], 1), ([9.0], 2)]
# By hand. Within: 1, 1.5; between: 3, 4.5, 9, 2, 3.5, 8, 6, 4.5. Nearest: 0 has 1 3 | 4.5 | 9, so
# with two neighbors it loses 1/2; 1 has 1, 2: 1/2; 3 has 1.5, 2: 1/2; 4.5 has 1.5, 3.5: 1/2; 9 has
# both places among others: 1 + 1/2.
LINE_INDICES = {
    "c_index": 0.0,
    "gamma": 1.0,
    "g_plus": 0.0,
    "tau": 16 / math.sqrt(2 * 8 * 45),
    "mcclain_rao": 1.25 / (40.5 / 8),
    "point_biserial": (1.25 - 40.5 / 8) * 4 / 10,
    "connectivity": 3.5,
}
# Within: 2, 2; between: 1, 3, 1, 1, and 0 - 2 crosses 1 - 3. c: least two 1 + 1, greatest 3 + 2.
CROSSED: Rows = [([0.0], 0), ([2.0], 0), ([1.0], 1), ([3.0], 1)]
CROSSED_INDICES = {
    "c_index": (4 - 2) / (5 - 2),
    "gamma": (2 - 6) / 8,
    "g_plus": 2 * 6 / 30,
    "tau": -4 / math.sqrt(4 * 2 * 15),
    "mcclain_rao": 2 / 1.5,
    "point_biserial": (2 - 1.5) * math.sqrt(8) / 6,
    # 0 has 1, 2, 3 away: 1/1 and 1/3; 3 the same. 1 has 1 - 1 (both of the other) and then 2: two
    # points share the places 1 and 2; 2 the same.
    "connectivity": 2 * (1 + 1 / 3) + 2 * (1 + 1 / 2),
}
HAND = {"line": (LINE, 2, LINE_INDICES), "crossed": (CROSSED, 10, CROSSED_INDICES)}


@pytest.mark.parametrize("case", HAND)
def test_the_oracle_by_hand(case: str) -> None:
    rows, n_neighbors, wanted = HAND[case]
    found = oracle_report(rows, n_neighbors=n_neighbors)
    assert {name: found[name] for name in INDICES} == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("case", HAND)
def test_by_hand(engine: Engine, case: str) -> None:
    rows, n_neighbors, wanted = HAND[case]
    found = pairwise_row(engine, rows, n_neighbors=n_neighbors)
    assert {name: found[name] for name in INDICES} == pytest.approx(wanted, rel=1e-14)


# Degenerate ------------------------------------------------------------------------------------

NO_SCORES = dict.fromkeys(INDICES)


def counts_without_scores(
    n: int, dropped: int, noise: int, k: int, within: int, between: int
) -> dict[str, Any]:
    names = ("n", "n_dropped", "n_noise", "n_clusters")
    row: dict[str, Any] = dict(zip(names, (n, dropped, noise, k), strict=True))
    pairs = {"n_within_pairs": Decimal(within), "n_between_pairs": Decimal(between)}
    return row | pairs | NO_SCORES


DEGENERATE: dict[str, tuple[Rows, dict[str, Any]]] = {
    "no rows": ([], counts_without_scores(0, 0, 0, 0, 0, 0)),
    "all dropped": ([([1.0], None), (None, 1)], counts_without_scores(0, 2, 0, 0, 0, 0)),
    "one point": ([([1.0], 0)], counts_without_scores(1, 0, 0, 1, 0, 0)),
    "one cluster": (
        [([1.0], 0), ([2.0], 0)],
        counts_without_scores(2, 0, 0, 1, 1, 0) | {"connectivity": 0.0},
    ),
    "two singletons": (
        [([1.0], 0), ([2.0], 1)],
        counts_without_scores(2, 0, 0, 2, 0, 1) | {"connectivity": 2.0},
    ),
    "singletons": (
        [([0.0], 0), ([1.0], 1), ([3.0], 2)],
        counts_without_scores(3, 0, 0, 3, 0, 3) | {"connectivity": 4.5},
    ),
    # each has two neighbors at 0: of its own cluster 1, of the other 2 that share three places
    "all equal": (
        [([0.1, 0.2], 0), ([0.1, 0.2], 0), ([0.1, 0.2], 1), ([0.1, 0.2], 1)],
        counts_without_scores(4, 0, 0, 2, 2, 4)
        | {"g_plus": 0.0, "tau": 0.0, "point_biserial": 0.0}
        | {"connectivity": 4 * 2 / 3 * (1 + 1 / 2 + 1 / 3)},
    ),
    # all distances 1: nothing tells the pairs apart
    "a triangle": (
        [([1.0, 0.0, 0.0], 0), ([0.0, 1.0, 0.0], 0), ([0.0, 0.0, 1.0], 1)],
        counts_without_scores(3, 0, 0, 2, 1, 2)
        | {"g_plus": 0.0, "tau": 0.0, "point_biserial": 0.0, "mcclain_rao": 1.0}
        | {"connectivity": 2 * 1.5 / 2 + 1.5},
    ),
    "no pair within apart": (
        [([0.0], 0), ([0.0], 0), ([5.0], 1)],
        counts_without_scores(3, 0, 0, 2, 1, 2)
        | {"c_index": 0.0, "gamma": 1.0, "g_plus": 0.0, "mcclain_rao": 0.0}
        | {"tau": 2 / math.sqrt(6), "point_biserial": -5 * math.sqrt(2) / 3}
        | {"connectivity": 0.5 + 0.5 + 1.5},
    ),
}


def test_degenerate(engine: Engine) -> None:
    """Without a partition where no row is kept, else as partitions of one call for each length."""
    by_dims: dict[int, list[str]] = {}
    for case, (rows, wanted) in DEGENERATE.items():
        if wanted["n"]:
            by_dims.setdefault(len(rows[0][0] or []), []).append(case)
        else:
            assert_points([pairwise_row(engine, rows)], [wanted], what=case)
    for cases in by_dims.values():
        frames = [frame_of_sets([DEGENERATE[case][0]]) for case in cases]
        several = call_by_case(engine, "pairwise_report", frames)
        for case, got in zip(cases, several, strict=True):
            assert_points(got, [DEGENERATE[case][1]], tolerance=1e-14, floor=1e-15, what=case)


def test_no_rows_in_partitions(side: Engine) -> None:
    frame = frame_of_sets([DEGENERATE["no rows"][0]])
    assert call(side, "pairwise_report", frame, partition_by="run") == []


def test_degenerate_partitions_beside_each_other(engine: Engine) -> None:
    several = [rows for rows, _ in DEGENERATE.values() if rows and len(rows[0][0] or []) == 1]
    got = call(engine, "pairwise_report", frame_of_sets(several), partition_by="run")
    wanted = [{"run": run} | oracle_report(rows) for run, rows in enumerate(several)]
    assert_points(got, wanted, tolerance=1e-13, floor=1e-15)


# Properties ------------------------------------------------------------------------------------

# Whole numbers and tenths, so that distances tie, and numbers whose distances never do.
NUMBERS = (digit, tenth, decimal)
NEIGHBORS = (1, 2, 3, 10)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("way", range(3))
@SEEDS
@SEED
def test_equals_the_oracle(engine: Engine, distance: str, way: int, seed: int) -> None:
    """Many sets of points in one call, with missing vectors and clusters."""
    case = DISTANCES.index(distance) + way
    dims, noise, n_neighbors = 1 + case % 4, NOISE[(case + way) % 4], NEIGHBORS[(case + 1) % 4]
    measure = measure_of(distance, dims, weighted=way == 1)
    how = arguments_of(measure) | noise | {"n_neighbors": n_neighbors}
    del how["center"]
    sets = random_sets(
        (seed, distance, way), 12, dims, *NUMBERS, nulls=True, max_rows=18, max_clusters=4
    )
    got = call(engine, "pairwise_report", frame_of_sets(sets), partition_by="run", **how)
    found = {row["run"]: row for row in got}
    assert list(found) == sorted(found)
    for run, rows in enumerate(sets):
        wanted = {"run": run} | oracle_report(rows, measure, n_neighbors, **noise)
        if not rows:
            assert run not in found
            continue
        # vectors of one direction have a cosine distance that is only rounding
        without = set(INDICES) if distance == "cosine" and dims == 1 else set()
        if distance == "cosine" and NUMBERS[run % 3] is not decimal:
            without = {"c_index", "gamma", "g_plus", "tau", "connectivity", "mcclain_rao"}
        assert_points([found[run]], [wanted], tolerance=1e-9, floor=1e-12, without=without)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("distance", "n", "names"),
    [
        *((distance, 120, SIDES) for distance in DISTANCES),
        *(pytest.param(name, 300, ENGINES, marks=pytest.mark.wide) for name in DISTANCES),
    ],
    ids=[*DISTANCES, *(f"{distance} of many" for distance in DISTANCES)],
)
def test_engines_agree(distance: str, n: int, names: Sequence[str]) -> None:
    """On more points than the oracle can take, of tenths, whole and any numbers."""
    r = np.random.default_rng(7)
    cases = [r.integers(0, 60, (n, 3)) / 10, r.integers(0, 3, (n, 3)), r.normal(size=(n, 3))]
    frames = [
        pl.DataFrame({"vector": x.astype(float).tolist(), "cluster": r.integers(0, 4, n)})
        for x in cases
    ]
    wanted, *others = (
        call_by_case(engines.make(name), "pairwise_report", frames, distance=distance)
        for name in names
    )
    for got in others:
        for i, (mine, theirs) in enumerate(zip(got, wanted, strict=True)):
            what = (distance, ("tenths", "whole", "any")[i])
            assert_points(mine, theirs, tolerance=1e-11, floor=1e-13, what=what)


@SEEDS
@SEED
def test_the_order_of_rows_does_not_matter(engine: Engine, seed: int) -> None:
    rng = random.Random(seed)
    sets = random_sets(seed, 10, 2, digit, nulls=True, max_rows=18, max_clusters=4)
    renamed = [
        frame_of_sets(
            [[(v, None if c is None else 100 - c) for v, c in rng.sample(rows, len(rows))]]
        )
        for rows in sets
    ]
    wanted, got = (
        call_by_case(engine, "pairwise_report", of)
        for of in ([frame_of_sets([rows]) for rows in sets], renamed)
    )
    for mine, theirs in zip(got, wanted, strict=True):
        assert_points(mine, theirs, tolerance=1e-13, floor=1e-14)


@pytest.mark.parametrize("distance", ["euclidean", "sqeuclidean", "cityblock", "chebyshev"])
@SEEDS
@SEED
def test_a_shift_changes_nothing(engine: Engine, distance: str, seed: int) -> None:
    sets = random_sets((seed, distance), 10, 2, digit, nulls=True, max_rows=18, max_clusters=4)
    shifted = [
        frame_of_sets([[(None if v is None else [x + 1e8 for x in v], c) for v, c in rows]])
        for rows in sets
    ]
    several = call_by_case(engine, "pairwise_report", shifted, distance=distance)
    for rows, got in zip(sets, several, strict=True):
        wanted = oracle_report(rows, Measure(distance))
        assert_points(got, [wanted], tolerance=1e-13, floor=1e-14)


def equilateral(angle: float) -> Rows:
    """A triangle whose sides differ by rounding alone."""
    corners = [(math.cos(angle + i), math.sin(angle + i)) for i in (0, math.tau / 3, -math.tau / 3)]
    assert len({math.dist(a, b) for a, b in itertools.combinations(corners, 2)}) > 1
    return [(list(corner), i // 2) for i, corner in enumerate(corners)]


def test_distances_that_only_rounding_tells_apart(engine: Engine) -> None:
    """The sides of equilateral triangles, as partitions next to each other and one alone."""
    angles = (0.1, 0.2, 0.3)
    frames = [frame_of_sets([equilateral(angle)]) for angle in angles]
    rows = [row for [row] in call_by_case(engine, "pairwise_report", frames)]
    rows.append(pairwise_row(engine, equilateral(angles[0])))
    for angle, row in zip((*angles, "alone"), rows, strict=True):
        assert (row["c_index"], row["gamma"], row["tau"]) == (None, None, 0.0), angle


def test_a_shift_of_any_numbers(engine: Engine) -> None:
    r = np.random.default_rng(3)
    rows: Rows = [(x.tolist(), i % 3) for i, x in enumerate(r.normal(size=(60, 3)))]
    shifted = [(None if v is None else [x + 1e8 for x in v], c) for v, c in rows]
    got, wanted = pairwise_row(engine, shifted), pairwise_row(engine, rows)
    for name in ("c_index", "mcclain_rao", "point_biserial"):
        assert got[name] == pytest.approx(wanted[name], rel=1e-6)


def test_more_neighbors_than_points(engine: Engine) -> None:
    few, many = (pairwise_row(engine, LINE, n_neighbors=count) for count in (4, 10**9))
    assert_points([few], [oracle_report(LINE, n_neighbors=4)], floor=1e-13)
    assert_points([many], [oracle_report(LINE, n_neighbors=10**9)], floor=1e-13)
    assert_points([many], [few], tolerance=1e-14)


@pytest.mark.parametrize("dims", [1, 20, 100])
def test_dimensions(engine: Engine, dims: int) -> None:
    r = np.random.default_rng(dims)
    assert_as_the_oracle(
        engine, [(x.tolist(), i % 4) for i, x in enumerate(r.normal(size=(30, dims)))], 1e-9
    )


# Other authors ---------------------------------------------------------------------------------


def iris() -> tuple[pl.DataFrame, list[str]]:
    frame = pl.read_parquet("examples/iris.parquet")
    return frame, ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@cache
def scores_of_scipy(cluster: str) -> dict[str, Any]:
    """Somers' D of the rank of a distance given whether it is between is made of s+ - s-."""
    frame, columns = iris()
    # in whole tenths, so that equal distances are equal
    x = np.rint(frame.select(columns).to_numpy() * 10)
    own = frame[cluster].to_list()
    pairs = list(itertools.combinations(range(len(x)), 2))
    squares = np.array([((x[i] - x[j]) ** 2).sum() for i, j in pairs])
    between = np.array([own[i] != own[j] for i, j in pairs])
    n_b, n_w = int(between.sum()), int((~between).sum())
    n_t = n_b + n_w
    surplus = somersd(between, squares).statistic * n_b * n_w
    d = np.sqrt(squares) / 10
    correlation = pointbiserialr(between, d).statistic
    return {
        "tau": pytest.approx(surplus / math.sqrt(n_b * n_w * n_t * (n_t - 1) / 2)),
        "point_biserial": pytest.approx(-correlation * d.std()),
        "n_within_pairs": n_w,
        "n_between_pairs": n_b,
    }


@pytest.mark.gate
def test_iris_against_scipy(engine: Engine) -> None:
    """Two labelings as partitions of one call, and one alone."""
    frame, columns = iris()
    species, *others = "species", "kmeans", "single_linkage"
    found = {species: one(engine, "pairwise_report", frame, columns, species)}
    frames = [frame.select(*columns, cluster=name) for name in others]
    several = call_by_case(engine, "pairwise_report", frames, columns)
    found |= {name: row for name, [row] in zip(others, several, strict=True)}
    for name, row in found.items():
        wanted = scores_of_scipy(name)
        assert {column: row[column] for column in wanted} == wanted, name


# Errors ----------------------------------------------------------------------------------------

FRAME = pl.DataFrame(
    {"x": [0.0, 2.0, 9.0, 9.0], "y": [0.0, 0.0, 0.0, 4.0], "cluster": [0, 0, 1, -1], "run": [1] * 4}
)
ADVICE = (
    "raise max_points, take a sample, or for connectivity alone, pass the result of "
    "nearest_neighbors to neighborhood_report"
)
TOO_MANY = (
    "max_points: expected at most 3 points in a partition, got 4 (6 pairs, about 1 MB in DuckDB); "
    f"{ADVICE}"
)
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no neighbors": ({"n_neighbors": 0}, "n_neighbors: expected a whole number >= 1, got 0"),
    "part of one": ({"n_neighbors": 1.5}, "n_neighbors: expected a whole number >= 1, got 1.5"),
    "NULL": ({"n_neighbors": None}, "n_neighbors: expected a whole number >= 1, got NULL"),
    "NaN": ({"n_neighbors": math.nan}, "n_neighbors: expected a whole number >= 1, got nan"),
    "one point": ({"max_points": 1}, "max_points: expected a whole number >= 2, got 1"),
    "a fraction": ({"max_points": 2.5}, "max_points: expected a whole number >= 2, got 2.5"),
    "infinite": ({"max_points": math.inf}, "max_points: expected a whole number >= 2, got inf"),
    "distance": ({"distance": "manhattan"}, "distance: expected one of 'euclidean'"),
    "p": ({"p": 0}, "p: expected a number >= 1, got 0"),
    "weights": ({"weights": [1, -2]}, "weights: expected a number > 0 for each dimension, got"),
    "noise_as": ({"noise_as": "drop"}, "noise_as 'drop' needs noise"),
    "noise": (
        {"noise": "none", "noise_as": "drop"},
        "noise: expected a value of the type of cluster (BIGINT)",
    ),
}


@pytest.mark.parametrize(
    ("option", "empty"), crossed(OPTIONS, [False, True], always=["no neighbors", "one point"])
)
def test_a_bad_option(side: Engine, option: str, empty: bool) -> None:
    arguments, words = OPTIONS[option]
    with fails(side, words):
        call(side, "pairwise_report", FRAME.clear() if empty else FRAME, ["x", "y"], **arguments)


@pytest.mark.gate
def test_too_many_points(side: Engine) -> None:
    with fails(side, TOO_MANY):
        call(side, "pairwise_report", FRAME, ["x", "y"], max_points=3)
    with fails(side, TOO_MANY):
        call(side, "pairwise_report", FRAME, ["x", "y"], max_points=3, partition_by="run")
    # no more than those that count
    row = one(side, "pairwise_report", FRAME, ["x", "y"], max_points=3, noise=-1, noise_as="drop")
    assert row["n"] == 3
    assert one(side, "pairwise_report", FRAME, ["x", "y"], max_points=4.0)["n"] == 4


def test_far_too_many_points(side: Engine) -> None:
    """The error comes before any pair is made: of these there would be 2e10."""
    frame = pl.DataFrame({"x": np.arange(200_000.0), "cluster": np.arange(200_000) % 2})
    words = (
        "max_points: expected at most 5000 points in a partition, got 200000 (19999900000 pairs, "
        f"about 1999991 MB in DuckDB); {ADVICE}"
    )
    with fails(side, words):
        call(side, "pairwise_report", frame, ["x"])


@pytest.mark.parametrize("n_neighbors", [1, 4, 10])
def test_neighborhood_report_has_the_same_connectivity(side: Engine, n_neighbors: int) -> None:
    """What the error about too many points advises, on points without ties."""
    r = np.random.default_rng(5)
    points = pl.DataFrame(r.normal(size=(300, 3)), schema=["x", "y", "z"])
    points = points.with_columns(id=pl.int_range(300), cluster=pl.Series(r.integers(0, 3, 300)))
    [row] = call(side, "pairwise_report", points, ["x", "y", "z"], n_neighbors=n_neighbors)
    nearest = ce.nearest_neighbors(points, ["x", "y", "z"], "id", n_neighbors=n_neighbors)
    arguments = (points, "id", "cluster", nearest, "id", "neighbor")
    distance: Any = Expression("distance") if isinstance(side, DuckDB) else "distance"
    [found] = side.call("neighborhood_report", *arguments, distance=distance)
    assert found["n_neighbors"] == 300 * n_neighbors
    assert found["connectivity"] == pytest.approx(row["connectivity"], rel=1e-12)


def test_points_at_fault(side: Engine) -> None:
    for value, words in (
        (math.nan, "vector: expected finite numbers, got nan in column y (1 row is at fault)"),
        (None, "vector: expected finite numbers, got NULL in column y (1 row is at fault)"),
        (1e200, OVERFLOW),
    ):
        frame = FRAME.with_columns(y=pl.Series([0.0, 0.0, value, 4.0]))
        with fails(side, words):
            call(side, "pairwise_report", frame, ["x", "y"])
    for vector, words in (
        ([1.0], "vector: expected vectors of one length (2), got 1 coordinates"),
        ([], "vector: expected at least one coordinate, got an empty vector"),
    ):
        with fails(side, words):
            pairwise_row(side, [([0.0, 1.0], 0), ([2.0, 3.0], 1), (vector, 1)])


def test_distances_that_overflow_only_between_points(side: Engine) -> None:
    """Each is near enough to the middle for its square to be a number."""
    rows: Rows = [([1.2e154], 0), ([1.1e154], 0), ([-1.2e154], 1), ([-1.1e154], 1)]
    with fails(side, OVERFLOW):
        pairwise_row(side, rows, distance="sqeuclidean")


@pytest.mark.parametrize("how", ["in-memory", "streaming"])
def test_a_lazy_frame_raises_when_it_is_collected(how: Any) -> None:
    lazy = ce.pairwise_report(FRAME.lazy(), ["x", "y"], "cluster", max_points=3)
    for part in (lazy, lazy.select("n"), lazy.select(pl.len()), lazy.head(1)):
        with pytest.raises(ce.ClusterEvalError, match=re.escape(TOO_MANY)):
            part.collect(engine=how)


def few_columns() -> list[Any]:
    """(columns, rest of the query): each of either in some case, the other pairs wide."""
    columns, rests = ("n", "COUNT(*)", "1"), ("", " WHERE n > 99", " LIMIT 1")
    pairs = list(itertools.product(columns, rests))
    few = [("n", rests[1]), ("COUNT(*)", rests[0]), ("1", rests[2])]
    return [few, pytest.param(pairs, marks=pytest.mark.wide)]


@pytest.mark.parametrize("pairs", few_columns(), ids=["some", "every"])
def test_a_few_columns_in_sql_raise_too(
    con: duckdb.DuckDBPyConnection, pairs: list[tuple[str, str]]
) -> None:
    con.register("points", FRAME)
    call = "clustereval.pairwise_report(points, [x, y], cluster, max_points := 3)"
    for columns, rest in pairs:
        with pytest.raises(duckdb.Error, match=re.escape(TOO_MANY)):
            con.execute(f"SELECT {columns} FROM {call}{rest}").fetchall()


@pytest.mark.parametrize("parameter", ["vector", "cluster", "partition_by"])
def test_a_quoted_column(con: duckdb.DuckDBPyConnection, parameter: str) -> None:
    columns = {"vector": "[x, y]", "cluster": "cluster"} | {parameter: "'run'"}
    arguments = ", ".join(f"{name} := {column}" for name, column in columns.items())
    con.register("points", FRAME)
    with pytest.raises(duckdb.Error, match=f"{parameter}: expected a column, got the quoted"):
        con.execute(f"FROM clustereval.pairwise_report(points, {arguments})")


# Names -----------------------------------------------------------------------------------------

INNER, WITH = sql_names("pairwise")
NAMES = [
    *("n_neighbors", "max_points", "distance", "p", "tbl", "d", "x", "m", "before", "plus"),
    *("number", "row", "singleton_no", "fits", "fine", "raw_x_0", "x_0", "kept", "least"),
    *('a "quoted" name', "größe", "two words", "*", "^.*$"),
]
# "n", "gamma" and "tau" are names of results, which keys may not have, but tables may
TABLES = [*NAMES, *("n", "gamma", "tau"), *WITH]


@pytest.mark.gate
def test_columns_of_any_name(side: Engine) -> None:
    assert len(INNER) > 30
    names = [*NAMES, *INNER] if side.name == "duckdb" else NAMES
    frame = FRAME.select("x", "y", "cluster")
    assert_columns(
        side, "pairwise_report", frame, names, call(side, "pairwise_report", FRAME, ["x", "y"])
    )


@pytest.mark.parametrize("name", ["gamma", "n_within_pairs", "connectivity"])
def test_a_partition_column_named_like_a_result(name: str) -> None:
    frame = FRAME.rename({"run": name})
    with pytest.raises(ce.ClusterEvalError, match=f"partition_by: '{name}' is also a column of"):
        ce.pairwise_report(frame, ["x", "y"], "cluster", partition_by=name)


@each_table
def test_tables_of_any_name(con: duckdb.DuckDBPyConnection, one_by_one: bool) -> None:
    columns = "[x, y], cluster"
    assert_tables(con, "pairwise_report", FRAME, TABLES, columns, one_by_one=one_by_one)
