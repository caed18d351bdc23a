"""determinants: the indices made from determinants of scatter matrices.

Scatter matrices are sums of products, one column for each pair of coordinates. They are aggregated
where the points lie; what is left, at most one row a cluster, is eliminated by numpy.
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

# A filter or a selection of the results must not reach what they are made from.
_NO_PUSHDOWN = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}


_DETERMINANT_INDICES = (
    "det_ratio",
    "log_det_ratio",
    "ksq_detw_index",
    "scott_symons_index",
    "trace_wib",
)


# Binary places of each factor of a product. Coordinates are within 4 of their unit, so that sums of
# products are exact as Int128 for 2^38 rows. Plain sums are off by more than what tells singular
# matrices from others.
_FACTOR_PLACES = 42


# Products are columns while they are summed, and 2080 of them (64 dimensions) would be 33 kB a row.
_PRODUCTS_AT_ONCE = 128


def determinant_totals(points: pl.LazyFrame, keys: list[str], dims: list[str]) -> pl.LazyFrame:
    """Give the indices made from determinants, one row a partition; without keys one in any case.

    The points are read three times: for means, for means of what is left, and for products.
    T = W + B is never formed. Where some cluster has no more points than dimensions, its scatter
    is singular: the clusters' matrices are then not asked for, and W is summed straight from the
    points.
    """
    by, size = keys or ["__ce_whole"], len(dims)
    whole = [] if keys else [pl.lit(0).alias("__ce_whole")]
    coordinates = {f"x_{i}": pl.col(dim) for i, dim in enumerate(dims)}
    one = pl.lit(1, pl.Int64).alias("n")
    named = points.select(*keys, *whole, "cluster", "single", one, **coordinates)
    clusters = _cluster_means(named, by, size).cache()
    matrices = _matrices(named, clusters, by, size).cache()
    scatters = join_partitions(
        clusters.group_by(by).agg(pl.col("n").sum(), pl.len().cast(pl.Int64).alias("k")),
        by,
        _within_scatter(matrices, by, size),
        _between_scatter(clusters, by, size),
        _scott_symons(matrices, by, size),
        how="left",
    )
    schema = named.select(by).collect_schema()
    result = scatters.map_batches(
        lambda frame: frame.select(*by, **_determinant_indices(frame, size)),
        schema={**schema, **dict.fromkeys(_DETERMINANT_INDICES, pl.Float64())},
        **_NO_PUSHDOWN,
    )
    return (
        result
        if keys
        else join_partitions(pl.LazyFrame({by[0]: [0]}), by, result, how="left").drop(by)
    )


def _column_names(name: str, size: int) -> list[str]:
    return [f"{name}_{i}" for i in range(size)]


def _coordinate_pairs(size: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(size) for j in range(i, size)]


# ----------------------------------------------------------------------------------------------
# Aggregates
# ----------------------------------------------------------------------------------------------


def _cluster_means(named: pl.LazyFrame, by: list[str], size: int) -> pl.LazyFrame:
    """One row a cluster: n, its mean m_i + r_i, the units u_i, and its matrix.

    Means are taken twice, the second time (r) of what is left after the first: at coordinates of
    1e8 that one is off by 1e-8. A cluster in a dense partition has a matrix of its own.
    """
    cluster = [*by, "cluster", "single"]
    # Cached, because the next pass would else find means that differ in the last place.
    first = named.group_by(cluster).agg(pl.col("n").sum(), *_means_and_spans(size)).cache()
    rests = (_residual(i).mean().alias(f"r_{i}") for i in range(size))
    second = _at_cluster(named, first, by).group_by(cluster).agg(rests)
    dense = pl.col("n").min().over(by) > size
    clusters = first.join(second, on=cluster, nulls_equal=True).with_columns(dense=dense)
    units = (_power_of_two_unit(f"u_{i}", by).alias(f"u_{i}") for i in range(size))
    matrix = (pl.when("dense").then(name).alias(f"matrix_{name}") for name in ("cluster", "single"))
    return clusters.with_columns(*units, *matrix)


def _means_and_spans(size: int) -> list[pl.Expr]:
    """Give means, and the largest distances from them.

    The mean of equal numbers is that number, or rounding would give a constant a variance.
    """
    columns = []
    for i in range(size):
        x = pl.col(f"x_{i}")
        mean = x.mean().clip(x.min(), x.max())
        span = pl.max_horizontal(x.max() - mean, mean - x.min())
        columns += [mean.alias(f"m_{i}"), span.alias(f"u_{i}")]
    return columns


def _power_of_two_unit(span: str, by: list[str]) -> pl.Expr:
    """Give the unit of products, a power of 2 because that divides without rounding."""
    shared = pl.when("dense").then(span).otherwise(pl.col(span).max().over(by))
    return pl.lit(2.0).pow(shared.log(2).floor()).clip(lower_bound=2.0**-500)


def _at_cluster(named: pl.LazyFrame, clusters: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    return join_small(named, [*by, "cluster", "single"], clusters.drop("n"))


def _residual(i: int) -> pl.Expr:
    return pl.col(f"x_{i}") - pl.col(f"m_{i}")


def _fixed_product(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Give a product as Int128; NULL, not an error, where coordinates overflow."""
    return (x * y).cast(pl.Int128, strict=False)


def _matrices(
    named: pl.LazyFrame, clusters: pl.LazyFrame, by: list[str], size: int
) -> pl.LazyFrame:
    """One row a matrix: n, the units u_i, and the sums of products s_i_j in these units."""
    matrix, units = [*by, "dense", "matrix_cluster", "matrix_single"], _column_names("u", size)
    scaled = _at_cluster(named, clusters, by).select(*matrix, *map(_scale_coordinate, range(size)))
    sums = _product_sums(scaled, matrix, size, _fixed_product).with_columns(
        pl.col(_pair_names("s", size)).cast(pl.Float64) * 4.0**-_FACTOR_PLACES
    )
    rest = clusters.group_by(matrix).agg(pl.col("n").sum(), pl.col(units).first())
    return sums.join(rest, on=matrix, nulls_equal=True)


def _scale_coordinate(i: int) -> pl.Expr:
    centerd = _residual(i) - pl.col(f"r_{i}")
    return (centerd / pl.col(f"u_{i}") * 2.0**_FACTOR_PLACES).alias(f"x_{i}")


def _product_sums(
    rows: pl.LazyFrame, by: list[str], size: int, product: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.LazyFrame:
    """Sum the products of each two of the x_i, a block of them at a time."""
    pairs = _coordinate_pairs(size)
    blocks = [pairs[i : i + _PRODUCTS_AT_ONCE] for i in range(0, len(pairs), _PRODUCTS_AT_ONCE)]
    if len(blocks) > 1:
        rows = rows.cache()
    # Products and their sums are two steps: in one, engines before Polars 2 take twice as long.
    products = (
        rows.select(
            *by,
            *(product(pl.col(f"x_{i}"), pl.col(f"x_{j}")).alias(f"s_{i}_{j}") for i, j in block),
        )
        for block in blocks
    )
    first, *others = (block.group_by(by).agg(pl.all().sum()) for block in products)
    return join_partitions(first, by, *others, how="left")


def _pair_names(name: str, size: int) -> list[str]:
    return [f"{name}_{i}_{j}" for i, j in _coordinate_pairs(size)]


def _scatter_entries(name: str, size: int) -> list[pl.Expr]:
    """Give the sums of products in the units of the coordinates."""
    return [
        (pl.col(f"s_{i}_{j}") * pl.col(f"u_{i}") * pl.col(f"u_{j}")).alias(f"{name}_{i}_{j}")
        for i, j in _coordinate_pairs(size)
    ]


def _within_scatter(matrices: pl.LazyFrame, by: list[str], size: int) -> pl.LazyFrame:
    """One row a partition: W, the sum of its matrices."""
    largest = (pl.col(f"u_{i}").max().over(by).alias(f"t_{i}") for i in range(size))
    # Both factors of a ratio are powers of 2: entries change their unit without rounding.
    ratios = [pl.col(f"u_{i}") / pl.col(f"t_{i}") * 2.0**_FACTOR_PLACES for i in range(size)]
    summed = matrices.with_columns(largest).select(
        *by,
        *(pl.col(f"t_{i}").alias(f"u_{i}") for i in range(size)),
        *(
            _fixed_product(pl.col(f"s_{i}_{j}") * ratios[i], ratios[j]).alias(f"s_{i}_{j}")
            for i, j in _coordinate_pairs(size)
        ),
    )
    sums = pl.col(_pair_names("s", size)).sum().cast(pl.Float64) * 4.0**-_FACTOR_PLACES
    totals = summed.group_by(by).agg(pl.col(_column_names("u", size)).first(), sums)
    return totals.select(*by, *_scatter_entries("w", size))


def _between_scatter(clusters: pl.LazyFrame, by: list[str], size: int) -> pl.LazyFrame:
    """One row a partition: B, from the clusters' means; the middle is taken twice as they are."""
    n, rows = pl.col("n"), range(size)
    middles = clusters.group_by(by).agg(
        ((n * (m := pl.col(f"m_{i}"))).sum() / n.sum()).clip(m.min(), m.max()).alias(f"x_{i}")
        for i in rows
    )
    offsets = clusters.join(middles, on=by, nulls_equal=True).select(
        *by,
        "n",
        *((pl.col(f"m_{i}") - pl.col(f"x_{i}") + pl.col(f"r_{i}")).alias(f"m_{i}") for i in rows),
    )
    rests = offsets.group_by(by).agg(
        ((n * pl.col(f"m_{i}")).sum() / n.sum()).alias(f"r_{i}") for i in rows
    )
    weighted = offsets.join(rests, on=by, nulls_equal=True).select(
        *by, *(((pl.col(f"m_{i}") - pl.col(f"r_{i}")) * n.sqrt()).alias(f"x_{i}") for i in rows)
    )
    names = dict(zip(_pair_names("s", size), _pair_names("b", size), strict=True))
    return _product_sums(weighted, by, size, mul).rename(names)


def _scott_symons(matrices: pl.LazyFrame, by: list[str], size: int) -> pl.LazyFrame:
    """One row a dense partition; NaN where a cluster's matrix is singular."""
    dense = matrices.filter("dense").select(*by, "n", *_scatter_entries("w", size))
    terms = dense.map_batches(
        lambda frame: frame.select(*by, term=_scott_symons_terms(frame, size)),
        schema={**dense.select(by).collect_schema(), "term": pl.Float64()},
        **_NO_PUSHDOWN,
    )
    return terms.group_by(by).agg(pl.col("term").sum().alias("scott_symons_index"))


# ----------------------------------------------------------------------------------------------
# Eliminations of many matrices at once
# ----------------------------------------------------------------------------------------------


def _stack_matrices(frame: pl.DataFrame, name: str, size: int) -> Floats:
    """Give symmetric matrices, one a row of the frame."""
    i, j = np.triu_indices(size)
    stack = np.empty((frame.height, size, size))
    stack[:, i, j] = stack[:, j, i] = frame.select(_pair_names(name, size)).to_numpy()
    return stack


def _outer_products(x: Floats, y: Floats) -> Floats:
    return np.asarray(x[:, :, None] * y[:, None, :])


def _eliminate_columns(w: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Eliminate one column a step (Cholesky without roots): its pivots, and its rows over them.

    A pivot is the square of a combination of coordinates. What rounding makes of 0 is in proportion
    to the sum of the squares that are combined: a pivot that is no more is NaN, and so is all that
    follows. Singular matrices reached 0.5 p 2^-52 times this sum in tests; 4 is on the safe side.
    """
    size = w.shape[1]
    combined = np.sqrt(np.diagonal(w, axis1=1, axis2=2))[:, None] * np.eye(size)
    for _ in range(size):
        floors = 4 * size * 2.0**-52 * (combined[:, 0] ** 2).sum(axis=1)
        first = w[:, 0, 0]
        pivots = np.where((first > floors) & np.isfinite(first), first, np.nan)
        slopes = w[:, 0] / pivots[:, None]
        yield pivots, slopes
        w = (w - _outer_products(slopes, w[:, 0]))[:, 1:, 1:]
        combined = (combined - _outer_products(slopes, combined[:, 0]))[:, 1:]


def _transform_step(b: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """Give a step of L^-1 B L^-T, and the first row that it leaves to B without its pivot."""
    rests = b[:, 0] - b[:, 0, :1] * slopes
    return b - _outer_products(slopes, rests) - _outer_products(b[:, 0], slopes), rests


def _eliminate(w: Floats, b: Floats) -> tuple[Floats, Floats, Floats]:
    """Give ln |W|, trace(W^-1 B) and ln(|W + B| / |W|), NaN where W is singular.

    W + B is eliminated as the difference to W, d: its pivots over those of W are 1 + d / w, and a
    small B loses no digits, as it would in ln |W + B| - ln |W|.
    """
    d = b
    log_det, trace, log_ratio = np.zeros((3, len(w)))
    for pivots, slopes in _eliminate_columns(w):
        # At least 0 but for rounding.
        excess = np.maximum(d[:, 0, 0], 0)
        log_det += np.log(pivots)
        trace += b[:, 0, 0] / pivots
        log_ratio += np.log1p(excess / pivots)
        b, _ = _transform_step(b, slopes)
        d, rests = _transform_step(d, slopes)
        d = d - _outer_products(rests, rests / (pivots + excess)[:, None])
        b, d = b[:, 1:, 1:], d[:, 1:, 1:]
    return log_det, trace, log_ratio


def _scott_symons_terms(frame: pl.DataFrame, size: int) -> pl.Series:
    """Give n ln |WG / n| of each cluster."""
    n = frame["n"].to_numpy()
    with np.errstate(all="ignore"):
        log_dets = sum(
            (np.log(w) for w, _ in _eliminate_columns(_stack_matrices(frame, "w", size))),
            np.zeros(len(n)),
        )
    return pl.Series(n * (log_dets - size * np.log(n)))


def _determinant_indices(frame: pl.DataFrame, size: int) -> dict[str, pl.Series]:
    n, k = frame["n"].to_numpy(), frame["k"].to_numpy()
    with np.errstate(all="ignore"):
        log_det, trace, log_ratio = _eliminate(
            _stack_matrices(frame, "w", size), _stack_matrices(frame, "b", size)
        )
        ksq_detw = _finite_exp(2 * np.log(k) + log_det)
    # Whatever rounding says, W is singular for so few points.
    regular = n - k >= size
    values = (_finite_exp(log_ratio), n * log_ratio, ksq_detw, trace)
    detr, log_detr, ksq, trace_wib = (pl.Series(np.where(regular, v, np.nan)) for v in values)
    scott_symons = frame["scott_symons_index"]
    columns = (detr, log_detr, ksq, scott_symons, trace_wib)
    return {i: c.fill_nan(None) for i, c in zip(_DETERMINANT_INDICES, columns, strict=True)}


def _finite_exp(x: Floats) -> Floats:
    """Give exp(x), NaN where that is no number of full precision: no regular determinant is 0."""
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
    """Give the internal indices made from determinants of scatter matrices.

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
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, one row a partition, sorted by it: the partition columns, n points
        that count, n_dropped, n_noise, n_dims, n_clusters, and with T the scatter matrix of all
        points, W within and B between clusters: det_ratio = |T| / |W| (at least 1, best high),
        log_det_ratio = n ln det_ratio (at least 0, best high), ksq_detw_index = k² |W| (best
        low), scott_symons_index = Σ n_C ln |W_C / n_C| (best low) and trace_wib = trace(W⁻¹ B)
        (at least 0, best high). NULL where a matrix is singular, as that of a cluster of no more
        points than dimensions.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    Its time grows with the number of points times the square of that of dimensions.
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
    points = read_points(frame, vector, cluster, options, results=_DETERMINANT_COLUMNS).as_wide()
    single = pl.col("single") if points.has_singletons else pl.lit(0, pl.Int64).alias("single")
    kept = points.kept_rows.select(*points.keys, "cluster", single, *points.vector_columns("x"))
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
