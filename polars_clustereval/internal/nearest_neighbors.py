"""nearest_neighbors: the exact nearest neighbors of each point, for the tables of neighborhoods."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    check_column,
    check_frame,
    raise_on_collect,
)
from polars_clustereval.base.frames import to_user_frame
from polars_clustereval.base.growth import ALL_PAIRS
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .centroids import Points, check_point_options, read_points
from .kernels.distance_blocks import distance_blocks
from .kernels.pair_ranks import rank_keys
from .kernels.partitions import Partition, map_partitions
from .kernels.small_partitions import pair_distances
from .pairwise import check_whole_number, scale_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .distances import DistanceName
    from .kernels.arrays import Floats
    from .vectors import Missing, Vector

#: A relative tolerance that exceeds the rounding errors of distances by products of matrices.
_PRODUCT_TOLERANCE = 1e-9


def _check_rows(rows: pl.LazyFrame, points: Points, max_points: int) -> pl.LazyFrame:
    """Return the points `rows` with checks that run before any distances are computed."""

    def check_facts(facts: pl.DataFrame) -> None:
        """Raise an error if a partition has more than max_points points, or if an id is NULL."""
        n, n_missing = facts.row(0)
        if n > max_points:
            raise ClusterEvalError(
                f"max_points: expected at most {max_points} points in a partition, got {n} "
                f"({n * (n - 1) // 2} pairs); raise max_points, or take the neighbors from an "
                "index such as that of vss or faiss"
            )
        if n_missing:
            raise ClusterEvalError(
                f"id: expected a value in every row, got NULL in {n_missing} rows; leave out these "
                "rows, or leave out id to number the rows from 0"
            )

    largest = points.row_counts.select(pl.col("n").max().fill_null(0))
    missing = points.kept_rows.select(pl.col("id").null_count())
    facts = pl.concat([largest, missing], how="horizontal")
    return points.with_id_check(raise_on_collect(points.with_fault_check(rows), facts, check_facts))


def _nearest_of(part: Partition, points: Points, n_neighbors: int) -> pl.DataFrame:
    """Return the rows of nearest_neighbors for the points of a partition, without its keys."""
    # Points in the order of their ids have numbers that break ties.
    order = part.rows.select(pl.col("id").arg_sort()).to_series().to_numpy()
    x, k = scale_points(part.x[order], points), min(n_neighbors, len(order) - 1)
    ids = part.rows["id"].gather(order)
    i, j, distances = find_neighbors(x, points, k)
    return pl.DataFrame(
        {
            "id": ids.gather(i),
            "neighbor": ids.gather(j).rename("neighbor"),
            "rank": np.tile(np.arange(1, k + 1), i.size // k if k > 0 else 0),
            "distance": distances,
        }
    )


def find_neighbors(x: Floats, points: Points, k: int) -> tuple[Any, ...]:
    """Return the points i (q,), in their order, their k nearest neighbors j, and the distances.

    `x` (m, d) is the result of scale_points. In a tie, the earlier point is nearer.
    """
    found: list[tuple[Any, ...]] = []
    if k > 0:
        for rows, d in distance_blocks(np.ascontiguousarray(x), x, points.distance):
            found.append(_nearest_of_block(x, rows.start, d, points, k))
    empty = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    return tuple(np.concatenate(parts) for parts in zip(*(found or empty), strict=True))


def _nearest_of_block(x: Floats, start: int, d: Floats, points: Points, k: int) -> tuple[Any, ...]:
    """Return the points i from number `start`, their k neighbors j, and their distances.

    `d` (m, n) holds the distances of m points, up to rounding errors. Those that may be among the k
    smallest are computed again, such that equal differences of coordinates have equal distances.
    """
    own = np.arange(len(d))
    d[own, start + own] = np.inf
    reach = np.partition(d, k - 1, axis=1)[:, k - 1 : k]
    i, j = np.nonzero(d <= reach * (1 + _PRODUCT_TOLERANCE) + _PRODUCT_TOLERANCE * (reach == 0))
    is_other = j != start + i
    i, j = i[is_other] + start, j[is_other]
    exact = pair_distances(x, i, x, j, points.distance)
    order = np.lexsort((j, rank_keys(exact, points.distance), i))
    i, j, exact = i[order], j[order], exact[order]
    firsts = np.searchsorted(i, start + own)
    chosen = (firsts[:, None] + np.arange(k)).ravel()
    return i[chosen], j[chosen], exact[chosen]


@table_function("points alone", guide="distances", order=("id", "rank"), growth=ALL_PAIRS)
def nearest_neighbors(
    frame: Frame,
    vector: Vector,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    *,
    n_neighbors: int = 15,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    weights: Sequence[float] | None = None,
    max_points: int = 10000,
    missing: Missing = "error",
) -> Frame:
    """Exact nearest neighbors of each point.

    The result is a table of neighbors for neighborhood_report, with left = id and right =
    neighbor.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points, one per row. A LazyFrame is read when you collect the result. All points are in
        memory, together with the distances of a block of points.
    id : str or Expr, optional
        Identifier of the point, which must not be NULL, or occur twice in a partition. The default
        is the row number in the frame, counted from 0.
    n_neighbors : int
        Number of neighbors of each point. Must be at least 1. If there are fewer other points in
        the partition, all of them are neighbors.
    max_points : int
        Maximum number of points in a partition. Must be at least 2. The running time grows with the
        square of the number of points.
    vector, distance, p, partition_by, weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per point and neighbor, sorted by partition, id and rank. The
        result has the partition columns, id, neighbor (the id of the neighbor), rank (1 for the
        nearest neighbor) and distance. There is no row for a point without other points.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report, if a partition has more than max_points points, and
        if an id is NULL or occurs twice in a partition.

    Notes
    -----
    If several points are equally near, the lower id has the lower rank. As in pairwise_report, two
    distances are equal if their first 12 digits are equal. For more points than max_points, use the
    index of a library. In SQL: ``FROM clustereval.nearest_neighbors(tbl, [x, y], id)``.

    References
    ----------
    Fix and Hodges (1951), Discriminatory analysis: nonparametric discrimination, reprinted in
    doi:10.2307/1403797.

    Examples
    --------
    >>> points = pl.DataFrame({"id": ["a", "b", "c"], "x": [0.0, 1.0, 4.0]})
    >>> ce.nearest_neighbors(points, ["x"], "id", n_neighbors=1).rows()
    [('a', 'b', 1, 1.0), ('b', 'a', 1, 1.0), ('c', 'b', 1, 3.0)]
    """
    n_neighbors = check_whole_number("n_neighbors", n_neighbors, 1)
    max_points = check_whole_number("max_points", max_points, 2)
    options = pass_arguments_to(check_point_options)
    lazy = check_frame(frame)
    row_id: Any = "number" if id is None else check_column(lazy, id, "id").alias("id")
    columns = ("id", "neighbor", "rank", "distance")
    points = read_points(
        frame, vector, pl.lit(0), options, results=columns, row_id=row_id, needs_origins=False
    )
    of_id = points.rows.collect_schema()["id"]
    schema = pl.Schema(
        {"id": of_id, "neighbor": of_id, "rank": pl.Int64(), "distance": pl.Float64()}
    )
    rows = map_partitions(
        points,
        partial(_nearest_of, points=points, n_neighbors=n_neighbors),
        schema,
        ["id"],
        prefix="raw_x",
        checked=partial(_check_rows, points=points, max_points=max_points),
    )
    rows = rows.select(*points.keys, *columns).sort(*points.keys, "id", "rank", nulls_last=True)
    return to_user_frame(frame, rows, points.keys)
