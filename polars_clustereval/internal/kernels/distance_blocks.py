"""distance_blocks: distances between all pairs of points, computed block by block with numpy.

Neither DuckDB nor Polars can multiply matrices, and joining the points with themselves would
require one row per pair. Distances are computed from points x (m, d) to target points y (n, d).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import measured_pairs
from .arrays import zero_if_parallel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polars_clustereval.internal.distances import Distance

    from .arrays import Floats

#: The number of distances of a block, which fits into the cache of a core.
DISTANCES_PER_BLOCK = 2**17
#: The number of points on each side of a block if the distances of all pairs are computed.
TILE_POINTS = 1024
#: The maximum number of multiplications in a product of matrices that OpenBLAS computes in the
#: calling thread. For larger products, each of several threads would start one thread per core.
SINGLE_THREAD_MULTIPLICATIONS = 2**18
#: The number of points of x whose distances are computed together.
_MAX_TILE_ROWS = 128
#: A squared distance from a product of matrices has lost digits if it is below this share of |x|^2
#: + |y|^2.
CANCELLATION_LIMIT = 1e-4


def distance_blocks(
    x: Floats, y: Floats, distance: Distance, cells: int = DISTANCES_PER_BLOCK
) -> Iterator[tuple[slice, Floats]]:
    """Yield the distances from x (m, d) to y (n, d), one block of rows of x at a time.

    A block, with at most `cells` distances unless a single row has more, is a slice of x and the
    distances (rows, n). For cosine distances, the points must be unit vectors. The cosine distance
    from a zero vector to itself is 1 here, so callers must correct the distances from points to
    themselves.
    """
    return TargetPoints(y, distance).blocks(x, cells)


class _Tile(NamedTuple):
    """The target points y in a slice, few enough for a matrix product in a single thread."""

    columns: slice
    y: Floats
    #: The matrix M with [x, |x|^2, 1] M = |x|^2 + |y|^2 - 2 x.y, where x and y are points minus the
    #: mean of all target points.
    factors: Floats
    #: The largest |y|^2 in this matrix.
    largest_square: float


@dataclass(frozen=True)
class TargetPoints:
    """Target points y (n, d), prepared once for computing distances from many blocks of points."""

    y: Floats
    distance: Distance

    def distances(self, x: Floats) -> Floats:
        """Return the distances (m, n) from points x (m, d) to the target points."""
        measured_pairs.on_measured(len(x) * len(self.y))
        if self.distance.name == "euclidean":
            squares = self.squares(x)
            return np.sqrt(squares, out=squares)
        if self.distance.name == "sqeuclidean":
            return self.squares(x)
        if self.distance.name == "cosine":
            halves = self.squares(x)
            halves *= 0.5
            zero_if_parallel(halves)
            halves[~x.any(axis=1)] = 1.0
            halves[:, ~self.y.any(axis=1)] = 1.0
            return halves
        return self._accumulate_coordinates(x)

    def _accumulate_coordinates(self, x: Floats) -> Floats:
        """Return distances that no matrix product yields, summed coordinate by coordinate."""
        combine = np.add if self.distance.name == "cityblock" else np.maximum
        total = np.zeros((len(x), len(self.y)))
        for differences in self._coordinate_differences(x):
            combine(total, differences, out=total)
        if self.distance.name != "minkowski":
            return total
        # No power overflows if the largest difference is used as the unit.
        largest, p = total, self.distance.p
        unit = np.where(largest > 0, largest, 1.0)
        total = np.zeros_like(largest)
        for differences in self._coordinate_differences(x):
            total += (differences / unit) ** p
        return np.asarray(largest * total ** (1 / p))

    def _coordinate_differences(self, x: Floats) -> Iterator[Floats]:
        """Yield |x_i - y_i| (m, n) for each coordinate i of points x and target points y."""
        for i in range(x.shape[1]):
            differences = x[:, i, None] - self.y[:, i]
            yield np.abs(differences, out=differences)

    def sums(self, x: Floats) -> Floats:
        """Return the sum of the distances from each point of x (m, d) to all target points."""
        total = np.zeros(len(x))
        if self.distance.name == "euclidean":
            measured_pairs.on_measured(len(x) * len(self.y))
            for rows, _, squares in self._squares_by_tile(x):
                total[rows] += np.sqrt(squares, out=squares).sum(axis=1)
        else:
            for rows, distances in self.blocks(x):
                total[rows] = distances.sum(axis=1)
        return total

    def blocks(self, x: Floats, cells: int = DISTANCES_PER_BLOCK) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of x (m, d), each with its distances (rows, n) to all target points."""
        step = max(1, cells // max(1, len(self.y)))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            yield rows, self.distances(x[rows])

    def squares(self, x: Floats) -> Floats:
        """Return the squared Euclidean distances (m, n) from x (m, d) to the target points."""
        squares = np.empty((len(x), len(self.y)))
        for rows, columns, tile_squares in self._squares_by_tile(x):
            squares[rows, columns] = tile_squares
        return squares

    def _squares_by_tile(self, x: Floats) -> Iterator[tuple[slice, slice, Floats]]:
        """Yield slices of x (m, d) and of the target points, with their squared distances."""
        for start in range(0, len(x), self._tile_rows):
            rows = slice(start, start + self._tile_rows)
            centered = x[rows] - self._mean
            square_norms = np.einsum("ij,ij->i", centered, centered)
            factors = np.column_stack([centered, square_norms, np.ones(len(centered))])
            for tile in self._tiles:
                yield rows, tile.columns, _squared_distances(x[rows], factors, tile)

    @cached_property
    def _mean(self) -> Floats:
        """The mean (d,) of the target points."""
        return np.asarray(self.y.mean(axis=0))

    @cached_property
    def _tile_rows(self) -> int:
        """The number of points of x that are compared with a tile in one matrix product."""
        width = int(self.y.shape[1]) + 2
        square = min(_MAX_TILE_ROWS, isqrt(SINGLE_THREAD_MULTIPLICATIONS // width))
        return max(1, square, SINGLE_THREAD_MULTIPLICATIONS // (width * len(self.y)))

    @cached_property
    def _tiles(self) -> list[_Tile]:
        """The target points, split into tiles that are small enough for a single thread."""
        step = max(1, SINGLE_THREAD_MULTIPLICATIONS // (self._tile_rows * (self.y.shape[1] + 2)))
        columns = (slice(i, i + step) for i in range(0, len(self.y), step))
        return [self._make_tile(part) for part in columns]

    def _make_tile(self, columns: slice) -> _Tile:
        """Return the tile for a slice of the target points, prepared for matrix products."""
        y = self.y[columns]
        centered = y - self._mean
        square_norms = np.einsum("ij,ij->i", centered, centered)
        factors = np.vstack([-2.0 * centered.T, np.ones(len(y)), square_norms])
        return _Tile(columns, y, factors, float(square_norms.max()))


def _squared_distances(x: Floats, factors: Floats, tile: _Tile) -> Floats:
    """Return the squared distances (m, n) from points x (m, d) to the n points of a tile.

    They are computed by a matrix product. Each row of `factors` (m, d + 2) holds a point of x minus
    the mean of all target points, the squared norm of this difference, and 1. For points that are
    near each other and far from the mean, the matrix product loses precision, so their distances
    are recomputed from coordinate differences.
    """
    squares = factors @ tile.factors
    limit = CANCELLATION_LIMIT * (factors[:, -2] + tile.largest_square)
    if squares.min() < limit.max():
        _recompute_cancelled(squares, x, tile.y, limit)
    return squares


def _recompute_cancelled(squares: Floats, x: Floats, y: Floats, limit: Floats) -> None:
    """Recompute, in place, squares (m, n) below their row's limit (m,), which have lost digits."""
    i, j = np.nonzero(squares < limit[:, None])
    if i.size * 20 > squares.size:
        squares[:] = 0.0
        for u in range(x.shape[1]):
            squares += (x[:, u, None] - y[:, u]) ** 2
    else:
        squares[i, j] = ((x[i] - y[j]) ** 2).sum(axis=1)


def distance_matrix(x: Floats, y: Floats, distance: Distance) -> Floats:
    """Return the distances (m, n) from points x (m, d) to points y (n, d).

    For cosine distances, the points must be unit vectors. A zero vector has a cosine distance of 1
    from every point, including itself.
    """
    return TargetPoints(y, distance).distances(x)


def direct_distance_matrix(x: Floats, y: Floats, distance: Distance) -> Floats:
    """Return the distances (m, n) from points x (m, d) to y (n, d) without using a matrix product.

    For ranking, pairs with the same coordinate differences must have exactly the same distance.
    Coordinates are added in the same order as in DuckDB, so that both engines round identically.
    `y` is read column by column, so Fortran order is fastest. For cosine distances, the points must
    be unit vectors.
    """
    if distance.name not in ("euclidean", "sqeuclidean", "cosine"):
        return distance_matrix(x, y, distance)
    measured_pairs.on_measured(len(x) * len(y))
    squares = np.zeros((len(x), len(y)))
    for i in range(x.shape[1]):
        differences = x[:, i, None] - y[:, i]
        differences *= differences
        squares += differences
    d: Floats = np.sqrt(squares, out=squares)
    if distance.name == "euclidean":
        return d
    d *= d
    if distance.name == "cosine":
        d /= 2
        zero_if_parallel(d)
        d[~x.any(axis=1)] = 1.0
        d[:, ~y.any(axis=1)] = 1.0
    return d


def matrix_product(a: Floats, b: Floats) -> Floats:
    """Return the matrix product of a and b, computed in blocks in the calling thread.

    The blocks are too small for OpenBLAS to start threads of its own.
    """
    most = max(1, SINGLE_THREAD_MULTIPLICATIONS // a.shape[1])
    width = max(1, min(_MAX_TILE_ROWS, isqrt(most)), most // len(a))
    height = max(1, most // width)
    out = np.empty((len(a), b.shape[1]))
    for i in range(0, len(a), height):
        for j in range(0, b.shape[1], width):
            rows, columns = slice(i, i + height), slice(j, j + width)
            np.matmul(a[rows], b[:, columns], out=out[rows, columns])
    return out
