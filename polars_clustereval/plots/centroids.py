"""centroid_plot: a map of the centroids, on which similar clusters are near each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from polars_clustereval.base.tables import pass_arguments_to
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.centroids import check_point_options
from polars_clustereval.internal.kernels.distance_blocks import direct_distance_matrix
from polars_clustereval.internal.report import internal_cluster_report

from .charts import (
    BLUE,
    GRAY,
    chart,
    check_limit,
    count,
    count_format,
    inline_data,
    make_title,
    name_values,
    table_of_call,
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

# There is room for distances up to this number of clusters.
_MOST_WITH_DISTANCES = 12
# The columns of internal_cluster_report that are read.
_DRAWN_COLUMNS = (
    "cluster",
    "n",
    "centroid",
    "mean_distance",
    "nearest_cluster",
    "nearest_distance",
)


class _Map(NamedTuple):
    """A map of the centroids, with the limits of its axes.

    `coordinates` has shape (k, 2) for k centroids. `domains` contains the limits of the two axes.
    `share` is the proportion of the squared distances that is visible on the map.
    """

    coordinates: Floats
    domains: list[list[float]]
    share: float


@chart
def centroid_plot(
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
    max_clusters: int = 30,
    missing: Missing = "error",
) -> alt.LayerChart:
    """Draw a map of the centroids by classical multidimensional scaling of their distances.

    For Euclidean distances, the map shows a principal component analysis of the centroids. The area
    of a circle shows the size of its cluster, and a line connects each cluster to its nearest
    cluster.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        One point per row.
    vector, cluster, distance, p, center, noise, noise_as, weights, missing
        As in internal_cluster_report, which computes centroids and nearest clusters.
    max_clusters : int
        The maximum number of clusters to draw, from 1 to 100. If there are more clusters, the
        largest clusters are drawn, and the others are left out.

    Returns
    -------
    altair.LayerChart
        Both axes have the same scale. The subtitle states what share of the squared distances is
        visible on the map. Noise points that count as singletons are drawn as separate gray
        circles.

    Raises
    ------
    ClusterEvalError
        For the same reasons as internal_cluster_report. The error is also raised if no points are
        left, or if max_clusters is out of range.
    ImportError
        If altair is not installed.

    Notes
    -----
    Multidimensional scaling treats sqeuclidean and cosine distances as squared lengths. For cosine
    distances, which compare unit vectors, this is exact up to a factor of 2.

    References
    ----------
    Torgerson (1952), Multidimensional scaling: I. Theory and method, doi:10.1007/BF02288916.

    Examples
    --------
    The three centroids are on a line, so one dimension shows everything:

    >>> from polars_clustereval import plots
    >>> points = pl.DataFrame({"x": [0, 2, 9, 9, 20], "cluster": ["a", "a", "b", "b", "c"]})
    >>> chart = plots.centroid_plot(points, ["x"], "cluster")
    >>> chart.to_dict()["title"]["subtitle"][0]
    'euclidean distance; the map shows 100 % of the squared distances'
    """
    limit = check_limit("max_clusters", max_clusters, 100)
    options = pass_arguments_to(check_point_options)
    report = table_of_call(internal_cluster_report, frame)
    return draw_centroids(report.select(_DRAWN_COLUMNS).collect(), options, limit)


def draw_centroids(clusters: pl.DataFrame, options: PointOptions, limit: int) -> alt.LayerChart:
    """Return the chart of centroid_plot for the `limit` largest of the rows that it computes."""
    if clusters.is_empty():
        raise ClusterEvalError("frame: expected points with a vector and a cluster, got none")
    order = pl.col("n").rank("ordinal", descending=True)
    shown = clusters.filter(order <= limit)
    return _draw_map(_name_clusters(shown), _map_centroids(shown, options), len(clusters), options)


# ----------------------------------------------------------------------------------------------
# Positions
# ----------------------------------------------------------------------------------------------


def _map_centroids(clusters: pl.DataFrame, options: PointOptions) -> _Map:
    """Return the positions of the centroids on the map."""
    x = clusters["centroid"].list.to_array(len(clusters["centroid"][0])).to_numpy()
    name = options.distance.name
    # The scaling ensures that differences keep their digits, and squares do not overflow.
    x = x if name == "cosine" else x - x.mean(axis=0)
    unit = np.abs(x).max() or 1.0
    x = x / unit
    x = weight_coordinates(x, options)
    if name == "cosine":
        unit = 1.0
    d = direct_distance_matrix(x, np.asfortranarray(x), options.distance)
    np.fill_diagonal(d, 0.0)
    squares = {"sqeuclidean": d, "cosine": 2 * d}.get(name, d * d)
    coordinates, share = scale_distances(squares)
    coordinates *= unit
    return _Map(coordinates, equal_limits(coordinates, 0.6), share)


def scale_distances(squares: Floats) -> tuple[Floats, float]:
    """Compute two coordinates for each of k objects by classical scaling of `squares`.

    `squares` contains the squared distances and has shape (k, k). The coordinates have shape (k,
    2). The second result is the sum of the two largest eigenvalues divided by the sum of all
    positive eigenvalues, or 1 if no eigenvalue is positive. In each dimension, the coordinate
    farthest from 0 is positive.

    >>> import numpy as np
    >>> coordinates, share = scale_distances(np.array([[0.0, 9.0], [9.0, 0.0]]))
    >>> coordinates.round(6).tolist(), round(share, 6)
    ([[1.5, 0.0], [-1.5, 0.0]], 1.0)
    """
    k = len(squares)
    centering = np.eye(k) - 1 / k
    values, vectors = np.linalg.eigh(-0.5 * centering @ squares @ centering)
    values = np.where(values > values[-1] * 1e-12, values, 0.0)
    coordinates = np.zeros((k, 2))
    for column in range(min(2, k)):
        axis = vectors[:, -1 - column] * np.sqrt(values[-1 - column])
        coordinates[:, column] = orient_axis(axis)
    total = values.sum()
    return coordinates, float(values[-2:].sum() / total) if total > 0 else 1.0


def _name_clusters(clusters: pl.DataFrame) -> pl.DataFrame:
    """Return the clusters with name, nearest_name, is_named and nearest_place.

    nearest_place is the row number of the nearest cluster, NULL if that is not drawn.
    """
    both = pl.concat([clusters["cluster"], clusters["nearest_cluster"].rename("cluster")])
    values = both.unique().sort(nulls_last=True)
    names = pl.DataFrame({"value": values, "name": name_values(values)})
    places = clusters.select(value="cluster").with_row_index("nearest_place").drop_nulls()
    nearest = names.join(places, on="value", how="left")
    tables = {
        "cluster": names.rename({"value": "cluster"}),
        "nearest_cluster": nearest.rename({"value": "nearest_cluster", "name": "nearest_name"}),
    }
    named = clusters.with_columns(is_named=pl.col("cluster").is_not_null())
    for column, table in tables.items():
        named = named.join(table, on=column, how="left", nulls_equal=True, maintain_order="left")
    has_nearest = pl.col("nearest_distance").is_not_null()
    return named.with_columns(pl.when(has_nearest).then("nearest_name"))


# ----------------------------------------------------------------------------------------------
# Chart
# ----------------------------------------------------------------------------------------------


def _make_lines(clusters: pl.DataFrame, coordinates: Floats) -> pl.DataFrame:
    """Return the lines between drawn clusters and their nearest clusters, with the distances."""
    ends = clusters.select("nearest_place", distance="nearest_distance").with_row_index("place")
    ends = ends.filter(pl.col("nearest_place").is_not_null())
    start = coordinates[ends["place"].to_numpy()]
    stop = coordinates[ends["nearest_place"].to_numpy()]
    values = dict(zip(("x", "y", "x2", "y2"), (*start.T, *stop.T), strict=True))
    return pl.DataFrame({**values, "distance": ends["distance"]})


def _draw_map(
    clusters: pl.DataFrame, positions: _Map, n_clusters: int, options: PointOptions
) -> alt.LayerChart:
    """Return the map of the clusters."""
    import altair as alt

    xs, ys = (alt.Scale(domain=domain, nice=False) for domain in positions.domains)
    x = alt.X("x:Q", title="first dimension", scale=xs)
    y = alt.Y("y:Q", title="second dimension", scale=ys)
    tooltip = alt.Tooltip("distance:Q", title="distance", format=",.4~g")
    lines = (
        alt.Chart(inline_data(_make_lines(clusters, positions.coordinates)))
        .mark_rule(color=GRAY, strokeWidth=1.5)
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q", tooltip=tooltip)
    )
    layers = [lines, *_draw_circles(clusters, positions.coordinates, x, y)]
    title = make_title(
        f"Centroids of {count(n_clusters, 'cluster')}",
        f"{options.distance.name} distance; the map shows {positions.share:.0%} of the squared "
        "distances".replace("%", " %"),
        "lines lead to the nearest cluster, at the distance below the circle"
        if len(clusters) <= _MOST_WITH_DISTANCES
        else "lines lead to the nearest cluster",
        f"only the {len(clusters)} largest clusters" if len(clusters) < n_clusters else "",
    )
    chart = alt.LayerChart(layer=layers, title=title)
    return chart.properties(width=420, height=420)


def _draw_circles(
    clusters: pl.DataFrame, coordinates: Floats, x: alt.X, y: alt.Y
) -> list[alt.Chart]:
    """Return layers with the clusters' circles, names, and distances to the nearest clusters."""
    import altair as alt

    rows = clusters.select(
        "n", "mean_distance", "is_named", "nearest_distance", cluster="name", nearest="nearest_name"
    ).with_columns(x=coordinates[:, 0], y=coordinates[:, 1])
    base = alt.Chart(inline_data(rows)).encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("cluster:N", title="cluster"),
            alt.Tooltip("n:Q", title="points", format=","),
            alt.Tooltip("mean_distance:Q", title="mean distance to the centroid", format=",.4~g"),
            alt.Tooltip("nearest:N", title="nearest cluster"),
            alt.Tooltip("nearest_distance:Q", title="distance to it", format=",.4~g"),
        ],
    )
    most = int(rows["n"].max())  # type: ignore[arg-type]
    size = alt.Size(
        "n:Q",
        title="points",
        scale=alt.Scale(domain=[0, most], range=[0, 1200]),
        legend=alt.Legend(
            format=count_format(most),
            tickCount=4,
            tickMinStep=1,
            symbolFillColor=BLUE,
            symbolStrokeWidth=0,
        ),
    )
    color = alt.condition("datum.is_named", alt.value(BLUE), alt.value(GRAY))
    circles = base.mark_circle(opacity=0.45).encode(size=size, color=color)
    named = base.transform_filter("datum.is_named")
    layers = [circles, named.mark_text(fontWeight="bold", limit=90).encode(text="cluster:N")]
    if len(clusters) <= _MOST_WITH_DISTANCES:
        # The labels are below the circles, because lines cross.
        numbers = named.mark_text(color="#444444", fontSize=10, dy=25)
        layers.append(numbers.encode(text=alt.Text("nearest_distance:Q", format=",.3~g")))
    return layers
