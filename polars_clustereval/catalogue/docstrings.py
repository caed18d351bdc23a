"""docstrings: functions that read the sections and parameters of numpy-style docstrings."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["join_lines", "read_parameters", "read_sections"]

_SECTION = re.compile(r"\n\n(\w+)\n-+\n")


def read_sections(function: Callable[..., Any]) -> dict[str, str]:
    """Return a mapping from section titles to the unchanged sections of a docstring.

    The title of the first section is empty.
    """
    # With -OO, Python removes docstrings.
    first, *parts = _SECTION.split(inspect.getdoc(function) or "")
    return {"": first} | dict(zip(parts[::2], parts[1::2], strict=True))


def read_parameters(function: Callable[..., Any]) -> dict[str, str]:
    """Return a mapping from each parameter in a docstring to its type and description.

    Each value is one line of text.
    """
    entries = re.split(r"\n(?=\S)", read_sections(function).get("Parameters", ""))
    found = {}
    for entry in filter(None, entries):
        head, _, text = entry.partition("\n")
        names, _, type_name = head.partition(" : ")
        for name in names.split(", "):
            found[name] = f"{join_lines(type_name)}. {join_lines(text)}"
    return found


def join_lines(text: str) -> str:
    """Convert text from a docstring to one line without backticks."""
    return " ".join(text.replace("`", "").split())
