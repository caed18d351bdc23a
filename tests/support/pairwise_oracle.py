"""pairwise_report from its definitions: scipy's distances and loops over pairs.

Nothing is shared with what it checks. Distances are equal where they differ by less than 1e-12 of
the greater, or than 1e-14, to which scipy's cosine is known: on the data of the tests those are the
ones that are equal by definition.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.support.point_oracle import Partition

INDICES = (
    "c_index",
    "gamma",
    "g_plus",
    "tau",
    "mcclain_rao",
    "point_biserial",
    "connectivity",
)


def is_equal(x: float, y: float) -> bool:
    return math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-14)


def pairwise_report(part: Partition, n_neighbors: int = 10) -> dict[str, Any]:
    own = [i for i, c in enumerate(part.clusters) for _ in c.points]
    d = part.measure.between(part.all, part.all) if part.n else np.zeros((0, 0))
    if part.measure.distance == "cosine":
        d[d < 1e-14] = 0.0  # vectors of one direction, but for rounding
    pairs = [
        (float(d[i, j]), own[i] == own[j]) for i, j in itertools.combinations(range(part.n), 2)
    ]
    within = [x for x, same in pairs if same]
    between = [x for x, same in pairs if not same]
    row: dict[str, Any] = {
        "n": part.n,
        "n_dropped": part.n_dropped,
        "n_noise": part.n_noise,
        "n_clusters": part.k,
        "n_within_pairs": Decimal(len(within)),
        "n_between_pairs": Decimal(len(between)),
        **dict.fromkeys(INDICES),
    }
    if 2 <= part.k < part.n:
        row |= scores(within, between)
    if part.n >= 2:
        row["connectivity"] = connectivity(d, own, n_neighbors)
    return row


def scores(within: list[float], between: list[float]) -> dict[str, float | None]:
    n_w, n_b = len(within), len(between)
    n_t = n_w + n_b
    plus = sum(x < y and not is_equal(x, y) for x in within for y in between)
    minus = sum(x > y and not is_equal(x, y) for x in within for y in between)
    mean_w, mean_b = math.fsum(within) / n_w, math.fsum(between) / n_b
    return {
        "c_index": c_index(within, between),
        "gamma": (plus - minus) / (plus + minus) if plus + minus else None,
        "g_plus": 2 * minus / (n_t * (n_t - 1)),
        "tau": (plus - minus) / math.sqrt(n_b * n_w * n_t * (n_t - 1) / 2),
        "mcclain_rao": mean_w / mean_b if mean_b else None,
        "point_biserial": (mean_w - mean_b) * math.sqrt(n_w * n_b) / n_t,
    }


def c_index(within: list[float], between: list[float]) -> float | None:
    every = sorted(within + between)
    if is_equal(every[0], every[-1]):
        return None
    least, most = math.fsum(every[: len(within)]), math.fsum(every[-len(within) :])
    return (math.fsum(within) - least) / (most - least)


def connectivity(d: Any, own: list[int], n_neighbors: int) -> float:
    """The mean over all orders in which equally near neighbors can stand."""
    total = []
    for i in range(len(own)):
        others = sorted((float(d[i, j]), own[j] != own[i]) for j in range(len(own)) if j != i)
        place = 0
        while place < min(n_neighbors, len(others)):
            tied = [foreign for x, foreign in others[place:] if is_equal(x, others[place][0])]
            places = range(place + 1, min(place + len(tied), n_neighbors) + 1)
            total += [sum(tied) / len(tied) / j for j in places]
            place += len(tied)
    return math.fsum(total)
