"""The macros of ``sql/`` in Python: as text, in a DuckDB connection, and in a database file.

``text`` reads the files and combines them into one (`bundle`). ``registration`` creates the macros
in a connection (`register`), for which it copies them from ``cache``. ``database`` writes a
database with the macros. ``cache_folder`` decides which files of the cache are trusted.
"""

from __future__ import annotations

from .database import attach_macros, check_new_file, write_database
from .registration import register, register_macro
from .text import (
    bundle,
    find_folder,
    macro_definitions,
    macros_called_by,
    sql_files,
    sql_folder,
)

__all__ = [
    "attach_macros",
    "bundle",
    "check_new_file",
    "find_folder",
    "macro_definitions",
    "macros_called_by",
    "register",
    "register_macro",
    "sql_files",
    "sql_folder",
    "write_database",
]
