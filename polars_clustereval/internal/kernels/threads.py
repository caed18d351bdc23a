"""threads: runs numpy functions in several threads, and reports their progress."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Given = TypeVar("Given")
Made = TypeVar("Made")


def show_no_progress(blocks: Iterable[Made], _total: int) -> Iterable[Made]:
    """Return the iterable of finished blocks unchanged, as `watch` does by default."""
    return blocks


#: A function that wraps an iterable of finished blocks, given their total number, to display
#: progress.
watch: Callable[[Iterable[Any], int], Iterable[Any]] = show_no_progress


#: If all calls together process at most this many numbers, starting threads takes longer than the
#: calls.
MAX_INLINE_WORK = 2**18


def run_in_threads(
    function: Callable[[Given], Made], calls: Sequence[Given], work: int
) -> list[Made]:
    """Return the result of function(call) for each of the `calls`, in the same order.

    numpy releases the interpreter lock. If `work`, roughly the number of values that all calls
    process, is small, no threads are started.
    """

    def call_silently(given: Given) -> Made:
        """Return function(given), computed with numpy's overflow warnings suppressed."""
        # The checks of the points report an overflow as an error.
        with np.errstate(all="ignore"):
            return function(given)

    if len(calls) < 2 or work <= MAX_INLINE_WORK:
        return list(watch(map(call_silently, calls), len(calls)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(watch(pool.map(call_silently, calls), len(calls)))
