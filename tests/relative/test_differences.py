"""external_differences: paired differences against brute force, exact variances and intervals."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from scipy.stats import t as student
from sklearn.metrics import adjusted_rand_score, v_measure_score

import polars_clustereval as ce
from tests.support.compare import assert_rows
from tests.support.engines import fails
from tests.support.influence import SINGLE, paired_errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.engines import Engine, Row

Cell = tuple[Any, Any, Any, int]
COLUMNS = ("label", "cluster_1", "cluster_2")
#: Metrics whose standard error is not that of the delta method, or that have none.
WITHOUT = {
    *("expected_mutual_info", "exact_match_precision"),
    *("exact_match_recall", "exact_match_f_score"),
}
CELLS: dict[str, list[Cell]] = {
    "three by three": [
        *((0, 0, 0, 400_000), (0, 1, 0, 60_000), (0, 1, 1, 30_000), (0, 2, 2, 30_000)),
        *((1, 1, 1, 250_000), (1, 0, 0, 20_000), (1, 2, 1, 60_000)),
        *((2, 2, 2, 95_000), (2, 1, 2, 45_000), (2, 0, 0, 10_000)),
    ],
    "one splits": [
        *((0, 0, 0, 50_000), (0, 3, 0, 40_000), (0, 1, 1, 9_000)),
        *((1, 1, 1, 70_000), (1, 0, 1, 6_000), (2, 2, 1, 20_000), (2, 2, 2, 31_000)),
    ],
    "against chance": [(0, 0, 1, 10_000), (0, 1, 0, 40_000), (1, 0, 0, 30_000), (1, 1, 1, 11_000)],
}


def frame_of(cells: Sequence[Cell]) -> pl.DataFrame:
    """Cells, with SINGLE as the noise value -1."""
    rows = [[-1 if x == SINGLE else x for x in cell] for cell in cells]
    return pl.DataFrame(rows, schema=dict.fromkeys((*COLUMNS, "n"), pl.Int64), orient="row")


def call(engine: Engine, frame: pl.DataFrame, **options: Any) -> list[Row]:
    return engine.call("external_differences", frame, *COLUMNS, **options)


def by_metric(rows: Sequence[Row]) -> dict[str, Row]:
    return {row["metric"]: row for row in rows}


# Values and standard errors -----------------------------------------------------------------------


@pytest.mark.parametrize("case", CELLS)
@pytest.mark.parametrize("options", [{}, {"beta": 0.5, "average_method": "geometric"}])
def test_errors_from_rows_that_come_or_go(
    engine: Engine, case: str, options: dict[str, Any]
) -> None:
    rows = by_metric(call(engine, frame_of(CELLS[case]), weight="n", **options))
    wanted = paired_errors(CELLS[case], **options)
    compared = 0
    for metric, error in wanted.items():
        if metric in WITHOUT or rows[metric]["std_error"] is None:
            continue
        assert rows[metric]["std_error"] == pytest.approx(error, rel=2e-3, abs=1e-9), metric
        compared += 1
    assert compared > 30


@pytest.mark.gate
def test_values_are_those_of_the_rows_that_both_score(engine: Engine) -> None:
    frame = frame_of(CELLS["three by three"]).with_columns(
        cluster_1=pl.when(pl.col("n") != 30_000).then("cluster_1")
    )
    both = frame.drop_nulls()
    reports = [
        ce.external_report(both, "label", name, weight="n").row(0, named=True)
        for name in COLUMNS[1:]
    ]
    rows = call(engine, frame, weight="n")
    assert [row["metric"] for row in rows] == ce.external_intervals(
        both, "label", "cluster_1", weight="n"
    )["metric"].to_list()
    for row in rows:
        first, second = (report[row["metric"]] for report in reports)
        assert row["value_1"] == pytest.approx(first, rel=1e-12)
        assert row["value_2"] == pytest.approx(second, rel=1e-12)
        assert row["difference"] == pytest.approx(first - second, rel=1e-9, abs=1e-12)
        assert (row["n"], row["n_dropped"]) == (940_000, 60_000)


@pytest.mark.gate
def test_against_the_labels_the_error_is_that_of_one_clustering(engine: Engine) -> None:
    """The scores of labels against themselves do not vary, if they are not about sizes."""
    finer = [(0, 0, 0, 50), (0, 3, 0, 40), (1, 1, 1, 70), (2, 2, 2, 31)]
    coarser = [(0, 0, 0, 50), (3, 0, 3, 40), (1, 1, 1, 70), (2, 2, 2, 31)]
    parts = [
        frame_of(cells).with_columns(cluster_2=-pl.col("label"), part=pl.lit(i))
        for i, cells in enumerate((CELLS["three by three"], finer, coarser))
    ]
    options = {"weight": "n", "partition_by": "part"}
    rows = call(engine, pl.concat(parts), **options)
    alone = ce.external_intervals(pl.concat(parts), "label", "cluster_1", **options)
    metrics = (
        "adjusted_rand_score",
        "v_measure_score",
        "purity",
        "bcubed_f_score",
        "variation_of_information",
        "pair_f_score",
    )
    for row, one in zip(rows, alone.rows(named=True), strict=True):
        if row["metric"] in metrics:
            assert row["std_error"] == pytest.approx(one["std_error"], rel=1e-12), row


@pytest.mark.gate
def test_biased_scores_have_no_interval(engine: Engine) -> None:
    """Of 60 labels with 5 rows each, most cells have few rows; pairs of rows are not biased."""
    rows = []
    for i in range(300):
        first = (i * i + i // 7) % 60 if i % 3 == 0 else i % 60
        rows.append((i % 60, first, i % 59 if i % 5 == 0 else i % 60, 1))
    found = by_metric(call(engine, frame_of(rows), weight="n"))
    words = "too few rows: the bias is more than a quarter of the standard error"
    for metric in ("mutual_info_score", "joint_entropy", "variation_of_information"):
        assert found[metric]["std_error"] > 0
        assert (found[metric]["lower"], found[metric]["reason"]) == (None, words)
    for metric in ("adjusted_rand_score", "pair_f_score", "adjusted_mutual_info_score"):
        assert found[metric]["reason"] is None
        assert found[metric]["lower"] < found[metric]["upper"]
    assert found["class_f_measure"]["reason"] == "the metric has no derivative"
    words = "rows are not the unit that is sampled: use labels_are_sample"
    assert found["exact_match_recall"]["reason"] == words
    many = by_metric(call(engine, frame_of([(*x, n * 1000) for *x, n in rows]), weight="n"))
    assert many["mutual_info_score"]["reason"] is None


@pytest.mark.gate
def test_bias_of_the_entropy_of_uniform_samples() -> None:
    """The mean over samples is below the population's difference by as much as is estimated."""
    draw = random.Random(5)
    schema = dict.fromkeys((*COLUMNS, "part"), pl.Int64)
    cells = [
        (draw.randrange(3), draw.randrange(40), draw.randrange(4), part)
        for part in range(200)
        for _ in range(400)
    ]
    frame = pl.DataFrame(cells, schema=schema, orient="row")
    found = ce.external_differences(frame, *COLUMNS, partition_by="part")
    entropy = found.filter(metric="cluster_entropy")
    bias = entropy["difference"].mean() - (math.log(40) - math.log(4))  # type: ignore[operator]
    assert bias == pytest.approx(-(39 - 3) / (2 * 400), rel=0.15)
    assert entropy["reason"].null_count() == 0


def test_sizes_against_one_cluster(engine: Engine) -> None:
    """Sizes vary from sample to sample even if the clusters are the labels."""
    frame = frame_of([(0, 0, 7, 60), (1, 1, 7, 40)])
    rows = by_metric(call(engine, frame, weight="n"))
    error = math.sqrt(0.6 * 0.4 / 100) * math.log(0.6 / 0.4)
    assert rows["cluster_entropy"]["std_error"] == pytest.approx(error, rel=0.02)


@pytest.mark.gate
def test_interval_of_few_differences(engine: Engine) -> None:
    """McNemar's setting: 5 rows are right only in the first clustering, 1 only in the second."""
    cells = [(0, 0, 0, 46), (0, 0, 1, 3), (0, 1, 0, 1), (1, 1, 1, 46), (1, 1, 0, 2), (1, 0, 0, 2)]
    purity = by_metric(call(engine, frame_of(cells), weight="n"))["purity"]
    error = math.sqrt((0.06 - 0.04**2) / 100)
    assert purity["std_error"] == pytest.approx(error, rel=1e-12)
    # The squares of 100 numbers: 5 times 0.96, once -1.04 and 94 times -0.04.
    squares = [0.96**2] * 5 + [1.04**2] + [0.04**2] * 94
    mean = sum(squares) / 100
    freedom = 2 * sum(squares) ** 2 / sum((x - mean) ** 2 for x in squares)
    assert 11 < freedom < 14
    for confidence in (0.8, 0.95, 0.99):
        row = by_metric(call(engine, frame_of(cells), weight="n", confidence=confidence))["purity"]
        width = student.ppf((1 + confidence) / 2, freedom) * error
        assert row["upper"] == pytest.approx(0.04 + width, rel=2e-3)
        assert row["lower"] == pytest.approx(0.04 - width, rel=5e-3)


def test_interval_stays_within_the_possible_differences(side: Engine) -> None:
    cells = [(0, 0, 0, 3), (1, 1, 0, 2), (1, 0, 1, 1)]
    rows = by_metric(call(side, frame_of(cells), weight="n", confidence=0.999999))
    for metric, widest in (("adjusted_rand_score", 1.5), ("purity", 1), ("rand_score", 1)):
        assert (rows[metric]["lower"], rows[metric]["upper"]) == (-widest, widest)


@pytest.mark.gate
def test_bootstrap_by_hand() -> None:
    """The spread of the paired differences of resampled rows, scored by scikit-learn."""
    cells = frame_of([(a, b, c, n // 1000) for a, b, c, n in CELLS["three by three"]])
    rows = cells.select(pl.exclude("n").repeat_by("n").explode())
    found = by_metric(ce.external_differences(rows, *COLUMNS).rows(named=True))
    draws = [rows.sample(fraction=1.0, with_replacement=True, seed=i) for i in range(300)]
    for metric, score in (
        ("adjusted_rand_score", adjusted_rand_score),
        ("v_measure_score", v_measure_score),
    ):
        spread = pl.Series(
            [score(x["label"], x["cluster_1"]) - score(x["label"], x["cluster_2"]) for x in draws]
        ).std()
        assert found[metric]["std_error"] == pytest.approx(spread, rel=0.15)
        alone = [
            ce.external_intervals(rows, "label", cluster, metrics=[metric])["std_error"].item()
            for cluster in COLUMNS[1:]
        ]
        assert found[metric]["std_error"] < 0.8 * math.hypot(*alone)


# What must not matter -----------------------------------------------------------------------------


def random_rows(n_parts: int) -> pl.DataFrame:
    """Partitions of 1, 2, 3 and more rows."""
    draw = random.Random(5)
    rows = [
        (part, draw.randrange(3), draw.randrange(-1, 3), draw.randrange(-1, 3))
        for part in range(n_parts)
        for _ in range(1 + part)
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("part", *COLUMNS), pl.Int64), orient="row")


@pytest.mark.gate
def test_order_names_weights_and_sides(engine: Engine) -> None:
    plain = random_rows(25)
    wanted = ce.external_differences(plain, *COLUMNS, partition_by="part").rows(named=True)
    counted = plain.group_by("part", *COLUMNS).len("n").with_columns(pl.col("n").cast(pl.Int64))
    renamed = counted.with_columns(
        cluster_1=(7 - pl.col("cluster_1")).cast(pl.String), cluster_2=pl.col("cluster_2") * 3
    ).reverse()
    nothing = renamed.with_columns(n=pl.lit(0, pl.Int64), label=pl.lit(9, pl.Int64))
    rows = call(engine, pl.concat([renamed, nothing]), weight="n", partition_by="part")
    assert_rows(rows, wanted)
    swapped = [
        row
        | {"value_1": row["value_2"], "value_2": row["value_1"]}
        | {
            name: None if row[x] is None else 0 - row[x]
            for name, x in (("difference", "difference"), ("lower", "upper"), ("upper", "lower"))
        }
        for row in wanted
    ]
    found = engine.call(
        "external_differences", plain, "label", "cluster_2", "cluster_1", partition_by="part"
    )
    assert_rows(found, swapped)


@pytest.mark.gate
def test_partitions_do_not_touch_each_other(engine: Engine) -> None:
    keys = (0, 1, None)
    parts = [
        frame_of(cells).with_columns(part=pl.lit(key, pl.Int64))
        for key, cells in zip(keys, CELLS.values(), strict=True)
    ]
    found = call(engine, pl.concat(parts), weight="n", partition_by="part")
    for i, part in zip(keys, parts, strict=True):
        alone = [{"part": i} | row for row in call(engine, part, weight="n")]
        assert_rows([row for row in found if row["part"] == i], alone)


# Noise and degenerate tables ----------------------------------------------------------------------


@pytest.mark.gate
def test_noise(engine: Engine) -> None:
    cells = [
        *((0, 0, 0, 400), (0, SINGLE, 0, 60), (0, 1, 1, 45)),
        *((1, 1, 1, 350), (1, 1, SINGLE, 30), (1, 0, 1, 25), (1, SINGLE, SINGLE, 20)),
    ]
    frame = frame_of(cells)
    single = by_metric(call(engine, frame, weight="n", noise=-1, noise_as="singletons"))
    for metric, error in paired_errors(cells).items():
        if metric in WITHOUT or single[metric]["std_error"] is None:
            continue
        assert single[metric]["std_error"] == pytest.approx(error, rel=2e-2, abs=1e-6), metric
    drop = call(engine, frame, weight="n", noise=-1, noise_as="drop")
    kept = frame.filter((pl.col("cluster_1") >= 0) & (pl.col("cluster_2") >= 0))
    wanted = [row | {"n_dropped": 110} for row in call(engine, kept, weight="n")]
    assert_rows(drop, wanted)
    plain = call(engine, frame, weight="n")
    assert_rows(call(engine, frame, weight="n", noise=-1, noise_as="cluster"), plain)


@pytest.mark.gate
def test_equal_clusterings_do_not_differ(engine: Engine) -> None:
    """They have no standard error only if one of them has none in external_intervals."""
    draw = random.Random(2)
    cases: list[list[Cell]] = [
        [(0, 0, 0, 5), (1, 1, 1, 4), (1, 0, 0, 2)],
        [(0, 1, 2, 9)],
        # The majority of a cluster is tied.
        [(0, 0, 0, 3), (1, 0, 0, 3), (1, 1, 1, 6), (0, 1, 1, 1)],
        # Sums of many terms have rounding errors.
        [(i % 30, draw.randrange(30), 0, 1 + draw.randrange(50)) for i in range(600)],
    ]
    frame = pl.concat(
        frame_of(cells).with_columns(part=pl.lit(i), cluster_2=-pl.col("cluster_1") * 5)
        for i, cells in enumerate(cases)
    )
    options = {"weight": "n", "partition_by": "part"}
    alone = ce.external_intervals(frame, "label", "cluster_1", **options).rows(named=True)
    for row, one in zip(call(engine, frame, **options), alone, strict=True):
        error = None if one["std_error"] is None else 0
        assert (row["std_error"], row["lower"], row["upper"]) == (error,) * 3, row
        assert row["difference"] == (None if one["value"] is None else 0)


@pytest.mark.gate
def test_few_or_no_rows(engine: Engine) -> None:
    frame = frame_of([(0, 0, 1, 1)])
    assert {(row["std_error"], row["reason"]) for row in call(engine, frame)} == {
        (None, "fewer than 2 rows")
    }
    nothing = call(engine, frame.clear())
    assert {(row["n"], row["n_dropped"], row["value_1"]) for row in nothing} == {(0, 0, None)}
    assert call(engine, frame.clear(), partition_by="label") == []
    dropped = call(engine, frame.with_columns(cluster_2=pl.lit(None, pl.Int64)))
    assert {(row["n"], row["n_dropped"], row["difference"]) for row in dropped} == {(0, 1, None)}


# Bad input ----------------------------------------------------------------------------------------


def test_errors(side: Engine) -> None:
    frame = frame_of(CELLS["against chance"])
    for name in COLUMNS:
        words = "clster" if side.name == "duckdb" else f"{name}: column 'clster' not found"
        with fails(side, words):
            side.call(
                "external_differences", frame, *("clster" if x == name else x for x in COLUMNS)
            )
    texts = frame.with_columns(pl.col("cluster_1").cast(pl.String))
    with fails(side, "noise: expected a value of the type of cluster (BIGINT), got 'x' (VARCHAR)"):
        call(side, texts, noise="x", noise_as="drop")
    with fails(side, "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'off'"):
        call(side, frame, noise=1, noise_as="off")
    with fails(side, "confidence: expected a number between 0 and 1, got 1"):
        call(side, frame, confidence=1)
    with fails(side, "weight: expected whole numbers >= 0, got -1"):
        call(side, frame.with_columns(n=pl.lit(-1)), weight="n")
