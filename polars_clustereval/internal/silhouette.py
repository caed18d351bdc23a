"""silhouette: how much nearer a point is to its own cluster than to the next one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import log, sqrt
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    check_choice,
    check_column,
    is_number,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions, join_small
from polars_clustereval.errors import ClusterEvalError

from .centroids import PointOptions, Points, check_point_options, read_points
from .distances import Distance, plain_distance_name
from .kernels.distance_blocks import CELLS
from .kernels.partitions import Partition, map_partitions
from .mean_distance_bounds import CityblockTables, MomentBounds, exact_means, find_candidates
from .mean_distances import (
    ClusterMoments,
    DistanceSums,
    MeanDistances,
    SecondMoments,
    SortedCoordinates,
    SortedDistanceSums,
    SquaredMeans,
    cluster_moments,
    second_moments,
    simplified_means,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from .kernels.arrays import Floats, Integers
    from .vectors import Vector

    _Measure = Callable[[Floats, Integers], MeanDistances]

Method = Literal["exact", "simplified", "bounds", "sample"]


METHODS = ("exact", "simplified", "bounds", "sample")


#: Modulus of the arithmetic that draws a sample, a prime: products of two lesser numbers are Int64.
PRIME = 2**31 - 1


# ----------------------------------------------------------------------------------------------
# Options
# ----------------------------------------------------------------------------------------------


class _SilhouetteOptions(NamedTuple):
    """How the silhouettes are had."""

    method: str = "exact"
    tolerance: float | None = None
    sample_size: int | None = None
    confidence: float = 0.95
    random_state: int = 0


def _check_silhouette_options(options: _SilhouetteOptions) -> _SilhouetteOptions:
    method, tolerance, size, confidence, state = options
    check_choice("method", method, METHODS)
    if tolerance is not None and not (is_number(tolerance) and float(tolerance) > 0):
        raise ClusterEvalError(f"tolerance: expected a number > 0, got {show_value(tolerance)}")
    if tolerance is not None and method != "exact":
        raise ClusterEvalError(f"tolerance: goes with method 'exact', got method '{method}'")
    if size is not None and method != "sample":
        raise ClusterEvalError(f"sample_size: goes with method 'sample', got method '{method}'")
    if method == "sample" and not _is_whole_number(size, 1):
        raise ClusterEvalError(f"sample_size: expected a whole number >= 1, got {show_value(size)}")
    if not (is_number(confidence) and 0 < float(confidence) < 1):
        raise ClusterEvalError(
            f"confidence: expected a number between 0 and 1, got {show_value(confidence)}"
        )
    if not (_is_whole_number(state, 0) and int(state) < 2**31):
        raise ClusterEvalError(
            f"random_state: expected a whole number >= 0 and < 2147483648, got {show_value(state)}"
        )
    return options


def _is_whole_number(x: Any, least: int) -> bool:
    return is_number(x) and float(x) >= least and float(x).is_integer()


# ----------------------------------------------------------------------------------------------
# Points with their ids
# ----------------------------------------------------------------------------------------------


def _check_ids(points: Points, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Add the error for an id that several rows of a partition have, raised on collection."""
    found = points.kept_rows.group_by(*points.keys, "id").agg(rows=pl.len())
    repeated = found.filter(pl.col("rows") > 1).sort("id", nulls_last=True).head(1)

    def check(repeated: pl.DataFrame) -> None:
        if repeated.height:
            row = repeated.row(0, named=True)
            raise ClusterEvalError(
                "id: expected one row for each id of a partition, got "
                f"{row['rows']} rows with {show_value(row['id'])}"
            )

    return raise_on_collect(frame, repeated, check)


def _mark_sample(points: Points, options: _SilhouetteOptions) -> Points:
    """Mark the points that are drawn: those whose places, well mixed, come first.

    The place is that of the id among the sorted ids, so that every engine draws the same points.
    """
    if options.sample_size is None:
        return replace(points, rows=points.rows.with_columns(chosen=pl.lit(True)))
    group = [pl.col(key) for key in points.keys] or [pl.lit(0)]
    seed = int(options.random_state) % PRIME
    rows = points.kept_rows.sort([*points.keys, "id"], nulls_last=True).with_row_index("place")
    place = pl.col("place").cast(pl.Int64)
    rows = rows.with_columns(place=place - place.min().over(group))
    for mixed in (
        {"x0": pl.col("place") % PRIME},
        {"x1": (pl.col("x0") * 48271 + (seed * 69621 + 1)) % PRIME},
        {"x2": (pl.col("x1") * pl.col("x1") + seed) % PRIME},
        {"x3": (pl.col("x2") * 39373 + pl.col("x0")) % PRIME},
        {"mixed": (pl.col("x3") * pl.col("x3") + pl.col("x1")) % PRIME},
    ):
        rows = rows.with_columns(**mixed)
    order = pl.struct("mixed", "place").rank("ordinal").over(group)
    return replace(points, rows=rows.with_columns(chosen=order <= int(options.sample_size)))


# ----------------------------------------------------------------------------------------------
# Silhouettes: one row a point, `lower` = `upper` where they are exact
# ----------------------------------------------------------------------------------------------


def _point_silhouettes(points: Points, options: _SilhouetteOptions, *, named: bool) -> pl.LazyFrame:
    """One row a point that is asked for: a, b, and bounds of the silhouette.

    The id and the neighbor are there if they are to be `named`.
    """
    drawn = _mark_sample(points, options)
    if _follows_from_moments(points, options):
        return _stream_silhouettes(points, drawn, options.method, named=named)
    schema = _silhouette_schema(points)

    def function(part: Partition) -> pl.DataFrame:
        # Of distances that overflow the checks of the points tell.
        with np.errstate(all="ignore"):
            return _evaluate_partition(part, schema, points.distance, options.tolerance)

    return map_partitions(drawn, function, schema, ["id", "chosen"])


def _follows_from_moments(points: Points, options: _SilhouetteOptions) -> bool:
    """Tell whether a point's silhouette follows from the moments of the clusters."""
    return _is_squared_distance(points) or options.method in ("simplified", "bounds")


def _is_squared_distance(points: Points) -> bool:
    return points.distance.name in ("sqeuclidean", "cosine")


def _silhouette_schema(points: Points) -> pl.Schema:
    types = points.rows.select("id", "cluster").collect_schema()
    number = {"single": pl.Int64()} if points.has_singletons else {}
    return pl.Schema(
        {
            "id": types["id"],
            "cluster": types["cluster"],
            **number,
            "neighbor": types["cluster"],
            **dict.fromkeys(_SILHOUETTE_COLUMNS, pl.Float64()),
            "evaluated": pl.Boolean(),
        }
    )


_SILHOUETTE_COLUMNS = ("a", "b", "lower", "upper")


def _silhouette_columns(means: MeanDistances, sizes: Floats, own: Integers) -> Floats:
    """Give the values of _FOUND, one row each, NaN where there is no value."""
    lower, upper = means.silhouettes(sizes[own])
    if not 2 <= len(sizes) < sizes.sum():
        # One cluster, or one for each point: scikit-learn refuses.
        lower = upper = np.full(len(own), np.nan)
    a, b = means.a_lower, means.b_lower
    if not means.exact:
        exact = (a == means.a_upper) & ~(b < means.b_upper)
        a, b = np.where(exact, a, np.nan), np.where(exact, b, np.nan)
    return np.stack([a, b, lower, upper])


def _as_series(found: Floats) -> list[pl.Series]:
    columns = zip(_SILHOUETTE_COLUMNS, found, strict=True)
    return [pl.Series(name, values).fill_nan(None) for name, values in columns]


def _neighbor_keys(keys: pl.Series, neighbors: Integers) -> pl.Series:
    """Give the neighbors' keys; they are told by their places among the keys, -1 for none."""
    places = pl.Series(neighbors).cast(pl.Int64)
    return keys.gather(places.set(places < 0, None)).alias("neighbor")


def _evaluate_partition(
    part: Partition, schema: pl.Schema, distance: Distance, tolerance: float | None
) -> pl.DataFrame:
    """Give the exact silhouettes of the chosen points of a partition."""
    rows = part.rows.filter("chosen")
    if not rows.height:
        return pl.DataFrame(schema=schema)
    chosen = part.rows["chosen"].to_numpy()
    x, own = (part.x, part.numbers) if chosen.all() else (part.x[chosen], part.numbers[chosen])
    bounds, sums = _bounds_and_sums(part, chosen, distance)
    narrow = tolerance is not None and distance.name == "euclidean"
    found = find_candidates(x, own, sums.sizes, bounds, narrow=narrow)
    needed = np.ones(len(x), dtype=bool)
    if narrow:
        lower, upper = found.bounds().silhouettes(sums.sizes[own])
        needed = _points_to_evaluate(upper - lower, rows["id"], float(tolerance or 0))
    means = exact_means(x, own, found, needed, sums)
    neighbors = np.where(means.neighbor < 0, -1, part.starts[means.neighbor])
    neighbor = _neighbor_keys(part.rows["cluster"], neighbors)
    columns = _as_series(_silhouette_columns(means, sums.sizes, own))
    return rows.hstack([neighbor, *columns, pl.Series("evaluated", needed)])


def _bounds_and_sums(
    part: Partition, chosen: NDArray[np.bool_], distance: Distance
) -> tuple[MomentBounds | CityblockTables, DistanceSums]:
    """Give what bounds the mean distances of the chosen points, and what adds them up."""
    if distance.name == "cityblock":
        points = SortedCoordinates(part)
        return CityblockTables(points, chosen), SortedDistanceSums(
            part, distance, points, points.own[chosen]
        )
    clusters = cluster_moments(part, distance)
    spread = second_moments(part, clusters) if distance.name == "euclidean" else None
    return MomentBounds(clusters, spread, distance), DistanceSums(part, distance)


def _points_to_evaluate(widths: Floats, ids: pl.Series, tolerance: float) -> NDArray[np.bool_]:
    """Give the fewest points, the widest first, that leave the mean no wider than the tolerance."""
    places = ids.arg_sort(nulls_last=True).arg_sort().to_numpy()
    widths = np.nan_to_num(widths)
    order = np.lexsort((places, -widths))
    # The width that is left when so many points are evaluated, summed from the narrow end.
    left = np.append(np.cumsum(widths[order][::-1])[::-1], 0.0)
    enough = int(np.argmax(left <= tolerance * len(widths)))
    chosen = np.zeros(len(widths), dtype=bool)
    chosen[order[:enough]] = True
    return chosen


# ----------------------------------------------------------------------------------------------
# From the moments: the clusters are worked out at once, and the points stream past them
# ----------------------------------------------------------------------------------------------


class _PartitionMoments(NamedTuple):
    """The clusters of one partition, which have the numbers from `start` on."""

    start: int
    clusters: ClusterMoments
    centers: Floats
    spread: SecondMoments | None


def _stream_silhouettes(points: Points, drawn: Points, method: str, *, named: bool) -> pl.LazyFrame:
    """Give what the moments tell of the points."""
    table, groups = _partition_moments(points, method)
    measures = [_measure_function(group, points.distance, method, named=named) for group in groups]
    types = pl.Schema(drawn.rows.select(*points.keys).collect_schema() | _silhouette_schema(points))
    if not named:
        types = pl.Schema((name, types[name]) for name in types if name not in _IDENTIFYING_COLUMNS)
    exact = method != "bounds"
    # Distances to all centers should stay in the cache; bounds see to it themselves.
    cells = CELLS if exact else 2**63

    def found(batch: pl.DataFrame) -> pl.DataFrame:
        own = batch["number"].to_numpy()
        # Squares are worked out along the coordinates.
        x = points.form.to_matrix(batch, "x", "fortran" if _is_squared_distance(points) else "c")
        values = np.empty((len(_SILHOUETTE_COLUMNS), len(own)))
        neighbors = np.empty(len(own), dtype=np.int64)
        for rows, place in _split_batch(own, groups, cells):
            start, clusters, *_ = groups[place]
            numbers = own[rows] - start
            with np.errstate(all="ignore"):
                means = measures[place](x[rows], numbers)
                values[:, rows] = _silhouette_columns(means, clusters.sizes, numbers)
            neighbors[rows] = np.where(means.neighbor < 0, -1, means.neighbor + start)
        columns = [*_as_series(values), pl.Series("evaluated", np.full(len(own), exact))]
        if named:
            columns.append(_neighbor_keys(table["cluster"], neighbors))
        return batch.hstack(columns).select(types.names())

    rows = drawn.kept_rows.filter("chosen")
    rows = rows.select(
        *points.cluster_keys, *(["id"] if named else []), *points.vector_columns("x")
    )
    return _join_cluster_numbers(rows, points.cluster_keys, table).map_batches(
        found,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        streamable=True,
        schema=types,
    )


#: What tells the points and their neighbors apart.
_IDENTIFYING_COLUMNS = ("id", "neighbor")


def _join_cluster_numbers(rows: pl.LazyFrame, by: list[str], table: pl.DataFrame) -> pl.LazyFrame:
    return join_small(rows, by, table.lazy().select(*by, "number"))


def _split_batch(
    own: Integers, groups: Sequence[_PartitionMoments], cells: int
) -> Iterator[tuple[slice | Integers, int]]:
    """Give the rows of a batch group by group, for so many distances to centers at a time."""
    steps = [max(1, cells // len(group.centers)) for group in groups]
    if len(groups) == 1:
        yield from ((slice(i, i + steps[0]), 0) for i in range(0, len(own), steps[0]))
        return
    group_of = np.searchsorted([group.start for group in groups], own, side="right") - 1
    order = np.argsort(group_of, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(group_of[order], prepend=-1)), len(order))
    for start, end in pairwise(ends.tolist()):
        place = int(group_of[order[start]])
        step = steps[place]
        yield from ((order[i : min(i + step, end)], place) for i in range(start, end, step))


def _measure_function(
    group: _PartitionMoments, distance: Distance, method: str, *, named: bool
) -> _Measure:
    """Give the function of points and the numbers of their clusters that measures them."""
    clusters = group.clusters
    if method == "simplified":
        return lambda x, own: simplified_means(x, own, clusters.sizes, group.centers, distance)
    if distance.name in ("sqeuclidean", "cosine"):
        return partial(SquaredMeans(clusters, distance).means, named=named)
    bounds = MomentBounds(clusters, group.spread, distance)
    return lambda x, own: find_candidates(x, own, clusters.sizes, bounds, narrow=True).bounds()


def _partition_moments(points: Points, method: str) -> tuple[pl.DataFrame, list[_PartitionMoments]]:
    """Work out the clusters: one row each, with its number, and their moments by partition."""
    clusters = points.clusters.drop("number")
    if points.distance.name != "cosine":
        clusters = clusters.with_columns(zeros=pl.lit(0))
    found = clusters.sort(points.cluster_keys, nulls_last=True).with_row_index("number")
    made = found.with_columns(pl.col("number").cast(pl.Int64)).collect(engine="streaming")
    parts = made.partition_by(points.partition_keys, maintain_order=True) if points.keys else [made]
    groups = [_moments_of_partition(points, part) for part in parts if part.height]
    if method == "bounds" and points.distance.name == "euclidean":
        groups = _add_second_moments(points, made, groups)
    return made, groups


def _moments_of_partition(points: Points, part: pl.DataFrame) -> _PartitionMoments:
    def matrix(prefix: str) -> Floats:
        return points.form.to_matrix(part, prefix)

    def column(name: str) -> Floats:
        return part[name].cast(pl.Float64).to_numpy()

    clusters = ClusterMoments(
        column("size"), matrix("m"), matrix("v"), column("mean_distance"), column("zeros")
    )
    return _PartitionMoments(part["number"][0], clusters, matrix("c"), None)


def _add_second_moments(
    points: Points, table: pl.DataFrame, groups: list[_PartitionMoments]
) -> list[_PartitionMoments]:
    """Add the second moments of the squared distances, in one more pass over the points."""
    sums = _SecondMomentSums(groups, points.form.dims)

    def added(batch: pl.DataFrame) -> pl.DataFrame:
        with np.errstate(all="ignore"):
            sums.add(points.form.to_matrix(batch, "x"), batch["number"].to_numpy())
        return batch.select("number").clear()

    rows = points.kept_rows.select(*points.cluster_keys, *points.vector_columns("x"))
    _join_cluster_numbers(rows, points.cluster_keys, table).map_batches(
        added,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        streamable=True,
        schema={"number": pl.Int64()},
    ).collect(engine="streaming")
    return sums.groups()


class _SecondMomentSums:
    """Sums of products over the points of each cluster, batch by batch from any thread."""

    def __init__(self, groups: list[_PartitionMoments], dims: int) -> None:
        self._groups = groups
        self._sizes = np.concatenate([np.zeros(0), *(g.clusters.sizes for g in groups)])
        self._centers = np.concatenate([np.zeros((0, dims)), *(g.clusters.centers for g in groups)])
        squares = [g.clusters.variances.sum(axis=1) for g in groups]
        self._squares = np.concatenate([np.zeros(0), *squares])
        k = len(self._centers)
        self._sums = SecondMoments(np.zeros((k, dims, dims)), np.zeros((k, dims)), np.zeros(k))
        self._lock = Lock()

    def add(self, x: Floats, own: Integers) -> None:
        order = np.argsort(own, kind="stable")
        ends = np.append(np.flatnonzero(np.diff(own[order], prepend=-1)), len(order))
        for start, end in pairwise(ends):
            number = own[order[start]]
            y = x[order[start:end]] - self._centers[number]
            off = np.einsum("ij,ij->i", y, y) - self._squares[number]
            products = y.T @ y, off @ y, off @ off
            with self._lock:
                for total, part in zip(self._sums, products, strict=True):
                    total[number] += part

    def groups(self) -> list[_PartitionMoments]:
        made = []
        for group in self._groups:
            own = slice(group.start, group.start + len(group.centers))
            covariances, skews, tails = (total[own] for total in self._sums)
            n = self._sizes[own]
            spread = SecondMoments(covariances / n[:, None, None], skews / n[:, None], tails / n)
            made.append(group._replace(spread=spread))
        return made


# ----------------------------------------------------------------------------------------------
# Scores
# ----------------------------------------------------------------------------------------------


def _score_table(points: Points, options: _SilhouetteOptions) -> pl.LazyFrame:
    """One row a partition: the counts, and the means over its points and over its clusters."""
    clusters = _cluster_silhouettes(points, options)
    n, mean = pl.col("rows"), pl.col("silhouette")
    terms = {
        "rows": n.sum(),
        "found": pl.len(),
        "evaluated": pl.col("evaluated").sum(),
        "mean": (mean * n).sum() / n.sum(),
        "macro": mean.mean(),
        "most": mean.max(),
        "lower": (pl.col("lower") * n).sum() / n.sum(),
        "upper": (pl.col("upper") * n).sum() / n.sum(),
    }
    totals = join_partitions(
        points.row_counts,
        points.partition_keys,
        aggregate_by(clusters, points.partition_keys, terms),
        how="left",
    )
    scored = (pl.col("n_clusters") >= 2) & (pl.col("n_clusters") < pl.col("n"))
    return totals.select(
        *points.keys,
        *("n", "n_dropped", "n_noise", "n_clusters", "n_singletons"),
        pl.when(scored).then("evaluated").otherwise(0).cast(pl.Int64).alias("n_evaluated"),
        **{name: pl.when(scored).then(score) for name, score in _score_terms(options).items()},
    )


def _score_terms(options: _SilhouetteOptions) -> Terms:
    mean = pl.col("mean")
    # Of a sample, unless it misses a cluster; of bounds there is no one number.
    some = options.method != "bounds"
    all_found = pl.lit(some) & (pl.col("found") == pl.col("n_clusters"))
    limits: dict[str, pl.Expr] = {"lower": pl.col("lower"), "upper": pl.col("upper")}
    if options.method == "simplified":
        limits = dict.fromkeys(limits, pl.lit(None, pl.Float64))
    if options.method == "sample":
        # Hoeffding's, for a mean of numbers from -1 to 1.
        reach = sqrt(2 * log(2 / (1 - options.confidence))) / pl.col("rows").cast(pl.Float64).sqrt()
        reach = pl.when(pl.col("rows") < pl.col("n")).then(reach).otherwise(0.0)
        limits = {"lower": (mean - reach).clip(-1.0), "upper": (mean + reach).clip(None, 1.0)}
    return {
        "silhouette": pl.when(some).then(mean),
        "silhouette_macro": pl.when(all_found).then("macro"),
        "silhouette_max": pl.when(all_found).then("most"),
        "silhouette_lower": limits["lower"],
        "silhouette_upper": limits["upper"],
    }


def _cluster_silhouettes(points: Points, options: _SilhouetteOptions) -> pl.LazyFrame:
    """One row a cluster: the means of what was found for its points."""
    lower, upper = pl.col("lower"), pl.col("upper")
    rows = _point_silhouettes(points, options, named=False).with_columns(
        silhouette=(lower + upper) / 2
    )
    return rows.group_by(points.cluster_keys).agg(
        pl.col("a", "b", "silhouette", "lower", "upper").mean(),
        rows=pl.len().cast(pl.Int64),
        evaluated=pl.col("evaluated").cast(pl.Int64).sum(),
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def silhouette_samples(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: str = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
) -> Frame:
    """Silhouette of each point: how much nearer it is to its own cluster than to the next one.

    s = (b - a) / max(a, b) with a the mean distance to the other points of its cluster and b the
    least mean distance to the points of another cluster. Range [-1, 1], best 1.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. The distances
        'sqeuclidean' and 'cosine' need the clusters' moments alone: these are worked out when the
        function is called, and the points of a LazyFrame stream past them. For the others the
        points are in memory when the result is collected.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: all are) are left out.
    cluster : str or Expr
        The cluster assigned to a point. Rows where it is NULL are left out.
    id : str or Expr, optional
        What to call a point; by default its number in the frame, from 0.
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

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition and id: the partition columns, id, cluster,
        neighbor (the nearest other cluster, the lowest of equals), a, b and silhouette. A point
        alone in its cluster has a = 0 and silhouette 0, and so has one with a = b = 0. With one
        cluster neighbor, b and silhouette are NULL; silhouette is too where every point is a
        cluster. Noise points counted as singletons have cluster NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, vectors differ in length, or an id occurs twice in a partition.

    Notes
    -----
    The means of squared distances follow from the moments of the clusters, those of cityblock from
    sorted running sums. For the others certified bounds leave out the clusters that cannot be the
    nearest other, and the distances to all points of the rest are worked out.
    In SQL: ``FROM clustereval.silhouette_samples(tbl, [x, y], cluster)``.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, doi:10.1016/0377-0427(87)90125-7. Gaido (2023), Distributed Silhouette Algorithm,
    arXiv:2303.14102, for the squared distances.

    Examples
    --------
    The third point lies between the clusters:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
    >>> ce.silhouette_samples(points, ["x"], "cluster").select("id", "a", "b", "silhouette").rows()
    [(0, 3.0, 8.5, 0.6470588235294118), (1, 2.5, 7.5, 0.6666666666666666), (2, 4.5, 3.5, \
-0.2222222222222222), (3, 1.0, 7.0, 0.8571428571428571), (4, 1.0, 6.0, 0.8333333333333334)]
    """
    columns, options = ("id", "cluster", "neighbor", "a", "b", "silhouette"), _SilhouetteOptions()
    point_options = check_point_options(
        distance=plain_distance_name(distance, p),
        p=p,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = _read_identified_points(frame, vector, cluster, point_options, key=id, results=columns)
    points = _prepare_clusters(points, options)
    rows = _point_silhouettes(points, options, named=True)
    if id is not None:
        rows = _check_ids(points, rows)
    rows = rows.select(*points.keys, *columns[:-1], pl.col("lower").alias("silhouette"))
    return points.to_result(frame, rows, ["id"])


def silhouette_clusters(
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
) -> Frame:
    """Mean silhouette of each cluster.

    Range [-1, 1], best 1; a cluster below the others holds points that lie nearer to another one.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. The distances
        'sqeuclidean' and 'cosine' need the clusters' moments alone: these are worked out when the
        function is called, and the points of a LazyFrame stream past them. For the others the
        points are in memory when the result is collected.
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

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition and cluster: the partition columns, cluster, n
        points, and the means of a, b and silhouette over them; see silhouette_samples. With
        noise_as 'singletons' each noise point has a row of its own, cluster NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    In SQL: ``FROM clustereval.silhouette_clusters(tbl, [x, y], cluster)``.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, doi:10.1016/0377-0427(87)90125-7. Gaido (2023), Distributed Silhouette Algorithm,
    arXiv:2303.14102, for the squared distances.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
    >>> ce.silhouette_clusters(points, ["x"], "cluster").select("cluster", "n", "a", "b").rows()
    [('a', 3, 3.3333333333333335, 6.5), ('b', 2, 1.0, 6.5)]
    """
    columns, options = ("cluster", "n", "a", "b", "silhouette"), _SilhouetteOptions()
    point_options = check_point_options(
        distance=plain_distance_name(distance, p),
        p=p,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = _read_identified_points(frame, vector, cluster, point_options, results=columns)
    points = _prepare_clusters(points, options)
    rows = _cluster_silhouettes(points, options).select(
        *points.cluster_keys, pl.col("rows").alias("n"), "a", "b", "silhouette"
    )
    return points.to_result(frame, rows, points.own_keys)


def silhouette_score(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: str = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
    method: Method = "exact",
    tolerance: float | None = None,
    sample_size: int | None = None,
    confidence: float = 0.95,
    random_state: int = 0,
) -> Frame:
    """Mean silhouette of a clustering: exact, from the centers, between bounds or from a sample.

    Range [-1, 1], best 1.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. The distances
        'sqeuclidean' and 'cosine' need the clusters' moments alone: these are worked out when the
        function is called, and the points of a LazyFrame stream past them. For the others the
        points are in memory when the result is collected.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: all are) are left out.
    cluster : str or Expr
        The cluster assigned to a point. Rows where it is NULL are left out.
    id : str or Expr, optional
        What to call a point, by whose order a sample is drawn; by default its number in the frame,
        from 0.
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
    method : {'exact', 'simplified', 'bounds', 'sample'}
        The exact mean distances; the distances to the centers in their place; certified bounds of
        the exact score from the clusters' moments, with no distance of two points worked out; or
        the exact silhouettes of some points. The second and third stream.
    tolerance : float, optional
        With method 'exact': how wide the interval from silhouette_lower to silhouette_upper may be.
        Of the distance 'euclidean' only the points that this takes are evaluated, those of the
        widest bounds first; the others count with the middle of their bounds. Other distances are
        always exact.
    sample_size : int, optional
        With method 'sample': how many points are evaluated, against all points; all of them if
        there are fewer.
    confidence : float
        With method 'sample': the probability, between 0 and 1, that silhouette_lower and
        silhouette_upper enclose the exact score.
    random_state : int
        With method 'sample': which points are drawn. Every engine draws the same.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row a partition, sorted: the partition columns; n points,
        n_dropped and n_noise rows, n_clusters, n_singletons; n_evaluated, the points whose exact
        silhouette went in; silhouette, the mean over the points; silhouette_macro, the mean over
        the clusters of their means, and silhouette_max, the largest of these; silhouette_lower and
        silhouette_upper, which enclose the exact mean. Method 'exact' has silhouette for both,
        'simplified' NULL; 'bounds' has NULL for the three means, and 'sample' for the last two of
        them if a cluster is missed. Scores are NULL where there are fewer than 2 clusters, or as
        many as points.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, an option is unknown or out of its range, or goes with another method; when the
        result is collected, if a coordinate is NULL, NaN or infinite, vectors differ in length, or
        an id that decides on a sample occurs twice in a partition.

    Notes
    -----
    The means of squared distances follow from the moments of the clusters, those of cityblock from
    sorted running sums. For the others certified bounds leave out the clusters that cannot be the
    nearest other, and the distances to all points of the rest are worked out.
    The limits of a sample are Hoeffding's, sqrt(2 ln(2 / (1 - confidence)) / sample_size) around
    the mean. Both numbers of a sampled silhouette are exact, so its mean is unbiased: unlike
    scikit-learn's, which looks for neighbors in the sample alone.
    In SQL: ``FROM clustereval.silhouette_score(tbl, [x, y], cluster)``.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, doi:10.1016/0377-0427(87)90125-7. Gaido (2023), Distributed Silhouette Algorithm,
    arXiv:2303.14102, for the squared distances.
    Hruschka, de Castro and Campello (2004), Evolutionary algorithms for clustering gene-expression
    data, for method 'simplified'. Hoeffding (1963), Probability
    inequalities for sums of bounded random variables, doi:10.1080/01621459.1963.10500830.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
    >>> score = ce.silhouette_score(points, ["x"], "cluster")
    >>> score.select("n_evaluated", pl.col("silhouette").round(4)).rows()
    [(5, 0.5564)]
    >>> bounds = ce.silhouette_score(points, ["x"], "cluster", method="bounds")
    >>> bounds.select(pl.col("silhouette_lower", "silhouette_upper").round(4)).rows()
    [(0.4396, 0.5881)]
    """
    options = _check_silhouette_options(
        _SilhouetteOptions(method, tolerance, sample_size, confidence, random_state)
    )
    point_options = check_point_options(
        distance=plain_distance_name(distance, p),
        p=p,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = _read_identified_points(
        frame, vector, cluster, point_options, key=id, results=_SCORE_COLUMNS
    )
    points = _prepare_clusters(points, options)
    rows = _score_table(points, options)
    if id is not None and method == "sample":
        rows = _check_ids(points, rows)
    return points.to_result(frame, rows)


_SCORE_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_clusters", "n_singletons", "n_evaluated"),
    *("silhouette", "silhouette_macro", "silhouette_max", "silhouette_lower", "silhouette_upper"),
)


def _read_identified_points(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    options: PointOptions,
    *,
    key: Column | None = None,
    results: Sequence[str],
) -> Points:
    """Return points with an id, by default their number in the frame from 0."""
    if key is not None:
        ids = [check_column(frame.lazy(), key, "id")]
        return read_points(frame, vector, cluster, options, results=results, others=ids)
    points = read_points(frame, vector, cluster, options, results=results)
    rows = points.rows.with_row_index("id").with_columns(pl.col("id").cast(pl.Int64))
    return replace(points, rows=rows)


def _prepare_clusters(points: Points, options: _SilhouetteOptions) -> Points:
    """Return the points with what the method needs of the clusters, computed now if it streams."""
    measured = options.method == "bounds" and not _is_squared_distance(points)
    points = points if measured else points.without_distances()
    return points.precompute() if _follows_from_moments(points, options) else points
