"""agreement_plot: how well the runs in each pair agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.relative.stability import run_agreement

from .charts import (
    SEQUENTIAL,
    are_given,
    chart,
    check_limit,
    count,
    inline_data,
    label_angle,
    make_title,
    name_values,
    read_rows,
    round_limit,
    show_name,
    table_of_call,
)

if TYPE_CHECKING:
    import altair as alt
    import duckdb

    from polars_clustereval.base.checks import Column, NoiseAs
    from polars_clustereval.external.information import NormalizedMethod

_PAIR_COLUMNS = ("run_1", "run_2", "n", "score")
# Cells have room for their scores up to this number of runs.
_MOST_WITH_SCORES = 11


@chart
def agreement_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation,
    id: Column | None = None,  # noqa: A002 -- the name in SQL
    run: Column | None = None,
    cluster: Column | None = None,
    *,
    metric: str = "adjusted_rand_score",
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    average_method: NormalizedMethod = "arithmetic",
    beta: float = 1.0,
    require_same_ids: bool = False,
    max_runs: int = 30,
) -> alt.LayerChart:
    """Draw the agreement between each pair of runs as a heat map.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        One row per run and id. If you leave out id, run and cluster, pass the rows that
        run_agreement returns.
    id, run, cluster, noise, noise_as, average_method, beta, require_same_ids
        As in run_agreement, which computes the scores.
    metric : str
        The name of a metric in external_report. If you pass rows from run_agreement, pass the
        metric that was used to compute their scores.
    max_runs : int
        The maximum number of runs to draw, from 2 to 60. If there are more runs, only the first
        runs are drawn, and pairs with any later run are left out.

    Returns
    -------
    altair.LayerChart
        A heat map with one cell per pair of runs. The vertical axis shows run_1, and the horizontal
        axis shows run_2. The order of the two runs matters if the metric is not symmetric. Pairs
        without a score are white.

    Raises
    ------
    ClusterEvalError
        For the same reasons as run_agreement. The error is also raised if you pass only some of id,
        run and cluster, if the rows from run_agreement lack a column or come from several
        partitions, if there are fewer than 2 runs, or if max_runs is out of range.
    ImportError
        If altair is not installed.

    Examples
    --------
    >>> from polars_clustereval import plots
    >>> runs = pl.DataFrame(
    ...     {
    ...         "run": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3],
    ...         "id": [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4],
    ...         "cluster": [0, 0, 1, 1, 7, 7, 5, 5, 0, 1, 1, 1],
    ...     }
    ... )
    >>> chart = plots.agreement_plot(runs, "id", "run", "cluster")
    >>> chart.to_dict()["title"]["text"]
    'Agreement of 3 runs'
    """
    limit = check_limit("max_runs", max_runs, 60, least=2)
    if are_given("run_agreement", id=id, run=run, cluster=cluster):
        table = table_of_call(run_agreement, frame)
        pairs = table.select(_PAIR_COLUMNS).collect()
    else:
        keys = ["run_1", "run_2"]
        pairs = read_rows(frame, "run_agreement", _PAIR_COLUMNS, keys, "id, run and cluster")
    if pairs.is_empty():
        raise ClusterEvalError(
            "run: expected at least 2 runs, got fewer, so there is no pair to compare"
        )
    return _draw_pairs(pairs, metric, limit)


def _draw_pairs(pairs: pl.DataFrame, metric: str, limit: int) -> alt.LayerChart:
    """Return a heat map of the rows from run_agreement."""
    import altair as alt

    runs = pl.concat([pairs["run_1"], pairs["run_2"].rename("run_1")]).unique().sort()
    names = name_values(runs.head(limit))
    rows = _name_runs(pairs, runs.head(limit), names)
    n_shown = len(names)
    step = max(12, min(44, 400 // n_shown))
    base = alt.Chart(inline_data(rows)).encode(
        x=alt.X(
            "run_2:N",
            title="second run",
            sort=alt.EncodingSortField("column", op="min"),
            axis=alt.Axis(labelAngle=label_angle(names), labelLimit=150, orient="bottom"),
        ),
        y=alt.Y(
            "run_1:N",
            title="first run",
            sort=alt.EncodingSortField("row", op="min"),
            axis=alt.Axis(labelLimit=150, titlePadding=16),
        ),
        tooltip=[
            alt.Tooltip("run_1:N", title="first run"),
            alt.Tooltip("run_2:N", title="second run"),
            alt.Tooltip("n:Q", title="ids in both", format=","),
            alt.Tooltip("score:Q", title="score", format=",.4~f"),
        ],
    )
    low, high = _domain_of(rows["score"])
    scale = alt.Scale(range=[*SEQUENTIAL], interpolate="lab", domain=[low, high])
    color = alt.Color("score:Q", scale=scale, legend=alt.Legend(title="score", tickCount=5))
    defined = base.transform_filter("isValid(datum.score)")
    layers = [defined.mark_rect().encode(color=color)]
    if n_shown <= _MOST_WITH_SCORES:
        ink = alt.condition(
            f"datum.score > {(low + high) / 2}", alt.value("white"), alt.value("black")
        )
        text = alt.Text("score:Q", format=".2f" if high <= 1 else ",.3~g")
        layers.append(defined.mark_text(fontSize=11).encode(text=text, color=ink))
    note = f"the first {n_shown} runs only" if n_shown < len(runs) else ""
    title = make_title(f"Agreement of {count(len(runs), 'run')}", show_name(metric, 60), note)
    chart = alt.LayerChart(layer=layers, title=title)
    return chart.properties(width=alt.Step(step), height=alt.Step(step))


def _name_runs(pairs: pl.DataFrame, runs: pl.Series, names: list[str]) -> pl.DataFrame:
    """Return the pairs with the names of their runs, and their places in `row` and `column`."""
    table = pl.DataFrame({"value": runs, "name": names}).with_row_index("place")
    first = table.select(run_1="value", first="name", row="place")
    second = table.select(run_2="value", second="name", column="place")
    rows = pairs.join(first, on="run_1", nulls_equal=True)
    rows = rows.join(second, on="run_2", nulls_equal=True).sort("row", "column")
    return rows.select("row", "column", "n", "score", run_1="first", run_2="second")


def _domain_of(scores: pl.Series) -> tuple[float, float]:
    """Return the domain of the color scale, which includes all scores and the range from 0 to 1."""
    finite = scores.drop_nulls().cast(pl.Float64)
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    return min(0.0, round_limit(low)), max(1.0, round_limit(high))  # type: ignore[arg-type]
