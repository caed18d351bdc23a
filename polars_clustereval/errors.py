"""The error that this package raises for invalid input."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """A part of an error message: a parameter, and the value of it that solves the problem."""

    parameter: str
    value: object

    def __str__(self) -> str:
        """Return the argument as it is written in Python."""
        return f"{self.parameter}={self.value!r}"


class PythonCode(str):
    """A part of an error message that is useful only in Python."""

    __slots__ = ()


class ClusterEvalError(ValueError):
    """Invalid input: the message tells you what was expected, what was passed, and what to do.

    The arguments are the parts of the message. The command line writes them in its own words.
    """

    def __str__(self) -> str:
        """Return the message in the words of Python."""
        return "".join(map(str, self.args))
