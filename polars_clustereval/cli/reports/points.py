"""Reports on points and their clusters."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polars_clustereval import (
    choose_k,
    density_based_validity,
    density_based_validity_clusters,
    dunn_index,
    dunn_index_from_distances,
    elbow,
    internal_report,
    pairwise_report,
    pairwise_report_from_distances,
    silhouette_samples,
    silhouette_samples_from_distances,
    silhouette_score,
    silhouette_score_from_distances,
)
from polars_clustereval.base.counts import POINT_COUNTS

from .record import Input, Report, explain, look_up

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["POINTS"]

_POINT_COUNTS = explain({name: count.meaning for name, count in POINT_COUNTS.items()})

#: The points and the distances of their pairs, and the options that name their columns.
_PAIRS = (
    Input("frame", "clustereval_points", ("id", "cluster", "partition_by")),
    Input("pairs", "clustereval_pairs", ("left", "right", "distance", "partition_by")),
)
_OF_PAIRS = ("left", "right", "distance")
_POINT_COUNTS_OF_PAIRS = explain({"n_dropped": "rows left out: no cluster"})

_INTERNAL = Report(
    command="internal",
    function=internal_report,
    description="the internal indices of one or many clusterings",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    heading=(("cluster", "distance"), ("vector",)),
    meanings=_POINT_COUNTS | look_up("internal_report"),
    titles={
        "n": "counts",
        "ssw": "sums of squares",
        "compactness": "distances",
        "calinski_harabasz_score": "centroid-based indices",
    },
    comparison=(
        *("n", "n_clusters", "explained_variance", "ssw", "calinski_harabasz_score"),
        *("davies_bouldin_score", "xie_beni_index", "pbm_index"),
    ),
    any_magnitude=True,
)


# ----------------------------------------------------------------------------------------------
# Silhouettes
# ----------------------------------------------------------------------------------------------


def _adapt_to_method(report: Report, arguments: Mapping[str, Any]) -> Report:
    """Return the silhouette report with its texts adapted to its arguments."""
    heading = report.heading
    method: str = arguments["method"]
    texts = _TEXTS_OF_METHODS.get(method, {})
    if arguments["tolerance"] is not None:
        texts = _TEXTS_OF_A_TOLERANCE
        heading = (("cluster", "distance", "tolerance"), ("vector",))
    elif method == "sample":
        texts = _describe_sample(arguments["confidence"])
        sample = tuple(name for name in _OF_A_SAMPLE if arguments[name] is not None)
        heading = (("cluster", "distance", "method"), sample, ("vector",))
    changed = {name: report.meanings[name]._replace(text=text) for name, text in texts.items()}
    # Squared distances and distances to centers make silhouettes larger, so no words apply.
    is_larger = method == "simplified" or arguments["distance"].lower() == "sqeuclidean"
    readings = () if is_larger else report.readings
    meanings = report.meanings | changed
    adapted = replace(report, heading=heading, meanings=meanings, readings=readings)
    return _adapt_to_between(adapted, arguments)


def _adapt_to_between(report: Report, arguments: Mapping[str, Any]) -> Report:
    """Return the silhouette report with its texts adapted to the argument `between`."""
    between: str = arguments["between"]
    if between == "nearest":
        return report
    (*first,), *more = report.heading
    changed = {
        name: report.meanings[name]._replace(text=text)
        for name, text in _TEXTS_BETWEEN.get(between, {}).items()
        if name in report.meanings
    }
    heading, meanings = ((*first, "between"), *more), report.meanings | changed
    # The words for silhouettes apply to the nearest cluster only.
    return replace(report, heading=heading, meanings=meanings, readings=())


_TEXTS_BETWEEN = {
    "furthest": {
        "neighbor": "the furthest other cluster",
        "b": "mean distance to the furthest other cluster",
    },
    "mean_other": {
        "neighbor": "not computed: b is that of all other clusters",
        "b": "mean distance to the points of all other clusters",
    },
}

_OF_A_SAMPLE = ("sample_size", "reference_size", "confidence", "random_state")
_CERTAIN_LIMITS = {
    "silhouette_lower": "the exact score is not below this",
    "silhouette_upper": "the exact score is not above this",
}
_TEXTS_OF_METHODS = {
    "bounds": {
        "silhouette": "not computed by this method",
        "silhouette_macro": "not computed by this method",
        "silhouette_max": "not computed by this method",
        **_CERTAIN_LIMITS,
    },
    "simplified": {
        "silhouette": "mean silhouette, from distances to centers",
        "silhouette_lower": "not computed by this method",
        "silhouette_upper": "not computed by this method",
    },
}
_TEXTS_OF_A_TOLERANCE = {
    "n_evaluated": "points whose silhouette is computed, not estimated",
    "silhouette": "estimate: other points count as the middle of their bounds",
    "silhouette_macro": "the same, unweighted over the clusters",
    "silhouette_max": "the same for the best cluster",
    **_CERTAIN_LIMITS,
}


def _describe_sample(confidence: float) -> dict[str, str]:
    """Return the column descriptions for silhouettes that are estimated from a sample."""
    interval = f"with probability {confidence} the exact score is between"
    return {
        "n_evaluated": "points in the sample",
        "silhouette": "estimate: mean over the sampled points",
        "silhouette_macro": "estimate: unweighted mean over the clusters",
        "silhouette_max": "estimate: mean of the best cluster",
        "silhouette_lower": f"{interval} this and silhouette_upper",
        "silhouette_upper": f"{interval} silhouette_lower and this",
        "std_error": "standard error of silhouette",
    }


_SILHOUETTE = Report(
    command="silhouette",
    function=silhouette_score,
    description="the mean silhouette of one or many clusterings",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    engine="polars",
    heading=(("cluster", "distance", "method"), ("vector",)),
    meanings=_POINT_COUNTS
    | explain({"n_evaluated": "points whose silhouette is computed"})
    | look_up("silhouette_score")
    | explain({"std_error": "standard error of the silhouette of a sample"}),
    titles={"n": "counts", "silhouette": "from -1 to 1"},
    comparison=(
        *("n", "n_clusters", "n_evaluated", "silhouette", "silhouette_macro", "silhouette_max"),
        *("silhouette_lower", "silhouette_upper"),
    ),
    readings=("silhouette",),
    adapt=_adapt_to_method,
)

_SILHOUETTE_OF_PAIRS = replace(
    _SILHOUETTE,
    variant="pairs",
    function=silhouette_score_from_distances,
    description="the mean silhouette, from a table of distances",
    inputs=_PAIRS,
    heading=(("id", "cluster"), _OF_PAIRS),
    meanings=_SILHOUETTE.meanings
    | _POINT_COUNTS_OF_PAIRS
    | explain({"n_evaluated": "points that lack no pair"}),
    adapt=_adapt_to_between,
)

_SAMPLES = Report(
    command="samples",
    function=silhouette_samples,
    description="the silhouette of each point, low ones first",
    no_rows="no rows with a vector and a cluster",
    engine="polars",
    heading=(("cluster", "distance"), ("vector",)),
    meanings=explain(
        {
            "id": "the point; its row, from 0, without --id",
            "cluster": "its cluster",
            "neighbor": "the nearest other cluster",
            "a": ("low", "mean distance to its own cluster"),
            "b": ("high", "mean distance to the neighbor"),
            "silhouette": "(b - a) / max(a, b), from -1; low ones first",
            "std_error": "standard error of the silhouette with --reference-size",
        }
    ),
    any_magnitude=True,
    worst_first="silhouette",
    adapt=_adapt_to_between,
)


_SAMPLES_OF_PAIRS = replace(
    _SAMPLES,
    variant="pairs",
    function=silhouette_samples_from_distances,
    description="the silhouette of each point, from a table of distances",
    no_rows="no rows with an id and a cluster",
    inputs=_PAIRS,
    heading=(("id", "cluster"), _OF_PAIRS),
    meanings=_SAMPLES.meanings | explain({"id": "the point", "std_error": "NULL: not a sample"}),
)


# ----------------------------------------------------------------------------------------------
# Pairs of points, and numbers of clusters
# ----------------------------------------------------------------------------------------------


def _adapt_to_generalized(report: Report, arguments: Mapping[str, Any]) -> Report:
    """Return the report with the generalized indices only if the user requests them."""
    generalized = tuple(x for x in report.meanings if x.startswith("gdi_"))
    if arguments["generalized"]:
        return replace(report, comparison=(*report.comparison, *generalized))
    return replace(report, left_out=generalized)


_DUNN = Report(
    command="dunn",
    function=dunn_index,
    description="Dunn's index and its generalized forms",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    engine="polars",
    heading=(("cluster", "distance"), ("vector",)),
    meanings=_POINT_COUNTS | look_up("dunn_index"),
    titles={
        "n": "counts",
        "dunn_index": "Dunn's index",
        "gdi_11": "generalized: separation / diameter",
    },
    comparison=(
        *("n", "n_clusters", "dunn_index", "centroid_dunn_index"),
        *("max_diameter", "min_separation"),
    ),
    any_magnitude=True,
    adapt=_adapt_to_generalized,
)

_OF_CENTERS = re.compile(r"centroid_dunn_index|gdi_([45].|.3)")
_NEEDS_CENTERS = tuple(name for name in _DUNN.meanings if _OF_CENTERS.fullmatch(name))
_DUNN_OF_PAIRS = replace(
    _DUNN,
    variant="pairs",
    function=dunn_index_from_distances,
    description="Dunn's index and its generalized forms, from a table of distances",
    inputs=_PAIRS,
    heading=(("id", "cluster"), _OF_PAIRS),
    meanings=_DUNN.meanings | _POINT_COUNTS_OF_PAIRS,
    comparison=tuple(name for name in _DUNN.comparison if name not in _NEEDS_CENTERS),
    left_out=_NEEDS_CENTERS,
    adapt=None,
)

_VALIDITY = Report(
    command="density",
    show="scores",
    function=density_based_validity,
    description="the density-based validity (DBCV), for clusters of any shape",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    engine="polars",
    heading=(("cluster", "distance"), ("vector",)),
    meanings=_POINT_COUNTS | look_up("density_based_validity"),
    titles={"n": "counts", "density_based_validity": "from -1 to 1"},
    comparison=("n", "n_noise", "n_clusters", "density_based_validity"),
)

_VALIDITY_CLUSTERS = replace(
    _VALIDITY,
    show="",
    variant="clusters",
    function=density_based_validity_clusters,
    description="the density-based validity of each cluster, low ones first",
    row_counts=(),
    no_rows="no rows with a vector and a cluster",
    meanings=explain(
        {
            "cluster": "the cluster; NULL for noise that counts as singletons",
            "n": "points in it",
            "sparseness": ("low", "largest edge between inner points of its tree"),
            "separation": ("high", "smallest reachability of another cluster"),
            "validity": ("1", "(separation - sparseness) / the larger of the two"),
        }
    ),
    titles={},
    comparison=(),
    any_magnitude=True,
    worst_first="validity",
)

_ELBOW = Report(
    command="elbow",
    function=elbow,
    description="indices for choosing the number of clusters, and what they recommend",
    no_rows="no rows with a vector and a cluster",
    heading=(("cluster", "k", "distance", "silhouette"), ("vector",)),
    meanings=explain(
        {
            "k": "number of clusters asked for",
            "n": "points that are scored",
            "n_clusters": "clusters that are not empty",
        }
    )
    | look_up(
        "internal_report",
        *("ssw", "explained_variance", "calinski_harabasz_score", "davies_bouldin_score"),
    )
    | explain(
        {
            "silhouette": "mean silhouette of all points; see --silhouette",
            "krzanowski_lai_index": ("high", "fall of ssw to k / fall to k + 1"),
            "hartigan_index": "above 10, another cluster is worth it",
            "jump": ("high", "rise of the transformed distortion from k - 1"),
            "bic": ("high", "Bayesian information criterion of spherical Gaussians"),
            "second_difference": ("high", "how much less ssw falls after k than before it"),
            "chord_distance": ("high", "how far the curve is below its chord"),
            "kneedle": ("high", "the difference curve of Kneedle"),
            "is_knee": "first knee by Kneedle; NULL if there is none",
        }
    ),
    any_magnitude=True,
    recommend=lambda result, keys: choose_k(result, partition_by=keys or None),
)

_PAIRWISE = Report(
    command="pairwise",
    function=pairwise_report,
    description="the C-index, gamma and other indices of all pairs of points",
    row_counts=("n", "n_dropped"),
    no_rows="no rows",
    engine="polars",
    heading=(("cluster", "distance", "n_neighbors"), ("vector",)),
    meanings=_POINT_COUNTS
    | explain(
        {
            "n_within_pairs": "pairs of points in the same cluster",
            "n_between_pairs": "pairs of points in different clusters",
        }
    )
    | look_up("pairwise_report"),
    titles={"n": "counts", "c_index": "indices of all pairs"},
    comparison=(
        *("n", "n_clusters", "c_index", "gamma", "g_plus", "tau"),
        *("mcclain_rao", "connectivity"),
    ),
    any_magnitude=True,
)

_PAIRWISE_OF_PAIRS = replace(
    _PAIRWISE,
    variant="pairs",
    function=pairwise_report_from_distances,
    description="the C-index, gamma and other indices, from a table of distances",
    inputs=_PAIRS,
    heading=(("id", "cluster", "n_neighbors"), _OF_PAIRS),
    meanings=_PAIRWISE.meanings | _POINT_COUNTS_OF_PAIRS,
)

POINTS = (
    *(_INTERNAL, _SILHOUETTE, _SILHOUETTE_OF_PAIRS, _SAMPLES, _SAMPLES_OF_PAIRS),
    *(_DUNN, _DUNN_OF_PAIRS, _VALIDITY, _VALIDITY_CLUSTERS, _ELBOW),
    *(_PAIRWISE, _PAIRWISE_OF_PAIRS),
)
