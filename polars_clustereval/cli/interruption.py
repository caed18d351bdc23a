"""Interruption: runs work in its own thread, so that Ctrl-C ends the program immediately.

Python handles Ctrl-C in the main thread, and only between two instructions. A query or a numpy
kernel in the main thread would delay the interruption until the query or kernel ends.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

__all__ = ["interruptible", "is_work_left", "run_in_worker"]

Result = TypeVar("Result")

# The interval, in seconds, at which the worker is checked, and the time for which an interrupted
# worker may continue.
_POLL_INTERVAL = 0.1
_GRACE_PERIOD = 0.75

# The open connections whose queries Ctrl-C interrupts.
_connections: list[duckdb.DuckDBPyConnection] = []

# One event for each call of run_in_worker, set when its thread has finished.
_work: list[threading.Event] = []


@contextmanager
def interruptible(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Make Ctrl-C interrupt the queries of this connection inside the ``with`` block."""
    _connections.append(connection)
    try:
        yield
    finally:
        _connections.remove(connection)


def run_in_worker(
    function: Callable[[], Result], show_progress: Callable[[], None] = lambda: None
) -> Result:
    """Run `function` in its own thread, and return its result or raise its error.

    Meanwhile, this thread calls `show_progress` again and again. On KeyboardInterrupt, the queries
    of `interruptible` connections are interrupted. The exception is raised when the thread has
    finished, or after a short time (see `is_work_left`).
    """
    results: list[Result] = []
    errors: list[BaseException] = []
    # Thread.join is not used, because in Python 3.11, it assumes that the thread has ended if
    # Ctrl-C interrupts the join.
    finished = threading.Event()

    def work() -> None:
        """Call `function` and store its result or its error."""
        try:
            results.append(function())
        except BaseException as error:  # raised again by the main thread
            errors.append(error)
        finally:
            finished.set()

    _work.append(finished)
    # At exit, Python waits for all threads that are not daemons.
    threading.Thread(target=work, name="clustereval worker", daemon=True).start()
    try:
        # Because of Polars, the system restarts a wait without a timeout after Ctrl-C.
        while not finished.wait(_POLL_INTERVAL):
            show_progress()
    except KeyboardInterrupt:
        _stop_queries(finished)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _stop_queries(finished: threading.Event) -> None:
    """Interrupt the queries of a worker until it has finished or the grace period is over."""
    deadline = monotonic() + _GRACE_PERIOD
    while not finished.is_set() and monotonic() < deadline:
        # The interruption is repeated, because an interruption between two queries stops neither of
        # them.
        for connection in _connections:
            connection.interrupt()
        finished.wait(_POLL_INTERVAL / 2)


def is_work_left() -> bool:
    """Return whether work from `run_in_worker` still runs; Polars and numpy cannot be stopped."""
    return not all(finished.is_set() for finished in _work)
