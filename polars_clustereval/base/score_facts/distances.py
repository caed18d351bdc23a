"""distances: facts about indices that are computed from distances between points."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from .entry import Entry, Scale

__all__ = ["DISTANCES"]

_TWO_TO_N = "k = 1 or k = n"

# ----------------------------------------------------------------------------------------------
# Silhouettes
# ----------------------------------------------------------------------------------------------

_ROUSSEEUW = (
    "Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of "
    "cluster analysis, doi:10.1016/0377-0427(87)90125-7."
)
_COCHRAN = "Cochran (1977), Sampling Techniques, for the variance of a sample."
#: The book prints the ranges with two decimals: 0.71-1.00, 0.51-0.70, 0.26-0.50 and up to 0.25.
_KAUFMAN = Scale(
    ((0.70, "strong structure"), (0.50, "reasonable structure"), (0.25, "weak structure")),
    "no substantial structure",
    "Kaufman and Rousseeuw 1990",
    "Finding groups in data, doi:10.1002/9780470316801",
)

_silhouette = partial(
    Entry,
    kind="internal",
    family="silhouettes",
    table="silhouette_score",
    range="[-1, 1]",
    best="1",
    cost="For sqeuclidean and cosine, the running time grows with the number of points times the "
    "number of clusters, and for cityblock, with n log n for each coordinate. For other distances, "
    "most of the time is spent on pairs of points that certified bounds cannot exclude. The "
    "methods 'bounds' and 'simplified' do not compute any distances between points.",
)

_SILHOUETTE_SCORE = (
    _silhouette(
        name="silhouette",
        title="Mean silhouette",
        definition="How much closer a point is to its own cluster than to the nearest other "
        "cluster, averaged over all points. The score is the mean of (b − a) / max(a, b) over all "
        "points, where a is a point's mean distance to the other points of its own cluster, and b "
        "is the smallest of its mean distances to the points of each other cluster.",
        meaning="mean silhouette of all points",
        special_cases=f"{_TWO_TO_N}; the method is 'bounds'. The silhouette of a point is 0 if the "
        "point is alone in its cluster, or if a = b = 0",
        source=_ROUSSEEUW,
        elsewhere={
            "scikit-learn": "silhouette_score",
            "fpc": "avg.silwidth",
            "Spark": "ClusteringEvaluator (squared distances)",
            "Alink": "getSilhouetteCoefficient (squared distances)",
        },
        differs="In Alink and MATLAB, a point that is alone in its cluster has a silhouette of 1. "
        "With sample_size, scikit-learn compares the sampled points only with each other.",
        scale=_KAUFMAN,
    ),
    _silhouette(
        name="silhouette_macro",
        title="Mean silhouette of the clusters",
        definition="Mean silhouette of each cluster's points, averaged over all clusters.",
        meaning="mean silhouette of the clusters, unweighted",
        special_cases=f"{_TWO_TO_N}; the method is 'bounds'; the sample contains no points of some "
        "cluster",
        source="Pavlopoulos et al. (2024), Revisiting silhouette aggregation, arXiv:2401.05831.",
        elsewhere={"clusterCrit": "Silhouette"},
    ),
    _silhouette(
        name="silhouette_max",
        title="Silhouette of the best cluster",
        definition="Largest of the clusters' mean silhouettes.",
        meaning="mean silhouette of the best cluster",
        special_cases=f"{_TWO_TO_N}; the method is 'bounds'; the sample contains no points of some "
        "cluster",
        source="Reyes-Figueroa (2024), Métricas para evaluar algoritmos de agrupamiento.",
    ),
    _silhouette(
        name="silhouette_lower",
        title="Lower bound of the mean silhouette",
        definition="Lower bound on the exact mean silhouette. It equals silhouette for the method "
        "'exact' without tolerance, is certified for 'bounds' and with tolerance, and holds with "
        "the probability confidence for 'sample'.",
        meaning="equals silhouette, which is exact",
        special_cases=f"{_TWO_TO_N}; the method is 'simplified'",
        source=_COCHRAN,
    ),
    _silhouette(
        name="silhouette_upper",
        title="Upper bound of the mean silhouette",
        definition="Upper bound on the exact mean silhouette. It equals silhouette for the method "
        "'exact' without tolerance, is certified for 'bounds' and with tolerance, and holds with "
        "the probability confidence for 'sample'.",
        meaning="equals silhouette, which is exact",
        special_cases=f"{_TWO_TO_N}; the method is 'simplified'",
        source=_COCHRAN,
    ),
)

# ----------------------------------------------------------------------------------------------
# Dunn
# ----------------------------------------------------------------------------------------------

_DUNN_1973 = (
    "Dunn (1973), A fuzzy relative of the ISODATA process and its use in detecting compact "
    "well-separated clusters, doi:10.1080/01969727308546046."
)
_BEZDEK = "Bezdek and Pal (1998), Some new indexes of cluster validity, doi:10.1109/3477.678624."
_NO_DIAMETER = f"{_TWO_TO_N}; max_diameter = 0"

_dunn = partial(
    Entry,
    kind="internal",
    family="Dunn",
    table="dunn_index",
    range="[0, ∞)",
    cost="Bounds exclude most pairs of points if there are about ten coordinates or fewer, and "
    "hardly any if there are a hundred. The distances of the remaining pairs are computed, so the "
    "result is exact.",
)


class _Part(NamedTuple):
    """A way to measure how far apart two clusters are, or how large a cluster is."""

    #: A few words for the terminal.
    meaning: str
    #: What follows "measured" in the definition.
    measured: str
    formula: str


#: Separations and diameters by number.
_SEPARATIONS = {
    1: _Part(
        "distance of nearest points",
        "between their nearest points",
        "the smallest d(x, y) for x in one cluster and y in the other (single linkage)",
    ),
    2: _Part(
        "distance of farthest points",
        "between their farthest points",
        "the largest d(x, y) for x in one cluster and y in the other (complete linkage)",
    ),
    3: _Part(
        "mean distance of points",
        "as the mean distance between their points",
        "the mean of d(x, y) over x in one cluster and y in the other (average linkage)",
    ),
    4: _Part(
        "distance of centroids",
        "between their centers",
        "the distance d(μ_C, μ_D) of their centers",
    ),
    5: _Part(
        "distance to other centroid",
        "as the mean distance of their points to the center of the other cluster",
        "the mean distance (Σ_C d(x, μ_D) + Σ_D d(y, μ_C)) / (n_C + n_D) to the other center",
    ),
    6: _Part(
        "Hausdorff distance",
        "as their Hausdorff distance",
        "the largest distance of a point from the other cluster (Hausdorff)",
    ),
}
_DIAMETERS = {
    1: _Part(
        "largest diameter",
        "between its farthest points",
        "the largest d(x, y) in the cluster, its diameter",
    ),
    2: _Part(
        "mean distance within",
        "as the mean distance between its points",
        "the mean of d(x, y) over the pairs in the cluster, or 0 for a single point",
    ),
    3: _Part(
        "doubled mean radius",
        "as twice the mean distance of its points to its center",
        "twice the mean of d(x, μ_C)",
    ),
}


def _generalize(i: int, j: int) -> Entry:
    """Return the entry for gdi_ij, the generalized Dunn index with separation i and diameter j."""
    separation, diameter = _SEPARATIONS[i], _DIAMETERS[j]
    differs = []
    if j == 2:
        differs.append(f"The code of clusterCrit halves Δ2, so its GDI{i}{j} is twice this index.")
    if i == 5:
        differs.append(
            "In clusterCrit and genieclust, δ5 uses the distance of each point to the "
            "center of its own cluster."
        )
    elsewhere = {"clusterCrit": f"GDI{i}{j}"} if i < 6 and not differs else {}
    return _dunn(
        name=f"gdi_{i}{j}",
        title=f"Generalized Dunn index {i}{j}",
        definition="Generalized Dunn index: the smallest distance between two clusters, measured "
        f"{separation.measured}, divided by the largest diameter of a cluster, measured "
        f"{diameter.measured}. The index is the smallest δ{i} between two clusters divided by the "
        f"largest Δ{j} of a cluster, where δ{i} is {separation.formula}, and Δ{j} is "
        f"{diameter.formula}.",
        best="high",
        meaning=f"{separation.meaning} / {diameter.meaning}",
        special_cases=f"{_NO_DIAMETER}; the option generalized is false",
        option="generalized",
        source=_BEZDEK,
        cost="The distances between all n (n − 1) / 2 pairs of points are computed.",
        elsewhere=elsewhere | ({"fpc": "dunn2"} if (i, j) == (3, 2) else {}),
        differs=" ".join(differs),
    )


_DUNN_INDEX = (
    _dunn(
        name="dunn_index",
        title="Dunn's index",
        definition="Smallest distance between two points of different clusters, divided by the "
        "largest diameter of a cluster. The index is min_separation / max_diameter.",
        best="high",
        meaning="smallest separation / largest diameter",
        special_cases=_NO_DIAMETER,
        source=_DUNN_1973,
        elsewhere={"clusterCrit": "Dunn", "fpc": "dunn"},
        differs="torchmetrics divides the smallest distance between two centroids by the largest "
        "radius. permetrics divides the smallest distance from a point to the centroid of another "
        "cluster by the diameter.",
    ),
    _dunn(
        name="centroid_dunn_index",
        title="Dunn's index of centroids",
        definition="Smallest distance between two centroids, divided by the largest diameter of a "
        "cluster.",
        best="high",
        meaning="smallest gap of centroids / largest diameter",
        special_cases=_NO_DIAMETER,
        source=_BEZDEK,
        elsewhere={"clusterCrit": "GDI41"},
    ),
    _dunn(
        name="max_diameter",
        title="Largest diameter",
        definition="Largest distance between two points of the same cluster.",
        best="low",
        meaning="largest distance within a cluster",
        special_cases="",
        source=_DUNN_1973,
        elsewhere={"fpc": "max.diameter"},
    ),
    _dunn(
        name="min_separation",
        title="Smallest separation",
        definition="Smallest distance between two points of different clusters.",
        best="high",
        meaning="smallest distance between two clusters",
        special_cases="k = 1",
        source=_DUNN_1973,
        elsewhere={"fpc": "min.separation"},
    ),
    *(_generalize(i, j) for i in _SEPARATIONS for j in _DIAMETERS),
)

# ----------------------------------------------------------------------------------------------
# Pairs of points
# ----------------------------------------------------------------------------------------------

_MILLIGAN = (
    "Milligan (1981), A Monte Carlo study of thirty internal criterion measures for cluster "
    "analysis, doi:10.1007/BF02293899."
)
_TIES = "The code of clusterCrit counts comparisons of equal distances in s⁺."

_index_of_pairs = partial(
    Entry,
    kind="internal",
    family="pairs of points",
    table="pairwise_report",
    cost="The distances between all n (n − 1) / 2 pairs of points are sorted. If there are more "
    "than max_points points, the call fails with an error.",
)

_PAIRWISE_REPORT = (
    _index_of_pairs(
        name="c_index",
        title="C-index",
        definition="Sum of the distances within clusters, on a scale from 0 for the smallest "
        "possible sum to 1 for the largest. The index is (S_W − S_min) / (S_max − S_min), where "
        "S_min and S_max are the sums of the N_W smallest and the N_W largest distances.",
        range="[0, 1]",
        best="0",
        meaning="sum of distances within, from 0 (min) to 1 (max)",
        special_cases=f"{_TWO_TO_N}; all distances are equal",
        source="Hubert and Levin (1976), A general statistical framework for assessing categorical "
        "clustering in free recall, doi:10.1037/0033-2909.83.6.1072.",
        elsewhere={"clusterCrit": "C_index"},
        differs="For S_min and S_max, NbClust uses N_W times the smallest and N_W times the "
        "largest distance within clusters.",
    ),
    _index_of_pairs(
        name="gamma",
        title="Baker and Hubert's gamma",
        definition="Share of comparisons in which a distance within clusters is smaller than a "
        "distance between clusters, minus the share in which it is larger. The index is (s⁺ − s⁻) "
        "/ (s⁺ + s⁻), so comparisons of equal distances do not count.",
        range="[-1, 1]",
        best="1",
        meaning="share of right minus share of wrong comparisons",
        special_cases=f"{_TWO_TO_N}; s⁺ = s⁻ = 0",
        source="Baker and Hubert (1975), Measuring the power of hierarchical cluster analysis, "
        "doi:10.1080/01621459.1975.10480256.",
        elsewhere={"clusterCrit": "Gamma", "fpc": "g2"},
        differs=_TIES,
    ),
    _index_of_pairs(
        name="g_plus",
        title="G+ index",
        definition="Number of comparisons in which a distance within clusters is larger than a "
        "distance between clusters, as a share of all pairs of distances. The index is 2 s⁻ / "
        "(N_T (N_T − 1)).",
        range="[0, 2/3]",
        best="0",
        meaning="wrong comparisons / all pairs of distances",
        special_cases=_TWO_TO_N,
        source="Rohlf (1974), Methods of comparing classifications, "
        "doi:10.1146/annurev.es.05.110174.000533.",
        elsewhere={"clusterCrit": "G_plus"},
        differs="NbClust divides 2 s⁻ by n (n − 1).",
    ),
    _index_of_pairs(
        name="tau",
        title="Tau index",
        definition="Rank correlation between the distance of two points and whether they are in "
        "different clusters. The index is (s⁺ − s⁻) / √(N_W N_B N_T (N_T − 1) / 2).",
        range="[-m, m]",
        best="high",
        meaning="rank correlation of distance and separation",
        special_cases=f"{_TWO_TO_N}. In the range, m = √(2 N_W N_B / (N_T (N_T − 1))), which is "
        "reached if s⁻ = 0",
        source=_MILLIGAN,
        elsewhere={"clusterCrit": "Tau"},
        differs=_TIES,
    ),
    _index_of_pairs(
        name="mcclain_rao",
        title="McClain-Rao index",
        definition="Mean distance within clusters divided by the mean distance between clusters. "
        "The index is (S_W / N_W) / (S_B / N_B).",
        range="[0, ∞)",
        best="low",
        meaning="mean distance within / mean distance between",
        special_cases=f"{_TWO_TO_N}; S_B = 0",
        source="McClain and Rao (1975), CLUSTISZ: a program to test for the quality of clustering "
        "of a set of objects, Journal of Marketing Research 12:456-460.",
        elsewhere={"clusterCrit": "McClain_Rao"},
        differs="NbClust divides by the counts N_W and N_B twice.",
    ),
    _index_of_pairs(
        name="point_biserial",
        title="Point-biserial index",
        definition="Mean distance within clusters minus the mean distance between clusters, times "
        "the geometric mean of the shares of both kinds of distances. The index is (S_W / N_W − "
        "S_B / N_B) √(N_W N_B) / N_T.",
        range="unbounded",
        best="low",
        meaning="mean distance within minus between, weighted",
        special_cases=_TWO_TO_N,
        source=_MILLIGAN,
        elsewhere={"clusterCrit": "Point_Biserial"},
        differs="pointbiserialr in scipy and pearsongamma in fpc have the opposite sign and are "
        "divided by the standard deviation of all distances.",
    ),
    _index_of_pairs(
        name="connectivity",
        title="Connectivity",
        definition="Number of nearest neighbors that are in another cluster, with less weight for "
        "farther neighbors, summed over all points. The connectivity is the sum of 1 / j over all "
        "points and all j ≤ n_neighbors for which the point's j-th nearest neighbor is in another "
        "cluster.",
        range="[0, ∞)",
        best="0",
        meaning="weighted count of neighbors in other clusters",
        special_cases="n < 2",
        source="Handl, Knowles and Kell (2005), Computational cluster validation in post-genomic "
        "data analysis, doi:10.1093/bioinformatics/bti517.",
        elsewhere={"clValid": "connectivity"},
    ),
)

# ----------------------------------------------------------------------------------------------
# Density
# ----------------------------------------------------------------------------------------------

_DENSITY = (
    Entry(
        name="density_based_validity",
        title="Density-based clustering validation (DBCV)",
        kind="internal",
        family="density",
        table="density_based_validity",
        definition="How much denser the sparsest place of a cluster is than the densest place "
        "between it and another cluster, averaged over all points. The index is the sum of n_C / n "
        "(s_C − w_C) / max(s_C, w_C) over all clusters C. Points of noise that are dropped count "
        "in n, too.",
        range="[-1, 1]",
        best="1",
        meaning="density within clusters against between them",
        special_cases="fewer than two clusters have more than one point. A cluster of a single "
        "point counts as 0, and so does a cluster with s_C = w_C = 0",
        source="Moulavi, Jaskowiak, Campello, Zimek and Sander (2014), Density-based clustering "
        "validation, doi:10.1137/1.9781611973440.96.",
        cost="The distances between all pairs of points of the same cluster are computed twice, "
        "and those of points of different clusters unless bounds exclude them. Memory grows with "
        "the number of points.",
        elsewhere={
            "hdbscan": "validity_index",
            "DBCV (Python, MATLAB)": "dbcv",
            "dbscan (R)": "dbcv",
            "DBCVindex (R)": "dbcv_index",
            "ELKI": "DBCV",
        },
        differs="In hdbscan and in DBCV, the order of the rows decides between edges with equal "
        "weights. In hdbscan, a point ignores its copies, only the first point of a cluster of two "
        "is compared with other clusters, and clusters of one point are an error. In DBCV, copies "
        "are an error, distances are squared by default, and a single cluster has a score near 1. "
        "In dbscan, clusters of two points are noise.",
    ),
)

#: One entry for each index of this module, in the order of the reports.
DISTANCES: tuple[Entry, ...] = (*_SILHOUETTE_SCORE, *_DUNN_INDEX, *_PAIRWISE_REPORT, *_DENSITY)
