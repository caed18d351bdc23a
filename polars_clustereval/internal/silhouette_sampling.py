"""silhouette_sampling: estimates of silhouettes, computed from samples of the points.

A query is a point whose silhouette is computed. The mean distance from a query to a cluster is
estimated from references, which are t points drawn from the cluster without replacement. If the
cluster has no more than t points, all of them are references. All queries use the same references,
so the error caused by sampling the references does not average out over the queries. This error has
the same variance as the sum of the influences of all references.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.deferral import collect_now
from polars_clustereval.base.frames import aggregate_by, join_small

from .kernels.distance_blocks import TargetPoints
from .kernels.other_clusters import reduce_others
from .kernels.threads import run_in_threads
from .mean_distances import MeanDistances, take_own_means

if TYPE_CHECKING:
    from .centroids import Points
    from .distances import Distance
    from .kernels.arrays import Booleans, Floats, Integers
    from .kernels.partitions import Partition

#: The modulus of the sample keys, a prime. The product of two smaller numbers is below 2^63.
PRIME = 2**31 - 1
#: This is added to random_state for the keys of references, so that they are drawn independently of
#: the queries.
REFERENCE_SEED = 1_000_000_007
#: The margin, in standard deviations, by which more rows are ranked than are expected to be drawn.
_MARGIN = 10.0
#: The number of distances in a block of queries and references.
_DISTANCES_AT_ONCE = 2**20


# ----------------------------------------------------------------------------------------------
# Draws
# ----------------------------------------------------------------------------------------------


def _with_places(points: Points, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows with `place`, the position of each id within its partition, from 0."""
    if points.keys or points.has_user_id:
        rows = rows.sort([*points.keys, "id"], nulls_last=True, maintain_order=True)
    place = pl.col("place").cast(pl.Int64)
    rows = rows.with_row_index("place")
    if not points.keys:
        return rows.with_columns(place)
    return rows.with_columns(place=place - place.min().over(points.partition_keys))


def _sample_key(seed: int) -> pl.Expr:
    """Return a pseudorandom number below PRIME that is the same in every engine, from `place`."""
    seed %= PRIME
    x0 = pl.col("place") % PRIME
    x1 = (x0 * 48271 + (seed * 69621 + 1)) % PRIME
    x2 = (x1 * x1 + seed) % PRIME
    x3 = (x2 * 39373 + x0) % PRIME
    return (x3 * x3 + x1) % PRIME


def _rank_by(key: str, by: list[str]) -> pl.Expr:
    """Return the rank of each row's sample key in its group of the columns `by`, from 1."""
    rank = pl.struct(key, "place").rank("ordinal")
    return rank.over(by) if by else rank


def mark_queries(points: Points, sample_size: int | None, random_state: int) -> Points:
    """Return the points with the flag is_query: all of them, or a sample of each partition."""
    if sample_size is None:
        return replace(points, rows=points.rows.with_columns(is_query=pl.lit(True)))
    rows = _with_places(points, points.kept_rows)
    rows = rows.with_columns(query_key=_sample_key(int(random_state)))
    rank = _rank_by("query_key", points.partition_keys)
    return replace(points, rows=rows.with_columns(is_query=rank <= int(sample_size)))


def draw_points(
    points: Points, sample_size: int | None, reference_size: int | None, random_state: int
) -> Points:
    """Collect the queries and references immediately, and return them as points.

    No other rows are held in memory: first the keys of all rows are read, then the vectors of the
    drawn rows. The rows have the flags is_query, is_reference and is_odd, which divides the
    references of a cluster into two halves, and the `size` of their cluster.
    """
    keys, n = points.partition_keys, pl.col("n")
    total = n.sum().over(keys) if keys else n.sum()
    sizes = points.spreads.filter(n > 0).select(*points.cluster_keys, size="n", total=total)
    rows = _with_places(points, points.kept_rows.select(*points.cluster_keys, "id"))
    state = int(random_state)
    keyed = join_small(rows, points.cluster_keys, sizes).with_columns(
        query_key=_sample_key(state), reference_key=_sample_key(state + REFERENCE_SEED)
    )
    draws = [
        _Draw("query", sample_size, "total", keys),
        _Draw("reference", reference_size, "size", points.cluster_keys),
    ]
    marks = _draw(keyed, draws, margin=_MARGIN)
    if marks is None:
        marks = _draw(keyed, draws, margin=None)
    assert marks is not None
    by = [*keys, "id"]
    flags = marks.select(
        *by, "is_query", "is_reference", "size", is_odd=pl.col("reference_rank") % 2 == 1
    )
    drawn = join_small(points.kept_rows, by, flags.lazy())
    return replace(points, rows=collect_now(drawn).lazy())


def draw_sample(points: Points, sample_size: int, random_state: int) -> pl.LazyFrame:
    """Return the sample of each partition that mark_queries marks, with `place`.

    Only rows that may be drawn are ranked.
    """
    keys, key = points.partition_keys, pl.col("query_key")
    rows = _with_places(points, points.kept_rows).with_columns(query_key=_sample_key(random_state))
    counts = aggregate_by(points.kept_rows, keys, {"n": pl.len()})
    rows = join_small(rows, keys, counts) if keys else counts.join(rows, how="cross")
    limit = _Draw("query", sample_size, "n", keys).limit(_MARGIN)
    return rows.filter(key < limit).filter(_rank_by("query_key", keys) <= sample_size)


class _Draw(NamedTuple):
    """A draw of the rows with the smallest sample keys in each group, or of all rows."""

    name: str
    size: int | None
    #: The column with the size of the row's group.
    population: str
    by: list[str]

    def limit(self, margin: float | None) -> pl.Expr:
        """Return a sample key: the rows with smaller ones are `margin` deviations too many."""
        if self.size is None or margin is None:
            return pl.lit(PRIME)
        share = float(self.size + margin * self.size**0.5 + margin**2) / pl.col(self.population)
        return (share * PRIME).clip(None, PRIME).cast(pl.Int64)


def _draw(keyed: pl.LazyFrame, draws: list[_Draw], margin: float | None) -> pl.DataFrame | None:
    """Return the drawn rows of `keyed`, with their flags is_query and is_reference and ranks.

    Only rows with small keys are stored and ranked (all of them if margin is None). The result is
    None if too few rows were ranked.
    """
    limits = {draw.name: draw.limit(margin) for draw in draws}
    is_candidate = [pl.col(f"{name}_key") < value for name, value in limits.items()]
    candidates = collect_now(keyed.filter(pl.any_horizontal(is_candidate)))
    for name, size, population, by in draws:
        key, number = f"{name}_key", pl.col(population) if size is None else size
        rank = _rank_by(key, by)
        candidates = candidates.with_columns(rank.alias(f"{name}_rank"))
        candidates = candidates.with_columns((pl.col(f"{name}_rank") <= number).alias(f"is_{name}"))
        is_late = pl.col(f"is_{name}") & (pl.col(key) >= limits[name])
        if candidates.select(is_late.any()).item():
            return None
    return candidates.filter(pl.col("is_query") | pl.col("is_reference"))


# ----------------------------------------------------------------------------------------------
# Mean distances to references, and their errors
# ----------------------------------------------------------------------------------------------


class _DrawnPartition(NamedTuple):
    """The m queries and the references of one partition with k clusters."""

    #: (m, d): the queries, sorted by cluster.
    x: Floats
    #: (m,): number of each query's cluster.
    own: Integers
    #: (k,): number of points of each cluster.
    sizes: Integers
    #: The references of each cluster, to which distances are computed.
    targets: list[TargetPoints]
    #: (k,): number of references of each cluster.
    counts: Integers
    #: (m,): the position of each query among the references of its cluster, or -1 if it is not a
    #: reference.
    places: Integers
    #: Which references of each cluster are in its first half.
    halves: list[Booleans]

    @property
    def own_counts(self) -> Integers:
        """The number (m,) of references in each query's own cluster, without the query itself."""
        return self.counts[self.own] - (self.places >= 0)


def _split_drawn(part: Partition, distance: Distance) -> _DrawnPartition:
    """Return the queries and references of a partition."""
    is_query = part.rows["is_query"].to_numpy()
    is_reference = part.rows["is_reference"].to_numpy()
    starts = np.concatenate([[0], np.cumsum(is_reference)])[part.starts]
    number_in_all = np.cumsum(is_reference) - 1 - starts[part.numbers]
    references = np.split(part.x[is_reference], starts[1:-1])
    return _DrawnPartition(
        part.x[is_query],
        part.numbers[is_query],
        part.rows["size"].to_numpy()[part.starts[:-1]],
        [TargetPoints(y, distance) for y in references],
        np.diff(starts),
        np.where(is_reference, number_in_all, -1)[is_query],
        np.split(part.rows["is_odd"].to_numpy()[is_reference], starts[1:-1]),
    )


class Estimates(NamedTuple):
    """Estimated silhouettes of the m queries in a partition, and the variances of the estimates."""

    #: Mean distances to the references. Silhouettes computed from them have a bias of the order 1 /
    #: t.
    means: MeanDistances
    #: (m,): silhouettes without this bias, for computing means of many silhouettes.
    silhouettes: Floats
    #: (m,): the variance, due to the draw of the references, of the mean silhouette of a query's
    #: group.
    variances: Floats


def estimate_silhouettes(part: Partition, distance: Distance, level: str) -> Estimates:
    """Estimate the silhouettes of the queries of a partition from distances to references.

    Each variance refers to the mean silhouette of a group of queries: the query itself, its cluster
    or its partition, depending on `level` ('point', 'cluster' or 'partition').
    """
    drawn = _split_drawn(part, distance)
    own_sizes = drawn.sizes[drawn.own]
    means, deviations = _reference_means(drawn)

    def own_and_nearest(means: Floats) -> MeanDistances:
        """Return a and b, given the mean distances (m, k) to all clusters."""
        others = means.copy()
        a = take_own_means(others, drawn.own)
        b, neighbor = reduce_others(others, drawn.own, drawn.sizes, "nearest")
        return MeanDistances(a, a, b, b, neighbor)

    found = own_and_nearest(means)
    plain, _ = found.silhouettes(own_sizes)
    varied = [
        own_and_nearest(np.maximum(means + x, 0.0)).silhouettes(own_sizes)[0]
        for x in (deviations, -deviations)
    ]
    unbiased = np.clip(2 * plain - (varied[0] + varied[1]) / 2, -1.0, 1.0)
    return Estimates(found, unbiased, _reference_variances(drawn, found, level))


def _reference_means(drawn: _DrawnPartition) -> tuple[Floats, Floats]:
    """Return the mean distances (m, k) from queries to references, and their deviations.

    A deviation is half the difference between the mean distances to the two halves of the
    references, multiplied by the square root of the share of the cluster that was not drawn. A
    query that is also a reference is excluded from its own means.
    """
    m, k = len(drawn.x), len(drawn.sizes)
    means, deviations = np.empty((m, k)), np.zeros((m, k))

    def set_means(number: int) -> None:
        """Set the means and deviations of one cluster."""
        target, is_first = drawn.targets[number], drawn.halves[number]
        is_in = (drawn.own == number) & (drawn.places >= 0)
        in_first = is_in & is_first[np.where(is_in, drawn.places, 0)]
        n, share = len(is_first), len(is_first) / drawn.sizes[number]
        if share == 1:
            means[:, number] = target.sums(drawn.x) / np.maximum(n - is_in, 1)
            return
        sums = [
            TargetPoints(target.y[half], target.distance).sums(drawn.x)
            for half in (is_first, ~is_first)
        ]
        n_first = is_first.sum() - in_first
        n_second = n - is_in - n_first
        means[:, number] = (sums[0] + sums[1]) / np.maximum(n - is_in, 1)
        difference = sums[0] / np.maximum(n_first, 1) - sums[1] / np.maximum(n_second, 1)
        has_both = (n_first > 0) & (n_second > 0)
        deviations[:, number] = np.where(has_both, difference, 0.0) * (1 - share) ** 0.5 / 2

    run_in_threads(set_means, range(k), int(m * drawn.counts.sum() * drawn.x.shape[1]))
    return means, deviations


def _silhouette_gradients(own: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives (m,) of silhouettes with respect to a (`own`) and b (`other`)."""
    largest = np.maximum(own, other)
    inverse = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest != 0)
    is_near = own <= other
    return (
        np.where(is_near, -inverse, -other * inverse * inverse),
        np.where(is_near, own * inverse * inverse, inverse),
    )


def _reference_variances(drawn: _DrawnPartition, means: MeanDistances, level: str) -> Floats:
    """Return the variances for the class Estimates, with queries grouped at the given level."""
    m, k = len(drawn.x), len(drawn.sizes)
    variances = np.zeros(m)
    if k < 2:
        return variances
    groups = {"point": np.arange(m), "cluster": drawn.own, "partition": np.zeros(m, dtype=int)}
    group = groups[level]
    by_own, by_other = _silhouette_gradients(means.a_lower, means.b_lower)
    by_own = by_own / np.maximum(drawn.own_counts, 1)
    by_own[drawn.sizes[drawn.own] == 1] = by_other[drawn.sizes[drawn.own] == 1] = 0.0
    totals = np.zeros(group[-1] + 1 if m else 0)

    def influences(number: int) -> Floats:
        """Return the squared influences of a cluster's references, summed within each group."""
        n, size = int(drawn.counts[number]), int(drawn.sizes[number])
        if n == size:
            return np.zeros(len(totals))
        is_own = drawn.own == number
        queries = np.flatnonzero(is_own | (means.neighbor == number))
        is_own = is_own[queries]
        weights = np.where(is_own, by_own[queries], by_other[queries] / n)
        middle = np.where(is_own, means.a_lower[queries], means.b_lower[queries])
        places = np.where(is_own, drawn.places[queries], -1)
        squares = _squared_influences(
            drawn.targets[number], drawn.x[queries], weights, middle, places, group[queries]
        )
        found = np.zeros(len(totals))
        found[np.unique(group[queries])] = squares
        return found * (1 - n / size) * n / (n - 1)

    for found in run_in_threads(influences, range(k), int(m * drawn.counts.max()) * 2):
        totals += found
    return np.asarray((totals / np.bincount(group) ** 2)[group])


def _squared_influences(
    target: TargetPoints,
    x: Floats,
    weights: Floats,
    means: Floats,
    places: Integers,
    group: Integers,
) -> Floats:
    """Return, for each group of queries, the sum of the squared influences of the references.

    The influence of a reference on a group is a sum over the queries x (m, d) in the group: the
    query's weight times its distance to the reference minus its mean distance. `places` (m,) has
    the position of each query among the references, or -1, and `group` (m,) ascends.
    """
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    squares = np.zeros(len(starts))
    step = max(1, _DISTANCES_AT_ONCE // len(target.y))
    carried = np.zeros(len(target.y))
    for start in range(0, len(x), step):
        rows = slice(start, start + step)
        terms = target.distances(x[rows]) - means[rows, None]
        is_itself: Booleans = places[rows] >= 0
        terms[np.flatnonzero(is_itself), places[rows][is_itself]] = 0.0
        terms *= weights[rows, None]
        first = np.searchsorted(starts, start, side="right") - 1
        cuts = starts[(starts > start) & (starts < start + step)] - start
        sums = np.add.reduceat(terms, np.concatenate([[0], cuts]), axis=0)
        sums[0] += carried
        squares[first : first + len(sums)] = np.einsum("ij,ij->i", sums, sums)
        ends_here = start + step in starts
        carried = np.zeros(len(target.y)) if ends_here else sums[-1]
    return squares
