"""determinants: the indices made from determinants of scatter matrices.

Scatter matrices are sums of products, one column for each pair of coordinates. Polars aggregates
them, and numpy eliminates the result, which has at most one row per cluster.

W is the scatter matrix within the clusters of a partition, B that between them, W_C that of one
cluster. `by` are the partition columns. The columns of a coordinate i are: x_i, of a row; m_i, the
mean of a cluster, and r_i, a correction of it; u_i, a unit that products are scaled by. s_i_j is a
sum of products of the coordinates i and j in these units, w_i_j and b_i_j are entries of W and B.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.frames import join_partitions, join_small

from .centroids import check_point_options, read_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .kernels.arrays import Floats
    from .vectors import Vector

# Filters and selections of the result must not be applied to the input.
_NO_PUSHDOWN = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}


_DETERMINANT_INDICES = (
    "det_ratio",
    "log_det_ratio",
    "ksq_detw_index",
    "scott_symons_index",
    "trace_wib",
)


# Bits of the fraction of each factor of a product. Coordinates are less than 4 units, so that sums
# of products are exact as Int128 for 2^38 rows. The rounding error of Float64 sums would exceed the
# threshold that tells singular matrices from others.
_FRACTION_BITS = 42


# Products of two coordinates that are summed in one query: each is a column, and all 2080 products
# of 64 coordinates would take 33 kB per row.
_PRODUCTS_AT_A_TIME = 128


def determinant_totals(points: pl.LazyFrame, keys: list[str], columns: list[str]) -> pl.LazyFrame:
    """Return one row per partition: det_ratio and the other indices of determinant_report.

    `points` has the partition columns `keys`, cluster, singleton_no (together with these it
    identifies a cluster) and the coordinates `columns`. Without keys there is always one row.

    The points are read three times: for means, for means of the residuals, and for products. T (= W
    + B) is never computed. If a cluster has no more points than dimensions, its scatter matrix is
    singular: the matrices of the clusters are then not needed, and W is summed directly over the
    points.
    """
    by, n_dims = keys or ["__ce_whole"], len(columns)
    whole = [] if keys else [pl.lit(0).alias("__ce_whole")]
    coordinates = {f"x_{i}": pl.col(column) for i, column in enumerate(columns)}
    one = pl.lit(1, pl.Int64).alias("n")
    rows = points.select(*keys, *whole, "cluster", "singleton_no", one, **coordinates)
    clusters = _cluster_means(rows, by, n_dims).cache()
    matrices = _scatter_matrices(rows, clusters, by, n_dims).cache()
    scatters = join_partitions(
        clusters.group_by(by).agg(pl.col("n").sum(), pl.len().cast(pl.Int64).alias("n_clusters")),
        by,
        _within_scatter(matrices, by, n_dims),
        _between_scatter(clusters, by, n_dims),
        _scott_symons(matrices, by, n_dims),
        how="left",
    )
    schema = rows.select(by).collect_schema()
    indices = scatters.map_batches(
        lambda frame: frame.select(*by, **_determinant_indices(frame, n_dims)),
        schema={**schema, **dict.fromkeys(_DETERMINANT_INDICES, pl.Float64())},
        **_NO_PUSHDOWN,
    )
    if keys:
        return indices
    return join_partitions(pl.LazyFrame({by[0]: [0]}), by, indices, how="left").drop(by)


def _coordinate_columns(name: str, n_dims: int) -> list[str]:
    """Return the names of one column per coordinate: name_0, name_1, ..."""
    return [f"{name}_{i}" for i in range(n_dims)]


def _coordinate_pairs(n_dims: int) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i <= j, of coordinates: the upper triangle of a matrix."""
    return [(i, j) for i in range(n_dims) for j in range(i, n_dims)]


def _pair_columns(name: str, n_dims: int) -> list[str]:
    """Return the names of one column per pair of coordinates: name_0_0, name_0_1, ..."""
    return [f"{name}_{i}_{j}" for i, j in _coordinate_pairs(n_dims)]


# ----------------------------------------------------------------------------------------------
# Aggregates
# ----------------------------------------------------------------------------------------------


def _cluster_means(rows: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return one row per cluster: n, its mean m_i + r_i of each coordinate i, and its matrix key.

    `rows` are points with n = 1 and coordinates x_i; `by` are the partition columns. Means are
    computed twice, the second time (r_i) of the residuals x_i - m_i: at coordinates of 1e8 the
    first mean is off by 1e-8.

    Scatter matrices are summed per cluster (own_matrices is true) if all clusters of the partition
    have more points than dimensions, otherwise per partition. matrix_cluster and
    matrix_singleton_no identify the matrix in its partition, both NULL if it is that of the
    partition. u_i is its unit of coordinate i (_power_of_two_unit).
    """
    cluster = [*by, "cluster", "singleton_no"]
    # Cached, since a second evaluation may yield means that differ in the last digit.
    first = rows.group_by(cluster).agg(pl.col("n").sum(), *_means_and_spans(n_dims)).cache()
    residual_means = (_residual(i).mean().alias(f"r_{i}") for i in range(n_dims))
    second = _join_clusters(rows, first, by).group_by(cluster).agg(residual_means)
    own_matrices = pl.col("n").min().over(by) > n_dims
    clusters = first.join(second, on=cluster, nulls_equal=True)
    units = (_power_of_two_unit(f"u_{i}", by).alias(f"u_{i}") for i in range(n_dims))
    matrix_key = (
        pl.when("own_matrices").then(name).alias(f"matrix_{name}")
        for name in ("cluster", "singleton_no")
    )
    return clusters.with_columns(own_matrices=own_matrices).with_columns(*units, *matrix_key)


def _means_and_spans(n_dims: int) -> list[pl.Expr]:
    """Return the aggregates m_i, mean of coordinate i, and u_i, largest deviation from it.

    They are those of the points x_i of a cluster. Means are clamped to the range of the values:
    rounding would otherwise give a constant coordinate a variance.
    """
    columns = []
    for i in range(n_dims):
        x = pl.col(f"x_{i}")
        mean = x.mean().clip(x.min(), x.max())
        span = pl.max_horizontal(x.max() - mean, mean - x.min())
        columns += [mean.alias(f"m_{i}"), span.alias(f"u_{i}")]
    return columns


def _power_of_two_unit(span: str, by: list[str]) -> pl.Expr:
    """Return the unit that a coordinate is divided by in a scatter matrix: a power of 2.

    It is the largest one that is at most the coordinate's largest deviation from the mean, in the
    column named `span`; division by it causes no rounding error. Clusters without own_matrices
    share the largest unit of their partition, whose columns are `by`.
    """
    shared = pl.when("own_matrices").then(span).otherwise(pl.col(span).max().over(by))
    return pl.lit(2.0).pow(shared.log(2).floor()).clip(lower_bound=2.0**-500)


def _join_clusters(rows: pl.LazyFrame, clusters: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the points `rows` with the columns of their clusters, except n.

    `clusters` is the result of _cluster_means; `by` are the partition columns.
    """
    return join_small(rows, [*by, "cluster", "singleton_no"], clusters.drop("n"))


def _residual(i: int) -> pl.Expr:
    """Return coordinate i of a point minus the first mean m_i of its cluster."""
    return pl.col(f"x_{i}") - pl.col(f"m_{i}")


def _fixed_point_product(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Return x y as an integer (Int128), so that sums of it are exact; NULL if it is too large.

    x and y are Float64 numbers in fixed-point units, such as the result of _scale_coordinate.
    """
    return (x * y).cast(pl.Int128, strict=False)


def _scatter_matrices(
    rows: pl.LazyFrame, clusters: pl.LazyFrame, by: list[str], n_dims: int
) -> pl.LazyFrame:
    """Return one row per scatter matrix: the sums s_i_j of products of centered coordinates i, j.

    They are in units u_i u_j; u_i and n, its number of points, are columns too. There is a matrix
    per cluster or per partition, identified by the columns `by` of the partition, own_matrices,
    matrix_cluster and matrix_singleton_no: see _cluster_means, whose result is `clusters`. `rows`
    are points with coordinates x_i.
    """
    matrix = [*by, "own_matrices", "matrix_cluster", "matrix_singleton_no"]
    units = _coordinate_columns("u", n_dims)
    joined = _join_clusters(rows, clusters, by)
    scaled = joined.select(*matrix, *map(_scale_coordinate, range(n_dims)))
    sums = _product_sums(scaled, matrix, n_dims, _fixed_point_product).with_columns(
        pl.col(_pair_columns("s", n_dims)).cast(pl.Float64) * 4.0**-_FRACTION_BITS
    )
    sizes = clusters.group_by(matrix).agg(pl.col("n").sum(), pl.col(units).first())
    return sums.join(sizes, on=matrix, nulls_equal=True)


def _scale_coordinate(i: int) -> pl.Expr:
    """Return coordinate i of a point minus the mean of its cluster, as x_i in fixed point.

    The unit is u_i / 2^_FRACTION_BITS.
    """
    centered = _residual(i) - pl.col(f"r_{i}")
    return (centered / pl.col(f"u_{i}") * 2.0**_FRACTION_BITS).alias(f"x_{i}")


def _product_sums(
    rows: pl.LazyFrame, by: list[str], n_dims: int, product: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.LazyFrame:
    """Return the sums s_i_j of x_i x_j over the rows with equal columns `by`, for i <= j.

    `product` multiplies two coordinates. A block of products is summed at a time.
    """
    pairs = _coordinate_pairs(n_dims)
    blocks = [pairs[i : i + _PRODUCTS_AT_A_TIME] for i in range(0, len(pairs), _PRODUCTS_AT_A_TIME)]
    if len(blocks) > 1:
        rows = rows.cache()
    # Products and sums in a single step take twice as long before Polars 2.
    products = (
        rows.select(
            *by,
            *(product(pl.col(f"x_{i}"), pl.col(f"x_{j}")).alias(f"s_{i}_{j}") for i, j in block),
        )
        for block in blocks
    )
    first, *others = (block.group_by(by).agg(pl.all().sum()) for block in products)
    return join_partitions(first, by, *others, how="left")


def _scatter_entries(name: str, n_dims: int) -> list[pl.Expr]:
    """Return the entries name_i_j, i <= j, of scatter matrices: s_i_j u_i u_j.

    The frame's columns s_i_j are sums of products of coordinates in the units u_i and u_j.
    """
    return [
        (pl.col(f"s_{i}_{j}") * pl.col(f"u_{i}") * pl.col(f"u_{j}")).alias(f"{name}_{i}_{j}")
        for i, j in _coordinate_pairs(n_dims)
    ]


def _within_scatter(matrices: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return one row per partition: the entries w_i_j of W, the scatter within its clusters.

    W is the sum of the partition's scatter matrices, in the units of the coordinates. `matrices` is
    the result of _scatter_matrices; `by` are the partition columns.
    """
    largest = (pl.col(f"u_{i}").max().over(by).alias(f"t_{i}") for i in range(n_dims))
    # Units are powers of 2: the conversion to the larger one causes no rounding error.
    ratios = [pl.col(f"u_{i}") / pl.col(f"t_{i}") * 2.0**_FRACTION_BITS for i in range(n_dims)]
    summed = matrices.with_columns(largest).select(
        *by,
        *(pl.col(f"t_{i}").alias(f"u_{i}") for i in range(n_dims)),
        *(
            _fixed_point_product(pl.col(f"s_{i}_{j}") * ratios[i], ratios[j]).alias(f"s_{i}_{j}")
            for i, j in _coordinate_pairs(n_dims)
        ),
    )
    sums = pl.col(_pair_columns("s", n_dims)).sum().cast(pl.Float64) * 4.0**-_FRACTION_BITS
    totals = summed.group_by(by).agg(pl.col(_coordinate_columns("u", n_dims)).first(), sums)
    return totals.select(*by, *_scatter_entries("w", n_dims))


def _between_scatter(clusters: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return one row per partition: the entries b_i_j of B, the scatter between its clusters.

    `clusters` is the result of _cluster_means; `by` are the partition columns. The mean of the
    clusters' means is computed twice, the second time of the differences from it, to keep its
    digits.
    """
    n, dims = pl.col("n"), range(n_dims)
    middles = clusters.group_by(by).agg(
        ((n * (m := pl.col(f"m_{i}"))).sum() / n.sum()).clip(m.min(), m.max()).alias(f"x_{i}")
        for i in dims
    )
    differences = clusters.join(middles, on=by, nulls_equal=True).select(
        *by,
        "n",
        *((pl.col(f"m_{i}") - pl.col(f"x_{i}") + pl.col(f"r_{i}")).alias(f"m_{i}") for i in dims),
    )
    mean_differences = differences.group_by(by).agg(
        ((n * pl.col(f"m_{i}")).sum() / n.sum()).alias(f"r_{i}") for i in dims
    )
    weighted = differences.join(mean_differences, on=by, nulls_equal=True).select(
        *by, *(((pl.col(f"m_{i}") - pl.col(f"r_{i}")) * n.sqrt()).alias(f"x_{i}") for i in dims)
    )
    names = dict(zip(_pair_columns("s", n_dims), _pair_columns("b", n_dims), strict=True))
    return _product_sums(weighted, by, n_dims, mul).rename(names)


def _scott_symons(matrices: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return one row per partition whose clusters have own_matrices: scott_symons_index.

    It is NaN if one of these matrices is singular. `matrices` is the result of _scatter_matrices;
    `by` are the partition columns.
    """
    entries = _scatter_entries("w", n_dims)
    clusters = matrices.filter("own_matrices").select(*by, "n", *entries)
    terms = clusters.map_batches(
        lambda frame: frame.select(*by, term=_scott_symons_terms(frame, n_dims)),
        schema={**clusters.select(by).collect_schema(), "term": pl.Float64()},
        **_NO_PUSHDOWN,
    )
    return terms.group_by(by).agg(pl.col("term").sum().alias("scott_symons_index"))


# ----------------------------------------------------------------------------------------------
# Eliminations of many matrices at once
# ----------------------------------------------------------------------------------------------


def _stack_matrices(frame: pl.DataFrame, name: str, n_dims: int) -> Floats:
    """Return the symmetric matrix in the entries name_i_j, i <= j, of each row: (rows, d, d)."""
    i, j = np.triu_indices(n_dims)
    stack = np.empty((frame.height, n_dims, n_dims))
    stack[:, i, j] = stack[:, j, i] = frame.select(_pair_columns(name, n_dims)).to_numpy()
    return stack


def _outer_products(x: Floats, y: Floats) -> Floats:
    """Return the outer products (rows, n, m) of the rows of x (rows, n) and y (rows, m)."""
    return np.asarray(x[:, :, None] * y[:, None, :])


def _eliminate_columns(w: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield the pivots and slopes of symmetric matrices w (rows, d, d), column by column.

    Pivots are (rows,), slopes (rows, columns left). One column is eliminated per step (Cholesky
    without roots). Slopes are the pivot row divided by its pivot. A pivot is the square of a
    combination of coordinates, and its rounding error is proportional to the sum of the squares
    that are combined: at most 0.5 p 2^-52 times this sum, for p coordinates, for the singular
    matrices of the tests, so that 4 is a safe factor. A pivot that does not exceed 4 p 2^-52 times
    the sum is NaN, and so are all later ones.
    """
    n_dims = w.shape[1]
    combined = np.sqrt(np.diagonal(w, axis1=1, axis2=2))[:, None] * np.eye(n_dims)
    for _ in range(n_dims):
        floors = 4 * n_dims * 2.0**-52 * (combined[:, 0] ** 2).sum(axis=1)
        first = w[:, 0, 0]
        pivots = np.where((first > floors) & np.isfinite(first), first, np.nan)
        slopes = w[:, 0] / pivots[:, None]
        yield pivots, slopes
        w = (w - _outer_products(slopes, w[:, 0]))[:, 1:, 1:]
        combined = (combined - _outer_products(slopes, combined[:, 0]))[:, 1:]


def _transform_step(b: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the matrices b after one step of L^-1 B L^-T (W = L D L^T), and their pivot row.

    `slopes` (rows, m) are those of W in the same step of _eliminate_columns; b is (rows, m, m). The
    first row and column of the result are 0, for the caller to cut off; the pivot row (rows, m),
    b's first row after the step, is returned beside it.
    """
    pivot_row = b[:, 0] - b[:, 0, :1] * slopes
    return b - _outer_products(slopes, pivot_row) - _outer_products(b[:, 0], slopes), pivot_row


def _eliminate_matrices(w: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ln |W|, trace(W^-1 B) and ln(|W + B| / |W|), all (rows,), NaN if W is singular.

    `w` and `b` (rows, d, d) are the scatter W within and B between the clusters of each partition.
    W + B is eliminated as d, its difference from W: the ratio of the pivots is then 1 + d / w, and
    a small B loses no digits, unlike in ln |W + B| - ln |W|.
    """
    d = b
    log_det, trace, log_ratio = np.zeros((3, len(w)))
    for pivots, slopes in _eliminate_columns(w):
        # Negative only by rounding error.
        d_pivots = np.maximum(d[:, 0, 0], 0)
        log_det += np.log(pivots)
        trace += b[:, 0, 0] / pivots
        log_ratio += np.log1p(d_pivots / pivots)
        b, _ = _transform_step(b, slopes)
        d, d_row = _transform_step(d, slopes)
        d = d - _outer_products(d_row, d_row / (pivots + d_pivots)[:, None])
        b, d = b[:, 1:, 1:], d[:, 1:, 1:]
    return log_det, trace, log_ratio


def _scott_symons_terms(frame: pl.DataFrame, n_dims: int) -> pl.Series:
    """Return n ln |W_C / n| of each cluster, NaN if its scatter matrix W_C is singular.

    A row of the frame is a cluster, with its size n and the entries w_i_j of W_C.
    """
    n = frame["n"].to_numpy()
    with np.errstate(all="ignore"):
        log_dets = sum(
            (np.log(w) for w, _ in _eliminate_columns(_stack_matrices(frame, "w", n_dims))),
            np.zeros(len(n)),
        )
    return pl.Series(n * (log_dets - n_dims * np.log(n)))


def _determinant_indices(frame: pl.DataFrame, n_dims: int) -> dict[str, pl.Series]:
    """Return the index columns of determinant_report by name, NULL where a matrix is singular.

    A row of the frame is a partition, with n, n_clusters, scott_symons_index and the entries w_i_j
    and b_i_j of W and B, the scatter within and between its clusters.
    """
    n, n_clusters = frame["n"].to_numpy(), frame["n_clusters"].to_numpy()
    with np.errstate(all="ignore"):
        log_det, trace, log_ratio = _eliminate_matrices(
            _stack_matrices(frame, "w", n_dims), _stack_matrices(frame, "b", n_dims)
        )
        ksq_detw = _finite_exp(2 * np.log(n_clusters) + log_det)
    # With fewer points W is singular, though rounding error may hide that.
    is_regular = n - n_clusters >= n_dims
    values = {
        "det_ratio": _finite_exp(log_ratio),
        "log_det_ratio": n * log_ratio,
        "ksq_detw_index": ksq_detw,
        "trace_wib": trace,
    }
    indices = {name: pl.Series(np.where(is_regular, x, np.nan)) for name, x in values.items()}
    indices["scott_symons_index"] = frame["scott_symons_index"]
    return {name: indices[name].fill_nan(None) for name in _DETERMINANT_INDICES}


def _finite_exp(x: Floats) -> Floats:
    """Return exp(x) of a determinant's logarithm x, NaN if that is no normal Float64.

    0 would say that the matrix is singular.
    """
    return np.where((x >= -708) & (x <= 709), np.exp(x), np.nan)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def determinant_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
) -> Frame:
    """Internal indices made from determinants of scatter matrices.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one per row. A LazyFrame is read when the result is collected, and
        streams; the greatest length of a List column is read at once.
    vector : str, Expr, selector or sequence of str and Expr
        An Array or List column of numbers, or the numeric columns that hold the coordinates. Rows
        where it is NULL (of several columns: where all are) are left out.
    cluster : str or Expr
        Assigned cluster of each point. Rows where it is NULL are left out.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated separately. NULL is a group of its own.
    noise : object, optional
        Value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Noise is an ordinary cluster, is left out, or each of its points is a cluster of its own.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row per partition, sorted by it: the partition columns, n
        points kept, n_dropped, n_noise, n_dims, n_clusters, and with T the scatter matrix of all
        points, W within and B between clusters: det_ratio = |T| / |W| (range [1, inf), best high),
        log_det_ratio = n ln det_ratio (range [0, inf), best high), ksq_detw_index = k² |W| (range
        (0, inf), best low), scott_symons_index = Σ n_C ln |W_C / n_C| (range unbounded, best low)
        and trace_wib = trace(W⁻¹ B) (range [0, inf), best high). NULL if a matrix is singular, as
        that of a cluster with no more points than dimensions is.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector is not numeric, noise cannot be cast to the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    Time is proportional to the number of points times the squared number of dimensions.
    In SQL: ``FROM clustereval.determinant_report(tbl, [x, y], cluster)``.

    References
    ----------
    Scott and Symons (1971), doi:10.2307/2529003; Marriott (1971), doi:10.2307/2528592; Friedman and
    Rubin (1967), doi:10.1080/01621459.1967.10500923.

    Examples
    --------
    In one dimension |T| / |W| is sst / ssw:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"x": [0, 2, 9, 13], "cluster": ["a", "a", "b", "b"]})
    >>> ce.determinant_report(four, ["x"], "cluster")["det_ratio"].to_list()
    [11.0]
    """
    options = check_point_options(partition_by=partition_by, noise=noise, noise_as=noise_as)
    points = read_points(
        frame, vector, cluster, options, results=_DETERMINANT_COLUMNS, needs_wide=True
    )
    singleton_no = (
        pl.col("singleton_no")
        if points.has_singletons
        else pl.lit(0, pl.Int64).alias("singleton_no")
    )
    kept = points.kept_rows.select(
        *points.keys, "cluster", singleton_no, *points.vector_columns("x")
    )
    determinants = determinant_totals(kept, points.partition_keys, points.vector_columns("x"))
    report = join_partitions(points.row_counts, points.partition_keys, determinants, how="left")
    return points.to_result(frame, report.select(*points.keys, *_DETERMINANT_COLUMNS))


_DETERMINANT_COLUMNS = (
    "n",
    "n_dropped",
    "n_noise",
    "n_dims",
    "n_clusters",
    "det_ratio",
    "log_det_ratio",
    "ksq_detw_index",
    "scott_symons_index",
    "trace_wib",
)
