"""interval_plot: scores with their confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import show_value
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.relative.intervals import external_intervals

from .charts import (
    BLUE,
    are_given,
    chart,
    count,
    inline_data,
    make_title,
    name_values,
    read_rows,
    table_of_call,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import duckdb

    from polars_clustereval.base.checks import Column, NoiseAs
    from polars_clustereval.external.information import NormalizedMethod

_INTERVALS = ("metric", "value", "lower", "upper")


@chart
def interval_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation,
    label: Column | None = None,
    cluster: Column | None = None,
    *,
    weight: Column | None = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    adjusted: bool = True,
    confidence: float = 0.95,
    metrics: Sequence[str] | None = None,
) -> alt.LayerChart:
    """Draw scores as points, with their confidence intervals as lines.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        The rows to evaluate. If you leave out label and cluster, pass the rows that
        external_intervals or bootstrap_intervals returns.
    label, cluster, weight, noise, noise_as, average_method, beta, adjusted, confidence
        As in external_intervals, which computes the intervals.
    metrics : sequence of str, optional
        Names of the metrics to draw, in this order. By default, these are the metrics whose best
        value is 1 and whose value and interval are between -1 and 1, in the order of the rows.
        Distances and entropies are left out, because 1 is not their best value.

    Returns
    -------
    altair.LayerChart
        A chart with one row per metric. Scores without an interval are left out, unless you list
        them in `metrics` or no score has an interval. If such scores are drawn, they appear as
        hollow points. A score without a value is left out. Unless you pass `metrics`, the subtitle
        states how many metrics are left out.

    Raises
    ------
    ClusterEvalError
        For the same reasons as external_intervals. The error is also raised if you pass only one of
        label and cluster, if the rows of intervals lack a column or come from several partitions,
        if metrics contains an unknown name, or if no score is left.
    ImportError
        If altair is not installed.

    Examples
    --------
    >>> from polars_clustereval import plots
    >>> cells = pl.DataFrame(
    ...     {"label": ["a", "b", "a", "b"], "cluster": [0, 0, 1, 1], "n": [45, 15, 5, 35]}
    ... )
    >>> chart = plots.interval_plot(cells, "label", "cluster", weight="n", metrics=["purity"])
    >>> chart.to_dict()["title"]["subtitle"]
    ['95 % confidence']
    """
    is_computed = are_given("external_intervals", label=label, cluster=cluster)
    if is_computed:
        table = table_of_call(external_intervals, frame, metrics=None)
        rows = table.select(_INTERVALS).collect()
    else:
        rows = read_rows(frame, "external_intervals", _INTERVALS, ["metric"], "label and cluster")
    chosen = _choose_metrics(rows, metrics)
    level = f"{100 * confidence:g} % confidence" if is_computed else ""
    return _draw_intervals(chosen, level, _left_out(rows, chosen, metrics))


def _choose_metrics(rows: pl.DataFrame, metrics: Sequence[str] | None) -> pl.DataFrame:
    """Return the rows of the metrics to draw, in order. Metrics without a value are left out."""
    if metrics is None:
        from polars_clustereval.catalogue import entries  # which the package imports when asked

        numbers = pl.col("value", "lower", "upper")
        is_other = pl.col("metric").is_in([x.name for x in entries().values() if x.best != "1"])
        in_range = pl.all_horizontal(numbers.is_between(-1, 1) | numbers.is_null())
        scores = rows.filter(in_range & ~is_other)
        certain = scores.filter(pl.col("lower").is_not_null())
        chosen = scores if certain.is_empty() else certain
    else:
        names = [metrics] if isinstance(metrics, str) else list(metrics)
        known = rows["metric"].to_list()
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ClusterEvalError(
                f"metrics: expected names of {', '.join(map(str, known))}, "
                f"got {show_value(unknown[0])}"
            )
        order = pl.DataFrame({"metric": names}, schema={"metric": rows.schema["metric"]})
        chosen = order.unique(maintain_order=True).join(rows, on="metric", maintain_order="left")
    chosen = chosen.filter(pl.col("value").is_not_null())
    if chosen.is_empty():
        raise ClusterEvalError("frame: expected at least one score with a value, got none")
    return chosen


def _left_out(rows: pl.DataFrame, chosen: pl.DataFrame, metrics: Sequence[str] | None) -> str:
    """Return a note on metrics that are left out and why, empty if the user chose the metrics."""
    n = len(rows) - len(chosen)
    reason = "without a value or an interval, beyond -1 or 1, or with another best value than 1"
    return f"not drawn: {count(n, 'metric')} {reason}" if n and metrics is None else ""


def _draw_intervals(rows: pl.DataFrame, level: str, left_out: str) -> alt.LayerChart:
    """Return the chart for the rows from external_intervals."""
    import altair as alt

    names = pl.Series("metric", name_values(rows["metric"], 60))
    numbered = rows.with_columns(names).with_row_index("row")
    base = alt.Chart(inline_data(numbered)).encode(
        y=alt.Y(
            "metric:N",
            title=None,
            sort=alt.EncodingSortField("row", op="min"),
            axis=alt.Axis(labelLimit=240, grid=True),
        ),
        tooltip=[
            alt.Tooltip("metric:N", title="metric"),
            alt.Tooltip("value:Q", title="value", format=",.4~g"),
            alt.Tooltip("lower:Q", title="lower limit", format=",.4~g"),
            alt.Tooltip("upper:Q", title="upper limit", format=",.4~g"),
        ],
    )
    axis_title = "score, and its interval"
    x = alt.X("value:Q", title=axis_title)
    bars = base.transform_filter("isValid(datum.lower)").mark_rule(color=BLUE, strokeWidth=2)
    fill = alt.condition("isValid(datum.lower)", alt.value(BLUE), alt.value("white"))
    points = base.mark_point(color=BLUE, opacity=1, size=45).encode(fill=fill)
    lines = bars.encode(x=alt.X("lower:Q", title=axis_title), x2="upper:Q")
    title = make_title("Scores with intervals", level, left_out)
    chart = alt.LayerChart(layer=[lines, points.encode(x=x)], title=title)
    return chart.properties(width=360, height=alt.Step(17))
