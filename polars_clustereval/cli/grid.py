"""Grid: lays out lines of cells in aligned columns that fit the width of the terminal.

Widths are measured in terminal cells. A Chinese or Japanese character takes up two cells, and a
combining accent takes up none.
"""

from __future__ import annotations

import shutil
from textwrap import wrap
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

from polars_clustereval.base.quoting import escape_controls

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

__all__ = [
    "align_columns",
    "columns_width",
    "cut_column",
    "cut_end",
    "cut_start",
    "fits_terminal",
    "get_width",
    "share_width",
    "wrap_first_column",
    "wrap_last_column",
]

# The number of blanks between two columns.
_GAP = 2

_ELLIPSIS = "…"


# ----------------------------------------------------------------------------------------------
# Widths
# ----------------------------------------------------------------------------------------------


def get_width() -> int:
    """Return the width of the terminal."""
    # The default is used if the output is not a terminal.
    return shutil.get_terminal_size((100, 24)).columns


def fits_terminal(text: str) -> bool:
    """Return whether no line of the text is wider than the terminal."""
    return all(_text_width(line) <= get_width() for line in text.splitlines())


def columns_width(columns: Iterable[Sequence[str]]) -> int:
    """Return the total width of columns of cells, including the gap after each column."""
    return sum(max(map(_text_width, column)) + _GAP for column in columns)


def share_width(widths: Sequence[int], total: int) -> list[int]:
    """Return column widths that fit into `total`, including the gaps after the columns.

    The widest columns are narrowed first. Columns at the end are dropped if they would have room
    for only a few letters.
    """
    if sum(widths) + _GAP * len(widths) <= total:
        return list(widths)
    fewest = 4
    kept = [min(width, total) for width in widths[: max(1, total // (fewest + _GAP))]]
    while len(kept) * _GAP + sum(kept) > total and max(kept) > 1:
        kept[kept.index(max(kept))] -= 1
    return kept


def _text_width(text: str) -> int:
    """Return the width of a string, measured in terminal cells."""
    return len(text) if text.isascii() else sum(map(_letter_width, text))


def _letter_width(letter: str) -> int:
    """Return the width of a letter, which is 0 for an accent over the preceding letter."""
    if category(letter) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


# ----------------------------------------------------------------------------------------------
# Cells
# ----------------------------------------------------------------------------------------------


def cut_end(text: str, width: int) -> str:
    """Return the text, with its end replaced by an ellipsis if the text is wider than `width`."""
    if _text_width(text) <= width:
        return text
    return _take(text, width - 1) + _ELLIPSIS


def cut_start(text: str, width: int) -> str:
    """Return the text, with its start replaced by an ellipsis if the text is wider than `width`."""
    if _text_width(text) <= width:
        return text
    return _ELLIPSIS + _take(text[::-1], width - 1)[::-1]


def _take(text: str, width: int) -> str:
    """Return the longest prefix of a string that fits into `width`."""
    used = 0
    for i, letter in enumerate(text):
        used += _letter_width(letter)
        if used > width:
            return text[:i]
    return text


def cut_column(cells: Iterable[str], width: int) -> list[str]:
    """Return cells truncated to `width`, with control characters escaped."""
    return [cut_end(escape_controls(cell), width) for cell in cells]


# ----------------------------------------------------------------------------------------------
# Lines
# ----------------------------------------------------------------------------------------------


def wrap_last_column(lines: list[list[str]]) -> list[list[str]]:
    """Return the lines with the last cell wrapped to fit the terminal, on lines of empty cells."""
    width = max(12, get_width() - columns_width(list(zip(*lines, strict=True))[:-1]))
    wrapped = []
    for *cells, text in lines:
        first, *rest = _wrap_text(text, width)
        wrapped += [[*cells, first], *([*[""] * len(cells), line] for line in rest)]
    return wrapped


def _wrap_text(text: str, width: int) -> list[str]:
    """Split text into lines, each with as many words as fit."""
    if text.isascii():
        return wrap(text, width) or [""]
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if _text_width(longer) <= width:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        rest = word
        while _text_width(rest) > width:
            lines[-1] = _take(rest, width)
            rest = rest[len(lines[-1]) :]
            lines.append("")
        lines[-1] = rest
    return lines


def wrap_first_column(lines: list[list[str]]) -> list[list[str]]:
    """Break long names in the first column after an underscore, so that the other columns fit."""
    width = max(12, get_width() - columns_width(list(zip(*lines, strict=True))[1:]))
    wrapped = []
    for name, *cells in lines:
        rest, others = name, cells
        while len(rest) > width and (cut := rest.rfind("_", 0, width) + 1):
            wrapped.append([rest[:cut], *others])
            rest, others = f"    {rest[cut:]}", [""] * len(cells)
        wrapped.append([rest, *others])
    return wrapped


def align_columns(lines: list[list[str]], right: Collection[int] = ()) -> str:
    """Join the lines into a text with aligned columns; `right` are the right-aligned ones."""
    columns = [list(map(escape_controls, column)) for column in zip(*lines, strict=True)]
    for i, column in enumerate(columns):
        width = max(map(_text_width, column))
        blanks = [" " * (width - _text_width(cell)) for cell in column]
        columns[i] = [
            blank + cell if i in right else cell + blank
            for cell, blank in zip(column, blanks, strict=True)
        ]
    return "\n".join((" " * _GAP).join(line).rstrip() for line in zip(*columns, strict=True))
