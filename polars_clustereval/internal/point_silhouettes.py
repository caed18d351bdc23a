"""point_silhouettes: the silhouettes of queries, computed from their mean distances.

A query is a point whose silhouette is computed (see silhouette_queries).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from .kernels.distance_blocks import DISTANCES_PER_BLOCK
from .kernels.partitions import Partition, Partitions, map_partitions
from .kernels.small_partitions import own_and_other_means
from .kernels.streams import map_stream, split_batch
from .mean_distance_bounds import make_mean_distance_function, partition_means
from .mean_distances import (
    SILHOUETTE_COLUMNS,
    MeanDistances,
    join_cluster_numbers,
    stream_moments,
)
from .other_means import other_partition_means
from .silhouette_queries import SilhouetteOptions, follows_from_moments, is_squared_distance
from .silhouette_sampling import draw_points, estimate_silhouettes, mark_queries

if TYPE_CHECKING:
    from .centroids import Points
    from .distances import Distance
    from .kernels.arrays import Booleans, Floats, Integers


def point_silhouettes(
    points: Points, options: SilhouetteOptions, level: str, *, with_neighbor: bool
) -> pl.LazyFrame:
    """Return one row per query, where the queries are all points or the points of a sample.

    Each row contains the columns that identify the cluster, the mean distances a and b, the bounds
    lower and upper on the silhouette, is_exact, and reference_variance. The mean distances are NULL
    if only their bounds are known. The column reference_variance is the part of the variance of a
    group's mean silhouette that is due to the random choice of references. The group of a point is
    the point itself, its cluster or its partition, depending on whether `level` is 'point',
    'cluster' or 'partition'. If with_neighbor is true, each row also contains the columns id and
    neighbor, where neighbor is the cluster that b refers to.
    """
    schema = _silhouette_schema(points)
    if options.draws_references(points.distance):
        evaluate = partial(
            _estimate_partition, schema=schema, distance=points.distance, level=level
        )
        columns = ["id", "is_query", "is_reference", "size", "is_odd"]
        return map_partitions(draw_points(points, options), evaluate, schema, columns)
    marked = mark_queries(points, options)
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
    """Return the schema of a frame of silhouettes: id, cluster, neighbor, and numeric columns."""
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
    """Return the four rows (4, m) as Series named a, b, lower and upper, with NULL for NaN."""
    named = zip(SILHOUETTE_COLUMNS, rows, strict=True)
    return [pl.Series(name, values).fill_nan(None) for name, values in named]


def _gather_neighbors(labels: pl.Series, indices: Integers) -> pl.Series:
    """Return the labels at the given indices (m,) as a Series named neighbor, with NULL for -1."""
    numbers = pl.Series(indices).cast(pl.Int64)
    return labels.gather(numbers.set(numbers < 0, None)).alias("neighbor")


def _evaluate_partition(
    part: Partition, schema: pl.Schema, distance: Distance, options: SilhouetteOptions
) -> pl.DataFrame:
    """Return one row per query of a partition: its silhouette, or bounds on the silhouette.

    The queries are the points where is_query is true. `schema` is the schema of the result. With a
    tolerance, some Euclidean silhouettes may be returned as bounds, as long as the mean width
    (upper - lower) of all silhouettes does not exceed the tolerance. Exact silhouettes have a width
    of 0.
    """
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
    """Return the estimated silhouettes of the queries of a partition, one row per query.

    The queries are the points where is_query is true. `part` holds the queries and the references
    of the clusters, with the columns is_query, is_reference and size. `level` is the level of
    reference_variance, as in point_silhouettes.
    """
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
    """Return a row for each of the m queries, with its silhouette in four columns.

    `neighbor` (m,) holds the indices of the neighbor clusters, or -1 where there is none. `columns`
    (4, m) holds the values of SILHOUETTE_COLUMNS, and `is_exact` (m,) marks exact silhouettes.
    """
    first_points = np.where(neighbor < 0, -1, part.starts[neighbor])
    neighbors = _gather_neighbors(part.rows["cluster"], first_points)
    rows = part.rows.filter("is_query")
    found = rows.hstack([neighbors, *_as_series(columns), pl.Series("is_exact", is_exact)])
    return found.with_columns(reference_variance=pl.lit(0.0))


def _stream_silhouettes(
    points: Points, queries: pl.LazyFrame, options: SilhouetteOptions, *, with_neighbor: bool
) -> pl.LazyFrame:
    """Return `queries`, one row per point, with the columns a, b, lower, upper and is_exact.

    The values are computed as the points are streamed. The columns lower and upper are bounds on
    the silhouette. If with_neighbor is true, the result also has a column neighbor, which contains
    the cluster that b refers to. The clusters are first reduced to moments, such as means. Method
    'bounds' yields only bounds.
    """
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
    order: Literal["c", "fortran"] = "fortran" if is_squared_distance(points.distance) else "c"

    def silhouettes_of_batch(batch: pl.DataFrame) -> pl.DataFrame:
        """Return the silhouettes of a batch of points.

        The batch contains the cluster number of each point.
        """
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
    columns = *points.cluster_keys, *id_column, *points.vector_columns("x")
    numbered = join_cluster_numbers(queries.select(columns), points.cluster_keys, table)
    return map_stream(numbered, silhouettes_of_batch, types)
