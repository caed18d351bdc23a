"""The command entity-resolution: measures, and estimates from labels of a sample."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    ENGINE_NAMES,
    INVENTORS,
    QUICK,
    Fail,
    Noted,
    Run,
    near_rows,
    report_rows,
    values,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gate

COLUMNS = ("--label", "inventor", "--cluster", "cluster_2021")
BY_RECORD = (*COLUMNS, "--labels-are-sample", "by_record", "--sampling-fraction", "0.00002")
ROWS = pl.scan_parquet(INVENTORS)


def test_the_measures_of_inventors(run: Run, engine_name: str) -> None:
    options = ("--split-cost", "product", "--merge-cost", "entropy", "--beta", "2")
    rows = report_rows(
        run, INVENTORS, *COLUMNS, *options, "--engine", engine_name, of="entity-resolution"
    )
    wanted = ce.entity_resolution_report(
        ROWS, "inventor", "cluster_2021", split_cost="product", merge_cost="entropy", beta=2
    ).collect()
    assert rows == near_rows(wanted.rows(named=True))
    assert list(rows[0]) == wanted.columns


def test_the_estimates_of_inventors(run: Run, engine_name: str) -> None:
    options = ("--confidence", "0.8", "--beta", "0.5", "--engine", engine_name)
    rows = report_rows(run, INVENTORS, *BY_RECORD, *options, of="entity-resolution")
    wanted = ce.entity_resolution_estimates(
        *(ROWS, "inventor", "cluster_2021"),
        labels_are_sample="by_record",
        sampling_fraction=0.00002,
        confidence=0.8,
        beta=0.5,
    ).collect()
    assert rows == near_rows(wanted.rows(named=True))


@DUCKDB_AT_THE_GATE
def test_the_tables(run: Run, engine_name: str) -> None:
    table = run("entity-resolution", INVENTORS, *COLUMNS, "--engine", engine_name)
    assert table.startswith(
        f"{INVENTORS}: label inventor, cluster cluster_2021\nsplit_cost unit, merge_cost unit\n\n"
    )
    shown = values(table)
    assert (shown["n"][0], shown["basic_merge_distance"][0]) == ("13451", "115")
    table = run("entity-resolution", INVENTORS, *BY_RECORD, "--engine", engine_name)
    assert table.startswith(
        f"{INVENTORS}: label inventor, cluster cluster_2021, labels_are_sample by_record, "
        "confidence 0.95\n\n"
    )
    assert re.search(r"^  pair_precision +0.913302 +0.863095 +0.946244$", table, re.MULTILINE)
    assert re.search(r"^average_label_size +mean number of rows of an entity$", table, re.MULTILINE)


@pytest.mark.parametrize("design", [(), ("--labels-are-sample", "uniform")])
def test_noise_weights_and_partitions_reach_both(
    run: Run, tmp_path: Path, design: tuple[str, ...]
) -> None:
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame(
        {
            "label": ["a", "a", "b", None, "c", "c"],
            "cluster": [0, 0, 0, 1, -1, 1],
            "n": [1, 2, 1, 3, 1, 1],
            "run": ["x", "x", "x", "y", "y", "y"],
        }
    )
    frame.write_parquet(path)
    given = {"weight": "n", "partition_by": "run", "noise": -1, "noise_as": "singletons"}
    options = ("--weight=n", "--partition-by=run", "--noise=-1", "--noise-as=singletons")
    function = ce.entity_resolution_estimates if design else ce.entity_resolution_report
    wanted = function(frame, "label", "cluster", **given).rows(named=True)
    for engine in ENGINE_NAMES:
        call = ("--label=label", "--cluster=cluster", *options, *design, "--engine", engine)
        assert report_rows(run, path, *call, of="entity-resolution") == near_rows(wanted)


def test_several_partitions_are_sorted_by_the_pairs(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = [f"{label},{label // run if run else 0},{run}" for run in range(7) for label in range(9)]
    path.write_text("\n".join(["person,found,run", *rows]), "utf-8")
    call = ("--label", "person", "--cluster", "found", "--partition-by", "run", *QUICK)
    table = run("entity-resolution", path, *call)
    assert "closest" in table
    assert "all 34 columns: --format csv" in table


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--labels-are-sample", "by_cluster"), "labels_are_sample: expected one of 'uniform', "),
        (("--labels-are-sample", "uniform", "--confidence", "1"), "confidence: expected a number "),
        (("--split-cost", "square"), "split_cost: expected one of 'unit', 'product', 'entropy'"),
        (("--beta", "-1"), "beta: expected"),
        (("--weight", "inventors"), "weight: column 'inventors' not found"),
    ],
)
def test_mistakes(fail: Fail, engine_name: str, options: tuple[str, ...], text: str) -> None:
    error = fail("entity-resolution", INVENTORS, *COLUMNS, *options, "--engine", engine_name)
    assert error.startswith(f"{INVENTORS}: {text}")


def test_options_that_need_another(fail: Fail) -> None:
    for option in ("--confidence", "--sampling-fraction"):
        error = fail("entity-resolution", INVENTORS, *COLUMNS, option, "0.9")
        assert error == f"{option} needs --labels-are-sample, which says how the labels were drawn"
    error = fail("entity-resolution", INVENTORS, *BY_RECORD, "--merge-cost", "product")
    assert error == "--merge-cost cannot be combined with --labels-are-sample by_record: drop one"


@DUCKDB_AT_THE_GATE
def test_no_labels(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "none.parquet"
    pl.DataFrame({"l": pl.Series([None, None], dtype=pl.String), "c": [1, 2]}).write_parquet(path)
    call = ("entity-resolution", path, "--label=l", "--cluster=c", "--engine", engine_name)
    words = "2 of 2 rows have no label or no cluster, and are left out"
    assert noted(*call)[1] == f"clustereval: {path}: {words}\n"
    note = noted(*call, "--labels-are-sample", "uniform")[1]
    assert note == f"clustereval: {path}: no rows with a label and a cluster\n"


@DUCKDB_AT_THE_GATE
def test_labels_that_contradict_the_design(noted: Noted, engine_name: str) -> None:
    """All mentions of an inventor have labels, which no random sample of mentions would have."""
    call = ("entity-resolution", INVENTORS, *COLUMNS, "--labels-are-sample", "records")
    text, note = noted(*call, "--engine", engine_name)
    reason = "the labeled rows are not a random sample of records: in their clusters 95.7 % of"
    assert note.startswith(f"clustereval: {INVENTORS}: {reason}")
    assert f"no estimates: {reason}" in " ".join(text.split())


@DUCKDB_AT_THE_GATE
def test_estimates_without_an_interval_have_a_reason(noted: Noted, engine_name: str) -> None:
    """The values are shown, so there is no note, as for a table without any value."""
    call = ("entity-resolution", INVENTORS, *COLUMNS, "--labels-are-sample", "by_record")
    text, note = noted(*call, "--engine", engine_name)
    assert note == ""
    assert re.search(r"^  pair_precision +0.913179 +NULL +NULL$", text, re.MULTILINE)
    reason = "a label with 1064 of 130097 rows may have been drawn more than once: pass "
    assert f"no intervals: {reason}sampling_fraction" in " ".join(text.split())
    text, _ = noted(*call[:-1], "uniform", "--engine", engine_name)
    reason = "pair_recall, pair_f_score: the labeled entities weigh less than 6 equal ones"
    assert f"no interval of pair_precision, {reason}" in " ".join(text.split())


@DUCKDB_AT_THE_GATE
def test_estimates_from_random_records(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "some.parquet"
    some = pl.when(pl.col("mention") % 3 == 0).then("inventor").alias("inventor")
    ROWS.filter(pl.col("inventor").is_not_null()).with_columns(some).sink_parquet(path)
    call = ("entity-resolution", path, *COLUMNS, "--labels-are-sample", "records")
    text, note = noted(*call, "--engine", engine_name)
    assert note == ""
    assert re.search(r"^  pair_recall +0.9\d+ +0.9\d+ +0.9\d+$", text, re.MULTILINE)
    text = " ".join(text.split())
    assert "average_label_size: labels of random records do not tell how many rows" in text


@DUCKDB_AT_THE_GATE
@pytest.mark.parametrize("blank", ["", " ", "NULL", "n/a"])
def test_labels_that_are_blank(noted: Noted, engine_name: str, tmp_path: Path, blank: str) -> None:
    path = tmp_path / "rows.parquet"
    for n, has_note in ((1, False), (2, True)):
        labels = [blank] * n + [f"p{i // 2}" for i in range(12)]
        frame = pl.DataFrame({"l": labels, "c": [max(i, 1) for i in range(len(labels))]})
        frame.write_parquet(path)
        for command in ("entity-resolution", "external"):
            call = (command, path, "--label=l", "--cluster=c", "--engine", engine_name)
            wanted = (
                f"clustereval: {path}: the label '{blank}' of 2 of 14 rows counts as one label; if "
                "it stands for a missing one, make it NULL, so that these rows are left out\n"
            )
            assert noted(*call)[1] == (wanted if has_note else "")


def test_matching(run: Run, engine_name: str, tmp_path: Path) -> None:
    """By hand: label a is matched with cluster 1, and b with 0: 4 of 6 rows."""
    path = tmp_path / "rows.csv"
    path.write_text("l,c\na,0\na,1\na,1\nb,0\nb,0\nb,1\n", "utf-8")
    call = ("--label", "l", "--cluster", "c", "--engine", engine_name)
    [row] = report_rows(run, path, *call, of="matching")
    assert row["clustering_accuracy"] == pytest.approx(4 / 6, rel=1e-12)
    wanted = ce.matching_report(pl.read_csv(path), "l", "c").row(0, named=True)
    assert row == pytest.approx(wanted, rel=1e-12)


@DUCKDB_AT_THE_GATE
def test_sparse_labels(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "few.parquet"
    frame = pl.DataFrame(
        {
            "label": ["a", "b", "b", None, None, None, "c", None],
            "cluster": [0, 0, 0, 0, 0, 0, 1, 2],
            "run": ["x"] * 6 + ["y"] * 2,
        }
    )
    frame.write_parquet(path)
    call = ("entity-resolution", path, "--label=label", "--cluster=cluster")
    words = "3 of 7 rows in clusters with labels have no label, so precision may be far too high: "
    assert words in noted(*call, "--engine", engine_name)[1]
    words = "in 1 of 2 partitions, such as 3 of 6 rows in clusters with labels have no label"
    assert words in noted(*call, "--partition-by=run", "--engine", engine_name)[1]
    assert "in clusters" not in noted(*call, "--labels-are-sample=records", *QUICK)[1]
    assert "in clusters" not in noted("external", *call[1:], *QUICK)[1]
