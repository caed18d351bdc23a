"""neighbor_lists: scores of the neighbors of many nodes, and the chi-square distribution.

The m neighbors of n nodes are in arrays (m,), node by node. `starts` (n,) holds the first neighbor
of each node, and `counts` (n,) holds the number of its neighbors, which is at least 1.
"""

from __future__ import annotations

from math import lgamma
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .parts import Integers

Floats = NDArray[np.float64]

_NEWTON_STEPS, _BISECTION_STEPS = 7, 80
#: The largest difference of an entropy from its target.
_ENTROPY_TOLERANCE = 1e-14


def _entropy_and_variance(x: Floats, beta: Floats, starts: Integers) -> tuple[Floats, Floats]:
    """Return the entropies (n,) of the weights exp(-beta x), and the weighted variances of x."""
    counts = np.diff(starts, append=x.size)
    weights = np.exp(-np.repeat(beta, counts) * x)
    total = np.add.reduceat(weights, starts)
    weights *= x
    mean = np.add.reduceat(weights, starts) / total
    weights *= x
    return np.log(total) + beta * mean, np.add.reduceat(weights, starts) / total - mean * mean


def _solve_beta(x: Floats, counts: Integers, perplexity: Floats) -> Floats:
    """Return beta (n,) at which the entropy of the weights exp(-beta x) is ln(perplexity).

    x is from 0 to 1 for each node. Newton's method finds ln beta in few steps for nearly all nodes.
    The others are found by bisection.
    """
    starts, target = np.cumsum(counts) - counts, np.log(perplexity)
    mean = np.add.reduceat(x, starts) / counts
    variance = np.add.reduceat((x - np.repeat(mean, counts)) ** 2, starts) / counts
    # The entropy is about ln k - beta^2 variance / 2.
    with np.errstate(all="ignore"):
        beta = np.sqrt(2 * np.log(counts / perplexity) / variance)
        for _ in range(_NEWTON_STEPS):
            entropy, variance = _entropy_and_variance(x, beta, starts)
            step = (entropy - target) / (beta * beta * variance)
            beta = beta * np.exp(np.clip(step, -5.0, 5.0))
        entropy, _ = _entropy_and_variance(x, beta, starts)
    is_open = ~(np.abs(entropy - target) <= _ENTROPY_TOLERANCE)
    if is_open.any():
        of_open = x[np.repeat(is_open, counts)]
        beta[is_open] = _bisect_beta(of_open, counts[is_open], target[is_open])
    return beta


def _bisect_beta(x: Floats, counts: Integers, target: Floats) -> Floats:
    """Return beta (n,) as _solve_beta, by bisection of ln beta, for target entropies (n,)."""
    starts = np.cumsum(counts) - counts
    low, high = np.full(target.shape, -21.0), np.full(target.shape, 708.0)
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        is_above = _entropy_and_variance(x, np.exp(middle), starts)[0] > target
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return np.asarray(np.exp(low))


def neighbor_weights(d: Floats, counts: Integers, perplexity: Floats) -> Floats:
    """Return weights exp(-beta d) (m,), up to a factor, of entropy ln(perplexity) for each node.

    If at least as many neighbors as the perplexity are nearest, only these have a weight. If there
    are no more neighbors than the perplexity, all have the same weight.
    """
    starts = np.cumsum(counts) - counts
    least = np.minimum.reduceat(d, starts)
    width = np.maximum.reduceat(d, starts) - least
    x = (d - np.repeat(least, counts)) / np.repeat(np.where(width > 0, width, 1.0), counts)
    beta = np.where(perplexity >= counts, 0.0, 1e308)
    n_nearest = np.add.reduceat((x == 0).astype(np.float64), starts)
    is_inner = (perplexity < counts) & (n_nearest < perplexity)
    if is_inner.any():
        of_inner = x[np.repeat(is_inner, counts)]
        beta[is_inner] = _solve_beta(of_inner, counts[is_inner], perplexity[is_inner])
    return np.asarray(np.exp(-np.repeat(beta, counts) * x))


def _erfc(z: Floats) -> Floats:
    """Return the complementary error function of z >= 0.

    The midpoint rule with step 1/2 is exact up to the residue of the poles of the integrand, which
    is below the rounding error of the sum for z > 6.
    """
    total = np.zeros(z.shape)
    for i in range(13):
        total += np.exp(-((i + 0.5) ** 2) / 4) / (z * z + (i + 0.5) ** 2 / 4)
    residue = 2 / (1 + np.exp(4 * np.pi * np.minimum(z, 6.0)))
    return np.asarray(z * np.exp(-z * z) / np.pi * total + np.where(z < 6, residue, 0.0))


def chi_square_tail(x: Floats, freedom: Integers) -> Floats:
    """Return the probabilities that chi-square statistics are above x >= 0.

    The numbers of degrees of freedom, `freedom`, are whole numbers >= 1. The sum has one term for
    every two of them.
    """
    half, odd = np.maximum(x, 1e-300) / 2, freedom % 2
    tail = np.where(odd == 1, _erfc(np.sqrt(half)), 0.0)
    for i in range(int(freedom.max(initial=0)) // 2):
        place = i + odd / 2
        of_place = np.where(odd == 1, lgamma(i + 1.5), lgamma(i + 1.0))
        term = np.exp(place * np.log(half) - half - of_place)
        tail += np.where(i < freedom // 2, term, 0.0)
    return np.asarray(np.where(x > 0, np.minimum(tail, 1.0), 1.0))
