"""Markdown: the findings of the command ``report`` for a pull request or a chat, without pictures.

Every text is escaped where it is inserted. In the package's own texts, Markdown characters are
escaped. In the user's names, words that contain such characters are written as code, because only
code is safe from renderers that interpret HTML, links, bare addresses, mentions or emphasis.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polars_clustereval.base.quoting import escape_controls

from .findings import choose_clusters
from .html import NAME_COLUMNS, describe_limits, describe_range, name_page
from .numbers import show_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from .findings import Findings, Score
    from .partitions import Partitions

__all__ = ["write_markdown", "write_partitions_markdown"]

_MAX_ROWS = 50


def write_markdown(findings: Findings) -> bytes:
    """Return the findings about one clustering as Markdown."""
    parts = [f"# {_name(name_page(findings))}", _join_facts(findings.facts)]
    if findings.warnings:
        parts.append("\n".join(f"- ⚠ {_name(warning)}" for warning in findings.warnings))
    parts += [*_sections(findings), _table_of_scores(findings)]
    parts += _sections_of_clusters(findings)
    parts += _section_of_points(findings.low_points)
    parts += ["## SQL", _fence("\n\n".join(findings.queries))]
    versions = "; ".join(f"{_name(name)} {_name(value)}" for name, value in findings.versions)
    return ("\n\n".join([*parts, versions]) + "\n").encode()


def write_partitions_markdown(partitions: Partitions) -> bytes:
    """Return the findings about many clusterings as Markdown.

    The text contains a table of all clusterings, and a section for each clustering in
    `partitions.parts`.
    """
    parts = [f"# {_name(partitions.title)}", _join_facts(partitions.facts)]
    if partitions.warnings:
        parts.append("\n".join(f"- ⚠ {_name(warning)}" for warning in partitions.warnings))
    title = f"## Partitions, the worst first by {_own(partitions.order)}"
    parts += [title, _table_of(partitions.overview)]
    for part in partitions.parts:
        parts += [f"## {_name(part.name)}", _join_facts(part.findings.facts)]
        if part.findings.warnings:
            parts.append("\n".join(f"- ⚠ {_name(warning)}" for warning in part.findings.warnings))
        parts += [*_sections(part.findings, level=3), _table_of_scores(part.findings)]
        parts += _sections_of_clusters(part.findings, level=3)
        parts += _section_of_points(part.findings.low_points, level=3)
    parts += ["## SQL", _fence("\n\n".join(partitions.queries))]
    versions = "; ".join(f"{_name(name)} {_name(value)}" for name, value in partitions.versions)
    return ("\n\n".join([*parts, versions]) + "\n").encode()


def _join_facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return facts as a single line. Each fact is a (name, text) pair."""
    return ", ".join(f"{name} **{_name(value)}**" for name, value in facts)


def _sections(findings: Findings, level: int = 2) -> list[str]:
    """Return the sentences of the page as lists, each under its own heading.

    The last heading, Scores, has no list.
    """
    mark = "#" * level
    described = [f"**Cluster {_name(x)}**: {_name(y)}" for x, y in findings.descriptions.items()]
    sections = {
        "Findings": [f"{_MARKS[x.severity]} {_name(x.text)}" for x in findings.answers],
        "What to try next": [_name(step) for step in findings.steps],
        "What distinguishes each cluster": described,
        "Scores": [],
    }
    return [
        "\n\n".join([f"{mark} {title}", *(["\n".join(f"- {x}" for x in lines)] if lines else [])])
        for title, lines in sections.items()
        if lines or title == "Scores"
    ]


#: The prefix of a sentence, by its severity.
_MARKS = {"problem": "🔴", "warning": "🟠", "note": "🔵"}

# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def _table_of_scores(findings: Findings) -> str:
    """Return the table of the headline scores."""
    head = ("score", "value", "interval", "range", "reading", "meaning")
    return _table(head, map(_headline, findings.headlines))


def _headline(score: Score) -> list[str]:
    """Return the table cells of a headline score."""
    texts = (
        *(show_number(score.value), describe_limits(score), describe_range(score)),
        *(score.reading, score.meaning.text),
    )
    return [_code(score.name), *map(_own, texts)]


def _sections_of_clusters(findings: Findings, level: int = 2) -> list[str]:
    """Return the tables with a row for each cluster, each below its title."""
    parts = []
    for title, table in findings.clusters.items():
        clusters, note = choose_clusters(table, _MAX_ROWS)
        parts += [f"{'#' * level} {title}", _table_of(clusters), *([note] if note else [])]
    return parts


def _section_of_points(points: pl.DataFrame, level: int = 2) -> list[str]:
    """Return the section on the points with the lowest silhouettes.

    The result is empty if there are no such points.
    """
    title = f"{'#' * level} Points of the lowest silhouettes"
    return [] if points.is_empty() else [title, _table_of(points)]


def _table_of(frame: pl.DataFrame) -> str:
    """Return the rows of a frame as a Markdown table."""
    rows = (
        [
            (_name("–" if value is None else str(value)))
            if name in NAME_COLUMNS
            else show_number(value)
            for name, value in row.items()
        ]
        for row in frame.iter_rows(named=True)
    )
    return _table([name.replace("_", " ") for name in frame.columns], rows)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table of cells that already contain Markdown."""
    names = list(head)
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# ----------------------------------------------------------------------------------------------
# Texts
# ----------------------------------------------------------------------------------------------


def _own(text: str) -> str:
    """Return one of the package's own texts for use in a line, with Markdown characters escaped."""
    return re.sub(r"[\\`*_\[\]|#<&]", r"\\\g<0>", text)


#: The characters that some renderer could interpret in a word: a mark of Markdown or HTML, an
#: underscore that can begin or end emphasis, a colon as in :smile:, and a period as in
#: www.example.com.
_LIVE = re.compile(
    r"""[!"#$&*/<=>?@\[\\\]^`{|}~] | (?<![^\W_])_ | _(?![^\W_]) | :(?!$) | \.(?=[^\W\d_])""",
    re.VERBOSE,
)


def _name(text: str) -> str:
    """Return a text that contains the user's names, for use in a line.

    Words that contain Markdown characters are written as code. The punctuation around a word stays
    outside the code.
    """
    words = escape_controls(text).strip().split(" ")
    return " ".join(_code_word(word) if _LIVE.search(word) else word for word in words)


#: A word, with the punctuation of a sentence before and after it.
_WORD = re.compile(r"(\(?)(.*?)([:,;.)]*)")


def _code_word(word: str) -> str:
    """Return a word as code, with any surrounding punctuation outside the code."""
    match = _WORD.fullmatch(word)
    assert match is not None  # every text matches
    before, name, behind = match.groups()
    return f"{before}{_code(name)}{behind}" if _LIVE.search(name) else _code(word)


def _code(text: str) -> str:
    """Return a text without spaces as code, or an empty string if the text is empty.

    A pipe ends a table cell even within code, so pipes are written outside the code.
    """
    return "&#124;".join(_code_span(piece) for piece in text.split("|"))


def _code_span(text: str) -> str:
    """Return a text without pipes as code.

    The enclosing backticks outnumber the longest run of backticks in the text.
    """
    if not text:
        return ""
    marks = "`" * (_longest_run(text) + 1)
    blank = " " if "`" in (text[0], text[-1]) else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def _fence(text: str) -> str:
    """Return SQL as a code block.

    The enclosing backticks outnumber the longest run of backticks in the SQL.
    """
    marks = "`" * max(_longest_run(text) + 1, 4)
    lines = "\n".join(map(escape_controls, text.split("\n")))
    return f"{marks}sql\n{lines}\n{marks}"


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max(map(len, re.findall("`+", text)), default=0)
