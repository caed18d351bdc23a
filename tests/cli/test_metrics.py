"""--metrics: the scores that a report computes and shows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.command_line import (
    CALLS,
    DUCKDB_AT_THE_GATE,
    IRIS,
    KMEANS,
    QUICK,
    RUNS,
    SCORES,
    VARIANT_CALLS,
    near_rows,
    report_rows,
    values,
)
from tests.support.pages import BOTH, DIGITS_BOTH

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail, Noted, Run

pytestmark = pytest.mark.gate

NAMES = "purity,n,rand_score"


@DUCKDB_AT_THE_GATE
@pytest.mark.parametrize("keys", [(), ("--partition-by", "k")])
def test_scores_in_the_order_asked_for(run: Run, engine_name: str, keys: tuple[str, ...]) -> None:
    call = (RUNS, "--label", "digit", "--cluster", "cluster", *keys, "--engine", engine_name)
    whole = report_rows(run, *call)
    chosen = report_rows(run, *call, "--metrics", NAMES)
    names = [*keys[1:], *NAMES.split(",")]
    assert chosen == [{name: row[name] for name in names} for row in whole]
    shown = values(run("external", *call, "--metrics", NAMES))
    assert list(shown) == NAMES.split(",")


@pytest.mark.parametrize("command", SCORES)
def test_every_report_of_scores_takes_names(run: Run, command: str) -> None:
    [row] = report_rows(run, *CALLS[command], *QUICK, of=command)
    *_, last = row
    [chosen] = report_rows(run, *CALLS[command], *QUICK, "--metrics", f"{last}, n", of=command)
    assert near_rows([chosen]) == [{last: row[last], "n": row["n"]}]


@DUCKDB_AT_THE_GATE
def test_metrics_with_intervals(run: Run, engine_name: str) -> None:
    call = (*VARIANT_CALLS["external-confidence"], "--engine", engine_name)
    whole = report_rows(run, *call)
    chosen = report_rows(run, *call, "--metrics", "v_measure_score,purity")
    names = ("v_measure_score", "purity")
    rows = {row["metric"]: row for row in whole}
    assert chosen == [rows[name] for name in names]
    table = run("external", *call, "--metrics", "v_measure_score,purity")
    assert "adjusted_rand_score" not in table
    assert "more metric" not in table


def test_the_terminal_shows_the_first_ones_of_many(run: Run) -> None:
    short = run("external", IRIS, *KMEANS, *QUICK)
    whole = run("external", IRIS, *KMEANS, *QUICK, "--metrics", "all")
    first, every = values(short), values(whole)
    assert {"adjusted_rand_score", "v_measure_score", "purity", "n"} <= first.keys()
    assert "mirkin_metric" not in first
    assert first == {name: words for name, words in every.items() if name in first}
    assert f"\n\n{len(every) - len(first)} more metrics: --metrics all\n" in short
    assert "more metric" not in whole
    titles = re.findall(r"^([a-z]+(?: [a-z]+)?)$", short, re.MULTILINE)
    assert titles == ["counts", "pair counting", "information", "set matching"]
    assert report_rows(run, IRIS, *KMEANS, *QUICK) == report_rows(
        run, IRIS, *KMEANS, *QUICK, "--metrics", "all"
    ), "programs get all"


@pytest.mark.parametrize("command", ["matching", "silhouette", "pairwise"])
def test_a_report_of_few_metrics_is_shown_whole(run: Run, command: str) -> None:
    table = run(command, *CALLS[command], *QUICK)
    [row] = report_rows(run, *CALLS[command], *QUICK, of=command)
    assert list(values(table)) == list(row)


def test_rows_that_are_left_out_are_always_shown(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    frame = pl.DataFrame({"species": ["a", "a", None, "b"], "kmeans": [0, 0, 1, -1]})
    frame.write_parquet(path)
    noise = ("--noise", "-1", "--noise-as", "cluster")
    shown = values(run("external", path, *KMEANS, *noise, *QUICK))
    assert (shown["n_dropped"][0], shown["n_noise"][0]) == ("1", "1")
    without = values(run("external", IRIS, *KMEANS, *QUICK))
    assert not without.keys() & {"n_dropped", "n_noise"}


def test_notes_do_not_depend_on_what_is_asked_for(noted: Noted, tmp_path: Path) -> None:
    """Neither that there are no rows, nor that no row is noise."""
    path = tmp_path / "rows.parquet"
    pl.DataFrame(
        {"species": [None], "kmeans": [1]}, schema={"species": pl.String, "kmeans": pl.Int64}
    ).clear().write_parquet(path)
    for metrics in ((), ("--metrics", "purity")):
        assert "no rows" in noted("external", path, *KMEANS, *QUICK, *metrics)[1]
        note = noted(
            "external", IRIS, *KMEANS, *QUICK, "--noise", "-1", "--noise-as", "drop", *metrics
        )[1]
        assert "no row has cluster -1" in note


@DUCKDB_AT_THE_GATE
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("external", IRIS, *KMEANS), "metrics: expected names of columns, got 'ari'; did you"),
        (("external", IRIS, *KMEANS, "--confidence", "0.9"), "metrics: .*got 'ari'"),
        (("report", *BOTH), "metrics: expected names of columns, got 'ari'; did you"),
        (
            ("report", RUNS, "--label", "digit", "--cluster", "cluster", "--partition-by", "k"),
            "metrics: expected names of columns, got 'ari'; did you mean",
        ),
        (
            ("graph", *VARIANT_CALLS["graph-nodes"]),
            "--metrics cannot be combined with --show nodes: drop one",
        ),
    ],
)  # fmt: skip
def test_unknown_names(
    fail: Fail, engine_name: str, arguments: tuple[str, ...], words: str
) -> None:
    error = fail(*arguments, "--metrics", "ari", "--engine", engine_name)
    assert re.search(words, error), error


def test_scores_at_the_top_of_a_page(run: Run) -> None:
    page = run("report", *DIGITS_BOTH, *QUICK, "--metrics", "ssw,purity")
    scores = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert scores == ["ssw", "purity"]
    columns = ("--label", "digit", "--cluster", "cluster", "--partition-by", "k")
    page = run("report", RUNS, *columns, *QUICK, "--metrics", "purity,rand_score")
    assert "| partition | n | n clusters | purity | rand score |" in page
    frame = pl.read_parquet(RUNS)
    scores_of = ce.external_report(frame, "digit", "cluster", partition_by="k").sort("purity")
    order = re.findall(r"^\| k (\d+) \|", page, re.MULTILINE)
    assert order == [str(k) for k in scores_of["k"]]


def test_a_json_of_chosen_scores_is_read_as_numbers(run: Run) -> None:
    text = run("external", IRIS, *KMEANS, *QUICK, "--metrics", "purity", "--format", "json")
    assert json.loads(text) == [{"purity": pytest.approx(0.8933333)}]
