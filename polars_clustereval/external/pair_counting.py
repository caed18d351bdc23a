"""pair_counting: indices of the four counts of unordered pairs of rows.

The twin of ``sql/pair_counting.sql``. A pair of rows counts as

* tp: same label, same cluster;
* fp: same cluster, different label;
* fn: same label, different cluster;
* tn: different in both.

Products of counts are taken of their shares of all pairs, in double precision: the counts are
exact, so nothing is lost, and nothing can overflow.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.checks import Column, check_beta
from polars_clustereval.base.exact import ratio, to_double, widen
from polars_clustereval.base.frames import Row, Terms, element_field

from .contingency import (
    cell_pair_terms,
    cells_as_list,
    cluster_pair_terms,
    field_of_clusters,
    field_of_labels,
    label_pair_terms,
    pair_count_terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def cell_links(row: Row) -> pl.Expr:
    """Give the sum over rows of (others with its label) x (others with its cluster)."""
    return widen(row("n")) * (row("a") - 1) * (row("b") - 1) * row("copies")


def pair_share_terms(row: Row) -> Terms:
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    pairs = to_double(tp + fp + fn + tn)
    return {
        "tp_share": to_double(tp) / pairs,
        "fp_share": to_double(fp) / pairs,
        "fn_share": to_double(fn) / pairs,
        "tn_share": to_double(tn) / pairs,
        "linked_share": to_double(row("linked")) / pairs / pairs,
    }


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def pair_shares(row: Row) -> list[pl.Expr]:
    return [row(name) for name in ("tp_share", "fp_share", "fn_share", "tn_share")]


def _one_if_equal(row: Row, score: pl.Expr) -> pl.Expr:
    """Give the score, or scikit-learn's 1 where the two sides agree on every pair, if any."""
    return pl.when(row("fp") + row("fn") == 0).then(1.0).otherwise(score)


def _adjusted_rand_score(row: Row) -> pl.Expr:
    """Divide by a sum of products, which does not cancel."""
    tp, fp, fn, tn = pair_shares(row)
    return ratio(2 * (tp * tn - fn * fp), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def _fowlkes_mallows_score(row: Row) -> pl.Expr:
    """Give scikit-learn's 0 where no pair is together in both, even if none is in either."""
    tp = to_double(row("tp"))
    score = (tp / to_double(row("tp") + row("fp"))).sqrt() * (
        tp / to_double(row("tp") + row("fn"))
    ).sqrt()
    return pl.when(tp == 0).then(0.0).otherwise(score)


def _pair_f_score(row: Row, beta: float) -> pl.Expr:
    weighted = (1 + beta * beta) * to_double(row("tp"))
    return ratio(weighted, weighted + beta * beta * to_double(row("fn")) + to_double(row("fp")))


def _adjusted_fowlkes_mallows_score(row: Row) -> pl.Expr:
    """Give (FM - E) / (1 - E), E = sqrt(p q) with the shares p, q together by label, by cluster.

    1 - E is written ((1 - p) + p (1 - q)) / (1 + E): it does not cancel near 1.
    """
    tp, fp, fn, tn = pair_shares(row)
    expected = ((tp + fn) * (tp + fp)).sqrt()
    rest = (fp + tn) + (tp + fn) * (fn + tn)
    return ratio((tp * tn - fn * fp) * (1 + expected), expected * rest)


def _multinomial_adjusted_rand_score(row: Row) -> pl.Expr:
    """Count disjoint pairs of pairs for the expectation.

    Multiplied out, its leading terms are those of adjusted_rand_score, the rest of order 1 / n.
    """
    tp, fp, fn, tn = pair_shares(row)
    n, linked = to_double(row("total")), row("linked_share")
    span = (
        ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)) / 2
        - ((2 * tp + fp + fn) * (2 * n - 3) + 2 * tp) / (n * (n - 1))
        + linked
    )
    score = (tp * tn - fn * fp - 4 * tp / n + linked) / span
    return pl.when((row("total") >= 4) & ~_multinomial_span_is_zero(row)).then(score)


def _multinomial_span_is_zero(row: Row) -> pl.Expr:
    """Tell 0 / 0 by the counts: for equal trivial partitions, and some others of four rows."""
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    trivial = (fp + fn == 0) & ((tp == 0) | (tn == 0))
    together = (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn)
    of_four = together - 5 * (2 * tp + fp + fn) - 2 * tp + 2 * row("linked")
    return trivial | ((row("total") == 4) & (of_four == 0))


def pair_scores(row: Row, beta: float = 1.0) -> Terms:
    """Return the scores of the four counts and their shares."""
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    return {
        "rand_score": _one_if_equal(row, ratio(tp + tn, tp + fp + fn + tn)),
        "adjusted_rand_score": _one_if_equal(row, _adjusted_rand_score(row)),
        "fowlkes_mallows_score": _fowlkes_mallows_score(row),
        "pair_precision": ratio(tp, tp + fp),
        "pair_recall": ratio(tp, tp + fn),
        "pair_f_score": _pair_f_score(row, beta),
        "jaccard_index": ratio(tp, tp + fp + fn),
        "mirkin_metric": 2 * to_double(fp + fn),
    }


def adjusted_pair_scores(row: Row) -> Terms:
    """Return the scores that are adjusted for chance otherwise than adjusted_rand_score."""
    # A single row makes no pair.
    some = row("total") > 1
    return {
        "adjusted_fowlkes_mallows_score": pl.when(some).then(_adjusted_fowlkes_mallows_score(row)),
        "multinomial_adjusted_rand_score": _multinomial_adjusted_rand_score(row),
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def pair_expression(
    label: Column, cluster: Column, name: str, scores: Callable[[Row], Terms]
) -> pl.Expr:
    """Return one of the scores of the pair counts as an expression of two columns."""
    terms = {
        **cell_pair_terms(element_field),
        **label_pair_terms(field_of_labels),
        **cluster_pair_terms(field_of_clusters),
        "linked": cell_links(element_field),
    }
    counts = cells_as_list(label, cluster).summed(terms).staged(pair_count_terms, pair_share_terms)
    return counts.score(scores, name)


def rand_score(label: Column, cluster: Column) -> pl.Expr:
    """Rand index: the share of pairs of rows on which label and cluster agree.

    (tp + tn) / all pairs. From 0 to 1, best 1. It is large for many small clusters whatever they
    are, since most pairs are apart in both: adjusted_rand_score corrects for that.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 1 for a single row. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.rand_score(label, cluster)``.

    References
    ----------
    Rand (1971), Objective criteria for the evaluation of clustering methods,
    doi:10.1080/01621459.1971.10482356.

    Examples
    --------
    Of the 15 pairs, 10 are together in both or apart in both:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.rand_score("label", "cluster")).item()
    0.6666...

    One value a group:

    >>> runs = six.with_columns(run=pl.Series([1, 1, 2, 2, 2, 2]))
    >>> runs.group_by("run").agg(ce.rand_score("label", "cluster")).sort("run").rows()
    [(1, 1.0), (2, 0.5)]
    """
    return pair_expression(label, cluster, "rand_score", pair_scores)


def adjusted_rand_score(label: Column, cluster: Column) -> pl.Expr:
    """Rand index corrected for chance.

    Random labelings are expected to score 0. From -0.5 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 1 for equal partitions, those of one cluster, of singletons and
        of a single row included. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.adjusted_rand_score(label, cluster)``.

    References
    ----------
    Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.

    Examples
    --------
    The names of the clusters do not matter:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.adjusted_rand_score("label", "cluster")).item()
    1.0

    Agreement below chance is negative:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> flowers.select(ce.adjusted_rand_score("label", "cluster")).item()
    -0.5
    """
    return pair_expression(label, cluster, "adjusted_rand_score", pair_scores)


def fowlkes_mallows_score(label: Column, cluster: Column) -> pl.Expr:
    """Geometric mean of pair precision and pair recall.

    tp / sqrt((tp + fp) (tp + fn)). From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 where no pair is together in both, two partitions into
        singletons included. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.fowlkes_mallows_score(label, cluster)``.

    References
    ----------
    Fowlkes and Mallows (1983), A method for comparing two hierarchical clusterings,
    doi:10.1080/01621459.1983.10478008.

    Examples
    --------
    The root of 2/3 (pair precision) times 1/3 (pair recall):

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.fowlkes_mallows_score("label", "cluster")).item()
    0.4714...
    """
    return pair_expression(label, cluster, "fowlkes_mallows_score", pair_scores)


def pair_precision(label: Column, cluster: Column) -> pl.Expr:
    """Share of the pairs put in one cluster that have one label.

    tp / (tp + fp), Wallace's index of the clusters. From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL where every cluster is a singleton. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.pair_precision(label, cluster)``.

    References
    ----------
    Wallace (1983), comment on A method for comparing two hierarchical clusterings,
    doi:10.1080/01621459.1983.10478009.

    Examples
    --------
    Splitting a label costs no precision:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 2]})
    >>> flowers.select(ce.pair_precision("label", "cluster")).item()
    1.0
    """
    return pair_expression(label, cluster, "pair_precision", pair_scores)


def pair_recall(label: Column, cluster: Column) -> pl.Expr:
    """Share of the pairs of one label that are put in one cluster.

    tp / (tp + fn), Wallace's index of the labels. From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL where every label is on one row only. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.pair_recall(label, cluster)``.

    References
    ----------
    Wallace (1983), comment on A method for comparing two hierarchical clusterings,
    doi:10.1080/01621459.1983.10478009.

    Examples
    --------
    Joining labels costs no recall:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 0, 0, 0]})
    >>> flowers.select(ce.pair_recall("label", "cluster")).item()
    1.0
    """
    return pair_expression(label, cluster, "pair_recall", pair_scores)


def pair_f_score(label: Column, cluster: Column, *, beta: float = 1.0) -> pl.Expr:
    """Weighted harmonic mean of pair precision and pair recall.

    (1 + beta^2) P R / (beta^2 P + R); with beta 1 the index of Czekanowski, Dice and Sorensen.
    From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.
    beta : float
        Weight of recall against precision, at least 0: 2 takes recall for twice as important.

    Returns
    -------
    Expr
        Float64, one value a group. NULL where no pair is together in either, or beta is 0 and every
        cluster a singleton. NULL without rows.

    Raises
    ------
    ClusterEvalError
        If beta is negative.

    Notes
    -----
    In SQL: ``clustereval.pair_f_score(label, cluster, beta := 1.0)``.

    References
    ----------
    Dice (1945), Measures of the amount of ecologic association between species,
    doi:10.2307/1932409.

    Examples
    --------
    The precision is 2/3 and the recall 1/3, so weighing recall more lowers the score:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.pair_f_score("label", "cluster")).item()
    0.4444...
    >>> six.select(ce.pair_f_score("label", "cluster", beta=2.0)).item()
    0.3703...
    """
    return pair_expression(
        label, cluster, "pair_f_score", partial(pair_scores, beta=check_beta(beta))
    )


def jaccard_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of the pairs together in either that are together in both.

    tp / (tp + fp + fn). From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL where no pair is together in either. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.jaccard_index(label, cluster)``.

    References
    ----------
    Jaccard (1912), The distribution of the flora in the alpine zone,
    doi:10.1111/j.1469-8137.1912.tb05611.x.

    Examples
    --------
    Of the 7 pairs together somewhere, 2 are so in both:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.jaccard_index("label", "cluster")).item()
    0.2857...
    """
    return pair_expression(label, cluster, "jaccard_index", pair_scores)


def mirkin_metric(label: Column, cluster: Column) -> pl.Expr:
    """Number of ordered pairs of rows on which label and cluster disagree.

    2 (fp + fn), a metric of partitions. From 0 to n (n - 1), best 0.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. 0 for a single row. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.mirkin_metric(label, cluster)``.

    References
    ----------
    Mirkin (1996), Mathematical classification and clustering, doi:10.1007/978-1-4613-0457-9.

    Examples
    --------
    Five unordered pairs disagree:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.mirkin_metric("label", "cluster")).item()
    10.0
    """
    return pair_expression(label, cluster, "mirkin_metric", pair_scores)


def adjusted_fowlkes_mallows_score(label: Column, cluster: Column) -> pl.Expr:
    """Fowlkes-Mallows score corrected for chance.

    Random labelings are expected to score 0. Up to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL where either partition is trivial: all rows together, or
        all apart. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.adjusted_fowlkes_mallows_score(label, cluster)``.

    References
    ----------
    Hubert and Arabie (1985), Comparing partitions, doi:10.1007/BF01908075.

    Examples
    --------
    The Fowlkes-Mallows score of the same rows is 0.4714:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.adjusted_fowlkes_mallows_score("label", "cluster")).item()
    0.2629...
    """
    return pair_expression(label, cluster, "adjusted_fowlkes_mallows_score", adjusted_pair_scores)


def multinomial_adjusted_rand_score(label: Column, cluster: Column) -> pl.Expr:
    """Adjusted Rand index under a multinomial model (MARI).

    The correction is unbiased where the sizes of labels and clusters are a sample too, and not
    fixed. Random labelings are expected to score 0. Up to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL for fewer than 4 rows, and for 0 / 0 as with one cluster
        and one label. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.multinomial_adjusted_rand_score(label, cluster)``.

    References
    ----------
    Sundqvist, Chiquet and Rigaill (2023), Adjusting the adjusted Rand index,
    doi:10.1007/s00180-022-01230-7.

    Examples
    --------
    It comes close to adjusted_rand_score, 0.2424 here, as rows become many:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.multinomial_adjusted_rand_score("label", "cluster")).item()
    0.2105...
    """
    return pair_expression(label, cluster, "multinomial_adjusted_rand_score", adjusted_pair_scores)
