"""external_differences from labels of a sample: each entity and each row left out, in numpy."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_clustereval as ce
from tests.support.compare import assert_rows
from tests.support.engines import fails
from tests.support.sample_intervals import freedom_of, squared_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tests.support.engines import Engine, Row

COLUMNS = ("label", "cluster_1", "cluster_2")
PAIRS = ("pair_precision", "pair_recall", "pair_f_score")
METRICS = (
    *(*PAIRS, "bcubed_precision", "bcubed_recall", "bcubed_f_score"),
    *("exact_match_precision", "exact_match_recall", "exact_match_f_score"),
)
OF_RECORDS = (*PAIRS, "bcubed_precision")
DESIGNS: list[dict[str, Any]] = [
    {"labels_are_sample": "uniform"},
    {"labels_are_sample": "by_record", "sampling_fraction": 0.1},
    {"labels_are_sample": "by_record", "sampling_fraction": 0},
    {"labels_are_sample": "records"},
]
NOT_APART = "the labeled rows do not tell the clusterings apart"


def call(engine: Engine, frame: pl.DataFrame, **options: Any) -> list[Row]:
    return engine.call("external_differences", frame, *COLUMNS, **options)


def by_metric(rows: Sequence[Row]) -> dict[str, Row]:
    return {row["metric"]: row for row in rows}


def draw_sample(
    seed: int, design: str, n_entities: int = 60, drawn: float = 0.5, errors: float = 0.15
) -> pl.DataFrame:
    """Rows whose second cluster is the first one, but for some rows; not all have labels."""
    draw = np.random.default_rng(seed)
    label = np.repeat(np.arange(n_entities), 1 + draw.poisson(1.5, n_entities))
    clusters = [label]
    for _ in (1, 2):
        wrong = draw.random(label.size) < errors
        clusters.append(np.where(wrong, draw.integers(0, n_entities, label.size), clusters[-1]))
    records = design == "records"
    known = draw.random(label.size if records else n_entities) < drawn
    return pl.DataFrame(
        {"label": label, "cluster_1": clusters[1], "cluster_2": clusters[2]}
    ).select(
        pl.when(pl.Series(known if records else known[label])).then("label").alias("label"),
        *COLUMNS[1:],
    )


# By the definition --------------------------------------------------------------------------------


def entity_terms(label: NDArray[Any], cluster: NDArray[Any], beta: float) -> dict[str, Any]:
    """The two terms of each entity for each metric; that of B-cubed F is the sum of its slopes."""
    same = cluster[:, None] == cluster
    sizes, square = same.sum(1), beta * beta
    per_cluster = len(cluster) / len(np.unique(cluster))
    rows = []
    for entity in np.unique(label[label >= 0]):
        own = label == entity
        alike, of_cluster, n = same[np.ix_(own, own)].sum(1), sizes[own], own.sum()
        exact = float(np.all(alike == n) and np.all(of_cluster == n))
        parts = (alike.sum() - n, of_cluster.sum() - n, n * (n - 1))
        rows.append((*parts, (alike / of_cluster).sum(), (alike / n).sum(), exact, n))
    linked, links, pairs, precision, recall, exact, n = np.array(rows, float).T
    return {
        "pair_precision": (linked, links),
        "pair_recall": (linked, pairs),
        "pair_f_score": ((1 + square) * linked, square * pairs + links),
        "bcubed_precision": (precision, n),
        "bcubed_recall": (recall, n),
        "bcubed_f_score": (precision, recall, n),
        "exact_match_precision": (per_cluster * exact, n),
        "exact_match_recall": (exact, n / n),
        "exact_match_f_score": ((1 + square) * per_cluster * exact, square * per_cluster + n),
    }


def values_without_each(
    terms: tuple[NDArray[Any], ...], weights: NDArray[Any], beta: float
) -> NDArray[Any]:
    """The metric of all entities, and without each of them in turn."""
    kept = np.vstack([np.ones(len(weights)), 1 - np.eye(len(weights))]) * weights
    if len(terms) == 2:
        return kept @ terms[0] / (kept @ terms[1])
    p, r = (kept @ x / (kept @ terms[2]) for x in terms[:2])
    square = beta * beta
    # The slopes are those of the whole sample.
    scale = (1 + square) / (square * p[0] + r[0]) ** 2
    return scale * (r[0] ** 2 * p + square * p[0] ** 2 * r)


def by_entities(frame: pl.DataFrame, design: str, beta: float, fraction: float) -> dict[str, Any]:
    """The standard error and the limits of each difference, leaving out each entity."""
    label = frame["label"].fill_null(-1).to_numpy()
    n = np.unique(label[label >= 0], return_counts=True)[1]
    missed = (1 - fraction) ** n if design == "by_record" else np.ones(len(n))
    weights = np.ones(len(n))
    if design == "by_record":
        weights = 1 / (1 - missed) if fraction else 1 / n
    sides = [entity_terms(label, frame[x].to_numpy(), beta) for x in COLUMNS[1:]]
    found = {}
    for metric in METRICS:
        values = [values_without_each(side[metric], weights, beta) for side in sides]
        changes = values[0] - values[1] - (values[0] - values[1])[0]
        weighed = np.sqrt(missed) * changes[1:]
        error = math.sqrt((len(n) - 1) / len(n) * np.sum(weighed**2))
        found[metric] = error, freedom_of(list(weighed)), 0.0
    return found


def by_rows(frame: pl.DataFrame, beta: float) -> dict[str, Any]:
    """The same for 'records', leaving out each labeled row; and the skewness."""
    known = frame["label"].is_not_null().to_numpy()
    label = frame["label"].drop_nulls().to_numpy()
    same_label, other = label[:, None] == label, 1 - np.eye(len(label))
    unlabeled = 1 - known.mean()
    found = {}
    for metric in OF_RECORDS:
        changes, terms = np.zeros(len(label)), np.zeros(other.shape)
        for sign, column in ((1, "cluster_1"), (-1, "cluster_2")):
            cluster = frame[column].to_numpy()
            sizes = (cluster[:, None] == cluster).sum(1)[known]
            same = cluster[known][:, None] == cluster[known]
            f = {"pair_recall": 0.0, "pair_f_score": 1 / (1 + beta * beta)}.get(metric, 1.0)
            weight, own = (1 / sizes[:, None], len(set(cluster)) / len(cluster))
            if metric != "bcubed_precision":
                weight, own = np.ones((len(label), 1)), 0.0
            right = weight * (same & same_label) * other
            wrong = weight * (f * (same & ~same_label) + (1 - f) * (~same & same_label))
            whole, share = (right + wrong).sum(), right.sum() / (right + wrong).sum()
            without = [
                np.delete(np.delete(x, i, 0), i, 1).sum()
                for i in range(len(label))
                for x in (right, right + wrong)
            ]
            changes += sign * (1 - own) * (np.divide(without[::2], without[1::2]) - share)
            terms += sign * (1 - own) * (right * (1 - share) - wrong * share) / whole
        jackknife, of_pairs = np.sum(changes**2), 2 * np.sum(terms**2)
        variance = unlabeled * max(jackknife - unlabeled * of_pairs, jackknife / 2)
        skew = -unlabeled * np.sum(changes**3) / jackknife
        found[metric] = math.sqrt(variance), freedom_of(list(changes)), skew
    return found


@pytest.mark.gate
@pytest.mark.parametrize("beta", [1.0, 0.5])
@pytest.mark.parametrize("options", DESIGNS)
def test_errors_by_leaving_out(engine: Engine, options: dict[str, Any], beta: float) -> None:
    design = options["labels_are_sample"]
    frames = [draw_sample(seed, design) for seed in range(2)]
    stacked = pl.concat(x.with_columns(part=pl.lit(i)) for i, x in enumerate(frames))
    rows = call(engine, stacked, partition_by="part", beta=beta, **options)
    compared = 0
    for i, frame in enumerate(frames):
        if design == "records":
            wanted = by_rows(frame, beta)
        else:
            wanted = by_entities(frame, design, beta, options.get("sampling_fraction", 0.0))
        part = by_metric([row for row in rows if row["part"] == i])
        assert list(part) == list(METRICS)
        for metric, (error, freedom, skew) in wanted.items():
            row = part[metric]
            assert row["std_error"] == pytest.approx(error, rel=1e-9), metric
            if row["reason"] is not None:
                assert row["reason"] == "an estimate is cut off at 1"
                continue
            t2 = squared_quantile(freedom, NormalDist().inv_cdf(0.975))
            middle = row["difference"] + t2 * skew / 2
            half = math.sqrt(t2 * error**2 + (t2 * skew / 2) ** 2)
            limits = max(middle - half, -1), min(middle + half, 1)
            assert (row["lower"], row["upper"]) == pytest.approx(limits, rel=1e-8), metric
            compared += 1
    assert compared > len(wanted)


@pytest.mark.gate
def test_a_value_of_0_has_the_error_of_the_other(engine: Engine) -> None:
    """In clusters of one row, no pair is right, whichever entity is left out."""
    frame = draw_sample(3, "uniform").with_columns(cluster_1=pl.int_range(pl.len()))
    found = by_metric(call(engine, frame, labels_are_sample="uniform"))
    with np.errstate(invalid="ignore"):
        wanted = by_entities(frame, "uniform", 1.0, 0.0)
    for metric in ("pair_recall", "pair_f_score"):
        assert found[metric]["value_1"] == 0
        assert found[metric]["std_error"] == pytest.approx(wanted[metric][0], rel=1e-9)
        assert found[metric]["upper"] < 0


@pytest.mark.gate
@pytest.mark.parametrize("options", DESIGNS)
def test_values_are_the_estimates_of_each_clustering(
    engine: Engine, options: dict[str, Any]
) -> None:
    frame = draw_sample(5, options["labels_are_sample"])
    rows = call(engine, frame, **options)
    estimates = [
        by_metric(ce.entity_resolution_estimates(frame, "label", x, **options).rows(named=True))
        for x in COLUMNS[1:]
    ]
    assert [row["metric"] for row in rows] == [*estimates[0]][:9]
    for row in rows:
        first, second = (found[row["metric"]] for found in estimates)
        for value, one in ((row["value_1"], first), (row["value_2"], second)):
            assert value == (None if one["value"] is None else pytest.approx(one["value"], 1e-12))
        assert (row["n"], row["n_dropped"]) == (frame.height, 0)
        if row["difference"] is None:
            assert (row["std_error"], row["lower"], row["reason"]) == (None, None, first["reason"])
            continue
        assert row["difference"] == pytest.approx(first["value"] - second["value"], abs=1e-12)
        # What the clusterings have in common cancels.
        assert row["std_error"] < math.hypot(first["std_error"], second["std_error"])


@pytest.mark.gate
def test_intervals_overlap_but_the_difference_is_real(side: Engine) -> None:
    """3 % of 4,000 entities have labels; 3 % of the rows differ between the clusterings."""
    frame = draw_sample(7, "uniform", n_entities=4000, drawn=0.03, errors=0.02)
    row = by_metric(call(side, frame, labels_are_sample="uniform"))["pair_f_score"]
    limits = [
        ce.entity_resolution_estimates(frame, "label", x, metrics=["pair_f_score"])
        .select("lower", "upper")
        .row(0)
        for x in COLUMNS[1:]
    ]
    assert limits[0][0] < limits[1][1]
    assert 0 < row["lower"] < row["difference"] < row["upper"]


# Reasons ------------------------------------------------------------------------------------------


def reasons(rows: Sequence[Row]) -> dict[str, str | None]:
    for row in rows:
        assert (row["lower"] is None) == (row["upper"] is None) == (row["reason"] is not None)
    return {row["metric"]: row["reason"] for row in rows}


@pytest.mark.gate
@pytest.mark.parametrize("design", ["uniform", "records"])
def test_clusterings_that_the_labels_do_not_tell_apart(engine: Engine, design: str) -> None:
    """Only clusters without labels differ, so the difference is not known to be 0."""
    frame = draw_sample(3, design).with_columns(cluster_2=pl.col("cluster_1") * -7)
    has_label = pl.col("label").is_not_null().any().over("cluster_1")
    apart = pl.when(has_label).then("cluster_2").otherwise(pl.int_range(pl.len()))
    split = frame.with_columns(cluster_2=apart)
    assert split["cluster_2"].n_unique() > frame["cluster_2"].n_unique() + 5
    for clusterings in (frame, split):
        for row in call(engine, clusterings, labels_are_sample=design):
            # The mean number of rows of a cluster is that of all clusters.
            if row["difference"] is None or row["metric"] not in (*PAIRS, "bcubed_recall"):
                continue
            assert row["difference"] == pytest.approx(0, abs=1e-12), row
            assert (row["std_error"], row["lower"], row["reason"]) == (0, None, NOT_APART), row


@pytest.mark.gate
def test_all_rows_labeled_at_random_leave_no_error(engine: Engine) -> None:
    frame = draw_sample(4, "records", drawn=1.1)
    for row in call(engine, frame, labels_are_sample="records"):
        if row["metric"] in OF_RECORDS:
            assert (row["std_error"], row["reason"]) == (0, None)
            assert row["lower"] == row["difference"] == row["upper"] != 0


@pytest.mark.gate
def test_reasons_of_either_clustering(engine: Engine) -> None:
    """Labels of rows contradict 'uniform', in the clusters of one of the clusterings."""
    frame = draw_sample(8, "records", n_entities=1000)
    alone = frame.with_row_index("own").with_columns(cluster_2=pl.col("own").cast(pl.Int64))
    words = "the labeled rows look like a random sample of records"
    for swap in (False, True):
        names = {"cluster_1": "cluster_2", "cluster_2": "cluster_1"} if swap else {}
        rows = call(
            engine, alone.select(pl.col(COLUMNS)).rename(names), labels_are_sample="uniform"
        )
        bad, good = ("value_2", "value_1") if swap else ("value_1", "value_2")
        assert {(row[bad], row["difference"], row["std_error"]) for row in rows} == {(None,) * 3}
        row = by_metric(rows)["bcubed_precision"]
        assert str(row["reason"]).startswith(words)
        assert row[good] == 1


@pytest.mark.gate
def test_few_labels_and_values_at_the_end_of_the_range(engine: Engine) -> None:
    frame = draw_sample(2, "uniform", drawn=1.1)
    few = frame.with_columns(pl.when(pl.col("label") < 4).then("label"))
    assert (
        reasons(call(engine, few, labels_are_sample="by_record", sampling_fraction=0))[
            "bcubed_f_score"
        ]
        == "the labeled entities weigh less than 6 equal ones"
    )
    one = frame.with_columns(pl.when(pl.col("label") < 1).then("label"))
    for row in call(engine, one, labels_are_sample="by_record", sampling_fraction=0):
        assert row["std_error"] is None, row
    none = call(engine, frame.with_columns(label=pl.lit(None, pl.Int64)), **DESIGNS[0])
    assert set(reasons(none).values()) == {"no rows with a label and a cluster"}
    # Nearly all labeled entities are clusters, and have fewer rows than other clusters.
    own = pl.int_range(120)
    small = pl.DataFrame({"label": [*range(30), *range(30), *[None] * 60]}).with_columns(
        cluster_1=pl.when((own < 60) & (own != 3)).then("label").otherwise(100 + own // 6),
        cluster_2=pl.when((own < 60) & (own != 7)).then("label").otherwise(100 + own // 6),
    )
    options = {"labels_are_sample": "by_record", "sampling_fraction": 0}
    row = by_metric(call(engine, small, **options))["exact_match_f_score"]
    assert (row["value_1"], row["value_2"], row["lower"]) == (1, 1, None)
    assert row["reason"] == "an estimate is cut off at 1"


@pytest.mark.gate
def test_no_rows(engine: Engine) -> None:
    frame = draw_sample(1, "uniform")
    rows = call(engine, frame.clear(), labels_are_sample="uniform")
    assert {(row["n"], row["n_dropped"], row["value_1"]) for row in rows} == {(0, 0, None)}
    assert len(rows) == len(METRICS)
    assert call(engine, frame.clear(), labels_are_sample="records", partition_by="label") == []


# What must not matter -----------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize("options", DESIGNS)
def test_order_weights_and_rows_without_a_cluster(engine: Engine, options: dict[str, Any]) -> None:
    frame = draw_sample(6, options["labels_are_sample"])
    wanted = call(engine, frame, **options)
    cells = frame.group_by(COLUMNS).len("n").with_columns(pl.col("n").cast(pl.Int64)).reverse()
    renamed = cells.with_columns(
        cluster_1=(pl.col("cluster_1") * 3).cast(pl.String), cluster_2=7 - pl.col("cluster_2")
    )
    nothing = renamed.head(5).with_columns(n=pl.lit(0, pl.Int64), label=pl.lit(99, pl.Int64))
    assert_close(call(engine, pl.concat([renamed, nothing]), weight="n", **options), wanted)
    lost = frame.head(3).with_columns(cluster_1=pl.lit(None, pl.Int64))
    dropped = call(engine, pl.concat([frame, lost]), **options)
    assert_close(dropped, [row | {"n_dropped": 3} for row in wanted])


@pytest.mark.gate
@pytest.mark.parametrize("options", DESIGNS)
def test_noise(engine: Engine, options: dict[str, Any]) -> None:
    frame = draw_sample(9, options["labels_are_sample"])
    noisy = (pl.col(x) % 9 == 1 for x in COLUMNS[1:])
    marked = frame.with_columns(
        pl.when(is_noise).then(-1).otherwise(x).alias(x)
        for x, is_noise in zip(COLUMNS[1:], noisy, strict=True)
    )
    kept = marked.filter((pl.col("cluster_1") >= 0) & (pl.col("cluster_2") >= 0))
    n_dropped = marked.height - kept.height
    assert n_dropped > 5
    found = call(engine, marked, noise=-1, noise_as="drop", **options)
    assert_close(found, [row | {"n_dropped": n_dropped} for row in call(engine, kept, **options)])
    apart = marked.with_row_index("own").with_columns(
        pl.when(pl.col(x) < 0).then(1000 + pl.col("own").cast(pl.Int64)).otherwise(x).alias(x)
        for x in COLUMNS[1:]
    )
    single = call(engine, marked, noise=-1, noise_as="singletons", **options)
    assert_close(single, call(engine, apart.drop("own"), **options))


def assert_close(found: Sequence[Row], wanted: Sequence[Row]) -> None:
    """The limits of a difference of nearly equal numbers have fewer digits."""
    shown = [
        {k: round(v, 9) + 0.0 if isinstance(v, float) else v for k, v in row.items()}
        for row in found
    ]
    assert_rows(
        shown,
        [
            {k: round(v, 9) + 0.0 if isinstance(v, float) else v for k, v in row.items()}
            for row in wanted
        ],
    )


@pytest.mark.gate
def test_partitions_do_not_touch_each_other(engine: Engine) -> None:
    frames = {1: draw_sample(1, "uniform"), None: draw_sample(2, "uniform", drawn=0.2)}
    parts = [x.with_columns(part=pl.lit(key, pl.Int64)) for key, x in frames.items()]
    options = {"labels_are_sample": "uniform"}
    found = call(engine, pl.concat(parts), partition_by="part", **options)
    for key, frame in frames.items():
        alone = [{"part": key} | row for row in call(engine, frame, **options)]
        assert_close([row for row in found if row["part"] == key], alone)


@pytest.mark.gate
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.integers(0, 6)),
            st.one_of(st.none(), st.integers(-1, 6)),
            st.integers(-1, 6),
        ),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from(DESIGNS),
    st.sampled_from(["drop", "singletons", "cluster"]),
)
def test_engines_agree(
    side: Engine, rows: list[tuple[Any, ...]], options: dict[str, Any], noise_as: str
) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.Int64), orient="row")
    given_options: dict[str, Any] = {"noise": -1, "noise_as": noise_as} | options
    wanted = ce.external_differences(frame, *COLUMNS, **given_options).rows(named=True)
    assert_close(call(side, frame, **given_options), wanted)
    for row in wanted:
        assert (row["lower"] is None) == (row["reason"] is not None)
        if row["lower"] is not None:
            assert -1 <= row["lower"] <= row["difference"] <= row["upper"] <= 1


# Bad input ----------------------------------------------------------------------------------------


def test_errors(side: Engine) -> None:
    frame = draw_sample(1, "uniform")
    words = "labels_are_sample: expected one of 'uniform', 'by_record', 'records', got 'all'"
    with fails(side, words):
        call(side, frame, labels_are_sample="all")
    needs = "sampling_fraction needs labels_are_sample 'by_record'"
    for options in ({}, {"labels_are_sample": "uniform"}):
        with fails(side, needs):
            call(side, frame, sampling_fraction=0.1, **options)
    with fails(side, "sampling_fraction: expected a number >= 0 and < 1, got 1.5"):
        call(side, frame, labels_are_sample="by_record", sampling_fraction=1.5)
    with fails(side, "beta: expected a number >= 0, got -1"):
        call(side, frame, labels_are_sample="uniform", beta=-1)
    with fails(side, "confidence: expected a number between 0 and 1, got 95"):
        call(side, frame, labels_are_sample="uniform", confidence=95)


@pytest.mark.gate
def test_chosen_metrics() -> None:
    frame = draw_sample(1, "uniform")
    names = ["bcubed_recall", "pair_precision"]
    options: dict[str, Any] = {"labels_are_sample": "uniform"}
    found = ce.external_differences(frame, *COLUMNS, metrics=names, **options)
    whole = ce.external_differences(frame, *COLUMNS, **options)
    assert found["metric"].to_list() == names
    assert_close(found.rows(named=True), [by_metric(whole.rows(named=True))[x] for x in names])
    for name in ("average_label_size", "rand_score"):
        with pytest.raises(ce.ClusterEvalError, match=f"metrics: expected .*, got '{name}'"):
            ce.external_differences(frame, *COLUMNS, metrics=[name], **options)
