"""Makes the Spark function of a table from the declaration of the table (see base/tables.py).

The function has the parameters of the Polars table that a query has, with the types of Spark, and
the text of its docstring as far as it holds for Spark.
"""

from __future__ import annotations

from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any

from polars_clustereval.base.tables import declared_tables
from polars_clustereval.dialects import options_of_table

from .docstrings import write_docstring
from .points import compute_points
from .tables import compute_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from polars_clustereval.base.tables import Table

_COLUMN_TYPES = {
    "vector": "Vector",
    "label": "str | Column",
    "cluster": "str | Column",
    "weight": "str | Column | None",
    "id": "str | Column | None",
    "partition_by": "Keys | None",
}


def spark_function(name: str, *, title: str = "", notes: str = "") -> Callable[..., DataFrame]:
    """Return the Spark function of a table.

    `title` replaces the first line of the table's docstring, and `notes` is a paragraph on what is
    different in Spark.
    """
    table = declared_tables()[name]
    # With an id, the result is as long as the input, so it is not stored.
    lazy = "id" in table.order

    def function(*args: Any, **kwargs: Any) -> DataFrame:
        try:
            bound = parameters.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        bound.apply_defaults()
        compute = compute_points if table.kind == "points" else compute_table
        return compute(name, bound.arguments, lazy=lazy)

    parameters = _signature_in_spark(name, table)
    function.__signature__ = parameters  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = write_docstring(name, list(parameters.parameters), title, notes)
    function.__module__ = __package__ or ""
    return function


def _signature_in_spark(name: str, table: Table) -> Signature:
    """Return the signature of the Spark function of a table."""
    own = signature(table.function).parameters
    options = options_of_table(name)
    parameters = [_make_parameter("tbl", "DataFrame | str", is_keyword=False)]
    for key in own:
        if key in ("vector", "label", "cluster"):
            # Without label and cluster, the table is a saved contingency table.
            is_optional = table.kind == "labels"
            annotation = _COLUMN_TYPES[key] + " | None" * is_optional
            default = None if is_optional else Parameter.empty
            parameters.append(_make_parameter(key, annotation, default, is_keyword=False))
        elif key in ("weight", "partition_by") or (key == "id" and "id" in table.order):
            parameters.append(_make_parameter(key, _COLUMN_TYPES[key], None))
        elif key in options:
            parameters.append(options[key])
    parameters.append(_make_parameter("metrics", "Sequence[str] | None", None))
    return Signature(parameters, return_annotation="DataFrame")


def _make_parameter(
    name: str, annotation: str, default: object = Parameter.empty, *, is_keyword: bool = True
) -> Parameter:
    kind = Parameter.KEYWORD_ONLY if is_keyword else Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(name, kind, default=default, annotation=annotation)
