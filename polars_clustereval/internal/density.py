"""density: the validity of clusters of any shape, from spanning trees of their density.

There is no SQL for this module, because a query cannot hold the trees.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.checks import check_column, check_frame
from polars_clustereval.base.exact import ratio
from polars_clustereval.base.frames import aggregate_by, join_partitions
from polars_clustereval.base.growth import DENSITY_TREES
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .centroids import Points, check_point_options, read_points
from .kernels.density_separations import density_separations
from .kernels.density_trees import grow_densities
from .kernels.extreme_pairs import Metric
from .kernels.partitions import Partition, map_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .distances import DistanceName
    from .kernels.arrays import Floats
    from .vectors import Missing, Vector

_POINT_TOTALS = ("n", "n_dropped", "n_noise", "n_clusters", "n_singletons")
_CLUSTER_SCORES = ("sparseness", "separation", "validity")
_NO_SQL = "a query cannot hold the trees"

# ----------------------------------------------------------------------------------------------
# Scores of clusters
# ----------------------------------------------------------------------------------------------


def _density_rows(part: Partition, points: Points) -> pl.DataFrame:
    """Return one row per cluster of a partition, with its size n and _CLUSTER_SCORES."""
    ranks = part.rows["id"].rank("ordinal").to_numpy()
    x = part.x[np.lexsort((ranks, part.numbers))]
    part = Partition(part.rows, x, part.starts)
    scores = np.full((3, len(part.sizes)), np.nan)
    if np.count_nonzero(part.sizes > 1) > 1:
        scores[:] = _score_clusters(part, Metric(points.distance))
    columns = [pl.Series(x, y) for x, y in zip(_CLUSTER_SCORES, scores, strict=True)]
    rows = part.rows[part.starts[:-1]].with_columns(pl.Series("n", part.sizes, pl.Int64), *columns)
    return rows.with_columns(pl.col(_CLUSTER_SCORES).fill_nan(None))


def _score_clusters(part: Partition, metric: Metric) -> tuple[Floats, Floats, Floats]:
    """Return the sparseness, the separation and the validity (k,) of each cluster."""
    densities = grow_densities(part, metric)
    is_tree = part.sizes > 1
    starts = np.searchsorted(np.flatnonzero(densities.is_inner), part.starts)
    inner = Partition(part.rows, part.x[densities.is_inner], starts[np.append(is_tree, [True])])
    separation = np.full(len(part.sizes), np.nan)
    separation[is_tree] = density_separations(inner, densities.core[densities.is_inner], metric)
    separation = metric.to_distance(separation)
    sparseness = metric.to_distance(densities.sparseness)
    largest = np.maximum(separation, sparseness)
    differences = separation - sparseness
    validity = np.divide(differences, largest, out=np.zeros_like(largest), where=largest > 0)
    return sparseness, separation, validity


def _read_densities(
    frame: Frame, vector: Vector, cluster: Column, id_column: Column | None, names: Sequence[str]
) -> tuple[Points, pl.LazyFrame]:
    """Return the points, and the rows of density_based_validity_clusters with inner names."""
    options = pass_arguments_to(check_point_options)
    lazy = check_frame(frame)
    row_id: Any = "number" if id_column is None else check_column(lazy, id_column, "id").alias("id")
    points = read_points(frame, vector, cluster, options, results=names, row_id=row_id)
    types = points.kept_rows.select(points.own_keys).collect_schema()
    schema = pl.Schema(types | {"n": pl.Int64()} | dict.fromkeys(_CLUSTER_SCORES, pl.Float64()))
    rows = map_partitions(points, partial(_density_rows, points=points), schema, ["id"])
    return points, points.with_id_check(rows)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function(
    "points", guide="density", order=("cluster",), no_sql_because=_NO_SQL, growth=DENSITY_TREES
)
def density_based_validity_clusters(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name of the other tables
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
) -> Frame:
    """Density-based validity of each cluster: its sparseness, and its separation from the others.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points, one per row. When you collect the result of a LazyFrame, all points are loaded
        into memory.
    id : str or Expr, optional
        Identifier of the point, which must not occur twice in a partition. The default is the row
        number in the frame, counted from 0. Many edges of the spanning trees have equal weights,
        and ids decide which of them comes first. See density_based_validity.
    vector, cluster, distance, p, partition_by, noise, noise_as, weights : as in internal_report
    missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. With noise_as
        'singletons', each noise point has a row of its own, in which cluster is NULL. The columns
        are the partition columns, cluster, n (the number of points in the cluster), and the
        following columns:

        - sparseness: how sparse the cluster is at its sparsest place: the largest weight of an edge
          between two inner points of its spanning tree. Inner points have several edges. If no edge
          is between two of them, all edges count. Range [0, inf), best low. NULL for a single
          point.
        - separation: how sparse it is between the cluster and the nearest other cluster: the
          smallest reachability between an inner point of the cluster and an inner point of another
          cluster. If a tree has no inner point, all its points count. Range [0, inf), best high.
          NULL for a single point.
        - validity: (separation - sparseness) / max(separation, sparseness). Range [-1, 1], best 1.
          Positive if it is sparser around the cluster than within it. 0 if the cluster is a single
          point, or if separation and sparseness are 0.

        All three are NULL if fewer than two clusters have more than one point.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report, and if an id occurs twice in a partition.

    Notes
    -----
    For the definitions of reachability and of the spanning tree, see density_based_validity. There
    is no SQL for this table, because a query cannot hold the trees. For DuckDB relations, pass the
    rows, as in ``ce.density_based_validity_clusters(con.sql("FROM t").pl(), vector, "cluster")``.
    On the command line: ``clustereval density FILE --show clusters``.

    References
    ----------
    Moulavi, Jaskowiak, Campello, Zimek and Sander (2014), Density-based clustering validation,
    doi:10.1137/1.9781611973440.96.

    Examples
    --------
    Two chains of points, 3 apart, of which the second is sparser:

    >>> x = [0, 1, 2, 3, 4, 0, 2, 4, 6]
    >>> chains = pl.DataFrame({"x": x, "y": [0] * 5 + [3] * 4, "chain": [1] * 5 + [2] * 4})
    >>> clusters = ce.density_based_validity_clusters(chains, ["x", "y"], "chain")
    >>> clusters.select("n", pl.col("sparseness", "validity").round(4), "separation").rows()
    [(5, 1.3016, 0.5661, 3.0), (4, 2.3094, 0.2302, 3.0)]
    """
    columns = ("cluster", "n", *_CLUSTER_SCORES)
    points, rows = _read_densities(frame, vector, cluster, id, columns)
    return points.to_result(frame, rows, points.own_keys)


@table_function("points", guide="density", no_sql_because=_NO_SQL, growth=DENSITY_TREES)
def density_based_validity(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    id: Column | None = None,  # noqa: A002 -- the name of the other tables
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
) -> Frame:
    """Density-based clustering validation (DBCV), for clusters of any shape.

    A cluster is good if it is denser everywhere inside than it is between the cluster and the
    others, whatever its shape.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points, one per row. When you collect the result of a LazyFrame, all points are loaded
        into memory.
    id : str or Expr, optional
        Identifier of the point, which must not occur twice in a partition. The default is the row
        number in the frame, counted from 0. Ids decide which of two edges with equal weights comes
        first.
    vector, cluster, distance, p, partition_by, noise, noise_as, weights : as in internal_report
    missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns,
        n (the number of points that are counted), n_dropped, n_noise, n_clusters, n_singletons and
        density_based_validity: the mean of the validities of the clusters (see
        density_based_validity_clusters), weighted by their sizes. Points of noise that are dropped
        count with a validity of 0, as in the paper, so noise lowers the score. Range [-1, 1], best
        1. NULL if fewer than two clusters have more than one point.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report, and if an id occurs twice in a partition.

    Notes
    -----
    The core distance of one of the n points in a cluster of d coordinates is the power mean ((sum
    of (1 / distance)^d over the other points) / (n - 1))^(-1 / d). It is 0 for points with a copy
    in the cluster. The reachability of two points is the largest of their distance and their two
    core distances. Each cluster has a minimum spanning tree by the reachabilities of its points.

    Because of the core distances, many edges have equal weights, and which of them are in the tree
    can change the score, in one published data set from 0.54 to 0.81. Here, edges are ordered by
    weight, and then by the ids of their two points, the lower one first. Weights are equal if they
    differ by less than about 1e-10 of their size. With row numbers as ids, the scores of points
    without copies are those of the Python package DBCV, and usually those of hdbscan. Pass an id if
    the rows have no fixed order.

    A cluster of a single point has no tree. It counts with a validity of 0, and other clusters are
    not compared with it. The distance is Euclidean by default, as in hdbscan. The published values
    are those of sqeuclidean.

    There is no SQL for this table, because a query cannot hold the trees. For DuckDB relations,
    pass the rows, as in ``ce.density_based_validity(con.sql("FROM t").pl(), vector, "cluster")``.
    On the command line: ``clustereval density FILE``.

    References
    ----------
    Moulavi, Jaskowiak, Campello, Zimek and Sander (2014), Density-based clustering validation,
    doi:10.1137/1.9781611973440.96. Chicco, Sabino, Oneto and Jurman (2025), The DBCV index is more
    informative than DCSI, CDbw, and VIASCKDE indices for unsupervised clustering internal
    assessment of concave-shaped and density-based clusters, doi:10.7717/peerj-cs.3095.

    Examples
    --------
    Two chains of points, 3 apart, judged as they are, and cut in half:

    >>> x, y = [0, 1, 2, 3, 4, 5] * 2, [0] * 6 + [3] * 6
    >>> points = pl.DataFrame({"x": x, "y": y}).with_columns(half=pl.col("x") > 2)
    >>> by_chain = ce.density_based_validity(points, ["x", "y"], "y")
    >>> by_half = ce.density_based_validity(points, ["x", "y"], "half")
    >>> by_chain["density_based_validity"][0], by_half["density_based_validity"][0]
    (0.52..., -0.33...)
    """
    columns = (*_POINT_TOTALS, "density_based_validity")
    points, rows = _read_densities(frame, vector, cluster, id, columns)
    keys, validity = points.partition_keys, pl.col("validity")
    # A sum without values is 0, but without two trees there is no validity.
    total = pl.when(pl.col("separation").count() > 1).then((pl.col("n") * validity).sum())
    sums = aggregate_by(rows, keys, {"total": total})
    n = pl.col("n") + (pl.col("n_noise") if noise_as == "drop" else 0)
    table = join_partitions(points.row_counts, keys, sums, how="left")
    table = table.select(*keys, *_POINT_TOTALS, density_based_validity=ratio(pl.col("total"), n))
    return points.to_result(frame, table)
