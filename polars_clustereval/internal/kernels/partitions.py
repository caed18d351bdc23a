"""partitions: a numpy function of the points of each partition, called on collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polars_clustereval.internal.centroids import Points

    from .arrays import Floats, Integers


class Partition(NamedTuple):
    """The m points of one partition in k clusters, sorted by cluster.

    Clusters are numbered from 0 in this order.
    """

    #: One row per point: the keys of its cluster, and the columns asked for in map_partitions.
    rows: pl.DataFrame
    #: (m, d): the points.
    x: Floats
    #: (k + 1,): where each cluster starts, and m at the end.
    starts: Integers

    @property
    def sizes(self) -> Integers:
        """(k,): number of points of each cluster."""
        return np.diff(self.starts)

    @property
    def members(self) -> list[Floats]:
        """The points (n, d) of each cluster, one array per cluster."""
        return np.split(self.x, self.starts[1:-1])

    @property
    def numbers(self) -> Integers:
        """(m,): number of each point's cluster, from 0 to k - 1."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def points_of_cluster(self, number: int) -> Floats:
        """Return the points (n, d) of the cluster of this number."""
        return self.x[self.starts[number] : self.starts[number + 1]]


def map_partitions(
    points: Points,
    function: Callable[[Partition], pl.DataFrame],
    schema: pl.Schema,
    columns: Sequence[str] = (),
    *,
    prefix: str = "x",
    checked: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows,
) -> pl.LazyFrame:
    """Return the rows that the function returns for each partition, with the partition columns.

    The function is called when the result is collected, and all points are then in memory. `schema`
    is that of its rows. The rows of the Partition that it gets have the keys of the cluster and the
    columns of points.kept_rows named by `columns`; its x are the vectors of the prefix, such as
    "x", or "raw_x" for the user's own coordinates. `checked` returns the rows of all points with
    validation attached, which runs before the function. Without partition columns all points are
    one partition, even if there are none.
    """
    keys = points.partition_keys
    x = points.vector_columns(prefix)
    rows = checked(points.kept_rows.select(*points.cluster_keys, *columns, *x))
    rows = rows.sort(points.cluster_keys, nulls_last=True)
    key_types = rows.select(keys).collect_schema()

    def evaluate(rows: pl.DataFrame) -> pl.DataFrame:
        """Return the results for all partitions, from the collected rows of all points."""
        parts = rows.partition_by(keys, maintain_order=True) if keys else [rows]
        results = [pl.DataFrame(schema=key_types | schema)]
        for part in parts:
            matrix = points.form.to_matrix(part, prefix)
            if not np.isfinite(matrix).all():
                raise points.fault_error()
            starts = _cluster_starts(part, points.own_keys)
            result = function(Partition(part.drop(x), matrix, starts))
            key = [pl.lit(part[name][0], key_types[name]).alias(name) for name in keys]
            results.append(result.select(*key, *(pl.col(n).cast(t) for n, t in schema.items())))
        return pl.concat(results)

    return rows.map_batches(
        evaluate,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=pl.Schema(key_types | schema),
    )


def _cluster_starts(rows: pl.DataFrame, keys: list[str]) -> Integers:
    """Return the first row of each of k clusters, and the number of rows: (k + 1,).

    The rows are sorted by the columns `keys`, which identify a cluster.
    """
    sizes = rows.select(pl.struct(keys).rle_id().rle().struct.field("len"))
    starts = np.concatenate([[0], sizes.to_series().to_numpy()]).cumsum()
    return np.asarray(starts.astype(np.int64))
