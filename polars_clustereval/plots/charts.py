"""The code that all charts share: it reads frames, names values, folds groups and writes titles.

Fields of a chart have fixed names, and the user's values are only data, because Vega-Lite
interprets dots and brackets in field names, and reads some texts as expressions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import polars as pl

from polars_clustereval.base.checks import is_whole_number, show_value
from polars_clustereval.base.data_arguments import type_name
from polars_clustereval.base.quoting import escape_controls
from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

#: The palette of Okabe and Ito, which color-blind readers can tell apart, without its yellow, which
#: is too light on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
BLUE, ORANGE, VERMILION = COLORS[0], COLORS[1], COLORS[5]
GRAY = "#999999"
#: The colors from nothing to all: white to a dark blue, which color-blind readers can distinguish.
SEQUENTIAL = ("#ffffff", "#08306b")

_LONGEST_NAME = 28
_NO_VALUE = "(none)"
_EMPTY = "(empty)"
_DATA_DIGITS = 12

# Texts that end or comment out the script element in which HTML pages embed a chart's data.
_HTML_MARKS = re.compile(r"<(?=[/!])")
# XML, and therefore SVG, must not contain these characters.
_NON_CHARACTERS = re.compile("[\ufffe\uffff]")


# ----------------------------------------------------------------------------------------------
# Arguments
# ----------------------------------------------------------------------------------------------


def require_altair() -> None:
    """Raise an error that says how to install altair if it is missing."""
    try:
        import altair as alt  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "polars_clustereval.plots needs altair: pip install 'polars_clustereval[plot]'"
        ) from error


def to_lazy(frame: Any) -> pl.LazyFrame:
    """Return a DataFrame, LazyFrame or DuckDB relation as a LazyFrame; otherwise raise an error.

    A relation is read here, once.
    """
    if isinstance(frame, duckdb.DuckDBPyRelation):
        frame = frame.pl()
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        raise ClusterEvalError(
            "frame: expected a Polars DataFrame or LazyFrame or a relation of DuckDB, "
            f"got {type_name(frame)}; pl.DataFrame(...) makes a frame of columns or of a table"
        )
    return frame.lazy()


def are_given(table: str, **columns: object) -> bool:
    """Return whether the user has named the columns that `table` reads.

    If not, the frame has rows that `table` returned. `columns` holds the user's arguments by their
    names. If only some of them are given, an error is raised.
    """
    missing = [name for name, value in columns.items() if value is None]
    if 0 < len(missing) < len(columns):
        raise ClusterEvalError(
            f"{', '.join(columns)}: expected all of them, or none for a frame with rows of {table};"
            f" got no {' and no '.join(missing)}"
        )
    return not missing


def read_rows(
    frame: Any, table: str, columns: Sequence[str], keys: Sequence[str], arguments: str
) -> pl.DataFrame:
    """Return the `columns` of a frame with rows of `table`; raise an error for any other frame.

    Raise an error if a value of `keys` occurs in several rows, as in the rows of several
    partitions. `arguments` names the arguments that the user must pass for a frame with other rows.
    """
    lazy = to_lazy(frame)
    present = lazy.collect_schema().names()
    missing = [name for name in columns if name not in present]
    if missing:
        raise ClusterEvalError(
            f"frame: expected rows of {table} with the columns {', '.join(columns)}, "
            f"got no column named {', '.join(missing)}; for other rows, give {arguments}"
        )
    rows = lazy.select(columns).collect()
    repeated = rows.filter(pl.struct(keys).is_duplicated())
    if len(repeated):
        values = ", ".join(f"{key} {show_value(repeated[key][0])}" for key in keys)
        raise ClusterEvalError(
            f"frame: expected one row of {table} per {' and '.join(keys)}, got several with "
            f"{values}; filter one partition"
        )
    return rows


def check_limit(parameter: str, value: Any, most: int, least: int = 1) -> int:
    """Return `value`, a limit for a drawing; raise an error unless it is from `least` to `most`."""
    if not is_whole_number(value, least) or value > most:
        raise ClusterEvalError(
            f"{parameter}: expected a whole number from {least} to {most}, got {show_value(value)}"
        )
    return int(value)


# ----------------------------------------------------------------------------------------------
# Names
# ----------------------------------------------------------------------------------------------


def show_name(value: object, longest: int = _LONGEST_NAME) -> str:
    r"""Return a user's value as a text of at most `longest` characters for charts in any format.

    Control characters become escapes such as ``\x1b``, because the renderer of PNG aborts the
    process at characters that XML forbids. Altair writes data into HTML pages unchanged, so
    ``</script>`` gets a backslash, as it would in JavaScript. Long texts lose their middle, because
    a user's names often begin in the same way.

    >>> show_name("</script>\n"), show_name(None)
    ('<\\/script>\\n', '(none)')
    """
    if value is None:
        return _NO_VALUE
    text = _HTML_MARKS.sub(r"<\\", escape_controls(str(value))) or _EMPTY
    text = _NON_CHARACTERS.sub(lambda match: ascii(match[0])[1:-1], text)
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[1 - half :]}"


def name_values(values: pl.Series, longest: int = _LONGEST_NAME) -> list[str]:
    """Return a text for each of the values; different values get different texts.

    >>> name_values(pl.Series(["(none)", None, "b"]))
    ['(none)', '(none) (2)', 'b']
    """
    names: dict[str, None] = {}
    for value in values.to_list():
        text = show_name(value, longest)
        name, number = text, 1
        while name in names:
            number += 1
            name = f"{text} ({number})"
        names[name] = None
    return list(names)


# ----------------------------------------------------------------------------------------------
# Groups
# ----------------------------------------------------------------------------------------------


class Groups(NamedTuple):
    """The values that a chart shows, each in its own group, and one group for all others.

    places has one row per value, with the columns value and place, the number of the value's group,
    from 0. names are the names of the groups. If the last group is the group of all others,
    n_folded is the number of its values.
    """

    places: pl.DataFrame
    names: list[str]
    n_folded: int

    def number(self, rows: pl.DataFrame, column: str, place: str) -> pl.DataFrame:
        """Return the rows with a column `place`, the group of each value in `column`."""
        places = self.places.select(pl.col("value").alias(column), pl.col("place").alias(place))
        return rows.join(places, on=column, how="left", nulls_equal=True, maintain_order="left")


def fold_groups(rows: pl.DataFrame, column: str, size: pl.Expr, limit: int) -> Groups:
    """Return groups of the `limit` largest values of a column, in order, and one for the rest.

    `size` is an aggregate over the rows of a value. Of equally large values, the lowest are kept.
    If the rest is a single value, it keeps its own name, which takes no more room than a group of
    others.
    """
    sizes = rows.group_by(value=column).agg(size=size)
    sizes = sizes.sort("size", "value", descending=[True, False], nulls_last=True)
    if len(sizes) == limit + 1:
        limit += 1
    n_folded = max(0, len(sizes) - limit)
    kept = sizes.head(limit).select("value").sort("value", nulls_last=True)
    names = name_values(kept["value"])
    places = pl.concat([kept, sizes.select("value").tail(n_folded)]).with_row_index("place")
    places = places.with_columns(pl.col("place").cast(pl.Int64).clip(upper_bound=limit))
    if n_folded:
        names.append(f"other ({n_folded:,})")
    return Groups(places, names, n_folded)


# ----------------------------------------------------------------------------------------------
# Parts of charts
# ----------------------------------------------------------------------------------------------


def inline_data(rows: pl.DataFrame) -> alt.InlineData:
    """Return the rows as data of a chart, written into its specification.

    Numbers have 12 digits, because the order of sums, and therefore the last digits, may differ
    between two calls.
    """
    import altair as alt

    rounded = rows.with_columns(pl.col(pl.Float64).round_sig_figs(_DATA_DIGITS))
    return alt.InlineData(values=rounded.to_dicts())


def round_limit(x: float) -> float:
    """Return a limit of an axis or a color scale, rounded to as many digits as the data have."""
    return float(f"{x:.{_DATA_DIGITS}g}")


def make_title(text: str, *notes: str) -> alt.TitleParams:
    """Return a title with the notes that are not empty below it, one line each."""
    import altair as alt

    lines = [note for note in notes if note]
    return alt.TitleParams(text, subtitle=lines, anchor="start", subtitleColor="#444444")


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """Return n and the noun as text; `nouns` is the plural if it is irregular.

    >>> count(1, "cluster"), count(1797, "point"), count(2, "criterion", "criteria")
    ('1 cluster', '1,797 points', '2 criteria')
    """
    return f"{n:,} {noun if n == 1 else nouns or f'{noun}s'}"


def count_format(largest: float) -> str:
    """Return the format of counts up to `largest`; large counts get suffixes such as k and M."""
    return "~s" if largest >= 10_000 else ",d"


def label_angle(names: Sequence[str]) -> int:
    """Return the angle of the names on a horizontal axis: slanted if they need more room."""
    return 0 if max(map(len, names), default=0) <= 3 else -45
