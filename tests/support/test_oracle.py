"""The oracle against the definitions, against scikit-learn and against plain binomials."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from tests.support.brute import Pairs, pair_counts, partitions, values_by_definition
from tests.support.cases import expectations, published_labelings
from tests.support.oracle import AVERAGES, METRICS, Table, direct, exact, mp, number, series
from tests.support.others import SKLEARN

LABELINGS = published_labelings()
EXPECTATIONS = expectations()

# Where a convention gives a value to what the definition leaves open.
CONVENTIONS = {
    ("rand_score", 1.0),
    ("adjusted_rand_score", 1.0),
    ("fowlkes_mallows_score", 0.0),
    ("pair_f_score", 0.0),
    ("normalized_mutual_info_score", 0.0),
    ("normalized_mutual_info_score", 1.0),
    ("adjusted_mutual_info_score", 0.0),
    ("adjusted_mutual_info_score", 1.0),
    ("correlation_distance", 0.0),
    ("homogeneity_score", 1.0),
    ("completeness_score", 1.0),
    ("v_measure_score", 0.0),
    ("v_measure_score", 1.0),
    ("normalized_variation_of_information", 0.0),
    ("normalized_information_distance", 0.0),
}


PAIRS_OF_PARTITIONS = [
    pair for n in range(1, 5) for pair in product(partitions(n), repeat=2)
] + list(product(partitions(5)[::5], partitions(5)[::7]))


def cells_of_rows(label: Any, cluster: Any) -> list[tuple[Any, Any, int]]:
    return [(u, v, 1) for u, v in zip(label, cluster, strict=True)]


@pytest.mark.gate
def test_exact_equals_the_definitions() -> None:
    for (label, cluster), average_method in product(PAIRS_OF_PARTITIONS, AVERAGES):
        values = exact(cells_of_rows(label, cluster), beta=2.0, average_method=average_method)
        assert list(values) == list(METRICS)
        defined = values_by_definition(label, cluster, beta=2.0, average_method=average_method)
        for name, wanted in defined.items():
            value = values[name]
            if wanted is None:
                assert value is None or (name, float(value)) in CONVENTIONS, (name, label, cluster)
            else:
                assert abs(number(value) - number(wanted)) < 1e-45, (name, label, cluster)


def test_pair_counts_equal_the_count_over_pairs() -> None:
    for label, cluster in PAIRS_OF_PARTITIONS:
        counted = Pairs(*Table(cells_of_rows(label, cluster)).pair_counts())
        assert counted == pair_counts(label, cluster)


def test_weights_are_repetitions() -> None:
    assert exact([(0, 0, 2), (0, 1, 1), (0, 1, 2), (1, 1, 0)]) == exact(
        cells_of_rows([0] * 5, [0, 0, 1, 1, 1])
    )


def larger_pairs() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    return [(rng.integers(0, k, 300), rng.integers(0, 5, 300)) for k in (1, 3, 20, 250)]


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param(PAIRS_OF_PARTITIONS, id="small", marks=pytest.mark.gate),
        pytest.param([*PAIRS_OF_PARTITIONS[::23], *larger_pairs()], id="larger"),
    ],
)
def test_exact_equals_scikit_learn(pairs: list[tuple[Any, Any]]) -> None:
    """The definitions are the fast test of the small ones."""
    for label, cluster in pairs:
        values = exact(cells_of_rows(label, cluster))
        for name, theirs in SKLEARN.items():
            wanted = pytest.approx(theirs(label, cluster), abs=1e-9)
            assert float(values[name]) == wanted, (name, label, cluster)


@pytest.mark.parametrize(
    ("a", "b", "n"), [(3, 4, 10), (50, 60, 100), (99, 50, 100), (1, 7, 50), (700, 999, 1000)]
)
def test_expectation_equals_the_sum_with_binomials(a: int, b: int, n: int) -> None:
    total = mp.fsum(
        mp.mpf(comb(a, m) * comb(n - a, b - m)) / comb(n, b) * m * mp.log(mp.mpf(m * n) / (a * b))
        for m in range(max(1, a + b - n), min(a, b) + 1)
    )
    assert abs(direct(a, b, n) / total - 1) < 1e-45


@pytest.mark.parametrize(
    ("a", "b", "n"), [(6000, 7000, 8000), (7000, 7999, 8000), (10**5, 3 * 10**5, 10**6)]
)
def test_both_ways_to_the_expectation_agree(a: int, b: int, n: int) -> None:
    """Sum and series have no step in common; n = 1e9 is within the reach of the series alone."""
    assert abs(direct(a, b, n) / series(a, b, n) - 1) < 1e-25


@pytest.mark.parametrize("case", EXPECTATIONS)
def test_exact_equals_the_published_values(case: str) -> None:
    rows = [row for row in LABELINGS[case].iter_rows() if None not in row]
    # NaN is one value, and no key of a dict.
    table = [(str(label), str(cluster), 1) for label, cluster in rows]
    for expectation in EXPECTATIONS[case]:
        if expectation.metric in METRICS:
            value = exact(table, **dict(expectation.arguments))[expectation.metric]
            expectation.check(None if value is None else float(value))
