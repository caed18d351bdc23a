"""The command pair-labels: two inputs, of which the second may lack the column of partitions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.command_line import (
    INVENTORS,
    PAIRS,
    QUICK,
    Fail,
    Noted,
    Run,
    json_rows,
    near_rows,
    write_input,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gate

ROWS = pl.DataFrame(
    {"id": [*range(6)] * 2, "run": ["a"] * 6 + ["b"] * 6, "cluster": [0, 0, 1, 1, 2, 2, *[0] * 6]}
)
LABELS = pl.DataFrame(
    {
        "one": [0, 1, 2, 4, 3, 9],
        "two": [1, 2, 3, 5, 3, 0],
        "same": [True, False, None, False, True, True],
        "w": [1.0, 2.0, 4.0, 3.0, 1.0, 1.0],
    }
)
OPTIONS = ("--id", "id", "--cluster", "cluster", "--left", "one", "--right", "two")
WEIGHTED = (*OPTIONS, "--is-match", "same", "--weight", "w")
COLUMNS = ("id", "cluster", LABELS, "one", "two", "same")


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "duckdb"])
@pytest.mark.parametrize("by", [(), ("--partition-by", "run")])
def test_the_rows_are_those_of_the_function(
    run: Run, engine_name: str, tmp_path: Path, kind: str, by: tuple[str, ...]
) -> None:
    rows = ROWS if by else ROWS.filter(run="a")
    paths = [
        write_input(frame, tmp_path / f"{name}.{kind}")
        for frame, name in ((rows, "rows"), (LABELS, "labels"))
    ]
    call = ("pair-labels", paths[0], "--pairs", paths[1], *WEIGHTED, *by)
    wanted = ce.pair_label_report(rows, *COLUMNS, weight="w", partition_by="run" if by else None)
    assert json_rows(run, *call, "--engine", engine_name) == near_rows(wanted.rows(named=True))
    assert wanted["n_pairs"].to_list() == [3] * wanted.height


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_pairs_of_one_partition(run: Run, engine_name: str, tmp_path: Path, kind: str) -> None:
    labels = LABELS.with_columns(run=pl.lit("b"))
    paths = [
        write_input(frame, tmp_path / f"{name}.{kind}")
        for frame, name in ((ROWS, "rows"), (labels, "labels"))
    ]
    call = ("pair-labels", paths[0], "--pairs", paths[1], *WEIGHTED, "--partition-by", "run")
    found = json_rows(run, *call, "--engine", engine_name)
    assert [(row["run"], row["n_pairs"]) for row in found] == [("a", 0), ("b", 3)]


@pytest.mark.parametrize("label", ["1", "true", "t"])
def test_labels_of_a_csv_file(run: Run, engine_name: str, tmp_path: Path, label: str) -> None:
    other = {"1": "0", "true": "false", "t": "f"}[label]
    same = pl.when("same").then(pl.lit(label)).when(~pl.col("same")).then(pl.lit(other))
    path = write_input(LABELS.with_columns(same=same), tmp_path / "labels.csv")
    rows = write_input(ROWS.filter(run="a"), tmp_path / "rows.csv")
    call = ("pair-labels", rows, "--pairs", path, *OPTIONS, "--is-match", "same")
    [row] = json_rows(run, *call, "--engine", engine_name)
    assert (row["tp"], row["fp"], row["tn"], row["n_dropped_pairs"]) == (1, 1, 1, 2)


def test_errors_and_remarks(fail: Fail, noted: Noted, engine_name: str, tmp_path: Path) -> None:
    labels = write_input(LABELS.with_columns(score=0.5), tmp_path / "labels.parquet")
    rows = write_input(ROWS.filter(run="a"), tmp_path / "rows.parquet")
    call = ("pair-labels", rows, "--pairs", labels, *OPTIONS, "--engine", engine_name)
    words = "is_match: expected booleans, or the numbers 0 and 1, got 0.5; compare a score with a"
    assert words in fail(*call, "--is-match", "score")
    assert "--is-match" in fail(*call)
    assert "column 'sam' not found" in fail(*call, "--is-match", "sam")
    assert "are left out" not in noted(*call, "--is-match", "same")[1]
    foreign = write_input(LABELS.with_columns(two=pl.col("two") + 3), tmp_path / "foreign.parquet")
    call = ("pair-labels", rows, "--pairs", foreign, *OPTIONS, "--is-match", "same")
    words = "4 of 6 pairs are left out because one of their ends is in no cluster; their ends look "
    assert words in noted(*call, *QUICK)[1]


def test_inventors(run: Run, engine_name: str) -> None:
    """The intervals cover the scores of all pairs from which make_data.py has drawn."""
    columns = ("--left", "left", "--right", "right", "--is-match", "is_match", "--weight", "weight")
    truth = {"cluster_2017": (0.808283, 0.982749), "cluster_2021": (0.934551, 0.993421)}
    for cluster, scores in truth.items():
        call = (INVENTORS, "--id", "mention", "--cluster", cluster, "--pairs", PAIRS, *columns)
        out = run("pair-labels", *call, "--engine", engine_name, "--format", "json")
        [row] = json.loads(out)
        for name, score in zip(("pair_precision", "pair_recall"), scores, strict=True):
            assert row[f"{name}_lower"] < score < row[f"{name}_upper"]
