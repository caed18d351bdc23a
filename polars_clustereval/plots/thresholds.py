"""threshold_plot: scores and cluster sizes at each threshold of the edges' weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.errors import ClusterEvalError

from .charts import (
    BLUE,
    GRAY,
    VERMILION,
    chart,
    check_limit,
    count,
    count_format,
    inline_data,
    make_title,
    read_rows,
    to_lazy,
)

if TYPE_CHECKING:
    import altair as alt
    import duckdb

#: The scores, and the green of the palette of Okabe and Ito in the middle.
_SCORE_COLORS = {"pair_precision": BLUE, "pair_f_score": "#009E73", "pair_recall": VERMILION}
_COUNT_TITLES = {
    "largest_cluster_size": "ids in the largest cluster",
    "n_clusters": "number of clusters",
}

#: A curve with more rows has no mark at each of them.
_MOST_MARKS = 50


@chart
def threshold_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation, *, max_thresholds: int = 300
) -> alt.ConcatChart:
    """Draw the scores and the sizes of clusters against the threshold, and mark the best F score.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        The rows that threshold_report returns.
    max_thresholds : int
        If there are more thresholds, only about this many are drawn, from 2 to 1000, evenly spaced
        in their order. The best one is always among them.

    Returns
    -------
    altair.ConcatChart
        The curves of pair_precision, pair_recall and pair_f_score, in which the highest
        pair_f_score is marked, and below them those of largest_cluster_size and n_clusters. If the
        largest cluster jumps, a single link has joined two large clusters. Without labels, there
        are only the last two.

    Raises
    ------
    ClusterEvalError
        If the rows lack a column or come from several partitions, or if there are no rows.
    ImportError
        If altair is not installed.

    Examples
    --------
    >>> from polars_clustereval import plots
    >>> people = pl.DataFrame({"id": ["a", "b", "c", "d"], "person": [1, 1, 1, 2]})
    >>> rows = [("a", "b", 0.9), ("b", "c", 0.8), ("c", "d", 0.3)]
    >>> matches = pl.DataFrame(rows, schema=["left", "right", "probability"], orient="row")
    >>> columns = ("id", matches, "left", "right", "probability", "person")
    >>> chart = plots.threshold_plot(ce.threshold_report(people, *columns))
    >>> chart.to_dict()["title"]["subtitle"]
    ['highest F score 1 at the threshold 0.8 (diamond)']
    """
    limit = check_limit("max_thresholds", max_thresholds, 1000, 2)
    columns = ("threshold", *_SCORE_COLORS, *_COUNT_TITLES)
    names = to_lazy(frame).collect_schema().names()
    # Partitions rarely have a threshold in common, so their columns tell that there are several.
    keys = names[: names.index("threshold")] if "threshold" in names else []
    keys = [] if {*keys} & {*columns} else keys
    rows = read_rows(frame, "threshold_report", [*keys, *columns], ["threshold"])
    if rows.is_empty():
        raise ClusterEvalError("frame: expected at least one threshold, got no rows")
    if keys and rows.select(keys).n_unique() > 1:
        raise ClusterEvalError(
            f"frame: expected rows of threshold_report with one value of {', '.join(keys)}, got "
            "several; keep only the rows of one partition"
        )
    rows = rows.select(columns)
    score = pl.col("pair_f_score")
    # The lowest of several thresholds is marked.
    is_best = (pl.int_range(pl.len()) == score.arg_max()) & score.max().is_not_null()
    rows = rows.sort("threshold").with_columns(is_best=is_best)
    place, last = pl.int_range(pl.len()), len(rows) - 1
    step = -(-last // (limit - 1)) if last else 1
    drawn = rows.filter((place % step == 0) | (place == last) | pl.col("is_best"))
    return _draw_panels(drawn, len(rows))


def _draw_panels(rows: pl.DataFrame, n_thresholds: int) -> alt.ConcatChart:
    """Return the panels of some rows of threshold_report, of n_thresholds in all."""
    import altair as alt

    x = alt.X(
        "threshold:Q",
        title="threshold",
        axis=alt.Axis(grid=False),
        scale=alt.Scale(zero=False, nice=False, padding=10),
    )
    base = alt.Chart().encode(x=x)
    is_marked = len(rows) <= _MOST_MARKS
    scores = [name for name in _SCORE_COLORS if rows[name].count()]
    panels = [_draw_scores(base, scores, is_marked=is_marked)] if scores else []
    for name, title in _COUNT_TITLES.items():
        axis = alt.Axis(format=count_format(max(rows[name].to_list())), tickMinStep=1)
        y = alt.Y(f"{name}:Q", title=title, axis=axis)
        curve = _draw_line(base.encode(y=y), name, is_marked=is_marked, color=BLUE)
        layers = [curve, _draw_rule(base)]
        panels.append(alt.LayerChart(layer=layers).properties(width=420, height=110))
    best = rows.filter("is_best").select("pair_f_score", "threshold").rows()
    notes = [f"highest F score {f:.3g} at the threshold {x:.6g} (diamond)" for f, x in best]
    if len(rows) < n_thresholds:
        notes.append(f"{len(rows):,} of them drawn")
    chart: alt.ConcatChart = alt.concat(
        *panels,
        columns=1,
        data=inline_data(rows),
        title=make_title(f"Clusters at {count(n_thresholds, 'threshold')}", *notes),
    )
    return chart


def _draw_line(base: alt.Chart, field: str, *, is_marked: bool, **mark: Any) -> alt.Chart:
    """Return the curve of a field, whose rows have a mark each if they are few."""
    import altair as alt

    tooltip = [
        alt.Tooltip("threshold:Q", format=",.6~g"),
        alt.Tooltip(f"{field}:Q", format=",.4~g"),
    ]
    curve: alt.Chart = base.mark_line(point=is_marked and {"size": 25}, **mark)
    return curve.encode(tooltip=tooltip)


def _draw_rule(base: alt.Chart) -> alt.Chart:
    """Return a line at the highest F score."""
    best = base.transform_filter("datum.is_best")
    rule: alt.Chart = best.mark_rule(color=GRAY, strokeDash=[4, 4])
    return rule


def _draw_scores(base: alt.Chart, scores: list[str], *, is_marked: bool) -> alt.LayerChart:
    """Return the curves of the scores, and a mark at the highest F score."""
    import altair as alt

    color = alt.Color(
        "score:N",
        scale=alt.Scale(domain=scores, range=[_SCORE_COLORS[name] for name in scores]),
        legend=alt.Legend(title=None, orient="top"),
    )
    y = alt.Y("value:Q", title="score", scale=alt.Scale(domain=[0, 1]))
    curves = base.transform_fold([*scores], as_=["score", "value"]).encode(y=y, color=color)
    best = base.transform_filter("datum.is_best").encode(y=alt.Y("pair_f_score:Q", title="score"))
    mark = best.mark_point(
        color=_SCORE_COLORS["pair_f_score"], filled=True, opacity=1, shape="diamond", size=160
    )
    layers = [_draw_line(curves, "value", is_marked=is_marked), _draw_rule(base), mark]
    return alt.LayerChart(layer=layers).properties(width=420, height=200)
