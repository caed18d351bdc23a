"""distance_blocks: distances of all pairs of points, in numpy, one block at a time.

No engine has a product of matrices, and a join of points with points would be a row for each pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_clustereval.internal.distances import Distance

    from .arrays import Floats

#: Distances held at a time: a block of them stays in the cache of a core.
CELLS = 2**17


#: Products of matrices of so many multiplications run in the thread that asks for them (OpenBLAS).
#: Of larger ones in several threads each would ask for all cores, and wait for the others.
SINGLE_THREADED = 2**18


ROWS = 128


#: Of |x|^2 + |y|^2: the squares that a product of matrices gives with all digits that count.
CANCELLED = 1e-4


def distance_blocks(
    x: Floats, y: Floats, distance: Distance, cells: int = CELLS
) -> Iterator[tuple[slice, Floats]]:
    """Give the distances of each point of x to all of y, for some points of x at a time.

    For cosine the points are unit vectors. Two zero vectors have the cosine distance 1: leave out
    the pairs of a point with itself.
    """
    return TargetPoints(y, distance).blocks(x, cells)


class _Tile(NamedTuple):
    """Some of the points that distances are taken to, less the middle of all of them."""

    columns: slice
    y: Floats
    #: What [x, |x|^2, 1] is multiplied with to give |x|^2 + |y|^2 - 2 x.y.
    product: Floats
    #: The largest |y|^2.
    largest: float


@dataclass(frozen=True)
class TargetPoints:
    """The points that distances are taken to, made ready once for many blocks."""

    y: Floats
    distance: Distance

    def distances(self, x: Floats) -> Floats:
        """Give the matrix of the distances of x, one row a point."""
        if self.distance.name == "euclidean":
            squares = self.squares(x)
            return np.sqrt(squares, out=squares)
        if self.distance.name == "sqeuclidean":
            return self.squares(x)
        if self.distance.name == "cosine":
            halves = self.squares(x)
            halves *= 0.5
            halves[~x.any(axis=1)] = 1.0
            halves[:, ~self.y.any(axis=1)] = 1.0
            return halves
        return self._summed(x)

    def _summed(self, x: Floats) -> Floats:
        name, p = self.distance
        total = np.zeros((len(x), len(self.y)))
        for i in range(x.shape[1]):
            apart = x[:, i, None] - self.y[:, i]
            np.abs(apart, out=apart)
            if name == "chebyshev":
                np.maximum(total, apart, out=total)
            else:
                total += apart if name == "cityblock" else apart**p
        return total ** (1 / p) if name == "minkowski" else total

    def sums(self, x: Floats) -> Floats:
        """Give the sum of the distances of each point of x."""
        total = np.zeros(len(x))
        if self.distance.name == "euclidean":
            for rows, _, squares in self._tile_squares(x):
                total[rows] += np.sqrt(squares, out=squares).sum(axis=1)
        else:
            for rows, distances in self.blocks(x):
                total[rows] = distances.sum(axis=1)
        return total

    def blocks(self, x: Floats, cells: int = CELLS) -> Iterator[tuple[slice, Floats]]:
        """Give the distances for some points of x at a time."""
        step = max(1, cells // max(1, len(self.y)))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            yield rows, self.distances(x[rows])

    def squares(self, x: Floats) -> Floats:
        """Give the matrix of the squared euclidean distances."""
        squares = np.empty((len(x), len(self.y)))
        for rows, columns, part in self._tile_squares(x):
            squares[rows, columns] = part
        return squares

    def _tile_squares(self, x: Floats) -> Iterator[tuple[slice, slice, Floats]]:
        for start in range(0, len(x), self._rows):
            rows = slice(start, start + self._rows)
            centerd = x[rows] - self._middle
            square = np.einsum("ij,ij->i", centerd, centerd)
            factors = np.column_stack([centerd, square, np.ones(len(centerd))])
            for tile in self._tiles:
                yield rows, tile.columns, _squared_distances(factors, tile)

    @cached_property
    def _middle(self) -> Floats:
        return np.asarray(self.y.mean(axis=0))

    @cached_property
    def _rows(self) -> int:
        width = int(self.y.shape[1]) + 2
        square = min(ROWS, isqrt(SINGLE_THREADED // width))
        return max(1, square, SINGLE_THREADED // (width * len(self.y)))

    @cached_property
    def _tiles(self) -> list[_Tile]:
        step = max(1, SINGLE_THREADED // (self._rows * (self.y.shape[1] + 2)))
        columns = (slice(i, i + step) for i in range(0, len(self.y), step))
        return [self._tile(part) for part in columns]

    def _tile(self, columns: slice) -> _Tile:
        y = self.y[columns] - self._middle
        square = np.einsum("ij,ij->i", y, y)
        product = np.vstack([-2.0 * y.T, np.ones(len(y)), square])
        return _Tile(columns, y, product, float(square.max()))


def _squared_distances(factors: Floats, tile: _Tile) -> Floats:
    """Give squared distances by a product of matrices.

    It loses the digits of points that are near each other and far from the middle: those are worked
    out again, from the differences of their coordinates.
    """
    squares = factors @ tile.product
    limit = CANCELLED * (factors[:, -2] + tile.largest)
    if squares.min() < limit.max():
        _recompute_cancelled(squares, factors[:, :-2], tile.y, limit)
    return squares


def _recompute_cancelled(squares: Floats, x: Floats, y: Floats, limit: Floats) -> None:
    i, j = np.nonzero(squares < limit[:, None])
    if i.size * 20 > squares.size:
        squares[:] = 0.0
        for u in range(x.shape[1]):
            squares += (x[:, u, None] - y[:, u]) ** 2
    else:
        squares[i, j] = ((x[i] - y[j]) ** 2).sum(axis=1)


def distance_matrix(x: Floats, y: Floats, distance: Distance) -> Floats:
    """Give the matrix of distances, one row for each point of x."""
    return TargetPoints(y, distance).distances(x)


def direct_distance_matrix(x: Floats, y: Floats, distance: Distance) -> Floats:
    """Give the matrix of distances from the differences alone: equal pairs have equal distances.

    Ranks hang on that. Coordinates are added one after the other, as DuckDB does, so that both
    engines round alike; y is best in Fortran's order.
    """
    if distance.name not in ("euclidean", "sqeuclidean", "cosine"):
        return distance_matrix(x, y, distance)
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


def matrix_product(a: Floats, b: Floats) -> Floats:
    """Multiply matrices, a few rows and columns at a time; see SINGLE_THREADED."""
    most = max(1, SINGLE_THREADED // a.shape[1])
    width = max(1, min(ROWS, isqrt(most)), most // len(a))
    height = max(1, most // width)
    out = np.empty((len(a), b.shape[1]))
    for i in range(0, len(a), height):
        for j in range(0, b.shape[1], width):
            rows, columns = slice(i, i + height), slice(j, j + width)
            np.matmul(a[rows], b[:, columns], out=out[rows, columns])
    return out
