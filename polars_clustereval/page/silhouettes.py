"""Silhouettes: the tables of a page that follow from the silhouettes of the points.

Distances between points take longer than all else on a page: the silhouettes are computed once.
"""

from __future__ import annotations

import polars as pl

__all__ = ["average_by_cluster", "average_clusters"]


def average_by_cluster(points: pl.DataFrame) -> pl.DataFrame:
    """Return cluster, n and silhouette of silhouette_clusters from rows of silhouette_samples.

    A point whose cluster is NULL is a cluster of its own.
    """
    is_named = pl.col("cluster").is_not_null()
    columns = {"n": pl.len().cast(pl.Int64), "silhouette": pl.col("silhouette").mean()}
    named = points.filter(is_named).group_by("cluster", maintain_order=True).agg(**columns)
    single = points.filter(~is_named).select(
        "cluster", pl.lit(1, pl.Int64).alias("n"), "silhouette"
    )
    return pl.concat([named, single])


def average_clusters(clusters: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of an exact silhouette_score from rows of silhouette_clusters."""
    mean, n = pl.col("silhouette"), pl.col("n")
    score = (mean * n).sum() / n.sum()
    scores = {
        "silhouette": score,
        "silhouette_macro": mean.mean(),
        "silhouette_max": mean.max(),
        "silhouette_lower": score,
        "silhouette_upper": score,
    }
    # If there is no clustering, no cluster has a silhouette, and the sum of none would be 0.
    is_defined = mean.count() > 0
    return clusters.select(pl.when(is_defined).then(x).alias(name) for name, x in scores.items())
