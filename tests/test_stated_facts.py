"""Facts of a score that are written by hand besides its record: the same in every file.

Docstrings and comments of tables state ranges, best values and sources again, in fixed forms:
`gamma (range [-1, 1], best 1)`, and authors and year before a DOI. What is generated is compared
in test_facts.py.
"""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import polars_clustereval as ce
from polars_clustereval.base.score_facts import COLUMN_SCORES, entries_of
from polars_clustereval.catalogue import entries
from tests.support.stated_ranges import Stated, after_name, comments, from_comment, stated_by
from tools import facts as command

pytestmark = pytest.mark.each

ROOT = Path(__file__).parent.parent
#: Tables whose docstring and comment state the range of each score after its name.
BY_NAME = (
    *("neighbor_report", "determinant_report", "pairwise_report"),
    *("matching_report", "overlapping_report", "graph_report", "run_drift"),
    "neighborhood_report",
)
#: Tables whose docstring and comment state one range for all scores.
OF_ALL = {
    "dunn_index": "dunn_index",
    "silhouette_score": "silhouette_score",
    "silhouette_samples": "silhouette_score",
    "silhouette_clusters": "silhouette_score",
}
#: The quantity in the table of an index that is best low.
LOW = "max_diameter"
#: A score before its range: 'gamma (range', 'trace_wib = trace(W^-1 B) (range'.
NAMED_RANGE = re.compile(rf"\b({'|'.join(entries())})(?: = [^=;,]{{1,60}}?)? \((?=range )")


@cache
def texts_by_hand() -> dict[str, str]:
    """The text of each file that is not generated, each in one line, but for tests."""
    generated = {path for step in command.STEPS for path in step()}
    pages = {path for path in generated if "<!-- end of " in path.read_text(encoding="utf-8")}
    folders = ("sql", "polars_clustereval", "docs", "examples", "dbt_package", "extension")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.*")]
    found = {}
    for path in [*files, *ROOT.glob("*.md")]:
        is_text = path.suffix in (".py", ".sql", ".md")
        if is_text and (path not in generated or path in pages):
            # Literals of SQL and of Python that go on in the next line are one text.
            text = re.sub(r"""(["'])\n\s*\1""", "", path.read_text(encoding="utf-8"))
            found[str(path.relative_to(ROOT))] = " ".join(text.split())
    return found


# Ranges and best values --------------------------------------------------------------------------


def statements(table: str) -> list[str]:
    return [inspect.getdoc(getattr(ce, table)) or "", comments()[table]]


@pytest.mark.parametrize("name", [x.name for x in COLUMN_SCORES if x.table in BY_NAME])
def test_docstring_and_comment_of_a_table_state_the_range(name: str) -> None:
    entry = entries()[name]
    for text in statements(entry.table):
        assert after_name(text, name) == stated_by(entry), text


@pytest.mark.parametrize(("table", "scores"), OF_ALL.items())
def test_docstring_and_comment_of_a_table_state_one_range_for_all(table: str, scores: str) -> None:
    for entry in entries_of(scores).values():
        for text in statements(table) if entry.name != LOW else ():
            assert from_comment(text) == stated_by(entry), (entry.name, text)


@pytest.mark.gate
@pytest.mark.parametrize(("page", "name"), [("dunn", "gdi_11"), ("silhouette", "silhouette")])
def test_pages_state_one_range_for_all(page: str, name: str) -> None:
    assert from_comment(texts_by_hand()[f"docs/{page}.md"]) == stated_by(entries()[name])


def named_ranges(text: str) -> list[tuple[str, Stated | None]]:
    return [(match[1], from_comment(text[match.end() :])) for match in NAMED_RANGE.finditer(text)]


@pytest.mark.gate
def test_a_range_after_a_name_is_that_of_the_record_in_every_file() -> None:
    found = {file: named_ranges(text) for file, text in texts_by_hand().items()}
    wrong = [
        (file, name, stated)
        for file, ranges in found.items()
        for name, stated in ranges
        if stated != stated_by(entries()[name])
    ]
    assert not wrong
    names = {x.name for x in COLUMN_SCORES if x.table in BY_NAME}
    # The comments in SQL are made from the docstrings.
    of_docstrings = [x for file, x in found.items() if file.startswith("polars_clustereval/")]
    assert names <= {name for ranges in of_docstrings for name, _ in ranges}


# Sources -----------------------------------------------------------------------------------------

#: A DOI or the number of a preprint.
WORK = re.compile(
    r"(?:doi:|doi\.org/|arxiv:|arxiv\.org/abs/|arxiv )"
    r"(10\.\d{4,5}/(?:[^\s()\[\]'\",;]|\([^\s()]*\))+|\d{4}\.\d{5})",
    re.IGNORECASE,
)
SURNAME = r"(?:(?:de|van|van der|von) )?[A-Z][\w'-]+"
#: Authors and year: 'Dunn (1973)', 'Ball, Hall and Low 1965', 'Newman et al. (2020'.
AUTHORS = re.compile(
    rf"({SURNAME}(?:, {SURNAME})*(?: and (?:others|{SURNAME})| et al\.)?),? \(?((?:1[89]|20)\d\d)\b"
)


def works_in(text: str) -> list[tuple[str, str, str]]:
    """The works that a text cites with authors: DOI or number, authors, year."""
    found, start, text = [], 0, plain_letters(text)
    for match in WORK.finditer(text):
        cited = AUTHORS.findall(text[start : match.start()])
        if cited:
            key = match[1].rstrip(".:").lower().removeprefix("10.48550/arxiv.")
            found.append((key, *cited[-1]))
        start = match.end()
    return found


def plain_letters(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def are_the_same(authors: str, others: str) -> bool:
    """Whether two lists of authors are equal, or one ends early, with 'et al.' or 'and others'."""
    one, other = (re.sub(" (and others|et al\\.)$", "", text) for text in (authors, others))
    is_short = (one, other) != (authors, others)
    return authors == others or (is_short and (one.startswith(other) or other.startswith(one)))


def test_works_are_found() -> None:
    text = (
        "Meilă (2007), doi:10.1016/j.jmva.2006.11.013; Ball, van der Hall and Low (1965, "
        "[doi:10.1000/a](https://doi.org/10.1000/a)). Newman et al. 1987, A title of a paper, "
        "arXiv:2404.05622. Low (2001), doi:10.1016/0377(87)9-7. Without authors: doi:10.1000/b."
    )
    assert works_in(text) == [
        ("10.1016/j.jmva.2006.11.013", "Meila", "2007"),
        ("10.1000/a", "Ball, van der Hall and Low", "1965"),
        ("2404.05622", "Newman et al.", "1987"),
        ("10.1016/0377(87)9-7", "Low", "2001"),
    ]


@pytest.mark.gate
def test_a_work_has_the_same_authors_and_year_in_every_file() -> None:
    places: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for file, text in texts_by_hand().items():
        for key, authors, year in works_in(text):
            places[key].append((authors, year, file))
    assert len(places) > 60
    wrong = {
        key: found
        for key, found in places.items()
        for authors, year, _ in found
        if year != found[0][1] or not are_the_same(authors, found[0][0])
    }
    assert not wrong
