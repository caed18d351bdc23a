# ruff: noqa: E501
"""Public names, parameters, columns, values on the examples and error texts, as one JSON document.

``python -m tests.support.snapshot write FILE`` keeps them, ``... compare FILE`` tells what differs.
"""

from __future__ import annotations

import inspect
import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

import polars_clustereval as ce

ROOT = Path(__file__).parents[2]
DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")
NEW = {"southwood_index"}
POINT_TABLES = (
    "centroids", "internal_report", "internal_cluster_report", "neighbor_report",
    "silhouette_clusters", "silhouette_samples", "silhouette_score", "cluster_diameters",
    "dunn_index", "pairwise_report",
)  # fmt: skip
LABEL_TABLES = (
    "contingency_matrix", "pair_counts", "external_cluster_report", "external_label_report",
    "external_report",
)  # fmt: skip


def labelings() -> pl.DataFrame:
    iris = pl.read_parquet(ROOT / "examples/iris.parquet")
    rows = iris.select(label="species", cluster="kmeans")
    return pl.concat(
        [
            rows.with_columns(run=pl.lit("all")),
            rows.head(1).with_columns(run=pl.lit("one")),
            rows.with_columns(cluster=pl.lit(1, rows.schema["cluster"]), run=pl.lit("together")),
            rows.with_columns(
                cluster=pl.int_range(pl.len()).cast(rows.schema["cluster"]), run=pl.lit("apart")
            ),
            rows.head(60).with_columns(
                cluster=pl.lit(None, rows.schema["cluster"]), run=pl.lit("null")
            ),
        ]
    ).with_columns(w=pl.int_range(pl.len()) % 4)


def points() -> pl.DataFrame:
    iris = pl.read_parquet(ROOT / "examples/iris.parquet")
    rows = iris.select(
        x="sepal_length", y="sepal_width", z="petal_length", cluster=pl.col("kmeans").cast(pl.Int64)
    ).cast({"x": pl.Float64, "y": pl.Float64, "z": pl.Float64})
    return pl.concat(
        [
            rows.with_columns(run=pl.lit("all")),
            rows.head(60).with_columns(cluster=pl.int_range(pl.len()) % 3 - 1, run=pl.lit("noise")),
            rows.head(4).with_columns(cluster=pl.lit(1, pl.Int64), run=pl.lit("together")),
            rows.head(4).with_columns(cluster=pl.int_range(pl.len()), run=pl.lit("apart")),
            rows.head(6).with_columns(x=pl.lit(2.0), y=pl.lit(1.0), z=pl.lit(1.0), run=pl.lit("equal")),
            rows.head(3).with_columns(cluster=pl.lit(None, pl.Int64), run=pl.lit("null")),
        ]
    )  # fmt: skip


def calls() -> list[tuple[str, str, list[Any], dict[str, Any]]]:
    """Name, table, columns, arguments."""
    found: list[tuple[str, str, list[Any], dict[str, Any]]] = []
    for name in LABEL_TABLES:
        sides = ["label", "cluster"]
        found += [
            (name, "labelings", sides, {}),
            (name, "labelings", sides, {"partition_by": "run"}),
            (name, "labelings", sides, {"weight": "w", "partition_by": "run"}),
            (name, "labelings", sides, {"noise": 1, "noise_as": "drop"}),
            (name, "labelings", sides, {"noise": 1, "noise_as": "singletons"}),
        ]
    found += [
        ("external_report", "labelings", ["label", "cluster"], {"adjusted": False}),
        ("external_report", "labelings", ["label", "cluster"], {"average_method": "max", "beta": 2.0}),
        ("bcubed_samples", "labelings", ["label", "cluster"], {"noise": 1, "noise_as": "singletons"}),
        ("vdm_encode", "labelings", [["label"], "cluster"], {"partition_by": "run"}),
    ]  # fmt: skip
    for name in POINT_TABLES:
        where = ["vector", "cluster"]
        for distance in DISTANCES:
            options = {"distance": distance, "partition_by": "run", "p": 3}
            found.append((name, "points", where, options))
        weights = {"weights": [1.0, 2.0, 0.5], "partition_by": "run"}
        found.append((name, "points", where, weights))
        for noise_as in ("drop", "singletons"):
            found.append((name, "points", where, {"noise": -1, "noise_as": noise_as}))
    for name in ("centroids", "internal_report", "dunn_index"):
        found.append((name, "points", ["vector", "cluster"], {"center": "median"}))
    found.append(("determinant_report", "points", ["vector", "cluster"], {"partition_by": "run"}))
    for options in (
        {"method": "simplified"},
        {"method": "bounds"},
        {"method": "bounds", "distance": "cityblock"},
        {"method": "sample", "sample_size": 9, "random_state": 3},
        {"tolerance": 0.05},
    ):
        found.append(("silhouette_score", "points", ["vector", "cluster"], options))
    return found


def wrong_calls() -> list[tuple[str, str, list[Any], dict[str, Any]]]:
    sides, where = ["label", "cluster"], ["vector", "cluster"]
    found = [
        ("external_report", "labelings", sides, {"noise_as": "drop"}),
        ("external_report", "labelings", sides, {"noise_as": "away"}),
        ("external_report", "labelings", sides, {"noise": "x"}),
        ("external_report", "labelings", sides, {"beta": -1}),
        ("external_report", "labelings", sides, {"average_method": "joint"}),
        ("external_report", "labelings", sides, {"average_method": "mean"}),
        ("pair_counts", "labelings", sides, {"weight": "half"}),
        ("silhouette_score", "points", where, {"method": "guess"}),
        ("silhouette_score", "points", where, {"tolerance": -1}),
        ("silhouette_score", "points", where, {"tolerance": 1, "method": "bounds"}),
        ("silhouette_score", "points", where, {"sample_size": 3}),
        ("silhouette_score", "points", where, {"method": "sample"}),
        ("silhouette_score", "points", where, {"confidence": 2}),
        ("silhouette_score", "points", where, {"random_state": -1}),
        ("silhouette_samples", "points", ["vector", "cluster", "same"], {}),
        ("dunn_index", "points", where, {"generalized": 1}),
        ("pairwise_report", "points", where, {"n_neighbors": 0}),
        ("pairwise_report", "points", where, {"max_points": 1}),
        ("pairwise_report", "points", where, {"max_points": 20}),
        ("vdm_encode", "labelings", [["lable"], "cluster"], {}),
        ("vdm_encode", "labelings", [["label", "label"], "cluster"], {}),
    ]
    for name in ("centroids", "internal_report", "silhouette_score", "dunn_index"):
        found += [(name, table, where, {}) for table in ("nan", "ragged", "empty", "text", "huge")]
        found += [
            (name, "points", where, {"distance": "manhattan"}),
            (name, "points", where, {"p": 0}),
            (name, "points", where, {"weights": [1.0]}),
            (name, "points", where, {"weights": [-1.0, 1.0, 1.0]}),
            (name, "points", where, {"weights": [1.0, 1.0, 1.0], "distance": "chebyshev"}),
            (name, "points", where, {"noise": "x"}),
        ]
    return found


def tables() -> dict[str, pl.DataFrame]:
    made = points()
    made = made.select(
        pl.concat_list("x", "y", "z").alias("vector"), "cluster", "run", same=pl.lit(7)
    )
    first = pl.int_range(pl.len()) == 1
    swapped = {
        "nan": pl.when(first).then([1.0, float("nan"), 2.0]).otherwise("vector"),
        "ragged": pl.when(first).then([1.0, 2.0]).otherwise("vector"),
        "empty": pl.when(first).then(pl.lit([], pl.List(pl.Float64))).otherwise("vector"),
        "huge": pl.when(first).then([1e300, 1e300, 1e300]).otherwise("vector"),
        "text": pl.lit("1 2 3"),
    }
    others = {name: made.with_columns(vector=vector) for name, vector in swapped.items()}
    labeled = labelings().with_columns(half=pl.lit(0.5))
    return {"points": made, "labelings": labeled, **others}


def plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, Decimal):
        return f"Decimal {value}"
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value


def polars_rows(name: str, frame: pl.DataFrame, columns: list[Any], options: dict[str, Any]) -> Any:
    try:
        result = getattr(ce, name)(frame, *columns, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return {"columns": result.columns, "rows": plain(result.rows())}


def sql_value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(sql_value, value))}]"
    return f"'{value}'" if isinstance(value, str) else repr(value)


def duckdb_rows(
    con: duckdb.DuckDBPyConnection,
    name: str,
    table: str,
    columns: list[Any],
    options: dict[str, Any],
) -> Any:
    parts = [table, *(f"[{', '.join(c)}]" if isinstance(c, list) else c for c in columns)]
    for key, value in options.items():
        text = value if key in ("partition_by", "weight") else sql_value(value)
        parts.append(f"{key} := {text}")
    order = " ORDER BY ALL" if name == "vdm_encode" else ""
    try:
        result = con.execute(f"FROM clustereval.{name}({', '.join(parts)}){order}")
        names = [column[0] for column in result.description]
        return {"columns": names, "rows": plain(result.fetchall())}
    except duckdb.Error as error:
        return f"{type(error).__name__}: {str(error).partition('LINE ')[0]}"


def expressions(con: duckdb.DuckDBPyConnection, frame: pl.DataFrame) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ce.__all__:
        function = getattr(ce, name)
        if not inspect.isfunction(function) or name in {*NEW, "parse_vector"}:
            continue
        if list(inspect.signature(function).parameters)[:2] != ["label", "cluster"]:
            continue
        rows = frame.group_by("run").agg(function("label", "cluster")).sort("run").rows()
        query = f"SELECT run, clustereval.{name}(label, cluster) FROM labelings GROUP BY run ORDER BY run"
        found[name] = [plain(rows), plain(con.execute(query).fetchall())]
    return found


def commands() -> dict[str, list[str]]:
    found = {}
    for words in (
        "--help", "external --help", "silhouette --help", "sql --nope", "external none.parquet",
        "external examples/iris.parquet --label species --cluster kmean",
        "external examples/iris.parquet --label species --cluster kmeans --format csv",
        "internal examples/iris.parquet --vector sepal_length,sepal_width --cluster kmeans --format csv",
    ):  # fmt: skip
        result = subprocess.run(
            [sys.executable, "-m", "polars_clustereval.cli", *words.split()],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        flags = sorted(word.strip(",[]") for word in result.stdout.split() if word.startswith("--"))
        shown = flags if "--help" in words else result.stdout.splitlines()
        found[words] = [str(result.returncode), *shown, result.stderr]
    return found


def snapshot() -> dict[str, Any]:
    con = duckdb.connect()
    ce.register(con)
    frames = tables()
    for name, frame in frames.items():
        con.register(name, frame)
    macros = con.execute(
        "SELECT function_name, function_type, parameters FROM duckdb_functions() "
        "WHERE schema_name = 'clustereval' AND NOT starts_with(function_name, '_') ORDER BY ALL"
    ).fetchall()
    functions = {name: getattr(ce, name) for name in ce.__all__ if name not in NEW}
    answers: dict[str, Any] = {}
    for name, table, columns, options in calls() + wrong_calls():
        key = f"{name}({table}, {columns}, {options})"
        answers[f"{key} polars"] = polars_rows(name, frames[table], columns, options)
        answers[f"{key} duckdb"] = duckdb_rows(con, name, table, columns, options)
    return {
        "names": sorted(functions),
        "signatures": {
            n: str(inspect.signature(f)) for n, f in functions.items() if inspect.isfunction(f)
        },
        "macros": [list(row) for row in macros if row[0] not in NEW],
        "expressions": expressions(con, frames["labelings"]),
        "answers": answers,
        "commands": commands(),
    }


def without_new_columns(answer: Any) -> Any:
    if not isinstance(answer, dict) or not NEW & set(answer["columns"]):
        return answer
    kept = [i for i, name in enumerate(answer["columns"]) if name not in NEW]
    return {
        "columns": [answer["columns"][i] for i in kept],
        "rows": [[row[i] for i in kept] for row in answer["rows"]],
    }


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    if isinstance(before, float) and isinstance(after, float):
        near = abs(before - after) <= 1e-13 * max(abs(before), abs(after), 1.0)
        return [] if near else [f"{where}: {before!r} -> {after!r}"]
    if isinstance(before, dict) and isinstance(after, dict):
        keys = dict.fromkeys([*before, *after])
        return [
            line
            for key in keys
            for line in differences(before.get(key), after.get(key), f"{where}/{key}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for i, (x, y) in pairs for line in differences(x, y, f"{where}[{i}]")]
    return [] if before == after else [f"{where}: {before!r} -> {after!r}"]


def main() -> None:
    action, file = sys.argv[1:]
    found = snapshot()
    found["answers"] = {key: without_new_columns(x) for key, x in found["answers"].items()}
    found = json.loads(json.dumps(found, default=str))
    if action == "write":
        Path(file).write_text(json.dumps(found, indent=0), encoding="utf-8")
        print(f"{len(found['answers'])} answers written")
        return
    lines = differences(json.loads(Path(file).read_text(encoding="utf-8")), found)
    print(*(line[:300] for line in lines[:25]), f"{len(lines)} differences", sep="\n")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
