"""The error that this package raises for invalid input."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """A part of an error's message: a parameter and the value of it that helps."""

    parameter: str
    value: object

    def __str__(self) -> str:
        """Return the argument as it is written in Python."""
        return f"{self.parameter}={self.value!r}"


class PythonCode(str):
    """A part of an error's message that is of use in Python alone."""

    __slots__ = ()


class ClusterEvalError(ValueError):
    """Invalid input: the message says what was expected, what was passed, and what to do.

    The arguments are the parts of the message, which the command line writes in its own words.
    """

    def __str__(self) -> str:
        """Return the message in the words of Python."""
        return "".join(map(str, self.args))
