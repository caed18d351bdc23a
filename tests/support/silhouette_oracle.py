"""Silhouettes from their definition: every distance, and loops over points and clusters.

Nothing is shared with what it checks. A point that is noise on its own is in the cluster (row, ).
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.point_oracle import Measure

Row = dict[str, Any]

SCORES = (
    "silhouette",
    "silhouette_macro",
    "silhouette_max",
    "silhouette_lower",
    "silhouette_upper",
    "std_error",
)


class Silhouettes:
    """Every point of one partition that is kept, in the order of its rows."""

    def __init__(
        self,
        points: Sequence[Sequence[float | None] | None],
        clusters: Sequence[Any],
        measure: Measure,
        noise: Any = None,
        noise_as: str = "cluster",
        ids: Sequence[Any] | None = None,
        between: str = "nearest",
    ) -> None:
        self.measure = measure
        self.between = between
        self.n_dropped = self.n_noise = 0
        self.ids: list[Any] = []
        self.keys: list[Any] = []
        kept = []
        for i, (point, key) in enumerate(zip(points, clusters, strict=True)):
            if point is None or key is None or all(x is None for x in point):
                self.n_dropped += 1
                continue
            self.n_noise += int(key == noise)
            if key == noise and noise_as == "drop":
                continue
            kept.append(point)
            self.ids.append(i if ids is None else ids[i])
            self.keys.append((i,) if key == noise and noise_as == "singletons" else key)
        self.n = len(kept)
        self.members = {key: self.places_of(key) for key in self.order()}
        self.k = len(self.members)
        self.is_clustering = 2 <= self.k < self.n
        self.x = np.array(kept, dtype=float)
        self.rows: list[Row] = []
        if self.n:
            self.apart = measure.between(self.x, self.x)
            self.rows = [self.row(i) for i in range(self.n)]

    def with_between(self, between: str) -> Silhouettes:
        """The same points, compared with other clusters in another way."""
        other = copy.copy(self)
        other.between = between
        other.rows = [other.row(i) for i in range(self.n)]
        return other

    def order(self) -> list[Any]:
        """The clusters from the lowest key on, single points last."""
        keys = set(self.keys)
        named = sorted(key for key in keys if not isinstance(key, tuple))
        return [*named, *sorted(key for key in keys if isinstance(key, tuple))]

    def places_of(self, key: Any) -> list[int]:
        return [i for i, other in enumerate(self.keys) if other == key]

    def row(self, i: int) -> Row:
        key = self.keys[i]
        own = [float(self.apart[i, j]) for j in self.members[key] if j != i]
        a = math.fsum(own) / len(own) if own else 0.0
        means = self.other_means(i)
        b = self.choose(means, [float(self.apart[i, j]) for j in self.outside(i)])
        neighbor = next((other for other, mean in means.items() if mean == b), None)
        if self.between == "mean_other":
            neighbor = None
        s = None
        if self.is_clustering and b is not None:
            s = 0.0 if not own or max(a, b) == 0 else (b - a) / max(a, b)
        return {
            "id": self.ids[i],
            "cluster": plain(key),
            "neighbor": plain(neighbor),
            "a": a,
            "b": b,
            "silhouette": s,
            "std_error": None,
        }

    def other_means(self, i: int) -> dict[Any, float]:
        return {
            key: math.fsum(float(self.apart[i, j]) for j in places) / len(places)
            for key, places in self.members.items()
            if key != self.keys[i]
        }

    def outside(self, i: int) -> list[int]:
        return [j for j, key in enumerate(self.keys) if key != self.keys[i]]

    def choose(self, means: dict[Any, float], outside: list[float]) -> float | None:
        """b of a point: its mean distances to other clusters, and the distances to their points."""
        if not means:
            return None
        if self.between == "mean_other":
            return math.fsum(outside) / len(outside)
        return (max if self.between == "furthest" else min)(means.values())

    def is_tied(self, i: int) -> bool:
        """Whether rounding decides which of two clusters is the neighbor."""
        means = self.other_means(i).values()
        first, *more = sorted(means, reverse=self.between == "furthest")[:2] or [0.0]
        return bool(more) and abs(more[0] - first) <= 1e-9 * (1 + first)

    def samples(self) -> list[Row]:
        return sorted(self.rows, key=lambda row: row["id"])

    def clusters(self) -> list[Row]:
        rows = []
        for key, places in self.members.items():
            mine = [self.rows[i] for i in places]
            means = {name: mean([row[name] for row in mine]) for name in ("a", "b", "silhouette")}
            rows.append({"cluster": plain(key), "n": len(mine), **means, "std_error": None})
        return rows

    def counts(self, n_evaluated: int) -> Row:
        return {
            "n": self.n,
            "n_dropped": self.n_dropped,
            "n_noise": self.n_noise,
            "n_clusters": self.k,
            "n_singletons": sum(len(places) == 1 for places in self.members.values()),
            "n_evaluated": n_evaluated if self.is_clustering else 0,
        }

    def score(self) -> Row:
        if not self.is_clustering:
            return self.counts(0) | dict.fromkeys(SCORES)
        return self.counts(self.n) | self.scores({i: row["silhouette"] for i, row in self.each()})

    def each(self) -> list[tuple[int, Row]]:
        return list(enumerate(self.rows))

    def scores(self, values: dict[int, float]) -> Row:
        """The scores from the silhouettes of some points."""
        whole = math.fsum(values.values()) / len(values)
        means = [
            mean([values[i] for i in places if i in values]) for places in self.members.values()
        ]
        known = [x for x in means if x is not None]
        complete = len(known) == len(means)
        return {
            "silhouette": whole,
            "silhouette_macro": math.fsum(known) / len(known) if complete else None,
            "silhouette_max": max(known) if complete else None,
            "silhouette_lower": whole,
            "silhouette_upper": whole,
            "std_error": None,
        }

    def simplified(self) -> Row:
        if not self.is_clustering:
            return self.counts(0) | dict.fromkeys(SCORES)
        centroids = np.array(
            [self.measure.centroid(self.x[places]) for places in self.members.values()]
        )
        apart = self.measure.between(self.x, centroids)
        values = {}
        for i, key in enumerate(self.keys):
            own = list(self.members).index(key)
            a = float(apart[i, own])
            means = {other: float(apart[i, c]) for c, other in enumerate(self.members) if c != own}
            # The center of a cluster stands for each of its points.
            b = self.choose(means, [means[self.keys[j]] for j in self.outside(i)])
            assert b is not None
            alone = len(self.members[key]) == 1
            values[i] = 0.0 if alone or max(a, b) == 0 else (b - a) / max(a, b)
        limits = {"silhouette_lower": None, "silhouette_upper": None}
        return self.counts(self.n) | self.scores(values) | limits

    def in_order(self) -> list[int]:
        return sorted(range(self.n), key=lambda i: self.ids[i])


def plain(key: Any) -> Any:
    return None if isinstance(key, tuple) else key


def mean(values: list[Any]) -> float | None:
    if not values or None in values:
        return None
    return math.fsum(values) / len(values)
