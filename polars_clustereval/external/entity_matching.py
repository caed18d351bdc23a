"""Measures of entity resolution.

Labels are the true entities, and each cluster is a set of records that were resolved to the same
entity. The closest cluster of a label is the cluster with the highest Jaccard index. The Jaccard
index of a label and a cluster is the number of rows that they share, divided by the number of rows
in at least one of them. `closest_labels` and `closest_clusters` are the sums of the best Jaccard
indices over all labels and over all clusters. A merge distance is the cost of splitting the
clusters into contingency cells and then merging the cells into the labels. The module contingency
explains the columns n, copies, label_size and cluster_size.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

from polars_clustereval.base.checks import check_beta, check_choice
from polars_clustereval.base.exact import from_fixed_point, ratio, to_double, to_fixed_point
from polars_clustereval.base.frames import Row, StructLists, Terms, element_field, element_fields

from .contingency import (
    GROUP_COUNTS,
    GROUP_PAIRS,
    cells_as_list,
    cluster_field,
    label_field,
    pair_count_terms,
)
from .coreference import coreference_statistics
from .entropies import cell_difference_terms, cell_information_terms, information_terms
from .set_matching import f_score, matching_scores, matching_statistics

if TYPE_CHECKING:
    import polars as pl

    from polars_clustereval.base.checks import Column

#: Names of the cost of a split or merge.
EditCost = Literal["unit", "product", "entropy"]
_EDIT_COSTS = ("unit", "product", "entropy")

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def cell_jaccard(row: Row) -> pl.Expr:
    """Return the Jaccard index of a cell's label and cluster."""
    either = row("label_size") + row("cluster_size") - row("n")
    return to_double(row("n")) / to_double(either)


def closest_label_terms(row: Row) -> Terms:
    """Return the largest cell_jaccard of a label, in fixed point."""
    return {"fixed_closest_labels": to_fixed_point(row("label_jaccard"))}


def closest_cluster_terms(row: Row) -> Terms:
    """Return the largest cell_jaccard of a cluster, in fixed point."""
    return {"fixed_closest_clusters": to_fixed_point(row("cluster_jaccard"))}


def closest_terms(row: Row) -> Terms:
    """Return closest_labels and closest_clusters as Float64."""
    names = ("closest_labels", "closest_clusters")
    return {name: from_fixed_point(row(f"fixed_{name}")) for name in names}


def resolution_statistics(label: Column, cluster: Column) -> StructLists:
    """Return the statistics that closest_scores needs, as one struct per group."""
    terms = closest_label_terms(label_field) | closest_cluster_terms(cluster_field)
    cells = cells_as_list(label, cluster).add_stages(_closest_jaccards)
    counts = element_fields("total", "n_labels", "n_clusters")
    return cells.sum_terms(GROUP_COUNTS | terms).select(counts | closest_terms(element_field))


def _closest_jaccards(row: Row) -> Terms:
    """Return a cell's label_jaccard and cluster_jaccard, the best of its label and its cluster."""
    jaccard = cell_jaccard(row)
    return {
        "label_jaccard": jaccard.max().over(row("label")),
        "cluster_jaccard": jaccard.max().over(row("cluster")),
    }


def edit_statistics(label: Column, cluster: Column) -> StructLists:
    """Return the statistics that merge_distance needs, as one struct per group."""
    terms = GROUP_COUNTS | GROUP_PAIRS | cell_information_terms(element_field)
    sums = cells_as_list(label, cluster).add_stages(cell_difference_terms).sum_terms(terms)
    pairs, entropies = pair_count_terms(element_field), information_terms(element_field)
    parts = {name: pairs[name] for name in ("fp", "fn")}
    parts |= {name: entropies[name] for name in ("hl", "hc")}
    return sums.select(element_fields("total", *GROUP_COUNTS) | parts)


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def closest_scores(row: Row, beta: float = 1.0) -> Terms:
    """Return the precision, the recall and the F score of the closest clusters."""
    precision = row("closest_clusters") / to_double(row("n_clusters"))
    recall = row("closest_labels") / to_double(row("n_labels"))
    return {
        "closest_cluster_precision": precision,
        "closest_cluster_recall": recall,
        "closest_cluster_f_score": f_score(precision, recall, beta),
    }


def k_measure_terms(row: Row) -> Terms:
    """Return k_measure, the geometric mean of B-cubed precision and recall.

    The root of each factor is taken separately, because their product could underflow.
    """
    scores = matching_scores(row)
    return {"k_measure": scores["bcubed_precision"].sqrt() * scores["bcubed_recall"].sqrt()}


def overlap_scores(row: Row) -> Terms:
    """Return talburt_wang_index and basic_merge_distance."""
    labels, clusters, cells = row("n_labels"), row("n_clusters"), row("n_cells")
    index = ratio((to_double(labels) * to_double(clusters)).sqrt(), cells)
    return {
        "talburt_wang_index": index,
        "basic_merge_distance": to_double(2 * cells - labels - clusters),
    }


def _edit_cost(row: Row, cost: str, groups: str, pairs: str, entropy: str) -> pl.Expr:
    """Return the cost of splitting all groups into cells, or of merging all cells into groups.

    Each cost has the form h(x + y) - h(x) - h(y), where x and y are the numbers of rows in the two
    parts. Therefore, the order of the splits does not matter, and the costs add up to the sum of h
    over the groups minus the sum of h over the cells. `groups`, `pairs` and `entropy` name the
    number of groups, the number of pairs of rows in the same group but in different cells, and the
    entropy of the cell given the group.
    """
    costs = {
        "unit": to_double(row("n_cells") - row(groups)),
        "product": to_double(row(pairs)),
        "entropy": row(entropy) * to_double(row("total")),
    }
    return costs[cost]


def merge_distance(row: Row, split_cost: str, merge_cost: str) -> Terms:
    """Return generalized_merge_distance, the cost of all splits and merges."""
    check_choice("split_cost", split_cost, _EDIT_COSTS)
    check_choice("merge_cost", merge_cost, _EDIT_COSTS)
    splits = _edit_cost(row, split_cost, "n_clusters", "fp", "hl")
    merges = _edit_cost(row, merge_cost, "n_labels", "fn", "hc")
    return {"generalized_merge_distance": splits + merges}


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def k_measure(label: Column, cluster: Column) -> pl.Expr:
    """Geometric mean of B-cubed precision and recall.

    B-cubed precision is also called average cluster purity, and B-cubed recall is also called
    average entity purity.

    Facts
    -----
    Title : K measure
    Meaning : geometric mean of B-cubed precision and recall
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Lapidot (2002), Self-organizing-maps with BIC for speaker clustering, IDIAP-RR 02-60.
    SQL : clustereval.k_measure(label, cluster)

    Examples
    --------
    The precision is 1 and the recall (2 + 2 x 2/3 + 1/3) / 5 = 11/15:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.k_measure("label", "cluster")).item()
    0.8563...
    """
    return matching_statistics(label, cluster).score(k_measure_terms, "k_measure")


def closest_cluster_precision(label: Column, cluster: Column) -> pl.Expr:
    """For each cluster, the highest Jaccard index with any label, averaged over all clusters.

    All clusters have the same weight, regardless of their size.

    Facts
    -----
    Title : Closest-cluster precision
    Meaning : best Jaccard index of a cluster, on average
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Benjelloun, Garcia-Molina, Menestrina, Su, Whang and Widom (2009), Swoosh: a generic
        approach to entity resolution, doi:10.1007/s00778-008-0098-x.
    Sides swapped : closest_cluster_recall
    SQL : clustereval.closest_cluster_precision(label, cluster)

    Examples
    --------
    The Jaccard indices of the clusters are 1, 2/3 and 1/3:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.closest_cluster_precision("label", "cluster")).item()
    0.6666...
    """
    return resolution_statistics(label, cluster).score(closest_scores, "closest_cluster_precision")


def closest_cluster_recall(label: Column, cluster: Column) -> pl.Expr:
    """For each label, the highest Jaccard index with any cluster, averaged over all labels.

    All labels have the same weight, regardless of their size.

    Facts
    -----
    Title : Closest-cluster recall
    Meaning : best Jaccard index of a label, on average
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Benjelloun, Garcia-Molina, Menestrina, Su, Whang and Widom (2009), Swoosh: a generic
        approach to entity resolution, doi:10.1007/s00778-008-0098-x.
    Sides swapped : closest_cluster_precision
    SQL : clustereval.closest_cluster_recall(label, cluster)

    Examples
    --------
    The Jaccard indices of the labels are 1 and 2/3:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.closest_cluster_recall("label", "cluster")).item()
    0.8333...
    """
    return resolution_statistics(label, cluster).score(closest_scores, "closest_cluster_recall")


def closest_cluster_f_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of closest-cluster precision and closest-cluster recall.

    The score is (1 + beta^2) P R / (beta^2 P + R), where P is closest_cluster_precision and R is
    closest_cluster_recall. If beta > 1, recall has more weight than precision.

    Facts
    -----
    Title : Closest-cluster F score
    Meaning : harmonic mean of closest-cluster scores
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Benjelloun, Garcia-Molina, Menestrina, Su, Whang and Widom (2009), Swoosh: a generic
        approach to entity resolution, doi:10.1007/s00778-008-0098-x.
    SQL : clustereval.closest_cluster_f_score(label, cluster, beta := 1.0)

    Parameters
    ----------
    beta : float
        Nonnegative weight of recall relative to precision. A value of 2 makes recall twice as
        important as precision.

    Raises
    ------
    ClusterEvalError
        If beta is negative.

    Examples
    --------
    The precision is 2/3 and the recall 5/6:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.closest_cluster_f_score("label", "cluster")).item()
    0.7407...
    """
    scores = partial(closest_scores, beta=check_beta(beta))
    return resolution_statistics(label, cluster).score(scores, "closest_cluster_f_score")


def talburt_wang_index(label: Column, cluster: Column) -> pl.Expr:
    """Geometric mean of the numbers of labels and clusters, divided by the number of overlaps.

    The index is sqrt(labels x clusters) / cells, where a cell is a pair of a label and a cluster
    that have rows in common.

    Facts
    -----
    Title : Talburt-Wang index (TWI)
    Meaning : number of groups (geometric mean) per overlap
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Talburt, Wang, Hess and Kuo (2007), An algebraic approach to data quality metrics for
        entity resolution over large datasets, doi:10.4018/978-1-59904-024-0.ch001.
    SQL : clustereval.talburt_wang_index(label, cluster)

    Examples
    --------
    Two labels and three clusters form three cells, so the index is sqrt(6) / 3:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.talburt_wang_index("label", "cluster")).item()
    0.8164...
    """
    return coreference_statistics(label, cluster).score(overlap_scores, "talburt_wang_index")


def basic_merge_distance(label: Column, cluster: Column) -> pl.Expr:
    """Number of splits and merges needed to turn the clusters into the labels.

    The distance is 2 cells - labels - clusters, where these are the numbers of contingency cells,
    labels and clusters. All splits are made before any merge, so rows with different labels are
    never merged.

    Facts
    -----
    Title : Basic merge distance (BMD)
    Meaning : number of splits and merges, clusters to labels
    Range : [0, 2 n)
    Best value : 0
    Special cases : 0 for equal partitions only. NULL if there are no rows.
    Source : Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results,
        doi:10.14778/1920841.1920871.
    SQL : clustereval.basic_merge_distance(label, cluster)

    Examples
    --------
    A single merge is enough:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.basic_merge_distance("label", "cluster")).item()
    1.0
    """
    return coreference_statistics(label, cluster).score(overlap_scores, "basic_merge_distance")


def generalized_merge_distance(
    label: Column, cluster: Column, *, split_cost: EditCost = "unit", merge_cost: EditCost = "unit"
) -> pl.Expr:
    """Total cost of the splits and merges needed to turn the clusters into the labels.

    The cost of splitting a cluster into parts of x and y rows, or of merging two clusters of x and
    y rows, is 1 ('unit'), x · y ('product') or (x + y) ln(x + y) - x ln x - y ln y ('entropy'). All
    splits are made before any merge, so rows with different labels are never merged. Neither the
    order of the splits nor the order of the merges matters. If both costs are 'unit', the distance
    is basic_merge_distance. If both costs are 'product', the distance is fp + fn, which is half of
    mirkin_metric. If both costs are 'entropy', the distance is n times variation_of_information.

    Facts
    -----
    Title : Generalized merge distance (GMD)
    Meaning : total cost of the splits and merges
    Range : [0, ∞)
    Best value : 0
    Special cases : 0 for equal partitions only. NULL if there are no rows.
    Source : Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results,
        doi:10.14778/1920841.1920871.
    Differs : The slice algorithm of Menestrina et al. allows any cost function. For cost functions
        other than 'unit', 'product' and 'entropy', the result depends on the order of the splits
        and merges.
    SQL : clustereval.generalized_merge_distance(label, cluster, split_cost := 'unit')

    Parameters
    ----------
    split_cost, merge_cost : {'unit', 'product', 'entropy'}
        The cost of splitting a cluster, and the cost of merging two clusters.

    Raises
    ------
    ClusterEvalError
        If a cost is unknown.

    Examples
    --------
    One merge joins a cluster of 2 rows and a cluster of 1 row:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.generalized_merge_distance("label", "cluster")).item()
    1.0
    >>> product = ce.generalized_merge_distance("label", "cluster", merge_cost="product")
    >>> five.select(product).item()
    2.0
    """
    scores = partial(merge_distance, split_cost=split_cost, merge_cost=merge_cost)
    return edit_statistics(label, cluster).score(scores, "generalized_merge_distance")
