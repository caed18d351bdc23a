"""docstrings: functions that read the sections and parameters of numpy-style docstrings."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["RETURNS", "join_lines", "read_parameters", "read_sections", "words_of_engines"]

_SECTION = re.compile(r"\n\n(\w+)\n-+\n")

#: How the section Returns of a table begins; what follows also holds for other engines.
RETURNS = re.compile(r"DataFrame or LazyFrame\s+Same kind as `frame\w*`(?:, with |, |: )")

# Sentences about plans and streams of Polars, points in the memory of numpy, and `ce.describe`.
_ONLY_IN_PYTHON = re.compile(r"\b(LazyFrame|Polars|in memory|streams?|describe(?=\())\b")

# Words of Polars, and the same in other engines.
_WORDS_OF_ENGINES = (
    (r"\bframe_(labels|clusters|before|after)\b", r"tbl_\1"),
    (r"\b(?i:(the|both|a|first|second)) frame", r"\1 table"),
    (r"\bis None\b", "is NULL"),
    (r"\bframe\b", "tbl"),
    (r"\bthe partition columns\b", "partition_key"),
)


def read_sections(function: Callable[..., Any]) -> dict[str, str]:
    """Return the sections of a docstring by title; the first one has no title."""
    # With -OO, Python removes docstrings.
    first, *parts = _SECTION.split(inspect.getdoc(function) or "")
    return {"": first} | dict(zip(parts[::2], parts[1::2], strict=True))


def read_parameters(function: Callable[..., Any]) -> dict[str, str]:
    """Return the type and description of each parameter in a docstring, in one line each."""
    entries = re.split(r"\n(?=\S)", read_sections(function).get("Parameters", ""))
    found = {}
    for entry in filter(None, entries):
        head, _, text = entry.partition("\n")
        names, _, type_name = head.partition(" : ")
        for name in names.split(", "):
            found[name] = f"{join_lines(type_name)}. {join_lines(text)}"
    return found


def join_lines(text: str) -> str:
    """Convert text from a docstring to one line without backticks."""
    return " ".join(text.replace("`", "").split())


def words_of_engines(text: str) -> str:
    """Return text from a docstring in one line, in words that hold outside of Polars too."""
    without_bullets = re.sub(r"^\s*[*-] ", "", text, flags=re.MULTILINE)
    sentences = re.split(r"(?<=\.) ", join_lines(without_bullets))
    found = " ".join(x for x in sentences if not _ONLY_IN_PYTHON.search(x))
    for pattern, words in _WORDS_OF_ENGINES:
        found = re.sub(pattern, words, found)
    return found
