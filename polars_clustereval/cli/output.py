"""Output: a report as a file, and where the bytes go."""

from __future__ import annotations

import os
import sys
from io import BytesIO
from typing import TYPE_CHECKING

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["FILES", "FORMATS", "format_of", "write"]

# ----------------------------------------------------------------------------------------------
# Formats
# ----------------------------------------------------------------------------------------------


def _json(report: pl.DataFrame) -> bytes:
    return report.write_json().encode() + b"\n"


def _csv(report: pl.DataFrame) -> bytes:
    return report.write_csv().encode()


def _parquet(report: pl.DataFrame) -> bytes:
    file = BytesIO()
    report.write_parquet(file)
    return file.getvalue()


FILES = {"json": _json, "csv": _csv, "parquet": _parquet}
FORMATS = ("table", *FILES)


def format_of(output: Path | None) -> str:
    """Give the format that the output's ending stands for."""
    ending = "" if output is None else output.suffix.removeprefix(".").lower()
    return ending if ending in FORMATS else "table"


# ----------------------------------------------------------------------------------------------
# Writing
# ----------------------------------------------------------------------------------------------


def write(output: Path | None, content: bytes) -> None:
    """Write to a file, or to the screen."""
    if output is None:
        _print(content)
    elif output.exists() and not output.is_file():  # /dev/stdout, say
        output.write_bytes(content)
    else:
        _replace(output.resolve(), content)


def _print(content: bytes) -> None:
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as `head` does. Python would flush once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace(output: Path, content: bytes) -> None:
    """Write the file whole or not at all."""
    if not output.parent.is_dir():
        raise ClusterEvalError(f"{output.parent}: no such directory")
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)
