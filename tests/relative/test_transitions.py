"""What became of clusters: plantings, the definition by sets, what must not matter."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from tests.support.compare import assert_rows
from tests.support.engines import Row, by_value
from tests.support.run_engines import PAIR_TABLES, call_pair
from tests.support.transition_oracle import (
    AFTER,
    BEFORE,
    PAIRS,
    SCHEMA,
    Planting,
    Run,
    affected_ids_of,
    assert_drift,
    drift_of,
    drift_of_pair,
    frame_of_run,
    moved_ids_of,
    plant,
    share,
    sort_key,
    stack_runs,
    transitions_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.engines import Engine

#: The rows of each table.
Tables = dict[str, list[Row]]
MIRRORED = {
    "split": "merged",
    "merged": "split",
    "gone": "new",
    "new": "gone",
    "grown": "shrunk",
    "shrunk": "grown",
    "kept": "kept",
    "scattered": "gathered",
    "gathered": "scattered",
    "split and merged": "split and merged",
    None: None,
}


# With ids that leave and join, a split, a merger and all else that a row can say.
OLD: Run = dict(zip(range(20), "aaaabbbbbbccddeefffg", strict=True))
NEW: Run = dict(zip(range(2, 22), "ppqqqrrrssssttuuuvww", strict=True))


# Plantings ----------------------------------------------------------------------------------------


PLANTINGS = [plant(seed) for seed in range(len(PAIRS))]


def assert_named_rightly(rows: list[Row], planting: Planting) -> None:
    found = {(row["cluster_before"], row["cluster_after"], row["transition"]) for row in rows}
    assert found == planting.transitions
    assert len(rows) == len(found)
    assert {row["ambiguity"] for row in rows} == {None}


def test_every_planted_change_is_named(engine: Engine) -> None:
    before = stack_runs(planting.before for planting in PLANTINGS)
    after = stack_runs(planting.after for planting in PLANTINGS)
    rows = call_pair(engine, "run_transitions", before, after, partition_by="part")
    found = by_value(rows, "part")
    assert {word for planting in PLANTINGS for *_, word in planting.transitions} >= {
        *("kept", "grown", "shrunk", "split", "merged", "gone", "new")
    }
    for number, planting in enumerate(PLANTINGS):
        assert_named_rightly(found[number], planting)


@given(st.integers(10**6, 10**9))
@settings(max_examples=4)
def test_any_planted_change_is_named(every_engine: list[Engine], seed: int) -> None:
    planting = plant(seed)
    before, after = frame_of_run(planting.before), frame_of_run(planting.after)
    for engine in every_engine:
        assert_named_rightly(call_pair(engine, "run_transitions", before, after), planting)


# Definitions --------------------------------------------------------------------------------------


def transitions_by_cluster(rows: list[Row]) -> list[tuple[Any, ...]]:
    names = ("cluster_before", "cluster_after", "transition", "ambiguity")
    return [tuple(row[name] for name in names) for row in rows]


def test_a_night(side: Engine) -> None:
    """a: two of four have left; b and c trade ids; d and e are one; f is kept; g is gone."""
    before = pl.DataFrame({"id": list(OLD), "cluster": list(OLD.values())})
    after = pl.DataFrame({"id": list(NEW), "cluster": list(NEW.values())})
    rows = call_pair(side, "run_transitions", before, after)
    assert_rows(rows, transitions_of(OLD, NEW))
    assert transitions_by_cluster(rows) == [
        ("a", "p", "shrunk", None),
        ("b", None, "split", None),
        ("b", "q", "split", None),
        ("b", "r", "split", None),
        ("c", "s", "merged", None),
        ("d", "s", "merged", None),
        ("e", "t", "kept", None),
        ("f", "u", "kept", None),
        ("g", "v", "kept", None),
        (None, "s", "merged", None),
        (None, "w", "new", None),
    ]
    assert rows[1] == {
        "cluster_before": "b",
        "cluster_after": None,
        "transition": "split",
        "ambiguity": None,
        "n_clusters_before": 1,
        "n_clusters_after": 2,
        "n_before": 6,
        "n_after": 6,
        "n_common": 6,
        "n_left": 0,
        "n_joined": 0,
        "share_before": 1.0,
        "share_after": 1.0,
    }


CASES: dict[str, tuple[str, str, list[tuple[Any, ...]]]] = {
    "all have left": ("aaa...", "...xxx", [("a", None, "gone", None), (None, "x", "new", None)]),
    "all scattered": (
        "aaabbbbcccddd",
        "xyzxxxxyyyzzz",
        [
            ("a", None, "gone", "scattered"),
            *(("b", "x", "grown", None), ("c", "y", "grown", None), ("d", "z", "grown", None)),
        ],
    ),
    "gathered from others": (
        "aaaabbbbcccc",
        "pppoqqqorrro",
        [
            ("a", "p", "shrunk", None),
            ("b", "q", "shrunk", None),
            ("c", "r", "shrunk", None),
            (None, "o", "new", "gathered"),
        ],
    ),
    "split and merged": (
        "aaaaaabbbb",
        "xxxyyyyyyy",
        [
            ("a", None, "split", "split and merged"),
            ("a", "x", "split", None),
            ("b", "y", "merged", None),
            (None, "y", "merged", "split and merged"),
        ],
    ),
    "an id that is alone": (
        "aaaaaaaaaa",
        "xxxxxxxxxy",
        [("a", None, "split", None), ("a", "x", "split", None), ("a", "y", "split", None)],
    ),
    "halves, each in a cluster of others": (
        "aabbbccc",
        "xyxxxyyy",
        [
            ("a", None, "split", "split and merged"),
            *(("b", "x", "merged", None), ("c", "y", "merged", None)),
            *((None, "x", "merged", "split and merged"), (None, "y", "merged", "split and merged")),
        ],
    ),
    "all of it is in a cluster that is mostly others": (
        "aaabbbbccccddddeeee",
        "xxxyyyxzzzxvvvxwwwx",
        [
            ("a", "x", "grown", "gathered"),
            *(("b", "y", "shrunk", None), ("c", "z", "shrunk", None)),
            *(("d", "v", "shrunk", None), ("e", "w", "shrunk", None)),
        ],
    ),
    "no cluster": ("", "", []),
}


def run_of(letters: str) -> Run:
    return {i: letter for i, letter in enumerate(letters) if letter != "."}


def frame_of_letters(run: Run) -> pl.DataFrame:
    schema = {"id": pl.Int64, "cluster": pl.String}
    return pl.DataFrame({"id": list(run), "cluster": list(run.values())}, schema=schema)


def test_cases_by_hand(side: Engine) -> None:
    runs = [(run_of(before), run_of(after)) for before, after, _ in CASES.values()]
    frames = [
        pl.concat(
            frame_of_letters(run).with_columns(part=pl.lit(part, pl.Int64))
            for part, run in enumerate(of_cases)
        )
        for of_cases in zip(*runs, strict=True)
    ]
    found = by_value(call_pair(side, "run_transitions", *frames, partition_by="part"), "part")
    for part, (case, (*_, wanted)) in enumerate(CASES.items()):
        rows = found.get(part, [])
        assert transitions_by_cluster(rows) == wanted, case
        assert_rows(rows, transitions_of(*runs[part]), what=case)


def test_a_case_without_partitions(side: Engine) -> None:
    before, after, wanted = CASES["split and merged"]
    frames = frame_of_letters(run_of(before)), frame_of_letters(run_of(after))
    rows = call_pair(side, "run_transitions", *frames)
    assert transitions_by_cluster(rows) == wanted


def test_small_parts_and_sources(side: Engine) -> None:
    """With min_share 0.2 one id in ten is no part, and no source."""
    before, after = run_of("aaaaaaaaaabccccccccc"), run_of("xxxxxxxxxyzzzzzzzzzz")
    frames = frame_of_letters(before), frame_of_letters(after)
    rows = call_pair(side, "run_transitions", *frames, min_share=0.2)
    assert transitions_by_cluster(rows) == [
        ("a", "x", "shrunk", None),
        ("a", "y", "split", None),
        ("b", "z", "merged", None),
        ("c", "z", "grown", None),
    ]
    rows = call_pair(side, "run_transitions", *frames)
    assert [row["transition"] for row in rows] == [*["split"] * 3, *["merged"] * 3]


OPTIONS: list[dict[str, float]] = [
    {},
    {"threshold": 0.3},
    {"threshold": 1.0},
    {"threshold": 0.7, "min_share": 0.25},
    {"threshold": 0.2, "min_share": 0.1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_definition_by_sets(engine: Engine, options: dict[str, float]) -> None:
    rows = call_pair(engine, "run_transitions", BEFORE, AFTER, partition_by="part", **options)
    found = by_value(rows, "part")
    if not options:
        assert {row["ambiguity"] for row in rows} == {
            *("split and merged", "scattered", "gathered", None)
        }
    for number, pair in enumerate(PAIRS):
        assert_rows(found.get(number, []), transitions_of(*pair, **options), what=number)


@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_overlaps_and_moves_by_sets(engine: Engine, threshold: float) -> None:
    options = {"partition_by": "part", "threshold": threshold}
    overlaps = by_value(call_pair(engine, "transition_overlaps", BEFORE, AFTER, **options), "part")
    moves = by_value(call_pair(engine, "moved_ids", BEFORE, AFTER, **options), "part")
    for number, pair in enumerate(PAIRS):
        assert_rows(overlaps.get(number, []), overlaps_of(*pair, threshold), what=number)
        assert_rows(moves.get(number, []), moved_ids_of(*pair, threshold), what=number)


def test_affected_ids_by_sets(engine: Engine) -> None:
    found = by_value(call_pair(engine, "affected_ids", BEFORE, AFTER, partition_by="part"), "part")
    for number, pair in enumerate(PAIRS):
        assert_rows(found.get(number, []), affected_ids_of(*pair), what=number)


def test_the_ids_of_a_split_cluster_are_affected_and_not_moved(engine: Engine) -> None:
    before, after = frame_of_run(dict.fromkeys(range(4), 0)), frame_of_run({0: 5, 1: 5, 2: 6, 3: 7})
    assert not call_pair(engine, "moved_ids", before, after)
    rows = call_pair(engine, "affected_ids", before, after)
    counts = [(row["n_kept"], row["n_lost"], row["n_gained"]) for row in rows]
    assert counts == [(1, 2, 0), (1, 2, 0), (0, 3, 0), (0, 3, 0)]


@pytest.mark.parametrize("noise_as", ["drop", "singletons"])
def test_noise_has_no_companions(engine: Engine, noise_as: str) -> None:
    """Noise that is dropped is not in the run; as singletons, each is in a cluster of its own."""
    pairs: list[tuple[Run, Run]] = []
    for before, after in PAIRS[:8]:
        runs = []
        for run in (before, after):
            noisy = {i: -1 if i % 4 == 0 else cluster for i, cluster in run.items()}
            runs.append(noisy)
        pairs.append((runs[0], runs[1]))
    frames = [stack_runs(runs) for runs in zip(*pairs, strict=True)]
    options = {"partition_by": "part", "noise": -1, "noise_as": noise_as}
    found = by_value(call_pair(engine, "affected_ids", *frames, **options), "part")
    for number, pair in enumerate(pairs):
        alone = [
            {
                i: cluster if cluster != -1 else (1000 + i)
                for i, cluster in run.items()
                if noise_as == "singletons" or cluster != -1
            }
            for run in pair
        ]
        wanted = affected_ids_of(*alone)
        for row in wanted:
            for name in ("cluster_before", "cluster_after"):
                row[name] = -1 if (row[name] or 0) >= 1000 else row[name]
        assert_rows(found.get(number, []), wanted, what=number)


def overlaps_of(before: Run, after: Run, threshold: float) -> list[Row]:
    common = {*before} & {*after}
    rows = []
    for one in sorted({*before.values()}):
        for two in sorted({*after.values()}):
            ids = {i for i in before if before[i] == one}
            others = {i for i in after if after[i] == two}
            shares = share(ids, others, common), share(others, ids, common)
            if shares[0] and shares[1]:
                rows.append(
                    {
                        "cluster_before": one,
                        "cluster_after": two,
                        "n_before": len(ids),
                        "n_after": len(others),
                        "n_common": len(ids & others),
                        "share_before": float(shares[0]),
                        "share_after": float(shares[1]),
                        "jaccard": len(ids & others) / len((ids | others) & common),
                        "is_link": bool(max(shares) >= threshold),
                    }
                )
    return rows


# Symmetry, and what must not matter ---------------------------------------------------------------


def mirrored(row: Row) -> Row:
    pairs = [("n_left", "n_joined")]
    pairs += [(f"{x}_before", f"{x}_after") for x in ("cluster", "n_clusters", "n", "share")]
    names = {one: other for pair in pairs for one, other in (pair, pair[::-1])}
    words = {name: MIRRORED[row[name]] for name in ("transition", "ambiguity")}
    return {name: row[names.get(name, name)] for name in row} | words


NOISY = [
    frame.with_columns(cluster=pl.when(pl.col("cluster") == 1).then(-1).otherwise("cluster"))
    for frame in (BEFORE, AFTER)
]
MISSING = pl.DataFrame({"part": [0, 500], "id": [5000, 5000], "cluster": [None, None]}, SCHEMA)
#: Both runs of all parts, in several forms.
VARIANTS: dict[str, list[pl.DataFrame]] = {
    "plain": [BEFORE, AFTER],
    "swapped": [AFTER, BEFORE],
    "in another order, with rows without a cluster": [
        pl.concat([frame, MISSING, MISSING]).sample(fraction=1, shuffle=True, seed=5)
        for frame in (BEFORE, AFTER)
    ],
    "with other names": [BEFORE, AFTER.with_columns(cluster=pl.col("cluster") * -7 + 100)],
    "with noise": NOISY,
    "without noise": [frame.filter(pl.col("cluster") != -1) for frame in NOISY],
}


def by_table(engine: Engine, before: pl.DataFrame, after: pl.DataFrame, **more: Any) -> Tables:
    return {table: call_pair(engine, table, before, after, **more) for table in PAIR_TABLES}


@cache
def pair_tables_by_variant(engine: Engine) -> dict[str, Tables]:
    """The tables of each variant, from one call of each table."""
    before, after = (
        pl.concat(
            frames[place].with_columns(part=pl.col("part") + 1000 * number)
            for number, frames in enumerate(VARIANTS.values())
        )
        for place in (0, 1)
    )
    found: dict[str, Tables] = {name: {table: [] for table in PAIR_TABLES} for name in VARIANTS}
    for table, rows in by_table(engine, before, after, partition_by="part").items():
        for row in rows:
            number, part = divmod(row["part"], 1000)
            found[list(VARIANTS)[number]][table].append(row | {"part": part})
    assert all(map(all, (tables.values() for tables in found.values())))
    return found


def assert_same_tables(found: Tables, wanted: Tables, what: str = "") -> None:
    assert found.keys() == wanted.keys()
    for table, rows in found.items():
        assert_rows(rows, wanted[table], what=(table, what))


def assert_opposite(there: list[Row], back: list[Row]) -> None:
    found, wanted = by_value(back, "part"), by_value(there, "part")
    assert found.keys() == wanted.keys()
    for part, rows in wanted.items():
        assert sorted(map(mirrored, found[part]), key=sort_key) == rows, part


@pytest.mark.gate
def test_the_other_way_round(engine: Engine) -> None:
    """Split becomes merged, new gone and grown shrunk."""
    found = pair_tables_by_variant(engine)
    assert_opposite(*(found[name]["run_transitions"] for name in ("plain", "swapped")))


def test_the_other_way_round_with_other_limits(engine: Engine) -> None:
    options: dict[str, Any] = {"partition_by": "part", "threshold": 0.3, "min_share": 0.2}
    assert_opposite(
        call_pair(engine, "run_transitions", BEFORE, AFTER, **options),
        call_pair(engine, "run_transitions", AFTER, BEFORE, **options),
    )


@pytest.mark.parametrize("threshold", [0.01, 0.5, 1.0])
def test_a_run_and_itself(engine: Engine, threshold: float) -> None:
    rows = call_pair(engine, "run_transitions", BEFORE, BEFORE, threshold=threshold,
                     partition_by="part")  # fmt: skip
    assert rows
    for row in rows:
        assert (row["transition"], row["ambiguity"]) == ("kept", None)
        assert row["cluster_before"] == row["cluster_after"]
        assert row["n_common"] == row["n_before"] == row["n_after"]


def test_no_change_from_a_run_to_itself(engine: Engine) -> None:
    for table in ("moved_ids", "affected_ids"):
        assert not call_pair(engine, table, BEFORE, BEFORE, partition_by="part")
    for row in call_pair(engine, "run_drift", BEFORE, BEFORE, partition_by="part"):
        assert (row["churn"], row["population_stability_index"]) == (0.0, 0.0)


def test_row_order_and_rows_without_a_cluster(engine: Engine) -> None:
    found = pair_tables_by_variant(engine)
    name = "in another order, with rows without a cluster"
    assert_same_tables(found[name], found["plain"])


def test_names_are_only_names(engine: Engine) -> None:
    """Other names in either run. Only ties in the stability index are decided by names."""
    found = pair_tables_by_variant(engine)
    plain, renamed = found["plain"], found["with other names"]
    key: Callable[[Row], Any] = lambda row: (row["part"], sort_key(row))  # noqa: E731
    for table in ("run_transitions", "transition_overlaps"):
        wanted = [
            row | {"cluster_after": None if after is None else after * -7 + 100}
            for row in plain[table]
            for after in [row["cluster_after"]]
        ]
        assert sorted(renamed[table], key=key) == sorted(wanted, key=key)
    of_names = {"population_stability_index": None}
    assert_rows(*([row | of_names for row in x["run_drift"]] for x in (plain, renamed)))


@pytest.mark.parametrize("table", PAIR_TABLES)
def test_partitions_are_evaluated_alone(engine: Engine, table: str) -> None:
    """Against the row of the same part among all; another part for each table."""
    rows = pair_tables_by_variant(engine)["plain"][table]
    parts = sorted({row["part"] for row in rows})
    part = parts[PAIR_TABLES.index(table) % len(parts)]
    frames = [frame.filter(part=part).drop("part") for frame in (BEFORE, AFTER)]
    wanted = [row for row in rows if row["part"] == part]
    alone = [{"part": part} | row for row in call_pair(engine, table, *frames)]
    assert len(wanted) > 0
    assert_rows(alone, wanted)


def test_a_partition_of_one_run_and_a_null_partition(engine: Engine) -> None:
    before = pl.DataFrame({"part": [1, 1, None], "id": [1, 2, 1], "cluster": [0, 0, 5]})
    after = pl.DataFrame({"part": [None, 2], "id": [1, 1], "cluster": [6, 7]})
    rows = call_pair(engine, "run_transitions", before, after, partition_by="part")
    assert [(row["part"], row["transition"]) for row in rows] == [
        (1, "gone"),
        (2, "new"),
        (None, "kept"),
    ]
    drift = call_pair(engine, "run_drift", before, after, partition_by="part")
    assert [(row["part"], row["churn"]) for row in drift] == [(1, 1.0), (2, 1.0), (None, 0.0)]
    assert [row["adjusted_rand_score"] for row in drift] == [None, None, 1.0]


@pytest.mark.parametrize(
    "dtype",
    [pl.String, pl.Int8, pl.Float32, pl.List(pl.Int64), pl.Struct({"x": pl.Int64})],
    ids=str,
)
def test_types(side: Engine, dtype: Any) -> None:
    convert = {
        pl.List(pl.Int64): lambda x: pl.concat_list(x),
        pl.Struct({"x": pl.Int64}): lambda x: pl.struct(x=x),
    }.get(dtype, lambda x: x.cast(dtype))
    before, after = (
        frame_of_run(run).with_columns(
            convert(pl.col(name)).alias(name) for name in ("id", "cluster")
        )
        for run in PAIRS[1]
    )
    rows = call_pair(side, "run_transitions", before, after)
    wanted = transitions_of(*PAIRS[1])
    assert [row["transition"] for row in rows] == [row["transition"] for row in wanted]
    moved = call_pair(side, "moved_ids", before, after)
    assert len(moved) == len(moved_ids_of(*PAIRS[1]))
    (drift,) = call_pair(side, "run_drift", before, after)
    assert_drift(drift, drift_of_pair(1))


# Degenerate runs ----------------------------------------------------------------------------------


EMPTY = frame_of_run({})


def test_no_rows(engine: Engine) -> None:
    for table in ("run_transitions", "transition_overlaps", "moved_ids"):
        assert call_pair(engine, table, EMPTY, EMPTY) == []
    (row,) = call_pair(engine, "run_drift", EMPTY, EMPTY)
    assert_drift(row, drift_of({}, {}))
    empty = EMPTY.with_columns(part=pl.lit(1, pl.Int64))
    assert call_pair(engine, "run_drift", empty, empty, partition_by="part") == []


def test_runs_without_common_ids(engine: Engine) -> None:
    cases: list[tuple[Run, Run]] = [({}, {1: 0}), ({1: 0}, {}), ({1: 0}, {2: 0})]
    frames = [stack_runs(runs) for runs in zip(*cases, strict=True)]
    found = by_value(call_pair(engine, "run_transitions", *frames, partition_by="part"), "part")
    drifts = by_value(call_pair(engine, "run_drift", *frames, partition_by="part"), "part")
    for part, case in enumerate(cases):
        assert_rows(found[part], transitions_of(*case), what=case)
        [row] = drifts[part]
        assert_drift(row, drift_of(*case), case)
        assert row["adjusted_rand_score"] is None


@pytest.mark.parametrize("runs", [({}, {1: 0}), ({1: 0}, {})], ids=str)
def test_a_run_without_rows(engine: Engine, runs: tuple[Run, Run]) -> None:
    frames = [frame_of_run(run) for run in runs]
    assert_rows(call_pair(engine, "run_transitions", *frames), transitions_of(*runs))
    [row] = call_pair(engine, "run_drift", *frames)
    assert_drift(row, drift_of(*runs))


# Noise --------------------------------------------------------------------------------------------


def test_noise_is_an_ordinary_cluster_unless_told(engine: Engine) -> None:
    wanted = pair_tables_by_variant(engine)["with noise"]
    assert_same_tables(
        by_table(engine, *NOISY, partition_by="part", noise=-1, noise_as="cluster"), wanted
    )


def test_dropped_noise_is_not_in_the_run(engine: Engine) -> None:
    options = {"partition_by": "part", "noise": -1, "noise_as": "drop"}
    wanted = pair_tables_by_variant(engine)["without noise"]
    assert_same_tables(by_table(engine, *NOISY, **options), wanted)


def test_singletons_are_not_tracked(side: Engine) -> None:
    """a loses an id to the noise, b gains one, and one stays noise."""
    before = pl.DataFrame({"id": range(8), "cluster": [0, 0, 0, 1, 1, -1, -1, -1]})
    after = pl.DataFrame({"id": range(9), "cluster": [0, 0, -1, 1, 1, 1, -1, 2, -1]})
    options = {"noise": -1, "noise_as": "singletons"}
    rows = call_pair(side, "run_transitions", before, after, **options)
    assert transitions_by_cluster(rows) == [
        (0, 0, "shrunk", None),
        (1, 1, "grown", None),
        (None, 2, "new", "gathered"),
    ]
    assert [row["share_before"] for row in rows] == [2 / 3, 1.0, None]
    assert [row["share_after"] for row in rows] == [1.0, 2 / 3, 0.0]
    moved = call_pair(side, "moved_ids", before, after, **options)
    assert [tuple(row.values()) for row in moved] == [
        *((2, 0, -1), (5, -1, 1), (7, -1, 2), (8, None, -1)),
    ]
    (drift,) = call_pair(side, "run_drift", before, after, **options)
    assert (drift["n_moved"], drift["n_joined"], drift["n_common"]) == (3, 1, 8)
    old, new = [0, 0, 0, 1, 1, 10, 11, 12], [0, 0, 20, 1, 1, 1, 21, 2]
    for name in ("adjusted_rand_score", "adjusted_mutual_info_score"):
        assert drift[name] == pytest.approx(getattr(sk, name)(old, new), abs=1e-12)
