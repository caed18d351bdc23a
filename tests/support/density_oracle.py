"""Density-based validity from its definition: every spanning tree, one pair at a time.

Nothing is shared with what it checks. A tree is a list of edges (i, j) with i < j.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.point_oracle import Floats, Measure

Tree = tuple[tuple[int, int], ...]
#: Weights that differ by less than this share are equal.
TIE = 1e-9


class Facts(NamedTuple):
    """What the score needs to know of a tree: its sparseness, and the points that are compared."""

    sparseness: float
    inner: frozenset[int]


@cache
def all_trees(n: int) -> list[Tree]:
    """All n^(n - 2) trees of n points, by their Prüfer codes."""
    if n == 2:
        return [((0, 1),)]
    return [_decode(code, n) for code in product(range(n), repeat=n - 2)]


def _decode(code: Sequence[int], n: int) -> Tree:
    degrees = [1 + code.count(i) for i in range(n)]
    edges = []
    for i in code:
        leaf = degrees.index(1)
        edges.append((min(leaf, i), max(leaf, i)))
        degrees[leaf] = 0
        degrees[i] -= 1
    one, other = (i for i, degree in enumerate(degrees) if degree == 1)
    return (*edges, (one, other))


def core_distances(distances: Floats, dims: int) -> list[float]:
    """The core distance of each point of a cluster, with 40 digits on the way."""
    with mpmath.workdps(40):
        return [
            float(_power_mean([mpmath.mpf(float(x)) for j, x in enumerate(row) if j != i], dims))
            for i, row in enumerate(distances)
        ]


def _power_mean(distances: list[Any], dims: int) -> Any:
    if not all(distances):
        return mpmath.mpf(0)
    return (sum((1 / x) ** dims for x in distances) / len(distances)) ** (mpmath.mpf(-1) / dims)


def reachability(distances: Floats, core: Sequence[float], other: Sequence[float]) -> Floats:
    rows = [
        [max(d, a, b) for d, b in zip(row, other, strict=True)]
        for row, a in zip(distances.tolist(), core, strict=True)
    ]
    return np.array(rows)


def facts_of(tree: Tree, weights: Floats) -> Facts:
    n = len(weights)
    degrees = [sum(i in edge for edge in tree) for i in range(n)]
    inner = {i for i in range(n) if degrees[i] > 1}
    edges = [edge for edge in tree if inner.issuperset(edge)] or list(tree)
    return Facts(max(weights[edge] for edge in edges), frozenset(inner or range(n)))


def minimum_trees(weights: Floats) -> list[Tree]:
    """The minimum spanning trees, the first by weight and then by points in front."""
    rounded = round_to_ties(weights)
    ordered = {t: sorted((rounded[e], e) for e in t) for t in all_trees(len(weights))}
    least = min([x for x, _ in edges] for edges in ordered.values())
    trees = [t for t, edges in ordered.items() if [x for x, _ in edges] == least]
    return sorted(trees, key=ordered.__getitem__)


def round_to_ties(weights: Floats) -> Floats:
    """The weights, with the lowest of those that are nearly equal in place of each."""
    values = np.unique(weights)
    starts = np.flatnonzero(np.append(True, values[1:] > values[:-1] * (1 + TIE)))
    firsts = values[starts]
    return firsts[np.searchsorted(firsts, weights, side="right") - 1]


class Score(NamedTuple):
    """The rows of the clusters for the stated order of edges, and the score of all trees."""

    clusters: list[tuple[float | None, float | None, float | None]]
    score: float | None
    least: float | None
    most: float | None


def between(x: Floats, y: Floats, measure: Measure) -> Floats:
    """The distances, where those of parallel vectors are 0."""
    distances = measure.between(x, y)
    return (
        np.where(distances < 1e-15, 0.0, distances) if measure.distance == "cosine" else distances
    )


def score(x: Floats, clusters: Sequence[int], measure: Measure, noise: int = 0) -> Score:
    """The scores of points in the order of their ids, of which `noise` more count as 0."""
    numbers = np.array(clusters)
    members = [np.flatnonzero(numbers == c) for c in sorted(set(clusters))]
    is_tree = [len(m) > 1 for m in members]
    if sum(is_tree) < 2:
        return Score([(None, None, None)] * len(members), None, None, None)
    within = [between(x[m], x[m], measure) for m in members]
    cores = [core_distances(d, x.shape[1]) if len(d) > 1 else [] for d in within]
    choices: list[list[Facts]] = []
    for d, core in zip(within, cores, strict=True):
        if len(d) > 1:
            weights = reachability(d, core, core)
            choices.append([facts_of(tree, weights) for tree in minimum_trees(weights)])
    trees = [i for i, ok in enumerate(is_tree) if ok]
    apart = {
        (a, b): reachability(between(x[members[i]], x[members[j]], measure), cores[i], cores[j])
        for a, i in enumerate(trees)
        for b, j in enumerate(trees)
        if a != b
    }
    sizes = [len(members[i]) for i in trees]
    total = sum(map(len, members)) + noise
    first = _rows([c[0] for c in choices], apart)
    values = [
        sum(n * row[2] for n, row in zip(sizes, _rows(combined, apart), strict=True)) / total
        for combined in product(*(dict.fromkeys(c) for c in choices))
    ]
    rows = iter(first)
    table = [next(rows) if ok else (None, None, 0.0) for ok in is_tree]
    mean = sum(n * row[2] for n, row in zip(sizes, first, strict=True)) / total
    return Score(table, mean, min(values), max(values))


def _rows(
    chosen: Sequence[Facts], apart: dict[tuple[int, int], Floats]
) -> list[tuple[float, float, float]]:
    """The sparseness, separation and validity of each cluster, for one tree of each."""
    rows = []
    for a, facts in enumerate(chosen):
        separation = min(
            float(apart[a, b][i, j])
            for b, other in enumerate(chosen)
            if b != a
            for i in facts.inner
            for j in other.inner
        )
        largest = max(separation, facts.sparseness)
        validity = (separation - facts.sparseness) / largest if largest else 0.0
        rows.append((float(facts.sparseness), separation, float(validity)))
    return rows
