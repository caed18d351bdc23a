"""Pictures: the charts of the command ``report`` as SVG, which needs no other files."""

from __future__ import annotations

import json
import subprocess
import sys
from inspect import signature
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from polars_clustereval.cli.engines import read_rows
from polars_clustereval.cli.files import scan_files
from polars_clustereval.cli.progress import begin_step
from polars_clustereval.cli.reports import REPORTS
from polars_clustereval.errors import ClusterEvalError
from polars_clustereval.internal.centroids import check_point_options

from .findings import CENTROIDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polars_clustereval.cli.options import Options
    from polars_clustereval.cli.sources import Source

    from .findings import Findings

__all__ = ["Pictures", "draw_pictures"]


#: The number of clusters in a picture of points. The largest are drawn, and the picture says that
#: there are more.
_MAX_DRAWN = 30


#: The number of points on the map, unless fifty of each cluster are more. Each point makes the page
#: larger by half a kilobyte.
_MAPPED_POINTS = 1000


#: The number of scores in the picture of intervals; the page has a table of all scores.
_DRAWN_SCORES = (
    *("adjusted_rand_score", "fowlkes_mallows_score", "pair_precision", "pair_recall"),
    *("homogeneity_score", "completeness_score", "v_measure_score", "purity"),
    *("bcubed_precision", "bcubed_recall", "bcubed_f_score"),
)


#: The width of the pictures for narrow screens, in pixels, and that of their maps without axes.
_NARROW, _NARROW_MAP = 360, 280
#: The number of characters of a title that fit into this width, and of a line below it.
_TITLE_LENGTH, _NOTE_LENGTH = 40, 50


class Pictures(NamedTuple):
    """The charts of a page."""

    #: SVG texts by the titles of the charts: one for wide screens and one for narrow ones.
    drawn: dict[str, tuple[str, str]]
    #: The reason if there are no pictures although there is something to show; empty otherwise.
    note: str = ""


def draw_pictures(source: Source, options: Options, findings: Findings) -> Pictures:
    """Return the charts of a clustering that have something to show."""
    try:
        import vl_convert  # noqa: F401 - the rendering imports it again

        from polars_clustereval import plots
    except ImportError as error:
        raise ClusterEvalError(_MISSING) from error
    *_, clusters = findings.clusters.values()
    if clusters.is_empty():
        return Pictures({})
    charts: dict[str, Any] = {}
    if "label" in options.values:
        call = options.call(REPORTS["external-confidence"])
        rows, given = read_rows(source, call, call.report.inputs[0])
        shares = {**given, "normalize": "label"}
        charts["Labels in the clusters"] = _call_known(plots.contingency_plot, shares, rows)
        given["metrics"] = _DRAWN_SCORES
        charts["Scores with their intervals"] = _call_known(plots.interval_plot, given, rows)
    if "vector" in options.values and clusters.height > 1:
        charts |= _draw_point_charts(source, options, findings)
    begin_step("pictures")
    specifications = [
        json.dumps(form) for chart in charts.values() for form in _write_forms(chart.to_dict())
    ]
    render = _render_apart if _is_memory_limited() else _render
    svgs = render(specifications)
    if svgs is None:
        return Pictures({}, _NO_MEMORY)
    return Pictures(dict(zip(charts, zip(svgs[::2], svgs[1::2], strict=True), strict=True)))


def _draw_point_charts(source: Source, options: Options, findings: Findings) -> dict[str, Any]:
    """Return the charts of points by their titles, drawn from the page's tables."""
    from polars_clustereval.plots import centroids, projection, silhouette

    charts = {}
    tables = _name_as_polars(findings.drawn, source, options.values["cluster"])
    clusters = tables["internal_cluster_report"]
    call = options.call(CENTROIDS)
    rows, given = read_rows(source, call, call.report.inputs[0])
    point_options = _call_known(check_point_options, given)
    samples = tables.get("silhouette_samples")
    if samples is not None and samples["silhouette"].count():
        charts["Silhouettes of the points"] = silhouette.draw_samples(
            samples, given["distance"], _MAX_DRAWN
        )
    if clusters["cluster"].count():
        seed = options.values.get("random_state", 0)
        shown = projection.choose_clusters(clusters, point_options, _MAX_DRAWN)["cluster"]
        most = max(_MAPPED_POINTS, projection.LEAST_POINTS * (len(shown) + 1))
        sample = projection.sample_points(
            rows, given["vector"], given["cluster"], point_options, shown, most, seed
        )
        charts["Map of the points"] = projection.draw_projection(
            clusters, sample, point_options, _MAX_DRAWN
        )
    charts["Centroids and their distances"] = centroids.draw_centroids(
        clusters, point_options, _MAX_DRAWN
    )
    return charts


def _name_as_polars(
    tables: Mapping[str, pl.DataFrame], source: Source, cluster: str
) -> dict[str, pl.DataFrame]:
    """Return the tables, with their clusters converted and sorted as in Polars.

    DuckDB reads durations of a Parquet file as numbers, times in the user's time zone, and Enum
    values as text.
    """
    rows = scan_files(source)
    if rows is None:  # DuckDB reads the file for both engines
        return dict(tables)
    dtype = rows.collect_schema()[cluster]
    names = pl.col("^(nearest_)?cluster$")
    return {
        name: table.with_columns(names.cast(dtype)).sort(
            "cluster", nulls_last=True, maintain_order=True
        )
        for name, table in tables.items()
    }


# ----------------------------------------------------------------------------------------------
# Rendering
# ----------------------------------------------------------------------------------------------


def _write_forms(chart: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a chart as Vega-Lite for wide screens, and redrawn for narrow ones."""
    # The page describes the picture to screen readers. Descriptions of its parts would double it.
    chart["config"] = {**chart["config"], "aria": False}
    # The reader's font may be wider than the font in which the names were measured.
    wide = chart | {"padding": {"left": 30, "right": 20, "top": 5, "bottom": 5}}
    narrow = json.loads(json.dumps(chart))
    narrow["padding"] = {"left": 16, "right": 8, "top": 5, "bottom": 5}
    narrow["config"] |= {"legend": {"orient": "bottom"}, "axisY": {"titlePadding": 12}}
    title = narrow["title"]
    title["text"] = wrap(title["text"], _TITLE_LENGTH)
    title["subtitle"] = [line for note in title["subtitle"] for line in wrap(note, _NOTE_LENGTH)]
    if narrow["width"] == narrow["height"] and isinstance(narrow["width"], int):
        # The axes of a map have the same scale.
        narrow |= {"width": _NARROW_MAP, "height": _NARROW_MAP}
    else:
        narrow |= {"width": _NARROW, "autosize": {"type": "fit-x", "contains": "padding"}}
    return wide, narrow


def _render(specifications: Sequence[str]) -> list[str]:
    """Render charts as SVG, from Vega-Lite specifications."""
    import vl_convert

    return [vl_convert.vegalite_to_svg(vl_spec=x) for x in specifications]


def _is_memory_limited() -> bool:
    """Return whether the address space of this process is limited, as by ``ulimit -v``."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows has no such limit
        return False
    return getrlimit(RLIMIT_AS)[0] != RLIM_INFINITY


#: A program that reads charts, renders them, and writes the pictures.
_RENDERER = """
import json, sys
from vl_convert import vegalite_to_svg
charts = json.load(sys.stdin)
json.dump([vegalite_to_svg(vl_spec=chart) for chart in charts], sys.stdout)
"""


def _render_apart(specifications: Sequence[str]) -> list[str] | None:
    """Render charts in a separate process, or return None if it fails.

    The renderer reserves much more address space than it uses, and if it cannot, it ends its
    process instead of raising an error.
    """
    done = subprocess.run(
        [sys.executable, "-c", _RENDERER],
        input=json.dumps(specifications),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return None if done.returncode else json.loads(done.stdout)


_NO_MEMORY = (
    "The pictures are left out: the program that renders them failed, as it does if the address "
    "space is limited (ulimit -v)."
)


_MISSING = (
    "--html needs the packages for pictures: pip install 'polars_clustereval[plot]'; "
    "--format markdown does without"
)


def _call_known(function: Callable[..., Any], given: Mapping[str, Any], *data: Any) -> Any:
    """Call a function with those of the given arguments that it accepts."""
    known = given.keys() & signature(function).parameters.keys()
    return function(*data, **{name: given[name] for name in known})
