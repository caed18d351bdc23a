"""The indices of determinants from their definition (Desgraupes, clusterCrit): fractions, numpy.

Nothing is shared with what they check. A singular matrix has None in place of an index.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

INDICES = ("det_ratio", "log_det_ratio", "ksq_detw_index", "scott_symons_index", "trace_wib")
NOTHING = (None,) * 5
Indices = tuple[float | None, ...]
Vector = list[Fraction]
Matrix = list[Vector]


def mean_vector(points: Sequence[Sequence[Fraction]]) -> Vector:
    return [sum(column, Fraction(0)) / len(points) for column in zip(*points, strict=True)]


def scatter_matrix(points: Sequence[Sequence[Fraction]], c: Vector) -> Matrix:
    p = range(len(c))
    return [
        [sum(((x[i] - c[i]) * (x[j] - c[j]) for x in points), Fraction(0)) for j in p] for i in p
    ]


def matrix_sum(x: Matrix, y: Matrix) -> Matrix:
    return [[a + b for a, b in zip(r, s, strict=True)] for r, s in zip(x, y, strict=True)]


def solve_exactly(a: Matrix, b: Matrix) -> tuple[Fraction, Matrix]:
    """Return (det(a), a^-1 b) by Gauss-Jordan, the latter empty if a is singular."""
    p, rows, det = len(a), [[*r, *s] for r, s in zip(a, b, strict=True)], Fraction(1)
    for j in range(p):
        pivot = next((i for i in range(j, p) if rows[i][j] != 0), None)
        if pivot is None:
            return Fraction(0), []
        if pivot != j:
            rows[j], rows[pivot], det = rows[pivot], rows[j], -det
        det *= rows[j][j]
        rows[j] = [x / rows[j][j] for x in rows[j]]
        for i in range(p):
            if i != j:
                rows[i] = [x - rows[i][j] * y for x, y in zip(rows[i], rows[j], strict=True)]
    return det, [row[p:] for row in rows]


def log_of_fraction(x: Fraction) -> float:
    return (
        math.log1p(x - 1) if abs(x - 1) < 0.5 else math.log(x.numerator) - math.log(x.denominator)
    )


def indices_by_fractions(points: Any, cluster: Sequence[object]) -> Indices:
    vectors = [tuple(map(Fraction, x)) for x in points]
    groups: dict[object, list[tuple[Fraction, ...]]] = {}
    for x, c in zip(vectors, cluster, strict=True):
        groups.setdefault(c, []).append(x)
    n, k, p = len(vectors), len(groups), len(vectors[0])
    within = between = [[Fraction(0)] * p] * p
    scott: float | None = 0.0
    for members in groups.values():
        centroid, size = mean_vector(members), len(members)
        own = scatter_matrix(members, centroid)
        within = matrix_sum(within, own)
        apart = scatter_matrix([centroid], mean_vector(vectors))
        between = matrix_sum(between, [[size * x for x in row] for row in apart])
        det, _ = solve_exactly([[x / size for x in row] for row in own], own)
        scott = None if scott is None or det == 0 else scott + size * log_of_fraction(det)
    det_t, _ = solve_exactly(scatter_matrix(vectors, mean_vector(vectors)), within)
    det_w, ratio = solve_exactly(within, between)
    if det_w == 0:
        return (None, None, None, scott, None)
    trace = sum(ratio[i][i] for i in range(p))
    log_ratio = n * log_of_fraction(det_t / det_w)
    return (float(det_t / det_w), log_ratio, float(k * k * det_w), scott, float(trace))


def indices_by_numpy(points: NDArray[np.float64], cluster: NDArray[np.int64]) -> Indices:
    n, p = points.shape
    labels = np.unique(cluster)
    centered = points - points.mean(axis=0)
    within, between, scott = np.zeros((p, p)), np.zeros((p, p)), 0.0
    for c in labels:
        own = centered[cluster == c]
        centroid = own.mean(axis=0)
        scatter = (own - centroid).T @ (own - centroid)
        within += scatter
        between += len(own) * np.outer(centroid, centroid)
        scott += len(own) * float(np.linalg.slogdet(scatter / len(own))[1])
    log_w = float(np.linalg.slogdet(within)[1])
    log_ratio = float(np.linalg.slogdet(centered.T @ centered)[1]) - log_w
    return (
        math.exp(log_ratio),
        n * log_ratio,
        len(labels) ** 2 * math.exp(log_w),
        scott,
        float(np.trace(np.linalg.solve(within, between))),
    )
