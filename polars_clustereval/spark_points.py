"""The tables of ``polars_clustereval.spark`` for points: coordinates that are read, and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from .dialects import OPTIONS, build_query, check_macro_options, check_silhouette, check_weights
from .errors import ClusterEvalError
from .spark_tables import (
    ROWS,
    can_checkpoint,
    cast_noise,
    evaluate_steps,
    evaluate_whole,
    find_column,
    open_table,
    own_errors,
    row_numbers,
    select_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def compute_points(
    name: str,
    tbl: DataFrame | str,
    vector: Any,
    columns: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    keep: bool = True,
) -> DataFrame:
    """Return the rows of the table macro `name` of points, as a DataFrame of the session of `tbl`.

    `vector` are the coordinates: names of columns or Columns, or one that holds arrays or vectors.
    `columns` are cluster, partition_by and id, names of columns or Columns or None; without an id
    Spark numbers the rows. `options` are the values of the other parameters. The result is computed
    here, unless `keep` is FALSE or the session cannot keep it.
    """
    from pyspark.sql import functions

    frame = open_table(tbl)
    options = {**OPTIONS, **options}
    check_macro_options(name, options)
    check_silhouette(name, options)
    numbered = columns.get("id") is None
    row_id = row_numbers() if numbered else columns["id"]
    given = {"cluster": columns["cluster"], "partition_by": columns["partition_by"], "id": row_id}
    keys = select_rows(frame, given)
    noise = cast_noise(frame.sparkSession, options["noise"], keys.schema["cluster"])
    cluster = find_column(frame, "cluster", columns["cluster"])
    left_out = cluster.isNull()
    if options["noise_as"] == "drop":
        left_out |= functions.coalesce(
            cluster == functions.expr(noise.sql("spark")), functions.lit(False)
        )
    coordinates = _read_coordinates(frame, vector, left_out)
    check_weights(options["weights"], len(coordinates))
    rows = select_rows(frame, given, coordinates)
    query = build_query(
        name,
        exp.to_table(ROWS),
        {
            "cluster": "cluster",
            "partition_by": None if given["partition_by"] is None else "partition_by",
            "id": "id",
            "label": None,
            "weight": None,
        },
        {**options, "noise": noise},
        "spark",
        [exp.column(_coordinate_name(i), quoted=True) for i in range(len(coordinates))],
        numbered=numbered,
    )
    with own_errors():
        if not can_checkpoint(rows.sparkSession):
            return evaluate_whole(query, rows)
        return evaluate_steps(query, rows, keep=keep)


def _coordinate_name(place: int) -> str:
    """Return the name of the column with the coordinate at `place`, from 0."""
    return f"__ce_coordinate_{place}"


def _read_coordinates(frame: DataFrame, vector: Any, left_out: Column) -> list[Column]:
    """Return the coordinates of the points as columns of DOUBLE.

    They are an error where Spark reads a row that counts and one of them is not finite. `left_out`
    is TRUE for rows that do not count; those without any coordinate do not count either.
    """
    from pyspark.sql import functions

    given = list(vector) if isinstance(vector, list | tuple) else [vector]
    if not given:
        raise ClusterEvalError(f"vector: expected columns of coordinates, got {vector!r}")
    columns = [find_column(frame, "vector", column) for column in given]
    types = [frame.select(column).schema.fields[0].dataType for column in columns]
    if len(columns) == 1 and types[0].typeName() in ("array", "vectorudt"):
        columns, fault = _split_arrays(frame, columns[0], types[0].typeName())
    else:
        for column, dtype in zip(given, types, strict=True):
            if dtype.simpleString().split("(")[0] not in _NUMBERS:
                raise ClusterEvalError(
                    f"vector: expected columns of numbers, or one of arrays, got "
                    f"{dtype.simpleString()} in {column if isinstance(column, str) else 'a Column'}"
                )
        fault = functions.lit(None).cast("string")
    numbers = [column.cast("double") for column in columns]
    missing = functions.coalesce(*numbers).isNull() & fault.isNull()
    return [
        _check_coordinate(number, i, left_out | missing, fault).alias(_coordinate_name(i))
        for i, number in enumerate(numbers)
    ]


def _split_arrays(frame: DataFrame, arrays: Column, kind: str) -> tuple[list[Column], Column]:
    """Return the elements of a column of arrays, and the text of an error where there are others.

    One row is read for their number.
    """
    from pyspark.sql import functions

    if kind == "vectorudt":
        from pyspark.ml.functions import vector_to_array

        arrays = vector_to_array(arrays)
    length = functions.size(arrays)
    first = frame.where(arrays.isNotNull()).select(length).first()
    size = 1 if first is None else max(first[0], 1)
    expected = "at least one coordinate" if first and not first[0] else None
    fault = functions.concat(
        functions.lit(f"vector: expected {expected or f'vectors of one length ({size})'}, got "),
        length.cast("string"),
        functions.lit(" coordinates; mend such rows or leave them out"),
    )
    is_wrong = arrays.isNotNull() & (length != size)
    return [functions.get(arrays, i) for i in range(size)], functions.when(is_wrong, fault)


def _check_coordinate(number: Column, place: int, left_out: Column, fault: Column) -> Column:
    """Return a coordinate, an error where it is not finite or the vector has another length."""
    from pyspark.sql import functions

    greatest = 1.7976931348623157e308
    finite = functions.abs(number) <= greatest  # NaN is above every number
    text = functions.concat(
        functions.lit("vector: expected finite numbers, got "),
        functions.coalesce(number.cast("string"), functions.lit("NULL")),
        functions.lit(f" in coordinate {place + 1}; mend such rows or leave them out"),
    )
    valid = left_out | (finite & fault.isNull())
    error = functions.raise_error(functions.coalesce(fault, text))
    return functions.when(functions.coalesce(valid, functions.lit(False)), number).otherwise(error)
