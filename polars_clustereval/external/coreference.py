"""The coreference resolution measures MUC, LEA and BLANC, for which each row is a mention.

A link is a pair of rows with the same label or in the same cluster, and a group is a label or a
cluster. MUC counts the minimum number of links needed to connect the rows of a group, which is the
number of rows minus one. LEA counts all links in a group, and weights each group by its size. BLANC
counts both the links and the pairs of rows that are not links. The module contingency explains the
columns n, copies, label_size and cluster_size.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import check_beta
from polars_clustereval.base.exact import (
    from_fixed_point,
    ratio,
    ratio_or,
    to_double,
    to_fixed_point,
)
from polars_clustereval.base.frames import Row, StructLists, Terms, element_field, element_fields

from .contingency import GROUP_COUNTS, cells_as_list
from .pair_counting import pair_statistics
from .set_matching import f_score

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _lea_rows(n: pl.Expr, size: pl.Expr, other_size: pl.Expr) -> pl.Expr:
    """Return a cell's contribution to the LEA resolution of a group, multiplied by the group size.

    The contribution is n (n - 1) / (size - 1). A row that is alone in its group has a link to
    itself, which is found if the row is alone both in its label and in its cluster.
    """
    links = to_double(n) * (to_double(n - 1) / to_double(size - 1))
    own_link = to_double(other_size == 1)
    return pl.when(size > 1).then(links).otherwise(own_link)


def cell_lea_terms(row: Row) -> Terms:
    """Return n_cells, fixed_lea_precision_rows and fixed_lea_recall_rows of a cell."""
    n, label_size, cluster_size = row("n"), row("label_size"), row("cluster_size")
    copies = to_double(row("copies"))
    return {
        "n_cells": row("copies"),
        "fixed_lea_precision_rows": to_fixed_point(copies * _lea_rows(n, cluster_size, label_size)),
        "fixed_lea_recall_rows": to_fixed_point(copies * _lea_rows(n, label_size, cluster_size)),
    }


def lea_terms(row: Row) -> Terms:
    """Return lea_precision_rows and lea_recall_rows as Float64."""
    names = ("lea_precision_rows", "lea_recall_rows")
    return {name: from_fixed_point(row(f"fixed_{name}")) for name in names}


def coreference_statistics(label: Column, cluster: Column) -> StructLists:
    """Return the statistics that coreference_scores needs, as one struct per group."""
    sums = cells_as_list(label, cluster).sum_terms(GROUP_COUNTS | cell_lea_terms(element_field))
    return sums.select(element_fields("total", *GROUP_COUNTS) | lea_terms(element_field))


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def coreference_scores(row: Row, beta: float = 1.0) -> Terms:
    """Return the MUC and LEA scores."""
    total, square = row("total"), beta * beta
    found, of_clusters, of_labels = (
        to_double(total - row(name)) for name in ("n_cells", "n_clusters", "n_labels")
    )
    precision = row("lea_precision_rows") / to_double(total)
    recall = row("lea_recall_rows") / to_double(total)
    return {
        "muc_precision": ratio(found, of_clusters),
        "muc_recall": ratio(found, of_labels),
        "muc_f_score": ratio((1 + square) * found, square * of_labels + of_clusters),
        "lea_precision": precision,
        "lea_recall": recall,
        "lea_f_score": f_score(precision, recall, beta),
    }


def blanc_scores(row: Row, beta: float = 1.0) -> Terms:
    """Return the BLANC scores, which are 1 for equal partitions.

    Each score is the mean of two scores: one for pairs of rows that are together, and one for pairs
    that are apart. In these, 0 / 0 counts as 0.
    """
    tp, fp, fn, tn = (to_double(row(name)) for name in ("tp", "fp", "fn", "tn"))
    weight, square = 1 + beta * beta, beta * beta
    together = ratio_or(weight * tp, weight * tp + square * fn + fp, 0.0)
    apart = ratio_or(weight * tn, weight * tn + square * fp + fn, 0.0)
    scores = {
        "blanc_precision": ratio_or(tp, tp + fp, 0.0) + ratio_or(tn, tn + fn, 0.0),
        "blanc_recall": ratio_or(tp, tp + fn, 0.0) + ratio_or(tn, tn + fp, 0.0),
        "blanc_f_score": together + apart,
    }
    is_equal = fp + fn == 0
    return {name: pl.when(is_equal).then(1.0).otherwise(x / 2) for name, x in scores.items()}


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def muc_precision(label: Column, cluster: Column) -> pl.Expr:
    """MUC precision: the share of links within clusters that are correct.

    The precision is (n - cells) / (n - clusters), where n, cells and clusters are the numbers of
    rows, contingency cells and clusters. A cluster of size b is connected by b - 1 links, one of
    which is wrong for each label beyond the first.

    Facts
    -----
    Title : MUC precision
    Meaning : share of the clusters' links that are right
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if all clusters are singletons or if there are no rows.
    Source : Vilain, Burger, Aberdeen, Connolly and Hirschman (1995), A model-theoretic coreference
        scoring scheme, doi:10.3115/1072399.1072405.
    Sides swapped : muc_recall
    SQL : clustereval.muc_precision(label, cluster)

    Examples
    --------
    The clusters are held together by two links, and both are right:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.muc_precision("label", "cluster")).item()
    1.0
    """
    return coreference_statistics(label, cluster).score(coreference_scores, "muc_precision")


def muc_recall(label: Column, cluster: Column) -> pl.Expr:
    """MUC recall: the share of links within labels that are also within clusters.

    The recall is (n - cells) / (n - labels), where n, cells and labels are the numbers of rows,
    contingency cells and labels. A label of size a is connected by a - 1 links, one of which is
    missing for each cluster beyond the first.

    Facts
    -----
    Title : MUC recall
    Meaning : share of the labels' links that are found
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if all labels are singletons or if there are no rows.
    Source : Vilain, Burger, Aberdeen, Connolly and Hirschman (1995), A model-theoretic coreference
        scoring scheme, doi:10.3115/1072399.1072405.
    Sides swapped : muc_precision
    SQL : clustereval.muc_recall(label, cluster)

    Examples
    --------
    The labels are held together by three links, and one of them is missing:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.muc_recall("label", "cluster")).item()
    0.6666...
    """
    return coreference_statistics(label, cluster).score(coreference_scores, "muc_recall")


def muc_f_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of MUC precision and recall.

    The score is (1 + beta^2) P R / (beta^2 P + R), where P is the precision and R is the recall. If
    beta > 1, recall has more weight than precision.

    Facts
    -----
    Title : MUC F score
    Meaning : harmonic mean of MUC precision and recall
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if all labels and all clusters are singletons, if beta is 0 and all
        clusters are singletons, or if there are no rows.
    Source : Vilain, Burger, Aberdeen, Connolly and Hirschman (1995), A model-theoretic coreference
        scoring scheme, doi:10.3115/1072399.1072405.
    Differs : coval returns 0 instead of NULL.
    SQL : clustereval.muc_f_score(label, cluster, beta := 1.0)

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
    The precision is 1 and the recall 2/3:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.muc_f_score("label", "cluster")).item()
    0.8
    """
    scores = partial(coreference_scores, beta=check_beta(beta))
    return coreference_statistics(label, cluster).score(scores, "muc_f_score")


def lea_precision(label: Column, cluster: Column) -> pl.Expr:
    """LEA precision: the mean share of correct links in a cluster, weighted by cluster size.

    A link between two rows in the same cluster is correct if the rows have the same label. The
    shares of correct links are averaged over the clusters, with cluster sizes as weights. The only
    link of a singleton cluster is the link from its row to itself, which is correct if the label of
    the row is also a singleton.

    Facts
    -----
    Title : LEA precision
    Meaning : share of right links, weighted by cluster size
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Moosavi and Strube (2016), Which coreference evaluation metric do you trust? A proposal
        for a link-based entity aware metric, doi:10.18653/v1/P16-1060.
    Sides swapped : lea_recall
    SQL : clustereval.lea_precision(label, cluster)

    Examples
    --------
    Each cluster of 2 rows has one link, which is right; the label of the singleton has 3 rows:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.lea_precision("label", "cluster")).item()
    0.8
    """
    return coreference_statistics(label, cluster).score(coreference_scores, "lea_precision")


def lea_recall(label: Column, cluster: Column) -> pl.Expr:
    """LEA recall: the mean share of a label's links that are found, weighted by label size.

    A link between two rows with the same label is found if the rows are in the same cluster. The
    shares of found links are averaged over the labels, with label sizes as weights. The only link
    of a singleton label is the link from its row to itself, which is found if the cluster of the
    row is also a singleton.

    Facts
    -----
    Title : LEA recall
    Meaning : share of found links, weighted by label size
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. NULL if there are no rows.
    Source : Moosavi and Strube (2016), Which coreference evaluation metric do you trust? A proposal
        for a link-based entity aware metric, doi:10.18653/v1/P16-1060.
    Sides swapped : lea_precision
    SQL : clustereval.lea_recall(label, cluster)

    Examples
    --------
    The only link of the label with 2 rows is found, and so is one of the 3 links of the other
    label:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.lea_recall("label", "cluster")).item()
    0.6
    """
    return coreference_statistics(label, cluster).score(coreference_scores, "lea_recall")


def lea_f_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of LEA precision and recall.

    The score is (1 + beta^2) P R / (beta^2 P + R), where P is the precision and R is the recall. If
    beta > 1, recall has more weight than precision.

    Facts
    -----
    Title : LEA F score
    Meaning : harmonic mean of LEA precision and recall
    Range : [0, 1]
    Best value : 1
    Special cases : 0 if lea_precision and lea_recall are both 0. NULL if there are no rows.
    Source : Moosavi and Strube (2016), Which coreference evaluation metric do you trust? A proposal
        for a link-based entity aware metric, doi:10.18653/v1/P16-1060.
    SQL : clustereval.lea_f_score(label, cluster, beta := 1.0)

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
    The precision is 4/5 and the recall 3/5:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.lea_f_score("label", "cluster")).item()
    0.6857...
    """
    scores = partial(coreference_scores, beta=check_beta(beta))
    return coreference_statistics(label, cluster).score(scores, "lea_f_score")


def blanc_precision(label: Column, cluster: Column) -> pl.Expr:
    """BLANC precision: the mean precision for pairs that are together and pairs that are apart.

    The precision is (tp / (tp + fp) + tn / (tn + fn)) / 2.

    Facts
    -----
    Title : BLANC precision
    Meaning : mean precision of pairs together and pairs apart
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. In all other cases, a fraction that is 0 / 0 counts
        as 0. NULL if there are no rows.
    Source : Luo, Pradhan, Recasens and Hovy (2014), An extension of BLANC to system mentions,
        doi:10.3115/v1/P14-2005.
    Sides swapped : blanc_recall
    SQL : clustereval.blanc_precision(label, cluster)

    Examples
    --------
    Both pairs that are together are right, and so are six of the eight pairs that are apart:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.blanc_precision("label", "cluster")).item()
    0.875
    """
    return pair_statistics(label, cluster).score(blanc_scores, "blanc_precision")


def blanc_recall(label: Column, cluster: Column) -> pl.Expr:
    """BLANC recall: the mean recall for pairs that are together and pairs that are apart.

    The recall is (tp / (tp + fn) + tn / (tn + fp)) / 2.

    Facts
    -----
    Title : BLANC recall
    Meaning : mean recall of pairs together and pairs apart
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. In all other cases, a fraction that is 0 / 0 counts
        as 0. NULL if there are no rows.
    Source : Luo, Pradhan, Recasens and Hovy (2014), An extension of BLANC to system mentions,
        doi:10.3115/v1/P14-2005.
    Sides swapped : blanc_precision
    SQL : clustereval.blanc_recall(label, cluster)

    Examples
    --------
    Two of the four pairs with the same label are found, and so are all six pairs with different
    labels:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.blanc_recall("label", "cluster")).item()
    0.75
    """
    return pair_statistics(label, cluster).score(blanc_scores, "blanc_recall")


def blanc_f_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """BLANC F score: the mean F score for pairs that are together and pairs that are apart.

    The F score for pairs that are together combines tp / (tp + fp) with tp / (tp + fn), and the F
    score for pairs that are apart combines tn / (tn + fn) with tn / (tn + fp). If beta > 1, recall
    has more weight than precision.

    Facts
    -----
    Title : BLANC F score
    Meaning : mean F score of pairs together and pairs apart
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for equal partitions only. In all other cases, an F score that is 0 / 0 counts
        as 0. NULL if there are no rows.
    Source : Luo, Pradhan, Recasens and Hovy (2014), An extension of BLANC to system mentions,
        doi:10.3115/v1/P14-2005.
    Differs : This score is the mean of two F scores, not a mean of blanc_precision and
        blanc_recall.
    SQL : clustereval.blanc_f_score(label, cluster, beta := 1.0)

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
    The F scores are 2/3 and 6/7:

    >>> five = pl.DataFrame({"label": ["a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2]})
    >>> five.select(ce.blanc_f_score("label", "cluster")).item()
    0.7619...
    """
    scores = partial(blanc_scores, beta=check_beta(beta))
    return pair_statistics(label, cluster).score(scores, "blanc_f_score")
