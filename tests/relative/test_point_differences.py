"""compare_clusterings: paired intervals of the differences between scores of points.

The oracle deletes each row, or draws rows with replacement, and computes both scores again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import calinski_harabasz_score

import polars_clustereval as ce
from tests.relative.test_comparison import make_long, of_points
from tests.support import engines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.engines import Engine, Row

    Score = Callable[[np.ndarray, np.ndarray], float]

SCORES = ("simplified_silhouette", "calinski_harabasz_score")
RUNS = "fine, noisy, coarse"


def simplified_silhouette(x: np.ndarray, cluster: np.ndarray, power: int = 1) -> float:
    """From the definition: distances to the centers, 0 for a cluster with a single point."""
    names = np.unique(cluster)
    centers = np.array([x[cluster == name].mean(axis=0) for name in names])
    distances = np.array([[sum((p - c) ** 2) ** (power / 2) for c in centers] for p in x])
    silhouettes = []
    for row, name in zip(distances, cluster, strict=True):
        a, b = row[names == name].item(), row[names != name].min()
        is_alone = (cluster == name).sum() == 1
        silhouettes.append(0.0 if is_alone else (b - a) / max(a, b))
    return float(np.mean(silhouettes))


def squared_silhouette(x: np.ndarray, cluster: np.ndarray) -> float:
    return simplified_silhouette(x, cluster, power=2)


def make_points(n: int, seed: int, dims: int = 2) -> pl.DataFrame:
    """Overlapping blobs; `noisy` sees the points with an error, and `coarse` joins clusters."""
    draw = np.random.default_rng(seed)
    middles = draw.normal(size=(5, dims)) * 2.5
    blob = draw.integers(0, 5, n)
    points = middles[blob] + draw.normal(size=(n, dims)) * (0.6 + blob[:, None] / 4)
    seen = points + draw.normal(size=(n, dims)) * 0.5
    fine, noisy = (((x[:, None] - middles) ** 2).sum(axis=2).argmin(axis=1) for x in (points, seen))
    names = ["x", "y", *(f"x{i}" for i in range(2, dims))]
    runs = {"fine": fine, "noisy": noisy, "coarse": fine // 2, "part": draw.integers(0, 2, n)}
    return pl.DataFrame(dict(zip(names, points.T, strict=True)) | runs)


def margin_of_changes(changes: np.ndarray) -> float:
    """Half the width of an interval, from the influences of the rows on a difference."""
    n, squares, fourths = len(changes), (changes**2).sum(), (changes**4).sum()
    freedom = min(2 * squares**2 / (fourths - squares**2 / n), n - 1)
    return float(stats.t.ppf(0.975, freedom) * np.sqrt(squares) / n)


def differences_without(
    frame: pl.DataFrame, names: tuple[str, str], score: Score, rows: list[np.ndarray]
) -> np.ndarray:
    """The difference of a score between two clusterings, for each set of rows."""
    x = frame.select("x", "y").to_numpy()
    one, two = (frame[name].to_numpy() for name in names)
    return np.array([score(x[i], one[i]) - score(x[i], two[i]) for i in rows])


def assert_close(rows: list[Row], wanted: list[Row]) -> None:
    """The same rows up to rounding errors."""
    assert len(rows) == len(wanted)
    for row, other in zip(rows, wanted, strict=True):
        assert list(row) == list(other)
        for name, value in other.items():
            close = pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
            assert row[name] == close, name


def margin(row: Row, score: str) -> float:
    assert row[f"{score}_upper"] + row[f"{score}_lower"] == pytest.approx(
        2 * row[f"{score}_difference"], rel=1e-9, abs=1e-12
    )
    return (row[f"{score}_upper"] - row[f"{score}_lower"]) / 2


@pytest.mark.gate
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("distance", ["euclidean", "sqeuclidean"])
def test_intervals_are_those_of_the_jackknife(engine: Engine, distance: str, seed: int) -> None:
    frame = make_points(240, seed)
    best, *others = of_points(engine, frame, RUNS, distance=distance)
    silhouette = simplified_silhouette if distance == "euclidean" else squared_silhouette
    scores: tuple[Score, Score] = silhouette, calinski_harabasz_score
    rows = [np.delete(np.arange(240), i) for i in range(240)]
    for row in others:
        pair = row["clustering"], best["clustering"]
        for name, score in zip(SCORES, scores, strict=True):
            left = differences_without(frame, pair, score, rows)
            (whole,) = differences_without(frame, pair, score, [np.arange(240)])
            assert row[f"{name}_difference"] == pytest.approx(whole, rel=1e-9)
            wanted = margin_of_changes(239 * (left.mean() - left))
            assert margin(row, name) == pytest.approx(wanted, rel=0.04)
    for name in SCORES:
        assert best[f"{name}_difference"] == 0
        assert best[f"{name}_lower"] is None


@pytest.mark.gate
def test_intervals_are_those_of_a_paired_bootstrap(side: Engine) -> None:
    frame = make_points(300, 3)
    best, *others = of_points(side, frame, RUNS)
    draw = np.random.default_rng(0)
    rows = list(draw.integers(0, 300, (300, 300)))
    for row in others:
        pair = row["clustering"], best["clustering"]
        for name, score in zip(
            SCORES, (simplified_silhouette, calinski_harabasz_score), strict=True
        ):
            found = differences_without(frame, pair, score, rows)
            assert margin(row, name) == pytest.approx(1.96 * found.std(), rel=0.15)


@pytest.mark.gate
def test_a_difference_of_each_score(engine: Engine) -> None:
    """To the best one, also where there is no interval."""
    best, *others = of_points(engine, make_points(80, 4), RUNS)
    for row in others:
        for name in (*SCORES, "davies_bouldin_score"):
            wanted = row[f"{name}_common"] - best[f"{name}_common"]
            assert row[f"{name}_difference"] == pytest.approx(wanted, rel=1e-12)
        assert "davies_bouldin_score_lower" not in row


@pytest.mark.gate
@pytest.mark.parametrize("distance", ["cosine", "cityblock", "chebyshev", "minkowski"])
def test_other_distances_have_no_interval(engine: Engine, distance: str) -> None:
    for row in of_points(engine, make_points(60, 4), RUNS, distance=distance):
        for name in SCORES:
            assert row[f"{name}_difference"] is not None
            assert (row[f"{name}_lower"], row[f"{name}_upper"]) == (None, None)
        assert row["remark"] is None


@pytest.mark.gate
def test_the_letter_case_of_the_distance(side: Engine) -> None:
    points = make_points(60, 4)
    wanted = of_points(side, points, RUNS, distance="sqeuclidean")
    assert_close(of_points(side, points, RUNS, distance="SqEuclidean"), wanted)
    assert wanted[1]["simplified_silhouette_lower"] is not None


@pytest.mark.gate
def test_what_must_not_matter(engine: Engine) -> None:
    """The order of the rows, names of clusters, a shift, and a scale."""
    points = make_points(150, 5)
    wanted = of_points(engine, points, RUNS)
    mixed = points.sample(fraction=1.0, shuffle=True, seed=3).with_columns(
        (7 - pl.col("noisy") * 3).alias("noisy")
    )
    assert_close(of_points(engine, mixed, RUNS), wanted)
    # These coordinates lose no digit by the shift.
    rounded = points.with_columns((pl.col("x", "y") * 64).round() / 64)
    wanted = of_points(engine, rounded, RUNS)
    shifted = rounded.with_columns(pl.col("x") + 1e8, pl.col("y") - 1e8)
    assert_close(of_points(engine, shifted, RUNS), wanted)
    scaled = rounded.with_columns(pl.col("x", "y") * 2.0**40)
    assert_close(of_points(engine, scaled, RUNS), wanted)


@pytest.mark.gate
def test_confidence_changes_the_width(engine: Engine) -> None:
    points = make_points(3000, 6)
    wide, narrow = (of_points(engine, points, RUNS, confidence=c)[1] for c in (0.99, 0.5))
    ratio = stats.norm.ppf(0.995) / stats.norm.ppf(0.75)
    for name in SCORES:
        assert margin(wide, name) == pytest.approx(margin(narrow, name) * ratio, rel=0.05)


@pytest.mark.gate
def test_intervals_are_of_the_common_rows(engine: Engine) -> None:
    """As if the rows that one clustering leaves out did not exist."""
    points = make_points(200, 7).with_columns(
        noisy=pl.when(pl.int_range(200) % 7 == 2).then(-1).otherwise("noisy"),
        x=pl.when(pl.int_range(200) % 11 > 0).then("x"),
    )
    options: dict[str, Any] = {"noise": -1, "noise_as": "drop", "missing": "drop"}
    found = of_points(engine, points, RUNS, **options)
    common = points.filter(pl.col("noisy") >= 0, pl.col("x").is_not_null())
    wanted = of_points(engine, common, RUNS)
    suffixes = ("common", "difference", "lower", "upper")
    names = [f"{name}_{suffix}" for name in SCORES for suffix in suffixes]
    assert_close([{x: row[x] for x in names} for row in found],
                [{x: row[x] for x in names} for row in wanted])  # fmt: skip
    assert found[1]["simplified_silhouette_lower"] is not None


@pytest.mark.gate
def test_partitions_and_the_long_form(engine: Engine) -> None:
    """Each partition has a best clustering of its own, and a far away one moves no other."""
    points = make_points(300, 8).with_columns(
        x=pl.col("x") + pl.col("part") * 1e6, noisy=pl.when(part=1).then("noisy").otherwise("fine")
    )
    runs = RUNS.split(", ")
    if engine.name == "duckdb":
        query = (
            "FROM clustereval.compare_clusterings(assignments, [fine, noisy, coarse], "
            "vector := [x, y], partition_by := part)"
        )
        found = engine.ask(query, assignments=points)
        found = [{"part": row.pop("partition_key")} | row for row in found]
    else:
        options: dict[str, Any] = {"vector": ["x", "y"], "partition_by": "part"}
        found = engine.call("compare_clusterings", points, runs, **options)
    wanted = [
        {"part": part} | row
        for part in (0, 1)
        for row in of_points(engine, points.filter(part=part), RUNS)
    ]
    assert wanted[1]["simplified_silhouette_lower"] is not None
    assert_close(found, wanted)
    long = {"id": "id", "run": "run"}
    labeled = points.with_columns(label=pl.lit(1))
    folded = make_long(labeled, runs, ["label", "x", "y"])
    given = folded, ["cluster"], "label", ["x", "y"]
    found = engine.call("compare_clusterings", *given, **long)
    wanted = engine.call("compare_clusterings", labeled, sorted(runs), "label", ["x", "y"])
    assert_close(found, wanted)


# Degenerate rows ----------------------------------------------------------------------------------


def test_equal_clusterings_have_an_interval_of_width_zero(engine: Engine) -> None:
    points = make_points(60, 9).with_columns(same=10 - pl.col("fine"))
    _, row = of_points(engine, points, "fine, same")
    for name in SCORES:
        assert [row[f"{name}_{x}"] for x in ("difference", "lower", "upper")] == [0, 0, 0]
    assert row["remark"] == "not told apart from the best: the interval of the difference holds 0"


@pytest.mark.gate
def test_clusterings_without_an_interval(engine: Engine) -> None:
    points = make_points(30, 9)
    one = pl.lit(0, pl.Int64)
    for other in (one, pl.int_range(30)):
        rows = of_points(engine, points.with_columns(other=other), "fine, other, coarse")
        (row,) = (row for row in rows if row["clustering"] == "other")
        assert {row[f"{name}_lower"] for name in SCORES} == {None}
        assert row["simplified_silhouette_difference"] is None
        (row,) = (row for row in rows[1:] if row["clustering"] != "other")
        assert row["simplified_silhouette_lower"] is not None
    lonely = of_points(engine, points, "fine")
    assert [lonely[0][f"{name}_lower"] for name in SCORES] == [None, None]
    assert lonely[0]["simplified_silhouette_difference"] == 0


@pytest.mark.gate
def test_singletons_have_no_interval(engine: Engine) -> None:
    """Unless there is no noise."""
    points = make_points(90, 10)
    marked = points.with_columns(coarse=pl.when(pl.int_range(90) == 4).then(-1).otherwise("coarse"))
    options: dict[str, Any] = {"noise": -1, "noise_as": "singletons"}
    rows = of_points(engine, marked, RUNS, **options)
    found = {row["clustering"]: row["simplified_silhouette_lower"] for row in rows[1:]}
    assert found.pop("coarse", None) is None
    assert None not in found.values()
    assert_close(of_points(engine, points, RUNS, **options), of_points(engine, points, RUNS))


@pytest.mark.gate
def test_points_on_their_centers(engine: Engine) -> None:
    """Distances of 0 have no direction; without any, a score of 1 has no interval."""
    corners = pl.DataFrame({"x": [0, 0, 9, 9, 0, 0] * 5, "y": [0, 0, 0, 0, 9, 9] * 5})
    points = corners.cast(pl.Float64).with_columns(
        three=pl.col("x") // 9 + pl.col("y") // 9 * 2, two=pl.col("x") // 9
    )
    best, row = of_points(engine, points, "two, three")
    assert (best["clustering"], best["simplified_silhouette"]) == ("three", 1)
    assert row["simplified_silhouette_lower"] < row["simplified_silhouette_upper"] < 0
    assert row["calinski_harabasz_score_lower"] is None
    constant = points.with_columns(x=pl.lit(3.0), y=pl.lit(4.0))
    for row in of_points(engine, constant, "two, three"):
        assert row["simplified_silhouette"] == 0
        assert row["calinski_harabasz_score_lower"] is None
        assert row["simplified_silhouette_lower"] in (0, None)


@pytest.mark.gate
def test_every_point_several_times(engine: Engine) -> None:
    """Copies of all rows shrink the standard error by the root of their number."""
    points = make_points(600, 11)
    once = of_points(engine, points, RUNS)
    again = of_points(engine, pl.concat([points] * 4), RUNS)
    for row, other in zip(once[1:], again[1:], strict=True):
        name = "simplified_silhouette"
        assert other[f"{name}_difference"] == pytest.approx(row[f"{name}_difference"], rel=1e-9)
        assert margin(other, name) == pytest.approx(margin(row, name) / 2, rel=0.05)


@pytest.mark.gate
def test_a_coordinate_without_spread(engine: Engine) -> None:
    points = make_points(100, 12).with_columns(y=pl.lit(5.0))
    with_none = points.with_columns(y=pl.lit(0.0))
    assert_close(of_points(engine, points, RUNS), of_points(engine, with_none, RUNS))


# Remarks ------------------------------------------------------------------------------------------


@pytest.mark.gate
def test_remarks_without_labels(engine: Engine) -> None:
    """By the interval of the silhouette."""
    points = make_points(200, 13).with_columns(
        twin=pl.when(pl.int_range(200) == 7).then((pl.col("fine") + 1) % 5).otherwise("fine")
    )
    rows = of_points(engine, points, "fine, twin, coarse, noisy")
    for row in rows[1:]:
        upper = row["simplified_silhouette_upper"]
        assert (row["remark"] is not None) == (upper >= 0)
    assert {row["remark"] is None for row in rows[1:]} == {True, False}


@pytest.mark.gate
def test_labels_decide_the_remark(side: Engine) -> None:
    points = make_points(200, 13).with_columns(label=pl.col("fine") // 2)
    rows = side.call("compare_clusterings", points, RUNS.split(", "), "label", ["x", "y"])
    assert rows[0]["clustering"] == "coarse"
    for row in rows[1:]:
        assert (row["remark"] is not None) == (row["adjusted_rand_score_upper"] >= 0)
        assert row["simplified_silhouette_lower"] is not None


# Both sides ---------------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize("dims", [3, 40])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_both_sides_on_many_rows(dims: int, offset: float) -> None:
    """Vectors of columns, and lists long enough to be stored as arrays; with noise."""
    points = make_points(20_000, 14, dims)
    names = [name for name in points.columns if name.startswith(("x", "y"))]
    vector = pl.concat_list(pl.col(names) + offset).list.to_array(dims)
    frame = points.select(
        *RUNS.split(", "), "part", vector=vector if dims > 32 else vector.arr.to_list()
    ).with_columns(noisy=pl.when(pl.int_range(20_000) % 90 == 0).then(-1).otherwise("noisy"))
    options: dict[str, Any] = {"noise": -1, "noise_as": "drop", "partition_by": "part"}
    runs = RUNS.split(", ")
    lazy = ce.compare_clusterings(frame.lazy(), runs, vector="vector", **options)
    duckdb = engines.make("duckdb").ask(
        "FROM clustereval.compare_clusterings(assignments, [fine, noisy, coarse], "
        "vector := vector, noise := -1, noise_as := 'drop', partition_by := part)",
        assignments=frame,
    )
    wanted = [{"part": row.pop("partition_key")} | row for row in duckdb]
    assert_close(lazy.collect(engine="streaming").rows(named=True), wanted)
    assert wanted[1]["calinski_harabasz_score_lower"] is not None


@pytest.mark.gate
def test_both_sides_on_clusters_of_one_point() -> None:
    """The silhouette of such a point is 0, wherever the centers are."""
    points = make_points(60, 16).with_columns(
        fine=pl.when(pl.int_range(60) > 0).then("fine").otherwise(9),
        noisy=pl.when(pl.int_range(60) > 1).then("noisy").otherwise(pl.int_range(60) + 8),
    )
    sides = [of_points(engines.make(name), points, RUNS) for name in ("duckdb", "polars")]
    assert_close(*sides)
    assert sides[0][1]["simplified_silhouette_lower"] is not None


def test_a_lazy_frame_is_read_when_it_is_collected() -> None:
    readings = 0

    def read(frame: pl.DataFrame) -> pl.DataFrame:
        nonlocal readings
        readings += 1
        return frame

    points = make_points(60, 15)
    lazy = points.lazy().map_batches(read, schema=points.schema)
    runs = RUNS.split(", ")
    found = ce.compare_clusterings(lazy, runs, vector=["x", "y"])
    assert isinstance(found, pl.LazyFrame)
    assert readings == 0
    assert_close(
        found.collect().rows(named=True),
        ce.compare_clusterings(points, runs, vector=["x", "y"]).rows(named=True),
    )
    first, readings = readings, 0
    ce.compare_clusterings(lazy, [*runs, "part"], vector=["x", "y"]).collect()
    assert readings == first
