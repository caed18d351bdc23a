"""Scores from labels of pairs in every engine: other libraries, simulations, and errors."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import brentq
from scipy.stats import binomtest, norm
from sklearn.metrics import precision_recall_fscore_support

import polars_clustereval as ce
from tests.support.engines import DuckDB, Engine, Row, fails, make
from tests.support.point_engines import assert_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROW = {"id": pl.Int64, "cluster": pl.Int64}
PAIR = {"left": pl.Int64, "right": pl.Int64, "is_match": pl.Boolean}
COLUMNS = ("left", "right", "is_match")
SCORES = ("pair_precision", "pair_recall", "pair_f_score")


def rows_of(clusters: list[int | None]) -> pl.DataFrame:
    return pl.DataFrame(list(enumerate(clusters)), schema=ROW, orient="row")


def pairs_of(pairs: list[tuple[int | None, int | None, bool | None]]) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema=PAIR, orient="row")


def ask(engine: Engine, rows: pl.DataFrame, pairs: pl.DataFrame, **options: Any) -> list[Row]:
    return engine.call("pair_label_report", rows, "id", "cluster", pairs, *COLUMNS, **options)


def assert_rows(actual: list[Row], expected: list[Row], what: object = "") -> None:
    assert_points(actual, expected, tolerance=1e-10, floor=1e-12, what=what)


# ----------------------------------------------------------------------------------------------
# Degenerate rows
# ----------------------------------------------------------------------------------------------

NOTHING: Row = {
    **dict.fromkeys(("n", "n_dropped", "n_noise", "n_pairs", "n_dropped_pairs"), 0),
    **dict.fromkeys(("n_self_pairs", "n_duplicate_pairs"), 0),
    **dict.fromkeys(("tp", "fp", "fn", "tn"), 0.0),
    **{f"{name}{end}": None for name in SCORES for end in ("", "_lower", "_upper")},
}
# Wilson's interval of 1 of 1: 1 / (1 + z^2) to 1.
Z2 = norm.ppf(0.975) ** 2
OF_ONE = 1 / (1 + Z2)


def right(name: str) -> Row:
    low = 2 * OF_ONE / (1 + OF_ONE) if name == "pair_f_score" else OF_ONE
    return {name: 1.0, f"{name}_lower": low, f"{name}_upper": 1.0}


def wrong(name: str) -> Row:
    high = 1 - OF_ONE
    high = 2 * high / (1 + high) if name == "pair_f_score" else high
    return {name: 0.0, f"{name}_lower": 0.0, f"{name}_upper": high}


DEGENERATE: dict[str, tuple[list[int | None], list[tuple[Any, ...]], Row]] = {
    "no rows": ([], [], {}),
    "no ids": ([], [(0, 1, True)], {"n_dropped_pairs": 1}),
    "no cluster": ([None], [(0, 1, True)], {"n_dropped": 1, "n_dropped_pairs": 1}),
    "no pairs": ([0, 0], [], {"n": 2}),
    "no labels": ([0, 0], [(0, 1, None)], {"n": 2, "n_dropped_pairs": 1}),
    "no ends": ([0, 0], [(None, 1, True), (0, None, False)], {"n": 2, "n_dropped_pairs": 2}),
    "an id and itself": ([0], [(0, 0, True), (0, 0, False)], {"n": 1, "n_self_pairs": 2}),
    "an id and itself, unlabeled": ([0], [(0, 0, None)], {"n": 1, "n_dropped_pairs": 1}),
    "one true positive": (
        [0, 0],
        [(0, 1, True)],
        {"n": 2, "n_pairs": 1, "tp": 1.0} | right("pair_precision") | right("pair_recall")
        | right("pair_f_score"),
    ),
    "one false positive": (
        [0, 0],
        [(0, 1, False)],
        {"n": 2, "n_pairs": 1, "fp": 1.0} | wrong("pair_precision") | wrong("pair_f_score"),
    ),
    "one false negative": (
        [0, 1],
        [(0, 1, True)],
        {"n": 2, "n_pairs": 1, "fn": 1.0} | wrong("pair_recall") | wrong("pair_f_score"),
    ),
    "one true negative": ([0, 1], [(0, 1, False)], {"n": 2, "n_pairs": 1, "tn": 1.0}),
    "a pair three times": (
        [0, 1, None],
        [(0, 1, False), (1, 0, False), (0, 1, None), (1, 0, False), (2, 1, True)],
        {"n": 2, "n_dropped": 1, "n_pairs": 1, "tn": 1.0}
        | {"n_duplicate_pairs": 2, "n_dropped_pairs": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.gate
def test_degenerate_rows(engine: Engine, name: str) -> None:
    clusters, pairs, expected = DEGENERATE[name]
    assert_rows(ask(engine, rows_of(clusters), pairs_of(pairs)), [NOTHING | expected])


@pytest.mark.gate
def test_no_partition_has_no_row(engine: Engine) -> None:
    run = pl.lit(1).alias("run")
    rows, pairs = rows_of([]).with_columns(run), pairs_of([(0, 1, True)])
    for others in (pairs, pairs.with_columns(run)):
        assert ask(engine, rows, others, partition_by="run") == []


# ----------------------------------------------------------------------------------------------
# Other libraries
# ----------------------------------------------------------------------------------------------


@cache
def random_labels(seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Up to 30 ids, and labeled pairs with weights, of which some repeat, and some have no label.

    Labels and weights depend on the two ids, not on their order.
    """
    r = np.random.default_rng(seed)
    n, m = int(r.integers(4, 30)), int(r.integers(1, 120))
    clusters = [None if x == 0 else int(x) for x in r.integers(0, 6, n)]
    ends = r.integers(0, n + 2, (m, 2))
    labels, weights = r.random((n + 2, n + 2)) < r.random(), 1 / r.uniform(0.01, 1, (n + 2, n + 2))
    rows = [
        (a, b, None if r.random() < 0.1 else bool(labels[min(a, b), max(a, b)]),
         weights[min(a, b), max(a, b)])
        for a, b in ends.tolist()
    ]  # fmt: skip
    pairs = pl.DataFrame([(0, 1, None, 1.0), *rows], schema=PAIR | {"w": pl.Float64}, orient="row")
    ids = pl.DataFrame({"id": [*range(n)], "cluster": pl.Series(clusters, dtype=pl.Int64)})
    is_known = not ids.filter(pl.col("id") < 2)["cluster"].has_nulls()
    ids = ids if is_known else ids.with_columns(pl.col("cluster").fill_null(1))
    return ids[r.permutation(n)], pairs[r.permutation(m + 1)]


def wilson(p: float, n: float, side: int) -> float:
    """The share whose score test does not reject p of n, on one side of p, as a root."""
    if p in (0.0, 1.0) and p == side:
        return p
    ends = (0.0, min(p, 1 - 1e-12)) if side == 0 else (max(p, 1e-12), 1.0)
    return float(
        brentq(lambda x: n * (p - x) ** 2 - Z2 * x * (1 - x), *ends, xtol=1e-15, rtol=1e-15)
    )


def limits(good: NDArray[Any], weights: NDArray[Any], largest: float) -> tuple[float, float]:
    """The interval of a ratio by its definition: residuals of pairs, and one pair that is added.

    The added pair is of the wrong kind for the limit. Its weight is the excess of the largest
    weight over the mean, in which a pair counts as often as its weight; it is a part of a pair of
    the largest weight.
    """
    part = max(largest - (weights**2).sum() / weights.sum(), 0) / largest
    found = []
    for side in (0, 1):
        y, w, times = np.append(good, side), np.append(weights, largest), np.ones(good.size + 1)
        times[-1] = part if part > 1e-9 else 0
        total = (times * w).sum()
        p = float((times * w * y).sum() / total)
        variance = (times * (w * (y - p) / total) ** 2).sum()
        # If all pairs are alike, the sample is worth as many equal ones.
        is_mixed = 0 < p < 1
        size = p * (1 - p) / variance if is_mixed else total**2 / (times * w * w).sum()
        found.append(wilson(p, size, side))
    return found[0], found[1]


def expected_report(ids: pl.DataFrame, pairs: pl.DataFrame, *, is_weighted: bool) -> Row:
    """The report, from loops over the pairs, scikit-learn and statsmodels."""
    cluster_of = {i: c for i, c in ids.rows() if c is not None}
    kept: dict[frozenset[int], tuple[bool, float]] = {}
    counts = dict.fromkeys(("n_dropped_pairs", "n_self_pairs", "n_duplicate_pairs"), 0)
    for a, b, label, weight in pairs.rows():
        pair = frozenset((a, b))
        if label is None or a not in cluster_of or b not in cluster_of:
            counts["n_dropped_pairs"] += 1
        elif a == b:
            counts["n_self_pairs"] += 1
        else:
            counts["n_duplicate_pairs"] += pair in kept
            kept[pair] = label, weight if is_weighted else 1.0
    row: Row = {"n": len(cluster_of), "n_dropped": ids.height - len(cluster_of), "n_noise": 0}
    row |= {"n_pairs": len(kept), **counts}
    truth = np.array([label for label, _ in kept.values()], dtype=bool)
    weights = np.array([weight for _, weight in kept.values()])
    found = np.array([len({cluster_of[i] for i in pair}) == 1 for pair in kept], dtype=bool)
    for name, chosen in (("tp", truth & found), ("fp", ~truth & found), ("fn", truth & ~found)):
        row[name] = float(weights[chosen].sum())
    row["tn"] = float(weights[~truth & ~found].sum())
    values = (None, None, None)
    if kept:
        values = precision_recall_fscore_support(
            truth, found, average="binary", sample_weight=weights, zero_division=np.nan
        )[:3]
    domains = (found, truth, found | truth)
    for name, value, domain in zip(SCORES, values, domains, strict=True):
        row |= {name: None, f"{name}_lower": None, f"{name}_upper": None}
        if domain.any():
            lower, upper = limits((truth & found)[domain] * 1.0, weights[domain], weights.max())
            if name == "pair_f_score":
                lower, upper = (2 * x / (1 + x) for x in (lower, upper))
            row |= {name: value, f"{name}_lower": lower, f"{name}_upper": upper}
    return row


N_SETS = 60


@cache
def random_sets() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The random labels, one set in each run."""
    sets = [
        [frame.with_columns(run=pl.lit(seed)) for frame in random_labels(seed)]
        for seed in range(N_SETS)
    ]
    ids, pairs = (pl.concat(frames) for frames in zip(*sets, strict=True))
    return ids, pairs


@cache
def expected_rows(*, is_weighted: bool) -> list[Row]:
    return [
        {"run": seed} | expected_report(*random_labels(seed), is_weighted=is_weighted)
        for seed in range(N_SETS)
    ]


@pytest.mark.gate
@pytest.mark.parametrize("weight", [None, "w"])
def test_definitions(engine: Engine, weight: str | None) -> None:
    found = ask(engine, *random_sets(), partition_by="run", weight=weight)
    assert_rows(found, expected_rows(is_weighted=weight is not None))
    assert len({row["pair_f_score"] for row in found}) > N_SETS / 2


def test_wilson_limits(engine: Engine) -> None:
    """As in scipy, for other confidences, too."""
    counts = {"tp": 31, "fp": 4, "fn": 9}
    pairs = [(2 * i, 2 * i + 1) for i in range(sum(counts.values()))]
    labels = [True] * 31 + [False] * 4 + [True] * 9
    clusters: list[int | None] = [i // 2 if i < 70 else i for i in range(88)]
    table = pairs_of([(*pair, label) for pair, label in zip(pairs, labels, strict=True)])
    for confidence in (0.5, 0.95, 0.999):
        [row] = ask(engine, rows_of(clusters), table, confidence=confidence)
        assert {name: row[name] for name in counts} == counts
        for name, n in (("pair_precision", 35), ("pair_recall", 40)):
            interval = binomtest(31, n).proportion_ci(confidence, method="wilson")
            assert row[f"{name}_lower"] == pytest.approx(interval.low, rel=1e-12)
            assert row[f"{name}_upper"] == pytest.approx(interval.high, rel=1e-12)
        interval = binomtest(31, 44).proportion_ci(confidence, method="wilson")
        assert row["pair_f_score_lower"] == pytest.approx(2 * interval.low / (1 + interval.low))
        assert row["pair_f_score_upper"] == pytest.approx(2 * interval.high / (1 + interval.high))


# ----------------------------------------------------------------------------------------------
# Coverage
# ----------------------------------------------------------------------------------------------


def covered_shares(design: str, n_drawn: int, repetitions: int) -> dict[str, float]:
    """How often the intervals cover the scores of all 4,000 pairs, of which some are labeled.

    The pairs have two ids each, so that the clusters are free. A pair of a high score is likely a
    match. With 'uniform', every pair has the same probability; with 'score', those of high scores
    are drawn up to 30 times as often; with 'strata', twenty times as often.
    """
    r = np.random.default_rng(11)
    n = 4000
    score = r.normal(-0.5, 1.5, n)
    is_match = r.random(n) < 1 / (1 + np.exp(-3 * score))
    is_linked = score + r.normal(0, 0.5, n) > 0.3
    likely = {
        "uniform": np.ones(n),
        "score": 0.03 + 0.97 / (1 + np.exp(-2 * score)),
        "strata": np.where(score > 0.3, 20.0, 1.0),
    }[design]
    drawn_with = np.minimum(1, likely * n_drawn / likely.sum())
    number = np.arange(n)
    ids = pl.DataFrame({"id": np.arange(2 * n), "cluster": np.arange(2 * n)})
    second = pl.Series(np.repeat(is_linked, 2)) & (pl.Series(ids["id"]) % 2 == 1)
    ids = ids.with_columns(cluster=pl.when(second).then(pl.col("id") - 1).otherwise("cluster"))
    pairs = pl.DataFrame(
        {"left": 2 * number, "right": 2 * number + 1, "is_match": is_match, "w": 1 / drawn_with}
    )
    columns = (ids, "id", "cluster")
    truth = ce.pair_label_report(*columns, pairs, *COLUMNS).row(0, named=True)
    draws = pl.concat(
        pairs.filter(pl.Series(r.random(n) < drawn_with)).with_columns(draw=pl.lit(i))
        for i in range(repetitions)
    )
    runs = pl.concat(ids.with_columns(draw=pl.lit(i)) for i in range(repetitions))
    weight = None if design == "uniform" else "w"
    found = ce.pair_label_report(
        runs, "id", "cluster", draws, *COLUMNS, weight=weight, partition_by="draw"
    )
    return {
        name: found.select(
            pl.lit(truth[name]).is_between(f"{name}_lower", f"{name}_upper").mean()
        ).item()
        for name in SCORES
    }


@pytest.mark.gate
@pytest.mark.parametrize(
    ("design", "least", "most"), [("uniform", 0.92, 0.98), ("score", 0.94, 1), ("strata", 0.94, 1)]
)
def test_intervals_cover_the_scores_of_all_pairs(design: str, least: float, most: float) -> None:
    shares = covered_shares(design, 200, 300)
    assert all(least <= share <= most for share in shares.values()), shares


# ----------------------------------------------------------------------------------------------
# Partitions
# ----------------------------------------------------------------------------------------------

TWO_RUNS = pl.concat(
    [
        rows_of([0, 0, 1, 1]).with_columns(run=pl.lit("a"), day=pl.lit(1)),
        rows_of([0, 1, 1, None]).with_columns(run=pl.lit("b"), day=pl.lit(1)),
        rows_of([0, 1, 1, 1]).with_columns(run=pl.lit(None, pl.String), day=pl.lit(2)),
    ]
)
LABELS = pairs_of([(0, 1, True), (1, 2, False), (2, 3, True)])


def counts(found: list[Row]) -> list[tuple[float, ...]]:
    return [tuple(row[name] for name in ("tp", "fp", "fn", "tn")) for row in found]


@pytest.mark.gate
def test_pairs_without_the_column_hold_for_every_partition(engine: Engine) -> None:
    found = ask(engine, TWO_RUNS, LABELS, partition_by="run")
    assert [row["run"] for row in found] == ["a", "b", None]
    assert counts(found) == [(2, 0, 0, 1), (0, 1, 1, 0), (1, 1, 1, 0)]
    assert [row["n_dropped_pairs"] for row in found] == [0, 1, 0]
    alone = [ask(engine, TWO_RUNS.filter(pl.col("run").eq_missing(x)), LABELS)
             for x in ("a", "b", None)]  # fmt: skip
    assert found == [{"run": x} | row for x, [row] in zip(("a", "b", None), alone, strict=True)]


@pytest.mark.gate
def test_pairs_with_the_column_hold_for_their_partition(engine: Engine) -> None:
    labels = LABELS.with_columns(run=pl.Series([None, "b", "c"], dtype=pl.String))
    found = ask(engine, TWO_RUNS, labels, partition_by="run")
    assert [row["run"] for row in found] == ["a", "b", None]
    assert counts(found) == [(0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)]


@pytest.mark.gate
def test_pairs_with_one_of_two_columns(engine: Engine) -> None:
    labels = LABELS.with_columns(day=pl.Series([1, 2, 1], dtype=pl.Int32))
    by = ["run", "day"]
    later = TWO_RUNS.filter(run="a").with_columns(day=pl.lit(2), cluster=pl.lit(0, pl.Int64))
    found = ask(engine, pl.concat([TWO_RUNS, later]), labels, partition_by=by)
    assert [(row["run"], row["day"]) for row in found] == [("a", 1), ("a", 2), ("b", 1), (None, 2)]
    assert counts(found) == [(2, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0)]
    assert [row["n_duplicate_pairs"] for row in found] == [0] * 4


def test_types_of_partitions(engine: Engine) -> None:
    labels = LABELS.with_columns(run=pl.lit(1, pl.Int64))
    names = ("VARCHAR", "BIGINT") if isinstance(engine, DuckDB) else ("String", "Int64")
    words = (
        f"partition_by: expected the same type in both tables, got {names[0]} with the clusters "
        f"and {names[1]} with the pairs; cast one of them"
    )
    with fails(engine, words):
        ask(engine, TWO_RUNS, labels, partition_by="run")


# ----------------------------------------------------------------------------------------------
# What must not matter, and what must
# ----------------------------------------------------------------------------------------------

TYPES: dict[str, pl.DataType] = {
    "integers": pl.Int8(),
    "unsigned": pl.UInt64(),
    "floats": pl.Float32(),
    "decimals": pl.Decimal(5, 2),
}


@pytest.mark.gate
@pytest.mark.parametrize("dtype", TYPES)
def test_labels_are_booleans_or_0_and_1(engine: Engine, dtype: str) -> None:
    ids, pairs = random_sets()
    numbers = pairs.with_columns(pl.col("is_match").cast(pl.Int8).cast(TYPES[dtype]))
    found = ask(engine, ids, numbers, partition_by="run", weight="w")
    assert_rows(found, expected_rows(is_weighted=True))


@pytest.mark.gate
def test_order_of_rows_and_ends_does_not_matter(engine: Engine) -> None:
    ids, pairs = (frame.reverse() for frame in random_sets())
    swapped = pairs.select("is_match", "w", "run", left="right", right="left")
    found = ask(engine, ids, swapped, partition_by="run", weight="w")
    assert_rows(found, expected_rows(is_weighted=True))


@pytest.mark.gate
def test_columns_of_the_clusters_hide_nothing(engine: Engine) -> None:
    """In SQL, a row of each partition is the scope in which the pairs are read."""
    ids, pairs = random_sets()
    names = ("table_1", "assignments", "labels", *COLUMNS, "w", "part", "pair")
    others = ids.with_columns(pl.lit(None, pl.Int64).alias(name) for name in names)
    found = ask(engine, others, pairs, partition_by="run", weight="w")
    assert_rows(found, expected_rows(is_weighted=True))


@pytest.mark.gate
def test_the_scale_of_weights_does_not_matter(engine: Engine) -> None:
    ids, pairs = random_sets()
    for scale in (1e-90, 0.1, 1e90):
        scaled = pairs.with_columns(w=scale * pl.col("w"))
        found = ask(engine, ids, scaled, partition_by="run", weight="w")
        for row in found:
            row |= {name: row[name] / scale for name in ("tp", "fp", "fn", "tn")}
        assert_rows(found, expected_rows(is_weighted=True), scale)


@pytest.mark.gate
@pytest.mark.parametrize("weight", [0.1, 1 / 3, 7.0])
def test_equal_weights_are_no_weights(engine: Engine, weight: float) -> None:
    ids, pairs = random_sets()
    equal = pairs.with_columns(w=pl.lit(weight))
    found = ask(engine, ids, equal, partition_by="run", weight="w")
    for row in found:
        row |= {name: row[name] / weight for name in ("tp", "fp", "fn", "tn")}
    assert_rows(found, expected_rows(is_weighted=False))


@pytest.mark.gate
@pytest.mark.parametrize("noise_as", ["cluster", "drop", "singletons"])
def test_noise(engine: Engine, noise_as: str) -> None:
    """The cluster 1 is noise."""
    ids, pairs = random_sets()
    is_noise, cluster = pl.col("cluster") == 1, pl.col("cluster")
    others = {"cluster": cluster, "drop": pl.lit(None), "singletons": 1000 + pl.col("id")}
    moved = pl.when(is_noise).then(others[noise_as]).otherwise(cluster).alias("cluster")
    wanted = ask(make("polars"), ids.with_columns(moved), pairs, partition_by="run", weight="w")
    options = {"partition_by": "run", "weight": "w", "noise": 1, "noise_as": noise_as}
    found = ask(engine, ids, pairs, **options)
    for row in wanted:
        part = ids.filter(run=row["run"])
        row["n_noise"] = part.filter(is_noise).height
        row["n_dropped"] = part["cluster"].null_count()
    assert_rows(found, wanted)


@pytest.mark.gate
def test_every_row_of_pairs_is_counted_once(engine: Engine) -> None:
    ids, pairs = random_sets()
    names = ("n_pairs", "n_dropped_pairs", "n_self_pairs", "n_duplicate_pairs")
    for row in ask(engine, ids, pairs, partition_by="run"):
        assert sum(row[name] for name in names) == pairs.filter(run=row["run"]).height


@pytest.mark.gate
def test_many_rows() -> None:
    """The engines agree on 30,000 ids and 200,000 pairs, in three runs that share the pairs."""
    r = np.random.default_rng(3)
    n, m = 30_000, 200_000
    ids = pl.DataFrame({"id": np.arange(n), "cluster": r.integers(0, 3000, n)})
    runs = pl.concat(
        ids.with_columns(run=pl.lit(i), cluster=pl.col("cluster") // (i + 1)) for i in range(3)
    )
    left = r.integers(0, n, m)
    right = np.where(r.random(m) < 0.5, (left // 3) * 3 + r.integers(0, 3, m), r.integers(0, n, m))
    pairs = pl.DataFrame({"left": left, "right": right})
    least = pl.min_horizontal("left", "right")
    pairs = pairs.with_columns(is_match=least % 3 > 0, w=1.0 + least % 7)
    found = [
        ask(make(name), runs, pairs, partition_by="run", weight="w")
        for name in ("duckdb", "polars", "polars-streaming")
    ]
    assert_rows(found[0], found[1])
    assert_rows(found[2], found[1])
    assert all(row["n_pairs"] > 100_000 for row in found[0])


# ----------------------------------------------------------------------------------------------
# Bad input
# ----------------------------------------------------------------------------------------------

GOOD = rows_of([0, 0, 1]), pairs_of([(0, 1, True), (1, 2, False)])


@pytest.mark.gate
@pytest.mark.parametrize("value", [2.0, -1.0, 0.93])
def test_labels_of_other_values(engine: Engine, value: float) -> None:
    pairs = GOOD[1].with_columns(is_match=pl.Series([1.0, value]))
    words = f"is_match: expected booleans, or the numbers 0 and 1, got {value}; compare a score"
    with fails(engine, words):
        ask(engine, GOOD[0], pairs)


@pytest.mark.gate
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), None, 1e101, 1e-101])
def test_weights_of_other_values(engine: Engine, value: float | None) -> None:
    pairs = GOOD[1].with_columns(w=pl.Series([1.0, value], dtype=pl.Float64))
    words = "weight: expected numbers > 0 (from 1e-100 to 1e100), got "
    words += {0.0: "0.0;", -1.0: "-1.0;", None: "NULL;"}.get(value, "")
    with fails(engine, words):
        ask(engine, GOOD[0], pairs, weight="w")
    with fails(engine, "; a weight is 1 / the probability that the pair was drawn"):
        ask(engine, GOOD[0], pairs, weight="w")


@pytest.mark.gate
@pytest.mark.parametrize("column", ["is_match", "w"])
def test_types_of_labels_and_weights(engine: Engine, column: str) -> None:
    pairs = GOOD[1].with_columns(w=pl.lit(1.0)).with_columns(pl.lit("1").alias(column))
    name = "VARCHAR" if isinstance(engine, DuckDB) else "String"
    words = {
        "is_match": f"is_match: expected booleans, or the numbers 0 and 1, got a column of type "
        f"{name}; cast it to booleans",
        "w": f"weight: expected numbers > 0, got a column of type {name}; cast it to numbers",
    }
    with fails(engine, words[column]):
        ask(engine, GOOD[0], pairs, weight="w")


@pytest.mark.gate
def test_rows_of_a_pair_that_differ(engine: Engine) -> None:
    """Labels come before weights, and the lowest ids first; loops and missing labels are no fault.

    In the second case the labels agree.
    """
    rows = [(2, 1, True), (1, 0, True), (0, 1, False), (1, 2, False), (2, 2, True), (2, 2, False)]
    pairs = pairs_of(rows).with_columns(w=pl.Series([1.0, 1.0, 2.0, 1.0, 1.0, 3.0]))
    words = "is_match: expected one label per pair, got different ones for the ids 0 and 1; leave"
    with fails(engine, words):
        ask(engine, GOOD[0], pairs, weight="w")
    later = pl.when(pl.col("left") + pl.col("right") == 1).then(True).otherwise("is_match")
    with fails(
        engine, "is_match: expected one label per pair, got different ones for the ids 1 and"
    ):
        ask(engine, GOOD[0], pairs.with_columns(is_match=later), weight="w")
    words = "weight: expected one weight per pair, got different ones for the ids 0 and 1"
    for label in (True, False):
        same = pairs.with_columns(is_match=pl.lit(label))
        with fails(engine, words):
            ask(engine, GOOD[0], same, weight="w")
    assert ask(engine, GOOD[0], same)[0]["n_duplicate_pairs"] == 2
    missing = pl.when(pl.col("left") < pl.col("right")).then("is_match").alias("is_match")
    assert ask(engine, GOOD[0], pairs.with_columns(missing))[0]["n_pairs"] == 2


@pytest.mark.gate
@pytest.mark.parametrize("twice", [1, None])
def test_ids_twice_and_missing(engine: Engine, twice: int | None) -> None:
    rows = pl.concat([GOOD[0], pl.DataFrame([(twice, 1)], schema=ROW, orient="row")])
    words = "got NULL in 1 rows" if twice is None else "got several rows of id 1; if ids repeat"
    with fails(engine, words):
        ask(engine, rows, GOOD[1])


@pytest.mark.gate
def test_pairs_that_join_no_ids(engine: Engine) -> None:
    words = (
        "pairs: expected pairs between ids with a cluster, such as 0, got 2 pairs, each with "
        "another end, such as 7"
    )
    with fails(engine, words):
        ask(engine, GOOD[0], pairs_of([(0, 7, True), (8, 9, False)]))


@pytest.mark.gate
@pytest.mark.parametrize("end", ["left", "right"])
def test_types_of_ends_and_ids(engine: Engine, end: str) -> None:
    pairs = GOOD[1].with_columns(pl.format("p{}", end).alias(end))
    with fails(engine, f"{end}: expected the type of id (BIGINT), got VARCHAR; cast one of them"):
        ask(engine, GOOD[0], pairs)


@pytest.mark.gate
@pytest.mark.parametrize("confidence", [0, 1, 2, None])
def test_confidence(engine: Engine, confidence: Any) -> None:
    shown = "NULL" if confidence is None else confidence
    with fails(engine, f"confidence: expected a number between 0 and 1, got {shown}"):
        ask(engine, *GOOD, confidence=confidence)


@pytest.mark.gate
def test_the_argument_pairs_is_a_frame() -> None:
    words = "pairs: expected a Polars DataFrame or LazyFrame, got NoneType"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.pair_label_report(GOOD[0], "id", "cluster", None, *COLUMNS)  # type: ignore[type-var]


@pytest.mark.gate
def test_a_column_of_the_other_table() -> None:
    """A column that pairs lacks is not looked up in the table of the clusters."""
    engine = make("duckdb")
    assert isinstance(engine, DuckDB)
    call = "FROM clustereval.pair_label_report(people, id, cluster, labels, id, {}, is_match)"
    for end in ("right", "cluster"):
        with pytest.raises(Exception, match=r'Referenced column "(id|cluster)" not found'):
            engine.ask(call.format(f'"{end}"'), people=GOOD[0], labels=GOOD[1])
