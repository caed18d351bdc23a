"""The record of a report, and what several of them share."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval import catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

__all__ = ["Input", "Meaning", "Report", "explain", "look_up"]


class Meaning(NamedTuple):
    """What a column means: its best value (a number, high, low, or '' for none) and one line."""

    best: str
    text: str

    @property
    def is_high_best(self) -> bool:
        """Whether a higher value is better than a lower one."""
        return self.best in ("high", "1")


def explain(columns: Mapping[str, str | tuple[str, str]]) -> dict[str, Meaning]:
    """Return the meanings of columns, given a text for each, or its best value and a text.

    A text alone is for a column without a best value, or with the one in the catalogue.
    """
    best = {name: entry.best for name, entry in catalogue.entries().items()}
    return {
        name: Meaning(best.get(name, ""), words) if isinstance(words, str) else Meaning(*words)
        for name, words in columns.items()
    }


def look_up(table: str, *names: str) -> dict[str, Meaning]:
    """Return the meanings of the scores of a table function, as the catalogue has them.

    `names` are those of the scores, by default all.
    """
    entries = {name: x for name, x in catalogue.entries().items() if x.table == table}
    return {name: Meaning(entries[name].best, entries[name].meaning) for name in names or entries}


class Input(NamedTuple):
    """A table that a report is computed from: a frame in Polars, a view in DuckDB."""

    #: The parameter of the Polars function.
    parameter: str
    #: Name of the view, which the macro is called on.
    view: str
    #: The parameters that name columns of it.
    columns: tuple[str, ...]


_ROW_COLUMNS = (
    *("label", "cluster", "weight", "id", "run", "k", "vector", "columns", "partition_by"),
)
_ROWS = (Input("frame", "clustereval_input", _ROW_COLUMNS),)


@dataclass(frozen=True, kw_only=True)
class Report:
    """A table that a command writes; the SQL macro has the name and parameters of its function."""

    command: str
    #: What asks for this report in place of the command's first one: an option, such as confidence,
    #: or the value of --show. It is empty for the first one.
    variant: str = ""
    #: The value of --show for the first report of a command that has this option.
    show: str = ""
    function: Callable[..., pl.LazyFrame]
    description: str
    #: Of a variant: options that it alone has, and those whose values are others in its command,
    #: with their help, '' for the usual one.
    options: Mapping[str, str] = field(default_factory=dict)
    #: The engine that is faster for it: Polars has numpy for distances between points.
    engine: str = "duckdb"
    #: The tables that the function takes, in its order.
    inputs: tuple[Input, ...] = _ROWS
    #: Columns that count rows of the input, which has none if all are 0. Without such columns it
    #: has none if the report is empty.
    row_counts: tuple[str, ...] = ()
    #: What a note says then; without it an empty report is an ordinary one.
    no_rows: str = ""
    #: Options shown above the table on the terminal, line by line.
    heading: tuple[tuple[str, ...], ...]
    #: What the columns say; the meanings of all of them.
    meanings: dict[str, Meaning]
    #: Titles of groups of columns, by the first column of each.
    titles: Mapping[str, str] = field(default_factory=dict)
    #: Columns of the table of many clusterings; the first one with a best value sorts it. There are
    #: none in a report that has many rows for each clustering.
    comparison: tuple[str, ...] = ()
    #: Columns that the terminal leaves out.
    left_out: tuple[str, ...] = ()
    #: Whether values are of any size, rather than scores between 0 and 1.
    any_magnitude: bool = False
    #: In a report of many rows per clustering: the column that puts the worst rows first.
    worst_first: str | None = None
    #: In a report of many rows per clustering: a column, and how many of the first rows of each of
    #: its values the terminal shows.
    first_rows: tuple[str, int] | None = None
    #: A column and its value in the rows that the terminal shows after all others.
    shown_last: tuple[str, str] | None = None
    #: Whether the rows are findings, which the terminal shows as sentences.
    is_in_words: bool = False
    #: Columns whose value is put into words below the table of one clustering.
    readings: tuple[str, ...] = ()
    #: Whether the terminal shows all metrics, not only the first ones of many.
    is_whole: bool = False
    #: Whether an arrow stands before the best value of a score, and beside its name in a head.
    has_arrows: bool = True
    #: Returns the report in other words, given its arguments, if they change these.
    adapt: Callable[[Report, Mapping[str, Any]], Report] | None = None
    #: Returns what the report recommends, given its rows and its partition columns.
    recommend: Callable[[pl.DataFrame, list[str]], pl.DataFrame] | None = None

    @property
    def name(self) -> str:
        """The command, and its variant after a hyphen, as in ``external-confidence``."""
        return f"{self.command}-{self.variant}" if self.variant else self.command

    @property
    def option(self) -> str:
        """The parameter whose option asks for this report; '' for the first one of a command."""
        return self.variant.replace("-", "_")

    @property
    def has_intervals(self) -> bool:
        """Whether the report has a row per metric, with the limits of an interval."""
        return {"std_error", "lower"} <= self.meanings.keys()

    @property
    def is_listing(self) -> bool:
        """Whether the report has many rows per clustering."""
        return not self.comparison

    @property
    def defaults(self) -> dict[str, Any]:
        """Default of each parameter except the frames; ``Parameter.empty`` for a required one.

        metrics, the columns to return, is not among them, because all commands share its option.
        """
        others = {table.parameter for table in self.inputs} | {"metrics"}
        parameters = signature(self.function).parameters.values()
        return {x.name: x.default for x in parameters if x.name not in others}

    @property
    def required(self) -> list[str]:
        """Names of the parameters without a default, the frames left out."""
        return [name for name, default in self.defaults.items() if default is Parameter.empty]

    @property
    def positional(self) -> list[str]:
        """Names of the parameters without a default in their order, the frames too."""
        parameters = signature(self.function).parameters.values()
        return [x.name for x in parameters if x.default is Parameter.empty]
