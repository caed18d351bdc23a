"""partitions: applies a numpy function to each partition's points when a result is collected."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.frames import map_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polars_clustereval.internal.centroids import Points

    from .arrays import Booleans, Floats, Integers

#: If a partition has at most this many points, its pairs are measured together with those of other
#: partitions.
MAX_SMALL_POINTS = 64
#: The number of pairs of points that are measured together. A few arrays of this length fit into
#: the cache of a core.
PAIRS_PER_BATCH = 2**16


class Partition(NamedTuple):
    """The m points of a partition with k clusters, sorted by cluster.

    Clusters are numbered from 0 in their sort order.
    """

    #: One row per point: the keys of its cluster, and the columns requested in map_partitions.
    rows: pl.DataFrame
    #: (m, d): the points.
    x: Floats
    #: (k + 1,): where each cluster starts, and m at the end.
    starts: Integers

    @property
    def sizes(self) -> Integers:
        """The number of points (k,) in each cluster."""
        return np.diff(self.starts)

    @property
    def members(self) -> list[Floats]:
        """The points (n, d) of each cluster, one array per cluster."""
        return np.split(self.x, self.starts[1:-1])

    @property
    def numbers(self) -> Integers:
        """The cluster number (m,) of each point, from 0 to k - 1."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def points_of_cluster(self, number: int) -> Floats:
        """Return the points (n, d) of the cluster with the given number."""
        return self.x[self.starts[number] : self.starts[number + 1]]


class Partitions(NamedTuple):
    """The m points of several partitions, sorted by partition and cluster.

    Clusters and partitions are numbered from 0 in their sort order. Cluster numbers continue from
    one partition to the next.
    """

    #: One row per point, as in Partition.
    rows: pl.DataFrame
    #: (m, d): the points.
    x: Floats
    #: (k + 1,): where each cluster starts, and m at the end.
    starts: Integers
    #: (q + 1,): where each partition starts, and m at the end.
    partition_starts: Integers

    @property
    def sizes(self) -> Integers:
        """The number of points (k,) in each cluster."""
        return np.diff(self.starts)

    @property
    def numbers(self) -> Integers:
        """The cluster number (m,) of each point."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def counts(self) -> Integers:
        """The number of points (q,) in each partition."""
        return np.diff(self.partition_starts)

    @property
    def cluster_cuts(self) -> Integers:
        """The index (q + 1,) of the first cluster in each partition, followed by k."""
        return np.searchsorted(self.starts, self.partition_starts)

    def slice(self, first: int, stop: int) -> Partitions:
        """Return the partitions with the numbers `first` through `stop` - 1."""
        start, end = self.partition_starts[[first, stop]]
        cuts = np.searchsorted(self.starts, (start, end))
        starts = self.starts[cuts[0] : cuts[1] + 1] - start
        cut = slice(start, end)
        partition_starts = self.partition_starts[first : stop + 1] - start
        return Partitions(self.rows[cut], self.x[cut], starts, partition_starts)

    def select(self, chosen: Booleans) -> Partitions:
        """Return the partitions where `chosen` (q,) is true."""
        if chosen.all():
            return self
        is_kept = np.repeat(chosen, self.counts)
        sizes = self.sizes[np.repeat(chosen, np.diff(self.cluster_cuts))]
        cuts = _cumulate(sizes), _cumulate(self.counts[chosen])
        return Partitions(self.rows.filter(is_kept), self.x[is_kept], *cuts)

    def split(self) -> Iterator[Partition]:
        """Yield the partitions one by one."""
        for number in range(len(self.counts)):
            part = self.slice(number, number + 1)
            yield Partition(part.rows, part.x, part.starts)

    def batches(self) -> Iterator[Partitions]:
        """Yield groups of partitions that have about PAIRS_PER_BATCH pairs of points in total."""
        ends = np.cumsum(self.counts.astype(np.int64) ** 2) // PAIRS_PER_BATCH
        cuts = np.flatnonzero(np.diff(ends, prepend=-1, append=-1))
        for first, stop in pairwise(cuts.tolist()):
            yield self.slice(first, stop)


def _cumulate(sizes: Integers) -> Integers:
    """Return the starts of consecutive groups of these sizes, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)])


def map_partitions(
    points: Points,
    function: Callable[[Partition], pl.DataFrame],
    schema: pl.Schema,
    columns: Sequence[str] = (),
    *,
    prefix: str = "x",
    checked: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows,
    function_of_many: Callable[[Partitions], pl.DataFrame] | None = None,
) -> pl.LazyFrame:
    """Return the rows that `function` computes for all partitions, with the partition columns.

    `function` is called when the result is collected, with all points in memory. `schema` is that
    of its rows. The rows of a Partition contain the cluster keys and the specified `columns` of
    points.kept_rows, and its x is the vector `prefix`. `checked` adds a check that runs before
    `function` to the rows of all points. Without partition columns, all points form one partition,
    even if there are no points. For partitions with few points, one call of `function_of_many`,
    which also returns the partition columns, replaces many calls of `function`.
    """
    keys = points.partition_keys
    x = points.form.columns(prefix)
    rows = checked(points.kept_rows.select(*points.cluster_keys, *columns, *x))
    rows = rows.sort(points.cluster_keys, nulls_last=True)
    types = pl.Schema(rows.select(keys).collect_schema() | schema)

    def results_of_partitions(rows: pl.DataFrame) -> pl.DataFrame:
        """Return the results for all partitions, computed from the collected rows of all points."""
        matrix = points.form.to_matrix(rows, prefix)
        if not np.isfinite(matrix).all():
            raise points.fault_error()
        starts = _run_starts(rows, points.cluster_keys)
        parts = Partitions(rows.drop(x), matrix, starts, partition_starts(rows, keys))
        is_small = parts.counts <= MAX_SMALL_POINTS
        if function_of_many is None or np.count_nonzero(is_small) < 2:
            is_small[:] = False
        # The checks of the points report an overflow as an error.
        with np.errstate(all="ignore"):
            results = _map_singly(parts.select(~is_small), function, keys, schema)
            if function_of_many is not None:
                results += map(function_of_many, parts.select(is_small).batches())
        frames = [result.select(types.names()).cast(types) for result in results]
        return pl.concat([types.to_frame(), *frames])

    return map_whole(rows, results_of_partitions, types)


def _map_singly(
    parts: Partitions,
    function: Callable[[Partition], pl.DataFrame],
    keys: list[str],
    schema: pl.Schema,
) -> list[pl.DataFrame]:
    """Return a list with the frame of all partitions' rows, or an empty list without partitions."""
    results = [function(part).select(schema.names()) for part in parts.split()]
    if not results:
        return []
    firsts = np.repeat(parts.partition_starts[:-1], [result.height for result in results])
    return [pl.concat(results).hstack([parts.rows[key].gather(firsts) for key in keys])]


def partition_starts(rows: pl.DataFrame, keys: list[str]) -> Integers:
    """Return the first row of each partition of sorted rows, followed by the number of rows."""
    return _run_starts(rows, keys) if keys else np.array([0, rows.height])


def _run_starts(rows: pl.DataFrame, keys: list[str]) -> Integers:
    """Return the first row index of each run of equal `keys`, followed by the number of rows."""
    runs = rows.select(pl.struct(keys).rle_id()).to_series().to_numpy().astype(np.int64)
    return np.flatnonzero(np.diff(runs, prepend=-1, append=-1))
