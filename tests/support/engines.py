"""One way to call every engine: a Polars frame in, rows (dicts) out.

Differences between the wings that are no difference in results end here: SQL's `partition_key` is
given back under the names of the partition columns.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import duckdb

import polars_clustereval as ce
from tests.support.oracle import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

Row = dict[str, Any]

# The parameters of the metrics that have any.
PARAMETERS = {
    "pair_f_score": ("beta",),
    "v_measure_score": ("beta",),
    "bcubed_f_score": ("beta",),
    "normalized_mutual_info_score": ("average_method",),
    "adjusted_mutual_info_score": ("average_method",),
}


def parameters_of(metric: str, given: dict[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in PARAMETERS.get(metric, ()) if name in given}


class Engine(Protocol):
    name: str

    def table(
        self,
        function: str,
        frame: pl.DataFrame,
        label: str = "label",
        cluster: str = "cluster",
        **arguments: Any,
    ) -> list[Row]:
        """The rows of a table macro or frame function."""

    def scalars(
        self,
        frame: pl.DataFrame,
        label: str = "label",
        cluster: str = "cluster",
        *,
        metrics: Sequence[str] = METRICS,
        by: str | None = None,
        **arguments: Any,
    ) -> list[Row]:
        """Aggregate macros or expressions: one row, or one for each value of `by`, in order."""


def report(engine: Engine, frame: pl.DataFrame, **arguments: Any) -> list[Row]:
    return engine.table("external_report", frame, **arguments)


def scalar(engine: Engine, metric: str, frame: pl.DataFrame, **arguments: Any) -> Any:
    return engine.scalars(frame, metrics=[metric], **arguments)[0][metric]


class Polars:
    def __init__(self, *, streaming: bool) -> None:
        self.streaming = streaming
        self.name = "polars-streaming" if streaming else "polars"

    def table(
        self,
        function: str,
        frame: pl.DataFrame,
        label: str = "label",
        cluster: str = "cluster",
        **arguments: Any,
    ) -> list[Row]:
        call = getattr(ce, function)
        if not self.streaming:
            return list(call(frame, label, cluster, **arguments).iter_rows(named=True))
        lazy = call(frame.lazy(), label, cluster, **arguments)
        return list(lazy.collect(engine="streaming").iter_rows(named=True))

    def scalars(
        self,
        frame: pl.DataFrame,
        label: str = "label",
        cluster: str = "cluster",
        *,
        metrics: Sequence[str] = METRICS,
        by: str | None = None,
        **arguments: Any,
    ) -> list[Row]:
        expressions = [
            getattr(ce, metric)(label, cluster, **parameters_of(metric, arguments))
            for metric in metrics
        ]
        lazy = frame.lazy()
        if by is None:
            lazy = lazy.select(expressions)
        else:
            lazy = lazy.group_by(by).agg(expressions).sort(by)
        result = lazy.collect(engine="streaming" if self.streaming else "in-memory")
        return list(result.iter_rows(named=True))


class DuckDB:
    name = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 2})
        ce.register(self.connection)

    def table(
        self,
        function: str,
        frame: pl.DataFrame,
        label: str = "label",
        cluster: str = "cluster",
        **arguments: Any,
    ) -> list[Row]:
        keys = arguments.get("partition_by") or []
        keys = [keys] if isinstance(keys, str) else list(keys)
        call = call_sql(function, label, cluster, arguments, keys)
        return [with_keys(row, keys) for row in self.rows(f"FROM {call}", frame)]

    def scalars(
        self,
        frame: pl.DataFrame,
        label: str = "label",
        cluster: str = "cluster",
        *,
        metrics: Sequence[str] = METRICS,
        by: str | None = None,
        **arguments: Any,
    ) -> list[Row]:
        calls = [
            f"clustereval.{metric}({quoted(label)}, {quoted(cluster)}"
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
        self.connection.register("assignments", frame)
        try:
            return fetched(self.connection, query)
        finally:
            self.connection.unregister("assignments")


def fetched(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    result = connection.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


COLUMN_ARGUMENTS = ("weight", "id")


def call_sql(
    function: str, label: str, cluster: str, arguments: dict[str, Any], keys: list[str]
) -> str:
    parts = ["assignments", quoted(label), quoted(cluster)]
    for name, value in arguments.items():
        if value is None:
            continue
        if name == "partition_by":
            fields = ", ".join(f"{quoted(key)}: {quoted(key)}" for key in keys)
            text = quoted(keys[0]) if len(keys) == 1 else f"{{{fields}}}"
        else:
            text = quoted(value) if name in COLUMN_ARGUMENTS else literal(value)
        parts.append(f"{name} := {text}")
    return f"clustereval.{function}({', '.join(parts)})"


def with_keys(row: Row, keys: list[str]) -> Row:
    key = row.pop("partition_key")
    if not keys:
        assert key is None
        return row
    return (key if len(keys) > 1 else {keys[0]: key}) | row


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


ENGINES = ("duckdb", "polars", "polars-streaming")


@cache
def make(name: str) -> Engine:
    if name == "duckdb":
        return DuckDB()
    return Polars(streaming=name == "polars-streaming")
