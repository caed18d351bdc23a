"""One way to call the tables of runs and resamples on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support import registry
from tests.support.engines import (
    COLUMN_ARGUMENTS,
    DuckDB,
    Engine,
    Row,
    literal,
    quoted,
    with_keys,
)
from tests.support.point_engines import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

REQUIRED = {
    "run_agreement": ("id", "run", "cluster"),
    "run_consensus": ("id", "run", "cluster"),
    "cluster_stability": ("id", "run", "cluster"),
    "prediction_strength": ("label", "cluster"),
    "bootstrap_instability": ("cluster_1", "cluster_2", "resample"),
}
#: Tables of two runs.
PAIR_TABLES = registry.tables("two runs")
RUN_TABLES = registry.tables("runs", "runs and one of them")


def some_of(values: Iterable[str], shown: tuple[str, ...]) -> list[Any]:
    """All values as parameters; those that are not shown are of the wide tier."""
    marks = {value: () if value in shown else (pytest.mark.wide,) for value in values}
    return [pytest.param(value, marks=marks[value]) for value in values]


def call_runs(engine: Engine, function: str, frame: pl.DataFrame, **arguments: Any) -> list[Row]:
    """The rows of a table macro or frame function; required columns go by the parameter's name."""
    columns = {name: arguments.pop(name, name) for name in REQUIRED[function]}
    if function == "cluster_stability":
        arguments.setdefault("reference", 1)
    if isinstance(engine, DuckDB):
        keys = keys_of(arguments)
        query = f"FROM {run_call_sql(function, columns, arguments, keys)}"
        return [with_keys(row, keys) for row in engine.rows(query, frame)]
    return engine.call(function, frame, **columns, **arguments)


def run_call_sql(
    function: str, columns: dict[str, str], arguments: dict[str, Any], keys: list[str]
) -> str:
    parts = ["assignments", *map(quoted, columns.values())]
    for name, value in arguments.items():
        if name != "partition_by":
            shown = quoted(value) if name in COLUMN_ARGUMENTS and value else literal(value)
            parts.append(f"{name} := {shown}")
        elif keys:
            fields = ", ".join(f"{quoted(key)}: {quoted(key)}" for key in keys)
            parts.append(f"{name} := {quoted(keys[0]) if len(keys) == 1 else f'{{{fields}}}'}")
    return f"clustereval.{function}({', '.join(parts)})"


def call_pair(
    engine: Engine,
    function: str,
    before: pl.DataFrame,
    after: pl.DataFrame,
    columns: tuple[str, str] = ("id", "cluster"),
    **arguments: Any,
) -> list[Row]:
    """The rows of a table macro or frame function of two runs."""
    if isinstance(engine, DuckDB):
        keys = keys_of(arguments)
        named = dict(zip(("id", "cluster"), columns, strict=True))
        query = run_call_sql(function, named, arguments, keys).replace(
            "assignments", "earlier, later"
        )
        rows = engine.ask(f"FROM {query}", earlier=before, later=after)
        return [with_keys(row, keys) for row in rows]
    return engine.call(function, before, after, *columns, **arguments)


def call_covers(
    engine: Engine,
    labels: pl.DataFrame,
    clusters: pl.DataFrame,
    columns: tuple[str, str, str] = ("id", "label", "cluster"),
    **arguments: Any,
) -> list[Row]:
    """The rows of overlapping_report."""
    if isinstance(engine, DuckDB):
        keys = keys_of(arguments)
        named = dict(zip(("id", "label", "cluster"), columns, strict=True))
        query = run_call_sql("overlapping_report", named, arguments, keys)
        query = query.replace("assignments", "topics, communities")
        rows = engine.ask(f"FROM {query}", topics=labels, communities=clusters)
        return [with_keys(row, keys) for row in rows]
    return engine.call("overlapping_report", labels, clusters, *columns, **arguments)
