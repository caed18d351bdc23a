"""What tables say of their columns: titles, meanings, best values, and the method."""

from __future__ import annotations

import re

import pytest

from polars_clustereval.cli.options import OPTIONS
from polars_clustereval.cli.reports import COMMANDS, REPORTS
from tests.support.command_line import (
    CALLS,
    EXAMPLES,
    IRIS,
    QUICK,
    Run,
    report_rows,
    values,
)
from tests.support.oracle import METRICS

#: Before the best value: whether higher or lower values are better.
ARROWS = {"": "", "high": "↑", "1": "↑", "low": "↓", "0": "↓"}


@pytest.mark.parametrize(
    ("command", "titles"),
    [
        ("external", ["counts", "pair counting", "information", "set matching"]),
        (
            "entity-resolution",
            [
                *("counts", "pairs of records", "records", "entities"),
                *("overlaps, splits and merges", "coreference", "similarity and information"),
            ],
        ),
        ("matching", ["counts", "best one-to-one matching"]),
        ("internal", ["counts", "sums of squares", "distances", "centroid-based indices"]),
        ("silhouette", ["counts", "from -1 to 1"]),
        ("dunn", ["counts", "Dunn's index", "generalized: separation / diameter"]),
        ("pairwise", ["counts", "indices of all pairs"]),
    ],
)
def test_every_metric_stands_in_its_group(run: Run, command: str, titles: list[str]) -> None:
    table = run(command, *CALLS[command], *QUICK, "--metrics", "all")
    [row] = report_rows(run, *CALLS[command], *QUICK, of=command)
    assert list(values(table)) == list(row)
    _, body = table.split("best  meaning\n")
    outer = [line for line in body.splitlines() if line and not line.startswith(" ")]
    assert [line for line in outer if line.split()[0] not in row] == titles
    for metric, (best, text) in REPORTS[command].meanings.items():
        if metric in row:
            line = rf"^  {metric} +(?:[-\d.]+|NULL) +{ARROWS[best]} *{best} +{re.escape(text)}$"
            assert re.search(line, table, re.MULTILINE)


@pytest.mark.parametrize("command", CALLS)
def test_a_layout_names_columns_and_options_that_exist(run: Run, command: str) -> None:
    row = report_rows(run, *CALLS[command], *QUICK, of=command)[0]
    report = REPORTS[command]
    assert row.keys() <= report.meanings.keys()
    assert {*report.titles, *report.comparison} <= row.keys()
    assert report.worst_first is None or report.worst_first in row
    assert {name for names in report.heading for name in names} <= OPTIONS.keys()
    assert all(text for _, text in report.meanings.values())
    assert {best for best, _ in report.meanings.values()} <= {"", "0", "1", "low", "high"}


@pytest.mark.parametrize("name", REPORTS)
def test_every_parameter_is_an_option(name: str) -> None:
    assert REPORTS[name].defaults.keys() | REPORTS[name].options.keys() <= OPTIONS.keys()


def test_every_report_of_rows_is_called() -> None:
    of_rows = [x for x in COMMANDS.values() if len(x[0].inputs) == 1]
    assert {x[0].name for x in of_rows} == {*CALLS, "compare", "density", "stability"}


REFERENCE = (EXAMPLES.parent / "docs" / "reference.md").read_text(encoding="utf-8")


def test_the_best_values_are_those_of_the_reference() -> None:
    rows = re.findall(r"^\| `(\w+)[`(][^|]* \| [^|]* \| (1|0|high|–) \| ", REFERENCE, re.MULTILINE)
    meanings = REPORTS["external"].meanings
    rows = [(metric, best) for metric, best in rows if metric in meanings]
    assert [metric for metric, _ in rows] == list(METRICS)
    for metric, best in rows:
        assert meanings[metric].best == best.replace("–", "")


def test_the_best_values_are_those_of_the_pages() -> None:
    found = 0
    for command in ("internal", "pairwise"):
        text = (EXAMPLES.parent / "docs" / f"{command}.md").read_text(encoding="utf-8")
        meanings = REPORTS[command].meanings
        rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
        for name, _, _, best, _ in (cells for cells in rows if len(cells) == 5):
            metric = name.strip("| `")
            if metric in meanings:
                assert meanings[metric].best == best.replace("–", ""), metric
                found += 1
    assert found == 17 + 7


SAMPLE = ("--method", "sample", "--sample-size", "40")
BETWEEN = "with probability {} the exact score is between this and silhouette_upper"


@pytest.mark.parametrize(
    ("options", "heading", "lower"),
    [
        ((), "method exact", "equals silhouette, which is exact"),
        (("--method", "bounds"), "method bounds", "the exact score is not below this"),
        (("--tolerance", "0.05"), "tolerance 0.05", "the exact score is not below this"),
        (SAMPLE, "method sample", BETWEEN.format(0.95)),
        ((*SAMPLE, "--confidence", "0.5"), "method sample", BETWEEN.format(0.5)),
    ],
)
def test_a_silhouette_says_how_it_was_computed(
    run: Run, options: tuple[str, ...], heading: str, lower: str
) -> None:
    table = run("silhouette", *CALLS["silhouette"], *options, *QUICK)
    assert table.startswith(f"{IRIS}: cluster kmeans, distance euclidean, {heading}\n")
    line = re.search(r"^  silhouette_lower +\S+ +↑ +1  (.*)$", table, re.MULTILINE)
    assert line is not None
    assert line[1] == lower
    if heading == "tolerance 0.05":
        assert int(values(table)["n_evaluated"][0]) < 150
    if options == SAMPLE:
        assert "\nsample_size 40, confidence 0.95, random_state 0\n" in table
