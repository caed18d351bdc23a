"""The one error that callers of this package need to catch."""

from __future__ import annotations

__all__ = ["ClusterEvalError"]


class ClusterEvalError(ValueError):
    """Input that has no meaning here: the message says what was expected, what came, what to do."""
