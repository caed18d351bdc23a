"""centroids: points, the centers of clusters, and the distances of points to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

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
from polars_clustereval.base.frames import Terms, aggregate_by, join_small, to_user_frame
from polars_clustereval.errors import ClusterEvalError

from .distances import (
    Center,
    Distance,
    LongVectors,
    VectorForm,
    WideVectors,
    check_distance,
    check_weights,
    weight_factors,
)
from .vectors import Coordinates, Vector, check_vector

if TYPE_CHECKING:
    from collections.abc import Sequence


# ----------------------------------------------------------------------------------------------
# Options
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointOptions:
    """Options of the functions of points, checked as far as they can be without the rows."""

    distance: Distance
    center: Center
    weights: list[float] | None
    partition_by: Keys
    noise: object
    noise_as: NoiseAs


def check_point_options(
    *,
    distance: str = "euclidean",
    p: float = 2,
    center: Center = "mean",
    weights: Sequence[float] | None = None,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs = "cluster",
) -> PointOptions:
    """Return the options of a function of points, or raise the error of the first that is wrong."""
    measure = check_distance(distance, p)
    check_choice("center", center, ("mean", "median"))
    check_noise_as(noise, noise_as)
    numbers = check_weights(weights, measure)
    return PointOptions(measure, center, numbers, partition_by, noise=noise, noise_as=noise_as)


# ----------------------------------------------------------------------------------------------
# Points
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """The rows of a frame as points, and what follows from the centers of their clusters.

    A row is `complete` if it has a vector and a cluster, `kept` if it counts, and `noisy` if it is
    complete and noise. Each pass over the rows reads the user's frame again.
    """

    rows: pl.LazyFrame
    #: Inner names of the partition columns, and the user's.
    keys: dict[str, str]
    form: VectorForm
    center: Center
    #: Whether noise is counted as singletons: `single` is then 0, or tells noise points apart.
    has_singletons: bool

    @property
    def partition_keys(self) -> list[str]:
        """The inner names of the partition columns."""
        return list(self.keys)

    @property
    def cluster_keys(self) -> list[str]:
        """The columns that tell a cluster from all others."""
        return [*self.keys, *self.own_keys]

    @property
    def own_keys(self) -> list[str]:
        """The columns that tell a cluster from the others of its partition."""
        return ["cluster", "single"] if self.has_singletons else ["cluster"]

    @property
    def distance(self) -> Distance:
        """The distance of the points."""
        return self.form.distance

    @property
    def squares_add_up(self) -> bool:
        """Whether the total sum of squares is that within plus that between clusters."""
        return self.distance.name in ("euclidean", "sqeuclidean") and self.center == "mean"

    @cached_property
    def kept_rows(self) -> pl.LazyFrame:
        """The rows that count."""
        return self.rows.filter("kept")

    def vector_columns(self, prefix: str) -> list[str]:
        """Return the names of the columns that hold a vector."""
        return self.form.columns(prefix)

    def as_wide(self) -> Points:
        """Return the same points with a column for each coordinate."""
        if not isinstance(self.form, LongVectors):
            return self
        rows = self.rows.with_columns(*self.form.split("raw_x"), *self.form.split("x"))
        return replace(self, rows=rows, form=self.form.to_wide())

    @cached_property
    def centers(self) -> pl.LazyFrame:
        """One row per cluster: its size, mean or median (m), variances (v) and center (c)."""
        centers = self.form.center_clusters(
            self.kept_rows, self.cluster_keys, self.partition_keys, self.center
        )
        return centers.cache()

    @cached_property
    def all_centers(self) -> pl.LazyFrame:
        """The same beside the center of all points of the partition (g)."""
        centers = self.form.add_partition_centers(
            self.centers, self.kept_rows, self.partition_keys, self.center
        )
        return centers.cache()

    @cached_property
    def spreads(self) -> pl.LazyFrame:
        """One row per cluster: its rows by kind, and their distances to its center and to g.

        Rows that are left out are counted with their cluster too, and have no distance.
        """
        keys = self.cluster_keys
        targets = self.all_centers.select(
            *keys, *self.vector_columns("c"), *self.vector_columns("g")
        )
        rows = join_small(self.rows, keys, targets, "left")
        kept, d = pl.col("kept"), pl.col("d")
        squares = self.distance.squared(d)
        measured = rows.select(
            *keys,
            "kept",
            "complete",
            "noisy",
            d=pl.when(kept).then(self.form.distance_between("x", "c")),
            to_middle=pl.when(kept).then(self.form.distance_between("x", "g")),
        )
        # A cluster is bad also if all its points are finite and their sum is not.
        overflow = (~squares.sum().is_finite()).cast(pl.Int64)
        return (
            measured.group_by(keys)
            .agg(
                n=kept.cast(pl.Int64).sum(),
                n_dropped=(~pl.col("complete")).cast(pl.Int64).sum(),
                n_noise=pl.col("noisy").cast(pl.Int64).sum(),
                bad=(kept & ~squares.is_finite().fill_null(False)).cast(pl.Int64).sum() + overflow,
                distances=d.sum(),
                squares=squares.sum(),
                radius=d.max(),
                to_middle=pl.col("to_middle").sum(),
            )
            .cache()
        )

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row per cluster that has points: its centers with its spread, and a number."""
        spreads = self.spreads.drop("n_dropped", "n_noise", "bad")
        rows = self.all_centers.join(spreads, on=self.cluster_keys, nulls_equal=True)
        return (
            rows.with_row_index("number")
            .with_columns(mean_distance=pl.col("distances") / pl.col("n"))
            .cache()
        )

    @cached_property
    def row_counts(self) -> pl.LazyFrame:
        """One row per partition that keeps a row; without partitions one in any case."""
        n = pl.col("n")
        terms = {
            "n": n.sum(),
            "n_dropped": pl.col("n_dropped").sum(),
            "n_noise": pl.col("n_noise").sum(),
            "n_dims": pl.when(n.sum() > 0).then(self.form.dims).otherwise(0).cast(pl.Int64),
            "n_clusters": (n > 0).sum().cast(pl.Int64),
            "n_singletons": (n == 1).sum().cast(pl.Int64),
        }
        counts = aggregate_by(self.spreads, self.partition_keys, terms)
        return counts.filter(pl.col("n") > 0) if self.keys else counts

    def precompute(self) -> Points:
        """Return the same points with centers and spreads computed now, once for all uses."""
        centers, spreads = pl.collect_all([self.all_centers, self.spreads], engine="streaming")
        if spreads["bad"].sum():
            raise self.fault_error()
        points = replace(self)
        # Where a cached property keeps its value.
        vars(points).update(all_centers=centers.lazy(), spreads=spreads.lazy())
        return points

    def without_distances(self) -> Points:
        """Return the same points for uses that need no distances to the centers.

        Their spreads hold NULL for these, and the number of zero vectors (zeros) besides.
        """
        norm, size, kept = pl.col("norm"), pl.col("size"), pl.col("kept")
        moments = self.form.moment_terms(self.center)
        terms: Terms = {
            "size": pl.len().cast(pl.Int64),
            "total": (norm * norm).sum(),
            "known": norm.count(),
            "zeros": (norm == 0).sum().cast(pl.Int64),
            **moments,
        }
        # Rows of each kind apart, so that one pass serves the centers too.
        rows = self.rows.with_columns(norm=self.form.norm("x"))
        kinds = (*self.cluster_keys, "kept", "complete", "noisy")
        groups = rows.group_by(*kinds).agg(**terms).cache()
        finite = (pl.col("known") == size) & pl.col("total").is_finite()
        names = ("distances", "squares", "radius", "to_middle")
        spreads = groups.group_by(self.cluster_keys).agg(
            n=size.filter(kept).sum(),
            n_dropped=size.filter(~pl.col("complete")).sum(),
            n_noise=size.filter("noisy").sum(),
            bad=(kept & ~finite).sum().cast(pl.Int64),
            zeros=pl.col("zeros").filter(kept).sum(),
            **{name: pl.lit(None, pl.Float64) for name in names},
        )
        points = replace(self)
        vars(points).update(spreads=spreads.cache())
        if isinstance(self.form, WideVectors):
            centers = groups.filter(kept).select(*self.cluster_keys, "size", *moments)
            vars(points).update(centers=self.form.add_directions(centers, "m", "c").cache())
        return points

    def with_fault_check(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Attach the error of points that cannot be measured, raised on collection."""

        def raise_fault(bad: pl.DataFrame) -> None:
            if bad.item():
                raise self.fault_error()

        return raise_on_collect(frame, self.spreads.select(pl.col("bad").sum()), raise_fault)

    def fault_error(self) -> ClusterEvalError:
        """Return the error of points that cannot be measured; reads the rows once more."""
        points = self.as_wide()
        return _point_fault_error(points.kept_rows, points.form.coordinates("raw_x"))

    def to_result(self, frame: Frame, lazy: pl.LazyFrame, order: Sequence[str] = ()) -> Frame:
        """Return rows in the user's kind of frame, sorted by partition and by `order`, checked."""
        names = [*self.keys, *order]
        rows = self.with_fault_check(lazy)
        rows = rows.sort(names, nulls_last=True) if names else rows
        return to_user_frame(frame, rows.drop("single", strict=False), self.keys)


# ----------------------------------------------------------------------------------------------
# Faults
# ----------------------------------------------------------------------------------------------


def _point_fault_error(kept: pl.LazyFrame, raw: list[pl.Expr]) -> ClusterEvalError:
    """Error that names the first fault of the raw coordinates, and how many rows have one."""
    dims = len(raw)
    bad = [~x.is_finite().fill_null(False) for x in raw]
    faulty = kept.filter(pl.any_horizontal(*bad, pl.col("length") != dims))
    first = [_non_finite_as_text(x).filter(wrong).min() for x, wrong in zip(raw, bad, strict=True)]
    facts = faulty.select(
        pl.len().alias("rows"),
        pl.col("length").min(),
        *(wrong.any().alias(f"bad_{i}") for i, wrong in enumerate(bad)),
        *(x.alias(f"first_{i}") for i, x in enumerate(first)),
    ).collect(engine="streaming")
    return ClusterEvalError(_point_fault_text(facts.row(0, named=True), dims))


def _point_fault_text(facts: dict[str, Any], dims: int) -> str:
    rows = facts["rows"]
    if not rows:
        return "vector: distances overflow; scale the coordinates down"
    expected = f"vectors of one length ({dims})"
    if not facts["length"]:
        expected, got = "at least one coordinate", "an empty vector"
    elif facts["length"] < dims:
        got = f"{facts['length']} coordinates"
    else:
        place = next(i for i in range(dims) if facts[f"bad_{i}"])
        expected, got = "finite numbers", f"{facts[f'first_{place}']} in coordinate {place + 1}"
    at_fault = "row is" if rows == 1 else "rows are"
    return (
        f"vector: expected {expected}, got {got} ({rows} {at_fault} at fault); "
        "mend these rows or leave them out"
    )


def _non_finite_as_text(x: pl.Expr) -> pl.Expr:
    """Return a number that is not finite as DuckDB writes it."""
    text = pl.when(x.is_null()).then(pl.lit("NULL")).when(x.is_nan()).then(pl.lit("nan"))
    return text.when(x > 0).then(pl.lit("inf")).otherwise(pl.lit("-inf"))


# ----------------------------------------------------------------------------------------------
# Reading
# ----------------------------------------------------------------------------------------------


def read_points(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    options: PointOptions,
    *,
    results: Sequence[str],
    others: Sequence[pl.Expr] = (),
) -> Points:
    """Return the rows of a frame as points.

    `results` are the columns of the result, which no partition column may be named like; `others`
    are columns that the rows keep, checked already.
    """
    lazy = check_frame(frame)
    keys = check_partition_keys(lazy, options.partition_by, results)
    label = check_groupable(lazy, cluster, "cluster")
    noisy = _noise_flag(lazy, label, options.noise)
    counts = label.is_not_null() & (~noisy if options.noise_as == "drop" else True)
    coordinates = check_vector(lazy, vector, counts)
    form = _choose_form(lazy, coordinates, options)
    rows = lazy.select(
        *(pl.col(key).alias(name) for name, key in keys.items()),
        label.alias("cluster"),
        noisy.alias("noisy"),
        coordinates.length.cast(pl.Int64).alias("length"),
        coordinates.known.alias("known"),
        *form.raw_columns(coordinates),
        *others,
    )
    rows = form.add_points(_flag_rows(rows, options.noise_as))
    return Points(rows, keys, form, options.center, options.noise_as == "singletons")


def _noise_flag(lazy: pl.LazyFrame, cluster: pl.Expr, noise: object) -> pl.Expr:
    if noise is None:
        return pl.lit(False)
    dtype = lazy.select(cluster).collect_schema()["cluster"]
    return (cluster == check_noise_value(noise, dtype)).fill_null(False)


def _choose_form(lazy: pl.LazyFrame, coordinates: Coordinates, options: PointOptions) -> VectorForm:
    dims, distance = len(coordinates.exprs), options.distance
    origin = _first_point(lazy, coordinates, distance)
    # A single NULL stands for the coordinates of vectors without any.
    weights = None if coordinates.empty else options.weights
    factors = weight_factors(weights, distance, dims)
    # Medians need a column for each coordinate.
    is_long = coordinates.array is not None and options.center == "mean"
    make = LongVectors if is_long else WideVectors
    return make(dims, distance, origin, factors)


def _first_point(lazy: pl.LazyFrame, coordinates: Coordinates, distance: Distance) -> list[float]:
    """Return the first point as origin, zeros where its sums lose no digits."""
    zeros = [0.0] * len(coordinates.exprs)
    if distance.name == "cosine" or coordinates.few_digits or not zeros:
        return zeros
    named = [x.alias(f"x_{i}") for i, x in enumerate(coordinates.exprs)]
    first = lazy.select(named).head(1).collect(engine="streaming")
    values = first.row(0) if first.height else zeros
    return [value if value is not None and isfinite(value) else 0.0 for value in values]


def _flag_rows(rows: pl.LazyFrame, noise_as: NoiseAs) -> pl.LazyFrame:
    """Add complete and kept; noise that is counted as singletons gets a number of its own."""
    known = pl.col("known").fill_null(False)
    rows = rows.with_columns(complete=pl.col("cluster").is_not_null() & known)
    kept = pl.col("complete") & (~pl.col("noisy") if noise_as == "drop" else True)
    rows = rows.with_columns(kept=kept, noisy=pl.col("noisy") & pl.col("complete"))
    if noise_as != "singletons":
        return rows
    alone = pl.col("noisy")
    return rows.with_row_index("row").with_columns(
        cluster=pl.when(~alone).then("cluster"),
        single=pl.when(alone).then(pl.col("row").cast(pl.Int64) + 1).otherwise(0),
    )


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
    options = check_point_options(
        distance=distance,
        p=p,
        center=center,
        weights=weights,
        partition_by=partition_by,
        noise=noise,
        noise_as=noise_as,
    )
    points = read_points(frame, vector, cluster, options, results=("cluster", "n", "centroid"))
    centroid = points.form.unscale("c")
    rows = points.centers.select(*points.cluster_keys, n="size", centroid=centroid)
    return points.to_result(frame, rows, points.own_keys)
