"""parts: the connected parts of a graph with m links and n nodes, which are numbered from 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def find_roots(part: Integers, nodes: Integers) -> Integers:
    """Return the lowest node that is reached from each node by `part`."""
    roots = part[nodes]
    while not np.array_equal(lower := part[roots], roots):
        roots = lower
    return roots


def join_parts(part: Integers, low: Integers, high: Integers) -> None:
    """Add links, whose ends are `low` and `high` (m,), to `part` (n,).

    Each node of a part leads to a lower one of it by `part`, except the lowest, which leads to
    itself.
    """
    while low.size:
        one, two = find_roots(part, low), find_roots(part, high)
        part[low], part[high] = one, two
        differ = one != two
        low, high = one[differ], two[differ]
        joined = np.maximum(low, high)
        np.minimum.at(part, joined, np.minimum(low, high))
        # Long chains are halved in each step.
        while not np.array_equal(lower := part[part[joined]], part[joined]):
            part[joined] = lower


def label_parts(low: Integers, high: Integers, n: int) -> Integers:
    """Return, for each of n nodes, the lowest-numbered node in its connected part.

    `low` (m,) and `high` (m,) hold the ends of the links.
    """
    part = np.arange(n)
    join_parts(part, low, high)
    return find_roots(part, part)
