"""silhouette_queries: options for silhouettes, and the points for which silhouettes are computed.

A point whose silhouette is computed is called a query. The queries are either all points or the
points in a sample.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from polars_clustereval.base.checks import (
    check_choice,
    check_column,
    check_confidence,
    check_random_state,
    is_number,
    is_whole_number,
    show_value,
)
from polars_clustereval.base.deferral import collect_now
from polars_clustereval.errors import ClusterEvalError

from .centroids import PointOptions, Points, read_points
from .kernels.other_clusters import Between

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from polars_clustereval.base.checks import Column

    from .distances import Distance
    from .vectors import Vector

Method = Literal["exact", "simplified", "bounds", "sample"]
METHODS = get_args(Method)
#: Methods that yield silhouettes of single points.
MeansMethod = Literal["exact", "sample"]


class SilhouetteOptions(NamedTuple):
    """Options of silhouette_score."""

    method: str = "exact"
    tolerance: float | None = None
    sample_size: int | None = None
    confidence: float = 0.95
    random_state: int = 0
    reference_size: int | None = None
    between: Between = "nearest"

    def draws_references(self, distance: Distance) -> bool:
        """Return whether mean distances are estimated from references."""
        return self.reference_size is not None and not is_squared_distance(distance)


def check_silhouette_options(options: SilhouetteOptions) -> SilhouetteOptions:
    """Return the options of silhouette_score unchanged, or raise an error if one is invalid."""
    method, tolerance, size, confidence, state, references, _ = options
    check_choice("method", method, METHODS)
    if tolerance is not None and not (is_number(tolerance) and float(tolerance) > 0):
        raise ClusterEvalError(f"tolerance: expected a number > 0, got {show_value(tolerance)}")
    if tolerance is not None and method != "exact":
        raise ClusterEvalError(f"tolerance: needs method 'exact', got method '{method}'")
    if size is not None and method != "sample":
        raise ClusterEvalError(f"sample_size: needs method 'sample', got method '{method}'")
    is_given = size is not None or (method == "sample" and references is None)
    if is_given and not is_whole_number(size, 1):
        raise ClusterEvalError(f"sample_size: expected a whole number >= 1, got {show_value(size)}")
    if references is not None and method != "sample":
        raise ClusterEvalError(f"reference_size: needs method 'sample', got method '{method}'")
    if references is not None and not is_whole_number(references, 2):
        raise ClusterEvalError(
            f"reference_size: expected a whole number >= 2, got {show_value(references)}"
        )
    _check_between(options)
    check_confidence(confidence)
    check_random_state(state)
    return options


def _check_between(options: SilhouetteOptions) -> None:
    """Raise an error if `between` is unknown or incompatible with another option."""
    between, method = options.between, options.method
    check_choice("between", between, get_args(Between))
    if between == "nearest":
        return
    if method == "bounds":
        raise ClusterEvalError(
            f"between: '{between}' needs method 'exact', 'simplified' or 'sample', "
            f"got method '{method}'"
        )
    for name in ("tolerance", "reference_size"):
        value = getattr(options, name)
        if value is not None:
            raise ClusterEvalError(
                f"between: '{between}' cannot be combined with {name}, got {name} "
                f"{show_value(value)}"
            )


def check_means_options(
    method: str,
    between: Between,
    sample_size: int | None,
    reference_size: int | None,
    random_state: int,
) -> SilhouetteOptions:
    """Return the options as SilhouetteOptions, or raise an error if one of them is invalid."""
    check_choice("method", method, get_args(MeansMethod))
    return check_silhouette_options(
        SilhouetteOptions(
            method,
            sample_size=sample_size,
            random_state=random_state,
            reference_size=reference_size,
            between=between,
        )
    )


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
    """Return the user's rows as points.

    The column id contains the values of `key` or, by default, the row number, counted from 0. The
    arguments frame, vector and cluster are the same as in silhouette_score, and key corresponds to
    its argument id. `results` lists the column names of the caller's result. Partition columns must
    not use these names. The argument inner_key is passed on to read_rows. If the points are
    streamed, the moments of their clusters are computed immediately. If references are drawn from
    the points, the cluster sizes are computed immediately.
    """
    row_id: Any = "number" if key is None else check_column(frame.lazy(), key, "id")
    streams = follows_from_moments(point_options.distance, options)
    draws = options.draws_references(point_options.distance)
    read = partial(read_points, frame, vector, cluster, point_options, results=results)
    points = read(row_id=row_id, inner_key=inner_key, is_eager=streams or draws)
    if is_squared_distance(points.distance) or options.method != "bounds":
        points = points.without_distances()
    if not draws:
        return points.precompute() if streams else points
    spreads = collect_now(points.spreads)
    if spreads["n_invalid"].sum():
        raise points.fault_error()
    return points.with_frames(spreads=spreads.lazy())


def follows_from_moments(distance: Distance, options: SilhouetteOptions) -> bool:
    """Return whether silhouettes can be computed from the moments of clusters alone.

    If so, the points can be streamed.
    """
    return is_squared_distance(distance) or options.method in ("simplified", "bounds")


def is_squared_distance(distance: Distance) -> bool:
    """Return whether the distance is sqeuclidean or cosine.

    For unit vectors, the cosine distance is half the squared Euclidean distance.
    """
    return distance.name in ("sqeuclidean", "cosine")
