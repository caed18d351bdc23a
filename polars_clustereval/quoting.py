"""quoting: names and texts of users as parts of an SQL query."""

from __future__ import annotations


def quote_identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier, with quotes inside it doubled."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return a text as an SQL literal, with quotes inside it doubled."""
    return "'" + text.replace("'", "''") + "'"
