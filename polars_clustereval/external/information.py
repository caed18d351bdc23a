"""information: entropies and mutual information, in nats; the twin of ``sql/information.sql``.

Everything follows from three sums of non-negative terms: the mutual information (mi) and the two
conditional entropies (hl of the label given the cluster, hc of the cluster given the label).
Entropies and normalized scores are sums and ratios of those, never differences, so they keep their
digits for independent, identical and nearly trivial labelings.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from polars_clustereval.base.checks import Column, check_beta, check_choice
from polars_clustereval.base.exact import (
    deviance,
    from_fixed_point,
    log_ratio,
    ratio,
    ratio_or,
    to_double,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import Row, Terms, element_field

from .contingency import cells_as_list
from .expected_information import expected_entropy_terms, expected_sums_as_list

AverageMethod = Literal["arithmetic", "geometric", "min", "max"]


NormalizedMethod = Literal["arithmetic", "geometric", "min", "max", "joint"]


_AVERAGES = ("arithmetic", "geometric", "min", "max")


NORMALIZED_AVERAGES = (*_AVERAGES, "joint")


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def cell_moments(row: Row) -> Terms:
    """Give the mean of a cell under independence, and how much larger the cell is."""
    n, total = widen(row("n")), widen(row("total"))
    product = widen(row("a")) * widen(row("b"))
    return {
        "product": product,
        "mean": to_double(product) / to_double(total),
        "excess": to_double(n * total - product) / to_double(total),
    }


def cell_information_terms(row: Row) -> Terms:
    n, copies = row("n"), to_double(row("copies"))
    rows = copies * to_double(n)
    return {
        "deviance": to_fixed_point(copies * deviance(to_double(n), row("mean"), row("excess"))),
        "covered": row("product") * row("copies"),
        "rows_hl": to_fixed_point(rows * log_ratio(row("b"), n)),
        "rows_hc": to_fixed_point(rows * log_ratio(row("a"), n)),
    }


def information_terms(row: Row) -> Terms:
    """Give mi, hl and hc. The cells without rows add their expected mass to mi, exactly known."""
    n = to_double(row("total"))
    empty = widen(row("total")) * widen(row("total")) - row("covered")
    return {
        "mi": (from_fixed_point(row("deviance")) + to_double(empty) / n) / n,
        "hl": from_fixed_point(row("rows_hl")) / n,
        "hc": from_fixed_point(row("rows_hc")) / n,
    }


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def _v_measure_score(row: Row, beta: float) -> pl.Expr:
    """Multiply (1 + beta) h c / (beta h + c) out: 0 where both are 0, as in scikit-learn."""
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    score = ratio((1 + beta) * mi, mi + hl + beta * (mi + hc))
    return pl.when(hl + hc == 0).then(1.0).otherwise(score)


def _normalized_mutual_info_score(row: Row, average_method: str) -> pl.Expr:
    """Divide by a mean of mi + hl and mi + hc; the least of them is mi + the lesser of the two."""
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    scores = {
        "arithmetic": mi / (mi + (hl + hc) / 2),
        "geometric": (mi / (mi + hl)).sqrt() * (mi / (mi + hc)).sqrt(),
        "min": mi / (mi + pl.min_horizontal(hl, hc)),
        "max": mi / (mi + pl.max_horizontal(hl, hc)),
        "joint": mi / (mi + hl + hc),
    }
    apart = pl.when(mi == 0).then(0.0).otherwise(scores[average_method])
    return pl.when(hl + hc == 0).then(1.0).otherwise(apart)


def _adjusted_range(row: Row, average_method: str) -> pl.Expr:
    """Give the mean of the two entropies less emi; ehl and ehc are the two entropies less emi."""
    ehl, ehc = row("ehl"), row("ehc")
    root_l, root_c = (row("mi") + row("hl")).sqrt(), (row("mi") + row("hc")).sqrt()
    ranges = {
        "arithmetic": (ehl + ehc) / 2,
        "geometric": ehl + (ehc - ehl) * ratio_or(root_l, root_l + root_c, 0.0),
        "min": pl.min_horizontal(ehl, ehc),
        "max": pl.max_horizontal(ehl, ehc),
    }
    return ranges[average_method]


def _adjusted_excess(row: Row) -> pl.Expr:
    """Give mi - emi = ehl - hl = ehc - hc: of the three the one with the smallest terms.

    It is the most exact, which matters where nearly every row is a cluster of its own.
    """
    emi, ehl, ehc = row("emi"), row("ehl"), row("ehc")
    return (
        pl.when((emi <= ehl) & (emi <= ehc))
        .then(row("mi") - emi)
        .when(ehl <= ehc)
        .then(ehl - row("hl"))
        .otherwise(ehc - row("hc"))
    )


def _adjusted_mutual_info_score(row: Row, average_method: str) -> pl.Expr:
    score = ratio_or(_adjusted_excess(row), _adjusted_range(row, average_method), 0.0)
    return pl.when(row("hl") + row("hc") == 0).then(1.0).otherwise(score)


def _adjusted_scores(row: Row, average_method: str = "arithmetic") -> Terms:
    return {
        "adjusted_mutual_info_score": _adjusted_mutual_info_score(row, average_method),
        "expected_mutual_info": row("emi"),
    }


def information_scores(
    row: Row, average_method: str = "arithmetic", beta: float = 1.0, *, adjusted: bool = False
) -> Terms:
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    larger = pl.max_horizontal(hl, hc)
    return {
        "label_entropy": mi + hl,
        "cluster_entropy": mi + hc,
        "joint_entropy": mi + hl + hc,
        "label_entropy_given_cluster": hl,
        "cluster_entropy_given_label": hc,
        "mutual_info_score": mi,
        "normalized_mutual_info_score": _normalized_mutual_info_score(row, average_method),
        **(_adjusted_scores(row, average_method) if adjusted else {}),
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


def _information_expression(
    label: Column,
    cluster: Column,
    name: str,
    average_method: str = "arithmetic",
    beta: float = 1.0,
) -> pl.Expr:
    cells = cells_as_list(label, cluster).staged(cell_moments)
    statistics = cells.summed(cell_information_terms(element_field)).staged(information_terms)
    return statistics.score(lambda row: information_scores(row, average_method, beta), name)


def _adjusted_expression(
    label: Column, cluster: Column, average_method: str = "arithmetic"
) -> pl.Expr:
    cells = cells_as_list(label, cluster).staged(cell_moments)
    totals = {name: term.sum() for name, term in cell_information_terms(element_field).items()}
    sums = expected_sums_as_list(cells, {"total": element_field("total").first(), **totals})
    statistics = sums.staged(information_terms, expected_entropy_terms)
    name = "adjusted_mutual_info_score"
    return statistics.score(lambda row: _adjusted_scores(row, average_method), name)


def label_entropy(label: Column, cluster: Column) -> pl.Expr:
    """Entropy of the labels, in nats.

    From 0 to ln n.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for a single label. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.label_entropy(label, cluster)``.

    References
    ----------
    Shannon (1948), A mathematical theory of communication,
    doi:10.1002/j.1538-7305.1948.tb01338.x.

    Examples
    --------
    Two labels of equal size: ln 2.

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.label_entropy("label", "cluster")).item()
    0.6931...
    """
    return _information_expression(label, cluster, "label_entropy")


def cluster_entropy(label: Column, cluster: Column) -> pl.Expr:
    """Entropy of the clusters, in nats.

    From 0 to ln n.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for a single cluster. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.cluster_entropy(label, cluster)``.

    References
    ----------
    Shannon (1948), A mathematical theory of communication,
    doi:10.1002/j.1538-7305.1948.tb01338.x.

    Examples
    --------
    Three clusters of equal size: ln 3.

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.cluster_entropy("label", "cluster")).item()
    1.0986...
    """
    return _information_expression(label, cluster, "cluster_entropy")


def joint_entropy(label: Column, cluster: Column) -> pl.Expr:
    """Entropy of the pairs of label and cluster, in nats.

    From 0 to ln n.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 where all rows have one label and one cluster. NULL without
        rows.

    Notes
    -----
    In SQL: ``clustereval.joint_entropy(label, cluster)``.

    References
    ----------
    Shannon (1948), A mathematical theory of communication,
    doi:10.1002/j.1538-7305.1948.tb01338.x.

    Examples
    --------
    At least the greater of the two entropies, here ln 3, and at most their sum:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.joint_entropy("label", "cluster")).item()
    1.3296...
    """
    return _information_expression(label, cluster, "joint_entropy")


def label_entropy_given_cluster(label: Column, cluster: Column) -> pl.Expr:
    """Entropy that the labels keep inside clusters, in nats.

    The mean of the clusters' label entropies, weighted by size. From 0 to label_entropy, best 0.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for a single label. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.label_entropy_given_cluster(label, cluster)``.

    References
    ----------
    Shannon (1948), A mathematical theory of communication,
    doi:10.1002/j.1538-7305.1948.tb01338.x.

    Examples
    --------
    One cluster of three mixes two labels, ln 2 / 3:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.label_entropy_given_cluster("label", "cluster")).item()
    0.2310...
    """
    return _information_expression(label, cluster, "label_entropy_given_cluster")


def cluster_entropy_given_label(label: Column, cluster: Column) -> pl.Expr:
    """Entropy that the clusters keep inside labels, in nats.

    The mean of the labels' cluster entropies, weighted by size. From 0 to cluster_entropy, best 0.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for a single cluster. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.cluster_entropy_given_label(label, cluster)``.

    References
    ----------
    Shannon (1948), A mathematical theory of communication,
    doi:10.1002/j.1538-7305.1948.tb01338.x.

    Examples
    --------
    No label is split by joining all:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 0, 0, 0]})
    >>> flowers.select(ce.cluster_entropy_given_label("label", "cluster")).item()
    0.0
    """
    return _information_expression(label, cluster, "cluster_entropy_given_label")


def mutual_info_score(label: Column, cluster: Column) -> pl.Expr:
    """Mutual information of label and cluster, in nats.

    What one tells about the other. From 0 to the lesser entropy.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for a single label or a single cluster. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.mutual_info_score(label, cluster)``.

    References
    ----------
    Shannon (1948), A mathematical theory of communication,
    doi:10.1002/j.1538-7305.1948.tb01338.x.

    Examples
    --------
    All that there is to know, ln 2, and nothing:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.mutual_info_score("label", "cluster")).item()
    0.6931...
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> flowers.select(ce.mutual_info_score("label", "cluster")).item()
    0.0
    """
    return _information_expression(label, cluster, "mutual_info_score")


def normalized_mutual_info_score(
    label: Column, cluster: Column, *, average_method: NormalizedMethod = "arithmetic"
) -> pl.Expr:
    """Mutual information over a mean of the two entropies.

    From 0 to 1, best 1. It grows with the number of clusters even if they are random:
    adjusted_mutual_info_score corrects for that.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.
    average_method : str
        Mean of the entropies: 'arithmetic', 'geometric', 'min', 'max', or 'joint' for the joint
        entropy in its place.

    Returns
    -------
    Expr
        Float64, one value a group. 1 for equal partitions, trivial ones included; 0 where the
        mutual information is 0. NULL without rows.

    Raises
    ------
    ClusterEvalError
        If average_method is none of these.

    Notes
    -----
    In SQL:
    ``clustereval.normalized_mutual_info_score(label, cluster, average_method := 'arithmetic')``.

    References
    ----------
    Strehl and Ghosh (2002), Cluster ensembles, JMLR 3:583-617. Kvalseth (1987), Entropy and
    correlation: some comments, doi:10.1109/TSMC.1987.4309069.

    Examples
    --------
    A stricter mean makes a lower score:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.normalized_mutual_info_score("label", "cluster")).item()
    0.5158...
    >>> six.select(ce.normalized_mutual_info_score("label", "cluster", average_method="max")).item()
    0.4206...
    """
    check_choice("average_method", average_method, NORMALIZED_AVERAGES)
    return _information_expression(
        label, cluster, "normalized_mutual_info_score", average_method=average_method
    )


def adjusted_mutual_info_score(
    label: Column, cluster: Column, *, average_method: AverageMethod = "arithmetic"
) -> pl.Expr:
    """Mutual information corrected for chance, over a mean of the entropies so corrected.

    Random labelings are expected to score 0. Up to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.
    average_method : str
        Mean of the entropies: 'arithmetic', 'geometric', 'min' or 'max'.

    Returns
    -------
    Expr
        Float64, one value a group. 1 for equal partitions, trivial ones included; 0 for 0 / 0
        elsewhere. NULL without rows.

    Raises
    ------
    ClusterEvalError
        If average_method is none of these.

    Notes
    -----
    In SQL:
    ``clustereval.adjusted_mutual_info_score(label, cluster, average_method := 'arithmetic')``.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison,
    JMLR 11:2837-2854.

    Examples
    --------
    Singletons know the label of each row, by chance; the normalized score of them is 0.6667:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 3]})
    >>> flowers.select(ce.adjusted_mutual_info_score("label", "cluster")).item()
    0.0
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.adjusted_mutual_info_score("label", "cluster")).item()
    0.2987...
    """
    check_choice("average_method", average_method, _AVERAGES)
    return _adjusted_expression(label, cluster, average_method)


def homogeneity_score(label: Column, cluster: Column) -> pl.Expr:
    """Share of the label entropy that the clusters explain.

    1 where no cluster mixes labels. From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 1 for a single label. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.homogeneity_score(label, cluster)``.

    References
    ----------
    Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.

    Examples
    --------
    Splitting a label leaves every cluster homogeneous:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 2]})
    >>> flowers.select(ce.homogeneity_score("label", "cluster")).item()
    1.0
    """
    return _information_expression(label, cluster, "homogeneity_score")


def completeness_score(label: Column, cluster: Column) -> pl.Expr:
    """Share of the cluster entropy that the labels explain.

    1 where no label is split. From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 1 for a single cluster. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.completeness_score(label, cluster)``.

    References
    ----------
    Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.

    Examples
    --------
    Splitting a label costs completeness:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 2]})
    >>> flowers.select(ce.completeness_score("label", "cluster")).item()
    0.6666...
    """
    return _information_expression(label, cluster, "completeness_score")


def v_measure_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of homogeneity and completeness.

    (1 + beta) h c / (beta h + c); with beta 1 the normalized mutual information. From 0 to 1,
    best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.
    beta : float
        Weight of completeness against homogeneity, at least 0.

    Returns
    -------
    Expr
        Float64, one value a group. 0 where both are 0, and NULL where beta is 0 and the
        completeness is 0 alone. NULL without rows.

    Raises
    ------
    ClusterEvalError
        If beta is negative.

    Notes
    -----
    In SQL: ``clustereval.v_measure_score(label, cluster, beta := 1.0)``.

    References
    ----------
    Rosenberg and Hirschberg (2007), V-measure, EMNLP-CoNLL, D07-1043.

    Examples
    --------
    The homogeneity is 2/3 and the completeness 0.4206:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.v_measure_score("label", "cluster")).item()
    0.5158...
    >>> six.select(ce.v_measure_score("label", "cluster", beta=2.0)).item()
    0.4796...
    """
    return _information_expression(label, cluster, "v_measure_score", beta=check_beta(beta))


def variation_of_information(label: Column, cluster: Column) -> pl.Expr:
    """Sum of the two conditional entropies, in nats.

    A metric of partitions. From 0 to ln n, best 0.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for equal partitions, trivial ones included. NULL without
        rows.

    Notes
    -----
    In SQL: ``clustereval.variation_of_information(label, cluster)``.

    References
    ----------
    Meila (2007), Comparing clusterings: an information based distance,
    doi:10.1016/j.jmva.2006.11.013.

    Examples
    --------
    What remains open about either once the other is known:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.variation_of_information("label", "cluster")).item()
    0.8675...
    """
    return _information_expression(label, cluster, "variation_of_information")


def normalized_variation_of_information(label: Column, cluster: Column) -> pl.Expr:
    """Variation of information over the joint entropy.

    A metric of partitions. From 0 to 1, best 0.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for equal partitions, trivial ones included. NULL without
        rows.

    Notes
    -----
    In SQL: ``clustereval.normalized_variation_of_information(label, cluster)``.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison,
    JMLR 11:2837-2854.

    Examples
    --------
    Partitions that share nothing are as far apart as can be:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> flowers.select(ce.normalized_variation_of_information("label", "cluster")).item()
    1.0
    """
    return _information_expression(label, cluster, "normalized_variation_of_information")


def normalized_information_distance(label: Column, cluster: Column) -> pl.Expr:
    """One less the mutual information over the greater entropy.

    A metric of partitions. From 0 to 1, best 0.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for equal partitions, trivial ones included. NULL without
        rows.

    Notes
    -----
    In SQL: ``clustereval.normalized_information_distance(label, cluster)``.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison,
    JMLR 11:2837-2854.

    Examples
    --------
    The normalized mutual information with the mean 'max', taken from 1:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.normalized_information_distance("label", "cluster")).item()
    0.5793...
    """
    return _information_expression(label, cluster, "normalized_information_distance")
