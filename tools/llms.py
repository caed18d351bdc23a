"""llms.txt and llms-full.txt of the site: what programs read that answer questions about it.

`python -m tools.llms SITE` writes both into the folder of the site, and the pages as Markdown next
to those in HTML. The first has the questions with their metrics, the traps, some calls and a line
for each page; the second has all pages and docstrings. Both are made of docs/ and the package.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from functools import cache
from pathlib import Path

import polars_clustereval as ce
from polars_clustereval import plots

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
#: A line of the navigation: a section, or a page with its title.
NAVIGATION = re.compile(r"^ +- (.*?):(?: (\w+\.md))?$", re.MULTILINE)
#: A place for the docstring of a function.
PLACE = re.compile(r"^::: polars_clustereval\.([\w.]+)$", re.MULTILINE)
#: What a renderer of Markdown does not show.
COMMENT = re.compile(r"^<!--.*-->\n|^<a id=.*></a>\n", re.MULTILINE)


@cache
def navigation() -> dict[str, dict[str, str]]:
    """The pages of each section of the site, by the section's title: file names -> titles."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    sections: dict[str, dict[str, str]] = {}
    section = ""
    for line in text.splitlines():
        match = NAVIGATION.match(line)
        if match is None:
            continue
        title, page = match.groups()
        if line.startswith("  - "):
            section = title if page is None else "Start"
        if page is not None:
            sections.setdefault(section, {})[page] = title
    return sections


def page_text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def first_sentence(page: str) -> str:
    """The first sentence below the title of a page."""
    paragraphs = COMMENT.sub("", page_text(page)).split("\n\n")
    text = re.sub(r"^\*\*.*?\*\* ", "", " ".join(paragraphs[1].split()))
    return re.split(r"(?<=[.?]) (?=[A-Z`*])", text)[0]


def section_of(page: str, heading: str) -> str:
    """The text below a heading of a page."""
    text = page_text(page).partition(f"\n{heading}\n")[2]
    return re.split(r"\n##? ", text)[0].strip()


def short_text() -> str:
    """llms.txt."""
    start = page_text("index.md").split("\n\n")
    questions = page_text("which_metric.md").partition("\n## ")[0].partition("\n| ")
    parts = [
        "# polars_clustereval",
        "> " + " ".join(start[1].split()),
        "## Which metric for which question",
        (questions[1] + questions[2]).strip(),
        "## Traps",
        section_of("which_metric.md", "## Traps of the indices"),
        "## Calls in SQL",
        section_of("index.md", "## A few lines of SQL"),
        "## Calls in Polars",
        section_of("index.md", "## A few lines of Polars"),
        "## Pages",
        "All of them in one file, with the docstrings: [llms-full.txt](llms-full.txt)",
    ]
    for section, pages in navigation().items():
        lines = (f"- [{title}]({page}): {first_sentence(page)}" for page, title in pages.items())
        parts += [f"### {section}", "\n".join(lines)]
    return "\n\n".join(parts).replace("](#", "](which_metric.md#") + "\n"


def full_text() -> str:
    """llms-full.txt."""
    pages = [page for section in navigation().values() for page in section]
    return "\n".join(PLACE.sub(show_docstring, COMMENT.sub("", page_text(page))) for page in pages)


def show_docstring(place: re.Match[str]) -> str:
    """The name, the parameters and the docstring of a function, in place of their place."""
    name = place[1]
    function = getattr(plots if name.startswith("plots.") else ce, name.removeprefix("plots."))
    doc = inspect.getdoc(function) or ""
    signature = inspect.signature(function) if inspect.isfunction(function) else ""
    return f"## {name}\n\n```text\n{name}{signature}\n\n{doc}\n```"


def main() -> None:
    site = Path(sys.argv[1])
    for page in DOCS.glob("*.md"):
        shutil.copy(page, site / page.name)
    for name, text in (("llms.txt", short_text()), ("llms-full.txt", full_text())):
        (site / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
