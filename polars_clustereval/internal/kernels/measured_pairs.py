"""measured_pairs: a hook that counts the pairs for which distances are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def ignore_pairs(count: int) -> None:
    """Do nothing with the number of pairs that were measured: the default of on_measured."""


#: Called with the number of pairs of each block of distances; tests and benchmarks may set it.
on_measured: Callable[[int], None] = ignore_pairs
