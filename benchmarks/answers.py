"""What a timed job returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: Values by the name of the metric, one a run.
Answers = Mapping[str, Sequence[Any]]
Run = Callable[[], Answers]
