"""pairwise: the indices that need the distances of all pairs; the twin of ``sql/pairwise.sql``.

n points have n (n - 1) / 2 pairs, hence the limit max_points.
"""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    is_number,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.exact import count_pairs
from polars_clustereval.base.frames import aggregate_by, join_partitions
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .kernels.distance_blocks import CELLS, direct_distance_matrix
from .kernels.partitions import Partition, map_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .distances import Distance
    from .kernels.arrays import Floats, Integers
    from .vectors import Vector

#: More, relatively, than what distances of one rank differ by.
NEAR = 1e-10

# ----------------------------------------------------------------------------------------------
# Checks
# ----------------------------------------------------------------------------------------------


def _check_whole_number(name: str, x: float, least: int) -> int:
    if not (is_number(x) and least <= float(x) < 1e15 and float(x) == int(x)):
        raise ClusterEvalError(f"{name}: expected a whole number >= {least}, got {show_value(x)}")
    return int(x)


def _check_pairable(rows: pl.LazyFrame, points: Points, most: int) -> pl.LazyFrame:
    """Add the errors for points that cannot be measured, or are more than are to be paired."""
    greatest = points.row_counts.select(pl.col("n").max())
    return raise_on_collect(
        points.with_fault_check(rows), greatest, partial(_raise_if_more, most=most)
    )


def _raise_if_more(greatest: pl.DataFrame, most: int) -> None:
    n = greatest.item() or 0
    if n > most:
        raise ClusterEvalError(
            f"max_points: expected at most {most} points in a partition, got {n} "
            f"({n * (n - 1) // 2} pairs); raise max_points, or take a sample"
        )


# ----------------------------------------------------------------------------------------------
# Pairs
# ----------------------------------------------------------------------------------------------


class _PairDistances(NamedTuple):
    """The distances of all pairs of one partition."""

    within: Floats
    between: Floats
    #: Of the places of nearest neighbors, what those taken by points of other clusters are worth.
    connectivity: float


def _measure_pairs(part: Partition, points: Points, n_neighbors: int) -> _PairDistances:
    """Measure all pairs, some points at a time."""
    x, numbers, n = _scale_points(part.x, points), part.numbers, len(part.x)
    n_within = int((part.sizes * (part.sizes - 1) // 2).sum())
    within, between = np.empty(n_within), np.empty(n * (n - 1) // 2 - n_within)
    values = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, min(n_neighbors, n - 1) + 1))])
    lost, inside, outside = 0.0, 0, 0
    step = max(1, CELLS // n)
    for start in range(0, n, step):
        block = np.arange(start, min(n, start + step))
        d = direct_distance_matrix(x[block], x, points.distance)
        d[np.arange(len(block)), block] = np.inf
        lost += _lost_connectivity(d, numbers[block], numbers, values, points.distance)
        # each pair once: with the points after it
        d = d[:, start:]
        after = np.arange(start, n) > block[:, None]
        same = numbers[start:] == numbers[block, None]
        near, far = d[after & same], d[after & ~same]
        within[inside : inside + len(near)] = near
        between[outside : outside + len(far)] = far
        inside, outside = inside + len(near), outside + len(far)
    return _PairDistances(within, between, lost)


def _scale_points(x: Floats, points: Points) -> Floats:
    """Give the coordinates as DuckDB has them, digit by digit: times factors, units for cosine.

    Fortran's order has each coordinate of all points side by side.
    """
    x = np.asfortranarray(x * np.array(points.form.factors))
    if points.distance.name == "cosine":
        squares = np.zeros(len(x))
        for i in range(x.shape[1]):
            squares += x[:, i] * x[:, i]
        x /= np.where(squares > 0, np.sqrt(squares), 1.0)[:, None]
    return x


def _lost_connectivity(
    d: Floats, own: Integers, numbers: Integers, values: Floats, distance: Distance
) -> float:
    """Give the value of the places among the nearest that points of other clusters take.

    `values` are the sums of 1 / place up to each place. Equally near points share their places:
    each is worth the mean of them, whatever order the points come in.
    """
    last = len(values) - 1
    reach = np.partition(d, last - 1, axis=1)[:, last - 1 : last]
    slack = 1e-14 if distance.name == "cosine" else 0.0
    i, j = np.nonzero(d <= reach * (1 + NEAR) + slack)
    near = _rank_keys(d[i, j], distance)
    order = np.lexsort((near, i))
    i, j, near = i[order], j[order], near[order]
    starts = np.flatnonzero(np.r_[True, (i[1:] != i[:-1]) | (near[1:] != near[:-1])])
    count = np.diff(np.r_[starts, len(i)])
    before = starts - np.searchsorted(i, i[starts])
    value = values[np.minimum(before + count, last)] - values[np.minimum(before, last)]
    others = np.add.reduceat((numbers[j] != own[i]).astype(np.int64), starts)
    return float((others * value / count).sum())


# ----------------------------------------------------------------------------------------------
# Ranks. `within` and `between` are the distances of one partition, or their ranks, sorted.
# ----------------------------------------------------------------------------------------------


def _rank_keys(d: Floats, distance: Distance) -> Floats:
    """Give what distances are ranked by: 12 digits of them, or of their square or power.

    Distances that are equal by definition, as many are between points of few decimals, differ in
    their last digits as the engine rounds; where they are decimals, or their squares or powers are,
    12 digits give these back. Unit vectors have 15 decimals, and their distances no more.
    """
    powers = {"euclidean": 2.0, "minkowski": min(distance.p, 4.0)}
    x = np.minimum(d ** powers.get(distance.name, 1.0), 1.7e308)
    digits = np.floor(np.log10(x, out=np.zeros_like(x), where=x > 0))
    scale = 10.0 ** np.minimum(11 - digits, 15 if distance.name == "cosine" else 300)
    return np.where(x < 1.7e308, np.rint(x * scale) / scale, x)


def _replace_by_rank_keys(d: Floats, distance: Distance) -> None:
    """Put what sorted distances are ranked by in their place."""
    for start in range(0, len(d), CELLS):
        d[start : start + CELLS] = _rank_keys(d[start : start + CELLS], distance)


def _crossings(within: Floats, between: Floats) -> tuple[int, int]:
    """Count the pairs of a distance within and a greater one between, and those with a lesser.

    Python's own numbers, since there are more of them than a Float64 tells apart.
    """
    plus = minus = 0
    for start in range(0, len(within), CELLS):
        keys = within[start : start + CELLS]
        # Only the stretch that these keys fall into is searched, and stays in the cache.
        first = int(np.searchsorted(between, keys[0], "left"))
        last = int(np.searchsorted(between, keys[-1], "right"))
        stretch = between[first:last]
        lesser = int(np.searchsorted(stretch, keys, "left").sum()) + first * len(keys)
        up_to = int(np.searchsorted(stretch, keys, "right").sum()) + first * len(keys)
        minus += lesser
        plus += len(between) * len(keys) - up_to
    return plus, minus


def _count_within_least(within: Floats, between: Floats, count: int) -> int:
    """Tell how many of the `count` least of all distances are within."""
    low, high = max(0, count - len(between)), min(count, len(within))
    while low < high:
        middle = (low + high) // 2
        if within[middle] < between[count - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return low


def _c_index(within: Floats, between: Floats, distance: Distance) -> float | None:
    ends = np.array([within[0], between[0], within[-1], between[-1]])
    if len(set(_rank_keys(ends, distance).tolist())) == 1:
        return None
    n_within, n_between = len(within), len(between)
    i = _count_within_least(within, between, n_within)
    excess = within[i:].sum() - between[: n_within - i].sum()
    # What the least and the greatest sum have in common is left out of both.
    few, many = min(n_within, n_between), max(n_within, n_between)
    i, j = _count_within_least(within, between, few), _count_within_least(within, between, many)
    least = within[:i].sum() + between[: few - i].sum()
    most = within[j:].sum() + between[many - j :].sum()
    return float(excess / (most - least))


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def _pairwise_row(part: Partition, points: Points, n_neighbors: int) -> pl.DataFrame:
    """One row: the indices of a partition."""
    n, k = len(part.x), len(part.sizes)
    values: dict[str, float | None] = dict.fromkeys(_PAIRWISE_INDICES)
    if n >= 2:
        values["connectivity"] = 0.0
    if k >= 2:
        with np.errstate(all="ignore"):  # what overflows is told below
            distances = _measure_pairs(part, points, n_neighbors)
            values["connectivity"] = distances.connectivity
            if k < n:
                values |= _pairwise_scores(distances.within, distances.between, points.distance)
    return pl.DataFrame([values], schema=_PAIRWISE_SCHEMA)


def _pairwise_scores(
    within: Floats, between: Floats, distance: Distance
) -> dict[str, float | None]:
    within.sort()
    between.sort()
    n_within, n_between = len(within), len(between)
    pairs = n_within + n_between
    inner, outer = float(within.sum()) / n_within, float(between.sum()) / n_between
    if not np.isfinite(inner + outer):
        raise ClusterEvalError("vector: distances overflow; scale the coordinates down")
    c_index = _c_index(within, between, distance)
    for d in (within, between):
        _replace_by_rank_keys(d, distance)
    plus, minus = _crossings(within, between)
    return {
        "c_index": c_index,
        "gamma": (plus - minus) / (plus + minus) if plus + minus else None,
        "g_plus": 2 * minus / (pairs * (pairs - 1)),
        "tau": (plus - minus) / sqrt(n_within * n_between * pairs * (pairs - 1) / 2),
        "mcclain_rao": inner / outer if outer else None,
        "point_biserial": (inner - outer) * sqrt(n_within * n_between) / pairs,
    }


def _pair_totals(points: Points) -> pl.LazyFrame:
    """One row a partition: its pairs within clusters and between them."""
    n = pl.col("n")
    within, pairs = count_pairs(n).sum(), count_pairs(n.sum())
    counts = {"n_within_pairs": within, "n_between_pairs": pairs - within}
    terms = {name: count.cast(pl.Decimal(38, 0)) for name, count in counts.items()}
    return aggregate_by(points.spreads, points.partition_keys, terms)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def pairwise_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: str = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
    n_neighbors: int = 10,
    max_points: int = 20000,
) -> Frame:
    """Give the internal indices that need the distances of all pairs of points.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. A LazyFrame is read when the result is collected; its
        first row, and of a List column the greatest length, are looked up at once. The points that
        count are in memory, and the distances of one partition at a time, 8 bytes a pair.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: all are) are left out.
    cluster : str or Expr
        The cluster assigned to a point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        scipy's distances, in any letter case. A zero vector has the cosine distance 1 to all.
    p : float
        Order of the minkowski distance, at least 1.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.
    weights : sequence of float, optional
        A number > 0 for each dimension, as in scipy; not for chebyshev.
    n_neighbors : int
        How many nearest neighbors of a point connectivity looks at, at least 1; all, where there
        are fewer. A point is no neighbor of itself.
    max_points : int
        The most points that a partition may have, at least 2: n of them have n (n − 1) / 2 pairs.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row a partition, sorted by it: the partition columns, n points
        that count, n_dropped, n_noise, n_clusters, n_within_pairs and n_between_pairs (Decimal(38,
        0)), c_index (range [0, 1], best 0), gamma and tau (range [−1, 1], best 1), g_plus (range
        [0, 1], best 0), mcclain_rao (at least 0, best 0), point_biserial (best low) and
        connectivity (at least 0, best 0).

        All are NULL for a single cluster and where every point is one, except connectivity, which
        is NULL for fewer than two points. c_index is NULL where all distances are equal, gamma
        where no pair within differs from one between, mcclain_rao where all pairs between are 0.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, vectors differ in length, or a partition has more than max_points points.

    Notes
    -----
    With S and N the sum and the number of the distances within (W) and between (B) clusters, all
    pairs T, and s⁺, s⁻ the numbers of pairs of a distance within that is less, or greater, than one
    between (equal ones count in neither): c_index = (S_W − S_min) / (S_max − S_min), where S_min
    and S_max are the sums of the N_W least and greatest of all distances; gamma = (s⁺ − s⁻) / (s⁺ +
    s⁻); g_plus = 2 s⁻ / (N_T (N_T − 1)); tau = (s⁺ − s⁻) / √(N_W N_B N_T (N_T − 1) / 2);
    mcclain_rao = (S_W / N_W) / (S_B / N_B); point_biserial = (S_W / N_W − S_B / N_B) √(N_W N_B) /
    N_T, not divided by the standard deviation of the distances; connectivity = Σ 1 / j over each
    point's j-th nearest neighbor that is of another cluster. Equally near neighbors share their
    places: each is worth the mean of 1 / j over these, 0 for j beyond n_neighbors.

    Distances are equal, for ranks and neighbors, where 12 digits of them are (for euclidean of
    their squares, for minkowski of their powers), so that 0.1 and 0.4 − 0.3 are.
    In SQL: ``FROM clustereval.pairwise_report(tbl, [x, y], cluster)``.

    References
    ----------
    Hubert and Levin (1976), doi:10.1037/0033-2909.83.6.1072; Baker and Hubert (1975),
    doi:10.1080/01621459.1975.10480256; Rohlf (1974), doi:10.1146/annurev.es.05.110174.000533;
    McClain and Rao (1975), Journal of Marketing Research 12; Milligan (1981),
    doi:10.1007/BF02293899; Handl, Knowles and Kell (2005), doi:10.1093/bioinformatics/bti517. The
    forms are those of R's clusterCrit.

    Examples
    --------
    Every distance within is less than every one between:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> report = ce.pairwise_report(four, ["x", "y"], "cluster", n_neighbors=1)
    >>> report.select("c_index", "gamma", "g_plus", "connectivity").rows()
    [(0.0, 1.0, 0.0, 0.0)]
    """
    neighbors = _check_whole_number("n_neighbors", n_neighbors, 1)
    most = _check_whole_number("max_points", max_points, 2)
    options = check_point_options(
        distance=distance,
        p=p,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = read_points(frame, vector, cluster, options, results=_PAIRWISE_COLUMNS)
    indices = map_partitions(
        points,
        partial(_pairwise_row, points=points, n_neighbors=neighbors),
        _PAIRWISE_SCHEMA,
        prefix="raw_x",
        checked=partial(_check_pairable, points=points, most=most),
    )
    report = points.row_counts
    for other in (_pair_totals(points), indices):
        report = join_partitions(report, points.partition_keys, other, how="left")
    return points.to_result(frame, report.select(*points.keys, *_PAIRWISE_COLUMNS))


_PAIRWISE_INDICES = (
    "c_index",
    "gamma",
    "g_plus",
    "tau",
    "mcclain_rao",
    "point_biserial",
    "connectivity",
)
_PAIRWISE_SCHEMA = pl.Schema(dict.fromkeys(_PAIRWISE_INDICES, pl.Float64()))
_PAIRWISE_COLUMNS = (
    "n",
    "n_dropped",
    "n_noise",
    "n_clusters",
    "n_within_pairs",
    "n_between_pairs",
    *_PAIRWISE_INDICES,
)
