"""Engines: computes a report either with the SQL macro in DuckDB or with the Polars function.

A string `rows` is the SQL to place after FROM to read the rows of an input. The `arguments` map the
parameters of the report's function to their values, with several columns as a list.
"""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval import parse_vector
from polars_clustereval.base.checks import check_metrics, column_named
from polars_clustereval.base.quoting import quote_identifier, quote_literal
from polars_clustereval.errors import ClusterEvalError, Setting
from polars_clustereval.macros import register_macro

from .files import format_rows, format_source, open_source, scan_files
from .options import write_setting
from .progress import begin_step
from .sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from .options import Call
    from .reports import Input, Report

__all__ = [
    "ENGINES",
    "convert_to_polars",
    "list_columns",
    "open_rows",
    "read_arguments",
    "read_rows",
    "select_groups",
    "write_queries",
]

# ----------------------------------------------------------------------------------------------
# Arguments
# ----------------------------------------------------------------------------------------------

# Parameters that take several columns; all others take one column or a value.
_MULTIPLE_COLUMNS = ("clusters", "vector", "columns", "partition_by")

# Parameters whose columns contain numbers; all other columns identify something by their values.
_NUMBER_COLUMNS = ("vector", "weight", "pair_weight", "k", "distance")

# Values that the functions check against the data, that is, against the type of `cluster` or the
# number of dimensions.
_DATA_DEPENDENT = ("noise", "noise_as", "weights", "reference")


def _read_arguments(call: Call, columns: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of a call on an input with these columns, not checked."""
    arguments = dict(call.arguments)
    for parameter in arguments.keys() & set(_MULTIPLE_COLUMNS):
        given = arguments[parameter]
        if given is not None:
            texts = [given] if isinstance(given, str) else given  # a list if the option is repeated
            arguments[parameter] = [name for text in texts for name in _split_names(text, columns)]
    return arguments


def _split_names(text: str, columns: Sequence[str]) -> list[str]:
    """Return the column names in a comma-separated text, which may itself be one of `columns`."""
    if text in columns:
        return [text]
    return [name if name in columns else name.strip() for name in text.split(",")]


# Parameters of ids, which may be several columns. The ends of an edge have the fields of the id.
_IDS = ("id", "left", "right", "pair_left", "pair_right")


def _resolve_ids(
    arguments: dict[str, Any], columns: Sequence[str], table: Input
) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """Return the arguments, and for each id of several columns, by its text, a column per field.

    An unknown column takes the place of its id, so that the function's own error names it.
    """
    found = {}
    fields = [name.strip() for name in (arguments.get("id") or "").split(",")]
    if len({*fields}) < len(fields):
        raise ClusterEvalError(f"id: expected different columns, got {','.join(fields)}")
    for parameter in _IDS:
        text = arguments.get(parameter) if parameter in table.columns else None
        if text is None or text in columns:
            continue
        parts = _split_names(text, columns)
        unknown = [name for name in parts if name not in columns]
        if unknown:
            arguments = arguments | {parameter: unknown[0]}
        elif len(parts) != len(fields):
            raise ClusterEvalError(
                f"{parameter}: expected as many columns as --id {','.join(fields)}, got "
                f"{len(parts)}: {text}"
            )
        elif len(parts) > 1:
            found[text] = dict(zip(fields, parts, strict=True))
    return arguments, found


def _format_id(name: str, parts: Mapping[str, str]) -> str:
    """Return the column `name` of an id as SQL, a struct that is NULL if one of its parts is."""
    is_whole = " AND ".join(f"{quote_identifier(part)} IS NOT NULL" for part in parts.values())
    fields = ", ".join(f"{quote_literal(x)}: {quote_identifier(y)}" for x, y in parts.items())
    return f"CASE WHEN {is_whole} THEN {{{fields}}} END AS {quote_identifier(name)}"


def _id_column(name: str, parts: Mapping[str, str]) -> pl.Expr:
    """Return the column `name` of an id, as in _format_id."""
    fields = pl.struct(column_named(part).alias(field) for field, part in parts.items())
    is_whole = pl.all_horizontal(column_named(part).is_not_null() for part in parts.values())
    return pl.when(is_whole).then(fields).alias(name)


def list_columns(arguments: dict[str, Any], parameters: Iterable[str]) -> list[str]:
    """Return the input columns that the arguments for `parameters` refer to, without duplicates."""
    columns: dict[str, None] = {}
    for parameter in parameters:
        value = arguments.get(parameter) or ()
        columns |= dict.fromkeys([value] if isinstance(value, str) else value)
    return list(columns)


def _check_arguments(call: Call, columns: Sequence[str], table: Input) -> dict[str, Any]:
    """Return the arguments of a call, or raise the error of the Polars function on empty frames.

    The frame of `table` has the given columns, and those of other inputs have every column that is
    in the arguments. Therefore, any error is about `table`.
    """
    arguments = _read_arguments(call, columns)
    several = _split_names(arguments.get("cluster") or "", columns)
    if len(several) > 1 and {*several} <= {*columns}:
        raise ClusterEvalError(
            f"cluster: expected one column, got {len(several)}; clustereval compare --clusters "
            f"{','.join(several)} compares several clusterings"
        )
    frames: dict[str, Any] = {}
    arguments, ids = _resolve_ids(arguments, columns, table)
    for other in call.report.inputs:
        names = [*columns, *ids] if other is table else list_columns(arguments, other.columns)
        frames[other.parameter] = pl.LazyFrame(schema=dict.fromkeys(names, pl.Int64()))
    checked = {name: value for name, value in arguments.items() if name not in _DATA_DEPENDENT}
    if "reference" in arguments:
        checked["reference"] = 0
    call.report.function(**frames, **checked)
    return arguments


@contextmanager
def open_rows(
    source: Source, call: Call, table: Input
) -> Iterator[tuple[duckdb.DuckDBPyConnection, str, dict[str, Any]]]:
    """Yield a connection, the rows of the input `table`, and the checked arguments."""
    with open_source(source, call.scratch) as (connection, rows):
        yield connection, *_format_checked(connection, rows, source, call, table)


def _format_checked(
    connection: duckdb.DuckDBPyConnection, rows: str, source: Source, call: Call, table: Input
) -> tuple[str, dict[str, Any]]:
    """Return `rows` with their types adapted to the report, and the checked arguments."""
    arguments = _check_arguments(call, connection.sql(f"FROM {rows}").columns, table)
    return _format_input(connection, rows, source, arguments, table), arguments


def _format_input(
    connection: duckdb.DuckDBPyConnection,
    rows: str,
    source: Source,
    given: dict[str, Any],
    table: Input,
) -> str:
    """Return `rows` with types adapted to the arguments that name columns of `table`."""
    arguments = {name: value for name, value in given.items() if name in table.columns}
    relation = connection.sql(f"FROM {rows}")
    _, ids = _resolve_ids(given, relation.columns, table)
    vector = arguments.get("vector") or []
    for column in vector if len(vector) > 1 and source.kind not in ("csv", "json") else ():
        if _read_types(relation)[column] == "varchar":
            raise ClusterEvalError(
                f"vector: expected numbers, column '{column}' is text; leave it out"
            )
    numbers = list_columns(arguments, _NUMBER_COLUMNS)
    typed = list_columns(arguments, ("columns", "is_match"))
    if source.kind == "json":
        rows = format_rows(connection, source, numbers, typed)
        relation = connection.sql(f"FROM {rows}")
    text_vector = _find_text_vector(source, arguments, relation)
    if source.kind == "csv":
        numbers = [column for column in numbers if column != text_vector]
        rows = format_rows(connection, source, numbers, typed)
    if text_vector is not None:
        register_macro(connection, "parse_vector")
        name = quote_identifier(text_vector)
        rows = f"(SELECT * REPLACE (clustereval_parse_vector({name}) AS {name}) FROM {rows})"
    for name, parts in ids.items():
        rows = f"(SELECT *, {_format_id(name, parts)} FROM {rows})"
    return rows


def _find_text_vector(
    source: Source, arguments: dict[str, Any], relation: duckdb.DuckDBPyRelation
) -> str | None:
    """Return the text column of a report's vectors, or None.

    All columns of a CSV file are text, so the first value is checked for a sign of a vector. A
    comma is none, because it may be a decimal comma or a thousands separator.
    """
    columns: list[str] = arguments.get("vector") or []
    if len(columns) != 1 or _read_types(relation)[columns[0]] != "varchar":
        return None
    column = columns[0]
    if source.kind != "csv":
        return column
    name = quote_identifier(column)
    first = relation.filter(f"{name} IS NOT NULL").limit(1).select(name).fetchall()
    is_vector = any(_VECTOR_SIGN.search(text.strip()) for (text,) in first)
    return column if is_vector else None


def _read_types(relation: duckdb.DuckDBPyRelation) -> dict[str, str]:
    """Return the type of each column, such as varchar, without its parameters."""
    return {name: x.id for name, x in zip(relation.columns, relation.types, strict=True)}


_VECTOR_SIGN = re.compile(r"[\[\](){}\s:$]")


# ----------------------------------------------------------------------------------------------
# DuckDB
# ----------------------------------------------------------------------------------------------


def _run_in_duckdb(
    sources: Sequence[Source], call: Call, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return a report, computed with the SQL macro; see ENGINES."""
    report = call.report
    # DuckDB draws a bar on standard output if that is a terminal.
    begin_step(report.function.__name__, has_bar=sys.stdout.isatty())
    if len(sources) > 1:
        copied = zip(sources, report.inputs, strict=True)
        sources = [_copy_database(source, call, table) for source, table in copied]
    first = report.inputs[0].view
    with open_source(sources[0], _make_folder(call, report.inputs[0])) as (connection, rows):
        for source, table in zip(sources, report.inputs, strict=True):
            if source is not sources[0]:
                rows = format_source(connection, source, _make_folder(call, table))
            rows, arguments = _format_checked(connection, rows, source, call, table)
            connection.execute(f"CREATE TEMPORARY VIEW {table.view} AS FROM {rows}")
        register_macro(connection, report.function.__name__)
        if "missing" in report.defaults:
            connection.execute(_SHELL_ADVICE)
        query = _format_query(call, arguments, connection.sql(f"FROM {first}"))
        values = {
            name: value
            for name, value in arguments.items()
            if _is_value(report, name) and value != report.defaults[name]
        }
        if columns is not None:
            known = connection.sql(query, params=values).columns
            shown = _list_shown(columns, arguments, known)
            query = f"SELECT {', '.join(map(quote_identifier, shown))} FROM ({query})"
        # The query runs before Polars reads the result, so that errors are those of DuckDB.
        connection.execute(f"CREATE TEMPORARY TABLE clustereval_report AS {query}", values)
        return convert_to_polars(connection.sql("FROM clustereval_report"))


def _make_folder(call: Call, table: Input) -> Path:
    """Return a scratch folder for one input: two inputs may have files of the same name."""
    folder = call.scratch / table.view
    folder.mkdir(exist_ok=True)
    return folder


def _copy_database(source: Source, call: Call, table: Input) -> Source:
    """Return a source that can be read together with others: a Parquet file of a database."""
    if source.kind != "database":
        return source
    rows, _ = read_rows(source, call, table)
    path = _make_folder(call, table) / "table.parquet"
    rows.sink_parquet(path)
    return source._replace(kind="parquet", paths=(str(path),), path_names=(source.name,))


# The macro of sql/internal/point_faults.sql with advice for users of a shell, in place of SQL.
_SHELL_ADVICE = (
    "CREATE OR REPLACE TEMPORARY MACRO clustereval__finite_rows_advice(names, what) AS "
    f"CASE WHEN starts_with(what, 'NULL') THEN ': {write_setting(Setting('missing', 'drop'))}' "
    "ELSE '' END"
)


def _is_value(report: Report, parameter: str) -> bool:
    """Return whether a report's parameter expects a value, such as beta, rather than columns."""
    return all(parameter not in table.columns for table in report.inputs)


def _format_query(call: Call, arguments: dict[str, Any], relation: duckdb.DuckDBPyRelation) -> str:
    """Return the query of a report of the input `relation`, with values as its parameters."""
    # The struct partition_key becomes one column for each column of partition_by.
    columns = [
        f"partition_key[{quote_literal(key)}] AS {quote_identifier(key)}"
        for key in arguments["partition_by"] or ()
    ]
    columns.append("* EXCLUDE (partition_key)")
    macro = _format_call(call, arguments, relation, lambda name, _: f"${name}")
    return f"SELECT {', '.join(columns)} FROM clustereval_{macro}"


def _format_call(
    call: Call,
    arguments: dict[str, Any],
    relation: duckdb.DuckDBPyRelation,
    write_value: Callable[[str, Any], str],
) -> str:
    """Return the call to a report's macro on its views, without its schema and without defaults.

    `relation` is the input. `write_value` takes a parameter and its value, if that is no column.
    """
    report = call.report
    texts = {table.parameter: table.view for table in report.inputs} | {
        name: write_value(name, x)
        if _is_value(report, name)
        else _format_columns(name, x, relation)
        for name, x in arguments.items()
        if x != report.defaults[name]
    }
    required = [texts.pop(name) for name in report.positional]
    optional = [f"{_KEYWORDS.get(name, name)} := {text}" for name, text in texts.items()]
    return f"{report.function.__name__}({', '.join([*required, *optional])})"


#: Parameters that DuckDB before 2.0 reads only in quotes, because they are words of its grammar.
_KEYWORDS = {"between": '"between"'}


def _format_columns(parameter: str, value: Any, relation: duckdb.DuckDBPyRelation) -> str:
    """Return a macro argument that names columns of the input `relation`, as SQL."""
    if parameter not in _MULTIPLE_COLUMNS:
        return quote_identifier(value)
    if parameter == "partition_by":
        fields = (f"{quote_literal(key)}: {quote_identifier(key)}" for key in value)
        return f"{{{', '.join(fields)}}}"
    if parameter in ("clusters", "columns"):
        return f"[{', '.join(map(quote_identifier, value))}]"
    return _format_vector(value, relation)


def _format_vector(columns: list[str], relation: duckdb.DuckDBPyRelation) -> str:
    """Return the argument `vector` as SQL: one column of lists or a list of numeric columns."""
    types = _read_types(relation)
    non_numeric = [column for column in columns if types[column] not in _NUMERIC_TYPES]
    if columns == non_numeric[:1]:
        return quote_identifier(columns[0])
    # DuckDB rejects a list of mixed types with its own error. Therefore only the first column that
    # is not numeric is passed in a list, which the macro rejects with the common error text.
    return f"[{', '.join(map(quote_identifier, non_numeric[:1] or columns))}]"


def read_arguments(source: Source, call: Call) -> dict[str, Any]:
    """Return the checked arguments of a report with one input."""
    with open_rows(source, call, call.report.inputs[0]) as (_, _, arguments):
        return arguments


def select_groups(source: Source, call: Call, parts: pl.DataFrame, folder: Path) -> Source:
    """Return a Parquet file in `folder` with only the rows of the groups in `parts`.

    `parts` has one row per group, with the values of the columns that define the groups.
    """
    path = folder / "parts.parquet"
    with open_rows(source, call, call.report.inputs[0]) as (connection, rows, _):
        names = [quote_identifier(name) for name in parts.columns]
        alike = " AND ".join(f"own.{name} IS NOT DISTINCT FROM part.{name}" for name in names)
        connection.register("clustereval_shown", parts.to_arrow())
        relation = connection.sql(
            f"SELECT own.* FROM (FROM {rows}) AS own SEMI JOIN clustereval_shown AS part ON {alike}"
        )
        if source.kind == "database":  # it has no access to other files
            convert_to_polars(relation).write_parquet(path)
        else:
            relation.write_parquet(str(path))
    return Source("parquet", (str(path),), source.name, (source.name,))


def write_queries(source: Source, calls: Sequence[Call]) -> list[str]:
    """Return SQL queries that define the input and compute the table of each call, for a client.

    The arguments of the calls must already have been checked by an engine.
    """
    queries: list[str] = []
    view = ""
    with open_source(source, calls[0].scratch) as (connection, any_rows):
        columns = connection.sql(f"FROM {any_rows}").columns
        for call in calls:
            arguments = _read_arguments(call, columns)
            rows = _format_input(connection, any_rows, source, arguments, call.report.inputs[0])
            input_rows = rows.replace("clustereval_parse_vector(", "clustereval.parse_vector(")
            previous = view
            view = f"CREATE OR REPLACE TEMP VIEW clustereval_input AS\nFROM {input_rows};"
            if view != previous:  # columns of a CSV file are numbers for points only
                queries.append(view)
            relation = connection.sql(f"FROM {rows}")
            macro = _format_call(call, arguments, relation, lambda _, x: _format_literal(x))
            queries.append(f"FROM clustereval.{macro};")
    return queries


def _format_literal(value: Any) -> str:
    """Return an option's value as an SQL literal."""
    if isinstance(value, str):
        return quote_literal(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_literal, value))}]"
    return (
        "NULL" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    )


_NUMERIC_TYPES = {
    *("tinyint", "smallint", "integer", "bigint", "hugeint"),
    *("utinyint", "usmallint", "uinteger", "ubigint", "uhugeint"),
    *("float", "double", "decimal"),
}


# ----------------------------------------------------------------------------------------------
# Polars
# ----------------------------------------------------------------------------------------------


def _run_in_polars(
    sources: Sequence[Source], call: Call, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Return a report, computed with the Polars function; see ENGINES."""
    begin_step(call.report.function.__name__)
    frames: dict[str, pl.LazyFrame] = {}
    arguments: dict[str, Any] = {}
    for source, table in zip(sources, call.report.inputs, strict=True):
        frames[table.parameter], arguments = read_rows(source, call, table)
    result = call.report.function(**frames, **arguments)
    if columns is not None:
        known = result.collect_schema().names()
        result = result.select(_list_shown(columns, arguments, known))
    return result.collect(engine="streaming")


def read_rows(source: Source, call: Call, table: Input) -> tuple[pl.LazyFrame, dict[str, Any]]:
    """Return the rows of a report's input `table`, and the arguments of its Polars function."""
    rows = scan_files(source)
    if rows is None:
        # DuckDB reads text files for both engines, which would interpret some values differently.
        with open_rows(source, call, table) as (connection, sql, arguments):
            relation = connection.sql(f"FROM {sql}")
            used = list_columns(arguments, table.columns)
            optional = list_columns(arguments, table.optional)
            used += [name for name in optional if name in relation.columns]
            relation = relation.select(*map(quote_identifier, used))
            rows = convert_to_polars(relation).lazy()
    else:
        columns = rows.collect_schema().names()
        given = _read_arguments(call, columns)
        arguments, ids = _resolve_ids(given, columns, table)
        if arguments != given:
            _check_arguments(call, columns, table)  # raises the error of the unknown column
        rows = rows.with_columns(_id_column(name, parts) for name, parts in ids.items())
    schema = rows.collect_schema()
    arguments = _read_arguments(call, schema.names())
    vector: list[str] = arguments.get("vector") or []
    if [schema.get(column) for column in vector] == [pl.String]:
        rows = rows.with_columns(parse_vector(vector[0]))
    return rows, arguments


class _ArrowStream:
    """A DuckDB relation for Polars, which keeps the types of what it gets until the process ends.

    If DuckDB's own types were among them, DuckDB would report them as leaks on standard error.
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation) -> None:
        self.relation = relation

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.relation.__arrow_c_stream__(requested_schema)


def convert_to_polars(relation: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return the rows of a DuckDB relation as a DataFrame, transferred as an Arrow stream."""
    return pl.DataFrame(_ArrowStream(relation))


def _list_shown(
    columns: Sequence[str], arguments: dict[str, Any], known: Sequence[str]
) -> list[str]:
    """Return the partition columns and the requested columns, which must be among the others."""
    keys = arguments["partition_by"] or []
    return [*keys, *check_metrics(columns, known[len(keys) :])]


#: By name, a function that computes a report from its sources and its call. Its third argument
#: lists the columns to return in addition to the partition columns; by default, all are returned.
ENGINES: dict[str, Callable[..., pl.DataFrame]] = {
    "duckdb": _run_in_duckdb,
    "polars": _run_in_polars,
}
