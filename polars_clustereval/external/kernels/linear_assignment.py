"""Computes the maximum total weight of a one-to-one matching.

A matching pairs rows with columns. Each cell lies in one row and one column and has a positive
weight. If a row and a column have no cell in common, their pair has weight 0. A matching has at
most one cell in each row and in each column. For most cells, it is immediately clear whether they
belong to the best matching. The undecided cells are divided into parts that share no rows or
columns. Each part is converted to a table and solved separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polars_clustereval.base.parts import Booleans, Integers, label_parts
from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Iterator

Floats = NDArray[np.float64]

#: The largest number of cells in the table of a part. The table is held in memory, and in the worst
#: case, the time to solve it grows with the third power of the length of its side.
MAX_PART_CELLS = 4_000_000

#: The maximum number of rounds of bids. More rounds leave fewer rows that must search for a column.
MAX_BID_ROUNDS = 100


class Cells(NamedTuple):
    """Cells with positive weights, each of which belongs to one assignment problem."""

    problems: Integers
    rows: Integers
    columns: Integers
    weights: Floats

    def take(self, chosen: Booleans | Integers) -> Cells:
        """Return the chosen cells, which are specified by a mask or by their positions."""
        problems, rows, columns, weights = self
        return Cells(problems[chosen], rows[chosen], columns[chosen], weights[chosen])


def matched_weights(cells: Cells, n_problems: int) -> Floats:
    """Return an array (n_problems,) with the total weight of each problem's best matching.

    No row or column may belong to more than one problem. Raise an error if a connected part of
    the undecided cells is too large.
    """
    matched, left = map(cells.take, _decide_cells(cells))
    totals = np.zeros(n_problems)
    np.add.at(totals, matched.problems, matched.weights)
    for part in _split_into_parts(left):
        totals[left.problems[part[0]]] += _largest_weight(_make_table(left.take(part)))
    return totals


def matched_cells(cells: Cells) -> Integers:
    """Return the positions of the cells of a best matching for weights that are whole numbers.

    Of several best matchings, the first row has the lowest column that it has in any of them, then
    the second row, and so on. No row or column may belong to more than one problem. Raise an error
    if a connected part of the undecided cells is too large.
    """
    matched, left = _decide_cells(cells, in_order=True)
    chosen = [matched]
    for part in _split_into_parts(cells.take(left)):
        positions = left[part]
        of_part = cells.take(positions)
        column_of = _order_matches(_make_table(of_part))
        rows, columns = (_number_values(values)[1] for values in of_part[1:3])
        chosen.append(positions[column_of[rows] == columns])
    return np.concatenate(chosen)


# ----------------------------------------------------------------------------------------------
# Cells that are decided immediately
# ----------------------------------------------------------------------------------------------


def _decide_cells(cells: Cells, *, in_order: bool = False) -> tuple[Integers, Integers]:
    """Return the positions of cells in a best matching, and those of cells still undecided.

    A cell is in a best matching if its weight is at least the sum of two other weights: the largest
    in the rest of its row and the largest in the rest of its column. Matching the row and the
    column of such a cell in any other way cannot increase the total weight. Removing the matched
    rows and columns may make it possible to decide further cells. If `in_order` is True, only cells
    of the matching that _order_matches chooses from the best ones are decided.
    """
    matched = [np.empty(0, np.int64)]
    left = np.arange(cells.weights.size)
    while left.size:
        _, rows, columns, weights = cells.take(left)
        others = _best_others(rows, weights), _best_others(columns, weights)
        is_decided = weights >= others[0] + others[1]
        if in_order:
            # If the weights are equal, another matching is as good. Its row or column can be given
            # the first of its equal cells if nothing else is in the column or row of this cell.
            is_decided &= (
                (weights > others[0] + others[1])
                | ((others[1] == 0) & _is_first_of_best(rows, columns, weights))
                | ((others[0] == 0) & _is_first_of_best(columns, rows, weights))
            )
        decided = left[is_decided]
        if not decided.size:
            break
        # If two decided cells are in the same row, their weights are equal, and no other row has
        # cells in their columns, so either of them can be chosen. The same holds for two cells in
        # the same column.
        for lines in (cells.rows, cells.columns):
            decided = decided[np.unique(lines[decided], return_index=True)[1]]
        matched.append(decided)
        is_free = ~(
            _is_member(rows, cells.rows[decided]) | _is_member(columns, cells.columns[decided])
        )
        left = left[is_free]
    return np.concatenate(matched), left


def _is_first_of_best(lines: Integers, places: Integers, weights: Floats) -> Booleans:
    """Return a mask that is True for the first place of the largest weight in its line."""
    order = np.lexsort((places, -weights, lines))
    is_first = np.zeros(lines.size, np.bool_)
    is_first[order[np.unique(lines[order], return_index=True)[1]]] = True
    return is_first


def _is_member(lines: Integers, chosen: Integers) -> Booleans:
    """Return a mask (m,) that is True where the element of `lines` (m,) is in `chosen`.

    `lines` holds either row numbers or column numbers.
    """
    flags = np.zeros(lines.max() + 1, np.bool_)
    flags[chosen] = True
    return flags[lines]


def _best_others(lines: Integers, weights: Floats) -> Floats:
    """Return, for each of m cells, the largest weight among the other cells in its line.

    A line is either a row or a column. `lines` (m,) holds each cell's row number or column number.
    For a cell that is the only one in its line, the result is 0.
    """
    first, second = np.zeros(lines.max() + 1), np.zeros(lines.max() + 1)
    np.maximum.at(first, lines, weights)
    is_first = weights == first[lines]
    np.maximum.at(second, lines[~is_first], weights[~is_first])
    is_tie = np.bincount(lines[is_first], minlength=first.size) > 1
    return np.where(is_first & ~is_tie[lines], second[lines], first[lines])


# ----------------------------------------------------------------------------------------------
# Parts of the remaining cells
# ----------------------------------------------------------------------------------------------


def _split_into_parts(cells: Cells) -> Iterator[Integers]:
    """Yield the positions of the cells of each part.

    Cells in the same row or column belong to the same part.
    """
    if not cells.weights.size:
        return
    parts = _number_parts(cells)
    order = np.argsort(parts, kind="stable")
    bounds = np.flatnonzero(np.diff(parts[order])) + 1
    yield from np.split(order, bounds)


def _number_parts(cells: Cells) -> Integers:
    """Return, for each of m cells, the number of the part to which the cell belongs.

    A part is a set of rows and columns that are connected by cells.
    """
    rows, columns = (_number_values(values)[1] for values in cells[1:3])
    n_rows, n_columns = rows.max() + 1, columns.max() + 1
    return np.asarray(label_parts(rows, columns + n_rows, n_rows + n_columns)[rows])


def _number_values(values: Integers) -> tuple[Integers, Integers]:
    """Return the sorted distinct values and, for each of the m `values`, its index among them."""
    lowest = values.min()
    span = int(values.max() - lowest) + 1
    if span > 4 * values.size:
        return np.unique(values, return_inverse=True)
    # If the values are in a narrow range, no sort is needed.
    is_there = np.zeros(span, np.bool_)
    is_there[values - lowest] = True
    return np.flatnonzero(is_there) + lowest, (np.cumsum(is_there) - 1)[values - lowest]


def _make_table(part: Cells) -> Floats:
    """Return the weights of a part as a table."""
    (labels, rows), (clusters, columns) = map(_number_values, part[1:3])
    if labels.size * clusters.size > MAX_PART_CELLS:
        raise ClusterEvalError(_part_error(labels, clusters))
    table = np.zeros((labels.size, clusters.size))
    table[rows, columns] = part.weights
    return table


def _part_error(labels: NDArray[Any], clusters: NDArray[Any]) -> str:
    """Return the error message for a part with too many labels and clusters."""
    return (
        f"matching: expected at most {MAX_PART_CELLS} pairs of a label and a cluster to match, "
        f"got {labels.size} labels x {clusters.size} clusters that share rows with several "
        "others; merge small clusters, or evaluate parts of the rows with partition_by"
    )


# ----------------------------------------------------------------------------------------------
# The best matching of a part
# ----------------------------------------------------------------------------------------------


def _solve_table(weights: Floats) -> tuple[Floats, Integers]:
    """Return the prices and each row's column, for a table with no more rows than columns.

    This function uses the Hungarian method. Each column has a price, which is 0 as long as the
    column is free. A row's gain from a column is the weight of this pair in the table minus the
    column's price. No matched row would gain more from any other column than from its own column.
    Most rows are matched with a column by bidding. The remaining rows are matched by jointly
    searching for free columns.
    """
    prices, row_of = _bid_for_columns(weights)
    rows = np.arange(weights.shape[0])
    column_of = np.full(rows.size, -1)
    column_of[row_of[row_of >= 0]] = np.flatnonzero(row_of >= 0)
    gains = (weights - prices).max(axis=1)
    while (column_of < 0).any():
        distances, origins = _measure_paths(weights, prices, gains, column_of, row_of)
        length = distances[row_of < 0].min()
        prices += np.maximum(length - distances, 0)
        _hand_over(origins, np.flatnonzero((row_of < 0) & (distances == length)), column_of, row_of)
        own = weights[rows, column_of] - prices[column_of]
        gains = np.where(column_of < 0, gains - length, own)
    return prices, column_of


def _largest_weight(table: Floats) -> float:
    """Return the total weight of a best matching."""
    weights = table if table.shape[0] <= table.shape[1] else np.ascontiguousarray(table.T)
    _, column_of = _solve_table(weights)
    return float(weights[np.arange(column_of.size), column_of].sum())


def _bid_for_columns(weights: Floats) -> tuple[Floats, Integers]:
    """Return the price and the row of each column, as two arrays of shape (columns,).

    A free column has price 0 and row -1. In each round, every row without a column bids for the
    column from which it gains the most. The bid is the price at which the row's gain from this
    column equals its gain from its second-best column. The row with the highest bid gets the column
    if the column is free or the bid raises its price.
    """
    n_rows, n_columns = weights.shape
    prices, row_of = np.zeros(n_columns), np.full(n_columns, -1)
    for _ in range(MAX_BID_ROUNDS):
        rows = np.flatnonzero(~np.isin(np.arange(n_rows), row_of))
        gains = weights[rows] - prices
        columns, places = gains.argmax(axis=1), np.arange(rows.size)
        best = gains[places, columns]
        gains[places, columns] = -np.inf
        others = gains.max(axis=1) if n_columns > 1 else best
        offers = prices[columns] + (best - others)
        is_valid = (row_of[columns] < 0) | (offers > prices[columns])
        if not is_valid.any():
            break
        rows, columns, offers = rows[is_valid], columns[is_valid], offers[is_valid]
        # Of several bids for the same column, the last counts: the highest, or the first of equal
        # bids.
        order = np.lexsort((-rows, offers))
        row_of[columns[order]], prices[columns[order]] = rows[order], offers[order]
    return prices, row_of


def _measure_paths(
    weights: Floats, prices: Floats, gains: Floats, column_of: Integers, row_of: Integers
) -> tuple[Floats, Integers]:
    """Return, for each column, its distance from the unmatched rows and its origin.

    Both results are arrays of shape (columns,). The distance from a row to a column is the gain
    that the row would lose by switching from its own column to this one. A row without a column is
    treated as if it were switching from its best column. The step from a column to the row that is
    matched with it has length 0. The origin of a column is the row from which the column is
    reached. For columns that are farther away than the nearest free column, the result may be
    infinite or larger than the true distance.
    """
    distances, origins = np.full(row_of.size, np.inf), np.full(row_of.size, -1)
    is_new, is_free = np.zeros(row_of.size, np.bool_), row_of < 0
    rows = np.flatnonzero(column_of < 0)
    lengths, bound = np.zeros(rows.size), np.inf
    while rows.size:
        found = prices - weights[rows]
        found += gains[rows, None]
        # Rounding errors must not make a path shorter.
        np.maximum(found, 0, out=found)
        found += lengths[:, None]
        nearest = found.min(axis=0)
        nearer = np.flatnonzero((nearest < distances) & (nearest <= bound))
        origins[nearer] = rows[found[:, nearer].argmin(axis=0)]
        distances[nearer] = nearest[nearer]
        is_new[nearer] = True
        bound = distances[is_free].min()
        columns = np.flatnonzero(is_new & ~is_free & (distances < bound))
        # Only the nearest quarter is expanded, because the others may still get shorter distances.
        if columns.size > 8:
            quartile = np.partition(distances[columns], columns.size // 4)[columns.size // 4]
            columns = columns[distances[columns] <= quartile]
        is_new[columns] = False
        rows, lengths = row_of[columns], distances[columns]
    return distances, origins


def _hand_over(origins: Integers, ends: Integers, column_of: Integers, row_of: Integers) -> None:
    """Match the free columns `ends`, and rematch the rows on the paths to these columns, in place.

    Each row on a path is matched with the next column on the path. If two paths meet, only the
    first path is used.
    """
    is_taken = np.zeros(column_of.size, np.bool_)
    for end in ends.tolist():
        rows, columns = [origins[end]], [end]
        while column_of[rows[-1]] >= 0 and not is_taken[rows[-1]]:
            columns.append(column_of[rows[-1]])
            rows.append(origins[columns[-1]])
        if not is_taken[rows[-1]]:
            is_taken[rows] = True
            column_of[rows] = columns
            row_of[columns] = rows


# ----------------------------------------------------------------------------------------------
# One of several best matchings
# ----------------------------------------------------------------------------------------------


def _exchangeable_matches(table: Floats) -> tuple[Booleans, Integers]:
    """Return which matches are in some best matching, and each row's column in one of them.

    A row or a column without a match is matched with its twin. The twins come after all columns and
    rows, so for a table (m, n), the results have the shapes (m + n, m + n) and (m + n,). Twins are
    matched with each other if their rows and columns can be. A row and a column can be matched if
    the weight of their cell is the sum of their values, which are gains and prices of the Hungarian
    method. A row or column of value 0 can be without a match.
    """
    n_rows, n_columns = table.shape
    weights = table if n_rows <= n_columns else np.ascontiguousarray(table.T)
    prices, places = _solve_table(weights)
    lines = np.arange(places.size)
    gains = weights[lines, places] - prices[places]
    # If all columns are taken, a gain can be negative.
    shift = min(gains.min(), 0.0)
    sides = (lines, gains - shift), (places, prices + shift)
    (rows, of_row), (columns, of_column) = sides if weights is table else sides[::-1]
    tight = (table > 0) & (table == of_row[:, None] + of_column)
    options = np.block([[tight, np.diag(of_row == 0)], [np.diag(of_column == 0), tight.T]])
    held = np.concatenate([np.arange(n_rows) + n_columns, np.arange(n_columns)])
    is_matched = table[rows, columns] > 0
    held[rows[is_matched]] = columns[is_matched]
    held[columns[is_matched] + n_rows] = rows[is_matched] + n_columns
    return options, held


def _order_matches(table: Floats) -> Integers:
    """Return each row's column in one of the best matchings; for a row without a match, its twin.

    The first row has the lowest column that it has in any best matching, then the second row, and
    so on. Each row that has an option below its column searches for columns that can be given up:
    its own, then those whose row has a column that can be given up as another option.
    """
    options, held = _exchangeable_matches(table)
    for row in range(table.shape[0]):
        own, lower = int(held[row]), np.flatnonzero(options[row, : held[row]]).tolist()
        is_open, given_up = np.arange(held.size) > row, [own] if lower else []
        # For each column that is given up, its row, and the column that this row takes.
        takers: dict[int, tuple[int, int]] = {}
        for column in given_up:
            found = np.flatnonzero(is_open & options[:, column]).tolist()
            is_open[found] = False
            columns = held[found].tolist()
            takers.update(zip(columns, ((taker, column) for taker in found), strict=True))
            given_up.extend(columns)
        taker, column = row, next((x for x in lower if x in takers), own)
        while column != own:
            held[taker] = column
            taker, column = takers[column]
        held[taker] = own
    return held
