"""Determinants in many dimensions: their time, their limit, how exact factored points are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.internal import determinants
from tests.internal import test_determinants as plain
from tests.internal import test_determinants_nearly_singular as singular
from tests.support.determinant_cases import FUNCTION, assert_indices, indices_of, mixed_blobs
from tests.support.determinant_oracle import INDICES, indices_by_numpy
from tests.support.engines import fails, make
from tests.support.point_engines import call

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.engines import Engine

pytestmark = pytest.mark.gate

#: CPU seconds, about five times what a call takes.
MOST_SECONDS = 20


def test_time_in_many_dimensions(side: Engine) -> None:
    """A form that is quartic in the number of columns takes more than a minute."""
    points, cluster = mixed_blobs(1, 400, 160, 2)
    points /= 200  # or |W| is no Float64
    frame = pl.DataFrame({"x": pl.Series(points, dtype=pl.Array(pl.Float64, 160))})
    frame = frame.with_columns(cluster=pl.Series(cluster))
    begin = time.process_time()
    [row] = call(side, FUNCTION, frame, "x")
    assert time.process_time() - begin < MOST_SECONDS
    expected = list(indices_by_numpy(points, cluster))
    assert_indices([row[name] for name in INDICES], expected, rel=1e-8)


def test_time_of_an_embedding() -> None:
    points, cluster = mixed_blobs(2, 1000, 768, 3)
    points /= 700
    frame = pl.DataFrame({"x": pl.Series(points, dtype=pl.Array(pl.Float64, 768))})
    frame = frame.with_columns(cluster=pl.Series(cluster))
    begin = time.process_time()
    report = ce.determinant_report(frame, "x", "cluster")
    assert time.process_time() - begin < MOST_SECONDS
    expected = indices_by_numpy(points, cluster)
    of_many = [*expected[:2], None, None, expected[4]]
    assert_indices(report.select(INDICES).row(0), of_many, rel=1e-6)


def test_limit_in_duckdb() -> None:
    frame = pl.DataFrame({"x": pl.Series(np.eye(2, 501), dtype=pl.Array(pl.Float64, 501))})
    frame = frame.with_columns(cluster=pl.lit(1))
    with fails(make("duckdb"), "vector: expected at most 500 dimensions for determinants in Duck"):
        call(make("duckdb"), FUNCTION, frame, "x")


SINGLE_TESTS: list[tuple[Callable[..., None], tuple[object, ...]]] = [
    *((plain.test_fractions, (p,)) for p in (1, 2, 4)),
    (plain.test_equal_centroids_and_small_clusters, ()),
    (plain.test_singles_are_clusters, ()),
    (plain.test_faint_clusters, ()),
    (plain.test_tiny_cluster_beside_wide_one, ()),
    (plain.test_partitions, ()),
    (plain.test_report_without_rows, ()),
    (plain.test_report_by_partition_without_noise, ()),
    *((singular.test_determinants_out_of_range, (scale,)) for scale in (1e-20, 1e20)),
    *((singular.test_singular_whatever_rounding_says, (p, False)) for p in (3, 20)),
    (singular.test_collinear_is_singular_at_any_shift, (1e8,)),
    (singular.test_rounded_combination_is_singular, ()),
    *((singular.test_nearly_collinear, (5, shift)) for shift in (0.0, 1e8)),
    (singular.test_two_relations_of_five_columns, ()),
    (singular.test_clusters_far_apart, (1e4,)),
]


@pytest.mark.parametrize(("test", "given"), SINGLE_TESTS)
def test_factored_points_are_as_exact(
    test: Callable[..., None], given: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few dimensions, whose indices are known as fractions, factored as if they were many."""
    monkeypatch.setattr(determinants, "MIN_LONG_DIMS", 1)
    test(make("polars"), *given)


def test_as_many_points_as_dimensions() -> None:
    """W of n points in k clusters is singular below n - k dimensions, whatever rounding says."""
    points, cluster = mixed_blobs(3, 42, 40, 3)
    assert indices_of(make("polars"), points, cluster.tolist()) == (None,) * 5
    points, cluster = mixed_blobs(3, 43, 40, 3)
    assert None not in indices_of(make("polars"), points, cluster.tolist())[:3]
