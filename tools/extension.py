"""The DuckDB extension: its source as a repository of its own, and the file that LOAD reads.

Run from the root of a clone: ``python -m tools.extension``. It writes to build/extension; what the
parts are is in extension/README.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

import polars_clustereval as ce
from tools.address import repository
from tools.extension_tests import labels_test

ROOT = Path(__file__).parent.parent
NAME = "clustereval"
FILE = f"{NAME}.duckdb_extension"
#: The version of DuckDB's C API that clustereval.c asks for: a DuckDB refuses a newer one.
[API_VERSION] = re.findall(
    r'#define API_VERSION "(.*)"', (ROOT / "extension" / "clustereval.c").read_text("utf-8")
)
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
#: Bytes of the embedded database in a line of the header.
BYTES_PER_LINE = 24
#: The footer is a section of a WebAssembly file, of which these are the lengths and the name.
FOOTER_START = b"\x00\x93\x04\x10duckdb_signature\x80\x04"
BYTES_PER_FIELD, BYTES_OF_SIGNATURE = 32, 256


def write_source(folder: Path) -> None:
    """Write the repository of the extension to an empty folder, or one that has an older one."""
    shutil.copytree(ROOT / "extension", folder, dirs_exist_ok=True)
    shutil.copy(ROOT / "LICENSE", folder)
    with TemporaryDirectory() as temporary:
        database = Path(temporary) / f"{NAME}.duckdb"
        ce.write_database(database)
        (folder / "macros.h").write_text(header_of(database.read_bytes()), encoding="utf-8")
    (folder / "test" / "sql" / "labels.test").write_text(labels_test(), encoding="utf-8")
    description = folder / "description.yml"
    description.write_text(fill_in(description.read_text(encoding="utf-8")), encoding="utf-8")


def header_of(content: bytes) -> str:
    """Return a C header in which the array MACROS has these bytes."""
    starts = range(0, len(content), BYTES_PER_LINE)
    lines = ",\n".join(",".join(map(str, content[i : i + BYTES_PER_LINE])) for i in starts)
    return (
        "/* A DuckDB database with the macros of clustereval. */\n"
        f"static const unsigned char MACROS[] = {{\n{lines}\n}};\n"
    )


def fill_in(description: str) -> str:
    """Return the description with the version and the addresses of the project."""
    name = repository()
    return description.format(version=ce.__version__, repository=name, owner=name.split("/")[0])


def compile_extension(source: Path, file: Path) -> None:
    """Compile the source in a folder to a file that LOAD reads."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    with TemporaryDirectory() as temporary:
        library = Path(temporary) / f"{NAME}.so"
        command = [*compiler.split(), "-std=gnu11", "-O1", *WARNINGS, "-shared", "-fPIC"]
        command += ["-fvisibility=hidden", "-o", library, source / f"{NAME}.c"]
        subprocess.run(command, check=True)
        file.write_bytes(library.read_bytes() + footer(platform()))


def footer(platform: str) -> bytes:
    """Return what DuckDB wants to find behind the library: its fields come last to first."""
    fields = ("", "", "", "C_STRUCT", f"v{ce.__version__}", API_VERSION, platform, "4")
    padded = b"".join(field.encode("ascii").ljust(BYTES_PER_FIELD, b"\0") for field in fields)
    return FOOTER_START + padded + bytes(BYTES_OF_SIGNATURE)


def platform() -> str:
    """Return DuckDB's name of this platform, such as linux_amd64."""
    row = duckdb.connect().execute("PRAGMA platform").fetchone()
    assert row is not None
    return str(row[0])


def main(arguments: list[str] | None = None) -> None:
    """Write the source to FOLDER/source, and the extension to FOLDER."""
    parser = argparse.ArgumentParser("python -m tools.extension", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "build" / "extension")
    folder = parser.parse_args(arguments).folder
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    write_source(source)
    compile_extension(source, folder / FILE)
    sys.stdout.write(f"{folder / FILE}\n")


if __name__ == "__main__":
    main()
