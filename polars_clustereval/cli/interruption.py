"""Interruption: work in a thread of its own, so that Ctrl-C ends the program at once.

Python handles Ctrl-C in the main thread, and only between two of its instructions. A query or a
numpy kernel that runs there delays it for as long as it takes.
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

_WORKER_NAME = "clustereval worker"

# Seconds between two looks at the worker, and for which an interrupted one may finish.
_POLL_INTERVAL = 0.1
_GRACE_PERIOD = 1.0

# Open connections, whose queries are interrupted.
_connections: list[duckdb.DuckDBPyConnection] = []


@contextmanager
def interruptible(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Make Ctrl-C interrupt the queries of this connection inside the ``with`` block."""
    _connections.append(connection)
    try:
        yield
    finally:
        _connections.remove(connection)


def run_in_worker(function: Callable[[], Result]) -> Result:
    """Return the result of function(), or raise its error; it runs in a thread of its own.

    KeyboardInterrupt interrupts the queries of connections that are `interruptible`, and is raised
    when the thread has ended, or after a second if it has not: see `is_work_left`.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        """Call `function`, and keep its result or its error."""
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    # At exit, Python waits for threads that are no daemons.
    worker = threading.Thread(target=work, name=_WORKER_NAME, daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(_POLL_INTERVAL)
    except KeyboardInterrupt:
        _stop_queries(worker)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _stop_queries(worker: threading.Thread) -> None:
    """Interrupt the queries of a worker until it ends, at most for a second."""
    deadline = monotonic() + _GRACE_PERIOD
    while worker.is_alive() and monotonic() < deadline:
        # Again and again, because an interruption between two queries stops neither.
        for connection in _connections:
            connection.interrupt()
        worker.join(_POLL_INTERVAL / 2)


def is_work_left() -> bool:
    """Return whether a thread of `run_in_worker` still runs, as Polars and numpy do until the end.

    Only the end of the process stops them.
    """
    return any(thread.name == _WORKER_NAME for thread in threading.enumerate())
