"""DataFrames that show long strings in full."""

from __future__ import annotations

import os
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .checks import Frame

#: The limits on characters per text and rows per table: enough for a summary of all scores.
_TEXT_LENGTH, _SHOWN_ROWS = 200, 60
#: The smallest widths of printed tables, by a column of theirs: findings, whose sentences follow
#: seven columns, and summaries.
_LEAST_WIDTHS = {"finding": 160, "family": 120}


class TextFrame(pl.DataFrame):
    """A DataFrame that shows its strings in full, at the prompt and in notebooks.

    By default, Polars truncates strings after 30 characters and tables after 10 rows, which would
    hide most of a summary. Your own settings in polars.Config still apply.
    """

    def __str__(self) -> str:
        least = max(_LEAST_WIDTHS.get(name, 0) for name in ("", *self.columns))
        width = max(least, get_terminal_size().columns) if least else 0
        with _whole_texts(width):
            return super().__str__()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self, *, _from_series: bool = False) -> str:
        with _whole_texts():
            return super()._repr_html_(_from_series=_from_series)


def show_whole_texts(frame: Frame) -> Frame:
    """Return a DataFrame as a TextFrame, and a LazyFrame unchanged."""
    return TextFrame(frame) if isinstance(frame, pl.DataFrame) else frame


@contextmanager
def _whole_texts(width: int = 0) -> Iterator[None]:
    """Let Polars show long strings and many rows, unless the user's settings say otherwise.

    `width` is the number of characters of a line, or 0 for the default of Polars.
    """
    with pl.Config() as config:
        if "POLARS_FMT_STR_LEN" not in os.environ:
            config.set_fmt_str_lengths(_TEXT_LENGTH)
        if "POLARS_FMT_MAX_ROWS" not in os.environ:
            config.set_tbl_rows(_SHOWN_ROWS)
        if width and "POLARS_TABLE_WIDTH" not in os.environ:
            config.set_tbl_width_chars(width)
        yield
