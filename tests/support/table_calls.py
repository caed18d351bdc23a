"""One way to call every table on every engine, on rows whose keys have any type."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import polars as pl

import polars_clustereval as ce
from tests.support import registry
from tests.support.engines import (
    DuckDB,
    Engine,
    Row,
    column_sql,
    fetched,
    literal,
    quoted,
    with_keys,
)

if TYPE_CHECKING:
    from tests.support.key_types import KeyType

#: Columns that are keys, values of any type that groups: codes at first.
KEYS = ("id", "label", "cluster", "run", "fold", "left", "right", "reference_set")
VECTOR = ["x", "y"]


class Given(NamedTuple):
    """A value of the type of the keys, given by its code."""

    code: int


class TableCall(NamedTuple):
    """A call of a table: its frames and columns in their order, and the columns of partitions."""

    table: str
    arguments: tuple[Any, ...]
    partition_by: str = "run"

    def outcome(self, engine: Engine, key_type: KeyType) -> list[Row] | str:
        """The rows, or the text of the project's own error; other errors are raised."""
        try:
            rows = (
                self._sql(engine, key_type)
                if isinstance(engine, DuckDB)
                else self._polars(engine, key_type)
            )
        except ce.ClusterEvalError as error:
            return str(error)
        except duckdb.InvalidInputException as error:
            return str(error).removeprefix("Invalid Input Error: ").split("\n")[0]
        return [{name: comparable(value) for name, value in row.items()} for row in rows]

    def _polars(self, engine: Engine, key_type: KeyType) -> list[Row]:
        given = [self._typed(argument, key_type) for argument in self.arguments]
        given = [value[0] if isinstance(value, pl.Series) else value for value in given]
        return engine.call(self.table, *given, partition_by=self.partition_by)

    def _sql(self, engine: DuckDB, key_type: KeyType) -> list[Row]:
        frames: dict[str, pl.DataFrame] = {}
        parts = []
        for argument in self.arguments:
            if isinstance(argument, pl.DataFrame):
                name = f"frame_{len(frames)}"
                frames[name] = with_sql_keys(
                    self.table, len(frames), self._typed(argument, key_type), self.partition_by
                )
                parts.append(name)
            elif isinstance(argument, Given):
                # A variable has the very type of the column.
                frames["given"] = pl.DataFrame({"value": self._typed(argument, key_type)})
                parts.append("getvariable('given')")
            else:
                parts.append(column_sql(argument))
        parts.append(f"partition_by := {quoted(self.partition_by)}")
        rows = ask_as_a_user(engine, f"FROM clustereval.{self.table}({', '.join(parts)})", frames)
        if self.table in registry.tables("nominal values"):
            return rows
        return [with_keys(row, [self.partition_by]) for row in rows]

    def _typed(self, argument: Any, key_type: KeyType) -> Any:
        if isinstance(argument, pl.DataFrame):
            return argument.with_columns(
                key_type.column(argument[name]) for name in argument.columns if name in KEYS
            )
        if isinstance(argument, Given):
            return key_type.column(pl.Series([argument.code]))
        return argument


def ask_as_a_user(engine: DuckDB, query: str, frames: dict[str, pl.DataFrame]) -> list[Row]:
    """The rows of a query, as a user's connection plans it.

    Without the optimizer DuckDB 2.0 fails in a LEFT JOIN whose right side has an array.
    """
    with engine.connection.cursor() as cursor:
        for name, frame in frames.items():
            cursor.register("rows", frame)
            columns = ", ".join(column_as_sql(*item) for item in frame.schema.items())
            cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {columns} FROM rows")
            cursor.unregister("rows")
        if "given" in frames:
            cursor.execute("SET VARIABLE given = (SELECT value FROM given)")
        return fetched(cursor, query)


def column_as_sql(name: str, dtype: pl.DataType) -> str:
    """The column of a frame in SQL, where an enum comes as text."""
    if isinstance(dtype, pl.Enum):
        values = ", ".join(map(literal, dtype.categories))
        return f"CAST({quoted(name)} AS ENUM ({values})) AS {quoted(name)}"
    return quoted(name)


def with_sql_keys(table: str, position: int, frame: pl.DataFrame, key: str) -> pl.DataFrame:
    """The frame, with partition_key for the partitions where a macro looks for that name."""
    is_centers = table in registry.tables("centers") and position == 1
    return frame.rename({key: "partition_key"}) if is_centers else frame


def comparable(value: Any) -> Any:
    """A value that equals itself, whatever engine it is from: NaN and -0.0 inside lists, too."""
    if isinstance(value, list | tuple):
        return [comparable(part) for part in value]
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items()}
    if isinstance(value, float):
        return value + 0.0 if math.isfinite(value) else str(value)
    return value


def rows_of_codes(n_values: int) -> pl.DataFrame:
    """Rows whose keys are codes below `n_values`, with NULLs; each run has the same ids."""
    rows = [(run, i) for run in range(3) for i in range(8)]
    frame = pl.DataFrame(
        {
            "id": [i for _, i in rows],
            "run": [run for run, _ in rows],
            "label": [[0, 0, 1, 1, 2, 2, 3, None, 1][(i * i + run) % 9] for run, i in rows],
            "cluster": [[0, 1, 1, 2, 2, None, 3][(i + 3 * run) % 7] for run, i in rows],
            "fold": [i % 2 for _, i in rows],
            "x": [(i * 5 % 7) / 2 for _, i in rows],
            "y": [(i * 3 % 8 + run) / 4 for run, i in rows],
            "k": [2 + run for run, _ in rows],
            "place": [1 + i % 2 for _, i in rows],
        }
    )
    codes = [pl.col(name) % n_values for name in ("run", "label", "cluster", "fold")]
    is_own = (pl.col("id") < n_values) & (pl.col("run") < n_values)
    return frame.filter(is_own).with_columns(codes)


def edges_of_codes(n_values: int) -> pl.DataFrame:
    edges = [(run, a, (a * a + 1) % 8) for run in range(3) for a in range(8)]
    frame = pl.DataFrame(edges, schema=["run", "left", "right"], orient="row")
    return frame.filter(pl.col("run") < n_values).with_columns(pl.all() % n_values)


def weighted_edges(n_values: int) -> pl.DataFrame:
    return edges_of_codes(n_values).with_columns(weight=(pl.col("left") + pl.col("run")) / 4)


def pairs_of_codes(n_values: int) -> pl.DataFrame:
    """The distances of the eight ids of each run, both ways."""
    pairs = [
        (run, a, b, float(abs(a * a % 7 - b * b % 7) + abs(a - b)))
        for run in range(3)
        for a in range(8)
        for b in range(8)
    ]
    frame = pl.DataFrame(pairs, schema=["run", "left", "right", "distance"], orient="row")
    return frame.filter(
        (pl.col("run") < n_values) & (pl.col("left") < n_values) & (pl.col("right") < n_values)
    )


def labels_of_codes(n_values: int) -> pl.DataFrame:
    """The edges as labels of pairs, without the column of the runs."""
    edges = edges_of_codes(n_values).drop("run")
    return edges.with_columns(is_match=(pl.col("left") + pl.col("right")) % 3 > 0)


@cache
def calls_of_tables(n_values: int) -> dict[str, TableCall]:
    """A call of each table by its name, on rows whose keys have `n_values` values at most."""
    rows = rows_of_codes(n_values)
    later = rows.with_columns(cluster=(pl.col("cluster") + pl.col("id")) % min(n_values, 3))
    states = ce.cluster_states(rows, VECTOR, "cluster", partition_by="run")
    centers = ce.centroids(rows, VECTOR, "cluster", partition_by="run")
    models = ce.centroids(rows, VECTOR, "cluster", partition_by=["run", "fold"])
    curve = ce.elbow(rows, VECTOR, "cluster", "k", partition_by="run")
    reference = ce.elbow(
        rows.with_columns(reference_set="fold"),
        VECTOR,
        "cluster",
        "k",
        partition_by=["run", "reference_set"],
    )
    columns: dict[str, tuple[Any, ...]] = {
        "labels": (rows, "label", "cluster"),
        "records": (rows, "label", "cluster", "id"),
        "one clustering": (rows, "cluster"),
        "points": (rows, VECTOR, "cluster"),
        "points of states": (rows, VECTOR, "cluster"),
        "nominal values": (rows, ["label"], "cluster"),
        "attributes": (rows, VECTOR, "cluster"),
        "sweep": (rows, VECTOR, "cluster", "k"),
        "points alone": (rows, VECTOR),
        "replication": (rows, "label", "cluster"),
        "runs": (rows, "id", "run", "cluster"),
        "runs and one of them": (rows, "id", "run", "cluster", Given(0)),
        "paired labels": (rows, "label", "cluster", "run"),
        "several clusterings": (rows, ["cluster", "run"], "label"),
        "resamples": (rows, "label", "cluster", "run"),
        "removed columns": (rows, VECTOR, "cluster", "place", "label"),
        "two runs": (rows, later, "id", "cluster"),
        "covers": (rows, later, "id", "label", "cluster"),
        "graph": (rows, "id", "cluster", edges_of_codes(n_values), "left", "right"),
        "distances": (
            *(rows, "id", "cluster", pairs_of_codes(n_values), "left", "right", "distance"),
        ),
        "neighbors": (rows, "id", "cluster", edges_of_codes(n_values), "left", "right"),
        "edges": (rows, "id", weighted_edges(n_values), "left", "right", "weight"),
        "pair labels": (
            *(rows, "id", "cluster", labels_of_codes(n_values), "left", "right", "is_match"),
        ),
        "states": (states,),
    }
    of_table: dict[str, tuple[Any, ...]] = {
        "clustering_summary": (rows, "cluster", "label"),
        "silhouette_samples": (rows, VECTOR, "cluster", "id"),
        "assign_nearest": (rows, VECTOR, centers, "id"),
        "cross_validation": (rows, VECTOR, "cluster", "fold", models),
        "choose_k": (curve,),
        "gap_statistic": (curve, reference, "reference_set"),
    }
    of_runs = registry.tables(
        "runs", "runs and one of them", "paired labels", "several clusterings", "resamples"
    )
    return {
        table: TableCall(
            table,
            of_table.get(table) or columns[registry.kind_of(table)],
            "fold" if table in of_runs else "run",
        )
        for table in registry.tables()
    }
