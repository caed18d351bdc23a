"""The function to_sql, which writes table macros as standalone queries for other SQL engines."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from inspect import Signature, signature
from typing import TYPE_CHECKING, Any

import duckdb

from polars_clustereval.base.checks import check_metrics
from polars_clustereval.base.tables import orders_of_portable_tables
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.report import check_report_options

from .arguments import (
    check_columns,
    check_kept_cells,
    check_silhouette,
    check_tables,
    name_coordinates,
    open_cursor,
    refuse_unknown_parameters,
)
from .engines import find_engine, never_executed_notice
from .identifiers import parse_table
from .parameters import COLUMN_PARAMETERS, OPTIONS, TABLE_PARAMETERS, table_arguments
from .pipeline import Request, write_query, write_script
from .selection import describe_call, select_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# Table macros of labels, of points and of two runs -> the columns by which their rows are sorted.
# Queries of two runs are already sorted.
_LABEL_TABLES = orders_of_portable_tables("labels", "records")
_POINT_TABLES = orders_of_portable_tables("points")
_RUN_TABLES = orders_of_portable_tables("two runs")
_ROW_ORDER = _LABEL_TABLES | _POINT_TABLES | _RUN_TABLES


def to_sql(
    name: str,
    *,
    dialect: str,
    metrics: Sequence[str] | None = None,
    steps: bool = False,
    compact: bool = False,
    **arguments: Any,
) -> str:
    """Write a table macro as a standalone query in another SQL dialect.

    Parameters
    ----------
    name : str
        The table macro. The macros for labels are ``external_report``,
        ``entity_resolution_report``, ``contingency_matrix``, ``pair_counts``,
        ``external_cluster_report``, ``external_label_report`` and ``bcubed_samples``. The macros
        that compare two runs are ``run_transitions``, ``transition_overlaps``, ``moved_ids`` and
        ``affected_ids``. The macros for points are ``internal_report``,
        ``internal_cluster_report``, ``neighbor_report``, ``centroids``, ``silhouette_score``,
        ``silhouette_clusters`` and ``silhouette_samples``. You can also pass the name of a score in
        one of these tables, such as ``adjusted_rand_score``, to get a query for that score alone.
    dialect : str
        For ``duckdb``, ``datafusion``, ``clickhouse``, ``postgres`` and ``spark``, the test suite
        executes the queries for every table. You can also pass any other sqlglot dialect
        (``snowflake``, ``bigquery``, ...), but doing so triggers a warning, because queries in
        these dialects have never been executed. The text begins with the same notice as a comment.
    tbl, tbl_before, tbl_after : str
        The table to read, as ``table``, ``schema.table`` or ``database.schema.table``. Quote a name
        that contains a dot (``"my.table"``). Macros that compare two runs take ``tbl_before``,
        ``tbl_after`` and ``id``.
    label, cluster, weight, id, partition_by : str
        Names of columns. Table and column names are interpreted as in any other query in the
        dialect. Unquoted names are folded to upper case (in Snowflake) or lower case (in Postgres),
        and names in double quotes, such as ``'"Region"'``, are used exactly as written. If you omit
        ``label`` and ``cluster``, the macros for labels read a saved contingency table. Such a
        table contains the rows that ``contingency_matrix`` returned, possibly for several days or
        shards. For a saved contingency table, ``n_dropped`` and ``n_noise`` are NULL, because the
        table does not contain these counts. Pass ``weight`` and ``id`` only if the macro accepts
        them. ``bcubed_samples`` and ``silhouette_samples`` need ``id`` in every dialect except
        ``duckdb``, because other engines do not keep the order of rows, by which DuckDB numbers
        them. Without ``partition_by``, the column ``partition_key`` has a string type and is always
        NULL.
    vector : str or sequence of str
        For macros that take points, the columns that contain the coordinates. You can also pass a
        single column of arrays, together with `size`.
    size : int
        The number of coordinates in a column of arrays. The query has one expression for each
        coordinate, so it needs no list functions, but its length grows with `size`.
    noise, noise_as, average_method, beta, adjusted, split_cost, merge_cost, threshold, min_share
        The options of the macro. Pass only options that the macro accepts.
    distance, p, center, weights, missing, method, between
        The options of macros that take points. Pass only options that the macro accepts. Silhouette
        macros require the distance ``sqeuclidean`` or ``cosine``, because any other distance would
        require comparing all pairs of points. With the method ``simplified``, ``silhouette_score``
        accepts any distance.
    metrics : sequence of str
        The columns to return, in this order. By default, all columns of the table are returned. The
        columns that identify a row always come first: ``partition_key`` if you pass `partition_by`,
        and the cluster in a report with one row per cluster. The query computes only what is needed
        for the requested columns.
    steps : bool
        If True, write a script instead of a single query. The statements of the script are
        separated by ``;`` and a newline. The last statement is the query. The other statements
        create temporary tables for intermediate results that are read more than once. The names of
        these tables begin with ``__ce_``. In ClickHouse and DataFusion, use a script for macros
        that take points, because these engines recompute a CTE each time it is read. Scripts are
        not available for Spark, which has no temporary tables.
    compact : bool
        If True, write each statement on one line. By default, the statements are indented, the text
        begins with a comment that describes the result, and each CTE with a comment that describes
        its rows.

    Returns
    -------
    str
        The query or the script. Unlike the macro, the query does not check the data. If a weight is
        negative or a coordinate is NaN, the macro raises an error, but the query returns incorrect
        results. In Spark, a point counts as missing if its first coordinate is NULL.

    Raises
    ------
    ClusterEvalError
        If a name, dialect or option is unknown, or if the SQL cannot be translated faithfully.
    ImportError
        If sqlglot is missing: ``pip install 'polars_clustereval[dialects]'``.

    Warns
    -----
    UserWarning
        If the tests of this package do not execute queries in this dialect.

    Examples
    --------
    >>> import polars_clustereval as ce
    >>> query = ce.to_sql(
    ...     "pair_counts", dialect="spark", tbl="assignments", label="species", cluster="kmeans"
    ... )
    >>> print(query.splitlines()[0])
    -- Counts of unordered pairs of rows with the same label, the same cluster, both or neither.
    >>> query = ce.to_sql(
    ...     "internal_report", dialect="spark", tbl="points", vector=["x", "y"], cluster="kmeans"
    ... )
    >>> "ARRAY" in query
    False
    >>> query = ce.to_sql(
    ...     "external_report",
    ...     dialect="postgres",
    ...     tbl="assignments",
    ...     label="species",
    ...     cluster="kmeans",
    ...     metrics=["n", "v_measure_score"],
    ...     compact=True,
    ... )
    >>> query.count("AS v_measure_score"), query.count("rand_score")
    (1, 0)
    """
    for parameter in arguments:
        if parameter not in _TABLE_ARGUMENTS:
            raise TypeError(f"to_sql() got an unexpected keyword argument {parameter!r}")
    given = {key: arguments.get(key, x.default) for key, x in _TABLE_ARGUMENTS.items()}
    engine = find_engine(dialect)
    asked = name
    name, chosen = select_columns(name, metrics, _ROW_ORDER)
    notice = never_executed_notice(dialect)
    if notice is not None:
        warnings.warn(notice, stacklevel=2)
    if given["weights"] is not None:
        given["weights"] = [float(number) for number in given["weights"]]
    options = {key: given[key] for key in OPTIONS}
    columns = {key: given[key] for key in COLUMN_PARAMETERS}
    tables = {key: given[key] for key in TABLE_PARAMETERS}
    check_columns(columns)
    check_tables(name, given)
    check_macro_options(name, options)
    if name in _LABEL_TABLES:
        check_kept_cells(name, given)
    if given["id"] is None and "id" in _ROW_ORDER[name] and not engine.keeps_row_order:
        raise ClusterEvalError(
            f"id: {name} needs the column that identifies each row, got None; rows have no order "
            f"in {dialect} by which they could be numbered"
        )
    coordinates = []
    if name in _POINT_TABLES:
        coordinates = name_coordinates(name, given["vector"], given["size"], given["weights"])
        if given["cluster"] is None:
            raise ClusterEvalError(f"cluster: {name} needs the column of clusters, got None")
    asked_for = {key: x for key, x in given.items() if x != _TABLE_ARGUMENTS[key].default}
    # The first of several unknown parameters is an option, or else a column.
    in_order = (*OPTIONS, *COLUMN_PARAMETERS, *asked_for)
    refuse_unknown_parameters(name, [key for key in in_order if key in asked_for])
    parsed = {key: parse_table(key, x, engine.parser) for key, x in tables.items() if x is not None}
    check_silhouette(name, options)
    request = keep_metrics(Request(name, engine, parsed, columns, options, coordinates), chosen)
    write = write_script if steps else write_query
    query = write(request, _order_of(request), pretty=not compact)
    if compact:
        return query if notice is None else f"/* {notice} */ {query}"
    form = {"metrics": metrics, "steps": steps or None}
    asked_for |= {key: x for key, x in form.items() if x is not None}
    return describe_call(asked, {"dialect": dialect, **asked_for}, notice) + query


_TABLE_ARGUMENTS = {x.name: x for x in table_arguments()}


def _full_signature() -> Signature:
    """Return the signature of to_sql, in which the arguments of the tables stand by name."""
    own = signature(to_sql)
    first, dialect, *form, _ = own.parameters.values()
    return own.replace(parameters=[first, dialect, *_TABLE_ARGUMENTS.values(), *form])


to_sql.__signature__ = _full_signature()  # type: ignore[attr-defined]


def keep_metrics(request: Request, metrics: Sequence[str] | None) -> Request:
    """Return the request for `metrics` (all if None) and the columns that identify a row."""
    if metrics is None:
        return request
    names = (*_order_of(request), *check_metrics(metrics))
    return replace(request, outputs=tuple(dict.fromkeys(names)))


def _order_of(request: Request) -> tuple[str, ...]:
    """Return the columns that identify the rows of the result and determine their order."""
    return tuple(_ROW_ORDER[request.name][request.has_one_partition :])


def check_macro_options(name: str, options: Mapping[str, Any]) -> None:
    """Raise the same error as the macro `name` if one of its options is invalid.

    DuckDB runs a private macro that reads no table; an error that would show an option in its SQL
    form is raised in Python.
    """
    if name == "external_report":
        names = ("average_method", "beta", "adjusted")
        check_report_options(**{key: options[key] for key in names})
        call = "_valid_noise($noise, $noise_as)"
    elif name == "entity_resolution_report":
        call = "_valid_resolution_options($noise, $noise_as, $split_cost, $merge_cost, $beta)"
    elif name in _RUN_TABLES:
        call = "_valid_transition_options($noise, $noise_as, $threshold, $min_share)"
    elif name in _POINT_TABLES:
        call = "_valid_point_options($distance, $p, $center, $weights, $noise, $noise_as, $missing)"
    else:
        call = "_valid_noise($noise, $noise_as)"
    options = {key: value for key, value in options.items() if f"${key}" in call}
    try:
        open_cursor().execute(f"SELECT clustereval.{call}", options).fetchall()
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
        text = str(error).removeprefix("Invalid Input Error: ")
        raised = _RAISED.match(text)
        raise ClusterEvalError(raised[1] if raised else text) from error


# The error of the macro _raise, which names the text in the error of a cast.
_RAISED = re.compile(r"Conversion Error: Could not convert string '(.*)' to ENUM", re.DOTALL)
