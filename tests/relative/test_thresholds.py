"""connected_components and threshold_report in every engine: networkx, scikit-learn, and errors.

Scores from the labels of a sample are compared with those of the clusters at each threshold.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.cluster import pair_confusion_matrix

import polars_clustereval as ce
from polars_clustereval.external.kernels.merging import merge_components
from tests.support.engines import Engine, Row, fails, make
from tests.support.point_engines import assert_points

NODE = {"id": pl.Int64, "label": pl.Int64, "day": pl.Int64}
EDGE = {"one": pl.Int64, "two": pl.Int64, "w": pl.Float64, "day": pl.Int64}
ENDS = ("one", "two", "w")
Node = tuple[int, int | None, int | None]
Edge = tuple[int | None, int | None, float, int | None]


def frames_of(nodes: list[Node], edges: list[Edge]) -> tuple[pl.DataFrame, pl.DataFrame]:
    return pl.DataFrame(nodes, NODE, orient="row"), pl.DataFrame(edges, EDGE, orient="row")


def random_graph(
    seed: int, n_days: int = 1, n: int | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Nodes, some without a label, and edges with ties, loops, both directions and foreign ends."""
    r = np.random.default_rng(seed)
    n = int(r.integers(1, 40)) if n is None else n
    day_of = [None, *range(1, n_days)]
    labels = r.integers(0, max(1, n // 3), (n_days, n))
    known = r.random((n_days, n)) < 0.8
    nodes: list[Node] = [
        (i, int(labels[day, i]) if known[day, i] else None, day_of[day])
        for day in range(n_days)
        for i in r.permutation(n).tolist()
    ]
    m = int(r.integers(0, 2 * n + 1)) * n_days
    ends, weights = r.integers(0, n + 1, (m, 2)), r.integers(-1, 8, m) / 7
    edges: list[Edge] = [
        (int(a), int(b), float(w), day_of[int(r.integers(n_days))])
        for (a, b), w in zip(ends, weights, strict=True)
    ]
    edges += [(0, 0, 0.5, day) for day in day_of] + [(None, 0, 0.9, None)]
    return frames_of(nodes, edges)


def weights_of(nodes: pl.DataFrame, edges: pl.DataFrame) -> dict[tuple[int, int], float]:
    """The highest weight of each pair of different ids."""
    ids, found = set(nodes["id"]), {}
    for a, b, w, _ in edges.rows():
        if a in ids and b in ids and a != b:
            pair = (min(a, b), max(a, b))
            found[pair] = max(w, found.get(pair, w))
    return found


def components_at(
    nodes: pl.DataFrame, weights: dict[tuple[int, int], float], threshold: float
) -> list[set[int]]:
    graph = nx.Graph()
    graph.add_nodes_from(nodes["id"])
    graph.add_edges_from(pair for pair, w in weights.items() if w >= threshold)
    return list(nx.connected_components(graph))


def scores_at(nodes: pl.DataFrame, components: list[set[int]]) -> Row:
    """The scores of the nodes with a label, by their definitions."""
    label_of = {i: x for i, x, _ in nodes.rows() if x is not None}
    names = {i: no for no, part in enumerate(components) for i in part}
    ids = sorted(label_of)
    if not ids:
        return dict.fromkeys(SCORES)
    pairs = pair_confusion_matrix([label_of[i] for i in ids], [names[i] for i in ids]) // 2
    tp, fp, fn = int(pairs[1, 1]), int(pairs[0, 1]), int(pairs[1, 0])
    clusters = [c for c in (part & label_of.keys() for part in components) if c]
    labels = [{i for i in ids if label_of[i] == x} for x in set(label_of.values())]
    precision = recall = entropy = 0.0
    for one in clusters:
        for two in labels:
            n = len(one & two)
            if n:
                precision += n * n / len(one) / len(ids)
                recall += n * n / len(two) / len(ids)
                entropy += n / len(ids) * np.log(len(one) * len(two) / n / n)
    exact = sum(one in labels for one in clusters)
    return {
        "pair_precision": tp / (tp + fp) if tp + fp else None,
        "pair_recall": tp / (tp + fn) if tp + fn else None,
        "pair_f_score": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None,
        "bcubed_precision": precision,
        "bcubed_recall": recall,
        "bcubed_f_score": 2 * precision * recall / (precision + recall),
        "exact_match_precision": exact / len(clusters),
        "exact_match_recall": exact / len(labels),
        "exact_match_f_score": 2 * exact / (len(clusters) + len(labels)),
        "variation_of_information": entropy,
    }


COUNTS = ("n", "n_labeled", "n_edges", "n_clusters", "n_singletons", "largest_cluster_size")
SCORES = (
    *("pair_precision", "pair_recall", "pair_f_score", "bcubed_precision", "bcubed_recall"),
    *("bcubed_f_score", "exact_match_precision", "exact_match_recall", "exact_match_f_score"),
    "variation_of_information",
)


def expected_rows(
    nodes: pl.DataFrame, edges: pl.DataFrame, thresholds: list[float] | None
) -> list[Row]:
    weights = weights_of(nodes, edges)
    rows = []
    for threshold in sorted(set(weights.values()) if thresholds is None else set(thresholds)):
        components = components_at(nodes, weights, threshold)
        sizes = [len(part) for part in components]
        kept = [w for w in weights.values() if w >= threshold]
        are_shares = all(0 <= w <= 1 for w in kept)
        counts = (
            *(nodes.height, nodes["label"].count(), len(kept), len(sizes), sizes.count(1)),
            max(sizes, default=0),
        )
        rows.append(
            {
                "threshold": threshold,
                **dict(zip(COUNTS, counts, strict=True)),
                "n_pairs": sum(n * (n - 1) // 2 for n in sizes),
                "expected_precision": sum(kept) / len(kept) if kept and are_shares else None,
                **scores_at(nodes, components),
            }
        )
    return rows


def ask(
    engine: Engine,
    nodes: pl.DataFrame,
    edges: pl.DataFrame,
    label: str | None = "label",
    **arguments: Any,
) -> list[Row]:
    columns = () if label is None else (label,)
    return engine.call("threshold_report", nodes, "id", edges, *ENDS, *columns, **arguments)


@pytest.mark.parametrize("seed", range(3))
def test_every_threshold_as_networkx_finds_it(engine: Engine, seed: int) -> None:
    for i in range(12):
        nodes, edges = random_graph(100 * seed + i)
        given_thresholds = None if i % 2 else [0.0, 0.3, 3 / 7, 1.5, 0.3]
        wanted = expected_rows(nodes, edges, given_thresholds)
        found = ask(engine, nodes, edges, thresholds=given_thresholds)
        assert_points(found, wanted, tolerance=1e-12, floor=1e-13, what=(seed, i))


def test_partitions_have_their_own_graphs(engine: Engine) -> None:
    nodes, edges = random_graph(7, n_days=3)
    found = ask(engine, nodes, edges, thresholds=[0.2, 0.6], partition_by="day")
    wanted = []
    for day in (1, 2, None):
        own = [frame.filter(pl.col("day").eq_missing(day)) for frame in (nodes, edges)]
        wanted += [{"day": day, **row} for row in expected_rows(*own, [0.2, 0.6])]
    assert_points(found, wanted, tolerance=1e-12, floor=1e-13)


def test_components_are_named_by_their_least_id(engine: Engine) -> None:
    for seed in range(12):
        nodes, edges = random_graph(seed)
        for threshold in (None, 0.5):
            parts = components_at(
                nodes, weights_of(nodes, edges), -9 if threshold is None else threshold
            )
            wanted = sorted((i, min(part)) for part in parts for i in part)
            found = engine.call(
                "connected_components", nodes, "id", edges, *ENDS, threshold=threshold
            )
            assert [(row["id"], row["cluster"]) for row in found] == wanted


def test_a_component_at_a_threshold_is_that_of_the_report(engine: Engine) -> None:
    nodes, edges = random_graph(3, n=200)
    for threshold in (0.2, 0.7):
        parts = engine.call("connected_components", nodes, "id", edges, *ENDS, threshold=threshold)
        [row] = ask(engine, nodes, edges, None, thresholds=[threshold])
        sizes = pl.DataFrame(parts)["cluster"].value_counts()["count"]
        assert (row["n_clusters"], row["largest_cluster_size"]) == (sizes.len(), sizes.max())
        assert row["pair_precision"] is None


@pytest.mark.gate
def test_at_20_000_ids_both_sides_agree() -> None:
    nodes, edges = random_graph(5, n=20_000)
    thresholds = [0.15, 0.45, 0.8]
    found = ask(make("polars"), nodes, edges, thresholds=thresholds)
    assert_points(
        ask(make("duckdb"), nodes, edges, thresholds=thresholds),
        found,
        tolerance=1e-12,
        floor=1e-13,
    )
    parts = ce.connected_components(nodes, "id", edges, *ENDS, threshold=0.45)
    report = ce.external_report(parts.join(nodes, on="id"), "label", "cluster").row(0, named=True)
    for name in SCORES:
        assert found[1][name] == pytest.approx(report[name], rel=1e-12)
    rows = make("duckdb").call("connected_components", nodes, "id", edges, *ENDS, threshold=0.45)
    assert pl.DataFrame(rows).equals(parts)
    options = {"thresholds": thresholds, "labels_are_sample": "records"}
    sides = [ask(make(name), nodes, edges, **options) for name in ("polars", "duckdb")]
    assert_points(*sides, tolerance=1e-12, floor=1e-13)
    assert sides[0][1]["bcubed_precision"] != pytest.approx(found[1]["bcubed_precision"])
    pairs = labeled_pairs(0, edges, 20_000)
    options = {"thresholds": thresholds, "pairs": pairs, **PAIR_COLUMNS}
    sides = [ask(make(name), nodes, edges, None, **options) for name in ("polars", "duckdb")]
    assert_points(*sides, tolerance=1e-12, floor=1e-13)


DESIGNS = ("uniform", "by_record", "records")


def sampled_graph(seed: int, design: str, n: int = 60) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A graph most of whose edges join ids of an entity, and labels of a sample of these."""
    r = np.random.default_rng(seed)
    entities = r.integers(0, n // 3 + 1, n)
    if design == "records":
        known = r.random(n) < 0.6
    else:
        drawn = r.random(n // 3 + 1) if design == "uniform" else r.random(n)[entities]
        known = np.isin(entities, np.flatnonzero(drawn < 0.5))
    nodes: list[Node] = [
        (i, int(entities[i]) if known[i] else None, None) for i in r.permutation(n).tolist()
    ]
    one = r.integers(0, n, 2 * n)
    same = [int(r.choice(np.flatnonzero(entities == entities[i]))) for i in one]
    two = np.where(r.random(2 * n) < 0.8, same, r.integers(0, n, 2 * n))
    weights = np.where(entities[one] == entities[two], 0.2, 0) + r.integers(0, 9, 2 * n) / 10
    edges = [(int(a), int(b), float(w), None) for a, b, w in zip(one, two, weights, strict=True)]
    return frames_of(nodes, edges)


def estimates_at(
    engine: Engine, nodes: pl.DataFrame, edges: pl.DataFrame, design: str, threshold: float
) -> Row:
    """The estimates for the components at a threshold."""
    parts = engine.call("connected_components", nodes, "id", edges, *ENDS, threshold=threshold)
    rows = pl.DataFrame(parts).join(nodes, on="id")
    found = engine.call(
        "entity_resolution_estimates", rows, "label", "cluster", labels_are_sample=design
    )
    values = {row["metric"]: row["value"] for row in found}
    return {name: values.get(name) for name in SCORES}


@pytest.mark.gate
@pytest.mark.parametrize("design", DESIGNS)
def test_labels_of_a_sample_give_the_estimates_for_each_clustering(
    engine: Engine, design: str
) -> None:
    thresholds = [0.15, 0.5, 0.85, 3.0]
    n_found = 0
    for seed in range(4):
        nodes, edges = sampled_graph(seed, design, 90 if seed else 2)
        options = {"thresholds": thresholds, "labels_are_sample": design}
        found = ask(engine, nodes, edges, **options)
        plain = ask(engine, nodes, edges, thresholds=thresholds)
        wanted = [
            row | estimates_at(engine, nodes, edges, design, row["threshold"]) for row in plain
        ]
        assert_points(found, wanted, tolerance=1e-12, floor=1e-13, what=(design, seed))
        values = [row[name] for row in found for name in SCORES]
        n_found += len(values) - values.count(None)
        days = [pl.concat([x.with_columns(day=pl.lit(d)) for d in (2, 1)]) for x in (nodes, edges)]
        rows = ask(engine, *days, partition_by="day", **options)
        wanted = [{"day": day, **row} for day in (1, 2) for row in found]
        assert_points(rows, wanted, tolerance=1e-12, floor=1e-13, what=(design, seed))
    assert n_found >= 40


def test_a_sample_that_contradicts_its_design_has_no_scores(engine: Engine) -> None:
    """Labels of random records are not those of all records of some entities."""
    nodes, edges = sampled_graph(1, "records", 300)
    [row] = ask(engine, nodes, edges, thresholds=[0.3], labels_are_sample="uniform")
    assert [row[name] for name in SCORES] == [None] * 10
    assert row["n_labeled"] == nodes["label"].count()


def test_labels_of_a_sample_without_rows_or_labels(engine: Engine) -> None:
    nodes, edges = frames_of([(1, None, None), (2, None, None)], [])
    options = {"thresholds": [0.5, 0.2], "labels_are_sample": "uniform"}
    rows = ask(engine, nodes, edges, **options)
    assert [row["threshold"] for row in rows] == [0.2, 0.5]
    for row in rows:
        assert (row["n"], row["n_labeled"], row["n_clusters"]) == (2, 0, 2)
        assert [row[name] for name in SCORES] == [None] * 10
    assert ask(engine, nodes.clear(), edges, **options) == []


PAIR_COLUMNS = {"pair_left": "p", "pair_right": "q", "is_match": "match", "pair_weight": "times"}


def labeled_pairs(seed: int, edges: pl.DataFrame, n: int = 60) -> pl.DataFrame:
    """Labels of edges and of other pairs, some of which come twice, in either order."""
    r = np.random.default_rng(seed)
    others = pl.DataFrame({"one": r.integers(0, n + 2, n), "two": r.integers(0, n, n)})
    pairs = pl.concat([edges.select("one", "two").sample(fraction=0.5, seed=seed), others])
    low, high = pl.min_horizontal("one", "two"), pl.max_horizontal("one", "two")
    pairs = pairs.select(p=low, q=high).unique(maintain_order=True)
    pairs = pairs.with_columns(
        match=pl.Series(r.random(pairs.height) < 0.6),
        times=pl.Series(r.integers(1, 4, pairs.height) / 2),
    )
    twice = pairs.head(9).rename({"p": "q", "q": "p"}).select(pairs.columns)
    unknown = pairs.tail(3).with_columns(match=None)
    return pl.concat([pairs, twice, unknown.cast(pairs.schema)])


def scores_of_pairs(
    engine: Engine, nodes: pl.DataFrame, edges: pl.DataFrame, pairs: pl.DataFrame, at: float
) -> Row:
    """The scores of pair_label_report for the components at a threshold."""
    parts = engine.call("connected_components", nodes, "id", edges, *ENDS, threshold=at)
    columns = ("id", "cluster", pairs, "p", "q", "match")
    [row] = engine.call("pair_label_report", pl.DataFrame(parts), *columns, weight="times")
    return {name: row.get(name) if name in SCORES[:3] else None for name in SCORES}


@pytest.mark.gate
def test_labels_of_pairs_give_the_scores_of_their_report(engine: Engine) -> None:
    thresholds = [0.15, 0.5, 0.85, 3.0]
    days = {1: 2, 2: 3, None: 4}
    of_days: dict[int | None, list[Any]] = {}
    for day, seed in days.items():
        nodes, edges = sampled_graph(seed, "uniform")
        pairs = labeled_pairs(seed, edges)
        options = {"thresholds": thresholds, "pairs": pairs, **PAIR_COLUMNS}
        found = ask(engine, nodes, edges, None, **options)
        wanted = [
            row | scores_of_pairs(engine, nodes, edges, pairs, row["threshold"])
            for row in ask(engine, nodes, edges, None, thresholds=thresholds)
        ]
        assert_points(found, wanted, tolerance=1e-12, floor=1e-13, what=seed)
        assert 0 < found[1]["pair_f_score"] < 1
        frames = (nodes, edges, pairs)
        of_days[day] = [*(x.with_columns(day=pl.lit(day, pl.Int64)) for x in frames), found]
    nodes, edges, pairs = (pl.concat([one[i] for one in of_days.values()]) for i in range(3))
    options = {"thresholds": thresholds, "partition_by": "day", **PAIR_COLUMNS}
    found = ask(engine, nodes, edges, None, pairs=pairs, **options)
    wanted = [{"day": day, **row} for day, parts in of_days.items() for row in parts[3]]
    assert_points(found, wanted, tolerance=1e-12, floor=1e-13)
    # Without the column, the pairs hold for every day.
    same = of_days[1][2].drop("day")
    found = ask(engine, nodes, edges, None, pairs=same, **options)
    wanted = [
        {"day": day, **row}
        for day, (*parts, _) in of_days.items()
        for row in ask(engine, *parts[:2], None, thresholds=thresholds, pairs=same, **PAIR_COLUMNS)
    ]
    assert_points(found, wanted, tolerance=1e-12, floor=1e-13)


def test_labels_of_pairs_by_hand(engine: Engine) -> None:
    """Three pairs of a chain of four ids: 1-3 is a match that needs both edges, 1-4 is not."""
    nodes, edges = frames_of(
        [(i, None, None) for i in range(1, 6)],
        [(1, 2, 0.9, None), (2, 3, 0.8, None), (3, 4, 0.3, None)],
    )
    pairs = pl.DataFrame({"p": [3, 1, 4, 5], "q": [1, 4, 5, 5], "match": [1, 0, 1, 1]})
    columns = {"pair_left": "p", "pair_right": "q", "is_match": "match"}
    options = {"thresholds": [0.3, 0.8, 0.9], "pairs": pairs, **columns}
    rows = ask(engine, nodes, edges, None, **options)
    found = [tuple(row[name] for name in ("n_labeled", *SCORES[:4])) for row in rows]
    assert found == [(0, 0.5, 0.5, 0.5, None), (0, 1, 0.5, 2 / 3, None), (0, None, 0, 0, None)]
    # Without ids or without pairs, there is no score.
    assert ask(engine, nodes.clear(), edges, None, **options) == []
    rows = ask(engine, nodes, edges, None, **options | {"pairs": pairs.clear()})
    assert [[row[name] for name in SCORES] for row in rows] == [[None] * 10] * 3


def test_a_long_chain(engine: Engine) -> None:
    """The lowest id reaches the end in as many steps as there are edges."""
    n = 300
    nodes, edges = frames_of(
        [(i, 0, None) for i in range(n)], [(i, i + 1, 1 - i / n, None) for i in range(n - 1)]
    )
    parts = engine.call("connected_components", nodes, "id", edges, "one", "two")
    assert {row["cluster"] for row in parts} == {0}
    if engine.name.startswith("polars"):
        rows = ask(engine, nodes, edges)
        assert [row["largest_cluster_size"] for row in rows] == list(range(n, 1, -1))


def test_no_rows_and_no_edges(engine: Engine) -> None:
    nodes, edges = frames_of([(1, None, None), (2, 5, None)], [])
    assert ask(engine, nodes, edges) == []
    [row] = ask(engine, nodes, edges, thresholds=[0.5])
    assert (row["n"], row["n_clusters"], row["n_pairs"], row["pair_precision"]) == (2, 2, 0, None)
    assert (row["n_labeled"], row["exact_match_recall"], row["bcubed_f_score"]) == (1, 1, 1)
    assert ask(engine, nodes.clear(), edges, thresholds=[0.5]) == []
    assert engine.call("connected_components", nodes.clear(), "id", edges, *ENDS) == []
    found = engine.call("connected_components", nodes, "id", edges, *ENDS)
    assert [row["cluster"] for row in found] == [1, 2]


def test_exact_scores_at_the_right_threshold(engine: Engine) -> None:
    """Many entities of one to a dozen records, all found: no rounding error is left."""
    labels = np.random.default_rng(0).integers(0, 700, 3000).tolist()
    nodes: list[Node] = [(i, label, None) for i, label in enumerate(labels)]
    by_label: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        by_label.setdefault(label, []).append(i)
    edges: list[Edge] = [(x[0], y, 0.9, None) for x in by_label.values() for y in x[1:]]
    [row] = ask(engine, *frames_of(nodes, edges), thresholds=[0.9])
    assert [row[name] for name in SCORES] == [1.0] * 9 + [0.0]


@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(seed: int, random: Any) -> None:
    nodes, edges = random_graph(seed)
    shuffled = [frame[random.sample(range(frame.height), frame.height)] for frame in (nodes, edges)]
    turned = shuffled[1].rename({"one": "two", "two": "one"})
    first = ce.threshold_report(nodes, "id", edges, *ENDS, "label")
    assert_points(
        ce.threshold_report(shuffled[0], "id", turned, *ENDS, "label").to_dicts(),
        first.to_dicts(),
        tolerance=1e-13,
        floor=1e-14,
    )


@given(st.integers(0, 10_000))
def test_a_row_depends_on_its_threshold_alone(seed: int) -> None:
    nodes, edges = random_graph(seed)
    every = ce.threshold_report(nodes, "id", edges, *ENDS, "label")
    some = every["threshold"].to_list()[::2]
    if some:
        found = ce.threshold_report(nodes, "id", edges, *ENDS, "label", thresholds=some)
        assert_points(found.to_dicts(), every[::2].to_dicts(), tolerance=1e-13, floor=1e-14)


def test_merges_are_the_same_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    r = np.random.default_rng(0)
    low, high = r.integers(0, 300, (2, 900))
    labels = r.integers(-1, 60, 300)
    whole = merge_components(low, high, labels)
    assert whole[0].height > 200
    for size in (1, 7, 100):
        monkeypatch.setattr("polars_clustereval.external.kernels.merging._EDGES_PER_BLOCK", size)
        merges, cells = merge_components(low, high, labels)
        for name in ("size", "n", "squares"):
            sums = [f[f"{name}_1"] + f[f"{name}_2"] for f in (merges, whole[0])]
            assert sums[0].equals(sums[1])
        assert merges["gained"].equals(whole[0]["gained"])
        by = ("edge", "label_size", "product")
        products = [
            f.with_columns(product=pl.col("x") * pl.col("y")).select(by).sort(by)
            for f in (cells, whole[1])
        ]
        assert products[0].equals(products[1])


NODES, EDGES = frames_of([(1, 0, None), (2, 0, None)], [(1, 2, 0.5, None)])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"threshold": float("nan")}, "threshold: expected a number, got "),
        ({"threshold": float("inf")}, "threshold: expected a number, got "),
    ],
)
def test_a_threshold_is_a_finite_number(
    engine: Engine, arguments: dict[str, Any], words: str
) -> None:
    with fails(engine, words):
        engine.call("connected_components", NODES, "id", EDGES, *ENDS, **arguments)


def test_a_threshold_needs_weights(engine: Engine) -> None:
    words = "weight: expected the column that thresholds are compared with, got NULL"
    with fails(engine, words):
        engine.call("connected_components", NODES, "id", EDGES, "one", "two", threshold=0.5)
    with fails(engine, words):
        engine.call("threshold_report", NODES, "id", EDGES, "one", "two", None)


@pytest.mark.parametrize(
    ("thresholds", "words"),
    [
        ([], "thresholds: expected a list of one or more numbers, got "),
        ([0.5, None], "thresholds: expected numbers, got NULL"),
        ([0.5, float("inf")], "thresholds: expected numbers, got "),
    ],
)
def test_thresholds_are_a_list_of_numbers(
    engine: Engine, thresholds: list[float], words: str
) -> None:
    with fails(engine, words):
        ask(engine, NODES, EDGES, thresholds=thresholds)


@pytest.mark.parametrize(
    ("label", "options", "words"),
    [
        (
            "label",
            {"labels_are_sample": "uniform"},
            "thresholds: expected a list of thresholds with labels_are_sample, got NULL",
        ),
        (
            "label",
            {"labels_are_sample": "at random", "thresholds": [0.5]},
            "labels_are_sample: expected one of 'uniform', 'by_record', 'records', got 'at random'",
        ),
        (
            None,
            {"labels_are_sample": "uniform", "thresholds": [0.5]},
            "label: expected the column with the labels of a sample, got NULL",
        ),
    ],
)
def test_labels_of_a_sample_need_labels_and_thresholds(
    engine: Engine, label: str | None, options: dict[str, Any], words: str
) -> None:
    with fails(engine, words):
        ask(engine, NODES, EDGES, label, **options)


PAIRS = pl.DataFrame({"p": [1], "q": [2], "match": [True]})
OF_PAIRS = {"pairs": PAIRS, "pair_left": "p", "pair_right": "q", "is_match": "match"}
TEXTS = PAIRS.with_columns(pl.col("q").cast(pl.String))
TWICE = pl.concat([PAIRS, PAIRS.with_columns(match=False)])


@pytest.mark.parametrize(
    ("label", "options", "words"),
    [
        (None, {}, "thresholds: expected a list of thresholds with pairs, got NULL"),
        ("label", {"thresholds": [0.5]}, "pairs: expected labels of pairs or of ids, got both"),
        (
            None,
            {"thresholds": [0.5], "labels_are_sample": "uniform"},
            "pairs: expected labels of pairs or of ids, got both",
        ),
        *(
            (
                None,
                {"thresholds": [0.5], name: None},
                "pairs: expected pair_left, pair_right and is_match with pairs, got NULL",
            )
            for name in ("pair_left", "pair_right", "is_match")
        ),
        (
            None,
            {"thresholds": [0.5], "pairs": TEXTS},
            "pair_right: expected the type of id (",
        ),
        (
            None,
            {"thresholds": [0.5], "pairs": PAIRS.with_columns(p=9)},
            "pairs: expected pairs between ids with a cluster, such as 1, got 1 pairs, each with ",
        ),
        (
            None,
            {"thresholds": [0.5], "pairs": PAIRS.with_columns(match=pl.lit(2))},
            "is_match: expected booleans, or the numbers 0 and 1, got ",
        ),
        (
            None,
            {"thresholds": [0.5], "pairs": TWICE},
            "is_match: expected one label per pair, got different ones for the ids 1 and 2; leave",
        ),
        (
            None,
            {"thresholds": [0.5], "pairs": PAIRS.with_columns(w=0), "pair_weight": "w"},
            "weight: expected numbers > 0 (from 1e-100 to 1e100), got 0",
        ),
    ],
)  # fmt: skip
def test_errors_of_labels_of_pairs(
    engine: Engine, label: str | None, options: dict[str, Any], words: str
) -> None:
    with fails(engine, words):
        ask(engine, NODES, EDGES, label, **OF_PAIRS | options)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt64, pl.String, pl.Struct({"x": pl.Int64})])
def test_types_of_ids_in_pairs(engine: Engine, dtype: Any) -> None:
    """The ids of both tables have one type, or are whole numbers."""
    nodes, edges = frames_of([(i, None, None) for i in (1, 2, 3)], [(1, 2, 0.5, None)])
    pairs = pl.DataFrame({"p": [1, 1], "q": [2, 3], "match": [True, True]})

    def change(name: str) -> pl.Expr:
        is_struct = isinstance(dtype, pl.Struct)
        return pl.struct(x=name).alias(name) if is_struct else pl.col(name).cast(dtype)

    pairs = pairs.with_columns(change("p"), change("q"))
    if not pairs.schema["p"].is_integer():
        nodes, edges = nodes.with_columns(change("id")), edges.with_columns(map(change, ENDS[:2]))
    options = {**OF_PAIRS, "pairs": pairs, "thresholds": [0.5]}
    [row] = ask(engine, nodes, edges, None, **options)
    assert (row["pair_precision"], row["pair_recall"]) == (1, 0.5)


def test_an_id_of_a_pair_may_be_too_large_for_the_type_of_ids(engine: Engine) -> None:
    pairs = pl.concat([PAIRS, pl.DataFrame({"p": [1], "q": [300], "match": [True]})])
    nodes = NODES.with_columns(pl.col("id").cast(pl.Int8))
    edges = EDGES.with_columns(pl.col("one", "two").cast(pl.Int8))
    [row] = ask(engine, nodes, edges, None, **OF_PAIRS | {"pairs": pairs}, thresholds=[0.5])
    assert (row["pair_precision"], row["pair_recall"]) == (1, 1)


def test_other_columns_of_pairs_change_nothing(engine: Engine) -> None:
    """A column named threshold is no partition of the pairs."""
    others = PAIRS.with_columns(threshold=pl.int_range(len(PAIRS)) / 2, weight=2, n=3)
    options = {**OF_PAIRS, "thresholds": [0.2, 0.5, 0.9]}
    found = ask(engine, NODES, EDGES, None, **options | {"pairs": others})
    assert found == ask(engine, NODES, EDGES, None, **options)


def test_a_weight_of_pairs_without_pairs() -> None:
    words = "pairs: expected pair_left, pair_right and is_match with pairs, got NULL"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.threshold_report(NODES, "id", EDGES, *ENDS, thresholds=[0.5], pair_weight="w")


def test_a_column_of_pairs_that_is_not_found() -> None:
    for name in ("pair_left", "pair_right", "is_match", "pair_weight"):
        options = {**OF_PAIRS, "thresholds": [0.5], name: "zzz"}
        with pytest.raises(ce.ClusterEvalError, match=f"{name}: column 'zzz' not found"):
            ce.threshold_report(NODES, "id", EDGES, *ENDS, **options)
    with pytest.raises(ce.ClusterEvalError, match="pairs: expected a Polars DataFrame or LazyFr"):
        ce.threshold_report(NODES, "id", EDGES, *ENDS, **OF_PAIRS | {"pairs": 3}, thresholds=[1])


def test_columns_of_pairs_need_pairs() -> None:
    words = "pairs: expected pair_left, pair_right and is_match with pairs, got NULL"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.threshold_report(NODES, "id", EDGES, *ENDS, thresholds=[0.5], is_match="w")


@pytest.mark.parametrize("table", ["connected_components", "threshold_report"])
def test_errors_of_rows(engine: Engine, table: str) -> None:
    def call(nodes: pl.DataFrame, edges: pl.DataFrame) -> list[Row]:
        return engine.call(table, nodes, "id", edges, *ENDS)

    twice = pl.concat([NODES, NODES.head(1)])
    with fails(engine, "id: expected one row per id, got several rows of id 1; if ids repeat"):
        call(twice, EDGES)
    with fails(engine, "id: expected a value in every row, got NULL in 1 rows"):
        call(NODES.with_columns(id=pl.Series([1, None])), EDGES)
    for weight in (None, float("nan"), float("inf")):
        with fails(engine, "weight: expected finite numbers, got "):
            call(NODES, EDGES.with_columns(w=pl.lit(weight, pl.Float64)))
    # DuckDB names the type, or the value if it reads the edges first.
    with fails(engine, "weight: expected finite numbers, got "):
        call(NODES, EDGES.with_columns(w=pl.lit("high")))
    words = "edges: expected edges between ids of the table, such as 1, got 1 edges, each with "
    with fails(engine, f"{words}another end, such as 7"):
        call(NODES, EDGES.with_columns(one=pl.lit(7)))


def test_a_negative_weight_is_compared(engine: Engine) -> None:
    """Match weights of splink are logarithms."""
    edges = EDGES.with_columns(w=pl.lit(-2.5))
    for threshold, n in ((-2.5, 1), (-2.4, 2)):
        found = engine.call("connected_components", NODES, "id", edges, *ENDS, threshold=threshold)
        assert len({row["cluster"] for row in found}) == n
    [row] = ask(engine, NODES, edges)
    assert (row["n_clusters"], row["expected_precision"]) == (1, None)
