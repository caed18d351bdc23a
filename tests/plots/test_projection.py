"""The map of points: principal components of them, a sample of many, and what is gray."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.decomposition import PCA

import polars_clustereval as ce
from polars_clustereval import plots
from tests.support.plot_calls import draw_chart, frame_of_chart, rows_of_chart, title_of


def draw_map(points: pl.DataFrame | pl.LazyFrame, **options: Any) -> Any:
    return plots.projection_plot(points, ["x", "y", "z"], "cluster", **options)


@pytest.mark.gate
def test_map_of_digits_is_that_of_principal_components() -> None:
    digits = pl.read_parquet("examples/digits.parquet")
    chart = plots.projection_plot(digits, "pixels", "kmeans")
    x = np.array(digits["pixels"].to_list())
    wanted = PCA(2).fit(x)
    found = frame_of_chart(chart, "x", "y", layer=0).to_numpy()
    assert np.abs(found) == pytest.approx(np.abs(wanted.transform(x)), abs=1e-8)
    centers = np.array(ce.centroids(digits, "pixels", "kmeans")["centroid"].to_list())
    placed = frame_of_chart(chart, "x", "y", layer=1).to_numpy()
    assert np.abs(placed) == pytest.approx(np.abs(wanted.transform(centers)), abs=1e-8)
    share = wanted.explained_variance_ratio_.sum()
    assert title_of(chart) == [
        "Map of 1,797 points in 10 clusters",
        f"first two principal components, {100 * share:.0f} % of the variance",
    ]
    both = np.concatenate([found, placed])
    assert (both[np.abs(both).argmax(axis=0), [0, 1]] > 0).all(), "the farthest one is positive"
    colors = dict(frame_of_chart(chart, "cluster", "color", layer=1).rows())
    assert {*frame_of_chart(chart, "cluster", "color", layer=0).rows()} == {*colors.items()}
    assert sorted(frame_of_chart(chart, "cluster", layer=0).to_series().value_counts().rows()) == (
        sorted((str(name), n) for name, n in digits["kmeans"].value_counts().rows())
    )


def test_map_of_directions_and_of_weighted_points() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3)) + 2
    points = pl.DataFrame(x, schema=["x", "y", "z"]).with_columns(
        cluster=pl.int_range(pl.len()) % 3
    )
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    for options, moved in (
        ({"distance": "cosine"}, unit),
        ({"distance": "sqeuclidean", "weights": [1.0, 4.0, 0.25]}, x * [1, 2, 0.5]),
    ):
        chart = draw_map(points, **options)
        found = frame_of_chart(chart, "x", "y", layer=0).to_numpy()
        assert np.abs(found) == pytest.approx(np.abs(PCA(2).fit_transform(moved)), abs=1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1e12), (1e150, 0.0), (1e-140, 0.0)])
def test_map_keeps_its_digits(scale: float, shift: float) -> None:
    near = pl.DataFrame({"x": [0.0, 1, 5], "y": [0.0, 3, 1], "z": 0.0, "cluster": [0, 1, 2]})
    far = near.with_columns(pl.col("x", "y", "z") * scale + shift)
    found = [
        frame_of_chart(draw_map(points), "x", "y", layer=layer).to_numpy()
        for points in (near, far)
        for layer in (0, 1)
    ]
    assert found[2] / scale == pytest.approx(found[0], abs=1e-3)
    assert found[3] / scale == pytest.approx(found[1], abs=1e-3)


def test_gray_points() -> None:
    """Noise, points without a cluster, and those of clusters that are not among the largest."""
    points = pl.DataFrame({"x": range(9), "cluster": [0, 0, 0, 1, 1, 2, -1, -1, None]})
    for noise_as in ("cluster", "drop", "singletons"):
        chart = draw_chart("projection_plot", points, noise=-1, noise_as=noise_as, max_clusters=2)
        drawn = frame_of_chart(chart, "cluster", "color", layer=0)
        assert drawn["cluster"].to_list() == ["0"] * 3 + ["1"] * 2 + ["other"] + ["no cluster"] * 3
        assert (drawn["color"] == "#999999").to_list() == [False] * 5 + [True] * 4
        assert [row["cluster"] for row in rows_of_chart(chart, 1)] == ["0", "1"]
        assert title_of(chart)[0] == "Map of 9 points in 3 clusters"
        assert title_of(chart)[2:] == [
            "in color the 2 largest clusters",
            "gray: 3 points of noise or without a cluster",
        ]


@pytest.mark.gate
def test_sample_of_a_map() -> None:
    n = 30_000
    points = pl.DataFrame({"number": pl.int_range(n, eager=True)}).with_columns(
        x=pl.col("number") * 1.0,
        y=(pl.col("number") * 0.7).sin(),
        z=0,
        cluster=pl.col("number") % 4,
    )
    charts = [
        draw_map(frame, max_points=500, random_state=seed)
        for frame, seed in ((points, 0), (points.lazy(), 0), (points, 1))
    ]
    assert charts[0].to_dict() == charts[1].to_dict() != charts[2].to_dict()
    rows = frame_of_chart(charts[0], "x", "cluster", layer=0)
    assert rows["x"].n_unique() == len(rows) == 500
    # Of a uniform sample, the mean is within 4 standard errors, and so are the sizes of clusters.
    assert abs(rows["x"].mean()) < 4 * n / np.sqrt(12 * 500) + 1e-6  # type: ignore[operator, arg-type]
    assert all(85 <= size <= 165 for size in rows["cluster"].value_counts()["count"])
    assert title_of(charts[0])[:1] + title_of(charts[0])[2:] == [
        "Map of 30,000 points in 4 clusters",
        "a random sample of 500 points",
    ]
    assert [row["n"] for row in rows_of_chart(charts[0], 1)] == [7500] * 4


def test_points_that_are_one_point() -> None:
    chart = draw_chart("projection_plot", pl.DataFrame({"x": [3, 3], "cluster": [0, 1]}))
    assert frame_of_chart(chart, "x", "y", layer=0).rows() == [(0.0, 0.0)] * 2
    assert "0 % of the variance" in title_of(chart)[1]


def test_rows_without_a_vector_are_not_on_the_map() -> None:
    points = pl.DataFrame({"x": [0.0, None, 2, 3], "y": [1.0, None, None, 5], "cluster": 0})
    chart = plots.projection_plot(points, ["x", "y"], "cluster", missing="drop")
    assert title_of(chart)[0] == "Map of 2 points in 1 cluster"
    with pytest.raises(ce.ClusterEvalError, match="got NULL in column y"):
        plots.projection_plot(points, ["x", "y"], "cluster")


def test_small_clusters_have_fifty_points_of_a_sample() -> None:
    """Of 10,000 points, a uniform sample of 500 would have 5 of 100 and 1 or 2 of 30."""
    sizes = {"large": 9_800, "small": 100, "tiny": 30, None: 70}
    cluster = pl.Series([name for name, size in sizes.items() for _ in range(size)])
    x = pl.int_range(10_000, eager=True) * 1.0
    points = pl.DataFrame({"x": x, "cluster": cluster})
    chart = draw_chart("projection_plot", points, max_points=500)
    drawn = frame_of_chart(chart, "cluster", layer=0).to_series()
    found = dict(drawn.value_counts().rows())
    assert found["small"] >= 50
    assert found["tiny"] == 30
    assert found["no cluster"] >= 50
    assert 450 <= len(drawn) <= 500
    title = f"a random sample of {len(drawn)} points, with larger shares of small clusters"
    assert title_of(chart)[2] == title
    # The sample has room for one point of a cluster, which is drawn from all points.
    few = draw_chart("projection_plot", points, max_points=1)
    assert len(rows_of_chart(few, 0)) == 1


@pytest.mark.gate
def test_small_clusters_do_not_turn_the_map() -> None:
    """The small cluster varies along y, but most points vary along x."""
    rng = np.random.default_rng(2)
    large = rng.normal(size=(20_000, 3)) * [3, 1, 0]
    small = rng.normal(size=(60, 3)) * [1, 20, 0] + [0, 30, 0]
    points = pl.DataFrame(np.concatenate([large, small]), schema=["x", "y", "z"])
    points = points.with_columns(cluster=pl.int_range(pl.len()) >= 20_000)
    wanted = PCA(2).fit(points.select("x", "y", "z").to_numpy())
    axes = draw_map(points, max_points=200).to_dict()["layer"][0]["encoding"]
    shares = [int(axes[name]["title"].split(", ")[1].split(" ")[0]) for name in ("x", "y")]
    assert shares == pytest.approx(100 * wanted.explained_variance_ratio_, abs=8)


def test_clusters_have_their_colors_in_every_picture() -> None:
    x = [float(value) for value in range(52)]
    points = pl.DataFrame({"x": x, "cluster": [i // 2 for i in range(52)]})
    of_map, of_silhouettes = (
        dict(frame_of_chart(draw_chart(name, points), "cluster", "color", layer=layer).rows())
        for name, layer in (("projection_plot", 1), ("silhouette_plot", 0))
    )
    assert of_map == of_silhouettes
    colors = [of_map[str(i)] for i in range(26)]
    assert colors[:2] == colors[24:]
    assert len({*colors}) == 24
