"""bootstrap_intervals and permutation_test: what is drawn, and what becomes of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import binomtest, chisquare, kstest
from sklearn.metrics import adjusted_rand_score, v_measure_score

import polars_clustereval as ce
from polars_clustereval.external.contingency import ROW_COUNTS
from polars_clustereval.relative import resampling
from tests.support.engines import frame_of
from tests.support.oracle import METRICS

if TYPE_CHECKING:
    import duckdb

RNG = np.random.default_rng(4)
LABEL = RNG.choice(4, 10_000, p=[0.4, 0.3, 0.2, 0.1])
CLUSTER = np.where(
    RNG.random(10_000) < 0.6, LABEL * 2 % 3, RNG.choice(3, 10_000, p=[0.5, 0.3, 0.2])
)
ROWS = pl.DataFrame({"label": LABEL, "cluster": CLUSTER})
FEW = frame_of([(0, 0, 1), (0, 1, 1), (0, 1, 2), (1, 1, 2), (1, 0, 1), (2, 2, 1), (2, 2, 2)], "run")
FUNCTIONS = (ce.bootstrap_intervals, ce.permutation_test)


def resampled(function: Any, frame: pl.DataFrame = ROWS, **options: Any) -> pl.DataFrame:
    result = function(frame, "label", "cluster", **options)
    assert isinstance(result, pl.DataFrame)
    return result


# ----------------------------------------------------------------------------------------------
# Intervals from halves
# ----------------------------------------------------------------------------------------------


def by_metric(intervals: pl.DataFrame) -> dict[str, dict[str, Any]]:
    return {row["metric"]: row for row in intervals.iter_rows(named=True)}


def halves_of(cells: pl.DataFrame, n_splits: int, seed: int) -> list[np.ndarray]:
    """The counts of the first and the second half of each split, in turn."""
    rows = cells["n"].to_numpy()
    first = np.random.default_rng(seed).multivariate_hypergeometric(
        rows, rows.sum() // 2, size=n_splits, method="marginals"
    )
    return [half for split in first for half in (split, rows - split)]


def standard_error(scores: Any) -> float:
    """From the scores of the halves, in turn: first-order variance without that of pairs."""
    first, second = np.array(scores).reshape(-1, 2).T
    variance = np.mean((first - second) ** 2) / 4 - np.var((first + second) / 2, ddof=1)
    return math.sqrt(max(variance, 0.0))


@pytest.mark.gate
@pytest.mark.parametrize(
    "noise",
    [{}, pytest.param({"noise": 2, "noise_as": "singletons"}, marks=pytest.mark.gate)],
)
def test_the_delta_method_agrees(noise: dict[str, Any]) -> None:
    """Two independent ways to a standard error; 10,000 splits leave an error of 0.7 %."""
    options = {"adjusted": False, **noise}
    boot = resampled(ce.bootstrap_intervals, n_resamples=10_000, random_state=1, **options)
    delta = resampled(ce.external_intervals, **options)
    ratio = delta["std_error"] / boot["std_error"]
    # The entropies of singletons depend on the number of rows.
    assert ratio.drop_nulls().len() == (32 if noise else 41)
    assert ratio.min() > 0.975, delta["metric"][ratio.arg_min()]  # type: ignore[operator,call-overload]
    assert ratio.max() < 1.025, delta["metric"][ratio.arg_max()]  # type: ignore[operator,call-overload]


def test_summaries_are_those_of_halves_scored_one_by_one() -> None:
    """numpy draws, scikit-learn scores, numpy summarizes."""
    frame = frame_of([(2, 7, 20), (0, 5, 31), (0, 7, 6), (2, 5, 9), (1, 7, 11)], "n")
    cells = frame.sort("label", "cluster")
    labels, clusters = cells["label"].to_numpy(), cells["cluster"].to_numpy()
    boot = by_metric(
        resampled(
            ce.bootstrap_intervals,
            frame,
            weight="n",
            n_resamples=60,
            random_state=11,
            confidence=0.8,
        )
    )
    for function in (adjusted_rand_score, v_measure_score):
        row = boot[function.__name__]
        scores = [
            function(np.repeat(labels, n), np.repeat(clusters, n)) for n in halves_of(cells, 60, 11)
        ]
        assert row["std_error"] == pytest.approx(standard_error(scores), rel=1e-9)
        center, margin = 2 * row["value"] - np.mean(scores), 1.2815515655446004 * row["std_error"]
        limits = (center - margin, center + margin)
        assert (row["lower"], row["upper"]) == pytest.approx(limits, rel=1e-9)
        assert row["n_resamples"] == 60


def test_all_metrics_are_those_of_the_report_of_each_half() -> None:
    """Partitions of many small clusters with equal cells, and noise that counts as singletons."""
    generator = np.random.default_rng(5)
    rows = [
        (label, int(label if generator.random() < 0.7 else generator.integers(-1, 12)), run)
        for run in (0, 1)
        for label in generator.integers(12, size=60 + 21 * run)
    ]
    frame = frame_of(rows, "run").with_columns(pl.col("label").cast(pl.Int64))
    noise: dict[str, Any] = {"noise": -1, "noise_as": "singletons"}
    boot = resampled(ce.bootstrap_intervals, frame, partition_by="run", n_resamples=15, **noise)
    for run in (0, 1):
        part = frame.filter(run=run)
        # The noise of a label is the last one of its cells.
        cells = (
            part.group_by("label", "cluster")
            .len("n")
            .sort("label", pl.col("cluster") == -1, "cluster")
        )
        samples = pl.concat(
            cells.select("label", "cluster", n=pl.Series(n), sample=pl.lit(i))
            for i, n in enumerate(halves_of(cells, 15, 0))
        )
        report = ce.external_report(
            samples, "label", "cluster", weight="n", partition_by="sample", **noise
        )
        n = part.height
        m = [n // 2, n - n // 2]
        growth = {
            "mirkin_metric": [n * (n - 1) / (x * (x - 1)) for x in m],
            "mcnemar_index": [math.sqrt(n * (n - 1) / (x * (x - 1))) for x in m],
            "split_join_distance": [n / x for x in m],
        }
        intervals = 0
        for name, row in by_metric(boot.filter(run=run)).items():
            scores = report[name].to_numpy().reshape(-1, 2) * growth.get(name, [1, 1])
            assert row["n_resamples"] == 15, name
            std_error, bias = standard_error(scores), scores.mean() - row["value"]
            biased = abs(bias) > 0.5 * std_error + 1e-12
            assert (row["std_error"] is None) == (row["reason"] is not None) == biased, name
            if not biased:
                intervals += 1
                assert row["std_error"] == pytest.approx(std_error, rel=1e-9, abs=1e-15)
                upper = row["value"] - bias + 1.959963984540054 * std_error
                assert row["upper"] == pytest.approx(upper, rel=1e-9) or row["upper"] == 1.0
            elif "halves of them" in row["reason"]:
                assert float(row["reason"].split()[-3]) == pytest.approx(scores.mean(), rel=0.01)
        assert 15 <= intervals <= 30


def test_a_split_in_which_a_metric_is_undefined_does_not_count() -> None:
    """Halves that are equal partitions have no Southwood index: one split of three."""
    frame = frame_of([(0, 0), (0, 0), (0, 1), (0, 1)])
    boot = by_metric(resampled(ce.bootstrap_intervals, frame, n_resamples=400))
    assert boot["rand_score"]["n_resamples"] == 400
    assert binomtest(boot["southwood_index"]["n_resamples"], 400, 2 / 3).pvalue > 0.001
    always = by_metric(resampled(ce.bootstrap_intervals, frame[::2]))["southwood_index"]
    assert (always["n_resamples"], always["std_error"]) == (0, None)
    assert always["reason"] == "defined for both halves of the rows in fewer than 2 splits"


def test_singletons_stay_singletons() -> None:
    """Noise alone has as many clusters as rows in every half."""
    frame = frame_of([(0, -1)] * 10 + [(1, -1)] * 8)
    noise: dict[str, Any] = {"noise": -1, "noise_as": "singletons"}
    boot = by_metric(resampled(ce.bootstrap_intervals, frame, n_resamples=50, **noise))
    entropy = boot["cluster_entropy"]
    assert entropy["value"] == pytest.approx(math.log(18))
    assert entropy["reason"] == (
        "depends on the number of rows: halves of them score 2.2 on average"
    )
    assert (boot["pair_recall"]["lower"], boot["pair_recall"]["upper"]) == (0.0, 0.0)
    assert boot["pair_recall"]["reason"] is None


def small_groups(n: int, groups: int, agreeing: float, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.integers(groups, size=n)
    cluster = np.where(rng.random(n) < agreeing, label, rng.integers(groups, size=n))
    return pl.DataFrame({"label": label, "cluster": cluster})


@pytest.mark.gate
def test_intervals_of_many_small_groups_cover_the_truth() -> None:
    """Copies of one row would count as pairs that agree."""
    samples = [small_groups(1000, 150, 0.8, seed) for seed in range(60)]
    frame = pl.concat(each.with_columns(sample=pl.lit(i)) for i, each in enumerate(samples))
    names = ["adjusted_rand_score", "pair_recall", "jaccard_index"]
    boot = resampled(
        ce.bootstrap_intervals, frame, partition_by="sample", n_resamples=100, metrics=names
    )
    assert boot["reason"].null_count() == boot.height
    recall = 0.8**2 + (1 - 0.8**2) / 150
    truth = {"adjusted_rand_score": 0.64, "pair_recall": recall}
    truth["jaccard_index"] = recall / (2 - recall)
    for name in names:
        rows = boot.filter(metric=name)
        covers = rows.select(pl.lit(truth[name]).is_between("lower", "upper").sum()).item()
        assert 53 <= covers <= 60, name
        error = float(rows["value"].std())  # type: ignore[arg-type]
        assert rows["std_error"].mean() == pytest.approx(error, rel=0.2)


def test_entities_of_two_rows() -> None:
    """400 entities, of which 80 are split: pair_recall is a share of independent entities."""
    entity = np.arange(400)
    split = np.where(entity % 5 == 0, entity + 400, entity)
    frame = pl.DataFrame({"label": [*entity, *entity], "cluster": [*entity, *split]})
    boot = by_metric(resampled(ce.bootstrap_intervals, frame, n_resamples=600, adjusted=False))
    recall = boot["pair_recall"]
    assert recall["std_error"] == pytest.approx(math.sqrt(0.8 * 0.2 / 400), rel=0.1)
    assert recall["lower"] < 0.8 < recall["upper"]
    # The number of pairs with the same label hardly varies.
    rao = boot["russell_rao_index"]
    assert rao["reason"] == "the two halves differ too little for a standard error"
    for name in ("exact_match_f_score", "label_entropy"):
        assert boot[name]["reason"].startswith("depends on the number of rows"), name
        assert boot[name]["lower"] is boot[name]["std_error"] is None


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=40),
    st.sampled_from([0.1, 0.5, 0.95]),
    st.sampled_from([{}, {"noise": 0, "noise_as": "singletons"}]),
)
def test_an_interval_contains_its_estimate_or_has_a_reason(
    rows: list[tuple[int, int]], confidence: float, noise: dict[str, Any]
) -> None:
    options = {"n_resamples": 20, "confidence": confidence, **noise}
    for row in by_metric(resampled(ce.bootstrap_intervals, frame_of(rows), **options)).values():
        values = [row[name] for name in ("lower", "value", "upper")]
        if row["reason"] is None:
            tolerance = 1e-9 * max(1.0, abs(row["value"]))
            assert values[0] <= values[1] + tolerance, row
            assert values[1] <= values[2] + tolerance, row
            assert row["std_error"] >= 0, row
        else:
            assert values[0] is values[2] is row["std_error"] is None, row


def test_more_rows_than_numpy_draws_without_replacement() -> None:
    frame = frame_of([(0, 0, 9 * 10**8), (0, 1, 10**8), (1, 1, 10**9)], "n")
    options: dict[str, Any] = {"weight": "n", "metrics": ["purity", "split_join_distance"]}
    boot = by_metric(resampled(ce.bootstrap_intervals, frame, n_resamples=2000, **options))
    delta = by_metric(resampled(ce.external_intervals, frame, **options))
    for name, row in boot.items():
        assert row["std_error"] == pytest.approx(delta[name]["std_error"], rel=0.1), name


def test_values_are_those_of_the_report() -> None:
    summary = ce.external_summary(FEW, "label", "cluster", partition_by="run")
    summary = summary.filter(~pl.col("metric").is_in(ROW_COUNTS))
    boot = resampled(ce.bootstrap_intervals, FEW, partition_by="run", n_resamples=2)
    assert_frame_equal(boot.select("run", "metric", "value"), summary[:, :3], rel_tol=1e-12)


# ----------------------------------------------------------------------------------------------
# Both
# ----------------------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_must_not_matter(function: Any) -> None:
    options: dict[str, Any] = {"n_resamples": 20, "random_state": 3}
    frame = ROWS.head(300).with_columns(run=pl.Series([None, 1, 2] * 100))
    whole = resampled(function, frame, **options)
    shuffled = frame.sample(fraction=1, shuffle=True)
    assert_frame_equal(resampled(function, shuffled, **options), whole)
    # The expected mutual information takes longer than all the rest.
    options |= {"adjusted": False} if function is ce.bootstrap_intervals else {}
    whole = resampled(function, frame, **options)
    for _ in range(10):
        assert resampled(function, frame, **options).equals(whole)
    cells = ce.contingency_matrix(frame, "label", "cluster")
    assert_frame_equal(resampled(function, cells, weight="n", **options), whole)
    lazy = function(frame.lazy(), "label", "cluster", **options)
    assert isinstance(lazy, pl.LazyFrame)
    assert_frame_equal(lazy.collect(), whole)
    dropped = pl.concat([frame, frame.with_columns(cluster=pl.lit(None, pl.Int64))])
    assert_frame_equal(resampled(function, dropped, **options), whole)
    as_text = frame.with_columns(pl.col("label", "cluster").cast(pl.String))
    assert_frame_equal(resampled(function, as_text, **options), whole)
    other = resampled(function, frame, **(options | {"random_state": 4}))
    assert not other.equals(whole)
    runs = resampled(function, frame, partition_by="run", **options)
    assert runs["run"].unique(maintain_order=True).to_list() == [1, 2, None]
    for run in (1, 2, None):
        part = resampled(function, frame.filter(pl.col("run").eq_missing(run)), **options)
        assert_frame_equal(runs.filter(pl.col("run").eq_missing(run)).drop("run"), part)


#: Of few sizes, and of so many that some stand for all of them.
LABELINGS = [
    (LABEL[:500], CLUSTER[:500]),
    (np.arange(8_000) ** 3 // 7 % 90, np.arange(8_000) ** 2 // 5 % 91),
]


@pytest.mark.gate
@pytest.mark.parametrize(
    "labelings", [LABELINGS[0], pytest.param(LABELINGS[1], marks=pytest.mark.gate)]
)
def test_the_same_bits_in_every_call_and_order(labelings: Any) -> None:
    """Sums in another order would differ in the last digit."""
    rows = pl.DataFrame(dict(zip(("label", "cluster"), labelings, strict=True)))
    orders = [rows] * 4 + [rows.sample(fraction=1, shuffle=True, seed=seed) for seed in range(4)]
    first, *others = (resampled(ce.bootstrap_intervals, frame, n_resamples=5) for frame in orders)
    assert all(other.equals(first) for other in others)
    first, *others = (ce.external_report(frame, "label", "cluster") for frame in orders)
    assert all(other.equals(first) for other in others)


def test_nan_is_one_label() -> None:
    frame = pl.DataFrame({"label": [math.nan, math.nan, 1.0, 1.0], "cluster": [0, 0, 1, 1]})
    boot = resampled(ce.bootstrap_intervals, frame, n_resamples=9)
    assert boot.filter(metric="adjusted_rand_score").row(0)[1:3] == (1.0, 0.0)
    assert resampled(ce.permutation_test, frame)["expected"].item() < 0.4


@pytest.mark.parametrize("function", FUNCTIONS)
def test_batches_do_not_change_the_samples(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"n_resamples": 12, "partition_by": "run"}
    options |= {"adjusted": False} if function is ce.bootstrap_intervals else {}
    whole = resampled(function, FEW, **options)
    monkeypatch.setattr(resampling, "_SCORES_PER_BATCH", 1)
    assert_frame_equal(resampled(function, FEW, **options), whole)
    monkeypatch.setattr(resampling, "_CELLS_PER_BATCH", 7)
    small = resampled(function, FEW, **options)
    if function is ce.bootstrap_intervals:
        assert_frame_equal(small, whole)
    # Tables of a smaller block are other draws of the same numbers, for all partitions alike.
    alone = resampled(function, FEW.filter(run=2), **(options | {"partition_by": None}))
    assert_frame_equal(small.filter(run=2).drop("run"), alone)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_rows(function: Any) -> None:
    empty = resampled(function, ROWS.head(0))
    assert empty["metric"].to_list() == (
        list(METRICS) if function is ce.bootstrap_intervals else ["adjusted_rand_score"]
    )
    assert empty["n_resamples"].unique().to_list() == [0]
    for name in {*empty.columns} - {"metric", "n_resamples", "reason"}:
        assert empty[name].null_count() == empty.height, name
    assert resampled(function, FEW.head(0), partition_by="run").height == 0
    filled = resampled(function, FEW, partition_by="run")
    assert resampled(function, FEW.head(0), partition_by="run").schema == filled.schema


def test_a_single_row() -> None:
    boot = resampled(ce.bootstrap_intervals, ROWS.head(1), n_resamples=10)
    for row in boot.iter_rows(named=True):
        assert [row[name] for name in ("std_error", "lower", "upper", "n_resamples")] == [
            *[None] * 3,
            0,
        ]
        undefined = row["value"] is None
        assert row["reason"] == ("the metric is undefined" if undefined else "fewer than 2 rows")
    test = resampled(ce.permutation_test, ROWS.head(1)).row(0, named=True)
    assert (test["value"], test["std"], test["z"], test["p_value"]) == (1.0, 0.0, None, 1.0)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_resamples": 0}, "n_resamples: expected a whole number >= 1, got 0"),
        ({"n_resamples": 1.5}, "n_resamples: expected a whole number >= 1, got 1.5"),
        ({"n_resamples": None}, "n_resamples: expected a whole number >= 1, got NULL"),
        ({"n_resamples": True}, "n_resamples: expected a whole number >= 1, got true"),
        (
            {"random_state": -1},
            "random_state: expected a whole number >= 0 and < 2147483648, got -1",
        ),
        ({"beta": -1}, "beta: expected a number >= 0, got -1"),
        ({"partition_by": "n_resamples"}, "'n_resamples' is also a column of the result"),
        ({"weight": "minus"}, "weight: expected whole numbers >= 0, got -1"),
    ],
)
def test_bad_options(function: Any, options: dict[str, Any], words: str) -> None:
    frame = ROWS.head(3).with_columns(minus=-1, n_resamples=0)
    with pytest.raises(ce.ClusterEvalError, match=words):
        resampled(function, frame, **options)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, None])
def test_confidence_out_of_range(confidence: Any) -> None:
    got = "NULL" if confidence is None else confidence
    with pytest.raises(ce.ClusterEvalError, match=f"between 0 and 1, got {got}"):
        resampled(ce.bootstrap_intervals, confidence=confidence)


def test_on_a_relation_of_duckdb(con: duckdb.DuckDBPyConnection) -> None:
    con.register("rows", ROWS)
    cells = con.sql("FROM clustereval.contingency_matrix(rows, label, cluster)").pl()
    for function in FUNCTIONS:
        assert_frame_equal(
            resampled(function, cells, weight="n", n_resamples=5),
            resampled(function, n_resamples=5),
        )


# ----------------------------------------------------------------------------------------------
# Permutations
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", ["_draw_tables", "_shuffle_rows"])
def test_tables_have_the_distribution_of_permutations(draw: str) -> None:
    """Against all permutations of seven rows."""
    label_sizes, cluster_sizes = np.array([3, 2, 2]), np.array([4, 1, 2])
    labels = np.repeat(np.arange(3), label_sizes).tolist()
    clusters = np.repeat(np.arange(3), cluster_sizes).tolist()
    shuffles = itertools.permutations(clusters)
    expected = Counter(
        tuple(sorted(Counter(zip(labels, shuffle, strict=True)).items())) for shuffle in shuffles
    )
    n = 20_000
    drawn = getattr(resampling, draw)(np.random.default_rng(2), label_sizes, cluster_sizes, n)
    tables: dict[int, list[tuple[tuple[int, int], int]]] = {}
    for sample, label, cluster, rows in zip(*(x.tolist() for x in drawn), strict=True):
        tables.setdefault(sample, []).append(((label, cluster), rows))
    found = Counter(tuple(cells) for cells in tables.values())
    assert set(found) <= set(expected)
    total = math.factorial(7)
    keys = list(expected)
    test = chisquare([found[key] for key in keys], [n * expected[key] / total for key in keys])
    assert test.pvalue > 0.001


@pytest.mark.parametrize("metric", ["adjusted_rand_score", "variation_of_information", "purity"])
def test_p_values_are_those_of_all_permutations(metric: str) -> None:
    label, cluster = [0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2, 0]
    runs = [
        pl.DataFrame({"run": i, "label": label, "cluster": shuffle})
        for i, shuffle in enumerate(set(itertools.permutations(cluster)))
    ]
    # Every different shuffle stands for as many permutations.
    scores = ce.external_report(pl.concat(runs), "label", "cluster", partition_by="run")[metric]
    frame = pl.DataFrame({"label": label, "cluster": cluster})
    row = resampled(ce.permutation_test, frame, metric=metric, n_resamples=20_000).row(
        0, named=True
    )
    better = -1 if metric == "variation_of_information" else 1
    share = (better * (scores - row["value"]) > -1e-9).mean()
    assert row["p_value"] == pytest.approx(share, abs=0.02)
    assert row["expected"] == pytest.approx(scores.mean(), abs=0.02)
    assert row["std"] == pytest.approx(scores.std(), rel=0.03)
    assert row["z"] == pytest.approx((row["value"] - row["expected"]) / row["std"], rel=1e-12)


def test_metrics_of_one_order_have_one_p_value() -> None:
    """Given the sizes, these are functions of the mutual information, some of them falling."""
    frame = ROWS.head(60)
    names = ("normalized_mutual_info_score", "variation_of_information", "v_measure_score")
    names += ("adjusted_mutual_info_score", "normalized_information_distance")
    values = {
        resampled(ce.permutation_test, frame, metric=name)["p_value"].item() for name in names
    }
    assert len(values) == 1


@pytest.mark.gate  # small samples have the p-values of all their permutations, see above
def test_p_values_are_uniform_under_the_null_hypothesis() -> None:
    runs, n = 400, 80
    rng = np.random.default_rng(8)
    sizes = rng.choice(3, (2, runs * n), p=[0.5, 0.3, 0.2])
    frame = pl.DataFrame(
        {"run": np.repeat(np.arange(runs), n), "label": sizes[0], "cluster": sizes[1]}
    )
    test = resampled(ce.permutation_test, frame, partition_by="run", n_resamples=199)
    p = test["p_value"].to_numpy()
    assert kstest(p, "uniform").pvalue > 0.01
    assert p.min() >= 1 / 200
    # The comparison finds p-values that are too small.
    assert kstest(p**1.3, "uniform").pvalue < 0.01


def test_the_same_sizes_in_every_labeling() -> None:
    """All rows in one cluster: every labeling has the same scores."""
    row = resampled(ce.permutation_test, frame_of([(0, 0), (1, 0), (1, 0)])).row(0, named=True)
    assert (row["expected"], row["std"], row["z"], row["p_value"]) == (0.0, 0.0, None, 1.0)


def test_singletons_are_permuted_with_their_size() -> None:
    frame = frame_of([(0, 0)] * 4 + [(1, 1)] * 4 + [(0, -1), (1, -1), (1, -1)])
    row = resampled(ce.permutation_test, frame, noise=-1, noise_as="singletons", n_resamples=4000)
    other = frame.with_columns(
        pl.when(pl.col("cluster") < 0)
        .then(-pl.int_range(pl.len()))
        .otherwise("cluster")
        .alias("cluster")
    )
    wanted = resampled(ce.permutation_test, other, n_resamples=4000)
    assert row["value"].item() == pytest.approx(wanted["value"].item(), rel=1e-12)
    assert row["expected"].item() == pytest.approx(wanted["expected"].item(), abs=0.01)
    assert row["std"].item() == pytest.approx(wanted["std"].item(), rel=0.05)
    assert row["p_value"].item() == pytest.approx(wanted["p_value"].item(), abs=0.01)


@pytest.mark.parametrize("metric", ["ari", "label_entropy", None])
def test_metric_without_a_direction(metric: Any) -> None:
    got = "NULL$" if metric is None else f"'{metric}'$"
    if metric == "ari":
        got = "'ari'; did you mean 'adjusted_rand_score'"
    with pytest.raises(ce.ClusterEvalError, match=f"metric: expected one of 'rand.*, got {got}"):
        resampled(ce.permutation_test, metric=metric)


def test_too_many_rows_to_permute() -> None:
    frame = frame_of([(0, 0, 10**9), (1, 1, 5)], "n")
    with pytest.raises(ce.ClusterEvalError, match=r"fewer than 1000000000 rows .* got 1000000005"):
        resampled(ce.permutation_test, frame, weight="n")
