"""Indices that match labels with clusters, or that compare each row's label with its cluster.

The majority label of a cluster is the most frequent label in the cluster. The majority cluster of a
label is the most frequent cluster among the label's rows. The best match of a label is the cluster
with which the label has the highest F1 score. A label and a cluster match exactly if they consist
of the same rows. The `contingency` module explains the columns n, copies, label_size and
cluster_size.

`in_majority_labels` is the number of rows with the majority label of their cluster, and
`in_majority_clusters` that of rows in the majority cluster of their label. `precision_rows`,
`recall_rows` and `similar_rows` are B-cubed precision, B-cubed recall and element-centric
similarity, summed over the rows. `matched_rows` is the sum, over the rows, of the best F1 score of
the row's label with any cluster.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import check_beta
from polars_clustereval.base.exact import from_fixed_point, ratio, to_double, to_fixed_point
from polars_clustereval.base.frames import Row, StructLists, Terms, element_field, element_fields

from .contingency import cells_as_list, cluster_field, label_field

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def match_score(row: Row) -> pl.Expr:
    """Return the F1 score of a cell's label and cluster."""
    return 2 * to_double(row("n")) / to_double(row("label_size") + row("cluster_size"))


def label_match_rows(row: Row) -> pl.Expr:
    """Return label_size times the F1 score of a cell's label and cluster."""
    return to_double(row("label_size")) * match_score(row)


def cell_matching_terms(row: Row) -> Terms:
    """Return fixed_precision_rows, fixed_recall_rows, fixed_similar_rows and exact_matches."""
    n, label_size, cluster_size = row("n"), row("label_size"), row("cluster_size")
    larger = pl.max_horizontal(label_size, cluster_size)
    rows = to_double(row("copies")) * to_double(n)
    is_exact = (n == label_size) & (n == cluster_size)
    return {
        "fixed_precision_rows": to_fixed_point(rows * (to_double(n) / to_double(cluster_size))),
        "fixed_recall_rows": to_fixed_point(rows * (to_double(n) / to_double(label_size))),
        "fixed_similar_rows": to_fixed_point(rows * (to_double(n) / to_double(larger))),
        "exact_matches": pl.when(is_exact).then(row("copies")).otherwise(0),
    }


def label_matching_terms(row: Row) -> Terms:
    """Return the terms of a label, where best_match_rows is its largest label_match_rows."""
    return {
        "n_labels": row("copies"),
        "in_majority_clusters": row("label_majority_n"),
        "fixed_matched_rows": to_fixed_point(row("best_match_rows")),
    }


def cluster_matching_terms(row: Row) -> Terms:
    """Return n_clusters and in_majority_labels of a cluster."""
    return {
        "n_clusters": row("copies"),
        "in_majority_labels": row("cluster_majority_n") * row("copies"),
    }


def matching_terms(row: Row) -> Terms:
    """Return the fixed-point sums of matching terms as Float64."""
    return {
        name: from_fixed_point(row(f"fixed_{name}"))
        for name in ("matched_rows", "precision_rows", "recall_rows", "similar_rows")
    }


#: The statistics of matching that are counts, and need no conversion.
MATCHING_COUNTS = (
    "n_labels",
    "n_clusters",
    "in_majority_labels",
    "in_majority_clusters",
    "exact_matches",
)


def matching_statistics(label: Column, cluster: Column) -> StructLists:
    """Return total, MATCHING_COUNTS and matching_terms, as one struct per group."""
    terms = {
        **cell_matching_terms(element_field),
        **label_matching_terms(label_field),
        **cluster_matching_terms(cluster_field),
    }
    sums = cells_as_list(label, cluster).add_stages(_majority_terms).sum_terms(terms)
    return sums.select(element_fields("total", *MATCHING_COUNTS) | matching_terms(element_field))


def _majority_terms(row: Row) -> Terms:
    """Return the majority counts and the best match for a cell's label and cluster."""
    label, cluster = row("label"), row("cluster")
    return {
        "label_majority_n": row("n").max().over(label),
        "cluster_majority_n": row("n").max().over(cluster),
        "best_match_rows": label_match_rows(row).max().over(label),
    }


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def f_score(precision: pl.Expr, recall: pl.Expr, beta: float) -> pl.Expr:
    """Return the F score of precision and recall, or 0 if both are 0."""
    square = beta * beta
    score = ratio((1 + square) * precision * recall, square * precision + recall)
    return pl.when(precision + recall == 0).then(0.0).otherwise(score)


def matching_scores(row: Row, beta: float = 1.0) -> Terms:
    """Return the scores from purity to exact_match_f_score."""
    labels, clusters, exact = row("n_labels"), row("n_clusters"), row("exact_matches")
    in_majorities = row("in_majority_labels") + row("in_majority_clusters")
    rows = to_double(row("total"))
    precision, recall = row("precision_rows") / rows, row("recall_rows") / rows
    return {
        "purity": to_double(row("in_majority_labels")) / rows,
        "inverse_purity": to_double(row("in_majority_clusters")) / rows,
        "class_f_measure": row("matched_rows") / rows,
        "split_join_distance": to_double(2 * row("total") - in_majorities),
        "bcubed_precision": precision,
        "bcubed_recall": recall,
        "bcubed_f_score": f_score(precision, recall, beta),
        "element_centric_similarity": row("similar_rows") / rows,
        "exact_match_precision": to_double(exact) / to_double(clusters),
        "exact_match_recall": to_double(exact) / to_double(labels),
        "exact_match_f_score": to_double(2 * exact) / to_double(labels + clusters),
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def purity(label: Column, cluster: Column) -> pl.Expr:
    """Share of rows that have the majority label of their cluster.

    Facts
    -----
    Title : Purity
    Meaning : share of rows with their cluster's majority label
    Range : (0, 1]
    Best value : 1
    Special cases : 1 if every cluster is a singleton. NULL if there are no rows.
    Source : Zhao and Karypis (2004), Empirical and theoretical comparisons of selected criterion
        functions for document clustering, doi:10.1023/B:MACH.0000027785.44527.d6.
    Sides swapped : inverse_purity
    Names elsewhere : Alink: getPurity
    Differs : CluSim computes the majorities for whichever side (labels or clusters) has fewer
        groups.
    SQL : clustereval.purity(label, cluster)

    Examples
    --------
    Five of six rows have the majority label of their cluster:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.purity("label", "cluster")).item()
    0.8333...
    """
    return matching_statistics(label, cluster).score(matching_scores, "purity")


def inverse_purity(label: Column, cluster: Column) -> pl.Expr:
    """Share of rows that are in the majority cluster of their label.

    Facts
    -----
    Title : Inverse purity
    Meaning : share of rows in their label's majority cluster
    Range : (0, 1]
    Best value : 1
    Special cases : 1 if there is only one cluster. NULL if there are no rows.
    Source : Zhao and Karypis (2004), Empirical and theoretical comparisons of selected criterion
        functions for document clustering, doi:10.1023/B:MACH.0000027785.44527.d6.
    Sides swapped : purity
    SQL : clustereval.inverse_purity(label, cluster)

    Examples
    --------
    Four of six rows are in the majority cluster of their label:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.inverse_purity("label", "cluster")).item()
    0.6666...
    """
    return matching_statistics(label, cluster).score(matching_scores, "inverse_purity")


def class_f_measure(label: Column, cluster: Column) -> pl.Expr:
    """For each row, the best F1 score of its label with any cluster, averaged over all rows.

    The F1 score of a label and a cluster is 2 n / (a + b), where a is the number of rows with the
    label, b is the number of rows in the cluster, and n is the number of rows in both.

    Facts
    -----
    Title : F-measure of the labels
    Meaning : best F1 score of each label, weighted by size
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Larsen and Aone (1999), Fast and effective text mining using linear-time document
        clustering, doi:10.1145/312129.312186.
    Sides swapped : another value
    SQL : clustereval.class_f_measure(label, cluster)

    Examples
    --------
    Each label has 3 rows, and shares 2 of them with a cluster of 2 rows:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.class_f_measure("label", "cluster")).item()
    0.8
    """
    return matching_statistics(label, cluster).score(matching_scores, "class_f_measure")


def split_join_distance(label: Column, cluster: Column) -> pl.Expr:
    """Number of rows moved to turn one partition into the other, summed over both directions.

    The distance is 2 n, minus the number of rows with the majority label of their cluster, minus
    the number of rows in the majority cluster of their label. The split-join distance is a metric
    on partitions.

    Facts
    -----
    Title : Split-join distance, van Dongen's metric
    Meaning : rows to move to turn one into the other, both ways
    Range : [0, 2 n)
    Best value : 0
    Special cases : 0 for equal partitions only. NULL if there are no rows.
    Source : van Dongen (2000), Performance criteria for graph clustering and Markov cluster
        experiments, CWI INS-R0012.
    SQL : clustereval.split_join_distance(label, cluster)

    Examples
    --------
    One of six rows does not have the majority label of its cluster, and two are not in the majority
    cluster of their label:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.split_join_distance("label", "cluster")).item()
    3.0
    """
    return matching_statistics(label, cluster).score(matching_scores, "split_join_distance")


def bcubed_precision(label: Column, cluster: Column) -> pl.Expr:
    """For each row, the share of its cluster that has the same label, averaged over all rows.

    The row itself counts as part of its cluster.

    Facts
    -----
    Title : B-cubed precision
    Meaning : mean share of a row's cluster that has its label
    Range : (0, 1]
    Best value : 1
    Special cases : 1 if every cluster is a singleton. NULL if there are no rows.
    Source : Bagga and Baldwin (1998), Algorithms for scoring coreference chains. Amigo, Gonzalo,
        Artiles and Verdejo (2009), doi:10.1007/s10791-008-9066-8.
    Sides swapped : bcubed_recall
    Differs : er-evaluation averages over labels instead of rows.
    SQL : clustereval.bcubed_precision(label, cluster)

    Examples
    --------
    The precision is 1 for four rows, and 1/2 for the two rows in the mixed cluster:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.bcubed_precision("label", "cluster")).item()
    0.8333...
    """
    return matching_statistics(label, cluster).score(matching_scores, "bcubed_precision")


def bcubed_recall(label: Column, cluster: Column) -> pl.Expr:
    """For each row, the share of its label's rows that are in its cluster, averaged over all rows.

    The row itself counts as one of the rows with its label.

    Facts
    -----
    Title : B-cubed recall
    Meaning : mean share of a row's label that is in its cluster
    Range : (0, 1]
    Best value : 1
    Special cases : 1 if there is only one cluster. NULL if there are no rows.
    Source : Bagga and Baldwin (1998), Algorithms for scoring coreference chains. Amigo, Gonzalo,
        Artiles and Verdejo (2009), doi:10.1007/s10791-008-9066-8.
    Sides swapped : bcubed_precision
    Differs : er-evaluation averages over labels instead of rows.
    SQL : clustereval.bcubed_recall(label, cluster)

    Examples
    --------
    The recall is 2/3 for four rows, and 1/3 for the two rows in the mixed cluster:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.bcubed_recall("label", "cluster")).item()
    0.5555...
    """
    return matching_statistics(label, cluster).score(matching_scores, "bcubed_recall")


def bcubed_f_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of B-cubed precision and recall.

    The F score is (1 + beta^2) P R / (beta^2 P + R), where P is the B-cubed precision and R is the
    B-cubed recall. If beta > 1, recall has more weight than precision.

    Facts
    -----
    Title : B-cubed F score
    Meaning : harmonic mean of B-cubed precision and recall
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Amigo, Gonzalo, Artiles and Verdejo (2009), A comparison of extrinsic clustering
        evaluation metrics based on formal constraints, doi:10.1007/s10791-008-9066-8.
    SQL : clustereval.bcubed_f_score(label, cluster, beta := 1.0)

    Parameters
    ----------
    beta : float
        The nonnegative weight of recall relative to precision. A value of 2 makes recall twice as
        important as precision.

    Raises
    ------
    ClusterEvalError
        If beta is negative.

    Examples
    --------
    The precision is 5/6 and the recall 5/9, so a higher weight of recall lowers the score:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.bcubed_f_score("label", "cluster")).item()
    0.6666...
    >>> six.select(ce.bcubed_f_score("label", "cluster", beta=2.0)).item()
    0.5952...
    """
    scores = partial(matching_scores, beta=check_beta(beta))
    return matching_statistics(label, cluster).score(scores, "bcubed_f_score")


def element_centric_similarity(label: Column, cluster: Column) -> pl.Expr:
    """Overlap of each row's label and cluster relative to the larger one, averaged over all rows.

    The similarity is (1/n) times the sum of n_ij^2 / max(a_i, b_j) over the cells of the
    contingency table, where a cell has n_ij rows, its label has a_i rows, and its cluster has b_j
    rows. For partitions, this formula holds for every value of the parameter alpha of the
    element-centric similarity.

    Facts
    -----
    Title : Element-centric similarity
    Meaning : mean overlap, as a share of the larger group
    Range : (0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Gates, Wood, Hetrick and Ahn (2019), Element-centric clustering comparison unifies
        overlaps and hierarchy, doi:10.1038/s41598-019-44892-y.
    Names elsewhere : CluSim: element_sim
    SQL : clustereval.element_centric_similarity(label, cluster)

    Examples
    --------
    The similarity is 2/3 for four rows, and 1/3 for the two rows in the mixed cluster:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.element_centric_similarity("label", "cluster")).item()
    0.5555...
    """
    return matching_statistics(label, cluster).score(matching_scores, "element_centric_similarity")


def exact_match_precision(label: Column, cluster: Column) -> pl.Expr:
    """Share of clusters whose rows are exactly the rows of one label.

    Facts
    -----
    Title : Precision of exact matches
    Meaning : share of clusters with exactly the rows of a label
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results,
        doi:10.14778/1920841.1920871.
    Sides swapped : exact_match_recall
    SQL : clustereval.exact_match_precision(label, cluster)

    Examples
    --------
    One of three clusters has exactly the rows of a label:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> flowers.select(ce.exact_match_precision("label", "cluster")).item()
    0.3333...
    """
    return matching_statistics(label, cluster).score(matching_scores, "exact_match_precision")


def exact_match_recall(label: Column, cluster: Column) -> pl.Expr:
    """Share of labels whose rows are exactly the rows of one cluster.

    Facts
    -----
    Title : Recall of exact matches
    Meaning : share of labels with exactly the rows of a cluster
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results,
        doi:10.14778/1920841.1920871.
    Sides swapped : exact_match_precision
    SQL : clustereval.exact_match_recall(label, cluster)

    Examples
    --------
    One of two labels has exactly the rows of a cluster:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> flowers.select(ce.exact_match_recall("label", "cluster")).item()
    0.5
    """
    return matching_statistics(label, cluster).score(matching_scores, "exact_match_recall")


def exact_match_f_score(label: Column, cluster: Column) -> pl.Expr:
    """Harmonic mean of the precision and recall of exact matches.

    It is the harmonic mean of exact_match_precision and exact_match_recall.

    Facts
    -----
    Title : F score of exact matches
    Meaning : harmonic mean of exact match precision and recall
    Range : [0, 1]
    Best value : 1
    Special cases : 0 if no cluster has the same rows as a label, and 1 only for equal partitions.
        NULL if there are no rows.
    Source : Menestrina, Whang and Garcia-Molina (2010), Evaluating entity resolution results,
        doi:10.14778/1920841.1920871.
    SQL : clustereval.exact_match_f_score(label, cluster)

    Examples
    --------
    There is one match among three clusters and two labels, so the score is 2 / (3 + 2):

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> flowers.select(ce.exact_match_f_score("label", "cluster")).item()
    0.4
    """
    return matching_statistics(label, cluster).score(matching_scores, "exact_match_f_score")
