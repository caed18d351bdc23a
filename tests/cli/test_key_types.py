"""Labels and clusters of types that JSON, CSV and text files do not have."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from tests.support.command_line import json_rows

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Run

pytestmark = pytest.mark.gate

VALUES: dict[str, tuple[Any, ...]] = {
    "durations": tuple(dt.timedelta(hours=i) for i in range(3)),
    "bytes": (b"\xff\xfe", b"\x00", b"a"),
    "lists": ([1], [2], [2, 3]),
    "untyped": (None, None, None),
}


# A page takes seconds: that of durations, which a join of text once refused, stands for all.
PARAMS = [x if x == "durations" else pytest.param(x, marks=pytest.mark.gate) for x in VALUES]


@pytest.fixture(params=PARAMS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Twelve points with three clusters of the type."""
    values = VALUES[request.param]
    frame = pl.DataFrame(
        {
            "key": [values[i % 3] for i in range(12)],
            "x": [float(i * i % 7) for i in range(12)],
        }
    )
    path = tmp_path / f"{request.param}.parquet"
    frame.write_parquet(path)
    return str(path)


def test_a_page(run: Run, engine_name: str, file: str) -> None:
    columns = ("--label", "key", "--cluster", "key", "--vector", "x", "--engine", engine_name)
    assert "12" in run("report", file, *columns)
    assert "</html>" in run("report", file, *columns, "--format", "html")


def test_bytes_are_hexadecimal_digits(run: Run, engine_name: str, tmp_path: Path) -> None:
    path = tmp_path / "bytes.parquet"
    pl.DataFrame({"key": [b"\xff\xfe", b"\x00", b"a"]}).write_parquet(path)
    call = ("clusters", str(path), "--label", "key", "--cluster", "key", "--engine", engine_name)
    found = json_rows(run, *call)
    assert sorted(row["cluster"] for row in found) == ["00", "61", "fffe"]
    assert "\nfffe,1," in run(*call, "--format", "csv")
