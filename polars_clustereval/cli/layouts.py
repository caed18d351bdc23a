"""Layouts: what the terminal's table says of each report, and in which order."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EXTERNAL", "INTERNAL", "SILHOUETTE", "Layout"]


_SILHOUETTES = (
    *("silhouette", "silhouette_macro", "silhouette_max"),
    *("silhouette_lower", "silhouette_upper"),
)


class Layout(NamedTuple):
    """The words of a table."""

    heading: tuple[tuple[str, ...], ...]  # the options above the table, line by line
    titles: dict[str, str]  # of groups, by the first column of each
    meanings: dict[str, str]  # of the headline columns
    compared: tuple[str, ...]  # worth a column where many clusterings share a screen
    scaled: bool  # quantities of any size, not scores between 0 and 1


EXTERNAL = Layout(
    heading=(("label", "cluster"),),
    titles={
        "n": "counts",
        "rand_score": "pair counting",
        "label_entropy": "information",
        "purity": "set matching",
    },
    meanings={
        "n": "rows that are scored",
        "n_dropped": "rows left out: no label or no cluster",
        "n_noise": "rows that the clustering calls noise",
        "rand_score": "share of pairs on which both agree; 1 is best",
        "adjusted_rand_score": "agreement on pairs: 0 is chance, 1 is best",
        "fowlkes_mallows_score": "geometric mean of pair precision and recall",
        "pair_precision": "of pairs in one cluster: the share of one label",
        "pair_recall": "of pairs of one label: the share in one cluster",
        "normalized_mutual_info_score": "what one tells of the other, chance included",
        "adjusted_mutual_info_score": "what one tells of the other: 0 is chance, 1 best",
        "homogeneity_score": "1 if every cluster holds one label only",
        "completeness_score": "1 if every label sits in one cluster only",
        "v_measure_score": "harmonic mean of homogeneity and completeness",
        "purity": "share of rows with their cluster's main label",
        "inverse_purity": "share of rows in their label's main cluster",
        "bcubed_f_score": "its precision and recall in one; 1 is best",
        "exact_match_f_score": "clusters that are a label exactly; 1 is best",
    },
    compared=(
        "n",
        "n_clusters",
        "adjusted_rand_score",
        "fowlkes_mallows_score",
        "adjusted_mutual_info_score",
        "homogeneity_score",
        "completeness_score",
    ),
    scaled=False,
)

INTERNAL = Layout(
    heading=(("cluster", "distance"), ("vector",)),
    titles={
        "n": "counts",
        "ssw": "sums of squares",
        "compactness": "distances",
        "calinski_harabasz_score": "centre-based indices",
    },
    meanings={
        "n": "points that are scored",
        "n_dropped": "rows left out: no vector or no cluster",
        "n_noise": "points that the clustering calls noise",
        "n_singletons": "clusters of one point",
        "ssw": "within: points to their own centre",
        "ssb": "between: centres to the middle of all points",
        "explained_variance": "share of the squares that is between; 1 is best",
        "compactness": "mean distance to the own centre; best low",
        "separation": "mean distance between two centres; best high",
        "calinski_harabasz_score": "variance between by variance within; best high",
        "davies_bouldin_score": "widths by gap, of each worst pair; best low",
        "ball_hall_index": "mean square within a cluster; best low",
        "banfield_raftery_index": "log of the squares within; best low",
        "log_ss_ratio": "log of between by within; best high",
        "pbm_index": "widest gap by distances within; best high",
        "ratkowsky_lance_index": "what a cluster explains of a coordinate; best high",
        "ray_turi_index": "mean square by the closest gap's; best low",
        "xie_beni_index": "the same for clusters without overlap; best low",
        "sd_scattering": "clusters' variance by that of all; best low",
        "sd_separation": "how unevenly the centres lie; best low",
    },
    compared=(
        "n",
        "n_clusters",
        "ssw",
        "explained_variance",
        "calinski_harabasz_score",
        "davies_bouldin_score",
        "xie_beni_index",
        "pbm_index",
    ),
    scaled=True,
)

SILHOUETTE = Layout(
    heading=(("cluster", "distance", "method"), ("vector",)),
    titles={"n": "counts", "silhouette": "silhouette: from -1 to 1, 1 is best"},
    meanings={
        "n": "points that are scored",
        "n_dropped": "rows left out: no vector or no cluster",
        "n_noise": "points that the clustering calls noise",
        "n_singletons": "clusters of one point",
        "n_evaluated": "points whose own silhouette is in the score",
        "silhouette": "mean over the points",
        "silhouette_macro": "mean over the clusters, large or small",
        "silhouette_max": "mean of the best cluster",
        "silhouette_lower": "the mean over all points is no less",
        "silhouette_upper": "and no more",
    },
    compared=("n", "n_clusters", "n_evaluated", *_SILHOUETTES),
    scaled=False,
)
