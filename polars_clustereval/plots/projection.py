"""projection_plot: a map of points and centers along the first two principal components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.checks import check_groupable, check_random_state, equals_noise
from polars_clustereval.base.tables import pass_arguments_to
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.centroids import check_point_options, read_rows
from polars_clustereval.internal.report import internal_cluster_report
from polars_clustereval.internal.vectors import check_vector

from .charts import (
    GRAY,
    chart,
    check_limit,
    color_cluster,
    count,
    inline_data,
    make_title,
    name_values,
    table_of_call,
    to_lazy,
)
from .positions import equal_limits, orient_axis, weight_coordinates

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import duckdb

    from polars_clustereval.base.checks import Column, NoiseAs
    from polars_clustereval.internal.centroids import PointOptions
    from polars_clustereval.internal.distances import Center, DistanceName
    from polars_clustereval.internal.kernels.arrays import Floats
    from polars_clustereval.internal.vectors import Missing, Vector

#: The columns of internal_cluster_report that are read.
_CENTER_COLUMNS = ("cluster", "n", "centroid")
#: The default number of points on a map. More points would cover each other and make a page heavy.
MAX_POINTS = 2000
_MOST_POINTS = 20_000
#: The number of points of a cluster below which it would hardly be seen on a map.
LEAST_POINTS = 50


class PointSample(NamedTuple):
    """A random sample of points, and the total number of points."""

    #: One row per point: cluster, is_noise and the coordinates x_0, x_1, ...
    points: pl.DataFrame
    #: The number of points that each of these stands for.
    weights: pl.Series
    n: int


class _Projection(NamedTuple):
    """A map of points and centers along two directions, with the limits of its axes.

    `points` has shape (m, 2) for m points, and `centers` has shape (k, 2) for k centers. `shares`
    contains the share of the variance along each of the two directions. `domains` contains the
    limits of the two axes, which have the same scale.
    """

    points: Floats
    centers: Floats
    shares: list[float]
    domains: list[list[float]]


@chart
def projection_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    max_points: int = MAX_POINTS,
    max_clusters: int = 30,
    random_state: int = 0,
    missing: Missing = "error",
) -> alt.LayerChart:
    """Draw a sample of points and the cluster centers along the first two principal components.

    The principal components are the directions in which the points in the sample vary most, where
    each point counts as many times as there are points that it stands for.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        One point per row.
    vector, cluster, distance, p, center, noise, noise_as, weights, missing
        As in internal_cluster_report, which computes the centers.
    max_points : int
        The maximum number of points to draw, from 1 to 20,000. If there are more points, a random
        sample is drawn, divided among the clusters by size. Of each cluster that has a color, the
        sample contains at least 50 points or all points, as far as max_points allows this.
    max_clusters : int
        The maximum number of clusters drawn with a color and a center, from 1 to 100. The largest
        clusters are chosen, and the points in all other clusters are gray.
    random_state : int
        Seed of the sample, a whole number >= 0. The sample also depends on the order of the rows.

    Returns
    -------
    altair.LayerChart
        Both axes have the same scale. The title of each axis states the share of the variance along
        that axis. Noise and points without a cluster are gray. The first twelve clusters have
        different colors, and the next twelve have the same colors in a darker shade. After that,
        the colors repeat. The name of each cluster is shown at its center.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_cluster_report. The error is also raised if no points are
        left, or if max_points, max_clusters or random_state is out of range.
    ImportError
        If altair is not installed.

    Notes
    -----
    Cosine distance compares directions, so points are scaled to length 1. The weights scale the
    coordinates on the map in the same way as in the distance calculation. For distances other than
    euclidean, sqeuclidean and cosine, the map shows the points but does not represent their
    distances.

    References
    ----------
    Pearson (1901), On lines and planes of closest fit to systems of points in space,
    doi:10.1080/14786440109462720.

    Examples
    --------
    >>> from polars_clustereval import plots
    >>> points = pl.DataFrame(
    ...     {"x": [0, 2, 9, 9], "y": [0, 0, 5, 7], "cluster": ["a"] * 2 + ["b"] * 2}
    ... )
    >>> chart = plots.projection_plot(points, ["x", "y"], "cluster")
    >>> chart.to_dict()["title"]["subtitle"]
    ['first two principal components, 100 % of the variance']
    """
    most = check_limit("max_points", max_points, _MOST_POINTS)
    limit = check_limit("max_clusters", max_clusters, 100)
    seed = check_random_state(random_state)
    options = pass_arguments_to(check_point_options)
    lazy = to_lazy(frame)
    clusters = table_of_call(internal_cluster_report, lazy).select(_CENTER_COLUMNS).collect()
    shown = choose_clusters(clusters, options, limit)
    sample = sample_points(lazy, vector, cluster, options, shown["cluster"], most, seed)
    return draw_projection(clusters, sample, options, limit)


# ----------------------------------------------------------------------------------------------
# Points
# ----------------------------------------------------------------------------------------------


def sample_points(
    lazy: pl.LazyFrame,
    vector: Vector,
    cluster: Column,
    options: PointOptions,
    shown: pl.Series,
    most: int = MAX_POINTS,
    seed: int = 0,
) -> PointSample:
    """Return all points with a vector, or a sample of `most`; noise is kept.

    Each cluster in `shown` is a stratum of the sample, and all other points are another one.
    """
    coordinates = check_vector(lazy, vector, pl.lit(True), options.missing)
    rows = lazy.filter(coordinates.has_vector)
    group = check_groupable(lazy, cluster, "cluster").alias("group")
    groups = rows.select(group)
    shown = shown.cast(groups.collect_schema()["group"]).alias("group")
    strata = shown.to_frame().with_row_index("stratum").lazy()
    groups = groups.join(strata, on="group", how="left", maintain_order="left")
    numbers = groups.select("stratum").collect()
    drawn = _draw_numbers(numbers, most, seed)
    number = _free_name(lazy.collect_schema().names())
    wanted = drawn.lazy().select(pl.col("number").alias(number))
    rows = rows.with_row_index(number).join(wanted, on=number, how="semi")
    few = rows.collect(engine="streaming").sort(number).drop(number)
    read = read_rows(few.lazy(), vector, cluster, options, results=(), needs_wide=True).rows
    # If noise counts as singletons, it has no cluster.
    is_noise = pl.col("noisy") | pl.col("cluster").is_null()
    x = pl.col("^raw_x_[0-9]+$").name.map(lambda name: name.removeprefix("raw_"))
    points = read.filter("has_vector").select("cluster", x, is_noise=is_noise).collect()
    return PointSample(points, drawn["weight"], len(numbers))


def _draw_numbers(rows: pl.DataFrame, most: int, seed: int) -> pl.DataFrame:
    """Return number and weight of at most `most` of the rows, which have a column stratum."""
    rows = rows.with_row_index("number")
    if len(rows) <= most:
        return rows.with_columns(weight=1.0)
    if rows["stratum"].n_unique() > most:
        rows = rows.with_columns(stratum=0)
    sizes = rows.group_by("stratum").agg(size=pl.len().cast(pl.Int64))
    least = pl.min_horizontal("size", LEAST_POINTS, most // len(sizes))
    rest = pl.col("size") - least
    n_drawn = least + rest * (most - least.sum()) // rest.sum()
    # Each stratum is numbered in a random order.
    rank = pl.int_range(pl.len()).shuffle(seed).over("stratum")
    ranked = rows.with_columns(rank=rank).join(
        sizes.with_columns(n_drawn=n_drawn), on="stratum", nulls_equal=True, maintain_order="left"
    )
    drawn = ranked.filter(pl.col("rank") < pl.col("n_drawn"))
    return drawn.select("number", weight=pl.col("size") / pl.col("n_drawn"))


def _free_name(names: Sequence[str]) -> str:
    """Return a name that is not among `names`."""
    name = "number"
    while name in names:
        name += "_"
    return name


# ----------------------------------------------------------------------------------------------
# Positions
# ----------------------------------------------------------------------------------------------


def _project(
    points: Floats, weights: Floats, centers: Floats, options: PointOptions
) -> _Projection:
    """Project points (m, d) and centers (k, d) onto the points' first two principal components.

    Each point counts as often as its weight states.
    """
    x = np.concatenate([points, centers])
    # This scaling is exact, and prevents an overflow of squares.
    exponent = int(np.frexp(np.abs(x).max(initial=0.0))[1])
    x = np.ldexp(x, -exponent)
    x = weight_coordinates(x, options)
    if options.distance.name == "cosine":
        exponent = 0
    m = len(points)
    x = x - np.average(x[:m], axis=0, weights=weights)
    scaled = x[:m] * np.sqrt(weights)[:, None]
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=False)
    placed = np.zeros((len(x), 2))
    found = x @ directions[:2].T
    for column, axis in enumerate(found.T):
        placed[:, column] = orient_axis(axis)
    placed = np.ldexp(placed, exponent)
    squares = np.append(sizes**2, 0.0)
    total = squares.sum()
    shares = (squares[:2] / total if total > 0 else squares[:2]).tolist()
    return _Projection(placed[:m], placed[m:], shares, equal_limits(placed, 0.55))


# ----------------------------------------------------------------------------------------------
# Chart
# ----------------------------------------------------------------------------------------------


def _drop_noise(clusters: pl.DataFrame, options: PointOptions) -> pl.DataFrame:
    """Return the rows of clusters that are neither noise nor without a name."""
    is_noise = (
        pl.lit(False)
        if options.noise is None
        else equals_noise(pl.col("cluster"), options.noise, clusters.schema["cluster"])
    )
    return clusters.filter(pl.col("cluster").is_not_null() & ~is_noise)


def choose_clusters(clusters: pl.DataFrame, options: PointOptions, limit: int) -> pl.DataFrame:
    """Return the rows of the `limit` largest clusters, which have colors and centers."""
    named = _drop_noise(clusters, options)
    return named.filter(pl.col("n").rank("ordinal", descending=True) <= limit)


def draw_projection(
    clusters: pl.DataFrame, sample: PointSample, options: PointOptions, limit: int
) -> alt.LayerChart:
    """Return the chart of projection_plot; the `limit` largest clusters have colors and centers."""
    named = _drop_noise(clusters, options)
    if named.is_empty() or sample.points.is_empty():
        raise ClusterEvalError("frame: expected points with a vector and a cluster, got none")
    shown = choose_clusters(clusters, options, limit)
    x = sample.points.select(pl.col("^x_[0-9]+$")).to_numpy()
    centers = shown["centroid"].list.to_array(x.shape[1]).to_numpy()
    positions = _project(x, sample.weights.to_numpy(), centers, options)
    shown = shown.with_columns(
        pl.Series("name", name_values(shown["cluster"])),
        pl.Series("color", [color_cluster(place) for place in range(len(shown))]),
    )
    points = _color_points(sample.points, shown)
    title = _title_of_map(sample, len(points), len(named), len(shown), positions.shares)
    return _draw_map_of_points(points, shown, positions, title)


def _color_points(points: pl.DataFrame, shown: pl.DataFrame) -> pl.DataFrame:
    """Return the points with the names and colors of their clusters, gray for all others."""
    cluster = points.schema["cluster"]
    colors = shown.select(pl.col("cluster").cast(cluster), "name", "color")
    joined = points.join(colors, on="cluster", how="left", maintain_order="left")
    colored = pl.when(~pl.col("is_noise")).then("color").fill_null(GRAY)
    name = pl.when("is_noise").then(pl.lit("no cluster")).otherwise(pl.col("name"))
    return joined.with_columns(color=colored, name=name.fill_null("other"))


def _title_of_map(
    sample: PointSample, n_drawn: int, n_clusters: int, n_shown: int, shares: list[float]
) -> alt.TitleParams:
    """Return the title of the map, with notes that say how many points and clusters are drawn."""
    n_gray = int(sample.points["is_noise"].sum())
    uneven = ", with larger shares of small clusters" if sample.weights.n_unique() > 1 else ""
    return make_title(
        f"Map of {count(sample.n, 'point')} in {count(n_clusters, 'cluster')}",
        f"first two principal components, {sum(shares):.0%} of the variance".replace("%", " %"),
        f"a random sample of {n_drawn:,} points{uneven}" if n_drawn < sample.n else "",
        f"in color the {n_shown} largest clusters" if n_shown < n_clusters else "",
        f"gray: {count(n_gray, 'point')} of noise or without a cluster" if n_gray else "",
    )


def _draw_map_of_points(
    points: pl.DataFrame, shown: pl.DataFrame, positions: _Projection, title: alt.TitleParams
) -> alt.LayerChart:
    """Return the map, with points and centers drawn at the given positions."""
    import altair as alt

    titles = [
        f"{order} component, {share:.0%} of the variance".replace("%", " %")
        for order, share in zip(("first", "second"), positions.shares, strict=True)
    ]
    scales = [alt.Scale(domain=domain, nice=False) for domain in positions.domains]
    axis = alt.Axis(tickCount=5)
    x = alt.X("x:Q", title=titles[0], scale=scales[0], axis=axis)
    y = alt.Y("y:Q", title=titles[1], scale=scales[1], axis=axis)
    cluster = alt.Tooltip("cluster:N", title="cluster")
    color = alt.Color("color:N", scale=None, legend=None)
    rows = _place(points.select("color", cluster="name"), positions.points)
    dots = (
        alt.Chart(inline_data(rows))
        .mark_circle(size=16, opacity=0.5)
        .encode(x=x, y=y, color=color, tooltip=cluster)
    )
    rows = _place(shown.select("color", "n", cluster="name"), positions.centers)
    centers = alt.Chart(inline_data(rows)).encode(
        x=x, y=y, tooltip=[cluster, alt.Tooltip("n:Q", title="points", format=",")]
    )
    layers = [
        dots,
        centers.mark_point(shape="diamond", size=90, filled=True, opacity=1, stroke="white").encode(
            color=color
        ),
        # The names have a white edge, so that they can be read on top of the points.
        *(
            centers.mark_text(fontWeight="bold", dy=-11, limit=90, **edge).encode(text="cluster:N")
            for edge in ({"stroke": "white", "strokeWidth": 3}, {"color": "black"})
        ),
    ]
    chart = alt.LayerChart(layer=layers, title=title)
    return chart.properties(width=420, height=420)


def _place(rows: pl.DataFrame, coordinates: Floats) -> pl.DataFrame:
    """Return the rows with their coordinates in the columns x and y."""
    return rows.with_columns(x=coordinates[:, 0], y=coordinates[:, 1])
