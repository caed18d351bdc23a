"""matching_report and matching_table: every matching by brute force, other authors, hard tables."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import polars_clustereval as ce
from polars_clustereval.external.kernels import linear_assignment
from polars_clustereval.external.kernels.linear_assignment import Cells, matched_weights
from tests.support.compare import assert_rows
from tests.support.engines import Engine, frame_of, stacked
from tests.support.strategies import batched, batches

INDICES = (
    "clustering_accuracy",
    "normalized_clustering_accuracy",
    "pair_sets_index",
    "ceaf_precision",
    "ceaf_recall",
    "ceaf_f_score",
)
Table = list[list[int]]
Rows = list[tuple[int, int]]


def rows_of_weights(table: Table) -> Rows:
    """Rows of label and cluster that have this contingency table."""
    return [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]


def table_of(rows: Rows) -> Table:
    labels, clusters = (sorted(set(values)) for values in zip(*rows, strict=True))
    counts = Counter(rows)
    return [[counts[u, v] for v in clusters] for u in labels]


def best_by_trial(weights: list[list[float]]) -> float:
    """The greatest sum of weights over all ways to match the shorter side."""
    wide = weights if len(weights) <= len(weights[0]) else list(zip(*weights, strict=True))
    return max(
        sum(row[j] for row, j in zip(wide, order, strict=True))
        for order in permutations(range(len(wide[0])), len(wide))
    )


def best_by_scipy(weights: list[list[float]]) -> float:
    values = np.array(weights, np.float64)
    return float(values[linear_sum_assignment(values, maximize=True)].sum())


def matching_by_definition(
    table: Table, best: Any = best_by_scipy, beta: float = 1.0
) -> dict[str, Any]:
    """The definitions of the papers, on a table without empty rows and columns."""
    a, b = [sum(row) for row in table], [sum(column) for column in zip(*table, strict=True)]
    n, k = sum(a), max(len(a), len(b))

    def matched(weight: Any) -> float:
        cells = enumerate(table)
        return float(best([[weight(x, a[i], b[j]) for j, x in enumerate(row)] for i, row in cells]))

    sets = matched(lambda x, u, v: x / max(u, v))
    ranked = zip(sorted(a, reverse=True), sorted(b, reverse=True), strict=False)
    chance = sum(u * v / n / max(u, v) for u, v in ranked)
    f = matched(lambda x, u, v: 2 * x / (u + v))
    precision, recall = f / len(b), f / len(a)
    return {
        "n": n,
        "n_dropped": 0,
        "n_noise": 0,
        "n_labels": len(a),
        "n_clusters": len(b),
        "clustering_accuracy": matched(lambda x, *_: float(x)) / n,
        "normalized_clustering_accuracy": (matched(lambda x, u, _: x / u) - 1) / (k - 1)
        if k > 1
        else 1.0,
        "pair_sets_index": max(0.0, (sets - chance) / (k - chance)) if k > 1 else 1.0,
        "ceaf_precision": precision,
        "ceaf_recall": recall,
        "ceaf_f_score": (1 + beta**2) * precision * recall / (beta**2 * precision + recall),
    }


def matching_reports(engine: Engine, labelings: list[Rows], **options: Any) -> list[dict[str, Any]]:
    frame = stacked(labelings)
    rows = engine.table("matching_report", frame, partition_by="run", **options)
    assert [row.pop("run") for row in rows] == list(range(len(labelings)))
    return rows


# Degenerate tables ---------------------------------------------------------------------------

ONE = dict.fromkeys(INDICES, 1.0)


FEW_ROWS: list[tuple[Rows, dict[str, float]]] = [
    ([(0, 0)], ONE),
    ([(0, 0), (0, 0)], ONE),
    ([(0, 0), (1, 1)], ONE),
    ([(0, 1), (1, 0), (2, 2)], ONE),
    # One label in n clusters: one row in n is matched.
    ([(0, 0), (0, 1)], dict(zip(INDICES, (0.5, -0.5, 0.0, 1 / 3, 2 / 3, 4 / 9), strict=True))),
    ([(0, 0), (1, 0)], dict(zip(INDICES, (0.5, 0.0, 0.0, 2 / 3, 1 / 3, 4 / 9), strict=True))),
]


def test_few_rows(engine: Engine) -> None:
    rows = matching_reports(engine, [case for case, _ in FEW_ROWS])
    for row, (case, values) in zip(rows, FEW_ROWS, strict=True):
        assert {name: row[name] for name in INDICES} == pytest.approx(values, abs=1e-15), case
    [alone] = engine.table("matching_report", frame_of(FEW_ROWS[-1][0]))
    assert alone == pytest.approx(rows[-1], abs=1e-15)


def test_no_rows(engine: Engine) -> None:
    counts = ("n", "n_dropped", "n_noise", "n_labels", "n_clusters")
    nothing = dict.fromkeys(counts, 0) | dict.fromkeys(INDICES)
    assert engine.table("matching_report", frame_of([])) == [nothing]
    assert engine.table("matching_report", stacked([]), partition_by="run") == []
    only_dropped = pl.DataFrame({"label": [None, 1], "cluster": [1, None]}, schema_overrides=INTS)
    assert engine.table("matching_report", only_dropped) == [nothing | {"n_dropped": 2}]


INTS = {"label": pl.Int64, "cluster": pl.Int64}

# Other authors -------------------------------------------------------------------------------


GENIECLUST: list[tuple[Table, float, float, float]] = [
    ([[5, 1, 0], [0, 4, 2], [1, 0, 7]], 0.8, 0.6875, 0.6476964769647697),
    ([[3, 0, 2], [1, 4, 0]], 0.7, 0.2, 0.27272727272727265),
    ([[2, 2], [3, 0], [0, 4]], 7 / 11, 0.5, 0.2373333333333333),
    ([[10, 9], [9, 0]], 9 / 14, 0.4736842105263157, 0.0),
    ([[1, 1, 1], [1, 1, 1], [1, 1, 1]], 1 / 3, 0.0, 0.0),
    ([[50, 0, 0], [0, 48, 2], [0, 14, 36]], 0.8933333333333333, 0.84, 0.7568238213399504),
]


def test_values_of_genieclust(engine: Engine) -> None:
    """genieclust 1.3.0, on tables with rows or columns of 0 where they are not square."""
    rows = matching_reports(engine, [rows_of_weights(table) for table, *_ in GENIECLUST])
    for row, (table, *wanted) in zip(rows, GENIECLUST, strict=True):
        names = ("clustering_accuracy", "normalized_clustering_accuracy", "pair_sets_index")
        assert [row[name] for name in names] == pytest.approx(wanted, abs=1e-15), table


def test_ceaf_of_luo(engine: Engine) -> None:
    """Luo (2005), table 1: the truth {1..5}, {6, 7}, {8..C} and four responses."""
    truth = [1] * 5 + [2] * 2 + [3] * 5
    responses = {
        "a": [1] * 5 + [2] * 7,
        "b": [1] * 5 + [2] * 2 + [1] * 5,
        "c": [1] * 12,
        "d": list(range(12)),
    }
    # CEAF by mentions and F of CEAF by entities, as the paper has them: to three digits.
    published = {"a": (0.833, 0.733), "b": (0.583, 0.667), "c": (0.417, 0.294), "d": (0.250, 0.178)}
    labelings = [list(zip(truth, response, strict=True)) for response in responses.values()]
    for name, row in zip(responses, matching_reports(engine, labelings), strict=True):
        by_mentions, by_entities = published[name]
        assert row["clustering_accuracy"] == pytest.approx(by_mentions, abs=5e-4), name
        assert row["ceaf_f_score"] == pytest.approx(by_entities, abs=5e-4), name


# Brute force ---------------------------------------------------------------------------------

SMALL = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


@batched
@given(batches(SMALL))
def test_every_matching_is_tried(engine: Engine, labelings: list[Rows]) -> None:
    wanted = [matching_by_definition(table_of(rows), best_by_trial) for rows in labelings]
    assert_rows(matching_reports(engine, labelings), wanted)


def random_labeling(draw: random.Random) -> Rows:
    """Rows of up to 14 labels and clusters that agree more or less."""
    n_labels, n_clusters, agreement = draw.randint(1, 14), draw.randint(1, 14), draw.random()
    labels = [draw.randrange(n_labels) for _ in range(draw.randint(1, 120))]
    return [
        (u, u % n_clusters if draw.random() < agreement else draw.randrange(n_clusters))
        for u in labels
    ]


def test_random_tables(engine: Engine) -> None:
    draw = random.Random(5)
    labelings = [random_labeling(draw) for _ in range(200)]
    wanted = [matching_by_definition(table_of(rows), beta=2.0) for rows in labelings]
    assert sum(row["n_labels"] > row["n_clusters"] for row in wanted) > 50
    assert sum(row["n_labels"] < row["n_clusters"] for row in wanted) > 50
    assert_rows(matching_reports(engine, labelings, beta=2.0), wanted)


def test_singletons_are_clusters_of_their_own(engine: Engine) -> None:
    draw = random.Random(6)
    labelings = [random_labeling(draw) for _ in range(100)]
    apart = [[(u, v if v else 1000 + i) for i, (u, v) in enumerate(rows)] for rows in labelings]
    found = matching_reports(engine, labelings, noise=0, noise_as="singletons")
    assert sum(row.pop("n_noise") for row in found) > 500
    wanted = [matching_by_definition(table_of(rows)) for rows in apart]
    for row in wanted:
        del row["n_noise"]
    assert_rows(found, wanted)


# Hard tables ---------------------------------------------------------------------------------


def ring(n: int) -> Table:
    """Two equal cells for each label and each cluster: no cell is decided."""
    return [[int(j in (i, (i + 1) % n)) for j in range(n)] for i in range(n)]


def chain_of_cells(n: int) -> Table:
    """Labels and clusters in a row, by cells that weigh 5 and 9 in turn."""
    return [[5 if j == i else 9 if j == i + 1 else 0 for j in range(n)] for i in range(n)]


def uniform(n: int, m: int) -> Table:
    draw = random.Random(n)
    return [[draw.randint(0, 5) for _ in range(m)] for _ in range(n)]


HARD = [
    ring(12),
    chain_of_cells(15),
    uniform(25, 25),
    uniform(12, 30),
    uniform(30, 12),
    [[1] * 7] * 9,
]


def test_hard_tables(engine: Engine) -> None:
    tables = [table_of(rows_of_weights(table)) for table in HARD]
    assert_rows(
        matching_reports(engine, [rows_of_weights(table) for table in HARD]),
        [*map(matching_by_definition, tables)],
    )


def test_many_parts_in_one_table(engine: Engine) -> None:
    """Each part is solved by itself: the sums are those of the parts."""
    parts = [ring(4), [[10, 9], [9, 0]], uniform(6, 5), ring(3)] * 5
    rows = [
        (100 * k + i, 100 * k + j) for k, part in enumerate(parts) for i, j in rows_of_weights(part)
    ]
    [row] = engine.table("matching_report", frame_of(rows))
    matched = sum(best_by_scipy(part) for part in parts)  # type: ignore[arg-type]
    assert row["clustering_accuracy"] == matched / len(rows)


def unrelated(n_rows: int, n_labels: int, n_clusters: int, seed: int) -> Rows:
    draw = np.random.default_rng(seed)
    labels, clusters = (draw.integers(0, n, n_rows).tolist() for n in (n_labels, n_clusters))
    return list(zip(labels, clusters, strict=True))


#: Numbers of rows, labels and clusters: many empty cells, ties, and more of either.
UNRELATED = [(1600, 80, 80), (3000, 150, 150), (6000, 80, 55), (6000, 50, 90), (300, 60, 60)]


@pytest.mark.gate
def test_unrelated_clusters(engine: Engine) -> None:
    """Most labels lose the bids of others, and the searches for a free cluster meet."""
    labelings = [unrelated(*sizes, seed) for seed, sizes in enumerate(UNRELATED)]
    assert_rows(
        matching_reports(engine, labelings),
        [matching_by_definition(table_of(rows)) for rows in labelings],
    )


def test_large_weights_are_exact(engine: Engine) -> None:
    """Differences of 1 in 1e9 decide."""
    billion = 10**9
    cells = [(0, 0, billion), (0, 1, billion - 1), (1, 0, billion - 1), (1, 1, billion - 3)]
    [row] = engine.table("matching_report", frame_of(cells, "weight"), weight="weight")
    total = sum(n for *_, n in cells)
    assert row["clustering_accuracy"] == (2 * billion - 2) / total


# What must not matter ------------------------------------------------------------------------


@batched
@given(batches(SMALL), st.randoms(use_true_random=False))
def test_names_and_order_do_not_matter(
    engine: Engine, several: list[Rows], draw: random.Random
) -> None:
    renamed = []
    for rows in several:
        names = [draw.sample(range(100), 5) for _ in range(2)]
        renamed.append([(names[0][u], names[1][v]) for u, v in rows])
        draw.shuffle(renamed[-1])
    found = matching_reports(engine, [*several, *renamed])
    first, second = found[: len(several)], found[len(several) :]
    for rows, one, other in zip(several, first, second, strict=True):
        assert one == pytest.approx(other, abs=1e-14), rows


def test_sides_exchange_precision_and_recall(engine: Engine) -> None:
    draw = random.Random(7)
    labelings = [random_labeling(draw) for _ in range(20)]
    there = matching_reports(engine, labelings)
    back = matching_reports(engine, [[(v, u) for u, v in rows] for rows in labelings])
    for row, other in zip(there, back, strict=True):
        assert row["ceaf_precision"] == pytest.approx(other["ceaf_recall"], abs=1e-14)
        for name in ("clustering_accuracy", "pair_sets_index", "ceaf_f_score"):
            assert row[name] == pytest.approx(other[name], abs=1e-14)


# The matching itself -------------------------------------------------------------------------

Match = tuple[Any, Any, int, float | None, float | None]


def first_best_matching(rows: Rows) -> list[Match]:
    """The rows of matching_table, from all matchings in the order of labels and clusters."""
    counts, of_label, of_cluster = (Counter(x) for x in (rows, *zip(*rows, strict=True)))
    labels, clusters = sorted(of_label), [*sorted(of_cluster)]

    def assign(place: int, taken: frozenset[Any]) -> tuple[int, tuple[int, ...]]:
        """The best number of rows from this label on, negated, and the places of the clusters."""
        if place == len(labels):
            return 0, ()
        found = []
        for number, cluster in enumerate([*clusters, None]):
            n = counts[labels[place], cluster]
            if cluster is None or (n and cluster not in taken):
                total, places = assign(place + 1, taken | {cluster})
                found.append((total - n, (number, *places)))
        return min(found)

    places = assign(0, frozenset())[1]
    matches: list[Match] = []
    for u, number in zip(labels, places, strict=True):
        v = clusters[number] if number < len(clusters) else None
        n = counts[u, v]
        matches.append((u, v, n, n / of_label[u], None if v is None else n / of_cluster[v]))
    left = [v for number, v in enumerate(clusters) if number not in places]
    return [*matches, *((None, v, 0, None, 0.0) for v in left)]


def matching_tables(engine: Engine, labelings: list[Rows], **options: Any) -> list[list[Match]]:
    rows = engine.table("matching_table", stacked(labelings), partition_by="run", **options)
    names = ("label", "cluster", "n", "recall", "precision")
    assert all(tuple(row) == ("run", *names) for row in rows)
    found: list[list[Match]] = [[] for _ in labelings]
    for run, *match in (row.values() for row in rows):
        found[run].append(tuple(match))  # type: ignore[arg-type]
    return found


FEW_MATCHES: list[tuple[Rows, list[Match]]] = [
    ([(0, 5)], [(0, 5, 1, 1.0, 1.0)]),
    ([(0, 5), (1, 6), (1, 6)], [(0, 5, 1, 1.0, 1.0), (1, 6, 2, 1.0, 1.0)]),
    # One cluster is left, then one label: of equal cells, the first one is matched.
    ([(0, 5), (0, 6)], [(0, 5, 1, 0.5, 1.0), (None, 6, 0, None, 0.0)]),
    ([(0, 5), (1, 5)], [(0, 5, 1, 1.0, 0.5), (1, None, 0, 0.0, None)]),
    # A label and a cluster that share no row stay alone.
    ([(0, 5), (0, 5), (0, 6), (1, 5)], [
        (0, 5, 2, 2 / 3, 2 / 3), (1, None, 0, 0.0, None), (None, 6, 0, None, 0.0),
    ]),
    # Label 0 gets cluster 5 although label 1 loses cluster 5: both matchings have 2 rows.
    ([(0, 5), (0, 6), (1, 5), (1, 6)], [(0, 5, 1, 0.5, 0.5), (1, 6, 1, 0.5, 0.5)]),
]  # fmt: skip


def test_the_matching_of_few_rows(engine: Engine) -> None:
    cases = [rows for rows, _ in FEW_MATCHES]
    assert matching_tables(engine, cases) == [wanted for _, wanted in FEW_MATCHES]
    assert [first_best_matching(rows) for rows in cases] == [wanted for _, wanted in FEW_MATCHES]
    assert engine.table("matching_table", frame_of([])) == []
    [row] = engine.table("matching_table", frame_of([(0, 5)]))
    assert row == {"label": 0, "cluster": 5, "n": 1, "recall": 1.0, "precision": 1.0}


@batched
@given(batches(SMALL))
def test_the_first_of_all_best_matchings(engine: Engine, labelings: list[Rows]) -> None:
    wanted = [first_best_matching(rows) for rows in labelings]
    assert matching_tables(engine, labelings) == wanted


def ties(draw: random.Random) -> Rows:
    """Few rows of each of up to six labels and clusters, so that many matchings are best."""
    n = draw.randint(2, 6)
    return [(draw.randrange(n), draw.randrange(draw.randint(2, 6))) for _ in range(2 * n)]


def square(draw: random.Random) -> Table:
    n = draw.randint(2, 5)
    return [[draw.randint(0, 5) for _ in range(n)] for _ in range(n)]


def test_the_first_of_many_best_matchings(engine: Engine) -> None:
    draw = random.Random(11)
    labelings = [
        *map(rows_of_weights, [ring(6), uniform(6, 5), [[1] * 6] * 5, [[1] * 4] * 6]),
        # No label has rows in the cluster of its number, and all other cells are equal.
        [(u, v) for u in range(5) for v in range(5) if u != v],
        *(ties(draw) for _ in range(150)),
        # If all clusters are matched, a label's gain can be negative.
        *(rows_of_weights(square(draw)) for _ in range(100)),
    ]  # fmt: skip
    assert matching_tables(engine, labelings) == [*map(first_best_matching, labelings)]


def test_the_matching_has_the_accuracy_of_the_report(engine: Engine) -> None:
    draw = random.Random(8)
    labelings = [
        *map(rows_of_weights, HARD), unrelated(300, 60, 60, 1), unrelated(200, 30, 60, 2),
        *(random_labeling(draw) for _ in range(50)),
    ]  # fmt: skip
    for rows, matches, report in zip(
        labelings,
        matching_tables(engine, labelings),
        matching_reports(engine, labelings),
        strict=True,
    ):
        total = sum(n for _, _, n, *_ in matches)
        assert total == best_by_scipy(table_of(rows))  # type: ignore[arg-type]
        assert total / len(rows) == report["clustering_accuracy"]
        for side, column in ((0, "n_labels"), (1, "n_clusters")):
            names = [match[side] for match in matches if match[side] is not None]
            assert sorted(names) == sorted({row[side] for row in rows})
            assert len(names) == report[column]


def test_noise_in_the_matching(engine: Engine) -> None:
    """Label 0 is matched with one of its noise rows, and the others are not listed."""
    rows = [(0, -1), (0, -1), (1, -1), (1, 5), (1, 5)]
    found = {
        noise_as: matching_tables(engine, [rows], noise=-1, noise_as=noise_as)[0]
        for noise_as in ("cluster", "drop", "singletons")
    }
    matched = (1, 5, 2, 2 / 3, 1.0)
    assert found["cluster"] == [(0, -1, 2, 1.0, 2 / 3), matched]
    assert found["drop"] == [(1, 5, 2, 1.0, 1.0)]
    assert found["singletons"] == [(0, None, 1, 0.5, 1.0), matched]
    # A cluster comes before a noise row with as many rows.
    assert matching_tables(engine, [[(0, -1), (0, 5)]], noise=-1, noise_as="singletons") == [
        [(0, 5, 1, 0.5, 1.0)]
    ]


def test_weights_and_missing_labels_in_the_matching(engine: Engine) -> None:
    billion = 10**9
    cells = [(0, 0, billion), (0, 1, billion - 1), (1, 0, billion - 1), (1, 1, billion - 3)]
    frame = frame_of([*cells, (2, 2, 0), (None, 7, 1), (7, None, 1)], "weight")
    rows = engine.table("matching_table", frame, weight="weight")
    assert [tuple(row.values())[:3] for row in rows] == [(0, 1, billion - 1), (1, 0, billion - 1)]


# Bounds of the solver ------------------------------------------------------------------------


def test_a_part_that_is_too_large(side: Engine) -> None:
    n = 2001
    rows = [(i, (i + step) % n) for i in range(n) for step in (0, 1, 45)]
    words = f"matching: expected at most 4000000 pairs .* got {n} labels x {n} clusters"
    with pytest.raises(Exception, match=words):
        side.table("matching_report", frame_of(rows))
    with pytest.raises(Exception, match=words):
        side.table("matching_table", frame_of(rows))


def test_a_thousand_labels_by_another_thousand(side: Engine) -> None:
    """A million pairs are no part of that size: most cells are decided at once."""
    draw = np.random.default_rng(3)
    label = draw.integers(0, 1000, 20_000)
    cluster = np.where(draw.random(20_000) < 0.7, label, draw.integers(0, 1000, 20_000))
    frame = pl.DataFrame({"label": label, "cluster": cluster})
    [row] = side.table("matching_report", frame)
    counts = np.zeros((1000, 1000))
    np.add.at(counts, (label, cluster), 1)
    assert row["clustering_accuracy"] == best_by_scipy(counts.tolist()) / 20_000


def test_searches_are_made_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most rows of a table of ties are left by the bids: not each has a search of its own."""
    searches: list[Any] = []
    measure_ways = linear_assignment._measure_paths

    def count_searches(*tables: Any) -> Any:
        searches.append(tables)
        return measure_ways(*tables)

    monkeypatch.setattr(linear_assignment, "_measure_paths", count_searches)
    draw = np.random.default_rng(0)
    table = np.zeros((400, 400))
    np.add.at(table, (draw.integers(0, 400, 8000), draw.integers(0, 400, 8000)), 1)
    assert linear_assignment._largest_weight(table) == best_by_scipy(table.tolist())
    assert 1 < len(searches) < 40


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3), st.integers(0, 10**6))
def test_the_kernel(n_rows: int, n_columns: int, largest: int, seed: int) -> None:
    """Real weights and ties alike, for several problems at once."""
    draw = np.random.default_rng(seed)
    tables = [np.round(draw.random((n_rows, n_columns)) * largest, digits) for digits in (0, 1, 16)]
    parts = []
    for number, table in enumerate(tables):
        rows, columns = np.nonzero(table)
        problems = np.full(rows.size, number)
        shift = number * 10
        parts.append((problems, rows + shift, columns + shift, table[rows, columns]))
    cells = Cells(*(np.concatenate(values) for values in zip(*parts, strict=True)))
    wanted = [best_by_scipy(table.tolist()) for table in tables]
    assert matched_weights(cells, 3) == pytest.approx(wanted, rel=1e-14)


def test_beta_is_checked() -> None:
    frame = frame_of([(0, 0)])
    with pytest.raises(ce.ClusterEvalError, match="beta: expected a number >= 0, got -1"):
        ce.matching_report(frame, "label", "cluster", beta=-1)
