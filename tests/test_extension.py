"""The DuckDB extension: built here with the C compiler, loaded by each DuckDB it is meant for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tests.support.compare import is_near
from tests.test_versions import ROOT, VERSIONS, sql_calls, write_tables
from tools import extension

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(
        shutil.which((os.environ.get("CC") or "cc").split()[0]) is None,
        reason="no C compiler, which builds the extension",
    ),
]
#: DuckDB here, the oldest declared one, and the middle one of test_versions.
DUCKDBS = ("here", VERSIONS["oldest"][1], VERSIONS["middle"][0])
SUPPORT = ROOT / "tests" / "support"
LEFT = "SELECT database_name FROM duckdb_databases() WHERE NOT internal ORDER BY ALL"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the extension and its source."""
    folder = tmp_path_factory.mktemp("extension")
    extension.main([str(folder)])
    return folder


@pytest.fixture(scope="module")
def run_with(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A function that runs a file of tests/support with one version of DuckDB and nothing else."""

    def run(version: str, name: str, *arguments: object, **environment: str) -> str:
        folder = tmp_path_factory.getbasetemp() / version
        if version != "here" and not folder.exists():
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target")
            subprocess.run([*pip, folder, version], check=True)
        path = {} if version == "here" else {"PYTHONPATH": str(folder)}
        process = subprocess.run(
            [sys.executable, "-P", SUPPORT / name, *map(str, arguments)],
            env=os.environ | path | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        assert version == "here" or version.partition("==")[2] in process.stdout
        return process.stdout

    return run


def connect_unsigned(database: object = ":memory:", **options: Any) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(database, config={"allow_unsigned_extensions": "true"}, **options)


def load(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    con.execute(f"LOAD '{folder / extension.FILE}'")


def failed_records(printed: str) -> list[str]:
    *failed, last = printed.splitlines()
    assert int(last.split()[1]) > 0
    return failed


@pytest.mark.parametrize("place", [":memory:", "file", "file?read_only"])
@pytest.mark.parametrize("version", DUCKDBS)
def test_its_own_tests(
    built: Path, run_with: Callable[..., str], tmp_path: Path, version: str, place: str
) -> None:
    database = place.replace("file", str(tmp_path / "mine.duckdb"))
    if place == "file?read_only":
        with duckdb.connect() as con:
            con.execute(f"ATTACH '{tmp_path}/mine.duckdb' AS mine (STORAGE_VERSION 'v1.5.0')")
    tests = sorted((built / "source" / "test" / "sql").glob("*.test"))
    assert [path.stem for path in tests] == ["labels", "loading", "points"]
    found = run_with(version, "sql_logic.py", built / extension.FILE, database, *tests)
    assert failed_records(found) == []


@pytest.mark.parametrize(
    ("test", "old", "new"),
    [
        ("points", "40\t4\ttrue\ttrue", "40\t4\ttrue\tfalse"),
        ("labels", "0.879732", "0.879736"),
        ("loading", "1\t0.5", "1\t0.6"),
        ("loading", "----\nbeta", "----\nalpha"),
    ],
)
def test_a_wrong_value_is_seen(
    built: Path, run_with: Callable[..., str], tmp_path: Path, test: str, old: str, new: str
) -> None:
    text = (built / "source" / "test" / "sql" / f"{test}.test").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "wrong.test").write_text(text.replace(old, new, 1), encoding="utf-8")
    found = run_with(
        "here", "sql_logic.py", built / extension.FILE, ":memory:", tmp_path / "wrong.test"
    )
    assert failed_records(found) != []


@pytest.mark.parametrize("version", DUCKDBS)
def test_the_answers_of_registered_macros(
    built: Path, run_with: Callable[..., str], tmp_path: Path, version: str
) -> None:
    """Every macro, in a session with the extension and in one that executed the SQL."""
    calls = sql_calls()
    assert len(calls) > 60
    write_tables(tmp_path)
    (tmp_path / "calls.json").write_text(json.dumps(calls), encoding="utf-8")
    (tmp_path / "bundle.sql").write_text(extension.ce.bundle(), encoding="utf-8")
    printed = run_with(version, "extension_here.py", built / extension.FILE, tmp_path)
    answers = json.loads(printed)
    pairs = zip(calls, answers["loaded"], answers["registered"], strict=True)
    wrong = [call for call, one, two in pairs if not is_near(one, two, relative=1e-12, floor=1e-12)]
    assert wrong == []
    assert [one for one in answers["loaded"] if isinstance(one, str)] == []


def test_nothing_of_the_users_database_changes(built: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.duckdb"
    with duckdb.connect(file) as con:
        con.execute("CREATE TABLE t AS FROM range(3)")
    before = file.read_bytes()
    with connect_unsigned(file) as con:
        load(con, built)
        assert con.execute("SELECT clustereval.rand_score(range, range) FROM t").fetchone() == (1,)
        assert con.cursor().execute("SELECT clustereval.version()").fetchone() is not None
        own = "SELECT count(*) FROM duckdb_functions() WHERE database_name = 'mine'"
        assert con.execute(own).fetchone() == (0,)
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"mine.duckdb"}


def test_loading_again_changes_nothing(built: Path) -> None:
    con = connect_unsigned()
    for _ in range(2):
        load(con, built)
    assert con.execute(LEFT).fetchall() == [("clustereval",), ("memory",)]


def test_within_a_transaction(built: Path) -> None:
    con = connect_unsigned()
    con.begin()
    con.execute("CREATE TABLE t AS FROM range(3)")
    load(con, built)
    con.rollback()
    assert con.execute("SELECT clustereval.rand_score(1, 1)").fetchone() == (1,)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("ATTACH ':memory:' AS clustereval", "database"),
        ("ATTACH ':memory:' AS ClusterEval", "database"),
        ("CREATE SCHEMA clustereval", "schema"),
    ],
)
def test_a_taken_name(built: Path, statement: str, kind: str) -> None:
    con = connect_unsigned()
    con.execute(statement)
    before = con.execute(LEFT).fetchall()
    with pytest.raises(duckdb.Error, match=f'there is a {kind} "clustereval" already.*detach it'):
        load(con, built)
    assert con.execute(LEFT).fetchall() == before
    con.execute(statement.replace("ATTACH ':memory:' AS", "DETACH").replace("CREATE", "DROP"))
    load(con, built)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files, with a name that has to be quoted."""
    if sys.platform == "win32":
        pytest.skip("Windows takes no quotes in names, and TEMP in place of TMPDIR")
    folder = tmp_path / 'it\'s a "folder" ü'
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_no_temporary_file_is_left(built: Path, temporary: Path) -> None:
    temporary.mkdir()
    load(connect_unsigned(), built)
    assert list(temporary.iterdir()) == []


def test_without_a_folder_for_temporary_files(built: Path, temporary: Path) -> None:
    con = connect_unsigned()
    with pytest.raises(duckdb.Error, match="cannot create a file in the folder for temporary"):
        load(con, built)
    assert con.execute(LEFT).fetchall() == [("memory",)]
    temporary.mkdir()
    load(con, built)


@pytest.mark.parametrize("version", ["duckdb==1.4.5"])
def test_an_older_duckdb(built: Path, run_with: Callable[..., str], version: str) -> None:
    with pytest.raises(AssertionError, match=r"clustereval needs DuckDB 1\.5\.5 or newer"):
        run_with(version, "sql_logic.py", built / extension.FILE, ":memory:")


def test_the_footer(built: Path) -> None:
    """By the offsets of DuckDB's own description of it: eight fields of 32 bytes, a signature."""
    fields = (built / extension.FILE).read_bytes()[-512:-256]
    values = [fields[i : i + 32].rstrip(b"\0").decode() for i in range(0, 256, 32)][::-1]
    version = f"v{extension.ce.__version__}"
    assert values[:5] == ["4", extension.platform(), "v1.2.0", version, "C_STRUCT"]
    assert extension.API_VERSION == "v1.2.0"
    makefile = (ROOT / "extension" / "Makefile").read_text(encoding="utf-8")
    assert "TARGET_DUCKDB_VERSION = v1.2.0\n" in makefile


def test_what_duckdb_says_of_it(built: Path) -> None:
    con = connect_unsigned()
    load(con, built)
    query = "SELECT extension_version FROM duckdb_extensions() WHERE extension_name = 'clustereval'"
    assert con.execute(query).fetchone() == (f"v{extension.ce.__version__}",)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_the_build_of_the_community_repository(built: Path, tmp_path: Path) -> None:
    """CMakeLists.txt, which its Makefile calls, makes a library that loads."""
    cmake = ("cmake", "-DCMAKE_BUILD_TYPE=Release", "-S", built / "source", "-B", tmp_path)
    subprocess.run(cmake, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", tmp_path], check=True, capture_output=True)
    [library] = tmp_path.glob("*clustereval.*")
    content = library.read_bytes() + extension.footer(extension.platform())
    (tmp_path / extension.FILE).write_bytes(content)
    con = connect_unsigned()
    load(con, tmp_path)
    assert con.execute("SELECT clustereval.purity(1, 1)").fetchone() == (1,)


def test_the_description() -> None:
    """What community-extensions asks for, with a first query that runs."""
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe")
    text = (ROOT / "extension" / "description.yml").read_text(encoding="utf-8")
    description = yaml.load(extension.fill_in(text))
    assert set(description) == {"extension", "repo", "docs"}
    wanted = {"name", "description", "version", "language", "build", "license", "maintainers"}
    assert wanted < set(description["extension"])
    assert description["extension"]["name"] == extension.NAME
    assert description["extension"]["version"] == extension.ce.__version__
    con = duckdb.connect()
    extension.ce.register(con)
    con.execute(description["docs"]["hello_world"])
    [columns] = con.fetchall()
    assert len(columns) > 50
    described = description["docs"]["extended_description"]
    assert "https://github.com/" in described
    assert not {"{", "}"} & set(described)
