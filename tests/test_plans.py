"""What the plans of the reports read and aggregate, which decides their time without a clock.

A report reads the user's table a few times, and its first GROUP BY, the one over all rows, has the
aggregates that the selected columns need. More of either is paid by all users of the report; a
change that needs fewer lowers the number here.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
import pytest

import polars_clustereval as ce
from tests.support import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

POINTS = pl.DataFrame(
    {
        "x": [0.0, 1.5, 3.0, 4.5] * 6,
        "y": [0.0, 2.0, 5.0] * 8,
        "label": [0, 1] * 12,
        "cluster": [0, 1, 2, 3, 4, 5] * 4,
        "run": [0] * 12 + [1] * 12,
    }
)


TABLE = "points_of_plans"
Node = dict[str, Any]
#: What the profile has for the number of rows that an operator returned.
N_ROWS = "intermediate_rows"


#: Rows of the table: more than one chunk, so that a reading that ends at once is told from others.
COPIES = 1000
ROWS = COPIES * len(POINTS)


class Plan(NamedTuple):
    """Readings of the whole table, and aggregates of the largest GROUP BY right above a reading.

    Readings that nearly never take place, such as those of points that are far from 0, end with the
    first chunk of rows and do not count.
    """

    readings: int
    aggregates: int


#: A query of the macros, and the most that its plan may have.
SQL: dict[str, Plan] = {
    "FROM external_report(points, label, cluster)": Plan(1, 1),
    "SELECT purity FROM external_report(points, label, cluster)": Plan(1, 1),
    "FROM external_report(points, label, cluster, weight := run, partition_by := run)": Plan(1, 1),
    "FROM entity_resolution_report(points, label, cluster)": Plan(1, 1),
    "FROM matching_report(points, label, cluster)": Plan(1, 1),
    "FROM external_intervals(points, label, cluster)": Plan(1, 1),
    "FROM external_summary(points, label, cluster)": Plan(1, 1),
    "FROM internal_report(points, [x, y], cluster)": Plan(2, 36),
    "FROM internal_summary(points, [x, y], cluster)": Plan(2, 36),
    "SELECT ssw FROM internal_report(points, [x, y], cluster)": Plan(2, 20),
    (
        "SELECT ssw, compactness, calinski_harabasz_score, davies_bouldin_score "
        "FROM internal_report(points, [x, y], cluster)"
    ): Plan(2, 20),
    "FROM internal_report(points, [x, y], cluster, distance := 'cosine', partition_by := run)": (
        Plan(2, 35)
    ),
    "FROM internal_cluster_report(points, [x, y], cluster)": Plan(2, 20),
    "FROM centroids(points, [x, y], cluster)": Plan(2, 20),
    "FROM neighbor_report(points, [x, y], cluster)": Plan(4, 36),
    "FROM silhouette_score(points, [x, y], cluster, distance := 'sqeuclidean')": Plan(3, 36),
    "FROM external_differences(points, label, cluster, run)": Plan(1, 1),
    # However many clusterings there are.
    "FROM compare_clusterings(points, [cluster], label)": Plan(1, 1),
    "FROM compare_clusterings(points, [cluster, run, x % 7], label)": Plan(1, 1),
    "FROM compare_clusterings(points, [cluster], vector := [x, y])": Plan(2, 20),
    "FROM compare_clusterings(points, [cluster, run, label], vector := [x, y])": Plan(2, 20),
}


@pytest.mark.parametrize("query", SQL)
def test_plans_of_duckdb(con: duckdb.DuckDBPyConnection, query: str) -> None:
    create_table(con)
    asked = query.replace("(points", f"({TABLE}").replace("FROM ", "FROM clustereval.")
    found, limit = plan_of(con, asked), SQL[query]
    assert 1 <= found.readings <= limit.readings
    assert 1 <= found.aggregates <= limit.aggregates


def create_table(con: duckdb.DuckDBPyConnection) -> None:
    con.register("points", POINTS.to_arrow())
    con.execute(f"CREATE TEMP TABLE {TABLE} AS SELECT points.* FROM points, range({COPIES})")


def plan_of(con: duckdb.DuckDBPyConnection, query: str) -> Plan:
    nodes = list(plan_nodes(profile(con, query)))
    readings = sum(is_reading(node) and node[N_ROWS] == ROWS for node in nodes)
    # CTEs of rows, such as one that the optimizer makes of two equal readings.
    rows = {cte_of(node) for node in nodes if node["type"] == "CTE" and has_rows(node, set())}
    groups = [node for node in nodes if "GROUP_BY" in node["type"] and has_rows(node, rows)]
    return Plan(readings, max(map(count_aggregates, groups)))


def profile(con: duckdb.DuckDBPyConnection, query: str) -> Node:
    """Return the tree of the operators of a query that has run, with their numbers of rows."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "profile.json")
        con.execute("PRAGMA enable_profiling = 'json'")
        con.execute(f"PRAGMA profiling_output = '{path}'")
        con.execute(query).fetchall()
        con.execute("PRAGMA disable_profiling")
        tree: Node = json.loads(path.read_text())["operator"][0]
    return tree


def plan_nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.get("children", []):
        yield from plan_nodes(child)


def is_reading(node: Node) -> bool:
    return str(node.get("extra_info", {}).get("Table", "")).endswith(TABLE)


def cte_of(node: Node) -> str | None:
    """The number of the CTE that a node defines or reads."""
    number: str | None = node["extra_info"].get(
        "Table Index" if node["type"] == "CTE" else "CTE Index"
    )
    return number


def has_rows(node: Node, rows: set[str | None]) -> bool:
    """Whether a node has rows of the table as they are; `rows` are CTEs of such rows.

    A GROUP BY below has none of them, and a CTE has those of its first child.
    """
    return any(
        is_reading(child)
        or (child["type"] == "CTE_SCAN" and cte_of(child) in rows)
        or ("GROUP_BY" not in child["type"] and has_rows(child, rows))
        for child in node.get("children", [])[: 1 if node["type"] == "CTE" else None]
    )


def count_aggregates(node: Node) -> int:
    aggregates = node["extra_info"].get("Aggregates", [])
    return 1 if isinstance(aggregates, str) else len(aggregates)


@pytest.mark.parametrize(
    ("query", "plan"),
    [
        ("SELECT sum(x), max(x) FROM points_of_plans GROUP BY cluster", Plan(1, 2)),
        ("SELECT sum(x) FROM points_of_plans GROUP BY cluster", Plan(1, 1)),
        (
            (
                "WITH n AS (FROM points_of_plans SELECT cluster, count(*) AS n GROUP BY cluster) "
                "SELECT sum(n), max(n) FROM points_of_plans JOIN n USING (cluster) GROUP BY run"
            ),
            Plan(2, 2),
        ),
    ],
)
def test_a_reading_and_an_aggregate_more_are_seen(
    con: duckdb.DuckDBPyConnection, query: str, plan: Plan
) -> None:
    create_table(con)
    assert plan_of(con, query) == plan


def test_bounds_join_no_matrix_by_row(con: duckdb.DuckDBPyConnection) -> None:
    """Rows joined by their number after the matrices would be written to disk with them.

    The one join is that of points with their upper bounds, which comes before.
    """
    create_table(con)
    plan = profile(
        con,
        "SELECT silhouette_lower "
        f"FROM clustereval.silhouette_score({TABLE}, [x, y], cluster, method := 'bounds')",
    )
    joins = [node for node in plan_nodes(plan) if "JOIN" in node["type"]]
    by_row = [node for node in joins if "row_no" in str(node["extra_info"].get("Conditions"))]
    assert len(by_row) == 1


class PolarsCall(NamedTuple):
    """A call of a function, and the most that the plan of the selected columns may have.

    Nodes of Python check the points, and compute what is not an expression.
    """

    function: str
    options: dict[str, Any]
    columns: list[str]
    readings: int
    python: int
    aggregates: int


#: Coordinates of the points, in number enough for aggregates of each to be seen.
COORDINATES = [pl.col("x") * i for i in range(1, 9)]
COSINE = {"distance": "cosine", "partition_by": "run"}

CALLS = [
    PolarsCall("external_report", {}, [], 2, 0, 1),
    PolarsCall("external_report", {"partition_by": "run"}, ["purity"], 2, 0, 1),
    PolarsCall("entity_resolution_report", {}, [], 1, 0, 1),
    # Two readings are of meanings of scores and of numbers of nodes.
    PolarsCall("external_intervals", {}, [], 4, 0, 1),
    PolarsCall("internal_report", {}, [], 2, 2, 17),
    PolarsCall("internal_report", {}, ["ssw"], 2, 2, 9),
    PolarsCall("internal_report", {}, ["pbm_index"], 2, 2, 9),
    PolarsCall(
        "internal_report", {"partition_by": "run", "noise": 5, "noise_as": "drop"}, [], 2, 2, 17
    ),
    PolarsCall("internal_report", COSINE, ["ssw"], 2, 2, 24),
    PolarsCall("internal_report", COSINE, [], 2, 2, 25),
    # One reading is of the meanings of the scores.
    PolarsCall("internal_summary", {}, [], 3, 3, 17),
    PolarsCall("internal_cluster_report", {}, [], 3, 2, 25),
    PolarsCall("centroids", {}, [], 3, 1, 25),
    PolarsCall("neighbor_report", {}, [], 3, 2, 49),
    PolarsCall("silhouette_score", {}, [], 3, 2, 17),
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_plans_of_polars(call: PolarsCall) -> None:
    what = COORDINATES if call.function in registry.tables("points") else "label"
    lazy = getattr(ce, call.function)(POINTS.lazy(), what, "cluster", **call.options)
    plan = (lazy.select(call.columns) if call.columns else lazy).explain(engine="streaming")
    assert 1 <= plan.count("DF [") <= call.readings
    assert plan.count("OPAQUE_PYTHON") <= call.python
    assert 1 <= max(aggregates_of_polars(plan)) <= call.aggregates


def aggregates_of_polars(plan: str) -> list[int]:
    """The number of aggregates of each GROUP BY of rows of the frame, in a plan as text."""
    functions = re.compile(r"\.(?:sum|mean|min|max|var|median|count|first)\(|\blen\(\)")
    lines, found = plan.splitlines(), {}
    #: Indentation and line number of each GROUP BY above a line.
    groups: list[tuple[int, int]] = []
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        groups = [group for group in groups if group[0] < indent]
        if line.strip().startswith("AGGREGATE"):
            groups.append((indent, i))
        if line.strip().startswith("DF [") and groups:
            number = groups[-1][1]
            found[number] = len(functions.findall(lines[number + 1]))
    return list(found.values())


def test_an_aggregate_more_is_seen_in_polars() -> None:
    x, lazy = pl.col("x"), POINTS.lazy().group_by("cluster")
    assert aggregates_of_polars(lazy.agg(pl.len(), x.mean()).explain()) == [2]
    three = lazy.agg(pl.len(), x.mean(), low=x.min())
    assert aggregates_of_polars(three.explain()) == [3]
    joined = POINTS.lazy().join(three, on="cluster").group_by("run").agg(pl.col("low").max())
    assert aggregates_of_polars(joined.explain()) == [1, 1]
    assert aggregates_of_polars(three.group_by("low").agg(pl.len()).explain()) == [1]
