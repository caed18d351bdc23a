"""Terminal: renders a report on one, a few or many clusterings as a text table.

`result` contains the rows of the report. Its first columns are the partition columns, `keys`, which
identify the clusterings; the report does not explain them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.quoting import escape_controls
from polars_clustereval.catalogue import reading
from polars_clustereval.plots.charts import count

from .grid import (
    align_columns,
    columns_width,
    cut_column,
    cut_end,
    cut_start,
    fits_terminal,
    get_width,
    share_width,
    wrap_first_column,
    wrap_last_column,
)
from .output import encode_text
from .sentences import write_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from .options import Call
    from .reports import Report

__all__ = ["render_table"]

# The maximum number of clusterings side by side, if the terminal is wide enough.
_MAX_SIDE_BY_SIDE = 5

# A report with more metrics than this shows only the most important metrics.
_MOST_METRICS = 24

# The number of rows that are shown of a report with many rows for each clustering.
_MAX_LISTED = 20

# The minimum width of the meanings next to a table; if less space is left, they are below the
# table.
_MIN_MEANING_WIDTH = 24

# The signs for the good direction of a score: higher or lower.
_HIGHER, _LOWER = "↑", "↓"


def render_table(
    result: pl.DataFrame,
    call: Call,
    files: Sequence[Sequence[str]],
    output: Path | None = None,
    metrics: str | None = None,
) -> bytes:
    """Return a report as encoded text for the terminal, with a heading, a table and a legend.

    `files` lists the files of each input. `metrics` is the value of the option --metrics: None to
    show only the most important of many metrics, 'all', or the names of columns of `result`.
    """
    encoding = "utf-8" if output is not None else sys.stdout.encoding or "ascii"
    arrows = _HIGHER + _LOWER
    is_plain = arrows.encode(encoding, errors="ignore").decode(encoding) != arrows
    report = replace(call.adapted_report, has_arrows=not is_plain)
    n_keys = next(i for i, name in enumerate(result.columns) if name in report.meanings)
    keys = result.columns[:n_keys]
    result = result.drop(report.left_out, strict=False)
    if metrics is not None:
        # Metrics that the user names have their own order, so there are no groups.
        titles = report.titles if metrics == "all" else {}
        first = report.comparison if metrics == "all" else tuple(result.columns[n_keys:])
        report = replace(report, comparison=first, titles=titles, is_whole=True)
    if report.is_in_words:
        text = _render_findings(result, keys)
    elif report.is_listing:
        text = _render_listing(result, keys, report)
    elif report.has_intervals:
        text = _render_intervals(result, keys, report)
    elif not keys:
        text = _render_one(result, report)
    else:
        text = _render_several(result, keys, report)
    if report.recommend is not None and result.height:
        text += _render_choices(report.recommend(result, keys), keys, report)
    names = [file for of_input in files for file in of_input]
    text = f"{_render_heading(names, report, call.arguments)}\n\n{text}\n"
    return encode_text(text.replace("…", "~") if is_plain else text, output)


def _render_heading(files: Sequence[str], report: Report, arguments: Mapping[str, Any]) -> str:
    """Return the lines above the table: the input files and the options of the heading."""
    # These are named only if they are given.
    optional = {"label", "labels_are_sample", "weight", "pair_weight", "threshold", "distance"}
    optional |= {"perplexity"}
    missing = {x for x in optional if arguments.get(x) is None}
    first, *more = (
        escape_controls(
            ", ".join(_format_option(x, arguments[x]) for x in names if x not in missing)
        )
        for names in report.heading
    )
    names = ["standard input" if file == "-" else file for file in files]
    title = escape_controls(f"{', '.join(names)}:")
    line = f"{title} {first}"
    # A long path gets its own line, which shows the end of the path.
    width = get_width()
    lines = [line] if fits_terminal(line) else [cut_start(title, width), cut_end(first, width)]
    return "\n".join(lines + [cut_end(line, width) for line in more])


def _format_option(name: str, value: object) -> str:
    """Return the name of an option and its value or values."""
    return f"{name} {','.join(value) if isinstance(value, list) else value}"


# ----------------------------------------------------------------------------------------------
# One clustering, or a few
# ----------------------------------------------------------------------------------------------


def _choose_first(
    metrics: Sequence[str], report: Report, result: pl.DataFrame
) -> tuple[list[str], Report, str]:
    """Return the metrics to show in a table, the report with their titles, and a hint on others.

    Of many metrics, those by which the report compares clusterings are shown, and the counts of
    rows that are left out or noise, if there are any.
    """
    counts = [x for x in ("n_dropped", "n_noise") if x in result.columns and result[x].sum()]
    first = [metric for metric in metrics if metric in (*report.comparison, *counts)]
    if report.is_whole or len(metrics) <= _MOST_METRICS or not first:
        return list(metrics), report, ""
    titles: dict[str, str] = {}
    title = ""
    for metric in metrics:
        title = report.titles.get(metric, title)
        if metric in first and title not in titles.values():
            titles[metric] = title
    n_more = len(metrics) - len(first)
    hint = f"\n\n{count(n_more, 'more metric')}: --metrics all"
    return first, replace(report, titles=titles), hint


def _render_one(result: pl.DataFrame, report: Report) -> str:
    """Return a report on one clustering as a table, with a line for each metric."""
    metrics, report, hint = _choose_first(result.columns, report, result)
    cells = {
        name: [
            _format_number(result[name].item(), report),
            _show_best(name, report),
            report.meanings[name].text,
        ]
        for name in metrics
    }
    lines = [["metric", "value", "best", "meaning"], *_group_lines(cells, report)]
    used = columns_width(list(zip(*lines, strict=True))[:3])
    if get_width() - used >= _MIN_MEANING_WIDTH:
        text = align_columns(wrap_last_column(lines), right=range(1, 3))
    else:
        grid = align_columns(wrap_first_column([line[:3] for line in lines]), right=range(1, 3))
        text = grid + _render_legend(metrics, report)
    return text + hint + _render_readings(result.select(metrics), report)


def _render_readings(result: pl.DataFrame, report: Report) -> str:
    """Return lines that read one clustering's values in the words of the literature, if any."""
    lines: list[str] = []
    for name in report.readings:
        if name not in result.columns:
            continue
        value = result[name].item()
        words = reading(name, value)
        if words is not None:
            lines += wrap(f"{name} {_format_number(value, report)}: {words}", get_width())
    return "\n\n" + "\n".join(lines) if lines else ""


def _render_intervals(result: pl.DataFrame, keys: list[str], report: Report) -> str:
    """Return a table of intervals for each clustering, with a line for each metric."""
    metrics = result["metric"].unique(maintain_order=True).to_list()
    metrics, report, left_out = _choose_first(metrics, report, result)
    result = result.filter(pl.col("metric").is_in(metrics))
    parts = result.partition_by(keys, maintain_order=True) if keys else [result]
    shown = parts[:_MAX_SIDE_BY_SIDE]
    texts = [_render_limits(part, keys, report) for part in shown]
    if not all(map(fits_terminal, texts)):
        texts = [_render_limits(part, keys, report, is_short=True) for part in shown]
    n_more = len(parts) - len(texts)
    hint = f"\n\n{count(n_more, 'more clustering')}: --format csv" if n_more else ""
    return "\n\n".join(texts) + _render_legend(metrics, report) + left_out + hint


def _render_limits(
    part: pl.DataFrame, keys: list[str], report: Report, *, is_short: bool = False
) -> str:
    """Return the intervals of one clustering, with five digits of large numbers if `is_short`."""
    write = _shorten_number if is_short else _format_number
    names = ("value", "lower", "upper")
    rows = part.select("metric", *names).iter_rows()
    cells = {metric: [write(value, report) for value in values] for metric, *values in rows}
    lines = [["metric", *names], *_group_lines(cells, report)]
    grid = align_columns(wrap_first_column(lines), right=range(1, 4))
    return _name_clustering(part, keys) + grid + _render_reasons(part)


def _render_reasons(part: pl.DataFrame) -> str:
    """Return why metrics of `part` have no value or no interval, as lines below an empty line.

    The result is empty if `part` has no column reason, or only NULL in it.
    """
    if "reason" not in part.columns:
        return ""
    groups: dict[tuple[str, bool], list[str]] = {}
    for metric, reason, value in part.select("metric", "reason", "value").iter_rows():
        if reason is not None:
            groups.setdefault((reason, value is None), []).append(metric)
    lines: list[str] = []
    for (reason, is_missing), metrics in groups.items():
        names = f"{'' if is_missing else 'interval of '}{', '.join(metrics)}"
        everything = "estimates" if is_missing else "intervals"
        missing = everything if len(metrics) == part.height else names
        lines += wrap(f"no {missing}: {reason}", get_width())
    return "\n\n" + "\n".join(lines) if lines else ""


def _name_clustering(part: pl.DataFrame, keys: list[str]) -> str:
    """Return a line for each partition column of a clustering."""
    if not keys:
        return ""
    names = cut_column(keys, get_width() // 2)
    room = get_width() - columns_width([names])
    values = cut_column((_format_value(part[key][0]) for key in keys), room)
    return align_columns([list(pair) for pair in zip(names, values, strict=True)]) + "\n"


def _render_several(result: pl.DataFrame, keys: list[str], report: Report) -> str:
    """Return a table of several clusterings, side by side if the terminal is wide enough."""
    if 0 < result.height <= _MAX_SIDE_BY_SIDE:
        text = _render_side_by_side(result, keys, report)
        if fits_terminal(text):
            return text
    return _render_row_by_row(result, keys, report)


def _render_side_by_side(result: pl.DataFrame, keys: list[str], report: Report) -> str:
    """Return a table of a few clusterings, with one line per metric and one column for each."""
    lines = [[key, *map(_format_value, result[key])] for key in keys]
    metrics, report, hint = _choose_first(result.columns[len(keys) :], report, result)
    cells = {name: [_format_number(x, report) for x in result[name]] for name in metrics}
    lines += _group_lines(cells, report)
    grid = align_columns(lines, right=range(1, 1 + result.height))
    return grid + _render_legend(metrics, report) + hint


def _group_lines(cells: Mapping[str, list[str]], report: Report) -> list[list[str]]:
    """Return a line for each metric and its cells, with a title before each group of metrics."""
    lines: list[list[str]] = []
    for metric, values in cells.items():
        if metric in report.titles:
            blanks = [""] * len(values)
            lines += [["", *blanks], [report.titles[metric], *blanks]]
        lines.append([f"  {metric}", *values])
    return lines


def _render_legend(metrics: Sequence[str], report: Report) -> str:
    """Return a line for each metric, with its name, its best value and its meaning."""
    meanings = [[name, _show_best(name, report), report.meanings[name].text] for name in metrics]
    lines = [["", "best", "meaning"], *meanings]
    return "\n\n" + align_columns(wrap_last_column(lines), right=range(1, 2))


def _show_best(metric: str, report: Report) -> str:
    """Return the best value of a score, such as high or 1, preceded by an arrow, if any."""
    best, arrow = report.meanings[metric].best, _show_direction(metric, report)
    return f"{arrow} {best:>4}" if arrow else best


def _show_direction(metric: str, report: Report) -> str:
    """Return an arrow for the direction in which a score improves, or ''."""
    meaning = report.meanings[metric]
    if not meaning.best or not report.has_arrows:
        return ""
    return _HIGHER if meaning.is_high_best else _LOWER


# ----------------------------------------------------------------------------------------------
# Many clusterings
# ----------------------------------------------------------------------------------------------


def _render_row_by_row(result: pl.DataFrame, keys: list[str], report: Report) -> str:
    """Return a table with one line per clustering, the best first, and the columns that fit."""
    metrics = [metric for metric in report.comparison if metric in result.columns]
    result = _sort_best_first(result, metrics, report)
    columns = _format_key_columns(result, keys, get_width() // 2)
    n_keys = len(columns)
    shown: list[str] = []
    for metric in metrics:
        cells = _format_metric_column(result[metric], metric, report)
        if columns_width([*columns, cells]) - 2 > get_width() and shown:
            break
        shown.append(metric)
        columns.append(cells)
    grid = align_columns(_level_columns(columns), right=range(n_keys, len(columns)))
    n_columns = result.width - n_keys
    more = f"; all {n_columns} columns: --format csv" if len(shown) < n_columns else ""
    return f"{grid}{_render_legend(shown, report)}\n\n* best of its column{more}"


def _sort_best_first(result: pl.DataFrame, metrics: Iterable[str], report: Report) -> pl.DataFrame:
    """Return the rows of a report, sorted by the first metric with values and a best value."""
    for metric in metrics:
        meaning = report.meanings[metric]
        if meaning.best and result[metric].count():
            return result.sort(
                metric, descending=meaning.is_high_best, nulls_last=True, maintain_order=True
            )
    return result


def _format_metric_column(values: pl.Series, metric: str, report: Report) -> list[str]:
    """Return the cells of a metric's column: its name and its values, the best with an asterisk."""
    meaning = report.meanings[metric]
    best: Any = None
    if meaning.best and len(values) > 1:
        best = values.max() if meaning.is_high_best else values.min()
    marks = ["*" if best is not None and value == best else " " for value in values]
    numbers = [_format_number(value, report) for value in values]
    cells = [number + mark for number, mark in zip(numbers, marks, strict=True)]
    # Each word gets its own line, so that long names fit on the screen.
    *words, last = metric.split("_")
    direction = _show_direction(metric, report) or " "
    return [*(f"{word} " for word in words), last + direction, *cells]


def _format_key_columns(result: pl.DataFrame, keys: list[str], room: int) -> list[list[str]]:
    """Return the cells of each partition column, shortened so that all fit into `room`.

    If there are very many columns, the last ones are left out.
    """
    columns = [cut_column([key, *map(_format_value, result[key])], get_width()) for key in keys]
    widths = share_width([columns_width([column]) - 2 for column in columns], room) if keys else []
    return [cut_column(cells, width) for cells, width in zip(columns, widths, strict=False)]


def _level_columns(columns: list[list[str]]) -> list[list[str]]:
    """Convert columns of cells to lines, with empty cells at the top of shorter columns."""
    height = max(map(len, columns), default=0)
    level = [[""] * (height - len(column)) + column for column in columns]
    return [list(line) for line in zip(*level, strict=True)]


# ----------------------------------------------------------------------------------------------
# Many rows for each clustering
# ----------------------------------------------------------------------------------------------


def _render_listing(result: pl.DataFrame, keys: list[str], report: Report) -> str:
    """Return a legend and the first rows of a report that has many rows per clustering."""
    if "std_error" in result.columns and not result["std_error"].count():
        result = result.drop("std_error")
    remarks = ""
    if report.remarks is not None:
        remarks = _render_remarks(result, keys, *report.remarks)
        result = result.select(_list_informative(result, keys)).drop(
            report.remarks[1], strict=False
        )
    head = result
    if report.first_rows is not None:
        column, n_rows = report.first_rows
        head = result.group_by(*keys, column, maintain_order=True).head(n_rows)
    head = head.select(result.columns).head(_MAX_LISTED)
    columns = {
        name: _format_listed_column(head[name], report) for name in result.columns[len(keys) :]
    }
    for name in ("mean", "rest_mean"):
        if name in columns and head.height:
            texts = columns[name]
            texts[-head.height :] = _show_dates(texts[-head.height :], head, name)
    # The last column determines the order of the rows.
    grid, n_keys = _align_fitting(head, keys, columns, dropped=-2)
    n_left_out = len(report.left_out) if report.remarks is None else 0
    n_columns = result.width - n_keys + n_left_out
    n_more = result.height - head.height
    rest = [count(n_more, "more row")] if n_more else []
    rest += [f"all {n_columns} columns"] if len(columns) < n_columns else []
    hint = f"\n\n{' and '.join(rest)}: --format csv" if rest else ""
    return grid + remarks + _render_legend([*columns], report) + hint


def _list_informative(result: pl.DataFrame, keys: list[str]) -> list[str]:
    """Return the columns except those without values and those equal to the one they are based on.

    If every clustering scores all rows, the scores of the common rows, such as
    adjusted_rand_score_common, are those of its own rows.
    """
    base = {name: name.removesuffix("_common") for name in result.columns}
    is_new = {
        name: x == name or x not in base or not result[name].equals(result[x])
        for name, x in base.items()
    }
    return [name for name in base if name in keys or (is_new[name] and result[name].count())]


def _render_remarks(result: pl.DataFrame, keys: list[str], name: str, remark: str) -> str:
    """Return the remarks of the first rows as wrapped lines below an empty line, if any."""
    lines: list[str] = []
    for row in result.head(_MAX_LISTED).filter(pl.col(remark).is_not_null()).iter_rows(named=True):
        partition = "".join(f"{key} {_format_value(row[key])}, " for key in keys)
        place = cut_end(escape_controls(f"{partition}{row[name]}"), get_width() // 2)
        lines += [cut_end(x, get_width()) for x in wrap(f"{place}: {row[remark]}", get_width())]
    return "\n\n" + "\n".join(lines) if lines else ""


def _align_fitting(
    head: pl.DataFrame, keys: list[str], columns: dict[str, list[str]], dropped: int
) -> tuple[str, int]:
    """Return a table of the keys of the rows `head` and of `columns`, and the number of keys in it.

    If the terminal is too narrow, columns are removed from `columns`, at the index `dropped`.
    """
    key_columns = _format_key_columns(head, keys, get_width() // 2)
    while columns_width([*key_columns, *columns.values()]) - 2 > get_width() and len(columns) > 2:
        del columns[list(columns)[dropped]]
    room = get_width() - columns_width(columns.values())
    key_columns = _format_key_columns(head, keys, room)
    n_keys = len(key_columns)
    numbers = [n_keys + i for i, name in enumerate(columns) if name not in _TEXT_COLUMNS]
    lines = _level_columns([*key_columns, *columns.values()])
    return align_columns(lines, right=numbers), n_keys


def _render_findings(result: pl.DataFrame, keys: list[str]) -> str:
    """Return the first findings, each with its severity and a sentence after the partition."""
    lines = []
    for row in result.head(_MAX_LISTED).iter_rows(named=True):
        partition = "".join(f"{key} {_format_value(row[key])}, " for key in keys)
        lines.append([row["severity"], escape_controls(f"{partition}{write_sentence(row)}")])
    if not lines:
        return "nothing was found"
    n_more = result.height - _MAX_LISTED
    hint = f"\n\n{count(n_more, 'more finding')}: --format csv" if n_more > 0 else ""
    return align_columns(wrap_last_column(lines)) + hint


def _render_choices(choices: pl.DataFrame, keys: list[str], report: Report) -> str:
    """Return the rows of choose_k, the lines below a listing that show what a criterion recommends.

    If a criterion recommends no k, its line shows the criterion's rule, followed by the reason.
    """
    head = choices.head(_MAX_LISTED).with_columns(
        rule=pl.concat_str("rule", "reason", separator=": ", ignore_nulls=True)
    )
    columns = {
        name: [name, *(x if isinstance(x, str) else _format_number(x, report) for x in head[name])]
        for name in ("criterion", "k", "runner_up", "value", "rule")
    }
    grid, _ = _align_fitting(head, keys, columns, dropped=-1)
    n_more = choices.height - head.height
    return f"\n\n{grid}" + (f"\n{count(n_more, 'more row')}" if n_more else "")


# Columns with texts, or with values of the user's columns, which may have any type.
_TEXT_COLUMNS = {
    *("id", "label", "cluster", "run", "neighbor", "left", "right"),
    *("majority_label", "majority_cluster", "column_name", "kind", "category"),
    *("cluster_before", "cluster_after", "transition", "ambiguity"),
    *("criterion", "rule", "clustering"),
}


def _show_dates(texts: list[str], head: pl.DataFrame, name: str) -> list[str]:
    """Return the texts of a profile's column of means, with days since 1970-01-01 as dates."""
    days = head[name].floor().cast(pl.Int32, strict=False)
    shown = zip(head["kind"], days.cast(pl.Date).dt.to_string("iso"), texts, strict=True)
    return [day if kind == "date" and day is not None else text for kind, day, text in shown]


def _format_listed_column(values: pl.Series, report: Report) -> list[str]:
    """Return the cells of a column in a listing: the words of its name, followed by its values."""
    if values.name not in _TEXT_COLUMNS:
        texts = [_format_number(value, report) for value in values]
    else:
        texts = cut_column(map(_format_value, values), max(8, get_width() // 6))
    *words, last = values.name.split("_")
    return [*words, last + _show_direction(values.name, report), *texts]


# ----------------------------------------------------------------------------------------------
# Cells
# ----------------------------------------------------------------------------------------------


# Counts larger than this are not exact as floats, and their last digits are meaningless.
_MOST_EXACT = 1e15


def _format_value(value: object) -> str:
    """Return a value from a user's column as text, with NULL for None."""
    if isinstance(value, dict):  # an id of several columns
        return ",".join(map(_format_value, value.values()))
    return "NULL" if value is None else str(value)


def _format_number(value: float | Decimal | None, report: Report) -> str:
    """Return a metric as text, with no decimals for counts and six decimals for scores.

    If the values of the report can have any magnitude, very large and very small values are shown
    with seven significant digits.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | Decimal):
        return str(value)
    if report.any_magnitude:
        return f"{value:z.6f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.7g}"
    if abs(value) >= _MOST_EXACT:
        return f"{value:.7g}"
    is_count = value.is_integer() and abs(value) > 1
    return f"{value:.0f}" if is_count else f"{value:z.6f}"


def _shorten_number(value: float | None, report: Report) -> str:
    """Return a metric in the format of `_format_number`, but with five digits for large numbers."""
    is_large = value is not None and abs(value) >= 1e3
    return f"{value:.5g}" if is_large else _format_number(value, report)
