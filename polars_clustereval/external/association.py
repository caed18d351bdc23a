"""Coefficients of association between "same label" and "same cluster".

The coefficients are computed from tp, fp, fn and tn, the four pair counts that are explained in the
module pair_counting.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from polars_clustereval.base.exact import ratio, to_double

from .gradients import PAIRS, Quotient, as_expression, linear, root_slopes
from .pair_counting import pair_shares, pair_statistics

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column
    from polars_clustereval.base.frames import Row, Terms

# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def _correlation_distance(row: Row) -> pl.Expr:
    """Return arccos(phi) / pi, or 0 for equal partitions, or NULL if phi is undefined.

    Taking the arc cosine of a number near 1 would lose half of the digits, so the angle is computed
    from its tangent sqrt(1 - phi^2) / phi. If the counts are shares of all pairs, the numerator of
    the tangent is sqrt(tp tn (fp + fn) + fp fn (tp + tn)), the square root of a sum of products.
    """
    tp, fp, fn, tn = pair_shares(row)
    opposite, adjacent = tp * tn * (fp + fn) + fp * fn * (tp + tn), tp * tn - fn * fp
    angle = pl.arctan2(opposite.sqrt(), adjacent) / math.pi
    has_both = (row("tp") + row("fn") > 0) & (row("tp") + row("fp") > 0)
    has_both &= (row("fn") + row("tn") > 0) & (row("fp") + row("tn") > 0)
    defined = pl.when(has_both).then(angle)
    return pl.when(row("fp") + row("fn") == 0).then(0.0).otherwise(defined)


#: Scores that grow with the root of the number of pairs.
GROWING_SCORES = ("mcnemar_index",)


def association_scores(row: Row) -> Terms:
    """Return the association coefficients of "same label" and "same cluster"."""
    tp, fp, fn, tn = (row(name) for name in ("tp", "fp", "fn", "tn"))
    agreements, disagreements, pairs = tp + tn, fp + fn, tp + fp + fn + tn
    s, x, y, t = pair_shares(row)
    phi = ratio(s * t - y * x, ((s + y) * (s + x)).sqrt() * ((y + t) * (x + t)).sqrt())
    return {
        "hubert_index": ratio(agreements - disagreements, pairs),
        "kulczynski_index": (ratio(tp, tp + fp) + ratio(tp, tp + fn)) / 2,
        "mcnemar_index": ratio(fn - fp, to_double(disagreements).sqrt()),
        # The shares are undefined for a single row.
        "phi_index": pl.when(row("total") > 1).then(phi),
        "correlation_distance": _correlation_distance(row),
        "rogers_tanimoto_index": ratio(agreements, agreements + 2 * disagreements),
        "russell_rao_index": ratio(tp, pairs),
        "sokal_sneath_1_index": ratio(tp, tp + 2 * disagreements),
        "sokal_sneath_2_index": ratio(2 * agreements, 2 * agreements + disagreements),
        "southwood_index": ratio(tp, disagreements),
    }


# ----------------------------------------------------------------------------------------------
# Derivatives
# ----------------------------------------------------------------------------------------------


def _angle_of(phi: Quotient, row: Row) -> Quotient:
    """Return phi times the derivative of arccos(phi) / pi, explained at _correlation_distance."""
    tp, fp, fn, tn = (row(f"{name}_share") for name in ("tp", "fp", "fn", "tn"))
    sine = (tp * tn * (fp + fn) + fp * fn * (tp + tn)).sqrt()
    factor = -ratio(as_expression(phi.bottom), math.pi * sine)
    first, second, third = (factor * slope for slope in phi.top_slopes)
    return phi._replace(top=factor * phi.top, top_slopes=(first, second, third))


def association_quotients(row: Row) -> dict[str, Quotient]:
    """Return the association coefficients with their derivatives.

    The statistics are shares of all pairs of rows: s is the share of pairs with the same label and
    the same cluster, x with only the same cluster, and y with only the same label. Therefore, b = s
    + y is the share of pairs with the same label, and c = s + x that of pairs with the same
    cluster.
    """
    s, x, y = row("tp_share"), row("fp_share"), row("fn_share")
    b, c, differ = s + y, s + x, x + y
    n = to_double(row("total"))
    all_root, differ_root = (n * (n - 1) / 2).sqrt(), differ.sqrt()
    half = 0.5 / differ_root
    spread_b, spread_c = b * (1 - b), c * (1 - c)
    spread_root_b, spread_root_c = root_slopes(spread_b, spread_c)
    phi_b, phi_c = (1 - 2 * b) * spread_root_b, (1 - 2 * c) * spread_root_c
    phi = Quotient(
        PAIRS,
        s - b * c,
        spread_b.sqrt() * spread_c.sqrt(),
        ((0.5 - b) + (0.5 - c), -b, -c),
        (phi_b + phi_c, phi_c, phi_b),
    )
    shared, agree = (1.0, 0.0, 0.0), (0.0, -1.0, -1.0)
    return {
        "hubert_index": linear(PAIRS, 0.0, -2.0, -2.0),
        "kulczynski_index": Quotient(
            PAIRS, s * (b + c), 2 * b * c, (2 * s + (b + c), s, s), (2 * (b + c), 2 * b, 2 * c)
        ),
        "mcnemar_index": Quotient(
            PAIRS, (y - x) * all_root, differ_root, (0.0, -all_root, all_root), (0.0, half, half)
        ),
        "phi_index": phi,
        "correlation_distance": _angle_of(phi, row),
        "rogers_tanimoto_index": Quotient(PAIRS, 1 - differ, 1 + differ, agree, (0.0, 1.0, 1.0)),
        "russell_rao_index": linear(PAIRS, 1.0, 0.0, 0.0),
        "sokal_sneath_1_index": Quotient(PAIRS, s, s + 2 * differ, shared, (1.0, 2.0, 2.0)),
        "sokal_sneath_2_index": Quotient(
            PAIRS, 1 - differ, 1 - differ / 2, agree, (0.0, -0.5, -0.5)
        ),
        "southwood_index": Quotient(PAIRS, s, differ, shared, (0.0, 1.0, 1.0)),
    }


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def hubert_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of pairs on which label and cluster agree, minus the share on which they disagree.

    The index is (tp + tn - fp - fn) / (tp + fp + fn + tn), which equals 2 rand_score - 1.

    Facts
    -----
    Title : Hubert index
    Meaning : share of pairs that agree minus share that do not
    Range : [-1, 1]
    Best value : 1
    Special cases : NULL if there are fewer than two rows.
    Source : Hubert (1977), Nominal scale response agreement as a generalized correlation,
        doi:10.1111/j.2044-8317.1977.tb00728.x.
    Differs : The index named Hubert in clusterCrit is phi_index in this package (Hubert's
        normalized gamma).
    SQL : clustereval.hubert_index(label, cluster)

    Examples
    --------
    Label and cluster agree on ten of the 15 pairs, and disagree on five:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.hubert_index("label", "cluster")).item()
    0.3333...
    """
    return pair_statistics(label, cluster).score(association_scores, "hubert_index")


def kulczynski_index(label: Column, cluster: Column) -> pl.Expr:
    """Arithmetic mean of pair precision and pair recall.

    The index is (tp / (tp + fp) + tp / (tp + fn)) / 2.

    Facts
    -----
    Title : Kulczynski index
    Meaning : mean of pair precision and pair recall
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if pair_precision or pair_recall is NULL, or if there are no rows.
    Source : Kulczynski (1927), Die Pflanzenassoziationen der Pieninen.
    Names elsewhere : clusterCrit: Kulczynski
    SQL : clustereval.kulczynski_index(label, cluster)

    Examples
    --------
    The index is the mean of 2/3 and 1/3:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.kulczynski_index("label", "cluster")).item()
    0.5
    """
    return pair_statistics(label, cluster).score(association_scores, "kulczynski_index")


def mcnemar_index(label: Column, cluster: Column) -> pl.Expr:
    """Signed square root of McNemar's statistic, positive if more pairs are split than joined.

    The index is (fn - fp) / sqrt(fn + fp), which is 0 if fn equals fp. Here, fn counts the split
    pairs, which have the same label but different clusters, and fp counts the joined pairs, which
    have the same cluster but different labels. If pairs are split and joined at random, the index
    approximately follows a standard normal distribution.

    Facts
    -----
    Title : McNemar index
    Meaning : split pairs minus joined pairs, scaled
    Range : unbounded
    Best value : none
    Special cases : NULL if the partitions are equal or if there are no rows.
    Source : McNemar (1947), Note on the sampling error of the difference between correlated
        proportions or percentages, doi:10.1007/BF02295996.
    Sides swapped : the negative
    Names elsewhere : clusterCrit: McNemar
    Differs : permetrics and clusterCrit before 1.2.8 compute (tn − fp) / √(tn + fp).
    SQL : clustereval.mcnemar_index(label, cluster)

    Examples
    --------
    Four pairs with the same label are split, and only one pair with different labels is joined:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.mcnemar_index("label", "cluster")).item()
    1.3416...
    """
    return pair_statistics(label, cluster).score(association_scores, "mcnemar_index")


def phi_index(label: Column, cluster: Column) -> pl.Expr:
    """Correlation between "same label" and "same cluster" over all pairs of rows.

    The coefficient is (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (fp + tn) (fn + tn)). It is also
    known as Hubert's normalized gamma.

    Facts
    -----
    Title : Phi coefficient, Hubert's normalized gamma
    Meaning : correlation of same label and same cluster
    Range : [-1, 1]
    Best value : 1
    Special cases : NULL if either partition is trivial (a single group, or only singletons) or if
        there are no rows.
    Source : Yule (1912), On the methods of measuring association between two attributes,
        doi:10.2307/2340126.
    Names elsewhere : clusterCrit: Hubert
    Differs : In clusterCrit and CluSim, phi lacks the square root in the denominator.
    SQL : clustereval.phi_index(label, cluster)

    Examples
    --------
    Rows with the same label are never in the same cluster:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> flowers.select(ce.phi_index("label", "cluster")).item()
    -0.5

    For equal partitions, the correlation is 1:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.phi_index("label", "cluster")).item()
    1.0
    """
    return pair_statistics(label, cluster).score(association_scores, "phi_index")


def correlation_distance(label: Column, cluster: Column) -> pl.Expr:
    """Angle between the two partitions as a fraction of 180 degrees.

    The correlation distance is arccos(phi_index) / pi, which is a metric on partitions. For random
    labelings, the expected distance is close to 1/2.

    Facts
    -----
    Title : Correlation distance
    Meaning : angle between the partitions; 1 is 180 degrees
    Range : [0, 1]
    Best value : 0
    Special cases : 0 for equal partitions, even trivial ones. In all other cases, NULL if either
        partition is trivial (a single group, or only singletons). NULL if there are no rows.
    Source : Gösgens, Tikhonov and Prokhorenkova (2021), Systematic analysis of cluster similarity
        indices: how to validate validation measures,
        https://proceedings.mlr.press/v139/gosgens21a.html.
    SQL : clustereval.correlation_distance(label, cluster)

    Examples
    --------
    Independent labelings of four rows have the correlation -1/2, an angle of 120 degrees:

    >>> four = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 0, 1]})
    >>> four.select(ce.correlation_distance("label", "cluster")).item()
    0.6666...
    """
    return pair_statistics(label, cluster).score(association_scores, "correlation_distance")


def rogers_tanimoto_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of pairs on which label and cluster agree, with disagreements counted twice.

    The index is (tp + tn) / (tp + tn + 2 (fp + fn)).

    Facts
    -----
    Title : Rogers-Tanimoto index
    Meaning : share of agreeing pairs; others count twice
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if there are fewer than two rows.
    Source : Rogers and Tanimoto (1960), A computer program for classifying plants,
        doi:10.1126/science.132.3434.1115.
    Names elsewhere : clusterCrit: Rogers_Tanimoto
    SQL : clustereval.rogers_tanimoto_index(label, cluster)

    Examples
    --------
    Label and cluster agree on ten pairs and disagree on five, so the index is 10 / (10 + 2 x 5):

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.rogers_tanimoto_index("label", "cluster")).item()
    0.5
    """
    return pair_statistics(label, cluster).score(association_scores, "rogers_tanimoto_index")


def russell_rao_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of all pairs of rows that have both the same label and the same cluster.

    The index is tp / (tp + fp + fn + tn).

    Facts
    -----
    Title : Russell-Rao index
    Meaning : share of pairs that are together in both
    Range : [0, 1]
    Best value : none
    Special cases : NULL if there are fewer than two rows.
    Source : Russell and Rao (1940), On habitat and association of species of anopheline larvae in
        south-eastern Madras.
    Names elsewhere : clusterCrit: Russel_Rao
    SQL : clustereval.russell_rao_index(label, cluster)

    Examples
    --------
    The index is 1 only for a single cluster and a single label. It is smaller for other equal
    partitions:

    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [1, 1, 0, 0]})
    >>> flowers.select(ce.russell_rao_index("label", "cluster")).item()
    0.3333...
    """
    return pair_statistics(label, cluster).score(association_scores, "russell_rao_index")


def sokal_sneath_1_index(label: Column, cluster: Column) -> pl.Expr:
    """Jaccard index of pairs of rows, with disagreements between label and cluster counted twice.

    The index is tp / (tp + 2 (fp + fn)).

    Facts
    -----
    Title : First Sokal-Sneath index
    Meaning : Jaccard index; disagreements count twice
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if no pair has the same label or the same cluster, or if there are no rows.
    Source : Sokal and Sneath (1963), Principles of numerical taxonomy.
    Names elsewhere : clusterCrit: Sokal_Sneath1
    SQL : clustereval.sokal_sneath_1_index(label, cluster)

    Examples
    --------
    Two pairs are together in both and five in only one, so the index is 2 / (2 + 2 x 5):

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.sokal_sneath_1_index("label", "cluster")).item()
    0.1666...
    """
    return pair_statistics(label, cluster).score(association_scores, "sokal_sneath_1_index")


def sokal_sneath_2_index(label: Column, cluster: Column) -> pl.Expr:
    """Share of pairs on which label and cluster agree, with agreements counted twice.

    The index is (tp + tn) / (tp + tn + (fp + fn) / 2).

    Facts
    -----
    Title : Second Sokal-Sneath index
    Meaning : share of agreeing pairs; others count half
    Range : [0, 1]
    Best value : 1
    Special cases : NULL if there are fewer than two rows.
    Source : Sokal and Sneath (1963), Principles of numerical taxonomy.
    Names elsewhere : clusterCrit: Sokal_Sneath2
    SQL : clustereval.sokal_sneath_2_index(label, cluster)

    Examples
    --------
    Label and cluster agree on ten pairs and disagree on five, so the index is 10 / (10 + 5 / 2):

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.sokal_sneath_2_index("label", "cluster")).item()
    0.8
    """
    return pair_statistics(label, cluster).score(association_scores, "sokal_sneath_2_index")


def southwood_index(label: Column, cluster: Column) -> pl.Expr:
    """Ratio of pairs that share both label and cluster to pairs that share only one of them.

    The index is tp / (fp + fn). It equals J / (1 - J), where J is jaccard_index.

    Facts
    -----
    Title : Southwood index
    Meaning : pairs together in both, per pair in only one
    Range : [0, ∞)
    Best value : high
    Special cases : NULL if the partitions are equal or if there are no rows.
    Source : Southwood (1978), Ecological methods, with particular reference to the study of insect
        populations, second edition, Chapman and Hall.
    SQL : clustereval.southwood_index(label, cluster)

    Examples
    --------
    Two pairs are together in both, and five in only one:

    >>> six = pl.DataFrame({"label": ["a", "a", "a", "b", "b", "b"], "cluster": [0, 0, 1, 1, 2, 2]})
    >>> six.select(ce.southwood_index("label", "cluster")).item()
    0.4
    """
    return pair_statistics(label, cluster).score(association_scores, "southwood_index")
