"""scatter: indices computed from the centers of clusters, as in ``sql/internal/scatter.sql``.

The indices require the distance from each point to its own center or, in neighbor_report, to every
center. A gap is the distance between two centers. The vectors x, v, c and g are defined in the
class VectorForm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.exact import ratio, to_double
from polars_clustereval.base.frames import (
    Row,
    Terms,
    aggregate_by,
    join_partitions,
    join_small,
    map_whole,
)
from polars_clustereval.base.growth import POINTS_TO_CENTERS
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .kernels.center_neighbors import CenterGaps, CenterNeighbors, center_gaps
from .kernels.partitions import partition_starts
from .kernels.streams import map_stream, run_stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .distances import Center, DistanceName
    from .kernels.arrays import Integers
    from .vectors import Missing, Vector

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def centroid_gaps(points: Points) -> pl.LazyFrame:
    """Return the gaps of each cluster, for partitions with more than one cluster.

    There is one row per cluster. The columns are the partition columns, the cluster's number and
    the following:

    - least, most_gap and gap_sum: the smallest, the largest and the total distance from the center
      of the cluster to the other centers of the partition.
    - nearest_cluster: the label of the cluster with the nearest center, or the lowest label in a
      tie.
    - overlap: the overlap of Davies and Bouldin, which is the maximum of (sum of both clusters'
      mean distances) / distance between the centers. As in scikit-learn, centers that coincide are
      ignored.
    """
    keys = points.partition_keys
    columns = (*keys, "cluster", "number", "mean_distance", *points.form.columns("c"))
    # NULLs come first, so that in a tie, a noise point is the nearest cluster.
    clusters = points.clusters.select(columns).sort(*keys, "cluster")
    kinds = clusters.select(*keys, "number", nearest_cluster="cluster").collect_schema()
    types = pl.Schema(kinds | dict.fromkeys(CenterGaps._fields[1:], pl.Float64()))

    def gaps_to_nearest_centers(clusters: pl.DataFrame) -> pl.DataFrame:
        """Return the gaps of the clusters of all partitions."""
        starts, centers = partition_starts(clusters, keys), points.form.to_matrix(clusters, "c")
        spreads = clusters["mean_distance"].to_numpy()
        with np.errstate(all="ignore"):
            nearest, *gaps = center_gaps(centers, spreads, starts, points.distance)
        labels = clusters["cluster"].gather(nearest).alias("nearest_cluster")
        numbers = zip(CenterGaps._fields[1:], gaps, strict=True)
        values = [labels, *(pl.Series(name, x) for name, x in numbers)]
        rows = clusters.select(*keys, "number").hstack(values)
        return rows.filter(np.repeat(np.diff(starts) > 1, np.diff(starts)))

    return map_whole(clusters, gaps_to_nearest_centers, types)


def _spread_totals(points: Points) -> pl.LazyFrame:
    """Return one row per partition, with its partition columns and sums over its clusters.

    log_square_sum is NULL if ssw is 0 for any cluster. All sums are computed in one step, so that
    the engine can skip those that a query does not select.
    """
    n, ssw = pl.col("n"), pl.col("ssw")
    gap = points.form.distance_between("c", "g")
    clusters = points.clusters.with_columns(
        ssb=n * points.distance.squared(gap),
        log_square=pl.when(ssw > 0).then(n * (ssw / n).log()),
        variance_norm=points.form.norm("v"),
    )
    log_square = pl.col("log_square")
    terms = {
        "ssw": ssw.sum(),
        "ssb": pl.col("ssb").sum(),
        "mean_distance_sum": pl.col("mean_distance").sum(),
        "distances": pl.col("distances").sum(),
        "overall_distances": pl.col("overall_distances").sum(),
        "mean_square_sum": (ssw / n).sum(),
        "log_size_sum": (n * n.log()).sum(),
        "log_square_sum": pl.when(log_square.null_count() == 0).then(log_square.sum()),
        "variance_norm_sum": pl.col("variance_norm").sum(),
        **points.form.variance_terms(),
    }
    totals = aggregate_by(clusters, points.partition_keys, terms)
    return totals.with_columns(**points.form.variance_totals())


def _gap_totals(points: Points) -> pl.LazyFrame:
    """Return one row per partition, with extremes and sums of the distances between its centers.

    In gap_sum, every pair of centers is counted twice. inverse_gap_sum is the sum of 1 / s over all
    clusters, where s is the sum of the distances from a cluster's center to all other centers, or
    NULL if s is 0 for any cluster.
    """
    least, gap_sum = pl.col("least"), pl.col("gap_sum")
    terms = {
        "least_gap": least.min(),
        "most_gap": pl.col("most_gap").max(),
        "least_squared_gap": points.distance.squared(least).min(),
        "gap_sum": gap_sum.sum(),
        "overlap_sum": pl.col("overlap").sum(),
        "inverse_gap_sum": pl.when(gap_sum.min() > 0).then((1 / gap_sum).sum()),
    }
    return aggregate_by(centroid_gaps(points), points.partition_keys, terms)


def internal_statistics(points: Points) -> pl.LazyFrame:
    """Return one row per partition, with its row counts and the totals that internal_scores reads.

    Totals are NULL if there are no clusters from which to compute them.
    """
    statistics = points.row_counts
    for totals in (_spread_totals, _gap_totals):
        statistics = join_partitions(statistics, points.partition_keys, totals(points), how="left")
    return statistics


# ----------------------------------------------------------------------------------------------
# Formulas for n points in n_clusters clusters; ssw and ssb are sums of squares within and between.
# ----------------------------------------------------------------------------------------------


def _null_unless_clustering(row: Row, score: pl.Expr) -> pl.Expr:
    """Return the score if 2 <= n_clusters < n, else NULL (scikit-learn raises an error instead)."""
    return pl.when((row("n_clusters") >= 2) & (row("n_clusters") < row("n"))).then(score)


def _calinski_harabasz_score(row: Row) -> pl.Expr:
    """Return the Calinski-Harabasz score, or 1 if ssw is 0, as in scikit-learn."""
    n, n_clusters, ssw = to_double(row("n")), to_double(row("n_clusters")), row("ssw")
    score = (row("ssb") / (n_clusters - 1)) / (ssw / (n - n_clusters))
    return _null_unless_clustering(row, pl.when(ssw == 0).then(1.0).otherwise(score))


def _log_ss_ratio(row: Row) -> pl.Expr:
    """Return ln(ssb / ssw), or NULL if ssb or ssw is 0."""
    is_defined = (row("ssw") > 0) & (row("ssb") > 0)
    return pl.when(is_defined).then((row("ssb") / row("ssw")).log())


def _scattering(row: Row) -> pl.Expr:
    """Return Scat of SD and S_Dbw: mean norm of the clusters' variances / norm of the whole's."""
    mean_norm = row("variance_norm_sum") / row("n_clusters")
    return ratio(mean_norm, row("total_squares_norm") / row("n"))


def _pbm_index(row: Row) -> pl.Expr:
    """Return the PBM index (overall_distances / distances x most_gap / n_clusters)^2."""
    distances_ratio = ratio(row("overall_distances"), row("distances"))
    return (distances_ratio * row("most_gap") / to_double(row("n_clusters"))).pow(2)


def internal_scores(row: Row, *, squares_add_up: bool) -> Terms:
    """Return the indices of internal_report, from the row of internal_statistics.

    Unless squares_add_up (see Points), the scores that need the total sum of squares are NULL.
    """
    ssw, ssb, n_clusters = row("ssw"), row("ssb"), to_double(row("n_clusters"))
    xie_beni_index = ratio(ssw / row("n"), row("least_squared_gap"))
    scores = {
        "ssw": ssw,
        "ssb": ssb,
        "sst": ssw + ssb,
        "explained_variance": ratio(ssb, ssw + ssb),
        "compactness": row("mean_distance_sum") / n_clusters,
        "separation": ratio(row("gap_sum"), n_clusters * (n_clusters - 1)),
        "calinski_harabasz_score": _calinski_harabasz_score(row),
        "davies_bouldin_score": _null_unless_clustering(row, row("overlap_sum") / n_clusters),
        "ball_hall_index": row("mean_square_sum") / n_clusters,
        "banfield_raftery_index": row("log_square_sum"),
        "log_ss_ratio": _log_ss_ratio(row),
        "pbm_index": _pbm_index(row),
        "ratkowsky_lance_index": (row("mean_between_share") / n_clusters).sqrt(),
        "ray_turi_index": xie_beni_index,
        "xie_beni_index": xie_beni_index,
        "sd_scattering": _scattering(row),
        "sd_separation": ratio(row("most_gap"), row("least_gap")) * row("inverse_gap_sum"),
    }
    undefined = pl.lit(None, pl.Float64)
    return scores if squares_add_up else scores | dict.fromkeys(_NEED_TOTAL_SQUARES, undefined)


_NEED_TOTAL_SQUARES = ("sst", "explained_variance", "ratkowsky_lance_index", "sd_scattering")


# ----------------------------------------------------------------------------------------------
# Distances to every center
# ----------------------------------------------------------------------------------------------


def _density_radii(points: Points) -> pl.LazyFrame:
    """Return the density_radius of each partition, within which S_Dbw counts points as near."""
    clusters = points.clusters.select(*points.keys, variance_norm=points.form.norm("v"))
    radius = pl.col("variance_norm").sum().sqrt() / pl.len()
    return aggregate_by(clusters, points.partition_keys, {"density_radius": radius})


def _neighbor_totals(points: Points) -> pl.LazyFrame:
    """Return wemmert_gancarski and density; the points are streamed, with all centers in memory."""
    keys, own_keys, c = points.partition_keys, points.cluster_keys, points.form.columns("c")
    clusters = join_partitions(points.clusters, keys, _density_radii(points))
    clusters = clusters.select(*own_keys, "density_radius", *c).sort(own_keys, nulls_last=True)
    results: dict[str, pl.DataType] = dict.fromkeys(_NEIGHBOR_TOTALS, pl.Float64())
    types = pl.Schema(clusters.select(keys).collect_schema() | results)

    def totals_by_partition(clusters: pl.DataFrame) -> pl.DataFrame:
        """Return the totals of all partitions, computed from one row per cluster."""
        starts = partition_starts(clusters, keys)
        _check_cluster_pairs(np.diff(starts))
        firsts = clusters[starts[:-1]] if clusters.height else clusters
        radii = firsts["density_radius"].to_numpy() if points.squares_add_up else None
        centers = points.form.to_matrix(clusters, "c")
        if not clusters.height:
            return pl.DataFrame(schema=types)
        sums = CenterNeighbors(centers, starts, points.distance, radii)
        _add_points(points, clusters, sums)
        totals = (sums.wemmert_gancarski(), sums.densities())
        columns = zip(_NEIGHBOR_TOTALS, totals, strict=True)
        values = [pl.Series(name, total).fill_nan(None) for name, total in columns]
        return pl.DataFrame([*(firsts[key] for key in keys), *values])

    rows = map_whole(clusters, totals_by_partition, types)
    # Each maximum has a single value. Aggregating yields one row even if there are no points and no
    # partition columns.
    return aggregate_by(rows, keys, {name: pl.col(name).max() for name in _NEIGHBOR_TOTALS})


_NEIGHBOR_TOTALS = ("wemmert_gancarski", "density")

#: The maximum number of ordered pairs of clusters, including a cluster with itself; points are
#: counted for each pair.
_MAX_CLUSTER_PAIRS = 64_000_000


def _check_cluster_pairs(counts: Integers) -> None:
    """Raise an error if partitions of `counts` clusters have too many pairs of clusters."""
    pairs = sum(count**2 for count in counts.tolist())
    if pairs > _MAX_CLUSTER_PAIRS:
        raise ClusterEvalError(
            "cluster: expected at most 64000000 pairs of clusters (8000 clusters), got "
            f"{pairs} (about {pairs // 16000 + 1} MB in DuckDB); evaluate fewer clusters, or take "
            "internal_report, which has no limit"
        )


def _add_points(points: Points, clusters: pl.DataFrame, sums: CenterNeighbors) -> None:
    """Add the kept points to the sums of `clusters`, batch by batch."""
    keys = points.cluster_keys
    numbers = clusters.select(keys).with_row_index("number")

    def add_to_sums(batch: pl.DataFrame) -> pl.DataFrame:
        """Add a batch of points and return an empty frame, because a stream needs a result."""
        with np.errstate(all="ignore"):
            numbers = batch["number"].to_numpy().astype(np.int64)
            sums.add(points.form.to_matrix(batch, "x"), numbers)
        return batch.select("number").clear()

    rows = points.kept_rows.select(*keys, *points.form.columns("x"))
    numbered = join_small(rows, keys, numbers.lazy())
    nothing = map_stream(numbered, add_to_sums, pl.Schema({"number": numbers.schema["number"]}))
    run_stream(nothing, sums.stop)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points", guide="internal", is_portable=True, growth=POINTS_TO_CENTERS)
def neighbor_report(
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
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Internal indices that need the distance from every point to every center.

    Parameters
    ----------
    frame, vector, cluster, distance, p, center, partition_by, noise : as in internal_report
    noise_as, weights, missing : as in internal_report
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work needed only for columns that are not returned is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns,
        n (the number of points that are counted), n_dropped, n_noise, n_dims, n_clusters,
        wemmert_gancarski_index (range [0, 1], best 1), and s_dbw_index (range [0, inf), best 0).
        s_dbw_index is NULL if the sums of squares within and between clusters do not add up to the
        total, which is the case for most distances and centers. s_dbw_index is also NULL if a pair
        of clusters has no points near either of its centers. Both indices are NULL if there is only
        one cluster.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report, and if there are too many pairs of clusters.

    Notes
    -----
    The running time grows with the number of points times the number of clusters, and the memory
    usage grows with the square of the number of clusters. All partitions together may have at most
    64 million ordered pairs of clusters, which is the number of pairs in a single partition with
    8,000 clusters.
    In SQL: ``FROM clustereval.neighbor_report(tbl, [x, y], cluster)``.

    References
    ----------
    Wemmert, Gancarski and Korczak (2000), doi:10.1142/S0218213000000069; Halkidi and Vazirgiannis
    (2001), doi:10.1109/ICDM.2001.989517.

    Examples
    --------
    The points are near their own center and far from the other one:

    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> ce.neighbor_report(four, ["x", "y"], "cluster")["wemmert_gancarski_index"].round(
    ...     4
    ... ).to_list()
    [0.8201]
    """
    options = pass_arguments_to(check_point_options)
    points = read_points(
        frame, vector, cluster, options, results=_NEIGHBOR_COLUMNS, needs_wide=True
    )
    statistics = points.row_counts
    for totals in (_spread_totals, _neighbor_totals):
        statistics = join_partitions(statistics, points.partition_keys, totals(points), how="left")
    s_dbw_index = _scattering(pl.col) + pl.col("density")
    report = statistics.select(
        *points.keys,
        *_NEIGHBOR_COLUMNS[:5],
        wemmert_gancarski_index=pl.col("wemmert_gancarski"),
        s_dbw_index=s_dbw_index if points.squares_add_up else pl.lit(None, pl.Float64),
    )
    return points.to_result(frame, report, metrics=metrics)


_NEIGHBOR_COLUMNS = (
    *("n", "n_dropped", "n_noise", "n_dims", "n_clusters"),
    *("wemmert_gancarski_index", "s_dbw_index"),
)
