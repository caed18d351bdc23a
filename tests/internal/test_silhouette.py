"""Silhouettes: degenerate rows, published numbers, the definition, bounds, samples and errors."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import silhouette_samples as sklearn_samples

import polars_clustereval as ce
from tests.internal.test_points_errors import FAULTS, fails, vectors
from tests.internal.test_points_properties import (
    FEW,
    FLOATS,
    NOISE,
    QUARTERS,
    Rows,
    arguments_of,
    frame_of,
    measures,
    points,
)
from tests.support import silhouette_oracle as oracle
from tests.support.point_engines import assert_points, call, one
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.silhouette_oracle import SCORES, Silhouettes

if TYPE_CHECKING:
    from engines import Engine, Row

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


def measure_of(distance: str, p: float = 2) -> Measure:
    return Measure(distance, p)


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
    found = Silhouettes(x.tolist(), clusters, measure_of(distance, 3))
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
        assert_points(call(engine, CLUSTERS, lines, distance=distance), CLUSTERS_OF_LINE)
        assert_points(call(engine, SCORE, lines, distance=distance), [SCORE_OF_LINE])
    got = one(engine, SCORE, lines, method="simplified")
    assert_points([got], [oracle_of(lines).simplified()])


def oracle_of(given_frame: pl.DataFrame, measure: Measure | None = None) -> Silhouettes:
    rows = given_frame.select("vector", "cluster")
    return Silhouettes(rows["vector"].to_list(), rows["cluster"].to_list(), measure or Measure())


EMPTY_SCORE: Row = dict.fromkeys(SCORE_OF_LINE, 0) | dict.fromkeys(SCORES)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("more", [{}, {"method": "simplified"}, {"method": "bounds"}])
def test_no_rows(engine: Engine, distance: str, more: Any) -> None:
    nothing = frame([], [])
    dropped = frame([None, [1.0]], [1, None])
    for function in (SAMPLES, CLUSTERS):
        assert call(engine, function, nothing, distance=distance) == []
        assert call(engine, function, dropped, distance=distance) == []
    assert_points(call(engine, SCORE, nothing, distance=distance, **more), [EMPTY_SCORE])
    both = call(engine, SCORE, dropped, distance=distance, **more)
    assert_points(both, [EMPTY_SCORE | {"n_dropped": 2}])
    by = {"partition_by": "cluster"}
    assert call(engine, SCORE, nothing, distance=distance, **more, **by) == []


@pytest.mark.parametrize("distance", DISTANCES)
def test_one_cluster(engine: Engine, distance: str) -> None:
    alone = frame([[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]], [1, 1, 1])
    wanted = oracle_of(alone, measure_of(distance))
    got = call(engine, SAMPLES, alone, distance=distance)
    assert_points(got, wanted.samples(), tolerance=1e-9)
    assert the(got[0], "neighbor", "b", "silhouette") == [None, None, None]
    got = call(engine, CLUSTERS, alone, distance=distance)
    assert_points(got, wanted.clusters(), tolerance=1e-9)
    for more in ({}, {"method": "simplified"}, {"method": "bounds"}, {"tolerance": 0.1}):
        got = call(engine, SCORE, alone, distance=distance, **more)
        assert_points(got, [EMPTY_SCORE | {"n": 3, "n_clusters": 1}])


@pytest.mark.parametrize("distance", DISTANCES)
def test_all_singletons(engine: Engine, distance: str) -> None:
    apart = frame([[1.0, 2.0], [3.0, 4.0], [3.0, 9.0]], [1, 2, 3])
    got = call(engine, SAMPLES, apart, distance=distance)
    assert_points(got, oracle_of(apart, measure_of(distance)).samples(), tolerance=1e-9)
    assert [the(row, "a", "silhouette") for row in got] == [[0.0, None]] * 3
    for more in ({}, {"method": "sample", "sample_size": 2}, {"tolerance": 0.1}):
        got = call(engine, SCORE, apart, distance=distance, **more)
        assert_points(got, [EMPTY_SCORE | {"n": 3, "n_clusters": 3, "n_singletons": 3}])


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("value", [0.1, 3.0, 1e8 + 0.1, 0.0])
def test_all_points_equal(engine: Engine, distance: str, value: float) -> None:
    """a = b = 0, for means too: the mean of equal numbers is that number."""
    same = frame([[value, value]] * 7, [0, 0, 0, 1, 1, 1, 1])
    for row in call(engine, SAMPLES, same, distance=distance):
        if distance == "cosine" and value == 0:  # zero vectors are 1 apart
            assert the(row, "a", "b", "silhouette") == [1.0, 1.0, 0.0]
        else:
            assert the(row, "a", "b", "silhouette") == [0.0, 0.0, 0.0]
    for method in ("exact", "bounds"):
        got = one(engine, SCORE, same, distance=distance, method=method)
        assert the(got, "silhouette_lower", "silhouette_upper") == [0.0, 0.0]


def test_duplicates_make_a_cluster(engine: Engine) -> None:
    """a = 0 < b is 1."""
    twice = frame([[0.3, 0.1]] * 3 + [[5.0, 5.0], [5.0, 7.0]], [0, 0, 0, 1, 1])
    for distance in DISTANCES:
        got = call(engine, SAMPLES, twice, distance=distance)
        assert [row["silhouette"] for row in got[:3]] == [1.0, 1.0, 1.0]


def test_zero_vectors(engine: Engine) -> None:
    """At a cosine distance of 1 from everything, other zero vectors included."""
    rows = frame([[0, 0], [0, 0], [1, 0], [1, 1], [0, 0], [0, 2]], [0, 0, 0, 1, 1, 1])
    wanted = oracle_of(rows, Measure("cosine"))
    got = call(engine, SAMPLES, rows, distance="cosine")
    assert_points(got, wanted.samples(), tolerance=1e-12)
    assert the(got[0], "a", "b", "silhouette") == [1.0, 1.0, 0.0]
    # Rounding must not tell which of the others is the neighbour: it is the lowest.
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


@pytest.mark.parametrize(
    ("labeling", "micro", "macro", "squared", "simple"),
    [
        ("kmeans", 0.552819, 0.555522, 0.735660, 0.666386),
        ("agglomerative", 0.554324, 0.560392, 0.735125, 0.667517),
    ],
)
def test_iris(
    engine: Engine, labeling: str, micro: float, macro: float, squared: float, simple: float
) -> None:
    """Printed in Reyes-Figueroa (2024), Métricas para evaluar algoritmos de agrupamiento."""
    labels = pl.read_csv(EXAMPLES / "iris_labelings.csv")[labeling]
    flowers = frame(load_iris().data.tolist(), labels.to_list())
    row = one(engine, SCORE, flowers)
    assert row["silhouette"] == pytest.approx(micro, abs=5e-7)
    assert row["silhouette_macro"] == pytest.approx(macro, abs=5e-7)
    assert row["n_evaluated"] == 150
    got = one(engine, SCORE, flowers, distance="sqeuclidean")["silhouette"]
    assert got == pytest.approx(squared, abs=5e-7)
    got = one(engine, SCORE, flowers, method="simplified")["silhouette"]
    assert got == pytest.approx(simple, abs=5e-7)


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


def draw_case(data: st.DataObject, distance: str) -> tuple[list[Silhouettes], pl.DataFrame, Any]:
    dims = data.draw(st.integers(1, 4))
    measure = data.draw(measures(distance, dims))._replace(center="mean")
    noise = data.draw(st.sampled_from(NOISE))
    numbers = data.draw(st.sampled_from([QUARTERS, FLOATS]))
    several = data.draw(st.lists(points(dims, numbers, nulls=True), min_size=1, max_size=4))
    found, start = [], 0
    for rows in several:
        ids = range(start, start + len(rows))
        found.append(Silhouettes(*zip(*rows, strict=True), measure, **noise, ids=ids))
        start += len(rows)
    arguments = arguments_of(measure)
    del arguments["center"]
    return found, frame_of(several).with_row_index("nr"), arguments | noise


def is_delicate(row: Row) -> bool:
    """Whether a silhouette is rounding over rounding."""
    return max(row["a"], row["b"] or 0.0) < 1e-6


@pytest.mark.parametrize("distance", DISTANCES)
@FEW
@given(data=st.data())
def test_equals_the_oracle(engine: Engine, distance: str, data: st.DataObject) -> None:
    """Several sets of points in one call, with any p, weights and way with noise."""
    parts, rows, how = draw_case(data, distance)
    got = {
        function: call(engine, function, rows, partition_by="run", **how)
        for function in (CLUSTERS, SCORE)
    }
    got[SAMPLES] = call(engine, SAMPLES, rows, partition_by="run", id="nr", **how)
    unnamed = call(engine, SAMPLES, rows, partition_by="run", **how)
    assert_points(unnamed, got[SAMPLES])
    for run, part in enumerate(parts):
        mine = {
            name: [dict(list(row.items())[1:]) for row in found if row["run"] == run]
            for name, found in got.items()
        }
        check_samples(mine[SAMPLES], part)
        if any(is_delicate(row) for row in part.rows):
            continue
        assert_points(mine[CLUSTERS], part.clusters(), tolerance=1e-9, floor=1e-9)
        wanted = [part.score()] if part.n else []
        assert_points(mine[SCORE], wanted, tolerance=1e-9, floor=1e-9)


def check_samples(got: list[Row], part: Silhouettes) -> None:
    for row, wanted, i in zip(got, part.samples(), part.in_order(), strict=True):
        without = {"neighbor"} if part.is_tied(i) else set()
        if is_delicate(wanted):
            without.add("silhouette")
        assert_points([row], [wanted], tolerance=1e-9, floor=1e-9, without=without)


@pytest.mark.parametrize("distance", DISTANCES)
@FEW
@given(data=st.data())
def test_simplified_equals_the_oracle(engine: Engine, distance: str, data: st.DataObject) -> None:
    parts, rows, how = draw_case(data, distance)
    got = call(engine, SCORE, rows, partition_by="run", method="simplified", **how)
    for run, part in enumerate(parts):
        if not part.n or any(is_delicate(row) for row in part.rows) or is_opposed(part):
            continue
        mine = [dict(list(row.items())[1:]) for row in got if row["run"] == run]
        assert_points(mine, [part.simplified()], tolerance=1e-9, floor=1e-9)


def is_opposed(part: Silhouettes) -> bool:
    """Whether some centroid is a matter of rounding: distances to it are no more than that."""
    centres = np.array([part.measure.centre(part.x[places]) for places in part.members.values()])
    if part.measure.distance == "cosine":
        units = [part.measure.middle(part.x[places]) for places in part.members.values()]
        if min(float(np.linalg.norm(u)) for u in units) < 1e-6:
            return True
    apart = part.measure.between(part.x, centres)
    return bool(np.any((apart < 1e-6) & (apart.min() < 1e-6)))


@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "cosine"])
@FEW
@given(data=st.data())
def test_a_shift_changes_nothing(engine: Engine, distance: str, data: st.DataObject) -> None:
    rows: Rows = data.draw(points(2))
    part = Silhouettes(*zip(*rows, strict=True), measure_of(distance, 3))
    moved: Rows = [(None if v is None else [x + 1e8 for x in v], c) for v, c in rows]
    how: dict[str, Any] = {"distance": distance, "p": 3}
    wanted, got = (call(engine, SAMPLES, frame_of([r]), **how) for r in (rows, moved))
    for mine, theirs, i in zip(got, wanted, part.in_order(), strict=True):
        without = {"neighbor"} if part.is_tied(i) else set()
        assert_points([mine], [theirs], tolerance=1e-6, floor=1e-6, without=without)


def test_minkowski_of_orders_1_and_2(engine: Engine) -> None:
    rows: Rows = [([float(i * i % 11), float(i % 7)], i % 3) for i in range(20)]
    for p, distance in ((1, "cityblock"), (2, "Euclidean")):
        for more in ({}, {"method": "bounds"}, {"method": "simplified"}, {"tolerance": 0.2}):
            how: dict[str, Any] = more | {"weights": [1, 3]}
            wanted = one(engine, SCORE, frame_of([rows]), distance=distance, **how)
            got = one(engine, SCORE, frame_of([rows]), distance="minkowski", p=p, **how)
            assert_points([got], [wanted])


def test_many_clusters_and_many_partitions(engine: Engine) -> None:
    """Many small clusters take another way than few large ones."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(1200, 3)).round(3)
    runs, clusters = rng.integers(0, 60, 1200), rng.integers(0, 5, 1200)
    for distance in ("euclidean", "cityblock", "chebyshev"):
        rows = frame(x.tolist(), clusters.tolist(), run=runs)
        got = call(engine, SCORE, rows, partition_by="run", distance=distance)
        for run in range(60):
            mine = runs == run
            part = Silhouettes(x[mine].tolist(), clusters[mine].tolist(), measure_of(distance))
            wanted = [{"run": run} | part.score()]
            assert_points(got[run : run + 1], wanted, tolerance=1e-9, floor=1e-9)


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_bounds_hold(engine: Engine, kind: str, distance: str) -> None:
    for seed, shift in ((1, 0.0), (2, 1e6)):
        x, clusters = spread_points(kind, 80, 3, 4, seed)
        rows = frame((x + shift).tolist(), clusters.tolist())
        exact = one(engine, SCORE, rows, distance=distance, p=3)
        got = one(engine, SCORE, rows, distance=distance, p=3, method="bounds")
        lower, upper = the(got, "silhouette_lower", "silhouette_upper")
        slack = 1e-9 if distance in ("sqeuclidean", "cosine") else 0.0
        assert -1 <= lower <= exact["silhouette"] + slack
        assert exact["silhouette"] - slack <= upper <= 1
        assert the(got, "silhouette", "silhouette_macro", "silhouette_max") == [None] * 3
        assert got["n_evaluated"] == 0
        if distance in ("sqeuclidean", "cosine"):
            assert upper - lower <= 1e-9


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("distance", [name for name in DISTANCES if name != "minkowski"])
@pytest.mark.parametrize("exponent", [-480, -260, -170, 170, 260, 480])
def test_a_scale_changes_nothing(engine: Engine, distance: str, exponent: int) -> None:
    """Not even where the squares of squared distances overflow, or are 0."""
    for kind in ("normal", "correlated"):
        x, clusters = spread_points(kind, 60, 3, 4, 3)
        rows, scaled = (frame(of.tolist(), clusters.tolist()) for of in (x, x * 2.0**exponent))
        wanted = call(engine, SAMPLES, rows, distance=distance)
        got = call(engine, SAMPLES, scaled, distance=distance)
        assert [row["neighbor"] for row in got] == [row["neighbor"] for row in wanted]
        silhouettes = [[row["silhouette"] for row in of] for of in (got, wanted)]
        assert silhouettes[0] == pytest.approx(silhouettes[1], rel=0, abs=1e-9)
        bounds = one(engine, SCORE, scaled, distance=distance, method="bounds")
        mean = sum(silhouettes[1]) / len(rows)
        assert bounds["silhouette_lower"] - 1e-9 <= mean <= bounds["silhouette_upper"] + 1e-9


@pytest.mark.parametrize("method", ["exact", "bounds"])
def test_squares_that_overflow(engine: Engine, method: str) -> None:
    x, clusters = spread_points("normal", 60, 3, 4, 3)
    rows = frame((x * 2.0**520).tolist(), clusters.tolist())
    # DuckDB 1 has words of its own, from its variance.
    words = "(distances overflow; scale the coordinates down|VARPOP is out of range)"
    with pytest.raises((ce.ClusterEvalError, duckdb.Error), match=words):
        one(engine, SCORE, rows, method=method)


@FEW
@given(data=st.data())
def test_bounds_hold_for_any_points(engine: Engine, data: st.DataObject) -> None:
    distance = data.draw(st.sampled_from(["euclidean", "cityblock", "chebyshev", "minkowski"]))
    parts, rows, how = draw_case(data, distance)
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tolerance", [1e-9, 0.003, 0.02, 0.1, 2])
def test_tolerance(engine: Engine, kind: str, tolerance: float) -> None:
    x, clusters = spread_points(kind, 90, 4, 4, 3)
    rows = frame(x.tolist(), clusters.tolist())
    exact = one(engine, SCORE, rows)
    widest = one(engine, SCORE, rows, method="bounds")
    got = one(engine, SCORE, rows, tolerance=tolerance)
    lower, upper = the(got, "silhouette_lower", "silhouette_upper")
    assert lower - 1e-15 <= exact["silhouette"] <= upper + 1e-15
    assert upper - lower <= tolerance * (1 + 1e-12)
    assert got["silhouette"] == pytest.approx((lower + upper) / 2, abs=1e-12)
    whole = widest["silhouette_upper"] - widest["silhouette_lower"]
    assert (got["n_evaluated"] == 0) == (whole <= tolerance)
    if tolerance < 1e-8:
        assert_points([got], [exact | {"n_evaluated": got["n_evaluated"]}], tolerance=1e-9)
    # evaluating no more than these, another tolerance is met by fewer
    more = one(engine, SCORE, rows, tolerance=tolerance * 2)
    assert more["n_evaluated"] <= got["n_evaluated"]


def test_tolerance_evaluates_the_fewest_points(engine: Engine) -> None:
    """Another tolerance is another width, never above it."""
    x, clusters = spread_points("normal", 60, 3, 3, 9)
    rows = frame(x.tolist(), clusters.tolist())
    widths = []
    reached = 0
    for step in range(1, 200):
        row = one(engine, SCORE, rows, tolerance=step / 1000)
        widths.append(row["silhouette_upper"] - row["silhouette_lower"])
        assert widths[-1] <= step / 1000
        reached = max(reached, row["n_evaluated"])
        if row["n_evaluated"] == 0:
            break
    assert reached > 30
    assert all(x <= y + 1e-15 for x, y in pairwise(widths))


def test_tolerance_of_other_distances(engine: Engine) -> None:
    lines = frame(LINE, LINE_CLUSTERS)
    for distance in ("cityblock", "chebyshev", "sqeuclidean", "cosine"):
        wanted = one(engine, SCORE, lines, distance=distance)
        got = one(engine, SCORE, lines, distance=distance, tolerance=1.5)
        assert got == wanted


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("seed", [0, 1, 42, 2147483647])
def test_the_sample_is_that_of_the_oracle(engine: Engine, distance: str, seed: int) -> None:
    x, clusters = spread_points("normal", 70, 2, 3, 4)
    ids = list(range(1000, 1070))
    random.Random(1).shuffle(ids)
    rows = frame(x.tolist(), clusters.tolist(), name=[f"point {i}" for i in ids])
    names = rows["name"].to_list()
    for size in (1, 7, 30, 69, 70, 500):
        how = {"method": "sample", "sample_size": size, "random_state": seed, "confidence": 0.9}
        for column in (None, "name"):
            part = Silhouettes(
                x.tolist(),
                clusters.tolist(),
                measure_of(distance),
                ids=names if column else None,
            )
            named = {} if column is None else {"id": column}
            got = one(engine, SCORE, rows, distance=distance, **named, **how)
            wanted = part.sample(size, 0.9, seed)
            assert_points([got], [wanted], tolerance=1e-9, floor=1e-9, what=(size, column))


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


@pytest.mark.parametrize("empty", [False, True], ids=["rows", "no rows"])
@pytest.mark.parametrize("option", OPTIONS)
def test_a_bad_option(engine: Engine, option: str, empty: bool) -> None:
    arguments, words = OPTIONS[option]
    lines = frame(LINE, LINE_CLUSTERS)
    with fails(engine, words):
        call(engine, SCORE, lines.clear() if empty else lines, **arguments)


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


@pytest.mark.parametrize("function", [SAMPLES, CLUSTERS, SCORE])
@pytest.mark.parametrize("option", COMMON)
def test_a_bad_option_of_all_distances(engine: Engine, option: str, function: str) -> None:
    arguments, words = COMMON[option]
    with fails(engine, words):
        call(engine, function, frame(LINE, LINE_CLUSTERS), **arguments)


@pytest.mark.parametrize("function", [SAMPLES, CLUSTERS, SCORE])
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("fault", FAULTS)
def test_bad_points(engine: Engine, fault: str, distance: str, function: str) -> None:
    rows, words = FAULTS[fault]
    with fails(engine, words):
        call(engine, function, vectors(*rows), distance=distance)


SAMPLED = {"method": "sample", "sample_size": 3}


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([7, 8, 7, 1, 8], "got 2 rows with 7"),
        ([None, 2, None, 3, 4], "got 2 rows with NULL"),
        (["b", "b", "c", "d", "b"], "got 3 rows with b"),
    ],
)
def test_an_id_that_is_there_twice(engine: Engine, ids: list[Any], words: str) -> None:
    rows = frame(LINE, LINE_CLUSTERS, name=ids)
    for function, more in ((SAMPLES, {}), (SCORE, SAMPLED)):
        with fails(engine, f"id: expected one row for each id of a partition, {words}"):
            call(engine, function, rows, id="name", **more)
    assert one(engine, SCORE, rows, id="name")["n"] == 5


def test_an_id_may_be_in_several_partitions_and_dropped_rows(engine: Engine) -> None:
    rows = frame([*LINE, *LINE, None], [*LINE_CLUSTERS, *LINE_CLUSTERS, 1])
    rows = rows.with_columns(
        run=pl.Series([0] * 5 + [1] * 6), name=pl.Series([*range(5)] * 2 + [0])
    )
    got = call(engine, SAMPLES, rows, id="name", partition_by="run")
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


# ----------------------------------------------------------------------------------------------
# Numbers of any size, and many of them
# ----------------------------------------------------------------------------------------------


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
        found, expected = (
            call(engine, function, frame, distance="cosine") for frame in (tiny, zero)
        )
        assert_points(found, expected, tolerance=1e-9, what=function)
