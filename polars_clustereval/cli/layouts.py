"""Layouts: how each report's table on the terminal is arranged, and in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from . import meanings

if TYPE_CHECKING:
    from argparse import Namespace

    from .meanings import Meaning

__all__ = [
    "AFFECTED",
    "CLUSTERS",
    "CONSENSUS",
    "DRIFT",
    "DUNN",
    "ELBOW",
    "EXTERNAL",
    "EXTERNAL_INTERVALS",
    "GRAPH",
    "GRAPH_CLUSTERS",
    "GRAPH_EDGES",
    "GRAPH_NODES",
    "INTERNAL",
    "LABELS",
    "MATCHING",
    "MOVES",
    "OVERLAPPING",
    "OVERLAPS",
    "PAIRWISE",
    "RESOLUTION",
    "RESOLUTION_ESTIMATES",
    "SAMPLES",
    "SILHOUETTE",
    "STABILITY",
    "TRANSITIONS",
    "Layout",
    "adapt_to_method",
]


class Layout(NamedTuple):
    """The texts of one report's table on the terminal, and which columns it shows."""

    #: Options shown above the table, line by line.
    heading: tuple[tuple[str, ...], ...]
    #: What the columns say; the meanings of all of them.
    meanings: dict[str, Meaning]
    #: Titles of groups of columns, by the first column of each.
    titles: dict[str, str]
    #: Columns of the table of many clusterings; the first one with a best value sorts it.
    comparison: tuple[str, ...] = ()
    #: Whether values are of any size, rather than scores between 0 and 1.
    any_magnitude: bool = False
    #: In a report of many rows per clustering: the column that puts the worst rows first.
    worst_first: str | None = None
    #: Whether a report of many rows per clustering is shown in its own order.
    keeps_order: bool = False
    #: A column and its value in the rows that the terminal shows after all others.
    shown_last: tuple[str, str] | None = None
    #: Whether the report has a row per metric, with the limits of an interval.
    has_intervals: bool = False
    #: Columns whose value is put into words below the table of one clustering.
    readings: tuple[str, ...] = ()
    #: Whether an arrow stands before the best value of a score, and beside its name in a head.
    has_arrows: bool = True

    @property
    def is_listing(self) -> bool:
        """Whether the report has many rows per clustering."""
        return self.keeps_order or self.worst_first is not None


EXTERNAL = Layout(
    heading=(("label", "cluster"),),
    meanings=meanings.EXTERNAL,
    titles={
        "n": "counts",
        "rand_score": "pair counting",
        "label_entropy": "information",
        "purity": "set matching",
    },
    comparison=(
        "n",
        "n_clusters",
        "adjusted_rand_score",
        "fowlkes_mallows_score",
        "adjusted_mutual_info_score",
        "homogeneity_score",
        "completeness_score",
    ),
    readings=("adjusted_rand_score",),
)

EXTERNAL_INTERVALS = EXTERNAL._replace(
    heading=(("label", "cluster", "confidence"),),
    meanings=meanings.EXTERNAL_INTERVALS,
    has_intervals=True,
)

RESOLUTION = Layout(
    heading=(("label", "cluster"), ("split_cost", "merge_cost")),
    meanings=meanings.RESOLUTION,
    titles={
        "n": "counts",
        "pair_precision": "pairs of records",
        "bcubed_precision": "records",
        "exact_match_precision": "entities",
        "talburt_wang_index": "overlaps, splits and merges",
        "muc_precision": "coreference",
        "element_centric_similarity": "similarity and information",
    },
    comparison=(
        *("n", "n_clusters", "pair_f_score", "bcubed_f_score"),
        *("exact_match_f_score", "closest_cluster_f_score", "basic_merge_distance"),
    ),
)

RESOLUTION_ESTIMATES = RESOLUTION._replace(
    heading=(("label", "cluster", "labels_are_sample", "confidence"),),
    meanings=meanings.RESOLUTION_ESTIMATES,
    titles={
        name: RESOLUTION.titles[name]
        for name in ("pair_precision", "bcubed_precision", "exact_match_precision")
    }
    | {"matching_rate": "sizes of entities"},
    has_intervals=True,
)

MATCHING = Layout(
    heading=(("label", "cluster"),),
    meanings=meanings.MATCHING,
    titles={"n": "counts", "clustering_accuracy": "best one-to-one matching"},
    comparison=(
        *("n", "n_clusters", "clustering_accuracy", "normalized_clustering_accuracy"),
        *("pair_sets_index", "ceaf_f_score"),
    ),
)

OVERLAPPING = Layout(
    heading=(("id", "label", "cluster"),),
    meanings=meanings.OVERLAPPING,
    titles={
        "n": "counts",
        "omega_index": "pairs of ids",
        "overlapping_nmi_lfk": "information",
        "extended_bcubed_precision": "ids",
        "best_match_f1": "best matches",
    },
    comparison=(
        *("n", "n_clusters", "omega_index", "overlapping_nmi_lfk"),
        *("overlapping_nmi_mgh", "extended_bcubed_f_score", "nf1"),
    ),
)

GRAPH = Layout(
    heading=(("id", "cluster"), ("left", "right", "weight", "resolution")),
    meanings=meanings.GRAPH,
    titles={"n_nodes": "nodes", "n_edges": "edges", "modularity": "scores"},
    comparison=(
        *("n_nodes", "n_clusters", "n_edges", "modularity"),
        *("coverage", "mean_conductance", "inter_cluster_edge_share"),
    ),
)

GRAPH_CLUSTERS = Layout(
    heading=(("id", "cluster"), ("left", "right", "weight")),
    meanings=meanings.GRAPH_CLUSTERS,
    titles={},
    keeps_order=True,
)

GRAPH_NODES = GRAPH_CLUSTERS._replace(meanings=meanings.GRAPH_NODES)

GRAPH_EDGES = GRAPH_CLUSTERS._replace(meanings=meanings.GRAPH_EDGES)

INTERNAL = Layout(
    heading=(("cluster", "distance"), ("vector",)),
    meanings=meanings.INTERNAL,
    titles={
        "n": "counts",
        "ssw": "sums of squares",
        "compactness": "distances",
        "calinski_harabasz_score": "centroid-based indices",
    },
    comparison=(
        "n",
        "n_clusters",
        "explained_variance",
        "ssw",
        "calinski_harabasz_score",
        "davies_bouldin_score",
        "xie_beni_index",
        "pbm_index",
    ),
    any_magnitude=True,
)

_SILHOUETTES = (
    *("silhouette", "silhouette_macro", "silhouette_max"),
    *("silhouette_lower", "silhouette_upper"),
)

SILHOUETTE = Layout(
    heading=(("cluster", "distance", "method"), ("vector",)),
    meanings=meanings.SILHOUETTE,
    titles={"n": "counts", "silhouette": "from -1 to 1"},
    comparison=("n", "n_clusters", "n_evaluated", *_SILHOUETTES),
    readings=("silhouette",),
)

DUNN = Layout(
    heading=(("cluster", "distance"), ("vector",)),
    meanings=meanings.DUNN,
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
)

PAIRWISE = Layout(
    heading=(("cluster", "distance", "n_neighbors"), ("vector",)),
    meanings=meanings.PAIRWISE,
    titles={"n": "counts", "c_index": "indices of all pairs"},
    comparison=(
        *("n", "n_clusters", "c_index", "gamma", "g_plus", "tau"),
        *("mcclain_rao", "connectivity"),
    ),
    any_magnitude=True,
)

ELBOW = Layout(
    heading=(("cluster", "k", "distance", "silhouette"), ("vector",)),
    meanings=meanings.ELBOW,
    titles={},
    any_magnitude=True,
    keeps_order=True,
)

CLUSTERS = Layout(
    heading=(("label", "cluster"),),
    meanings=meanings.CLUSTERS,
    titles={},
    worst_first="joined_pairs",
)

LABELS = Layout(
    heading=(("label", "cluster"),),
    meanings=meanings.LABELS,
    titles={},
    worst_first="split_pairs",
)

CONSENSUS = Layout(
    heading=(("id", "run", "cluster", "metric"),),
    meanings=meanings.CONSENSUS,
    titles={},
    keeps_order=True,
)

STABILITY = Layout(
    heading=(("id", "run", "cluster", "reference"),),
    meanings=meanings.STABILITY,
    titles={},
    worst_first="mean_jaccard",
)

TRANSITIONS = Layout(
    heading=(("id", "cluster", "threshold", "min_share"),),
    meanings=meanings.TRANSITIONS,
    titles={},
    keeps_order=True,
    shown_last=("transition", "kept"),
)

OVERLAPS = Layout(
    heading=(("id", "cluster", "threshold"),),
    meanings=meanings.OVERLAPS,
    titles={},
    keeps_order=True,
)

MOVES = Layout(
    heading=(("id", "cluster", "threshold"),),
    meanings=meanings.MOVES,
    titles={},
    keeps_order=True,
)

AFFECTED = Layout(
    heading=(("id", "cluster"),),
    meanings=meanings.AFFECTED,
    titles={},
    keeps_order=True,
)

DRIFT = Layout(
    heading=(("id", "cluster", "threshold", "min_share"),),
    meanings=meanings.DRIFT,
    titles={
        "n_before": "ids",
        "n_clusters_before": "clusters",
        "adjusted_rand_score": "agreement",
        "population_stability_index": "sizes",
    },
    comparison=(
        *("churn", "n_before", "n_after", "n_common", "n_moved"),
        *("adjusted_rand_score", "population_stability_index"),
    ),
    readings=("adjusted_rand_score",),
)

SAMPLES = Layout(
    heading=(("cluster", "distance"), ("vector",)),
    meanings=meanings.SAMPLES,
    titles={},
    any_magnitude=True,
    worst_first="silhouette",
)


# ----------------------------------------------------------------------------------------------
# Silhouettes
# ----------------------------------------------------------------------------------------------


def adapt_to_method(layout: Layout, options: Namespace) -> Layout:
    """Return the layout of silhouettes in the words of --method and --tolerance.

    `options` are the parsed arguments; a sample has limits that hold only with its confidence, and
    a tolerance makes an estimate of the exact score.
    """
    heading = layout.heading
    texts: dict[str, str] = _TEXTS_OF_METHODS.get(options.method, {})
    if options.tolerance is not None:
        texts = _describe_tolerance()
        heading = (("cluster", "distance", "tolerance"), ("vector",))
    elif options.method == "sample":
        texts = _describe_sample(options.confidence)
        sample = ("sample_size", "confidence", "random_state")
        heading = (("cluster", "distance", "method"), sample, ("vector",))
    changed = {name: layout.meanings[name]._replace(text=text) for name, text in texts.items()}
    # The words are for distances: squared ones and those to centers make silhouettes larger.
    is_larger = options.method == "simplified" or options.distance.lower() == "sqeuclidean"
    readings = () if is_larger else layout.readings
    return layout._replace(heading=heading, meanings=layout.meanings | changed, readings=readings)


_TEXTS_OF_METHODS = {
    "bounds": {
        "silhouette": "not computed by this method",
        "silhouette_macro": "not computed by this method",
        "silhouette_max": "not computed by this method",
        "silhouette_lower": "the exact score is no less",
        "silhouette_upper": "the exact score is no more",
    },
    "simplified": {
        "silhouette": "mean over the points, by distances to centers",
        "silhouette_lower": "of the exact score: not computed",
        "silhouette_upper": "of the exact score: not computed",
    },
}


def _describe_tolerance() -> dict[str, str]:
    """Return the texts of the columns of silhouettes that are computed to a tolerance."""
    return {
        "n_evaluated": "points whose silhouette is computed, not estimated",
        "silhouette": "estimate: points not evaluated count as the middle of their bounds",
        "silhouette_macro": "the same, unweighted over the clusters",
        "silhouette_max": "the same for the best cluster",
        "silhouette_lower": "the exact score is no less",
        "silhouette_upper": "the exact score is no more",
    }


def _describe_sample(confidence: float) -> dict[str, str]:
    """Return the texts of the columns of silhouettes that are estimated from a sample."""
    limit = f"confidence limit: with probability {confidence} the exact score is no"
    return {
        "n_evaluated": "points in the sample",
        "silhouette": "estimate: mean over the sampled points",
        "silhouette_macro": "estimate: unweighted mean over the clusters",
        "silhouette_max": "estimate: mean of the best cluster",
        "silhouette_lower": f"{limit} less",
        "silhouette_upper": f"{limit} more",
    }
