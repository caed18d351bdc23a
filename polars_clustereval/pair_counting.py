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

from typing import TYPE_CHECKING

import polars as pl

from .labels import (
    _cell_terms,
    _checked_beta,
    _cluster_field,
    _cluster_terms,
    _double,
    _field,
    _label_field,
    _label_terms,
    _listed,
    _pair_counts,
    _ratio,
    _wide,
)

if TYPE_CHECKING:
    from .labels import Column, Row, Terms

__all__ = [
    "adjusted_fowlkes_mallows_score",
    "adjusted_rand_score",
    "fowlkes_mallows_score",
    "hubert_index",
    "jaccard_index",
    "kulczynski_index",
    "mcnemar_index",
    "mirkin_metric",
    "multinomial_adjusted_rand_score",
    "pair_f_score",
    "pair_precision",
    "pair_recall",
    "phi_index",
    "rand_score",
    "rogers_tanimoto_index",
    "russell_rao_index",
    "sokal_sneath_1_index",
    "sokal_sneath_2_index",
]

# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _linked(row: Row) -> pl.Expr:
    """Give the sum over rows of (others with its label) x (others with its cluster)."""
    return _wide(row("n")) * (row("a") - 1) * (row("b") - 1) * row("copies")


def _pair_shares(row: Row) -> Terms:
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    pairs = _double(tp + fp + fn + tn)
    return {
        "tp_share": _double(tp) / pairs,
        "fp_share": _double(fp) / pairs,
        "fn_share": _double(fn) / pairs,
        "tn_share": _double(tn) / pairs,
        "linked_share": _double(row("linked")) / pairs / pairs,
    }


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def _agreement(row: Row, score: pl.Expr) -> pl.Expr:
    """Give the score, or scikit-learn's 1 where the two sides agree on every pair, if any."""
    return pl.when(row("fp") + row("fn") == 0).then(1.0).otherwise(score)


def _adjusted_rand_score(row: Row) -> pl.Expr:
    """Divide by a sum of products, which does not cancel."""
    tp, fp, fn, tn = _shares(row)
    return _ratio(2 * (tp * tn - fn * fp), (tp + fn) * (fn + tn) + (tp + fp) * (fp + tn))


def _fowlkes_mallows_score(row: Row) -> pl.Expr:
    """Give scikit-learn's 0 where no pair is together in both, even if none is in either."""
    tp = _double(row("tp"))
    score = (tp / _double(row("tp") + row("fp"))).sqrt() * (
        tp / _double(row("tp") + row("fn"))
    ).sqrt()
    return pl.when(tp == 0).then(0.0).otherwise(score)


def _pair_f_score(row: Row, beta: float) -> pl.Expr:
    weighted = (1 + beta * beta) * _double(row("tp"))
    return _ratio(weighted, weighted + beta * beta * _double(row("fn")) + _double(row("fp")))


def _phi_index(row: Row) -> pl.Expr:
    tp, fp, fn, tn = _shares(row)
    together, apart = ((tp + fn) * (tp + fp)).sqrt(), ((fn + tn) * (fp + tn)).sqrt()
    return _ratio(tp * tn - fn * fp, together * apart)


def _adjusted_fowlkes_mallows_score(row: Row) -> pl.Expr:
    """Give (FM - E) / (1 - E), E = sqrt(p q) with the shares p, q together by label, by cluster.

    1 - E is written ((1 - p) + p (1 - q)) / (1 + E): it does not cancel near 1.
    """
    tp, fp, fn, tn = _shares(row)
    expected = ((tp + fn) * (tp + fp)).sqrt()
    rest = (fp + tn) + (tp + fn) * (fn + tn)
    return _ratio((tp * tn - fn * fp) * (1 + expected), expected * rest)


def _multinomial_adjusted_rand_score(row: Row) -> pl.Expr:
    """Count disjoint pairs of pairs for the expectation.

    Multiplied out, its leading terms are those of adjusted_rand_score, the rest of order 1 / n.
    """
    tp, fp, fn, tn = _shares(row)
    n, linked = _double(row("total")), row("linked_share")
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


def _shares(row: Row) -> list[pl.Expr]:
    return [row(name) for name in ("tp_share", "fp_share", "fn_share", "tn_share")]


def _pair_scores(row: Row, beta: float = 1.0) -> Terms:
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    agreements, disagreements, pairs = tp + tn, fp + fn, tp + fp + fn + tn
    # One row makes no pair: nothing that is a share of pairs exists, but for the agreements.
    some = row("total") > 1
    return {
        "rand_score": _agreement(row, _ratio(agreements, pairs)),
        "adjusted_rand_score": _agreement(row, _adjusted_rand_score(row)),
        "fowlkes_mallows_score": _fowlkes_mallows_score(row),
        "pair_precision": _ratio(tp, tp + fp),
        "pair_recall": _ratio(tp, tp + fn),
        "pair_f_score": _pair_f_score(row, beta),
        "jaccard_index": _ratio(tp, tp + disagreements),
        "mirkin_metric": 2 * _double(disagreements),
        "hubert_index": _ratio(agreements - disagreements, pairs),
        "kulczynski_index": (_ratio(tp, tp + fp) + _ratio(tp, tp + fn)) / 2,
        "mcnemar_index": _ratio(fn - fp, _double(disagreements).sqrt()),
        "phi_index": pl.when(some).then(_phi_index(row)),
        "rogers_tanimoto_index": _ratio(agreements, agreements + 2 * disagreements),
        "russell_rao_index": _ratio(tp, pairs),
        "sokal_sneath_1_index": _ratio(tp, tp + 2 * disagreements),
        "sokal_sneath_2_index": _ratio(2 * agreements, 2 * agreements + disagreements),
        "adjusted_fowlkes_mallows_score": pl.when(some).then(_adjusted_fowlkes_mallows_score(row)),
        "multinomial_adjusted_rand_score": _multinomial_adjusted_rand_score(row),
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def _pair_score(label: Column, cluster: Column, name: str, beta: float = 1.0) -> pl.Expr:
    terms = {
        **_cell_terms(_field),
        **_label_terms(_label_field),
        **_cluster_terms(_cluster_field),
        "linked": _linked(_field),
    }
    counts = _listed(label, cluster).summed(terms).staged(_pair_counts, _pair_shares)
    return counts.score(lambda row: _pair_scores(row, beta), name)


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
    return _pair_score(label, cluster, "rand_score")


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
    return _pair_score(label, cluster, "adjusted_rand_score")


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
    return _pair_score(label, cluster, "fowlkes_mallows_score")


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
    return _pair_score(label, cluster, "pair_precision")


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
    return _pair_score(label, cluster, "pair_recall")


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
    return _pair_score(label, cluster, "pair_f_score", beta=_checked_beta(beta))


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
    return _pair_score(label, cluster, "jaccard_index")


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
    return _pair_score(label, cluster, "mirkin_metric")


def hubert_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of pairs on which label and cluster agree, less that on which they disagree.

    (tp + tn - fp - fn) / all pairs. From -1 to 1, best 1; twice rand_score less 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL for a single row. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.hubert_index(label, cluster)``.

    References
    ----------
    Hubert (1977), Nominal scale response agreement as a generalized correlation,
    doi:10.1111/j.2044-8317.1977.tb00728.x.

    Examples
    --------
    Ten pairs of 15 agree and five do not:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.hubert_index("label", "cluster")).item()
    0.3333...
    """
    return _pair_score(label, cluster, "hubert_index")


def kulczynski_index(label: Column, cluster: Column) -> pl.Expr:
    """Arithmetic mean of pair precision and pair recall.

    From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL where pair_precision or pair_recall is. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.kulczynski_index(label, cluster)``.

    References
    ----------
    Kulczynski (1927), Die Pflanzenassoziationen der Pieninen.

    Examples
    --------
    The mean of 2/3 and 1/3:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.kulczynski_index("label", "cluster")).item()
    0.5
    """
    return _pair_score(label, cluster, "kulczynski_index")


def mcnemar_index(label: Column, cluster: Column) -> pl.Expr:
    """Signed root of McNemar's statistic: whether the clustering splits more than it joins.

    (fn - fp) / sqrt(fn + fp), unbounded, best 0; about standard normal where pairs are split and
    joined alike.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL for equal partitions. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.mcnemar_index(label, cluster)``.

    References
    ----------
    McNemar (1947), Note on the sampling error of the difference between correlated proportions
    or percentages, doi:10.1007/BF02295996.

    Examples
    --------
    More pairs are split (4) than joined (1) by mistake:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.mcnemar_index("label", "cluster")).item()
    1.3416...
    """
    return _pair_score(label, cluster, "mcnemar_index")


def phi_index(label: Column, cluster: Column) -> pl.Expr:
    """Correlation of "same label" and "same cluster" over all pairs of rows.

    From -1 to 1, best 1; equal to Hubert's normalised Gamma.

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
    In SQL: ``clustereval.phi_index(label, cluster)``.

    References
    ----------
    Yule (1912), On the methods of measuring association between two attributes,
    doi:10.2307/2340126.

    Examples
    --------
    Rows of one label are never together, and rows of two often:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> flowers.select(ce.phi_index("label", "cluster")).item()
    -0.5

    Equal partitions:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.phi_index("label", "cluster")).item()
    1.0
    """
    return _pair_score(label, cluster, "phi_index")


def rogers_tanimoto_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of pairs on which label and cluster agree, with disagreements counted twice.

    (tp + tn) / (tp + tn + 2 (fp + fn)). From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL for a single row. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.rogers_tanimoto_index(label, cluster)``.

    References
    ----------
    Rogers and Tanimoto (1960), A computer program for classifying plants,
    doi:10.1126/science.132.3434.1115.

    Examples
    --------
    Ten pairs agree and five do not, 10 / (10 + 2 x 5):

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.rogers_tanimoto_index("label", "cluster")).item()
    0.5
    """
    return _pair_score(label, cluster, "rogers_tanimoto_index")


def russell_rao_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of all pairs that are together in both.

    tp / all pairs. From 0 to 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL for a single row. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.russell_rao_index(label, cluster)``.

    References
    ----------
    Russell and Rao (1940), On habitat and association of species of anopheline larvae in
    south-eastern Madras.

    Examples
    --------
    It is 1 only for a single cluster and a single label, not for every equal partition:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.russell_rao_index("label", "cluster")).item()
    0.3333...
    """
    return _pair_score(label, cluster, "russell_rao_index")


def sokal_sneath_1_index(label: Column, cluster: Column) -> pl.Expr:
    """Jaccard index with disagreements counted twice.

    tp / (tp + 2 (fp + fn)). From 0 to 1, best 1.

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
    In SQL: ``clustereval.sokal_sneath_1_index(label, cluster)``.

    References
    ----------
    Sokal and Sneath (1963), Principles of numerical taxonomy.

    Examples
    --------
    Two pairs are together in both and five disagree, 2 / (2 + 2 x 5):

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.sokal_sneath_1_index("label", "cluster")).item()
    0.1666...
    """
    return _pair_score(label, cluster, "sokal_sneath_1_index")


def sokal_sneath_2_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of pairs on which label and cluster agree, with agreements counted twice.

    (tp + tn) / (tp + tn + (fp + fn) / 2). From 0 to 1, best 1.

    Parameters
    ----------
    label : str or Expr
        The true class of a row, of any type that can be grouped.
    cluster : str or Expr
        The cluster assigned to it. Rows where either is NULL are left out.

    Returns
    -------
    Expr
        Float64, one value a group. NULL for a single row. NULL without rows.

    Notes
    -----
    In SQL: ``clustereval.sokal_sneath_2_index(label, cluster)``.

    References
    ----------
    Sokal and Sneath (1963), Principles of numerical taxonomy.

    Examples
    --------
    Ten pairs agree and five do not, 10 / (10 + 5 / 2):

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.sokal_sneath_2_index("label", "cluster")).item()
    0.8
    """
    return _pair_score(label, cluster, "sokal_sneath_2_index")


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
    return _pair_score(label, cluster, "adjusted_fowlkes_mallows_score")


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
    return _pair_score(label, cluster, "multinomial_adjusted_rand_score")
