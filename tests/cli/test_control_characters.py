"""Control characters in names and values, which a terminal would obey."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

from tests.support.command_line import (
    DUCKDB_AT_THE_GATE,
    KMEANS,
    QUICK,
    Fail,
    Run,
)
from tests.support.engines import quoted

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gate

ESCAPE, CLEAR, RIGHT_TO_LEFT = "\x1b[31m", "\x9b2J", "\u202e"
HOSTILE = f"{ESCAPE}a\tb\nc\r{CLEAR}{RIGHT_TO_LEFT}\u2028\x7fd"
HARMLESS = r"\x1b[31ma\tb\nc\r\x9b2J\u202e\u2028\x7fd"


def assert_printable(text: str) -> None:
    assert [char for char in text if not char.isprintable() and char != "\n"] == []


@pytest.mark.parametrize("n_partitions", [2, 9])
@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb"])
@DUCKDB_AT_THE_GATE
def test_control_characters_in_a_table(
    run: Run, engine_name: str, tmp_path: Path, n_partitions: int, kind: str
) -> None:
    """In the names of the file and of columns, and in the values of a partition column."""
    path = tmp_path / f"{HOSTILE}.{kind}"
    keys = [f"{HOSTILE}{i}" for i in range(n_partitions)]
    frame = pl.DataFrame({f"label{HOSTILE}": "a", "cluster": 1, f"key{HOSTILE}": keys})
    if kind == "duckdb":
        with duckdb.connect(path) as connection:
            connection.execute(f"CREATE TABLE {quoted(HOSTILE)} AS FROM frame")
    else:
        (frame.write_csv if kind == "csv" else frame.write_parquet)(path)
    file = f"{path}::{HOSTILE}" if kind == "duckdb" else path
    columns = ("--label", f"label{HOSTILE}", "--partition-by", f"key{HOSTILE}")
    table = run("external", file, *columns, "--cluster", "cluster", "--engine", engine_name)
    assert_printable(table)
    for i in range(n_partitions):
        assert f"{HARMLESS}{i}" in table
    assert f"key{HARMLESS}" in table
    assert f"{HARMLESS}.{kind}" in table
    assert f"label label{HARMLESS}, cluster cluster" in table


def test_control_characters_in_an_error(
    capfd: pytest.CaptureFixture[str], fail: Fail, engine_name: str, tmp_path: Path
) -> None:
    path = tmp_path / "columns.parquet"
    pl.DataFrame({"a": [1], HOSTILE: [f"{HOSTILE}"]}).write_parquet(path)
    mistakes = [
        ("external", path, "--label=b", "--cluster=a"),
        ("external", path, "--label=a", "--cluster=a", f"--weight={HOSTILE}{ESCAPE}"),
        ("external", tmp_path / HOSTILE, "--label=a", "--cluster=a"),
        ("sql", f"--{ESCAPE}"),
    ]
    for command, *arguments in mistakes:
        engine = ("--engine", engine_name) if command == "external" else ()
        error = fail(command, *arguments, *engine)
        assert_printable(error)
        assert r"\x1b" in error
    assert capfd.readouterr() == ("", "")


def test_letters_of_any_script_are_shown_as_they_are(run: Run, tmp_path: Path) -> None:
    keys = ["größe", "日本　語", "e\u0301", "a b", "😀", r"back\slash"]
    path = tmp_path / "größe.parquet"
    pl.DataFrame({"a": 1, "key": keys}).write_parquet(path)
    table = run("external", path, "--label=a", "--cluster=a", "--partition-by=key", *QUICK)
    assert all(f"\n{key} " in table for key in keys)


def test_a_path_that_is_not_utf_8(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        path = tmp_path / os.fsdecode(b"\xff." + kind.encode())
        path.touch()
        error = fail("external", path, *KMEANS, "--engine", engine_name)
        assert error == rf"{tmp_path}/\udcff.{kind}: expected a path in UTF-8"
