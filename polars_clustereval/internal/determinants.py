"""determinants: indices that are computed from determinants of scatter matrices.

For long vectors, numpy factors the matrix of all points in a partition (see kernels.factorization).
For short vectors, scatter matrices are computed as sums of products, with one column for each pair
of coordinates. Polars sums these columns, and numpy computes the determinants of the resulting
matrices by elimination. The squares of nearly collinear columns lose twice as many digits as the
columns themselves. If an elimination detects nearly collinear columns, the points are read again to
compute the linear combinations of coordinates that the elimination yields. These combinations are
nearly orthogonal, and the determinant stays the same if their products are summed instead.

W is the scatter matrix within the clusters of a partition, B is the scatter matrix between them,
and W_C is the scatter matrix of cluster C. `by` lists the partition columns. x_i is coordinate i of
a row, m_i is its mean over a cluster, r_i is a correction of this mean, and u_i is the unit of the
coordinate. s_i_j is a sum of products of coordinates i and j in these units. w_i_j and b_i_j are
entries of W and B. Combination i is coordinate i plus a weighted sum of the preceding coordinates,
with weights a_i_0, a_i_1, ... The length l_i of coordinate i is the square root of its scatter.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.frames import join_partitions, join_small, map_whole
from polars_clustereval.base.tables import pass_arguments_to, table_function

from .centroids import check_point_options, read_points
from .kernels.elimination import LARGEST_TRACE, eliminate_columns, eliminate_matrices
from .kernels.factorization import factor_scatters
from .kernels.long_vectors import MIN_LONG_DIMS
from .kernels.partitions import Partition, map_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polars_clustereval.base.checks import Column, Frame, Keys, NoiseAs

    from .centroids import Points
    from .kernels.arrays import Floats
    from .kernels.elimination import Step
    from .vectors import Missing, Vector

_DETERMINANT_INDICES = (
    *("det_ratio", "log_det_ratio", "ksq_detw_index", "scott_symons_index", "trace_wib"),
)
_INDEX_SCHEMA = pl.Schema(dict.fromkeys(_DETERMINANT_INDICES, pl.Float64()))


# The number of fraction bits of each factor of a product. Coordinates are less than 4 units, so
# that sums of products are exact as Int128 for 2^38 rows. The rounding error of Float64 sums would
# exceed the threshold that distinguishes singular matrices from others.
_FRACTION_BITS = 42


# Limits for the shares of pivots. A pivot is a difference of squares, and its share is its part of
# these squares (Step.shares). With d coordinates, the rounding error of a sum of products is at
# most 0.5 d 2^-52 of these squares for the singular matrices of the tests, so a pivot of less than
# _UNRELIABLE_SHARE d may be only rounding error. If a share is less than _DELICATE_SHARE, the
# matrix is computed again from combinations, whose rounding error has a share of 2^-104. A matrix
# counts as singular if a share is at most _SINGULAR_SHARE d, because the coordinates themselves are
# rounded, and the determinant would have less than six digits.
_UNRELIABLE_SHARE, _DELICATE_SHARE, _SINGULAR_SHARE = 2.0**-50, 2.0**-10, 2.0**-68


# The maximum bytes per row of the products that are summed in one query, for points and for
# clusters. Each product of two coordinates is a column, and all 2080 products of 64 coordinates
# would take 33 kB as Int128.
_BYTES_PER_POINT, _BYTES_PER_CLUSTER = 2048, 8192


def _summed_totals(points: Points) -> pl.LazyFrame:
    """Return one row per partition with the _DETERMINANT_INDICES.

    Without partition columns, there is always one row. The points are read three times: for the
    means, for the means of the residuals, and for the products, and a fourth time if products of
    combinations are needed. If a cluster has no more points than dimensions, its scatter matrix is
    singular. Then the matrices of single clusters are not needed, and W is summed directly over the
    points.
    """
    keys, columns = points.partition_keys, points.form.columns("x")
    by, n_dims = keys or ["__ce_whole"], len(columns)
    whole = [] if keys else [pl.lit(0).alias("__ce_whole")]
    single = pl.col("singleton_no") if points.has_singletons else pl.lit(0, pl.Int64)
    rows = points.kept_rows.select(
        *keys,
        *whole,
        "cluster",
        singleton_no=single,
        n=pl.lit(1, pl.Int64),
        **{f"x_{i}": pl.col(column) for i, column in enumerate(columns)},
    )
    clusters = _cluster_means(rows, by, n_dims).cache()
    matrices = _scatter_matrices(rows, clusters, by, n_dims).cache()
    own = _add_combinations(_own_scatter(matrices, by, n_dims), n_dims).cache()
    within = _add_combinations(_within_scatter(matrices, by, n_dims), n_dims).cache()
    differences = _mean_differences(clusters, by, n_dims).cache()
    refined = _refine_scatter(own, rows, clusters, [*by, "cluster", "singleton_no"], n_dims)
    scatters = join_partitions(
        clusters.group_by(by).agg(pl.col("n").sum(), pl.len().cast(pl.Int64).alias("n_clusters")),
        by,
        _refine_scatter(within, rows, clusters, by, n_dims),
        _between_scatter(differences, within, by, n_dims),
        _total_log_det(rows, clusters, within, differences, by, n_dims),
        _scott_symons(refined, by, n_dims),
        how="left",
    )
    schema = rows.select(by).collect_schema()
    indices = map_whole(
        scatters,
        lambda frame: frame.select(*by, **_determinant_indices(frame, n_dims)),
        pl.Schema(schema | _INDEX_SCHEMA),
    )
    if keys:
        return indices
    return join_partitions(pl.LazyFrame({by[0]: [0]}), by, indices, how="left").drop(by)


def _coordinate_columns(name: str, n_dims: int) -> list[str]:
    """Return one column name per coordinate: name_0, name_1, ..."""
    return [f"{name}_{i}" for i in range(n_dims)]


def _coordinates(n_dims: int) -> list[pl.Expr]:
    """Return the coordinates x_0, x_1, ... of a row."""
    return [pl.col(name) for name in _coordinate_columns("x", n_dims)]


def _coordinate_pairs(n_dims: int) -> list[tuple[int, int]]:
    """Return the coordinate pairs (i, j) with i <= j, which form the upper triangle of a matrix."""
    return [(i, j) for i in range(n_dims) for j in range(i, n_dims)]


def _pair_columns(name: str, n_dims: int) -> list[str]:
    """Return one column name per pair of coordinates: name_0_0, name_0_1, ..."""
    return [f"{name}_{i}_{j}" for i, j in _coordinate_pairs(n_dims)]


def _coefficient_columns(n_dims: int) -> list[str]:
    """Return the names of the coefficients that are not always 0 or 1: a_1_0, a_2_0, a_2_1, ..."""
    return [f"a_{i}_{j}" for i in range(n_dims) for j in range(i)]


# ----------------------------------------------------------------------------------------------
# Aggregates
# ----------------------------------------------------------------------------------------------


def _cluster_means(rows: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return each cluster's size n, its means m_i + r_i, and the key of its scatter matrix.

    Means are computed twice, because for coordinates near 1e8, the first mean is off by 1e-8. The
    second mean, r_i, is the mean of the residuals x_i - m_i.

    If all clusters of a partition have more points than dimensions, own_matrices is true, and each
    cluster has its own scatter matrix. Otherwise the partition has a single matrix. matrix_cluster
    and matrix_singleton_no identify a matrix in its partition, and are NULL if own_matrices is
    false. u_i is the unit of coordinate i in the matrix (see _power_of_two_unit).
    """
    cluster = [*by, "cluster", "singleton_no"]
    # This is cached, because a second evaluation may yield means that differ in the last digit.
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
    """Return the mean m_i of each coordinate i in a cluster, and its largest deviation u_i from it.

    Means are clamped to the range of the values, because rounding would otherwise give a constant
    coordinate a nonzero variance.
    """
    columns = []
    for i in range(n_dims):
        x = pl.col(f"x_{i}")
        mean = x.mean().clip(x.min(), x.max())
        span = pl.max_horizontal(x.max() - mean, mean - x.min())
        columns += [mean.alias(f"m_{i}"), span.alias(f"u_{i}")]
    return columns


def _power_of_two_unit(span: str, by: list[str]) -> pl.Expr:
    """Return the largest power of 2 up to a coordinate's largest deviation, its unit in a matrix.

    Division by a power of 2 causes no rounding error. If own_matrices is false, all clusters of a
    partition use the largest of the units.
    """
    shared = pl.when("own_matrices").then(span).otherwise(pl.col(span).max().over(by))
    return pl.lit(2.0).pow(shared.log(2).floor()).clip(lower_bound=2.0**-500)


def _join_clusters(rows: pl.LazyFrame, clusters: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Return the points with the columns of _cluster_means, except n."""
    return join_small(rows, [*by, "cluster", "singleton_no"], clusters.drop("n"))


def _residual(i: int) -> pl.Expr:
    """Return coordinate i of a point minus m_i, its cluster's mean from the first read."""
    return pl.col(f"x_{i}") - pl.col(f"m_{i}")


def _centered(i: int) -> pl.Expr:
    """Return coordinate i of a point minus the mean m_i + r_i of its cluster."""
    return _residual(i) - pl.col(f"r_{i}")


def _fixed_point_product(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Return the product of fixed-point numbers as an exact Int128, or NULL if it is too large."""
    return (x * y).cast(pl.Int128, strict=False)


def _scatter_matrices(
    rows: pl.LazyFrame, clusters: pl.LazyFrame, by: list[str], n_dims: int
) -> pl.LazyFrame:
    """Return one row per scatter matrix, with its key, n, units u_i, and sums of products s_i_j."""
    matrix = [*by, "own_matrices", "matrix_cluster", "matrix_singleton_no"]
    units = _coordinate_columns("u", n_dims)
    joined = _join_clusters(rows, clusters, by)
    # The unit of the fixed-point columns x_i is u_i / 2^_FRACTION_BITS.
    scaled = joined.select(
        *matrix,
        *(
            (_centered(i) / pl.col(f"u_{i}") * 2.0**_FRACTION_BITS).alias(f"x_{i}")
            for i in range(n_dims)
        ),
    )
    sums = _product_sums(
        scaled, matrix, n_dims, _fixed_point_product, _BYTES_PER_POINT // 16
    ).with_columns(pl.col(_pair_columns("s", n_dims)).cast(pl.Float64) * 4.0**-_FRACTION_BITS)
    sizes = clusters.group_by(matrix).agg(pl.col("n").sum(), pl.col(units).first())
    return sums.join(sizes, on=matrix, nulls_equal=True)


def _product_sums(
    rows: pl.LazyFrame,
    by: list[str],
    n_dims: int,
    product: Callable[[pl.Expr, pl.Expr], pl.Expr] = mul,
    at_a_time: int = _BYTES_PER_POINT // 8,
) -> pl.LazyFrame:
    """Return the sums s_i_j (i <= j) of x_i x_j by group, with at most `at_a_time` in each step."""
    pairs = _coordinate_pairs(n_dims)
    blocks = [pairs[i : i + at_a_time] for i in range(0, len(pairs), at_a_time)]
    if len(blocks) > 1:
        rows = rows.cache()
    # Before Polars 2, computing products and sums in a single step takes twice as long.
    products = (
        rows.select(
            *by,
            *(product(pl.col(f"x_{i}"), pl.col(f"x_{j}")).alias(f"s_{i}_{j}") for i, j in block),
        )
        for block in blocks
    )
    first, *others = (block.group_by(by).agg(pl.all().sum()) for block in products)
    return join_partitions(first, by, *others, how="left")


def _scatter_entries(n_dims: int) -> list[pl.Expr]:
    """Return the entries s_i_j u_i u_j (i <= j) of scatter matrices as the columns w_i_j."""
    return [
        (pl.col(f"s_{i}_{j}") * pl.col(f"u_{i}") * pl.col(f"u_{j}")).alias(f"w_{i}_{j}")
        for i, j in _coordinate_pairs(n_dims)
    ]


def _within_scatter(matrices: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return the entries w_i_j of W, the sum of a partition's scatter matrices."""
    largest = (pl.col(f"u_{i}").max().over(by).alias(f"t_{i}") for i in range(n_dims))
    # Units are powers of 2, so the conversion to the larger unit causes no rounding error.
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
    return totals.select(*by, *_scatter_entries(n_dims))


def _own_scatter(matrices: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return the key, n and the entries w_i_j of W_C for each cluster with own_matrices."""
    key = (pl.col(f"matrix_{name}").alias(name) for name in ("cluster", "singleton_no"))
    entries = _scatter_entries(n_dims)
    return matrices.filter("own_matrices").select(*by, *key, "n", *entries)


def _mean_differences(clusters: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return each cluster's key, its size n, and its mean minus the partition's mean as x_i.

    To avoid a loss of digits, the partition's mean is computed twice. The second mean is the mean
    of the differences from the first.
    """
    n, dims, key = pl.col("n"), range(n_dims), (*by, "cluster", "singleton_no")
    middles = clusters.group_by(by).agg(
        ((n * (m := pl.col(f"m_{i}"))).sum() / n.sum()).clip(m.min(), m.max()).alias(f"x_{i}")
        for i in dims
    )
    differences = clusters.join(middles, on=by, nulls_equal=True).select(
        *key,
        "n",
        *((pl.col(f"m_{i}") - pl.col(f"x_{i}") + pl.col(f"r_{i}")).alias(f"m_{i}") for i in dims),
    )
    mean_differences = differences.group_by(by).agg(
        ((n * pl.col(f"m_{i}")).sum() / n.sum()).alias(f"r_{i}") for i in dims
    )
    return differences.join(mean_differences, on=by, nulls_equal=True).select(
        *key, "n", *((pl.col(f"m_{i}") - pl.col(f"r_{i}")).alias(f"x_{i}") for i in dims)
    )


def _between_scatter(
    differences: pl.LazyFrame, within: pl.LazyFrame, by: list[str], n_dims: int
) -> pl.LazyFrame:
    """Return the entries b_i_j of B for the combinations of coordinates in `within`."""
    coefficients = within.select(*by, *_coefficient_columns(n_dims))
    joined = differences.join(coefficients, on=by, nulls_equal=True)
    return _weighted_product_sums(joined, by, _combinations(_coordinates(n_dims)))


def _weighted_product_sums(
    differences: pl.LazyFrame, by: list[str], x: list[pl.Expr]
) -> pl.LazyFrame:
    """Return the sums b_i_j of n x_i x_j over clusters, grouped by the columns `by`."""
    weighted = differences.select(*by, *(a * pl.col("n").sqrt() for a in x))
    names = dict(zip(_pair_columns("s", len(x)), _pair_columns("b", len(x)), strict=True))
    sums = _product_sums(weighted, by, len(x), at_a_time=_BYTES_PER_CLUSTER // 8)
    return sums.rename(names)


def _total_log_det(
    rows: pl.LazyFrame,
    clusters: pl.LazyFrame,
    within: pl.LazyFrame,
    differences: pl.LazyFrame,
    by: list[str],
    n_dims: int,
) -> pl.LazyFrame:
    """Return total_log_det = ln |T| of the scatter T of all points, or NaN if T is singular."""
    between = _weighted_product_sums(differences, by, _coordinates(n_dims))
    sums = (
        (pl.col(w) + pl.col(b)).alias(w)
        for w, b in zip(_pair_columns("w", n_dims), _pair_columns("b", n_dims), strict=True)
    )
    total = within.join(between, on=by, nulls_equal=True).select(*by, *sums)
    shifts = differences.drop("n").rename({f"x_{i}": f"shift_{i}" for i in range(n_dims)})
    moved = clusters.join(shifts, on=[*by, "cluster", "singleton_no"], nulls_equal=True)
    # With these values of r_i, points are centered on the mean of the partition.
    moved = moved.with_columns(pl.col(f"r_{i}") - pl.col(f"shift_{i}") for i in range(n_dims))
    moved = moved.drop(_coordinate_columns("shift", n_dims))
    refined = _refine_scatter(_add_combinations(total, n_dims).cache(), rows, moved, by, n_dims)
    return map_whole(
        refined,
        lambda frame: frame.select(*by, total_log_det=pl.Series(_log_dets(frame, n_dims))),
        pl.Schema(rows.select(by).collect_schema() | {"total_log_det": pl.Float64()}),
    )


def _scott_symons(scatters: pl.LazyFrame, by: list[str], n_dims: int) -> pl.LazyFrame:
    """Return scott_symons_index where own_matrices, or NaN if any matrix is singular."""

    def terms_of_clusters(frame: pl.DataFrame) -> pl.DataFrame:
        """Return n ln |W_C / n| for each cluster, or NaN if W_C is singular."""
        n = frame["n"].to_numpy()
        term = n * (_log_dets(frame, n_dims) - n_dims * np.log(n))
        return frame.select(*by, term=pl.Series(term))

    schema = pl.Schema(scatters.select(by).collect_schema() | {"term": pl.Float64()})
    terms = map_whole(scatters, terms_of_clusters, schema)
    return terms.group_by(by).agg(pl.col("term").sum().alias("scott_symons_index"))


# ----------------------------------------------------------------------------------------------
# Combinations of coordinates
# ----------------------------------------------------------------------------------------------


def _combinations(x: list[pl.Expr]) -> list[pl.Expr]:
    """Return linear combinations of the coordinates x, with coefficients a_i_j, as columns x_i."""
    return [
        sum((pl.col(f"a_{i}_{j}") * x[j] for j in range(i)), x[i]).alias(f"x_{i}")
        for i in range(len(x))
    ]


def _add_combinations(scatters: pl.LazyFrame, n_dims: int) -> pl.LazyFrame:
    """Return the scatter matrices w_i_j with the added columns is_delicate, l_i and a_i_j.

    For a delicate matrix (see _choose_combinations), the combinations come from its elimination.
    For others, they are the coordinates themselves: every a_i_j is 0. The determinant of the
    transformation is 1, even if the coefficients are rounded.
    """
    names = [*_coordinate_columns("l", n_dims), *_coefficient_columns(n_dims)]
    added = {"is_delicate": pl.Boolean(), **dict.fromkeys(names, pl.Float64())}
    return map_whole(
        scatters,
        lambda frame: frame.with_columns(**_choose_combinations(frame, n_dims)),
        pl.Schema({**scatters.collect_schema(), **added}),
    )


def _refine_scatter(
    scatters: pl.LazyFrame, rows: pl.LazyFrame, clusters: pl.LazyFrame, key: list[str], n_dims: int
) -> pl.LazyFrame:
    """Return `scatters` with w_i_j recomputed, for delicate matrices, from the combinations."""
    delicate = scatters.filter("is_delicate").select(*key, *_coefficient_columns(n_dims))
    by = [name for name in key if name not in ("cluster", "singleton_no")]
    joined = _join_clusters(rows, clusters.join(delicate, on=key, nulls_equal=True), by)
    combined = joined.select(*key, *_combinations([_centered(i) for i in range(n_dims)]))
    sums = _product_sums(combined, key, n_dims)
    pairs = zip(_pair_columns("w", n_dims), _pair_columns("s", n_dims), strict=True)
    return scatters.join(sums, on=key, how="left", nulls_equal=True).with_columns(
        pl.coalesce(s, w).alias(w) for w, s in pairs
    )


# ----------------------------------------------------------------------------------------------
# Eliminations
# ----------------------------------------------------------------------------------------------


def _stack_matrices(frame: pl.DataFrame, name: str, n_dims: int) -> Floats:
    """Return, for each row, the symmetric matrix (d, d) with the entries name_i_j (i <= j)."""
    i, j = np.triu_indices(n_dims)
    stack = np.empty((frame.height, n_dims, n_dims))
    stack[:, i, j] = stack[:, j, i] = frame.select(_pair_columns(name, n_dims)).to_numpy()
    return stack


def _choose_combinations(frame: pl.DataFrame, n_dims: int) -> dict[str, pl.Series]:
    """Return the columns is_delicate, l_i and a_i_j for scatter matrices with the entries w_i_j.

    A matrix is delicate if a pivot has lost many digits and no coordinate is constant.
    """
    w = _stack_matrices(frame, "w", n_dims)
    with np.errstate(all="ignore"):
        lengths = np.sqrt(np.diagonal(w, axis1=1, axis2=2))
        own = np.broadcast_to(np.eye(n_dims), w.shape)
        steps = list(eliminate_columns(w, lengths, own, _UNRELIABLE_SHARE))
    least = np.min([step.shares for step in steps], axis=0)
    is_delicate = (least < _DELICATE_SHARE) & (lengths.min(axis=1) > 0)
    coefficients = np.stack([step.coefficients for step in steps], axis=1)
    coefficients[~is_delicate] = np.eye(n_dims)
    columns = {"is_delicate": is_delicate}
    columns |= {f"l_{i}": lengths[:, i] for i in range(n_dims)}
    columns |= {f"a_{i}_{j}": coefficients[:, i, j] for i in range(n_dims) for j in range(i)}
    return {name: pl.Series(values) for name, values in columns.items()}


def _eliminate_refined(frame: pl.DataFrame, n_dims: int) -> Iterator[Step]:
    """Yield the elimination steps for the matrices in `frame`, a result of _refine_scatter."""
    lengths = frame.select(_coordinate_columns("l", n_dims)).to_numpy()
    coefficients = np.tile(np.eye(n_dims), (frame.height, 1, 1))
    for i, j in zip(*np.tril_indices(n_dims, -1), strict=True):
        coefficients[:, i, j] = frame[f"a_{i}_{j}"].to_numpy()
    w = _stack_matrices(frame, "w", n_dims)
    return eliminate_columns(w, lengths, coefficients, _SINGULAR_SHARE)


def _log_dets(frame: pl.DataFrame, n_dims: int) -> Floats:
    """Return ln |W| for the matrix W in each row of _refine_scatter, or NaN if W is singular."""
    with np.errstate(all="ignore"):
        logs = (np.log(step.pivots) for step in _eliminate_refined(frame, n_dims))
        return sum(logs, np.zeros(frame.height))


def _determinant_indices(frame: pl.DataFrame, n_dims: int) -> dict[str, pl.Series]:
    """Return the index columns of partitions (one per row), with NULL for singular matrices."""
    n, n_clusters = frame["n"].to_numpy(), frame["n_clusters"].to_numpy()
    with np.errstate(all="ignore"):
        log_det, trace, log_ratio = eliminate_matrices(
            _eliminate_refined(frame, n_dims), _stack_matrices(frame, "b", n_dims)
        )
        # The rounding error of log_ratio increases with the trace.
        of_total = frame["total_log_det"].to_numpy() - log_det
        of_between = np.where(trace <= LARGEST_TRACE, log_ratio, np.nan)
        log_ratio = np.where((trace > 1) & ~np.isnan(of_total), of_total, of_between)
        ksq_detw = _finite_exp(2 * np.log(n_clusters) + log_det)
    # With fewer points, W is singular, even if rounding errors hide this.
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
    """Return exp(x), or NaN if it is not a normal Float64, as 0 would mean a singular matrix."""
    return np.where((x >= -708) & (x <= 709), np.exp(x), np.nan)


# ----------------------------------------------------------------------------------------------
# Long vectors
# ----------------------------------------------------------------------------------------------


def _factored_indices(part: Partition) -> pl.DataFrame:
    """Return one partition's row of indices, with NULL for singular matrices."""
    indices = factor_scatters(part, _SINGULAR_SHARE)
    log_det = 2 * np.log(max(1, len(part.sizes))) + indices.log_det
    exponents = np.array([indices.log_ratio, log_det])
    det_ratio, ksq_detw = _finite_exp(exponents).tolist()
    log_det_ratio = len(part.x) * indices.log_ratio
    row = [det_ratio, log_det_ratio, ksq_detw, indices.scott_symons, indices.trace]
    return pl.DataFrame([row], schema=_INDEX_SCHEMA, orient="row").fill_nan(None)


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points", guide="internal")
def determinant_report(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    missing: Missing = "error",
    metrics: Sequence[str] | None = None,
) -> Frame:
    """Internal indices that are computed from determinants of scatter matrices.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The points to evaluate, one per row. A LazyFrame is read when you collect the result, and it
        is streamed if there are fewer than 32 dimensions.
    vector, cluster, partition_by, noise, noise_as, missing : as in internal_report
    metrics : sequence of str, optional
        Columns to return after the partition columns, in this order. By default, all columns are
        returned. Work needed only for other columns is skipped.

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per partition, sorted. The columns are the partition columns,
        n (the number of points counted), n_dropped, n_noise, n_dims, n_clusters, and these indices:

        - det_ratio = |T| / |W| (range [1, inf), best high).
        - log_det_ratio = n ln det_ratio (range [0, inf), best high).
        - ksq_detw_index = k² |W| (range (0, inf), best low).
        - scott_symons_index = Σ n_C ln |W_C / n_C| (range unbounded, best low).
        - trace_wib = trace(W⁻¹ B) (range [0, inf), best high).

        T, W and B are the total, within-cluster and between-cluster scatter matrices. W_C is the
        scatter matrix of cluster C, and k is the number of clusters. scott_symons_index is NULL if
        any W_C is singular, and the other indices are NULL if W is singular. W_C is singular if
        cluster C has no more points than dimensions.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report.

    Notes
    -----
    The running time grows with the number of points times the square of the number of dimensions.
    With 32 or more dimensions, all points are in memory. If columns are nearly collinear, for
    example y = 2 x + ε times noise, the relative error of the determinants is 1e-16 / ε to 1e-15 /
    ε. Your coordinates already contain this error, because their last digits are part of the noise.
    Below 32 dimensions, nearly collinear columns roughly triple the running time. A matrix counts
    as singular if a column equals a linear combination of other columns up to a relative error of
    about 1e-10 (√d 2⁻³⁴ for d dimensions). The SQL macro accepts at most 500 dimensions.
    In SQL: ``FROM clustereval.determinant_report(tbl, [x, y], cluster)``.

    References
    ----------
    Scott and Symons (1971), doi:10.2307/2529003; Marriott (1971), doi:10.2307/2528592; Friedman and
    Rubin (1967), doi:10.1080/01621459.1967.10500923.

    Examples
    --------
    In one dimension, |T| / |W| is sst / ssw:

    >>> four = pl.DataFrame({"x": [0, 2, 9, 13], "cluster": ["a", "a", "b", "b"]})
    >>> ce.determinant_report(four, ["x"], "cluster")["det_ratio"].to_list()
    [11.0]
    """
    options = pass_arguments_to(check_point_options)
    points = read_points(frame, vector, cluster, options, results=_DETERMINANT_COLUMNS)
    if points.form.dims >= MIN_LONG_DIMS:
        determinants = map_partitions(points, _factored_indices, _INDEX_SCHEMA)
    else:
        determinants = _summed_totals(points)
    report = join_partitions(points.row_counts, points.partition_keys, determinants, how="left")
    return points.to_result(
        frame, report.select(*points.keys, *_DETERMINANT_COLUMNS), metrics=metrics
    )


_DETERMINANT_COLUMNS = ("n", "n_dropped", "n_noise", "n_dims", "n_clusters", *_DETERMINANT_INDICES)
