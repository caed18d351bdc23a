"""long_vectors: two passes over vectors of many coordinates, in numpy, as the rows stream by.

A column for each coordinate is the fastest form of a short vector. Of a long one the engine would
plan, cut and hand on hundreds of columns; here it stays one column of arrays, whose batches are
matrices that numpy reads where they lie.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

#: From so many coordinates on a vector is long.
LONG = 32
#: Numbers worked on at a time: they stay in the cache of a core.
BLOCK = 2**17
#: Clusters of a block that are summed one by one.
FEW = 32


def _matrix(vectors: pl.Series) -> NDArray[Any]:
    """Give the vectors as rows, in their own type; what is missing is NaN."""
    dims = vectors.dtype.shape[0] if isinstance(vectors.dtype, pl.Array) else 0
    return vectors.to_numpy().reshape(len(vectors), dims)


def matrix(vectors: pl.Series) -> Floats:
    """Give the vectors as rows."""
    return np.ascontiguousarray(_matrix(vectors), dtype=np.float64)


def _blocks(rows: Any, dims: int) -> Iterator[Any]:
    """Cut the rows so that so many coordinates of each make a block."""
    step = max(1, BLOCK // dims)
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _room(x: NDArray[Any], dtype: Any = np.float64) -> NDArray[Any]:
    """Give room for a block, used again: to ask the system for it takes longer than all else."""
    return np.empty((max(1, min(len(x), BLOCK // x.shape[1])), x.shape[1]), dtype)


# ----------------------------------------------------------------------------------------------
# Columns of arrays
# ----------------------------------------------------------------------------------------------


def _arrays(lists: pl.Series, dims: int) -> pl.Series:
    fit = lists.list.len() == dims
    if not fit.all():
        lists = lists.zip_with(fit.fill_null(False), pl.Series([None], dtype=lists.dtype))
    return lists.list.to_array(dims)


def as_arrays(lists: pl.Expr, inner: pl.DataType, dims: int) -> pl.Expr:
    """Give lists as arrays; NULL where the length is another."""
    dtype = pl.Array(inner, dims)
    return lists.map_batches(partial(_arrays, dims=dims), return_dtype=dtype, is_elementwise=True)


def _moved(vectors: pl.Series, pivot: Floats, factors: Floats, *, unit: bool) -> pl.Series:
    with np.errstate(all="ignore"):
        x = (_matrix(vectors) - pivot) * factors
        return pl.Series(_unit(x) if unit else x, dtype=pl.Array(pl.Float64, x.shape[1]))


def moved(
    vectors: pl.Expr, pivot: Sequence[float], factors: Sequence[float], *, unit: bool
) -> pl.Expr:
    """Give vectors less the pivot, times the factors, and of length 1 if so asked."""
    if not unit and not any(pivot) and all(factor == 1 for factor in factors):
        return vectors
    made = partial(_moved, pivot=np.array(pivot), factors=np.array(factors), unit=unit)
    dtype = pl.Array(pl.Float64, len(pivot))
    return vectors.map_batches(made, return_dtype=dtype, is_elementwise=True)


def _unscaled(vectors: pl.Series, pivot: Floats, factors: Floats) -> pl.Series:
    x = matrix(vectors) / factors + pivot
    return pl.Series(x, dtype=pl.Array(pl.Float64, x.shape[1])).arr.to_list()


def unscaled(vectors: pl.Expr, pivot: Sequence[float], factors: Sequence[float]) -> pl.Expr:
    """Give lists of what was moved."""
    made = partial(_unscaled, pivot=np.array(pivot), factors=np.array(factors))
    return vectors.map_batches(made, return_dtype=pl.List(pl.Float64), is_elementwise=True)


# ----------------------------------------------------------------------------------------------
# Sums by cluster
# ----------------------------------------------------------------------------------------------


def centered(
    rows: pl.LazyFrame, by: list[str], keys: list[str], dims: int, *, unit: bool
) -> pl.LazyFrame:
    """One row a cluster: size, mean (m), center (c), variance (v), and its partition's center (g).

    Centers are of length 1 if so asked. Beside them is what all clusters of the partition say of
    the coordinates: the mean share of their variance that lies between clusters (mean_share), and n
    times the length of their variances (variance).

    Each batch of rows gives sums of its own, and sums of squares about its own means; only those
    are held, and brought together by cluster.
    """
    array = pl.Array(pl.Float64, dims)
    types: dict[str, Any] = dict(rows.select(by).collect_schema()) | {"size": pl.Int64()}
    found = pl.Schema(types | {"sums": array, "squares": array})
    made = pl.Schema(types | dict.fromkeys("mcvg", array) | dict.fromkeys(_TOTALS, pl.Float64()))
    whole = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}
    batches = rows.select(*by, "x").map_batches(
        partial(_summed, by=by, schema=found), **whole, streamable=True, schema=found
    )
    merged = partial(_merged, by=by, keys=keys, unit=unit, schema=made)
    return batches.map_batches(merged, **whole, schema=made)


_TOTALS = ("mean_share", "variance")


def _numbered(rows: pl.DataFrame, by: list[str]) -> tuple[pl.DataFrame, Integers]:
    """Give the groups of rows, and the number of each row's group among them."""
    if not by:
        return rows.select(pl.lit(0)).head(1), np.zeros(len(rows), np.int64)
    rows = rows.select(by)
    groups = rows.unique(maintain_order=True)
    numbered = groups.with_row_index("number")
    joined = rows.join(numbered, on=by, nulls_equal=True, how="left", maintain_order="left")
    return groups, joined["number"].to_numpy()


def _with_arrays(rows: pl.DataFrame, arrays: Sequence[Any], schema: pl.Schema) -> pl.DataFrame:
    names = list(schema)[rows.width :]
    made = zip(names, arrays, strict=True)
    columns = [pl.Series(name, x, schema[name]) for name, x in made]
    return rows.select(list(schema)[: rows.width]).hstack(columns)


def _summed(batch: pl.DataFrame, by: list[str], schema: pl.Schema) -> pl.DataFrame:
    if batch.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, number = _numbered(batch, by)
    # Overflow is found out by the distances.
    with np.errstate(all="ignore"):
        found = _sums(_matrix(batch["x"]), number)
    return _with_arrays(clusters, found, schema)


def _sums(x: NDArray[Any], number: Integers) -> tuple[Integers, Floats, Floats]:
    """Give each cluster's size, the sum of its rows, and of the squares of what they are off it."""
    order = np.argsort(number, kind="stable")
    room, own = _room(x), _room(x, x.dtype)
    parts = []
    for rows in _blocks(order, x.shape[1]):
        given = np.take(x, rows, axis=0, out=own[: len(rows)], mode="clip")
        np.copyto(room[: len(rows)], given)
        parts.append(_block_sums(room[: len(rows)], number[rows]))
    numbers, sizes, sums, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
    return _pooled(numbers, sizes, sums, squares)


def _block_sums(x: Floats, number: Integers) -> tuple[Integers, Integers, Floats, Floats]:
    """Give the same of some rows, cluster after cluster, below the clusters' numbers."""
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    sizes = np.diff(np.append(starts, len(x)))
    if len(starts) > FEW:
        sums = np.add.reduceat(x, starts)
        off = x - np.repeat(sums / sizes[:, None], sizes, axis=0)
        return number[starts], sizes, sums, np.add.reduceat(np.square(off, out=off), starts)
    # Large clusters one by one take half the time.
    sums, squares = np.empty((2, len(starts), x.shape[1]))
    for i, rows in enumerate(np.split(x, starts[1:])):
        sums[i] = rows.sum(axis=0)
        off = rows - sums[i] / len(rows)
        np.einsum("ij,ij->j", off, off, out=squares[i])
    return number[starts], sizes, sums, squares


def _pooled(
    number: Integers, sizes: Integers, sums: Floats, squares: Floats
) -> tuple[Integers, Floats, Floats]:
    """Bring together what parts of clusters have: their squares are off the means of the parts."""
    total, n = _added(sums, number), _added(sizes, number)
    off = sums / sizes[:, None] - (total / n[:, None])[number]
    return n, total, _added(squares + sizes[:, None] * off**2, number)


def _merged(
    batches: pl.DataFrame, by: list[str], keys: list[str], *, unit: bool, schema: pl.Schema
) -> pl.DataFrame:
    if batches.is_empty():
        return pl.DataFrame(schema=schema)
    clusters, number = _numbered(batches, by)
    _, partition = _numbered(clusters, keys)
    parts = batches["size"].to_numpy(), matrix(batches["sums"]), matrix(batches["squares"])
    with np.errstate(all="ignore"):
        sizes, sums, squares = _pooled(number, *parts)
        n = sizes[:, None]
        means = sums / n
        middles = _added(sums, partition) / _added(n, partition)
        between = _added(n * (means - middles[partition]) ** 2, partition)
        whole = between + _added(squares, partition)
        totals = (between / whole).mean(axis=1), np.linalg.norm(whole, axis=1)
        centers, middles = (_unit(means), _unit(middles)) if unit else (means, middles)
        arrays = [means, centers, squares / n, middles[partition]]
    scalars = [pl.Series(total[partition]).fill_nan(None) for total in totals]
    return _with_arrays(clusters, [sizes, *arrays, *scalars], schema)


def _added(values: NDArray[Any], number: Integers) -> NDArray[Any]:
    """Give the sum of the values of each number."""
    order = np.argsort(number, kind="stable")
    starts = np.flatnonzero(np.diff(number[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[order], starts))


def _lengths(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)))


def _unit(x: Floats) -> Floats:
    """Give vectors of length 1; no length gives a zero vector, no finite length none."""
    norm = _lengths(x)
    norm[~np.isfinite(norm)] = np.nan
    norm[norm == 0] = np.inf
    return np.asarray(x / norm[:, None])


# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


def distances(x: pl.Expr, y: pl.Expr, name: str, p: float) -> pl.Expr:
    """Give the distance of two vectors of a row; no finite number where one is missing."""
    both = pl.struct(x=x, y=y)
    measured = partial(_measured, name=name, p=p)
    return both.map_batches(measured, return_dtype=pl.Float64, is_elementwise=True)


def norms(x: pl.Expr) -> pl.Expr:
    """Give the length of each vector."""
    return x.map_batches(_norms, return_dtype=pl.Float64, is_elementwise=True)


def _norms(vectors: pl.Series) -> pl.Series:
    return pl.Series(_lengths(matrix(vectors)))


def _measured(both: pl.Series, name: str, p: float) -> pl.Series:
    x, y = (_matrix(both.struct.field(side)) for side in "xy")
    found, room = np.empty(len(both)), _room(x)
    with np.errstate(all="ignore"):
        for block in _blocks(range(len(x)), x.shape[1]):
            rows = slice(block.start, block.stop)
            found[rows] = _between(x[rows], y[rows], name, p, room[: len(block)])
    return pl.Series(found)


def _between(x: NDArray[Any], y: NDArray[Any], name: str, p: float, apart: Floats) -> Floats:
    """Give the distances of x to y; `apart` is room for their differences."""
    np.subtract(x, y, out=apart, dtype=np.float64)
    if name in ("cityblock", "chebyshev", "minkowski"):
        np.abs(apart, out=apart)
        if name == "chebyshev":
            return np.asarray(apart.max(axis=1))
        return np.asarray(apart.sum(axis=1) if name == "cityblock" else _root(apart, p))
    squares: Floats = np.einsum("ij,ij->i", apart, apart)
    if name == "cosine":
        # Of unit vectors; a zero vector is at 1 from all.
        zero = ~(x.any(axis=1) & y.any(axis=1))
        return np.where(zero, 1.0, squares / 2)
    return squares if name == "sqeuclidean" else np.sqrt(squares)


def _root(apart: Floats, p: float) -> Floats:
    return np.asarray((apart**p).sum(axis=1) ** (1 / p))
