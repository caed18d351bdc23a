"""Sources: which files the arguments name, and of which kind they are."""

from __future__ import annotations

import glob
import gzip
import re
import shutil
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polars_clustereval.errors import ClusterEvalError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Source", "find_source"]

_ENDINGS = {
    "parquet": (".parquet",),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
    "arrow": (".arrow", ".feather", ".ipc"),
}

# Separators that a header is searched for, after the one that belongs to the file's ending.
_OTHER_SEPARATORS = (";", "\t", "|", ",")

_STANDARD_INPUT = "standard input"


class Source(NamedTuple):
    """The input: files of one kind, or a table of a DuckDB database."""

    #: parquet, csv, json, arrow or database
    kind: str
    paths: tuple[str, ...]
    #: What errors call the input.
    name: str
    #: Of a DuckDB database.
    table: str = ""
    #: Of CSV files.
    separator: str = ""


def find_source(files: Sequence[str], scratch: Path) -> Source:
    """Return the source that the arguments FILE name; raise an error if they do not name one.

    An argument is a path, a pattern of paths, a folder of Parquet files, ``-`` for standard input,
    or DATABASE::TABLE. Standard input is copied to the folder `scratch`, since it is read twice.
    """
    tables = [file for file in files if "::" in file]
    if tables and len(files) > 1:
        raise ClusterEvalError(f"expected one table or several files, got {tables[0]} among others")
    if tables:
        return _find_database_table(files[0])
    paths = [path for file in files for path in _list_files(file, scratch)]
    for i, path in enumerate(paths):
        _check_file(path)
        if path in paths[:i]:
            raise ClusterEvalError(f"{path}: given twice")
    return _describe_files(tuple(paths), _name_files(files, paths))


def _name_files(files: Sequence[str], paths: Sequence[str]) -> str:
    """Return what errors call the input: its only path, or the first one and how many more."""
    if len(paths) == 1:
        return _STANDARD_INPUT if files[0] == "-" else paths[0]
    more = len(paths) - 1
    return f"{paths[0]} and {more} more {'file' if more == 1 else 'files'}"


def _find_database_table(file: str) -> Source:
    """Return the source that DATABASE::TABLE names; raise an error if it is no DuckDB database."""
    path, _, table = file.partition("::")
    if not Path(path).exists():
        raise ClusterEvalError(f"{path}: no such file")
    _check_file(path)
    # DuckDB would open a CSV file as a database, and download an extension for some other files.
    with Path(path).open("rb") as database:
        if database.read(12)[8:] != b"DUCK":
            raise ClusterEvalError(f"{path}: expected a DuckDB database before '::'")
    return Source("database", (path,), path, table=table)


# ----------------------------------------------------------------------------------------------
# Paths
# ----------------------------------------------------------------------------------------------


def _list_files(file: str, scratch: Path) -> list[str]:
    """Return the paths of the files that one argument names, in sorted order.

    Raise an error if there are none. Standard input is copied to the folder `scratch`.
    """
    if file == "-":
        return [_copy_standard_input(scratch)]
    path = Path(file)
    if path.is_dir():
        return _list_parquet_files(file)
    if path.exists():
        return [file]
    if not glob.has_magic(file):
        raise ClusterEvalError(f"{file}: no such file")
    # Path.glob takes no absolute patterns.
    matches = sorted(glob.glob(file, recursive=True))  # noqa: PTH207
    if not matches:
        raise ClusterEvalError(f"{file}: no file matches")
    return [
        inner
        for match in matches
        for inner in (_list_parquet_files(match) if Path(match).is_dir() else [match])
    ]


def _list_parquet_files(folder: str) -> list[str]:
    """Return the Parquet files in a folder and its subfolders; raise an error if there are none.

    Names that start with a dot or an underscore are skipped: writers use them for unfinished files.
    """
    paths = sorted(Path(folder).rglob("*.[pP][aA][rR][qQ][uU][eE][tT]"))
    kept = [
        str(path)
        for path in paths
        if path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not kept:
        raise ClusterEvalError(f"{folder}: expected a folder of .parquet files, found none in it")
    return kept


def _copy_standard_input(scratch: Path) -> str:
    """Return the path of a CSV file in the folder `scratch` with all of standard input."""
    path = scratch / "standard_input.csv"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return str(path)


def _check_file(path: str) -> None:
    """Raise an error unless the path can be given to the engines, and the file has bytes."""
    if path != path.encode(errors="replace").decode():
        raise ClusterEvalError(f"{path}: expected a path in UTF-8")
    if Path(path).is_file() and Path(path).stat().st_size == 0:
        name = _STANDARD_INPUT if Path(path).name == "standard_input.csv" else path
        raise ClusterEvalError(f"{name}: the file is empty")


# ----------------------------------------------------------------------------------------------
# Kinds
# ----------------------------------------------------------------------------------------------


def _describe_files(paths: tuple[str, ...], name: str) -> Source:
    """Return the source of the files at `paths`, which errors call `name`.

    Raise an error if their endings are unknown, or not of one kind.
    """
    kinds = [_find_kind(path) for path in paths]
    for path, kind in zip(paths, kinds, strict=True):
        if kind != kinds[0]:
            raise ClusterEvalError(f"expected files of one kind, got {paths[0]} and {path}")
    if kinds[0] != "csv":
        return Source(kinds[0], paths, name)
    separators = [_detect_separator(path) for path in paths]
    for path, separator in zip(paths, separators, strict=True):
        if separator != separators[0]:
            raise ClusterEvalError(
                f"{path}: expected the separator {separators[0]!r} of {paths[0]}, got {separator!r}"
            )
    return Source("csv", paths, name, separator=separators[0])


def _find_kind(path: str) -> str:
    """Return the kind of a file, such as parquet, by its ending; raise an error if it is none."""
    for kind, endings in _ENDINGS.items():
        if path.lower().endswith(endings):
            return kind
    every_ending = ", ".join(ending for endings in _ENDINGS.values() for ending in endings)
    raise ClusterEvalError(
        f"{path}: expected a file that ends in {every_ending}, or a table of a DuckDB database "
        f"as {path}::table"
    )


def _detect_separator(path: str) -> str:
    """Return the separator of a CSV file: that of its ending, or else another one in its header."""
    usual = "\t" if path.lower().endswith((".tsv", ".tsv.gz")) else ","
    try:
        header = _read_header(path)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ClusterEvalError(f"{path}: {error}") from error
    candidates: Iterator[str] = iter((usual, *_OTHER_SEPARATORS))
    return next((one for one in candidates if one.encode() in header), usual)


def _read_header(path: str) -> bytes:
    """Return the first line of a CSV file, compressed or not, without its quoted names."""
    is_compressed = path.lower().endswith(".gz")
    with gzip.open(path, "rb") if is_compressed else Path(path).open("rb") as file:
        start = file.read(2**16)
    return re.split(rb"[\r\n]", re.sub(rb'"(?:[^"]|"")*"', b"", start).lstrip(), maxsplit=1)[0]
