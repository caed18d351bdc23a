"""Reports on one or more clusterings. For each page, every report is computed only once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polars_clustereval.cli.engines import ENGINES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from polars_clustereval.cli.options import Call
    from polars_clustereval.cli.sources import Source

    #: A function that returns the rows of a report, given its call and the wanted columns (by
    #: default all).
    Compute = Callable[..., pl.DataFrame]

__all__ = ["PartReports", "Reports"]

#: The column with the number of a part; no report has a column with this name.
_PART = "number of the part"


def _identify(call: Call, columns: Sequence[str] | None) -> tuple[str, str, str]:
    """Return what identifies a table among all tables from the same input."""
    arguments = repr(sorted(call.arguments.items()))
    return call.report.function.__name__, arguments, repr(columns)


class Reports:
    """The reports on one input, each computed at most once."""

    def __init__(self, source: Source) -> None:
        """Compute nothing yet."""
        self._source = source
        self._rows: dict[tuple[str, ...], pl.DataFrame] = {}

    def compute(self, call: Call, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the given columns of a report or, by default, all of its columns."""
        asked = _identify(call, columns)
        if asked not in self._rows:
            self._rows[asked] = ENGINES[call.engine]([self._source], call, columns)
        return self._rows[asked]


class PartReports:
    """The reports on groups of rows in one input, computed for all groups at once."""

    def __init__(self, source: Source, parts: pl.DataFrame) -> None:
        """Compute nothing yet. Each row of `parts` contains the values that define one group."""
        self._reports = Reports(source)
        self._parts = parts.with_row_index(_PART)
        self._keys = parts.columns
        self._split: dict[tuple[str, ...], dict[int, pl.DataFrame]] = {}

    def compute(
        self, number: int, call: Call, columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Return the report on the group in row `number`, without the columns of the groups."""
        asked = _identify(call, columns)
        whole = self._reports.compute(
            replace(call, arguments={**call.arguments, "partition_by": self._keys}), columns
        )
        if asked not in self._split:
            # From the same input, two engines may read a column as different types.
            types = {name: self._parts.schema[name] for name in self._keys}
            rows = whole.cast(types).join(  # type: ignore[arg-type]
                self._parts, on=self._keys, nulls_equal=True, maintain_order="left"
            )
            split = rows.drop(self._keys).partition_by(_PART, as_dict=True, include_key=False)
            self._split[asked] = {place: part for (place,), part in split.items()}
        return self._split[asked].get(number, whole.drop(self._keys).clear())
