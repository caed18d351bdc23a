"""centers: facts about indices that are computed from cluster centers and scatter matrices."""

from __future__ import annotations

from functools import partial

from .entry import Entry

__all__ = ["CENTERS", "NO_TOTAL"]

#: A special case of many indices.
NO_TOTAL = (
    "ssw + ssb is not the total sum of squares (because the distance is neither euclidean nor "
    "sqeuclidean, or because the center is not the mean)"
)

# ----------------------------------------------------------------------------------------------
# Centers
# ----------------------------------------------------------------------------------------------

_TWO_PASSES = (
    "Two passes over the points, or three if the program must first determine where the points "
    "lie. The running time grows with the number of coordinates."
)
_SQUARES = (
    "Edwards and Cavalli-Sforza (1965), A method for cluster analysis, Biometrics 21:362-375."
)
_ALINK = "Alink, EvalClusterBatchOp, https://github.com/alibaba/Alink."
_HALKIDI_2000 = (
    "Halkidi, Vazirgiannis and Batistakis (2000), Quality scheme assessment in the clustering "
    "process, doi:10.1007/3-540-45372-5_26."
)


_index_of_report = partial(Entry, kind="internal", table="internal_report", cost=_TWO_PASSES)
_sum_of_squares = partial(_index_of_report, family="sums of squares", source=_SQUARES)
_index_of_centers = partial(_index_of_report, family="centers")

_INTERNAL_REPORT = (
    _sum_of_squares(
        name="ssw",
        title="Sum of squares within clusters",
        definition="Sum of the squared distances of all points to the center of their own "
        "cluster. The sum of squares within clusters is Σ_x d(x, μ_C)². It is also called inertia "
        "or distortion.",
        range="[0, ∞)",
        best="low",
        meaning="squared distances of points to own centroid",
        special_cases="",
        elsewhere={
            "scikit-learn": "KMeans.inertia_",
            "clusterCrit": "Trace_W",
            "fpc": "within.cluster.ss",
            "Alink": "getSsw",
        },
        differs="genieclust returns -ssw.",
    ),
    _sum_of_squares(
        name="ssb",
        title="Sum of squares between clusters",
        definition="Sum of the squared distances of the cluster centers to the center of all "
        "points, weighted by cluster size. The sum of squares between clusters is Σ_C n_C d(μ_C, "
        "μ)².",
        range="[0, ∞)",
        best="high",
        meaning="squared distances of centroids to overall one",
        special_cases="",
        elsewhere={"Alink": "getSsb"},
    ),
    _sum_of_squares(
        name="sst",
        title="Total sum of squares",
        definition="Sum of squares within clusters plus sum of squares between clusters. The "
        "total is ssw + ssb.",
        range="[0, ∞)",
        best="",
        meaning="sum of squares within plus between clusters",
        special_cases=NO_TOTAL,
    ),
    _sum_of_squares(
        name="explained_variance",
        title="Explained variance",
        definition="Share of the total sum of squares that lies between clusters. The share is "
        "ssb / sst.",
        range="[0, 1]",
        best="1",
        meaning="between-cluster share of the sum of squares",
        special_cases=f"{NO_TOTAL}; all points are equal",
    ),
    _index_of_centers(
        name="compactness",
        title="Compactness (CP)",
        definition="Mean distance of a cluster's points to its center, averaged over all "
        "clusters. The compactness (CP) is the mean of r_C over all clusters.",
        range="[0, ∞)",
        best="low",
        meaning="mean distance to own centroid, over clusters",
        special_cases="",
        source=_ALINK,
        elsewhere={"Alink": "getCp"},
    ),
    _index_of_centers(
        name="separation",
        title="Separation (SP)",
        definition="Mean distance between the centers of two clusters. The separation (SP) is the "
        "mean of Δ_CD over all pairs of clusters.",
        range="[0, ∞)",
        best="high",
        meaning="mean distance between two centroids",
        special_cases="k = 1",
        source=_ALINK,
        elsewhere={"Alink": "getSp"},
    ),
    _index_of_centers(
        name="calinski_harabasz_score",
        title="Calinski-Harabasz score, variance ratio criterion",
        definition="Variance between clusters divided by the variance within clusters, each per "
        "degree of freedom. The score is (ssb / (k − 1)) / (ssw / (n − k)), or 1 if ssw = 0.",
        range="[0, ∞)",
        best="high",
        meaning="variance between clusters / variance within",
        special_cases="k = 1 or k = n",
        source="Calinski and Harabasz (1974), A dendrite method for cluster analysis, "
        "doi:10.1080/03610927408827101.",
        elsewhere={
            "scikit-learn": "calinski_harabasz_score",
            "clusterCrit": "Calinski_Harabasz",
            "fpc": "ch",
            "Alink": "getVrc",
        },
        differs="clusterCrit and genieclust return infinity if ssw = 0.",
    ),
    _index_of_centers(
        name="davies_bouldin_score",
        title="Davies-Bouldin score",
        definition="Sum of the widths of a cluster and its least separated neighbor, divided by "
        "the distance between their centers, averaged over all clusters. The score is the largest "
        "(r_C + r_D) / Δ_CD over all other clusters D, averaged over all clusters C. Pairs of "
        "equal centers are skipped.",
        range="[0, ∞)",
        best="low",
        meaning="cluster widths / gap to the worst neighbor",
        special_cases="k = 1 or k = n",
        source="Davies and Bouldin (1979), A cluster separation measure, "
        "doi:10.1109/TPAMI.1979.4766909.",
        elsewhere={
            "scikit-learn": "davies_bouldin_score",
            "clusterCrit": "Davies_Bouldin",
            "Alink": "getDb",
        },
        differs="NbClust uses root mean square distances for r_C. genieclust returns the negated "
        "value. clusterCrit, genieclust and Clustering.jl return infinity if two centers are "
        "equal.",
    ),
    _index_of_centers(
        name="ball_hall_index",
        title="Ball-Hall index",
        definition="Mean squared distance of a cluster's points to its center, averaged over all "
        "clusters. The index is the mean of ssw_C / n_C over all clusters.",
        range="[0, ∞)",
        best="low",
        meaning="mean squared distance, averaged over clusters",
        special_cases="",
        source="Ball and Hall (1965), ISODATA, a novel method of data analysis and pattern "
        "classification, Stanford Research Institute.",
        elsewhere={"clusterCrit": "Ball_Hall"},
        differs="NbClust and permetrics compute ssw / k. genieclust returns the negated sum of "
        "ssw_C / n_C.",
    ),
    _index_of_centers(
        name="banfield_raftery_index",
        title="Banfield-Raftery index",
        definition="Logarithm of a cluster's mean squared distance to its center, weighted by "
        "cluster size and summed over all clusters. The index is Σ_C n_C ln(ssw_C / n_C).",
        range="unbounded",
        best="low",
        meaning="log mean squared distance, summed over points",
        special_cases="ssw_C = 0 for some cluster",
        source="Banfield and Raftery (1993), Model-based Gaussian and non-Gaussian clustering, "
        "doi:10.2307/2532201.",
        elsewhere={"clusterCrit": "Banfeld_Raftery"},
    ),
    _index_of_centers(
        name="log_ss_ratio",
        title="Logarithm of the ratio of the sums of squares",
        definition="Logarithm of the sum of squares between clusters divided by the sum of "
        "squares within clusters. The index is ln(ssb / ssw).",
        range="unbounded",
        best="high",
        meaning="log of sums of squares between / within",
        special_cases="ssw = 0 or ssb = 0",
        source="Hartigan (1975), Clustering algorithms, Wiley.",
        elsewhere={"clusterCrit": "Log_SS_Ratio"},
    ),
    _index_of_centers(
        name="pbm_index",
        title="Pakhira-Bandyopadhyay-Maulik index (PBM, I index)",
        definition="Largest distance between two centers, times the distances of all points to "
        "the overall center relative to those to their own centers, divided by the number of "
        "clusters, and squared. The index is ((Σ_x d(x, μ) / Σ_x d(x, μ_C)) · max Δ / k)².",
        range="[0, ∞)",
        best="high",
        meaning="largest centroid gap / cluster width, squared",
        special_cases="k = 1; ssw = 0",
        source="Pakhira, Bandyopadhyay and Maulik (2004), Validity index for crisp and fuzzy "
        "clusters, doi:10.1016/j.patcog.2003.06.005.",
        elsewhere={"clusterCrit": "PBM"},
    ),
    _index_of_centers(
        name="ratkowsky_lance_index",
        title="Ratkowsky-Lance index",
        definition="Square root of the coordinates' mean explained variance, divided by the "
        "square root of the number of clusters. The index is √(m / k), where m is the ratio of "
        "the sum of squares between clusters to the total sum of squares, averaged over the "
        "coordinates.",
        range="[0, 1/√k]",
        best="high",
        meaning="root of explained variance by coordinate, per k",
        special_cases=f"{NO_TOTAL}; a coordinate is constant",
        source="Ratkowsky and Lance (1978), A criterion for determining the number of groups in a "
        "classification, Australian Computer Journal 10:115-117.",
        elsewhere={"clusterCrit": "Ratkowsky_Lance"},
        differs="NbClust averages the square roots.",
    ),
    _index_of_centers(
        name="ray_turi_index",
        title="Ray-Turi index",
        definition="Mean squared distance of the points to their own center, divided by the "
        "smallest squared distance between two centers. The index is (ssw / n) / min Δ².",
        range="[0, ∞)",
        best="low",
        meaning="mean squared distance / smallest squared gap",
        special_cases="k = 1; two centers are equal",
        source="Ray and Turi (1999), Determination of number of clusters in k-means clustering and "
        "application in colour image segmentation, ICAPRDT.",
        elsewhere={"clusterCrit": "Ray_Turi"},
    ),
    _index_of_centers(
        name="xie_beni_index",
        title="Xie-Beni index",
        definition="Mean squared distance of the points to their own center, divided by the "
        "smallest squared distance between two centers. The index is (ssw / n) / min Δ², the same "
        "as ray_turi_index, because every point belongs to exactly one cluster.",
        range="[0, ∞)",
        best="low",
        meaning="mean squared distance / smallest squared gap",
        special_cases="k = 1; two centers are equal",
        source="Xie and Beni (1991), A validity measure for fuzzy clustering, "
        "doi:10.1109/34.85677.",
        differs="Xie_Beni in clusterCrit divides by the smallest squared distance between two "
        "points in different clusters.",
    ),
    _index_of_centers(
        name="sd_scattering",
        title="Scattering of the SD index",
        definition="Variance within a cluster relative to the variance of all points, averaged "
        "over the clusters. The index is the mean of ‖Var_C‖ / ‖Var‖ over all clusters C.",
        range="[0, ∞)",
        best="low",
        meaning="variance within clusters / overall variance",
        special_cases=f"{NO_TOTAL}; all points are equal",
        source=_HALKIDI_2000,
        elsewhere={"clusterCrit": "SD_Scat"},
    ),
    _index_of_centers(
        name="sd_separation",
        title="Separation of the SD index",
        definition="Ratio of the largest to the smallest distance between two centers, times the "
        "sum over all centers of the reciprocal of their total distance to the other centers. The "
        "index is (max Δ / min Δ) · Σ_C 1 / Σ_D Δ_CD.",
        range="(0, ∞)",
        best="low",
        meaning="closeness and uneven spacing of centroids",
        special_cases="k = 1; two centers are equal",
        source=_HALKIDI_2000,
        elsewhere={"clusterCrit": "SD_Dis"},
    ),
)

_index_of_neighbors = partial(
    Entry,
    kind="internal",
    family="centers",
    table="neighbor_report",
    cost="The distance from every point to every center is computed, so the running time grows "
    "with the number of points times the number of clusters.",
)

_NEIGHBOR_REPORT = (
    _index_of_neighbors(
        name="wemmert_gancarski_index",
        title="Wemmert-Gancarski index",
        definition="Nearness of the points to their own center, relative to the nearest other "
        "center, averaged over all points. The index is (1/n) Σ_C max(0, Σ_x (1 − d(x, μ_C) / "
        "min_D d(x, μ_D))), where D are the other clusters.",
        range="[0, 1]",
        best="1",
        meaning="nearness to own centroid, relative to the next",
        special_cases="k = 1; a point coincides with two centers",
        source="Wemmert, Gancarski and Korczak (2000), A collaborative approach to combine "
        "multiple learning methods, doi:10.1142/S0218213000000069.",
        elsewhere={"clusterCrit": "Wemmert_Gancarski"},
    ),
    _index_of_neighbors(
        name="s_dbw_index",
        title="S_Dbw index",
        definition="Scattering within clusters plus the density between two clusters relative to "
        "the density at their centers, averaged over all pairs. The index is sd_scattering plus "
        "the mean of m / max(m_C, m_D) over all pairs of clusters C and D, where m, m_C and m_D "
        "are the numbers of points of C and D within a distance σ of (μ_C + μ_D) / 2, μ_C and "
        "μ_D, respectively, and σ = √(Σ_C ‖Var_C‖) / k.",
        range="[0, ∞)",
        best="0",
        meaning="variance within plus density between clusters",
        special_cases=f"{NO_TOTAL}; k = 1; m_C = m_D = 0 for some pair",
        source="Halkidi and Vazirgiannis (2001), Clustering validity assessment: finding the "
        "optimal partitioning of a data set, doi:10.1109/ICDM.2001.989517.",
        elsewhere={"clusterCrit": "S_Dbw"},
        differs="The code of clusterCrit sums the densities over the pairs of clusters but omits "
        "the factor 2 / (k (k − 1)), which its documentation includes.",
    ),
)

# ----------------------------------------------------------------------------------------------
# Scatter matrices
# ----------------------------------------------------------------------------------------------

_index_of_matrices = partial(
    Entry,
    kind="internal",
    family="scatter matrices",
    table="determinant_report",
    cost="The running time grows with the number of points times the square of the number of "
    "coordinates. If columns are nearly collinear, the computation takes about three times as "
    "long.",
)
_SCOTT = (
    "Scott and Symons (1971), Clustering methods based on likelihood ratio criteria, "
    "doi:10.2307/2529003."
)
_FRIEDMAN = (
    "Friedman and Rubin (1967), On some invariant criteria for grouping data, "
    "doi:10.1080/01621459.1967.10500923."
)

_DETERMINANT_REPORT = (
    _index_of_matrices(
        name="det_ratio",
        title="Ratio of determinants",
        definition="Generalized variance of all points divided by the generalized variance within "
        "clusters. The ratio of the determinants is |T| / |W|.",
        range="[1, ∞)",
        best="high",
        meaning="generalized variance overall / within clusters",
        special_cases="W is singular",
        source=_FRIEDMAN,
        elsewhere={"clusterCrit": "Det_Ratio"},
    ),
    _index_of_matrices(
        name="log_det_ratio",
        title="Logarithm of the ratio of determinants",
        definition="Logarithm of the generalized variance of all points divided by that within "
        "clusters, times the number of points. The index is n ln(|T| / |W|).",
        range="[0, ∞)",
        best="high",
        meaning="log of det_ratio times the number of points",
        special_cases="W is singular",
        source=_SCOTT,
        elsewhere={"clusterCrit": "Log_Det_Ratio"},
    ),
    _index_of_matrices(
        name="ksq_detw_index",
        title="Marriott's index",
        definition="Determinant of the scatter matrix within clusters, times the square of the "
        "number of clusters. The index is k² |W|.",
        range="(0, ∞)",
        best="low",
        meaning="determinant of scatter within, times squared k",
        special_cases="W is singular",
        source="Marriott (1971), Practical problems in a method of cluster analysis, "
        "doi:10.2307/2528592.",
        elsewhere={"clusterCrit": "Ksq_DetW"},
    ),
    _index_of_matrices(
        name="scott_symons_index",
        title="Scott-Symons index",
        definition="Logarithm of the generalized variance of a cluster, weighted by cluster size "
        "and summed over all clusters. The index is Σ_C n_C ln |W_C / n_C|.",
        range="unbounded",
        best="low",
        meaning="log generalized variance, summed over points",
        special_cases="some W_C is singular, which is always the case if n_C is at most the number "
        "of coordinates",
        source=_SCOTT,
        elsewhere={"clusterCrit": "Scott_Symons"},
    ),
    _index_of_matrices(
        name="trace_wib",
        title="Trace of W⁻¹ B",
        definition="Scatter between clusters relative to the scatter within clusters, summed over "
        "all discriminant directions. The index is trace(W⁻¹ B).",
        range="[0, ∞)",
        best="high",
        meaning="scatter between / within, over all directions",
        special_cases="W is singular",
        source=_FRIEDMAN,
        elsewhere={"clusterCrit": "Trace_WiB"},
    ),
)

#: One entry for each index of this module, in the order of the reports.
CENTERS: tuple[Entry, ...] = (*_INTERNAL_REPORT, *_NEIGHBOR_REPORT, *_DETERMINANT_REPORT)
