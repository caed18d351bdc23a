"""assignment: assigns each point to the nearest of several centers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    check_column,
    check_column_names,
    check_frame,
    check_is_frame,
    key_columns,
    show_value,
)
from polars_clustereval.base.deferral import collect_now, reading_memory
from polars_clustereval.base.frames import join_small, to_user_frame
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.centroids import Points, check_point_options, read_points
from polars_clustereval.internal.kernels.center_neighbors import nearest_centers
from polars_clustereval.internal.kernels.distance_blocks import DISTANCES_PER_BLOCK, TargetPoints
from polars_clustereval.internal.kernels.streams import map_stream, split_batch
from polars_clustereval.internal.vectors import Missing, Vector, check_vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from polars_clustereval.internal.distances import DistanceName
    from polars_clustereval.internal.kernels.arrays import Floats, Integers

# ----------------------------------------------------------------------------------------------
# Centers
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Centers:
    """The k centers to which points can be assigned, sorted by partition and cluster."""

    #: The partition columns (inner names) and cluster of each center.
    table: pl.DataFrame
    #: (k, d): the centers in the form that distances use: multiplied by the factors of the weights,
    #: and for cosine scaled to length 1.
    vectors: Floats
    #: The partition columns of each partition that has centers, and `place`, its number from 0.
    places: pl.DataFrame
    #: The number of the first center of each partition.
    starts: list[int]
    #: The error for invalid centers, which is raised only if there are points; else None.
    fault: ClusterEvalError | None

    def vectors_of(self, place: int) -> Floats:
        """Return the centers of partition number `place`, as an array of shape (k, d)."""
        stop = [*self.starts, len(self.vectors)][place + 1]
        return self.vectors[self.starts[place] : stop]


def _read_centers(centroids: pl.DataFrame | pl.LazyFrame, points: Points) -> _Centers:
    """Collect the user's frame `centroids`, without rows that have no cluster or no centroid."""
    lazy = _check_centroids(centroids, points)
    keys, form = points.partition_keys, points.form
    present = lazy.filter(pl.col("cluster").is_not_null() & pl.col("centroid").is_not_null())
    present = present.select(*key_columns(points.keys), "cluster", "centroid")
    # The centers in a DataFrame are already known when the plan is made.
    rows = collect_now(present) if isinstance(centroids, pl.LazyFrame) else present.collect()
    rows = rows.sort(*keys, "cluster", nulls_last=True)
    places = rows.select(keys).unique(maintain_order=True).with_row_index("place")
    places = places.with_columns(pl.col("place").cast(pl.Int64))
    starts = rows.with_row_index("start").group_by(keys, maintain_order=True) if keys else None
    firsts = [0] if starts is None else starts.agg(pl.col("start").first())["start"].to_list()
    table = rows.drop("centroid")
    fault = _center_fault(rows["centroid"], form.dims)
    if fault is not None or not rows.height:
        return _Centers(table, np.zeros((0, form.dims)), places, firsts, fault)
    with reading_memory():
        coordinates = check_vector(rows.lazy(), "centroid", pl.lit(True))
    scaled = form.add_points(rows.lazy().select(form.raw_columns(coordinates))).collect()
    return _Centers(table, form.to_matrix(scaled, "x"), places, firsts, None)


def _check_centroids(centroids: pl.DataFrame | pl.LazyFrame, points: Points) -> pl.LazyFrame:
    """Return the user's frame `centroids`, or raise an error if a column is missing or invalid."""
    lazy = check_is_frame(centroids, "centroids")
    schema = lazy.collect_schema()
    check_column_names(["cluster", "centroid", *points.keys.values()], "centroids", schema.names())
    dtype = schema["centroid"]
    inner = dtype.inner if isinstance(dtype, pl.List | pl.Array) else None
    if not (isinstance(inner, pl.DataType) and inner.is_numeric()):
        raise ClusterEvalError(
            f"centroids: expected lists of numbers in the column centroid, got {dtype}"
        )
    return lazy


def _center_fault(vectors: pl.Series, dims: int) -> ClusterEvalError | None:
    """Return an error if the centers do not match points with `dims` coordinates, or else None."""
    lists = vectors.cast(pl.List(pl.Float64))
    lengths = lists.list.len().filter(lists.list.len() != dims)
    if lengths.len():
        return ClusterEvalError(
            f"centroids: expected vectors of {dims} coordinates, as the points have, "
            f"got {show_value(lengths.min())}"
        )
    for i in range(dims):
        x = lists.list.get(i)
        wrong = x.filter(~x.is_finite().fill_null(False))
        if wrong.len():
            return ClusterEvalError(
                f"centroids: expected finite numbers, got {show_value(wrong[0])} "
                f"in coordinate {i + 1}"
            )
    return None


# ----------------------------------------------------------------------------------------------
# Assignment
# ----------------------------------------------------------------------------------------------


def assigned_points(
    points: Points, centroids: pl.DataFrame | pl.LazyFrame, columns: Sequence[str]
) -> pl.LazyFrame:
    """Return each kept point with `columns`, the nearest center of its partition and its distance.

    The column nearest contains a cluster of the user's frame `centroids`; in a tie, the lowest one.
    The points are streamed.
    """
    keys, centers = points.partition_keys, _read_centers(centroids, points)
    rows = points.kept_rows.select(*keys, *columns, *points.form.columns("x"))
    if keys:
        rows = join_small(rows, keys, centers.places.lazy(), "left")
    clusters = centers.table["cluster"]

    def assign_to_nearest(batch: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the result for a batch of points."""
        numbers, distances = _assign_batch(batch, points, centers)
        return batch.select(
            *keys,
            *columns,
            nearest=clusters.gather(numbers),
            distance=pl.Series(distances, dtype=pl.Float64),
        )

    schema = rows.select(*keys, *columns).collect_schema()
    results = {"nearest": clusters.dtype, "distance": pl.Float64()}
    return map_stream(rows, assign_to_nearest, pl.Schema({**schema, **results}))


def _assign_batch(
    batch: pl.DataFrame, points: Points, centers: _Centers
) -> tuple[Integers, Floats]:
    """Return the rows (m,) of the nearest centers of m points in centers.table, and the distances.

    Raises the errors of invalid points and centers. The batch contains the
    vectors x and, if there are partition columns, the column place.
    """
    numbers, distances = np.zeros(batch.height, np.int64), np.zeros(batch.height)
    if not batch.height:
        return numbers, distances
    _check_places(batch, points, centers)
    x = points.form.to_matrix(batch, "x")
    if not np.isfinite(x).all():
        raise points.fault_error()
    if centers.fault is not None:
        raise centers.fault
    places = batch["place"].to_numpy() if points.keys else numbers
    n_centers = np.diff([*centers.starts, len(centers.vectors)])
    steps = [max(1, DISTANCES_PER_BLOCK // int(k)) for k in n_centers]
    with np.errstate(all="ignore"):
        for rows, place in split_batch(places, range(len(steps)), steps):
            vectors = TargetPoints(centers.vectors_of(place), points.distance)
            nearest, distances[rows] = nearest_centers(x[rows], vectors)
            numbers[rows] = centers.starts[place] + nearest
    if not np.isfinite(distances).all():
        raise points.fault_error()
    return numbers, distances


def _check_places(batch: pl.DataFrame, points: Points, centers: _Centers) -> None:
    """Raise an error if the partition of a point in the batch has no center."""
    lacking = batch.filter(pl.col("place").is_null()) if points.keys else batch
    if not lacking.height or (not points.keys and centers.table.height):
        return
    shown = [show_value(lacking[key][0]) for key in points.keys] or ["NULL"]
    raise ClusterEvalError(
        "centroids: expected a row for each partition of the points, got none for "
        f"{', '.join(shown)}; give the same partition_by to both tables"
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("centers", guide="held_out", order=("id",))
def assign_nearest(
    frame: Frame,
    vector: Vector,
    centroids: pl.DataFrame | pl.LazyFrame,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
) -> Frame:
    """Assign each point to the nearest given center, as k-means does to predict clusters.

    You can use the centers of an existing clustering to assign new points to its clusters.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to assign, one per row. A LazyFrame is streamed when you collect the result. A
        List column is read a second time to find the length of its longest list.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that contain the coordinates.
        Rows in which the vector or all of its columns are NULL are left out.
    centroids : DataFrame or LazyFrame
        The centers, in the format returned by the function `centroids`: a column cluster, a column
        centroid with lists of numbers, and the columns of partition_by. Rows without a cluster or a
        centroid are left out. A LazyFrame is collected together with the result.
    id : str or Expr, optional
        Identifier of the point. The default is the row number in the frame, counted from 0.
    partition_by : str, Expr or sequence of these, optional
        Partition columns, which both frames must contain. Each point is assigned to a center in its
        own partition. NULL is also a partition.
    distance, p, weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, with one row per point, sorted by partition and id. The columns are
        the partition columns, id, cluster and distance. The column cluster contains the cluster of
        the nearest center. In a tie, it contains the lowest of the tied clusters. The column
        distance contains the distance from the point to that center, which is never negative.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, if vector or centroid does not contain numbers, or if an option
        is unknown. When you collect the result, an error is raised if a partition has no center, if
        centers and points have different numbers of coordinates, or if a coordinate is NULL, NaN or
        infinite.

    Notes
    -----
    In SQL: ``FROM clustereval.assign_nearest(tbl, [x, y], centroids)``.

    References
    ----------
    Lloyd (1982), Least squares quantization in PCM, doi:10.1109/TIT.1982.1056489.

    Examples
    --------
    >>> centers = pl.DataFrame({"cluster": ["a", "b"], "centroid": [[0.0, 0.0], [4.0, 0.0]]})
    >>> points = pl.DataFrame({"x": [1, 3, 2], "y": [0, 0, 0]})
    >>> ce.assign_nearest(points, ["x", "y"], centers).rows()
    [(0, 'a', 1.0), (1, 'b', 1.0), (2, 'a', 2.0)]
    """
    options = pass_arguments_to(check_point_options)
    row_id: Any = "number" if id is None else check_column(check_frame(frame), id, "id").alias("id")
    points = read_points(
        frame,
        vector,
        pl.lit(0),
        options,
        results=("id", "cluster", "distance"),
        row_id=row_id,
        needs_origins=False,
    )
    rows = assigned_points(points, centroids, ["id"])
    rows = rows.rename({"nearest": "cluster"}).sort(*points.keys, "id", nulls_last=True)
    return to_user_frame(frame, rows, points.keys)
