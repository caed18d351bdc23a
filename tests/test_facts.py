"""The facts of the external metrics: read strictly from docstrings, and the same in every place."""

from __future__ import annotations

import inspect
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import polars_clustereval as ce
from polars_clustereval.base.metric_facts import metric_facts, metrics_of
from polars_clustereval.cli.schemas import format_schema
from tests.support import engines
from tests.support.stated_ranges import (
    BEST_IN_WORDS,
    bound_of,
    comments,
    is_constant,
    range_of_metric,
)
from tools import facts as command
from tools.exports import metrics_in
from tools.metric_docstrings import check_range, read_elsewhere, read_items
from tools.page_blocks import call_with_parameters, fill_blocks
from tools.sql_aggregates import statistics_with

if TYPE_CHECKING:
    from polars_clustereval.base.metric_facts import MetricFacts

pytestmark = pytest.mark.each

ROOT = Path(__file__).parent.parent
METRICS = metric_facts()


def in_one_line_each(path: str) -> list[str]:
    return (ROOT / path).read_text(encoding="utf-8").splitlines()


# What is generated -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step", command.STEPS, ids=["names", "records", "metrics", "tables", "catalogue", "stubs"]
)
def test_nothing_is_stale(step: command.Step) -> None:
    assert not list(command.stale_files(step)), "make facts"


def test_a_stale_file_is_found(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("a", encoding="utf-8")
    assert command.stale_files(lambda: {old: "a", new: "b"}) == {new: "b"}
    assert command.stale_files(lambda: {old: "b"}) == {old: "b"}


@cache
def generated_files() -> set[Path]:
    return {path for step in command.STEPS for path in step()}


def files_by_hand(*folders: str) -> list[Path]:
    """The files of both sides, and of other folders, that are not generated."""
    generated = generated_files()
    return [
        path
        for folder in ("sql", "polars_clustereval", *folders)
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".sql", ".py") and path not in generated
    ]


@pytest.mark.gate
def test_a_metric_is_listed_by_hand_in_its_two_files_only() -> None:
    """Nothing else of the product has to be changed for a metric of pairs of rows."""
    texts = {path: path.read_text(encoding="utf-8") for path in files_by_hand()}
    stem = "external/association"
    stems = {ROOT / f"sql/{stem}.sql", ROOT / f"polars_clustereval/{stem}.py"}
    # This one is a column of entity_resolution_report too, whose expressions choose it by its name.
    for name in set(metrics_in("association")) - {"correlation_distance"}:
        quoted = (f'"{name}"', f"'{name}'")
        found = {path for path, text in texts.items() if any(x in text for x in quoted)}
        # In SQL, the name is in quotes in the row of its derivatives.
        assert found == stems, f"{name} in quotes"


@pytest.mark.gate
def test_a_column_is_listed_by_hand_in_its_three_files_only() -> None:
    """Nothing else of the product has to be changed for an index of internal_report."""
    names = ("ball_hall_index", "banfield_raftery_index", "ray_turi_index")
    files = {
        ROOT / "sql/internal/report.sql",
        ROOT / "polars_clustereval/internal/scatter.py",
        ROOT / "polars_clustereval/base/score_facts/centers.py",
    }
    texts = {path: path.read_text(encoding="utf-8") for path in files_by_hand()}
    for name in names:
        named = {path for path, text in texts.items() if re.search(rf"(?<!_){name}\b", text)}
        assert named == files, name


@pytest.mark.gate
@pytest.mark.parametrize(("head", "n"), [("An external metric:", 5), ("An internal index,", 6)])
def test_the_steps_for_a_score_are_few_files_that_exist(head: str, n: int) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = text.partition(f"\n{head}")[2].partition("Then `make facts`")[0]
    files = re.findall(r"^\d\. `([^`]+)`", steps, re.MULTILINE)
    assert len(files) == n
    generated = generated_files()
    for file in files:
        path = ROOT / file.replace("<stem>", "association")
        assert path.is_file(), file
        assert path not in generated, file


@pytest.mark.gate
def test_the_steps_for_a_table_are_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = text.partition("## To add a table")[2].partition("Then `make facts`.")[0]
    files = re.findall(r"^\d\. `([^`]+)`", steps, re.MULTILINE)
    assert len(files) <= 8
    generated = generated_files()
    # Other pages have tables of scores, which are generated.
    places = {"folder": "internal", "stem": "states", "oracle": "point_oracle", "guide": "states"}
    for file in files:
        path = ROOT / re.sub("<(.*?)>", lambda found: places[found[1]], file)
        assert path.is_file(), file
        assert path not in generated, file


@pytest.mark.gate
def test_a_table_is_named_by_hand_in_its_two_files_only() -> None:
    """Nothing else of the product has to be changed for a table without scores or a command."""
    files = ("sql/internal/dunn.sql", "polars_clustereval/internal/dunn.py")
    named = {
        str(path.relative_to(ROOT))
        for path in files_by_hand("tools", "tests/support")
        if re.search(r"\bcluster_diameters\b", path.read_text(encoding="utf-8"))
    }
    assert named == {*files, "tests/support/dunn_oracle.py"}


def test_a_metric_has_the_first_statistics_with_its_parameters() -> None:
    assert statistics_with({"tp", "total"}, "a") == "_pair_statistics"
    assert statistics_with({"tp", "total", "links"}, "a") == "_linked_pair_statistics"
    with pytest.raises(ValueError, match="a macro of statistics with all fields that _a needs"):
        statistics_with({"links", "mi"}, "a")


def test_a_page_without_the_end_of_a_block_is_refused() -> None:
    page = "<!-- scores: dunn_index -->\n"
    with pytest.raises(ValueError, match="expected '<!-- end of scores -->' in the page"):
        fill_blocks(page, [])
    filled = fill_blocks(f"{page}old\n<!-- end of scores -->\nnew\n", [])
    assert "| `min_separation` | Smallest distance between two points" in filled
    assert "old" not in filled
    assert filled.endswith("\n<!-- end of scores -->\nnew\n")


# One fact in every place -------------------------------------------------------------------------


def places(facts: MetricFacts) -> dict[str, str]:
    """Every text that states range, best value, meaning or source of a metric, by its place."""
    name = facts.name
    first = f"| `{call_with_parameters(name)}` "
    [row] = [line for line in in_one_line_each("docs/reference.md") if line.startswith(first)]
    page = f"docs/metrics_{'_'.join(facts.family.split())}.md"
    text = (ROOT / page).read_text(encoding="utf-8")
    [listed] = [x for x in in_one_line_each("docs/metrics.md") if x.startswith(f"| [`{name}`]")]
    return {
        "docstring": inspect.getdoc(getattr(ce, name)) or "",
        "comment": comments()[name],
        "describe": ce.describe(name),
        "reference": row,
        "catalogue": listed,
        "page": text.partition(f"\n## {name}\n")[2].partition("\n## ")[0],
    }


@pytest.mark.parametrize("name", METRICS)
def test_every_place_states_the_same(name: str) -> None:
    facts = METRICS[name]
    texts = {place: " ".join(text.split()) for place, text in places(facts).items()}
    texts["page"] = re.sub(r"\*\*(.*?)\*\*", r"\1", texts["page"], count=1)  # the definition
    in_words = BEST_IN_WORDS.get(facts.best, f"best {facts.best}")
    with_best = f", best {facts.best}" if facts.best else ""
    assert f"Range : {facts.range} Best value : {facts.best or 'none'} " in texts["docstring"]
    assert f"Meaning : {facts.meaning} " in texts["docstring"]
    assert f" Range {facts.range}{with_best}. " in texts["comment"]
    assert f"Range {facts.range}, {in_words} " in texts["describe"]
    assert f"**Range:** {facts.range}, {in_words} " in texts["page"]
    for place in ("reference", "catalogue"):
        assert f"| {facts.range} | {facts.best or '–'} |" in texts[place], place
    for place in ("docstring", "comment", "describe", "page"):
        for text in (facts.definition, facts.special_cases, facts.source):
            assert text in texts[place], place


@pytest.mark.parametrize("table", ["external_report", "entity_resolution_report"])
def test_the_schemas_state_the_same(table: str) -> None:
    report = json.loads(format_schema(table.removesuffix("_report").replace("_", "-")))
    columns = report["items"]["properties"]
    best = {"": "", "high": "; high is best", "low": "; low is best"}
    for name, facts in metrics_of(table).items():
        words = best.get(facts.best, f"; best {facts.best}")
        assert columns[name]["description"] == f"{facts.meaning}{words}"
        stated = range_of_metric(name)
        for key, end in (("minimum", stated.low), ("maximum", stated.high)):
            assert columns[name].get(key) == (bound_of(end, {}) if is_constant(end) else None)


def test_the_macros_of_limits_state_the_same() -> None:
    """Limits of intervals, for n rows: an entropy is at most that of n labels."""
    row = {"n": 7, "label_entropy": math.log(7), "cluster_entropy": math.log(7)}
    query = "SELECT clustereval._least_value(?), clustereval._greatest_value(?, 7)"
    with engines.make("duckdb").connection.cursor() as con:
        for name in metrics_of("external_report"):
            ends = con.execute(query, [name, name]).fetchone()
            stated = range_of_metric(name)
            wanted = [bound_of(end, row) for end in (stated.low, stated.high)]
            finite = [None if math.isinf(end) else pytest.approx(end) for end in wanted]
            assert list(ends or ()) == finite, name


def test_a_metric_that_becomes_another_one_is_what_that_becomes() -> None:
    for name, facts in METRICS.items():
        if facts.swapped in METRICS:
            assert METRICS[facts.swapped].swapped == name


# The reader --------------------------------------------------------------------------------------

FACTS = """\
Title : Rand index
Meaning : share of pairs of rows on which both agree
Range : [0, 1]
Best value : 1
Special cases : 1 for a single row.
    NULL without rows.
Source : Rand (1971), doi:10.1080/01621459.1971.10482356.
SQL : clustereval.rand_score(label, cluster)"""


def test_facts_are_read() -> None:
    items = read_items(FACTS)
    assert items["Special cases"] == "1 for a single row. NULL without rows."
    assert (items["Sides swapped"], items["Differs"]) == ("the same", "")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Title :", "Name :", "got the line 'Name : Rand index'"),
        ("Title : Rand index", "Rand index", "got the line 'Rand index'"),
        ("Best value : 1", "Range : [0, 1]", "once, got the line 'Range : "),
        ("Best value : 1\n", "", "expected Best value among the facts"),
        ("Range : [0, 1]\nBest value : 1", "Best value : 1\nRange : [0, 1]", "expected the order"),
    ],
)
def test_other_facts_are_refused(old: str, new: str, words: str) -> None:
    assert old in FACTS
    with pytest.raises(ValueError, match=words.replace("[", r"\[")):
        read_items(FACTS.replace(old, new))


@pytest.mark.parametrize("text", ["0 to 1", "[0, 1", "[0; 1]", "up to one", "[0, purety]", "low"])
def test_other_ranges_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a range such as"):
        check_range(text, ["purity"])


@pytest.mark.parametrize(
    "text", ["unbounded", "up to 1", "[-0.5, 1]", "(0, 1]", "[0, ∞)", "[0, 2 n)", "[0, purity]"]
)
def test_ranges_are_taken(text: str) -> None:
    check_range(text, ["purity"])


def test_names_elsewhere() -> None:
    assert read_elsewhere("a: b; c: d of e") == {"a": "b", "c": "d of e"}
    assert read_elsewhere("") == {}
    with pytest.raises(ValueError, match="expected 'library: name; library: name', got 'a; b'"):
        read_elsewhere("a; b")
