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
    """Show a bar for long computations if standard error is a terminal and tqdm is installed."""
    if not sys.stderr.isatty():
        yield
        return
    threads.watch = _add_bar
    try:
        yield
    finally:
        threads.watch = threads.show_no_progress


def _add_bar(blocks: Iterable[threads.Made], total: int) -> Iterable[threads.Made]:
    """Return the blocks with a progress bar of tqdm, if it is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return blocks
    return tqdm(
        blocks, total=total, desc="distances", unit="block", delay=PATIENCE, leave=False, ncols=80
    )
