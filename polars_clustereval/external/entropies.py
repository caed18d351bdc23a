"""Mutual information, and the entropies of labels and clusters, in nats.

The entropies are computed as sums of the mutual information mi and the two conditional entropies hl
= H(label | cluster) and hc = H(cluster | label), and never as differences. Therefore, no digits are
lost, even for independent, identical and nearly trivial labelings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polars_clustereval.base.exact import (
    deviance,
    from_fixed_point,
    log_ratio,
    to_double,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import Row, StructLists, Terms, element_field

from .contingency import cells_as_list

if TYPE_CHECKING:
    import polars as pl

    from polars_clustereval.base.checks import Column

# ----------------------------------------------------------------------------------------------
# Statistics and formulas
# ----------------------------------------------------------------------------------------------


def cell_difference_terms(row: Row) -> Terms:
    """Return size_product, mean and difference of a cell.

    mean is the number of rows expected if label and cluster are independent. difference is n -
    mean, computed from exact integers.
    """
    n, total = widen(row("n")), widen(row("total"))
    size_product = widen(row("label_size")) * widen(row("cluster_size"))
    return {
        "size_product": size_product,
        "mean": to_double(size_product) / to_double(total),
        "difference": to_double(n * total - size_product) / to_double(total),
    }


def cell_information_terms(row: Row) -> Terms:
    """Return fixed_deviance, size_products, fixed_hl and fixed_hc of a cell.

    Their sums are exact, because columns whose names begin with `fixed` are in fixed point.
    """
    n, copies = row("n"), to_double(row("copies"))
    rows = copies * to_double(n)
    rows_deviance = copies * deviance(to_double(n), row("mean"), row("difference"))
    return {
        "fixed_deviance": to_fixed_point(rows_deviance),
        "size_products": row("size_product") * row("copies"),
        "fixed_hl": to_fixed_point(rows * log_ratio(row("cluster_size"), n)),
        "fixed_hc": to_fixed_point(rows * log_ratio(row("label_size"), n)),
    }


def information_terms(row: Row) -> Terms:
    """Return mi, hl and hc, in nats, from sums of cell_information_terms over the nonempty cells.

    An empty cell also has a deviance, which is the number of rows expected in the cell.
    """
    n = to_double(row("total"))
    of_empty_cells = widen(row("total")) * widen(row("total")) - row("size_products")
    return {
        "mi": (from_fixed_point(row("fixed_deviance")) + to_double(of_empty_cells) / n) / n,
        "hl": from_fixed_point(row("fixed_hl")) / n,
        "hc": from_fixed_point(row("fixed_hc")) / n,
    }


def information_statistics(label: Column, cluster: Column) -> StructLists:
    """Return total, mi, hl and hc, as one struct per group."""
    cells = cells_as_list(label, cluster).add_stages(cell_difference_terms)
    sums = cells.sum_terms(cell_information_terms(element_field))
    return sums.select({"total": element_field("total"), **information_terms(element_field)})


def entropy_scores(row: Row) -> Terms:
    """Return the entropies and the mutual information of a partition."""
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    return {
        "label_entropy": mi + hl,
        "cluster_entropy": mi + hc,
        "joint_entropy": mi + hl + hc,
        "label_entropy_given_cluster": hl,
        "cluster_entropy_given_label": hc,
        "mutual_info_score": mi,
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def label_entropy(label: Column, cluster: Column) -> pl.Expr:
    """Entropy of the labels in nats.

    Facts
    -----
    Title : Entropy of the labels
    Meaning : entropy of the labels, in nats
    Range : [0, ln n]
    Best value : none
    Special cases : 0 if there is only one label. NULL if there are no rows.
    Source : Shannon (1948), A mathematical theory of communication,
        doi:10.1002/j.1538-7305.1948.tb01338.x.
    Sides swapped : cluster_entropy
    Names elsewhere : scipy: stats.entropy of the label sizes
    SQL : clustereval.label_entropy(label, cluster)

    Examples
    --------
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.label_entropy("label", "cluster")).item()  # two labels of equal size: ln 2
    0.6931...
    """
    return information_statistics(label, cluster).score(entropy_scores, "label_entropy")


def cluster_entropy(label: Column, cluster: Column) -> pl.Expr:
    """Entropy of the clusters in nats.

    Facts
    -----
    Title : Entropy of the clusters
    Meaning : entropy of the clusters, in nats
    Range : [0, ln n]
    Best value : none
    Special cases : 0 if there is only one cluster. NULL if there are no rows.
    Source : Shannon (1948), A mathematical theory of communication,
        doi:10.1002/j.1538-7305.1948.tb01338.x.
    Sides swapped : label_entropy
    Names elsewhere : scipy: stats.entropy of the cluster sizes
    SQL : clustereval.cluster_entropy(label, cluster)

    Examples
    --------
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.cluster_entropy("label", "cluster")).item()  # three of equal size: ln 3
    1.0986...
    """
    return information_statistics(label, cluster).score(entropy_scores, "cluster_entropy")


def joint_entropy(label: Column, cluster: Column) -> pl.Expr:
    """Joint entropy of labels and clusters, in nats.

    Facts
    -----
    Title : Entropy of labels and clusters
    Meaning : entropy of label and cluster, in nats
    Range : [0, ln n]
    Best value : none
    Special cases : 0 if there is only one label and only one cluster. NULL if there are no rows.
    Source : Shannon (1948), A mathematical theory of communication,
        doi:10.1002/j.1538-7305.1948.tb01338.x.
    Names elsewhere : scipy: stats.entropy of the cell sizes
    SQL : clustereval.joint_entropy(label, cluster)

    Examples
    --------
    The joint entropy is at least the larger of the entropies of labels and clusters, which is ln 3
    here, and at most the sum of the two:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.joint_entropy("label", "cluster")).item()
    1.3296...
    """
    return information_statistics(label, cluster).score(entropy_scores, "joint_entropy")


def label_entropy_given_cluster(label: Column, cluster: Column) -> pl.Expr:
    """Conditional entropy of the labels given the clusters, in nats.

    The entropy of the labels within each cluster is averaged over all clusters, weighted by cluster
    size.

    Facts
    -----
    Title : Conditional entropy of the labels
    Meaning : how far clusters mix labels, in nats
    Range : [0, label_entropy]
    Best value : 0
    Special cases : 0 if there is only one label. NULL if there are no rows.
    Source : Shannon (1948), A mathematical theory of communication,
        doi:10.1002/j.1538-7305.1948.tb01338.x.
    Sides swapped : cluster_entropy_given_label
    SQL : clustereval.label_entropy_given_cluster(label, cluster)

    Examples
    --------
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.label_entropy_given_cluster("label", "cluster")).item()  # ln 2 / 3
    0.2310...
    """
    return information_statistics(label, cluster).score(
        entropy_scores, "label_entropy_given_cluster"
    )


def cluster_entropy_given_label(label: Column, cluster: Column) -> pl.Expr:
    """Conditional entropy of the clusters given the labels, in nats.

    The entropy of the clusters within each label is averaged over all labels, weighted by label
    size.

    Facts
    -----
    Title : Conditional entropy of the clusters
    Meaning : how far labels are split over clusters, in nats
    Range : [0, cluster_entropy]
    Best value : 0
    Special cases : 0 if there is only one cluster. NULL if there are no rows.
    Source : Shannon (1948), A mathematical theory of communication,
        doi:10.1002/j.1538-7305.1948.tb01338.x.
    Sides swapped : label_entropy_given_cluster
    SQL : clustereval.cluster_entropy_given_label(label, cluster)

    Examples
    --------
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 0, 0, 0]})
    >>> flowers.select(ce.cluster_entropy_given_label("label", "cluster")).item()  # no label split
    0.0
    """
    return information_statistics(label, cluster).score(
        entropy_scores, "cluster_entropy_given_label"
    )


def mutual_info_score(label: Column, cluster: Column) -> pl.Expr:
    """Mutual information of labels and clusters, in nats.

    Facts
    -----
    Title : Mutual information
    Meaning : information that both share, in nats
    Range : [0, the smaller entropy]
    Best value : none
    Special cases : 0 if there is only one label or only one cluster. NULL if there are no rows.
    Source : Shannon (1948), A mathematical theory of communication,
        doi:10.1002/j.1538-7305.1948.tb01338.x.
    Names elsewhere : scikit-learn: mutual_info_score
    Differs : CluSim measures mutual information in bits.
    SQL : clustereval.mutual_info_score(label, cluster)

    Examples
    --------
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.mutual_info_score("label", "cluster")).item()  # equal partitions: ln 2
    0.6931...
    """
    return information_statistics(label, cluster).score(entropy_scores, "mutual_info_score")
