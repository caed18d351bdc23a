"""The functions of ``polars_clustereval.spark``.

Their parameters and docstrings come from the Polars tables of the same names (see functions.py). As
code cannot show them, the stub ``__init__.pyi`` has them for editors and type checkers.
"""

from __future__ import annotations

from .functions import spark_function

_SHUFFLE = (
    "The amount of shuffled data grows with the number of cells in the contingency table, not with "
    "the number of rows."
)

contingency_matrix = spark_function(
    "contingency_matrix",
    notes="You can save the result, for example with ``cells.write.saveAsTable('cells')``. The "
    "other functions for labels except `bcubed_samples` then read it, as in "
    "``spark.external_report('cells')``.",
)
pair_counts = spark_function("pair_counts")
external_report = spark_function("external_report", notes=_SHUFFLE)
entity_resolution_report = spark_function("entity_resolution_report", notes=_SHUFFLE)
external_cluster_report = spark_function("external_cluster_report")
external_label_report = spark_function("external_label_report")
bcubed_samples = spark_function(
    "bcubed_samples",
    notes="Because the result is as long as `tbl`, it is computed only when you read it.",
)

internal_report = spark_function(
    "internal_report",
    notes="The points are read twice. The amount of shuffled data grows with the numbers of "
    "clusters and coordinates, not with the number of points.",
)
internal_cluster_report = spark_function("internal_cluster_report")
centroids = spark_function("centroids")
neighbor_report = spark_function(
    "neighbor_report",
    notes="Each point is joined with all clusters of its partition, so the running time is "
    "proportional to the number of points times the number of clusters.",
)
silhouette_score = spark_function("silhouette_score", title="Mean silhouette of all points.")
silhouette_clusters = spark_function("silhouette_clusters")
silhouette_samples = spark_function(
    "silhouette_samples",
    notes="Because the result is as long as `tbl`, its rows are computed only when you read them. "
    "The statistics of the clusters are computed when you call the function.",
)
