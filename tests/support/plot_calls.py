"""Calls of the plotting functions on small frames, and what their charts say."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

import polars_clustereval as ce
from polars_clustereval import plots

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
SWEEP = pl.DataFrame(
    {
        "x": [0, 2, 9, 11] * 3,
        "k": [1] * 4 + [2] * 4 + [3] * 4,
        "cluster": [0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 2],
    }
)
SIX = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [2, 2, 1, 1, 0, 0]})
RUNS = pl.DataFrame(
    {
        "run": [1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3],
        "id": [1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3],
        "cluster": [0, 0, 1, 1, 7, 7, 5, 5, 0, 1, 1],
    }
)
#: Ids 1 to 3 are an entity, and the edge of 0.3 joins id 4 to them.
THRESHOLDS = ce.threshold_report(
    pl.DataFrame({"id": [1, 2, 3, 4], "label": [1, 1, 1, 2]}),
    "id",
    pl.DataFrame({"left": [1, 2, 3], "right": [2, 3, 4], "w": [0.9, 0.8, 0.3]}),
    *("left", "right", "w", "label"),
)
CELLS = pl.DataFrame({"label": ["a", "b", "a", "b"], "cluster": [0, 0, 1, 1], "n": [45, 15, 5, 35]})

#: A call of each function on a frame.
CALLS: dict[str, tuple[pl.DataFrame, tuple[Any, ...], dict[str, Any]]] = {
    "silhouette_plot": (LINE, (["x"], "cluster"), {}),
    "elbow_plot": (SWEEP, (["x"], "cluster", "k"), {}),
    "contingency_plot": (SIX, ("label", "cluster"), {}),
    "centroid_plot": (LINE, (["x"], "cluster"), {}),
    "projection_plot": (LINE, (["x"], "cluster"), {}),
    "agreement_plot": (RUNS, ("id", "run", "cluster"), {}),
    "interval_plot": (CELLS, ("label", "cluster"), {"weight": "n"}),
    "transition_plot": (RUNS, ("id", "run", "cluster"), {}),
    "threshold_plot": (THRESHOLDS, (), {}),
}
#: Calls on rows that the functions of this package return.
ROW_CALLS = {
    "elbow_plot": lambda frame: frame.clustereval.elbow(["x"], "cluster", "k"),
    "agreement_plot": lambda frame: frame.clustereval.run_agreement("id", "run", "cluster"),
    "interval_plot": lambda frame: frame.clustereval.external_intervals(
        "label", "cluster", weight="n"
    ),
    "threshold_plot": lambda frame: frame,
}


def draw_chart(name: str, frame: Any = None, **options: Any) -> Any:
    """The chart of a call, on its frame or on another one."""
    own, columns, keywords = CALLS[name]
    return getattr(plots, name)(own if frame is None else frame, *columns, **keywords, **options)


@cache
def own_chart(name: str) -> Any:
    """The chart of a call on its frame, drawn once."""
    return draw_chart(name)


@cache
def own_specification(name: str) -> dict[str, Any]:
    specification: dict[str, Any] = own_chart(name).to_dict()
    return specification


def rows_of_chart(chart: Any, layer: int | None = None) -> list[dict[str, Any]]:
    """The data of a chart, or of one of its layers."""
    spec = chart.to_dict()
    data = spec["layer"][layer]["data"] if layer is not None else spec["data"]
    found: list[dict[str, Any]] = spec["datasets"][data["name"]]
    return found


def frame_of_chart(chart: Any, *columns: str, layer: int | None = None) -> pl.DataFrame:
    return pl.DataFrame(rows_of_chart(chart, layer)).select(columns)


def title_of(chart: Any) -> list[str]:
    """The title and the lines below it."""
    title = chart.to_dict()["title"]
    return [title["text"], *title["subtitle"]]


# Names that could break a page, a picture or a specification

NAMES = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "a.b[0]['c']\\\"`",
    "\x00\x1b[31m\r\n\x7f\u202e",
    "\ufffe\uffff",
    "",
    "datum.n",
    "__proto__",
    "constructor",
    "(none)",
    "a long name that is alike to another 1",
    "a long name that is alike, another 1",
    "😀 中文",
]


def named(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The frame with a column `name` of names, and NULL, in place of `columns`."""
    names = pl.Series([*NAMES, None])
    return pl.concat(
        frame.with_columns(pl.lit(name, dtype=pl.String).alias(c) for c in columns)
        for name in names[: len(NAMES)]
    )


NAMED_CALLS: dict[str, Callable[[], Any]] = {
    "silhouette_plot": lambda: plots.silhouette_plot(
        named(LINE, "cluster").with_columns(x=pl.int_range(pl.len()) // 5 * 9 + pl.col("x") / 9),
        ["x"],
        "cluster",
    ),
    "contingency_plot": lambda: plots.contingency_plot(
        named(SIX, "label", "cluster"), "label", "cluster"
    ),
    "centroid_plot": lambda: plots.centroid_plot(
        named(LINE, "cluster").with_columns(x=pl.int_range(pl.len())), ["x"], "cluster"
    ),
    "projection_plot": lambda: plots.projection_plot(
        named(LINE, "cluster").with_columns(x=pl.int_range(pl.len())), ["x"], "cluster"
    ),
    "agreement_plot": lambda: plots.agreement_plot(
        named(SIX.with_row_index("id"), "run"), "id", "run", "cluster"
    ),
    "transition_plot": lambda: plots.transition_plot(
        named(pl.DataFrame({"run": [1, 2]}), "cluster").with_columns(
            id=pl.int_range(pl.len()) // 2
        ),
        *("id", "run", "cluster"),
        max_clusters=30,
    ),
}
