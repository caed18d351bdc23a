"""entry: facts about a single score in the catalogue."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


#: Tables whose scores are also expressions and aggregate macros.
_TABLES_OF_EXPRESSIONS = ("external_report", "entity_resolution_report")
#: Tables that only Python computes.
_TABLES_WITHOUT_SQL = ("density_based_validity",)
#: The SQL arguments of the tables that take other arguments than a table, a label or vector, and a
#: cluster.
_ARGUMENTS = {
    "overlapping_report": ("labels", "clusters", "id", "label", "cluster"),
    "graph_report": ("nodes", "id", "cluster", "edges", "id_l", "id_r"),
    "neighborhood_report": ("ids", "id", "cluster", "knn", "id_l", "id_r"),
    "run_drift": ("run_before", "run_after", "id", "cluster"),
}
_NAMES_OF_TABLES = (
    *("labels", "clusters", "nodes", "edges", "ids", "knn"),
    *("run_before", "run_after"),
)
#: The values, in SQL and in Polars, of the options that a score may need.
_OPTION_VALUES = {"generalized": ("true", "True"), "distance": ("d", '"d"')}


#: The cost of a score of the contingency table.
PASS_AND_COUNTS = (
    "One pass over the rows counts them by label and cluster, and a second pass reads only "
    "these counts."
)


class Scale(NamedTuple):
    """The words that a publication uses to describe ranges of a score's values."""

    #: Pairs of a bound and the word for values above it, in descending order of the bounds.
    words: tuple[tuple[float, str], ...]
    #: The word for values that exceed no bound.
    otherwise: str
    #: Authors and year, in the form in which a text cites them.
    authors: str
    #: Title, and DOI or publisher.
    title: str

    def read(self, value: float) -> str:
        """Return the word for a value on this scale."""
        words = (word for bound, word in self.words if value > bound)
        return next(words, self.otherwise)


class Entry(NamedTuple):
    """Facts about one score, a column of a report; empty if they do not apply or are unknown."""

    name: str
    title: str
    #: 'external' for labels against clusters, 'internal' for points against clusters, 'graph' for
    #: edges against clusters, 'relative' for a clustering against another one.
    kind: str
    family: str
    #: The table function that has the score as a column.
    table: str
    #: A phrase in words that ends with a period, and then the formula in sentences of its own, in
    #: the notation of the family.
    definition: str
    #: An interval such as [0, 1], 'up to 1' or 'unbounded'.
    range: str
    #: The best value: a number, 'high', 'low', or '' if none is best.
    best: str
    #: A few words for the terminal.
    meaning: str
    #: When it is NULL, or has a value by convention.
    special_cases: str
    #: Authors, year, title, and DOI or publisher.
    source: str
    #: What the score reads, and what its time grows with.
    cost: str
    #: Names in other libraries, by library.
    elsewhere: Mapping[str, str] = MappingProxyType({})
    #: What other libraries compute under this name.
    differs: str = ""
    scale: Scale | None = None
    #: The option of the table that must be set to get the score; '' for most scores.
    option: str = ""

    @property
    def is_expression(self) -> bool:
        """Whether the score is also available as an expression and an aggregate macro."""
        return self.table in _TABLES_OF_EXPRESSIONS

    @property
    def has_one_table(self) -> bool:
        """Whether the score needs only a table with a cluster and a label or vector in each row."""
        return self.table not in _ARGUMENTS

    @property
    def has_sql(self) -> bool:
        """Whether DuckDB computes the score."""
        return self.table not in _TABLES_WITHOUT_SQL

    @property
    def sql(self) -> str:
        """The query that computes the score in DuckDB, or a comment if no query does."""
        if self.is_expression:
            return f"SELECT clustereval.{self.name}(label, cluster) FROM tbl"
        if not self.has_sql:
            return "-- no SQL; pass con.sql('FROM tbl').pl() to the function of Polars"
        first = "label" if self.kind == "external" else "[x, y]"
        arguments = ", ".join(_ARGUMENTS.get(self.table, ("tbl", first, "cluster")))
        option = f", {self.option} := {_OPTION_VALUES[self.option][0]}" if self.option else ""
        return f"SELECT {self.name} FROM clustereval.{self.table}({arguments}{option})"

    @property
    def polars(self) -> str:
        """The Python code that computes the score from a DataFrame."""
        if self.is_expression:
            return f'frame.select(ce.{self.name}("label", "cluster"))'
        first = '"label"' if self.kind == "external" else '["x", "y"]'
        arguments = f'frame, {first}, "cluster"'
        if not self.has_one_table:
            arguments = ", ".join(
                word if word in _NAMES_OF_TABLES else f'"{word}"' for word in _ARGUMENTS[self.table]
            )
        option = f", {self.option}={_OPTION_VALUES[self.option][1]}" if self.option else ""
        return f'ce.{self.table}({arguments}{option})["{self.name}"]'
