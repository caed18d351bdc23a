"""scatter: the indices that follow from the clusters' centers; the twin of ``sql/scatter.sql``.

They need the distance of each point to its own center, or, in neighbor_report, to every center.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.exact import ratio, to_double
from polars_clustereval.base.frames import (
    Row,
    Terms,
    aggregate_by,
    join_partitions,
    join_small,
)

from .centroids import Points, check_point_options, read_points
from .distances import Center, sum_of_squares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .vectors import Vector

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _cluster_pairs(points: Points, columns: Sequence[str]) -> pl.LazyFrame:
    """One row for each cluster and each other one of its partition, with these columns of both."""
    keys = points.partition_keys
    named = points.clusters.select(*keys, "number", *columns)
    others = named.rename({name: f"other_{name}" for name in ("number", *columns)})
    pairs = join_partitions(named, keys, others)
    return pairs.filter(pl.col("number") != pl.col("other_number"))


def centroid_gaps(points: Points) -> pl.LazyFrame:
    """One row a cluster that has a neighbor: how far the other centers are.

    Centers that coincide are no neighbors in Davies and Bouldin's sense, as in scikit-learn.
    """
    columns = ["cluster", "mean_distance", *points.vector_columns("c")]
    gap, other = pl.col("gap"), pl.col("other_cluster")
    ratio = (pl.col("mean_distance") + pl.col("other_mean_distance")) / gap
    measured = _cluster_pairs(points, columns).select(
        *points.keys,
        "number",
        "other_cluster",
        "mean_distance",
        "other_mean_distance",
        gap=points.form.distance_between("c", "other_c"),
    )
    return measured.group_by(*points.keys, "number").agg(
        nearest_cluster=other.filter(gap == gap.min()).sort().first(),
        least=gap.min(),
        most=gap.max(),
        sum=gap.sum(),
        overlap=pl.when(gap > 0).then(ratio).otherwise(0.0).max(),
    )


def _spread_totals(points: Points) -> pl.LazyFrame:
    """One row a partition: sums over its clusters, and over clusters for each coordinate.

    All in one step, so that the engine can leave out what a query does not ask for.
    """
    n, squares = pl.col("n"), pl.col("squares")
    off = points.form.distance_between("c", "g")
    rows = points.clusters.with_columns(
        between=n * points.distance.squared(off),
        log_squares=pl.when(squares > 0).then(n * (squares / n).log()),
        width=points.form.norm("v"),
    )
    log_squares = pl.col("log_squares")
    terms = {
        "ssw": squares.sum(),
        "ssb": pl.col("between").sum(),
        "mean_distances": pl.col("mean_distance").sum(),
        "distances": pl.col("distances").sum(),
        "to_middle": pl.col("to_middle").sum(),
        "mean_squares": (squares / n).sum(),
        "log_squares": pl.when(log_squares.null_count() == 0).then(log_squares.sum()),
        "variances": pl.col("width").sum(),
        **points.form.variance_terms(),
    }
    totals = aggregate_by(rows, points.partition_keys, terms)
    return totals.with_columns(**points.form.variance_totals())


def _gap_totals(points: Points) -> pl.LazyFrame:
    least, total = pl.col("least"), pl.col("sum")
    terms = {
        "least_gap": least.min(),
        "most_gap": pl.col("most").max(),
        "least_square": points.distance.squared(least).min(),
        "gap_sum": total.sum(),
        "overlaps": pl.col("overlap").sum(),
        "isolation": pl.when(total.min() > 0).then((1 / total).sum()),
    }
    return aggregate_by(centroid_gaps(points), points.partition_keys, terms)


def internal_statistics(points: Points) -> pl.LazyFrame:
    """One row a partition: all that the indices are made from."""
    totals = points.row_counts
    for other in (_spread_totals, _gap_totals):
        totals = join_partitions(totals, points.partition_keys, other(points), how="left")
    return totals


# ----------------------------------------------------------------------------------------------
# Formulas. n points in n_clusters clusters; ssw, ssb sums of squares within and between.
# ----------------------------------------------------------------------------------------------


def _calinski_harabasz_score(row: Row) -> pl.Expr:
    """Give scikit-learn's 1 where no cluster has any spread."""
    n, k, ssw = to_double(row("n")), to_double(row("n_clusters")), row("ssw")
    score = (row("ssb") / (k - 1)) / (ssw / (n - k))
    return _null_unless_clustering(row, pl.when(ssw == 0).then(1.0).otherwise(score))


def _null_unless_clustering(row: Row, score: pl.Expr) -> pl.Expr:
    """Give NULL where scikit-learn refuses to score."""
    return pl.when((row("n_clusters") >= 2) & (row("n_clusters") < row("n"))).then(score)


def _log_ss_ratio(row: Row) -> pl.Expr:
    some = (row("ssw") > 0) & (row("ssb") > 0)
    return pl.when(some).then((row("ssb") / row("ssw")).log())


def _scattering(row: Row) -> pl.Expr:
    """Give the mean length of the clusters' variances by that of the whole."""
    return ratio(row("variances") / row("n_clusters"), row("variance") / row("n"))


def internal_scores(row: Row, *, squares_add_up: bool) -> Terms:
    """Give every index; sums of squares that do not add up leave out what stands on their total."""
    ssw, ssb, k = row("ssw"), row("ssb"), to_double(row("n_clusters"))
    to_middle = ratio(row("to_middle"), row("distances"))
    crowding = ratio(ssw / row("n"), row("least_square"))
    scores = {
        "ssw": ssw,
        "ssb": ssb,
        "sst": ssw + ssb,
        "explained_variance": ratio(ssb, ssw + ssb),
        "compactness": row("mean_distances") / k,
        "separation": ratio(row("gap_sum"), k * (k - 1)),
        "calinski_harabasz_score": _calinski_harabasz_score(row),
        "davies_bouldin_score": _null_unless_clustering(row, row("overlaps") / k),
        "ball_hall_index": row("mean_squares") / k,
        "banfield_raftery_index": row("log_squares"),
        "log_ss_ratio": _log_ss_ratio(row),
        "pbm_index": (to_middle * row("most_gap") / k).pow(2),
        "ratkowsky_lance_index": (row("mean_share") / k).sqrt(),
        "ray_turi_index": crowding,
        "xie_beni_index": crowding,
        "sd_scattering": _scattering(row),
        "sd_separation": ratio(row("most_gap"), row("least_gap")) * row("isolation"),
    }
    undefined = pl.lit(None, pl.Float64)
    return scores if squares_add_up else scores | dict.fromkeys(_NEED_TOTAL_SCATTER, undefined)


_NEED_TOTAL_SCATTER = ("sst", "explained_variance", "ratkowsky_lance_index", "sd_scattering")


# ----------------------------------------------------------------------------------------------
# The distance to every center
# ----------------------------------------------------------------------------------------------


def _wemmert_gancarski_totals(points: Points) -> pl.LazyFrame:
    """One row a partition: Wemmert and Gancarski's index.

    A point is worth 1 less the ratio of its distances to its own center and to the nearest other; a
    cluster is worth the sum of its points, or 0. A point on another center is worth minus infinity,
    and on both centers nobody knows.
    """
    own, other = pl.col("own"), pl.col("other")
    worth = (
        _own_and_nearest_distances(points)
        .group_by(*points.keys, "number")
        .agg(
            n=pl.len().cast(pl.Int64),
            lost=((other == 0) & (own > 0)).any(),
            unknown=((other == 0) & (own == 0)).any(),
            value=pl.when(other > 0).then(1 - own / other).otherwise(0.0).sum(),
        )
    )
    value = pl.when(pl.col("lost")).then(0.0).otherwise(pl.col("value").clip(0.0))
    index = pl.when(~pl.col("unknown").any()).then(value.sum() / pl.col("n").sum())
    return aggregate_by(
        worth, points.partition_keys, {"nearness": pl.when(pl.len() > 0).then(index)}
    )


def _own_and_nearest_distances(points: Points) -> pl.LazyFrame:
    """One row a point: its distances to its own center and to the nearest other."""
    by = [*points.keys, "number", "place"]
    x = points.form.coordinates("x")
    measured = _points_with_other_centroids(points).select(
        *by,
        own=points.distance.between(x, points.form.coordinates("c")),
        other=points.distance.between(x, points.form.coordinates("o")),
    )
    return measured.group_by(by).agg(pl.col("own").first(), pl.col("other").min())


def _points_with_other_centroids(points: Points) -> pl.LazyFrame:
    """One row for each point and each other center (o), beside its own (c)."""
    keys = points.partition_keys
    mine = join_partitions(points.clusters, keys, _density_radii(points))
    mine = mine.select(*points.cluster_keys, "number", "reach", *points.vector_columns("c"))
    others = points.clusters.select(
        *keys, pl.col("number").alias("other_number"), *_rename_vector(points, "c", "o")
    )
    rows = join_small(points.kept_rows.with_row_index("place"), points.cluster_keys, mine)
    return join_partitions(rows, keys, others).filter(pl.col("number") != pl.col("other_number"))


def _rename_vector(points: Points, prefix: str, name: str) -> list[pl.Expr]:
    pairs = zip(points.form.coordinates(prefix), points.vector_columns(name), strict=True)
    return [column.alias(new) for column, new in pairs]


def _density_totals(points: Points) -> pl.LazyFrame:
    """One row a partition: the mean over pairs of clusters of how crowded it is between them.

    That is how many of their points lie round the middle of the two centers, by how many lie round
    the fuller center.
    """
    fuller = pl.max_horizontal("first", "second")
    counted = _counts_near_centroids(points).select(
        *points.keys, fuller=fuller, share=ratio(pl.col("middle"), fuller)
    )
    mean = pl.when(pl.col("fuller").min() > 0).then(pl.col("share").mean())
    return aggregate_by(counted, points.partition_keys, {"density": mean})


def _counts_near_centroids(points: Points) -> pl.LazyFrame:
    """One row for two clusters: their points within the radius of each center and of the middle."""
    keys = points.partition_keys
    own, other = pl.col("number"), pl.col("other_number")
    x, c, o = (
        points.form.coordinates("x"),
        points.form.coordinates("c"),
        points.form.coordinates("o"),
    )
    middle = [(a + b) / 2 for a, b in zip(c, o, strict=True)]
    near = _points_with_other_centroids(points).select(
        *keys,
        low=pl.min_horizontal(own, other),
        high=pl.max_horizontal(own, other),
        forward=own < other,
        middle=_within_radius(x, middle),
        own=_within_radius(x, c),
        other=_within_radius(x, o),
    )
    forward = pl.col("forward")
    return near.group_by(*keys, "low", "high").agg(
        pl.col("middle").sum().cast(pl.Int64),
        first=pl.when(forward).then("own").otherwise("other").sum().cast(pl.Int64),
        second=pl.when(forward).then("other").otherwise("own").sum().cast(pl.Int64),
    )


def _within_radius(x: list[pl.Expr], y: list[pl.Expr]) -> pl.Expr:
    squares = sum_of_squares([a - b for a, b in zip(x, y, strict=True)])
    return squares.sqrt() <= pl.col("reach")


def _density_radii(points: Points) -> pl.LazyFrame:
    rows = points.clusters.select(*points.keys, width=points.form.norm("v"))
    reach = pl.col("width").sum().sqrt() / pl.len()
    return aggregate_by(rows, points.partition_keys, {"reach": reach})


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def neighbor_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: str = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
) -> Frame:
    """Give the internal indices that need the distance of every point to every center.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one a row. A LazyFrame is read when the result is collected, and
        streams; its first row, and of a List column the greatest length, are looked up at once.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: all are) are left out.
    cluster : str or Expr
        The cluster assigned to a point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        scipy's distances, in any letter case. A zero vector has the cosine distance 1 to all.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        What a centroid is, by coordinate; for cosine the direction of that of the unit vectors. The
        median needs all points of a cluster in memory.
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
        The kind that was given, one row a partition, sorted by it: the partition columns, n points
        that count, n_dropped, n_noise, n_dims, n_clusters, wemmert_gancarski_index (range [0, 1],
        best 1) and s_dbw_index (best 0; NULL for distances and centers where the total sum of
        squares is not that within and between, and where no point lies near either center of a
        pair). Both are NULL for a single cluster.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    Its time grows with the number of points times that of clusters.
    In SQL: ``FROM clustereval.neighbor_report(tbl, [x, y], cluster)``.

    References
    ----------
    Wemmert, Gancarski and Korczak (2000), doi:10.1142/S0218213000000231; Halkidi and Vazirgiannis
    (2001), doi:10.1109/ICDM.2001.989517.

    Examples
    --------
    Points near their own center and far from the other:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> ce.neighbor_report(four, ["x", "y"], "cluster")["wemmert_gancarski_index"].round(
    ...     4
    ... ).to_list()
    [0.8201]
    """
    options = check_point_options(
        distance=distance,
        p=p,
        center=center,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = read_points(frame, vector, cluster, options, results=_NEIGHBOR_COLUMNS).as_wide()
    report = points.row_counts
    for other in (_spread_totals, _wemmert_gancarski_totals, _density_totals):
        report = join_partitions(report, points.partition_keys, other(points), how="left")
    s_dbw = _scattering(pl.col) + pl.col("density")
    rows = report.select(
        *points.keys,
        *_NEIGHBOR_COLUMNS[:5],
        wemmert_gancarski_index=pl.col("nearness"),
        s_dbw_index=s_dbw if points.squares_add_up else pl.lit(None, pl.Float64),
    )
    return points.to_result(frame, rows)


_NEIGHBOR_COLUMNS = (
    "n",
    "n_dropped",
    "n_noise",
    "n_dims",
    "n_clusters",
    "wemmert_gancarski_index",
    "s_dbw_index",
)
