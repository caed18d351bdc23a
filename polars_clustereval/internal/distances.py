"""distances: distances between two vectors, and the two forms in which rows hold vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

from polars_clustereval.base.checks import check_choice, is_number, show_value
from polars_clustereval.base.exact import ratio, to_double
from polars_clustereval.base.frames import Terms, join_partitions
from polars_clustereval.errors import ClusterEvalError

from .kernels import long_vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .kernels.arrays import Floats
    from .vectors import Coordinates

DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")

Center = Literal["mean", "median"]

# ----------------------------------------------------------------------------------------------
# Distances
# ----------------------------------------------------------------------------------------------


class Distance(NamedTuple):
    """A distance between two vectors by its name, with the order p of minkowski."""

    name: str
    p: float

    def between(self, x: Sequence[pl.Expr], y: Sequence[pl.Expr]) -> pl.Expr:
        """Return the distance between vectors x and y, given by their coordinates.

        It is NULL or not finite if a coordinate is.
        """
        differences = [a - b for a, b in zip(x, y, strict=True)]
        if self.name == "cityblock":
            return _sum_terms([d.abs() for d in differences])
        if self.name == "chebyshev":
            # max_horizontal ignores NULL, their sum does not.
            sizes = [d.abs() for d in differences]
            return pl.when(_sum_terms(sizes).is_finite()).then(pl.max_horizontal(sizes))
        if self.name == "minkowski":
            return _sum_terms([d.abs().pow(self.p) for d in differences]).pow(1 / self.p)
        squares = sum_of_squares(differences)
        if self.name == "cosine":
            # Half the squared distance of unit vectors is 1 - cos without cancellation.
            is_zero = (sum_of_squares(x) == 0) | (sum_of_squares(y) == 0)
            return pl.when(is_zero).then(1.0).otherwise(squares / 2)
        return squares if self.name == "sqeuclidean" else squares.sqrt()

    def squared(self, d: pl.Expr) -> pl.Expr:
        """Return what a distance d adds to a sum of squares: d for sqeuclidean, else d squared."""
        return d if self.name == "sqeuclidean" else d * d

    def factors(self, weights: Sequence[float]) -> list[float]:
        """Return the factors that, applied to the coordinates, give the weighted distance."""
        powers = {"cityblock": 1.0, "minkowski": 1 / self.p}
        return [weight ** powers.get(self.name, 0.5) for weight in weights]


def _sum_terms(terms: Sequence[pl.Expr]) -> pl.Expr:
    """Return the sum of the terms, NULL if one is NULL."""
    return pl.sum_horizontal(terms, ignore_nulls=False)


def sum_of_squares(x: Sequence[pl.Expr]) -> pl.Expr:
    """Return the sum of the squared coordinates, NULL if one is missing."""
    # A product would compute its factor twice.
    return _sum_terms([a.pow(2) for a in x])


def check_distance(distance: object, p: float) -> Distance:
    """Return the distance of this name in any letter case, with its order p."""
    name = distance.lower() if isinstance(distance, str) else distance
    if name not in DISTANCES:
        check_choice("distance", distance, DISTANCES)
    if not (is_number(p) and 1 <= float(p) < 1e150):
        raise ClusterEvalError(f"p: expected a number >= 1, got {show_value(p)}")
    return Distance(str(name), float(p))


def check_weights(weights: Sequence[float] | None, distance: Distance) -> list[float] | None:
    """Return the weights of the dimensions as numbers, None if none are given."""
    if weights is None:
        return None
    if distance.name == "chebyshev":
        raise ClusterEvalError("weights: chebyshev takes none; scale the coordinates instead")
    numbers = list(weights)
    if not all(is_number(w) and 0 < float(w) < 1e150 for w in numbers):
        raise ClusterEvalError(
            f"weights: expected a number > 0 for each dimension, got {show_value(numbers)}"
        )
    return [float(w) for w in numbers]


def weight_factors(weights: list[float] | None, distance: Distance, dims: int) -> list[float]:
    """Return the factor of each coordinate, 1 without weights; check the number of weights."""
    if weights is None:
        return [1.0] * dims
    if len(weights) != dims:
        raise ClusterEvalError(
            f"weights: expected one for each of {dims} dimensions, got {len(weights)}"
        )
    return distance.factors(weights)


def plain_distance_name(distance: str, p: float) -> str:
    """Return cityblock or euclidean for minkowski of order 1 or 2, otherwise the name as it is."""
    if isinstance(distance, str) and distance.lower() == "minkowski" and is_number(p):
        return {1.0: "cityblock", 2.0: "euclidean"}.get(float(p), distance)
    return distance


# ----------------------------------------------------------------------------------------------
# Forms of vectors
# ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VectorForm(ABC):
    """Columns that hold vectors of `dims` coordinates, and what is computed from them.

    A row has several vectors, named by a prefix: raw_x, the user's own coordinates, and x, the
    point that distances are computed from, which is raw_x minus the origin, times the factors of
    the weights, and scaled to length 1 for cosine. A cluster has its mean or median m, the
    variances v of its coordinates, its center c (m, or for cosine the direction of m), and the
    center g of all points of its partition.
    """

    dims: int
    distance: Distance
    #: Subtracted from every point, so that sums of coordinates far from 0 keep their digits.
    origin: list[float]
    #: Factors of the coordinates, from the weights.
    factors: list[float]

    @abstractmethod
    def columns(self, prefix: str) -> list[str]:
        """Return the names of the columns that hold the vector of this prefix."""

    def coordinates(self, prefix: str) -> list[pl.Expr]:
        """Return the columns of a vector as expressions; those of the wide form are coordinates."""
        return [pl.col(name) for name in self.columns(prefix)]

    @abstractmethod
    def raw_columns(self, coordinates: Coordinates) -> list[pl.Expr]:
        """Return the columns raw_x, the user's own coordinates."""

    @abstractmethod
    def add_points(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows with x, the points that distances are computed from, made of raw_x."""

    @abstractmethod
    def distance_between(self, x: str, y: str) -> pl.Expr:
        """Return the distance between the two vectors of a row that have these prefixes."""

    @abstractmethod
    def norm(self, prefix: str) -> pl.Expr:
        """Return the euclidean length of the vector of this prefix in each row."""

    @abstractmethod
    def unscale(self, prefix: str) -> pl.Expr:
        """Return a vector in the user's units and origin, as a list of coordinates."""

    @abstractmethod
    def to_matrix(
        self, rows: pl.DataFrame, prefix: str, order: Literal["c", "fortran"] = "c"
    ) -> Floats:
        """Return the vectors of rows (m, d); `order` applies to the wide form only."""

    @abstractmethod
    def moment_terms(self, center: Center) -> Terms:
        """Return the aggregates m (mean or median) and v of a cluster; none in the long form."""

    @abstractmethod
    def center_clusters(
        self, rows: pl.LazyFrame, cluster_keys: list[str], partition_keys: list[str], center: Center
    ) -> pl.LazyFrame:
        """Return one row per cluster: its size, m, v and center c."""

    @abstractmethod
    def add_partition_centers(
        self, centers: pl.LazyFrame, rows: pl.LazyFrame, partition_keys: list[str], center: Center
    ) -> pl.LazyFrame:
        """Return the clusters with g, the center of all points of their partition."""

    @abstractmethod
    def variance_terms(self) -> Terms:
        """Return the aggregates over clusters that `variance_totals` needs."""

    @abstractmethod
    def variance_totals(self) -> Terms:
        """Return mean_between_share and total_squares_norm of a partition, from variance_terms.

        The mean over coordinates of the share of the total sum of squares that lies between
        clusters, and the norm of the vector of these totals.
        """


class WideVectors(VectorForm):
    """Vectors as one Float64 column per coordinate, x_0, x_1 ...

    The engine is fastest on plain columns, and groups, joins and sums them as it streams.
    """

    def columns(self, prefix: str) -> list[str]:
        """Return the names of the columns of the coordinates."""
        return [f"{prefix}_{i}" for i in range(self.dims)]

    def raw_columns(self, coordinates: Coordinates) -> list[pl.Expr]:
        """Return the user's own coordinates, one column per coordinate."""
        names = zip(self.columns("raw_x"), coordinates.exprs, strict=True)
        return [x.alias(name) for name, x in names]

    def add_points(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows with x as one column per coordinate."""
        x = self.columns("x")
        rows = rows.with_columns(**dict(zip(x, self._scaled_coordinates(), strict=True)))
        if self.distance.name != "cosine":
            return rows
        # As a column, the divisor is computed once and not once per coordinate.
        rows = rows.with_columns(divisor=_unit_divisor(self.coordinates("x")))
        return rows.with_columns(pl.col(x) / pl.col("divisor")).drop("divisor")

    def _scaled_coordinates(self) -> list[pl.Expr]:
        """Return the coordinates of raw_x minus the origin, times the factors."""
        scaled = []
        raw = self.coordinates("raw_x")
        for x, origin, factor in zip(raw, self.origin, self.factors, strict=True):
            offset = x - origin if origin else x
            scaled.append(offset * factor if factor != 1 else offset)
        return scaled

    def distance_between(self, x: str, y: str) -> pl.Expr:
        """Return the distance as an expression of the coordinates."""
        return self.distance.between(self.coordinates(x), self.coordinates(y))

    def norm(self, prefix: str) -> pl.Expr:
        """Return the norm as an expression of the coordinates."""
        return sum_of_squares(self.coordinates(prefix)).sqrt()

    def unscale(self, prefix: str) -> pl.Expr:
        """Return the coordinates divided by their factors, plus the origin, as a list."""
        x = zip(self.coordinates(prefix), self.factors, self.origin, strict=True)
        return pl.concat_list([scaled / factor + origin for scaled, factor, origin in x])

    def to_matrix(
        self, rows: pl.DataFrame, prefix: str, order: Literal["c", "fortran"] = "c"
    ) -> Floats:
        """Return the vectors (m, d) as a matrix of this memory order."""
        return rows.select(self.columns(prefix)).to_numpy(order=order)

    def moment_terms(self, center: Center) -> Terms:
        """Return one mean or median and one variance per coordinate."""
        names = zip(self.columns("m"), self.columns("v"), self.coordinates("x"), strict=True)
        terms: Terms = {}
        for m, v, x in names:
            terms |= {m: x.median() if center == "median" else x.mean(), v: x.var(ddof=0)}
        return terms

    def center_clusters(
        self,
        rows: pl.LazyFrame,
        cluster_keys: list[str],
        partition_keys: list[str],  # noqa: ARG002 -- long vectors need them here
        center: Center,
    ) -> pl.LazyFrame:
        """Return one row per cluster, by an aggregation of the engine."""
        size = pl.len().cast(pl.Int64)
        centers = rows.group_by(cluster_keys).agg(size=size, **self.moment_terms(center))
        return self.add_directions(centers, "m", "c")

    def add_partition_centers(
        self, centers: pl.LazyFrame, rows: pl.LazyFrame, partition_keys: list[str], center: Center
    ) -> pl.LazyFrame:
        """Return the clusters with g; the median needs another pass over the rows."""
        if center == "median":
            x = zip(self.columns("o"), self.coordinates("x"), strict=True)
            terms = {name: coordinate.median() for name, coordinate in x}
        else:
            # The mean of all points is the weighted mean of the clusters' means.
            rows, size = centers, to_double(pl.col("size"))
            m = zip(self.columns("o"), self.coordinates("m"), strict=True)
            terms = {name: (size * mean).sum() / size.sum() for name, mean in m}
        grouped = rows.group_by(partition_keys).agg(**terms) if partition_keys else None
        overall = rows.select(**terms) if grouped is None else grouped
        overall = self.add_directions(overall, "o", "g")
        overall = overall.select(*partition_keys, *self.columns("g"))
        return join_partitions(centers, partition_keys, overall)

    def add_directions(self, frame: pl.LazyFrame, given: str, name: str) -> pl.LazyFrame:
        """Return the rows with vector `given` also as `name`, scaled to length 1 for cosine."""
        vector = self.coordinates(given)
        if self.distance.name == "cosine":
            frame = frame.with_columns(divisor=_unit_divisor(vector))
            vector = [x / pl.col("divisor") for x in vector]
        directed = frame.with_columns(**dict(zip(self.columns(name), vector, strict=True)))
        return directed.drop("divisor", strict=False)

    def variance_terms(self) -> Terms:
        """Return the sums of squares within (w) and between (b) clusters per coordinate."""
        n = to_double(pl.col("n"))
        terms: Terms = {}
        for i, (v, c, g) in enumerate(zip(*map(self.coordinates, "vcg"), strict=True)):
            terms |= {f"w_{i}": (n * v).sum(), f"b_{i}": (n * (c - g).pow(2)).sum()}
        return terms

    def variance_totals(self) -> Terms:
        """Return mean_between_share and total_squares_norm, from w and b."""
        between = self.coordinates("b")
        total = [w + b for w, b in zip(self.coordinates("w"), between, strict=True)]
        shares = [ratio(b, t) for b, t in zip(between, total, strict=True)]
        mean = pl.mean_horizontal(shares, ignore_nulls=False)
        return {"mean_between_share": mean, "total_squares_norm": sum_of_squares(total).sqrt()}


class LongVectors(VectorForm):
    """Vectors as one column of arrays, whose sums and distances numpy computes in batches of rows.

    Centers are means here. `center_clusters` computes g and the totals of variances in the same
    pass.
    """

    def columns(self, prefix: str) -> list[str]:
        """Return the name of the column of arrays."""
        return [prefix]

    def raw_columns(self, coordinates: Coordinates) -> list[pl.Expr]:
        """Return the user's own coordinates as the column of arrays raw_x."""
        assert coordinates.array is not None
        return [coordinates.array.alias("raw_x")]

    def add_points(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows with x as a column of arrays."""
        unit = self.distance.name == "cosine"
        x = long_vectors.move_and_scale(pl.col("raw_x"), self.origin, self.factors, unit=unit)
        return rows.with_columns(x=x)

    def distance_between(self, x: str, y: str) -> pl.Expr:
        """Return the distance computed by numpy, batch by batch."""
        return long_vectors.row_distances(pl.col(x), pl.col(y), *self.distance)

    def norm(self, prefix: str) -> pl.Expr:
        """Return the norm computed by numpy, batch by batch."""
        return long_vectors.row_norms(pl.col(prefix))

    def unscale(self, prefix: str) -> pl.Expr:
        """Return the list of coordinates computed by numpy, batch by batch."""
        return long_vectors.unscale(pl.col(prefix), self.origin, self.factors)

    def to_matrix(
        self,
        rows: pl.DataFrame,
        prefix: str,
        order: Literal["c", "fortran"] = "c",  # noqa: ARG002
    ) -> Floats:
        """Return the arrays as the rows of a matrix (m, d)."""
        return long_vectors.to_matrix(rows[prefix])

    def moment_terms(self, center: Center) -> Terms:  # noqa: ARG002
        """Return no terms: `center_clusters` computes m and v."""
        return {}

    def center_clusters(
        self,
        rows: pl.LazyFrame,
        cluster_keys: list[str],
        partition_keys: list[str],
        center: Center,  # noqa: ARG002 -- the mean
    ) -> pl.LazyFrame:
        """Return one row per cluster, which also has g and the totals of its partition."""
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
        """Return the centers as they are: they have g already."""
        return centers

    def variance_terms(self) -> Terms:
        """Return the totals of the partition, which each of its clusters has."""
        return {name: pl.col(name).first() for name in ("mean_between_share", "total_squares_norm")}

    def variance_totals(self) -> Terms:
        """Return no columns: `variance_terms` are the totals."""
        return {}

    def to_wide(self) -> WideVectors:
        """Return the wide form of the same vectors."""
        return WideVectors(self.dims, self.distance, self.origin, self.factors)

    def split(self, prefix: str) -> list[pl.Expr]:
        """Return the columns that hold a vector in the wide form."""
        names = enumerate(self.to_wide().columns(prefix))
        return [to_double(pl.col(prefix).arr.get(i)).alias(name) for i, name in names]


def _unit_divisor(vector: Sequence[pl.Expr]) -> pl.Expr:
    """Return the divisor that scales a vector to length 1, NULL if its norm is not finite.

    It is infinite if the norm is 0, also because the squares underflow: a zero vector results.
    """
    norm = sum_of_squares(vector).sqrt()
    return pl.when(norm.is_finite()).then(pl.when(norm > 0).then(norm).otherwise(float("inf")))
