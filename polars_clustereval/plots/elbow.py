"""elbow_plot: sums of squares and other criteria for each number of clusters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.relative.choosing_k import choose_k, elbow

from .charts import (
    BLUE,
    VERMILION,
    are_given,
    chart,
    count,
    inline_data,
    make_title,
    read_rows,
    table_of_call,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import duckdb
    import polars as pl

    from polars_clustereval.base.checks import Column, NoiseAs
    from polars_clustereval.internal.distances import Center, DistanceName
    from polars_clustereval.internal.vectors import Missing, Vector
    from polars_clustereval.relative.choosing_k import Silhouette

#: The curves in which the knee is marked: their titles, by the columns of elbow.
_SUMS_OF_SQUARES = {
    "ssw": "within-cluster sum of squares (ssw)",
    "explained_variance": "explained variance, a share of 1",
}
#: Criteria that have their own curve. The other criteria of choose_k are about the knee of ssw.
_CRITERIA = (
    *("silhouette", "calinski_harabasz_score", "davies_bouldin_score"),
    *("krzanowski_lai_index", "hartigan_index", "jump", "bic"),
)
#: The columns that choose_k reads.
_KNEE_COLUMNS = ("second_difference", "chord_distance", "kneedle", "is_knee")
_ELBOW_COLUMNS_DRAWN = ("k", "n_clusters", *_SUMS_OF_SQUARES, *_CRITERIA, *_KNEE_COLUMNS)


@chart
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
    silhouette: Silhouette = "none",
    missing: Missing = "error",
) -> alt.ConcatChart:
    """Draw ssw and other criteria against the number of clusters, and mark the recommended k.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        One row for each combination of point and k. If you leave out vector, cluster and k, pass
        the rows that elbow returns.
    vector, cluster, k, distance, p, center, noise, noise_as, weights, silhouette, missing
        As in elbow, which computes the curves.

    Returns
    -------
    altair.ConcatChart
        The curves of ssw and explained_variance are marked at the first knee that Kneedle finds.
        The other curves show silhouette, calinski_harabasz_score, davies_bouldin_score,
        krzanowski_lai_index, hartigan_index, jump and bic. Each of these curves is marked at the k
        that choose_k recommends for this criterion. A curve without any value is left out.

    Raises
    ------
    ClusterEvalError
        For the same reasons as elbow. The error is also raised if you pass only some of vector,
        cluster and k, if the rows from elbow lack a column or come from several partitions, or if
        there are no rows.
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
    ['no knee by Kneedle', 'recommended by the others: k = 2 (5 criteria), 3 (1)']
    """
    if are_given("elbow", vector=vector, cluster=cluster, k=k):
        curve = table_of_call(elbow, frame)
        rows = curve.select(_ELBOW_COLUMNS_DRAWN).collect()
    else:
        rows = read_rows(frame, "elbow", _ELBOW_COLUMNS_DRAWN, ["k"], "vector, cluster and k")
    if rows.is_empty():
        raise ClusterEvalError("frame: expected at least one value of k, got no rows")
    return _draw_curves(rows.sort("k"))


def _draw_curves(rows: pl.DataFrame) -> alt.ConcatChart:
    """Return a chart with one panel per curve, drawn from the rows of elbow."""
    import altair as alt

    choices = dict(choose_k(rows).select("criterion", "k").iter_rows())
    titles = _SUMS_OF_SQUARES | {name: name for name in _CRITERIA}
    drawn = {name: title for name, title in titles.items() if rows[name].count()}
    panels = [
        _draw_curve(rows, name, title, choices.get(name, choices["kneedle"]))
        for name, title in drawn.items()
    ]
    knee = choices["kneedle"]
    chart: alt.ConcatChart = alt.concat(
        *panels,
        columns=2,
        data=inline_data(rows.select("k", "n_clusters", *drawn)),
        title=make_title(
            "Choice of the number of clusters",
            "no knee by Kneedle" if knee is None else f"knee at k = {knee} by Kneedle (diamond)",
            _count_choices([choices[name] for name in drawn if name in choices]),
        ),
    )
    return chart


def _count_choices(choices: Sequence[int | None]) -> str:
    """Return a text on how many criteria recommend each k, empty if none does."""
    counts = Counter(k for k in choices if k is not None).most_common()
    if not counts:
        return ""
    (first, n), *others = sorted(counts, key=lambda pair: (-pair[1], pair[0]))
    more = "".join(f", {k} ({n_others})" for k, n_others in others)
    return f"recommended by the others: k = {first} ({count(n, 'criterion', 'criteria')}){more}"


def _draw_curve(rows: pl.DataFrame, field: str, title: str, choice: int | None) -> alt.LayerChart:
    """Return the curve of a column of `rows` over k, with a mark at the chosen k."""
    import altair as alt

    x = alt.X(
        "k:Q",
        title="number of clusters k",
        axis=alt.Axis(tickMinStep=1, format=",d", grid=False),
        scale=alt.Scale(zero=False, nice=False, padding=10),
    )
    largest = float(rows[field].abs().max() or 0)  # type: ignore[arg-type]
    # Large numbers get suffixes such as k and M; for small numbers, these would be unusual.
    axis = alt.Axis(format="~s") if largest >= 10_000 else alt.Axis()
    # If the axis started at 0, the part of the curve with the knee would look flat.
    y = alt.Y(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(zero=False))
    base = alt.Chart().encode(
        x=x,
        y=y,
        tooltip=[
            alt.Tooltip("k:Q", title="number of clusters k", format=",d"),
            alt.Tooltip("n_clusters:Q", title="clusters that are not empty", format=",d"),
            alt.Tooltip(f"{field}:Q", title=field, format=",.6~g"),
        ],
    )
    layers = [
        base.mark_line(color=BLUE),
        base.mark_point(color=BLUE, filled=True, opacity=1),
    ]
    if choice is not None:
        chosen = base.transform_filter(f"datum.k === {choice}")
        layers += [
            chosen.mark_rule(color=VERMILION, strokeDash=[4, 4]).encode(y=alt.Y()),
            chosen.mark_point(color=VERMILION, filled=True, opacity=1, shape="diamond", size=160),
        ]
    return alt.LayerChart(layer=layers).properties(width=230, height=180)
