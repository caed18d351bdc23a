"""column_removal: measures of how a clustering changes if one coordinate is left out.

The clustering that uses all coordinates is called the whole clustering. For each coordinate, there
is also a reduced clustering, which is computed without that coordinate. A cell consists of the
points shared by a cluster of the whole clustering and a cluster of a reduced clustering.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    check_column,
    check_frame,
    check_groupable,
    show_value,
)
from polars_clustereval.base.frames import to_user_frame
from polars_clustereval.base.growth import NEAR_PAIRS
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.centroids import Points, check_point_options, read_points
from polars_clustereval.internal.distances import LongVectors
from polars_clustereval.internal.kernels.distance_blocks import TargetPoints
from polars_clustereval.internal.kernels.partitions import Partition, map_partitions
from polars_clustereval.internal.kernels.small_partitions import pair_distances

if TYPE_CHECKING:
    from polars_clustereval.internal.distances import Distance, DistanceName
    from polars_clustereval.internal.kernels.arrays import Floats, Integers
    from polars_clustereval.internal.vectors import Missing, Vector

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


_SCHEMA = pl.Schema(
    {
        "n": pl.Int64(),
        "n_clusters": pl.Int64(),
        "average_proportion_non_overlap": pl.Float64(),
        "average_distance": pl.Float64(),
        "average_distance_between_means": pl.Float64(),
        "figure_of_merit": pl.Float64(),
    }
)


class _SharedPoints(NamedTuple):
    """All q pairs of clusters that share points, sorted by whole and then by reduced."""

    #: (q,): number of the cluster of the whole clustering.
    whole: Integers
    #: (q,): number of the cluster of the reduced clustering.
    reduced: Integers
    #: (q,): number of points.
    sizes: Integers


def _mean_by_cluster(x: Floats, numbers: Integers, distance: Distance) -> Floats:
    """Return the (normalized) means of the k clusters of the points `x` (m, d), as (k, d).

    Each coordinate of a mean is clipped to the range of the averaged values. Otherwise, rounding
    errors could move the mean outside this range if all values are equal.
    """
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    y, sizes = x[order], np.diff(np.append(starts, len(x)))
    low, high = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    means = np.clip(np.add.reduceat(y, starts) / sizes[:, None], low, high)
    if distance.name != "cosine":
        return np.asarray(means)
    lengths = np.sqrt(np.einsum("ij,ij->i", means, means))
    lengths[lengths == 0] = np.inf
    lengths[np.abs(lengths - 1) < 1e-14] = 1
    return np.asarray(means / lengths[:, None])


def _mean_distances_of_cells(
    part: Partition, cells: _SharedPoints, reduced: Integers, distance: Distance
) -> Floats:
    """Return, for each of the q cells, the mean distance between the points of the two clusters.

    `reduced` (m,) is the number of the reduced cluster of each point of `part`.
    """
    sizes = np.bincount(reduced)
    ends = np.cumsum(sizes)[:-1]
    members = np.split(part.x[np.argsort(reduced, kind="stable")], ends)
    sums = np.zeros(len(cells.sizes))
    for number, points in enumerate(members):
        targets = TargetPoints(points, distance)
        for cell in np.flatnonzero(cells.reduced == number):
            sums[cell] = targets.sums(part.points_of_cluster(cells.whole[cell])).sum()
    if distance.name == "cosine":
        # A zero vector has distance 1 from all points except itself.
        zeros = ~part.x.any(axis=1)
        codes = cells.whole * len(sizes) + cells.reduced
        places = np.searchsorted(codes, part.numbers[zeros] * len(sizes) + reduced[zeros])
        sums = sums - np.bincount(places, minlength=len(sums))
    means: Floats = sums / (part.sizes[cells.whole] * sizes[cells.reduced])
    return means


def _squares_by_cluster(x: Floats, numbers: Integers) -> Floats:
    """Return each cluster's sum of squared deviations of `x` (m,) from the cluster's mean."""
    sizes = np.bincount(numbers)
    # Numbers are taken relative to one of them, so that equal numbers have no deviations.
    first = x[np.unique(numbers, return_index=True)[1]][numbers]
    means = np.bincount(numbers, weights=x - first) / sizes
    deviations = x - first - means[numbers]
    return np.asarray(np.bincount(numbers, weights=deviations * deviations), float)


def _column_stability(part: Partition, points: Points, removed_key: str) -> pl.DataFrame:
    """Return the result row for one partition of the points and one left-out coordinate.

    In `part.rows`, the column id contains the reduced clusters, and left_out contains the values of
    the left-out coordinate, whose number is in the column `removed_key`.
    """
    place, dims = part.rows[removed_key][0], points.form.dims
    if place is None or not 1 <= place <= dims:
        raise ClusterEvalError(
            f"removed: expected the number of a coordinate, from 1 to {dims}, "
            f"got {show_value(place)}"
        )
    left_out = part.rows["left_out"].to_numpy()
    reduced = part.rows["id"].rank("dense").cast(pl.Int64).to_numpy() - 1
    n, n_clusters, distance = len(part.x), int(reduced.max()) + 1, points.distance
    codes, sizes = np.unique(part.numbers * n_clusters + reduced, return_counts=True)
    cells = _SharedPoints(codes // n_clusters, codes % n_clusters, sizes)
    whole_sizes = part.sizes[cells.whole]
    between_means = pair_distances(
        _mean_by_cluster(part.x, part.numbers, distance),
        cells.whole,
        _mean_by_cluster(part.x, reduced, distance),
        cells.reduced,
        distance,
    )
    mean_distances = _mean_distances_of_cells(part, cells, reduced, distance)
    squares = _squares_by_cluster(left_out, reduced).sum()
    values = {
        "n": n,
        "n_clusters": n_clusters,
        "average_proportion_non_overlap": (sizes * (whole_sizes - sizes) / whole_sizes).sum() / n,
        "average_distance": (sizes * mean_distances).sum() / n,
        "average_distance_between_means": (sizes * between_means).sum() / n,
        "figure_of_merit": np.sqrt(squares / (n - n_clusters)) if n_clusters < n else None,
    }
    return pl.DataFrame([values], schema=_SCHEMA)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("removed columns", guide="held_out", order=("removed",), growth=NEAR_PAIRS)
def column_stability(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    removed: Column,
    reduced_cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    missing: Missing = "error",
) -> Frame:
    """The stability of a clustering when coordinates are left out one at a time.

    First, cluster the points using all coordinates. Then, for each coordinate, cluster the points
    again without that coordinate. To obtain the measures of Datta and Datta, average the four
    indices over the coordinates that are left out.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        One row for each combination of point and left-out coordinate. A LazyFrame is read into
        memory when you collect the result.
    vector : str, Expr, selector or sequence of str and Expr
        All coordinates, as an Array or List column of numbers, or as several numeric columns. Rows
        in which the vector or all of its columns are NULL are left out.
    cluster : str or Expr
        The point's cluster in the clustering that uses all coordinates. Rows with a NULL cluster
        are left out.
    removed : str or Expr
        The number of the left-out coordinate, counted from 1.
    reduced_cluster : str or Expr
        The point's cluster in the clustering without the coordinate `removed`. Rows with a NULL
        cluster are left out.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately, such as a column with the number of clusters.
        NULL is also a group.
    distance, p, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per partition and left-out coordinate, sorted by
        partition and coordinate. The columns are the partition columns and the following:

        * removed is the number of the coordinate that is left out.
        * n is the number of points that are evaluated.
        * n_clusters is the number of clusters in the reduced clustering.
        * average_proportion_non_overlap is the share of a point's cluster that is not in the
          point's reduced cluster, averaged over all points (range [0, 1), best 0).
        * average_distance compares each point's cluster with its reduced cluster. It is the mean
          distance between the points of these two clusters, averaged over all points (range
          [0, inf), best low).
        * average_distance_between_means is the distance between the mean of a point's cluster and
          the mean of its reduced cluster, averaged over all points (range [0, inf), best 0).
        * figure_of_merit is the root mean square deviation of the left-out coordinate from its mean
          in the reduced cluster, multiplied by sqrt(n / (n - n_clusters)) (range [0, inf), best
          low). The figure of merit is NULL if every reduced cluster contains only one point.

        If there are no rows, the result is empty.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if vector does not contain numbers, or if an option is unknown.
        When you collect the result, an error is raised if `removed` is not the number of a
        coordinate, if a coordinate is NULL, NaN or infinite, or if vectors differ in length.

    Notes
    -----
    If a cluster and a reduced cluster share a point, average_distance requires all distances
    between the points of the two clusters. In SQL: ``FROM clustereval.column_stability(tbl, [x, y],
    cluster, removed, reduced_cluster)``.

    References
    ----------
    Datta and Datta (2003), Comparisons and validation of statistical clustering techniques for
    microarray gene expression data, doi:10.1093/bioinformatics/btg025. Yeung, Haynor and Ruzzo
    (2001), Validating clustering for gene expression data, doi:10.1093/bioinformatics/17.4.309, for
    the figure of merit.

    Examples
    --------
    Without x, the second point changes to the other cluster; without y, nothing changes:

    >>> four = pl.DataFrame({"x": [0, 0, 9, 9], "y": [0, 5, 4, 6], "cluster": [1, 1, 2, 2]})
    >>> without_x = four.with_columns(removed=1, reduced=pl.Series([1, 2, 2, 2]))
    >>> without_y = four.with_columns(removed=2, reduced=pl.col("cluster"))
    >>> runs = pl.concat([without_x, without_y], how="vertical_relaxed")
    >>> stability = ce.column_stability(runs, ["x", "y"], "cluster", "removed", "reduced")
    >>> stability.select("removed", "average_proportion_non_overlap").rows()
    [(1, 0.25), (2, 0.0)]
    """
    lazy = check_frame(frame)
    number = check_column(lazy, removed, "removed").cast(pl.Float64, strict=False)
    place = pl.when(number == number.floor()).then(number.cast(pl.Int64, strict=False))
    whole = check_groupable(lazy, cluster, "cluster")
    reduced = check_groupable(lazy, reduced_cluster, "reduced_cluster")
    both = whole.is_not_null() & reduced.is_not_null()
    points = read_points(
        frame,
        vector,
        pl.when(both).then(whole),
        pass_arguments_to(check_point_options),
        results=("removed", *_SCHEMA),
        row_id=reduced.alias("id"),
        inner_key=place.alias("removed"),
    )
    removed_key = points.partition_keys[-1]
    points = _with_left_out(points, pl.col(removed_key))

    def stability_of_column(part: Partition) -> pl.DataFrame:
        """Return the result row for one partition."""
        return _column_stability(part, points, removed_key)

    table = map_partitions(points, stability_of_column, _SCHEMA, ["id", "left_out"])
    table = points.with_fault_check(table).sort(points.partition_keys, nulls_last=True)
    return to_user_frame(frame, table, points.keys)


def _with_left_out(points: Points, place: pl.Expr) -> Points:
    """Return the points with the column left_out, their coordinate number `place`."""
    form = points.form
    raw = form.split("raw_x") if isinstance(form, LongVectors) else form.coordinates("raw_x")
    left_out = pl.concat_list(raw).list.get(place - 1, null_on_oob=True)
    return replace(points, rows=points.rows.with_columns(left_out=left_out))
