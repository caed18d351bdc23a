"""long_vectors: numpy functions of vectors of many coordinates, applied as the rows stream by.

A column for each coordinate is the fastest form of a short vector. For a long vector the engine
would plan and process hundreds of columns; it is kept as one column of arrays instead, whose
batches numpy reads in place as matrices.

Functions named after batches compute what the expression of a similar name returns, for the rows of
one batch. `numbers` (m,) hold the number of each row's cluster.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from .arrays import Floats, Integers

#: Number of coordinates from which a vector is long.
MIN_LONG_DIMS = 32
#: Coordinates processed at a time: they fit into the cache of a core.
COORDINATES_PER_BLOCK = 2**17
#: Number of clusters of a block up to which each is summed on its own.
CLUSTERS_SUMMED_SINGLY = 32


def _read_matrix(vectors: pl.Series) -> NDArray[Any]:
    """Return a column of arrays as a matrix (m, d), one array per row, in its own number type.

    Missing arrays are NaN.
    """
    dims = vectors.dtype.shape[0] if isinstance(vectors.dtype, pl.Array) else 0
    return vectors.to_numpy().reshape(len(vectors), dims)


def to_matrix(vectors: pl.Series) -> Floats:
    """Return a column of arrays as a float64 matrix (m, d), one array per row.

    Missing arrays are NaN.
    """
    return np.ascontiguousarray(_read_matrix(vectors), dtype=np.float64)


def _split_rows(rows: Any, dims: int) -> Iterator[Any]:
    """Yield slices of the sequence `rows`, each of about COORDINATES_PER_BLOCK coordinates.

    `rows` are row numbers, as a range or an array; a row has `dims` coordinates.
    """
    step = max(1, COORDINATES_PER_BLOCK // dims)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _allocate_block(x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """Return an uninitialized matrix for a block of rows of x, as long as _split_rows makes one.

    It is reused for all blocks, since allocation takes longer than computation.
    """
    rows = min(len(x), COORDINATES_PER_BLOCK // x.shape[1])
    return np.empty((max(1, rows), x.shape[1]), dtype)


# ----------------------------------------------------------------------------------------------
# Columns of arrays
# ----------------------------------------------------------------------------------------------


def _lists_to_arrays(lists: pl.Series, dims: int) -> pl.Series:
    """Return a column of lists as arrays of `dims` elements; NULL for a list of another length."""
    fits = lists.list.len() == dims
    if not fits.all():
        lists = lists.zip_with(fits.fill_null(False), pl.Series([None], dtype=lists.dtype))
    return lists.list.to_array(dims)


def as_arrays(lists: pl.Expr, inner: pl.DataType, dims: int) -> pl.Expr:
    """Return lists as an expression of arrays of `dims` elements; NULL for another length.

    `inner` is the type of the elements.
    """
    dtype = pl.Array(inner, dims)
    return lists.map_batches(
        partial(_lists_to_arrays, dims=dims), return_dtype=dtype, is_elementwise=True
    )


def _move_and_scale_batch(
    vectors: pl.Series, origin: Floats, factors: Floats, *, unit: bool
) -> pl.Series:
    """Return one batch of move_and_scale: the arrays (vectors - origin) x factors.

    They are scaled to length 1 if `unit`. origin and factors have one number per coordinate.
    """
    with np.errstate(all="ignore"):
        x = (_read_matrix(vectors) - origin) * factors
        return pl.Series(_to_unit_length(x) if unit else x, dtype=pl.Array(pl.Float64, x.shape[1]))


def move_and_scale(
    vectors: pl.Expr, origin: Sequence[float], factors: Sequence[float], *, unit: bool
) -> pl.Expr:
    """Return the expression (vectors - origin) x factors of a column of arrays.

    The result is scaled to length 1 if `unit`. origin and factors have one number per coordinate.
    """
    if not unit and not any(origin) and all(factor == 1 for factor in factors):
        return vectors
    function = partial(
        _move_and_scale_batch, origin=np.array(origin), factors=np.array(factors), unit=unit
    )
    dtype = pl.Array(pl.Float64, len(origin))
    return vectors.map_batches(function, return_dtype=dtype, is_elementwise=True)


def _unscale_batch(vectors: pl.Series, origin: Floats, factors: Floats) -> pl.Series:
    """Return one batch of unscale: the lists vectors / factors + origin."""
    x = to_matrix(vectors) / factors + origin
    return pl.Series(x, dtype=pl.Array(pl.Float64, x.shape[1])).arr.to_list()


def unscale(vectors: pl.Expr, origin: Sequence[float], factors: Sequence[float]) -> pl.Expr:
    """Return the expression vectors / factors + origin of a column of arrays, as lists.

    It is the inverse of move_and_scale, except for its scaling to length 1.
    """
    function = partial(_unscale_batch, origin=np.array(origin), factors=np.array(factors))
    return vectors.map_batches(function, return_dtype=pl.List(pl.Float64), is_elementwise=True)


# ----------------------------------------------------------------------------------------------
# Centers of clusters
# ----------------------------------------------------------------------------------------------


def compute_centers(
    rows: pl.LazyFrame, by: list[str], keys: list[str], dims: int, *, unit: bool
) -> pl.LazyFrame:
    """Return one row per cluster: its size, mean (m), variances (v), center (c) and others.

    `rows` has one row per point: the columns `by`, which identify its cluster, and the array x of
    `dims` coordinates; `keys` are those of `by` that identify the partition. m, v, c and g are
    arrays: c is m, scaled to length 1 if `unit`, and g is the center of the whole partition.
    mean_between_share is the mean over the coordinates of the partition's share of variance between
    clusters, total_squares_norm the norm of its total sums of squares.

    Each batch of rows yields the sums of its clusters, and sums of squares about their means in the
    batch; only these are held in memory, and merged by cluster.
    """
    array = pl.Array(pl.Float64, dims)
    types: dict[str, Any] = dict(rows.select(by).collect_schema()) | {"size": pl.Int64()}
    sums_schema = pl.Schema(types | {"sums": array, "squares": array})
    schema = pl.Schema(types | dict.fromkeys("mcvg", array) | dict.fromkeys(_TOTALS, pl.Float64()))
    whole = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}
    batches = rows.select(*by, "x").map_batches(
        partial(_sum_batch, by=by, schema=sums_schema), **whole, streamable=True, schema=sums_schema
    )
    merge = partial(_merge_batches, by=by, keys=keys, unit=unit, schema=schema)
    return batches.map_batches(merge, **whole, schema=schema)


_TOTALS = ("mean_between_share", "total_squares_norm")


def _number_groups(rows: pl.DataFrame, by: list[str]) -> tuple[pl.DataFrame, Integers]:
    """Return the distinct values of the columns `by`, and the group number (m,) of each row.

    A group is the rows of one of these values, numbered from 0 in their order. Without columns all
    rows are one group.
    """
    if not by:
        return rows.select(pl.lit(0)).head(1), np.zeros(len(rows), np.int64)
    rows = rows.select(by)
    groups = rows.unique(maintain_order=True)
    numbered = groups.with_row_index("number")
    joined = rows.join(numbered, on=by, nulls_equal=True, how="left", maintain_order="left")
    return groups, joined["number"].to_numpy()


def _append_columns(rows: pl.DataFrame, arrays: Sequence[Any], schema: pl.Schema) -> pl.DataFrame:
    """Return `rows` with the columns of the schema that it lacks, made of `arrays` in their order.

    The schema begins with the columns that `rows` has.
    """
    names = list(schema)[rows.width :]
    columns = [pl.Series(name, x, schema[name]) for name, x in zip(names, arrays, strict=True)]
    return rows.select(list(schema)[: rows.width]).hstack(columns)


def _sum_batch(batch: pl.DataFrame, by: list[str], schema: pl.Schema) -> pl.DataFrame:
    """Return one row per cluster of a batch of points: the columns `by`, size, sums and squares.

    The batch has the columns `by`, which identify the cluster, and the array x. sums are the sums
    of its coordinates, and squares the sums of their squared deviations from the cluster's mean in
    the batch, both as arrays. `schema` is that of the result.
    """
    if batch.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, numbers = _number_groups(batch, by)
    # Overflow shows in the distances, which are checked.
    with np.errstate(all="ignore"):
        sums = _cluster_sums(_read_matrix(batch["x"]), numbers)
    return _append_columns(clusters, sums, schema)


def _cluster_sums(x: NDArray[Any], numbers: Integers) -> tuple[Integers, Floats, Floats]:
    """Return of k clusters the sizes (k,), sums (k, d), and sums of squared deviations (k, d).

    x (m, d) are points in any order, `numbers` (m,) the numbers of their clusters, from 0 to k - 1.
    Deviations are those from the cluster's mean.
    """
    order = np.argsort(numbers, kind="stable")
    block, read_block = _allocate_block(x), _allocate_block(x, x.dtype)
    parts = []
    for rows in _split_rows(order, x.shape[1]):
        read_rows = np.take(x, rows, axis=0, out=read_block[: len(rows)], mode="clip")
        np.copyto(block[: len(rows)], read_rows)
        parts.append(_sums_of_block(block[: len(rows)], numbers[rows]))
    part_numbers, sizes, sums, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _pool_sums(part_numbers, sizes, sums, squares)


def _sums_of_block(x: Floats, numbers: Integers) -> tuple[Integers, Integers, Floats, Floats]:
    """Return the numbers, sizes, sums and sums of squared deviations of the clusters in a block.

    x (m, d) are points sorted by cluster, `numbers` (m,) the numbers of their clusters. There is
    one number, size and row of d sums per cluster; deviations are those from its mean in the block.
    """
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    sizes = np.diff(np.append(starts, len(x)))
    if len(starts) > CLUSTERS_SUMMED_SINGLY:
        sums = np.add.reduceat(x, starts)
        deviations = x - np.repeat(sums / sizes[:, None], sizes, axis=0)
        squares = np.add.reduceat(np.square(deviations, out=deviations), starts)
        return numbers[starts], sizes, sums, squares
    # One by one, large clusters take half the time.
    sums, squares = np.empty((2, len(starts), x.shape[1]))
    for i, rows in enumerate(np.split(x, starts[1:])):
        sums[i] = rows.sum(axis=0)
        deviations = rows - sums[i] / len(rows)
        np.einsum("ij,ij->j", deviations, deviations, out=squares[i])
    return numbers[starts], sizes, sums, squares


def _pool_sums(
    numbers: Integers, sizes: Integers, sums: Floats, squares: Floats
) -> tuple[Integers, Floats, Floats]:
    """Return the sizes, sums and sums of squared deviations of clusters, from those of their parts.

    A part is the points of one cluster in one block or batch; `numbers` are the numbers of the
    parts' clusters. `squares` are about the means of the parts, those returned about the clusters'
    means. Arrays have one row per part, results one per cluster.
    """
    total, n = _sum_by_number(sums, numbers), _sum_by_number(sizes, numbers)
    deviations = sums / sizes[:, None] - (total / n[:, None])[numbers]
    return n, total, _sum_by_number(squares + sizes[:, None] * deviations**2, numbers)


def _merge_batches(
    batches: pl.DataFrame, by: list[str], keys: list[str], *, unit: bool, schema: pl.Schema
) -> pl.DataFrame:
    """Return the result of compute_centers from the rows of _sum_batch of all batches.

    `by`, `keys` and `unit` are those of compute_centers, `schema` is that of the result.
    """
    if batches.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, numbers = _number_groups(batches, by)
    _, partitions = _number_groups(clusters, keys)
    parts = batches["size"].to_numpy(), to_matrix(batches["sums"]), to_matrix(batches["squares"])
    with np.errstate(all="ignore"):
        sizes, sums, squares = _pool_sums(numbers, *parts)
        n = sizes[:, None]
        means = sums / n
        middles = _sum_by_number(sums, partitions) / _sum_by_number(n, partitions)
        between = _sum_by_number(n * (means - middles[partitions]) ** 2, partitions)
        whole = between + _sum_by_number(squares, partitions)
        totals = (between / whole).mean(axis=1), np.linalg.norm(whole, axis=1)
        centers = _to_unit_length(means) if unit else means
        middles = _to_unit_length(middles) if unit else middles
        arrays = [means, centers, squares / n, middles[partitions]]
    scalars = [pl.Series(total[partitions]).fill_nan(None) for total in totals]
    return _append_columns(clusters, [sizes, *arrays, *scalars], schema)


def _sum_by_number(values: NDArray[Any], numbers: Integers) -> NDArray[Any]:
    """Return the sums of the rows of `values` that have the same number, one row per number.

    `numbers` (m,) are those of the rows; the result is in ascending order of the numbers.
    """
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[order], starts))


def _row_lengths(x: Floats) -> Floats:
    """Return the euclidean length (m,) of each row of x (m, d)."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)))


def _to_unit_length(x: Floats) -> Floats:
    """Return the rows of x (m, d) scaled to length 1.

    A row is zeros for length 0, and NaN if its length is not finite.
    """
    lengths = _row_lengths(x)
    lengths[~np.isfinite(lengths)] = np.nan
    lengths[lengths == 0] = np.inf
    return np.asarray(x / lengths[:, None])


# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


def row_distances(x: pl.Expr, y: pl.Expr, name: str, p: float) -> pl.Expr:
    """Return the expression of the distance of arrays x and y in each row; NaN if one is missing.

    `name` is that of the distance, p the order of minkowski. For cosine the arrays are unit
    vectors.
    """
    function = partial(_distance_batch, name=name, p=p)
    return pl.struct(x=x, y=y).map_batches(function, return_dtype=pl.Float64, is_elementwise=True)


def row_norms(x: pl.Expr) -> pl.Expr:
    """Return the expression of the euclidean length of the array x of each row; NaN if missing."""
    return x.map_batches(_norm_batch, return_dtype=pl.Float64, is_elementwise=True)


def _norm_batch(vectors: pl.Series) -> pl.Series:
    """Return one batch of row_norms: the euclidean length of each array."""
    return pl.Series(_row_lengths(to_matrix(vectors)))


def _distance_batch(both: pl.Series, name: str, p: float) -> pl.Series:
    """Return one batch of row_distances, from structs of two arrays x and y."""
    x, y = (_read_matrix(both.struct.field(side)) for side in "xy")
    distances, block = np.empty(len(both)), _allocate_block(x)
    with np.errstate(all="ignore"):
        for part in _split_rows(range(len(x)), x.shape[1]):
            rows, differences = slice(part.start, part.stop), block[: len(part)]
            np.subtract(x[rows], y[rows], out=differences, dtype=np.float64)
            distances[rows] = _measure_differences(differences, name, p)
            if name == "cosine":
                # The cosine distance of a zero vector is 1.
                has_zero = ~(x[rows].any(axis=1) & y[rows].any(axis=1))
                distances[rows][has_zero] = 1.0
    return pl.Series(distances)


def _measure_differences(differences: Floats, name: str, p: float) -> Floats:
    """Return the distances (m,) of pairs of vectors, of which `differences` (m, d) is x - y.

    `name` is that of the distance, p the order of minkowski. The differences may be overwritten.
    """
    if name in ("cityblock", "chebyshev", "minkowski"):
        sizes = np.abs(differences, out=differences)
        if name == "chebyshev":
            return np.asarray(sizes.max(axis=1))
        if name == "cityblock":
            return np.asarray(sizes.sum(axis=1))
        return np.asarray((sizes**p).sum(axis=1) ** (1 / p))
    squares: Floats = np.einsum("ij,ij->i", differences, differences)
    if name == "cosine":
        return squares / 2
    return squares if name == "sqeuclidean" else np.sqrt(squares)
