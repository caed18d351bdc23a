"""threads: runs numpy functions in several threads, and reports their progress."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
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


_call = threading.local()


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt in a thread of run_in_threads if its caller was interrupted.

    Python raises KeyboardInterrupt only in the main thread. Functions that take long call this.
    """
    stop = getattr(_call, "stop", None)
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt


#: The interval, in seconds, at which Ctrl-C is checked for.
_WAIT_SECONDS = 0.1


def wait_for(job: Future[Made]) -> Made:
    """Return the result of a job in another thread, unless Ctrl-C interrupts the wait."""
    # Because of Polars, the system restarts a wait without a timeout after Ctrl-C.
    while not job.done():
        wait([job], timeout=_WAIT_SECONDS)
    return job.result()


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
    stop = threading.Event()

    def call_silently(given: Given) -> Made:
        """Return function(given), computed with numpy's overflow warnings suppressed."""
        _call.stop = stop
        # The checks of the points report an overflow as an error.
        with np.errstate(all="ignore"):
            return function(given)

    if len(calls) < 2 or work <= MAX_INLINE_WORK:
        return list(watch(map(call_silently, calls), len(calls)))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(call_silently, given) for given in calls]
        try:
            return list(watch(map(wait_for, jobs), len(jobs)))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
