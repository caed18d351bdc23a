"""Partitions whose plain sums may have lost digits: found by these sums, and read again.

The expected values are exact: those of the same points near 0, or of the definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.point_engines import assert_points, call, call_by_case, one

if TYPE_CHECKING:
    from tests.support.engines import Engine

pytestmark = pytest.mark.gate

SIZES = (300, 700, 1500)


def repeated_coordinates(x: Any, cluster: Any, copies: int = 1) -> pl.DataFrame:
    """A frame of the points x (n, d), each coordinate repeated `copies` times."""
    vectors = np.repeat(np.asarray(x, dtype=np.float64), copies, axis=1)
    return pl.DataFrame({"vector": vectors.tolist(), "cluster": cluster})


def symmetric_clusters(scale: float = 1.0) -> tuple[Any, Any]:
    """Clusters about the centers 0, 0 and 5: pairs of opposite multiples of 1/8."""
    cluster = np.repeat([0, 1, 2], SIZES)
    n = np.concatenate([np.arange(size) for size in SIZES])
    x = (n // 2 % 16 + 1) / 8 * np.where(n % 2, 1, -1) + np.where(cluster == 2, 5.0, 0.0)
    return scale * x, cluster


@pytest.mark.parametrize("copies", [1, 20])
def test_centers_that_coincide_but_for_rounding(engine: Engine, copies: int) -> None:
    """Sums of many 0.1 are rounded, and their means would differ."""
    x, cluster = symmetric_clusters()
    frame = repeated_coordinates(np.stack([x, np.full_like(x, 0.1)], axis=1), cluster, copies)
    row = one(engine, "internal_report", frame)
    assert (row["ray_turi_index"], row["xie_beni_index"], row["sd_separation"]) == (None,) * 3
    plain = one(engine, "internal_report", repeated_coordinates(x[:, None], cluster, copies))
    for name in ("davies_bouldin_score", "calinski_harabasz_score", "separation"):
        assert row[name] == pytest.approx(plain[name], rel=1e-12), name


@pytest.mark.parametrize("copies", [1, 20])
@pytest.mark.parametrize("constant", [0.1, 3.0, 1e9 / 7])
def test_a_constant_coordinate_has_no_share(engine: Engine, constant: float, copies: int) -> None:
    x, cluster = symmetric_clusters()
    x = x + cluster
    frame = repeated_coordinates(np.stack([x, np.full_like(x, constant)], axis=1), cluster, copies)
    row = one(engine, "internal_report", frame)
    assert row["ratkowsky_lance_index"] is None
    plain = one(engine, "internal_report", repeated_coordinates(x[:, None], cluster, copies))
    for name in ("ssw", "ssb", "davies_bouldin_score", "sd_scattering"):
        assert row[name] == pytest.approx(plain[name], rel=1e-11), name


@pytest.mark.parametrize("far", [2.0**35, -(2.0**40)])
def test_a_narrow_coordinate_next_to_a_wide_one(engine: Engine, far: float) -> None:
    """The distances are those of the wide one; each has its share of ratkowsky_lance_index."""
    x, cluster = symmetric_clusters()
    x = x + cluster
    near = np.stack([x, x[::-1] * far / 64], axis=1)
    wanted = one(engine, "internal_report", repeated_coordinates(near, cluster))
    got = one(engine, "internal_report", repeated_coordinates(near + np.array([far, 0.0]), cluster))
    assert_points([got], [wanted], tolerance=1e-9)


@pytest.mark.parametrize("copies", [1, 40])
def test_single_points_with_weights(engine: Engine, copies: int) -> None:
    """A weight is a factor on differences: multiplied by it, large coordinates would be rounded."""
    few = np.array([[0.0, 9.0], [0.25, 7.5], [1.0, 8.0], [1.75, 8.25]])
    near, far = (
        one(
            engine,
            "internal_report",
            repeated_coordinates(few + np.array([move, 0.0]), range(4), copies),
            distance="cityblock",
            weights=[3.62] * 2 * copies,
        )
        for move in (0.0, 2.0**27)
    )
    assert_points([far], [near], tolerance=1e-11)


def test_a_doubtful_partition_changes_no_other(engine: Engine) -> None:
    x, cluster = symmetric_clusters()
    plain = repeated_coordinates(np.stack([x + cluster, x[::-1] / 7], axis=1), cluster)
    far = plain.with_columns(pl.col("vector").list.eval(pl.element() + 1e9))
    alone = [call(engine, "internal_report", frame) for frame in (plain, far)]
    several = call_by_case(engine, "internal_report", [plain, far, plain])
    for got, wanted in zip(several, [*alone, alone[0]], strict=True):
        assert_points(got, wanted, tolerance=1e-12, floor=1e-12)


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "minkowski"])
def test_large_numbers_at_small_distances(engine: Engine, distance: str) -> None:
    """Squares of the coordinates overflow, those of the distances do not."""
    x, cluster = symmetric_clusters(2.0**450)
    same = np.full_like(x, 2.0**520)
    options: dict[str, Any] = {"distance": distance, "p": 3}
    got = one(
        engine,
        "internal_report",
        repeated_coordinates(np.stack([x, same], axis=1), cluster),
        **options,
    )
    wanted = one(engine, "internal_report", repeated_coordinates(x[:, None], cluster), **options)
    names = ("ssw", "ssb", "compactness", "calinski_harabasz_score")
    assert all(wanted[name] for name in names)
    assert {name: got[name] for name in names} == {
        name: pytest.approx(wanted[name], rel=1e-12) for name in names
    }


def doubtful_points(copies: int) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """By what is in doubt: a frame, and one with the same scores whose sums are exact."""
    x, cluster = symmetric_clusters()
    few = np.array([[0.0], [0.25], [1.0], [1.75], [3.125]])
    # Their sums have more than 53 binary digits far from 0.
    skewed = np.random.default_rng(3).exponential(size=len(x)) + 3 * cluster
    skewed = np.round(skewed * 2.0**20)[:, None] / 2.0**20
    both = np.stack([x, np.full_like(x, 0.1)], axis=1)
    return {
        "narrow clusters": (
            repeated_coordinates(skewed + 2.0**27, cluster, copies),
            repeated_coordinates(skewed, cluster, copies),
        ),
        "single points": (
            repeated_coordinates(few + 2.0**40, range(5), copies),
            repeated_coordinates(few, range(5), copies),
        ),
        "equal centers": (
            repeated_coordinates(both, cluster, copies),
            repeated_coordinates(x[:, None], cluster, copies),
        ),
    }


SELECTED = ("ssw", "ssb", "compactness", "pbm_index", "ray_turi_index", "davies_bouldin_score")


@pytest.mark.parametrize("copies", [1, 40])
def test_a_column_selected_alone(copies: int) -> None:
    """What is in doubt does not depend on the columns that are computed."""
    for what, (frame, exact) in doubtful_points(copies).items():
        [wanted] = ce.internal_report(exact, "vector", "cluster").to_dicts()
        lazy = ce.internal_report(frame.lazy(), "vector", "cluster")
        for name in SELECTED:
            [got] = lazy.select(name).collect(engine="streaming").to_dicts()
            assert_points([got], [{name: wanted[name]}], tolerance=1e-11, what=(what, name))


@pytest.mark.parametrize("copies", [1, 40])
def test_overflow_between_clusters(copies: int) -> None:
    """Of a column, too, that does not have distances between clusters."""
    points = np.array([-1.01, -1.0, 1.0, 1.01])[:, None] * 0.45e154
    frame = repeated_coordinates(points, [0, 0, 1, 1], copies)
    lazy = ce.internal_report(frame.lazy(), "vector", "cluster").select("compactness")
    with pytest.raises(ce.ClusterEvalError, match="distances overflow; scale the coordinates"):
        lazy.collect(engine="streaming")
