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
    """Return the vectors (m, d), one per row, in their own type; missing vectors are NaN."""
    dims = vectors.dtype.shape[0] if isinstance(vectors.dtype, pl.Array) else 0
    return vectors.to_numpy().reshape(len(vectors), dims)


def to_matrix(vectors: pl.Series) -> Floats:
    """Return the vectors (m, d), one per row, as float64; missing vectors are NaN."""
    return np.ascontiguousarray(_read_matrix(vectors), dtype=np.float64)


def _split_rows(rows: Any, dims: int) -> Iterator[Any]:
    """Return blocks of rows that together have COORDINATES_PER_BLOCK coordinates, dims per row."""
    step = max(1, COORDINATES_PER_BLOCK // dims)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _allocate_block(x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """Return memory for a block of x, to be reused: allocation takes longer than computation."""
    rows = min(len(x), COORDINATES_PER_BLOCK // x.shape[1])
    return np.empty((max(1, rows), x.shape[1]), dtype)


# ----------------------------------------------------------------------------------------------
# Columns of arrays
# ----------------------------------------------------------------------------------------------


def _lists_to_arrays(lists: pl.Series, dims: int) -> pl.Series:
    """Return lists as arrays of this length; NULL for a list of another length."""
    fits = lists.list.len() == dims
    if not fits.all():
        lists = lists.zip_with(fits.fill_null(False), pl.Series([None], dtype=lists.dtype))
    return lists.list.to_array(dims)


def as_arrays(lists: pl.Expr, inner: pl.DataType, dims: int) -> pl.Expr:
    """Return a column of lists as arrays of this length; NULL for a list of another length."""
    dtype = pl.Array(inner, dims)
    return lists.map_batches(
        partial(_lists_to_arrays, dims=dims), return_dtype=dtype, is_elementwise=True
    )


def _move_and_scale_batch(
    vectors: pl.Series, origin: Floats, factors: Floats, *, unit: bool
) -> pl.Series:
    """Return (vectors - origin) x factors, if `unit` scaled to length 1."""
    with np.errstate(all="ignore"):
        x = (_read_matrix(vectors) - origin) * factors
        return pl.Series(_to_unit_length(x) if unit else x, dtype=pl.Array(pl.Float64, x.shape[1]))


def move_and_scale(
    vectors: pl.Expr, origin: Sequence[float], factors: Sequence[float], *, unit: bool
) -> pl.Expr:
    """Return (vectors - origin) x factors as expression, if `unit` scaled to length 1."""
    if not unit and not any(origin) and all(factor == 1 for factor in factors):
        return vectors
    function = partial(
        _move_and_scale_batch, origin=np.array(origin), factors=np.array(factors), unit=unit
    )
    dtype = pl.Array(pl.Float64, len(origin))
    return vectors.map_batches(function, return_dtype=dtype, is_elementwise=True)


def _unscale_batch(vectors: pl.Series, origin: Floats, factors: Floats) -> pl.Series:
    """Return vectors / factors + origin as lists."""
    x = to_matrix(vectors) / factors + origin
    return pl.Series(x, dtype=pl.Array(pl.Float64, x.shape[1])).arr.to_list()


def unscale(vectors: pl.Expr, origin: Sequence[float], factors: Sequence[float]) -> pl.Expr:
    """Return vectors / factors + origin as lists: the inverse of move_and_scale."""
    function = partial(_unscale_batch, origin=np.array(origin), factors=np.array(factors))
    return vectors.map_batches(function, return_dtype=pl.List(pl.Float64), is_elementwise=True)


# ----------------------------------------------------------------------------------------------
# Centers of clusters
# ----------------------------------------------------------------------------------------------


def compute_centers(
    rows: pl.LazyFrame, by: list[str], keys: list[str], dims: int, *, unit: bool
) -> pl.LazyFrame:
    """Return one row per cluster: size, mean (m), variances (v), center (c), and partition's (g).

    `by` are the columns that identify a cluster, `keys` those of its partition. Centers have length
    1 if `unit`. Each row also holds two totals of its partition: the mean over the coordinates of
    the share of variance between clusters (mean_between_share), and the norm of the total sums of
    squares (total_squares_norm).

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
    """Return the distinct keys of the rows, and for each row the number of its key (m,)."""
    if not by:
        return rows.select(pl.lit(0)).head(1), np.zeros(len(rows), np.int64)
    rows = rows.select(by)
    groups = rows.unique(maintain_order=True)
    numbered = groups.with_row_index("number")
    joined = rows.join(numbered, on=by, nulls_equal=True, how="left", maintain_order="left")
    return groups, joined["number"].to_numpy()


def _append_columns(rows: pl.DataFrame, arrays: Sequence[Any], schema: pl.Schema) -> pl.DataFrame:
    """Return the rows with arrays as the columns of the schema that they lack, in its order."""
    names = list(schema)[rows.width :]
    columns = [pl.Series(name, x, schema[name]) for name, x in zip(names, arrays, strict=True)]
    return rows.select(list(schema)[: rows.width]).hstack(columns)


def _sum_batch(batch: pl.DataFrame, by: list[str], schema: pl.Schema) -> pl.DataFrame:
    """Return one row per cluster of a batch: size, sums, and squared deviations from the mean."""
    if batch.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, numbers = _number_groups(batch, by)
    # Overflow shows in the distances, which are checked.
    with np.errstate(all="ignore"):
        sums = _cluster_sums(_read_matrix(batch["x"]), numbers)
    return _append_columns(clusters, sums, schema)


def _cluster_sums(x: NDArray[Any], numbers: Integers) -> tuple[Integers, Floats, Floats]:
    """Return the sizes of the clusters of rows x, their sums, and sums of squared deviations."""
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
    """Return the numbers of the clusters in a block of sorted rows, sizes, sums and squares."""
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
    """Return the sizes, sums and squared deviations of clusters, from those of their parts.

    `numbers` are the clusters of the parts; `squares` are deviations from the means of the parts.
    """
    total, n = _sum_by_number(sums, numbers), _sum_by_number(sizes, numbers)
    deviations = sums / sizes[:, None] - (total / n[:, None])[numbers]
    return n, total, _sum_by_number(squares + sizes[:, None] * deviations**2, numbers)


def _merge_batches(
    batches: pl.DataFrame, by: list[str], keys: list[str], *, unit: bool, schema: pl.Schema
) -> pl.DataFrame:
    """Return the result of compute_centers, from the sums of all batches."""
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
    """Return the sum of the values of each number, in ascending order of the numbers."""
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[order], starts))


def _row_lengths(x: Floats) -> Floats:
    """Return the euclidean length (m,) of each row of x (m, d)."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)))


def _to_unit_length(x: Floats) -> Floats:
    """Return the rows scaled to length 1: zeros for length 0, NaN if the length is not finite."""
    lengths = _row_lengths(x)
    lengths[~np.isfinite(lengths)] = np.nan
    lengths[lengths == 0] = np.inf
    return np.asarray(x / lengths[:, None])


# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


def row_distances(x: pl.Expr, y: pl.Expr, name: str, p: float) -> pl.Expr:
    """Return the named distance of the two vectors of each row; NaN if one is missing."""
    function = partial(_distance_batch, name=name, p=p)
    return pl.struct(x=x, y=y).map_batches(function, return_dtype=pl.Float64, is_elementwise=True)


def row_norms(x: pl.Expr) -> pl.Expr:
    """Return the euclidean length of the vector of each row; NaN if it is missing."""
    return x.map_batches(_norm_batch, return_dtype=pl.Float64, is_elementwise=True)


def _norm_batch(vectors: pl.Series) -> pl.Series:
    """Return the euclidean lengths of vectors."""
    return pl.Series(_row_lengths(to_matrix(vectors)))


def _distance_batch(both: pl.Series, name: str, p: float) -> pl.Series:
    """Return the distance of the vectors in the fields x and y of each struct."""
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
    """Return the distances (m,) of pairs of vectors from their differences (m, d)."""
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
