"""long_sums: sums of long vectors for each cluster, and sums of their distances to centers.

numpy adds up the batches of rows as they are streamed, so only the sums are kept in memory.
`numbers` (m,) holds the cluster number of each row, from 0 to k - 1.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from .arrays import measure_differences, minkowski_lengths
from .long_vectors import (
    CLUSTERS_SUMMED_SINGLY,
    allocate_block,
    append_columns,
    number_groups,
    read_matrix,
    reduce_by_number,
    split_rows,
    sum_by_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from .arrays import Floats, Integers

# ----------------------------------------------------------------------------------------------
# Vectors
# ----------------------------------------------------------------------------------------------


def sum_batch(batch: pl.DataFrame, by: list[str], schema: pl.Schema) -> pl.DataFrame:
    """Return one row per group in a batch, with the columns `by`, the group size, and the sum of x.

    If the flag `kept` of a group is false, its sums are 0.
    """
    if batch.is_empty():
        return pl.DataFrame(schema=schema)
    groups, numbers = number_groups(batch, by)
    x, kept = read_matrix(batch["x"]), groups["kept"].to_numpy()
    sums = np.zeros((len(groups), x.shape[1]))
    with np.errstate(all="ignore"):
        for rows, block in _sorted_blocks(x, numbers):
            if kept[numbers[rows]].any():
                _add_by_number(sums, block, numbers[rows])
    sums[~kept] = 0
    return append_columns(groups, by, [np.bincount(numbers), sums], schema)


def _sorted_blocks(x: NDArray[Any], numbers: Integers) -> Iterator[tuple[Integers, NDArray[Any]]]:
    """Yield the rows of x (m, d) in blocks, sorted by cluster number, along with their indices."""
    order, buffer = np.argsort(numbers, kind="stable"), allocate_block(x, x.dtype)
    for rows in split_rows(order, x.shape[1]):
        yield rows, np.take(x, rows, axis=0, out=buffer[: len(rows)], mode="clip")


def _blocks_in_order(x: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield the rows of x (m, d) in blocks, in their original order, with each block's slice."""
    for part in split_rows(range(len(x)), x.shape[1]):
        rows = slice(part.start, part.stop)
        yield rows, x[rows]


def _add_by_number(sums: Floats, block: NDArray[Any], numbers: Integers) -> None:
    """Add the rows of `block` (m, d) to their sums (k, d) in double precision, sorted by number."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    if len(starts) > CLUSTERS_SUMMED_SINGLY:
        sums[numbers[starts]] += np.add.reduceat(block, starts, dtype=np.float64)
        return
    # For large clusters, adding them one by one takes half the time.
    for number, rows in zip(numbers[starts], np.split(block, starts[1:]), strict=True):
        sums[number] += rows.sum(axis=0, dtype=np.float64)


def centers_of_sums(sums: Floats, sizes: Integers, partitions: Integers) -> tuple[Floats, Floats]:
    """Return the means (k, d) of clusters and those of their partitions."""
    means = sums / sizes[:, None]
    middles = sum_by_number(sums, partitions) / sum_by_number(sizes, partitions)[:, None]
    # If all means are equal, they are the mean of the partition, whatever the rounding errors are.
    low, high = (reduce_by_number(by, means, partitions) for by in (np.minimum, np.maximum))
    return means, np.clip(middles, low, high)[partitions]


def variance_totals(within: Floats, between: Floats, partitions: Integers) -> tuple[Floats, Floats]:
    """Return the mean share of variance between clusters, and the norm of the sums of squares.

    Each result has one value per cluster, which describes its whole partition. `within` and
    `between` (k, d) hold the sums of squares of each coordinate. The mean of the shares of the
    coordinates is NaN if any coordinate is constant.
    """
    between = sum_by_number(between, partitions)
    whole = between + sum_by_number(within, partitions)
    shares = (between / whole).mean(axis=1)
    return shares[partitions], minkowski_lengths(whole, 2)[partitions]


# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


class DistanceSums:
    """Sums of the distances from the points of k clusters to the cluster and partition centers.

    Batches of points may be added from any thread.
    """

    def __init__(
        self,
        centers: Floats,
        middles: Floats | None,
        distance: tuple[str, float],
        *,
        needs_squares: bool,
    ) -> None:
        """Start with no points.

        `centers` and `middles` (k, d), if needed, are the centers of clusters and of their
        partitions. needs_squares sums the squared differences from the centers for each coordinate.
        """
        self._centers, self._middles, self._distance = centers, middles, distance
        k = len(centers)
        #: For each cluster: the sum of the distances, the sum of their squares, the largest
        #: distance, and the sum of the distances to the center of the partition.
        self.distances, self.ssw, self.radius, self.overall = np.zeros((4, k))
        #: Sums of squares (k, d), if needed.
        self.squares = np.zeros(centers.shape if needs_squares else (0, 0))
        self._lock = Lock()
        self._is_stopped = False

    def stop(self) -> None:
        """Interrupt all running calls to `add`, in any thread, by making them raise an error."""
        self._is_stopped = True

    def add(self, vectors: pl.Series, numbers: Integers) -> None:
        """Add the points in a column of m arrays to the clusters with the given numbers (m,)."""
        if vectors.is_empty():
            return
        x = read_matrix(vectors)
        own, overall = np.zeros((2, len(x)))
        squares, differences = np.zeros(self.squares.shape), allocate_block(x)
        for rows, block in _sorted_blocks(x, numbers) if squares.size else _blocks_in_order(x):
            if self._is_stopped:
                raise InterruptedError
            d = differences[: len(block)]
            if self._middles is not None:
                overall[rows] = self._measure(block, self._middles, numbers[rows], d)
            own[rows] = self._measure(block, self._centers, numbers[rows], d, squares)
        self._add_distances(own, overall, numbers, squares)

    def _measure(
        self,
        x: NDArray[Any],
        targets: Floats,
        numbers: Integers,
        differences: Floats,
        squares: Floats | None = None,
    ) -> Floats:
        """Return the distance from each point of x (m, d) to its cluster's row of `targets`.

        `differences` (m, d) is scratch memory. The squared differences are added to `squares` (k,
        d), if any.
        """
        np.take(targets, numbers, axis=0, out=differences, mode="clip")
        np.subtract(x, differences, out=differences)
        if squares is not None and squares.size:
            _add_by_number(squares, np.square(differences), numbers)
        return measure_differences(differences, *self._distance)

    def _add_distances(
        self, own: Floats, overall: Floats, numbers: Integers, squares: Floats
    ) -> None:
        """Add the distances of points (m,) to the totals of their clusters, and update the radii.

        `own` and `overall` are distances to the centers of the cluster and of the partition.
        `squares` (k, d) are sums of squares of each coordinate in each cluster.
        """
        k = len(self._centers)
        terms = own if self._distance[0] == "sqeuclidean" else own**2
        found, order = np.zeros(k), np.argsort(numbers, kind="stable")
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        found[numbers[order[starts]]] = np.maximum.reduceat(own[order], starts)
        with self._lock:
            self.distances += np.bincount(numbers, own, k)
            self.ssw += np.bincount(numbers, terms, k)
            self.overall += np.bincount(numbers, overall, k)
            np.maximum(self.radius, found, out=self.radius)
            self.squares += squares
