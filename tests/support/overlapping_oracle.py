"""The definitions of the scores of overlapping_report, by loops over pairs of ids and of sets."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations
from typing import Any

Rows = list[tuple[Any, Any]]
Sets = dict[Any, set[Any]]

SCORES = (
    *("omega_index", "overlapping_nmi_lfk", "overlapping_nmi_mgh"),
    *("extended_bcubed_precision", "extended_bcubed_recall", "extended_bcubed_f_score"),
    *("best_match_f1", "label_coverage", "cluster_redundancy", "nf1"),
)


def sets_of_ids(rows: Rows) -> Sets:
    sets: Sets = {}
    for key, member in rows:
        if key is not None and member is not None:
            sets.setdefault(key, set()).add(member)
    return sets


def ids_of_sets(sets: Sets, ids: list[Any]) -> Sets:
    members: Sets = {}
    for key in ids:
        for member in sets[key]:
            members.setdefault(member, set()).add(key)
    return members


def omega(labels: Sets, clusters: Sets, ids: list[Any]) -> Fraction:
    """Collins and Dent (1988), equations 3 to 5."""
    pairs = list(combinations(ids, 2))
    shared = [[len(sets[u] & sets[v]) for u, v in pairs] for sets in (labels, clusters)]
    if not pairs:
        return Fraction(1)
    observed = Fraction(sum(a == b for a, b in zip(*shared, strict=True)), len(pairs))
    one, two = map(Counter, shared)
    expected = Fraction(sum(n * two[j] for j, n in one.items()), len(pairs) ** 2)
    return Fraction(1) if expected == 1 else (observed - expected) / (1 - expected)


def extended_precision(clusters: Sets, labels: Sets, ids: list[Any]) -> Fraction:
    """Amigo and others (2009), section 5; recall with the arguments the other way round."""
    total = Fraction(0)
    for u in ids:
        near = [v for v in ids if clusters[u] & clusters[v]]
        terms = []
        for v in near:
            n = len(clusters[u] & clusters[v])
            terms.append(Fraction(min(n, len(labels[u] & labels[v])), n))
        total += sum(terms, Fraction(0)) / len(near)
    return total / len(ids)


def h(x: int, n: int) -> float:
    return -x / n * math.log(x / n) if x else 0.0


def power(x: int) -> int:
    return x**x if x else 1


def is_informative(n11: int, n10: int, n01: int, n00: int) -> bool:
    """Equation B.14 of Lancichinetti and others (2009), in whole numbers."""
    n = n11 + n10 + n01 + n00
    alike, different = power(n11) * power(n00), power(n10) * power(n01)
    return bool(alike * n ** (n10 + n01) < different * n ** (n11 + n00))


def given_best(one: set[Any], others: Sets, n: int) -> float:
    """H(X_k | Y), over every set of the other side."""
    own = h(len(one), n) + h(n - len(one), n)
    left = [own]
    for two in others.values():
        n11 = len(one & two)
        n10, n01 = len(one) - n11, len(two) - n11
        parts = (n11, n10, n01, n - n11 - n10 - n01)
        if is_informative(*parts):
            joint = sum(h(x, n) for x in parts)
            left.append(joint - h(len(two), n) - h(n - len(two), n))
    return min(left)


def entropies(sets: Sets, others: Sets, n: int) -> tuple[float, float, float]:
    """The sums of H(X_k) and of H(X_k | Y), and the mean ratio."""
    own = {k: h(len(one), n) + h(n - len(one), n) for k, one in sets.items()}
    left = {k: given_best(one, others, n) for k, one in sets.items()}
    unknown = 0.0 if any(len(two) == n for two in others.values()) else 1.0
    ratios = [left[k] / own[k] if len(one) < n else unknown for k, one in sets.items()]
    return sum(own.values()), sum(left.values()), sum(ratios) / len(ratios)


def information_of_covers(labels: Sets, clusters: Sets, n: int) -> tuple[float, float]:
    own_1, left_1, share_1 = entropies(labels, clusters, n)
    own_2, left_2, share_2 = entropies(clusters, labels, n)
    most = max(own_1, own_2)
    mgh = (own_1 - left_1 + own_2 - left_2) / 2 / most if most else 1.0
    return 1 - (share_1 + share_2) / 2, mgh


def matches(labels: Sets, clusters: Sets) -> tuple[float, float, float, float]:
    matched, scores = set(), []
    for ids in clusters.values():
        label = min(labels, key=lambda u: (-len(labels[u] & ids), len(labels[u]), u))
        matched.add(label)
        scores.append(2 * len(labels[label] & ids) / (len(labels[label]) + len(ids)))
    f1, coverage = sum(scores) / len(scores), len(matched) / len(labels)
    redundancy = len(clusters) / len(matched)
    return f1, coverage, redundancy, f1 * coverage / redundancy


def covers_report(label_rows: Rows, cluster_rows: Rows, beta: float = 1.0) -> dict[str, Any]:
    labels, clusters = sets_of_ids(label_rows), sets_of_ids(cluster_rows)
    ids = sorted(labels.keys() & clusters.keys())
    label_sets, cluster_sets = ids_of_sets(labels, ids), ids_of_sets(clusters, ids)
    counts = {
        "n": len(ids),
        "n_only_labels": len(labels) - len(ids),
        "n_only_clusters": len(clusters) - len(ids),
        "n_dropped": sum(None in row for row in [*label_rows, *cluster_rows]),
        "n_labels": len(label_sets),
        "n_clusters": len(cluster_sets),
    }
    if not ids:
        return counts | dict.fromkeys(SCORES)
    precision = extended_precision(clusters, labels, ids)
    recall = extended_precision(labels, clusters, ids)
    square = Fraction(beta) ** 2
    below = square * precision + recall
    f = (1 + square) * precision * recall / below if below else Fraction(0)
    values = (
        omega(labels, clusters, ids),
        *information_of_covers(label_sets, cluster_sets, len(ids)),
        *(precision, recall, f),
        *matches(label_sets, cluster_sets),
    )
    return counts | dict(zip(SCORES, [float(x) for x in values], strict=True))


def random_memberships(rng: random.Random, ids: list[int], members: list[Any], rate: float) -> Rows:
    """Memberships with some given twice, some NULLs, and ids that have none."""
    rows: Rows = []
    for key in ids:
        rows += [(key, member) for member in members if rng.random() < rate]
        if rng.random() < 0.7:
            rows.append((key, rng.choice(members)))
    rows += rng.choices(rows, k=2) if rows else []
    rows += [(None, members[0])] * rng.randrange(2) + [(0, None)] * rng.randrange(2)
    rng.shuffle(rows)
    return rows


def random_covers(seed: int) -> tuple[Rows, Rows]:
    """Labels and clusters of up to 24 ids; some of the sets have most of them."""
    rng = random.Random(seed)
    ids = list(range(rng.choice([1, 2, 3, 5, 8, 8, 13, 24])))
    labels = list("abcdef"[: rng.randrange(1, 7)])
    clusters = list(range(rng.randrange(1, 6)))
    rates = [rng.choice([0.0, 0.1, 0.3, 0.7]) for _ in range(2)]
    return random_memberships(rng, ids, labels, rates[0]), random_memberships(
        rng, ids, clusters, rates[1]
    )
