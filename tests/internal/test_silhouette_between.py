"""Silhouettes whose b is the mean distance to all other points, or to the furthest cluster."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import polars_clustereval as ce
from tests.support.engines import fails
from tests.support.point_engines import assert_points, call, call_by_case, one
from tests.support.point_oracle import DISTANCES, Measure
from tests.support.point_strategies import SEEDS
from tests.support.seeds import SEED
from tests.support.silhouette_cases import (
    CLUSTERS,
    KINDS,
    LINE,
    LINE_CLUSTERS,
    N_CLEAR,
    SAMPLES,
    SCORE,
    are_centers_undecided,
    is_any_delicate,
    is_delicate_row,
    of_random_case,
    oracle_of,
    random_silhouettes,
    spread_points,
    values_of,
    vector_frame,
)

if TYPE_CHECKING:
    from tests.support.engines import Engine
    from tests.support.silhouette_oracle import Silhouettes

EXAMPLES = Path(__file__).parents[2] / "examples"
OTHERS = ("mean_other", "furthest")
BETWEEN = ("nearest", *OTHERS)
of_others = pytest.mark.parametrize("between", OTHERS)


# By hand, and from elsewhere ------------------------------------------------------------------

# 0 and 1 in one cluster, 3 and 7 in another, 12 alone: b and the neighbor.
B_OF_LINE: dict[str, list[tuple[float, int | None]]] = {
    "nearest": [(5.0, 1), (4.0, 1), (2.5, 0), (5.0, 2), (7.0, 1)],
    "mean_other": [(22 / 3, None), (19 / 3, None), (14 / 3, None), (6.0, None), (9.25, None)],
    "furthest": [(12.0, 2), (11.0, 2), (9.0, 2), (6.5, 0), (11.5, 0)],
}
A_OF_LINE = [1.0, 1.0, 4.0, 4.0, 0.0]
S_OF_LINE = {
    "nearest": [0.8, 0.75, -0.375, 0.2, 0.0],
    "mean_other": [19 / 22, 16 / 19, 1 / 7, 1 / 3, 0.0],
    "furthest": [11 / 12, 10 / 11, 5 / 9, 5 / 13, 0.0],
}


@pytest.mark.gate
@pytest.mark.parametrize("between", BETWEEN)
def test_a_line(engine: Engine, between: str) -> None:
    lines = vector_frame(LINE, LINE_CLUSTERS)
    for distance in ("euclidean", "cityblock", "chebyshev"):
        rows = call(engine, SAMPLES, lines, between=between, distance=distance)
        values = zip(A_OF_LINE, B_OF_LINE[between], S_OF_LINE[between], strict=True)
        for row, (a, (b, neighbor), s) in zip(rows, values, strict=True):
            assert values_of(row, "a", "b", "silhouette") == pytest.approx([a, b, s], rel=1e-14)
            assert row["neighbor"] == neighbor
    assert oracle_of(lines).with_between(between).rows == [
        {
            "id": i,
            "cluster": LINE_CLUSTERS[i],
            "neighbor": B_OF_LINE[between][i][1],
            "a": A_OF_LINE[i],
            "b": pytest.approx(B_OF_LINE[between][i][0], rel=1e-14),
            "silhouette": pytest.approx(S_OF_LINE[between][i], rel=1e-14),
            "std_error": None,
        }
        for i in range(5)
    ]


@pytest.mark.gate
def test_sizes_weigh(engine: Engine) -> None:
    """The mean over points, 3, 3 and 9, not over clusters: 5, not 6; with centers, too."""
    rows = vector_frame([[0.0], [0.0], [3.0], [3.0], [9.0]], [0, 0, 1, 1, 2])
    for distance, b in (("euclidean", 5.0), ("cityblock", 5.0), ("sqeuclidean", 33.0)):
        got = call(engine, SAMPLES, rows, between="mean_other", distance=distance)
        assert got[0]["b"] == pytest.approx(b, rel=1e-14)
    rows = vector_frame([[-1.0], [1.0], [3.0], [3.0], [9.0]], [0, 0, 1, 1, 2])
    # Centers 0, 3 and 9: own 1, 1, 0, 0, 0 against (4 + 4 + 10) / 3, (2 + 2 + 8) / 3, 4 and 0.
    got = one(engine, SCORE, rows, between="mean_other", method="simplified")
    assert got["silhouette"] == pytest.approx((5 / 6 + 3 / 4 + 1 + 1 + 0) / 5, rel=1e-14)


# Computed by the loops of silhouette_batch_custom and silhouette_samples_custom in
# tests/test_BRAS_metric.py of scib-metrics (5e78759): BRAS of iris by species, of batches id % 4,
# and the mean silhouette of the species.
OF_SCIB = {
    ("euclidean", "nearest"): (0.8225187581465948, 0.5034774406932966),
    ("euclidean", "mean_other"): (0.862278306317362, 0.6939401742526783),
    ("euclidean", "furthest"): (0.8515248038930188, 0.7695192128373102),
    ("cosine", "nearest"): (0.7449556169640125, 0.7222943087635785),
    ("cosine", "mean_other"): (0.8104777359714485, 0.9607535913984073),
    ("cosine", "furthest"): (0.7729403549558046, 0.9763108195718447),
}


@pytest.mark.gate
@pytest.mark.parametrize(("distance", "between"), OF_SCIB)
def test_numbers_of_scib_metrics(engine: Engine, distance: str, between: str) -> None:
    iris = pl.read_parquet(EXAMPLES / "iris.parquet").with_columns(batch=pl.col("id") % 4)
    flower = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    how = {"between": between, "distance": distance}
    rows = call(engine, SAMPLES, iris, flower, "batch", partition_by="species", **how)
    by_species: dict[str, list[float]] = {}
    for row in rows:
        by_species.setdefault(row["species"], []).append(1 - abs(row["silhouette"]))
    bras = np.mean([np.mean(values) for values in by_species.values()])
    mean = one(engine, SCORE, iris, flower, "species", **how)["silhouette"]
    assert (bras, mean) == pytest.approx(OF_SCIB[distance, between], abs=1e-12)


# The definition -------------------------------------------------------------------------------


def check_other_samples(got: list[Any], part: Silhouettes) -> None:
    for row, wanted, i in zip(got, part.samples(), part.in_order(), strict=True):
        without = {"neighbor"} if part.is_tied(i) and part.between != "mean_other" else set()
        if is_delicate_row(wanted):
            without.add("silhouette")
        assert_points([row], [wanted], tolerance=1e-9, floor=1e-9, without=without)


@pytest.mark.parametrize("distance", DISTANCES)
@of_others
@of_random_case
@SEEDS
@SEED
def test_equals_the_oracle(
    engine: Engine, distance: str, between: str, weighted: bool, seed: int
) -> None:
    """Many small partitions in one call, with missing vectors and clusters, weights and noise."""
    parts, rows, how = random_silhouettes(distance, weighted, seed)
    how = how | {"partition_by": "run", "between": between}
    got = {name: call(engine, name, rows, **how) for name in (CLUSTERS, SCORE)}
    got[SAMPLES] = call(engine, SAMPLES, rows, id="nr", **how)
    compared = 0
    for run, plain_part in enumerate(parts):
        part = plain_part.with_between(between)
        mine = {
            name: [dict(list(row.items())[1:]) for row in found if row["run"] == run]
            for name, found in got.items()
        }
        check_other_samples(mine[SAMPLES], part)
        if is_any_delicate(part):
            continue
        compared += part.is_clustering
        assert_points(mine[CLUSTERS], part.clusters(), tolerance=1e-9, floor=1e-9)
        assert_points(mine[SCORE], [part.score()], tolerance=1e-9, floor=1e-9)
    assert compared >= N_CLEAR


@pytest.mark.parametrize("distance", DISTANCES)
@of_others
@SEEDS
@SEED
def test_simplified_equals_the_oracle(
    engine: Engine, distance: str, between: str, seed: int
) -> None:
    parts, rows, how = random_silhouettes(distance, False, seed)
    more = {"method": "simplified", "between": between}
    got = call(engine, SCORE, rows, partition_by="run", **how, **more)
    compared = 0
    for run, part in enumerate(parts):
        if not part.n or is_any_delicate(part) or are_centers_undecided(part):
            continue
        compared += part.is_clustering
        mine = [dict(list(row.items())[1:]) for row in got if row["run"] == run]
        wanted = part.with_between(between).simplified()
        assert_points(mine, [wanted], tolerance=1e-9, floor=1e-9)
    assert compared >= N_CLEAR


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(
    "kind", [KINDS[0], *(pytest.param(kind, marks=pytest.mark.gate) for kind in KINDS[1:])]
)
@of_others
def test_one_partition_of_many_points(
    engine: Engine, distance: str, kind: str, between: str
) -> None:
    """Where bounds rule out clusters; one cluster has a single point, and one a third of all."""
    x, clusters = spread_points(kind, 240, 3, 7, 5)
    clusters[:80], clusters[3] = 2, 9
    part = oracle_of(vector_frame(x.tolist(), clusters.tolist()), Measure(distance))
    rows = vector_frame(x.tolist(), clusters.tolist())
    check_other_samples(
        call(engine, SAMPLES, rows, distance=distance, between=between),
        part.with_between(between),
    )


@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "chebyshev", "minkowski"])
def test_the_furthest_is_not_the_cluster_of_the_largest_bound(
    engine: Engine, distance: str
) -> None:
    """One outlier makes the upper bound of a near cluster larger than that of the furthest."""
    places = [0.0, 0.5, *[5.0, 5.25, 4.75], *[1.0] * 9, 30.0]
    clusters = [0, 0, *[1] * 3, *[2] * 10]
    rows = vector_frame([[x, 0.0] for x in places], clusters)
    got = call(engine, SAMPLES, rows, distance=distance, between="furthest")
    assert [values_of(row, "b", "neighbor") for row in got[:2]] == [
        [pytest.approx(5.0, rel=1e-14), 1],
        [pytest.approx(4.5, rel=1e-14), 1],
    ]


@pytest.mark.gate
@pytest.mark.parametrize("distance", ["euclidean", "cityblock", "sqeuclidean", "chebyshev"])
@of_others
def test_sampled_points_are_compared_with_all(engine: Engine, distance: str, between: str) -> None:
    x, clusters = spread_points("normal", 90, 2, 4, 8)
    rows = vector_frame(x.tolist(), clusters.tolist())
    how: dict[str, Any] = {"distance": distance, "between": between}
    exact = {row["id"]: row for row in call(engine, SAMPLES, rows, **how)}
    drawn = call(engine, SAMPLES, rows, method="sample", sample_size=20, **how)
    assert len(drawn) == 20
    for row in drawn:
        assert row.pop("std_error") == 0.0
        wanted = {name: value for name, value in exact[row["id"]].items() if name in row}
        assert_points([row], [wanted], tolerance=1e-12)
    score = one(engine, SCORE, rows, method="sample", sample_size=20, **how)
    mean = np.mean([row["silhouette"] for row in drawn])
    assert score["silhouette"] == pytest.approx(mean, abs=1e-12)


# Properties ------------------------------------------------------------------------------------


@pytest.mark.gate
@SEEDS
@SEED
def test_order_of_the_three(side: Engine, seed: int) -> None:
    """nearest <= mean_other <= furthest in b; the three are equal if there are two clusters."""
    rng = np.random.default_rng(seed)
    numbers = list(itertools.product(range(2, 7), range(4)))
    cases = [few_points(rng, k, digits) for k, digits in numbers]
    for distance in DISTANCES:
        found = [
            call_by_case(side, SAMPLES, cases, distance=distance, between=name) for name in BETWEEN
        ]
        for (k, _), *ordered in zip(numbers, *found, strict=True):
            b = [np.array([row["b"] for row in rows]) for rows in ordered]
            slack = 1e-12 * (1 + b[2])
            assert (b[0] <= b[1] + slack).all()
            assert (b[1] <= b[2] + slack).all()
            if k == 2:
                assert (b[2] - b[0] <= slack).all()


def few_points(rng: np.random.Generator, k: int, digits: int) -> pl.DataFrame:
    """k clusters of some points in the plane, rounded, so that points and distances are equal.

    They have few binary digits: sums of decimal fractions would depend on their order, and so would
    the nearest of two clusters at the same mean distance.
    """
    clusters = np.append(np.arange(k), rng.integers(0, k, 14))
    x = np.round(rng.normal(size=(len(clusters), 2)) * 3 * 2**digits) / 2**digits
    return vector_frame(x.tolist(), clusters.tolist())


# Degenerate rows ---------------------------------------------------------------------------------

ALONE = vector_frame([[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]], [1, 1, 1])
APART = vector_frame([[1.0, 2.0], [3.0, 4.0], [3.0, 9.0]], [1, 2, 3])
EQUAL = vector_frame([[0.3, 0.3]] * 7, [0, 0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("distance", DISTANCES)
@of_others
def test_degenerate_rows(engine: Engine, distance: str, between: str) -> None:
    """One cluster, as many clusters as points, equal points."""
    how = {"distance": distance, "between": between}
    alone, apart = call_by_case(engine, SAMPLES, [ALONE, APART], **how)
    for got, case in ((alone, ALONE), (apart, APART)):
        wanted = oracle_of(case, Measure(distance)).with_between(between).rows
        for row, expected in zip(got, wanted, strict=True):
            assert_points([row], [expected | {"id": row["id"]}], tolerance=1e-9, floor=1e-12)
    assert values_of(alone[0], "neighbor", "b", "silhouette") == [None, None, None]
    assert [values_of(row, "a", "silhouette") for row in apart] == [[0.0, None]] * 3
    for case in (ALONE, APART):
        for method in ("exact", "simplified"):
            row = one(engine, SCORE, case, method=method, **how)
            assert values_of(row, "silhouette", "n_evaluated") == [None, 0]
    rows = call(engine, SAMPLES, EQUAL, **how)
    assert [values_of(row, "a", "b", "silhouette") for row in rows] == [[0.0, 0.0, 0.0]] * 7


@of_others
def test_no_rows(engine: Engine, between: str) -> None:
    rows = vector_frame([], [])
    assert call(engine, SAMPLES, rows, between=between) == []
    assert call(engine, CLUSTERS, rows, between=between) == []
    row = one(engine, SCORE, rows, between=between)
    assert values_of(row, "n", "silhouette") == [0, None]


@of_others
def test_zero_vectors(engine: Engine, between: str) -> None:
    """At a cosine distance of 1 from everything; the neighbor of one is the lowest other."""
    x = np.random.default_rng(0).normal(size=(80, 4))
    x[::6] = 0
    rows = vector_frame(x.tolist(), [i % 5 for i in range(80)])
    wanted = oracle_of(rows, Measure("cosine")).with_between(between)
    got = call(engine, SAMPLES, rows, distance="cosine", between=between)
    assert_points(got, wanted.samples(), tolerance=1e-12, without={"neighbor"})
    lowest = None if between == "mean_other" else 0
    assert got[6]["neighbor"] == lowest
    assert got[7]["neighbor"] == wanted.rows[7]["neighbor"]


@pytest.mark.gate
def test_the_furthest_is_the_lowest_of_equals(engine: Engine) -> None:
    few = vector_frame([[0.0], [0.5], [4.0], [-4.0], [5.0], [-5.0]], [5, 5, 9, 2, 9, 2])
    near = vector_frame([[0.0], [0.0], [1.0], [4.0], [-4.0], [-4.0]], [5, 5, 1, 9, -1, -1])
    for rows in (few, near):
        for distance in ("euclidean", "cityblock", "chebyshev"):
            row = call(engine, SAMPLES, rows, distance=distance, between="furthest")[0]
            lowest = 2 if rows is few else -1
            assert row["neighbor"] == lowest, distance


@pytest.mark.parametrize("distance", ["euclidean", "sqeuclidean", "cityblock", "cosine"])
@of_others
def test_far_from_zero(side: Engine, distance: str, between: str) -> None:
    """No digits cancel: neither in differences of sums nor in products of coordinates."""
    x, clusters = spread_points("normal", 120, 2, 3, 1)
    # One cluster of most of the points, and far away: the others are small beside their sum.
    clusters[:90] = 0
    x[clusters == 0] += 1e4
    rows = vector_frame(x.tolist(), clusters.tolist())
    wanted = oracle_of(rows, Measure(distance)).with_between(between)
    got = call(side, SAMPLES, rows, distance=distance, between=between)
    assert_points(got, wanted.samples(), tolerance=1e-11, floor=1e-12, without={"neighbor"})


# Errors -----------------------------------------------------------------------------------------

CHOICES = "between: expected one of 'nearest', 'mean_other', 'furthest', got"
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"between": "x"}, f"{CHOICES} 'x'"),
    "another case": ({"between": "Furthest"}, f"{CHOICES} 'Furthest'"),
    "nothing": ({"between": None}, f"{CHOICES} NULL"),
    "bounds": (
        {"between": "furthest", "method": "bounds"},
        ("between: 'furthest' needs method 'exact', 'simplified' or 'sample', got method 'bounds'"),
    ),
    "tolerance": (
        {"between": "mean_other", "tolerance": 0.125},
        "between: 'mean_other' cannot be combined with tolerance, got tolerance 0.125",
    ),
    "references": (
        {"between": "furthest", "method": "sample", "reference_size": 5},
        "between: 'furthest' cannot be combined with reference_size, got reference_size 5",
    ),
}


@pytest.mark.parametrize("option", BAD)
@pytest.mark.parametrize("empty", [False, True])
def test_a_bad_option(side: Engine, option: str, empty: bool) -> None:
    arguments, words = BAD[option]
    lines = vector_frame(LINE, LINE_CLUSTERS)
    functions = [SCORE]
    if "tolerance" not in arguments and arguments.get("method") != "bounds":
        functions += [SAMPLES, CLUSTERS]
    for function in functions:
        with fails(side, words):
            call(side, function, lines.clear() if empty else lines, **arguments)


@pytest.mark.gate
@pytest.mark.parametrize("method", ["exact", "simplified", "bounds"])
def test_the_default_goes_with_every_method(side: Engine, method: str) -> None:
    lines = vector_frame(LINE, LINE_CLUSTERS)
    given_default = one(side, SCORE, lines, method=method, between="nearest")
    assert given_default == one(side, SCORE, lines, method=method)


def test_the_namespace_takes_it() -> None:
    frame = vector_frame(LINE, LINE_CLUSTERS)
    method = frame.clustereval.silhouette_samples  # type: ignore[attr-defined]
    got = method("vector", "cluster", between="furthest")
    wanted = ce.silhouette_samples(frame, "vector", "cluster", between="furthest")
    assert got.equals(wanted)
