"""Specifications of charts: data that are those of the functions, folded to a bounded size.

The pictures that become of them are tested in test_pictures.py.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.decomposition import PCA

import polars_clustereval as ce
from polars_clustereval import plots
from polars_clustereval.plots import silhouette
from polars_clustereval.plots.charts import COLORS, GRAY, show_name
from tests.support import engines
from tests.support.plot_calls import (
    CALLS,
    CELLS,
    LINE,
    NAMED_CALLS,
    NAMES,
    ROW_CALLS,
    RUNS,
    SIX,
    SWEEP,
    draw_chart,
    frame_of_chart,
    own_chart,
    own_specification,
    rows_of_chart,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def test_all_functions_are_called_here() -> None:
    assert {*plots.__all__} == {*CALLS}


# ----------------------------------------------------------------------------------------------
# Data
# ----------------------------------------------------------------------------------------------


def test_silhouettes() -> None:
    """x = 0: a = (1 + 5) / 2 and b = (9 + 8) / 2, so 5.5 / 8.5; the others likewise."""
    chart = own_chart("silhouette_plot")
    wanted = [("a", 2 / 3), ("a", 11 / 17), ("a", -2 / 9), ("b", 6 / 7), ("b", 5 / 6)]
    rows = rows_of_chart(chart, 0)
    assert [row["cluster"] for row in rows] == [cluster for cluster, _ in wanted]
    for name in ("mean", "least", "greatest"):
        assert [row[name] for row in rows] == pytest.approx([value for _, value in wanted])
    assert [row["points"] for row in rows] == [1] * 5
    names = rows_of_chart(chart, 1)
    assert [(row["cluster"], row["points"]) for row in names] == [("a", 3), ("b", 2)]
    assert [row["mean"] for row in names] == pytest.approx([(2 / 3 + 11 / 17 - 2 / 9) / 3, 71 / 84])
    score = ce.silhouette_score(LINE, ["x"], "cluster")["silhouette"].item()
    assert rows_of_chart(chart, 2) == [{"mean": pytest.approx(score)}]
    assert title_of(chart)[1:] == ["euclidean distance, mean 0.556 (dashed line)"]


def test_options_of_silhouettes() -> None:
    points = LINE.with_columns(y=pl.Series([3, 0, 2, 1, 5]))
    options: dict[str, Any] = {"distance": "minkowski", "p": 3, "weights": [2.0, 0.5]}
    chart = plots.silhouette_plot(points, ["x", "y"], "cluster", **options)
    wanted = ce.silhouette_samples(points, ["x", "y"], "cluster", **options)
    wanted = wanted.sort("cluster", -pl.col("silhouette"))
    assert [row["mean"] for row in rows_of_chart(chart, 0)] == pytest.approx(
        [*wanted["silhouette"]]
    )


def test_bars_do_not_overlap() -> None:
    rows = rows_of_chart(own_chart("silhouette_plot"), 0)
    heights = [row["bottom"] - row["top"] for row in rows]
    assert heights[0] == pytest.approx(heights[1], abs=0.02)
    assert all(a["bottom"] <= b["top"] for a, b in pairwise(rows))
    assert rows[0]["color"] == rows[2]["color"] != rows[3]["color"]


def fields_of_panels(chart: Any) -> list[str]:
    """The columns of elbow that the panels of a chart draw."""
    panels = chart.to_dict()["concat"]
    return [panel["layer"][0]["encoding"]["y"]["field"] for panel in panels]


def choices_of_panels(chart: Any) -> dict[str, str | None]:
    """The filter of what is marked in each panel, by the column of elbow."""
    marked = {}
    for field, panel in zip(fields_of_panels(chart), chart.to_dict()["concat"], strict=True):
        _, _, *marks = (layer.get("transform", [{}])[0].get("filter") for layer in panel["layer"])
        assert len(set(marks)) <= 1
        marked[field] = marks[0] if marks else None
    return marked


def test_elbow() -> None:
    chart = own_chart("elbow_plot")
    rows = rows_of_chart(chart)
    assert [(row["k"], row["ssw"]) for row in rows] == [(1, 85.0), (2, 4.0), (3, 2.0)]
    assert [row["explained_variance"] for row in rows] == pytest.approx([0, 81 / 85, 83 / 85])
    criteria = ["calinski_harabasz_score", "davies_bouldin_score", "krzanowski_lai_index"]
    last = ["hartigan_index", "jump", "bic"]
    assert fields_of_panels(chart) == ["ssw", "explained_variance", *criteria, *last]
    cityblock = draw_chart("elbow_plot", distance="cityblock")
    assert "explained_variance" not in fields_of_panels(cityblock)
    with_silhouette = draw_chart("elbow_plot", silhouette="exact")
    assert fields_of_panels(with_silhouette)[2] == "silhouette"


@pytest.mark.gate
def test_the_choice_of_each_criterion_is_marked() -> None:
    chart = own_chart("elbow_plot")
    assert choices_of_panels(chart) == {
        "ssw": None,
        "explained_variance": None,
        "calinski_harabasz_score": "datum.k === 2",
        "davies_bouldin_score": "datum.k === 3",
        "krzanowski_lai_index": "datum.k === 2",
        "hartigan_index": "datum.k === 2",
        "jump": "datum.k === 2",
        "bic": "datum.k === 2",
    }
    choices = SWEEP.clustereval.elbow(["x"], "cluster", "k").clustereval.choose_k()
    for criterion, k in choices.select("criterion", "k").iter_rows():
        if criterion in fields_of_panels(chart):
            assert choices_of_panels(chart)[criterion] == f"datum.k === {k}"
    assert title_of(chart)[1:] == [
        "no knee by Kneedle",
        "recommended by the others: k = 2 (5 criteria), 3 (1)",
    ]


@pytest.mark.gate
def test_knee_is_marked() -> None:
    """A curve of five values: the second difference of 10, 3, 2, 1, 0 is at k = 2."""
    points = pl.DataFrame({"x": [0.0, 1, 10, 11, 100, 101, 110, 111]})
    sizes = {1: 8, 2: 4, 4: 2, 8: 1}
    number = pl.int_range(pl.len())
    sweep = pl.concat(points.with_columns(k=k, cluster=number // size) for k, size in sizes.items())
    chart = draw_chart("elbow_plot", sweep)
    knees = sweep.clustereval.elbow(["x"], "cluster", "k").filter("is_knee")["k"].to_list()
    assert knees == [2]
    marked = choices_of_panels(chart)
    assert [marked["ssw"], marked["explained_variance"]] == ["datum.k === 2"] * 2
    assert title_of(chart)[1] == "knee at k = 2 by Kneedle (diamond)"


def test_one_k_has_no_choice() -> None:
    """k = 1 has no value of a criterion but jump, which starts from 0."""
    chart = draw_chart("elbow_plot", SWEEP.filter(k=1), distance="cityblock")
    assert title_of(chart)[1] == "no knee by Kneedle"


def test_contingency() -> None:
    chart = own_chart("contingency_plot")
    cells = frame_of_chart(chart, "label", "cluster", "n", "row", "column")
    assert cells.rows() == [
        ("a", "1", 1, 0, 0),
        ("a", "2", 2, 0, 1),
        ("b", "1", 1, 1, 0),
        ("b", "0", 2, 1, 2),
    ]
    shares = frame_of_chart(chart, "label_share", "cluster_share").rows()
    assert shares == [
        (pytest.approx(1 / 3), 0.5),
        (pytest.approx(2 / 3), 1.0),
        (pytest.approx(1 / 3), 0.5),
        (pytest.approx(2 / 3), 1.0),
    ]
    assert title_of(chart) == ["6 rows by 2 labels and 3 clusters"]


@pytest.mark.parametrize(
    ("normalize", "shares"),
    [
        ("label", [1 / 3, 2 / 3, 1 / 3, 2 / 3]),
        ("cluster", [1 / 2, 1, 1 / 2, 1]),
        ("all", [1 / 6, 1 / 3, 1 / 6, 1 / 3]),
    ],
)
def test_shares_of_cells(normalize: Any, shares: list[float]) -> None:
    """The cells of test_contingency: 1 and 2 rows of a, 1 and 2 rows of b."""
    chart = draw_chart("contingency_plot", normalize=normalize)
    colors, texts = chart.to_dict()["layer"]
    field = colors["encoding"]["color"]["field"]
    assert texts["encoding"]["text"]["field"] == field
    assert frame_of_chart(chart, field).to_series().to_list() == pytest.approx(shares)
    assert colors["encoding"]["color"]["scale"]["domain"] == [0, 1]
    wide = pl.DataFrame({"label": range(13), "cluster": range(13)})
    without_texts = plots.contingency_plot(wide, "label", "cluster", normalize=normalize)
    assert len(without_texts.to_dict()["layer"]) == 1


def test_noise_is_one_column() -> None:
    chart = draw_chart("contingency_plot", noise=0, noise_as="singletons")
    cells = frame_of_chart(chart, "label", "cluster", "n")
    assert ("b", "noise", 2) in cells.rows()
    chart = draw_chart(
        "silhouette_plot", LINE.with_columns(noise=1), noise="b", noise_as="singletons"
    )
    assert [(row["cluster"], row["points"]) for row in rows_of_chart(chart, 1)] == [
        ("a", 3),
        ("(none)", 2),
    ]
    chart = draw_chart("centroid_plot", noise="b", noise_as="singletons")
    found = frame_of_chart(chart, "cluster", "n", "is_named", layer=1).rows()
    assert sorted(found) == [("(none)", 1, False), ("(none)", 1, False), ("a", 3, True)]


def test_centroids() -> None:
    """Centroids 1, 9 and 20 are at -9, -1 and 10 from their mean."""
    points = pl.DataFrame({"x": [0, 2, 9, 9, 20], "cluster": ["a", "a", "b", "b", "c"]})
    chart = draw_chart("centroid_plot", points)
    rows = rows_of_chart(chart, 1)
    assert [row["cluster"] for row in rows] == ["a", "b", "c"]
    assert [row["n"] for row in rows] == [2, 2, 1]
    assert [row["x"] for row in rows] == pytest.approx([-9, -1, 10])
    assert [row["y"] for row in rows] == pytest.approx([0, 0, 0])
    assert [row["nearest"] for row in rows] == ["b", "a", "b"]
    assert [row["nearest_distance"] for row in rows] == [8, 8, 11]
    lines = rows_of_chart(chart, 0)
    assert [(round(row["x"]), round(row["x2"]), row["distance"]) for row in lines] == [
        (-9, -1, 8),
        (-1, -9, 8),
        (10, -1, 11),
    ]


def test_one_cluster_has_a_map() -> None:
    chart = draw_chart("centroid_plot", LINE.head(3))
    assert frame_of_chart(chart, "cluster", "x", "y", layer=1).rows() == [("a", 0.0, 0.0)]
    assert rows_of_chart(chart, 0) == []
    assert title_of(chart)[0] == "Centroids of 1 cluster"


def test_centroids_of_digits_are_principal_components() -> None:
    digits = pl.read_parquet("examples/digits.parquet")
    chart = plots.centroid_plot(digits, "pixels", "kmeans")
    centers = np.array(ce.centroids(digits, "pixels", "kmeans")["centroid"].to_list())
    wanted = PCA(2).fit(centers)
    found = frame_of_chart(chart, "x", "y", layer=1).to_numpy()
    assert np.abs(found) == pytest.approx(np.abs(wanted.transform(centers)))
    share = wanted.explained_variance_ratio_.sum()
    assert f"the map shows {100 * share:.0f} % of the squared distances" in title_of(chart)[1]


@pytest.mark.parametrize(
    ("distance", "squares"),
    [
        ("euclidean", lambda x: pdist(x, "euclidean", w=[1, 4, 2]) ** 2),
        ("sqeuclidean", lambda x: pdist(x, "sqeuclidean", w=[1, 4, 2])),
        ("cityblock", lambda x: pdist(x, "cityblock", w=[1, 4, 2]) ** 2),
        ("minkowski", lambda x: pdist(x, "minkowski", p=3, w=[1, 4, 2]) ** 2),
        ("cosine", lambda x: 2 * pdist(x, "cosine", w=[1, 4, 2])),
    ],
)
def test_three_centroids_are_at_their_distances(
    distance: Any, squares: Callable[[Any], Any]
) -> None:
    """Three points at any distances have their places in the plane."""
    x = np.array([[1.0, 0.5, 3.0], [2.0, 4.0, 0.1], [5.0, 1.0, 1.5]])
    points = pl.DataFrame(x, schema=["x", "y", "z"]).with_columns(cluster=pl.Series([0, 1, 2]))
    weights = [1.0, 4.0, 2.0]
    chart = plots.centroid_plot(
        points, ["x", "y", "z"], "cluster", distance=distance, p=3, weights=weights
    )
    found = pdist(frame_of_chart(chart, "x", "y", layer=1).to_numpy(), "sqeuclidean")
    assert found == pytest.approx(squares(x))
    assert "100 %" in title_of(chart)[1]


def test_far_away_centroids_keep_their_digits() -> None:
    near = pl.DataFrame({"x": [0.0, 1, 5], "y": [0.0, 3, 1], "cluster": [0, 1, 2]})
    far = near.with_columns(pl.col("x", "y") + 1e12)
    found = [
        frame_of_chart(
            plots.centroid_plot(points, ["x", "y"], "cluster"), "x", "y", layer=1
        ).to_numpy()
        for points in (near, far)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-9)
    wanted = near.select("x", "y").to_numpy()
    assert cdist(found[1], found[1]) == pytest.approx(cdist(wanted, wanted), abs=1e-9)


def test_agreement() -> None:
    chart = own_chart("agreement_plot")
    found = frame_of_chart(chart, "run_1", "run_2", "n", "score")
    assert found.rows() == [("1", "2", 4, 1.0), ("1", "3", 3, -0.5), ("2", "3", 3, -0.5)]
    assert title_of(chart) == ["Agreement of 3 runs", "adjusted_rand_score"]
    color = chart.to_dict()["layer"][0]["encoding"]["color"]
    assert color["scale"]["domain"] == [-0.5, 1]


def test_agreement_in_another_metric() -> None:
    chart = draw_chart("agreement_plot", metric="mirkin_metric")
    wanted = ce.run_agreement(RUNS, "id", "run", "cluster", metric="mirkin_metric")
    assert_frame_equal(frame_of_chart(chart, "score"), wanted.select("score"))
    assert title_of(chart)[1] == "mirkin_metric"


def test_intervals() -> None:
    """80 of 100 rows are in the majority of their cluster: 0.8 -+ 1.96 sqrt(0.8 x 0.2 / 100)."""
    chart = draw_chart("interval_plot", metrics=["purity"])
    [row] = rows_of_chart(chart)
    assert row["metric"] == "purity"
    assert [row[name] for name in ("lower", "value", "upper")] == pytest.approx(
        [0.8 - 1.959964 * 0.04, 0.8, 0.8 + 1.959964 * 0.04]
    )
    assert title_of(chart) == ["Scores with intervals", "95 % confidence"]


def test_what_is_no_score_with_an_interval_is_left_out() -> None:
    """Distances, entropies and what is beyond 1 are not drawn unless they are named."""
    chart = own_chart("interval_plot")
    intervals = ce.external_intervals(CELLS, "label", "cluster", weight="n")
    drawn = frame_of_chart(chart, "metric", "value", "lower", "upper")
    assert_frame_equal(drawn, intervals.select(drawn.columns).join(drawn, on="metric", how="semi"))
    assert drawn["lower"].null_count() == 0
    names = set(drawn["metric"])
    assert {"purity", "adjusted_rand_score", "v_measure_score"} <= names
    others = ("mirkin_metric", "label_entropy", "variation_of_information", "mcnemar_index")
    assert not names.intersection(others)
    n_others = len(intervals) - len(drawn)
    assert title_of(chart)[2].startswith(f"not drawn: {n_others} metrics without a value or an int")
    chosen = draw_chart("interval_plot", metrics=["mirkin_metric", "purity"])
    assert frame_of_chart(chosen, "metric").rows() == [("mirkin_metric",), ("purity",)]


def test_scores_without_intervals_are_hollow_points() -> None:
    """They are drawn by default where no score has an interval."""
    rows = pl.DataFrame(
        {"metric": ["purity", "rand_score"], "value": [0.5, 0.7], "lower": None, "upper": None}
    ).with_columns(pl.col("lower", "upper").cast(pl.Float64))
    chart = plots.interval_plot(rows)
    assert frame_of_chart(chart, "metric").rows() == [("purity",), ("rand_score",)]
    fill = chart.to_dict()["layer"][1]["encoding"]["fill"]
    assert (fill["condition"]["test"], fill["value"]) == ("isValid(datum.lower)", "white")
    measured = rows.with_columns(lower=pl.Series([0.4, None]), upper=pl.Series([0.6, None]))
    assert frame_of_chart(plots.interval_plot(measured), "metric").rows() == [("purity",)]
    both = plots.interval_plot(measured, metrics=["rand_score", "purity"])
    assert frame_of_chart(both, "metric").rows() == [("rand_score",), ("purity",)]


# ----------------------------------------------------------------------------------------------
# Frames
# ----------------------------------------------------------------------------------------------


@pytest.mark.gate
@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_frame_has_the_same_chart(name: str) -> None:
    frame = CALLS[name][0]
    wanted = own_specification(name)
    assert draw_chart(name, frame.lazy()).to_dict() == wanted
    con = engines.make("duckdb").connection.cursor()
    relation = con.from_arrow(frame.to_arrow())
    assert draw_chart(name, relation).to_dict() == wanted
    _, columns, keywords = CALLS[name]
    for own in (frame, frame.lazy()):
        method = getattr(own.clustereval, name)  # type: ignore[union-attr]
        assert method(*columns, **keywords).to_dict() == wanted


@pytest.mark.gate
@pytest.mark.parametrize("name", ROW_CALLS)
def test_rows_of_the_functions(name: str) -> None:
    rows = ROW_CALLS[name](CALLS[name][0])
    wanted = own_specification(name)
    function = getattr(plots, name)
    chart = function(rows).to_dict()
    assert chart["datasets"] == wanted["datasets"]
    assert function(rows.lazy()).to_dict() == chart


@pytest.mark.gate
def test_rows_of_macros() -> None:
    con = engines.make("duckdb").connection.cursor()
    for name, table in (("sweep", SWEEP), ("runs", RUNS), ("cells", CELLS)):
        con.register(name, table.to_arrow())
    queries = {
        "elbow_plot": "elbow(sweep, [x], cluster, k)",
        "agreement_plot": "run_agreement(runs, id, run, cluster)",
        "interval_plot": "external_intervals(cells, label, cluster, weight := n)",
    }
    for name, query in queries.items():
        chart = getattr(plots, name)(con.sql(f"FROM clustereval.{query}"))
        got, wanted = (
            pl.DataFrame(rows_of_chart(chart)),
            pl.DataFrame(rows_of_chart(own_chart(name))),
        )
        assert_frame_equal(got, wanted)


def test_kept_cells() -> None:
    cells = ce.contingency_matrix(SIX, "label", "cluster")
    chart = plots.contingency_plot(cells, "label", "cluster", weight="n")
    assert chart.to_dict() == own_chart("contingency_plot").to_dict()


# ----------------------------------------------------------------------------------------------
# Size
# ----------------------------------------------------------------------------------------------


def points_in_named_clusters(n: int, n_clusters: int) -> pl.DataFrame:
    """Points in clusters of very different sizes with long names."""
    rng = np.random.default_rng(5)
    cluster = np.floor(n_clusters * rng.random(n) ** 3).astype(int)
    names = pl.concat_str(pl.lit("a name of a user " * 5 + "née 中文 "), pl.col("number"))
    frame = pl.DataFrame({"number": cluster, "x": cluster + rng.normal(size=n)})
    return frame.with_columns(cluster=names, y=pl.col("x").sin())


@pytest.mark.gate
def test_size_of_a_chart_of_many_points() -> None:
    points = points_in_named_clusters(200_000, 40)
    chart = plots.silhouette_plot(points, ["x", "y"], "cluster", distance="sqeuclidean")
    assert len(chart.to_json().encode()) < 300_000
    bars = rows_of_chart(chart, 0)
    assert 500 <= len(bars) <= 600
    assert sum(bar["points"] for bar in bars) == 200_000
    names = rows_of_chart(chart, 1)
    assert len(names) == 31
    assert names[-1]["cluster"] == "other (10)"
    assert "40 clusters, the 30 largest and the others as one" in title_of(chart)[0]
    per_cluster = pl.DataFrame(bars).group_by("cluster").agg(pl.len(), pl.col("points").sum())
    assert per_cluster["len"].min() >= 8  # type: ignore[operator]
    largest = per_cluster.sort("points")["len"].to_list()
    assert largest == sorted(largest)
    # It has 29 % of the points: (1 / 40) to the power 1 / 3.
    assert 100 <= largest[-1] <= 120


def test_bars_are_quantiles() -> None:
    points = points_in_named_clusters(5_000, 2)
    chart = plots.silhouette_plot(points, ["x", "y"], "cluster", distance="sqeuclidean")
    samples = ce.silhouette_samples(points, ["x", "y"], "cluster", distance="sqeuclidean")
    bars = frame_of_chart(chart, "cluster", "points", "mean", "least", "greatest", layer=0)
    largest = points["cluster"].mode().item()
    values = samples.filter(cluster=largest)["silhouette"].sort(descending=True).to_numpy()
    own = bars.filter(pl.col("cluster") == show_name(largest))
    cuts = [0, *own["points"].cum_sum().to_list()]
    assert cuts[-1] == len(values)
    assert max(own["points"]) - min(own["points"]) <= 1
    for (a, b), bar in zip(pairwise(cuts), own.rows(named=True), strict=True):
        wanted = [values[a:b].mean(), values[a:b].min(), values[a:b].max()]
        assert [bar["mean"], bar["least"], bar["greatest"]] == pytest.approx(wanted)
    assert title_of(chart)[2] == "each bar is the mean of a quantile of the points of its cluster"


def test_folded_labels_and_clusters() -> None:
    """The sizes of labels 0 to 9 are 1 to 10; of clusters 0 to 4: 3, 7, 11, 15, 19."""
    label = pl.int_range(10, eager=True).rename("label")
    frame = pl.DataFrame({"label": label, "cluster": label // 2, "n": label + 1})
    chart = plots.contingency_plot(
        frame, "label", "cluster", weight="n", max_labels=3, max_clusters=2
    )
    cells = frame_of_chart(chart, "label", "cluster", "n").rows()
    assert cells == [
        ("7", "3", 8),
        ("8", "4", 9),
        ("9", "4", 10),
        ("other (7)", "3", 7),
        ("other (7)", "other (3)", 21),
    ]
    assert title_of(chart) == [
        "55 rows by 10 labels and 5 clusters",
        "the 3 largest labels, 7 others as one",
        "the 2 largest clusters, 3 others as one",
    ]


@pytest.mark.parametrize("noise_as", ["cluster", "singletons"])
def test_noise_is_the_last_column(noise_as: str) -> None:
    """It is the largest cluster, of label 0, and is neither folded nor counted among the others."""
    frame = pl.DataFrame({"label": [0, 0, 0, 0, 1, 1, 2], "cluster": [9, 9, 9, 1, 2, 3, 4]})
    chart = plots.contingency_plot(
        frame, "label", "cluster", noise=9, noise_as=noise_as, max_clusters=2
    )
    cells = frame_of_chart(chart, "cluster", "column").unique().sort("column").rows()
    assert cells == [("1", 0), ("2", 1), ("other (2)", 2), ("noise", 3)]
    assert title_of(chart) == [
        "7 rows by 3 labels and 4 clusters",
        "the 2 largest clusters, 2 others as one",
        "3 rows of noise in the last column",
    ]
    texts = pl.when(pl.col("cluster") == 9).then(pl.lit("x")).otherwise(pl.lit("noise"))
    named = plots.contingency_plot(
        frame.with_columns(cluster=texts), "label", "cluster", noise="x", noise_as=noise_as
    )
    assert {row["cluster"] for row in rows_of_chart(named)} == {"noise", "noise (2)"}


def test_noise_alone() -> None:
    frame = pl.DataFrame({"label": ["a", "b"], "cluster": [-1, -1]})
    chart = plots.contingency_plot(frame, "label", "cluster", noise=-1, noise_as="cluster")
    assert frame_of_chart(chart, "label", "cluster").rows() == [("a", "noise"), ("b", "noise")]


def test_a_single_cluster_is_not_folded() -> None:
    """As "other (1)" it would need as much room as with its name."""
    frame = pl.DataFrame({"label": range(4), "cluster": range(4)})
    chart = plots.contingency_plot(frame, "label", "cluster", max_labels=3, max_clusters=3)
    assert {row["cluster"] for row in rows_of_chart(chart)} == {"0", "1", "2", "3"}
    assert title_of(chart) == ["4 rows by 4 labels and 4 clusters"]
    folded = plots.contingency_plot(frame, "label", "cluster", max_clusters=2)
    assert {row["cluster"] for row in rows_of_chart(folded)} == {"0", "1", "other (2)"}


def test_no_row_is_white() -> None:
    color = own_chart("contingency_plot").to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert (color["range"][0], color["domain"][0]) == ("#ffffff", 0)


def test_axes_end_where_the_data_do() -> None:
    """Silhouettes between -0.43 and 0.08; an elbow's curve that does not begin at 0."""
    points = pl.DataFrame({"cluster": ["a", "a", "b"], "silhouette": [0.08, -0.43, 0.02]})
    chart = silhouette.draw_samples(points, "euclidean", 30)
    domains = [
        layer["encoding"]["x"]["scale"]["domain"]
        for layer in chart.to_dict()["layer"]
        if "scale" in layer["encoding"]["x"]
    ]
    assert domains == [[-0.5, 0.1]] * 2
    for panel in own_chart("elbow_plot").to_dict()["concat"]:
        assert panel["layer"][0]["encoding"]["y"]["scale"] == {"zero": False}


def test_the_folded_clusters_are_the_last_column() -> None:
    frame = pl.DataFrame({"label": [0, 0, 0, 1, 1], "cluster": [1, 2, 3, 4, 4]})
    chart = plots.contingency_plot(frame, "label", "cluster", max_clusters=1)
    cells = frame_of_chart(chart, "cluster", "column").unique().sort("column").rows()
    assert cells == [("4", 0), ("other (3)", 1)]


def test_clusters_that_are_not_drawn() -> None:
    """Centroids 20, 1 and 10.5; the nearest cluster of the last one is the first at 9.5."""
    points = pl.DataFrame({"x": [20, 0, 1, 2, 10, 11], "cluster": [0, 1, 1, 1, 2, 2]})
    chart = draw_chart("centroid_plot", points, max_clusters=2)
    found = frame_of_chart(chart, "cluster", "nearest", "nearest_distance", layer=1)
    assert found.rows() == [("1", "2", 9.5), ("2", "0", 9.5)]
    assert title_of(chart)[0] == "Centroids of 3 clusters"
    assert title_of(chart)[-1] == "only the 2 largest clusters"
    # The second line would lead to a cluster that is not on the map.
    assert [row["distance"] for row in rows_of_chart(chart, 0)] == [9.5]


def test_runs_that_are_not_drawn() -> None:
    chart = draw_chart("agreement_plot", max_runs=2)
    assert frame_of_chart(chart, "run_1", "run_2").rows() == [("1", "2")]
    assert title_of(chart)[2] == "the first 2 runs only"


# ----------------------------------------------------------------------------------------------
# Names
# ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED_CALLS)
def test_odd_names(name: str) -> None:
    chart = NAMED_CALLS[name]()
    spec = chart.to_dict()
    data = spec.pop("datasets")
    rest = json.dumps(spec)
    assert not [text for text in NAMES if len(text) > 7 and text != "(none)" and text in rest]
    column = "run_1" if name == "agreement_plot" else "cluster"
    tables = [{row[column] for row in rows if column in row} for rows in data.values()]
    shown = max(tables, key=len)
    # Every run but the last one is a first run.
    assert len(shown) == len(NAMES) - (name == "agreement_plot")
    # The renderer of PNG aborts the process at characters that XML forbids.
    assert not [text for text in shown if re.search("[\x00-\x1f\x7f\ufffe\uffff]", text)]
    html = chart.to_html()
    assert "</script><script>alert" not in html
    assert "<!-- <script>" not in html


def test_names_that_look_alike_stay_apart() -> None:
    labels = ["(none)", "x" * 50, "x" * 49, "\n", "\\n"]
    frame = pl.DataFrame({"label": labels, "cluster": range(5)})
    chart = plots.contingency_plot(frame, "label", "cluster")
    half = "x" * 14
    wanted = {"(none)", f"{half}…{half[1:]}", f"{half}…{half[1:]} (2)", "\\n", "\\n (2)"}
    assert {row["label"] for row in rows_of_chart(chart)} == wanted


@pytest.mark.parametrize(
    "dtype",
    [pl.Categorical, pl.Enum(["0", "1"]), pl.Float32, pl.Date, pl.Boolean, pl.Decimal(9, 2)],
)
def test_types_of_clusters(dtype: Any) -> None:
    text = dtype == pl.Categorical or isinstance(dtype, pl.Enum)
    numbers = pl.Series("cluster", [0, 0, 1, 1])
    values = (numbers.cast(pl.String) if text else numbers).cast(dtype)
    frame = pl.DataFrame({"x": [0.0, 1, 5, 6], "cluster": values})
    for function in (plots.silhouette_plot, plots.centroid_plot, plots.projection_plot):
        found = {row["cluster"] for row in rows_of_chart(function(frame, ["x"], "cluster"), 1)}
        assert found == {str(value) for value in values.to_list()}


# ----------------------------------------------------------------------------------------------
# Charts
# ----------------------------------------------------------------------------------------------


WIDTHS: dict[str, list[Any]] = {
    "silhouette_plot": [420],
    "elbow_plot": [230] * 8,
    "contingency_plot": [{"step": 80}],
    "centroid_plot": [420],
    "projection_plot": [420],
    "agreement_plot": [{"step": 44}],
    "interval_plot": [360],
    "transition_plot": [520],
    "threshold_plot": [420] * 3,
}


@pytest.mark.parametrize("name", CALLS)
def test_charts_fit_on_a_page(name: str) -> None:
    """With axes and legends, no picture is wider than 620 pixels."""
    kind = alt.ConcatChart if name in ("elbow_plot", "threshold_plot") else alt.LayerChart
    assert isinstance(own_chart(name), kind)
    spec = own_specification(name)
    assert [panel["width"] for panel in spec.get("concat", [spec])] == WIDTHS[name]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("n", "of_counts", "of_ssw"), [(1, ",d", set()), (40, ",d", {"~s"}), (100_000, "~s", {"~s"})]
)
def test_formats_of_numbers_on_axes(n: int, of_counts: str, of_ssw: set[str]) -> None:
    """Neither 4e+1 for 40 nor 20m for 0.02, but k and M for large ones."""
    cells = SIX.with_columns(n=n * pl.int_range(1, 7))
    chart = plots.contingency_plot(cells, "label", "cluster", weight="n")
    assert formats_of(chart, "legend") == {of_counts}
    sweep = SWEEP.with_columns(pl.col("x") * n)
    assert formats_of(draw_chart("elbow_plot", sweep), "axis") == {",d", None} | of_ssw
    if n < 1000:
        assert formats_of(draw_chart("centroid_plot", pl.concat([LINE] * n)), "legend") == {",d"}


def formats_of(chart: Any, part: str) -> set[str | None]:
    """The formats of numbers of all axes or legends."""

    def find(spec: Any) -> Iterator[Any]:
        if isinstance(spec, dict):
            if isinstance(spec.get(part), dict) and spec.get("type") == "quantitative":
                yield spec[part].get("format")
            spec = list(spec.values())
        for inner in spec if isinstance(spec, list) else []:
            yield from find(inner)

    return set(find({k: v for k, v in chart.to_dict().items() if k != "datasets"}))


@pytest.mark.parametrize("name", CALLS)
def test_axes_are_titled_in_words(name: str) -> None:
    titles = re.findall(r'"title": "([^"]*)"', json.dumps(own_specification(name)))
    wanted = {
        "silhouette_plot": {"silhouette of a point"},
        "elbow_plot": {"number of clusters k", "within-cluster sum of squares (ssw)"},
        "contingency_plot": {"label", "cluster", "rows"},
        "centroid_plot": {"first dimension", "second dimension", "points"},
        "projection_plot": {"first component, 100 % of the variance"},
        "agreement_plot": {"first run", "second run", "score"},
        "interval_plot": {"score, and its interval"},
        "transition_plot": {"cluster", "cluster in the next run", "ids"},
        "threshold_plot": {"threshold", "score", "ids in the largest cluster"},
    }
    assert wanted[name] <= {*titles}


@pytest.mark.gate
def test_points_with_gaps_are_left_out() -> None:
    line = LINE.with_columns(y=pl.Series([1.0, None, 2.0, 0.0, 3.0]))
    sweep = SWEEP.with_columns(y=pl.when(pl.int_range(pl.len()) % 4 != 1).then(pl.col("x") * 2))
    for name, frame, more in (
        ("silhouette_plot", line, ("cluster",)),
        ("centroid_plot", line, ("cluster",)),
        ("elbow_plot", sweep, ("cluster", "k")),
    ):
        draw = getattr(plots, name)
        with pytest.raises(ce.ClusterEvalError, match="got NULL in column y"):
            draw(frame, ["x", "y"], *more)
        chart = draw(frame, ["x", "y"], *more, missing="drop")
        kept = draw(frame.drop_nulls("y"), ["x", "y"], *more)
        assert chart.to_dict() == kept.to_dict(), name


# ----------------------------------------------------------------------------------------------
# Colors
# ----------------------------------------------------------------------------------------------

#: What linear RGB becomes to a reader without red, green or blue cones: Machado, Oliveira and
#: Fernandes (2009), doi:10.1109/TVCG.2009.113, at full severity.
DEFICIENCIES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "none": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}
#: Oklab: cones of linear RGB, and lightness, green to red and blue to yellow of their cube roots
#: (Ottosson 2020, https://bottosson.github.io/posts/oklab/).
CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
OPPONENTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear_rgb(*colors: str) -> Any:
    channels = np.array([[int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in colors])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(color: str, paper: str) -> float:
    """The ratio of WCAG 2.2, from 1 to 21."""
    light = linear_rgb(color, paper) @ [0.2126, 0.7152, 0.0722] + 0.05
    return float(light.max() / light.min())


def test_colors_are_seen_on_both_papers() -> None:
    page = files("polars_clustereval.page").joinpath("template.html").read_text(encoding="utf-8")
    papers = [f"#{(color * 2)[:6]}" for color in re.findall("--paper: #([0-9a-f]+);", page)[:2]]
    assert papers == ["#ffffff", "#14171a"]
    assert [min(contrast(color, paper) for color in COLORS) >= 3 for paper in papers] == [True] * 2


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_colors_are_told_apart(deficiency: str) -> None:
    """The twelve colors and the gray of other clusters; a step of Oklab that is just seen is 2."""
    seen = np.clip(linear_rgb(*COLORS, GRAY) @ np.array(DEFICIENCIES[deficiency]).T, 0, 1)
    lab = np.cbrt(seen @ CONES.T) @ OPPONENTS.T
    gaps = 100 * pdist(lab)
    assert gaps.min() > (13 if deficiency == "none" else 6.8)
