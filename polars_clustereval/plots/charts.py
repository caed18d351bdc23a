"""Code shared by all charts, for reading frames, naming values, folding groups and writing titles.

The fields of a chart have fixed names, and the user's values are used only as data. This is
necessary because Vega-Lite interprets dots and brackets in field names, and reads some texts as
expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import duckdb
import polars as pl

from polars_clustereval.base.checks import is_whole_number, show_value
from polars_clustereval.base.data_arguments import type_name
from polars_clustereval.base.quoting import escape_controls
from polars_clustereval.base.tables import keep_arguments, pass_arguments_to
from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

Function = TypeVar("Function", bound=Callable[..., Any])

#: Colors from the palette of Okabe and Ito, which color-blind readers can tell apart.
BLUE, VERMILION = "#0072B2", "#D55E00"
#: The colors of clusters (see color_cluster), found by search. Each has a contrast of at least 3 to
#: white and to the dark pages. Any two differ by at least 6.9 in Oklab, also to readers without
#: red, green or blue cones, and by 13 to others; a difference of 2 is just seen. This is about what
#: twelve colors can reach at these contrasts. The first ones differ most.
COLORS = (
    *("#3060f0", "#cc7800", "#9c4860", "#009ce4", "#d80024", "#546c00"),
    *("#f054d8", "#8448c0", "#b46ca8", "#309c60", "#fc546c", "#c00090"),
)
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


def chart(function: Function) -> Function:
    """Return a chart function that raises an error if altair is missing (see table_of_call)."""
    kept = keep_arguments(function)

    @wraps(function)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        try:
            import altair as alt  # noqa: F401
        except ImportError as error:
            raise ImportError(
                "polars_clustereval.plots needs altair: pip install 'polars_clustereval[plot]'"
            ) from error
        return kept(*args, **kwargs)

    return cast("Function", drawn)


def table_of_call(table: Callable[..., Any], frame: Any, **others: object) -> pl.LazyFrame:
    """Return the rows of a table function, which gets the arguments of the chart function."""
    rows: pl.LazyFrame = pass_arguments_to(table, frame=to_lazy(frame), **others)
    return rows


def to_lazy(frame: Any) -> pl.LazyFrame:
    """Return a frame, or a relation, which is read now, as a LazyFrame, or raise an error."""
    if isinstance(frame, duckdb.DuckDBPyRelation):
        frame = frame.pl()
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        raise ClusterEvalError(
            "frame: expected a Polars DataFrame, a Polars LazyFrame or a DuckDB relation, "
            f"got {type_name(frame)}; pl.DataFrame(...) creates a DataFrame from columns or from "
            "a table"
        )
    return frame.lazy()


def are_given(table: str, **columns: object) -> bool:
    """Return whether the columns that `table` reads are given, or else the frame has its rows.

    Raise an error if only some of the `columns`, arguments by parameter, are given.
    """
    missing = [name for name, value in columns.items() if value is None]
    if 0 < len(missing) < len(columns):
        raise ClusterEvalError(
            f"{', '.join(columns)}: expected all of them, or none for a frame with rows of {table};"
            f" got no {' and no '.join(missing)}"
        )
    return not missing


def read_rows(
    frame: Any, table: str, columns: Sequence[str], keys: Sequence[str], arguments: str = ""
) -> pl.DataFrame:
    """Return columns of a frame with rows of `table`, or raise an error.

    The error names the `arguments` that other rows need, if the chart takes these too. Rows of
    several partitions, with the same `keys`, are an error too.
    """
    lazy = to_lazy(frame)
    present = lazy.collect_schema().names()
    missing = [name for name in columns if name not in present]
    if missing:
        advice = f"; if the frame has other rows, also pass {arguments}" if arguments else ""
        raise ClusterEvalError(
            f"frame: expected rows of {table} with the columns {', '.join(columns)}, "
            f"got no column named {', '.join(missing)}{advice}"
        )
    rows = lazy.select(columns).collect()
    repeated = rows.filter(pl.struct(keys).is_duplicated())
    if len(repeated):
        values = ", ".join(f"{key} {show_value(repeated[key][0])}" for key in keys)
        raise ClusterEvalError(
            f"frame: expected one row of {table} per {' and '.join(keys)}, got several with "
            f"{values}; keep only the rows of one partition"
        )
    return rows


def check_limit(parameter: str, value: Any, most: int, least: int = 1) -> int:
    """Return a number of items in a chart as an int, or raise an error if it is out of range."""
    if not is_whole_number(value, least) or value > most:
        raise ClusterEvalError(
            f"{parameter}: expected a whole number from {least} to {most}, got {show_value(value)}"
        )
    return int(value)


# ----------------------------------------------------------------------------------------------
# Names
# ----------------------------------------------------------------------------------------------


def show_name(value: object, longest: int = _LONGEST_NAME) -> str:
    r"""Return a user's value as text that is safe in charts of any format.

    The text has at most `longest` characters. Control characters become escapes such as ``\x1b``,
    because the PNG renderer aborts the process when it finds characters that XML forbids. Altair
    writes data into HTML pages unchanged, so ``</script>`` gets a backslash, as it would in
    JavaScript. Long texts are shortened in the middle, because a user's names often begin with the
    same characters.

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
    """Return a name for each value. Different values get different names.

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
    """The values that a chart shows as separate groups, and a single group for all other values.

    `places` has one row per value, with the columns value and place. The column place contains the
    number of the value's group, counted from 0. `names` lists the names of the groups. `n_folded`
    is the number of values in the group of all other values, or 0 if there is no such group.
    """

    places: pl.DataFrame
    names: list[str]
    n_folded: int

    def number(self, rows: pl.DataFrame, column: str, place: str) -> pl.DataFrame:
        """Return the rows with a new column `place`, the group number of the value in `column`."""
        places = self.places.select(pl.col("value").alias(column), pl.col("place").alias(place))
        return rows.join(places, on=column, how="left", nulls_equal=True, maintain_order="left")


def fold_groups(rows: pl.DataFrame, column: str, size: pl.Expr, limit: int) -> Groups:
    """Group a column's values: one group for each of the `limit` largest, and one for the rest.

    The groups are sorted by value. `size` is an aggregate expression that computes the size of a
    value from all of its rows. Among values of equal size, the values that sort first are kept. If
    the rest consists of a single value, this value keeps its own name, because it takes up no more
    space than a group for the rest.
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
    """Return the rows as data in the specification of a chart.

    Numbers have 12 digits: with the order of summation, the last digits may differ between calls.
    """
    import altair as alt

    rounded = rows.with_columns(pl.col(pl.Float64).round_sig_figs(_DATA_DIGITS))
    return alt.InlineData(values=rounded.to_dicts())


def round_limit(x: float) -> float:
    """Return a limit of an axis or a color scale, rounded to the same precision as the data."""
    return float(f"{x:.{_DATA_DIGITS}g}")


def make_title(text: str, *notes: str) -> alt.TitleParams:
    """Return a title, with each nonempty note on a separate line below it."""
    import altair as alt

    lines = [note for note in notes if note]
    return alt.TitleParams(text, subtitle=lines, anchor="start", subtitleColor="#444444")


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """Return a number and a noun as text, such as '3 clusters'.

    If the plural of the noun is irregular, it must be passed as `nouns`.

    >>> count(1, "cluster"), count(1797, "point"), count(2, "criterion", "criteria")
    ('1 cluster', '1,797 points', '2 criteria')
    """
    return f"{n:,} {noun if n == 1 else nouns or f'{noun}s'}"


def count_format(largest: float) -> str:
    """Return the number format for counts up to `largest`; large counts get suffixes such as k."""
    return "~s" if largest >= 10_000 else ",d"


def color_cluster(place: int) -> str:
    """Return the color of the cluster with this number, counted from 0.

    After the twelve COLORS come the same colors in a darker shade, and then both again.

    >>> [color_cluster(place) for place in (0, 12, 24)]
    ['#3060f0', '#1a3584', '#3060f0']
    """
    color, shade = COLORS[place % len(COLORS)], (1, 0.55)[place // len(COLORS) % 2]
    channels = (round(shade * int(color[start : start + 2], 16)) for start in (1, 3, 5))
    return "#" + "".join(f"{channel:02x}" for channel in channels)


def label_angle(names: Sequence[str]) -> int:
    """Return the angle of names on a horizontal axis: long ones are slanted."""
    return 0 if max(map(len, names), default=0) <= 3 else -45
