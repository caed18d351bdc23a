"""Standard errors by brute force: the change of an exact score when one row comes or goes.

n times that change is the influence of a row of a cell, up to a constant and to terms of order
1 / n, without any derivative. If the row only goes, they are those of the jackknife.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tests.support.oracle import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.oracle import Cell

#: Stands for a cluster in a cell whose rows are clusters of their own.
SINGLE = "single"


def expanded(cells: Sequence[Cell]) -> list[Cell]:
    """The cells with one cluster for each row of a SINGLE one."""
    return [
        (label, (cluster, label, i), 1) if cluster == SINGLE else (label, cluster, n)
        for label, cluster, n in cells
        for i in range(n if cluster == SINGLE else 1)
    ]


def changed(cells: Sequence[Cell], place: int, by: int, **options: Any) -> dict[str, Any]:
    """The scores with `by` more rows in one cell."""
    more = [(label, cluster, n + by * (i == place)) for i, (label, cluster, n) in enumerate(cells)]
    return exact(expanded(more), **options)


def std_errors(
    cells: Sequence[Cell], *, jackknife: bool = False, **options: Any
) -> dict[str, float]:
    """The standard error of each metric that is defined."""
    n = sum(rows for *_, rows in cells)
    pairs = [
        (changed(cells, i, 0 if jackknife else 1, **options), changed(cells, i, -1, **options))
        for i in range(len(cells))
    ]
    found = {}
    for metric in pairs[0][0]:
        if any(up[metric] is None or down[metric] is None for up, down in pairs):
            continue
        step = n - 1 if jackknife else n / 2
        slopes = [step * (up[metric] - down[metric]) for up, down in pairs]
        mean = sum(slope * cell[2] for slope, cell in zip(slopes, cells, strict=True)) / n
        squares = sum(
            (slope - mean) ** 2 * cell[2] for slope, cell in zip(slopes, cells, strict=True)
        )
        found[metric] = math.sqrt(squares) / n
    return found
