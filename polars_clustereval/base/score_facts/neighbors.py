"""neighbors: facts about scores that rate clusters by the nearest neighbors of each id."""

from __future__ import annotations

from functools import partial

from .entry import Entry

__all__ = ["NEIGHBORS"]

_score_of_neighbors = partial(
    Entry,
    kind="graph",
    family="nearest neighbors",
    table="neighborhood_report",
    range="[0, 1]",
    cost="Neighbors are joined to the clusters of their ids and then grouped by id, so the running "
    "time grows with the number of neighbors.",
)
_NO_NEIGHBORS = "NULL if no id has a neighbor."
_NO_DISTANCES = "NULL without distances, or if no id has a neighbor."
_TOO_SMALL = "NULL if a cluster has at most as many ids as an id has neighbors"

_LIU = (
    "Liu et al. (2013), Understanding and enhancement of internal clustering validation measures, "
    "doi:10.1109/TSMCB.2012.2220543"
)
_GAGOLEWSKI = (
    "Gagolewski, Bartoszuk and Cena (2021), Are cluster validity measures (in)valid?, "
    "doi:10.1016/j.ins.2021.10.004."
)

NEIGHBORS = (
    _score_of_neighbors(
        name="neighbor_purity",
        title="Neighbor purity",
        definition="Share of an id's neighbors that are in its own cluster, averaged over the ids.",
        best="high",
        meaning="mean share of neighbors in the own cluster",
        special_cases=f"1 if there is only one cluster. {_NO_NEIGHBORS}",
        source=f"{_LIU}, for 1 minus this share.",
        differs="The separation of CVNN is 1 minus the mean of this share in a cluster.",
    ),
    _score_of_neighbors(
        name="balanced_purity",
        title="Neighbor purity, balanced",
        definition="Share of an id's neighbors that are in its own cluster, if each neighbor "
        "counts 1 divided by the size of its cluster, averaged over the ids.",
        best="high",
        meaning="neighbor_purity as if clusters had the same size",
        special_cases=f"1 if there is only one cluster. {_NO_NEIGHBORS}",
        source="Amezquita et al. (2020), Orchestrating single-cell analysis with Bioconductor, "
        "doi:10.1038/s41592-019-0654-x.",
        elsewhere={"bluster": "neighborPurity"},
        differs="In bluster, the neighbors are all points within a radius, and the point itself.",
    ),
    _score_of_neighbors(
        name="inverse_simpson",
        title="Inverse Simpson index of the neighbors",
        definition="Effective number of clusters among the neighbors of an id, averaged over the "
        "ids. For one id, it is 1 / Σ_c s_c².",
        range="[1, ∞)",
        best="",
        meaning="effective number of clusters among neighbors",
        special_cases="Low is best for clusters or labels, and high for batches that should be "
        f"mixed. {_NO_NEIGHBORS}",
        source="Simpson (1949), Measurement of diversity, doi:10.1038/163688a0.",
    ),
    _score_of_neighbors(
        name="lisi",
        title="Local inverse Simpson index (LISI)",
        definition="Effective number of clusters among the neighbors of an id, if near neighbors "
        "count more, averaged over the ids. A neighbor at the distance d has the weight exp(−βd), "
        "where β is such that the entropy of the weights is ln(perplexity).",
        range="[1, ∞)",
        best="",
        meaning="inverse_simpson if near neighbors count more",
        special_cases="Low is best for labels (cLISI), and high for batches that should be mixed "
        f"(iLISI). {_NO_DISTANCES}",
        source="Korsunsky et al. (2019), Fast, sensitive and accurate integration of single-cell "
        "data with Harmony, doi:10.1038/s41592-019-0619-0.",
        elsewhere={"lisi": "compute_lisi", "scib-metrics": "lisi_knn"},
        differs="In scib-metrics, an id is among its own neighbors, and ilisi_knn and clisi_knn "
        "rescale the median to [0, 1]. Both libraries find β with a tolerance.",
        option="distance",
    ),
    _score_of_neighbors(
        name="kbet_acceptance_rate",
        title="Acceptance rate of kBET",
        definition="Share of the ids whose neighbors have the clusters that are expected if they "
        "are drawn from all ids. An id is accepted if the p-value of its chi-square test is at "
        "least 0.05.",
        best="",
        meaning="share of ids with neighbors as in all of the data",
        special_cases="High is best for batches that should be mixed. NULL if there is only one "
        "cluster, if there are more than 1000 clusters, or if no id has a neighbor.",
        source="Büttner et al. (2019), A test metric for assessing single-cell RNA-seq batch "
        "correction, doi:10.1038/s41592-018-0254-1.",
        elsewhere={"kBET": "1 - kBET.observed", "scib-metrics": "kbet"},
        differs="In scib-metrics, an id is among its own neighbors. kBET tests a sample of the "
        "ids.",
    ),
    _score_of_neighbors(
        name="normalized_connectivity",
        title="Connectivity of Handl and Knowles, normalized",
        definition="Connectivity of the neighbors, divided by the connectivity if no neighbor were "
        "in the cluster of its id.",
        best="0",
        meaning="connectivity / its largest value",
        special_cases=f"0 if there is only one cluster. {_NO_DISTANCES}",
        source="Handl and Knowles (2005), Exploiting the trade-off: the benefits of multiple "
        "objectives in data clustering, doi:10.1007/978-3-540-31880-4_38, for the connectivity.",
        option="distance",
    ),
    _score_of_neighbors(
        name="mean_component_share",
        title="Mean share of the largest component (graph connectivity)",
        definition="Share of a cluster's ids in its largest connected component, averaged over the "
        "clusters. Two ids of a cluster are joined if one is a neighbor of the other.",
        range="(0, 1]",
        best="high",
        meaning="mean share of a cluster's largest component",
        special_cases="1 if every cluster has one id. NULL if there are no ids. "
        "largest_component_share in neighborhood_clusters is the share of one cluster.",
        source="Luecken et al. (2022), Benchmarking atlas-level data integration in single-cell "
        "genomics, doi:10.1038/s41592-021-01336-8.",
        elsewhere={"scib": "graph_connectivity", "scib-metrics": "graph_connectivity"},
        differs="scib and scib-metrics count strong components, which have edges both ways.",
    ),
    _score_of_neighbors(
        name="cvnn_separation",
        title="Separation of CVNN",
        definition="Share of neighbors in other clusters, averaged over the ids of a cluster, for "
        "the worst cluster.",
        best="low",
        meaning="largest mean share of neighbors outside a cluster",
        special_cases=f"0 if there is only one cluster. {_NO_NEIGHBORS}",
        source=f"{_LIU}.",
        differs="CVNN adds the compactness, a mean of all distances in clusters, and rescales both "
        "over several clusterings.",
    ),
    _score_of_neighbors(
        name="wcnn",
        title="Within-cluster near-neighbors index (WCNN)",
        definition="Share of all neighbors that are in the cluster of their id.",
        best="high",
        meaning="share of all neighbors in the own cluster",
        special_cases=f"{_TOO_SMALL}, or if no id has a neighbor.",
        source=_GAGOLEWSKI,
        elsewhere={"genieclust": "wcnn_index"},
        differs="In genieclust, it is -inf where it is NULL here.",
    ),
    _score_of_neighbors(
        name="dunn_owa",
        title="Dunn index of near neighbors (DuNN-OWA)",
        definition="Weighted mean of the smallest distances between neighbors in different "
        "clusters. The 15 smallest distances have the weights of the operator SMin:5.",
        range="[0, ∞)",
        best="high",
        meaning="mean of the least distances between clusters",
        special_cases=f"{_TOO_SMALL}, if no neighbor is in another cluster, or without distances.",
        source=_GAGOLEWSKI,
        elsewhere={"genieclust": "dunnowa_index"},
        differs="In genieclust, it is -inf or inf where it is NULL here, and has other operators.",
        option="distance",
    ),
)
