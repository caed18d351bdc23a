"""The tables: cells, pair counts, clusters, labels and records, row by row."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import combinations
from math import log
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_clustereval as ce
from tests.support.brute import groups, pair_counts
from tests.support.compare import assert_rows
from tests.support.engines import Engine, frame_of, report

Rows = list[tuple[int, int]]
ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)
KNOWN: Rows = [(1, 5), (1, 5), (1, 6), (2, 5), (2, 5), (3, 6), (3, 7)]


def entropy_of_counts(counts: list[int]) -> float:
    n = sum(counts)
    return sum(m / n * log(n / m) for m in sorted(counts) if m < n)


def expected_cells(rows: Rows) -> list[dict[str, Any]]:
    return [
        {"label": u, "cluster": v, "n": n, "copies": 1}
        for (u, v), n in sorted(Counter(rows).items())
    ]


def expected_cluster_rows(rows: Rows) -> list[dict[str, Any]]:
    return [
        {
            "cluster": v,
            "n": len(members),
            "n_labels": len(set(members)),
            "majority_label": majority(members),
            "majority_n": members.count(majority(members)),
            "purity": members.count(majority(members)) / len(members),
            "entropy": entropy_of_counts(list(Counter(members).values())),
            "joined_pairs": Decimal(sum(a != b for a, b in combinations(members, 2))),
        }
        for v, members in sorted(members_of(rows).items())
    ]


def expected_label_rows(rows: Rows) -> list[dict[str, Any]]:
    names = {
        "cluster": "label",
        "n_labels": "n_clusters",
        "majority_label": "majority_cluster",
        "purity": "recall",
        "joined_pairs": "split_pairs",
    }
    swapped = expected_cluster_rows([(v, u) for u, v in rows])
    return [{names.get(name, name): value for name, value in row.items()} for row in swapped]


def members_of(rows: Rows) -> dict[int, list[int]]:
    return {v: sorted(u for u, other in rows if other == v) for v in {v for _, v in rows}}


def majority(members: list[int]) -> int:
    """The most frequent; of several the lowest."""
    return min(members, key=lambda u: (-members.count(u), u))


def expected_pairs(rows: Rows) -> list[dict[str, Any]]:
    label, cluster = zip(*rows, strict=True)
    return [{name: Decimal(n) for name, n in pair_counts(label, cluster)._asdict().items()}]


EXPECTED = {
    "contingency_matrix": expected_cells,
    "pair_counts": expected_pairs,
    "external_cluster_report": expected_cluster_rows,
    "external_label_report": expected_label_rows,
}


@pytest.mark.parametrize("function", EXPECTED)
@given(rows=ROWS)
def test_each_row(engine: Engine, function: str, rows: Rows) -> None:
    assert_rows(engine.table(function, frame_of(rows)), EXPECTED[function](rows))


@pytest.mark.parametrize("function", EXPECTED)
@given(rows=ROWS)
def test_each_partition(engine: Engine, function: str, rows: Rows) -> None:
    frame = frame_of([(u, v, i % 3) for i, (u, v) in enumerate(rows)], "run")
    wanted = [
        {"run": run} | row
        for run in range(min(3, len(rows)))
        for row in EXPECTED[function](rows[run::3])
    ]
    assert_rows(engine.table(function, frame, partition_by="run"), wanted)


@pytest.mark.parametrize("function", EXPECTED)
def test_weights_nulls_and_dropped_noise(engine: Engine, function: str) -> None:
    counted = [(u, v, n) for (u, v), n in Counter(KNOWN).items()]
    more = [(None, 5, 4), (1, None, 2), (8, 8, 0), (1, -1, 3)]
    frame = frame_of([*counted, *more], "w")
    rows = engine.table(function, frame, weight="w", noise=-1, noise_as="drop")
    assert_rows(rows, EXPECTED[function](KNOWN))


def test_known_clusters(engine: Engine) -> None:
    rows = engine.table("external_cluster_report", frame_of(KNOWN))
    columns = ("cluster", "n", "n_labels", "majority_label", "majority_n", "joined_pairs")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (5, 4, 2, 1, 2, 4),
        (6, 2, 2, 1, 1, 1),
        (7, 1, 1, 3, 1, 0),
    ]


def test_known_labels(engine: Engine) -> None:
    rows = engine.table("external_label_report", frame_of(KNOWN))
    columns = ("label", "n", "n_clusters", "majority_cluster", "majority_n", "split_pairs")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (1, 3, 2, 5, 2, 2),
        (2, 2, 1, 5, 2, 0),
        (3, 2, 2, 6, 1, 1),
    ]


def test_cells_of_singleton_noise(engine: Engine) -> None:
    frame = frame_of([(1, 5), (1, -1), (1, -1), (2, -1)])
    rows = engine.table("contingency_matrix", frame, noise=-1, noise_as="singletons")
    by_label = sorted(tuple(row.values()) for row in rows if row["cluster"] is None)
    assert by_label == [(1, None, 1, 2), (2, None, 1, 1)]
    assert [tuple(row.values()) for row in rows if row["cluster"] is not None] == [(1, 5, 1, 1)]


@pytest.mark.each
@pytest.mark.parametrize("function", ["pair_counts", "external_label_report"])
def test_singleton_noise_is_unique_clusters(engine: Engine, function: str) -> None:
    noisy = frame_of([(1, 5), (1, 5), (1, -1), (1, -1), (2, 5), (2, -1), (2, -1)])
    unique = frame_of([(1, 5), (1, 5), (1, 11), (1, 12), (2, 5), (2, 13), (2, 14)])
    rows = engine.table(function, noisy, noise=-1, noise_as="singletons")
    assert_rows(rows, engine.table(function, unique))


@pytest.mark.parametrize("function", EXPECTED)
def test_no_rows(engine: Engine, function: str) -> None:
    frame = frame_of([(None, 1), (1, None)])
    rows = engine.table(function, frame)
    if function == "pair_counts":
        assert rows == [dict.fromkeys(("tp", "fp", "fn", "tn"), 0)]
    else:
        assert rows == []


# Records


def expected_records(rows: Rows, ids: list[int]) -> list[dict[str, Any]]:
    by_label, by_cluster = (groups(side) for side in zip(*rows, strict=True))
    found = []
    for i, (u, v) in enumerate(rows):
        both = len(by_label[u] & by_cluster[v])
        found.append(
            {
                "id": ids[i],
                "label": u,
                "cluster": v,
                "bcubed_precision": both / len(by_cluster[v]),
                "bcubed_recall": both / len(by_label[u]),
            }
        )
    return sorted(found, key=lambda row: row["id"])


@given(rows=ROWS, random=st.randoms(use_true_random=False))
def test_each_record(engine: Engine, rows: Rows, random: Any) -> None:
    ids = list(range(100, 100 + len(rows)))
    random.shuffle(ids)
    frame = frame_of([(*row, i) for row, i in zip(rows, ids, strict=True)], "key")
    assert_rows(engine.table("bcubed_samples", frame, id="key"), expected_records(rows, ids))


def test_records_are_numbered_from_0(engine: Engine) -> None:
    rows = engine.table("bcubed_samples", frame_of(KNOWN))
    assert_rows(rows, expected_records(KNOWN, list(range(len(KNOWN)))))


def test_the_number_of_a_record_is_that_of_its_row(engine: Engine) -> None:
    """Rows that are left out, as noise or without a label or cluster, have a number, too."""
    mixed: list[Any] = [(None, 5), *KNOWN[:2], (9, -1), (1, None), *KNOWN[2:], (None, None)]
    kept = [i for i, row in enumerate(mixed) if row in KNOWN]
    rows = engine.table("bcubed_samples", frame_of(mixed), noise=-1, noise_as="drop")
    assert kept == [1, 2, 5, 6, 7, 8, 9]
    assert_rows(rows, expected_records(KNOWN, kept))


def test_a_record_without_an_id_is_the_last(engine: Engine) -> None:
    ids = [4, None, 9, 0, 2, 7, 5]
    frame = frame_of([(*row, i) for row, i in zip(KNOWN, ids, strict=True)], "key")
    wanted = expected_records(KNOWN, [99 if i is None else i for i in ids])
    wanted[-1]["id"] = None
    assert_rows(engine.table("bcubed_samples", frame, id="key"), wanted)


@pytest.mark.parametrize("function", EXPECTED)
def test_a_partition_without_a_key_is_the_last(engine: Engine, function: str) -> None:
    frame = frame_of([(*row, run) for run in (None, 3, 1) for row in KNOWN], "run")
    wanted = [{"run": run} | row for run in (1, 3, None) for row in EXPECTED[function](KNOWN)]
    assert_rows(engine.table(function, frame, partition_by="run"), wanted)
    frame = frame_of([(*row, 2, run) for run in (None, 3) for row in KNOWN], "day", "run")
    wanted = [
        {"day": 2, "run": run} | row for run in (3, None) for row in EXPECTED[function](KNOWN)
    ]
    found = engine.table(function, frame, partition_by=["day", "run"])
    assert_rows(found, wanted)


def test_records_of_each_partition(engine: Engine) -> None:
    frame = frame_of([(*row, i, i % 2) for i, row in enumerate(KNOWN)], "key", "run")
    wanted = [
        {"run": run} | row
        for run in (0, 1)
        for row in expected_records(KNOWN[run::2], list(range(run, len(KNOWN), 2)))
    ]
    assert_rows(engine.table("bcubed_samples", frame, id="key", partition_by="run"), wanted)


@pytest.mark.parametrize("noise_as", ["cluster", "drop", "singletons"])
def test_the_mean_of_the_records_is_the_score(engine: Engine, noise_as: str) -> None:
    frame = frame_of([*KNOWN, (1, -1), (1, -1), (2, -1), (None, 5), (1, None)])
    arguments: dict[str, Any] = {"noise": -1, "noise_as": noise_as}
    rows = engine.table("bcubed_samples", frame, **arguments)
    [whole] = report(engine, frame, **arguments)
    assert len(rows) == whole["n"]
    for name in ("bcubed_precision", "bcubed_recall"):
        mean = sum(row[name] for row in rows) / len(rows)
        assert mean == pytest.approx(whole[name], abs=1e-12), name


WHOLE = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]


@pytest.mark.parametrize("label", WHOLE)
@pytest.mark.parametrize("cluster", WHOLE)
def test_least_and_greatest_whole_numbers(label: Any, cluster: Any) -> None:
    """Polars groups two whole numbers as one: no two pairs may become the same."""
    labels, clusters = (
        [*pl.select(least=dtype.min(), most=dtype.max()).row(0), None] for dtype in (label, cluster)
    )
    pairs = [(x, y) for x in labels for y in clusters for _ in range(2)]
    frame = pl.DataFrame(pairs, schema={"label": label, "cluster": cluster}, orient="row")
    found = ce.contingency_matrix(frame, "label", "cluster")
    assert found.schema["label"] == label
    assert found.schema["cluster"] == cluster
    known = [(x, y, 2) for x in labels[:2] for y in clusters[:2]]
    assert found.select("label", "cluster", "n").rows() == known
    assert ce.external_report(frame, "label", "cluster")["n_dropped"].item() == 10
