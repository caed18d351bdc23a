"""Errors of records and of true clusters: er-evaluation's numbers, the definitions by sets."""

from __future__ import annotations

import random
from collections import Counter
from math import exp, log
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import registry
from tests.support.compare import assert_rows
from tests.support.engines import Engine, Row, fails, frame_of, make, stacked

# A row of label and cluster, either of which may be missing.
Rows = list[tuple[int | None, int | None]]
ROWS = st.lists(
    st.tuples(st.sampled_from([None, 0, 1, 2, 3]), st.sampled_from([None, -1, 0, 1, 2])),
    max_size=25,
)
NOISE: list[dict[str, Any]] = [
    {},
    {"noise": -1, "noise_as": "cluster"},
    {"noise": -1, "noise_as": "drop"},
    {"noise": -1, "noise_as": "singletons"},
]
TABLES = ("record_error_table", "cluster_error_table")


def records_of(
    rows: Rows,
    *,
    noise: int | None = None,
    noise_as: str = "cluster",
    count_unlabeled: bool = False,
) -> list[Row]:
    """The definition: a record's cluster and true cluster are sets of row numbers."""
    kept = {i: row for i, row in enumerate(rows) if not (noise_as == "drop" and row[1] == noise)}
    found = []
    for i, (label, cluster) in kept.items():
        if label is None or cluster is None:
            continue
        alone = noise_as == "singletons" and cluster == noise
        mine = {
            j
            for j, (u, v) in kept.items()
            if v == cluster and (u is not None or count_unlabeled) and (j == i or not alone)
        }
        truth = {j for j, (u, v) in kept.items() if u == label and v is not None}
        found.append(
            {
                "id": i,
                "label": label,
                "cluster": None if alone else cluster,
                "label_size": len(truth),
                "cluster_size": len(mine),
                "extra": len(mine - truth),
                "missing": len(truth - mine),
                "relative_extra": len(mine - truth) / len(mine),
                "relative_missing": len(truth - mine) / len(truth),
            }
        )
    return found


def label_errors_of(rows: Rows, **options: Any) -> list[Row]:
    """The definition: means of the errors of the records of a label."""
    records = records_of(rows, **options)
    found = []
    for label in sorted({row["label"] for row in records}):
        own = [row for row in records if row["label"] == label]
        n = len(own)
        # Each singleton is a cluster of its own.
        names = Counter(
            ("row", row["id"]) if row["cluster"] is None else row["cluster"] for row in own
        )
        entropy = sum(m / n * log(n / m) for m in names.values())
        found.append(
            {
                "label": label,
                "n": n,
                "n_clusters": len(names),
                "expected_extra": sum(row["extra"] for row in own) / n,
                "expected_relative_extra": sum(row["relative_extra"] for row in own) / n,
                "expected_missing": sum(row["missing"] for row in own) / n,
                "expected_relative_missing": sum(row["relative_missing"] for row in own) / n,
                "error_indicator": int(any(row["extra"] or row["missing"] for row in own)),
                "splitting_entropy": exp(entropy),
            }
        )
    return found


EXPECTED = {"record_error_table": records_of, "cluster_error_table": label_errors_of}


# Degenerate tables ---------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("rows", [[], [(None, 1), (0, None)]], ids=["empty", "dropped"])
def test_no_rows(engine: Engine, table: str, rows: Rows) -> None:
    assert engine.table(table, frame_of(rows)) == []
    assert engine.table(table, stacked([rows]), partition_by="run") == []


EXACT = {
    "expected_extra": 0.0,
    "expected_relative_extra": 0.0,
    "expected_missing": 0.0,
    "expected_relative_missing": 0.0,
    "error_indicator": 0,
    "splitting_entropy": 1.0,
}


@pytest.mark.parametrize("size", [1, 3, 7])
def test_an_exact_cluster_has_no_errors(engine: Engine, size: int) -> None:
    """Also a singleton; to the last digit, for 1/3 and 1/7 too."""
    rows: Rows = [(label, label) for label in (5, 6, 7) for _ in range(size)]
    found = engine.table("cluster_error_table", frame_of(rows))
    wanted = [{"label": label, "n": size, "n_clusters": 1} | EXACT for label in (5, 6, 7)]
    assert found == wanted
    for row in engine.table("record_error_table", frame_of(rows)):
        errors = ("extra", "missing", "relative_extra", "relative_missing")
        assert [row[name] for name in errors] == [0, 0, 0.0, 0.0]


def test_all_in_one_cluster(engine: Engine) -> None:
    rows: Rows = [(label, 0) for label in range(4)]
    for row in engine.table("cluster_error_table", frame_of(rows)):
        assert (row["expected_extra"], row["expected_relative_extra"]) == (3.0, 0.75)
        assert (row["expected_missing"], row["splitting_entropy"]) == (0.0, 1.0)
        assert row["error_indicator"] == 1


def test_all_apart(engine: Engine) -> None:
    [row] = engine.table("cluster_error_table", frame_of([(0, i) for i in range(4)]))
    assert (row["expected_missing"], row["expected_relative_missing"]) == (3.0, 0.75)
    assert (row["expected_extra"], row["error_indicator"], row["n_clusters"]) == (0.0, 1, 4)
    assert row["splitting_entropy"] == pytest.approx(4.0, abs=1e-12)


# Other authors' numbers ----------------------------------------------------------------------

# The example of er-evaluation 2.3.0 (error_analysis), whose record 8 has no label; its
# record_error_table, and its functions of the same names for clusters.
KNOWN = [(1, 1), (1, 1), (1, 2), (2, 3), (2, 2), (3, 4), (3, 4), (None, 4)]
RECORDS = [
    (1, 2, 3, 0, 1),
    (1, 2, 3, 0, 1),
    (2, 2, 3, 1, 2),
    (3, 1, 2, 0, 1),
    (2, 2, 2, 1, 1),
    (4, 3, 2, 1, 0),
    (4, 3, 2, 1, 0),
]
ERRORS = {
    "expected_extra": [0.3333333333333333, 0.5, 1.0],
    "expected_relative_extra": [0.16666666666666666, 0.25, 0.3333333333333333],
    "expected_missing": [1.3333333333333333, 1.0, 0.0],
    "expected_relative_missing": [0.4444444444444444, 0.5, 0.0],
    "error_indicator": [1, 1, 1],
    "splitting_entropy": [1.8898815748423097, 2.0, 1.0],
}


def test_the_numbers_of_er_evaluation(engine: Engine) -> None:
    frame = frame_of(KNOWN)
    names = ("cluster", "cluster_size", "label_size", "extra", "missing")
    found = engine.table("record_error_table", frame, count_unlabeled=True)
    assert [tuple(row[name] for name in names) for row in found] == RECORDS
    rows = engine.table("cluster_error_table", frame, count_unlabeled=True)
    for name, wanted in ERRORS.items():
        assert [row[name] for row in rows] == pytest.approx(wanted, abs=1e-12), name


# The definitions -----------------------------------------------------------------------------


def random_records(seed: int) -> Rows:
    """Labels and clusters that often agree, with noise and NULLs."""
    rng = random.Random(seed)
    labels, size = rng.randint(1, 8), rng.randint(1, 40)
    rows: Rows = []
    for _ in range(size):
        label = rng.randrange(labels)
        cluster = label if rng.random() < 0.6 else rng.randrange(-1, 6)
        rows += [(None if rng.random() < 0.2 else label, None if rng.random() < 0.1 else cluster)]
    return rows


CASES = [random_records(seed) for seed in range(60)]


@pytest.mark.each
@pytest.mark.parametrize("count_unlabeled", [False, True])
@pytest.mark.parametrize("noise", NOISE, ids=str)
@pytest.mark.parametrize("table", TABLES)
def test_the_definition(
    engine: Engine, table: str, noise: dict[str, Any], count_unlabeled: bool
) -> None:
    """All cases as partitions of one table: no one sees the rows of another."""
    options = noise | {"count_unlabeled": count_unlabeled}
    frame = stacked([[(*row, i) for i, row in enumerate(rows)] for rows in CASES], "key")
    more = {"id": "key"} if table == "record_error_table" else {}
    found = engine.table(table, frame, partition_by="run", **options, **more)
    wanted = [
        {"run": run} | row
        for run, rows in enumerate(CASES)
        for row in EXPECTED[table](rows, **options)
    ]
    assert_rows(found, wanted)


@given(rows=ROWS, options=st.sampled_from(NOISE), count_unlabeled=st.booleans())
def test_the_definition_of_any_rows(
    engine: Engine, rows: Rows, options: dict[str, Any], count_unlabeled: bool
) -> None:
    given = options | {"count_unlabeled": count_unlabeled}
    for table in TABLES:
        assert_rows(engine.table(table, frame_of(rows), **given), EXPECTED[table](rows, **given))


def test_errors_are_what_bcubed_leaves(engine: Engine) -> None:
    frame = stacked(CASES)
    errors = engine.table("record_error_table", frame, partition_by="run")
    scores = engine.table("bcubed_samples", frame, partition_by="run")
    for row, score in zip(errors, scores, strict=True):
        assert (row["run"], row["id"]) == (score["run"], score["id"])
        assert row["relative_extra"] == pytest.approx(1 - score["bcubed_precision"], abs=1e-12)
        assert row["relative_missing"] == pytest.approx(1 - score["bcubed_recall"], abs=1e-12)


# What must not matter ------------------------------------------------------------------------


def test_row_order_and_types(engine: Engine) -> None:
    frame = frame_of([(*row, i) for i, row in enumerate(CASES[7])], "key")
    turned = frame.sample(fraction=1, shuffle=True, seed=3)
    words = turned.with_columns(
        pl.col("label").cast(pl.Int8), pl.col("cluster").cast(pl.String).cast(pl.Categorical)
    )
    for table, more in zip(TABLES, ({"id": "key"}, {}), strict=True):
        wanted = engine.table(table, frame, **more)
        assert_rows(engine.table(table, turned, **more), wanted)
        for row, other in zip(engine.table(table, words, **more), wanted, strict=True):
            assert {**row, "cluster": None} == pytest.approx({**other, "cluster": None})


ADVICE = "; if ids repeat across sources, give a struct of source and id"


@pytest.mark.parametrize("table", registry.tables("records"))
def test_an_id_of_several_rows(engine: Engine, table: str) -> None:
    """The lowest one is named. Rows that do not count, and those without an id, may repeat."""
    rows = [(0, 0, 7, 1), (0, 0, 7, 1), (1, 0, 4, 1), (1, 0, 4, 1), (1, 0, None, 1)]
    words = f"id: expected one row per id, got several rows of id 4{ADVICE}"
    with fails(engine, words):
        engine.table(table, frame_of(rows, "key", "run"), id="key")
    allowed = [(0, 0, 4, 1), (0, 0, 4, 2), (None, 0, 4, 1), (0, None, 4, 1)]
    allowed += [(0, 0, None, 1), (1, 0, None, 1)]
    found = engine.table(table, frame_of(allowed, "key", "run"), id="key", partition_by="run")
    assert [(row["run"], row["id"]) for row in found] == [(1, 4), (1, None), (1, None), (2, 4)]


@pytest.mark.parametrize("table", registry.tables("records"))
def test_an_id_of_two_sources(engine: Engine, table: str) -> None:
    """As the advice says: a struct of both columns, which the error names like any other id."""
    frame = pl.DataFrame({"source": [*"aabb"], "key": [1, 2, 1, 2], "label": 0, "cluster": 0})
    frame = frame.with_columns(both=pl.struct("source", "key"))
    found = engine.table(table, frame, id="both")
    assert [row["id"] for row in found] == frame["both"].to_list()
    words = "id: expected one row per id, got several rows of id {'source': a, 'key': 1};"
    with fails(engine, words[:-1] + ADVICE):
        engine.table(table, pl.concat([frame, frame]), id="both")


def test_an_id_of_several_rows_without_a_label(engine: Engine) -> None:
    frame = frame_of([(None, 0, 4), (0, 0, 4), (1, 0, 5)], "key")
    assert len(engine.table("record_error_table", frame, id="key")) == 2
    with fails(engine, f"got several rows of id 4{ADVICE}"):
        engine.table("record_error_table", frame, id="key", count_unlabeled=True)


def test_weights_are_repetitions(engine: Engine) -> None:
    rng = random.Random(8)
    weighted = [(*row, rng.randrange(4)) for row in CASES[11]]
    repeated = [row[:2] for row in weighted for _ in range(row[2])]
    for options in NOISE:
        for count in (False, True):
            more = options | {"count_unlabeled": count}
            assert_rows(
                engine.table("cluster_error_table", frame_of(weighted, "n"), weight="n", **more),
                engine.table("cluster_error_table", frame_of(repeated), **more),
            )


def test_counts_that_do_not_fit_into_64_bits(engine: Engine) -> None:
    """Half a trillion rows each: their product is 2.5e23."""
    half = 500_000_000_000
    frame = frame_of([(0, 0, half - 1), (0, 1, 1), (1, 0, half)], "n")
    first, last = engine.table("cluster_error_table", frame, weight="n")
    # The row alone has no extra rows, and all others miss it.
    assert first["expected_extra"] == pytest.approx(half - 1, rel=1e-15)
    assert first["expected_missing"] == pytest.approx(2 * (half - 1) / half, rel=1e-15)
    assert (last["expected_extra"], last["expected_missing"]) == (half - 1, 0.0)
    assert last["expected_relative_extra"] == pytest.approx((half - 1) / (2 * half - 1), rel=1e-15)


@pytest.mark.gate
def test_many_clusters_keep_their_digits(engine: Engine) -> None:
    """A label in 300,000 clusters with one row of another label each."""
    n = 300_000
    frame = pl.DataFrame({"label": [0] * n + [1] * n, "cluster": [*range(n), *range(n)]})
    for row in engine.table("cluster_error_table", frame):
        assert row["expected_relative_extra"] == 0.5
        assert row["splitting_entropy"] == pytest.approx(n, rel=1e-12)


# Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("given", "shown"), [(None, "NULL"), ("yes", "yes"), (1, "1")])
def test_count_unlabeled_is_true_or_false(
    side: Engine, table: str, given: object, shown: str
) -> None:
    frame = frame_of([(0, 0)])
    words = f"count_unlabeled: expected TRUE or FALSE, got {shown}"
    if side.name == "duckdb":
        text = "NULL" if given is None else repr(given)
        side.connection.register("assignments", frame)  # type: ignore[attr-defined]
        call = f"clustereval.{table}(assignments, label, cluster, count_unlabeled := {text})"
        with fails(side, words):
            side.connection.execute(f"FROM {call}")  # type: ignore[attr-defined]
    else:
        with fails(side, words):
            side.table(table, frame, count_unlabeled=given)


@pytest.mark.parametrize("table", TABLES)
def test_a_column_that_is_not_there(side: Engine, table: str) -> None:
    words = "'labl'" if side.name == "polars" else '"labl" not found'
    with fails(side, words):
        side.table(table, frame_of([(0, 0)]), "labl")


def test_an_id_that_is_not_there(side: Engine) -> None:
    words = "id: column 'keys' not found" if side.name == "polars" else '"keys" not found'
    with fails(side, words):
        side.table("record_error_table", frame_of([(0, 0, 1)], "key"), id="keys")


@pytest.mark.parametrize("name", ["id", "label", "cluster_size", "extra", "relative_missing"])
def test_a_partition_column_named_like_a_result(name: str) -> None:
    frame = pl.DataFrame({"u": [0], "v": [0], name: [1]})
    words = f"partition_by: '{name}' is also a column of the result; rename it first"
    with fails(make("polars"), words):
        make("polars").table("record_error_table", frame, "u", "v", partition_by=name)
