"""The pieces of an interval of a share that is estimated from a sample of labels."""

from __future__ import annotations

from math import expm1
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def wilson(p: float, q: float) -> tuple[float, float]:
    """Wilson's interval, the roots of (x - p)^2 = q x (1 - x), for q = z^2 / n."""
    limits = np.roots([1 + q, -(2 * p + q), p * p])
    return float(min(limits)), float(max(limits))


def squared_quantile(freedom: float, z: float) -> float:
    """The square of Wallace's approximation to a quantile of Student's t."""
    return freedom * expm1((z * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom)


def freedom_of(changes: Sequence[float]) -> float:
    """By the variance of the squares: 2 (sum of the squares)^2 / (their squared deviations)."""
    squares = np.array(changes) ** 2
    spread = float(np.sum((squares - squares.mean()) ** 2))
    freedom = 2 * float(squares.sum()) ** 2 / spread if spread else 1e6
    return min(len(changes) - 1, freedom, 1e6)
