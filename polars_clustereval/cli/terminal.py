"""Terminal: a report as a text table, for one clustering, a few side by side, or many."""

from __future__ import annotations

import shutil
from textwrap import dedent, wrap
from typing import TYPE_CHECKING

import polars as pl

from .messages import escape_controls

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from .layouts import Layout

__all__ = ["render_table"]

_MAX_SIDE_BY_SIDE = 5  # clusterings


def render_table(result: pl.DataFrame, options: argparse.Namespace) -> bytes:
    """Return a report as the bytes of a text for the terminal: heading, table and legend.

    `result` has one row per clustering; its columns before ``n`` are the partition columns.
    `options` are the parsed arguments.
    """
    layout = options.report.layout
    keys = result.columns[: result.columns.index("n")]
    if not keys:
        text = _render_one(result, layout)
    elif 0 < result.height <= _MAX_SIDE_BY_SIDE:
        text = _render_side_by_side(result, keys, layout)
    else:
        text = _render_row_by_row(result, keys, layout)
    return f"{_render_heading(options, layout)}\n\n{text}\n".encode()


def _render_heading(options: argparse.Namespace, layout: Layout) -> str:
    """Return the lines above the table: the input file, and the options that the layout names.

    `options` are the parsed arguments.
    """
    first, *more = (
        escape_controls(", ".join(f"{name} {getattr(options, name)}" for name in names))
        for names in layout.heading
    )
    file = escape_controls(f"{options.file}:")
    line = f"{file} {first}"
    # A long path gets a line of its own, which shows its end.
    lines = [line] if len(line) <= _get_width() else [_cut_start(file), first]
    return "\n".join(lines + [_cut_end(line) for line in more])


def _render_one(result: pl.DataFrame, layout: Layout) -> str:
    """Return the table of a report of one clustering: a line per metric, with its meaning."""
    lines = [["metric", "value", "meaning"]]
    for metric in result.columns:
        lines += _list_title_lines(metric, layout, width=3)
        value = _format_number(result[metric].item(), layout)
        lines.append([f"  {metric}", value, layout.meanings.get(metric, "")])
    return _align_columns(_wrap_last_column(lines), right=range(1, 2))


def _render_side_by_side(result: pl.DataFrame, keys: list[str], layout: Layout) -> str:
    """Return the table of a report of a few clusterings: a line per metric, a column for each.

    `keys` are the partition columns of `result`, which name the clusterings. The legend is below
    the table.
    """
    lines = [[key, *map(_format_key, result[key])] for key in keys]
    metrics = result.columns[len(keys) :]
    for metric in metrics:
        lines += _list_title_lines(metric, layout, width=1 + result.height)
        lines.append([f"  {metric}", *(_format_number(x, layout) for x in result[metric])])
    grid = _align_columns(lines, right=range(1, 1 + result.height))
    return grid + _render_legend(metrics, layout)


def _render_row_by_row(result: pl.DataFrame, keys: list[str], layout: Layout) -> str:
    """Return the table of a report of many clusterings: a line for each, and the layout's columns.

    `keys` are the partition columns of `result`, which name the clusterings. The legend is below
    the table.
    """
    metrics = [metric for metric in layout.comparison if metric in result.columns]
    # One word per line, so that long names fit on the screen.
    names = [metric.split("_") for metric in metrics]
    height = max(map(len, names))
    heads = [[""] * (height - len(words)) + words for words in names]
    lines = [
        [*(keys if i == height - 1 else [""] * len(keys)), *(head[i] for head in heads)]
        for i in range(height)
    ]
    for row in result.select(*keys, *metrics).iter_rows():
        values = row[len(keys) :]
        numbers = [_format_number(x, layout) for x in values]
        lines.append([*map(_format_key, row[: len(keys)]), *numbers])
    grid = _align_columns(lines, right=range(len(keys), len(lines[0])))
    more = f"\n\nall {result.width - len(keys)} columns: --format csv"
    return grid + _render_legend(metrics, layout) + more


def _list_title_lines(metric: str, layout: Layout, width: int) -> list[list[str]]:
    """Return the lines before a metric: an empty one and a title if a group of metrics starts here.

    Otherwise the list is empty. A line is a list of `width` cells.
    """
    if metric not in layout.titles:
        return []
    return [[""] * width, [layout.titles[metric], *[""] * (width - 1)]]


def _render_legend(metrics: Sequence[str], layout: Layout) -> str:
    """Return a line for each of the metrics that the layout explains: its name and its meaning."""
    meanings = layout.meanings
    lines = [[metric, meanings[metric]] for metric in metrics if metric in meanings]
    return "\n\n" + _align_columns(_wrap_last_column(lines), right=range(0))


# ----------------------------------------------------------------------------------------------
# Cells
# ----------------------------------------------------------------------------------------------


def _format_key(value: object) -> str:
    """Return a value of a partition column as text, NULL for None."""
    return "NULL" if value is None else str(value)


def _format_number(value: float | None, layout: Layout) -> str:
    """Return a metric as text: a count without decimals, a score with six, NULL for None.

    Where the layout has values of any magnitude, very large and very small ones have seven digits.
    """
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if layout.any_magnitude:
        return f"{value:z.6f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.7g}"
    is_count = value.is_integer() and abs(value) > 1
    return f"{value:.0f}" if is_count else f"{value:z.6f}"


# ----------------------------------------------------------------------------------------------
# Lines
# ----------------------------------------------------------------------------------------------


def _get_width() -> int:
    """Return the width of the terminal in characters."""
    # The default is for output that is not a terminal.
    return shutil.get_terminal_size((100, 24)).columns


def _cut_end(line: str) -> str:
    """Return the line; if it is wider than the terminal, its end is replaced by an ellipsis."""
    return line if len(line) <= _get_width() else line[: _get_width() - 1] + "…"


def _cut_start(line: str) -> str:
    """Return the line; if it is wider than the terminal, its start is replaced by an ellipsis."""
    return line if len(line) <= _get_width() else "…" + line[1 - _get_width() :]


def _wrap_last_column(lines: list[list[str]]) -> list[list[str]]:
    """Return the lines with the text of the last column wrapped to the width of the terminal.

    A line is a list of cells; wrapping adds lines whose other cells are empty. Polars' own wrapping
    would break names as well.
    """
    used = sum(max(map(len, column)) + 2 for column in list(zip(*lines, strict=True))[:-1])
    width = max(20, _get_width() - used)
    wrapped = []
    for *cells, text in lines:
        first, *rest = wrap(text, width) or [""]
        wrapped += [[*cells, first], *([*[""] * len(cells), line] for line in rest)]
    return wrapped


def _align_columns(lines: list[list[str]], right: range) -> str:
    """Return the lines as one text with aligned columns.

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
