"""streams: a numpy function of batches of points, called as they stream past."""

from __future__ import annotations

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
    """Return what the function makes of each batch of rows; it gets all columns."""
    return rows.map_batches(
        function,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        streamable=True,
        schema=schema,
    )


def split_batch(
    numbers: Integers, starts: Sequence[int], steps: Sequence[int]
) -> Iterator[tuple[slice | Integers, int]]:
    """Yield rows of a batch that are in one partition, and the place of that partition.

    `numbers` (m,) are the cluster numbers of the rows, which are consecutive within a partition;
    `starts` the first number of each partition; `steps` the most rows of each to yield at a time.
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
