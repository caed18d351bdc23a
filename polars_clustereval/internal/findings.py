"""findings: what you should know about a clustering of points, in words and numbers."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.base.checks import check_frame, check_partition_keys, key_columns
from polars_clustereval.base.exact import (
    count_as_text,
    decimals_as_text,
    decimals_below,
    percent_as_text,
    ratio,
    widen,
    word_for,
)
from polars_clustereval.base.findings import (
    DOMINANT_SHARE,
    FAR_RATIO,
    LOW_SILHOUETTE,
    are_many,
    findings_on_sizes,
    make_finding,
    mute_noise,
    name_subjects,
    percent_above,
    problem_if,
    severity_of_left_out,
    sort_findings,
    whole_above,
)
from polars_clustereval.base.frames import join_partitions, map_whole, to_user_frame
from polars_clustereval.base.growth import SILHOUETTES
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .centroids import check_point_options
from .distances import LongVectors
from .report import internal_cluster_report
from .shapes import N_NEIGHBORS, cluster_shapes
from .silhouette import silhouette_clusters
from .states import cluster_states
from .two_passes import read_points_in_two_passes
from .vectors import check_vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .centroids import Points
    from .distances import DistanceName
    from .point_silhouettes import MeansMethod
    from .vectors import Missing, Vector

_FINDING_COLUMNS = (
    *("severity", "code", "cluster", "other_cluster", "coordinate"),
    *("n", "value", "finding"),
)
#: The number of standard errors to each limit of a 95 % interval.
_ERRORS = NormalDist().inv_cdf(0.975)


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
        - finding: the text of the finding. It names the clusters that it is about, as that of
          external_findings does.

        The codes are as follows:

        - no_rows, unnamed_noise, unknown_noise, all_singletons, dropped_rows, noise_rows,
          one_cluster and giant_cluster, which have the same meaning as in external_findings.
        - distance_matrix: there are as many coordinates as rows, and the vectors look like the rows
          of a matrix of distances, in any order: each has a 0 and no negative number, at most half
          of all numbers are 0, and the sums and maxima of the rows are those of the coordinates.
          Such a matrix belongs into silhouette_score_from_distances, as a table of pairs. In such a
          partition, low_silhouette and close_clusters are not reported. n is the number of rows.
        - cluster_coordinate: a coordinate, numbered from 1, has one value in each cluster, and no
          two clusters share a value, while other coordinates vary within clusters. The coordinate
          may be made from the clusters. Like dominant coordinates, these are not reported for
          cosine distances or if weights are used.
        - dominant_coordinate: one coordinate, numbered from 1, accounts for more than 90 % of the
          variance within clusters, on average over the points. Several coordinates can do so
          together, if their spreads are at least ten times those of the others, which are at least
          a quarter of the coordinates. Then coordinate is the first of them. value is the share of
          the variance. The finding has the names of coordinates that are columns. In such a
          partition, low_silhouette and close_clusters are not reported, because distances say
          little of the other coordinates. Dominant coordinates are not reported for cosine
          distances or if weights are used.
        - zero_vectors: for cosine distances, some vectors are all zeros, for example where
          embeddings are missing. value is the share of these points, on which the severity depends
          as in dropped_rows.
        - far_point: the farthest point of a cluster is more than 10 times as far from the center as
          the cluster's points are on average. value is the ratio of these distances. For
          sqeuclidean, the square root of the ratio is compared with 10, and value is this root. If
          the distance of this point is more than a tenth of the sum of all, it can lower the
          silhouettes of the others, so low_silhouette and close_clusters are not reported for the
          cluster.
        - low_silhouette: the mean silhouette of a cluster is below 0.25, which Kaufman and
          Rousseeuw interpret as no substantial structure. value is the mean silhouette, and
          other_cluster is the cluster with the nearest center. The finding is a problem if the mean
          silhouette is below 0 and such clusters have at least 5 % of the points. With method
          'sample', the upper limit of the 95 % interval is compared with 0.25 and 0.
        - close_clusters: two clusters have low silhouettes, and the center of each is the nearest
          center to that of the other. value is the larger of their mean silhouettes. Whether a
          merge helps is not computed, so compare the scores of both clusterings.
        - cut_shapes: the clusters contradict the connected parts of the points. Points are linked
          if each is among the 15 nearest of the other, in a sample of at most 1,000 points, drawn
          by random_state and id, and a part is a set of points that links connect. Two clusters
          divide a part, and the first also has points of another part, each with at least 5 points,
          10 % of the part and 10 % of its cluster. K-means does this to rings and other shapes that
          are not round. There is one such finding per partition, of the two clusters with the most
          points. value is the share of the sampled points that the first cluster has in the divided
          part, and n is the number of points of the partition. Parts with less than 2 % of the
          points do not count, and there must not be more parts than clusters. Points with 15 copies
          or more do not count, either, and there is no finding if they are more than 10 %.
        - connected_shapes: some clusters with low silhouettes have a part almost alone (with at
          least 95 % of the part and 95 % of the cluster), like a ring around another cluster, or
          clusters in many dimensions. For these clusters, low_silhouette and close_clusters are not
          reported, because silhouettes and centers say little of them. There is one such finding
          per partition. n is the number of points of these clusters, and value is the share of
          their sampled points in such parts. Like low_silhouette, both kinds of shapes are not
          reported if there is a distance matrix or a dominant coordinate.
        - tiny_cluster: a cluster has less than a tenth of the average size. value is the size of
          the cluster divided by the average size.

        If noise counts as singletons, clusters are compared without noise. If there are no
        findings, the result is empty.

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
    others = {"frame": rows, "partition_by": by or None, "noise_as": noise_of_findings(noise_as)}
    options = pass_arguments_to(check_point_options, **others)
    points = read_points_in_two_passes(rows, vector, cluster, options, results=())
    counts = points.row_counts.rename(points.keys)
    if noise_as == "singletons":
        # Noise is points and clusters, although no cluster is compared with it.
        counts = counts.with_columns(pl.col("n", "n_clusters") + pl.col("n_noise"))
    clusters = pass_arguments_to(internal_cluster_report, **others)
    silhouettes = pass_arguments_to(silhouette_clusters, **others)
    states = pass_arguments_to(cluster_states, **others)
    is_scaled = distance.lower() == "cosine" or weights is not None
    names = check_vector(lazy, vector, pl.lit(True), missing).names
    matrices = find_distance_matrices(points).rename(points.keys)
    shapes = pass_arguments_to(cluster_shapes, **others)
    is_sampled, states = method == "sample", None if is_scaled else states
    ordered = findings_of_reports(
        PointReports(counts, clusters, silhouettes, states, matrices, shapes, is_sampled, names),
        by,
        noise=noise,
        noise_as=noise_as,
        distance=distance,
    )
    return show_whole_texts(to_user_frame(frame, ordered, inner))


class PointReports(NamedTuple):
    """The reports from which the findings are derived, all for the same partitions."""

    counts: pl.LazyFrame
    """The columns n, n_dropped, n_noise and n_clusters of internal_report. If there is a column
    zeros, the number of zero vectors, they are a finding."""
    clusters: pl.LazyFrame
    """The result of internal_cluster_report."""
    silhouettes: pl.LazyFrame | None
    """The columns cluster, silhouette and, if sampled, std_error of silhouette_clusters, or None to
    skip silhouettes."""
    states: pl.LazyFrame | None
    """The result of cluster_states, or None to skip the findings on coordinates."""
    matrices: pl.LazyFrame
    """The result of find_distance_matrices."""
    shapes: pl.LazyFrame
    """The result of cluster_shapes."""
    is_sampled: bool = False
    """Whether the silhouettes are estimated from a sample."""
    names: tuple[str, ...] = ()
    """The names of the coordinates, if each is a column."""


def noise_of_findings(noise_as: NoiseAs | None) -> NoiseAs | None:
    """Return how clusters are compared: no point of noise is the nearest cluster of another."""
    return "drop" if noise_as == "singletons" else noise_as


def findings_of_reports(
    reports: PointReports, by: list[str], *, noise: object, noise_as: str | None, distance: str
) -> pl.LazyFrame:
    """Return the rows of internal_findings, based on reports with the partition columns `by`."""
    row_counts = _points_of_partitions(reports.counts, by, noise_as)
    measured = _join_measures(reports, row_counts, by, is_squared=distance.lower() == "sqeuclidean")
    sizes = measured.select(*by, "cluster", cluster_size="n")
    findings = findings_on_sizes(
        row_counts, sizes, by, noise=noise, unit="point", complement="vector"
    )
    if reports.states is not None:
        dominant = find_dominant_coordinates(_mark_states(reports.states, measured, by), by).cache()
        findings.append(_report_dominant_coordinates(dominant, by, reports.names))
        findings.append(_find_cluster_coordinates(reports.states, by, reports.names))
        measured = join_partitions(measured, by, dominant.select(*by, "places"), how="left")
    findings.append(_report_distance_matrices(reports.matrices, by))
    if "zeros" in row_counts.collect_schema():
        findings.append(_find_zero_vectors(row_counts, by))
    is_unscaled = pl.lit(False) if reports.states is None else pl.col("places").is_not_null()
    measured = join_partitions(measured, by, reports.matrices, how="left")
    # Clusters whose distances say something: not of a column, and not of rows of distances.
    comparable = measured.filter(~is_unscaled, pl.col("n_square").is_null())
    # Low silhouettes that are not those of a point.
    uncertain = comparable.filter(
        pl.col("n") > 1, pl.col("upper") < LOW_SILHOUETTE, ~pl.col("is_distorted")
    )
    low = uncertain.filter(~pl.col("is_connected"))
    findings += [
        _find_cut_shapes(comparable, by),
        _find_connected_shapes(uncertain.filter("is_connected"), by),
        _find_low_silhouettes(low, by),
        _find_close_clusters(low, by),
        _find_far_points(measured, by),
        _find_tiny_clusters(measured, by),
    ]
    ordered = sort_findings(findings, by, ("cluster", "coordinate"))
    if noise is None:
        ordered = mute_noise(ordered, ("cluster", "other_cluster"))
    named = name_subjects(ordered, ("cluster", "other_cluster"))
    return named.select(*by, *_FINDING_COLUMNS)


def _points_of_partitions(
    counts: pl.LazyFrame, by: list[str], noise_as: str | None
) -> pl.LazyFrame:
    """Return the row counts that findings_on_sizes needs, computed from internal_report."""
    dropped = pl.col("n_noise") if noise_as == "drop" else pl.lit(0)
    total = pl.col("n").alias("total")
    zeros = [name for name in counts.collect_schema() if name == "zeros"]
    return counts.select(
        *by, total, "n_dropped", "n_noise", "n_clusters", *zeros, total_noise=pl.col("n") + dropped
    ).cache()


def _join_measures(
    reports: PointReports, row_counts: pl.LazyFrame, by: list[str], *, is_squared: bool
) -> pl.LazyFrame:
    """Return the values used in the findings, with one row per cluster and no noise singletons."""
    # The report is sorted, so row numbers have its order. Lists and structs could not be compared.
    named = reports.clusters.filter(pl.col("cluster").is_not_null())
    farness = farness_of("max_distance", "mean_distance", is_squared=is_squared)
    clusters = named.drop("centroid").with_columns(farness=farness)
    clusters = clusters.with_row_index("number")
    error = pl.col("std_error") if reports.is_sampled else pl.lit(0.0)
    # From the same input, two engines may read the clusters as different types.
    dtype = clusters.collect_schema()["cluster"]
    if reports.silhouettes is None:
        joined = clusters.with_columns(silhouette=pl.lit(None, pl.Float64), error=error)
    else:
        spreads = reports.silhouettes.select(
            *by, pl.col("cluster").cast(dtype), "silhouette", error=error
        )
        joined = clusters.join(spreads, on=[*by, "cluster"], how="left", nulls_equal=True)
    shapes = reports.shapes.with_columns(pl.col("cluster", "cut_cluster").cast(dtype))
    joined = joined.join(shapes, on=[*by, "cluster"], how="left", nulls_equal=True)
    joined = joined.with_columns(
        is_connected=_is_connected(),
        lower=pl.col("silhouette") - _ERRORS * pl.col("error"),
        upper=pl.col("silhouette") + _ERRORS * pl.col("error"),
        is_distorted=is_distorted(pl.col("farness")),
    )
    return join_partitions(joined, by, row_counts.select(*by, "total", "n_clusters")).cache()


def farness_of(farthest: str, mean: str, *, is_squared: bool) -> pl.Expr:
    """Return how many times as far as the points on average the farthest is from the center."""
    farness = ratio(pl.col(farthest), pl.col(mean))
    # For squared distances, the root of the ratio is the ratio of lengths.
    return farness.sqrt() if is_squared else farness


def is_distorted(farness: pl.Expr) -> pl.Expr:
    """Return whether the largest distance in a cluster of n points is above a tenth of the sum."""
    return ((farness > FAR_RATIO) & (10 * farness > pl.col("n"))).fill_null(value=False)


def _is_connected() -> pl.Expr:
    """Return whether the neighbors of a cluster's points are its own, by a row of cluster_shapes.

    Without two parts, this says nothing.
    """
    n, n_own = pl.col("n_sampled"), pl.col("n_own")
    is_own = (20 * n_own >= 19 * n) & (n > N_NEIGHBORS) & (pl.col("n_parts") > 1)
    return is_own.fill_null(value=False)


def silhouette_as_text(silhouette: pl.Expr, lower: pl.Expr, upper: pl.Expr) -> pl.Expr:
    """Return the mean silhouette of a poorly separated cluster as text.

    `lower` and `upper` are the limits of its interval, which differ only for a sample.
    """

    def below(x: pl.Expr) -> pl.Expr:
        low = decimals_below(x, LOW_SILHOUETTE)
        return pl.when(upper < 0).then(decimals_below(x, 0)).otherwise(low)

    interval = pl.format(
        " (of a sample; 95 % interval {} to {})", decimals_as_text(lower), below(upper)
    )
    is_sampled = lower < upper
    return pl.concat_str(
        below(silhouette), pl.when(is_sampled).then(interval).otherwise(pl.lit(""))
    )


def _text_of(prefix: str = "") -> pl.Expr:
    """Return the text of the mean silhouette in the columns that begin with `prefix`."""
    return silhouette_as_text(*(pl.col(f"{prefix}{x}") for x in ("silhouette", "lower", "upper")))


def _find_low_silhouettes(low: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about clusters with a low mean silhouette."""
    n, is_negative = pl.col("n"), pl.col("upper") < 0
    partition = [pl.col(name) for name in by] or [pl.lit(0)]
    n_negative = pl.when(is_negative).then(n).otherwise(0).sum().over(partition)
    reason = (
        pl.when(is_negative)
        .then(pl.lit("they are nearer to another cluster than to each other"))
        .otherwise(pl.lit("it is hardly set apart from the clusters around it"))
    )
    return make_finding(
        low.with_columns(n_negative=n_negative),
        by,
        5,
        "low_silhouette",
        severity=problem_if(is_negative & are_many(pl.col("n_negative"), pl.col("total"))),
        cluster=pl.col("cluster"),
        other_cluster=pl.col("nearest_cluster"),
        n=n,
        value=pl.col("silhouette"),
        finding=pl.format(
            "the mean silhouette of its {} is {}: {}", count_as_text(n, "point"), _text_of(), reason
        ),
    )


def _find_close_clusters(low: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about pairs of clusters that are hardly set apart."""
    others = low.select(
        *by,
        nearest_cluster="cluster",
        cluster="nearest_cluster",
        **{f"other_{name}": name for name in ("number", "n", "silhouette", "lower", "upper")},
    )
    pairs = low.join(others, on=[*by, "cluster", "nearest_cluster"], nulls_equal=True)
    return make_finding(
        pairs.filter(pl.col("number") < pl.col("other_number")),
        by,
        6,
        "close_clusters",
        severity="warning",
        cluster=pl.col("cluster"),
        other_cluster=pl.col("nearest_cluster"),
        n=pl.col("n") + pl.col("other_n"),
        value=pl.max_horizontal("silhouette", "other_silhouette"),
        finding=pl.format(
            "each is the nearest to the other, and their mean silhouettes are {} and {}: they are "
            "hardly set apart",
            _text_of(),
            _text_of("other_"),
        ),
    )


def _find_cut_shapes(measured: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about clusters that contradict the connected parts of the points."""
    return make_finding(
        measured.filter(pl.col("cut_cluster").is_not_null()),
        by,
        4,
        "cut_shapes",
        severity="warning",
        cluster=pl.col("cluster"),
        other_cluster=pl.col("cut_cluster"),
        n=pl.col("total"),
        value=pl.col("cut_share"),
        finding=pl.format(
            "they divide one of the {} connected parts of the points, although the first also has "
            "points of another part: centers do this to shapes that are not round, or if there are "
            "too few clusters; compare the clusters of DBSCAN, HDBSCAN or single linkage, by "
            "dunn_index or density_based_validity",
            "n_parts",
        ),
    )


def _find_connected_shapes(connected: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return a finding for each partition that has connected clusters of low silhouettes."""
    sums = connected.group_by(*by, "n_clusters").agg(
        pl.col("n", "n_own", "n_sampled").sum(), count=pl.len()
    )
    count, share = pl.col("count"), ratio(pl.col("n_own"), pl.col("n_sampled"))
    return make_finding(
        sums,
        by,
        7,
        "connected_shapes",
        severity="note",
        n=pl.col("n"),
        value=share,
        finding=pl.format(
            "{} of {} clusters {}, but nearest neighbors connect {} of {}, and hardly any with "
            "other clusters: centers and silhouettes say little of clusters that are not round or "
            "have many dimensions; judge them with dunn_index, density_based_validity and "
            "neighborhood_report",
            count,
            "n_clusters",
            word_for(count, "has a low silhouette", "have low silhouettes"),
            percent_as_text(share),
            word_for(count, "its points within the cluster", "their points within their cluster"),
        ),
    )


def _find_zero_vectors(row_counts: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return a finding for each partition that has zero vectors."""
    n, total = pl.col("zeros"), pl.col("total")
    return make_finding(
        row_counts.filter(n > 0),
        by,
        0,
        "zero_vectors",
        severity=severity_of_left_out(n, total),
        n=n,
        value=ratio(n, total),
        finding=pl.format(
            "{} {} cosine distance to every other one is 1; if zeros stand for a missing vector, "
            "make it NULL, so that such rows are left out",
            count_as_text(n, "vector"),
            word_for(n, "is zero: its", "are zero: their"),
        ),
    )


def may_be_square() -> pl.Expr:
    """Return whether a row of internal_report tells of about as many rows as coordinates."""
    most = pl.sum_horizontal("n", "n_dropped", "n_noise")
    return (pl.col("n_dims") > 3) & pl.col("n_dims").is_between(pl.col("n"), most)


def find_distance_matrices(points: Points) -> pl.LazyFrame:
    """Return one row per partition: n_square, if its vectors look like the rows of distances.

    n_square is the number of rows and of coordinates, or NULL. Vectors are read only in partitions
    with about as many rows as coordinates; see internal_findings for the other conditions.
    """
    keys = points.partition_keys
    schema = points.rows.select(*keys, n_square=pl.lit(0, pl.Int64)).collect_schema()

    def find(counts: pl.DataFrame) -> pl.DataFrame:
        """Return the partitions of row_counts, with the columns of `schema`."""
        parts = counts.with_row_index("part").with_columns(n_square="n_dims")
        candidates = parts.filter(may_be_square()).select("part", *keys, "n_square")
        found = _find_square(points, candidates) if candidates.height else []
        is_found = pl.col("part").is_in(found)
        return parts.with_columns(n_square=pl.when(is_found).then("n_dims")).select(schema.names())

    return map_whole(points.row_counts, find, schema)


def _find_square(points: Points, parts: pl.DataFrame) -> list[int]:
    """Return the numbers `part` of those `parts` whose vectors look like rows of distances."""
    form, keys = points.form, points.partition_keys
    raw = [x.cast(pl.Float64) for x in form.coordinates("raw_x")]
    if isinstance(form, LongVectors):
        raw = [pl.col("raw_x").cast(pl.List(pl.Float64))]
    x, n = pl.col("x"), pl.col("n_square").first()
    rows = points.rows.filter("has_vector").select(*keys, "length", x=pl.concat_list(raw))
    # A row without its first coordinate lacks a vector, or raises an error if it is scored.
    rows = join_partitions(rows, keys, parts.lazy()).filter(
        x.list.first().is_not_null(), pl.col("length") == pl.col("n_square")
    )
    facts = rows.select(
        "part",
        "n_square",
        total=x.list.sum(),
        most=x.list.max(),
        least=x.list.min(),
        n_zeros=x.list.count_matches(0.0).cast(pl.Int64),
    ).collect(engine="streaming")
    is_square = (
        (pl.len() == n)
        & (pl.col("least").min() == 0)
        & (pl.col("least").max() == 0)
        & (2 * pl.col("n_zeros").sum() <= n * n)
    )
    square = facts.group_by("part").agg(is_square=is_square).filter("is_square").select("part")
    if square.is_empty():
        return []
    entries = rows.join(square.lazy(), on="part", how="semi").select(
        "part", "x", place=pl.int_ranges(x.list.len())
    )
    sums = entries.explode("x", "place").group_by("part", "place").agg(total=x.sum(), most=x.max())
    tables = (facts.join(square, on="part", how="semi"), sums.collect(engine="streaming"))
    # Sums and maxima are sorted independently of each other.
    each = [pl.col(name).sort().over("part") for name in ("total", "most")]
    of_rows, of_columns = (table.sort("part").select("part", *each) for table in tables)
    # The order of sums differs, so that their rounding errors do.
    is_same = pl.all_horizontal(
        (of_rows[name] - pl.col(name)).abs() <= 1e-9 * pl.col(name) for name in ("total", "most")
    )
    compared = of_columns.with_columns(is_same=is_same)
    return (
        compared.group_by("part").agg(pl.col("is_same").all()).filter("is_same")["part"].to_list()
    )


def distance_matrix_as_text() -> pl.Expr:
    """Return what to know about the n_square vectors of find_distance_matrices as text."""
    return pl.format(
        "the vectors of {} points have {} coordinates and look like the rows of a matrix of "
        "distances, but scores of vectors are not those of distances: make a table of pairs, with "
        "distances_from_matrix in Python or UNPIVOT in SQL, for silhouette_score_from_distances",
        "n_square",
        "n_square",
    )


def _report_distance_matrices(matrices: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about vectors that look like the rows of a matrix of distances."""
    return make_finding(
        matrices.filter(pl.col("n_square").is_not_null()),
        by,
        -2,
        "distance_matrix",
        severity="problem",
        n=pl.col("n_square"),
        finding=distance_matrix_as_text(),
    )


def _find_far_points(measured: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the findings about clusters that have a point very far from the center."""
    farness = pl.col("farness")
    return make_finding(
        measured.filter(farness > FAR_RATIO),
        by,
        3,
        "far_point",
        severity="warning",
        cluster=pl.col("cluster"),
        n=pl.col("n"),
        value=farness,
        finding=pl.format(
            "its farthest point is {} times as far from the center as its points are on average",
            whole_above(farness, pl.lit(FAR_RATIO)),
        ),
    )


def _mark_states(states: pl.LazyFrame, measured: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the states of clusters with points, with the column is_distorted of `measured`."""
    key = pl.col("cluster").cast(measured.collect_schema()["cluster"])
    flags = measured.select(*by, "cluster", "is_distorted")
    marked = states.filter(pl.col("n") > 0).with_columns(key)
    return marked.join(flags, on=[*by, "cluster"], how="left", nulls_equal=True)


def find_dominant_coordinates(states: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return one row per partition, with n, n_dims, and the coordinates that hold most variance.

    `states` has a row per cluster with n, m2, the list of sums of squares by coordinate, and
    is_distorted, which tells that its variance is that of one far point: it does not count. The
    coordinates are `places`, numbers from 1, and hold the `share` of the variance within clusters,
    an average over the points, so that no bad cluster decides alone. Either one of them holds more
    than 90 %, or several do whose spreads are at least ten times those of the others that vary,
    which are at least a quarter. Both columns are NULL if there are none.
    """
    n, m2 = pl.col("n"), pl.col("m2")
    counted = pl.when(~pl.col("is_distorted").fill_null(value=False)).then(
        n * ratio(m2, pl.col("total"))
    )
    variances = (
        states.select(
            *by,
            "n",
            "m2",
            "is_distorted",
            total=m2.list.sum(),
            coordinate=pl.int_ranges(1, m2.list.len() + 1),
        )
        .explode("coordinate", "m2")
        .group_by(*by, "coordinate")
        .agg(n.sum(), squares=counted.sum())
    )
    squares = pl.col("squares").sort(descending=True)
    ordered = pl.col("coordinate").sort_by("squares", "coordinate", descending=[True, False])
    place, share = pl.int_range(1, pl.len() + 1), ratio(squares.cum_sum(), squares.sum())
    following, n_varying = squares.shift(-1), (squares > 0).sum().cast(pl.Int64)
    is_gap = (following > 0) & (squares >= 100 * following)
    is_cut = (place == 1) | (is_gap & (4 * (n_varying - place) >= n_varying))
    n_dominant = place.filter(is_cut & (place < n_varying) & (share > DOMINANT_SHARE)).min()
    columns = {
        "n": pl.col("n").first(),
        "n_dims": pl.len().cast(pl.Int64),
        "places": ordered.filter(place <= n_dominant).sort().cast(pl.Int64),
        "share": share.filter(place == n_dominant).first(),
    }
    # Without partitions, no points are no row, as in the report by cluster.
    grouped = variances.group_by(by or pl.lit(0).alias("all")).agg(**columns)
    return grouped.with_columns(pl.when(pl.col("share").is_not_null()).then("places"))


def _coordinates_as_text(places: pl.Expr, names: tuple[str, ...]) -> pl.Expr:
    """Return a list of coordinates, numbers from 1, as text: '1, 2 of 3 (x, y)'."""
    more = pl.when(places.list.len() > 5).then(pl.lit(", …")).otherwise(pl.lit(""))

    def join(texts: pl.Expr) -> pl.Expr:
        return pl.concat_str(texts.list.join(", "), more)

    first = places.list.head(5)
    known = pl.lit(pl.Series([names], dtype=pl.List(pl.String)))
    # Before Polars 2.1, NULL alone as places makes a list without a type.
    indices = (first - 1).fill_null([])
    named = pl.format(" ({})", join(known.list.gather(indices))) if names else pl.lit("")
    return pl.format("{} of {}{}", join(first.cast(pl.List(pl.String))), pl.col("n_dims"), named)


def dominant_as_text(names: tuple[str, ...]) -> pl.Expr:
    """Return what to know about the coordinates of find_dominant_coordinates as text."""
    is_one = pl.col("places").list.len() == 1
    return pl.format(
        "{} {} {} {} of the variance within clusters, so distances say little of the other "
        "coordinates: pass the columns that were clustered on, such as scaled ones",
        pl.when(is_one).then(pl.lit("coordinate")).otherwise(pl.lit("coordinates")),
        _coordinates_as_text(pl.col("places"), names),
        pl.when(is_one).then(pl.lit("holds")).otherwise(pl.lit("hold")),
        percent_above(pl.col("share"), DOMINANT_SHARE),
    )


def _report_dominant_coordinates(
    dominant: pl.LazyFrame, by: list[str], names: tuple[str, ...]
) -> pl.LazyFrame:
    """Return the findings about coordinates that account for nearly all within-cluster variance."""
    return make_finding(
        dominant.filter(pl.col("places").is_not_null()),
        by,
        2,
        "dominant_coordinate",
        severity="warning",
        coordinate=pl.col("places").list.first(),
        n=pl.col("n"),
        value=pl.col("share"),
        finding=dominant_as_text(names),
    )


def _find_cluster_coordinates(
    states: pl.LazyFrame, by: list[str], names: tuple[str, ...]
) -> pl.LazyFrame:
    """Return the findings about coordinates with one value in each cluster, where others vary."""
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
            "coordinate {} has one value in each cluster, which no other cluster has: is it made "
            "from the cluster?",
            _coordinates_as_text(pl.concat_list(coordinate), names),
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
            whole_above(ratio(total, n_clusters), 10 * n),
        ),
    )
