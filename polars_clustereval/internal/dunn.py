"""dunn: the diameters of clusters, and Dunn's index with its generalizations.

The diameter of a cluster and the separation of two clusters each depend on a single pair of points,
which the module kernels.extreme_pairs finds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.checks import show_value
from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions, join_small
from polars_clustereval.base.growth import EXTREME_DISTANCES, GENERALIZED_DISTANCES
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .kernels.extreme_pairs import Metric, metric_diameters, metric_separation
from .kernels.linkages import largest_mean_pair_distance, least_linkages
from .kernels.partitions import Partition, Partitions, map_partitions
from .kernels.small_partitions import diameters_of_many, pair_statistics
from .scatter import centroid_gaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .distances import Center, Distance, DistanceName
    from .kernels.arrays import Floats
    from .vectors import Missing, Vector

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------

#: Separations of two clusters and diameters of a cluster, in the order of gdi_11 ... gdi_63.
SEPARATIONS = (
    *("min_separation", "min_complete_linkage", "min_average_linkage"),
    *("min_centroid_distance", "min_mean_to_other_center", "min_hausdorff"),
)
DIAMETERS = ("max_diameter", "max_mean_pair", "max_double_mean")
_GDI_COLUMNS = tuple(f"gdi_{i}{j}" for i in range(1, 7) for j in range(1, 4))
_CENTER_STATISTICS = ("min_centroid_distance", "max_double_mean")
_PAIR_STATISTICS_SCHEMA = pl.Schema(
    {name: pl.Float64() for name in (*SEPARATIONS, *DIAMETERS) if name not in _CENTER_STATISTICS}
)


def _has_finite_squares(part: Partition) -> bool:
    """Return whether all squares are finite. If not, Points.to_result raises an error later."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(part.x * part.x).all())


def _pair_statistics(points: Points, *, generalized: bool) -> pl.LazyFrame:
    """Return one row per partition, with the statistics of dunn_index that need pairs of points.

    Statistics whose names begin with max are maxima over clusters, and with min minima over pairs
    of clusters. Only max_diameter and min_separation are not NULL unless `generalized` is true.
    """
    keys, cluster_keys = points.partition_keys, points.cluster_keys
    c = points.form.columns("c") if generalized else []
    if generalized:
        centers = points.centers.select(*cluster_keys, *c)
        points = replace(points, rows=join_small(points.rows, cluster_keys, centers, "left"))

    def read_centers(part: Partition | Partitions) -> Floats | None:
        """Return the centers (k, d) of the clusters, or None unless `generalized` is true."""
        return points.form.to_matrix(part.rows[part.starts[:-1]], "c") if generalized else None

    def make_rows(parts: Partitions) -> pl.DataFrame:
        """Return the rows of many partitions that each have few points."""
        values = pair_statistics(parts, read_centers(parts), points.distance)
        columns = {name: values.get(name) for name in _PAIR_STATISTICS_SCHEMA}
        statistics = pl.DataFrame(columns, schema=_PAIR_STATISTICS_SCHEMA).fill_nan(None)
        return parts.rows[parts.partition_starts[:-1]].select(keys).hstack(statistics)

    rows = map_partitions(
        points,
        lambda part: _pair_statistics_row(part, read_centers(part), points.distance),
        _PAIR_STATISTICS_SCHEMA,
        c,
        function_of_many=make_rows,
    )
    # Each maximum has a single value. Aggregating yields one row even if there are no points and no
    # partition columns.
    return aggregate_by(rows, keys, {name: pl.col(name).max() for name in _PAIR_STATISTICS_SCHEMA})


def _pair_statistics_row(
    part: Partition, centers: Floats | None, distance: Distance
) -> pl.DataFrame:
    """Return the row of one partition. The centers (k, d) are None unless generalized."""
    metric, values = Metric(distance), dict[str, float | None]()
    if len(part.x) and _has_finite_squares(part):
        values["max_diameter"] = metric.to_distance(float(metric_diameters(part, metric).max()))
        if centers is not None:
            values["max_mean_pair"] = largest_mean_pair_distance(part, distance)
        if len(part.sizes) > 1:
            values["min_separation"] = metric.to_distance(metric_separation(part, metric))
            values |= {} if centers is None else least_linkages(part, centers, distance)
    columns = {name: [values.get(name)] for name in _PAIR_STATISTICS_SCHEMA}
    return pl.DataFrame(columns, schema=_PAIR_STATISTICS_SCHEMA)


def _diameter_rows(part: Partition | Partitions, distance: Distance) -> pl.DataFrame:
    """Return one row per cluster of one partition or of many, with its size n and diameter."""
    metric, diameters = Metric(distance), np.zeros(len(part.sizes))
    if isinstance(part, Partitions):
        diameters = diameters_of_many(part, distance)
    elif _has_finite_squares(part):
        diameters[:] = [metric.to_distance(d) for d in metric_diameters(part, metric).tolist()]
    return part.rows[part.starts[:-1]].with_columns(
        n=pl.Series(part.sizes, dtype=pl.Int64), diameter=pl.Series(diameters)
    )


def _center_extremes(points: Points) -> pl.LazyFrame:
    """Return one row per partition, with the statistics of dunn_index that need centers."""
    keys = points.partition_keys
    means = {"max_double_mean": 2 * pl.col("mean_distance").max()}
    gaps = {"min_centroid_distance": pl.col("least").min()}
    largest = aggregate_by(points.clusters, keys, means)
    least = aggregate_by(centroid_gaps(points), keys, gaps)
    return join_partitions(largest, keys, least, how="left")


def _dunn_ratio(separation: str, diameter: str) -> pl.Expr:
    """Return separation / diameter, or NULL if the diameter is 0 or this is no clustering."""
    n, n_clusters = pl.col("n"), pl.col("n_clusters")
    quotient = ratio(pl.col(separation), pl.col(diameter))
    return pl.when((n_clusters >= 2) & (n_clusters < n)).then(quotient)


def dunn_indices(*, generalized: bool) -> Terms:
    """Return dunn_index, centroid_dunn_index, max_diameter, min_separation, gdi_11, ... gdi_63.

    The columns gdi_11 to gdi_63 are NULL unless generalized.
    """
    ratios = [_dunn_ratio(x, y) for x, y in product(SEPARATIONS, DIAMETERS)]
    if not generalized:
        ratios = [pl.lit(None, pl.Float64)] * len(ratios)
    return {
        "dunn_index": _dunn_ratio("min_separation", "max_diameter"),
        "centroid_dunn_index": _dunn_ratio("min_centroid_distance", "max_diameter"),
        "max_diameter": pl.col("max_diameter"),
        "min_separation": pl.col("min_separation"),
        **dict(zip(_GDI_COLUMNS, ratios, strict=True)),
    }


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points", guide="dunn", order=("cluster",), growth=EXTREME_DISTANCES)
def cluster_diameters(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
) -> Frame:
    """Size of each cluster, and its diameter: the largest distance between two of its points.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points, one per row. When you collect the result of a LazyFrame, all points are loaded
        into memory.
    center : {'mean', 'median'}
        This option has no effect on diameters.
    vector, cluster, distance, p, partition_by, noise, noise_as, weights : as in internal_report
    missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The columns are
        the partition columns, cluster, n and diameter. n is the number of points in the cluster.
        The diameter of a single point is 0. With noise_as 'singletons', each noise point has a row
        of its own, in which cluster is NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report.

    Notes
    -----
    The diameters are exact. Two points at distances r and s from the center are at most r + s
    apart, so most distances need not be computed. In many dimensions, or if most points are near
    the border of their cluster, few distances can be skipped, and the running time is quadratic in
    the number of points.
    In SQL: ``FROM clustereval.cluster_diameters(tbl, [x, y], cluster)``.

    Examples
    --------
    Only the two points farthest from each other matter:

    >>> five = pl.DataFrame({"x": [0, 1, 3, 9, 9], "y": [0, 7, 4, 0, 0], "cluster": [*"aaabb"]})
    >>> ce.cluster_diameters(five, ["x", "y"], "cluster", distance="cityblock").rows()
    [('a', 3, 8.0), ('b', 2, 0.0)]
    """
    options = pass_arguments_to(check_point_options)
    points = read_points(frame, vector, cluster, options, results=("cluster", "n", "diameter"))
    types = points.kept_rows.select(points.own_keys).collect_schema()
    schema = pl.Schema(types | {"n": pl.Int64(), "diameter": pl.Float64()})
    function = partial(_diameter_rows, distance=points.distance)
    rows = map_partitions(points, function, schema, function_of_many=function)
    return points.to_result(frame, rows, points.own_keys)


@table_function("points", guide="dunn", growth=GENERALIZED_DISTANCES)
def dunn_index(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    generalized: bool = False,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Dunn's index (smallest separation / largest cluster diameter) and its generalizations.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points, one per row. When you collect the result of a LazyFrame, all points are loaded
        into memory.
    center : {'mean', 'median'}
        How each coordinate of a centroid is computed. For cosine distances, the centroid is the
        direction of the mean or median of the unit vectors.
    generalized : bool
        Whether to compute the columns gdi_11 … gdi_63, which are NULL otherwise. These columns need
        the distances between all pairs of points, while dunn_index needs only a few distances.
    vector, cluster, distance, p, partition_by, noise, noise_as, weights : as in internal_report
    missing : as in internal_report
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work that is needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns,
        n (the number of points that are counted), n_dropped, n_noise, n_clusters, and the following
        columns:

        * dunn_index = min_separation / max_diameter.
        * centroid_dunn_index: the smallest distance between two centroids, divided by max_diameter.
          This index equals gdi_41, and some authors call it Dunn's index.
        * max_diameter: the largest distance between two points in the same cluster.
        * min_separation: the smallest distance between points in different clusters.
        * gdi_ij: the smallest δi of any two clusters, divided by the largest Δj of any cluster.
          gdi_ij is NULL unless generalized is true.

        For two clusters, δ1 is the smallest distance between a point of one cluster and a point of
        the other, δ2 is the largest such distance, and δ3 is the mean of all such distances. δ4 is
        the distance between the two centroids, δ5 is the mean distance from the points of both
        clusters to the centroid of the other cluster, and δ6 is the Hausdorff distance. For a
        single cluster, Δ1 is the diameter, Δ2 is the mean distance between two points (0 for a
        single point), and Δ3 is twice the mean distance from the points to the centroid.

        All indices have the range [0, inf), best high. An index is NULL if there is only one
        cluster, if every point is a cluster of its own, or if the diameter in its formula is 0.
        min_separation is NULL only if there is only one cluster.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report.

    Notes
    -----
    All values are exact. Bounds rule out most pairs of points, so most distances need not be
    computed. For example, 100,000 points in 8 dimensions take about a second. In many dimensions,
    the bounds rule out few pairs. With generalized=True, all distances are computed. In many
    dimensions or with generalized=True, the running time is quadratic in the number of points and
    ranges from seconds for 20,000 points to minutes for 100,000.
    In SQL: ``FROM clustereval.dunn_index(tbl, [x, y], cluster)``.

    References
    ----------
    Dunn (1973), doi:10.1080/01969727308546046. Bezdek and Pal (1998), Some new indexes of cluster
    validity, doi:10.1109/3477.678624.

    Examples
    --------
    The two clusters are 6 apart, and the larger diameter is 4:

    >>> four = pl.DataFrame({"x": [0, 2, 8, 12], "cluster": ["a", "a", "b", "b"]})
    >>> report = ce.dunn_index(four, ["x"], "cluster", generalized=True)
    >>> report.select("dunn_index", "centroid_dunn_index", "gdi_21", "gdi_43").rows()
    [(1.5, 2.25, 3.0, 2.25)]
    """
    if not isinstance(generalized, bool):
        raise ClusterEvalError(
            f"generalized: expected TRUE or FALSE, got {show_value(generalized)}"
        )
    options = pass_arguments_to(check_point_options)
    points = read_points(frame, vector, cluster, options, results=DUNN_COLUMNS)
    statistics = points.row_counts
    keys = points.partition_keys
    for other in (_pair_statistics(points, generalized=generalized), _center_extremes(points)):
        statistics = join_partitions(statistics, keys, other, how="left")
    indices = dunn_indices(generalized=generalized)
    return points.to_result(
        frame, statistics.select(*keys, *DUNN_COLUMNS[:4], **indices), metrics=metrics
    )


DUNN_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_clusters"),
    *("dunn_index", "centroid_dunn_index", "max_diameter", "min_separation"),
    *_GDI_COLUMNS,
)
