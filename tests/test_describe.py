"""describe: texts about tables, functions, criteria and parameters; scores: test_catalogue."""

from __future__ import annotations

import inspect
import pickle
import re
import subprocess
import sys
from typing import Any

import pytest
from markdown_it import MarkdownIt

import polars_clustereval as ce
from polars_clustereval.base.unknown_names import OTHER_NAMES
from polars_clustereval.catalogue import entries
from polars_clustereval.catalogue.words import WORDS
from polars_clustereval.relative.choosing_k import CRITERIA

pytestmark = pytest.mark.each

FUNCTIONS: dict[str, Any] = {
    name: getattr(ce, name)
    for name in ce.__all__
    if inspect.isfunction(getattr(ce, name)) and name not in entries()
}


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_described_by_its_docstring(name: str) -> None:
    function = FUNCTIONS[name]
    text = ce.describe(name)
    doc = flat(inspect.getdoc(function) or "").replace("`", "")
    is_table = next(iter(inspect.signature(function).parameters), "").startswith("frame")
    assert text.startswith(f"{name}, {'a table' if is_table else 'a function'}\n\n")
    assert doc.partition(" Parameters ---")[0].partition(" Returns ---")[0] in flat(text)
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"^(Parameters +| +){parameter}: \S", text, re.MULTILINE), parameter
    # What is said of another table is said here.
    assert not re.search(r": as in \w+\.\s", text)
    sql = re.findall(r"In SQL: ``(.*?)``", flat(inspect.getdoc(function) or ""))
    assert re.findall(r"^SQL +(.*)$", text, re.MULTILINE) == sql[:1]
    assert re.search(rf"^Polars +ce\.{name}\(", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 118


def test_a_table() -> None:
    text = flat(ce.describe("internal_summary"))
    assert "the best value as text, which is a number, 'high' or 'low', or NULL if no" in text
    assert "SQL FROM clustereval.internal_summary(tbl, [x, y], cluster)" in text
    assert text.endswith("Polars ce.internal_summary(frame, vector, cluster)")


@pytest.mark.parametrize("name", sorted(CRITERIA.keys() - entries().keys()))
def test_a_criterion(name: str) -> None:
    text = ce.describe(name)
    assert text.startswith(f"{name}, a criterion of choose_k\n\n")
    table = "gap_statistic" if name == "gap" else "elbow"
    assert re.search(rf"^Column of +{table}$", text, re.MULTILINE)
    assert re.search(rf"^Chosen +{re.escape(CRITERIA[name])}$", text, re.MULTILINE)
    definition = flat(text.split("\n\n")[1]).removesuffix(".")
    assert definition.startswith(name)
    assert definition in flat((inspect.getdoc(getattr(ce, table)) or "").replace("`", ""))


def test_what_jump_is() -> None:
    text = flat(ce.describe("jump"))
    assert "jump of (ssw / (n d))^(-d/2) from k - 1 to k (at k = 1: from 0), best high." in text
    assert "No choice no value or no value > 0" in text


def test_a_parameter_and_the_tables_that_have_it() -> None:
    text = flat(ce.describe("noise_as"))
    assert text.startswith("noise_as, a parameter {'cluster', 'drop', 'singletons'}, needed with ")
    listed = set(re.findall(r"\w+", text))
    having = {
        name
        for name in ce.__all__
        if "noise_as" in getattr(getattr(ce, name), "__annotations__", {}) and name != "to_sql"
    }
    assert having
    assert having <= listed
    assert text.count("needed with noise") == 2, "once for each set of choices"


def test_every_name_is_listed_once_and_described() -> None:
    _, *blocks = re.split(
        r"^(?=tables$|other functions$|criteria |parameters )", ce.describe(), flags=re.M
    )
    names = {}
    for block in blocks:
        kind, *lines = block.strip("\n").splitlines()
        names[kind] = [line.split()[0] for line in lines]
        assert all(len(line) <= 100 for line in lines)
    functions = names["tables"] + names["other functions"]
    assert set(FUNCTIONS) <= set(functions)
    assert names["criteria of choose_k"] == list(CRITERIA)
    for name in {name for found in names.values() for name in found}:
        assert ce.describe(name)


def test_words_that_are_no_names() -> None:
    """What each is called here, with names that exist and are in quotes."""
    for word, text in WORDS.items():
        with pytest.raises(ce.ClusterEvalError, match=f"{re.escape(text)}$"):
            ce.describe(word)
        assert all(ce.describe(name) for name in re.findall(r"(?<!\w)'(\w+)'", text)), word
    with pytest.raises(ce.ClusterEvalError, match="make a table of pairs with 'distances_from"):
        ce.describe("Distance Matrix")


def test_abbreviations_are_of_names() -> None:
    for short, name in OTHER_NAMES.items():
        assert ce.describe(name)
        with pytest.raises(ce.ClusterEvalError, match=f"; did you mean '{name}'.$"):
            ce.describe(short)


@pytest.mark.gate
def test_a_table_without_docstrings() -> None:
    code = "import polars_clustereval as ce; print(ce.describe('elbow'), ce.describe('jump'))"
    command = [sys.executable, "-OO", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "ce.elbow(frame, vector, cluster, k)" in done.stdout
    assert "largest value" in done.stdout


def test_notebooks_show_a_score_as_a_table() -> None:
    markdown = ce.describe("gdi_53")._repr_markdown_()  # type: ignore[attr-defined]
    title, definition, table = markdown.split("\n\n")
    assert title == "**Generalized Dunn index 53**"
    assert r"Σ\_C d(x, μ\_D)" in definition, "no emphasis between two underscores"
    head, line, *rows = table.splitlines()
    assert (head, line) == ("| | |", "|---|---|")
    facts = dict(row.strip("| ").split(" | ", 1) for row in rows)
    assert facts["Range"] == "&#91;0, ∞), higher is better"
    assert facts["SQL"].startswith("`SELECT gdi_53 FROM clustereval.dunn_index(")
    known = ["Family", "Notation", "Range", "Cases", "Source", "Cost", "Differs", "SQL", "Polars"]
    assert list(facts) == known


def words_shown(markdown: str) -> str:
    """The letters that a reader of a text in Markdown sees, without blanks."""
    shown = [
        part.content
        for block in MarkdownIt("gfm-like").parse(markdown)
        for part in block.children or ()
    ]
    return "".join("".join(shown).split())


@pytest.mark.parametrize("name", ["rand_score", "gdi_53", "external_findings", "vdm_encode"])
def test_notebooks_show_every_character_of_a_description(name: str) -> None:
    text = ce.describe(name)
    markdown = text._repr_markdown_()  # type: ignore[attr-defined]
    assert words_shown(markdown) == "".join(text.split())
    assert words_shown("a *b* &#91;c \\* d") == "ab[c*d", "markup is not shown"
    outside_calls = re.sub(r"`[^`]*`", "", markdown)
    assert not re.search(r"[<>$~]|\\[^\\`*_{}|]", outside_calls), "marimo reads these otherwise"


def test_notebooks_show_the_list_as_it_is() -> None:
    text = ce.describe()
    assert text._repr_markdown_() == f"```text\n{text}\n```"  # type: ignore[attr-defined]


def test_a_description_is_copied_with_its_table() -> None:
    text = ce.describe("purity")
    again = pickle.loads(pickle.dumps(text))
    assert again == text
    assert repr(again) == repr(text) == str(text)
    assert again._repr_markdown_() == text._repr_markdown_()  # type: ignore[attr-defined]
