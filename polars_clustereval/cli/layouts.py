"""Layouts: the texts of each report's table on the terminal, and their order."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EXTERNAL", "INTERNAL", "SILHOUETTE", "Layout"]


_SILHOUETTES = (
    *("silhouette", "silhouette_macro", "silhouette_max"),
    *("silhouette_lower", "silhouette_upper"),
)


class Layout(NamedTuple):
    """The texts of one report's table on the terminal, and which columns it shows."""

    heading: tuple[tuple[str, ...], ...]  # options shown above the table, line by line
    titles: dict[str, str]  # titles of groups, by the first column of each
    meanings: dict[str, str]  # one line for each headline column
    comparison: tuple[str, ...]  # columns of the table of many clusterings
    any_magnitude: bool  # values of any size rather than scores between 0 and 1


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
        "n_noise": "rows whose cluster is noise",
        "rand_score": "share of pairs on which both agree; 1 is best",
        "adjusted_rand_score": "agreement on pairs: 0 is chance, 1 is best",
        "fowlkes_mallows_score": "geometric mean of pair precision and recall",
        "pair_precision": "of pairs in one cluster: the share of one label",
        "pair_recall": "of pairs of one label: the share in one cluster",
        "normalized_mutual_info_score": "shared information, not adjusted for chance",
        "adjusted_mutual_info_score": "shared information: 0 is chance, 1 is best",
        "homogeneity_score": "1 if every cluster contains one label only",
        "completeness_score": "1 if every label is in one cluster only",
        "v_measure_score": "harmonic mean of homogeneity and completeness",
        "purity": "share of rows with their cluster's majority label",
        "inverse_purity": "share of rows in their label's majority cluster",
        "bcubed_f_score": "harmonic mean of B-cubed precision and recall",
        "exact_match_f_score": "clusters identical to a label; 1 is best",
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
    any_magnitude=False,
)

INTERNAL = Layout(
    heading=(("cluster", "distance"), ("vector",)),
    titles={
        "n": "counts",
        "ssw": "sums of squares",
        "compactness": "distances",
        "calinski_harabasz_score": "centroid-based indices",
    },
    meanings={
        "n": "points that are scored",
        "n_dropped": "rows left out: no vector or no cluster",
        "n_noise": "points whose cluster is noise",
        "n_singletons": "clusters of one point",
        "ssw": "within: points to their own centroid",
        "ssb": "between: centroids to overall centroid",
        "explained_variance": "between / total; 1 is best",
        "compactness": "mean distance to own centroid; best low",
        "separation": "mean gap between centroids; best high",
        "calinski_harabasz_score": "variance between / within; best high",
        "davies_bouldin_score": "widths / gap of worst pairs; best low",
        "ball_hall_index": "mean square within a cluster; best low",
        "banfield_raftery_index": "sum of n ln(mean square); best low",
        "log_ss_ratio": "ln(between / within); best high",
        "pbm_index": "largest gap / width, squared; best high",
        "ratkowsky_lance_index": "explained in each coordinate; best high",
        "ray_turi_index": "mean square / squared gap; best low",
        "xie_beni_index": "same as ray_turi_index; best low",
        "sd_scattering": "variance within / overall; best low",
        "sd_separation": "unevenness of centroid gaps; best low",
    },
    comparison=(
        "n",
        "n_clusters",
        "ssw",
        "explained_variance",
        "calinski_harabasz_score",
        "davies_bouldin_score",
        "xie_beni_index",
        "pbm_index",
    ),
    any_magnitude=True,
)

SILHOUETTE = Layout(
    heading=(("cluster", "distance", "method"), ("vector",)),
    titles={"n": "counts", "silhouette": "silhouette: from -1 to 1, 1 is best"},
    meanings={
        "n": "points that are scored",
        "n_dropped": "rows left out: no vector or no cluster",
        "n_noise": "points whose cluster is noise",
        "n_singletons": "clusters of one point",
        "n_evaluated": "points whose own silhouette is in the score",
        "silhouette": "mean over the points",
        "silhouette_macro": "unweighted mean over the clusters",
        "silhouette_max": "mean of the best cluster",
        "silhouette_lower": "lower bound of silhouette",
        "silhouette_upper": "upper bound of silhouette",
    },
    comparison=("n", "n_clusters", "n_evaluated", *_SILHOUETTES),
    any_magnitude=False,
)
