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
    """Show nothing of the progress."""
    return blocks


#: Shows the progress of blocks; a program that has a screen may set it.
watch: Callable[[Iterable[Any], int], Iterable[Any]] = show_no_progress


def run_in_threads(function: Callable[[Given], Made], calls: Sequence[Given]) -> list[Made]:
    """Call the function with each; numpy leaves the other cores to other threads."""

    def called(given: Given) -> Made:
        # Of distances that overflow `checked` tells.
        with np.errstate(all="ignore"):
            return function(given)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(watch(pool.map(called, calls), len(calls)))
