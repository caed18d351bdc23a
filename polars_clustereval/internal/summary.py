"""summary: the indices of internal_report in long form, which is easier to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import choose_terms
from polars_clustereval.base.counts import POINT_COUNTS
from polars_clustereval.base.findings import put_remark, remark_on_noise
from polars_clustereval.base.frames import list_meanings, to_user_frame
from polars_clustereval.base.growth import PAIRS_OF_CENTERS
from polars_clustereval.base.score_facts import entries_of
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.base.text_frame import show_whole_texts

from .centroids import check_point_options
from .distances import LongVectors
from .findings import (
    distance_matrix_as_text,
    dominant_as_text,
    farness_of,
    find_distance_matrices,
    find_dominant_coordinates,
    is_distorted,
)
from .report import report_of_clusters
from .scatter import internal_scores
from .two_passes import read_points_in_two_passes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs
    from polars_clustereval.base.counts import Count
    from polars_clustereval.base.score_facts import Entry

    from .centroids import Points
    from .distances import Center, DistanceName
    from .vectors import Missing, Vector


@table_function("points", guide="internal", order=("metric",), growth=PAIRS_OF_CENTERS)
def internal_summary(
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
    """The columns of internal_report in long form, with the best value and the meaning of each.

    Parameters
    ----------
    frame, vector, cluster, distance, p, center, partition_by, noise : as in internal_report
    noise_as, weights, missing : as in internal_report
    metrics : sequence of str, optional
        Names of the counts and indices to return. By default, all are returned.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row for each combination of partition and index. The rows are
        sorted by partition, and then in the order of internal_report. The rows of n, n_dropped,
        n_noise, n_dims, n_clusters and n_singletons come first. The columns are the partition
        columns, followed by these columns:

        - metric: the name of the count or index.
        - value: the value of the index, or NULL if it is undefined.
        - best: the best value as text, which is a number, 'high' or 'low', or NULL if no value is
          best.
        - meaning: what the index measures, in a few words. In the row of n_noise, it is a remark if
          a cluster looks like noise, as in internal_findings, or if no row has the cluster `noise`.
          In the row of n_dims, it is the finding dominant_coordinate if there is one.
        - family: the kind of index, as in describe, or 'counts'.

        Without partition_by, every index is NULL if there are no rows. With partition_by, the
        result is empty if there are no rows.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report.

    Notes
    -----
    To see the definition, the range and the source of an index, call ``describe`` with its name, as
    in ``describe("ssw")``.
    In SQL: ``FROM clustereval.internal_summary(tbl, [x, y], cluster)``.

    Examples
    --------
    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> summary = ce.internal_summary(four, ["x", "y"], "cluster")
    >>> summary.filter(pl.col("metric") == "ssw").row(0)
    ('ssw', 10.0, 'low', 'squared distances of points to own centroid', 'sums of squares')
    """
    options = pass_arguments_to(check_point_options)
    points = read_points_in_two_passes(frame, vector, cluster, options, results=_LONG_COLUMNS)
    known = internal_scores(pl.col, squares_add_up=points.squares_add_up)
    facts: dict[str, Count | Entry] = {**POINT_COUNTS, **entries_of("internal_report")}
    chosen = choose_terms({name: pl.col(name) for name in facts} | known, metrics)
    names = list(points.keys)
    report = report_of_clusters(points, {x: known[x] for x in chosen if x in known})
    values = report.select(*names, pl.col(*chosen).cast(pl.Float64))
    long = values.unpivot(index=names, variable_name="metric", value_name="value")
    meanings = list_meanings(facts[name] for name in chosen)
    counts = points.row_counts.rename({"n": "total"})
    clusters = points.spreads.filter(pl.col("n") > 0).select(*names, "cluster", cluster_size="n")
    rows = points.with_fault_check(long.join(meanings, on="metric"))
    rows = remark_on_noise(rows, names, counts, clusters, noise=noise, unit="point")
    if points.distance.name != "cosine" and weights is None:
        rows = _remark_on_coordinates(rows, points)
    found = find_distance_matrices(points).select(*names, remark=distance_matrix_as_text())
    rows = put_remark(rows, names, "n_dims", found)
    summary = rows.sort(*names, "place", nulls_last=True).select(*names, *_LONG_COLUMNS)
    return show_whole_texts(to_user_frame(frame, summary, points.keys))


def _remark_on_coordinates(summary: pl.LazyFrame, points: Points) -> pl.LazyFrame:
    """Return the summary, where n_dims has a remark if few coordinates hold most variance."""
    is_squared = points.distance.name == "sqeuclidean"
    farness = farness_of("radius", "mean_distance", is_squared=is_squared)
    is_long = isinstance(points.form, LongVectors)
    v = pl.col("v").arr.to_list() if is_long else pl.concat_list(points.form.columns("v"))
    states = points.clusters.select(
        *points.keys, "n", m2=pl.col("n") * v, is_distorted=is_distorted(farness)
    )
    dominant = find_dominant_coordinates(states, points.partition_keys)
    found = dominant.select(*points.keys, remark=dominant_as_text(points.names))
    return put_remark(summary, points.partition_keys, "n_dims", found)


_LONG_COLUMNS = ("metric", "value", "best", "meaning", "family")
