"""Schemas: the JSON Schemas for the reports' output with --format json, one file per report.

`make facts` generates the schemas from the records of the reports and the catalogue. The schemas
are part of the package, so that a program can read them without computing a report.
"""

from __future__ import annotations

from pathlib import Path

from .grid import align_columns, wrap_last_column
from .reports import REPORTS

__all__ = ["SCHEMA_VERSION", "list_schemas", "read_schema", "schema_file"]

#: The version increases when a column is removed, becomes optional or changes its type, but not for
#: new columns.
SCHEMA_VERSION = 1

_FOLDER = Path(__file__).parent / "json_schemas"


def schema_file(name: str) -> Path:
    """Return the path of the JSON Schema of the report `name`."""
    return _FOLDER / f"v{SCHEMA_VERSION}" / f"{name}.json"


def read_schema(name: str) -> str:
    """Return the text of the JSON Schema of the report `name`."""
    return schema_file(name).read_text(encoding="utf-8")


def list_schemas() -> str:
    """Return one line, with the name and the title, for each report that has a JSON Schema."""
    lines = [[name, report.description] for name, report in REPORTS.items()]
    return align_columns(wrap_last_column(lines)) + "\n"
