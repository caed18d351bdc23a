"""One way to call the tables of relative/choosing_k and relative/gap on every engine.

Columns are given by name, a vector as the name of one column or a list of several; further frames
are given as frames.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from tests.support.engines import COLUMN_ARGUMENTS, DuckDB, Engine, Row, quoted, with_keys
from tests.support.point_engines import keys_of, value_sql, vector_sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parent.parent.parent
FLOWER = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def call_sweep(
    engine: Engine, function: str, frame: pl.DataFrame, *given: Any, **arguments: Any
) -> list[Row]:
    """The rows of a table macro or frame function."""
    if isinstance(engine, DuckDB):
        return _call_sql(engine, function, frame, given, arguments)
    return engine.call(function, frame, *given, **arguments)


def _call_sql(
    engine: DuckDB,
    function: str,
    frame: pl.DataFrame,
    given: Sequence[Any],
    arguments: Mapping[str, Any],
) -> list[Row]:
    keys = keys_of(arguments)
    others: dict[str, pl.DataFrame] = {}

    def text(value: Any, *, is_column: bool) -> str:
        if isinstance(value, pl.DataFrame):
            others[f"other_{len(others)}"] = value
            return f"other_{len(others) - 1}"
        return vector_sql(value) if is_column else value_sql(value)

    parts = ["swept", *(text(value, is_column=True) for value in given)]
    for name, value in arguments.items():
        if name == "partition_by":
            fields = ", ".join(f"{quoted(key)}: {quoted(key)}" for key in keys)
            if keys:
                parts.append(f"{name} := {quoted(keys[0]) if len(keys) == 1 else f'{{{fields}}}'}")
        elif name in (*COLUMN_ARGUMENTS, "reference_set"):
            parts.append(f"{name} := {quoted(value)}")
        else:
            parts.append(f"{name} := {text(value, is_column=False)}")
    query = f"FROM clustereval.{function}({', '.join(parts)})"
    return [with_keys(row, keys) for row in engine.ask(query, swept=frame, **others)]


def curves_frame(curves: Sequence[Mapping[int, float]]) -> pl.DataFrame:
    """Points whose ssw is the value of each curve at each k, the number of the curve as `curve`.

    Each k has two points of one cluster, at a and -a, whose ssw is 2 a^2.
    """
    rows = [
        (number, k, 0, sign * math.sqrt(ssw / 2))
        for number, curve in enumerate(curves)
        for k, ssw in curve.items()
        for sign in (1.0, -1.0)
    ]
    return pl.DataFrame(rows, schema=["curve", "k", "cluster", "x"], orient="row")


def by_curve(rows: Sequence[Row], curve: str = "curve") -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[curve], []).append(row)
    return found


def iris_sweep() -> pl.DataFrame:
    """Iris once for each k of iris_sweep.csv: id, the four measures, k and cluster.

    The labels are those of sklearn.cluster.KMeans(k, n_init=50, random_state=0) of scikit-learn
    1.9.1; for k = 7 with n_init=1, the local minimum whose inertia is published.
    """
    flowers = pl.read_parquet(ROOT / "examples" / "iris.parquet").select("id", *FLOWER)
    labels = pl.read_csv(ROOT / "tests" / "support" / "data" / "iris_sweep.csv")
    return pl.concat(
        flowers.with_columns(k=pl.lit(int(name[1:]), pl.Int64), cluster=labels[name])
        for name in labels.columns
    )
