"""bootstrap_intervals and permutation_test: what is drawn, and what becomes of it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
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
# Bootstrap
# ----------------------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize(
    "noise",
    [{}, pytest.param({"noise": 2, "noise_as": "singletons"}, marks=pytest.mark.gate)],
)
def test_the_delta_method_agrees(noise: dict[str, Any]) -> None:
    """Two independent ways to a standard error; 20,000 samples leave an error of 0.5 %."""
    options = {"adjusted": False, **noise}
    boot = resampled(ce.bootstrap_intervals, n_resamples=20_000, random_state=1, **options)
    delta = resampled(ce.external_intervals, **options)
    ratio = delta["std_error"] / boot["std_error"]
    assert ratio.drop_nulls().len() == 39
    assert ratio.min() > 0.98, delta["metric"][ratio.arg_min()]  # type: ignore[operator,call-overload]
    assert ratio.max() < 1.02, delta["metric"][ratio.arg_max()]  # type: ignore[operator,call-overload]


def test_summaries_are_those_of_samples_scored_one_by_one() -> None:
    """numpy draws, scikit-learn scores, numpy summarizes."""
    frame = frame_of([(2, 7, 20), (0, 5, 31), (0, 7, 6), (2, 5, 9), (1, 7, 11)], "n")
    cells = frame.sort("label", "cluster")
    counts = np.random.default_rng(11).multinomial(77, cells["n"].to_numpy() / 77, size=60)
    labels, clusters = cells["label"].to_numpy(), cells["cluster"].to_numpy()
    boot = resampled(
        ce.bootstrap_intervals, frame, weight="n", n_resamples=60, random_state=11, confidence=0.8
    )
    for function in (adjusted_rand_score, v_measure_score):
        scores = [function(np.repeat(labels, n), np.repeat(clusters, n)) for n in counts]
        row = boot.filter(metric=function.__name__).row(0, named=True)
        assert row["std_error"] == pytest.approx(np.std(scores, ddof=1), rel=1e-9)
        lower, upper = np.quantile(scores, [0.1, 0.9])
        assert (row["lower"], row["upper"]) == pytest.approx((lower, upper), rel=1e-9)
        assert row["n_resamples"] == 60


def test_all_metrics_are_those_of_the_report_of_each_sample() -> None:
    """Partitions of many small clusters with equal cells, and noise that counts as singletons."""
    generator = np.random.default_rng(5)
    rows = [
        (label, int(label if generator.random() < 0.7 else generator.integers(-1, 12)), run)
        for run in (0, 1)
        for label in generator.integers(12, size=60 + 20 * run)
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
        counts = np.random.default_rng(0).multinomial(
            part.height, cells["n"].to_numpy() / part.height, size=15
        )
        samples = pl.concat(
            cells.select("label", "cluster", n=pl.Series(n), sample=pl.lit(i))
            for i, n in enumerate(counts)
        )
        report = ce.external_report(
            samples, "label", "cluster", weight="n", partition_by="sample", **noise
        )
        for row in boot.filter(run=run).iter_rows(named=True):
            scores = report[row["metric"]].drop_nulls()
            assert row["n_resamples"] == scores.len(), row["metric"]
            assert row["std_error"] == pytest.approx(scores.std(), rel=1e-9, abs=1e-15)
            assert row["upper"] == pytest.approx(scores.quantile(0.975, "linear"), rel=1e-12)


def test_a_resample_on_which_a_metric_is_undefined_does_not_count() -> None:
    """Samples of one row only, of the two, are equal partitions without a Southwood index."""
    frame = frame_of([(0, 0), (0, 1)])
    boot = resampled(ce.bootstrap_intervals, frame, n_resamples=400)
    counts = dict(boot.select("metric", "n_resamples").iter_rows())
    assert counts["rand_score"] == 400
    assert binomtest(counts["southwood_index"], 400, 0.5).pvalue > 0.001


def test_singletons_stay_singletons() -> None:
    """Noise alone has as many clusters as rows in every sample."""
    frame = frame_of([(0, -1)] * 5 + [(1, -1)] * 4)
    boot = resampled(ce.bootstrap_intervals, frame, noise=-1, noise_as="singletons", n_resamples=50)
    entropy = boot.filter(metric="cluster_entropy").row(0, named=True)
    assert entropy["value"] == pytest.approx(math.log(9))
    assert (entropy["lower"], entropy["upper"]) == pytest.approx((math.log(9), math.log(9)))
    assert boot.filter(metric="label_entropy")["std_error"].item() > 0


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
    for name in empty.columns[1:-1]:
        assert empty[name].null_count() == empty.height, name
    assert resampled(function, FEW.head(0), partition_by="run").height == 0
    filled = resampled(function, FEW, partition_by="run")
    assert resampled(function, FEW.head(0), partition_by="run").schema == filled.schema


def test_a_single_row() -> None:
    boot = resampled(ce.bootstrap_intervals, ROWS.head(1), n_resamples=10)
    defined = boot.filter(pl.col("value").is_not_null())
    assert defined.filter(pl.col("lower") != pl.col("upper")).height == 0
    assert defined["std_error"].unique().to_list() == [0.0]
    assert boot.filter(pl.col("value").is_null())["n_resamples"].unique().to_list() == [0]
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
