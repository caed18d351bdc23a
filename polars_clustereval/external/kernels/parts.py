"""Finds the connected parts of a graph with m links and n nodes, which are numbered from 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def label_parts(low: Integers, high: Integers, n: int) -> Integers:
    """Return, for each of n nodes, the lowest-numbered node in its connected part.

    `low` (m,) and `high` (m,) hold the ends of the links.
    """
    part = np.arange(n)
    while True:
        ends = part[low], part[high]
        differ = ends[0] != ends[1]
        if not differ.any():
            return part
        low, high = low[differ], high[differ]
        one, two = ends[0][differ], ends[1][differ]
        np.minimum.at(part, np.maximum(one, two), np.minimum(one, two))
        while True:
            lower = part[part]
            if np.array_equal(lower, part):
                break
            part = lower
