"""Silhouettes against references drawn from each cluster: the draw, and its errors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.internal import silhouette_sampling
from tests.support.engines import fails
from tests.support.point_engines import assert_points, call, one
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.silhouette_cases import CLUSTERS, SAMPLES, SCORE, spread_points, vector_frame
from tests.support.silhouette_draw import Draw
from tests.support.silhouette_oracle import Silhouettes

if TYPE_CHECKING:
    from tests.support.engines import Engine

FUNCTIONS = (SCORE, CLUSTERS, SAMPLES)
#: Number of points evaluated, of references, and the seed.
DRAWS = ((30, 8, 0), (None, 5, 1), (12, 2, 2147483647), (1, 6, 3), (200, 40, 5))
#: Derivatives of the oracle are numeric.
NUMERIC = 1e-6


def gather_draws() -> list[Any]:
    """(function, distance, draw): each of them in some case, the others wide."""
    fast = {
        *((function, "euclidean", DRAWS[0]) for function in FUNCTIONS),
        *((SCORE, "euclidean", draw) for draw in DRAWS),
        *((CLUSTERS, distance, DRAWS[1]) for distance in ("cityblock", "cosine")),
        (SAMPLES, "minkowski", DRAWS[2]),
    }
    every = [(f, distance, draw) for f in FUNCTIONS for distance in DISTANCES for draw in DRAWS]
    return [case if case in fast else pytest.param(*case, marks=pytest.mark.wide) for case in every]


@cache
def two_runs(distance: str) -> tuple[pl.DataFrame, list[Silhouettes]]:
    """60 and 25 points, each with a cluster of one point, and ids in another order."""
    frames, parts = [], []
    rng = np.random.default_rng(9)
    for run, n in enumerate((60, 25)):
        x, clusters = spread_points("normal", n, 2, 3, 4 + run)
        clusters[7] = 9
        ids = rng.permutation(n) + 100
        frames.append(vector_frame(x.tolist(), clusters.tolist(), name=ids, run=[run] * n))
        parts.append(
            Silhouettes(x.tolist(), clusters.tolist(), Measure(distance), ids=ids.tolist())
        )
    return pl.concat(frames), parts


def drawn_rows(draw: Draw, function: str) -> list[dict[str, Any]]:
    if function == SCORE:
        return [draw.score(0.9)]
    return draw.clusters() if function == CLUSTERS else draw.samples()


@pytest.mark.parametrize(("function", "distance", "draw"), gather_draws())
def test_values_and_errors_are_those_of_the_oracle(
    engine: Engine, function: str, distance: str, draw: tuple[int | None, int, int]
) -> None:
    rows, parts = two_runs(distance)
    size, references, seed = draw
    how: dict[str, Any] = {"sample_size": size, "reference_size": references, "random_state": seed}
    if function == SCORE:
        how["confidence"] = 0.9
    given = {name: value for name, value in how.items() if value is not None}
    got = call(
        engine,
        function,
        rows,
        partition_by="run",
        id="name",
        distance=distance,
        method="sample",
        **given,
    )
    wanted = [
        {"run": run} | row
        for run, part in enumerate(parts)
        for row in drawn_rows(Draw(part, size, seed, references), function)
    ]
    assert_points(got, wanted, tolerance=NUMERIC, floor=1e-9)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "cosine"])
def test_all_points_as_references_are_exact(engine: Engine, function: str, distance: str) -> None:
    rows, _ = two_runs(distance)
    common: dict[str, Any] = {"partition_by": "run", "id": "name", "distance": distance}
    exact = call(engine, function, rows, **common)
    got = call(engine, function, rows, method="sample", reference_size=60, **common)
    assert {row.pop("std_error") for row in got} == {0.0}
    assert {row.pop("std_error") for row in exact} == {None}
    assert_points(got, exact, tolerance=1e-9, floor=1e-12)


def test_small_clusters_keep_all_their_points(engine: Engine) -> None:
    """a of their points, and b of points beside them, are exact; those of large ones are not."""
    rows, parts = two_runs("euclidean")
    rows, part = rows.filter(pl.col("run") == 0), parts[0]
    got = call(engine, SAMPLES, rows, id="name", method="sample", reference_size=15)
    small = {key for key, places in part.members.items() if len(places) <= 15}
    assert 1 < len(small) < len(part.members)
    for row, exact in zip(got, part.samples(), strict=True):
        if row["cluster"] in small:
            assert row["a"] == pytest.approx(exact["a"], rel=1e-12)
        else:
            assert row["a"] != pytest.approx(exact["a"], rel=1e-9)


@pytest.mark.gate
def test_the_order_of_rows_does_not_matter(engine: Engine) -> None:
    rows, _ = two_runs("euclidean")
    how: dict[str, Any] = {"method": "sample", "sample_size": 9, "reference_size": 4, "id": "name"}
    rows = rows.filter(pl.col("run") == 0)
    assert_points([one(engine, SCORE, rows.reverse(), **how)], [one(engine, SCORE, rows, **how)])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_id_that_is_there_twice(side: Engine, function: str) -> None:
    rows = vector_frame([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1], name=[1, 2, 2, 3])
    with fails(side, "id: expected one row for each id of a partition, got 2 rows with 2"):
        call(side, function, rows, id="name", method="sample", reference_size=2)


def test_more_rows_are_ranked_if_too_few_have_small_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The candidates of a draw are those expected to be enough, without any margin."""
    rows = pl.concat([two_runs("euclidean")[0]] * 20).with_columns(name=pl.int_range(pl.len()))
    how: dict[str, Any] = {"id": "name", "method": "sample", "sample_size": 40, "reference_size": 9}
    seeds = range(6)

    def score() -> list[pl.DataFrame]:
        return [
            ce.silhouette_score(rows, "vector", "cluster", random_state=i, **how) for i in seeds
        ]

    wanted = score()
    draws: list[bool] = []
    draw = silhouette_sampling._draw

    def watched(*given: Any, **named: Any) -> pl.DataFrame | None:
        found = draw(*given, **named)
        draws.append(found is None)
        return found

    monkeypatch.setattr(silhouette_sampling, "_draw", watched)
    monkeypatch.setattr(silhouette_sampling, "_MARGIN", 0.0)
    for got, expected in zip(score(), wanted, strict=True):
        assert_points(got.rows(named=True), expected.rows(named=True))
    assert True in draws
    assert draws[-1] is False


@cache
def unequal_points(kind: str) -> pl.DataFrame:
    """Some thousand points in clusters that are unequal in size and shape."""
    rng = np.random.default_rng(3)
    sizes = {"unequal": (1200, 700, 300, 60, 15), "many": (250,) * 10}[kind]
    apart = {"unequal": 1.0, "many": 1.5}[kind]
    x = [
        rng.normal(size=(n, 4)) * (0.5 + rng.random(4)) + rng.normal(size=4) * apart for n in sizes
    ]
    return vector_frame(np.concatenate(x).tolist(), np.repeat(range(len(sizes)), sizes).tolist())


def standardized_errors(kind: str, seeds: range, **how: Any) -> Any:
    """(estimate - exact) / std_error of the scores of these seeds."""
    rows = unequal_points(kind)
    exact = ce.silhouette_score(rows, "vector", "cluster")["silhouette"].item()
    found = []
    for seed in seeds:
        score = ce.silhouette_score(
            rows, "vector", "cluster", method="sample", random_state=seed, **how
        )
        found.append((score["silhouette"].item() - exact) / score["std_error"].item())
    return np.array(found)


@pytest.mark.gate
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("unequal", {"sample_size": 200, "reference_size": 50}),
        ("many", {"sample_size": 500}),
        ("many", {"reference_size": 20}),
    ],
)
def test_errors_are_of_the_size_that_is_told(kind: str, how: dict[str, Any]) -> None:
    z = standardized_errors(kind, range(60), **how)
    assert abs(z.mean()) < 0.4
    assert 0.8 < z.std() < 1.2


@pytest.mark.wide
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("unequal", {"sample_size": 200, "reference_size": 50}),
        ("unequal", {"sample_size": 200}),
        ("unequal", {"reference_size": 100}),
        ("many", {"reference_size": 50}),
        ("many", {"sample_size": 200, "reference_size": 50}),
    ],
)
def test_intervals_cover_the_exact_score_as_often_as_they_say(
    kind: str, how: dict[str, Any]
) -> None:
    """Of 400 seeds: 95 % within 3 of their standard errors, 1.1 %."""
    z = standardized_errors(kind, range(400), **how)
    assert 0.917 < np.mean(abs(z) < 1.96) < 0.983
