"""expected_information: the mutual information expected of random labelings of these sizes."""

from __future__ import annotations

from math import pi, prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from polars_clustereval.base.exact import (
    PLACES_OF_SHARES,
    deviance,
    from_fixed_point,
    log_ratio,
    to_double,
    to_fixed_point,
    widen,
)
from polars_clustereval.base.frames import (
    Row,
    StructLists,
    Terms,
    add_stages,
    element_field,
    join_partitions,
    join_small,
    sum_by,
)

from .contingency import ContingencyTable, cells_as_list, field_of_clusters, field_of_labels

if TYPE_CHECKING:
    from polars_clustereval.base.checks import Column

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
    n, a, b = to_double(row("total")), to_double(row("size_a")), to_double(row("size_b"))
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
    center = row("mean").floor()
    return {
        "center": pl.min_horizontal(pl.max_horizontal(center, row("least")), row("most")),
        "stride": (deviation / 1.5).floor().clip(4.0)
        - pl.when(deviation < 6).then(3.0).otherwise(0.0),
        "reach": 9.5 * deviation + pl.when(deviation < 6).then(8.0).otherwise(0.0),
    }


def _overlap_nodes(row: Row) -> Terms:
    """Give the number of nodes, of those below the center, and its exact distance from the mean."""
    total, a, b = widen(row("total")), widen(row("size_a")), widen(row("size_b"))
    center, reach, stride = row("center"), row("reach"), row("stride")
    below = (pl.min_horizontal(reach, center - row("least")) / stride).floor()
    above = (pl.min_horizontal(reach, row("most") - center) / stride).floor()
    return {
        "below": below,
        "nodes": (below + above + 1).cast(pl.Int64),
        "offset": to_double(total * widen(center) - a * b) / row("n"),
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
_NODE_COLUMNS = (
    "n",
    "a",
    "b",
    "center",
    "stride",
    "below",
    "offset",
    "scale",
    "errors",
    "times_stride",
)


def _node_steps(row: Row) -> Terms:
    step = row("stride") * (to_double(row("node")) - row("below"))
    return {"x1": row("center") + step, "d": step + row("offset")}


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
    return {
        f"d{i}": deviance(row(f"x{i}"), row(f"m{i}"), signs[i] * row("d")) for i in _TABLE_CELLS
    }


_TABLE_CELLS = (1, 2, 3, 4)


def _node_weights(row: Row) -> Terms:
    """Give what a node adds to a mean over the overlaps of all pairs, divided by n."""
    scale = _stirling_scale(row("x1"))
    for i in _TABLE_CELLS[1:]:
        scale *= _stirling_scale(row(f"x{i}"))
    exponent = row("errors")
    for i in _TABLE_CELLS:
        exponent -= row(f"d{i}") + _stirling_error(row(f"x{i}"))
    return {"weight": row("times_stride") * row("scale") / scale.sqrt() * exponent.exp()}


def _node_terms(row: Row) -> Terms:
    weight, x1, fine = row("weight"), row("x1"), row("stride") == 1
    ehl = weight * x1 * log_ratio(row("b"), x1.clip(1.0))
    ehc = weight * x1 * log_ratio(row("a"), x1.clip(1.0))
    return {
        "emi": weight * row("d1"),
        "strided": pl.when(fine).then(0.0).otherwise(weight * row("d1")),
        "fine_ehl": pl.when(fine).then(ehl).otherwise(0.0),
        "fine_ehc": pl.when(fine).then(ehc).otherwise(0.0),
    }


def _strided_terms(row: Row) -> Terms:
    """Give the parts of ehl and ehc of the pairs with a stride, but for their part of emi."""
    n, a, b, fine = row("n"), row("a"), row("b"), row("stride") == 1
    share = row("times") * (a / n) * (b / n)
    return {
        "strided_ehl": pl.when(fine).then(0.0).otherwise(share * log_ratio(n, a)),
        "strided_ehc": pl.when(fine).then(0.0).otherwise(share * log_ratio(n, b)),
    }


def expected_entropy_terms(row: Row) -> Terms:
    return {
        "ehl": row("fine_ehl") + (row("strided_ehl") - row("strided")),
        "ehc": row("fine_ehc") + (row("strided_ehc") - row("strided")),
    }


_SIZE_PAIR_STAGES = (_overlap_limits, _overlap_stride, _overlap_nodes, _overlap_factors)


_NODE_STAGES = (_node_steps, _node_tables, _node_deviances, _node_weights)


# Most nodes of any pair of sizes.
_MOST_NODES = 144


def expected_totals(table: ContingencyTable) -> pl.LazyFrame:
    """One row a partition: emi and the parts of ehl and ehc, from sizes of labels and clusters."""
    pairs = _size_pairs(table)
    if not table.keys:
        return _expected_sums(pairs, [])
    # Partitions share most of their pairs of sizes: what a pair adds is computed once for all.
    distinct = pairs.select(_SIZE_COLUMNS).unique().with_columns(times=pl.lit(1.0))
    sums = _expected_sums(distinct, _SIZE_COLUMNS)
    terms = {
        name: to_fixed_point(pl.col("times") * pl.col(name), PLACES_OF_SHARES)
        for name in _EXPECTED_SUMS
    }
    totals = table.summed(pairs.join(sums, on=_SIZE_COLUMNS), terms)
    return totals.with_columns(
        from_fixed_point(pl.col(name), PLACES_OF_SHARES) for name in _EXPECTED_SUMS
    )


def _expected_sums(pairs: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    pairs = add_stages(pairs, *_SIZE_PAIR_STAGES).cache()
    # A join gives the nodes in batches of the engine's size; explode would make them 30 times that.
    most, node = np.tril_indices(_MOST_NODES)
    numbers = pl.LazyFrame({"nodes": most + 1, "node": node})
    nodes = join_small(pairs, ["nodes"], numbers).select(*by, *_NODE_COLUMNS, "node")
    of_nodes = sum_by(add_stages(nodes, *_NODE_STAGES), by, _node_terms(pl.col))
    return join_partitions(of_nodes, by, sum_by(pairs, by, _strided_terms(pl.col)))


_SIZE_COLUMNS = ["total", "size_a", "size_b"]


_EXPECTED_SUMS = ("emi", "strided", "fine_ehl", "fine_ehc", "strided_ehl", "strided_ehc")


def _size_pairs(table: ContingencyTable) -> pl.LazyFrame:
    """Give pairs of a label size and a cluster size, and how many times there is one."""
    keys = list(table.keys)
    labels = table.labels.group_by(*keys, size="a").agg(times=to_double(pl.len()))
    copies = to_double(pl.col("copies").sum())
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
        off = [to_double(row("size")) / row("unit") - node for node in _OCTAVE_NODES]
        off = [pl.when(x == 0).then(1e-30).otherwise(x) for x in off]
        return {
            f"share_{i}": w / x for i, (w, x) in enumerate(zip(_OCTAVE_WEIGHTS, off, strict=True))
        }

    names = [f"share_{i}" for i in range(len(_OCTAVE_NODES))]
    shared = add_stages(crowded, shares).with_columns(whole=pl.sum_horizontal(names))
    part = pl.col(names) * pl.col("times") / pl.col("whole")
    sizes = [(pl.col("unit") * node).cast(pl.Int64) for node in _OCTAVE_NODES]
    nodes = shared.group_by(by).agg(part.sum())
    listed = nodes.select(*by, size=pl.concat_list(sizes), times=pl.concat_list(names))
    return listed.explode("size", "times")


# ----------------------------------------------------------------------------------------------
# The same inside an expression
# ----------------------------------------------------------------------------------------------


_STRIDED_TOTALS = ("strided_ehl", "strided_ehc")


def _strided_totals(row: Row) -> Terms:
    return {name: term.sum() for name, term in _strided_terms(row).items()}


def expected_sums_as_list(cells: StructLists, carried: Terms) -> StructLists:
    """Return the sums over all pairs of sizes, one struct per group, beside the carried terms.

    An expression has no variables, so that whatever is needed with the sums has to go along.
    """
    pairs = cells.evaluated({**carried, **_size_pairs_as_list()}).staged(*_SIZE_PAIR_STAGES)
    names = (*carried, *_STRIDED_TOTALS)
    nodes = _nodes_as_list(pairs.staged(_strided_totals), names).staged(*_NODE_STAGES)
    firsts = {name: element_field(name).first() for name in names}
    sums = {name: term.sum() for name, term in _node_terms(element_field).items()}
    return nodes.evaluated(firsts | sums)


def _size_pairs_as_list() -> Terms:
    """Give every pair of a label size and a cluster size, and how many times there is one."""
    a, b = field_of_labels("a"), field_of_clusters("b")
    # Both of unique and unique_counts go by first appearance.
    size_a, size_b = a.unique(maintain_order=True), b.unique(maintain_order=True)
    pair = pl.int_range(size_a.len().cast(pl.Int64) * size_b.len(), dtype=pl.Int64)
    of_a, of_b = pair // size_b.len(), pair % size_b.len()
    times = to_double(a.unique_counts().gather(of_a)) * to_double(b.unique_counts().gather(of_b))
    return {"size_a": size_a.gather(of_a), "size_b": size_b.gather(of_b), "times": times}


def _nodes_as_list(pairs: StructLists, carried: tuple[str, ...]) -> StructLists:
    """Repeat every pair for each of its nodes."""
    most = element_field("nodes").max().fill_null(0)
    number = pl.int_range(pl.len().cast(pl.Int64) * most, dtype=pl.Int64)
    numbered = pairs.evaluated({"pair": pl.element().gather(number // most), "node": number % most})
    fields = (*carried, *_NODE_COLUMNS)
    pair = {name: element_field("pair").struct.field(name) for name in fields}
    nodes = element_field("node") < element_field("pair").struct.field("nodes")
    return numbered.evaluated(
        {name: term.filter(nodes) for name, term in {**pair, "node": element_field("node")}.items()}
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
    cells = cells_as_list(label, cluster)
    sums = expected_sums_as_list(cells, {"total": element_field("total").first()})
    return sums.score(lambda row: {"expected_mutual_info": row("emi")}, "expected_mutual_info")
