"""Indices computed from four counts of unordered pairs of rows.

Each pair of rows belongs to one of four categories:

* tp: the two rows have the same label and the same cluster.
* fp: the two rows have the same cluster but different labels.
* fn: the two rows have the same label but different clusters.
* tn: the two rows have different labels and different clusters.

`links` is the number of triples that consist of a row, another row with the same label, and another
row in the same cluster. The second and the third row of a triple may be the same row. The
multinomial adjusted Rand index needs this number. Products of exact counts could overflow, so
products are computed in double precision from shares. A share is a count divided by the number of
all pairs.
"""

from __future__ import annotations

from functools import partial

import polars as pl

from polars_clustereval.base.checks import Column, check_beta
from polars_clustereval.base.exact import ratio, to_double, widen
from polars_clustereval.base.frames import Row, StructLists, Terms, element_field, element_fields

from .contingency import GROUP_PAIRS, cells_as_list, pair_count_terms

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def cell_link_terms(row: Row) -> Terms:
    """Return the links that begin in a cell, as Int128."""
    # The factors are widened first, because the product of two sizes may exceed Int64.
    with_label = widen(row("n")) * (row("label_size") - 1)
    return {"links": with_label * (row("cluster_size") - 1) * row("copies")}


def pair_share_terms(row: Row) -> Terms:
    """Return the pair counts and links as shares of type Float64, which are NaN for a single row.

    links_share is links divided by the square of the number of all pairs.
    """
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    pairs = to_double(tp + fp + fn + tn)
    shares = {f"{name}_share": to_double(row(name)) / pairs for name in ("tp", "fp", "fn", "tn")}
    return shares | {"links_share": to_double(row("links")) / pairs / pairs}


def pair_statistics(label: Column, cluster: Column) -> StructLists:
    """Return total, tp, fp, fn, tn, links and pair_share_terms, as one struct per group."""
    sums = cells_as_list(label, cluster).sum_terms(GROUP_PAIRS | cell_link_terms(element_field))
    counts = element_fields("total", "links") | pair_count_terms(element_field)
    return sums.select(counts).add_stages(pair_share_terms)


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def pair_shares(row: Row) -> list[pl.Expr]:
    """Return the shares [tp, fp, fn, tn]."""
    return [row(name) for name in ("tp_share", "fp_share", "fn_share", "tn_share")]


def _adjusted_fowlkes_mallows_score(row: Row) -> pl.Expr:
    """Return (FM - E) / (1 - E), the Fowlkes-Mallows score FM corrected for chance.

    E is sqrt(p q), where p is the share of pairs with the same label, and q is the share of pairs
    in the same cluster. 1 - E is computed as ((1 - p) + p (1 - q)) / (1 + E), which loses no digits
    if E is near 1.
    """
    tp, fp, fn, tn = pair_shares(row)
    expected = ((tp + fn) * (tp + fp)).sqrt()
    distance_from_1 = (fp + tn) + (tp + fn) * (fn + tn)
    score = ratio((tp * tn - fn * fp) * (1 + expected), expected * distance_from_1)
    # Rounding may take the ratio above 1.
    return score.clip(upper_bound=1.0)


def _multinomial_adjusted_rand_score(row: Row) -> pl.Expr:
    """Return the multinomial adjusted Rand index, or NULL for fewer than 4 rows or for 0 / 0.

    The expected agreement is estimated from two pairs of rows with no rows in common. If the
    formula is expanded, the leading terms are those of adjusted_rand_score, and all other terms are
    smaller by a factor of n.
    """
    tp, fp, fn, tn = pair_shares(row)
    n, links = to_double(row("total")), row("links_share")
    denominator = (
        ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)) / 2
        - ((2 * tp + fp + fn) * (2 * n - 3) + 2 * tp) / (n * (n - 1))
        + links
    )
    score = (tp * tn - fn * fp - 4 * tp / n + links) / denominator
    # Rounding may take the ratio above 1.
    score = score.clip(upper_bound=1.0)
    return pl.when((row("total") >= 4) & ~_is_multinomial_score_undefined(row)).then(score)


def _is_multinomial_score_undefined(row: Row) -> pl.Expr:
    """Return whether the multinomial adjusted Rand index is 0 / 0, using exact integers.

    It is 0 / 0 for two equal trivial partitions and for some other partitions of four rows.
    """
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    trivial = (fp + fn == 0) & ((tp == 0) | (tn == 0))
    together = (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)
    of_four = together - 5 * (2 * tp + fp + fn) - 2 * tp + 2 * row("links")
    return trivial | ((row("total") == 4) & (of_four == 0))


def pair_scores(row: Row, beta: float = 1.0) -> Terms:
    """Return the scores that are computed from pair counts alone."""
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    s, x, y, t = pair_shares(row)
    # The divisor is a sum of nonnegative products, so no digits are lost to cancellation.
    adjusted_rand = ratio(2 * (s * t - y * x), (s + y) * (y + t) + (s + x) * (x + t))
    precision, recall = to_double(tp) / to_double(tp + fp), to_double(tp) / to_double(tp + fn)
    weighted, square = (1 + beta * beta) * to_double(tp), beta * beta
    # The conventions for 0 / 0 are those of scikit-learn.
    one_if_equal, zero_without_tp = pl.when(fp + fn == 0).then(1.0), pl.when(tp == 0).then(0.0)
    return {
        "rand_score": one_if_equal.otherwise(ratio(tp + tn, tp + fp + fn + tn)),
        "adjusted_rand_score": one_if_equal.otherwise(adjusted_rand),
        "fowlkes_mallows_score": zero_without_tp.otherwise(precision.sqrt() * recall.sqrt()),
        "pair_precision": ratio(tp, tp + fp),
        "pair_recall": ratio(tp, tp + fn),
        "pair_f_score": ratio(weighted, weighted + square * to_double(fn) + to_double(fp)),
        "jaccard_index": ratio(tp, tp + fp + fn),
        "mirkin_metric": 2 * to_double(fp + fn),
    }


def adjusted_pair_scores(row: Row) -> Terms:
    """Return the adjusted Fowlkes-Mallows score and the multinomial adjusted Rand index."""
    return {
        "adjusted_fowlkes_mallows_score": pl.when(row("total") > 1).then(
            _adjusted_fowlkes_mallows_score(row)
        ),
        "multinomial_adjusted_rand_score": _multinomial_adjusted_rand_score(row),
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def rand_score(label: Column, cluster: Column) -> pl.Expr:
    """Rand index: the share of pairs of rows on which label and cluster agree.

    The Rand index is (tp + tn) divided by the total number of pairs. If there are many small
    clusters, the index is always large, because most pairs of rows differ in both label and
    cluster. adjusted_rand_score corrects for this effect.

    Facts
    -----
    Title : Rand index
    Meaning : share of pairs of rows on which both agree
    Range : [0, 1]
    Best value : 1
    Special cases : 1 for a single row. NULL if there are no rows.
    Source : Rand (1971), Objective criteria for the evaluation of clustering methods,
        doi:10.1080/01621459.1971.10482356.
    Names elsewhere : scikit-learn: rand_score; clusterCrit: Rand; Alink: getRi
    SQL : clustereval.rand_score(label, cluster)

    Examples
    --------
    Of the 15 pairs, 10 are together in both or apart in both:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.rand_score("label", "cluster")).item()
    0.6666...

    You can compute one value per group:

    >>> runs = six.with_columns(run=pl.Series([1, 1, 2, 2, 2, 2]))
    >>> runs.group_by("run").agg(ce.rand_score("label", "cluster")).sort("run").rows()
    [(1, 1.0), (2, 0.5)]
    """
    return pair_statistics(label, cluster).score(pair_scores, "rand_score")


def adjusted_rand_score(label: Column, cluster: Column) -> pl.Expr:
    """Rand index corrected for chance.

    The score is (RI - E) / (1 - E), where RI is the Rand index, and E is the expectation of RI for
    random labelings with the same group sizes. Random labelings have a score of 0 on average.

    Facts
    -----
    Title : Adjusted Rand index (ARI)
    Meaning : Rand index corrected for chance: 0 if random
    Range : [-0.5, 1]
    Best value : 1
    Special cases : 1 for equal partitions, including those with a single cluster, only singletons
        or a single row. NULL if there are no rows.
    Source : Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.
    Names elsewhere : scikit-learn: adjusted_rand_score; fpc: corrected.rand; Alink: getAri
    SQL : clustereval.adjusted_rand_score(label, cluster)

    Examples
    --------
    Only the partition matters, not the names of the clusters:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.adjusted_rand_score("label", "cluster")).item()
    1.0

    Agreement below chance is negative:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> flowers.select(ce.adjusted_rand_score("label", "cluster")).item()
    -0.5
    """
    return pair_statistics(label, cluster).score(pair_scores, "adjusted_rand_score")


def fowlkes_mallows_score(label: Column, cluster: Column) -> pl.Expr:
    """Geometric mean of pair precision and pair recall.

    The score is tp / sqrt((tp + fp) (tp + fn)).

    Facts
    -----
    Title : Fowlkes-Mallows score
    Meaning : geometric mean of pair precision and recall
    Range : [0, 1]
    Best value : 1
    Special cases : 0 if no pair has both the same label and the same cluster, even if both
        partitions consist only of singletons. NULL if there are no rows.
    Source : Fowlkes and Mallows (1983), A method for comparing two hierarchical clusterings,
        doi:10.1080/01621459.1983.10478008.
    Names elsewhere : scikit-learn: fowlkes_mallows_score; clusterCrit: Folkes_Mallows
    SQL : clustereval.fowlkes_mallows_score(label, cluster)

    Examples
    --------
    The score is the square root of 2/3 (pair precision) times 1/3 (pair recall):

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.fowlkes_mallows_score("label", "cluster")).item()
    0.4714...
    """
    return pair_statistics(label, cluster).score(pair_scores, "fowlkes_mallows_score")


def pair_precision(label: Column, cluster: Column) -> pl.Expr:
    """Share of the pairs in the same cluster that have the same label.

    The precision is tp / (tp + fp). It is also known as Wallace's index of the clusters.

    Facts
    -----
    Title : Pair precision
    Meaning : share of same-cluster pairs with the same label
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if every cluster has only one row or if there are no rows.
    Source : Wallace (1983), comment on A method for comparing two hierarchical clusterings,
        doi:10.1080/01621459.1983.10478009.
    Sides swapped : pair_recall
    Names elsewhere : clusterCrit: Precision
    SQL : clustereval.pair_precision(label, cluster)

    Examples
    --------
    Splitting a label does not lower the precision:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 2]})
    >>> flowers.select(ce.pair_precision("label", "cluster")).item()
    1.0
    """
    return pair_statistics(label, cluster).score(pair_scores, "pair_precision")


def pair_recall(label: Column, cluster: Column) -> pl.Expr:
    """Share of the pairs with the same label that are in the same cluster.

    The recall is tp / (tp + fn). It is also known as Wallace's index of the labels.

    Facts
    -----
    Title : Pair recall
    Meaning : share of same-label pairs in the same cluster
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if every label has only one row or if there are no rows.
    Source : Wallace (1983), comment on A method for comparing two hierarchical clusterings,
        doi:10.1080/01621459.1983.10478009.
    Sides swapped : pair_precision
    Names elsewhere : clusterCrit: Recall
    SQL : clustereval.pair_recall(label, cluster)

    Examples
    --------
    Joining labels does not lower the recall:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 0, 0, 0]})
    >>> flowers.select(ce.pair_recall("label", "cluster")).item()
    1.0
    """
    return pair_statistics(label, cluster).score(pair_scores, "pair_recall")


def pair_f_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of pair precision and pair recall.

    The F score is (1 + beta^2) P R / (beta^2 P + R), where P is the pair precision and R is the
    pair recall. If beta > 1, recall has more weight than precision. If beta = 1, the F score is the
    index of Czekanowski, Dice and Sorensen.

    Facts
    -----
    Title : Pair F score, Czekanowski-Dice index
    Meaning : harmonic mean of pair precision and recall
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if no pair has the same label or the same cluster, if beta is 0 and every
        cluster is a singleton, or if there are no rows.
    Source : Dice (1945), Measures of the amount of ecologic association between species,
        doi:10.2307/1932409.
    Names elsewhere : clusterCrit: Czekanowski_Dice
    SQL : clustereval.pair_f_score(label, cluster, beta := 1.0)

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
    The precision is 2/3 and the recall 1/3, so a higher weight of recall lowers the score:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.pair_f_score("label", "cluster")).item()
    0.4444...
    >>> six.select(ce.pair_f_score("label", "cluster", beta=2.0)).item()
    0.3703...
    """
    scores = partial(pair_scores, beta=check_beta(beta))
    return pair_statistics(label, cluster).score(scores, "pair_f_score")


def jaccard_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of the pairs with the same label or the same cluster that have both in common.

    The index is tp / (tp + fp + fn).

    Facts
    -----
    Title : Jaccard index
    Meaning : share of pairs together in either that are in both
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if no pair has the same label or the same cluster, or if there are no rows.
    Source : Jaccard (1912), The distribution of the flora in the alpine zone,
        doi:10.1111/j.1469-8137.1912.tb05611.x.
    Names elsewhere : clusterCrit: Jaccard
    SQL : clustereval.jaccard_index(label, cluster)

    Examples
    --------
    Of the 7 pairs that are together by label or by cluster, 2 pairs are together by both:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.jaccard_index("label", "cluster")).item()
    0.2857...
    """
    return pair_statistics(label, cluster).score(pair_scores, "jaccard_index")


def mirkin_metric(label: Column, cluster: Column) -> pl.Expr:
    """Number of ordered pairs of rows on which label and cluster disagree.

    The number of these pairs is 2 (fp + fn), which is a metric on the set of partitions.

    Facts
    -----
    Title : Mirkin metric
    Meaning : number of ordered pairs on which the two differ
    Range : [0, n (n - 1)]
    Best value : 0
    Special cases : 0 for a single row. NULL if there are no rows.
    Source : Mirkin (1996), Mathematical classification and clustering,
        doi:10.1007/978-1-4613-0457-9.
    Differs : Clustering.jl divides the metric by the number of all ordered pairs of rows.
    SQL : clustereval.mirkin_metric(label, cluster)

    Examples
    --------
    Five unordered pairs disagree:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.mirkin_metric("label", "cluster")).item()
    10.0
    """
    return pair_statistics(label, cluster).score(pair_scores, "mirkin_metric")


def adjusted_fowlkes_mallows_score(label: Column, cluster: Column) -> pl.Expr:
    """Fowlkes-Mallows score corrected for chance.

    The score is (FM - E) / (1 - E), where FM is the Fowlkes-Mallows score, and E is the expectation
    of FM for random labelings with the same group sizes. Random labelings have a score of 0 on
    average.

    Facts
    -----
    Title : Adjusted Fowlkes-Mallows score
    Meaning : Fowlkes-Mallows score corrected for chance
    Range : up to 1
    Best value : 1
    Special cases : NULL if either partition is trivial (a single group, or only singletons) or if
        there are no rows.
    Source : Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.
    SQL : clustereval.adjusted_fowlkes_mallows_score(label, cluster)

    Examples
    --------
    The Fowlkes-Mallows score of the same rows is 0.4714:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.adjusted_fowlkes_mallows_score("label", "cluster")).item()
    0.2629...
    """
    return pair_statistics(label, cluster).score(
        adjusted_pair_scores, "adjusted_fowlkes_mallows_score"
    )


def multinomial_adjusted_rand_score(label: Column, cluster: Column) -> pl.Expr:
    """Rand index corrected for chance, with group sizes that are random too.

    The score is the adjusted Rand index under a multinomial model (MARI). adjusted_rand_score
    treats the sizes of labels and clusters as fixed. multinomial_adjusted_rand_score treats these
    sizes as random too, and its correction is unbiased. Random labelings have a score of 0 on
    average.

    Facts
    -----
    Title : Multinomial adjusted Rand index (MARI)
    Meaning : adjusted Rand index if group sizes are random
    Range : up to 1
    Best value : 1
    Special cases : NULL if there are fewer than 4 rows or if the score is 0 / 0. For equal
        partitions, the score is 0 / 0 if they consist of a single cluster, of singletons only, or
        of two clusters with two rows each.
    Source : Sundqvist, Chiquet and Rigaill (2023), Adjusting the adjusted Rand index,
        doi:10.1007/s00180-022-01230-7.
    SQL : clustereval.multinomial_adjusted_rand_score(label, cluster)

    Examples
    --------
    If there are many rows, the score is close to adjusted_rand_score, which is 0.2424 here:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.multinomial_adjusted_rand_score("label", "cluster")).item()
    0.2105...
    """
    return pair_statistics(label, cluster).score(
        adjusted_pair_scores, "multinomial_adjusted_rand_score"
    )
