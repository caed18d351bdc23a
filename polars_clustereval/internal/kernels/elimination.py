"""elimination: determinants and traces of many small symmetric matrices, computed together.

A stack of matrices is an array (rows, d, d). W is a scatter matrix, the sums of products of d
coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .arrays import Floats


#: The value of trace(W^-1 B) up to which ln |I + W^-1 B| has six digits without |T|.
LARGEST_TRACE = 2.0**32


class Step(NamedTuple):
    """One step of the elimination of many matrices.

    A pivot is the square of a combination of coordinates, and the share of a pivot is its part of
    the sum of the squares that are combined. Slopes are the pivot row divided by the pivot.
    """

    pivots: Floats  # (rows,), NaN if too small a share
    shares: Floats  # (rows,)
    slopes: Floats  # (rows, columns left), 0 if there is no pivot
    coefficients: Floats  # (rows, d), of the combination


def eliminate_columns(
    w: Floats, lengths: Floats, coefficients: Floats, least_share: float
) -> Iterator[Step]:
    """Eliminate the columns of symmetric matrices w (rows, d, d) one by one, and yield each step.

    This is a Cholesky decomposition without roots. Row i of w belongs to a combination of
    coordinates with the `coefficients` (rows, d, d), and `lengths` (rows, d) are the lengths of the
    coordinates. If the share of a pivot is at most d times least_share, its column is not
    eliminated from the others.
    """
    n_dims = w.shape[1]
    for _ in range(n_dims):
        pivots = w[:, 0, 0]
        shares = np.nan_to_num(pivots / ((coefficients[:, 0] * lengths) ** 2).sum(axis=1))
        is_pivot = (shares > least_share * n_dims) & np.isfinite(pivots)
        slopes = np.where(is_pivot[:, None], w[:, 0] / pivots[:, None], 0)
        yield Step(np.where(is_pivot, pivots, np.nan), shares, slopes, coefficients[:, 0])
        w = (w - _outer_products(slopes, w[:, 0]))[:, 1:, 1:]
        coefficients = (coefficients - _outer_products(slopes, coefficients[:, 0]))[:, 1:]


def _outer_products(x: Floats, y: Floats) -> Floats:
    """Return the outer products (rows, n, m) of the rows of x (rows, n) and y (rows, m)."""
    return np.asarray(x[:, :, None] * y[:, None, :])


def _transform_step(b: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the matrices b after one step of L^-1 B L^-T (W = L D L^T), and their pivot row.

    `slopes` (rows, m) are the slopes of W in the same step of eliminate_columns, and b is (rows, m,
    m). The first row and column of the first result are 0, and the caller has to remove them. The
    second result is the pivot row (rows, m), which is b's first row after the step.
    """
    pivot_row = b[:, 0] - b[:, 0, :1] * slopes
    return b - _outer_products(slopes, pivot_row) - _outer_products(b[:, 0], slopes), pivot_row


def eliminate_matrices(steps: Iterator[Step], b: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ln |W|, trace(W^-1 B) and ln(|W + B| / |W|), all (rows,), NaN if W is singular.

    `steps` are the steps of the elimination of W, the scatter within the clusters of each
    partition. `b` (rows, d, d) is B, the scatter between the clusters, for the same combinations of
    coordinates. W + B is represented by d, its difference from W, so that the ratio of the pivots
    is 1 + d / w. In this way, a small B loses no digits, as it would in ln |W + B| - ln |W|.
    """
    d = b
    log_det, trace, log_ratio = np.zeros((3, len(b)))
    for pivots, _, slopes, _ in steps:
        # A negative value can only be a rounding error.
        d_pivots = np.maximum(d[:, 0, 0], 0)
        log_det += np.log(pivots)
        trace += b[:, 0, 0] / pivots
        log_ratio += np.log1p(d_pivots / pivots)
        b, _ = _transform_step(b, slopes)
        d, d_row = _transform_step(d, slopes)
        d = d - _outer_products(d_row, d_row / (pivots + d_pivots)[:, None])
        b, d = b[:, 1:, 1:], d[:, 1:, 1:]
    return log_det, trace, log_ratio
