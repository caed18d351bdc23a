"""Progress: shows a bar on the terminal while pairwise distances are computed."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from polars_clustereval.internal.kernels import threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["show_progress"]

#: The seconds before the bar appears, and between two updates.
PATIENCE = 2.0
INTERVAL = 0.1

_BAR_WIDTH = 30


@contextmanager
def show_progress() -> Iterator[None]:
    """Show a progress bar while the ``with`` block computes pairwise distances.

    The bar appears after 2 seconds. The bar is shown only if standard error is a terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    bar = _Bar()
    threads.watch = bar.watch
    try:
        yield
    finally:
        threads.watch = threads.show_no_progress
        bar.clear()


class _Bar:
    """A progress bar on standard error that starts anew for each step of a computation."""

    def __init__(self) -> None:
        """Start the timer after which the bar appears."""
        self._next_time = monotonic() + PATIENCE
        self._width = 0
        self._step = 0

    def watch(self, blocks: Iterable[threads.Made], total: int) -> Iterable[threads.Made]:
        """Yield `blocks` unchanged, and update the bar as each one is finished.

        `blocks` contains the results for the parts of one step, and `total` is the number of parts.
        """
        self._step += 1
        for done, block in enumerate(blocks, start=1):
            self._draw(done, total)
            yield block

    def _draw(self, done: int, total: int) -> None:
        """Draw the bar for a step, unless it was drawn too recently for the user to read it."""
        if monotonic() < self._next_time:
            return
        self._next_time = monotonic() + INTERVAL
        filled = "#" * (_BAR_WIDTH * done // total)
        self._write(f"distances, step {self._step}: [{filled:<{_BAR_WIDTH}}] {done / total:4.0%}")

    def clear(self) -> None:
        """Remove the bar from the terminal."""
        if self._width:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        """Write `text` over the previous text."""
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)
