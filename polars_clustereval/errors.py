"""The error that this package raises for invalid input."""

from __future__ import annotations

from typing import NamedTuple


class Setting(NamedTuple):
    """A part of an error message that names a parameter and the value that solves the problem."""

    parameter: str
    value: object

    def __str__(self) -> str:
        """Return the setting as Python code, in the form parameter=value."""
        return f"{self.parameter}={self.value!r}"


class PythonCode(str):
    """A part of an error message that is useful only in Python."""

    __slots__ = ()


class ClusterEvalError(ValueError):
    """An error about invalid input that says what was expected, what was passed, and what to do.

    The arguments of the error are the parts of its message. The command line formats these parts in
    its own way.
    """

    def __str__(self) -> str:
        """Return the message as it is shown in Python."""
        return "".join(map(str, self.args))
