"""threads: numpy functions called in several threads, and their progress."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Given = TypeVar("Given")
Made = TypeVar("Made")


def show_no_progress(blocks: Iterable[Made], total: int) -> Iterable[Made]:  # noqa: ARG001
    """Return the blocks as they are, without a display of progress."""
    return blocks


#: Wraps an iterable of finished blocks, given their total number, to display progress.
watch: Callable[[Iterable[Any], int], Iterable[Any]] = show_no_progress


def run_in_threads(function: Callable[[Given], Made], calls: Sequence[Given]) -> list[Made]:
    """Return the function's result for each of `calls`, its arguments, in order.

    Threads run in parallel because numpy releases the lock of the interpreter.
    """

    def call_silently(given: Given) -> Made:
        # Overflow becomes an error in the checks of the points.
        with np.errstate(all="ignore"):
            return function(given)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(watch(pool.map(call_silently, calls), len(calls)))
