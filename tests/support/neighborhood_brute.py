"""The tables of neighborhoods by their definitions, in plain Python with fractions.

Nothing is shared with the other oracle: a partition is a dict of clusters and a list of rows, and
each score is a loop over the neighbors of an id.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from scipy.stats import chi2

if TYPE_CHECKING:
    from tests.support.engines import Row

#: A row of neighbors: the ids and the distance.
Neighbor = tuple[int | None, int | None, Fraction]
SAMPLE_SCORES = (
    *("neighbor_purity", "balanced_purity", "inverse_simpson", "lisi", "kbet_statistic"),
    *("kbet_p_value", "connectivity", "normalized_connectivity"),
)
_STEPS = 200


def lisi(ranked: list[tuple[Fraction, int]], cluster: dict[int, Any], perplexity: float) -> float:
    """The kernel by bisection of beta, from where all weights are equal to where one is left."""
    least = ranked[0][0]
    x = [float(d - least) for d, _ in ranked]
    nearest = sum(value == 0 for value in x)
    if perplexity >= len(x):
        weights = [1.0] * len(x)
    elif nearest >= perplexity:
        weights = [float(value == 0) for value in x]
    else:
        low, high = -60.0, 60.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            w = [math.exp(-math.exp(middle) * value) for value in x]
            p = [value / math.fsum(w) for value in w]
            entropy = -math.fsum(q * math.log(q) for q in p if q > 0)
            low, high = (middle, high) if entropy > math.log(perplexity) else (low, middle)
        weights = [math.exp(-math.exp(low) * value) for value in x]
    mass: Counter[Any] = Counter()
    for (_, j), weight in zip(ranked, weights, strict=True):
        mass[cluster[j]] += weight / math.fsum(weights)
    return 1 / math.fsum(share**2 for share in mass.values())


def neighbors_by_id(
    cluster: dict[int, Any], rows: list[Neighbor]
) -> tuple[dict[int, dict[int, Fraction]], Counter[str], Counter[int]]:
    """The smallest distance to each neighbor, counts of other rows, and of dropped rows by id."""
    found: dict[int, dict[int, Fraction]] = {i: {} for i in cluster}
    counts: Counter[str] = Counter()
    lost: Counter[int] = Counter()
    for i, j, d in rows:
        if i not in cluster or j not in cluster:
            counts["n_dropped_neighbors"] += 1
            if i in cluster:
                lost[i] += 1
        elif i == j:
            counts["n_self_neighbors"] += 1
        else:
            counts["n_duplicate_neighbors"] += j in found[i]
            found[i][j] = min(d, found[i].get(j, d))
    return found, counts, lost


def sample_of(
    i: int, cluster: dict[int, Any], found: dict[int, Fraction], perplexity: float | None
) -> dict[str, Any]:
    """The scores of an id, as fractions where they are."""
    ranked = sorted((d, j) for j, d in found.items())
    k, n, sizes = len(ranked), len(cluster), Counter(cluster.values())
    if k == 0:
        return dict.fromkeys(SAMPLE_SCORES)
    others = [cluster[j] for _, j in ranked]
    same = [c == cluster[i] for c in others]
    shares = [Fraction(1, sizes[c]) for c in others]
    own_share = sum((s for s, is_same in zip(shares, same, strict=True) if is_same), Fraction(0))
    means = {c: Fraction(k * size, n) for c, size in sizes.items()}
    statistic = sum((others.count(c) - mean) ** 2 / mean for c, mean in means.items())
    harmonic = sum(Fraction(1, r) for r in range(1, k + 1))
    connectivity = sum(
        (Fraction(1, r) for r, is_same in enumerate(same, 1) if not is_same), Fraction(0)
    )
    freedom = len(sizes) - 1
    # All k neighbors in the smallest cluster, by the definition of the statistic.
    smallest = min(sizes, key=lambda c: sizes[c])
    most = sum((k * (c == smallest) - mean) ** 2 / mean for c, mean in means.items())
    has_p_value = freedom > 0 and chi2.sf(float(most), freedom) < 0.05
    given = perplexity if perplexity is not None else k // 3
    return {
        "neighbor_purity": Fraction(sum(same), k),
        "balanced_purity": own_share / sum(shares),
        "inverse_simpson": 1 / sum(Fraction(others.count(c), k) ** 2 for c in set(others)),
        "lisi": lisi(ranked, cluster, given) if perplexity is not None or k >= 6 else None,
        "kbet_statistic": statistic,
        "kbet_p_value": float(chi2.sf(float(statistic), freedom)) if has_p_value else None,
        "connectivity": connectivity,
        "normalized_connectivity": connectivity / harmonic,
    }


def mean(values: list[Any]) -> Any:
    given = [x for x in values if x is not None]
    return sum(given) / len(given) if given else None


def components(ids: set[int], found: dict[int, dict[int, Fraction]]) -> list[set[int]]:
    """The connected parts of the ids, joined if one is a neighbor of the other."""
    parts = [{i} for i in ids]
    for i in ids:
        for j in found[i]:
            if j in ids:
                one = next(part for part in parts if i in part)
                two = next(part for part in parts if j in part)
                if one is not two:
                    one |= two
                    parts.remove(two)
    return parts


def means_of(samples: list[dict[str, Any]], counts: list[int]) -> dict[str, Any]:
    names = ("neighbor_purity", "balanced_purity", "inverse_simpson", "lisi")
    p_values = [row["kbet_p_value"] for row in samples if row["kbet_p_value"] is not None]
    harmonics = [sum(Fraction(1, r) for r in range(1, k + 1)) for k in counts if k]
    total = sum(row["connectivity"] for row in samples if row["connectivity"] is not None)
    return {
        **{name: mean([row[name] for row in samples]) for name in names},
        "kbet_acceptance_rate": mean([Fraction(p >= 0.05) for p in p_values]),
        "connectivity": total if harmonics else None,
        "normalized_connectivity": total / sum(harmonics) if harmonics else None,
    }


def owa(distances: list[Fraction]) -> float:
    weights = [math.exp(-((i / 5) ** 2) / 2) for i in range(len(distances))]
    return math.fsum(w * float(d) for w, d in zip(weights, distances, strict=True)) / sum(weights)


def all_tables(
    points: list[tuple[int, Any]], rows: list[Neighbor], perplexity: float | None
) -> dict[str, list[Row]]:
    """The rows of the three tables for a partition, whose noise is an ordinary cluster."""
    cluster = {i: c for i, c in sorted(points) if c is not None}
    found, counted, lost = neighbors_by_id(cluster, rows)
    scores = {i: sample_of(i, cluster, found[i], perplexity) for i in cluster}
    k = {i: len(found[i]) for i in cluster}
    samples = [
        {"id": i, "cluster": cluster[i], "n_neighbors": k[i], "n_dropped_neighbors": lost[i]}
        | scores[i]
        for i in cluster
    ]
    clusters = []
    for c in sorted(set(cluster.values())):
        ids = {i for i in cluster if cluster[i] == c}
        parts = components(ids, found)
        clusters.append(
            {
                "cluster": c,
                "n": len(ids),
                "n_neighbors": sum(k[i] for i in ids),
                "n_without_neighbors": sum(k[i] == 0 for i in ids),
                **means_of([scores[i] for i in ids], [k[i] for i in ids]),
                "n_components": len(parts),
                "largest_component_share": Fraction(max(map(len, parts)), len(ids)),
            }
        )
    edges = {frozenset((i, j)) for i in cluster for j in found[i]}
    modularity = None
    if edges:
        degree = Counter(i for edge in edges for i in edge)
        modularity = Fraction(0)
        for c in set(cluster.values()):
            inner = sum(all(cluster[i] == c for i in edge) for edge in edges)
            volume = sum(degree[i] for i in cluster if cluster[i] == c)
            modularity += Fraction(inner, len(edges)) - Fraction(volume, 2 * len(edges)) ** 2
    cut = sorted(d for i in cluster for j, d in found[i].items() if cluster[i] != cluster[j])[:15]
    n_same = sum(cluster[i] == cluster[j] for i in cluster for j in found[i])
    is_wide = bool(cluster) and min(row["n"] for row in clusters) > max(k.values())
    total, purities = sum(k.values()), [row["neighbor_purity"] for row in clusters]
    report = {
        "n": len(cluster),
        "n_dropped": sum(c is None for _, c in points),
        "n_noise": 0,
        "n_clusters": len(clusters),
        "n_neighbors": total,
        **{name: counted[name] for name in ("n_self_neighbors", "n_dropped_neighbors")},
        "n_duplicate_neighbors": counted["n_duplicate_neighbors"],
        "n_without_neighbors": sum(x == 0 for x in k.values()),
        **means_of(list(scores.values()), list(k.values())),
        "mean_component_share": mean([row["largest_component_share"] for row in clusters]),
        "cvnn_separation": max((1 - x for x in purities if x is not None), default=None),
        "wcnn": Fraction(n_same, total) if is_wide and total else None,
        "dunn_owa": owa(cut) if is_wide and cut else None,
        "modularity": modularity,
    }
    tables = {
        "neighborhood_samples": samples,
        "neighborhood_clusters": clusters,
        "neighborhood_report": [report],
    }
    return {name: [as_floats(row) for row in found] for name, found in tables.items()}


def as_floats(row: dict[str, Any]) -> Row:
    is_count = {"id", "cluster", "n", "n_dropped", "n_noise", "n_clusters", "n_components"}
    return {
        name: x if x is None or name in is_count or name.startswith("n_") else float(x)
        for name, x in row.items()
    }
