"""The cache of macros: what is in its folder is used only where the user alone could write it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from polars_clustereval.macros import cache, cache_folder, database

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.gate,
    pytest.mark.skipif(sys.platform == "win32", reason="owners and modes as Unix has them"),
]

#: In place of the macros of the package, which take longer to write.
BUNDLE = """
CREATE SCHEMA IF NOT EXISTS clustereval;
CREATE OR REPLACE MACRO clustereval.version() AS 'trusted';
CREATE OR REPLACE MACRO clustereval.answer() AS 42;
"""
EVIL = "CREATE OR REPLACE MACRO clustereval.answer() AS 'planted'"
MACROS = (
    "SELECT schema_name, function_name, macro_definition FROM duckdb_functions() "
    "WHERE database_name = current_database() AND NOT internal ORDER BY ALL"
)
TRUSTED = [("clustereval", "answer", "42"), ("clustereval", "version", "'trusted'")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package's folder in a cache that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "polars_clustereval"


def written_file(folder: Path) -> Path:
    """The only file in the folder, written where there is none."""
    assert cache.copy_macros(duckdb.connect(), BUNDLE)
    (path,) = folder.iterdir()
    return path


def check_copy() -> None:
    """The macros of the bundle are copied, and nothing else."""
    con = duckdb.connect()
    assert cache.copy_macros(con, BUNDLE)
    assert con.execute(MACROS).fetchall() == TRUSTED
    assert con.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (0,)


def write_into(path: Path, statement: str) -> None:
    """Execute a statement in a cached database, which keeps its name, owner and mode."""
    with duckdb.connect(path) as con:
        con.execute(statement)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "statement",
    [
        EVIL,
        "CREATE MACRO clustereval.extra() AS 1",
        "CREATE MACRO main.extra() AS 1",
        "CREATE TABLE clustereval.extra AS SELECT 1 AS a",
        "CREATE TABLE main.extra AS SELECT 1 AS a",
    ],
)
def test_a_planted_database_is_not_copied(folder: Path, statement: str) -> None:
    write_into(written_file(folder), statement)
    check_copy()


def test_a_planted_database_is_not_attached(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "bundle", lambda *_: "CREATE MACRO main.answer() AS 42")
    database.attach_macros(duckdb.connect())
    (path,) = folder.iterdir()
    write_into(path, EVIL.replace("clustereval.", "main."))
    con = duckdb.connect()
    database.attach_macros(con)
    assert con.execute("SELECT clustereval.main.answer()").fetchone() == (42,)
    query = "SELECT path IS NOT NULL FROM duckdb_databases() WHERE database_name = 'clustereval'"
    assert con.execute(query).fetchone() == (True,)  # from a file, written anew


def test_a_planted_log_is_not_applied(folder: Path, tmp_path: Path) -> None:
    """DuckDB applies a write-ahead log that it finds next to a database."""
    path, copy = written_file(folder), tmp_path / "copy.duckdb"
    shutil.copy(path, copy)
    log = Path(f"{path}.wal")
    with duckdb.connect(copy) as con:
        con.execute(EVIL)
        shutil.copy(f"{copy}.wal", log)
    log.chmod(0o600)
    check_copy()
    assert list(folder.iterdir()) == [path]


def test_a_database_of_another_bundle_is_not_copied(folder: Path) -> None:
    """One that the package wrote for other macros, renamed to what is looked for."""
    key, number, _ = written_file(folder).name.split("-")
    other = cache.cached_database(f"{BUNDLE}{EVIL};", "macros")
    for path in set(folder.iterdir()) - {other}:
        path.unlink()
    other.rename(folder / "-".join([key, number, other.name.split("-")[2]]))
    check_copy()


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602, 0o644])
def test_a_file_that_others_can_open_is_not_copied(folder: Path, mode: int) -> None:
    path = written_file(folder)
    path.chmod(mode)
    os.utime(path, (0, 0))
    check_copy()
    (anew,) = folder.iterdir()
    assert anew.stat().st_mode & 0o777 == 0o600
    assert anew.stat().st_mtime > 0


def test_what_is_written_is_the_users_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        path = written_file(folder)
    finally:
        os.umask(before)
    assert (folder.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_folder_that_others_can_open_is_closed_to_them(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    check_copy()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_stays_open_to_others_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system without modes."""
    folder.mkdir(0o755)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    with pytest.raises(OSError, match="polars_clustereval: users other than the owner can open it"):
        cache_folder.open_folder()
    assert not cache.copy_macros(duckdb.connect(), BUNDLE)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can chown")
def test_a_file_of_another_user_is_not_copied(folder: Path) -> None:
    os.chown(written_file(folder), 12345, -1)
    check_copy()
    assert {path.stat().st_uid for path in folder.iterdir()} == {0}


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written_file(folder)
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(OSError, match="polars_clustereval: expected a folder of the user"):
        cache_folder.open_folder()
    assert not cache.copy_macros(duckdb.connect(), BUNDLE)
    assert list(folder.iterdir()) == [path]


def test_a_linked_folder_is_not_used(folder: Path, tmp_path: Path) -> None:
    written_file(folder)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="polars_clustereval: expected a folder of the user"):
        cache_folder.open_folder()
    assert not cache.copy_macros(duckdb.connect(), BUNDLE)


def test_a_linked_file_is_not_copied(folder: Path, tmp_path: Path) -> None:
    path = written_file(folder)
    elsewhere = path.rename(tmp_path / "elsewhere.duckdb")
    path.symlink_to(elsewhere)
    check_copy()
    assert not any(file.is_symlink() for file in folder.iterdir())
    assert elsewhere.exists()


def test_a_fifo_is_not_waited_for(folder: Path) -> None:
    path = written_file(folder)
    path.unlink()
    os.mkfifo(path, 0o600)
    thread = Thread(target=check_copy, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert written_file(folder).is_file()


def shorten(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


def empty(_: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [shorten, flip, empty])
def test_a_damaged_database_is_written_anew(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    path = written_file(folder)
    path.write_bytes(damage(path.read_bytes()))
    check_copy()
    with duckdb.connect(written_file(folder), read_only=True) as con:
        assert con.execute(MACROS).fetchall() == TRUSTED


def test_a_relative_cache_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    check_copy()
    assert list((tmp_path / "here").iterdir()) == []
    assert len(list((tmp_path / "home").rglob("*.duckdb"))) == 1


@pytest.mark.parametrize("home", ["", "relative"])
def test_an_empty_or_relative_home_is_ignored(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of users has another one."""
    import pwd

    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", home)
    user = list(pwd.getpwuid(os.getuid()))
    user[5] = str(tmp_path / "home")
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(user))
    check_copy()
    assert list((tmp_path / "here").iterdir()) == []
    assert len(list((tmp_path / "home").rglob("*.duckdb"))) == 1


def test_without_a_home_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    def find(_: int) -> Any:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", find)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "")
    with pytest.raises(OSError, match="no home folder"):
        cache_folder.open_folder()
    assert not cache.copy_macros(duckdb.connect(), BUNDLE)


def run(code: str) -> subprocess.CompletedProcess[str]:
    """A process that ends within a minute."""
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


KILLED = f"""
import os, signal, duckdb
from polars_clustereval.macros import cache
write = cache._write_whole
def write_and_die(*arguments):
    write(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
cache._write_whole = write_and_die
cache.copy_macros(duckdb.connect(), {BUNDLE!r})
"""


def test_what_a_killed_process_leaves_is_deleted(folder: Path) -> None:
    assert run(KILLED).returncode == -signal.SIGKILL
    (draft,) = folder.iterdir()
    check_copy()
    assert draft.exists()  # it may be of a process that is still writing
    os.utime(draft, (time.time() - 7200,) * 2)
    check_copy()
    assert re.fullmatch(r"[0-9a-f]{32}-.+-[0-9a-f]{32}\.duckdb", written_file(folder).name)


FORK = """
import os, threading, time
import duckdb, polars_clustereval as ce
from polars_clustereval.macros import registration

entered, released = threading.Event(), threading.Event()
copy = registration.copy_macros

def wait_and_copy(*arguments):
    entered.set()
    released.wait()
    return copy(*arguments)

registration.copy_macros = wait_and_copy
thread = threading.Thread(target=ce.register, args=[duckdb.connect()])
thread.start()
entered.wait()
child = os.fork()
if not child:
    registration.copy_macros = copy
    con = duckdb.connect()
    ce.register(con)
    os._exit(con.execute("SELECT clustereval.purity(0, 1)").fetchone() != (1.0,))
end = time.monotonic() + 40
while (status := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
    time.sleep(0.01)
if status == (0, 0):
    os.kill(child, 9)
print("the child hangs" if status == (0, 0) else f"status {status[1]}")
released.set()
thread.join()
"""


@pytest.mark.gate
def test_a_fork_while_another_thread_registers() -> None:
    done = run(FORK)
    assert (done.stdout, done.stderr) == ("status 0\n", "")
