"""long_vectors: numpy functions for vectors with many coordinates, applied to streamed rows.

For short vectors, storing one column per coordinate is fastest. For long vectors, this layout would
require the engine to plan and process hundreds of columns. Therefore, long vectors are stored as
one column of arrays, and numpy reads the batches of that column in place as matrices.

A function with "batch" in its name computes the values of the similarly named expression for the
rows of one batch. `numbers` (m,) holds the cluster number of each row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.base.frames import map_whole

from .arrays import measure_differences, minkowski_lengths
from .streams import map_stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .arrays import Floats, Integers

#: Number of coordinates from which a vector is long.
MIN_LONG_DIMS = 32
#: The number of coordinates that are processed at a time; they fit into the cache of a core.
COORDINATES_PER_BLOCK = 2**17
#: Up to this number of clusters in a block, each cluster is summed separately.
CLUSTERS_SUMMED_SINGLY = 32


def read_matrix(vectors: pl.Series) -> NDArray[Any]:
    """Return a column of arrays as a matrix (m, d) with one array per row and the same dtype.

    Missing arrays become rows of NaN.
    """
    dims = vectors.dtype.shape[0] if isinstance(vectors.dtype, pl.Array) else 0
    return vectors.to_numpy().reshape(len(vectors), dims)


def to_matrix(vectors: pl.Series) -> Floats:
    """Return a column of arrays as a float64 matrix (m, d) with one array per row.

    Missing arrays become rows of NaN.
    """
    return np.ascontiguousarray(read_matrix(vectors), dtype=np.float64)


def split_rows(rows: Any, dims: int) -> Iterator[Any]:
    """Yield slices of a range or an array of row numbers, of about COORDINATES_PER_BLOCK each."""
    step = max(1, COORDINATES_PER_BLOCK // dims)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def allocate_block(x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """Return an uninitialized matrix for all blocks of rows of x from split_rows.

    Allocation takes longer than computation.
    """
    rows = min(len(x), COORDINATES_PER_BLOCK // x.shape[1])
    return np.empty((max(1, rows), x.shape[1]), dtype)


# ----------------------------------------------------------------------------------------------
# Columns of arrays
# ----------------------------------------------------------------------------------------------


def _lists_to_arrays(lists: pl.Series, dims: int) -> pl.Series:
    """Return lists as arrays of `dims` elements, with NULL for lists of any other length."""
    fits = lists.list.len() == dims
    if not fits.all():
        lists = lists.zip_with(fits.fill_null(False), pl.Series([None], dtype=lists.dtype))
    return lists.list.to_array(dims)


def as_arrays(lists: pl.Expr, inner: pl.DataType, dims: int) -> pl.Expr:
    """Return lists as arrays of `dims` elements, or NULL for a list of another length."""
    dtype = pl.Array(inner, dims)
    return lists.map_batches(
        partial(_lists_to_arrays, dims=dims), return_dtype=dtype, is_elementwise=True
    )


def _scale_batch(vectors: pl.Series, factors: Floats, *, unit: bool) -> pl.Series:
    """Compute the values of `scale` for one batch of arrays."""
    with np.errstate(all="ignore"):
        x = read_matrix(vectors) * factors
        return _to_series(_to_unit_length(x) if unit else x)


def scale(vectors: pl.Expr, factors: Sequence[float], *, unit: bool) -> pl.Expr:
    """Return arrays multiplied by one factor per coordinate and, if `unit`, scaled to length 1."""
    if not unit and all(factor == 1 for factor in factors):
        return vectors
    return vectors.map_batches(
        partial(_scale_batch, factors=np.array(factors), unit=unit),
        return_dtype=pl.Array(pl.Float64, len(factors)),
        is_elementwise=True,
    )


def _unscale_batch(both: pl.Series, factors: Floats) -> pl.Series:
    """Compute the values of `unscale` for a batch of structs with fields x and origin."""
    origins = read_origins(both.struct.field("origin"), len(factors))
    # Origins are infinite where distances overflow, which is an error.
    with np.errstate(all="ignore"):
        return _to_series(to_matrix(both.struct.field("x")) / factors + origins).arr.to_list()


def unscale(vectors: pl.Expr, origins: pl.Expr, factors: Sequence[float]) -> pl.Expr:
    """Return vectors / factors + origins as lists, which reverses `subtract_origin` and `scale`.

    An origin that is NULL is a list of zeros.
    """
    return pl.struct(x=vectors, origin=origins).map_batches(
        partial(_unscale_batch, factors=np.array(factors)),
        return_dtype=pl.List(pl.Float64),
        is_elementwise=True,
    )


def _to_series(x: Floats) -> pl.Series:
    """Return the rows of x (m, d) as a series of arrays."""
    return pl.Series(x, dtype=pl.Array(pl.Float64, x.shape[1]))


# ----------------------------------------------------------------------------------------------
# Origins of partitions
# ----------------------------------------------------------------------------------------------


def find_origins(
    rows: pl.LazyFrame,
    by: list[str],
    keys: list[str],
    factors: Sequence[float],
    name: str,
    p: float,
    small_spread: float,
    small_square: float,
) -> pl.LazyFrame:
    """Return one row per partition, with its origin as defined by VectorForm.

    The origin is NULL if all of its coordinates would be 0, infinite if distances overflow, and NaN
    if they underflow, because no squared distance is above `small_square`. A spread counts as small
    if it is below `small_spread` times the origin. `by` and `keys` identify a cluster and its
    partition.

    The extremes of the clusters are computed for each batch of rows, and only these extremes are
    kept in memory.
    """
    types = dict(rows.select(by).collect_schema())
    array = pl.Array(pl.Float64, len(factors))
    extremes = pl.Schema(types | {"size": pl.Int64(), "low": array, "high": array})
    schema = pl.Schema({key: types[key] for key in keys} | {"origin": pl.List(pl.Float64)})
    batch_extremes = partial(_batch_extremes, by=by, schema=extremes)
    batches = map_stream(rows.select(*by, "raw_x"), batch_extremes, extremes)

    def origins_of_extremes(batches: pl.DataFrame) -> pl.DataFrame:
        """Return the origins computed from the results of _batch_extremes for all batches."""
        if batches.is_empty():
            # Without partition columns, there is one row even in this case.
            return pl.DataFrame({} if keys else {"origin": [None]}, schema=schema)
        with np.errstate(all="ignore"):
            partitions, sizes, low, high, spread = _merge_extremes(batches, by, keys)
            spread = np.minimum(spread, np.where(low < high, high - low, np.inf))
            nearest = np.where(low > 0, low, np.where(high < 0, high, 0.0))
            origins = np.where(spread < np.abs(nearest) * small_spread, nearest, 0.0)
            diagonals = measure_differences((high - low) * np.array(factors), name, p)
            squares = diagonals if name == "sqeuclidean" else diagonals**2
            origins[~np.isfinite(squares * sizes.astype(np.float64) ** 2)] = np.inf
            origins[(squares < small_square) & (low < high).any(axis=1)] = np.nan
        lists = _to_series(origins).arr.to_list()
        is_moved = pl.Series(origins.any(axis=1))
        lists = lists.zip_with(is_moved, pl.Series([None], dtype=lists.dtype))
        return append_columns(partitions, keys, [lists], schema)

    return map_whole(batches, origins_of_extremes, schema)


def find_extremes(rows: pl.LazyFrame, by: list[str], dims: int) -> pl.LazyFrame:
    """Return one row per cluster, with its size, and the extremes low and high of raw_x."""
    array = pl.Array(pl.Float64, dims)
    types = dict(rows.select(by).collect_schema()) | {"size": pl.Int64()}
    schema = pl.Schema(types | {"low": array, "high": array})
    batch_extremes = partial(_batch_extremes, by=by, schema=schema)
    batches = map_stream(rows.select(*by, "raw_x"), batch_extremes, schema)

    def merge_by_cluster(batches: pl.DataFrame) -> pl.DataFrame:
        """Return the results of _batch_extremes for all batches, merged by cluster."""
        if batches.is_empty():
            return batches
        clusters, numbers = number_groups(batches, by)
        return append_columns(clusters, by, _cluster_extremes(batches, numbers), schema)

    return map_whole(batches, merge_by_cluster, schema)


def _cluster_extremes(batches: pl.DataFrame, numbers: Integers) -> tuple[Integers, Floats, Floats]:
    """Return the sizes (k,) and extremes (k, d) of clusters, from the rows of all batches."""
    return (
        sum_by_number(batches["size"].to_numpy(), numbers),
        reduce_by_number(np.minimum, to_matrix(batches["low"]), numbers),
        reduce_by_number(np.maximum, to_matrix(batches["high"]), numbers),
    )


def _batch_extremes(batch: pl.DataFrame, by: list[str], schema: pl.Schema) -> pl.DataFrame:
    """Return the size of each cluster in a batch, and the extremes of each of its coordinates.

    The extremes are NaN if a coordinate is NaN or a vector is missing. Such values are reported
    when the distances are checked.
    """
    if batch.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, numbers = number_groups(batch, by)
    x, order = read_matrix(batch["raw_x"]), np.argsort(numbers, kind="stable")
    part_numbers, lows, highs = [], [], []
    for rows in split_rows(order, x.shape[1]):
        starts = np.flatnonzero(np.diff(numbers[rows], prepend=-1))
        block = x[rows]
        part_numbers.append(numbers[rows[starts]])
        lows.append(np.minimum.reduceat(block, starts))
        highs.append(np.maximum.reduceat(block, starts))
    parts = np.concatenate(part_numbers)
    low = reduce_by_number(np.minimum, np.concatenate(lows), parts)
    high = reduce_by_number(np.maximum, np.concatenate(highs), parts)
    return append_columns(clusters, by, [np.bincount(numbers), low, high], schema)


def _merge_extremes(
    batches: pl.DataFrame, by: list[str], keys: list[str]
) -> tuple[pl.DataFrame, Integers, Floats, Floats, Floats]:
    """Return a frame of the partitions and four arrays, each with one row per partition.

    The arrays hold the number of points and, for each coordinate, the smallest value, the largest
    value, and the smallest positive spread (difference of extremes) of a cluster, or infinity.
    """
    clusters, numbers = number_groups(batches, by)
    sizes, low, high = _cluster_extremes(batches, numbers)
    partitions, numbers = number_groups(clusters, keys)
    spread = np.where(low < high, high - low, np.inf)
    return (
        partitions,
        sum_by_number(sizes, numbers),
        reduce_by_number(np.minimum, low, numbers),
        reduce_by_number(np.maximum, high, numbers),
        reduce_by_number(np.minimum, spread, numbers),
    )


def read_origins(origins: pl.Series, dims: int) -> Floats:
    """Return lists of `dims` coordinates as a matrix (m, dims), with zeros for missing lists."""
    x = np.zeros((len(origins), dims))
    is_given = origins.is_not_null()
    x[is_given.to_numpy()] = to_matrix(origins.filter(is_given).list.to_array(dims))
    return x


def _subtract_origin_batch(both: pl.Series, dims: int) -> pl.Series:
    """Compute the values of `subtract_origin` for a batch of structs with fields x and origin."""
    x, origins = both.struct.field("x"), both.struct.field("origin")
    if origins.null_count() == len(origins):
        return x.cast(pl.Array(pl.Float64, dims))
    # Origins are infinite where distances overflow, which is an error.
    with np.errstate(all="ignore"):
        return _to_series(read_matrix(x) - read_origins(origins, dims))


def subtract_origin(vectors: pl.Expr, origins: pl.Expr, dims: int) -> pl.Expr:
    """Return arrays of `dims` elements minus lists, where NULL is a list of zeros."""
    return pl.struct(x=vectors, origin=origins).map_batches(
        partial(_subtract_origin_batch, dims=dims),
        return_dtype=pl.Array(pl.Float64, dims),
        is_elementwise=True,
    )


# ----------------------------------------------------------------------------------------------
# Centers of clusters
# ----------------------------------------------------------------------------------------------


def compute_centers(
    rows: pl.LazyFrame, by: list[str], keys: list[str], dims: int, *, unit: bool
) -> pl.LazyFrame:
    """Return one row per cluster, with its size, and arrays m (mean), v (variances), c and g.

    The centers c and g of the cluster and of its partition are means, scaled to length 1 if `unit`.
    The totals are those of VectorForm.variance_totals. `by` and `keys` identify a cluster and its
    partition.

    For each batch of rows, the cluster means and the sums of squares about these means are
    computed. Only these results are kept in memory and merged by cluster.
    """
    array = pl.Array(pl.Float64, dims)
    types: dict[str, Any] = dict(rows.select(by).collect_schema()) | {"size": pl.Int64()}
    batch_schema = pl.Schema(types | {"means": array, "squares": array})
    schema = pl.Schema(
        types | dict.fromkeys("mcvg", array) | dict.fromkeys(VARIANCE_TOTALS, pl.Float64())
    )
    average = partial(_average_batch, by=by, schema=batch_schema)
    batches = map_stream(rows.select(*by, "x"), average, batch_schema)
    merge = partial(_merge_batches, by=by, keys=keys, unit=unit, schema=schema)
    return map_whole(batches, merge, schema)


VARIANCE_TOTALS = ("mean_between_share", "total_squares_norm")


def number_groups(rows: pl.DataFrame, by: list[str]) -> tuple[pl.DataFrame, Integers]:
    """Return the distinct values of the columns `by`, and the group number (m,) of each row.

    Groups are numbered from 0 in the order of the returned values. If `by` is empty, all rows form
    one group.
    """
    if not by:
        return rows.select(pl.lit(0)).head(1), np.zeros(len(rows), np.int64)
    rows = rows.select(by)
    groups = rows.unique(maintain_order=True)
    numbered = groups.with_row_index("number")
    joined = rows.join(numbered, on=by, nulls_equal=True, how="left", maintain_order="left")
    return groups, joined["number"].to_numpy()


def append_columns(
    groups: pl.DataFrame, keys: list[str], arrays: Sequence[Any], schema: pl.Schema
) -> pl.DataFrame:
    """Return the columns `keys` of `groups`, followed by `arrays` as the remaining columns."""
    names = list(schema)[len(keys) :]
    columns = [pl.Series(name, x, schema[name]) for name, x in zip(names, arrays, strict=True)]
    return groups.select(keys).hstack(columns) if keys else pl.DataFrame(columns)


def _average_batch(batch: pl.DataFrame, by: list[str], schema: pl.Schema) -> pl.DataFrame:
    """Return one row per cluster in a batch: its size, means, and sums of squared deviations."""
    if batch.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, numbers = number_groups(batch, by)
    # An overflow becomes visible in the distances, which are checked.
    with np.errstate(all="ignore"):
        moments = _cluster_moments(read_matrix(batch["x"]), numbers)
    return append_columns(clusters, by, moments, schema)


def _cluster_moments(x: NDArray[Any], numbers: Integers) -> tuple[Integers, Floats, Floats]:
    """Return the sizes (k,), means and sums of squared deviations (k, d) of k clusters."""
    order = np.argsort(numbers, kind="stable")
    block, read_block = allocate_block(x), allocate_block(x, x.dtype)
    parts = []
    for rows in split_rows(order, x.shape[1]):
        read_rows = np.take(x, rows, axis=0, out=read_block[: len(rows)], mode="clip")
        np.copyto(block[: len(rows)], read_rows)
        parts.append(_moments_of_block(block[: len(rows)], numbers[rows]))
    return _pool_moments(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _moments_of_block(x: Floats, numbers: Integers) -> tuple[Integers, Integers, Floats, Floats]:
    """Return the numbers, sizes, means and sums of squared deviations of the clusters in a block.

    The points x (m, d) are sorted by cluster, and are overwritten. Before a mean is computed, the
    first point of the cluster is subtracted, because the mean of identical numbers must equal that
    number exactly.
    """
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    sizes = np.diff(np.append(starts, len(x)))
    firsts = x[starts]
    means, squares = np.empty((2, len(starts), x.shape[1]))
    if len(starts) > CLUSTERS_SUMMED_SINGLY:
        x -= np.repeat(firsts, sizes, axis=0)
        np.divide(np.add.reduceat(x, starts), sizes[:, None], out=means)
        x -= np.repeat(means, sizes, axis=0)
        squares = np.add.reduceat(np.square(x, out=x), starts)
        return numbers[starts], sizes, firsts + means, squares
    # One by one, large clusters take half the time.
    for i, rows in enumerate(np.split(x, starts[1:])):
        rows -= firsts[i]
        rows.mean(axis=0, out=means[i])
        rows -= means[i]
        np.einsum("ij,ij->j", rows, rows, out=squares[i])
    return numbers[starts], sizes, firsts + means, squares


def _pool_moments(
    numbers: Integers, sizes: Integers, means: Floats, squares: Floats
) -> tuple[Integers, Floats, Floats]:
    """Combine the sizes, means and sums of squared deviations of parts into those of groups.

    `numbers` holds the group of each part, from 0. Deviations are measured from the means of the
    parts, and in the result from those of the groups.
    """
    _, first_parts = np.unique(numbers, return_index=True)
    firsts = means[first_parts]
    n = sum_by_number(sizes, numbers)
    differences = means - firsts[numbers]
    offsets = sum_by_number(sizes[:, None] * differences, numbers) / n[:, None]
    squares = squares + sizes[:, None] * (differences - offsets[numbers]) ** 2
    return n, firsts + offsets, sum_by_number(squares, numbers)


def _merge_batches(
    batches: pl.DataFrame, by: list[str], keys: list[str], *, unit: bool, schema: pl.Schema
) -> pl.DataFrame:
    """Merge the results of _average_batch for all batches into the result of compute_centers."""
    if batches.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, numbers = number_groups(batches, by)
    _, partitions = number_groups(clusters, keys)
    parts = batches["size"].to_numpy(), to_matrix(batches["means"]), to_matrix(batches["squares"])
    with np.errstate(all="ignore"):
        sizes, means, squares = _pool_moments(numbers, *parts)
        _, middles, between = _pool_moments(partitions, sizes, means, np.zeros_like(means))
        whole = between + sum_by_number(squares, partitions)
        totals = (between / whole).mean(axis=1), minkowski_lengths(whole.copy(), 2)
        centers = _to_unit_length(means) if unit else means
        middles = _to_unit_length(middles) if unit else middles
        arrays = [means, centers, squares / sizes[:, None], middles[partitions]]
    scalars = [pl.Series(total[partitions]).fill_nan(None) for total in totals]
    return append_columns(clusters, by, [sizes, *arrays, *scalars], schema)


def sum_by_number(values: NDArray[Any], numbers: Integers) -> NDArray[Any]:
    """Return the sums of the rows of `values` with the same number (m,), in ascending order."""
    return reduce_by_number(np.add, values, numbers)


def reduce_by_number(reduce: np.ufunc, values: NDArray[Any], numbers: Integers) -> NDArray[Any]:
    """Reduce the rows of `values` with the same number (m,) to one, in ascending order."""
    if not numbers.any():
        return np.asarray(reduce.reduce(values, axis=0, keepdims=True))
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    return np.asarray(reduce.reduceat(values[order], starts))


def _row_lengths(x: Floats) -> Floats:
    """Return the Euclidean length (m,) of each row of x (m, d)."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)))


def _to_unit_length(x: Floats) -> Floats:
    """Return rows scaled to length 1; rows of length 0 become 0, and not finite ones NaN."""
    lengths = _row_lengths(x)
    lengths[~np.isfinite(lengths)] = np.nan
    lengths[lengths == 0] = np.inf
    # This difference is rounding error: the mean of equal unit vectors is that vector.
    lengths[np.abs(lengths - 1) < 1e-14] = 1
    return np.asarray(x / lengths[:, None])


# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


def row_distances(x: pl.Expr, y: pl.Expr, name: str, p: float) -> pl.Expr:
    """Return the distance between the arrays x and y in each row, or NaN if either is missing.

    For cosine distances, the arrays must be unit vectors.
    """
    function = partial(_distance_batch, name=name, p=p)
    return pl.struct(x=x, y=y).map_batches(function, return_dtype=pl.Float64, is_elementwise=True)


def row_norms(x: pl.Expr) -> pl.Expr:
    """Return the Euclidean length of the array x in each row, or NaN if the array is missing."""
    return x.map_batches(_norm_batch, return_dtype=pl.Float64, is_elementwise=True)


def _norm_batch(vectors: pl.Series) -> pl.Series:
    """Compute the values of `row_norms` for one batch of arrays."""
    with np.errstate(all="ignore"):
        return pl.Series(minkowski_lengths(np.abs(to_matrix(vectors)), 2))


def _distance_batch(both: pl.Series, name: str, p: float) -> pl.Series:
    """Compute the values of `row_distances` for one batch of structs with the arrays x and y."""
    x, y = (read_matrix(both.struct.field(side)) for side in "xy")
    distances, block = np.empty(len(both)), allocate_block(x)
    with np.errstate(all="ignore"):
        for part in split_rows(range(len(x)), x.shape[1]):
            rows, differences = slice(part.start, part.stop), block[: len(part)]
            np.subtract(x[rows], y[rows], out=differences, dtype=np.float64)
            distances[rows] = measure_differences(differences, name, p)
            if name == "cosine":
                # The cosine distance of a zero vector is 1, but that of a missing vector is NaN.
                has_zero = ~(x[rows].any(axis=1) & y[rows].any(axis=1))
                distances[rows][has_zero & ~np.isnan(distances[rows])] = 1.0
    return pl.Series(distances)
