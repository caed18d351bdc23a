"""point_silhouettes: the options of silhouettes, and the silhouettes of queries.

A query is a point whose silhouette is computed. The queries are either all points or the points in
a sample.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
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
from polars_clustereval.base.deferral import collect_now
from polars_clustereval.errors import ClusterEvalError

from .centroids import PointOptions, Points, read_points
from .kernels.distance_blocks import DISTANCES_PER_BLOCK
from .kernels.other_clusters import Between
from .kernels.partitions import Partition, Partitions, map_partitions
from .kernels.small_partitions import own_and_other_means
from .kernels.streams import map_stream, split_batch
from .mean_distance_bounds import (
    make_mean_distance_function,
    other_partition_means,
    partition_means,
)
from .mean_distances import (
    SILHOUETTE_COLUMNS,
    MeanDistances,
    join_cluster_numbers,
    stream_moments,
)
from .silhouette_sampling import draw_points, estimate_silhouettes, mark_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column

    from .distances import Distance
    from .kernels.arrays import Booleans, Floats, Integers
    from .vectors import Vector

# ----------------------------------------------------------------------------------------------
# Options
# ----------------------------------------------------------------------------------------------

Method = Literal["exact", "simplified", "bounds", "sample"]
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
        return self.reference_size is not None and not distance.is_squared


def check_silhouette_options(options: SilhouetteOptions) -> SilhouetteOptions:
    """Return the options unchanged, or raise an error if one is invalid."""
    method, tolerance, size, confidence, state, references, _ = options
    check_choice("method", method, get_args(Method))
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


def read_queried_points(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in the tables
    *,
    point_options: PointOptions,
    options: SilhouetteOptions,
    results: Sequence[str],
    inner_key: pl.Expr | None = None,
) -> Points:
    """Return the user's rows as points, with the column id.

    `results` and `inner_key` are passed on to read_rows. Centers are means. If the points are
    streamed, the moments of their clusters are computed immediately, and if references are drawn
    from them, the cluster sizes.
    """
    distance = point_options.distance.plain
    point_options = replace(point_options, distance=distance, center="mean")
    row_id: Any = "number" if id is None else check_column(frame.lazy(), id, "id")
    streams, draws = follows_from_moments(distance, options), options.draws_references(distance)
    read = partial(read_points, frame, vector, cluster, point_options, results=results)
    points = read(row_id=row_id, inner_key=inner_key, is_eager=streams or draws)
    if distance.is_squared or options.method != "bounds":
        points = points.without_distances()
    if not draws:
        return points.precompute() if streams else points
    spreads = collect_now(points.spreads)
    if spreads["n_invalid"].sum():
        raise points.fault_error()
    return points.with_frames(spreads=spreads.lazy())


def follows_from_moments(distance: Distance, options: SilhouetteOptions) -> bool:
    """Return whether the moments of clusters suffice, so that the points can be streamed."""
    return distance.is_squared or options.method in ("simplified", "bounds")


# ----------------------------------------------------------------------------------------------
# Silhouettes
# ----------------------------------------------------------------------------------------------


def point_silhouettes(
    points: Points, options: SilhouetteOptions, level: str, *, with_neighbor: bool
) -> pl.LazyFrame:
    """Return one row per query.

    Each row contains the columns that identify the cluster, the mean distances a and b, the bounds
    lower and upper on the silhouette, is_exact, and reference_variance. a and b are NULL if only
    their bounds are known. reference_variance is the part of the variance of a group's mean
    silhouette that is due to the random choice of references. The group of a point is the point
    itself, its cluster or its partition, depending on `level` ('point', 'cluster' or 'partition').
    with_neighbor adds id and neighbor, the cluster that b refers to.
    """
    schema = _silhouette_schema(points)
    if options.draws_references(points.distance):
        evaluate = partial(
            _estimate_partition, schema=schema, distance=points.distance, level=level
        )
        drawn = draw_points(
            points, options.sample_size, options.reference_size, options.random_state
        )
        columns = ["id", "is_query", "is_reference", "size", "is_odd"]
        return map_partitions(drawn, evaluate, schema, columns)
    marked = mark_queries(points, options.sample_size, options.random_state)
    if follows_from_moments(points.distance, options):
        queries = marked.kept_rows.filter("is_query")
        return _stream_silhouettes(points, queries, options, with_neighbor=with_neighbor)
    distance = points.distance
    evaluate_many = partial(_evaluate_small_partitions, distance=distance, options=options)
    return map_partitions(
        marked,
        partial(_evaluate_partition, schema=schema, distance=distance, options=options),
        schema,
        ["id", "is_query"],
        function_of_many=evaluate_many if options.tolerance is None else None,
    )


def _silhouette_schema(points: Points) -> pl.Schema:
    """Return the schema of a frame of silhouettes, without the partition columns."""
    types = points.rows.select("id", "cluster").collect_schema()
    single = {"singleton_no": pl.Int64()} if points.has_singletons else {}
    return pl.Schema(
        {
            "id": types["id"],
            "cluster": types["cluster"],
            **single,
            "neighbor": types["cluster"],
            **dict.fromkeys(SILHOUETTE_COLUMNS, pl.Float64()),
            "is_exact": pl.Boolean(),
            "reference_variance": pl.Float64(),
        }
    )


def _as_series(rows: Floats) -> list[pl.Series]:
    """Return the four rows (4, m) as the SILHOUETTE_COLUMNS, with NULL for NaN."""
    named = zip(SILHOUETTE_COLUMNS, rows, strict=True)
    return [pl.Series(name, values).fill_nan(None) for name, values in named]


def _gather_neighbors(labels: pl.Series, indices: Integers) -> pl.Series:
    """Return the labels at the given indices (m,) as a Series named neighbor, with NULL for -1."""
    numbers = pl.Series(indices).cast(pl.Int64)
    return labels.gather(numbers.set(numbers < 0, None)).alias("neighbor")


def _evaluate_partition(
    part: Partition, schema: pl.Schema, distance: Distance, options: SilhouetteOptions
) -> pl.DataFrame:
    """Return one row per query of a partition."""
    is_query = part.rows["is_query"].to_numpy()
    if not is_query.any():
        return pl.DataFrame(schema=schema)
    if options.between == "nearest":
        means, is_exact = partition_means(part, is_query, distance, options.tolerance)
    else:
        means = other_partition_means(part, is_query, distance, options.between)
        is_exact = np.ones(len(means.neighbor), dtype=bool)
    sizes = part.sizes[part.numbers[is_query]]
    columns = means.silhouette_columns(sizes, is_clustering=2 <= len(part.sizes) < len(part.x))
    return _silhouette_rows(part, means.neighbor, columns, is_exact)


def _estimate_partition(
    part: Partition, schema: pl.Schema, distance: Distance, level: str
) -> pl.DataFrame:
    """Return one row per query of a partition of queries and references (see draw_points)."""
    if not part.rows["is_query"].any():
        return pl.DataFrame(schema=schema)
    means, unbiased, variances = estimate_silhouettes(part, distance, level)
    all_sizes = part.rows["size"].to_numpy()[part.starts[:-1]]
    sizes = all_sizes[part.numbers[part.rows["is_query"].to_numpy()]]
    is_clustering = 2 <= len(all_sizes) < all_sizes.sum()
    columns = means.silhouette_columns(sizes, is_clustering=is_clustering)
    if level != "point" and is_clustering:
        columns[2:] = unbiased
    rows = _silhouette_rows(part, means.neighbor, columns, np.ones(len(sizes), dtype=bool))
    return rows.with_columns(reference_variance=pl.Series(variances))


def _evaluate_small_partitions(
    parts: Partitions, distance: Distance, options: SilhouetteOptions
) -> pl.DataFrame:
    """Return the rows of _evaluate_partition, all exact, for many partitions with few points."""
    queries = np.flatnonzero(parts.rows["is_query"].to_numpy())
    own, other, neighbor = own_and_other_means(parts, queries, distance, options.between)
    means = MeanDistances(own, own, other, other, neighbor)
    n_clusters = np.diff(parts.cluster_cuts)
    is_clustering = np.repeat((n_clusters >= 2) & (n_clusters < parts.counts), parts.counts)
    sizes = parts.sizes[parts.numbers[queries]]
    columns = means.silhouette_columns(sizes, is_clustering=is_clustering[queries])
    return _silhouette_rows(parts, neighbor, columns, np.ones(len(queries), dtype=bool))


def _silhouette_rows(
    part: Partition | Partitions, neighbor: Integers, columns: Floats, is_exact: Booleans
) -> pl.DataFrame:
    """Return one row per query, from the index of its neighbor (-1 for none) and columns (4, m)."""
    first_points = np.where(neighbor < 0, -1, part.starts[neighbor])
    neighbors = _gather_neighbors(part.rows["cluster"], first_points)
    rows = part.rows.filter("is_query")
    found = rows.hstack([neighbors, *_as_series(columns), pl.Series("is_exact", is_exact)])
    return found.with_columns(reference_variance=pl.lit(0.0))


def _stream_silhouettes(
    points: Points, queries: pl.LazyFrame, options: SilhouetteOptions, *, with_neighbor: bool
) -> pl.LazyFrame:
    """Return the queries with silhouettes or bounds, computed from moments as the points stream."""
    distance = points.distance
    with_second = options.method == "bounds" and distance.name == "euclidean"
    table, partitions = stream_moments(points, with_second=with_second)
    functions = [
        make_mean_distance_function(
            moments, distance, options.method, options.between, with_neighbor=with_neighbor
        )
        for moments in partitions
    ]
    key_types = points.rows.select(points.partition_keys).collect_schema()
    types = pl.Schema(key_types | _silhouette_schema(points))
    if not with_neighbor:
        types = pl.Schema((name, types[name]) for name in types if name not in ("id", "neighbor"))
    is_exact = options.method != "bounds"
    # Distances to all centers should fit into the cache. Bounds are computed in blocks in any case.
    cells = DISTANCES_PER_BLOCK if is_exact else 2**63
    steps = [max(1, cells // len(moments.centers)) for moments in partitions]
    starts = [moments.start for moments in partitions]
    # Squared distances are computed coordinate by coordinate.
    order: Literal["c", "fortran"] = "fortran" if distance.is_squared else "c"

    def silhouettes_of_batch(batch: pl.DataFrame) -> pl.DataFrame:
        """Return the silhouettes of a batch of points with their cluster numbers."""
        numbers = batch["number"].to_numpy()
        x = points.form.to_matrix(batch, "x", order)
        values = np.empty((len(SILHOUETTE_COLUMNS), len(numbers)))
        neighbors = np.empty(len(numbers), dtype=np.int64)
        for rows, place in split_batch(numbers, starts, steps):
            start, clusters, *_ = partitions[place]
            own_cluster = numbers[rows] - start
            with np.errstate(all="ignore"):
                means = functions[place](x[rows], own_cluster)
                values[:, rows] = means.silhouette_columns(
                    clusters.sizes[own_cluster],
                    is_clustering=2 <= len(clusters.sizes) < clusters.sizes.sum(),
                )
            neighbors[rows] = np.where(means.neighbor < 0, -1, means.neighbor + start)
        columns = [*_as_series(values), pl.Series("is_exact", np.full(len(numbers), is_exact))]
        columns.append(pl.Series("reference_variance", np.zeros(len(numbers))))
        if with_neighbor:
            columns.append(_gather_neighbors(table["cluster"], neighbors))
        return batch.hstack(columns).select(types.names())

    id_column = ["id"] if with_neighbor else []
    columns = *points.cluster_keys, *id_column, *points.form.columns("x")
    numbered = join_cluster_numbers(queries.select(columns), points.cluster_keys, table)
    return map_stream(numbered, silhouettes_of_batch, types)
