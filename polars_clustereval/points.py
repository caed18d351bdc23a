"""points: the ground floor of the point side, the twin of ``sql/points.sql``.

Vectors in every form, distances, centres, and the checks of what a caller hands over.

Reading rules, besides those of labels.py:

* Whatever form a vector has, inside it is one Float64 column a coordinate: ``x_0``, ``x_1`` ...
  The engine is fastest on plain columns, and groups, joins and sums them as it streams.
* A cluster is (partition, cluster), and ``single`` where noise is counted as singletons: there it
  is the number of the row, and the cluster is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import polars as pl
import polars.selectors as cs

from . import long_vectors
from .errors import ClusterEvalError
from .labels import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    Terms,
    _checked_choice,
    _checked_group,
    _checked_keys,
    _checked_lazy,
    _checked_names,
    _checked_noise,
    _checked_noise_as,
    _double,
    _is_number,
    _joined,
    _looked_up,
    _result,
    _type_name,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["centroids", "parse_vector", "vdm_encode"]

Vector = str | pl.Expr | Sequence[str | pl.Expr]
Center = Literal["mean", "median"]

DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")

# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


class _Distance(NamedTuple):
    """A distance between two rows of coordinate columns, given as expressions."""

    name: str
    p: float

    def between(self, x: Sequence[pl.Expr], y: Sequence[pl.Expr]) -> pl.Expr:
        """Give the distance; NULL or not finite where a coordinate is."""
        apart = [a - b for a, b in zip(x, y, strict=True)]
        if self.name == "cityblock":
            return _total([a.abs() for a in apart])
        if self.name == "chebyshev":
            sizes = [a.abs() for a in apart]
            return pl.when(_total(sizes).is_finite()).then(pl.max_horizontal(sizes))
        if self.name == "minkowski":
            return _total([a.abs().pow(self.p) for a in apart]).pow(1 / self.p)
        squares = _square(apart)
        if self.name == "cosine":
            # Half the squared distance of unit vectors is 1 - cos without its cancellation.
            zero = (_square(x) == 0) | (_square(y) == 0)
            return pl.when(zero).then(1.0).otherwise(squares / 2)
        return squares if self.name == "sqeuclidean" else squares.sqrt()

    def squared(self, d: pl.Expr) -> pl.Expr:
        """Give its square in sums of squares; a squared distance is one already."""
        return d if self.name == "sqeuclidean" else d * d

    def factors(self, weights: Sequence[float]) -> list[float]:
        """Give the factor on each coordinate that makes a weighted distance a plain one."""
        powers = {"cityblock": 1.0, "minkowski": 1 / self.p}
        return [weight ** powers.get(self.name, 0.5) for weight in weights]


def _total(terms: Sequence[pl.Expr]) -> pl.Expr:
    return pl.sum_horizontal(terms, ignore_nulls=False)


def _square(x: Sequence[pl.Expr]) -> pl.Expr:
    # A product would work out what stands in it twice.
    return _total([a.pow(2) for a in x])


def _checked_distance(distance: object, p: float) -> _Distance:
    name = distance.lower() if isinstance(distance, str) else distance
    if name not in DISTANCES:
        _checked_choice("distance", distance, DISTANCES)
    if not (_is_number(p) and 1 <= float(p) < 1e150):
        raise ClusterEvalError(f"p: expected a number >= 1, got {_shown(p)}")
    return _Distance(str(name), float(p))


def _checked_weights(
    weights: Sequence[float] | None, distance: _Distance, dims: int | None
) -> list[float]:
    """Give the factor of each coordinate; there are none where dims is None."""
    if weights is None:
        return [1.0] * (dims or 1)
    if distance.name == "chebyshev":
        raise ClusterEvalError("weights: chebyshev takes none; scale the coordinates instead")
    numbers = list(weights)
    if not all(_is_number(w) and 0 < float(w) < 1e150 for w in numbers):
        raise ClusterEvalError(
            f"weights: expected a number > 0 for each dimension, got {_shown(numbers)}"
        )
    if dims is None:
        return [1.0]
    if len(numbers) != dims:
        raise ClusterEvalError(
            f"weights: expected one for each of {dims} dimensions, got {len(numbers)}"
        )
    return distance.factors([float(w) for w in numbers])


def _shown(value: object) -> str:
    """Give a value as DuckDB writes it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return "NULL" if value is None else str(value)


# ----------------------------------------------------------------------------------------------
# Vectors
# ----------------------------------------------------------------------------------------------


class _Coordinates(NamedTuple):
    """A vector as one expression a coordinate, its length in a row, and whether there is one."""

    exprs: list[pl.Expr]
    length: pl.Expr
    known: pl.Expr
    #: Whether the numbers have so few digits that sums of them in Float64 lose none.
    short: bool = False
    #: Whether no row has any coordinate; one that is NULL then stands for them.
    empty: bool = False
    #: A long vector as one column of arrays.
    array: pl.Expr | None = None


def _checked_vector(lazy: pl.LazyFrame, vector: Vector, counts: pl.Expr) -> _Coordinates:
    """Give the coordinates; the rows that count decide how many a List has."""
    columns = _vector_columns(lazy, vector)
    schema = lazy.select(columns).collect_schema()
    types = schema.dtypes()
    if len(types) == 1 and isinstance(types[0], pl.Array | pl.List):
        return _nested(lazy, columns[0], types[0], counts)
    wide = not isinstance(vector, str | pl.Expr) or cs.is_selector(vector) or len(types) > 1
    for dtype in types:
        if not (wide and dtype.is_numeric()):
            raise _type_error(dtype)
    if not types:
        raise ClusterEvalError("vector: expected at least one column, got none")
    some = pl.any_horizontal([x.is_not_null() for x in columns])
    short = all(map(_is_short, types))
    return _Coordinates([_double(x) for x in columns], pl.lit(len(columns)), some, short)


def _is_short(dtype: pl.DataType) -> bool:
    return dtype in (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)


def _vector_columns(lazy: pl.LazyFrame, vector: Vector) -> list[pl.Expr]:
    """Give one expression a column, under names that nothing else has."""
    given = [vector] if isinstance(vector, str | pl.Expr) else list(vector)
    for part in given:
        if not isinstance(part, str | pl.Expr):
            raise ClusterEvalError(
                f"vector: expected column names or expressions, got {type(part).__name__}"
            )
    names = [name for part in given for name in _root_names(part)]
    _checked_names(names, "vector", lazy.collect_schema().names())
    exprs = []
    for part in given:
        expr = pl.col(part) if isinstance(part, str) else part
        found = lazy.select(expr).collect_schema().names()
        exprs += [expr] if len(found) == 1 else [pl.col(name) for name in found]
    return [expr.alias(f"x_{i}") for i, expr in enumerate(exprs)]


def _root_names(part: str | pl.Expr) -> list[str]:
    if isinstance(part, str):
        return [part]
    return [] if cs.is_selector(part) else part.meta.root_names()


def _nested(
    lazy: pl.LazyFrame, expr: pl.Expr, dtype: pl.Array | pl.List, counts: pl.Expr
) -> _Coordinates:
    inner = dtype.inner
    if not (isinstance(inner, pl.DataType) and inner.is_numeric()):
        raise _type_error(dtype)
    short = _is_short(inner)
    if isinstance(dtype, pl.Array):
        dims = dtype.shape[0]
        if inner.is_decimal():
            expr = expr.cast(pl.Array(pl.Float64, dims))  # arrays of decimals have no maximum
        if not dims:
            return _Coordinates(
                [pl.lit(None, pl.Float64)], pl.lit(0), expr.is_not_null(), empty=True
            )
        parts = [_double(expr.arr.get(i)) for i in range(dims)]
        some = _some(expr, expr.arr.max(), pl.lit(dims))
        array = _long(expr, inner, dims)
        return _Coordinates(parts, pl.lit(dims), some, short, array=array)
    length = expr.list.len()
    longest = lazy.select(length.filter(counts).max().alias("length"))
    dims = longest.collect(engine="streaming").item() or 0
    parts = [_double(expr.list.get(i, null_on_oob=True)) for i in range(max(dims, 1))]
    some = _some(expr, expr.list.max(), length)
    array = _long(long_vectors.as_arrays(expr, inner, dims), inner, dims)
    return _Coordinates(parts, length, some, short, not dims, array)


def _long(array: pl.Expr, inner: pl.DataType, dims: int) -> pl.Expr | None:
    if dims < long_vectors.LONG:
        return None
    return array if inner.is_float() else array.cast(pl.Array(pl.Float64, dims))


def _some(expr: pl.Expr, most: pl.Expr, length: pl.Expr) -> pl.Expr:
    """Tell whether there is a vector; one of NULLs alone is none, one without numbers an error."""
    return expr.is_not_null() & (most.is_not_null() | (length == 0))


def _type_error(dtype: pl.DataType) -> ClusterEvalError:
    return ClusterEvalError(
        "vector: expected a list or array of numbers, such as [x, y, z], got "
        f"{_vector_type_name(dtype)}; parse_vector makes one from text"
    )


def _vector_type_name(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Array | pl.List) and isinstance(dtype.inner, pl.DataType):
        size = dtype.shape[0] if isinstance(dtype, pl.Array) else ""
        return f"{_vector_type_name(dtype.inner)}[{size}]"
    return _type_name(dtype)


# ----------------------------------------------------------------------------------------------
# Points
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Points:
    """The rows of a frame as points; `keys` maps inner names of partition columns to the user's.

    A row is `complete` if it has a vector and a cluster, `kept` if it counts, and `noisy`. `x` are
    the coordinates less the pivot and times the factors.
    """

    rows: pl.LazyFrame
    keys: dict[str, str]
    dims: int
    distance: _Distance
    center: Center
    single: bool
    pivot: list[float]
    factors: list[float]
    #: Whether the rows have their point as one array too.
    long: bool

    @property
    def by(self) -> list[str]:
        """What a cluster is told by."""
        return [*self.keys, "cluster", *(["single"] if self.single else [])]

    @property
    def adds_up(self) -> bool:
        """Whether sums of squares do: total = within + between."""
        return self.distance.name in ("euclidean", "sqeuclidean") and self.center == "mean"

    def columns(self, prefix: str) -> list[str]:
        return [f"{prefix}_{i}" for i in range(self.dims)]

    def vector(self, prefix: str) -> list[pl.Expr]:
        return [pl.col(name) for name in self.columns(prefix)]

    @cached_property
    def kept(self) -> pl.LazyFrame:
        return self.rows.filter("kept")

    def short(self) -> _Points:
        """Give the same with a column for each coordinate, however many there are."""
        if not self.long:
            return self
        columns = (
            _double(pl.col(prefix).arr.get(i)).alias(name)
            for prefix in ("raw_x", "x")
            for i, name in enumerate(self.columns(prefix))
        )
        return replace(self, rows=self.rows.with_columns(columns), long=False)

    @cached_property
    def centers(self) -> pl.LazyFrame:
        """One row a cluster: its rows, centre (c), mean or median as it is (m), variance (v)."""
        if self.long:
            return self.centered
        centers = self.kept.group_by(self.by).agg(**self._moments())
        return self._directed(centers, "m", "c").cache()

    def _moments(self) -> Terms:
        x = zip(self.columns("m"), self.columns("v"), self.vector("x"), strict=True)
        terms: Terms = {"size": pl.len().cast(pl.Int64)}
        for m, v, of in x:
            terms |= {m: self._middle_of(of), v: of.var(ddof=0)}
        return terms

    @cached_property
    def middles(self) -> pl.LazyFrame:
        """One row a partition: the centre of all points (g), the mean of the clusters' means."""
        if self.center == "median":
            x = zip(self.columns("o"), self.vector("x"), strict=True)
            terms = {name: of.median() for name, of in x}
            rows = self.kept
        else:
            size = _double(pl.col("size"))
            m = zip(self.columns("o"), self.vector("m"), strict=True)
            terms = {name: (size * of).sum() / size.sum() for name, of in m}
            rows = self.centers
        keys = list(self.keys)
        middles = rows.group_by(keys).agg(**terms) if keys else rows.select(**terms)
        return self._directed(middles, "o", "g")

    def _middle_of(self, x: pl.Expr) -> pl.Expr:
        return x.median() if self.center == "median" else x.mean()

    def _directed(self, frame: pl.LazyFrame, given: str, name: str) -> pl.LazyFrame:
        """Add the centres as the distance takes them: directions for cosine."""
        vector = self.vector(given)
        if self.distance.name == "cosine":
            frame = frame.with_columns(divisor=_divisor(vector))
            vector = [x / pl.col("divisor") for x in vector]
        directed = frame.with_columns(**dict(zip(self.columns(name), vector, strict=True)))
        return directed.drop("divisor", strict=False)

    @cached_property
    def centered(self) -> pl.LazyFrame:
        """One row a cluster: its centre (c) beside that of all points (g)."""
        if self.long:
            unit = self.distance.name == "cosine"
            keys = list(self.keys)
            return long_vectors.centered(self.kept, self.by, keys, self.dims, unit=unit).cache()
        middles = self.middles.select(*self.keys, *self.columns("g"))
        return _joined(self.centers, list(self.keys), middles).cache()

    @cached_property
    def spreads(self) -> pl.LazyFrame:
        """One row a cluster: its rows by kind, and their distances to its centre and to the middle.

        Rows that are left out are counted with their cluster too, and have no distance.
        """
        targets = self.centered.select(*self.by, *self.parts("c"), *self.parts("g"))
        rows = _looked_up(self.rows, self.by, targets, "left")
        kept, d = pl.col("kept"), pl.col("d")
        squares = self.distance.squared(d)
        measured = rows.select(
            *self.by,
            "kept",
            "complete",
            "noisy",
            d=pl.when(kept).then(self.between("x", "c")),
            to_middle=pl.when(kept).then(self.between("x", "g")),
        )
        # A cluster is bad too where all its points are finite, and their sum is not.
        whole = (~squares.sum().is_finite()).cast(pl.Int64)
        return (
            measured.group_by(self.by)
            .agg(
                n=kept.cast(pl.Int64).sum(),
                n_dropped=(~pl.col("complete")).cast(pl.Int64).sum(),
                n_noise=pl.col("noisy").cast(pl.Int64).sum(),
                bad=(kept & ~squares.is_finite().fill_null(False)).cast(pl.Int64).sum() + whole,
                distances=d.sum(),
                squares=squares.sum(),
                radius=d.max(),
                to_middle=pl.col("to_middle").sum(),
            )
            .cache()
        )

    def parts(self, prefix: str) -> list[str]:
        """Give the columns that hold a vector: one of arrays, or one a coordinate."""
        return [prefix] if self.long else self.columns(prefix)

    def between(self, x: str, y: str) -> pl.Expr:
        """Give the distance of two vectors that a row has."""
        if self.long:
            return long_vectors.distances(pl.col(x), pl.col(y), *self.distance)
        return self.distance.between(self.vector(x), self.vector(y))

    def norm(self, prefix: str) -> pl.Expr:
        """Give the length of a vector that a row has."""
        if self.long:
            return long_vectors.norms(pl.col(prefix))
        return _square(self.vector(prefix)).sqrt()

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row a cluster that has points: its centre with its spread, and a number."""
        spreads = self.spreads.drop("n_dropped", "n_noise", "bad")
        rows = self.centered.join(spreads, on=self.by, nulls_equal=True)
        return (
            rows.with_row_index("number")
            .with_columns(mean_distance=pl.col("distances") / pl.col("n"))
            .cache()
        )

    @cached_property
    def row_counts(self) -> pl.LazyFrame:
        """One row a partition. One that keeps no row is left out, unless there is no other."""
        n = pl.col("n")
        terms = {
            "n": n.sum(),
            "n_dropped": pl.col("n_dropped").sum(),
            "n_noise": pl.col("n_noise").sum(),
            "n_dims": pl.when(n.sum() > 0).then(self.dims).otherwise(0).cast(pl.Int64),
            "n_clusters": (n > 0).sum().cast(pl.Int64),
            "n_singletons": (n == 1).sum().cast(pl.Int64),
        }
        if not self.keys:
            return self.spreads.select(**terms)
        return self.spreads.group_by(list(self.keys)).agg(**terms).filter(pl.col("n") > 0)

    def known(self) -> _Points:
        """Work the clusters out now, once for all that is asked of them."""
        centered, spreads = pl.collect_all([self.centered, self.spreads], engine="streaming")
        if spreads["bad"].sum():
            raise self.fault()
        known = replace(self)
        # Where a cached property keeps its value.
        vars(known).update(centered=centered.lazy(), spreads=spreads.lazy())
        return known

    def unmeasured(self) -> _Points:
        """Give the same for those who need no distances to the centres.

        The spreads have none, but the number of zero vectors.
        """
        norm, size, kept = pl.col("norm"), pl.col("size"), pl.col("kept")
        terms: Terms = {"size": pl.len().cast(pl.Int64), "total": (norm * norm).sum()}
        terms |= {"known": norm.count(), "zeros": (norm == 0).sum().cast(pl.Int64)}
        moments = {} if self.long else self._moments()
        # Rows of each kind apart, so that one pass tells of the centres too.
        rows = self.rows.with_columns(norm=self.norm("x"))
        groups = rows.group_by(*self.by, "kept", "complete", "noisy").agg(**terms | moments).cache()
        finite = (pl.col("known") == size) & pl.col("total").is_finite()
        names = ("distances", "squares", "radius", "to_middle")
        spreads = groups.group_by(self.by).agg(
            n=size.filter(kept).sum(),
            n_dropped=size.filter(~pl.col("complete")).sum(),
            n_noise=size.filter("noisy").sum(),
            bad=(kept & ~finite).sum().cast(pl.Int64),
            zeros=pl.col("zeros").filter(kept).sum(),
            **{name: pl.lit(None, pl.Float64) for name in names},
        )
        points = replace(self)
        vars(points).update(spreads=spreads.cache())
        if moments:
            centers = groups.filter(kept).select(*self.by, *moments)
            vars(points).update(centers=self._directed(centers, "m", "c").cache())
        return points

    def unscaled(self, prefix: str) -> pl.Expr:
        """Give a centre as a list, in the user's own coordinates."""
        if self.long:
            return long_vectors.unscaled(pl.col(prefix), self.pivot, self.factors)
        x = zip(self.vector(prefix), self.factors, self.pivot, strict=True)
        return pl.concat_list([of / factor + pivot for of, factor, pivot in x])

    def checked(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Add the error for points that cannot be measured, raised when the frame is collected."""
        return _guarded(frame, self.spreads.select(pl.col("bad").sum()), self._raise_if_bad)

    def _raise_if_bad(self, bad: pl.DataFrame) -> None:
        if bad.item():
            raise self.fault()

    def fault(self) -> ClusterEvalError:
        """Give the error of points that cannot be measured."""
        return _fault_error(self.short().kept, self.columns("x"))

    def matrix(
        self, rows: pl.DataFrame, prefix: str, order: Literal["c", "fortran"] = "c"
    ) -> NDArray[np.float64]:
        """Give the vectors of rows as a matrix, in this order if they lie in columns."""
        if self.long:
            return long_vectors.matrix(rows[prefix])
        return rows.select(self.columns(prefix)).to_numpy(order=order)

    def result(self, frame: Frame, lazy: pl.LazyFrame, order: Sequence[str] = ()) -> Frame:
        names = [*self.keys, *order]
        rows = self.checked(lazy)
        rows = rows.sort(names, nulls_last=True) if names else rows
        return _result(frame, rows.drop("single", strict=False), self.keys)


def _guarded(
    frame: pl.LazyFrame, facts: pl.LazyFrame, check: Callable[[pl.DataFrame], None]
) -> pl.LazyFrame:
    """Add an error that the check raises from a few facts when the frame is collected."""

    def fine(found: pl.DataFrame) -> pl.DataFrame:
        check(found)
        return pl.DataFrame({"fine": [True]})

    passed = facts.map_batches(
        fine,
        predicate_pushdown=False,
        projection_pushdown=False,
        slice_pushdown=False,
        schema=pl.Schema({"fine": pl.Boolean()}),
    )
    return frame.join(passed, how="cross").filter("fine").drop("fine")


def _divisor(vector: Sequence[pl.Expr]) -> pl.Expr:
    """Give what makes a vector one of length 1; no length gives a zero vector, not finite none.

    Numbers whose squares are too small for any are zeros so, wherever it is asked.
    """
    norm = _square(vector).sqrt()
    return pl.when(norm.is_finite()).then(pl.when(norm > 0).then(norm).otherwise(float("inf")))


def _fault_error(kept: pl.LazyFrame, columns: Sequence[str]) -> ClusterEvalError:
    """Tell of the first fault and of how many rows have one: read the rows once more for it."""
    dims = len(columns)
    raw = [pl.col(f"raw_{name}") for name in columns]
    bad = [~x.is_finite().fill_null(False) for x in raw]
    faulty = kept.filter(pl.any_horizontal(*bad, pl.col("length") != dims))
    first = [_as_text(x).filter(wrong).min() for x, wrong in zip(raw, bad, strict=True)]
    found = faulty.select(
        pl.len().alias("rows"),
        pl.col("length").min(),
        *(wrong.any().alias(f"bad_{i}") for i, wrong in enumerate(bad)),
        *(x.alias(f"first_{i}") for i, x in enumerate(first)),
    ).collect(engine="streaming")
    return ClusterEvalError(_fault_text(found.row(0, named=True), dims))


def _fault_text(found: dict[str, Any], dims: int) -> str:
    rows = found["rows"]
    if not rows:
        return "vector: distances overflow; scale the coordinates down"
    expected = f"vectors of one length ({dims})"
    if not found["length"]:
        expected, got = "at least one coordinate", "an empty vector"
    elif found["length"] < dims:
        got = f"{found['length']} coordinates"
    else:
        place = next(i for i in range(dims) if found[f"bad_{i}"])
        expected, got = "finite numbers", f"{found[f'first_{place}']} in coordinate {place + 1}"
    at_fault = "row is" if rows == 1 else "rows are"
    return (
        f"vector: expected {expected}, got {got} ({rows} {at_fault} at fault); "
        "mend these rows or leave them out"
    )


def _as_text(x: pl.Expr) -> pl.Expr:
    """Give a number that is not finite as DuckDB writes it."""
    text = pl.when(x.is_null()).then(pl.lit("NULL")).when(x.is_nan()).then(pl.lit("nan"))
    return text.when(x > 0).then(pl.lit("inf")).otherwise(pl.lit("-inf"))


def _points(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    distance: str,
    p: float,
    center: Center,
    partition_by: Keys,
    noise: object,
    noise_as: NoiseAs,
    weights: Sequence[float] | None,
    results: Sequence[str],
    *others: pl.Expr,
) -> _Points:
    """Check the arguments; what it gives reads the rows anew with each pass over them.

    Its rows have the columns `others` too, which are checked already.
    """
    lazy = _checked_lazy(frame)
    measure = _checked_distance(distance, p)
    _checked_choice("center", center, ("mean", "median"))
    _checked_noise_as(noise, noise_as)
    keys = _checked_keys(lazy, partition_by, results)
    label = _checked_group(lazy, cluster, "cluster")
    dtype = lazy.select(label).collect_schema()["cluster"]
    noisy = pl.lit(False) if noise is None else label == _checked_noise(noise, dtype)
    noisy = noisy.fill_null(False)
    counts = label.is_not_null() & (~noisy if noise_as == "drop" else True)
    coordinates = _checked_vector(lazy, vector, counts)
    dims = len(coordinates.exprs)
    points = _Points(
        lazy,
        keys,
        dims,
        measure,
        center,
        noise_as == "singletons",
        _pivot(lazy, coordinates, measure),
        _checked_weights(weights, measure, None if coordinates.empty else dims),
        coordinates.array is not None and center == "mean",
    )
    return replace(points, rows=_rows(points, coordinates, label, noisy, noise_as, others))


def _pivot(lazy: pl.LazyFrame, coordinates: _Coordinates, distance: _Distance) -> list[float]:
    """Give the first point: sums of what is taken less it keep their digits far from the origin."""
    origin = [0.0] * len(coordinates.exprs)
    if distance.name == "cosine" or coordinates.short or not origin:
        return origin
    named = [x.alias(f"x_{i}") for i, x in enumerate(coordinates.exprs)]
    first = lazy.select(named).head(1).collect(engine="streaming")
    values = first.row(0) if first.height else origin
    return [value if value is not None and isfinite(value) else 0.0 for value in values]


def _rows(
    points: _Points,
    coordinates: _Coordinates,
    cluster: pl.Expr,
    noisy: pl.Expr,
    noise_as: NoiseAs,
    others: Sequence[pl.Expr],
) -> pl.LazyFrame:
    raw = points.columns("raw_x")
    given = [x.alias(name) for name, x in zip(raw, coordinates.exprs, strict=True)]
    if points.long and coordinates.array is not None:
        given = [coordinates.array.alias("raw_x")]
    rows = points.rows.select(
        *(pl.col(key).alias(name) for name, key in points.keys.items()),
        cluster.alias("cluster"),
        noisy.alias("noisy"),
        coordinates.length.cast(pl.Int64).alias("length"),
        coordinates.known.alias("known"),
        *given,
        *others,
    )
    known = pl.col("known").fill_null(False)
    rows = rows.with_columns(complete=pl.col("cluster").is_not_null() & known)
    kept = pl.col("complete") & (~pl.col("noisy") if noise_as == "drop" else True)
    rows = rows.with_columns(kept=kept, noisy=pl.col("noisy") & pl.col("complete"))
    if points.single:
        alone = pl.col("noisy")
        rows = rows.with_row_index("row").with_columns(
            cluster=pl.when(~alone).then("cluster"),
            single=pl.when(alone).then(pl.col("row").cast(pl.Int64) + 1).otherwise(0),
        )
    if points.long:
        unit = points.distance.name == "cosine"
        return rows.with_columns(
            x=long_vectors.moved(pl.col("raw_x"), points.pivot, points.factors, unit=unit)
        )
    x = points.columns("x")
    rows = rows.with_columns(**dict(zip(x, _moved(points, raw), strict=True)))
    if points.distance.name != "cosine":
        return rows
    # A column of its own: in each coordinate's expression it would be worked out again.
    rows = rows.with_columns(divisor=_divisor(points.vector("x")))
    return rows.with_columns(pl.col(x) / pl.col("divisor")).drop("divisor")


def _moved(points: _Points, raw: Sequence[str]) -> list[pl.Expr]:
    """Give the coordinates less the pivot, times the factors."""
    moved = []
    for name, pivot, factor in zip(raw, points.pivot, points.factors, strict=True):
        x = pl.col(name) - pivot if pivot else pl.col(name)
        moved.append(x * factor if factor != 1 else x)
    return moved


# ----------------------------------------------------------------------------------------------
# Vectors as text
# ----------------------------------------------------------------------------------------------

_GAP = r"[ ,\t\r\n]"
_NUMBER = r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|infinity|nan)"
_ENTRY = f"-?[0-9]{{1,9}}:{_NUMBER}"
_DENSE = f"{_GAP}*({_NUMBER}({_GAP}+{_NUMBER})*{_GAP}*)?"
_SPARSE = rf"{_GAP}*(\$[0-9]{{1,9}}\${_GAP}*)?({_ENTRY}({_GAP}+{_ENTRY})*{_GAP}*)?"
_LENGTH = r"\$([0-9]+)\$"

# The faults by number: words are made only for the one that is reported.
_NO_VECTOR, _OTHER_LENGTH, _NO_LENGTH, _OUTSIDE, _REPEATED = range(5)


def _checked_size(size: int | None) -> None:
    if size is not None and not (isinstance(size, int) and 1 <= size < 10**9):
        raise ClusterEvalError(f"size: expected a whole number >= 1, got {size}")


def _read(texts: pl.Series, size: pl.Expr) -> pl.DataFrame:
    """Give all that the texts tell; `vector` is the text itself if it is one."""
    text, vector, numbers = pl.col("text"), pl.col("vector"), pl.col("numbers")
    tokens = vector.str.replace(_LENGTH, "").str.extract_all(r"[^ ,:\t\r\n]+")
    is_vector = text.str.contains(f"(?i)^(?:{_DENSE}|{_SPARSE})$")
    read = texts.alias("text").to_frame().with_columns(vector=pl.when(is_vector).then(text))
    read = read.with_columns(
        carried=vector.str.extract(_LENGTH).cast(pl.Int64),
        is_sparse=vector.str.contains("[:$]"),
        # Of a sparse vector indices and coordinates by turns.
        numbers=tokens.cast(pl.List(pl.Float64)),
    )
    return read.with_columns(
        length=pl.coalesce("carried", size),
        indices=pl.when("is_sparse").then(numbers.list.gather_every(2)),
    )


def _text_fault(size: pl.Expr) -> pl.Expr:
    """Give the number of the first fault, NULL where there is none."""
    indices, length = pl.col("indices"), pl.col("length")
    dims = pl.col("numbers").list.len().cast(pl.Int64)
    faults = {
        _NO_VECTOR: pl.col("text").is_not_null() & pl.col("vector").is_null(),
        _OTHER_LENGTH: pl.when("is_sparse").then("carried").otherwise(dims) != size,
        _NO_LENGTH: pl.col("is_sparse") & length.is_null(),
        _OUTSIDE: (indices.list.min() < 0) | (indices.list.max() >= length),
        _REPEATED: indices.list.n_unique() < indices.list.len(),
    }
    return pl.coalesce(pl.when(bad).then(pl.lit(fault, pl.Int8)) for fault, bad in faults.items())


def _text_error(found: dict[str, Any], size: int | None) -> ClusterEvalError:
    text = found["text"]
    # Long texts are cut: they start with what the reader needs to find the row.
    shown = text if len(text) <= 100 else f"{text[:100]}..."
    expected, advice = {
        _NO_VECTOR: ("numbers such as '0.1 0.2' or '0:1 2:3'", ""),
        _OTHER_LENGTH: (
            f"a vector of length {size}",
            "; leave out size where every vector has its own",
        ),
        _NO_LENGTH: ("a sparse vector with its length, such as '$4$0:1 2:3'", "; or give size"),
        _OUTSIDE: (f"indices >= 0 and < {found['length']}", "; the first index is 0"),
        _REPEATED: ("each index once", "; leave out all but one"),
    }[found["fault"]]
    return ClusterEvalError(f"parse_vector: expected {expected}, got '{shown}'{advice}")


def _zeros(n: pl.Expr) -> pl.Expr:
    return pl.lit(0.0).repeat_by(n)


def _filled() -> pl.Expr:
    """Give the list of a sparse vector: each coordinate after the zeros that part it from the last.

    For use in list.eval on its numbers; the zeros at the end are missing.
    """
    index = pl.element().gather_every(2).cast(pl.Int64)
    coordinate = pl.element().gather_every(2, 1).sort_by(index)
    index = index.sort()
    gap = index - index.shift(1, fill_value=-1) - 1
    return pl.concat_list(_zeros(gap), coordinate).explode(empty_as_null=False)


def _padded(values: pl.Expr, length: pl.Expr) -> pl.Expr:
    return pl.concat_list(values, _zeros(length - values.list.len().cast(pl.Int64)))


def _vectors(texts: pl.Series, size: int | None) -> pl.Series:
    """Give the vectors of texts, or the error of the first one at fault."""
    wanted = pl.lit(size, pl.Int64)
    read = _read(texts, wanted).with_columns(fault=_text_fault(wanted))
    faulty = read.filter(pl.col("fault").is_not_null()).head(1)
    if len(faulty):
        raise _text_error(faulty.row(0, named=True), size)
    sparse = pl.when("is_sparse").then("numbers").list.eval(_filled())
    filled = read.with_columns(sparse=sparse)
    padded = _padded(pl.col("sparse"), pl.col("length"))
    return filled.select(pl.coalesce(padded, "numbers")).to_series()


def parse_vector(vec: Column, size: int | None = None) -> pl.Expr:
    """Vector from text, as Alink and libsvm write it, dense or sparse.

    Parameters
    ----------
    vec : str or Expr
        The text. A dense vector is numbers between spaces or commas, ``0.1 0.2`` or ``0.1,0.2``. A
        sparse one is entries of index:number, the first index 0, in any order, ``0:1 2:3``; its
        length may stand in front, ``$4$0:1 2:3``. An empty text is an empty vector. Nan and inf are
        numbers here, which the functions of points refuse.
    size : int, optional
        The length of the vectors. Sparse ones need it where they do not carry their length.

    Returns
    -------
    Expr
        List(Float64) under the name of the column, NULL for NULL.

    Raises
    ------
    ClusterEvalError
        At once if size is no whole number >= 1. When the frame is collected, if a text is no
        vector, a sparse vector has no length, an index is negative, repeated or not below the
        length, or a vector has another length than size.

    Notes
    -----
    In SQL: ``clustereval.parse_vector(vec, size)``.

    References
    ----------
    Alink, VectorUtil, https://github.com/alibaba/Alink.

    Examples
    --------
    A sparse vector that carries its length is as good as the dense one:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> texts = pl.DataFrame({"vec": ["1 0 3 0", "$4$0:1 2:3", None]})
    >>> texts.select(ce.parse_vector("vec"))["vec"].to_list()
    [[1.0, 0.0, 3.0, 0.0], [1.0, 0.0, 3.0, 0.0], None]
    """
    expr = pl.col(vec) if isinstance(vec, str) else vec
    _checked_size(size)
    # One function of whole columns, since an expression has no variables: what it used twice would
    # be worked out twice.
    parsed = expr.cast(pl.String).map_batches(
        partial(_vectors, size=size), return_dtype=pl.List(pl.Float64), is_elementwise=True
    )
    name = expr.meta.output_name(raise_if_undetermined=False) or "parse_vector"
    return parsed.alias(name)


# ----------------------------------------------------------------------------------------------
# Nominal attributes
# ----------------------------------------------------------------------------------------------


def _checked_nominal(lazy: pl.LazyFrame, columns: str | Sequence[str]) -> list[str]:
    names = [columns] if isinstance(columns, str) else columns
    if not (names and isinstance(names, Sequence) and all(isinstance(u, str) for u in names)):
        raise ClusterEvalError(
            f"columns: expected names of columns, such as ['color'], got {_shown(columns)}"
        )
    known = lazy.collect_schema().names()
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ClusterEvalError(f"columns: '{name}' is given twice")
        _checked_group(lazy, name, "columns")
        if f"{name}_vdm" in known:
            raise ClusterEvalError(
                f"columns: '{name}_vdm' is also a column of the table; rename it first"
            )
    return list(names)


def _profiles(
    lazy: pl.LazyFrame, column: str, label: pl.Expr, keys: dict[str, str]
) -> pl.LazyFrame:
    """One row for each value of a partition: the list of P(label | value) over the labels there.

    The list is made from the labels a value has, each after the zeros of those it has not.
    """
    by, rank, n = [*keys, "value"], pl.col("rank"), pl.col("n")
    columns = {name: pl.col(key) for name, key in keys.items()} | {"value": pl.col(column)}
    rows = lazy.select(label, pl.lit(1, pl.Int8).alias("n"), **columns)
    cells = rows.filter(pl.col("label").is_not_null()).group_by(*by, "label").agg(n.sum())
    partition = [pl.col(key) for key in keys] or [pl.lit(0)]
    ranked = cells.with_columns(rank=pl.col("label").rank("dense").cast(pl.Int64).over(partition))
    shares = ranked.select(
        *by,
        "rank",
        n_labels=rank.max().over(partition),
        zeros=rank - rank.shift(1, fill_value=0).over(by, order_by="rank") - 1,
        share=_double(n) / n.sum().over(by),
    )
    parts = pl.concat_list(_zeros(pl.col("zeros")), "share")
    profiles = shares.group_by(by).agg(
        parts.sort_by("rank").explode(empty_as_null=False).alias("profile"),
        pl.col("n_labels").first(),
    )
    return profiles.select(*by, profile=_padded(pl.col("profile"), pl.col("n_labels")))


def _encoded(
    lazy: pl.LazyFrame, profiles: pl.LazyFrame, column: str, keys: dict[str, str]
) -> pl.LazyFrame:
    """Add the profiles of a column to its rows."""
    return lazy.join(
        profiles.rename({"profile": f"{column}_vdm"}),
        how="left",
        left_on=[*keys.values(), column],
        right_on=[*keys, "value"],
        nulls_equal=True,
        maintain_order="left",
    )


def vdm_encode(
    frame: Frame,
    columns: str | Sequence[str],
    label: Column,
    *,
    partition_by: Keys = None,
) -> Frame:
    """Add the profile of each nominal value as a vector: the shares of the classes among its rows.

    Parameters
    ----------
    frame : DataFrame or LazyFrame
        The rows to encode. A LazyFrame is read when the result is collected, once for each of
        columns and once for the rows themselves, and streams.
    columns : str or sequence of str
        Names of the nominal columns, of any type that can be grouped. NULL is a value of its own.
    label : str or Expr
        The class that the shares are of, or a cluster in its place. Rows where it is NULL are not
        counted.
    partition_by : str or sequence of str, optional
        Columns whose groups are encoded each on its own, over the classes they have themselves. A
        NULL makes a group too.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given: its rows in their order, its columns, and for each nominal column u
        a column u_vdm, the list of P(c | u) over the classes c in sorted order. A row whose label
        is NULL has the profile of its value too; a value that has no other rows has a NULL profile.

    Raises
    ------
    ClusterEvalError
        If a column does not exist or cannot be grouped, columns are none or one is given twice, or
        the frame has a column of that name with _vdm already.

    Notes
    -----
    VDM_p(a, b) = Σ_c |P(c|a) − P(c|b)|^p is the p-th power of a Minkowski distance of profiles. The
    mixed distance (Σ_x |x − x'|^p + Σ_u VDM_p)^(1/p) is so minkowski on one vector, of the numbers
    and the profiles one after the other, each profile times w^(1/p) if its column weighs w.
    In SQL: ``FROM clustereval.vdm_encode(tbl, columns, label)``; rows come in any order there.

    References
    ----------
    Stanfill and Waltz (1986), Toward memory-based reasoning, doi:10.1145/7902.7906. Wilson and
    Martinez (1997), Improved heterogeneous distance functions, doi:10.1613/jair.346.

    Examples
    --------
    Values that tell the same about the class are the same point:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> fruit = pl.DataFrame({"color": ["red", "red", "pink", "pink", "blue"], "kind": [*"abbac"]})
    >>> ce.vdm_encode(fruit, "color", "kind").unique("color", maintain_order=True).rows()
    [('red', 'a', [0.5, 0.5, 0.0]), ('pink', 'b', [0.5, 0.5, 0.0]), ('blue', 'c', [0.0, 0.0, 1.0])]
    """
    lazy = _checked_lazy(frame)
    names = _checked_nominal(lazy, columns)
    keys = _checked_keys(lazy, partition_by, ())
    classes = _checked_group(lazy, label, "label")
    encoded = lazy
    for name in names:
        encoded = _encoded(encoded, _profiles(lazy, name, classes, keys), name, keys)
    return encoded if isinstance(frame, pl.LazyFrame) else encoded.collect(engine="streaming")


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


def centroids(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: str = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs = "cluster",
    weights: Sequence[float] | None = None,
) -> Frame:
    """Give the size and the centre of each cluster.

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
    distance : {'euclidean', 'sqeuclidean', 'cityblock', 'chebyshev', 'minkowski', 'cosine'}
        scipy's distances, in any letter case. A zero vector has the cosine distance 1 to all.
    p : float
        Order of the minkowski distance, at least 1.
    center : {'mean', 'median'}
        What a centroid is, by coordinate; for cosine the direction of that of the unit vectors. The
        median needs all points of a cluster in memory.
    partition_by : str or sequence of str, optional
        Columns whose groups are evaluated each on its own. A NULL makes a group too.
    noise : object, optional
        The value of cluster that marks noise.
    noise_as : {'cluster', 'drop', 'singletons'}
        Whether noise is an ordinary cluster, is left out, or is a cluster of its own in each row.
    weights : sequence of float, optional
        A number > 0 for each dimension, as in scipy; not for chebyshev.

    Returns
    -------
    DataFrame or LazyFrame
        The kind that was given, sorted by partition and cluster: the partition columns, cluster, n
        points and centroid, a list of one number a coordinate. With noise_as 'singletons' each
        noise point has a row of its own, cluster NULL.

    Raises
    ------
    ClusterEvalError
        If a column does not exist, vector holds no numbers, noise has no value in the type of
        cluster, or an option is unknown; when the result is collected, if a coordinate is NULL, NaN
        or infinite, or vectors differ in length.

    Notes
    -----
    In SQL: ``FROM clustereval.centroids(tbl, [x, y], cluster)``.

    Examples
    --------
    The mean of two points lies half-way:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> ce.centroids(four, ["x", "y"], "cluster").rows()
    [('a', 2, [1.0, 0.0]), ('b', 2, [9.0, 2.0])]
    """
    points = _points(
        frame,
        vector,
        cluster,
        distance,
        p,
        center,
        partition_by,
        noise,
        noise_as,
        weights,
        ("cluster", "n", "centroid"),
    )
    rows = points.centers.select(*points.by, n="size", centroid=points.unscaled("c"))
    return points.result(frame, rows, points.by[len(points.keys) :])
