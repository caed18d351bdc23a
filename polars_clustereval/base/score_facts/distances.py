"""distances: facts about indices that are computed from distances between points."""

from __future__ import annotations

from functools import partial

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
        definition="mean of (b − a) / max(a, b) over all points, where a is a point's mean "
        "distance to the other points of its own cluster, and b is the smallest of its mean "
        "distances to the points of each other cluster",
        meaning="mean over the points",
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
        definition="mean silhouette of each cluster's points, averaged over all clusters",
        meaning="unweighted mean over the clusters",
        special_cases=f"{_TWO_TO_N}; the method is 'bounds'; the sample contains no points of some "
        "cluster",
        source="Pavlopoulos et al. (2024), Revisiting silhouette aggregation, arXiv:2401.05831.",
        elsewhere={"clusterCrit": "Silhouette"},
    ),
    _silhouette(
        name="silhouette_max",
        title="Silhouette of the best cluster",
        definition="largest of the clusters' mean silhouettes",
        meaning="mean of the best cluster",
        special_cases=f"{_TWO_TO_N}; the method is 'bounds'; the sample contains no points of some "
        "cluster",
        source="Reyes-Figueroa (2024), Métricas para evaluar algoritmos de agrupamiento.",
    ),
    _silhouette(
        name="silhouette_lower",
        title="Lower bound of the mean silhouette",
        definition="lower bound on the exact mean silhouette. It equals silhouette for the method "
        "'exact' without tolerance, is certified for 'bounds' and with tolerance, and holds with "
        "the probability confidence for 'sample'",
        meaning="the same as silhouette: it is exact",
        special_cases=f"{_TWO_TO_N}; the method is 'simplified'",
        source=_COCHRAN,
    ),
    _silhouette(
        name="silhouette_upper",
        title="Upper bound of the mean silhouette",
        definition="upper bound on the exact mean silhouette. It equals silhouette for the method "
        "'exact' without tolerance, is certified for 'bounds' and with tolerance, and holds with "
        "the probability confidence for 'sample'",
        meaning="the same as silhouette: it is exact",
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

#: Separations and diameters by number, each in words for the terminal and as a formula.
_SEPARATIONS = {
    1: (
        "nearest points",
        "the smallest d(x, y) for x in one cluster and y in the other (single linkage)",
    ),
    2: (
        "farthest points",
        "the largest d(x, y) for x in one cluster and y in the other (complete linkage)",
    ),
    3: (
        "mean distance",
        "the mean of d(x, y) over x in one cluster and y in the other (average linkage)",
    ),
    4: ("centroids", "the distance d(μ_C, μ_D) of their centers"),
    5: (
        "points to other centroid",
        "the mean distance (Σ_C d(x, μ_D) + Σ_D d(y, μ_C)) / (n_C + n_D) to the other center",
    ),
    6: ("Hausdorff", "the largest distance of a point from the other cluster (Hausdorff)"),
}
_DIAMETERS = {
    1: ("farthest pair", "the largest d(x, y) in the cluster, its diameter"),
    2: ("mean pair", "the mean of d(x, y) over the pairs in the cluster, or 0 for a single point"),
    3: ("mean to center, doubled", "twice the mean of d(x, μ_C)"),
}


def _generalize(i: int, j: int) -> Entry:
    """Return the entry for gdi_ij, the generalized Dunn index with separation i and diameter j."""
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
        definition=f"smallest δ{i} between two clusters / largest Δ{j} of a cluster, where δ{i} is "
        f"{_SEPARATIONS[i][1]}, and Δ{j} is {_DIAMETERS[j][1]}",
        best="high",
        meaning=f"{_SEPARATIONS[i][0]} / {_DIAMETERS[j][0]}",
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
        definition="smallest distance between two points of different clusters / largest diameter",
        best="high",
        meaning="min_separation / max_diameter",
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
        definition="smallest distance between two centroids / largest diameter",
        best="high",
        meaning="smallest gap between centroids / max_diameter",
        special_cases=_NO_DIAMETER,
        source=_BEZDEK,
        elsewhere={"clusterCrit": "GDI41"},
    ),
    _dunn(
        name="max_diameter",
        title="Largest diameter",
        definition="largest distance between two points of the same cluster",
        best="low",
        meaning="farthest two points of one cluster",
        special_cases="",
        source=_DUNN_1973,
        elsewhere={"fpc": "max.diameter"},
    ),
    _dunn(
        name="min_separation",
        title="Smallest separation",
        definition="smallest distance between two points of different clusters",
        best="high",
        meaning="nearest two points of two clusters",
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
        definition="(S_W − S_min) / (S_max − S_min), where S_min and S_max are the sums of the N_W "
        "smallest and the N_W largest distances",
        range="[0, 1]",
        best="0",
        meaning="sum of distances within, between min and max",
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
        definition="(s⁺ − s⁻) / (s⁺ + s⁻)",
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
        definition="2 s⁻ / (N_T (N_T − 1))",
        range="[0, 2/3]",
        best="0",
        meaning="share of wrong comparisons of distances",
        special_cases=_TWO_TO_N,
        source="Rohlf (1974), Methods of comparing classifications, "
        "doi:10.1146/annurev.es.05.110174.000533.",
        elsewhere={"clusterCrit": "G_plus"},
        differs="NbClust divides 2 s⁻ by n (n − 1).",
    ),
    _index_of_pairs(
        name="tau",
        title="Tau index",
        definition="(s⁺ − s⁻) / √(N_W N_B N_T (N_T − 1) / 2)",
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
        definition="(S_W / N_W) / (S_B / N_B)",
        range="[0, ∞)",
        best="low",
        meaning="mean distance within / between",
        special_cases=f"{_TWO_TO_N}; S_B = 0",
        source="McClain and Rao (1975), CLUSTISZ: a program to test for the quality of clustering "
        "of a set of objects, Journal of Marketing Research 12:456-460.",
        elsewhere={"clusterCrit": "McClain_Rao"},
        differs="NbClust divides by the counts N_W and N_B twice.",
    ),
    _index_of_pairs(
        name="point_biserial",
        title="Point-biserial index",
        definition="(S_W / N_W − S_B / N_B) √(N_W N_B) / N_T",
        range="unbounded",
        best="low",
        meaning="mean within - between, weighted",
        special_cases=_TWO_TO_N,
        source=_MILLIGAN,
        elsewhere={"clusterCrit": "Point_Biserial"},
        differs="pointbiserialr in scipy and pearsongamma in fpc have the opposite sign and are "
        "divided by the standard deviation of all distances.",
    ),
    _index_of_pairs(
        name="connectivity",
        title="Connectivity",
        definition="sum of 1 / j over all points and all j ≤ n_neighbors for which the point's "
        "j-th nearest neighbor is in another cluster",
        range="[0, ∞)",
        best="0",
        meaning="nearest neighbors in other clusters",
        special_cases="n < 2",
        source="Handl, Knowles and Kell (2005), Computational cluster validation in post-genomic "
        "data analysis, doi:10.1093/bioinformatics/bti517.",
        elsewhere={"clValid": "connectivity"},
    ),
)

#: One entry for each index of this module, in the order of the reports.
DISTANCES: tuple[Entry, ...] = (*_SILHOUETTE_SCORE, *_DUNN_INDEX, *_PAIRWISE_REPORT)
