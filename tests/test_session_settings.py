"""A DuckDB session's settings, and a user's own macros and collations, change no number.

Every macro is called in a session of each kind, and its rows are compared, in order, with those of
a session that has the defaults.
"""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Any

import duckdb
import pytest

import polars_clustereval as ce
from polars_clustereval.macros import sql_folder
from tests.support import registry
from tests.support.compare import is_near
from tests.support.registry import METRICS

pytestmark = pytest.mark.gate

# Settings that concern order, arithmetic, comparison or plans.
SETTINGS = {
    "descending": "SET default_order = 'DESC'",
    "nulls_first": "SET default_null_order = 'NULLS_FIRST'",
    "descending_nulls_by_order": (
        "SET default_order = 'DESC'; SET default_null_order = 'NULLS_FIRST_ON_ASC_LAST_ON_DESC'"
    ),
    "integer_division": "SET integer_division = true",
    "no_ieee_arithmetic": "SET ieee_floating_point_ops = false",
    "default_collation": "SET default_collation = 'NOCASE'",
    "any_row_order": "SET preserve_insertion_order = false",
    "plain_plans": "PRAGMA disable_optimizer",
    "one_thread": "SET threads = 1",
}

LABELS = ["a", "a", "c", None, "b", "b"]
DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")
NOISE = "noise := -1, noise_as := 'singletons'"


def make_rows() -> list[tuple[Any, ...]]:
    """Rows of id, label, cluster, run, weight and coordinates, with NULLs, ties and noise."""
    draw = random.Random(12)
    return [
        (
            i if i != 9 else None,
            LABELS[draw.randrange(6)],
            [-1, 0, 1, 2, 2, None][draw.randrange(6)],
            [None, "r", "s"][i % 3],
            draw.randrange(4),
            *(float(draw.randrange(-6, 7)) + (i % 3) * 2 for _ in range(3)),
        )
        for i in range(90)
    ]


def list_calls() -> list[str]:
    """Calls of all macros: all kinds of reports, distances, centers, noise and partitions."""
    calls = [
        "SELECT "
        + ", ".join(f"clustereval.{metric}(label, cluster)" for metric in METRICS[i : i + 8])
        for i in range(0, len(METRICS), 8)
    ]
    calls = [f"{call} FROM points GROUP BY run ORDER BY run ASC NULLS LAST" for call in calls]
    calls += [
        f"FROM clustereval.{table}(points, label, cluster, {options})"
        for table in registry.tables("labels", "replication")
        for options in ("weight := weight, partition_by := run", f"partition_by := run, {NOISE}")
    ]
    calls += ["FROM clustereval.external_report(points, label, cluster, adjusted := false)"]
    calls += [
        f"FROM clustereval.{table}(points, label, cluster, {options})"
        for table in registry.tables("records")
        for options in ("id", f"partition_by := {{r: run, w: weight}}, {NOISE}")
    ]
    calls += [
        f"FROM clustereval.{table}(points, [x, 'label', y], cluster, {options})"
        for table in registry.tables("attributes")
        for options in ("weight := weight", "partition_by := run, noise := -1, noise_as := 'drop'")
    ]
    calls += [
        f"FROM clustereval.clustering_summary(points, cluster, {options})"
        for options in ("label, weight := weight", f"name := label, partition_by := run, {NOISE}")
    ]
    calls += [
        f"FROM clustereval.cluster_size_findings(points, cluster, {options})"
        for options in ("weight := weight", f"partition_by := run, {NOISE}")
    ]
    vectors = [
        (table, f"distance := '{DISTANCES[(i + j) % 6]}', {options}")
        for i, table in enumerate(registry.tables("points", takes="distance"))
        for j, options in enumerate(("partition_by := run", NOISE))
    ]
    vectors += [("internal_report", "center := 'median', partition_by := run")]
    vectors += [("determinant_report", options) for options in ("partition_by := run", NOISE)]
    vectors += [
        ("silhouette_samples", "id := id, partition_by := run"),
        ("silhouette_score", "method := 'bounds', partition_by := run"),
        ("silhouette_score", "method := 'sample', sample_size := 7, partition_by := run"),
        ("silhouette_score", "tolerance := 0.05, partition_by := run"),
    ]
    calls += [
        f"FROM clustereval.{table}(points, [x, y, z], cluster, {options})"
        for table, options in vectors
    ]
    calls += [
        f"FROM clustereval.{table}(points, label, cluster, {options})"
        for table, options in (
            ("bootstrap_instability", "run, weight := weight"),
            ("external_differences", f"id % 5, partition_by := run, {NOISE}"),
            *(
                ("external_differences", f"id % 5, labels_are_sample := '{design}', {NOISE}")
                for design in ("uniform", "records")
            ),
        )
    ]
    calls += [
        f"FROM clustereval.compare_clusterings(points, [cluster, id % 5], {options})"
        for options in (f"label, partition_by := run, {NOISE}", "vector := [x, y, z]")
    ]
    runs = (
        "WITH runs AS (SELECT id // 3 AS object, * FROM points WHERE id < 80 AND run IS NOT NULL)"
    )
    calls += [
        f"{runs} FROM clustereval.{table}(runs, object, run, cluster, {options})"
        for table, options in (
            ("run_agreement", "metric := 'v_measure_score', partition_by := label"),
            ("run_agreement", NOISE),
            ("run_consensus", "metric := 'mirkin_metric'"),
            ("cluster_stability", f"'r', {NOISE}"),
        )
    ]
    encoded = "clustereval.vdm_encode(points, ['label', 'weight'], cluster, partition_by := run)"
    texts = ("'$5$3:1.5 0:2 1:-1'", "'1, 2, 3'", "'2:1 0:3', size := 4")
    calls += [f"SELECT clustereval.parse_vector({text})" for text in texts]
    calls += [f"SELECT id, label_vdm, weight_vdm FROM {encoded} ORDER BY id ASC NULLS LAST, x"]
    calls += [
        f"FROM clustereval.elbow(sweep, [x, y, z], cluster, k, {options})"
        for options in ("partition_by := run", "silhouette := 'simplified'", NOISE)
    ]
    calls += [
        "FROM clustereval.uniform_reference(points, [x, y, z], n_sets := 2, partition_by := run)",
        "FROM clustereval.gap_statistic(observed, reference, partition_key.r)",
        "FROM clustereval.choose_k(observed)",
        "FROM clustereval.choose_k(observed, partition_by := partition_key)",
    ]
    calls += [
        "FROM clustereval.assign_nearest(points, [x, y, z], centers, partition_by := run)",
        (
            "FROM clustereval.cross_validation(points, [x, y, z], cluster, run, models, "
            "distance := 'cosine')"
        ),
        (
            "FROM clustereval.column_stability(points, [x, y, z], cluster, 1 + weight % 3, label, "
            "partition_by := run)"
        ),
    ]
    calls += [
        (
            "FROM clustereval.cluster_states(points, [x, y, z], cluster, partition_by := run, "
            "noise := -1, noise_as := 'drop')"
        ),
        "FROM clustereval.merge_cluster_states(states, partition_by := partition_key.w)",
        "FROM clustereval.internal_report_from_states(states, partition_by := partition_key.w)",
        "FROM clustereval.internal_report_from_states(states, distance := 'sqeuclidean')",
    ]
    nights = "WITH one AS (FROM points WHERE id % 4 > 0), two AS (FROM moved WHERE id % 5 > 0)"
    calls += [
        f"{nights} FROM clustereval.{table}(one, two, id, cluster, {options})"
        for table in registry.tables("two runs")
        for options in (f"partition_by := run, {NOISE}", "threshold := 0.3")
        if (table, options) != ("affected_ids", "threshold := 0.3")
    ]
    calls += [
        f"FROM clustereval.{table}(members, id, cluster, links, one, two, {options})"
        for table in registry.tables("graph")
        for options in (f"weight := w, partition_by := run, {NOISE}", "weight := w")
    ]
    calls += [
        f"FROM clustereval.{table}(members, id, cluster, pairs, one, two, d{options})"
        for table in registry.tables("distances")
        for options in (f", partition_by := run, {NOISE}", "")
    ]
    calls += [
        f"FROM clustereval.{table}(members, id, cluster, links, one, two, {options})"
        for table in registry.tables("neighbors")
        for options in (f"distance := w, partition_by := run, {NOISE}", "distance := w")
    ]
    calls += [
        f"FROM clustereval.{table}(members, id, links, one, two, w{options})"
        for table in registry.tables("edges")
        for options in (", partition_by := run", "")
    ]
    calls += [
        f"FROM clustereval.{table}(members, id, cluster, links, one, two, w < 3, {options})"
        for table in registry.tables("pair labels")
        for options in (f"weight := 1 + w, partition_by := run, {NOISE}", "confidence := 0.9")
    ]
    calls += [
        f"{nights} FROM clustereval.overlapping_report(one, two, id, label, cluster, {options})"
        for options in ("partition_by := run", "beta := 0.5")
    ]
    calls += [
        (
            "WITH one AS (FROM points WHERE id IS NOT NULL) "
            "FROM clustereval.nearest_neighbors(one, [x, y, z], id, partition_by := run)"
        ),
        "FROM clustereval.nearest_neighbors(points, [x, y], distance := 'cosine')",
    ]
    calls += ["SELECT clustereval.version()"]
    return calls


CALLS = list_calls()


def connect(before: str = "", after: str = "") -> duckdb.DuckDBPyConnection:
    """A connection with the macros and the rows; `before` and `after` run around register()."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE points(id INTEGER, label VARCHAR, cluster INTEGER, run VARCHAR, "
        "weight INTEGER, x DOUBLE, y DOUBLE, z DOUBLE)"
    )
    con.executemany("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?)", make_rows())
    con.execute(before)
    ce.register(con)
    con.execute(after)
    # Each k is a clustering of its own: equal ones would tie, and rounding would pick the best k.
    con.execute(
        "CREATE TABLE sweep AS SELECT * REPLACE (CASE WHEN cluster < 0 THEN cluster "
        "ELSE (cluster + weight) % k END AS cluster) FROM points, range(1, 5) AS numbers (k)"
    )
    con.execute(
        "CREATE TABLE centers AS SELECT run AS partition_key, found.cluster, found.centroid "
        "FROM (SELECT DISTINCT run FROM points) AS runs, "
        "clustereval.centroids(points, [x, y, z], cluster) AS found"
    )
    con.execute(
        "CREATE TABLE models AS SELECT partition_key AS fold, cluster, centroid FROM centers"
    )
    con.execute("CREATE TABLE members AS FROM points WHERE id IS NOT NULL")
    con.execute(
        "CREATE TABLE links AS SELECT a.id AS one, b.id AS two, a.run, a.id * b.id % 5 AS w "
        "FROM points AS a JOIN points AS b ON a.run IS NOT DISTINCT FROM b.run "
        "WHERE (a.id * 7 + b.id * 3) % 11 < 2"
    )
    # All pairs; those of two runs are used without partitions only.
    con.execute(
        "CREATE TABLE pairs AS SELECT a.id AS one, b.id AS two, a.run, "
        "abs(a.x - b.x) + abs(a.y - b.y) AS d FROM members AS a JOIN members AS b ON a.id < b.id"
    )
    con.execute(
        "CREATE TABLE moved AS SELECT * REPLACE "
        "(CASE WHEN id % 7 = 0 THEN 2 - cluster ELSE cluster END AS cluster) FROM points"
    )
    con.execute(
        "CREATE TABLE states AS FROM clustereval.cluster_states(points, [x, y, z], cluster, "
        "partition_by := {r: run, w: weight})"
    )
    for table, key in (("observed", "NULL"), ("reference", "{r: weight}")):
        con.execute(
            f"CREATE TABLE {table} AS FROM clustereval.elbow(sweep, [x, y, z], cluster, k, "
            f"partition_by := {key})"
        )
    return con


def answer(con: duckdb.DuckDBPyConnection, call: str) -> list[tuple[Any, ...]]:
    return con.execute(call).fetchall()


@cache
def usual_answer(call: str) -> list[tuple[Any, ...]]:
    """What a session with the defaults answers."""
    return answer(usual_session(), call)


@cache
def usual_session() -> duckdb.DuckDBPyConnection:
    return connect()


def test_every_public_macro_is_called() -> None:
    for name in [*registry.tables(), *registry.METRICS, "parse_vector"]:
        assert any(f"clustereval.{name}(" in call for call in CALLS), name


@pytest.mark.wide
@pytest.mark.parametrize("setting", SETTINGS)
def test_no_single_setting_changes_a_number(setting: str) -> None:
    con = connect(after=SETTINGS[setting])
    assert [call for call in CALLS if not is_near(answer(con, call), usual_answer(call))] == []


def macro_definitions(
    con: duckdb.DuckDBPyConnection, schema: str = "clustereval"
) -> list[tuple[Any, ...]]:
    """The macros with their parameters and bodies, in the order of their names."""
    query = (
        "SELECT to_json({name: function_name, kind: function_type, names: parameters, "
        "body: macro_definition}) AS macro FROM system.main.duckdb_functions() "
        "WHERE schema_name = $schema ORDER BY macro ASC NULLS LAST"
    )
    return con.execute(query, {"schema": schema}).fetchall()


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_before_registration_changes_no_macro(setting: str) -> None:
    """So that what holds of settings after registration holds of those before it."""
    con = duckdb.connect()
    con.execute(SETTINGS[setting])
    ce.register(con)
    found = macro_definitions(con)
    assert len(found) > len(METRICS)
    assert found == macro_definitions(usual_session())


@pytest.mark.gate
def test_settings_before_macros_are_parsed_change_no_macro() -> None:
    """A schema of another name has no copy in the cache; integer_division is read by the parser."""
    plain, con = duckdb.connect(), duckdb.connect()
    con.execute("; ".join(SETTINGS.values()))
    for each in (plain, con):
        ce.register(each, schema="scores")
    assert macro_definitions(con, "scores") == macro_definitions(plain, "scores")
    assert con.execute("SELECT current_setting('integer_division')").fetchone() == (True,)


# DuckDB itself calls these by bare names: in list_append, list_prepend and COLUMNS(lambda ...).
CALLED_BY_DUCKDB = {"list_concat", "list_filter"}
CALLED = re.compile(r"(?<![\w.])([a-z]\w*)\(", re.IGNORECASE)


def shadow_functions(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Create macros of the user with the names of all functions of DuckDB that ours call."""
    sources = "".join(path.read_text() for path in sql_folder().glob("**/*.sql"))
    functions = con.execute("SELECT lower(function_name) FROM duckdb_functions()").fetchall()
    names = set(map(str.lower, CALLED.findall(sources))) & {name for (name,) in functions}
    names -= CALLED_BY_DUCKDB
    for name in sorted(names):
        con.execute(
            f"""CREATE MACRO main."{name}"(x) AS system.main.error('the macro of the user')"""
        )
    return names


@pytest.fixture(scope="module")
def hostile_session() -> duckdb.DuckDBPyConnection:
    """All settings at once, and macros of the user that raise an error when they are called.

    Without the collation, for which DuckDB itself calls arg_min by its bare name.
    """
    settings = [text for name, text in SETTINGS.items() if name != "default_collation"]
    con = connect(before="; ".join(settings))
    names = shadow_functions(con)
    assert {"fsum", "median", "ln", "list_sort", "unnest"} < names
    with pytest.raises(duckdb.Error, match="the macro of the user"):
        con.execute("SELECT fsum(x) FROM points")
    return con


@pytest.mark.gate
@pytest.mark.parametrize("call", CALLS)
def test_settings_and_macros_of_the_user_change_no_number(
    hostile_session: duckdb.DuckDBPyConnection, call: str
) -> None:
    assert is_near(answer(hostile_session, call), usual_answer(call))


TEXTS = ["b", "A", "C", "a", "a", "B", "c", "A", "b", "a"]


def connect_with_collation(texts: list[str], collation: str) -> duckdb.DuckDBPyConnection:
    """A connection with the macros and a table of texts, numbers and vectors."""
    con = duckdb.connect()
    ce.register(con)
    con.execute(f"CREATE TABLE rows(text VARCHAR {collation}, number INTEGER, x DOUBLE)")
    con.executemany(
        "INSERT INTO rows VALUES (?, ?, ?)",
        [(text, i % 3, (i * 7 % 5) / 2) for i, text in enumerate(texts)],
    )
    return con


@pytest.mark.parametrize(
    "setting", ["", pytest.param("SET default_collation = 'NOCASE'", marks=pytest.mark.gate)]
)
def test_a_collation_is_followed_by_reports(setting: str) -> None:
    collation = "" if setting else "COLLATE NOCASE"
    con = connect_with_collation(TEXTS, collation)
    con.execute(setting)
    lower = connect_with_collation([text.lower() for text in TEXTS], "")
    for query in (
        "SELECT * FROM clustereval.external_report(rows, text, number)",
        "FROM clustereval.external_report(rows, number, text, noise := 'a', noise_as := 'drop')",
        "SELECT * FROM clustereval.pair_counts(rows, text, number, partition_by := text)",
        "SELECT n, copies FROM clustereval.contingency_matrix(rows, text, number)",
        "SELECT n, ssw FROM clustereval.internal_cluster_report(rows, [x], text)",
        "SELECT * FROM clustereval.silhouette_score(rows, [x], text)",
        "SELECT * EXCLUDE (text) FROM clustereval.vdm_encode(rows, [text], text)",
    ):
        found, expected = ([row[1:] for row in c.execute(query).fetchall()] for c in (con, lower))
        assert is_near(found, expected), query


@pytest.fixture(scope="module", params=["", "SET default_collation = 'NOCASE'"])
def collated(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    con = connect_with_collation(TEXTS, "" if request.param else "COLLATE NOCASE")
    con.execute(request.param)
    return con


@pytest.mark.gate
@pytest.mark.parametrize("metric", METRICS)
def test_a_collation_is_refused_by_aggregates(
    collated: duckdb.DuckDBPyConnection, metric: str
) -> None:
    for name, given in (("label", "text, number"), ("cluster", "number, text")):
        words = (
            f"{name}: expected values that differ to DuckDB, got 'A' and 'a', equal by the "
            f"collation; pass lower({name}) to count them as one, or {name} COLLATE C to tell them "
            "apart"
        )
        with pytest.raises(duckdb.Error, match=re.escape(words)):
            collated.execute(f"SELECT clustereval.{metric}({given}) FROM rows")


@pytest.fixture(scope="module")
def without_equal_values() -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection]:
    """The same texts with a collation and, in lower case, without one."""
    return (
        connect_with_collation([*"bAcDbAAcD", "DD"], "COLLATE NOCASE"),
        connect_with_collation([*"bacdbaacd", "dd"], ""),
    )


@pytest.mark.gate
@pytest.mark.parametrize("metric", METRICS)
def test_a_collation_without_equal_values_changes_nothing(
    without_equal_values: tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection], metric: str
) -> None:
    query = f"SELECT clustereval.{metric}(text, number), clustereval.{metric}(number, text)"
    found, wanted = (con.execute(f"{query} FROM rows").fetchall() for con in without_equal_values)
    assert is_near(found, wanted)


def test_what_the_advice_of_the_refusal_gives() -> None:
    con = connect_with_collation(TEXTS, "COLLATE NOCASE")
    lower = connect_with_collation([text.lower() for text in TEXTS], "")
    plain = connect_with_collation(TEXTS, "")
    query = "SELECT clustereval.adjusted_rand_score({}, number) FROM rows"
    for text, other in (("lower(text)", lower), ("text COLLATE C", plain)):
        found = con.execute(query.format(text)).fetchall()
        assert is_near(found, other.execute(query.format("text")).fetchall())
