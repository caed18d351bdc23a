"""The point side from its definitions: numpy, scipy's distances and loops over clusters.

Nothing is shared with what it checks. A point is a list of numbers, a cluster any value; either
may be None. Where a formula has a 0 below, or a logarithm of 0, the value is None.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = dict[str, Any]
Floats = NDArray[np.float64]

DISTANCES = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine")
COUNTS = ("n", "n_dropped", "n_noise", "n_dims", "n_clusters", "n_singletons")
INDICES = (
    "ssw",
    "ssb",
    "sst",
    "explained_variance",
    "compactness",
    "separation",
    "calinski_harabasz_score",
    "davies_bouldin_score",
    "ball_hall_index",
    "banfield_raftery_index",
    "log_ss_ratio",
    "pbm_index",
    "ratkowsky_lance_index",
    "ray_turi_index",
    "xie_beni_index",
    "sd_scattering",
    "sd_separation",
)
# NULL unless the total sum of squares is that within and that between.
OF_TOTAL = ("sst", "explained_variance", "ratkowsky_lance_index", "sd_scattering")
NEIGHBOR_INDICES = ("wemmert_gancarski_index", "s_dbw_index")


class Measure(NamedTuple):
    """A distance as the callers give it."""

    distance: str = "euclidean"
    p: float = 2
    center: str = "mean"
    weights: Sequence[float] | None = None

    @property
    def adds_up(self) -> bool:
        return self.distance in ("euclidean", "sqeuclidean") and self.center == "mean"

    def between(self, x: Floats, y: Floats) -> Floats:
        """All distances, one row for each of x and one column for each of y."""
        more: dict[str, Any] = {"p": self.p} if self.distance == "minkowski" else {}
        if self.weights is not None:
            more["w"] = np.asarray(self.weights, dtype=float)
        if self.distance != "cosine":
            return cdist(x, y, self.distance, **more)
        apart = np.ones((len(x), len(y)))
        some_x, some_y = np.any(x != 0, axis=1), np.any(y != 0, axis=1)
        if some_x.any() and some_y.any():
            apart[np.ix_(some_x, some_y)] = cdist(x[some_x], y[some_y], "cosine", **more)
        return apart

    def square(self, d: Floats) -> Floats:
        return d if self.distance == "sqeuclidean" else d**2

    def roots(self, dims: int) -> Floats:
        """Square roots of the weights, by which coordinates are multiplied."""
        return np.ones(dims) if self.weights is None else np.sqrt(self.weights)

    def middle(self, x: Floats) -> Floats:
        """The mean or median by coordinate, of unit vectors for cosine."""
        if self.distance == "cosine":
            roots = self.roots(x.shape[1])
            x = np.array([direction(row * roots) for row in x])
        return np.asarray(np.median(x, axis=0) if self.center == "median" else x.mean(axis=0))

    def centroid(self, x: Floats) -> Floats:
        middle = self.middle(x)
        if self.distance != "cosine":
            return middle
        return np.asarray(direction(middle) / self.roots(x.shape[1]))


def direction(x: Floats) -> Floats:
    length = float(np.linalg.norm(x))
    return x / length if length > 0 else x


class Cluster(NamedTuple):
    key: Any  # None for a noise point on its own
    points: Floats
    centroid: Floats
    own: Floats  # distances of its points to its centroid


class Partition:
    """What is kept of the rows, as clusters in order."""

    def __init__(
        self,
        points: Sequence[Sequence[float | None] | None],
        clusters: Sequence[Any],
        measure: Measure,
        noise: Any = None,
        noise_as: str = "cluster",
    ) -> None:
        members: dict[Any, list[Sequence[float]]] = {}
        alone: list[list[Sequence[float]]] = []
        self.measure = measure
        self.n_dropped = self.n_noise = 0
        for point, key in zip(points, clusters, strict=True):
            if point is None or key is None or all(x is None for x in point):
                self.n_dropped += 1
                continue
            self.n_noise += int(key == noise)
            if key == noise and noise_as == "drop":
                continue
            if key == noise and noise_as == "singletons":
                alone.append([point])  # type: ignore[list-item]
            else:
                members.setdefault(key, []).append(point)  # type: ignore[arg-type]
        named = [(key, members[key]) for key in sorted(members)]
        self.clusters = [self.cluster(*pair) for pair in [*named, *((None, x) for x in alone)]]
        self.k = len(self.clusters)
        self.n = sum(len(c.points) for c in self.clusters)
        if not self.n:
            return
        self.all = np.concatenate([c.points for c in self.clusters])
        self.middle = measure.centroid(self.all)
        centroids = np.array([c.centroid for c in self.clusters])
        self.gaps = measure.between(centroids, centroids)
        self.to_middle = measure.between(self.all, self.middle[None])[:, 0]

    def cluster(self, key: Any, points: Sequence[Sequence[float]]) -> Cluster:
        x = np.array(points, dtype=float)
        centroid = self.measure.centroid(x)
        return Cluster(key, x, centroid, self.measure.between(x, centroid[None])[:, 0])

    def pairs(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.k) for j in range(i + 1, self.k)]

    def pair_gaps(self) -> list[float]:
        return [float(self.gaps[i, j]) for i, j in self.pairs()]

    def ssw_of(self, c: Cluster) -> float:
        return math.fsum(self.measure.square(c.own))

    @property
    def ssw(self) -> float:
        return math.fsum(self.ssw_of(c) for c in self.clusters)

    @property
    def ssb(self) -> float:
        m = self.measure
        return math.fsum(
            len(c.points) * float(m.square(m.between(c.centroid[None], self.middle[None]))[0, 0])
            for c in self.clusters
        )

    def spread(self, c: Cluster) -> Floats:
        """The variance of each weighted coordinate."""
        x = c.points * self.measure.roots(c.points.shape[1])
        return np.asarray(((x - x.mean(axis=0)) ** 2).mean(axis=0))

    def whole_spread(self) -> Floats:
        x = self.all * self.measure.roots(self.all.shape[1])
        return np.asarray(((x - x.mean(axis=0)) ** 2).mean(axis=0))


def quotient(x: float, y: float) -> float | None:
    return None if y == 0 else float(x / y)


def counts(part: Partition) -> Row:
    return {
        "n": part.n,
        "n_dropped": part.n_dropped,
        "n_noise": part.n_noise,
        "n_dims": int(part.all.shape[1]) if part.n else 0,
        "n_clusters": part.k,
        "n_singletons": sum(len(c.points) == 1 for c in part.clusters),
    }


def centroids(part: Partition) -> list[Row]:
    return [
        {"cluster": c.key, "n": len(c.points), "centroid": c.centroid.tolist()}
        for c in part.clusters
    ]


def internal_cluster_report(part: Partition) -> list[Row]:
    rows = []
    for i, (c, row) in enumerate(zip(part.clusters, centroids(part), strict=True)):
        others = [(float(part.gaps[i, j]), j) for j in range(part.k) if j != i]
        least, nearest = min(others, default=(None, None))
        rows.append(
            row
            | {
                "ssw": part.ssw_of(c),
                "mean_distance": float(c.own.mean()),
                "max_distance": float(c.own.max()),
                "nearest_cluster": None if nearest is None else part.clusters[nearest].key,
                "nearest_distance": least,
            }
        )
    return rows


def internal_report(part: Partition) -> Row:
    return counts(part) | (indices(part) if part.n else dict.fromkeys(INDICES))


def indices(part: Partition) -> Row:
    n, k, ssw, ssb = part.n, part.k, part.ssw, part.ssb
    gaps = part.pair_gaps()
    crowding = ray_turi(part)
    values = {
        "ssw": ssw,
        "ssb": ssb,
        "sst": math.fsum(part.measure.square(part.to_middle)),
        "explained_variance": quotient(ssb, math.fsum(part.measure.square(part.to_middle))),
        "compactness": math.fsum(float(c.own.mean()) for c in part.clusters) / k,
        "separation": quotient(2 * math.fsum(gaps), k * k - k),
        "calinski_harabasz_score": calinski_harabasz(n, k, ssw, ssb),
        "davies_bouldin_score": davies_bouldin(part) if 2 <= k < n else None,
        "ball_hall_index": math.fsum(part.ssw_of(c) / len(c.points) for c in part.clusters) / k,
        "banfield_raftery_index": banfield_raftery(part),
        "log_ss_ratio": math.log(ssb / ssw) if ssb > 0 and ssw > 0 else None,
        "pbm_index": pbm(part),
        "ratkowsky_lance_index": ratkowsky_lance(part),
        "ray_turi_index": crowding,
        "xie_beni_index": crowding,
        "sd_scattering": scattering(part),
        "sd_separation": sd_separation(part),
    }
    return values if part.measure.adds_up else values | dict.fromkeys(OF_TOTAL)


def calinski_harabasz(n: int, k: int, ssw: float, ssb: float) -> float | None:
    if not 2 <= k < n:
        return None
    return 1.0 if ssw == 0 else (ssb / (k - 1)) / (ssw / (n - k))


def davies_bouldin(part: Partition) -> float:
    r = [float(c.own.mean()) for c in part.clusters]
    worst = []
    for i in range(part.k):
        apart = [j for j in range(part.k) if j != i and part.gaps[i, j] > 0]
        worst.append(max((float((r[i] + r[j]) / part.gaps[i, j]) for j in apart), default=0.0))
    return math.fsum(worst) / part.k


def banfield_raftery(part: Partition) -> float | None:
    terms = [(len(c.points), part.ssw_of(c)) for c in part.clusters]
    if any(squares == 0 for _, squares in terms):
        return None
    return math.fsum(n * math.log(squares / n) for n, squares in terms)


def pbm(part: Partition) -> float | None:
    within = math.fsum(math.fsum(c.own) for c in part.clusters)
    if part.k < 2 or within == 0:
        return None
    return (math.fsum(part.to_middle) / within * max(part.pair_gaps()) / part.k) ** 2


def ratkowsky_lance(part: Partition) -> float | None:
    total = part.n * part.whole_spread()
    if np.any(total == 0):
        return None
    within = np.sum([len(c.points) * part.spread(c) for c in part.clusters], axis=0)
    between = [
        math.fsum(
            len(c.points) * (c.points[:, j].mean() - part.all[:, j].mean()) ** 2
            for c in part.clusters
        )
        * float(part.measure.roots(len(total))[j]) ** 2
        for j in range(len(total))
    ]
    assert np.allclose(within + between, total), "the total is within and between"
    shares = [b / t for b, t in zip(between, total, strict=True)]
    return math.sqrt(math.fsum(shares) / len(shares) / part.k)


def ray_turi(part: Partition) -> float | None:
    if part.k < 2:
        return None
    gap = min(part.pair_gaps())
    return quotient(part.ssw / part.n, gap if part.measure.distance == "sqeuclidean" else gap**2)


def scattering(part: Partition) -> float | None:
    lengths = [float(np.linalg.norm(part.spread(c))) for c in part.clusters]
    return quotient(math.fsum(lengths) / part.k, float(np.linalg.norm(part.whole_spread())))


def sd_separation(part: Partition) -> float | None:
    gaps = part.pair_gaps()
    if not gaps or min(gaps) == 0:
        return None
    sums = [math.fsum(np.delete(row, i)) for i, row in enumerate(part.gaps)]
    return max(gaps) / min(gaps) * math.fsum(1 / x for x in sums)


def neighbor_report(part: Partition) -> Row:
    row = counts(part)
    del row["n_singletons"]
    if part.k < 2:
        return row | dict.fromkeys(NEIGHBOR_INDICES)
    return row | {
        "wemmert_gancarski_index": wemmert_gancarski(part),
        "s_dbw_index": s_dbw(part) if part.measure.adds_up else None,
    }


def wemmert_gancarski(part: Partition) -> float | None:
    """A point on the centroid of another cluster makes its cluster's share 0; on both, 0/0."""
    shares = []
    for i, c in enumerate(part.clusters):
        others = np.array([o.centroid for j, o in enumerate(part.clusters) if j != i])
        nearest = part.measure.between(c.points, others).min(axis=1)
        if np.any((nearest == 0) & (c.own == 0)):
            return None
        if np.any(nearest == 0):
            shares.append(0.0)
        else:
            shares.append(max(0.0, len(c.points) - math.fsum(c.own / nearest)))
    return math.fsum(shares) / part.n


def s_dbw(part: Partition) -> float | None:
    scat, radius = scattering(part), dbw_radius(part)
    shares = []
    for i, j in part.pairs():
        middle, first, second = (int((d <= radius).sum()) for d in dbw_distances(part, i, j))
        if max(first, second) == 0:
            return None
        shares.append(middle / max(first, second))
    return None if scat is None else scat + math.fsum(shares) / len(shares)


def dbw_radius(part: Partition) -> float:
    return math.sqrt(sum(np.linalg.norm(part.spread(c)) for c in part.clusters)) / part.k


def dbw_distances(part: Partition, i: int, j: int) -> list[Floats]:
    """Distances of the points of two clusters to the middle of their centroids and to each."""
    one, other = part.clusters[i], part.clusters[j]
    both = np.concatenate([one.points, other.points])
    centroids = np.array([(one.centroid + other.centroid) / 2, one.centroid, other.centroid])
    plain = part.measure._replace(distance="euclidean")
    return list(plain.between(both, centroids).T)


def is_on_the_edge(part: Partition) -> bool:
    """Whether a point lies at the very radius of S_Dbw, where rounding decides."""
    radius = dbw_radius(part)
    apart = [d for i, j in part.pairs() for d in dbw_distances(part, i, j)]
    return any(bool(np.any(np.abs(d - radius) <= 1e-9 * (1 + radius))) for d in apart)


def is_delicate(part: Partition, *, exact: bool) -> bool:
    """Whether something below a fraction is 0 but for rounding, where no engine is to be trusted.

    In exact data equal points and constant columns are no matter of rounding. Nor is a single point
    ever, unless vectors are made units: it is its own centroid.
    """
    near = 1e-5 * (float(np.abs(part.to_middle).max()) or 1.0)
    alone = 0 if part.measure.distance == "cosine" else 1
    spreads = [float(c.own.max()) for c in part.clusters if len(c.points) > alone]
    columns = np.sqrt(part.whole_spread()).tolist()
    least = [x for x in [*spreads, *columns] if not (exact and x == 0)]
    several = part.k > 1 and part.ssb <= near**2
    return several or is_opposed(part) or min([*least, *part.pair_gaps()], default=1.0) <= near


def is_opposed(part: Partition) -> bool:
    """Whether the mean of unit vectors has no direction."""
    if part.measure.distance != "cosine":
        return False
    groups = [part.all, *(c.points for c in part.clusters)]
    return any(x.any() and np.linalg.norm(part.measure.middle(x)) < 1e-6 for x in groups)
