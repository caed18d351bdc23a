"""Determinants of matrices that are nearly or entirely singular, and of coordinates of any size."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support import replay
from tests.support.determinant_cases import (
    assert_indices,
    indices_by_case,
    indices_of,
    mixed_blobs,
)
from tests.support.determinant_oracle import (
    NOTHING,
    Indices,
    indices_by_fractions,
    indices_by_numpy,
)

if TYPE_CHECKING:
    from tests.support.determinant_cases import Case, Floats
    from tests.support.engines import Engine

pytestmark = pytest.mark.gate


@pytest.fixture(autouse=True)
def calls_on_other_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests bound the error of each call; two calls may be this far apart."""
    monkeypatch.setattr(replay, "RELATIVE", 1e-3)


# Coordinates of any size ----------------------------------------------------------------------


def scaled_points(scale: float) -> Case:
    points = np.random.default_rng(2).normal(size=(300, N_SCALED))
    return points * scale, [0, 1, 2] * 100


#: Coordinates: the determinant leaves the range of numbers at a scale of 1e-20 and of 1e20.
N_SCALED = 12


@cache
def plain_indices(engine: Engine) -> Indices:
    return indices_of(engine, *scaled_points(1.0))


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_determinants_out_of_range(engine: Engine, scale: float) -> None:
    plain, scaled = plain_indices(engine), indices_of(engine, *scaled_points(scale))
    assert scaled[2] is None
    assert_indices(
        [x for i, x in enumerate(scaled) if i in (0, 1, 4)] + [0.0] * 2,
        [x for i, x in enumerate(plain) if i in (0, 1, 4)] + [0.0] * 2,
        rel=1e-9,
    )
    shift = 300 * N_SCALED * 2 * math.log(scale)
    assert plain[3] is not None
    assert scaled[3] is not None
    assert math.isclose(scaled[3], plain[3] + shift, rel_tol=1e-12)


def test_shift(engine: Engine) -> None:
    near: dict[str, Case] = {}
    far: dict[str, Case] = {}
    for spread in (0.0, 3.0):
        points, cluster = mixed_blobs(5, 4000, 4, 5, spread)
        # On a grid that 1e8 leaves whole: nothing is lost by the shift itself.
        points = np.round(points * 2**20) / 2**20
        free, _ = mixed_blobs(6, 4000, 4, 5, spread)
        for name, x in (("whole", points), ("free", free)):
            near[f"{name}, spread {spread}"] = x, cluster.tolist()
            far[f"{name}, spread {spread}"] = x + 1e8, cluster.tolist()
    expected = indices_by_case(engine, near)
    for name, found in indices_by_case(engine, far).items():
        rel = 1e-9 if name.startswith("whole") else 1e-6
        assert_indices(found, expected[name], rel=rel, what=name)


# Singular -------------------------------------------------------------------------------------


def dependent_points(seed: int, p: int) -> Case:
    r = np.random.default_rng(seed)
    n = 2000
    cluster = r.integers(0, 3, n)
    points = np.round(r.normal(size=(n, p - 1)) * 10 * r.lognormal(size=p - 1))
    points += r.integers(-50, 50, (3, p - 1))[cluster]
    dependent = points @ r.integers(-999, 1000, p - 1)
    return np.insert(points, seed % p, dependent, axis=1) + 1e8 * (seed > 5), cluster.tolist()


@pytest.mark.parametrize("is_shifted", [False, True])
@pytest.mark.parametrize("p", [3, 5, 10, 20])
def test_singular_whatever_rounding_says(engine: Engine, p: int, is_shifted: bool) -> None:
    """A coordinate depends on the others, with coefficients that rounding does not spare."""
    seeds = [
        seed for seed in range(12) if (3, 5, 10, 20)[seed % 4] == p and (seed > 5) == is_shifted
    ]
    cases = {f"seed {seed}": dependent_points(seed, p) for seed in seeds}
    for name, found in indices_by_case(engine, cases).items():
        assert_indices(found, NOTHING, what=name)


def test_singular_with_many_rows(engine: Engine) -> None:
    r = np.random.default_rng(1)
    x = r.exponential(size=(200_000, 2))
    points = np.column_stack([x, 3 * x[:, 0] - 7 * x[:, 1]])
    found = indices_of(engine, points, r.integers(0, 2, len(x)).tolist())
    assert_indices(found, NOTHING)


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e8])
def test_collinear_is_singular_at_any_shift(engine: Engine, shift: float) -> None:
    x = np.random.default_rng(5).normal(size=(60, 3)) + shift
    points = np.column_stack([x, 2 * x[:, 0]])
    cases: dict[str, Case] = {
        f"{copies} copies": (np.tile(points, (copies, 1)), [0, 1, 2] * 20 * copies)
        for copies in (1, 30)
    }
    for name, found in indices_by_case(engine, cases).items():
        assert_indices(found, NOTHING, what=name)


def test_rounded_combination_is_singular(engine: Engine) -> None:
    """Columns are collinear up to their last digit, in clusters 1,000 times as far as wide."""
    points, cluster = mixed_blobs(3, 500, 4, 3, spread=1e3)
    points[:, 2] = 0.1 * points[:, 0] - 0.7 * points[:, 3]
    assert_indices(indices_of(engine, points, cluster.tolist()), NOTHING)


# Nearly collinear columns ---------------------------------------------------------------------


def collinear_within(
    seed: int, p: int, noise: float, spread: float = 3.0
) -> tuple[Floats, list[int]]:
    """Return points and clusters; in each cluster, column 1 is nearly twice column 0."""
    r = np.random.default_rng(seed)
    cluster = r.integers(0, 3, 60)
    points = r.normal(size=(60, p))
    points[:, 1] = 2 * points[:, 0] + noise * r.normal(size=60)
    return points + spread * r.normal(size=(3, p))[cluster], cluster.tolist()


def collinear_overall(seed: int, p: int, noise: float) -> tuple[Floats, list[int]]:
    """Return points and clusters; all columns are nearly multiples of column 0."""
    r = np.random.default_rng(seed)
    cluster = r.integers(0, 3, 60)
    x = r.normal(size=60) + 3 * r.normal(size=3)[cluster]
    return np.outer(x, np.arange(1, p + 1)) + noise * r.normal(size=(60, p)), cluster.tolist()


@cache
def nearly_collinear(
    p: int, shift: float
) -> tuple[dict[str, Case], dict[str, tuple[Indices, float]]]:
    """Cases, and the indices of each by fractions, with the error that they may have.

    The relative error is that of the coordinates' last digit in the noise.
    """
    cases: dict[str, Case] = {}
    expected = {}
    for exponent in range(2, 9):
        noise = 10.0**-exponent
        for make_points in (collinear_within, collinear_overall):
            name = f"{make_points.__name__}, noise {noise}"
            points, cluster = make_points(exponent + p, p, noise)
            cases[name] = points + shift, cluster
            exact = indices_by_fractions((points + shift).tolist(), cluster)
            expected[name] = exact, max(1e-12, 2e-15 / noise)
    return cases, expected


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("p", [2, 5])
def test_nearly_collinear(engine: Engine, p: int, shift: float) -> None:
    cases, expected = nearly_collinear(p, shift)
    for name, found in indices_by_case(engine, cases).items():
        exact, rel = expected[name]
        assert None not in exact, name
        assert_indices(found, exact, rel=rel, what=name)


def test_nearly_collinear_without_partitions(engine: Engine) -> None:
    cases, expected = nearly_collinear(5, 1e8)
    name = "collinear_within, noise 1e-05"
    exact, rel = expected[name]
    assert_indices(indices_of(engine, *cases[name]), exact, rel=rel)


def test_two_relations_of_five_columns(engine: Engine) -> None:
    r = np.random.default_rng(1)
    points, cluster = collinear_within(1, 5, 1e-5)
    points[:, 4] = points[:, 1] - points[:, 0] + points[:, 2] + 1e-7 * r.normal(size=60)
    expected = indices_by_fractions(points.tolist(), cluster)
    assert_indices(indices_of(engine, points, cluster), expected, rel=1e-8)


@pytest.mark.parametrize("spread", [100.0, 1e4])
def test_clusters_far_apart(engine: Engine, spread: float) -> None:
    """|T| / |W| keeps its digits, though B is far larger than W and has fewer dimensions."""
    points, cluster = collinear_within(3, 5, 1e-3, spread)
    expected = indices_by_fractions(points.tolist(), cluster)
    assert expected[0] is not None
    assert expected[0] > 1e12
    assert_indices(indices_of(engine, points, cluster), expected, rel=spread * 1e-13)


@pytest.mark.parametrize("n_columns", [3, 40])
def test_a_cluster_out_of_reach(engine: Engine, n_columns: int) -> None:
    """Next to a cluster 1e20 away the distances of the others are lost: |T| has no digit."""
    points = np.random.default_rng(4).normal(size=(9 * n_columns, n_columns))
    cluster = [0, 1, 2] * (3 * n_columns)
    points[::3] = [1e20 * (column - 1) for column in range(n_columns)]
    det_ratio, log_det_ratio, ksq_detw, _, trace = indices_of(engine, points, cluster)
    assert det_ratio is None
    assert log_det_ratio is None
    assert ksq_detw is not None
    assert trace is not None
    assert trace > 1e40


@pytest.mark.parametrize("n_columns", [9, pytest.param(30, marks=pytest.mark.gate)])
def test_nearly_collinear_among_many_columns(engine: Engine, n_columns: int) -> None:
    r = np.random.default_rng(2)
    points, cluster = r.normal(size=(400, n_columns)), [0, 1, 2, 3] * 100
    points[:, -1] = points[:, :3].sum(axis=1) + 1e-6 * points[:, -1]
    # The determinant is that of the noise.
    noise = points.copy()
    noise[:, -1] -= points[:, :3].sum(axis=1)
    expected = indices_by_numpy(noise, np.array(cluster))
    assert_indices(indices_of(engine, points, cluster), expected, rel=1e-8)
