"""The error that this package raises for invalid input."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """A part of an error message: a parameter, and the value that solves the problem."""

    parameter: str
    value: object

    def __str__(self) -> str:
        """Return the argument in the form of Python code."""
        return f"{self.parameter}={self.value!r}"


class PythonCode(str):
    """A part of an error message that is useful only in Python."""

    __slots__ = ()


class ClusterEvalError(ValueError):
    """Invalid input: the message tells you what was expected, what was passed, and what to do.

    The arguments are the parts of the message, which the command line writes in its own form.
    """

    def __str__(self) -> str:
        """Return the message in the form for Python."""
        return "".join(map(str, self.args))
