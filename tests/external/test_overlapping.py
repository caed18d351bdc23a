"""overlapping_report: the definitions by loops, other libraries' numbers, partitions, errors."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.compare import assert_rows
from tests.support.engines import Engine, Row, fails, make
from tests.support.overlapping_oracle import SCORES, Rows, covers_report, random_covers
from tests.support.run_engines import call_covers

LABELS = {"part": pl.Int64, "id": pl.Int64, "label": pl.String}
CLUSTERS = {"part": pl.Int64, "id": pl.Int64, "cluster": pl.Int64}
CASES = [random_covers(seed) for seed in range(200)]


def frames_of(cases: list[tuple[Rows, Rows]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The memberships of all cases, with the number of the case as part."""
    sides = [
        [(part, *row) for part, case in enumerate(cases) for row in case[side]] for side in (0, 1)
    ]
    return (
        pl.DataFrame(sides[0], schema=LABELS, orient="row"),
        pl.DataFrame(sides[1], schema=CLUSTERS, orient="row"),
    )


def report_of_covers(engine: Engine, labels: Rows, clusters: Rows, **options: Any) -> Row:
    [row] = call_covers(engine, *frames_of([(labels, clusters)]), **options)
    return row


def disjoint(values: list[Any]) -> Rows:
    return list(enumerate(values))


# Degenerate tables ---------------------------------------------------------------------------

ONES = dict.fromkeys(SCORES, 1.0)
NONE = dict.fromkeys(SCORES)


def counts_of_covers(*numbers: int) -> dict[str, int]:
    names = ("n", "n_only_labels", "n_only_clusters", "n_dropped", "n_labels", "n_clusters")
    return dict(zip(names, numbers, strict=True))


FEW_ROWS: list[tuple[Rows, Rows, Row]] = [
    ([], [], counts_of_covers(0, 0, 0, 0, 0, 0) | NONE),
    ([(1, "a")], [(1, 5)], counts_of_covers(1, 0, 0, 0, 1, 1) | ONES),
    ([(1, "a")], [], counts_of_covers(0, 1, 0, 0, 0, 0) | NONE),
    ([], [(1, 5), (1, 6)], counts_of_covers(0, 0, 1, 0, 0, 0) | NONE),
    ([(1, "a"), (2, "a")], [(2, 5), (3, 5)], counts_of_covers(1, 1, 1, 0, 1, 1) | ONES),
    ([(1, "a")] * 2, [(1, 5)] * 3, counts_of_covers(1, 0, 0, 0, 1, 1) | ONES),
    ([(1, None), (None, "a")], [(None, None)], counts_of_covers(0, 0, 0, 3, 0, 0) | NONE),
    ([(1, "a"), (1, None)], [(1, 5), (None, 5)], counts_of_covers(1, 0, 0, 2, 1, 1) | ONES),
    ([(1, None)] * 2, [(1, 5)], counts_of_covers(0, 0, 1, 2, 0, 0) | NONE),
]


def test_few_rows(engine: Engine) -> None:
    """As partitions, which the first has none of, and the extremes without partition_by."""
    cases = [(labels, clusters) for labels, clusters, _ in FEW_ROWS]
    rows = call_covers(engine, *frames_of(cases), partition_by="part")
    expected = [{"part": i} | row for i, (*_, row) in enumerate(FEW_ROWS)]
    assert_rows(rows, expected[1:])
    for labels, clusters, row in (FEW_ROWS[0], FEW_ROWS[-1]):
        assert_rows([report_of_covers(engine, labels, clusters)], [row], what=(labels, clusters))


def test_no_rows_by_partition(engine: Engine) -> None:
    assert call_covers(engine, *frames_of([]), partition_by="part") == []


def test_a_partition_in_one_table_only(engine: Engine) -> None:
    cases: list[tuple[Rows, Rows]] = [
        ([(1, "a")], []),
        ([], [(1, 5)]),
        ([(None, "a")], []),
        ([(1, "a")], [(1, 5)]),
    ]
    rows = call_covers(engine, *frames_of(cases), partition_by="part")
    found = [(row["part"], row["n"], row["n_dropped"], row["omega_index"]) for row in rows]
    assert found == [(0, 0, 0, None), (1, 0, 0, None), (2, 0, 1, None), (3, 1, 0, 1.0)]


def test_the_same_sets(engine: Engine) -> None:
    """One set has all ids, which has no entropy; one is there under two names."""
    sets = [(key, name) for key in range(6) for name in "abcd" if key < 4 or name in "ab"]
    sets += [(5, "e")]
    clusters = [(key, ord(name)) for key, name in sets]
    row = report_of_covers(engine, sets, clusters)
    assert {name: row[name] for name in SCORES[:7]} == dict.fromkeys(SCORES[:7], 1.0)


def test_one_set_tells_nothing(engine: Engine) -> None:
    row = report_of_covers(engine, disjoint([*"aabb"]), disjoint([0, 0, 0, 0]))
    scores = ("omega_index", "overlapping_nmi_lfk", "overlapping_nmi_mgh")
    assert [row[name] for name in scores] == [0.0, 0.0, 0.0]


# Definitions ---------------------------------------------------------------------------------


@cache
def expected_covers() -> list[Row]:
    """The scores of each case by loops; without rows there is no row."""
    rows = [covers_report(*case) if any(map(len, case)) else {} for case in CASES]
    assert sum(row.get("n", 0) > 1 for row in rows) > 140
    return rows


def test_the_definitions_on_random_rows(engine: Engine) -> None:
    rows = call_covers(engine, *frames_of(CASES), partition_by="part")
    expected = [{"part": part, **row} for part, row in enumerate(expected_covers()) if row]
    assert_rows(rows, expected)


@pytest.mark.gate
def test_each_weight_of_recall(side: Engine) -> None:
    for beta in (0.0, 0.5, 3.0):
        cases = CASES[7:11]
        rows = call_covers(side, *frames_of(cases), beta=beta, partition_by="part")
        expected = [{"part": i} | covers_report(*case, beta=beta) for i, case in enumerate(cases)]
        assert_rows(rows, expected, what=beta)


# Sets of ids 0 to 9, and what cdlib 0.4.1 has for them (omega, overlapping_normalized_mutual_
# information_LFK and _MGH); clusim 0.4 has the same omega.
COVERS = [
    (
        ["0123", "3456", "6789"],
        ["01234", "4567", "789"],
        0.5871559633027524,
        0.495272264266712,
        0.4885906300719525,
    ),
    (
        ["01234", "34567", "56789", "09"],
        ["012345", "456789"],
        0.46280991735537175,
        0.483460642451748,
        0.34550114408109395,
    ),
    (
        ["0123456", "56789"],
        ["012", "2345", "5678", "89", "0369"],
        0.4385796545105564,
        0.3791809916316964,
        0.24539485233668415,
    ),
    (
        ["01", "23", "45", "67", "89"],
        ["0123456", "6789", "024"],
        0.16455696202531633,
        0.21564171565042778,
        0.19901692182365271,
    ),
    (
        ["012", "345", "6789"],
        ["0123456789"],
        *(0.0, 0.0, 0.0),
    ),
]


def members(sets: Any, names: Any) -> Rows:
    return [(int(key), name) for name, keys in zip(names, sets, strict=False) for key in keys]


def test_cdlib(engine: Engine) -> None:
    cases = [(members(case[0], "abcdef"), members(case[1], range(6))) for case in COVERS]
    rows = call_covers(engine, *frames_of(cases), partition_by="part")
    for row, (labels, clusters, *wanted) in zip(rows, COVERS, strict=True):
        found = [row[name] for name in SCORES[:3]]
        assert found == pytest.approx(wanted, abs=1e-12), (labels, clusters)


@cache
def large_sets() -> list[tuple[Rows, Rows, Row]]:
    """a has 124 of 200 ids; that it has none of cluster 1 tells of an id that it is not in a."""
    labels = [(key, "a" if key < 124 else "b") for key in range(200)]
    clusters = [(key, key % 2 * 2) for key in range(200)] + [(199, 1)]
    swapped = [(key, f"{name}") for key, name in clusters]
    others = [(key, ord(name)) for key, name in labels]
    cases: list[tuple[Rows, Rows]] = [(labels, clusters), (swapped, others)]
    return [(*case, covers_report(*case)) for case in cases]


def test_a_large_set_tells_of_one_without_common_ids(engine: Engine) -> None:
    cases = [(labels, clusters) for labels, clusters, _ in large_sets()]
    rows = call_covers(engine, *frames_of(cases), partition_by="part")
    assert_rows(rows, [{"part": i} | row for i, (*_, row) in enumerate(large_sets())])


def test_extended_bcubed_of_the_paper(engine: Engine) -> None:
    """Of two ids with two common labels, one common cluster: recall 1/2, as in section 5."""
    labels, clusters = [(1, "a"), (1, "b"), (2, "a"), (2, "b")], [(1, 0), (2, 0)]
    row = report_of_covers(engine, labels, clusters)
    assert [row[name] for name in SCORES[3:6]] == [1.0, 0.5, pytest.approx(2 / 3, abs=1e-15)]


def test_nf1_by_hand(engine: Engine) -> None:
    """Three clusters, of which two match a and one b; c is matched by none."""
    labels = disjoint([*"aaaabbc"])
    clusters = disjoint([0, 0, 1, 1, 2, 2, 2])
    row = report_of_covers(engine, labels, clusters)
    f1 = (2 / 3 + 2 / 3 + 4 / 5) / 3
    expected = [f1, 2 / 3, 3 / 2, f1 * 2 / 3 / 1.5]
    assert [row[name] for name in SCORES[6:]] == pytest.approx(expected, abs=1e-15)


def test_equal_matches_are_the_smallest_label(engine: Engine) -> None:
    labels = disjoint([*"aaabb"])
    row = report_of_covers(engine, labels, disjoint([0, 1, 2, 2, 1]))
    assert row["best_match_f1"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 2) / 3, abs=1e-15)


# Without overlaps ----------------------------------------------------------------------------


def test_disjoint_sets_have_the_scores_of_external_report(engine: Engine) -> None:
    rng = random.Random(5)
    cases = []
    for _ in range(200):
        n, k, m = rng.randrange(1, 40), rng.randrange(1, 6), rng.randrange(1, 6)
        classes = disjoint([rng.choice("abcdef"[:k]) for _ in range(n)])
        cases.append((classes, disjoint([rng.randrange(m) for _ in range(n)])))
    labels, clusters = frames_of(cases)
    rows = call_covers(engine, labels, clusters, partition_by="part")
    joined = labels.join(clusters, on=["part", "id"])
    plain = ce.external_report(joined, "label", "cluster", partition_by="part").to_dicts()
    twins = {"omega_index": "adjusted_rand_score"} | {
        f"extended_bcubed_{x}": f"bcubed_{x}" for x in ("precision", "recall", "f_score")
    }
    for row, wanted in zip(rows, plain, strict=True):
        for name, twin in twins.items():
            assert row[name] == pytest.approx(wanted[twin], abs=1e-12), (name, row)


@pytest.mark.gate
def test_many_disjoint_ids(engine: Engine) -> None:
    """Counts of pairs beyond 32 bits, in as few cells as there are pairs of label and cluster."""
    key = pl.int_range(200_000, eager=True).alias("id")
    labels = pl.DataFrame({"id": key, "label": key * key % 1009 % 7})
    clusters = pl.DataFrame({"id": key, "cluster": key * 31 % 11})
    [row] = call_covers(engine, labels, clusters)
    joined = labels.join(clusters, on="id")
    [plain] = ce.external_report(joined, "label", "cluster").to_dicts()
    assert row["omega_index"] == pytest.approx(plain["adjusted_rand_score"], abs=1e-12)
    assert row["extended_bcubed_f_score"] == pytest.approx(plain["bcubed_f_score"], abs=1e-12)


# Size ----------------------------------------------------------------------------------------


@pytest.mark.gate
def test_too_many_pairs(side: Engine) -> None:
    """The sets of 5,000 ids are all different, and most two have a member in common."""
    draw = random.Random(1)
    members = [(id_, x) for id_ in range(5000) for x in draw.sample(range(64), 6)]
    labels = pl.DataFrame(members, schema=["id", "label"], orient="row")
    clusters = pl.DataFrame(members, schema=["id", "cluster"], orient="row")
    counts = [labels, clusters, labels.join(clusters, on="id")]
    by = [["label"], ["cluster"], ["label", "cluster"]]
    pairs = sum(
        (frame.group_by(names).len()["len"].cast(pl.Int64) ** 2).sum()
        for frame, names in zip(counts, by, strict=True)
    )
    words = (
        "id: expected at most 20000000 pairs of sets of labels or clusters that have a member in "
        f"common, got {pairs} (about {pairs // 5000 + 1} MB); take a sample of the ids, or leave "
        "out labels and clusters that most ids have"
    )
    with fails(side, words):
        call_covers(side, labels, clusters)
    some = pl.col("id") < 300
    [row] = call_covers(side, labels.filter(some), clusters.filter(some))
    assert row["omega_index"] == 1.0


# What must not matter ------------------------------------------------------------------------


@pytest.mark.gate
def test_order_names_and_types(engine: Engine) -> None:
    labels, clusters = frames_of(CASES)
    expected = call_covers(engine, labels, clusters, partition_by="part")
    one, two = (frame.sample(fraction=1, shuffle=True, seed=3) for frame in (labels, clusters))
    assert_rows(call_covers(engine, one, two, partition_by="part"), expected)
    one, two = (frame.with_columns(pl.col("id").cast(pl.String)) for frame in (one, two))
    dated = two.with_columns(pl.col("cluster").cast(pl.Int32).cast(pl.Date))
    assert_rows(call_covers(engine, one, dated, partition_by="part"), expected)


def test_labels_and_clusters_the_other_way_round(engine: Engine) -> None:
    labels, clusters = frames_of(CASES)
    there = call_covers(engine, labels, clusters, partition_by="part")
    names = ("id", "cluster", "label")
    back = call_covers(engine, clusters, labels, names, partition_by="part")
    twins = {name: name for name in SCORES[:3]} | {
        "extended_bcubed_precision": "extended_bcubed_recall",
        "extended_bcubed_recall": "extended_bcubed_precision",
        "n_only_labels": "n_only_clusters",
        "n_labels": "n_clusters",
    }
    for row, other in zip(there, back, strict=True):
        for name, twin in twins.items():
            assert row[name] == pytest.approx(other[twin], abs=1e-12), name


def test_several_and_missing_partitions(engine: Engine) -> None:
    labels, clusters = frames_of(CASES[:20])
    halves = pl.when(pl.col("part") % 2 == 0).then(pl.col("part") // 4).alias("quarter")
    one, two = (frame.with_columns(halves) for frame in (labels, clusters))
    rows = call_covers(engine, one, two, partition_by=["quarter", "part"])
    expected = call_covers(engine, labels, clusters, partition_by="part")
    assert {row["quarter"] for row in rows} == {0, 1, 2, 3, 4, None}
    rows.sort(key=lambda row: row["part"])
    assert_rows([{k: x for k, x in row.items() if k != "quarter"} for row in rows], expected)


def test_expressions_and_lazy_frames(every_engine: list[Engine]) -> None:
    labels, clusters = frames_of(CASES[:1])
    lazy = ce.overlapping_report(
        labels.lazy(), clusters.lazy(), pl.col("id") * 2, pl.col("label"), "cluster"
    )
    assert isinstance(lazy, pl.LazyFrame)
    method = labels.clustereval.overlapping_report  # type: ignore[attr-defined]
    rows = method(clusters, "id", "label", "cluster").to_dicts()
    assert_rows(lazy.collect().to_dicts(), rows)
    for engine in every_engine:
        assert_rows(call_covers(engine, labels, clusters), rows)


# Errors --------------------------------------------------------------------------------------


def test_types_differ(engine: Engine) -> None:
    labels, clusters = frames_of(CASES[:2])
    cast = clusters.with_columns(pl.col("id", "part").cast(pl.String))
    words = (
        "id: expected the same type in both tables, got BIGINT with the labels and VARCHAR with "
        "the clusters; cast one of them"
    )
    with fails(engine, words):
        call_covers(engine, labels, cast)
    with fails(engine, words.replace("id:", "partition_by:")):
        call_covers(engine, labels, cast, partition_by="part")


def test_beta(engine: Engine) -> None:
    with fails(engine, "beta: expected a number >= 0, got -1"):
        call_covers(engine, *frames_of(CASES[:2]), beta=-1)


@pytest.mark.parametrize("name", ["id", "label", "cluster"])
def test_a_quoted_column(name: str) -> None:
    engine: Any = make("duckdb")
    arguments = ["id", "label", "cluster"]
    given = ", ".join(f"'{x}'" if x == name else x for x in arguments)
    with engine.connection.cursor() as cursor:
        for table, frame in zip(("labels", "clusters"), frames_of(CASES[:2]), strict=True):
            cursor.register(table, frame)
        with fails(engine, f"{name}: expected a column, got the quoted string '{name}'"):
            cursor.execute(f"FROM clustereval.overlapping_report(labels, clusters, {given})")


def test_columns_that_are_missing() -> None:
    labels, clusters = frames_of(CASES[:2])
    with pytest.raises(ce.ClusterEvalError, match="frame_labels: label: column 'lable' not found"):
        ce.overlapping_report(labels, clusters, "id", "lable", "cluster")
    with pytest.raises(ce.ClusterEvalError, match="frame_clusters: cluster: column 'c' not found"):
        ce.overlapping_report(labels, clusters, "id", "label", "c")
    with pytest.raises(ce.ClusterEvalError, match="frame_clusters: partition_by: column 'part'"):
        ce.overlapping_report(
            labels, clusters.drop("part"), "id", "label", "cluster", partition_by="part"
        )
    named = labels.rename({"part": "nf1"})
    with pytest.raises(ce.ClusterEvalError, match="'nf1' is also a column of the result"):
        ce.overlapping_report(named, named, "id", "label", "label", partition_by="nf1")
