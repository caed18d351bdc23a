"""Quoting of names and strings for SQL queries, and escaping of strings for display."""

from __future__ import annotations

from unicodedata import category

# Unicode categories of characters that a terminal obeys (escape sequences, text direction, line
# breaks) or that cannot be encoded (bytes of a path that are not UTF-8).
_CONTROL_CATEGORIES = ("Cc", "Cf", "Zl", "Zp", "Cs")


def quote_identifier(name: str) -> str:
    """Return a name as a quoted SQL identifier, with any quotes inside it doubled."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(text: str) -> str:
    """Return a string as an SQL literal, with any quotes inside it doubled."""
    return "'" + text.replace("'", "''") + "'"


def escape_controls(text: str) -> str:
    """Return the text with control characters replaced by a backslash and a code such as x1b."""
    return "".join(
        ascii(char)[1:-1] if category(char) in _CONTROL_CATEGORIES else char for char in text
    )
