"""Errors of the engines as one line, without advice on options of their readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Fail

COLUMNS = ("--label", "label", "--cluster", "cluster")


def test_a_column_that_a_file_lacks(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    first, other = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("label,cluster\na,1\n", encoding="utf-8")
    other.write_text("label,x\na,1\n", encoding="utf-8")
    error = fail("external", first, other, *COLUMNS, "--engine", engine_name)
    assert error.startswith(f"{first} and 1 more file: Schema mismatch between globbed files. Main")
    assert error.endswith('Column with name: "cluster" is missing')


@pytest.mark.parametrize(
    "content",
    [
        b"label,cluster\na,1\nb,2,3\nc\n",
        b'label,cluster\na,1\n"b,2\nc"x,3\n',
        "label,cluster\na,1\n".encode("utf-16"),
    ],
)
def test_a_text_file_of_no_table(
    fail: Fail, engine_name: str, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    assert fail("external", path, *COLUMNS, "--engine", engine_name) == (
        f"{path}: expected a CSV file in UTF-8 whose rows are as long as its header, separated by "
        f"','; check the encoding, the separator and the quotes of {path}"
    )


def test_an_encoding_other_than_utf_8(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("label,cluster\nä,1\nb,2\n".encode("latin-1"))
    error = fail("external", path, *COLUMNS, "--engine", engine_name)
    assert error.endswith("This file is not utf-8 encoded.")


@pytest.mark.parametrize("content", ["[]", "[1, 2]"])
def test_json_without_objects(fail: Fail, engine_name: str, tmp_path: Path, content: str) -> None:
    path = tmp_path / "none.json"
    path.write_text(content, encoding="utf-8")
    assert fail("external", path, *COLUMNS, "--engine", engine_name) == (
        f"{path}: expected JSON objects, one for each row, got no rows or columns in {path}"
    )
    other = tmp_path / "other.json"
    other.write_text('[{"label": 1, "cluster": 1}]', encoding="utf-8")
    error = fail("external", other, path, *COLUMNS, "--engine", engine_name)
    assert error.endswith(f"got no rows or columns in {path}")


def test_a_quote_that_is_not_closed(fail: Fail, engine_name: str, tmp_path: Path) -> None:
    """The line ends in an empty one, which also separates the error from advice."""
    path = tmp_path / "quote.csv"
    path.write_text("label,cluster\n" + "a,1\n" * 30_000 + '"b,1\n', encoding="utf-8")
    error = fail("external", path, *COLUMNS, "--engine", engine_name)
    words = 'CSV Error on Line: 30002 Original Line: "b,1 Value with unterminated quote found.'
    assert error == f"{path}: {words}"
