"""Macros as a database: write_database(), and what a client sees that attaches its file."""

from __future__ import annotations

import re
import subprocess
import sys
from decimal import Decimal
from functools import cache
from pathlib import Path
from time import perf_counter

import duckdb
import pytest

import polars_clustereval as ce
from polars_clustereval.macros import database
from polars_clustereval.macros.cache import cached_database

pytestmark = pytest.mark.gate

IRIS = Path(__file__).parent.parent.parent / "examples" / "iris.parquet"
MACROS = (
    "SELECT function_name, function_type, parameters, comment FROM duckdb_functions() "
    "WHERE database_name = $1 AND NOT internal ORDER BY ALL"
)
# What a report of each kind returns; the aggregates call private macros, and the tables tables.
QUERIES = (
    "SELECT clustereval.adjusted_rand_score(species, kmeans) FROM flowers",
    "SELECT kmeans, clustereval.purity(species, kmeans) FROM flowers GROUP BY kmeans ORDER BY ALL",
    "FROM clustereval.external_report(flowers, species, kmeans)",
    "FROM clustereval.external_report(flowers, species, kmeans, noise := 1, noise_as := 'drop')",
    "FROM clustereval.contingency_matrix(flowers, species, kmeans)",
    "FROM clustereval.internal_report(flowers, [petal_length, petal_width], kmeans)",
    "FROM clustereval.silhouette_score(flowers, [petal_length, petal_width], kmeans)",
    "FROM clustereval.determinant_report(flowers, [petal_length, petal_width], kmeans)",
    "FROM clustereval.run_agreement(runs, id, run, cluster)",
)
TABLES = f"""
CREATE TEMP TABLE flowers AS FROM '{IRIS}';
CREATE TEMP TABLE runs AS FROM (SELECT id, kmeans, agglomerative FROM flowers)
UNPIVOT (cluster FOR run IN (kmeans, agglomerative));
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("database") / "clustereval.duckdb"
    ce.write_database(path)
    return path


def attach(con: duckdb.DuckDBPyConnection, path: Path, name: str = "clustereval") -> None:
    con.execute(f"ATTACH '{path}' AS {name} (READ_ONLY)")


def all_answers(con: duckdb.DuckDBPyConnection) -> list[object]:
    """The values of all rows of all queries, one after the other."""
    con.execute(TABLES)
    return [value for query in QUERIES for row in con.execute(query).fetchall() for value in row]


@cache
def answers_of_registered_macros() -> list[object]:
    """To be compared with others: threads add up in any order."""
    values = all_answers(register_in_memory())
    return [pytest.approx(x, rel=1e-13) if isinstance(x, float) else x for x in values]


def register_in_memory() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    return con


def test_it_holds_every_macro_and_nothing_else(file: Path) -> None:
    con = duckdb.connect()
    attach(con, file)
    wanted = register_in_memory().execute(MACROS, ["memory"]).fetchall()
    assert con.execute(MACROS, ["clustereval"]).fetchall() == wanted
    assert len(wanted) > 400
    for kind in ("tables", "views", "sequences", "types"):
        query = f"SELECT * FROM duckdb_{kind}() WHERE database_name = 'clustereval' AND NOT {{}}"
        internal = "FALSE" if kind == "sequences" else "internal"
        assert con.execute(query.format(internal)).fetchall() == []


def test_every_macro_calls_those_of_the_file() -> None:
    """A call that the file does not name by its own database would find other macros, or none."""
    text = ce.bundle("main", "clustereval")
    code = re.sub(r"--.*|'(?:[^']|'')*'", "", text)
    assert not re.search(r'(?<!")\bclustereval\.', code)
    assert '"clustereval"."main"._' in code


@pytest.mark.gate
def test_the_same_answers_as_registered_macros(file: Path) -> None:
    con = duckdb.connect()
    attach(con, file)
    found = all_answers(con)
    assert found == answers_of_registered_macros()
    assert found[0] == pytest.approx(0.7302382722834697, rel=1e-12)  # scikit-learn's


def test_without_the_package(file: Path) -> None:
    """In a process that imports nothing but duckdb."""
    code = (
        "import duckdb, sys; con = duckdb.connect(); "
        f"con.execute(\"ATTACH '{file}' AS clustereval (READ_ONLY)\"); "
        f"print(con.execute('SELECT clustereval.rand_score(species, kmeans) FROM \"{IRIS}\"')"
        ".fetchone()[0], 'polars_clustereval' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    score, imported = done.stdout.split()
    assert (round(float(score), 6), imported) == (0.879732, "False")


@pytest.mark.parametrize("read_only", [False, True])
def test_nothing_is_written_to_a_database_of_the_user(
    file: Path, tmp_path: Path, read_only: bool
) -> None:
    mine = tmp_path / "mine.duckdb"
    with duckdb.connect(mine) as con:
        con.execute(f"CREATE TABLE flowers AS FROM '{IRIS}'")
    before = mine.read_bytes(), file.read_bytes()
    with duckdb.connect(mine, read_only=read_only) as con:
        attach(con, file)
        report = "SELECT n, purity FROM clustereval.external_report(flowers, species, kmeans)"
        assert con.execute(report).fetchone() == (150, pytest.approx(134 / 150, rel=1e-15))
        assert con.cursor().execute(report).fetchone() is not None
        assert con.execute(MACROS, ["mine"]).fetchall() == []
    assert (mine.read_bytes(), file.read_bytes()) == before
    assert {path.name for path in tmp_path.iterdir()} == {"mine.duckdb"}


@pytest.mark.gate
def test_while_another_database_is_current(file: Path) -> None:
    con = duckdb.connect()
    attach(con, file)
    con.execute("ATTACH ':memory:' AS other")
    con.execute("USE other")
    assert all_answers(con) == answers_of_registered_macros()


def test_opened_on_its_own(file: Path) -> None:
    """As in `duckdb clustereval.duckdb`: its name is that of the file."""
    with duckdb.connect(file, read_only=True) as con:
        query = "SELECT clustereval.rand_score(x, x), rand_score(x, x) FROM range(3) AS t (x)"
        assert con.execute(query).fetchone() == (1.0, 1.0)


@pytest.mark.gate
def test_under_another_name(file: Path, tmp_path: Path) -> None:
    con = duckdb.connect()
    attach(con, file, "renamed")
    assert con.execute("SELECT renamed.version()").fetchone() == (ce.__version__,)
    con.execute("CREATE TABLE t AS SELECT 1 AS l, 2 AS c")
    # DuckDB 2.0.1 names the schema, earlier versions the catalog.
    with pytest.raises(duckdb.Error, match=r'"clustereval(\.main)?" does not exist'):
        con.execute("SELECT renamed.rand_score(l, c) FROM t")
    with pytest.raises(duckdb.CatalogException, match=r"clustereval\.main\._external_report"):
        con.execute("FROM renamed.external_report(t, l, c)")
    name = 'my "own"'
    ce.write_database(tmp_path / "own.duckdb", name)
    quoted = '"my ""own"""'
    attach(con, tmp_path / "own.duckdb", quoted)
    assert con.execute(f"SELECT {quoted}.rand_score(l, c) FROM t").fetchone() == (1.0,)
    assert con.execute(f"SELECT n FROM {quoted}.external_report(t, l, c)").fetchone() == (1,)


def test_beside_a_schema_of_the_same_name(file: Path) -> None:
    con = register_in_memory()
    attach(con, file)
    with pytest.raises(duckdb.BinderException, match="Ambiguous reference"):
        con.execute("SELECT clustereval.purity(1, 2)")
    query = "SELECT clustereval.main.purity(1, 2), memory.clustereval.version()"
    assert con.execute(query).fetchone() == (1.0, ce.__version__)


@pytest.mark.gate
def test_attaching_takes_a_fraction_of_parsing(file: Path) -> None:
    def seconds(execute: object) -> float:
        con = duckdb.connect()
        start = perf_counter()
        execute(con)  # type: ignore[operator]
        return perf_counter() - start

    text = ce.bundle()
    parsing = min(seconds(lambda con: con.execute(text)) for _ in range(2))
    attaching = min(seconds(lambda con: attach(con, file)) for _ in range(4))
    assert attaching < parsing / 4


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.duckdb"
    path.write_text("not yours")
    with pytest.raises(ce.ClusterEvalError, match=r"kept\.duckdb: the file exists .*: delete it"):
        ce.write_database(path)
    assert path.read_text() == "not yours"
    with pytest.raises(ce.ClusterEvalError, match="the file exists"):
        ce.write_database(tmp_path)
    with pytest.raises(ce.ClusterEvalError, match=r"missing: no such directory"):
        ce.write_database(tmp_path / "missing" / "a.duckdb")


@pytest.mark.parametrize("name", ["main", "Temp", "system", "memory", "pg_catalog"])
def test_a_name_that_duckdb_has(tmp_path: Path, name: str) -> None:
    with pytest.raises(ce.ClusterEvalError, match=f"^name: DuckDB itself has a .* '{name}'"):
        ce.write_database(tmp_path / "a.duckdb", name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "a\nb", "\0"])
def test_a_name_that_is_refused(tmp_path: Path, name: str) -> None:
    words = f"^name: expected a name without .*, got {re.escape(repr(name))}$"
    with pytest.raises(ce.ClusterEvalError, match=words):
        ce.write_database(tmp_path / "a.duckdb", name)


def test_nothing_is_left_of_a_failed_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "bundle", lambda *_: "SELECT no_such_function()")
    with pytest.raises(duckdb.CatalogException, match="no_such_function"):
        ce.write_database(tmp_path / "a.duckdb")
    assert not list(tmp_path.iterdir())


# What the dbt plugin attaches --------------------------------------------------------------------


def database_path(con: duckdb.DuckDBPyConnection) -> str | None:
    query = "SELECT path FROM duckdb_databases() WHERE database_name = 'clustereval'"
    (path,) = con.execute(query).fetchall()[0]
    return path if path is None else str(path)


@pytest.mark.parametrize(
    "fault",
    [
        "none",
        *(
            pytest.param(x, marks=pytest.mark.gate)
            for x in ("no folder", "no access", "damaged", "read-only")
        ),
    ],
)
def test_attached_from_the_cache_or_created(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault not in ("none", "no access"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    con = duckdb.connect()
    if fault == "no folder":
        (tmp_path / "polars_clustereval").write_text("in its place")
    elif fault == "no access":
        con.execute("SET enable_external_access = false")
    elif fault == "damaged":
        text = ce.bundle("main", "clustereval")
        cached_database(text, "clustereval").write_bytes(b"half of it")
    elif fault == "read-only":
        duckdb.connect(tmp_path / "mine.duckdb").close()
        (tmp_path / "polars_clustereval").write_text("in its place")
        con = duckdb.connect(tmp_path / "mine.duckdb", read_only=True)
    database.attach_macros(con)
    # A damaged file is written anew.
    assert (database_path(con) is not None) == (fault in ("none", "damaged"))
    query = "SELECT clustereval.rand_score(x, x // 2) FROM range(4) AS t (x)"
    assert con.cursor().execute(query).fetchone() == (pytest.approx(2 / 3, rel=1e-15),)


@pytest.mark.gate
def test_attached_twice(tmp_path: Path) -> None:
    """As by dbt's runner, which opens the database again while its first connection is open."""
    first = duckdb.connect(tmp_path / "mine.duckdb")
    database.attach_macros(first)
    again = duckdb.connect(tmp_path / "mine.duckdb")
    database.attach_macros(again)
    assert again.execute("SELECT clustereval.version()").fetchone() == (ce.__version__,)
    first.close()
    again.close()


OLD = "ATTACH ':memory:' AS clustereval; CREATE MACRO clustereval.main.version() AS '0.0.1'"


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        (OLD, "database"),
        ("CREATE SCHEMA ClusterEval", "schema"),
        ("ATTACH ':memory:' AS clustereval", "database"),
    ],
)
def test_a_taken_name(statement: str, kind: str) -> None:
    con = duckdb.connect()
    con.execute(statement)
    with pytest.raises(ce.ClusterEvalError, match=f'the connection has a {kind} "clustereval"'):
        database.attach_macros(con)


# Other versions of DuckDB ------------------------------------------------------------------------

READ = """
import sys, duckdb
con = duckdb.connect()
con.execute(f"ATTACH '{sys.argv[1]}' AS clustereval (READ_ONLY)")
con.execute(sys.argv[2])
rows = [row for query in sys.argv[3:] for row in con.execute(query).fetchall()]
print(duckdb.__version__, [value for row in rows for value in row], sep="\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1.5.5", "1.5.6"])
def test_other_versions_read_the_file(file: Path, tmp_path: Path, version: str) -> None:
    """Each in a fresh folder of packages, with no other package in sight."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary", ":all:", "--target", str(tmp_path)]
    subprocess.run([*command, f"duckdb=={version}"], check=True)
    done = subprocess.run(
        [sys.executable, "-S", "-c", READ, str(file), TABLES, *QUERIES],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    used, values = done.stdout.splitlines()
    assert used == version
    assert eval(values, {"Decimal": Decimal}) == answers_of_registered_macros()
