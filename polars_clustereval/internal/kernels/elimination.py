"""elimination: determinants and traces of many small symmetric matrices, computed together.

A stack of matrices is an array of shape (rows, d, d). W is a scatter matrix, in which each entry is
a sum of products of two coordinates.
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
    """One elimination step, applied to many matrices.

    A pivot is the sum of the squared values of a linear combination of the coordinates. The share
    of a pivot is the pivot divided by the sum of the squares of all terms in the linear
    combination. The slopes are the pivot row divided by the pivot.
    """

    pivots: Floats  # (rows,), NaN if too small a share
    shares: Floats  # (rows,)
    slopes: Floats  # (rows, columns left), 0 if there is no pivot
    coefficients: Floats  # (rows, d), of the combination


def eliminate_columns(
    w: Floats, lengths: Floats, coefficients: Floats, least_share: float
) -> Iterator[Step]:
    """Eliminate the columns of symmetric matrices w (rows, d, d) one by one, and yield each step.

    The algorithm is a Cholesky decomposition without square roots. Row i of each matrix represents
    a linear combination of the coordinates. Its coefficients are in row i of `coefficients`, which
    has shape (rows, d, d). `lengths` (rows, d) holds the length of each coordinate, that is, the
    square root of its sum of squares. If the share of a pivot is at most d times `least_share`, the
    pivot's column is not eliminated from the other columns.
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
    """Return the outer products of the rows of x (rows, n) and y (rows, m)."""
    return np.asarray(x[:, :, None] * y[:, None, :])


def _transform_step(b: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return b after one step of the transformation to L^-1 B L^-T, along with b's pivot row.

    The factors L and D of W satisfy W = L D L^T. `slopes` (rows, m) holds the slopes of W from the
    same step of eliminate_columns, and `b` has shape (rows, m, m). In the first result, the first
    row and column of each matrix are 0, and the caller must remove them. The second result is the
    pivot row (rows, m), that is, the first row of b after the columns, but not yet the rows, have
    been transformed.
    """
    pivot_row = b[:, 0] - b[:, 0, :1] * slopes
    return b - _outer_products(slopes, pivot_row) - _outer_products(b[:, 0], slopes), pivot_row


def eliminate_matrices(steps: Iterator[Step], b: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ln |W|, trace(W^-1 B) and ln(|W + B| / |W|) for each matrix W.

    The results are NaN if W is singular. `steps` yields the elimination steps of W, the
    within-cluster scatter of each partition. `b` (rows, d, d) holds B, the between-cluster scatter,
    for the same linear combinations of the coordinates. The matrix W + B is represented by its
    difference d from W. As a result, the ratio of each pivot of W + B to the corresponding pivot w
    of W is 1 + d / w. This representation preserves the precision of a small B, which would be lost
    in ln |W + B| - ln |W|.
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
