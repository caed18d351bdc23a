"""The command stability: the consensus of runs, and the clusters of a reference run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.cli.reports import REPORTS
from tests.support.command_line import RUNS, Fail, Noted, Run, report_rows

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ("--id", "id", "--run", "run", "--cluster", "cluster")
CALL = (RUNS, *COLUMNS)
FRAME = pl.read_parquet(RUNS)


def test_the_consensus_is_that_of_the_function(run: Run, engine_name: str) -> None:
    options = ("--metric", "mirkin_metric", "--partition-by", "k", "--engine", engine_name)
    rows = report_rows(run, *CALL, *options, of="stability")
    arguments = {"metric": "mirkin_metric", "partition_by": "k"}
    wanted = ce.run_consensus(FRAME, "id", "run", "cluster", **arguments)
    assert [(row["k"], row["run"], row["rank"]) for row in rows] == wanted.select(
        "k", "run", "rank"
    ).rows()
    found = [row["mean_score"] for row in rows]
    assert found == pytest.approx(wanted["mean_score"].to_list(), rel=1e-12)


def test_the_clusters_of_a_reference_least_stable_first(run: Run, engine_name: str) -> None:
    options = ("--reference", "k08-seed1", "--engine", engine_name)
    rows = report_rows(run, *CALL, *options, of="stability")
    wanted = ce.cluster_stability(FRAME, "id", "run", "cluster", "k08-seed1").sort("mean_jaccard")
    assert [row["cluster"] for row in rows] == wanted["cluster"].to_list()
    found = [row["mean_jaccard"] for row in rows]
    assert found == pytest.approx(wanted["mean_jaccard"].to_list(), rel=1e-12)


def test_text_files_and_runs_that_are_numbers(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("id,run,cluster\n1,1,a\n2,1,b\n1,2,x\n2,2,y\n")
    call = (path, *COLUMNS, "--reference", "2", "--engine", engine_name)
    rows = report_rows(run, *call, of="stability")
    assert [(row["cluster"], row["mean_jaccard"]) for row in rows] == [("x", 1.0), ("y", 1.0)]


def test_the_tables(run: Run) -> None:
    consensus = run("stability", *CALL, "--engine", "polars")
    assert consensus.startswith(f"{RUNS}: id id, run run, cluster cluster, metric adjusted_rand_sc")
    stability = run("stability", *CALL, "--reference", "k05-seed0", "--engine", "polars")
    assert ", reference k05-seed0\n" in stability
    for table, report in ((consensus, "stability"), (stability, "stability-reference")):
        for name, (_, text) in REPORTS[report].meanings.items():
            assert name in table
            assert text in table


def test_no_rows(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    FRAME.clear().write_parquet(path)
    for options in ((), ("--reference", "k05-seed0")):
        call = ("stability", path, *COLUMNS, *options, "--engine", engine_name)
        assert noted(*call)[1] == f"clustereval: {path}: no rows with a run and a cluster\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--reference", "k05"), "reference: run k05 not found; the nearest run is k05-seed0"),
        (("--metric", "ari"), "metric: expected one of 'rand_score', "),
        (("--id", "k"), "id: expected one row per id in a run, got "),
        (("--run", "runs"), "run: column 'runs' not found; did you mean 'run'?"),
    ],
)
def test_mistakes(fail: Fail, engine_name: str, options: tuple[str, ...], words: str) -> None:
    error = fail("stability", *CALL, *options, "--engine", engine_name)
    assert error.startswith(f"{RUNS}: ")
    assert words in error


def test_an_option_of_the_agreement_beside_a_reference(fail: Fail) -> None:
    call = ("stability", *CALL, "--reference", "k05-seed0", "--require-same-ids")
    assert fail(*call) == (
        "--require-same-ids applies only to the agreement of runs and cannot be combined with "
        "--reference: drop one"
    )
