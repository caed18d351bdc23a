"""streams: a numpy function of batches of points, called while the points stream."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from .arrays import Integers


def map_stream(
    rows: pl.LazyFrame, function: Callable[[pl.DataFrame], pl.DataFrame], schema: pl.Schema
) -> pl.LazyFrame:
    """Return the results of `function`, called with each batch of rows while the rows stream.

    The batches have all columns of `rows`. `schema` is that of the results, of which there may be
    any number of rows.
    """
    return rows.map_batches(
        function,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        streamable=True,
        schema=schema,
    )


#: Seconds between two moments at which Ctrl-C is noticed.
_WAIT_SECONDS = 0.1


def run_stream(rows: pl.LazyFrame, stop: Callable[[], None]) -> None:
    """Collect the rows of a stream, so that its functions run; call `stop` on an interruption.

    Python raises KeyboardInterrupt in the main thread, and only between two instructions. If a
    stream were collected there, inside another collection, it would delay the interruption until
    its end. `stop` makes the functions of the stream raise an error. A thread of Polars collects
    the stream itself: if it waited for another thread, Polars would have one thread less for the
    stream, or none.
    """
    if threading.current_thread() is not threading.main_thread():
        rows.collect(engine="streaming")
        return
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(rows.collect, engine="streaming")
        try:
            # Polars makes the system restart a wait without a timeout after Ctrl-C.
            while not job.done():
                wait([job], timeout=_WAIT_SECONDS)
        except BaseException:
            stop()
            raise
        job.result()


def split_batch(
    numbers: Integers, starts: Sequence[int], steps: Sequence[int]
) -> Iterator[tuple[slice | Integers, int]]:
    """Yield parts of a batch whose rows are in one partition, and the index of that partition.

    A part is a slice or an array of row indices. numbers (m,) are the numbers of the rows'
    clusters, which count through all partitions; starts[i] is the number of the first cluster of
    partition i, and steps[i] the largest number of rows that a part of it may have.
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
