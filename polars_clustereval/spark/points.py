"""Computation of the reports on points, including reading and checking the coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from polars_clustereval.dialects import (
    ENGINES,
    Request,
    build_query,
    check_macro_options,
    check_silhouette,
    check_weights,
    keep_metrics,
)
from polars_clustereval.errors import ClusterEvalError

from .tables import (
    ROWS_TABLE,
    can_checkpoint,
    cast_noise,
    evaluate_steps,
    evaluate_whole,
    find_column,
    given_options,
    open_table,
    own_errors,
    row_numbers,
    select_rows,
    settings_for_points,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from polars_clustereval.internal.vectors import Missing

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def compute_points(name: str, arguments: Mapping[str, Any], *, lazy: bool = False) -> DataFrame:
    """Return the table of points `name` for the arguments of its function (see compute_table)."""
    frame = open_table(arguments["tbl"])
    options = given_options(arguments)
    if options["weights"] is not None:
        # A sequence is converted to a list, which is an array in the query; a tuple would be a
        # struct.
        options["weights"] = list(options["weights"])
    check_macro_options(name, options)
    check_silhouette(name, options)
    numbered = arguments.get("id") is None
    given = {key: arguments[key] for key in ("cluster", "partition_by")}
    given["id"] = row_numbers() if numbered else arguments["id"]
    keys = select_rows(frame, given)
    noise = cast_noise(frame.sparkSession, options["noise"], keys.schema["cluster"])
    coordinates = _read_coordinates(frame, arguments["vector"], options["missing"])
    check_weights(options["weights"], len(coordinates))
    rows = select_rows(frame, given, coordinates)
    request = Request(
        name,
        ENGINES["spark"],
        ROWS_TABLE,
        {
            "cluster": "cluster",
            "partition_by": None if given["partition_by"] is None else "partition_by",
            "id": "id",
            "label": None,
            "weight": None,
        },
        {**options, "noise": noise},
        [exp.column(_coordinate_name(i), quoted=True) for i in range(len(coordinates))],
        numbered=numbered,
        checked=True,
    )
    query = build_query(keep_metrics(request, arguments["metrics"]))
    with own_errors(), settings_for_points(rows.sparkSession):
        if not can_checkpoint(rows.sparkSession):
            return evaluate_whole(query, rows)
        return evaluate_steps(query, rows, keep=not lazy)


def _coordinate_name(place: int) -> str:
    """Return the column name for the coordinate at position `place`, counting from 0."""
    return f"__ce_coordinate_{place}"


def _read_coordinates(frame: DataFrame, vector: Any, missing: Missing) -> list[Column]:
    """Return the coordinates of the points as DOUBLE columns.

    The query counts a point as missing if its first coordinate is NULL. With `missing` = 'error',
    only a point without any coordinate is missing; of others, a first NULL becomes NaN, an error.
    """
    from pyspark.sql import functions

    given = list(vector) if isinstance(vector, list | tuple) else [vector]
    if not given:
        raise ClusterEvalError(f"vector: expected columns of coordinates, got {vector!r}")
    columns = [find_column(frame, "vector", column) for column in given]
    types = [frame.select(column).schema.fields[0].dataType for column in columns]
    if len(columns) == 1 and types[0].typeName() in ("array", "vectorudt"):
        columns = _split_arrays(frame, columns[0], types[0].typeName())
    else:
        for column, dtype in zip(given, types, strict=True):
            if dtype.simpleString().split("(")[0] not in _NUMBERS:
                raise ClusterEvalError(
                    f"vector: expected columns of numbers, or one column of arrays, got "
                    f"{dtype.simpleString()} in {column if isinstance(column, str) else 'a Column'}"
                )
    first, *others = (column.cast("double") for column in columns)
    if others and missing == "error":
        is_incomplete = first.isNull() & functions.coalesce(*others).isNotNull()
        first = functions.when(is_incomplete, float("nan")).otherwise(first)
    return [number.alias(_coordinate_name(i)) for i, number in enumerate((first, *others))]


def _split_arrays(frame: DataFrame, arrays: Column, kind: str) -> list[Column]:
    """Return one column per element of `arrays`, as many as one row has; Spark checks the others.

    `kind` is the name of their Spark type: "array", or "vectorudt" for vectors of pyspark.ml.
    """
    from pyspark.sql import functions

    if kind == "vectorudt":
        from pyspark.ml.functions import vector_to_array

        arrays = vector_to_array(arrays)
    length = functions.size(arrays)
    found = frame.where(arrays.isNotNull()).select(length).first()
    size = 1 if found is None else max(found[0], 1)
    expected = f"vectors of one length ({size})"
    if found is not None and not found[0]:
        expected = "at least one coordinate"
    fault = functions.concat(
        functions.lit(f"vector: expected {expected}, got "),
        length.cast("string"),
        functions.lit(" coordinates; fix such rows or leave them out"),
    )
    first, *others = (functions.get(arrays, i) for i in range(size))
    is_wrong = arrays.isNotNull() & (length != size)
    return [functions.when(is_wrong, functions.raise_error(fault)).otherwise(first), *others]
