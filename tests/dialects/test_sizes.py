"""What queries of to_sql read and join, which decides their time without a clock.

An engine that computes a CTE again wherever it is read also reads the table again, so such
readings are counted as often as they take place there. A change that needs fewer lowers a number.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple

import pytest
import sqlglot
from sqlglot import exp

import polars_clustereval as ce
from benchmarks.dialects import CALLS
from polars_clustereval.dialects.engines import ENGINES

pytestmark = pytest.mark.gate

LABELS = {"tbl": "t", "label": "l", "cluster": "c"}
POINTS = {"tbl": "t", "vector": [f"x{i}" for i in range(8)], "cluster": "c"}
SQUARED = POINTS | {"distance": "sqeuclidean"}
RUNS = {"tbl_before": "t", "tbl_after": "t", "id": "i", "cluster": "c"}


class Size(NamedTuple):
    """Readings of the table, joins, and characters of a script or query on one line."""

    readings: int
    joins: int
    characters: int


#: A table, its arguments, and the most that its script may have, of all statements.
LIMITS: dict[str, tuple[dict[str, Any], Size]] = {
    "external_report": (LABELS, Size(1, 15, 38_500)),
    "entity_resolution_report": (LABELS, Size(1, 12, 64_600)),
    "contingency_matrix": (LABELS, Size(1, 0, 1_000)),
    "pair_counts": (LABELS, Size(1, 3, 3_700)),
    "external_cluster_report": (LABELS, Size(1, 1, 3_000)),
    "external_label_report": (LABELS, Size(1, 1, 2_900)),
    "bcubed_samples": (LABELS | {"id": "i"}, Size(1, 0, 1_900)),
    "internal_report": (POINTS, Size(3, 15, 54_300)),
    "internal_cluster_report": (POINTS, Size(3, 12, 32_000)),
    "centroids": (POINTS, Size(2, 7, 21_700)),
    "neighbor_report": (POINTS, Size(5, 34, 71_500)),
    "silhouette_score": (SQUARED, Size(4, 16, 44_700)),
    "silhouette_clusters": (SQUARED, Size(4, 15, 41_500)),
    "silhouette_samples": (SQUARED | {"id": "i"}, Size(5, 17, 41_900)),
    "run_transitions": (RUNS, Size(2, 4, 8_300)),
}

#: What Postgres may have where it leaves out pairs of clusters: see pair_bodies.py.
POSTGRES_LIMITS = {
    "internal_report": Size(3, 19, 55_500),
    "internal_cluster_report": Size(3, 16, 33_300),
    "neighbor_report": Size(5, 38, 77_700),
    "silhouette_score": Size(4, 22, 50_700),
    "silhouette_clusters": Size(4, 21, 48_000),
    "silhouette_samples": Size(5, 25, 53_300),
}


@cache
def script(name: str, dialect: str) -> str:
    arguments, _ = LIMITS[name]
    return ce.to_sql(name, dialect=dialect, steps=True, compact=True, **arguments)


def measure_script(text: str, dialect: str) -> Size:
    statements = sqlglot.parse(text, dialect=ENGINES[dialect].parser)
    selects = [node for node in statements if isinstance(node, exp.Select | exp.Create)]
    readings = sum(count_readings(node) for node in selects)
    joins = sum(len(list(node.find_all(exp.Join))) for node in selects)
    return Size(readings, joins, len(text))


def count_readings(statement: exp.Expr) -> int:
    """How often a statement reads the table t if each reader of a CTE computes it."""
    ctes = {cte.alias: cte.this for cte in statement.find_all(exp.CTE)}

    @cache
    def of_cte(name: str) -> int:
        return of_query(ctes[name])

    def of_query(query: exp.Expr) -> int:
        nodes = query.walk(prune=lambda node: isinstance(node, exp.With))
        names = [node.name for node in nodes if isinstance(node, exp.Table)]
        return sum(of_cte(name) if name in ctes else name == "t" for name in names)

    return of_query(statement)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize(
    "dialect", ["clickhouse", *(pytest.param(x, marks=pytest.mark.wide) for x in ("postgres",))]
)
def test_scripts_stay_small(name: str, dialect: str) -> None:
    found, limit = measure_script(script(name, dialect), dialect), LIMITS[name][1]
    if dialect == "postgres":
        limit = POSTGRES_LIMITS.get(name, limit)
    assert 1 <= found.readings <= limit.readings, found
    assert found.joins <= limit.joins, found
    assert found.characters <= limit.characters, found


def test_a_reading_of_a_shared_cte_counts_twice() -> None:
    text = "WITH a AS (SELECT x FROM t), b AS (SELECT x FROM a) SELECT 1 FROM a JOIN b ON TRUE"
    assert measure_script(text, "postgres") == Size(2, 1, len(text))
    assert measure_script(f"CREATE TABLE u AS {text};\nSELECT 1 FROM u", "postgres").readings == 2


#: Calls whose queries have every CTE that to_sql writes, on Postgres or on ClickHouse.
EXPLAINED_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("external_report", {"tbl": "t"}),
    *((name, CALLS[name] | {"partition_by": "day"}) for name in CALLS),
    ("silhouette_score", POINTS | {"method": "simplified", "missing": "drop"}),
    ("centroids", POINTS | {"center": "median", "noise": -1, "noise_as": "singletons"}),
]


@pytest.mark.parametrize(("name", "options"), EXPLAINED_CALLS)
@pytest.mark.parametrize("dialect", ["postgres", "clickhouse"])
def test_each_cte_says_what_it_holds(name: str, options: dict[str, Any], dialect: str) -> None:
    lines = ce.to_sql(name, dialect=dialect, **options).splitlines()
    heads = [i for i, line in enumerate(lines) if re.match(r"(WITH |\), )\w+ AS ", line)]
    assert heads
    for i in heads:
        assert re.fullmatch(r"  /\* [A-Z][^*]+\. \*/", lines[i + 1]), lines[i : i + 2]
        assert len(lines[i + 1]) <= 100
    assert "/*" not in ce.to_sql(name, dialect=dialect, compact=True, **options)
