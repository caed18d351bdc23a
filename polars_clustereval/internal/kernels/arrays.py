"""arrays: type aliases for numpy arrays, and functions that do arithmetic on arrays.

Docstrings give the shape of an array in parentheses. For example, (m, d) is an array of m points
with d dimensions, (k, d) has one row for each of k clusters, and (m, n) has one row for each of m
points and one column for each of n other points.
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
    """Return (sum of sizes^p)^(1/p) of each row of absolute values (m, d), which are overwritten.

    Each row is first divided by its largest value, so that the powers do not overflow.
    """
    largest = sizes.max(axis=1, keepdims=True)
    sizes /= np.where(largest > 0, largest, 1.0)
    return np.asarray(largest[:, 0] * (sizes**p).sum(axis=1) ** (1 / p))


def zero_if_parallel(d: Floats) -> None:
    """Set cosine distances d below 1e-15 (the rounding error of parallel vectors) to 0 in place."""
    d[d < 1e-15] = 0.0


def expand_ranges(start: Integers, stop: Integers) -> tuple[Integers, Integers]:
    """Return all pairs of indices (i, j) with start[i] <= j < stop[i], as two arrays."""
    counts = stop - start
    before = np.cumsum(counts) - counts
    i = np.repeat(np.arange(len(counts)), counts)
    return i, np.arange(len(i)) + np.repeat(start - before, counts)


def expand_range_blocks(
    start: Integers, stop: Integers, size: int
) -> Iterator[tuple[Integers, Integers]]:
    """Yield the pairs of expand_ranges in blocks of at most `size` pairs.

    Pairs with the same i are always in the same block, so a block may be larger than `size`.
    """
    ends = np.cumsum(stop - start)
    first = 0
    while first < len(ends):
        done = ends[first - 1] if first else 0
        after = max(first + 1, int(np.searchsorted(ends, done + size, side="right")))
        i, j = expand_ranges(start[first:after], stop[first:after])
        yield i + first, j
        first = after


def sum_by_group(groups: Integers, values: NDArray[Any], count: int) -> Floats:
    """Return the sums of the values (m,) in each of `count` groups with numbers (m,) from 0."""
    return np.bincount(groups, values, minlength=count).astype(np.float64)


def measure_differences(differences: Floats, name: str, p: float) -> Floats:
    """Return the distances of vectors with these differences (m, d), which it may overwrite."""
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
