"""streams: applies a numpy function to batches of points as the points are streamed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .threads import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from .arrays import Integers


def map_stream(
    rows: pl.LazyFrame, function: Callable[[pl.DataFrame], pl.DataFrame], schema: pl.Schema
) -> pl.LazyFrame:
    """Return the rows that `function` returns for each batch of the streamed rows."""
    return rows.map_batches(
        function,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        streamable=True,
        schema=schema,
    )


def run_stream(rows: pl.LazyFrame, stop: Callable[[], None]) -> None:
    """Collect a stream, which runs its functions. If the collection is interrupted, call `stop`.

    Python raises KeyboardInterrupt only in the main thread, and only between two instructions. If
    the main thread collected a stream inside another collection, the interruption would be delayed
    until the stream ends. `stop` makes the functions of the stream raise an error. If the current
    thread belongs to Polars, it collects the stream itself: if it waited for another thread, Polars
    would have one fewer thread for the stream, or none at all.
    """
    if threading.current_thread() is not threading.main_thread():
        rows.collect(engine="streaming")
        return
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(rows.collect, engine="streaming")
        try:
            wait_for(job)
        except BaseException:
            stop()
            raise


def split_batch(
    numbers: Integers, starts: Sequence[int], steps: Sequence[int]
) -> Iterator[tuple[slice | Integers, int]]:
    """Yield parts of a batch, each within one partition, along with that partition's index.

    A part is a slice or an array of row indices. `starts` are the first cluster numbers of the
    partitions, and `steps` the maximum numbers of rows in a part of each.
    """
    if len(starts) == 1:
        yield from ((slice(i, i + steps[0]), 0) for i in range(0, len(numbers), steps[0]))
        return
    places = np.searchsorted(starts, numbers, side="right") - 1
    order = np.argsort(places, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(places[order], prepend=-1)), len(order))
    for start, end in pairwise(ends.tolist()):
        place = int(places[order[start]])
        step = steps[place]
        yield from ((order[i : min(i + step, end)], place) for i in range(start, end, step))
