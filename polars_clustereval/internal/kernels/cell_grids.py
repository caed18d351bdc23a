"""cell_grids: assigns points to the cells of a grid to find pairs of nearby points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import expand_range_blocks, expand_ranges
from .distance_blocks import DISTANCES_PER_BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .arrays import Booleans, Floats, Integers

#: The maximum number of coordinates by which a grid is divided into cells.
_GRID_AXES = 5
#: Odd numbers that combine the numbers of a cell into one key (modulo 2^64). If different cells
#: have equal keys, only more pairs are compared.
_CELL_FACTORS = np.array(
    [
        *(0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179, 0x3C6EF372FE94F82B),
        *(0x6A09E667F3BCC909, 0x510E527FADE682D1),
    ],
    dtype=np.int64,
)


def flag_first_copies(x: Floats, numbers: Integers) -> Booleans:
    """Return, for each point x (m, d), whether it is the first in its cluster at its place.

    A few later copies of a point may be flagged as well.
    """
    factors = np.resize(_CELL_FACTORS, x.shape[1]) + 2 * np.arange(x.shape[1])
    keys = np.ascontiguousarray(x).view(np.int64) @ factors + numbers
    order = np.argsort(keys, kind="stable")
    one, other = order[1:], order[:-1]
    is_first = np.ones(len(x), dtype=bool)
    equal_keys = keys[one] == keys[other]
    one, other = one[equal_keys], other[equal_keys]
    is_first[one] = (numbers[one] != numbers[other]) | (x[one] != x[other]).any(axis=1)
    return is_first


class CellGrid:
    """A grid that assigns the points x (m, d) to cells of equal width along some axes."""

    def __init__(self, x: Floats, axes: Integers, n_axes: int, width: float, reach: float) -> None:
        """Assign the points x (m, d) to cells of a width along the first `n_axes` of `axes`.

        `reach`, at most `width`, is the largest difference in any coordinate at which two points
        are still compared.
        """
        self.x, self.axes, self.width, self.reach = x, axes[:n_axes], width, reach
        self.factors = _CELL_FACTORS[:n_axes]
        self.origin = x[:, self.axes].min(axis=0)
        keys = self._number_cells(x[:, self.axes]) @ self.factors
        self.order = np.argsort(keys, kind="stable")
        self.keys, starts = np.unique(keys[self.order], return_index=True)
        self.starts = np.append(starts, len(x))
        #: The coordinates that are compared: the first axis, and two that do not divide the cells.
        self.compared_axes = axes[[0, *range(n_axes, min(n_axes + 2, len(axes)))]]
        self.columns = x[np.ix_(self.order, self.compared_axes)].T.copy()

    @classmethod
    def for_bounds(cls, x: Floats, bound: float, deviations: Floats) -> CellGrid:
        """Return a grid in which cell borders separate few of the nearest pairs of points.

        `deviations` (d,) are standard deviations, and `bound` is at least the smallest distance.
        """
        width = max(1.5 * bound, float(deviations.max()) * 1e-7)
        return cls(x, np.argsort(-deviations), min(_GRID_AXES, x.shape[1]), width, 0.0)

    @classmethod
    def within_reach(cls, x: Floats, bound: float, deviations: Floats) -> CellGrid:
        """Return a grid that finds all pairs of points x (m, d) with a distance below `bound`.

        With cells three times as wide as the reach, few points are near a border. If only a few
        cells of this width would contain points, the cells are only as wide as the reach.
        """
        largest = float(deviations.max())
        is_wide = 3 * bound > largest
        # The second terms account for rounding errors of coordinates and of cell numbers.
        reach = bound * (1 + 1e-9) + largest * 1e-11
        width = max((1.001 if is_wide else 3.0) * reach, largest * 1e-7)
        n_spread_axes = int(np.count_nonzero(1.5 * deviations > bound))
        n_axes = max(1, min(_GRID_AXES - is_wide, n_spread_axes))
        return cls(x, np.argsort(-deviations), n_axes, width, reach)

    def _number_cells(self, coordinates: Floats) -> Integers:
        """Return the cell numbers (m, axes) of points along the axes, given their `coordinates`."""
        cells: Floats = np.floor((coordinates - self.origin) / self.width)
        return cells.astype(np.int64)

    def pairs_in_cells(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield blocks of pairs of points that share a cell, as pairs of row numbers in x.

        Nothing is yielded if the cells contain so many pairs that comparing them would take more
        time than a tighter bound can save.
        """
        starts = np.arange(1, len(self.x) + 1)
        stops = np.repeat(self.starts[1:], np.diff(self.starts))
        if int((stops - starts).sum()) > len(self.x) ** 2 / 256:
            return
        for i, j in expand_range_blocks(starts, stops, DISTANCES_PER_BLOCK):
            yield self.order[i], self.order[j]

    def _cells_within_reach(self, points: Integers) -> tuple[Integers, Integers]:
        """Return pairs of a point (its index in `points`) and a cell (its position in `keys`).

        The cells may contain points within reach. Along the first axis, only the given point and
        the points after it are searched.
        """
        coordinates = self.x[np.ix_(points, self.axes)]
        backward = np.full(len(self.axes), self.reach)
        backward[0] = 0.0
        first = self._number_cells(coordinates - backward)
        spans = self._number_cells(coordinates + self.reach) - first
        owners, keys = np.arange(len(points)), first @ self.factors
        for span, factor in zip(spans.T, self.factors, strict=True):
            i, step = expand_ranges(np.zeros_like(owners), span[owners] + 1)
            owners, keys = owners[i], keys[i] + step * factor
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        is_found = self.keys[places] == keys
        return owners[is_found], places[is_found]

    @property
    def approximate_steps(self) -> int:
        """The estimated number of steps: cell lookups plus pairs of points in these cells."""
        points = np.arange(0, len(self.x), -(-len(self.x) // 1024))
        _, places = self._cells_within_reach(points)
        pairs = (self.starts[places + 1] - self.starts[places]).sum()
        return int(pairs + len(places)) * len(self.x) // len(points)

    def pairs_within_reach(self, points: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Yield blocks of pairs of a given point and a point within its reach, as row numbers in x.

        For all points, the blocks contain all pairs of points whose coordinates are within reach.
        """
        owners, places = self._cells_within_reach(points)
        own_columns = self.x[np.ix_(points, self.compared_axes)].T.copy()
        starts, stops = self.starts[places], self.starts[places + 1]
        for cell, j in expand_range_blocks(starts, stops, DISTANCES_PER_BLOCK):
            i = owners[cell]
            for axis, (own, column) in enumerate(zip(own_columns, self.columns, strict=True)):
                difference = column[j] - own[i]
                is_near = difference <= self.reach
                is_near &= difference >= (-self.reach if axis else 0.0)
                i, j = i[is_near], j[is_near]
            yield points[i], self.order[j]
