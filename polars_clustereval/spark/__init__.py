"""Reports on labels and on points for Spark, Databricks and other engines with Spark Connect.

The functions have the same parameters and columns as the SQL table macros. They read a Spark
DataFrame (classic or Connect) or a table of the active session, and run the queries of ``to_sql``.
A result is computed when you call the function, and stays on the executors as a local checkpoint,
so reading it again costs nothing. The rows of a result are in no particular order.

The queries for points contain one expression per coordinate. With several hundred coordinates,
Spark therefore takes a long time to plan a query.

``contingency_matrix`` reads the rows once. You can save its result as a DataFrame, a view or a
table. If you leave out ``label`` and ``cluster``, the other functions for labels, except
``bcubed_samples``, read a saved contingency table instead of the rows.
"""

from __future__ import annotations

from .reports import (
    bcubed_samples,
    centroids,
    contingency_matrix,
    entity_resolution_report,
    external_cluster_report,
    external_label_report,
    external_report,
    internal_cluster_report,
    internal_report,
    neighbor_report,
    pair_counts,
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
