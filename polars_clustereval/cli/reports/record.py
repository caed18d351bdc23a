"""The record of a report and helpers that several records share."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, NamedTuple

from polars_clustereval import catalogue
from polars_clustereval.base.tables import declared_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import polars as pl

__all__ = ["Input", "Meaning", "Report", "explain", "look_up"]


class Meaning(NamedTuple):
    """The meaning of a column: a text and a best value (a number, high, low, or '' for none)."""

    best: str
    text: str

    @property
    def is_high_best(self) -> bool:
        """Whether a higher value is better than a lower one."""
        return self.best in ("high", "1")


def explain(columns: Mapping[str, str | tuple[str, str]]) -> dict[str, Meaning]:
    """Return the meanings of columns.

    Each column is described by a text, or by a pair that consists of a best value and a text. Pass
    only the text if the column has no best value, or if its best value is in the catalogue.
    """
    best = {name: entry.best for name, entry in catalogue.entries().items()}
    return {
        name: Meaning(best.get(name, ""), words) if isinstance(words, str) else Meaning(*words)
        for name, words in columns.items()
    }


def look_up(table: str, *names: str) -> dict[str, Meaning]:
    """Return the meanings of a table function's scores, taken from the catalogue.

    `names` are the names of the scores. By default, all scores are included.
    """
    entries = {name: x for name, x in catalogue.entries().items() if x.table == table}
    return {name: Meaning(entries[name].best, entries[name].meaning) for name in names or entries}


class Input(NamedTuple):
    """A table from which a report is computed: a frame in Polars or a view in DuckDB."""

    #: The parameter of the Polars function.
    parameter: str
    #: The name of the view on which the macro is called.
    view: str
    #: The parameters that name columns of this table.
    columns: tuple[str, ...]
    #: The parameters that name columns which this table may lack.
    optional: tuple[str, ...] = ()


_ROW_COLUMNS = (
    *("label", "cluster", "clusters", "weight", "id", "run", "k", "vector", "columns"),
    "partition_by",
)
_ROWS = (Input("frame", "clustereval_input", _ROW_COLUMNS),)


@dataclass(frozen=True, kw_only=True)
class Report:
    """A table that a command writes.

    The SQL macro, if there is one, has the same name and the same parameters as the function.
    """

    command: str
    #: The option (such as confidence) or the value of --show that asks for this report instead of
    #: the command's first report. It is empty for the first report.
    variant: str = ""
    #: The value of --show for the first report of a command that has this option.
    show: str = ""
    function: Callable[..., pl.LazyFrame]
    description: str
    #: For a variant: the options that only this variant has, and those whose values differ from the
    #: command's, with their help texts ('' for the usual text).
    options: Mapping[str, str] = field(default_factory=dict)
    #: The engine that is faster for this report. Polars can use numpy for distances between points.
    engine: str = "duckdb"
    #: The tables that the function takes, in the order of its parameters.
    inputs: tuple[Input, ...] = _ROWS
    #: The function of plots that draws the rows for the option --plot, or '' without this option.
    plot: str = ""
    #: Columns that count rows of the input. If all of them are 0, the input has no rows. If a
    #: report has no such columns, the input has no rows if the report is empty.
    row_counts: tuple[str, ...] = ()
    #: The note for this case; without a note, an empty report is an ordinary result.
    no_rows: str = ""
    #: The options that the terminal shows above the table, line by line.
    heading: tuple[tuple[str, ...], ...]
    #: The meanings of all columns.
    meanings: dict[str, Meaning]
    #: Titles of groups of columns, by the first column of each.
    titles: Mapping[str, str] = field(default_factory=dict)
    #: The columns of the table of many clusterings, which is sorted by the first column that has a
    #: best value. A report that has many rows for each clustering has no such columns.
    comparison: tuple[str, ...] = ()
    #: The columns that the terminal leaves out.
    left_out: tuple[str, ...] = ()
    #: Whether values can have any size, unlike scores between 0 and 1.
    any_magnitude: bool = False
    #: In a report with many rows per clustering: the column by which the worst rows are sorted
    #: first.
    worst_first: str | None = None
    #: In a report with many rows per clustering: a column, and the number of first rows that the
    #: terminal shows for each value of this column.
    first_rows: tuple[str, int] | None = None
    #: A column, and its value in the rows that the terminal shows last.
    shown_last: tuple[str, str] | None = None
    #: In a report with many rows per clustering: a column of names and one of remarks, which the
    #: terminal shows below the table, which has only columns that say something.
    remarks: tuple[str, str] | None = None
    #: Whether the rows are findings, which the terminal shows as sentences.
    is_in_words: bool = False
    #: The columns whose values are explained in words below the table of a single clustering.
    readings: tuple[str, ...] = ()
    #: Whether the terminal always shows all metrics, even if there are many.
    is_whole: bool = False
    #: Whether an arrow is shown before the best value of a score, and next to its name in a head.
    has_arrows: bool = True
    #: A function that returns the report with texts adapted to its arguments, if the texts depend
    #: on them.
    adapt: Callable[[Report, Mapping[str, Any]], Report] | None = None
    #: A function that returns the recommendations of the report, given its rows and its partition
    #: columns.
    recommend: Callable[[pl.DataFrame, list[str]], pl.DataFrame] | None = None

    @property
    def has_macro(self) -> bool:
        """Whether there is an SQL macro, so that DuckDB can compute the report."""
        return declared_tables()[self.function.__name__].has_macro

    @property
    def name(self) -> str:
        """The command and, after a hyphen, its variant, as in ``external-confidence``."""
        return f"{self.command}-{self.variant}" if self.variant else self.command

    @property
    def option(self) -> str:
        """The parameter whose option selects this report, or '' for a command's first report."""
        return self.variant.replace("-", "_")

    @property
    def has_intervals(self) -> bool:
        """Whether the report has one row per metric, with the limits of an interval."""
        return {"std_error", "lower"} <= self.meanings.keys()

    @property
    def is_listing(self) -> bool:
        """Whether the report has many rows per clustering."""
        return not self.comparison

    @property
    def defaults(self) -> dict[str, Any]:
        """A mapping from each parameter except frames to its default.

        The value is ``Parameter.empty`` if there is no default. The parameter ``metrics`` is not
        included, because all commands share its option.
        """
        # Labeled pairs are an input of another report.
        others = {table.parameter for table in self.inputs} | {"metrics", "pairs"}
        parameters = signature(self.function).parameters.values()
        return {x.name: x.default for x in parameters if x.name not in others}

    @property
    def required(self) -> list[str]:
        """The names of all parameters without a default, except frames."""
        return [name for name, default in self.defaults.items() if default is Parameter.empty]

    @property
    def positional(self) -> list[str]:
        """The names of all parameters without a default, including frames, in order."""
        parameters = signature(self.function).parameters.values()
        return [x.name for x in parameters if x.default is Parameter.empty]
