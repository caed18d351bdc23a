"""distances: distances of two vectors, given as expressions, and their options."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from polars_clustereval.base.checks import check_choice, is_number, show_value
from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Sequence

DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")


class Distance(NamedTuple):
    """A distance between two rows of coordinate columns, given as expressions."""

    name: str
    p: float

    def between(self, x: Sequence[pl.Expr], y: Sequence[pl.Expr]) -> pl.Expr:
        """Give the distance; NULL or not finite where a coordinate is."""
        apart = [a - b for a, b in zip(x, y, strict=True)]
        if self.name == "cityblock":
            return _sum_terms([a.abs() for a in apart])
        if self.name == "chebyshev":
            sizes = [a.abs() for a in apart]
            return pl.when(_sum_terms(sizes).is_finite()).then(pl.max_horizontal(sizes))
        if self.name == "minkowski":
            return _sum_terms([a.abs().pow(self.p) for a in apart]).pow(1 / self.p)
        squares = sum_of_squares(apart)
        if self.name == "cosine":
            # Half the squared distance of unit vectors is 1 - cos without its cancellation.
            zero = (sum_of_squares(x) == 0) | (sum_of_squares(y) == 0)
            return pl.when(zero).then(1.0).otherwise(squares / 2)
        return squares if self.name == "sqeuclidean" else squares.sqrt()

    def squared(self, d: pl.Expr) -> pl.Expr:
        """Give its square in sums of squares; a squared distance is one already."""
        return d if self.name == "sqeuclidean" else d * d

    def factors(self, weights: Sequence[float]) -> list[float]:
        """Give the factor on each coordinate that makes a weighted distance a plain one."""
        powers = {"cityblock": 1.0, "minkowski": 1 / self.p}
        return [weight ** powers.get(self.name, 0.5) for weight in weights]


def _sum_terms(terms: Sequence[pl.Expr]) -> pl.Expr:
    return pl.sum_horizontal(terms, ignore_nulls=False)


def sum_of_squares(x: Sequence[pl.Expr]) -> pl.Expr:
    # A product would work out what stands in it twice.
    return _sum_terms([a.pow(2) for a in x])


def check_distance(distance: object, p: float) -> Distance:
    name = distance.lower() if isinstance(distance, str) else distance
    if name not in DISTANCES:
        check_choice("distance", distance, DISTANCES)
    if not (is_number(p) and 1 <= float(p) < 1e150):
        raise ClusterEvalError(f"p: expected a number >= 1, got {show_value(p)}")
    return Distance(str(name), float(p))


def check_weights(
    weights: Sequence[float] | None, distance: Distance, dims: int | None
) -> list[float]:
    """Give the factor of each coordinate; there are none where dims is None."""
    if weights is None:
        return [1.0] * (dims or 1)
    if distance.name == "chebyshev":
        raise ClusterEvalError("weights: chebyshev takes none; scale the coordinates instead")
    numbers = list(weights)
    if not all(is_number(w) and 0 < float(w) < 1e150 for w in numbers):
        raise ClusterEvalError(
            f"weights: expected a number > 0 for each dimension, got {show_value(numbers)}"
        )
    if dims is None:
        return [1.0]
    if len(numbers) != dims:
        raise ClusterEvalError(
            f"weights: expected one for each of {dims} dimensions, got {len(numbers)}"
        )
    return distance.factors([float(w) for w in numbers])


def plain_distance_name(distance: str, p: float) -> str:
    """Give the simpler name of a minkowski distance that has one."""
    if isinstance(distance, str) and distance.lower() == "minkowski" and is_number(p):
        return {1.0: "cityblock", 2.0: "euclidean"}.get(float(p), distance)
    return distance
