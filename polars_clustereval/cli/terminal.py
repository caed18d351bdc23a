"""Terminal: a report as a table to read; one clustering, a few side by side, or many."""

from __future__ import annotations

import shutil
from textwrap import dedent, wrap
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from .layouts import Layout

__all__ = ["table"]

_FEW = 5  # clusterings that fit side by side


def table(report: pl.DataFrame, options: argparse.Namespace) -> bytes:
    """Set a report of any command; the partition columns stand before ``n``."""
    layout = options.report.layout
    keys = report.columns[: report.columns.index("n")]
    if not keys:
        text = _one(report, layout)
    elif 0 < report.height <= _FEW:
        text = _side_by_side(report, keys, layout)
    else:
        text = _row_by_row(report, keys, layout)
    return f"{_heading(options, layout)}\n\n{text}\n".encode()


def _heading(options: argparse.Namespace, layout: Layout) -> str:
    first, *more = (
        ", ".join(f"{name} {getattr(options, name)}" for name in names) for names in layout.heading
    )
    file = f"{options.file}: {first}"
    # Of a long path the end tells most, and the options after it must not be lost.
    lines = [file] if len(file) <= _width() else [_ending(f"{options.file}:"), first]
    return "\n".join(lines + [_shortened(line) for line in more])


def _one(report: pl.DataFrame, layout: Layout) -> str:
    """One line a metric, with its meaning."""
    lines = [["metric", "value", "meaning"]]
    for metric in report.columns:
        lines += _title(metric, layout, width=3)
        value = _number_text(report[metric].item(), layout)
        lines.append([f"  {metric}", value, layout.meanings.get(metric, "")])
    return _grid(_wrapped(lines), right=range(1, 2))


def _side_by_side(report: pl.DataFrame, keys: list[str], layout: Layout) -> str:
    """One line a metric, one column a clustering."""
    lines = [[key, *map(_key_text, report[key])] for key in keys]
    metrics = report.columns[len(keys) :]
    for metric in metrics:
        lines += _title(metric, layout, width=1 + report.height)
        lines.append([f"  {metric}", *(_number_text(x, layout) for x in report[metric])])
    return _grid(lines, right=range(1, 1 + report.height)) + _legend(metrics, layout)


def _row_by_row(report: pl.DataFrame, keys: list[str], layout: Layout) -> str:
    """One line a clustering, with the metrics that compare clusterings best."""
    metrics = [metric for metric in layout.compared if metric in report.columns]
    # A name of many words stands on many lines, or the table would not fit a screen.
    names = [metric.split("_") for metric in metrics]
    height = max(map(len, names))
    heads = [[""] * (height - len(words)) + words for words in names]
    lines = [
        [*(keys if i == height - 1 else [""] * len(keys)), *(head[i] for head in heads)]
        for i in range(height)
    ]
    for row in report.select(*keys, *metrics).iter_rows():
        values = row[len(keys) :]
        numbers = [_number_text(x, layout) for x in values]
        lines.append([*map(_key_text, row[: len(keys)]), *numbers])
    grid = _grid(lines, right=range(len(keys), len(lines[0])))
    more = f"\n\nall {report.width - len(keys)} columns: --format csv"
    return grid + _legend(metrics, layout) + more


def _title(metric: str, layout: Layout, width: int) -> list[list[str]]:
    if metric not in layout.titles:
        return []
    return [[""] * width, [layout.titles[metric], *[""] * (width - 1)]]


def _legend(metrics: Sequence[str], layout: Layout) -> str:
    meanings = layout.meanings
    lines = [[metric, meanings[metric]] for metric in metrics if metric in meanings]
    return "\n\n" + _grid(_wrapped(lines), right=range(0))


# ----------------------------------------------------------------------------------------------
# Cells
# ----------------------------------------------------------------------------------------------


def _key_text(value: object) -> str:
    return "NULL" if value is None else str(value)


def _number_text(value: float | None, layout: Layout) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if layout.scaled:
        return f"{value:z.6f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.7g}"
    counts = value.is_integer() and abs(value) > 1
    return f"{value:.0f}" if counts else f"{value:z.6f}"


# ----------------------------------------------------------------------------------------------
# Lines
# ----------------------------------------------------------------------------------------------


def _width() -> int:
    # The width of a pipe is anybody's guess.
    return shutil.get_terminal_size((100, 24)).columns


def _shortened(line: str) -> str:
    return line if len(line) <= _width() else line[: _width() - 1] + "…"


def _ending(line: str) -> str:
    return line if len(line) <= _width() else "…" + line[1 - _width() :]


def _wrapped(lines: list[list[str]]) -> list[list[str]]:
    """Wrap the words of the last column; Polars' own wrapping would break names as well."""
    names = sum(max(map(len, column)) + 2 for column in list(zip(*lines, strict=True))[:-1])
    room = max(20, _width() - names)
    wrapped = []
    for *cells, words in lines:
        first, *rest = wrap(words, room) or [""]
        wrapped += [[*cells, first], *([*[""] * len(cells), words] for words in rest)]
    return wrapped


def _grid(lines: list[list[str]], right: range) -> str:
    columns = [list(column) for column in zip(*lines, strict=True)]
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
