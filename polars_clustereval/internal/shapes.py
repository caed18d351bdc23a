"""shapes: the connected parts of sampled points, and the clusters that agree with them or not.

Points of a sample are linked if each is among the nearest neighbors of the other in the sample, and
a part is a set of points that links connect. Unlike distances to centers, parts tell rings from
chains. Scattered points are no neighbors of dense ones, so they do not join parts.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.checks import check_column
from polars_clustereval.base.parts import label_parts
from polars_clustereval.base.tables import keep_arguments, pass_arguments_to

from .centroids import Points, check_point_options, read_rows
from .kernels.partitions import Partition, map_partitions
from .nearest_neighbors import find_neighbors
from .pairwise import scale_points
from .silhouette_sampling import draw_sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Keys, NoiseAs

    from .distances import DistanceName
    from .kernels.arrays import Integers
    from .vectors import Missing, Vector

#: The largest number of points in the sample of a partition, and of neighbors of each of them.
SAMPLE_SIZE, N_NEIGHBORS = 1000, 15


@keep_arguments
def cluster_shapes(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    random_state: int = 0,
    missing: Missing = "error",
) -> pl.LazyFrame:
    """Return one row per cluster with sampled points, with the partition columns and `cluster`.

    n_sampled points of the cluster are in parts, and n_own of them in the largest part that is all
    but its own. n_parts is the number of parts that are not tiny. In one row per partition whose
    clusters contradict the parts, cut_cluster is not NULL: the two clusters divide a part, of which
    the cluster of the row has cut_share of the points of the partition, although it also has points
    of another part. Points without finite distances, for which the tables of distances raise
    errors, are left out.
    """
    options = pass_arguments_to(check_point_options)
    row_id: Any = "number" if id is None else check_column(frame.lazy(), id, "id").alias("id")
    points = read_rows(frame, vector, cluster, options, results=(), row_id=row_id)
    drawn = draw_sample(points, SAMPLE_SIZE, int(random_state))
    dtype = points.rows.collect_schema()["cluster"]
    schema = pl.Schema(
        {
            "cluster": dtype,
            **dict.fromkeys(("n_sampled", "n_own", "n_parts"), pl.Int64()),
            "cut_cluster": dtype,
            "cut_share": pl.Float64(),
        }
    )
    finite = replace(points, rows=drawn.filter(points.form.norm("raw_x").is_finite()))
    judge = partial(_judge_clusters, points=points, schema=schema)
    shapes = map_partitions(finite, judge, schema, ["place"], prefix="raw_x")
    return shapes.rename(points.keys)


def _judge_clusters(part: Partition, points: Points, schema: pl.Schema) -> pl.DataFrame:
    """Return the rows of cluster_shapes for the sampled points of a partition, without its keys."""
    order = part.rows["place"].arg_sort().to_numpy()
    # Two parts have more points than this.
    if len(order) <= 2 * N_NEIGHBORS:
        return schema.to_frame()
    i, j, d = find_neighbors(scale_points(part.x[order], points), points, N_NEIGHBORS)
    is_mutual = np.isin(i * len(order) + j, j * len(order) + i)
    labels = label_parts(i[is_mutual], j[is_mutual], len(order))
    _, parts = np.unique(labels, return_inverse=True)
    # Copies of a point that have no other neighbors are a part, whatever is next to them.
    is_counted = d[N_NEIGHBORS - 1 :: N_NEIGHBORS] > 0
    is_counted &= 10 * is_counted.sum() >= 9 * len(order)
    table = np.zeros((parts.max() + 1, len(part.sizes)), np.int64)
    np.add.at(table, (parts[is_counted], part.numbers[order][is_counted]), 1)
    sizes = table.sum(axis=1, keepdims=True)
    cut, divided, share = _find_cut(table)
    names = part.rows["cluster"].gather(part.starts[:-1])
    return pl.DataFrame(
        {
            "cluster": names,
            "n_sampled": table.sum(axis=0),
            "n_own": np.where(20 * table >= 19 * sizes, table, 0).max(axis=0),
            "n_parts": np.full(len(names), (50 * sizes >= sizes.sum()).sum()),
            "cut_cluster": names.gather(np.full(len(names), divided)),
            "cut_share": np.full(len(names), share),
        }
    ).with_columns(cut_cluster=pl.when(pl.int_range(pl.len()) == cut).then("cut_cluster"))


def _find_cut(table: Integers) -> tuple[int, int, float]:
    """Return the numbers of two clusters that contradict the parts, or -1, and cut_share.

    `table` (m, k) has the number of points by part and cluster.
    """
    sizes, n = table.sum(axis=1, keepdims=True), table.sum()
    cluster_sizes, is_large = table.sum(axis=0), 50 * sizes >= n
    is_shared = is_large & (table >= 5) & (10 * table >= sizes) & (10 * table >= cluster_sizes)
    is_cut = is_shared & (is_shared.sum(axis=0) > 1) & (is_shared.sum(axis=1, keepdims=True) > 1)
    # With fewer clusters than parts, clusters have to join some.
    if not is_cut.any() or is_large.sum() > (cluster_sizes > 0).sum():
        return -1, 0, 0.0
    part, one = np.nonzero(is_cut)
    place, other = np.nonzero(is_shared[part])
    part, one = part[place], one[place]
    part, one, other = (x[one != other] for x in (part, one, other))
    first = np.lexsort((other, one, -table[part, other], -table[part, one]))[0]
    return int(one[first]), int(other[first]), float(table[part, one][first] / n)
