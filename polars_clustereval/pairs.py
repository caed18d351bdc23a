"""pairs: what takes all pairs of points, in numpy, one partition and one block at a time.

No engine has a product of matrices, and a join of points with points would be a row for each pair.
This is the one place where coordinates leave the engine: the rooms hand it a function of a whole
partition, and the engine hands it the rows when the result is collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .points import _Distance, _Points

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__: list[str] = []

#: Distances held at a time: a block of them stays in the cache of a core.
CELLS = 2**17
#: Of |x|^2 + |y|^2: the squares that a product of matrices gives with all digits that count.
CANCELLED = 1e-4


class _Partition(NamedTuple):
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
    def numbers(self) -> Integers:
        """The number of each point's cluster."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def _by_partition(
    points: _Points,
    function: Callable[[_Partition], pl.DataFrame],
    schema: pl.Schema,
    columns: Sequence[str] = (),
    *,
    prefix: str = "x",
    checked: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda rows: rows,
) -> pl.LazyFrame:
    """Give what the function makes of each partition, below the partition columns.

    The points of all partitions are in memory at once; `columns` are those of the rows that the
    function needs besides the cluster, `prefix` is that of the coordinates it is given, and
    `checked` adds to the rows what is to be an error before it starts.
    """
    keys = list(points.keys)
    by = [name for name in points.by if name not in keys]
    x = points.columns(prefix)
    rows = checked(points.kept.select(*points.by, *columns, *x)).sort(points.by, nulls_last=True)
    key_types = rows.select(keys).collect_schema()

    def evaluated(rows: pl.DataFrame) -> pl.DataFrame:
        parts = rows.partition_by(keys, maintain_order=True) if keys else [rows]
        found = [pl.DataFrame(schema=key_types | schema)]
        for part in parts:
            changes = part.select(pl.struct(by).rle_id().rle().struct.field("len"))
            starts = np.concatenate([[0], changes.to_series().to_numpy()]).cumsum()
            matrix = np.ascontiguousarray(part.select(x).to_numpy())
            made = function(_Partition(part.drop(x), matrix, starts.astype(np.int64)))
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


def _distance_blocks(
    x: Floats, y: Floats, distance: _Distance, cells: int = CELLS
) -> Iterator[tuple[slice, Floats]]:
    """Give the distances of each point of x to all of y, for some points of x at a time.

    For cosine the points are unit vectors. Two zero vectors have the cosine distance 1: leave out
    the pairs of a point with itself.
    """
    step = max(1, cells // max(1, len(y)))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        yield rows, _distances(x[rows], y, distance)


def _distances(x: Floats, y: Floats, distance: _Distance) -> Floats:
    """Give the matrix of distances."""
    if distance.name in ("euclidean", "sqeuclidean"):
        squares = _squares(x, y)
        return np.sqrt(squares, out=squares) if distance.name == "euclidean" else squares
    if distance.name == "cosine":
        halves = _squares(x, y) / 2
        halves[~x.any(axis=1)] = 1.0
        halves[:, ~y.any(axis=1)] = 1.0
        return halves
    total = np.zeros((len(x), len(y)))
    for i in range(x.shape[1]):
        apart = np.abs(x[:, i, None] - y[:, i])
        if distance.name == "chebyshev":
            np.maximum(total, apart, out=total)
        else:
            total += apart if distance.name == "cityblock" else apart**distance.p
    return total ** (1 / distance.p) if distance.name == "minkowski" else total


def _direct_distances(x: Floats, y: Floats, distance: _Distance) -> Floats:
    """Give the matrix of distances from the differences alone: equal pairs have equal distances.

    Ranks hang on that. Coordinates are added one after the other, as DuckDB does, so that both
    engines round alike; y is best in Fortran's order.
    """
    if distance.name not in ("euclidean", "sqeuclidean", "cosine"):
        return _distances(x, y, distance)
    squares = np.zeros((len(x), len(y)))
    for i in range(x.shape[1]):
        apart = x[:, i, None] - y[:, i]
        apart *= apart
        squares += apart
    d: Floats = np.sqrt(squares, out=squares)
    if distance.name == "euclidean":
        return d
    d *= d
    if distance.name == "cosine":
        d /= 2
        d[d < 1e-15] = 0.0  # vectors of one direction: nothing but rounding
        d[~x.any(axis=1)] = 1.0
        d[:, ~y.any(axis=1)] = 1.0
    return d


def _squares(x: Floats, y: Floats) -> Floats:
    """Give the squared euclidean distances: |x|^2 + |y|^2 - 2 x.y, or the differences' own squares.

    The sum loses the digits of points that are near each other and far from the origin.
    """
    middle = y.mean(axis=0)
    x, y = x - middle, y - middle
    x_square, y_square = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", y, y)
    squares = x @ (-2.0 * y.T)
    squares += x_square[:, None]
    squares += y_square
    cancelled = squares < CANCELLED * (x_square[:, None] + y_square.max())
    count = np.count_nonzero(cancelled)
    if count * 20 > squares.size:
        squares[:] = 0.0
        for i in range(x.shape[1]):
            squares += (x[:, i, None] - y[:, i]) ** 2
    elif count:
        rows, columns = np.nonzero(cancelled)
        squares[rows, columns] = ((x[rows] - y[columns]) ** 2).sum(axis=1)
    return squares
