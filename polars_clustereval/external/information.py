"""Scores based on mutual information and entropy, some of which are corrected for chance.

The scores are sums and ratios of three terms: the mutual information mi and the two conditional
entropies hl = H(label | cluster) and hc = H(cluster | label). emi, ehl and ehc are the expectations
of mi, hl and hc for random labelings with the same group sizes.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import polars as pl

from polars_clustereval.base.checks import Column, check_beta, check_choice
from polars_clustereval.base.exact import ratio, ratio_or
from polars_clustereval.base.frames import Row, StructLists, Terms, element_field, element_fields

from .contingency import cells_as_list
from .entropies import (
    cell_difference_terms,
    cell_information_terms,
    information_statistics,
    information_terms,
)
from .expected_information import (
    adjusted_mutual_info,
    expected_entropy_terms,
    expected_sums_as_list,
)

AverageMethod = Literal["arithmetic", "geometric", "min", "max"]
NormalizedMethod = Literal["arithmetic", "geometric", "min", "max", "joint"]

_AVERAGES = ("arithmetic", "geometric", "min", "max")
NORMALIZED_AVERAGES = (*_AVERAGES, "joint")


# ----------------------------------------------------------------------------------------------
# Statistics and formulas
# ----------------------------------------------------------------------------------------------


def adjusted_information_statistics(label: Column, cluster: Column) -> StructLists:
    """Return total, mi, hl, hc, emi, ehl and ehc, as one struct per group."""
    cells = cells_as_list(label, cluster).add_stages(cell_difference_terms)
    totals = {name: term.sum() for name, term in cell_information_terms(element_field).items()}
    sums = expected_sums_as_list(cells, {"total": element_field("total").first(), **totals})
    terms = information_terms(element_field) | expected_entropy_terms(element_field)
    return sums.select(element_fields("total", "emi") | terms)


def _v_measure_score(row: Row, beta: float) -> pl.Expr:
    """Return the V-measure (1 + beta) h c / (beta h + c), or 1 for equal partitions.

    h is the homogeneity mi / (mi + hl), and c is the completeness mi / (mi + hc).
    """
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    score = ratio((1 + beta) * mi, mi + hl + beta * (mi + hc))
    return pl.when(hl + hc == 0).then(1.0).otherwise(score)


def _normalized_mutual_info_score(row: Row, average_method: str) -> pl.Expr:
    """Return mi divided by a mean of the label and cluster entropy, or by the joint entropy."""
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    scores = {
        "arithmetic": mi / (mi + (hl + hc) / 2),
        "geometric": (mi / (mi + hl)).sqrt() * (mi / (mi + hc)).sqrt(),
        "min": mi / (mi + pl.min_horizontal(hl, hc)),
        "max": mi / (mi + pl.max_horizontal(hl, hc)),
        "joint": mi / (mi + hl + hc),
    }
    score = pl.when(mi == 0).then(0.0).otherwise(scores[average_method])
    return pl.when(hl + hc == 0).then(1.0).otherwise(score)


def information_scores(
    row: Row, average_method: str = "arithmetic", beta: float = 1.0, *, adjusted: bool = False
) -> Terms:
    """Return the scores of this module; those that need emi, ehl and ehc if `adjusted`."""
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    larger = pl.max_horizontal(hl, hc)
    adjusted_scores: Terms = {}
    if adjusted:
        adjusted_scores["adjusted_mutual_info_score"] = adjusted_mutual_info(row, average_method)
        adjusted_scores["expected_mutual_info"] = row("emi")
    return {
        "normalized_mutual_info_score": _normalized_mutual_info_score(row, average_method),
        **adjusted_scores,
        "homogeneity_score": ratio_or(mi, mi + hl, 1.0),
        "completeness_score": ratio_or(mi, mi + hc, 1.0),
        "v_measure_score": _v_measure_score(row, beta),
        "variation_of_information": hl + hc,
        "normalized_variation_of_information": ratio_or(hl + hc, mi + hl + hc, 0.0),
        "normalized_information_distance": ratio_or(larger, mi + larger, 0.0),
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def normalized_mutual_info_score(
    label: Column, cluster: Column, *, average_method: NormalizedMethod = "arithmetic"
) -> pl.Expr:
    """Mutual information divided by a mean of the label entropy and the cluster entropy.

    average_method specifies the mean and is one of 'arithmetic', 'geometric', 'min' and 'max'. If
    average_method is 'joint', the mutual information is divided by the joint entropy instead. For
    random clusters, this score increases with the number of clusters, but
    adjusted_mutual_info_score does not.

    Facts
    -----
    Title : Normalized mutual information (NMI)
    Meaning : shared information as a share of the mean entropy
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions, even trivial ones. In all other cases, 0 if there is
        only one label or only one cluster. NULL if there are no rows.
    Source : Strehl and Ghosh (2002), Cluster ensembles, JMLR 3:583-617. Kvalseth (1987),
        doi:10.1109/TSMC.1987.4309069.
    Names elsewhere : scikit-learn: normalized_mutual_info_score; Alink: getNmi
    Differs : By default, scikit-learn before 0.22 divides by the geometric mean of the two
        entropies, and aricode divides by the larger entropy.
    SQL : clustereval.normalized_mutual_info_score(label, cluster, average_method := 'max')

    Parameters
    ----------
    average_method : str
        How to average the label entropy and the cluster entropy. The options are 'arithmetic',
        'geometric', 'min' and 'max', as well as 'joint', which uses the joint entropy.

    Raises
    ------
    ClusterEvalError
        If average_method is unknown.

    Examples
    --------
    A larger mean gives a lower score:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.normalized_mutual_info_score("label", "cluster")).item()
    0.5158...
    >>> six.select(ce.normalized_mutual_info_score("label", "cluster", average_method="max")).item()
    0.4206...
    """
    check_choice("average_method", average_method, NORMALIZED_AVERAGES)
    scores = partial(information_scores, average_method=average_method)
    return information_statistics(label, cluster).score(scores, "normalized_mutual_info_score")


def adjusted_mutual_info_score(
    label: Column, cluster: Column, *, average_method: AverageMethod = "arithmetic"
) -> pl.Expr:
    """Normalized mutual information corrected for chance.

    The score is (MI - E) / (M - E), where MI is the mutual information, E is the expectation of MI
    for random labelings, and M is a mean of the label entropy and the cluster entropy.
    average_method specifies the mean and is one of 'arithmetic', 'geometric', 'min' and 'max'.
    Random labelings have a score of 0 on average.

    Facts
    -----
    Title : Adjusted mutual information (AMI)
    Meaning : NMI corrected for chance: 0 if random
    Range : up to 1
    Best value : 1
    Special cases : 1 for equal partitions. In all other cases, 0 if there is only one label or only
        one cluster, and NULL if average_method is 'min' and all labels or all clusters are
        singletons, because the score is then 0 / 0. NULL if there are no rows.
    Source : Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings
        comparison, JMLR 11:2837-2854.
    Cost : The score also requires expected_mutual_info, whose computation is by far the slowest
        part.
    Names elsewhere : scikit-learn: adjusted_mutual_info_score
    Differs : aricode and scikit-learn before 0.22 use the larger of the two entropies instead of a
        mean.
    SQL : clustereval.adjusted_mutual_info_score(label, cluster, average_method := 'max')

    Parameters
    ----------
    average_method : str
        How to average the label entropy and the cluster entropy. The options are 'arithmetic',
        'geometric', 'min' and 'max'.

    Raises
    ------
    ClusterEvalError
        If average_method is unknown.

    Examples
    --------
    Singletons determine the label of every row, but only by chance. Their normalized score is
    0.6667, and their adjusted score is 0:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 3]})
    >>> flowers.select(ce.adjusted_mutual_info_score("label", "cluster")).item()
    0.0
    """
    check_choice("average_method", average_method, _AVERAGES)
    statistics = adjusted_information_statistics(label, cluster)
    scores = partial(information_scores, average_method=average_method, adjusted=True)
    return statistics.score(scores, "adjusted_mutual_info_score")


def homogeneity_score(label: Column, cluster: Column) -> pl.Expr:
    """Share of the label entropy that the clusters explain.

    Facts
    -----
    Title : Homogeneity
    Meaning : 1 if no cluster mixes labels
    Range : [0, 1]
    Best value : 1
    Special cases : 1 if no cluster mixes labels, for example if there is only one label. NULL if
        there are no rows.
    Source : Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.
    Sides swapped : completeness_score
    Names elsewhere : scikit-learn: homogeneity_score
    Differs : torchmetrics expects the clusters as the first argument. If the arguments are in
        scikit-learn's order, it returns the completeness.
    SQL : clustereval.homogeneity_score(label, cluster)

    Examples
    --------
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 2]})
    >>> flowers.select(ce.homogeneity_score("label", "cluster")).item()  # splitting costs nothing
    1.0
    """
    return information_statistics(label, cluster).score(information_scores, "homogeneity_score")


def completeness_score(label: Column, cluster: Column) -> pl.Expr:
    """Share of the cluster entropy that the labels explain.

    Facts
    -----
    Title : Completeness
    Meaning : 1 if no label is split
    Range : [0, 1]
    Best value : 1
    Special cases : 1 if no label is split, for example if there is only one cluster. NULL if there
        are no rows.
    Source : Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.
    Sides swapped : homogeneity_score
    Names elsewhere : scikit-learn: completeness_score
    SQL : clustereval.completeness_score(label, cluster)

    Examples
    --------
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 2]})
    >>> flowers.select(ce.completeness_score("label", "cluster")).item()  # label a is split
    0.6666...
    """
    return information_statistics(label, cluster).score(information_scores, "completeness_score")


def v_measure_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of homogeneity and completeness.

    The V-measure is (1 + beta) h c / (beta h + c), where h is the homogeneity and c is the
    completeness. If beta > 1, completeness has more weight than homogeneity. If beta = 1, the score
    equals normalized_mutual_info_score.

    Facts
    -----
    Title : V-measure
    Meaning : harmonic mean of homogeneity and completeness
    Range : [0, 1]
    Best value : 1
    Special cases : 0 if h = c = 0. NULL if beta = 0, c = 0 and h > 0, or if there are no rows.
    Source : Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.
    Names elsewhere : scikit-learn: v_measure_score
    SQL : clustereval.v_measure_score(label, cluster, beta := 1.0)

    Parameters
    ----------
    beta : float
        The nonnegative weight of completeness relative to homogeneity.

    Raises
    ------
    ClusterEvalError
        If beta is negative.

    Examples
    --------
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.v_measure_score("label", "cluster")).item()  # h = 0.6667, c = 0.4206
    0.5158...
    >>> six.select(ce.v_measure_score("label", "cluster", beta=2.0)).item()
    0.4796...
    """
    scores = partial(information_scores, beta=check_beta(beta))
    return information_statistics(label, cluster).score(scores, "v_measure_score")


def variation_of_information(label: Column, cluster: Column) -> pl.Expr:
    """Sum of the two conditional entropies, in nats.

    The variation of information is a metric on partitions.

    Facts
    -----
    Title : Variation of information (VI)
    Meaning : information that only one side has, in nats
    Range : [0, ln n]
    Best value : 0
    Special cases : 0 for equal partitions, even trivial ones. NULL if there are no rows.
    Source : Meila (2007), doi:10.1016/j.jmva.2006.11.013.
    Names elsewhere : fpc: vi
    SQL : clustereval.variation_of_information(label, cluster)

    Examples
    --------
    The two entropies are 0.2310 for the labels given the clusters, and 0.6365 for the clusters
    given the labels:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.variation_of_information("label", "cluster")).item()
    0.8675...
    """
    return information_statistics(label, cluster).score(
        information_scores, "variation_of_information"
    )


def normalized_variation_of_information(label: Column, cluster: Column) -> pl.Expr:
    """Variation of information divided by the joint entropy.

    The normalized variation of information is a metric on partitions.

    Facts
    -----
    Title : Normalized variation of information (NVI)
    Meaning : share of joint entropy that is not shared
    Range : [0, 1]
    Best value : 0
    Special cases : 0 for equal partitions, even trivial ones. NULL if there are no rows.
    Source : Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings
        comparison, JMLR 11:2837-2854.
    SQL : clustereval.normalized_variation_of_information(label, cluster)

    Examples
    --------
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> flowers.select(ce.normalized_variation_of_information("label", "cluster")).item()  # worst
    1.0
    """
    return information_statistics(label, cluster).score(
        information_scores, "normalized_variation_of_information"
    )


def normalized_information_distance(label: Column, cluster: Column) -> pl.Expr:
    """Share of the larger of the two entropies that labels and clusters do not have in common.

    The distance is 1 - MI / M, where MI is the mutual information and M is the larger of the two
    entropies. The normalized information distance is a metric on partitions.

    Facts
    -----
    Title : Normalized information distance (NID)
    Meaning : share of the larger entropy that is not shared
    Range : [0, 1]
    Best value : 0
    Special cases : 0 for equal partitions, even trivial ones. NULL if there are no rows.
    Source : Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings
        comparison, JMLR 11:2837-2854.
    SQL : clustereval.normalized_information_distance(label, cluster)

    Examples
    --------
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.normalized_information_distance("label", "cluster")).item()  # 1 - 0.4206
    0.5793...
    """
    return information_statistics(label, cluster).score(
        information_scores, "normalized_information_distance"
    )
