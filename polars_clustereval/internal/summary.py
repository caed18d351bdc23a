"""summary: the indices of internal_report one below the other, for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.frames import list_meanings, to_user_frame
from polars_clustereval.base.score_facts import entries_of
from polars_clustereval.base.tables import table_function

from .centroids import check_point_options, read_points
from .report import report_of_clusters
from .scatter import internal_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .distances import Center, DistanceName
    from .vectors import Missing, Vector


@table_function("points", guide="internal", order=("metric",))
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
) -> Frame:
    """The indices of internal_report in long form, with the best value and the meaning of each.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one per row. A LazyFrame is read when the result is collected, and
        streams; the greatest length of a List column is looked up at once.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (for several columns: where all are) are left out.
    cluster : str or Expr
        Cluster assigned to each point. Rows where it is NULL are left out.
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        scipy's distances, in any letter case. A zero vector has the cosine distance 1 to all.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        Definition of a centroid, per coordinate; for cosine the direction of the mean or median of
        the unit vectors. The median needs all points of a cluster in memory.
    partition_by : str, Expr or sequence of these, optional
        Columns whose groups are evaluated separately. NULL is a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}, needed with noise
        Count noise as an ordinary cluster, leave it out, or count each row as a cluster.
    weights : sequence of float, optional
        A number > 0 for each dimension, as in scipy; not for chebyshev.
    missing : {'error', 'drop'}
        Whether a vector with a NULL coordinate is an error, or its row is left out.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition and index, sorted by partition and in the
        order of internal_report: the partition columns, metric (the name of the index), value (NULL
        if undefined), best (its best value as text: a number, 'high' or 'low'; NULL if none is
        best) and meaning (what it measures, in a few words). If there are no rows, every value is
        NULL; with partition_by there is then no row.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    The indices, their ranges and sources: see docs/internal.md.
    In SQL: ``FROM clustereval.internal_summary(tbl, [x, y], cluster)``.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> summary = ce.internal_summary(four, ["x", "y"], "cluster")
    >>> summary.filter(pl.col("metric") == "ssw").row(0)
    ('ssw', 10.0, 'low', 'within: points to their own centroid')
    """
    options = check_point_options(
        distance=distance,
        p=p,
        center=center,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
        missing=missing,
    )
    points = read_points(frame, vector, cluster, options, results=_LONG_COLUMNS)
    scores = internal_scores(pl.col, squares_add_up=points.squares_add_up)
    names = list(points.keys)
    report = report_of_clusters(points, scores).select(*names, *scores)
    long = report.unpivot(index=names, variable_name="metric", value_name="value")
    meanings = list_meanings(entries_of("internal_report").values())
    rows = points.with_fault_check(long.join(meanings, on="metric"))
    summary = rows.sort(*names, "place", nulls_last=True).select(*names, *_LONG_COLUMNS)
    return to_user_frame(frame, summary, points.keys)


_LONG_COLUMNS = ("metric", "value", "best", "meaning")
