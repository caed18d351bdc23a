"""`clustereval report` in Markdown: names of files, columns, clusters and labels are only names."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from polars_clustereval.base.quoting import escape_controls
from polars_clustereval.page.markdown import _name
from tests.support.command_line import IRIS, KMEANS, QUICK

if TYPE_CHECKING:
    from pathlib import Path

    from markdown_it.token import Token

    from tests.support.command_line import Run

pytestmark = pytest.mark.gate

#: CommonMark with HTML, and what GitHub adds to it: tables, deletions and links of bare addresses.
RENDERER = MarkdownIt("gfm-like")

HOSTILE = [
    "`|<script>alert(1)</script>|`",
    "`a|b`",
    "``a`|`b``",
    "<img src=x onerror=alert(1)>",
    "a\\|b",
    "\\`|<b>|\\`",
    "[text](javascript:alert(1))",
    "![text](https://evil.example/x.png)",
    "&lt;b&gt; &copy; AT&T",
    "@name and a@b.example",
    "https://evil.example www.evil.example evil.com",
    "*a* **b** _c_ __d__ ~~e~~ (_f_)",
    ":smile: :+1: #12",
    "a_b x.5 1.5",
    "line\nbreak",
    "ends in a backslash\\",
    "# no heading #",
    "  blanks  ",
]


def parts_of(markdown: str) -> tuple[list[Token], list[Token]]:
    """The blocks of a text in Markdown, and the parts of its lines."""
    blocks = RENDERER.parse(markdown)
    return blocks, [part for block in blocks for part in block.children or ()]


def shown(inline: Token) -> str:
    """What a reader sees of a line."""
    return "".join(part.content for part in inline.children or ())


def shown_name(name: str) -> str:
    return name.replace("\n", "\\n").strip()


def assert_only_text(parts: list[Token]) -> None:
    """Check that a page has neither HTML nor links, nor what can become one outside of code."""
    assert {part.type for part in parts} <= {"text", "code_inline", "strong_open", "strong_close"}
    text = " ".join(part.content for part in parts if part.type == "text")
    assert not re.search(r"[@<>&]|://|www\.|:\w+:", text)


@pytest.mark.parametrize("column", ["label", 'four ````\n\n<b> and "quotes"'])
def test_names_are_only_names(run: Run, tmp_path: Path, column: str) -> None:
    path = tmp_path / "rows @name `x`.parquet"
    rows = [name for i, name in enumerate(HOSTILE) for _ in range(40 - i)]
    pl.DataFrame({column: rows, "cluster": rows}).write_parquet(path)
    markdown = run("report", path, "--label", column, "--cluster", "cluster", *QUICK)
    blocks, parts = parts_of(markdown)
    assert_only_text(parts)
    kinds = Counter(block.type for block in blocks)
    assert not kinds["html_block"]
    assert kinds["fence"] == 1
    assert kinds["heading_open"] == 5
    lines = [shown(block) for block in blocks if block.type == "inline"]
    assert any(str(path) in line for line in lines)
    start = lines.index("cluster")
    head = lines[start : start + 6]
    assert head == ["cluster", "n", "share", "n labels", "majority label", "purity"]
    cells = lines[start + 6 : start + 6 + 6 * len(HOSTILE)]
    assert cells[0::6] == cells[4::6] == [shown_name(name) for name in HOSTILE]
    assert cells[1::6] == [str(40 - i) for i in range(len(HOSTILE))]


def test_the_query_keeps_a_column_with_backticks(run: Run, tmp_path: Path) -> None:
    column = "a\n`````\n<b>"
    path = tmp_path / "rows.parquet"
    pl.DataFrame({column: [1, 2], "cluster": [1, 2]}).write_parquet(path)
    markdown = run("report", path, "--label", column, "--cluster", "cluster", *QUICK)
    (fence,) = (block for block in parts_of(markdown)[0] if block.type == "fence")
    assert f'"{column}"' in fence.content
    assert fence.markup == "``````"


def test_a_warning_that_names_a_cluster(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    name = "`<b>` @x"
    pl.DataFrame({"label": [1] * 10, "cluster": [name] * 9 + ["b"]}).write_parquet(path)
    markdown = run("report", path, "--label", "label", "--cluster", "cluster", *QUICK)
    blocks, parts = parts_of(markdown)
    assert_only_text(parts)
    assert any(f"⚠ Cluster {name} has 90 % of the rows" in shown(x) for x in blocks if x.children)


def test_the_punctuation_of_a_sentence_is_not_part_of_a_name() -> None:
    text = "Label <b>z: 31 % (next to a|b), or <c>."
    assert _name(text) == "Label `<b>z`: 31 % (next to `a`&#124;`b`), or `<c>`."


def test_plain_names_stay_plain(run: Run) -> None:
    markdown = run("report", IRIS, *KMEANS, *QUICK)
    assert "| versicolor |" in markdown
    assert "--cluster **kmeans**" in markdown


@given(st.text(st.sampled_from("`|\\<>&@_*~[](!):/.#-+ ab1w\n") | st.characters()))
def test_any_name_is_shown_as_it_is(name: str) -> None:
    """As a cell of a table."""
    blocks, parts = parts_of(f"| a | b |\n| --- | --- |\n| {_name(name)} | end |\n")
    assert_only_text(parts)
    *_, cell, end = (shown(block) for block in blocks if block.type == "inline")
    assert end == "end"
    assert "".join(cell.split()) == "".join(escape_controls(name).split()), "all but blanks"
