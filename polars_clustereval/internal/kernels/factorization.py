"""factorization: determinants of the scatter matrices of long vectors, from QR factorizations.

Let X (m, d) hold m centered points, and let X'X be their scatter matrix. If X = QR, where Q has
orthonormal columns and R (d, d) is triangular, then X'X = R'R. Therefore, |X'X| is the square of
the product of the diagonal entries of R. Unlike X'X, which contains squares, R preserves the
precision of nearly collinear columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .elimination import LARGEST_TRACE

if TYPE_CHECKING:
    from .arrays import Floats
    from .partitions import Partition

#: The number of points of a block, per dimension. Each block is factored together with the factor
#: of the blocks before it.
_ROWS_PER_DIMENSION = 4


class ScatterIndices(NamedTuple):
    """Log determinants and a trace computed from the scatter matrices of one partition.

    The values are NaN for singular matrices. W is the within-cluster scatter matrix, B is the
    between-cluster scatter matrix, and T = W + B. W_C is the scatter matrix of cluster C, which has
    n_C points.
    """

    log_det: float = np.nan  # ln |W|
    trace: float = np.nan  # trace(W^-1 B)
    log_ratio: float = np.nan  # ln(|T| / |W|)
    scott_symons: float = np.nan  # sum over clusters of n_C ln |W_C / n_C|


class _Factor(NamedTuple):
    """The triangular factor R of a scatter matrix, with values derived from R."""

    #: (d, d): R.
    r: Floats
    #: ln |R'R|, NaN if the matrix is singular.
    log_det: float
    #: (d, d): the inverse of R; empty if the matrix is singular.
    inverse: Floats


def factor_scatters(part: Partition, singular_share: float) -> ScatterIndices:
    """Return the ScatterIndices of one partition, computed from its points.

    A matrix counts as singular if any of its coordinates is almost completely explained by the
    preceding coordinates. The unexplained remainder of a coordinate is a linear combination of
    coordinates. The remainder counts as 0 if its sum of squares is at most d * `singular_share`
    times the sum of the squares of all terms in this combination, where d is the number of
    dimensions. The module kernels.elimination uses the same definition of a share.
    """
    n_dims, sizes = part.x.shape[1], part.sizes
    # With fewer points, W is singular, even if rounding errors hide this.
    if len(part.x) - len(sizes) < n_dims:
        return ScatterIndices()
    centered, differences = _center_points(part)
    own = np.split(centered, part.starts[1:-1]) if sizes.min() > n_dims else []
    factors = [_factor(x, singular_share) for x in own]
    within = _factor(np.concatenate([f.r for f in factors]) if own else centered, singular_share)
    if not len(within.inverse):
        return ScatterIndices()
    # The squares of these are the entries of B.
    between = _triangular_factor(differences * np.sqrt(sizes)[:, None])
    singular_values = np.linalg.svd(between @ within.inverse, compute_uv=False)
    trace = float((singular_values**2).sum())
    log_ratio = float(np.log1p(singular_values**2).sum())
    if trace > 1:
        # The rounding error of log_ratio increases with the trace.
        total = _factor(np.concatenate([within.r, between]), singular_share)
        if not np.isnan(total.log_det):
            log_ratio = total.log_det - within.log_det
        elif trace > LARGEST_TRACE:
            log_ratio = np.nan
    scott_symons = np.nan
    if own:
        own_log_dets = np.array([f.log_det for f in factors])
        scott_symons = float((sizes * (own_log_dets - n_dims * np.log(sizes))).sum())
    return ScatterIndices(within.log_det, trace, log_ratio, scott_symons)


def _center_points(part: Partition) -> tuple[Floats, Floats]:
    """Return the points minus their cluster means (m, d), and these minus the overall mean (k, d).

    For coordinates around 1e8, a computed mean is off by about 1e-8, so it is corrected by adding
    the mean of the differences from it. To compute a mean, one of the averaged values is first
    subtracted, because the mean of identical numbers must equal that number exactly.
    """
    sizes, numbers = part.sizes, part.numbers
    firsts = part.x[part.starts[:-1]]
    means = firsts + _means_by_cluster(part.x - firsts[numbers], part)
    centered = part.x - means[numbers]
    corrections = _means_by_cluster(centered, part)
    centered -= corrections[numbers]
    differences = means - means[0]
    differences -= np.average(differences, axis=0, weights=sizes)
    differences += corrections
    return centered, differences - np.average(differences, axis=0, weights=sizes)


def _means_by_cluster(x: Floats, part: Partition) -> Floats:
    """Return the mean of the rows of x (m, d) in each cluster of `part`."""
    return np.asarray(np.add.reduceat(x, part.starts[:-1]) / part.sizes[:, None])


def _triangular_factor(x: Floats) -> Floats:
    """Return the triangular factor R, with d columns and at most d rows, of x (m, d), by blocks."""
    step = _ROWS_PER_DIMENSION * x.shape[1]
    r = np.linalg.qr(x[:step], mode="r")
    for start in range(step, len(x), step):
        r = np.linalg.qr(np.concatenate([r, x[start : start + step]]), mode="r")
    return np.asarray(r)


def _factor(x: Floats, singular_share: float) -> _Factor:
    """Return the factor of the scatter matrix x'x of x (m, d), where m >= d."""
    n_dims, r = x.shape[1], _triangular_factor(x)
    lengths, diagonal = np.sqrt((r**2).sum(axis=0)), np.abs(np.diagonal(r))
    singular = _Factor(r, np.nan, np.empty((0, n_dims)))
    if not (diagonal > 0).all():
        return singular
    # The units are the lengths of the columns, which may have any size.
    inverse = np.linalg.inv(r / lengths)
    # Column j of the inverse, times the diagonal, is the combination of coordinates that remains of
    # j.
    shares = 1 / (inverse**2).sum(axis=0)
    if not (shares > singular_share * n_dims).all():
        return singular
    return _Factor(r, 2 * float(np.log(diagonal).sum()), inverse / lengths[:, None])
