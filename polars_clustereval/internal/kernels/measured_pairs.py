"""measured_pairs: a hook for counting the pairs of points whose distances are computed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def ignore_pairs(_count: int) -> None:
    """Ignore the number of measured pairs, which is the default behavior of on_measured."""


#: This function is called with the number of pairs of each block of distances; estimates, tests and
#: benchmarks may replace it.
on_measured: Callable[[int], None] = ignore_pairs


@contextmanager
def count_pairs() -> Iterator[list[int]]:
    """Yield a list to which the ``with`` block adds the number of pairs of each block."""
    global on_measured
    counts: list[int] = []
    previous, on_measured = on_measured, counts.append
    try:
        yield counts
    finally:
        on_measured = previous
