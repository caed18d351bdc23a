"""Markdown: the findings of the command ``report`` for a pull request or a chat, without pictures.

Every text is escaped where it is inserted. In the package's own texts, Markdown characters are
escaped. In the user's names, words that contain such characters are written as code, because only
code is safe from renderers that interpret HTML, links, bare addresses, mentions or emphasis.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from polars_clustereval.base.quoting import escape_controls

from .findings import choose_clusters, describe_limits
from .html import NAME_COLUMNS, describe_range, name_page
from .numbers import show_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from .findings import Findings
    from .partitions import Partitions

__all__ = ["write_markdown", "write_partitions_markdown"]

_MAX_ROWS = 50


def write_markdown(findings: Findings) -> bytes:
    """Return the findings about one clustering as Markdown."""
    parts = [_begin(f"# {_name(name_page(findings))}", findings), *_sections(findings)]
    return _end_page(parts, findings)


def write_partitions_markdown(partitions: Partitions) -> bytes:
    """Return the findings about many clusterings, with a section for each of the first."""
    title = f"## {_own(partitions.heading)}"
    parts = [_begin(f"# {_name(partitions.title)}", partitions), title]
    parts.append(_table_of(partitions.overview))
    parts += ["\n".join(f"- {_name(x)}" for x in partitions.remarks)] * bool(partitions.remarks)
    for part in partitions.parts:
        parts.append(_begin(f"## {_name(part.name)}", part.findings))
        parts += _sections(part.findings, level=3)
    return _end_page(parts, partitions)


def _begin(title: str, page: Findings | Partitions) -> str:
    """Return the title, facts and warnings of a page or a section."""
    facts = ", ".join(f"{name} **{_name(value)}**" for name, value in page.facts)
    warnings = "\n".join(f"- ⚠ {_name(warning)}" for warning in page.warnings)
    return "\n\n".join([title, facts, *([warnings] if warnings else [])])


def _end_page(parts: Iterable[str], page: Findings | Partitions) -> bytes:
    """Return a page with its SQL and versions after its other parts."""
    versions = "; ".join(f"{_name(name)} {_name(value)}" for name, value in page.versions)
    end = ["## SQL", _fence("\n\n".join(page.queries)), versions]
    return ("\n\n".join([*parts, *end]) + "\n").encode()


def _sections(findings: Findings, level: int = 2) -> list[str]:
    """Return the sentences, scores, clusters and points of a clustering, each below a heading."""
    mark = "#" * level
    described = [f"**Cluster {_name(x)}**: {_name(y)}" for x, y in findings.descriptions.items()]
    sections = {
        "Findings": [f"{_MARKS[x.severity]} {_name(x.text)}" for x in findings.answers],
        "What to try next": [_name(step) for step in findings.steps],
        "What distinguishes each cluster": described,
    }
    parts = [
        f"{mark} {title}\n\n" + "\n".join(f"- {line}" for line in lines)
        for title, lines in sections.items()
        if lines
    ]
    parts += [f"{mark} Scores", _table_of_scores(findings)]
    for title, table in findings.clusters.items():
        clusters, note = choose_clusters(table, _MAX_ROWS)
        parts += [f"{mark} {title}", _table_of(clusters), *([note] if note else [])]
    if not findings.low_points.is_empty():
        parts += [f"{mark} Points of the lowest silhouettes", _table_of(findings.low_points)]
    return parts


#: The prefix of a sentence, by its severity.
_MARKS = {"problem": "🔴", "warning": "🟠", "note": "🔵"}

# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def _table_of_scores(findings: Findings) -> str:
    """Return the table of the headline scores."""
    head = ("score", "value", "interval", "range", "reading", "meaning")
    rows = []
    for score in findings.headlines:
        limits, bounds = describe_limits(score), describe_range(score)
        texts = (show_number(score.value), limits, bounds, score.reading, score.meaning.text)
        rows.append([_code(score.name), *map(_own, texts)])
    return _table(head, rows)


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
    """Return one of the package's own texts with Markdown characters escaped."""
    return re.sub(r"[\\`*_\[\]|#<&]", r"\\\g<0>", text)


#: The characters that some renderer could interpret in a word: a mark of Markdown or HTML, an
#: underscore that can begin or end emphasis, a colon as in :smile:, and a period as in
#: www.example.com.
_LIVE = re.compile(
    r"""[!"#$&*/<=>?@\[\\\]^`{|}~] | (?<![^\W_])_ | _(?![^\W_]) | :(?!$) | \.(?=[^\W\d_])""",
    re.VERBOSE,
)


def _name(text: str) -> str:
    """Return a text with the user's names, where words with Markdown characters are code."""
    words = escape_controls(text).strip().split(" ")
    return " ".join(_code_word(word) if _LIVE.search(word) else word for word in words)


#: A word, with the punctuation of a sentence before and after it.
_WORD = re.compile(r"(\(?)(.*?)([:,;.)]*)")


def _code_word(word: str) -> str:
    """Return a word as code, with the punctuation around it outside the code."""
    match = _WORD.fullmatch(word)
    assert match is not None  # every text matches
    before, name, behind = match.groups()
    return f"{before}{_code(name)}{behind}" if _LIVE.search(name) else _code(word)


def _code(text: str) -> str:
    """Return a text without spaces as code, but for pipes, which end a table cell even there."""
    return "&#124;".join(_code_span(piece) for piece in text.split("|"))


def _code_span(text: str) -> str:
    """Return a text without pipes as code, within more backticks than any run of them in it."""
    if not text:
        return ""
    marks = "`" * (_longest_run(text) + 1)
    blank = " " if "`" in (text[0], text[-1]) else ""
    return f"{marks}{blank}{text}{blank}{marks}"


def _fence(text: str) -> str:
    """Return SQL as a code block, within more backticks than any run of them in it."""
    marks = "`" * max(_longest_run(text) + 1, 4)
    lines = "\n".join(map(escape_controls, text.split("\n")))
    return f"{marks}sql\n{lines}\n{marks}"


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks in a text."""
    return max(map(len, re.findall("`+", text)), default=0)
