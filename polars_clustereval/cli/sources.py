"""Sources: the files specified in the arguments and the kinds of these files."""

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

__all__ = ["Source", "find_sources"]

_ENDINGS = {
    "parquet": (".parquet",),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "json": (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
    "arrow": (".arrow", ".feather", ".ipc"),
}

# The separators for which a header is searched, after the separator of the file's ending.
_OTHER_SEPARATORS = (";", "\t", "|", ",")

_STANDARD_INPUT = "standard input"


class Source(NamedTuple):
    """An input: files of one kind or a table in a DuckDB database."""

    #: parquet, csv, json, arrow or database
    kind: str
    paths: tuple[str, ...]
    #: The name of the input in error texts.
    name: str
    #: The name of each path in error texts.
    path_names: tuple[str, ...] = ()
    #: The table, if the input is a DuckDB database.
    table: str = ""
    #: The separator, if the input is CSV files.
    separator: str = ""

    def rename_paths(self, text: str) -> str:
        """Return the text of an error message with the path of each file replaced by its name."""
        for path, name in zip(self.paths, self.path_names, strict=False):
            text = text.replace(path, name)
        return text


class _File(NamedTuple):
    """A file of the input: its path, and its name in error texts."""

    path: str
    #: The path, unless it is that of the copy of standard input.
    name: str


def find_sources(inputs: Sequence[Sequence[str]], scratch: Path) -> list[Source]:
    """Return the source of each input, given as a list of FILE arguments."""
    if sum(files.count("-") for files in inputs) > 1:
        raise ClusterEvalError(f"{_STANDARD_INPUT}: given twice")
    return [_find_source(files, scratch) for files in inputs]


def _find_source(files: Sequence[str], scratch: Path) -> Source:
    """Return the source that the FILE arguments specify, or raise an error if there is none."""
    tables = [file for file in files if "::" in file]
    if tables and len(files) > 1:
        raise ClusterEvalError(
            f"expected either one database table or several files, got {tables[0]} together with "
            "other files or tables"
        )
    if tables or (len(files) == 1 and _is_database(files[0])):
        return _find_database_table(files[0])
    found = [inner for file in files for inner in _list_files(file, scratch)]
    for file in found:
        _check_file(file)
    _check_unique(found)
    return _describe_files(found)


def _check_unique(files: Sequence[_File]) -> None:
    """Raise an error if a file is given twice, even under another name or through a link."""
    names: dict[Path, str] = {}
    for file in files:
        path = Path(file.path).resolve()
        if path in names:
            spelling = "" if names[path] == file.name else f", also as {names[path]}"
            raise ClusterEvalError(f"{file.name}: given twice{spelling}")
        names[path] = file.name


def _find_database_table(file: str) -> Source:
    """Return the source specified as DATABASE::TABLE, whose table is not looked up yet."""
    path, _, table = file.partition("::")
    _check_file(_File(path, path))
    # DuckDB would open a CSV file as a database, and download an extension for some other files.
    if not _is_database(path):
        raise ClusterEvalError(f"{path}: expected a DuckDB database before '::'")
    return Source("database", (path,), path, table=table)


def _is_database(path: str) -> bool:
    """Return whether `path` is the path of a DuckDB database."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(12)[8:] == b"DUCK"


# ----------------------------------------------------------------------------------------------
# Paths
# ----------------------------------------------------------------------------------------------


def _list_files(file: str, scratch: Path) -> list[_File]:
    """Return the files that one argument specifies, in sorted order, or raise an error."""
    if file == "-":
        copy = scratch / "standard_input.csv"  # because the input is read twice
        with copy.open("wb") as opened:
            shutil.copyfileobj(sys.stdin.buffer, opened)
        return [_File(str(copy), _STANDARD_INPUT)]
    return [_File(path, path) for path in _list_paths(file)]


def _list_paths(file: str) -> list[str]:
    """Return the paths of the files that match a path or a pattern, or raise an error."""
    path = Path(file)
    if path.is_dir():
        return _list_parquet_files(file)
    if path.exists():
        return [file]
    if not glob.has_magic(file):
        raise ClusterEvalError(f"{file}: no such file")
    # Path.glob does not accept absolute patterns.
    matches = sorted(glob.glob(file, recursive=True))  # noqa: PTH207
    if not matches:
        raise ClusterEvalError(f"{file}: no file matches")
    return [
        inner
        for match in matches
        for inner in (_list_parquet_files(match) if Path(match).is_dir() else [match])
    ]


def _list_parquet_files(folder: str) -> list[str]:
    """Return the Parquet files in a folder and its subfolders, or raise an error.

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
        raise ClusterEvalError(f"{folder}: expected a folder with .parquet files, found none")
    return kept


# Paths that represent open files of the process, of any kind.
_DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")


def _check_file(file: _File) -> None:
    """Raise an error unless the path is that of a nonempty file that can be read more than once."""
    path, name = file
    if path != path.encode(errors="replace").decode():
        raise ClusterEvalError(f"{name}: expected a path in UTF-8")
    if not Path(path).exists():
        raise ClusterEvalError(f"{name}: no such file")
    if not Path(path).is_file() or path.startswith(_DESCRIPTORS):
        raise ClusterEvalError(
            f"{name}: expected a regular file; for CSV on standard input, give -"
        )
    if Path(path).stat().st_size == 0:
        raise ClusterEvalError(f"{name}: the file is empty")


# ----------------------------------------------------------------------------------------------
# Kinds
# ----------------------------------------------------------------------------------------------


def _describe_files(files: Sequence[_File]) -> Source:
    """Return a single source of all files, or raise an error if they are not of one known kind."""
    kinds = [_find_kind(file.path) for file in files]
    first = files[0].name
    for file, kind in zip(files, kinds, strict=True):
        if kind != kinds[0]:
            raise ClusterEvalError(f"expected files of one kind, got {first} and {file.name}")
    paths, names = zip(*files, strict=True)
    n_more = len(files) - 1
    more = f" and {n_more} more {'file' if n_more == 1 else 'files'}" if n_more else ""
    source = Source(kinds[0], paths, f"{first}{more}", names)
    if source.kind != "csv":
        return source
    separators = [_detect_separator(file) for file in files]
    for file, separator in zip(files, separators, strict=True):
        if separator != separators[0]:
            raise ClusterEvalError(
                f"{file.name}: expected the separator {separators[0]!r} of {first}, "
                f"got {separator!r}"
            )
    return source._replace(separator=separators[0])


def _find_kind(path: str) -> str:
    """Return the kind of a file, such as parquet, or raise an error for an unknown extension."""
    for kind, endings in _ENDINGS.items():
        if path.lower().endswith(endings):
            return kind
    every_ending = ", ".join(ending for endings in _ENDINGS.values() for ending in endings)
    raise ClusterEvalError(
        f"{path}: expected a file that ends in {every_ending}, or a table in a DuckDB "
        f"database, written as {path}::table"
    )


def _detect_separator(file: _File) -> str:
    """Return the separator of a CSV file, based on its extension and its header."""
    usual = "\t" if file.path.lower().endswith((".tsv", ".tsv.gz")) else ","
    try:
        header = _read_header(file.path)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ClusterEvalError(f"{file.name}: {error}") from error
    candidates: Iterator[str] = iter((usual, *_OTHER_SEPARATORS))
    return next((one for one in candidates if one.encode() in header), usual)


def _read_header(path: str) -> bytes:
    """Return the first line of a CSV file, which may be compressed, without any quoted names."""
    is_compressed = path.lower().endswith(".gz")
    with gzip.open(path, "rb") if is_compressed else Path(path).open("rb") as file:
        start = file.read(2**16)
    return re.split(rb"[\r\n]", re.sub(rb'"(?:[^"]|"")*"', b"", start).lstrip(), maxsplit=1)[0]
