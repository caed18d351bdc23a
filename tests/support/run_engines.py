"""One way to call the tables of runs and resamples on every engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support import registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from tests.support.engines import Engine, Row

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
    return engine.call(function, frame, *columns.values(), **arguments)


def call_pair(
    engine: Engine,
    function: str,
    before: pl.DataFrame,
    after: pl.DataFrame,
    columns: tuple[str, str] = ("id", "cluster"),
    **arguments: Any,
) -> list[Row]:
    """The rows of a table macro or frame function of two runs."""
    return engine.call(function, before, after, *columns, **arguments)


def call_covers(
    engine: Engine,
    labels: pl.DataFrame,
    clusters: pl.DataFrame,
    columns: tuple[str, str, str] = ("id", "label", "cluster"),
    **arguments: Any,
) -> list[Row]:
    """The rows of overlapping_report."""
    return engine.call("overlapping_report", labels, clusters, *columns, **arguments)
