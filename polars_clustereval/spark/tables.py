"""Code shared by all Spark functions: it reads and checks columns, and evaluates queries.

Each table is computed by a query of ``to_sql``, which is split into steps (see query_steps.py). The
result of a step is stored as a local checkpoint, so that Spark plans and evaluates the step only
once. Small results are broadcast.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from polars_clustereval.base.checks import MAX_TOTAL_WEIGHT, check_column_names
from polars_clustereval.base.data_arguments import type_name
from polars_clustereval.dialects import (
    ENGINES,
    OPTIONS,
    Request,
    build_query,
    check_kept_cells,
    check_macro_options,
    keep_metrics,
)
from polars_clustereval.dialects.sql_names import GROUP_COUNTS, GROUP_PARTITION, GROUP_ROWS
from polars_clustereval.errors import ClusterEvalError

from .query_steps import QuerySteps, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

ROWS = "__ce_tbl"  # the table that a query reads
ROWS_TABLE = {"tbl": exp.to_table(ROWS)}
_CELL_COLUMNS = ("partition_key", "label", "cluster", "n", "copies")

# A result of at most this many rows is sent as a whole to every executor that joins it.
_SMALL = 50_000

# Spark infers 2^d conditions for d copied columns, and compiles no step of more than 100 columns.
_SETTINGS_FOR_POINTS = {
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.codegen.maxFields": "1000",
}

# Error texts of checks that Spark evaluates together with the rows.
_OWN_ERROR = re.compile(
    r"((?:weight|tbl|vector): expected [^\n]*?)(?: SQLSTATE: \w+|$)", re.MULTILINE
)

_NO_SESSION = (
    "tbl: expected a DataFrame, or the name of a table of the active Spark session; there is no "
    "session. SparkSession.builder.getOrCreate() starts one; it needs Java 17 or newer (Debian: "
    "apt-get install openjdk-17-jre-headless). builder.remote(url) connects to a server and "
    "needs no Java"
)


def compute_table(name: str, arguments: Mapping[str, Any], *, lazy: bool = False) -> DataFrame:
    """Return the table of labels `name` for the arguments of its Spark function.

    It is computed now, unless `lazy` is True or the session cannot store results.
    """
    frame = open_table(arguments["tbl"])
    options = given_options(arguments)
    check_macro_options(name, options)
    columns = ("label", "cluster", "weight", "id", "partition_by")
    given = {key: arguments.get(key) for key in columns}
    check_kept_cells(name, {**given, "noise": options["noise"]})
    if given["label"] is None:
        rows = _read_cells(frame)
    else:
        if name == "bcubed_samples" and given["id"] is None:
            given["id"] = row_numbers()
        rows = select_rows(frame, given)
        options["noise"] = cast_noise(frame.sparkSession, options["noise"], rows.schema["cluster"])
    names = {key: None if value is None else key for key, value in given.items()}
    request = Request(name, ENGINES["spark"], ROWS_TABLE, names, options)
    query = build_query(keep_metrics(request, arguments["metrics"]))
    weighted = given["weight"] is not None
    with own_errors():
        if lazy or not can_checkpoint(rows.sparkSession):
            _check_division(name, rows.sparkSession)
            return evaluate_whole(query, rows, weighted=weighted)
        return evaluate_steps(query, rows, weighted=weighted)


def given_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of all options, with defaults for options that are not in `arguments`."""
    return {key: arguments.get(key, default) for key, default in OPTIONS.items()}


def open_table(tbl: DataFrame | str) -> DataFrame:
    """Return the DataFrame `tbl`, or the table with this name in the active session."""
    if not find_spec("pyspark"):
        raise ImportError(
            "polars_clustereval.spark needs pyspark: pip install 'polars_clustereval[spark]'"
        )
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    if isinstance(tbl, DataFrame):
        return tbl
    if not isinstance(tbl, str):
        raise ClusterEvalError(
            f"tbl: expected a Spark DataFrame or the name of a table, got {type_name(tbl)}"
        )
    session = SparkSession.getActiveSession()
    if session is None:
        raise ClusterEvalError(_NO_SESSION)
    try:
        frame = session.table(tbl)
        frame.columns  # noqa: B018 - Spark Connect looks for the table only now
    except PySparkException as error:
        names = [row["tableName"] for row in session.sql("SHOW TABLES").collect()]
        twins = get_close_matches(tbl, names, n=1)
        hint = f"; did you mean {twins[0]!r}?" if twins else ""
        raise ClusterEvalError(f"tbl: no table or view {tbl!r} in the session{hint}") from error
    return frame


def select_rows(
    frame: DataFrame, given: Mapping[str, Any], others: Collection[Column] = ()
) -> DataFrame:
    """Return the user's columns by parameter, with a checked weight, and the columns `others`."""
    selected = frame.select(
        *(find_column(frame, key, x).alias(key) for key, x in given.items() if x is not None),
        *others,
    )
    for field in selected.schema.fields:
        if re.search(r"\b(map<|variant\b)", field.dataType.simpleString()):
            raise ClusterEvalError(
                f"{field.name}: a column of type {field.dataType.simpleString()} cannot be grouped"
            )
        if field.dataType.typeName() == "void":
            selected = selected.withColumn(field.name, selected[field.name].cast("string"))
    if given.get("weight") is not None:
        weight = _check_weight(selected["weight"], selected.schema["weight"].dataType)
        selected = selected.withColumn("weight", weight)
    return selected


def row_numbers() -> Column:
    """Return a column with a unique number in each row, without sorting the rows."""
    from pyspark.sql import functions

    return functions.monotonically_increasing_id()


def find_column(frame: DataFrame, parameter: str, given: Any) -> Column:
    """Return the column that an argument refers to, or a struct if there are several columns."""
    from pyspark.sql import Column, functions

    if isinstance(given, Column):
        return given
    if parameter == "partition_by" and isinstance(given, list | tuple):
        return functions.struct(*(find_column(frame, parameter, column) for column in given))
    if not isinstance(given, str):
        raise ClusterEvalError(
            f"{parameter}: expected a column name or a Spark Column, got {type_name(given)}"
        )
    if _comparable_name(frame, given) not in [
        _comparable_name(frame, column) for column in frame.columns
    ]:
        check_column_names([given], parameter, frame.columns)
    return functions.col("`" + given.replace("`", "``") + "`")


def _comparable_name(frame: DataFrame, name: str) -> str:
    """Return a column name in lower case, unless column names in the session are case-sensitive."""
    sensitive = frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")
    return name if sensitive == "true" else name.lower()


def _check_weight(weight: Column, dtype: DataType) -> Column:
    """Return a weight as BIGINT, with the check and the error of the macro _check_weight."""
    from pyspark.sql import functions

    number = weight.try_cast("double")
    valid = (number >= 0) & (number < 9e18) & (number == functions.floor(number))
    text = functions.coalesce(weight.cast("string"), functions.lit("NULL"))
    fault = functions.concat(
        functions.lit("weight: expected whole numbers >= 0, got "),
        text,
        functions.lit("; a weight is how many times its row counts"),
    )
    whole = number if dtype.typeName() == "string" else weight
    return functions.when(valid, whole.cast("bigint")).otherwise(functions.raise_error(fault))


def cast_noise(session: SparkSession, noise: Any, field: Any) -> exp.Expr:
    """Return the noise value as a literal of the type of the cluster column, NULL for None.

    If the cast changes the value, raise the same error as the macro _check_noise.
    """
    if noise is None:
        return exp.null()
    text = str(noise).lower() if isinstance(noise, bool) else str(noise)
    dtype = field.dataType.simpleString()
    literal = exp.Literal.string(text)
    if dtype == "string":
        return literal
    from pyspark.sql import functions

    given = functions.lit(text)
    cast = given.try_cast(field.dataType).cast("string")
    same_number = cast.try_cast("double") == given.try_cast("double")
    row = session.range(1).select(
        (cast == given).alias("same_text"), same_number.alias("same_number")
    )
    (found,) = row.collect()
    if not found.same_text and (isinstance(noise, str) or not found.same_number):
        raise ClusterEvalError(
            f"noise: expected a value of the type of cluster ({dtype}), got '{noise}' "
            f"({type_name(noise)})"
        )
    return exp.cast(literal, exp.DataType.build(dtype, dialect="spark"))


def _read_cells(frame: DataFrame) -> DataFrame:
    """Return a saved contingency table, or raise an error; Spark checks the counts as it reads."""
    missing = [column for column in _CELL_COLUMNS if column not in frame.columns]
    if missing:
        raise ClusterEvalError(
            "tbl: expected a saved contingency table, rows of contingency_matrix with the columns "
            f"{', '.join(_CELL_COLUMNS)}, got {', '.join(frame.columns)}; if these are the rows to "
            "evaluate, give label and cluster; if another version wrote the table, save it again"
        )
    for column in ("n", "copies"):
        dtype = frame.schema[column].dataType.simpleString()
        if dtype not in ("tinyint", "smallint", "int", "bigint"):
            raise ClusterEvalError(
                f"tbl: expected a saved contingency table with bigint in {column}, got {dtype}; if "
                "another version wrote the table, save it again"
            )
    cells = frame.select(*_CELL_COLUMNS)
    return cells.withColumn("n", _check_cell(cells))


def _check_cell(cells: DataFrame) -> Column:
    """Return column n of a saved contingency table, with a check that each row is a valid cell."""
    from pyspark.sql import functions

    n, copies = cells["n"], cells["copies"]
    one = functions.when(cells["cluster"].isNull(), n).otherwise(copies)
    valid = (n >= 1) & (copies >= 1) & (one == 1) & cells["label"].isNotNull()
    shown = functions.concat_ws(
        ", ", *(functions.coalesce(x.cast("string"), functions.lit("NULL")) for x in (n, copies))
    )
    fault = functions.concat(
        functions.lit("tbl: expected a contingency table: rows with a label, n and copies >= 1, "),
        functions.lit("and n = 1 if cluster is NULL, else copies = 1; got a row with n, copies = "),
        shown,
    )
    return functions.when(valid, n.cast("bigint")).otherwise(functions.raise_error(fault))


def evaluate_steps(
    query: exp.Select, rows: DataFrame, *, weighted: bool = False, keep: bool = True
) -> DataFrame:
    """Evaluate a query step by step, the last step only when it is read unless `keep`."""
    steps = QuerySteps(query, [ROWS])
    frames = {ROWS: rows}
    for step in steps.kept_steps():
        frames[step.name] = _keep(_select_step(step, frames))
    if weighted:
        _check_total_weight(_select_step(steps.cte_step(GROUP_COUNTS), frames))
    answer = _select_step(steps.final_step(), frames)
    return answer.localCheckpoint() if keep else answer


def evaluate_whole(query: exp.Select, rows: DataFrame, *, weighted: bool = False) -> DataFrame:
    """Return the result of a query over `rows`, computed only when it is read."""
    steps = QuerySteps(query, [ROWS])
    frames = {ROWS: rows}
    if weighted:
        _check_total_weight(_select_step(steps.cte_step(GROUP_COUNTS), frames))
    return _select_step(steps.whole_query(), frames)


def _select_step(step: Step, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Return the rows of a step, which reads the `frames` by name."""
    session = frames[ROWS].sparkSession
    tables: dict[str, Any] = {name: frames[name] for name in step.reads}
    return session.sql(step.text, **tables)


def _keep(frame: DataFrame) -> DataFrame:
    """Evaluate a DataFrame and return its stored rows, marked for broadcast if there are few."""
    from pyspark.sql import functions

    kept = frame.localCheckpoint()
    n = kept.count()
    if n == 0:  # a table that is known to be empty drops out of the plans that read it
        return kept.limit(0)
    return functions.broadcast(kept.coalesce(1)) if n <= _SMALL else kept


@contextmanager
def settings_for_points(session: SparkSession) -> Iterator[None]:
    """Change the settings that slow down many coordinates, for a while; results stay the same."""
    before = {name: session.conf.get(name, None) for name in _SETTINGS_FOR_POINTS}
    for name, value in _SETTINGS_FOR_POINTS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


def can_checkpoint(session: SparkSession) -> bool:
    """Return whether a session can store results as checkpoints, for which Sail needs a folder."""
    from pyspark.errors import PySparkException

    if not type(session).__module__.startswith("pyspark.sql.connect"):
        return True  # Spark itself
    try:
        session.range(1).localCheckpoint()
    except PySparkException:
        return False
    return True


def _check_division(name: str, session: SparkSession) -> None:
    """Raise an error for a report of scores unless spark.sql.ansi.enabled is false.

    Engines that cannot store results, such as Sail, also divide by zero in CASE branches not taken.
    """
    reports = ("external_report", "entity_resolution_report")
    if name in reports and session.conf.get("spark.sql.ansi.enabled", "true") != "false":
        raise ClusterEvalError(
            f"{name}: expected spark.sql.ansi.enabled = false on an engine that cannot "
            "store results, such as Sail, because it would otherwise raise an error for a "
            "division by zero; "
            "call session.conf.set('spark.sql.ansi.enabled', 'false')"
        )


def _check_total_weight(groups: DataFrame) -> None:
    """Raise the error of the macro _check_total_weight for groups whose weights sum to too much."""
    # The column of partitions exists only with partition_by.
    keys = [name for name in groups.columns if name == GROUP_PARTITION]
    totals = groups.groupBy(*keys).agg({GROUP_ROWS: "sum"}).toDF(*keys, "total")
    (largest,) = totals.agg({"total": "max"}).collect()
    if largest[0] is not None and largest[0] > MAX_TOTAL_WEIGHT:
        raise ClusterEvalError(
            f"weight: expected a sum of at most {MAX_TOTAL_WEIGHT}, got {largest[0]}; divide the "
            "weights by a common factor"
        )


@contextmanager
def own_errors() -> Iterator[None]:
    """Convert errors from checks that Spark evaluates into ClusterEvalError."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        own = _OWN_ERROR.search(str(error))
        if own is None:
            raise
        raise ClusterEvalError(own[1]) from error
