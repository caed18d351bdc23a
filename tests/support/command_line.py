"""Calls of the command line, their data, and what they print."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import point_engines

Run = Callable[..., str]
Fail = Callable[..., str]
Noted = Callable[..., tuple[str, str]]

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
IRIS = str(EXAMPLES / "iris.parquet")
DIGITS = str(EXAMPLES / "digits.parquet")
RUNS = str(EXAMPLES / "digits_runs.parquet")
NIGHTS = [str(EXAMPLES / "dbt_project" / "nights" / f"2026-03-0{day}.parquet") for day in (1, 2)]
INVENTORS = str(EXAMPLES / "inventors.parquet")
PAIRS = str(EXAMPLES / "inventor_pairs.parquet")
MEMBERS, TIES = (str(EXAMPLES / f"karate_{name}.parquet") for name in ("members", "ties"))
WORDS, WORD_PAIRS = (str(EXAMPLES / f"{name}.csv") for name in ("words", "word_pairs"))
NEIGHBORS = str(EXAMPLES / "iris_neighbors.parquet")
SWEEP = str(Path(__file__).parent / "data" / "iris_sweep.parquet")
KMEANS = ("--label", "species", "--cluster", "kmeans")
CLUSTER = ("--label", "digit", "--cluster", "cluster")
WIDE = "sepal_length,sepal_width,petal_length,petal_width"
FLOWERS = ("--vector", WIDE, "--cluster", "kmeans")
#: A call of each report.
CALLS = {
    "external": (IRIS, *KMEANS),
    "entity-resolution": (IRIS, *KMEANS),
    "matching": (IRIS, *KMEANS),
    "findings": (IRIS, "--cluster", "id"),
    "profile": (IRIS, "--columns", f"{WIDE},species", "--cluster", "kmeans"),
    "clusters": (IRIS, *KMEANS),
    "labels": (IRIS, *KMEANS),
    "internal": (IRIS, *FLOWERS),
    "silhouette": (IRIS, *FLOWERS),
    "samples": (IRIS, *FLOWERS),
    "dunn": (IRIS, *FLOWERS, "--generalized"),
    "pairwise": (IRIS, *FLOWERS),
    "elbow": (SWEEP, *FLOWERS, "--k", "k"),
}
_RUN_COLUMNS = ("--id", "id", "--run", "run", "--cluster", "cluster")
_NIGHT_COLUMNS = ("--id", "id", "--cluster", "cluster")
_TIES = ("--edges", TIES, "--left", "left", "--right", "right", "--weight", "contexts")
_GRAPH = (MEMBERS, "--id", "id", "--cluster", "faction", *_TIES)
_OF_GRAPHS = ("clusters", "nodes", "edges", "links")
#: Calls from a table of distances, and from one of nearest neighbors.
OF_PAIRS = (
    *(WORDS, "--id", "word", "--cluster", "cluster", "--pairs", WORD_PAIRS),
    *("--left", "left", "--right", "right", "--distance", "distance"),
)
OF_NEIGHBORS = (
    *(IRIS, "--id", "id", "--cluster", "kmeans", "--neighbors", NEIGHBORS),
    *("--left", "id", "--right", "neighbor", "--distance", "distance"),
)
#: A call of each table that a command can write, by the name of its schema.
VARIANT_CALLS = {
    **CALLS,
    "external-confidence": (*CALLS["external"], "--confidence", "0.9"),
    "entity-resolution-labels-are-sample": (
        *CALLS["entity-resolution"],
        *("--labels-are-sample", "uniform"),
    ),
    "findings-label": (IRIS, *KMEANS),
    "findings-vector": (IRIS, "--vector", "sepal_width", "--cluster", "kmeans"),
    "matching-pairs": (*CALLS["matching"], "--show", "pairs"),
    "profile-association": (*CALLS["profile"], "--show", "association"),
    "compare": (IRIS, "--clusters", "kmeans,single_linkage", "--label", "species"),
    "stability": (RUNS, *_RUN_COLUMNS),
    "stability-reference": (RUNS, *_RUN_COLUMNS, "--reference", "k05-seed0"),
    "transitions": (*NIGHTS, *_NIGHT_COLUMNS),
    **{
        f"transitions-{show}": (*NIGHTS, *_NIGHT_COLUMNS, "--show", show)
        for show in ("overlaps", "ids", "affected", "drift")
    },
    "density": (IRIS, *FLOWERS),
    "density-clusters": (IRIS, *FLOWERS, "--show", "clusters"),
    **{f"{name}-pairs": OF_PAIRS for name in ("silhouette", "samples", "dunn", "pairwise")},
    "graph": _GRAPH,
    "components": (MEMBERS, "--id", "id", *_TIES),
    "thresholds": (MEMBERS, "--id", "id", "--label", "faction", *_TIES),
    "thresholds-pairs": (
        *(INVENTORS, "--id", "mention", "--edges", PAIRS, "--left", "left", "--right", "right"),
        *("--weight", "weight", "--thresholds", "1,3", "--pairs", PAIRS),
        *("--pair-left", "left", "--pair-right", "right", "--is-match", "is_match"),
    ),
    "neighborhood": OF_NEIGHBORS,
    **{f"neighborhood-{show}": (*OF_NEIGHBORS, "--show", show) for show in ("clusters", "samples")},
    **{f"graph-{show}": (*_GRAPH, "--show", show) for show in _OF_GRAPHS},
    "pair-labels": (
        *(INVENTORS, "--id", "mention", "--cluster", "cluster_2021", "--pairs", PAIRS),
        *("--left", "left", "--right", "right", "--is-match", "is_match", "--weight", "weight"),
    ),
    "overlapping": (*NIGHTS, "--id", "id", "--label", "digit", "--cluster", "cluster"),
}
#: Reports with one row for each clustering.
SCORES = (
    *("external", "entity-resolution", "matching"),
    *("internal", "silhouette", "dunn", "pairwise"),
)
ENGINE_NAMES = ("duckdb", "polars")
# For what does not depend on the engine: Polars registers no macros, which takes most of a call.
QUICK = ("--engine", "polars")
# For reports whose rows other tests compare between the engines.
DUCKDB_AT_THE_GATE = pytest.mark.parametrize(
    "engine_name", [pytest.param("duckdb", marks=pytest.mark.gate), "polars"], indirect=True
)
#: What a report of distances between points says of the engine that it was not told.
ENGINE_NOTE = "clustereval: engine polars, faster for distances between points; see --engine\n"

FRAME = pl.DataFrame(
    {
        "species": ["a", "a", "b", "b", None],
        "cluster": [0, 0, 1, -1, 1],
        "run": ["x", "x", "y", "y", "y"],
        "n": [1, 2, 1, 1, 1],
        "half": [0.5, 1.0, 1.0, 1.0, 1.0],
    }
)
#: The note on the cluster -1 of these frames, if it is not given as noise.
UNNAMED_NOISE = re.compile(r"clustereval: .*: cluster -1 is counted as a cluster; if it .*\n")
#: The notes on rows that are left out, which are a tenth or more of such small frames, and on a
#: coordinate that has most of their variance.
TOLD_BY_COUNTS = re.compile(
    r"clustereval: .*: (?:\d+ of \d+ (?:rows?|points?) .* left out.*|there is one cluster, .*|"
    r"each of the \d+ \w+ is a cluster of its own.*|there are \d+ labels for .*|"
    r"one cluster holds at least .*|\d+ of \d+ partitions .* no row to score|"
    r"coordinate .* of the variance within clusters, .*|.* rows in clusters with labels .*)\n"
)
ODD = 'a "quoted", it\'s größe'
POINTS = pl.DataFrame(
    {
        "x": [0.0, 2.0, 9.0, 9.0, 50.0, 7.0],
        "y": [0, 0, 0, 4, 50, 7],
        "list": [[0.0, 0.0], [2.0, 0.0], [9.0, 0.0], [9.0, 4.0], [50.0, 50.0], [7.0, 7.0]],
        "text": ["a"] * 6,
        "short": [[0.0, 0.0], [2.0, 0.0], [9.0], [9.0, 4.0], [50.0, 50.0], None],
        "hole": [0.0, 2.0, None, 9.0, 50.0, None],
        "cluster": [0, 0, 1, 1, -1, None],
        "run": ["u", "u", "v", "v", "v", "v"],
    }
)


def values(table: str) -> dict[str, list[str]]:
    """The metrics of a terminal table, with the words after each; not those of its legend."""
    body, *_ = table.split("best  meaning\n") if "metric" not in table else [table]
    return {
        words[0]: words[1:]
        for line in body.splitlines()
        if line.startswith("  ") and not line.startswith("   ") and (words := line.split())
    }


def json_rows(run: Run, *call: str | Path) -> list[dict[str, Any]]:
    rows = json.loads(run(*call, "--format", "json"))
    assert isinstance(rows, list)
    return rows


def report_rows(
    run: Run, file: str | Path, *arguments: str | Path, of: str = "external"
) -> list[dict[str, Any]]:
    return json_rows(run, of, file, *arguments)


def write_input(frame: pl.DataFrame, path: Path) -> str:
    """Write a frame in the format of the path's ending, and return what a call takes for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        plain = path.with_suffix("")
        write_input(frame, plain)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE rows AS FROM frame")
        return f"{path}::rows"
    elif path.suffix in (".jsonl", ".ndjson"):
        frame.write_ndjson(path)
    elif path.suffix in (".arrow", ".feather", ".ipc"):
        frame.write_ipc(path)
    else:
        getattr(frame, f"write_{path.suffix[1:]}")(path)
    return str(path)


def near_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that equal others whose floats differ by rounding only."""
    return [
        {
            name: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            for name, value in row.items()
        }
        for row in rows
    ]


def report_of(frame: pl.DataFrame, **arguments: Any) -> list[dict[str, Any]]:
    """The external report of the columns of FRAME, not through the command line."""
    return ce.external_report(frame, "species", "cluster", **arguments).rows(named=True)


def report_of_points(frame: pl.DataFrame, vector: Any, **arguments: Any) -> list[dict[str, Any]]:
    return ce.internal_report(frame, vector, "cluster", **arguments).rows(named=True)


def assert_scores_of_points(actual: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare indices of float coordinates, which agree to 1e-9."""
    assert actual
    point_engines.assert_points(actual, expected, tolerance=1e-9)


def start(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """Start the command line as a process, with pipes and more variables in its environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "polars_clustereval", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=EXAMPLES.parent,
        env=os.environ | {"PYTHONIOENCODING": "ascii"} | environment,
    )
