"""two_passes: cluster centers and the distances to them, computed in two passes over the points.

In most partitions, sums of unshifted coordinates are accurate enough. In some partitions, however,
these sums may be inaccurate, for example if clusters are narrow compared with their distance from
0. These doubtful partitions can be recognized from the sums. The points in doubtful partitions are
read again with the method Points.with_vectors, which shifts the coordinates if necessary. The class
VectorForm explains the vectors c, v and g.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.frames import map_whole

from .centroids import PointOptions, Points, read_rows
from .distances import SMALL_SPREAD, SMALL_SQUARE, LongVectors
from .kernels import long_sums, long_vectors
from .kernels.arrays import measure_differences
from .kernels.long_sums import DistanceSums
from .kernels.partitions import partition_starts
from .kernels.streams import map_stream, run_stream

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column, Frame

    from .distances import VectorForm
    from .kernels.arrays import Booleans, Floats, Integers
    from .vectors import Vector

#: Two centers may be the same if their difference is below this share of their coordinates.
_SMALL_GAP = 1e-9

#: Distances may underflow if the square of the distance of all points from 0 is below this number.
_TINY_SQUARE = 1e10 * SMALL_SQUARE


def read_points_in_two_passes(
    frame: Frame, vector: Vector, cluster: Column, options: PointOptions, **given: Any
) -> Points:
    """Read points as read_points does, for a caller that needs only cluster statistics.

    Use only the attributes all_centers, spreads and clusters of the result. Collecting these frames
    raises an error if any point's distance to its center is not finite. In some partitions, the
    coordinates and the vectors of clusters are shifted.
    """
    points = read_rows(frame, vector, cluster, options, **given)
    if options.center == "median" or options.distance.name == "cosine":
        return points.with_vectors(is_eager=isinstance(frame, pl.DataFrame))
    form: VectorForm = replace(points.form, is_moved=False, is_clamped=False)
    rows = form.add_points(points.rows)
    plain: Points = replace(points, rows=rows, form=form, is_checked=True)
    is_long = isinstance(form, LongVectors)
    table = _sum_long_vectors(plain) if is_long else _join_centers(plain)
    settled = table.map_batches(
        partial(_measure_and_settle if is_long else _settle, points=points, plain=plain),
        predicate_pushdown=False,
        # Columns that a query does not select are not computed, except for these.
        projection_pushdown=True,
        slice_pushdown=False,
    )
    needed = [*plain.cluster_keys, "n", "n_invalid", "ssw", "radius", *form.columns("c")]
    needed += ["g"] if is_long else []
    table = settled.filter(pl.struct(needed).is_not_null()).cache()
    centers = table.filter(pl.col("n") > 0)
    clusters = centers.with_row_index("number").with_columns(
        mean_distance=pl.col("distances") / pl.col("n")
    )
    return plain.with_frames(all_centers=centers, spreads=table, clusters=clusters.cache())


def _join_centers(points: Points) -> pl.LazyFrame:
    """Return the spreads of the clusters, joined with the columns of the cluster centers."""
    keys = points.cluster_keys
    return points.spreads.join(points.all_centers, on=keys, how="left", nulls_equal=True)


# ----------------------------------------------------------------------------------------------
# Long vectors
# ----------------------------------------------------------------------------------------------


def _sum_long_vectors(points: Points) -> pl.LazyFrame:
    """Return the table of _join_centers from one pass that sums long vectors, without distances."""
    by = [*points.cluster_keys, "kept", "complete", "noisy"]
    rows, vector = points.rows.select(*by, "x"), pl.Array(pl.Float64, points.form.dims)
    types = dict(points.rows.select(by).collect_schema()) | {"size": pl.Int64()}
    schema = pl.Schema(types | {"sums": vector})
    sums = map_stream(rows, partial(long_sums.sum_batch, by=by, schema=schema), schema)
    types = {key: schema[key] for key in points.cluster_keys}
    types |= dict.fromkeys(("n", "n_dropped", "n_noise"), pl.Int64()) | {"c": vector, "g": vector}
    average = partial(_average_sums, points=points, schema=pl.Schema(types))
    centers = map_whole(sums, average, pl.Schema(types))
    nothing = {name: pl.lit(None, pl.Float64) for name in (*_SUMS, *long_vectors.VARIANCE_TOTALS)}
    return centers.with_columns(
        n_invalid=pl.lit(0, pl.Int64), size="n", **nothing, v=pl.lit(None, vector)
    )


#: The columns of a table that come from the distances of points to centers.
_SUMS = ("distances", "ssw", "radius", "overall_distances")


def _average_sums(batches: pl.DataFrame, points: Points, schema: pl.Schema) -> pl.DataFrame:
    """Return one row per cluster, with row counts and the centers c and g, from all batches."""
    if batches.is_empty():
        return pl.DataFrame(schema=schema)
    keys = points.cluster_keys
    clusters, numbers = long_vectors.number_groups(batches, keys)
    kept, complete, noisy, sizes = (
        batches[name].to_numpy() for name in ("kept", "complete", "noisy", "size")
    )
    n, dropped, noise = (
        np.bincount(numbers, sizes * flag).astype(np.int64) for flag in (kept, ~complete, noisy)
    )
    sums = long_vectors.sum_by_number(long_vectors.to_matrix(batches["sums"]), numbers)
    c, g = np.zeros((2, *sums.shape))
    if n.any():
        given = np.flatnonzero(n)
        _, partitions = long_vectors.number_groups(clusters[given], points.partition_keys)
        with np.errstate(all="ignore"):
            c[given], g[given] = long_sums.centers_of_sums(sums[given], n[given], partitions)
    return long_vectors.append_columns(clusters, keys, [n, dropped, noise, c, g], schema)


def _measure_and_settle(table: pl.DataFrame, points: Points, plain: Points) -> pl.DataFrame:
    """Complete the table of _sum_long_vectors in a second pass over the points, and settle it."""
    clusters, keys = table.filter(pl.col("n") > 0), plain.cluster_keys
    if clusters.is_empty():
        return table
    asked, form = set(table.columns), plain.form
    c, squares = form.to_matrix(clusters, "c"), asked & {"v", *long_vectors.VARIANCE_TOTALS}
    middles = form.to_matrix(clusters, "g") if "overall_distances" in asked else None
    sums = DistanceSums(c, middles, form.distance, needs_squares=bool(squares))
    numbers = clusters.select(keys).with_row_index("number")

    def add_to_sums(batch: pl.DataFrame) -> pl.DataFrame:
        """Add a batch of points to the sums, and return an empty frame for the stream."""
        # Filtering or joining the stream would copy all vectors.
        batch = batch if batch["kept"].all() else batch.filter("kept")
        joined = batch.select(keys).join(
            numbers, on=keys, how="left", nulls_equal=True, maintain_order="left"
        )
        with np.errstate(all="ignore"):
            sums.add(batch["x"], joined["number"].to_numpy().astype(np.int64))
        return batch.select("kept").clear()

    rows = plain.rows.select(*keys, "kept", "x")
    run_stream(map_stream(rows, add_to_sums, pl.Schema({"kept": pl.Boolean()})), sums.stop)
    with np.errstate(all="ignore"):
        found = _found_columns(sums, clusters, plain)
    measured = clusters.with_columns(x for x in found if x.name in asked)
    return _settle(pl.concat([measured, table.filter(pl.col("n") == 0)]), points, plain)


def _found_columns(sums: DistanceSums, clusters: pl.DataFrame, points: Points) -> list[pl.Series]:
    """Return the columns that the second pass adds to `clusters`."""
    values = zip(_SUMS, (sums.distances, sums.ssw, sums.radius, sums.overall), strict=True)
    found = [pl.Series(name, x) for name, x in values]
    found.append(pl.Series("n_invalid", (~np.isfinite(sums.ssw)).astype(np.int64)))
    if sums.squares.size:
        _, partitions = long_vectors.number_groups(clusters, points.partition_keys)
        n = clusters["n"].to_numpy()[:, None]
        c, g = points.form.to_matrix(clusters, "c"), points.form.to_matrix(clusters, "g")
        v = pl.Series("v", sums.squares / n, clusters.schema["v"])
        totals = long_sums.variance_totals(sums.squares, n * (c - g) ** 2, partitions)
        found += [
            v,
            *(
                pl.Series(*x).fill_nan(None)
                for x in zip(long_vectors.VARIANCE_TOTALS, totals, strict=True)
            ),
        ]
    return found


# ----------------------------------------------------------------------------------------------
# Doubtful sums
# ----------------------------------------------------------------------------------------------


def _settle(table: pl.DataFrame, points: Points, plain: Points) -> pl.DataFrame:
    """Return `table` after recomputing the doubtful partitions from shifted points.

    `table` has one row per cluster of the unshifted points `plain`, and `points` are the same
    points without the vector x. Raise an error if any point's distance to its center is not finite.
    """
    keys, rows = points.partition_keys, points.rows
    doubtful = _find_doubtful(table, points, plain.form)
    if doubtful.is_empty():
        return table
    names, table = table.columns, table.clear() if not keys else table
    if keys:
        rows = rows.join(doubtful.lazy(), on=keys, how="semi", nulls_equal=True)
        table = table.join(doubtful, on=keys, how="anti", nulls_equal=True)
    moved = replace(points, rows=rows).with_vectors(is_eager=True).precompute()
    return pl.concat([table, _join_centers(moved).select(names).collect()])


def _find_doubtful(table: pl.DataFrame, points: Points, form: VectorForm) -> pl.DataFrame:
    """Return the keys of the partitions that must be read again, with a column `again`.

    Numbers with few digits can be summed without losing digits. A partition of such numbers is
    doubtful only if a distance is not finite.
    """
    keys, invalid = points.partition_keys, table.filter(pl.col("n_invalid") > 0)
    doubtful, clusters = [invalid], table.filter(pl.col("n") > 0)
    if points.form.is_moved and clusters.height:
        clusters = clusters.sort(keys) if keys else clusters
        starts = partition_starts(clusters, keys)[:-1]
        with np.errstate(all="ignore"):
            doubtful.append(clusters[starts].filter(_may_lose_digits(clusters, form, starts)))
    again = pl.lit(True).alias("again")
    return pl.concat(x.with_columns(again).select(*keys, "again") for x in doubtful).unique()


def _may_lose_digits(clusters: pl.DataFrame, form: VectorForm, starts: Integers) -> Booleans:
    """Return, for each partition (q,), whether sums of unshifted coordinates may be inexact."""

    def square(x: Floats) -> Floats:
        """Return the squared distance (m,) of each row of x (m, d) from 0."""
        lengths = measure_differences(x.copy(), *form.distance)
        return lengths if form.distance.name == "sqeuclidean" else lengths**2

    n, ssw, radius = (clusters[name].to_numpy() for name in ("n", "ssw", "radius"))
    c = form.to_matrix(clusters, "c")
    sizes = np.add.reduceat(n, starts).astype(np.float64)
    g = np.add.reduceat(n[:, None] * c, starts) / sizes[:, None]
    gaps = c - np.repeat(g, np.diff(starts, append=len(c)), axis=0)
    # The sums of a cluster without spread are exact, but it may be close to other such clusters.
    doubts = _is_small(ssw, n * square(c)) | _is_nearly_repeated(c, starts)
    spreads = np.add.reduceat(ssw + n * square(gaps), starts)
    lost = _is_small(spreads, sizes * square(g)) | ((spreads == 0) & (sizes > 1))
    if form.columns("v")[0] in clusters.columns:
        v = form.to_matrix(clusters, "v")
        doubts |= _varies_little(n, v, c)
        whole = np.add.reduceat(n[:, None] * (v + gaps**2), starts)
        lost |= _is_small(whole, sizes[:, None] * g**2).any(axis=1)
    radius = np.sqrt(radius) if form.distance.name == "sqeuclidean" else radius
    reach = np.maximum.reduceat(np.abs(c).max(axis=1) + radius, starts)
    corners = np.repeat(2 * reach[:, None], c.shape[1], axis=1)
    overflows = ~np.isfinite(square(corners) * sizes**2)
    underflows = square(corners) < _TINY_SQUARE
    return np.asarray(overflows | underflows | lost | np.logical_or.reduceat(doubts, starts))


def _is_small(squares: Floats, of_centers: Floats) -> Booleans:
    """Return whether each sum of squares is positive but small compared with `of_centers`."""
    return (squares > 0) & (squares < SMALL_SPREAD**2 * of_centers)


def _varies_little(n: Integers, v: Floats, c: Floats) -> Booleans:
    """Return whether any coordinate of a cluster has a spread that could be mere rounding error.

    Sums of equal numbers with few digits are exact. `n` is (k,), and `v` and `c` are (k, d).
    """
    is_rounded = (v > 0) | (c != c.astype(np.float32))
    is_narrow = (v < SMALL_SPREAD**2 * c**2) & is_rounded
    return np.asarray(is_narrow.any(axis=1) & (n > 1))


def _is_nearly_repeated(c: Floats, starts: Integers) -> Booleans:
    """Return, for each center c (k, d), whether it nearly equals another center in its partition.

    Nearly equal centers may differ only by rounding errors. The centers are sorted by their
    projections onto a line, so that nearly equal ones are neighbors.
    """
    numbers = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(c)))
    order = np.lexsort((c @ np.sin(np.arange(1.0, c.shape[1] + 1)), numbers))
    gaps = np.abs(np.diff(c[order], axis=0)).max(axis=1)
    is_near = (gaps > 0) & (gaps < _SMALL_GAP * np.abs(c[order[1:]]).max(axis=1))
    repeated = np.zeros(len(c), np.bool_)
    repeated[order[1:]] = is_near & (np.diff(numbers[order]) == 0)
    return repeated
