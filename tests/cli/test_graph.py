"""The commands graph and overlapping: two tables with columns of their own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.cli.reports import COMMANDS
from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    ENGINE_NAMES,
    MEMBERS,
    QUICK,
    TIES,
    Fail,
    Noted,
    Run,
    json_rows,
    near_rows,
    values,
    write_input,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gate

NODES = ("--id", "id", "--cluster", "faction")
ENDS = ("--left", "left", "--right", "right")
CALL = ("graph", MEMBERS, *NODES, "--edges", TIES, *ENDS)
FRAME, EDGES = pl.read_parquet(MEMBERS), pl.read_parquet(TIES)
TOPICS = pl.DataFrame({"doc": [1, 2, 2, 3, 4], "topic": ["a", "a", "b", "b", "b"], "day": 1})
GROUPS = pl.DataFrame({"doc": [1, 2, 3, 3, 4, 5], "group": [0, 0, 0, 1, 1, 1], "day": 1})
REPORTS = {report.variant or report.show: report for report in COMMANDS["graph"]}
MEMBERSHIPS = ("--id", "doc", "--label", "topic", "--cluster", "group")


@pytest.mark.parametrize("show", REPORTS)
def test_the_rows_are_those_of_the_function(
    run: Run, fail: Fail, engine_name: str, show: str
) -> None:
    if engine_name == "duckdb" and not REPORTS[show].has_macro:
        error = fail(*CALL, "--show", show, "--engine", engine_name)
        words = f"--engine duckdb cannot be combined with --show {show}, which has no SQL macro"
        assert error == f"{words}: drop one"
        return
    call = (*CALL, "--weight", "contexts", "--show", show, "--engine", engine_name)
    rows = json_rows(run, *call)
    graph = ("id", "faction", EDGES, "left", "right")
    wanted = REPORTS[show].function(FRAME, *graph, weight="contexts")
    assert rows == near_rows(wanted.rows(named=True))
    assert list(rows[0]) == wanted.columns


def test_the_karate_club(run: Run, engine_name: str) -> None:
    """Modularity of networkx 3.6.1 for the two factions, without weights and with them."""
    shown = values(run(*CALL, "--engine", engine_name))
    assert (shown["n_edges"][0], shown["modularity"][0]) == ("78", "0.358235")
    [row] = json_rows(run, *CALL, "--weight", "contexts", "--engine", engine_name)
    assert row["modularity"] == pytest.approx(0.39143756676224206, rel=1e-12)


def test_options_reach_the_functions(run: Run, engine_name: str) -> None:
    graph = (FRAME, "id", "faction", EDGES, "left", "right")
    call = (*CALL, "--engine", engine_name)
    [row] = json_rows(run, *call, "--resolution", "0.5")
    assert row["modularity"] == pytest.approx(
        ce.graph_report(*graph, resolution=0.5)["modularity"].item(), rel=1e-12
    )
    rows = json_rows(run, *call, "--show", "clusters", "--max-diameter-nodes", "3")
    assert [row["diameter"] for row in rows] == [None, None]
    rows = json_rows(run, *call, "--show", "nodes", "--noise", "Hi", "--noise-as", "drop")
    assert len(rows) == FRAME.filter(faction="Officer").height


def test_the_tables(run: Run) -> None:
    heading = f"{MEMBERS}, {TIES}: id id, cluster faction\nleft left, right right"
    for show, report in REPORTS.items():
        for weight, words in (((), ""), (("--weight", "contexts"), ", weight contexts")):
            table = run(*CALL, "--show", show, *weight, *QUICK)
            assert table.startswith(f"{heading}{words}")
            assert ("weight " in table.splitlines()[1]) is bool(weight)
        for name, (_, text) in report.meanings.items():
            assert name in table
            assert text in table


@pytest.mark.parametrize(
    "kinds",
    [
        *(("csv", "csv"), ("arrow", "parquet"), ("duckdb", "duckdb"), ("json", "duckdb")),
        *(("duckdb", "json"), ("parquet", "arrow")),
    ],
    ids="-".join,
)
@DUCKDB_AT_THE_GATE
def test_kinds_of_files(run: Run, engine_name: str, tmp_path: Path, kinds: tuple[str, str]) -> None:
    """Weights of a CSV file are numbers, and the table of nodes needs no column of that name."""
    members, ties = (
        write_input(frame, tmp_path / f"{name}.{kind}")
        for frame, name, kind in zip((FRAME, EDGES), ("nodes", "edges"), kinds, strict=True)
    )
    call = ("graph", members, *NODES, "--edges", ties, *ENDS, "--weight", "contexts")
    [row] = json_rows(run, *call, "--engine", engine_name)
    assert row["modularity"] == pytest.approx(0.39143756676224206, rel=1e-12)


def test_several_files_of_nodes(run: Run, fail: Fail, engine_name: str, tmp_path: Path) -> None:
    halves = [write_input(FRAME[i::2], tmp_path / f"{i}.parquet") for i in range(2)]
    call = (*NODES, "--edges", TIES, *ENDS, "--engine", engine_name)
    assert json_rows(run, "graph", *halves, *call) == near_rows(
        ce.graph_report(FRAME, "id", "faction", EDGES, "left", "right").rows(named=True)
    )
    assert fail("graph", "-", *NODES, "--edges", "-", *ENDS) == "standard input: given twice"


def test_partitions(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    frames = [frame.with_columns(day=pl.int_range(pl.len()) % 2) for frame in (FRAME, EDGES)]
    paths = [write_input(frame, tmp_path / f"{frame.height}.parquet") for frame in frames]
    call = ("graph", paths[0], *NODES, "--edges", paths[1], *ENDS, "--partition-by", "day")
    wanted = ce.graph_report(
        frames[0], "id", "faction", frames[1], "left", "right", partition_by="day"
    )
    out, err = noted(*call, "--engine", engine_name, "--format", "json")
    assert json.loads(out) == near_rows(wanted.rows(named=True))
    n_dropped = wanted["n_dropped_edges"].sum()
    words = f"{n_dropped} of 78 edges are left out because one of their ends is in no cluster of "
    assert words in err
    assert "inter_cluster_edge_share" in noted(*call, *QUICK)[0]


@pytest.mark.parametrize(
    ("options", "names", "text"),
    [
        (("--id", "ids"), [MEMBERS], "id: column 'ids' not found; did you mean 'id'?"),
        (("--left", "lefts"), [TIES], "left: column 'lefts' not found; did you mean 'left'?"),
        (("--weight", "w"), [TIES], "weight: column 'w' not found; columns: left, right, contexts"),
        (("--partition-by", "left"), [MEMBERS, TIES], "partition_by: column 'left' not found"),
        (("--partition-by", "faction"), [TIES], "partition_by: column 'faction' not found"),
        (("--resolution", "-1"), [MEMBERS, TIES], "resolution: expected a number >= 0, got -1"),
        (("--id", "cluster"), [MEMBERS], "id: expected one row with a cluster per id, got several"),
        (
            ("--cluster", "cluster", "--noise", "x", "--noise-as", "drop"),
            [MEMBERS, TIES],
            "noise: expected a value of the type of cluster",
        ),
    ],
)
def test_mistakes(
    fail: Fail, engine_name: str, options: tuple[str, ...], names: list[str], text: str
) -> None:
    error = fail(*CALL, *options, "--engine", engine_name)
    assert error.startswith(f"{', '.join(names)}: {text}")


def test_weights_that_are_none(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    path = write_input(EDGES.with_columns(contexts=-1), tmp_path / "edges.parquet")
    call = ("graph", MEMBERS, *NODES, "--edges", path, *ENDS, "--weight", "contexts")
    error = fail(*call, "--engine", engine_name)
    assert error.startswith(f"{path}: weight: expected finite numbers >= 0, got -1")


def test_options_that_a_table_does_not_have(fail: Fail) -> None:
    error = fail(*CALL, "--show", "nodes", "--resolution", "2")
    assert error == "--resolution cannot be combined with --show nodes: drop one"
    error = fail(*CALL, "--max-diameter-nodes", "5")
    assert error == "--max-diameter-nodes cannot be combined with --show scores: drop one"


def test_edges_are_needed(fail: Fail) -> None:
    error = fail("graph", MEMBERS, *NODES, *ENDS)
    assert error == "the following arguments are required: --edges"


def test_outputs_that_cannot_be(fail: Fail, tmp_path: Path) -> None:
    path = write_input(EDGES, tmp_path / "edges.parquet")
    error = fail("graph", MEMBERS, *NODES, "--edges", path, *ENDS, "--output", path)
    assert error.startswith("--output: expected a file other than the input")


@DUCKDB_AT_THE_GATE
def test_ids_that_do_not_match(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    """Edges of splink join the source to the id by another text than the nodes."""
    nodes = FRAME.with_columns(id=pl.format("a-{}", "id"))
    ends = (pl.format("a-__-{}", end).alias(end) for end in ("left", "right"))
    path = write_input(nodes, tmp_path / "nodes.parquet")
    edges = write_input(EDGES.with_columns(ends), tmp_path / "edges.parquet")
    lowest = sorted(f"a-__-{left}" for left in EDGES["left"])[0]
    for show, report in REPORTS.items():
        if engine_name == "duckdb" and not report.has_macro:
            continue
        call = ("graph", path, *NODES, "--edges", edges, *ENDS, "--show", show)
        assert fail(*call, "--engine", engine_name) == (
            f"{edges}: expected edges between ids with a cluster, such as a-1, got 78 edges, each "
            f"with another end, such as {lowest}"
        )


def test_half_of_the_edges_may_be_left_out(noted: Noted, tmp_path: Path) -> None:
    names = pl.int_range(pl.len())
    for n_left_out, n_notes in ((39, 0), (40, 1)):
        ends = EDGES.with_columns(
            left=pl.when(names < n_left_out).then(pl.lit(99)).otherwise("left").cast(pl.Int64)
        )
        edges = write_input(ends, tmp_path / f"{n_left_out}.parquet")
        note = noted("graph", MEMBERS, *NODES, "--edges", edges, *ENDS, *QUICK)[1]
        assert note.count("edges are left out") == n_notes


def test_clusters_that_are_components_are_told(noted: Noted, tmp_path: Path) -> None:
    """In some of the partitions, too, and if only other scores are asked for."""
    ties = EDGES.filter(pl.col("contexts") >= 4)
    whole = ce.connected_components(FRAME, "id", ties, "left", "right")
    edges = write_input(ties.with_columns(day=1), tmp_path / "edges.parquet")
    days = [whole.with_columns(day=pl.lit(day, pl.Int32)) for day in (1, 2)]
    days[1] = days[1].with_columns(cluster=pl.lit(0, pl.Int64))
    path = write_input(days[0], tmp_path / "nodes.parquet")
    both = write_input(pl.concat(days), tmp_path / "both.parquet")
    words = "each cluster is a connected component, so coverage, conductance and"
    calls = {
        (path,): f"{path}: {words}",
        (path, "--metrics", "modularity"): f"{path}: {words}",
        (both, "--partition-by", "day"): f"{both}: in 1 of 2 partitions, {words}",
    }
    for (name, *options), wanted in calls.items():
        call = ("graph", name, "--id", "id", "--cluster", "cluster", "--edges", edges, *ENDS)
        assert wanted in noted(*call, *options, *QUICK)[1]
    split = write_input(days[1], tmp_path / "split.parquet")
    call = ("graph", split, "--id", "id", "--cluster", "cluster", "--edges", edges, *ENDS)
    assert noted(*call, *QUICK)[1] == ""


@DUCKDB_AT_THE_GATE
def test_no_rows(noted: Noted, engine_name: str, tmp_path: Path) -> None:
    path = write_input(FRAME.clear(), tmp_path / "none.parquet")
    edges = write_input(EDGES.clear(), tmp_path / "edges.parquet")
    for show in ("scores", "clusters", "nodes"):
        call = ("graph", path, *NODES, "--edges", edges, *ENDS, "--show", show)
        note = noted(*call, "--engine", engine_name)[1]
        assert note == f"clustereval: {path}: no rows with an id and a cluster\n"
    labels = write_input(TOPICS.clear(), tmp_path / "labels.parquet")
    clusters = write_input(GROUPS.clear(), tmp_path / "clusters.parquet")
    note = noted("overlapping", labels, clusters, *MEMBERSHIPS, "--engine", engine_name)[1]
    assert note == f"clustereval: {labels}: no rows with an id and a label or a cluster\n"
    some = write_input(GROUPS, tmp_path / "1.parquet")
    assert noted("overlapping", labels, some, *MEMBERSHIPS, "--engine", engine_name)[1] == ""


# Overlapping ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [("parquet", "arrow"), ("csv", "csv"), ("duckdb", "parquet")])
def test_overlapping(run: Run, engine_name: str, tmp_path: Path, kinds: tuple[str, str]) -> None:
    labels, clusters = (
        write_input(frame, tmp_path / f"{name}.{kind}")
        for frame, name, kind in zip((TOPICS, GROUPS), ("topics", "groups"), kinds, strict=True)
    )
    options = ("--beta", "2", "--engine", engine_name)
    call = ("overlapping", labels, clusters, *MEMBERSHIPS, *options)
    rows = json_rows(run, *call)
    columns = (TOPICS, GROUPS, "doc", "topic", "group")
    assert rows == near_rows(ce.overlapping_report(*columns, beta=2).rows(named=True))
    parts = json_rows(run, *call, "--partition-by", "day")
    assert [(str(row["day"]), row["n"]) for row in parts] == [("1", 4)]


def test_the_table_of_overlapping(run: Run, tmp_path: Path) -> None:
    labels = write_input(TOPICS, tmp_path / "topics.csv")
    clusters = write_input(GROUPS, tmp_path / "groups.csv")
    table = run("overlapping", labels, clusters, *MEMBERSHIPS, *QUICK)
    assert table.startswith(f"{labels}, {clusters}: id doc, label topic, cluster group\n\n")
    assert list(values(table)) == ce.overlapping_report(
        TOPICS, GROUPS, "doc", "topic", "group"
    ).columns  # fmt: skip


def test_mistakes_of_overlapping(fail: Fail, tmp_path: Path) -> None:
    labels = write_input(TOPICS, tmp_path / "topics.parquet")
    clusters = write_input(GROUPS, tmp_path / "groups.parquet")
    for engine in ENGINE_NAMES:
        call = ("overlapping", labels, clusters, *MEMBERSHIPS, "--engine", engine)
        assert fail(*call, "--label", "topics").startswith(f"{labels}: label: column 'topics' not")
        assert fail(*call, "--cluster", "groups").startswith(f"{clusters}: cluster: column ")


WEIGHTED = ("--id", "id", "--edges", TIES, *ENDS, "--weight", "contexts")


def test_clusters_of_edges(run: Run, engine_name: str) -> None:
    nodes = pl.read_parquet(MEMBERS)
    graph = ("id", pl.read_parquet(TIES), "left", "right", "contexts")
    call = (MEMBERS, *WEIGHTED, "--engine", engine_name, "--format", "json")
    found = json.loads(run("components", *call, "--threshold", "4"))
    assert found == ce.connected_components(nodes, *graph, threshold=4).to_dicts()
    found = json.loads(run("thresholds", *call, "--label", "faction", "--thresholds", "2,5"))
    report = ce.threshold_report(nodes, *graph, "faction", thresholds=[2, 5])
    for row, wanted in zip(found, report.to_dicts(), strict=True):
        assert row == {
            name: x if x is None else pytest.approx(x, rel=1e-12) for name, x in wanted.items()
        }


def test_thresholds_on_the_terminal(run: Run, fail: Fail) -> None:
    text = run("thresholds", MEMBERS, *WEIGHTED, "--label", "faction", *QUICK)
    assert "id id, label faction\nleft left, right right, weight contexts\n" in text
    assert "all 19 columns: --format csv" in text
    error = fail("components", MEMBERS, *WEIGHTED[:-2], "--threshold", "2", *QUICK)
    assert "weight: expected the column that thresholds are compared with, got NULL" in error


def test_thresholds_from_the_labels_of_a_sample(noted: Noted, fail: Fail, tmp_path: Path) -> None:
    nodes = pl.read_parquet(MEMBERS).with_columns(
        faction=pl.when(pl.int_range(pl.len()) < 20).then("faction")
    )
    path = write_input(nodes, tmp_path / "nodes.parquet")
    call = ("thresholds", path, *WEIGHTED, "--label", "faction", "--labels-are-sample", "records")
    text, note = noted(*call, "--thresholds", "2,5", "--format", "json", *QUICK)
    graph = ("id", pl.read_parquet(TIES), "left", "right", "contexts")
    report = ce.threshold_report(
        nodes, *graph, "faction", thresholds=[2, 5], labels_are_sample="records"
    )
    assert json.loads(text)[1]["pair_precision"] == pytest.approx(report["pair_precision"][1])
    assert "errors among the others" not in note
    assert "thresholds: expected a list of thresholds with labels_are_sample" in fail(*call, *QUICK)


def test_thresholds_from_labels_of_pairs(
    run: Run, noted: Noted, fail: Fail, engine_name: str, tmp_path: Path
) -> None:
    pairs = pl.DataFrame({"a": [1, 3, 1, 34], "b": [2, 4, 34, 33], "same": [1, 0, 0, 1]})
    path = write_input(pairs, tmp_path / "pairs.parquet")
    call = ("thresholds", MEMBERS, *WEIGHTED, "--engine", engine_name, "--pairs", path)
    call = (*call, "--pair-left", "a", "--pair-right", "b", "--is-match", "same")
    graph = ("id", pl.read_parquet(TIES), "left", "right", "contexts")
    columns = {"pair_left": "a", "pair_right": "b", "is_match": "same"}
    report = ce.threshold_report(
        pl.read_parquet(MEMBERS), *graph, thresholds=[2, 4], pairs=pairs, **columns
    )
    found = json.loads(run(*call, "--thresholds", "2,4", "--format", "json"))
    assert [row["pair_precision"] for row in found] == report["pair_precision"].to_list()
    assert None not in report["pair_precision"]
    text = run(*call, "--thresholds", "2,4")
    assert "\npair_left a, pair_right b, is_match same\n" in text
    assert "bcubed" not in text
    assert "thresholds: expected a list of thresholds with pairs, got NULL" in fail(*call)
    far = pl.col("left") + pl.when(pl.col("left") > 1).then(99).otherwise(0)
    edges = write_input(pl.read_parquet(TIES).with_columns(left=far), tmp_path / "far.parquet")
    _, note = noted(*call, "--thresholds", "2", "--edges", edges)
    assert f"{edges}: 62 of 78 edges are left out" in note
    both = (*call, "--thresholds", "2", "--label", "faction")
    assert "expected labels of pairs or of ids, got both" in fail(*both)


@pytest.mark.gate
@pytest.mark.parametrize("ending", [".svg", ".PNG", ".html"])
def test_a_picture_of_thresholds(run: Run, fail: Fail, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"thresholds{ending}"
    call = ("thresholds", MEMBERS, *WEIGHTED, "--label", "faction", *QUICK)
    assert run(*call, "--plot", str(path)) == run(*call)
    start = {".svg": b"<svg", ".PNG": b"\x89PNG", ".html": b"<!DOCTYPE html>"}
    assert path.read_bytes().lstrip().startswith(start[ending])
    error = fail(*call, "--plot", f"{path}.jpg")
    assert f"--plot: expected a file that ends in .png, .svg, .html, got {path}.jpg" in error
    assert "no such directory" in fail(*call, "--plot", str(tmp_path / "no" / path.name))


def test_a_picture_needs_altair_and_one_partition(
    fail: Fail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "thresholds.svg")
    call = ("thresholds", MEMBERS, *WEIGHTED, *QUICK, "--plot", path)
    days = [
        write_input(
            pl.read_parquet(x).join(pl.DataFrame({"day": [1, 2]}), how="cross"),
            tmp_path / f"{i}.parquet",
        )
        for i, x in enumerate((MEMBERS, TIES))
    ]
    given = (*("thresholds", days[0], *WEIGHTED, *QUICK, "--plot", path), "--edges", days[1])
    error = fail(*given, "--partition-by", "day")
    assert "expected one row of threshold_report per threshold, got several" in error
    monkeypatch.setitem(sys.modules, "altair", None)
    assert "--plot: polars_clustereval.plots needs altair: pip install" in fail(*call)


@pytest.mark.parametrize(
    ("n_labeled", "is_told"), [(34, False), (31, False), (30, True), (0, False)]
)
def test_sparse_labels_are_told_beside_thresholds(
    noted: Noted, tmp_path: Path, n_labeled: int, is_told: bool
) -> None:
    """34 ids: from the fourth on that lacks a label, a tenth of them do."""
    place = pl.int_range(pl.len())
    nodes = pl.read_parquet(MEMBERS).with_columns(pl.when(place < n_labeled).then("faction"))
    path = write_input(nodes, tmp_path / "nodes.parquet")
    _, note = noted("thresholds", path, *WEIGHTED, "--label", "faction", *QUICK)
    words = f"{n_labeled} of 34 ids have a label: errors among the others are not seen"
    assert (words in note) == is_told
    assert ("with --labels-are-sample" in note) == is_told
