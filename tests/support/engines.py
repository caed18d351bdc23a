"""One interface to every engine: a Polars frame in, rows (dicts) out.

SQL's `partition_key` is renamed to the names of the partition columns, which the Polars side uses.
"""

from __future__ import annotations

import math
import re
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import polars as pl
import polars.selectors as cs
import pytest

import polars_clustereval as ce
from tests.support import registry, replay
from tests.support.oracle import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.support.replay import PolarsEngine

Row = dict[str, Any]

#: The tables of labels that take weights; those with a row for each record take none.
TABLES = registry.tables("labels")

# The parameters of the metrics that have any.
PARAMETERS = {
    "pair_f_score": ("beta",),
    "v_measure_score": ("beta",),
    "bcubed_f_score": ("beta",),
    "closest_cluster_f_score": ("beta",),
    "muc_f_score": ("beta",),
    "lea_f_score": ("beta",),
    "blanc_f_score": ("beta",),
    "generalized_merge_distance": ("split_cost", "merge_cost"),
    "normalized_mutual_info_score": ("average_method",),
    "adjusted_mutual_info_score": ("average_method",),
}


def parameters_of(metric: str, given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in PARAMETERS.get(metric, ()) if name in given}


class Expression(NamedTuple):
    """An SQL expression in place of a column name."""

    sql: str


# A column name; or an expression: an Expression in SQL, a Polars expression in Polars.
Column = str | Expression | pl.Expr


def report(engine: Engine, frame: pl.DataFrame, **arguments: Any) -> list[Row]:
    return engine.table("external_report", frame, **arguments)


def reports(
    engine: Engine, labelings: Sequence[Sequence[tuple[Any, ...]]], *more: str, **arguments: Any
) -> dict[int, Row]:
    """One report for each labeling in a single call: number of the labeling -> its row.

    A labeling without any row that counts has no report.
    """
    frame = stacked(labelings, *more)
    rows = {row.pop("run"): row for row in report(engine, frame, partition_by="run", **arguments)}
    assert list(rows) == sorted(rows)
    return rows


def frame_of(rows: Iterable[tuple[Any, ...]], *more: str) -> pl.DataFrame:
    """Rows of label, cluster and the columns `more`, all of them whole numbers."""
    names = ("label", "cluster", *more)
    return pl.DataFrame(list(rows), schema=dict.fromkeys(names, pl.Int64), orient="row")


def stacked(labelings: Sequence[Iterable[tuple[Any, ...]]], *more: str) -> pl.DataFrame:
    """The rows of many labelings, numbered by `run`."""
    rows = ((*row, run) for run, labeling in enumerate(labelings) for row in labeling)
    return frame_of(rows, *more, "run")


class Polars:
    """The frame functions and expressions, in memory or on the streaming engine."""

    def __init__(self, *, streaming: bool) -> None:
        self.streaming = streaming
        self.name = "polars-streaming" if streaming else "polars"

    def table(
        self,
        function: str,
        frame: pl.DataFrame,
        label: Column = "label",
        cluster: Column = "cluster",
        **arguments: Any,
    ) -> list[Row]:
        """The rows of a frame function of labels and clusters."""
        return self.call(function, frame, label, cluster, **arguments)

    def call(self, function: str, *given: Any, **arguments: Any) -> list[Row]:
        """The rows of a frame function, whose frames are lazy for the streaming engine."""
        ask = getattr(ce, function)

        def collect(engine: PolarsEngine) -> list[Row]:
            lazy = ask(*map(to_lazy, given), **{x: to_lazy(y) for x, y in arguments.items()})
            return collect_rows(lazy, engine)

        if self.streaming:
            return collect("streaming")
        rows = list(ask(*given, **arguments).iter_rows(named=True))
        replay.repeat(function, rows, collect)
        return rows

    def listed(self, names: Sequence[str]) -> Column:
        """Several columns as one column of lists."""
        return pl.concat_list([cs.by_name(name) for name in names])

    def scalars(
        self,
        frame: pl.DataFrame,
        label: Column = "label",
        cluster: Column = "cluster",
        *,
        metrics: Sequence[str] = METRICS,
        by: str | None = None,
        **arguments: Any,
    ) -> list[Row]:
        """Expressions: one row, or one for each value of `by`, in order."""
        expressions = [
            getattr(ce, metric)(label, cluster, **parameters_of(metric, arguments))
            for metric in metrics
        ]
        lazy = frame.lazy()
        if by is None:
            lazy = lazy.select(expressions)
        else:
            lazy = lazy.group_by(by).agg(expressions).sort(by)
        if self.streaming:
            return collect_rows(lazy, "streaming")
        rows = collect_rows(lazy, "in-memory")
        replay.repeat("expressions", rows, lambda engine: collect_rows(lazy, engine))
        return rows


def to_lazy(given: Any) -> Any:
    return given.lazy() if isinstance(given, pl.DataFrame) else given


def collect_rows(lazy: pl.LazyFrame, engine: PolarsEngine) -> list[Row]:
    return list(lazy.collect(engine=engine).iter_rows(named=True))


class DuckDB:
    """The macros; the frame is the table `assignments`."""

    name = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 2})
        ce.register(self.connection)
        self.planned: set[str] = set()

    @cached_property
    def unoptimized(self) -> duckdb.DuckDBPyConnection:
        """A connection for calls on few rows, whose plans cost more than the rows."""
        connection = duckdb.connect(config={"threads": 1})
        ce.register(connection)
        connection.execute("PRAGMA disable_optimizer")
        return connection

    def connection_for(self, query: str, rows: int) -> duckdb.DuckDBPyConnection:
        """The connection of a query: the first of a macro with its options runs as a user's does.

        So do queries of many rows. The others need not be optimized: test_session_settings has
        every call with and without the optimizer, and with one thread.
        """
        key = " ".join(CALLED.findall(query))
        few = FEW_ROWS_IN_PAIRS if "pairwise_report" in key else FEW_ROWS
        if rows > few or key not in self.planned:
            self.planned.add(key)
            return self.connection
        return self.unoptimized

    def table(
        self,
        function: str,
        frame: pl.DataFrame,
        label: Column = "label",
        cluster: Column = "cluster",
        **arguments: Any,
    ) -> list[Row]:
        """The rows of a table macro of labels and clusters."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return self.call(function, frame, label, cluster, **given)

    def call(self, function: str, *given: Any, **arguments: Any) -> list[Row]:
        """The rows of a table macro, as Polars.call has them."""
        frames: dict[str, pl.DataFrame] = {}
        query = f"FROM {call_sql(function, given, arguments, frames)}"
        keys = keys_of(arguments)
        return [with_keys(row, keys) for row in self.ask(query, **frames)]

    def listed(self, names: Sequence[str]) -> Column:
        # A list itself would be taken for several clusterings.
        return Expression(f"list_concat({column_sql(list(names))}, [])")

    def scalars(
        self,
        frame: pl.DataFrame,
        label: Column = "label",
        cluster: Column = "cluster",
        *,
        metrics: Sequence[str] = METRICS,
        by: str | None = None,
        **arguments: Any,
    ) -> list[Row]:
        calls = [
            f"clustereval.{metric}({column_sql(label)}, {column_sql(cluster)}"
            + "".join(
                f", {name} := {literal(value)}"
                for name, value in parameters_of(metric, arguments).items()
            )
            + f") AS {metric}"
            for metric in metrics
        ]
        if by is None:
            return self.rows(f"SELECT {', '.join(calls)} FROM assignments", frame)
        columns = ", ".join([quoted(by), *calls])
        return self.rows(
            f"SELECT {columns} FROM assignments GROUP BY {quoted(by)} "
            f"ORDER BY {quoted(by)} NULLS FIRST",
            frame,
        )

    def rows(self, query: str, frame: pl.DataFrame) -> list[Row]:
        """The rows of a query of the table `assignments`."""
        return self.ask(query, assignments=frame)

    def ask(self, query: str, **frames: pl.DataFrame) -> list[Row]:
        """The rows of a query of tables by their names."""
        connection = self.connection_for(query, sum(frame.height for frame in frames.values()))
        for name, frame in frames.items():
            connection.register(name, frame)
        try:
            return fetched(connection, query)
        finally:
            for name in frames:
                connection.unregister(name)


def fetched(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    result = connection.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def by_value(rows: Sequence[Row], column: str) -> dict[Any, list[Row]]:
    """The rows by the value of a column, and without it."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        others = {name: value for name, value in row.items() if name != column}
        found.setdefault(row[column], []).append(others)
    return found


#: The macros of a query and the options given to them.
CALLED = re.compile(r"clustereval\.\w+|\w+(?= :=)")
#: Rows up to which a call costs its plan.
FEW_ROWS = 1000
#: The same for pairwise_report, where the optimizer keeps pairs of pairs from being joined.
FEW_ROWS_IN_PAIRS = 60
COLUMN_ARGUMENTS = (
    *("weight", "id", "run", "reference_set"),
    *("pair_left", "pair_right", "is_match", "pair_weight"),
)


def call_sql(
    function: str,
    given: Sequence[Any],
    arguments: Mapping[str, Any],
    frames: dict[str, pl.DataFrame],
) -> str:
    """A call of a macro; its frames are added to `frames` by the names of their tables."""
    keys = keys_of(arguments)

    def text(value: Any, *, is_column: bool) -> str:
        if not isinstance(value, pl.DataFrame):
            is_named = is_column and value is not None
            return column_sql(value) if is_named else literal(value)
        name = f"table_{len(frames)}" if frames else "assignments"
        is_centers = frames and function in registry.tables("centers")
        frames[name] = value.rename(dict.fromkeys(keys, "partition_key") if is_centers else {})
        return name

    parts = [text(value, is_column=True) for value in given]
    for name, value in arguments.items():
        if name != "partition_by":
            is_column = name in COLUMN_ARGUMENTS and value is not None
            parts.append(f"{name} := {text(value, is_column=is_column)}")
        elif keys:
            fields = ", ".join(f"{quoted(key)}: {quoted(key)}" for key in keys)
            parts.append(f"{name} := {quoted(keys[0]) if len(keys) == 1 else f'{{{fields}}}'}")
    return f"clustereval.{function}({', '.join(parts)})"


def keys_of(arguments: Mapping[str, Any]) -> list[str]:
    keys = arguments.get("partition_by") or []
    return [keys] if isinstance(keys, str) else list(keys)


def with_keys(row: Row, keys: list[str]) -> Row:
    key = row.pop("partition_key")
    if not keys:
        assert key is None
        return row
    return (key if len(keys) > 1 else {keys[0]: key}) | row


def column_sql(column: Column | list[str]) -> str:
    """A column, or several as a vector."""
    if isinstance(column, list):
        return f"[{', '.join(map(quoted, column))}]"
    assert isinstance(column, str | Expression)
    return column.sql if isinstance(column, Expression) else quoted(column)


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def literal(value: object) -> str:
    if isinstance(value, Expression):
        return value.sql
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f"'{value}'::DOUBLE"
    return "NULL" if value is None else repr(value)


SIDES = ("duckdb", "polars")
#: The side polars repeats a part of its calls on LazyFrames; polars-streaming has nothing else.
ENGINES = (*SIDES, "polars-streaming")


Engine = DuckDB | Polars


@cache
def make(name: str) -> Engine:
    if name == "duckdb":
        return DuckDB()
    return Polars(streaming=name == "polars-streaming")


POLARS_TYPES = {
    "BIGINT": "Int64",
    "BIGINT[1]": "Array(Int64, shape=(1,))",
    "BIGINT[]": "List(Int64)",
    "BOOLEAN": "Boolean",
    "BOOLEAN[]": "List(Boolean)",
    "DOUBLE": "Float64",
    '"NULL"': "Null",
    '"NULL"[]': "List(Null)",
    "UTINYINT": "UInt8",
    "VARCHAR": "String",
    "VARCHAR[]": "List(String)",
}
SQL_TYPE = re.compile("|".join(map(re.escape, sorted(POLARS_TYPES, reverse=True))))


def words_of(engine_name: str, words: str) -> str:
    """Words of an error, with types and settings as this engine has them; given as in DuckDB."""
    if engine_name == "duckdb":
        return words
    words = words.replace("adjusted := false", "adjusted=False")
    return SQL_TYPE.sub(lambda found: POLARS_TYPES[found[0]], words)


def fails(engine: Engine, words: str) -> Any:
    """The error of this side, with these words in it; types are given as DuckDB names them."""
    error = duckdb.Error if isinstance(engine, DuckDB) else ce.ClusterEvalError
    return pytest.raises(error, match=re.escape(words_of(engine.name, words)))
