"""Findings on sizes: outlying clusters by scipy's F distribution, where they are and are not."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from math import exp, isqrt, log
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import f

from tests.support.compare import assert_rows
from tests.support.engines import Engine, Row, fails, make

COLUMNS = ["severity", "code", "cluster", "n", "value", "finding"]
Sizes = list[int]


def rows_of(sizes: Sizes, **more: Any) -> pl.DataFrame:
    """A row for each record; cluster i has sizes[i] of them."""
    clusters = [i for i, size in enumerate(sizes) for _ in range(size)]
    return pl.DataFrame({"cluster": clusters}, schema={"cluster": pl.Int64}).with_columns(**more)


def size_findings(engine: Engine, data: Sizes | pl.DataFrame, **options: Any) -> list[Row]:
    frame = rows_of(data) if isinstance(data, list) else data
    return engine.call("cluster_size_findings", frame, "cluster", **options)


def outlying(engine: Engine, data: Sizes | pl.DataFrame, **options: Any) -> list[Row]:
    rows = size_findings(engine, data, **options)
    return [row for row in rows if row["code"] == "outlying_cluster"]


def entities(n_rows: int, seed: int = 0) -> Sizes:
    """Sizes from 1 to 5 of `n_rows` records."""
    rng, sizes = random.Random(seed), []
    while (left := n_rows - sum(sizes)) > 0:
        sizes.append(min(rng.randint(1, 5), left))
    return sizes


# ----------------------------------------------------------------------------------------------
# Findings on rows
# ----------------------------------------------------------------------------------------------


def test_no_row_and_nothing_to_say(engine: Engine) -> None:
    [row] = size_findings(engine, [])
    words = "no row can be scored, so nothing was checked"
    assert row == dict(zip(COLUMNS, ("problem", "no_rows", None, 0, None, words), strict=True))
    assert list(row) == COLUMNS
    assert size_findings(engine, [50, 40, 30]) == []
    assert size_findings(engine, rows_of([]).with_columns(run=0), partition_by="run") == []


def test_each_finding_on_rows(engine: Engine) -> None:
    runs: dict[str, list[int | None]] = {
        "dropped": [None, *[0, 1] * 3],
        "giant": [*[0] * 9, 1],
        "noise": [-1, 0, 0, 1, 1],
        "one": [5, 5],
        "singletons": [1, 2, 3],
    }
    frame = pl.DataFrame([{"run": run, "cluster": x} for run, of in runs.items() for x in of])
    told = "scores by row or by pair say little of the other clusters"
    expected = {
        ("dropped", "warning", "dropped_rows", None, 1, 1 / 7): (
            "1 of 7 rows has no cluster, and is left out"
        ),
        ("giant", "warning", "giant_cluster", 0, 9, 0.9): (
            f"cluster 0: it holds 90 % of the rows: {told}"
        ),
        ("noise", "problem", "unnamed_noise", -1, 1, 0.2): (
            "cluster -1: it is counted as a cluster of 1 row; "
            "if it is noise, give noise and noise_as"
        ),
        ("one", "problem", "one_cluster", None, 2, None): (
            "there is one cluster, so nothing is told apart"
        ),
        ("singletons", "problem", "all_singletons", None, 3, None): (
            "each of the 3 rows is a cluster of its own: is the cluster an id?"
        ),
    }
    found = size_findings(engine, frame, partition_by="run")
    assert [tuple(row.values()) for row in found] == [(*x, words) for x, words in expected.items()]
    options = {"partition_by": "run", "noise": -1}
    for noise_as, words in (
        ("drop", "1 of 5 rows is noise, and left out"),
        ("singletons", "1 of 5 rows is noise"),
    ):
        rows = size_findings(engine, frame, noise_as=noise_as, **options)
        assert [row["finding"] for row in rows if row["run"] == "noise"] == [words]
    rows = size_findings(engine, [2, 2], noise=7, noise_as="drop")
    assert [row["code"] for row in rows] == ["unknown_noise"]


# ----------------------------------------------------------------------------------------------
# Outlying clusters
# ----------------------------------------------------------------------------------------------


def test_a_third_of_the_rows(engine: Engine) -> None:
    sizes = [*entities(14_000), 6_000]
    assert size_findings(engine, sizes) == [
        {
            "severity": "warning",
            "code": "outlying_cluster",
            "cluster": len(sizes) - 1,
            "n": 6000,
            "value": 1200.0,
            "finding": f"cluster {len(sizes) - 1}: it has 6000 rows (30 %), where "
            f"{len(sizes) - 1} clusters have at most 5: check that its rows belong together",
        }
    ]


@pytest.mark.parametrize("n_rows", [200, 2_000, 20_000])
def test_a_hundredth_of_the_rows(engine: Engine, n_rows: int) -> None:
    """The pairs of 200 of 20,000 records are 40 % of all pairs."""
    giant = max(n_rows // 100, 60)
    sizes = [giant, *entities(n_rows - giant)]
    [row] = outlying(engine, sizes)
    assert (row["cluster"], row["n"], row["value"]) == (0, giant, giant / 5)


def test_several_outlying_clusters(engine: Engine) -> None:
    """The gap is below them, the largest first; a cluster above 80 % is a giant one."""
    rows = outlying(engine, [300, *entities(1_000), 250, 300])
    assert [(row["n"], row["value"]) for row in rows] == [(300, 60.0), (300, 60.0), (250, 50.0)]
    assert rows[0]["cluster"] == 0
    assert "rows (16 %), where " in rows[0]["finding"]
    rows = size_findings(engine, [9_000, *entities(1_000), 100])
    assert [(row["code"], row["n"]) for row in rows] == [("giant_cluster", 9_000)]
    rows = size_findings(engine, [50_000, *entities(1_000), 4_000])
    assert [(row["code"], row["n"]) for row in rows] == [("giant_cluster", 50_000)]


def test_limits_of_a_gap(engine: Engine) -> None:
    """More than ten times, at most a twentieth of the clusters, at least a tenth of the pairs."""
    for giant, is_found in ((50, False), (51, True)):
        assert bool(outlying(engine, [giant, *[5] * 19])) == is_found
    for n_others, is_found in ((18, False), (19, True)):
        assert bool(outlying(engine, [51, *[5] * n_others])) == is_found
    # 100 * 99 ordered pairs, and 20 in each of the others.
    for n_others, is_found in ((4455, True), (4456, False)):
        weighted = pl.DataFrame({"cluster": range(n_others + 1), "w": [100, *[5] * n_others]})
        assert bool(outlying(engine, weighted, weight="w")) == is_found


@pytest.mark.parametrize(
    ("k", "n_above", "tail_index"), [(20, 1, 0.25), (60, 2, 0.5), (150, 1, 0.3), (400, 3, 0.9)]
)
def test_the_width_of_a_gap(engine: Engine, k: int, n_above: int, tail_index: float) -> None:
    """The largest size that is no more than a heavy tail explains, by scipy's F distribution."""
    tail = [round(10**6 / i**tail_index) for i in range(1, k - n_above + 1)]
    ranks = range(n_above + 1, max(11, isqrt(k)))
    spacings = [i * log(tail[i - n_above - 1] / tail[i - n_above]) for i in ranks]
    widest = f.isf(0.001, 2, 2 * len(spacings)) * sum(spacings) / len(spacings)
    limit = tail[0] * exp(widest / n_above)
    for factor, is_found in ((1 + 1e-5, True), (1 - 1e-5, False)):
        sizes = [round(factor * limit)] * n_above + tail
        frame = pl.DataFrame({"cluster": range(k), "w": sizes})
        assert bool(size_findings(engine, frame, weight="w")) == is_found


def test_a_large_share_of_many_clusters(engine: Engine) -> None:
    """30 % of the rows of 10,000 clusters, although a heavy tail has such gaps."""
    tail = [round(400 / i**0.7) + 1 for i in range(1, 10_000)]
    rest = sum(tail)
    frame = pl.DataFrame({"cluster": range(10_000)})
    most = -(-3 * rest // 7)
    for giant, n_left_out, is_found in (
        (most, 0, True),
        (most - 1, 0, False),
        (most, 1, False),
    ):
        weighted = frame.with_columns(w=pl.Series([giant, *tail]))
        weighted = weighted.head(10_000 - n_left_out)
        assert bool(outlying(engine, weighted, weight="w")) == is_found, (giant, n_left_out)


EXAMPLES = {
    "inventors": ("cluster_2017", "cluster_2021", "inventor"),
    "digits": ("kmeans", "digit"),
    "iris": ("kmeans", "agglomerative", "kmeans2", "species", "single_linkage"),
    "cars": ("cluster", "origin", "cylinders"),
    "karate_members": ("cluster", "faction"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_ordinary(engine: Engine, name: str) -> None:
    data = pl.read_parquet(f"examples/{name}.parquet")
    for column in EXAMPLES[name]:
        found = size_findings(engine, data.select(cluster=column).drop_nulls())
        assert found == [], column


def test_a_third_of_the_inventors(engine: Engine) -> None:
    """Its sizes have a heavy tail, the largest 1,883."""
    data = pl.read_parquet("examples/inventors.parquet").select(cluster="cluster_2017").drop_nulls()
    giant = pl.DataFrame({"cluster": [-5] * (data.height * 3 // 7)}, schema=data.schema)
    [row] = size_findings(engine, pl.concat([data, giant]))
    assert (row["code"], row["cluster"]) == ("outlying_cluster", -5)


@pytest.mark.parametrize("k", ["digits", "cars"])
def test_sweeps_are_ordinary(engine: Engine, k: str) -> None:
    data = pl.read_parquet(f"examples/{k}_sweep.parquet").filter(pl.col("k") > 1)
    assert size_findings(engine, data, partition_by="k") == []


SAMPLES = {
    "equal": lambda _, k: np.full(k, 100),
    "Poisson": lambda rng, k: 1 + rng.poisson(2, k),
    "geometric": lambda rng, k: rng.geometric(0.4, k),
    "Zipf": lambda rng, k: rng.zipf(2.5, k),
    "Dirichlet": lambda rng, k: 1 + rng.multinomial(100 * k, rng.dirichlet(np.ones(k) / 2)),
    "lognormal": lambda rng, k: np.ceil(rng.lognormal(0, 1.5, k)).astype(int),
}


@pytest.mark.gate
@pytest.mark.parametrize("name", SAMPLES)
def test_ordinary_sizes(side: Engine, name: str) -> None:
    """A heavy tail may have one gap in a thousand samples; a tenfold one is in 3 % of Zipf's."""
    rng = np.random.default_rng(11)
    cases = [(k, SAMPLES[name](rng, k)) for k in (2, 3, 10, 50, 200, 1_000, 5_000) * 15]
    frame = pl.concat(
        pl.DataFrame({"cluster": range(k), "w": sizes.astype("int64")}).with_columns(run=pl.lit(i))
        for i, (k, sizes) in enumerate(cases)
    )
    assert outlying(side, frame, weight="w", partition_by="run") == []


# ----------------------------------------------------------------------------------------------
# The definition
# ----------------------------------------------------------------------------------------------


def outlying_by_definition(sizes: Sizes) -> list[tuple[int, int]]:
    """The sizes and the next smaller one of the clusters above the lowest gap, largest first."""
    x = sorted(sizes, reverse=True)
    k, n, pairs = len(x), sum(x), sum(s * (s - 1) for s in x)
    t = min(k, max(11, isqrt(k)))
    found = []
    for j in range(1, t):
        if x[j - 1] <= 10 * x[j] or 20 * j > k or 10 * x[j - 1] * (x[j - 1] - 1) < pairs:
            continue
        spacings = [i * log(x[i - 1] / x[i]) for i in range(j + 1, t)]
        is_wide = False
        if spacings:
            mean = sum(spacings) / len(spacings)
            gap = j * log(x[j - 1] / x[j])
            is_wide = mean == 0 or f.sf(gap / mean, 2, 2 * len(spacings)) <= 0.001
        if is_wide or (10 * x[j - 1] >= 3 * n and k >= 10_000):
            found = [(s, x[j]) for s in x[:j] if Fraction(s, n) <= Fraction(4, 5)]
    return found


@st.composite
def sizes_with_giants(draw: st.DrawFn) -> Sizes:
    small = draw(st.lists(st.integers(1, draw(st.sampled_from([1, 5, 40]))), max_size=300))
    small *= draw(st.sampled_from([1, 1, 30]))
    return [*small, *draw(st.lists(st.sampled_from([9, 60, 300, 700, 20_000]), max_size=4))]


@settings(max_examples=60, deadline=None)
@given(cases=st.lists(sizes_with_giants(), min_size=1, max_size=8))
@example(cases=[[1] * 20, [11, *[1] * 19], [11, *[1] * 18], [700, 60, *[1] * 400]])
@example(cases=[[700 - i for i in range(10)] + [5] * 190, [700] * 11 + [5] * 209])
def test_the_definition(engine: Engine, cases: list[Sizes]) -> None:
    frame = pl.concat(
        pl.DataFrame({"cluster": range(len(sizes)), "w": sizes}, schema=["cluster", "w"])
        .cast({"cluster": pl.Int64, "w": pl.Int64})
        .with_columns(run=pl.lit(i))
        for i, sizes in enumerate(cases)
    )
    found = outlying(engine, frame, weight="w", partition_by="run")
    of_runs: dict[int, list[tuple[int, float]]] = {i: [] for i in range(len(cases))}
    for row in found:
        of_runs[row["run"]].append((row["n"], row["value"]))
        counted = Counter(cases[row["run"]])
        assert counted[row["n"]]
    for i, sizes in enumerate(cases):
        assert of_runs[i] == [(s, s / low) for s, low in outlying_by_definition(sizes)]


# ----------------------------------------------------------------------------------------------
# What must not matter, and what must
# ----------------------------------------------------------------------------------------------

MIXED = [60, 55, *entities(300, 3)]


def test_weights_are_repetitions_and_order_does_not_matter(engine: Engine) -> None:
    wanted = size_findings(engine, MIXED)
    assert len(wanted) == 2
    assert_rows(size_findings(engine, rows_of(MIXED).reverse()), wanted)
    weighted = pl.DataFrame({"cluster": range(len(MIXED)), "w": MIXED})
    assert_rows(size_findings(engine, weighted, weight="w"), wanted)
    words = rows_of(MIXED).cast(pl.String)
    assert_rows(
        size_findings(engine, words), [row | {"cluster": str(row["cluster"])} for row in wanted]
    )


def test_partitions_are_on_their_own(engine: Engine) -> None:
    parts = [rows_of(sizes, run=pl.lit(i)) for i, sizes in enumerate((MIXED, [3, 3], MIXED[2:]))]
    found = size_findings(engine, pl.concat(parts), partition_by="run")
    assert_rows(found, [{"run": 0} | row for row in size_findings(engine, MIXED)])
    nulls = pl.concat(parts).with_columns(run=pl.when(pl.col("run") > 0).then("run"))
    found = size_findings(engine, nulls, partition_by="run")
    assert [row["run"] for row in found] == [None, None]


def test_noise(engine: Engine) -> None:
    """Noise as singletons is clusters of one row; of a forgotten -1, nothing else is told."""
    noisy = rows_of([30, 30]).vstack(pl.DataFrame({"cluster": [-1] * 40}))
    options = {"noise": -1, "noise_as": "singletons"}
    [note, *rows] = size_findings(engine, noisy, **options)
    assert [row["code"] for row in (note, *rows)] == [*["outlying_cluster"] * 2, "noise_rows"]
    assert (note["n"], note["value"]) == (30, 30.0)
    assert "where 40 clusters have at most 1:" in note["finding"]
    assert [row["code"] for row in size_findings(engine, noisy, noise=-1, noise_as="drop")] == [
        "noise_rows"
    ]
    forgotten = pl.DataFrame({"cluster": [*[-1] * 90, *rows_of(entities(100))["cluster"]]})
    assert [row["code"] for row in size_findings(engine, forgotten)] == ["unnamed_noise"]


def test_counts_that_do_not_fit_into_64_bits(engine: Engine) -> None:
    giant = 10**10
    frame = pl.DataFrame({"cluster": range(2_001), "w": [giant, *[10**8 // 2] * 2_000]})
    [row] = outlying(engine, frame, weight="w")
    assert (row["n"], row["value"]) == (giant, 200.0)


@pytest.mark.gate
def test_many_rows(side: Engine) -> None:
    sizes = [*entities(200_000), 90_000]
    [row] = size_findings(side, sizes)
    assert (row["code"], row["n"], row["value"]) == ("outlying_cluster", 90_000, 18_000.0)


# ----------------------------------------------------------------------------------------------
# Errors
# ----------------------------------------------------------------------------------------------


def test_errors(side: Engine) -> None:
    frame = rows_of([1, 1], w=pl.lit(-1))
    with fails(side, "weight: expected whole numbers >= 0, got -1"):
        size_findings(side, frame, weight="w")
    with fails(side, "noise_as 'drop' needs noise"):
        size_findings(side, frame, noise_as="drop")
    if side.name == "polars":
        words = "partition_by: 'finding' is also a column of the result; rename it first"
        with fails(side, words):
            size_findings(side, frame.with_columns(finding=1), partition_by="finding")


def test_a_quoted_name_is_an_error() -> None:
    engine: Any = make("duckdb")
    engine.connection.register("assignments", rows_of([1, 1]))
    with fails(engine, "cluster: expected a column, got the quoted string 'cluster'"):
        engine.connection.execute("FROM clustereval.cluster_size_findings(assignments, 'cluster')")
