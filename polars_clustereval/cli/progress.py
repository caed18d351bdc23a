"""Progress: a bar on a terminal while the distances of pairs are worked out."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from polars_clustereval.internal.kernels import threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["shown"]

#: Seconds: what is over in a blink needs no bar.
PATIENCE = 2.0


@contextmanager
def shown() -> Iterator[None]:
    """Show a bar for what takes long, if there is somebody to see it and tqdm is installed."""
    if not sys.stderr.isatty():
        yield
        return
    threads.watch = _bar
    try:
        yield
    finally:
        threads.watch = threads.show_no_progress


def _bar(blocks: Iterable[threads.Made], total: int) -> Iterable[threads.Made]:
    try:
        from tqdm import tqdm
    except ImportError:
        return blocks
    return tqdm(
        blocks, total=total, desc="distances", unit="block", delay=PATIENCE, leave=False, ncols=80
    )
