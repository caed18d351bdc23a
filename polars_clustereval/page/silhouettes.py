"""Silhouettes: how a page computes silhouettes and derives tables from them.

Computing the distances between points takes longer than everything else on a page. Therefore, the
silhouettes are computed only once. If computing all silhouettes would take too long, only those of
a sample are computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_clustereval.base.growth import REFERENCE_SIZE, describe_seconds
from polars_clustereval.cli.estimates import estimate_time, is_long
from polars_clustereval.cli.reports import REPORTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polars_clustereval.cli.options import Options
    from polars_clustereval.cli.sources import Source

    from .reports import Compute

__all__ = ["average_by_cluster", "average_clusters", "choose_method", "describe_method"]

#: If computing all silhouettes would take too long, the silhouettes of this number of points are
#: computed, which are drawn with the same seed each time. They are compared with up to
#: REFERENCE_SIZE points of each cluster, which are drawn in the same way.
SAMPLE_SIZE = 2000


def choose_method(
    source: Source, clusterings: list[Options], compute: Compute
) -> tuple[list[Options], tuple[str, ...]]:
    """Return the options with a silhouette method, and a sentence if that draws a sample.

    The options are those of each clustering, which differ only by it, and all get the same method.
    A method or tolerance that the user has specified is kept. The counts of `compute` may be those
    of several partitions.
    """
    values = clusterings[0].values if clusterings else {}
    if "vector" not in values:
        return clusterings, ()
    tables = [compute(options.call(REPORTS["internal"])) for options in clusterings]
    n = max((n for counts in tables for n in counts["n"]), default=0)
    if values.keys() & {"method", "tolerance"} or n <= SAMPLE_SIZE:
        return clusterings, ()
    calls = [options.call(REPORTS["samples"]) for options in clusterings]
    _, seconds, _ = estimate_time(source, *calls)
    if not is_long(seconds):
        return clusterings, ()
    sample = {
        "method": "sample",
        "sample_size": SAMPLE_SIZE,
        "reference_size": REFERENCE_SIZE,
    }
    seed = values.get("random_state", 0)
    of_all = f"of {n:,} points" if tables[0].height == 1 else "points of each partition"
    sentence = (
        f"the silhouettes are those of a sample of {SAMPLE_SIZE:,} {of_all} (seed {seed}), "
        f"compared with up to {REFERENCE_SIZE:,} points of each cluster, since all points take "
        f"about {describe_seconds(seconds)}; --method exact takes all"
    )
    return [replace(x, values={**x.values, **sample}) for x in clusterings], (sentence,)


def describe_method(values: Mapping[str, Any], n: int) -> str:
    """Return a phrase that says how the silhouettes of n points were computed."""
    method = values.get("method", "exact").lower()
    if method == "sample":
        seed = values.get("random_state", 0)
        n_sampled = values.get("sample_size", n)
        references = values.get("reference_size")
        compared = "" if references is None else f", {references:,} of each cluster to compare with"
        return f"sample of {n_sampled:,} points{compared}, seed {seed}"
    if "tolerance" in values:
        return f"within {values['tolerance']:g}"
    return f"exact, {n:,} points" if method == "exact" else method


def average_by_cluster(points: pl.DataFrame) -> pl.DataFrame:
    """Return cluster, n and silhouette of silhouette_clusters from rows of silhouette_samples.

    Each point whose cluster is NULL counts as a cluster of its own.
    """
    is_named = pl.col("cluster").is_not_null()
    columns = {"n": pl.len().cast(pl.Int64), "silhouette": pl.col("silhouette").mean()}
    named = points.filter(is_named).group_by("cluster", maintain_order=True).agg(**columns)
    single = points.filter(~is_named).select(
        "cluster", pl.lit(1, pl.Int64).alias("n"), "silhouette"
    )
    return pl.concat([named, single])


def average_clusters(clusters: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of an exact silhouette_score from the rows of silhouette_clusters."""
    mean, n = pl.col("silhouette"), pl.col("n")
    score = (mean * n).sum() / n.sum()
    scores = {
        "silhouette": score,
        "silhouette_macro": mean.mean(),
        "silhouette_max": mean.max(),
        "silhouette_lower": score,
        "silhouette_upper": score,
    }
    # If there is no clustering, no cluster has a silhouette, and the sum over nothing would be 0.
    is_defined = mean.count() > 0
    return clusters.select(pl.when(is_defined).then(x).alias(name) for name, x in scores.items())
