"""Output: encodes a report as JSON, CSV or Parquet, and writes it to a file."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import sys
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import column_named
from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = [
    "ENCODERS",
    "FORMATS",
    "PICTURES",
    "check_output",
    "check_picture",
    "encode_text",
    "expand_structs",
    "infer_format",
    "quote_formulas",
    "save_picture",
    "write_output",
]

# ----------------------------------------------------------------------------------------------
# Formats
# ----------------------------------------------------------------------------------------------


def _encode_json(result: pl.DataFrame) -> bytes:
    """Return the report as a JSON array with one object per row."""
    # Polars would write decimals as strings. Counts of pairs are decimals without a fraction.
    columns = [
        column_named(name).cast(pl.Int128)
        for name, dtype in result.schema.items()
        if isinstance(dtype, pl.Decimal) and dtype.scale == 0
    ]
    return _with_bytes_as_text(result).with_columns(columns).write_json().encode() + b"\n"


def _with_bytes_as_text(result: pl.DataFrame) -> pl.DataFrame:
    """Convert bytes in the report to hexadecimal text, because JSON and CSV cannot store bytes."""
    names = [name for name, dtype in result.schema.items() if dtype == pl.Binary]
    return result.with_columns(column_named(name).bin.encode("hex") for name in names)


def _encode_csv(result: pl.DataFrame) -> bytes:
    """Return the report as CSV with a header."""
    return _with_bytes_as_text(expand_structs(result)).write_csv().encode()


def expand_structs(result: pl.DataFrame) -> pl.DataFrame:
    """Return the report with a column for each field of a struct, such as id_source, for CSV."""
    while structs := [name for name, dtype in result.schema.items() if dtype == pl.Struct]:
        named = (column_named(name).name.prefix_fields(f"{name}_") for name in structs)
        result = result.with_columns(named).unnest(structs)
    return result


#: The first characters by which spreadsheet programs recognize a formula.
_FORMULA = r"^[=+\-@\t\r]"


def quote_formulas(result: pl.DataFrame) -> pl.DataFrame:
    """Return the report with an apostrophe before texts that spreadsheets would compute."""
    texts = pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    quoted = expand_structs(result).with_columns(texts.str.replace(_FORMULA, "'${0}"))
    return quoted.rename(lambda name: f"'{name}" if re.match(_FORMULA, name) else name)


def _encode_parquet(result: pl.DataFrame) -> bytes:
    """Return the report as a Parquet file."""
    buffer = BytesIO()
    result.write_parquet(buffer)
    return buffer.getvalue()


ENCODERS = {"json": _encode_json, "csv": _encode_csv, "parquet": _encode_parquet}
FORMATS = ("table", *ENCODERS)
#: The endings of the files of pictures, none of which is that of a format.
PICTURES = (".png", ".svg", ".html")


_EXTENSIONS = {".txt": "table"} | {f".{name}": name for name in ENCODERS}


def infer_format(output: Path | None) -> str:
    """Return the format implied by the extension of the output file, or ``table`` for a device."""
    if output is None or (output.exists() and not output.is_file()):
        return "table"
    if output.suffix.lower() not in _EXTENSIONS:
        raise ClusterEvalError(
            f"--output: expected a file that ends in {', '.join(_EXTENSIONS)}, got {output}; "
            "or give --format"
        )
    return _EXTENSIONS[output.suffix.lower()]


# ----------------------------------------------------------------------------------------------
# Writing
# ----------------------------------------------------------------------------------------------


def check_output(output: Path | None, sources: Iterable[str]) -> None:
    """Raise an error if `output` is one of the input files `sources`, or if it has no folder."""
    if output is None:
        return
    if not output.parent.is_dir():
        raise ClusterEvalError(f"{output.parent}: no such directory")
    if output.exists() and any(output.samefile(source) for source in sources):
        raise ClusterEvalError(f"--output: expected a file other than the input, got {output}")


def check_picture(picture: Path | None) -> None:
    """Raise an error if `picture` has no folder, or is not named like a picture."""
    check_output(picture, ())
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise ClusterEvalError(
            f"--plot: expected a file that ends in {', '.join(PICTURES)}, got {picture}"
        )


def save_picture(name: str, result: pl.DataFrame, picture: Path) -> None:
    """Write the picture that a function of plots draws from a report."""
    from polars_clustereval import plots

    try:
        chart = getattr(plots, name)(result)
        chart.save(str(picture), format=picture.suffix.lower()[1:])
    except ImportError as error:
        raise ClusterEvalError(f"--plot: {error}") from error


def encode_text(text: str, output: Path | None) -> bytes:
    r"""Encode text as bytes to be written to the file `output` or to standard output.

    Files are written in UTF-8. Standard output has its own encoding, such as cp1252 for a pipe in
    Windows. Characters that this encoding lacks are written as escapes, such as \u2264. If the
    encoding of standard output is ASCII, the system does not know the actual encoding, so UTF-8 is
    used.
    """
    encoding = "utf-8" if output is not None else sys.stdout.encoding or "utf-8"
    is_unknown = codecs.lookup(encoding).name == "ascii"
    return text.encode("utf-8" if is_unknown else encoding, errors="backslashreplace")


def write_output(output: Path | None, content: bytes) -> None:
    """Write the bytes to the file `output`, or to standard output if `output` is None."""
    if output is None:
        _print_content(content)
    elif output.exists() and not output.is_file():  # a device such as /dev/stdout
        output.write_bytes(content)
    else:
        _replace_file(output.resolve(), content)


def _print_content(content: bytes) -> None:
    """Write the bytes to standard output and ignore a closed pipe."""
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe, as `head` does. Python would flush once more at exit, and
        # print a second error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _replace_file(output: Path, content: bytes) -> None:
    """Write the bytes to the file; keep its permissions, and its content if writing fails."""
    if not output.parent.is_dir():
        raise ClusterEvalError(f"{output.parent}: no such directory")
    draft = output.with_name(f".{output.name}.{os.getpid()}")
    draft.touch(exist_ok=False)
    try:
        with draft.open("wb") as file:
            if output.exists():
                shutil.copymode(output, draft)
            file.write(content)
        try:
            draft.replace(output)
        except PermissionError as error:
            raise ClusterEvalError(
                f"{output}: the file cannot be replaced ({error.strerror}); if another program has "
                "it open, close it there"
            ) from error
    finally:
        draft.unlink(missing_ok=True)
