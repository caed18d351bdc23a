"""transition_plot: how the ids of clusters flow from each run to the next."""

from __future__ import annotations

from itertools import count as count_up
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.checks import check_groupable
from polars_clustereval.base.tables import pass_arguments_to
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.relative.transitions import run_transitions, transition_overlaps

from .charts import (
    GRAY,
    chart,
    check_limit,
    color_cluster,
    count,
    fold_groups,
    inline_data,
    make_title,
    name_values,
    to_lazy,
)

if TYPE_CHECKING:
    import altair as alt
    import duckdb

    from polars_clustereval.base.checks import Column, NoiseAs

# Sizes in pixels: of the chart, of a run's ids without the gaps between its clusters, and of bars.
_FLOW_WIDTH = 520
_IDS_HEIGHT = 300
_FLOW_GAP = 16
_CLUSTER_WIDTH = 12


@chart
def transition_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation,
    id: Column,  # noqa: A002 -- the name in SQL
    run: Column,
    cluster: Column,
    *,
    threshold: float = 0.5,
    min_share: float = 0.0,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    max_clusters: int = 12,
    max_runs: int = 8,
) -> alt.LayerChart:
    """Draw how the ids of the clusters flow from each run to the next (an alluvial diagram).

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        One row per run and id. The runs are drawn in sorted order.
    id, run, cluster
        As in run_agreement.
    threshold, min_share, noise, noise_as
        As in run_transitions, which compares each run with the next.
    max_clusters : int
        The maximum number of clusters to draw in each run, from 1 to 30. The largest clusters are
        drawn, and the others are combined into one gray group named "other".
    max_runs : int
        The maximum number of runs to draw, from 2 to 20. If there are more runs, only the first
        runs are drawn.

    Returns
    -------
    altair.LayerChart
        Each cluster is a bar whose height shows its number of ids, and each band shows the ids that
        two clusters have in common. A band is pale if its clusters are not linked. Where a bar has
        no band, its ids have left after the run, or joined in it. A cluster that was kept, has
        grown or has shrunk keeps its color, and every other cluster has a new color. Noise that
        counts as singletons is not drawn.

    Raises
    ------
    ClusterEvalError
        For the same reasons as run_transitions. The error is also raised if a run is NULL, if there
        are fewer than 2 runs, or if max_clusters or max_runs is out of range.
    ImportError
        If altair is not installed.

    Examples
    --------
    Cluster a lives on as x, and b is split:

    >>> from polars_clustereval import plots
    >>> runs = pl.DataFrame(
    ...     {
    ...         "night": [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2],
    ...         "id": [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6],
    ...         "cluster": ["a", "a", "b", "b", "b", "b", "x", "x", "y", "y", "z", "z"],
    ...     }
    ... )
    >>> chart = plots.transition_plot(runs, "id", "night", "cluster")
    >>> chart.to_dict()["title"]["text"]
    'Clusters of 2 runs'
    """
    limit = check_limit("max_clusters", max_clusters, 30)
    most = check_limit("max_runs", max_runs, 20, least=2)
    lazy = to_lazy(frame)
    columns = {"id": id, "run": run, "cluster": cluster}
    values = [check_groupable(lazy, column, name) for name, column in columns.items()]
    rows = lazy.select(values).filter(pl.col("cluster").is_not_null())
    runs = rows.select("run").unique().sort("run").collect()["run"]
    if runs.null_count():
        raise ClusterEvalError("run: expected a value in every row, got NULL")
    if len(runs) < 2:
        raise ClusterEvalError(
            "run: expected at least 2 runs, got fewer, so there is no pair to compare"
        )
    shown = runs.head(most)
    numbers = pl.LazyFrame({"run": shown, "place": range(len(shown))})
    transitions, overlaps = _compare_runs(rows.join(numbers, on="run").drop("run"))
    if transitions.is_empty():
        raise ClusterEvalError("cluster: expected a cluster that is not noise, got none")
    bars, bands = _group_clusters(transitions, overlaps, limit)
    bars = _stack_clusters(bars, bands)
    title = make_title(
        f"Clusters of {count(len(runs), 'run')}",
        f"the first {most} runs only" if most < len(runs) else "",
        f"the {limit} largest clusters of a run, the others as one" * bars["is_other"].any(),
        "" if bands["is_link"].all() else "pale: ids that two clusters share without being linked",
    )
    return _draw_flows(bars, _stack_flows(bars, bands), title, name_values(shown))


# ----------------------------------------------------------------------------------------------
# Bars and bands
# ----------------------------------------------------------------------------------------------


def _compare_runs(rows: pl.LazyFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the transitions and overlaps from each run to the next, by the place of the run.

    The transitions include those from nothing to the first run, and from the last run to nothing.
    """
    frames = {"frame_before": rows, "frame_after": rows.with_columns(pl.col("place") - 1)}
    columns = {"id": "id", "cluster": "cluster", "partition_by": "place"}
    # They are collected together, so that the rows are read once for both.
    transitions, overlaps = pl.collect_all(
        [
            pass_arguments_to(run_transitions, **frames, **columns),
            pass_arguments_to(transition_overlaps, **frames, **columns),
        ]
    )
    return transitions, overlaps


def _group_clusters(
    transitions: pl.DataFrame, overlaps: pl.DataFrame, limit: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a row per bar and a row per band, with the numbers of groups of clusters.

    A bar has place, group, name, is_other, n and height. A band has place, source, target, is_link,
    n, height and lives_on, which tells whether the target is the source under another name.
    """
    ends = ["place", "cluster_before", "cluster_after"]
    sizes = pl.concat(
        [
            transitions.select("place", cluster="cluster_before", n="n_before"),
            transitions.select(pl.col("place") + 1, cluster="cluster_after", n="n_after"),
        ]
    )
    sizes = sizes.drop_nulls("cluster").unique()
    groups = pl.concat(_fold_run(own, limit) for own in sizes.sort("place").partition_by("place"))
    bars = groups.group_by("place", "group", "name", "is_other").agg(pl.col("n").sum())
    lives_on = transitions.filter(pl.col("transition").is_in(["kept", "grown", "shrunk"]))
    lives_on = lives_on.select(*ends, lives_on=pl.lit(value=True))
    sources = groups.select("place", cluster_before="cluster", source="group")
    targets = groups.select(pl.col("place") - 1, cluster_after="cluster", target="group")
    flows = overlaps.join(lives_on, on=ends, how="left").join(sources, on=ends[:2])
    flows = flows.join(targets, on=[ends[0], ends[2]])
    bands = flows.group_by("place", "source", "target", "is_link").agg(
        pl.col("lives_on").any(), n=pl.col("n_common").sum()
    )
    largest = bars.group_by("place").agg(pl.col("n").sum())["n"].max()
    height = pl.col("n") * _IDS_HEIGHT / largest
    return bars.with_columns(height=height), bands.with_columns(height=height)


def _fold_run(sizes: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Return the clusters of a run with group, name, and is_other for those of the last group."""
    groups = fold_groups(sizes, "cluster", pl.col("n").sum(), limit)
    names = pl.DataFrame({"group": range(len(groups.names)), "name": groups.names})
    is_other = (pl.col("group") == limit) & (groups.n_folded > 0)
    numbered = groups.number(sizes, "cluster", "group").join(names, on="group")
    return numbered.with_columns(is_other=is_other)


def _stack_clusters(bars: pl.DataFrame, bands: pl.DataFrame) -> pl.DataFrame:
    """Return the bars with their colors, order from top to bottom, top and bottom in pixels.

    Clusters are next to those from which their ids come, so that few bands cross.
    """
    n, height = pl.col("n"), pl.col("height")
    top = height.cum_sum() - height + _FLOW_GAP * pl.col("order")
    placed: list[pl.DataFrame] = []
    middles = pl.DataFrame(schema={"group": pl.Int64, "middle": pl.Float64})
    colors: dict[int, int] = {}
    for own in bars.sort("place", "group").partition_by("place"):
        flows = bands.filter(place=own["place"][0] - 1)
        if placed:
            ends = placed[-1].select(source="group", middle=pl.col("top") + height / 2)
            mean = (pl.col("middle") * n).sum() / n.sum()
            middles = flows.join(ends, on="source").group_by(group="target").agg(middle=mean)
        own = own.join(middles, on="group", how="left")
        own = own.sort("is_other", "middle", "group", nulls_last=True).with_row_index("order")
        colors = _choose_colors(own, flows.filter("lives_on"), colors)
        shown = [color_cluster(colors[x]) if x in colors else GRAY for x in own["group"]]
        placed.append(own.with_columns(pl.Series("color", shown), top=top))
    return pl.concat(placed)


def _choose_colors(
    bars: pl.DataFrame, lives_on: pl.DataFrame, before: dict[int, int]
) -> dict[int, int]:
    """Return the numbers of the colors of a run's groups, given those of the run before.

    The group of the others has no number. A group that does not live on has a color that is in
    neither run.
    """
    named = bars.filter(is_other=False)["group"].to_list()
    continued = dict(lives_on.select("target", "source").iter_rows())
    colors = {x: before[continued[x]] for x in named if continued.get(x) in before}
    free = (x for x in count_up() if x not in before.values())
    return {x: colors[x] if x in colors else next(free) for x in named}


def _stack_flows(bars: pl.DataFrame, bands: pl.DataFrame) -> pl.DataFrame:
    """Return the bands with colors, names, and edges in pixels, stacked in the order of bars."""
    for end, place in {"source": pl.col("place"), "target": pl.col("place") - 1}.items():
        values = pl.col("name", "order", "top", "color").name.prefix(f"{end}_")
        ends = bars.select(place, pl.col("group").alias(end), values)
        bands = bands.join(ends, on=["place", end])
    height = pl.col("height")
    for end, far in (("source", "target"), ("target", "source")):
        bands = bands.sort("place", f"{end}_order", f"{far}_order", pl.col("is_link").not_())
        top = pl.col(f"{end}_top") + (height.cum_sum() - height).over("place", end)
        bottom = (top + height).alias(f"{end}_bottom")
        bands = bands.with_columns(top.alias(f"{end}_top"), bottom)
    return bands


# ----------------------------------------------------------------------------------------------
# Chart
# ----------------------------------------------------------------------------------------------


def _draw_flows(
    bars: pl.DataFrame, bands: pl.DataFrame, title: alt.TitleParams, runs: list[str]
) -> alt.LayerChart:
    """Return the chart of the bars and the bands between them."""
    import altair as alt

    step = (_FLOW_WIDTH - _CLUSTER_WIDTH) / (len(runs) - 1)
    x = pl.col("place") * step
    names = pl.DataFrame({"run": runs, "place": range(len(runs))})
    bars = (
        bars.join(names, on="place")
        .sort("place", "order")
        .select(
            *("run", "order", "n", "color", "top"),
            cluster="name",
            bottom=pl.col("top") + pl.col("height"),
            middle=pl.col("top") + pl.col("height") / 2,
            x=x,
            x2=x + _CLUSTER_WIDTH,
            is_last=pl.col("place") == len(runs) - 1,
        )
    )
    height = float(bars["bottom"].max())  # type: ignore[arg-type]
    bands = bands.select(
        *("n", "is_link", "source_top", "source_bottom", "target_top", "target_bottom"),
        cluster="source_name",
        next="target_name",
        color="source_color",
        x=x + _CLUSTER_WIDTH,
        x2=x + step,
    ).with_row_index("band")
    bars, bands = (rows.with_columns(pl.col(pl.Float64).round(2)) for rows in (bars, bands))
    pixels = [
        alt.Scale(domain=[0, _FLOW_WIDTH], nice=False),
        alt.Scale(domain=[height, 0], nice=False, zero=False),
    ]
    layers = [
        _draw_bands(bands, *pixels),
        *_draw_clusters(bars, step - 2 * _CLUSTER_WIDTH, *pixels),
    ]
    chart = alt.LayerChart(layer=layers, title=title)
    return chart.properties(width=_FLOW_WIDTH, height=height)


def _draw_bands(bands: pl.DataFrame, across: alt.Scale, down: alt.Scale) -> alt.Chart:
    """Return a layer of the bands, each of which is an area between two curves."""
    import altair as alt

    # The share of the way down, in steps of the share t of the way across.
    way = "datum.t * datum.t * (3 - 2 * datum.t)"
    edges = {
        edge: f"datum.source_{edge} + (datum.target_{edge} - datum.source_{edge}) * {way}"
        for edge in ("top", "bottom")
    }
    chart: alt.Chart = (
        alt.Chart(inline_data(bands))
        .transform_calculate(t="sequence(0, 1.01, 0.05)")
        .transform_flatten(["t"])
        .transform_calculate(across="datum.x + (datum.x2 - datum.x) * datum.t", **edges)
        .mark_area()
        .encode(
            x=alt.X("across:Q", scale=across, axis=None),
            y=alt.Y("top:Q", scale=down, axis=None),
            y2="bottom:Q",
            detail="band:N",
            color=alt.Color("color:N", scale=None, legend=None),
            opacity=alt.condition("datum.is_link", alt.value(0.5), alt.value(0.2)),
            tooltip=[
                alt.Tooltip("cluster:N", title="cluster"),
                alt.Tooltip("next:N", title="cluster in the next run"),
                alt.Tooltip("n:Q", title="ids", format=","),
                alt.Tooltip("is_link:N", title="linked"),
            ],
        )
    )
    return chart


def _draw_clusters(
    bars: pl.DataFrame, limit: float, across: alt.Scale, down: alt.Scale
) -> list[alt.Chart]:
    """Return layers of bars, their names, at most `limit` pixels wide, and the names of runs."""
    import altair as alt

    left, right = (alt.X(f"{x}:Q", scale=across, axis=None) for x in ("x", "x2"))
    top, middle = (alt.Y(f"{y}:Q", scale=down, axis=None) for y in ("top", "middle"))
    n = alt.Tooltip("n:Q", title="ids", format=",")
    base = alt.Chart(inline_data(bars)).encode(tooltip=["run:N", "cluster:N", n])
    color = alt.Color("color:N", scale=None, legend=None)
    layers = [base.mark_rect(opacity=1).encode(x=left, x2="x2", y=top, y2="bottom", color=color)]
    # The names are on the right of their bars, but on the left of the last ones. They have a white
    # edge, so that they can be read on top of the bands.
    edges: list[dict[str, Any]] = [{"stroke": "white", "strokeWidth": 3}, {"color": "black"}]
    sides: list[tuple[alt.X, dict[str, Any], str]] = [
        (right, {"align": "left", "dx": 4}, "!datum.is_last"),
        (left, {"align": "right", "dx": -4}, "datum.is_last"),
    ]
    for x, style, side in sides:
        named = base.transform_filter(side).encode(x=x, y=middle, text="cluster:N")
        layers += [named.mark_text(limit=limit, **style, **edge) for edge in edges]
    heads = base.transform_filter("datum.order === 0").encode(
        x=left, y=alt.value(-10), text="run:N"
    )
    return [*layers, heads.mark_text(fontWeight="bold", dx=_CLUSTER_WIDTH / 2, limit=limit + 8)]
