"""Points with clusters whose silhouettes several tests compute."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from tests.support.point_oracle import DISTANCES, Measure
from tests.support.point_strategies import (
    NOISE,
    Rows,
    arguments_of,
    clear_and_other_sets,
    decimal,
    digit,
    frame_of_sets,
    measure_of,
    quarter,
)
from tests.support.silhouette_oracle import Silhouettes

if TYPE_CHECKING:
    from tests.support.engines import Row


SAMPLES, CLUSTERS, SCORE = "silhouette_samples", "silhouette_clusters", "silhouette_score"


def vector_frame(given_points: Any, clusters: Any, **more: Any) -> pl.DataFrame:
    schema = {"vector": pl.List(pl.Float64), "cluster": pl.Int64}
    named = {"vector": list(given_points), "cluster": list(clusters)}
    return pl.DataFrame(named, schema=schema).with_columns(
        pl.Series(name, values) for name, values in more.items()
    )


def values_of(row: Row, *names: str) -> list[Any]:
    return [row[name] for name in names]


# 0 and 1 in one cluster, 3 and 7 in another, 12 alone: a = 1, 1, 4, 4, 0.
LINE = [[0.0], [1.0], [3.0], [7.0], [12.0]]
LINE_CLUSTERS = [0, 0, 1, 1, 2]
_OF_LINE = [
    {
        "id": 0,
        "cluster": 0,
        "neighbor": 1,
        "a": 1.0,
        "b": 5.0,
        "silhouette": 0.8,
        "std_error": None,
    },
    {
        "id": 1,
        "cluster": 0,
        "neighbor": 1,
        "a": 1.0,
        "b": 4.0,
        "silhouette": 0.75,
        "std_error": None,
    },
    {
        "id": 2,
        "cluster": 1,
        "neighbor": 0,
        "a": 4.0,
        "b": 2.5,
        "silhouette": -0.375,
        "std_error": None,
    },
    {
        "id": 3,
        "cluster": 1,
        "neighbor": 2,
        "a": 4.0,
        "b": 5.0,
        "silhouette": 0.2,
        "std_error": None,
    },
    {
        "id": 4,
        "cluster": 2,
        "neighbor": 1,
        "a": 0.0,
        "b": 7.0,
        "silhouette": 0.0,
        "std_error": None,
    },
]
OF_LINE = [row | {"std_error": None} for row in _OF_LINE]
_CLUSTERS_OF_LINE = [
    {"cluster": 0, "n": 2, "a": 1.0, "b": 4.5, "silhouette": 0.775},
    {"cluster": 1, "n": 2, "a": 4.0, "b": 3.75, "silhouette": -0.0875},
    {"cluster": 2, "n": 1, "a": 0.0, "b": 7.0, "silhouette": 0.0},
]
CLUSTERS_OF_LINE = [row | {"std_error": None} for row in _CLUSTERS_OF_LINE]
SCORE_OF_LINE = {
    "n": 5,
    "n_dropped": 0,
    "n_noise": 0,
    "n_clusters": 3,
    "n_singletons": 1,
    "n_evaluated": 5,
    "silhouette": 0.275,
    "silhouette_macro": 0.6875 / 3,
    "silhouette_max": 0.775,
    "silhouette_lower": 0.275,
    "silhouette_upper": 0.275,
    "std_error": None,
}


def oracle_of(given_frame: pl.DataFrame, measure: Measure | None = None) -> Silhouettes:
    rows = given_frame.select("vector", "cluster")
    return Silhouettes(rows["vector"].to_list(), rows["cluster"].to_list(), measure or Measure())


NUMBERS = (quarter, decimal, digit)
N_CLEAR = 9


@cache
def random_silhouettes(
    distance: str, weighted: bool, seed: int
) -> tuple[list[Silhouettes], pl.DataFrame, Any]:
    """Sets of points, their frame, and the options; all scores of N_CLEAR sets can be compared."""
    case = DISTANCES.index(distance) + weighted
    dims, noise = 1 + case % 4, NOISE[case % 4]
    measure = measure_of(distance, dims, weighted=weighted)
    found, start = [], 0

    def is_clear(rows: Rows) -> bool:
        part = Silhouettes(*zip(*rows, strict=True), measure, **noise)
        return part.is_clustering and not is_any_delicate(part) and not are_centers_undecided(part)

    drawn = (seed, distance, weighted)
    sets = clear_and_other_sets(drawn, N_CLEAR, 6, dims, *NUMBERS, is_clear=is_clear)
    for rows in sets:
        ids = range(start, start + len(rows))
        found.append(Silhouettes(*zip(*rows, strict=True), measure, **noise, ids=ids))
        start += len(rows)
    arguments = arguments_of(measure)
    del arguments["center"]
    return found, frame_of_sets(sets).with_row_index("nr"), arguments | noise


# chebyshev takes no weights; for it the second case is another way with noise
of_random_case = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def is_delicate_row(row: Row) -> bool:
    """Whether a silhouette is rounding over rounding."""
    return max(row["a"], row["b"] or 0.0) < 1e-6


def is_any_delicate(part: Silhouettes) -> bool:
    return any(is_delicate_row(row) for row in part.rows)


def are_centers_undecided(part: Silhouettes) -> bool:
    """Whether rounding decides where a centroid is, or whether a point is on it.

    The centroid of one point is exactly that point, unless vectors are made units.
    """
    cosine = part.measure.distance == "cosine"
    if cosine:
        units = [part.measure.middle(part.x[places]) for places in part.members.values()]
        if min(float(np.linalg.norm(u)) for u in units) < 1e-6:
            return True
    groups = [part.x[places] for places in part.members.values() if cosine or len(places) > 1]
    if not groups:
        return False
    apart = part.measure.between(part.x, np.array([part.measure.centroid(x) for x in groups]))
    return bool(np.any(apart < 1e-6))


def spread_points(kind: str, n: int, dims: int, k: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, k, n)
    middles = rng.normal(size=(k, dims)) * 2
    x = (
        middles[clusters]
        + {
            "normal": lambda: rng.normal(size=(n, dims)),
            "heavy tails": lambda: rng.standard_cauchy(size=(n, dims)),
            "duplicates": lambda: rng.integers(0, 2, size=(n, dims)).astype(float),
            "correlated": lambda: rng.normal(size=(n, 1)) * np.arange(1, dims + 1),
        }[kind]()
    )
    return x, clusters


KINDS = ["normal", "heavy tails", "duplicates", "correlated"]
