"""Grid: lines of cells as text with aligned columns, within the width of the terminal."""

from __future__ import annotations

import shutil
from textwrap import dedent, wrap
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.quoting import escape_controls

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "align_columns",
    "cut_end",
    "cut_start",
    "fits_terminal",
    "get_width",
    "wrap_last_column",
]

# Characters between two columns.
_GAP = 2


def get_width() -> int:
    """Return the width of the terminal in characters."""
    # The default is for output that is not a terminal.
    return shutil.get_terminal_size((100, 24)).columns


def fits_terminal(text: str) -> bool:
    """Return whether no line of the text is wider than the terminal."""
    return all(len(line) <= get_width() for line in text.splitlines())


def cut_end(text: str, width: int) -> str:
    """Return the text; if it has more than `width` characters, its end becomes an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


def cut_start(text: str, width: int) -> str:
    """Return the text; if it has more than `width` characters, its start becomes an ellipsis."""
    return text if len(text) <= width else "…" + text[1 - width :]


def wrap_last_column(lines: list[list[str]]) -> list[list[str]]:
    """Return the lines with the text of the last column wrapped to the width of the terminal.

    A line is a list of cells; wrapping adds lines whose other cells are empty. Polars' own wrapping
    would break names as well.
    """
    used = sum(max(map(len, column)) + _GAP for column in list(zip(*lines, strict=True))[:-1])
    width = max(12, get_width() - used)
    wrapped = []
    for *cells, text in lines:
        first, *rest = wrap(text, width) or [""]
        wrapped += [[*cells, first], *([*[""] * len(cells), line] for line in rest)]
    return wrapped


def align_columns(lines: list[list[str]], right: Collection[int] = ()) -> str:
    """Return the lines as one text with aligned columns, control characters escaped.

    A line is a list of cells, all of the same number; `right` holds the indices of the
    right-aligned columns.
    """
    columns = [list(map(escape_controls, column)) for column in zip(*lines, strict=True)]
    for i in right:
        width = max(map(len, columns[i]))
        columns[i] = [cell.rjust(width) for cell in columns[i]]
    cells = pl.DataFrame(columns, orient="col")
    unlimited = 65535
    with pl.Config(
        tbl_formatting="NOTHING",
        tbl_hide_column_names=True,
        tbl_hide_column_data_types=True,
        tbl_hide_dataframe_shape=True,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=unlimited,
        fmt_str_lengths=unlimited,
    ):
        return dedent("\n".join(line.rstrip() for line in str(cells).splitlines()))
