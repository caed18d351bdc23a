"""information: entropies and mutual information, in nats; the twin of ``sql/information.sql``.

Everything follows from three sums of non-negative terms: the mutual information (mi) and the two
conditional entropies (hl of the label given the cluster, hc of the cluster given the label).
Entropies and normalised scores are sums and ratios of those, never differences, so they keep their
digits for independent, identical and nearly trivial labelings.
"""

from __future__ import annotations

from math import pi, prod
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from .labels import (
    _SHARES,
    _atanh_tail,
    _checked_beta,
    _checked_choice,
    _cluster_field,
    _double,
    _field,
    _fixed,
    _joined,
    _label_field,
    _listed,
    _Lists,
    _log_ratio,
    _looked_up,
    _ratio,
    _staged,
    _summed,
    _unfixed,
    _wide,
)

if TYPE_CHECKING:
    from .labels import Column, Row, Terms, _Table

__all__ = [
    "adjusted_mutual_info_score",
    "cluster_entropy",
    "cluster_entropy_given_label",
    "completeness_score",
    "expected_mutual_info",
    "homogeneity_score",
    "joint_entropy",
    "label_entropy",
    "label_entropy_given_cluster",
    "mutual_info_score",
    "normalized_information_distance",
    "normalized_mutual_info_score",
    "normalized_variation_of_information",
    "v_measure_score",
    "variation_of_information",
]

AverageMethod = Literal["arithmetic", "geometric", "min", "max"]
NormalizedMethod = Literal["arithmetic", "geometric", "min", "max", "joint"]

_AVERAGES = ("arithmetic", "geometric", "min", "max")
_NORMALIZED_AVERAGES = (*_AVERAGES, "joint")


# ----------------------------------------------------------------------------------------------
# Statistics
# ----------------------------------------------------------------------------------------------


def _deviance(x: pl.Expr, m: pl.Expr, d: pl.Expr) -> pl.Expr:
    """Give Loader's deviance x ln(x / m) + m - x >= 0 of a count from a mean; d = x - m, exact."""
    v = d / (x + m).clip(1e-300)
    w = v * v
    near = v * (d + 2 * x * w * _atanh_tail(w))
    far = x * (x.clip(1.0) / m).log() - d
    return pl.when(v.abs() < 0.1).then(near).otherwise(far)


def _cell_moments(row: Row) -> Terms:
    """Give the mean of a cell under independence, and how much larger the cell is."""
    n, total = _wide(row("n")), _wide(row("total"))
    product = _wide(row("a")) * _wide(row("b"))
    return {
        "product": product,
        "mean": _double(product) / _double(total),
        "excess": _double(n * total - product) / _double(total),
    }


def _cell_terms(row: Row) -> Terms:
    n, copies = row("n"), _double(row("copies"))
    rows = copies * _double(n)
    return {
        "deviance": _fixed(copies * _deviance(_double(n), row("mean"), row("excess"))),
        "covered": row("product") * row("copies"),
        "rows_hl": _fixed(rows * _log_ratio(row("b"), n)),
        "rows_hc": _fixed(rows * _log_ratio(row("a"), n)),
    }


def _information(row: Row) -> Terms:
    """Give mi, hl and hc. The cells without rows add their expected mass to mi, exactly known."""
    n = _double(row("total"))
    empty = _wide(row("total")) * _wide(row("total")) - row("covered")
    return {
        "mi": (_unfixed(row("deviance")) + _double(empty) / n) / n,
        "hl": _unfixed(row("rows_hl")) / n,
        "hc": _unfixed(row("rows_hc")) / n,
    }


# ----------------------------------------------------------------------------------------------
# Formulas
# ----------------------------------------------------------------------------------------------


def _ratio_or(part: pl.Expr, whole: pl.Expr, otherwise: float) -> pl.Expr:
    """Give part / whole, and what stands for 0 / 0."""
    return pl.when(whole == 0).then(otherwise).otherwise(part / whole)


def _v_measure_score(row: Row, beta: float) -> pl.Expr:
    """Multiply (1 + beta) h c / (beta h + c) out: 0 where both are 0, as in scikit-learn."""
    mi, hl, hc = row("mi"), row("hl"), row("hc")
    score = _ratio((1 + beta) * mi, mi + hl + beta * (mi + hc))
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
        "geometric": ehl + (ehc - ehl) * _ratio_or(root_l, root_l + root_c, 0.0),
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
    score = _ratio_or(_adjusted_excess(row), _adjusted_range(row, average_method), 0.0)
    return pl.when(row("hl") + row("hc") == 0).then(1.0).otherwise(score)


def _adjusted_scores(row: Row, average_method: str = "arithmetic") -> Terms:
    return {
        "adjusted_mutual_info_score": _adjusted_mutual_info_score(row, average_method),
        "expected_mutual_info": row("emi"),
    }


def _information_scores(
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
        "homogeneity_score": _ratio_or(mi, mi + hl, 1.0),
        "completeness_score": _ratio_or(mi, mi + hc, 1.0),
        "v_measure_score": _v_measure_score(row, beta),
        "variation_of_information": hl + hc,
        "normalized_variation_of_information": _ratio_or(hl + hc, mi + hl + hc, 0.0),
        "normalized_information_distance": _ratio_or(larger, mi + larger, 0.0),
    }


# ----------------------------------------------------------------------------------------------
# The expected mutual information of two labelings with given sizes, under random permutation.
#
# It is a sum over pairs of sizes (a, b) of E[deviance(m, ab / n)] / n, where m, the overlap, is
# hypergeometric; pairs of equal sizes are summed once. The probabilities come from Loader's
# saddle-point form, which does not cancel. Where their standard deviation is 6 or more they are
# smooth, and a sum over every stride-th m, times stride, has the same value to 1e-15 (Poisson's
# summation formula), so that a pair costs at most some 140 nodes whatever n is. What a pair adds is
# smooth in both sizes too: where there are many of them, a few sizes with other weights give the
# same sum, so that there are never many pairs.
# ----------------------------------------------------------------------------------------------

# ln(x!) - [(x + 1/2) ln x - x + ln(2 pi) / 2] for x = 0 .. 6, 0 taken as 0 ...
_STIRLING_ERRORS = (
    0.0,
    0.08106146679532726,
    0.0413406959554093,
    0.02767792568499834,
    0.020790672103765093,
    0.016644691189821193,
    0.013876128823070748,
)
# ... and the terms of Stieltjes' continued fraction of it, which is exact to 1e-17 from 7 on.
_STIELTJES = (
    8.333333333333333e-2,
    3.333333333333333e-2,
    2.523809523809524e-1,
    5.256064690026954e-1,
    1.0115230681268417,
    1.5174736491532874,
    2.26948897420496,
    3.0099173832593982,
)


def _stirling_error(x: pl.Expr) -> pl.Expr:
    """Give the error of Stirling's formula for ln(x!), 0 for x = 0."""
    fraction = x
    for term in reversed(_STIELTJES[1:]):
        fraction = x + term / fraction
    error = pl.lit(_STIRLING_ERRORS[-1])
    for k, small in enumerate(_STIRLING_ERRORS[:-1]):
        error = pl.when(x == k).then(small).otherwise(error)
    return pl.when(x >= 7).then(_STIELTJES[0] / fraction).otherwise(error)


def _stirling_scale(x: pl.Expr) -> pl.Expr:
    """Give 2 pi x, the square of the factor that goes with the Stirling error; 1 for x = 0."""
    return (2 * pi * x).clip(1.0)


def _overlap_limits(row: Row) -> Terms:
    n, a, b = _double(row("total")), _double(row("size_a")), _double(row("size_b"))
    spread = (a / n) * b * ((n - a) / n) * ((n - b) / (n - 1).clip(1.0))
    return {
        "n": n,
        "a": a,
        "b": b,
        "mean": a * b / n,
        "deviation": spread.sqrt(),
        "least": (a + b - n).clip(0.0),
        "most": pl.min_horizontal(a, b),
    }


def _overlap_stride(row: Row) -> Terms:
    """Give the whole number nearest the mean, where the nodes start, their distance and reach.

    What lies beyond weighs less than 1e-15 of the whole. The overlap of small clusters is skewed to
    the right like a Poisson variable, hence the 8.
    """
    deviation = row("deviation")
    centre = row("mean").floor()
    return {
        "centre": pl.min_horizontal(pl.max_horizontal(centre, row("least")), row("most")),
        "stride": (deviation / 1.5).floor().clip(4.0)
        - pl.when(deviation < 6).then(3.0).otherwise(0.0),
        "reach": 9.5 * deviation + pl.when(deviation < 6).then(8.0).otherwise(0.0),
    }


def _overlap_nodes(row: Row) -> Terms:
    """Give the number of nodes, of those below the centre, and its exact distance from the mean."""
    total, a, b = _wide(row("total")), _wide(row("size_a")), _wide(row("size_b"))
    centre, reach, stride = row("centre"), row("reach"), row("stride")
    below = (pl.min_horizontal(reach, centre - row("least")) / stride).floor()
    above = (pl.min_horizontal(reach, row("most") - centre) / stride).floor()
    return {
        "below": below,
        "nodes": (below + above + 1).cast(pl.Int64),
        "offset": _double(total * _wide(centre) - a * b) / row("n"),
    }


def _overlap_factors(row: Row) -> Terms:
    """Give the parts of the overlap's probability that depend on the sizes alone."""
    n, a, b = row("n"), row("a"), row("b")
    scale = _stirling_scale(a) * _stirling_scale(n - a) * _stirling_scale(b)
    errors = sum(map(_stirling_error, (a, n - a, b, n - b)), -_stirling_error(n))
    return {
        "scale": (scale / _stirling_scale(n) * _stirling_scale(n - b)).sqrt(),
        "errors": errors,
        "times_stride": row("times") * row("stride") / n,
    }


# What the nodes of a pair of sizes need to know of it.
_OF_PAIR = ("n", "a", "b", "centre", "stride", "below", "offset", "scale", "errors", "times_stride")


def _node_steps(row: Row) -> Terms:
    step = row("stride") * (_double(row("node")) - row("below"))
    return {"x1": row("centre") + step, "d": step + row("offset")}


def _node_tables(row: Row) -> Terms:
    """Give the 2 x 2 table of an overlap x1 and its expectation."""
    n, a, b, x1 = row("n"), row("a"), row("b"), row("x1")
    return {
        "x2": a - x1,
        "x3": b - x1,
        "x4": n - a - b + x1,
        "m1": a * b / n,
        "m2": a * (n - b) / n,
        "m3": b * (n - a) / n,
        "m4": (n - a) * (n - b) / n,
    }


def _node_deviances(row: Row) -> Terms:
    signs = {1: 1, 2: -1, 3: -1, 4: 1}
    return {f"d{i}": _deviance(row(f"x{i}"), row(f"m{i}"), signs[i] * row("d")) for i in _FOUR}


_FOUR = (1, 2, 3, 4)


def _node_weights(row: Row) -> Terms:
    """Give what a node adds to a mean over the overlaps of all pairs, divided by n."""
    scale = _stirling_scale(row("x1"))
    for i in _FOUR[1:]:
        scale *= _stirling_scale(row(f"x{i}"))
    exponent = row("errors")
    for i in _FOUR:
        exponent -= row(f"d{i}") + _stirling_error(row(f"x{i}"))
    return {"weight": row("times_stride") * row("scale") / scale.sqrt() * exponent.exp()}


def _node_terms(row: Row) -> Terms:
    weight, x1, fine = row("weight"), row("x1"), row("stride") == 1
    ehl = weight * x1 * _log_ratio(row("b"), x1.clip(1.0))
    ehc = weight * x1 * _log_ratio(row("a"), x1.clip(1.0))
    return {
        "emi": weight * row("d1"),
        "strided": pl.when(fine).then(0.0).otherwise(weight * row("d1")),
        "fine_ehl": pl.when(fine).then(ehl).otherwise(0.0),
        "fine_ehc": pl.when(fine).then(ehc).otherwise(0.0),
    }


def _pair_terms(row: Row) -> Terms:
    """Give the parts of ehl and ehc of the pairs with a stride, but for their part of emi."""
    n, a, b, fine = row("n"), row("a"), row("b"), row("stride") == 1
    share = row("times") * (a / n) * (b / n)
    return {
        "strided_ehl": pl.when(fine).then(0.0).otherwise(share * _log_ratio(n, a)),
        "strided_ehc": pl.when(fine).then(0.0).otherwise(share * _log_ratio(n, b)),
    }


def _expected(row: Row) -> Terms:
    return {
        "ehl": row("fine_ehl") + (row("strided_ehl") - row("strided")),
        "ehc": row("fine_ehc") + (row("strided_ehc") - row("strided")),
    }


_OF_PAIRS = (_overlap_limits, _overlap_stride, _overlap_nodes, _overlap_factors)
_OF_NODES = (_node_steps, _node_tables, _node_deviances, _node_weights)
# Most nodes of any pair of sizes.
_MOST_NODES = 144


def _expected_totals(table: _Table) -> pl.LazyFrame:
    """One row a partition: emi and the parts of ehl and ehc, from sizes of labels and clusters."""
    pairs = _size_pairs(table)
    if not table.keys:
        return _expected_sums(pairs, [])
    # Partitions share most of their pairs of sizes: what a pair adds is computed once for all.
    distinct = pairs.select(_SIZES).unique().with_columns(times=pl.lit(1.0))
    sums = _expected_sums(distinct, _SIZES)
    terms = {name: _fixed(pl.col("times") * pl.col(name), _SHARES) for name in _EXPECTED_SUMS}
    totals = table.summed(pairs.join(sums, on=_SIZES), terms)
    return totals.with_columns(_unfixed(pl.col(name), _SHARES) for name in _EXPECTED_SUMS)


def _expected_sums(pairs: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    pairs = _staged(pairs, *_OF_PAIRS).cache()
    # A join gives the nodes in batches of the engine's size; explode would make them 30 times that.
    most, node = np.tril_indices(_MOST_NODES)
    numbers = pl.LazyFrame({"nodes": most + 1, "node": node})
    nodes = _looked_up(pairs, ["nodes"], numbers).select(*by, *_OF_PAIR, "node")
    of_nodes = _summed(_staged(nodes, *_OF_NODES), by, _node_terms(pl.col))
    return _joined(of_nodes, by, _summed(pairs, by, _pair_terms(pl.col)))


_SIZES = ["total", "size_a", "size_b"]
_EXPECTED_SUMS = ("emi", "strided", "fine_ehl", "fine_ehc", "strided_ehl", "strided_ehc")


def _size_pairs(table: _Table) -> pl.LazyFrame:
    """Give pairs of a label size and a cluster size, and how many times there is one."""
    keys = list(table.keys)
    labels = table.labels.group_by(*keys, size="a").agg(times=_double(pl.len()))
    copies = _double(pl.col("copies").sum())
    clusters = table.clusters.group_by(*keys, size="b").agg(times=copies)
    a, b = (
        _few_sizes(counts, keys).rename({"size": f"size_{side}", "times": f"times_{side}"})
        for counts, side in ((labels, "a"), (clusters, "b"))
    )
    totals = table.row_counts.select(*keys, "total")
    pairs = table.joined(a, totals, b)
    return pairs.with_columns(times=pl.col("times_a") * pl.col("times_b"))


# Whole numbers near the Chebyshev points of 64 .. 128 ...
_OCTAVE_NODES = (64, 65, 67, 70, 73, 78, 82, 88, 93, 99, 104, 110, 114, 119, 122, 125, 127, 128)
# ... and the weights of the barycentric form of the polynomial through them, up to a factor.
_OCTAVE_WEIGHTS = tuple(
    1 / prod((node - other) / 16 for other in _OCTAVE_NODES if other != node)
    for node in _OCTAVE_NODES
)
# Sizes of an octave that are left as they are.
_OCTAVE_SIZES = 32


def _few_sizes(counts: pl.LazyFrame, keys: list[str]) -> pl.LazyFrame:
    """Give the sizes, or in place of many in an octave 64 .. 128, 128 .. 256, ... 18 others.

    There are as many times each of those as gives the sum of any polynomial of degree 17 over the
    sizes, and to 1e-14 that of what a pair of sizes adds to the expected mutual information.
    """
    size, by = pl.col("size"), [*keys, "unit"]
    unit = pl.lit(2.0).pow((size + 0.5).log(2).floor() - 6)
    placed = counts.with_columns(unit=pl.when(size < _OCTAVE_NODES[0]).then(0.0).otherwise(unit))
    octaves = placed.group_by(by).agg(in_octave=pl.len())
    placed = placed.join(octaves, on=by, nulls_equal=True).cache()
    crowded = (pl.col("unit") > 0) & (pl.col("in_octave") > _OCTAVE_SIZES)
    few = placed.filter(~crowded).select(*keys, "size", "times")
    return pl.concat([few, _at_nodes(placed.filter(crowded), by).select(*keys, "size", "times")])


def _at_nodes(crowded: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    """Give the nodes of the octaves, and how many times there is each."""

    def shares(row: Row) -> Terms:
        # A size that is a node is it alone: what it has of the others is 1e30 times less.
        off = [_double(row("size")) / row("unit") - node for node in _OCTAVE_NODES]
        off = [pl.when(x == 0).then(1e-30).otherwise(x) for x in off]
        return {
            f"share_{i}": w / x for i, (w, x) in enumerate(zip(_OCTAVE_WEIGHTS, off, strict=True))
        }

    names = [f"share_{i}" for i in range(len(_OCTAVE_NODES))]
    shared = _staged(crowded, shares).with_columns(whole=pl.sum_horizontal(names))
    part = pl.col(names) * pl.col("times") / pl.col("whole")
    sizes = [(pl.col("unit") * node).cast(pl.Int64) for node in _OCTAVE_NODES]
    nodes = shared.group_by(by).agg(part.sum())
    listed = nodes.select(*by, size=pl.concat_list(sizes), times=pl.concat_list(names))
    return listed.explode("size", "times")


# ----------------------------------------------------------------------------------------------
# Expressions
# ----------------------------------------------------------------------------------------------


def _information_score(
    label: Column,
    cluster: Column,
    name: str,
    average_method: str = "arithmetic",
    beta: float = 1.0,
) -> pl.Expr:
    cells = _listed(label, cluster).staged(_cell_moments)
    statistics = cells.summed(_cell_terms(_field)).staged(_information)
    return statistics.score(lambda row: _information_scores(row, average_method, beta), name)


def _adjusted_score(
    label: Column, cluster: Column, name: str, average_method: str = "arithmetic"
) -> pl.Expr:
    cells = _listed(label, cluster).staged(_cell_moments)
    pairs = cells.evaluated({**_cell_totals(), **_listed_sizes()}).staged(*_OF_PAIRS)
    nodes = _listed_nodes(pairs.staged(_pair_totals)).staged(*_OF_NODES)
    carried = {name: _field(name).first() for name in (*_CELL_TOTALS, *_PAIR_TOTALS)}
    sums = {name: term.sum() for name, term in _node_terms(_field).items()}
    statistics = nodes.evaluated(carried | sums).staged(_information, _expected)
    return statistics.score(lambda row: _adjusted_scores(row, average_method), name)


# What goes with every pair of sizes and every node, because it has to arrive in one struct.
_CELL_TOTALS = ("total", "deviance", "covered", "rows_hl", "rows_hc")
_PAIR_TOTALS = ("strided_ehl", "strided_ehc")


def _cell_totals() -> Terms:
    terms = {name: term.sum() for name, term in _cell_terms(_field).items()}
    return {"total": _field("total").first(), **terms}


def _pair_totals(row: Row) -> Terms:
    return {name: term.sum() for name, term in _pair_terms(row).items()}


def _listed_sizes() -> Terms:
    """Give every pair of a label size and a cluster size, and how many times there is one."""
    a, b = _label_field("a"), _cluster_field("b")
    # Both of unique and unique_counts go by first appearance.
    size_a, size_b = a.unique(maintain_order=True), b.unique(maintain_order=True)
    pair = pl.int_range(size_a.len().cast(pl.Int64) * size_b.len(), dtype=pl.Int64)
    of_a, of_b = pair // size_b.len(), pair % size_b.len()
    times = _double(a.unique_counts().gather(of_a)) * _double(b.unique_counts().gather(of_b))
    return {"size_a": size_a.gather(of_a), "size_b": size_b.gather(of_b), "times": times}


def _listed_nodes(pairs: _Lists) -> _Lists:
    """Repeat every pair for each of its nodes."""
    most = _field("nodes").max().fill_null(0)
    number = pl.int_range(pl.len().cast(pl.Int64) * most, dtype=pl.Int64)
    numbered = pairs.evaluated({"pair": pl.element().gather(number // most), "node": number % most})
    fields = (*_CELL_TOTALS, *_PAIR_TOTALS, *_OF_PAIR)
    pair = {name: _field("pair").struct.field(name) for name in fields}
    nodes = _field("node") < _field("pair").struct.field("nodes")
    return numbered.evaluated(
        {name: term.filter(nodes) for name, term in {**pair, "node": _field("node")}.items()}
    )


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
    return _information_score(label, cluster, "label_entropy")


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
    return _information_score(label, cluster, "cluster_entropy")


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
    return _information_score(label, cluster, "joint_entropy")


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
    return _information_score(label, cluster, "label_entropy_given_cluster")


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
    return _information_score(label, cluster, "cluster_entropy_given_label")


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
    return _information_score(label, cluster, "mutual_info_score")


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
    _checked_choice("average_method", average_method, _NORMALIZED_AVERAGES)
    return _information_score(
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
    _checked_choice("average_method", average_method, _AVERAGES)
    return _adjusted_score(
        label, cluster, "adjusted_mutual_info_score", average_method=average_method
    )


def expected_mutual_info(label: Column, cluster: Column) -> pl.Expr:
    """Mutual information expected of random labelings with sizes like these, in nats.

    The mean over all permutations of the rows. From 0 to the lesser entropy.

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
    In SQL: ``clustereval.expected_mutual_info(label, cluster)``.

    References
    ----------
    Vinh, Epps and Bailey (2009), Information theoretic measures for clusterings comparison: is a
    correction for chance necessary?, doi:10.1145/1553374.1553511.

    Examples
    --------
    Chance alone gives singletons all the information, ln 2:

    >>> import polars as pl
    >>> import polars_clustereval as ce
    >>> flowers = pl.DataFrame({"label": ["a", "a", "b", "b"], "cluster": [0, 1, 2, 3]})
    >>> flowers.select(ce.expected_mutual_info("label", "cluster")).item()
    0.6931...
    """
    return _adjusted_score(label, cluster, "expected_mutual_info")


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
    return _information_score(label, cluster, "homogeneity_score")


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
    return _information_score(label, cluster, "completeness_score")


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
    return _information_score(label, cluster, "v_measure_score", beta=_checked_beta(beta))


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
    return _information_score(label, cluster, "variation_of_information")


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
    return _information_score(label, cluster, "normalized_variation_of_information")


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
    return _information_score(label, cluster, "normalized_information_distance")
