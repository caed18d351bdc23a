"""Access to the macros in ``sql/`` as text, in a DuckDB connection, or in a database file.

``text`` reads the files and combines them into a single text (`bundle`). ``registration`` creates
the macros in a connection (`register`). ``cache`` maintains a database from which ``registration``
copies the macros. ``database`` writes a database file with the macros. ``cache_folder`` decides
which files in the cache are trusted.
"""

from __future__ import annotations

from .database import attach_macros, check_new_file, write_database
from .registration import register, register_macro
from .text import (
    bundle,
    find_folder,
    macro_comments,
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
    "macro_comments",
    "macro_definitions",
    "macros_called_by",
    "register",
    "register_macro",
    "sql_files",
    "sql_folder",
    "write_database",
]
