"""Silhouettes: degenerate rows, published numbers, the definition, bounds, samples and errors."""

from __future__ import annotations

import math
import random
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import silhouette_samples as sklearn_samples

import polars_clustereval as ce
from tests.support import silhouette_oracle as oracle
from tests.support.engines import fails
from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_faults import FAULTS, crossed, vectors
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.point_strategies import (
    NOISE,
    SEEDS,
    Rows,
    arguments_of,
    clear_and_other_sets,
    decimal,
    digit,
    frame_of,
    measure_of,
    quarter,
    random_sets,
)
from tests.support.seeds import SEED
from tests.support.silhouette_oracle import SCORES, Silhouettes

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

SAMPLES, CLUSTERS, SCORE = "silhouette_samples", "silhouette_clusters", "silhouette_score"
EXAMPLES = Path(__file__).parents[2] / "examples"


def frame(given_points: Any, clusters: Any, **more: Any) -> pl.DataFrame:
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64}
    named = {"vector": list(given_points), "cluster": list(clusters)}
    return pl.DataFrame(named, schema=schema).with_columns(
        pl.Series(name, values) for name, values in more.items()
    )


def the(row: Row, *names: str) -> list[Any]:
    return [row[name] for name in names]


# The oracle ----------------------------------------------------------------------------------

# 0 and 1 in one cluster, 3 and 7 in another, 12 alone: a = 1, 1, 4, 4, 0.
LINE = [[0.0], [1.0], [3.0], [7.0], [12.0]]
LINE_CLUSTERS = [0, 0, 1, 1, 2]
OF_LINE = [
    {"id": 0, "cluster": 0, "neighbor": 1, "a": 1.0, "b": 5.0, "silhouette": 0.8},
    {"id": 1, "cluster": 0, "neighbor": 1, "a": 1.0, "b": 4.0, "silhouette": 0.75},
    {"id": 2, "cluster": 1, "neighbor": 0, "a": 4.0, "b": 2.5, "silhouette": -0.375},
    {"id": 3, "cluster": 1, "neighbor": 2, "a": 4.0, "b": 5.0, "silhouette": 0.2},
    {"id": 4, "cluster": 2, "neighbor": 1, "a": 0.0, "b": 7.0, "silhouette": 0.0},
]
CLUSTERS_OF_LINE = [
    {"cluster": 0, "n": 2, "a": 1.0, "b": 4.5, "silhouette": 0.775},
    {"cluster": 1, "n": 2, "a": 4.0, "b": 3.75, "silhouette": -0.0875},
    {"cluster": 2, "n": 1, "a": 0.0, "b": 7.0, "silhouette": 0.0},
]
SCORE_OF_LINE = {
    "n": 5,
    "n_dropped": 0,
    "n_noise": 0,
    "n_clusters": 3,
    "n_singletons": 1,
    "n_evaluated": 5,
    "silhouette": 0.275,
    "silhouette_macro": 0.6875 / 3,
    "silhouette_max": 0.775,
    "silhouette_lower": 0.275,
    "silhouette_upper": 0.275,
}
# Centroids 0.5, 5 and 12: own 0.5, 0.5, 2, 2, 0 against 5, 4, 2.5, 5.
SIMPLE_LINE = (0.9 + 0.875 + 0.2 + 0.6 + 0) / 5


def test_the_oracle_on_a_line() -> None:
    found = Silhouettes(LINE, LINE_CLUSTERS, Measure())
    assert_points(found.samples(), OF_LINE)
    assert_points(found.clusters(), CLUSTERS_OF_LINE)
    assert_points([found.score()], [SCORE_OF_LINE])
    assert found.simplified()["silhouette"] == pytest.approx(SIMPLE_LINE, abs=1e-15)


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_oracle_against_scikit_learn(distance: str) -> None:
    x = np.random.default_rng(7).normal(size=(40, 3))
    clusters = [i * i % 5 for i in range(40)]
    more = {"p": 3} if distance == "minkowski" else {}
    wanted = sklearn_samples(x, clusters, metric=distance, **more)
    found = Silhouettes(x.tolist(), clusters, Measure(distance, 3))
    got = [row["silhouette"] for row in found.samples()]
    assert np.abs(np.array(got) - wanted).max() < 1e-12


def test_the_draw_of_the_oracle() -> None:
    """Worked by hand: place 1 and seed 0 give 48272, its square mod P, and so on."""
    prime = 2**31 - 1
    x1 = 48272
    x2 = 48272**2 - 2330185984 // prime * prime
    assert x2 == 182702337
    x3 = (x2 * 39373 + 1) % prime
    assert oracle.mixed(1, 0) == (x3**2 + x1) % prime
    assert oracle.drawn(3, 9, 5) == sorted(range(3), key=lambda q: oracle.mixed(q, 5))


# Degenerate rows -----------------------------------------------------------------------------


def test_a_line(engine: Engine) -> None:
    """With a cluster of one."""
    lines = frame(LINE, LINE_CLUSTERS)
    for distance in ("euclidean", "cityblock", "chebyshev", "minkowski"):
        assert_points(call(engine, SAMPLES, lines, distance=distance), OF_LINE)
    assert_points(call(engine, CLUSTERS, lines), CLUSTERS_OF_LINE)
    assert_points(call(engine, SCORE, lines), [SCORE_OF_LINE])
    got = one(engine, SCORE, lines, method="simplified")
    assert_points([got], [oracle_of(lines).simplified()])


def oracle_of(given_frame: pl.DataFrame, measure: Measure | None = None) -> Silhouettes:
    rows = given_frame.select("vector", "cluster")
    return Silhouettes(rows["vector"].to_list(), rows["cluster"].to_list(), measure or Measure())


EMPTY_SCORE: Row = dict.fromkeys(SCORE_OF_LINE, 0) | dict.fromkeys(SCORES)


NOTHING, DROPPED = frame([], []), frame([None, [1.0]], [1, None])
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
ALONE = frame([[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]], [1, 1, 1])
APART = frame([[1.0, 2.0], [3.0, 4.0], [3.0, 9.0]], [1, 2, 3])
TWICE = frame([[0.3, 0.1]] * 3 + [[5.0, 5.0], [5.0, 7.0]], [0, 0, 0, 1, 1])
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
    assert the(alone[0], "neighbor", "b", "silhouette") == [None, None, None]
    assert [the(row, "a", "silhouette") for row in apart] == [[0.0, None]] * 3
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
    cases = [frame([[value, value]] * 7, [0, 0, 0, 1, 1, 1, 1]) for value in VALUES]

    def scored(function: str, **how: Any) -> list[list[Row]]:
        if side.name == "duckdb":
            return call_by_case(side, function, cases, distance=distance, **how)
        return [call(side, function, case, distance=distance, **how) for case in cases]

    for value, rows in zip(VALUES, scored(SAMPLES), strict=True):
        # zero vectors have a cosine distance of 1
        d = 1.0 if distance == "cosine" and value == 0 else 0.0
        assert [the(row, "a", "b", "silhouette") for row in rows] == [[d, d, 0.0]] * 7, value
    for method in ("exact", "bounds"):
        for [row] in scored(SCORE, method=method):
            assert the(row, "silhouette_lower", "silhouette_upper") == [0.0, 0.0]


def test_zero_vectors(engine: Engine) -> None:
    """At a cosine distance of 1 from everything, other zero vectors included."""
    rows = frame([[0, 0], [0, 0], [1, 0], [1, 1], [0, 0], [0, 2]], [0, 0, 0, 1, 1, 1])
    wanted = oracle_of(rows, Measure("cosine"))
    got = call(engine, SAMPLES, rows, distance="cosine")
    assert_points(got, wanted.samples(), tolerance=1e-12)
    assert the(got[0], "a", "b", "silhouette") == [1.0, 1.0, 0.0]
    # Rounding must not tell which of the others is the neighbor: it is the lowest.
    x = np.random.default_rng(0).normal(size=(60, 4))
    x[::6] = 0
    got = call(engine, SAMPLES, frame(x.tolist(), [i % 7 for i in range(60)]), distance="cosine")
    assert [row["neighbor"] for row in got[::6]] == [int(row["cluster"] == 0) for row in got[::6]]


def test_the_neighbor_is_the_lowest_of_equals(engine: Engine) -> None:
    rows = frame([[0.0], [0.5], [4.0], [-4.0], [5.0], [-5.0]], [5, 5, 9, 2, 9, 2])
    row = call(engine, SAMPLES, rows)[0]
    assert the(row, "neighbor", "b") == [2, 4.5]
    rows = frame([[0.0], [0.0], [4.0], [-4.0]], [5, 5, 9, -1])
    row = call(engine, SAMPLES, rows, noise=-1, noise_as="singletons")[0]
    assert the(row, "neighbor", "b") == [9, 4.0]
    row = call(engine, SAMPLES, rows.filter(pl.col("cluster") < 9), noise=-1, noise_as="singletons")
    assert the(row[0], "neighbor", "b") == [None, 4.0]


def test_ids(engine: Engine) -> None:
    """Of any type, sorted; one row number where none is given."""
    rows = frame(LINE, LINE_CLUSTERS, name=list("ecbda"), day=[3, 1, 4, 15, 9])
    for column in ("name", "day"):
        got = call(engine, SAMPLES, rows, id=column)
        values = rows[column].to_list()
        wanted = [row | {"id": values[row["id"]]} for row in OF_LINE]
        assert_points(got, sorted(wanted, key=lambda row: row["id"]))
    missing = rows.with_columns(day=pl.Series([3, 1, None, 15, 9]))
    assert None in [row["id"] for row in call(engine, SAMPLES, missing, id="day")]


# Published numbers ---------------------------------------------------------------------------


# Printed in Reyes-Figueroa (2024), Métricas para evaluar algoritmos de agrupamiento: mean and mean
# of the clusters' means, mean under squared distances, simplified.
OF_IRIS = {
    "kmeans": (0.552819, 0.555522, 0.735660, 0.666386),
    "agglomerative": (0.554324, 0.560392, 0.735125, 0.667517),
}


def test_iris(engine: Engine) -> None:
    labels, flowers = pl.read_csv(EXAMPLES / "iris_labelings.csv"), load_iris().data.tolist()
    cases = [frame(flowers, labels[labeling].to_list()) for labeling in OF_IRIS]
    plain, squared, simple = (
        call_by_case(engine, SCORE, cases, **how)
        for how in ({}, {"distance": "sqeuclidean"}, {"method": "simplified"})
    )
    for i, wanted in enumerate(OF_IRIS.values()):
        ([row], [other], [third]) = plain[i], squared[i], simple[i]
        got = (*the(row, "silhouette", "silhouette_macro"), other["silhouette"])
        assert (*got, third["silhouette"]) == pytest.approx(wanted, abs=5e-7)
        assert row["n_evaluated"] == 150


def test_the_example_of_alink(engine: Engine) -> None:
    six = [[x / 10] * 3 for x in (0, 1, 2, 90, 91, 92)]
    rows = frame(six, [0, 0, 0, 1, 1, 1])
    got = one(engine, SCORE, rows, distance="sqeuclidean")["silhouette"]
    assert got == pytest.approx(0.9997530305375202, abs=1e-12)
    got = one(engine, SCORE, rows)["silhouette"]
    assert got == pytest.approx(0.985183813273701, abs=1e-12)
    got = one(engine, SCORE, rows, method="simplified")["silhouette"]
    assert got == pytest.approx(0.992592, abs=1e-6)


def test_twelve_points_of_clustering_jl(engine: Engine) -> None:
    first = [[-2, 4], [2, 4], [2, 1], [3, 0], [2, -1], [1, 0]]
    last = [[2, -4], [-2, -4], [-2, 1], [-1, 0], [-2, -1], [-3, 0]]
    rows = frame([*first, *last], [1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4])
    got = one(engine, SCORE, rows)["silhouette"]
    assert got == pytest.approx(0.3974115380646308, abs=1e-14)


def test_the_example_of_pyspark(engine: Engine) -> None:
    given_points = [[0, 0.5], [0.5, 0], [1, 1], [10, 11], [10.5, 11.5], [8, 6]]
    rows = frame(given_points, [0, 0, 0, 1, 1, 1])
    got = one(engine, SCORE, rows, distance="sqeuclidean")["silhouette"]
    assert got == pytest.approx(0.9079633854, abs=5e-11)


@pytest.mark.parametrize("distance", DISTANCES)
def test_digits_as_scikit_learn(engine: Engine, distance: str) -> None:
    digits = load_digits()
    some = slice(None) if distance in ("euclidean", "sqeuclidean", "cosine") else slice(0, 400)
    x, clusters = digits.data[some], digits.target[some]
    more = {"p": 3} if distance == "minkowski" else {}
    wanted = sklearn_samples(x, clusters, metric=distance, **more)
    rows = call(engine, SAMPLES, frame(x.tolist(), clusters.tolist()), distance=distance, **more)
    got = np.array([row["silhouette"] for row in rows])
    assert np.abs(got - wanted).max() < 1e-9


# The definition ------------------------------------------------------------------------------


NUMBERS = (quarter, decimal, digit)
N_CLEAR = 9


@cache
def random_case(
    distance: str, weighted: bool, seed: int
) -> tuple[list[Silhouettes], pl.DataFrame, Any]:
    """Sets of points, their frame, and the options; all scores of N_CLEAR sets can be compared."""
    case = DISTANCES.index(distance) + weighted
    dims, noise = 1 + case % 4, NOISE[case % 4]
    measure = measure_of(distance, dims, weighted=weighted)
    found, start = [], 0

    def is_clear(rows: Rows) -> bool:
        part = Silhouettes(*zip(*rows, strict=True), measure, **noise)
        return part.is_clustering and not is_any_delicate(part) and not is_opposed(part)

    drawn = (seed, distance, weighted)
    sets = clear_and_other_sets(drawn, N_CLEAR, 6, dims, *NUMBERS, is_clear=is_clear)
    for rows in sets:
        ids = range(start, start + len(rows))
        found.append(Silhouettes(*zip(*rows, strict=True), measure, **noise, ids=ids))
        start += len(rows)
    arguments = arguments_of(measure)
    del arguments["center"]
    return found, frame_of(sets).with_row_index("nr"), arguments | noise


# chebyshev takes no weights; for it the second case is another way with noise
of_random_case = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def is_delicate(row: Row) -> bool:
    """Whether a silhouette is rounding over rounding."""
    return max(row["a"], row["b"] or 0.0) < 1e-6


def is_any_delicate(part: Silhouettes) -> bool:
    return any(is_delicate(row) for row in part.rows)


@pytest.mark.parametrize("distance", DISTANCES)
@of_random_case
@SEEDS
@SEED
def test_equals_the_oracle(engine: Engine, distance: str, weighted: bool, seed: int) -> None:
    """Many sets of points in one call, with missing vectors and clusters."""
    parts, rows, how = random_case(distance, weighted, seed)
    got = {
        function: call(engine, function, rows, partition_by="run", **how)
        for function in (CLUSTERS, SCORE)
    }
    got[SAMPLES] = call(engine, SAMPLES, rows, partition_by="run", id="nr", **how)
    if not weighted:
        unnamed = call(engine, SAMPLES, rows, partition_by="run", **how)
        assert_points(unnamed, got[SAMPLES])
    compared = 0
    for run, part in enumerate(parts):
        mine = {
            name: [dict(list(row.items())[1:]) for row in found if row["run"] == run]
            for name, found in got.items()
        }
        check_samples(mine[SAMPLES], part)
        if is_any_delicate(part):
            continue
        compared += part.is_clustering
        assert_points(mine[CLUSTERS], part.clusters(), tolerance=1e-9, floor=1e-9)
        wanted = [part.score()] if part.n else []
        assert_points(mine[SCORE], wanted, tolerance=1e-9, floor=1e-9)
    assert compared >= N_CLEAR


def check_samples(got: list[Row], part: Silhouettes) -> None:
    for row, wanted, i in zip(got, part.samples(), part.in_order(), strict=True):
        without = {"neighbor"} if part.is_tied(i) else set()
        if is_delicate(wanted):
            without.add("silhouette")
        assert_points([row], [wanted], tolerance=1e-9, floor=1e-9, without=without)


@pytest.mark.parametrize("distance", DISTANCES)
@of_random_case
@SEEDS
@SEED
def test_simplified_equals_the_oracle(
    engine: Engine, distance: str, weighted: bool, seed: int
) -> None:
    parts, rows, how = random_case(distance, weighted, seed)
    got = call(engine, SCORE, rows, partition_by="run", method="simplified", **how)
    compared = 0
    for run, part in enumerate(parts):
        if not part.n or is_any_delicate(part) or is_opposed(part):
            continue
        compared += part.is_clustering
        mine = [dict(list(row.items())[1:]) for row in got if row["run"] == run]
        assert_points(mine, [part.simplified()], tolerance=1e-9, floor=1e-9)
    assert compared >= N_CLEAR


def is_opposed(part: Silhouettes) -> bool:
    """Whether rounding decides where a centroid is, or whether a point is on it.

    The centroid of one point is exactly that point, unless vectors are made units.
    """
    cosine = part.measure.distance == "cosine"
    if cosine:
        units = [part.measure.middle(part.x[places]) for places in part.members.values()]
        if min(float(np.linalg.norm(u)) for u in units) < 1e-6:
            return True
    groups = [part.x[places] for places in part.members.values() if cosine or len(places) > 1]
    if not groups:
        return False
    apart = part.measure.between(part.x, np.array([part.measure.centroid(x) for x in groups]))
    return bool(np.any(apart < 1e-6))


@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "cosine"])
@SEEDS
@SEED
def test_a_shift_changes_nothing(engine: Engine, distance: str, seed: int) -> None:
    sets = random_sets((seed, distance), 8, 2, quarter)
    moved = [
        frame_of([[(None if v is None else [x + 1e8 for x in v], c) for v, c in rows]])
        for rows in sets
    ]
    several = call_by_case(engine, SAMPLES, moved, distance=distance, p=3)
    for rows, found in zip(sets, several, strict=True):
        part = Silhouettes(*zip(*rows, strict=True), Measure(distance, 3))
        wanted = part.samples()
        for mine, theirs, i in zip(found, wanted, part.in_order(), strict=True):
            without = {"id", "neighbor"} if part.is_tied(i) else {"id"}
            if is_delicate(theirs):
                without.add("silhouette")
            assert_points([mine], [theirs], tolerance=1e-6, floor=1e-6, without=without)


@pytest.mark.parametrize(
    ("p", "more"),
    [
        *((1, {}), (1, {"method": "bounds"})),
        *((2, {"method": "simplified"}), (2, {"tolerance": 0.2})),
        *(
            pytest.param(p, more, marks=pytest.mark.wide)
            for p, more in (
                *((2, {}), (2, {"method": "bounds"})),
                *((1, {"method": "simplified"}), (1, {"tolerance": 0.2})),
            )
        ),
    ],
)
def test_minkowski_of_orders_1_and_2(engine: Engine, p: int, more: dict[str, Any]) -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]
    distance = {1: "cityblock", 2: "Euclidean"}[p]
    how: dict[str, Any] = more | {"weights": [1, 3]}
    wanted = one(engine, SCORE, frame_of([rows]), distance=distance, **how)
    got = one(engine, SCORE, frame_of([rows]), distance="minkowski", p=p, **how)
    assert_points([got], [wanted])


@cache
def many_partitions(distance: str) -> tuple[pl.DataFrame, list[Row]]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1200, 3)).round(3)
    runs, clusters = rng.integers(0, 60, 1200), rng.integers(0, 5, 1200)
    wanted = []
    for run in range(60):
        mine = runs == run
        part = Silhouettes(x[mine].tolist(), clusters[mine].tolist(), Measure(distance))
        wanted.append({"run": run} | part.score())
    return frame(x.tolist(), clusters.tolist(), run=runs), wanted


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev"])
def test_many_clusters_and_many_partitions(engine: Engine, distance: str) -> None:
    """Many small clusters are computed in another way than few large ones."""
    rows, wanted = many_partitions(distance)
    got = call(engine, SCORE, rows, partition_by="run", distance=distance)
    assert_points(got, wanted, tolerance=1e-9, floor=1e-9)


# Bounds, tolerance and samples ---------------------------------------------------------------


def spread_points(kind: str, n: int, dims: int, k: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, k, n)
    middles = rng.normal(size=(k, dims)) * 2
    x = (
        middles[clusters]
        + {
            "normal": lambda: rng.normal(size=(n, dims)),
            "heavy tails": lambda: rng.standard_cauchy(size=(n, dims)),
            "duplicates": lambda: rng.integers(0, 2, size=(n, dims)).astype(float),
            "correlated": lambda: rng.normal(size=(n, 1)) * np.arange(1, dims + 1),
        }[kind]()
    )
    return x, clusters


KINDS = ["normal", "heavy tails", "duplicates", "correlated"]


@pytest.mark.parametrize("distance", DISTANCES)
def test_bounds_hold(engine: Engine, distance: str) -> None:
    cases = []
    for kind in KINDS:
        for seed, shift in ((1, 0.0), (2, 1e6)):
            x, clusters = spread_points(kind, 80, 3, 4, seed)
            cases.append(frame((x + shift).tolist(), clusters.tolist()))
    several = call_by_case(engine, SCORE, cases, distance=distance, p=3)
    bounds = call_by_case(engine, SCORE, cases, distance=distance, p=3, method="bounds")
    slack = 1e-9 if distance in ("sqeuclidean", "cosine") else 0.0
    for [exact], [got] in zip(several, bounds, strict=True):
        lower, upper = the(got, "silhouette_lower", "silhouette_upper")
        assert -1 <= lower <= exact["silhouette"] + slack
        assert exact["silhouette"] - slack <= upper <= 1
        assert the(got, "silhouette", "silhouette_macro", "silhouette_max") == [None] * 3
        assert got["n_evaluated"] == 0
        if distance in ("sqeuclidean", "cosine"):
            assert upper - lower <= 1e-9


EXPONENTS = [-480, -260, -170, 170, 260, 480]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "minkowski"])
@pytest.mark.parametrize(
    "exponents",
    [EXPONENTS, *(pytest.param([e], marks=pytest.mark.wide) for e in EXPONENTS)],
    ids=lambda exponents: f"{len(exponents)} from {exponents[0]}",
)
def test_a_scale_changes_nothing(engine: Engine, distance: str, exponents: list[int]) -> None:
    """Not even where the squares of squared distances overflow, or are 0."""
    pairs = [(exponent, kind) for exponent in exponents for kind in ("normal", "correlated")]
    points = {kind: spread_points(kind, 60, 3, 4, 3) for kind in ("normal", "correlated")}
    plain = [frame(x.tolist(), clusters.tolist()) for x, clusters in points.values()]
    scaled = [
        frame((points[kind][0] * 2.0**exponent).tolist(), points[kind][1].tolist())
        for exponent, kind in pairs
    ]
    wanted = dict(zip(points, call_by_case(engine, SAMPLES, plain, distance=distance), strict=True))
    samples = call_by_case(engine, SAMPLES, scaled, distance=distance)
    bounds = call_by_case(engine, SCORE, scaled, distance=distance, method="bounds")
    for (exponent, kind), got, [row] in zip(pairs, samples, bounds, strict=True):
        theirs, what = wanted[kind], (exponent, kind)
        assert [row["neighbor"] for row in got] == [row["neighbor"] for row in theirs], what
        silhouettes = [[row["silhouette"] for row in of] for of in (got, theirs)]
        assert silhouettes[0] == pytest.approx(silhouettes[1], rel=0, abs=1e-9), what
        mean = sum(silhouettes[1]) / len(theirs)
        assert row["silhouette_lower"] - 1e-9 <= mean <= row["silhouette_upper"] + 1e-9, what


@pytest.mark.parametrize("method", ["exact", "bounds"])
def test_squares_that_overflow(side: Engine, method: str) -> None:
    x, clusters = spread_points("normal", 60, 3, 4, 3)
    rows = frame((x * 2.0**520).tolist(), clusters.tolist())
    # DuckDB 1 has words of its own, from its variance.
    words = "(distances overflow; scale the coordinates down|VARPOP is out of range)"
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        one(side, SCORE, rows, method=method)


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev", "minkowski"])
@SEEDS
@SEED
def test_bounds_hold_for_any_points(engine: Engine, distance: str, seed: int) -> None:
    parts, rows, how = random_case(distance, seed % 2 == 0, seed)
    got = call(engine, SCORE, rows, partition_by="run", method="bounds", **how)
    for row in got:
        exact = parts[row["run"]].score()["silhouette"]
        if exact is None:
            assert the(row, "silhouette_lower", "silhouette_upper") == [None, None]
        else:
            assert row["silhouette_lower"] <= exact + 1e-14
            assert row["silhouette_upper"] >= exact - 1e-14


def test_bounds_are_narrow(engine: Engine) -> None:
    """Within 0.05 of each other for Gaussian clusters in 16 dimensions."""
    x, clusters = spread_points("normal", 400, 16, 4, 5)
    got = one(engine, SCORE, frame(x.tolist(), clusters.tolist()), method="bounds")
    assert 0 < got["silhouette_upper"] - got["silhouette_lower"] < 0.05


@cache
def of_each_kind(engine: Engine, **how: Any) -> list[list[Row]]:
    points = [spread_points(kind, 90, 4, 4, 3) for kind in KINDS]
    cases = [frame(x.tolist(), clusters.tolist()) for x, clusters in points]
    return call_by_case(engine, SCORE, cases, **how)


@pytest.mark.parametrize("tolerance", [1e-9, 0.003, 0.02, 0.1, 2])
def test_tolerance(engine: Engine, tolerance: float) -> None:
    for kind, [exact], [widest], [got], [more] in zip(
        KINDS,
        of_each_kind(engine),
        of_each_kind(engine, method="bounds"),
        of_each_kind(engine, tolerance=tolerance),
        of_each_kind(engine, tolerance=tolerance * 2),
        strict=True,
    ):
        lower, upper = the(got, "silhouette_lower", "silhouette_upper")
        assert lower - 1e-15 <= exact["silhouette"] <= upper + 1e-15, kind
        assert upper - lower <= tolerance * (1 + 1e-12), kind
        assert got["silhouette"] == pytest.approx((lower + upper) / 2, abs=1e-12), kind
        whole = widest["silhouette_upper"] - widest["silhouette_lower"]
        assert (got["n_evaluated"] == 0) == (whole <= tolerance), kind
        if tolerance < 1e-8:
            assert_points([got], [exact | {"n_evaluated": got["n_evaluated"]}], tolerance=1e-9)
        # evaluating no more than these, another tolerance is met by fewer
        assert more["n_evaluated"] <= got["n_evaluated"], kind


@pytest.mark.parametrize(
    "steps",
    [
        [1, 2, 5, 10, 20, 35, 50, 70, 95, 125, 160, 199],
        pytest.param(range(1, 200), marks=pytest.mark.wide),
    ],
    ids=["12", "199"],
)
def test_tolerance_evaluates_the_fewest_points(engine: Engine, steps: list[int]) -> None:
    """A greater tolerance is a greater width, never above it, from no more points."""
    points = [spread_points("normal", 60, 3, 3, seed) for seed in (9, 10, 11, 12, 13, 14)]
    cases = [frame(x.tolist(), clusters.tolist()) for x, clusters in points]
    of_steps = [call_by_case(engine, SCORE, cases, tolerance=step / 1000) for step in steps]
    widest = [row for [row] in call_by_case(engine, SCORE, cases, method="bounds")]
    for case in range(len(cases)):
        rows = [several[case][0] for several in of_steps]
        widths = [row["silhouette_upper"] - row["silhouette_lower"] for row in rows]
        assert all(x <= step / 1000 for x, step in zip(widths, steps, strict=True))
        assert all(x <= y + 1e-15 for x, y in pairwise(widths))
        evaluated = [row["n_evaluated"] for row in rows]
        assert evaluated[0] > 30
        assert evaluated == sorted(evaluated, reverse=True)
        whole = widest[case]["silhouette_upper"] - widest[case]["silhouette_lower"]
        assert [n == 0 for n in evaluated] == [whole <= step / 1000 for step in steps]


def test_tolerance_of_other_distances(engine: Engine) -> None:
    lines = frame(LINE, LINE_CLUSTERS)
    for distance in ("cityblock", "chebyshev", "sqeuclidean", "cosine"):
        wanted = one(engine, SCORE, lines, distance=distance)
        got = one(engine, SCORE, lines, distance=distance, tolerance=1.5)
        assert got == wanted


SIZES, STATES = (1, 7, 30, 69, 70, 500), (0, 1, 42, 2147483647)


def samples() -> list[Any]:
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
        frames.append(frame(x.tolist(), clusters.tolist(), name=names))
        ordered = names if column else None
        parts.append(Silhouettes(x.tolist(), clusters.tolist(), Measure(distance), ids=ordered))
    runs = [i for i, rows in enumerate(frames) for _ in range(len(rows))]
    return pl.concat(frames).with_columns(run=pl.Series(runs)), parts


@pytest.mark.parametrize(("distance", "size", "seed", "column"), samples())
def test_the_sample_is_that_of_the_oracle(
    engine: Engine, distance: str, size: int, seed: int, column: str | None
) -> None:
    rows, parts = sampled(distance, column)
    how = {"method": "sample", "sample_size": size, "random_state": seed, "confidence": 0.9}
    named = {} if column is None else {"id": column}
    got = call(engine, SCORE, rows, partition_by="run", distance=distance, **named, **how)
    wanted = [{"run": run} | part.sample(size, 0.9, seed) for run, part in enumerate(parts)]
    assert_points(got, wanted, tolerance=1e-9, floor=1e-9)


@pytest.mark.parametrize("missing", range(9))
def test_a_point_without_an_id_is_the_last_of_a_sample(engine: Engine, missing: int) -> None:
    x, clusters = spread_points("normal", 9, 2, 3, 5)
    ids = random.Random(2).sample(range(100), 9)
    greatest, null = ([*ids[:missing], i, *ids[missing + 1 :]] for i in (100, None))
    rows = frame(x.tolist(), clusters.tolist())
    how: dict[str, Any] = {"method": "sample", "sample_size": 4, "id": "name"}
    found, wanted = (
        one(engine, SCORE, rows.with_columns(name=pl.Series(key, dtype=pl.Int64)), **how)
        for key in (null, greatest)
    )
    assert_points([found], [wanted])


def test_a_sample_of_each_partition(engine: Engine) -> None:
    x, clusters = spread_points("normal", 90, 2, 3, 6)
    runs = [i % 3 for i in range(90)]
    rows = frame(x.tolist(), clusters.tolist(), run=runs)
    got = call(engine, SCORE, rows, partition_by="run", method="sample", sample_size=12)
    for run in range(3):
        alone = rows.filter(pl.col("run") == run)
        wanted = {"run": run} | one(engine, SCORE, alone, method="sample", sample_size=12)
        assert_points([got[run]], [wanted])


# Errors --------------------------------------------------------------------------------------

FOUR = "'exact', 'simplified', 'bounds', 'sample'"
SEED = "random_state: expected a whole number >= 0 and < 2147483648, got"
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown method": ({"method": "x"}, f"method: expected one of {FOUR}, got 'x'"),
    "no method": ({"method": None}, f"method: expected one of {FOUR}, got NULL"),
    "tolerance 0": ({"tolerance": 0}, "tolerance: expected a number > 0, got 0"),
    "tolerance below 0": ({"tolerance": -1}, "tolerance: expected a number > 0, got -1"),
    "tolerance of bounds": (
        {"tolerance": 0.1, "method": "bounds"},
        "tolerance: goes with method 'exact', got method 'bounds'",
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
        "sample_size: goes with method 'sample', got method 'exact'",
    ),
    "confidence 1": (
        {"confidence": 1},
        "confidence: expected a number between 0 and 1, got 1",
    ),
    "confidence 0": ({"confidence": 0}, "confidence: expected a number between 0 and 1, got 0"),
    "random_state -1": ({"random_state": -1}, f"{SEED} -1"),
    "random_state 1.5": ({"random_state": 1.5}, f"{SEED} 1.5"),
    "random_state too large": ({"random_state": 2147483648}, f"{SEED} 2147483648"),
}


@pytest.mark.parametrize(
    ("option", "empty"),
    crossed(OPTIONS, [False, True], always=["unknown method", "tolerance 0", "sample_size 0"]),
)
def test_a_bad_option(side: Engine, option: str, empty: bool) -> None:
    arguments, words = OPTIONS[option]
    lines = frame(LINE, LINE_CLUSTERS)
    with fails(side, words):
        call(side, SCORE, lines.clear() if empty else lines, **arguments)


COMMON: dict[str, tuple[dict[str, Any], str]] = {
    "distance": ({"distance": "x"}, "distance: expected one of"),
    "p": ({"distance": "minkowski", "p": 0.5}, "p: expected a number >= 1, got 0.5"),
    "weights": ({"weights": [-1]}, "weights: expected a number > 0 for each dimension, got [-1]"),
    "weights of chebyshev": ({"distance": "chebyshev", "weights": [1]}, "weights: chebyshev takes"),
    "too many weights": ({"weights": [1, 1]}, "weights: expected one for each of 1 dimensions"),
    "noise": ({"noise": 1.5}, "noise: expected a value of the type of cluster (BIGINT), got"),
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
        call(side, function, frame(LINE, LINE_CLUSTERS), **arguments)


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


@pytest.mark.parametrize(("fault", "way"), crossed(FAULTS, WAYS, always=["NaN", "shorter"]))
def test_bad_points(side: Engine, fault: str, way: tuple[str, str]) -> None:
    check_bad_points(side, fault, *way)


@pytest.mark.wide
@pytest.mark.parametrize("way", OTHER_WAYS)
@pytest.mark.parametrize("fault", FAULTS)
def test_bad_points_of_every_function(side: Engine, fault: str, way: tuple[str, str]) -> None:
    check_bad_points(side, fault, *way)


SAMPLED = {"method": "sample", "sample_size": 3}


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([7, 8, 7, 1, 8], "got 2 rows with 7"),
        ([None, 2, None, 3, 4], "got 2 rows with NULL"),
        (["b", "b", "c", "d", "b"], "got 3 rows with b"),
    ],
)
def test_an_id_that_is_there_twice(side: Engine, ids: list[Any], words: str) -> None:
    rows = frame(LINE, LINE_CLUSTERS, name=ids)
    for function, more in ((SAMPLES, {}), (SCORE, SAMPLED)):
        with fails(side, f"id: expected one row for each id of a partition, {words}"):
            call(side, function, rows, id="name", **more)
    assert one(side, SCORE, rows, id="name")["n"] == 5


def test_an_id_may_be_in_several_partitions_and_dropped_rows(side: Engine) -> None:
    rows = frame([*LINE, *LINE, None], [*LINE_CLUSTERS, *LINE_CLUSTERS, 1])
    rows = rows.with_columns(
        run=pl.Series([0] * 5 + [1] * 6), name=pl.Series([*range(5)] * 2 + [0])
    )
    got = call(side, SAMPLES, rows, id="name", partition_by="run")
    assert [row["id"] for row in got] == [*range(5), *range(5)]
    assert len({math.fsum([row["a"], row["b"]]) for row in got}) == 5


# The 50,000 points of the benchmarks ---------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["euclidean", "cityblock"])
def test_many_points_as_scikit_learn(engine: Engine, distance: str) -> None:
    x, clusters = spread_points("normal", 10000, 16, 20, 1)
    wanted = sklearn_samples(x, clusters, metric=distance)
    rows = call(engine, SAMPLES, frame(x.tolist(), clusters.tolist()), distance=distance)
    got = np.array([row["silhouette"] for row in rows])
    assert np.abs(got - wanted).max() < 1e-9


# Numbers of any size, and many of them -------------------------------------------------------


def silhouettes_by_definition(x: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Cityblock silhouettes from all pairs."""
    d = np.abs(x[:, None] - x).sum(axis=2)
    sizes = np.bincount(cluster)
    means = np.column_stack([d[:, cluster == c].sum(axis=1) for c in range(len(sizes))])
    rows = np.arange(len(x))
    a = means[rows, cluster] / (sizes[cluster] - 1)
    means = means / sizes
    means[rows, cluster] = np.inf
    b = means.min(axis=1)
    return np.asarray((b - a) / np.maximum(a, b))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("tail", ["powers", "one far away", "many far away"])
def test_cityblock_with_heavy_tails(tail: str, sign: float) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(300, 3))
    if tail == "powers":
        x = 10.0 ** random.uniform(-60, 0, size=x.shape)
    elif tail == "one far away":
        x[7] = 1e55
    else:
        x = np.exp(20 * x)
    cluster = np.arange(300) % 3
    frame = pl.DataFrame(sign * x, schema=["u", "v", "w"]).with_columns(cluster=pl.Series(cluster))
    found = ce.silhouette_samples(frame, ["u", "v", "w"], "cluster", distance="cityblock")
    expected = silhouettes_by_definition(sign * x, cluster)
    np.testing.assert_allclose(found["silhouette"].to_numpy(), expected, atol=1e-9)


@pytest.mark.parametrize("distance", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize(("dims", "k"), [(3, 1100), (40, 500), (500, 20), (2000, 150)])
def test_squares_with_many_clusters_or_coordinates(
    engine: Engine, distance: str, dims: int, k: int
) -> None:
    """Products of matrices are taken in pieces, and SQL's lists of distances have an end."""
    random = np.random.default_rng(dims)
    n = 2 * k + 300
    cluster = np.arange(n) % k
    x = random.normal(size=(k, dims))[cluster] + random.normal(size=(n, dims))
    vector = pl.Series(x, dtype=pl.Array(pl.Float64, dims))
    rows = pl.DataFrame({"vector": vector, "cluster": cluster})
    found = call(engine, SAMPLES, rows, distance=distance)
    expected = sklearn_samples(x, cluster, metric=distance)
    np.testing.assert_allclose([row["silhouette"] for row in found], expected, atol=1e-9)
    means = np.stack([cdist(x[:20], x[cluster == y], distance).mean(axis=1) for y in range(k)])
    means[cluster[:20], np.arange(20)] = np.inf
    assert [row["neighbor"] for row in found[:20]] == means.argmin(axis=0).tolist()


def test_cityblock_of_many_coordinates_that_nearly_tie() -> None:
    # Means of 1638.40 and 1638.44: single precision alone would not tell them apart.
    dims = 4096
    near, far = np.zeros((5, dims)), np.zeros((100, dims))
    near[:2] = 1
    far[:, :1638] = 1
    far[:44, 1638] = 1
    first = np.zeros((2, dims))
    first[1, dims - 1638 :] = 1
    x = np.vstack([first, near, far])
    cluster = np.repeat([0, 1, 2], [2, 5, 100])
    frame = pl.DataFrame(
        {"vector": pl.Series(x, dtype=pl.Array(pl.Float64, dims)), "cluster": cluster}
    )
    found = ce.silhouette_samples(frame, "vector", "cluster", distance="cityblock")
    assert found["neighbor"][0] == 1
    assert found["b"][0] == pytest.approx(1638.40, abs=1e-9)


@pytest.mark.parametrize("dims", [3, 40])
def test_vectors_too_short_for_a_direction(engine: Engine, dims: int) -> None:
    """Their squares underflow: they are zero vectors, in every step and on every engine."""
    random = np.random.default_rng(5)
    x = random.normal(size=(60, dims))
    zeros = x.copy()
    x[::2] *= 1e-200
    zeros[::2] = 0.0
    cluster = pl.Series(np.arange(60) % 3)
    tiny, zero = (
        pl.DataFrame({"vector": list(map(list, rows)), "cluster": cluster}) for rows in (x, zeros)
    )
    for function in ("silhouette_score", "internal_report", "dunn_index"):
        found, expected = call_by_case(engine, function, [tiny, zero], distance="cosine")
        assert_points(found, expected, tolerance=1e-9, what=function)
