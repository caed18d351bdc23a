"""measured_pairs: a hook for counting the pairs of points whose distances are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def ignore_pairs(count: int) -> None:
    """Ignore the number of measured pairs, which is the default behavior of on_measured."""


#: This function is called with the number of pairs of each block of distances; tests and benchmarks
#: may replace it.
on_measured: Callable[[int], None] = ignore_pairs
