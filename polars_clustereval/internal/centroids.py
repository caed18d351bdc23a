"""centroids: points, the centers of clusters, and the distances of points to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from polars_clustereval.base.checks import (
    Column,
    Frame,
    Keys,
    NoiseAs,
    check_choice,
    check_frame,
    check_groupable,
    check_noise_as,
    check_noise_value,
    check_partition_keys,
    raise_on_collect,
)
from polars_clustereval.base.exact import to_double
from polars_clustereval.base.frames import Terms, join_partitions, join_small, to_user_frame
from polars_clustereval.errors import ClusterEvalError

from .distances import Distance, check_distance, check_weights, sum_of_squares
from .kernels import long_vectors
from .vectors import Coordinates, Vector, check_vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

Center = Literal["mean", "median"]


# ----------------------------------------------------------------------------------------------
# Points
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """The rows of a frame as points; `keys` maps inner names of partition columns to the user's.

    A row is `complete` if it has a vector and a cluster, `kept` if it counts, and `noisy`. `x` are
    the coordinates less the pivot and times the factors.
    """

    rows: pl.LazyFrame
    keys: dict[str, str]
    dims: int
    distance: Distance
    center: Center
    single: bool
    pivot: list[float]
    factors: list[float]
    #: Whether the rows have their point as one array too.
    long: bool

    @property
    def partition(self) -> list[str]:
        """The inner names of the partition columns."""
        return list(self.keys)

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

    def short(self) -> Points:
        """Give the same with a column for each coordinate, however many there are."""
        if not self.long:
            return self
        columns = (
            to_double(pl.col(prefix).arr.get(i)).alias(name)
            for prefix in ("raw_x", "x")
            for i, name in enumerate(self.columns(prefix))
        )
        return replace(self, rows=self.rows.with_columns(columns), long=False)

    @cached_property
    def centers(self) -> pl.LazyFrame:
        """One row a cluster: its rows, center (c), mean or median as it is (m), variance (v)."""
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
        """One row a partition: the center of all points (g), the mean of the clusters' means."""
        if self.center == "median":
            x = zip(self.columns("o"), self.vector("x"), strict=True)
            terms = {name: of.median() for name, of in x}
            rows = self.kept
        else:
            size = to_double(pl.col("size"))
            m = zip(self.columns("o"), self.vector("m"), strict=True)
            terms = {name: (size * of).sum() / size.sum() for name, of in m}
            rows = self.centers
        keys = list(self.keys)
        middles = rows.group_by(keys).agg(**terms) if keys else rows.select(**terms)
        return self._directed(middles, "o", "g")

    def _middle_of(self, x: pl.Expr) -> pl.Expr:
        return x.median() if self.center == "median" else x.mean()

    def _directed(self, frame: pl.LazyFrame, given: str, name: str) -> pl.LazyFrame:
        """Add the centers as the distance takes them: directions for cosine."""
        vector = self.vector(given)
        if self.distance.name == "cosine":
            frame = frame.with_columns(divisor=_unit_divisor(vector))
            vector = [x / pl.col("divisor") for x in vector]
        directed = frame.with_columns(**dict(zip(self.columns(name), vector, strict=True)))
        return directed.drop("divisor", strict=False)

    @cached_property
    def centered(self) -> pl.LazyFrame:
        """One row a cluster: its center (c) beside that of all points (g)."""
        if self.long:
            unit = self.distance.name == "cosine"
            keys = list(self.keys)
            return long_vectors.centered(self.kept, self.by, keys, self.dims, unit=unit).cache()
        middles = self.middles.select(*self.keys, *self.columns("g"))
        return join_partitions(self.centers, list(self.keys), middles).cache()

    @cached_property
    def spreads(self) -> pl.LazyFrame:
        """One row a cluster: its rows by kind, and their distances to its center and to the middle.

        Rows that are left out are counted with their cluster too, and have no distance.
        """
        targets = self.centered.select(*self.by, *self.parts("c"), *self.parts("g"))
        rows = join_small(self.rows, self.by, targets, "left")
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
        return sum_of_squares(self.vector(prefix)).sqrt()

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row a cluster that has points: its center with its spread, and a number."""
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

    def known(self) -> Points:
        """Work the clusters out now, once for all that is asked of them."""
        centered, spreads = pl.collect_all([self.centered, self.spreads], engine="streaming")
        if spreads["bad"].sum():
            raise self.fault()
        known = replace(self)
        # Where a cached property keeps its value.
        vars(known).update(centered=centered.lazy(), spreads=spreads.lazy())
        return known

    def unmeasured(self) -> Points:
        """Give the same for those who need no distances to the centers.

        The spreads have none, but the number of zero vectors.
        """
        norm, size, kept = pl.col("norm"), pl.col("size"), pl.col("kept")
        terms: Terms = {"size": pl.len().cast(pl.Int64), "total": (norm * norm).sum()}
        terms |= {"known": norm.count(), "zeros": (norm == 0).sum().cast(pl.Int64)}
        moments = {} if self.long else self._moments()
        # Rows of each kind apart, so that one pass tells of the centers too.
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
        """Give a center as a list, in the user's own coordinates."""
        if self.long:
            return long_vectors.unscaled(pl.col(prefix), self.pivot, self.factors)
        x = zip(self.vector(prefix), self.factors, self.pivot, strict=True)
        return pl.concat_list([of / factor + pivot for of, factor, pivot in x])

    def checked(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Add the error for points that cannot be measured, raised when the frame is collected."""
        return raise_on_collect(frame, self.spreads.select(pl.col("bad").sum()), self._raise_if_bad)

    def _raise_if_bad(self, bad: pl.DataFrame) -> None:
        if bad.item():
            raise self.fault()

    def fault(self) -> ClusterEvalError:
        """Give the error of points that cannot be measured."""
        return _point_fault_error(self.short().kept, self.columns("x"))

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
        return to_user_frame(frame, rows.drop("single", strict=False), self.keys)


def _unit_divisor(vector: Sequence[pl.Expr]) -> pl.Expr:
    """Give what makes a vector one of length 1; no length gives a zero vector, not finite none.

    Numbers whose squares are too small for any are zeros so, wherever it is asked.
    """
    norm = sum_of_squares(vector).sqrt()
    return pl.when(norm.is_finite()).then(pl.when(norm > 0).then(norm).otherwise(float("inf")))


def _point_fault_error(kept: pl.LazyFrame, columns: Sequence[str]) -> ClusterEvalError:
    """Tell of the first fault and of how many rows have one: read the rows once more for it."""
    dims = len(columns)
    raw = [pl.col(f"raw_{name}") for name in columns]
    bad = [~x.is_finite().fill_null(False) for x in raw]
    faulty = kept.filter(pl.any_horizontal(*bad, pl.col("length") != dims))
    first = [_non_finite_as_text(x).filter(wrong).min() for x, wrong in zip(raw, bad, strict=True)]
    found = faulty.select(
        pl.len().alias("rows"),
        pl.col("length").min(),
        *(wrong.any().alias(f"bad_{i}") for i, wrong in enumerate(bad)),
        *(x.alias(f"first_{i}") for i, x in enumerate(first)),
    ).collect(engine="streaming")
    return ClusterEvalError(_point_fault_text(found.row(0, named=True), dims))


def _point_fault_text(found: dict[str, Any], dims: int) -> str:
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


def _non_finite_as_text(x: pl.Expr) -> pl.Expr:
    """Give a number that is not finite as DuckDB writes it."""
    text = pl.when(x.is_null()).then(pl.lit("NULL")).when(x.is_nan()).then(pl.lit("nan"))
    return text.when(x > 0).then(pl.lit("inf")).otherwise(pl.lit("-inf"))


def read_points(
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
) -> Points:
    """Check the arguments; what it gives reads the rows anew with each pass over them.

    Its rows have the columns `others` too, which are checked already.
    """
    lazy = check_frame(frame)
    measure = check_distance(distance, p)
    check_choice("center", center, ("mean", "median"))
    check_noise_as(noise, noise_as)
    keys = check_partition_keys(lazy, partition_by, results)
    label = check_groupable(lazy, cluster, "cluster")
    dtype = lazy.select(label).collect_schema()["cluster"]
    noisy = pl.lit(False) if noise is None else label == check_noise_value(noise, dtype)
    noisy = noisy.fill_null(False)
    counts = label.is_not_null() & (~noisy if noise_as == "drop" else True)
    coordinates = check_vector(lazy, vector, counts)
    dims = len(coordinates.exprs)
    points = Points(
        lazy,
        keys,
        dims,
        measure,
        center,
        noise_as == "singletons",
        _first_point(lazy, coordinates, measure),
        check_weights(weights, measure, None if coordinates.empty else dims),
        coordinates.array is not None and center == "mean",
    )
    return replace(points, rows=_point_rows(points, coordinates, label, noisy, noise_as, others))


def _first_point(lazy: pl.LazyFrame, coordinates: Coordinates, distance: Distance) -> list[float]:
    """Give the first point: sums of what is taken less it keep their digits far from the origin."""
    origin = [0.0] * len(coordinates.exprs)
    if distance.name == "cosine" or coordinates.short or not origin:
        return origin
    named = [x.alias(f"x_{i}") for i, x in enumerate(coordinates.exprs)]
    first = lazy.select(named).head(1).collect(engine="streaming")
    values = first.row(0) if first.height else origin
    return [value if value is not None and isfinite(value) else 0.0 for value in values]


def _point_rows(
    points: Points,
    coordinates: Coordinates,
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
    rows = rows.with_columns(**dict(zip(x, _move_and_scale(points, raw), strict=True)))
    if points.distance.name != "cosine":
        return rows
    # A column of its own: in each coordinate's expression it would be worked out again.
    rows = rows.with_columns(divisor=_unit_divisor(points.vector("x")))
    return rows.with_columns(pl.col(x) / pl.col("divisor")).drop("divisor")


def _move_and_scale(points: Points, raw: Sequence[str]) -> list[pl.Expr]:
    """Give the coordinates less the pivot, times the factors."""
    moved = []
    for name, pivot, factor in zip(raw, points.pivot, points.factors, strict=True):
        x = pl.col(name) - pivot if pivot else pl.col(name)
        moved.append(x * factor if factor != 1 else x)
    return moved


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
    """Give the size and the center of each cluster.

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
    points = read_points(
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
