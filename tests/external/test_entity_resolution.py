"""entity_resolution_report and its measures: definitions, exact values, edits by search."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.brute import partitions
from tests.support.compare import assert_rows, assert_same
from tests.support.engines import Engine, fails, frame_of
from tests.support.oracle import COUNTS, Table, number
from tests.support.partition_pairs import Pair, frame_of_pairs, pairs_of_partitions, renamed_cells
from tests.support.random_labelings import Cells, labeling
from tests.support.resolution import (
    COSTS,
    OWN,
    RELATIVE,
    RESOLUTION,
    brute_resolution,
    cheapest_edits,
    count_tables,
    exact_resolution,
    log_tables,
    partition_of,
)
from tests.support.stated_ranges import assert_kept, range_of_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.engines import Row
    from tests.support.oracle import Cell

NOTHING = dict.fromkeys(COUNTS, 0) | dict.fromkeys(RESOLUTION)


def resolution_report(engine: Engine, frame: pl.DataFrame, **arguments: Any) -> list[Row]:
    return engine.table("entity_resolution_report", frame, **arguments)


def assert_measures(row: Row, expected: dict[str, Any], what: object = "") -> None:
    for name, value in expected.items():
        bounded = name not in RELATIVE or value == 0
        assert_same(row[name], value, bounded=bounded, what=f"{name} of {what}")


# Degenerate and known labelings ------------------------------------------------------------------

EMPTY = pl.DataFrame(schema={"label": pl.String, "cluster": pl.Int64, "run": pl.Int64})


def test_no_rows(engine: Engine) -> None:
    assert resolution_report(engine, EMPTY) == [NOTHING]
    assert resolution_report(engine, EMPTY, partition_by="run") == []
    nulls = pl.DataFrame({"label": ["a", None], "cluster": [None, 1], "run": [1, 2]})
    assert resolution_report(engine, nulls) == [NOTHING | {"n_dropped": 2}]
    of_runs = [{"run": run} | NOTHING | {"n_dropped": 1} for run in (1, 2)]
    assert resolution_report(engine, nulls, partition_by="run") == of_runs


@pytest.mark.gate
def test_expressions_of_nothing(side: Engine) -> None:
    """Dear; in SQL the same as the group of NULLs of `test_expressions_of_known_labelings`."""
    assert side.scalars(EMPTY, metrics=OWN) == [dict.fromkeys(OWN)]


ONES = dict.fromkeys(name for name in OWN if "merge" not in name and "mutual" not in name)
EQUAL: dict[str, float | None] = dict.fromkeys(ONES, 1.0) | dict.fromkeys(RELATIVE, 0.0)
DEGENERATE: dict[str, tuple[list[tuple[int, int]], dict[str, float | None]]] = {
    "one row": (
        [(0, 0)],
        EQUAL
        | {"muc_precision": None, "muc_recall": None, "muc_f_score": None}
        | {"reduced_mutual_info_score": 0.0, "normalized_reduced_mutual_info_score": None},
    ),
    "singletons": (
        [(0, 0), (1, 1), (2, 2)],
        EQUAL
        | {"muc_precision": None, "muc_recall": None, "muc_f_score": None}
        | {"reduced_mutual_info_score": 0.0, "normalized_reduced_mutual_info_score": None},
    ),
    "one cluster": (
        [(0, 0), (0, 0), (0, 0)],
        EQUAL | {"reduced_mutual_info_score": 0.0, "normalized_reduced_mutual_info_score": None},
    ),
    "equal": (
        [(0, 1), (0, 1), (1, 0)],
        EQUAL | {"normalized_reduced_mutual_info_score": 1.0},
    ),
    "one label, singletons": (
        [(0, 0), (0, 1), (0, 2)],
        {
            "k_measure": math.sqrt(1 / 3),
            "closest_cluster_precision": 1 / 3,
            "closest_cluster_recall": 1 / 3,
            "closest_cluster_f_score": 1 / 3,
            "talburt_wang_index": math.sqrt(3) / 3,
            "basic_merge_distance": 2.0,
            "generalized_merge_distance": 2.0,
            "muc_precision": None,
            "muc_recall": 0.0,
            "muc_f_score": 0.0,
            "lea_precision": 0.0,
            "lea_recall": 0.0,
            "lea_f_score": 0.0,
            "blanc_precision": 0.0,
            "blanc_recall": 0.0,
            "blanc_f_score": 0.0,
            "reduced_mutual_info_score": 0.0,
            "normalized_reduced_mutual_info_score": None,
        },
    ),
    # Vilain and others' and Bagga and Baldwin's example: {1..5} {6 7} {8..12} found as {1..5} and
    # {6..12}; MUC as Bagga and Baldwin (1998) and Moosavi and Strube (2016) report it.
    "Bagga and Baldwin": (
        [(0, 0)] * 5 + [(1, 1)] * 2 + [(2, 1)] * 5,
        {
            "muc_precision": 9 / 10,
            "muc_recall": 1.0,
            "muc_f_score": 18 / 19,
            "lea_precision": (5 + 7 * 11 / 21) / 12,
            "lea_recall": 1.0,
            "basic_merge_distance": 1.0,
            "talburt_wang_index": math.sqrt(6) / 3,
        },
    ),
    # The example of Moosavi and Strube (2016), figure 1 with all mentions found.
    "Moosavi and Strube": (
        [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (1, 2), (1, 2)],
        {
            "lea_recall": (3 * 1 / 3 + 4 * 3 / 6) / 7,
            "lea_precision": (2 * 1 + 2 * 0 + 3 * 1) / 7,
            "muc_recall": 3 / 5,
            "muc_precision": 3 / 4,
        },
    ),
}


def frame_of_known_labelings() -> pl.DataFrame:
    known = DEGENERATE.values()
    return frame_of([(u, v, i) for i, (rows, _) in enumerate(known) for u, v in rows], "case")


def test_known_labelings(engine: Engine) -> None:
    found = resolution_report(engine, frame_of_known_labelings(), partition_by="case")
    assert list(found[0]) == ["case", *COUNTS, *RESOLUTION]
    for row, (name, (_, expected)) in zip(found, DEGENERATE.items(), strict=True):
        assert_measures(row, expected, name)


def test_expressions_of_known_labelings(engine: Engine) -> None:
    """And of a group of NULLs, the last one."""
    end = len(DEGENERATE)
    nulls = pl.DataFrame({"label": [None, 1], "cluster": [1, None], "case": [end, end]})
    frame = pl.concat([frame_of_known_labelings(), nulls])
    *scalars, of_nulls = engine.scalars(frame, metrics=OWN, by="case")
    assert of_nulls == {"case": end} | dict.fromkeys(OWN)
    for row, (name, (_, expected)) in zip(scalars, DEGENERATE.items(), strict=True):
        assert_measures(row, {k: x for k, x in expected.items() if k in OWN}, name)


# Every pair of small partitions ------------------------------------------------------------------


@cache
def exact_of_pair(pair: Pair, **arguments: Any) -> dict[str, Any]:
    return exact_of_cells(renamed_cells(pair), **arguments)


@cache
def exact_of_cells(cells: tuple[Cell, ...], **arguments: Any) -> dict[str, Any]:
    return exact_resolution(cells, **arguments)


def test_closed_forms_are_the_definitions() -> None:
    for pair in pairs_of_partitions(4):
        values = exact_of_pair(pair)
        for name, wanted in brute_resolution(*pair).items():
            if wanted is None:
                assert values[name] is None, (name, pair)
            else:
                assert abs(number(values[name]) - number(wanted)) < 1e-45, (name, pair)


@pytest.mark.parametrize(
    ("split", "merge"),
    [
        ("unit", "unit"),
        # These test the exact values alone, no engine.
        *(
            pytest.param(split, merge, marks=pytest.mark.gate)
            for split, merge in list(product(COSTS, COSTS))[1:]
        ),
    ],
)
def test_merge_distances_are_those_of_the_cheapest_edits(split: str, merge: str) -> None:
    """A search over partitions for the cheapest path of splits and merges."""
    of_five = [(p, q) for p, q in pairs_of_partitions(5) if len(p) == 5][::23]
    for label, cluster in [
        *(pair for pair in pairs_of_partitions(4) if len(pair[0]) == 4),
        *of_five,
    ]:
        found = cheapest_edits(partition_of(cluster), partition_of(label), split, merge)
        cells = [(u, v, 1) for u, v in zip(label, cluster, strict=True)]
        values = exact_resolution(cells, split_cost=split, merge_cost=merge)
        assert found == pytest.approx(float(values["generalized_merge_distance"]), abs=1e-12)
        if split == merge == "unit":
            assert found == values["basic_merge_distance"]


@pytest.mark.gate
def test_every_pair_of_partitions(engine: Engine) -> None:
    """All of up to four rows, and every third pair of five; values keep the stated ranges."""
    chosen = [i for i, pair in enumerate(pairs_of_partitions(5)) if len(pair[0]) < 5 or i % 3 == 0]
    frame = frame_of_pairs(5).filter(pl.col("pair").is_in(chosen))
    rows = resolution_report(engine, frame, partition_by="pair")
    assert [row["pair"] for row in rows] == chosen
    ranges = {name: range_of_metric(name) for name in OWN}
    for row in rows:
        label, cluster = pairs_of_partitions(5)[row["pair"]]
        assert_measures(row, exact_of_pair((label, cluster)), (label, cluster))
        for name, stated in ranges.items():
            assert_kept(stated, name, row)


@pytest.mark.gate
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(
            {"beta": 0.0, "split_cost": "product", "merge_cost": "entropy"}, marks=pytest.mark.gate
        ),
        {"beta": 2.0, "split_cost": "entropy", "merge_cost": "product"},
    ],
)
def test_options(side: Engine, arguments: dict[str, Any]) -> None:
    """The macros of all measures are dear: the second set has every option, and no beta of 0."""
    rows = resolution_report(side, frame_of_pairs(4), partition_by="pair", **arguments)
    scalars = side.scalars(frame_of_pairs(4), metrics=OWN, by="pair", **arguments)
    for row, values, pair in zip(rows, scalars, pairs_of_partitions(4), strict=True):
        wanted = exact_of_pair(pair, **arguments)
        assert_measures(row, wanted, pair)
        assert_measures(values, {name: wanted[name] for name in OWN}, pair)


# Random and large labelings ----------------------------------------------------------------------


def stack_tables(tables: Sequence[Cells]) -> pl.DataFrame:
    rows = [(*cell, run) for run, cells in enumerate(tables) for cell in cells]
    return frame_of(rows, "n", "run")


@cache
def random_tables() -> list[Cells]:
    """200 labelings: of 3,000 rows at most, and entities of few records with errors."""
    tables = [labeling(seed, 3000) for seed in range(140)]
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 600))
        label = rng.integers(0, max(1, n // 3), n)
        cluster = np.where(rng.random(n) < 0.9, label, rng.integers(0, n, n))
        cells = Counter(zip(label.tolist(), cluster.tolist(), strict=True))
        tables.append([(u, v, m) for (u, v), m in cells.items()])
    return tables


@pytest.mark.gate
@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.gate)])
def test_two_hundred_random_labelings(engine: Engine, part: int) -> None:
    """Every fourth one of each kind is fast enough, for exact values."""
    arguments = {"beta": 0.5, "merge_cost": "entropy"}
    chosen = [cells for i, cells in enumerate(random_tables()) if (i % 4 > 0) == part]
    assert len(chosen) == (150 if part else 50)
    frame = stack_tables(chosen)
    rows = resolution_report(engine, frame, weight="n", partition_by="run", **arguments)
    for row, cells in zip(rows, chosen, strict=True):
        assert_measures(row, exact_of_cells(tuple(cells), **arguments), row["run"])


BILLION = 10**9
LARGE: list[Cells] = [
    [(u, v, BILLION // 4 + (1 if u == v else -1)) for u in range(2) for v in range(2)],
    [(0, 0, BILLION - 2), (0, 1, 1), (1, 0, 1)],
    [(0, 0, BILLION // 2), (1, 1, BILLION // 2 - 1), (0, 1, 1)],
    [(0, 0, BILLION - 1), (1, 1, 1)],
    [(0, 0, 1), (1, 0, 30), (1, 1, 1000), (2, 1, 50_000), (2, 2, 2_000_000), (3, 3, BILLION)],
    [(u, v, 10**10) for u in range(10) for v in range(10)],
    [(0, 0, 10**12 - 3), (1, 0, 1), (0, 1, 1), (2, 2, 1)],
    [(0, v, 10**9) for v in range(1000)],
    [(u, 0, 10**9) for u in range(1000)],
]


@pytest.mark.gate
def test_a_trillion_rows(engine: Engine) -> None:
    for costs in ({}, {"split_cost": "entropy", "merge_cost": "product"}):
        rows = resolution_report(
            engine, stack_tables(LARGE), weight="n", partition_by="run", **costs
        )
        for row, cells in zip(rows, LARGE, strict=True):
            assert_measures(row, exact_of_cells(tuple(cells), **costs), row["run"])


@pytest.mark.gate
def test_many_small_clusters(every_engine: list[Engine]) -> None:
    """Dear for the exact values; `test_many_equal_clusters` has the sums of external_report."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 30_000, 100_000)
    cluster = np.where(rng.random(100_000) < 0.9, label, rng.integers(0, 30_000, 100_000))
    pairs_of_rows = zip(label.tolist(), cluster.tolist(), strict=True)
    expected = exact_resolution((u, v, 1) for u, v in pairs_of_rows)
    for engine in every_engine:
        [row] = resolution_report(engine, pl.DataFrame({"label": label, "cluster": cluster}))
        assert_measures(row, expected, engine.name)


@pytest.mark.gate
def test_the_estimated_number_of_tables() -> None:
    """Of the exact values: off the count of tables by a factor of 1.24 at most, up to 7 rows."""
    worst = 0.0
    for n in range(1, 8):
        sizes = {tuple(sorted(Counter(keys).values())) for keys in partitions(n)}
        for rows, columns in product(sizes, sizes):
            estimate = log_tables(Counter(rows), Counter(columns), n)
            worst = max(worst, abs(float(estimate) - math.log(count_tables(rows, columns))))
    assert 0.2 < worst < 0.22


# What must not matter ----------------------------------------------------------------------------

ROWS = [(i * 7 % 11, i * 5 % 13 if i % 3 else i * 7 % 11, i % 2) for i in range(90)]


@pytest.mark.gate
def test_order_names_and_other_rows_do_not_matter(engine: Engine) -> None:
    """And a partition is the report of its rows alone; all but the latter in one call."""
    frame = frame_of(ROWS, "run").drop("run")
    [wanted] = resolution_report(engine, frame)
    text = pl.col("label", "cluster").cast(pl.String)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1).with_columns(
        pl.format("person {}", 100 - pl.col("label")).alias("label")
    )
    dropped = pl.DataFrame({"label": [None, 3], "cluster": [1, None]})
    frames = [frame, shuffled, pl.concat([frame, dropped])]
    stacked = pl.concat(
        [one.select(text, case=pl.lit(i, pl.Int64)) for i, one in enumerate(frames)]
    )
    expected = [wanted, wanted, wanted | {"n_dropped": 2}]
    rows = resolution_report(engine, stacked, partition_by="case")
    assert_rows(rows, [{"case": i} | row for i, row in enumerate(expected)])


@pytest.mark.gate
def test_a_partition_is_a_filter_and_a_weight_a_repetition(engine: Engine) -> None:
    frame = frame_of(ROWS, "run")
    rows = resolution_report(engine, frame, partition_by="run")
    assert [row["run"] for row in rows] == [0, 1]
    alone = [resolution_report(engine, frame.filter(run=run)) for run in (0, 1)]
    assert_rows(rows, [{"run": run} | row for run, [row] in enumerate(alone)])
    cells = frame.group_by("label", "cluster", "run").agg(n=pl.len().cast(pl.Int64))
    assert_rows(resolution_report(engine, cells, weight="n", partition_by="run"), rows)


@pytest.mark.gate
def test_noise(engine: Engine) -> None:
    """Singletons are clusters of their own: of their labels, each has its closest one."""
    frame = frame_of(ROWS, "run").drop("run")
    replaced = {
        "cluster": frame,
        "drop": frame.filter(pl.col("cluster") != 1),
        "singletons": frame.with_row_index("i").select(
            "label",
            pl.when(pl.col("cluster") == 1)
            .then(1000 + pl.col("i"))
            .otherwise("cluster")
            .cast(pl.Int64)
            .alias("cluster"),
        ),
    }
    n_noise = frame.filter(cluster=1).height
    assert n_noise > 3
    stacked = pl.concat([one.with_columns(case=pl.lit(key)) for key, one in replaced.items()])
    expected = resolution_report(engine, stacked, partition_by="case")
    assert [row.pop("case") for row in expected] == [*replaced]
    for noise_as, wanted in zip(replaced, expected, strict=True):
        rows = resolution_report(engine, frame, noise=1, noise_as=noise_as)
        assert_rows(rows, [wanted | {"n_noise": n_noise}], what=noise_as)


MIRRORED = {
    "pair_precision": "pair_recall",
    "bcubed_precision": "bcubed_recall",
    "exact_match_precision": "exact_match_recall",
    "closest_cluster_precision": "closest_cluster_recall",
    "muc_precision": "muc_recall",
    "lea_precision": "lea_recall",
    "blanc_precision": "blanc_recall",
}


@pytest.mark.gate
def test_the_sides_change_places(engine: Engine) -> None:
    """All but the normalized score, which takes the labels, and the orientation of ties."""
    frame = frame_of(ROWS, "run")
    [row] = resolution_report(engine, frame)
    [swapped] = resolution_report(engine, frame, label="cluster", cluster="label")
    mirrored = MIRRORED | {right: left for left, right in MIRRORED.items()}
    assert row["n_labels"] != row["n_clusters"]
    for name in RESOLUTION[:-1]:
        wanted = row[mirrored.get(name, name)]
        assert_same(swapped[name], wanted, bounded=name not in RELATIVE, what=name)
    assert abs(row[RESOLUTION[-1]] - swapped[RESOLUTION[-1]]) > 0.001


def test_measures_of_external_report_are_the_same(engine: Engine) -> None:
    frame = frame_of(ROWS, "run")
    options = {"noise": 1, "noise_as": "singletons", "beta": 2.0, "partition_by": "run"}
    rows = engine.table("external_report", frame, **options)
    for row, own in zip(rows, resolution_report(engine, frame, **options), strict=True):
        shared = [name for name in own if name not in OWN]
        assert len(shared) == len(own) - len(OWN)
        assert_rows([{name: own[name] for name in shared}], [{name: row[name] for name in shared}])


def test_identities() -> None:
    """'product' counts the wrong pairs, 'entropy' is n times the variation of information."""
    cells = random_tables()[150]
    tp, fp, fn, tn = Table(cells).pair_counts()
    del tp, tn
    frame = stack_tables([cells])
    for cost, wanted in (
        ("product", fp + fn),
        (
            "entropy",
            ce.external_report(frame, "label", "cluster", weight="n")
            .select(pl.col("n") * pl.col("variation_of_information"))
            .item(),
        ),
    ):
        found = ce.entity_resolution_report(
            frame, "label", "cluster", weight="n", split_cost=cost, merge_cost=cost
        )
        assert found["generalized_merge_distance"].item() == pytest.approx(wanted, rel=1e-12)


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameter", ["split_cost", "merge_cost"])
@pytest.mark.parametrize(("given", "shown"), [("units", "'units'"), (None, "NULL")])
def test_an_unknown_cost(side: Engine, parameter: str, given: Any, shown: str) -> None:
    words = f"{parameter}: expected one of 'unit', 'product', 'entropy', got {shown}"
    frame = frame_of(ROWS, "run")
    if side.name == "duckdb":
        text = "NULL" if given is None else f"'{given}'"
        for call in (
            f"FROM clustereval.entity_resolution_report(t, label, cluster, {parameter} := {text})",
            f"SELECT clustereval.generalized_merge_distance(l, c, {parameter} := {text}) FROM t",
        ):
            side.connection.register("t", frame.select("label", "cluster", l="label", c="cluster"))  # type: ignore[attr-defined]
            with fails(side, words):
                side.connection.execute(call).fetchall()  # type: ignore[attr-defined]
    else:
        with fails(side, words):
            resolution_report(side, frame, **{parameter: given})
        with fails(side, words):
            side.scalars(frame, metrics=["generalized_merge_distance"], **{parameter: given})


def test_a_negative_beta(side: Engine) -> None:
    frame = frame_of(ROWS, "run")
    words = "beta: expected a number >= 0, got -1"
    with fails(side, words):
        resolution_report(side, frame, beta=-1)
    for name in ("closest_cluster_f_score", "muc_f_score", "lea_f_score", "blanc_f_score"):
        with fails(side, words):
            side.scalars(frame, metrics=[name], beta=-1)


def test_bad_columns(side: Engine) -> None:
    frame = frame_of(ROWS, "run")
    with fails(side, "weight: expected whole numbers >= 0"):
        resolution_report(side, frame.with_columns(n=pl.lit(-1)), weight="n")
    with fails(side, "noise_as: expected one of"):
        resolution_report(side, frame, noise=1, noise_as="keep")
