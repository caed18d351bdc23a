"""arrays: the types of numpy arrays, and arithmetic on them.

Docstrings name the axes by their lengths: (m, d) is an array of m points of d dimensions, (k, d)
one row per cluster for k clusters, and (m, n) a matrix of m points against n others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def expand_ranges(start: Integers, stop: Integers) -> tuple[Integers, Integers]:
    """Return all pairs of indices i, j with start[i] <= j < stop[i], as two arrays."""
    counts = stop - start
    before = np.cumsum(counts) - counts
    i = np.repeat(np.arange(len(counts)), counts)
    return i, np.arange(len(i)) + np.repeat(start - before, counts)


def expand_range_blocks(
    start: Integers, stop: Integers, size: int
) -> Iterator[tuple[Integers, Integers]]:
    """Yield the pairs of expand_ranges in blocks of at most `size`, or all pairs of a single i."""
    ends = np.cumsum(stop - start)
    first = 0
    while first < len(ends):
        done = ends[first - 1] if first else 0
        after = max(first + 1, int(np.searchsorted(ends, done + size, side="right")))
        i, j = expand_ranges(start[first:after], stop[first:after])
        yield i + first, j
        first = after


def sum_by_group(groups: Integers, values: NDArray[Any], count: int) -> Floats:
    """Return the sums (count,) of the values (m,) in each group, 0 <= groups (m,) < count."""
    return np.bincount(groups, values, minlength=count).astype(np.float64)


def measure_differences(differences: Floats, name: str, p: float) -> Floats:
    """Return the distances (m,) of pairs of vectors, of which `differences` (m, d) is x - y.

    `name` is that of the distance, p the order of minkowski. The differences may be overwritten.
    """
    if name in ("cityblock", "chebyshev", "minkowski"):
        sizes = np.abs(differences, out=differences)
        if name == "chebyshev":
            return np.asarray(sizes.max(axis=1))
        if name == "cityblock":
            return np.asarray(sizes.sum(axis=1))
        return minkowski_lengths(sizes, p)
    squares: Floats = np.einsum("ij,ij->i", differences, differences)
    if name == "cosine":
        squares /= 2
        zero_if_parallel(squares)
        return squares
    return squares if name == "sqeuclidean" else np.sqrt(squares)
