"""arrays: the types of numpy arrays, and arithmetic on them.

Docstrings name the axes by their lengths: (m, d) is an array of m points of d dimensions, (k, d)
one row per cluster for k clusters, and (m, n) a matrix of m points against n others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SmallIntegers = NDArray[np.uint8]
Booleans = NDArray[np.bool_]


def minkowski_lengths(sizes: Floats, p: float) -> Floats:
    """Return (sum of sizes^p)^(1/p) of each row (m, d), its Minkowski length of order p; (m,).

    `sizes` are absolute coordinates, and are overwritten. The largest of a row serves as its unit,
    because its power may overflow.
    """
    largest = sizes.max(axis=1, keepdims=True)
    sizes /= np.where(largest > 0, largest, 1.0)
    return np.asarray(largest[:, 0] * (sizes**p).sum(axis=1) ** (1 / p))


def zero_if_parallel(d: Floats) -> None:
    """Set the cosine distances d below 1e-15 to 0, in place: rounding error of parallel vectors."""
    d[d < 1e-15] = 0.0
