"""Table aliases of the macros are plain words: no parameter and no column of a user captures them.

A macro's parameter replaces every unqualified column of its name. Columns behind an alias are
qualified, so only a parameter of the alias's own name could be mistaken for it.

A table that a macro is given is a column to DuckDB's parser: where a query already has a table or a
column of that name, such as the rows outside of a subquery, query_table() finds this instead.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
import sqlglot
from sqlglot import exp

from polars_clustereval.macros import macro_definitions
from tests.support import engines, macro_calls, registry
from tests.support.compare import is_near

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import duckdb

pytestmark = pytest.mark.gate

QUALIFIER = re.compile(r"(?<![\w.\])])(?!clustereval\.)([a-z]\w*)\.(?:[a-z_]\w*|\*)")
RELATIVE = registry.tables(
    "runs", "runs and one of them", "paired labels", "several clusterings", "resamples"
)
#: Called with a list of columns.
OF_CLUSTERINGS = registry.tables("several clusterings")
#: Called with the same table for nodes and edges, whose ends are the columns id and label.
OF_GRAPHS = registry.tables("graph", "neighbors")
#: The same, without clusters.
OF_EDGES = registry.tables("edges")
#: Called with the same table for points and pairs, of which most are missing.
OF_DISTANCES = registry.tables("distances")
#: The same, where id is a label: 0 or 1 if it is small.
OF_PAIR_LABELS = registry.tables("pair labels")
#: Called with the same table twice, and these columns.
OF_TWO_TABLES = {
    **dict.fromkeys(registry.tables("two runs"), ("id", "cluster")),
    **dict.fromkeys(registry.tables("covers"), ("id", "label", "cluster")),
}
OF_ONE_TABLE = registry.tables("labels", "records", "replication", "one clustering", "points")
ALL = (
    *(*OF_ONE_TABLE, *RELATIVE, *OF_TWO_TABLES, *OF_GRAPHS, *OF_EDGES, *OF_DISTANCES),
    *OF_PAIR_LABELS,
)
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
def aliases(name: str) -> set[str]:
    _, body = macro_definitions()[name]
    return set(QUALIFIER.findall(re.sub(r"^\s*--.*$", "", body, flags=re.MULTILINE)))


def closure_aliases(name: str) -> list[str]:
    return sorted({alias for macro in macro_calls.reached_from(name) for alias in aliases(macro)})


def test_the_macros_have_aliases() -> None:
    assert len(macro_definitions()) > 300
    assert len({alias for name in macro_definitions() for alias in aliases(name)}) > 20


def test_no_alias_is_a_parameter_of_its_macro() -> None:
    clashes = {name: aliases(name) & {*given} for name, (given, _) in macro_definitions().items()}
    assert not {name: words for name, words in clashes.items() if words}


def columns_of(table: str) -> tuple[str, ...]:
    """The columns that follow the table, or the tables, in a call."""
    if table in OF_TWO_TABLES:
        return OF_TWO_TABLES[table]
    if table in (*OF_GRAPHS, *OF_EDGES, *OF_DISTANCES, *OF_PAIR_LABELS):
        return ("id", "cluster", "label", "weight")
    if table in OF_CLUSTERINGS:
        return ("cluster", "label")
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
    if table in OF_CLUSTERINGS:
        given = f"[{quoted_names['cluster']}], {quoted_names['label']}"
    by = "" if table in RELATIVE else f", partition_by := {quoted_names['run']}"
    views = f'"{view}", "{view}"' if table in OF_TWO_TABLES else f'"{view}"'
    if table in OF_GRAPHS:
        node, cluster, end, weight = (
            quoted_names[name] for name in ("id", "cluster", "label", "weight")
        )
        value = "distance" if registry.kind_of(table) == "neighbors" else "weight"
        given = f'{node}, {cluster}, "{view}", {node}, {end}, {value} := {weight}'
    if table in OF_EDGES:
        node, end, weight = (quoted_names[name] for name in ("id", "label", "weight"))
        given = f'{node}, "{view}", {node}, {end}, {weight}'
    if table in OF_PAIR_LABELS:
        node, cluster, end, weight = (
            quoted_names[name] for name in ("id", "cluster", "label", "weight")
        )
        given = f'{node}, {cluster}, "{view}", {node}, {end}, {node} < 3, weight := 1 / {weight}'
    if table in OF_DISTANCES:
        node, cluster, end = (quoted_names[name] for name in ("id", "cluster", "label"))
        given = f'{node}, {cluster}, "{view}", {node}, {end}, abs({node} - {end})'
        by += ", missing := 'drop'"
    call = f"clustereval.{table}({views}, {given}{by})"
    # The name of a column is a value there.
    shown = "* EXCLUDE (clustering)" if table in OF_CLUSTERINGS else "*"
    rows = con.execute(f"SELECT {shown} FROM {call}").fetchall()
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
        if table in (*OF_GRAPHS, *OF_DISTANCES, *OF_PAIR_LABELS) and i % 8:
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
def test_each_alias_in_two_places(con: duckdb.DuckDBPyConnection, table: str) -> None:
    check_names(con, table, step=2)


# Tables of the user ------------------------------------------------------------------------------


def tables_given(call: exp.Anonymous) -> list[exp.Expression]:
    """The arguments of a call in FROM that are tables."""
    if call.name == "query_table":
        given = call.expressions[0]
        is_checked = isinstance(given, exp.Dot) and isinstance(given.expression, exp.Anonymous)
        return [given.expression.expressions[0] if is_checked else given]
    if call.name not in macro_definitions() or not isinstance(call.parent, exp.Table):
        return []
    wanted = macro_calls.user_tables(call.name)
    parameters, _ = macro_definitions()[call.name]
    return [
        given for name, given in zip(parameters, call.expressions, strict=False) if name in wanted
    ]


def hiding_places(body: str, tables: Collection[str]) -> list[str]:
    """The calls that are given one of the tables where names of the query can hide it.

    These are calls in a JOIN and in a subquery that is a value: there, the tables and columns of
    the rows around are in reach.
    """
    found = []
    for call in sqlglot.parse_one(body, dialect="duckdb").find_all(exp.Anonymous):
        if not any(given.name in tables for given in tables_given(call)):
            continue
        node: exp.Expression | None = call
        while node is not None and not isinstance(node, exp.CTE):
            inside = isinstance(node, exp.Subquery | exp.Exists)
            is_value = inside and not isinstance(node.parent, exp.From | exp.SetOperation)
            if is_value or isinstance(node, exp.Join):
                found.append(call.sql())
                break
            node = node.parent
    return found


def test_the_tables_that_are_given_to_macros() -> None:
    assert macro_calls.user_tables("gap_statistic") == ["reference", "tbl"]
    assert macro_calls.user_tables("run_transitions") == ["tbl_after", "tbl_before"]
    assert macro_calls.user_tables("_row_groups") == ["tbl"]
    assert not macro_calls.user_tables("_distance")


@pytest.mark.gate  # it parses all macros
def test_no_name_hides_a_table_of_the_user() -> None:
    found = {
        name: places
        for name, (_, body) in macro_definitions().items()
        if "FROM" in body and (places := hiding_places(body, macro_calls.user_tables(name)))
    }
    assert not found


@pytest.mark.parametrize(
    "body",
    [
        "SELECT 1 WHERE (SELECT bool_and(x) FROM query_table(tbl))",
        "SELECT (SELECT x FROM (SELECT x FROM query_table(tbl)))",
        "SELECT 1 WHERE EXISTS (FROM query_table(tbl))",
        "SELECT * FROM range(3) AS a JOIN query_table(tbl) AS b ON a.x = b.x",
        "SELECT * FROM range(3) AS a JOIN (FROM clustereval._row_groups(tbl)) AS b USING (x)",
    ],
)
def test_places_where_a_table_is_hidden_are_seen(body: str) -> None:
    assert len(hiding_places(body, ["tbl"])) == 1


# Names in reach of the user's table and expressions -----------------------------------------------

#: Macros that take rows from a door before it has renamed their columns.
IN_DOORS = (
    *("_flag_groups", "_check_record_ids", "_scoped_groups"),
    *("_located_rows", "_check_pairs", "_check_removed"),
)


def mentions(node: exp.Expression, names: Collection[str]) -> bool:
    """Whether one of the parameters `names` of a macro stands in a part of its body."""
    return any(column.name in names for column in node.find_all(exp.Column) if not column.table)


def ctes_in_reach(body: str, tables: Collection[str]) -> tuple[list[str], list[str]]:
    """The CTEs of a macro that can hide a table of the user from a read of it, and the others.

    A CTE can hide it from itself and from all that follows.
    """
    query = sqlglot.parse_one(body, dialect="duckdb")
    ctes = query.ctes
    names = [cte.alias for cte in ctes]
    reads = [place for place, cte in enumerate(ctes, 1) if mentions(cte, tables)]
    query.set("with_", None)
    last = len(names) if mentions(query, tables) else max(reads, default=0)
    return names[:last], names[last:]


def aliases_in_reach(body: str, tables: Collection[str], parameters: Collection[str]) -> list[str]:
    """The columns that a SELECT from a table of the user names beside an expression of the user.

    There, a misspelled column would be taken for one of these.
    """
    found = []
    for select in sqlglot.parse_one(body, dialect="duckdb").find_all(exp.Select):
        source = select.args["from_"].this.this if select.args.get("from_") else None
        is_read = isinstance(source, exp.Anonymous) and source.name == "query_table"
        if is_read and mentions(source, tables) and mentions(select, {*parameters} - {*tables}):
            found += [column.alias for column in select.expressions if column.alias]
    return found


@pytest.mark.gate  # it parses many macros
def test_what_is_in_reach_of_the_user_has_a_prefix() -> None:
    """And CTEs behind the last read of a table have none, unless they are in the door itself.

    Nor are they renamed in macros with a MATERIALIZED CTE, which hid a table in DuckDB 1.4.
    """
    for name, (parameters, body) in macro_definitions().items():
        tables = macro_calls.user_tables(name)
        if not tables:
            continue
        hiding, others = ctes_in_reach(body, tables)
        named = [*hiding, *aliases_in_reach(body, tables, parameters)]
        assert all(one.startswith("__ce_") for one in named), (name, named)
        is_door = not {*macro_calls.TABLE_READ.findall(body)}.isdisjoint(tables)
        if not is_door and " AS MATERIALIZED " not in body:
            assert not [one for one in others if one.startswith("__ce_")], (name, others)


def test_names_behind_the_doors_are_plain() -> None:
    macros = macro_calls.macros_by_name()
    behind = [
        name
        for name, macro in macros.items()
        if macro.is_table and not macro_calls.user_tables(name)
    ]
    assert len(behind) > 200
    prefixed = {name for name in behind if "__ce_" in macros[name].body}
    assert prefixed == {*IN_DOORS}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("WITH a AS (FROM query_table(tbl)), b AS (FROM a) SELECT x FROM b", ["a"]),
        ("WITH a AS (FROM b), b AS (FROM clustereval._points(tbl, x)) FROM b", ["a", "b"]),
        ("WITH a AS (FROM b) SELECT x FROM clustereval._points(tbl, x), a", ["a"]),
        ("WITH a AS (FROM query_table(tbl)), b AS MATERIALIZED (FROM a) FROM b", ["a"]),
        ("WITH a AS (SELECT tbl.x FROM tbl) SELECT x FROM a", []),
    ],
)
def test_ctes_in_reach_are_seen(body: str, expected: list[str]) -> None:
    assert ctes_in_reach(body, ["tbl"])[0] == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("SELECT label AS a, 1 AS b FROM query_table(tbl)", ["a", "b"]),
        ("SELECT 1 AS b FROM query_table(tbl) HAVING any_value(label)", ["b"]),
        ("SELECT x AS b FROM query_table(tbl)", []),
        ("SELECT label AS b FROM query_table(cells)", []),
    ],
)
def test_aliases_in_reach_are_seen(body: str, expected: list[str]) -> None:
    assert aliases_in_reach(body, ["tbl"], ["tbl", "label", "cells"]) == expected


NAMES_OF_SWEEPS = ("scored", "own", "silhouette", "k", "n", "ssw", "checked", "jump", "is_knee")


ELBOW = "FROM clustereval.elbow(sweep, [x], c, asked)"
GAP = "FROM clustereval.gap_statistic(observed, sets, partition_key)"
#: Tables of the user, and a call that reads each of them.
SWEEPS = {
    "sweep": (
        "SELECT i % asked AS c, i * i AS x, asked FROM range(9) AS t (i), range(1, 4) AS u (asked)",
        ELBOW,
    ),
    "curve": (ELBOW, "FROM clustereval.choose_k(curve)"),
    "observed": ("FROM curve", GAP),
    "sets": ("SELECT * REPLACE (number AS partition_key) FROM curve, range(2) AS t (number)", GAP),
}


@pytest.fixture(scope="module")
def sweeps() -> Iterator[tuple[duckdb.DuckDBPyConnection, dict[str, list[Any]]]]:
    """A connection with the tables of SWEEPS, and the rows of the call of each."""
    with engines.make("duckdb").connection.cursor() as cursor:
        for table, (query, _) in SWEEPS.items():
            cursor.execute(f"CREATE TEMP TABLE {table} AS {query}")
        yield (
            cursor,
            {table: cursor.execute(call).fetchall() for table, (_, call) in SWEEPS.items()},
        )


@pytest.mark.parametrize("name", NAMES_OF_SWEEPS)
def test_sweeps_of_any_name(
    sweeps: tuple[duckdb.DuckDBPyConnection, dict[str, list[Any]]], name: str
) -> None:
    """Their columns were checked in a subquery, where a table named like a column was not found."""
    con, wanted = sweeps
    for table, (_, call) in SWEEPS.items():
        con.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS FROM {table}")
        assert con.execute(re.sub(rf"\b{table}\b", name, call)).fetchall() == wanted[table]
    con.execute(f"DROP VIEW {name}")
