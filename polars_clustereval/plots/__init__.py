"""Charts of the reports, drawn with Altair. To install Altair, use the extra ``plot``.

Each function takes a Polars DataFrame or LazyFrame, or a DuckDB relation. The numbers are computed
by the functions of this package. Each chart shows only a few hundred aggregated rows, no matter how
many points you have. The functions are also methods of the namespace ``clustereval``, as in
``frame.clustereval.silhouette_plot(...)``.

>>> from polars_clustereval import plots
>>> points = pl.DataFrame({"x": [0, 1, 5, 9, 8], "cluster": ["a", "a", "a", "b", "b"]})
>>> chart = plots.silhouette_plot(points, ["x"], "cluster")
>>> chart.save("silhouettes.png")  # doctest: +SKIP
"""

from __future__ import annotations

from .agreement import agreement_plot
from .centroids import centroid_plot
from .contingency import contingency_plot
from .elbow import elbow_plot
from .intervals import interval_plot
from .projection import projection_plot
from .silhouette import silhouette_plot
from .thresholds import threshold_plot
from .transitions import transition_plot

__all__ = [
    "agreement_plot",
    "centroid_plot",
    "contingency_plot",
    "elbow_plot",
    "interval_plot",
    "projection_plot",
    "silhouette_plot",
    "threshold_plot",
    "transition_plot",
]
