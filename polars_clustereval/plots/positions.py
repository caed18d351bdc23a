"""Positions on maps: what the maps of points and of centroids share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .charts import round_limit

if TYPE_CHECKING:
    from polars_clustereval.internal.centroids import PointOptions
    from polars_clustereval.internal.kernels.arrays import Floats


def weight_coordinates(x: Floats, options: PointOptions) -> Floats:
    """Return coordinates as the distance compares them: weighted, and of length 1 for cosine."""
    if options.weights is not None:
        x = x * np.array(options.distance.factors(options.weights))
    if options.distance.name == "cosine":
        lengths = np.linalg.norm(x, axis=1, keepdims=True)
        x = np.divide(x, lengths, out=np.zeros_like(x), where=lengths > 0)
    return x


def orient_axis(axis: Floats) -> Floats:
    """Return the coordinates along an axis, with the sign that makes the one farthest from 0 > 0.

    If sizes are equal up to rounding errors, the first of them determines the sign.
    """
    largest = int(np.argmax(np.abs(axis) >= np.abs(axis).max() * (1 - 1e-9)))
    return axis if axis[largest] >= 0 else -axis


def equal_limits(coordinates: Floats, share: float) -> list[list[float]]:
    """Return limits of equal length for both axes, `share` of the larger span from the middle."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    half = share * float((high - low).max()) or 1.0
    middle = low + (high - low) / 2
    return [[round_limit(x - half), round_limit(x + half)] for x in middle.tolist()]
