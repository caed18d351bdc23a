"""Silhouettes of drawn points against drawn references, and their errors, by brute force.

The variance by the references is the infinitesimal jackknife's: every reference gets a weight, and
the mean silhouette is differentiated by each weight numerically. Formulas of derivatives are what
it checks.
"""

from __future__ import annotations

import math
from statistics import NormalDist, mean, variance
from typing import TYPE_CHECKING, Any

from tests.support.silhouette_oracle import SCORES, plain

if TYPE_CHECKING:
    from tests.support.silhouette_oracle import Row, Silhouettes

STEP = 1e-4
REFERENCE_SEED = 1_000_000_007


class Draw:
    """Queries and references of one partition; without a reference_size all points are some."""

    def __init__(
        self, part: Silhouettes, size: int | None, seed: int, reference_size: int | None = None
    ) -> None:
        self.part = part
        self.order = part.in_order()
        every = range(part.n)
        self.queries = sorted(self.order[q] for q in drawn(every, size or part.n, seed))
        if part.measure.distance in ("sqeuclidean", "cosine"):
            reference_size = None
        self.references = {
            key: [
                self.order[q]
                for q in drawn(
                    [q for q in every if self.order[q] in set(places)],
                    reference_size or part.n,
                    seed + REFERENCE_SEED,
                )
            ]
            for key, places in part.members.items()
        }

    def deviation(self, i: int, key: Any) -> float:
        """What the mean distance of a point to a cluster varies by, from halves of references."""
        references = self.references[key]
        share = len(references) / len(self.part.members[key])
        halves = [
            [float(self.part.apart[i, r]) for r in references[start::2] if r != i]
            for start in (0, 1)
        ]
        if share == 1 or not all(halves):
            return 0.0
        return math.sqrt(1 - share) * (mean(halves[0]) - mean(halves[1])) / 2

    def unbiased(self, i: int) -> float:
        """The silhouette of a point in a mean of many."""
        varied = [self.row(i, sign=sign)["silhouette"] for sign in (1, -1)]
        return float(min(1.0, max(-1.0, 2 * self.row(i)["silhouette"] - mean(varied))))

    def row(self, i: int, weights: dict[int, float] | None = None, sign: int = 0) -> Row:
        """The row of a point, with references that count as often as their weights say.

        Mean distances are greater by their deviation times the sign.
        """
        key, part = self.part.keys[i], self.part
        means = {}
        for other, references in self.references.items():
            terms = [(float(part.apart[i, r]), (weights or {}).get(r, 1.0)) for r in references]
            if other == key:
                terms = [t for t, r in zip(terms, references, strict=True) if r != i]
            total = math.fsum(weight for _, weight in terms)
            means[other] = math.fsum(d * w for d, w in terms) / total if terms else 0.0
            if sign:
                means[other] = max(0.0, means[other] + sign * self.deviation(i, other))
        a = means.pop(key)
        neighbor = min(means, key=lambda other: means[other])
        b = means[neighbor]
        s = 0.0 if len(part.members[key]) == 1 or max(a, b) == 0 else (b - a) / max(a, b)
        found = {"id": part.ids[i], "cluster": plain(key), "neighbor": plain(neighbor)}
        return found | {"a": a, "b": b, "silhouette": s}

    def reference_variance(self, points: list[int]) -> float:
        """Variance of the mean silhouette of these points by the draw of the references."""
        total = 0.0
        for key, references in self.references.items():
            n, t = len(self.part.members[key]), len(references)
            if t == n:
                continue
            squares = 0.0
            for r in references:
                up, down = (
                    mean(self.row(i, {r: 1.0 + step})["silhouette"] for i in points)
                    for step in (STEP, -STEP)
                )
                squares += ((up - down) / (2 * STEP)) ** 2
            total += (1 - t / n) * t / (t - 1) * squares
        return total

    def std_error(self, points: list[int], n: int) -> float | None:
        """Standard error of the mean silhouette of these points, out of n."""
        m = len(points)
        if m == 1 < n:
            return None
        values = [self.unbiased(i) for i in points]
        sampled = (1 - m / n) * variance(values) / m if m < n else 0.0
        return math.sqrt(sampled + self.reference_variance(points))

    def samples(self) -> list[Row]:
        rows = [
            self.row(i) | {"std_error": math.sqrt(self.reference_variance([i]))}
            for i in self.queries
        ]
        return sorted(rows, key=lambda row: row["id"])

    def clusters(self) -> list[Row]:
        rows = []
        for key, places in self.part.members.items():
            chosen = [i for i in self.queries if i in places]
            found: Row = dict.fromkeys(("a", "b", "silhouette", "std_error"))
            if chosen:
                mine = [self.row(i) for i in chosen]
                found = {name: mean(row[name] for row in mine) for name in ("a", "b")}
                found["silhouette"] = mean(self.unbiased(i) for i in chosen)
                found["std_error"] = self.std_error(chosen, len(places))
            rows.append({"cluster": plain(key), "n": len(places), **found})
        return rows

    def score(self, confidence: float) -> Row:
        if not self.part.is_clustering:
            return self.part.counts(0) | dict.fromkeys(SCORES)
        rows = {i: self.unbiased(i) for i in self.queries}
        found = self.part.scores(rows)
        error = self.std_error(self.queries, self.part.n)
        whole, found["std_error"] = found["silhouette"], error
        half = NormalDist().inv_cdf((1 + confidence) / 2) * (math.inf if error is None else error)
        found["silhouette_lower"] = max(-1.0, whole - half)
        found["silhouette_upper"] = min(1.0, whole + half)
        return self.part.counts(len(rows)) | found


def drawn(places: Any, size: int, seed: int) -> list[int]:
    """Those of the places that are drawn."""
    return sorted(places, key=lambda q: (mixed(q, seed), q))[:size]


def mixed(place: int, seed: int) -> int:
    prime = 2147483647
    x0, s = place % prime, seed % prime
    x1 = (x0 * 48271 + s * 69621 + 1) % prime
    x2 = (x1 * x1 + s) % prime
    x3 = (x2 * 39373 + x0) % prime
    return (x3 * x3 + x1) % prime
