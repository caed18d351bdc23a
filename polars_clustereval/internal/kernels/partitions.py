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
    """The points of one partition, cluster after cluster."""

    #: The rows: `cluster` and what else was asked for, sorted by cluster.
    rows: pl.DataFrame
    #: One row a point.
    x: Floats
    #: Where each cluster starts, and at the end the number of points.
    starts: Integers

    @property
    def sizes(self) -> Integers:
        return np.diff(self.starts)

    @property
    def members(self) -> list[Floats]:
        """The points of each cluster."""
        return np.split(self.x, self.starts[1:-1])

    @property
    def numbers(self) -> Integers:
        """The number of each point's cluster."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def map_partitions(
    points: Points,
    function: Callable[[Partition], pl.DataFrame],
    schema: pl.Schema,
    columns: Sequence[str] = (),
    *,
    prefix: str = "x",
    checked: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows,
) -> pl.LazyFrame:
    """Give what the function makes of each partition, below the partition columns.

    Without partition columns all points are one, also if there are none.
    The points of all partitions are in memory at once; `columns` are those of the rows that the
    function needs besides the cluster, `prefix` is that of the coordinates it is given, and
    `checked` adds to the rows what is to be an error before it starts.
    """
    keys = points.partition_keys
    by = [name for name in points.cluster_keys if name not in keys]
    x = points.vector_columns(prefix)
    rows = checked(points.kept_rows.select(*points.cluster_keys, *columns, *x)).sort(
        points.cluster_keys, nulls_last=True
    )
    key_types = rows.select(keys).collect_schema()

    def evaluated(rows: pl.DataFrame) -> pl.DataFrame:
        parts = rows.partition_by(keys, maintain_order=True) if keys else [rows]
        found = [pl.DataFrame(schema=key_types | schema)]
        for part in parts:
            changes = part.select(pl.struct(by).rle_id().rle().struct.field("len"))
            starts = np.concatenate([[0], changes.to_series().to_numpy()]).cumsum()
            matrix = points.form.to_matrix(part, prefix)
            if not np.isfinite(matrix).all():
                raise points.fault_error()
            made = function(Partition(part.drop(x), matrix, starts.astype(np.int64)))
            key = [pl.lit(part[name][0], key_types[name]).alias(name) for name in keys]
            found.append(made.select(*key, *(pl.col(n).cast(t) for n, t in schema.items())))
        return pl.concat(found)

    return rows.map_batches(
        evaluated,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=pl.Schema(key_types | schema),
    )
