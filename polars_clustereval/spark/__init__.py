"""The tables of labels and of points on Spark, Databricks and others that speak Spark Connect.

The functions have the parameters and the columns of the table macros, and read a DataFrame of
Spark (classic or Connect) or a table of the active session. The queries are those of ``to_sql``.
Results are computed when a function is called, and kept in the executors as a local checkpoint:
reading one again costs nothing. Rows come in no order.

Tables of points have one expression per coordinate in their queries, which plans of some hundreds
of coordinates take long for.

``contingency_matrix`` reads the rows once. Its result can be kept, as a DataFrame, a view or a
table, and the other functions read it in place of the rows if ``label`` and ``cluster`` are left
out.
"""

from __future__ import annotations

from .label_reports import (
    bcubed_samples,
    contingency_matrix,
    entity_resolution_report,
    external_cluster_report,
    external_label_report,
    external_report,
    pair_counts,
)
from .point_reports import (
    centroids,
    internal_cluster_report,
    internal_report,
    neighbor_report,
    silhouette_clusters,
    silhouette_samples,
    silhouette_score,
)

__all__ = [
    "bcubed_samples",
    "centroids",
    "contingency_matrix",
    "entity_resolution_report",
    "external_cluster_report",
    "external_label_report",
    "external_report",
    "internal_cluster_report",
    "internal_report",
    "neighbor_report",
    "pair_counts",
    "silhouette_clusters",
    "silhouette_samples",
    "silhouette_score",
]
