"""Both sides have the same names, parameters, columns, files and order, by introspection."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_clustereval as ce
from polars_clustereval import plots
from polars_clustereval.base.metric_facts import metric_facts
from polars_clustereval.base.tables import declared_tables
from polars_clustereval.base.unknown_names import OTHER_NAMES
from polars_clustereval.macros import sql_files
from tests.support import engines, registry
from tools.table_columns import named_columns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

pytestmark = pytest.mark.each

ROOT = Path(__file__).parent.parent
WRITERS_OF_SQL = {"bundle", "register", "to_sql", "write_database"}
#: Texts about the metrics: COMMENT ON MACRO is what the SQL side has.
TEXTS = {"describe"}
#: Functions of arrays, which SQL does not have.
OF_ARRAYS = {"distances_from_matrix"}
PYTHON_ONLY = {
    *("ClusterEvalError", "__version__", *WRITERS_OF_SQL, *registry.WITHOUT_MACRO),
    *(*TEXTS, *OF_ARRAYS),
}
SQL_ONLY = {"version"}
NO_METRICS = {"version", "parse_vector"}  # among the macros that give one value
FRAME = pl.DataFrame(
    {
        "label": [0, 0, 1, 1],
        "cluster": [0, 1, 1, 1],
        "id": [0, 1, 0, 3],
        "run": [0, 0, 1, 0],
        "k": [2, 2, 2, 2],
        "part": [0, 0, 1, 0],
        "place": [1, 1, 2, 1],
        "vector": [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [5.0, 5.0]],
    }
)
# The same rows with an id that no two of them share.
ROWS = FRAME.with_row_index("row")
CALLED_WITH_COLUMNS = registry.tables(*registry.GIVEN)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with engines.make("duckdb").connection.cursor() as cursor:
        cursor.register("frame", FRAME)
        cursor.register("rows", ROWS)
        yield cursor


def described_macros(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, list[str], str]]:
    """Public macros: name -> kind, parameters, comment."""
    rows = con.execute(
        "SELECT function_name, function_type, parameters, comment FROM duckdb_functions() "
        "WHERE schema_name = 'clustereval' AND NOT starts_with(function_name, '_') "
        "AND NOT regexp_matches(macro_definition, '_raise_(column|short)') "
        "AND NOT starts_with(comment, 'Not in SQL, ')"
    ).fetchall()
    return {name: (kind, parameters, comment) for name, kind, parameters, comment in rows}


# Columns that are numbers of rows or clusters, and no indices.
COUNTS = (
    *("n", "n_dropped", "n_noise", "n_dims", "n_labels", "n_clusters"),
    *("n_singletons", "n_evaluated"),
)


def columns_with_a_macro() -> dict[str, str]:
    """The indices that are columns of tables without expressions, and the call of each.

    dunn_index and density_based_validity are columns of tables of their own names.
    """
    tables = dict.fromkeys(registry.WITH_SCORES["points"], "vector")
    tables["matching_report"] = "label"
    none = ("n_within_pairs", "n_between_pairs", "std_error")
    return {
        column: f"{table}(tbl, {first}, cluster)"
        for table, first in tables.items()
        for column in getattr(ce, table)(FRAME, first, "cluster").columns
        if column not in (*COUNTS, *none, "dunn_index", "density_based_validity")
    }


def test_a_column_called_as_a_macro_says_where_it_is(con: duckdb.DuckDBPyConnection) -> None:
    query = (
        "SELECT function_name, comment FROM duckdb_functions() WHERE schema_name = 'clustereval' "
        "AND NOT starts_with(function_name, '_') "
        "AND regexp_matches(macro_definition, '_raise_(column|short)')"
    )
    comments = dict(con.execute(query).fetchall())
    short = {x for x, comment in comments.items() if comment.startswith("Not a metric: short for ")}
    for name in short:
        column = f"{OTHER_NAMES[name]} is a column of a table: SELECT {OTHER_NAMES[name]} FROM "
        words = f"{name} is short for a score: call {OTHER_NAMES[name]}[(]label, cluster[)]"
        with pytest.raises(duckdb.Error, match=f"{column}|{words}"):
            con.execute(f"SELECT clustereval.{name}(vector, cluster) FROM frame").fetchall()
    assert short >= {"ari", "ami", "nmi", "fmi", "vi", "mi", "ch", "db", "rmi", "emi", "sse"}
    comments = {name: text for name, text in comments.items() if name not in short}
    columns = columns_with_a_macro()
    assert comments.keys() == columns.keys()
    for name, call in columns.items():
        assert comments[name].startswith(f"Not an aggregate: a column of {call}. "), name
        words = f"{name} is a column of a table: SELECT {name} FROM {call}"
        with pytest.raises(duckdb.Error, match=re.escape(words)):
            con.execute(f"SELECT clustereval.{name}(vector, cluster) FROM frame").fetchall()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("davies_bouldin", "davies_bouldin_score"),
        ("calinski_harabasz", "calinski_harabasz_score"),
        ("adjusted_rand_index", "adjusted_rand_score"),
        ("vmeasure_score", "v_measure_score"),
        ("puritiy", "purity"),
    ],
)
def test_duckdb_suggests_public_names(
    con: duckdb.DuckDBPyConnection, typed: str, meant: str
) -> None:
    with pytest.raises(duckdb.Error, match=f'Did you mean "{meant}"'):
        con.execute(f"SELECT clustereval.{typed}(label, cluster) FROM frame")


def mirrored_functions() -> dict[str, FunctionType]:
    return {name: getattr(ce, name) for name in ce.__all__ if name not in PYTHON_ONLY}


def test_every_name_is_on_both_sides(con: duckdb.DuckDBPyConnection) -> None:
    assert set(described_macros(con)) - SQL_ONLY == set(mirrored_functions())


def test_every_parameter_is_on_both_sides(con: duckdb.DuckDBPyConnection) -> None:
    for name, (kind, parameters, _) in described_macros(con).items():
        if name in SQL_ONLY:
            continue
        ours = list(inspect.signature(mirrored_functions()[name]).parameters)
        if kind == "table_macro":
            ends = ("_before", "_after") if registry.kind_of(name) == "two runs" else ("",)
            ends = ("_labels", "_clusters") if registry.kind_of(name) == "covers" else ends
            n = len(ends)
            assert parameters[:n] == [f"tbl{end}" for end in ends], name
            assert ours[:n] == [f"frame{end}" for end in ends], name
            parameters, ours = parameters[n:], ours[n:]
        # In SQL, a SELECT list or a condition on the column metric chooses the metrics.
        assert parameters == [x for x in ours if x != "metrics"], name


def table_macros(con: duckdb.DuckDBPyConnection) -> set[str]:
    return {name for name, (kind, _, _) in described_macros(con).items() if kind == "table_macro"}


def test_the_registry_has_every_table(con: duckdb.DuckDBPyConnection) -> None:
    assert table_macros(con) == set(registry.tables())


@pytest.mark.parametrize("table", CALLED_WITH_COLUMNS)
def test_every_table_has_the_same_columns(con: duckdb.DuckDBPyConnection, table: str) -> None:
    arguments = [f"{list(x)}" if isinstance(x, tuple) else str(x) for x in registry.given(table)]
    if registry.kind_of(table) == "several clusterings":  # columns, where others have names
        arguments[0] = arguments[0].replace("'", "")
    result = con.execute(f"FROM clustereval.{table}(frame, {', '.join(arguments)})")
    columns = [column[0] for column in result.description]
    ours = getattr(ce, table)(FRAME, *registry.given(table)).columns
    assert columns == (ours if table == "vdm_encode" else ["partition_key", *ours])


@pytest.mark.parametrize("table", registry.tables("two runs"))
def test_every_table_of_two_runs_has_the_same_columns(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    result = con.execute(f"FROM clustereval.{table}(rows, rows, row, cluster)")
    columns = [column[0] for column in result.description]
    ours = getattr(ce, table)(ROWS, ROWS, "row", "cluster").columns
    assert columns == ["partition_key", *ours]
    method = getattr(ROWS.clustereval, table)  # type: ignore[attr-defined]
    assert method(ROWS, "row", "cluster").columns == ours


@pytest.mark.parametrize("table", registry.tables("graph", "neighbors"))
def test_every_table_of_graphs_has_the_same_columns(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    nodes = pl.DataFrame({"id": [1, 2], "cluster": [0, 0]})
    people = "nodes AS (SELECT 1 AS id, 0 AS cluster)"
    matches = "edges AS (SELECT 1 AS l, 2 AS r)"
    call = f"clustereval.{table}(nodes, id, cluster, edges, l, r)"
    columns = con.sql(f"WITH {people}, {matches} FROM {call}").columns
    arguments = ("id", "cluster", pl.DataFrame({"l": [1], "r": [2]}), "l", "r")
    ours = getattr(ce, table)(nodes, *arguments).columns
    assert columns == ["partition_key", *ours]
    method = getattr(nodes.clustereval, table)  # type: ignore[attr-defined]
    assert method(*arguments).columns == ours


@pytest.mark.parametrize("table", registry.tables("pair labels"))
def test_every_table_of_pair_labels_has_the_same_columns(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    rows = "rows AS (SELECT 1 AS id, 0 AS cluster)"
    pairs = "labels AS (SELECT 1 AS l, 1 AS r, TRUE AS m)"
    call = f"clustereval.{table}(rows, id, cluster, labels, l, r, m)"
    columns = con.sql(f"WITH {rows}, {pairs} FROM {call}").columns
    frame = pl.DataFrame({"id": [1], "cluster": [0]})
    arguments = ("id", "cluster", pl.DataFrame({"l": [1], "r": [1], "m": [True]}), "l", "r", "m")
    ours = getattr(ce, table)(frame, *arguments).columns
    assert columns == ["partition_key", *ours]
    method = getattr(frame.clustereval, table)  # type: ignore[attr-defined]
    assert method(*arguments).columns == ours


@pytest.mark.parametrize("table", registry.tables("distances"))
def test_every_table_of_distances_has_the_same_columns(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    points = "points AS (SELECT 1 AS id, 0 AS cluster)"
    pairs = "pairs AS (SELECT 1 AS l, 2 AS r, 0.5 AS d)"
    call = f"clustereval.{table}(points, id, cluster, pairs, l, r, d)"
    columns = con.sql(f"WITH {points}, {pairs} FROM {call}").columns
    frame = pl.DataFrame({"id": [1], "cluster": [0]})
    arguments = ("id", "cluster", pl.DataFrame({"l": [1], "r": [2], "d": [0.5]}), "l", "r", "d")
    ours = getattr(ce, table)(frame, *arguments).columns
    assert columns == ["partition_key", *ours]
    method = getattr(frame.clustereval, table)  # type: ignore[attr-defined]
    assert method(*arguments).columns == ours


@pytest.mark.parametrize("table", registry.tables("edges"))
def test_every_table_of_edges_has_the_same_columns(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    edges = "edges AS (SELECT 1 AS l, 2 AS r, 0.5 AS w)"
    call = f"clustereval.{table}(nodes, id, edges, l, r, w)"
    columns = con.sql(f"WITH nodes AS (SELECT unnest([1, 2]) AS id), {edges} FROM {call}").columns
    nodes = pl.DataFrame({"id": [1, 2]})
    arguments = ("id", pl.DataFrame({"l": [1], "r": [2], "w": [0.5]}), "l", "r", "w")
    ours = getattr(ce, table)(nodes, *arguments).columns
    assert columns == ["partition_key", *ours]
    method = getattr(nodes.clustereval, table)  # type: ignore[attr-defined]
    assert method(*arguments).columns == ours


@pytest.mark.parametrize("table", registry.tables("covers"))
def test_every_table_of_covers_has_the_same_columns(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    result = con.execute(f"FROM clustereval.{table}(rows, rows, row, label, cluster)")
    columns = [column[0] for column in result.description]
    ours = getattr(ce, table)(ROWS, ROWS, "row", "label", "cluster").columns
    assert columns == ["partition_key", *ours]
    method = getattr(ROWS.clustereval, table)  # type: ignore[attr-defined]
    assert method(ROWS, "row", "label", "cluster").columns == ours


@pytest.mark.parametrize("table", registry.tables("states"))
def test_every_table_of_states_has_the_same_columns(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    states = "WITH states AS (FROM clustereval.cluster_states(frame, vector, cluster))"
    result = con.execute(f"{states} FROM clustereval.{table}(states)")
    ours = getattr(ce, table)(ce.cluster_states(FRAME, "vector", "cluster")).columns
    assert [column[0] for column in result.description] == ["partition_key", *ours]


POINT_PARAMETERS = [
    *("vector", "cluster", "id", "distance", "p", "center"),
    *("partition_by", "noise", "noise_as", "weights"),
]

WITHOUT: dict[str, tuple[str, ...]] = {
    # States are of coordinates; distance and weights are options of their report.
    "cluster_states": ("id", "distance", "p", "center", "weights"),
    # Determinants are of the euclidean scatter: no distance to choose, and weights cancel.
    "determinant_report": ("id", "distance", "p", "center", "weights"),
    # Pairs have no center.
    "pairwise_report": ("id", "center"),
    "internal_findings": ("center",),
    "silhouette_clusters": ("center",),
    "silhouette_samples": ("center",),
    "silhouette_score": ("center",),
}
MORE = {
    "internal_findings": ("method", "sample_size", "reference_size", "random_state"),
    "dunn_index": ("generalized",),
    "pairwise_report": ("n_neighbors", "max_points"),
    "silhouette_samples": ("method", "between", "sample_size", "reference_size", "random_state"),
    "silhouette_clusters": ("method", "between", "sample_size", "reference_size", "random_state"),
    "silhouette_score": (
        *("method", "between", "tolerance", "sample_size", "reference_size"),
        *("confidence", "random_state"),
    ),
}


@pytest.mark.parametrize("table", registry.tables("points", "points of states"))
def test_every_table_of_points_has_the_same_parameters(
    con: duckdb.DuckDBPyConnection, table: str
) -> None:
    _, parameters, _ = described_macros(con)[table]
    signature = inspect.signature(mirrored_functions()[table]).parameters
    expected = [name for name in POINT_PARAMETERS if name not in WITHOUT.get(table, ("id",))]
    expected += [*MORE.get(table, ()), "missing"]
    assert parameters == ["tbl", *expected]
    assert [x for x in signature if x != "metrics"] == ["frame", *expected]


def test_every_report_column_is_a_metric_and_the_other_way_round(
    con: duckdb.DuckDBPyConnection,
) -> None:
    counts = ["n", "n_dropped", "n_noise", "n_labels", "n_clusters"]
    reports = [
        table(FRAME, "label", "cluster").columns
        for table in (ce.external_report, ce.entity_resolution_report)
    ]
    assert all(columns[:5] == counts for columns in reports)
    metrics = {
        name for name, (kind, _, _) in described_macros(con).items() if kind == "macro"
    } - NO_METRICS
    assert {name for columns in reports for name in columns[5:]} == metrics


def public_names(file: str) -> list[str]:
    """The macros of a file that users call, and the metrics whose formula is a macro there."""
    text = (ROOT / "sql" / f"{file}.sql").read_text(encoding="utf-8")
    macros = re.findall(r"^CREATE OR REPLACE MACRO clustereval\.(\w+)", text, re.MULTILINE)
    metrics = {f"_{name}": name for name in metric_facts()}
    names = (metrics.get(macro, macro) for macro in macros)
    return list(dict.fromkeys(name for name in names if name[0] != "_"))


def test_the_formula_of_each_metric_is_in_one_file() -> None:
    files = [file for file in sql_files() if "/" in file]
    names = [name for file in files for name in public_names(file)]
    assert sorted(name for name in names if name in metric_facts()) == sorted(metric_facts())


@pytest.mark.parametrize("file", [file for file in sql_files() if "/" in file])
def test_files_hold_the_same_names_in_the_same_order(file: str) -> None:
    names = [name for name in public_names(file) if name not in SQL_ONLY]
    code = {name: inspect.unwrap(getattr(ce, name)).__code__ for name in names}
    lines = {name: code[name].co_firstlineno for name in names}
    assert {getattr(ce, name).__module__ for name in names} <= {
        f"polars_clustereval.{file.replace('/', '.')}"
    }
    assert names == sorted(names, key=lines.__getitem__)


def test_every_sql_file_is_loaded() -> None:
    folder = ROOT / "sql"
    files = {str(path.relative_to(folder).with_suffix("")) for path in folder.glob("*/*.sql")}
    assert files | {"aggregates", "facts", "columns", "tables"} == set(sql_files())


def test_every_macro_has_a_comment(con: duckdb.DuckDBPyConnection) -> None:
    for name, (kind, _, comment) in described_macros(con).items():
        assert comment, name
        if kind == "macro" and name not in NO_METRICS:
            assert "Range" in comment or "best" in comment.lower(), name
            assert "Source: " in comment, name
            assert "CASE WHEN cluster <> -1 THEN cluster END" in comment, name


def test_every_function_says_what_it_is() -> None:
    for name, function in mirrored_functions().items():
        text = inspect.getdoc(function) or ""
        assert "Parameters" in text, name
        assert ">>>" in text, name
        assert f"clustereval.{name}(" in text, f"{name} does not name its SQL twin"


@pytest.mark.parametrize("name", registry.WITHOUT_MACRO)
def test_functions_without_a_macro_say_what_to_do(name: str) -> None:
    text = inspect.getdoc(getattr(ce, name)) or ""
    assert "Parameters" in text
    assert ">>>" in text
    reason = f"There is no SQL for this table, because {declared_tables()[name].no_sql_because}. "
    assert reason in " ".join(text.split())
    assert ".pl()" in text


#: What to call in place of the macros of tables without SQL.
CALLS_OUTSIDE_SQL = {
    "bootstrap_intervals": 'ce.bootstrap_intervals(con.sql(\'FROM tbl\').pl(), "label", "cluster")',
    "density_based_validity": (
        'ce.density_based_validity(con.sql(\'FROM tbl\').pl(), ["x", "y"], "cluster"), or '
        "clustereval density FILE"
    ),
    "density_based_validity_clusters": (
        'ce.density_based_validity_clusters(con.sql(\'FROM tbl\').pl(), ["x", "y"], "cluster"), or '
        "clustereval density FILE --show clusters"
    ),
    "permutation_test": 'ce.permutation_test(con.sql(\'FROM tbl\').pl(), "label", "cluster")',
    "suspicious_links": (
        'ce.suspicious_links(con.sql(\'FROM tbl\').pl(), "id", "cluster", '
        'con.sql(\'FROM edges\').pl(), "left", "right"), or '
        "clustereval graph FILE --edges EDGES --show links"
    ),
}


@pytest.mark.parametrize("name", registry.WITHOUT_MACRO)
def test_a_table_without_sql_is_an_error_that_names_the_call_in_python(
    con: duckdb.DuckDBPyConnection, name: str
) -> None:
    """The macro has the parameters of the function, so that no call fails for another reason."""
    because, use = declared_tables()[name].no_sql_because, CALLS_OUTSIDE_SQL[name]
    words = re.escape(
        f"{name}: expected a call in Python, got one in SQL, which cannot compute this table "
        f"because {because}; use {use}"
    )
    parameters = inspect.signature(getattr(ce, name)).parameters
    required = [x for x, parameter in parameters.items() if parameter.default is parameter.empty]
    given = ", ".join(f'"{x}"' for x in required)
    options = "".join(f", {x} := NULL" for x in parameters if x not in required)
    for arguments in (given, given + options):
        with pytest.raises(duckdb.InvalidInputException, match=f"{words}$"):
            con.execute(f"FROM clustereval.{name}({arguments})").fetchall()
    query = (
        "SELECT parameters, comment FROM duckdb_functions() "
        "WHERE schema_name = 'clustereval' AND function_name = ?"
    )
    macro = (["tbl", *list(parameters)[1:]], f"Not in SQL, because {because}. Use {use}.")
    assert con.execute(query, [name]).fetchall() == [macro]


@pytest.mark.parametrize("name", registry.WITHOUT_MACRO)
def test_the_calls_outside_sql_run(con: duckdb.DuckDBPyConnection, name: str) -> None:
    con.register("tbl", FRAME.with_columns(x="place", y="run", id=pl.int_range(pl.len())))
    con.register("edges", pl.DataFrame({"left": [0, 1], "right": [1, 3]}))
    call = CALLS_OUTSIDE_SQL[name].partition(", or ")[0]
    assert eval(call, {"ce": ce, "con": con}).columns == list(named_columns(name))


@pytest.mark.parametrize(
    "frame",
    [FRAME, pytest.param(FRAME.lazy(), marks=pytest.mark.gate)],
    ids=["DataFrame", "LazyFrame"],
)
def test_namespaces_have_every_frame_function(
    con: duckdb.DuckDBPyConnection, frame: pl.DataFrame | pl.LazyFrame
) -> None:
    """A method returns the table of the function of its name, and hands on all arguments."""
    namespace = frame.clustereval  # type: ignore[union-attr]
    drawn = set(registry.DRAWN_BY_NUMPY)
    tables = table_macros(con) | {*registry.WITHOUT_MACRO}
    assert tables | {*plots.__all__} == {name for name in dir(namespace) if name[0] != "_"}
    for name in {*CALLED_WITH_COLUMNS, *drawn}:
        columns = ("label", "cluster") if name in drawn else registry.given(name)
        got = getattr(namespace, name)(*columns, partition_by="part")
        assert isinstance(got, type(frame)), name
        wanted = getattr(ce, name)(FRAME, *columns, partition_by="part")
        assert_frame_equal(got.lazy().collect(), wanted)


def test_one_version_everywhere(con: duckdb.DuckDBPyConnection) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    in_sql = con.execute("SELECT clustereval.version()").fetchone()
    assert (ce.__version__,) == in_sql == (project["version"],)
