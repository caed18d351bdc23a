"""Progress: a bar on the terminal while distances of pairs are computed."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from polars_clustereval.internal.kernels import threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["show_progress"]

#: Seconds before the bar appears.
PATIENCE = 2.0


@contextmanager
def show_progress() -> Iterator[None]:
    """Show a progress bar while the ``with`` block computes distances of pairs, after 2 seconds.

    Only if standard error is a terminal and tqdm is installed.
    """
    if not sys.stderr.isatty():
        yield
        return
    threads.watch = _add_bar
    try:
        yield
    finally:
        threads.watch = threads.show_no_progress


def _add_bar(blocks: Iterable[threads.Made], total: int) -> Iterable[threads.Made]:
    """Return an iterable of the same blocks that draws a progress bar, if tqdm is installed.

    `blocks` are the results of parts of a computation as they are finished, `total` is their
    number.
    """
    try:
        from tqdm import tqdm
    except ImportError:
        return blocks
    return tqdm(
        blocks, total=total, desc="distances", unit="block", delay=PATIENCE, leave=False, ncols=80
    )
