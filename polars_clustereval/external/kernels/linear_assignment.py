"""linear_assignment: the greatest sum of weights of a one-to-one matching of rows and columns.

A cell is a row, a column and their weight, a positive number; other pairs have weight 0. A matching
has at most one cell of each row and of each column. Most cells are decided at once; the rest falls
into parts that share no row and no column, and each part is solved as a table by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polars_clustereval.errors import ClusterEvalError

from .parts import Booleans, Integers, label_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

Floats = NDArray[np.float64]

#: The greatest number of cells of the table of a part, which is held in memory, and solved in time
#: that grows with the third power of its side in the worst case.
MAX_PART_CELLS = 4_000_000


class Cells(NamedTuple):
    """Cells with positive weights, and a number of the problem that each belongs to."""

    problems: Integers
    rows: Integers
    columns: Integers
    weights: Floats

    def take(self, chosen: Booleans | Integers) -> Cells:
        """Return the cells that are chosen, by a flag for each or by their places."""
        problems, rows, columns, weights = self
        return Cells(problems[chosen], rows[chosen], columns[chosen], weights[chosen])


def matched_weights(cells: Cells, n_problems: int) -> Floats:
    """Return the sum of the weights of a best matching of each problem (n_problems,).

    Problems have no row and no column in common. Raise an error if a part is too large.
    """
    matched, left = _decide_cells(cells)
    totals = np.zeros(n_problems)
    np.add.at(totals, matched.problems, matched.weights)
    for part in _split_into_parts(left):
        totals[part.problems[0]] += _solve_table(_make_table(part))
    return totals


# ----------------------------------------------------------------------------------------------
# Cells that are decided at once
# ----------------------------------------------------------------------------------------------


def _decide_cells(cells: Cells) -> tuple[Cells, Cells]:
    """Return cells of a best matching, and the cells of which others may be in it.

    A cell is in a best matching if its weight is at least that of the best other cell of its row
    plus that of the best other cell of its column: no other match of the two gains more. Rows and
    columns that are matched are left out, which decides others.
    """
    matched = [np.empty(0, np.int64)]
    left = np.arange(cells.weights.size)
    while left.size:
        _, rows, columns, weights = cells.take(left)
        decided = left[weights >= _best_others(rows, weights) + _best_others(columns, weights)]
        if not decided.size:
            break
        # Two decided cells of one row have equal weights, and no other row has their columns: any
        # of them will do. Likewise for two of one column.
        for lines in (cells.rows, cells.columns):
            decided = decided[np.unique(lines[decided], return_index=True)[1]]
        matched.append(decided)
        is_free = ~(
            _is_member(rows, cells.rows[decided]) | _is_member(columns, cells.columns[decided])
        )
        left = left[is_free]
    return cells.take(np.concatenate(matched)), cells.take(left)


def _is_member(lines: Integers, chosen: Integers) -> Booleans:
    """Return whether each of the lines (m,) is one of those that are chosen."""
    flags = np.zeros(lines.max() + 1, np.bool_)
    flags[chosen] = True
    return flags[lines]


def _best_others(lines: Integers, weights: Floats) -> Floats:
    """Return for each cell the greatest weight (m,) of another cell of its line, 0 without one.

    `lines` (m,) are the numbers of the cells' rows, or of their columns.
    """
    first, second = np.zeros(lines.max() + 1), np.zeros(lines.max() + 1)
    np.maximum.at(first, lines, weights)
    is_first = weights == first[lines]
    np.maximum.at(second, lines[~is_first], weights[~is_first])
    is_tie = np.bincount(lines[is_first], minlength=first.size) > 1
    return np.where(is_first & ~is_tie[lines], second[lines], first[lines])


# ----------------------------------------------------------------------------------------------
# Parts of what is left
# ----------------------------------------------------------------------------------------------


def _split_into_parts(cells: Cells) -> Iterator[Cells]:
    """Yield the cells of each part: cells of one row or of one column are in one part."""
    if not cells.weights.size:
        return
    parts = _number_parts(cells)
    order = np.argsort(parts, kind="stable")
    bounds = np.flatnonzero(np.diff(parts[order])) + 1
    yield from map(cells.take, np.split(order, bounds))


def _number_parts(cells: Cells) -> Integers:
    """Return the number (m,) of each cell's part. The nodes are the rows, then the columns."""
    rows, columns = (np.unique(values, return_inverse=True)[1] for values in cells[1:3])
    n_rows, n_columns = rows.max() + 1, columns.max() + 1
    return np.asarray(label_parts(rows, columns + n_rows, n_rows + n_columns)[rows])


def _make_table(part: Cells) -> Floats:
    """Return the weights of a part as a table (rows, columns), or its transpose if it is tall."""
    (labels, rows), (clusters, columns) = (
        np.unique(values, return_inverse=True) for values in part[1:3]
    )
    if labels.size * clusters.size > MAX_PART_CELLS:
        raise ClusterEvalError(_part_error(labels, clusters))
    table = np.zeros((labels.size, clusters.size))
    table[rows, columns] = part.weights
    return table if labels.size <= clusters.size else np.ascontiguousarray(table.T)


def _part_error(labels: NDArray[Any], clusters: NDArray[Any]) -> str:
    """Return the text of the error of a part with too many labels and clusters."""
    return (
        f"matching: expected at most {MAX_PART_CELLS} pairs of a label and a cluster to match, "
        f"got {labels.size} labels x {clusters.size} clusters that share rows with several "
        "others; merge small clusters, or evaluate parts of the rows with partition_by"
    )


# ----------------------------------------------------------------------------------------------
# The best matching of a part
# ----------------------------------------------------------------------------------------------


def _solve_table(weights: Floats) -> float:
    """Return the sum of the weights (rows, columns), rows <= columns, of a best matching.

    The Hungarian method: a row and a column have prices whose sum is at least their weight, and
    equal to it where they are matched; the price of a free column is 0. One row after the other
    starts a search for the nearest free column (_find_free_column).
    """
    n_rows, n_columns = weights.shape
    row_prices, column_prices = weights.max(axis=1), np.zeros(n_columns)
    column_of, row_of = np.full(n_rows, -1), np.full(n_columns, -1)
    for row in range(n_rows):
        free = np.flatnonzero((weights[row] == row_prices[row]) & (row_of < 0))
        if free.size:
            column_of[row], row_of[free[0]] = free[0], row
    for start in map(int, np.flatnonzero(column_of < 0)):
        column, origins = _find_free_column(weights, row_prices, column_prices, row_of, start)
        while column >= 0:
            row = origins[column]
            row_of[column] = row
            column, column_of[row] = column_of[row], column
    return float(weights[np.arange(n_rows), column_of].sum())


def _find_free_column(
    weights: Floats, row_prices: Floats, column_prices: Floats, row_of: Integers, start: int
) -> tuple[int, Integers]:
    """Return the free column that is nearest to the row `start`, and each column's origin.

    A row and a column are apart by the sum of their prices less their weight; the way from a
    matched column to its row has length 0. The origin of a column is the row from which it was
    reached. `row_of` is the row that each column is matched with, or -1. The prices of what is
    nearer than the free column are adapted, in place, so that the way to it has length 0.
    """
    distances, origins = np.full(row_of.size, np.inf), np.full(row_of.size, -1)
    is_open = np.ones(row_of.size, np.bool_)
    row, length = start, 0.0
    reached: list[int] = []
    while True:
        found = length + (row_prices[row] + column_prices - weights[row])
        nearer = is_open & (found < distances)
        distances[nearer] = found[nearer]
        origins[nearer] = row
        column = int(np.where(is_open, distances, np.inf).argmin())
        length = float(distances[column])
        if row_of[column] < 0:
            break
        is_open[column] = False
        reached.append(column)
        row = row_of[column]
    savings = length - distances[reached]
    column_prices[reached] += savings
    row_prices[row_of[reached]] -= savings
    row_prices[start] -= length
    return column, origins
