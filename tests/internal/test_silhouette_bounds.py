"""Bounds of the silhouette, and the points evaluated within a tolerance."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_oracle import DISTANCES
from tests.support.point_strategies import (
    SEEDS,
)
from tests.support.seeds import SEED
from tests.support.silhouette_cases import (
    KINDS,
    SCORE,
    random_silhouettes,
    spread_points,
    values_of,
    vector_frame,
)

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row


@pytest.mark.parametrize("distance", DISTANCES)
def test_bounds_hold(engine: Engine, distance: str) -> None:
    cases = []
    for kind in KINDS:
        for seed, shift in ((1, 0.0), (2, 1e6)):
            x, clusters = spread_points(kind, 80, 3, 4, seed)
            cases.append(vector_frame((x + shift).tolist(), clusters.tolist()))
    several = call_by_case(engine, SCORE, cases, distance=distance, p=3)
    bounds = call_by_case(engine, SCORE, cases, distance=distance, p=3, method="bounds")
    slack = 1e-9 if distance in ("sqeuclidean", "cosine") else 0.0
    for [exact], [got] in zip(several, bounds, strict=True):
        lower, upper = values_of(got, "silhouette_lower", "silhouette_upper")
        assert -1 <= lower <= exact["silhouette"] + slack
        assert exact["silhouette"] - slack <= upper <= 1
        assert values_of(got, "silhouette", "silhouette_macro", "silhouette_max") == [None] * 3
        assert got["n_evaluated"] == 0
        if distance in ("sqeuclidean", "cosine"):
            assert upper - lower <= 1e-9


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev", "minkowski"])
@SEEDS
@SEED
def test_bounds_hold_for_any_points(engine: Engine, distance: str, seed: int) -> None:
    parts, rows, how = random_silhouettes(distance, seed % 2 == 0, seed)
    got = call(engine, SCORE, rows, partition_by="run", method="bounds", **how)
    for row in got:
        exact = parts[row["run"]].score()["silhouette"]
        if exact is None:
            assert values_of(row, "silhouette_lower", "silhouette_upper") == [None, None]
        else:
            assert row["silhouette_lower"] <= exact + 1e-14
            assert row["silhouette_upper"] >= exact - 1e-14


@pytest.mark.gate
def test_bounds_of_cityblock_distances(engine: Engine) -> None:
    """On a line they are the euclidean ones, whose bounds are computed in another way."""
    rows = vector_frame([[x, 0.0] for x in (0, 1, 2, 3, 9, 10, 11, 12)], [0] * 4 + [1] * 4)
    exact = one(engine, SCORE, rows)["silhouette"]
    for distance in ("cityblock", "euclidean"):
        got = one(engine, SCORE, rows, distance=distance, method="bounds")
        lower, upper = values_of(got, "silhouette_lower", "silhouette_upper")
        assert exact - 0.1 < lower <= exact <= upper < exact + 0.1


def test_bounds_are_narrow(engine: Engine) -> None:
    """Within 0.05 of each other for Gaussian clusters in 16 dimensions."""
    x, clusters = spread_points("normal", 400, 16, 4, 5)
    got = one(engine, SCORE, vector_frame(x.tolist(), clusters.tolist()), method="bounds")
    assert 0 < got["silhouette_upper"] - got["silhouette_lower"] < 0.05


@cache
def tolerant_scores(engine: Engine, **how: Any) -> dict[str, Row]:
    """The scores of points of each kind and of several normal ones, from one call."""
    points = {kind: spread_points(kind, 90, 4, 4, 3) for kind in KINDS}
    for seed in NORMAL_SEEDS:
        x, clusters = spread_points("normal", 60, 3, 3, seed)
        points[f"normal {seed}"] = np.column_stack([x, np.zeros(60)]), clusters
    cases = [vector_frame(x.tolist(), clusters.tolist()) for x, clusters in points.values()]
    several = call_by_case(engine, SCORE, cases, **how)
    return {name: row for name, [row] in zip(points, several, strict=True)}


NORMAL_SEEDS = (9, 10, 11, 12, 13, 14)
TOLERANCES = [1e-9, 0.003, 0.006, 0.02, 0.1, 2]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("tolerance", "greater"),
    [
        *pairwise(TOLERANCES),
        (2, 2),
        *(pytest.param(x, x * 2, marks=pytest.mark.gate) for x in (1e-9, 0.003, 0.02, 0.1, 2)),
    ],
)
def test_tolerance(engine: Engine, tolerance: float, greater: float) -> None:
    exactly, widely = tolerant_scores(engine), tolerant_scores(engine, method="bounds")
    scores = tolerant_scores(engine, tolerance=tolerance)
    others = tolerant_scores(engine, tolerance=greater)
    for name, got in scores.items():
        exact, widest, more = exactly[name], widely[name], others[name]
        lower, upper = values_of(got, "silhouette_lower", "silhouette_upper")
        assert lower - 1e-15 <= exact["silhouette"] <= upper + 1e-15, name
        assert upper - lower <= tolerance * (1 + 1e-12), name
        assert got["silhouette"] == pytest.approx((lower + upper) / 2, abs=1e-12), name
        whole = widest["silhouette_upper"] - widest["silhouette_lower"]
        assert (got["n_evaluated"] == 0) == (whole <= tolerance), name
        if tolerance < 1e-8:
            assert_points([got], [exact | {"n_evaluated": got["n_evaluated"]}], tolerance=1e-9)
        # evaluating no more than these, another tolerance is met by fewer
        assert more["n_evaluated"] <= got["n_evaluated"], name


@pytest.mark.gate
@pytest.mark.parametrize(
    "steps",
    [
        [3, 6, 20, 100],
        pytest.param([1, 2, 5, 10, 20, 35, 50, 70, 95, 125, 160, 199], marks=pytest.mark.gate),
        pytest.param(range(1, 200), marks=pytest.mark.wide),
    ],
    ids=["4", "12", "199"],
)
def test_tolerance_evaluates_the_fewest_points(engine: Engine, steps: list[int]) -> None:
    """A greater tolerance is a greater width, never above it, from no more points."""
    of_steps = [tolerant_scores(engine, tolerance=step / 1000) for step in steps]
    widest = tolerant_scores(engine, method="bounds")
    for seed in NORMAL_SEEDS:
        name = f"normal {seed}"
        rows = [scores[name] for scores in of_steps]
        widths = [row["silhouette_upper"] - row["silhouette_lower"] for row in rows]
        assert all(x <= step / 1000 for x, step in zip(widths, steps, strict=True)), name
        assert all(x <= y + 1e-15 for x, y in pairwise(widths)), name
        evaluated = [row["n_evaluated"] for row in rows]
        assert evaluated[0] > 30, name
        assert evaluated == sorted(evaluated, reverse=True), name
        whole = widest[name]["silhouette_upper"] - widest[name]["silhouette_lower"]
        assert [n == 0 for n in evaluated] == [whole <= step / 1000 for step in steps], name
