"""Pictures: the charts of the command ``report`` as SVG, which needs no other file."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

from polars_clustereval import external_intervals, silhouette_samples
from polars_clustereval.errors import ClusterEvalError

from . import layouts
from .engines import read_rows
from .findings import has_silhouettes_of_points, make_call

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from .findings import Findings
    from .sources import Source

__all__ = ["draw_pictures"]


def draw_pictures(source: Source, options: Namespace, findings: Findings) -> dict[str, str]:
    """Return the charts of a clustering, as texts of SVG by their titles.

    Raise an error if the extra for pictures is missing. A chart that has nothing to show is left
    out: silhouettes that are not defined, and centroids of a single cluster.
    """
    try:
        import vl_convert

        from polars_clustereval import plots
    except ImportError as error:
        raise ClusterEvalError(_MISSING) from error
    if findings.clusters.is_empty():
        return {}
    charts: dict[str, Any] = {}
    if options.label is not None:
        call = make_call(external_intervals, layouts.EXTERNAL_INTERVALS, options)
        rows, given = read_rows(source, call)
        charts["Labels in the clusters"] = _call_plot(plots.contingency_plot, rows, given)
        charts["Scores with their intervals"] = _call_plot(plots.interval_plot, rows, given)
    if options.vector is not None and findings.clusters.height > 1:
        call = make_call(silhouette_samples, layouts.SAMPLES, options)
        rows, given = read_rows(source, call)
        scores = {score.name: score.value for score in findings.headlines}
        if has_silhouettes_of_points(options) and scores["silhouette"] is not None:
            charts["Silhouettes of the points"] = _call_plot(plots.silhouette_plot, rows, given)
        charts["Centroids and their distances"] = _call_plot(plots.centroid_plot, rows, given)
    return {
        title: vl_convert.vegalite_to_svg(vl_spec=chart.to_json())
        for title, chart in charts.items()
    }


_MISSING = (
    "--html needs the packages for pictures: pip install 'polars_clustereval[plot]'; "
    "--format markdown does without"
)


def _call_plot(plot: Callable[..., Any], rows: Any, given: dict[str, Any]) -> Any:
    """Return the chart that a function of plots draws, with those arguments that it has."""
    known = given.keys() & signature(plot).parameters.keys()
    chart = plot(rows, **{name: given[name] for name in known})
    # A reader's font may be wider than the one that the names were measured in.
    return chart.properties(padding={"left": 30, "right": 20, "top": 5, "bottom": 5})
