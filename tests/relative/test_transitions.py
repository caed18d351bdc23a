"""What became of clusters: plantings, the definition by sets, what must not matter, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

import polars_clustereval as ce
from tests.support.compare import assert_rows
from tests.support.engines import Engine, Row, fails
from tests.support.run_engines import call_pair
from tests.support.transition_oracle import (
    AFTER,
    BEFORE,
    PAIRS,
    SCHEMA,
    Planting,
    Run,
    assert_drift,
    by_part,
    drift_of,
    frame_of,
    moved_ids_of,
    plant,
    share,
    sort_key,
    stack,
    transitions_of,
)
from tests.test_laziness import Source

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES = ("run_transitions", "transition_overlaps", "moved_ids", "run_drift")
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
    before = stack(planting.before for planting in PLANTINGS)
    after = stack(planting.after for planting in PLANTINGS)
    rows = call_pair(engine, "run_transitions", before, after, partition_by="part")
    found = by_part(rows)
    assert {word for planting in PLANTINGS for *_, word in planting.transitions} >= {
        *("kept", "grown", "shrunk", "split", "merged", "gone", "new")
    }
    for number, planting in enumerate(PLANTINGS):
        assert_named_rightly(found[number], planting)


@given(st.integers(10**6, 10**9))
@settings(max_examples=4)
def test_any_planted_change_is_named(every_engine: list[Engine], seed: int) -> None:
    planting = plant(seed)
    before, after = frame_of(planting.before), frame_of(planting.after)
    for engine in every_engine:
        assert_named_rightly(call_pair(engine, "run_transitions", before, after), planting)


# Definitions --------------------------------------------------------------------------------------


def words_of(rows: list[Row]) -> list[tuple[Any, ...]]:
    names = ("cluster_before", "cluster_after", "transition", "ambiguity")
    return [tuple(row[name] for name in names) for row in rows]


def test_a_night(side: Engine) -> None:
    """a: two of four have left; b and c trade ids; d and e are one; f is kept; g is gone."""
    before = pl.DataFrame({"id": list(OLD), "cluster": list(OLD.values())})
    after = pl.DataFrame({"id": list(NEW), "cluster": list(NEW.values())})
    rows = call_pair(side, "run_transitions", before, after)
    assert_rows(rows, transitions_of(OLD, NEW))
    assert words_of(rows) == [
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


@pytest.mark.parametrize("case", CASES)
def test_cases_by_hand(side: Engine, case: str) -> None:
    before, after, wanted = CASES[case]
    runs = run_of(before), run_of(after)
    rows = call_pair(side, "run_transitions", *map(frame_of_letters, runs))
    assert words_of(rows) == wanted
    assert_rows(rows, transitions_of(*runs))


def test_small_parts_and_sources(side: Engine) -> None:
    """With min_share 0.2 one id in ten is no part, and no source."""
    before, after = run_of("aaaaaaaaaabccccccccc"), run_of("xxxxxxxxxyzzzzzzzzzz")
    frames = frame_of_letters(before), frame_of_letters(after)
    rows = call_pair(side, "run_transitions", *frames, min_share=0.2)
    assert words_of(rows) == [
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
    found = by_part(rows)
    if not options:
        assert {row["ambiguity"] for row in rows} == {
            *("split and merged", "scattered", "gathered", None)
        }
    for number, pair in enumerate(PAIRS):
        assert_rows(found.get(number, []), transitions_of(*pair, **options), what=number)


@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_overlaps_and_moves_by_sets(engine: Engine, threshold: float) -> None:
    options = {"partition_by": "part", "threshold": threshold}
    overlaps = by_part(call_pair(engine, "transition_overlaps", BEFORE, AFTER, **options))
    moves = by_part(call_pair(engine, "moved_ids", BEFORE, AFTER, **options))
    for number, pair in enumerate(PAIRS):
        assert_rows(overlaps.get(number, []), overlaps_of(*pair, threshold), what=number)
        assert_rows(moves.get(number, []), moved_ids_of(*pair, threshold), what=number)


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


@pytest.mark.parametrize("options", [{}, {"threshold": 0.3, "min_share": 0.2}], ids=str)
def test_the_other_way_round(engine: Engine, options: dict[str, float]) -> None:
    """Split becomes merged, new gone and grown shrunk."""
    arguments: dict[str, Any] = {"partition_by": "part", **options}
    there = by_part(call_pair(engine, "run_transitions", BEFORE, AFTER, **arguments))
    back = by_part(call_pair(engine, "run_transitions", AFTER, BEFORE, **arguments))
    assert there.keys() == back.keys()
    for part, rows in there.items():
        assert sorted(map(mirrored, back[part]), key=sort_key) == rows


@pytest.mark.parametrize("threshold", [0.01, 0.5, 1.0])
def test_a_run_and_itself(engine: Engine, threshold: float) -> None:
    rows = call_pair(engine, "run_transitions", BEFORE, BEFORE, threshold=threshold,
                     partition_by="part")  # fmt: skip
    assert rows
    for row in rows:
        assert (row["transition"], row["ambiguity"]) == ("kept", None)
        assert row["cluster_before"] == row["cluster_after"]
        assert row["n_common"] == row["n_before"] == row["n_after"]
    assert not call_pair(engine, "moved_ids", BEFORE, BEFORE, partition_by="part")
    for row in call_pair(engine, "run_drift", BEFORE, BEFORE, partition_by="part"):
        assert (row["churn"], row["population_stability_index"]) == (0.0, 0.0)


def tables(engine: Engine, before: pl.DataFrame, after: pl.DataFrame, **more: Any) -> list[Any]:
    return [call_pair(engine, table, before, after, **more) for table in TABLES]


def assert_same_tables(found: list[Any], wanted: list[Any]) -> None:
    for table, (rows, others) in enumerate(zip(found, wanted, strict=True)):
        assert_rows(rows, others, what=TABLES[table])


def test_row_order_and_rows_without_a_cluster(engine: Engine) -> None:
    wanted = tables(engine, BEFORE, AFTER, partition_by="part")
    missing = pl.DataFrame({"part": [0, 999], "id": [5000, 5000], "cluster": [None, None]})
    frames = [
        pl.concat([frame, missing.cast(SCHEMA), missing.cast(SCHEMA)]).sample(
            fraction=1, shuffle=True, seed=5
        )
        for frame in (BEFORE, AFTER)
    ]
    assert_same_tables(tables(engine, *frames, partition_by="part"), wanted)


def test_names_are_only_names(engine: Engine) -> None:
    """Other names in either run; the stability index alone compares names."""
    renamed = AFTER.with_columns(cluster=pl.col("cluster") * -7 + 100)
    for table in ("run_transitions", "transition_overlaps"):
        wanted = call_pair(engine, table, BEFORE, AFTER, partition_by="part")
        for row in wanted:
            after = row["cluster_after"]
            row["cluster_after"] = None if after is None else after * -7 + 100
        found = call_pair(engine, table, BEFORE, renamed, partition_by="part")
        key: Callable[[Row], Any] = lambda row: (row["part"], sort_key(row))  # noqa: E731
        assert sorted(found, key=key) == sorted(wanted, key=key)
    drifts = [
        call_pair(engine, "run_drift", BEFORE, after, partition_by="part")
        for after in (AFTER, renamed)
    ]
    for rows in drifts:
        for row in rows:
            row.pop("population_stability_index")
    assert_rows(*drifts)


def test_partitions_are_evaluated_alone(engine: Engine) -> None:
    parts = pl.col("part") < 3
    found = tables(engine, BEFORE.filter(parts), AFTER.filter(parts), partition_by="part")
    alone = [
        [
            {"part": part} | row
            for part in range(3)
            for row in call_pair(
                engine,
                table,
                BEFORE.filter(pl.col("part") == part),
                AFTER.filter(pl.col("part") == part),
            )
        ]
        for table in TABLES
    ]
    assert_same_tables(found, alone)


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
        frame_of(run).with_columns(convert(pl.col(name)).alias(name) for name in ("id", "cluster"))
        for run in PAIRS[1]
    )
    rows = call_pair(side, "run_transitions", before, after)
    wanted = transitions_of(*PAIRS[1])
    assert [row["transition"] for row in rows] == [row["transition"] for row in wanted]
    moved = call_pair(side, "moved_ids", before, after)
    assert len(moved) == len(moved_ids_of(*PAIRS[1]))
    (drift,) = call_pair(side, "run_drift", before, after)
    assert_drift(drift, drift_of(*PAIRS[1]))


# Degenerate runs ----------------------------------------------------------------------------------


EMPTY = frame_of({})


def test_no_rows(engine: Engine) -> None:
    for table in ("run_transitions", "transition_overlaps", "moved_ids"):
        assert call_pair(engine, table, EMPTY, EMPTY) == []
    (row,) = call_pair(engine, "run_drift", EMPTY, EMPTY)
    assert_drift(row, drift_of({}, {}))
    empty = EMPTY.with_columns(part=pl.lit(1, pl.Int64))
    assert call_pair(engine, "run_drift", empty, empty, partition_by="part") == []


@pytest.mark.parametrize("runs", [({}, {1: 0}), ({1: 0}, {}), ({1: 0}, {2: 0})], ids=str)
def test_runs_without_common_ids(engine: Engine, runs: tuple[Run, Run]) -> None:
    frames = [frame_of(run) for run in runs]
    assert_rows(call_pair(engine, "run_transitions", *frames), transitions_of(*runs))
    (row,) = call_pair(engine, "run_drift", *frames)
    assert_drift(row, drift_of(*runs))
    assert row["adjusted_rand_score"] is None


# Noise --------------------------------------------------------------------------------------------


NOISY_BEFORE, NOISY_AFTER = (
    frame.with_columns(cluster=pl.when(pl.col("cluster") == 1).then(-1).otherwise("cluster"))
    for frame in (BEFORE, AFTER)
)


def test_noise_is_an_ordinary_cluster_unless_told(engine: Engine) -> None:
    frames = (NOISY_BEFORE, NOISY_AFTER)
    wanted = tables(engine, *frames, partition_by="part")
    assert_same_tables(tables(engine, *frames, partition_by="part", noise=-1), wanted)


def test_dropped_noise_is_not_in_the_run(engine: Engine) -> None:
    frames = [frame.filter(pl.col("cluster") != -1) for frame in (NOISY_BEFORE, NOISY_AFTER)]
    wanted = tables(engine, *frames, partition_by="part")
    options = {"partition_by": "part", "noise": -1, "noise_as": "drop"}
    assert_same_tables(tables(engine, NOISY_BEFORE, NOISY_AFTER, **options), wanted)


def test_singletons_are_not_tracked(side: Engine) -> None:
    """a loses an id to the noise, b gains one, and one stays noise."""
    before = pl.DataFrame({"id": range(8), "cluster": [0, 0, 0, 1, 1, -1, -1, -1]})
    after = pl.DataFrame({"id": range(9), "cluster": [0, 0, -1, 1, 1, 1, -1, 2, -1]})
    options = {"noise": -1, "noise_as": "singletons"}
    rows = call_pair(side, "run_transitions", before, after, **options)
    assert words_of(rows) == [
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


# Errors -------------------------------------------------------------------------------------------


ONE = pl.DataFrame({"id": [1, 2, 3], "cluster": [0, 0, 1]})


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("threshold", [0, -0.1, 1.5, None, "half"])
def test_a_threshold_that_is_no_share(side: Engine, table: str, threshold: Any) -> None:
    shown = "NULL" if threshold is None else str(threshold)
    for frame in (ONE, ONE.clear()):
        with fails(side, f"threshold: expected a number above 0 and at most 1, got {shown}"):
            call_pair(side, table, frame, frame, threshold=threshold)


@pytest.mark.parametrize("table", ["run_transitions", "run_drift"])
@pytest.mark.parametrize("min_share", [-0.1, 0.6, None, "some"])
def test_a_min_share_beyond_the_threshold(side: Engine, table: str, min_share: Any) -> None:
    shown = "NULL" if min_share is None else str(min_share)
    with fails(side, f"min_share: expected a number from 0 to the threshold, got {shown}"):
        call_pair(side, table, ONE, ONE, min_share=min_share)


@pytest.mark.parametrize("table", TABLES)
def test_an_id_twice_in_a_run(side: Engine, table: str) -> None:
    twice = pl.DataFrame({"id": [3, 1, 2, 2, 3], "cluster": [0, 0, 0, 1, 0]})
    words = "id: expected one row per id in a run, got several rows of id 2 in the run"
    with fails(side, f"{words} before"):
        call_pair(side, table, twice, ONE)
    with fails(side, f"{words} after"):
        call_pair(side, table, ONE, twice)


def test_an_id_in_two_partitions_or_without_a_cluster_is_not_twice(side: Engine) -> None:
    frame = pl.DataFrame(
        {"id": [1, 1, 1], "cluster": [0, 0, None], "part": [1, 2, 2]},
    )
    rows = call_pair(side, "run_transitions", frame, frame, partition_by="part")
    assert [row["transition"] for row in rows] == ["kept", "kept"]


@pytest.mark.parametrize("table", TABLES)
def test_a_missing_id(side: Engine, table: str) -> None:
    missing = pl.DataFrame({"id": [1, None, None], "cluster": [0, 0, 1]})
    words = "id: expected a value in every row, got NULL in 2 rows of the run"
    with fails(side, f"{words} before"):
        call_pair(side, table, missing, ONE)
    with fails(side, f"{words} after"):
        call_pair(side, table, ONE, missing)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("column", ["id", "cluster", "part"])
@pytest.mark.parametrize("kind", ["String", "Date"])
def test_columns_of_two_types(side: Engine, table: str, column: str, kind: str) -> None:
    """DuckDB would unite text with numbers, and not find a type for numbers and dates."""
    frame = ONE.with_columns(part=1)
    other = frame.with_columns(pl.col(column).cast(getattr(pl, kind)))
    parameter = "partition_by" if column == "part" else column
    words = f"{parameter}: expected the same type in both runs, got "
    for frames in ((frame, other), (frame.clear(), other.clear())):
        with fails(side, words) as raised:
            call_pair(side, table, *frames, partition_by="part")
        text = str(raised.value)
        in_duckdb = {"String": "VARCHAR", "Date": "DATE"}[kind]
        shown = in_duckdb if side.name == "duckdb" else kind
        assert f" before and {shown} after" in text
        assert "; cast one of them" in text


@pytest.mark.parametrize("table", TABLES)
def test_a_column_that_one_run_lacks(side: Engine, table: str) -> None:
    other = ONE.rename({"cluster": "group"})
    for frames, name in (((other, ONE), "frame_before"), ((ONE, other), "frame_after")):
        words = "cluster" if side.name == "duckdb" else f"{name}: cluster: column 'cluster' not fo"
        with fails(side, words):
            call_pair(side, table, *frames)
    part = ONE.with_columns(part=1)
    words = "part" if side.name == "duckdb" else "frame_after: partition_by: column 'part' not fo"
    with fails(side, words):
        call_pair(side, table, part, ONE, partition_by="part")


@pytest.mark.parametrize("table", TABLES)
def test_bad_noise(side: Engine, table: str) -> None:
    with fails(side, "noise: expected a value of the type of cluster") as raised:
        call_pair(side, table, ONE, ONE, noise="x")
    assert "'x'" in str(raised.value)
    with fails(side, "noise_as: expected one of 'cluster', 'drop', 'singletons', got 'skip'"):
        call_pair(side, table, ONE, ONE, noise=0, noise_as="skip")
    with fails(side, "noise_as 'drop' needs noise: give the value of cluster that marks noise"):
        call_pair(side, table, ONE, ONE, noise_as="drop")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("parameter", ["id", "cluster", "partition_by"])
def test_a_quoted_column(con: duckdb.DuckDBPyConnection, table: str, parameter: str) -> None:
    con.register("one", ONE)
    columns = {"id": "id", "cluster": "cluster"} | {parameter: f"'{parameter}'"}
    arguments = ", ".join(f"{name} := {column}" for name, column in columns.items())
    words = f"{parameter}: expected a column, got the quoted string '{parameter}'"
    with pytest.raises(duckdb.Error, match=words):
        con.execute(
            f"FROM clustereval.{table}(tbl_before := one, tbl_after := one, {arguments})"
        ).fetchall()


@pytest.mark.parametrize("table", TABLES)
def test_a_partition_column_named_like_a_result(table: str) -> None:
    name = getattr(ce, table)(ONE, ONE, "id", "cluster").columns[-1]
    frame = ONE.with_columns(pl.lit(1).alias(name))
    words = f"partition_by: '{name}' is also a column of the result; rename it first"
    with pytest.raises(ce.ClusterEvalError, match=words):
        getattr(ce, table)(frame, frame, "id", "cluster", partition_by=name)


@pytest.mark.parametrize("table", TABLES)
def test_nothing_is_read_at_the_call(table: str) -> None:
    before, after = Source(ONE), Source(ONE)
    result = getattr(ce, table)(before.lazy, after.lazy, "id", "cluster", noise=1)
    assert (before.readings, after.readings) == (0, 0)
    result.collect(engine="streaming")
    assert before.readings == after.readings == 1
