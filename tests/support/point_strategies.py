"""Random sets of points, the options they are scored with, and columns where rounding decides."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, settings

from tests.support import point_oracle
from tests.support.point_oracle import DISTANCES, Measure, Partition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Rows = list[tuple[list[float] | None, int | None]]
#: Draws after which a condition on random sets is taken for one that cannot be met.
MAX_DRAWS = 5000

# For tests that draw a seed: all sets of one seed, some ten of them, are scored in one call, so one
# seed is enough for every run.
SEEDS = settings(
    max_examples=max(1, settings.default.max_examples // 20),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)

NOISE: list[dict[str, Any]] = [
    {},
    {"noise": 0, "noise_as": "cluster"},
    {"noise": 0, "noise_as": "drop"},
    {"noise": 0, "noise_as": "singletons"},
]
# Squares of exact numbers, so that weighted coordinates are exact too.
FACTORS = [0.25, 4.0, 9.0, 2.25]
EUCLIDEAN = Measure()


def quarter(rng: random.Random) -> float:
    """A number that is exact in every form of number, as are sums of few of them."""
    return rng.randint(-24, 24) / 4


def digit(rng: random.Random) -> float:
    """One of few numbers, so that points coincide and distances tie."""
    return float(rng.randint(-2, 2))


def tenth(rng: random.Random) -> float:
    """A number whose differences are equal by definition but not in binary."""
    return rng.randint(0, 60) / 10


def decimal(rng: random.Random) -> float:
    return round(rng.uniform(-100, 100), 6)


def random_rows(
    rng: random.Random,
    dims: int,
    number: Callable[[random.Random], float] = quarter,
    *,
    nulls: bool = False,
    max_rows: int = 24,
    max_clusters: int = 5,
) -> Rows:
    """Rows of (vector, cluster); with `nulls`, about one in ten has no vector or no cluster."""
    k = rng.randint(1, max_clusters)
    rows: Rows = []
    for _ in range(rng.choice([rng.randint(1, 4), rng.randint(5, max_rows), max_rows])):
        vector = [number(rng) for _ in range(dims)]
        row: Any = (vector, rng.randrange(k))
        if nulls and rng.random() < 0.1:
            row = rng.choice([(None, 1), (vector, None)])
        rows.append(row)
    return rows


def random_sets(
    seed: object,
    n: int,
    dims: int,
    *numbers: Callable[[random.Random], float],
    accept: Callable[[Rows], bool] = lambda _: True,
    **options: Any,
) -> list[Rows]:
    """`n` sets of rows that are accepted, with each kind of number in turn."""
    rng, kinds = random.Random(str(seed)), numbers or (quarter,)
    sets: list[Rows] = []
    for _ in range(MAX_DRAWS):
        if len(sets) == n:
            return sets
        rows = random_rows(rng, dims, kinds[len(sets) % len(kinds)], **options)
        if accept(rows):
            sets.append(rows)
    raise AssertionError(f"{len(sets)} of {n} sets accepted in {MAX_DRAWS} draws")


def clear_and_other_sets(
    seed: object,
    n_clear: int,
    n_other: int,
    dims: int,
    *numbers: Callable[[random.Random], float],
    is_clear: Callable[[Rows], bool],
) -> list[Rows]:
    """Sets whose scores can be compared, then sets of any rows, some of them without a vector.

    Random points are often too few for a clustering, or so placed that rounding decides.
    """
    assert n_clear % len(numbers) == 0, "kinds of numbers take turns"
    clear = random_sets(seed, n_clear, dims, *numbers, nulls=True, accept=is_clear)
    return clear + random_sets((seed, "any"), n_other, dims, *numbers, nulls=True)


def is_clustering(part: Partition) -> bool:
    return 2 <= part.k < part.n


def is_sound(rows: Rows, measure: Measure = EUCLIDEAN) -> bool:
    """Whether the indices of exact rows do not depend on rounding."""
    part = Partition(*zip(*rows, strict=True), measure)
    return part.n > 0 and not point_oracle.is_delicate(part, exact=True) and not undecided(part)


def undecided(part: Partition, within: float = 1e-9) -> set[str]:
    """The columns where rounding decides: equally near clusters, points at the radius of S_Dbw."""
    gaps = np.sort(part.gaps + np.diag([math.inf] * part.k), axis=1)
    ties = part.k > 2 and bool(np.any(gaps[:, 1] - gaps[:, 0] <= within * (1 + gaps[:, 0])))
    edge = part.k > 1 and part.measure.adds_up and point_oracle.is_on_the_edge(part)
    return {*(["nearest_cluster"] if ties else []), *(["s_dbw_index"] if edge else [])}


def measure_of(
    distance: str, dims: int, center: str = "mean", *, weighted: bool = False
) -> Measure:
    """The distance of this name; Minkowski's is of order 1.5 with weights and 3 without."""
    p = 2.0 if distance != "minkowski" else 1.5 if weighted else 3.0
    weights = FACTORS[:dims] if weighted and distance != "chebyshev" else None
    return Measure(distance, p, center, weights)


# The ways of each distance: center, and whether there are weights.
FEW_WAYS = [("mean", True), ("median", False)]
SUM_WAYS = [("mean", False), ("mean", True), ("median", True)]
WAYS = {name: SUM_WAYS if name in ("euclidean", "sqeuclidean") else FEW_WAYS for name in DISTANCES}


def random_options() -> list[Any]:
    """(distance, center, weighted, noise, dimensions): the ways above, then the others as wide."""
    cases: list[Any] = [("euclidean", "mean", False, 1, 1), ("cityblock", "median", False, 0, 1)]
    for d, distance in enumerate(DISTANCES):
        fast = {
            (*way, (d + i) % len(NOISE)): 2 + (d + i) % 3 for i, way in enumerate(WAYS[distance])
        }
        cases += [(distance, *options, dims) for options, dims in fast.items()]
        for i, center in enumerate(["mean", "median"]):
            for noise in range(len(NOISE)):
                options = (center, (d + i + noise) % 2 == 0, noise)
                if options not in fast:
                    dims = 1 + (d + noise) % 4
                    # In one dimension cosine distances are only 0 or 2.
                    dims = 4 if (distance, dims) == ("cosine", 1) else dims
                    case = (distance, *options, dims)
                    cases.append(pytest.param(*case, marks=pytest.mark.wide))
    return cases


def is_exact(number: object, measure: Measure) -> bool:
    """Whether coordinates from this kind of number are exact in binary as distances take them."""
    rooted = measure.distance == "minkowski" and measure.weights is not None
    return number is not decimal and measure.distance != "cosine" and not rooted


def arguments_of(measure: Measure) -> dict[str, Any]:
    given = measure._asdict()
    return {name: value for name, value in given.items() if value is not None}


def frame_of_sets(several: Sequence[Rows]) -> pl.DataFrame:
    """One frame of all sets, which the column `run` numbers."""
    rows = [(v, c, run) for run, rows in enumerate(several) for v, c in rows]
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64, "run": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")
