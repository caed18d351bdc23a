"""register() and bundle() on every kind of database."""

import inspect
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import duckdb
import pytest

import polars_clustereval as ce
from polars_clustereval.macros import cache, registration, text
from tests.support import macro_calls
from tests.test_both_sides import PYTHON_ONLY

GATE = pytest.mark.gate  # a registration takes a second
ROWS = "(SELECT * FROM (VALUES (0, 5), (0, 5), (1, 6), (1, 5)) AS rows(l, c))"
RAND = 0.5  # 3 of 6 pairs agree: (1, 2) together in both, (1, 3) and (2, 3) apart in both


def score(con: duckdb.DuckDBPyConnection, prefix: str = "clustereval.") -> float:
    aggregate = con.execute(f"SELECT {prefix}rand_score(l, c) FROM {ROWS}").fetchone()
    con.execute(f"CREATE OR REPLACE TEMP VIEW four AS {ROWS}")
    table = con.execute(f"SELECT rand_score FROM {prefix}external_report(four, l, c)").fetchone()
    assert aggregate == table
    assert table is not None
    return float(table[0])


def count(con: duckdb.DuckDBPyConnection, schema: str = "clustereval") -> int:
    query = "SELECT count(*) FROM duckdb_functions() WHERE schema_name = ?"
    (number,) = con.execute(query, [schema]).fetchall()[0]
    return int(number)


def test_in_memory_and_again() -> None:
    con = duckdb.connect()
    ce.register(con)
    before = count(con)
    ce.register(con)
    assert (score(con), count(con)) == (RAND, before)
    assert score(con.cursor()) == RAND


# Copies of the macros from the cache -------------------------------------------------------------

ALL_MACROS = (
    "SELECT function_name, function_type, parameters, comment, macro_definition "
    "FROM duckdb_functions() WHERE schema_name = 'clustereval' ORDER BY ALL"
)


def all_macros(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Every macro, its definition as sorted words: DuckDB writes EXCLUDE's columns in any order."""
    rows = con.execute(ALL_MACROS).fetchall()
    return [(*others, sorted(re.findall(r"\w+|\S", text))) for *others, text in rows]


def registered_macros(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    ce.register(con)
    return all_macros(con)


@GATE
def test_a_copy_equals_what_is_parsed() -> None:
    parsed = duckdb.connect()
    parsed.execute(ce.bundle())
    con = duckdb.connect()
    assert cache.copy_macros(con, ce.bundle())
    assert all_macros(con) == all_macros(parsed)
    databases = con.execute("SELECT database_name FROM duckdb_databases()").fetchall()
    assert {name for (name,) in databases} == {"memory", "system", "temp"}


@pytest.mark.gate
@pytest.mark.parametrize(
    "fault",
    [
        "no folder",
        pytest.param("no access", marks=GATE),
    ],
)
def test_macros_are_parsed_where_none_can_be_copied(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = registered_macros(duckdb.connect())
    con = duckdb.connect()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if fault == "no folder":
        (tmp_path / "polars_clustereval").write_text("in its place")
    else:
        con.execute("SET enable_external_access = false")
    assert not cache.copy_macros(con, ce.bundle())
    assert registered_macros(con) == wanted


FULL_DISK = """
import resource, duckdb, polars_clustereval as ce
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
con = duckdb.connect()
ce.register(con)
print(con.execute("SELECT clustereval.purity(0, 1)").fetchone()[0])
"""


@GATE
@pytest.mark.skipif(sys.platform == "win32", reason="limits of files as Unix has them")
@pytest.mark.parametrize("limit", [*(pytest.param(x, marks=GATE) for x in (0, 500_000)), 1_000_000])
def test_a_copy_without_space_is_not_kept(limit: int, tmp_path: Path) -> None:
    """DuckDB closes a database that it could not write without an error."""
    command = [sys.executable, "-c", FULL_DISK.format(limit=limit)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "1.0\n"
    assert not list((tmp_path / "polars_clustereval").iterdir())


@GATE
def test_a_transaction_takes_no_copy() -> None:
    """The caller can still roll it back."""
    con = duckdb.connect()
    con.begin()
    ce.register(con)
    assert count(con) > 0
    con.rollback()
    assert count(con) == 0


@GATE
def test_threads_copy_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into databases of their own, while none has made the copy yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: len(registered_macros(duckdb.connect())), range(8)))
    assert len(set(counts)) == 1
    assert len(list((tmp_path / "polars_clustereval").iterdir())) == 1


@pytest.mark.gate
def test_the_bundle_needs_no_package() -> None:
    con = duckdb.connect()
    con.execute(ce.bundle())
    assert score(con) == RAND


def test_a_file_keeps_them(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as con:
        ce.register(con)
    with duckdb.connect(tmp_path / "a.duckdb") as con:
        assert score(con) == RAND


def test_a_read_only_database(tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "a.duckdb").close()
    with duckdb.connect(tmp_path / "a.duckdb", read_only=True) as con:
        with pytest.raises(ce.ClusterEvalError, match=r"read-only.*temporary=True"):
            ce.register(con)
        ce.register(con, temporary=True)
        assert score(con, "clustereval_") == RAND


NAMES = [
    'my "own" größe',
    "select",
    "it's; DROP TABLE kept; --",
    "x clustereval.rand_score",
    "CREATE OR REPLACE MACRO",
    "CREATE SCHEMA IF NOT EXISTS clustereval;",
]


@pytest.mark.gate
@pytest.mark.parametrize(
    "schema", [NAMES[0], *(pytest.param(name, marks=GATE) for name in NAMES[1:])]
)
@pytest.mark.parametrize("temporary", [False, pytest.param(True, marks=GATE)])
def test_any_schema(schema: str, temporary: bool) -> None:
    con = duckdb.connect()
    ce.register(con, schema=schema, temporary=temporary)
    name = schema.replace('"', '""')
    query = f'SELECT "{name}_rand_score"' if temporary else f'SELECT "{name}".rand_score'
    assert con.execute(f"{query}(l, c) FROM {ROWS}").fetchone() == (RAND,)


@pytest.mark.wide
@pytest.mark.parametrize("database", NAMES)
def test_any_database(database: str) -> None:
    con = duckdb.connect()
    name = database.replace('"', '""')
    con.execute(f"""ATTACH ':memory:' AS "{name}" """)
    ce.register(con, database=database)
    assert score(con, f'"{name}".clustereval.') == RAND


# The comments of the bundle hold names of macros. Put there in place of these, what follows a line
# break in a name would be executed.
REFUSED = ["a\nDROP TABLE kept; --", "a\rb", "a\0b", "a\x1b[2J", "\ud800", "", 7]


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize(
    ("parameter", "others"),
    [("schema", {}), ("schema", {"temporary": True}), ("database", {})],
    ids=["schema", "temporary", "database"],
)
def test_a_name_that_is_refused(name: Any, parameter: str, others: dict[str, Any]) -> None:
    con = duckdb.connect()
    con.execute("CREATE TABLE kept AS SELECT 1")
    message = f"^{parameter}: expected a name without .*, got {re.escape(repr(name))}$"
    with pytest.raises(ce.ClusterEvalError, match=message):
        ce.register(con, **{parameter: name}, **others)
    assert con.execute("FROM kept").fetchall() == [(1,)]
    macros_made = con.execute("SELECT function_name FROM duckdb_functions() WHERE NOT internal")
    assert macros_made.fetchall() == []


def test_an_attached_database(tmp_path: Path) -> None:
    con = duckdb.connect()
    con.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS other")
    ce.register(con, database="other")
    assert score(con, "other.clustereval.") == RAND
    assert count(con) == count(con, "clustereval") > 0
    con.execute("USE other")
    assert score(con) == RAND


def test_after_use_of_an_attached_database(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "other.duckdb") as con:
        ce.register(con)
    con = duckdb.connect()
    con.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS renamed")
    con.execute("USE renamed")
    assert score(con) == RAND


def test_temporary_macros_belong_to_no_database() -> None:
    with pytest.raises(ce.ClusterEvalError, match="leave out database"):
        ce.register(duckdb.connect(), database="memory", temporary=True)


@GATE
def test_a_transaction_of_the_caller() -> None:
    con = duckdb.connect()
    con.begin()
    ce.register(con)
    assert score(con) == RAND
    con.rollback()
    assert count(con) == 0


@pytest.mark.gate
def test_all_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    con = duckdb.connect()
    ce.register(con)
    con.execute("CREATE OR REPLACE MACRO clustereval.version() AS 'old'")
    con.execute(f"COMMENT ON MACRO clustereval.version IS '{text.VERSION_COMMENT}'")
    before = count(con)
    broken = ce.bundle() + "\nCREATE MACRO clustereval.broken() AS no_such_function(1);"
    monkeypatch.setattr(registration, "bundle", lambda *_: broken)
    with pytest.raises(duckdb.Error, match="no_such_function"):
        ce.register(con)
    assert con.execute("SELECT clustereval.version()").fetchone() == ("old",)
    assert count(con) == before


# What a parameter of a function is called with in SQL.
ARGUMENTS = {
    "frame": "five",
    "frame_before": "five",
    "frame_after": "five",
    "frame_labels": "five",
    "frame_clusters": "five",
    "label": "l",
    "cluster": "c",
    "vector": "[x, y]",
    "columns": "[l]",
    "clusters": "[c]",
    "vec": "'1 2'",
    "id": "x",
    "run": "y",
    "reference": "1",
    "cluster_1": "l",
    "cluster_2": "c",
    "resample": "y",
    "removed": "1",
    "reduced_cluster": "l",
    "fold": "l",
    "centroids": "centers",
    "edges": "pairs",
    "neighbors": "pairs",
    "left": "one",
    "right": "two",
    "pairs": "pairs",
    "is_match": "one = 1",
    "distance": "one",
    "weight": "one",
}
FIVE = (
    "CREATE TEMP TABLE five AS SELECT * FROM (VALUES "
    "(0, 5, 0.0, 1.0), (0, 5, 0.5, 1.0), (0, 6, 9.0, 2.0), (1, 6, 9.5, 2.0), (1, 6, 9.0, 3.0)"
    ") AS rows(l, c, x, y)"
)


# Every public macro by its kind and the parameters without a default.
REQUIRED = {
    name: [
        parameter.name
        for parameter in inspect.signature(getattr(ce, name)).parameters.values()
        if parameter.default is parameter.empty
    ]
    for name in ce.__all__
    if name not in PYTHON_ONLY
}
TABLES = [name for name, required in REQUIRED.items() if required[0].startswith("frame")]
SCALARS = [name for name in REQUIRED if name not in TABLES]


def bind_single_macro(name: str) -> None:
    con = duckdb.connect()
    con.execute(FIVE)
    con.execute(
        "CREATE TABLE centers AS SELECT l AS fold, c AS cluster, [x, y] AS centroid FROM five"
    )
    con.execute("CREATE TABLE pairs AS SELECT x AS one, y AS two FROM five WHERE FALSE")
    registration.register_macro(con, name)
    arguments = ARGUMENTS | {"k": "1"}
    if name in ("choose_k", "gap_statistic"):
        registration.register_macro(con, "elbow")
        con.execute("CREATE TABLE swept AS FROM clustereval_elbow(five, [0.5], 1, 1)")
        arguments["frame"] = "swept"
        # A macro's default cannot be a column, as the function's is.
        arguments["reference"] = "swept, k" if name == "gap_statistic" else "swept"
    if name in ("merge_cluster_states", "internal_report_from_states"):
        registration.register_macro(con, "cluster_states")
        con.execute("CREATE TABLE states AS FROM clustereval_cluster_states(five, [x, y], c)")
        arguments["frame"] = "states"
    call = f"clustereval_{name}({', '.join(arguments[name] for name in REQUIRED[name])})"
    assert con.sql(f"FROM {call}" if name in TABLES else f"SELECT {call} FROM five").columns


@GATE
@pytest.mark.parametrize("name", [*TABLES, "rand_score", "adjusted_mutual_info_score"])
def test_a_single_macro_brings_all_that_it_calls(name: str) -> None:
    bind_single_macro(name)


@pytest.mark.wide
@pytest.mark.parametrize("name", SCALARS)
def test_any_single_macro_brings_all_that_it_calls(name: str) -> None:
    bind_single_macro(name)


def test_a_single_macro_brings_nothing_else() -> None:
    con = duckdb.connect()
    registration.register_macro(con, "rand_score")
    rows = con.execute(
        "SELECT function_name FROM duckdb_functions() WHERE function_name LIKE 'clustereval%'"
    ).fetchall()
    assert {name.removeprefix("clustereval_") for (name,) in rows} == set(
        text.macros_called_by("rand_score")
    )
    assert "_pair_statistics" in text.macros_called_by("rand_score")
    assert "_cells_as_list" not in text.macros_called_by("rand_score")
    assert score_of_one(con) == RAND


@pytest.fixture(scope="module")
def runs() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    con.execute(
        "CREATE TABLE runs AS SELECT i % 3 AS run, i % 5 AS l, i % 4 AS c FROM range(60) t(i)"
    )
    return con


AGGREGATES = [name for name in SCALARS if name != "parse_vector"]
GROUPED = "SELECT run, clustereval.{name}(l, c) AS score{more} FROM runs GROUP BY run "


# One of each kind of statistics and check; the wide tier tries the rest.
SHOWN = ("adjusted_rand_score", "purity", "pair_f_score", "normalized_mutual_info_score")


@pytest.mark.parametrize(
    ("more", "clauses"),
    [
        ("", "HAVING score > -9"),
        ("", "QUALIFY row_number() OVER (ORDER BY score DESC, run) <= 3"),
        (", 100 * score, rank() OVER (ORDER BY score)", "ORDER BY score"),
    ],
)
@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[] if x in SHOWN else pytest.mark.wide) for x in AGGREGATES],
)
def test_an_aggregate_stands_wherever_one_may(
    runs: duckdb.DuckDBPyConnection, name: str, more: str, clauses: str
) -> None:
    expected = runs.execute(GROUPED.format(name=name, more="")).fetchall()
    rows = runs.execute(GROUPED.format(name=name, more=more) + clauses).fetchall()
    assert sorted(row[:2] for row in rows) == sorted(expected)


def test_arguments_of_aggregates_are_checked(runs: duckdb.DuckDBPyConnection) -> None:
    """By a cast that fails, since error() may not stand in all these places."""
    for call, words in (
        ("rand_score('l', c)", "label: expected a column, got the quoted string 'l'"),
        ("purity(l, 'c')", "cluster: expected a column, got the quoted string 'c'"),
        ("v_measure_score(l, c, beta := -1)", "beta: expected a number >= 0, got -1"),
        (
            "normalized_mutual_info_score(l, c, average_method := 'mean')",
            "average_method: expected one of .* got 'mean'",
        ),
    ):
        for query in (
            f"SELECT clustereval.{call} FROM runs",
            f"SELECT 1 FROM runs HAVING clustereval.{call} > 0",
        ):
            with pytest.raises(duckdb.Error, match=words):
                runs.execute(query).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT clustereval.purity(l, c) FILTER (WHERE run = 1) FROM runs",
        "SELECT clustereval.purity(l, c) OVER (PARTITION BY run) FROM runs",
        "PIVOT runs ON run USING clustereval.purity(l, c)",
    ],
)
def test_what_the_page_says_that_no_macro_can(runs: duckdb.DuckDBPyConnection, query: str) -> None:
    """Where this passes one day, docs/duckdb.md can lose the form that it shows instead."""
    with pytest.raises(duckdb.Error):
        runs.execute(query).fetchall()


def score_of_one(con: duckdb.DuckDBPyConnection) -> float:
    (value,) = con.execute(f"SELECT clustereval_rand_score(l, c) FROM {ROWS}").fetchall()[0]
    return float(value)


def test_a_missing_macro_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    called = text.macros_called_by
    monkeypatch.setattr(
        registration,
        "macros_called_by",
        lambda name: tuple(macro for macro in called(name) if macro != "_halve"),
    )
    with pytest.raises(duckdb.Error, match="clustereval__halve"):
        bind_single_macro("external_report")


OURS = "SELECT clustereval.rand_score(l, c) FROM " + ROWS


def register_in_threads(con: duckdb.DuckDBPyConnection, n: int) -> None:
    """Let n threads register at once, and raise the error of any of them."""
    start = Barrier(n)

    def register(_: int) -> None:
        cursor = con.cursor()
        start.wait()
        ce.register(cursor)

    with ThreadPoolExecutor(n) as threads:
        list(threads.map(register, range(n)))


@GATE
def test_threads_may_register_at_once(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "a.duckdb") as con:
        register_in_threads(con, 4)
        register_in_threads(con, 4)
        assert con.execute(OURS).fetchone() == (RAND,)


def test_definitions_are_read_from_the_files_as_duckdb_reads_them() -> None:
    wanted = {name: [*macro.parameters] for name, macro in macro_calls.macros_by_name().items()}
    assert {name: given for name, (given, _) in text.macro_definitions().items()} == wanted


NO_SCHEMAS = {
    **dict.fromkeys(("temp", "system", "memory", "attached"), "a database with this name"),
    **dict.fromkeys(("pg_catalog", "information_schema"), "itself has a schema with this name"),
}


@pytest.mark.parametrize(("schema", "why"), NO_SCHEMAS.items())
def test_a_schema_that_cannot_be(schema: str, why: str) -> None:
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS attached")
    with pytest.raises(ce.ClusterEvalError, match=f"^schema: .*{why}.*; give another schema$"):
        ce.register(con, schema)


@GATE
@pytest.mark.parametrize("schema", NO_SCHEMAS)
def test_a_prefix_of_temporary_macros_that_no_schema_can_be(schema: str) -> None:
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS attached")
    ce.register(con, schema, temporary=True)
    assert con.execute(f"SELECT {schema}_rand_score(x, x) FROM range(3) t(x)").fetchone() == (1.0,)


@GATE
def test_while_another_transaction_registers() -> None:
    con = duckdb.connect()
    other = con.cursor()
    other.begin()
    ce.register(other)
    with pytest.raises(ce.ClusterEvalError, match="another transaction is changing the macros"):
        ce.register(con)
    other.rollback()
    ce.register(con)
    assert con.execute(OURS).fetchone() == (RAND,)


@pytest.mark.parametrize(
    ("create", "arguments", "call"),
    [
        ("MACRO main.purity(x) AS x", {"schema": "main"}, "main.purity"),
        ("MACRO MAIN.Purity(x) AS x", {"schema": "Main"}, "purity"),
        ("MACRO main.pair_counts(x) AS TABLE SELECT x", {"schema": "main"}, "pair_counts"),
        ("MACRO other.main.purity(x) AS x", {"database": "other", "schema": "main"}, "purity"),
        ("TEMP MACRO my_purity(x) AS x", {"schema": "my", "temporary": True}, "my_purity"),
        ("TEMP MACRO main_version() AS 1", {"schema": "main", "temporary": True}, "main_version"),
    ],
)
def test_macros_of_the_user_are_not_replaced(
    create: str, arguments: dict[str, Any], call: str
) -> None:
    con = duckdb.connect()
    con.execute("ATTACH ':memory:' AS other")
    con.execute(f"CREATE {create}")
    query = "SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal"
    before = con.execute(query).fetchall()
    words = f"has macros that are not from clustereval: {call.split('.')[-1]}; .* another schema"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.register(con, **arguments)
    assert con.execute(query).fetchall() == before


@GATE
def test_macros_of_the_user_with_other_names_stay() -> None:
    con = duckdb.connect()
    con.execute("CREATE MACRO mine(x) AS x + 1")
    for _ in range(2):
        ce.register(con, schema="main")
        ce.register(con, schema="main", temporary=True)
    assert con.execute("SELECT mine(1), version()").fetchone() == (2, ce.__version__)


def test_a_cursor_keeps_the_rows_of_the_connection() -> None:
    con = duckdb.connect()
    con.execute("FROM range(3)")
    ce.register(con.cursor())
    assert con.fetchall() == [(0,), (1,), (2,)]
    assert con.execute(OURS).fetchone() == (RAND,)


def test_recursions_by_key_have_union_all() -> None:
    """DuckDB 1.5 deprecates UNION there, and its shell warns of it."""
    unions = re.findall(r"USING KEY \([^;]*?\n    UNION( ALL)?\n    \(", ce.bundle())
    assert unions == [" ALL"] * ce.bundle().count("USING KEY (") == [" ALL"] * 5
