"""Table aliases of the macros are plain words: no parameter and no column of a user captures them.

A macro's parameter replaces every unqualified column of its name. Columns behind an alias are
qualified, so only a parameter of the alias's own name could be mistaken for it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import duckdb
import pytest

import polars_clustereval as ce
from tests.support.compare import is_near

MACRO = re.compile(
    r"^CREATE OR REPLACE MACRO clustereval\.(\w+)\((.*?)\) AS\b(.*?);\n", re.MULTILINE | re.DOTALL
)
QUALIFIER = re.compile(r"(?<![\w.\])])([a-z]\w*)\.(?:__ce_\w|\*)")
CALLED = re.compile(r"\bclustereval\.(\w+)")
EXTERNAL = (
    "contingency_matrix",
    "entity_resolution_report",
    "pair_counts",
    "external_cluster_report",
    "external_label_report",
    "cluster_error_table",
    "clustering_summary",
    "record_error_table",
    "external_report",
    "external_summary",
    "matching_report",
    "entity_resolution_estimates",
    "prediction_strength",
)
INTERNAL = (
    "centroids",
    "internal_report",
    "internal_cluster_report",
    "neighbor_report",
    "determinant_report",
    "silhouette_samples",
    "silhouette_clusters",
    "silhouette_score",
    "cluster_diameters",
    "dunn_index",
    "pairwise_report",
)
# With the columns that stand before the options.
RELATIVE = {
    "run_agreement": ("id", "run", "cluster"),
    "run_consensus": ("id", "run", "cluster"),
    "cluster_stability": ("id", "run", "cluster"),
    "bootstrap_instability": ("label", "cluster", "run"),
}
# Called with the same table for both runs.
OF_TWO_RUNS = ("run_transitions", "transition_overlaps", "moved_ids", "run_drift")
# Called with the same table for labels and clusters.
OF_COVERS = ("overlapping_report",)
# Called with the same table for nodes and edges, whose ends are the columns id and label.
OF_GRAPHS = ("graph_report", "graph_cluster_report", "graph_node_report", "graph_edge_report")
ALL = (*EXTERNAL, *INTERNAL, *RELATIVE, *OF_TWO_RUNS, *OF_COVERS, *OF_GRAPHS)
ROWS = {
    "label": [0, 0, 0, 1, 1, 1, 2, 2],
    "cluster": [5, 5, 6, 6, 6, 7, 7, 5],
    "run": [1, 1, 1, 1, 2, 2, 2, 2],
    "weight": [1, 2, 1, 1, 3, 1, 1, 1],
    "id": [1, 2, 3, 4, 1, 2, 3, 5],
    "vector": [
        *([0.0, 1.0], [1.0, 1.5], [4.0, 4.0], [5.0, 4.5]),
        *([4.0, 5.5], [9.0, 1.0], [8.0, 0.5], [1.0, 0.0]),
    ],
}


@cache
def macros() -> dict[str, tuple[list[str], str]]:
    """Macros by name: parameters and body."""
    found = {}
    for name, parameters, body in MACRO.findall(ce.bundle()):
        code = re.sub(r"^\s*--.*$", "", body, flags=re.MULTILINE)
        names = [part.split(":=")[0].strip() for part in parameters.split(",")]
        found[name] = (names, code)
    return found


def aliases(name: str) -> set[str]:
    return set(QUALIFIER.findall(macros()[name][1]))


def closure(name: str) -> set[str]:
    """The macro and all that it calls."""
    found, open_names = set[str](), [name]
    while open_names:
        one = open_names.pop()
        if one not in found:
            found.add(one)
            open_names += [other for other in CALLED.findall(macros()[one][1]) if other in macros()]
    return found


def closure_aliases(name: str) -> list[str]:
    return sorted({alias for macro in closure(name) for alias in aliases(macro)})


def test_the_macros_have_aliases() -> None:
    assert len(macros()) > 300
    assert len({alias for name in macros() for alias in aliases(name)}) > 20


def test_no_alias_is_a_parameter_of_its_macro() -> None:
    clashes = {name: aliases(name) & set(macros()[name][0]) for name in macros()}
    assert not {name: words for name, words in clashes.items() if words}


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    return con


def answers(
    con: duckdb.DuckDBPyConnection, table: str, names: dict[str, str], view: str
) -> list[tuple[Any, ...]]:
    columns = ", ".join(f'unnest(${name}) AS "{names.get(name, name)}"' for name in ROWS)
    con.execute(f'CREATE OR REPLACE TEMP TABLE "{view}" AS SELECT {columns}', ROWS)
    first = "label" if table in EXTERNAL else "vector"
    columns_given = RELATIVE.get(table, (first, "cluster"))
    columns_given = ("id", "label", "cluster") if table in OF_COVERS else columns_given
    given = ", ".join(f'"{names.get(name, name)}"' for name in columns_given)
    run = names.get("run", "run")
    if table == "cluster_stability":
        given += ", 1"
    by = "" if table in RELATIVE else f', partition_by := "{run}"'
    call = f'clustereval.{table}("{view}", {given}{by})'
    if table in {*OF_TWO_RUNS, *OF_COVERS}:
        call = f'clustereval.{table}("{view}", "{view}", {given}{by})'
    if table in OF_GRAPHS:
        node, cluster, end, weight = (
            f'"{names.get(name, name)}"' for name in ("id", "cluster", "label", "weight")
        )
        ends = f'"{view}", {node}, {end}, weight := {weight}'
        call = f'clustereval.{table}("{view}", {node}, {cluster}, {ends}{by})'
    rows = con.execute(f"FROM {call}").fetchall()
    con.execute(f'DROP TABLE "{view}"')
    return rows


def check(con: duckdb.DuckDBPyConnection, table: str, step: int) -> None:
    """Call a macro on columns and a view of its aliases' names, some names at a time."""
    expected = answers(con, table, {}, "neutral_name")
    words = closure_aliases(table) or ["label", "cluster", "run"]
    for i in range(0, len(words), step):
        given = [words[(i + j) % len(words)] for j in range(4)]
        if len(set(given)) < 4:
            given = [*dict.fromkeys(given), "spare_1", "spare_2", "spare_3"][:4]
        *columns, view = given
        first = "label" if table in EXTERNAL else "vector"
        # Three of the columns that the call names.
        sides = RELATIVE.get(table, (first, "cluster", "run"))
        if table in OF_GRAPHS:
            sides = ("id", "label", "weight") if i % 8 else ("id", "cluster", "run")
        elif table in {*OF_TWO_RUNS, *OF_COVERS}:
            sides = ("id", "cluster", "run")
        names = dict(zip(sides, columns, strict=True))
        # An alias such as `label` is the name of another column, too.
        names |= {word: f"spare_{word}" for word in columns if word in ROWS.keys() - names.keys()}
        assert is_near(answers(con, table, names, view), expected, relative=1e-12), names


@pytest.mark.parametrize("table", ALL)
def test_columns_named_like_aliases(con: duckdb.DuckDBPyConnection, table: str) -> None:
    check(con, table, step=max(4, len(closure_aliases(table)) // 2))


@pytest.mark.wide
@pytest.mark.parametrize("table", ALL)
def test_each_alias_in_each_place(con: duckdb.DuckDBPyConnection, table: str) -> None:
    check(con, table, step=1)
