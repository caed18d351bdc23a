"""Every metric against exact arithmetic: random labelings, and counts of up to 1e10 rows."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from polars_clustereval.external import expected_information
from polars_clustereval.macros import sql_folder
from tests.support.compare import assert_metrics, assert_same
from tests.support.engines import Engine, report
from tests.support.oracle import AVERAGES, METRICS, Table, exact, expected_mutual_info
from tests.support.partition_pairs import exact_values
from tests.support.random_labelings import Cells, labeling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LARGEST = 10**6


def frame_of_tables(tables: Iterable[Cells]) -> pl.DataFrame:
    return pl.DataFrame(
        [(run, *cell) for run, cells in enumerate(tables) for cell in cells],
        schema=["run", "label", "cluster", "n"],
        orient="row",
    )


def check_cell_tables(engine: Engine, tables: Sequence[Cells], **arguments: Any) -> None:
    rows = report(engine, frame_of_tables(tables), weight="n", partition_by="run", **arguments)
    assert [row["run"] for row in rows] == list(range(len(tables)))
    for run, (row, cells) in enumerate(zip(rows, tables, strict=True)):
        assert row["n"] == sum(n for _, _, n in cells)
        what = f"labeling {run} by {engine.name}"
        options = {name: value for name, value in arguments.items() if value != "arithmetic"}
        assert_metrics(row, exact_values(tuple(cells), **options), what=what)


@cache
def random_labelings(first: int, last: int) -> list[Cells]:
    return [labeling(seed, LARGEST) for seed in range(first, last)]


@pytest.mark.gate
def test_random_labelings(every_engine: list[Engine]) -> None:
    """One of each shape: the exact values of the others are dear."""
    for engine in every_engine:
        check_cell_tables(engine, random_labelings(0, 7))


@pytest.mark.gate
def test_more_random_labelings(every_engine: list[Engine]) -> None:
    for engine in every_engine:
        check_cell_tables(engine, random_labelings(7, 42))


@pytest.mark.gate
@pytest.mark.parametrize("average_method", AVERAGES)
def test_random_labelings_with_each_average(
    every_engine: list[Engine], average_method: str
) -> None:
    """Of larger tables than `test_every_pair_with_each_average` and `test_a_billion_rows`."""
    for engine in every_engine:
        check_cell_tables(engine, random_labelings(0, 14), average_method=average_method)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 50))
def test_a_thousand_random_labelings(engine: Engine, first: int) -> None:
    check_cell_tables(engine, random_labelings(first, first + 50))


def nearly_independent(n: int, rows: int, columns: int, shift: int) -> Cells:
    """a_i b_j / n in every cell, rounded, with `shift` rows moved."""
    label = np.arange(1, rows + 1) / np.arange(1, rows + 1).sum()
    cluster = np.arange(2, columns + 2) / np.arange(2, columns + 2).sum()
    counts = [[int(n * p * q) for q in cluster] for p in label]
    counts[0][0] += n - sum(map(sum, counts)) + shift
    counts[-1][-1] -= shift
    return [(u, v, m) for u, line in enumerate(counts) for v, m in enumerate(line)]


BILLION = 10**9
HUGE: dict[str, Cells] = {
    "equal quarters": [(u, v, BILLION // 4) for u in range(2) for v in range(2)],
    "one row off equal quarters": [
        (u, v, BILLION // 4 + (1 if u == v else -1)) for u in range(2) for v in range(2)
    ],
    "independent to a row": nearly_independent(BILLION, 3, 4, 0),
    "a thousand rows moved": nearly_independent(BILLION, 5, 7, 1000),
    "a million rows moved": nearly_independent(BILLION, 10, 10, 10**6),
    "one row apart": [(0, 0, BILLION - 1), (0, 1, 1)],
    "two rows apart": [(0, 0, BILLION - 2), (0, 1, 1), (1, 0, 1)],
    "sizes of every scale": [
        (0, 0, 1),
        (1, 0, 30),
        (1, 1, 1000),
        (2, 1, 50_000),
        (2, 2, 2_000_000),
        (3, 3, 90_000_000),
        (0, 3, 7),
        (4, 4, BILLION - 92_051_038),
    ],
    "identical": [(0, 0, BILLION // 2), (1, 1, BILLION // 5), (2, 2, 3 * BILLION // 10)],
    "nearly identical": [(0, 0, BILLION // 2), (1, 1, BILLION // 2 - 1), (0, 1, 1)],
}


def test_a_billion_rows(engine: Engine) -> None:
    for average_method in AVERAGES:
        check_cell_tables(engine, list(HUGE.values()), average_method=average_method)


@pytest.mark.parametrize("beta", [0.0, 0.25, 3.0])
def test_a_billion_rows_with_beta(engine: Engine, beta: float) -> None:
    check_cell_tables(engine, list(HUGE.values()), beta=beta)


QUARTER = 2_500_000_000
TEN_BILLION: list[Cells] = [
    [(u, v, QUARTER) for u in range(2) for v in range(2)],
    [(0, 0, QUARTER + 1), (0, 1, QUARTER - 2), (1, 0, QUARTER), (1, 1, QUARTER + 1)],
    [(0, 0, 9_999_999_999), (1, 0, 1)],
    [(0, 0, 10**10)],
]


def test_ten_billion_rows(engine: Engine) -> None:
    check_cell_tables(engine, TEN_BILLION)


def test_pair_counts_of_ten_billion_rows_are_exact(engine: Engine) -> None:
    rows = engine.table("pair_counts", frame_of_tables(TEN_BILLION), weight="n", partition_by="run")
    for row, cells in zip(rows, TEN_BILLION, strict=True):
        counted = [row[name] for name in ("tp", "fp", "fn", "tn")]
        assert counted == list(Table(cells).pair_counts())
        assert all(isinstance(count, Decimal) for count in counted)
    first = [rows[0][name] for name in ("tp", "fp", "fn", "tn")]
    assert first == [4 * comb(QUARTER, 2), *[2 * QUARTER**2] * 3]


def test_clusters_of_ten_billion_rows_are_exact(engine: Engine) -> None:
    rows = engine.table("external_cluster_report", frame_of_tables(TEN_BILLION[:1]), weight="n")
    assert [(row["n"], row["joined_pairs"]) for row in rows] == [(2 * QUARTER, QUARTER**2)] * 2


QUARTER_TRILLION = 25 * 10**10
# The largest sum of weights that is accepted.
TRILLION: list[Cells] = [
    [(u, v, QUARTER_TRILLION) for u in range(2) for v in range(2)],
    [(0, 0, QUARTER_TRILLION + 1), (0, 1, QUARTER_TRILLION - 2), (1, 1, 2 * QUARTER_TRILLION + 1)],
    [(0, 0, 10**12 - 1), (1, 0, 1)],
    [(0, 0, 10**12 - 3), (1, 0, 1), (0, 1, 1), (2, 2, 1)],
    [(u, v, 10**10) for u in range(10) for v in range(10)],
    [(0, v, 10**9) for v in range(1000)],
    [(u, 0, 10**9) for u in range(1000)],
]


def test_a_trillion_rows(engine: Engine) -> None:
    check_cell_tables(engine, TRILLION)


# A plain sum of a million terms in the order of their rows loses four digits.
MANY = {"1e5 x 1e5 clusters": (10**5, 10**5), "2 x 8e5 clusters": (2, 8 * 10**5)}


@pytest.mark.gate
@pytest.mark.parametrize("shape", MANY)
def test_many_small_clusters(every_engine: list[Engine], shape: str) -> None:
    rng = np.random.default_rng(0)
    label, cluster = (rng.integers(0, k, 10**6) for k in MANY[shape])
    expected = exact((u, v, 1) for u, v in zip(label.tolist(), cluster.tolist(), strict=True))
    for engine in every_engine:
        [row] = report(engine, pl.DataFrame({"label": label, "cluster": cluster}))
        assert_metrics(row, expected, what=engine.name)


@pytest.mark.gate  # slow
def test_many_equal_clusters(every_engine: list[Engine]) -> None:
    """A fast one, where rounding errors of a plain sum all have the same sign."""
    clusters = [cell for v in range(2, 70_000) for cell in ((0, v, 2), (1, v, 1))]
    labels = [cell for u in range(2, 70_000) for cell in ((u, 0, 2), (u, 1, 1))]
    for engine in every_engine:
        check_cell_tables(engine, [clusters + labels])


def test_one_cluster_of_any_size(engine: Engine) -> None:
    """Where the adjusted scores are 0/0 whatever the rounding."""
    sizes = np.random.default_rng(0).integers(1, 10**10, 200)
    check_cell_tables(engine, [[(0, 0, int(n))] for n in sizes])


def test_the_lists_of_cases_reach_every_metric() -> None:
    """A metric that is NULL in all of them would be proved by nothing."""
    defined = {
        name
        for cells in HUGE.values()
        for name, value in exact_values(tuple(cells)).items()
        if value is not None
    }
    assert defined == set(METRICS)


def test_expected_mutual_information_of_each_size(engine: Engine) -> None:
    """One cluster of that size and the rest, against labels of three sizes."""
    tables = [
        [(0, 0, size), (1, 1, BILLION - size - 10**7 - 3), (2, 1, 10**7), (3, 1, 3)]
        for size in (2, 3, 10, 100, 5000, 10**6, 10**8, BILLION // 2)
    ]
    rows = report(engine, frame_of_tables(tables), weight="n", partition_by="run")
    for row, cells in zip(rows, tables, strict=True):
        wanted = expected_mutual_info(Table(cells))
        assert_same(row["expected_mutual_info"], wanted, bounded=False, what=str(cells))


def north_west(labels: Sequence[int], clusters: Sequence[int]) -> Cells:
    """A table of counts with these sums, filled from its north-west corner."""
    cells, u, v, a, b = [], 0, 0, labels[0], clusters[0]
    while True:
        n = min(a, b)
        cells.append((u, v, n))
        a, b = a - n, b - n
        if a == 0:
            u += 1
            if u == len(labels):
                return cells
            a = labels[u]
        if b == 0:
            v += 1
            b = clusters[v]


def crowded() -> list[Cells]:
    """Sizes of which there are so many in an octave that others stand for them."""
    rng = np.random.default_rng(0)
    small = list(range(60, 130))
    middle = [int(size) for size in rng.choice(np.arange(2**13, 2**14), 40, replace=False)]
    large = [int(size) for size in rng.choice(np.arange(2**20, 2**21), 36, replace=False)]
    few = [1, 2, 67, 1000, 1000]
    return [
        north_west(small, [*few, sum(small) - sum(few)]),
        north_west([sum(small) - 64, 64], small),
        north_west([*small, 10**6], [*reversed(small), 10**6]),
        north_west(large, [*middle, sum(large) - sum(middle)]),
        north_west([*middle, BILLION - sum(middle)], [*middle[::-1], BILLION - sum(middle)]),
    ]


@pytest.mark.gate
def test_crowded_octaves_of_sizes(engine: Engine) -> None:
    check_cell_tables(engine, crowded())


def test_a_crowded_octave_beside_partitions_with_other_sizes(engine: Engine) -> None:
    """Neither the sizes of a partition nor those of the other side make an octave crowded."""
    halves = [list(range(64, 84)), list(range(84, 104)), list(range(64, 96)), list(range(64, 97))]
    check_cell_tables(engine, [north_west(sizes, sizes[::-1]) for sizes in halves])


def test_both_sides_have_the_same_nodes_of_an_octave() -> None:
    """The weights are literals in SQL: here they are worked out exactly, up to a factor."""
    nodes = expected_information.OCTAVE_NODES
    exactly = [1 / prod(Fraction(x - y) for y in nodes if y != x) for x in nodes]
    file = sql_folder() / "external" / "expected_information.sql"
    literals = re.findall(
        r"SELECT (\d+)e0(?: AS \w+)?, (-?[\d.]+(?:e-?\d+)?)", file.read_text("utf-8")
    )
    lower = [(int(at), float(weight)) for at, weight in literals]
    found = lower + [(192 - at, -weight) for at, weight in reversed(lower)]
    assert [at for at, _ in found] == list(nodes)
    for weights in ([weight for _, weight in found], expected_information.OCTAVE_WEIGHTS):
        factors = [float(weight / wanted) for weight, wanted in zip(weights, exactly, strict=True)]
        assert factors == pytest.approx([factors[0]] * len(nodes), rel=1e-14)
