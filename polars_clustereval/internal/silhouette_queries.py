"""silhouette_queries: the options of silhouettes, and the points whose silhouettes are computed.

A query is such a point: every point, or those of a sample.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import polars as pl

from polars_clustereval.base.checks import (
    check_choice,
    check_column,
    check_confidence,
    check_random_state,
    is_number,
    is_whole_number,
    show_value,
)
from polars_clustereval.errors import ClusterEvalError

from .centroids import PointOptions, Points, read_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column

    from .distances import Distance
    from .vectors import Vector

Method = Literal["exact", "simplified", "bounds", "sample"]
METHODS = get_args(Method)

#: Modulus of the sample keys, a prime: products of two lesser numbers are below 2^63.
PRIME = 2**31 - 1


class SilhouetteOptions(NamedTuple):
    """Options of silhouette_score."""

    method: str = "exact"
    tolerance: float | None = None
    sample_size: int | None = None
    confidence: float = 0.95
    random_state: int = 0


def check_silhouette_options(options: SilhouetteOptions) -> SilhouetteOptions:
    """Return the options of silhouette_score unchanged, or raise the error of the first bad one."""
    method, tolerance, size, confidence, state = options
    check_choice("method", method, METHODS)
    if tolerance is not None and not (is_number(tolerance) and float(tolerance) > 0):
        raise ClusterEvalError(f"tolerance: expected a number > 0, got {show_value(tolerance)}")
    if tolerance is not None and method != "exact":
        raise ClusterEvalError(f"tolerance: goes with method 'exact', got method '{method}'")
    if size is not None and method != "sample":
        raise ClusterEvalError(f"sample_size: goes with method 'sample', got method '{method}'")
    if method == "sample" and not is_whole_number(size, 1):
        raise ClusterEvalError(f"sample_size: expected a whole number >= 1, got {show_value(size)}")
    check_confidence(confidence)
    check_random_state(state)
    return options


def read_queried_points(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    point_options: PointOptions,
    options: SilhouetteOptions,
    *,
    key: Column | None = None,
    results: Sequence[str],
    inner_key: pl.Expr | None = None,
) -> Points:
    """Return the user's rows as points with a column id: `key`, or the row number from 0.

    frame, vector, cluster and key are arguments of silhouette_score (key is its id); `results` are
    the names of the result's columns, which partition columns must not have. inner_key is that of
    read_points. If points are to stream, the moments of their clusters are computed now.
    """
    row_id: Any = "number" if key is None else check_column(frame.lazy(), key, "id")
    streams = follows_from_moments(point_options.distance, options)
    read = partial(read_points, frame, vector, cluster, point_options, results=results)
    points = read(row_id=row_id, inner_key=inner_key, is_eager=streams)
    if is_squared_distance(points.distance) or options.method != "bounds":
        points = points.without_distances()
    return points.precompute() if streams else points


def follows_from_moments(distance: Distance, options: SilhouetteOptions) -> bool:
    """Return whether silhouettes need only moments of clusters (means, ...), so points stream."""
    return is_squared_distance(distance) or options.method in ("simplified", "bounds")


def is_squared_distance(distance: Distance) -> bool:
    """Return whether the distance is sqeuclidean, or cosine (half of that of unit vectors)."""
    return distance.name in ("sqeuclidean", "cosine")


def mark_queries(points: Points, options: SilhouetteOptions) -> Points:
    """Return the points with a column is_query: whether a point's silhouette is computed.

    It is true for all points, or with a sample_size for that many in each partition: those with the
    least sample keys. A sample key is a pseudorandom number made of random_state and the position
    of the point's id among the sorted ids of the partition, the same in every engine.
    """
    if options.sample_size is None:
        return replace(points, rows=points.rows.with_columns(is_query=pl.lit(True)))
    group = [pl.col(key) for key in points.keys] or [pl.lit(0)]
    seed = int(options.random_state) % PRIME
    rows = points.kept_rows.sort([*points.keys, "id"], nulls_last=True).with_row_index("place")
    place = pl.col("place").cast(pl.Int64)
    rows = rows.with_columns(place=place - place.min().over(group))
    for step in (
        {"x0": pl.col("place") % PRIME},
        {"x1": (pl.col("x0") * 48271 + (seed * 69621 + 1)) % PRIME},
        {"x2": (pl.col("x1") * pl.col("x1") + seed) % PRIME},
        {"x3": (pl.col("x2") * 39373 + pl.col("x0")) % PRIME},
        {"sample_key": (pl.col("x3") * pl.col("x3") + pl.col("x1")) % PRIME},
    ):
        rows = rows.with_columns(**step)
    rank = pl.struct("sample_key", "place").rank("ordinal").over(group)
    return replace(points, rows=rows.with_columns(is_query=rank <= int(options.sample_size)))
