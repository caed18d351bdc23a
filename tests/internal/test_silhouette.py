"""Silhouettes: the oracle, published numbers, and the definition on random points."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import silhouette_samples as sklearn_samples

from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.point_strategies import (
    SEEDS,
)
from tests.support.seeds import SEED
from tests.support.silhouette_cases import (
    CLUSTERS,
    CLUSTERS_OF_LINE,
    LINE,
    LINE_CLUSTERS,
    N_CLEAR,
    OF_LINE,
    SAMPLES,
    SCORE,
    SCORE_OF_LINE,
    are_centers_undecided,
    is_any_delicate,
    is_delicate_row,
    of_random_case,
    random_silhouettes,
    values_of,
    vector_frame,
)
from tests.support.silhouette_draw import drawn, mixed
from tests.support.silhouette_oracle import Silhouettes

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row


# The oracle ----------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "examples"

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
    assert mixed(1, 0) == (x3**2 + x1) % prime
    assert drawn(range(3), 9, 5) == sorted(range(3), key=lambda q: mixed(q, 5))


def test_ids(engine: Engine) -> None:
    """Of any type, sorted; one row number where none is given."""
    rows = vector_frame(LINE, LINE_CLUSTERS, name=list("ecbda"), day=[3, 1, 4, 15, 9])
    missing = rows.with_columns(day=pl.Series([3, 1, None, 15, 9]))
    days, some_day = call_by_case(engine, SAMPLES, [rows, missing], id="day")
    for column, got in (("name", call(engine, SAMPLES, rows, id="name")), ("day", days)):
        values = rows[column].to_list()
        wanted = [row | {"id": values[row["id"]]} for row in OF_LINE]
        assert_points(got, sorted(wanted, key=lambda row: row["id"]), what=column)
    assert None in [row["id"] for row in some_day]


# Published numbers ---------------------------------------------------------------------------


# Printed in Reyes-Figueroa (2024), Métricas para evaluar algoritmos de agrupamiento: mean and mean
# of the clusters' means, mean under squared distances, simplified.
OF_IRIS = {
    "kmeans": (0.552819, 0.555522, 0.735660, 0.666386),
    "agglomerative": (0.554324, 0.560392, 0.735125, 0.667517),
}


# Their examples, with further coordinates of 0 so that all are in one call.
SIX = [[x / 10] * 3 for x in (0, 1, 2, 90, 91, 92)]
OF_PYSPARK = [[0, 0.5], [0.5, 0], [1, 1], [10, 11], [10.5, 11.5], [8, 6]]


def with_zeros(rows: list[list[float]], clusters: list[int]) -> pl.DataFrame:
    return vector_frame([[*row, *[0.0] * (4 - len(row))] for row in rows], clusters)


def test_published_numbers(engine: Engine) -> None:
    """Iris; the examples of Alink and of PySpark."""
    labels, flowers = pl.read_csv(EXAMPLES / "iris_labelings.csv"), load_iris().data.tolist()
    cases = [vector_frame(flowers, labels[labeling].to_list()) for labeling in OF_IRIS]
    cases += [with_zeros(x, [0, 0, 0, 1, 1, 1]) for x in (SIX, OF_PYSPARK)]
    plain, squared, simple = (
        [row for [row] in call_by_case(engine, SCORE, cases, **how)]
        for how in ({}, {"distance": "sqeuclidean"}, {"method": "simplified"})
    )
    for i, (labeling, wanted) in enumerate(OF_IRIS.items()):
        got = (*values_of(plain[i], "silhouette", "silhouette_macro"), squared[i]["silhouette"])
        assert (*got, simple[i]["silhouette"]) == pytest.approx(wanted, abs=5e-7), labeling
        assert plain[i]["n_evaluated"] == 150
    alink, pyspark = 2, 3
    assert squared[alink]["silhouette"] == pytest.approx(0.9997530305375202, abs=1e-12)
    assert plain[alink]["silhouette"] == pytest.approx(0.985183813273701, abs=1e-12)
    assert simple[alink]["silhouette"] == pytest.approx(0.992592, abs=1e-6)
    assert squared[pyspark]["silhouette"] == pytest.approx(0.9079633854, abs=5e-11)


def test_twelve_points_of_clustering_jl(engine: Engine) -> None:
    first = [[-2, 4], [2, 4], [2, 1], [3, 0], [2, -1], [1, 0]]
    last = [[2, -4], [-2, -4], [-2, 1], [-1, 0], [-2, -1], [-3, 0]]
    rows = vector_frame([*first, *last], [1, 1, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4])
    got = one(engine, SCORE, rows)["silhouette"]
    assert got == pytest.approx(0.3974115380646308, abs=1e-14)


@pytest.mark.gate
@pytest.mark.parametrize("distance", DISTANCES)
def test_digits_as_scikit_learn(engine: Engine, distance: str) -> None:
    digits = load_digits()
    some = slice(None) if distance in ("euclidean", "sqeuclidean", "cosine") else slice(0, 400)
    x, clusters = digits.data[some], digits.target[some]
    more = {"p": 3} if distance == "minkowski" else {}
    wanted = sklearn_samples(x, clusters, metric=distance, **more)
    rows = call(
        engine, SAMPLES, vector_frame(x.tolist(), clusters.tolist()), distance=distance, **more
    )
    got = np.array([row["silhouette"] for row in rows])
    assert np.abs(got - wanted).max() < 1e-9


# The definition ------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", DISTANCES)
@of_random_case
@SEEDS
@SEED
def test_equals_the_oracle(engine: Engine, distance: str, weighted: bool, seed: int) -> None:
    """Many sets of points in one call, with missing vectors and clusters."""
    parts, rows, how = random_silhouettes(distance, weighted, seed)
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
        assert_points(mine[SCORE], [part.score()], tolerance=1e-9, floor=1e-9)
    assert compared >= N_CLEAR


def check_samples(got: list[Row], part: Silhouettes) -> None:
    for row, wanted, i in zip(got, part.samples(), part.in_order(), strict=True):
        without = {"neighbor"} if part.is_tied(i) else set()
        if is_delicate_row(wanted):
            without.add("silhouette")
        assert_points([row], [wanted], tolerance=1e-9, floor=1e-9, without=without)


@pytest.mark.parametrize("distance", DISTANCES)
@of_random_case
@SEEDS
@SEED
def test_simplified_equals_the_oracle(
    engine: Engine, distance: str, weighted: bool, seed: int
) -> None:
    parts, rows, how = random_silhouettes(distance, weighted, seed)
    got = call(engine, SCORE, rows, partition_by="run", method="simplified", **how)
    compared = 0
    for run, part in enumerate(parts):
        if not part.n or is_any_delicate(part) or are_centers_undecided(part):
            continue
        compared += part.is_clustering
        mine = [dict(list(row.items())[1:]) for row in got if row["run"] == run]
        assert_points(mine, [part.simplified()], tolerance=1e-9, floor=1e-9)
    assert compared >= N_CLEAR
