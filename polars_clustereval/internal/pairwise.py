"""pairwise: indices that require nearest neighbors or the distances between all pairs of points.

Because n points form n (n - 1) / 2 pairs, max_points limits the number of points. If the two points
of a pair are in the same cluster, their distance is called a distance within clusters. Otherwise it
is called a distance between clusters. The arrays `within` and `between` hold the distances within
and between clusters, respectively.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    is_whole_number,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.exact import count_pairs, ratio, to_double
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions
from polars_clustereval.base.growth import SORTED_PAIRS
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .kernels.distance_blocks import DISTANCES_PER_BLOCK, direct_distance_matrix
from .kernels.pair_ranks import (
    neighbors_in_other_clusters,
    rank_keys,
    rank_statistics_of_many,
)
from .kernels.partitions import Partition, Partitions, map_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .distances import Distance, DistanceName
    from .kernels.arrays import Booleans, Floats
    from .vectors import Missing, Vector

#: A relative tolerance that exceeds the rounding errors of distances that are equal by definition.
TIE_TOLERANCE = 1e-10

# ----------------------------------------------------------------------------------------------
# Checks
# ----------------------------------------------------------------------------------------------


def check_whole_number(name: str, x: float, least: int) -> int:
    """Return the argument x as an int, or raise an error unless it is whole and >= `least`."""
    if not (is_whole_number(x, least) and float(x) < 1e15):
        raise ClusterEvalError(f"{name}: expected a whole number >= {least}, got {show_value(x)}")
    return int(x)


def _check_pairable(rows: pl.LazyFrame, points: Points, max_points: int) -> pl.LazyFrame:
    """Return the points `rows` with checks that run before any distances are computed."""

    def check_size(largest: pl.DataFrame) -> None:
        """Raise an error if the largest partition, if any, has more than max_points points."""
        n = largest.item() or 0
        if n > max_points:
            pairs = n * (n - 1) // 2
            raise ClusterEvalError(
                f"max_points: expected at most {max_points} points in a partition, got {n} "
                f"({pairs} pairs, about {pairs // 10000 + 1} MB in DuckDB); raise max_points, take "
                "a sample, or for connectivity alone, pass the result of nearest_neighbors to "
                "neighborhood_report"
            )

    largest = points.row_counts.select(pl.col("n").max())
    return raise_on_collect(points.with_fault_check(rows), largest, check_size)


# ----------------------------------------------------------------------------------------------
# Pairs
# ----------------------------------------------------------------------------------------------


def _measure_pairs(
    part: Partition, points: Points, n_neighbors: int
) -> tuple[Floats, Floats, float]:
    """Return the distances of pairs within and between clusters, and the connectivity."""
    x, numbers, n = scale_points(part.x, points), part.numbers, len(part.x)
    n_within = int((part.sizes * (part.sizes - 1) // 2).sum())
    within, between = np.empty(n_within), np.empty(n * (n - 1) // 2 - n_within)
    n_neighbors = min(n_neighbors, n - 1)
    connectivity, within_stop, between_stop = 0.0, 0, 0
    step = max(1, DISTANCES_PER_BLOCK // n)
    for start in range(0, n, step):
        block = np.arange(start, min(n, start + step))
        d = direct_distance_matrix(x[block], x, points.distance)
        d[np.arange(len(block)), block] = np.inf
        in_other_cluster = numbers != numbers[block, None]
        connectivity += _connectivity(d, in_other_cluster, n_neighbors, points.distance)
        # To count each pair once, a point is compared only with the points after it.
        d, in_other_cluster = d[:, start:], in_other_cluster[:, start:]
        after = np.arange(start, n) > block[:, None]
        block_within, block_between = d[after & ~in_other_cluster], d[after & in_other_cluster]
        within_start, within_stop = within_stop, within_stop + len(block_within)
        between_start, between_stop = between_stop, between_stop + len(block_between)
        within[within_start:within_stop] = block_within
        between[between_start:between_stop] = block_between
    return within, between, connectivity


def scale_points(x: Floats, points: Points) -> Floats:
    """Return the user's points x (m, d), multiplied by their factors, and scaled for cosine.

    The computation is the same as in DuckDB, so both engines round identically. The result is in
    Fortran order, so the values of each coordinate are contiguous in memory.
    """
    x = np.asfortranarray(x * np.array(points.form.factors))
    if points.distance.name == "cosine":
        squares = np.zeros(len(x))
        for i in range(x.shape[1]):
            squares += x[:, i] * x[:, i]
        x /= np.where(squares > 0, np.sqrt(squares), 1.0)[:, None]
    return x


def _connectivity(
    d: Floats, in_other_cluster: Booleans, n_neighbors: int, distance: Distance
) -> float:
    """Return the sum of 1 / rank over the nearest neighbors that are in another cluster.

    Neighbors at the same distance share their ranks. `d` (m, n) holds the distances from m points
    to all n points, where the distance from a point to itself is infinite.
    """
    reach = np.partition(d, n_neighbors - 1, axis=1)[:, n_neighbors - 1 : n_neighbors]
    slack = 1e-14 if distance.name == "cosine" else 0.0
    i, j = np.nonzero(d <= reach * (1 + TIE_TOLERANCE) + slack)
    keys = rank_keys(d[i, j], distance)
    sums = neighbors_in_other_clusters(i, keys, in_other_cluster[i, j], n_neighbors, len(d))
    return float(sums.sum())


# ----------------------------------------------------------------------------------------------
# Ranks. `within` and `between` are the sorted distances of one partition, or their rank keys.
# ----------------------------------------------------------------------------------------------


def _replace_by_rank_keys(d: Floats, distance: Distance) -> None:
    """Replace the distances d with their rank keys, in place and in blocks to save memory."""
    for start in range(0, len(d), DISTANCES_PER_BLOCK):
        block = slice(start, start + DISTANCES_PER_BLOCK)
        d[block] = rank_keys(d[block], distance)


def _concordance_counts(within: Floats, between: Floats) -> tuple[int, int]:
    """Return the numbers of concordant (within < between) and discordant comparisons of keys.

    The counts are Python integers, because they may exceed the largest integer that Float64
    represents exactly.
    """
    concordant = discordant = 0
    for start in range(0, len(within), DISTANCES_PER_BLOCK):
        keys = within[start : start + DISTANCES_PER_BLOCK]
        # Only the range into which these keys fall is searched, because it fits into the cache.
        first = int(np.searchsorted(between, keys[0], "left"))
        last = int(np.searchsorted(between, keys[-1], "right"))
        searched = between[first:last]
        lesser = int(np.searchsorted(searched, keys, "left").sum()) + first * len(keys)
        up_to = int(np.searchsorted(searched, keys, "right").sum()) + first * len(keys)
        discordant += lesser
        concordant += len(between) * len(keys) - up_to
    return concordant, discordant


def _count_within_least(within: Floats, between: Floats, count: int) -> int:
    """Return how many of the `count` smallest sorted distances are distances within clusters."""
    low, high = max(0, count - len(between)), min(count, len(within))
    while low < high:
        middle = (low + high) // 2
        if within[middle] < between[count - middle - 1]:
            low = middle + 1
        else:
            high = middle
    return low


def _c_index_sums(within: Floats, between: Floats) -> dict[str, float]:
    """Return the differences S - least and greatest - least, whose quotient is the C index.

    S is the sum of the N distances within clusters, least is the sum of the N smallest of all
    distances, and greatest is the sum of the N largest.
    """
    n_within, n_between = len(within), len(between)
    i = _count_within_least(within, between, n_within)
    within_minus_least = within[i:].sum() - between[: n_within - i].sum()
    # Distances that are among both the smallest and the largest cancel, so they are left out.
    few, many = min(n_within, n_between), max(n_within, n_between)
    i, j = _count_within_least(within, between, few), _count_within_least(within, between, many)
    least = within[:i].sum() + between[: few - i].sum()
    greatest = within[j:].sum() + between[many - j :].sum()
    return {
        "within_minus_least": float(within_minus_least),
        "greatest_minus_least": float(greatest - least),
    }


# ----------------------------------------------------------------------------------------------
# Statistics of partitions
# ----------------------------------------------------------------------------------------------


def _rank_statistics(part: Partition, points: Points, n_neighbors: int) -> pl.DataFrame:
    """Return a row with the RANK_STATISTICS of a partition, which are NULL if undefined."""
    n, n_clusters = len(part.x), len(part.sizes)
    values: dict[str, float | None] = dict.fromkeys(RANK_STATISTICS)
    if n >= 2:
        values["connectivity"] = 0.0
    if n_clusters >= 2:
        within, between, values["connectivity"] = _measure_pairs(part, points, n_neighbors)
        if n_clusters < n:
            values |= single_rank_statistics(within, between, points.distance)
    return pl.DataFrame([values], schema=RANK_STATISTICS)


def single_rank_statistics(
    within: Floats, between: Floats, distance: Distance
) -> dict[str, float | None]:
    """Return the RANK_STATISTICS other than connectivity, and overwrite the distances."""
    within.sort()
    between.sort()
    values: dict[str, float | None] = {
        "mean_within": float(within.sum()) / len(within),
        "mean_between": float(between.sum()) / len(between),
        **_c_index_sums(within, between),
    }
    for d in (within, between):
        _replace_by_rank_keys(d, distance)
    concordant, discordant = _concordance_counts(within, between)
    return values | {"concordant": float(concordant), "discordant": float(discordant)}


def _rank_statistics_of_many(parts: Partitions, points: Points, n_neighbors: int) -> pl.DataFrame:
    """Return the rows of _rank_statistics for many partitions, with the partition columns."""
    parts = parts._replace(x=scale_points(parts.x, points))
    statistics = rank_statistics_of_many(parts, n_neighbors, points.distance)
    keys = parts.rows[parts.partition_starts[:-1]].select(points.partition_keys)
    return keys.hstack(pl.DataFrame(statistics, schema=RANK_STATISTICS).fill_nan(None))


def pair_sizes(clusters: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Return n_within_pairs and n_between_pairs of each partition of clusters, as Decimal."""
    n = pl.col("n")
    within, pairs = count_pairs(n).sum(), count_pairs(n.sum())
    counts = {"n_within_pairs": within, "n_between_pairs": pairs - within}
    terms = {name: count.cast(pl.Decimal(38, 0)) for name, count in counts.items()}
    return aggregate_by(clusters, keys, terms)


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def pairwise_indices() -> Terms:
    """Return the indices, from the columns of pair_sizes and RANK_STATISTICS."""
    concordant, discordant = pl.col("concordant"), pl.col("discordant")
    mean_within, mean_between = pl.col("mean_within"), pl.col("mean_between")
    n_within, n_between = to_double(pl.col("n_within_pairs")), to_double(pl.col("n_between_pairs"))
    n_pairs = n_within + n_between
    difference, compared = concordant - discordant, concordant + discordant
    n_comparisons = n_pairs * (n_pairs - 1) / 2
    c_index = ratio(pl.col("within_minus_least"), pl.col("greatest_minus_least"))
    return {
        # If no comparison is concordant or discordant, all distances are equal.
        "c_index": pl.when(compared > 0).then(c_index),
        "gamma": ratio(difference, compared),
        "tau": difference / (n_within * n_between * n_comparisons).sqrt(),
        "g_plus": discordant / n_comparisons,
        "mcclain_rao": ratio(mean_within, mean_between),
        "point_biserial": (mean_within - mean_between) * (n_within * n_between).sqrt() / n_pairs,
        "connectivity": pl.col("connectivity"),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points", guide="pairwise", growth=SORTED_PAIRS)
def pairwise_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    n_neighbors: int = 10,
    max_points: int = 5000,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Internal indices that need the distances between all pairs of points.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one per row. A LazyFrame is read when you collect the result. All
        points are in memory, together with the distances of one partition at a time (8 bytes per
        pair).
    n_neighbors : int
        Number of nearest neighbors that connectivity uses for each point. Must be at least 1. If
        there are fewer other points, all of them are used.
    max_points : int
        Maximum number of points in a partition. Must be at least 2. The running time grows with the
        number of pairs, which is n (n − 1) / 2 for n points.
    vector, cluster, distance, p, partition_by, noise, noise_as, weights : as in internal_report
    missing : as in internal_report
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work needed only for columns that are not returned is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns,
        n (the number of points that are counted), n_dropped, n_noise, n_clusters, n_within_pairs
        and n_between_pairs (both Decimal(38, 0)), and the following:

        - c_index (range [0, 1], best 0).
        - gamma (range [-1, 1], best 1).
        - g_plus (range [0, 2/3], best 0).
        - tau (range [-m, m], best high), where m^2 = 2 w b / (t (t - 1)) for w pairs within
          clusters, b pairs between clusters, and t = w + b.
        - mcclain_rao (range [0, inf), best low).
        - point_biserial (range unbounded, best low).
        - connectivity (range [0, inf), best 0).

        All indices except connectivity are NULL if there is only one cluster, or if every point is
        its own cluster. connectivity is NULL if there are fewer than two points. c_index is also
        NULL if all distances are equal. gamma is also NULL if no distance within clusters differs
        from a distance between clusters. mcclain_rao is also NULL if all distances between clusters
        are 0.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report, and if a partition has more than max_points points.

    Notes
    -----
    Let S be the sum and N the number of distances. The subscript W refers to the distances within
    clusters, B to the distances between clusters, and T to all distances. Compare every distance
    within clusters with every distance between clusters: s⁺ counts the comparisons in which the
    distance between clusters is larger, and s⁻ those in which it is smaller. Then c_index is (S_W −
    S_min) / (S_max − S_min), where S_min and S_max are the sums of the N_W smallest and the N_W
    largest distances. gamma is (s⁺ − s⁻) / (s⁺ + s⁻), g_plus is 2 s⁻ / (N_T (N_T − 1)), and tau is
    (s⁺ − s⁻) / √(N_W N_B N_T (N_T − 1) / 2). mcclain_rao is (S_W / N_W) / (S_B / N_B).
    point_biserial is (S_W / N_W − S_B / N_B) √(N_W N_B) / N_T, and is not divided by the standard
    deviation of the distances. connectivity is the sum of 1 / j over the j-th nearest neighbors
    that belong to another cluster. Neighbors at the same distance share their ranks. A neighbor
    with shared ranks contributes the mean of 1 / j over these ranks, where 1 / j is replaced with 0
    for ranks beyond n_neighbors.

    For ranks and neighbors, two distances count as equal if their first 12 digits are equal. For
    'euclidean', the digits of the squared distances are compared, and for 'minkowski', the digits
    of a power of the distances. For example, 0.4 − 0.3 counts as equal to 0.1.
    In SQL: ``FROM clustereval.pairwise_report(tbl, [x, y], cluster)``.

    References
    ----------
    Hubert and Levin (1976), doi:10.1037/0033-2909.83.6.1072; Baker and Hubert (1975),
    doi:10.1080/01621459.1975.10480256; Rohlf (1974), doi:10.1146/annurev.es.05.110174.000533;
    McClain and Rao (1975), Journal of Marketing Research 12; Milligan (1981),
    doi:10.1007/BF02293899; Handl, Knowles and Kell (2005), doi:10.1093/bioinformatics/bti517. The
    formulas are taken from the documentation of the R package clusterCrit.

    Examples
    --------
    Every distance within a cluster is less than every distance between clusters:

    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> report = ce.pairwise_report(four, ["x", "y"], "cluster", n_neighbors=1)
    >>> report.select("c_index", "gamma", "g_plus", "connectivity").rows()
    [(0.0, 1.0, 0.0, 0.0)]
    """
    n_neighbors = check_whole_number("n_neighbors", n_neighbors, 1)
    max_points = check_whole_number("max_points", max_points, 2)
    options = pass_arguments_to(check_point_options)
    points = read_points(frame, vector, cluster, options, results=PAIRWISE_COLUMNS)
    statistics = map_partitions(
        points,
        partial(_rank_statistics, points=points, n_neighbors=n_neighbors),
        RANK_STATISTICS,
        prefix="raw_x",
        checked=partial(_check_pairable, points=points, max_points=max_points),
        function_of_many=partial(_rank_statistics_of_many, points=points, n_neighbors=n_neighbors),
    )
    report = points.row_counts
    for other in (pair_sizes(points.spreads, points.partition_keys), statistics):
        report = join_partitions(report, points.partition_keys, other, how="left")
    report = report.with_columns(**pairwise_indices())
    return points.to_result(frame, report.select(*points.keys, *PAIRWISE_COLUMNS), metrics=metrics)


#: The columns from which the indices of a partition are computed, named as in kernels.pair_ranks.
_STATISTICS_NAMES = (
    *("mean_within", "mean_between", "within_minus_least", "greatest_minus_least"),
    *("concordant", "discordant", "connectivity"),
)
RANK_STATISTICS = pl.Schema(dict.fromkeys(_STATISTICS_NAMES, pl.Float64()))
PAIRWISE_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_clusters", "n_within_pairs", "n_between_pairs"),
    *("c_index", "gamma", "g_plus", "tau", "mcclain_rao", "point_biserial", "connectivity"),
)
