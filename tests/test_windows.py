"""What is different on Windows, as far as another system can show it.

A pipe in cp1252, a file that another program has open, paths with a drive letter, no users and
modes of files, and no fork.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import duckdb
import polars as pl
import pytest

import polars_clustereval as ce
from polars_clustereval.cli import main
from polars_clustereval.cli.sources import find_sources
from polars_clustereval.macros import cache_folder
from tests.support.command_line import IRIS, KMEANS, QUICK, start

pytestmark = pytest.mark.gate

ONE_SCORE = ("external", "--metrics", "purity", *QUICK)
SCORE = "SELECT clustereval.rand_score(x, x) FROM range(3) AS t(x)"


# The console ------------------------------------------------------------------------------------


@pytest.fixture
def cities(tmp_path: Path) -> Path:
    """Names of cities as partitions: one that cp1252 has, and one that it lacks."""
    path = tmp_path / "cities.parquet"
    rows = {"city": ["Zürich", "東京"] * 3, "label": [0, 1] * 3, "cluster": [1, 0] * 3}
    pl.DataFrame(rows).write_parquet(path)
    return path


@pytest.mark.gate
@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("cp1252", ("Zürich", r"\u6771\u4eac")), ("utf-8", ("Zürich", "東京"))],
)
def test_a_table_in_a_pipe(cities: Path, encoding: str, shown: tuple[str, ...]) -> None:
    columns = ("--label", "label", "--cluster", "cluster", "--partition-by", "city")
    call = ("external", str(cities), *columns, "--metrics", "purity", *QUICK)
    out, err = start(*call, PYTHONIOENCODING=encoding).communicate()
    assert err == b""
    assert all(name in out.decode(encoding) for name in shown)


@pytest.mark.gate
@pytest.mark.parametrize("output_format", ["json", "csv"])
def test_data_in_a_pipe_are_utf8(cities: Path, output_format: str) -> None:
    columns = ("--label", "label", "--cluster", "cluster", "--partition-by", "city")
    call = ("external", str(cities), *columns, "--metrics", "purity", "--format", output_format)
    out, _ = start(*call, PYTHONIOENCODING="cp1252").communicate()
    assert all(name in out.decode("utf-8") for name in ("Zürich", "東京"))


@pytest.mark.gate
@pytest.mark.parametrize("call", [("describe", "correlation_distance"), ("external", "--help")])
def test_texts_in_a_pipe(call: tuple[str, ...]) -> None:
    out, err = start(*call, PYTHONIOENCODING="cp1252").communicate()
    assert err == b""
    assert out.decode("cp1252")


@pytest.mark.gate
def test_an_error_about_a_name_that_the_console_lacks(tmp_path: Path) -> None:
    call = ("external", str(tmp_path / "東京.csv"), *KMEANS)
    out, err = start(*call, PYTHONIOENCODING="cp1252").communicate()
    assert out == b""
    assert err.endswith(b"\\u6771\\u4eac.csv: no such file\n")


# Files ------------------------------------------------------------------------------------------


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file can be replaced by another one, as if a program had it open."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(Path, "replace", refuse)


@pytest.mark.usefixtures("locked")
def test_an_output_that_a_spreadsheet_has_open(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "report.csv"
    output.write_text("before", encoding="utf-8")
    assert main([*ONE_SCORE[:1], IRIS, *KMEANS, *ONE_SCORE[1:], "--output", str(output)]) == 2
    message = f"clustereval: error: {output}: the file cannot be replaced (Access is denied); if "
    assert capfd.readouterr().err.startswith(message)
    assert output.read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["report.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="a name with a colon is a file on Unix alone")
def test_sources_on_a_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The colon of a drive is none of the two before the name of a table."""
    monkeypatch.chdir(tmp_path)
    database, csv = r"C:\data\flowers.duckdb", r"C:\data\flowers.csv"
    duckdb.connect("flowers.duckdb").close()
    Path("flowers.duckdb").rename(database)
    Path(csv).write_text("species;kmeans\na;1\n", "utf-8")
    for file, kind, table in (
        (f"{database}::main.flowers", "database", "main.flowers"),
        (database, "database", ""),
        (csv, "csv", ""),
        (r"C:\data\*.csv", "csv", ""),
    ):
        [found] = find_sources([[file]], tmp_path)
        assert (found.kind, found.table) == (kind, table)
        assert found.paths == ((database if kind == "database" else csv),)


# The cache --------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, where the system has neither users nor modes nor fork."""
    monkeypatch.setattr(cache_folder, "sys", SimpleNamespace(platform="win32"))
    for name in ("geteuid", "getuid", "register_at_fork", "O_NOFOLLOW", "O_NONBLOCK"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "AppData" / "Local"))
    return tmp_path / "AppData" / "Local" / "polars_clustereval"


def registered() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    ce.register(con)
    assert con.execute(SCORE).fetchone() == (1.0,)
    return con


def test_the_macros_are_in_the_cache_of_the_user(cache: Path) -> None:
    registered()
    [file] = cache.glob("*.duckdb")
    written = file.stat().st_mtime_ns
    registered()
    assert [path.name for path in cache.iterdir()] == [file.name]
    assert file.stat().st_mtime_ns == written


def test_without_a_folder_for_local_data(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCALAPPDATA")
    monkeypatch.setattr(Path, "home", lambda: cache)
    registered()
    found = cache / "AppData" / "Local" / "polars_clustereval"
    assert len(list(found.glob("*.duckdb"))) == 1


@pytest.mark.usefixtures("locked")
def test_another_process_has_written_the_same_file(cache: Path) -> None:
    cache.mkdir(parents=True)

    def write(path: Path) -> None:
        path.write_bytes(b"macros")

    with pytest.raises(PermissionError):
        cache_folder.write_trusted(cache, "key", write)
    assert list(cache.iterdir()) == []
    name = "key-" + "0" * 32 + ".duckdb"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache_folder, "_file_name", lambda *_: name)
        (cache / name).write_bytes(b"macros")
        assert cache_folder.write_trusted(cache, "key", write) == cache / name
    assert [path.name for path in cache.iterdir()] == [name]


@pytest.mark.usefixtures("locked")
def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    registered()
    assert list(cache.glob("*.duckdb")) == []


def test_files_are_read_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows would convert line ends, so that the digest of a file would not be its own."""
    monkeypatch.setattr(os, "O_BINARY", 1 << 30, raising=False)
    assert run_path(cache_folder.__file__)["_OPEN_FLAGS"] & os.O_BINARY


def test_all_texts_have_the_line_ends_of_unix() -> None:
    """Git converts them in a checkout on Windows unless .gitattributes says otherwise."""
    root = Path(__file__).parent.parent
    assert "* text=auto eol=lf\n" in (root / ".gitattributes").read_text(encoding="utf-8")
    for folder in ("sql", "polars_clustereval", "docs", "dbt_package"):
        for path in (root / folder).rglob("*.*"):
            if path.suffix in (".sql", ".py", ".md", ".json", ".html", ".yml"):
                assert b"\r" not in path.read_bytes(), path
