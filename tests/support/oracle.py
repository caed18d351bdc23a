"""Exact values of every external metric, from a contingency table.

Pair counts and ratios are integers and fractions; logarithms and roots have 60 digits, so a value
is right far beyond the last bit of a double. `brute.py` derives the same numbers from the
definitions, and `test_oracle.py` holds the two against each other and against scikit-learn.

Values come back as `Fraction`, `mpf` or None; None is SQL's NULL.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import cache, lru_cache
from math import comb
from typing import Any

from mpmath import MPContext

from polars_clustereval.base.metric_facts import metrics_of

mp = MPContext()
mp.dps = 60

Cell = tuple[Hashable, Hashable, int]
Value = Any  # Fraction | mpf | int | None: mpmath ships no types

METRICS = tuple(metrics_of("external_report"))
PAIR_COUNTING = tuple(
    name for name, facts in metrics_of("external_report").items() if facts.family == "pair counting"
)
ADJUSTED = ("adjusted_mutual_info_score", "expected_mutual_info")
COUNTS = ("n", "n_dropped", "n_noise", "n_labels", "n_clusters")
AVERAGES = ("arithmetic", "geometric", "min", "max")
#: The metrics that can be more than 1, which are compared relative to their size.
UNBOUNDED = frozenset(
    name for name, facts in metrics_of("external_report").items() if facts.greatest != "1"
)


class Table:
    """A contingency table with its marginals, in integers."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.cells: Counter[tuple[Hashable, Hashable]] = Counter()
        self.labels: Counter[Hashable] = Counter()
        self.clusters: Counter[Hashable] = Counter()
        for label, cluster, n in cells:
            if n:
                self.cells[label, cluster] += n
                self.labels[label] += n
                self.clusters[cluster] += n
        self.n = sum(self.labels.values())
        # Equal terms are counted once: a million cells have few distinct (n, row, column) sizes.
        self.shapes = Counter(
            (n, self.labels[label], self.clusters[cluster])
            for (label, cluster), n in self.cells.items()
        )
        self.identical = all(n == a == b for n, a, b in self.shapes)
        self.independent = self.n**2 == sum(a * b * k for (_, a, b), k in self.shapes.items()) and (
            all(self.n * n == a * b for n, a, b in self.shapes)
        )

    def pair_counts(self) -> tuple[int, int, int, int]:
        """tp, fp, fn, tn over unordered pairs of rows."""
        tp = sum(comb(n, 2) for n in self.cells.values())
        same_cluster = sum(comb(n, 2) for n in self.clusters.values())
        same_label = sum(comb(n, 2) for n in self.labels.values())
        fp, fn = same_cluster - tp, same_label - tp
        return tp, fp, fn, comb(self.n, 2) - tp - fp - fn


def ratio(numerator: Value, denominator: Value) -> Value:
    """The quotient, or None for 0/0 and x/0."""
    if denominator == 0:
        return None
    if isinstance(numerator, int | Fraction) and isinstance(denominator, int | Fraction):
        return Fraction(numerator) / Fraction(denominator)
    return number(numerator) / number(denominator)


def number(value: Value) -> Value:
    """The value with 60 digits."""
    if isinstance(value, Fraction):
        return mp.mpf(value.numerator) / value.denominator
    return mp.mpf(value)


def sqrt(value: Value) -> Value:
    return mp.sqrt(number(value))


@cache
def ln(n: int) -> Value:
    return mp.log(n)


def f_score(precision: Value, recall: Value, beta: Fraction) -> Value:
    """The weighted harmonic mean of two defined scores; 0 where both are 0."""
    if precision == recall == 0:
        return Fraction(0)
    square = beta * beta
    if isinstance(precision, Fraction):
        return ratio((1 + square) * precision * recall, square * precision + recall)
    return number(1 + square) * precision * recall / (number(square) * precision + recall)


def exact(
    cells: Iterable[Cell],
    *,
    beta: float = 1.0,
    average_method: str = "arithmetic",
    adjusted: bool = True,
) -> dict[str, Value]:
    """Every metric of the table."""
    table = Table(cells)
    names = [name for name in METRICS if adjusted or name not in ADJUSTED]
    if table.n == 0:
        return dict.fromkeys(names)
    weight = Fraction(beta)
    values = (
        pair_counting(table, weight)
        | information(table, weight, average_method, adjusted=adjusted)
        | set_matching(table, weight)
    )
    return {name: values[name] for name in names}


def pair_counting(table: Table, beta: Fraction) -> dict[str, Value]:
    tp, fp, fn, tn = table.pair_counts()
    pairs, square = tp + fp + fn + tn, beta * beta
    precision, recall = ratio(tp, tp + fp), ratio(tp, tp + fn)
    wrong, agreement = fp + fn, tp + tn
    return {
        "rand_score": ratio(agreement, pairs) if pairs else Fraction(1),
        "adjusted_rand_score": chance_corrected_rand(tp, fp, fn, tn),
        "fowlkes_mallows_score": sqrt(precision * recall) if tp else Fraction(0),
        "pair_precision": precision,
        "pair_recall": recall,
        "pair_f_score": ratio((1 + square) * tp, (1 + square) * tp + square * fn + fp),
        "jaccard_index": ratio(tp, tp + wrong),
        "mirkin_metric": Fraction(2 * wrong),
        "hubert_index": ratio(agreement - wrong, pairs),
        "kulczynski_index": None if None in (precision, recall) else (precision + recall) / 2,
        "mcnemar_index": ratio(fn - fp, sqrt(wrong)),
        "phi_index": ratio(tp * tn - fp * fn, sqrt((tp + fn) * (tp + fp) * (fn + tn) * (fp + tn))),
        "correlation_distance": correlation_distance(tp, fp, fn, tn),
        "rogers_tanimoto_index": ratio(agreement, agreement + 2 * wrong),
        "russell_rao_index": ratio(tp, pairs),
        "sokal_sneath_1_index": ratio(tp, tp + 2 * wrong),
        "sokal_sneath_2_index": ratio(2 * agreement, 2 * agreement + wrong),
        "southwood_index": ratio(tp, wrong),
        "adjusted_fowlkes_mallows_score": adjusted_fowlkes_mallows(tp, fp, fn, tn),
        "multinomial_adjusted_rand_score": multinomial_adjusted_rand(table),
    }


def correlation_distance(tp: int, fp: int, fn: int, tn: int) -> Value:
    """The angle whose cosine is phi, of a half turn."""
    if fp == fn == 0:
        return Fraction(0)
    phi = ratio(tp * tn - fp * fn, sqrt((tp + fn) * (tp + fp) * (fn + tn) * (fp + tn)))
    return None if phi is None else mp.acos(phi) / mp.pi


def chance_corrected_rand(tp: int, fp: int, fn: int, tn: int) -> Fraction:
    if fp == fn == 0:
        return Fraction(1)
    expected = Fraction((tp + fn) * (tp + fp), tp + fp + fn + tn)
    return (tp - expected) / (Fraction(2 * tp + fp + fn, 2) - expected)


def adjusted_fowlkes_mallows(tp: int, fp: int, fn: int, tn: int) -> Value:
    product = (tp + fn) * (tp + fp)
    pairs = tp + fp + fn + tn
    if product == 0 or product == pairs**2:
        return None
    expected = sqrt(product) / pairs
    return (tp / sqrt(product) - expected) / (1 - expected)


def multinomial_adjusted_rand(table: Table) -> Value:
    """The agreement expected of two disjoint pairs of rows, counted and taken off."""
    n = table.n
    if n < 4:
        return None
    tp, fp, fn, _ = table.pair_counts()
    # Of all (pair of one label, pair of one cluster), take off the equal and the touching ones.
    touching = sum(k * m * ((a - 1) * (b - 1) - (m - 1)) for (m, a, b), k in table.shapes.items())
    disjoint = (tp + fn) * (tp + fp) - tp - touching
    expected = Fraction(disjoint, comb(n - 2, 2))
    return ratio(tp - expected, Fraction(2 * tp + fp + fn, 2) - expected)


def entropy(sizes: Iterable[int], n: int) -> Value:
    counts = Counter(sizes)
    return mp.fsum(k * m * (ln(n) - ln(m)) for m, k in counts.items()) / n


def information(
    table: Table, beta: Fraction, average_method: str, *, adjusted: bool
) -> dict[str, Value]:
    n, shapes = table.n, table.shapes.items()
    label_entropy = entropy(table.labels.values(), n)
    cluster_entropy = entropy(table.clusters.values(), n)
    joint = entropy(table.cells.values(), n)
    inside_cluster = mp.fsum(k * m * (ln(b) - ln(m)) for (m, _, b), k in shapes) / n
    inside_label = mp.fsum(k * m * (ln(a) - ln(m)) for (m, a, _), k in shapes) / n
    mutual = mp.fsum(k * m * (ln(n) + ln(m) - ln(a) - ln(b)) for (m, a, b), k in shapes) / n
    if table.independent:
        mutual = mp.mpf(0)
    homogeneity = mutual / label_entropy if label_entropy else mp.mpf(1)
    completeness = mutual / cluster_entropy if cluster_entropy else mp.mpf(1)
    distance = inside_cluster + inside_label
    values = {
        "label_entropy": label_entropy,
        "cluster_entropy": cluster_entropy,
        "joint_entropy": joint,
        "label_entropy_given_cluster": inside_cluster,
        "cluster_entropy_given_label": inside_label,
        "mutual_info_score": mutual,
        "normalized_mutual_info_score": normalized(
            table, mutual, averaged(average_method, label_entropy, cluster_entropy, joint)
        ),
        "homogeneity_score": homogeneity,
        "completeness_score": completeness,
        "v_measure_score": v_measure(homogeneity, completeness, number(beta)),
        "variation_of_information": distance,
        "normalized_variation_of_information": distance / joint if distance else mp.mpf(0),
        "normalized_information_distance": (
            max(inside_cluster, inside_label) / max(label_entropy, cluster_entropy)
            if distance
            else mp.mpf(0)
        ),
    }
    if adjusted:
        expected = expected_mutual_info(table)
        average = averaged(average_method, label_entropy, cluster_entropy, joint)
        values["expected_mutual_info"] = expected
        values["adjusted_mutual_info_score"] = adjusted_mutual_info(
            table, average_method, mutual, expected, average
        )
    return values


def averaged(method: str, label_entropy: Value, cluster_entropy: Value, joint: Value) -> Value:
    averages: dict[str, Callable[[], Value]] = {
        "arithmetic": lambda: (label_entropy + cluster_entropy) / 2,
        "geometric": lambda: mp.sqrt(label_entropy * cluster_entropy),
        "min": lambda: min(label_entropy, cluster_entropy),
        "max": lambda: max(label_entropy, cluster_entropy),
        "joint": lambda: joint,
    }
    return averages[method]()


def normalized(table: Table, mutual: Value, average: Value) -> Value:
    if table.identical:
        return mp.mpf(1)
    return mutual / average if mutual else mp.mpf(0)


def adjusted_mutual_info(
    table: Table, method: str, mutual: Value, expected: Value, average: Value
) -> Value:
    if table.identical:
        return mp.mpf(1)
    # No permutation changes the mutual information of one cluster or of all singletons, so that
    # it equals its expectation and, for these averages, the average itself: 0 / 0. scikit-learn has
    # exactly 0 for the former and rounding errors for the latter.
    if 1 in (len(table.labels), len(table.clusters)) and method in ("min", "geometric"):
        return mp.mpf(0)
    if table.n in (len(table.labels), len(table.clusters)) and method == "min":
        return None
    return (mutual - expected) / (average - expected)


def v_measure(homogeneity: Value, completeness: Value, beta: Value) -> Value:
    if homogeneity + completeness == 0:
        return mp.mpf(0)
    return ratio((1 + beta) * homogeneity * completeness, beta * homogeneity + completeness)


def set_matching(table: Table, beta: Fraction) -> dict[str, Value]:
    n = table.n
    largest_in_cluster: dict[Hashable, int] = defaultdict(int)
    largest_in_label: dict[Hashable, int] = defaultdict(int)
    # The best F measure of each label, 2m / (a + b), as its m and a + b: products of integers
    # compare a million cells faster than fractions.
    best: dict[Hashable, tuple[int, int]] = {}
    for (label, cluster), m in table.cells.items():
        largest_in_cluster[cluster] = max(largest_in_cluster[cluster], m)
        largest_in_label[label] = max(largest_in_label[label], m)
        size = table.labels[label] + table.clusters[cluster]
        most, of = best.get(label, (0, 1))
        if m * of > most * size:
            best[label] = m, size
    pure, recalled = sum(largest_in_cluster.values()), sum(largest_in_label.values())
    by_label = Counter((table.labels[label], *parts) for label, parts in best.items())
    precision = mp.fsum(k * m * m / mp.mpf(b) for (m, _, b), k in table.shapes.items()) / n
    recall = mp.fsum(k * m * m / mp.mpf(a) for (m, a, _), k in table.shapes.items()) / n
    matches = sum(k for (m, a, b), k in table.shapes.items() if m == a == b)
    exact_precision = Fraction(matches, len(table.clusters))
    exact_recall = Fraction(matches, len(table.labels))
    return {
        "purity": Fraction(pure, n),
        "inverse_purity": Fraction(recalled, n),
        "class_f_measure": mp.fsum(
            number(Fraction(2 * k * a * m, size)) for (a, m, size), k in by_label.items()
        )
        / n,
        "split_join_distance": Fraction(2 * n - pure - recalled),
        "bcubed_precision": precision,
        "bcubed_recall": recall,
        "bcubed_f_score": f_score(precision, recall, beta),
        "element_centric_similarity": mp.fsum(
            number(Fraction(k * m * m, max(a, b))) for (m, a, b), k in table.shapes.items()
        )
        / n,
        "exact_match_precision": exact_precision,
        "exact_match_recall": exact_recall,
        "exact_match_f_score": f_score(exact_precision, exact_recall, Fraction(1)),
    }


# Expected mutual information. With X hypergeometric of mean mu = ab/n, a pair of clusters of sizes
# a and b gives E[X ln(X/mu)] / n.

BITS = 200
SERIES_FROM = 5000


def expected_mutual_info(table: Table) -> Value:
    labels, clusters = Counter(table.labels.values()), Counter(table.clusters.values())
    return mp.fsum(
        k * j * pair_expectation(*sorted((a, b)), table.n)
        for a, k in labels.items()
        for b, j in clusters.items()
    )


@lru_cache(maxsize=100_000)
def pair_expectation(a: int, b: int, n: int) -> Value:
    if b == n:
        return mp.mpf(0)
    return (series if a * b > SERIES_FROM * n else direct)(a, b, n) / n


def direct(a: int, b: int, n: int) -> Value:
    """E[X ln(X/mu)] over all m with a probability above 2^-200 of the mode's.

    Neighbouring probabilities have a rational ratio, so that they need no factorials: start with
    1 at the mode and divide by their sum. All in integers, scaled by 2^200.
    """
    mode = (a + 1) * (b + 1) // (n + 2)
    total = weighted = 0
    for start, step in ((mode, 1), (mode - 1, -1)):
        p = 1 << BITS if step == 1 else down(1 << BITS, mode, a, b, n)
        m = start
        while p:
            total += p
            weighted += p * m * scaled_ln(m)
            p = up(p, m, a, b, n) if step == 1 else down(p, m, a, b, n)
            m += step
    mean = mp.mpf(a * b) / n
    return mp.mpf(weighted) / total / (1 << BITS) - mean * (ln(a) + ln(b) - ln(n))


def up(p: int, m: int, a: int, b: int, n: int) -> int:
    return p * (a - m) * (b - m) // ((m + 1) * (n - a - b + m + 1))


def down(p: int, m: int, a: int, b: int, n: int) -> int:
    return p * m * (n - a - b + m) // ((a - m + 1) * (b - m + 1))


@cache
def scaled_ln(m: int) -> int:
    return int(ln(m) * (1 << BITS)) if m else 0


def series(a: int, b: int, n: int) -> Value:
    """E[X ln(X/mu)] = mu * sum over k >= 2 of (-1)^k E[(X/mu - 1)^k] / (k (k - 1)).

    For mu >= 5000 the terms fall below 1e-25 of the first long before they grow again.
    """
    mean = mp.mpf(a * b) / n
    total = mp.mpf(0)
    for k, moment in enumerate(central_moments(a, b, n)):
        if k >= 2:
            term = (-1) ** k * moment / mean ** (k - 1) / (k * (k - 1))
            total += term
            # Odd moments of a symmetric distribution are 0 and end nothing.
            if k % 2 == 0 and abs(term) < mp.mpf(10) ** -25 * abs(total):
                break
    return total


def central_moments(a: int, b: int, n: int) -> Iterable[Value]:
    """E[(X - mu)^k] for k = 0, 1, 2, …

    (m + 1)(n - a - b + m + 1) p(m + 1) = (a - m)(b - m) p(m), times (m - mu)^k and summed over m,
    is E[X (n - a - b + X) (Y - 1)^k] = E[(a - X)(b - X) Y^k], Y = X - mu; solved for E[Y^(k+1)].
    """
    mean = mp.mpf(a * b) / n
    left = (mean * (n - a - b + mean), n - a - b + 2 * mean, mp.mpf(1))
    moments = [mp.mpf(1)]
    while True:
        yield moments[-1]
        k = len(moments) - 1
        known = (a - mean) * (b - mean) * moments[k]
        for j in range(k + 1):
            terms = (c * moments[i + j] for i, c in enumerate(left) if i + j <= k)
            known -= comb(k, j) * (-1) ** (k - j) * mp.fsum(terms)
        # E[Y^(k+2)] cancels, and n - k is what stays of the factors of E[Y^(k+1)].
        moments.append(known / (n - k))
