"""silhouette_plot: the silhouettes of all points, sorted within their clusters."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.silhouette import silhouette_samples

from .charts import (
    GRAY,
    chart,
    check_limit,
    color_cluster,
    count,
    fold_groups,
    inline_data,
    make_title,
    table_of_call,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import duckdb

    from polars_clustereval.base.checks import Column, NoiseAs
    from polars_clustereval.internal.distances import DistanceName
    from polars_clustereval.internal.vectors import Missing, Vector

    from .charts import Groups

# The number of bars of the whole chart, about one per pixel, and of a cluster that has enough
# points.
_MOST_BARS = 600
_LEAST_BARS = 8
# Heights in pixels. A cluster has room for its name, and the remaining height is divided by size.
_NAME_HEIGHT = 14
_HEIGHT_PER_CLUSTER = 20
_LEAST_HEIGHT = 320
_SPACE = 3


@chart
def silhouette_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation,
    vector: Vector,
    cluster: Column,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    max_clusters: int = 30,
    missing: Missing = "error",
) -> alt.LayerChart:
    """Draw the silhouettes of all points, sorted within their clusters, and a line at their mean.

    Each bar represents a single point or several points in the same cluster that are adjacent when
    sorted by silhouette. For several points, the bar shows their mean. The chart has at most 600
    bars, divided among the clusters by size. A cluster with at least 5 points has at least 5 bars.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        One point per row.
    vector, cluster, distance, p, noise, noise_as, weights, missing
        As in silhouette_samples, which computes the silhouettes.
    max_clusters : int
        The maximum number of clusters to draw, from 1 to 100. The largest clusters are drawn, and
        the others are combined into one group named "other".

    Returns
    -------
    altair.LayerChart
        Clusters are sorted from top to bottom. Clusters without a name, such as noise points that
        count as singletons, are shown as "(none)". Larger clusters are drawn taller. The first
        twelve clusters have different colors, and the next twelve have the same colors in a darker
        shade. After that, the colors repeat.

    Raises
    ------
    ClusterEvalError
        For the same reasons as silhouette_samples. The error is also raised if max_clusters is out
        of range, or if no silhouette is defined because there are fewer than 2 clusters or every
        point is a cluster of its own.
    ImportError
        If altair is not installed.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis, doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> from polars_clustereval import plots
    >>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
    >>> chart = plots.silhouette_plot(points, ["x"], "cluster")
    >>> chart.to_dict()["title"]["text"]
    'Silhouettes of 5 points in 2 clusters'
    """
    limit = check_limit("max_clusters", max_clusters, 100)
    samples = table_of_call(silhouette_samples, frame)
    return draw_samples(samples.select("cluster", "silhouette").collect(), distance, limit)


def draw_samples(points: pl.DataFrame, distance: str, limit: int) -> alt.LayerChart:
    """Return the chart of silhouette_plot for points with cluster and silhouette."""
    if points["silhouette"].count() == 0:
        raise ClusterEvalError(
            "cluster: expected at least 2 clusters and fewer clusters than points, got "
            f"{points['cluster'].n_unique()} clusters of {len(points)} points, "
            "for which no silhouette is defined"
        )
    groups = fold_groups(points, "cluster", pl.len(), limit)
    bars = _make_bars(groups.number(points, "cluster", "place"), len(groups.names))
    places = _place_clusters(bars, groups)
    return _draw_silhouettes(_place_bars(bars, places), places, groups, distance)


# ----------------------------------------------------------------------------------------------
# Bars
# ----------------------------------------------------------------------------------------------


def _make_bars(points: pl.DataFrame, n_groups: int) -> pl.DataFrame:
    """Return the bars of points with a group number, place, and a silhouette.

    The columns are place, bar (its number in the group), n_bars (in the group), points, and the
    mean, least and greatest silhouette in the bar.
    """
    least = min(_LEAST_BARS, _MOST_BARS // n_groups)
    spare = _MOST_BARS - least * n_groups
    size = pl.len().cast(pl.Int64).over("place")
    rank = pl.col("silhouette").rank("ordinal", descending=True).over("place").cast(pl.Int64) - 1
    n_bars = pl.min_horizontal(size, least + size * spare // len(points))
    ranked = points.select("place", "silhouette", rank=rank, size=size, n_bars=n_bars)
    numbered = ranked.with_columns(bar=pl.col("rank") * pl.col("n_bars") // pl.col("size"))
    silhouette = pl.col("silhouette")
    bars = numbered.group_by("place", "bar", "n_bars").agg(
        points=pl.len().cast(pl.Int64),
        mean=silhouette.mean(),
        least=silhouette.min(),
        greatest=silhouette.max(),
    )
    return bars.sort("place", "bar")


def _place_clusters(bars: pl.DataFrame, groups: Groups) -> pl.DataFrame:
    """Return a row per group: place, cluster, color, points, mean, top and height in pixels."""
    weighted = (pl.col("mean") * pl.col("points")).sum() / pl.col("points").sum()
    sizes = bars.group_by("place").agg(mean=weighted, points=pl.col("points").sum()).sort("place")
    n = len(sizes)
    total = max(_LEAST_HEIGHT, _HEIGHT_PER_CLUSTER * n)
    shares = sizes["points"].to_numpy() / sizes["points"].sum()
    heights = _NAME_HEIGHT + shares * (total - (_NAME_HEIGHT + _SPACE) * n)
    tops = np.cumsum(heights + _SPACE) - heights - _SPACE
    colors = [color_cluster(place) for place in range(n)]
    if groups.n_folded:
        colors[-1] = GRAY
    return sizes.with_columns(
        pl.Series("cluster", groups.names),
        pl.Series("color", colors),
        pl.Series("top", tops),
        pl.Series("height", heights),
    )


def _place_bars(bars: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Return the bars with edges in pixels; those of a cluster have the same thickness."""
    joined = bars.join(places.select("place", "cluster", "color", "top", "height"), on="place")
    step = pl.col("height") / pl.col("n_bars")
    return joined.sort("place", "bar").select(
        *("cluster", "color", "points", "mean", "least", "greatest"),
        top=(pl.col("top") + step * pl.col("bar")).round(2),
        bottom=(pl.col("top") + step * (pl.col("bar") + 1)).round(2),
    )


# ----------------------------------------------------------------------------------------------
# Chart
# ----------------------------------------------------------------------------------------------


def _draw_silhouettes(
    bars: pl.DataFrame, places: pl.DataFrame, groups: Groups, distance: str
) -> alt.LayerChart:
    """Return the chart, which contains the bars, the cluster names and the mean silhouette."""
    import altair as alt

    n = int(places["points"].sum())
    mean = float(places.select((pl.col("mean") * pl.col("points")).sum()).item() / n)
    height = float((places["top"] + places["height"]).max())  # type: ignore[arg-type]
    # The axis ends at the largest silhouette, in steps of a tenth, because with low silhouettes,
    # all bars would be short.
    low = min(0.0, floor(bars.select(pl.col("least").min()).item() * 10) / 10)
    high = max(0.1, ceil(bars.select(pl.col("greatest").max()).item() * 10) / 10)
    x = alt.X("mean:Q", title="silhouette of a point", scale=alt.Scale(domain=[low, high]))
    pixels = alt.Scale(domain=[height, 0], nice=False, zero=False)
    rule = (
        alt.Chart(inline_data(pl.DataFrame({"mean": [mean]})))
        .mark_rule(strokeDash=[6, 4], strokeWidth=1.5)
        .encode(x=x, tooltip=alt.Tooltip("mean:Q", title="mean of all points", format=".4f"))
    )
    n_clusters = len(groups.places)
    shown = n_clusters - groups.n_folded
    title = make_title(
        f"Silhouettes of {count(n, 'point')} in {count(n_clusters, 'cluster')}"
        + (f", the {shown} largest and the others as one" if groups.n_folded else ""),
        f"{distance.lower()} distance, mean {mean:.3f} (dashed line)",
        "" if len(bars) == n else "each bar is the mean of a quantile of the points of its cluster",
    )
    layers = [_draw_bars(bars, x, pixels), _draw_names(places, pixels), rule]
    return alt.LayerChart(layer=layers, title=title).properties(width=420, height=height)


def _draw_bars(bars: pl.DataFrame, x: alt.X, pixels: alt.Scale) -> alt.Chart:
    """Return a layer that draws the bars as rectangles, from top to bottom in `pixels`."""
    import altair as alt

    chart: alt.Chart = (
        alt.Chart(inline_data(bars))
        .mark_rect(opacity=1, strokeWidth=0.5)
        .encode(
            x=x,
            x2=alt.X2Datum(0),
            y=alt.Y("top:Q", axis=None, scale=pixels),
            y2="bottom:Q",
            color=alt.Color("color:N", scale=None, legend=None),
            stroke=alt.Stroke("color:N", scale=None, legend=None),
            tooltip=[
                alt.Tooltip("cluster:N", title="cluster"),
                alt.Tooltip("points:Q", title="points in the bar", format=","),
                alt.Tooltip("mean:Q", title="silhouette (mean)", format=".4f"),
                alt.Tooltip("least:Q", title="least", format=".4f"),
                alt.Tooltip("greatest:Q", title="greatest", format=".4f"),
            ],
        )
    )
    return chart


def _draw_names(places: pl.DataFrame, pixels: alt.Scale) -> alt.Chart:
    """Return a layer with the name of each cluster at the middle of its bars, in `pixels`."""
    import altair as alt

    middle = pl.col("top") + pl.col("height") / 2
    labels = places.select("cluster", "points", "mean", middle=middle.round(2))
    chart: alt.Chart = (
        alt.Chart(inline_data(labels))
        .mark_text(align="right", baseline="middle", limit=170)
        .encode(
            x=alt.value(-6),
            y=alt.Y("middle:Q", axis=None, scale=pixels),
            text="cluster:N",
            tooltip=[
                alt.Tooltip("cluster:N", title="cluster"),
                alt.Tooltip("points:Q", title="points", format=","),
                alt.Tooltip("mean:Q", title="mean silhouette", format=".4f"),
            ],
        )
    )
    return chart
