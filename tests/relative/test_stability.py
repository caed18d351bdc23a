"""Runs against each other: every pair, the most central run, the stability of clusters."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from polars_clustereval.base.metric_facts import metrics_of
from tests.support.compare import assert_rows, assert_same
from tests.support.oracle import METRICS, UNBOUNDED, exact
from tests.support.run_engines import RUN_TABLES, call_runs, some_of
from tests.support.stability_oracle import (
    ORACLES,
    SCHEMA,
    THREE,
    Runs,
    agreement_of,
    clusters_of_pair,
    counts_of_pair,
    frame_of_runs,
    noisy_copies,
    pairs_of,
    stability_of,
    stack_cases,
)

if TYPE_CHECKING:
    import duckdb

    from tests.support.engines import Engine, Row

# Pairs of runs ------------------------------------------------------------------------------------


def test_three_runs(engine: Engine) -> None:
    rows = call_runs(engine, "run_agreement", frame_of_runs(THREE))
    assert_rows(
        rows,
        [
            counts_of_pair(THREE, 1, 2) | {"score": 1.0},
            counts_of_pair(THREE, 1, 3) | {"score": -0.5},
            counts_of_pair(THREE, 2, 3) | {"score": -0.5},
        ],
    )


SKLEARN = {
    "adjusted_rand_score": sk.adjusted_rand_score,
    "rand_score": sk.rand_score,
    "fowlkes_mallows_score": sk.fowlkes_mallows_score,
    "adjusted_mutual_info_score": sk.adjusted_mutual_info_score,
    "normalized_mutual_info_score": sk.normalized_mutual_info_score,
    "homogeneity_score": sk.homogeneity_score,
    "completeness_score": sk.completeness_score,
}


@pytest.mark.parametrize(
    "metric", some_of(SKLEARN, ("adjusted_rand_score", "adjusted_mutual_info_score"))
)
def test_scores_of_scikit_learn(engine: Engine, metric: str) -> None:
    runs = noisy_copies(3)
    rows = call_runs(engine, "run_agreement", frame_of_runs(runs), metric=metric)
    assert [(row["run_1"], row["run_2"]) for row in rows] == pairs_of(runs)
    for row, pair in zip(rows, pairs_of(runs), strict=True):
        assert {name: row[name] for name in row if name != "score"} == counts_of_pair(runs, *pair)
        wanted = float(SKLEARN[metric](*clusters_of_pair(runs, *pair)))
        assert row["score"] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "metric",
    some_of(METRICS, ("pair_precision", "completeness_score", "expected_mutual_info")),
)
def test_every_metric_in_exact_arithmetic(side: Engine, metric: str) -> None:
    """run_1 is the label: most metrics of one run in the other differ from the reverse."""
    runs = noisy_copies(5, n_runs=3)
    options = {"beta": 2.0, "average_method": "geometric"}
    rows = call_runs(side, "run_agreement", frame_of_runs(runs), metric=metric, **options)
    for row, pair in zip(rows, pairs_of(runs), strict=True):
        cells = [
            (*cell, n)
            for cell, n in Counter(zip(*clusters_of_pair(runs, *pair), strict=True)).items()
        ]
        wanted = exact(cells, **options)[metric]  # type: ignore[arg-type]
        assert_same(row["score"], wanted, bounded=metric not in UNBOUNDED, what=metric)


def members_of_run(n_ids: int) -> st.SearchStrategy[dict[int, int]]:
    return st.dictionaries(st.integers(0, n_ids - 1), st.integers(0, 2))


@given(st.lists(st.lists(members_of_run(6), max_size=4), min_size=4, max_size=8))
@settings(max_examples=2)
def test_any_runs(every_engine: list[Engine], found: list[list[dict[int, int]]]) -> None:
    cases = [{number: members for number, members in enumerate(case) if members} for case in found]
    wanted = [{"case": i} | row for i, case in enumerate(cases) for row in agreement_of(case)]
    for engine in every_engine:
        rows = call_runs(engine, "run_agreement", stack_cases(cases), partition_by="case")
        assert_rows(rows, wanted, what=engine.name)
        alone = call_runs(engine, "run_agreement", frame_of_runs(cases[-1]))
        assert_rows(alone, agreement_of(cases[-1]), what=engine.name)


@pytest.mark.parametrize("turn", range(3))
def test_types(side: Engine, turn: int) -> None:
    """Each column in each type, in three turns."""
    dtypes = (pl.String, pl.Int8, pl.Float64) * 2
    types = dict(zip(("run", "id", "cluster"), dtypes[turn:], strict=False))
    frame = frame_of_runs(THREE).cast(types)  # type: ignore[arg-type]
    rows = call_runs(side, "run_agreement", frame)
    assert [row["score"] for row in rows] == [1.0, -0.5, -0.5], types
    assert [row["run_1"] for row in rows] == frame["run"].unique().sort().gather(
        [0, 0, 1]
    ).to_list(), types


# What must not matter -----------------------------------------------------------------------------


def all_tables(engine: Engine, frame: pl.DataFrame, **arguments: Any) -> list[list[Row]]:
    return [call_runs(engine, table, frame, **arguments) for table in RUN_TABLES]


def assert_equal_tables(found: list[list[Row]], wanted: list[list[Row]], what: object = "") -> None:
    for table, rows, others in zip(RUN_TABLES, found, wanted, strict=True):
        assert_rows(rows, others, what=(table, what))


PLAIN = frame_of_runs(noisy_copies(7))
WITH_NOISE = frame_of_runs(noisy_copies(9)).with_columns(pl.col("cluster") // 10)
IS_NOISE = pl.col("cluster") == 2
#: Runs of different numbers with the same ids.
PARTS: dict[str | None, Runs] = {
    key: noisy_copies(i, n_runs=3 + i) for i, key in enumerate(("a", "b", None))
}
VARIANTS: dict[str | None, pl.DataFrame] = {
    "plain": PLAIN,
    "in another order": PLAIN.sample(fraction=1.0, shuffle=True, seed=2),
    # Even if their run or id is NULL, or given twice.
    "with rows without a cluster": pl.concat(
        [
            PLAIN,
            pl.DataFrame(
                [(1, 0, None), (1, 0, None), (None, 1, None), (2, None, None), (99, 1, None)],
                schema=SCHEMA,
                orient="row",
            ),
        ]
    ),
    "with noise": WITH_NOISE,
    "without noise": WITH_NOISE.filter(~IS_NOISE),
    "clusters of one": WITH_NOISE.with_columns(
        cluster=pl.when(IS_NOISE).then(pl.col("id") + 1000).otherwise("cluster")
    ),
    **{key: frame_of_runs(runs) for key, runs in PARTS.items()},
}


@cache
def run_tables_by_variant(engine: Engine) -> dict[str | None, list[list[Row]]]:
    """The tables of each variant, from one call of each table."""
    frame = pl.concat(
        frame.with_columns(case=pl.lit(name, pl.String)) for name, frame in VARIANTS.items()
    ).sample(fraction=1.0, shuffle=True, seed=3)
    found: dict[str | None, list[list[Row]]] = {name: [[], [], []] for name in VARIANTS}
    for i, rows in enumerate(all_tables(engine, frame, partition_by="case")):
        for row in rows:
            found[row.pop("case")][i].append(row)
    return found


@pytest.mark.parametrize("variant", ["in another order", "with rows without a cluster"])
def test_what_must_not_matter(engine: Engine, variant: str) -> None:
    found = run_tables_by_variant(engine)
    assert all(found["plain"])
    assert_equal_tables(found[variant], found["plain"], variant)


def test_partitions_are_scored_alone(engine: Engine) -> None:
    """NULL is a partition too; ids and runs of the same name in two partitions are different."""
    found = run_tables_by_variant(engine)
    for key, runs in PARTS.items():
        wanted = [rows_of_table(runs) for rows_of_table in ORACLES.values()]
        assert_equal_tables(found[key], wanted, key)


def test_partitions_of_two_columns(engine: Engine) -> None:
    frame = pl.concat(
        frame_of_runs(runs).with_columns(part=pl.lit(key, pl.String), other=pl.lit("x"))
        for key, runs in PARTS.items()
    ).sample(fraction=1.0, shuffle=True, seed=1)
    for table, rows_of_table in ORACLES.items():
        rows = call_runs(engine, table, frame, partition_by=["part", "other"])
        wanted = [
            {"part": key, "other": "x"} | row
            for key, runs in PARTS.items()
            for row in rows_of_table(runs)
        ]
        assert_rows(rows, wanted, what=table)


def test_a_frame_without_partitions(engine: Engine) -> None:
    runs = PARTS["b"]
    wanted = [rows_of_table(runs) for rows_of_table in ORACLES.values()]
    assert list(ORACLES) == list(RUN_TABLES)
    assert_equal_tables(all_tables(engine, frame_of_runs(runs)), wanted)


def test_noise_that_is_dropped_is_absent(engine: Engine) -> None:
    found = run_tables_by_variant(engine)
    dropped = all_tables(engine, WITH_NOISE, noise=2, noise_as="drop")
    assert_equal_tables(dropped, found["without noise"])
    assert_equal_tables(
        all_tables(engine, WITH_NOISE, noise=2, noise_as="cluster"), found["with noise"]
    )


def test_noise_as_singletons_is_clusters_of_one(engine: Engine) -> None:
    """In both runs of a pair. The reference's singletons have no row of their own."""
    found = all_tables(engine, WITH_NOISE, noise=2, noise_as="singletons")
    *wanted, stability = run_tables_by_variant(engine)["clusters of one"]
    assert_equal_tables(found, [*wanted, [row for row in stability if row["cluster"] < 1000]])


# The most central run -----------------------------------------------------------------------------


def test_consensus_is_the_mean_of_the_agreement(engine: Engine) -> None:
    runs = noisy_copies(11)
    runs[9] = {1000: 0}  # shares no id with the others
    pairs = call_runs(engine, "run_agreement", frame_of_runs(runs))
    rows = call_runs(engine, "run_consensus", frame_of_runs(runs))
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5, None]
    means = []
    for row in rows:
        scores = [pair["score"] for pair in pairs if row["run"] in (pair["run_1"], pair["run_2"])]
        scores = [score for score in scores if score is not None]
        assert row["n_runs"] == len(scores)
        if scores:
            means.append(sum(scores) / len(scores))
            assert row["mean_score"] == pytest.approx(means[-1], rel=1e-12)
            assert (row["min_score"], row["max_score"]) == pytest.approx((min(scores), max(scores)))
        else:
            assert row == rows[-1] | {"run": 9, "mean_score": None, "max_score": None}
    assert means == sorted(means, reverse=True)


@pytest.mark.parametrize(
    "metric",
    some_of(
        [x.name for x in metrics_of("external_report").values() if x.best],
        ("purity", "mirkin_metric", "southwood_index"),
    ),
)
def test_the_run_that_is_unlike_the_others_is_last(side: Engine, metric: str) -> None:
    """Whether low or high values of the metric are best."""
    base = {i: i // 4 for i in range(16)}
    unlike: Runs = {1: {i: (7 * i) % 5 for i in range(16)}}
    runs = unlike | {run: base | {run: 3} for run in (2, 3, 4)}
    rows = call_runs(side, "run_consensus", frame_of_runs(runs), metric=metric)
    assert rows[-1]["run"] == 1
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]


def test_ties_go_to_the_lowest_run(engine: Engine) -> None:
    """Run g has the clusters of a base run at the ids' xor with g, so all have the same scores.

    They come in another order for each, and sums depend on the order in the last digit.
    """
    cases = []
    for seed in range(3):
        draw = random.Random(seed)
        base = [[draw.randrange(3) for _ in range(8)] for _ in range(6)]
        cases.append(
            {
                g: {8 * j + i: row[i ^ g] for j, row in enumerate(base) for i in range(8)}
                for g in range(8)
            }
        )
    options = {"metric": "normalized_mutual_info_score", "partition_by": "case"}
    rows = call_runs(engine, "run_consensus", stack_cases(cases), **options)
    assert [(row["case"], row["run"]) for row in rows] == list(product(range(3), range(8)))


@pytest.mark.parametrize("metric", ["rand_score", "mirkin_metric"])
def test_one_run_alone(engine: Engine, metric: str) -> None:
    one = frame_of_runs({1: THREE[1]})
    assert call_runs(engine, "run_agreement", one, metric=metric) == []
    [row] = call_runs(engine, "run_consensus", one, metric=metric)
    scores = dict.fromkeys(("mean_score", "min_score", "max_score", "rank"))
    assert row == {"run": 1, "n_runs": 0} | scores


def test_clusters_of_one_run_alone(engine: Engine) -> None:
    rows = call_runs(engine, "cluster_stability", frame_of_runs({1: THREE[1]}))
    names = ("n", "n_runs", "mean_jaccard", "recovered")
    assert [tuple(row[name] for name in names) for row in rows] == [(2, 0, None, None)] * 2


def test_no_rows(engine: Engine) -> None:
    assert all_tables(engine, frame_of_runs({})) == [[], [], []]


# Clusters of a reference run ----------------------------------------------------------------------


@pytest.mark.parametrize("reference", [1, 3])
def test_stability_from_sets(engine: Engine, reference: int) -> None:
    cases = [noisy_copies(seed, share=0.6) for seed in range(3)]
    options = {"reference": reference, "partition_by": "case"}
    rows = call_runs(engine, "cluster_stability", stack_cases(cases), **options)
    wanted = [stability_of(case, reference) for case in cases]
    assert_rows(rows, [{"case": i} | row for i, rows in enumerate(wanted) for row in rows])


@given(st.lists(st.lists(members_of_run(8), min_size=1, max_size=4), min_size=4, max_size=8))
@settings(max_examples=4)
def test_stability_of_any_runs(
    every_engine: list[Engine], found: list[list[dict[int, int]]]
) -> None:
    cases = [{number: members for number, members in enumerate(case) if members} for case in found]
    wanted = [
        {"case": i} | row
        for i, case in enumerate(cases)
        for row in (stability_of(case, 0) if 0 in case else [])
    ]
    for engine in every_engine if wanted else []:
        options = {"reference": 0, "partition_by": "case"}
        rows = call_runs(engine, "cluster_stability", stack_cases(cases), **options)
        assert_rows(rows, wanted, what=engine.name)


def test_the_limits_are_not_counted(engine: Engine) -> None:
    """A Jaccard index of exactly 3/4 is not recovered, one of exactly 1/2 not dissolved."""
    runs = {
        1: dict.fromkeys(range(4), 0),
        2: {0: 0, 1: 0, 2: 0, 3: 1},  # 3/4
        3: {0: 0, 1: 0, 2: 1, 3: 1},  # 1/2
        4: {0: 0, 1: 1, 2: 2, 3: 3},  # 1/4
        5: dict.fromkeys(range(3), 7),  # 1: id 3 is not in it
    }
    [row] = call_runs(engine, "cluster_stability", frame_of_runs(runs))
    expected = {"n": 4, "n_runs": 4, "mean_jaccard": 0.625, "min_jaccard": 0.25}
    assert row == {"cluster": 0, **expected, "recovered": 0.25, "dissolved": 0.25}


def test_a_partition_without_the_reference_has_no_rows(engine: Engine) -> None:
    frame = frame_of_runs(THREE).with_columns(part=pl.col("run") // 3)
    rows = call_runs(engine, "cluster_stability", frame, partition_by="part", reference=3)
    assert [(row["part"], row["cluster"], row["n_runs"]) for row in rows] == [(1, 0, 0), (1, 1, 0)]


# Names and lists of the SQL side ------------------------------------------------------------------


def test_the_list_of_names_is_that_of_the_metrics(con: duckdb.DuckDBPyConnection) -> None:
    names, meanings = (
        con.execute(query).fetchall()
        for query in (
            "SELECT unnest(clustereval._metric_names())",
            "SELECT metric FROM clustereval._metric_meanings() ORDER BY place",
        )
    )
    assert names == meanings == [(name,) for name in METRICS]


def test_pairs_are_joined_in_one_direction(con: duckdb.DuckDBPyConnection) -> None:
    """The condition of order is part of the join of the rows, not a filter of its result."""
    con.register("runs", frame_of_runs(noisy_copies(1)))
    query = "FROM clustereval.run_agreement(runs, id, run, cluster)"
    plan = con.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()[0][1]
    assert "code < code" in " ".join(plan.split()), plan


@pytest.mark.parametrize(
    ("metric", "word"), [("rand_score", "ln("), ("mutual_info_score", "atanh(")]
)
def test_only_what_the_metric_needs_is_computed(
    con: duckdb.DuckDBPyConnection, metric: str, word: str
) -> None:
    con.register("runs", frame_of_runs(THREE))
    call = "clustereval.run_agreement(runs, id, run, cluster, metric := '{}')"
    plan, all_of_it = (
        con.execute(f"EXPLAIN (FORMAT json) FROM {call}".format(name)).fetchall()[0][1]
        for name in (metric, "adjusted_mutual_info_score")
    )
    assert word in all_of_it
    assert word not in plan
