"""The tables of neighborhoods from their definitions, by networkx and scipy."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.stats import chi2, norm

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.engines import Row

POINT = {"id": pl.Int64, "cluster": pl.Int64}
NEIGHBOR = {"left": pl.Int64, "right": pl.Int64, "d": pl.Float64}
MEANS = ("neighbor_purity", "balanced_purity", "inverse_simpson", "lisi")


def neighbors_of(rows: Iterable[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=NEIGHBOR, orient="row")


def random_neighbors(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Up to 30 ids; neighbors with ties, loops, repetitions, foreign ends and gaps."""
    r = np.random.default_rng(seed)
    n, k = int(r.integers(1, 31)), int(r.integers(1, 6))
    clusters = [None if r.random() < 0.05 else int(r.integers(k)) for _ in range(n)]
    most = int(r.integers(1, 17))
    rows = []
    for i in range(n):
        for j in r.integers(0, n + 1, int(r.integers(0, most + 1))):
            d = float(r.integers(0, 4)) / 3 if r.random() < 0.4 else float(r.exponential(10.0))
            rows.append((i, int(j), d * 10.0 ** float(r.integers(-3, 4))))
    points = pl.DataFrame(list(enumerate(clusters)), schema=POINT, orient="row")
    return points[r.permutation(n)], neighbors_of(rows)[r.permutation(len(rows))]


def kernel_weights(d: list[float], perplexity: float) -> list[float]:
    """exp(-beta d) with an entropy of ln(perplexity), in the limit where there is none."""
    x = [value - min(d) for value in d]
    if perplexity >= len(x):
        return [1.0] * len(x)
    if x.count(0) >= perplexity:
        return [float(value == 0) for value in x]

    def excess(log_beta: float) -> float:
        w = [math.exp(-math.exp(log_beta) * value) for value in x]
        p = [value / sum(w) for value in w]
        return -sum(q * math.log(q) for q in p if q > 0) - math.log(perplexity)

    top = math.log(max(x))
    beta = math.exp(brentq(excess, -21 - top, 60 - math.log(min(v for v in x if v)), xtol=1e-15))
    return [math.exp(-beta * value) for value in x]


class Neighborhoods:
    """The nearest neighbors of the ids of one partition, without noise that is dropped."""

    def __init__(
        self, points: pl.DataFrame, rows: pl.DataFrame, perplexity: float | None = None
    ) -> None:
        self.cluster = dict(points.drop_nulls("cluster").select("id", "cluster").iter_rows())
        self.n_dropped = points["cluster"].null_count()
        self.sizes = Counter(self.cluster.values())
        self.perplexity = perplexity
        self.found: dict[int, dict[int, float]] = {i: {} for i in sorted(self.cluster)}
        self.dropped: Counter[int] = Counter()
        self.counts: Counter[str] = Counter()
        for left, right, d in rows.select("left", "right", "d").iter_rows():
            if left not in self.cluster or right not in self.cluster:
                self.counts["dropped"] += 1
                self.dropped[left] += left in self.cluster
            elif left == right:
                self.counts["self"] += 1
            else:
                known = self.found[left]
                self.counts["duplicate"] += right in known
                known[right] = min(d, known.get(right, math.inf))

    def sample(self, i: int) -> Row:
        ranked = sorted((d, j) for j, d in self.found[i].items())
        k, own, n = len(ranked), self.cluster[i], len(self.cluster)
        row: Row = {"id": i, "cluster": own, "n_neighbors": k, "n_dropped_neighbors": 0}
        row["n_dropped_neighbors"] = self.dropped[i]
        names = (*MEANS, "kbet_statistic", "kbet_p_value", "connectivity")
        if not k:
            return row | dict.fromkeys((*names, "normalized_connectivity"))
        clusters = [self.cluster[j] for _, j in ranked]
        perplexity = self.perplexity or max(1, k // 3)
        weights = kernel_weights([d for d, _ in ranked], perplexity)
        mass: Counter[int] = Counter()
        for cluster, weight in zip(clusters, weights, strict=True):
            mass[cluster] += weight / sum(weights)
        number = Counter(clusters)
        means = {c: k * size / n for c, size in self.sizes.items()}
        statistic = sum((number[c] - mean) ** 2 / mean for c, mean in means.items())
        connectivity = sum(1 / r for r, c in enumerate(clusters, 1) if c != own)
        balanced = sum(1 / self.sizes[c] for c in clusters)
        freedom = len(self.sizes) - 1
        # All neighbors in the smallest cluster.
        most = k * (n / min(self.sizes.values()) - 1)
        has_p_value = freedom > 0 and chi2.sf(most, freedom) < 0.05
        is_default = self.perplexity is None and k < 6
        return row | {
            "neighbor_purity": number[own] / k,
            "balanced_purity": number[own] / self.sizes[own] / balanced,
            "inverse_simpson": 1 / sum((m / k) ** 2 for m in number.values()),
            "lisi": None if is_default else 1 / sum(p * p for p in mass.values()),
            "kbet_statistic": statistic,
            "kbet_p_value": float(chi2.sf(statistic, freedom)) if has_p_value else None,
            "connectivity": float(connectivity),
            "normalized_connectivity": connectivity / sum(1 / r for r in range(1, k + 1)),
        }

    def samples(self) -> list[Row]:
        return [self.sample(i) for i in self.found]

    def graph(self) -> nx.Graph:
        graph = nx.Graph()
        graph.add_nodes_from(self.cluster)
        graph.add_edges_from((i, j) for i, found in self.found.items() for j in found)
        return graph

    def means(self, samples: list[Row]) -> Row:
        scored = [row for row in samples if row["n_neighbors"]]
        p_values = [row["kbet_p_value"] for row in scored if row["kbet_p_value"] is not None]
        most = sum(sum(1 / r for r in range(1, row["n_neighbors"] + 1)) for row in scored)
        total = sum(row["connectivity"] for row in scored)
        return {
            **{name: mean([x for row in scored if (x := row[name]) is not None]) for name in MEANS},
            "kbet_acceptance_rate": mean([float(p >= 0.05) for p in p_values]),
            "connectivity": float(total) if scored else None,
            "normalized_connectivity": total / most if scored else None,
        }

    def clusters(self) -> list[Row]:
        graph, samples, rows = self.graph(), self.samples(), []
        for cluster, n in sorted(self.sizes.items()):
            own = [row for row in samples if row["cluster"] == cluster]
            parts = list(nx.connected_components(graph.subgraph(row["id"] for row in own)))
            counts = [row["n_neighbors"] for row in own]
            rows.append(
                {
                    "cluster": cluster,
                    "n": n,
                    "n_neighbors": sum(counts),
                    "n_without_neighbors": counts.count(0),
                    **self.means(own),
                    "n_components": len(parts),
                    "largest_component_share": max(map(len, parts)) / n,
                }
            )
        return rows

    def report(self) -> Row:
        graph, samples, clusters = self.graph(), self.samples(), self.clusters()
        counts = [row["n_neighbors"] for row in samples]
        cut = sorted(
            d
            for i, found in self.found.items()
            for j, d in found.items()
            if self.cluster[i] != self.cluster[j]
        )[:15]
        weights = [float(norm.pdf(i + 1, 1, 5)) for i in range(len(cut))]
        owa = sum(w * d for w, d in zip(weights, cut, strict=True)) / (sum(weights) or 1.0)
        is_wide = bool(self.sizes) and min(self.sizes.values()) > max(counts)
        purities = [row["neighbor_purity"] for row in clusters]
        purities = [purity for purity in purities if purity is not None]
        parts = [{i for i, c in self.cluster.items() if c == cluster} for cluster in self.sizes]
        same = sum(self.cluster[i] == self.cluster[j] for i, x in self.found.items() for j in x)
        return {
            "n": len(samples),
            "n_dropped": self.n_dropped,
            "n_noise": 0,
            "n_clusters": len(clusters),
            "n_neighbors": sum(counts),
            "n_self_neighbors": self.counts["self"],
            "n_dropped_neighbors": self.counts["dropped"],
            "n_duplicate_neighbors": self.counts["duplicate"],
            "n_without_neighbors": counts.count(0),
            **self.means(samples),
            "mean_component_share": mean([row["largest_component_share"] for row in clusters]),
            "cvnn_separation": max(1 - purity for purity in purities) if purities else None,
            "wcnn": same / sum(counts) if is_wide and sum(counts) else None,
            "dunn_owa": owa if is_wide and cut else None,
            "modularity": nx.community.modularity(graph, parts) if graph.size() else None,
        }


def mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
