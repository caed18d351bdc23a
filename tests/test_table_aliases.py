"""Table aliases of the macros are plain words: no parameter and no column of a user captures them.

A macro's parameter replaces every unqualified column of its name. Columns behind an alias are
qualified, so only a parameter of the alias's own name could be mistaken for it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import polars_clustereval as ce
from tests.support import registry
from tests.support.compare import is_near

if TYPE_CHECKING:
    import duckdb

MACRO = re.compile(
    r"^CREATE OR REPLACE MACRO clustereval\.(\w+)\((.*?)\) AS\b(.*?);\n", re.MULTILINE | re.DOTALL
)
QUALIFIER = re.compile(r"(?<![\w.\])])([a-z]\w*)\.(?:__ce_\w|\*)")
CALLED = re.compile(r"\bclustereval\.(\w+)")
RELATIVE = registry.tables("runs", "runs and one of them", "resamples")
#: Called with the same table for nodes and edges, whose ends are the columns id and label.
OF_GRAPHS = registry.tables("graph")
#: Called with the same table twice, and these columns.
OF_TWO_TABLES = {
    **dict.fromkeys(registry.tables("two runs"), ("id", "cluster")),
    **dict.fromkeys(registry.tables("covers"), ("id", "label", "cluster")),
}
OF_ONE_TABLE = registry.tables("labels", "records", "replication", "one clustering", "points")
ALL = (*OF_ONE_TABLE, *RELATIVE, *OF_TWO_TABLES, *OF_GRAPHS)
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
def macro_texts() -> dict[str, tuple[list[str], str]]:
    """Macros by name: parameters and body."""
    found = {}
    for name, parameters, body in MACRO.findall(ce.bundle()):
        code = re.sub(r"^\s*--.*$", "", body, flags=re.MULTILINE)
        names = [part.split(":=")[0].strip() for part in parameters.split(",")]
        found[name] = (names, code)
    return found


def aliases(name: str) -> set[str]:
    return set(QUALIFIER.findall(macro_texts()[name][1]))


def closure(name: str) -> set[str]:
    """The macro and all that it calls."""
    found, open_names = set[str](), [name]
    while open_names:
        one = open_names.pop()
        if one not in found:
            found.add(one)
            open_names += [
                other for other in CALLED.findall(macro_texts()[one][1]) if other in macro_texts()
            ]
    return found


def closure_aliases(name: str) -> list[str]:
    return sorted({alias for macro in closure(name) for alias in aliases(macro)})


def test_the_macros_have_aliases() -> None:
    assert len(macro_texts()) > 300
    assert len({alias for name in macro_texts() for alias in aliases(name)}) > 20


def test_no_alias_is_a_parameter_of_its_macro() -> None:
    clashes = {name: aliases(name) & set(macro_texts()[name][0]) for name in macro_texts()}
    assert not {name: words for name, words in clashes.items() if words}


def columns_of(table: str) -> tuple[str, ...]:
    """The columns that follow the table, or the tables, in a call."""
    if table in OF_TWO_TABLES:
        return OF_TWO_TABLES[table]
    if table in OF_GRAPHS:
        return ("id", "cluster", "label", "weight")
    return tuple(column for column in registry.given(table) if isinstance(column, str))


def rows_under_names(
    con: duckdb.DuckDBPyConnection, table: str, names: dict[str, str], view: str
) -> list[tuple[Any, ...]]:
    columns = ", ".join(f'unnest(${name}) AS "{names.get(name, name)}"' for name in ROWS)
    con.execute(f'CREATE OR REPLACE TEMP TABLE "{view}" AS SELECT {columns}', ROWS)
    quoted_names = {name: f'"{names.get(name, name)}"' for name in ROWS}
    given = ", ".join(quoted_names[name] for name in columns_of(table))
    if table == "cluster_stability":
        given += ", 1"
    by = "" if table in RELATIVE else f", partition_by := {quoted_names['run']}"
    views = f'"{view}", "{view}"' if table in OF_TWO_TABLES else f'"{view}"'
    if table in OF_GRAPHS:
        node, cluster, end, weight = (
            quoted_names[name] for name in ("id", "cluster", "label", "weight")
        )
        given = f'{node}, {cluster}, "{view}", {node}, {end}, weight := {weight}'
    call = f"clustereval.{table}({views}, {given}{by})"
    rows = con.execute(f"FROM {call}").fetchall()
    con.execute(f'DROP TABLE "{view}"')
    return rows


def check_names(con: duckdb.DuckDBPyConnection, table: str, step: int) -> None:
    """Call a macro on columns and a view of its aliases' names, some names at a time."""
    expected = rows_under_names(con, table, {}, "neutral_name")
    words = closure_aliases(table) or ["label", "cluster", "run"]
    for i in range(0, len(words), step):
        given = [words[(i + j) % len(words)] for j in range(4)]
        if len(set(given)) < 4:
            given = [*dict.fromkeys(given), "spare_1", "spare_2", "spare_3"][:4]
        *columns, view = given
        # Three of the columns that the call names.
        sides = tuple(dict.fromkeys((*columns_of(table)[:2], "run", "weight")))[:3]
        if table in OF_GRAPHS and i % 8:
            sides = ("id", "label", "weight")
        names = dict(zip(sides, columns, strict=True))
        # An alias such as `label` is the name of another column, too.
        names |= {word: f"spare_{word}" for word in columns if word in ROWS.keys() - names.keys()}
        assert is_near(rows_under_names(con, table, names, view), expected, relative=1e-12), names


@pytest.mark.gate
@pytest.mark.parametrize("table", ALL)
def test_columns_named_like_aliases(con: duckdb.DuckDBPyConnection, table: str) -> None:
    check_names(con, table, step=max(4, len(closure_aliases(table)) // 2))


@pytest.mark.wide
@pytest.mark.parametrize("table", ALL)
def test_each_alias_in_each_place(con: duckdb.DuckDBPyConnection, table: str) -> None:
    check_names(con, table, step=1)
