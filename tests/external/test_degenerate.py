"""Every pair of partitions of up to five rows, and what is left when rows are left out."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tests.support.compare import assert_metrics, assert_rows
from tests.support.engines import TABLES, Engine, frame_of, report
from tests.support.oracle import AVERAGES, COUNTS, METRICS, exact
from tests.support.partition_pairs import (
    exact_values,
    frame_of_pairs,
    pairs_of_partitions,
    renamed_cells,
)

NOTHING = dict.fromkeys(COUNTS, 0) | dict.fromkeys(METRICS)


def check_pairs(rows: list[dict[str, Any]], largest: int, **arguments: Any) -> None:
    assert [row["pair"] for row in rows] == list(range(len(rows)))
    for row, pair in zip(rows, pairs_of_partitions(largest), strict=True):
        assert_metrics(row, exact_values(renamed_cells(pair), **arguments), what=pair)


def test_every_pair_of_partitions(engine: Engine) -> None:
    check_pairs(report(engine, frame_of_pairs(5), partition_by="pair"), 5)


@pytest.mark.parametrize("average_method", AVERAGES)
def test_every_pair_with_each_average(engine: Engine, average_method: str) -> None:
    rows = report(engine, frame_of_pairs(4), partition_by="pair", average_method=average_method)
    check_pairs(rows, 4, average_method=average_method)


def test_a_refinement_is_at_most_1(engine: Engine) -> None:
    """Its mutual information is the least entropy; their ratio was 1.0000000000000007."""
    refined = [((0, 1, 2, 0, 1, 1), (0, 1, 1, 0, 1, 1)), ((0, 0, 1, 1, 1, 1), (0, 1, 2, 2, 2, 2))]
    rows = [(i, u, v) for i, pair in enumerate(refined) for u, v in zip(*pair, strict=True)]
    frame = pl.DataFrame(rows, schema=["pair", "label", "cluster"], orient="row")
    for row in report(engine, frame, partition_by="pair", average_method="min"):
        assert 1 - 1e-12 < row["adjusted_mutual_info_score"] <= 1


@pytest.mark.parametrize("beta", [0.0, 0.5, 2.0])
def test_every_pair_with_each_beta(engine: Engine, beta: float) -> None:
    check_pairs(report(engine, frame_of_pairs(4), partition_by="pair", beta=beta), 4, beta=beta)


def test_every_pair_with_the_joint_average(engine: Engine) -> None:
    rows = report(
        engine, frame_of_pairs(4), partition_by="pair", average_method="joint", adjusted=False
    )
    check_pairs(rows, 4, average_method="joint", adjusted=False)


EMPTY = pl.DataFrame(schema={"label": pl.String, "cluster": pl.Int64, "run": pl.Int64})
NULLS = pl.DataFrame({"label": ["a", None], "cluster": [None, 1], "run": [1, 2]})


def test_an_empty_table_has_one_row(engine: Engine) -> None:
    assert report(engine, EMPTY) == [NOTHING]


def test_an_empty_table_has_no_partition(engine: Engine) -> None:
    assert report(engine, EMPTY, partition_by="run") == []


def test_all_rows_dropped(engine: Engine) -> None:
    assert report(engine, NULLS) == [NOTHING | {"n_dropped": 2}]
    expected = [{"run": run} | NOTHING | {"n_dropped": 1} for run in (1, 2)]
    assert report(engine, NULLS, partition_by="run") == expected


def test_all_noise(engine: Engine) -> None:
    frame = pl.DataFrame({"label": ["a", "a", "b"], "cluster": [-1, -1, -1]})
    [dropped] = report(engine, frame, noise=-1, noise_as="drop")
    assert dropped == NOTHING | {"n_noise": 3}
    [single] = report(engine, frame, noise=-1, noise_as="singletons")
    assert [single[name] for name in COUNTS] == [3, 0, 3, 2, 3]
    assert_metrics(single, exact([("a", 0, 1), ("a", 1, 1), ("b", 2, 1)]))


def test_weights_of_zero_leave_nothing(engine: Engine) -> None:
    frame = pl.DataFrame({"label": ["a", None], "cluster": [1, 1], "n": [0, 0]})
    assert report(engine, frame, weight="n") == [NOTHING]


def test_null_rows_are_dropped_whatever_else_they_are(engine: Engine) -> None:
    """A row without a label is in n_dropped and in no other count, noise or not."""
    one = [("a", -1), (None, -1)]
    more = [("b", 0), ("b", -1), (None, -1), (None, 0), (None, -1)]
    for rows, counts in ((one, (1, 1, 1)), ([*one, *more], (3, 4, 2))):
        n, dropped, noise = counts
        frame = pl.DataFrame(rows, schema=["label", "cluster"], orient="row")
        for noise_as, kept in (("cluster", n), ("drop", n - noise), ("singletons", n)):
            [row] = report(engine, frame, noise=-1, noise_as=noise_as)
            assert [row[name] for name in COUNTS[:3]] == [kept, dropped, noise], noise_as


@pytest.mark.parametrize("function", [*TABLES, "bcubed_samples", "record_error_table"])
def test_a_null_key_is_a_partition(engine: Engine, function: str) -> None:
    """The last one, with the rows that its labeling has alone."""
    first, last = [(0, 0), (0, 1), (1, 1)], [(0, 3), (0, 3), (1, 3), (1, 0)]
    rows = [
        (*row, i, run) for run, part in ((7, first), (None, last)) for i, row in enumerate(part)
    ]
    frame = frame_of(rows, "id", "run")
    more = {} if function in TABLES else {"id": "id"}
    wanted = [
        {"run": run} | row
        for run, part in ((7, frame.filter(run=7)), (None, frame.filter(pl.col("run").is_null())))
        for row in engine.table(function, part, **more)
    ]
    found = engine.table(function, frame, partition_by="run", **more)
    assert_rows(found, wanted)
    assert {row["run"] for row in found} == {7, None}
