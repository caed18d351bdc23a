"""Every external metric of a few rows, computed from its definition.

Loops over pairs and quadruples of rows, sets of rows and permutations, without any formula of a
contingency table. Undefined values are None; `oracle.py` has the conventions that give some of them
a value.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import factorial
from typing import NamedTuple

from tests.support.oracle import Value, averaged, f_score, mp, number, ratio, sqrt

Labels = Sequence[Hashable]


def partitions(n: int) -> list[tuple[int, ...]]:
    """Every way to put n rows into clusters: clusters numbered as they appear."""
    found: list[tuple[int, ...]] = [()]
    for _ in range(n):
        found = [(*p, c) for p in found for c in range(max(p, default=-1) + 2)]
    return found


class Pairs(NamedTuple):
    tp: int
    fp: int
    fn: int
    tn: int


def pair_counts(label: Labels, cluster: Labels) -> Pairs:
    seen = [
        (label[i] == label[j], cluster[i] == cluster[j])
        for i, j in combinations(range(len(label)), 2)
    ]
    return Pairs(
        seen.count((True, True)),
        seen.count((False, True)),
        seen.count((True, False)),
        seen.count((False, False)),
    )


def groups(keys: Labels) -> dict[Hashable, frozenset[int]]:
    return {key: frozenset(i for i, other in enumerate(keys) if other == key) for key in set(keys)}


def mean_of_values(values: Sequence[Value]) -> Value:
    return sum(values) / Fraction(len(values)) if values else None


@cache
def pair_counting_of_rows(label: Labels, cluster: Labels, beta: float) -> dict[str, Value]:
    tp, fp, fn, tn = pair_counts(label, cluster)
    pairs = tp + fp + fn + tn
    precision, recall = ratio(tp, tp + fp), ratio(tp, tp + fn)
    defined = None not in (precision, recall)
    return {
        "rand_score": ratio(tp + tn, pairs),
        "adjusted_rand_score": adjusted_over_permutations(label, cluster),
        "fowlkes_mallows_score": sqrt(precision * recall) if defined else None,
        "pair_precision": precision,
        "pair_recall": recall,
        "pair_f_score": f_score(precision, recall, Fraction(beta)) if defined else None,
        "jaccard_index": ratio(tp, tp + fp + fn),
        "mirkin_metric": sum(
            (label[i] == label[j]) != (cluster[i] == cluster[j])
            for i in range(len(label))
            for j in range(len(label))
        ),
        "hubert_index": ratio(tp + tn - fp - fn, pairs),
        "kulczynski_index": (precision + recall) / 2 if defined else None,
        "mcnemar_index": ratio(fn - fp, sqrt(fn + fp)),
        "phi_index": correlation_of_pairs(label, cluster),
        "correlation_distance": angle_of_pairs(label, cluster),
        "rogers_tanimoto_index": ratio(tp + tn, tp + tn + 2 * (fp + fn)),
        "russell_rao_index": ratio(tp, pairs),
        "sokal_sneath_1_index": ratio(tp, tp + 2 * (fp + fn)),
        "sokal_sneath_2_index": ratio(tp + tn, tp + tn + Fraction(fp + fn, 2)),
        "southwood_index": ratio(tp, fp + fn),
        "multinomial_adjusted_rand_score": adjusted_over_quadruples(label, cluster),
    }


def adjusted_over_permutations(label: Labels, cluster: Labels) -> Value:
    """(index - mean over all permutations) / (maximum - mean), of the pairs together in both."""
    tp, fp, fn, _ = pair_counts(label, cluster)
    expected = mean_of_values(
        [pair_counts(shuffled, cluster).tp for shuffled in permutations(label)]
    )
    return ratio(tp - expected, Fraction(2 * tp + fp + fn, 2) - expected)


def adjusted_over_quadruples(label: Labels, cluster: Labels) -> Value:
    """The same with the expectation over (i, j, k, l) all different: is i ~ j and k ~ l."""
    hits = [
        label[i] == label[j] and cluster[k] == cluster[m]
        for i, j, k, m in permutations(range(len(label)), 4)
    ]
    if not hits:
        return None
    tp, fp, fn, tn = pair_counts(label, cluster)
    expected = mean_of_values(hits) * (tp + fp + fn + tn)
    return ratio(tp - expected, Fraction(2 * tp + fp + fn, 2) - expected)


@cache
def correlation_of_pairs(label: Labels, cluster: Labels) -> Value:
    pairs = list(combinations(range(len(label)), 2))
    x = [Fraction(label[i] == label[j]) for i, j in pairs]
    y = [Fraction(cluster[i] == cluster[j]) for i, j in pairs]
    if not pairs:
        return None
    x = [value - mean_of_values(x) for value in x]
    y = [value - mean_of_values(y) for value in y]
    covariance = sum(u * v for u, v in zip(x, y, strict=True))
    return ratio(covariance, sqrt(sum(u * u for u in x) * sum(v * v for v in y)))


def angle_of_pairs(label: Labels, cluster: Labels) -> Value:
    """The angle of the two centered vectors of indicators of pairs, as a share of a half turn."""
    phi = correlation_of_pairs(label, cluster)
    return None if phi is None else mp.acos(phi) / mp.pi


@cache
def entropy_of_rows(keys: Labels) -> Value:
    shares = [Fraction(len(rows), len(keys)) for rows in groups(keys).values()]
    return -mp.fsum(number(p) * mp.log(number(p)) for p in shares)


@cache
def entropy_given(keys: Labels, given: Labels) -> Value:
    return mp.fsum(
        len(rows) * entropy_of_rows(tuple(keys[i] for i in rows)) / len(keys)
        for rows in groups(given).values()
    )


@cache
def mutual_information(label: Labels, cluster: Labels) -> Value:
    n = len(label)
    total = mp.mpf(0)
    for in_label in groups(label).values():
        for in_cluster in groups(cluster).values():
            both = len(in_label & in_cluster)
            lift = Fraction(n * both, len(in_label) * len(in_cluster))
            total += both * mp.log(number(lift)) / n if both else 0
    return total


@cache
def expected_information(label: Labels, cluster: Labels) -> Value:
    """The mean of the mutual information over all permutations of the labels."""
    shuffles = [mutual_information(shuffled, cluster) for shuffled in permutations(label)]
    return mp.fsum(shuffles) / factorial(len(label))


def information_of_rows(
    label: Labels, cluster: Labels, beta: float, average_method: str
) -> dict[str, Value]:
    joint = entropy_of_rows(tuple(zip(label, cluster, strict=True)))
    mutual = mutual_information(label, cluster)
    sides = entropy_of_rows(label), entropy_of_rows(cluster)
    average = averaged(average_method, *sides, joint)
    expected = expected_information(tuple(label), tuple(cluster))
    homogeneity, completeness = (ratio(mutual, side) for side in sides)
    defined = None not in (homogeneity, completeness)
    return {
        "label_entropy": sides[0],
        "cluster_entropy": sides[1],
        "joint_entropy": joint,
        "label_entropy_given_cluster": entropy_given(label, cluster),
        "cluster_entropy_given_label": entropy_given(cluster, label),
        "mutual_info_score": mutual,
        "normalized_mutual_info_score": ratio(mutual, average),
        "expected_mutual_info": expected,
        "adjusted_mutual_info_score": (
            None if abs(average - expected) < 1e-40 else (mutual - expected) / (average - expected)
        ),
        "homogeneity_score": homogeneity,
        "completeness_score": completeness,
        "v_measure_score": (
            ratio((1 + beta) * homogeneity * completeness, beta * homogeneity + completeness)
            if defined
            else None
        ),
        "variation_of_information": sum(sides) - 2 * mutual,
        "normalized_variation_of_information": ratio(joint - mutual, joint),
        "normalized_information_distance": ratio(max(sides) - mutual, max(sides)),
    }


@cache
def set_matching_of_rows(label: Labels, cluster: Labels, beta: float) -> dict[str, Value]:
    n = len(label)
    labels, clusters = groups(label), groups(cluster)
    precisions = [
        mean_of_values([label[j] == label[i] for j in clusters[cluster[i]]]) for i in range(n)
    ]
    recalls = [
        mean_of_values([cluster[j] == cluster[i] for j in labels[label[i]]]) for i in range(n)
    ]
    same = set(labels.values()) & set(clusters.values())
    exact_precision = Fraction(len(same), len(clusters))
    exact_recall = Fraction(len(same), len(labels))
    # The share of rows left in place when every row outside a best match is moved.
    pure = sum(max(len(c & u) for u in labels.values()) for c in clusters.values())
    recalled = sum(max(len(c & u) for c in clusters.values()) for u in labels.values())
    return {
        "purity": Fraction(pure, n),
        "inverse_purity": Fraction(recalled, n),
        "class_f_measure": sum(
            Fraction(len(u), n) * max(overlap(u, c) for c in clusters.values())
            for u in labels.values()
        ),
        "split_join_distance": (n - pure) + (n - recalled),
        "bcubed_precision": mean_of_values(precisions),
        "bcubed_recall": mean_of_values(recalls),
        "bcubed_f_score": f_score(
            mean_of_values(precisions), mean_of_values(recalls), Fraction(beta)
        ),
        "element_centric_similarity": mean_of_values(
            [similarity_of_affinities(label, cluster, i) for i in range(n)]
        ),
        "exact_match_precision": exact_precision,
        "exact_match_recall": exact_recall,
        "exact_match_f_score": f_score(exact_precision, exact_recall, Fraction(1)),
    }


def similarity_of_affinities(label: Labels, cluster: Labels, row: int, alpha: Value = 0.9) -> Value:
    """1 minus half the distance of the row's personalized PageRank vectors over alpha.

    In the graph of a partition the walk from a row moves to any row of its group, so that its
    vector is 1 - alpha + alpha / size at the row itself and alpha / size at the rest of the group.
    """
    alpha, distance = Fraction(alpha), Fraction(0)
    for other in range(len(label)):
        shares = [
            alpha * Fraction(keys[other] == keys[row], sum(key == keys[row] for key in keys))
            for keys in (label, cluster)
        ]
        distance += abs(shares[0] - shares[1])
    return 1 - distance / (2 * alpha)


def overlap(left: frozenset[int], right: frozenset[int]) -> Fraction:
    return Fraction(2 * len(left & right), len(left) + len(right))


def values_by_definition(
    label: Labels, cluster: Labels, *, beta: float = 1.0, average_method: str = "arithmetic"
) -> dict[str, Value]:
    return (
        pair_counting_of_rows(label, cluster, beta)
        | information_of_rows(label, cluster, beta, average_method)
        | set_matching_of_rows(label, cluster, beta)
    )
