"""The parameters of queries, read from the declarations of the portable tables.

A new option of a table becomes an option of its query, its Spark function and to_sql.
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

from polars_clustereval.base.tables import declared_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Parameters of to_sql that name a table, and a column of it.
TABLE_PARAMETERS = ("tbl", "tbl_before", "tbl_after")
COLUMN_PARAMETERS = ("label", "cluster", "weight", "id", "partition_by")

# Parameters of table functions that are not options of queries: the data, the choice of columns,
# and what is about random samples or bounds, which need pairs of points.
_OTHER_ARGUMENTS = {
    *("frame", "frame_before", "frame_after", "vector", "metrics", *COLUMN_PARAMETERS),
    *("tolerance", "sample_size", "reference_size", "confidence", "random_state"),
}
# Types that are narrower than in Polars.
_NARROWER_TYPES = {"noise": "str | float | bool | None", "method": 'Literal["exact", "simplified"]'}


def options_of_table(table: str) -> dict[str, Parameter]:
    """Return the options of the query of a table: all parameters but tables and columns."""
    parameters = signature(declared_tables()[table].function).parameters
    return {
        name: x.replace(annotation=_NARROWER_TYPES.get(name, x.annotation))
        for name, x in parameters.items()
        # Only the mean of all points has a second method that needs no sample.
        if name not in _OTHER_ARGUMENTS and (name != "method" or table == "silhouette_score")
    }


def _portable_options() -> dict[str, Parameter]:
    """Return the options of all portable tables, those that tables share once."""
    tables = declared_tables("labels", "records", "two runs", "points")
    return {
        name: x
        for table, declared in tables.items()
        if declared.is_portable
        for name, x in options_of_table(table).items()
    }


_ALL_OPTIONS = _portable_options()

#: Default of each option of the table macros.
OPTIONS: dict[str, Any] = {name: x.default for name, x in _ALL_OPTIONS.items()}


def table_arguments() -> Iterator[Parameter]:
    """Yield the parameters of to_sql that the table macros have, and the size of vectors."""
    before, after = COLUMN_PARAMETERS[:2], COLUMN_PARAMETERS[2:]
    types = {
        **dict.fromkeys((*TABLE_PARAMETERS, *before), "str | None"),
        "vector": "str | Sequence[str] | None",
        "size": "int | None",
        **dict.fromkeys(after, "str | None"),
    }
    for name, annotation in types.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
    yield from _ALL_OPTIONS.values()
