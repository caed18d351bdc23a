"""The error that this package raises for invalid input."""

from __future__ import annotations


class ClusterEvalError(ValueError):
    """Invalid input: the message says what was expected, what was passed, and what to do."""
