"""The tutorials: each fits on a few screens, and says how to install what it uses."""

from __future__ import annotations

import re
import textwrap

import pytest

from tests.test_docs import DOCS, ROOT, read_page

pytestmark = pytest.mark.each

TUTORIALS = sorted(path.name for path in DOCS.glob("tutorial_*.md"))

#: A reader decides in the first ten minutes, and does not scroll far for that. So a tutorial has
#: two screens, and the guides have room for the rest. Entity resolution has more steps, from
#: predicted links to the comparison of two models.
SCREENS = {"tutorial_entity_resolution.md": 5}
#: The height of a screen of 1280 x 900 pixels.
SCREEN = 900
#: Pixels of what the site shows in a window that is 1280 wide: its head and foot on each page, the
#: text that a line has room for, and lines with the space around them.
HEAD_AND_FOOT = 240
CHARACTERS = 98
LINE, GAP = 27, 16
CODE_LINE, CODE_FRAME = 19.2, 21
HEADING, HEADING_GAP = 32, 35
TABLE_ROW = 42
BLOCK = re.compile(r"^```\w*\n(?P<code>.*?)^```$|^(?P<text>\S.*?)(?=\n\n|\n*\Z)", re.M | re.S)


def text_height(text: str) -> float:
    """The height of a paragraph or of an item of a list, of which a page shows no addresses."""
    shown = " ".join(re.sub(r"\]\([^)]*\)", "", text).split())
    return LINE * len(textwrap.wrap(re.sub(r"[`*\[]", "", shown), CHARACTERS)) + GAP


def block_height(code: str | None, text: str) -> float:
    if code is not None:
        return CODE_LINE * code.count("\n") + CODE_FRAME + GAP
    if text.startswith("#"):
        return HEADING + HEADING_GAP
    if text.startswith("|"):
        return TABLE_ROW * text.count("\n") + GAP
    items = re.split(r"^- ", text, flags=re.MULTILINE)
    return sum(text_height(item) for item in items if item) - (len(items) > 1) * GAP


def page_height(text: str) -> float:
    """About how many pixels high the site shows a page."""
    blocks = BLOCK.finditer(text)
    return HEAD_AND_FOOT + sum(block_height(x["code"], x["text"]) for x in blocks)


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_fits_on_a_few_screens(page: str) -> None:
    assert page_height(read_page(page)) <= SCREENS.get(page, 2) * SCREEN
    assert "In this ten-minute tutorial, you " in " ".join(read_page(page).split())


@pytest.mark.parametrize(
    ("page", "measured"), [("external.md", 4343), ("plots.md", 4848), ("transitions.md", 7899)]
)
def test_heights_are_about_those_of_the_site(page: str, measured: int) -> None:
    """Measured once in Chromium; a page may have grown or shrunk a little since."""
    assert page_height(read_page(page)) == pytest.approx(measured, rel=0.2)


@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_ends_with_links_to_guides(page: str) -> None:
    *_, last = read_page(page).split("\n## ")
    assert last.startswith("What next\n")
    assert len(set(re.findall(r"\]\((?!tutorial_)(\w+\.md)", last))) >= 4


def test_the_file_of_macros_is_attached_to_releases() -> None:
    text = read_page("tutorial_duckdb.md")
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    [file] = re.findall(r"Download `([\w.]+)` from a\s\[release\]", text)
    assert f"clustereval sql > dist/{file}\n" in workflow
    assert f"\nD .read {file}\n" in text
    assert (ROOT / "sql" / file).is_file(), "what .cd sql and .read find in a clone"


def test_the_first_page_installs_as_the_readme_does() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^## Install\n\n```sh\n(.*?)^```", readme, re.M | re.S)
    [found] = re.findall(r"^```sh\n(.*?)^```", read_page("index.md"), re.M | re.S)
    assert found.endswith(f"\n{block}")
