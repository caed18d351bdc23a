"""Every pair of partitions of a few rows, all in one frame, and the contingency table of each."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

from tests.support.brute import partitions
from tests.support.engines import frame_of
from tests.support.oracle import exact

if TYPE_CHECKING:
    import polars as pl

    from tests.support.oracle import Cell

Pair = tuple[tuple[int, ...], tuple[int, ...]]
Cells = tuple[tuple[int, int, int], ...]


@cache
def pairs_of_partitions(largest: int) -> list[Pair]:
    """Labels and clusters of 1 to `largest` rows."""
    return [pair for n in range(1, largest + 1) for pair in product(partitions(n), partitions(n))]


def frame_of_pairs(largest: int) -> pl.DataFrame:
    """All rows of all pairs of partitions, numbered by `pair`."""
    pairs = enumerate(pairs_of_partitions(largest))
    return frame_of([(u, v, i) for i, pair in pairs for u, v in zip(*pair, strict=True)], "pair")


@cache
def exact_values(cells: tuple[Cell, ...], **arguments: Any) -> dict[str, Any]:
    """Every metric of external_report, computed once."""
    return exact(cells, **arguments)


def renamed_cells(pair: Pair) -> Cells:
    """The cells, with names by which many pairs have the same ones: exact values take long."""
    cells = Counter(zip(*pair, strict=True))
    labels, clusters = map(Counter, pair)
    label_order = sorted(
        labels, key=lambda u: (labels[u], sorted(n for (x, _), n in cells.items() if x == u))
    )
    label_of = {u: i for i, u in enumerate(label_order)}
    cluster_order = sorted(
        clusters,
        key=lambda v: (
            clusters[v],
            sorted((label_of[x], n) for (x, y), n in cells.items() if y == v),
        ),
    )
    cluster_of = {v: i for i, v in enumerate(cluster_order)}
    return tuple(sorted((label_of[u], cluster_of[v], n) for (u, v), n in cells.items()))
