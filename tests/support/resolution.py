"""The measures of entity_resolution_report: exact values from a table, and from the definitions.

`exact_resolution` has closed forms in integers, fractions and 60 digits. `brute_resolution` loops
over sets, links and rows, and searches the cheapest edits; it shares no formula with the former.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from polars_clustereval.base.metric_facts import metrics_of
from tests.support.brute import groups
from tests.support.oracle import Table, Value, exact, f_score, ln, mp, number, ratio, sqrt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tests.support.brute import Labels
    from tests.support.oracle import Cell

#: The measures that external_report does not have.
OWN = tuple(metrics_of("entity_resolution_report"))
#: All measures, in the order of the report.
RESOLUTION = (
    *("pair_precision", "pair_recall", "pair_f_score"),
    *("bcubed_precision", "bcubed_recall", "bcubed_f_score", OWN[0]),
    *("exact_match_precision", "exact_match_recall", "exact_match_f_score"),
    *OWN[1:16],
    *("element_centric_similarity", "correlation_distance"),
    *OWN[16:],
)
COSTS = ("unit", "product", "entropy")
RELATIVE = {"basic_merge_distance", "generalized_merge_distance"}

# Closed forms ------------------------------------------------------------------------------------


def exact_resolution(
    cells: Iterable[Cell], *, beta: float = 1.0, split_cost: str = "unit", merge_cost: str = "unit"
) -> dict[str, Value]:
    """Every measure of the table, in the order of the report."""
    cells = list(cells)
    table = Table(cells)
    if table.n == 0:
        return dict.fromkeys(RESOLUTION)
    weight = Fraction(beta)
    shared = exact(cells, beta=beta, adjusted=False)
    values = {
        **{name: shared[name] for name in RESOLUTION if name in shared},
        "k_measure": mp.sqrt(shared["bcubed_precision"] * shared["bcubed_recall"]),
        **closest(table, weight),
        **overlaps(table, split_cost, merge_cost),
        **muc_and_lea(table, weight),
        **blanc(table, weight),
        **reduced(table),
    }
    return {name: values[name] for name in RESOLUTION}


def closest(table: Table, beta: Fraction) -> dict[str, Value]:
    best_of_label: dict[object, Fraction] = defaultdict(Fraction)
    best_of_cluster: dict[object, Fraction] = defaultdict(Fraction)
    for (label, cluster), n in table.cells.items():
        jaccard = Fraction(n, table.labels[label] + table.clusters[cluster] - n)
        best_of_label[label] = max(best_of_label[label], jaccard)
        best_of_cluster[cluster] = max(best_of_cluster[cluster], jaccard)
    precision, recall = mean_of(best_of_cluster.values()), mean_of(best_of_label.values())
    return {
        "closest_cluster_precision": precision,
        "closest_cluster_recall": recall,
        "closest_cluster_f_score": f_score(precision, recall, beta),
    }


def mean_of(values: Iterable[Fraction]) -> Value:
    """With 60 digits: the sum of many fractions has a huge denominator."""
    numbers = [number(value) for value in values]
    return mp.fsum(numbers) / len(numbers)


def overlaps(table: Table, split_cost: str, merge_cost: str) -> dict[str, Value]:
    n_labels, n_clusters, n_cells = map(len, (table.labels, table.clusters, table.cells))
    distance = edit_total(split_cost, table.clusters.values(), table.cells.values())
    distance += edit_total(merge_cost, table.labels.values(), table.cells.values())
    return {
        "talburt_wang_index": sqrt(n_labels * n_clusters) / n_cells,
        "basic_merge_distance": Fraction(2 * n_cells - n_labels - n_clusters),
        "generalized_merge_distance": distance,
    }


def edit_total(cost: str, whole: Iterable[int], parts: Iterable[int]) -> Value:
    """Sum of h over the groups minus that over the cells, where a cost is h(x+y) - h(x) - h(y)."""
    h = {"unit": lambda _: -1, "product": lambda x: Fraction(x * x, 2), "entropy": plogp}[cost]
    sides = [Counter(sizes).items() for sizes in (whole, parts)]
    totals = [mp.fsum(number(h(x)) * k for x, k in side) for side in sides]
    return totals[0] - totals[1]


def plogp(x: int) -> Value:
    return x * ln(x)


def muc_and_lea(table: Table, beta: Fraction) -> dict[str, Value]:
    n, square = table.n, beta * beta
    found = n - len(table.cells)
    of_labels, of_clusters = n - len(table.labels), n - len(table.clusters)
    precision = mp.fsum(k * lea_part(m, b, a) for (m, a, b), k in table.shapes.items()) / n
    recall = mp.fsum(k * lea_part(m, a, b) for (m, a, b), k in table.shapes.items()) / n
    return {
        "muc_precision": ratio(found, of_clusters),
        "muc_recall": ratio(found, of_labels),
        "muc_f_score": ratio((1 + square) * found, square * of_labels + of_clusters),
        "lea_precision": precision,
        "lea_recall": recall,
        "lea_f_score": f_score(precision, recall, beta),
    }


def lea_part(n: int, size: int, other: int) -> Value:
    if size == 1:
        return mp.mpf(other == 1)
    return number(Fraction(n * (n - 1), size - 1))


def blanc(table: Table, beta: Fraction) -> dict[str, Value]:
    tp, fp, fn, tn = table.pair_counts()
    names = ("blanc_precision", "blanc_recall", "blanc_f_score")
    if fp == fn == 0:
        return dict.fromkeys(names, Fraction(1))
    square = beta * beta
    kinds = []
    for right, wrong, missed in ((tp, fp, fn), (tn, fn, fp)):
        whole = (1 + square) * right + square * missed + wrong
        scores = ratio(right, right + wrong), ratio(right, right + missed)
        kinds.append((*scores, ratio((1 + square) * right, whole)))
    return {
        name: sum(Fraction(0) if part is None else part for part in parts) / 2
        for name, parts in zip(names, zip(*kinds, strict=True), strict=True)
    }


def reduced(table: Table) -> dict[str, Value]:
    n, labels, clusters = table.n, Counter(table.labels.values()), Counter(table.clusters.values())
    together = information_of_sizes(table.cells.values(), labels, clusters, n)
    score = (together - log_tables(labels, clusters, n)) / n
    own = (
        information_of_sizes(table.labels.values(), labels, labels, n)
        - log_tables(labels, labels, n)
    ) / n
    has_own = 1 < labels.total() < n and own > 0
    equal = mp.mpf(1) if table.identical else min(score / own, 1) if has_own else None
    return {
        "reduced_mutual_info_score": score,
        "normalized_reduced_mutual_info_score": equal if has_own else None,
    }


def information_of_sizes(
    cells: Iterable[int], labels: Counter[int], clusters: Counter[int], n: int
) -> Value:
    """ln(n! prod n_ij! / (prod a_i! prod b_j!))."""
    sums = [
        mp.fsum(k * log_factorial(m) for m, k in side.items())
        for side in (Counter(cells), labels, clusters)
    ]
    return log_factorial(n) + sums[0] - sums[1] - sums[2]


@cache
def log_factorial(n: int) -> Value:
    return mp.loggamma(n + 1)


def log_tables(labels: Counter[int], clusters: Counter[int], n: int) -> Value:
    """ln of the number of tables: exact if a side is trivial, otherwise the estimate."""
    if labels.total() > clusters.total():
        rows, columns = labels, clusters
    else:
        rows, columns = clusters, labels
    if columns.total() == 1:
        return mp.mpf(0)
    if rows.total() == n:
        return log_factorial(n) - mp.fsum(k * log_factorial(m) for m, k in columns.items())
    squares = sum(k * m * m for m, k in columns.items())
    count = rows.total()
    alpha = Fraction(n * n - n, squares - n) + Fraction(n * n - squares, count * (squares - n))
    return (
        mp.fsum(k * log_choose(m, alpha - 1) for m, k in rows.items())
        + mp.fsum(k * log_choose(m, Fraction(count - 1)) for m, k in columns.items())
        - log_choose(n, count * alpha - 1)
    )


def log_choose(x: int, y: Fraction) -> Value:
    """ln of the binomial coefficient C(x + y, x)."""
    return mp.loggamma(number(x + y + 1)) - mp.loggamma(number(y + 1)) - mp.loggamma(x + 1)


def count_tables(rows: Sequence[int], columns: Sequence[int]) -> int:
    """The number of contingency tables with these sums, one by one."""
    if not rows:
        return int(not any(columns))

    def fill(left: int, place: int, rest: tuple[int, ...]) -> int:
        if place == len(columns):
            return count_tables(rows[1:], rest) if left == 0 else 0
        return sum(
            fill(left - k, place + 1, (*rest, columns[place] - k))
            for k in range(min(left, columns[place]) + 1)
        )

    return fill(rows[0], 0, ())


# Definitions -------------------------------------------------------------------------------------


def brute_resolution(label: Labels, cluster: Labels) -> dict[str, Value]:
    """The own measures but for the merge distances and the reduced information; beta is 1."""
    labels, clusters = list(groups(label).values()), list(groups(cluster).values())
    values = {"talburt_wang_index": overlap_index(labels, clusters)}
    both: dict[str, Callable[[Groups, Groups], Value]] = {
        "closest_cluster": closest_mean,
        "muc": muc_recall,
        "lea": lea_recall,
    }
    for name, recall in both.items():
        values[f"{name}_recall"] = recall(labels, clusters)
        values[f"{name}_precision"] = recall(clusters, labels)
    return values | blanc_links(labels, clusters, len(label))


Groups = list[frozenset[int]]


def overlap_index(labels: Groups, clusters: Groups) -> Value:
    shared = {u & v for u in labels for v in clusters} - {frozenset()}
    return sqrt(len(labels) * len(clusters)) / len(shared)


def closest_mean(these: Groups, others: Groups) -> Value:
    best = [max(Fraction(len(u & v), len(u | v)) for v in others) for u in these]
    return sum(best) / len(best)


def muc_recall(key: Groups, response: Groups) -> Value:
    """Vilain's: a set of the key falls into parts by the sets of the response."""
    parts = [sum(1 for v in response if u & v) for u in key]
    return ratio(
        sum(len(u) - k for u, k in zip(key, parts, strict=True)), sum(len(u) - 1 for u in key)
    )


def lea_recall(key: Groups, response: Groups) -> Value:
    """Importance times resolution score, over the importance; a singleton links to itself."""
    return Fraction(sum(len(u) * resolution_score(u, response) for u in key)) / sum(map(len, key))


def resolution_score(group: frozenset[int], response: Groups) -> Fraction:
    if len(group) == 1:
        return Fraction(group in response)
    links = set(combinations(sorted(group), 2))
    found = links & {pair for other in response for pair in combinations(sorted(other), 2)}
    return Fraction(len(found), len(links))


def blanc_links(labels: Groups, clusters: Groups, n: int) -> dict[str, Value]:
    """Sets of coreference links and of the other links, with the boundary cases of Luo et al."""
    every = set(combinations(range(n), 2))
    key, response = (
        {pair for group in side for pair in combinations(sorted(group), 2)}
        for side in (labels, clusters)
    )
    names = ("blanc_precision", "blanc_recall", "blanc_f_score")
    if not every:
        return dict.fromkeys(names, Fraction(1))
    together = link_scores(key, response)
    apart = link_scores(every - key, every - response)
    if not key | response:
        return dict(zip(names, apart, strict=True))
    if not (every - key) | (every - response):
        return dict(zip(names, together, strict=True))
    return {name: (x + y) / 2 for name, x, y in zip(names, together, apart, strict=True)}


Links = set[tuple[int, int]]


def link_scores(key: Links, response: Links) -> tuple[Fraction, Fraction, Fraction]:
    right = len(key & response)
    wholes = len(response), len(key), Fraction(len(key) + len(response), 2)
    precision, recall, f1 = (Fraction(right) / whole if whole else Fraction(0) for whole in wholes)
    return precision, recall, f1


Partition = frozenset[frozenset[int]]


def partition_of(keys: Labels) -> Partition:
    return frozenset(groups(keys).values())


def cheapest_edits(start: Partition, goal: Partition, split: str, merge: str) -> float:
    """The least cost of a path of splits and merges in which no rows of two goals are merged."""
    queue: list[tuple[float, int, Partition]] = [(0.0, 0, start)]
    done: set[Partition] = set()
    tried = 0
    while queue:
        cost, _, at = heapq.heappop(queue)
        if at == goal:
            return cost
        if at in done:
            continue
        done.add(at)
        for step, following in edits(at, goal, split, merge):
            tried += 1
            heapq.heappush(queue, (cost + step, tried, following))
    raise AssertionError("unreachable")


def edits(
    at: Partition, goal: Partition, split: str, merge: str
) -> Iterable[tuple[float, Partition]]:
    for group in at:
        first, *others = sorted(group)
        for size in range(len(others)):
            for kept in combinations(others, size):
                part = frozenset({first, *kept})
                step = edit_cost(split, len(part), len(group - part))
                yield step, at - {group} | {part, group - part}
    for one, other in combinations(at, 2):
        if any(one | other <= entity for entity in goal):
            yield edit_cost(merge, len(one), len(other)), at - {one, other} | {one | other}


def edit_cost(name: str, x: int, y: int) -> float:
    if name == "unit":
        return 1.0
    if name == "product":
        return float(x * y)
    return float(plogp(x + y) - plogp(x) - plogp(y))
