"""elbow: published values, kneed, definitions by brute force, degenerate curves, errors."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from kneed import KneeLocator
from scipy.stats import multivariate_normal
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, silhouette_score

import polars_clustereval as ce
from tests.support.engines import by_value, fails
from tests.support.iris_sweep import FLOWER, iris_sweep
from tests.support.point_engines import assert_points
from tests.support.point_engines import call as call_points

if TYPE_CHECKING:
    from tests.support.engines import Engine, Row

Curve = dict[int, float]


def curves_frame(curves: list[Curve]) -> pl.DataFrame:
    """Points whose ssw is the value of each curve at each k, the number of the curve as `curve`.

    Each k has two points of one cluster, at a and -a, whose ssw is 2 a^2.
    """
    rows = [
        (number, k, 0, sign * math.sqrt(ssw / 2))
        for number, curve in enumerate(curves)
        for k, ssw in curve.items()
        for sign in (1.0, -1.0)
    ]
    return pl.DataFrame(rows, schema=["curve", "k", "cluster", "x"], orient="row")


def elbows(engine: Engine, curves: list[Curve]) -> list[list[Row]]:
    """The elbow tables of many curves, from one call."""
    rows = engine.call("elbow", curves_frame(curves), ["x"], "cluster", "k", partition_by="curve")
    found = by_value(rows, "curve")
    return [found[number] for number in range(len(curves))]


def knee_of(rows: list[Row]) -> int | None:
    """The k of the knee; is_knee is NULL in all rows if there is none, else False in the others."""
    flags = [row["is_knee"] for row in rows]
    assert flags.count(True) == 1 or flags == [None] * len(rows)
    return next((row["k"] for row in rows if row["is_knee"]), None)


# Published values ----------------------------------------------------------------------------

# The elbow of k-means on iris, as scikit-learn's inertia_; from them by the formulas of the papers
# with R's NbClust as the check: Krzanowski-Lai of k = 2, 3, 4 and Hartigan of k = 1 to 4.
INERTIA = [
    *(681.3706, 152.3480, 78.8514, 57.2285, 46.4462),
    *(39.0400, 34.4202, 30.0144, 28.0523, 25.9726),
]
KRZANOWSKI_LAI = [5.9068, 3.5663, 2.0866]
HARTIGAN = [513.925, 137.017, 55.164, 33.661]


def test_iris(engine: Engine) -> None:
    frame = iris_sweep()
    rows = engine.call("elbow", frame, FLOWER, "cluster", "k", silhouette="exact")
    assert [row["k"] for row in rows] == list(range(1, 11))
    assert {row["n"] for row in rows} == {150}
    assert [row["n_clusters"] for row in rows] == list(range(1, 11))
    assert [round(row["ssw"], 4) for row in rows] == INERTIA
    assert [round(row["krzanowski_lai_index"], 4) for row in rows[1:4]] == KRZANOWSKI_LAI
    assert [round(row["hartigan_index"], 3) for row in rows[:4]] == HARTIGAN
    assert knee_of(rows) == 3
    assert max(rows, key=lambda row: row["chord_distance"])["k"] == 3
    assert max(rows[1:-1], key=lambda row: row["second_difference"])["k"] == 2
    for row, (_, part) in zip(rows, frame.group_by("k", maintain_order=True), strict=True):
        if row["k"] > 1:
            x, labels = part.select(FLOWER).to_numpy(), part["cluster"].to_numpy()
            expected = {
                "calinski_harabasz_score": calinski_harabasz_score(x, labels),
                "davies_bouldin_score": davies_bouldin_score(x, labels),
                "silhouette": silhouette_score(x, labels),
            }
            assert_points([{name: row[name] for name in expected}], [expected], tolerance=1e-9)


def test_iris_from_2(engine: Engine) -> None:
    frame = iris_sweep().filter(pl.col("k") > 1)
    assert knee_of(engine.call("elbow", frame, FLOWER, "cluster", "k")) == 4


def test_recommendations_on_iris(engine: Engine) -> None:
    sweep = ce.elbow(iris_sweep(), FLOWER, "cluster", "k", silhouette="exact")
    rows = engine.call("choose_k", sweep)
    found = {row["criterion"]: (row["k"], row["runner_up"]) for row in rows}
    assert found == {
        "calinski_harabasz_score": (3, 4),
        "davies_bouldin_score": (2, 3),
        "silhouette": (2, 3),
        "krzanowski_lai_index": (8, 2),
        "hartigan_index": (8, None),
        "jump": (8, 10),
        "bic": (8, 9),
        "second_difference": (2, 3),
        "chord_distance": (3, 2),
        "kneedle": (3, 2),
    }


@pytest.mark.gate
@pytest.mark.parametrize(
    "silhouette", ["simplified", pytest.param("exact", marks=pytest.mark.gate)]
)
def test_silhouettes_are_those_of_silhouette_score(engine: Engine, silhouette: str) -> None:
    frame = iris_sweep().filter(pl.col("k") < 5)
    options = {"noise": 0, "noise_as": "drop", "distance": "cityblock", "weights": [1.0, 2, 3, 4]}
    rows = engine.call("elbow", frame, FLOWER, "cluster", "k", silhouette=silhouette, **options)
    scores = call_points(
        engine,
        "silhouette_score",
        frame,
        FLOWER,
        "cluster",
        partition_by="k",
        method=silhouette,
        **options,
    )
    named = ("k", "n", "n_clusters", "silhouette")
    assert_points(
        [{name: row[name] for name in named} for row in rows],
        [{name: row[name] for name in named} for row in scores if row["n"]],
    )
    assert any(row["silhouette"] is not None for row in rows)


OPTIONS: list[Any] = [
    {},
    pytest.param({"distance": "cosine"}, marks=pytest.mark.wide),
    {"distance": "cityblock", "center": "median"},
    {"distance": "minkowski", "p": 3, "weights": [1.0, 2.0, 0.5, 1.0]},
    {"noise": 1, "noise_as": "singletons"},
    {"noise": 1, "noise_as": "drop"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_scores_are_those_of_internal_report(engine: Engine, options: dict[str, Any]) -> None:
    frame = iris_sweep().filter(pl.col("k") < 5, pl.col("id") % 4 == 0)
    frame = frame.with_columns(run=pl.when(pl.col("id") % 8 == 0).then(pl.lit("a")))
    rows = engine.call("elbow", frame, FLOWER, "cluster", "k", partition_by="run", **options)
    reports = call_points(
        engine, "internal_report", frame, FLOWER, "cluster", partition_by=["run", "k"], **options
    )
    named = (
        *("run", "k", "n", "n_clusters", "ssw", "explained_variance"),
        *("calinski_harabasz_score", "davies_bouldin_score"),
    )
    assert_points(
        [{name: row[name] for name in named} for row in rows],
        [{name: row[name] for name in named} for row in reports],
        tolerance=1e-11,
    )


# Knees as kneed finds them ------------------------------------------------------------------


def random_curves() -> list[Curve]:
    """Convex decreasing curves, the same with noise, and with gaps between the values of k."""
    random = np.random.default_rng(20111)
    curves = []
    for number in range(450):
        size = int(random.integers(4, 25))
        drops = np.sort(random.exponential(1, size) ** random.uniform(0.5, 3))[::-1]
        ssw = random.uniform(0, 5) + np.cumsum(drops[::-1])[::-1]
        if number % 3 == 1:
            ssw = ssw * random.uniform(0.8, 1.25, size)
        k = np.arange(1, size + 1) + int(random.integers(0, 3))
        if number % 3 == 2:
            k = np.cumsum(random.integers(1, 6, size))
        curves.append(dict(zip(k.tolist(), ssw.tolist(), strict=True)))
    return curves


def kneed_knee(rows: list[Row]) -> int | None:
    """The first knee of kneed that is not the first value of k (see the comment in the source).

    online=True goes on after the first knee, with the same thresholds.
    """
    k, ssw = [row["k"] for row in rows], [row["ssw"] for row in rows]
    options = {"S": 1.0, "curve": "convex", "direction": "decreasing"}
    knees = KneeLocator(k, ssw, online=True, **options).all_knees
    first = KneeLocator(k, ssw, online=False, **options).knee
    assert first == (knees[0] if knees else None)
    return next((int(knee) for knee in knees if knee != k[0]), None)


@pytest.mark.gate
def test_knees_are_those_of_kneed(engine: Engine) -> None:
    curves = random_curves()
    tables = elbows(engine, curves)
    expected = [kneed_knee(rows) for rows in tables]
    assert [knee_of(rows) for rows in tables] == expected
    # The curves are of all kinds: with a knee, without one, and rising somewhere.
    assert 10 < expected.count(None) < 200
    assert sum(list(c.values()) != sorted(c.values(), reverse=True) for c in curves) > 100
    for rows in tables[::10]:
        locator = KneeLocator(
            [row["k"] for row in rows],
            [row["ssw"] for row in rows],
            curve="convex",
            direction="decreasing",
        )
        differences = [row["kneedle"] for row in rows]
        assert differences == pytest.approx(locator.y_difference.tolist(), abs=1e-12)


# The definitions -----------------------------------------------------------------------------


def defined(curve: Curve, n: int, dims: int) -> dict[int, dict[str, float | None]]:
    """The indices of each k from their definitions, by looking k - 1 and k + 1 up."""

    def difference(k: int) -> float | None:
        if k - 1 not in curve or k not in curve:
            return None
        return (k - 1) ** (2 / dims) * curve[k - 1] - k ** (2 / dims) * curve[k]

    def transformed(k: int) -> float | None:
        if k == 0:
            return 0.0
        return (curve[k] / (n * dims)) ** (-dims / 2) if curve.get(k) else None

    found: dict[int, dict[str, float | None]] = {}
    for k, ssw in curve.items():
        above, below = difference(k), difference(k + 1)
        before, here = transformed(k - 1), transformed(k)
        after = curve.get(k + 1)
        found[k] = {
            "krzanowski_lai_index": abs(above / below) if None not in (above, below) else None,
            "hartigan_index": (ssw / after - 1) * (n - k - 1) if after else None,
            "jump": here - before if None not in (here, before) else None,
        }
    return found


def bends(curve: Curve) -> list[float | None]:
    """Second derivatives of the parabolas through each three neighbors."""
    k, ssw = list(curve), list(curve.values())
    inner = [
        2 * np.polyfit(k[i - 1 : i + 2], ssw[i - 1 : i + 2], 2)[0] for i in range(1, len(k) - 1)
    ]
    return [None, *map(float, inner), None]


def chords(curve: Curve) -> list[float]:
    """Distances below the line through both ends, by a rotation of the scaled curve."""
    k, ssw = np.array(list(curve), float), np.array(list(curve.values()))
    z = (k - k.min()) / np.ptp(k) + 1j * (ssw - ssw.min()) / np.ptp(ssw)
    turned = (z - z[0]) * np.conj(z[-1] - z[0]) / abs(z[-1] - z[0])
    return (-turned.imag).tolist()


@pytest.mark.parametrize(
    "dims", [1, 3, *(pytest.param(dims, marks=pytest.mark.wide) for dims in (2, 7))]
)
def test_indices_are_as_defined(engine: Engine, dims: int) -> None:
    curves = random_curves()[:60]
    frame = curves_frame(curves).with_columns(
        pl.lit(5.0).alias(f"constant_{i}") for i in range(1, dims)
    )
    vector = ["x", *(f"constant_{i}" for i in range(1, dims))]
    rows = by_value(
        engine.call("elbow", frame, vector, "cluster", "k", partition_by="curve"), "curve"
    )
    for number, table in rows.items():
        curve = {row["k"]: row["ssw"] for row in table}
        assert curve == pytest.approx(curves[number], rel=1e-12)
        expected = defined(curve, 2, dims)
        actual = [{name: row[name] for name in expected[row["k"]]} for row in table]
        assert_points(actual, list(expected.values()), tolerance=1e-7, floor=1e-9)
        assert [row["second_difference"] for row in table] == [
            None if x is None else pytest.approx(x, rel=1e-7, abs=1e-7) for x in bends(curve)
        ]
        assert [row["chord_distance"] for row in table] == pytest.approx(chords(curve), abs=1e-12)


def bic_by_definition(x: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> float:
    """The log densities of the points in the Gaussian of their cluster, minus the penalty."""
    n, dims = x.shape
    clusters, sizes = np.unique(labels, return_counts=True)
    centers = np.array([x[labels == cluster].mean(axis=0) for cluster in clusters])
    own = np.searchsorted(clusters, labels)
    variance = ((x - centers[own]) ** 2).sum() / (dims * (n - clusters.size))
    densities = [
        math.log(sizes[j] / n) + multivariate_normal(centers[j], variance).logpdf(point)
        for point, j in zip(x, own, strict=True)
    ]
    # Shares of the clusters, which add up to 1, coordinates of the centers, and the variance.
    n_parameters = (clusters.size - 1) + clusters.size * dims + 1
    return math.fsum(densities) - n_parameters / 2 * math.log(n)


def test_bic_by_the_density_of_each_point(engine: Engine) -> None:
    for weights in (None, [1.0, 2.0, 3.0, 0.5]):
        frame = iris_sweep().filter(pl.col("k").is_in([1, 2, 3, 7]))
        rows = engine.call("elbow", frame, FLOWER, "cluster", "k", weights=weights)
        for row, (_, part) in zip(rows, frame.group_by("k", maintain_order=True), strict=True):
            x = part.select(FLOWER).to_numpy() * np.sqrt(weights or [1.0] * 4)
            wanted = bic_by_definition(x, part["cluster"].to_numpy())
            assert row["bic"] == pytest.approx(wanted, rel=1e-11)


def two_pairs(*sweeps: tuple[int, ...]) -> pl.DataFrame:
    """The points 0, 2, 9 and 11, in a clustering for each k."""
    rows = [
        (k, x, cluster)
        for k, clusters in enumerate(sweeps, start=1)
        for x, cluster in zip((0.0, 2.0, 9.0, 11.0), clusters, strict=True)
    ]
    return pl.DataFrame(rows, schema=["k", "x", "cluster"], orient="row")


def test_bic_of_two_pairs(engine: Engine) -> None:
    """By hand, in one dimension: the formula that Pelleg and Moore (2000) print."""
    frame = two_pairs((0, 0, 0, 0), (0, 0, 1, 1), (0, 0, 1, 2), (0, 1, 2, 3))
    found = [row["bic"] for row in engine.call("elbow", frame, ["x"], "cluster", "k")]
    ln = math.log
    assert found[:3] == pytest.approx([
        -2 * ln(2 * math.pi * 85 / 3) - 3 / 2 - ln(4),
        -4 * ln(2) - 2 * ln(2 * math.pi * 4 / 2) - 2 / 2 - 2 * ln(4),
        2 * ln(2) - 4 * ln(4) - 2 * ln(2 * math.pi * 2) - 1 / 2 - 3 * ln(4),
    ], rel=1e-13)  # fmt: skip
    # Each point is its center: no variance.
    assert found[3] is None


def test_bic_that_is_undefined(engine: Engine) -> None:
    frame = two_pairs((0, 0, 0, 0), (0, 0, 1, 1))
    equal = frame.with_columns(x=pl.lit(3.0))
    for points, options in (
        (equal, {}), (frame, {"distance": "cityblock"}), (frame, {"center": "median"}),
        (frame.group_by("k", maintain_order=True).head(1), {}),
    ):  # fmt: skip
        rows = engine.call("elbow", points, ["x"], "cluster", "k", **options)
        assert [row["bic"] for row in rows] == [None, None]
    rows = engine.call("elbow", frame, ["x"], "cluster", "k", distance="sqeuclidean")
    assert None not in [row["bic"] for row in rows]


def test_neighbors_that_are_missing(engine: Engine) -> None:
    """k = 2 has no k - 1, 3 has both, 4 has no k + 1, 7 has neither."""
    rows = elbows(engine, [{2: 9.0, 3: 4.0, 4: 3.0, 7: 1.0}])[0]
    names = ("krzanowski_lai_index", "hartigan_index", "jump", "second_difference")
    assert {row["k"]: [row[name] is not None for name in names] for row in rows} == {
        2: [False, True, False, False],
        3: [True, True, True, True],
        4: [False, False, True, True],
        7: [False, False, False, False],
    }
    # Slopes -1 and -2/3 over steps 1 and 3: 2 (1 - 2/3) / 4.
    assert rows[2]["second_difference"] == pytest.approx(1 / 6, rel=1e-12)


# Degenerate curves ---------------------------------------------------------------------------

SHAPE = ("second_difference", "chord_distance", "kneedle", "is_knee")
DEGENERATE: dict[str, tuple[Curve, dict[str, list[Any]]]] = {
    "one value": ({3: 5.0}, {name: [None] for name in SHAPE}),
    "two values": ({1: 5.0, 2: 1.0}, {name: [None, None] for name in SHAPE}),
    "three values": (
        {1: 8.0, 2: 2.0, 3: 0.0},
        {
            "second_difference": [None, 4.0, None],
            "kneedle": [0.0, 0.25, 0.0],
            "is_knee": [None] * 3,
        },
    ),
    "flat": (
        {1: 2.0, 2: 2.0, 3: 2.0, 4: 2.0},
        {
            "second_difference": [None, 0.0, 0.0, None],
            "chord_distance": [None] * 4,
            "kneedle": [None] * 4,
            "is_knee": [None] * 4,
        },
    ),
    "zero": (
        {1: 0.0, 2: 0.0, 3: 0.0},
        {
            "hartigan_index": [None] * 3,
            "jump": [None] * 3,
            "krzanowski_lai_index": [None] * 3,
            "is_knee": [None] * 3,
        },
    ),
    "straight": (
        {1: 0.8, 2: 0.7, 3: 0.6, 4: 0.5, 5: 0.4, 6: 0.3},
        {
            "second_difference": [None, 0.0, 0.0, 0.0, 0.0, None],
            "chord_distance": [0.0] * 6,
            "kneedle": [0.0] * 6,
            "is_knee": [None] * 6,
        },
    ),
    "straight with gaps": (
        {2: 9.8, 3: 9.7, 6: 9.4, 13: 8.7},
        {
            "second_difference": [None, 0.0, 0.0, None],
            "chord_distance": [0.0] * 4,
            "is_knee": [None] * 4,
        },
    ),
    "rising": ({1: 1.0, 2: 2.0, 3: 4.0, 4: 4.5, 5: 9.0}, {"is_knee": [None] * 5}),
    "concave": ({1: 9.0, 2: 8.9, 3: 8.7, 4: 8.0, 5: 1.0}, {"is_knee": [None] * 5}),
    "falls to 0": (
        {1: 8.0, 2: 2.0, 3: 0.0, 4: 0.0},
        {"hartigan_index": [0.0, None, None, None], "jump": [0.5, 0.5, None, None]},
    ),
}


def assert_degenerate(rows: list[Row], case: str) -> None:
    curve, expected = DEGENERATE[case]
    assert [row["k"] for row in rows] == list(curve), case
    for name, values in expected.items():
        found = [row[name] for row in rows]
        assert [type(x) for x in found] == [type(x) for x in values], (name, case)
        # Zero is exact: it says that the curve is straight.
        wanted = [pytest.approx(x, abs=1e-12) if isinstance(x, float) and x else x for x in values]
        assert found == wanted, (name, case)


def test_degenerate(engine: Engine) -> None:
    tables = elbows(engine, [curve for curve, _ in DEGENERATE.values()])
    for case, rows in zip(DEGENERATE, tables, strict=True):
        assert_degenerate(rows, case)


@pytest.mark.parametrize("case", ["one value", "falls to 0"])
def test_degenerate_alone(engine: Engine, case: str) -> None:
    frame = curves_frame([DEGENERATE[case][0]])
    assert_degenerate(engine.call("elbow", frame, ["x"], "cluster", "k"), case)


def test_equal_values_of_the_difference_curve(engine: Engine) -> None:
    """The last of them is the maximum, as in kneed. Each pair of points adds exactly 2 to ssw."""
    curves = [[64, 30, 22, 14, 12, 10, 8, 6, 0], [64, 30, 22, 20, 16, 10, 8, 6, 0]]
    points = [
        (curve, k, pair, sign)
        for curve, ssw in enumerate(curves)
        for k, total in enumerate(ssw, start=1)
        for pair in range(max(total // 2, 1))
        for sign in ((1.0, -1.0) if total else (0.0,))
    ]
    frame = pl.DataFrame(points, schema=["curve", "k", "cluster", "x"], orient="row")
    rows = engine.call("elbow", frame, ["x"], "cluster", "k", partition_by="curve")
    for (curve, found), knee in zip(by_value(rows, "curve").items(), (4, 3), strict=True):
        assert [row["ssw"] for row in found] == curves[curve]
        differences = [row["kneedle"] for row in found]
        assert differences[1] == differences[knee - 1] == max(differences), curve
        assert knee_of(found) == knee == kneed_knee(found), curve


@pytest.mark.parametrize("silhouette", ["none", "exact"])
def test_no_rows(engine: Engine, silhouette: str) -> None:
    frame = curves_frame([{1: 2.0, 2: 1.0}]).clear()
    assert engine.call("elbow", frame, ["x"], "cluster", "k", silhouette=silhouette) == []


def test_no_row_with_a_cluster(engine: Engine) -> None:
    without = curves_frame([{1: 2.0}]).with_columns(cluster=pl.lit(None, pl.Int64))
    assert engine.call("elbow", without, ["x"], "cluster", "k") == []


def test_numbers_that_overflow(engine: Engine) -> None:
    """900 dimensions: the transformed distortions overflow, or vanish."""
    points = {"vector": [[x] * 900 for x in (0.0, 1e-3, 2e3, 5e3)] * 3, "cluster": [0, 0, 1, 1] * 3}
    frame = pl.DataFrame(points).with_columns(k=pl.Series([1, 2, 3]).repeat_by(4).explode())
    frame = frame.with_columns(
        vector=pl.when(pl.col("k") == 3)
        .then(pl.col("vector").list.eval(pl.element() / 1e9))
        .otherwise("vector")
    )
    rows = engine.call("elbow", frame, "vector", "cluster", "k")
    assert [row["jump"] for row in rows] == [None, None, None]
    chosen = {row["criterion"]: row["k"] for row in engine.call("choose_k", pl.DataFrame(rows))}
    assert chosen["jump"] is None


# What must not matter ------------------------------------------------------------------------


def test_order_dropped_rows_and_other_partitions(engine: Engine) -> None:
    frame = iris_sweep().filter(pl.col("k") < 7).with_columns(run=pl.lit(None, pl.String))
    expected = engine.call("elbow", frame, FLOWER, "cluster", "k", partition_by="run")
    assert knee_of(expected) is not None
    other = frame.filter(pl.col("k") != 4).with_columns(
        run=pl.lit("other"), sepal_length=pl.col("sepal_length") * 100
    )
    dropped = frame.head(9).with_columns(cluster=pl.lit(None, pl.Int64))
    nothing = frame.tail(9).with_columns(pl.lit(None, pl.Float64).alias(x) for x in FLOWER)
    mixed = pl.concat([other, dropped, frame, nothing]).sample(fraction=1, shuffle=True, seed=3)
    rows = engine.call("elbow", mixed, FLOWER, "cluster", "k", partition_by="run")
    assert_points([row for row in rows if row["run"] is None], expected, tolerance=1e-9)
    assert [row["run"] for row in rows] == ["other"] * 5 + [None] * 6


def curve_of_three() -> pl.DataFrame:
    return curves_frame([{1: 8.0, 2: 2.0, 4: 1.0}])


@cache
def elbow_of_three(side: Engine) -> list[Row]:
    return side.call("elbow", curve_of_three(), ["x"], "cluster", "k")


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.Int32, pl.Float32, pl.Float64, pl.Decimal(9, 2)])
def test_types_of_k(side: Engine, dtype: Any) -> None:
    frame = curve_of_three().with_columns(pl.col("k").cast(dtype))
    rows = side.call("elbow", frame, ["x"], "cluster", "k")
    assert rows == elbow_of_three(side)
    assert {type(row["k"]) for row in rows} == {int}


def test_partition_of_several_columns(engine: Engine) -> None:
    frame = curves_frame([{1: 8.0, 2: 2.0}, {1: 3.0, 2: 1.0}]).with_columns(seed=pl.lit("s"))
    rows = engine.call("elbow", frame, ["x"], "cluster", "k", partition_by=["seed", "curve"])
    assert [(row["seed"], row["curve"], row["k"]) for row in rows] == [
        *(("s", 0, 1), ("s", 0, 2), ("s", 1, 1), ("s", 1, 2))
    ]


def test_a_column_of_another_name() -> None:
    frame = curves_frame([{1: 8.0, 2: 2.0}])
    renamed = frame.rename({"k": "n"})
    assert ce.elbow(renamed, ["x"], "cluster", "n").equals(ce.elbow(frame, ["x"], "cluster", "k"))
    computed = ce.elbow(frame, ["x"], "cluster", pl.col("k") + 1)
    assert computed["k"].to_list() == [2, 3]


# Errors --------------------------------------------------------------------------------------

K_VALUES = [
    ([1, None], pl.Int64, "NULL"),
    ([1, 0], pl.Int64, "0"),
    ([1, -2], pl.Int64, "-2"),
    ([1.0, 2.5], pl.Float64, "2.5"),
    ([1.0, math.nan], pl.Float64, "nan"),
    ([1.0, math.inf], pl.Float64, "inf"),
    ([Decimal("1.5"), Decimal(1)], pl.Decimal(4, 1), "1.5"),
]


def words_of_bad_k(got: str) -> str:
    return f"k: expected whole numbers >= 1, got {got}; k is the number of clusters"


def test_bad_values_of_k_in_macros(con: duckdb.DuckDBPyConnection) -> None:
    for values, dtype, got in K_VALUES:
        con.register("swept", pl.DataFrame({"k": pl.Series(values, dtype=dtype)}))
        with pytest.raises(duckdb.Error, match=re.escape(words_of_bad_k(got))):
            con.execute("SELECT clustereval._check_k(k) FROM swept").fetchall()


def test_bad_values_of_k_in_frames() -> None:
    for values, dtype, got in K_VALUES:
        k = pl.Series(values, dtype=dtype)
        frame = pl.DataFrame({"x": [0.0, 1.0], "cluster": [0, 0], "k": k})
        with pytest.raises(ce.ClusterEvalError, match=re.escape(words_of_bad_k(got))):
            ce.elbow(frame, ["x"], "cluster", "k")


@pytest.mark.parametrize("missing", [False, True])
def test_bad_values_of_k(side: Engine, missing: bool) -> None:
    """Also in rows that are left out for their cluster."""
    values, _, got = K_VALUES[0] if missing else K_VALUES[3]
    frame = pl.DataFrame({"x": [0.0, 1.0], "cluster": [0, 0], "k": values}).with_columns(
        cluster=pl.when(missing).then(None).otherwise("cluster")
    )
    with fails(side, words_of_bad_k(got)):
        side.call("elbow", frame, ["x"], "cluster", "k")


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize(("value", "name"), [("2", "VARCHAR"), (True, "BOOLEAN")])
def test_k_of_another_type(side: Engine, value: Any, name: str, rows: int) -> None:
    frame = pl.DataFrame({"x": [0.0, 1.0], "cluster": [0, 0], "k": [value] * 2}).head(rows)
    with fails(side, f"k: expected whole numbers >= 1, got a column of type {name}; k is the"):
        side.call("elbow", frame, ["x"], "cluster", "k")


@pytest.mark.parametrize("rows", [0, 2])
def test_unknown_silhouette(side: Engine, rows: int) -> None:
    frame = curves_frame([{1: 2.0}]).head(rows)
    words = "silhouette: expected one of 'none', 'simplified', 'exact', got "
    for value, shown in (("bounds", "'bounds'"), (None, "NULL")):
        with fails(side, words + shown):
            side.call("elbow", frame, ["x"], "cluster", "k", silhouette=value)


def test_other_options_are_checked(side: Engine) -> None:
    frame = curves_frame([{1: 2.0}])
    with fails(side, "distance: expected one of"):
        side.call("elbow", frame, ["x"], "cluster", "k", distance="nearest")
    with fails(side, "center: expected one of"):
        side.call("elbow", frame, ["x"], "cluster", "k", center="mode")
    with fails(side, "noise_as 'drop' needs noise"):
        side.call("elbow", frame, ["x"], "cluster", "k", noise_as="drop")


def test_bad_points(side: Engine) -> None:
    frame = curves_frame([{1: 2.0, 2: 1.0}]).with_columns(x=pl.lit(math.nan))
    for silhouette in ("none", "exact"):
        with fails(side, "vector: expected finite numbers, got nan in column x (4 rows"):
            side.call("elbow", frame, ["x"], "cluster", "k", silhouette=silhouette)


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("parameter", ["k", "partition_by"])
def test_quoted_columns(con: duckdb.DuckDBPyConnection, parameter: str, rows: int) -> None:
    con.register("swept", curves_frame([{1: 2.0}]).head(rows))
    given = {"k": "k", "partition_by": "curve"} | {parameter: "'k'"}
    call_text = f"swept, [x], cluster, {given['k']}, partition_by := {given['partition_by']}"
    words = f"{parameter}: expected a column, got the quoted string 'k'; write it without quotes"
    with pytest.raises(duckdb.Error, match=re.escape(words)):
        con.execute(f"FROM clustereval.elbow({call_text})")


def test_partition_columns_of_result_names() -> None:
    frame = curves_frame([{1: 2.0}])
    for name in ("k", "jump"):
        words = f"partition_by: '{name}' is also a column of the result; rename it first"
        with pytest.raises(ce.ClusterEvalError, match=re.escape(words)):
            ce.elbow(frame.with_columns(jump=pl.lit(1)), ["x"], "cluster", "k", partition_by=name)
