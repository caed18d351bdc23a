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


def influences(
    cells: Sequence[Cell], *, jackknife: bool = False, **options: Any
) -> dict[str, list[float]]:
    """For each metric that is defined, the influence of a row of each cell; their mean is 0."""
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
        found[metric] = [slope - mean for slope in slopes]
    return found


def std_errors(cells: Sequence[Cell], **options: Any) -> dict[str, float]:
    """The standard error of each metric that is defined."""
    n = sum(rows for *_, rows in cells)
    return {
        metric: math.sqrt(sum(x * x * cell[2] for x, cell in zip(of_cells, cells, strict=True))) / n
        for metric, of_cells in influences(cells, **options).items()
    }


def paired_errors(cells: Sequence[tuple[Any, Any, Any, int]], **options: Any) -> dict[str, float]:
    """The standard error of each difference, from cells (label, cluster_1, cluster_2, n)."""
    total = sum(n for *_, n in cells)
    sides = []
    for side in (1, 2):
        merged: dict[tuple[Any, Any], int] = {}
        for cell in cells:
            merged[cell[0], cell[side]] = merged.get((cell[0], cell[side]), 0) + cell[3]
        found = influences([(*key, n) for key, n in merged.items()], **options)
        places = [list(merged).index((cell[0], cell[side])) for cell in cells]
        sides.append({metric: [x[i] for i in places] for metric, x in found.items()})
    return {
        metric: math.sqrt(
            sum(
                (x - y) ** 2 * cell[3]
                for x, y, cell in zip(sides[0][metric], sides[1][metric], cells, strict=True)
            )
        )
        / total
        for metric in sides[0].keys() & sides[1].keys()
    }
