"""centroids: reads points, and computes the centers of clusters and the distances to the centers.

See the class VectorForm for the meaning of the vectors raw_x, x, m, v, c and g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
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
    check_partition_keys,
    equals_noise,
    key_columns,
    raise_on_collect,
    show_value,
)
from polars_clustereval.base.deferral import collect_all_now, collect_now
from polars_clustereval.base.frames import (
    Terms,
    aggregate_by,
    join_partitions,
    join_small,
    to_user_frame,
)
from polars_clustereval.base.tables import pass_arguments_to, table_function
from polars_clustereval.errors import ClusterEvalError

from .distances import (
    Center,
    Distance,
    DistanceName,
    LongVectors,
    VectorForm,
    WideVectors,
    check_distance,
    check_weights,
    weight_factors,
)
from .point_faults import point_fault_error
from .vectors import (
    Coordinates,
    Missing,
    Vector,
    check_missing,
    check_vector,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


# ----------------------------------------------------------------------------------------------
# Options
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PointOptions:
    """Options of the internal indices, checked as far as possible without reading any rows."""

    distance: Distance
    center: Center
    weights: list[float] | None
    partition_by: Keys
    noise: object
    noise_as: NoiseAs | None
    missing: Missing


def check_point_options(
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    weights: Sequence[float] | None = None,
    partition_by: Keys = None,
    noise: object = None,
    noise_as: NoiseAs | None = None,
    missing: Missing = "error",
) -> PointOptions:
    """Return the options that all internal indices share, or raise an error.

    Checks that need rows, such as the check of the number of weights, are made later.
    """
    measure = check_distance(distance, p)
    check_choice("center", center, ("mean", "median"))
    check_noise_as(noise, noise_as)
    numbers = check_weights(weights, measure)
    return PointOptions(
        measure,
        center,
        numbers,
        partition_by,
        noise=noise,
        noise_as=noise_as,
        missing=check_missing(missing),
    )


# ----------------------------------------------------------------------------------------------
# Points
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """The rows of a frame as points, with the centers and spreads of their clusters.

    A row is `complete` if it has a vector and a cluster, `kept` if it is complete and is not
    dropped as noise, and `noisy` if it is complete and marked as noise. Rows with equal values in
    the partition columns form a partition, and without these columns all rows do. `form` explains
    the vectors of a row. Each pass over the rows reads the user's frame again.
    """

    rows: pl.LazyFrame
    #: The inner names of the partition columns, with the user's names.
    keys: dict[str, str]
    form: VectorForm
    center: Center
    #: Whether each noise row counts as a cluster. If so, the column `singleton_no` has the number
    #: of the row for noise, and 0 for other rows.
    has_singletons: bool
    #: Names of the columns of the coordinates, for error texts; empty unless each coordinate is a
    #: column.
    names: tuple[str, ...] = ()
    #: Whether the column `id` is the user's, and not the row number.
    has_user_id: bool = False
    #: One row per partition: the origin that is subtracted from its points. None if no points are
    #: moved.
    origins: pl.LazyFrame | None = None
    #: Whether collecting `spreads` raises the error for points without finite distances.
    is_checked: bool = False

    @property
    def partition_keys(self) -> list[str]:
        """The inner names of the partition columns in `rows`: key_0, key_1, ..."""
        return list(self.keys)

    @property
    def cluster_keys(self) -> list[str]:
        """The columns that identify a cluster: the partition columns and `own_keys`."""
        return [*self.keys, *self.own_keys]

    @property
    def own_keys(self) -> list[str]:
        """The columns that identify a cluster in its partition: cluster, singleton_no if any."""
        return ["cluster", "singleton_no"] if self.has_singletons else ["cluster"]

    @property
    def distance(self) -> Distance:
        """The distance used to compare points, including the order p for `minkowski`."""
        return self.form.distance

    @property
    def squares_add_up(self) -> bool:
        """Whether the sums of squares within and between clusters add up to the total."""
        return self.distance.name in ("euclidean", "sqeuclidean") and self.center == "mean"

    @cached_property
    def kept_rows(self) -> pl.LazyFrame:
        """The rows to evaluate."""
        return self.rows.filter("kept")

    def with_vectors(self, *, is_eager: bool) -> Points:
        """Return the points with the vector x in each row, along with the subtracted origins.

        If `is_eager` is true, as for frames in memory, the origins of the partitions are computed
        immediately, and if all of them are 0, which is the usual case, the points are not moved.
        Otherwise the origins are joined to the rows, and unless `is_eager` is true, they are
        computed when the result is collected.
        """
        form, rows, keys = self.form, self.rows, self.partition_keys
        if not form.is_moved:
            return replace(self, rows=form.add_points(rows))
        origins = form.find_origins(self.kept_rows, self.cluster_keys, keys).cache()
        if is_eager:
            table = collect_now(origins)
            if not form.has_origins(table):
                form = replace(form, is_moved=False)
                return replace(self, rows=form.add_points(rows), form=form)
            origins = table.lazy()
        # A cross join holds its left side in memory.
        rows = join_small(rows, keys, origins, "left") if keys else origins.join(rows, how="cross")
        return replace(self, rows=form.add_points(rows), origins=origins)

    def with_user_centers(self, clusters: pl.LazyFrame) -> pl.LazyFrame:
        """Return `clusters` with their center c as a list `centroid` in the user's coordinates."""
        if self.origins is not None:
            clusters = join_partitions(clusters, self.partition_keys, self.origins)
        return clusters.with_columns(centroid=self.form.unscale("c"))

    @cached_property
    def centers(self) -> pl.LazyFrame:
        """One row per cluster with kept points: its keys, size, and vectors m, v and c."""
        centers = self.form.center_clusters(
            self.kept_rows, self.cluster_keys, self.partition_keys, self.center
        )
        return centers.cache()

    @cached_property
    def all_centers(self) -> pl.LazyFrame:
        """One row per cluster: the columns of `centers`, and the center g of its partition."""
        centers = self.form.add_partition_centers(
            self.centers, self.kept_rows, self.partition_keys, self.center
        )
        return centers.cache()

    @cached_property
    def spreads(self) -> pl.LazyFrame:
        """One row per cluster: its key columns, row counts, and sums of distances to centers.

        n counts the kept points, n_dropped the rows without a vector or cluster, and n_noise the
        noise points. n_invalid is positive if a kept point has no finite distance, or if the sum of
        the squared distances is not finite. The distances of the kept points to the center of the
        cluster have a sum (distances), a sum of squares (ssw) and a maximum (radius), and those to
        the center of the partition a sum (overall_distances). Rows with a NULL cluster are counted
        in a separate row. For cosine, zeros counts the kept points that are zero vectors.
        """
        keys = self.cluster_keys
        targets = self.all_centers.select(*keys, *self.form.columns("c"), *self.form.columns("g"))
        rows = join_small(self.rows, keys, targets, "left")
        kept, own_distance = pl.col("kept"), pl.col("own_distance")
        squares = self.distance.squared(own_distance)
        zeros: Terms = {}
        if self.distance.name == "cosine":
            zeros = {"zeros": (kept & (self.form.norm("x") == 0)).cast(pl.Int64)}
        measured = rows.select(
            *keys,
            "kept",
            "complete",
            "noisy",
            own_distance=pl.when(kept).then(self.form.distance_between("x", "c")),
            overall_distance=pl.when(kept).then(self.form.distance_between("x", "g")),
            **zeros,
        )
        n = kept.cast(pl.Int64).sum()
        # A sum may overflow even if all distances are finite.
        overflow = (~squares.sum().is_finite()).cast(pl.Int64)
        return (
            measured.group_by(keys)
            .agg(
                n=n,
                n_dropped=(~pl.col("complete")).cast(pl.Int64).sum(),
                n_noise=pl.col("noisy").cast(pl.Int64).sum(),
                n_invalid=n - own_distance.count().cast(pl.Int64) + overflow,
                distances=own_distance.sum(),
                ssw=squares.sum(),
                radius=own_distance.max(),
                overall_distances=pl.col("overall_distance").sum(),
                **{name: pl.col(name).sum() for name in zeros},
            )
            .cache()
        )

    @cached_property
    def clusters(self) -> pl.LazyFrame:
        """One row per nonempty cluster: the columns of `all_centers` and `spreads`, and two more.

        These are mean_distance, the mean distance from the cluster's points to its center, and
        number, which is unique in the frame. n_dropped, n_noise and n_invalid are left out.
        """
        spreads = self.spreads.drop("n_dropped", "n_noise", "n_invalid")
        rows = self.all_centers.join(spreads, on=self.cluster_keys, nulls_equal=True)
        return (
            rows.with_row_index("number")
            .with_columns(mean_distance=pl.col("distances") / pl.col("n"))
            .cache()
        )

    @cached_property
    def row_counts(self) -> pl.LazyFrame:
        """One row per partition: n, n_dropped, n_noise, n_dims, n_clusters and n_singletons.

        A partition has a row even if it has no kept points. For cosine, there are also the zeros.
        """
        n = pl.col("n")
        terms = {
            "n": n.sum(),
            "n_dropped": pl.col("n_dropped").sum(),
            "n_noise": pl.col("n_noise").sum(),
            "n_dims": pl.when(n.sum() > 0).then(self.form.dims).otherwise(0).cast(pl.Int64),
            "n_clusters": (n > 0).sum().cast(pl.Int64),
            "n_singletons": (n == 1).sum().cast(pl.Int64),
        }
        if self.distance.name == "cosine":
            terms["zeros"] = pl.col("zeros").sum()
        return aggregate_by(self.spreads, self.partition_keys, terms)

    def precompute(self) -> Points:
        """Return the points with all_centers and spreads collected, or raise the fault error."""
        if isinstance(self.form, LongVectors):
            # If the two were collected together, the engine would read the points once for both
            # plans, and hold all of them in memory.
            centers = collect_now(self.all_centers)
            spreads = collect_now(self.with_frames(all_centers=centers.lazy()).spreads)
        else:
            plans = [self.all_centers, self.spreads]
            centers, spreads = collect_all_now(plans)
        if spreads["n_invalid"].sum():
            raise self.fault_error()
        return self.with_frames(all_centers=centers.lazy(), spreads=spreads.lazy())

    def with_frames(self, **frames: pl.LazyFrame) -> Points:
        """Return the points with `frames` stored as the cached properties of these names.

        Spreads that were stored by `without_distances` are kept.
        """
        points = replace(self)
        kept = {"spreads": self.spreads} if "spreads" in vars(self) else {}
        # A cached property stores its value here.
        vars(points).update(kept | frames)
        return points

    def without_distances(self) -> Points:
        """Return the points with spreads and, if wide, centers of a single pass without distances.

        The columns distances, ssw, radius and overall_distances are NULL. The spreads have an
        additional column, zeros, which counts the kept points that are zero vectors.
        """
        norm, size, kept = pl.col("norm"), pl.col("size"), pl.col("kept")
        moments = self.form.moment_terms(self.center)
        terms: Terms = {
            "size": pl.len().cast(pl.Int64),
            "total": (norm * norm).sum(),
            "n_norms": norm.count(),
            "zeros": (norm == 0).sum().cast(pl.Int64),
            **moments,
        }
        # Kept rows are a group of their own, so that the same pass also yields the centers.
        rows = self.rows.with_columns(norm=self.form.norm("x"))
        kinds = (*self.cluster_keys, "kept", "complete", "noisy")
        groups = rows.group_by(*kinds).agg(**terms).cache()
        finite = (pl.col("n_norms") == size) & pl.col("total").is_finite()
        names = ("distances", "ssw", "radius", "overall_distances")
        spreads = groups.group_by(self.cluster_keys).agg(
            n=size.filter(kept).sum(),
            n_dropped=size.filter(~pl.col("complete")).sum(),
            n_noise=size.filter("noisy").sum(),
            n_invalid=(kept & ~finite).sum().cast(pl.Int64),
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
        """Return `frame` with a check that all kept points have finite distances."""
        if self.is_checked:
            return frame

        def raise_fault(n_invalid: pl.DataFrame) -> None:
            """Raise the fault error unless the number is 0."""
            if n_invalid.item():
                raise self.fault_error()

        return raise_on_collect(frame, self.spreads.select(pl.col("n_invalid").sum()), raise_fault)

    def with_id_check(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """Return `frame` with a check, when it is collected, that the user's ids are unique."""
        if not self.has_user_id:
            return frame

        def raise_repeated(repeated: pl.DataFrame) -> None:
            """Raise an error unless `repeated`, with an id and the number of its rows, is empty."""
            if repeated.height:
                row = repeated.row(0, named=True)
                raise ClusterEvalError(
                    "id: expected one row for each id of a partition, got "
                    f"{row['rows']} rows with {show_value(row['id'])}"
                )

        counts = self.kept_rows.group_by(*self.keys, "id").agg(rows=pl.len())
        repeated = counts.filter(pl.col("rows") > 1).sort("id", nulls_last=True).head(1)
        return raise_on_collect(frame, repeated, raise_repeated)

    def fault_error(self) -> ClusterEvalError:
        """Return the error for vectors without finite distances, which are read again."""
        rows, form, origin = self.kept_rows, self.form, pl.col("origin_0")
        if isinstance(form, LongVectors):
            rows, form = rows.with_columns(form.split("raw_x")), form.to_wide()
            origin = pl.col("origin").list.first()
        moved = self.origins
        return point_fault_error(
            rows,
            form.coordinates("raw_x"),
            self.names,
            self.keys,
            has_id=self.has_user_id,
            # Origins are NaN where distances underflow.
            underflow=moved is not None and moved.select(origin.is_nan().any()).collect().item(),
        )

    def to_result(
        self,
        frame: Frame,
        lazy: pl.LazyFrame,
        order: Sequence[str] = (),
        metrics: Sequence[str] | None = None,
    ) -> Frame:
        """Return the result as the same kind of frame as the user's `frame`, with its checks.

        The rows are sorted by the partition columns and then by `order`. `metrics` lists the
        columns to return after the partition columns (by default all but singleton_no).
        """
        names = [*self.keys, *order]
        rows = self.with_fault_check(lazy)
        rows = rows.sort(names, nulls_last=True) if names else rows
        return to_user_frame(frame, rows.drop("singleton_no", strict=False), self.keys, metrics)


# ----------------------------------------------------------------------------------------------
# Reading
# ----------------------------------------------------------------------------------------------


def read_points(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    options: PointOptions,
    *,
    needs_origins: bool = True,
    is_eager: bool = False,
    **given: Any,
) -> Points:
    """Check all arguments, and return the rows of the user's frame as points with vectors.

    `given` contains further arguments for read_rows. If only distances are computed, set
    `needs_origins` to False: the points are not moved, because distances, unlike means and squares,
    lose no digits far from 0. `is_eager` finds the origins immediately even for a LazyFrame.
    """
    points = read_rows(frame, vector, cluster, options, **given)
    form = replace(points.form, is_moved=points.form.is_moved and needs_origins)
    points = replace(points, form=form)
    return points.with_vectors(is_eager=is_eager or isinstance(frame, pl.DataFrame))


def read_rows(
    frame: pl.DataFrame | pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    options: PointOptions,
    *,
    results: Sequence[str],
    row_id: pl.Expr | Literal["number"] | None = None,
    inner_key: pl.Expr | None = None,
    needs_wide: bool = False,
) -> Points:
    """Check all arguments, and return the rows of the user's frame as points without the vector x.

    `results` lists the columns of the caller's result, which partition columns must not have.
    `row_id`, an expression that has been checked or "number" for the row number from 0, becomes the
    column id. `inner_key`, an expression that has been checked, becomes the last partition column.
    `needs_wide` stores each coordinate in a column of its own, even if vectors are long.
    """
    lazy = check_frame(frame)
    keys = check_partition_keys(lazy, options.partition_by, results)
    label = check_groupable(lazy, cluster, "cluster")
    noisy = pl.lit(False)
    if options.noise is not None:
        noisy = equals_noise(label, options.noise, lazy.select(label).collect_schema()["cluster"])
    counts = label.is_not_null() & (~noisy if options.noise_as == "drop" else True)
    coordinates = check_vector(lazy, vector, counts, options.missing)
    form = _choose_form(coordinates, options, needs_wide=needs_wide)
    columns = key_columns(keys)
    if inner_key is not None:
        columns.append(inner_key.alias(f"key_{len(keys)}"))
        keys |= {f"key_{len(keys)}": inner_key.meta.output_name()}
    rows = lazy.select(
        *columns,
        label.alias("cluster"),
        noisy.alias("noisy"),
        coordinates.length.cast(pl.Int64).alias("length"),
        coordinates.has_vector.alias("has_vector"),
        *form.raw_columns(coordinates),
        *([row_id] if isinstance(row_id, pl.Expr) else []),
    )
    if isinstance(row_id, str):
        rows = rows.with_row_index("id").with_columns(pl.col("id").cast(pl.Int64))
    rows = _flag_rows(rows, options.noise_as)
    return Points(
        rows,
        keys,
        form,
        options.center,
        options.noise_as == "singletons",
        coordinates.names,
        has_user_id=isinstance(row_id, pl.Expr),
    )


def _choose_form(
    coordinates: Coordinates, options: PointOptions, *, needs_wide: bool
) -> VectorForm:
    """Return LongVectors for means of many coordinates unless needs_wide, otherwise WideVectors."""
    dims, distance = len(coordinates.exprs), options.distance
    # Vectors without coordinates have a single NULL instead, to which no weight belongs.
    weights = None if coordinates.is_empty else options.weights
    factors = weight_factors(weights, distance, dims)
    # Points are not moved for cosine, which depends on the position of 0. Nor are they moved if
    # their numbers have few digits, because these neither lose digits nor overflow.
    is_exact = coordinates.few_digits and weights is None
    is_moved = not (distance.name == "cosine" or is_exact or coordinates.is_empty)
    # Medians need one column per coordinate.
    is_long = coordinates.array is not None and options.center == "mean" and not needs_wide
    make = LongVectors if is_long else WideVectors
    return make(dims, distance, factors, is_moved)


def _flag_rows(rows: pl.LazyFrame, noise_as: NoiseAs | None) -> pl.LazyFrame:
    """Return the rows with the flags of Points; singletons have no cluster but a singleton_no."""
    has_vector = pl.col("has_vector").fill_null(False)
    rows = rows.with_columns(complete=pl.col("cluster").is_not_null() & has_vector)
    kept = pl.col("complete") & (~pl.col("noisy") if noise_as == "drop" else True)
    rows = rows.with_columns(kept=kept, noisy=pl.col("noisy") & pl.col("complete"))
    if noise_as != "singletons":
        return rows
    is_singleton = pl.col("noisy")
    return rows.with_row_index("row").with_columns(
        cluster=pl.when(~is_singleton).then("cluster"),
        singleton_no=pl.when(is_singleton).then(pl.col("row").cast(pl.Int64) + 1).otherwise(0),
    )


# ----------------------------------------------------------------------------------------------
# Tables
# ----------------------------------------------------------------------------------------------


@table_function("points", guide="internal", order=("cluster",), is_portable=True)
def centroids(
    frame: Frame,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    partition_by: Keys = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
) -> Frame:
    """Size and centroid of each cluster.

    Parameters
    ----------
    frame, vector, cluster, distance, p, center, partition_by, noise : as in internal_report
    noise_as, weights, missing : as in internal_report

    Returns
    -------
    DataFrame or LazyFrame
        Same kind as `frame`, one row per cluster, sorted by partition and cluster. The columns are
        the partition columns, cluster, n and centroid. n is the number of points in the cluster,
        and centroid is a list with one number per coordinate. With noise_as 'singletons', each
        noise point has a row of its own, in which cluster is NULL.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_report.

    Notes
    -----
    In SQL: ``FROM clustereval.centroids(tbl, [x, y], cluster)``.

    Examples
    --------
    The centroid of two points is their midpoint:

    >>> four = pl.DataFrame({"x": [0, 2, 9, 9], "y": [0, 0, 0, 4], "cluster": ["a", "a", "b", "b"]})
    >>> ce.centroids(four, ["x", "y"], "cluster").rows()
    [('a', 2, [1.0, 0.0]), ('b', 2, [9.0, 2.0])]
    """
    options = pass_arguments_to(check_point_options)
    points = read_points(frame, vector, cluster, options, results=("cluster", "n", "centroid"))
    rows = points.with_user_centers(points.centers).select(
        *points.cluster_keys, pl.col("size").alias("n"), "centroid"
    )
    return points.to_result(frame, rows, points.own_keys)
