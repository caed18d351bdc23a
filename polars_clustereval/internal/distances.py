"""distances: distances between two vectors, and the two forms in which frames store vectors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import polars as pl

from polars_clustereval.base.checks import check_choice, is_number, show_value
from polars_clustereval.base.data_arguments import refuse_row_weights
from polars_clustereval.base.exact import clamped_mean, ratio, to_double
from polars_clustereval.base.frames import Terms, aggregate_by, join_partitions
from polars_clustereval.errors import ClusterEvalError

from .kernels import long_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .kernels.arrays import Floats
    from .vectors import Coordinates

DistanceName = Literal["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine"]
DISTANCES = get_args(DistanceName)

#: Names of the same distances in other libraries, for the hints of error texts.
_SYNONYMS: dict[str, DistanceName] = {
    "l1": "cityblock",
    "manhattan": "cityblock",
    "taxicab": "cityblock",
    "l2": "euclidean",
    "squared_euclidean": "sqeuclidean",
    "squaredeuclidean": "sqeuclidean",
    "linf": "chebyshev",
    "maximum": "chebyshev",
}

Center = Literal["mean", "median"]

#: If the square of the largest distance is below this number, squares of distances underflow.
#: Otherwise, the squares of distances down to 1e-9 times the largest one have all of their digits.
SMALL_SQUARE = 1e-290

#: If the spread of a cluster is below this share of its distance from 0, an origin is subtracted.
#: At larger spreads, sums lose at most 10 of 53 binary digits without an origin.
SMALL_SPREAD = 2.0**-10

# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


class Distance(NamedTuple):
    """A distance between two vectors, defined by a name and, for `minkowski`, the order p."""

    name: str
    p: float

    @property
    def is_squared(self) -> bool:
        """Whether the distance of unit vectors (cosine) or of all (sqeuclidean) is a square."""
        return self.name in ("sqeuclidean", "cosine")

    @property
    def plain(self) -> Distance:
        """The same distance as 'cityblock' or 'euclidean', for which some indices are faster."""
        names = {1.0: "cityblock", 2.0: "euclidean"} if self.name == "minkowski" else {}
        return self._replace(name=names.get(self.p, self.name))

    def between(self, x: Sequence[pl.Expr], y: Sequence[pl.Expr]) -> pl.Expr:
        """Return the distance between two vectors x and y, as one expression per coordinate each.

        For cosine, every vector must have length 1 or 0. The distance is NULL or not finite if a
        coordinate is NULL or not finite.
        """
        differences = [a - b for a, b in zip(x, y, strict=True)]
        sizes = [d.abs() for d in differences]
        if self.name == "cityblock":
            return _sum_terms(sizes)
        if self.name == "chebyshev":
            # max_horizontal ignores NULLs, but the sum of the terms does not.
            return pl.when(_sum_terms(sizes).is_finite()).then(pl.max_horizontal(sizes))
        if self.name == "minkowski":
            return _minkowski_length(sizes, self.p)
        squares = sum_of_squares(differences)
        if self.name == "cosine":
            # For unit vectors, 1 - cos is half the squared distance, which does not cancel.
            is_zero = (sum_of_squares(x) == 0) | (sum_of_squares(y) == 0)
            is_zero &= squares.is_not_null()
            halves = squares / 2
            is_parallel = halves < 1e-15  # up to rounding errors
            near = pl.when(is_parallel).then(0.0).otherwise(halves)
            return pl.when(is_zero).then(1.0).otherwise(near)
        return squares if self.name == "sqeuclidean" else squares.sqrt()

    def squared(self, d: pl.Expr) -> pl.Expr:
        """Return the squared distance: d itself for sqeuclidean, and the square of d otherwise."""
        return d if self.name == "sqeuclidean" else d * d

    def factors(self, weights: Sequence[float]) -> list[float]:
        """Return one factor per coordinate, computed from the coordinate's weight.

        The unweighted distance between two vectors that are multiplied by these factors is scipy's
        weighted distance between the vectors.
        """
        powers = {"cityblock": 1.0, "minkowski": 1 / self.p}
        return [weight ** powers.get(self.name, 0.5) for weight in weights]


def _minkowski_length(sizes: Sequence[pl.Expr], p: float) -> pl.Expr:
    """Return (sum of sizes^p)^(1/p). The sizes are divided by the largest against overflow."""
    largest = pl.max_horizontal(sizes)
    unit = pl.when(largest > 0).then(largest).otherwise(1.0)
    return largest * _sum_terms([(size / unit).pow(p) for size in sizes]).pow(1 / p)


def _sum_terms(terms: Sequence[pl.Expr]) -> pl.Expr:
    """Return the sum of the terms in each row, or NULL if any term is NULL."""
    return pl.sum_horizontal(terms, ignore_nulls=False)


def sum_of_squares(x: Sequence[pl.Expr]) -> pl.Expr:
    """Return the sum of a vector's squared coordinates x, or NULL if any coordinate is NULL."""
    # A product x * x would compute x twice.
    return _sum_terms([a.pow(2) for a in x])


def scaled_norm(x: Sequence[pl.Expr]) -> pl.Expr:
    """Return the Euclidean length of the vector with coordinates x, even if squares overflow."""
    return _minkowski_length([a.abs() for a in x], 2)


#: Well-known distances that the page on distances shows how to encode, or to bring as pairs.
_OTHER_DISTANCES = (
    *("hamming", "gower", "correlation", "haversine", "jaccard", "levenshtein", "edit", "dtw"),
)


def check_distance(distance: object, p: float) -> Distance:
    """Return the Distance that the options of an index define, or raise an error."""
    name = distance.lower() if isinstance(distance, str) else distance
    if name not in DISTANCES:
        begins = (x for x in DISTANCES if len(str(name)) > 4 and x.startswith(str(name)[:5]))
        twin = _SYNONYMS.get(str(name)) or next(begins, None)
        several = "; if this is a column, write the columns of a vector as a list, such as [x, y]"
        hint = f"; did you mean '{twin}'?" if twin else several
        if name == "precomputed":
            hint = (
                "; pass a table of pairs to silhouette_score_from_distances, "
                "dunn_index_from_distances or pairwise_report_from_distances"
            )
        elif name in _OTHER_DISTANCES:
            hint = "; the page on distances (docs/distances.md) shows what to write for it"
        check_choice("distance", distance, DISTANCES, hint)
    if not (is_number(p) and 1 <= float(p) < 1e150):
        raise ClusterEvalError(f"p: expected a number >= 1, got {show_value(p)}")
    return Distance(str(name), float(p))


def check_weights(weights: Sequence[float] | None, distance: Distance) -> list[float] | None:
    """Return the option `weights` as a list of floats or None, or raise an error.

    The number of weights is checked later, by weight_factors, which knows the number of dimensions.
    """
    if weights is None:
        return None
    if distance.name == "chebyshev":
        raise ClusterEvalError("weights: chebyshev takes none; scale the coordinates instead")
    numbers = list(refuse_row_weights(weights))
    if not all(is_number(w) and 0 < float(w) < 1e150 for w in numbers):
        raise ClusterEvalError(
            f"weights: expected a number > 0 for each dimension, got {show_value(numbers)}"
        )
    return [float(w) for w in numbers]


def weight_factors(weights: list[float] | None, distance: Distance, dims: int) -> list[float]:
    """Return the factors of `dims` coordinates (see Distance.factors), or 1 without weights.

    Raise an error unless there is one weight per coordinate.
    """
    if weights is None:
        return [1.0] * dims
    if len(weights) != dims:
        raise ClusterEvalError(
            f"weights: expected one for each of {dims} dimensions, got {len(weights)}"
        )
    return distance.factors(weights)


# ----------------------------------------------------------------------------------------------
# Forms of vectors
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorForm(ABC):
    """The form in which a frame stores vectors of `dims` coordinates, with methods for its columns.

    Each row contains several vectors. The name of a vector is the prefix of its column names. raw_x
    contains the user's own coordinates. x is the point from which distances are computed. It equals
    raw_x minus the origin of its partition, multiplied by the factors of the weights. For cosine
    distances, x is then scaled to length 1. For each cluster, m is the mean or median of its
    points, v contains the variances of their coordinates, c is its center, and g is the center of
    all points in its partition. c equals m, or the direction of m for cosine distances.
    """

    dims: int
    distance: Distance
    #: The factors of the coordinates that account for the weights.
    factors: list[float]
    #: Whether an origin is subtracted from points, so that coordinates far from 0 keep their
    #: digits.
    is_moved: bool
    #: Whether a mean is clamped to the range of its numbers. Then the mean of equal numbers is that
    #: number, and their variance is 0.
    is_clamped: bool = True

    @abstractmethod
    def find_origins(
        self, rows: pl.LazyFrame, cluster_keys: list[str], partition_keys: list[str]
    ) -> pl.LazyFrame:
        """Return, for each partition of `rows`, the origin that is subtracted from its points.

        `rows` contains raw_x and the columns `cluster_keys`, which include `partition_keys`. A
        coordinate of the origin is the value nearest to 0 among all points if two conditions hold:
        all values are on the same side of 0, and the spread of a cluster or of all points is small
        compared with this value. Otherwise the coordinate is 0. An origin is therefore never larger
        than the values from which it is subtracted, and no digits are lost, however far away other
        points are. If distances or sums of squared distances may overflow, the origin makes all
        distances in the partition NULL or infinite, so that the check of distances raises an error.
        If all squared distances underflow, the origin is NaN, for the same reason.
        """

    @abstractmethod
    def has_origins(self, origins: pl.DataFrame) -> bool:
        """Return whether any collected origin is nonzero, so that points must be moved."""

    @abstractmethod
    def read_origins(self, origins: pl.DataFrame) -> Floats:
        """Return the result of find_origins as a matrix."""

    @abstractmethod
    def columns(self, prefix: str) -> list[str]:
        """Return the names of the columns that contain the vector named `prefix`."""

    def coordinates(self, prefix: str) -> list[pl.Expr]:
        """Return the columns of the vector named `prefix` as expressions."""
        return [pl.col(name) for name in self.columns(prefix)]

    @abstractmethod
    def raw_columns(self, coordinates: Coordinates) -> list[pl.Expr]:
        """Return the user's own vectors as expressions for the vector raw_x."""

    @abstractmethod
    def add_points(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows with the vector x, from raw_x and, if is_moved, the row's origin."""

    @abstractmethod
    def distance_between(self, x: str, y: str) -> pl.Expr:
        """Return the distance between the vectors named `x` and `y` in each row."""

    @abstractmethod
    def norm(self, prefix: str) -> pl.Expr:
        """Return the Euclidean length of the vector named `prefix`, such as x, in each row."""

    @abstractmethod
    def unscale(self, prefix: str) -> pl.Expr:
        """Return the vector named `prefix`, such as c, in the user's coordinates, as a list.

        The factors are divided out, and the origin in the same row is added if is_moved. For cosine
        distances, the scaling to length 1 is not undone.
        """

    @abstractmethod
    def to_matrix(
        self, rows: pl.DataFrame, prefix: str, order: Literal["c", "fortran"] = "c"
    ) -> Floats:
        """Return the vectors named `prefix` in m rows as a float64 matrix (m, d)."""

    @abstractmethod
    def moment_terms(self, center: Center) -> Terms:
        """Return the aggregates m (mean or median) and v (variances) of a cluster's points x.

        They are empty in LongVectors, because center_clusters computes m and v with numpy.
        """

    @abstractmethod
    def center_clusters(
        self, rows: pl.LazyFrame, cluster_keys: list[str], partition_keys: list[str], center: Center
    ) -> pl.LazyFrame:
        """Return one row per cluster of the points `rows`: its keys, its size, and m, v and c."""

    @abstractmethod
    def add_partition_centers(
        self, centers: pl.LazyFrame, rows: pl.LazyFrame, partition_keys: list[str], center: Center
    ) -> pl.LazyFrame:
        """Return the result of center_clusters for the points `rows` with the vector g."""

    @abstractmethod
    def variance_terms(self) -> Terms:
        """Return the aggregates over a partition's clusters that variance_totals needs."""

    @abstractmethod
    def variance_totals(self) -> Terms:
        """Return mean_between_share and total_squares_norm of a partition, from variance_terms.

        mean_between_share is the share of the total sum of squares that lies between clusters,
        averaged over the coordinates. total_squares_norm is the norm of the vector that has the
        total sum of squares of each coordinate. The result is empty in LongVectors, whose
        variance_terms are already the totals.
        """


class WideVectors(VectorForm):
    """Vectors that are stored as one Float64 column per coordinate: x_0, x_1, ...

    The engine is fastest with plain columns, which it can group, join and sum while streaming.
    """

    def columns(self, prefix: str) -> list[str]:
        """Return prefix_0, prefix_1, ..."""
        return [f"{prefix}_{i}" for i in range(self.dims)]

    def raw_columns(self, coordinates: Coordinates) -> list[pl.Expr]:
        """Return the expressions raw_x_0, raw_x_1, ..."""
        names = zip(self.columns("raw_x"), coordinates.exprs, strict=True)
        return [x.alias(name) for name, x in names]

    def find_origins(
        self, rows: pl.LazyFrame, cluster_keys: list[str], partition_keys: list[str]
    ) -> pl.LazyFrame:
        """Return the origin of each partition in the columns origin_0, origin_1, ...

        They are NULL if distances may overflow, and NaN if they underflow.
        """
        extremes: Terms = {"size": pl.len()}
        for i, x in enumerate(self.coordinates("raw_x")):
            extremes |= {f"low_{i}": x.min(), f"high_{i}": x.max()}
        clusters = rows.group_by(cluster_keys).agg(**extremes)
        return self.origins_of_clusters(clusters, partition_keys)

    def origins_of_clusters(
        self, clusters: pl.LazyFrame, partition_keys: list[str]
    ) -> pl.LazyFrame:
        """Return the result of find_origins, from the size, low_i and high_i of all clusters."""
        totals: Terms = {"size": pl.col("size").sum()}
        for i, (a, b) in enumerate(
            zip(self.coordinates("low"), self.coordinates("high"), strict=True)
        ):
            spread = pl.when(a < b).then(b - a).min()
            totals |= {f"low_{i}": a.min(), f"high_{i}": b.max(), f"spread_{i}": spread}
        partitions = aggregate_by(clusters, partition_keys, totals)
        low, high = self.coordinates("low"), self.coordinates("high")
        corners = self._scale(low), self._scale(high)
        square = self.distance.squared(self.distance.between(*corners))
        sum_is_finite = (square * to_double(pl.col("size")).pow(2)).is_finite()
        differs = pl.any_horizontal([a < b for a, b in zip(low, high, strict=True)])
        underflow = differs & (square < SMALL_SQUARE)
        origins: Terms = {}
        for i, (a, b) in enumerate(zip(low, high, strict=True)):
            spread = pl.min_horizontal(f"spread_{i}", pl.when(a < b).then(b - a))
            nearest = pl.when(a > 0).then(a).when(b < 0).then(b).otherwise(0.0)
            origin = pl.when(spread < nearest.abs() * SMALL_SPREAD).then(nearest).otherwise(0.0)
            known = pl.when(sum_is_finite).then(origin)
            origins[f"origin_{i}"] = pl.when(underflow).then(math.nan).otherwise(known)
        return partitions.select(*partition_keys, **origins)

    def has_origins(self, origins: pl.DataFrame) -> bool:
        """Return whether any row has a NULL or nonzero value in origin_0, origin_1, ..."""
        coordinates = [x.fill_null(1.0) != 0 for x in self.coordinates("origin")]
        return bool(origins.select(pl.any_horizontal(coordinates).any()).item())

    def read_origins(self, origins: pl.DataFrame) -> Floats:
        """Return the columns origin_0, origin_1, ..."""
        return self.to_matrix(origins, "origin")

    def add_points(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows with x_0, x_1, ..."""
        x, coordinates = self.columns("x"), self._scale(self._moved_coordinates())
        rows = rows.with_columns(**dict(zip(x, coordinates, strict=True)))
        if self.distance.name != "cosine":
            return rows
        # If the divisor is a column, it is computed only once instead of once per coordinate.
        rows = rows.with_columns(divisor=_unit_divisor(self.coordinates("x")))
        return rows.with_columns(pl.col(x) / pl.col("divisor")).drop("divisor")

    def _moved_coordinates(self) -> list[pl.Expr]:
        """Return the raw coordinates, minus the origin if points are moved."""
        raw = self.coordinates("raw_x")
        if not self.is_moved:
            return raw
        return [x - o for x, o in zip(raw, self.coordinates("origin"), strict=True)]

    def _scale(self, x: list[pl.Expr]) -> list[pl.Expr]:
        """Return the coordinates x of a vector, multiplied by the factors of the weights."""
        factors = zip(x, self.factors, strict=True)
        return [a * factor if factor != 1 else a for a, factor in factors]

    def distance_between(self, x: str, y: str) -> pl.Expr:
        """Return the distance as an expression of plain columns."""
        return self.distance.between(self.coordinates(x), self.coordinates(y))

    def norm(self, prefix: str) -> pl.Expr:
        """Return the Euclidean length of the vector in prefix_0, ..."""
        return scaled_norm(self.coordinates(prefix))

    def unscale(self, prefix: str) -> pl.Expr:
        """Return the vector in prefix_0, ... in the user's coordinates."""
        x = [a / f for a, f in zip(self.coordinates(prefix), self.factors, strict=True)]
        if self.is_moved:
            x = [a + o for a, o in zip(x, self.coordinates("origin"), strict=True)]
        return pl.concat_list(x)

    def to_matrix(
        self, rows: pl.DataFrame, prefix: str, order: Literal["c", "fortran"] = "c"
    ) -> Floats:
        """Return the columns prefix_0, ... as a matrix in C or Fortran order."""
        return rows.select(self.columns(prefix)).to_numpy(order=order)

    def moment_terms(self, center: Center) -> Terms:
        """Return the aggregates m_i and v_i for each coordinate i."""
        terms: Terms = {}
        names = zip(self.columns("m"), self.columns("v"), *self._unscaled_points(), strict=True)
        for m, v, a, factor in names:
            middle, variance = a.mean(), a.var(ddof=0)
            if self.is_clamped:
                middle = a.median() if center == "median" else clamped_mean(a)
                variance = pl.when(a.min() < a.max()).then(variance).otherwise(0.0)
            terms |= {m: middle * factor, v: variance * factor**2}
        return terms

    def _unscaled_points(self) -> tuple[list[pl.Expr], list[float]]:
        """Return the coordinates to average, and the factors by which to multiply their means.

        The factors are applied only to the means, so means that are equal without weights are also
        equal with weights.
        """
        if self.distance.name == "cosine" or set(self.factors) == {1.0}:
            return self.coordinates("x"), [1.0] * self.dims
        return self._moved_coordinates(), self.factors

    def center_clusters(
        self,
        rows: pl.LazyFrame,
        cluster_keys: list[str],
        partition_keys: list[str],  # noqa: ARG002 -- long vectors need them here
        center: Center,
    ) -> pl.LazyFrame:
        """Return the clusters, whose moments the engine computes."""
        size = pl.len().cast(pl.Int64)
        centers = rows.group_by(cluster_keys).agg(size=size, **self.moment_terms(center))
        return self.add_directions(centers, "m", "c")

    def add_partition_centers(
        self, centers: pl.LazyFrame, rows: pl.LazyFrame, partition_keys: list[str], center: Center
    ) -> pl.LazyFrame:
        """Return the clusters with g_i. Medians need another pass over the points."""
        if center == "median":
            middles = zip(self.columns("o"), *self._unscaled_points(), strict=True)
            terms = {name: a.median() * factor for name, a, factor in middles}
        else:
            # The mean of all points is the mean of the clusters' means, weighted by size.
            rows, size = centers, to_double(pl.col("size"))
            m = zip(self.columns("o"), self.coordinates("m"), strict=True)
            terms = {
                name: ((size * mean).sum() / size.sum()).clip(mean.min(), mean.max())
                for name, mean in m
            }
        grouped = rows.group_by(partition_keys).agg(**terms) if partition_keys else None
        overall = rows.select(**terms) if grouped is None else grouped
        overall = self.add_directions(overall, "o", "g")
        overall = overall.select(*partition_keys, *self.columns("g"))
        return join_partitions(centers, partition_keys, overall)

    def add_directions(self, frame: pl.LazyFrame, given: str, name: str) -> pl.LazyFrame:
        """Return the rows with a copy of the vector `given`, which has length 1 for cosine."""
        vector = self.coordinates(given)
        if self.distance.name == "cosine":
            frame = frame.with_columns(divisor=_unit_divisor(vector))
            vector = [x / pl.col("divisor") for x in vector]
        directed = frame.with_columns(**dict(zip(self.columns(name), vector, strict=True)))
        return directed.drop("divisor", strict=False)

    def variance_terms(self) -> Terms:
        """Return the sums of squares of coordinates within (w_i) and between (b_i) clusters."""
        n = to_double(pl.col("n"))
        terms: Terms = {}
        for i, (v, c, g) in enumerate(zip(*map(self.coordinates, "vcg"), strict=True)):
            terms |= {f"w_{i}": (n * v).sum(), f"b_{i}": (n * (c - g).pow(2)).sum()}
        return terms

    def variance_totals(self) -> Terms:
        """Return the totals. mean_between_share is NULL if a coordinate is constant."""
        between = self.coordinates("b")
        total = [w + b for w, b in zip(self.coordinates("w"), between, strict=True)]
        shares = [ratio(b, t) for b, t in zip(between, total, strict=True)]
        mean = pl.mean_horizontal(shares, ignore_nulls=False)
        return {"mean_between_share": mean, "total_squares_norm": scaled_norm(total)}


class LongVectors(VectorForm):
    """Vectors stored as one column of arrays, which numpy sums and compares in batches of rows.

    The centers of LongVectors are always means. `center_clusters` also computes g and the totals of
    the variances, in the same pass.
    """

    def columns(self, prefix: str) -> list[str]:
        """Return the name of the array column, which is `prefix` itself."""
        return [prefix]

    def raw_columns(self, coordinates: Coordinates) -> list[pl.Expr]:
        """Return one expression, a column of arrays."""
        assert coordinates.array is not None
        return [coordinates.array.alias("raw_x")]

    def find_origins(
        self, rows: pl.LazyFrame, cluster_keys: list[str], partition_keys: list[str]
    ) -> pl.LazyFrame:
        """Return the origin of each partition as a list in the column `origin`.

        The list is NULL if every coordinate would be 0, infinite if distances may overflow, and NaN
        if they underflow.
        """
        limits = (SMALL_SPREAD, SMALL_SQUARE)
        return long_vectors.find_origins(
            rows, cluster_keys, partition_keys, self.factors, *self.distance, *limits
        )

    def has_origins(self, origins: pl.DataFrame) -> bool:
        """Return whether any row has an `origin` list that is not NULL."""
        return origins["origin"].null_count() < origins.height

    def read_origins(self, origins: pl.DataFrame) -> Floats:
        """Return the lists, with zeros for NULL."""
        return long_vectors.read_origins(origins["origin"], self.dims)

    def add_points(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows with the arrays x."""
        x, unit = pl.col("raw_x"), self.distance.name == "cosine"
        if self.is_moved:
            x = long_vectors.subtract_origin(x, pl.col("origin"), self.dims)
        return rows.with_columns(x=long_vectors.scale(x, self.factors, unit=unit))

    def distance_between(self, x: str, y: str) -> pl.Expr:
        """Return the distance, which numpy computes for one batch of rows at a time."""
        return long_vectors.row_distances(pl.col(x), pl.col(y), *self.distance)

    def norm(self, prefix: str) -> pl.Expr:
        """Return the Euclidean length of each array, computed by numpy."""
        return long_vectors.row_norms(pl.col(prefix))

    def unscale(self, prefix: str) -> pl.Expr:
        """Return the arrays in the user's coordinates."""
        origin = pl.col("origin") if self.is_moved else pl.lit(None, pl.List(pl.Float64))
        return long_vectors.unscale(pl.col(prefix), origin, self.factors)

    def to_matrix(
        self,
        rows: pl.DataFrame,
        prefix: str,
        order: Literal["c", "fortran"] = "c",  # noqa: ARG002
    ) -> Floats:
        """Return the arrays as a matrix, always in C order."""
        return long_vectors.to_matrix(rows[prefix])

    def moment_terms(self, center: Center) -> Terms:  # noqa: ARG002
        """Return no aggregates."""
        return {}

    def center_clusters(
        self,
        rows: pl.LazyFrame,
        cluster_keys: list[str],
        partition_keys: list[str],
        center: Center,  # noqa: ARG002 -- the mean
    ) -> pl.LazyFrame:
        """Return the clusters with arrays m, v, c and g, and their partition's variance_totals."""
        unit = self.distance.name == "cosine"
        return long_vectors.compute_centers(
            rows, cluster_keys, partition_keys, self.dims, unit=unit
        )

    def add_partition_centers(
        self,
        centers: pl.LazyFrame,
        rows: pl.LazyFrame,  # noqa: ARG002
        partition_keys: list[str],  # noqa: ARG002
        center: Center,  # noqa: ARG002
    ) -> pl.LazyFrame:
        """Return `centers` unchanged, because center_clusters has already added g."""
        return centers

    def variance_terms(self) -> Terms:
        """Return the totals, which center_clusters gave to all clusters of a partition."""
        return {name: pl.col(name).first() for name in ("mean_between_share", "total_squares_norm")}

    def variance_totals(self) -> Terms:
        """Return no expressions."""
        return {}

    def to_wide(self) -> WideVectors:
        """Return WideVectors with the same dimensions, distance and factors."""
        return WideVectors(self.dims, self.distance, self.factors, self.is_moved)

    def split(self, prefix: str) -> list[pl.Expr]:
        """Return the coordinates of the array column `prefix` as columns prefix_0, prefix_1, ..."""
        names = enumerate(self.to_wide().columns(prefix))
        return [to_double(pl.col(prefix).arr.get(i)).alias(name) for i, name in names]


def _unit_divisor(vector: Sequence[pl.Expr]) -> pl.Expr:
    """Return the divisor that scales a vector to length 1, or NULL if its norm is not finite.

    If the norm is 0, possibly because the squares underflow, the divisor is infinite, so that the
    division yields a zero vector. If the norm is 1 up to rounding, the divisor is 1, because the
    mean of equal unit vectors must be that vector.
    """
    norm = sum_of_squares(vector).sqrt()
    divisor = pl.when(norm == 0).then(float("inf")).when((norm - 1).abs() < 1e-14).then(1.0)
    return pl.when(norm.is_finite()).then(divisor.otherwise(norm))
