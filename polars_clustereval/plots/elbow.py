"""elbow_plot: within-cluster sums of squares by number of clusters, and the knee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.relative.choosing_k import elbow

from .charts import (
    BLUE,
    VERMILION,
    are_given,
    inline_data,
    make_title,
    read_rows,
    require_altair,
    to_lazy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import duckdb

    from polars_clustereval.base.checks import Column, NoiseAs
    from polars_clustereval.internal.distances import Center, DistanceName
    from polars_clustereval.internal.vectors import Missing, Vector

_CURVE_COLUMNS = ("k", "n", "n_clusters", "ssw", "explained_variance", "is_knee")


def elbow_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation,
    vector: Vector | None = None,
    cluster: Column | None = None,
    k: Column | None = None,
    *,
    distance: DistanceName = "euclidean",
    p: float = 2,
    center: Center = "mean",
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    weights: Sequence[float] | None = None,
    missing: Missing = "error",
) -> alt.HConcatChart:
    """Within-cluster sum of squares and explained variance by number of clusters, and the knee.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        One row per point and value of k; or, without vector, cluster and k, rows of elbow.
    vector, cluster, k, distance, p, center, noise, noise_as, weights, missing
        As in elbow, which computes the curve.

    Returns
    -------
    altair.HConcatChart
        The curve of ssw, and that of explained_variance unless it is NULL, as for distances other
        than euclidean. The first knee by Kneedle is marked in both.

    Raises
    ------
    ClusterEvalError
        As elbow; if only some of vector, cluster and k are given, a frame of rows of elbow lacks a
        column or has several partitions, or there are no rows.
    ImportError
        If altair is not installed.

    Examples
    --------
    >>> from polars_clustereval import plots
    >>> sweep = pl.DataFrame(
    ...     {
    ...         "x": [0, 2, 9, 11] * 3,
    ...         "k": [1] * 4 + [2] * 4 + [3] * 4,
    ...         "cluster": [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 2],
    ...     }
    ... )
    >>> chart = plots.elbow_plot(sweep, ["x"], "cluster", "k")
    >>> chart.to_dict()["title"]["subtitle"]
    ['no knee by Kneedle']
    """
    require_altair()
    if are_given("elbow", vector=vector, cluster=cluster, k=k):
        curve = elbow(
            to_lazy(frame),
            vector,  # type: ignore[arg-type]
            cluster,  # type: ignore[arg-type]
            k,  # type: ignore[arg-type]
            distance=distance,
            p=p,
            center=center,
            noise=noise,
            noise_as=noise_as,
            weights=weights,
            missing=missing,
        )
        rows = curve.select(_CURVE_COLUMNS).collect()
    else:
        rows = read_rows(frame, "elbow", _CURVE_COLUMNS, ["k"], "vector, cluster and k")
    if rows.is_empty():
        raise ClusterEvalError("frame: expected at least one value of k, got no rows")
    return _draw_curves(rows.sort("k").with_columns(pl.col("is_knee").fill_null(value=False)))


def _draw_curves(rows: pl.DataFrame) -> alt.HConcatChart:
    """Return the panels of the curves, from rows of elbow."""
    import altair as alt

    largest = float(rows["ssw"].max() or 0)  # type: ignore[arg-type]
    title = "within-cluster sum of squares (ssw)"
    # Suffixes such as k and M for large numbers; for small ones they would be unusual.
    axis = alt.Axis(format="~s") if largest >= 10_000 else alt.Axis()
    panels = [_draw_curve("ssw", title, axis)]
    if rows["explained_variance"].count():
        panels.append(
            _draw_curve("explained_variance", "explained variance, a share of 1", alt.Axis())
        )
    knees = rows.filter("is_knee")["k"].to_list()
    note = f"knee at k = {knees[0]} by Kneedle (diamond)" if knees else "no knee by Kneedle"
    chart: alt.HConcatChart = alt.hconcat(
        *panels, data=inline_data(rows), title=make_title("Choice of the number of clusters", note)
    )
    return chart


def _draw_curve(field: str, title: str, axis: alt.Axis) -> alt.LayerChart:
    """Return the curve of a field by k, with the knee marked; `axis` is that of the field."""
    import altair as alt

    x = alt.X(
        "k:Q",
        title="number of clusters k",
        axis=alt.Axis(tickMinStep=1, format=",d", grid=False),
        scale=alt.Scale(zero=False, nice=False, padding=10),
    )
    # From 0, the part of the curve in which the knee is would be flat.
    y = alt.Y(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(zero=False))
    base = alt.Chart().encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("k:Q", title="number of clusters k", format=",d"),
            alt.Tooltip("n_clusters:Q", title="clusters that are not empty", format=",d"),
            alt.Tooltip("ssw:Q", title="ssw", format=",.6~g"),
            alt.Tooltip("explained_variance:Q", title="explained variance", format=".4f"),
        ],
    )
    knee = base.transform_filter("datum.is_knee")
    chart = alt.LayerChart(
        layer=[
            base.mark_line(color=BLUE),
            base.mark_point(color=BLUE, filled=True, opacity=1),
            knee.mark_rule(color=VERMILION, strokeDash=[4, 4]).encode(y=alt.Y()),
            knee.mark_point(color=VERMILION, filled=True, opacity=1, shape="diamond", size=160),
        ]
    )
    return chart.properties(width=230, height=230)
