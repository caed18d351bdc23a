"""findings: what you should know about a clustering of points, in words and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.checks import check_frame, check_partition_keys, key_columns
from polars_clustereval.base.exact import (
    count_as_text,
    decimals_below,
    percent_as_text,
    ratio,
    whole_as_text,
    widen,
)
from polars_clustereval.base.findings import (
    findings_on_sizes,
    make_finding,
    mute_noise,
    sort_findings,
)
from polars_clustereval.base.frames import join_partitions, to_user_frame
from polars_clustereval.base.growth import SILHOUETTES
from polars_clustereval.base.tables import table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .report import internal_cluster_report, internal_report
from .silhouette import silhouette_clusters
from .states import cluster_states

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .distances import DistanceName
    from .silhouette_queries import MeansMethod
    from .vectors import Missing, Vector

_FINDING_COLUMNS = (
    "severity",
    "code",
    "cluster",
    "other_cluster",
    "coordinate",
    "n",
    "value",
    "finding",
)
#: Mean silhouettes below this mean "no substantial structure" (Kaufman and Rousseeuw 1990).
_LEAST_SILHOUETTE = 0.25
#: A point is far away if its distance is this many times the mean distance.
_FAR = 10


@table_function("points", guide="findings", growth=SILHOUETTES)
def internal_findings(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    method: MeansMethod = "exact",
    sample_size: int | None = None,
    reference_size: int | None = None,
    random_state: int = 0,
    missing: Missing = "error",
) -> Frame:
    """What you should know about a clustering of points, in words and numbers.

    Parameters
    ----------
    frame, vector, cluster, id, distance, p, partition_by, noise : as in silhouette_clusters
    noise_as, weights, method, sample_size, reference_size : as in silhouette_clusters
    random_state, missing : as in silhouette_clusters

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per finding. Findings are sorted by partition, then by
        severity (worst first), and then by size (largest first). The columns are the partition
        columns and the following:

        - severity: 'problem', 'warning' or 'note'.
        - code: the kind of finding (see the list below).
        - cluster, other_cluster and coordinate: the clusters or the coordinate that the finding is
          about. Columns that do not apply are NULL.
        - n: the number of points that the finding is about.
        - value: the number on which the finding is based.
        - finding: the text of the finding.

        The codes are as follows:

        - no_rows, unnamed_noise, unknown_noise, all_singletons, dropped_rows, noise_rows,
          one_cluster and giant_cluster, which have the same meaning as in external_findings.
        - cluster_coordinate: a coordinate, numbered from 1, has one value in each cluster, and no
          two clusters share a value, while other coordinates vary within clusters. The coordinate
          may be made from the clusters. Like dominant coordinates, these are not reported for
          cosine distances or if weights are used.
        - low_silhouette: the mean silhouette of a cluster is below 0.25, which Kaufman and
          Rousseeuw interpret as no substantial structure. value is the mean silhouette, and
          other_cluster is the cluster with the nearest center. If the mean silhouette is below 0,
          the finding is a problem.
        - close_clusters: two clusters have low silhouettes, and the center of each is the nearest
          center to that of the other, so they may be a single cluster. value is the larger of their
          mean silhouettes.
        - far_point: the farthest point of a cluster is more than 10 times as far from the center as
          the cluster's points are on average. value is the ratio of these distances. For
          sqeuclidean, the square root of the ratio is compared with 10, and value is this root.
        - dominant_coordinate: a coordinate, numbered from 1, accounts for more than 90 % of the
          variance within clusters. value is this share. Dominant coordinates are not reported for
          cosine distances or if weights are used.
        - tiny_cluster: a cluster has less than a tenth of the average size. value is the size of
          the cluster divided by the average size.

        If there are no findings, the result is empty.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_clusters.

    Notes
    -----
    The thresholds are conventions, not statistical tests. If you prefer other thresholds, use the
    column value to judge the findings.
    In SQL: ``FROM clustereval.internal_findings(tbl, [x, y], cluster)``.

    References
    ----------
    Kaufman and Rousseeuw (1990), Finding groups in data, doi:10.1002/9780470316801.

    Examples
    --------
    One of the two coordinates has another unit:

    >>> four = pl.DataFrame({"x": [0, 1, 8, 9], "y": [0, 2000, 0, 2000], "cluster": [0, 0, 1, 1]})
    >>> findings = ce.internal_findings(four, ["x", "y"], "cluster")
    >>> findings.filter(code="dominant_coordinate").select("coordinate", "value").row(0)
    (2, 0.999...)
    """
    lazy = check_frame(frame)
    keys = check_partition_keys(lazy, partition_by, _FINDING_COLUMNS)
    # Inner names are used, because the tables below have columns of their own.
    inner = {f"__ce_{name}": key for name, key in keys.items()}
    rows = lazy.with_columns(key_columns(inner))
    by = list(inner)
    shared: dict[str, Any] = {"partition_by": by or None, "missing": missing}
    marked: dict[str, Any] = {**shared, "noise": noise, "noise_as": noise_as}
    points: dict[str, Any] = {**marked, "distance": distance, "p": p, "weights": weights}
    counts = internal_report(rows, vector, cluster, **points)
    clusters = internal_cluster_report(rows, vector, cluster, **points)
    silhouettes = silhouette_clusters(
        rows,
        vector,
        cluster,
        id,
        method=method,
        sample_size=sample_size,
        reference_size=reference_size,
        random_state=random_state,
        **points,
    )
    states = cluster_states(rows, vector, cluster, **(marked if noise_as == "drop" else shared))
    is_scaled = distance.lower() == "cosine" or weights is not None
    ordered = findings_of_reports(
        PointReports(counts, clusters, silhouettes, None if is_scaled else states),
        by,
        noise=noise,
        noise_as=noise_as,
        distance=distance,
    )
    return show_whole_texts(to_user_frame(frame, ordered, inner))


class PointReports(NamedTuple):
    """The reports from which the findings are derived, all for the same partitions."""

    counts: pl.LazyFrame
    """The columns n, n_dropped, n_noise and n_clusters of internal_report."""
    clusters: pl.LazyFrame
    """The result of internal_cluster_report."""
    silhouettes: pl.LazyFrame | None
    """The columns cluster and silhouette of silhouette_clusters, or None to skip silhouettes."""
    states: pl.LazyFrame | None
    """The result of cluster_states, or None to skip the findings on coordinates."""


def findings_of_reports(
    reports: PointReports, by: list[str], *, noise: object, noise_as: str | None, distance: str
) -> pl.LazyFrame:
    """Return the rows of internal_findings, based on reports with the partition columns `by`."""
    row_counts = _points_of_partitions(reports.counts, by, noise_as)
    measured = _join_measures(reports, row_counts, by)
    sizes = measured.select(*by, "cluster", cluster_size="n")
    findings = findings_on_sizes(
        row_counts, sizes, by, noise=noise, unit="point", complement="vector"
    )
    is_squared = distance.lower() == "sqeuclidean"
    findings += [
        _find_low_silhouettes(measured, by),
        _find_close_clusters(measured, by),
        _find_far_points(measured, by, is_squared=is_squared),
        _find_tiny_clusters(measured, by),
    ]
    if reports.states is not None:
        findings.append(_find_dominant_coordinates(reports.states, by))
        findings.append(_find_cluster_coordinates(reports.states, by))
    ordered = sort_findings(findings, by, ("cluster", "coordinate"))
    if noise is None:
        ordered = mute_noise(ordered, ("cluster", "other_cluster"))
    return ordered.select(*by, *_FINDING_COLUMNS)


def _points_of_partitions(
    counts: pl.LazyFrame, by: list[str], noise_as: str | None
) -> pl.LazyFrame:
    """Return the row counts that findings_on_sizes needs, computed from internal_report."""
    dropped = pl.col("n_noise") if noise_as == "drop" else pl.lit(0)
    total = pl.col("n").alias("total")
    return counts.select(
        *by, total, "n_dropped", "n_noise", "n_clusters", total_noise=pl.col("n") + dropped
    ).cache()


def _join_measures(reports: PointReports, row_counts: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the values used in the findings, with one row per cluster and no noise singletons."""
    # The report is sorted, so row numbers have its order. Lists and structs could not be compared.
    named = reports.clusters.filter(pl.col("cluster").is_not_null())
    clusters = named.drop("centroid").with_row_index("number")
    if reports.silhouettes is None:
        joined = clusters.with_columns(silhouette=pl.lit(None, pl.Float64))
    else:
        # From the same input, two engines may read the clusters as different types.
        dtype = clusters.collect_schema()["cluster"]
        spreads = reports.silhouettes.select(*by, pl.col("cluster").cast(dtype), "silhouette")
        joined = clusters.join(spreads, on=[*by, "cluster"], how="left", nulls_equal=True)
    return join_partitions(joined, by, row_counts.select(*by, "total", "n_clusters")).cache()


def silhouette_as_text(silhouette: pl.Expr) -> pl.Expr:
    """Return the mean silhouette of a poorly separated cluster as text."""
    below_0 = decimals_below(silhouette, 0)
    below_least = decimals_below(silhouette, _LEAST_SILHOUETTE)
    return pl.when(silhouette < 0).then(below_0).otherwise(below_least)


def _find_low_silhouettes(measured: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about clusters with a low mean silhouette."""
    n, silhouette = pl.col("n"), pl.col("silhouette")
    is_negative = silhouette < 0
    severity = pl.when(is_negative).then(pl.lit("problem")).otherwise(pl.lit("warning"))
    reason = (
        pl.when(is_negative)
        .then(pl.lit("they are nearer to another cluster than to each other"))
        .otherwise(pl.lit("it is hardly set apart from the clusters around it"))
    )
    return make_finding(
        measured.filter((n > 1) & (silhouette < _LEAST_SILHOUETTE)),
        by,
        5,
        "low_silhouette",
        severity=severity,
        cluster=pl.col("cluster"),
        other_cluster=pl.col("nearest_cluster"),
        n=n,
        value=silhouette,
        finding=pl.format(
            "the mean silhouette of its {} is {}: {}",
            count_as_text(n, "point"),
            silhouette_as_text(silhouette),
            reason,
        ),
    )


def _find_close_clusters(measured: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about pairs of clusters that may be a single cluster."""
    low = measured.filter((pl.col("n") > 1) & (pl.col("silhouette") < _LEAST_SILHOUETTE))
    others = low.select(
        *by,
        nearest_cluster="cluster",
        cluster="nearest_cluster",
        other_number="number",
        other_n="n",
        other_silhouette="silhouette",
    )
    pairs = low.join(others, on=[*by, "cluster", "nearest_cluster"], nulls_equal=True)
    own, other = pl.col("silhouette"), pl.col("other_silhouette")
    return make_finding(
        pairs.filter(pl.col("number") < pl.col("other_number")),
        by,
        6,
        "close_clusters",
        severity="warning",
        cluster=pl.col("cluster"),
        other_cluster=pl.col("nearest_cluster"),
        n=pl.col("n") + pl.col("other_n"),
        value=pl.max_horizontal(own, other),
        finding=pl.format(
            "each is the nearest to the other, and their mean silhouettes are {} and {}: they "
            "may be one cluster",
            silhouette_as_text(own),
            silhouette_as_text(other),
        ),
    )


def _find_far_points(measured: pl.LazyFrame, by: list[str], *, is_squared: bool) -> pl.LazyFrame:
    """Return the findings about clusters that have a point very far from the center.

    Such a point is more than ten times as far from the center as the points of the cluster are on
    average. If `is_squared` is true, distances are squared, and the square roots of their ratios
    are used.
    """
    ratio_of_distances = ratio(pl.col("max_distance"), pl.col("mean_distance"))
    if is_squared:
        ratio_of_distances = ratio_of_distances.sqrt()
    return make_finding(
        measured.filter(ratio_of_distances > _FAR),
        by,
        7,
        "far_point",
        severity="warning",
        cluster=pl.col("cluster"),
        n=pl.col("n"),
        value=ratio_of_distances,
        finding=pl.format(
            "its farthest point is {} times as far from the center as its points are on average",
            whole_as_text(ratio_of_distances),
        ),
    )


def _find_dominant_coordinates(states: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about coordinates that account for nearly all within-cluster variance."""
    places = pl.int_ranges(1, pl.col("m2").list.len() + 1).alias("coordinate")
    lists = states.filter(pl.col("n") > 0).select(*by, "n", "m2", places)
    variances = (
        lists.explode("coordinate", "m2")
        .group_by(*by, "coordinate")
        .agg(pl.col("n").sum(), squares=pl.col("m2").sum())
    )
    partition = [pl.col(name) for name in by] or [pl.lit(0)]
    squares = pl.col("squares")
    shares = variances.with_columns(
        n_dims=pl.len().cast(pl.Int64).over(partition),
        share=ratio(squares, squares.sum().over(partition)),
    )
    share, coordinate = pl.col("share"), pl.col("coordinate").cast(pl.Int64)
    return make_finding(
        shares.filter((pl.col("n_dims") > 1) & (share > 0.9)),
        by,
        8,
        "dominant_coordinate",
        severity="warning",
        coordinate=coordinate,
        n=pl.col("n"),
        value=share,
        finding=pl.format(
            "coordinate {} of {} holds {} of the variance within clusters: scale the columns first",
            coordinate,
            pl.col("n_dims"),
            percent_as_text(share),
        ),
    )


def _find_cluster_coordinates(states: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about coordinates that have one value in each cluster, all different.

    Other coordinates of the partition must vary within clusters.
    """
    places = pl.int_ranges(1, pl.col("m2").list.len() + 1).alias("coordinate")
    lists = states.filter(pl.col("n") > 0).select(*by, "n", "m2", "mean", places)
    spreads = (
        lists.explode("coordinate", "m2", "mean")
        .group_by(*by, "coordinate")
        .agg(
            pl.col("n").sum(),
            pl.col("m2").max(),
            n_clusters=pl.len(),
            n_means=pl.col("mean").n_unique(),
        )
    )
    partition = [pl.col(name) for name in by] or [pl.lit(0)]
    n_clusters, coordinate = pl.col("n_clusters"), pl.col("coordinate").cast(pl.Int64)
    compared = spreads.with_columns(
        n_dims=pl.len().cast(pl.Int64).over(partition), most=pl.col("m2").max().over(partition)
    )
    is_found = (pl.col("m2") == 0) & (pl.col("most") > 0) & (n_clusters > 1)
    return make_finding(
        compared.filter(is_found & (pl.col("n_means") == n_clusters)),
        by,
        -1,
        "cluster_coordinate",
        severity="problem",
        coordinate=coordinate,
        n=pl.col("n"),
        finding=pl.format(
            "coordinate {} of {} has one value in each cluster, which no other cluster has: is it "
            "made from the cluster?",
            coordinate,
            pl.col("n_dims"),
        ),
    )


def _find_tiny_clusters(measured: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about clusters with less than a tenth of the average size."""
    n, n_clusters, total = pl.col("n"), pl.col("n_clusters"), pl.col("total")
    return make_finding(
        measured.filter(10 * widen(n) * widen(n_clusters) < widen(total)),
        by,
        9,
        "tiny_cluster",
        severity="note",
        cluster=pl.col("cluster"),
        coordinate=pl.lit(None, pl.Int64),
        n=n,
        value=ratio(n * n_clusters, total),
        finding=pl.format(
            "it has {}, where the average cluster has {}",
            count_as_text(n, "point"),
            whole_as_text(ratio(total, n_clusters)),
        ),
    )
