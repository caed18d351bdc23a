"""Progress: tells on standard error what is being computed while a command takes long."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from polars_clustereval.internal.kernels import threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["begin_step", "show_progress"]

#: The seconds before a terminal shows the progress, and between two updates.
PATIENCE = 2.0
INTERVAL = 0.1
#: The seconds between two lines if standard error is not a terminal, such as a log file.
LINE_INTERVAL = 10.0

_BAR_WIDTH = 30


@contextmanager
def show_progress() -> Iterator[Callable[[], None]]:
    """Yield a function that shows the progress of the ``with`` block if it is time to do so.

    A terminal has one line, which appears after 2 seconds and is updated. Otherwise, a line is
    written every 10 seconds.
    """
    global _shown
    _shown = _Progress()
    threads.watch = _shown.watch
    try:
        yield _shown.show
    finally:
        threads.watch = threads.show_no_progress
        _shown.clear()


def begin_step(name: str, *, has_bar: bool = False) -> None:
    """Tell what is being computed from now on, and whether it draws a bar of its own."""
    _shown.step, _shown.has_bar = name, has_bar
    _shown.pairs, _shown.number = None, 0


class _Progress:
    """The steps of a command, written to standard error."""

    def __init__(self) -> None:
        self.step = ""
        self.has_bar = False
        #: The number of the last step of pairwise distances, and its finished and its total parts.
        self.pairs: tuple[int, int, int] | None = None
        self._is_terminal = sys.stderr.isatty()
        self._begin = monotonic()
        self._next_time = self._begin + (PATIENCE if self._is_terminal else LINE_INTERVAL)
        self._width = 0
        self.number = 0

    def watch(self, blocks: Iterable[threads.Made], total: int) -> Iterable[threads.Made]:
        """Yield `blocks`, the results for the `total` parts of one step, and count them."""
        self.number += 1
        for done, block in enumerate(blocks, start=1):
            self.pairs = self.number, done, total
            yield block

    def show(self) -> None:
        """Show the progress, unless it was shown too recently."""
        now = monotonic()
        if now < self._next_time:
            return
        self._next_time = now + (INTERVAL if self._is_terminal else LINE_INTERVAL)
        text = self.step or "reading"
        if self.pairs is not None:
            number, done, total = self.pairs
            filled = "#" * (_BAR_WIDTH * done // total)
            text += f", step {number}: [{filled:<{_BAR_WIDTH}}] {done / total:4.0%}"
        text += f", {now - self._begin:.0f} seconds so far"
        if not self._is_terminal:
            sys.stderr.write(f"clustereval: {text}\n")
            sys.stderr.flush()
        elif self.pairs is not None or not self.has_bar:
            self._write(text)

    def clear(self) -> None:
        """Remove the progress from the terminal."""
        if self._width:
            self._write("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _write(self, text: str) -> None:
        """Write `text` over the previous text."""
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)


_shown = _Progress()
