"""contingency_plot: how many rows of each label are in each cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from polars_clustereval.base.checks import check_choice
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.external.contingency import contingency_matrix, is_noise

from .charts import (
    SEQUENTIAL,
    Groups,
    chart,
    check_limit,
    count,
    count_format,
    fold_groups,
    inline_data,
    label_angle,
    make_title,
    name_values,
    table_of_call,
)

if TYPE_CHECKING:
    import altair as alt
    import duckdb

    from polars_clustereval.base.checks import Column, NoiseAs

Normalize = Literal["label", "cluster", "all"]

# Cells have room for numbers up to this number of rows and columns.
_MOST_WITH_NUMBERS = 12


@chart
def contingency_plot(
    frame: pl.DataFrame | pl.LazyFrame | duckdb.DuckDBPyRelation,
    label: Column,
    cluster: Column,
    *,
    weight: Column | None = None,
    noise: Any = None,
    noise_as: NoiseAs | None = None,
    max_labels: int = 30,
    max_clusters: int = 30,
    normalize: Normalize | None = None,
) -> alt.LayerChart:
    """Draw a heat map of the contingency table: how many rows of each label are in each cluster.

    Parameters
    ----------
    frame : DataFrame, LazyFrame or DuckDBPyRelation
        The rows to evaluate, or the cells of a contingency table with their counts as weight.
    label, cluster, weight, noise, noise_as
        As in contingency_matrix, which computes the table.
    max_labels, max_clusters : int
        The maximum numbers of labels and clusters to draw, from 1 to 50. The largest labels and
        clusters are drawn. If several labels or clusters remain, they are combined into one row or
        column named "other".
    normalize : {'label', 'cluster', 'all'}, optional
        Whether to draw each cell as a percentage of the rows with its label, of the rows in its
        cluster, or of all rows. By default, the counts are drawn.

    Returns
    -------
    altair.LayerChart
        Labels are sorted from top to bottom. Clusters are sorted from left to right by their
        majority label, so that agreement is on the diagonal. Noise is always the last column,
        regardless of noise_as. Cells without rows are white. Counts are colored on a square-root
        scale.

    Raises
    ------
    ClusterEvalError
        For the same reasons as contingency_matrix. The error is also raised if no rows are left, if
        a limit is out of range, or if normalize is unknown.
    ImportError
        If altair is not installed.

    Examples
    --------
    >>> from polars_clustereval import plots
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> chart = plots.contingency_plot(six, "label", "cluster")
    >>> chart.to_dict()["title"]["text"]
    '6 rows by 2 labels and 3 clusters'
    """
    most_labels = check_limit("max_labels", max_labels, 50)
    most_clusters = check_limit("max_clusters", max_clusters, 50)
    if normalize is not None:
        check_choice("normalize", normalize, get_args(Normalize))
    matrix = table_of_call(contingency_matrix, frame)
    # If noise counts as singletons, it has no cluster.
    noisy = pl.col("cluster").is_null() | is_noise(matrix, noise)
    cells = matrix.select(
        "label", "cluster", n=pl.col("n") * pl.col("copies"), is_noise=noisy
    ).collect()
    if cells.is_empty():
        raise ClusterEvalError("frame: expected rows with a label and a cluster, got none")
    labels = fold_groups(cells, "label", pl.col("n").sum(), most_labels)
    named, of_noise = cells.filter(~pl.col("is_noise")), cells.filter("is_noise")
    clusters = fold_groups(named, "cluster", pl.col("n").sum(), most_clusters)
    columns = _add_noise(clusters, of_noise)
    rows = columns.number(labels.number(cells, "label", "row"), "cluster", "column")
    n_shown = len(clusters.names) - (clusters.n_folded > 0)
    counts = _order_clusters(_count_groups(rows, labels, columns), n_shown)
    title = _title_of(int(cells["n"].sum()), labels, clusters, int(of_noise["n"].sum()))
    return _draw_cells(counts, (labels, columns), title, normalize)


def _add_noise(clusters: Groups, noise: pl.DataFrame) -> Groups:
    """Return the groups of clusters, followed by a group for noise if there are noise cells."""
    if noise.is_empty():
        return clusters
    *names, name = name_values(pl.Series([*clusters.names, "noise"]))
    value = noise.select(place=pl.lit(len(names), pl.Int64), value=pl.col("cluster").first())
    return Groups(pl.concat([clusters.places, value]), [*names, name], clusters.n_folded)


def _count_groups(cells: pl.DataFrame, labels: Groups, clusters: Groups) -> pl.DataFrame:
    """Return one row per pair of groups with common rows: row, column, label, cluster, n, shares.

    The shares are n divided by the rows of the label, of the cluster, and by all rows.
    """
    counts = cells.group_by("row", "column").agg(pl.col("n").sum()).sort("row", "column")
    n = pl.col("n")
    return counts.with_columns(
        pl.Series("label", [labels.names[place] for place in counts["row"]]),
        pl.Series("cluster", [clusters.names[place] for place in counts["column"]]),
        label_share=n / n.sum().over("row"),
        cluster_share=n / n.sum().over("column"),
        all_share=n / n.sum(),
    )


def _order_clusters(cells: pl.DataFrame, n_shown: int) -> pl.DataFrame:
    """Return the cells, columns numbered by majority label; other clusters and noise stay last."""
    largest = cells.sort("n", "row", descending=[True, False]).group_by("column").first()
    at_end = pl.col("column").clip(lower_bound=n_shown - 1)
    order = largest.sort(at_end, "row", "column").select("column").with_row_index("order")
    return (
        cells.join(order, on="column")
        .sort("row", "order")
        .drop("column")
        .rename({"order": "column"})
    )


def _draw_cells(
    cells: pl.DataFrame,
    sides: tuple[Groups, Groups],
    title: alt.TitleParams,
    normalize: Normalize | None,
) -> alt.LayerChart:
    """Return the heat map of the cells of two `sides`, with numbers if there is enough room."""
    import altair as alt

    labels, clusters = sides
    n_longest = max(len(labels.names), len(clusters.names))
    step = max(12, min(80, 400 // n_longest))
    base = alt.Chart(inline_data(cells)).encode(
        x=alt.X(
            "cluster:N",
            title="cluster",
            sort=alt.EncodingSortField("column", op="min"),
            axis=alt.Axis(labelAngle=label_angle(clusters.names), labelLimit=150, orient="bottom"),
        ),
        y=alt.Y(
            "label:N",
            title="label",
            sort=alt.EncodingSortField("row", op="min"),
            axis=alt.Axis(labelLimit=150, titlePadding=16),
        ),
        tooltip=[
            alt.Tooltip("label:N", title="label"),
            alt.Tooltip("cluster:N", title="cluster"),
            alt.Tooltip("n:Q", title="rows", format=","),
            alt.Tooltip("label_share:Q", title="share of the label", format=".2%"),
            alt.Tooltip("cluster_share:Q", title="share of the cluster", format=".2%"),
        ],
    )
    if normalize is None:
        layers = _color_counts(base, int(cells["n"].max()))  # type: ignore[arg-type]
    else:
        layers = _color_shares(base, normalize)
    n_layers = 2 if n_longest <= _MOST_WITH_NUMBERS else 1
    chart = alt.LayerChart(layer=layers[:n_layers], title=title)
    return chart.properties(width=alt.Step(step), height=alt.Step(step))


def _color_counts(base: alt.Chart, most: int) -> list[alt.Chart]:
    """Return layers of cells colored by count, up to `most`, and of the counts as text."""
    import altair as alt

    scale = alt.Scale(type="sqrt", range=[*SEQUENTIAL], interpolate="lab", domain=[0, most])
    legend = alt.Legend(title="rows", format=count_format(most), tickCount=5, tickMinStep=1)
    ink = alt.condition(f"datum.n > {most / 4}", alt.value("white"), alt.value("black"))
    text = alt.Text("n:Q", format="," if most < 10_000 else ".2~s")
    return [
        base.mark_rect().encode(alt.Color("n:Q", scale=scale, legend=legend)),
        base.mark_text(fontSize=11).encode(text=text, color=ink),
    ]


def _color_shares(base: alt.Chart, normalize: Normalize) -> list[alt.Chart]:
    """Return a layer of cells colored by their shares, and a layer with the shares as text."""
    import altair as alt

    field = f"{normalize}_share"
    title = "share of all rows" if normalize == "all" else f"share of the {normalize}"
    scale = alt.Scale(range=[*SEQUENTIAL], interpolate="lab", domain=[0, 1])
    legend = alt.Legend(title=title, format=".0%", tickCount=5)
    ink = alt.condition(f"datum.{field} > 0.5", alt.value("white"), alt.value("black"))
    return [
        base.mark_rect().encode(alt.Color(f"{field}:Q", scale=scale, legend=legend)),
        base.mark_text(fontSize=11).encode(text=alt.Text(f"{field}:Q", format=".0%"), color=ink),
    ]


def _title_of(n: int, labels: Groups, clusters: Groups, n_noise: int) -> alt.TitleParams:
    """Return the title of the heat map of n rows, with notes on folded groups and noise."""
    sides = {"label": labels, "cluster": clusters}
    counts = [count(len(groups.places), name) for name, groups in sides.items()]
    folded = [
        f"the {len(groups.places) - groups.n_folded} largest {name}s, "
        f"{groups.n_folded:,} others as one"
        for name, groups in sides.items()
        if groups.n_folded
    ]
    noise = f"{count(n_noise, 'row')} of noise in the last column" if n_noise else ""
    return make_title(f"{count(n, 'row')} by {counts[0]} and {counts[1]}", *folded, noise)
